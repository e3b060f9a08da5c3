"""Numbers that the judge gives, compared with computations of their own."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer, GPUCBOptimizer, defaults
from skgpb.domains import Region
from skgpb.lab.experiments import Experiment, judge
from skgpb.lab.experiments.judge import SLIPS, slip, smallest_region_depth, surprise

KERNEL = 25.0 * RBF(0.3)


def begun(path, kernel=KERNEL, **parameters):
    """An experiment whose kernel is given."""
    given = {"bounds": {"x": (0, 1)}, "alpha": 0.01, "random_state": 0} | parameters
    search = GPUCBOptimizer(kernel=kernel, optimizer=None, normalize_y=False, **given)
    search.start().save(path)
    return Experiment(path)


def posterior(X, y, at, kernel=KERNEL):
    """Mean and standard deviation of this process, by its formulas."""
    X, at = X[:, np.newaxis], np.array([[at]])
    gain = np.linalg.solve(kernel(X) + 0.01 * np.eye(len(X)), kernel(X, at))
    return float(gain[:, 0] @ y), float(np.sqrt(kernel(at) - kernel(at, X) @ gain)[0, 0])


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_predictions_and_doubts_are_those_of_the_process(tmp_path, direction):
    run = begun(tmp_path / "run.skgpb", direction=direction)
    with pytest.raises(ValueError, match="expect needs an answer, and there is none so far"):
        run.expect({"x": 0.5})
    assert run.gap() is run.best() is run.surprise(1e9, at={"x": 0.5}) is None
    X = np.array([0.05, 0.2, 0.4, 0.65, 0.7, 0.95])
    y = (20.0 + 3.0 * np.sin(6.0 * X)).round(3)
    for x, answer in zip(X.tolist(), y.tolist(), strict=True):
        run.tell(answer, at={"x": x})
    query = run.ask()[0]
    for x in (0.0, 0.33, 0.8, query["params"]["x"]):
        mean, std = posterior(X, y, x)
        found = run.expect({"x": str(x)})
        assert_allclose([found["mean"], found["std"]], [mean, std], rtol=1e-6)
        assert_allclose(found["interval_95"], [mean - 1.96 * std, mean + 1.96 * std], rtol=1e-6)
        assert found["possible"] and found["within_limits"] is None
        assert found["noise"] == found["scatter"] == pytest.approx(0.1)
        ends = mean + np.array([-1.96, 1.96]) * np.sqrt(std**2 + 0.01)
        said = run.surprise(round(mean / 10, 3), at={"x": x})
        assert_allclose(said["expected"], ends, rtol=1e-6)
        assert said["meant"] == pytest.approx(mean, abs=0.01)
        assert run.surprise(mean, at={"x": x}) is None
    for given in ({}, {"query": query["query"]}):  # the setting of the query that is pending
        assert_allclose(run.surprise(round(mean / 10, 3), **given)["expected"], ends, rtol=1e-6)
    # Counts have their own noise.
    q = 201 / 10_002
    own = 1.96 * np.sqrt(std**2 + q * (1 - q) / 10_000)
    found = run.surprise("200 of 10000")
    assert found is None or np.ptp(found["expected"]) >= 2 * own
    (why,) = run.why()
    assert_allclose([why["mean"], why["std"]], [mean, std], rtol=1e-6)
    best = run.best()
    mean, std = posterior(X, y, best["params"]["x"])
    assert_allclose([best["mean"], best["std"]], [mean, std], rtol=1e-6)
    assert best["n_answers"] == 6
    sign = 1 if direction == "maximize" else -1
    assert best["best_answer"]["answer"] == sign * max(sign * y)
    assert run.gap(0.99) > run.gap(0.9) > 0.0


def test_an_answer_of_another_block_is_expected_less_precisely(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"], block="operator", noise=0.1)
    for i in range(8):
        run.tell(50 + 5 * (i % 2) + i / 8, at={"x": i / 8}, operator="AB"[i % 2])
    best, setting = run.best(), {"x": 0.5}
    run.optimizer.predict([setting])
    mean, std = judge.Judge(run._notebook)._most_probable(setting)
    half = 1.96 * np.sqrt(std**2 + 0.1**2 + best["between_blocks"] ** 2)
    assert best["between_blocks"] > 1.0
    assert_allclose(run.surprise(5.1, at=setting)["expected"], [mean - half, mean + half])


def test_a_slip_is_the_most_probable_explanation():
    """Bayes' rule with the prior of each slip, and Student's distribution of honest answers."""
    rng = np.random.default_rng(0)
    meant = dict.fromkeys([None, *SLIPS], 0)
    for mean, factor, odds in itertools.product((-40.0, 0.5, 7.0), [1.0, *SLIPS], (0.1, 1.0)):
        for std in abs(mean) * np.array([0.02, 0.1, 0.3, 0.8]):
            answer = float((mean + 2.0 * std * rng.normal()) / factor)

            def density(value, mean=mean, std=std):
                return (1.0 + ((value - mean) / std) ** 2 / 3.0) ** -2.0

            chances = {
                c: p * abs(c) * density(c * answer)
                for c, p in SLIPS.items()
                if abs(c * answer - mean) <= 10.0 * std
            }
            best = max(chances, key=chances.__getitem__, default=None)
            if abs(answer - mean) <= 1.96 * std or (
                best is not None and chances[best] <= odds * density(answer)
            ):
                best = None
            found = slip(mean, std, answer, odds)
            assert found == (None if best is None else pytest.approx(best * answer, rel=1e-11))
            meant[best] += 1
    assert min(meant.values()) >= 3


@pytest.mark.parametrize("answers", [[3.0, 4.0, 5.0, 4.0, 3.5], [-2.0, 9.0, 4.0, 4.0, 4.5, 3.0]])
def test_an_answer_far_beyond_all_others_is_questioned(answers):
    low, high = min(*answers, 4.0 - 1.96), max(*answers, 4.0 + 1.96)
    for answer in np.linspace(-60, 60, 121).tolist():
        found, meant = surprise(answers, 4.0, 1.0, answer), slip(4.0, 1.0, answer)
        if meant is not None:
            assert found == {"expected": pytest.approx([4.0 - 1.96, 4.0 + 1.96]), "meant": meant}
        elif max(low - answer, answer - high) > 2.0 * (high - low):
            assert found == {"expected": [low, high], "meant": None}
        else:
            assert found is None
        assert surprise(answers[:4], 4.0, 1.0, answer) is None


def test_a_measurement_is_compared_with_all_others_of_its_name(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"], limits=["heat < 80", "ok = yes"])
    heats = [60.0, 61.5, 59.0, 60.5, 62.0, 58.0, 61.0]
    run.tell(1.0, at={"x": 0.9}, measured={"heat": "<50", "ok": "no"})
    for i, heat in enumerate(heats):
        run.tell(1.0, at={"x": i / 8}, measured={"heat": heat, "ok": "yes", "hue": heat})
    for query, others in ((None, heats), (3, heats[:1] + heats[2:])):
        n, measured = len(others), {"heat": 6.1, "hue": 6.1, "ok": 10.0}
        said = run.surprises(measured, query)
        half = 1.96 * np.std(others, ddof=1) * np.sqrt(1.0 + 1.0 / n)
        ends = [np.mean(others) - half, np.mean(others) + half]
        assert said == {"heat": {"expected": pytest.approx(ends), "meant": 61.0}}
    for number in (2, 4):
        assert run.surprises({"heat": 6.1}, 3)
        run.annotate(number, measured={"heat": ""})
    assert run.surprises({"heat": 6.1}, 3) == {}  # four numbers are too few to compare with


def test_the_judge_of_all_answers_has_the_prior_of_what_is_learned(tmp_path, monkeypatch):
    """Amplitude and level have their prior; noise is in units of the usual one."""
    run, seen = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"], seed=0), []
    real = judge.leave_one_out_refit
    monkeypatch.setattr(
        judge, "leave_one_out_refit", lambda *given: seen.append(given) or real(*given)
    )
    X = [0.0, 0.1, 0.25, 0.5, 0.6, 0.8, 1.0]
    y = [3.0, 4.0, 5.5, 4.0, 3.0, 2.5, 0.0]
    for i in range(6):
        run.tell(y[i], at={"x": X[i]}, noise=0.2 if i == 3 else None)
        if i == 4:
            assert run.questionable() == [] and not seen  # five are too few
    run.tell(y[6], at={"x": X[6]})
    run.questionable()
    K, noise, rewards, _ = seen[0]
    model = run.optimizer._model
    correlation = model.process.covariance(*[model.process.observed] * 2) / np.exp(
        model.process.kernel.theta[0]
    )
    rows = [int(np.flatnonzero(model.process.observed.rows[:, 0] == x)[0]) for x in sorted(X)]
    order = np.argsort(np.argsort(X))
    places = np.array(rows)[order]
    expected = (correlation[np.ix_(places, places)] + 1.0) * np.exp(model.prior.center[0])
    assert_allclose(K, expected, rtol=1e-9)
    assert_allclose(np.diag(K), 2.0 * np.exp(model.prior.center[0]), rtol=1e-9)
    usual = run.best()["noise"]
    own = defaults.NOISE * np.where(np.arange(7) == 3, 0.2**2 / usual**2, 1.0)
    assert_allclose(noise, own, rtol=1e-9)
    assert_allclose(np.ptp(rewards) * model.process.scale, 5.5, rtol=1e-9)
    assert_allclose(rewards * model.process.scale + model.process.offset, y, rtol=1e-9)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.filterwarnings("ignore::skgpb.exceptions.ModelWarning")
def test_of_two_slips_the_second_is_judged_without_the_first(tmp_path, direction):
    X, y, kernel = np.linspace(0, 1, 10), np.full(10, 5.0), 9.0 * RBF(0.08)
    wrong = y.copy()
    wrong[[3, 5]] = 45.0, 55.0
    run = begun(tmp_path / "run.skgpb", kernel, direction=direction)
    for x, answer in zip(X.tolist(), wrong.tolist(), strict=True):
        run.tell(answer, at={"x": x})
    found = run.questionable()
    assert [(each["query"], each["meant"]) for each in found] == [(4, 4.5), (6, 5.5)]
    for i, left in ((5, [*range(5), *range(6, 10)]), (3, [0, 1, 2, 4, *range(6, 10)])):
        mean, std = posterior(X[left], wrong[left], X[i], kernel)
        half = 1.96 * np.sqrt(std**2 + 0.01)
        (said,) = (each["expected"] for each in found if each["query"] == i + 1)
        assert_allclose(said, [mean - half, mean + half], rtol=1e-6)


@pytest.mark.parametrize("n_children", [2, 3])
def test_the_smallest_region_is_as_deep_as_the_last_cells_that_hold_it(n_children):
    bounds = {"x": (0.0, 8.0), "y": (1.0, 4.0)}
    tree = GPOOOptimizer(bounds=bounds, n_children=n_children, random_state=0).start()
    low, high = tree.domain_.bounds.T
    regions = []
    for depth in range(5):
        for slightly in (1.0001, 0.9999):
            share = slightly * float(n_children) ** -depth
            upper = low + (high - low) * [share**0.75, share**0.25]
            regions.append(Region(low, upper, (1, 1)))
            expected = max(depth - (slightly > 1.0), 0)
            assert smallest_region_depth(tree, [regions[-1]]) == expected
    assert smallest_region_depth(tree, regions) == 4
    assert smallest_region_depth(tree, [tree.domain_.cell_at(2, 1), regions[0]]) == 2
    point = Region(low, low, (1, 1))
    assert smallest_region_depth(tree, [point]) == 0
    assert smallest_region_depth(tree, []) is None


@pytest.mark.parametrize(
    ("side", "first", "second"), [("0:360:periodic", 0, 360), ("-1:1:any", 0.0, -0.0)]
)
def test_answers_to_one_setting_are_replicates_however_it_is_written(tmp_path, side, first, second):
    run = Experiment.create(tmp_path / "run.skgpb", [f"x={side}"])
    for x, y in ((first, 1.0), (second, 3.0), (0.5, 7.0)):
        run.tell(y, at={"x": x})
    (found,) = run.replicates()
    assert (found["queries"], found["mean"]) == ([1, 2], 2.0)
    assert found["spread"] == pytest.approx(np.sqrt(2.0))


@pytest.mark.parametrize(("direction", "ends"), [("maximize", "0:1"), ("minimize", "6:")])
def test_results_beyond_the_range_of_answers_are_named_and_are_no_reason_to_stop(
    tmp_path, direction, ends
):
    run = begun(tmp_path / "run.skgpb", direction=direction)
    run.change(answer_range=ends)
    for x in (0.1, 0.4, 0.6, 0.9):
        run.tell(4.0 + x, at={"x": x})
    assert f"beyond the answer range ({ends})" in run.best()["beware"]
    assert not run.may_stop(0.01)["enough"]
    run.change(answer_range="0:100")
    assert not run.best()["beware"]
