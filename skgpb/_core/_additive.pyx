"""Covariances of a radial kernel of all axes plus the same kernel of single axes.

An axis has one column, or several, as that of categories. The kernel is a function g(s) of scaled squared distances, a leaf of ``skgpb._core._radial``. All
numbers of a row stay in the cache from the differences of coordinates to the sum over the axes.
"""

import numpy as np

from skgpb._core._radial cimport fill


cdef void one_row(const double[:, ::1] x, const double[:, ::1] y, const Py_ssize_t[::1] starts,
                  Py_ssize_t i, int kind, double share, double* gap, double* total, double* value,
                  double* out) noexcept nogil:
    cdef Py_ssize_t d = starts.shape[0], m = y.shape[1], a, k, j, stop
    cdef double at
    cdef const double* other
    for j in range(m):
        total[j] = out[j] = 0.0
    for a in range(d):
        stop = starts[a + 1] if a + 1 < d else x.shape[0]
        for j in range(m):
            gap[j] = 0.0
        for k in range(starts[a], stop):
            at, other = x[k, i], &y[k, 0]
            for j in range(m):
                gap[j] += (at - other[j]) * (at - other[j])
        for j in range(m):
            total[j] += gap[j]
        fill(kind, 0.0, 0.0, gap, m, value)
        for j in range(m):
            out[j] += value[j]
    for j in range(m):
        total[j] /= d
    fill(kind, 0.0, 0.0, total, m, value)
    for j in range(m):
        out[j] = value[j] + share * out[j]


def additive_covariances(const double[:, ::1] x, const double[:, ::1] y,
                         const Py_ssize_t[::1] starts, int kind, double share):
    """Return g(sum_a s_a / d) + share sum_a g(s_a) for all pairs of points.

    The squared distance s_a along axis a of d is the sum of those of its columns.

    Parameters
    ----------
    x : ndarray of shape (n_columns, n)
        Columns of points in length scales of single axes.
    y : ndarray of shape (n_columns, m)
        Those of other points.
    starts : ndarray of shape (d,)
        First column of every axis, ascending from 0.
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
        raise ValueError("x and y must have the same columns, and kind be from 0 to 3")
    if len(starts) and (starts[0] != 0 or (np.diff(np.asarray(starts)) <= 0).any()
                        or starts[len(starts) - 1] >= x.shape[0]):
        raise ValueError(f"starts must ascend from 0 below {x.shape[0]}, got {np.asarray(starts)}")
    out = np.empty((n, m))
    if not (n and m and len(starts)):
        out[...] = 0.0
        return out
    cdef double[:, ::1] K = out
    cdef double[:, ::1] buffers = np.empty((3, m))
    with nogil:
        for i in range(n):
            one_row(x, y, starts, i, kind, share, &buffers[0, 0], &buffers[1, 0], &buffers[2, 0],
                    &K[i, 0])
    return out
