r"""Covariances between many boxes of few sizes, for Gaussian product kernels.

Notation for boxes with d axes, besides that of ``skgpb._core._cells``:

========= ================================ ========================================
symbol    shape                            meaning
========= ================================ ========================================
sizes     (n_sizes, d)                     side lengths that many boxes have
widths    (d, n_widths)                    distinct widths along each axis
width_of  (n_sizes, d)                     index of each side length in ``widths``
address   (n_terms, d, n_widths, n_widths) memory address of each table, or 0
length    (n_terms, d, n_widths, n_widths) number of intervals of each table
========= ================================ ========================================

For intervals of two given widths, M(q) of ``skgpb._core._cells`` depends only on the distance
between their centres. If many pairs have the same widths, M is tabulated once. Polynomials of
degree 15, one for each interval of one length scale, interpolate M at Chebyshev nodes.
The 16th derivative of a mean of Gaussians of unit length scale is below 2027025, so the error is
at most

    2 (1/4)^16 2027025 / 16! = 5e-17

plus rounding, for all widths. A pair then costs d short polynomials instead of up to d s^2 terms.
The high degree makes tables cheap: 16 values per length scale, whereas degree 7 takes 64 and loses
eleven digits. A short run needs as many tables as a long one.

*Sizes.* The caller lists the sizes that many boxes will have. Pairs of other sizes are computed one
by one, and so are all pairs of a small matrix. This choice does not depend on earlier calls, so the
results do not depend on them either, to the last bit. Widths that differ only by rounding count as
equal. The tables grow in place; ``cross`` changes none of its arguments.
"""

from libc.math cimport cos, fabs
from libc.stdlib cimport free, malloc

import numpy as np

from skgpb._core._cells cimport GaussianCells, box_mean, grid_mean

cdef enum:
    DEGREE = 15

# A Gaussian is negligible beyond this many length scales.
cdef double VANISHED = 38.0
# No table has more intervals than this: length scales that short are rare.
cdef Py_ssize_t MOST_INTERVALS = 512
# Fewer pairs than this are computed one by one: a search that never computes this many at once is
# short, and all its pairs cost less than the tables.
cdef Py_ssize_t MIN_PAIRS = 256
# Widths that differ by less than this, relative to the coordinates, differ only by rounding.
cdef double SAME_WIDTH = 8 * 2.220446049250313e-16

# Chebyshev nodes on [-1, 1]; the matrix from values at the nodes to coefficients of Chebyshev
# polynomials, and the one from these to coefficients of powers. One combined matrix would lose
# digits, because powers have large coefficients.
cdef double[DEGREE + 1] NODES
cdef double[DEGREE + 1][DEGREE + 1] OF_CHEBYSHEV, OF_POWERS


def _fill_nodes():
    cdef Py_ssize_t n = DEGREE + 1, i, j
    for i in range(n):
        NODES[i] = cos(np.pi * (i + 0.5) / n)
        for j in range(n):
            OF_CHEBYSHEV[i][j] = (1.0 if i == 0 else 2.0) / n * cos(np.pi * i * (j + 0.5) / n)
            OF_POWERS[i][j] = 0.0
    for j in range(n):
        for i, coefficient in enumerate(np.polynomial.chebyshev.cheb2poly([0.0] * j + [1.0])):
            OF_POWERS[i][j] = coefficient


_fill_nodes()
del _fill_nodes


cdef class SizedCells:
    """Compute ``GaussianCells.cross`` from tables, for boxes of few sizes.

    Parameters
    ----------
    cells : GaussianCells
        The kernel.
    sizes : ndarray of shape (n_sizes, d)
        Side lengths that many boxes will have.
    """

    cdef GaussianCells cells
    cdef Py_ssize_t n_sizes
    # Side lengths (n_sizes, d) as indices into the distinct widths of each axis (d, n_widths).
    cdef double[:, ::1] sides, widths
    cdef Py_ssize_t[:, ::1] width_of
    # Address and number of intervals of the table of a term, an axis and two widths; 0 for none.
    cdef Py_ssize_t[:, :, :, ::1] address, length
    cdef double[:, ::1] roots  # length scales per unit of length, (n_terms, d)
    cdef dict tables  # None before the first

    def __cinit__(self, GaussianCells cells, sizes):
        sizes = np.array(sizes, dtype=np.float64, order="C")
        cdef Py_ssize_t d = cells.n_features
        if sizes.ndim != 2 or sizes.shape[1] != d:
            raise ValueError(f"sizes must have shape (n_sizes, {d}); got {sizes.shape}.")
        self.cells = cells
        self.n_sizes = len(sizes)
        self.sides = sizes
        self.tables = None

    cdef begin_tables(self):
        """Index the widths and allocate the arrays of tables, which a short run never needs."""
        cdef Py_ssize_t d = self.cells.n_features
        sizes = np.asarray(self.sides)
        self.widths = np.zeros((d, len(sizes)))
        self.width_of = np.empty(sizes.shape, dtype=np.intp)
        n_widths = 0
        for j in range(d):
            distinct = sorted({*sizes[:, j].tolist()})
            np.asarray(self.widths)[j, : len(distinct)] = distinct
            np.asarray(self.width_of)[:, j] = np.searchsorted(distinct, sizes[:, j])
            n_widths = max(n_widths, len(distinct))
        shape = (self.cells.n_terms, d, n_widths, n_widths)
        self.address = np.zeros(shape, dtype=np.intp)
        self.length = np.zeros(shape, dtype=np.intp)
        self.roots = np.sqrt(self.cells.precisions)
        self.tables = {}

    def __reduce__(self):
        return type(self), (self.cells, np.array(self.sides))

    def cross(self, A, B):
        """Return the covariances (n, m) between boxes A (n, 2 d) and B (m, 2 d)."""
        cdef const double[:, ::1] a = self.cells._boxes(A, "A")
        cdef const double[:, ::1] b = self.cells._boxes(B, "B")
        cdef Py_ssize_t n = a.shape[0], m = b.shape[0], i
        out = np.empty((n, m))
        cdef double[:, ::1] view = out
        if n * m < MIN_PAIRS:
            if n and m:
                self.cells.cross_into(&a[0, 0], n, a.shape[1], &b[0, 0], m, b.shape[1],
                                      &view[0, 0], m)
            return out
        if self.tables is None:
            self.begin_tables()
        # The size of every box, then the number of boxes of each size in A and in B.
        cdef Py_ssize_t* of_a = <Py_ssize_t*> malloc((n + m + 2 * self.n_sizes) * sizeof(Py_ssize_t))
        if of_a == NULL:
            raise MemoryError
        cdef Py_ssize_t* of_b = of_a + n
        cdef Py_ssize_t* in_a = of_b + m
        cdef Py_ssize_t* in_b = in_a + self.n_sizes
        try:
            for i in range(2 * self.n_sizes):
                in_a[i] = 0
            self.find_sizes(a, of_a, in_a)
            self.find_sizes(b, of_b, in_b)
            self.make_tables(a, b, in_a, in_b)
            with nogil:
                self.fill(a, b, of_a, of_b, view)
        finally:
            free(of_a)
        return out

    cdef Py_ssize_t number_of(self, const double* box) noexcept nogil:
        """Return the index of the size of a box, -1 if its size has no table."""
        cdef Py_ssize_t d = self.cells.n_features, k, j
        cdef double scale
        for k in range(self.n_sizes):
            for j in range(d):
                scale = fabs(box[j]) + fabs(box[d + j])
                if fabs(box[d + j] - box[j] - self.sides[k, j]) > SAME_WIDTH * scale:
                    break
            else:
                return k
        return -1

    cdef void find_sizes(self, const double[:, ::1] boxes, Py_ssize_t* numbers,
                         Py_ssize_t* counts) noexcept nogil:
        """Find the index of the size of each box, and count the boxes of each size."""
        cdef Py_ssize_t i
        for i in range(boxes.shape[0]):
            numbers[i] = self.number_of(&boxes[i, 0])
            if numbers[i] >= 0:
                counts[numbers[i]] += 1

    cdef make_tables(self, const double[:, ::1] a, const double[:, ::1] b,
                     const Py_ssize_t* in_a, const Py_ssize_t* in_b):
        """Compute the tables that the boxes need, or extend existing tables."""
        cdef Py_ssize_t i, p, q, j, k, needed, wide, other
        cdef double lo, hi, farthest
        for j in range(self.cells.n_features):
            farthest = -1.0
            for p in range(self.n_sizes):
                if not (in_a[p] or in_b[p]):
                    continue
                wide = self.width_of[p, j]
                for q in range(p + 1):
                    if not (in_a[p] and in_b[q] or in_b[p] and in_a[q]):
                        continue
                    other = self.width_of[q, j]
                    if farthest < 0.0:
                        # The reach covers all corners, so a table that is long enough once mostly
                        # stays long enough; a little more, because distances are rounded.
                        lo, hi = min(a[0, j], b[0, j]), max(a[0, j], b[0, j])
                        for i in range(a.shape[0]):
                            lo = min(lo, a[i, j])
                            hi = max(hi, a[i, self.cells.n_features + j])
                        for i in range(b.shape[0]):
                            lo = min(lo, b[i, j])
                            hi = max(hi, b[i, self.cells.n_features + j])
                        farthest = hi - lo + SAME_WIDTH * (fabs(lo) + fabs(hi))
                    for k in range(self.cells.n_terms):
                        needed = self.intervals(k, j, wide, other, farthest)
                        if self.length[k, j, wide, other] < needed <= MOST_INTERVALS:
                            self.make_table(k, j, wide, other, needed)

    cdef Py_ssize_t intervals(self, Py_ssize_t k, Py_ssize_t j, Py_ssize_t p, Py_ssize_t q,
                              double farthest) noexcept nogil:
        """Return the number of intervals up to ``farthest``, or until the mean is negligible."""
        cdef double root = self.roots[k, j], half = 0.5 * (self.widths[j, p] + self.widths[j, q])
        return 1 + <Py_ssize_t> min(root * max(farthest - half, 0.0), VANISHED + root * half)

    cdef make_table(self, Py_ssize_t k, Py_ssize_t j, Py_ssize_t p, Py_ssize_t q,
                    Py_ssize_t n):
        """Extend the table of two widths, in either order, to n intervals."""
        cdef double precision = self.cells._precisions[k, j], root = self.roots[k, j], x
        cdef double wide = 0.5 * self.widths[j, p], other = 0.5 * self.widths[j, q]
        cdef Py_ssize_t known = self.length[k, j, p, q], i, c, power
        cdef double[DEGREE + 1] values, series
        table = np.zeros((n, DEGREE + 1))
        if known:
            table[:known] = self.tables[k, j, p, q]
        cdef double[:, ::1] kept = table
        for i in range(known, n):
            for c in range(DEGREE + 1):
                x = i + 0.5 * (NODES[c] + 1.0)
                # A kernel that does not vary along the axis needs one interval and one value.
                x = x / root if root > 0.0 else 0.0
                if self.cells.integral:
                    values[c] = box_mean(precision, -wide, wide, x - other, x + other, NULL)
                else:
                    values[c] = grid_mean(precision, self.cells._n_representatives[j], -wide,
                                          wide, x - other, x + other)
            # Not by BLAS, whose rounding of a row depends on the number of rows.
            for power in range(DEGREE + 1):
                series[power] = 0.0
                for c in range(DEGREE + 1):
                    series[power] += OF_CHEBYSHEV[power][c] * values[c]
            for power in range(DEGREE + 1):
                for c in range(power, DEGREE + 1, 2):
                    kept[i, power] += OF_POWERS[power][c] * series[c]
        self.tables[k, j, p, q] = table
        self.address[k, j, p, q] = self.address[k, j, q, p] = <Py_ssize_t> &kept[0, 0]
        self.length[k, j, p, q] = self.length[k, j, q, p] = n

    cdef void fill(self, const double[:, ::1] a, const double[:, ::1] b,
                   const Py_ssize_t* of_a, const Py_ssize_t* of_b,
                   double[:, ::1] out) noexcept nogil:
        cdef Py_ssize_t i, j
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                if of_a[i] < 0 or of_b[j] < 0:
                    out[i, j] = self.cells.pair(&a[i, 0], &b[j, 0])
                else:
                    out[i, j] = self.pair(&a[i, 0], &b[j, 0], of_a[i], of_b[j])

    cdef double pair(self, const double* a, const double* b, Py_ssize_t p,
                     Py_ssize_t q) noexcept nogil:
        """Return the covariance of two boxes whose sizes have tables."""
        cdef Py_ssize_t d = self.cells.n_features, k, j, i, v, w
        cdef double total = 0.0, product, u, t, t2, t4
        cdef const double* c
        for k in range(self.cells.n_terms):
            product = self.cells._weights[k]
            for j in range(d):
                u = 0.5 * fabs((a[j] - b[j]) + (a[d + j] - b[d + j])) * self.roots[k, j]
                i = <Py_ssize_t> u
                v, w = self.width_of[p, j], self.width_of[q, j]
                if i >= self.length[k, j, v, w]:
                    if u >= VANISHED and self.vanishes(k, j, v, w, u):
                        product = 0.0
                        break
                    return self.cells.pair(a, b)
                c = <const double*> self.address[k, j, v, w] + i * (DEGREE + 1)
                t = 2.0 * (u - i) - 1.0
                t2 = t * t
                t4 = t2 * t2
                # Two halves: their multiplications do not depend on each other.
                product *= (
                    ((c[0] + t * c[1]) + t2 * (c[2] + t * c[3]))
                    + t4 * ((c[4] + t * c[5]) + t2 * (c[6] + t * c[7]))
                ) + (t4 * t4) * (
                    ((c[8] + t * c[9]) + t2 * (c[10] + t * c[11]))
                    + t4 * ((c[12] + t * c[13]) + t2 * (c[14] + t * c[15]))
                )
            total += product
        return total

    cdef bint vanishes(self, Py_ssize_t k, Py_ssize_t j, Py_ssize_t p, Py_ssize_t q,
                       double u) noexcept nogil:
        return u >= VANISHED + 0.5 * self.roots[k, j] * (self.widths[j, p] + self.widths[j, q])
