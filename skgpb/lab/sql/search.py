"""The search of a table in a database: on a sample, then on all rows.

The engine of :mod:`skgpb.lab.tables` queries marginals some thirty times. It queries a sample,
which is a temporary table of the database, and each average has a variance between the sampled
blocks or rows. Each half of the sample is searched, and the group found is averaged over the other
half, with and without each of its conditions. Conditions that are not significant there are dropped
by the rule of :mod:`skgpb.lab.tables.crossfit`, and the whole sample is searched in the remaining
features. The group is then averaged over all rows by one query: the rows outside the sample had no
part in its choice.

A table with few rows is searched as a whole, in the features that are significant in both halves of
its rows, and the group of each half is averaged over the other half. The runner-up is the best
group among the rows outside the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import Literal

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from skgpb.lab.sql.table import IbisTable
from skgpb.lab.tables import Moments, find_subgroup
from skgpb.lab.tables.conditions import Subgroup
from skgpb.lab.tables.crossfit import LENIENT_LEVEL, MIN_EFFECT, STRICT_LEVEL
from skgpb.lab.tables.finding import MAX_COMMON_ROWS
from skgpb.lab.tables.levels import Shape
from skgpb.lab.tables.search import COST_OF_END, SubgroupResult, count_ends
from skgpb.lab.tables.verdict import CONFIDENCE, LEVEL, not_above, share_interval

# Rows of a sample, and the size of the smallest table that is sampled.
N_SAMPLE, SMALLEST_SAMPLED = 500_000, 400_000
# Standard errors that are added to the fewest rows of a group in a sample.
SPARE = 2.0
# Factor of standard errors, because a group of half of the rows is not quite that of all rows.
ERROR_FACTOR = 1.3


@dataclass(frozen=True)
class DatabaseSubgroup:
    """The group of rows that a search found in a table of a database.

    Attributes
    ----------
    subgroup : Subgroup
        Conditions of the group, with rounded ends.
    where : str
        Condition that selects the rows of the group, in the SQL of the database.
    n, mean : int, float
        Number of rows of the whole table in the group, and the average of their targets.
    counted_mean : float
        ``mean`` of the clipped targets, see ``limits`` of :class:`IbisTable`.
    verdict : {"real", "chance"}
        Whether there is a group that chance alone does not explain.
    p_value : float
        Upper bound on the p-value of the group.
    new_rows_average : float or None
        Expected average of new rows of the group, from rows that had no part in its choice. None if
        there are too few such rows.
    new_rows_interval : tuple of float or None
        Interval that contains ``new_rows_average`` with 95 % probability.
    effects : dict of str to float
        Gain in average by the condition on each feature, the largest first.
    runner_up : tuple of (str, int, float) or None
        Condition, number of rows and average of the clipped targets of the next best group, which
        has few rows in common with the group. None if there is none.
    n_sample : int
        Number of rows of the sample that was searched, or of the table.
    n_asked : int
        Number of queries to the sample.
    """

    subgroup: Subgroup
    where: str
    n: int
    mean: float
    counted_mean: float
    verdict: Literal["real", "chance"]
    p_value: float
    new_rows_average: float | None
    new_rows_interval: tuple[float, float] | None
    effects: dict[str, float]
    runner_up: tuple[str, int, float] | None
    n_sample: int
    n_asked: int


def find_in_database(
    table: IbisTable,
    min_rows: int,
    *,
    minimize: bool = False,
    n_sample: int | None = None,
    seed: int = 0,
) -> DatabaseSubgroup:
    """Find a group of rows of a table in a database with a high average.

    Parameters
    ----------
    table : IbisTable
        The table to search. Its features may have conditions.
    min_rows : int
        Fewest rows of the group.
    minimize : bool, default=False
        Whether a low average is sought.
    n_sample : int, default=None
        Approximate number of rows of the sample that is searched, before the group is averaged over
        all rows. None for half a million, half of a smaller table, and all rows of a table with
        fewer than 400,000 rows.
    seed : int, default=0
        Seed of the sample, if the database accepts one.

    Returns
    -------
    group : DatabaseSubgroup

    Notes
    -----
    ``p_value`` and ``new_rows_interval`` are those of Student for rows that had no part in the
    choice. If these rows had to choose among a few boxes, both hold for all of these boxes
    (Bonferroni). They assume that rows are independent of each other. For a target of two values
    the interval is that of Clopper and Pearson. The interval of Student has a lower coverage if the
    target is very skewed and few rows are in the group. Outliers of the target are clipped to
    ``table.limits`` in the search, in both statistics and in ``new_rows_average``.

    Examples
    --------
    >>> import ibis
    >>> from skgpb.lab.sql import IbisTable, find_in_database
    >>> database = ibis.duckdb.connect()
    >>> rows = "SELECT i % 24 AS hour, i % 7 AS day, i % 24 > 20 AS late FROM range(9999) t(i)"
    >>> _ = database.raw_sql(f"CREATE TABLE sales AS {rows}")
    >>> group = find_in_database(IbisTable(database.table("sales"), ["hour", "day"], "late"), 1000)
    >>> print(group.where)
    "hour" >= 21
    >>> group.n, group.mean, group.verdict
    (1248, 1.0, 'real')
    """
    if not 1 <= min_rows <= table.n_rows:
        raise ValueError(f"min_rows must be from 1 to {table.n_rows}, got {min_rows}")
    search = _Search(table, min_rows, -1.0 if minimize else 1.0)
    if n_sample is None:
        few = table.n_rows < SMALLEST_SAMPLED
        n_sample = table.n_rows if few else min(N_SAMPLE, table.n_rows // 2)
    if n_sample >= table.n_rows:
        return search.search_all()
    return search.search_sample(table.kept(n_sample, seed))


class _Search:
    """State of a search of one table.

    Parameters
    ----------
    table : IbisTable
        The table to search.
    min_rows : int
        Fewest rows of the group.
    sign : {1.0, -1.0}
        -1.0 if a low average is sought.
    """

    def __init__(self, table: IbisTable, min_rows: int, sign: float) -> None:
        self.table, self.min_rows, self.sign = table, min_rows, sign
        self.n_asked = 0

    def search_sample(self, sample: IbisTable) -> DatabaseSubgroup:
        """Search a sample, and average the group found over all rows."""
        box, _ = self._select_and_search(sample, SPARE)
        rivals = self._next_best(sample, box)
        without = [box.without(name) for name in box]
        boxes = list(dict.fromkeys([box, *without, Subgroup()]))
        every, few = self.table.totals([*boxes, *rivals]), sample.totals(boxes)
        fits = every.n[: len(boxes)] >= self.min_rows
        best, averages = 0, dict(zip(box, every.mean[1:].tolist(), strict=False))
        if not fits[0]:  # the box has too few rows: choose one with a condition less
            best = int(np.where(fits, self.sign * every.mean[: len(boxes)], -inf).argmax())
            others = sample.totals([boxes[best], *map(boxes[best].without, boxes[best])]).mean
            averages = dict(zip(boxes[best], others[1:].tolist(), strict=True))
        rest = _difference(every, few)
        outside = self.table.n_rows - sample.n_rows
        mean = (self.table.n_rows * self.table.mean - sample.n_rows * sample.mean) / outside
        seen = [(int(rest.n[best]), float(rest.mean[best]), float(rest.variance[best]), mean)]
        runner_up = self._runner_up(rivals, every) if fits[0] else None
        return self._group(boxes[best], seen, len(boxes), 1.0, sample, averages, runner_up)

    def search_all(self) -> DatabaseSubgroup:
        """Search all rows; search each half, and average its group over the other half."""
        rows = self.table.kept()
        box, halves = self._select_and_search(rows, 0.0)
        seen = []
        for other, group in halves:
            total = other.totals([group])
            moments = float(total.mean[0]), float(total.variance[0])
            seen.append((int(total.n[0]), *moments, other.mean))
        rivals = self._next_best(rows, box)
        every = rows.totals([*(box.without(name) for name in box), *rivals])
        averages = dict(zip(box, every.mean.tolist(), strict=False))
        runner_up = self._runner_up(rivals, every)
        return self._group(box, seen, 1, ERROR_FACTOR, rows, averages, runner_up)

    def _select_and_search(
        self, rows: IbisTable, spare: float
    ) -> tuple[Subgroup, list[tuple[IbisTable, Subgroup]]]:
        """Select features that are significant in both halves of the rows, and search in them.

        ``spare`` are the standard errors that are added to the fewest rows of a group.

        Returns
        -------
        box : Subgroup
            The group of all rows.
        halves : list of (IbisTable, Subgroup)
            Each half of the rows, and the group of the other half in the same features.
        """
        one, other = rows.halves()
        found = [self._search(one, spare), self._search(other, spare)]
        named = {name for each in found for name in each.larger}
        some = self._only(rows, self._significant_features((other, one), found, LENIENT_LEVEL, 0.0))
        one, other = some.halves()
        found = [self._search(each, spare, hills=True) for each in (one, other)]
        level = STRICT_LEVEL / max(len(named), 1)
        kept = self._significant_features((other, one), found, level, MIN_EFFECT)
        boxes = [
            Subgroup.from_sides(
                {name: each.subgroup[name] for name in each.subgroup if name in kept}
            )
            for each in found
        ]
        # The group of a half may be the best, although the search of all rows leads to another
        # hill.
        best = self._search(self._only(rows, kept), spare, hills=True, starts=boxes)
        return best.subgroup, [(other, boxes[0]), (one, boxes[1])]

    @staticmethod
    def _only(rows: IbisTable, kept: set[str]) -> IbisTable:
        return rows.only(list(kept)) if kept else rows

    def _significant_features(
        self,
        halves: tuple[IbisTable, IbisTable],
        found: list[SubgroupResult],
        level: float,
        little: float,
    ) -> set[str]:
        """Return the features of the groups ``found`` that are significant in other ``halves``.

        Each half had no part in the choice of its group. The least significant feature is dropped
        first. Tested are the largest groups that are about as good: with more rows the tests have
        more power.

        Parameters
        ----------
        halves : tuple of IbisTable
            For each group the half of the rows that tests it.
        found : list of SubgroupResult
            The groups of the other halves.
        level : float
            Largest p-value of a feature that stays.
        little : float
            Smallest effect of a feature that stays, as a share of the distance between the
            averages of the group and of the rows.
        """
        tests = [(rows, each.larger) for rows, each in zip(halves, found, strict=True)]
        while len(names := sorted({name for _, box in tests for name in box})) > 1:
            gains, errors, least = (dict.fromkeys(names, 0.0) for _ in range(3))
            for rows, box in tests:
                seen = rows.totals([box, *(box.without(name) for name in box)])
                noise = _errors(seen)[0]
                for i, name in enumerate(box, 1):
                    # The box is a part of the box without the condition: both averages share rows.
                    share = seen.n[0] / max(int(seen.n[i]), 1)
                    gains[name] += self.sign * seen.n[0] * (seen.mean[0] - seen.mean[i])
                    errors[name] += seen.n[0] ** 2 * noise * (1.0 - share)
                    least[name] += little * self.sign * seen.n[0] * (seen.mean[0] - rows.mean)
            p_values = {
                name: float(norm.sf(gains[name] / sqrt(max(errors[name], 1e-300))))
                if gains[name] > least[name]
                else 2.0 - min(gains[name], 0.0)
                for name in names
            }
            worst = max(p_values, key=p_values.__getitem__)
            if p_values[worst] <= level:
                break
            tests = [(rows, box.without(worst)) for rows, box in tests]
        return {name for _, box in tests for name in box}

    def _next_best(self, rows: IbisTable, box: Subgroup) -> list[Subgroup]:
        """Return the best group of the rows outside ``box``; an empty list if there is none.

        It must be better than the table, and have few rows in common with ``box``.
        """
        outside = rows.outside(box) if len(box) else rows
        least = ceil(self.min_rows * rows.n_rows / self.table.n_rows)
        if not len(box) or outside.n_rows < max(least, 2):
            return []
        group = find_subgroup(outside, max(least, 1), minimize=self.sign < 0.0)
        self.n_asked += group.n_asked
        shape = Shape.from_levels(rows.levels)
        levels = shape.inside(group.subgroup)
        seen = rows.totals([group.subgroup, shape.subgroup(levels & shape.inside(box))])
        gain = self.sign * (float(seen.mean[0]) - rows.mean)
        evidence = gain**2 / max(float(_errors(seen)[0]), 1e-300)
        evidence -= COST_OF_END * float(count_ends(levels[None], shape)[0])
        apart = seen.n[1] <= MAX_COMMON_ROWS * seen.n[0]
        return [group.subgroup] if gain > 0.0 and evidence > 0.0 and apart else []

    def _runner_up(self, rivals: list[Subgroup], every: Moments) -> tuple[str, int, float] | None:
        """Return the runner-up with its moments, the last of ``every``; None if there is none."""
        if not rivals:
            return None
        return self.table.where(rivals[0]), int(every.n[-1]), float(every.mean[-1])

    def _search(
        self,
        rows: IbisTable,
        spare: float,
        hills: bool = False,
        starts: Sequence[Subgroup] = (),
    ) -> SubgroupResult:
        """Search rows, also from the boxes ``starts``."""
        least = self.min_rows * rows.n_rows / self.table.n_rows
        least = min(max(ceil(least + spare * sqrt(least)), 1), rows.n_rows)
        group = find_subgroup(
            rows, least, minimize=self.sign < 0.0, pairs=True, hills=hills, starts=starts
        )
        self.n_asked += group.n_asked
        return group

    def _group(
        self,
        box: Subgroup,
        seen: list[tuple[int, float, float, float]],
        n_choices: int,
        wider: float,
        rows: IbisTable,
        without: dict[str, float],
        runner_up: tuple[str, int, float] | None,
    ) -> DatabaseSubgroup:
        """Judge a box by rows that had no part in the choice.

        Parameters
        ----------
        box : Subgroup
            The recommended group.
        seen : list of (int, float, float, float)
            For each search: number, average and variance of such rows in the group found, and
            average of all such rows.
        n_choices : int
            Number of boxes among which these rows helped to choose.
        wider : float
            Factor of the standard error.
        rows : IbisTable
            The table searched.
        without : dict of str to float
            Average without the condition on each feature.
        runner_up : tuple of (str, int, float) or None
            As in the result.
        """
        p_value, average, interval = 1.0, None, None
        tested = [each for each in seen if each[0] > 1]
        if tested:
            n, mean, variance, of_all = np.array(tested).T
            squared = variance / (n - 1.0)
            gains = self.sign * (mean - of_all)
            with np.errstate(divide="ignore", invalid="ignore"):
                tails = np.where(gains > 0.0, student.sf(gains / np.sqrt(squared), n - 1.0), 1.0)
            p_value = float(min(1.0, n_choices * len(tested) * tails.min()))
            share = n / n.sum()
            average = float(share @ mean)
            far = wider * sqrt(share**2 @ squared)
            risk = (1.0 - CONFIDENCE) / n_choices
            if rows.is_two_valued:
                low, high = self.table.extremes
                share_of = (average - low) / (high - low)
                ends = share_interval(share_of, n.sum() / wider**2, 1.0 - risk)
                interval = (low + (high - low) * ends[0], low + (high - low) * ends[1])
            else:
                far *= student.isf(0.5 * risk, n.sum() - len(n))
                interval = (average - float(far), average + float(far))
        where = self.table.where(box)
        count, average_now, counted = self.table.averages(where)
        if average is not None and interval is not None:
            average, interval = not_above(average, interval, counted, self.sign)
        effects = {name: self.sign * (counted - mean) for name, mean in without.items()}
        return DatabaseSubgroup(
            self.table.read(box),
            where,
            count,
            average_now,
            counted,
            "real" if p_value <= LEVEL else "chance",
            p_value,
            average,
            interval,
            dict(sorted(effects.items(), key=lambda each: -each[1])),
            runner_up,
            rows.n_rows,
            self.n_asked,
        )


def _difference(every: Moments, few: Moments) -> Moments:
    """Return the moments of the rows of groups in ``every`` but not in its part ``few``.

    Further groups of ``every`` are left out.
    """
    each_n, each_mean, variance = (x[: len(few.n)] for x in (every.n, every.mean, every.variance))
    n = each_n - few.n
    some = np.maximum(n, 1)
    mean = (each_n * each_mean - few.n * few.mean) / some
    squares = each_n * (variance + (each_mean - mean) ** 2)
    squares = squares - few.n * (few.variance + (few.mean - mean) ** 2)
    return Moments(n, np.where(n > 0, mean, 0.0), np.maximum(squares / some, 0.0))


def _errors(moments: Moments) -> np.ndarray:
    """Return the squared standard errors (n_groups,) of averages."""
    if moments.noise is not None:
        return moments.noise
    return moments.variance / np.maximum(moments.n - 1, 1)
