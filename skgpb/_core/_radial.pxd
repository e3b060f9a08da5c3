# value <- a leaf, by its kind, at the scaled squared distances base + s
cdef void fill(int kind, double shape, double base, const double* s, Py_ssize_t n,
               double* value) noexcept nogil
