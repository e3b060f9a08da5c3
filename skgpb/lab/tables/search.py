"""The search: a threshold that rises, and sides that follow it.

The objective is the sum, over the rows of a box, of the target minus a threshold (the Lagrange
multiplier of the number of rows). At a low threshold nearly all rows increase it. The higher the
threshold, the higher the average of the best box, and the fewer its rows. So the threshold rises in
small steps, and at each step the search moves the side that gains most, inwards or outwards, until
no side gains: peeling and pasting [FriedmanFisher1999]_ by one rule. Both need only the marginals
of each feature: counts and sums, by its levels, of the rows inside the sides of all other features.
For a number the best side is the run of levels with the largest sum, for a category all levels
whose average is above the threshold.

Such a peeling trajectory ends at the top of one hill. Rows in memory are searched from several
starts: from the whole table; from the whole table with average targets for all rows around the
first hill, so that the search finds another one; and from the best boxes over every two features on
a coarse grid, because some groups are invisible in each single feature. A table that must be
queried has fewer of these starts, and only on demand.

The more ends of sides a search may choose, the higher is the best average in a table of pure noise.
The *evidence* for a box is therefore its squared distance from the average of the table, in
standard errors, minus a cost for each of its ends. The ratio of the evidence to the squared
distance shrinks the average of the box towards the average of the table. The recommendation is the
box with the highest shrunken average among all boxes visited, without its unnecessary ends.

The standard error of the average of n rows is that of n independent rows. Its variance is the
larger one of the variances of the box and of the table: a feature that changes only the scatter of
the target is no evidence. If a table reports a larger error, because the rows come from few sampled
blocks or because noise was added, the search uses it for sides, evidence and ends.

References
----------
.. [FriedmanFisher1999] J. H. Friedman and N. I. Fisher, "Bump hunting in high-dimensional data",
   Statistics and Computing 9, 1999.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from skgpb._core._sides import LEAST_GAIN, Sides, best_move, best_pairs
from skgpb.lab.tables.conditions import Subgroup
from skgpb.lab.tables.levels import Levels, Moments, Shape, is_two_valued
from skgpb.lab.tables.memory import MemoryTable
from skgpb.lab.tables.source import Table

__all__ = ["find_subgroup"]

# Least gain of a side, from all rows and from a box of two features, in standard deviations of the
# target. All constants were chosen on one half of the tables of benchmarks/tables, and checked on
# the other half afterwards.
PENALTY, PENALTY_OF_PAIRS = 0.5, 1.0
# The threshold rises by a share of its distance from the average of the box, or by LEAST_STEP.
STEP, LEAST_STEP = 0.15, 0.02
# Cost: a larger STEP, because each step queries the table.
ASKED_STEP = 0.3
# Cost of an end of a side in squared standard errors, and number of ends for each category.
COST_OF_END, ENDS_OF_LABEL = 4.0, 0.1
# An end stays if the rows beyond it average less by at least this many standard errors.
ERRORS_OF_END = 2.0
# The search for other hills flattens the largest box of at most this multiple of min_rows.
OTHER_HILLS = (16.0, 4.0)
# Bins of a feature in the search of pairs, best pairs to start from, and most features.
COARSE, BEST_PAIRS, MOST_PAIRED = 8, 5, 40
# Best pairs and most features for a table that must be queried.
BEST_PAIRS_ASKED, MOST_PAIRED_ASKED = 2, 12
# A trajectory ends at a box with fewer rows than this multiple of min_rows.
MIN_ROWS_MARGIN = 1.05
MOST_MOVES, MOST_STEPS = 50, 80
MOST_OTHERS = 10


# Counts, sums and the variances of these sums, in squared standard deviations of the target.
Marginals = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class PeelingTrajectory:
    """The boxes of a peeling, one for each threshold.

    Attributes
    ----------
    n, mean, variance : ndarray of shape (n_boxes,)
        Number of rows of each box, their average minus the table's, in standard deviations, and
        their variance.
    inside : ndarray of shape (n_boxes, size) of uint8
        Whether each level is inside each box.
    threshold : float
        The last threshold.
    """

    n: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    inside: np.ndarray
    threshold: float = 0.0

    def largest_box(self, most: float) -> np.ndarray:
        """Return the largest box with at most ``most`` rows, or the last box, shape (size,)."""
        small = np.flatnonzero(self.n <= most)  # boxes shrink along a trajectory
        return self.inside[small[0] if len(small) else -1]


@dataclass(frozen=True)
class SubgroupPath:
    """All boxes that a search visited, with their evidence.

    Attributes
    ----------
    n, mean, inside : ndarray
        As in :class:`PeelingTrajectory`.
    squared : ndarray of shape (n_boxes,)
        Squared distance from the average of the table, in standard errors; 0 for the whole table.
    cost : ndarray of shape (n_boxes,)
        Cost of the ends of each box, in squared standard errors.
    """

    n: np.ndarray
    mean: np.ndarray
    inside: np.ndarray
    squared: np.ndarray
    cost: np.ndarray

    @classmethod
    def from_trajectories(
        cls,
        trajectories: Sequence[PeelingTrajectory],
        shape: Shape,
        n_rows: float,
        inflation: np.ndarray | float = 1.0,
    ) -> SubgroupPath:
        """Return the boxes of trajectories.

        ``inflation`` (n_boxes,) are the squared errors of their averages, as multiples of those of
        independent rows with the variance of the table.
        """
        n = np.concatenate([trajectory.n for trajectory in trajectories])
        mean = np.concatenate([trajectory.mean for trajectory in trajectories])
        inside = np.concatenate([trajectory.inside for trajectory in trajectories])
        variance = np.concatenate([trajectory.variance for trajectory in trajectories])
        part = n < n_rows
        # Variance of rows drawn without replacement.
        rest = np.where(part, 1.0 - n / n_rows, 1.0) * np.maximum(variance, inflation)
        squared = np.where(part, np.maximum(mean, 0.0) ** 2 * n / rest, 0.0)
        cost = np.where(part, COST_OF_END * count_ends(inside, shape), 0.0)
        return cls(n, mean, inside, squared, cost)

    def evidence(self, end_cost: float = 1.0) -> np.ndarray:
        """Return ``squared`` minus the cost of the ends, shape (n_boxes,).

        ``end_cost`` multiplies this cost. If features explain much of the variance of the target,
        the remaining share of it is enough; the higher it is, the larger is the best box.
        """
        return self.squared - end_cost * self.cost

    def shrunken_mean(self, end_cost: float = 1.0) -> np.ndarray:
        """Return ``mean``, shrunk by the share of ``squared`` that is evidence, (n_boxes,)."""
        share = self.evidence(end_cost) / np.maximum(self.squared, 1e-300)
        return self.mean * np.clip(share, 0.0, 1.0)

    def best(self, end_cost: float = 1.0) -> int:
        """Return the recommended box; without significant boxes that of the most evidence."""
        shrunken = self.shrunken_mean(end_cost)
        return int((shrunken if shrunken.max() > 0.0 else self.evidence(end_cost)).argmax())

    def largest(self, tolerance: float) -> int:
        """Return the index of the largest box that is hardly worse than the best.

        Its shrunken average is lower by at most ``tolerance`` standard errors of the best box.
        """
        best, shrunken = self.best(), self.shrunken_mean()
        least = shrunken[best] - tolerance / np.sqrt(self.n[best])
        alike = (shrunken >= max(least, 0.0)) & (self.evidence() > 0.0)
        alike[best] = True
        return int(np.where(alike, self.n, -1.0).argmax())

    @property
    def most_evidence(self) -> float:
        """Largest evidence of all boxes."""
        return float(self.evidence().max())


def count_ends(inside: np.ndarray, shape: Shape) -> np.ndarray:
    """Count the ends of the sides of boxes.

    Parameters
    ----------
    inside : ndarray of shape (n_boxes, size)
        The boxes.
    shape : Shape

    Returns
    -------
    ends : ndarray of shape (n_boxes,)
        One for each end of a number; ``1 + ENDS_OF_LABEL * n_values`` for a choice among
        categories; one for a number whose missing values are outside.
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
    sides: RowSides | QueriedSides,
    min_rows: float,
    threshold: float = 0.0,
    penalty: float = PENALTY,
    step: float = STEP,
) -> PeelingTrajectory:
    """Raise the threshold until the box is about as small as it may be.

    Parameters
    ----------
    sides : RowSides or QueriedSides
        The first box, which moves; its target has mean zero and standard deviation one.
    min_rows : float
        Fewest rows of a box.
    threshold : float, default=0.0
        The first threshold.
    penalty : float, default=PENALTY
        Smallest gain by which a side moves.
    step : float, default=STEP
        Relative increase of the threshold.

    Returns
    -------
    trajectory : PeelingTrajectory
    """
    n, means, variances, boxes = [], [], [], []
    for _ in range(MOST_STEPS):
        sides.ascend(threshold, penalty, min_rows, MOST_MOVES)
        mean = sides.total / sides.count
        n.append(sides.count)
        means.append(mean)
        variances.append(sides.variance)
        boxes.append(sides.box)
        higher = max(threshold + LEAST_STEP, threshold + step * (mean - threshold))
        if sides.count < MIN_ROWS_MARGIN * min_rows or higher >= mean:
            break
        threshold = higher
    return PeelingTrajectory(
        np.array(n), np.array(means), np.array(variances), np.array(boxes), threshold
    )


def search_rows(table: MemoryTable, target: np.ndarray, min_rows: int) -> SubgroupPath:
    """Search rows in memory, from several starts.

    Parameters
    ----------
    table : MemoryTable
        The features of the rows.
    target : ndarray of shape (n_rows,)
        The target, with mean zero and standard deviation one.
    min_rows : int
        Fewest rows of a box.

    Returns
    -------
    path : SubgroupPath
    """
    sides = RowSides(table, target)
    pairs = _pairs(sides, min_rows)
    trajectories = _trajectories(sides, min_rows, OTHER_HILLS, pairs)
    return SubgroupPath.from_trajectories(trajectories, table.shape, table.n_rows)


def _trajectories(
    sides: RowSides | QueriedSides,
    min_rows: float,
    hills: Sequence[float],
    starts: Sequence[np.ndarray],
    step: float = STEP,
) -> list[PeelingTrajectory]:
    """Peel from the whole table, then from other hills, and from the boxes ``starts`` (size,).

    ``sides`` must be those of the whole table. For each of ``hills`` the largest box of the first
    hill with at most ``times * min_rows`` rows gets an average target, so that another hill shows.
    """
    trajectories = [peel(sides, min_rows, step=step)]
    for times in hills:
        sides.begin(sides.shape.everything, trajectories[0].largest_box(times * min_rows))
        other = peel(sides, min_rows, step=step)
        sides.begin(other.inside[-1])
        trajectories.append(peel(sides, min_rows, other.threshold, step=step))
    for box in starts:
        sides.begin(box)
        if sides.count >= min_rows:
            # A threshold halfway between the average of the box and that of the table.
            half = 0.5 * sides.total / sides.count
            trajectories.append(peel(sides, min_rows, half, PENALTY_OF_PAIRS, step))
    return trajectories


def _pairs(sides: RowSides, min_rows: int) -> list[np.ndarray]:
    """Return the best boxes (size,) over two features each, on a coarse grid."""
    table, shape, target = sides.table, sides.shape, sides.target
    bins, some = _coarse_features(shape, *sides.marginals, MOST_PAIRED)
    coarse = np.column_stack([bins[j][table.codes[:, j]] for j in some])
    scores, found = best_pairs(
        np.ascontiguousarray(coarse), COARSE, target, np.ones(len(target)), min_rows, COST_OF_END
    )
    found[:, :2] = some[found[:, :2]]
    return _boxes_of_pairs(shape, bins, scores, found, BEST_PAIRS)


def _asked_pairs(sides: QueriedSides, min_rows: int) -> list[np.ndarray]:
    """Return :func:`_pairs` of a table that must be queried, once for each feature but one."""
    shape, table = sides.shape, sides.table
    counts, totals = sides.marginals if sides.box.all() else sides.ask(shape.everything)[:2]
    bins, some = _coarse_features(shape, counts, totals, MOST_PAIRED_ASKED)
    scores, found = [], []
    for i, a in enumerate(some[:-1]):
        inside, others = [], [shape.levels[b].name for b in some[i + 1 :]]
        used = np.unique(bins[a])
        for k in used:
            inside.append(shape.everything)
            inside[-1][shape.parts[a]] = bins[a] == k
        sides.n_asked += 1
        answers = table.marginals([shape.subgroup(each) for each in inside], [others] * len(used))
        for b in some[i + 1 :]:
            grid = np.zeros((2, COARSE, COARSE))
            for k, answer in zip(used, answers, strict=True):
                moments = answer[shape.levels[b].name]
                np.add.at(grid[0, k], bins[b], moments.n)
                np.add.at(grid[1, k], bins[b], sides.target_sums(moments))
            cells = np.indices((COARSE, COARSE), dtype=np.uint8).reshape(2, -1).T
            score, box = best_pairs(
                np.ascontiguousarray(cells), COARSE, grid[1].ravel(), grid[0].ravel(), min_rows,
                COST_OF_END,
            )  # fmt: skip
            box[:, :2] = a, b
            scores.append(score)
            found.append(box)
    if not scores:
        return []
    return _boxes_of_pairs(
        shape, bins, np.concatenate(scores), np.concatenate(found), BEST_PAIRS_ASKED
    )


def _coarse_features(
    shape: Shape, counts: np.ndarray, totals: np.ndarray, most: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the bin of each level, by features, and the ``most`` most informative features.

    ``counts`` and ``totals`` (size,) are the rows and the sums of their targets by levels. The
    features are sorted by their indices; their bins explain most of the variance.
    """
    parts = shape.parts
    bins = [
        _coarse(counts[part], totals[part], levels)
        for part, levels in zip(parts, shape.levels, strict=True)
    ]
    if len(bins) <= most:
        return bins, np.arange(len(bins))
    explained = []
    for part, each in zip(parts, bins, strict=True):
        n, total = (np.bincount(each, values[part]) for values in (counts, totals))
        explained.append(np.sum(total**2 / np.maximum(n, 1.0)))
    return bins, np.sort(np.argsort(explained)[-most:])


def _boxes_of_pairs(
    shape: Shape, bins: list[np.ndarray], scores: np.ndarray, found: np.ndarray, most: int
) -> list[np.ndarray]:
    """Return the ``most`` boxes (size,) with the best scores > 0.

    ``found`` (n_pairs, 6) has two features and, for each, the first bin inside and the first
    behind it.
    """
    boxes = []
    for i in np.argsort(-scores, kind="stable")[:most]:
        if scores[i] <= 0.0:
            break
        box = shape.everything
        a, b, *ends = found[i].tolist()
        for j, start, stop in ((a, *ends[:2]), (b, *ends[2:])):
            box[shape.parts[j]] = (bins[j] >= start) & (bins[j] < stop)
        boxes.append(box)
    return boxes


def _coarse(n: np.ndarray, totals: np.ndarray, levels: Levels) -> np.ndarray:
    """Divide the levels of a feature into few bins with about as many rows each.

    Bins of a category are in the order of the averages of its levels; missing values come last.

    Returns
    -------
    bins : ndarray of shape (n_levels,) of uint8
    """
    order = np.arange(levels.n_levels)
    if levels.kind == "category":
        mean = totals / np.maximum(n, 1)
        order[: levels.n_values] = np.argsort(mean[: levels.n_values], kind="stable")
    share = (n[order].cumsum() - 0.5 * n[order]) / n.sum()
    bins = np.empty(levels.n_levels, dtype=np.uint8)
    bins[order] = np.minimum(COARSE * share, COARSE - 1).astype(np.uint8)
    return bins


def recommend(table: MemoryTable, target: np.ndarray, found: SubgroupPath) -> np.ndarray:
    """Return the best box of a search without its unnecessary ends, shape (size,)."""
    best = found.inside[found.best()]
    return simplify_box(best, table.shape, RowSides(table, target).ask)


def simplify_box(
    inside: np.ndarray, shape: Shape, ask: Marginals, end_cost: float = 1.0
) -> np.ndarray:
    """Remove the ends of a box beyond which the rows hardly average less than those inside.

    Parameters
    ----------
    inside : ndarray of shape (size,)
        The box.
    shape : Shape
    ask : callable
        Function from a box (size,) to the counts, sums and variances of sums (size,) of each
        feature without its own side.
    end_cost : float, default=1.0
        As in :meth:`SubgroupPath.evidence`.

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
        worst, dropped = ERRORS_OF_END * math.sqrt(end_cost), None
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
    """Yield indices of the levels beyond each end of a number, and of missing values outside."""
    for j, start in enumerate(shape.offsets[:-1]):
        stop = start + shape.n_values[j]
        among = start + np.flatnonzero(inside[start:stop])
        if shape.ordered[j] and len(among):
            for levels in (np.arange(start, among[0]), np.arange(among[-1] + 1, stop)):
                if len(levels):
                    yield levels
        if stop < shape.offsets[j + 1] and not inside[stop]:
            yield np.array([stop])


class RowSides(Sides):
    """A box of a table in memory, at first all rows; compiled code moves its sides.

    Parameters
    ----------
    table : MemoryTable
        The features of the rows.
    target : ndarray of shape (n_rows,)
        The target, with mean zero and standard deviation one.
    """

    def __init__(self, table: MemoryTable, target: np.ndarray) -> None:
        shape, weights = table.shape, np.ones(table.n_rows)
        super().__init__(table.codes, shape.offsets, shape.n_values, shape.ordered, weights)
        self.table: MemoryTable = table
        self.shape: Shape = shape
        self.target: np.ndarray = target
        # Of a constant target, which is zero everywhere, no variance matters.
        self._is_two_valued = is_two_valued(0.0, 1.0, float(target.min()), float(target.max()))
        self.begin(shape.everything)

    def begin(self, inside: np.ndarray, flat: np.ndarray | None = None) -> None:
        """Restart from the box ``inside``; rows in the box ``flat`` count with the average target.

        Both have shape (size,).
        """
        target = self.target
        if flat is not None:
            target = np.where(self.shape.holds(self.table.codes, flat), 0.0, target)
        self.start(target, inside)
        self._squares = target**2

    @property
    def variance(self) -> float:
        """Variance of the target over the rows inside; 1.0 for a target of two values.

        The average of two values decides their variance, which therefore tells nothing more.
        """
        if self._is_two_valued:
            return 1.0
        return float(self._squares[self.members].mean()) - (self.total / self.count) ** 2

    def ask(self, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Restart from a box (size,); return its marginals and the variances of the sums (size,).

        The marginals are counts and sums of each feature without its own side. The target has
        unit variance, so that the variance of a sum is the count.
        """
        self.begin(inside)
        counts, totals = self.marginals
        return counts, totals, counts


class QueriedSides:
    """A box of a table that must be queried for marginals, at first all rows; its sides move.

    Sides of several features move at once. If the objective then rises by less than the gain of
    the best side alone, only that side moves.

    Parameters
    ----------
    table : Table
        The table to query. Only counts, averages and their errors are used.
    sign : {1.0, -1.0}, default=1.0
        -1.0 if low averages are sought.
    max_calls : int, default=None
        Number of calls of ``table.marginals`` after which no side moves any more; None for no
        limit.

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
        max_calls: int | None = None,
    ) -> None:
        self.table = table
        self.max_calls: float = math.inf if max_calls is None else max_calls
        self.shape: Shape = Shape.from_levels(table.levels)
        self.n_asked: int = 0
        self.box: np.ndarray = self.shape.everything
        self.flat: np.ndarray | None = None
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
        """Query the marginals of a box (size,) by one call of ``table.marginals``.

        Return the counts, sums and variances of sums (size,) of each feature without its own side.
        Rows in the box ``flat`` count with the average target.
        """
        self.n_asked += 1
        box = self.shape.subgroup(inside)
        names = [levels.name for levels in self.shape.levels]
        free = [name for name in names if name not in box]
        boxes, features = [box, *(box.without(name) for name in box)], [free, *([n] for n in box)]
        if self.flat is not None:
            inside_too = [self.shape.inside(each) & self.flat for each in boxes]
            some = [i for i, each in enumerate(inside_too) if not self.shape.is_empty(each)]
            boxes += [self.shape.subgroup(inside_too[i]) for i in some]
            features += [features[i] for i in some]
        answers = self.table.marginals(boxes, features)
        seen: dict[str, Moments] = {}
        for answer in answers[: len(box) + 1]:
            seen.update(answer)
        n = np.concatenate([np.asarray(seen[name].n, dtype=np.float64) for name in names])
        totals = np.concatenate([self.target_sums(seen[name]) for name in names])
        errors = n * np.concatenate([self.inflation(seen[name]) for name in names])
        for answer in answers[len(box) + 1 :]:
            for name, moments in answer.items():
                totals[self.shape.parts[names.index(name)]] -= self.target_sums(moments)
        return n, totals, errors

    def target_sums(self, moments: Moments) -> np.ndarray:
        """Return sums of targets, in standard deviations from the average of the table."""
        return moments.n * (moments.mean - self._centre) / self._scale

    def begin(self, inside: np.ndarray, flat: np.ndarray | None = None) -> None:
        """Restart from the box ``inside``; rows in the box ``flat`` count with the average target.

        Both have shape (size,).
        """
        self.box, self.flat = inside, flat
        self._counts, self._totals, self._errors = self.ask(inside)

    #: Variance inside, in units of that of the table: answers have only counts and averages.
    variance: float = 1.0

    @property
    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        """Counts and sums of each feature without its own side, shapes (size,)."""
        return self._counts, self._totals

    @property
    def count(self) -> float:
        """Number of rows inside."""
        return float(self._counts[: self.shape.offsets[1]] @ self.box[: self.shape.offsets[1]])

    @property
    def total(self) -> float:
        """Sum of the targets inside, in standard deviations from the average of the table."""
        return float(self._totals[: self.shape.offsets[1]] @ self.box[: self.shape.offsets[1]])

    def ascend(self, threshold: float, penalty: float, least: float, most: int) -> int:
        """Move sides until none gains, as :meth:`skgpb._core._sides.Sides.ascend` does."""
        shape, n_moves = self.shape, 0
        while n_moves < most and self.n_asked < self.max_calls:
            gains, sides = best_move(
                shape.offsets, shape.n_values, shape.ordered, self._counts, self._totals,
                self.box, threshold, penalty, least,
            )  # fmt: skip
            # The more uncertain the average of the excluded rows is, the more a side must gain.
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
            part = self.shape.parts[j]
            inside[part] = sides[part]
        self._counts, self._totals, self._errors = self.ask(inside)
        self.box = inside

    def _doubt(self, inside: np.ndarray) -> np.ndarray:
        """Return the standard errors (d,) of the sums beyond each side, above those of rows.

        The standard errors of as many independent rows are subtracted.
        """
        first = self.shape.offsets[:-1]
        out = [
            np.add.reduceat(np.where(inside, 0.0, each), first)
            for each in (self._errors, self._counts)
        ]
        return np.sqrt(out[0]) - np.sqrt(out[1])

    def _worth(self, threshold: float, penalty: float) -> float:
        """Return the objective of :meth:`ascend`."""
        out = np.add.reduceat(np.where(self.box, 0.0, self._errors), self.shape.offsets[:-1])
        return self.total - threshold * self.count - penalty * float(np.sqrt(out).sum())


@dataclass(frozen=True)
class SubgroupResult:
    """The group of rows that a search found.

    Attributes
    ----------
    subgroup : Subgroup
        Conditions of the group.
    n : int
        Number of its rows.
    mean, variance : float
        Mean and variance of their targets.
    n_boxes : int
        Number of different boxes that the search visited.
    n_asked : int
        Number of queries for marginals, 0 for rows in memory.
    others : tuple of Subgroup
        At most ten of the next best boxes that the search visited, the best first.
    larger : Subgroup
        The largest box visited whose shrunken average is lower than that of the best by at most
        one standard error.
    """

    subgroup: Subgroup
    n: int
    mean: float
    variance: float
    n_boxes: int
    n_asked: int = 0
    others: tuple[Subgroup, ...] = ()
    larger: Subgroup = field(default_factory=Subgroup)


def find_subgroup(
    table: Table,
    min_rows: int,
    *,
    minimize: bool = False,
    max_calls: int | None = None,
    pairs: bool = False,
    hills: bool = False,
    starts: Sequence[Subgroup] = (),
) -> SubgroupResult:
    """Find a group of rows with a high average.

    Parameters
    ----------
    table : Table
        The table to search. Rows in memory are searched from several starts, by compiled code; any
        other table is queried for marginals, one call at a time.
    min_rows : int
        Fewest rows of a group.
    minimize : bool, default=False
        Whether a low average is sought.
    max_calls : int, default=None
        Approximate maximum number of calls of ``table.marginals``; None for no limit.
    pairs, hills : bool, default=False
        Whether to search a queried table also from the best boxes over two features, and for
        another group than the first, as rows in memory are. This takes two to three times as many
        queries.
    starts : sequence of Subgroup, default=()
        Boxes from which to search a queried table as well, such as the groups of parts of the
        rows. Their ends must be edges of levels.

    Returns
    -------
    group : SubgroupResult

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.lab.tables import MemoryTable, find_subgroup
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
        target = sign * standardize(table.y)
        found, shape, asked = search_rows(table, target, min_rows), table.shape, 0
        inside = recommend(table, target, found)
    else:
        sides = QueriedSides(table, sign, max_calls)
        shape = sides.shape
        firsts = _asked_pairs(sides, min_rows) if pairs else []
        firsts += [shape.inside(each) for each in starts]
        trajectories = _trajectories(
            sides, min_rows, OTHER_HILLS if hills else (), firsts, ASKED_STEP
        )
        inflation: np.ndarray | float = 1.0
        if sides.inexact:
            visited = [each for trajectory in trajectories for each in trajectory.inside]
            inflation = sides.inflation(table.totals([shape.subgroup(each) for each in visited]))
        found = SubgroupPath.from_trajectories(trajectories, shape, table.n_rows, inflation)
        inside = found.inside[found.best()]
        if sides.n_asked < sides.max_calls:
            inside = simplify_box(inside, shape, sides.ask)
        asked = sides.n_asked
    box = shape.subgroup(inside)
    total = table.totals([box])
    best_first = np.argsort(-found.shrunken_mean(), kind="stable")
    # dict.fromkeys: without duplicates, in this order.
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
        shape.subgroup(found.inside[found.largest(1.0)]),
    )


def standardize(y: np.ndarray) -> np.ndarray:
    """Return the target (n,) with mean 0 and standard deviation 1; zeros if it is constant."""
    scale = y.std()
    return (y - y.mean()) / scale if scale > 0.0 else np.zeros(len(y))
