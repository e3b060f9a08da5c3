"""One rule for scores that tie, whatever processor computes them (decision D-G1).

The same sums come out with other last digits on another processor, so that of queries that are
equally good rounding would decide. Scores tie that differ by no more than 1e-9 of the better one,
or of the unit of what they are computed from; of those that tie the first wins. ``first_maximum``
of ``skgpb._core._tree``, which trees and designs need as well, is this rule for one row of scores
in units of the surrogate. Here are its other forms, and the rule for scores in units of their own.
"""

import numpy as np

from skgpb._core._tree import TIE_TOLERANCE, first_maximum, tie_tolerance


def first_best(scores, unit=None):
    """Number of the best score of a rule, of those that tie the first; ``unit`` as in :func:`tied`.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb._core._ties import first_best
    >>> first_best(np.array([0.5, 2.0, 2.0 + 1e-12])), first_best(np.array([1e-12, 3e-12]))
    (1, 1)
    """
    unit = size_of(scores) if unit is None else unit
    return first_maximum(scores, tie_tolerance(float(scores.max()), unit))


def tied(scores, unit=None):
    """Numbers of the scores that tie with the best, in order.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        None of them NaN.
    unit : float, default=None
        Of what they are computed from; None for :func:`size_of` the scores.

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
    """Whether a score is above another one and does not tie with it; ``unit`` as in :func:`tied`.

    Examples
    --------
    >>> from skgpb._core._ties import beats
    >>> beats(1.0 + 1e-12, 1.0), beats(1.0 + 1e-6, 1.0)
    (False, True)
    """
    return score > other + tie_tolerance(other, unit)


def first_of_rows(scores):
    """Column of the best of every row of scores (k, n), of those that tie the first; shape (k,)."""
    top = scores.max(axis=1, keepdims=True)
    return (scores >= top - TIE_TOLERANCE * np.maximum(np.abs(top), 1.0)).argmax(axis=1)


def levelled(scores):
    """Return scores (n,) of which those that tie are the same, for stable sorting.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb._core._ties import levelled
    >>> np.argsort(-levelled(np.array([0.5, 2.0, 2.0 + 1e-12])), kind="stable")
    array([1, 2, 0])
    """
    order = np.argsort(scores, kind="stable")
    rising = scores[order]
    with np.errstate(invalid="ignore"):  # infinities are equal as they are
        sizes = np.where(np.isfinite(rising[1:]), np.abs(rising[1:]), 0.0)
        within = TIE_TOLERANCE * np.maximum(sizes, size_of(scores))
        apart = ~(np.diff(rising) <= within)
    lowest = np.maximum.accumulate(np.where(np.append(True, apart), np.arange(len(rising)), 0))
    level = np.empty_like(rising)
    level[order] = rising[lowest]
    return level


def size_of(scores):
    """Unit of scores of which none is known: the greatest absolute value, at most 1.

    What is computed from the surrogate has its unit, which is of the size of one. Scores that are
    all smaller are in a rule's own unit, or for each unit of a price.
    """
    return min(1.0, float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0)))
