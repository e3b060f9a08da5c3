"""Phased elimination: batches designed in advance, answers in any order."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from reference.phased_elimination import NaivePhasedElimination
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import PhasedEliminationOptimizer
from skgpb.kernels import CellAverage

ARMS = np.linspace(0, 1, 31)[:, None]
KERNEL = Matern(0.25, nu=2.5)


def make(**settings):
    settings = {"arms": ARMS, "alpha": 0.01, "horizon": 60, "random_state": 0} | settings
    return PhasedEliminationOptimizer(KERNEL, **settings)


def noisy(seed=0):
    rng = np.random.default_rng(seed)
    return lambda arm: float(np.sin(5 * arm.points).mean() + 0.1 * rng.normal())


@pytest.mark.parametrize("kernel", [KERNEL, RBF(0.2)])
def test_batch_by_batch_it_does_what_the_paper_says(kernel):
    opt = make(failure_probability=0.2).set_params(kernel=kernel)
    naive, answer = NaivePhasedElimination(kernel, ARMS, 0.01, 60, 0.2), noisy()
    while naive.t < 60:
        asked = naive.design()
        assert [arm.index for arm in opt.batch_] == asked
        batch = opt.batch_
        answers = [answer(arm) for arm in batch]
        # In another order than that of the design.
        for i in reversed(range(len(batch))):
            opt.tell(batch[i], answers[i])
        naive.eliminate(asked, answers)
        assert opt.active_.tolist() == naive.left
        assert opt.n_batches_ == naive.i
    assert len(opt.history_) == 60
    assert len(naive.left) < len(ARMS)


def test_batches_are_few():
    opt = make(horizon=400)
    opt.run(noisy(), budget=400)
    assert opt.n_batches_ == 4  # 20, 90, 190 and the 100 that are left
    assert opt.ask() in opt.batch_
    assert len(opt.batch_) > 100


def test_asking_follows_the_design_and_repeats_what_is_answered():
    opt = make(horizon=400, arms=ARMS[::6])
    design = [arm.index for arm in opt.batch_]
    assert len(design) == 20 > len(set(design))
    asked = opt.ask(len(set(design)))
    assert sorted({arm.index for arm in asked}) == sorted(set(design))
    with pytest.raises(ValueError, match="all that is left of this batch is pending"):
        opt.ask(len(asked) + 1)
    for arm in asked:
        opt.tell(arm, 0.0)
    assert opt.ask().index in design


def test_only_answers_of_the_batch_eliminate():
    told, left = make(), make()
    told.tell(np.tile(ARMS, (3, 1)), np.tile(-np.arange(31.0), 3))
    assert told.active_.tolist() == list(range(31)) or told.n_batches_ > 0
    left.tell([0.501], 50.0)  # no arm
    design = left.batch_
    answer = noisy()
    for arm in design:
        left.tell(arm, answer(arm))
    alone, answer = make(), noisy()
    for arm in alone.batch_:
        alone.tell(arm, answer(arm))
    np.testing.assert_array_equal(left.active_, alone.active_)


def test_a_failure_is_asked_again_before_the_next_batch():
    opt, answer = make(), noisy()
    first = opt.ask()
    opt.tell(first, None)
    n = len(opt.batch_)
    for _ in range(n):
        arm = opt.ask()
        opt.tell(arm, answer(arm))
    assert opt.n_batches_ == 1
    assert (opt.history_["descriptor"][:, 0] == first.descriptor[0]).any()


def test_a_run_goes_on_from_its_file(tmp_path):
    opt, answer = make(), noisy()
    opt.run(answer, budget=11)
    opt.save(tmp_path / "run.skgpb")
    again = PhasedEliminationOptimizer.load(tmp_path / "run.skgpb")
    assert [a.index for a in again.batch_] == [a.index for a in opt.batch_]
    same, copy = noisy(5), noisy(5)
    twin = pickle.loads(pickle.dumps(opt))
    for _ in range(20):
        a, b, c = opt.ask(), again.ask(), twin.ask()
        assert a == b == c
        reward = same(a)
        assert reward == copy(a)
        for each in (opt, again, twin):
            each.tell(a, reward)
    np.testing.assert_array_equal(opt.active_, again.active_)


def test_cells_are_arms_as_well():
    edges = np.linspace(0, 1, 11)
    cells = np.column_stack([edges[:-1], edges[1:]])
    opt = PhasedEliminationOptimizer(
        CellAverage(RBF(0.2), 4), arms=cells, alpha=0.01, horizon=100, random_state=0
    )
    result = opt.run(noisy(), budget=100)
    assert result.x.index in (2, 3)
    assert result.gap < 0.2


def test_points_stand_for_a_box_throughout():
    opt = PhasedEliminationOptimizer(
        RBF(0.3), bounds=[(0, 1), (0, 2)], alpha=0.01, horizon=60, n_candidates=100, random_state=0
    )
    rows = opt.start().arms_
    assert rows.shape == (100, 2)
    opt.run(noisy(), budget=60)
    np.testing.assert_array_equal(opt.arms_, rows)


def test_without_noise_nothing_is_asked_twice():
    opt = make(alpha=0.0, arms=ARMS[::3], horizon=400)
    design = [arm.index for arm in opt.batch_]
    assert len(design) == len(set(design)) <= 11


def test_the_best_arm_is_hardly_ever_left_out():
    root = np.linalg.cholesky(KERNEL(ARMS) + 1e-10 * np.eye(31))
    lost = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 9])
        f = root @ rng.normal(size=31)
        opt = make(alpha=0.09)
        opt.run(lambda arm, f=f, rng=rng: float(f[arm.index] + 0.3 * rng.normal()), budget=60)
        lost += int(np.argmax(f)) not in opt.active_
    # Each with a probability of at most 0.1: more than 9 of 20 have one of less than 1e-4.
    assert lost <= 9
