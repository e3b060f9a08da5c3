"""Verdict on a group: whether it is real, and its average over rows that were not in the table.

The best of many groups looks good in a table of pure noise as well. The verdict answers two
questions:

*Is there a group at all?* A permutation test: the target is permuted among the rows, the table is
searched, and the largest evidence of all boxes that the search visits, of all sizes, is noted. This
is repeated. The group is real if the evidence in the table itself is among the largest
[Phipson2010]_. In a large table all these searches use a random sample of the rows. Rows that
belong together, such as the visits of a patient, are permuted together: a patient gets the targets
of another one with about as many visits.

*Which average do new rows of the group have?* It is estimated by held-out rows, which had no part
in the choice of the group, see :mod:`skgpb.lab.tables.crossfit`. For a target of two values the
interval is that of Clopper and Pearson, with the number of independent rows that would have the
same standard error. For other targets it is that of Student, with the transformation that removes
the skewness of the average [Hall1992]_.

A few outliers, such as a number with a misplaced decimal point, can hide everything else: targets
are clipped, see :class:`OutlierLimits`.

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

from skgpb.lab.tables.levels import is_two_valued
from skgpb.lab.tables.memory import MemoryTable
from skgpb.lab.tables.search import SubgroupPath, search_rows, standardize

# Largest p-value of a real group.
LEVEL = 0.02
# Cost: smallest and largest default number of permutations; between them, numbers in all tables.
MIN_PERMUTATIONS, MAX_PERMUTATIONS, PERMUTED_NUMBERS = 49, 199, 10_000_000
# Cost: rows of a table with more numbers are sampled for these searches, but at least 5,000 rows.
MOST_NUMBERS, FEWEST_DRAWN = 400_000, 5_000
# Factor of standard errors, because the groups of the folds are not quite the group, and held-out
# rows are not quite independent of them (measured by benchmarks.tables --verdicts).
ERROR_FACTOR = 1.4
CONFIDENCE = 0.95
# An outlier is further from the median than the standard deviation times the minimum size of a
# group, so that alone it moves the average of a group by one standard deviation. The factor has
# these limits.
MIN_OUTLIER_SDS, MAX_OUTLIER_SDS = 10, 30
# The standard deviation leaves out at least this fraction, and this number, of the values at each
# end.
TAIL, TAIL_VALUES = 0.01, 3


@dataclass(frozen=True)
class OutlierLimits:
    """Limits to which the values of a target are clipped.

    Attributes
    ----------
    low, high : float
        Smallest and largest value after clipping.
    outliers : ndarray of int
        Rows with values beyond the limits, the most extreme first.
    """

    low: float
    high: float
    outliers: np.ndarray

    @classmethod
    def from_target(cls, y: np.ndarray, min_rows: int) -> OutlierLimits:
        """Find the outliers of a target.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
        min_rows : int
            Rows of the smallest group.
        """
        ordered = np.sort(y)
        cut = min(max(TAIL_VALUES, math.ceil(TAIL * len(y))), (len(y) - 1) // 4)
        # If one of two values is rare, the values without the tails are constant.
        spread = float(ordered[cut : len(y) - cut].std()) or float(y.std())
        middle = float(np.median(y))
        far = min(max(min_rows, MIN_OUTLIER_SDS), MAX_OUTLIER_SDS) * spread
        low, high = middle - far, middle + far
        outliers = np.flatnonzero((y < low) | (y > high))
        return cls(low, high, outliers[np.argsort(-np.abs(y[outliers] - middle), kind="stable")])

    def clip(self, y: np.ndarray) -> np.ndarray:
        """Return the target (n_rows,) clipped to the limits."""
        return y.clip(self.low, self.high) if len(self.outliers) else y


@dataclass(frozen=True)
class Verdict:
    """Verdict on a group: whether its average is likely to hold for new rows.

    Attributes
    ----------
    verdict : {"real", "chance"}
        Whether there is a group that chance alone does not explain.
    p_value : float
        p-value of the permutation test: the share of tables with permuted targets, and the table
        itself, in which the search finds as much evidence.
    n_permutations : int
        Number of permuted tables that were searched; fewer if the p-value is soon seen to be large.
    n_as_good : int
        Number of permuted tables with as much evidence.
    average : float or None
        Expected average of new rows of the group; None if there are too few held-out rows.
    interval : tuple of float or None
        Interval that contains ``average`` with 95 % probability.
    """

    verdict: Literal["real", "chance"]
    p_value: float
    n_permutations: int
    n_as_good: int
    average: float | None
    interval: tuple[float, float] | None


def permutation_test(
    table: MemoryTable,
    y: np.ndarray,
    min_rows: int,
    path: SubgroupPath,
    groups: np.ndarray,
    rng: np.random.Generator,
    n_permutations: int | None = None,
) -> tuple[float, int, int]:
    """Return the p-value of the evidence, by searches of permuted tables.

    Parameters
    ----------
    table : MemoryTable
        The features.
    y : ndarray of shape (n_rows,)
        The target: high is good.
    min_rows : int
        Fewest rows of a group.
    path : SubgroupPath
        Result of the search of ``standardize(y)``.
    groups : ndarray of shape (n_rows,) of int
        Rows that belong together have the same number, from 0 on.
    rng : Generator
        Source of the permutations, and of the sample of rows.
    n_permutations : int, default=None
        Maximum number of permutations. None for 49 to 199, the more the smaller the table is.

    Returns
    -------
    p_value : float
    n_permutations, n_as_good : int
        Number of permuted tables that were searched, and of those with as much evidence.
    """
    if n_permutations is None:
        size = max(1, table.codes.size)
        n_permutations = min(max(PERMUTED_NUMBERS // size - 1, MIN_PERMUTATIONS), MAX_PERMUTATIONS)
    part, some, least, evidence = table, y, min_rows, path.most_evidence
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
        evidence = search_rows(part, standardize(some), least).most_evidence
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
    """Return the p-value, the number of permuted tables, and of those with as much evidence."""
    target = standardize(y)
    # Once this number of tables has as much evidence, the group cannot become real any more. The
    # share among the tables searched so far is a p-value as well (Besag and Clifford, Biometrika
    # 78, 1991).
    enough = 10 + math.floor(LEVEL * (n_permutations + 1))
    as_much = 0
    for n in range(1, n_permutations + 1):
        permuted = standardize(target[grouped_permutation(groups, rng)])
        as_much += search_rows(table, permuted, min_rows).most_evidence >= evidence
        if as_much == enough:
            return as_much / n, n, as_much
    return (as_much + 1) / (n_permutations + 1), n_permutations, as_much


def grouped_permutation(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the row (n_rows,) whose target each row gets, permuting groups as a whole.

    A group gets the targets of another group of about the same size: both sizes are between the
    same two powers of two. A larger group gets some of the targets twice. So the averages of groups
    vary as much as before.

    Parameters
    ----------
    groups : ndarray of shape (n_rows,) of int
        Rows that belong together have the same number, from 0 on.
    rng : Generator
    """
    n_rows, size = len(groups), np.bincount(groups)
    if len(size) == n_rows:
        return rng.permutation(n_rows)
    # Sort rows by groups, in random order within each group.
    order = rng.permutation(n_rows)
    order = order[np.argsort(groups[order], kind="stable")]
    start = np.cumsum(size) - size
    giver = np.arange(len(size))
    magnitude = np.frexp(size)[1]
    for each in np.unique(magnitude):
        alike = np.flatnonzero(magnitude == each)
        giver[alike] = rng.permutation(alike)
    own = groups[order]
    offset = np.arange(n_rows) - start[own]
    source = np.empty(n_rows, dtype=np.intp)
    source[order] = order[start[giver[own]] + offset % size[giver[own]]]
    return source


def estimate_average(
    values: np.ndarray, groups: np.ndarray, y: np.ndarray
) -> tuple[float | None, tuple[float, float] | None]:
    """Return the expected average of new rows and its 95 % interval, or None for both.

    They are None if the rows are of fewer than two groups.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Targets of held-out rows, which had no part in the choice of the subgroup.
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
    # Contributions of the groups to the error of the average, which is their sum.
    parts = (np.bincount(numbers, values) - sizes * average) / len(values)
    error = math.sqrt(float(parts @ parts) * n / (n - 1))
    if is_two_valued(float(y.mean()), float(y.var()), float(y.min()), float(y.max())):
        low, high = float(y.min()), float(y.max())
        share = (average - low) / (high - low)
        # Number of independent rows with this error.
        alone = error == 0.0
        as_many = n if alone else share * (1.0 - share) * ((high - low) / error) ** 2 * n / (n - 1)
        ends = share_interval(share, min(as_many, len(values)) / ERROR_FACTOR**2)
        return average, (low + (high - low) * ends[0], low + (high - low) * ends[1])
    skewness = 0.0
    if error:
        skewness = float((parts**3).sum()) / error**3
    else:  # equal values do not show how much new rows vary
        error = float(y.std()) / math.sqrt(n)
    far = float(student.isf(0.5 * (1.0 - CONFIDENCE), n - 1))
    ends = (_correct_skewness(far, skewness), _correct_skewness(-far, skewness))
    return average, (
        average - ERROR_FACTOR * error * ends[0],
        average - ERROR_FACTOR * error * ends[1],
    )


def not_above(
    average: float, interval: tuple[float, float], chosen: float, sign: float = 1.0
) -> tuple[float, tuple[float, float]]:
    """Limit the expected average of new rows by the average of the rows that chose the group.

    That average, ``chosen``, is biased upwards: new rows cannot be expected to exceed it, however
    lucky the held-out rows are. ``sign`` is -1.0 if low averages are sought.
    """
    average = sign * min(sign * average, sign * chosen)
    return average, (min(interval[0], average), max(interval[1], average))


def share_interval(share: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson for a share among ``n`` independent rows."""
    yes, risk = share * n, 0.5 * (1.0 - confidence)
    low = float(betaincinv(yes, n - yes + 1.0, risk)) if yes > 0.0 else 0.0
    high = float(betaincinv(yes + 1.0, n - yes, 1.0 - risk)) if yes < n else 1.0
    return low, high


def _correct_skewness(quantile: float, skewness: float) -> float:
    """Convert a quantile of Student to one of the studentised average of a skewed distribution.

    ``skewness`` is that of the average: the skewness of a row over the root of the number of rows.
    """
    if abs(skewness) < 1e-6:
        return quantile
    return float(3.0 / skewness * (np.cbrt(1.0 + skewness * (quantile - skewness / 6.0)) - 1.0))
