"""Every bound of `skgpb.theory` over the regret that it bounds, after 80, 1,000 and 10,000 answers.

``python -m benchmarks.bounds [--runs 20] [--seed 0] [--n-jobs 1] [--output DIR]`` plays each
algorithm where its theorem holds: functions drawn from the prior that the search is given, on
[0, 1], the widths of the theory (``beta="theory"``, at a failure probability of 0.05), noise of
standard deviation 0.1, and a variation within cells that 95 % of the draws respect. AVE-StoOO gets
answers yes or no, whose probability is a function of such a draw. Contexts are eight, in any order.

Each run is compared with its own bound, because bounds that count near-optimal cells depend on f,
and those with the information gain of what was asked on the run. Of 10,000 answers there are a
fourth as many runs. Printed are the median and the largest regret after N answers, the median of
the bounds, that of the worst regret there is, above which a bound says nothing, the largest share
that a run had of its bound after N answers, and in how many runs the regret was above the bound
after any number of answers. A second table has the near-optimality dimension, fitted to the counts
of near-optimal cells. One figure for each bound shows all runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from math import ceil, log, pi
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks._common import (
    argument_parser,
    format_table,
    import_pyplot,
    replicate,
    save,
    spawn_seeds,
    write_csv,
)
from skgpb import (
    ContextualGPTreeOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    StoOOOptimizer,
    theory,
)
from skgpb.exceptions import NumericalWarning
from skgpb.guarantee import Guarantee
from skgpb.optimizers.gp_tree import Constants
from skgpb.surrogate.information_gain import GreedyInformationGain

HORIZONS = (80, 1_000, 10_000)
BOX = [(0.0, 1.0)]
LENGTH, NOISE, THETA = 0.3, 0.1, 0.05
KERNEL = RBF(LENGTH)
#: Depth of GPOO and AVE-StoOO, representatives of their cells, depth of the contextual tree.
DEPTH, PER_CELL, CONTEXT_DEPTH = 12, 4, 12
ARMS = np.linspace(0.0, 1.0, 50)[:, np.newaxis]
CONTEXTS = (np.arange(8) + 0.5) / 8
GRID = np.linspace(0.0, 1.0, 2001)
#: Results of a run: the worst loss of an answer, and every regret and its bound at the marks.
Found = tuple[float, list[tuple[np.ndarray, np.ndarray]]]
#: Quantities that are bounded, and the algorithm that is played for them.
BOUNDS = {
    "GPOO, Theorem 1": "gpoo",
    "GPOO, Corollary 1": "gpoo",
    "AVE-StoOO, Theorem 3": "stooo",
    "GP-UCB, largest gain": "gp_ucb",
    "GP-UCB, gain as asked": "gp_ucb",
    "GPTree, information": "gp_tree",
    "GPTree, dimension": "gp_tree",
    "GPTree, simple regret": "gp_tree",
    "zooming, information": "zooming",
    "zooming, dimension": "zooming",
    "zooming, simple regret": "zooming",
    "contexts, information": "contextual",
    "contexts, dimension": "contextual",
}
#: Bounds on the recommendation; the others are cumulative.
SIMPLE = {name for name in BOUNDS if BOUNDS[name] in ("gpoo", "stooo") or "simple" in name}


def features(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features whose products are RBF(LENGTH), exact to rounding on [0, 1], and their slopes."""
    z, j = (x[:, np.newaxis] - 0.5) / LENGTH, np.arange(40)
    scale = np.cumprod(np.concatenate([[1.0], 1.0 / np.sqrt(j[1:])]))
    values = np.exp(-0.5 * z**2) * z**j * scale
    before = np.pad(values, ((0, 0), (1, 0)))[:, :-1]
    return values, (np.sqrt(j) * before - z * values) / LENGTH


class Draw:
    """A function drawn from the Gaussian process, of one or two variables."""

    def __init__(self, rng: np.random.Generator, d: int = 1) -> None:
        self.weights = rng.normal(size=(40,) * d)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the values at points (n, d)."""
        *others, last = (features(x)[0] for x in X.T)
        if not others:
            return last @ self.weights
        return np.einsum("ni,ni->n", others[0] @ self.weights, last)

    def on_grid(self, x: np.ndarray) -> np.ndarray:
        """Return the values at x and all of GRID, (n, n_grid), of two variables."""
        return features(x)[0] @ self.weights @ features(GRID)[0].T


@cache
def slope(d: int) -> float:
    """Largest slope along an axis that 95 % of the draws do not exceed."""
    rng = np.random.default_rng(0)
    values, slopes = features(np.linspace(0.0, 1.0, 101))
    if d == 1:
        found = [np.abs(slopes @ rng.normal(size=40)).max() for _ in range(2000)]
    else:
        draws = (rng.normal(size=(40, 40)) for _ in range(2000))
        found = [
            max(np.abs(slopes @ W @ values.T).max(), np.abs(values @ W @ slopes.T).max())
            for W in draws
        ]
    return float(np.quantile(found, 0.95))


def marks(n: int) -> np.ndarray:
    """Numbers of answers after which bound and regret are compared."""
    return np.unique(np.round(np.geomspace(1, n, 50)).astype(int))


def play(
    optimizer: Any, answer: Callable[[Any], float], n: int, simple: Callable | None
) -> tuple[list[Any], np.ndarray]:
    """Return the queries of n rounds, and the simple regret at the marks."""
    queries, regrets, at = [], [], set(marks(n).tolist())
    for t in range(1, n + 1):
        query = optimizer.ask()
        optimizer.tell(query, answer(query))
        queries.append(query)
        if simple is not None and t in at:
            regrets.append(simple(optimizer.recommend("paper")))
    return queries, np.array(regrets)


def gains(points: np.ndarray, n: int) -> np.ndarray:
    """Information gain of what was asked, points (n, d), at the marks."""
    found = []
    for t in marks(n):
        rows, counts = np.unique(points[:t], axis=0, return_counts=True)
        root = np.sqrt(counts) / NOISE
        K = rbf_kernel(rows, gamma=0.5 / LENGTH**2) * np.outer(root, root)
        found.append(0.5 * float(np.linalg.slogdet(np.eye(len(rows)) + K)[1]))
    return np.array(found)


def sums(regrets: np.ndarray) -> np.ndarray:
    """Cumulative regret at the marks."""
    return np.cumsum(regrets)[marks(len(regrets)) - 1]


def ends(f: Callable) -> tuple[float, float]:
    """Largest and least value."""
    values = f(GRID[:, np.newaxis])
    return float(values.max()), float(values.min())


def averages(f: Callable, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """The variation and number of near-optimal cells of GPOO and AVE-StoOO."""
    # However the representatives lie, on average they are half a side from any end.
    delta = 0.5 * scale * slope(1) * 0.5 ** np.arange(DEPTH + 1)
    best = ends(f)[0]
    return delta, theory.near_optimal_cells(f, BOX, delta, best, n_representatives=PER_CELL)


def centers(f: Callable, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """V, gaps and number of near-optimal cells of GPTree."""
    V = 0.5 * slope(1) * 0.5 ** np.arange(depth + 1)
    gaps = theory.gp_tree_gaps(V)
    return V, gaps, theory.near_optimal_cells(f, BOX, gaps, ends(f)[0], factor=1.0)


def balls(f: Callable, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W, gaps and number of near-optimal balls of zooming."""
    W = slope(1) * 0.5 ** np.arange(depth + 1)
    gaps = theory.zooming_gaps(W)
    # A cell of side r holds such a centre only if its own is near-optimal up to W(r / 2).
    return W, gaps, theory.near_optimal_cells(f, BOX, gaps + 0.5 * W, ends(f)[0], factor=1.0)


def dimensions(n_counts: int, seed: int) -> np.ndarray:
    """C and D of a function for GPOO, GPTree and zooming, (3, 2)."""
    f = Draw(np.random.default_rng(seed))
    delta, counts = averages(f, 1.0)
    radii = 0.5 ** np.arange(n_counts)
    return np.array(
        [
            theory.near_optimality_dimension(counts, delta),
            theory.near_optimality_dimension(centers(f, n_counts - 1)[2], 0.5 * radii, factor=1.0),
            theory.near_optimality_dimension(balls(f, n_counts - 1)[2], radii, factor=1.0),
        ]
    )


def gpoo(n: int, rng: np.random.Generator) -> Found:
    """Aggregated regret of GPOO."""
    f, t = Draw(rng), marks(n)
    best, worst = ends(f)
    delta, counts = averages(f, 1.0)
    optimizer = GPOOOptimizer(
        KERNEL,
        bounds=BOX,
        alpha=NOISE**2,
        n_representatives=PER_CELL,
        diameter=(delta[0], 0.5),
        max_depth=DEPTH,
        expansion="before",
        beta="theory",
        guarantee=Guarantee(failure_probability=THETA),
        random_state=0,
    )

    def average(cell: Any) -> float:
        return float(f(cell.points).mean())

    _, regret = play(
        optimizer,
        lambda cell: average(cell) + NOISE * rng.normal(),
        n,
        lambda cell: best - average(cell),
    )
    beta = 2.0 * (log(2.0 ** (DEPTH + 1) - 1.0) + np.log(pi**2 * t**2 / (6.0 * THETA)))
    C, d = theory.near_optimality_dimension(counts, delta)
    theorem = theory.gpoo_bound(t, delta, counts, beta, NOISE**2)
    rate = theory.gpoo_rate(t, (delta[0], 0.5), C, d, beta, NOISE**2)
    return best - worst, [(regret, theorem), (regret, rate)]


def stooo(n: int, rng: np.random.Generator) -> Found:
    """Aggregated regret of AVE-StoOO, of answers that are 1 with a probability."""
    draw = Draw(rng)

    def f(X: np.ndarray) -> np.ndarray:
        return 1.0 / (1.0 + np.exp(-draw(X)))

    best, worst = ends(f)
    # The slope of the logistic function is a fourth at most.
    delta, counts = averages(f, 0.25)
    optimizer = StoOOOptimizer(
        bounds=BOX,
        feedback="average",
        n_representatives=PER_CELL,
        diameter=(delta[0], 0.5),
        max_depth=DEPTH,
        failure_probability=THETA,
        random_state=0,
    )

    def average(cell: Any) -> float:
        return float(f(cell.points).mean())

    _, regret = play(
        optimizer,
        lambda cell: float(rng.random() < average(cell)),
        n,
        lambda cell: best - average(cell),
    )
    return best - worst, [(regret, theory.stooo_bound(marks(n), delta, counts, THETA))]


@cache
def largest_gain(n: int) -> float:
    """Upper bound on the information gain of any n arms."""
    return _greedy().bound(n)


@cache
def _greedy() -> GreedyInformationGain:
    return GreedyInformationGain(KERNEL, ARMS, NOISE**2)


def gp_ucb(n: int, rng: np.random.Generator) -> Found:
    """Cumulative regret of GP-UCB."""
    values, t = Draw(rng)(ARMS), marks(n)
    optimizer = GPUCBOptimizer(
        KERNEL,
        arms=ARMS,
        alpha=NOISE**2,
        beta=None,
        guarantee=Guarantee(failure_probability=THETA),
        random_state=0,
    )
    queries, _ = play(optimizer, lambda arm: values[arm.index] + NOISE * rng.normal(), n, None)
    pulled = np.array([arm.index for arm in queries])
    regret = sums(values.max() - values[pulled])
    beta = np.array([optimizer.theory_beta(int(each), len(ARMS)) for each in t])
    largest = np.array([largest_gain(int(each)) for each in t])
    return np.ptp(values), [
        (regret, theory.gp_ucb_bound(t, gain, beta, NOISE**2))
        for gain in (largest, gains(ARMS[pulled], n))
    ]


def gp_tree(n: int, rng: np.random.Generator) -> Found:
    """Cumulative and simple regret of GPTree."""
    f, t = Draw(rng), marks(n)
    best, worst = ends(f)
    optimizer = GPTreeOptimizer(
        KERNEL,
        bounds=BOX,
        horizon=n,
        alpha=NOISE**2,
        diameter=(0.5 * slope(1), 0.5),
        beta="theory",
        guarantee=Guarantee(failure_probability=THETA),
        random_state=0,
    )
    queries, simple = play(
        optimizer,
        lambda cell: float(f(cell.points)[0]) + NOISE * rng.normal(),
        n,
        lambda cell: best - float(f(cell.points)[0]),
    )
    asked = np.array([cell.points[0] for cell in queries])
    regret = sums(best - f(asked))
    beta = Constants(n, 2, 1, 1.0).beta(THETA)
    # Leaves exist below the deepest level that is split.
    V, gaps, counts = centers(f, optimizer.max_depth_ + 1)
    return best - worst, [
        (regret, theory.gp_tree_bound(t, gains(asked, n), beta, V, NOISE**2)),
        (regret, theory.dimension_bound(t, gaps, counts, V, beta, NOISE**2)),
        (simple, theory.dimension_simple_bound(t, counts, V, beta, NOISE**2)),
    ]


def zooming(n: int, rng: np.random.Generator) -> Found:
    """Cumulative and simple regret of zooming."""
    f, t = Draw(rng), marks(n)
    best, worst = ends(f)
    optimizer = GPZoomingOptimizer(
        KERNEL,
        bounds=BOX,
        horizon=n,
        alpha=NOISE**2,
        variation=(slope(1), 1.0),
        beta="theory",
        guarantee=Guarantee(failure_probability=THETA),
        random_state=0,
    )
    queries, simple = play(
        optimizer,
        lambda ball: float(f(ball.points)[0]) + NOISE * rng.normal(),
        n,
        lambda ball: best - float(f(ball.points)[0]),
    )
    asked = np.array([ball.points[0] for ball in queries])
    regret = sums(best - f(asked))
    depth = optimizer.max_depth_
    beta = 2.0 * (
        log(1.0 / THETA) + log(2.0 * n) + min(depth * log(2.0), log(optimizer.max_active))
    )
    W, gaps, counts = balls(f, depth)
    information = theory.gp_tree_bound(t, gains(asked, n), beta, W, NOISE**2, gap=gaps[-1])
    return best - worst, [
        (regret, information),
        (regret, theory.dimension_bound(t, gaps, counts, W, beta, NOISE**2)),
        (simple, theory.dimension_simple_bound(t, counts, W, beta, NOISE**2)),
    ]


def contextual(n: int, rng: np.random.Generator) -> Found:
    """Contextual cumulative regret of the tree over contexts and actions."""
    f, t, L = Draw(rng, 2), marks(n), slope(2)
    # The longest side is halved, contexts first.
    sides = np.array([(0.5 ** ceil(h / 2), 0.5 ** (h // 2)) for h in range(CONTEXT_DEPTH + 1)])
    V = L * sides.sum(axis=1)
    optimizer = ContextualGPTreeOptimizer(
        KERNEL,
        context_bounds=BOX,
        bounds=BOX,
        horizon=n,
        alpha=NOISE**2,
        diameter=lambda h: float(V[h]) if h < len(V) else float(V[-1]) / 2.0,
        max_depth=CONTEXT_DEPTH,
        beta="theory",
        guarantee=Guarantee(failure_probability=THETA),
        random_state=0,
    )
    values = f.on_grid(CONTEXTS)
    best = values.max(axis=1)
    asked, lost = [], []
    for i in rng.integers(len(CONTEXTS), size=n):
        query = optimizer.ask(context=[CONTEXTS[i]])
        value = float(f(query.points)[0])
        optimizer.tell(query, value + NOISE * rng.normal())
        asked.append(query.points[0])
        lost.append(best[i] - value)
    beta = Constants(n, 2, 2, 1.0, CONTEXT_DEPTH).beta(THETA)
    g = np.sqrt(2.0 - 2.0 * np.exp(-0.125 * (sides**2).sum(axis=1) / LENGTH**2))
    gaps = theory.gp_tree_gaps(V, np.sqrt(beta) * g)

    def below(X: np.ndarray) -> np.ndarray:
        contexts, which = np.unique(X[:, 0], return_inverse=True)
        return f(X) - f.on_grid(contexts).max(axis=1)[which]

    # The loss at any point of a cell is at most 2 V less than at its centre.
    counts = theory.near_optimal_cells(below, BOX * 2, gaps + 2.0 * V, 0.0, factor=1.0)
    regret, gain = sums(np.array(lost)), gains(np.array(asked), n)
    return np.ptp(values, axis=1).mean(), [
        (regret, theory.gp_tree_bound(t, gain, beta, V, NOISE**2, gap=gaps[-1])),
        # Two contexts of one half of a cell are closer than a corner is to the centre.
        (regret, theory.dimension_bound(t, gaps, counts, V, beta, NOISE**2, visits=2)),
    ]


ALGORITHMS = {each.__name__: each for each in (gpoo, stooo, gp_ucb, gp_tree, zooming, contextual)}


def curves(algorithm: str, n: int, seed: int) -> np.ndarray:
    """Regret, bound and the worst regret there is, at the marks, (n_bounds, 3, n_marks)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        worst, pairs = ALGORITHMS[algorithm](n, np.random.default_rng(seed))
    names = [name for name, played in BOUNDS.items() if played == algorithm]
    worsts = [worst * (1.0 if name in SIMPLE else marks(n)) for name in names]
    return np.array(
        [np.broadcast_arrays(*pair, each) for pair, each in zip(pairs, worsts, strict=True)]
    )


def short(number: float) -> str:
    """Three digits, without an exponent where it is not needed."""
    if abs(number) >= 100.0:
        return f"{number:.0f}"
    return f"{number:.3g}" if abs(number) >= 1e-4 else f"{number:.0e}"


def panel(axis: Any, found: np.ndarray, n: int) -> None:
    """Draw runs (n_runs, 3, n_marks) and their bounds."""
    t, regret, bound, worst = marks(n), *found.swapaxes(0, 1)
    # The best value is that of a grid: what is recommended may be better by a millionth.
    shown = np.maximum(regret, 1e-6)
    axis.loglog(t, shown.T, color="C0", lw=0.6, alpha=0.4)
    axis.loglog(t, np.median(shown, axis=0), color="C0", lw=2.0, label="measured, median")
    axis.loglog(t, np.median(bound, axis=0), "--", color="C1", lw=2.0, label="bound, median")
    axis.fill_between(t, bound.min(axis=0), bound.max(axis=0), color="C1", alpha=0.2, lw=0)
    axis.loglog(t, np.median(worst, axis=0), ":", color="0.4", label="worst there is, median")
    axis.set(title=f"N = {n:,}, {len(found)} runs", xlabel="answers")


def draw(plt: Any, name: str, found: dict[int, np.ndarray]) -> Any:
    """Return the figure of one bound, of runs (n_runs, 3, n_marks) for every N."""
    shape = {"sharey": True, "squeeze": False, "figsize": (11, 3.6), "layout": "constrained"}
    figure, (axes,) = plt.subplots(1, len(found), **shape)
    for axis, (n, each) in zip(axes, found.items(), strict=True):
        panel(axis, each, n)
    label = "regret of the recommendation" if name in SIMPLE else "cumulative regret"
    axes[0].set_ylabel(label)
    axes[0].legend(loc="best", fontsize=8)
    figure.suptitle(name)
    return figure


def main(arguments: list[str] | None = None) -> None:
    """Print what was measured and what the bounds say."""
    parser = argument_parser("bounds", __doc__, 20, n_jobs=True)
    parser.add_argument(
        "--horizons", type=int, nargs="+", default=HORIZONS, help="N (default 80 1000 10000)"
    )
    options = parser.parse_args(arguments)
    seeds = spawn_seeds(options.seed, options.runs)
    played: dict[str, dict[int, np.ndarray]] = {name: {} for name in BOUNDS}
    for n in options.horizons:
        some = seeds if n < 10_000 else seeds[: max(1, len(seeds) // 4)]
        tasks = [(name, n) for name in ALGORITHMS]
        results = replicate(curves, tasks, some, options.n_jobs)
        for name, found in zip(ALGORITHMS, results, strict=True):
            mine = [bound for bound, algorithm in BOUNDS.items() if algorithm == name]
            for i, bound in enumerate(mine):
                played[bound][n] = found[:, i]

    table, rows = [], []
    for name, found in played.items():
        for n, each in found.items():
            regret, bound, worst = each[:, :, -1].T
            above = int((each[:, 0] > each[:, 1]).any(axis=1).sum())
            typical = np.median(bound), np.median(worst), (regret / bound).max()
            cells = [short(number) for number in (np.median(regret), regret.max(), *typical)]
            table.append((f"{name}, N = {n:,}", [*cells, f"{above} of {len(each)}"]))
            rows += [
                (name, n, seed, t, *values)
                for seed, run in zip(seeds, each, strict=False)
                for t, values in zip(marks(n), run.T, strict=True)
            ]
    title = f"Regret and bounds, seed {options.seed}"
    header = ["median", "largest", "bound", "worst", "largest share", "ever above"]
    print(format_table(title, header, table))
    fitted = np.median(replicate(dimensions, [(10,)], seeds, options.n_jobs)[0], axis=0)
    names = ("GPOO, of 3 delta", "GPTree, of radii", "zooming, of radii")
    print()
    table = [(name, [f"{C:.2f}", f"{d:.2f}"]) for name, (C, d) in zip(names, fitted, strict=True)]
    print(format_table("Near-optimality dimension, median over functions", ["C", "D"], table))
    print()
    path = options.output / "bounds.csv"
    write_csv(path, ["bound", "N", "seed", "answers", "regret", "bounded_by", "worst"], rows)
    print(f"Written: {path}")
    plt = import_pyplot()
    if plt is not None:
        for name, found in played.items():
            file = "bounds_" + "_".join(name.replace(",", "").lower().split()) + ".png"
            save(plt, draw(plt, name, found), options.output / file)


if __name__ == "__main__":
    main()
