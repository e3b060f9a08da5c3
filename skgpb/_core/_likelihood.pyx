r"""Log density of normally distributed answers, and its derivative by their covariances.

Notation for n functionals and q sets of answers about them:

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

from libc.math cimport M_PI, log

import numpy as np

from skgpb._core._blas cimport (
    dot, gemm_nt_minus, potrf_lower, potri_lower, trsm_rows, trsm_rows_trans
)


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
