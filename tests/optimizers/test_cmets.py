"""CMETS: Algorithm 1's tree, its repair, costs, noises and windows by depth."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from reference.cmes import NaiveTree, appendix_a
from sklearn.gaussian_process.kernels import RBF

from skgpb._core._tree import TIE_TOLERANCE
from skgpb.kernels import ConditionalMean, WindowMean
from skgpb.optimizers import CMESOptimizer, CMETSOptimizer

BOX = [(0.0, 2.0), (1.0, 4.0)]
SMALL = {"bounds": BOX, "n_points": 100, "random_state": 0, "alpha": 1e-3, "max_depth": 3}
# The rule is followed from the first query on.
SMALL |= {"n_initial": 0}


def value(cell):
    return float(np.exp(-((cell.center[0] - 0.6) ** 2) - (cell.center[1] - 2.9) ** 2))


def random_play(optimizer, naive, choose, rounds, seed):
    """Tell active cells chosen at random to both trees."""
    rng = np.random.default_rng(seed)
    optimizer.start()
    for _ in range(rounds):
        active = sorted(naive.leaves | naive.next)
        if not active:
            break
        node = active[rng.integers(len(active))]
        optimizer.tell(optimizer.domain_.cell(node), rng.normal())
        choose(node)
        assert set(optimizer.leaves_) == naive.leaves
        assert set(optimizer._cells.children) == naive.next


@pytest.mark.parametrize("seed", range(3))
def test_repaired_update_equals_search_through_all_nodes(seed):
    optimizer = CMETSOptimizer(**SMALL | {"max_depth": 2}, optimizer=None)
    naive = NaiveTree(4, 2)
    random_play(optimizer, naive, naive.choose_repaired, 25, seed)


@pytest.mark.parametrize("seed", range(3))
def test_literal_update_is_algorithm_1(seed):
    optimizer = CMETSOptimizer(**SMALL | {"max_depth": 2}, update="literal", optimizer=None)
    naive = NaiveTree(4, 2)
    random_play(optimizer, naive, naive.choose_literal, 12, seed)


def test_repaired_leaves_tile_what_was_not_asked():
    optimizer = CMETSOptimizer(**SMALL)
    asked = set()
    for _ in range(12):
        cell = optimizer.ask()
        assert (cell.depth, cell.index) not in asked  # never twice
        asked.add((cell.depth, cell.index))
        optimizer.tell(cell, value(cell))
        leaves = [optimizer.domain_.cell(node) for node in optimizer.leaves_]
        volume = sum(np.prod(leaf.upper - leaf.lower) for leaf in leaves)
        finest = [c for c in map(optimizer.domain_.cell, asked) if c.depth == 3]
        volume += sum(np.prod(cell.upper - cell.lower) for cell in finest)
        assert volume == pytest.approx(6.0)
        for one, other in itertools.combinations(leaves, 2):
            overlap = np.minimum(one.upper, other.upper) - np.maximum(one.lower, other.lower)
            assert (overlap <= 1e-12).any()


@pytest.mark.parametrize(("d", "K"), [(1, 2), (2, 3), (3, 2)])
def test_cells_of_a_level_tile_the_root(d, K):
    box = [(0.0, 1.0 + i) for i in range(d)]
    optimizer = CMETSOptimizer(bounds=box, n_children=K, max_depth=2, n_points=30)
    optimizer.start()
    for depth in (0, 1, 2):
        cells = [optimizer.domain_.cell((depth, i)) for i in range(K ** (d * depth))]
        volume = sum(np.prod(cell.upper - cell.lower) for cell in cells)
        assert volume == pytest.approx(np.prod([u for _, u in box]))
        assert len({cell.lower.tobytes() for cell in cells}) == len(cells)
    parent = optimizer.domain_.cell((1, 1))
    for child in optimizer.domain_.children((1, 1)):
        cell = optimizer.domain_.cell(child)
        assert (cell.lower >= parent.lower - 1e-12).all()
        assert (cell.upper <= parent.upper + 1e-12).all()


def test_selection_is_information_with_noise_per_unit_cost():
    noise = [1.0, 0.5, 0.1, 0.01]
    optimizer = CMETSOptimizer(
        **SMALL | {"alpha": noise.__getitem__, "n_max_values": 5, "cost": lambda h: 1.0 + h}
    )
    for _ in range(5):
        cell = optimizer.ask()
        optimizer.tell(cell, value(cell))
    nodes = sorted(set(optimizer.leaves_) | set(optimizer._cells.children))
    cells = [optimizer.domain_.cell(node) for node in nodes]
    rows = np.array([cell.a for cell in cells])
    mean, std = optimizer.surrogate_.predict_query(rows, return_std=True)
    posterior, scores = optimizer.posterior(), []
    maxima = posterior.in_units_of_reward(optimizer._sample_maxima(posterior))
    for i, cell in enumerate(cells):
        variance = noise[cell.depth]
        scores.append(appendix_a(mean[i], std[i], maxima, variance) / cell.cost)
    assert optimizer.ask() == cells[int(np.argmax(scores))]


def test_joint_information_chooses_cells_as_well():
    optimizer = CMETSOptimizer(**SMALL | {"information": "joint"})
    result = optimizer.run(value, max_cost=12.0)
    assert optimizer.spent_ >= 12.0 and np.isfinite(result.fun)
    assert len({(q.depth, q.index) for q in optimizer.ask(3)}) == 3


def test_costs_default_to_the_papers_and_count_against_the_budget():
    optimizer = CMETSOptimizer(**SMALL)
    result = optimizer.run(value, max_cost=7.0)
    np.testing.assert_allclose(optimizer.history_["cost"].sum(), result.cost)
    assert result.cost >= 7.0
    assert result.cost - optimizer.history_["cost"][-1] < 7.0
    costs = {0.5 * (h + 1) for h in range(4)}
    assert set(optimizer.history_["cost"]) <= costs
    more = optimizer.run(value, max_cost=2.0)
    assert more.cost >= 2.0
    assert optimizer.spent_ == pytest.approx(result.cost + more.cost)
    stopped = CMETSOptimizer(**SMALL).run(
        value, max_cost=50.0, callback=lambda opt: opt.spent_ > 1.0
    )
    assert "callback" in stopped.message
    for cost in (0, -1.0, np.nan, np.inf, "5", None, True):
        with pytest.raises(ValueError, match="max_cost"):
            optimizer.run(value, max_cost=cost)


def test_a_run_ends_with_its_budget_or_its_cost_whichever_comes_first():
    result = CMETSOptimizer(**SMALL).run(value, 3, max_cost=100.0)
    assert result.nfev == 3 and result.cost < 100.0
    result = CMETSOptimizer(**SMALL).run(value, 100, max_cost=2.0)
    assert result.nfev < 100 and result.cost >= 2.0
    assert result.message == "the budget is spent"
    with pytest.raises(ValueError, match="budget"):
        CMETSOptimizer(**SMALL).run(value, 2.5)
    flat = CMESOptimizer(bounds=[(0, 1)], queries=[[0.2], [0.7]], cost=[1.0, 3.0], alpha=0.1)
    result = flat.run(lambda query: query.a[0], max_cost=6.0)
    assert 6.0 <= result.cost == flat.spent_ < 9.0


def test_a_cell_window_is_the_average_over_the_cell():
    optimizer = CMETSOptimizer(**SMALL, optimizer=None)
    cell = optimizer.ask()
    kernel = optimizer.surrogate_.kernel_
    assert isinstance(kernel, WindowMean) and kernel.window == "uniform"
    for node in [(0, 0), (1, 2), (3, 17)]:
        cell = optimizer.domain_.cell(node)
        row = kernel.queries(cell.points if len(cell.a) == 2 else cell.a[None])
        np.testing.assert_allclose(row[0, :2], cell.center)
        np.testing.assert_allclose(row[0, 2:], 0.5 * (cell.upper - cell.lower))


def test_a_map_moves_the_windows():
    optimizer = CMETSOptimizer(
        query_bounds=[(0.0, 1.0)],
        bounds=[(0.0, 9.0)],
        location=lambda A: 9.0 * A**2,
        max_depth=2,
        n_points=30,
    )
    row = optimizer.ask().a
    assert row.shape == (2,)
    last = optimizer.domain_.cell((2, 3))
    described = optimizer.surrogate_.kernel_.queries(last.a[None])[0]
    np.testing.assert_allclose(described, [0.5 * (9 * 0.75**2 + 9), 0.5 * (9 - 9 * 0.75**2)])


def test_gaussian_windows_have_the_scale_of_their_depth():
    optimizer = CMETSOptimizer(**SMALL, window="gaussian", scale=lambda h: 1.0 / (1 + h))
    for cell in [optimizer.ask(), optimizer.domain_.cell((2, 5))]:
        assert cell.a[-1] == 1.0 / (1 + cell.depth)
        np.testing.assert_array_equal(cell.a[:-1], cell.center)
    with pytest.raises(ValueError, match="scale"):
        CMETSOptimizer(**SMALL, window="gaussian").ask()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("with_scale", [False, True])
def test_learns_from_pairs_with_or_without_a_column_of_scales(with_scale):
    rng = np.random.default_rng(0)
    scale = rng.choice([0.5, 0.25, 0.125], size=150)
    A = rng.uniform(size=(150, 1))
    X = 3.0 * A + scale[:, None] * rng.normal(size=(150, 1)) * 0.2
    queries = np.column_stack([A, scale]) if with_scale else A
    optimizer = CMETSOptimizer(
        query_bounds=[(0.0, 1.0)],
        scale=(lambda h: 0.5 / 2.0**h) if with_scale else None,
        max_depth=2,
        alpha=1e-3,
        n_points=60,
    ).fit(X, queries=queries)
    for _ in range(8):
        cell = optimizer.ask()
        assert len(cell.a) == 1 + with_scale
        optimizer.tell(cell, -float((3.0 * cell.center[0] - 2.0) ** 2))
    assert abs(optimizer.recommend()[0] - 2.0) < 0.3
    with pytest.raises(ValueError, match="columns"):
        CMETSOptimizer(query_bounds=[(0.0, 1.0)], scale=float).fit(X, queries=np.hstack([A] * 3))


def test_all_cells_can_be_used_up():
    optimizer = CMETSOptimizer(**SMALL | {"max_depth": 1})
    for _ in range(5):
        cell = optimizer.ask()
        optimizer.tell(cell, value(cell))
    assert optimizer.leaves_ == [] and not optimizer._cells.children
    again = optimizer.ask()
    assert again.depth <= 1
    optimizer.tell(again, value(again))
    assert len(optimizer.history_) == 6


def test_cells_of_other_trees_are_refused():
    optimizer = CMETSOptimizer(**SMALL)
    optimizer.tell(optimizer.ask(), 0.5)
    other = CMETSOptimizer(**SMALL | {"n_children": 3})
    other.tell(other.ask(), 0.5)
    for stranger in (other.domain_.cell((1, 8)), other.domain_.cell((2, 70))):
        with pytest.raises(ValueError, match="not a cell"):
            optimizer.tell(stranger, 0.5)
    assert len(optimizer.history_) == 1
    optimizer.tell(optimizer.ask().center, 0.25)  # the centre of what was asked stands for it
    assert len(optimizer.history_) == 2


@pytest.mark.parametrize(
    ("parameter", "bad"),
    [
        ("n_children", 1),
        ("max_depth", -1),
        ("max_depth", 100),
        ("window", "round"),
        ("update", "none"),
        ("cost", lambda h: 0.0),
        ("cost", lambda h: np.nan),
        ("cost", 3.0),
        ("alpha", lambda h: -1.0),
        ("location", 3),
    ],
)
def test_nonsense_parameters_are_named(parameter, bad):
    with pytest.raises((ValueError, TypeError), match=parameter):
        CMETSOptimizer(**SMALL | {parameter: bad}).ask()


def test_the_progress_bar_shows_the_cost_that_is_spent(monkeypatch):
    class Bar:
        def __init__(self, total, unit):
            self.total, self.unit, self.n, self.seen, self.closed = total, unit, 0, [], False
            bars.append(self)

        def set_postfix_str(self, text, refresh):
            self.text = text

        def update(self, n):
            self.n += n
            self.seen.append(self.n)

        def close(self):
            self.closed = True

    bars, spent = [], []
    monkeypatch.setattr("skgpb.utils.progress.tqdm_class", lambda: Bar)
    optimizer = CMETSOptimizer(bounds=[(0, 1)], cost=lambda depth: 0.7 + depth, random_state=0)
    result = optimizer.run(
        lambda query: float(np.sin(3 * query.center[0])),
        max_cost=4,
        callback=lambda each: spent.append(each.spent_),
        progress=True,
    )
    (bar,) = bars
    assert (bar.total, bar.unit, bar.closed) == (4, "cost", True)
    assert len(bar.seen) == result.nfev
    np.testing.assert_allclose(bar.seen, np.minimum(spent, 4), rtol=1e-12)
    assert bar.seen[-1] == 4
    rewards = result.history["reward"]
    assert bar.text == f"last {rewards[-1]:.6g}  best {rewards.max():.6g}"


@pytest.mark.slow
def test_where_all_cells_are_silent_the_least_known_is_asked():
    """Two narrow humps under X = 1 - A + 0.07 noise: answers stay far below the largest f."""

    def f(x):
        return np.exp(-0.5 * ((x - 0.25) / 0.06) ** 2) + 0.8 * np.exp(
            -0.5 * ((x - 0.75) / 0.06) ** 2
        )

    rng = np.random.default_rng(0)
    A = rng.uniform(size=(300, 1))
    X = np.clip(1.0 - A + 0.07 * rng.normal(size=A.shape), 0.0, 1.0)
    optimizer = CMETSOptimizer(
        bounds=[(0, 1)],
        query_bounds=[(0, 1)],
        alpha=1e-4,
        max_depth=5,
        n_initial=0,
        random_state=0,
    ).fit(X, queries=A)
    silent = 0
    for _ in range(20):
        cells = optimizer._cells.available(optimizer.run_.pending)
        told = optimizer.acquisition(optimizer.posterior())
        cell = optimizer.ask()
        if optimizer.history_.size and not told.max() > 1e-9:
            silent += 1
            std = optimizer.predict_query(np.array([c.a for c in cells]), return_std=True)[1]
            gain = std / np.array([c.cost for c in cells])
            assert gain[cells.index(cell)] >= gain.max() - 1e-8
        x = 1.0 - cell.center[0] + 0.07 * rng.normal(size=2000)
        optimizer.tell(cell, f(x).mean() + 0.01 * rng.normal())
    assert silent >= 5
    assert abs(optimizer.recommend()[0] - 0.25) < 0.05


def test_a_list_that_is_too_long_is_not_asked_in_part():
    optimizer, twin = (CMETSOptimizer(bounds=[(0, 1)], n_points=20, alpha=0.01) for _ in range(2))
    for each in (optimizer, twin):
        each.start()
    with pytest.raises(ValueError, match="are pending"):
        optimizer.ask(500)
    assert optimizer.run_.pending == twin.run_.pending and optimizer.run_.events == twin.run_.events
    assert optimizer.ask(2) == twin.ask(2)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_hill_between_the_cells_is_not_ruled_out(noise):
    # Averages over cells hardly show how high the narrow hill is.
    def f(x):
        return 0.7 * np.exp(-30.0 * (x - 0.3) ** 2) + np.exp(-300.0 * (x - 0.8) ** 2)

    def answer(cell):
        x = np.linspace(cell.lower[0], cell.upper[0], 200)
        return float(f(x).mean() + noise * rng.normal())

    top = f(np.linspace(0.0, 1.0, 10_001)).max()
    for seed in range(2):
        rng = np.random.default_rng(seed)
        search = CMETSOptimizer(
            bounds=[(0, 1)],
            max_depth=4,
            cost=lambda depth: 1.0 + depth,
            alpha=0.01**2,
            random_state=seed,
        )
        x = search.run(answer, max_cost=60).x
        every = search._comparison(x).finest
        gap = every.gap(0.05, np.random.default_rng(0))
        assert top - f(np.ravel(x)[0]) <= gap < 1.0


@pytest.mark.parametrize("unit", [0.25, 1.0, 4.0])
def test_scores_tie_in_units_of_one_per_unit_cost(monkeypatch, unit):
    """Differences that rounding can make are smaller where the costs are larger."""
    optimizer = CMETSOptimizer(**SMALL).start()
    cells = optimizer._cells.available([])
    cost = np.full(len(cells), unit)
    cost[0] = 0.1 * unit
    for gap, first in ((0.5, 0), (2.0, 1)):
        values = np.zeros(len(cells))
        values[1] = gap * TIE_TOLERANCE * min(1.0, 1.0 / unit)
        scored = SimpleNamespace(cost=cost), values
        monkeypatch.setattr(optimizer, "_scored_round", lambda scored=scored: scored)
        assert optimizer._best_by_rule() == cells[first]


A1 = np.random.default_rng(0).random((40, 2))


@pytest.mark.parametrize(
    ("conditional", "has_scale"),
    [
        (WindowMean(), True),
        (WindowMean(scale=0.2), False),
        (ConditionalMean(X=A1[:, :1], A=A1), True),
        (ConditionalMean(X=A1[:, :1], A=A1[:, :1]), False),
    ],
)
def test_a_given_conditional_has_cells_with_a_scale_if_it_leaves_the_scale_to_queries(
    conditional, has_scale
):
    settings = {"conditional": conditional, "bounds": [(0.0, 1.0)], "query_bounds": [(0.0, 1.0)]}
    settings |= {"max_depth": 2, "n_points": 30, "random_state": 0}
    optimizer = CMETSOptimizer(**settings, scale=lambda depth: 0.5 / (1 + depth)).start()
    for node in [(0, 0), (2, 3)]:
        cell = optimizer.domain_.cell(node)
        expected = [*cell.center, 0.5 / (1 + cell.depth)] if has_scale else cell.center
        np.testing.assert_array_equal(cell.a, expected)
    if has_scale:
        with pytest.raises(ValueError, match="scale must be a function"):
            CMETSOptimizer(**settings).ask()
    else:
        assert CMETSOptimizer(**settings).ask().a.shape == (1,)


def test_the_gap_is_between_the_averages_over_cells_of_the_depth_that_was_asked():
    """The recommendation counts as the cell that it lies in."""
    optimizer = CMETSOptimizer(RBF(0.5), **SMALL).start()
    for number in range(14):  # most cells of this depth
        optimizer.tell(optimizer.domain_.cell((2, number)), 0.1 * number)
    for x in np.random.default_rng(0).uniform(*np.transpose(BOX), size=(8, 2)):
        rows, own = optimizer._average_rows(x[None])
        lower, upper = rows[:, :2] - rows[:, 2:], rows[:, :2] + rows[:, 2:]
        np.testing.assert_allclose(upper - lower, np.tile([0.5, 0.75], (16, 1)))
        assert len(np.unique(lower.round(9), axis=0)) == 16
        inside = (lower <= x).all(axis=1) & (x <= upper).all(axis=1)
        np.testing.assert_array_equal(own, rows[inside])


def test_cells_are_around_the_learned_queries_without_their_scales():
    A, scale = np.random.default_rng(0).uniform(size=(80, 1)), np.tile([0.5, 0.25], 40)
    optimizer = CMETSOptimizer(
        scale=lambda h: 0.5 / 2.0**h, max_depth=1, alpha=1e-3, n_points=30
    ).fit(3.0 * A, queries=np.column_stack([A, scale]))
    cell = optimizer.ask()
    middle = (A.min(axis=0) + A.max(axis=0)) / 2
    assert cell.depth == 1
    np.testing.assert_allclose([cell.lower, cell.upper], [A.min(axis=0), middle])


def test_what_was_spent_before_an_interruption_counts_for_the_run_that_continues_it(tmp_path):
    path = tmp_path / "run.skgpb"
    flat = {"bounds": [(0, 1)], "queries": [[0.2], [0.7]], "cost": [1.0, 3.0], "alpha": 0.1}
    flat |= {"conditional": WindowMean(scale=0.0), "n_points": 50, "random_state": 0}
    first = CMESOptimizer(RBF(0.3), **flat)
    spent = first.run(lambda query: query.a[0], max_cost=2.0, checkpoint=path).cost
    resumed = CMESOptimizer.load(path)
    result = resumed.run(lambda query: query.a[0], max_cost=9.0, checkpoint=path, resume=True)
    assert result.cost == resumed.spent_ and 9.0 <= result.cost < 12.0
    assert result.nfev == len(resumed.history_) > len(first.history_)
    more = resumed.run(lambda query: query.a[0], max_cost=2.0)
    assert more.cost == pytest.approx(resumed.spent_ - result.cost) and spent >= 2.0


def test_a_conditional_without_pairs_takes_those_of_fit():
    X = np.random.default_rng(1).random((40, 1))
    tree = CMETSOptimizer(conditional=ConditionalMean(), bounds=[(0.0, 1.0)], max_depth=2)
    tree.set_params(scale=lambda depth: 0.5 / (1 + depth), alpha=0.01, n_points=30)
    kernel = tree.fit(X, queries=A1).surrogate_.kernel_
    np.testing.assert_array_equal(kernel.X, X)
    np.testing.assert_array_equal(kernel.A, A1)
