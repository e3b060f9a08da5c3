"""Verdict on a group: its average over rows that were not in the table.

The best of many groups looks good in a table of pure noise as well. Two questions are answered, by
doing the same search again:

*Is there a group at all?* The target is shuffled among the rows, the table is searched, and the
largest evidence over all boxes that the search meets, of all sizes, is noted. This is repeated. The
evidence in the table itself has to be among the largest [Phipson2010]_. In a large table both the
search and the shuffled searches use a random sample of the rows.

*What is the average of new rows of the group?* The table is searched five times, each time without
a fifth of its rows. The rows left out that are in the group found had no part in its choice, so
their average estimates the average of new rows, and no row is wasted [Chernozhukov2018]_.

A few outliers, such as a number with a misplaced decimal point, can hide everything else: values
count no further than some limits, see :class:`OutlierLimits`.

References
----------
.. [Phipson2010] B. Phipson and G. K. Smyth, "Permutation P-values Should Never Be Zero",
   Statistical Applications in Genetics and Molecular Biology 9, 2010.
.. [Chernozhukov2018] V. Chernozhukov et al., "Double/debiased machine learning for treatment and
   structural parameters", The Econometrics Journal 21, 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student

from skgpb.tables.memory import MemoryTable
from skgpb.tables.search import SubgroupPath, recommend, search_rows, standardized

# A group is real where chance does as well in no more than this share of the searches.
LEVEL = 0.02
# Number of searches of tables without a group, limited to about ten million numbers in all.
FEWEST, MOST, NUMBERS = 49, 199, 10_000_000
# If a table has more numbers, rows are sampled for these searches: a second or so is enough.
MOST_NUMBERS, FEWEST_DRAWN = 400_000, 5_000
N_FOLDS = 5
# The group found without a fifth of the rows is not quite the group: over the tables of
# benchmarks/tables, errors have a standard deviation of 1.15 to 1.25 times the standard error.
WIDER = 1.3
CONFIDENCE = 0.95
# An outlier is further from the middle of the table than the standard deviation times the minimum
# size of a group, so that alone it moves the average of a group by one standard deviation. The
# factor has these limits.
MIN_OUTLIER_SDS, MAX_OUTLIER_SDS = 10, 30
# The standard deviation leaves out at least this fraction, and this number, of the values at each
# end.
TAIL, FEW = 0.01, 3


@dataclass(frozen=True)
class OutlierLimits:
    """OutlierLimits at which values of a target are clipped.

    Attributes
    ----------
    low, high : float
        Values beyond count as these.
    outliers : ndarray of int
        Rows whose values are beyond, the most extreme first.
    """

    low: float
    high: float
    outliers: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, min_rows: int) -> OutlierLimits:
        """Find the outliers of a target.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
        min_rows : int
            Rows of the smallest group.
        """
        ordered = np.sort(y)
        cut = min(max(FEW, math.ceil(TAIL * len(y))), (len(y) - 1) // 4)
        # If a yes is rare, nothing is left without the tails.
        spread = float(ordered[cut : len(y) - cut].std()) or float(y.std())
        middle = float(np.median(y))
        far = min(max(min_rows, MIN_OUTLIER_SDS), MAX_OUTLIER_SDS) * spread
        low, high = middle - far, middle + far
        outliers = np.flatnonzero((y < low) | (y > high))
        return cls(low, high, outliers[np.argsort(-np.abs(y[outliers] - middle), kind="stable")])

    def clipped(self, y: np.ndarray) -> np.ndarray:
        """Return a target as it counts."""
        return y.clip(self.low, self.high) if len(self.outliers) else y


@dataclass(frozen=True)
class Verdict:
    """Verdict on a group: whether its average is likely to hold for new rows.

    Attributes
    ----------
    verdict : {"real", "chance"}
        Whether there is a group that chance alone does not explain.
    p_value : float
        Share of the tables without a group, this one counted among them, in which a search finds
        as much evidence.
    n_permutations : int
        Number of them that were searched: fewer if it was soon clear that chance does as well.
    average : float or None
        Expected average of new rows of the group; None where too few rows tell.
    interval : tuple of float or None
        Interval that contains it with 95 % probability.
    """

    verdict: Literal["real", "chance"]
    p_value: float
    n_permutations: int
    average: float | None
    interval: tuple[float, float] | None


def judge(
    table: MemoryTable,
    y: np.ndarray,
    min_rows: int,
    found: SubgroupPath,
    rng: np.random.Generator,
    n_permutations: int | None = None,
) -> Verdict:
    """Judge what the search of a table has found.

    Parameters
    ----------
    table : MemoryTable
        The features.
    y : ndarray of shape (n_rows,)
        The target: high is good.
    min_rows : int
        Fewest rows of a group.
    found : SubgroupPath
        By the search of ``standardized(y)``.
    rng : Generator
        Deals out targets and rows.
    n_permutations : int, default=None
        Searches of tables without a group. None for 49 to 199, the more the smaller the table is.
    """
    if n_permutations is None:
        size = max(1, table.codes.size)
        n_permutations = min(max(NUMBERS // size - 1, FEWEST), MOST)
    part, some, least, evidence = table, y, min_rows, found.most_evidence
    if table.codes.size > MOST_NUMBERS:
        n_some = max(FEWEST_DRAWN, MOST_NUMBERS // table.codes.shape[1])
        rows = np.sort(rng.choice(len(y), min(n_some, len(y)), replace=False))
        part, some = table.part(rows), y[rows]
        least = max(1, math.ceil(min_rows * len(rows) / len(y)))
        evidence = search_rows(part, standardized(some), least).most_evidence
    p_value, n = _p_value(part, some, least, evidence, rng, n_permutations)
    average, interval = _new_rows(table, y, min_rows, rng)
    return Verdict("real" if p_value <= LEVEL else "chance", p_value, n, average, interval)


def _p_value(
    table: MemoryTable,
    y: np.ndarray,
    min_rows: int,
    evidence: float,
    rng: np.random.Generator,
    n_permutations: int,
) -> tuple[float, int]:
    """Return the share of shuffled tables with as much evidence, and how many were searched."""
    target = standardized(y)
    # Once this number of tables has as much evidence the group is not real, whatever the others
    # have: the share among the tables searched so far is a p-value as well (Besag and Clifford,
    # Biometrika 78, 1991).
    enough = 10 + math.floor(LEVEL * (n_permutations + 1))
    as_much = 0
    for n in range(1, n_permutations + 1):
        without = search_rows(table, rng.permutation(target), min_rows)
        as_much += without.most_evidence >= evidence
        if as_much == enough:
            return as_much / n, n
    return (as_much + 1) / (n_permutations + 1), n_permutations


def _new_rows(
    table: MemoryTable, y: np.ndarray, min_rows: int, rng: np.random.Generator
) -> tuple[float | None, tuple[float, float] | None]:
    """Average of rows that had no part in the choice of their group, with an interval."""
    n = len(y)
    folds = rng.permutation(np.arange(n) % N_FOLDS)
    parts = []
    for fold in range(N_FOLDS):
        rows, others = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if not len(rows):
            continue
        part = table.part(rows)
        least = max(1, math.ceil(min_rows * len(rows) / n))
        target = standardized(y[rows])
        inside = recommend(part, target, search_rows(part, target, least))
        inside = table.shape.holds(table.codes[others], inside)
        parts.append(y[others[inside]])
    values = np.concatenate(parts) if parts else np.empty(0)
    if len(values) < 2:
        return None, None
    average = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = WIDER * error * float(student.isf(0.5 * (1.0 - CONFIDENCE), len(values) - 1))
    return average, (average - half, average + half)
