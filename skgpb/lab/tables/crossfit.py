"""Cross-fitting: the group of a search is judged by rows that had no part in its choice.

The table is searched ten times, each time without a tenth of its rows. These held-out rows did not
influence the search. So they are a fair test of each condition, and of the average of new rows of
the group; and every row is held out once [Chernozhukov2018]_.

*Which conditions are needed.* A side of a box excludes rows that are inside all other sides. If the
average of the excluded rows is not significantly lower than that of the rows inside, or if the
group without the condition is hardly worse, the condition is dropped: the larger group is as good.
The least significant condition is dropped first, because one of two equivalent conditions must
stay. A condition is dropped as well if fewer than half of the searches chose it. The table is then
searched again in the remaining features, and these are tested once more: each feature at a level
that is divided by the number of features that the searches chose (Bonferroni), then the single ends
of numbers. Rows that helped to choose a feature in one fold confirm it in another fold, so these
tests reject more often than their level; the level allows for that.

*Which size.* How much an end of a side should cost depends on the share of the variance that no
feature explains, which the table does not tell. So each search recommends a box for each of several
costs, and their conditions are tested strictly or leniently. Of these groups, which are more or
less large, the result is the one with the highest average over held-out rows, or a larger one whose
average is hardly lower. The error of this difference is small, because most rows are in both. In
small tables no test has any power. A group without any tests is therefore the result if its average
over held-out rows is much higher.

*The average of new rows.* The whole procedure is repeated for each fold without its rows, and the
group is averaged over these rows.

References
----------
.. [Chernozhukov2018] V. Chernozhukov et al., "Double/debiased machine learning for treatment and
   structural parameters", The Econometrics Journal 21, 2018.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np
from scipy.stats import t as student

from skgpb.lab.tables.levels import Shape
from skgpb.lab.tables.memory import MemoryTable
from skgpb.lab.tables.search import RowSides, search_rows, simplify_box, standardize

N_FOLDS = 10
# Largest p-value of a feature in the first test, of all features together in the last test, and of
# an end of a number. Chosen by the tables of benchmarks.tables --verdicts --half choosing.
LENIENT_LEVEL, STRICT_LEVEL, END_LEVEL = 0.5, 0.005, 0.05
# A condition is dropped if it raises the average of the group by less than this share of the
# distance between the averages of the group and of the table.
MIN_EFFECT = 0.05
# Costs of an end, in units of its cost if no feature explains any of the variance of the target.
# The higher the cost, the larger are the groups.
END_COSTS = (16.0, 4.0, 1.0, 0.3, 0.1)
# Largest p-values of an end, in the order in which the groups are preferred.
END_LEVELS = (END_LEVEL, 0.5)
# Standard errors by which the average over held-out rows may be lower for a preferred group.
ERRORS_OF_SIZE = 0.25
# Standard errors, and share of the gain above the table, by which it must be higher without tests.
ERRORS_WITHOUT_TESTS, SHARE_WITHOUT_TESTS = 2.0, 0.3
# Why a row is outside a box: its value is too low, too high, missing, or another category.
BELOW, ABOVE, MISSING, OTHER = 1, 2, 3, 4

# The index of a feature, and the reason why its values exclude rows.
End = tuple[int, int]


class CrossFit:
    """Held-out rows of several searches, and the reasons why they are outside the boxes found.

    Parameters
    ----------
    table : MemoryTable
        The features.
    y : ndarray of shape (n_rows,)
        The target: high is good.
    folds, groups : ndarray of shape (n_rows,) of int
        The fold of each row. Rows that belong together have the same group.
    boxes : dict of int to ndarray of shape (size,)
        By fold: the box of the search without its rows.

    Attributes
    ----------
    outside : ndarray of shape (n_rows, d) of uint8
        For each row and feature: why the row is outside the box of the search without it; 0 if it
        is inside.
    ends : set of (int, int)
        The conditions that are left: features, and the reasons why they exclude rows.
    rare : set of (int, int)
        The conditions that at most half of the searches chose.
    n_named : int
        Number of features with a condition in any of the boxes.
    rows : ndarray of shape (n_rows,) of bool
        The rows by which conditions are tested.
    """

    def __init__(
        self,
        table: MemoryTable,
        y: np.ndarray,
        folds: np.ndarray,
        groups: np.ndarray,
        boxes: dict[int, np.ndarray],
    ) -> None:
        self.y: np.ndarray = y
        self.groups: np.ndarray = groups
        self.rows: np.ndarray = np.ones(len(y), dtype=bool)
        self.outside: np.ndarray = np.zeros(table.codes.shape, dtype=np.uint8)
        named: Counter[End] = Counter()
        for fold, box in boxes.items():
            left_out = np.flatnonzero(folds == fold)
            reasons = exclusion_reasons(box, table.shape)
            for j, part in enumerate(table.shape.parts):
                of_levels = reasons[part]
                self.outside[left_out, j] = of_levels[table.codes[left_out, j]]
                named.update((j, int(reason)) for reason in np.unique(of_levels) if reason)
        self.n_named: int = len({j for j, _ in named})
        # The number of features on which each row is outside.
        self._n_outside: np.ndarray = np.count_nonzero(self.outside, axis=1)
        self.ends: set[End] = set(named)
        self.rare: set[End] = {end for end, n in named.items() if 2 * n <= len(boxes)}

    def with_rows(self, rows: np.ndarray) -> CrossFit:
        """Return a copy that tests conditions by these rows only, shape (n_rows,) of bool."""
        some = copy(self)
        some.rows, some.outside, some.ends = rows, self.outside.copy(), set(self.ends)
        some._n_outside = self._n_outside.copy()
        return some

    @property
    def features(self) -> list[int]:
        """Sorted indices of the features with a condition."""
        return sorted({j for j, _ in self.ends})

    @property
    def inside(self) -> np.ndarray:
        """True if a row is inside the box of the search without it, shape (n_rows,) of bool."""
        return self._n_outside == 0

    def drop(self, ends: set[End]) -> None:
        """Drop these conditions."""
        self.ends -= ends
        for j, reason in ends:
            column = self.outside[:, j]
            dropped = column == reason
            column[dropped] = 0
            self._n_outside -= dropped

    def drop_features(self, level: float, little: float) -> None:
        """Drop features, the least significant first, until each is significant and has an effect.

        The last feature stays, because a group needs a condition.

        Parameters
        ----------
        level : float
            Largest p-value of a feature that stays.
        little : float
            Smallest effect of a feature that stays, as a share of the distance between the
            averages of the group and of the table.
        """
        while len(features := self.features) > 1:
            units = [{end for end in self.ends if end[0] == j} for j in features]
            if not self._drop_worst(units, level, little):
                break

    def drop_ends(self, level: float, little: float) -> None:
        """Drop ends of features as :meth:`drop_features` does; each feature keeps one end."""
        while True:
            several = Counter(j for j, _ in self.ends)
            units = [{end} for end in sorted(self.ends) if several[end[0]] > 1]
            if not self._drop_worst(units, level, little):
                break

    def _drop_worst(self, units: list[set[End]], level: float, little: float) -> bool:
        """Drop the least significant of ``units``, sets of ends; return whether one was dropped.

        Return False, and drop nothing, if all of them are significant.
        """
        n_out = np.where(self.rows, self._n_outside, -1)
        inside, single = np.flatnonzero(n_out == 0), np.flatnonzero(n_out == 1)
        feature = (self.outside[single] > 0).argmax(axis=1)
        reason = self.outside[single, feature]
        p_values = []
        for unit in units:
            kept_out = np.zeros(len(single), dtype=bool)
            for j, each in unit:
                kept_out |= (feature == j) & (reason == each)
            p_values.append(self._p_value(inside, single[kept_out], little))
        if max(p_values, default=0.0) <= level:
            return False
        self.drop(units[int(np.argmax(p_values))])
        return True

    def _p_value(self, inside: np.ndarray, kept_out: np.ndarray, little: float) -> float:
        """Return the p-value of the rows inside having the higher average than the excluded rows.

        Return more than 1 if the group with the excluded rows is hardly worse, and infinity if
        there are too few rows for a test.
        """
        n, m = len(inside), len(kept_out)
        if min(n, m) < 2:
            return math.inf
        mean, other = float(self.y[inside].mean()), float(self.y[kept_out].mean())
        cost = (mean - other) * m / (n + m)
        if cost <= little * (mean - float(self.y[self.rows].mean())):
            return 2.0 - min(cost, 0.0)
        deviations = [(self.y[inside] - mean) / n, (other - self.y[kept_out]) / m]
        error = standard_error(
            np.concatenate(deviations), self.groups[np.concatenate([inside, kept_out])]
        )
        few = min(count_groups(self.groups[rows]) for rows in (inside, kept_out))
        if few < 2:
            return math.inf
        return float(student.sf((mean - other) / error, few - 1)) if error else 0.0

    def prune_box(self, box: np.ndarray, shape: Shape) -> np.ndarray:
        """Return ``box`` without the ends that are not in ``ends``, shape (size,)."""
        box, reasons = box.copy(), exclusion_reasons(box, shape)
        for j, part in enumerate(shape.parts):
            kept = [reason for feature, reason in self.ends if feature == j]
            box[part][~np.isin(reasons[part], kept)] = 1
        return box


def exclusion_reasons(box: np.ndarray, shape: Shape) -> np.ndarray:
    """Return why each level is outside a box, shape (size,) of uint8: 0 if it is inside."""
    reasons = np.where(box, 0, OTHER).astype(np.uint8)
    for j, part in enumerate(shape.parts):
        stop = part.start + shape.n_values[j]
        among = part.start + np.flatnonzero(box[part.start : stop])
        if shape.ordered[j] and len(among):
            reasons[part.start : among[0]] = BELOW
            reasons[among[-1] + 1 : stop] = ABOVE
            reasons[stop : part.stop] = np.where(box[stop : part.stop], 0, MISSING)
    return reasons


def search_features(
    table: MemoryTable,
    y: np.ndarray,
    min_rows: int,
    features: Sequence[int],
) -> list[np.ndarray]:
    """Return the best boxes (size,) with conditions on these features, by costs of an end."""
    some, target, shape = table.only(features), standardize(y), table.shape
    path = search_rows(some, target, min_rows)
    sides, boxes = RowSides(some, target), []
    pruned: dict[int, np.ndarray] = {}
    for end_cost in END_COSTS[::-1]:
        # An end that a low cost removes is removed by a higher one as well.
        best = path.best(end_cost)
        inside = pruned.get(best, path.inside[best])
        pruned[best] = inside = simplify_box(inside, some.shape, sides.ask, end_cost)
        box = shape.everything
        for part, j in zip(some.shape.parts, features, strict=True):
            box[shape.parts[j]] = inside[part]
        boxes.append(box)
    return boxes[::-1]


def count_groups(groups: np.ndarray) -> int:
    """Return the number of different groups, which are numbers from 0 on, of rows (n,)."""
    return int(np.count_nonzero(np.bincount(groups)))


def standard_error(deviations: np.ndarray, groups: np.ndarray) -> float:
    """Return the standard error of a sum of deviations (n,), independent only between groups."""
    sums = np.bincount(groups, deviations)[np.bincount(groups) > 0]
    return math.sqrt(float(sums @ sums) * len(sums) / max(len(sums) - 1, 1))


def assign_folds(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Assign rows to folds at random, all rows of a group to one fold, shape (n_rows,) of int."""
    n_groups = int(groups.max()) + 1
    return rng.permutation(np.arange(n_groups) % N_FOLDS)[groups]


@dataclass(frozen=True)
class CrossFitResult:
    """Result of cross-fitting: the group, and the held-out rows inside the groups of their folds.

    Attributes
    ----------
    box : ndarray of shape (size,)
        The group of the whole table, with the conditions that are needed.
    inside : ndarray of shape (n,) of int
        Indices of the rows that are inside the group of the search without them.
    sizes : list of tuple of ndarray
        Boxes and held-out rows, as above, of all groups among which the group was chosen.
    """

    box: np.ndarray
    inside: np.ndarray
    sizes: list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Rung:
    """One of the groups of several sizes among which cross-fitting chooses.

    Attributes
    ----------
    features : tuple of int
        The features that were searched.
    cost : int
        Index of the cost of an end, in ``END_COSTS``.
    fitted : CrossFit
        The conditions that are left, and the held-out rows.
    is_tested : bool
        Whether its conditions were tested.
    """

    features: tuple[int, ...]
    cost: int
    fitted: CrossFit
    is_tested: bool = True

    @cached_property
    def inside(self) -> np.ndarray:
        """Indices of the held-out rows inside, shape (n,) of int."""
        return np.flatnonzero(self.fitted.inside & self.fitted.rows)

    @cached_property
    def average(self) -> float:
        """Average of the target over the held-out rows inside; -inf if it has no error."""
        if count_groups(self.fitted.groups[self.inside]) < 2:
            return -math.inf
        return float(self.fitted.y[self.inside].mean())

    def error(self, other: Rung) -> float:
        """Return the standard error of the difference between two averages; 0 without one."""
        fitted, deviations = self.fitted, np.zeros(len(self.fitted.y))
        for sign, rung in ((1.0, self), (-1.0, other)):
            if rung.average > -math.inf:
                gaps = fitted.y[rung.inside] - rung.average
                deviations[rung.inside] += sign * gaps / len(rung.inside)
        return standard_error(deviations[fitted.rows], fitted.groups[fitted.rows])


def cross_fit(
    table: MemoryTable, y: np.ndarray, min_rows: int, groups: np.ndarray, rng: np.random.Generator
) -> CrossFitResult:
    """Find the group with the conditions that are needed, and held-out rows of such groups.

    Parameters
    ----------
    table : MemoryTable
        The features.
    y : ndarray of shape (n_rows,)
        The target: high is good.
    min_rows : int
        Fewest rows of a group.
    groups : ndarray of shape (n_rows,) of int
        Rows that belong together have the same number, from 0 on.
    rng : Generator
        Source of the random folds.

    Returns
    -------
    fitted : CrossFitResult
    """
    every, folds = tuple(range(len(table.levels))), assign_folds(groups, rng)
    parts = {fold: np.flatnonzero(folds != fold) for fold in range(N_FOLDS)}
    parts = {fold: rows for fold, rows in parts.items() if 0 < len(rows) < len(y)}

    @cache
    def search_folds(features: tuple[int, ...]) -> list[CrossFit]:
        found = {}
        for fold, rows in parts.items():
            least = max(1, math.ceil(min_rows * len(rows) / len(y)))
            found[fold] = search_features(table.part(rows), y[rows], least, features)
        return [
            CrossFit(table, y, folds, groups, {fold: boxes[i] for fold, boxes in found.items()})
            for i in range(len(END_COSTS))
        ]

    def climb(rows: np.ndarray) -> tuple[list[Rung], list[Rung]]:
        """Return the tested and the untested groups, judged by these rows (n_rows,) of bool."""
        first = search_folds(every)[END_COSTS.index(1.0)].with_rows(rows)
        first.drop(first.rare)
        first.drop_features(LENIENT_LEVEL, 0.0)
        features = tuple(first.features) or every
        tested = []
        for level in END_LEVELS:
            for i, searched in enumerate(search_folds(features)):
                fitted = searched.with_rows(rows)
                fitted.drop(fitted.rare)
                fitted.drop_features(STRICT_LEVEL / max(first.n_named, 1), MIN_EFFECT)
                fitted.drop_ends(level, MIN_EFFECT)
                tested.append(Rung(features, i, fitted))
        untested = [
            Rung(every, i, searched.with_rows(rows), is_tested=False)
            for i, searched in enumerate(search_folds(every))
        ]
        return tested, untested

    def choose(rows: np.ndarray) -> Rung:
        """Return the best group by these rows, (n_rows,) of bool."""
        return choose_rung(*climb(rows), float(y[rows].mean()))

    search_table = cache(partial(search_features, table, y, min_rows))

    def box_of(rung: Rung) -> np.ndarray:
        """Return the box of the whole table, (size,)."""
        box = search_table(rung.features)[rung.cost]
        return rung.fitted.prune_box(box, table.shape) if rung.is_tested else box

    tested, untested = climb(np.ones(len(y), dtype=bool))
    chosen = choose_rung(tested, untested, float(y.mean()))
    inside = [
        np.flatnonzero(choose(folds != fold).fitted.inside & (folds == fold)) for fold in parts
    ]
    return CrossFitResult(
        box_of(chosen),
        np.concatenate([np.zeros(0, dtype=np.intp), *inside]),
        [(box_of(rung), rung.inside) for rung in [*tested, *untested]],
    )


def choose_rung(tested: list[Rung], untested: list[Rung], table_average: float) -> Rung:
    """Return the group with the highest average over held-out rows, or a preferred one.

    The tested groups are in the order in which they are preferred.
    """
    best = max(tested, key=lambda rung: rung.average)
    other = max(untested, key=lambda rung: rung.average)
    if best.average > -math.inf:
        best = next(
            rung
            for rung in tested
            if best.average - rung.average <= ERRORS_OF_SIZE * rung.error(best)
        )
        needed = max(
            SHARE_WITHOUT_TESTS * (other.average - table_average),
            ERRORS_WITHOUT_TESTS * other.error(best),
        )
        return other if other.average - best.average > needed else best
    return other if other.average > -math.inf else best
