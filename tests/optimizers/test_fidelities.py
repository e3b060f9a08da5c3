"""Multi-fidelity search: queries, costs, answers, files and results."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from skgpb import KGOptimizer
from skgpb.domains import Arm, Cells, Fidelities
from skgpb.domains.arms import Layout
from skgpb.kernels import CellAverage, Tasks

BOX = [(2.0, 3.0)]


def truth(points):
    return float(-((points - 2.3) ** 2).mean())


def answer(query):
    value = truth(query.points)
    return value if query.task == 0 else 0.5 * value + 0.1 * float(query.points.mean()) - 1.0


def made(**settings):
    settings = {"queries": Fidelities(2), "cost": [1.0, 0.1], "random_state": 0} | settings
    return KGOptimizer(bounds=BOX, **settings)


@pytest.mark.slow
def test_cheap_low_fidelities_are_queried_and_the_optimum_is_found():
    opt = made()
    opt.run(answer, max_cost=9.0)
    tasks = opt.history_["task"]
    assert 0 < (tasks == 0).sum() < (tasks == 1).sum()
    assert opt.spent_ == pytest.approx(np.where(tasks == 0, 1.0, 0.1).sum())
    best = opt.recommend()
    assert best.task == 0
    assert abs(best.points[0, 0] - 2.3) < 0.05
    # Points stand for the truth.
    at = np.array([[2.3], [2.8]])
    assert_allclose(opt.predict(at), [0.0, -0.25], atol=0.03)
    asked = [Arm(-1, np.array([2.3, task]), Layout(1, task_column=0.0)) for task in (0.0, 1.0)]
    assert_allclose(opt.predict_query(asked), [0.0, 0.1 * 2.3 - 1.0], atol=0.03)


@pytest.mark.slow
def test_a_low_fidelity_of_equal_cost_is_hardly_queried():
    opt = made(cost=[1.0, 1.0], n_initial=6)
    opt.run(answer, budget=14)
    later = opt.history_["task"][6:]
    assert (later == 0).sum() > (later == 1).sum()


def test_candidates_of_fidelities_move_once_the_kernel_is_learned_again():
    """The best places of the old kernel are no better than others."""
    opt, moved, learned = made(n_candidates=200, n_initial=3), [], []
    before = opt.start().domain_.rows.copy()
    for _ in range(9):
        opt.tell(opt.ask(), answer(opt.ask()))
        opt.posterior()
        moved.append((opt.domain_.rows != before).any(axis=1).sum())
        before, learned = opt.domain_.rows.copy(), [*learned, opt._events[-1][0] == "learned"]
    moved, learned = np.array(moved[3:]), np.array(learned[3:])
    assert moved[learned].min() > 2 * moved[~learned].max() and learned.any()


def test_cells_of_each_fidelity_have_prices_and_noise_of_their_own():
    opt = made(
        queries=Fidelities(2, [0.1, 0.3]),
        targets=Cells(0.2),
        cost=[4.0, 2.0, 0.4, 0.2],
        alpha=[4e-4, 3e-4, 2e-4, 1e-4],
        n_candidates=80,
    )
    opt.run(answer, budget=14)
    history = opt.history_
    widths = np.diff(history["descriptor"], axis=1)[:, 0]
    prices = {(0, 0.1): 4.0, (0, 0.3): 2.0, (1, 0.1): 0.4, (1, 0.3): 0.2}
    kinds = zip(history["task"].tolist(), widths.round(6).tolist(), strict=True)
    assert opt.spent_ == pytest.approx(sum(prices[kind] for kind in kinds))
    best = opt.recommend()
    assert best.upper - best.lower == pytest.approx(0.2)
    assert abs(best.center[0] - 2.3) < 0.1
    assert_allclose(opt.posterior().query_noise[-1] * opt.posterior().scale ** 2, 1e-4)


def test_data_of_both_fidelities_are_told_with_the_fidelity_behind_the_point():
    X = np.array([[2.1, 0.0], [2.5, 1.0], [2.9, 1.0]])
    at_once, one_by_one = made(n_initial=0), made(n_initial=0)
    at_once.tell(X, [0.1, 0.2, 0.3])
    for x, y in zip(X, [0.1, 0.2, 0.3], strict=True):
        one_by_one.tell(x, y)
    for opt in (at_once, one_by_one):
        assert_array_equal(opt.history_["task"], [0, 1, 1])
        assert opt.spent_ == pytest.approx(1.2)
    assert at_once.ask() == one_by_one.ask()
    # Without a fidelity a point is of the truth.
    assert at_once.tell([2.2], 0.1).history_["task"][-1] == 0


@pytest.mark.parametrize("task", [2.0, -1.0, 0.5])
def test_a_fidelity_that_there_is_not_is_named(task):
    opt = made().start()
    with pytest.raises(ValueError, match="an integer from 0 to 1"):
        opt.tell([2.5, task], 0.1)
    assert not len(opt.history_)


@pytest.mark.parametrize("keep", ["pickle", "file"])
def test_a_run_goes_on_from_a_file_as_it_would_have(keep, tmp_path):
    opt = made(n_initial=4)
    opt.run(answer, budget=6)
    if keep == "pickle":
        twin = pickle.loads(pickle.dumps(opt))
    else:
        opt.save(tmp_path / "run")
        twin = KGOptimizer.load(tmp_path / "run")
    assert twin.queries == opt.queries
    assert twin.ask() == opt.ask()
    assert_array_equal(twin.history_, opt.history_)


def test_named_sides_and_the_fidelity_are_shown():
    opt = KGOptimizer(queries=Fidelities(3), bounds={"t": (20, 90)}, random_state=0)
    query = opt.ask()
    assert repr(query) == f"Arm(t={query.params['t']:.6g}, task={query.task})"
    assert repr(Fidelities(3)) == "Fidelities(3)"
    assert repr(Fidelities(2, [0.1, 0.2])) == "Fidelities(2, [0.1, 0.2])"


def test_a_given_kernel_is_that_of_the_truth_or_says_all():
    opt = made(kernel=2.0 * RBF(0.3), alpha=1e-4).start()
    assert_allclose(opt.predict([[2.5]], return_std=True)[1], np.sqrt(2.0))
    assert opt.surrogate_.kernel_.n_dims == 2  # similarity of the low fidelities is not learned
    kernel = Tasks(CellAverage(RBF(0.3), 3))
    opt = made(kernel=kernel, targets=Cells(0.1), alpha=1e-4)
    assert len(opt.ask().points) == 1 and opt.surrogate_.kernel_ == kernel
    with pytest.raises(ValueError, match=r"Tasks\(CellAverage\(kernel\), n_tasks=2\)"):
        made(kernel=Tasks(RBF(0.3)), targets=Cells(0.1)).start()


@pytest.mark.parametrize("n", [0, 1.5, True, "a"])
def test_a_wrong_number_of_fidelities_is_named(n):
    with pytest.raises(ValueError, match="n of Fidelities must be an integer >= 1"):
        Fidelities(n)


def smooth_pair(seed, noise=0.0):
    """Thirty-two answers of a tilted product and six of the product, and the deviation of all."""
    rng = np.random.default_rng(seed)
    X = rng.random((38, 5))
    X[:, -1] = np.arange(38) < 32
    y = np.prod(1.0 + X[:, :-1], axis=1) + X[:, -1] * (1.0 - 0.2 * X[:, 0] + 0.3 * X[:, 1])
    opt = KGOptimizer(
        queries=Fidelities(2), bounds=[(0, 1)] * 4, relearn=38, n_candidates=20, random_state=0
    )
    return opt.tell(X, y + noise * y.std() * rng.standard_normal(38)), y.std()


@pytest.mark.slow
def test_a_smooth_low_fidelity_shows_where_a_smooth_function_is_large():
    # Without a common trend, the low fidelity was explained by its own part, and high fidelity
    # was predicted no better than by its mean.
    opt, _ = smooth_pair(3)
    at = np.random.default_rng(0).random((200, 4))
    wanted = np.prod(1.0 + at, axis=1)
    assert np.sqrt(np.mean((opt.predict(at) - wanted) ** 2)) < 0.3 * wanted.std()


@pytest.mark.slow
def test_exact_answers_are_taken_as_nearly_exact_and_noisy_ones_as_noisy():
    # Under the prior of other searches exact answers had a deviation of 0.018 of their spread.
    exact, noisy = (
        np.sqrt(opt.alpha_) / spread for opt, spread in (smooth_pair(0), smooth_pair(0, 0.1))
    )
    assert exact < 0.014 < 0.04 < noisy < 0.2


def test_sides_of_separate_values_are_for_points_of_fidelities():
    def answer(query):
        setting = query.params
        value = -((setting["x"] - {"A": 0.3, "B": 0.7}[setting["machine"]]) ** 2)
        value += 0.2 * (setting["n"] == 2)
        return value if query.task == 0 else 0.5 * value + 0.1 * setting["x"]

    opt = KGOptimizer(
        queries=Fidelities(2),
        cost=[1.0, 0.1],
        context_bounds={"machine": ["A", "B"]},
        bounds={"x": (0, 1), "n": range(4)},
        n_candidates=100,
        relearn=15,
        random_state=0,
    )
    opt.run(answer, contexts=[{"machine": each} for each in "AB" * 15])
    for machine, best in (("A", 0.3), ("B", 0.7)):
        found = opt.recommend(context={"machine": machine})
        assert found.task == 0 and found.params["machine"] == machine
        assert found.params["n"] == 2 and abs(found.params["x"] - best) < 0.1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"queries": Fidelities(2, 0.1)}, "sizes of Fidelities must be 0, and targets points"),
        ({"targets": Cells(0.1)}, "sizes of Fidelities must be 0, and targets points"),
        ({"kernel": Tasks(RBF())}, "kernel must be that of fidelity 0, without Tasks, if bounds"),
    ],
)
def test_what_has_no_separate_values_is_refused(settings, message):
    settings = {"queries": Fidelities(2), "bounds": {"n": range(9), "x": (0, 1)}} | settings
    with pytest.raises(ValueError, match=message):
        KGOptimizer(**settings).ask()


def test_candidates_follow_what_was_learned_last():
    """Sixteen move in a round, and all that follow the best once hyperparameters were learned."""
    rng = np.random.default_rng(0)
    opt = KGOptimizer(queries=Fidelities(2), bounds=[(0, 1)] * 4, relearn=30, random_state=0)
    places = []
    for i, x in enumerate(rng.random((30, 4))):
        opt.tell([*x, i % 3 > 0], -float(np.sum((x - 0.5) ** 2)) + (i % 3 > 0) * x[0])
        if i >= 27:
            opt.posterior()
            places.append(opt.targets_.rows)
    moved = [(before != after).any(axis=1) for before, after in pairwise(places)]
    assert 0 < moved[0].sum() <= 16
    assert_array_equal(np.flatnonzero(moved[1]), opt.targets_.moving)
