# value <- a leaf, by its kind, at the scaled squared distances base + s
cdef void fill(int kind, double shape, double base, const double* s, Py_ssize_t n,
               double* value) noexcept nogil
# slope <- its derivative by s, given value; by_shape <- that by log alpha of a rational quadratic one
cdef void fill_slopes(int kind, double shape, double base, const double* s, Py_ssize_t n,
                      const double* value, double* slope, double* by_shape) noexcept nogil
# factor of distances in the exponent of a Matern leaf, 0 for any other kind
cdef double rate_of(int kind) noexcept nogil
# up <- exp(rate (x - center)), down <- 1 / up
cdef void fill_powers(double rate, double center, const double* x, Py_ssize_t n, double* up,
                      double* down) noexcept nogil
# s <- (at - x)^2, with values and slopes as above, of the Matern leaf of a rate, from these powers
cdef void fill_along(double rate, double at, double up, double down, const double* x,
                     const double* ups, const double* downs, Py_ssize_t n, double* s,
                     double* value, double* slope) noexcept nogil
