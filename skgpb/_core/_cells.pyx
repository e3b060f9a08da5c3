r"""Covariances between means of a Gaussian process over boxes, for Gaussian product kernels.

Notation for boxes with d axes:

=========== ============ =================================================================
symbol      shape        meaning
=========== ============ =================================================================
A, B        (n, 2 d),    boxes, one a row: [lower_1..lower_d, upper_1..upper_d]
            (m, 2 d)
w           (n_terms,)   factor of each term of the kernel
q           (n_terms, d) precision of each term along each axis: 1 / length scale^2
s           (d,)         number of grid points along each axis
I, J        intervals    sides of a box of A and of a box of B along one axis
M(q)        scalar       mean covariance along one axis, without the factor w
theta       (p,)         hyperparameters, as functions of which w and q are differentiated
=========== ============ =================================================================

The kernel is a sum of terms w prod_a exp(-q_a (x_a - x'_a)^2 / 2). The mean of a term over a pair
of boxes, under a tensor rule on each box, is w prod_a M_a with one small problem per axis::

    M(q) = mean over x in I and y in J of exp(-q (x - y)^2 / 2)

- ``grid_mean``: I and J stand for the centres of s equal parts. Neighbouring terms of an equally
  spaced Gaussian have ratios that themselves form a geometric sequence, so a handful of ``exp``
  and then multiplications give all s^2 terms. Every recurrence starts at the largest term and
  walks towards smaller ones. All factors are at most one, so no term overflows, and a term that
  underflows is negligible. Grids that overlap by only a few length scales are an exception, because
  no factor is large there. A recurrence is restarted after ``LANES`` steps, because its error grows
  with the square of the number of steps.
- ``box_mean``: means over the whole intervals. The second antiderivative of the Gaussian gives the
  mean; on intervals so narrow that it would cancel, Gauss-Legendre nodes do.

An interval of width 0 consists of one point.
"""

from libc.math cimport erf, erfc, exp, fabs, floor, sqrt

import numpy as np

cdef enum:
    LANES = 16  # steps after which a recurrence is restarted
    MAX_NODES = 6

# Releasing and reacquiring the interpreter's lock takes tens of microseconds: it is released only
# for at least this many pairs.
cdef Py_ssize_t RELEASED = 128
# Speed: smallest number of boxes for which ``gram`` looks for equal intervals.
cdef Py_ssize_t FEWEST_SHARED = 32
# exp(-NEGLIGIBLE) is below the smallest normal number
cdef double NEGLIGIBLE = 708.0
# Relative size at which the remaining terms of a decreasing sequence are dropped.
cdef double DROPPED = 1e-22
# Widths that agree to this, relative to the coordinates, differ only by the rounding of the boxes.
cdef double SAME_WIDTH = 4 * 2.220446049250313e-16
# Such widths are treated as equal if this moves no point by more than the following number of
# length scales. Coordinates far from zero have few digits, but the query is defined by them.
cdef double SAME_PLACE = 1e-12
# Grids that overlap by at most three length scales, here squared, are summed like disjoint ones.
cdef double SHALLOW = 9.0
# The antiderivatives cancel like machine epsilon over the product of the widths (in length
# scales), or over the width if the other interval is a point. A narrow interval paired with one of
# a thousand length scales loses the digits of its width. These limits keep all errors near 1e-14.
cdef double CLOSED_PRODUCT = 0.04
cdef double CLOSED_NARROW = 0.04
cdef double CLOSED_WIDTH = 0.5

cdef double ROOT_HALF = 0.7071067811865476  # sqrt(1 / 2)
cdef double ROOT_HALF_PI = 1.2533141373155003  # sqrt(pi / 2)

# Gauss-Legendre rules on [-1/2, 1/2]; row n has n nodes. Filled at import, then only read.
cdef double[7][6] NODES
cdef double[7][6] NODE_WEIGHTS


def _fill_rules():
    cdef Py_ssize_t n, i
    NODES[1][0], NODE_WEIGHTS[1][0] = 0.0, 1.0
    for n in range(2, MAX_NODES + 1):
        nodes, weights = np.polynomial.legendre.leggauss(n)
        for i in range(n):
            NODES[n][i], NODE_WEIGHTS[n][i] = 0.5 * nodes[i], 0.5 * weights[i]


_fill_rules()
del _fill_rules


# ---- means over grids ----


cdef double decreasing_sum(double q, double x, double h, double bend,
                           Py_ssize_t n) noexcept nogil:
    """Sum exp(-q (x + j h)^2 / 2) over j = 0..n-1, for x >= -h / 2 and bend = exp(-q h^2)."""
    cdef Py_ssize_t j
    cdef double term, ratio, total = 0.0
    if n <= 0:
        return 0.0
    while True:
        term = exp(-0.5 * q * x * x)
        ratio = exp(-q * h * (x + 0.5 * h))
        for j in range(n if n < LANES else LANES):
            total += term
            term *= ratio
            ratio *= bend
        n -= LANES
        if n <= 0 or term < DROPPED * total:
            return total
        x += LANES * h


cdef double one_side_sum(double q, double x, double h, double bend, double term, double ratio,
                         Py_ssize_t n) noexcept nogil:
    """Sum exp(-q (x + j h)^2 / 2) over j = 1..n, given the term of j = 0 and the first ratio."""
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(n if n < LANES else LANES):
        term *= ratio
        ratio *= bend
        total += term
    if n > LANES:
        total += decreasing_sum(q, x + (LANES + 1) * h, h, bend, n - LANES)
    return total


cdef double same_width_mean(double q, double x, double h, Py_ssize_t s) noexcept nogil:
    """Return the mean over two grids of s points and spacing h whose centres are x >= 0 apart.

    There are only 2 s - 1 differences x + m h, and |m| < s occurs s - |m| times.
    """
    cdef Py_ssize_t j, n, steps, m, side, start
    cdef double term, ratio, bend = exp(-q * h * h), total = 0.0, y
    if x >= (s - 1) * h:
        start = 1 - s
    else:
        start = -<Py_ssize_t> floor(x / h + 0.5)
    for side in range(2):
        # upwards from the smallest difference, then downwards from the one below it
        m = start if side == 0 else start - 1
        n = s - start if side == 0 else start + s - 1
        y = x + m * h if side == 0 else -x - m * h
        while n > 0:
            term = exp(-0.5 * q * y * y)
            ratio = exp(-q * h * (y + 0.5 * h))
            steps = n if n < LANES else LANES
            for j in range(steps):
                total += term * (s - (m if m >= 0 else -m))
                term *= ratio
                ratio *= bend
                m += 1 - 2 * side
            n -= steps
            y += LANES * h
    return total / (s * <double> s)


cdef double end_to_end_mean(double q, double x, double ha, double hb, Py_ssize_t s) noexcept nogil:
    """Return the mean over two successive grids of s points each, with spacings ha and hb.

    The last point of one and the first of the other are x apart; they overlap if x < 0. The
    exponent of term (i, j) is a quadratic form, so the term is alpha_i beta_j c^(i j) with alpha
    and beta from recurrences: for each i a polynomial in c^i.
    """
    cdef Py_ssize_t i, j, i0, j0, ni, nj, block_a, block_b, n_blocks = (s + LANES - 1) // LANES
    cdef double y, term, ratio, bend_a = exp(-q * ha * ha), bend_b = exp(-q * hb * hb)
    cdef double cross = exp(-q * ha * hb), power, total = 0.0
    cdef double[LANES] alpha, beta, base, value
    for block_a in range(n_blocks):
        i0 = block_a * LANES
        ni = s - i0 if s - i0 < LANES else LANES
        for block_b in range(n_blocks):
            j0 = block_b * LANES
            nj = s - j0 if s - j0 < LANES else LANES
            y = x + i0 * ha + j0 * hb
            term = exp(-0.5 * q * y * y)
            if term == 0.0:
                break
            ratio = exp(-q * ha * (y + 0.5 * ha))
            power = 1.0
            for i in range(ni):
                alpha[i] = term
                base[i] = power
                term *= ratio
                ratio *= bend_a
                power *= cross
            term = 1.0
            ratio = exp(-q * hb * (y + 0.5 * hb))
            for j in range(nj):
                beta[j] = term
                term *= ratio
                ratio *= bend_b
            for i in range(ni):
                value[i] = beta[nj - 1]
            for j in range(nj - 2, -1, -1):
                for i in range(ni):
                    value[i] = value[i] * base[i] + beta[j]
            for i in range(ni):
                total += alpha[i] * value[i]
    return total / (s * <double> s)


cdef double overlapping_mean(double q, double x, double wa, double wb, Py_ssize_t sa,
                             Py_ssize_t sb) noexcept nogil:
    """Return the mean over any two grids whose centres are x apart.

    For each point i of I, the recurrence starts at the nearest point j of J and goes to both ends.
    """
    cdef Py_ssize_t i, j
    cdef double ha = wa / sa, hb = wb / sb, y, term, up, down = 0.0, total = 0.0
    cdef double bend = exp(-q * hb * hb)
    for i in range(sa):
        y = x + (i + 0.5) * ha - 0.5 * wa + 0.5 * (wb - hb)  # from the first point of J
        if y <= 0.0:
            j = 0
        elif y >= (sb - 1) * hb:
            j = sb - 1
        else:
            j = <Py_ssize_t> floor(y / hb + 0.5)
        y -= j * hb
        term = exp(-0.5 * q * y * y)
        total += term
        if j > 0:
            down = exp(-q * hb * (0.5 * hb + y))
            total += one_side_sum(q, y, hb, bend, term, down, j)
        if j < sb - 1:
            # The two first ratios multiply to bend, unless that has lost its digits.
            up = bend / down if j > 0 and bend > 1e-290 else exp(-q * hb * (0.5 * hb - y))
            total += one_side_sum(q, -y, hb, bend, term, up, sb - 1 - j)
    return total / (sa * <double> sb)


cdef double grid_mean(double q, Py_ssize_t s, double al, double au, double bl,
                      double bu) noexcept nogil:
    """Return M(q) for the centres of s equal parts of [al, au] and of [bl, bu]."""
    cdef double wa = au - al, wb = bu - bl, x = 0.5 * fabs((al - bl) + (au - bu)), gap
    cdef double scale
    if q == 0.0:
        return 1.0
    gap = x - 0.5 * (wa + wb)
    if gap > 0.0 and 0.5 * q * gap * gap > NEGLIGIBLE:
        return 0.0
    if s == 1 or (wa == 0.0 and wb == 0.0):
        return exp(-0.5 * q * x * x)
    if wa == 0.0:
        return overlapping_mean(q, x, wa, wb, 1, s)
    if wb == 0.0:
        return overlapping_mean(q, x, wb, wa, 1, s)
    scale = fabs(al) + fabs(au) + fabs(bl) + fabs(bu)
    if fabs(wa - wb) <= SAME_WIDTH * scale and q * (wa - wb) * (wa - wb) <= SAME_PLACE ** 2:
        return same_width_mean(q, x, 0.5 * (wa + wb) / s, s)
    gap = x - 0.5 * (wa + wb) * (s - 1) / s
    if gap >= 0.0 or q * gap * gap <= SHALLOW:
        return end_to_end_mean(q, gap, wa / s, wb / s, s)
    if wa < wb:
        return overlapping_mean(q, x, wa, wb, s, s)
    return overlapping_mean(q, x, wb, wa, s, s)


cdef double grid_mean_slope(double q, Py_ssize_t s, double al, double au, double bl, double bu,
                            double* slope) noexcept nogil:
    """Return M(q) like ``grid_mean``, term by term, and dM/dq in ``slope``."""
    cdef Py_ssize_t i, j, sa = s if au > al else 1, sb = s if bu > bl else 1
    cdef double ha = (au - al) / sa, hb = (bu - bl) / sb, x0 = 0.5 * ((al - bl) + (au - bu))
    cdef double x, weight, term, total = 0.0, squares = 0.0, gap = fabs(ha - hb) * s
    cdef double scale = fabs(al) + fabs(au) + fabs(bl) + fabs(bu)
    if sa == sb and gap <= SAME_WIDTH * scale and q * gap * gap <= SAME_PLACE ** 2:
        for i in range(1 - sa, sa):
            x = x0 + 0.5 * i * (ha + hb)
            weight = sa - (i if i >= 0 else -i)
            term = weight * exp(-0.5 * q * x * x)
            total += term
            squares += x * x * term
    else:
        for i in range(sa):
            for j in range(sb):
                x = x0 + (i - 0.5 * (sa - 1)) * ha - (j - 0.5 * (sb - 1)) * hb
                term = exp(-0.5 * q * x * x)
                total += term
                squares += x * x * term
    slope[0] = -0.5 * squares / (sa * <double> sb)
    return total / (sa * <double> sb)


# ---- means over intervals ----


cdef Py_ssize_t n_nodes(double width) noexcept nogil:
    """Return the number of Gauss-Legendre nodes for exp(-z^2 / 2) over a width <= 0.5, to 1e-15."""
    if width == 0.0:
        return 1
    if width <= 1e-3:
        return 2
    if width <= 0.02:
        return 3
    if width <= 0.1:
        return 4
    if width <= 0.2:
        return 5
    return 6


cdef double interval_mass(double lower, double upper) noexcept nogil:
    """Return the integral of exp(-z^2 / 2) over [lower, upper] without cancellation in tails."""
    if lower > 0.0:
        return ROOT_HALF_PI * (erfc(lower * ROOT_HALF) - erfc(upper * ROOT_HALF))
    if upper < 0.0:
        return ROOT_HALF_PI * (erfc(-upper * ROOT_HALF) - erfc(-lower * ROOT_HALF))
    return ROOT_HALF_PI * (erf(upper * ROOT_HALF) - erf(lower * ROOT_HALF))


cdef inline double tail(double z, double gaussian) noexcept nogil:
    """Return the second antiderivative of exp(-z^2 / 2) that vanishes at +-inf, kinked at 0."""
    return gaussian - fabs(z) * ROOT_HALF_PI * erfc(fabs(z) * ROOT_HALF)


cdef double box_mean(double q, double al, double au, double bl, double bu,
                     double* slope) noexcept nogil:
    """Return M(q) for all of [al, au] and [bl, bu], and dM/dq in ``slope`` unless it is NULL.

    In length scales: u >= v are the widths, z >= 0 the distance of the centres. The closed form
    is the sum of +-tail over the four distances between end points, plus the kink of the tails at
    0 wherever the intervals overlap (twice the overlap times sqrt(pi / 2)), over u v.
    """
    cdef double wa = au - al, wb = bu - bl, x = 0.5 * fabs((al - bl) + (au - bu)), root = sqrt(q)
    cdef double u = root * (wa if wa > wb else wb), v = root * (wb if wa > wb else wa)
    cdef double z = root * x, y, e, mean = 0.0, squares = 0.0, half = 0.5 * (u + v)
    cdef double inner = 0.5 * (u - v), overlap, far, near, left, right, mass
    cdef Py_ssize_t i, j, n, m
    if q == 0.0:
        if slope != NULL:
            slope[0] = -0.5 * (x * x + (wa * wa + wb * wb) / 12.0)
        return 1.0
    if z > half and 0.5 * (z - half) * (z - half) > NEGLIGIBLE:
        if slope != NULL:
            slope[0] = 0.0
        return 0.0
    if u * v >= CLOSED_PRODUCT and v >= CLOSED_NARROW:
        overlap = half - z
        overlap = 0.0 if overlap < 0.0 else (overlap if overlap < v else v)
        far, near = exp(-0.5 * (z + half) * (z + half)), exp(-0.5 * (z - half) * (z - half))
        left, right = exp(-0.5 * (z - inner) * (z - inner)), exp(-0.5 * (z + inner) * (z + inner))
        mean = 2.0 * ROOT_HALF_PI * overlap + (
            (tail(z - half, near) - tail(z - inner, left))
            - (tail(z + inner, right) - tail(z + half, far))
        )
        mean /= u * v
        if slope != NULL:
            slope[0] = -0.5 * (mean + ((near - left) - (right - far)) / (u * v)) / q
        return mean
    n = n_nodes(v)
    if u >= CLOSED_WIDTH:
        for i in range(n):
            y = z + v * NODES[n][i]
            mass = interval_mass(y - 0.5 * u, y + 0.5 * u) / u
            mean += NODE_WEIGHTS[n][i] * mass
            if slope != NULL:
                # twice q d/dq: the width in the denominator, the limits, and y itself
                left, right = y - 0.5 * u, y + 0.5 * u
                e = (right * exp(-0.5 * right * right) - left * exp(-0.5 * left * left)) / u
                squares += NODE_WEIGHTS[n][i] * (mass - e)
        if slope != NULL:
            slope[0] = -0.5 * squares / q
        return mean
    m = n_nodes(u)
    for i in range(n):
        for j in range(m):
            y = z + v * NODES[n][i] - u * NODES[m][j]
            e = NODE_WEIGHTS[n][i] * NODE_WEIGHTS[m][j] * exp(-0.5 * y * y)
            mean += e
            squares += y * y * e
    if slope != NULL:
        slope[0] = -0.5 * squares / q
    return mean


# ---- boxes ----


cdef class Intervals:
    """Means of all pairs of the distinct intervals of boxes along each axis."""

    @staticmethod
    cdef Intervals of(GaussianCells cells, const double[:, ::1] boxes):
        """Return the distinct intervals of boxes (n, 2 d), or None if there are too many."""
        cdef Py_ssize_t axis, total = 0, n = boxes.shape[0], d = cells.n_features
        if n < FEWEST_SHARED:
            return None
        cdef Intervals out = Intervals.__new__(Intervals)
        rows = np.asarray(boxes)
        codes = np.empty((n, d), dtype=np.intp)
        out.ends, starts, sizes = [], [], []
        for axis in range(d):
            each, inverse = np.unique(rows[:, [axis, d + axis]], axis=0, return_inverse=True)
            codes[:, axis] = inverse.ravel()
            out.ends.append(np.ascontiguousarray(each))
            starts.append(total)
            sizes.append(len(each))
            total += len(each) ** 2
            if 4 * total > d * n * n:
                return None
        out.codes, out.n_places = codes, total
        out.starts, out.sizes = np.array(starts, dtype=np.intp), np.array(sizes, dtype=np.intp)
        return out

    cdef Py_ssize_t place(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t axis) noexcept nogil:
        """Return the column of ``means`` for boxes i and j along an axis."""
        return self.starts[axis] + self.codes[i, axis] * self.sizes[axis] + self.codes[j, axis]

    cdef void fill(self, GaussianCells cells, bint with_slopes):
        """Compute ``means`` (n_terms, n_places) and, on request, ``slopes``: dM/dq."""
        cdef Py_ssize_t axis, k, i, j, place, s, d = cells.n_features
        cdef const double[:, ::1] ends
        cdef double q
        cdef double* slope
        self.means = np.empty((cells.n_terms, self.n_places))
        self.slopes = np.empty((cells.n_terms, self.n_places if with_slopes else 1))
        for axis in range(d):
            ends = self.ends[axis]
            with nogil:
                for k in range(cells.n_terms):
                    q = cells._precisions[k, axis]
                    for i in range(ends.shape[0]):
                        for j in range(ends.shape[0]):
                            place = self.starts[axis] + i * ends.shape[0] + j
                            slope = &self.slopes[k, place] if with_slopes else NULL
                            if cells.integral:
                                self.means[k, place] = box_mean(
                                    q, ends[i, 0], ends[i, 1], ends[j, 0], ends[j, 1], slope)
                                continue
                            s = cells._n_representatives[axis]
                            if with_slopes:
                                self.means[k, place] = grid_mean_slope(
                                    q, s, ends[i, 0], ends[i, 1], ends[j, 0], ends[j, 1], slope)
                            else:
                                self.means[k, place] = grid_mean(
                                    q, s, ends[i, 0], ends[i, 1], ends[j, 0], ends[j, 1])


cdef class GaussianCells:
    """Compute noiseless covariances between means over boxes for a sum of Gaussian products.

    Parameters
    ----------
    weights : array-like of shape (n_terms,)
        Factor w of each term.
    precisions : array-like of shape (n_terms, d)
        Precision q of each term along each axis: one over the squared length scale.
    n_representatives : array-like of shape (d,) or None
        Points along each axis for averages over grids; None for means over whole boxes.

    Notes
    -----
    Boxes are rows [lower_1..lower_d, upper_1..upper_d]. A pair costs O(n_terms d s) to
    O(n_terms d s^2) multiplications for grids and O(n_terms d) for whole boxes. Results for
    (a, b) and (b, a) may differ by rounding; ``gram`` is symmetric exactly. Cells of a tree share
    the intervals along each axis. If few intervals are distinct, ``gram`` and ``gram_gradient``
    therefore compute the mean of each pair of intervals only once.
    """

    def __cinit__(self, weights, precisions, n_representatives=None):
        weights = np.array(weights, dtype=np.float64)
        precisions = np.array(precisions, dtype=np.float64, order="C")
        if (
            weights.ndim != 1
            or precisions.ndim != 2
            or len(weights) != len(precisions)
            or precisions.shape[1] == 0
        ):
            raise ValueError(
                "weights must have shape (n_terms,) and precisions (n_terms, d), d >= 1; got shapes"
                f" {weights.shape} and {precisions.shape}."
            )
        if not np.isfinite(weights).all():
            raise ValueError("weights must be finite.")
        if not (np.isfinite(precisions).all() and (precisions >= 0.0).all()):
            raise ValueError("precisions must be finite and not negative.")
        self._weights = weights
        self._precisions = precisions
        self.n_terms, self.n_features = precisions.shape
        self.integral = n_representatives is None
        if not self.integral:
            counts = np.asarray(n_representatives)
            if (
                counts.dtype.kind not in "iu"
                or counts.shape != (self.n_features,)
                or not (counts >= 1).all()
            ):
                raise ValueError(
                    f"n_representatives must hold {self.n_features} integers >= 1; got"
                    f" {n_representatives!r}."
                )
            self._n_representatives = counts.astype(np.intp)

    @property
    def weights(self):
        """Factor of each term, shape (n_terms,)."""
        return np.array(self._weights)

    @property
    def precisions(self):
        """One over the squared length scales, shape (n_terms, d)."""
        return np.array(self._precisions)

    @property
    def n_representatives(self):
        """Points along each axis, shape (d,); None for means over whole boxes."""
        return None if self.integral else np.array(self._n_representatives)

    def __reduce__(self):
        return type(self), (self.weights, self.precisions, self.n_representatives)

    cdef double pair(self, const double* a, const double* b) noexcept nogil:
        cdef Py_ssize_t k, j, d = self.n_features
        cdef double product, total = 0.0
        for k in range(self.n_terms):
            product = self._weights[k]
            for j in range(d):
                if self.integral:
                    product *= box_mean(self._precisions[k, j], a[j], a[d + j], b[j], b[d + j],
                                        NULL)
                else:
                    product *= grid_mean(self._precisions[k, j], self._n_representatives[j],
                                         a[j], a[d + j], b[j], b[d + j])
                if product == 0.0:
                    break
            total += product
        return total

    cdef void cross_into(self, const double* A, Py_ssize_t n, Py_ssize_t lda,
                         const double* B, Py_ssize_t m, Py_ssize_t ldb,
                         double* out, Py_ssize_t ldo) noexcept nogil:
        cdef Py_ssize_t i, j
        for i in range(n):
            for j in range(m):
                out[i * ldo + j] = self.pair(A + i * lda, B + j * ldb)

    cdef double pair_gradient(self, const double* a, const double* b,
                              const double[:, ::1] weights_jacobian,
                              const double[:, :, ::1] precisions_jacobian,
                              double* scratch, double* gradient,
                              Intervals shared, Py_ssize_t row,
                              Py_ssize_t column) noexcept nogil:
        """Return the covariance; ``gradient`` (p,) receives its derivatives with respect to theta.

        ``scratch`` holds 3 d numbers: the mean of each axis, its slope, and the product of the
        means of all previous axes. ``shared`` may hold the means of the boxes along each axis.
        """
        cdef Py_ssize_t k, j, t, place, d = self.n_features, p = weights_jacobian.shape[1]
        cdef double product, after, factor, total = 0.0
        cdef double* means = scratch
        cdef double* slopes = scratch + d
        cdef double* before = scratch + 2 * d
        for t in range(p):
            gradient[t] = 0.0
        for k in range(self.n_terms):
            product = 1.0
            for j in range(d):
                before[j] = product
                if shared is not None:
                    place = shared.place(row, column, j)
                    means[j], slopes[j] = shared.means[k, place], shared.slopes[k, place]
                elif self.integral:
                    means[j] = box_mean(self._precisions[k, j], a[j], a[d + j], b[j], b[d + j],
                                        slopes + j)
                else:
                    means[j] = grid_mean_slope(self._precisions[k, j], self._n_representatives[j],
                                               a[j], a[d + j], b[j], b[d + j], slopes + j)
                product *= means[j]
            total += self._weights[k] * product
            for t in range(p):
                gradient[t] += weights_jacobian[k, t] * product
            after = self._weights[k]
            for j in range(d - 1, -1, -1):
                factor = before[j] * slopes[j] * after
                for t in range(p):
                    gradient[t] += factor * precisions_jacobian[k, j, t]
                after *= means[j]
        return total

    def cross(self, A, B):
        """Return the covariances (n, m) between boxes A (n, 2 d) and B (m, 2 d)."""
        cdef const double[:, ::1] a = self._boxes(A, "A")
        cdef const double[:, ::1] b = self._boxes(B, "B")
        cdef Py_ssize_t n = a.shape[0], m = b.shape[0]
        out = np.empty((n, m))
        cdef double[:, ::1] out_view = out
        if n == 0 or m == 0:
            return out
        if n * m >= RELEASED:
            with nogil:
                self.cross_into(&a[0, 0], n, a.shape[1], &b[0, 0], m, b.shape[1],
                                &out_view[0, 0], m)
        else:
            self.cross_into(&a[0, 0], n, a.shape[1], &b[0, 0], m, b.shape[1], &out_view[0, 0], m)
        return out

    def gram(self, A):
        """Return the symmetric covariances (n, n) between boxes A (n, 2 d)."""
        cdef const double[:, ::1] a = self._boxes(A, "A")
        cdef Py_ssize_t i, j, n = a.shape[0]
        out = np.empty((n, n))
        cdef double[:, ::1] out_view = out
        cdef Intervals shared = Intervals.of(self, a)
        if shared is not None:
            shared.fill(self, False)
        with nogil:
            for i in range(n):
                for j in range(i + 1):
                    if shared is None:
                        out_view[i, j] = self.pair(&a[i, 0], &a[j, 0])
                    else:
                        out_view[i, j] = self.shared_pair(shared, i, j)
                    out_view[j, i] = out_view[i, j]
        return out

    cdef double shared_pair(self, Intervals shared, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Return ``pair`` of two boxes from the means along each axis in ``shared``."""
        cdef Py_ssize_t k, axis
        cdef double product, total = 0.0
        for k in range(self.n_terms):
            product = self._weights[k]
            for axis in range(self.n_features):
                product *= shared.means[k, shared.place(i, j, axis)]
                if product == 0.0:
                    break
            total += product
        return total

    def diag(self, A):
        """Return the variances (n,) of the means over boxes A (n, 2 d)."""
        cdef const double[:, ::1] a = self._boxes(A, "A")
        cdef Py_ssize_t i, n = a.shape[0]
        out = np.empty(n)
        cdef double[::1] out_view = out
        for i in range(n):
            out_view[i] = self.pair(&a[i, 0], &a[i, 0])
        return out

    def cross_gradient(self, A, B, weights_jacobian, precisions_jacobian):
        """Return the covariances between boxes and their derivatives.

        Parameters
        ----------
        A : array-like of shape (n, 2 * d)
            Boxes.
        B : array-like of shape (m, 2 * d)
            Boxes.
        weights_jacobian : array-like of shape (n_terms, p)
            Derivatives of the weights by p hyperparameters.
        precisions_jacobian : array-like of shape (n_terms, d, p)
            Derivatives of the precisions.

        Returns
        -------
        K : ndarray of shape (n, m)
            Covariances.
        gradient : ndarray of shape (n, m, p)
            Derivatives of K, contracted with the Jacobians pair by pair: no larger array is made.
        """
        return self._gradient(A, B, weights_jacobian, precisions_jacobian)

    def gram_gradient(self, A, weights_jacobian, precisions_jacobian):
        """Return ``cross_gradient(A, A, ...)``, symmetric exactly, in half the time."""
        return self._gradient(A, None, weights_jacobian, precisions_jacobian)

    def _gradient(self, A, B, weights_jacobian, precisions_jacobian):
        cdef const double[:, ::1] a = self._boxes(A, "A")
        cdef const double[:, ::1] b = a if B is None else self._boxes(B, "B")
        cdef const double[:, ::1] by_weight = np.ascontiguousarray(weights_jacobian, np.float64)
        cdef const double[:, :, ::1] by_precision = np.ascontiguousarray(
            precisions_jacobian, np.float64
        )
        cdef Py_ssize_t i, j, t, n = a.shape[0], m = b.shape[0], p = by_weight.shape[1]
        cdef bint symmetric = B is None
        if by_weight.shape[0] != self.n_terms or (
            by_precision.shape[0], by_precision.shape[1], by_precision.shape[2]
        ) != (self.n_terms, self.n_features, p):
            raise ValueError(
                f"The Jacobians must have shapes ({self.n_terms}, p) and ({self.n_terms},"
                f" {self.n_features}, p); got {np.shape(weights_jacobian)} and"
                f" {np.shape(precisions_jacobian)}."
            )
        out, gradient = np.empty((n, m)), np.empty((n, m, p))
        cdef double[:, ::1] out_view = out
        cdef double[:, :, ::1] gradient_view = gradient
        cdef double[::1] scratch = np.empty(3 * self.n_features)
        cdef double[::1] row = np.empty(p + 1)  # not empty, so that it has an address
        cdef Intervals shared = Intervals.of(self, a) if symmetric else None
        if shared is not None:
            shared.fill(self, True)
        with nogil:
            for i in range(n):
                for j in range(i + 1 if symmetric else m):
                    out_view[i, j] = self.pair_gradient(&a[i, 0], &b[j, 0], by_weight,
                                                        by_precision, &scratch[0], &row[0],
                                                        shared, i, j)
                    for t in range(p):
                        gradient_view[i, j, t] = row[t]
                    if symmetric:
                        out_view[j, i] = out_view[i, j]
                        for t in range(p):
                            gradient_view[j, i, t] = row[t]
        return out, gradient

    cdef const double[:, ::1] _boxes(self, boxes, str name):
        cdef const double[:, ::1] view
        try:
            view = boxes
        except (TypeError, ValueError):  # of another type, or not contiguous
            boxes = np.ascontiguousarray(boxes, dtype=np.float64)
            view = boxes if boxes.ndim == 2 else np.empty((0, 0))
        if view.shape[1] != 2 * self.n_features:
            raise ValueError(
                f"{name} must have {2 * self.n_features} columns, [lower, upper] of"
                f" {self.n_features} coordinates; got an array of shape {boxes.shape}."
            )
        return view
