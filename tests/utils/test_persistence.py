"""Runs as files: the format, and what cannot be saved."""

import io
import json
import os

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from runs import BOUNDS, document_of, optimizer, peak, with_document, with_member
from scipy import stats
from scipy.stats import loguniform
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from skgpb import (
    CMESOptimizer,
    CombinatorialBandit,
    EIOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
    IndirectUCBOptimizer,
)
from skgpb.exceptions import LoadError
from skgpb.kernels import CellAverage, Columns, ConditionalMean, PolicyMean, WindowMean
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.utils.persistence import Reader, Writer, read_notes, register_kernel


def test_sides_are_kept_with_their_kinds(tmp_path):
    sides = {"x": (0, 2), "s": loguniform(1e-4, 1), "n": range(2, 9, 3), "k": ["a", None, 1.5]}
    sides["m"] = stats.randint(low=1, high=4)
    run = GPUCBOptimizer(bounds=sides, n_candidates=30, random_state=0)
    run.tell(run.ask(), 1.0).save(tmp_path / "run")
    loaded = GPUCBOptimizer.load(tmp_path / "run")
    for name in ("x", "n", "k"):
        assert loaded.bounds[name] == sides[name]
        assert type(loaded.bounds[name]) is type(sides[name])
    for name in ("s", "m"):
        assert_array_equal(loaded.bounds[name].ppf([0.1, 0.7]), sides[name].ppf([0.1, 0.7]))
    assert loaded.ask().params == run.ask().params

    def change(document):
        (salt,) = (v for k, v in document["parameters"]["bounds"]["dict"] if k == "s")
        salt["distribution"] = "rv_histogram"

    with_document(tmp_path / "run", change)
    with pytest.raises(LoadError, match="not a distribution"):
        GPUCBOptimizer.load(tmp_path / "run")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("cls", [CMESOptimizer, IndirectUCBOptimizer])
def test_evaluations_given_to_fit_beside_answers_are_kept(cls, tmp_path):
    run = cls(conditional=WindowMean(scale=0.3), n_points=50, n_candidates=40, random_state=0)
    X = np.linspace(0.1, 1.9, 9)[:, None]
    run.set_params(bounds=[(0, 2)]).fit(X, np.sin(3.0 * X[:, 0]))
    for _ in range(4):
        run.tell(run.ask(), peak(run.ask()))
    run.save(tmp_path / "run")
    resumed, repeated = (cases.loaded(cls, tmp_path / "run", again) for again in (False, True))
    assert resumed.ask() == repeated.ask() == run.ask()
    assert_allclose(resumed.predict(X), run.predict(X), rtol=1e-12)
    assert_array_equal(repeated.predict(X), run.predict(X))


# The format --------------------------------------------------------------------------------------


def test_a_file_is_json_and_arrays_that_other_programs_read(tmp_path):
    run, path = optimizer(pool=np.linspace(0, 1, 60)[:, None], bounds=None), tmp_path / "run.npz"
    run.run(peak, 5)
    run.save(path)
    document = document_of(path)
    assert document["format"] == "skgpb run"
    assert document["version"] == 2
    assert document["class"] == "GPOOOptimizer"
    told = [event for event in document["events"] if event[0] == "tell"]
    assert [event[2] for event in told] == run.history_["reward"].tolist()
    with np.load(path, allow_pickle=False) as arrays:
        name = document["parameters"]["pool"]["array"]
        assert_array_equal(arrays[name], run.pool)


VALUES = [
    None, True, 3, -2.5, 1e-300, 0.1 + 0.2, np.inf, "text", (1, 2.0), [1, (2,)], (3.0, 0.5),
    np.arange(3), np.linspace(0, 1, 40).reshape(4, 10), np.array([True]), np.float64(1 / 3),
    np.int32(5), {"a": 1, 2: (3,)}, np.array([]),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_exactly(value):
    writer = Writer()
    text = json.dumps(writer.encode(value, "p"), allow_nan=False)
    back = Reader(writer.arrays).decode(json.loads(text))
    assert type(back) is type(value)
    assert getattr(back, "dtype", None) == getattr(value, "dtype", None)
    if isinstance(value, np.ndarray):
        assert_array_equal(back, value)
    else:
        assert back == value


@pytest.mark.parametrize("cls", [np.random.RandomState, np.random.default_rng])
def test_random_states_come_back_where_they_were(cls):
    rng = cls(3)
    rng.random(7)
    writer = Writer()
    text = json.dumps(writer.encode(rng, "random_state"))
    back = Reader(writer.arrays).decode(json.loads(text))
    assert_array_equal(back.random(5), rng.random(5))


KERNELS = [
    ConstantKernel(2.0, (0.1, 10.0)) * RBF([0.1, 0.2]) + WhiteKernel(0.1, "fixed"),
    CellAverage(Matern(0.3, nu=1.5), (2, 3)),
    Columns(RBF(0.2), [0]) * Columns(RBF(0.5), [1]),
    WindowMean(RBF(0.1), 0.3),
    ConditionalMean(RBF(0.3), X=np.random.default_rng(0).random((30, 2)), A=np.ones((30, 1))),
    PolicyMean(RBF(0.3), policies=np.full((2, 3), 1 / 3)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_kernels_come_back(kernel):
    writer = Writer()
    text = json.dumps(writer.encode(kernel, "kernel"))
    back = Reader(writer.arrays).decode(json.loads(text))
    assert repr(back) == repr(kernel)
    assert_array_equal(back.theta, kernel.theta)


class Bumpy(RBF):
    """A kernel that no file knows."""


@register_kernel
class Known(RBF):
    """A kernel that files know."""


def test_what_is_no_data_is_refused_by_name_and_nothing_is_written(tmp_path):
    path = tmp_path / "run"
    for parameters, words in [
        ({"beta": lambda t: 2.0}, "beta is a .*function.*omit="),
        ({"kernel": Bumpy(0.2)}, "kernel has a kernel of the class Bumpy.*register_kernel"),
        ({"kernel": 2.0 * Bumpy(0.2)}, "kernel.k2 has a kernel of the class Bumpy"),
        ({"variation": float}, "variation is a "),
    ]:
        with pytest.raises(TypeError, match=words):
            optimizer(**parameters).save(path)
        # It is known before anything is evaluated.
        with pytest.raises(TypeError, match=words):
            optimizer(**parameters).run(lambda query: 1 / 0, 3, checkpoint=path)
        assert os.listdir(tmp_path) == []
    run = optimizer(kernel=Known(0.2))
    run.run(peak, 4)
    run.save(path)
    assert GPOOOptimizer.load(path).ask() == run.ask()
    with pytest.raises(ValueError, match="registered already"):
        register_kernel(type("RBF", (RBF,), {}))
    with pytest.raises(TypeError, match="cls"):
        register_kernel(3)


def test_functions_are_omitted_and_given_again(tmp_path):
    def beta(t):
        return 1.0 + 0.1 * t

    run, path = optimizer(beta=beta), tmp_path / "run"
    run.run(peak, 6)
    with pytest.raises(ValueError, match=r"omit names \['betta'\]"):
        run.save(path, omit=["betta"])
    run.save(path, omit=["beta"])
    with pytest.raises(ValueError, match="without \\['beta'\\]"):
        GPOOOptimizer.load(path)
    loaded = [cases.loaded(GPOOOptimizer, path, again, beta=beta) for again in (False, True)]
    run.run(peak, 6)
    for each in loaded:
        each.run(peak, 6)
        assert_array_equal(each.history_["descriptor"], run.history_["descriptor"])
        assert_allclose(each.history_["std"], run.history_["std"], rtol=1e-10)
    assert_array_equal(loaded[1].history_, run.history_)


def test_files_of_others_are_refused(tmp_path):
    path = tmp_path / "run"
    optimizer().save(path)
    with pytest.raises(ValueError, match="holds a run of GPOOOptimizer, not of EIOptimizer"):
        EIOptimizer.load(path)
    assert isinstance(BaseBanditOptimizer.load(path), GPOOOptimizer)
    (tmp_path / "text").write_text("no archive")
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    for name in ("text", "arrays.npz"):
        with pytest.raises(ValueError, match="cannot be loaded as a saved run"):
            GPOOOptimizer.load(tmp_path / name)
    with_document(path, lambda document: document.update(version=99))
    with pytest.raises(ValueError, match="version 99 of the format"):
        GPOOOptimizer.load(path)
    with pytest.raises(FileNotFoundError):
        GPOOOptimizer.load(tmp_path / "nothing")
    with pytest.raises(TypeError):  # and no file that happens to be open is read, and closed
        GPOOOptimizer.load(0)


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="there is no such device")
def test_devices_are_refused_before_they_are_read():
    # One that never ends, such as /dev/zero, would fill the memory.
    with pytest.raises(LoadError, match=r"'/dev/null' cannot be loaded .*: it is not a regular"):
        GPOOOptimizer.load("/dev/null")


def _object_array():
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([peak], dtype=object))
    return file.getvalue()


def test_a_run_is_written_to_an_open_file_and_read_from_it(tmp_path):
    run = EIOptimizer(bounds=BOUNDS, n_candidates=30, random_state=0)
    run.run(peak, 4)
    run.save(tmp_path / "run", notes={"by": "me"})
    memory = io.BytesIO()
    run.save(memory, notes={"by": "me"})
    assert read_notes(memory) == {"by": "me"}
    with open(tmp_path / "other", "wb") as file:
        run.save(file)
    with open(tmp_path / "other", "rb") as file:
        loaded = [EIOptimizer.load(memory), EIOptimizer.load(file)]
    for each in loaded:
        assert_array_equal(each.history_["reward"], run.history_["reward"])
        assert each.ask() == run.ask()
    with pytest.raises(TypeError, match=r"path must be a path or a file .* in binary mode"):
        run.save(io.StringIO())
    for wrong in (io.StringIO("run"), io.BytesIO(b"run")):
        with pytest.raises(LoadError, match=r"StringIO|BytesIO"):
            EIOptimizer.load(wrong)


def test_loading_runs_no_code(tmp_path):
    path = tmp_path / "run"
    optimizer(kernel=RBF(0.2)).save(path)

    def foreign(document):
        document["parameters"]["kernel"] = {"kernel": "Popen", "parameters": {"args": ["true"]}}

    with_document(path, foreign)
    with pytest.raises(ValueError, match="class Popen, which is not known"):
        GPOOOptimizer.load(path)
    # An array of objects would need pickle.
    with_member(path, "array_9.npy", _object_array())
    with_document(path, lambda document: document["parameters"].update(kernel={"array": "array_9"}))
    with pytest.raises(ValueError, match="arrays of object are not accepted"):
        GPOOOptimizer.load(path)


def runs_of_every_kind():
    points = np.linspace(0.0, 1.0, 9)[:, None]
    sides = {"x": (0.0, 2.0), "kind": ["a", "b"]}
    yield GPUCBOptimizer(bounds=sides, random_state=3, direction="minimize"), 1
    yield GPOOOptimizer(bounds=[(0, 1)], random_state=3), 1
    yield IndirectUCBOptimizer(queries=points, bounds=[(0, 1)], random_state=3), 1
    several = [EIOptimizer(arms=points, random_state=i) for i in range(2)]
    yield CombinatorialBandit(several, 1.0, random_state=3), 2


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", range(4))
def test_events_repeated_are_the_run_and_without_the_last_that_of_before(case):
    run, width = list(runs_of_every_kind())[case]
    rng = np.random.default_rng(0)
    for answer in rng.normal(size=(12, width)):
        before = run.start()._events
        run.tell(run.ask(), answer.tolist() if width > 1 else answer.item())
    twin = run._repeat_events(run._events)
    assert_array_equal(twin.history_, run.history_)
    assert twin.ask() == run.ask()
    assert twin.get_params().keys() == run.get_params().keys()
    events = [event for event in before if event[0] not in ("learned", "unlearned")]
    earlier = run._repeat_events(events)
    assert_array_equal(earlier.history_["reward"], run.history_["reward"][:11])
    assert len(run.history_) == 12


def test_a_fit_of_a_loaded_run_draws_a_seed_of_its_own(tmp_path):
    run = EIOptimizer(bounds=BOUNDS)
    run.tell(run.ask(), 0.5).save(tmp_path / "run")
    resumed = EIOptimizer.load(tmp_path / "run")
    assert resumed.run_.seed == run.run_.seed
    x = resumed.ask().points
    assert resumed.fit(x).run_.seed != run.run_.seed


def test_names_of_columns_are_those_of_fit_alone(tmp_path):
    """Names of sides are no names that ``fit`` saw."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"east": [0.1, 0.5], "north": [0.2, 0.3]})
    fitted = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0).fit(X, [1.0, 2.0])
    asked = GPUCBOptimizer(bounds={"east": (0, 1), "north": (0, 1)}, random_state=0)
    told = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0).tell(X, [1.0, 2.0])
    for run in (fitted, asked.tell(asked.ask(), 1.0), told):
        run.save(tmp_path / "run")
        loaded = GPUCBOptimizer.load(tmp_path / "run")
        assert loaded.run_.names == run.run_.names
        names, expected = (getattr(each, "feature_names_in_", None) for each in (loaded, run))
        assert_array_equal(names, expected)
        os.remove(tmp_path / "run")
    assert fitted.feature_names_in_.tolist() == list(X)
