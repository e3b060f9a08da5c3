r"""Covariances of a radial kernel of all axes plus, on request, the same kernel of single axes.

Notation for n points x and m points y with d axes:

========= ============== ==============================================================
symbol    shape          meaning
========= ============== ==============================================================
x         (n_columns, n) coordinates in units of the length scales, one column a row
y         (n_columns, m) coordinates of the other points, in the same units
starts    (d,)           first column of each axis; a categorical axis has several
s_a       (m,)           scaled squared distances along axis a, from one point to all y
g         scalar         a leaf of ``skgpb._core._radial``
share     scalar         variance of the kernel of a single axis
up, down  (d, n), (d, m) e^(rate x) and e^(-rate x), for axes of one column
K         (n, m)         covariances
========= ============== ==============================================================

The kernel is

    g(sum_a s_a / d) + share sum_a g(s_a),   or g(sum_a s_a) if ``share`` is 0.

A method computes one row of K at a time into ``buffers``, so that the intermediate results stay in
the cache of the processor. Along an axis of one column, a Matern function does not need an
exponential for each difference: e^-|a - b| is the smaller of e^a e^-b and e^b e^-a.
"""

import numpy as np

from skgpb._core._blas cimport dot
from skgpb._core._radial cimport fill, fill_along, fill_powers, fill_slopes, rate_of

# Releasing the interpreter's lock takes tens of microseconds: it is released from this number of
# distances on.
cdef Py_ssize_t RELEASED = 2 ** 15
# Two powers with exponents up to this have a product without overflow.
cdef double LARGEST_EXPONENT = 300.0
# Speed: smallest n for which the powers of all points are computed in advance.
cdef Py_ssize_t MIN_POINTS = 4


cdef class RadialKernel:
    """Kernel of distances between points, at fixed hyperparameters.

    Parameters
    ----------
    x : ndarray of shape (n_columns, n)
        Coordinates of n points in units of the length scales: of the kernels of single axes, or of
        the kernel of all axes if ``share`` is 0.
    y : ndarray of shape (n_columns, m)
        Coordinates of m other points in the same units. It may be the array ``x``.
    starts : ndarray of shape (d,)
        First column of every axis, ascending from 0.
    kind : {0, 1, 2, 3, 4, 5}
        Kind of g: Gaussian, Matern with nu of 1/2, 3/2, 5/2 or ``shape``, or rational quadratic.
    shape : float
        nu or alpha, for a kind that has one of them.
    share : float
        Variance of the kernel of a single axis.
    """

    cdef const double[:, ::1] x, y
    cdef const Py_ssize_t[::1] starts
    cdef Py_ssize_t d
    cdef int kind
    cdef double shape, share, rate
    # Powers e^(rate x) and e^(-rate x) of x (d, n) and of y (d, m), for the axes in ``is_line``.
    cdef double[:, ::1] up_x, down_x, up_y, down_y
    cdef char[::1] is_line
    # Scratch (5, m): s_a, sum_a s_a, values of g, slopes of g, derivatives of g by the shape.
    cdef double[:, ::1] buffers

    def __cinit__(self, const double[:, ::1] x, const double[:, ::1] y,
                  const Py_ssize_t[::1] starts, int kind, double shape, double share):
        cdef Py_ssize_t n = x.shape[1], m = y.shape[1], d = starts.shape[0], a, k
        self.x, self.y, self.starts, self.d = x, y, starts, d
        self.kind, self.shape, self.share = kind, shape, share
        self.buffers = np.empty((5, m))
        self.is_line = np.zeros(d, dtype=np.int8)
        self.rate = rate_of(kind)
        if self.rate == 0.0 or share == 0.0 or n < MIN_POINTS or m == 0:
            return
        self.up_x, self.down_x = np.empty((2, d, n))
        self.up_y, self.down_y = self.up_x, self.down_x
        if &x[0, 0] != &y[0, 0]:
            self.up_y, self.down_y = np.empty((2, d, m))
        for a in range(d):
            k = starts[a]
            if self.end(a) == k + 1:
                self.is_line[a] = self.find_powers(a, k)

    cdef bint find_powers(self, Py_ssize_t a, Py_ssize_t k) noexcept:
        """Compute the powers along axis a, of column k; return False if they may overflow."""
        cdef Py_ssize_t n = self.x.shape[1], m = self.y.shape[1], j
        cdef double low = self.y[k, 0], high = low, center
        for j in range(n):
            low, high = min(low, self.x[k, j]), max(high, self.x[k, j])
        for j in range(m):
            low, high = min(low, self.y[k, j]), max(high, self.y[k, j])
        if not self.rate * (high - low) <= 2.0 * LARGEST_EXPONENT:
            return False
        center = low + 0.5 * (high - low)
        fill_powers(self.rate, center, &self.x[k, 0], n, &self.up_x[a, 0], &self.down_x[a, 0])
        if &self.up_x[0, 0] != &self.up_y[0, 0]:
            fill_powers(self.rate, center, &self.y[k, 0], m, &self.up_y[a, 0], &self.down_y[a, 0])
        return True

    cdef inline Py_ssize_t end(self, Py_ssize_t a) noexcept nogil:
        """Return the first column after axis a."""
        return self.starts[a + 1] if a + 1 < self.d else self.x.shape[0]

    cdef void square(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t i, Py_ssize_t m,
                     double* s) noexcept nogil:
        """Write to s (m,) the squared distances of x_i to y_0..y_(m-1) in columns start..stop-1."""
        cdef Py_ssize_t k, j
        cdef double at
        cdef const double* other
        for j in range(m):
            s[j] = 0.0
        for k in range(start, stop):
            at, other = self.x[k, i], &self.y[k, 0]
            for j in range(m):
                s[j] += (at - other[j]) * (at - other[j])

    cdef void along(self, Py_ssize_t a, Py_ssize_t i, Py_ssize_t m, double* s, double* value,
                    bint slopes) noexcept nogil:
        """Write s_a (m,) and the values g(s_a) (m,) for x_i; with ``slopes`` also g'(s_a)."""
        cdef Py_ssize_t k = self.starts[a]
        cdef double* slope = &self.buffers[3, 0]
        if self.is_line[a]:
            fill_along(self.rate, self.x[k, i], self.up_x[a, i], self.down_x[a, i],
                       &self.y[k, 0], &self.up_y[a, 0], &self.down_y[a, 0], m, s, value, slope)
            return
        self.square(k, self.end(a), i, m, s)
        fill(self.kind, self.shape, 0.0, s, m, value)
        if slopes:
            fill_slopes(self.kind, self.shape, 0.0, s, m, value, slope, &self.buffers[4, 0])

    cdef void row(self, Py_ssize_t i, Py_ssize_t m, double* out) noexcept nogil:
        """Write to out (m,) the covariances of x_i with y_0..y_(m-1)."""
        cdef double* s = &self.buffers[0, 0]
        cdef double* total = &self.buffers[1, 0]
        cdef double* value = &self.buffers[2, 0]
        cdef Py_ssize_t a, j
        if self.share == 0.0:
            self.square(0, self.x.shape[0], i, m, total)
            fill(self.kind, self.shape, 0.0, total, m, out)
            return
        for j in range(m):
            total[j] = out[j] = 0.0
        for a in range(self.d):
            self.along(a, i, m, s, value, False)
            for j in range(m):
                total[j] += s[j]
                out[j] += value[j]
        for j in range(m):
            total[j] /= self.d
        fill(self.kind, self.shape, 0.0, total, m, value)
        for j in range(m):
            out[j] = value[j] + self.share * out[j]

    cdef void add_slopes(self, Py_ssize_t i, const double* A, double[:, ::1] gaps,
                         double* by) noexcept nogil:
        """Add to ``by`` (d + 2,) the terms of the pairs (i, j) with j <= i, weighted by A (i + 1,).

        The method overwrites ``gaps`` (d, >= i + 1) with the squared distances along each axis.
        """
        cdef double* total = &self.buffers[1, 0]
        cdef double* value = &self.buffers[2, 0]
        cdef double* slope = &self.buffers[3, 0]
        cdef double* by_shape = &self.buffers[4, 0]
        cdef Py_ssize_t d = self.d, m = i + 1, a, j
        cdef double scale = 1.0
        for j in range(m):
            total[j] = 0.0
        for a in range(d):
            if self.share == 0.0:
                self.square(self.starts[a], self.end(a), i, m, &gaps[a, 0])
            else:
                self.along(a, i, m, &gaps[a, 0], value, True)
                by[d] += self.share * dot(m, A, value)
                for j in range(m):
                    slope[j] *= A[j]
                by[a] -= 2.0 * self.share * dot(m, slope, &gaps[a, 0])
            for j in range(m):
                total[j] += gaps[a, j]
        if self.share != 0.0:
            scale = 1.0 / d
            for j in range(m):
                total[j] *= scale
        fill(self.kind, self.shape, 0.0, total, m, value)
        fill_slopes(self.kind, self.shape, 0.0, total, m, value, slope, by_shape)
        if self.kind == 5:  # rational quadratic
            by[d + 1] += dot(m, A, by_shape)
        for j in range(m):
            slope[j] *= A[j]
        for a in range(d):
            by[a] -= 2.0 * scale * dot(m, slope, &gaps[a, 0])

    def below(self, Py_ssize_t first, Py_ssize_t stop):
        """Return rows first..stop-1 of the lower triangle of the covariance matrix of x.

        Returns
        -------
        K : ndarray of shape (stop - first, stop)
            1 above the diagonal.
        """
        cdef Py_ssize_t i
        out = np.ones((stop - first, stop))
        if first == stop:
            return out
        cdef double[:, ::1] K = out
        if (stop - first) * stop < RELEASED:
            for i in range(first, stop):
                self.row(i, i + 1, &K[i - first, 0])
        else:
            with nogil:
                for i in range(first, stop):
                    self.row(i, i + 1, &K[i - first, 0])
        return out

    def contracted(self, Py_ssize_t first, const double[:, ::1] A):
        """Apply the chain rule from the covariances to the hyperparameters.

        Parameters
        ----------
        first : int
            Index of the first point.
        A : ndarray of shape (b, first + b)
            Derivatives of a scalar objective by the entries of ``below(first, first + b)``. The
            method does not read the entries above the diagonal.

        Returns
        -------
        by : ndarray of shape (d + 2,)
            Derivatives of the objective by the logarithms of the d length scales, of the share, and
            of alpha. The last two are 0 for a kernel without these hyperparameters.
        """
        cdef Py_ssize_t i, stop = first + A.shape[0]
        out = np.zeros(self.d + 2)
        if first == stop:
            return out
        cdef double[::1] by = out
        cdef double[:, ::1] gaps = np.empty((self.d, stop))
        if (stop - first) * stop < RELEASED:
            for i in range(first, stop):
                self.add_slopes(i, &A[i - first, 0], gaps, &by[0])
        else:
            with nogil:
                for i in range(first, stop):
                    self.add_slopes(i, &A[i - first, 0], gaps, &by[0])
        return out


cdef double[:, ::1] scaled(const double[:, :] X, const double[::1] scale):
    """Return the columns of X (n, n_columns), multiplied by ``scale``, as rows of an array."""
    cdef double[:, ::1] x = np.empty((X.shape[1], X.shape[0]))
    cdef Py_ssize_t i, k
    for k in range(X.shape[1]):
        for i in range(X.shape[0]):
            x[k, i] = X[i, k] * scale[k]
    return x


def additive_covariances(const double[:, :] X, const double[:, :] Y, const double[::1] scale,
                         const Py_ssize_t[::1] starts, int kind, double share):
    """Return the covariances of all pairs of points.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
        Coordinates of n points.
    Y : ndarray of shape (m, n_columns)
        Coordinates of m other points.
    scale : ndarray of shape (n_columns,)
        Factors of the coordinates: inverse length scales of the kernels of single axes.
    starts : ndarray of shape (d,)
        First column of every axis, ascending from 0.
    kind : {0, 1, 2, 3}
        Kind of g: Gaussian, or Matern with nu of 1/2, 3/2 or 5/2.
    share : float
        Variance of the kernel of a single axis.

    Returns
    -------
    K : ndarray of shape (n, m)
    """
    cdef Py_ssize_t n = X.shape[0], m = Y.shape[0], d = starts.shape[0], i, a
    if not X.shape[1] == Y.shape[1] == scale.shape[0] or not 0 <= kind <= 3:
        raise ValueError("X and Y must have the columns of scale, and kind be from 0 to 3")
    for a in range(d):
        if not (-1 if a == 0 else starts[a - 1]) < starts[a] < X.shape[1] or starts[0] != 0:
            raise ValueError(
                f"starts must ascend from 0 below {X.shape[1]}, got {np.asarray(starts)}"
            )
    out = np.empty((n, m))
    if not (n and m and d):
        out[...] = 0.0
        return out
    cdef double[:, ::1] K = out
    cdef RadialKernel kernel = RadialKernel(
        scaled(X, scale), scaled(Y, scale), starts, kind, 0.0, share
    )
    with nogil:
        for i in range(n):
            kernel.row(i, m, &K[i, 0])
    return out
