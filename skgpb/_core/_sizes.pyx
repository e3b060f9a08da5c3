r"""Covariances between many boxes of few sizes, for Gaussian product kernels.

Between intervals of two given widths the mean of ``skgpb._core._cells`` depends on the distance of
their centres alone. Where many pairs have the same widths it is tabulated once: polynomials of
degree 7, one for every eighth of a length scale, through the values at Chebyshev nodes. A mean of
Gaussians of unit length scale has derivatives of order 8 below 105, so these are exact to

    2 (1/32)^8 105 / 8! = 5e-15,

whatever the widths are. A pair then costs d short polynomials, where it cost up to d s^2 terms.

*Sizes.* Who knows of which sizes there will be many boxes says so; other pairs are computed one by
one. Which are does not depend on what was computed before, so that no bit of a result does. Widths
that differ by rounding alone are the same.
"""

from libc.math cimport cos, fabs, sqrt

import numpy as np

from skgpb._core._cells cimport GaussianCells, box_mean, grid_mean

cdef enum:
    DEGREE = 7

# Intervals of a table per length scale; a Gaussian vanishes beyond so many length scales.
cdef double PER_LENGTH, VANISHED
PER_LENGTH, VANISHED = 8.0, 38.0
# A table of more intervals is not made: length scales that short are rare.
cdef Py_ssize_t MOST_INTERVALS = 4096
# Widths that differ by less, relative to the coordinates, differ by rounding.
cdef double SAME_WIDTH = 8 * 2.220446049250313e-16

# Chebyshev nodes on [-1, 1], and the matrix from values there to coefficients.
cdef double[DEGREE + 1] NODES
cdef double[DEGREE + 1][DEGREE + 1] COEFFICIENTS


def _fill_nodes():
    cdef Py_ssize_t i, j
    for i in range(DEGREE + 1):
        NODES[i] = cos(np.pi * (i + 0.5) / (DEGREE + 1))
    powers = np.vander([NODES[i] for i in range(DEGREE + 1)], increasing=True)
    inverse = np.linalg.inv(powers)
    for i in range(DEGREE + 1):
        for j in range(DEGREE + 1):
            COEFFICIENTS[i][j] = inverse[i, j]


_fill_nodes()
del _fill_nodes


cdef class SizedCells:
    """``GaussianCells.cross`` by tables, for boxes of few sizes.

    Parameters
    ----------
    cells : GaussianCells
        The kernel.
    sizes : ndarray of shape (n_sizes, d)
        Sides of boxes of which there will be many.
    """

    cdef GaussianCells cells
    cdef Py_ssize_t n_sizes
    # Their sides (n_sizes, d).
    cdef double[:, ::1] widths
    # Address and number of intervals of the table of a term, an axis and two sizes; 0 for none.
    cdef Py_ssize_t[:, :, :, ::1] address, length
    cdef double[:, ::1] per_side  # intervals per unit of length, (n_terms, d)
    cdef dict tables

    def __cinit__(self, GaussianCells cells, sizes):
        sizes = np.array(sizes, dtype=np.float64, order="C")
        cdef Py_ssize_t d = cells.n_features
        if sizes.ndim != 2 or sizes.shape[1] != d:
            raise ValueError(f"sizes must have shape (n_sizes, {d}); got {sizes.shape}.")
        shape = (cells.n_terms, d, len(sizes), len(sizes))
        self.cells = cells
        self.n_sizes = len(sizes)
        self.widths = sizes
        self.address = np.zeros(shape, dtype=np.intp)
        self.length = np.zeros(shape, dtype=np.intp)
        self.per_side = PER_LENGTH * np.sqrt(cells.precisions)
        self.tables = {}

    def __reduce__(self):
        return type(self), (self.cells, np.array(self.widths))

    def cross(self, A, B):
        """Return the covariances (n, m) between boxes A (n, 2 d) and B (m, 2 d)."""
        cdef const double[:, ::1] a = self.cells._boxes(A, "A")
        cdef const double[:, ::1] b = self.cells._boxes(B, "B")
        cdef Py_ssize_t n = a.shape[0], m = b.shape[0]
        out = np.empty((n, m))
        if n == 0 or m == 0:
            return out
        cdef double[:, ::1] view = out
        cdef Py_ssize_t[::1] of_a = self.sizes_of(a), of_b = self.sizes_of(b)
        self.make_tables(a, b, of_a, of_b)
        with nogil:
            self.fill(a, b, of_a, of_b, view)
        return out

    cdef Py_ssize_t number_of(self, const double* box) noexcept nogil:
        """Number of the size of a box, -1 if it has none."""
        cdef Py_ssize_t d = self.cells.n_features, k, j
        cdef double scale
        for k in range(self.n_sizes):
            for j in range(d):
                scale = fabs(box[j]) + fabs(box[d + j])
                if fabs(box[d + j] - box[j] - self.widths[k, j]) > SAME_WIDTH * scale:
                    break
            else:
                return k
        return -1

    cdef sizes_of(self, const double[:, ::1] boxes):
        """Numbers (n,) of the sizes of boxes."""
        cdef Py_ssize_t n = boxes.shape[0], i
        numbers = np.empty(n, dtype=np.intp)
        cdef Py_ssize_t[::1] view = numbers
        for i in range(n):
            view[i] = self.number_of(&boxes[i, 0])
        return numbers

    cdef make_tables(self, const double[:, ::1] a, const double[:, ::1] b,
                     Py_ssize_t[::1] of_a, Py_ssize_t[::1] of_b):
        """Make the tables that are needed, or make them longer."""
        cdef Py_ssize_t d = self.cells.n_features, i, p, q, j, k, needed
        cdef Py_ssize_t[::1] in_a = np.zeros(self.n_sizes + 1, dtype=np.intp)
        cdef Py_ssize_t[::1] in_b = np.zeros(self.n_sizes + 1, dtype=np.intp)
        cdef double[::1] farthest = np.empty(d)
        cdef double lo, hi
        for i in range(a.shape[0]):
            in_a[of_a[i] + 1] = 1
        for i in range(b.shape[0]):
            in_b[of_b[i] + 1] = 1
        for j in range(d):
            # Between all corners, so that a table that is long enough once mostly stays so.
            lo, hi = a[0, j], a[0, d + j]
            for i in range(a.shape[0]):
                lo, hi = min(lo, a[i, j]), max(hi, a[i, d + j])
            for i in range(b.shape[0]):
                lo, hi = min(lo, b[i, j]), max(hi, b[i, d + j])
            farthest[j] = hi - lo
        for p in range(self.n_sizes):
            for q in range(self.n_sizes):
                if not (in_a[p + 1] and in_b[q + 1]):
                    continue
                for k in range(self.cells.n_terms):
                    for j in range(d):
                        needed = self.intervals(k, j, p, q, farthest[j])
                        if self.length[k, j, p, q] < needed <= MOST_INTERVALS:
                            self.make_table(k, j, p, q, needed)

    cdef Py_ssize_t intervals(self, Py_ssize_t k, Py_ssize_t j, Py_ssize_t p, Py_ssize_t q,
                              double farthest) noexcept nogil:
        """How many intervals reach as far, or to where nothing is left."""
        cdef double root = sqrt(self.cells._precisions[k, j])
        cdef double reach = VANISHED + 0.5 * root * (self.widths[p, j] + self.widths[q, j])
        return 1 + <Py_ssize_t> (PER_LENGTH * min(root * farthest, reach))

    cdef make_table(self, Py_ssize_t k, Py_ssize_t j, Py_ssize_t p, Py_ssize_t q,
                    Py_ssize_t n):
        cdef double precision = self.cells._precisions[k, j], root = sqrt(precision), x
        cdef double wide = 0.5 * self.widths[p, j], other = 0.5 * self.widths[q, j]
        cdef Py_ssize_t i, c, power
        cdef double[DEGREE + 1] values
        table = np.zeros((n, DEGREE + 1))
        cdef double[:, ::1] kept = table
        for i in range(n):
            for c in range(DEGREE + 1):
                x = (i + 0.5 * (NODES[c] + 1.0)) / PER_LENGTH
                # Where the kernel does not vary, there is one interval and one value.
                x = x / root if root > 0.0 else 0.0
                if self.cells.integral:
                    values[c] = box_mean(precision, -wide, wide, x - other, x + other, NULL)
                else:
                    values[c] = grid_mean(precision, self.cells._n_representatives[j], -wide,
                                          wide, x - other, x + other)
            # By hand: BLAS rounds a row differently among others.
            for power in range(DEGREE + 1):
                for c in range(DEGREE + 1):
                    kept[i, power] += COEFFICIENTS[power][c] * values[c]
        self.tables[k, j, p, q] = table
        self.address[k, j, p, q] = <Py_ssize_t> &kept[0, 0]
        self.length[k, j, p, q] = n

    cdef void fill(self, const double[:, ::1] a, const double[:, ::1] b,
                   const Py_ssize_t[::1] of_a, const Py_ssize_t[::1] of_b,
                   double[:, ::1] out) noexcept nogil:
        cdef Py_ssize_t i, j, p, q
        for i in range(a.shape[0]):
            p = of_a[i]
            for j in range(b.shape[0]):
                q = of_b[j]
                if p < 0 or q < 0:
                    out[i, j] = self.cells.pair(&a[i, 0], &b[j, 0])
                else:
                    out[i, j] = self.pair(&a[i, 0], &b[j, 0], p, q)

    cdef double pair(self, const double* a, const double* b, Py_ssize_t p,
                     Py_ssize_t q) noexcept nogil:
        """Covariance of two boxes of sizes that have tables."""
        cdef Py_ssize_t d = self.cells.n_features, k, j, i
        cdef double total = 0.0, product, u, t
        cdef const double* c
        for k in range(self.cells.n_terms):
            product = self.cells._weights[k]
            for j in range(d):
                u = 0.5 * fabs((a[j] - b[j]) + (a[d + j] - b[d + j])) * self.per_side[k, j]
                i = <Py_ssize_t> u
                if i >= self.length[k, j, p, q]:
                    if u >= PER_LENGTH * VANISHED and self.vanishes(k, j, p, q, u):
                        product = 0.0
                        break
                    return self.cells.pair(a, b)
                c = <const double*> self.address[k, j, p, q] + i * (DEGREE + 1)
                t = 2.0 * (u - i) - 1.0
                # Halves first: their multiplications do not wait for each other.
                product *= (
                    (c[0] + t * c[1]) + t * t * (c[2] + t * c[3])
                    + (t * t) * (t * t) * ((c[4] + t * c[5]) + t * t * (c[6] + t * c[7]))
                )
            total += product
        return total

    cdef bint vanishes(self, Py_ssize_t k, Py_ssize_t j, Py_ssize_t p, Py_ssize_t q,
                       double u) noexcept nogil:
        cdef double root = sqrt(self.cells._precisions[k, j])
        return u >= PER_LENGTH * (VANISHED + 0.5 * root * (self.widths[p, j] + self.widths[q, j]))
