"""GP-UCB with the default exploration."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb.optimizers import GPUCBOptimizer


def told(d, **parameters):
    """An optimizer that has seen a dozen values, and its posterior of the candidates."""
    X = np.random.default_rng(0).random((12, d))
    optimizer = GPUCBOptimizer(bounds=[(0, 1)] * d, alpha=0.01, random_state=0, **parameters)
    optimizer.fit(X, np.cos(4 * X).sum(axis=1))
    return optimizer, *optimizer.predict_arms(return_std=True)


@pytest.mark.parametrize("d", [1, 2, 12])
def test_without_a_kernel_the_bonus_is_the_best_known(d):
    optimizer, mean, std = told(d)
    expected = (mean + np.sqrt(2.0) * std - mean.mean()) / std.mean()
    # Scores are in units of the surrogate.
    given = told(d, beta=2.0)[0]
    np.testing.assert_array_equal(optimizer.scores(), given.scores())
    np.testing.assert_allclose(np.corrcoef(optimizer.scores(), expected)[0, 1], 1.0, rtol=1e-9)


def test_with_a_kernel_it_is_the_theory():
    optimizer, theory = told(2, kernel=RBF(0.3))[0], told(2, kernel=RBF(0.3), beta="theory")[0]
    np.testing.assert_array_equal(optimizer.scores(), theory.scores())


def regret(seed, **parameters):
    """Mean regret of 60 answers with noise of a tenth of the range, and of what is recommended."""
    optimizer = GPUCBOptimizer(bounds=[(0, 1), (0, 1)], random_state=seed, **parameters)
    rng, regrets = np.random.default_rng(seed), []

    def f(arm):
        x, y = np.asarray(arm)[0]
        return np.exp(-8 * ((x - 0.7) ** 2 + (y - 0.2) ** 2)) + 0.3 * np.sin(5 * x)

    for _ in range(60):
        arm = optimizer.ask()
        regrets.append(f(arm))
        optimizer.tell(arm, regrets[-1] + 0.1 * rng.normal())
    return -np.mean(regrets), -f(optimizer.recommend())


def test_less_is_lost_than_by_the_theory():
    ours = np.array([regret(seed) for seed in range(3)])
    theory = np.array([regret(seed, beta="theory") for seed in range(3)])
    assert (ours[:, 0] < theory[:, 0]).all()
    assert ours[:, 1].mean() < theory[:, 1].mean() + 0.05


@pytest.mark.parametrize("seed", range(3))
def test_without_noise_the_optimum_is_reached(seed):
    optimizer = GPUCBOptimizer(bounds=[(0, 1), (0, 1)], random_state=seed)
    best = np.array([0.6180339, 0.2718281])
    optimizer.run(lambda arm: -float(((np.asarray(arm)[0] - best) ** 2).sum()), 60)
    assert np.abs(optimizer.recommend().points[0] - best).max() < 1e-3


@pytest.mark.parametrize("beta", [-1.0, "best", [4.0]])
def test_what_is_no_beta_is_refused(beta):
    with pytest.raises((ValueError, TypeError), match="beta"):
        GPUCBOptimizer(bounds=[(0, 1)], beta=beta).ask()
