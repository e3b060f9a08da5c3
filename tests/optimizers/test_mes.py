"""Max-value entropy search over queries and targets, compared with the search over arms."""

from __future__ import annotations

import inspect
import pickle
from types import SimpleNamespace

import cases
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from skgpb import KGOptimizer, MESOptimizer, TargetsOptimizer
from skgpb.domains import Cells
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate import draws
from skgpb.utils.roots import joint_draws

POINTS = np.linspace(0, 1, 13)[:, None]
ROWS = {"kernel": RBF(0.2), "queries": POINTS, "alpha": 0.01, "random_state": 0}
CELLS = {
    "queries": Cells([0.2, 0.1]),
    "cost": [1, 3],
    "targets": Cells(0.1),
    "bounds": [(0, 1)],
    "n_candidates": 40,
    "random_state": 0,
}


def f(query):
    return float(np.sin(5 * query.points).mean())


@pytest.mark.parametrize(
    "settings",
    [CELLS, ROWS | {"targets": POINTS[::2] + 0.01, "cost": np.linspace(1, 2, 13)}, ROWS],
)
def test_queries_and_targets_are_searched_as_by_the_rule_of_this_name(settings):
    optimizer, rule = MESOptimizer(**settings), TargetsOptimizer("mes", **settings)
    results = [each.run(f, max_cost=15) for each in (optimizer, rule)]
    np.testing.assert_array_equal(results[0].history, results[1].history)
    assert results[0].x == results[1].x == optimizer.recommend()
    assert optimizer.recommend() in optimizer.targets_
    assert optimizer.spent_ == results[0].cost >= 15


def test_what_its_name_makes_is_of_its_line():
    """By inheritance, and not by word alone; what is printed makes it again."""
    for parameter in ("arms", "queries"):
        optimizer = MESOptimizer(**{parameter: [[0.0], [0.5]]}, alpha=0.01)
        assert type(optimizer) is MESOptimizer
        again = eval(repr(optimizer))
        assert type(again) is type(clone(optimizer)) is type(optimizer)
        assert again.get_params() == optimizer.get_params()
    assert not isinstance(KGOptimizer(queries=POINTS), MESOptimizer)


def test_targets_are_drawn_as_often_as_is_said():
    few, many = (MESOptimizer(**ROWS, n_max_values=n) for n in (2, 300))
    posteriors = few.posterior(), many.posterior()
    assert not np.allclose(few.acquisition(posteriors[0]), many.acquisition(posteriors[1]))
    again = MESOptimizer(**ROWS, n_max_values=300)
    np.testing.assert_array_equal(
        again.acquisition(again.posterior()), many.acquisition(many.posterior())
    )


def test_a_run_over_targets_is_copied_saved_and_resumed(tmp_path):
    optimizer = MESOptimizer(**CELLS)
    optimizer.run(f, budget=4)
    optimizer.save(tmp_path / "run")
    for twin in (
        MESOptimizer.load(tmp_path / "run"),
        type(optimizer).load(tmp_path / "run"),
        pickle.loads(pickle.dumps(optimizer)),
        clone(optimizer),
    ):
        assert type(twin) is type(optimizer)
        assert str(twin.get_params()) == str(optimizer.get_params())
        if hasattr(twin, "bounds_"):
            assert twin.ask() == optimizer.ask()
    assert set(inspect.signature(MESOptimizer).parameters) == set(optimizer.get_params())


def covariance_of_targets(optimizer, pending=()):
    """The posterior covariance of all targets, of a process that has seen all answers."""
    gp, n = optimizer._model.process, len(optimizer.domain_.rows)
    targets = Functionals.of_rows(gp.tracked.rows[n:])
    blocks = [optimizer.domain_.rows_of_query(query) for query in pending]
    seen = gp.fantasize(blocks, [optimizer.alpha_] * len(blocks))
    return seen.posterior_covariance(targets, targets)


@pytest.mark.parametrize(
    "settings",
    [
        CELLS | {"kernel": RBF(0.2), "alpha": 0.01, "bounds": [(0, 1)] * 2},
        CELLS | {"relearn": 4},
        ROWS | {"targets": POINTS[::2] + 0.01},
    ],
)
def test_targets_are_drawn_by_a_factor_of_their_covariance(settings):
    """After moves of cells, after learning, and with pending answers taken off."""
    optimizer = MESOptimizer(**settings)
    for _ in range(10):
        query = optimizer.ask()
        for pending in ((), (query,)):
            posterior = optimizer.posterior(pending)
            m = len(posterior.target_mean)
            # Draws mean + R z, with every z a unit vector: nothing but these numbers is drawn.
            posterior.rng = SimpleNamespace(standard_normal=lambda shape: np.eye(*shape))
            root = (posterior.draws(m) - posterior.target_mean).T
            expected = covariance_of_targets(optimizer, pending)
            np.testing.assert_allclose(root @ root.T, expected, rtol=0, atol=1e-10)
        optimizer.tell(query, f(query))


def test_targets_are_drawn_by_the_symmetric_root_where_there_is_no_factor(monkeypatch):
    optimizer = MESOptimizer(**ROWS)
    optimizer.tell(optimizer.ask(), 0.3)
    monkeypatch.setattr(draws, "ADDED", -1.0)  # as large as any rounding
    posterior = optimizer.posterior()
    seed = int(optimizer.posterior().rng.integers(2**31))
    expected = joint_draws(posterior.target_mean, covariance_of_targets(optimizer), 5, seed).T
    np.testing.assert_allclose(posterior.draws(5), expected, rtol=0, atol=1e-6)


def test_draws_of_targets_are_the_same_however_a_run_came_about(tmp_path):
    """To the last bit: of another to 1e-15 a smooth covariance has another factor."""
    optimizer, looked_at = MESOptimizer(**CELLS), MESOptimizer(**CELLS)
    for _ in range(8):
        query = optimizer.ask()
        looked_at.posterior().draws(3)
        assert looked_at.ask() == query
        for each in (optimizer, looked_at):
            each.tell(query, f(query))
    optimizer.save(tmp_path / "run")
    expected = optimizer.posterior().draws(20)
    twins = (
        looked_at,
        cases.loaded(MESOptimizer, tmp_path / "run", True),
        pickle.loads(pickle.dumps(optimizer)),
    )
    for twin in twins:
        np.testing.assert_array_equal(twin.posterior().draws(20), expected)
    loaded = MESOptimizer.load(tmp_path / "run")
    np.testing.assert_allclose(loaded.posterior().draws(20), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": [(0, 1)], "cost": [1.0, 2.0]}, "cost must have one finite number"),
        ({"bounds": [(0, 1)], "alpha": [1.0]}, "alpha must be one number, or None"),
        (ROWS | {"arms": POINTS}, "pass either arms, or queries and targets"),
        (ROWS | {"optimum": 1.0}, "optimum must be None with"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        MESOptimizer(**settings).ask()


ARMS = {"kernel": RBF(0.2), "arms": POINTS, "alpha": 0.01, "random_state": 0}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("settings", [CELLS, ROWS, ARMS])
@pytest.mark.parametrize("before", [{}, {"queries": POINTS}, {"arms": POINTS}])
def test_parameters_mean_what_they_say_after_set_params(settings, before):
    """From arms to queries and back, before a run and, by ``fit``, in its midst."""
    expected = MESOptimizer(**settings)
    optimizer = MESOptimizer(**before).set_params(**dict.fromkeys(before) | settings)
    for each in (optimizer, clone(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert type(each) is type(expected)
        assert each.ask() == expected.ask()
    begun = MESOptimizer(**ARMS)
    begun.run(f, 2)
    begun.set_params(**MESOptimizer().get_params()).set_params(**settings)
    X = np.array([[0.0], [1.0]])
    begun.fit(X)
    results = [each.fit(X).run(f, 6) for each in (expected, optimizer)] + [begun.run(f, 6)]
    for result in results:
        np.testing.assert_array_equal(result.history, results[0].history)
    assert (optimizer.targets_ is optimizer.domain_) == (settings is ARMS)


def test_a_begun_run_goes_on_as_it_is_until_fit_succeeds():
    optimizer = MESOptimizer(**ARMS)
    optimizer.run(f, 3)
    asked = optimizer.ask()
    optimizer.set_params(arms=None, queries=POINTS, cost=[-1.0])
    with pytest.raises(ValueError, match="cost"):
        optimizer.fit([[0.0], [1.0]])
    assert optimizer.pending_ == [asked]
    assert len(optimizer.tell(asked, 0.5).history_) == 4
    with pytest.raises(ValueError, match="arms was set during the run"):
        optimizer.ask()
    optimizer.set_params(cost=None).fit([[0.0], [1.0]])
    assert len(optimizer.history_) == 0 and len(optimizer.targets_) == len(POINTS)
