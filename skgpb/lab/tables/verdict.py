"""Verdict on a group: whether it is real, and its average over rows that were not in the table.

The best of many groups looks good in a table of pure noise as well. Two questions are answered:

*Is there a group at all?* The target is shuffled among the rows, the table is searched, and the
largest evidence over all boxes that the search meets, of all sizes, is noted. This is repeated. The
evidence in the table itself has to be among the largest [Phipson2010]_. In a large table both the
search and the shuffled searches use a random sample of the rows. Rows that belong together, such as
the visits of a patient, are shuffled together: the targets of one patient go to another one with
about as many visits.

*What is the average of new rows of the group?* Rows that had no part in its choice say, see
:mod:`skgpb.lab.tables.crossfit`. A target of two values has the interval of Clopper and Pearson for
their share, with as many rows as independent ones would have the same error. Of other targets the
interval is that of Student, with the transformation that removes the skewness of the average
[Hall1992]_.

A few outliers, such as a number with a misplaced decimal point, can hide everything else: values
count no further than some limits, see :class:`OutlierLimits`.

References
----------
.. [Phipson2010] B. Phipson and G. K. Smyth, "Permutation P-values Should Never Be Zero",
   Statistical Applications in Genetics and Molecular Biology 9, 2010.
.. [Hall1992] P. Hall, "On the Removal of Skewness by Transformation", Journal of the Royal
   Statistical Society B 54, 1992. Equation (2.4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import betaincinv
from scipy.stats import t as student

from skgpb.lab.tables.memory import MemoryTable
from skgpb.lab.tables.search import SubgroupPath, search_rows, standardized

# A group is real where chance does as well in no more than this share of the searches.
LEVEL = 0.02
# Number of searches of tables without a group, limited to about ten million numbers in all.
FEWEST, MOST, NUMBERS = 49, 199, 10_000_000
# If a table has more numbers, rows are sampled for these searches: a second or so is enough.
MOST_NUMBERS, FEWEST_DRAWN = 400_000, 5_000
# The group found without a tenth of the rows is not quite the group, and rows left out are not
# quite independent of it: errors are larger by about this factor (benchmarks.tables --verdicts).
WIDER = 1.4
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
    n_as_good : int
        Number of these in which it found as much.
    average : float or None
        Expected average of new rows of the group; None where too few rows tell.
    interval : tuple of float or None
        Interval that contains it with 95 % probability.
    """

    verdict: Literal["real", "chance"]
    p_value: float
    n_permutations: int
    n_as_good: int
    average: float | None
    interval: tuple[float, float] | None


def chance_of(
    table: MemoryTable,
    y: np.ndarray,
    min_rows: int,
    found: SubgroupPath,
    groups: np.ndarray,
    rng: np.random.Generator,
    n_permutations: int | None = None,
) -> tuple[float, int, int]:
    """Find out how often a search finds as much evidence in shuffled tables.

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
    groups : ndarray of shape (n_rows,) of int
        Rows that belong together have the same number, from 0 on.
    rng : Generator
        Deals out targets and rows.
    n_permutations : int, default=None
        Searches of tables without a group. None for 49 to 199, the more the smaller the table is.

    Returns
    -------
    p_value : float
    n_permutations, n_as_good : int
    """
    if n_permutations is None:
        size = max(1, table.codes.size)
        n_permutations = min(max(NUMBERS // size - 1, FEWEST), MOST)
    part, some, least, evidence = table, y, min_rows, found.most_evidence
    if table.codes.size > MOST_NUMBERS:
        n_some = max(FEWEST_DRAWN, MOST_NUMBERS // table.codes.shape[1])
        n_groups = int(groups.max()) + 1
        n_drawn = min(math.ceil(n_some * n_groups / len(y)), n_groups)
        drawn = np.zeros(n_groups, dtype=bool)
        drawn[rng.choice(n_groups, n_drawn, replace=False)] = True
        rows = np.flatnonzero(drawn[groups])
        part, some = table.part(rows), y[rows]
        groups = np.unique(groups[rows], return_inverse=True)[1]
        least = max(1, math.ceil(min_rows * len(rows) / len(y)))
        evidence = search_rows(part, standardized(some), least).most_evidence
    return _p_value(part, some, least, evidence, groups, rng, n_permutations)


def _p_value(
    table: MemoryTable,
    y: np.ndarray,
    min_rows: int,
    evidence: float,
    groups: np.ndarray,
    rng: np.random.Generator,
    n_permutations: int,
) -> tuple[float, int, int]:
    """Return the share of shuffled tables with as much evidence, their number, and how many had."""
    target = standardized(y)
    # Once this number of tables has as much evidence the group is not real, whatever the others
    # have: the share among the tables searched so far is a p-value as well (Besag and Clifford,
    # Biometrika 78, 1991).
    enough = 10 + math.floor(LEVEL * (n_permutations + 1))
    as_much = 0
    for n in range(1, n_permutations + 1):
        dealt = standardized(target[shuffled(groups, rng)])
        as_much += search_rows(table, dealt, min_rows).most_evidence >= evidence
        if as_much == enough:
            return as_much / n, n, as_much
    return (as_much + 1) / (n_permutations + 1), n_permutations, as_much


def shuffled(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the row whose target each row gets, where rows that belong together stay together.

    A group gets the targets of another one whose size has the same power of two below it, some of
    them again if it is the larger one. So the average of a group varies as it did.

    Parameters
    ----------
    groups : ndarray of shape (n_rows,) of int
        Rows that belong together have the same number, from 0 on.
    rng : Generator
    """
    n_rows, size = len(groups), np.bincount(groups)
    if len(size) == n_rows:
        return rng.permutation(n_rows)
    # Rows of a group one after the other, in any order.
    order = rng.permutation(n_rows)
    order = order[np.argsort(groups[order], kind="stable")]
    start = np.cumsum(size) - size
    giver = np.arange(len(size))
    magnitude = np.frexp(size)[1]
    for each in np.unique(magnitude):
        alike = np.flatnonzero(magnitude == each)
        giver[alike] = rng.permutation(alike)
    own = groups[order]
    place = np.arange(n_rows) - start[own]
    source = np.empty(n_rows, dtype=np.intp)
    source[order] = order[start[giver[own]] + place % size[giver[own]]]
    return source


def expected(
    values: np.ndarray, groups: np.ndarray, y: np.ndarray
) -> tuple[float | None, tuple[float, float] | None]:
    """Return the expected average of new rows and its interval of 95 %.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Targets of rows that had no part in the choice of their group.
    groups : ndarray of shape (n,) of int
        Rows that belong together have the same number.
    y : ndarray of shape (n_rows,)
        All targets.
    """
    _, numbers, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    n = len(sizes)
    if n < 2:
        return None, None
    average = float(values.mean())
    # Deviations of the average, one for each group: its error is that of their sum.
    parts = (np.bincount(numbers, values) - sizes * average) / len(values)
    error = math.sqrt(float(parts @ parts) * n / (n - 1))
    if is_two_valued(float(y.mean()), float(y.var()), float(y.min()), float(y.max())):
        low, high = float(y.min()), float(y.max())
        share = (average - low) / (high - low)
        # As many independent rows would have this error.
        alone = error == 0.0
        as_many = n if alone else share * (1.0 - share) * ((high - low) / error) ** 2 * n / (n - 1)
        ends = share_interval(share, min(as_many, len(values)) / WIDER**2)
        return average, (low + (high - low) * ends[0], low + (high - low) * ends[1])
    skewness = 0.0
    if error:
        skewness = float((parts**3).sum()) / error**3
    else:  # nothing tells how far they vary
        error = float(y.std()) / math.sqrt(n)
    far = float(student.isf(0.5 * (1.0 - CONFIDENCE), n - 1))
    ends = (_unskewed(far, skewness), _unskewed(-far, skewness))
    return average, (average - WIDER * error * ends[0], average - WIDER * error * ends[1])


def is_two_valued(mean: float, variance: float, low: float, high: float) -> bool:
    """Return whether numbers from ``low`` to ``high`` are these two only: none vary more."""
    return low < high and math.isclose(variance, (mean - low) * (high - mean), rel_tol=1e-9)


def share_interval(share: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson for a share among ``n`` independent rows."""
    yes, risk = share * n, 0.5 * (1.0 - confidence)
    low = float(betaincinv(yes, n - yes + 1.0, risk)) if yes > 0.0 else 0.0
    high = float(betaincinv(yes + 1.0, n - yes, 1.0 - risk)) if yes < n else 1.0
    return low, high


def _unskewed(quantile: float, skewness: float) -> float:
    """Turn a quantile of Student into one of the studentised average of a skewed law.

    ``skewness`` is that of the average, which is that of a row over the root of their number.
    """
    if abs(skewness) < 1e-6:
        return quantile
    return float(3.0 / skewness * (np.cbrt(1.0 + skewness * (quantile - skewness / 6.0)) - 1.0))
