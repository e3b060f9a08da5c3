r"""Several goals: nondominated points, the volume they dominate, and its expected improvement.

All goals are to be maximised. The origin is the reference point: the volume is that of the points
of the positive orthant that some row dominates.

The points that are not dominated are a union of disjoint boxes [l, u), and a value z enlarges the
dominated volume by the part of them below z. With independent normal goals f_i its expectation is

.. math:: \sum_{[l, u)} \prod_i \int_{l_i}^{u_i} P(f_i \ge z)\,dz
          = \sum_{[l, u)} \prod_i \big(\mathrm{EI}_i(l_i) - \mathrm{EI}_i(u_i)\big),

EI_i(z) = E[max(0, f_i - z)] being the expected improvement of one goal over z [Emmerich2011]_.

References
----------
.. [Emmerich2011] M. T. M. Emmerich, A. H. Deutz and J. W. Klinkenberg, "Hypervolume-based expected
   improvement: Monotonicity properties and exact computation", CEC 2011.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from skgpb.acquisition.improvement import log_expected_improvement

# Memory: number of products of a box and a query that are kept at once (32 MB for each goal).
MOST_PRODUCTS = 2**22


def pareto_mask(Y: np.ndarray) -> np.ndarray:
    """Return a mask (n,) of the rows of Y (n, m) that no other row dominates.

    A row dominates another if it is at least as large in all columns and larger in one.

    Examples
    --------
    >>> import numpy as np
    >>> pareto_mask(np.array([[1.0, 3.0], [2.0, 2.0], [1.0, 2.0], [3.0, 1.0]]))
    array([ True,  True, False,  True])
    """
    at_least = (Y[:, np.newaxis] >= Y).all(axis=2)
    better = (Y[:, np.newaxis] > Y).any(axis=2)
    return np.logical_not((at_least & better).any(axis=0))


def dominated_volume(Y: np.ndarray) -> float:
    """Return the volume of the positive orthant that the rows of Y (n, m) dominate.

    Examples
    --------
    >>> import numpy as np
    >>> dominated_volume(np.array([[0.5, 1.0], [1.0, 0.5], [2.0, -1.0]]))
    0.75
    """
    Y = Y[(Y > 0.0).all(axis=1)]
    if not len(Y):
        return 0.0
    if Y.shape[1] == 1:
        return float(Y.max())
    total, heights = 0.0, np.unique(Y[:, -1])
    for low, high in zip(np.append(0.0, heights[:-1]), heights, strict=True):
        total += float(high - low) * dominated_volume(Y[Y[:, -1] >= high][:, :-1])
    return total


def boxes_not_dominated(Y: np.ndarray) -> np.ndarray:
    """Return disjoint boxes (n_boxes, 2, m) of the points that no row of Y (n, m) dominates.

    They are half open, [lower, upper), and cover these points of the positive orthant; an end may
    be infinite.

    Examples
    --------
    >>> import numpy as np
    >>> boxes_not_dominated(np.array([[1.0, 2.0]])).tolist()
    [[[1.0, 0.0], [inf, 2.0]], [[0.0, 2.0], [inf, inf]]]
    """
    Y = Y[(Y > 0.0).all(axis=1)]
    m = Y.shape[1]
    if m == 1:
        return np.array([[[Y.max(initial=0.0)], [np.inf]]])
    edges = np.concatenate([[0.0], np.unique(Y[:, -1]), [np.inf]])
    out = []
    for ends in pairwise(edges):
        above = Y[Y[:, -1] >= ends[1]][:, :-1]
        across = boxes_not_dominated(above[pareto_mask(above)])
        out.append(np.dstack([across, np.tile(ends, (len(across), 1))]))
    return np.concatenate(out)


def log_expected_volume(mean: np.ndarray, std: np.ndarray, front: np.ndarray) -> np.ndarray:
    """Return the logarithm of the expected improvement of the dominated volume, -inf if it is 0.

    It does not underflow far from the front.

    Parameters
    ----------
    mean, std : ndarray of shape (n, m)
        Posterior of m independent goals at n queries, in units above the reference point.
    front : ndarray of shape (k, m)
        Values so far; none, one or several.

    Returns
    -------
    log_improvement : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> front = np.array([[1.0, 2.0]])
    >>> np.exp(log_expected_volume(np.array([[2.0, 3.0]]), np.zeros((1, 2)), front))
    array([4.])
    """
    (n, m), boxes = mean.shape, boxes_not_dominated(front[pareto_mask(front)])
    out = np.empty(n)
    step = max(1, MOST_PRODUCTS // len(boxes))
    for some in (slice(i, i + step) for i in range(0, n, step)):
        total = np.zeros((len(boxes), len(mean[some])))
        for i in range(m):
            ends, where = np.unique(boxes[:, :, i], return_inverse=True)
            finite = ends[np.isfinite(ends), np.newaxis]
            above = np.full((len(ends), len(mean[some])), -np.inf)
            above[: len(finite)] = log_expected_improvement(mean[some, i], std[some, i], finite)
            low, high = above[where.reshape(-1, 2)].transpose(1, 0, 2)
            with np.errstate(divide="ignore", invalid="ignore"):
                part = low + np.log1p(-np.exp(np.minimum(high - low, 0.0)))
            total += np.where(low > -np.inf, part, -np.inf)
        out[some] = logsumexp(total, axis=0)
    return out
