"""Computations for bandits over a finite set of arms: for all arms, or for all pairs of arms.

Notation for n arms whose posterior mean and covariance are given:

====== ====== ======================================================================
symbol shape  meaning
====== ====== ======================================================================
C      (n, n) posterior covariance of the arms
V      (n, t) rows L^-1 cov(observed, arm) of ``skgpb._core._posterior``, so that
              C = K - V V'
mean   (n,)   posterior means of the arms
std    (n,)   posterior standard deviations of the arms
noise  (n,)   noise variances of the answers about the arms
F(s)   scalar product over the arms of the marginal cdfs: the cdf of the largest value
              of independent arms
====== ====== ======================================================================

Only ``downdate`` (C), ``subtract_explained`` (K), ``correct_draws`` (residuals and draws) and
``add_reductions`` (out) change their arguments in place.

*Pairs.* Pulling x changes the variance of x' by a = C_xx'^2 / (C_xx + noise_x), so that the
standard deviation falls by sd - sqrt(var - a) = a / (sd + sqrt(var - a)), the form without
cancellation. Sums over x' are accumulated row by row of C; the n x n reductions are never
stored, and neither is C if its rows are computed from V block by block.

*The maximum of independent arms.* P(arm x is the largest) = int pdf_x(s) F(s) / cdf_x(s) ds. All
arms share the nodes, so one table of cdfs per panel suffices for all n integrals. Panels are halved
until two conditions hold: no panel is wider than MAX_WIDTH standard deviations of an arm that
varies over it, and the 7- and 15-point Gauss-Kronrod rules agree for every arm. F vanishes below
max(mean - REACH std), and every pdf vanishes above max(mean + REACH std). The expected maximum
needs only F, at about 200 nodes, from a table of the normal cdf.
"""

from libc.math cimport INFINITY, erfc, exp, fabs, sqrt

import numpy as np

from skgpb._core._blas cimport axpy, gemm_nt_minus
from skgpb._core._posterior cimport Posterior

# erfc(REACH / sqrt(2)) / 2 = 1e-19: beyond REACH, a cdf is 0 or 1 up to rounding.
cdef double REACH = 9.0
# Widest panel in standard deviations: 15 nodes then resolve a normal density to 1e-13.
cdef double MAX_WIDTH = 4.0
# Accepted difference of the two rules; the error of the finer rule is then about its square.
cdef double ACCEPTED = 1e-8
# The value of an arm counts as determined if its standard deviation is below the fraction KNOWN of
# the largest standard deviation, or of the order of the rounding error of its mean.
cdef double KNOWN = 1e-10
cdef double ROUNDING = 1e-14
cdef enum:
    MAX_HALVINGS = 50
    # The distribution of a maximum may be 16^2 times narrower than the interval of its values.
    NARROWING = 2
    # Entries of the tables of the normal distribution, in all and per standard deviation.
    N_TABULATED = 577
    PER_UNIT = 32
# A cdf below this adds nothing to an expectation.
cdef double NEGLIGIBLE = 1e-17

cdef double[15] NODES
cdef double[15] KRONROD
cdef double[15] GAUSS


def _set_rules():
    """Set the nodes on [-1, 1] in increasing order; Kronrod-only nodes have Gauss weight 0."""
    half = (
        (0.991455371120812639206854697526329, 0.022935322010529224963732008058970, 0.0),
        (0.949107912342758524526189684047851, 0.063092092629978553290700663189204,
         0.129484966168869693270611432679082),
        (0.864864423359769072789712788640926, 0.104790010322250183839876322541518, 0.0),
        (0.741531185599394439863864773280788, 0.140653259715525918745189590510238,
         0.279705391489276667901467771423780),
        (0.586087235467691130294144691693013, 0.169004726639267902826583426598550, 0.0),
        (0.405845151377397166906606412076961, 0.190350578064785409913256402421014,
         0.381830050505118944950369775488975),
        (0.207784955007898467600689403773245, 0.204432940075298892414161999234649, 0.0),
        (0.0, 0.209482141084727828012999174891714, 0.417959183673469387755102040816327),
    )
    cdef int k
    for k in range(8):
        NODES[k], KRONROD[k], GAUSS[k] = -half[k][0], half[k][1], half[k][2]
        NODES[14 - k], KRONROD[14 - k], GAUSS[14 - k] = half[k]


_set_rules()

cdef double SQRT_HALF = 0.7071067811865476
cdef double DENSITY = 0.3989422804014327  # 1 / sqrt(2 pi)


# -- pairs ----------------------------------------------------------------------------------


def downdate(double[:, ::1] C, Py_ssize_t i, double noise):
    """Condition the covariance C (n, n), in place, on one observation of arm i. O(n^2).

    Return False, and leave C unchanged, if neither arm i nor its answer has any variance.
    """
    cdef Py_ssize_t n = C.shape[0], j
    if C.shape[1] != n:
        raise ValueError(f"a covariance matrix is square, got {C.shape[0]} x {C.shape[1]}")
    if not 0 <= i < n:
        raise IndexError(f"arm {i} of {n}")
    cdef double pivot = C[i, i] + noise
    if not pivot > 0.0:
        return False
    cdef double[::1] u = np.array(C[i])
    with nogil:
        pivot = 1.0 / sqrt(pivot)
        for j in range(n):
            u[j] *= pivot
        for j in range(n):
            axpy(n, -u[j], &u[0], &C[j, 0])
    return True


def subtract_explained(Posterior posterior, double[:, ::1] K, const Py_ssize_t[::1] slots,
                       Py_ssize_t start=0):
    """Overwrite prior covariances K = cov(slots, tracked) (b, n) with posterior ones. O(b n t).

    The columns of K are the tracked functionals of the slots start..start+n-1.
    """
    cdef Py_ssize_t b = K.shape[0], m = posterior.m, n = K.shape[1], t = posterior.n, i, j
    if not 0 <= start <= m - n or slots.shape[0] != b:
        raise ValueError(f"shapes do not fit {b} of {m} tracked functionals")
    for i in range(b):
        if not 0 <= slots[i] < m:
            raise IndexError(f"slot {slots[i]} of {m}")
    if b == 0 or n == 0 or t == 0:
        return
    cdef double[:, ::1] rows = np.empty((b, t))
    with nogil:
        for i in range(b):
            for j in range(t):
                rows[i, j] = posterior.V[slots[i], j]
        gemm_nt_minus(b, n, t, &rows[0, 0], t, &posterior.V[start, 0], posterior.V.shape[1],
                      &K[0, 0], n)


def correct_draws(Posterior posterior, double[:, ::1] residuals, double[:, ::1] draws):
    """Add cov(tracked, observed) Q^-1 r to each prior draw (k, m), with r a row of residuals.

    This is the pathwise form of conditioning: it replaces a prior draw of the observed
    functionals, plus noise, with the observed values. ``residuals`` (k, t) is used as scratch.
    """
    cdef Py_ssize_t k = draws.shape[0], m = posterior.m, t = posterior.n, i, j
    if draws.shape[1] != m or residuals.shape[0] != k:
        raise ValueError(f"shapes do not fit {k} draws of {m} tracked functionals")
    posterior.solve_rows(residuals)
    if k == 0 or t == 0 or m == 0:
        return
    with nogil:
        for i in range(k):
            for j in range(t):
                residuals[i, j] = -residuals[i, j]
        gemm_nt_minus(k, m, t, &residuals[0, 0], t, &posterior.V[0, 0], posterior.V.shape[1],
                      &draws[0, 0], m)


def add_reductions(const double[:, ::1] C, const Py_ssize_t[::1] rows, const double[::1] weights,
                   const double[::1] var, const double[::1] noise, const Py_ssize_t[::1] others,
                   double[::1] out):
    """Add to out[x] the weighted decrease of the standard deviations of some arms x' by pulling x.

    ``C[rows[k]]`` holds cov(x', x) for the arm x' = ``others[k]`` of weight ``weights[k]``. The
    posterior variances and noise variances have shape (n,). O(n) for each k.
    """
    cdef Py_ssize_t n = out.shape[0], b = rows.shape[0], k, x
    if (C.shape[1] != n or var.shape[0] != n or noise.shape[0] != n or weights.shape[0] != b
            or others.shape[0] != b):
        raise ValueError(f"shapes do not fit {n} arms and {b} rows")
    for k in range(b):
        if not (0 <= rows[k] < C.shape[0] and 0 <= others[k] < n):
            raise IndexError(f"row {rows[k]} of {C.shape[0]}, arm {others[k]} of {n}")
    cdef double[::1] gain = np.empty(n)
    cdef double v, sd, w, a, left
    cdef const double* c
    if n == 0:
        return
    with nogil:
        for x in range(n):
            # An arm without posterior variance adds no information.
            gain[x] = 1.0 / (var[x] + noise[x]) if var[x] > 0.0 else 0.0
        for k in range(b):
            v = var[others[k]]
            if not v > 0.0:
                continue
            sd, w, c = sqrt(v), weights[k], &C[rows[k], 0]
            for x in range(n):
                a = c[x] * c[x] * gain[x]
                left = v - a
                left = left if left > 0.0 else 0.0
                out[x] += w * a / (sd + sqrt(left))


# -- the maximum of independent arms ----------------------------------------------------------


cdef double cdf(double z) noexcept nogil:
    return 0.5 * erfc(-z * SQRT_HALF)


cdef bint is_known(double mean, double std, double widest) noexcept nogil:
    return not (std > KNOWN * widest and std > ROUNDING * fabs(mean))


cdef bint too_wide(Py_ssize_t n, const double* mean, const double* std, double a,
                   double b) noexcept nogil:
    """Return whether the density of an arm is much narrower than [a, b] and not zero there."""
    cdef Py_ssize_t x
    for x in range(n):
        if (b - a > MAX_WIDTH * std[x] and mean[x] - REACH * std[x] < b
                and mean[x] + REACH * std[x] > a):
            return True
    return False


cdef double panel(Py_ssize_t n, const double* mean, const double* std, double a, double b,
                  double[:, ::1] ratio, Py_ssize_t[::1] active, double[::1] part,
                  Py_ssize_t* n_active) noexcept nogil:
    """Integrate over [a, b] for all arms that vary there, into ``part``.

    Return the difference between the two rules, summed over the arms.
    """
    cdef double h = 0.5 * (b - a), middle = 0.5 * (a + b), z, p, f, kronrod, gauss, worst = 0.0
    cdef double[15] F
    cdef double[15] s
    cdef Py_ssize_t x, r, m = 0
    cdef int k
    for k in range(15):
        s[k] = middle + h * NODES[k]
        F[k] = 1.0
    for x in range(n):
        if mean[x] + REACH * std[x] <= a:
            continue  # surely below the panel
        for k in range(15):
            z = (s[k] - mean[x]) / std[x]
            if z > REACH:
                ratio[m, k] = 0.0
                continue
            p = cdf(z)
            F[k] *= p
            ratio[m, k] = DENSITY * exp(-0.5 * z * z) / (std[x] * p) if p > 0.0 else 0.0
        active[m] = x
        m += 1
    for r in range(m):
        kronrod = gauss = 0.0
        for k in range(15):
            f = F[k] * ratio[r, k]
            kronrod += KRONROD[k] * f
            gauss += GAUSS[k] * f
        part[r] = h * kronrod
        gauss = h * (kronrod - gauss)
        worst += fabs(gauss)
    n_active[0] = m
    return worst


def maximum_distribution(const double[::1] mean, const double[::1] std, double floor=-INFINITY):
    """Return the probability that each arm is the largest, assuming independent arms.

    Parameters
    ----------
    mean, std : array (n,)
        Marginals of the arms.
    floor : float
        Lower bound on the maximum.

    Returns
    -------
    weights : ndarray of shape (n,)
        Probability of being the largest and above ``floor``, with an error of about 1e-12. Arms
        without variance and of equal means share their probability.
    """
    cdef Py_ssize_t n = mean.shape[0], m = 0, x, known = 0, n_active = 0, r
    if std.shape[0] != n or n == 0:
        raise ValueError(f"expected as many means as standard deviations, got {n}, {std.shape[0]}")
    weights = np.zeros(n)
    cdef double[::1] w = weights
    cdef double widest = 0.0, top = -INFINITY, below = 1.0, lo, hi, a, b
    cdef double worst, origin = -INFINITY
    cdef Py_ssize_t[::1] arms = np.empty(n, dtype=np.intp), active = np.empty(n, dtype=np.intp)
    cdef double[::1] mu = np.empty(n), sd = np.empty(n), part = np.empty(n)
    cdef double[:, ::1] ratio = np.empty((n, 15))
    cdef double[MAX_HALVINGS + 2] starts
    cdef double[MAX_HALVINGS + 2] ends
    cdef int[MAX_HALVINGS + 2] levels
    cdef int depth = 0, level
    cdef bint certain
    with nogil:
        for x in range(n):
            widest, origin = max(widest, std[x]), max(origin, mean[x])
        # Values are relative to the largest mean from here on, because nodes of a panel would lose
        # digits if the means are large.
        for x in range(n):
            if not is_known(mean[x], std[x], widest):
                arms[m], mu[m], sd[m] = x, mean[x] - origin, std[x]
                m += 1
            else:
                if mean[x] > top:
                    top, known = mean[x], 0
                known += mean[x] == top
        lo, hi = max(top, floor) - origin, -INFINITY
        for r in range(m):
            if lo > -INFINITY:
                below *= cdf((lo - mu[r]) / sd[r])
            hi = max(hi, mu[r] + REACH * sd[r])
        certain = top >= floor
        for r in range(m):
            lo = max(lo, mu[r] - REACH * sd[r])
        if certain:
            for x in range(n):
                if is_known(mean[x], std[x], widest) and mean[x] == top:
                    w[x] = below / known
        if m and hi > lo:
            # Stack of the remaining panels, the leftmost on top.
            starts[0], ends[0], levels[0], depth = lo, hi, 0, 1
            while depth:
                depth -= 1
                a, b, level = starts[depth], ends[depth], levels[depth]
                worst = INFINITY
                if level == MAX_HALVINGS or not too_wide(m, &mu[0], &sd[0], a, b):
                    worst = panel(m, &mu[0], &sd[0], a, b, ratio, active, part, &n_active)
                if worst > ACCEPTED and level < MAX_HALVINGS:
                    starts[depth], ends[depth], levels[depth] = 0.5 * (a + b), b, level + 1
                    depth += 1
                    starts[depth], ends[depth], levels[depth] = a, 0.5 * (a + b), level + 1
                    depth += 1
                    continue
                for r in range(n_active):
                    w[arms[active[r]]] += part[r]
    return weights


cdef double[N_TABULATED] CDF
cdef double[N_TABULATED] PDF


def _tabulate():
    cdef double z
    cdef int i
    for i in range(N_TABULATED):
        z = <double>i / PER_UNIT - REACH
        CDF[i], PDF[i] = cdf(z), DENSITY * exp(-0.5 * z * z)


_tabulate()


cdef inline double tabulated_cdf(double z) noexcept nogil:
    """Return the cdf of z in [-REACH, REACH] to 1e-13: six Taylor terms for a step <= 1/64."""
    cdef Py_ssize_t i = <Py_ssize_t>((z + REACH) * PER_UNIT + 0.5)
    cdef double c = <double>i / PER_UNIT - REACH, e = z - c, q = c * c
    return CDF[i] + PDF[i] * e * (
        1.0 - e * (c / 2.0 - e * ((q - 1.0) / 6.0 - e * (
            c * (q - 3.0) / 24.0 - e * ((q * (q - 6.0) + 3.0) / 120.0)))))


cdef void cdfs_of_maximum(Py_ssize_t n, const double* mean, const double* inverse,
                          const double* s, double* F) noexcept nogil:
    """Compute the cdf of the largest of independent arms at 15 increasing points.

    Negligible values are set to 0. ``inverse`` is one over the standard deviation of each arm.
    """
    cdef double z
    cdef Py_ssize_t x
    cdef int k, first = 0
    for k in range(15):
        F[k] = 1.0
    for x in range(n):
        for k in range(first, 15):
            z = (s[k] - mean[x]) * inverse[x]
            if not z <= REACH:  # also true for NaN
                break
            F[k] *= tabulated_cdf(z) if z > -REACH else 0.0
        while first < 15 and F[first] < NEGLIGIBLE:
            F[first] = 0.0
            first += 1
        if first == 15:
            return


def expected_maximum(const double[::1] mean, const double[::1] std):
    """Return the expected maximum of independent arms, to 1e-11 of the largest deviation.

    It equals c + int (1 - F(s)) ds over s > c, for every c that the maximum surely exceeds.
    """
    cdef Py_ssize_t n = mean.shape[0], m = 0, x, i
    if std.shape[0] != n or n == 0:
        raise ValueError(f"expected as many means as standard deviations, got {n}, {std.shape[0]}")
    # Largest means first: the product F then underflows after few factors.
    cdef const Py_ssize_t[::1] order = np.argsort(mean)[::-1].copy()
    cdef double[::1] mu = np.empty(n), sd = np.empty(n), inverse = np.empty(n)
    cdef double origin = mean[order[0]], widest = np.max(std), lo = -INFINITY, hi
    cdef double a, b, h, fine, error, expected
    cdef double[15] F
    cdef double[15] s
    cdef double[MAX_HALVINGS + 2] ends
    cdef int[MAX_HALVINGS + 2] levels
    cdef int depth, level, k
    with nogil:
        for i in range(n):
            x = order[i]
            if is_known(mean[x], std[x], widest):
                lo = max(lo, mean[x] - origin)
            else:
                mu[m], sd[m], inverse[m] = mean[x] - origin, std[x], 1.0 / std[x]
                m += 1
        hi = lo
        for i in range(m):
            lo, hi = max(lo, mu[i] - REACH * sd[i]), max(hi, mu[i] + REACH * sd[i])
        for level in range(NARROWING):
            a, h = lo, (hi - lo) / 16.0
            for k in range(15):
                s[k] = a + (k + 1) * h
            cdfs_of_maximum(m, &mu[0], &inverse[0], s, F)
            for k in range(15):
                if F[k] == 0.0:
                    lo = s[k]
                elif F[k] == 1.0:
                    hi = s[k]
                    break
        expected = a = lo
        # Stack of the right ends of the remaining panels, the leftmost on top.
        ends[0], levels[0], depth = hi, 0, hi > lo
        while depth:
            b, level = ends[depth - 1], levels[depth - 1]
            h, fine, error = 0.5 * (b - a), 0.0, INFINITY
            if level == MAX_HALVINGS or not too_wide(m, &mu[0], &sd[0], a, b):
                error = 0.0
                for k in range(15):
                    s[k] = a + h * (1.0 + NODES[k])
                cdfs_of_maximum(m, &mu[0], &inverse[0], s, F)
                for k in range(15):
                    fine += KRONROD[k] * (1.0 - F[k])
                    error += (KRONROD[k] - GAUSS[k]) * F[k]
            if h * fabs(error) > ACCEPTED * widest and level < MAX_HALVINGS:
                ends[depth], levels[depth - 1], levels[depth] = a + h, level + 1, level + 1
                depth += 1
                continue
            expected += h * fine
            a = b
            depth -= 1
    return origin + expected


def maximum_cdf(const double[::1] mean, const double[::1] std, const double[::1] s):
    """Return the cdf of the largest of independent arms at the points s (k,). O(n k)."""
    cdef Py_ssize_t n = mean.shape[0], k, x
    if std.shape[0] != n:
        raise ValueError(f"expected as many means as standard deviations, got {n}, {std.shape[0]}")
    out = np.ones(s.shape[0])
    cdef double[::1] F = out
    with nogil:
        for k in range(s.shape[0]):
            for x in range(n):
                if std[x] > 0.0:
                    F[k] *= cdf((s[k] - mean[x]) / std[x])
                elif mean[x] > s[k]:
                    F[k] = 0.0
    return out
