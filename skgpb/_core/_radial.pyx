r"""Covariances between means over grids in boxes, for kernels of scaled distances.

Notation for boxes with d axes:

======== =================== ==========================================================
symbol   shape               meaning
======== =================== ==========================================================
A, B     (n, 2 d), (m, 2 d)  boxes, one a row: [lower_1..lower_d, upper_1..upper_d]
w        (n_terms,)          factor of each term of the kernel
g_l      n_leaves functions  leaves: Matern, rational quadratic or Gaussian
q        (n_leaves, d)       precision of each leaf along each axis: 1 / length scale^2
s_l      scalar              scaled squared distance of leaf l
s        (d,)                number of grid points along each axis
key      (3 d,)              distances of centres, smaller widths, larger widths
square   (d, n_differences)  squared differences along each axis
share    (d, n_differences)  fraction of all pairs of points with each difference
======== =================== ==========================================================

The methods ``cross``, ``gram``, ``diag`` and ``gram_gradient`` change none of their arguments. The
arrays of a pair of boxes are buffers of the object, so a lock admits one thread at a time.

The kernel is a sum of terms w prod_l g_l(s_l). The argument of leaf l is
s_l = sum_a q_la (x_a - x'_a)^2. Unlike a Gaussian kernel, such a kernel does not factorise over the
axes. Three properties make a pair of boxes cheap.

- The kernel depends only on differences. Two grids of s points and equal spacing have 2 s - 1
  differences along an axis; difference m occurs s - |m| times. If one spacing is r times the other,
  as between the cells of a tree, there are (s - 1) (r + 1) + 1 differences. If the centres agree,
  half of them suffice. A pair of boxes has s^(2 d) pairs of points, but only (2 s - 1)^d values.
- If the kernel is smooth, Gaussian rules with few nodes replace the differences along an axis. The
  rules apply to boxes that are apart. Of other boxes, the larger box is cut until its parts are far
  from the other box or have few points; the rules then apply to the far parts.
- A covariance depends only on the widths of both boxes and the distance of their centres. A
  partition repeats the same numbers many times, so recent results are cached.

Distances and widths are rounded to 48 bits of the coordinates, so that equal distances and widths
have equal keys wherever the boxes lie. They are not rounded if this would move a point by more than
1e-13 length scales. Cached values depend only on the keys, so results do not depend on earlier
calls, to the last bit.

*Number of nodes.* The leaves are mixtures of Gaussians, so |g(s)| <= g(Re s) <= 1 for complex s
with Re s >= 0. Let the differences along an axis lie within L of c, and let the differences along
the other axes contribute at least G to s. Then |g(q t^2 + G)| <= 1 for t in the ellipse with foci
c - L and c + L in which Re q t^2 + G >= 0. With rho the sum of its half axes over L, a rule with n
nodes errs by at most 4 rho^(1 - 2 n) / (rho - 1). Gaussian and rational quadratic leaves are
bounded beyond Re s = 0 as well, by e and by 4, which multiplies the error bound.
"""

from libc.math cimport INFINITY, ceil, copysign, fabs, frexp, ldexp, log, pow, rint, sqrt, tgamma
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

import threading

from cpython.mem cimport PyMem_Free, PyMem_Malloc

import numpy as np

from scipy.special.cython_special cimport kv

# Loops that compilers vectorise; they do not vectorise calls of libm or a sum in one accumulator.
# Results are the same on every machine.
cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    /* AVX2 is twice as fast; without fused operations results are the same. */
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) \\
        && !defined(__SANITIZE_ADDRESS__)
    #define VECTORIZED __attribute__((target_clones("avx2", "default")))
    #else
    #define VECTORIZED
    #endif

    /* Load memory into the cache before it is read. */
    #if defined(__GNUC__)
    #define PREFETCH(address) __builtin_prefetch(address)
    #else
    #define PREFETCH(address) ((void) (address))
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

    /* slope <- derivative by s of a leaf that has the given values */
    VECTORIZED static void exponential_slopes(double base, const double *s, ptrdiff_t n,
                                              const double *value, double *slope) {
        for (ptrdiff_t k = 0; k < n; k++) {
            double r = sqrt(base + s[k]), v = -0.5 * value[k];
            slope[k] = r > 0.0 ? v / r : 0.0;
        }
    }

    VECTORIZED static void matern_3_2_slopes(double base, const double *s, ptrdiff_t n,
                                             const double *value, double *slope) {
        for (ptrdiff_t k = 0; k < n; k++)
            slope[k] = -1.5 * value[k] / (1.0 + sqrt(3.0 * (base + s[k])));
    }

    VECTORIZED static void matern_5_2_slopes(double base, const double *s, ptrdiff_t n,
                                             const double *value, double *slope) {
        for (ptrdiff_t k = 0; k < n; k++) {
            double r = sqrt(5.0 * (base + s[k]));
            slope[k] = -5.0 / 6.0 * value[k] * (1.0 + r) / (1.0 + r * (1.0 + r * (1.0 / 3.0)));
        }
    }

    /* up <- exp(rate (x - center)), down <- 1 / up, for exponents of at most 700 */
    VECTORIZED static void powers(double rate, double center, const double *x, ptrdiff_t n,
                                  double *up, double *down) {
        for (ptrdiff_t k = 0; k < n; k++) {
            up[k] = exp_one(rate * (x[k] - center));
            down[k] = 1.0 / up[k];
        }
    }

    /* Values and slopes of a Matern leaf along an axis, and s = (at - x)^2, from these powers:
       e = exp(-rate |at - x|) is a product of two of them. */
    VECTORIZED static void along(double rate, double at, double up, double down,
                                 const double *__restrict x, const double *__restrict ups,
                                 const double *__restrict downs, ptrdiff_t n,
                                 double *__restrict s, double *__restrict value,
                                 double *__restrict slope) {
        for (ptrdiff_t k = 0; k < n; k++) {
            double t = at - x[k], r = rate * fabs(t);
            double a = up * downs[k], b = down * ups[k], e = a < b ? a : b;
            s[k] = t * t;
            if (rate == 1.0) {
                value[k] = e;
                slope[k] = r > 0.0 ? -0.5 * e / r : 0.0;
            } else if (rate < 2.0) {
                value[k] = (1.0 + r) * e;
                slope[k] = -1.5 * e;
            } else {
                value[k] = (1.0 + r * (1.0 + r * (1.0 / 3.0))) * e;
                slope[k] = -5.0 / 6.0 * (1.0 + r) * e;
            }
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
    void exponential_slopes(double base, const double* s, Py_ssize_t n, const double* value,
                            double* slope) noexcept nogil
    void matern_3_2_slopes(double base, const double* s, Py_ssize_t n, const double* value,
                           double* slope) noexcept nogil
    void matern_5_2_slopes(double base, const double* s, Py_ssize_t n, const double* value,
                           double* slope) noexcept nogil
    void powers(double rate, double center, const double* x, Py_ssize_t n, double* up,
                double* down) noexcept nogil
    void along(double rate, double at, double up, double down, const double* x,
               const double* ups, const double* downs, Py_ssize_t n, double* s, double* value,
               double* slope) noexcept nogil
    void rational_quadratic(double alpha, double base, const double* s, Py_ssize_t n,
                            double* value) noexcept nogil
    void rational_quadratic_slopes(double alpha, double base, const double* s, Py_ssize_t n,
                                   const double* value, double* slope,
                                   double* by_shape) noexcept nogil
    double sum_products(const double* x, const double* y, Py_ssize_t n) noexcept nogil
    void PREFETCH(const double* address) noexcept nogil

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

# Maximum length of a row with the differences along several axes.
cdef Py_ssize_t IN_A_ROW = 1024
# Grids with more points along an axis use the generic evaluation, because tables take s^2 numbers.
MOST_POINTS = 512
# Grids with a higher ratio of spacings are not treated as lattices.
cdef double HIGHEST_RATIO = 1e9
# Rounding coordinates to BITS may move a point by at most this, in length scales.
cdef double SAME_PLACE = 1e-13
# Error of the rules, as a fraction of the largest value of a term.
cdef double AGREED = 1e-13
# Maximum number of nodes of a rule along an axis.
cdef enum:
    MOST_NODES = 24
# Maximum number of parts of a box; a part with fewer evaluations than the second number stays
# whole.
cdef Py_ssize_t MOST_PARTS = 512
cdef Py_ssize_t MIN_SPLIT = 200
# Overhead of a part, in evaluations.
cdef Py_ssize_t PER_PART = 40
# Initial and maximum number of cache entries, and number of places that are tried for a key.
cdef Py_ssize_t FIRST_ENTRIES = 2 ** 8
cdef Py_ssize_t MOST_ENTRIES = 2 ** 17
cdef Py_ssize_t PLACES = 8
# Number of pairs looked up together, because lookups mostly wait for memory.
cdef enum:
    AT_A_TIME = 8
# Releasing the interpreter's lock takes tens of microseconds: it is released from this number on.
cdef Py_ssize_t RELEASED = 16


# ---- leaves ----


cdef double bessel_factor(double nu) noexcept nogil:
    """Return 2^(1 - nu) / Gamma(nu)."""
    return pow(2.0, 1.0 - nu) / tgamma(nu)


cdef void fill(int kind, double shape, double base, const double* s, Py_ssize_t n,
               double* value) noexcept nogil:
    """Evaluate a leaf at the scaled squared distances base + s."""
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
    """Differentiate the values by s, and for a rational quadratic also by the logarithm of alpha.

    An exponential has no derivative at s = 0; 0 is used, since it multiplies a zero difference.
    """
    cdef Py_ssize_t k
    cdef double factor, r
    if kind == GAUSSIAN:
        for k in range(n):
            slope[k] = -0.5 * value[k]
    elif kind == EXPONENTIAL:
        exponential_slopes(base, s, n, value, slope)
    elif kind == MATERN_3_2:
        matern_3_2_slopes(base, s, n, value, slope)
    elif kind == MATERN_5_2:
        matern_5_2_slopes(base, s, n, value, slope)
    elif kind == RATIONAL_QUADRATIC:
        rational_quadratic_slopes(shape, base, s, n, value, slope, by_shape)
    else:
        # d/dr of r^nu K_nu(r) is -r^nu K_(nu - 1)(r)
        factor = bessel_factor(shape)
        for k in range(n):
            r = sqrt(2.0 * shape * (base + s[k]))
            if r > 0.0:
                slope[k] = -factor * shape * pow(r, shape - 1.0) * kv(shape - 1.0, r)
            else:
                slope[k] = 0.0


# ---- leaves for points on a line ----


cdef double rate_of(int kind) noexcept nogil:
    """Return the factor of distances in the exponent of a Matern leaf, 0 for any other."""
    if kind == EXPONENTIAL:
        return 1.0
    if kind == MATERN_3_2:
        return sqrt(3.0)
    return sqrt(5.0) if kind == MATERN_5_2 else 0.0


cdef void fill_powers(double rate, double center, const double* x, Py_ssize_t n, double* up,
                      double* down) noexcept nogil:
    powers(rate, center, x, n, up, down)


cdef void fill_along(double rate, double at, double up, double down, const double* x,
                     const double* ups, const double* downs, Py_ssize_t n, double* s,
                     double* value, double* slope) noexcept nogil:
    along(rate, at, up, down, x, ups, downs, n, s, value, slope)


# ---- differences along an axis ----


cdef struct Axis:
    Py_ssize_t n_small, n_large  # points of the two grids
    double small, large  # and their spacings
    Py_ssize_t ratio  # large / small if this is an integer, 0 otherwise
    double unit  # spacing of the smaller grid that has two points


cdef Axis axis_between(double wa, double wb, Py_ssize_t s, double same) noexcept nogil:
    """Return the grids of two intervals of widths wa <= wb."""
    cdef Axis axis
    cdef double ratio
    axis.n_small, axis.n_large = s if wa > 0.0 else 1, s if wb > 0.0 else 1
    axis.small, axis.large = wa / axis.n_small, wb / axis.n_large
    axis.ratio, axis.unit = 1, axis.large
    if axis.n_small > 1:
        ratio = rint(wb / wa)
        axis.unit = axis.small
        axis.ratio = 0
        if ratio < HIGHEST_RATIO and fabs(wb - ratio * wa) <= same:
            axis.ratio = <Py_ssize_t> ratio
    return axis


cdef Py_ssize_t n_differences(const Axis* axis, double x, Py_ssize_t k, double same,
                              Py_ssize_t* mirrored) noexcept nogil:
    """Count the differences to k neighbours in the larger grid, with centres x apart.

    On a lattice, differences i and mirrored - i are negatives of each other for i <= mirrored and
    count once. Without such pairs ``mirrored`` is -1.
    """
    cdef Py_ssize_t n, both
    cdef double ratio
    mirrored[0] = -1
    if axis.n_small == 1 or not 0 < axis.ratio < axis.n_small:
        return axis.n_small * k
    n = axis.n_small + axis.ratio * (k - 1)
    ratio = rint(2.0 * x / axis.small) if 2.0 * x < n * axis.small else n
    both = n - 1 - <Py_ssize_t> ratio
    if both > 0 and fabs(2.0 * x - ratio * axis.small) <= same:
        mirrored[0] = both
        return n - (both + 1) // 2
    return n


cdef Py_ssize_t differences(const Axis* axis, double x, Py_ssize_t k, double same,
                            double* square, double* share) noexcept nogil:
    """Square the differences to k neighbours in the larger grid, with centres x apart.

    ``share`` is the fraction of all pairs with each difference. Return the number of differences.
    """
    cdef Py_ssize_t i, j, n, both, first, m = axis.ratio, s = axis.n_small
    cdef double y, all_pairs = s * <double> axis.n_large
    n = n_differences(axis, x, k, same, &both)
    if s > 1 and 0 < m < s:
        # The difference of points i and j is (i - m j) spacings plus a constant.
        first = (both + 1) // 2
        n += first
        for i in range(n):
            share[i] = 0.0
        for j in range(k):
            for i in range(s):
                share[i + m * (k - 1 - j)] += 1.0
        for i in range(first):
            share[both - i] += share[i]
        for i in range(first, n):
            y = x + (i - 0.5 * (n - 1)) * axis.small
            square[i - first] = y * y
            share[i - first] = share[i] / all_pairs
        return n - first
    n = 0
    for i in range(s):
        for j in range(k):
            y = x + (i - 0.5 * (s - 1)) * axis.small - (j - 0.5 * (k - 1)) * axis.large
            square[n] = y * y
            share[n] = 1.0 / all_pairs
            n += 1
    return n


# ---- Gaussian rules for differences ----


cdef void find_rule(Py_ssize_t s, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, double* node,
                    double* weight, double* at, double* share, double* p, double* q) noexcept nogil:
    """Find the Gaussian rule with n nodes for i - m j, all i < s and j < k, around their mean.

    The last four arguments are scratch space, one number for each difference.
    """
    cdef Py_ssize_t i, j, N
    cdef double y, size
    cdef double[MOST_NODES] off
    if m < s:
        N = s + m * (k - 1)
        for i in range(N):
            at[i], share[i] = i - 0.5 * (N - 1), 0.0
        for j in range(k):
            for i in range(s):
                share[i + m * j] += 1.0 / (s * <double> k)
    else:
        N = 0
        for i in range(s):
            for j in range(k):
                at[N] = (i - 0.5 * (s - 1)) - m * (j - 0.5 * (k - 1))
                share[N] = 1.0 / (s * <double> k)
                N += 1
    # Orthonormal polynomials at the differences, by their recurrence: p_(-1) = 0, p_0 = 1.
    for i in range(N):
        p[i], q[i] = 0.0, 1.0
    for j in range(n):
        size = 0.0
        for i in range(N):
            y = at[i] * q[i] - (off[j - 1] * p[i] if j else 0.0)
            p[i] = q[i]
            q[i] = y
            size += share[i] * y * y
        off[j] = sqrt(size)
        for i in range(N):
            q[i] /= off[j]
    decompose(n, off, node, weight)


cdef void decompose(Py_ssize_t n, double* off, double* node, double* weight) noexcept nogil:
    """Find the eigenvalues and squared first components of eigenvectors of a Jacobi matrix.

    Its diagonal is 0, and ``off`` is the off-diagonal. Implicit QL steps [1]_ are used because
    LAPACK's results may differ between machines.

    References
    ----------
    .. [1] G. H. Golub, J. H. Welsch, "Calculation of Gauss quadrature rules", 1969.
    """
    cdef Py_ssize_t i, l, m, step
    cdef double b, c, f, g, p, r, s, small = 0.0
    for i in range(n):
        node[i], weight[i] = 0.0, 0.0
        if i < n - 1:
            small = max(small, 1e-17 * off[i])
    weight[0] = 1.0
    off[n - 1] = 0.0
    for l in range(n):
        for step in range(100):
            m = l
            while m < n - 1 and fabs(off[m]) > small:
                m += 1
            if m == l:
                break
            g = (node[l + 1] - node[l]) / (2.0 * off[l])
            g = node[m] - node[l] + off[l] / (g + copysign(sqrt(g * g + 1.0), g))
            s = c = 1.0
            p = 0.0
            for i in range(m - 1, l - 1, -1):
                f, b = s * off[i], c * off[i]
                r = sqrt(f * f + g * g)
                off[i + 1] = r
                if r == 0.0:
                    node[i + 1] -= p
                    off[m] = 0.0
                    break
                s, c = f / r, g / r
                g = node[i + 1] - p
                r = (node[i] - g) * s + 2.0 * c * b
                p = s * r
                node[i + 1] = g + p
                g = c * r - b
                f = weight[i + 1]
                weight[i + 1] = s * weight[i] + c * f
                weight[i] = c * weight[i] - s * f
            else:
                node[l] -= p
                off[l] = g
                off[m] = 0.0
    for i in range(n):
        weight[i] *= weight[i]


# ---- cache of recent results ----


cdef class Memory:
    """Cache of n_values numbers for each key of n_keys numbers; a full cache overwrites entries."""

    cdef Py_ssize_t n_keys, n_values, n_entries, n_used
    cdef double[:, ::1] kept  # (n_entries, n_keys + n_values); NaN if empty

    def __cinit__(self, Py_ssize_t n_keys, Py_ssize_t n_values):
        self.n_keys, self.n_values, self.n_used = n_keys, n_values, 0
        self.make(FIRST_ENTRIES)

    cdef make(self, Py_ssize_t n_entries):
        self.kept = np.full((n_entries, self.n_keys + self.n_values), np.nan)
        self.n_entries = n_entries

    cdef expect(self, Py_ssize_t n_pairs):
        """Make room for n_pairs further pairs, up to the maximum size."""
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
                entry = self.entry(&old[i, 0], self.mixed(&old[i, 0]))
                self.n_used += entry[0] != entry[0]
                for j in range(self.n_keys + self.n_values):
                    entry[j] = old[i, j]

    cdef uint64_t mixed(self, const double* key) noexcept nogil:
        """Return a hash whose lowest bits depend on the whole key."""
        cdef uint64_t mixed = 0x9E3779B97F4A7C15, word
        cdef Py_ssize_t j
        for j in range(self.n_keys):
            memcpy(&word, key + j, sizeof(double))
            mixed = (mixed ^ word) * <uint64_t> 0xFF51AFD7ED558CCD
            mixed ^= mixed >> 32
        # The last number often has few digits, so its high bits must reach the lowest ones.
        mixed *= <uint64_t> 0xFF51AFD7ED558CCD
        return mixed ^ (mixed >> 32)

    cdef double* place(self, uint64_t mixed) noexcept nogil:
        """Return the entry at the place of a hash."""
        return &self.kept[<Py_ssize_t> (mixed & <uint64_t> (self.n_entries - 1)), 0]

    cdef double* entry(self, const double* key, uint64_t mixed) noexcept nogil:
        """Return the entry of a key, or an entry to be overwritten if the cache lacks the key."""
        cdef Py_ssize_t k
        cdef double* entry
        for k in range(PLACES):
            entry = self.place(mixed + k)
            if entry[0] != entry[0] or self.holds(entry, key):
                return entry
        return self.place(mixed)

    cdef bint holds(self, const double* entry, const double* key) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.n_keys):
            if entry[j] != key[j]:
                return False
        return True


# ---- boxes ----


cdef class RadialCells:
    """Compute noiseless covariances between means over grids in boxes.

    Parameters
    ----------
    weights : array-like of shape (n_terms,)
        Factor w of each term.
    powers : array-like of shape (n_terms, n_leaves)
        Number of times that each leaf is a factor of each term.
    kinds : array-like of shape (n_leaves,)
        Kinds of the leaves: GAUSSIAN, EXPONENTIAL, ...
    precisions : array-like of shape (n_leaves, d)
        One over the squared length scale, along each axis.
    shapes : array-like of shape (n_leaves,)
        nu of a Matern kernel and alpha of a rational quadratic one.
    n_representatives : array-like of shape (d,)
        Points along each axis.

    Notes
    -----
    Boxes are rows [lower_1..lower_d, upper_1..upper_d]. A pair of boxes of one size costs at most
    (2 s - 1)^d evaluations of every leaf unless it is cached, and any pair at most s^(2 d). A pair
    of distant boxes whose widths are multiples of one another costs tens of them in two dimensions.
    Results for (a, b) and (b, a) are the same to the last bit.
    """

    cdef readonly Py_ssize_t n_features  # d
    cdef readonly Py_ssize_t n_terms, n_leaves
    cdef readonly Py_ssize_t n_evaluations  # evaluations of each leaf so far
    cdef double[::1] weights, shapes
    cdef Py_ssize_t[:, ::1] powers
    cdef Py_ssize_t[::1] kinds, counts
    cdef double[:, ::1] precisions
    cdef double sharpest  # largest root of a precision
    cdef double[:, ::1] square, share  # (d, differences along an axis)
    cdef Py_ssize_t[::1] length, place  # (d,), number of differences, and the next one
    cdef double[:, ::1] row_square, value, slope, by_shape  # (n_axes or n_leaves, in a row)
    cdef double[::1] row_share, distance, inner, ones
    cdef double[::1] by_term  # (n_terms,) means of the products of the leaves
    cdef double[:, ::1] by_precision  # (n_leaves, d)
    cdef double[::1] by_alpha  # (n_leaves,)
    cdef Axis* axes  # (d,), the grids of a pair
    cdef double same  # numbers that differ by at most this count as equal
    cdef Py_ssize_t[:, ::1] part_start, part_size  # (parts, d), points of the larger grids
    cdef Py_ssize_t[:, ::1] part_nodes  # of the rules, 0 if all differences are used
    cdef double[::1] centre, half, near  # (d,), differences: middle, half width, smallest squared
    cdef double[::1] beyond  # (n_leaves,): Re s from which on leaves are bounded
    cdef double[::1] fineness  # (d,), roots of the largest precisions
    cdef double log_bound  # log(factor of the error bound / accepted error of a rule)
    cdef Memory memory, rules
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
        self.square, self.share = np.empty((2, d, max(n_representatives) ** 2))
        self.length, self.place = np.empty((2, d), dtype=np.intp)
        width = max(IN_A_ROW, max(n_representatives) ** 2)
        self.row_square, self.row_share = np.empty((d, width)), np.empty(width)
        self.value, self.slope, self.by_shape = np.zeros((3, l + 1, width))
        self.distance, self.inner, self.ones = np.empty(width), np.empty(width), np.ones(width)
        self.by_term = np.empty(T + 1)
        self.by_precision, self.by_alpha = np.empty((l + 1, d)), np.empty(l + 1)
        self.same = SAME_PLACE / self.sharpest if self.sharpest > 0.0 else INFINITY
        self.axes = <Axis*> PyMem_Malloc(d * sizeof(Axis))
        if self.axes is NULL:
            raise MemoryError
        parts = np.empty((3, MOST_PARTS, d), dtype=np.intp)
        self.part_start, self.part_size, self.part_nodes = parts
        self.centre, self.half, self.near = np.empty((3, d))
        self.fineness = np.sqrt(np.asarray(self.precisions).max(axis=0, initial=0.0))
        self.set_bounds()
        self.memory = Memory(3 * d, 1)
        self.rules = Memory(4, 2 * MOST_NODES)
        self.lock = threading.Lock()

    def __dealloc__(self):
        PyMem_Free(self.axes)

    cdef set_bounds(self):
        """Compute ``beyond`` and ``log_bound``, from which the error bound of a rule follows."""
        cdef Py_ssize_t l
        log_largest = np.zeros(self.n_leaves)
        self.beyond = np.zeros(self.n_leaves)
        for l in range(self.n_leaves):
            if self.kinds[l] == GAUSSIAN:
                self.beyond[l], log_largest[l] = 2.0, 1.0
            elif self.kinds[l] == RATIONAL_QUADRATIC:
                alpha = self.shapes[l]
                self.beyond[l] = min(alpha, 2.0)
                log_largest[l] = -alpha * np.log1p(-0.5 * self.beyond[l] / alpha)
        of_terms = np.asarray(self.powers) @ log_largest
        self.log_bound = np.log(4.0 * self.n_features / AGREED) + of_terms.max(initial=0.0)

    def __reduce__(self):
        return type(self), self.arguments

    # -- one pair ---------------------------------------------------------------------------

    cdef void read(self, const double* a, const double* b, double* key) noexcept nogil:
        """Write to key (3 d,) the distances of the centres, the smaller and the larger widths."""
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
                # A positive width stays positive, because it has several points.
                if wa > grain:
                    wa = rint(wa / grain) * grain
                if wb > grain:
                    wb = rint(wb / grain) * grain
            key[j] = x + 0.0
            key[d + j] = min(wa, wb) + 0.0
            key[2 * d + j] = max(wa, wb) + 0.0

    cdef Py_ssize_t n_nodes(self, Py_ssize_t axis) noexcept nogil:
        """Return the number of nodes that suffices along an axis, MOST_NODES + 1 if none does."""
        cdef Py_ssize_t l, a
        cdef double g, p, v, rho, u = INFINITY, c = self.centre[axis], L = self.half[axis]
        if L == 0.0:
            return 1
        for l in range(self.n_leaves):
            if self.precisions[l, axis] == 0.0:
                continue
            g = self.beyond[l]
            for a in range(self.n_features):
                if a != axis:
                    g += self.precisions[l, a] * self.near[a]
            g /= self.precisions[l, axis]
            # the squared half axis for which the smallest Re t^2 in the ellipse is -g
            p = c * c + 2.0 * g - L * L
            v = 0.25 * (p + sqrt(p * p + 8.0 * g * L * L))
            if not v >= u:
                u = v
        rho = min((sqrt(u) + sqrt(L * L + u)) / L, 1e10)
        if not rho > 1.01:
            return MOST_NODES + 1
        p = 0.5 * (1.0 + (self.log_bound - log(rho - 1.0)) / log(rho))
        return max(1, <Py_ssize_t> ceil(p)) if p < MOST_NODES else MOST_NODES + 1

    cdef Py_ssize_t look_at(self, Py_ssize_t i, const double* key,
                            Py_ssize_t* widest) noexcept nogil:
        """Choose the nodes for part i, and return its number of evaluations.

        ``widest`` receives the axis along which to cut the part, or -1.
        """
        cdef Py_ssize_t a, k, n, N, mirrored, total = 1
        cdef double width, largest = 0.0
        cdef Axis* axis
        for a in range(self.n_features):
            axis = &self.axes[a]
            k = self.part_size[i, a]
            self.centre[a] = fabs(
                key[a] - axis.large * (self.part_start[i, a] + 0.5 * (k - axis.n_large))
            )
            self.half[a] = 0.5 * ((axis.n_small - 1) * axis.small + (k - 1) * axis.large)
            self.near[a] = max(0.0, self.centre[a] - self.half[a]) ** 2
        widest[0] = -1
        for a in range(self.n_features):
            axis = &self.axes[a]
            k = self.part_size[i, a]
            N = n_differences(axis, self.centre[a], k, self.same, &mirrored)
            self.part_nodes[i, a] = 0
            if axis.ratio and N > 1:
                n = self.n_nodes(a)
                if n < N and n <= MOST_NODES:
                    N = self.part_nodes[i, a] = n
                width = self.half[a] * self.fineness[a]
                if k > 1 and width > largest:
                    widest[0], largest = a, width
            total *= N
        return total

    cdef Py_ssize_t cut(self, const double* key) noexcept nogil:
        """Cut a pair of boxes into parts of small total cost, and return their number."""
        cdef Py_ssize_t d = self.n_features, a, k, i = 0, n, whole, total = 0, n_parts = 1, widest
        for a in range(d):
            self.axes[a] = axis_between(key[d + a], key[2 * d + a], self.counts[a], self.same)
            self.part_start[0, a], self.part_size[0, a] = 0, self.axes[a].n_large
        n = whole = self.look_at(0, key, &widest)
        while True:
            if n > MIN_SPLIT and widest >= 0 and n_parts < MOST_PARTS:
                for a in range(d):
                    self.part_start[n_parts, a] = self.part_start[i, a]
                    self.part_size[n_parts, a] = self.part_size[i, a]
                k = self.part_size[i, widest] // 2
                self.part_size[i, widest] = k
                self.part_start[n_parts, widest] += k
                self.part_size[n_parts, widest] -= k
                n_parts += 1
            else:
                total += n + PER_PART
                i += 1
                if i == n_parts:
                    return n_parts
            if total > whole:
                break
            n = self.look_at(i, key, &widest)
        for a in range(d):
            self.part_start[0, a], self.part_size[0, a] = 0, self.axes[a].n_large
        self.look_at(0, key, &widest)
        return 1

    cdef void take(self, Py_ssize_t i, const double* key) noexcept nogil:
        """Write ``square`` and ``share``: squared differences of part i along each axis, shares."""
        cdef Py_ssize_t a, j, k, n
        cdef double t, c
        cdef double[4] of
        cdef double* rule
        cdef Axis* axis
        for a in range(self.n_features):
            axis = &self.axes[a]
            k, n = self.part_size[i, a], self.part_nodes[i, a]
            c = fabs(key[a] - axis.large * (self.part_start[i, a] + 0.5 * (k - axis.n_large)))
            if n == 0:
                self.length[a] = differences(axis, c, k, self.same, &self.square[a, 0],
                                             &self.share[a, 0])
                continue
            of[0], of[1], of[2], of[3] = axis.n_small, axis.ratio, k, n
            rule = self.rules.entry(of, self.rules.mixed(of))
            if not self.rules.holds(rule, of):
                self.rules.n_used += rule[0] != rule[0]
                for j in range(4):
                    rule[j] = of[j]
                find_rule(axis.n_small, axis.ratio, k, n, rule + 4, rule + 4 + MOST_NODES,
                          &self.distance[0], &self.inner[0], &self.value[0, 0], &self.slope[0, 0])
            for j in range(n):
                t = c + axis.unit * rule[4 + j]
                self.square[a, j] = t * t
                self.share[a, j] = rule[4 + MOST_NODES + j] * k / axis.n_large
            self.length[a] = n

    cdef Py_ssize_t lay_out(self, Py_ssize_t* first) noexcept nogil:
        """Write the differences along the axes first..d-1 into one row, and return its length."""
        cdef Py_ssize_t d = self.n_features, j, a, i, k, n
        j = d - 1
        n = self.length[j]
        for k in range(n):
            self.row_square[j, k] = self.square[j, k]
            self.row_share[k] = self.share[j, k]
        while j > 0 and n * self.length[j - 1] <= IN_A_ROW:
            j -= 1
            # The first copy is changed last, because the others are made from it.
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
        """Return the covariance of a pair; with ``slopes`` fill by_term, by_precision, by_alpha."""
        cdef Py_ssize_t T = self.n_terms, l, t, a, i, n_parts
        cdef double total = 0.0
        for t in range(T):
            self.by_term[t] = 0.0
        if slopes:
            for l in range(self.n_leaves):
                self.by_alpha[l] = 0.0
                for a in range(self.n_features):
                    self.by_precision[l, a] = 0.0
        n_parts = self.cut(key)
        for i in range(n_parts):
            self.take(i, key)
            self.add_part(slopes)
        for t in range(T):
            total += self.weights[t] * self.by_term[t]
        return total

    cdef void add_part(self, bint slopes) noexcept nogil:
        """Add the contribution of a part from ``square`` and ``share``."""
        cdef Py_ssize_t T = self.n_terms, first, n, l, t, a
        cdef double outer, base
        cdef Py_ssize_t* at = &self.place[0]
        n = self.lay_out(&first)
        for a in range(first):
            at[a] = 0
        while True:
            self.n_evaluations += n
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
        """Average the product of a term's leaves over the row, with one factor of a leaf left out.

        The remaining products, times their shares, are in ``inner``.
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
        """Add the derivatives of a term by the precisions and shapes of its leaves."""
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

    cdef double recall(self, const double* key, uint64_t mixed) noexcept nogil:
        """Return the covariance of a pair from the cache, or compute and cache it."""
        cdef double* entry = self.memory.entry(key, mixed)
        cdef Py_ssize_t j
        if not self.memory.holds(entry, key):
            self.memory.n_used += entry[0] != entry[0]
            for j in range(3 * self.n_features):
                entry[j] = key[j]
            entry[3 * self.n_features] = self.sum_pair(key, False)
        return entry[3 * self.n_features]

    cdef void fill_cross(self, const double[:, ::1] a, const double[:, ::1] b, double[:, ::1] out,
                         double* keys) noexcept nogil:
        cdef Py_ssize_t i, j, k, n, n_keys = 3 * self.n_features
        cdef uint64_t[AT_A_TIME] mixed
        cdef double* place
        for i in range(a.shape[0]):
            j = 0
            while j < b.shape[0]:
                n = min(<Py_ssize_t> AT_A_TIME, b.shape[0] - j)
                for k in range(n):
                    self.read(&a[i, 0], &b[j + k, 0], keys + k * n_keys)
                    mixed[k] = self.memory.mixed(keys + k * n_keys)
                    place = self.memory.place(mixed[k])
                    PREFETCH(place)
                    PREFETCH(place + n_keys)
                for k in range(n):
                    out[i, j + k] = self.recall(keys + k * n_keys, mixed[k])
                j += n

    def cross(self, A, B):
        """Return the covariances (n, m) between boxes A (n, 2 d) and B (m, 2 d)."""
        cdef const double[:, ::1] a = self.boxes(A, "A")
        cdef const double[:, ::1] b = self.boxes(B, "B")
        out = np.empty((a.shape[0], b.shape[0]))
        cdef double[:, ::1] view = out
        cdef double[::1] keys = np.empty(AT_A_TIME * 3 * self.n_features)
        if not out.size:
            return out
        with self.lock:
            self.memory.expect(out.size)
            self.rules.expect(self.rules.n_used)
            if out.size >= RELEASED:
                with nogil:
                    self.fill_cross(a, b, view, &keys[0])
            else:
                self.fill_cross(a, b, view, &keys[0])
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
            self.rules.expect(self.rules.n_used)
            for i in range(a.shape[0]):
                self.read(&a[i, 0], &a[i, 0], &key[0])
                view[i] = self.recall(&key[0], self.memory.mixed(&key[0]))
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
            self.rules.expect(self.rules.n_used)
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
                entry = memory.entry(key, memory.mixed(key))
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
