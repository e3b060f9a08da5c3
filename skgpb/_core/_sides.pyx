"""Local search over boxes of a table: the sides move over the levels of the features.

Notation for n rows and d features:

========= ============ ================================================================
symbol    shape        meaning
========= ============ ================================================================
codes     (n, d)       level of each row and feature
offsets   (d + 1,)     position of the first level of each feature, and ``size``
size      scalar       number of levels of all features
inside    (size,)      1 for the levels inside the box
count     (size,)      for each level, number of rows inside on all other features
total     (size,)      sum of the target over the same rows
weights   (n,)         number of rows that each row stands for
sums      (n,)         sum of the target over the rows that each row stands for
========= ============ ================================================================

Only the methods of ``Sides`` change arrays in place, and these are arrays of the object.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, uint8_t, uint16_t
from libc.string cimport memset

# Smaller gains are rounding; targets have a standard deviation of about one.
LEAST_GAIN = 1e-9
cdef double _LEAST_GAIN = LEAST_GAIN


cdef double best_side(
    Py_ssize_t begin,
    Py_ssize_t missing,
    Py_ssize_t end,
    bint ordered,
    const double[::1] count,
    const double[::1] total,
    const uint8_t[::1] inside,
    double threshold,
    double penalty,
    double least,
    uint8_t[::1] trial,
) noexcept nogil:
    """Write the best side of a feature to ``trial`` and return its gain; see Sides.ascend.

    The levels run from ``begin`` to ``end``; missing values have the levels from ``missing`` on.
    """
    cdef Py_ssize_t i, first = begin, best_first = begin, best_last = begin
    cdef double value, run = 0.0, best = -1e300
    cdef double whole = 0.0, now = 0.0, gain = 0.0, rows = 0.0, out_now = 0.0, out = 0.0
    for i in range(begin, end):
        value = total[i] - threshold * count[i]
        whole += value
        if inside[i]:
            now += value
        else:
            out_now += count[i]
    if ordered:
        # The run of neighbours with the largest sum.
        for i in range(begin, missing):
            if run <= 0.0:
                run = 0.0
                first = i
            run += total[i] - threshold * count[i]
            if run > best:
                best, best_first, best_last = run, first, i
        for i in range(begin, missing):
            trial[i] = best_first <= i <= best_last
    else:
        for i in range(begin, missing):
            trial[i] = total[i] - threshold * count[i] > 0.0
    for i in range(missing, end):
        trial[i] = total[i] - threshold * count[i] > 0.0
    for i in range(begin, end):
        if trial[i]:
            rows += count[i]
            gain += total[i] - threshold * count[i]
        else:
            out += count[i]
    now -= penalty * sqrt(out_now)
    gain -= penalty * sqrt(out)
    if whole >= gain:
        memset(&trial[begin], 1, end - begin)
        return whole - now
    return gain - now if rows >= least else -1.0


def best_move(
    const int32_t[::1] offsets,
    const int32_t[::1] n_values,
    const uint8_t[::1] ordered,
    const double[::1] count,
    const double[::1] total,
    const uint8_t[::1] inside,
    double threshold,
    double penalty,
    double least,
):
    """Find the best side of each feature from marginals that ignore the side of this feature.

    Parameters
    ----------
    offsets : ndarray of shape (d + 1,) of int32
        Position of the first level of each feature, and the number of all levels.
    n_values : ndarray of shape (d,) of int32
        Number of levels of each feature, without the level of missing values.
    ordered : ndarray of shape (d,) of uint8
        1 if a side is a run of neighbouring levels, 0 if it is any set of levels.
    count, total : ndarray of shape (size,)
        Number of rows of each level, and the sum of the target over them.
    inside : ndarray of shape (size,) of uint8
        1 for the levels of the present sides.
    threshold, penalty, least : float
        As in :meth:`Sides.ascend`.

    Returns
    -------
    gains : ndarray of shape (d,)
        Gain of each feature.
    sides : ndarray of shape (size,) of uint8
        The best side of each feature.
    """
    cdef Py_ssize_t j, d = n_values.shape[0]
    gains, sides = np.empty(d), np.empty(offsets[d], dtype=np.uint8)
    cdef double[::1] gain = gains
    cdef uint8_t[::1] trial = sides
    with nogil:
        for j in range(d):
            gain[j] = best_side(
                offsets[j], offsets[j] + n_values[j], offsets[j + 1], ordered[j],
                count, total, inside, threshold, penalty, least, trial,
            )
    return gains, sides


cdef class Sides:
    """A box over the rows of a table in memory, whose sides move one at a time.

    For each feature, the rows that are inside on all other features are counted and summed by
    level. Moving a side only touches the rows of the levels that it passes.

    Parameters
    ----------
    codes : ndarray of shape (n, d) of uint16
        Level of each row and feature.
    offsets : ndarray of shape (d + 1,) of int32
        Position of the first level of each feature when the levels of all features are
        concatenated.
    n_values : ndarray of shape (d,) of int32
        Number of levels of each feature, without the level of missing values, which comes last.
    ordered : ndarray of shape (d,) of uint8
        1 if a side is a run of neighbouring levels, 0 if it is any set of levels.
    weights : ndarray of shape (n,)
        Number of rows that each row stands for.
    """

    cdef readonly Py_ssize_t n, d, size
    cdef readonly double count, total
    cdef const uint16_t[:, ::1] codes
    cdef const double[::1] weights, sums
    cdef const int32_t[::1] offsets, n_values
    cdef const uint8_t[::1] ordered
    # Rows sorted by level, feature after feature, and the position of each level.
    cdef int32_t[:, ::1] rows
    cdef int32_t[::1] begins
    cdef uint8_t[::1] inside, trial
    # Number of features on which a row is outside, and the sum of the indices of these features. If
    # the number is 1, the sum is the index of the feature.
    cdef int32_t[::1] beyond, which
    cdef double[::1] counts, totals

    def __init__(self, codes, offsets, n_values, ordered, weights):
        cdef Py_ssize_t i, j, place
        cdef int32_t level
        self.codes, self.weights, self.sums = codes, weights, weights
        self.offsets, self.n_values, self.ordered = offsets, n_values, ordered
        self.n, self.d = codes.shape
        self.size = self.offsets[self.d]
        self.rows = np.empty((self.d, self.n), dtype=np.int32)
        self.begins = np.zeros(self.size + 1, dtype=np.int32)
        self.inside = np.ones(self.size, dtype=np.uint8)
        self.trial = np.ones(self.size, dtype=np.uint8)
        self.beyond = np.zeros(self.n, dtype=np.int32)
        self.which = np.zeros(self.n, dtype=np.int32)
        self.counts, self.totals = np.zeros(self.size), np.zeros(self.size)
        cdef int32_t[::1] at = np.zeros(self.size + 1, dtype=np.int32)
        with nogil:
            for i in range(self.n):
                for j in range(self.d):
                    self.begins[self.offsets[j] + self.codes[i, j]] += 1
            for j in range(self.d):
                place = 0
                for level in range(self.offsets[j], self.offsets[j + 1]):
                    at[level] = place
                    place += self.begins[level]
                    self.begins[level] = at[level]
            for i in range(self.n):
                for j in range(self.d):
                    level = self.offsets[j] + self.codes[i, j]
                    self.rows[j, at[level]] = i
                    at[level] += 1

    def start(self, const double[::1] sums, const uint8_t[::1] inside):
        """Set the first box.

        Parameters
        ----------
        sums : ndarray of shape (n,)
            Sum of the target over the rows that each row stands for.
        inside : ndarray of shape (size,) of uint8
            1 for the levels inside, concatenated over the features.
        """
        cdef Py_ssize_t i
        self.sums = sums
        self.inside[:] = inside
        with nogil:
            memset(&self.counts[0], 0, self.size * sizeof(double))
            memset(&self.totals[0], 0, self.size * sizeof(double))
            self.count = self.total = 0.0
            self._place()
            for i in range(self.n):
                if self.beyond[i] == 0:
                    self._enter(i, -1, 1.0)
                elif self.beyond[i] == 1:
                    self._near(i, 1.0)

    cdef void _place(self) noexcept nogil:
        """Find the features on which each row is outside; features without a side are skipped."""
        cdef Py_ssize_t i, j, level
        cdef bint free
        memset(&self.beyond[0], 0, self.n * sizeof(int32_t))
        memset(&self.which[0], 0, self.n * sizeof(int32_t))
        for j in range(self.d):
            free = True
            for level in range(self.offsets[j], self.offsets[j + 1]):
                free = free and self.inside[level]
            if free:
                continue
            for i in range(self.n):
                if not self.inside[self.offsets[j] + self.codes[i, j]]:
                    self.beyond[i] += 1
                    self.which[i] += j

    cdef inline void _enter(self, Py_ssize_t i, Py_ssize_t but, double sign) noexcept nogil:
        """Add ``sign`` times a row to all marginals but one, as it enters or leaves the box."""
        cdef Py_ssize_t j, k
        cdef double w = sign * self.weights[i], s = sign * self.sums[i]
        for j in range(self.d):
            if j != but:
                k = self.offsets[j] + self.codes[i, j]
                self.counts[k] += w
                self.totals[k] += s
        self.count += w
        self.total += s

    cdef inline void _near(self, Py_ssize_t i, double sign) noexcept nogil:
        """Add ``sign`` times a row to the marginal of the only feature on which it is outside."""
        cdef Py_ssize_t k = self.offsets[self.which[i]] + self.codes[i, self.which[i]]
        self.counts[k] += sign * self.weights[i]
        self.totals[k] += sign * self.sums[i]

    cdef void _take(self, Py_ssize_t j) noexcept nogil:
        """Replace the side of a feature by the trial one."""
        cdef Py_ssize_t level, p, i, stop
        for level in range(self.offsets[j], self.offsets[j + 1]):
            if self.trial[level] == self.inside[level]:
                continue
            self.inside[level] = self.trial[level]
            stop = self.begins[level + 1] if level + 1 < self.offsets[j + 1] else self.n
            for p in range(self.begins[level], stop):
                i = self.rows[j, p]
                if self.trial[level]:
                    self.beyond[i] -= 1
                    self.which[i] -= j
                    if self.beyond[i] == 0:
                        self._enter(i, j, 1.0)
                    elif self.beyond[i] == 1:
                        self._near(i, 1.0)
                else:
                    if self.beyond[i] == 0:
                        self._enter(i, j, -1.0)
                    elif self.beyond[i] == 1:
                        self._near(i, -1.0)
                    self.beyond[i] += 1
                    self.which[i] += j

    def ascend(self, double threshold, double penalty, double least, Py_ssize_t most):
        """Repeat the move of a side with the largest gain until no move has a gain.

        The objective is the sum of target - ``threshold`` over the rows inside the box, minus a
        penalty for each feature: ``penalty`` times the square root of the number of rows that only
        the side of this feature excludes.

        Parameters
        ----------
        threshold : float
            Mean target of a level from which on the search tends to include the level.
        penalty : float
            Minimum gain of a side, in standard deviations of the target.
        least : float
            Minimum number of rows inside.
        most : int
            Maximum number of moves.

        Returns
        -------
        n_moves : int
        """
        cdef Py_ssize_t j, best_j, n_moves = 0
        cdef double gain, best
        with nogil:
            while n_moves < most:
                best, best_j = _LEAST_GAIN, -1
                for j in range(self.d):
                    gain = best_side(
                        self.offsets[j], self.offsets[j] + self.n_values[j], self.offsets[j + 1],
                        self.ordered[j], self.counts, self.totals, self.inside,
                        threshold, penalty, least, self.trial,
                    )
                    if gain > best:
                        best, best_j = gain, j
                if best_j < 0:
                    break
                self._take(best_j)
                n_moves += 1
        return n_moves

    @property
    def box(self):
        """Return a copy of the levels inside, 1 or 0, shape (size,) of uint8."""
        return np.array(self.inside)

    @property
    def members(self):
        """Return the indices of the rows inside."""
        return np.flatnonzero(np.asarray(self.beyond) == 0)

    @property
    def marginals(self):
        """Return copies of count (size,) and total (size,); see the notation of the module."""
        return np.array(self.counts), np.array(self.totals)


def best_pairs(
    const uint8_t[:, ::1] coarse,
    Py_ssize_t n_coarse,
    const double[::1] sums,
    const double[::1] weights,
    double least,
    double cost,
):
    """Find the best box on a coarse grid for each pair of features.

    Parameters
    ----------
    coarse : ndarray of shape (n, d) of uint8
        Level of each row and feature, below ``n_coarse``.
    n_coarse : int
        Number of levels of a feature.
    sums, weights : ndarray of shape (n,)
        As in :meth:`Sides.start`.
    least : float
        Minimum number of rows of a box.
    cost : float
        Minimum score of each end of a side.

    Returns
    -------
    scores : ndarray of shape (d (d - 1) / 2,)
        Score of the best box: the squared sum over its rows divided by their number, minus ``cost``
        for each end inside the grid. Negative sums have negative scores.
    boxes : ndarray of shape (d (d - 1) / 2, 6) of int32
        The two features, the first level of each, and the level after the last of each.
    """
    cdef Py_ssize_t n = coarse.shape[0], d = coarse.shape[1], b = n_coarse, w = n_coarse + 1
    cdef Py_ssize_t i, j, k, p, q, r, s, pair = 0, cell
    cdef Py_ssize_t n_pairs = d * (d - 1) // 2
    scores, boxes = np.full(n_pairs, -np.inf), np.zeros((n_pairs, 6), dtype=np.int32)
    cdef double[::1] score = scores
    cdef int32_t[:, ::1] box = boxes
    cdef double[::1] counts = np.zeros(w * w), totals = np.zeros(w * w)
    cdef double count, total, value
    with nogil:
        for j in range(d):
            for k in range(j + 1, d):
                memset(&counts[0], 0, w * w * sizeof(double))
                memset(&totals[0], 0, w * w * sizeof(double))
                for i in range(n):
                    cell = (coarse[i, j] + 1) * w + coarse[i, k] + 1
                    counts[cell] += weights[i]
                    totals[cell] += sums[i]
                for p in range(1, w):
                    for q in range(1, w):
                        cell = p * w + q
                        counts[cell] += counts[cell - 1] + counts[cell - w] - counts[cell - w - 1]
                        totals[cell] += totals[cell - 1] + totals[cell - w] - totals[cell - w - 1]
                for p in range(b):
                    for q in range(p + 1, w):
                        for r in range(b):
                            for s in range(r + 1, w):
                                count = (
                                    counts[q * w + s] - counts[p * w + s]
                                    - counts[q * w + r] + counts[p * w + r]
                                )
                                if count < least or count <= 0.0:
                                    continue
                                total = (
                                    totals[q * w + s] - totals[p * w + s]
                                    - totals[q * w + r] + totals[p * w + r]
                                )
                                value = total * total / count if total > 0.0 else 0.0
                                value -= cost * ((p > 0) + (q < b) + (r > 0) + (s < b))
                                if value > score[pair]:
                                    score[pair] = value
                                    box[pair, 0], box[pair, 1] = j, k
                                    box[pair, 2], box[pair, 3] = p, q
                                    box[pair, 4], box[pair, 5] = r, s
                pair += 1
    return scores, boxes
