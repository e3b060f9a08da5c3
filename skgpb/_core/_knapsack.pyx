"""Exact solution of multiple-choice knapsacks, for many value functions over one table of costs.

Notation:

======== ===================== =========================================================
symbol   shape                 meaning
======== ===================== =========================================================
values   (n_problems, n_arms)  values of the arms of all campaigns, one problem a row
costs    (n_arms,)             costs of the same arms, shared by all problems
starts   (n_campaigns + 1,)    first arm of each campaign, and n_arms
limit    scalar                the budget
slack    scalar                costs that differ by at most this count as equal
tie      scalar                values that differ by at most this count as equal
front    (n,) of State         Pareto-optimal pairs (cost, value), in increasing order
======== ===================== =========================================================

The campaigns are processed from the last to the first. The *front* of a campaign holds the pairs
(total cost, total value) of the arms of this campaign and of all later ones. It has only the pairs
that no pair of at most the same cost exceeds in value. An arm shifts the front of the next campaign
by its own cost and value, and the new front merges the shifted fronts. If the costs lie on a grid,
a front has at most as many pairs as the budget has levels, so a knapsack takes O(n_arms * levels).
Costs off a grid are not rounded. ``solve`` changes none of its arguments; the helpers write into
the buffers of ``Pool``.
"""

from libc.stdlib cimport free, malloc, realloc

import numpy as np

# A pair of a front. ``arm`` is the index of the arm in its campaign; ``behind`` is the index of the
# pair that the arm extends, in the front of the next campaign.
cdef struct State:
    double cost
    double value
    Py_ssize_t arm
    Py_ssize_t behind


# All fronts of one knapsack end to end, in one growing buffer.
cdef struct Pool:
    State* states
    Py_ssize_t capacity


cdef int reserve(Pool* pool, Py_ssize_t n) noexcept nogil:
    """Reserve room for n states. Return -1 if there is not enough memory."""
    cdef Py_ssize_t capacity = pool.capacity
    cdef State* states
    if n <= capacity:
        return 0
    while capacity < n:
        capacity = 2 * capacity + 64
    states = <State*> realloc(pool.states, capacity * sizeof(State))
    if states == NULL:
        return -1
    pool.states = states
    pool.capacity = capacity
    return 0


cdef inline Py_ssize_t push(State* front, Py_ssize_t n, State state, double slack,
                            double tie) noexcept nogil:
    """Append a state of at least the last cost, unless it is dominated; return the new length."""
    if n > 0:
        if state.value <= front[n - 1].value + tie:
            return n
        if state.cost <= front[n - 1].cost + slack:
            # Equal cost up to rounding, but more value.
            n -= 1
    front[n] = state
    return n + 1


cdef Py_ssize_t merge(const State* old, Py_ssize_t n_old, const State* behind, Py_ssize_t n_behind,
                      double cost, double value, Py_ssize_t arm, double limit, double slack,
                      double tie, State* merged) noexcept nogil:
    """Merge ``old`` and the shifted front ``behind`` into ``merged``, and return its length."""
    cdef Py_ssize_t i = 0, j = 0, n = 0
    cdef State state = State(0.0, 0.0, arm, 0)
    cdef bint more = n_behind > 0 and behind[0].cost + cost <= limit
    if more:
        state.cost, state.value = behind[0].cost + cost, value + behind[0].value
    while i < n_old or more:
        # On ties the old state goes first, so the first of two tied arms stays.
        if i < n_old and (not more or old[i].cost < state.cost - slack or (
                old[i].cost <= state.cost + slack and old[i].value >= state.value - tie)):
            n = push(merged, n, old[i], slack, tie)
            i += 1
        else:
            state.behind = j
            n = push(merged, n, state, slack, tie)
            j += 1
            more = j < n_behind and behind[j].cost + cost <= limit
            if more:
                state.cost, state.value = behind[j].cost + cost, value + behind[j].value
    return n


cdef int solve_one(const double* values, const double[::1] costs, const Py_ssize_t[::1] starts,
                   double limit, double slack, double tie, Pool* pool, Pool* spare, Py_ssize_t* ends,
                   Py_ssize_t* choice) noexcept nogil:
    """Write one arm per campaign to ``choice``. Return -1 if memory is short, -2 if none fits."""
    cdef Py_ssize_t n_campaigns = starts.shape[0] - 1
    cdef Py_ssize_t i, k, n, begin, n_behind, row
    # The front after the last campaign is the single pair (0, 0).
    if reserve(pool, 1) < 0:
        return -1
    pool.states[0].cost = 0.0
    pool.states[0].value = 0.0
    ends[n_campaigns] = 0
    begin, n_behind = 0, 1
    for i in range(n_campaigns - 1, -1, -1):
        n = 0
        ends[i] = begin + n_behind
        for k in range(starts[i], starts[i + 1]):
            if costs[k] > limit:
                continue
            if reserve(pool, ends[i] + n + n_behind) < 0 or reserve(spare, n + n_behind) < 0:
                return -1
            n = merge(pool.states + ends[i], n, pool.states + begin, n_behind, costs[k],
                      values[k], k - starts[i], limit, slack, tie, spare.states)
            for row in range(n):
                pool.states[ends[i] + row] = spare.states[row]
        if n == 0:
            return -2
        begin, n_behind = ends[i], n
    # The last state of the last front has the largest value.
    row = n_behind - 1
    for i in range(n_campaigns):
        choice[i] = pool.states[ends[i] + row].arm
        row = pool.states[ends[i] + row].behind
    return 0


def solve(const double[:, ::1] values, const double[::1] costs, const Py_ssize_t[::1] starts,
          double limit, double slack, double tie):
    """Choose one arm per campaign: the largest total value at a total cost of at most ``limit``.

    Parameters
    ----------
    values : ndarray of shape (n_problems, n_arms)
        Finite values of the arms of all campaigns, concatenated, one problem per row.
    costs : ndarray of shape (n_arms,)
        Nonnegative costs of the arms.
    starts : ndarray of shape (n_campaigns + 1,)
        Campaign i has the arms from ``starts[i]`` to ``starts[i + 1]``.
    limit : float
        The budget.
    slack : float
        Costs that differ by at most ``slack`` count as equal.
    tie : float
        Values that differ by at most ``tie`` are tied. The total is then at most 2 n_campaigns
        ``tie`` below the largest.

    Returns
    -------
    choice : ndarray of shape (n_problems, n_campaigns)
        Index of the chosen arm within its campaign. Of tied allocations the cheapest is chosen, and
        of these the lexicographically first.
    """
    cdef Py_ssize_t n_problems = values.shape[0], n_campaigns = starts.shape[0] - 1
    cdef Py_ssize_t i, p
    cdef int status = 0
    cdef Pool pool, spare
    if n_campaigns < 1 or starts[0] != 0 or starts[n_campaigns] != costs.shape[0]:
        raise ValueError("starts must run from 0 to the number of arms")
    for i in range(n_campaigns):
        if starts[i + 1] <= starts[i]:
            raise ValueError("every campaign needs an arm")
    if values.shape[1] != costs.shape[0]:
        raise ValueError("values and costs differ in the number of arms")
    choice = np.empty((n_problems, n_campaigns), dtype=np.intp)
    cdef Py_ssize_t[:, ::1] choice_ = choice
    cdef Py_ssize_t* ends = <Py_ssize_t*> malloc((n_campaigns + 1) * sizeof(Py_ssize_t))
    if ends == NULL:
        raise MemoryError
    pool.states, pool.capacity = NULL, 0
    spare.states, spare.capacity = NULL, 0
    with nogil:
        for p in range(n_problems):
            status = solve_one(&values[p, 0], costs, starts, limit, slack, tie, &pool, &spare,
                               ends, &choice_[p, 0])
            if status < 0:
                break
    free(pool.states)
    free(spare.states)
    free(ends)
    if status == -1:
        raise MemoryError("the fronts of the knapsack do not fit into memory")
    if status == -2:
        raise ValueError("no allocation fits the budget")
    return choice
