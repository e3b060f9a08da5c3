"""GPOO beyond the paper: what its extensions promise."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import loguniform
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from skgpb import GPOOOptimizer, StoOOOptimizer, defaults
from skgpb.domains import Region
from skgpb.domains.partition import deepest_level
from skgpb.exceptions import RefinementWarning
from skgpb.guarantee import Guarantee
from skgpb.kernels import CellAverage, LowRank
from skgpb.optimizers._trees import warn_of_grid
from skgpb.surrogate.gaussian_process import GaussianProcess

KERNEL = 0.1 * RBF(0.1)


def objective(points):
    return 0.4 * np.sin(9 * points).sum(axis=1) + points[:, 0]


def play(optimizer, rounds, seed=0, noise=0.1, scale=1.0, shift=0.0):
    rng = np.random.default_rng(seed)
    cells = []
    for _ in range(rounds):
        cell = optimizer.ask()
        reward = objective(cell.points).mean() + noise * rng.normal()
        optimizer.tell(cell, scale * reward + shift)
        cells.append((cell.depth, cell.index))
    return cells


@pytest.mark.parametrize("d", [1, 2])
def test_posterior_expansion_leaves_no_known_leaf_unsplit(d):
    opt = GPOOOptimizer(
        0.1 * RBF(0.2),
        bounds=[(0, 1)] * d,
        alpha=0.01,
        n_representatives=3,
        expansion="posterior",
        max_depth=6,
    )
    for t in range(1, 40):
        cell = opt.ask()
        opt.tell(cell, objective(cell.points).mean())
        depth = opt._tree.depth[opt._tree.leaves]
        width = np.sqrt(opt._beta(t) * opt.surrogate_.process_.posterior.tracked_var())
        known = (width <= opt._variation[depth]) & (depth <= opt.max_depth_)
        assert not known.any()
    assert opt.tree_.depth.max() > 2


def gain(expansion, rule, seed):
    """Share of what the best of the finest groups of a table has over all of it."""
    rng = np.random.default_rng(seed)
    X = rng.random((1600, 2)) * [10.0, 3.0]
    y = np.sin(0.6 * X[:, 0]) + np.cos(1.5 * X[:, 1]) + 3.0 * np.exp(-((X - [7, 2]) ** 2).sum(1))
    given = {} if expansion is None else {"expansion": expansion}
    opt = GPOOOptimizer(pool=X, min_members=25, random_state=seed, **given)
    opt.run(lambda group: y[group.members].mean() + 0.2 * rng.normal(), budget=60)
    depth = 6  # 64 groups of 25
    best = max(y[opt.domain_.cell_at(depth, i).members].mean() for i in range(2**depth))
    return (y[opt.recommend(rule).members].mean() - y.mean()) / (best - y.mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.exhaustive) for s in (1, 2))]
)
def test_nothing_has_to_be_said_to_find_the_best_rows_of_a_table(seed):
    found = gain(None, None, seed)
    assert found > 0.95
    assert found > gain("before", "paper", seed)


def test_cells_split_ahead_are_bounded_for_the_tree_which_says_so(monkeypatch):
    monkeypatch.setattr("skgpb.defaults.SPLITS_PER_ROUND", 15)
    monkeypatch.setattr("skgpb.defaults.MANY_LEAVES", 40)
    opt = GPOOOptimizer(
        KERNEL, bounds=[(0, 1)], variation=lambda h: 50.0, expansion="posterior", max_depth=12
    )
    for n in (16, 32):  # the cell that was asked and fifteen others, all of which are certain
        opt.tell(opt.ask(), 0.0)
        assert len(opt.domain_.expanded) == n
    with pytest.warns(RefinementWarning, match="the tree has 40 candidate cells") as told:
        opt.tell(opt.ask(), 0.0)
    # In words, and what anybody may pass: nobody has to know delta(h), who left the default.
    assert "max_depth" in str(told[0].message) and "delta" not in str(told[0].message)
    for t in range(1, 30):
        opt.tell(opt.ask(), 0.0)
        assert opt._tree.n_leaves <= 40 + t


@pytest.mark.one_in(3)
@pytest.mark.parametrize("many", range(6, 22))
def test_the_limit_of_the_tree_is_said_once_whichever_split_reaches_it(many, monkeypatch):
    """Also if it is that of the cell that was asked, and none of another leaf."""
    monkeypatch.setattr("skgpb.defaults.MANY_LEAVES", many)
    opt = GPOOOptimizer(RBF(0.1), bounds=[(0, 1)], alpha=1e-4)
    with pytest.warns(RefinementWarning, match="candidate cells: from now on") as told:
        for _ in range(60):
            cell = opt.ask()
            opt.tell(cell, float(np.sin(9.0 * np.asarray(cell.points)).mean()))
    assert len(told) == 1


@pytest.mark.filterwarnings("ignore::skgpb.exceptions.RefinementWarning")
@pytest.mark.parametrize(
    "given",
    [
        {"kernel": RBF(0.3), "alpha": 0.01, "bounds": [(0, 1)] * 3},
        {"kernel": RBF(0.3) + WhiteKernel(0.01), "alpha": 0.01, "bounds": [(0, 1)], "beta": 4.0},
        {"kernel": RBF(0.3), "alpha": 0.01, "pool": np.random.default_rng(0).random((300, 2))},
        pytest.param(
            {"kernel": Matern(0.4, nu=2.5), "alpha": 0.01, "bounds": [(-1, 2)] * 2},
            marks=pytest.mark.slow,
        ),
        pytest.param({"bounds": [(0, 1)] * 2, "n_children": 3}, marks=pytest.mark.slow),
        pytest.param({"bounds": {"x": (0.0, 1.0), "n": range(1, 9)}}, marks=pytest.mark.slow),
    ],
    ids=["given", "white", "pool", "matern", "learned", "settings"],
)
def test_leaves_that_follow_later_change_nothing(given, monkeypatch):
    """Every query, moment and recommendation is what it is where all leaves follow at once."""
    monkeypatch.setattr("skgpb.defaults.MANY_LEAVES", 25)
    monkeypatch.setattr("skgpb.defaults.SPLITS_PER_ROUND", 15)

    def history():
        opt, rng = GPOOOptimizer(random_state=0, **given), np.random.default_rng(1)
        for t in range(35):
            # by itself, in batches, out of turn, and told again
            cells = opt.ask(1 + 2 * (t % 10 == 7))
            for cell in cells[:: -1 if t % 3 else 1]:
                opt.tell(cell, objective(np.asarray(cell.points)).mean() + 0.1 * rng.normal())
            if t % 15 == 9:
                opt.tell(cells[0], 0.3, alpha=0.02)
                opt.recommend(caution=1.0)
        return opt.history_, opt.recommend(), opt.surrogate_.process_

    found, best, process = history()
    assert process.lazy
    at_once = property(lambda self: False, lambda self, value: None)
    monkeypatch.setattr(GaussianProcess, "lazy", at_once, raising=False)
    expected, expected_best, at_once = history()
    assert_array_equal(found["descriptor"], expected["descriptor"])
    assert_array_equal(found["expanded"], expected["expanded"])
    assert_allclose(found["mean"], expected["mean"], rtol=0, atol=1e-10)
    assert_allclose(found["std"], expected["std"], rtol=0, atol=1e-10)
    assert best == expected_best
    for ours, theirs in zip(process.tracked_moments(), at_once.tracked_moments(), strict=True):
        assert_allclose(ours, theirs, rtol=0, atol=1e-9)


def test_with_many_leaves_a_round_moves_few_of_them(monkeypatch):
    monkeypatch.setattr("skgpb.defaults.MANY_LEAVES", 600)
    moved, later = [], GaussianProcess._later_covariances

    def count(process, slots, first):
        moved.append(len(slots))
        return later(process, slots, first)

    monkeypatch.setattr(GaussianProcess, "_later_covariances", count)
    opt = GPOOOptimizer(RBF(0.3), bounds=[(0, 1)] * 4, alpha=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefinementWarning)
        play(opt, 150)
    assert 600 <= opt._tree.n_leaves <= 750
    # all of them in every round would be more than 80 000
    assert 0 < sum(moved) < 20_000


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("caution", [0.0, 1.0])
def test_posterior_recommendation_is_the_best_of_all_cells(d, caution):
    opt = GPOOOptimizer(0.1 * RBF(0.2), bounds=[(0, 1)] * d, n_representatives=3, max_depth=5)
    play(opt, 30)
    finest = 6
    everything = [
        opt.domain_.cell_at(depth, index)
        for depth in range(finest + 1)
        for index in range(2**depth)
    ]
    split = opt.domain_.expanded
    expanded = {
        (int(h), int(i))
        for h, i in zip(opt.tree_.depth[split], opt.tree_.index[split], strict=True)
    }
    candidates = [c for c in everything if (c.depth, c.index) not in expanded]
    rows = np.array([np.concatenate([c.lower, c.upper]) for c in candidates])
    mean, std = opt.surrogate_.predict(rows, return_std=True)
    best = opt.recommend("posterior", caution=caution)
    row = np.concatenate([best.lower, best.upper])[None]
    got_mean, got_std = opt.surrogate_.predict(row, return_std=True)
    assert_allclose(got_mean - caution * got_std, (mean - caution * std).max(), atol=1e-9)
    assert opt.recommend("posterior", depth=3).depth <= max(3, opt.tree_.depth.min())
    assert opt.recommend() == opt.recommend("posterior")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "best"}, "method must be"),
        ({"method": "posterior", "depth": -1}, "depth must be"),
        ({"method": "posterior", "caution": -0.5}, "caution must be"),
        ({"method": "posterior", "caution": np.nan}, "caution must be"),
        ({"method": "posterior", "caution": np.inf}, "caution must be"),
    ],
)
def test_recommend_names_what_is_wrong(arguments, message):
    opt = GPOOOptimizer(KERNEL, bounds=[(0, 1)])
    with pytest.raises(ValueError, match=message):
        opt.recommend(**arguments)


@pytest.mark.parametrize(
    "wrong",
    [
        *[(0.0, 0.5), (-0.5, 0.5), (np.inf, 0.5), (1.0, 0.0), (1.0, 1.0), (1.0,), [1.0, 0.5, 0.5]],
        *[("a", 0.5), (1.0, None)],
    ],
)
def test_a_variation_that_is_no_pair_of_numbers_is_refused(wrong):
    with pytest.raises(ValueError, match=r"variation as \(c, rho\) .* needs finite c > 0 and"):
        GPOOOptimizer(KERNEL, bounds=[(0, 1)], variation=wrong).ask()


@pytest.mark.parametrize("theta", [0.1, 0.3])
@pytest.mark.parametrize("base", [RBF(0.1), Matern(0.2, nu=2.5)], ids=str)
def test_kernel_variation_covers_the_variation_within_cells(base, theta):
    """All cells of all depths at once, with at least the probability asked for."""
    opt = GPOOOptimizer(
        base,
        bounds=[(0, 1)],
        n_representatives=4,
        max_depth=5,
        guarantee=Guarantee(failure_probability=theta),
    )
    opt.ask()
    grid = (np.arange(512) + 0.5) / 512
    draws = np.random.default_rng(0).multivariate_normal(
        np.zeros(512), base(grid[:, None]) + 1e-10 * np.eye(512), size=400, method="eigh"
    )
    covered = np.ones(400, dtype=bool)
    for depth in range(7):
        groups = draws.reshape(400, 2**depth, -1)
        points = (np.arange(4) + 0.5) / 4
        nearest = np.minimum((points * groups.shape[2]).astype(int), groups.shape[2] - 1)
        deviation = np.abs(groups - groups[:, :, nearest].mean(axis=2, keepdims=True))
        covered &= deviation.max(axis=(1, 2)) <= opt._variation[depth]
    assert covered.mean() >= 1 - theta
    assert (np.diff(opt._variation) <= 0).all()


@pytest.mark.parametrize("expansion", ["before", "posterior"])
def test_normalisation_makes_the_search_indifferent_to_units(expansion):
    def make(scale):
        return GPOOOptimizer(
            RBF(0.1),
            bounds=[(0, 1)],
            alpha=(0.1 * scale) ** 2,
            normalize_y=True,
            expansion=expansion,
        )

    plain, scaled = make(1.0), make(1000.0)
    assert play(plain, 40) == play(scaled, 40, scale=1000.0, shift=-7e5)
    X = np.linspace(0, 1, 7)[:, None]
    for a, b, shift in zip(
        plain.predict(X, return_std=True), scaled.predict(X, return_std=True), (7e5, 0), strict=True
    ):
        assert_allclose(1000.0 * a, b + shift, rtol=1e-6, atol=1e-3)


def test_relearning_follows_its_schedule_and_finds_the_scales():
    rounds = []

    def watch(objective_function, start, bounds):
        rounds.append(opt.run_.n_told + 1 if hasattr(opt, "run_") else 0)
        return start, objective_function(start)[0]

    opt = GPOOOptimizer(KERNEL, bounds=[(0, 1)], optimizer=watch)
    play(opt, 20)
    assert len(rounds) == 3  # after 4, 8 and 16 rewards
    opt = GPOOOptimizer(KERNEL, bounds=[(0, 1)], optimizer=watch, relearn=5)
    rounds.clear()
    play(opt, 20)
    assert len(rounds) == 4
    opt = GPOOOptimizer(0.1 * RBF(0.8), bounds=[(0, 1)], optimizer="fmin_l_bfgs_b")
    play(opt, 64, noise=0.02)
    assert opt.surrogate_.kernel_.base.k2.length_scale < 0.5


def test_fit_conditions_on_points_and_keeps_learning_from_cells():
    X = np.linspace(0, 1, 12)[:, None]
    opt = GPOOOptimizer(RBF(0.1), alpha=1e-4).fit(X, objective(X))
    assert_allclose(opt.bounds_, [[0, 1]])
    assert_allclose(opt.predict(X), objective(X), atol=0.05)
    assert opt.score(X, objective(X)) > 0.99
    play(opt, 20, noise=0.01)
    best = opt.recommend("posterior")
    grid = np.linspace(0, 1, 1001)[:, None]
    assert objective(grid).max() - objective(best.points).mean() < 0.05


def test_white_noise_in_the_kernel_is_noise_of_the_observation():
    plain = GPOOOptimizer(KERNEL, bounds=[(0, 1)], alpha=0.02, feedback="center")
    white = GPOOOptimizer(
        KERNEL + WhiteKernel(0.01), bounds=[(0, 1)], alpha=0.01, feedback="center"
    )
    assert play(plain, 30) == play(white, 30)
    assert_allclose(plain.history_["std"], white.history_["std"], atol=1e-9)


def test_a_query_kernel_stands_for_the_feedback():
    named = GPOOOptimizer(KERNEL, bounds=[(0, 1)], n_representatives=4)
    given = GPOOOptimizer(bounds=[(0, 1)], n_representatives=4, feedback=CellAverage(KERNEL, 4))
    assert play(named, 30) == play(given, 30)


def test_batches_are_distinct_and_shrink_the_variance_of_their_neighbours():
    opt = GPOOOptimizer(KERNEL, bounds=[(0, 1)], n_representatives=4, variation=(3.0, 0.5))
    queries = opt.ask(8)
    assert len({(q.depth, q.index) for q in queries}) == 8
    assert opt.ask(8) == queries
    assert opt.ask(3) == queries[:3]
    for query in reversed(queries):
        opt.tell(query, objective(query.points).mean())
    assert len(opt.history_) == 8
    assert not opt.run_.pending


def test_batches_stop_at_the_finest_resolution():
    opt = GPOOOptimizer(KERNEL, bounds=[(0, 1)], max_depth=1, variation=(3.0, 0.5))
    assert len(opt.ask(7)) == 7  # the root, two halves and four quarters
    with pytest.raises(ValueError, match="finest resolution"):
        opt.ask(8)


def test_a_batch_finds_what_a_sequence_finds():
    grid = np.linspace(0, 1, 1001)[:, None]
    best = objective(grid).max()
    for batch in (1, 4):
        opt = GPOOOptimizer(KERNEL, bounds=[(0, 1)], n_representatives=4, variation=(3.0, 0.5))
        rng = np.random.default_rng(0)
        for _ in range(60 // batch):
            queries = opt.ask(batch)
            rewards = [objective(q.points).mean() + 0.1 * rng.normal() for q in queries]
            opt.tell(queries, rewards)
        assert best - objective(opt.recommend("posterior").points).mean() < 0.1


@pytest.mark.slow
def test_pool_search_finds_the_best_group():
    rng = np.random.default_rng(0)
    pool = rng.random((2000, 2))
    value = np.exp(-((pool - [0.7, 0.3]) ** 2).sum(axis=1) / 0.05) + 0.3 * rng.normal(size=2000)
    opt = GPOOOptimizer(pool=pool, max_depth=5)
    opt.run(lambda cell: value[cell.members].mean() + 0.1 * rng.normal(), budget=60)
    best = opt.recommend("posterior")
    groups = [value[opt.domain_.cell_at(5, i).members].mean() for i in range(32)]
    assert value[best.members].mean() > sorted(groups)[-2]
    assert_array_equal(np.sort(best.members), best.members)


def test_external_averages_of_any_points_are_observations():
    rng = np.random.default_rng(3)
    opt = GPOOOptimizer(RBF(0.2), bounds=[(0, 1)], alpha=1e-3, n_representatives=4)
    points = rng.random((7, 1))
    opt.tell(points, objective(points).mean())
    weights = np.full(7, 1 / 7)
    k = RBF(0.2)
    Q = weights @ k(points) @ weights + 1e-3
    X = np.linspace(0, 1, 5)[:, None]
    expected = k(X, points) @ weights / Q * objective(points).mean()
    assert_allclose(opt.predict(X), expected, atol=1e-10)
    play(opt, 10)
    assert len(opt.history_) == 11


# Rules and queries -------------------------------------------------------------------------------


def test_none_stands_for_the_best_rule_known_and_paper_for_the_papers():
    opt = GPOOOptimizer(0.1 * RBF(0.2), bounds=[(0, 1)], n_representatives=3, max_depth=5)
    play(opt, 25)
    assert opt.recommend() == opt.recommend(None) == opt.recommend("posterior")
    paper, tree = opt.recommend("paper"), opt.tree_
    inner = tree.children[:, 0] >= 0
    assert paper.depth == tree.depth[inner].max() < opt.recommend().depth
    with pytest.raises(ValueError, match=r"method must be None or one of .*posterior.*'expanded'"):
        opt.recommend("expanded")
    stooo = StoOOOptimizer(bounds=[(0, 1)], variation=(3.0, 0.6))
    play(stooo, 25)
    assert stooo.recommend() == stooo.recommend("paper")
    with pytest.raises(ValueError, match=r"method must be None or one of \['paper'\]"):
        stooo.recommend("posterior")


def test_the_moments_of_a_query_are_those_of_the_average_over_its_points():
    opt = GPOOOptimizer(0.1 * RBF(0.2), bounds=[(0, 1)] * 2, n_representatives=3, max_depth=5)
    play(opt, 20)
    cells = [opt.domain_.cell(node) for node in (0, 1, 4)] + [opt.recommend()]
    mean, std = opt.predict_query(cells, return_std=True)
    for i, cell in enumerate(cells):
        each, cov = opt.predict(cell.points, return_cov=True)
        assert mean[i] == pytest.approx(each.mean(), abs=1e-10)
        assert std[i] == pytest.approx(np.sqrt(cov.mean()), abs=1e-6)
        # Points stand for the query that averages over them.
        assert_allclose(opt.predict_query([cell.points]), mean[i], atol=1e-9)
    assert_allclose(opt.predict_query(cells[0]), mean[:1], rtol=1e-14)
    other = GPOOOptimizer(bounds=[(0, 2)] * 2, n_representatives=3).ask()
    with pytest.raises(ValueError, match="not a cell of this optimizer's partition"):
        opt.predict_query([other])
    sums = np.zeros(len(opt.tree_.depth))
    for box, reward in zip(opt.history_["descriptor"], opt.history_["reward"], strict=True):
        sums[(np.hstack([opt.tree_.lower, opt.tree_.upper]) == box).all(axis=1)] += reward
    assert_allclose(opt.tree_.reward_sum, sums, atol=1e-12)


def test_what_is_pending_counts_as_answered_in_the_bounds():
    """Line 3 with the posterior after the answers that are on their way, and their rounds."""
    rounds, changed = [], 0

    def beta(t):
        rounds.append(t)
        return 9.0

    for seed in range(5):
        kernel = 0.1 * RBF(0.4)
        opt = GPOOOptimizer(kernel, bounds=[(0, 1)], alpha=0.01, beta=beta, variation=(0.5, 0.7))
        play(opt, 12, seed)
        gp, tree = opt.surrogate_.process_, opt._tree
        first = opt.ask()
        pending = opt.domain_.node_of(first)
        assert rounds[-1] == 13
        other = opt.ask(2)[1]
        assert rounds[-1] == 14
        chosen = []
        for process in (gp.fantasize([opt.domain_.row_set(pending)], [0.01]), gp):
            mean, std = process.tracked_moments()
            bound = mean + 3.0 * std + 0.5 * 0.7 ** tree.depth[tree.leaves]
            bound[tree.leaves == pending] = -np.inf
            chosen.append(tree.leaves[np.argmax(bound)])
        assert opt.domain_.node_of(other) == chosen[0]
        changed += chosen[0] != chosen[1]
    assert changed > 0  # else nothing was seen of it


@pytest.mark.one_in(10)
@pytest.mark.parametrize("feedback", ["average", "integral", "center"])
@pytest.mark.parametrize(
    "bounds",
    [[(0, 10), (1, 2)], {"x": (0, 10), "y": (1, 2)}, {"x": loguniform(1, 10), "n": range(1, 9)}],
)
def test_a_region_of_any_size_is_told_as_it_is_recommended(tmp_path, bounds, feedback):
    opt = GPOOOptimizer(bounds=bounds, feedback=feedback, alpha=0.01, random_state=0).start()
    for i in range(4):
        opt.tell(opt.ask(), i / 4)
    side = {"x": 0.3, "n": 3} if "n" in bounds else 0.3
    region = opt.recommend(side=side)
    before, std = opt.predict_query([region], return_std=True)
    opt.tell([pickle.loads(pickle.dumps(region)), opt.ask()], [before[0] + 1.0, 0.5])
    told = [event[1] for event in opt._events if event[0] == "tell"][4]
    assert told == region and told.params == region.params and repr(told) == repr(region)
    after, left = opt.predict_query([region], return_std=True)
    assert left < 0.9 * std and after > before + 0.1
    opt.save(tmp_path / "run")
    again = GPOOOptimizer.load(tmp_path / "run")
    assert [event[1] for event in again._events if event[0] == "tell"][4] == told
    assert again.ask() == opt.ask()


@pytest.mark.parametrize("bounds", [{"x": (0, 10)}, {"x": (0, 10), "n": range(1, 9)}])
def test_a_box_is_the_cell_that_has_its_corners_or_a_region(bounds):
    opt = GPOOOptimizer(bounds=bounds, alpha=0.01, random_state=0).start()
    domain, space = opt.domain_, opt.run_.space
    for depth in range(0, 6):
        for index in {0, 1 % 2**depth, 2**depth - 1}:
            cell = domain.cell_at(depth, index)
            ends = {n: (v[0], v[-1]) for n, v in cell.params.items()}
            first, last = ({name: each[i] for name, each in ends.items()} for i in (0, 1))
            assert domain.query_of_box(space.box_between(first, last)) == cell
    box = space.bounds.T.ravel().copy()
    box[0] += 0.01
    region = domain.query_of_box(box)
    assert isinstance(region, Region) and region.params["x"] == (0.01, 10.0)


@pytest.mark.parametrize("n_children", [2, 3])
@pytest.mark.parametrize("min_members", [1, 4])
def test_a_pool_is_cut_to_the_deepest_level_at_which_every_cell_has_children(
    n_children, min_members
):
    for n in (3, 12, 40, 100):
        pool = np.linspace(0.0, 1.0, n)[:, None]
        optimizer = GPOOOptimizer(
            RBF(0.2), pool=pool, n_children=n_children, min_members=min_members
        )
        depth, smallest = 0, n // n_children
        while smallest // n_children >= min_members:
            depth, smallest = depth + 1, smallest // n_children
        assert optimizer.start().max_depth_ == depth


@pytest.mark.parametrize(
    ("n", "kernel", "parameters", "is_low_rank"),
    [
        (21, RBF(0.2), {"feedback": "integral"}, True),
        (20, RBF(0.2), {"feedback": "integral"}, False),
        (21, RBF(0.2) + WhiteKernel(0.1), {"feedback": "integral"}, False),
        (21, RBF(0.2), {"feedback": "average"}, False),
        (21, RBF(0.2), {"feedback": "average", "n_representatives": 21}, True),
        (21, RBF(0.2), {"feedback": "average", "n_representatives": 20}, False),
    ],
)
def test_cells_of_too_many_rows_have_a_low_rank_kernel(
    monkeypatch, n, kernel, parameters, is_low_rank
):
    monkeypatch.setattr("skgpb.optimizers._trees.MANY_ROWS", 20)
    pool = np.random.default_rng(0).random((n, 2))
    optimizer = GPOOOptimizer(kernel, pool=pool, **parameters).start()
    assert isinstance(optimizer._query_kernel(), LowRank) == is_low_rank
    assert_array_equal(optimizer.bounds_, [[x.min(), x.max()] for x in pool.T])


def test_at_depth_0_the_whole_domain_is_recommended():
    optimizer = GPOOOptimizer(RBF(0.2), bounds=[(0.0, 1.0)], random_state=0)
    for _ in range(3):
        optimizer.tell(query := optimizer.ask(), query.center[0])
    assert optimizer.recommend(depth=0).depth == 0 < optimizer.recommend().depth


@pytest.mark.parametrize(("d", "n_children"), [(1, 2), (3, 3), (9, 9)])
def test_cells_are_cut_so_often_on_each_side_as_their_numbers_allow(d, n_children):
    optimizer = GPOOOptimizer(RBF(0.2), bounds=[(0.0, 1.0)] * d, n_children=n_children)
    depth = optimizer.set_params(feedback="center").start().max_depth_
    assert depth == min(defaults.CUTS_PER_AXIS * d, deepest_level(n_children))


@pytest.mark.parametrize("deviation", [0.2, 1.0])
def test_a_cell_beside_the_best_is_better_only_beyond_its_uncertainty(deviation):
    class Posterior:
        def moments(self, row_sets, cov):
            mean = np.full(len(row_sets), 0.5)
            return mean - 0.5 * (np.arange(len(mean)) == 0), deviation**2 / 2 * np.eye(len(mean))

    bounds, best = (
        np.array([[0.0, 1.0]] * 2),
        Region(np.array([0.25, 0.5]), np.array([0.5, 0.75]), (1, 1)),
    )
    optimizer = GPOOOptimizer(RBF(0.3), bounds=bounds, alpha=0.01, max_depth=2)
    optimizer.ask()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_of_grid(Posterior(), optimizer.domain_, best, bounds, None)
    assert len(told) == (defaults.Z_SIGNIFICANT * deviation < 0.5)


def test_a_pool_has_the_bounds_of_its_rows():
    pool = np.random.default_rng(0).random((30, 2))
    box = np.column_stack([pool.min(axis=0), pool.max(axis=0)])
    given, plain = (GPOOOptimizer(pool=pool, bounds=bounds).start() for bounds in (box, None))
    assert_array_equal(given.bounds_, plain.bounds_)
    with pytest.raises(ValueError, match="pass either bounds or pool"):
        GPOOOptimizer(pool=pool, bounds=[(0, 1)] * 2).start()
