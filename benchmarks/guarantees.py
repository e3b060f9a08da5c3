"""Studies of confidence widths and of `Stop`: whether what they claim holds, and what it costs.

``python -m benchmarks.guarantees STUDY [--runs 40] [--seed 0] [--answers N ...] [--output DIR]``
plays one of these studies, with as many functions of each kind as there are runs. ``--answers`` is
for each run, or the most of it; of ``regularised`` several numbers of them.

``coverage``: functions whose norm in the reproducing kernel Hilbert space is exactly 2, sums of one
to eight kernel functions around random places, for five kernels on [0, 1]. An optimizer with
``beta="rkhs"`` is told noisy answers to queries that it chooses itself, which is the hardest way of
choosing them: GP-UCB values at points or averages over windows that overlap, GPOO averages over the
cells of its tree. After every round the intervals of points, cells and windows, whichever of them
were asked, are compared with the truth. A run is violated if a single one is, after any round.
Printed is the share of runs that are violated for each width, all at delta = 0.1, with its
Clopper-Pearson interval of 95 %, and how much too wide each width is: the median over runs of its
smallest excess, over all functionals and rounds, and in brackets that of the width that would have
held in just 1 - delta of the runs.

``price_of_width``: the same functions, with kernel and noise (standard deviation 0.2) given, played
by GP-UCB over 101 points and GPOO over averages of cells, by their theory, by ``beta=4`` and by
``beta="rkhs"`` with the true norm and twice as much. Printed are the mean regret of the queries per
round and of the final recommendation, over all functions and kernels, with standard errors. Regret
is against the best point of a grid for GP-UCB, and against the best cell of the finest level for
GPOO.

``regularised``: what more regularisation than noise does for ``beta="rkhs"``. GP-UCB asks for the
values of 101 points, GPOO for those at the centres of its cells, down to 256 of them. Printed for
each number of answers and three kernels: the sum of regrets of all that was asked, the regret of
what is recommended at the end, both with standard errors over the runs, and the seconds of
processor time of one run, its answers included. "regularised" is GP-UCB with the noise variance
that ``skgpb.surrogate.widths.balancing_alpha`` chooses before the first answer.

``length_scales``: functions of norm 2 under RBF kernels of length scale 0.05, 0.1 and 0.4 at 101
points, noise of standard deviation 0.1 known, by GP-UCB (beta=4) and EI. They are given the true
length scale; 0.8 and nothing to learn; 0.8, learned by likelihood; or 0.8 with
optimizer="consistent" and B=2, where eleven length scales from 0.8 down to 0.025 take turns and
those that contradict the answers are dropped. Both learn whenever answers have grown by a quarter.
Printed is the regret in percent of the largest value less the smallest.

``stopping``: functions drawn from Gaussian processes of three kernels at 101 points, with noise of
standard deviation 0.3. GP-UCB with the width of its theory looks for the best point. Two rules
watch the same run: Stop(0.4, delta=0.05), and the bounds of the theory: the largest upper bound is
less than 0.4 above the lower bound of the arm that is recommended. In the fourth row the optimizer
learns kernel and noise, with the beta that it has by default; there is no theory to compare with.
Printed: runs that stopped, in how many of these the claim was true, with the exact binomial
interval of 95 %, the median number of evaluations, and its share of what the bounds needed.

``first_check``: functions drawn from Gaussian processes (Matern-5/2) in one, two and four
dimensions, at 101, 441 and 400 arms. Each has a length scale between 0.1 and 0.5 times the square
root of the dimension and noise of a standard deviation between 0.1 and 0.5, both drawn on a
logarithmic scale. GP-UCB learns kernel and noise and is watched by Stop(0.4, delta=0.05,
min_answers=m) for several m. The runs of the first half of the seeds are for choosing m, those of
the other half for saying how often the claim was true with it.

``averaged_stop``: functions drawn from Gaussian processes of several smoothnesses at 101 arms in
one dimension and at 15 x 15 in two, played by GP-UCB, which is told nothing. At every check of
Stop(0.4) the same run is judged twice: by the most probable model alone, and by it and by all
models that the answers leave (:mod:`skgpb.surrogate.models`), as Stop does.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from math import inf, log, pi, sqrt
from typing import Any

import numpy as np
from scipy.special import betaincinv
from scipy.stats import qmc
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, Kernel, Matern

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    positive_int,
    spawn_seeds,
    write_csv,
)
from skgpb import EIOptimizer, GPOOOptimizer, GPUCBOptimizer, Stop
from skgpb.exceptions import NumericalWarning, RefinementWarning
from skgpb.guarantee import Guarantee
from skgpb.kernels import CellAverage
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers._stopping import gap_rng
from skgpb.surrogate.information_gain import GreedyInformationGain
from skgpb.surrogate.widths import balancing_alpha, dual_ends

#: Header and rows of the file of a study.
Found = tuple[Sequence[str], list[Sequence[Any]]]

ARMS = np.linspace(0.0, 1.0, 101)[:, np.newaxis]


def show(title: str, header: Sequence[str], rows: list[tuple[str, Sequence[str]]]) -> None:
    """Print a table and an empty line."""
    print(format_table(title, header, rows), end="\n\n", flush=True)


def interval(k: int, n: int) -> tuple[float, float]:
    """Clopper-Pearson interval of 95 % of a probability, given k successes in n draws."""
    low = betaincinv(k, n - k + 1, 0.025) if k else 0.0
    high = betaincinv(k + 1, n - k, 0.975) if k < n else 1.0
    return float(low), float(high)


def share(true: int, n: int) -> str:
    """Return a share in percent with its interval."""
    if not n:
        return "-"
    low, high = interval(true, n)
    return f"{100 * true / n:.1f} ({100 * low:.1f} to {100 * high:.1f})"


# Functions of known norm -------------------------------------------------------------------------

B, NOISE, DELTA = 2.0, 0.2, 0.1
#: Representatives of a cell or a window.
PER_CELL = 8
KERNELS = {
    "RBF": RBF(0.2),
    "Matern-1/2": Matern(0.3, nu=0.5),
    "Matern-3/2": Matern(0.3, nu=1.5),
    "Matern-5/2": Matern(0.3, nu=2.5),
    "RBF + periodic": 0.7 * RBF(0.3) + 0.3 * ExpSineSquared(1.0, 0.3),
}


class Function:
    """A function of norm B, a combination of kernel functions, one to eight unless told."""

    def __init__(self, kernel: Kernel, rng: np.random.Generator, n_centers: int = 0) -> None:
        self.kernel = kernel
        self.centers = rng.random((n_centers or int(rng.integers(1, 9)), 1))
        self.weights = rng.normal(size=len(self.centers))
        norm2 = self.weights @ kernel(self.centers) @ self.weights
        self.weights *= B / sqrt(norm2)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return the values at points."""
        return self.kernel(points, self.centers) @ self.weights

    def average(self, points: np.ndarray) -> float:
        """Mean of f over points."""
        return float(self(points).mean())


def nodes(lower: float, upper: float) -> np.ndarray:
    """Representatives of a cell, the middles of equal parts."""
    return (lower + (upper - lower) * (np.arange(PER_CELL) + 0.5) / PER_CELL)[:, np.newaxis]


def searched(
    optimizer: BaseBanditOptimizer,
    value: Callable[[Any], float],
    best: float,
    noise: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Return the regret of each query and of the recommendation, with a noise for each answer."""
    asked = []
    for error in noise:
        query = optimizer.ask()
        asked.append(value(query))
        optimizer.tell(query, asked[-1] + error)
    return best - np.array(asked), best - value(optimizer.recommend())


# coverage

DEPTH = 5
POINTS = np.linspace(0.0, 1.0, 41)
#: Centres of windows of width 0.2.
CENTERS = np.linspace(0.1, 0.9, 33)
FEEDBACK = ("points", "cells", "windows")
#: Widths that are compared, the first two of them those of ``interval`` and ``beta="rkhs"``.
WIDTHS = ("dual", "rkhs", "sum of norms", "IGP-UCB's", "Lemma 1")


def functionals() -> list[np.ndarray]:
    """Points, all cells of the tree and overlapping windows, as the points they average."""
    points = [np.array([[x]]) for x in POINTS]
    depths = range(DEPTH + 2)
    cells = [nodes(i / 2**depth, (i + 1) / 2**depth) for depth in depths for i in range(2**depth)]
    windows = [nodes(c - 0.1, c + 0.1) for c in CENTERS]
    return points + cells + windows


def covariances(kernel: Kernel, asked: list[np.ndarray]) -> np.ndarray:
    """Return the prior covariances of functionals."""
    sizes = [len(points) for points in asked]
    starts = np.cumsum([0, *sizes[:-1]])
    K = kernel(np.concatenate(asked))
    K = np.add.reduceat(np.add.reduceat(K, starts, axis=0), starts, axis=1)
    return K / np.outer(sizes, sizes)


def optimizer_of(feedback: str, kernel: Kernel, seed: int) -> BaseBanditOptimizer:
    """Return the search that chooses the queries."""
    given = {"beta": "rkhs", "guarantee": Guarantee(B, failure_probability=DELTA)}
    given |= {"alpha": NOISE**2, "random_state": seed}
    if feedback == "cells":
        box = {"bounds": [(0.0, 1.0)], "n_representatives": PER_CELL, "max_depth": DEPTH}
        return GPOOOptimizer(kernel, **box, **given)
    if feedback == "windows":
        boxes = np.column_stack([CENTERS - 0.1, CENTERS + 0.1])
        return GPUCBOptimizer(CellAverage(kernel, PER_CELL), arms=boxes, **given)
    return GPUCBOptimizer(kernel, arms=POINTS[:, np.newaxis], **given)


def excesses(feedback: str, kernel: Kernel, C: np.ndarray, rounds: int, seed: int) -> np.ndarray:
    """Largest error as a share of each width, over all functionals and rounds, (n_widths,).

    ``C`` are the covariances of the functionals. The posterior is computed from it afresh after
    every round, and at the end compared with what the optimizer says.
    """
    rng = np.random.default_rng(seed)
    f, asked = Function(kernel, rng), functionals()
    number = {points.tobytes(): i for i, points in enumerate(asked)}
    truth = np.array([f.average(points) for points in asked])
    optimizer = optimizer_of(feedback, kernel, int(rng.integers(2**31)))
    queries: list[int] = []
    answers: list[float] = []
    worst = np.zeros(len(WIDTHS))
    for t in range(1, rounds + 1):
        query = optimizer.ask()
        queries.append(_nearest(number, asked, np.asarray(query)))
        answers.append(truth[queries[-1]] + NOISE * rng.normal())
        optimizer.tell(query, answers[-1])
        y, noise = np.array(answers), np.full(t, NOISE**2)
        Q = C[np.ix_(queries, queries)] + np.diag(noise)
        rows = np.linalg.solve(Q, C[queries])
        mean, std = y @ rows, np.sqrt(np.maximum(np.diag(C) - (C[queries] * rows).sum(axis=0), 0.0))
        gain = 0.5 * float(np.linalg.slogdet(Q / NOISE**2)[1])
        excess = 2.0 * (gain + log(1.0 / DELTA))
        factors = (
            sqrt(B**2 + excess),
            B + sqrt(excess),
            B + sqrt(excess + 2.0),
            # The union bound of Lemma 1 is over these functionals, not over all that there are.
            sqrt(2.0 * log(len(asked) * pi**2 * t**2 / (6.0 * DELTA))),
        )
        gram, across = C[np.ix_(queries, queries)], C[:, queries]
        ends = dual_ends(gram, noise, y, across, np.diag(C), B**2, excess)
        if ends is None:  # the observations contradict B: a failure of its own
            worst[0] = inf
            continue
        middle, half = 0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0])
        relative = [_largest(np.abs(truth - middle), half)]
        relative += [_largest(np.abs(truth - mean), factor * std) for factor in factors]
        worst = np.maximum(worst, relative)
    _, lower, upper = optimizer.predict_query(asked[:5], interval=True)
    np.testing.assert_allclose([lower, upper], [end[:5] for end in ends], atol=1e-5)
    return worst


def _nearest(number: dict[bytes, int], asked: list[np.ndarray], points: np.ndarray) -> int:
    """Return the functional that averages these points, up to rounding."""
    known = number.get(points.tobytes())
    if known is None:
        same = [i for i, each in enumerate(asked) if each.shape == points.shape]
        known = min(same, key=lambda i: float(np.abs(asked[i] - points).max()))
        if np.abs(asked[known] - points).max() > 1e-9:
            raise ValueError(f"{points} are not among the functionals")
        number[points.tobytes()] = known
    return known


def _largest(errors: np.ndarray, widths: np.ndarray) -> float:
    # Values that are known to rounding are left out.
    some = widths > 1e-9
    return float((errors[some] / widths[some]).max(initial=0.0))


def summary(worst: np.ndarray) -> list[str]:
    """Say of each width, (n_runs, n_widths), how often it failed and how much too wide it is."""
    cells = []
    for column in worst.T:
        k, n = int((column > 1.0).sum()), len(column)
        lower, upper = interval(k, n)
        typical, needed = 1.0 / np.median(column), 1.0 / np.quantile(column, 1.0 - DELTA)
        cells.append(f"{k}/{n} [{lower:.3f}, {upper:.3f}] x{typical:.2f} ({needed:.2f})")
    return cells


def coverage(options: Any) -> Found:
    """How often widths for functions of known norm hold."""
    (rounds,), seeds = options.answers or [60], spawn_seeds(options.seed, options.runs)
    table, rows = [], []
    for name, kernel in KERNELS.items():
        C = covariances(kernel, functionals())
        for feedback in FEEDBACK:
            worst = np.array([excesses(feedback, kernel, C, rounds, seed) for seed in seeds])
            table.append((f"{name}, {feedback}", summary(worst)))
            rows += [(name, feedback, seed, *row) for seed, row in zip(seeds, worst, strict=True)]
    title = f"Runs of {rounds} rounds in which anything was outside of its interval, delta = "
    show(f"{title}{DELTA}: {options.runs} functions of norm {B:g}", WIDTHS, table)
    return ("kernel", "feedback", "seed", *WIDTHS), rows


# price_of_width

#: Depth of the finest cells.
FINEST = 7
SETTINGS: dict[str, dict[str, Any]] = {
    "theory": {"beta": "theory"},
    "beta=4": {"beta": 4.0},
    "rkhs": {"beta": "rkhs", "guarantee": Guarantee(B)},
    "rkhs, B twice": {"beta": "rkhs", "guarantee": Guarantee(2.0 * B)},
}


def priced(method: str, setting: str, kernel: Kernel, rounds: int, seed: int) -> list[float]:
    """Regret per round and at the end."""
    rng = np.random.default_rng(seed)
    f = Function(kernel, rng)
    given = {"alpha": NOISE**2, "random_state": int(rng.integers(2**31))} | SETTINGS[setting]
    if method == "GP-UCB":
        best = max(f.average(arm[np.newaxis]) for arm in ARMS)
        optimizer: BaseBanditOptimizer = GPUCBOptimizer(kernel, arms=ARMS, **given)
    else:
        n = 2**FINEST
        best = max(f.average(nodes(i / n, (i + 1) / n)) for i in range(n))
        box = {"bounds": [(0.0, 1.0)], "n_representatives": PER_CELL, "max_depth": FINEST - 1}
        optimizer = GPOOOptimizer(kernel, **box, **given)
    noise = NOISE * rng.normal(size=rounds)
    asked, last = searched(optimizer, lambda query: f.average(np.asarray(query)), best, noise)
    return [asked.mean(), last]


def price_of_width(options: Any) -> Found:
    """What such a width costs in regret."""
    (rounds,), seeds = options.answers or [150], spawn_seeds(options.seed, options.runs)
    table, rows = [], []
    for method in ("GP-UCB", "GPOO"):
        for setting in SETTINGS:
            found = [
                priced(method, setting, kernel, rounds, seed)
                for kernel in KERNELS.values()
                for seed in seeds
            ]
            mean, error = mean_and_error(np.array(found))
            cells = [estimate(*each) for each in zip(mean, error, strict=True)]
            table.append((f"{method}, {setting}", cells))
            rows.append((method, setting, *mean, *error))
    title = f"Regret of {rounds} rounds, {options.runs} functions for each of five kernels"
    show(title, ("per round", "at the end"), table)
    return ("method", "setting", "per_round", "at_the_end", "error", "error_end"), rows


# regularised

#: Number of the finest centres, by their depth.
CELLS = 8
METHODS: dict[str, tuple[type, dict[str, Any]]] = {
    "GP-UCB, theory": (GPUCBOptimizer, {"beta": "theory"}),
    "GP-UCB, rkhs": (GPUCBOptimizer, {"beta": "rkhs"}),
    "GP-UCB, rkhs, regularised": (
        GPUCBOptimizer,
        {"beta": "rkhs", "guarantee": Guarantee(B, noise_bound=NOISE)},
    ),
    "GPOO, theory": (GPOOOptimizer, {"beta": "theory"}),
    "GPOO, rkhs": (GPOOOptimizer, {"beta": "rkhs"}),
}


@cache
def balanced(kernel: str, answers: int) -> float:
    """The noise variance that is chosen for a kernel and a number of answers."""

    def gain(alpha: float) -> float:
        return GreedyInformationGain(KERNELS[kernel], ARMS, alpha).bound(answers)

    return balancing_alpha(gain, B, NOISE)


def timed(method: str, kernel: str, answers: int, seed: int) -> list[float]:
    """Sum of regrets, regret at the end, seconds."""
    rng = np.random.default_rng(seed)
    f = Function(KERNELS[kernel], rng)
    cls, settings = METHODS[method]
    given = {"alpha": NOISE**2, "guarantee": Guarantee(B)} | settings
    if method.endswith("regularised"):
        given["alpha"] = balanced(kernel, answers)
    if cls is GPOOOptimizer:
        points = (np.arange(2**CELLS) + 0.5)[:, np.newaxis] / 2**CELLS
        given |= {"bounds": [(0.0, 1.0)], "feedback": "center", "max_depth": CELLS - 1}
    else:
        points = ARMS
        given["arms"] = ARMS
    optimizer = cls(KERNELS[kernel], random_state=int(rng.integers(2**31)), **given)
    best = max(f.average(point[np.newaxis]) for point in points)
    # The same point is asked again and again.
    value = cache(lambda x: f.average(np.array([[x]])))
    noise, start = NOISE * rng.normal(size=answers), time.process_time()
    asked, last = searched(optimizer, lambda query: value(float(query.center[0])), best, noise)
    return [asked.sum(), last, time.process_time() - start]


def regularised(options: Any) -> Found:
    """What more regularisation than noise does."""
    rows, seeds = [], spawn_seeds(options.seed, options.runs)
    for answers in options.answers or [1000, 10_000]:
        for kernel in ("RBF", "Matern-5/2", "Matern-3/2"):
            table = []
            for method in METHODS:
                found = np.array([timed(method, kernel, answers, seed) for seed in seeds])
                rows += [
                    (answers, kernel, method, seed, *row)
                    for seed, row in zip(seeds, found, strict=True)
                ]
                (total, last, seconds), error = mean_and_error(found)
                cells = [estimate(total, error[0], 1), estimate(last, error[1], 4)]
                table.append((method, [*cells, f"{seconds:.2f}"]))
            title = f"{kernel}, {answers} answers: {options.runs} functions, seed {options.seed}"
            show(title, ("sum of regrets", "at the end", "s"), table)
    return ("answers", "kernel", "method", "seed", "sum", "at_the_end", "seconds"), rows


# length_scales

LONGEST, LENGTHS = 0.8, (0.05, 0.1, 0.4)
RULES: dict[str, tuple[Any, dict[str, Any]]] = {
    "GP-UCB": (GPUCBOptimizer, {"beta": 4.0}),
    "EI": (EIOptimizer, {}),
}
BELIEFS: dict[str, dict[str, Any]] = {
    "true": {},
    "0.8": {"kernel": RBF(LONGEST)},
    "0.8, learned": {"kernel": RBF(LONGEST, (0.005, 5.0)), "optimizer": "fmin_l_bfgs_b"},
    "0.8, consistent": {
        "kernel": RBF(LONGEST, (0.005, 5.0)),
        "optimizer": "consistent",
        "guarantee": Guarantee(B),
    },
}


def believed(rule: str, belief: str, length: float, rounds: int, seed: int) -> np.ndarray:
    """Regret per round and at the end, (2,), in percent."""
    rng = np.random.default_rng(seed)
    f = Function(RBF(length), rng, 8)(ARMS)
    cls, settings = RULES[rule]
    given = {"kernel": RBF(length), "alpha": 0.01, "relearn": "growing"}
    given |= settings | BELIEFS[belief] | {"random_state": int(rng.integers(2**31))}
    noise = 0.1 * rng.normal(size=rounds)
    asked, last = searched(cls(arms=ARMS, **given), lambda arm: f[arm.index], f.max(), noise)
    return 100.0 * np.array([asked.mean(), last]) / np.ptp(f)


def length_scales(options: Any) -> Found:
    """Regret where the length scale is believed to be far too long."""
    (rounds,), seeds = options.answers or [60], spawn_seeds(options.seed, options.runs)
    table, rows = [], []
    for rule in RULES:
        for belief in BELIEFS:
            cells = []
            for length in LENGTHS:
                found = [believed(rule, belief, length, rounds, seed) for seed in seeds]
                mean, error = mean_and_error(np.array(found))
                cells += [estimate(*each) for each in zip(mean, error, strict=True)]
                rows.append((rule, belief, length, *mean, *error))
            table.append((f"{rule}, {belief}", cells))
    header = [name for each in LENGTHS for name in (f"f of {each:g}: a round", "at the end")]
    title = f"Regret of {rounds} rounds in percent, {options.runs} functions of each length"
    show(title, header, table)
    names = ("rule", "setting", "length", "a_round", "at_the_end", "error", "error_end")
    return names, rows


# Functions drawn from the prior ------------------------------------------------------------------

EPSILON, RISK, SPREAD = 0.4, 0.05, 0.3


def drawn(kernel: Kernel, arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw f at all arms."""
    values, vectors = np.linalg.eigh(kernel(arms))
    return vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=len(arms)))


def square(n: int) -> np.ndarray:
    """Return n x n points."""
    side = np.linspace(0.0, 1.0, n)
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


# stopping

#: Most evaluations, of a kernel that is given and of one that is learned.
MOST, MOST_LEARNED = 3000, 200
PRIORS = {
    "RBF(0.2)": RBF(0.2),
    "Matern(0.2, nu=2.5)": Matern(0.2, nu=2.5),
    "Matern(0.2, nu=1.5)": Matern(0.2, nu=1.5),
}


def bounds_meet(optimizer: GPUCBOptimizer) -> bool:
    """Return whether all upper bounds are within epsilon of the recommendation's lower bound."""
    posterior = optimizer.posterior([])
    width = sqrt(optimizer.exploration(posterior)) * posterior.std
    best = int(np.argmax(posterior.mean))
    return bool((posterior.mean + width).max() - (posterior.mean - width)[best] <= EPSILON)


def stopped(kernel: Kernel, learned: bool, seed: int) -> tuple[float, float, float]:
    """Evaluations until Stop, whether its claim was true, evaluations until the bounds meet."""
    rng = np.random.default_rng([seed, 1])
    f = drawn(kernel, ARMS, rng)
    given = {} if learned else {"kernel": kernel, "alpha": SPREAD**2}
    optimizer = GPUCBOptimizer(arms=ARMS, random_state=seed, **given)

    def answer(arm: Any) -> float:
        return float(f[arm.index] + SPREAD * rng.normal())

    stop = Stop(EPSILON, RISK)
    result = optimizer.run(answer, MOST_LEARNED if learned else MOST, stop=stop)
    true = float(f.max() - f[result.x.index] <= EPSILON)
    first = (float(result.nfev), true) if result.message == stop.message else (np.nan, np.nan)
    if learned or bounds_meet(optimizer):
        return *first, float(result.nfev if not learned else np.nan)
    more = optimizer.run(answer, MOST, stop=bounds_meet)
    return *first, float(result.nfev + more.nfev)


def stopping(options: Any) -> Found:
    """Whether what `Stop` claims holds, and how much earlier it stops than confidence bounds."""
    cases = [(name, kernel, False) for name, kernel in PRIORS.items()]
    cases.append(("learned, of Matern(0.2, nu=2.5)", PRIORS["Matern(0.2, nu=2.5)"], True))
    table, rows = [], []
    for name, kernel, learned in cases:
        seeds = range(options.seed, options.seed + options.runs)
        found = np.array([stopped(kernel, learned, seed) for seed in seeds])
        told = ~np.isnan(found[:, 0])
        n, true = int(told.sum()), int(np.nansum(found[:, 1]))
        median, theory = float(np.median(found[told, 0])), float(np.median(found[:, 2]))
        others = ["-", "-"] if learned else [f"{theory:.0f}", f"{median / theory:.2f}"]
        table.append((name, [str(n), str(true), share(true, n), f"{median:.0f}", *others]))
        rows += [(name, seed, *row) for seed, row in zip(seeds, found, strict=True)]
    title = f"Stop({EPSILON:g}, delta={RISK:g}): {options.runs} functions, seed {options.seed}"
    show(title, ["stopped", "true", "% true (95 %)", "median n", "of bounds", "share"], table)
    return ["kernel", "seed", "stopped_at", "true", "bounds_met_at"], rows


# first_check

LEAST = (10, 15, 20, 30, 45, 60, 90)
#: Limits of length scales and of standard deviations of noise.
LIMITS = np.log([0.1, 0.5])
ARMS_OF = {
    1: ARMS,
    2: square(21),
    4: qmc.Sobol(4, seed=np.random.default_rng(0)).random(512)[:400],
}


def checked(d: int, most: int, seed: int) -> list[tuple[float, float]]:
    """Answers until each Stop, and whether its claim was true; NaN where it did not stop."""
    rng = np.random.default_rng([seed, d, 2])
    length, noise = (float(np.exp(rng.uniform(*LIMITS))) for _ in range(2))
    f = drawn(Matern(length * np.sqrt(d), nu=2.5), ARMS_OF[d], rng)
    optimizer = GPUCBOptimizer(arms=ARMS_OF[d], random_state=seed)
    found: list[tuple[float, float]] = []
    n = 0
    for least in LEAST:
        # A run that is stopped is the beginning of one that is not, so one run serves all.
        if n < least and n < most:
            stop = Stop(EPSILON, RISK, min_answers=least)
            result = optimizer.run(
                lambda arm: float(f[arm.index] + noise * rng.normal()), most - n, stop=stop
            )
            n += result.nfev
            true = float(f.max() - f[result.x.index] <= EPSILON)
            last = (float(n), true) if result.message == stop.message else (np.nan, np.nan)
        found.append(last)
    return found


def first_check(options: Any) -> Found:
    """From how many answers on `Stop` may be believed where kernel and noise are learned."""
    (most,), seeds = options.answers or [150], range(options.seed, options.seed + options.runs)
    rows = []
    for d in options.dimensions or ARMS_OF:
        found = np.array([checked(d, most, seed) for seed in seeds])
        half = (options.runs + 1) // 2
        table = []
        for i, least in enumerate(LEAST):
            cells = []
            for part in (found[:half, i], found[half:, i]):
                told = part[~np.isnan(part[:, 0])]
                n, true = len(told), int(told[:, 1].sum())
                cells += [str(n), share(true, n), f"{np.median(told[:, 0]):.0f}" if n else "-"]
            table.append((str(least), cells))
        title = f"{d} dimension(s): Stop({EPSILON:g}, delta={RISK:g}, min_answers=...)"
        header = ["stopped", "% true, choosing", "median n", "stopped", "% true, other", "median n"]
        show(title, header, table)
        rows += [
            (d, seed, least, *row)
            for seed, run in zip(seeds, found, strict=True)
            for least, row in zip(LEAST, run, strict=True)
        ]
    return ["dimensions", "seed", "min_answers", "stopped_at", "true"], rows


# averaged_stop

# Added to the variance of f, so that its covariance has a Cholesky factor.
JITTER = 1e-8
COARSE = {1: ARMS, 2: square(15)}
#: Kernel of f, and dimensions.
SMOOTHNESSES: tuple[tuple[Kernel, int], ...] = (
    (Matern(0.2, nu=0.5), 1),
    (Matern(0.2, nu=1.5), 1),
    (Matern(0.2, nu=2.5), 1),
    (RBF(0.2), 1),
    (Matern(0.3, nu=0.5), 2),
    (Matern(0.3, nu=2.5), 2),
)
JUDGES = ("one model", "averaged")


def judged(
    kernel: Kernel, d: int, noise: float, most: int, seed: int
) -> dict[str, tuple[int, bool]]:
    """Answers after which each rule stopped, and whether its claim was true."""
    arms = COARSE[d]
    # The eigenvectors of a grid are not unique, and differ between processors.
    root = np.linalg.cholesky(kernel(arms) + JITTER * np.eye(len(arms)))
    rng = np.random.default_rng([seed, d, 9])
    f = root @ rng.normal(size=len(arms))
    optimizer, stop = GPUCBOptimizer(arms=arms, random_state=seed), Stop(EPSILON, RISK)
    found: dict[str, tuple[int, bool]] = {}
    for t in range(1, most + 1):
        arm = optimizer.ask()
        optimizer.tell(arm, float(f[arm.index] + noise * rng.normal()))
        risks = stop.risks(t, True, d)
        if risks is None:
            continue
        best, stream = optimizer.recommend(), gap_rng(optimizer.run_.seed, t)
        ended = t, bool(f.max() - f[best.index] <= EPSILON)
        if not optimizer._comparison(best)().is_within(EPSILON, *risks, stream):
            continue
        found.setdefault(JUDGES[0], ended)
        if loop.stops(optimizer, stop):
            found[JUDGES[1]] = ended
            break
    return found


def averaged_stop(options: Any) -> Found:
    """What averaging over models does for `Stop` where kernel and noise are learned."""
    (most,), seeds = options.answers or [150], range(options.seed, options.seed + options.runs)
    table, rows = [], []
    for kernel, d in SMOOTHNESSES:
        if d not in (options.dimensions or COARSE):
            continue
        runs = [judged(kernel, d, options.noise, most, seed) for seed in seeds]
        for rule in JUDGES:
            ended = [run[rule] for run in runs if rule in run]
            n, true = len(ended), sum(claim for _, claim in ended)
            median = f"{np.median([t for t, _ in ended]):.0f}" if n else "-"
            table.append((f"{kernel}, {d}-D: {rule}", [str(n), str(true), share(true, n), median]))
        for seed, run in zip(seeds, runs, strict=True):
            rows += [(str(kernel), d, seed, rule, *run[rule]) for rule in JUDGES if rule in run]
    title = f"Stop({EPSILON:g}, delta={RISK:g}), noise {options.noise:g}: "
    title += f"{options.runs} runs, seed {options.seed}"
    show(title, ["stopped", "true", "% true (95 %)", "median n"], table)
    return ["kernel", "d", "seed", "rule", "stopped_at", "true"], rows


OF_NORM = (coverage, price_of_width, regularised, length_scales)
STUDIES = {each.__name__: each for each in (*OF_NORM, stopping, first_check, averaged_stop)}


def main(arguments: list[str] | None = None) -> None:
    """Play a study."""
    parser = argument_parser("guarantees", __doc__, 40, what="functions of each kind")
    parser.add_argument("study", choices=STUDIES, help="name of the study")
    parser.add_argument(
        "--answers", type=positive_int, nargs="+", help="of a run (default that of the study)"
    )
    parser.add_argument(
        "--dimensions", type=int, nargs="+", help="of first_check and averaged_stop (default all)"
    )
    parser.add_argument(
        "--noise", type=float, default=SPREAD, help=f"of averaged_stop (default {SPREAD})"
    )
    options = parser.parse_args(arguments)
    study = STUDIES[options.study]
    with warnings.catch_warnings():
        if study in OF_NORM:
            for each in (NumericalWarning, RefinementWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", each)
        else:
            warnings.simplefilter("ignore")
        header, rows = study(options)
    path = options.output / f"{options.study}.csv"
    write_csv(path, header, rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
