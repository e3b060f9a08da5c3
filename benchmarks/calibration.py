"""How often intervals of 95 % hold where decisions are made, and how long they are.

``python -m benchmarks.calibration [--runs 200] [--seed 0] [--searches best] [--laws rbf]
[--dimensions 1] [--noises 5] [--answers 20 50] [--scatter-differs] [--limits number yes]
[--at-least 90] [--windows kg cmes] [--n-jobs 1] [--output DIR]``

A search that is told nothing but the bounds plays a function that is not drawn from its own prior.
After some numbers of answers three of its intervals are compared with the truth: that of the query
it recommends, that of the query with the best answer so far, and those of settings that are drawn
at random. The first was chosen because it looks best, and the second because its answer is lucky.

A model which knows the law of the function and the noise is given the same answers. "Law known" is
how often its intervals hold, at the recommendation and at random settings. "Length" is the mean
length of the intervals there as a multiple of its own. "Error" is the mean error of what is
expected of the recommendation, in per cent of the range of f: above zero it is too optimistic.
"Gain" is by how much ten more answers are expected to improve the recommendation, as an experiment
says it, and by how much they do, in per cent of the range.

Every combination of the options is a cell. A table by law has the means over its cells, and the
range from the least to the largest. Cells are short if fewer truths than 92 of 100 are within, by
more than two standard errors, and long if a length is over 1.5; they have a table of their own. One
cell of 200 runs takes minutes. The searches are
GP-UCB for what is earned on the way ("points") and for the best setting ("best", as an experiment
has it), the latter with a list of six beside numbers ("lists") and with two lists that interact and
no number ("pairs"), GPOO, whose answers are averages over cells ("regions"), and CMES, whose
answers are blurred ("cmes"). With ``--scatter-differs`` the noise grows from a tenth of its level,
at one end of the first side or the first entry of the list, to twice this level at the other.

With ``--limits`` EI is played instead, on a smooth function of two settings, with a limit that 40 %
of all settings keep on an outcome of another law. The outcome is told as a number with noise, or as
yes or no. What is said of the limit at the recommendation and at random settings is compared with
the share of these that keep it, for eleven ranges of the probability. A second table has how often
no setting within the limit is better than the recommendation by more than the gap, the gap and how
much better one is, and the gain of ten more answers, in per cent of the range of the function.

With ``--windows`` searches ask averages of one to four hills of 0.3 to 3 windows: KG and IDS
windows of two sizes, to find the best of the smaller ones, CMES a blur of 0.05, and CMETS and GPOO
cells. The table has how often no average of the width that ``resolution`` names is better than
that of the recommendation by more than the gap, the gaps, and how much better one is, in per cent
of the range.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2, norm, qmc

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    positive_int,
    replicate,
    write_csv,
)
from skgpb import (
    CMESOptimizer,
    CMETSOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
    IDSOptimizer,
    KGOptimizer,
)
from skgpb.domains import Cells
from skgpb.kernels import WindowMean
from skgpb.lab.experiments.judge import smallest_region_depth
from skgpb.lab.experiments.stopping import TRIES

#: Half the length of an interval of 95 %, in standard deviations.
BAND = float(norm.ppf(0.975))
#: Degrees of freedom of the spectral density of the processes; those of an RBF kernel are infinite.
SMOOTHNESS = {"matern-1/2": 1.0, "matern-3/2": 3.0, "matern-5/2": 5.0, "rbf": np.inf}
LAWS = (*SMOOTHNESS, "cone", "cliff", "hills", "steps", "teeth")
SEARCHES = ("points", "best", "lists", "pairs", "regions", "cmes")
NOISES = (0.0, 5.0, 30.0)
#: Features that a process is made of, and the power that fills the tail of their frequencies.
N_FEATURES, TAIL = 3000, 3
#: Ways to tell an outcome with a limit, the share of settings within, and ends of probabilities.
TOLD, KEPT = ("number", "yes"), 0.4
ENDS = (0.0, 0.05, *(0.15 + 0.1 * i for i in range(9)), np.inf)
#: Settings that are drawn at random, those by which the range of f is known, and those of which the
#: best is known.
N_HELD_OUT, N_RANGE, N_ALL = 50, 2000, 20_000
#: Entries of the lists, by their names, and how far apart they are.
ENTRIES, APART = {"entry": tuple("abcdef"), "other": tuple("vwxyz")}, 0.4
#: Number of lists of a search; 0 for the others.
N_LISTS = {"lists": 1, "pairs": 2}
#: Standard deviation of the blur of CMES, and the points that stand for it.
BLUR, N_BLUR = 0.1, 64
#: Sides of windows, the smaller one of the targets; the square root of places along a line.
WINDOWS, N_WINDOWS = (0.15, 0.4), 30
#: Searches whose answers are averages over windows, blurs, or regions.
WINDOW_SEARCHES = ("kg", "ids", "cmes", "cmets", "gpoo")
#: What is asked of a cell: truths within intervals in per cent, and lengths in those of known laws.
LEAST, LONGEST = 92.0, 1.5
#: What is known after some answers, in this order.
MEASURED = (
    "held_recommended",
    "held_best_answer",
    "held_random",
    "length_recommended",
    "length_random",
    "known_held_recommended",
    "known_held_random",
    "known_length_recommended",
    "known_length_random",
    "error_recommended",
    "gain_expected",
    "gain",
)


class Problem:
    """A function of some law on the unit cube.

    Of a process all is Gaussian given its features, so that a model which knows them is exact.
    """

    def __init__(self, law: str, d: int, n_lists: int, rng: np.random.Generator) -> None:
        self.law, self.d, self.lists = law, d, [*ENTRIES.values()][:n_lists]
        n_columns = d + sum(map(len, self.lists))
        if law in SMOOTHNESS:
            scales = np.exp(rng.uniform(np.log(0.12), np.log(0.5), n_columns)) * d**0.5
            scales[d:] = APART
            frequencies = rng.normal(size=(N_FEATURES, n_columns))
            self._amplitudes = np.full(N_FEATURES, np.sqrt(2.0 / N_FEATURES))
            freedom = SMOOTHNESS[law]
            if np.isfinite(freedom):
                # Student's t is the spectral density of a Matern kernel. Its tail makes f rough.
                # Of a few frequencies there a model that knows them learns each, and f is smooth
                # but for them; so there are many, with small amplitudes.
                u = (np.arange(N_FEATURES) + 0.5) / N_FEATURES
                frequencies /= np.sqrt(chi2.ppf(u**TAIL, freedom) / freedom)[:, np.newaxis]
                self._amplitudes *= np.sqrt(TAIL * u ** (TAIL - 1))
            self._frequencies = frequencies / scales
            self._phases = rng.uniform(0.0, 2.0 * np.pi, N_FEATURES)
            self._weights = rng.normal(size=N_FEATURES)
        else:
            n = 1 if law in ("cone", "steps", "teeth") else int(rng.integers(3, 7))
            self._centers = 0.15 + 0.7 * self.drawn(n, rng)
            self._heights = rng.uniform(0.5, 1.0, n)
            self._widths = np.exp(rng.uniform(np.log(0.08), np.log(0.3), n)) * d**0.5
            self._along = rng.normal(size=n_columns)
            self._along /= np.linalg.norm(self._along)
        some = self(self.drawn(N_RANGE, rng))
        self.range = float(np.ptp(some))

    @property
    def is_process(self) -> bool:
        """Whether there is a model that knows the law."""
        return self.law in SMOOTHNESS

    def columns(self, X: np.ndarray, entries: np.ndarray) -> np.ndarray:
        """Numbers (n, d), and a column for each entry of the lists, from indices (n, n_lists)."""
        each = zip(self.lists, entries.T, strict=True)
        return np.hstack([X, *(APART * np.eye(len(names))[index] for names, index in each)])

    def entries(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Indices (n, n_lists) of entries that are drawn at random."""
        # Entries are drawn without a list too, so that functions are the same with and without one.
        every = [*ENTRIES.values()][: max(1, len(self.lists))]
        drawn = np.array([rng.integers(0, len(names), n) for names in every])
        return drawn[: len(self.lists)].T

    def drawn(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Columns of n settings that are drawn at random."""
        return self.columns(rng.random((n, self.d)), self.entries(n, rng))

    def scatter(self, X: np.ndarray) -> float:
        """Deviation of the noise of an average over rows of columns, in units of its level."""
        along = float(X[:, 0].mean())
        if not self.d:
            along = float(X[0, : len(self.lists[0])].argmax()) / (len(self.lists[0]) - 1)
        return 0.1 + 1.9 * along

    def features(self, X: np.ndarray) -> np.ndarray:
        """Features of a process at rows of columns, shape (n, N_FEATURES)."""
        return np.cos(X @ self._frequencies.T + self._phases) * self._amplitudes

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Value of f at rows of columns (n, n_columns)."""
        if self.is_process:
            return self.features(X) @ self._weights
        if self.law == "cliff":
            # It rises towards an edge, and falls by as much beyond it.
            height = (X - self._centers[0]) @ self._along
            return np.where(height < 0.0, height, height - 1.0)
        if self.law in ("steps", "teeth"):
            height = (X @ self._along) / self._widths[0]
            return np.floor(height) if self.law == "steps" else height % 1.0
        far = np.linalg.norm(X[:, np.newaxis] - self._centers, axis=2)
        if self.law == "cone":
            return -far[:, 0]
        return np.exp(-0.5 * (far / self._widths) ** 2) @ self._heights


class Played:
    """A search that plays a problem, and what its queries observe as averages over points."""

    def __init__(self, search: str, problem: Problem, seed: int) -> None:
        self.search, self.problem = search, problem
        bounds: Any = [(0.0, 1.0)] * problem.d
        if search == "regions":
            self.optimizer: Any = GPOOOptimizer(bounds=bounds, random_state=seed)
        elif search == "cmes":
            nodes = norm.ppf(qmc.Sobol(problem.d, rng=seed).random(N_BLUR))
            self._blur = BLUR * nodes
            blurred = WindowMean(scale=BLUR)
            self.optimizer = CMESOptimizer(conditional=blurred, bounds=bounds, random_state=seed)
        else:
            if problem.lists:
                bounds = {f"x{i}": (0.0, 1.0) for i in range(problem.d)}
                bounds |= {name: [*ENTRIES[name]] for name in [*ENTRIES][: len(problem.lists)]}
            regret = "cumulative" if search == "points" else "simple"
            self.optimizer = GPUCBOptimizer(bounds=bounds, regret=regret, random_state=seed)

    def observed(self, query: Any) -> np.ndarray:
        """Columns of the points over which a query averages f."""
        if self.search == "cmes":
            return np.atleast_2d(query.points).mean(axis=0) + self._blur
        if self.problem.lists:
            setting = query.params
            X = np.array([[setting[f"x{i}"] for i in range(self.problem.d)]])
            index = [ENTRIES[name].index(setting[name]) for name in ENTRIES if name in setting]
            return self.problem.columns(X, np.array([index]))
        return query.points

    def recommended(self, told: list[Any]) -> tuple[np.ndarray, Any]:
        """Columns of what is recommended, and the query itself, or the setting of CMES."""
        optimizer = self.optimizer
        if self.search == "regions":
            # As an experiment does: nothing smaller than what was measured.
            query = optimizer.recommend(depth=smallest_region_depth(optimizer, told))
        else:
            query = optimizer.recommend()
        if self.search == "cmes":
            return np.atleast_2d(query), np.atleast_2d(query)
        return self.observed(query), query

    def expected_gain(self) -> float:
        """Return what is stated of the gain of further answers; NaN where nothing is."""
        optimizer = self.optimizer
        if self.search in ("regions", "cmes"):
            return float("nan")
        comparison = optimizer._comparison(optimizer.recommend())
        return float(comparison.expected_gain(optimizer.alpha_, TRIES))

    def stated(self, asked: Any) -> tuple[float, float]:
        """Mean and deviation that are stated of a query, or of f at a setting (1, d)."""
        if isinstance(asked, np.ndarray):
            mean, std = self.optimizer.predict(asked, return_std=True)
        else:
            mean, std = self.optimizer.predict_query([asked], return_std=True)
        return float(mean[0]), float(std[0])

    def at_random(self, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, float, float]]:
        """Columns of settings or cells that are drawn at random, and what is stated of them."""
        problem = self.problem
        if self.search == "regions":
            depths = rng.integers(1, 3 * problem.d + 3, N_HELD_OUT).tolist()
            domain = self.optimizer.domain_
            cells = [domain.cell_at(depth, int(rng.integers(2**depth))) for depth in depths]
            mean, std = self.optimizer.predict_query(cells, return_std=True)
            for cell, *moments in zip(cells, mean.tolist(), std.tolist(), strict=True):
                yield cell.points, *moments
            return
        X, entries = rng.random((N_HELD_OUT, problem.d)), problem.entries(N_HELD_OUT, rng)
        asked: Any = X
        if problem.lists:
            numbers = [f"x{i}" for i in range(problem.d)]
            asked = [
                dict(zip(numbers, x, strict=True))
                | {name: ENTRIES[name][k] for name, k in zip(ENTRIES, index, strict=False)}
                for x, index in zip(X.tolist(), entries.tolist(), strict=True)
            ]
        mean, std = self.optimizer.predict(asked, return_std=True)
        columns = problem.columns(X, entries)
        for i in range(N_HELD_OUT):
            yield columns[i : i + 1], float(mean[i]), float(std[i])


def known(
    problem: Problem, observed: list[np.ndarray], answers: list[float], noise: np.ndarray
) -> Callable[[list[np.ndarray]], tuple[np.ndarray, np.ndarray]]:
    """Return the means and deviations of averages over points, by a model that knows the law."""

    def features(blocks: list[np.ndarray]) -> np.ndarray:
        return np.array([problem.features(block).mean(axis=0) for block in blocks])

    # f has the variance of its features; a little noise stands for none.
    Phi, variance = features(observed), np.maximum(noise, 1e-5 * problem.range) ** 2
    factor = np.linalg.cholesky(Phi @ Phi.T + np.diag(variance))
    weights = np.linalg.solve(factor, np.array(answers))

    def moments(blocks: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        there = features(blocks)
        V = np.linalg.solve(factor, Phi @ there.T)
        left = np.einsum("ij,ij->i", there, there) - np.einsum("ij,ij->j", V, V)
        return V.T @ weights, np.sqrt(np.maximum(left, 0.0))

    return moments


def measured(
    played: Played,
    told: list[tuple[Any, float]],
    noise: list[float],
    rng: np.random.Generator,
) -> np.ndarray:
    """What holds after some answers, see ``MEASURED``."""
    problem = played.problem
    best = max(told, key=lambda pair: pair[1])[0]
    X, recommended = played.recommended([query for query, _ in told])
    stated = [(X, *played.stated(recommended)), (played.observed(best), *played.stated(best))]
    stated += played.at_random(rng)
    blocks, mean, std = zip(*stated, strict=True)
    truth = np.array([float(problem(block).mean()) for block in blocks])
    found = np.full(len(MEASURED), np.nan)
    # Exact answers are known but for rounding.
    within = np.abs(truth - mean) <= BAND * np.array(std) + 1e-6 * problem.range
    length = 2.0 * BAND * np.array(std) / problem.range
    found[:5] = within[0], within[1], within[2:].mean(), length[0], length[2:].mean()
    if problem.is_process:
        observed, answers = [played.observed(query) for query, _ in told], [y for _, y in told]
        mean_known, std_known = known(problem, observed, answers, np.array(noise))(list(blocks))
        within = np.abs(truth - mean_known) <= BAND * std_known + 1e-6 * problem.range
        length = 2.0 * BAND * std_known / problem.range
        found[5:9] = within[0], within[2:].mean(), length[0], length[2:].mean()
    found[9] = (mean[0] - truth[0]) / problem.range
    found[10] = played.expected_gain() / problem.range
    return found


def value(played: Played, told: list[tuple[Any, float]]) -> float:
    """Value of f at what is recommended, in ranges of f."""
    X, _ = played.recommended([query for query, _ in told])
    return float(played.problem(X).mean()) / played.problem.range


def steps(
    search: str, law: str, d: int, noise: float, n: int, differs: bool, seed: int
) -> Iterator[tuple[Played, list[tuple[Any, float]], list[float]]]:
    """Play a problem; yield the search, the answers and their noise, after every answer."""
    rng = np.random.default_rng([seed, LAWS.index(law), d, int(10 * noise)])
    problem = Problem(law, d if search != "pairs" else 0, N_LISTS.get(search, 0), rng)
    played, told, levels = Played(search, problem, seed), list[tuple[Any, float]](), list[float]()
    for _ in range(n):
        query = played.optimizer.ask()
        X = played.observed(query)
        levels.append(0.01 * noise * problem.range * (problem.scatter(X) if differs else 1.0))
        answer = float(problem(X).mean() + levels[-1] * rng.normal())
        played.optimizer.tell(query, answer)
        told.append((query, answer))
        yield played, told, levels


def play(
    search: str,
    law: str,
    d: int,
    noise: float,
    counts: tuple[int, ...],
    differs: bool,
    seed: int,
) -> np.ndarray:
    """What holds after some numbers of answers, shape (n_counts, n_measured)."""
    warnings.simplefilter("ignore")
    found, before = dict[int, np.ndarray](), dict[int, float]()
    for played, told, levels in steps(search, law, d, noise, max(counts) + TRIES, differs, seed):
        n = len(told)
        if n - TRIES in counts:
            found[n - TRIES][-1] = value(played, told) - before[n - TRIES]
        if n in counts:
            found[n] = measured(played, told, levels, np.random.default_rng([seed, n]))
            before[n] = value(played, told)
    return np.array([found[n] for n in counts])


def play_limited(told: str, law: str, noise: float, n: int, d: int, seed: int) -> np.ndarray:
    """Return what is said of a limit and what is true, in pairs, shape (n_settings + 2, 2).

    The first pairs have the probability that the limit holds at a setting, and whether it does. The
    first setting is the recommendation, the others are drawn at random. The last pairs have the gap
    and how much better the best setting is, and the expected gain of further answers and theirs.
    """
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, LAWS.index(law), TOLD.index(told)])
    value, outcome = Problem("rbf", d, 0, rng), Problem(law, d, 0, rng)
    values = outcome(outcome.drawn(N_RANGE, rng))
    end = float(np.quantile(values, KEPT))
    # Between two values: no model can say whether a step that is exactly at its limit keeps it.
    end = 0.5 * (end + float(values[values > end].min()))
    limit: Any = True if told == "yes" else (None, end)
    optimizer = EIOptimizer(bounds=[(0.0, 1.0)] * d, limits={"outcome": limit}, random_state=seed)

    def play(n: int) -> np.ndarray:
        for _ in range(n):
            query = optimizer.ask()
            known = float(outcome(query.points)[0])
            error = 0.01 * noise * outcome.range * rng.normal()
            measured = known <= end if told == "yes" else known + error
            optimizer.tell(query, float(value(query.points)[0]), outcomes={"outcome": measured})
        return optimizer.recommend().points

    best = play(n)
    X = np.concatenate([best, outcome.drawn(N_HELD_OUT, rng)])
    said = np.column_stack([optimizer.predict_within_limits(X), outcome(X) <= end])
    many = value.drawn(N_ALL, rng)
    top = value(many[outcome(many) <= end]).max()
    comparison = optimizer._comparison(optimizer.recommend())
    gap = optimizer.gap(), max(0.0, top - value(best)[0])
    gain = comparison.expected_gain(optimizer.alpha_, TRIES), (value(play(TRIES)) - value(best))[0]
    return np.vstack([said, np.array([gap, gain]) / value.range])


class Hills:
    """One to four hills, whose averages over boxes and Gaussian windows are known exactly.

    Their deviations are 0.3 to 3 times ``width``.
    """

    def __init__(self, width: float, d: int, rng: np.random.Generator) -> None:
        self._centers = rng.random((int(rng.integers(1, 5)), d))
        self._heights = rng.uniform(0.4, 1.0, len(self._centers))
        self._widths = width * np.exp(rng.uniform(*np.log([0.3, 3.0]), len(self._centers)))

    def boxes(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Averages (n,) over boxes with corners (n, d)."""
        width = self._widths[:, np.newaxis]
        ends = [norm.cdf((end[:, np.newaxis] - self._centers) / width) for end in (lower, upper)]
        mass = (2.0 * np.pi) ** 0.5 * width * (ends[1] - ends[0])
        return (mass / (upper - lower)[:, np.newaxis]).prod(axis=2) @ self._heights

    def windows(self, center: np.ndarray, std: Any) -> np.ndarray:
        """Averages (n,) over Gaussian windows; a deviation of 0 stands for a point."""
        variance = self._widths[:, np.newaxis] ** 2 + np.full(center.shape[1], std) ** 2
        far = ((center[:, np.newaxis] - self._centers) ** 2 / variance).sum(axis=2)
        damped = self._widths[:, np.newaxis] / np.sqrt(variance)
        return np.exp(-0.5 * far) @ (self._heights * damped.prod(axis=1))


def search_of_windows(search: str, d: int, seed: int) -> tuple[Any, float]:
    """Return a search, and the deviation of a Gaussian window as wide as its narrowest windows."""
    shared: Any = {"bounds": [(0.0, 1.0)] * d, "random_state": seed}
    if search in ("kg", "ids"):
        sizes = {"queries": Cells(list(WINDOWS)), "targets": Cells(WINDOWS[0])}
        return {"kg": KGOptimizer, "ids": IDSOptimizer}[search](**sizes, **shared), 0.4 * WINDOWS[0]
    if search == "cmes":
        return CMESOptimizer(conditional=WindowMean(scale=BLUR / 2.0), **shared), BLUR / 2.0
    # Cells of a sixteenth of a line, or of an eighth of each side of a square.
    depth = 5 - d
    if search == "cmets":
        return CMETSOptimizer(max_depth=depth, **shared), 0.4 * 0.5**depth
    return GPOOOptimizer(**shared), 0.4 * 0.5**depth


def compared(search: str, optimizer: Any, hills: Hills) -> tuple[np.ndarray, np.ndarray]:
    """Return all averages that a gap compares, and that of the recommendation, shape (1,)."""
    best, d = optimizer.recommend(), optimizer.n_features_in_
    at = np.linspace(0.0, 1.0, N_WINDOWS**2 + 1 if d == 1 else 3 * N_WINDOWS + 1)
    places = np.stack(np.meshgrid(*[at] * d), axis=-1).reshape(-1, d)
    if search in ("kg", "ids"):
        side = WINDOWS[0]
        lower = places * (1.0 - side)
        return hills.boxes(lower, lower + side), hills.boxes(*np.split(best.box[np.newaxis], 2, 1))
    if search == "cmes":
        blur = optimizer._blur()
        return hills.windows(places, blur), hills.windows(best[np.newaxis], blur)
    depth, domain = optimizer._asked_depth(), optimizer.domain_
    if search == "cmets":
        cells = [domain.cell((depth, number)) for number in range(domain.n_parts**depth)]
    else:
        cells = [domain.cell_at(depth, number) for number in range(2**depth)]
    every = np.array([answer_of(search, cell, hills) for cell in cells])
    x = best if search == "cmets" else best.center
    return every, every[[((cell.lower <= x) & (x <= cell.upper)).all() for cell in cells]][:1]


def answer_of(search: str, query: Any, hills: Hills) -> float:
    """Return the average that a query observes, without noise."""
    if search == "cmes":
        return float(hills.windows(query.points, BLUR / 2.0)[0])
    if search == "gpoo":  # the representatives of a cell
        return float(hills.windows(query.points, 0.0).mean())
    return float(hills.boxes(*np.split(query.box[np.newaxis], 2, 1))[0])


def play_windows(search: str, noise: float, n: int, d: int, seed: int) -> np.ndarray:
    """Return the gap and how much better the best average is, as shares of the range."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, d, int(10 * noise)])
    optimizer, width = search_of_windows(search, d, seed)
    hills = Hills(width, d, rng)
    span = float(np.ptp(hills.windows(rng.random((N_RANGE, d)), width)))
    for _ in range(n):
        query = optimizer.ask()
        answer = answer_of(search, query, hills) + 0.01 * noise * span * rng.normal()
        optimizer.tell(query, answer)
    every, best = compared(search, optimizer, hills)
    return np.array([optimizer.gap(), max(0.0, float(every.max() - best[0]))]) / span


def print_windows(options: Any, seeds: range) -> None:
    """Print gaps between averages, and write them."""
    cells = [
        (search, noise, n, d)
        for search in options.windows or WINDOW_SEARCHES
        for noise in options.noises
        for n in options.answers
        for d in options.dimensions
    ]
    each = replicate(play_windows, cells, seeds, options.n_jobs)
    labelled = [
        (f"{search}, d = {d}, noise {noise:g} %, {n} answers", runs)
        for (search, noise, n, d), runs in zip(cells, each, strict=True)
    ]
    rows = []
    for label, runs in [*labelled, ("all of these", np.concatenate(each))]:
        gap, loss = 100.0 * runs[np.isfinite(runs).all(axis=1)].T
        held = 100.0 * (loss <= gap + 0.1)
        sizes = [held.mean(), np.median(gap), gap.mean(), loss.mean()] if len(gap) else []
        found = [f"{size:.1f}" for size in sizes] or ["-"] * 4
        rows.append((label, [str(len(gap)), *found]))
    header = ["known", "within gap", "gap, median", "mean", "loss"]
    title = f"gaps between averages that hold, and gaps and losses in %, {options.runs} runs"
    print(format_table(f"{title}, seed {options.seed}", header, rows), end="\n\n", flush=True)
    path = options.output / "calibration_windows.csv"
    write_csv(
        path,
        ["search", "noise", "n", "d", "seed", "gap", "loss"],
        [
            (*cell, seed, *run)
            for cell, runs in zip(cells, each, strict=True)
            for seed, run in zip(seeds, runs.tolist(), strict=True)
        ],
    )
    print(f"Written: {path}")


def row_of_limit(runs: np.ndarray) -> list[str]:
    """Cells of a row: per cent that keep a limit, and what is said, for each range."""
    drawn = runs[:, 1:-2].reshape(-1, 2)
    parts = [runs[:, 0]] + [
        drawn[(drawn[:, 0] >= low) & (drawn[:, 0] < high)] for low, high in pairwise(ENDS)
    ]
    means = [100.0 * part.mean(axis=0) if len(part) else None for part in parts]
    return ["-" if mean is None else f"{mean[1]:.0f} of {mean[0]:.0f}" for mean in means]


def row_of_gap(runs: np.ndarray) -> list[str]:
    """Cells of a row: bounds on the gap that hold, and gaps and gains, of runs that have them."""
    known = runs[np.isfinite(runs[:, -2:]).all(axis=(1, 2))]
    if not len(known):
        return ["0", *["-"] * 4]
    (gap, loss), (said, gain) = known[:, -2:].transpose(1, 2, 0)
    mean, error = mean_and_error(100.0 * np.column_stack([loss <= gap + 1e-3, loss, gain]))
    cells = [estimate(each, by, 1) for each, by in zip(mean, error, strict=True)]
    median = f"{100.0 * np.median(gap):.1f}"
    gains = f"{100.0 * said.mean():.1f} and {cells[2]}"
    return [str(len(known)), cells[0], median, cells[1], gains]


def print_limits(options: Any, seeds: range) -> None:
    """Print what is said of limits, and write it."""
    header = ["recommended", *(f"from {100 * low:.0f}" for low in ENDS[:-1])]
    cells = [
        (told, law, noise, n, d)
        for told in options.limits
        for law in options.laws
        for noise in (options.noises if told == "number" else [0.0])
        for n in options.answers
        for d in options.dimensions
    ]
    each = replicate(play_limited, cells, seeds, options.n_jobs)
    labelled = [
        (f"{told}, {law}, d = {d}, noise {noise:g} %, {n} answers", runs)
        for (told, law, noise, n, d), runs in zip(cells, each, strict=True)
    ]
    for told in options.limits:
        every = [runs for (of, *_), runs in zip(cells, each, strict=True) if of == told]
        labelled.append((f"{told}, all of these", np.concatenate(every)))
    of_gap = ["known", "within gap", "gap, median", "loss", "gain"]
    for said, columns, row in (
        ("percentage of settings that keep a limit, of what is said", header, row_of_limit),
        ("gaps under a limit that hold, and gaps, losses and gains in %", of_gap, row_of_gap),
    ):
        rows = [(label, row(runs)) for label, runs in labelled]
        title = f"{said}, {options.runs} runs, seed {options.seed}"
        print(format_table(title, columns, rows), end="\n\n", flush=True)
    path = options.output / "calibration_limits.csv"
    write_csv(
        path,
        ["told", "law", "noise", "n", "d", "seed", "said", "held"],
        [
            (*cell, seed, *pair)
            for cell, runs in zip(cells, each, strict=True)
            for seed, run in zip(seeds, runs.tolist(), strict=True)
            for pair in run
        ],
    )
    print(f"Written: {path}")


class Cell(NamedTuple):
    """What was measured (n_runs, n_measured) of a search on a law after some answers."""

    law: str
    label: str
    runs: np.ndarray


def ratio(runs: np.ndarray, name: str) -> float:
    """Mean length of intervals as a multiple of that of the model that knows the law, or NaN."""
    length, other = (runs[:, MEASURED.index(f"{of}length_{name}")] for of in ("", "known_"))
    is_known = np.isfinite(other)
    # Of exact answers the length is zero.
    if not is_known.any() or other[is_known].mean() < 1e-3:
        return float("nan")
    return float(length[is_known].mean() / other[is_known].mean())


def ratios(runs: np.ndarray) -> list[float]:
    """Return the lengths at the recommendation and at random settings."""
    return [ratio(runs, name) for name in ("recommended", "random")]


def row_of(runs: np.ndarray) -> list[str]:
    """Cells of a row, from what was measured in every run (n_runs, n_measured)."""
    mean, error = mean_and_error(100.0 * runs)
    cells = [estimate(mean[i], error[i], 1) for i in range(3)]
    law = runs[np.isfinite(runs[:, 5])]
    if len(law):
        held = 100.0 * law.mean(axis=0)
        cells.append(f"{held[5]:.0f} and {held[6]:.0f}")
        cells.append(" and ".join("-" if np.isnan(x) else f"{x:.2f}" for x in ratios(law)))
    else:
        cells += ["-", "-"]
    cells.append(estimate(mean[9], error[9], 1))
    gain = "-" if np.isnan(mean[10]) else f"{mean[10]:.1f} and {estimate(mean[11], error[11], 1)}"
    return [*cells, gain]


def span(values: np.ndarray, digits: int) -> str:
    """Return the least and the largest of some numbers that are not NaN; "-" for none."""
    known = values[~np.isnan(values)]
    return f"{known.min():.{digits}f} to {known.max():.{digits}f}" if len(known) else "-"


def summary_of(cells: list[np.ndarray], least: float) -> list[str]:
    """Cells of a row of the table by law, from the runs of all its cells."""
    held = 100.0 * np.array([runs[:, [0, 2]].mean(axis=0) for runs in cells])
    shares = [f"{column.mean():.1f}, {span(column, 0)}" for column in held.T]
    lengths = [span(column, 2) for column in np.array([ratios(runs) for runs in cells]).T]
    n_short = sum(is_short(runs, least) for runs in cells)
    n_long = sum(is_long(runs) for runs in cells)
    return [str(len(cells)), *shares, str(n_short), *lengths, str(n_long)]


def is_short(runs: np.ndarray, least: float) -> bool:
    """Whether fewer truths than ``least`` per cent are within, by more than two standard errors."""
    mean, error = mean_and_error(100.0 * runs)
    return bool((mean + 2.0 * error < least)[[0, 2]].any())


def is_long(runs: np.ndarray) -> bool:
    """Whether intervals are longer than they should be, next to those of known laws."""
    return any(length > LONGEST for length in ratios(runs))


def tables(search: str, cells: list[Cell], counted: str, least: float) -> Iterator[str]:
    """All cells of a search, a summary by law, and the cells that fail."""
    header = ["recommended", "best answer", "random", "law known", "length", "error", "gain"]
    held, every = "percentage of truths within intervals of 95 %", [cell.runs for cell in cells]
    rows = [(cell.label, row_of(cell.runs)) for cell in cells]
    rows.append(("all of these", row_of(np.concatenate(every))))
    yield format_table(f"{search}: {held}, mean (standard error) over {counted}", header, rows)
    by_law = [
        (law, summary_of([cell.runs for cell in cells if cell.law == law], least))
        for law in dict.fromkeys(cell.law for cell in cells)
    ]
    yield format_table(
        f"{search} by law: {held}, mean and range over cells of {counted}",
        ["cells", "recommended", "random", "short", "length there", "at random", "long"],
        [*by_law, ("all of these", summary_of(every, least))],
    )
    failing = [
        (cell.label, row_of(cell.runs))
        for cell in cells
        if is_short(cell.runs, least) or is_long(cell.runs)
    ]
    if failing:
        yield format_table(f"{search}, cells that are short or long, {counted}", header, failing)


def main(arguments: list[str] | None = None) -> int:
    """Print the tables."""
    parser = argument_parser("calibration", __doc__, 200, n_jobs=True)
    choices: dict[str, Any] = {"searches": SEARCHES, "laws": LAWS}
    for name, given in choices.items():
        usual = given[:2]
        said = f"default {' '.join(usual)}"
        parser.add_argument(f"--{name}", nargs="+", choices=given, default=usual, help=said)
    several: dict[str, Any] = {"type": positive_int, "nargs": "+"}
    parser.add_argument("--dimensions", **several, default=[1, 2], help="default 1 2")
    parser.add_argument("--noises", type=float, nargs="+", default=NOISES, help="%% of the range")
    parser.add_argument("--answers", **several, default=[20, 50], help="default 20 50")
    parser.add_argument(
        "--scatter-differs", action="store_true", help="let noise grow along the first side"
    )
    parser.add_argument(
        "--at-least",
        type=float,
        metavar="P",
        help="end with status 1 if in some cell fewer truths than P %% are within the intervals of "
        "the recommendation, or of random settings, by more than two standard errors",
    )
    parser.add_argument(
        "--limits", nargs="+", choices=TOLD, help="play limits instead, told in these ways"
    )
    parser.add_argument(
        "--windows", nargs="*", choices=WINDOW_SEARCHES, help="play windows instead; default all"
    )
    options = parser.parse_args(arguments)
    if "pairs" in options.searches and not set(options.laws) <= {*SMOOTHNESS}:
        parser.error(f"pairs of lists need laws of processes: {' '.join(SMOOTHNESS)}")
    counts, seeds = tuple(sorted(options.answers)), range(options.seed, options.seed + options.runs)
    if options.limits or options.windows is not None:
        (print_limits if options.limits else print_windows)(options, seeds)
        return 0
    played = [
        (search, law, d, noise)
        for search in options.searches
        for law in options.laws
        for d in (options.dimensions if search != "pairs" else [2])
        for noise in options.noises
    ]
    each = replicate(
        play, [(*cell, counts, options.scatter_differs) for cell in played], seeds, options.n_jobs
    )
    rows, cells = [], dict[str, list[Cell]]()
    for (search, law, d, noise), runs in zip(played, each, strict=True):
        for i, n in enumerate(counts):
            label = f"{law}, d = {d}, noise {noise:g} %, {n} answers"
            cells.setdefault(search, []).append(Cell(law, label, runs[:, i]))
            rows += [(search, law, d, noise, n, *run) for run in runs[:, i].tolist()]
    least = LEAST if options.at_least is None else options.at_least
    for search, some in cells.items():
        for table in tables(search, some, f"{options.runs} runs, seed {options.seed}", least):
            print(table, end="\n\n", flush=True)
    path = options.output / "calibration.csv"
    write_csv(path, ["search", "law", "d", "noise", "n", *MEASURED], rows)
    print(f"Written: {path}")
    is_any_short = any(is_short(cell.runs, least) for some in cells.values() for cell in some)
    return int(options.at_least is not None and is_any_short)


if __name__ == "__main__":
    sys.exit(main())
