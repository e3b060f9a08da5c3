r"""Covariances between means over grids in boxes, for kernels of scaled distances.

The kernel is a sum of terms w prod_l g_l(s_l) of *leaves* g_l, each a function of its own scaled
squared distance s_l = sum_a q_la (x_a - x'_a)^2: Matern, rational quadratic, Gaussian. Unlike a
Gaussian such a kernel does not factorise over the axes. Two things make a pair of boxes cheap.

- The kernel sees differences alone. Between grids of s points and one spacing there are 2 s - 1
  differences along an axis, of which m occurs s - |m| times; where one spacing is r times the
  other, as between the cells of a tree, (s - 1) (r + 1) + 1; and where the centres agree half of
  them. With (2 s - 1)^d values a pair is summed that has s^(2 d) pairs of points.
- A covariance depends on the widths of both boxes and on how far apart their centres are. In a
  partition the same of these occur over and over: what was computed last is remembered.

Distances and widths are read to 48 bits of the coordinates, so that the same ones in different
places are recognised, unless that would move a point by more than 1e-13 length scales. What is
remembered depends on these numbers only: no bit of a result depends on what was computed before.
"""

from libc.math cimport INFINITY, fabs, frexp, ldexp, pow, rint, sqrt, tgamma
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

import threading

import numpy as np

from scipy.special.cython_special cimport kv

# Loops that compilers turn into vector instructions, which they do not with libm's functions, nor
# with a sum in one accumulator. The same on every machine.
cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    /* Twice as fast where there is AVX2; no fused operations, so that results are the same. */
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) \\
        && !defined(__SANITIZE_ADDRESS__)
    #define VECTORIZED __attribute__((target_clones("avx2", "default")))
    #else
    #define VECTORIZED
    #endif

    /* exp(x) for x <= 0, to 2 units in the last place; 0 below -708. */
    static inline double exp_one(double x) {
        const double magic = 6755399441055744.0;  /* 1.5 * 2^52: adding it rounds to integers */
        double v = x < -708.0 ? -708.0 : x;
        double t = v * 1.4426950408889634 + magic, m = t - magic, p;
        double r = (v - m * 0.693147180369123816490) - m * 1.90821492927058770002e-10;
        int64_t bits, power;
        p = 1.0 / 479001600.0;
        p = p * r + 1.0 / 39916800.0;
        p = p * r + 1.0 / 3628800.0;
        p = p * r + 1.0 / 362880.0;
        p = p * r + 1.0 / 40320.0;
        p = p * r + 1.0 / 5040.0;
        p = p * r + 1.0 / 720.0;
        p = p * r + 1.0 / 120.0;
        p = p * r + 1.0 / 24.0;
        p = p * r + 1.0 / 6.0;
        p = p * r + 0.5;
        p = p * r + 1.0;
        p = p * r + 1.0;
        memcpy(&power, &t, sizeof t);
        memcpy(&bits, &p, sizeof p);
        bits = (int64_t) ((uint64_t) bits + ((uint64_t) power << 52));
        memcpy(&p, &bits, sizeof p);
        return x < -708.0 ? 0.0 : p;
    }

    /* log(x) for finite x >= 1, to 1e-15 of 1 or of itself. */
    static inline double log_one(double x) {
        const double magic = 4503599627370496.0;  /* 2^52 */
        uint64_t bits, exponent, mantissa;
        double m, e, z, w, p;
        memcpy(&bits, &x, sizeof bits);
        /* from 1/sqrt(2) to sqrt(2), as 2^e m */
        bits += 0x3ff0000000000000u - 0x3fe6a09e667f3bcdu;
        exponent = (bits >> 52) | 0x4330000000000000u;
        mantissa = (bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu;
        memcpy(&e, &exponent, sizeof e);
        memcpy(&m, &mantissa, sizeof m);
        e = e - magic - 1023.0;
        z = (m - 1.0) / (m + 1.0);
        w = z * z;
        p = 1.0 / 21.0;
        p = p * w + 1.0 / 19.0;
        p = p * w + 1.0 / 17.0;
        p = p * w + 1.0 / 15.0;
        p = p * w + 1.0 / 13.0;
        p = p * w + 1.0 / 11.0;
        p = p * w + 1.0 / 9.0;
        p = p * w + 1.0 / 7.0;
        p = p * w + 1.0 / 5.0;
        p = p * w + 1.0 / 3.0;
        p = p * w + 1.0;
        return e * 0.6931471805599453 + 2.0 * z * p;
    }

    /* value <- leaf at the scaled squared distances base + s, by kind */
    VECTORIZED static void gaussian(double base, const double *s, ptrdiff_t n, double *value) {
        for (ptrdiff_t k = 0; k < n; k++)
            value[k] = exp_one(-0.5 * (base + s[k]));
    }

    VECTORIZED static void exponential(double base, const double *s, ptrdiff_t n, double *value) {
        for (ptrdiff_t k = 0; k < n; k++)
            value[k] = exp_one(-sqrt(base + s[k]));
    }

    VECTORIZED static void matern_3_2(double base, const double *s, ptrdiff_t n, double *value) {
        for (ptrdiff_t k = 0; k < n; k++) {
            double r = sqrt(3.0 * (base + s[k]));
            value[k] = (1.0 + r) * exp_one(-r);
        }
    }

    VECTORIZED static void matern_5_2(double base, const double *s, ptrdiff_t n, double *value) {
        for (ptrdiff_t k = 0; k < n; k++) {
            double r = sqrt(5.0 * (base + s[k]));
            value[k] = (1.0 + r * (1.0 + r * (1.0 / 3.0))) * exp_one(-r);
        }
    }

    VECTORIZED static void rational_quadratic(double alpha, double base, const double *s,
                                              ptrdiff_t n, double *value) {
        const double factor = 0.5 / alpha;
        for (ptrdiff_t k = 0; k < n; k++)
            value[k] = exp_one(-alpha * log_one(1.0 + factor * (base + s[k])));
    }

    VECTORIZED static void rational_quadratic_slopes(double alpha, double base, const double *s,
                                                     ptrdiff_t n, const double *value,
                                                     double *slope, double *by_shape) {
        const double factor = 0.5 / alpha;
        for (ptrdiff_t k = 0; k < n; k++) {
            double x = factor * (base + s[k]), v = value[k];
            slope[k] = -0.5 * v / (1.0 + x);
            by_shape[k] = alpha * v * (x / (1.0 + x) - log_one(1.0 + x));
        }
    }

    VECTORIZED static double sum_products(const double *x, const double *y, ptrdiff_t n) {
        double total[4] = {0.0, 0.0, 0.0, 0.0};
        ptrdiff_t k = 0;
        for (; k + 4 <= n; k += 4)
            for (int j = 0; j < 4; j++)
                total[j] += x[k + j] * y[k + j];
        for (; k < n; k++)
            total[0] += x[k] * y[k];
        return (total[0] + total[1]) + (total[2] + total[3]);
    }
    """
    void gaussian(double base, const double* s, Py_ssize_t n, double* value) noexcept nogil
    void exponential(double base, const double* s, Py_ssize_t n, double* value) noexcept nogil
    void matern_3_2(double base, const double* s, Py_ssize_t n, double* value) noexcept nogil
    void matern_5_2(double base, const double* s, Py_ssize_t n, double* value) noexcept nogil
    void rational_quadratic(double alpha, double base, const double* s, Py_ssize_t n,
                            double* value) noexcept nogil
    void rational_quadratic_slopes(double alpha, double base, const double* s, Py_ssize_t n,
                                   const double* value, double* slope,
                                   double* by_shape) noexcept nogil
    double sum_products(const double* x, const double* y, Py_ssize_t n) noexcept nogil

# Kinds of leaves.
cdef enum:
    GAUSSIAN = 0
    EXPONENTIAL = 1  # Matern, nu = 1/2
    MATERN_3_2 = 2
    MATERN_5_2 = 3
    MATERN = 4  # any nu, which is the leaf's shape
    RATIONAL_QUADRATIC = 5  # alpha is the leaf's shape

cdef enum:
    BITS = 48  # of coordinates that are read

# Differences along several axes are laid out in a row of at most so many.
cdef Py_ssize_t IN_A_ROW = 1024
# More points along an axis than this are left to the generic evaluation: tables take s^2 numbers.
MOST_POINTS = 512
# Reading coordinates to BITS moves no point by more than this, in length scales.
cdef double SAME_PLACE = 1e-13
# Entries of the memory at first and at most, and places at which each key is looked for.
cdef Py_ssize_t FIRST_ENTRIES = 2 ** 8
cdef Py_ssize_t MOST_ENTRIES = 2 ** 17
cdef Py_ssize_t PLACES = 8
# Handing the interpreter's lock to another thread costs tens of microseconds: released from here.
cdef Py_ssize_t RELEASED = 16


# ---- leaves ----


cdef double bessel_factor(double nu) noexcept nogil:
    """2^(1 - nu) / Gamma(nu)."""
    return pow(2.0, 1.0 - nu) / tgamma(nu)


cdef void fill(int kind, double shape, double base, const double* s, Py_ssize_t n,
               double* value) noexcept nogil:
    """Values of a leaf at the scaled squared distances base + s."""
    cdef Py_ssize_t k
    cdef double factor, r
    if kind == GAUSSIAN:
        gaussian(base, s, n, value)
    elif kind == EXPONENTIAL:
        exponential(base, s, n, value)
    elif kind == MATERN_3_2:
        matern_3_2(base, s, n, value)
    elif kind == MATERN_5_2:
        matern_5_2(base, s, n, value)
    elif kind == RATIONAL_QUADRATIC:
        rational_quadratic(shape, base, s, n, value)
    else:
        factor = bessel_factor(shape)
        for k in range(n):
            r = sqrt(2.0 * shape * (base + s[k]))
            value[k] = factor * pow(r, shape) * kv(shape, r) if r > 0.0 else 1.0


cdef void fill_slopes(int kind, double shape, double base, const double* s, Py_ssize_t n,
                      const double* value, double* slope, double* by_shape) noexcept nogil:
    """Derivatives of these values by s, and of a rational quadratic by the logarithm of alpha.

    At s = 0, where an exponential has no derivative, 0: it multiplies a difference that is 0.
    """
    cdef Py_ssize_t k
    cdef double factor, r
    if kind == RATIONAL_QUADRATIC:
        rational_quadratic_slopes(shape, base, s, n, value, slope, by_shape)
        return
    factor = bessel_factor(shape) if kind == MATERN else 0.0
    for k in range(n):
        if kind == GAUSSIAN:
            slope[k] = -0.5 * value[k]
        elif kind == EXPONENTIAL:
            r = sqrt(base + s[k])
            slope[k] = -0.5 * value[k] / r if r > 0.0 else 0.0
        elif kind == MATERN_3_2:
            r = sqrt(3.0 * (base + s[k]))
            slope[k] = -1.5 * value[k] / (1.0 + r)
        elif kind == MATERN_5_2:
            r = sqrt(5.0 * (base + s[k]))
            slope[k] = -5.0 / 6.0 * value[k] * (1.0 + r) / (1.0 + r * (1.0 + r * (1.0 / 3.0)))
        else:
            # d/dr of r^nu K_nu(r) is -r^nu K_(nu - 1)(r)
            r = sqrt(2.0 * shape * (base + s[k]))
            if r > 0.0:
                slope[k] = -factor * shape * pow(r, shape - 1.0) * kv(shape - 1.0, r)
            else:
                slope[k] = 0.0


# ---- differences along an axis ----


cdef Py_ssize_t differences(double x, double wa, double wb, Py_ssize_t s, double same,
                            double* square, double* share) noexcept nogil:
    """Squared differences between grids in intervals of widths wa <= wb, centres x apart.

    Each is taken ``share`` times among all pairs. Return how many there are.
    """
    cdef Py_ssize_t i, j, k, n, m = 0, both, first, sa = s if wa > 0.0 else 1, sb = s if wb > 0.0 else 1
    cdef double ha = wa / sa, hb = wb / sb, y, ratio, all_pairs = sa * <double> sb
    if sa > 1 and wb < s * wa:
        ratio = rint(wb / wa)
        if fabs(wb - ratio * wa) <= same:
            m = <Py_ssize_t> ratio
    if m:
        # hb = m ha: the difference of points i and j is (i - m j) ha, up to where the first are.
        n = (s - 1) * (m + 1) + 1
        for k in range(n):
            share[k] = 0.0
        for j in range(s):
            for i in range(s):
                share[i + m * (s - 1 - j)] += 1.0
        # Differences k and both - k are one another's negative, where there is such a number.
        ratio = rint(2.0 * x / ha) if 2.0 * x < n * ha else n
        both = n - 1 - <Py_ssize_t> ratio
        first = 0
        if both > 0 and fabs(2.0 * x - ratio * ha) <= same:
            first = (both + 1) // 2
            for k in range(first):
                share[both - k] += share[k]
        for k in range(first, n):
            y = x + (k - 0.5 * (n - 1)) * ha
            square[k - first] = y * y
            share[k - first] = share[k] / all_pairs
        return n - first
    n = 0
    for i in range(sa):
        for j in range(sb):
            y = x + (i - 0.5 * (sa - 1)) * ha - (j - 0.5 * (sb - 1)) * hb
            square[n] = y * y
            share[n] = 1.0 / all_pairs
            n += 1
    return n


# ---- what was computed last ----


cdef class Memory:
    """Numbers by keys, of which some are forgotten when there are too many."""

    cdef Py_ssize_t n_keys, n_values, n_entries, n_used
    cdef double[:, ::1] kept  # (n_entries, n_keys + n_values); NaN where there is nothing

    def __cinit__(self, Py_ssize_t n_keys, Py_ssize_t n_values):
        self.n_keys, self.n_values, self.n_used = n_keys, n_values, 0
        self.make(FIRST_ENTRIES)

    cdef make(self, Py_ssize_t n_entries):
        self.kept = np.full((n_entries, self.n_keys + self.n_values), np.nan)
        self.n_entries = n_entries

    cdef expect(self, Py_ssize_t n_pairs):
        """Make room where so many pairs follow, as far as the memory may grow."""
        cdef double[:, ::1] old = self.kept
        cdef Py_ssize_t n_entries = self.n_entries, i, j
        cdef double* entry
        while n_entries < 2 * (self.n_used + n_pairs) and n_entries < MOST_ENTRIES:
            n_entries *= 2
        if n_entries == self.n_entries:
            return
        self.make(n_entries)
        self.n_used = 0
        for i in range(old.shape[0]):
            if old[i, 0] == old[i, 0]:
                entry = self.entry(&old[i, 0])
                self.n_used += entry[0] != entry[0]
                for j in range(self.n_keys + self.n_values):
                    entry[j] = old[i, j]

    cdef double* entry(self, const double* key) noexcept nogil:
        """Where the numbers of a key are, or will be."""
        cdef uint64_t mixed = 0x9E3779B97F4A7C15, word
        cdef Py_ssize_t j, k
        cdef double* entry
        for j in range(self.n_keys):
            memcpy(&word, key + j, sizeof(double))
            mixed = (mixed ^ word) * <uint64_t> 0xFF51AFD7ED558CCD
            mixed ^= mixed >> 32
        for k in range(PLACES):
            entry = &self.kept[<Py_ssize_t> ((mixed + k) & <uint64_t> (self.n_entries - 1)), 0]
            if entry[0] != entry[0] or self.holds(entry, key):
                return entry
        return &self.kept[<Py_ssize_t> (mixed & <uint64_t> (self.n_entries - 1)), 0]

    cdef bint holds(self, const double* entry, const double* key) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.n_keys):
            if entry[j] != key[j]:
                return False
        return True


# ---- boxes ----


cdef class RadialCells:
    """Noiseless covariances between means over grids in boxes.

    Parameters
    ----------
    weights : array-like of shape (n_terms,)
        Factor w of each term.
    powers : array-like of shape (n_terms, n_leaves)
        How often each leaf is a factor of each term.
    kinds : array-like of shape (n_leaves,)
        Numbers of the kinds.
    precisions : array-like of shape (n_leaves, d)
        One over the squared length scale, along each axis.
    shapes : array-like of shape (n_leaves,)
        nu of a Matern kernel and alpha of a rational quadratic one.
    n_representatives : array-like of shape (d,)
        Points along each axis.

    Notes
    -----
    Boxes are rows [lower_1..lower_d, upper_1..upper_d]. A pair of boxes of one size costs
    (2 s - 1)^d evaluations of every leaf unless it is remembered, any pair at most s^(2 d). Results
    for (a, b) and (b, a) are the same to the last bit.
    """

    cdef readonly Py_ssize_t n_features  # d
    cdef readonly Py_ssize_t n_terms, n_leaves
    cdef double[::1] weights, shapes
    cdef Py_ssize_t[:, ::1] powers
    cdef Py_ssize_t[::1] kinds, counts
    cdef double[:, ::1] precisions
    cdef double sharpest  # largest root of a precision
    cdef double[:, ::1] square, share  # (d, differences along an axis)
    cdef Py_ssize_t[::1] length, place  # (d,), how many differences, and which comes next
    cdef double[:, ::1] row_square, value, slope, by_shape  # (n_axes or n_leaves, in a row)
    cdef double[::1] row_share, distance, inner, ones
    cdef double[::1] by_term  # (n_terms,) means of the products of the leaves
    cdef double[:, ::1] by_precision  # (n_leaves, d)
    cdef double[::1] by_alpha  # (n_leaves,)
    cdef Memory memory
    cdef object lock
    cdef tuple arguments

    def __cinit__(self, weights, powers, kinds, precisions, shapes, n_representatives):
        self.arguments = (weights, powers, kinds, precisions, shapes, n_representatives)
        self.weights = np.array(weights, dtype=np.float64)
        self.kinds = np.array(kinds, dtype=np.intp)
        self.shapes = np.array(shapes, dtype=np.float64)
        self.counts = np.array(n_representatives, dtype=np.intp)
        cdef Py_ssize_t T = self.weights.shape[0], l = self.kinds.shape[0], d = self.counts.shape[0]
        self.powers = np.array(powers, dtype=np.intp).reshape(T, l)
        self.precisions = np.array(precisions, dtype=np.float64).reshape(l, d)
        if self.shapes.shape[0] != l or d == 0:
            raise ValueError(f"shapes must have {l} numbers and n_representatives at least one")
        if not 1 <= min(n_representatives) <= max(n_representatives) <= MOST_POINTS:
            raise ValueError(f"n_representatives must be from 1 to {MOST_POINTS}")
        self.n_terms, self.n_leaves, self.n_features = T, l, d
        self.sharpest = np.sqrt(np.asarray(self.precisions).max(initial=0.0))
        self.square = np.empty((d, max(n_representatives) ** 2))
        self.share = np.empty_like(self.square)
        self.length, self.place = np.empty(d, dtype=np.intp), np.empty(d, dtype=np.intp)
        width = max(IN_A_ROW, max(n_representatives) ** 2)
        self.row_square, self.row_share = np.empty((d, width)), np.empty(width)
        self.value, self.slope, self.by_shape = (np.zeros((l + 1, width)) for _ in range(3))
        self.distance, self.inner, self.ones = np.empty(width), np.empty(width), np.ones(width)
        self.by_term = np.empty(T + 1)
        self.by_precision, self.by_alpha = np.empty((l + 1, d)), np.empty(l + 1)
        self.memory = Memory(3 * d, 1)
        self.lock = threading.Lock()

    def __reduce__(self):
        return type(self), self.arguments

    # -- one pair ---------------------------------------------------------------------------

    cdef void read(self, const double* a, const double* b, double* key) noexcept nogil:
        """Write the distances of the centres, the smaller widths and the larger ones (3 d,)."""
        cdef Py_ssize_t d = self.n_features, j
        cdef double x, wa, wb, size, grain
        cdef int exponent
        for j in range(d):
            x = 0.5 * fabs((a[j] - b[j]) + (a[d + j] - b[d + j]))
            wa, wb = a[d + j] - a[j], b[d + j] - b[j]
            size = max(max(fabs(a[j]), fabs(a[d + j])), max(fabs(b[j]), fabs(b[d + j])))
            frexp(size, &exponent)
            grain = ldexp(1.0, exponent - BITS)
            if grain * self.sharpest <= SAME_PLACE and grain > 0.0:
                x = rint(x / grain) * grain
                # What has a width keeps it: it has as many points.
                if wa > grain:
                    wa = rint(wa / grain) * grain
                if wb > grain:
                    wb = rint(wb / grain) * grain
            key[j] = x + 0.0
            key[d + j] = min(wa, wb) + 0.0
            key[2 * d + j] = max(wa, wb) + 0.0

    cdef Py_ssize_t lay_out(self, const double* key, Py_ssize_t* first) noexcept nogil:
        """Find the differences, and lay those along the axes from ``first`` on out in a row."""
        cdef Py_ssize_t d = self.n_features, j, a, i, k, n
        cdef double same = SAME_PLACE / self.sharpest if self.sharpest > 0.0 else INFINITY
        for j in range(d):
            self.length[j] = differences(key[j], key[d + j], key[2 * d + j], self.counts[j], same,
                                         &self.square[j, 0], &self.share[j, 0])
        j = d - 1
        n = self.length[j]
        for k in range(n):
            self.row_square[j, k] = self.square[j, k]
            self.row_share[k] = self.share[j, k]
        while j > 0 and n * self.length[j - 1] <= IN_A_ROW:
            j -= 1
            # The first copy, of which the others are made, is changed last.
            for i in range(self.length[j] - 1, -1, -1):
                for k in range(n):
                    self.row_square[j, i * n + k] = self.square[j, i]
                    self.row_share[i * n + k] = self.row_share[k] * self.share[j, i]
                for a in range(j + 1, d):
                    for k in range(n):
                        self.row_square[a, i * n + k] = self.row_square[a, k]
            n *= self.length[j]
        first[0] = j
        return n

    cdef double sum_pair(self, const double* key, bint slopes) noexcept nogil:
        """Covariance of a pair; with ``slopes`` leaves derivatives in by_term, by_precision ..."""
        cdef Py_ssize_t d = self.n_features, T = self.n_terms, first, n, l, t, a
        cdef double total = 0.0, outer, base
        cdef Py_ssize_t* at = &self.place[0]
        n = self.lay_out(key, &first)
        for t in range(T):
            self.by_term[t] = 0.0
        if slopes:
            for l in range(self.n_leaves):
                self.by_alpha[l] = 0.0
                for a in range(d):
                    self.by_precision[l, a] = 0.0
        for a in range(first):
            at[a] = 0
        while True:
            outer = 1.0
            for a in range(first):
                outer *= self.share[a, at[a]]
            for l in range(self.n_leaves):
                base = 0.0
                for a in range(first):
                    base += self.precisions[l, a] * self.square[a, at[a]]
                self.evaluate(l, first, base, n, slopes)
            for t in range(T):
                self.by_term[t] += outer * self.product(t, -1, n)
                if slopes:
                    self.add_slopes(t, first, outer, n, at)
            # the next differences along the axes that are not in the row
            a = first - 1
            while a >= 0:
                at[a] += 1
                if at[a] < self.length[a]:
                    break
                at[a] = 0
                a -= 1
            if a < 0:
                break
        for t in range(T):
            total += self.weights[t] * self.by_term[t]
        return total

    cdef void evaluate(self, Py_ssize_t l, Py_ssize_t first, double base, Py_ssize_t n,
                       bint slopes) noexcept nogil:
        """Evaluate a leaf at all differences of the row."""
        cdef Py_ssize_t a, k
        cdef double q
        cdef double* s = &self.distance[0]
        q = self.precisions[l, first]
        for k in range(n):
            s[k] = q * self.row_square[first, k]
        for a in range(first + 1, self.n_features):
            q = self.precisions[l, a]
            for k in range(n):
                s[k] += q * self.row_square[a, k]
        fill(<int> self.kinds[l], self.shapes[l], base, s, n, &self.value[l, 0])
        if slopes:
            fill_slopes(<int> self.kinds[l], self.shapes[l], base, s, n, &self.value[l, 0],
                        &self.slope[l, 0], &self.by_shape[l, 0])

    cdef double product(self, Py_ssize_t t, Py_ssize_t left_out, Py_ssize_t n) noexcept nogil:
        """Mean over the row of the product of a term's leaves, one of one leaf left out.

        What is left of the products, times their shares, is in ``inner``.
        """
        cdef Py_ssize_t l, k, p, power, n_factors = 0
        cdef double* u = &self.inner[0]
        cdef double* share = &self.row_share[0]
        cdef double* value
        for l in range(self.n_leaves):
            n_factors += self.powers[t, l]
        if n_factors == 1 and left_out < 0:
            for l in range(self.n_leaves):
                if self.powers[t, l]:
                    return sum_products(share, &self.value[l, 0], n)
        for k in range(n):
            u[k] = share[k]
        for l in range(self.n_leaves):
            value = &self.value[l, 0]
            power = self.powers[t, l] - (l == left_out)
            for p in range(power):
                for k in range(n):
                    u[k] *= value[k]
        return sum_products(u, &self.ones[0], n) if left_out < 0 else 0.0

    cdef void add_slopes(self, Py_ssize_t t, Py_ssize_t first, double outer, Py_ssize_t n,
                         const Py_ssize_t* at) noexcept nogil:
        """Add what a term adds to the derivatives by the precisions and shapes of its leaves."""
        cdef Py_ssize_t l, k, a
        cdef double factor, total
        cdef double* u = &self.inner[0]
        cdef double* slope
        for l in range(self.n_leaves):
            if self.powers[t, l] == 0:
                continue
            factor = self.weights[t] * outer * self.powers[t, l]
            self.product(t, l, n)
            self.by_alpha[l] += factor * sum_products(u, &self.by_shape[l, 0], n)
            slope = &self.slope[l, 0]
            for k in range(n):
                u[k] *= slope[k]
            total = sum_products(u, &self.ones[0], n)
            for a in range(first):
                self.by_precision[l, a] += factor * total * self.square[a, at[a]]
            for a in range(first, self.n_features):
                self.by_precision[l, a] += factor * sum_products(u, &self.row_square[a, 0], n)

    # -- many pairs -------------------------------------------------------------------------

    cdef double recall(self, const double* a, const double* b, double* key) noexcept nogil:
        """Covariance of a pair, computed unless it is remembered."""
        cdef double* entry
        cdef Py_ssize_t j
        self.read(a, b, key)
        entry = self.memory.entry(key)
        if not self.memory.holds(entry, key):
            self.memory.n_used += entry[0] != entry[0]
            for j in range(3 * self.n_features):
                entry[j] = key[j]
            entry[3 * self.n_features] = self.sum_pair(key, False)
        return entry[3 * self.n_features]

    cdef void fill_cross(self, const double[:, ::1] a, const double[:, ::1] b, double[:, ::1] out,
                         double* key) noexcept nogil:
        cdef Py_ssize_t i, j
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                out[i, j] = self.recall(&a[i, 0], &b[j, 0], key)

    def cross(self, A, B):
        """Return the covariances (n, m) between boxes A (n, 2 d) and B (m, 2 d)."""
        cdef const double[:, ::1] a = self.boxes(A, "A")
        cdef const double[:, ::1] b = self.boxes(B, "B")
        out = np.empty((a.shape[0], b.shape[0]))
        cdef double[:, ::1] view = out
        cdef double[::1] key = np.empty(3 * self.n_features)
        if not out.size:
            return out
        with self.lock:
            self.memory.expect(out.size)
            if out.size >= RELEASED:
                with nogil:
                    self.fill_cross(a, b, view, &key[0])
            else:
                self.fill_cross(a, b, view, &key[0])
        return out

    def gram(self, A):
        """Return the covariances (n, n) between boxes A (n, 2 d), symmetric exactly."""
        return self.cross(A, A)

    def diag(self, A):
        """Return the variances (n,) of the means over boxes A (n, 2 d)."""
        cdef const double[:, ::1] a = self.boxes(A, "A")
        cdef Py_ssize_t i
        out = np.empty(a.shape[0])
        cdef double[::1] view = out
        cdef double[::1] key = np.empty(3 * self.n_features)
        with self.lock:
            self.memory.expect(len(out))
            for i in range(a.shape[0]):
                view[i] = self.recall(&a[i, 0], &a[i, 0], &key[0])
        return out

    def gram_gradient(self, A, weights_jacobian, precisions_jacobian, shapes_jacobian):
        """Return the covariances between boxes and their derivatives.

        Parameters
        ----------
        A : array-like of shape (n, 2 * d)
            Boxes.
        weights_jacobian : array-like of shape (n_terms, p)
            Derivatives of the weights by p hyperparameters.
        precisions_jacobian : array-like of shape (n_leaves, d, p)
            Derivatives of the precisions.
        shapes_jacobian : array-like of shape (n_leaves, p)
            Derivatives of the logarithms of alpha.

        Returns
        -------
        K : ndarray of shape (n, n)
            Covariances.
        gradient : ndarray of shape (n, n, p)
            Derivatives of K.
        """
        cdef const double[:, ::1] a = self.boxes(A, "A")
        cdef const double[:, ::1] by_weight = np.ascontiguousarray(weights_jacobian, np.float64)
        cdef const double[:, :, ::1] by_precision = np.ascontiguousarray(
            precisions_jacobian, np.float64
        )
        cdef const double[:, ::1] by_shape = np.ascontiguousarray(shapes_jacobian, np.float64)
        cdef Py_ssize_t n = a.shape[0], p = by_weight.shape[1], l = self.n_leaves
        if (
            by_weight.shape[0] != self.n_terms
            or np.shape(precisions_jacobian) != (l, self.n_features, p)
            or np.shape(shapes_jacobian) != (l, p)
        ):
            raise ValueError(
                f"The Jacobians must have shapes ({self.n_terms}, p), ({l}, {self.n_features}, p) "
                f"and ({l}, p); got {np.shape(weights_jacobian)}, {np.shape(precisions_jacobian)} "
                f"and {np.shape(shapes_jacobian)}."
            )
        out, gradient = np.empty((n, n)), np.empty((n, n, p))
        cdef double[:, ::1] view = out
        cdef double[:, :, ::1] slopes = gradient
        cdef double[::1] key = np.empty(3 * self.n_features)
        cdef Memory memory = Memory(3 * self.n_features, 1 + p)
        with self.lock:
            memory.expect(n * (n + 1) // 2)
            with nogil:
                self.fill_gradient(a, by_weight, by_precision, by_shape, memory, &key[0], view,
                                   slopes)
        return out, gradient

    cdef void fill_gradient(self, const double[:, ::1] a, const double[:, ::1] by_weight,
                            const double[:, :, ::1] by_precision, const double[:, ::1] by_shape,
                            Memory memory, double* key, double[:, ::1] out,
                            double[:, :, ::1] slopes) noexcept nogil:
        cdef Py_ssize_t i, j, k, t, l, c, n_keys = 3 * self.n_features, p = by_weight.shape[1]
        cdef double* entry
        for i in range(a.shape[0]):
            for j in range(i + 1):
                self.read(&a[i, 0], &a[j, 0], key)
                entry = memory.entry(key)
                if not memory.holds(entry, key):
                    for k in range(n_keys):
                        entry[k] = key[k]
                    entry[n_keys] = self.sum_pair(key, True)
                    for k in range(p):
                        entry[n_keys + 1 + k] = 0.0
                        for t in range(self.n_terms):
                            entry[n_keys + 1 + k] += by_weight[t, k] * self.by_term[t]
                        for l in range(self.n_leaves):
                            entry[n_keys + 1 + k] += by_shape[l, k] * self.by_alpha[l]
                            for c in range(self.n_features):
                                entry[n_keys + 1 + k] += (
                                    by_precision[l, c, k] * self.by_precision[l, c]
                                )
                out[i, j] = out[j, i] = entry[n_keys]
                for k in range(p):
                    slopes[i, j, k] = slopes[j, i, k] = entry[n_keys + 1 + k]

    cdef const double[:, ::1] boxes(self, boxes, str name):
        boxes = np.ascontiguousarray(boxes, dtype=np.float64)
        if boxes.ndim != 2 or boxes.shape[1] != 2 * self.n_features:
            raise ValueError(
                f"{name} must have {2 * self.n_features} columns, [lower, upper] of"
                f" {self.n_features} coordinates; got an array of shape {boxes.shape}."
            )
        return boxes
