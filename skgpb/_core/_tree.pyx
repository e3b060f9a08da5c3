"""Nodes of a K-ary partition as arrays, and the choice of the best leaf.

Notation for n nodes in d dimensions; every array may have spare entries at the end:

============ ============= ===========================================================
symbol       shape         meaning
============ ============= ===========================================================
node         scalar        index of a node in the arrays below, in order of creation
depth        (n_nodes,)    depth of each node, 0 for the root
index        (n_nodes,)    index of each node at its depth
parent       (n_nodes,)    parent of each node, -1 for the root
first_child  (n_nodes,)    first child of each node, -1 for a leaf
box          (n_nodes, 2d) cells: [lower_1..lower_d, upper_1..upper_d]
slot         (n_nodes,)    slot of each leaf, -1 for an inner node
leaf         (n_leaves,)   node of each slot
value        (n_leaves,)   bounds of the leaves by slot, a scratch buffer
delta        (n_depths,)   allowance for the variation within a cell, by depth
============ ============= ===========================================================

The slots of the leaves are 0..n_leaves-1, the same indices under which a ``Posterior`` tracks the
leaves. If a node is split, its first child inherits its slot and the other children take new slots.
Neither class therefore ever has to close gaps. ``record`` and ``split`` change the arrays in place;
the properties return copies.
"""

from libc.math cimport INFINITY, fabs, isfinite, sqrt

import numpy as np

from skgpb._core._posterior cimport Posterior

# Relative difference up to which scores tie (scores of symmetric cells differ by rounding).
TIE_TOLERANCE = 1e-9
cdef double TIE = TIE_TOLERANCE
# Number of leaves whose rows are completed first: those of the largest possible bounds.
cdef Py_ssize_t AT_FIRST = 32
# Relative rounding error that the comparison of bounds allows.
cdef double SLACK = 1e-7

# The arrays of a tree, see above; their spare entries are at the end.
cdef dict DTYPES = {
    "depth": np.intp, "index": np.longlong, "parent": np.intp, "first_child": np.intp,
    "n_evaluations": np.intp, "reward_sum": np.float64, "slot": np.intp, "box": np.float64,
    "center": np.float64, "leaf": np.intp,
}


cpdef double tie_tolerance(double top, double unit=1.0) noexcept nogil:
    """Return the largest difference by which a score below ``top`` ties with it (decision D-G1).

    Rounding errors are proportional to the score, or to the ``unit`` of the quantities from which
    the score was computed.
    """
    return TIE * max(fabs(top), unit) if isfinite(top) else 0.0


def first_maximum(values, tolerance=None):
    """Return the index of the first value that ties with the largest (decision D-G1).

    Values tie if they differ by at most ``tolerance``; None applies the tolerance of scores in
    units of the surrogate. NaN counts as lowest; if all values are NaN, the index is 0.
    """
    cdef const double[:] view = np.asarray(values, dtype=np.float64)
    cdef Py_ssize_t i, n = view.shape[0]
    cdef double top = -INFINITY, level
    if n == 0:
        raise ValueError("there is no largest of no values")
    for i in range(n):
        if view[i] > top:
            top = view[i]
    level = top - (tie_tolerance(top) if tolerance is None else <double>tolerance)
    for i in range(n):
        if view[i] >= level:
            return i
    return 0


cdef class Tree:
    """A tree that starts as one root cell.

    Parameters
    ----------
    n_children : int
        K >= 2.
    lower, upper : ndarray of shape (d,)
        The root box.
    """

    def __init__(self, Py_ssize_t n_children, lower, upper):
        cdef Py_ssize_t d = len(lower)
        if n_children < 2 or d < 1 or len(upper) != d:
            raise ValueError("a tree needs n_children >= 2 and a box of at least one dimension")
        self.n_children = n_children
        self.n_features = d
        self.n_nodes = 0
        self.n_leaves = 0
        columns = {"box": (2 * d,), "center": (d,)}
        self.arrays = {
            name: np.zeros((0, *columns.get(name, ())), dtype) for name, dtype in DTYPES.items()
        }
        self.reserve(1)
        self.n_nodes = 1
        self.n_leaves = 1
        self.parent_[0] = -1
        self.first_child_[0] = -1
        self.arrays["box"][0] = np.concatenate([lower, upper])
        self.arrays["center"][0] = 0.5 * (np.asarray(lower) + np.asarray(upper))

    cdef void reserve(self, Py_ssize_t n_nodes):
        cdef Py_ssize_t capacity = len(self.arrays["depth"]), used = self.n_nodes
        if n_nodes <= capacity:
            return
        capacity = max(2 * capacity, n_nodes, 16)
        for name, array in self.arrays.items():
            larger = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
            larger[:used] = array[:used]
            self.arrays[name] = larger
        self.depth_ = self.arrays["depth"]
        self.index_ = self.arrays["index"]
        self.parent_ = self.arrays["parent"]
        self.first_child_ = self.arrays["first_child"]
        self.n_evaluations_ = self.arrays["n_evaluations"]
        self.reward_sum_ = self.arrays["reward_sum"]
        self.slot_ = self.arrays["slot"]
        self.box_ = self.arrays["box"]
        self.center_ = self.arrays["center"]
        self.leaf_ = self.arrays["leaf"]
        self.value_ = np.zeros(capacity)

    cdef used(self, name):
        """Return a copy of an array without its spare entries."""
        n = self.n_leaves if name == "leaf" else self.n_nodes
        return self.arrays[name][:n].copy()

    cdef int check_node(self, Py_ssize_t node) except -1:
        if not 0 <= node < self.n_nodes:
            raise IndexError(f"node {node} of {self.n_nodes}")
        return 0

    # -- reading ----------------------------------------------------------------------------

    @property
    def depth(self):
        """Return the depth of every node, shape (n_nodes,)."""
        return self.used("depth")

    @property
    def index(self):
        """Return the 0-based index of every node at its depth; node i has children K i + j."""
        return self.used("index")

    @property
    def parent(self):
        """Return the parent of every node, -1 for the root; shape (n_nodes,)."""
        return self.used("parent")

    @property
    def children(self):
        """Return the children of every node, -1 for missing ones; shape (n_nodes, K)."""
        n = self.n_nodes
        first = self.used("first_child")[:, None]
        child = first + np.arange(self.n_children)
        # A cell with few values has fewer than K children.
        own = self.parent[np.minimum(child, n - 1)] == np.arange(n)[:, None]
        return np.where((first >= 0) & (child < n) & own, child, -1)

    @property
    def lower(self):
        """Return the lower corner of every cell, shape (n_nodes, d)."""
        return self.arrays["box"][: self.n_nodes, : self.n_features].copy()

    @property
    def upper(self):
        """Return the upper corner of every cell, shape (n_nodes, d)."""
        return self.arrays["box"][: self.n_nodes, self.n_features :].copy()

    @property
    def n_evaluations(self):
        """Return the number of rewards recorded for every node, shape (n_nodes,)."""
        return self.used("n_evaluations")

    @property
    def reward_sum(self):
        """Return the sum of the rewards recorded for every node, shape (n_nodes,)."""
        return self.used("reward_sum")

    @property
    def leaves(self):
        """Return the node of every leaf slot, shape (n_leaves,)."""
        return self.used("leaf")

    def box(self, Py_ssize_t start, Py_ssize_t stop):
        """Return the box descriptors [lower, upper] of nodes start..stop-1, one a row."""
        if not 0 <= start <= stop <= self.n_nodes:
            raise IndexError(f"nodes {start}..{stop} of {self.n_nodes}")
        return self.arrays["box"][start:stop].copy()

    def center(self, Py_ssize_t start, Py_ssize_t stop):
        """Return the centres of the boxes of nodes start..stop-1, shape (stop - start, d).

        For odd K the middle child has exactly the centre of its parent.
        """
        if not 0 <= start <= stop <= self.n_nodes:
            raise IndexError(f"nodes {start}..{stop} of {self.n_nodes}")
        return self.arrays["center"][start:stop].copy()

    def node(self, Py_ssize_t node):
        """Return (depth, index, leaf slot or -1) of one node."""
        self.check_node(node)
        return self.depth_[node], self.index_[node], self.slot_[node]

    def evaluations(self, Py_ssize_t node):
        """Return (number, sum) of the rewards recorded for one node."""
        self.check_node(node)
        return self.n_evaluations_[node], self.reward_sum_[node]

    def find(self, Py_ssize_t depth, long long index):
        """Return the node (depth, index), or -1 if the tree has no such node."""
        cdef Py_ssize_t node = 0, child, level
        cdef long long K = self.n_children, rest = index, power = 1
        if depth < 0 or rest < 0:
            return -1
        for level in range(depth - 1):
            power *= K
        for level in range(depth):
            if self.first_child_[node] < 0 or rest // power >= K:
                return -1
            child = self.first_child_[node] + <Py_ssize_t> (rest // power)
            if child >= self.n_nodes or self.parent_[child] != node:
                return -1
            node = child
            rest %= power
            power //= K
        return node if rest == 0 else -1

    # -- changing ---------------------------------------------------------------------------

    def record(self, Py_ssize_t node, double reward):
        """Record one evaluation of a node."""
        self.check_node(node)
        self.n_evaluations_[node] += 1
        self.reward_sum_[node] += reward

    def split(self, Py_ssize_t node, boxes=None):
        """Split a leaf into at most K children and return the first child.

        ``boxes`` (2 to K, 2 d) are the cells of the children. Without it, the cell is cut into K
        equal parts along its longest side in units of the root box; of equal sides, the lowest axis
        is cut. Each cut multiplies the length of the side by 1/K, so the axis is exactly depth
        modulo d.
        """
        cdef Py_ssize_t K = self.n_children, d = self.n_features, first = self.n_nodes
        cdef Py_ssize_t j, a, child, axis, n = K
        cdef double low, high
        self.check_node(node)
        if self.first_child_[node] >= 0:
            raise ValueError(f"node {node} is not a leaf")
        cdef const double[:, ::1] given
        if boxes is not None:
            given = boxes
            n = given.shape[0]
            if not 2 <= n <= K or given.shape[1] != 2 * d:
                raise ValueError(f"boxes must have shape ({K}, {2 * d}), or fewer rows, at least 2")
        self.reserve(first + n)
        axis = self.depth_[node] % d
        low, high = self.box_[node, axis], self.box_[node, d + axis]
        for j in range(n):
            child = first + j
            self.depth_[child] = self.depth_[node] + 1
            self.index_[child] = K * self.index_[node] + j
            self.parent_[child] = node
            self.first_child_[child] = -1
            self.n_evaluations_[child] = 0
            self.reward_sum_[child] = 0.0
            for a in range(2 * d):
                self.box_[child, a] = self.box_[node, a] if boxes is None else given[j, a]
            if boxes is None:
                if j > 0:
                    self.box_[child, axis] = low + j * ((high - low) / K)
                if j < K - 1:
                    self.box_[child, d + axis] = low + (j + 1) * ((high - low) / K)
            for a in range(d):
                if boxes is None and (a != axis or 2 * j + 1 == K):
                    self.center_[child, a] = self.center_[node, a]
                else:
                    self.center_[child, a] = 0.5 * (self.box_[child, a] + self.box_[child, d + a])
            if j == 0:
                self.slot_[child] = self.slot_[node]
            else:
                self.slot_[child] = self.n_leaves
                self.n_leaves += 1
            self.leaf_[self.slot_[child]] = child
        self.slot_[node] = -1
        self.first_child_[node] = first
        self.n_nodes = first + n
        return first

    # -- choosing ---------------------------------------------------------------------------

    cdef Py_ssize_t best_of_values(self, const unsigned char[::1] excluded) noexcept nogil:
        """Return the leaf slot of the largest value; ties go to the lowest depth, then index."""
        cdef Py_ssize_t p, best = -1, node, chosen = -1
        cdef double top = -INFINITY, level, unit = 0.0
        cdef bint skip = excluded.shape[0] > 0
        for p in range(self.n_leaves):
            if not skip or not excluded[self.leaf_[p]]:
                if self.value_[p] > top:
                    top = self.value_[p]
                if isfinite(self.value_[p]):
                    unit = max(unit, fabs(self.value_[p]))
        # A kernel of small variance makes all values small, so their unit is not 1.
        level = top - tie_tolerance(top, min(1.0, unit))
        for p in range(self.n_leaves):
            node = self.leaf_[p]
            if (skip and excluded[node]) or self.value_[p] < level:
                continue
            if (
                best < 0
                or self.depth_[node] < self.depth_[chosen]
                or (self.depth_[node] == self.depth_[chosen]
                    and self.index_[node] < self.index_[chosen])
            ):
                best, chosen = p, node
        return best

    def best_upper_bound(self, Posterior posterior, double beta, const double[::1] delta,
                         excluded=None):
        """Return the leaf of largest mean + sqrt(beta var) + delta[depth], -1 if all are excluded.

        ``posterior`` tracks the leaves under their slots. ``excluded`` is a mask (n_nodes,) of
        uint8.
        """
        cdef const unsigned char[::1] mask = _mask(excluded, self.n_nodes)
        cdef Py_ssize_t p, m = self.n_leaves, best, deepest = 0
        if posterior.m != m:
            raise ValueError(f"the posterior tracks {posterior.m} functionals, not {m} leaves")
        for p in range(m):
            deepest = max(deepest, self.depth_[self.leaf_[p]])
        if deepest >= delta.shape[0]:
            raise ValueError(f"delta must have an entry for depth {deepest}")
        if posterior.behind:
            self.bring_promising(posterior, beta, delta, mask)
        for p in range(m):
            self.value_[p] = -INFINITY
            if not posterior.behind or posterior.upto[p] == posterior.n:
                self.value_[p] = (
                    posterior.mean[p] + sqrt(beta * posterior.var[p])
                    + delta[self.depth_[self.leaf_[p]]]
                )
        best = self.best_of_values(mask)
        return self.leaf_[best] if best >= 0 else -1

    cdef bring_promising(self, Posterior posterior, double beta, const double[::1] delta,
                         const unsigned char[::1] mask):
        """Complete the rows of all leaves that may have the largest bound.

        The leaves of the largest possible bounds come first: their bounds rule out other leaves.
        """
        cdef Py_ssize_t p, j, m = self.n_leaves, n = posterior.n
        cdef double top = -INFINITY
        late, reach = np.zeros(m, dtype=np.uint8), np.full(m, -np.inf)
        cdef unsigned char[::1] is_late = late
        cdef double[::1] bound = reach, news = np.zeros(n + 1)
        for j in range(n - 1, -1, -1):
            news[j] = news[j + 1] + posterior.z[j] * posterior.z[j]
        for p in range(m):
            if mask.shape[0] and mask[self.leaf_[p]]:
                continue
            is_late[p] = posterior.upto[p] < n
            bound[p] = (
                posterior.mean[p] + sqrt(posterior.var[p] * (beta + news[posterior.upto[p]]))
                + delta[self.depth_[self.leaf_[p]]]
            )
        slots = np.flatnonzero(late)
        first = slots
        if len(slots) > AT_FIRST:
            first = slots[np.argpartition(-reach[slots], AT_FIRST)[:AT_FIRST]]
        posterior.bring(first)
        for p in range(m):
            if posterior.upto[p] == n and not (mask.shape[0] and mask[self.leaf_[p]]):
                top = max(top, posterior.mean[p] + sqrt(beta * posterior.var[p])
                          + delta[self.depth_[self.leaf_[p]]])
        posterior.bring(slots[reach[slots] >= top - SLACK * (1.0 + fabs(top))])

    def known_leaves(self, Posterior posterior, double beta, const double[::1] delta,
                     Py_ssize_t max_depth):
        """Return the leaves with sqrt(beta var) <= delta[depth] and depth <= max_depth."""
        cdef Py_ssize_t p, h
        posterior.bring(moments=True)
        if posterior.m != self.n_leaves:
            raise ValueError(
                f"the posterior tracks {posterior.m} functionals, not {self.n_leaves} leaves"
            )
        known = []
        for p in range(self.n_leaves):
            h = self.depth_[self.leaf_[p]]
            if (h <= max_depth and h < delta.shape[0]
                    and beta * posterior.var[p] <= delta[h] * delta[h]):
                known.append(self.leaf_[p])
        return known

    def best_bound_within_parent(self, Posterior posterior, double beta,
                                 const double[::1] variation, excluded=None):
        """Return the leaf of largest min(upper, parent's upper + variation[depth - 1])
        + variation[depth], where upper = mean + sqrt(beta var); -1 if all are excluded.

        ``posterior`` tracks each node under its index. ``excluded`` is a mask (n_nodes,) of uint8.
        """
        cdef const unsigned char[::1] mask = _mask(excluded, self.n_nodes)
        cdef Py_ssize_t p, node, parent, h, best = -1, deepest = 0
        cdef double upper, bound
        posterior.bring(moments=True)
        if posterior.m != self.n_nodes:
            raise ValueError(
                f"the posterior tracks {posterior.m} functionals, not {self.n_nodes} nodes"
            )
        with nogil:
            for p in range(self.n_leaves):
                deepest = max(deepest, self.depth_[self.leaf_[p]])
            if deepest < variation.shape[0]:
                for p in range(self.n_leaves):
                    node = self.leaf_[p]
                    parent, h = self.parent_[node], self.depth_[node]
                    upper = posterior.mean[node] + sqrt(beta * posterior.var[node])
                    if parent >= 0:
                        bound = (posterior.mean[parent] + sqrt(beta * posterior.var[parent])
                                 + variation[h - 1])
                        upper = min(upper, bound)
                    self.value_[p] = upper + variation[h]
                best = self.best_of_values(mask)
        if deepest >= variation.shape[0]:
            raise ValueError(f"variation must have an entry for depth {deepest}")
        return self.leaf_[best] if best >= 0 else -1

    def best_empirical_bound(self, double log_term, const double[::1] delta, excluded=None):
        """Return the leaf of largest mean reward + sqrt(log_term / evaluations) + delta[depth].

        Leaves without evaluations come first.
        """
        cdef const unsigned char[::1] mask = _mask(excluded, self.n_nodes)
        cdef Py_ssize_t p, node, T, best
        for p in range(self.n_leaves):
            node = self.leaf_[p]
            T = self.n_evaluations_[node]
            if self.depth_[node] >= delta.shape[0]:
                raise ValueError(f"delta must have an entry for depth {self.depth_[node]}")
            self.value_[p] = INFINITY if T == 0 else (
                self.reward_sum_[node] / T + sqrt(log_term / T) + delta[self.depth_[node]]
            )
        best = self.best_of_values(mask)
        return self.leaf_[best] if best >= 0 else -1

    # -- copying ----------------------------------------------------------------------------

    def copy(self):
        """Return an independent copy."""
        cls, arguments, state = self.__reduce__()
        other = cls(*arguments)
        other.__setstate__(state)
        return other

    def __reduce__(self):
        cdef Py_ssize_t d = self.n_features
        root = self.arrays["box"][0]
        return Tree, (self.n_children, root[:d], root[d:]), self.__getstate__()

    def __getstate__(self):
        arrays = {name: self.used(name) for name in self.arrays}
        return {"n_children": self.n_children, "n_leaves": self.n_leaves, **arrays}

    def __setstate__(self, state):
        # Not all that unpickles calls __init__ first.
        root, d = state["box"][0], state["box"].shape[1] // 2
        self.__init__(state["n_children"], root[:d], root[d:])
        n = len(state["depth"])
        self.reserve(n)
        self.n_nodes, self.n_leaves = n, state["n_leaves"]
        for name, array in self.arrays.items():
            array[: len(state[name])] = state[name]


cdef const unsigned char[::1] NOTHING = np.zeros(0, dtype=np.uint8)


cdef const unsigned char[::1] _mask(excluded, Py_ssize_t n_nodes):
    if excluded is None:
        return NOTHING
    if len(excluded) != n_nodes:
        raise ValueError(f"excluded must have one entry for each of {n_nodes} nodes")
    return excluded
