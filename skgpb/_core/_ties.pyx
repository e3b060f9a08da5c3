"""One rule for tied scores, whatever processor computes them (decision D-G1).

Processors differ in the last digits of a sum, so rounding would choose among equally good queries.
Two scores tie if they differ by at most 1e-9 of the better one, or of the unit of the quantities
that they are computed from. The first of the tied scores wins. ``first_maximum`` of
``skgpb._core._tree``, which trees and designs also use, applies this rule to one row of scores in
units of the surrogate. This module has its other forms, and the rule for scores in other units.
"""

from libc.math cimport INFINITY, fabs, isfinite

import numpy as np

from skgpb._core._tree import TIE_TOLERANCE, first_maximum, tie_tolerance


def first_best(scores, unit=None):
    """Return the index of the first score that ties with the best; ``unit`` as in :func:`tied`.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb._core._ties import first_best
    >>> first_best(np.array([0.5, 2.0, 2.0 + 1e-12])), first_best(np.array([1e-12, 3e-12]))
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


def beats(score, other, unit=1.0):
    """Return whether a score exceeds another without a tie; ``unit`` as in :func:`tied`.

    Examples
    --------
    >>> from skgpb._core._ties import beats
    >>> beats(1.0 + 1e-12, 1.0), beats(1.0 + 1e-6, 1.0)
    (False, True)
    """
    return score > other + tie_tolerance(other, unit)


def first_of_rows(scores):
    """Return the first column that ties with the best of each row of (k, n) scores; shape (k,)."""
    top = scores.max(axis=1, keepdims=True)
    return (scores >= top - TIE_TOLERANCE * np.maximum(np.abs(top), 1.0)).argmax(axis=1)


def levelled(scores):
    """Return scores (n,) in which tied scores are made equal, for stable sorting.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb._core._ties import levelled
    >>> np.argsort(-levelled(np.array([0.5, 2.0, 2.0 + 1e-12])), kind="stable")
    array([1, 2, 0])
    """
    order = np.argsort(scores, kind="stable")
    rising = scores[order]
    with np.errstate(invalid="ignore"):  # infinities are equal already
        sizes = np.where(np.isfinite(rising[1:]), np.abs(rising[1:]), 0.0)
        within = TIE_TOLERANCE * np.maximum(sizes, size_of(scores))
        apart = ~(np.diff(rising) <= within)
    lowest = np.maximum.accumulate(np.where(np.append(True, apart), np.arange(len(rising)), 0))
    level = np.empty_like(rising)
    level[order] = rising[lowest]
    return level


def size_of(scores):
    """Return a unit for scores of unknown unit: the largest absolute value, at most 1.

    Scores computed from the surrogate have its unit, which is of order one. If all scores are
    smaller, they are in a unit of the rule, or per unit of cost.
    """
    return largest_size(np.asarray(scores, dtype=np.float64).ravel())


cdef double largest_size(const double[:] scores) noexcept nogil:
    """Return ``size_of`` the scores: several times in a round, so not in steps of arrays."""
    cdef double largest = 0.0
    cdef Py_ssize_t i
    for i in range(scores.shape[0]):
        if isfinite(scores[i]):
            largest = max(largest, fabs(scores[i]))
    return min(1.0, largest)
