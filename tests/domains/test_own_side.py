"""Sides of one's own, and angles: every search, files, predictions across the seam."""

import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import randint
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

import skgpb
from skgpb import (
    CMESOptimizer,
    ContextualGPTreeOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
    KGOptimizer,
)
from skgpb.domains import Angle, Box, Cells, Fidelities, Side, Steps
from skgpb.domains.space import ParameterSpace
from skgpb.optimizers import TargetsOptimizer

SEARCHES = [
    skgpb.GPUCBOptimizer,
    skgpb.IGPUCBOptimizer,
    skgpb.URGPUCBOptimizer,
    skgpb.DAGPUCBOptimizer,
    skgpb.EIOptimizer,
    skgpb.PIOptimizer,
    skgpb.KGOptimizer,
    skgpb.GPTSOptimizer,
    skgpb.MESOptimizer,
    skgpb.IDSOptimizer,
    skgpb.ESTOptimizer,
    skgpb.GPOOOptimizer,
    skgpb.GPTreeOptimizer,
    skgpb.StoOOOptimizer,
    skgpb.GPZoomingOptimizer,
]


class Hour(Side):
    """Hours of a day, as the page of the guide makes them."""

    ends = (0.0, 24.0)

    def value(self, u):
        return float(u) % 24.0

    def coordinate(self, value):
        return float(value) % 24.0

    def columns(self, u):
        turn = 2 * np.pi * u / 24
        return 24 / (2 * np.pi) * np.column_stack([np.cos(turn), np.sin(turn)])


class Solvent(Side):
    """Texts that are compared by two measured properties."""

    arguments = ("properties",)

    def __init__(self, properties):
        self.properties = properties

    def value(self, u):
        return list(self.properties)[min(int(u * len(self.properties)), len(self.properties) - 1)]

    def coordinate(self, value):
        if value not in self.properties:
            raise ValueError(f"must be one of {list(self.properties)}")
        return (list(self.properties).index(value) + 0.5) / len(self.properties)

    def columns(self, u):
        return np.array([self.properties[self.value(each)] for each in u])


SIDES = {
    "angle": Angle(0, 360),
    "hour": Hour(),
    "solvent": Solvent({"water": [0.0, 1.0], "ethanol": [0.3, 0.6], "hexane": [1.0, 0.0]}),
}


def off_by(value, best, period=360.0):
    """Distance of two periodic numbers."""
    return abs((value - best + 0.5 * period) % period - 0.5 * period)


def peak(query):
    """A narrow peak at 358 degrees, over a slow slope."""
    gap = [off_by(each["angle"], 358) for each in query.settings]
    x = np.array([each.get("x", 0.3) for each in query.settings])
    return float(np.mean(np.exp(-0.5 * (np.array(gap) / 40) ** 2) - (x - 0.3) ** 2))


@pytest.mark.one_in(24)
@pytest.mark.parametrize("name", SIDES)
@pytest.mark.parametrize("cls", SEARCHES)
def test_every_search_takes_sides_of_its_own(cls, name, tmp_path):
    optimizer = cls(bounds={"x": (0, 1), name: SIDES[name]}, random_state=0)
    result = optimizer.run(lambda query: float(query.points.sum(axis=1).mean()), budget=6)
    low, high = SIDES[name].ends
    column = result.x.points[:, 1]
    assert ((low <= column) & (column <= high)).all() and name in repr(result.x)
    optimizer.save(tmp_path / "run")
    others = [cls.load(tmp_path / "run"), pickle.loads(pickle.dumps(optimizer))]
    assert {repr(each.ask()) for each in [optimizer, *others]} == {repr(optimizer.ask())}
    assert clone(optimizer).bounds == optimizer.bounds == others[0].bounds


@pytest.mark.slow
@pytest.mark.parametrize("name", SIDES)
@pytest.mark.parametrize("cls", [GPUCBOptimizer, ContextualGPTreeOptimizer])
def test_contexts_have_sides_of_their_own(cls, name):
    side = SIDES[name]
    optimizer = cls(bounds={"x": (0, 1)}, context_bounds={name: side}, random_state=0)
    contexts = [{name: side.value(u)} for u in np.linspace(*side.ends, 5)]
    assert optimizer.run(lambda query: 1.0, contexts=contexts).nfev == 5


@pytest.mark.parametrize("kernel", [None, RBF(50.0)])
@pytest.mark.parametrize("cls", [GPUCBOptimizer, GPOOOptimizer])
def test_predictions_cross_the_seam_and_do_not_know_where_it_is(cls, kernel):
    angles = np.random.default_rng(0).uniform(0, 360, 25)
    y = np.sin(np.radians(angles)) + np.cos(np.radians(3 * angles))
    means = []
    for low in (0.0, -180.0, 90.0):
        turned = (angles - low) % 360.0 + low
        optimizer = cls(kernel, bounds={"angle": Angle(low, low + 360)}, alpha=1e-4, random_state=0)
        optimizer.fit([{"angle": each} for each in turned], y)
        grid = (np.arange(0.0, 360.0, 7.0) - low) % 360.0 + low
        means.append(optimizer.predict([{"angle": each} for each in grid], return_std=True))
        at_ends = optimizer.predict([{"angle": low}, {"angle": low + 360.0}], return_std=True)
        assert_allclose(*np.transpose(at_ends), rtol=1e-9)
    for other in means[1:]:
        assert_allclose(other, means[0], rtol=1e-5, atol=1e-6)


def test_an_answer_on_one_side_of_the_seam_says_what_is_on_the_other():
    told = [{"angle": each} for each in (355.0, 90.0, 180.0, 270.0)]
    answers = np.cos(np.radians([355.0, 90.0, 180.0, 270.0]))
    stds = []
    for side in (Angle(0, 360), (0, 360)):
        optimizer = GPUCBOptimizer(RBF(60.0), bounds={"angle": side}, alpha=1e-4, random_state=0)
        mean, std = optimizer.tell(told, answers).predict([{"angle": 5.0}], return_std=True)
        stds.append(std[0])
        assert (abs(mean[0] - np.cos(np.radians(5.0))) < 0.05) == (side != (0, 360))
    assert stds[0] < 0.3 * stds[1]


@pytest.mark.slow
def test_a_search_finds_an_optimum_at_the_seam():
    for cls in (GPUCBOptimizer, GPOOOptimizer):
        optimizer = cls(bounds={"angle": Angle(0, 360), "x": (0, 1)}, random_state=0)
        best = optimizer.run(peak, budget=25).x
        assert off_by(float(np.mean([each["angle"] for each in best.settings])), 358) < 10


def wave(setting, best):
    """A slope over the whole circle with its top, 1.7, at an angle near ``best``."""
    turn = np.radians(setting["angle"] - best)
    top = np.cos(turn) + 0.4 * np.cos(2 * turn) + 0.3 * np.cos(3 * turn)
    return float(top - 2 * (setting["x"] - 0.3) ** 2)


def n_until_near(side, seed):
    """Return the number of answers until one is near the top, which is near the seam."""
    best = np.random.default_rng(seed).uniform(-30, 30)
    optimizer = GPUCBOptimizer(bounds={"angle": side, "x": (0, 1)}, random_state=seed)
    for n in range(1, 26):
        reward = wave(optimizer.ask().params, best)
        if reward > 1.66:
            return n
        optimizer.tell(optimizer.ask(), reward)
    return 26


@pytest.mark.slow
def test_an_angle_takes_fewer_answers_than_a_range_near_the_seam():
    angle, interval = (
        np.mean([n_until_near(side, seed) for seed in range(6)]) for side in (Angle(), (0, 360))
    )
    assert angle < interval - 1.0


def test_local_candidates_continue_at_the_other_end():
    space = ParameterSpace.from_bounds({"angle": Angle(0, 360), "x": (0, 1)})
    rng = np.random.default_rng(0)
    near = space.neighbours(np.array([[0.5, 0.0]]), 400, rng)
    assert ((near >= 0) & (near <= [360, 1])).all()
    # A box has an end at 0; a circle has none.
    assert (near[:, 0] > 180).mean() > 0.2 and (near[:, 0] == 0).sum() == 0 < (
        near[:, 1] == 0
    ).sum()


def test_steps_of_an_angle_hold_for_suggestions_only():
    optimizer = GPUCBOptimizer(bounds={"angle": Angle(0, 360, 5)}, random_state=0)
    result = optimizer.run(peak, budget=12)
    angles = [*np.ravel(optimizer.history_["descriptor"]), result.x.params["angle"]]
    assert np.remainder(angles, 5).max() == 0.0
    # Both ends are one setting.
    angle = Angle(0, 360, 5)
    assert angle.rounded_to_grid(np.array([3.0, 357.4, 357.6, 360.0])).tolist() == [5, 355, 0, 0]
    optimizer.tell({"angle": 357.2}, 1.0)
    with pytest.raises(ValueError, match="must have no Steps"):
        GPOOOptimizer(bounds={"angle": Angle(0, 360, 5)}).ask()


def test_cells_of_angles_average_over_the_arc():
    optimizer = GPOOOptimizer(
        RBF(60.0), bounds={"angle": Angle(0, 360)}, feedback="average", alpha=1e-4
    ).tell([{"angle": each} for each in np.arange(0.0, 360.0, 20.0)], np.arange(18) % 5)
    root = optimizer.domain_.cell(0)
    points = [{"angle": each["angle"]} for each in root.settings]
    assert_allclose(optimizer.predict_query([root]), optimizer.predict(points).mean(), atol=1e-8)
    assert root.params == {"angle": (0.0, 360.0)}
    space = optimizer.run_.space
    half = np.array([180.0, 360.0])
    ends = space.ranges(half[:1], half[1:])["angle"]
    assert ends == (180.0, 360.0)
    assert_allclose(space.box_between(*({"angle": each} for each in ends)), half)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"queries": Cells({"angle": 30, "x": 0.2}), "targets": Cells({"angle": 30, "x": 0.2})},
        {"queries": Fidelities(2), "targets": Cells(0), "cost": [1.0, 0.2]},
    ],
    ids=["cells", "fidelities"],
)
def test_sets_of_queries_have_angles(settings):
    optimizer = KGOptimizer(
        bounds={"angle": Angle(0, 360), "x": (0, 1)}, **settings, random_state=0
    )
    assert optimizer.run(peak, budget=8).nfev == 8


def test_constraints_and_other_sides_stand_beside_an_angle():
    sides = {"angle": Angle(0, 360), "x": Steps(0, 1, 0.1), "n": randint(1, 9), "kind": ["a", "b"]}
    optimizer = GPUCBOptimizer(bounds=Box(sides, ["angle + 10*n >= 100"]), random_state=0)
    for _ in range(8):
        setting = optimizer.ask().params
        assert setting["angle"] + 10 * setting["n"] >= 100 - 1e-9
        optimizer.tell(setting, setting["x"])


def test_indirect_queries_refuse_an_angle_by_name():
    with pytest.raises(ValueError, match=r"bounds\['angle'\] must be a pair .* for CMESOptimizer"):
        CMESOptimizer(bounds={"angle": Angle(0, 360)}).fit(np.zeros((2, 1)))


class Bent(Hour):
    def columns(self, u):
        return np.sin(u)


class Lost(Hour):
    def coordinate(self, value):
        return value - 100.0


class Rounded(Hour):
    def value(self, u):
        return float(np.nextafter(u, 25.0))

    def coordinate(self, value):
        if not 0.0 <= value <= 24.0:
            raise ValueError("must be between 0 and 24")
        return value


class Endless(Hour):
    ends = (0.0, np.inf)


@pytest.mark.parametrize(
    ("side", "message"),
    [
        (Bent(), r"columns of bounds\['t'\] must return numbers of shape \(n, n_columns\).*\(3,\)"),
        (
            Lost(),
            r"coordinate of bounds\['t'\] must return a number .* 24.0, got -100",
        ),
        (Rounded(), r"coordinate of bounds.* must accept 24.0.*: must be between 0 and 24"),
        (Endless(), r"ends of bounds\['t'\]"),
    ],
)
def test_a_wrong_side_is_refused_before_the_run(side, message):
    optimizer = GPUCBOptimizer(bounds={"t": side})
    with pytest.raises(ValueError, match=message):
        optimizer.ask()


def test_told_values_are_checked():
    optimizer = GPUCBOptimizer(bounds={"angle": Angle(0, 360)}, random_state=0)
    for wrong in (-1.0, 361.0, "north"):
        with pytest.raises(ValueError, match=r"^angle must be"):
            optimizer.tell({"angle": wrong}, 1.0)
    assert len(optimizer.tell({"angle": 360.0}, 1.0).history_) == 1


@pytest.mark.slow
def test_a_run_is_loaded_where_the_class_of_its_side_is_imported(tmp_path):
    source = """
        from skgpb.domains import Side
        class Slope(Side):
            arguments = ("steepness",)
            def __init__(self, steepness):
                self.steepness = steepness
            def value(self, u):
                return u ** self.steepness
            def coordinate(self, value):
                return value ** (1 / self.steepness)
    """
    (tmp_path / "slopes.py").write_text(textwrap.dedent(source))
    make = (
        "from skgpb import GPUCBOptimizer; from slopes import Slope;"
        "opt = GPUCBOptimizer(bounds={'a': Slope(2.0)}, random_state=0);"
        "opt.run(lambda q: q.params['a'], budget=3); opt.save('run'); print(opt.ask())"
    )
    load = "from skgpb import GPUCBOptimizer; print(GPUCBOptimizer.load('run').ask())"

    def run(code):
        return subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    asked = run(make)
    assert asked.returncode == 0, asked.stderr
    assert run("import slopes;" + load).stdout == asked.stdout
    assert "unknown class 'Slope': import a class of your own before loading" in run(load).stderr


def test_sides_are_equal_by_their_arguments():
    assert Angle(0, 360) == Angle(0.0, 360.0) != Angle(0, 180) and Angle() != Steps(0, 360)
    assert Hour() == Hour() and hash(Angle()) == hash(Angle(0, 360))
    assert repr(Angle(0, 24, 0.5)) == "Angle(low=0.0, high=24.0, step=0.5)"
    for wrong in ((360, 0), (0, np.inf), (0, 360, 0), (0, 360, 400)):
        with pytest.raises(ValueError, match=r"low|step"):
            Angle(*wrong)


def test_rules_of_ones_own_see_columns():
    def least_known(round):
        return np.log(round.query_var)

    optimizer = TargetsOptimizer(least_known, bounds={"angle": Angle(0, 360)}, random_state=0)
    optimizer.run(peak, budget=9)
    angles = np.sort(np.unique(optimizer.history_["descriptor"]))
    gaps = np.diff([*angles, angles[0] + 360.0])
    assert gaps.max() < 100


def test_a_side_with_the_name_of_another_is_refused_by_save(tmp_path):
    angle = type("Angle", (Hour,), {"__module__": "mine"})
    optimizer = GPUCBOptimizer(bounds={"t": angle()}, random_state=0)
    optimizer.ask()
    with pytest.raises(TypeError, match=r"has the name of <class 'skgpb\.domains\.angle\.Angle'>"):
        optimizer.save(tmp_path / "run")
    GPUCBOptimizer(bounds={"t": Angle()}, random_state=0).start().save(tmp_path / "run")
    assert type(GPUCBOptimizer.load(tmp_path / "run").bounds["t"]) is Angle is not angle


def test_both_ends_of_an_angle_are_one_row():
    """Rows are compared bit by bit, where answers to one setting are merged."""
    for low, high in ((0.0, 360.0), (-np.pi, np.pi), (5.0, 29.0)):
        ends = Angle(low, high).columns(np.array([low, high]))
        assert (ends[0] == ends[1]).all()
