"""Cross-fitting: what a search finds is judged by rows that had no part in the choice.

The table is searched ten times, each time without a tenth of its rows. The rows left out chose
nothing, so they tell which conditions pay and what new rows of the group average, and no row is
wasted [Chernozhukov2018]_.

*Which conditions pay.* The side of a box keeps rows out that are on all other sides. If these do
not average significantly less than the rows inside, or if the group without the condition is hardly
worse, the condition is dropped: the larger group is as good. The least significant condition goes
first, because of two conditions that say the same one is needed. Conditions that fewer than half of
the searches name go as well. What a search finds in the features that are left is tested once more:
each of them by a level that is divided by the number of features that the searches named
(Bonferroni), then the single ends of numbers. Rows that a feature was chosen with in one fold
confirm it in another one, so these tests find noise significant more often than their level says;
the level allows for that.

*Which size.* A search meets boxes of all sizes. The largest one is taken whose average over rows
left out is as good as that of the best one.

*What new rows average.* All of this is done once for each fold without its rows, and they say what
the group found in this way averages.

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
from functools import cache

import numpy as np
from scipy.stats import t as student

from skgpb.lab.tables.levels import Shape
from skgpb.lab.tables.memory import MemoryTable
from skgpb.lab.tables.search import recommend, search_rows, standardized

N_FOLDS = 10
# Largest p-values of a feature at first, of all features together in the end, and of an end of a
# number. Chosen by the tables of benchmarks.tables --verdicts --half choosing.
LENIENT, STRICT, OF_END = 0.5, 0.005, 0.05
# A condition is dropped that brings less than this share of what the group is above the table.
LITTLE = 0.05
# Standard errors by which the shrunken average of a larger box of the same search may be less.
TOLERANCES = (0.0, 1.0, 2.0)
# Standard errors by which the average of rows left out may be less for a larger group.
AS_GOOD = 1.0
# Why a row is outside of a box: its value is too low or too high, missing, or another category.
BELOW, ABOVE, MISSING, OTHER = 1, 2, 3, 4

# A feature and the reason for which its values keep rows out.
End = tuple[int, int]


class CrossFit:
    """The rows that each of some searches left out, and why they are outside of its box.

    Parameters
    ----------
    table : MemoryTable
        The features.
    y : ndarray of shape (n_rows,)
        The target: high is good.
    folds, groups : ndarray of shape (n_rows,) of int
        The fold of each row. Rows that belong together have the same group.
    boxes : dict of int to ndarray of shape (size,)
        The box found without each fold.

    Attributes
    ----------
    outside : ndarray of shape (n_rows, d) of uint8
        Why each row is outside of the box that was found without it, by features; 0 where it is
        inside.
    ends : set of (int, int)
        The features that tell these boxes, and the reasons for which they keep rows out.
    n_named : int
        Number of features that told any of the boxes.
    rows : ndarray of shape (n_rows,) of bool
        The rows that are asked.
    """

    def __init__(
        self,
        table: MemoryTable,
        y: np.ndarray,
        folds: np.ndarray,
        groups: np.ndarray,
        boxes: dict[int, np.ndarray],
    ) -> None:
        self.y, self.groups = y, groups
        self.rows: np.ndarray = np.ones(len(y), dtype=bool)
        self.outside: np.ndarray = np.zeros(table.codes.shape, dtype=np.uint8)
        named: Counter[End] = Counter()
        for fold, box in boxes.items():
            left_out = np.flatnonzero(folds == fold)
            reasons = reasons_of(box, table.shape)
            for j, start in enumerate(table.shape.offsets[:-1]):
                of_levels = reasons[start : table.shape.offsets[j + 1]]
                self.outside[left_out, j] = of_levels[table.codes[left_out, j]]
                named.update((j, int(reason)) for reason in np.unique(of_levels) if reason)
        self.n_named: int = len({j for j, _ in named})
        self.ends: set[End] = set(named)
        self._drop({end for end, n in named.items() if 2 * n <= len(boxes)})

    def of_rows(self, rows: np.ndarray) -> CrossFit:
        """Return a copy that asks some of the rows only."""
        some = copy(self)
        some.rows, some.outside, some.ends = rows, self.outside.copy(), set(self.ends)
        return some

    @property
    def features(self) -> list[int]:
        """The features that tell the boxes."""
        return sorted({j for j, _ in self.ends})

    @property
    def inside(self) -> np.ndarray:
        """Whether each row is inside of the box found without it, shape (n_rows,) of bool."""
        return np.count_nonzero(self.outside, axis=1) == 0

    def _drop(self, ends: set[End]) -> None:
        self.ends -= ends
        for j, reason in ends:
            column = self.outside[:, j]
            column[column == reason] = 0

    def drop_features(self, level: float, little: float) -> None:
        """Drop features until each is significant and brings enough, the least one first.

        The last one stays, because a group is told by something.

        Parameters
        ----------
        level : float
            Largest p-value of a feature that stays.
        little : float
            Least share that it brings of what the group is above the table.
        """
        while len(features := self.features) > 1:
            units = [{end for end in self.ends if end[0] == j} for j in features]
            if not self._drop_worst(units, level, little):
                break

    def drop_ends(self, level: float, little: float) -> None:
        """Drop ends in the same way, but the last one of a feature."""
        while True:
            several = Counter(j for j, _ in self.ends)
            units = [{end} for end in sorted(self.ends) if several[end[0]] > 1]
            if not self._drop_worst(units, level, little):
                break

    def _drop_worst(self, units: list[set[End]], level: float, little: float) -> bool:
        """Drop the ends of the least significant unit, if it is not significant."""
        n_out = np.where(self.rows, np.count_nonzero(self.outside, axis=1), -1)
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
        self._drop(units[int(np.argmax(p_values))])
        return True

    def _p_value(self, inside: np.ndarray, kept_out: np.ndarray, little: float) -> float:
        """Return the p-value of a difference of averages; above 1 where it hardly matters."""
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
        few = min(len(np.unique(self.groups[rows])) for rows in (inside, kept_out))
        if few < 2:
            return math.inf
        return float(student.sf((mean - other) / error, few - 1)) if error else 0.0

    def is_as_good_as(self, other: CrossFit) -> bool:
        """Return whether the rows inside average as much as those of another, or hardly less."""
        deviations, means = np.zeros(len(self.y)), []
        for sign, fitted in ((1.0, self), (-1.0, other)):
            inside = np.flatnonzero(fitted.inside & fitted.rows)
            if not len(inside):
                return fitted is other
            means.append(float(self.y[inside].mean()))
            deviations[inside] += sign * (self.y[inside] - means[-1]) / len(inside)
        little = LITTLE * (means[1] - float(self.y[self.rows].mean()))
        error = standard_error(deviations[self.rows], self.groups[self.rows])
        return means[1] - means[0] <= max(little, AS_GOOD * error)

    def without_dropped(self, box: np.ndarray, shape: Shape) -> np.ndarray:
        """Return a box without the ends that were dropped, or were not named, shape (size,)."""
        box, reasons = box.copy(), reasons_of(box, shape)
        for j, start in enumerate(shape.offsets[:-1]):
            part = slice(start, shape.offsets[j + 1])
            kept = [reason for feature, reason in self.ends if feature == j]
            box[part][~np.isin(reasons[part], kept)] = 1
        return box


def reasons_of(box: np.ndarray, shape: Shape) -> np.ndarray:
    """Say why each level is outside of a box, shape (size,) of uint8: 0 for those inside."""
    reasons = np.where(box, 0, OTHER).astype(np.uint8)
    for j, start in enumerate(shape.offsets[:-1]):
        stop = start + shape.n_values[j]
        among = start + np.flatnonzero(box[start:stop])
        if shape.ordered[j] and len(among):
            reasons[start : among[0]] = BELOW
            reasons[among[-1] + 1 : stop] = ABOVE
            reasons[stop : shape.offsets[j + 1]] = np.where(
                box[stop : shape.offsets[j + 1]], 0, MISSING
            )
    return reasons


def search_features(
    table: MemoryTable,
    y: np.ndarray,
    min_rows: int,
    features: Sequence[int],
) -> list[np.ndarray]:
    """Return the best boxes that some features tell, shape (size,), one for each tolerance."""
    some, target, shape = table.only(features), standardized(y), table.shape
    found = search_rows(some, target, min_rows)
    boxes = []
    for tolerance in TOLERANCES:
        told, box = recommend(some, target, found, tolerance), shape.everything
        for i, j in enumerate(features):
            part = told[some.shape.offsets[i] : some.shape.offsets[i + 1]]
            box[shape.offsets[j] : shape.offsets[j + 1]] = part
        boxes.append(box)
    return boxes


def standard_error(deviations: np.ndarray, groups: np.ndarray) -> float:
    """Return the standard error of a sum whose terms belong together where groups are the same."""
    _, numbers = np.unique(groups, return_inverse=True)
    sums = np.bincount(numbers, deviations)
    return math.sqrt(float(sums @ sums) * len(sums) / max(len(sums) - 1, 1))


def folds_of(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Deal rows to folds at random, those of a group to the same one, shape (n_rows,) of int."""
    n_groups = int(groups.max()) + 1
    return rng.permutation(np.arange(n_groups) % N_FOLDS)[groups]


@dataclass(frozen=True)
class Fitted:
    """What the rows left out say of the groups found without them.

    Attributes
    ----------
    box : ndarray of shape (size,)
        The box found in the whole table, of the conditions that pay.
    inside : ndarray of shape (n,) of int
        The rows that are in the group found in the same way without them.
    """

    box: np.ndarray
    inside: np.ndarray


def cross_fit(
    table: MemoryTable, y: np.ndarray, min_rows: int, groups: np.ndarray, rng: np.random.Generator
) -> Fitted:
    """Find the group whose conditions pay, and rows that had no part in the choice.

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
        Deals rows to folds.

    Returns
    -------
    fitted : Fitted
    """
    every, folds = tuple(range(len(table.levels))), folds_of(groups, rng)
    parts = {fold: np.flatnonzero(folds != fold) for fold in range(N_FOLDS)}
    parts = {fold: rows for fold, rows in parts.items() if 0 < len(rows) < len(y)}

    @cache
    def searched(features: tuple[int, ...]) -> list[CrossFit]:
        found = {}
        for fold, rows in parts.items():
            least = max(1, math.ceil(min_rows * len(rows) / len(y)))
            found[fold] = search_features(table.part(rows), y[rows], least, features)
        return [
            CrossFit(table, y, folds, groups, {fold: boxes[i] for fold, boxes in found.items()})
            for i in range(len(TOLERANCES))
        ]

    def chosen(rows: np.ndarray) -> tuple[tuple[int, ...], int, CrossFit]:
        """Choose features, the size and ends by some of the rows."""
        first = searched(every)[0].of_rows(rows)
        first.drop_features(LENIENT, 0.0)
        features = tuple(first.features) or every
        sizes = [fitted.of_rows(rows) for fitted in searched(features)]
        for fitted in sizes:
            fitted.drop_features(STRICT / max(first.n_named, 1), LITTLE)
            fitted.drop_ends(OF_END, LITTLE)
        best = max(i for i, fitted in enumerate(sizes) if fitted.is_as_good_as(sizes[0]))
        return features, best, sizes[best]

    features, size, fitted = chosen(np.ones(len(y), dtype=bool))
    box = search_features(table, y, min_rows, features)[size]
    inside = [np.flatnonzero(chosen(folds != fold)[2].inside & (folds == fold)) for fold in parts]
    return Fitted(
        fitted.without_dropped(box, table.shape),
        np.concatenate([np.zeros(0, dtype=np.intp), *inside]),
    )
