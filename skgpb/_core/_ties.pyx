"""One rule for tied scores, whatever processor computes them (decision D-G1).

Notation: ``scores`` (n,) are the scores of n queries, and ``unit`` is the unit of the quantities
from which the scores are computed. No function changes its arguments.

Processors differ in the last digits of a sum, so rounding would choose among equally good queries.
Two scores tie if they differ by at most 1e-9 times the larger of two numbers: the absolute value of
the better score, and ``unit``. The first of the tied scores wins. ``first_maximum`` of
``skgpb._core._tree``, which trees and designs also use, applies this rule to one row of scores in
units of the surrogate. This module has the other forms of the rule, also for scores in other units.
"""

from libc.math cimport INFINITY, fabs, isfinite, isnan

import numpy as np

from skgpb._core._tree import TIE_TOLERANCE, first_maximum, tie_tolerance

cdef double TIE = TIE_TOLERANCE


def argmax_first(scores, unit=None):
    """Return the index of the first score that ties with the best; ``unit`` as in :func:`tied`.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb._core._ties import argmax_first
    >>> argmax_first(np.array([0.5, 2.0, 2.0 + 1e-12])), argmax_first(np.array([1e-12, 3e-12]))
    (1, 1)
    """
    cdef const double[:] view = np.asarray(scores, dtype=np.float64)
    cdef double top = -INFINITY
    cdef Py_ssize_t i
    for i in range(view.shape[0]):
        top = max(top, view[i])
    return first_maximum(scores, tie_tolerance(top, largest_size(view) if unit is None else unit))


def tied(scores, unit=None):
    """Return the indices of the scores that tie with the best, in increasing order.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Scores without NaN.
    unit : float, default=None
        Unit of the quantities that the scores are computed from; None for :func:`size_of` the
        scores.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb._core._ties import tied
    >>> tied(np.array([0.5, 2.0, 2.0 + 1e-12, 1.9]))
    array([1, 2])
    """
    top = float(scores.max())
    unit = size_of(scores) if unit is None else unit
    return np.flatnonzero(scores >= top - tie_tolerance(top, unit))


def exceeds(double score, double other, double unit=1.0):
    """Return whether a score exceeds another without a tie; ``unit`` as in :func:`tied`.

    Examples
    --------
    >>> from skgpb._core._ties import exceeds
    >>> exceeds(1.0 + 1e-12, 1.0), exceeds(1.0 + 1e-6, 1.0)
    (False, True)
    """
    return score > other + tie_tolerance(other, unit)


def first_of_rows(scores):
    """Return the first column that ties with the best of each row of (k, n) scores; shape (k,)."""
    top = scores.max(axis=1, keepdims=True)
    return (scores >= top - TIE_TOLERANCE * np.maximum(np.abs(top), 1.0)).argmax(axis=1)


def levelled(scores, unit=None):
    """Return scores (n,) in which tied scores are made equal, for stable sorting.

    Two scores are tied if all neighbours between them in sorted order tie; ``unit`` as in
    :func:`tied`.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb._core._ties import levelled
    >>> np.argsort(-levelled(np.array([0.5, 2.0, 2.0 + 1e-12])), kind="stable")
    array([1, 2, 0])
    """
    order = np.argsort(scores, kind="stable")
    level = np.empty(len(order))
    cdef const double[:] view = np.asarray(scores, dtype=np.float64)
    cdef const Py_ssize_t[:] at = order
    cdef double[:] out = level
    cdef double value, before = -INFINITY, lowest = -INFINITY
    cdef double least = largest_size(view) if unit is None else unit
    cdef Py_ssize_t i
    for i in range(at.shape[0]):
        value = view[at[i]]
        if not are_tied(value, before, least):
            lowest = value
        out[at[i]] = lowest
        before = value
    return level


cdef bint are_tied(double score, double lower, double unit) noexcept nogil:
    """Return whether two neighbours tie; two infinities do not, and need not: they are equal."""
    return score - lower <= TIE * max(fabs(score) if isfinite(score) else 0.0, unit)


def largest_first(scores, Py_ssize_t n):
    """Return the indices of the n largest scores (without NaN), tied scores in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb._core._ties import largest_first
    >>> largest_first(np.array([0.5, 2.0, 2.0 + 1e-12]), 2)
    array([1, 2])
    """
    if n >= len(scores):
        return np.argsort(-levelled(scores), kind="stable")
    cdef const double[:] view = np.asarray(scores, dtype=np.float64)
    cdef Py_ssize_t[::1] best = np.empty(n + 1, dtype=np.intp)
    cdef Py_ssize_t i, j, k = 0
    cdef bint has_ties = False
    for i in range(view.shape[0]):
        if k <= n or view[i] > view[best[n]]:
            k = min(k + 1, n + 1)
            j = k - 1
            while j > 0 and view[i] > view[best[j - 1]]:
                best[j] = best[j - 1]
                j -= 1
            best[j] = i
    cdef double unit = largest_size(view), lowest = view[best[n - 1]], low = INFINITY
    for j in range(n):
        has_ties = has_ties or are_tied(view[best[j]], view[best[j + 1]], unit)
    if not has_ties:
        return np.array(best[:n])
    # A score that ties with the smallest of the n largest may have to precede it.
    while lowest < low:
        low = lowest
        for i in range(view.shape[0]):
            if view[i] < lowest and are_tied(low, view[i], unit):
                lowest = view[i]
    among = np.flatnonzero(scores >= low)
    return among[np.argsort(-levelled(scores[among], unit), kind="stable")[:n]]


def size_of(scores):
    """Return a unit for scores of unknown unit: the largest absolute value, at most 1.

    Scores computed from the surrogate have its unit, which is of order one. If all scores are
    smaller, they are in a unit of the rule, or per unit of cost.
    """
    return largest_size(np.asarray(scores, dtype=np.float64).ravel())


def has_nan(scores):
    """Return whether any of the scores (n,) is NaN, without allocating an array of booleans.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb._core._ties import has_nan
    >>> has_nan(np.array([0.5, np.nan])), has_nan(np.array([0.5, np.inf]))
    (True, False)
    """
    cdef const double[:] view = np.asarray(scores, dtype=np.float64)
    cdef Py_ssize_t i
    for i in range(view.shape[0]):
        if isnan(view[i]):
            return True
    return False


cdef double largest_size(const double[:] scores) noexcept nogil:
    """Return ``size_of`` the scores; compiled, because a round calls it several times."""
    cdef double largest = 0.0
    cdef Py_ssize_t i
    for i in range(scores.shape[0]):
        if isfinite(scores[i]):
            largest = max(largest, fabs(scores[i]))
    return min(1.0, largest)
