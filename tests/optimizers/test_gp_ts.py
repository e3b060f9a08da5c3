"""Thompson sampling: the draws, and how wide they spread."""

from __future__ import annotations

import pickle

import cases
import numpy as np
from cases import play
from sklearn.gaussian_process.kernels import RBF

import skgpb.surrogate.draws
from skgpb.optimizers import GPTSOptimizer, KGOptimizer

ARMS = np.linspace(0, 1, 100)[:, None]


def thompson(**parameters):
    settings = {"kernel": RBF(0.3), "arms": ARMS, "alpha": 0.1, "random_state": 0}
    return GPTSOptimizer(**settings | parameters)


def f(arm):
    return np.sin(5 * np.asarray(arm)).mean()


def test_joint_draws_have_the_posterior_moments():
    optimizer = thompson()
    play(optimizer, 10, f)
    optimizer.tell(np.array([[0.11], [0.52]]), 0.3)  # an average that is no arm
    draws = optimizer.posterior().query_draws(20_000).T
    mean, cov = optimizer.predict(ARMS, return_cov=True)
    std = np.sqrt(np.diag(cov))
    np.testing.assert_allclose(draws.mean(axis=1), mean, rtol=0, atol=5 * std.max() / 141)
    np.testing.assert_allclose(np.cov(draws), cov, rtol=0, atol=0.05 * cov.max())


def test_the_low_rank_root_of_many_arms_draws_as_the_full_one_does(monkeypatch):
    few = thompson(kernel=RBF(0.2))
    play(few, 15, f)
    full = few.posterior().query_draws(5)
    monkeypatch.setattr(skgpb.surrogate.draws, "DENSE", 10)
    few._on_refit()
    np.testing.assert_allclose(few.posterior().query_draws(5), full, rtol=0, atol=1e-4)
    assert few._cache.covariances()._draws._root.left.shape[1] < 30


def in_a_box():
    return thompson(arms=None, bounds=[(0, 1)] * 2, n_candidates=60)


def test_joint_draws_in_a_box_have_the_posterior_moments_in_every_round():
    optimizer = in_a_box()
    for _ in range(3):
        play(optimizer, 6, f)
        draws = optimizer.posterior().query_draws(20_000).T
        mean, cov = optimizer.predict(cases.rows(optimizer), return_cov=True)
        # Five standard errors of a mean of 20,000 draws, and of a covariance of as many.
        atol = 5 * np.sqrt(np.diag(cov).max() / 20_000)
        np.testing.assert_allclose(draws.mean(axis=1), mean, rtol=0, atol=atol)
        atol = 5 * np.sqrt(2 / 20_000) * np.diag(cov).max()
        np.testing.assert_allclose(np.cov(draws), cov, rtol=0, atol=atol)


def test_draws_in_a_box_depend_on_the_round_alone():
    looked_at, left_alone = in_a_box(), in_a_box()
    for t in range(20):
        looked_at.posterior().query_draws(2)
        cases.scores(looked_at)
        again = pickle.loads(pickle.dumps(looked_at))
        arm, other = looked_at.ask(), left_alone.ask()
        assert arm == other == again.ask()
        if t % 5 != 3:  # else they stay pending
            looked_at.tell(arm, f(arm.points))
            left_alone.tell(other, f(other.points))


def test_thompson_sampling_with_the_width_of_its_theory_spreads_wider():
    narrow, wide = thompson(), thompson(beta="theory", information_gain="order")
    narrow.tell(ARMS[3], 0.2)
    wide.tell(ARMS[3], 0.2)
    v = 1 + np.sqrt(2 * (0.0 + 1 + np.log(20)))  # gamma_1 of the order formula is 0
    mean = cases.moments(narrow)[0]
    np.testing.assert_allclose(
        cases.scores(wide) - mean, v * (cases.scores(narrow) - mean), rtol=1e-10, atol=1e-12
    )


def test_joint_draws_of_queries_that_are_no_targets_know_units_and_pending_answers():
    queries, level = np.linspace(0, 1, 12)[:, None], 100.0
    optimizer = KGOptimizer(
        queries=queries, targets=ARMS[::20], alpha=level, n_initial=4, random_state=0
    )
    play(optimizer, 8, lambda query: 300.0 + 40.0 * f(query.points))
    asked = optimizer.ask(2)
    draws = optimizer.posterior().query_draws(20_000)
    process = optimizer.surrogate_.process_
    told = process.fantasize([query.points for query in asked], [level, level])
    mean, cov = told.moments(queries, cov=True)
    assert process.scale > 10.0
    found = np.cov(draws.T) * process.scale**2
    # Five standard errors of a mean of 20,000 draws, and of a covariance of as many.
    atol = 5 * np.sqrt(np.diag(cov).max() / 20_000)
    drawn = process.offset + process.scale * draws.mean(axis=0)
    np.testing.assert_allclose(drawn, mean, rtol=0, atol=atol)
    np.testing.assert_allclose(found, cov, rtol=0, atol=0.05 * cov.max())
    assert np.abs(optimizer.predict(queries, return_cov=True)[1] - cov).max() > 0.1 * cov.max()
