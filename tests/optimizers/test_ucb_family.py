"""The UCB family over finite arms: its naive references, hard cases, arms of every kind."""

from __future__ import annotations

import copy
import pickle
import warnings
from types import SimpleNamespace

import cases
import numpy as np
import pytest
from reference import ucb as reference
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, WhiteKernel

from skgpb import defaults
from skgpb.domains.arms import Arm, ArmSet, Layout
from skgpb.exceptions import ParameterWarning
from skgpb.guarantee import Guarantee
from skgpb.kernels import CellAverage, CellIntegral
from skgpb.optimizers import (
    BaseUCBOptimizer,
    DAGPUCBOptimizer,
    EIOptimizer,
    ESTOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    IGPUCBOptimizer,
    MESOptimizer,
    PIOptimizer,
    URGPUCBOptimizer,
)
from skgpb.optimizers._feasibility import Utility
from skgpb.optimizers._sets import PosteriorIncumbents, best_places, mask_infeasible_means

KERNELS = {"linear": DotProduct(0.0), "RBF": RBF(1.0), "Matern": Matern(0.2, nu=1.5)}
ARMS = np.linspace(0, 1, 100)[:, None]
ALPHA = 0.1

#: Name of the naive reference: class and settings.
MEMBERS = {
    "gp_ucb": (GPUCBOptimizer, {}),
    "igp_ucb": (IGPUCBOptimizer, {}),
    "gp_ts": (GPTSOptimizer, {}),
    "urgp_own": (URGPUCBOptimizer, {}),
    "urgp_mean": (URGPUCBOptimizer, {"weights": "mean"}),
    "urgp_sum": (URGPUCBOptimizer, {"weights": "sum", "covariance": "lean"}),
    "dagp_integral": (DAGPUCBOptimizer, {}),
    "dagp_sampling": (DAGPUCBOptimizer, {"weights": "sampling", "n_draws": 50}),
    "dagp_joint": (DAGPUCBOptimizer, {"weights": "joint", "n_draws": 50, "covariance": "lean"}),
    "ei": (EIOptimizer, {}),
    "pi": (PIOptimizer, {}),
    "est": (ESTOptimizer, {}),
    "mes": (MESOptimizer, {"n_max_values": 50}),
}


@pytest.fixture(params=list(MEMBERS))
def member(request):
    return request.param


def make(member, **parameters):
    cls, settings = MEMBERS[member]
    settings = {"arms": ARMS, "kernel": RBF(0.3), "alpha": ALPHA, "random_state": 0} | settings
    return cls(**settings | parameters)


def f(X):
    return np.sin(5 * np.asarray(X)).mean()


def play(optimizer, n_rounds, seed=0):
    rng = np.random.default_rng(seed)
    arms = []
    for _ in range(n_rounds):
        arms.append(optimizer.ask())
        optimizer.tell(arms[-1], f(arms[-1]) + 0.1 * rng.normal())
    return arms


# The naive references ----------------------------------------------------------------------------


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "kernel",
    ["RBF", *(pytest.param(name, marks=pytest.mark.slow) for name in ("linear", "Matern"))],
)
def test_arms_pulled_equal_the_naive_reference(member, kernel, n_seeds):
    """50 rounds of several functions, fixed noise and fixed draws."""
    K = KERNELS[kernel](ARMS)
    root, undecided = reference.symmetric_root(K), 0
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        values = root @ rng.standard_normal(len(K))
        noise = np.sqrt(ALPHA) * rng.standard_normal(50)
        optimizer = make(member, kernel=KERNELS[kernel], random_state=seed)
        optimizer.ask()
        game = reference.Game(K, ALPHA, seed=optimizer.run_.seed)
        for t in range(50):
            arm = optimizer.ask().index
            naive = game.choose(member)
            assert arm in naive, (seed, t)
            undecided += len(naive) > 1
            optimizer.tell(optimizer.ask(), values[arm] + noise[t])
            game.tell(arm, values[arm] + noise[t])
    assert undecided <= max(5, 0.5 * n_seeds)  # each has 50 rounds


def test_scores_equal_the_naive_reference_to_rounding():
    K = KERNELS["Matern"](ARMS)
    for member in MEMBERS:
        optimizer = make(member, kernel=KERNELS["Matern"])
        cases.scores(optimizer)
        game = reference.Game(K, ALPHA, seed=optimizer.run_.seed)
        rng = np.random.default_rng(1)
        for arm in rng.integers(100, size=12):
            optimizer.tell(ARMS[arm], f(ARMS[arm]))
            game.tell(int(arm), f(ARMS[arm]))
        mean, C = reference.posterior(K, game.pulled, np.array(game.y), ALPHA)
        naive = getattr(game, member)(13, mean, C)
        np.testing.assert_allclose(cases.scores(optimizer), naive, rtol=1e-8, atol=1e-9)


def test_lean_and_full_covariance_agree():
    for weights in ("integral", "sampling"):
        full = make("dagp_integral", covariance="full", weights=weights)
        lean = make("dagp_integral", covariance="lean", weights=weights)
        for _ in range(30):
            np.testing.assert_allclose(cases.scores(lean), cases.scores(full), rtol=0, atol=1e-10)
            arm = full.ask()
            assert lean.ask() == arm
            for optimizer in (full, lean):
                optimizer.tell(arm, f(arm))


def test_covariances_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr("skgpb.optimizers.round.FULL_AT_MOST", len(ARMS) - 1)
    with pytest.raises(ValueError, match=r"covariance='full' would keep 100 x 100 covariances"):
        make("urgp_sum", covariance="full").ask()
    make("urgp_sum", covariance="auto").ask()


# Parts that users exchange -----------------------------------------------------------------------


class OwnUCB(BaseUCBOptimizer):
    """Exploration weighted by a soft maximum of the means: a member in ten lines."""

    def acquisition(self, posterior):
        weights = np.exp(5.0 * (posterior.mean - posterior.mean.max()))
        uncertainty = posterior.reduction(weights / weights.sum())
        return posterior.mean + np.sqrt(self.exploration(posterior)) * uncertainty

    def exploration(self, posterior):
        return 2.0 * np.log(1 + posterior.t)


def test_a_new_member_takes_ten_lines():
    optimizer = OwnUCB(RBF(0.3), arms=ARMS, alpha=ALPHA)
    result = optimizer.run(f, 15)
    assert abs(result.x.descriptor[0] - np.pi / 10) < 0.1
    by_hand = clone(optimizer)
    mean, C = reference.posterior(RBF(0.3)(ARMS), [], [], ALPHA)
    w = np.full(100, 0.01)
    np.testing.assert_allclose(
        cases.scores(by_hand),
        mean + np.sqrt(2 * np.log(2)) * reference.reductions(C, ALPHA) @ w,
        rtol=0,
        atol=1e-12,
    )


def test_scores_are_the_acquisition_of_the_posterior(member):
    optimizer = make(member)
    play(optimizer, 5)
    np.testing.assert_array_equal(
        optimizer.acquisition(optimizer.posterior()), cases.scores(optimizer)
    )


def test_pending_queries_of_the_posterior_are_those_asked_or_those_given(member):
    asked, given = make(member), make(member)
    for optimizer in (asked, given):
        play(optimizer, 4)
    batch = asked.ask(2)
    ours, theirs = asked.posterior(), given.posterior(pending=batch)
    assert ours.t == theirs.t == 7
    np.testing.assert_array_equal(ours.std, theirs.std)
    np.testing.assert_array_equal(asked.acquisition(ours), given.acquisition(theirs))
    assert given.posterior().t == 5
    with pytest.raises(ValueError, match="not one of this optimizer's arms"):
        given.posterior(pending=[Arm(3, np.array([0.5]))])


def test_weights_given_to_dagp_take_the_place_of_its_own():
    optimizer = make("dagp_integral")
    play(optimizer, 4)
    uniform = make("dagp_integral", weights=lambda posterior: np.full(posterior.n_arms, 0.01))
    play_as(uniform, optimizer)
    posterior = optimizer.posterior()
    own = optimizer._maximum_weights(posterior)
    assert own.sum() == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_array_equal(optimizer.acquisition(posterior, own), cases.scores(optimizer))
    np.testing.assert_allclose(
        optimizer.acquisition(posterior, np.full(100, 0.01)), cases.scores(uniform), rtol=1e-12
    )


def test_weights_given_to_dagp_may_be_zero():
    one = make("dagp_integral", weights=lambda posterior: 1.0 * (np.arange(100) == 7))
    assert np.isfinite(cases.scores(one.tell(one.ask(), 0.3))).all()
    less = make("dagp_integral", weights=lambda posterior: -1.0 * (np.arange(100) == 7))
    with pytest.raises(ValueError, match="100 finite numbers >= 0"):
        less.tell(less.ask(), 0.3).ask()


def play_as(optimizer, other):
    """Tell an optimizer what another one was told."""
    for row in other.history_:
        optimizer.tell(row["descriptor"][:1], row["reward"])


def test_a_member_without_a_theory_says_so():
    class Bold(BaseUCBOptimizer):
        def acquisition(self, posterior):
            return posterior.mean + self.exploration(posterior) * posterior.std

    with pytest.raises(ValueError, match="Bold has no beta='theory'"):
        Bold(arms=ARMS).ask()
    assert Bold(arms=ARMS, n_initial=0, beta=2.0).ask().index == 0


def test_moments_of_queries_are_those_of_what_they_observe():
    optimizer = make("gp_ucb")
    play(optimizer, 6)
    arms = [optimizer.domain_.arm(i) for i in (0, 40, 99)]
    mean, std = optimizer.predict_query(arms, return_std=True)
    all_mean, all_std = cases.moments(optimizer)
    np.testing.assert_allclose(mean, all_mean[[0, 40, 99]], rtol=0, atol=1e-9)
    np.testing.assert_allclose(std, all_std[[0, 40, 99]], rtol=0, atol=1e-7)
    pair = np.array([[0.2], [0.6]])
    mean, std = optimizer.predict_query([pair], return_std=True)
    at_points, cov = optimizer.predict(pair, return_cov=True)
    np.testing.assert_allclose(mean, at_points.mean(), rtol=1e-12)
    np.testing.assert_allclose(std**2, cov.mean(), rtol=1e-7)
    with pytest.raises(ValueError, match="not one of this optimizer's arms"):
        optimizer.predict_query([Arm(100, np.array([0.5]))])


def test_recommend_by_the_papers_rule_is_the_best_mean_as_well(member):
    optimizer = make(member)
    play(optimizer, 5)
    assert optimizer.recommend("paper") == optimizer.recommend()
    with pytest.raises(ValueError, match="method must be"):
        optimizer.recommend("luck")


def test_start_shows_what_is_expected_before_anything_is_asked():
    optimizer = make("gp_ucb").start()
    np.testing.assert_array_equal(cases.rows(optimizer), ARMS)
    np.testing.assert_allclose(optimizer.predict(ARMS, return_std=True)[1], 1.0)
    play(optimizer, 3)
    assert len(optimizer.start().history_) == 3
    with pytest.raises(NotFittedError, match="no domain"):
        GPUCBOptimizer().start()


def test_beta_is_the_factor_of_the_variance():
    theory, number, function = (
        make("gp_ucb", beta=beta) for beta in ("theory", 4.0, lambda t: 4.0 + t)
    )
    for optimizer in (theory, number, function):
        optimizer.tell(ARMS[30], 0.5)
    mean, std = cases.moments(number)
    np.testing.assert_allclose(cases.scores(number), mean + 2 * std, rtol=0, atol=1e-12)
    np.testing.assert_allclose(cases.scores(function), mean + np.sqrt(6) * std, rtol=0, atol=1e-12)
    beta = 2 * np.log(2**2 * np.pi**2 * 100 / (6 * 0.1))
    np.testing.assert_allclose(cases.scores(theory), mean + np.sqrt(beta) * std, rtol=0, atol=1e-12)


def test_weights_of_dagp_may_be_a_function_of_the_posterior():
    seen = []

    def uniform(posterior):
        seen.append((posterior.t, posterior.n_arms))
        return np.full(posterior.n_arms, 0.01)

    ours, mean = make("dagp_integral", weights=uniform), make("urgp_mean")
    assert play(ours, 8) == play(mean, 8)
    assert seen[-1] == (8, 100)
    for weights in (lambda p: np.ones(3), lambda p: -np.ones(p.n_arms), lambda p: p.mean * np.nan):
        with pytest.raises(ValueError, match="weights"):
            make("dagp_integral", weights=weights).ask()


# Hard cases --------------------------------------------------------------------------------------


def test_a_zero_variance_arm_of_a_linear_kernel(member):
    arms = np.array([[0.0], [0.5], [1.0], [0.0]])
    optimizer = make(member, kernel=DotProduct(0.0), arms=arms)
    optimizer.tell(optimizer.ask(), -1.0)
    for arm in arms:
        optimizer.tell(arm, 0.1)
    for _ in range(10):
        optimizer.tell(optimizer.ask(), -0.3)
        assert not np.isnan(cases.scores(optimizer)).any()
    assert optimizer.recommend().index in (0, 3)


def test_identical_arms(member):
    arms = np.array([[0.2], [0.7], [0.2], [0.7]])
    optimizer = make(member, arms=arms)
    batch = optimizer.ask(4)
    assert sorted(arm.index for arm in batch) == [0, 1, 2, 3]
    optimizer.tell(batch, [0.1, 0.2, 0.3, 0.4])
    play(optimizer, 8)
    mean = cases.moments(optimizer)[0]
    np.testing.assert_allclose(mean[:2], mean[2:], rtol=0, atol=1e-12)
    assert optimizer.recommend().index in (0, 1)


def test_a_single_arm(member):
    optimizer = make(member, arms=[[0.3]])
    play(optimizer, 5)
    assert optimizer.recommend().index == 0
    assert optimizer.ask(1)[0].index == 0
    with pytest.raises(ValueError, match="all 1 arms are pending"):
        optimizer.ask(2)
    optimizer.tell(optimizer.ask(), 0.5)
    assert len(optimizer.history_) == 6


def test_without_noise_and_with_every_arm_known(member):
    optimizer = make(member, arms=[[0.0], [0.5], [1.0]], alpha=0.0)
    if member == "igp_ucb":
        with pytest.raises(ValueError, match="alpha must be > 0"):
            optimizer.ask()
        optimizer = make(
            member, information_gain="order", **{"arms": [[0.0], [0.5], [1.0]], "alpha": 0.0}
        )
    for _ in range(7):
        arm = optimizer.ask()
        optimizer.tell(arm, f(arm))
    for x in optimizer.arms:  # Thompson sampling may have left one out
        optimizer.tell(x, f(x))
    assert optimizer.recommend().index == 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("reward", [np.nan, np.inf, "0.3"])
def test_bad_rewards_lose_nothing(member, reward):
    optimizer = make(member)
    play(optimizer, 5)
    twin, arm = copy.deepcopy(optimizer), optimizer.ask()
    with pytest.raises((ValueError, TypeError), match="reward"):
        optimizer.tell(arm, reward)
    assert optimizer.ask() == arm == twin.ask()
    optimizer.tell(arm, 0.5)
    twin.tell(arm, 0.5)
    np.testing.assert_array_equal(cases.scores(optimizer), cases.scores(twin))
    assert len(optimizer.history_) == 6


def lean_arms(arms):
    return (Arm(i, arms[i].copy()) for i in range(0, len(arms), 5000))


@pytest.mark.slow
def test_too_many_arms_for_all_pairs_name_the_lean_mode():
    arms = np.linspace(0, 1, 100_000)[:, None]
    full = DAGPUCBOptimizer(RBF(0.2), arms=arms, alpha=1e-8, covariance="full")
    with pytest.raises(ValueError, match="covariance='lean'"):
        full.ask()
    # The parameter is read when it is used; a first round would take all pairs.
    lean = full.set_params(covariance="lean")
    lean.tell(list(lean_arms(arms)), np.sin(5 * arms[::5000, 0]))
    assert abs(lean.ask().index / 1e5 - np.pi / 10) < 0.1


def test_arms_and_bounds_exclude_each_other():
    with pytest.raises(ValueError, match="bounds or arms"):
        GPUCBOptimizer(arms=ARMS, bounds=[(0, 1)]).ask()
    for arms in ([], [0.1, 0.2], [[np.nan]], "arms", [["a"]]):
        with pytest.raises(ValueError, match="arms"):
            GPUCBOptimizer(arms=arms).ask()


def test_arms_of_other_optimizers_are_refused():
    ours = make("gp_ucb")
    theirs = make("gp_ucb", arms=ARMS[::-1]).ask()
    twin = copy.deepcopy(ours)
    for stranger in (theirs, make("gp_ucb", arms=np.ones((3, 2))).ask()):
        with pytest.raises(ValueError, match="not one of this optimizer's arms"):
            ours.tell(stranger, 0.5)
    assert ours.ask() == twin.ask()


# Batches, state ----------------------------------------------------------------------------------


def test_a_batch_is_distinct_and_follows_the_hallucinated_variance(member):
    optimizer = make(member)
    play(optimizer, 5)
    batch = optimizer.ask(6)
    assert len({arm.index for arm in batch}) == 6
    assert optimizer.ask(6) == batch
    if member in ("gp_ucb", "dagp_integral", "urgp_mean"):
        told = make(member)
        play(told, 5)
        for arm in batch[:5]:
            mean = cases.moments(told)[0][arm.index]
            told.tell(arm, mean)
        free = np.setdiff1d(np.arange(100), [arm.index for arm in batch[:5]])
        scores = cases.scores(told)[free]
        np.testing.assert_allclose(
            scores[np.flatnonzero(free == batch[5].index)], scores.max(), rtol=0, atol=1e-8
        )


@pytest.mark.one_in(3)
def test_draws_are_stable_until_tell_and_after_pickling(member):
    optimizer = make(member)
    play(optimizer, 5)
    scores = cases.scores(optimizer)
    copied = pickle.loads(pickle.dumps(optimizer))
    np.testing.assert_array_equal(cases.scores(optimizer), scores)
    np.testing.assert_array_equal(cases.scores(copied), scores)
    assert play(optimizer, 10, seed=3) == play(copied, 10, seed=3)
    np.testing.assert_array_equal(cases.scores(copied), cases.scores(optimizer))
    again = clone(optimizer)
    assert play(again, 5) == play(clone(optimizer), 5)


def test_answers_from_outside_count(member):
    """External points, averages of points and repeats keep the posterior exact."""
    optimizer = make(member)
    play(optimizer, 4)
    optimizer.ask(2)
    optimizer.tell(np.array([0.505]), 0.9, alpha=0.2)
    optimizer.tell(np.array([[0.1], [0.2]]), 0.8)
    optimizer.tell(ARMS[17], 0.3)
    play(optimizer, 4)
    rows = [ARMS[a.index] for a in play(copy.deepcopy(optimizer), 0)]
    assert rows == []
    fresh = make(member)
    fresh.ask()
    for box, reward, noise in zip(
        optimizer.history_["descriptor"],
        optimizer.history_["reward"],
        [ALPHA] * 4 + [0.2] + [ALPHA] * 6,
        strict=True,
    ):
        fresh.tell(np.unique(box)[:, None], reward, alpha=noise)
    for one, other in zip(cases.moments(optimizer), cases.moments(fresh), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8)
    assert not np.isnan(cases.scores(optimizer)).any()


def test_a_white_kernel_is_noise_of_the_pulls():
    white = make("dagp_integral", kernel=RBF(0.3) + WhiteKernel(0.06), alpha=0.04)
    plain = make("dagp_integral", kernel=RBF(0.3), alpha=0.1)
    for _ in range(12):
        np.testing.assert_allclose(cases.scores(white), cases.scores(plain), rtol=0, atol=1e-9)
        arm = plain.ask()
        white.tell(arm, f(arm))
        plain.tell(arm, f(arm))


def test_units_of_the_rewards_do_not_matter_once_normalised(member):
    small = make(member, alpha=1e-4, normalize_y=True)
    large = make(member, alpha=1e2, normalize_y=True)
    if member == "pi":
        large.set_params(xi=10.0)
    # Before the first reward the units are unknown.
    small.tell(ARMS[50], f(ARMS[50]))
    large.tell(ARMS[50], 1000 * f(ARMS[50]) + 5000)
    for _ in range(12):
        arm = small.ask()
        assert large.ask() == arm
        small.tell(arm, f(arm))
        large.tell(arm, 1000 * f(arm) + 5000)
    np.testing.assert_allclose(
        cases.moments(large)[0], 1000 * cases.moments(small)[0] + 5000, rtol=1e-8, atol=1e-6
    )


@pytest.mark.parametrize("relearn", ["doubling", 3, None])
def test_hyperparameters_are_learned_on_schedule(relearn):
    optimizer = make("dagp_integral", optimizer="fmin_l_bfgs_b", relearn=relearn)
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few points do not determine the length scale
        for _ in range(9):
            arm = optimizer.ask()
            optimizer.tell(arm, f(arm))
            seen.append(float(optimizer.surrogate_.kernel_.length_scale))
    changed = (1 + np.flatnonzero(np.diff([0.3, *seen]))).tolist()
    assert changed == {"doubling": [4, 8], 3: [6, 9], None: []}[relearn]


# Arms of every kind of feedback ------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kernel", [CellAverage(RBF(0.2), (2, 3)), CellIntegral(RBF(0.2))])
def test_arms_may_be_boxes(member, kernel):
    corners = np.array([[i, j] for i in range(4) for j in range(4)]) / 4
    arms = np.hstack([corners, corners + 0.25])
    optimizer = make(member, kernel=kernel, arms=arms)
    rng = np.random.default_rng(0)
    center = np.array([0.6, 0.4])
    for _ in range(25):
        arm = optimizer.ask()
        np.testing.assert_array_equal(np.concatenate([arm.lower, arm.upper]), arms[arm.index])
        assert arm.points.shape == ((6, 2) if isinstance(kernel, CellAverage) else (100, 2))
        assert (arm.points > arm.lower).all() and (arm.points < arm.upper).all()
        reward = np.exp(-10 * ((arm.points - center) ** 2).sum(axis=1)).mean()
        optimizer.tell(arm, reward + 0.05 * rng.normal())
    assert optimizer.n_features_in_ == 2
    rows = np.hstack([corners + 0.125, corners + 0.125])
    model = GaussianProcessRegressor(kernel, alpha=ALPHA, optimizer=None)
    model.fit(optimizer.history_["descriptor"], optimizer.history_["reward"])
    np.testing.assert_allclose(optimizer.predict(rows[:, :2]), model.predict(rows), atol=1e-8)
    if member in ("gp_ucb", "dagp_integral", "ei"):
        assert (np.abs(optimizer.recommend().center - center) < 0.25).all()


# Boxes -------------------------------------------------------------------------------------------


def test_bounds_start_with_the_grid_of_theorem_2():
    optimizer = GPUCBOptimizer(RBF(0.5), bounds=[(-1.0, 3.0)], alpha=ALPHA)
    b = np.sqrt(2) * 4.0 / 0.5  # the slope of f over the unit interval has deviation 8
    for t in (1, 2, 3):
        n = int(np.ceil(t**2 * b * np.sqrt(np.log(1 / 0.1))))
        np.testing.assert_allclose(cases.scores(optimizer).shape, n)
        np.testing.assert_allclose(cases.rows(optimizer)[:, 0], np.linspace(-1, 3, n))
        optimizer.tell(optimizer.ask(), 0.0)
    mean, std = cases.moments(optimizer)
    beta = 2 * np.log(4**2 * np.pi**2 * len(mean) / (6 * 0.05))
    np.testing.assert_allclose(cases.scores(optimizer), mean + np.sqrt(beta) * std, atol=1e-12)


@pytest.mark.one_in(3)
def test_every_member_finds_the_maximum_of_a_box(member):
    settings = {"xi": 0.05} if member == "pi" else {}
    settings |= {"guarantee": Guarantee(2.0, noise_bound=0.1)} if member == "igp_ucb" else {}
    optimizer = make(
        member, arms=None, bounds=[(0, 1), (-1, 1)], kernel=RBF([0.3, 0.6]), alpha=1e-3, beta=4.0
    ) if "beta" in make(member).get_params() else make(
        member, arms=None, bounds=[(0, 1), (-1, 1)], kernel=RBF([0.3, 0.6]), alpha=1e-3
    )  # fmt: skip
    optimizer.set_params(n_candidates=120, **settings)
    best = np.array([0.37, 0.81])

    def objective(arm):
        return float(np.exp(-4 * ((arm.points[0] - best) ** 2).sum()))

    result = optimizer.run(objective, 30)
    assert len(cases.rows(optimizer)) == 120
    assert objective(result.x) > 0.97
    assert result.x.index == -1
    assert ((cases.rows(optimizer) >= [0, -1]) & (cases.rows(optimizer) <= 1)).all()
    restored = pickle.loads(pickle.dumps(optimizer))
    assert restored.ask(3) == optimizer.ask(3)
    assert len(set(restored.ask(3))) == 3


@pytest.mark.parametrize("parameter", ["norm_bound", "noise_bound"])
@pytest.mark.parametrize("cls", [IGPUCBOptimizer, GPTSOptimizer])
def test_widths_beyond_all_numbers_are_refused(cls, parameter):
    optimizer = cls(arms=ARMS, alpha=0.1, beta="theory", guarantee=Guarantee(**{parameter: 1e300}))
    with pytest.raises(ValueError, match=rf"{parameter}=1e\+300"):
        optimizer.ask()


def test_the_number_of_candidates_changes_with_the_next_run():
    optimizer = EIOptimizer(bounds=[(0, 1)], n_candidates=40, random_state=0)
    twin = clone(optimizer)
    play(optimizer, 6)
    play(twin, 6)
    optimizer.set_params(n_candidates=400)
    with pytest.warns(ParameterWarning, match="n_candidates"):
        assert optimizer.ask() == twin.ask()
    assert len(cases.rows(optimizer)) == 40
    optimizer.fit([[0.0], [1.0]], [0.1, 0.2])
    play(optimizer, 6)
    assert len(cases.rows(optimizer)) == 400


# Arguments of the rules ---------------------------------------------------------------------------


def test_no_arm_is_pending_twice_however_little_its_answer_tells():
    optimizer = GPUCBOptimizer(RBF(0.1), arms=ARMS, alpha=1e4)
    assert len({arm.index for arm in optimizer.ask(len(ARMS))}) == len(ARMS)


def test_of_arms_with_the_same_mean_the_best_known_is_recommended():
    optimizer = GPUCBOptimizer(RBF(0.1), arms=ARMS, alpha=0.1).tell(ARMS[3], 0.0)
    assert optimizer.recommend().index == 3


def test_candidates_follow_the_posterior_without_the_noise_of_answers():
    optimizer = GPUCBOptimizer(RBF(0.3), bounds=[(0, 1)], alpha=0.5, n_candidates=20)
    play(optimizer, 8)
    gp, arms = optimizer.surrogate_.process_, optimizer.domain_
    incumbents = PosteriorIncumbents(arms, gp, optimistic=False, utility=None)
    points, values = incumbents.values()
    np.testing.assert_allclose(values, optimizer.predict(points), atol=1e-9)
    # Of an average no single point is known.
    optimizer.tell([[0.11], [0.42]], 0.3).tell([0.57], 0.2).tell([[0.3], [0.77], [0.9]], 0.1)
    points, values = PosteriorIncumbents(arms, gp, optimistic=False, utility=None).values()
    asked = len(points) - len(arms.rows)
    assert points[asked - 1] == 0.57 and not np.isin([0.11, 0.42, 0.3, 0.77], points[:asked]).any()
    np.testing.assert_allclose(values, optimizer.predict(points), atol=1e-9)


def test_further_points_are_looked_at_where_what_is_feasible_lies_between_candidates():
    optimizer = GPUCBOptimizer(
        RBF(0.3), bounds=[(0, 1)], alpha=0.5, n_candidates=20, normalize_y=True
    )
    for i in range(6):
        optimizer.tell(optimizer.ask(), 50.0 + 9.0 * i)
    gp, arms = optimizer.surrogate_.process_, optimizer.domain_
    utility = Utility(lambda rows, means, answered: means if answered else 2.0 * means, 7)
    points, values = PosteriorIncumbents(arms, gp, optimistic=False, utility=utility).values()
    means = (optimizer.predict(points) - gp.offset) / gp.scale
    asked = len(points) - len(arms.rows) - 7
    assert asked == len(gp.observed) and gp.scale > 3.0
    np.testing.assert_allclose(values[:asked], means[:asked], atol=1e-8)
    np.testing.assert_allclose(values[asked:], 2.0 * means[asked:], atol=1e-8)


def test_the_best_places_are_those_of_means_and_of_bounds_in_turn():
    rng = np.random.default_rng(0)
    points = np.repeat(rng.random((30, 2)), 2, axis=0)  # each place twice
    arms = ArmSet(points, np.array([[0.0, 1.0]] * 2), Layout(2))
    means, spread = rng.random(60), rng.random(60)
    bounds = means + defaults.FOLLOWED_OPTIMISM * spread
    for ranked, given in (([means], None), ([means, bounds], spread)):
        orders = [np.argsort(-each) for each in ranked]
        places = [tuple(points[order[i]]) for i in range(60) for order in orders]
        expected = list(dict.fromkeys(places))[: defaults.N_CENTERS]
        np.testing.assert_array_equal(best_places(arms, means, given), expected)


def test_no_infeasible_target_has_the_largest_mean():
    arms, means = SimpleNamespace(rows=np.arange(4)), np.array([0.2, 5.0, 0.5, 0.1])
    found, possible = mask_infeasible_means(arms, means, lambda rows: rows % 3 == 0)
    assert found.argmax() == 0 and (found[1:3] < 0.1).all() and possible is not None
    found, possible = mask_infeasible_means(arms, means, lambda rows: rows > 9)
    assert found is means and possible is None


def test_the_surrogate_can_be_fitted_as_a_regressor_of_its_own():
    X, y = [[0.0], [0.5], [1.0]], [0.0, 1.0, 0.5]
    own = clone(GPUCBOptimizer(bounds=[(0, 1)]).start().surrogate_).fit(X, y)
    np.testing.assert_allclose(own.predict(X), y, atol=1e-4)


@pytest.mark.parametrize("cls", [GPUCBOptimizer, IGPUCBOptimizer])
def test_every_arm_may_have_a_noise_variance_of_its_own(cls):
    alphas = np.linspace(0.01, 0.02, 9)
    optimizer = cls(RBF(0.3), arms=np.linspace(0, 1, 9)[:, None], alpha=alphas, random_state=0)
    for _ in range(5):
        arm = optimizer.ask()
        optimizer.tell(arm, f(arm))
    told = [alpha for kind, *_, alpha in optimizer._events if kind == "tell"]
    asked = [query.index for kind, query, *_ in optimizer._events if kind == "tell"]
    np.testing.assert_array_equal(told, alphas[asked])
    assert optimizer.alpha_ == np.median(alphas)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_an_optimum_that_is_known_replaces_its_estimate_unless_a_mean_is_above(direction):
    arms, sign = np.linspace(0.0, 1.0, 9)[:, None], 1.0 if direction == "maximize" else -1.0
    settings = {"arms": arms, "alpha": 0.01, "direction": direction, "normalize_y": True}
    for optimum in (9.0, 2.5, -9.0):
        optimizer = ESTOptimizer(RBF(0.3), **settings, optimum=sign * optimum)
        optimizer.tell(arms[[1, 4, 7]], sign * np.array([1.0, 3.0, 2.0]))
        mean, std = optimizer.predict(arms, return_std=True)
        mean *= sign
        scores = optimizer.acquisition(optimizer.posterior())
        np.testing.assert_allclose(scores, (mean - max(optimum, mean.max())) / std, rtol=1e-7)
