"""Covariances of a radial kernel of all axes plus the same kernel of single axes.

The kernel is a function g(s) of scaled squared distances, a leaf of ``skgpb._core._radial``. All
numbers of a row stay in the cache from the differences of coordinates to the sum over the axes.
"""

import numpy as np

from skgpb._core._radial cimport fill


cdef void one_row(const double[:, ::1] x, const double[:, ::1] y, Py_ssize_t i, int kind,
                  double share, double* gap, double* total, double* value,
                  double* out) noexcept nogil:
    cdef Py_ssize_t d = x.shape[0], m = y.shape[1], k, j
    cdef double at
    cdef const double* other
    for j in range(m):
        total[j] = out[j] = 0.0
    for k in range(d):
        at, other = x[k, i], &y[k, 0]
        for j in range(m):
            gap[j] = (at - other[j]) * (at - other[j])
            total[j] += gap[j]
        fill(kind, 0.0, 0.0, gap, m, value)
        for j in range(m):
            out[j] += value[j]
    for j in range(m):
        total[j] /= d
    fill(kind, 0.0, 0.0, total, m, value)
    for j in range(m):
        out[j] = value[j] + share * out[j]


def additive_covariances(const double[:, ::1] x, const double[:, ::1] y, int kind, double share):
    """Return g(sum_k s_k / d) + share sum_k g(s_k) for all pairs of points, s_k = (x_k - y_k)^2.

    Parameters
    ----------
    x : ndarray of shape (d, n)
        Coordinates of points in length scales of single axes.
    y : ndarray of shape (d, m)
        Those of other points.
    kind : {0, 1, 2, 3}
        Kind of g: Gaussian, or Matern with nu of 1/2, 3/2 or 5/2.
    share : float
        Variance of a single axis.

    Returns
    -------
    K : ndarray of shape (n, m)
    """
    cdef Py_ssize_t n = x.shape[1], m = y.shape[1], i
    if x.shape[0] != y.shape[0] or not 0 <= kind <= 3:
        raise ValueError("x and y must have the same axes, and kind be from 0 to 3")
    out = np.empty((n, m))
    if not (n and m and x.shape[0]):
        out[...] = 0.0
        return out
    cdef double[:, ::1] K = out
    cdef double[:, ::1] buffers = np.empty((3, m))
    with nogil:
        for i in range(n):
            one_row(x, y, i, kind, share, &buffers[0, 0], &buffers[1, 0], &buffers[2, 0], &K[i, 0])
    return out
