r"""Slopes of covariances between means over boxes in the corners of a box.

For the kernels of ``skgpb._core._cells``, which are sums of products over axes, of

    M = mean over x in I and y in J of e(x - y),        e(z) = exp(-q z^2 / 2)

with I = [l, u]. A point of I at a share s of it moves by 1 - s with l and by s with u.

- Grids: with e'(z) = -q z e(z) the slopes are means of (1 - s) e' and s e' over the same pairs.
  From each point of I the terms are walked away from the nearest point of J, as there.
- Whole intervals: with g(x), the mean of e(x - y) over y in J, the slopes are (M - g(l)) / (u - l)
  and (g(u) - M) / (u - l); where I is narrow, and these cancel, the means of (1 - s) g'(x) and
  s g'(x) at Gauss-Legendre nodes.
"""

from libc.math cimport exp, floor, sqrt

import numpy as np

from skgpb._core._cells cimport GaussianCells, box_mean

cdef enum:
    LANES = 16  # steps after which a recurrence starts afresh
    N_NODES = 6

# Remaining terms of a decreasing sequence are dropped below this share of the sum.
cdef double DROPPED = 1e-22
# Intervals up to so many length scales are narrow: the nodes are exact to rounding.
cdef double NARROW = 0.5

# A Gauss-Legendre rule on [0, 1].
cdef double[N_NODES] NODES
cdef double[N_NODES] NODE_WEIGHTS


def _fill_rule():
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    for i in range(N_NODES):
        NODES[i], NODE_WEIGHTS[i] = 0.5 + 0.5 * nodes[i], 0.5 * weights[i]


_fill_rule()
del _fill_rule


cdef struct Sums:
    # Of e(z), and of z e(z).
    double even, odd


cdef void walk(double q, double z, double h, double bend, Py_ssize_t n, double sign,
               Sums* sums) noexcept nogil:
    """Add the terms at z + j h, j = 1..n, for z >= -h / 2 and bend = exp(-q h^2)."""
    cdef double term, ratio
    cdef Py_ssize_t j
    while n > 0:
        term = exp(-0.5 * q * z * z)
        if term < DROPPED * sums.even:
            return
        ratio = exp(-q * h * (z + 0.5 * h))
        for j in range(n if n < LANES else LANES):
            term *= ratio
            ratio *= bend
            z += h
            sums.even += term
            sums.odd += sign * z * term
        n -= LANES


cdef double grid_slopes(double q, Py_ssize_t s, double al, double au, double bl, double bu,
                        double* low, double* high) noexcept nogil:
    """Mean over the centres of s equal parts of both intervals, and its slopes in al and au."""
    cdef Py_ssize_t i, j, sa = s if au > al else 1, sb = s if bu > bl else 1
    cdef double h = (bu - bl) / sb, bend = exp(-q * h * h), x, z, share, total = 0.0
    cdef Sums sums
    low[0] = high[0] = 0.0
    for i in range(sa):
        share = (i + 0.5) / sa
        # From the first point of the other interval, then from the nearest one.
        x = (al - bl) + share * (au - al) - 0.5 * h
        j = 0
        if h > 0.0 and x > 0.0:
            z = x / h + 0.5
            j = sb - 1 if z >= sb - 1 else <Py_ssize_t> floor(z)
        z = x - j * h
        sums.even = exp(-0.5 * q * z * z)
        sums.odd = z * sums.even
        walk(q, z, h, bend, j, 1.0, &sums)
        walk(q, -z, h, bend, sb - 1 - j, -1.0, &sums)
        total += sums.even
        low[0] += (1.0 - share) * sums.odd
        high[0] += share * sums.odd
    low[0] *= -q / (sa * <double> sb)
    high[0] *= -q / (sa * <double> sb)
    return total / (sa * <double> sb)


cdef double point_slope(double q, double x, double bl, double bu) noexcept nogil:
    """g'(x), g being the mean of e(x - y) over [bl, bu]."""
    cdef double wb = bu - bl, y, total = 0.0
    cdef Py_ssize_t i
    if sqrt(q) * wb >= NARROW:
        return (exp(-0.5 * q * (x - bl) ** 2) - exp(-0.5 * q * (x - bu) ** 2)) / wb
    for i in range(N_NODES):
        y = x - bl - NODES[i] * wb
        total -= NODE_WEIGHTS[i] * q * y * exp(-0.5 * q * y * y)
    return total


cdef double interval_slopes(double q, double al, double au, double bl, double bu,
                            double* low, double* high) noexcept nogil:
    """Mean over both intervals, and its slopes in al and au."""
    cdef double wa = au - al, mean = box_mean(q, al, au, bl, bu, NULL), slope
    cdef Py_ssize_t i
    low[0] = high[0] = 0.0
    if sqrt(q) * wa >= NARROW:
        low[0] = (mean - box_mean(q, al, al, bl, bu, NULL)) / wa
        high[0] = (box_mean(q, au, au, bl, bu, NULL) - mean) / wa
        return mean
    for i in range(N_NODES):
        slope = NODE_WEIGHTS[i] * point_slope(q, al + NODES[i] * wa, bl, bu)
        low[0] += (1.0 - NODES[i]) * slope
        high[0] += NODES[i] * slope
    return mean


def corner_slopes(GaussianCells cells, A, B):
    """Return covariances of boxes and their slopes in the corners of the first.

    Parameters
    ----------
    cells : GaussianCells
        The kernel.
    A : array-like of shape (n, 2 * d)
        Boxes.
    B : array-like of shape (m, 2 * d)
        Boxes, which stay.

    Returns
    -------
    K : ndarray of shape (n, m)
        Covariances.
    slopes : ndarray of shape (n, m, 2 * d)
        Derivatives of K by the corners [lower, upper] of A.
    """
    cdef const double[:, ::1] a = cells._boxes(A, "A")
    cdef const double[:, ::1] b = cells._boxes(B, "B")
    cdef Py_ssize_t n = a.shape[0], m = b.shape[0], d = cells.n_features, i, j, k, r
    out, slopes = np.zeros((n, m)), np.zeros((n, m, 2 * d))
    if n == 0 or m == 0:
        return out, slopes
    cdef double[:, ::1] values = out
    cdef double[:, :, ::1] by_corner = slopes
    # Of each axis: its mean and both slopes, and the product of the means before it.
    cdef double[:, ::1] axes = np.empty((4, d))
    cdef double product
    with nogil:
        for i in range(n):
            for j in range(m):
                for r in range(cells.n_terms):
                    product = cells._weights[r]
                    for k in range(d):
                        axes[3, k] = product
                        if cells.integral:
                            axes[0, k] = interval_slopes(
                                cells._precisions[r, k], a[i, k], a[i, d + k], b[j, k],
                                b[j, d + k], &axes[1, k], &axes[2, k])
                        else:
                            axes[0, k] = grid_slopes(
                                cells._precisions[r, k], cells._n_representatives[k], a[i, k],
                                a[i, d + k], b[j, k], b[j, d + k], &axes[1, k], &axes[2, k])
                        product *= axes[0, k]
                    values[i, j] += product
                    product = 1.0
                    for k in range(d - 1, -1, -1):
                        by_corner[i, j, k] += axes[3, k] * product * axes[1, k]
                        by_corner[i, j, d + k] += axes[3, k] * product * axes[2, k]
                        product *= axes[0, k]
    return out, slopes
