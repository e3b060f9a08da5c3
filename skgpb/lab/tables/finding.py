"""Search rows in memory and judge the group found, for the estimator and the command line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from skgpb.lab.tables.conditions import Subgroup
from skgpb.lab.tables.crossfit import cross_fit
from skgpb.lab.tables.memory import MemoryTable
from skgpb.lab.tables.search import SubgroupPath, search_rows, standardize
from skgpb.lab.tables.verdict import (
    LEVEL,
    OutlierLimits,
    Verdict,
    estimate_average,
    not_above,
    permutation_test,
)

# Largest share of the rows of the runner-up that may be in the best group as well.
MAX_COMMON_ROWS = 0.1
# Groups of other sizes: the largest number of them, and the least difference in size.
MOST_SIZES, DIFFERENT = 5, 0.15

# Expected average of new rows and its interval; both are None if there are too few held-out rows.
Expectation = tuple[float, tuple[float, float]] | tuple[None, None]


@dataclass(frozen=True)
class Size:
    """A group of another size, and what new rows of it are expected to average.

    Attributes
    ----------
    subgroup : Subgroup
        Conditions of the group.
    n_rows : int
        Its number of rows.
    average : float or None
        Expected average of new rows; None if there are too few held-out rows.
    interval : tuple of float or None
        Interval that contains ``average`` with 95 % probability.
    """

    subgroup: Subgroup
    n_rows: int
    average: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class JudgedGroup:
    """The group found in a table, and the verdict about new rows.

    Attributes
    ----------
    table : MemoryTable
        The table searched, with its targets clipped at ``limits``.
    minimizes : bool
        Whether a low average was sought.
    subgroup : Subgroup
        Conditions of the group, with ends of few digits.
    rows : ndarray of shape (n_rows,) of bool
        Mask of the rows of the group.
    average, table_average : float
        Averages of the target over the group and over the table, without clipping.
    limits : OutlierLimits
        Limits to which the target is clipped in the search and the verdict.
    verdict : Verdict
        Whether there is a group, and the average of new rows of it.
    runner_up : Subgroup or None
        The next best group that has few rows in common with the group; None if there is none.
    n_boxes : int
        Number of different groups that the search visited.
    min_rows : int
        Smallest number of rows of a group.
    sizes : list of Size
        Groups of other sizes among which this one was chosen, the largest first.
    """

    table: MemoryTable
    minimizes: bool
    subgroup: Subgroup
    rows: np.ndarray
    average: float
    table_average: float
    limits: OutlierLimits
    verdict: Verdict
    runner_up: Subgroup | None
    n_boxes: int
    min_rows: int
    sizes: list[Size]

    @property
    def counted_average(self) -> float:
        """Average of the clipped targets over the group."""
        return float(self.table.y[self.rows].mean())

    @property
    def counted_table_average(self) -> float:
        """Average of the clipped targets over the table."""
        return float(self.table.y.mean())

    @property
    def optimism(self) -> float | None:
        """Expected loss of the average from these rows to new ones; None if it is unknown."""
        new, average = self.verdict.average, self.counted_average
        if new is None:
            return None
        return new - average if self.minimizes else average - new

    def effects(self) -> dict[str, float]:
        """Return the gain in average by each side, by features, the largest first."""
        sign = -1.0 if self.minimizes else 1.0
        without = self.table.totals([self.subgroup.without(name) for name in self.subgroup]).mean
        gains = sign * (self.counted_average - without)
        order = np.argsort(-gains, kind="stable")
        names = list(self.subgroup)
        return {names[i]: float(gains[i]) for i in order}


def find_and_judge(
    table: MemoryTable,
    min_rows: int,
    *,
    minimize: bool = False,
    rng: np.random.Generator | None = None,
    n_permutations: int | None = None,
    groups: np.ndarray | None = None,
) -> JudgedGroup:
    """Search a table and judge the group found.

    Parameters
    ----------
    table : MemoryTable
    min_rows : int
        Fewest rows of a group.
    minimize : bool, default=False
        Whether a low average is sought.
    rng : Generator, default=None
        Source of the permutations; None for the same ones in every call. The group does not depend
        on it.
    n_permutations : int, default=None
        See :func:`~skgpb.lab.tables.verdict.permutation_test`.
    groups : ndarray of shape (n_rows,) of int, default=None
        Rows that belong together have the same number, from 0 on. None for independent rows.

    Returns
    -------
    judged : JudgedGroup

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.lab.tables import MemoryTable
    >>> from skgpb.lab.tables.finding import find_and_judge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 2))
    >>> y = (X > 0.7).all(axis=1) + 0.1 * rng.normal(size=1000)
    >>> judged = find_and_judge(MemoryTable(X, y), 50)
    >>> judged.verdict.verdict
    'real'
    """
    rng = np.random.default_rng(0) if rng is None else rng
    numbers = np.arange(table.n_rows) if groups is None else groups
    limits = OutlierLimits.from_target(table.y, min_rows)
    sign = -1.0 if minimize else 1.0
    y = sign * limits.clip(table.y)
    found = search_rows(table, standardize(y), min_rows)
    p_value, n_searched, n_as_good = permutation_test(
        table, y, min_rows, found, numbers, rng, n_permutations
    )
    # A fixed seed: the group must not depend on that of the permutations.
    fitted = cross_fit(table, y, min_rows, numbers, np.random.default_rng(0))
    subgroup = table.tidied(table.shape.subgroup(fitted.box))
    rows = table.rows(subgroup)

    def expect(held_out: np.ndarray, rows: np.ndarray) -> Expectation:
        """Return what new rows average in a group of ``rows`` (n_rows,), and the interval."""
        average, interval = estimate_average(y[held_out], numbers[held_out], y)
        if average is None or interval is None:
            return None, None
        average, (low, high) = not_above(average, interval, float(y[rows].mean()))
        return (-average, (-high, -low)) if minimize else (average, (low, high))

    average, interval = expect(fitted.inside, rows)
    # A group that new rows may not have is not real, however unlikely its evidence is.
    worst = None if interval is None else sign * interval[1 if minimize else 0]
    is_confirmed = worst is not None and worst > float(y.mean())
    verdict: Literal["real", "chance"] = "real" if p_value <= LEVEL and is_confirmed else "chance"
    others: dict[Subgroup, Size] = {}
    for box, held_out in fitted.sizes:
        other = table.tidied(table.shape.subgroup(box))
        inside = table.rows(other)
        others.setdefault(other, Size(other, int(inside.sum()), *expect(held_out, inside)))
    return JudgedGroup(
        table.with_target(limits.clip(table.y)),
        minimize,
        subgroup,
        rows,
        float(table.y[rows].mean()),
        float(table.y.mean()),
        limits,
        Verdict(verdict, p_value, n_searched, n_as_good, average, interval),
        _runner_up(table, found, rows),
        len(np.unique(found.inside, axis=0)),
        min_rows,
        _different_sizes(others.values(), int(rows.sum()), table.n_rows),
    )


def _different_sizes(sizes: Iterable[Size], n_rows: int, n_table: int) -> list[Size]:
    """Return groups that differ in size from the group of ``n_rows`` and from each other.

    They are sorted, the largest first.
    """
    kept, taken = [], [n_rows, n_table]
    for size in sorted(sizes, key=lambda size: -size.n_rows):
        if all(max(n, size.n_rows) * DIFFERENT <= abs(n - size.n_rows) for n in taken):
            kept.append(size)
            taken.append(size.n_rows)
    return kept[:MOST_SIZES]


def _runner_up(table: MemoryTable, found: SubgroupPath, rows: np.ndarray) -> Subgroup | None:
    """Return the next best group with few rows in common with ``rows``; None if there is none."""
    shrunken = found.shrunken_mean()
    for i in np.argsort(-shrunken, kind="stable"):
        if shrunken[i] <= 0.0:
            break
        others = table.shape.holds(table.codes, found.inside[i])
        if np.count_nonzero(others & rows) <= MAX_COMMON_ROWS * np.count_nonzero(others):
            return table.tidied(table.shape.subgroup(found.inside[i]))
    return None
