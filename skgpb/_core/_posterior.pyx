"""Growing Cholesky factor and rows of tracked functionals, which every algorithm uses.

Notation after ``t`` answers about ``n <= t`` *distinct* linear functionals psi_1..psi_n, with ``m``
*tracked* functionals phi:

====== ========== ==================================================================
symbol shape      meaning
====== ========== ==================================================================
Q      (n, n)     cov(psi_i, psi_j) + diag(noise)
L      (n, n)     lower Cholesky factor of Q
z      (n,)       L^-1 y
y      (n,)       precision-weighted mean answer about each psi_i
noise  (n,)       noise variance of each mean answer
V      (m, n)     rows v_phi = L^-1 cov(psi, phi)
mean   (m,)       posterior means of the tracked functionals
var    (m,)       noiseless posterior variances of the tracked functionals
K      (r, n)     prior covariances of r functionals with psi
source function   (slots, first) -> prior covariances of the slots with psi_first..psi_n
work   array      scratch
====== ========== ==================================================================

The arrays have spare rows and columns and are changed in place. A copy shares L and V with its
original until one of them writes (see ``copy``); accessors such as ``tracked_mean`` return copies.
``solve_rows`` and ``track`` overwrite their argument K.

mean(phi) = v_phi . z and var(phi) = cov(phi, phi) - |v_phi|^2. Three updates follow.

*A new functional that is tracked.* Its row v_psi **is** the new row of L, with diagonal
sqrt(var(psi) + noise): no solve. Every tracked phi gains the entry
(cov(phi, psi) - v_phi . v_psi) / diagonal, one matrix-vector product for all of them.

*A functional phi that is tracked from now on.* One triangular solve gives v_phi.

*A functional that was already observed.* Answers y_i, y with noise variances a_i, a about the
same functional are equivalent to their precision-weighted mean with variance
a' = a_i a / (a_i + a), so entry (i, i) of Q decreases by d = a_i - a' and nothing grows. With
g = L^-1 e_i (zero above i) and p = sqrt(d) g, the new factor is L chol(I - p p'), whose
factor M has a closed form. With s_k = 1 - sum_{l<=k} p_l^2,

    M_kk = sqrt(s_k / s_{k-1}),   M_jk = -p_j p_k / sqrt(s_{k-1} s_k)   for j > k,

so that M^-1 v is a prefix sum. Rows above i do not change. A repeat costs O((n + m)(n - i)), which
is O(n + m) for the functional that was added last, and memory grows with the number of distinct
functionals. The downdate is well conditioned because s_n >= a / (a_i + a).

*Rows completed later.* Let mean_u and var_u be the posterior moments of a tracked phi after u < n
functionals. The part r of its row from column u on then has |r|^2 = var_u - var and
mean = mean_u + r . z[u:]. By the Cauchy-Schwarz inequality, for any beta,

    mean + sqrt(beta var) <= mean_u + sqrt(var_u) sqrt(beta + |z[u:]|^2).

A search for the largest such bound needs few complete rows. ``append_lazily`` therefore leaves all
rows incomplete, and ``track_known`` takes moments without rows. Every other method first completes
the moments or the rows that it reads or changes.

*The information gain* 1/2 log det(I + K / noise) of all answers, repeats included, grows by
1/2 log(1 + var(psi) / noise) with each answer. Every update computes both numbers anyway. The gain
is infinite after an answer without noise.

*The density of answers*, by which hyperparameters are learned, has no tracked functionals. For n
functionals and q sets of answers about them:

====== ====== ====================================================================
symbol shape  meaning
====== ====== ====================================================================
Q      (n, n) covariance matrix of the answers: of the functionals, plus diag(noise)
L      (n, n) lower Cholesky factor of Q
noise  (n,)   noise variances
Y      (q, n) answers y_1..y_q, one set a row
W      (q, n) dual coefficients w_k = Q^-1 y_k
====== ====== ====================================================================

Then, by equations 5.8 and 5.9 of [RW2006]_ summed over k,

    log p = -1/2 sum_k y_k . w_k - q/2 log det(2 pi Q),   d log p / d Q = 1/2 (W' W - q Q^-1).

``condition`` overwrites Q with L, and ``derivative`` overwrites L with the derivative. Both work in
place, so that there is only one matrix (n, n).

References
----------
.. [RW2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT
   Press, 2006.
"""

import weakref

from libc.math cimport INFINITY, M_PI, fabs, isfinite, log, sqrt

import numpy as np

from skgpb._core._blas cimport (
    dot, gemm_nt_minus, gemv, potrf_lower, potri_lower, trsm_rows, trsm_rows_trans, trsv_lower,
    trsv_lower_trans, trtri_lower,
)

# Releasing and reacquiring the interpreter's lock takes tens of microseconds: only steps of at
# least this many multiplications release it.
cdef Py_ssize_t RELEASED = 2 ** 15
# Maximum number of rows completed in one step, and the difference between their lengths that is
# always allowed.
cdef Py_ssize_t MOST_ROWS = 256
cdef Py_ssize_t LENGTH_TOLERANCE = 8
# A pivot below this multiple of the prior variance is rounding, not information.
cdef double EPSILON = 2.220446049250313e-16
cdef double RELATIVE_PIVOT = 10 * EPSILON
# A pivot below this multiple of the largest rounding error of a variance so far is rounding, too.
# Each such pivot amplifies the rounding errors of later steps; a few successive ones make means
# infinite.
cdef double LOST_PIVOT = 100.0
# Answers over pivots below this may overflow.
cdef double SMALLEST_PIVOT = 1e-290
# A variance this far below zero, as a fraction of the largest prior variance, is not rounding.
cdef double NEGATIVE = 1e-6
# Rounding is reported if it moves a mean by this fraction of the prior standard deviation, and by
# this many standard deviations of the noise.
cdef double MOVED = 1e-6, DEVIATIONS = 10.0
# Pivots that a repeat divides by at most this factor are not checked again.
cdef double LOWERED = 2.5
# A repeat that leaves a smaller fraction of a pivot than this cancels half of its digits.
cdef double SMALLEST_SHARE = 1e-7

# Arrays with an entry for each observed, and for each tracked functional.
cdef dict OBSERVED = {"z": np.float64, "y": np.float64, "noise": np.float64, "count": np.intp}
cdef dict TRACKED = {"mean": np.float64, "var": np.float64, "upto": np.intp, "columns": np.intp}
# The arrays of a pickle.
cdef tuple STATE = ("L", "z", "y", "noise", "count", "V", "mean", "var")


cdef Py_ssize_t grown(Py_ssize_t capacity, Py_ssize_t needed) noexcept nogil:
    if capacity < 8:
        capacity = 8
    while capacity < needed:
        # An append costs more than copying, and a double capacity would take hundreds of megabytes.
        capacity += capacity if capacity < 512 else capacity // 4
    return capacity


cdef double downdate(const double[:, ::1] L, Py_ssize_t n, Py_ssize_t i, double delta,
                     double* g, double* r, double* q, double* e) noexcept nogil:
    """Prepare M for d = delta at (i, i): fill g = L^-1 e_i and, for k = i..n-1, in terms of s_k,

    r = sqrt(s_{k-1} / s_k), q = delta g_k r / s_{k-1} and e = delta g_k / sqrt(s_{k-1} s_k).
    Return s_n, or -1 if the downdate would lose too many digits.
    """
    cdef Py_ssize_t k, w = n - i
    cdef double before = 1.0, after
    for k in range(w):
        g[k] = 0.0
    g[0] = 1.0
    trsv_lower(w, &L[i, i], L.shape[1], g)
    for k in range(w):
        after = before - delta * g[k] * g[k]
        if not after > SMALLEST_SHARE:
            return -1.0
        r[k] = sqrt(before / after)
        q[k] = delta * g[k] * r[k] / before
        e[k] = delta * g[k] / sqrt(before * after)
        before = after
    return before


cdef void apply_inverse(Py_ssize_t w, const double* g, const double* r, const double* q,
                        double* v) noexcept nogil:
    """Compute v <- M^-1 v by prefix sums of g . v."""
    cdef Py_ssize_t k
    cdef double prefix = 0.0, old
    for k in range(w):
        old = v[k]
        v[k] = old * r[k] + q[k] * prefix
        prefix += g[k] * old


cdef void apply_right(Py_ssize_t w, const double* g, const double* r, const double* e,
                      double* row) noexcept nogil:
    """Compute row <- row M by suffix sums of row . g."""
    cdef Py_ssize_t k
    cdef double suffix = 0.0, old
    for k in range(w - 1, -1, -1):
        old = row[k]
        row[k] = old / r[k] - e[k] * suffix
        suffix += old * g[k]


class _Lease:
    """Token that a copy holds as long as it shares the buffers of another posterior."""


cdef class Posterior:
    """Posterior of tracked linear functionals given noisy observed ones, with zero prior mean.

    The class receives covariances of functionals, and never the functionals themselves. The class
    checks shapes; the caller ensures that values are finite and covariances symmetric.
    """

    def __cinit__(self):
        self.arrays = {name: np.zeros((0, 0)) for name in ("L", "V")}
        for name, dtype in (OBSERVED | TRACKED).items():
            self.arrays[name] = np.zeros(0, dtype)
        self.bind()
        self.work = np.zeros(0)

    cdef bind(self):
        """View the arrays, after any of them was replaced."""
        self.L = self.arrays["L"]
        self.V = self.arrays["V"]
        self.z = self.arrays["z"]
        self.y = self.arrays["y"]
        self.noise = self.arrays["noise"]
        self.count = self.arrays["count"]
        self.mean = self.arrays["mean"]
        self.var = self.arrays["var"]
        self.upto = self.arrays["upto"]
        self.columns = self.arrays["columns"]

    cdef resize(self, name, shape):
        """Replace an array by a copy with spare entries, without changing the views."""
        used = self.used(name)
        array = np.zeros(shape, used.dtype)
        array[tuple(map(slice, used.shape))] = used
        self.arrays[name] = array

    cdef used(self, name):
        """Return an array without its spare entries, as a view."""
        array = self.arrays[name][: self.n if name == "L" or name in OBSERVED else self.m]
        return array[:, : self.n] if array.ndim == 2 else array

    cdef void part(self, bint overwrites):
        """Copy shared buffers before a write that the other posterior must not see.

        A copy may write to the shared buffers after the rows and columns that both posteriors use.
        With ``overwrites`` the write changes these common rows or columns.
        """
        if (overwrites and self.lease is not None) or self.is_lent():
            for name in ("L", "V"):
                self.resize(name, self.arrays[name].shape)
            self.bind()
            self.lease = self.lent = None

    cdef bint is_lent(self):
        """Return whether a copy shares the buffers of this posterior."""
        return self.lent is not None and self.lent() is not None

    cdef void reserve(self, Py_ssize_t n, Py_ssize_t m, bint exactly=False):
        cdef Py_ssize_t cap_n = self.L.shape[0], cap_m = self.V.shape[0]
        cdef bint wider = n > cap_n, taller = m > cap_m
        if not wider and not taller:
            return
        if wider:
            cap_n = n if exactly else grown(cap_n, n)
            self.resize("L", (cap_n, cap_n))
            for name in OBSERVED:
                self.resize(name, cap_n)
            self.lease = self.lent = None
        if taller:
            cap_m = grown(cap_m, m)
            for name in TRACKED:
                self.resize(name, cap_m)
        self.resize("V", (cap_m, cap_n))
        self.bind()
        self.work = np.zeros(max(4 * cap_n, cap_m))

    cdef double _clip(self, double var) noexcept nogil:
        """Return a variance, or 0 if it is negative; record errors that exceed rounding."""
        if var >= 0.0:
            return var
        if -var > self.lost * self.largest:
            self.lost = -var / self.largest
        if -var > NEGATIVE * self.largest and -var > self.clipped:
            self.clipped = -var
        return 0.0

    cdef bint _is_rounding(self, double pivot2, double prior) noexcept nogil:
        """Return whether a pivot is only rounding; ``prior`` is the prior variance plus noise."""
        cdef double share = max(RELATIVE_PIVOT, LOST_PIVOT * self.lost)
        return not pivot2 > share * prior + SMALLEST_PIVOT

    cdef void _suspect(self, double diag, double noise, double pivot, double zn) noexcept nogil:
        """Record an observation if its rounding may move means by more than the tolerance.

        Covariances have rounding errors of EPSILON diag, which multiply weights of zn / pivot.
        """
        cdef double moved = EPSILON * diag * fabs(zn) / pivot
        if diag > self.largest:
            self.largest = diag
        if moved > self.doubtful and moved > MOVED * sqrt(diag) and moved > DEVIATIONS * sqrt(noise):
            self.doubtful = moved

    def forget_losses(self):
        """Reset the record of losses of precision after they were reported."""
        self.clipped = self.doubtful = 0.0

    # -- reading ----------------------------------------------------------------------------

    def tracked_mean(self):
        """Return the posterior means of the tracked functionals, a copy of shape (m,)."""
        self.bring(moments=True)
        return self.used("mean").copy()

    def tracked_var(self):
        """Return the noiseless posterior variances of the tracked functionals, a copy (m,)."""
        self.bring(moments=True)
        return self.used("var").copy()

    def moments_at(self, Py_ssize_t slot):
        """Return the posterior mean and noiseless variance of one tracked functional."""
        self._check_slot(slot)
        if self.behind:
            self.bring([slot], moments=True)
        return self.mean[slot], self.var[slot]

    def tracked_rows(self):
        """Return the rows L^-1 cov(observed, tracked), a copy of shape (m, n)."""
        self.bring()
        return self.used("V").copy()

    def factor(self):
        """Return the lower Cholesky factor of Q, a copy of shape (n, n)."""
        return np.tril(self.used("L"))

    def targets(self):
        """Return the precision-weighted mean answer of each observed functional, shape (n,)."""
        return self.used("y").copy()

    def noises(self):
        """Return the noise variance of each mean answer, shape (n,)."""
        return self.used("noise").copy()

    def counts(self):
        """Return the number of answers merged into each mean answer, shape (n,)."""
        return self.used("count").copy()

    def weights(self):
        """Return Q^-1 y, shape (n,): the mean of phi is cov(phi, observed) . weights."""
        out = self.used("z").copy()
        cdef double[::1] view = out
        if self.n:
            with nogil:
                trsv_lower_trans(self.n, &self.L[0, 0], self.L.shape[1], &view[0])
        return out

    def solve_rows(self, double[:, ::1] K, bint transposed=False):
        """Overwrite every row k of K (r, n) with L^-1 k, or with L^-T k."""
        cdef Py_ssize_t r = K.shape[0], n = self.n
        if K.shape[1] != n:
            raise ValueError(f"expected {n} columns, got {K.shape[1]}")
        if r and n:
            with nogil:
                if transposed:
                    trsm_rows_trans(r, n, &self.L[0, 0], self.L.shape[1], &K[0, 0], n)
                else:
                    trsm_rows(r, n, &self.L[0, 0], self.L.shape[1], &K[0, 0], n)

    def leave_one_out(self, Py_ssize_t first):
        """Return the leave-one-out residuals of the mean answers first..n-1, and their variances.

        Both arrays have shape (n - first,). The residual of answer i is (Q^-1 y)_i / (Q^-1)_ii, and
        its variance, noise included, is 1 / (Q^-1)_ii. L^-1 e_i is zero above i, so the last
        columns of the inverse need only the last rows of L.
        """
        if not 0 <= first <= self.n:
            raise IndexError(f"observation {first} of {self.n}")
        cdef Py_ssize_t b = self.n - first, i, j
        cdef double[:, ::1] inverse = np.empty((b, b))
        errors, variances = self.weights()[first:], np.zeros(b)
        cdef double[::1] error = errors, precision = variances
        if b:
            with nogil:
                for i in range(b):
                    for j in range(i + 1):
                        inverse[i, j] = self.L[first + i, first + j]
                trtri_lower(b, &inverse[0, 0], b)
                for i in range(b):
                    for j in range(i + 1):
                        precision[j] += inverse[i, j] * inverse[i, j]
                for j in range(b):
                    error[j] /= precision[j]
                    precision[j] = 1.0 / precision[j]
        return errors, variances

    def innovations(self, Py_ssize_t first):
        """Return the errors of predicting the mean answers first..n-1, each from those before it.

        The second array, (n - first,) like the first, has the variances of the predicted answers.
        """
        pivots = self.used("L").diagonal()[first:]
        return self.used("z")[first:] * pivots, pivots**2

    def log_marginal_likelihood(self):
        """Return the log density of all answers, repeats included."""
        cdef double value = -0.5 * (self.repeat_square + self.repeat_log)
        cdef Py_ssize_t i
        for i in range(self.n):
            value -= 0.5 * self.z[i] * self.z[i] + log(self.L[i, i]) + 0.5 * log(2 * M_PI)
        return value

    def repeat_terms(self):
        """Return the (quadratic, log) terms of merged repeats in -2 log likelihood."""
        return self.repeat_square, self.repeat_log

    # -- observing --------------------------------------------------------------------------

    def append_tracked(self, Py_ssize_t slot, const double[::1] k_tracked, double noise,
                       double y, double jitter=0.0):
        """Observe tracked functional ``slot`` for the first time. O(m n), no solve.

        ``k_tracked`` (m,) is cov(tracked, psi), including the variance of psi. ``jitter`` is added
        to the noise. Return False, and change nothing, if the pivot is lost to rounding.
        """
        self._check_slot(slot)
        if k_tracked.shape[0] != self.m:
            raise ValueError(f"expected {self.m} covariances, got {k_tracked.shape[0]}")
        self.part(False)
        if self.behind:
            self.bring()
        if not self._append_row(slot, k_tracked[slot], noise + jitter, y):
            return False
        cdef double pivot = self.L[self.n, self.n], zn = self.z[self.n]
        if self.m * self.n >= RELEASED:
            with nogil:
                self.extend_rows(k_tracked, pivot, zn)
        else:
            self.extend_rows(k_tracked, pivot, zn)
        self.n += 1
        return True

    def append_lazily(self, Py_ssize_t slot, double prior, double noise, double y,
                      double jitter=0.0):
        """Observe tracked functional ``slot`` like ``append_tracked``, given its prior variance.

        The method leaves the rows of other functionals incomplete. A later method that needs them
        completes them with covariances from ``source``. O(n).
        """
        self._check_slot(slot)
        self.part(False)
        self.bring([slot])
        if not self._append_row(slot, prior, noise + jitter, y):
            return False
        cdef Py_ssize_t p
        if not self.behind:
            for p in range(self.m):
                self.upto[p] = self.columns[p] = self.n
            self.behind = True
        self.n += 1
        return True

    cdef bint _append_row(self, Py_ssize_t slot, double prior, double noise, double y):
        """Write row n of L and z from a tracked row; return False if the pivot is lost."""
        self.reserve(self.n + 1, self.m)
        cdef Py_ssize_t n = self.n, j
        cdef double pivot2 = self.var[slot] + noise, pivot, zn
        if self._is_rounding(pivot2, prior + noise):
            return False
        for j in range(n):
            self.L[n, j] = self.V[slot, j]
        pivot = sqrt(pivot2)
        self.L[n, n] = pivot
        zn = (y - (dot(n, &self.L[n, 0], &self.z[0]) if n else 0.0)) / pivot
        self.z[n] = zn
        self.y[n] = y
        self.noise[n] = noise
        self.count[n] = 1
        self.gain += log(pivot) - 0.5 * log(noise)
        self._suspect(prior, noise, pivot, zn)
        return True

    def bring(self, slots=None, bint moments=False):
        """Complete the rows of the tracked functionals ``slots``, by default of all of them.

        With ``moments``, complete only the rows of functionals whose moments are out of date.
        """
        cdef Py_ssize_t start = 0, stop, first, m = self.m, n = self.n
        if not self.behind:
            return
        columns = self.used("columns")
        late = np.arange(m) if slots is None else np.asarray(slots, dtype=np.intp)
        late = late[(self.used("upto") if moments else columns)[late] < n]
        late = late[np.argsort(columns[late], kind="stable")]
        ends = columns[late]
        while start < len(late):
            # One step completes the shortest row, and all rows that lack at least half as much.
            first = ends[start]
            stop = np.searchsorted(ends, (first + n) // 2 + LENGTH_TOLERANCE, side="right")
            stop = min(max(stop, start + 1), start + MOST_ROWS)
            some = late[start:stop]
            self._bring(some, np.array(self.source(some, first)), first)
            start = stop
        if slots is None and not moments:
            self.behind = False

    cdef _bring(self, const Py_ssize_t[::1] slots, double[:, ::1] K, Py_ssize_t first):
        """Complete rows of at least ``first`` columns from covariances K (r, n - first)."""
        cdef Py_ssize_t r = slots.shape[0], n = self.n, b = n - first, i, j, p, since
        cdef double[:, ::1] rows
        if K.shape[0] != r or K.shape[1] != b:
            raise ValueError(f"expected ({r}, {b}) covariances, got ({K.shape[0]}, {K.shape[1]})")
        if first:
            rows = np.empty((r, first))
            for i in range(r):
                rows[i, :] = self.V[slots[i], :first]
        with nogil:
            if first:
                gemm_nt_minus(r, b, first, &rows[0, 0], first, &self.L[first, 0], self.L.shape[1],
                              &K[0, 0], b)
            trsm_rows(r, b, &self.L[first, first], self.L.shape[1], &K[0, 0], b)
            for i in range(r):
                p = slots[i]
                for j in range(self.columns[p] - first, b):
                    self.V[p, first + j] = K[i, j]
                since = self.upto[p] - first
                if since < b:
                    self.mean[p] += dot(b - since, &K[i, since], &self.z[first + since])
                    self.var[p] = self._clip(
                        self.var[p] - dot(b - since, &K[i, since], &K[i, since])
                    )
                self.upto[p] = self.columns[p] = n

    cdef void extend_rows(self, const double[::1] k_tracked, double pivot,
                          double zn) noexcept nogil:
        """Add the entry for the new row n of L to every tracked functional."""
        cdef Py_ssize_t n = self.n, m = self.m, p
        cdef double* c
        if not m:
            return
        c = &self.work[0]
        for p in range(m):
            c[p] = k_tracked[p]
        if n:
            gemv(m, n, -1.0, &self.V[0, 0], self.L.shape[1], &self.L[n, 0], 1.0, c)
        for p in range(m):
            c[p] /= pivot
            self.V[p, n] = c[p]
            self.mean[p] += c[p] * zn
            self.var[p] = self._clip(self.var[p] - c[p] * c[p])

    def room_for(self, Py_ssize_t b):
        """Return a view of L into which the caller writes the covariances of b new functionals.

        The view (b, n + b) is valid until the next call of a method. Its first n columns take the
        covariances with the observed functionals, and its last b columns the covariances among the
        new functionals. ``append_block`` does not read the entries above the diagonal.
        """
        self.part(False)
        # A large first block is often the only one.
        self.reserve(self.n + b, self.m, self.n == 0 and b > 8)
        return self.arrays["L"][self.n : self.n + b, : self.n + b]

    def append_block(self, const double[::1] diag, const double[::1] noise, const double[::1] y,
                     const double[:, ::1] K_tracked, counts=None):
        """Observe the b new functionals of ``room_for`` in one step, with level-3 BLAS.

        The method factorises the covariances in the view of ``room_for`` in place. Return False if
        the block is not positive definite; then the caller has to fill the view again, and nothing
        else changed.

        Parameters
        ----------
        diag, noise, y : ndarray of shape (b,)
            Prior variances, noise variances and answers.
        K_tracked : ndarray of shape (m, b)
            Prior covariances of the tracked with the new functionals.
        counts : ndarray of shape (b,), default=None
            Number of answers merged into each answer; None for 1.
        """
        cdef Py_ssize_t b = diag.shape[0], n = self.n, m = self.m, i, j, ld, info
        if (noise.shape[0] != b or y.shape[0] != b or K_tracked.shape[0] != m
                or K_tracked.shape[1] != b or self.L.shape[0] < n + b):
            raise ValueError(f"shapes do not fit {n} observed, {m} tracked and {b} new")
        if b == 0:
            return True
        self.bring()
        cdef const Py_ssize_t[::1] n_answers = np.ones(b, np.intp) if counts is None else counts
        if n_answers.shape[0] != b:
            raise ValueError(f"expected {b} counts, got {n_answers.shape[0]}")
        ld = self.L.shape[1]
        cdef double[:, ::1] C = np.array(K_tracked)
        cdef double pivot2
        with nogil:
            for i in range(b):
                self.L[n + i, n + i] = diag[i] + noise[i]
            if n:
                trsm_rows(b, n, &self.L[0, 0], ld, &self.L[n, 0], ld)
                gemm_nt_minus(b, b, n, &self.L[n, 0], ld, &self.L[n, 0], ld, &self.L[n, n], ld)
            info = potrf_lower(b, &self.L[n, n], ld)
        if info != 0:
            return False
        for i in range(b):
            pivot2 = self.L[n + i, n + i] ** 2
            if self._is_rounding(pivot2, diag[i] + noise[i]):
                return False
        with nogil:
            for i in range(b):
                self.y[n + i] = y[i]
                self.noise[n + i] = noise[i]
                self.count[n + i] = n_answers[i]
                self.gain += log(self.L[n + i, n + i]) - 0.5 * log(noise[i])
                self.z[n + i] = y[i] - (dot(n, &self.L[n + i, 0], &self.z[0]) if n else 0.0)
            trsv_lower(b, &self.L[n, n], ld, &self.z[n])
            for i in range(b):
                self._suspect(diag[i], noise[i], self.L[n + i, n + i], self.z[n + i])
            if m:
                if n:
                    gemm_nt_minus(m, b, n, &self.V[0, 0], ld, &self.L[n, 0], ld, &C[0, 0], b)
                trsm_rows(m, b, &self.L[n, n], ld, &C[0, 0], b)
                for i in range(m):
                    for j in range(b):
                        self.V[i, n + j] = C[i, j]
                    self.mean[i] += dot(b, &C[i, 0], &self.z[n])
                    self.var[i] = self._clip(self.var[i] - dot(b, &C[i, 0], &C[i, 0]))
        self.n = n + b
        return True

    def add_repeat_terms(self, double square, double log):
        """Add the likelihood terms of answers that the caller has merged."""
        self.repeat_square += square
        self.repeat_log += log

    def repeat(self, Py_ssize_t i, double noise, double y, Py_ssize_t count=1):
        """Observe functional ``i`` of the observed functionals once more. O((n + m)(n - i)).

        ``y`` may be the mean of ``count`` answers; then ``noise`` is the variance of that mean. If
        neither the old nor the new answer has noise, they are averaged (the limit of equal,
        vanishing variances). A noisy answer has no effect on a functional observed without noise.
        Return False, and change nothing, if rounding forbids the update.
        """
        if not 0 <= i < self.n:
            raise IndexError(f"observation {i} of {self.n}")
        self.part(True)
        if self.behind:
            self.bring()
        cdef Py_ssize_t n = self.n, m = self.m, w = n - i
        cdef double old = self.noise[i], total = old + noise, delta, shift, s
        cdef double gain = 0.0, surprise = 0.0
        cdef double* g = &self.work[0]
        cdef double* r = g + w
        cdef double* q = r + w
        cdef double* e = q + w
        if total == 0.0:
            delta = 0.0
            shift = (y - self.y[i]) * count / (self.count[i] + count)
        elif old == 0.0:
            self._merge(i, total, y, count)
            return True
        else:
            delta = old * (old / total)
            shift = (y - self.y[i]) * (old / total)
        if w * w >= RELEASED:
            with nogil:
                s = downdate(self.L, n, i, delta, g, r, q, e)
        else:
            s = downdate(self.L, n, i, delta, g, r, q, e)
        if s < 0.0 or self._leaves_rounding(i, r):
            return False
        if total > 0.0:
            # s total / noise = 1 + var(psi_i) / noise before this answer
            self.gain += 0.5 * log(s * total / noise)
            # cov(phi, psi_i) = noise_i v_phi . g and var(psi_i) + noise = s_n total
            gain = old / (s * total)
            surprise = y - (self.y[i] - old * dot(w, g, &self.z[i]))
        if (m + n) * w >= RELEASED:
            with nogil:
                self.change_rows(i, total, gain, surprise, shift)
        else:
            self.change_rows(i, total, gain, surprise, shift)
        self._merge(i, total, y, count)
        self.y[i] += shift
        self.noise[i] = old * (noise / total) if total > 0.0 else 0.0
        return True

    cdef bint _leaves_rounding(self, Py_ssize_t i, const double* r) noexcept nogil:
        """Return whether the factors r of ``downdate`` reduce a pivot from i on to rounding."""
        cdef Py_ssize_t j
        cdef double pivot2
        for j in range(i, self.n):
            if r[j - i] * r[j - i] > LOWERED:
                pivot2 = (self.L[j, j] / r[j - i]) ** 2
                if self._is_rounding(pivot2, dot(j + 1, &self.L[j, 0], &self.L[j, 0])):
                    return True
        return False

    cdef void change_rows(self, Py_ssize_t i, double total, double gain, double surprise,
                          double shift) noexcept nogil:
        """Update V, mean, var, z and L in place from the vectors that ``downdate`` wrote."""
        cdef Py_ssize_t n = self.n, w = n - i, j, k
        cdef double old = self.noise[i], c
        cdef double* g = &self.work[0]
        cdef double* r = g + w
        cdef double* q = r + w
        cdef double* e = q + w
        for j in range(self.m):
            c = dot(w, &self.V[j, i], g)
            if total > 0.0:
                self.mean[j] += gain * c * surprise
                self.var[j] = self._clip(self.var[j] - gain * old * c * c)
                apply_inverse(w, g, r, q, &self.V[j, i])
            else:
                self.mean[j] += c * shift
        for k in range(w):
            self.z[i + k] += shift * g[k]
        if total > 0.0:
            apply_inverse(w, g, r, q, &self.z[i])
            for j in range(i, n):
                apply_right(j - i + 1, g, r, e, &self.L[j, i])

    cdef void _merge(self, Py_ssize_t i, double total, double y, Py_ssize_t count):
        self.count[i] += count
        if total > 0.0:
            self.repeat_square += (self.y[i] - y) ** 2 / total
            self.repeat_log += log(2 * M_PI * total)

    def set_targets(self, const double[::1] y, double scale=1.0):
        """Replace the answers (n,), keeping covariances and noise. O(n^2 + m n).

        ``scale`` is the factor by which the answers were rescaled. It also multiplies the
        differences between repeats, which are stored only for the likelihood.
        """
        if y.shape[0] != self.n:
            raise ValueError(f"expected {self.n} targets, got {y.shape[0]}")
        cdef Py_ssize_t i
        self.bring()
        self.repeat_square *= scale * scale
        if self.n == 0:
            return
        with nogil:
            for i in range(self.n):
                self.y[i] = y[i]
                self.z[i] = y[i]
            trsv_lower(self.n, &self.L[0, 0], self.L.shape[1], &self.z[0])
            if self.m:
                gemv(self.m, self.n, 1.0, &self.V[0, 0], self.V.shape[1], &self.z[0], 0.0,
                     &self.mean[0])

    # -- tracking ---------------------------------------------------------------------------

    def track(self, double[:, ::1] K, const double[::1] diag, const Py_ssize_t[::1] slots):
        """Track functionals with cov(phi, observed) K (r, n) and prior variances diag (r,).

        Row ``slots[j]`` is overwritten, or appended if it equals the number of tracked functionals.
        K is used as scratch. One triangular solve with r right-hand sides, O(r n^2).
        """
        cdef Py_ssize_t r = K.shape[0], n = self.n, m = self.m, j
        if K.shape[1] != n or diag.shape[0] != r or slots.shape[0] != r:
            raise ValueError(f"shapes do not fit {n} observed and {r} new tracked functionals")
        for j in range(r):
            if not 0 <= slots[j] <= m:
                raise IndexError(f"slot {slots[j]} of {m}")
            m += slots[j] == m
        self.part(True)
        self.reserve(n, m)
        self.m = m
        if r * n * n >= RELEASED:
            with nogil:
                self.fill_rows(K, diag, slots)
        else:
            self.fill_rows(K, diag, slots)

    cdef void fill_rows(self, double[:, ::1] K, const double[::1] diag,
                        const Py_ssize_t[::1] slots) noexcept nogil:
        """Solve for the rows of K and write them into their slots."""
        cdef Py_ssize_t r = K.shape[0], n = self.n, j, k
        cdef double var
        if n and r:
            trsm_rows(r, n, &self.L[0, 0], self.L.shape[1], &K[0, 0], n)
        for j in range(r):
            for k in range(n):
                self.V[slots[j], k] = K[j, k]
            self.mean[slots[j]] = dot(n, &K[j, 0], &self.z[0]) if n else 0.0
            if diag[j] > self.largest:
                self.largest = diag[j]
            var = diag[j] - (dot(n, &K[j, 0], &K[j, 0]) if n else 0.0)
            self.var[slots[j]] = self._clip(var)
            self.upto[slots[j]] = self.columns[slots[j]] = n

    def track_known(self, const double[::1] diag, const double[::1] mean, const double[::1] var,
                    const Py_ssize_t[::1] upto):
        """Replace all tracked functionals by m functionals with given moments but without rows.

        ``diag`` (m,) are prior variances. ``mean``, ``var`` and ``upto``, each (m,), are the return
        values of ``known_moments``. A later method that needs the rows completes them with
        covariances from ``source``.
        """
        cdef Py_ssize_t m = diag.shape[0], p
        if mean.shape[0] != m or var.shape[0] != m or upto.shape[0] != m:
            raise ValueError(f"moments of {mean.shape[0]} functionals, not of {m}")
        for p in range(m):
            if not (isfinite(mean[p]) and 0.0 <= var[p] < INFINITY and 0 <= upto[p] <= self.n):
                raise ValueError(
                    f"no moments after {self.n} functionals: mean {mean[p]}, variance {var[p]}, "
                    f"after {upto[p]}"
                )
        self.part(True)
        self.m = 0
        self.reserve(self.n, m)
        self.m, self.behind = m, True
        for p in range(m):
            self.largest = max(self.largest, diag[p])
            self.mean[p], self.var[p] = mean[p], var[p]
            self.upto[p], self.columns[p] = upto[p], 0

    def known_moments(self):
        """Return the moments as they are, without completing rows, for ``track_known``.

        Return copies (m,) of the posterior means, of the posterior variances, and of the number of
        observed functionals that the two moments of each functional take into account.
        """
        upto = self.used("upto").copy() if self.behind else np.full(self.m, self.n, dtype=np.intp)
        return self.used("mean").copy(), self.used("var").copy(), upto

    def untrack_all(self):
        """Stop tracking all functionals."""
        self.m = 0
        self.behind = False

    cdef int _check_slot(self, Py_ssize_t slot) except -1:
        if not 0 <= slot < self.m:
            raise IndexError(f"slot {slot} of {self.m}")
        return 0

    # -- copying ----------------------------------------------------------------------------

    def copy(self):
        """Return an independent copy.

        The first copy costs O(n + m), because it shares the buffers of L and V with this object.
        The copy appends its own observations after the shared rows and columns. Either object
        copies the buffers before a write that would change them for the other. A further copy while
        the first one exists costs O(n^2 + m n).
        """
        cdef Posterior other = Posterior()
        if self.is_lent():
            other.__setstate__(self.__getstate__())
            return other
        self.bring()
        other.n, other.m = self.n, self.m
        other.arrays = self.arrays.copy()
        for name in OBSERVED | TRACKED:
            other.resize(name, len(self.arrays[name]))
        other.bind()
        other.work = np.zeros(len(self.work))
        other.repeat_square, other.repeat_log = self.repeat_square, self.repeat_log
        other.gain, other.largest, other.lost = self.gain, self.largest, self.lost
        lease = _Lease()
        # If a third posterior owns the buffers, its lease has to live as long as this one.
        lease.of = self.lease
        other.lease, self.lent = lease, weakref.ref(lease)
        return other

    def __reduce__(self):
        return Posterior, (), self.__getstate__()

    def __getstate__(self):
        self.bring()
        return {name: self.used(name).copy() for name in STATE} | {
            "repeat_square": self.repeat_square, "repeat_log": self.repeat_log, "gain": self.gain,
            "largest": self.largest, "lost": self.lost,
        }

    def __setstate__(self, state):
        cdef Py_ssize_t n = len(state["z"]), m = len(state["mean"])
        self.n = self.m = 0
        self.behind = False
        self.reserve(n, m)
        self.n, self.m = n, m
        for name in STATE:
            self.used(name)[...] = state[name]
        self.repeat_square = state["repeat_square"]
        self.repeat_log = state["repeat_log"]
        self.gain = state["gain"]
        self.largest = state["largest"]
        self.lost = state.get("lost", 0.0)  # older states lack this entry


# ---- density of answers ----


def condition(double[:, ::1] Q, const double[::1] noise, const double[:, ::1] Y):
    """Return the log density of the answers, and their dual coefficients.

    Parameters
    ----------
    Q : ndarray of shape (n, n)
        Covariances of the functionals, without noise. The function reads only the lower triangle,
        and overwrites it with the Cholesky factor of Q + diag(noise).
    noise : ndarray of shape (n,)
        Noise variances.
    Y : ndarray of shape (q, n)
        Answers.

    Returns
    -------
    value : float
        The log density; None if Q + diag(noise) is not positive definite.
    weights : ndarray of shape (q, n)
        The dual coefficients W.
    """
    cdef Py_ssize_t n = Q.shape[0], q = Y.shape[0], i, k
    cdef double value = -0.5 * q * n * log(2.0 * M_PI), half = 0.0
    cdef int failed
    if Q.shape[1] != n or noise.shape[0] != n or Y.shape[1] != n:
        raise ValueError(f"Q must be ({n}, {n}), noise ({n},), and Y have {n} columns")
    weights = np.array(Y)
    if not (n and q):
        return value, weights
    cdef double[:, ::1] W = weights
    with nogil:
        for i in range(n):
            Q[i, i] += noise[i]
        failed = potrf_lower(n, &Q[0, 0], n)
        if not failed:
            trsm_rows(q, n, &Q[0, 0], n, &W[0, 0], n)
            trsm_rows_trans(q, n, &Q[0, 0], n, &W[0, 0], n)
            for i in range(n):
                half += log(Q[i, i])
            value -= q * half
            for k in range(q):
                value -= 0.5 * dot(n, &Y[k, 0], &W[k, 0])
    return (None if failed else value), weights


def derivative(double[:, ::1] factor, const double[:, ::1] weights):
    """Overwrite the factor of Q with derivatives by Q, and return the diagonal (n,) of Q^-1.

    ``factor`` (n, n) and ``weights`` (q, n) are L and W of :func:`condition`. The function
    overwrites the lower triangle of ``factor`` with the derivatives of 2 log p by the entries of Q.
    An entry below the diagonal stands for both symmetric entries, so its derivative is their sum.
    The upper triangle becomes zero.
    """
    cdef Py_ssize_t n = factor.shape[0], q = weights.shape[0], i, j, k
    if factor.shape[1] != n or weights.shape[1] != n:
        raise ValueError(f"factor must be square, and weights have {n} columns")
    diagonal = np.empty(n)
    if not (n and q):
        return diagonal
    cdef double[::1] left = diagonal
    cdef const double[:, ::1] W
    cdef bint several = q > 1
    if several:
        W = np.ascontiguousarray(np.asarray(weights).T)
    with nogil:
        potri_lower(n, &factor[0, 0], n)
        for i in range(n):
            left[i] = factor[i, i]
        if several:
            for i in range(n):
                for j in range(i + 1):
                    factor[i, j] *= q
            gemm_nt_minus(n, n, q, &W[0, 0], q, &W[0, 0], q, &factor[0, 0], n)
            for i in range(n):
                for j in range(i):
                    factor[i, j] *= -2.0
                factor[i, i] *= -1.0
        else:
            for i in range(n):
                for j in range(i):
                    factor[i, j] = 2.0 * (weights[0, i] * weights[0, j] - factor[i, j])
                factor[i, i] = weights[0, i] * weights[0, i] - factor[i, i]
        for i in range(n):
            for j in range(i + 1, n):
                factor[i, j] = 0.0
    return diagonal
