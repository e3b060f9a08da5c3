"""A single outlier to an indirect query."""

from __future__ import annotations

import cases
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import CMESOptimizer
from skgpb.exceptions import ModelWarning
from skgpb.kernels import WindowMean


def played(error, rounds=40, seed=0, **parameters):
    """CMES on a hump at 0.3; answer 15 is off by ``error`` ranges of f."""
    rng = np.random.default_rng(seed)
    optimizer = CMESOptimizer(
        conditional=WindowMean(scale=0.1),
        bounds=[(0, 1)],
        query_bounds=[(0, 1)],
        n_points=200,
        n_candidates=200,
        random_state=seed,
        **parameters,
    )
    for t in range(rounds):
        query = optimizer.ask()
        answer = np.exp(-0.5 * (query.a[0] - 0.3) ** 2 / 0.02) / np.sqrt(2.0)
        optimizer.tell(query, answer + 0.05 * rng.normal() + (error if t == 15 else 0.0))
    return optimizer


@pytest.mark.one_in(2)
@pytest.mark.parametrize("error", [8.0, -8.0])
def test_a_wild_answer_counts_for_little(error):
    optimizer = played(error)
    assert list(optimizer.surrogate_.outlier_factors) == [15]
    assert optimizer.alpha_ < 0.1**2
    # Within a tenth f, a hump of standard deviation 0.1, falls by less than half of its height.
    assert abs(optimizer.recommend()[0] - 0.3) < 0.1


@pytest.mark.slow
def test_no_answer_is_wild_where_none_is():
    assert played(0.0).surrogate_.outlier_factors == {}


def test_an_error_of_the_kernel_explains_any_answer():
    assert played(8.0, rounds=25, model_noise=1e-6).surrogate_.outlier_factors == {}


def test_a_wild_answer_is_told_of():
    with pytest.warns(ModelWarning, match=r"one answer is far from .* by 7\.9") as caught:
        optimizer = played(8.0)
    assert sum(each.category is ModelWarning for each in caught) == 1
    assert optimizer.criticism().repeats_fit


@pytest.mark.slow
def test_a_wild_answer_that_is_too_high_is_asked_again_at_once():
    runs = (played(8.0, rounds) for rounds in range(16, 30))
    first = next(run for run in runs if run.surrogate_.outlier_factors)
    again = first.ask()
    assert np.array_equal(again.a, first.history_["a"][15])
    first.tell(again, 0.7)
    assert not np.array_equal(first.ask().a, again.a)


@pytest.mark.slow
def test_a_wild_answer_that_is_confirmed_is_wild_no_more():
    optimizer = played(8.0, rounds=30)
    a, outliers = optimizer.history_["a"][15], optimizer.history_["reward"][15]
    for _ in range(3):
        optimizer.tell(a, outliers)
    for _ in range(10):
        query = optimizer.ask()
        optimizer.tell(query, 0.0)
    assert 15 not in optimizer.surrogate_.outlier_factors


@pytest.mark.one_in(2)
@pytest.mark.parametrize("again", [False, True])
def test_a_saved_run_knows_its_wild_answers(tmp_path, again):
    optimizer = played(8.0, rounds=24)
    optimizer.save(tmp_path / "run.json")
    loaded = cases.loaded(CMESOptimizer, tmp_path / "run.json", again)
    assert loaded.surrogate_.outlier_factors == optimizer.surrogate_.outlier_factors != {}
    assert np.array_equal(loaded.ask().a, optimizer.ask().a)


def surprised(answers, **parameters):
    """CMES told ten answers of noise 0.1 and, at 0.52, some others."""
    optimizer = CMESOptimizer(
        conditional=WindowMean(scale=0.05),
        bounds=[(0, 1)],
        query_bounds=[(0, 1)],
        relearn=1,
        random_state=0,
        **parameters,
    )
    rng = np.random.default_rng(0)
    for a in np.linspace(0.05, 0.95, 10):
        optimizer.tell([a], 0.1 * rng.normal())
    for answer in answers:
        optimizer.tell([0.52], answer)
    return optimizer


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_query_of_surprisingly_high_answers_is_asked_again(n):
    optimizer = surprised([0.35] * n)
    assert optimizer.surrogate_.outlier_factors == {}
    assert optimizer.ask().a == 0.52


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("answers", "parameters"),
    [
        ([0.35] * 4, {}),
        ([0.35, 0.0], {}),
        ([-0.35], {}),
        ([0.35], {"alpha": 0.01}),
        ([0.35], {"kernel": RBF(0.3)}),
        ([0.35], {"cost": lambda a: 1.0 + a[0]}),
    ],
    ids=["four answers", "not confirmed", "low", "known noise", "known kernel", "other costs"],
)
def test_other_queries_are_not(answers, parameters):
    assert surprised(answers, **parameters).ask().a != 0.52


def test_in_a_batch_a_surprising_query_is_asked_once():
    batch = surprised([0.35]).ask(3)
    assert [query.a == 0.52 for query in batch] == [True, False, False]
