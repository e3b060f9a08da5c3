"""K-ary partition trees as arrays."""

from skgpb._core._posterior cimport Posterior


cdef class Tree:
    cdef readonly Py_ssize_t n_children      # K
    cdef readonly Py_ssize_t n_features      # d
    cdef readonly Py_ssize_t n_nodes
    cdef readonly Py_ssize_t n_leaves
    cdef dict arrays                         # the arrays below but the scratch, by name
    cdef Py_ssize_t[::1] depth_              # (>= n_nodes,)
    cdef long long[::1] index_               # (>= n_nodes,) 0-based within the depth
    cdef Py_ssize_t[::1] parent_             # (>= n_nodes,) -1 for the root
    cdef Py_ssize_t[::1] first_child_        # (>= n_nodes,) -1 for a leaf; children are adjacent
    cdef Py_ssize_t[::1] n_evaluations_      # (>= n_nodes,)
    cdef double[::1] reward_sum_             # (>= n_nodes,)
    cdef Py_ssize_t[::1] slot_               # (>= n_nodes,) leaf slot, -1 for an inner node
    cdef double[:, ::1] box_                 # (>= n_nodes, 2 d) [lower, upper]
    cdef double[:, ::1] center_              # (>= n_nodes, d) of the boxes
    cdef Py_ssize_t[::1] leaf_               # (>= n_leaves,) node of each leaf slot
    cdef double[::1] value_                  # (>= n_leaves,) scratch: index values

    cdef void reserve(self, Py_ssize_t n_nodes)
    cdef used(self, name)
    cdef int check_node(self, Py_ssize_t node) except -1
    cdef bring_promising(self, Posterior posterior, double beta, const double[::1] delta,
                         const unsigned char[::1] mask)
    cdef Py_ssize_t best_of_values(self, const unsigned char[::1] excluded) noexcept nogil
