"""The knowledge gradient: each round, its queries and its results."""

from __future__ import annotations

import cases
import numpy as np
import pytest
from reference.kg import NaiveKG
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import KGOptimizer, defaults
from skgpb.domains import Arm, Cells, Fidelities
from skgpb.kernels import CellAverage, Tasks, WeightedSum, WindowMean
from skgpb.kernels._boxes import boxes_from_points

POINTS = np.linspace(0, 1, 23)[:, None]
BOXES = np.array([[x, x + w] for w in (0.1, 0.25) for x in np.linspace(0, 1 - w, 12)])
COST = np.repeat([1.0, 0.5], 12)
ALPHA = np.repeat([0.02, 0.01], 12)

TOWNS = np.random.default_rng(0).random((20, 2))
PEOPLE = np.random.default_rng(1).uniform(1.0, 5.0, 20)
COUNTY, WARD = np.repeat(np.arange(5), 4), np.repeat(np.arange(10), 2)
DISTRICTS = WeightedSum(
    RBF(0.3),
    np.vstack([TOWNS, TOWNS]),
    np.append(COUNTY, 100 + WARD),
    np.append(*(PEOPLE / np.bincount(each, PEOPLE)[each] for each in (COUNTY, WARD))),
)
WINDOWS = WindowMean(RBF(0.2), scale=None)
TRAITS = np.array([[x, task] for task in (0, 1) for x in np.linspace(0, 1, 12)])
#: Descriptors that are no coordinates; what they stand for is the kernel's business.
KINDS = {
    "districts": (DISTRICTS, DISTRICTS.queries(range(5)), DISTRICTS.queries(range(100, 110))),
    "windows": (
        WINDOWS,
        WINDOWS.queries([[x, scale] for scale in (0.05, 0.2) for x in POINTS[::2, 0]]),
        WINDOWS.points(POINTS),
    ),
    "tasks": (Tasks(RBF(0.2)), TRAITS, TRAITS[:12]),
}

SETTINGS = {
    "points": (0.8 * Matern(0.2, nu=2.5), POINTS, POINTS, np.ones(23), np.full(23, 0.01)),
    "other targets": (RBF(0.2), POINTS, POINTS[::3] + 0.01, np.ones(23), np.full(23, 0.01)),
    "boxes": (
        CellAverage(RBF(0.2), 4),
        BOXES,
        np.vstack([boxes_from_points(POINTS), BOXES[:5]]),
        COST,
        ALPHA,
    ),
    **{name: (*kind, *np.full((2, len(kind[1])), 0.01)) for name, kind in KINDS.items()},
}


def f(points):
    return float(np.sin(7 * points).mean())


def made(name):
    kernel, queries, targets, cost, alpha = SETTINGS[name]
    optimizer = KGOptimizer(
        kernel, queries=queries, targets=targets, cost=cost, alpha=alpha, random_state=0
    )
    return optimizer, NaiveKG(kernel, queries, targets, cost, alpha)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SETTINGS)
def test_round_by_round_it_does_what_the_definition_says(name):
    optimizer, naive = made(name)
    rng = np.random.default_rng(0)
    for _ in range(30):
        posterior = optimizer.posterior()
        mean, own, across = naive.posterior(naive.told, naive.rewards)
        np.testing.assert_allclose(posterior.target_mean, mean, rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.query_var, np.diag(own), rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.covariance, across, rtol=0, atol=1e-8)
        gains = naive.gains()
        np.testing.assert_allclose(
            np.exp(optimizer.acquisition(posterior)) / posterior.cost, gains, rtol=1e-7, atol=1e-9
        )
        np.testing.assert_allclose(np.exp(cases.scores(optimizer)), gains, rtol=1e-7, atol=1e-9)
        query = optimizer.ask()
        assert gains[query.index] >= gains.max() - 1e-8
        reward = f(query.points) + 0.1 * rng.normal()
        optimizer.tell(query, reward)
        naive.tell(query.index, reward)
        best = optimizer.recommend()
        mean = naive.posterior(naive.told, naive.rewards)[0]
        assert mean[best.index] >= mean.max() - 1e-8
    assert len(set(naive.told)) < 30  # some were asked again
    assert optimizer.spent_ == pytest.approx(naive.cost[naive.told].sum())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_batch_takes_what_is_pending_as_answered(name, monkeypatch):
    # The gain alone chooses, also beside a pending query.
    monkeypatch.setattr(defaults, "LEFT_TO_LEARN", {"value": 0.0, "information": 0.0})
    optimizer, naive = made(name)
    for query in optimizer.ask(4):
        optimizer.tell(query, f(query.points))
        naive.tell(query.index, f(query.points))
    pending = []
    for query in optimizer.ask(3):
        gains = naive.gains(pending)
        gains[pending] = -1.0
        assert gains[query.index] >= gains.max() - 1e-8
        pending.append(query.index)
    gains = naive.gains(pending)
    np.testing.assert_allclose(np.exp(cases.scores(optimizer)), gains, rtol=1e-7, atol=1e-9)


def test_what_follows_the_answers_is_what_is_computed_afresh():
    """Cells that move, queries asked again, answers about something else."""
    optimizer = KGOptimizer(
        RBF(0.2), queries=Cells([0.1, 0.3]), targets=Cells(0.1), bounds=[(0, 1)], alpha=0.01
    )
    for t in range(12):
        query = optimizer.ask()
        optimizer.tell(query, f(query.points))
        if t % 3 == 0:
            optimizer.tell(query, f(query.points))
        if t % 5 == 0:
            optimizer.tell([0.2 + 0.05 * t], 0.4)
        optimizer.ask()
        n = len(optimizer.domain_.rows)
        rows = [*optimizer.domain_.rows, *optimizer.targets_.rows]
        blocks = [row[None] for row in rows]
        process = optimizer.surrogate_.process_
        across = process.moments(blocks, cov=True)[1][:n, n:]
        np.testing.assert_allclose(optimizer.posterior([]).covariance, across, rtol=0, atol=1e-9)


def test_cells_of_the_sizes_are_asked_and_found():
    sizes = [0.05, (0.3,), 0.0]
    optimizer = KGOptimizer(
        queries=Cells(sizes),
        targets=Cells(0.17),
        bounds=[(2, 3)],
        cost=[2.0, 1.0, 4.0],
        alpha=[0.01, 0.002, 0.02],
        random_state=0,
    )
    optimizer.run(lambda cell: f(cell.points), budget=25)
    asked = optimizer.history_["descriptor"]
    widths = (asked[:, 1] - asked[:, 0]).round(6)
    assert set(widths) <= {0.05, 0.3, 0.0} and len(set(widths)) > 1
    prices = {0.05: 2.0, 0.3: 1.0, 0.0: 4.0}
    assert optimizer.spent_ == pytest.approx(sum(prices[width] for width in widths))
    best = optimizer.recommend()
    assert best.upper - best.lower == pytest.approx(0.17)
    top = 6.5 * np.pi / 7  # sin(7 x) is 1 there, and a cell of this size fits around it
    assert abs(best.center[0] - top) < 0.05


def test_what_is_found_may_be_none_of_what_can_be_asked():
    optimizer, _ = made("boxes")
    result = optimizer.run(lambda cell: f(cell.points), budget=5)
    assert result.fun == optimizer.predict_query(result.x)[0]
    both = optimizer.predict_query([optimizer.ask(), result.x, [0.5]])
    assert both[1] == pytest.approx(result.fun) and len(set(both)) == 3
    other = Arm(3, np.array([0.123, 0.456]), result.x.layout)
    with pytest.raises(ValueError, match="not one of this optimizer's arms"):
        optimizer.predict_query([other])


def test_the_price_decides_between_equals():
    """Two copies of one arm: the cheaper is asked; without prices the first."""
    twice = np.array([[0.2], [0.2], [0.9]])
    dear_first = KGOptimizer(RBF(0.1), queries=twice, cost=[3.0, 1.0, 3.0], alpha=0.01)
    assert dear_first.ask().index == 1
    assert KGOptimizer(RBF(0.1), queries=twice, alpha=0.01).ask().index == 0


def test_noise_that_is_known_of_each_query_counts():
    """Of two equal queries the one that is measured better is asked, and its noise is used."""
    twice = np.array([[0.2], [0.2], [0.9]])
    optimizer = KGOptimizer(RBF(0.1), queries=twice, alpha=[0.5, 0.01, 0.5])
    query = optimizer.ask()
    assert query.index == 1
    optimizer.tell(query, 1.0)
    assert optimizer.predict_query(query)[0] == pytest.approx(1 / 1.01)


def test_a_run_ends_when_its_money_is_spent():
    optimizer = KGOptimizer(RBF(0.2), queries=POINTS, cost=np.full(23, 2.5), alpha=0.01)
    result = optimizer.run(lambda arm: f(arm.points), max_cost=11.0)
    assert (result.nfev, result.cost) == (5, 12.5)


def test_sizes_have_names_where_sides_do():
    bounds = {"temperature": (20, 90), "salt": (0.0, 1.0)}
    optimizer = KGOptimizer(
        queries=Cells({"temperature": 7, "salt": 0.2}), targets=Cells((14, 0.2)), bounds=bounds
    )
    query = optimizer.ask()
    low, high = query.params["temperature"]
    assert high - low == pytest.approx(7)
    with pytest.raises(ValueError, match="sizes of queries must have a number for each of"):
        KGOptimizer(queries=Cells({"temperature": 7}), bounds=bounds).ask()


def test_it_is_saved_with_its_cells(tmp_path):
    optimizer = KGOptimizer(
        queries=Cells([0.1, (0.3,)]), targets=Cells(0.1), bounds=[(0, 1)], random_state=0
    )
    for _ in range(13):
        query = optimizer.ask()
        optimizer.tell(query, f(query.points))
    optimizer.save(tmp_path / "run.skgpb")
    again = KGOptimizer.load(tmp_path / "run.skgpb")
    assert again.queries == optimizer.queries and again.targets == optimizer.targets
    assert again.ask() == optimizer.ask()
    assert again.recommend() == optimizer.recommend()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_best_cell_is_found_from_cells_of_other_sizes(seed):
    """With nothing known, 40 answers with noise of a 20th of the range."""
    rng = np.random.default_rng(seed)
    peak = rng.uniform(0.2, 0.8, size=2)

    def average(cell):
        values = np.exp(-(((cell.points - peak) / 0.2) ** 2).sum(axis=1))
        return float(values.mean() + 0.05 * rng.normal())

    optimizer = KGOptimizer(
        queries=Cells([0.1, 0.4]), targets=Cells(0.2), bounds=[(0, 1)] * 2, random_state=seed
    )
    result = optimizer.run(average, budget=40)
    assert np.abs(result.x.center - peak).max() < 0.1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"targets": Fidelities(2)},
            r"Fidelities are possible as queries only; got Fidelities\(2\)",
        ),
        ({"queries": Cells({"x": 0.1})}, "must be numbers if the sides of bounds have no names"),
        (
            {"queries": [[0.1, 0.2]], "targets": [[0.1]], "bounds": None},
            "same number of columns; got queries of 2 and targets of 1",
        ),
        (
            {"bounds": None},
            "KGOptimizer instance has no domain yet: pass bounds= or arms= or queries= to",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(parameters, message):
    optimizer = KGOptimizer(**{"bounds": [(0, 1)], **parameters})
    with pytest.raises((ValueError, NotFittedError), match=message):
        optimizer.ask()


def test_queries_of_a_box_move_to_the_best_target_of_a_list():
    targets = np.random.default_rng(0).random((40, 2))
    optimizer = KGOptimizer(bounds=[(0, 1)] * 2, targets=targets, random_state=0)
    for _ in range(14):
        query = optimizer.ask()
        optimizer.tell(query, -float(((query.points[0] - [0.62, 0.31]) ** 2).sum()))
    optimizer.ask()
    away = np.abs(optimizer.domain_.every_place() - optimizer.recommend()).max(axis=1)
    assert (away < 0.1).mean() > 0.1 > 2 * 0.2**2
