"""Averages within a budget of differential privacy."""

import copy
import math
import multiprocessing
import os
import pickle
import random
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from skgpb import GPOOOptimizer
from skgpb.exceptions import PrivacyBudgetError
from skgpb.lab.datasets import PrivateAverages, epsilon_of, rho_of

N = 64
VALUES = np.linspace(0.0, 10.0, N)
# Gaussian noise, and Laplace noise.
DELTAS = (1e-6, 0.0)


def make(values=VALUES, epsilon=1.0, delta=1e-6, **more):
    more = {"min_members": 4, "random_state": 0} | more
    return PrivateAverages(values, (0, 10), epsilon=epsilon, delta=delta, **more)


def groups(rng, how_many):
    """Draw groups that overlap in all ways: slices, random sets, nested ones, repeats."""
    for _ in range(how_many):
        size = int(rng.integers(4, N + 1))
        if rng.random() < 0.5:
            start = int(rng.integers(N - size + 1))
            yield np.arange(start, start + size)
        else:
            yield rng.permutation(N)[:size]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_no_row_is_ever_told_more_about_than_the_budget(delta, epsilon, seed):
    """Counted again from the variances of what was answered, not from what the oracle says."""
    oracle, rng = make(epsilon=epsilon, delta=delta), np.random.default_rng(seed)
    spent, seen, refused = np.zeros(N), {}, 0
    for group in groups(rng, 300):
        before = oracle.spent_.copy()
        affords = oracle.affords(group)
        try:
            answer = oracle.answer(group)
        except PrivacyBudgetError:
            assert not affords
            np.testing.assert_array_equal(oracle.spent_, before)
            refused += 1
            continue
        assert affords
        key = tuple(np.sort(group))
        if key in seen:
            assert answer == seen[key]
            continue
        seen[key] = answer
        # One value moves the average by 10 / n at most.
        moved = (10.0 / len(group)) ** 2 / (2.0 * answer.variance)
        # Laplace noise of scale b has the variance 2 b**2.
        spent[group] += moved if delta else 2.0 * math.sqrt(moved)
    assert refused > 0 and oracle.n_answers == len(seen)
    np.testing.assert_allclose(oracle.spent_, spent, rtol=1e-9)
    told = epsilon_of(spent.max(), delta) if delta else spent.max()
    assert told <= epsilon * (1.0 + 1e-9)
    assert oracle.epsilon_spent_ <= epsilon
    assert oracle.epsilon_spent_ > 0.9 * epsilon  # and it is used


def test_a_kept_library_counts_the_same_for_every_row():
    """Noise multipliers are those of the answers about groups that hold the row."""
    rdp = pytest.importorskip("dp_accounting.rdp")
    from dp_accounting import ComposedDpEvent, GaussianDpEvent

    oracle = make(epsilon=2.0)
    told = [
        (set(group.tolist()), len(group), oracle.answer(group).variance)
        for group in groups(np.random.default_rng(3), 40)
        if oracle.affords(group)
    ]
    orders = (1.0 + np.logspace(-1, 3, 1000)).tolist()
    for row in (0, 17, int(oracle.spent_.argmax())):
        events = [
            GaussianDpEvent(math.sqrt(variance) * size / 10.0)
            for members, size, variance in told
            if row in members
        ]
        found = rdp.RdpAccountant(orders).compose(ComposedDpEvent(events)).get_epsilon(1e-6)
        assert found == pytest.approx(epsilon_of(oracle.spent_[row], 1e-6), rel=1e-3)
        assert found <= 2.0 * (1.0 + 1e-3)


def test_every_row_has_a_budget_of_its_own():
    oracle = make()
    parts = np.arange(N).reshape(-1, 4)
    answers = [oracle.answer(part) for part in parts]
    alone = make().answer(parts[0])
    assert all(answer.variance == alone.variance for answer in answers)
    assert alone.rho == pytest.approx(rho_of(1.0, 1e-6), rel=1e-4)
    assert not oracle.affords(np.arange(8))


def test_halving_a_table_leaves_most_to_the_smallest_groups():
    oracle, group = make(), np.arange(N)
    while len(group) > 4:
        oracle.answer(group)
        group = group[: len(group) // 2]
    assert oracle.answer(group).rho > 0.65 * oracle.budget  # (1 - 1/4) (1 - 1/16) ... = 0.6885
    with pytest.raises(PrivacyBudgetError, match=r"budget of epsilon=1 at delta=1e-06 is spent"):
        oracle.answer(np.arange(4, 0, -1))


def test_a_share_of_what_is_left_may_be_named():
    oracle, group = make(), np.arange(32)
    assert oracle.answer(group, share=0.25).rho == pytest.approx(0.25 * oracle.budget, rel=1e-4)
    assert oracle.answer(group[:16], share=1).rho == pytest.approx(0.75 * oracle.budget, rel=1e-4)
    for bad in (0.0, 1.1, math.nan, "1", True):
        with pytest.raises(ValueError, match="share must be None or a number > 0 and <= 1"):
            oracle.answer(group, share=bad)


def test_a_repeated_question_has_the_same_answer_in_any_order_of_rows():
    oracle = make()
    first = oracle.answer(np.arange(8))
    spent = oracle.spent_.copy()
    assert oracle.answer(np.arange(8)[::-1]) == first
    np.testing.assert_array_equal(oracle.spent_, spent)
    assert oracle.n_answers == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("delta", DELTAS)
def test_noise_has_the_variance_that_is_told(delta):
    rng = np.random.default_rng(1)
    members, scores = np.arange(10, 30), []
    for _ in range(500):
        answer = make(delta=delta, random_state=int(rng.integers(2**31))).answer(members)
        scores.append((answer.average - VALUES[members].mean()) / math.sqrt(answer.variance))
    # 4.5 standard errors of the mean and the variance of 500 draws with kurtosis 3 or 6.
    assert abs(np.mean(scores)) < 4.5 / math.sqrt(500)
    assert abs(np.var(scores) - 1.0) < 4.5 * math.sqrt((2.0 if delta else 5.0) / 500)


def test_values_beyond_the_range_count_as_its_ends():
    outliers = VALUES.copy()
    outliers[0], outliers[-1] = -1e300, 1e300
    tame = VALUES.copy()
    tame[0], tame[-1] = 0.0, 10.0
    group = np.arange(N)
    assert make(outliers).answer(group) == make(tame).answer(group)


@pytest.mark.parametrize("delta", DELTAS)
def test_one_value_moves_an_answer_by_no_more_than_its_share(delta):
    """Add equal noise to two columns that differ in one value, by the whole range."""
    low, high = VALUES.copy(), VALUES.copy()
    low[10], high[10] = 0.0, 10.0
    one, two = make(low, delta=delta), make(high, delta=delta)
    for group in (np.arange(N), np.arange(20), np.arange(8, 16), np.arange(20, 28)):
        before, after = one.answer(group), two.answer(group)
        share = 10.0 / len(group) if 10 in group else 0.0
        assert after.average - before.average == pytest.approx(share, abs=1e-9)
        assert (before.variance, before.rho) == (after.variance, after.rho)


def test_laplace_noise_costs_epsilon_and_a_third_of_the_noise_of_a_gaussian():
    group = np.arange(8)
    pure, gaussian = make(delta=0.0).answer(group, 1.0), make().answer(group, 1.0)
    # A million steps of the range make up the rounding.
    assert pure.variance == pytest.approx(2.0 * (10.0 / 8.0) ** 2, rel=1e-5)
    assert gaussian.variance > 9.0 * pure.variance
    oracle = make(delta=0.0)
    for share in (0.5, 0.5):
        oracle.answer(group, share)
        group = group[:-1]
    assert oracle.epsilon_spent_ == pytest.approx(0.75, rel=1e-5)
    assert oracle.budget == oracle.epsilon == 1.0


def test_threads_share_one_budget(monkeypatch):
    """If two threads ask at the same time, only one of them gets the rest of a budget."""
    oracle, scale = make(), PrivateAverages._scale

    def slowly(*arguments):
        found = scale(*arguments)
        time.sleep(0.05)
        return found

    monkeypatch.setattr(PrivateAverages, "_scale", slowly)

    def ask(start):
        try:
            return oracle.answer(np.arange(start, start + 8), share=1.0)
        except PrivacyBudgetError:
            return None

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert sum(answer is not None for answer in answers) == 1
    assert oracle.spent_.max() <= oracle.budget


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_budget_cannot_be_doubled_by_a_copy(duplicate):
    with pytest.raises(TypeError, match="a copy would have a budget of its own"):
        duplicate(make())


FORKS = "fork" in multiprocessing.get_all_start_methods()
# Global oracles, which a fork inherits with all globals of a script.
OFFICE: list[PrivateAverages] = []


def in_office(cell):
    return OFFICE[-1].answer(cell).average


def _told(name):
    """Return the message that a forked process gets."""
    member = getattr(OFFICE[-1], name)
    try:
        return member(np.arange(8)) if callable(member) else member
    except RuntimeError as error:
        return str(error)


@pytest.mark.skipif(not FORKS, reason="needs forks")
def test_a_budget_is_not_spent_again_in_a_process_that_was_forked():
    OFFICE[:] = [make()]
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        for name in ("answer", "affords"):
            for said in pool.map(_told, [name] * 4):
                assert f"is counted in the process {os.getpid()}, and the process" in said
    assert OFFICE[-1].n_answers == 0
    assert OFFICE[-1].answer(np.arange(8)).rho > 0.0


@pytest.mark.skipif(not FORKS, reason="needs forks")
def test_a_run_on_processes_ends_with_its_first_answer_and_not_with_a_budget_each():
    OFFICE[:] = [make()]
    optimizer = GPOOOptimizer(pool=VALUES[:, None], min_members=4, random_state=0)
    refused = pytest.raises(RuntimeError, match="give all processes one ledger")
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool, refused:
        optimizer.run(in_office, 10, executor=pool)
    assert OFFICE[-1].epsilon_spent_ == 0.0
    assert not len(optimizer.history_)


def test_randomness_is_the_operating_systems_unless_it_is_given():
    assert isinstance(make(random_state=None)._random, random.SystemRandom)
    group = np.arange(N)
    assert make(random_state=None).answer(group) != make(random_state=None).answer(group)
    assert make(random_state=3).answer(group) == make(random_state=3).answer(group)
    assert make(random_state=3).answer(group) != make(random_state=4).answer(group)


@pytest.mark.slow
def test_an_optimizer_finds_the_best_group_of_a_pool():
    rng = np.random.default_rng(2)
    pool = rng.random((4000, 2))
    values = 5 + 4 * np.sin(5 * pool[:, 0]) * pool[:, 1] + rng.normal(size=4000)
    oracle = PrivateAverages(
        values, (-5, 15), epsilon=3, delta=1e-6, min_members=125, random_state=0
    )
    optimizer = GPOOOptimizer(pool=pool, min_members=125, random_state=0)
    for _ in range(60):
        cell = optimizer.ask()
        answer = oracle.answer(cell) if oracle.affords(cell) else None
        if answer is None:
            optimizer.tell(cell, None)
        else:
            optimizer.tell(cell, answer.average, alpha=answer.variance)
    best = optimizer.recommend()
    assert values[best.members].mean() > values.mean() + 2.0
    assert oracle.epsilon_spent_ <= 3.0


@pytest.mark.parametrize(
    ("group", "error", "says"),
    [
        ([0, 1, 2], ValueError, "at least min_members=4 rows, got 3"),
        ([0, 1, 2, 2], ValueError, "a row twice"),
        ([0, 1, 2, N], ValueError, "from 0 to 63, got 0 to 64"),
        ([-1, 1, 2, 3], ValueError, "got -1 to 3"),
        ([0.0, 1.0, 2.0, 3.0], ValueError, "row numbers, got an array of float64"),
        (np.ones(N, dtype=bool), ValueError, "row numbers, got an array of bool"),
        ([[0, 1, 2, 3]], ValueError, "shape"),
    ],
)
def test_what_is_no_group_is_refused_and_costs_nothing(group, error, says):
    oracle = make()
    with pytest.raises(error, match=says):
        oracle.answer(group)
    with pytest.raises(error, match=says):
        oracle.affords(group)
    assert not oracle.spent_.any()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"target_range": (3, 3)}, r"target_range must be two finite numbers .* got \(3, 3\)"),
        ({"target_range": (0, math.inf)}, "target_range"),
        ({"target_range": (-1.7e308, 1.7e308)}, "target_range"),
        ({"target_range": 5}, "target_range"),
        ({"epsilon": 0}, "epsilon must be a finite number > 0"),
        ({"delta": 1.5}, "delta must be a number > 0 and < 1"),
        ({"delta": 0, "epsilon": -1}, "epsilon must be a finite number > 0"),
        ({"delta": False}, "delta must be a number > 0 and < 1"),
        ({"min_members": 0}, "min_members must be a whole number >= 1, got 0"),
        ({"min_members": 2.5}, "min_members"),
        ({"values": [1.0, math.nan]}, "values"),
        ({"values": [[1.0], [2.0]]}, "values must be one column"),
    ],
)
def test_settings_that_promise_nothing_are_refused(given, says):
    settings = {"values": VALUES, "target_range": (0, 10), "epsilon": 1, "delta": 1e-6} | given
    with pytest.raises(ValueError, match=says):
        PrivateAverages(**settings)
