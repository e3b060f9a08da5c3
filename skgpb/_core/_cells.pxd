"""Covariances between means of a Gaussian process over boxes, for Gaussian product kernels."""


cdef class GaussianCells


# Means of all pairs of the distinct intervals of some boxes along each axis
cdef class Intervals:
    cdef list ends  # of each axis the distinct intervals (m, 2)
    cdef Py_ssize_t n_places  # pairs of intervals of all axes
    cdef Py_ssize_t[::1] starts, sizes  # of each axis, its first place and its intervals
    cdef Py_ssize_t[:, ::1] codes  # (n, d), number of the interval of each box
    cdef double[:, ::1] means, slopes  # (n_terms, n_places)

    @staticmethod
    cdef Intervals of(GaussianCells cells, const double[:, ::1] boxes)
    cdef Py_ssize_t place(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t axis) noexcept nogil
    cdef void fill(self, GaussianCells cells, bint with_slopes)


cdef class GaussianCells:
    cdef readonly Py_ssize_t n_features  # d; a box descriptor has 2 d numbers
    cdef readonly Py_ssize_t n_terms  # Gaussian products in the sum
    cdef bint integral  # means over whole boxes, instead of over grid points
    cdef double[::1] _weights  # (n_terms,)
    cdef double[:, ::1] _precisions  # (n_terms, n_features), one over squared length scale
    cdef Py_ssize_t[::1] _n_representatives  # (n_features,), grid points along each axis

    # covariance of two boxes, each given by its 2 d numbers
    cdef double pair(self, const double* a, const double* b) noexcept nogil
    # out (n, m) <- covariances of the rows of A (n, 2 d) with those of B (m, 2 d); ld*: row strides
    cdef void cross_into(self, const double* A, Py_ssize_t n, Py_ssize_t lda,
                         const double* B, Py_ssize_t m, Py_ssize_t ldb,
                         double* out, Py_ssize_t ldo) noexcept nogil
    # a checked, contiguous view of box descriptors
    cdef const double[:, ::1] _boxes(self, boxes, str name)
    # covariance of one pair and its derivatives; the implementation describes the scratch space
    cdef double pair_gradient(self, const double* a, const double* b,
                              const double[:, ::1] weights_jacobian,
                              const double[:, :, ::1] precisions_jacobian,
                              double* scratch, double* gradient,
                              Intervals shared, Py_ssize_t row, Py_ssize_t column) noexcept nogil
    # the same covariance as ``pair``, from means along each axis that the caller computed
    cdef double shared_pair(self, Intervals shared, Py_ssize_t i, Py_ssize_t j) noexcept nogil


# Mean of a Gaussian of precision q over a pair of intervals [al, au], [bl, bu]: ``grid_mean`` over
# the centres of s equal parts of each, ``box_mean`` over the whole intervals (with the derivative
# with respect to q unless ``slope`` is NULL).
cdef double grid_mean(double q, Py_ssize_t s, double al, double au, double bl,
                      double bu) noexcept nogil
cdef double box_mean(double q, double al, double au, double bl, double bu,
                     double* slope) noexcept nogil
