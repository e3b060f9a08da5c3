"""Loops of acquisition functions: information about a maximum, and expected gain.

The information about a maximum f* needs a log-cdf and a Mills ratio that are stable in the tails.

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
smooth function that grows like s / 2 for s -> inf and decays like log|s| / |s| for s -> -inf.
``information`` changes none of its arguments.

The expected gain in the largest of several posterior means by one answer is an integral over an
envelope of lines.

Notation for n queries and m targets:

======== ====== ===================================================================
symbol   shape  meaning
======== ====== ===================================================================
mean     (m,)   present posterior means of the targets
slopes   (n, m) cov(query, target) / standard deviation of the answer to the query
a, b     (m,)   heights at Z = 0 and slopes of the lines of one query
Z        scalar standard normal: the standardised answer
c_k      scalar points where neighbouring lines of the envelope meet
among    array  indices of lines, a scratch buffer
phi      scalar standard normal density; Phi is the cdf
======== ====== ===================================================================

``log_gains`` changes none of its arguments; all other functions work in the buffers a, b, among and
spans that ``log_gains`` allocates.

The posterior means of the targets after the answer are a + b Z [Frazier2009]. Sort the lines of the
upper envelope by slope. Then

    E[max(a + b Z)] - max(a) = sum_k (b_{k+1} - b_k) h(-|c_k|),   h(z) = phi(z) + z Phi(z).

*Relevant lines.* Call the line that is highest at Z = 0 the top line. A line that meets the top
line far from zero exceeds it only for values of Z of negligible probability. All queries share the
heights at zero, so the lines are sorted by height once. No slope exceeds the most extreme slope.
The lines that may meet the top line nearest to zero therefore give a height below which no line is
relevant.

*The envelope.* The relevant lines are not sorted by slope. Given two lines of the envelope, the
line that is highest above their intersection is on the envelope too. This line splits the remaining
lines into two parts; a line below both parts is dropped. The search begins with the top line and
the two lines of extreme slope. It costs O(m) for each query if few lines are relevant, and
O(m log m) on average otherwise.

*Tails.* ``log_gains`` returns the logarithm of the gain, because gains late in a run underflow and
still differ. In h(-c) = phi(c) (1 - c R(c)), R = 1 / (c + T) is Mills' ratio. The difference
1 - c R(c) is computed as T / (c + T), the form without cancellation.
"""

from libc.math cimport INFINITY, M_PI, erfc, exp, fabs, floor, log, log1p, sqrt

import numpy as np

cdef double LOG_SQRT_2PI = 0.5 * log(2.0 * M_PI)
cdef double SQRT_HALF = 0.7071067811865476

# ---- information about a maximum ----

# Beyond TAIL, and beyond FAR_TAIL, Laplace's continued fraction with this many terms is exact to
# rounding.
cdef double TAIL = 8.0
cdef int TAIL_TERMS = 16
cdef double FAR_TAIL = 24.0
cdef int FAR_TAIL_TERMS = 8
# q is tabulated between LOWEST and HIGHEST with cubic Hermite pieces (error below 1e-10).
cdef double LOWEST = -36.0
cdef double HIGHEST = 9.0
cdef int PIECES_PER_UNIT = 64
# Nodes of the Gauss-Hermite rule for E[q(S)]; with 24 its error is below 1e-9.
cdef int N_NODES = 24


cdef void mills(double gamma, double* h, double* A) noexcept nogil:
    """Write h(gamma) and A(gamma) to the numbers that ``h`` and ``A`` point to."""
    cdef double cdf, tail, u, above, below, swap
    cdef int k
    if gamma > 0.0:
        tail = 0.5 * erfc(gamma * SQRT_HALF)
        h[0] = exp(-0.5 * gamma * gamma - LOG_SQRT_2PI) / (1.0 - tail)
        A[0] = 0.5 * gamma * h[0] - log1p(-tail)
    elif gamma > -TAIL:
        cdf = 0.5 * erfc(-gamma * SQRT_HALF)
        h[0] = exp(-0.5 * gamma * gamma - LOG_SQRT_2PI) / cdf
        A[0] = 0.5 * gamma * h[0] - log(cdf)
    else:
        # With x = -gamma, h = x + e / x and e = 1 / (1 + 2 u / (1 + 3 u / ...)), u = 1 / x^2.
        # The terms of size x^2 in the two halves of A cancel, so A is written in terms of e.
        u = 1.0 / (gamma * gamma)
        above, below = 0.0, 1.0
        for k in range(TAIL_TERMS if gamma > -FAR_TAIL else FAR_TAIL_TERMS, 0, -1):
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

# ---- expected gain ----

# Contributions below exp(-NEGLIGIBLE) of the gain are left out.
cdef double NEGLIGIBLE = 40.0
# Bound on the relative error that rounding makes in the intersection of two lines.
cdef double ROUNDING = 1e-12
# Slopes that differ by at most this fraction of their size count as equal. Covariances of mirrored
# targets differ by rounding, and gains late in a run are as small as these differences.
cdef double SAME = 1e-10


cdef double log_h(double c) noexcept nogil:
    """Return the logarithm of phi(c) - c Phi(-c) for c >= 0."""
    cdef double tail
    cdef int k
    if c < TAIL:
        return log(exp(-0.5 * c * c - LOG_SQRT_2PI) - 0.5 * c * erfc(c * SQRT_HALF))
    tail = 0.0
    for k in range(TAIL_TERMS, 0, -1):
        tail = k / (c + tail)
    return -0.5 * c * c - LOG_SQRT_2PI + log(tail / (c + tail))


cdef struct Span:
    # Two lines of the envelope; among[start:stop] are the lines with slopes between theirs.
    Py_ssize_t left, right, start, stop
    # Lower bound on |Z| for the intersections of the envelope between the two lines.
    double nearest


cdef inline double meeting(const double* a, const double* b, Py_ssize_t p,
                           Py_ssize_t q) noexcept nogil:
    return (a[p] - a[q]) / (b[q] - b[p])


cdef Py_ssize_t above(const double* a, const double* b, Py_ssize_t m, Py_ssize_t left,
                      Py_ssize_t right, Py_ssize_t* among) noexcept nogil:
    """Find the lines of intermediate slope that pass above the intersection of two lines."""
    cdef double low = b[left], high = b[right], c, level
    cdef Py_ssize_t j, n = 0
    if not low < high:
        return 0
    c = meeting(a, b, left, right)
    level = a[left] + low * c
    # No branches: the processor could not predict which lines rise.
    for j in range(m):
        among[n] = j
        n += (b[j] > low) & (b[j] < high) & (a[j] + b[j] * c > level)
    return n


cdef double log_gain(const double* a, const double* b, Py_ssize_t m, Py_ssize_t highest,
                     Py_ssize_t* among, Span* spans) noexcept nogil:
    """Return log(E[max(a + b Z)] - max(a)); ``among`` holds 2 m + 2 entries, ``spans`` m + 2."""
    cdef Py_ssize_t least = highest, most = highest, top, j, k, n, end
    cdef double c, width, height, tallest, term, largest = -INFINITY, total = 0.0
    cdef Span span
    cdef bint right_of_zero
    for j in range(m):
        if b[j] < b[least] or (b[j] == b[least] and a[j] > a[least]):
            least = j
        if b[j] > b[most] or (b[j] == b[most] and a[j] > a[most]):
            most = j
    n = above(a, b, m, least, highest, among)
    spans[0] = Span(least, highest, 0, n, 0.0)
    end = n + above(a, b, m, highest, most, among + n)
    spans[1] = Span(highest, most, n, end, 0.0)
    top = 2
    while top > 0:
        top -= 1
        span = spans[top]
        width = b[span.right] - b[span.left]
        if not width > 0.0:
            continue
        width = log(width)
        # This span adds less than width phi(nearest).
        if width - 0.5 * span.nearest * span.nearest - LOG_SQRT_2PI < largest - NEGLIGIBLE:
            continue
        c = meeting(a, b, span.left, span.right)
        tallest, j = a[span.left] + b[span.left] * c, -1
        for k in range(span.start, span.stop):
            height = a[among[k]] + b[among[k]] * c
            if height > tallest:
                tallest, j = height, among[k]
        if j < 0:
            term = width + log_h(fabs(c))
            if term > largest:
                total = total * exp(largest - term) + 1.0
                largest = term
            elif term > -INFINITY:
                total += exp(term - largest)
            continue
        end = split(a, b, among, span.start, span.stop, span.left, j, span.right, &n)
        # The span nearer to zero is processed first: its gain rules out parts of the other spans.
        right_of_zero = a[span.left] >= a[span.right]
        if right_of_zero:
            spans[top] = Span(j, span.right, end, n, meeting(a, b, span.left, j))
            spans[top + 1] = Span(span.left, j, span.start, end, span.nearest)
        else:
            spans[top] = Span(span.left, j, span.start, end, -meeting(a, b, j, span.right))
            spans[top + 1] = Span(j, span.right, end, n, span.nearest)
        top += 2
    return largest + log(total) if total > 0.0 else -INFINITY


cdef Py_ssize_t split(const double* a, const double* b, Py_ssize_t* among, Py_ssize_t start,
                      Py_ssize_t stop, Py_ssize_t left, Py_ssize_t middle, Py_ssize_t right,
                      Py_ssize_t* end) noexcept nogil:
    """Partition among[start:stop] into lines left and right of ``middle``; return the boundary.

    Lines that exceed the envelope left of ``middle`` come first, before the boundary. Lines that
    exceed the envelope right of ``middle`` follow, before ``end``. Other lines are dropped.
    """
    cdef double c = meeting(a, b, left, middle), e = meeting(a, b, middle, right)
    cdef double low = a[middle] + b[middle] * c, high = a[middle] + b[middle] * e
    cdef Py_ssize_t i = start, j = stop, k = start, line
    while k < j:
        line = among[k]
        if b[line] < b[middle] and a[line] + b[line] * c > low:
            among[i] = line
            i += 1
            k += 1
        elif b[line] > b[middle] and a[line] + b[line] * e > high:
            j -= 1
            among[k] = among[j]
            among[j] = line
        else:
            k += 1
    # Close the gap left by the lines that were dropped.
    for k in range(j, stop):
        among[i + k - j] = among[k]
    end[0] = i + stop - j
    return i


cdef double widest(const double* slopes, Py_ssize_t m, double slope) noexcept nogil:
    """Return the largest absolute difference between ``slope`` and ``m`` slopes."""
    # Four chains, because the comparisons of a single chain depend on each other.
    cdef double[4] most
    cdef Py_ssize_t j, k
    most[0] = most[1] = most[2] = most[3] = 0.0
    for j in range(0, m - 3, 4):
        for k in range(4):
            most[k] = max(most[k], fabs(slopes[j + k] - slope))
    for j in range(m - m % 4, m):
        most[0] = max(most[0], fabs(slopes[j] - slope))
    return max(max(most[0], most[1]), max(most[2], most[3]))


cdef Py_ssize_t that_matter(const double* gaps, const Py_ssize_t* order, const double* slopes,
                            Py_ssize_t m, double factor, double* a, double* b) noexcept nogil:
    """Write the relevant lines to a and b, relative to the top line, and return their number.

    The top line comes first. ``gaps`` (m,) holds the height of the top line minus the height of
    each line of ``order``, at zero and in increasing order. The slopes of the lines are ``factor``
    times ``slopes``.
    """
    cdef double slope = slopes[order[0]], most = factor * widest(slopes, m, slope)
    cdef double rise = 0.0, gap = INFINITY, each, nearest, reach
    cdef double least = SAME * (fabs(factor * slope) + most)
    cdef Py_ssize_t j, n = 1
    a[0] = b[0] = 0.0
    if not most > least:
        return 1
    # The line that meets the top line nearest to zero is on the envelope.
    for j in range(1, m):
        if rise > 0.0 and gaps[j] * rise >= gap * most:
            break
        each = factor * fabs(slopes[order[j]] - slope)
        if each > least and (rise == 0.0 or gaps[j] * rise < gap * each):
            gap, rise = gaps[j], each
    # All lines that meet the top line beyond ``reach`` contribute less than 2 most phi(reach). This
    # is negligible compared with the contribution of the line found above.
    nearest = gap / rise
    reach = log(2.0 * most) - log(rise) - log_h(nearest) + NEGLIGIBLE - LOG_SQRT_2PI
    reach = max(sqrt(2.0 * reach), nearest) * (1.0 + ROUNDING)
    for j in range(1, m):
        if gaps[j] > reach * most:
            break
        each = factor * (slopes[order[j]] - slope)
        a[n] = -gaps[j]
        b[n] = each
        # No branches, as above.
        n += (gaps[j] <= reach * fabs(each)) & (fabs(each) > least)
    return n


def log_gains(const double[::1] mean, const double[:, ::1] slopes, unit=None):
    """Return log(E[max(mean + slopes[i] Z)] - max(mean)) for each row i, shape (n,).

    ``mean`` (m,) holds the posterior means of the targets. ``slopes`` (n, m) holds the covariances
    of the queries with the targets, divided by the standard deviations of the noisy answers. If
    ``unit`` (n,) holds these standard deviations, ``slopes`` are the undivided covariances.
    """
    cdef Py_ssize_t n = slopes.shape[0], m = mean.shape[0], i, some
    cdef const double[::1] divisors = np.ones(n) if unit is None else unit
    if slopes.shape[1] != m or divisors.shape[0] != n:
        raise ValueError(f"expected {m} slopes for each query, got {slopes.shape[1]}")
    if m == 0:
        raise ValueError("expected at least one target")
    out = np.empty(n)
    order = np.argsort(-np.asarray(mean), kind="stable")
    # One spare entry each: an irrelevant line may be written after the last one, without effect.
    cdef double[::1] view = out, a = np.empty(m + 1), b = np.empty(m + 1)
    cdef double[::1] gaps = mean[order[0]] - np.asarray(mean)[order]
    cdef Py_ssize_t[::1] by_height = order, among = np.empty(2 * m + 2, dtype=np.intp)
    cdef char[::1] spans = np.empty((m + 2) * sizeof(Span), dtype=np.byte)
    with nogil:
        for i in range(n):
            some = that_matter(&gaps[0], &by_height[0], &slopes[i, 0], m, 1.0 / divisors[i],
                               &a[0], &b[0])
            view[i] = log_gain(&a[0], &b[0], some, 0, &among[0], <Span*> &spans[0])
    return out
