"""The only caller of SciPy's BLAS and LAPACK.

Notation, as in ``_blas.pxd``: A, B, C and L are row-major matrices, each given by a pointer to its
first element and a row stride ``ld``; x and y are contiguous vectors; a and b are factors. L is
lower triangular. Every function but ``dot`` overwrites its last matrix or vector in place.
"""

include "blas_int.pxi"

from scipy.linalg.cython_blas cimport daxpy, ddot, dgemm, dgemv, dtrsm, dtrsv
from scipy.linalg.cython_lapack cimport dpotrf, dpotri, dtrtri

# dtrsm first packs the whole factor. With at most this many right-hand sides, one dtrsv for each is
# faster.
cdef Py_ssize_t MOST_BY_TRSV = 6
# Below this number of elements, a matrix-vector product takes less time than waking other threads,
# and far less than waiting for a thread whose core is busy. OpenBLAS uses threads from 460,800
# elements on, so larger matrices are multiplied in parts. Level-3 routines use as many threads as
# the user allows.
cdef Py_ssize_t UNTHREADED = 2 ** 18


cdef double dot(Py_ssize_t n, const double* x, const double* y) noexcept nogil:
    cdef blas_int n_ = <blas_int> n, one = 1
    return ddot(&n_, <double*> x, &one, <double*> y, &one)


cdef void axpy(Py_ssize_t n, double a, const double* x, double* y) noexcept nogil:
    cdef blas_int n_ = <blas_int> n, one = 1
    daxpy(&n_, &a, <double*> x, &one, y, &one)


cdef void gemv(Py_ssize_t rows, Py_ssize_t cols, double a, const double* A, Py_ssize_t lda,
               const double* x, double b, double* y) noexcept nogil:
    cdef blas_int m = <blas_int> cols, n, ld = <blas_int> lda, one = 1
    cdef char trans = b"T"
    cdef Py_ssize_t start = 0, step = UNTHREADED // cols if cols > 0 else rows
    if step < 1:
        step = 1
    while start < rows:
        n = <blas_int> min(step, rows - start)
        dgemv(&trans, &m, &n, &a, <double*> A + start * lda, &ld, <double*> x, &one, &b,
              y + start, &one)
        start += step


cdef void trsv_lower(Py_ssize_t n, const double* L, Py_ssize_t ldl, double* x) noexcept nogil:
    cdef blas_int n_ = <blas_int> n, ld = <blas_int> ldl, one = 1
    cdef char uplo = b"U", trans = b"T", diag = b"N"
    dtrsv(&uplo, &trans, &diag, &n_, <double*> L, &ld, x, &one)


cdef void trsv_lower_trans(Py_ssize_t n, const double* L, Py_ssize_t ldl,
                           double* x) noexcept nogil:
    cdef blas_int n_ = <blas_int> n, ld = <blas_int> ldl, one = 1
    cdef char uplo = b"U", trans = b"N", diag = b"N"
    dtrsv(&uplo, &trans, &diag, &n_, <double*> L, &ld, x, &one)


cdef void solve_rows(char trans, Py_ssize_t k, Py_ssize_t n, const double* L, Py_ssize_t ldl,
                     double* B, Py_ssize_t ldb) noexcept nogil:
    cdef blas_int m_ = <blas_int> n, n_ = <blas_int> k, lda = <blas_int> ldl, ldb_ = <blas_int> ldb
    cdef char side = b"L", uplo = b"U", diag = b"N"
    cdef double one = 1.0
    if k == 0 or n == 0:
        return
    dtrsm(&side, &uplo, &trans, &diag, &m_, &n_, &one, <double*> L, &lda, B, &ldb_)


cdef void trsm_rows(Py_ssize_t k, Py_ssize_t n, const double* L, Py_ssize_t ldl,
                    double* B, Py_ssize_t ldb) noexcept nogil:
    cdef Py_ssize_t i
    if k <= MOST_BY_TRSV and n:
        for i in range(k):
            trsv_lower(n, L, ldl, B + i * ldb)
        return
    solve_rows(b"T", k, n, L, ldl, B, ldb)


cdef void trsm_rows_trans(Py_ssize_t k, Py_ssize_t n, const double* L, Py_ssize_t ldl,
                          double* B, Py_ssize_t ldb) noexcept nogil:
    cdef Py_ssize_t i
    if k <= MOST_BY_TRSV and n:
        for i in range(k):
            trsv_lower_trans(n, L, ldl, B + i * ldb)
        return
    solve_rows(b"N", k, n, L, ldl, B, ldb)


cdef void gemm_nt_minus(Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, const double* A, Py_ssize_t lda,
                        const double* B, Py_ssize_t ldb, double* C, Py_ssize_t ldc) noexcept nogil:
    # column-major: C^T (k, m) -= B (k, n) A^T (n, m), with B and A stored transposed
    cdef blas_int m_ = <blas_int> k, n_ = <blas_int> m, k_ = <blas_int> n
    cdef blas_int lda_ = <blas_int> ldb, ldb_ = <blas_int> lda, ldc_ = <blas_int> ldc
    cdef char transa = b"T", transb = b"N"
    cdef double minus = -1.0, one = 1.0
    if m == 0 or k == 0 or n == 0:
        return
    dgemm(&transa, &transb, &m_, &n_, &k_, &minus, <double*> B, &lda_, <double*> A, &ldb_,
          &one, C, &ldc_)


cdef int potrf_lower(Py_ssize_t n, double* A, Py_ssize_t lda) noexcept nogil:
    cdef blas_int n_ = <blas_int> n, ld = <blas_int> lda, info = 0
    cdef char uplo = b"U"
    if n == 0:
        return 0
    dpotrf(&uplo, &n_, A, &ld, &info)
    return <int> info


cdef void trtri_lower(Py_ssize_t n, double* A, Py_ssize_t lda) noexcept nogil:
    cdef blas_int n_ = <blas_int> n, ld = <blas_int> lda, info = 0
    cdef char uplo = b"U", diag = b"N"
    if n:
        dtrtri(&uplo, &diag, &n_, A, &ld, &info)


cdef void potri_lower(Py_ssize_t n, double* A, Py_ssize_t lda) noexcept nogil:
    cdef blas_int n_ = <blas_int> n, ld = <blas_int> lda, info = 0
    cdef char uplo = b"U"
    if n:
        dpotri(&uplo, &n_, A, &ld, &info)
