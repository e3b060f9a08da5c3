ctypedef int blas_int
