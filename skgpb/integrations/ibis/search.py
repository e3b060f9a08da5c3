"""The search of a table in a database: on a sample, then on all rows.

The engine of :mod:`skgpb.tables` asks for marginals some thirty times. It asks a sample, which is a
temporary table of the database, and each average comes with its variance between the sampled
blocks or rows. Half of the sample is searched, and what was found is averaged over the other half,
with and without each of its sides. Sides that bring little there, or no more than a standard error,
are dropped, and the whole sample is searched in the features that are left. What was found is
averaged over all rows by one query: the rows outside the sample had no part in the choice.

A table with few rows is searched as a whole. Then two halves of its rows, taken at random, are
searched as well, and what is found in one half is averaged over the other one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import Literal

import numpy as np
from scipy.stats import t as student

from skgpb.integrations.ibis.table import IbisTable
from skgpb.tables import Moments, find_group
from skgpb.tables.boxes import Box

__all__ = ["find_in_database"]

# Rows of a sample, and the size of the smallest table that is sampled.
N_SAMPLE, SMALLEST = 500_000, 400_000
# A side is dropped that brings less than this share of what the group is above the table.
LITTLE = 0.05
# Standard errors by which a sampled group has more rows than it must have.
SPARE = 2.0
# A group is real where chance does as well with no more than this probability.
LEVEL = 0.02
# A group that was found in half of the rows is not exactly the group of all rows.
WIDER = 1.3
CONFIDENCE = 0.95


@dataclass(frozen=True)
class DatabaseGroup:
    """A group of rows of a table in a database.

    Attributes
    ----------
    box : Box
        Conditions of the group, with rounded ends.
    where : str
        The condition that selects its rows, in the SQL of the database.
    n, mean : int, float
        Number of its rows and average of their targets, of all rows.
    counted_mean : float
        The same average, outliers as they count; see ``limits`` of :class:`IbisTable`.
    verdict : {"real", "chance"}
        Whether chance alone explains it.
    p_value : float
        Largest probability with which chance does as well.
    new_rows_average : float or None
        Expected average of new rows of the group: from rows that had no part in the choice. None
        where too few rows tell.
    new_rows_interval : tuple of float or None
        Interval that contains it with 95 % probability.
    n_sample : int
        Rows of the sample that was searched, or of the table.
    n_asked : int
        Number of queries to the sample.
    """

    box: Box
    where: str
    n: int
    mean: float
    counted_mean: float
    verdict: Literal["real", "chance"]
    p_value: float
    new_rows_average: float | None
    new_rows_interval: tuple[float, float] | None
    n_sample: int
    n_asked: int


def find_in_database(
    table: IbisTable,
    min_rows: int,
    *,
    minimize: bool = False,
    n_sample: int | None = None,
    seed: int = 0,
) -> DatabaseGroup:
    """Find a group of rows of a table in a database with a high average.

    Parameters
    ----------
    table : IbisTable
        Its features are those that may tell the group.
    min_rows : int
        Fewest rows of the group.
    minimize : bool, default=False
        Whether a low average is sought.
    n_sample : int, default=None
        About how many rows are searched before what was found is averaged over all rows. None for
        half a million, for half of a smaller table, and for all rows of one with fewer than
        400,000.
    seed : int, default=0
        Seed of the sample, if the database takes one.

    Returns
    -------
    group : DatabaseGroup

    Notes
    -----
    ``p_value`` and ``new_rows_interval`` are those of Student for rows that had no part in the
    choice; where these rows chose among a few boxes, both hold for all of them (Bonferroni). They
    take rows to be independent of each other. Outliers of the target count up to ``table.limits``
    in the search, in both and in ``new_rows_average``.

    Examples
    --------
    >>> import ibis
    >>> from skgpb.integrations.ibis import IbisTable, find_in_database
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
        few = table.n_rows < SMALLEST
        n_sample = table.n_rows if few else min(N_SAMPLE, table.n_rows // 2)
    if n_sample >= table.n_rows:
        return search.of_all()
    return search.of_sample(table.kept(n_sample, seed))


class _Search:
    """A search of one table.

    Parameters
    ----------
    table : IbisTable
        The table to search.
    min_rows : int
        Fewest rows of the group.
    sign : {1.0, -1.0}
        -1.0 where a low average is sought.
    """

    def __init__(self, table: IbisTable, min_rows: int, sign: float) -> None:
        self.table, self.min_rows, self.sign = table, min_rows, sign
        self.n_asked = 0

    def of_sample(self, sample: IbisTable) -> DatabaseGroup:
        """Search a sample, and average what was found over all rows."""
        one, other = sample.halves()
        first = self._found(one)
        boxes = [first, *(first.without(name) for name in first)]
        seen = other.totals(boxes)
        gains = self.sign * (seen.mean[0] - seen.mean[1:])
        # The box is a part of each of the others. The error of a difference is that of the rest.
        share = seen.n[0] / np.maximum(seen.n[1:], 1)
        errors = np.zeros(len(share)) if seen.noise is None else seen.noise[0] * (1.0 - share)
        enough = LITTLE * self.sign * (seen.mean[0] - other.mean)
        enough = np.maximum(enough, np.sqrt(errors))
        kept = [name for name, told in zip(first, gains >= enough, strict=True) if told]
        start = Box(tuple(side for side in first.sides if side[0] in kept))
        again = self._found(sample.only(kept), SPARE, start) if kept else first
        # The first one, or another one where it is better or the first one has too few rows.
        without = (first.without(name) for name in first)
        boxes = list(dict.fromkeys([again, first, *without, Box()]))
        every, few = self.table.totals(boxes), sample.totals(boxes)
        rest = _difference(every, few)
        fits = every.n >= self.min_rows
        best = int(np.where(fits, self.sign * every.mean, -inf).argmax())
        told = [(int(rest.n[best]), float(rest.mean[best]), float(rest.variance[best]))]
        outside = self.table.n_rows - sample.n_rows
        mean = (self.table.n_rows * self.table.mean - sample.n_rows * sample.mean) / outside
        return self._group(boxes[best], told, [mean], len(boxes), 1.0, sample)

    def of_all(self) -> DatabaseGroup:
        """Search all rows; search each half, and average what was found over the other one."""
        rows = self.table.kept()
        halves = rows.halves()
        box = self._found(rows, 0.0)
        seen, means = [], []
        for half, other in (halves, halves[::-1]):
            found = other.totals([self._found(half, 0.0)])
            seen.append((int(found.n[0]), float(found.mean[0]), float(found.variance[0])))
            means.append(other.mean)
        return self._group(box, seen, means, 1, WIDER, rows)

    def _found(self, rows: IbisTable, spare: float = SPARE, start: Box | None = None) -> Box:
        """Search some of the rows, from a box that is not too small."""
        least = self.min_rows * rows.n_rows / self.table.n_rows
        least = min(max(ceil(least + spare * sqrt(least)), 1), rows.n_rows)
        if start is not None and rows.totals([start]).n[0] < least:
            start = None
        group = find_group(rows, least, minimize=self.sign < 0.0, start=start)
        self.n_asked += group.n_asked
        return group.box

    def _group(
        self,
        box: Box,
        seen: list[tuple[int, float, float]],
        means: list[float],
        n_choices: int,
        wider: float,
        rows: IbisTable,
    ) -> DatabaseGroup:
        """Judge a box by rows that had no part in the choice.

        Parameters
        ----------
        box : Box
            The recommendation.
        seen : list of (int, float, float)
            Number, average and variance of such rows in what was found; one entry for each search.
        means : list of float
            Averages of all such rows.
        n_choices : int
            Number of boxes that these rows helped to choose from.
        wider : float
            Factor of the standard error.
        rows : IbisTable
            The table searched.
        """
        p_value, average, interval = 1.0, None, None
        told = [(*each, mean) for each, mean in zip(seen, means, strict=True) if each[0] > 1]
        if told:
            n, mean, variance, of_all = np.array(told).T
            squared = variance / (n - 1.0)
            gains = self.sign * (mean - of_all)
            with np.errstate(divide="ignore", invalid="ignore"):
                tails = np.where(gains > 0.0, student.sf(gains / np.sqrt(squared), n - 1.0), 1.0)
            p_value = float(min(1.0, n_choices * len(told) * tails.min()))
            share = n / n.sum()
            average = float(share @ mean)
            far = wider * sqrt(share**2 @ squared)
            far *= student.isf(0.5 * (1.0 - CONFIDENCE) / n_choices, n.sum() - len(n))
            interval = (average - float(far), average + float(far))
        where = self.table.where(box)
        count, average_now, counted = self.table.averages(where)
        return DatabaseGroup(
            self.table.read(box),
            where,
            count,
            average_now,
            counted,
            "real" if p_value <= LEVEL else "chance",
            p_value,
            average,
            interval,
            rows.n_rows,
            self.n_asked,
        )


def _difference(every: Moments, few: Moments) -> Moments:
    """Moments of the rows of groups that are not among some of their rows."""
    n = every.n - few.n
    some = np.maximum(n, 1)
    mean = (every.n * every.mean - few.n * few.mean) / some
    squares = every.n * (every.variance + (every.mean - mean) ** 2)
    squares = squares - few.n * (few.variance + (few.mean - mean) ** 2)
    return Moments(n, np.where(n > 0, mean, 0.0), np.maximum(squares / some, 0.0))
