"""Lists of functionals against plain lists of rows, whatever is done to them in whatever order."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from skgpb.kernels import CellAverage, ConditionalMean, LowRank, PolicyMean, WindowMean
from skgpb.kernels._indirect import checked_mean
from skgpb.kernels._random_effect import RandomEffect, of_f, variance_of_effect
from skgpb.kernels.evaluator import Functionals, evaluator_of, key_of, unique_rows
from skgpb.kernels.learned_window import conditional_of

KERNEL = 0.8 * Matern(0.4, nu=1.5) + WhiteKernel(0.3)
PLAIN = 0.8 * Matern(0.4, nu=1.5)
POOL = np.random.default_rng(9).random((60, 2))
EVALUATORS = {
    "plain": (KERNEL, PLAIN, 2),
    "features": (LowRank(RBF(0.5), POOL, 1e-13, max_rank=60), RBF(0.5), 2),
}


def expected_covariance(base, sets, others):
    return np.array([[base(a, b).mean() for b in others] for a in sets]).reshape(
        len(sets), len(others)
    )


def check(functionals, sets, strata, kernel, base, evaluator):
    assert len(functionals) == len(sets)
    assert_array_equal(functionals.strata, strata)
    assert functionals.has_strata == any(strata)
    for found, row_set in zip(functionals, sets, strict=True):
        assert_array_equal(found, row_set)
    rows = np.concatenate(sets) if sets else np.empty((0, 2))
    assert_array_equal(functionals.rows, rows)
    if functionals.offsets is None:
        assert all(len(each) == 1 for each in sets)
    else:
        assert_array_equal(functionals.offsets, np.cumsum([0, *map(len, sets)]))
    K = functionals.covariance(functionals, evaluator)
    assert_allclose(K, expected_covariance(base, sets, sets), atol=1e-6)
    assert_allclose(functionals.variance(evaluator), np.diag(K), atol=1e-6)
    if kernel is KERNEL:
        assert_allclose(functionals.white_noise(evaluator), [0.3 / len(each) for each in sets])
    shared = functionals.share_strata(functionals)
    assert_allclose(
        np.broadcast_to(shared, K.shape), [[float(a == b > 0) for b in strata] for a in strata]
        if sets else K,
    )  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", EVALUATORS)
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("largest", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_list_does_what_a_plain_list_does(name, one_by_one, largest, seed):
    kernel, base, n_columns = EVALUATORS[name]
    rng, evaluator = np.random.default_rng(seed), evaluator_of(kernel, n_columns)
    ours, sets, strata = Functionals(n_columns, one_by_one=one_by_one), [], []

    def new(n):
        some = [POOL[rng.choice(60, int(rng.integers(1, largest + 1)))] for _ in range(n)]
        level = int(rng.integers(3))
        return Functionals.of(some, n_columns, level), some, [level] * n

    for _ in range(14):
        n = len(sets)
        match int(rng.integers(7)):
            case 0:
                more, some, levels = new(int(rng.integers(1, 4)))
                if rng.random() < 0.5:
                    more.embedding(evaluator)
                ours.extend(more)
                sets, strata = sets + some, strata + levels
            case 1:
                i, row_set = int(rng.integers(n + 1)), new(1)[1][0]
                ours[i] = row_set
                sets[i : i + 1], strata[i : i + 1] = [row_set], [0]
            case 2:
                more, some, levels = new(3)
                i, j = int(rng.integers(n + 1)), int(rng.integers(3))
                if rng.random() < 0.5:
                    more.embedding(evaluator)
                ours.put(i, more, j)
                sets[i : i + 1], strata[i : i + 1] = [some[j]], [levels[j]]
            case 3 if n:
                more, some, _ = new(2)
                more = Functionals.of(some, n_columns)
                slots = np.array([int(rng.integers(n)), n])
                ours.put_all(slots, more, n + 1)
                for slot, row_set in zip(slots.tolist(), some, strict=True):
                    sets[slot : slot + 1], strata[slot : slot + 1] = [row_set], [0]
                # Rows that replace others have no effect of their own.
                if ours.strata[slots[0]]:
                    strata[slots[0]] = int(ours.strata[slots[0]])
            case 4:
                ours = pickle.loads(pickle.dumps(ours))
            case 5:
                kept, other = list(sets), ours.copy()
                if other.has_strata or n:
                    other[0] = POOL[:1]
                check(ours, kept, strata, kernel, base, evaluator)
            case 6:
                ours.embedding(evaluator)
        check(ours, sets, strata, kernel, base, evaluator)
    n = len(sets)
    start = int(rng.integers(n + 1))
    numbers = rng.permutation(n)[: max(1, n // 2)]
    views = [
        (ours.first(start), range(start)),
        (ours.after(start), range(start, n)),
        (ours.select(numbers), numbers.tolist()),
        (ours.one(n - 1), [n - 1]),
    ]
    for most in (1, 2 * n, n * n):
        parts = list(ours.parts(most))
        assert [i for i, part in parts for i in range(i, i + len(part))] == list(range(n))
        assert most < n * n or len(parts) == 1
        views += [(part, range(i, i + len(part))) for i, part in parts]
    for view, chosen in views:
        some, levels = [sets[i] for i in chosen], [strata[i] for i in chosen]
        check(view, some, levels, kernel, base, evaluator)
    again = Functionals.between(ours.rows, ours.offsets, ours.strata)
    check(again, sets, strata, kernel, base, evaluator)
    few = ours.thin(n)
    assert_array_equal(few.strata, strata)
    for some, row_set in zip(few, sets, strict=True):
        assert 1 <= len(some) <= max(1, len(row_set))
        assert all((row_set == row).all(axis=1).any() for row in some)
    with pytest.raises(IndexError, match=f"got {n}$"):
        ours[n]


@pytest.mark.parametrize("n", [1, 5])
def test_embeddings_of_one_kernel_are_not_those_of_another(n):
    functionals = Functionals.of_rows(POOL[:n])
    found = []
    for scale in (0.3, 0.9, 0.3):
        evaluator = evaluator_of(LowRank(RBF(scale), POOL, 1e-13, max_rank=60), 2)
        for _ in range(2):  # with and without a cache
            found.append(functionals.covariance(functionals, evaluator))
            assert_allclose(found[-1], RBF(scale)(POOL[:n]), atol=1e-6)


def test_lists_with_wrong_offsets_are_refused():
    rows = POOL[:4]
    Functionals.between(rows, np.array([0, 1, 4]))
    for offsets in ([1, 4], [0, 3], [0, 2, 2, 4], []):
        with pytest.raises(ValueError, match="functionals must have rows"):
            Functionals.between(rows, np.array(offsets))


def test_equal_rows_are_one_functional_and_levels_are_told_apart():
    rows = np.array([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0], [2.0, 1.0], [2.0, 1.5]])
    numbers, first = unique_rows(rows)
    assert_array_equal(numbers, [0, 1, 0, 1, 2])
    assert first == [0, 1, 4]
    numbers, first = unique_rows(rows, merge=False)
    assert numbers.tolist() == first == [0, 1, 2, 3, 4]
    assert key_of(rows[:1]) == key_of(rows[2:3]) != key_of(rows[1:2])
    assert len({key_of(rows[:1], stratum) for stratum in (0, 1, 2)}) == 3


def test_a_random_effect_is_beside_the_kernel_of_f():
    kernel = RandomEffect(1.3 * RBF(0.4), 0.5, (0.01, 100.0))
    assert_allclose(kernel.theta, np.log([1.3, 0.4, 0.5]))
    assert_allclose(kernel.bounds[-1], np.log([0.01, 100.0]))
    assert [h.name for h in kernel.hyperparameters][-1] == "variance"
    assert len(kernel.bounds) == len(kernel.theta) == kernel.n_dims == 3
    other = kernel.clone_with_theta(kernel.theta + np.array([0.1, 0.2, 0.3]))
    assert_allclose(other.theta, kernel.theta + np.array([0.1, 0.2, 0.3]))
    assert_allclose(kernel.theta[-1], np.log(0.5))
    K, gradient = kernel(POOL[:5], eval_gradient=True)
    expected, slopes = kernel.base(POOL[:5], eval_gradient=True)
    assert_allclose(K, expected)
    assert_allclose(gradient, np.concatenate([slopes, np.zeros((5, 5, 1))], axis=2))
    assert_allclose(kernel(POOL[:5], POOL[5:7]), kernel.base(POOL[:5], POOL[5:7]))
    assert_allclose(kernel.diag(POOL), kernel.base.diag(POOL))
    assert kernel.is_stationary() and clone(kernel) == kernel
    assert of_f(kernel) == kernel.base and of_f(kernel.base) is kernel.base
    assert (variance_of_effect(kernel), variance_of_effect(kernel.base)) == (0.5, 0.0)


def test_the_kernel_of_queries_is_given_learned_or_that_of_f():
    A = np.linspace(0.0, 1.0, 30)[:, None]
    X = 2.0 * A
    assert conditional_of(None, None, None, "auto", None) == WindowMean(scale=0.0)
    assert conditional_of(None, X, None, "auto", None) == WindowMean(scale=0.0)
    learned = conditional_of(None, X, A, "embedding", None)
    assert isinstance(learned, ConditionalMean) and learned.A is A
    given = ConditionalMean(RBF(0.3), query_kernel=RBF(0.2, "fixed"), regularization=0.1)
    found = conditional_of(given, X, A, "auto", None)
    assert found is not given and found.A is A and given.A is None
    window = WindowMean(RBF(0.3), 0.1)
    found = conditional_of(window, X, A, "auto", None)
    assert found == window and found is not window
    assert isinstance(conditional_of(PolicyMean(RBF(0.3)), None, None, "auto", None), PolicyMean)
    with pytest.raises(ValueError, match="conditional must be None or one of WindowMean"):
        conditional_of(CellAverage(RBF(0.3), 3), None, None, "auto", None)


def test_means_of_functions_are_checked():
    assert_array_equal(checked_mean(lambda X: X[:, 0])(POOL), POOL[:, 0])
    for wrong in (lambda X: X, lambda X: 1.0, lambda X: np.full(len(X), np.nan)):
        with pytest.raises(ValueError, match=r"mean\(X\) must return finite numbers"):
            checked_mean(wrong)(POOL)
