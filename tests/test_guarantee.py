"""The assumptions of intervals and confidence bounds: one object with parameters."""

from __future__ import annotations

import inspect
from math import log, pi, sqrt

import cases
import numpy as np
import pytest
from cases import OPTIMIZERS
from scipy.stats import binom
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from skgpb import EIOptimizer, GPUCBOptimizer, Guarantee, IGPUCBOptimizer, StoOOOptimizer

ARMS = np.linspace(0, 1, 8)[:, None]
#: Parameters that every optimizer with a posterior had of its own before.
FIELDS = ["norm_bound", "noise_bound", "misspecification", "failure_probability"]


def made(cls=EIOptimizer, guarantee=None, **settings):
    opt = cls(RBF(0.3), arms=ARMS, alpha=0.01, guarantee=guarantee, random_state=0, **settings)
    return opt.tell(ARMS[[1, 6]], [0.3, -0.2])


@pytest.mark.parametrize("cls", OPTIMIZERS)
def test_every_optimizer_with_a_posterior_has_it_as_one_parameter(cls):
    parameters = inspect.signature(cls).parameters
    if cls is StoOOOptimizer:  # its confidence width is for means
        assert "guarantee" not in parameters
        return
    assert parameters["guarantee"].default is None
    assert not {"B", "R", *FIELDS} & set(parameters)
    given = cls(guarantee=Guarantee(3.0))
    assert given.get_params()["guarantee__norm_bound"] == 3.0
    assert clone(given).get_params()["guarantee__norm_bound"] == 3.0


def test_none_has_the_defaults():
    plain, spelled = made(), made(guarantee=Guarantee())
    np.testing.assert_array_equal(plain.interval(ARMS), spelled.interval(ARMS))
    assert list(Guarantee().get_params()) == sorted(FIELDS)


def test_its_parameters_are_set_in_a_run_and_nobody_elses():
    shared = Guarantee(2.0, failure_probability=0.05)
    one, other = made(guarantee=shared), made(guarantee=shared)
    one.set_params(guarantee__norm_bound=4.0, alpha=0.3)
    assert shared.norm_bound == 2.0 and other.guarantee is shared
    assert repr(one.guarantee) == "Guarantee(failure_probability=0.05, norm_bound=4.0)"
    wide, narrow = (np.subtract(*each.interval(ARMS)[::-1]) for each in (one, other))
    assert (wide > narrow).all()
    assert made().set_params(guarantee__norm_bound=4.0).guarantee.norm_bound == 4.0


@pytest.mark.parametrize("before", [True, False])
def test_wrong_values_are_named_and_change_nothing(before):
    opt = GPUCBOptimizer(RBF(0.3), arms=ARMS) if before else made(GPUCBOptimizer)
    if before:
        opt.set_params(guarantee__misspecification=-1.0)
    with pytest.raises(ValueError, match="'misspecification' parameter of Guarantee must be"):
        opt.ask() if before else opt.set_params(guarantee__misspecification=-1.0)
    assert before or opt.guarantee is None
    with pytest.raises(ValueError, match="Invalid parameter 'B' for estimator Guarantee"):
        opt.set_params(guarantee__B=2.0)


def test_a_run_is_saved_with_it(tmp_path):
    opt = made(IGPUCBOptimizer, Guarantee(2.0, noise_bound=0.2))
    opt.set_params(guarantee__failure_probability=0.01)
    opt.save(tmp_path / "run.skgpb")
    for again in (False, True):
        loaded = cases.loaded(IGPUCBOptimizer, tmp_path / "run.skgpb", again)
        assert loaded.guarantee.get_params() == opt.guarantee.get_params()
        same = np.testing.assert_array_equal if again else np.testing.assert_allclose
        same(loaded.interval(ARMS), opt.interval(ARMS))
        same(cases.scores(loaded), cases.scores(opt))


def test_theorem_about_all_ucb_rules_is_false_of_greedy_play():
    """Theorem 1 of the DAGP-UCB paper, with w = 0, on two independent arms."""
    n_draws, T, noise, delta = 2000, 2000, 1e-6, 0.01
    rng = np.random.default_rng(0)
    f = rng.normal(size=(n_draws, 2))
    total, pulls, regret = np.zeros((n_draws, 2)), np.zeros((n_draws, 2)), np.zeros(n_draws)
    rows, gap = np.arange(n_draws), f.max(axis=1, keepdims=True) - f
    for _ in range(T):
        arm = np.argmax(total / (pulls + noise), axis=1)  # the posterior mean, ties to the first
        total[rows, arm] += f[rows, arm] + sqrt(noise) * rng.normal(size=n_draws)
        pulls[rows, arm] += 1
        regret += gap[rows, arm]
    b = 2 * log(T**2 * pi**2 * 2 / (6 * delta))
    gain = log(1 + T / (2 * noise))  # half to each arm
    bound = sqrt(4 * 4 * b / log(1 + 1 / noise) * T * gain)
    broken = int((regret > bound).sum())
    # If it held with probability 1 - delta, this many violations have a probability of 1e-6.
    assert broken > binom.ppf(1 - 1e-6, n_draws, delta)
