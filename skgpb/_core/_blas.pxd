"""Row-major wrappers around the few BLAS and LAPACK routines that skgpb calls.

``_blas.pyx`` is the only caller of ``scipy.linalg.cython_blas`` and ``cython_lapack``. A
row-major matrix is the transpose of the column-major matrix with the same memory, so every
wrapper below flips the flags, and its callers never have to.

All matrices are given by a pointer to their first element and a row stride (``ld``), in
elements; all factors are lower triangular in row-major terms.
"""

cdef double dot(Py_ssize_t n, const double* x, const double* y) noexcept nogil
cdef void axpy(Py_ssize_t n, double a, const double* x, double* y) noexcept nogil
# y <- a A x + b y with A (rows, cols)
cdef void gemv(Py_ssize_t rows, Py_ssize_t cols, double a, const double* A, Py_ssize_t lda,
               const double* x, double b, double* y) noexcept nogil
# x <- L^-1 x and x <- L^-T x
cdef void trsv_lower(Py_ssize_t n, const double* L, Py_ssize_t ldl, double* x) noexcept nogil
cdef void trsv_lower_trans(Py_ssize_t n, const double* L, Py_ssize_t ldl, double* x) noexcept nogil
# every row b of B (k, n): b <- L^-1 b
cdef void trsm_rows(Py_ssize_t k, Py_ssize_t n, const double* L, Py_ssize_t ldl,
                    double* B, Py_ssize_t ldb) noexcept nogil
# every row b of B (k, n): b <- L^-T b
cdef void trsm_rows_trans(Py_ssize_t k, Py_ssize_t n, const double* L, Py_ssize_t ldl,
                          double* B, Py_ssize_t ldb) noexcept nogil
# C (m, k) <- C - A (m, n) B(k, n)^T
cdef void gemm_nt_minus(Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, const double* A, Py_ssize_t lda,
                        const double* B, Py_ssize_t ldb, double* C, Py_ssize_t ldc) noexcept nogil
# in-place lower Cholesky factor; 0 on success, else the 1-based order of the failing minor
cdef int potrf_lower(Py_ssize_t n, double* A, Py_ssize_t lda) noexcept nogil
# in-place inverse of a lower triangular factor
cdef void trtri_lower(Py_ssize_t n, double* A, Py_ssize_t lda) noexcept nogil
# lower triangle of (L L^T)^-1, in the place of the lower factor L
cdef void potri_lower(Py_ssize_t n, double* A, Py_ssize_t lda) noexcept nogil
