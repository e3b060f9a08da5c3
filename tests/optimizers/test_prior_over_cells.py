"""The default prior over cells, and the model that candidates follow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from skgpb import KGOptimizer, defaults
from skgpb.domains import Cells
from skgpb.domains.arms import ArmSet
from skgpb.kernels import CellIntegral
from skgpb.optimizers._sets import best_places


def trend_of(context=None, **settings):
    """The trend of the prior, before anything is known."""
    optimizer = KGOptimizer(random_state=0, **settings)
    optimizer.ask() if context is None else optimizer.ask(context=context)
    return optimizer.surrogate_.kernel_.base.k1


def variance_over(trend, sides):
    """Mean variance of averages over boxes of these sides (k, d)."""
    sides = np.atleast_2d(sides)
    return CellIntegral(trend).diag(np.hstack([np.zeros_like(sides), sides])).mean()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_averages_over_wanted_cells_vary_as_answers_do(d):
    trend = trend_of(queries=Cells([0.3, 0.6]), targets=Cells(0.3), bounds=[(0, 1)] * d)
    assert_allclose(variance_over(trend, [0.3] * d), defaults.TREND_LEVEL)


def test_what_is_asked_counts_where_wanted_cells_cannot_be():
    for targets in (None, Cells(0.1), [[0.2, 0.2], [0.8, 0.8]]):
        trend = trend_of(queries=Cells([0.3, 0.6]), targets=targets, bounds=[(0, 1)] * 2)
        assert_allclose(variance_over(trend, [[0.3, 0.3], [0.6, 0.6]]), defaults.TREND_LEVEL)
    boxes = np.array([[0.0, 0.0, 0.2, 0.4], [0.3, 0.5, 0.7, 1.0]])
    trend = trend_of(queries=boxes, bounds=[(0, 1)] * 2)
    assert_allclose(variance_over(trend, boxes[:, 2:] - boxes[:, :2]), defaults.TREND_LEVEL)


def test_a_context_is_no_side_of_a_cell():
    cells = {"queries": Cells(0.3), "targets": Cells(0.3), "context_bounds": [(0, 1)]}
    trend = trend_of([0.5], bounds=[(0, 1)] * 2, **cells)
    assert_allclose(variance_over(trend, [0.0, 0.3, 0.3]), defaults.TREND_LEVEL)


def test_candidates_follow_the_best_and_what_may_be_better():
    points = np.arange(20.0)[:, np.newaxis]
    arms = ArmSet(points, np.array([[0.0, 19.0]]), None, None)
    means, spread = -points[:, 0], np.where(points[:, 0] >= 17, 40.0, 0.0)
    assert_array_equal(best_places(arms, means, None)[:, 0], np.arange(defaults.N_CENTERS))
    # By means 0, 1, 2, ... and, with two deviations more, 17, 18, 19.
    assert_array_equal(best_places(arms, means, spread)[:, 0], [0, 17, 1, 18, 2])


def test_candidates_come_to_a_place_that_nobody_has_asked():
    # All that is known lies in the left half. The right half may hold the best cell.
    optimizer = KGOptimizer(
        queries=Cells(0.1), targets=Cells(0.1), bounds=[(0, 1)], n_initial=0, random_state=0
    )
    optimizer.ask()
    for lower in np.linspace(0.0, 0.4, 9):
        query = optimizer.domain_.query_of(-1, np.array([lower, lower + 0.1]))
        optimizer.tell(query, float(np.sin(9.0 * lower)))
    optimizer.ask()
    targets = optimizer.targets_
    places = targets.places_of(targets.rows)[:, 0]
    moved = places[targets.moving]
    mean, spread = optimizer.predict_query(
        [targets.arm(i) for i in range(len(places))], return_std=True
    )
    best, hoped = places[np.argmax(mean)], places[np.argmax(mean + 2.0 * spread)]
    assert best < 0.5 < hoped
    assert np.abs(moved - best).min() < 1e-3
    assert np.abs(moved - hoped).min() < 1e-3


def test_a_gap_between_cells_expects_larger_deviations_and_nothing_else_does():
    rng = np.random.default_rng(0)
    optimizer = KGOptimizer(
        queries=Cells([0.2, 0.4]), targets=Cells(0.2), bounds=[(0, 1)] * 2, random_state=0
    )
    for _ in range(20):
        query = optimizer.ask()
        optimizer.tell(query, float(np.sin(5 * query.points).mean() + 0.1 * rng.normal()))
    gp, comparison = optimizer._model.process, optimizer._comparison(optimizer.recommend())
    (wider,) = comparison.models().processes
    kernel, other = gp.kernel.base, wider.kernel.base
    factor = defaults.GAP_DEVIATION**2
    for part, wide in ((kernel.k1, other.k1), (kernel.k2, other.k2)):
        assert_allclose(wide.k1.constant_value, factor * part.k1.constant_value)
        assert_allclose(wide.k2.length_scale, part.k2.length_scale)
    assert_allclose(wider.posterior.targets(), gp.posterior.targets())
    # The noise is the same, and so is all else that is said.
    assert_allclose(wider.noises(), gp.noises())
    assert optimizer._mixture() is None
    alone = comparison().quantile(0.05, np.random.default_rng(0))
    assert 0.0 < alone < comparison.gap(0.05, np.random.default_rng(0))


def test_a_kernel_that_is_given_is_as_wide_as_it_is():
    optimizer = KGOptimizer(
        CellIntegral(RBF(0.3)), queries=Cells([0.2, 0.4]), targets=Cells(0.2), bounds=[(0, 1)]
    )
    for _ in range(6):
        query = optimizer.ask()
        optimizer.tell(query, float(np.sin(5 * query.points).mean()))
    assert optimizer._comparison(optimizer.recommend()).models() is None
