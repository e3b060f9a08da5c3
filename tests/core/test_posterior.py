"""The growing posterior against dense linear algebra in five obvious lines."""

import pickle
import tracemalloc
from copy import copy
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from skgpb._core._posterior import Posterior

KERNEL = RBF(0.3)


def direct(X, y, noise, T):
    """Posterior mean and variance of f(T), and the log likelihood, by a dense solve."""
    Q = KERNEL(X) + np.diag(noise)
    K = KERNEL(T, X)
    mean = K @ np.linalg.solve(Q, y)
    var = KERNEL.diag(T) - np.einsum("ij,ji->i", K, np.linalg.solve(Q, K.T))
    _, logdet = np.linalg.slogdet(Q)
    lml = -0.5 * (y @ np.linalg.solve(Q, y) + logdet + len(y) * np.log(2 * np.pi))
    return mean, var, lml


def append_block(p, K, K_new, noise, y, K_tracked, counts=None):
    """Observe a block given its covariances; what is above the diagonal must not matter."""
    room = p.room_for(len(K_new))
    room[:, : p.n] = K
    room[:, p.n :] = np.where(np.tri(len(K_new), dtype=bool), K_new, np.nan)
    return p.append_block(np.diag(K_new).copy(), noise, y, K_tracked, counts)


def later_covariances(session, slots, first):
    """Covariances of tracked functionals with those that were observed from a number on."""
    return KERNEL(session.T[slots], np.array(session.X)[first:])


class Session:
    """Feed a Posterior and remember everything it was told."""

    def __init__(self, seed, n_tracked=12, d=2):
        self.rng = np.random.default_rng(seed)
        self.T = self.rng.random((n_tracked, d))
        self.X, self.rows, self.y, self.noise = [], [], [], []
        self.free = list(range(n_tracked))
        self.p = Posterior()
        self.p.track(np.zeros((n_tracked, 0)), np.ones(n_tracked), np.arange(n_tracked))

    def twin(self):
        """Return a session that was told the same, with a copy of the posterior."""
        out = copy(self)
        lists = ("X", "rows", "y", "noise", "free")
        vars(out).update({name: [*getattr(self, name)] for name in lists}, p=self.p.copy())
        return out

    def log(self, x, y, noise):
        self.rows.append(x)
        self.y.append(y)
        self.noise.append(noise)

    def append(self, x, noise):
        self.append_block(x[None], noise)

    def append_tracked(self, slot, noise):
        y = self.rng.normal()
        assert self.p.append_tracked(slot, KERNEL(self.T, self.T[slot][None])[:, 0], noise, y)
        self.X.append(self.T[slot])
        self.log(self.T[slot], y, noise)

    def append_block(self, X, noise):
        y = self.rng.normal(size=len(X))
        observed = np.array(self.X).reshape(-1, self.T.shape[1])
        K = KERNEL(X, observed) if self.X else np.zeros((len(X), 0))
        assert append_block(self.p, K, KERNEL(X), np.full(len(X), noise), y, KERNEL(self.T, X))
        for x, value in zip(X, y, strict=True):
            self.X.append(x)
            self.log(x, value, noise)

    def repeat(self, i, noise):
        y = self.rng.normal()
        assert self.p.repeat(i, noise, y)
        self.log(self.X[i], y, noise)

    def y_square(self):
        """y' Q^-1 y of all answers."""
        X, y = np.array(self.rows), np.array(self.y)
        return float(y @ np.linalg.solve(KERNEL(X) + np.diag(self.noise), y))

    def check(self, rtol=1e-9):
        mean, var, lml = direct(np.array(self.rows), np.array(self.y), np.array(self.noise), self.T)
        assert_allclose(self.p.tracked_mean(), mean, atol=rtol)
        assert_allclose(self.p.tracked_var(), var, atol=rtol)
        assert_allclose(self.p.log_marginal_likelihood(), lml, rtol=rtol, atol=rtol)
        L = self.p.factor()
        assert_allclose(L @ L.T, KERNEL(np.array(self.X)) + np.diag(self.p.noises()), atol=1e-12)
        K = KERNEL(self.T, np.array(self.X))
        assert_allclose(K @ self.p.weights(), mean, atol=rtol)
        self.p.solve_rows(K)
        assert_allclose(K, self.p.tracked_rows(), atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_any_sequence_of_updates_equals_a_dense_solve(seed):
    s = Session(seed)
    free = list(range(len(s.T)))
    for _ in range(60):
        move = s.rng.integers(5)
        noise = 10.0 ** s.rng.uniform(-2, 0)
        if move == 0 and free:
            s.append_tracked(free.pop(), noise)
        elif move == 1:
            s.append(s.rng.random(2), noise)
        elif move == 2:
            s.append_block(s.rng.random((3, 2)), noise)
        elif s.X:
            s.repeat(int(s.rng.integers(len(s.X))), noise)
        if s.X:
            s.check()


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_follow_later_are_those_of_a_dense_solve(seed):
    """In any order, and never above what their last known moments allow."""
    s, beta = Session(seed, n_tracked=30), 9.0
    free, reach = list(range(30)), {}
    for _ in range(3):
        s.append_tracked(free.pop(), 0.1)

    def later(slots, first):
        return KERNEL(s.T[slots], np.array(s.X)[first:])

    for t in range(20):
        move, noise = s.rng.integers(4), 10.0 ** s.rng.uniform(-2, 0)
        if move < 3:
            slot, y = free.pop(), s.rng.normal()
            s.p.source = later
            assert s.p.append_lazily(slot, 1.0, noise, y) and s.p.behind
            s.X.append(s.T[slot])
            s.log(s.T[slot], y, noise)
        elif t % 2:
            s.repeat(int(s.rng.integers(len(s.X))), noise)
            assert not s.p.behind
        mean, var, _ = direct(np.array(s.rows), np.array(s.y), np.array(s.noise), s.T)
        # some rows now, others not for long: their bounds hold
        for slot in s.rng.integers(30, size=3).tolist():
            assert_allclose(s.p.moments_at(slot), (mean[slot], var[slot]), atol=1e-9)
            square = s.y_square()
            reach[slot] = mean[slot], var[slot], square
        for slot, (m, v, square) in reach.items():
            bound = m + np.sqrt(v * (beta + s.y_square() - square))
            assert mean[slot] + np.sqrt(beta * var[slot]) <= bound + 1e-9
    s.check()


def test_rows_behind_are_brought_up_by_whatever_reads_or_changes_them():
    def session():
        s = Session(3)
        s.p.source = lambda slots, first: KERNEL(s.T[slots], np.array(s.X)[first:])
        for slot in (2, 5, 7):
            assert s.p.append_lazily(slot, 1.0, 0.1, 0.3 * slot)
            s.X.append(s.T[slot])
            s.log(s.T[slot], 0.3 * slot, 0.1)
        assert s.p.behind
        return s

    calls = [
        lambda s: s.append_tracked(1, 0.2),
        lambda s: s.append(np.array([0.1, 0.9]), 0.2),
        lambda s: s.repeat(1, 0.2),
        lambda s: s.p.set_targets(s.p.targets()),
        lambda s: setattr(s, "p", s.p.copy()),
        lambda s: setattr(s, "p", pickle.loads(pickle.dumps(s.p))),
        lambda s: s.p.track(KERNEL(s.T[[4]], np.array(s.X)), np.ones(1), np.array([4])),
        lambda s: s.p.tracked_rows(),
    ]
    for call in calls:
        s = session()
        call(s)
        s.check()


@pytest.mark.parametrize("lazy", [False, True])
def test_known_moments_need_rows_only_where_rows_are_read_or_changed(lazy):
    def later(slots, first):
        solved.extend(slots.tolist())
        return KERNEL(s.T[slots], np.array(s.X)[first:])

    def again():
        """Return a session that was told the same, and tracks by moments alone."""
        s = Session(3)
        s.p.untrack_all()
        s.X, s.rows, s.y, s.noise = ([*each] for each in told)
        X = np.array(s.X)
        none = np.zeros((0, len(X)))
        noise, y = np.array(s.noise), np.array(s.y)
        assert append_block(s.p, np.zeros((len(X), 0)), KERNEL(X), noise, y, none)
        s.p.source = later
        s.p.track_known(np.ones(len(s.T)), *known)
        return s

    s, solved = Session(3), []
    for slot in (2, 5, 7):
        s.append_tracked(slot, 0.1)
    s.p.source = later
    if lazy:
        assert s.p.append_lazily(9, 1.0, 0.1, 0.4)
        s.X.append(s.T[9])
        s.log(s.T[9], 0.4, 0.1)
    told, known = (s.X, s.rows, s.y, s.noise), s.p.known_moments()
    assert not solved
    mean, var = s.p.tracked_mean(), s.p.tracked_var()
    assert len(solved) == 12 * lazy
    calls = [
        (lambda s: s.append_tracked(1, 0.2), True),
        (lambda s: s.append(np.array([0.1, 0.9]), 0.2), True),
        (lambda s: s.repeat(1, 0.2), True),
        (lambda s: s.p.set_targets(s.p.targets()), True),
        (lambda s: setattr(s, "p", pickle.loads(pickle.dumps(s.p))), True),
        (lambda s: s.p.tracked_rows(), True),
        (lambda s: s.p.tracked_var(), False),
        (lambda s: s.p.moments_at(4), False),
        (lambda s: s.p.known_moments(), False),
    ]
    for call, rows in calls:
        s, solved = again(), []
        call(s)
        if rows:
            assert {*solved} == {*range(12)}
            s.check()
        else:
            assert len(solved) <= 12 * lazy
            assert_allclose(s.p.tracked_mean(), mean, rtol=0, atol=1e-14)
            assert_allclose(s.p.tracked_var(), var, rtol=0, atol=1e-14)
            s.append_tracked(1, 0.2)
            s.check()


@pytest.mark.parametrize(
    ("place", "wrong"), [(0, np.nan), (1, -1e-9), (1, np.inf), (2, -1), (2, 2), (0, None)]
)
def test_moments_that_cannot_be_are_refused(place, wrong):
    s = Session(0)
    s.append_tracked(0, 0.1)
    known = list(s.p.known_moments())
    if wrong is None:
        known[place] = known[place][1:]
    else:
        known[place][3] = wrong
    with pytest.raises(ValueError, match="moments"):
        s.p.track_known(np.ones(12), *known)
    s.check()


def test_slots_can_be_overwritten_and_appended_while_observing():
    s = Session(0)
    for i in range(4):
        s.append_tracked(i, 0.1)
    s.T = np.vstack([s.T, s.rng.random((2, 2))])
    s.T[1] = s.rng.random(2)
    K = KERNEL(s.T[[1, 12, 13]], np.array(s.X))
    s.p.track(K, np.ones(3), np.array([1, 12, 13]))
    s.check()
    s.append_tracked(13, 0.2)
    s.repeat(2, 0.3)
    s.check()


def test_2000_rounds_stay_at_a_fresh_factorisation():
    s = Session(1, n_tracked=40)
    s.T = np.sort(s.T, axis=0)
    for i in range(40):
        s.append_tracked(i, 0.01)
    for _ in range(1960):
        s.repeat(int(s.rng.integers(40)), 0.01)
    L = s.p.factor()
    Q = KERNEL(np.array(s.X)) + np.diag(s.p.noises())
    assert np.abs(L @ L.T - Q).max() < 1e-13
    assert_allclose(s.p.noises(), 0.01 / s.p.counts(), rtol=1e-12)
    V = np.linalg.solve(np.linalg.cholesky(Q), KERNEL(np.array(s.X), s.T)).T
    condition = np.linalg.cond(Q)
    eps = np.finfo(float).eps
    assert_allclose(
        s.p.tracked_mean(), V @ np.linalg.solve(L, s.p.targets()), atol=10 * condition * eps
    )
    assert_allclose(s.p.tracked_var(), 1 - np.einsum("ij,ij->i", V, V), atol=condition * eps)


@pytest.mark.slow
def test_growth_stays_exact_for_2000_distinct_observations():
    rng = np.random.default_rng(3)
    X = rng.random((2000, 3))
    T = rng.random((5, 3))
    p = Posterior()
    p.track(np.zeros((5, 0)), np.ones(5), np.arange(5))
    K, KT, y = KERNEL(X), KERNEL(T, X), rng.normal(size=2000)
    for i in range(2000):
        row, single, noise = (
            np.ascontiguousarray(K[i : i + 1, :i]),
            np.ones((1, 1)),
            np.full(1, 0.01),
        )
        tracked = np.ascontiguousarray(KT[:, i : i + 1])
        assert append_block(p, row, single, noise, y[i : i + 1], tracked)
    L = p.factor()
    Q = K + 0.01 * np.eye(2000)
    assert np.abs(L @ L.T - Q).max() < 1e-12
    assert_allclose(p.tracked_mean(), KT @ np.linalg.solve(Q, y), atol=1e-9)


def test_a_lost_pivot_is_reported_and_changes_nothing():
    p = Posterior()
    p.track(np.zeros((1, 0)), np.ones(1), np.arange(1))
    assert p.append_tracked(0, np.ones(1), 0.0, 2.0)
    before = pickle.dumps(p)
    assert not p.append_tracked(0, np.ones(1), 0.0, 2.0)
    one = np.ones((1, 1))
    assert not append_block(p, one, one, np.zeros(1), np.ones(1), one)
    assert pickle.dumps(p) == before
    assert p.append_tracked(0, np.ones(1), 0.0, 2.0, 1e-10)


def test_repeats_without_noise():
    p = Posterior()
    p.track(np.zeros((2, 0)), np.ones(2), np.arange(2))
    k = np.array([1.0, 0.5])
    assert p.append_tracked(0, k, 0.0, 1.0)
    assert p.repeat(0, 0.0, 2.0)
    assert p.repeat(0, 0.0, 3.0)
    assert_allclose(p.tracked_mean(), [2.0, 1.0])
    assert_allclose(p.tracked_var(), [0.0, 0.75])
    assert p.repeat(0, 0.1, 50.0)
    assert_allclose(p.tracked_mean(), [2.0, 1.0])


def test_a_repeat_that_would_cancel_is_refused_and_changes_nothing():
    s = Session(3)
    s.append_tracked(0, 1e9)
    s.append_tracked(1, 0.1)
    before = pickle.dumps(s.p)
    assert not s.p.repeat(0, 0.1, 1.0)
    assert pickle.dumps(s.p) == before


def near_twins(gap=4e-14):
    """Track two functionals; given the first, the second has this variance."""
    K = np.array([[1.0, np.sqrt(1.0 - gap)], [np.sqrt(1.0 - gap), 1.0]])
    p = Posterior()
    p.track(np.zeros((2, 0)), np.ones(2), np.arange(2))
    assert p.append_tracked(0, K[0], 0.0, 1.0)
    return p, K


def test_a_repeat_that_would_leave_rounding_is_refused_and_changes_nothing():
    p, K = near_twins(4e-15)  # this gap alone is large enough for a pivot
    assert p.append_tracked(1, K[1], 1e-10, 1.0)
    # A variance below zero, as rounding leaves it: 1e-15 of the prior's.
    p.track(np.array([[1.0, K[0, 1]]]), np.array([1.0 - 1e-15]), np.array([2]))
    before = pickle.dumps(p)
    assert not p.repeat(1, 0.0, 1.0)
    assert pickle.dumps(p) == before
    assert p.repeat(1, 1e-10, 1.0)


def test_a_pivot_below_what_rounding_did_to_a_variance_is_lost():
    p, K = near_twins()
    assert pickle.loads(pickle.dumps(p)).append_tracked(1, K[1], 0.0, 1.0)
    p.track(np.array([[1.0]]), np.array([1.0 - 1e-15]), np.array([2]))
    before = pickle.dumps(p)
    k = np.append(K[1], K[1, 0])
    assert not p.append_tracked(1, k, 0.0, 1.0)
    block = append_block(p, K[:1, 1:], K[1:, 1:], np.zeros(1), np.ones(1), k[:, None])
    assert not block
    assert pickle.dumps(p) == before
    assert not pickle.loads(before).append_tracked(1, k, 0.0, 1.0)
    assert p.append_tracked(1, k, 0.0, 1.0, 1e-10)


def test_an_answer_over_no_variance_is_refused_and_changes_nothing():
    p = Posterior()
    p.track(np.zeros((1, 0)), np.full(1, 1e-320), np.arange(1))
    before = pickle.dumps(p)
    assert not p.append_tracked(0, np.full(1, 1e-320), 0.0, 1.0)
    zero = np.zeros((1, 1))
    assert not append_block(p, np.zeros((1, 0)), zero, np.zeros(1), np.ones(1), zero)
    assert pickle.dumps(p) == before


def test_empty_posterior_survives_everything():
    p = Posterior()
    assert p.tracked_mean().shape == p.weights().shape == (0,)
    assert p.log_marginal_likelihood() == 0.0
    assert append_block(p, *(np.zeros((0, 0)),) * 2, np.zeros(0), np.zeros(0), np.zeros((0, 0)))
    p = pickle.loads(pickle.dumps(p)).copy()
    first = np.zeros((1, 0)), np.ones((1, 1)), np.full(1, 0.1), np.ones(1), np.zeros((0, 1))
    assert append_block(p, *first)
    assert p.n == 1
    assert p.m == 0
    with pytest.raises(IndexError):
        p.repeat(1, 0.1, 0.0)
    with pytest.raises(IndexError):
        p.moments_at(0)
    with pytest.raises(ValueError, match="fit 1 observed, 0 tracked and 1 new"):
        p.append_block(np.ones(1), np.full(1, 0.1), np.ones(1), np.zeros((1, 1)))


def test_pickle_and_copy_continue_identically():
    s = Session(5)
    for i in range(5):
        s.append_tracked(i, 0.1)
    clone = pickle.loads(pickle.dumps(s.p))
    other = s.p.copy()
    for p in (s.p, clone, other):
        p.repeat(1, 0.1, 0.7)
    assert_allclose(clone.tracked_mean(), s.p.tracked_mean(), rtol=0, atol=0)
    assert_allclose(other.tracked_var(), s.p.tracked_var(), rtol=0, atol=0)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(6))
def test_copies_of_copies_know_nothing_of_each_other(seed):
    """They share buffers until one writes what another sees, in whichever order they end."""
    rng, family = np.random.default_rng(seed), [Session(seed)]
    family[0].append(rng.random(2), 0.1)
    for _ in range(70):
        at = int(rng.integers(len(family)))
        s, noise, move = family[at], 10.0 ** rng.uniform(-2, 0), rng.integers(9)
        s.p.source = partial(later_covariances, s)
        if move < 2:
            family.append(s.twin())
        elif move == 2 and len(family) > 1:
            del family[at], s
        elif move == 3:
            s.append_block(rng.random((int(rng.integers(1, 9)), 2)), noise)
        elif move == 4:
            s.repeat(int(rng.integers(len(s.X))), noise)
        elif move == 5:
            slots, s.T = rng.choice(len(s.T), 3, replace=False), s.T.copy()
            s.T[slots] = rng.random((3, 2))
            s.p.track(KERNEL(s.T[slots], np.array(s.X)), np.ones(3), slots)
        elif move == 6:
            s.T = rng.random(s.T.shape)
            mean, var, _ = direct(np.array(s.rows), np.array(s.y), np.array(s.noise), s.T)
            s.p.track_known(np.ones(len(s.T)), mean, var, np.full(len(s.T), s.p.n))
        elif s.free:
            slot, y = s.free.pop(), rng.normal()
            if move == 7:
                s.append_tracked(slot, noise)
            else:
                assert s.p.append_lazily(slot, 1.0, noise, y)
                s.X.append(s.T[slot])
                s.log(s.T[slot], y, noise)
        for each in family:
            each.check()


def test_a_copy_has_no_numbers_of_its_own_before_it_needs_them():
    s = Session(0)
    s.append_block(s.rng.random((200, 2)), 0.1)
    s.append(s.rng.random(2), 0.1)
    size = s.p.factor().nbytes
    tracemalloc.start()
    twin = s.twin()
    twin.append(s.rng.random(2), 0.1)
    _, peak = tracemalloc.get_traced_memory()
    del twin
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    s.append(s.rng.random(2), 0.1)
    _, own = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.3 * size and own - before < 0.3 * size


def test_set_targets_equals_observing_them():
    s = Session(7)
    for i in range(6):
        s.append_tracked(i, 0.1)
    y = s.rng.normal(size=6)
    s.p.set_targets(y)
    s.y = list(y)
    s.check()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("m", [1, 327, 328, 329, 1500])
def test_products_that_come_in_parts_are_whole(m):
    rng = np.random.default_rng(m)
    n = 800  # 2**18 elements are 327 rows
    X, T = rng.random((n, 2)), rng.random((m, 2))
    y, noise = rng.normal(size=n), np.full(n, 0.1)
    p = Posterior()
    p.track(np.zeros((m, 0)), np.ones(m), np.arange(m))
    assert append_block(p, np.zeros((n, 0)), KERNEL(X), noise, y, KERNEL(T, X))
    assert p.append_tracked(0, KERNEL(T, T[:1])[:, 0].copy(), 0.1, 0.5)
    mean, var, _ = direct(np.vstack([X, T[:1]]), np.append(y, 0.5), np.full(n + 1, 0.1), T)
    assert_allclose(p.tracked_mean(), mean, atol=1e-9)
    assert_allclose(p.tracked_var(), var, atol=1e-9)
