"""Information about a maximum f*: stable log-cdf and Mills ratio over candidates and samples.

Notation for m queries and n samples of the maximum:

======== ====== ====================================================================
symbol   shape  meaning
======== ====== ====================================================================
f*       (n,)   samples of the maximum of f
nu       (m,)   posterior means of the queries
sigma    (m,)   posterior standard deviations of the queries
noise    (m,)   noise variances of the answers
Phi, phi scalar standard normal cdf and density
h        scalar phi / Phi, the inverse Mills ratio
gamma    (m, n) (f* - nu) / sigma
======== ====== ====================================================================

Equation 7 of the indirect-query paper is the mean over the samples of

    A(gamma) = gamma h(gamma) / 2 - log Phi(gamma).

Appendix A of the paper takes the noise of the answer into account. Let rho^2 = sigma^2 / (sigma^2 +
noise) and w^2 = 1 - rho^2. Completing the square in the integral of the appendix gives

    B(gamma, w) = A(gamma) - w h(gamma) E[q(S)],  S ~ N(gamma w, rho^2),  q = A / h.

B equals A without noise and tends to zero as the noise grows. B has no cancellation, because q is a
smooth function that grows like s / 2 for s -> inf and decays like log|s| / |s| for s -> -inf. No
function changes its arguments.
"""

from libc.math cimport M_PI, erfc, exp, floor, log, log1p, sqrt

import numpy as np

# Below these, Laplace's continued fraction with this many terms is exact to rounding.
cdef double TAIL = -8.0
cdef int TAIL_TERMS = 16
cdef double FAR_TAIL = -24.0
cdef int FAR_TAIL_TERMS = 8
# q is tabulated between LOWEST and HIGHEST with cubic Hermite pieces (error below 1e-10).
cdef double LOWEST = -36.0
cdef double HIGHEST = 9.0
cdef int PIECES_PER_UNIT = 64
# Nodes of the Gauss-Hermite rule for E[q(S)]; with 24 its error is below 1e-9.
cdef int N_NODES = 24
cdef double LOG_SQRT_2PI = 0.5 * log(2.0 * M_PI)


cdef void mills(double gamma, double* h, double* A) noexcept nogil:
    """Write h(gamma) and A(gamma) to the numbers that ``h`` and ``A`` point to."""
    cdef double cdf, tail, u, above, below, swap
    cdef int k
    if gamma > 0.0:
        tail = 0.5 * erfc(gamma * 0.7071067811865476)
        h[0] = exp(-0.5 * gamma * gamma - LOG_SQRT_2PI) / (1.0 - tail)
        A[0] = 0.5 * gamma * h[0] - log1p(-tail)
    elif gamma > TAIL:
        cdf = 0.5 * erfc(-gamma * 0.7071067811865476)
        h[0] = exp(-0.5 * gamma * gamma - LOG_SQRT_2PI) / cdf
        A[0] = 0.5 * gamma * h[0] - log(cdf)
    else:
        # With x = -gamma, h = x + e / x and e = 1 / (1 + 2 u / (1 + 3 u / ...)), u = 1 / x^2.
        # The terms of size x^2 in the two halves of A cancel, so A is written in terms of e.
        u = 1.0 / (gamma * gamma)
        above, below = 0.0, 1.0
        for k in range(TAIL_TERMS if gamma > FAR_TAIL else FAR_TAIL_TERMS, 0, -1):
            swap = k * below
            below += u * above
            above = swap
        above /= below
        h[0] = -gamma - above / gamma
        A[0] = log(h[0]) + LOG_SQRT_2PI - 0.5 * above


cdef double ratio(double s) noexcept nogil:
    """Return q(s) = A(s) / h(s)."""
    cdef double h, A, u
    if s > HIGHEST:
        u = 1.0 / (s * s)
        return 0.5 * s + (1.0 + u * (-1.0 + u * (3.0 + u * (-15.0 + u * (105.0 - 945.0 * u))))) / s
    mills(s, &h, &A)
    return A / h


cdef double slope(double s) noexcept nogil:
    """q'(s) = 1/2 + q(s) (s + h) - ... from h' = -h (s + h) and (log Phi)' = h."""
    cdef double h, A
    mills(s, &h, &A)
    # q = s / 2 - log(Phi) / h, so q' = 1/2 - 1 - log(Phi) (s + h) / h = (q - s/2)(s + h) - 1/2
    return (A / h - 0.5 * s) * (s + h) - 0.5


def _tabulate():
    cdef Py_ssize_t n = <Py_ssize_t>((HIGHEST - LOWEST) * PIECES_PER_UNIT) + 1, i
    table = np.empty((n, 2))
    cdef double[:, ::1] view = table
    for i in range(n):
        view[i, 0] = ratio(LOWEST + i / <double>PIECES_PER_UNIT)
        view[i, 1] = slope(LOWEST + i / <double>PIECES_PER_UNIT) / PIECES_PER_UNIT
    return table


cdef double[:, ::1] TABLE = _tabulate()
cdef double[::1] NODES
cdef double[::1] WEIGHTS
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(N_NODES)
WEIGHTS = np.asarray(WEIGHTS) / np.sum(WEIGHTS)


cdef inline double tabulated_ratio(double s, const double* table) noexcept nogil:
    cdef double position, t, y0, y1, d0, d1
    cdef Py_ssize_t i
    if not LOWEST < s < HIGHEST:
        return ratio(s)
    position = (s - LOWEST) * PIECES_PER_UNIT
    i = <Py_ssize_t>floor(position)
    t = position - i
    y0 = table[2 * i]
    d0 = table[2 * i + 1]
    y1 = table[2 * i + 2] - y0
    d1 = table[2 * i + 3]
    return y0 + t * (d0 + t * (3.0 * y1 - 2.0 * d0 - d1 + t * (d0 + d1 - 2.0 * y1)))


def information(const double[::1] mean, const double[::1] std, const double[::1] maxima,
                double known, const double[::1] noise=None):
    """Return the information of each answer about f*, averaged over samples, in nats. O(m n).

    Parameters
    ----------
    mean, std : ndarray of shape (m,)
        Posterior means and noiseless posterior standard deviations of the queries.
    maxima : ndarray of shape (n,)
        Samples of f*.
    known : float
        Threshold: a query with a standard deviation of at most ``known`` has information 0.
    noise : ndarray of shape (m,), default=None
        Noise variances of the answers for Appendix A; None for equation 7.

    Returns
    -------
    information : ndarray of shape (m,)
    """
    cdef Py_ssize_t m = mean.shape[0], n = maxima.shape[0], i, j, k
    cdef bint noisy = noise is not None
    cdef double total, gamma, h, A, w, rho, expected, inverse
    if std.shape[0] != m or (noisy and noise.shape[0] != m):
        raise ValueError(f"expected {m} standard deviations and noise variances")
    if n == 0:
        raise ValueError("expected at least one sample of the maximum")
    out = np.zeros(m)
    cdef double[::1] view = out
    cdef const double* table = &TABLE[0, 0]
    with nogil:
        for i in range(m):
            if not std[i] > known:
                continue
            total = 0.0
            inverse = 1.0 / std[i]
            w = 0.0
            if noisy:
                w = sqrt(noise[i] / (std[i] * std[i] + noise[i]))
                rho = std[i] / sqrt(std[i] * std[i] + noise[i])
            for j in range(n):
                gamma = (maxima[j] - mean[i]) * inverse
                mills(gamma, &h, &A)
                if w > 0.0:
                    expected = 0.0
                    for k in range(N_NODES):
                        expected += WEIGHTS[k] * tabulated_ratio(gamma * w + rho * NODES[k], table)
                    A -= w * h * expected
                if A > 0.0:
                    total += A
            view[i] = total / n
    return out
