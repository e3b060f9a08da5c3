"""Incremental posterior of linear functionals of a Gaussian process."""


cdef class Posterior:
    cdef readonly Py_ssize_t n       # distinct observed functionals
    cdef readonly Py_ssize_t m       # tracked functionals
    cdef dict arrays                 # the arrays below but the scratch, by name
    cdef double[:, ::1] L            # (>= n, >= n) lower factor of Q; the rest is scratch
    cdef double[::1] z               # (>= n,) L^-1 y
    cdef double[::1] y               # (>= n,) precision-weighted mean of the answers of each
    cdef double[::1] noise           # (>= n,) noise variance of that mean
    cdef Py_ssize_t[::1] count       # (>= n,) answers merged into it
    cdef double[:, ::1] V            # (>= m, >= n) rows L^-1 cov(observed, tracked)
    cdef double[::1] mean            # (>= m,) posterior means of the tracked functionals
    cdef double[::1] var             # (>= m,) their noiseless posterior variances
    cdef Py_ssize_t[::1] upto        # (>= m,) functionals in the moments, if any row is behind
    cdef Py_ssize_t[::1] columns     # (>= m,) known columns of each row, if any is behind
    cdef readonly bint behind        # whether any row may lack columns
    cdef public object source        # (slots, first) -> prior cov(slots, observed[first:])
    cdef double[::1] work            # scratch
    cdef object lease                # held while L and V are those of another posterior, or None
    cdef object lent                 # weak reference to the lease of a copy that has these, or None
    cdef double repeat_square        # sum of (y_i - y)^2 / (noise_i + noise) over merges
    cdef double repeat_log           # sum of log(2 pi (noise_i + noise)) over merges
    cdef readonly double gain        # 1/2 log det(Q / diag(noise)), over all answers
    cdef double largest              # largest prior variance of the functionals so far
    cdef double lost                 # most negative variance, as a fraction of ``largest``
    cdef readonly double clipped     # negative variance beyond rounding; 0 if there was none
    cdef readonly double doubtful    # error of a mean beyond its standard deviation, else 0

    cdef bind(self)
    cdef resize(self, name, shape)
    cdef used(self, name)
    cdef void reserve(self, Py_ssize_t n, Py_ssize_t m, bint exactly=*)
    cdef void part(self, bint overwrites)
    cdef bint is_lent(self)
    cdef bint _append_row(self, Py_ssize_t slot, double prior, double noise, double y)
    cdef _bring(self, const Py_ssize_t[::1] slots, double[:, ::1] K, Py_ssize_t first)
    cdef void extend_rows(self, const double[::1] k_tracked, double pivot,
                          double zn) noexcept nogil
    cdef void fill_rows(self, double[:, ::1] K, const double[::1] diag,
                        const Py_ssize_t[::1] slots) noexcept nogil
    cdef void change_rows(self, Py_ssize_t i, double total, double gain, double surprise,
                          double shift) noexcept nogil
    cdef void _merge(self, Py_ssize_t i, double total, double y, Py_ssize_t count)
    cdef double _clip(self, double var) noexcept nogil
    cdef bint _is_rounding(self, double pivot2, double prior) noexcept nogil
    cdef bint _leaves_rounding(self, Py_ssize_t i, const double* r) noexcept nogil
    cdef void _suspect(self, double diag, double noise, double pivot, double zn) noexcept nogil
    cdef int _check_slot(self, Py_ssize_t slot) except -1
