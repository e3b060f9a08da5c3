"""Candidates in a box that move in turn, once moving all of them would take a round too long."""

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

import skgpb.domains.box_candidates
import skgpb.optimizers._sets
from skgpb import EIOptimizer, GPTSOptimizer, GPUCBOptimizer, defaults


@pytest.fixture(autouse=True)
def little_work(monkeypatch):
    # All of 64 candidates move after 8 queries, 16 after 16 and 8, the fewest, from 23 on.
    monkeypatch.setattr(defaults, "MOST_MULTIPLICATIONS", 64**2)


def played(cls, n, **settings):
    opt = cls(bounds=[(0, 1)] * 4, n_candidates=64, random_state=0, **settings)
    play(opt, n)
    return opt


def play(opt, n):
    for _ in range(n):
        arm = opt.ask()
        opt.tell(arm, float(np.sin(5 * arm.points).sum()))


@pytest.mark.parametrize("settings", [{}, {"kernel": RBF(0.4), "alpha": 0.01}], ids=str)
def test_so_many_candidates_move_as_the_work_allows(settings):
    opt = played(EIOptimizer, 8, **settings)
    for _ in range(8, 30):
        before = cases.rows(opt)
        play(opt, 1)
        changed = (cases.rows(opt) != before).any(axis=1).sum()
        # The best is asked once more.
        n_queries = len(np.unique(opt.history_["descriptor"], axis=0))
        # A point of a face may be drawn there once more.
        assert 1 <= changed <= max(8, 64**2 // n_queries**2)
        # Candidates that stay are followed as exactly as those that moved.
        mean, std = cases.moments(opt)
        expected = opt.surrogate_.predict(cases.rows(opt), return_std=True)
        assert_allclose(mean, expected[0], atol=1e-8)
        assert_allclose(std, expected[1], atol=1e-6)


def test_the_best_point_is_recommended_though_it_was_asked_long_ago():
    opt = played(GPUCBOptimizer, 30, kernel=RBF(0.4), alpha=1e-4)
    best = np.full(4, 0.31)
    opt.tell(best, 30.0)
    play(opt, 20)
    assert opt.predict([opt.recommend().descriptor])[0] >= opt.predict([best])[0]


@pytest.mark.parametrize("cls", [EIOptimizer, GPTSOptimizer])
def test_a_run_that_was_saved_goes_on_with_the_same_candidates(cls, tmp_path):
    opt = played(cls, 25)
    opt.save(tmp_path / "run.skgpb")
    other = cls.load(tmp_path / "run.skgpb")
    for _ in range(5):
        assert_allclose(cases.rows(other), cases.rows(opt), atol=1e-7)
        for each in (opt, other):
            each.tell(each.ask(), 1.0)


def test_asking_and_reading_move_nothing_more():
    opt = played(EIOptimizer, 25)
    first = cases.rows(opt)
    opt.recommend()
    cases.moments(opt)
    cases.scores(opt)
    opt.ask(3)
    assert_array_equal(cases.rows(opt), first)


def test_the_first_design_is_made_once(monkeypatch):
    made, make = [], skgpb.domains.box_candidates.first_points
    monkeypatch.setattr(
        skgpb.domains.box_candidates, "first_points", lambda *each: made.append(each) or make(*each)
    )
    optimizer = EIOptimizer(bounds=[(0, 1), (0, 1)], random_state=0)
    for i in range(defaults.N_INITIAL):
        optimizer.tell(optimizer.ask(), float(i))
    assert len(made) == 1
    optimizer = EIOptimizer(bounds=[(0, 1), (0, 1)], random_state=0)
    optimizer.tell(optimizer.ask(), None)  # another point replaces the failed one
    optimizer.ask()
    assert [each[-1] for each in made] == [0, 0, 1]
