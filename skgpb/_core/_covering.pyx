"""The region that balls leave uncovered: exact in the sup norm, otherwise by subdivision.

Notation in d dimensions:

======== ======== ==================================================================
symbol   shape    meaning
======== ======== ==================================================================
boxes    (n, 2 d) boxes, one a row: [lower_1..lower_d, upper_1..upper_d]
balls    (m, 2 d) balls of the sup norm, in the same format
centers  (m, d)   centres of Euclidean balls
radii    (m,)     radii of Euclidean balls
faces    d arrays sorted coordinates at which the axes are cut
======== ======== ==================================================================

A ball of the sup norm is a box. The region that such balls leave uncovered is therefore a finite
union of boxes, and ``subtract`` computes it exactly. No function changes its arguments.
"""

from libc.math cimport fabs, sqrt

import numpy as np


cdef double[:, ::1] doubled(double[:, ::1] array, Py_ssize_t used):
    out = np.empty((2 * array.shape[0], array.shape[1]))
    out[:used] = array[:used]
    return out


def subtract(const double[:, ::1] boxes, const double[:, ::1] balls, bint first_only=False):
    """Return disjoint boxes that cover ``boxes`` (n, 2 d) without ``balls`` (m, 2 d).

    ``boxes`` must be disjoint up to their faces; the balls may overlap. A box that meets a ball is
    cut along the faces of the ball into at most 2 d pieces. Every coordinate of the result is a
    coordinate of the inputs, so the result has no rounding error. The function processes the balls
    in the order given; fewer pieces arise if large balls come first. With ``first_only`` it returns
    the first piece only. Return an array (n_left, 2 d).
    """
    cdef Py_ssize_t d = boxes.shape[1] // 2, m = balls.shape[0], n = boxes.shape[0]
    if boxes.shape[1] != 2 * d or balls.shape[1] != 2 * d:
        raise ValueError("boxes and balls must have the same even number of columns")
    cdef double[:, ::1] left = np.empty((16, 2 * d))
    # Stack of pieces; piece k is still to be compared with the balls start[k]..m-1.
    cdef double[:, ::1] stack = np.empty((64, 2 * d))
    cdef Py_ssize_t[::1] start = np.empty(64, dtype=np.intp)
    cdef double[::1] box = np.empty(2 * d)
    cdef Py_ssize_t n_left = 0, top, i, j, a, c
    cdef bint met
    for i in range(n):
        top = 1
        start[0] = 0
        for c in range(2 * d):
            stack[0, c] = boxes[i, c]
        while top:
            top -= 1
            j = start[top]
            for c in range(2 * d):
                box[c] = stack[top, c]
            met = False
            while j < m:
                met = True
                for a in range(d):
                    if not (box[a] < balls[j, d + a] and balls[j, a] < box[d + a]):
                        met = False
                        break
                if met:
                    break
                j += 1
            if not met:
                if n_left == left.shape[0]:
                    left = doubled(left, n_left)
                for c in range(2 * d):
                    left[n_left, c] = box[c]
                n_left += 1
                if first_only:
                    return np.array(left[:n_left])
                continue
            if top + 2 * d > stack.shape[0]:
                stack = doubled(stack, top)
                start = np.concatenate([start, np.empty_like(start)])
            for a in range(d):
                if box[a] < balls[j, a]:
                    for c in range(2 * d):
                        stack[top, c] = box[c]
                    stack[top, d + a] = balls[j, a]
                    start[top] = j + 1
                    top += 1
                    box[a] = balls[j, a]
                if box[d + a] > balls[j, d + a]:
                    for c in range(2 * d):
                        stack[top, c] = box[c]
                    stack[top, a] = balls[j, d + a]
                    start[top] = j + 1
                    top += 1
                    box[d + a] = balls[j, d + a]
    return np.array(left[:n_left])


def largest_cell(const double[:, ::1] boxes, list faces, double tolerance):
    """Return the cell of largest volume, of the grid of faces, inside any of ``boxes`` (n, 2 d).

    ``faces`` holds, for each axis, the sorted coordinates at which the grid is cut; every face
    of a box must be among them. A box is then a union of cells and its largest cell is the
    product of its widest interval along each axis, so the result depends only on the union of the
    boxes, not on how the union is cut up. Volumes of at least 1 - ``tolerance`` times the largest
    are ties, and the lexicographically smallest cell wins. Return a row (2 d,).
    """
    cdef Py_ssize_t n = boxes.shape[0], d = boxes.shape[1] // 2, i, a, low, high, mid, k
    cdef const double[::1] cuts
    if len(faces) != d or n == 0:
        raise ValueError("expected at least one box, and faces for every axis")
    cells = np.empty((n, 2 * d))
    volumes = np.ones(n)
    cdef double[:, ::1] cell = cells
    cdef double[::1] volume = volumes
    cdef double widest
    for a in range(d):
        cuts = faces[a]
        for i in range(n):
            low, high = 0, cuts.shape[0]
            while low < high:
                mid = (low + high) // 2
                if cuts[mid] < boxes[i, a]:
                    low = mid + 1
                else:
                    high = mid
            widest = 0.0
            k = low
            while k + 1 < cuts.shape[0] and cuts[k] < boxes[i, d + a]:
                if cuts[k + 1] - cuts[k] > widest:
                    widest = cuts[k + 1] - cuts[k]
                    cell[i, a], cell[i, d + a] = cuts[k], cuts[k + 1]
                k += 1
            volume[i] *= widest
    ties = cells[volumes >= (1.0 - tolerance) * volumes.max()]
    return ties[np.lexsort(ties[:, :d].T[::-1])[0]]


def overlapping(const double[:, ::1] boxes, const double[::1] box):
    """Return the indices of the ``boxes`` (n, 2 d) that share more than a face with ``box``."""
    cdef Py_ssize_t n = boxes.shape[0], d = boxes.shape[1] // 2, i, a, found = 0
    if boxes.shape[1] != 2 * d or box.shape[0] != 2 * d:
        raise ValueError("boxes and box must have the same even number of columns")
    numbers = np.empty(n, dtype=np.intp)
    cdef Py_ssize_t[::1] number = numbers
    cdef bint met
    for i in range(n):
        met = True
        for a in range(d):
            if not (boxes[i, a] < box[d + a] and box[a] < boxes[i, d + a]):
                met = False
                break
        if met:
            number[found] = i
            found += 1
    return numbers[:found]


cdef class Subdivision:
    """Search the dyadic grid over the unit cube for cell centres that no Euclidean ball covers.

    Parameters
    ----------
    centers : ndarray of shape (m, d)
        Centres of the balls. The search is faster if large balls come first.
    radii : ndarray of shape (m,)
        Radii of the balls.
    around : ndarray of shape (d,)
        Centre of the region of the search.
    reach : float
        Radius of the region of the search: other cell centres are ignored.
    tie : float
        Tolerance of distances. The search ignores a cell centre whose distance from the nearest
        ball is at most ``tie``.
    """

    cdef const double[:, ::1] centers
    cdef const double[::1] radii
    cdef const double[::1] around
    cdef double reach, tie
    cdef Py_ssize_t m, d, target
    cdef double[:, ::1] cell       # (levels, d) centre of the present cell of every level
    cdef Py_ssize_t[:, ::1] near   # (levels + 1, m) indices of the balls that meet its parent
    cdef bint is_open
    cdef list found

    def __init__(self, centers, radii, around, double reach, double tie):
        self.centers, self.radii, self.around = centers, radii, around
        self.m, self.d = self.centers.shape[0], self.centers.shape[1]
        if self.radii.shape[0] != self.m or self.around.shape[0] != self.d:
            raise ValueError("centers, radii and around do not fit each other")
        # A cell centre on the boundary of the region counts, however its distance is rounded.
        self.reach, self.tie = reach + tie, tie

    def level(self, Py_ssize_t target):
        """Return the uncovered cell centres (n, d) of a level, and whether any cell is open.

        The distance of an uncovered centre from every ball exceeds ``tie``. The centres have no
        particular order. A cell is open if no single ball contains it.
        """
        self.target, self.is_open, self.found = target, False, []
        self.cell = np.full((target + 1, self.d), 0.5)
        self.near = np.empty((target + 2, self.m), dtype=np.intp)
        np.asarray(self.near)[0] = np.arange(self.m)
        self.look(0, self.m, 0.5)
        return np.array(self.found).reshape(-1, self.d), self.is_open

    cdef void look(self, Py_ssize_t level, Py_ssize_t n_near, double half):
        """Compare ``cell[level]``, of side 2 half, with the first n_near of ``near[level]``."""
        cdef Py_ssize_t k, a, i, kept = 0, child
        cdef double gap, least, most, clearance, distance
        least = distance = 0.0
        for a in range(self.d):
            gap = fabs(self.cell[level, a] - self.around[a])
            distance += gap * gap
            if gap > half:
                least += (gap - half) * (gap - half)
        if least > self.reach * self.reach:
            return
        clearance = 2.0 * self.d
        for k in range(n_near):
            i = self.near[level, k]
            least = most = gap = 0.0
            for a in range(self.d):
                gap = fabs(self.cell[level, a] - self.centers[i, a])
                most += (gap + half) * (gap + half)
                if gap > half:
                    least += (gap - half) * (gap - half)
            if most <= self.radii[i] * self.radii[i]:
                return
            if least <= self.radii[i] * self.radii[i]:
                self.near[level + 1, kept] = i
                kept += 1
        if level == self.target:
            self.is_open = True
            if distance > self.reach * self.reach:
                return
            for k in range(kept):
                i = self.near[level + 1, k]
                least = 0.0
                for a in range(self.d):
                    gap = self.cell[level, a] - self.centers[i, a]
                    least += gap * gap
                least = sqrt(least) - self.radii[i]
                if least < clearance:
                    clearance = least
            if clearance > self.tie:
                self.found.append(np.array(self.cell[level]))
            return
        for child in range(1 << self.d):
            for a in range(self.d):
                self.cell[level + 1, a] = self.cell[level, a] + (
                    0.5 * half if child >> a & 1 else -0.5 * half
                )
            self.look(level + 1, kept, 0.5 * half)
