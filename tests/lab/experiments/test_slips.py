"""Answers that are probably slips of the pen are asked about, and found later."""

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPUCBOptimizer, defaults
from skgpb.lab.cli import main
from skgpb.lab.experiments import Experiment, judge
from skgpb.lab.experiments.judge import slip, surprise

SLIPS = {"point forgotten": 10.0, "point displaced": 0.1}


def hill(q, rng):
    return 20 + 70 * np.exp(-((q["x"] - 6) ** 2 + (q["y"] - 3) ** 2) / 18) + 2 * rng.normal()


def lists(q, rng):
    return 30 + 10 * "ABCD".index(q["c"]) + 2.5 * q["x"] + 2 * rng.normal()


def cone(q, rng):
    return 400 - 30 * np.hypot(q["x"] - 3, q["y"] - 7) + 8 * rng.normal()


def cliff(q, rng):
    return 30 + (50 - 4 * q["x"]) * (q["x"] < 6) + 2 * q["y"] + 1.5 * rng.normal()


def waves(q, rng):
    return 50 + 20 * np.sin(1.5 * q["x"]) * np.cos(q["y"]) + 2 * rng.normal()


FUNCTIONS = [hill, lists, cone, cliff, waves]


def begin(path, f, seed, n):
    sides = ["x=0:10", "c=A,B,C,D"] if f is lists else ["x=0:10", "y=0:10"]
    run, rng = Experiment.create(path, sides, seed=seed), np.random.default_rng(seed)
    for _ in range(n):
        query = run.ask()[0]
        run.tell(round(float(f(query["params"], rng)), 1), query["query"])
    return run, rng


@pytest.mark.slow
def test_slips_are_found_and_honest_answers_are_not_asked_about(tmp_path):
    """After ten answers nine of ten displaced points are noticed; one of thirty honest answers."""
    found = dict.fromkeys([*SLIPS, "honest"], 0)
    n = 0
    for f in FUNCTIONS:
        run, rng = begin(tmp_path / f"{f.__name__}.skgpb", f, 3, 10)
        for _ in range(12):
            query = run.ask()[0]
            value, n = round(float(f(query["params"], rng)), 1), n + 1
            for name, factor in (SLIPS | {"honest": 1.0}).items():
                said = run.surprise(round(value * factor, 3), query["query"])
                found[name] += said is not None
                if said is not None and factor == 0.1:
                    assert said["meant"] == pytest.approx(value, rel=0.01)
            run.tell(value, query["query"])
    assert found["point forgotten"] >= 0.9 * n and found["point displaced"] >= 0.9 * n
    assert found["honest"] <= n / 30


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_slip_is_found_later_and_correcting_it_restores_the_noise(tmp_path, direction):
    run, rng = begin(tmp_path / "run.skgpb", hill, 0, 16)
    run = Experiment.create(
        tmp_path / "other.skgpb", ["x=0:10", "y=0:10"], direction=direction, data=None, seed=1
    )
    for number in range(1, 21):
        query = run.ask()[0]
        value = round(float(hill(query["params"], rng)), 1)
        right = value if number == 16 else None
        if right is not None:
            meant, value = right, round(value / 10, 2)
        run.tell(value, query["query"])
    (said,) = run.questionable()
    assert said["query"] == 16 and said["meant"] == pytest.approx(meant, rel=0.01)
    assert said["expected"][0] < meant < said["expected"][1]
    run.correct(16, said["meant"])
    assert run.questionable() == [] and run.best()["noise"] < 4.0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("f", [lists, waves])
def test_a_slip_that_was_taken_for_noise_is_found_by_a_model_without_it(tmp_path, f):
    run, rng = begin(tmp_path / "run.skgpb", f, 2, 14)
    for number in range(15, 19):
        query = run.ask()[0]
        value = round(float(f(query["params"], rng)), 1)
        run.tell(round(value / 10, 2) if number == 15 else value, query["query"])
    assert [each["query"] for each in run.questionable()] == [15]


def test_regions_are_asked_about_too(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:10"], regions=True)
    for _ in range(10):
        query = run.ask()[0]
        low, high = query["params"]["x"]
        run.tell(round(60 - (0.5 * (low + high) - 4) ** 2, 2), query["query"])
    query = run.ask()[0]
    low, high = query["params"]["x"]
    value = round(60 - (0.5 * (low + high) - 4) ** 2, 2)
    assert run.surprise(value, query["query"]) is None
    assert run.surprise(value / 10, query["query"])["meant"] == pytest.approx(value)
    assert run.surprise(10 * value, query["query"])["meant"] == pytest.approx(value)


def test_counts_have_their_own_noise(tmp_path):
    """Nine of ten may be seven of ten by chance, but 900 of 1000 not 90."""
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:10"])
    for n in range(8):
        run.tell(f"{900 + n} of 1000", at={"x": n})
    assert run.surprise("7 of 10", at={"x": 9}) is None
    assert run.surprise("90 of 1000", at={"x": 9})["meant"] == pytest.approx(0.9)


def test_what_was_typed_is_believed_unless_a_slip_is_more_probable():
    assert slip(70.0, 5.0, 7.37) == 73.7 and slip(70.0, 5.0, -71.0) == 71.0
    assert slip(70.0, 5.0, 737.0) == 73.7 and slip(0.7, 0.05, 72.0) == 0.72
    # Nothing is known of what to expect, or it is zero, or the answer is what was expected.
    for mean, std, answer in ((70.0, 500.0, 7.0), (70.0, 5.0, 0.0), (70.0, 0.0, 7.0)):
        assert slip(mean, std, answer) is None
    assert surprise([1.0, 2.0, 3.0, 4.0], 2.0, 1.0, 25.0) is None  # too few to say
    # While it can be looked up, less probable slips are asked about, but not what was expected.
    assert slip(30.0, 12.0, 3.2) is None and slip(30.0, 12.0, 3.2, odds=0.1) == 32.0
    assert slip(30.0, 15.0, 3.2, odds=0.1) is None


def test_what_else_is_measured_is_asked_about_too(tmp_path, capsys):
    """A slip in what a score is computed from, or in what has a limit, is a slip as well."""
    path = tmp_path / "run.skgpb"
    run = Experiment.create(path, ["x=0:10"], score="yield - cost", limits=["heat < 80"])
    rng = np.random.default_rng(0)
    for _ in range(8):
        (query,) = run.ask()
        usual = {"yield": 70 + rng.normal(), "cost": 12 + rng.normal(), "heat": 60 + rng.normal()}
        assert run.surprises(usual, query["query"]) == {}
        run.tell(query=query["query"], measured=usual)
    (query,) = run.ask()
    wrong = {"yield": 7.1, "cost": "12.5", "heat": 605.0, "humidity": 1e6}
    said = run.surprises(wrong, query["query"])
    assert {name: each["meant"] for name, each in said.items()} == {"yield": 71.0, "heat": 60.5}
    assert run.surprises({"yield": "none", "cost": 12.0}) == {}
    # What was told before is not among the others when it is corrected.
    assert run.surprises({"yield": 7.1}, 1)["yield"]["meant"] == 71.0
    pairs = [f"{name}={value}" for name, value in wrong.items()]
    assert main(["tell", str(path), "--measured", *pairs]) == 0
    warned = capsys.readouterr().err
    assert "yield = 7.1 is unusual" in warned and "perhaps 60.5 was meant" in warned


@pytest.mark.parametrize("noise", [None, 0.5])
@pytest.mark.parametrize("kernel", [None, RBF(0.3, "fixed")])
def test_only_what_is_learned_is_uncertain_when_an_answer_is_judged(
    tmp_path, monkeypatch, noise, kernel
):
    alpha = None if noise is None else noise**2
    search = GPUCBOptimizer(bounds={"x": (0, 1)}, alpha=alpha, kernel=kernel, random_state=0)
    search.start().save(tmp_path / "run.skgpb")
    run, seen = Experiment(tmp_path / "run.skgpb"), []

    def refit(K, noise, y, spreads):
        seen.append(list(spreads))
        return real(K, noise, y, spreads)

    real = judge.leave_one_out_refit
    monkeypatch.setattr(judge, "leave_one_out_refit", refit)
    for i in range(7):
        run.tell(float(i % 3), at={"x": i / 7})
    run.questionable()
    amplitude = defaults.AMPLITUDE_SPREAD if kernel is None else 0.0
    assert seen[0] == [amplitude, defaults.NOISE_SPREAD if noise is None else 0.0]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_an_answer_is_judged_by_what_all_others_let_expect(tmp_path, direction):
    """With a given kernel and noise: the prediction of a run without this answer."""
    rng = np.random.default_rng(0)
    x = rng.permutation(np.linspace(0, 1, 9))
    y = (5.0 + np.sin(6.0 * x) + 0.05 * rng.normal(size=9)).round(3)
    y[4] *= 10.0

    def begun(name, rows):
        search = GPUCBOptimizer(
            bounds={"x": (0, 1)}, kernel=25.0 * RBF(0.3), optimizer=None, normalize_y=False,
            alpha=0.01, direction=direction, random_state=0,
        )  # fmt: skip
        search.start().save(tmp_path / name)
        run = Experiment(tmp_path / name)
        for i in rows:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run.tell(float(y[i]), at={"x": float(x[i])})
        return run

    (found,) = begun("all.skgpb", range(9)).questionable()
    assert (found["query"], found["answer"], found["meant"]) == (5, y[4], y[4] / 10.0)
    others = begun("others.skgpb", [i for i in range(9) if i != 4])
    expected = others.expect({"x": float(x[4])})
    half = 1.96 * np.sqrt(expected["std"] ** 2 + 0.01)
    ends = [expected["mean"] - half, expected["mean"] + half]
    np.testing.assert_allclose(found["expected"], ends, rtol=1e-6)
    assert begun("right.skgpb", [i for i in range(9) if i != 4]).questionable() == []


def test_repeats_say_how_far_answers_scatter(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"], seed=0)
    groups = {0.1: [1.0, 1.5, 0.75], 0.5: [3.0, 3.25], 0.9: [2.0]}
    for x, answers in groups.items():
        for answer in answers:
            run.tell(answer, at={"x": x})
    found = run.replicates()
    assert [each["queries"] for each in found] == [[1, 2, 3], [4, 5]]
    for each, answers in zip(found, groups.values(), strict=False):
        assert each["answers"] == answers and each["mean"] == pytest.approx(np.mean(answers))
        assert each["spread"] == pytest.approx(np.std(answers, ddof=1))
    squares = [sum((np.array(each) - np.mean(each)) ** 2) for each in groups.values()]
    assert run.best()["scatter"] == pytest.approx(np.sqrt(sum(squares) / 3))
    known = Experiment.create(tmp_path / "known.skgpb", ["x=0:1"], noise=0.5)
    known.tell(1.0, at={"x": 0.5})
    assert known.best()["scatter"] == pytest.approx(0.5)
