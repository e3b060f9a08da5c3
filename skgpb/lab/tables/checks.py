"""Checks of a table before it is searched: codes for missing values, and rows that repeat."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

# Largest number of rows of a table that is checked for rows that repeat.
MOST_CHECKED = 200_000
# Smallest share of the rows, and smallest number of rows, with a code for missing values.
SHARE_OF_COPIES, FEWEST_COPIES = 0.01, 3
# Share of the other values at each end that is left out of their range.
TAIL = 0.01
# Fewer different values may be grades, and then the lowest or highest grade is not a code.
FEWEST_VALUES = 10
# Smallest number of values of an identity, and smallest average number of rows with a value.
FEWEST_IDENTITIES, FEWEST_REPEATS = 5, 1.5
# A column belongs to an identity if at least this share of its rows has the most frequent value
# among the rows with the same identity.
EQUAL_SHARE = 0.95
# Smallest ratio of the gaps between averages of neighbouring values, and of distant ones, if the
# rows with a value are a cluster. Squared gaps in units of noise count up to MOST_OF_GAP, and are
# MEAN_OF_GAP on average if they are noise; least excess of their average, also over the root of
# their number.
ROUGHNESS, MOST_OF_GAP, MEAN_OF_GAP = 0.6, 4.0, 0.92
LEAST_EXCESS, ERRORS_OF_EXCESS = 0.3, 5.5
# Fewer different values may be grades or kinds, whose effects need not be smooth.
FEWEST_CLUSTERS = 15
IDENTITY = re.compile(
    r"(^|[\W_])(id|patient|subject|person|customer|client|user|member|participant|household|"
    r"student|animal)s?([\W_]*(id|nr|no|number|name|code|key))?$|^[a-zA-Z]*[a-z]I[Dd]$",
    re.IGNORECASE,
)


def missing_code(y: np.ndarray) -> float | None:
    """Return a value that is frequent and far from all others, such as 9999 or -200; else None.

    Its distance from the nearest value exceeds the range of the others without 1 % at each end. If
    it is the only negative value, half the interquartile range of the others is enough.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Finite numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.lab.tables.checks import missing_code
    >>> missing_code(np.array([*np.linspace(0, 40, 90), *[9999.0] * 10]))
    9999.0
    >>> missing_code(np.linspace(0, 40, 100)) is None
    True
    """
    values, counts = np.unique(y, return_counts=True)
    if len(values) < FEWEST_VALUES:
        return None
    ends = [(values[0], counts[0], values[1]), (values[-1], counts[-1], values[-2])]
    for value, count, nearest in sorted(ends, key=lambda end: -abs(end[0] - end[2])):
        if not max(FEWEST_COPIES, SHARE_OF_COPIES * len(y)) <= count <= 0.5 * len(y):
            continue
        others = y[y != value]
        low, quarter, three, high = np.quantile(others, [TAIL, 0.25, 0.75, 1.0 - TAIL])
        far = abs(float(value) - float(nearest))
        is_only_negative = value < 0.0 <= nearest and far > 0.5 * (three - quarter) > 0.0
        if far > high - low > 0.0 or is_only_negative:
            return float(value)
    return None


def find_identity(columns: Mapping[str, np.ndarray], y: np.ndarray) -> str | None:
    """Return the name of a column whose rows with the same value seem to belong together, or None.

    Its values are texts or whole numbers that repeat, and its name is that of an identity, or most
    other columns have one value in all rows with the same identity. Or it is a number whose rows
    with the same value have alike targets, see :func:`find_cluster`.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (n_rows,)
        Floats, or objects; a missing object is None.
    y : ndarray of shape (n_rows,)
        The target.
    """
    codes = {name: _codes(column) for name, column in columns.items()}
    for name, column in columns.items():
        if column.dtype.kind == "f" and not (column == np.floor(column)).all():
            continue
        own, n_rows = codes[name], len(column)
        n_values = int(own.max()) + 1 if n_rows else 0
        if n_values < FEWEST_IDENTITIES or n_rows < FEWEST_REPEATS * n_values:
            continue
        if IDENTITY.search(name):
            return name
        others = [each for other, each in codes.items() if other != name and each.max() > 0]
        same = [_is_same(own, each, n_values) for each in others]
        if len(same) > 1 and 2 * sum(same) > len(same):
            return name
    return find_cluster({n: codes[n] for n, each in columns.items() if each.dtype.kind == "f"}, y)


def find_cluster(numbers: Mapping[str, np.ndarray], y: np.ndarray) -> str | None:
    """Return the name of a number whose rows with equal values have alike targets; None without.

    The targets of such rows are more alike than those of rows with the next larger value, as if
    the value were that of a patient, and not that of a visit. If the target depends on the value
    smoothly, neighbouring values differ little, compared with values that are far apart.

    Parameters
    ----------
    numbers : mapping of str to ndarray of shape (n_rows,) of int
        Codes of the values of each number, in the order of the values: whole numbers from 0 on.
    y : ndarray of shape (n_rows,)
        The target.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.lab.tables.checks import find_cluster
    >>> rng = np.random.default_rng(0)
    >>> weight, dose = rng.permutation(40).repeat(5), rng.permutation(200)
    >>> y = rng.normal(size=40).repeat(5) + rng.normal(size=200)
    >>> find_cluster({"dose": dose, "weight": weight}, y)
    'weight'
    """
    for name, codes in numbers.items():
        n, n_rows = np.bincount(codes), len(codes)
        if n_rows < FEWEST_REPEATS * len(n) or len(n) < FEWEST_CLUSTERS:
            continue
        mean = np.bincount(codes, y) / n
        within = float(((y - mean[codes]) ** 2).sum()) / max(n_rows - len(n), 1)
        gaps = np.diff(mean)
        far = np.abs(mean[len(n) // 2 :] - mean[: len(n) - len(n) // 2])
        # Squared normal numbers if the averages differ by noise; a few steps do not count much.
        squared = gaps**2 / (1.0 / n[1:] + 1.0 / n[:-1]) / (within or 1e-300)
        excess = np.minimum(squared, MOST_OF_GAP).mean() - MEAN_OF_GAP
        is_rough = np.median(np.abs(gaps)) >= ROUGHNESS * np.median(far)
        if is_rough and excess >= max(LEAST_EXCESS, ERRORS_OF_EXCESS / math.sqrt(len(gaps))):
            return name
    return None


def repeats(columns: Mapping[str, np.ndarray]) -> int | None:
    """Return the number of distinct rows, if it is much smaller than by chance; otherwise None.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (n_rows,)
        The features.
    """
    codes = [_codes(column) for column in columns.values()]
    n_rows = len(codes[0])
    possible = math.prod(float(each.max()) + 1.0 for each in codes) if n_rows else 0.0
    if possible < n_rows:
        return None
    # Expected number of distinct rows if each is drawn uniformly from the possible ones. If their
    # number overflows a float, all rows are distinct.
    expected = -possible * math.expm1(-n_rows / possible) if math.isfinite(possible) else n_rows
    different = len(np.unique(np.column_stack(codes), axis=0))
    return different if different <= min(expected / 3.0, n_rows / FEWEST_REPEATS) else None


def _codes(column: Any) -> np.ndarray:
    """Return codes (n_rows,) of the values of a column: whole numbers from 0 on."""
    if column.dtype.kind == "f":
        return np.unique(column, return_inverse=True)[1]
    codes: dict[Any, int] = {}
    return np.array([codes.setdefault(each, len(codes)) for each in column.tolist()])


def _is_same(own: np.ndarray, other: np.ndarray, n_values: int) -> bool:
    """Return whether a column hardly varies among the rows with the same identity.

    ``own`` are the codes of the identity, ``other`` those of the column.
    """
    if other.max() >= n_values * 10:
        return False
    pairs, counts = np.unique(
        own.astype(np.int64) * (int(other.max()) + 1) + other, return_counts=True
    )
    most = np.zeros(n_values)
    np.maximum.at(most, pairs // (int(other.max()) + 1), counts)
    return bool(most.sum() >= EQUAL_SHARE * len(own))
