"""The search: a threshold that rises, and sides that follow it.

The objective is the sum, over the rows of a box, of the target minus a threshold (the Lagrange
multiplier of the number of rows). At a low threshold nearly all rows add to it; the higher it is,
the higher the average of the best box, and the fewer its rows. So the threshold rises in small
steps, and at each of them the side that gains most is moved, inwards or outwards, until none
gains: peeling and pasting [FriedmanFisher1999]_ by one rule. Both need to know
nothing but, for each feature, the rows that are on the sides of all others, by levels. For a number
the best side is then the run of levels with the largest sum, for a category all levels that average
more than the threshold.

Such a peeling trajectory ends at the top of one hill. Rows in memory are searched from several
starts: from the whole table; from the whole table with the rows around the first hill taken to be
average, so that another one shows; and from the best boxes over every two features on a coarse
grid, because some groups cannot be seen in a single feature.

The more ends of sides a search may choose, the higher is the best average in a table of pure noise.
The *evidence* for a box is therefore its squared distance from the average of the table, in
standard errors, minus a cost for each of its ends. The ratio of the evidence to the squared
distance shrinks the average of the box towards the average of the table. The recommendation is the
box with the highest shrunken average among all that were met, without the ends that it does not
need.

The standard error of the average of n rows is that of n independent rows. Where a table says that
the error of an answer is larger, because the rows come from few sampled blocks or because noise was
added, it is that one. Sides, evidence and ends are then judged by it.

References
----------
.. [FriedmanFisher1999] J. H. Friedman and N. I. Fisher, "Bump hunting in high-dimensional data",
   Statistics and Computing 9, 1999.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skgpb._core._sides import LEAST_GAIN, best_move, best_pairs
from skgpb.tables.conditions import Subgroup
from skgpb.tables.levels import Levels, Moments, Shape
from skgpb.tables.memory import MemoryTable
from skgpb.tables.source import Table

__all__ = ["find_subgroup"]

# In standard deviations of the target. These constants were chosen on one half of the tables of
# benchmarks/tables, and checked on the other half afterwards.
PENALTY, PENALTY_OF_PAIRS = 0.5, 1.0
# The threshold rises by a share of its distance from the average of the box, or by LEAST_STEP.
STEP, LEAST_STEP = 0.15, 0.02
# A table that has to be asked is asked less often.
ASKED_STEP = 0.3
# Squared standard errors that an end of a side has to bring, and ends that each category counts.
COST_OF_END, ENDS_OF_LABEL = 4.0, 0.1
# Standard errors by which rows that an end keeps out have to average less.
NEEDED = 2.0
# The search for other hills excludes the box of at most these multiples of the fewest rows.
OTHER_HILLS = (16.0, 4.0)
# Bins of a feature where pairs are looked at, how many are followed, and features at most.
COARSE, BEST_PAIRS, MOST_PAIRED = 8, 5, 40
# A box with fewer rows than this multiple of the fewest rows is not made smaller.
ENOUGH = 1.05
MOST_MOVES, MOST_STEPS = 50, 80
MOST_OTHERS = 10


# Counts, sums and the variances of these sums, in squared standard deviations of the target.
Marginals = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


class MovingSides(Protocol):
    """A box whose sides move: :class:`skgpb._core._sides.Sides`, or :class:`QueriedSides`."""

    @property
    def count(self) -> float:
        """Number of rows inside."""

    @property
    def total(self) -> float:
        """Sum of their targets."""

    @property
    def box(self) -> np.ndarray:
        """Whether each level is inside."""

    def ascend(self, threshold: float, penalty: float, least: float, most: int) -> int:
        """Move sides until none gains."""


@dataclass(frozen=True)
class PeelingTrajectory:
    """The boxes that a peeling met, one for each threshold.

    Attributes
    ----------
    n, mean : ndarray of shape (n_boxes,)
        Number of rows of each box, and their average minus the table's, in standard deviations.
    inside : ndarray of shape (n_boxes, size) of uint8
        Their levels.
    threshold : float
        The last one.
    """

    n: np.ndarray
    mean: np.ndarray
    inside: np.ndarray
    threshold: float = 0.0


@dataclass(frozen=True)
class SubgroupPath:
    """All boxes that a search met, and which of them it recommends.

    Attributes
    ----------
    n, mean, inside : ndarray
        As of a :class:`PeelingTrajectory`.
    evidence : ndarray of shape (n_boxes,)
        Squared distance from the average of the table, in standard errors, without what the ends
        of the box have to bring; 0 for the whole table.
    shrunken_mean : ndarray of shape (n_boxes,)
        ``mean``, shrunk by the share of the squared distance that is evidence.
    """

    n: np.ndarray
    mean: np.ndarray
    inside: np.ndarray
    evidence: np.ndarray
    shrunken_mean: np.ndarray

    @classmethod
    def of(
        cls,
        trajectories: Sequence[PeelingTrajectory],
        shape: Shape,
        n_rows: float,
        inflation: np.ndarray | float = 1.0,
    ) -> SubgroupPath:
        """Judge the boxes of trajectories; the squared errors are so many times those of rows."""
        n = np.concatenate([trajectory.n for trajectory in trajectories])
        mean = np.concatenate([trajectory.mean for trajectory in trajectories])
        inside = np.concatenate([trajectory.inside for trajectory in trajectories])
        part = n < n_rows
        # Variance is that of rows drawn without replacement.
        rest = np.where(part, 1.0 - n / n_rows, 1.0) * inflation
        squared = np.where(part, np.maximum(mean, 0.0) ** 2 * n / rest, 0.0)
        evidence = np.where(part, squared - COST_OF_END * ends_of(inside, shape), 0.0)
        share = np.clip(evidence / np.maximum(squared, 1e-300), 0.0, 1.0)
        return cls(n, mean, inside, evidence, mean * share)

    @property
    def best(self) -> int:
        """The recommended box; if no box is significant, the one with the most evidence."""
        return int(
            (self.shrunken_mean if self.shrunken_mean.max() > 0.0 else self.evidence).argmax()
        )

    def largest(self, tolerance: float) -> int:
        """The largest box whose shrunken average is at most some errors of the best one less."""
        best = self.best
        least = self.shrunken_mean[best] - tolerance / np.sqrt(self.n[best])
        alike = (self.shrunken_mean >= max(least, 0.0)) & (self.evidence > 0.0)
        alike[best] = True
        return int(np.where(alike, self.n, -1.0).argmax()) if tolerance else best

    @property
    def most_evidence(self) -> float:
        """The largest over all boxes."""
        return float(self.evidence.max())


def ends_of(inside: np.ndarray, shape: Shape) -> np.ndarray:
    """Count the ends that were chosen in boxes.

    Parameters
    ----------
    inside : ndarray of shape (n_boxes, size)
        The boxes.
    shape : Shape

    Returns
    -------
    ends : ndarray of shape (n_boxes,)
        One for each end of a number; some for a choice among categories, the more the more there
        are; one where missing values are kept out.
    """
    first, size = shape.offsets[:-1], np.diff(shape.offsets)
    last = first + shape.n_values - 1
    ordered = shape.ordered.astype(bool)
    out = inside == 0
    chosen = np.logical_or.reduceat(out, first, axis=1)
    ends = (out[:, first[ordered]].sum(axis=1) + out[:, last[ordered]].sum(axis=1)).astype(float)
    ends += chosen[:, ~ordered] @ (1.0 + ENDS_OF_LABEL * shape.n_values[~ordered])
    missing = ordered & (size > shape.n_values)
    return ends + out[:, (last + 1)[missing]].sum(axis=1)


def peel(
    sides: MovingSides,
    min_rows: float,
    threshold: float = 0.0,
    penalty: float = PENALTY,
    step: float = STEP,
) -> PeelingTrajectory:
    """Let the threshold rise until a box has no more rows than it must have.

    Parameters
    ----------
    sides : MovingSides
        The box to begin with; its target has the mean zero and the standard deviation one.
    min_rows : float
        Fewest rows of a box.
    threshold : float, default=0.0
        Price of the first round.
    penalty : float, default=PENALTY
        Least gain of a side.
    step : float, default=STEP
        Relative increase of the threshold.

    Returns
    -------
    trajectory : PeelingTrajectory
    """
    n, means, boxes = [], [], []
    for _ in range(MOST_STEPS):
        sides.ascend(threshold, penalty, min_rows, MOST_MOVES)
        mean = sides.total / sides.count
        n.append(sides.count)
        means.append(mean)
        boxes.append(sides.box)
        higher = max(threshold + LEAST_STEP, threshold + step * (mean - threshold))
        if sides.count < ENOUGH * min_rows or higher >= mean:
            break
        threshold = higher
    return PeelingTrajectory(np.array(n), np.array(means), np.array(boxes), threshold)


def search_rows(table: MemoryTable, target: np.ndarray, min_rows: int) -> SubgroupPath:
    """Search rows in memory, from several starts.

    Parameters
    ----------
    table : MemoryTable
        Its features.
    target : ndarray of shape (n_rows,)
        With mean zero and standard deviation one.
    min_rows : int
        Fewest rows of a box.

    Returns
    -------
    found : SubgroupPath
    """
    sides, shape = table.sides(), table.shape
    sides.start(target, shape.everything)
    first = peel(sides, min_rows)
    trajectories = [first]
    for times in OTHER_HILLS:
        # The largest box around the first hill that is small enough: they shrink as they come.
        small = np.flatnonzero(first.n <= times * min_rows)
        around = first.inside[small[0] if len(small) else -1]
        flat = np.where(shape.holds(table.codes, around), 0.0, target)
        sides.start(flat, shape.everything)
        other = peel(sides, min_rows)
        sides.start(target, other.inside[-1])
        trajectories.append(peel(sides, min_rows, other.threshold))
    for box in _pairs(table, target, min_rows):
        sides.start(target, box)
        if sides.count >= min_rows:
            # Halfway between the average in the box and 0: rows above it belong to the box.
            half = 0.5 * sides.total / sides.count
            trajectories.append(peel(sides, min_rows, half, PENALTY_OF_PAIRS))
    return SubgroupPath.of(trajectories, shape, table.n_rows)


def _pairs(table: MemoryTable, target: np.ndarray, min_rows: int) -> list[np.ndarray]:
    """Return the best boxes over two features each, on a coarse grid."""
    shape = table.shape
    bins = [_coarse(table.codes[:, j], target, levels) for j, levels in enumerate(shape.levels)]
    some = np.arange(len(bins))
    if len(bins) > MOST_PAIRED:
        # Features that tell something on their own.
        told = [
            np.sum(np.bincount(codes, target) ** 2 / np.maximum(np.bincount(codes), 1))
            for codes in (bins[j][table.codes[:, j]] for j in some)
        ]
        some = np.sort(np.argsort(told)[-MOST_PAIRED:])
    coarse = np.column_stack([bins[j][table.codes[:, j]] for j in some])
    scores, found = best_pairs(
        np.ascontiguousarray(coarse), COARSE, target, np.ones(len(target)), min_rows, COST_OF_END
    )
    boxes = []
    for i in np.argsort(-scores, kind="stable")[:BEST_PAIRS]:
        if scores[i] <= 0.0:
            break
        box = shape.everything
        a, b, *ends = found[i].tolist()
        for j, start, stop in ((some[a], *ends[:2]), (some[b], *ends[2:])):
            box[shape.offsets[j] : shape.offsets[j + 1]] = (bins[j] >= start) & (bins[j] < stop)
        boxes.append(box)
    return boxes


def _coarse(codes: np.ndarray, target: np.ndarray, levels: Levels) -> np.ndarray:
    """Put the levels of a feature into few bins with about as many rows each.

    Levels of a category are in the order of their averages; missing values come last.

    Returns
    -------
    bins : ndarray of shape (n_levels,) of uint8
    """
    n = np.bincount(codes, minlength=levels.n_levels)
    order = np.arange(levels.n_levels)
    if levels.kind == "category":
        mean = np.bincount(codes, target, levels.n_levels) / np.maximum(n, 1)
        order[: levels.n_values] = np.argsort(mean[: levels.n_values], kind="stable")
    share = (n[order].cumsum() - 0.5 * n[order]) / n.sum()
    bins = np.empty(levels.n_levels, dtype=np.uint8)
    bins[order] = np.minimum(COARSE * share, COARSE - 1).astype(np.uint8)
    return bins


def recommend(
    table: MemoryTable, target: np.ndarray, found: SubgroupPath, tolerance: float = 0.0
) -> np.ndarray:
    """Return the best box of a search without the ends that it does not need, shape (size,).

    A larger one is taken whose shrunken average is less by at most ``tolerance`` standard errors.
    """
    sides = table.sides()

    def ask(inside: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sides.start(target, inside)
        counts, totals = sides.marginals
        return counts, totals, counts

    return simplified(found.inside[found.largest(tolerance)], table.shape, ask)


def simplified(inside: np.ndarray, shape: Shape, ask: Marginals) -> np.ndarray:
    """Take ends off a box that keep out rows which hardly average less.

    Parameters
    ----------
    inside : ndarray of shape (size,)
        The box.
    shape : Shape
    ask : callable
        Returns counts, sums and variances of sums of a box, of each feature without its own side.

    Returns
    -------
    inside : ndarray of shape (size,)
    """
    inside = inside.copy()
    first = slice(0, shape.offsets[1])
    while True:
        counts, totals, errors = ask(inside)
        within = inside[first] == 1
        mean = totals[first][within].sum() / max(counts[first][within].sum(), 1.0)
        worst, dropped = NEEDED, None
        for beyond in _beyond(inside, shape):
            n = counts[beyond].sum()
            gap = mean - totals[beyond].sum() / max(n, 1.0)
            less = gap * n / np.sqrt(errors[beyond].sum()) if n else -np.inf
            if less < worst:
                worst, dropped = less, beyond
        if dropped is None:
            return inside
        inside[dropped] = 1


def _beyond(inside: np.ndarray, shape: Shape) -> Iterator[np.ndarray]:
    """Levels beyond each end of a number, and missing values that are kept out."""
    for j, start in enumerate(shape.offsets[:-1]):
        stop = start + shape.n_values[j]
        among = start + np.flatnonzero(inside[start:stop])
        if shape.ordered[j] and len(among):
            for levels in (np.arange(start, among[0]), np.arange(among[-1] + 1, stop)):
                if len(levels):
                    yield levels
        if stop < shape.offsets[j + 1] and not inside[stop]:
            yield np.array([stop])


class QueriedSides:
    """A box in a table that must be queried for marginals; its sides move.

    Sides of several features move at once; where that turns out to have been too much, only the
    best of them does.

    Parameters
    ----------
    table : Table
        The table to ask. Only counts, averages and their errors are used.
    sign : {1.0, -1.0}, default=1.0
        -1.0 where low averages are sought.
    start : Subgroup, default=None
        The first one; None for all rows.
    max_calls : int, default=None
        Calls of ``table.marginals`` after which no side moves any more.

    Attributes
    ----------
    inexact : bool
        Whether the answers of the table have errors.
    n_asked : int
        Calls of ``table.marginals`` so far.
    """

    def __init__(
        self,
        table: Table,
        sign: float = 1.0,
        start: Subgroup | None = None,
        max_calls: int | None = None,
    ) -> None:
        self.table = table
        self.max_calls: float = math.inf if max_calls is None else max_calls
        self.shape: Shape = Shape.of(table.levels)
        self.n_asked: int = 0
        self.box: np.ndarray = self.shape.inside(start or Subgroup())
        whole = table.totals([Subgroup()])
        self.inexact: bool = whole.noise is not None
        self._centre = float(whole.mean[0])
        self._scale = sign * (float(whole.variance[0]) ** 0.5 or 1.0)
        self._counts, self._totals, self._errors = self.ask(self.box)

    def inflation(self, moments: Moments) -> np.ndarray:
        """Return squared errors of averages as multiples of those of independent rows, at least 1.

        Parameters
        ----------
        moments : Moments
            An answer of the table.
        """
        if moments.noise is None:
            return np.ones(len(moments.n))
        return np.maximum(moments.n * moments.noise / self._scale**2, 1.0)

    def ask(self, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Marginals of each feature without its own side: one call."""
        self.n_asked += 1
        box = self.shape.subgroup(inside)
        names = [levels.name for levels in self.shape.levels]
        free = [name for name in names if name not in box]
        boxes = [box, *(box.without(name) for name in box)]
        answers = self.table.marginals(boxes, [free, *([name] for name in box)])
        found: dict[str, Moments] = {}
        for answer in answers:
            found.update(answer)
        n = np.concatenate([np.asarray(found[name].n, dtype=np.float64) for name in names])
        mean = np.concatenate([found[name].mean for name in names])
        errors = n * np.concatenate([self.inflation(found[name]) for name in names])
        return n, n * (mean - self._centre) / self._scale, errors

    @property
    def count(self) -> float:
        """Number of rows inside."""
        return float(self._counts[: self.shape.offsets[1]] @ self.box[: self.shape.offsets[1]])

    @property
    def total(self) -> float:
        """Sum of their targets, in standard deviations from the average of the table."""
        return float(self._totals[: self.shape.offsets[1]] @ self.box[: self.shape.offsets[1]])

    def ascend(self, threshold: float, penalty: float, least: float, most: int) -> int:
        """Move sides until none gains; see :meth:`skgpb._core._sides.Sides.ascend`."""
        shape, n_moves = self.shape, 0
        while n_moves < most and self.n_asked < self.max_calls:
            gains, sides = best_move(
                shape.offsets, shape.n_values, shape.ordered, self._counts, self._totals,
                self.box, threshold, penalty, least,
            )  # fmt: skip
            # A side has to gain more where what it keeps out is known less well.
            gains = gains - penalty * (self._doubt(sides) - self._doubt(self.box))
            better = np.flatnonzero(gains > LEAST_GAIN)
            if not len(better):
                break
            before = self.box, self._counts, self._totals, self._errors
            worth_before = self._worth(threshold, penalty)
            self._move(better, sides)
            best = better[gains[better].argmax()]
            worth = self._worth(threshold, penalty)
            if len(better) > 1 and not (
                self.count >= least and worth >= worth_before + 0.99 * gains[best]
            ):
                self.box, self._counts, self._totals, self._errors = before
                if self.n_asked >= self.max_calls:
                    break
                self._move(np.array([best]), sides)
            n_moves += 1
        return n_moves

    def _move(self, features: np.ndarray, sides: np.ndarray) -> None:
        inside = self.box.copy()
        for j in features:
            part = slice(self.shape.offsets[j], self.shape.offsets[j + 1])
            inside[part] = sides[part]
        self._counts, self._totals, self._errors = self.ask(inside)
        self.box = inside

    def _doubt(self, inside: np.ndarray) -> np.ndarray:
        """Errors of what each side keeps out, beyond those of as many independent rows."""
        first = self.shape.offsets[:-1]
        out = [
            np.add.reduceat(np.where(inside, 0.0, each), first)
            for each in (self._errors, self._counts)
        ]
        return np.sqrt(out[0]) - np.sqrt(out[1])

    def _worth(self, threshold: float, penalty: float) -> float:
        """Objective of :meth:`ascend`."""
        out = np.add.reduceat(np.where(self.box, 0.0, self._errors), self.shape.offsets[:-1])
        return self.total - threshold * self.count - penalty * float(np.sqrt(out).sum())


@dataclass(frozen=True)
class SubgroupResult:
    """A group of rows.

    Attributes
    ----------
    subgroup : Subgroup
        Conditions of the group.
    n : int
        Number of its rows.
    mean, variance : float
        Mean and variance of their targets.
    n_boxes : int
        Number of boxes that the search visited.
    n_asked : int
        Number of queries for marginals, 0 for rows in memory.
    others : tuple of Subgroup
        At most ten of the next best boxes that it has met, the best first.
    """

    subgroup: Subgroup
    n: int
    mean: float
    variance: float
    n_boxes: int
    n_asked: int = 0
    others: tuple[Subgroup, ...] = ()


def find_subgroup(
    table: Table,
    min_rows: int,
    *,
    minimize: bool = False,
    start: Subgroup | None = None,
    max_calls: int | None = None,
) -> SubgroupResult:
    """Find a group of rows with a high average.

    Parameters
    ----------
    table : Table
        The table to search. Rows in memory are searched from several starts, by compiled sums; any
        other table is asked for marginals, one call at a time.
    min_rows : int
        Fewest rows of a group.
    minimize : bool, default=False
        Whether a low average is sought.
    start : Subgroup, default=None
        Where a search by queries begins, such as the group of a sample; its conditions begin and
        end where levels do. None for all rows.
    max_calls : int, default=None
        A table is asked for marginals at most about so often. None for no limit.

    Returns
    -------
    group : SubgroupResult

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.tables import MemoryTable, find_subgroup
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 2))
    >>> y = (X > 0.7).all(axis=1) + 0.1 * rng.normal(size=1000)
    >>> group = find_subgroup(MemoryTable(X, y), 50)
    >>> group.n, round(group.mean, 2)
    (74, 1.0)
    """
    if not 1 <= min_rows <= table.n_rows:
        raise ValueError(f"min_rows must be from 1 to {table.n_rows}, got {min_rows}")
    sign = -1.0 if minimize else 1.0
    if isinstance(table, MemoryTable):
        target = sign * standardized(table.y)
        found, shape, asked = search_rows(table, target, min_rows), table.shape, 0
        inside = recommend(table, target, found)
    else:
        sides = QueriedSides(table, sign, start, max_calls)
        shape = sides.shape
        if sides.count < min_rows:
            raise ValueError(f"start has {sides.count:g} rows, fewer than min_rows={min_rows}")
        threshold = 0.0 if start is None else 0.5 * sides.total / sides.count
        trajectory = peel(sides, min_rows, max(threshold, 0.0), step=ASKED_STEP)
        inflation: np.ndarray | float = 1.0
        if sides.inexact:
            inflation = sides.inflation(
                table.totals([shape.subgroup(each) for each in trajectory.inside])
            )
        found = SubgroupPath.of([trajectory], shape, table.n_rows, inflation)
        inside = found.inside[found.best]
        if sides.n_asked < sides.max_calls:
            inside = simplified(inside, shape, sides.ask)
        asked = sides.n_asked
    box = shape.subgroup(inside)
    total = table.totals([box])
    best_first = np.argsort(-found.shrunken_mean, kind="stable")
    # In the order in which they come, without those that come again.
    others = dict.fromkeys(shape.subgroup(found.inside[i]) for i in best_first)
    others.pop(box, None)
    return SubgroupResult(
        box,
        int(total.n[0]),
        float(total.mean[0]),
        float(total.variance[0]),
        len(np.unique(found.inside, axis=0)),
        asked,
        tuple(others)[:MOST_OTHERS],
    )


def standardized(y: np.ndarray) -> np.ndarray:
    """Return a target with the mean zero and the standard deviation one, or zeros."""
    scale = y.std()
    return (y - y.mean()) / scale if scale > 0.0 else np.zeros(len(y))
