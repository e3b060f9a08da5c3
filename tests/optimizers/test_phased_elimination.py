"""Phased elimination: batches designed in advance, answers in any order."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from reference.phased_elimination import NaivePhasedElimination
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import PhasedEliminationOptimizer
from skgpb.exceptions import GuaranteeWarning
from skgpb.kernels import CellAverage
from skgpb.optimizers import phased_elimination

ARMS = np.linspace(0, 1, 31)[:, None]
KERNEL = Matern(0.25, nu=2.5)


def make(**settings):
    settings = {"arms": ARMS, "alpha": 0.01, "horizon": 60, "random_state": 0} | settings
    return PhasedEliminationOptimizer(KERNEL, **settings)


def noisy(seed=0):
    rng = np.random.default_rng(seed)
    return lambda arm: float(np.sin(5 * arm.points).mean() + 0.1 * rng.normal())


#: Noise variances of arms, as groups of one to six people have them.
GROUPS = 0.03 / (1 + np.arange(31) * 7 % 6)


@pytest.mark.parametrize("beta", ["theory", "design", "paper", "rkhs"])
@pytest.mark.parametrize(("kernel", "alpha"), [(KERNEL, GROUPS), (RBF(0.2), 0.01)])
def test_batch_by_batch_it_does_what_the_papers_say(kernel, alpha, beta):
    opt = make(failure_probability=0.2, alpha=alpha, beta=beta, B=2.0).set_params(kernel=kernel)
    naive, answer = NaivePhasedElimination(kernel, ARMS, alpha, 60, 0.2, beta, B=2.0), noisy()
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


def test_shares_of_batches_add_up_to_what_may_go_wrong(monkeypatch):
    opt, answer, shares = make(beta="design", failure_probability=0.2), noisy(), []

    def outdone(gp, rows, B, share, log_odds, misspecification):
        shares.append((len(rows) - 1) * np.exp(-log_odds))
        return np.zeros(len(rows), dtype=bool)

    monkeypatch.setattr(phased_elimination, "outdone", outdone)
    opt.run(answer, budget=165)
    # 8, 22 and 30 answers make the horizon; then more than planned
    assert len(shares) == 5
    np.testing.assert_allclose(shares[:3], 0.05)
    np.testing.assert_allclose(shares[3:], [0.05 * 6 / np.pi**2, 0.05 * 6 / np.pi**2 / 4])


def test_the_answers_of_an_arm_have_its_own_noise():
    opt, X, y = make(alpha=GROUPS), ARMS[[3, 3, 8]], np.array([0.1, 0.2, 0.3])
    told = make(alpha=GROUPS)
    told.tell(X, y, alpha=GROUPS[[3, 3, 8]])
    for each in (opt.fit(X, y), make(alpha=GROUPS).tell(X, y)):
        for one, other in zip(
            each.predict(ARMS, return_std=True), told.predict(ARMS, return_std=True), strict=True
        ):
            np.testing.assert_allclose(one, other, atol=1e-10)
    posterior = told.posterior()
    np.testing.assert_allclose(posterior.noise, GROUPS)
    first, second = told.ask(2)
    pending = told.posterior([first, second])
    blocks = [first.descriptor[None], second.descriptor[None]]
    noises = GROUPS[[first.index, second.index]].tolist()
    seen = told.surrogate_.process_.imagine(blocks, noises)
    np.testing.assert_allclose(pending.var, seen.moments(ARMS, std=True)[1] ** 2, atol=1e-10)
    assert posterior.covariance.shape == (31, 31)
    covariance = seen.moments(ARMS, cov=True)[1]
    np.testing.assert_allclose(pending.covariance, covariance, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": GROUPS[:5]}, "one entry for each of 31"),
        ({"alpha": -GROUPS}, ">= 0"),
        ({"alpha": GROUPS, "R": 0.1}, "R must be None where alpha has a number for each arm"),
        ({"alpha": GROUPS, "arms": None, "bounds": [(0, 1)]}, "alpha must be one number for a box"),
        ({"beta": "bayes"}, "'beta' parameter"),
    ],
)
def test_what_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings).start()


def test_noisier_arms_are_asked_no_less_often():
    # Their variance falls more slowly, and the design asks where it is largest.
    opt = make(alpha=np.where(ARMS[:, 0] < 0.5, 0.01, 0.5), horizon=400)
    asked = np.array([arm.index for arm in opt.batch_])
    assert np.count_nonzero(asked >= 15) > 0.6 * len(asked)


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


@pytest.mark.parametrize("beta", ["design", "paper", 4.0])
def test_only_answers_of_the_batch_eliminate(beta):
    told, left = make(beta=beta), make(beta=beta)
    told.tell(np.tile(ARMS, (3, 1)), np.tile(-np.arange(31.0), 3))
    assert told.active_.tolist() == list(range(31)) or told.n_batches_ > 0
    left.tell([0.501], 50.0)  # no arm
    design = left.batch_
    answer = noisy()
    for arm in design:
        left.tell(arm, answer(arm))
    alone, answer = make(beta=beta), noisy()
    for arm in alone.batch_:
        alone.tell(arm, answer(arm))
    np.testing.assert_array_equal(left.active_, alone.active_)


@pytest.mark.parametrize("beta", ["theory", "rkhs"])
def test_answers_that_were_not_asked_for_count_where_they_may(beta):
    opt, answer = make(beta=beta), noisy()
    opt.tell(np.tile(ARMS, (40, 1)), np.tile(np.sin(5 * ARMS[:, 0]), 40))
    before = opt.n_batches_
    while opt.n_batches_ == before:
        arm = opt.ask()
        opt.tell(arm, answer(arm))
    alone = make(beta=beta)
    for arm in alone.batch_:
        alone.tell(arm, answer(arm))
    assert len(opt.active_) < 0.7 * len(alone.active_)


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


@pytest.mark.parametrize("beta", ["theory", "design"])
def test_the_best_arm_is_hardly_ever_left_out(beta):
    root, lost, left = np.linalg.cholesky(KERNEL(ARMS) + 1e-10 * np.eye(31)), 0, []
    for seed in range(20):
        rng = np.random.default_rng([seed, 9])
        if beta == "theory":
            f = root @ rng.normal(size=31)
        else:
            centers, weights = rng.random((4, 1)), rng.normal(size=4)
            weights *= 2.0 / np.sqrt(weights @ KERNEL(centers) @ weights)
            f = KERNEL(ARMS, centers) @ weights
        opt = make(alpha=0.09, beta=beta, B=2.0)
        opt.run(lambda arm, f=f, rng=rng: float(f[arm.index] + 0.3 * rng.normal()), budget=60)
        lost += int(np.argmax(f)) not in opt.active_
        left.append(len(opt.active_))
    # Each with a probability of at most 0.1: more than 9 of 20 have one of less than 1e-4.
    assert lost <= 9
    assert np.mean(left) < 25


def test_every_length_scale_that_may_be_right_keeps_what_it_must():
    opt = make(beta="design", B=2.0, optimizer="consistent", relearn="growing")
    opt.set_params(kernel=RBF(1.0))
    opt.run(noisy(), budget=60)
    known = make(beta="design", B=2.0).set_params(kernel=RBF(1.0))
    known.run(noisy(), budget=60)
    assert set(known.active_) <= set(opt.active_)


def test_widths_that_cannot_hold_are_told():
    with pytest.warns(GuaranteeWarning, match="the noise is learned from the answers"):
        make(beta="design", alpha=None).start()
    with warnings.catch_warnings():
        warnings.simplefilter("error", GuaranteeWarning)
        make(alpha=None).start()


def test_an_error_of_the_kernel_keeps_more():
    answers = {}
    for epsilon in (0.0, 0.1):
        opt = make(beta="design", B=2.0, misspecification=epsilon)
        opt.run(noisy(), budget=60)
        answers[epsilon] = set(opt.active_)
    assert answers[0.0] < answers[0.1]
