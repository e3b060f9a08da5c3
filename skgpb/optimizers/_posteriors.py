"""What rules look at: the posterior of arms before a round, of allocations, or of targets."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dgemm

from skgpb._core._arms import add_reductions
from skgpb._core._posterior import Posterior
from skgpb.acquisition.ucb import own_reduction
from skgpb.kernels.evaluator import Functionals
from skgpb.optimizers._knapsack import CostTable
from skgpb.roots import joint_draws
from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess
from skgpb.surrogate.draws import posterior_root
from skgpb.surrogate.moving import Moments
from skgpb.surrogate.pairs import TrackedAcross, TrackedPairs, covariance_with_tracked
from skgpb.utils import check_draws

# covariance="auto" keeps the covariance of all pairs for at most so many arms (200 MB),
FULL_BY_DEFAULT = 5_000
# covariance="full" is refused beyond (3.2 GB).
FULL_AT_MOST = 20_000
# Arms that could add no more than this share to a weighted sum, all together, are left out.
NEGLIGIBLE = 1e-14
# Allocations that rules without additive scores compare: the best of each of so many joint draws,
N_DRAWN = 256
# and those with the most mean + factor * spread.
FACTORS = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 31)])


class QueriesAreTargets:
    """What rules over queries and targets look at, where these are the same."""

    # What it needs of the class that it is mixed into.
    mean: np.ndarray
    var: np.ndarray
    noise: np.ndarray

    @property
    def query_mean(self) -> np.ndarray:
        """Posterior means (n_arms,)."""
        return self.mean

    @property
    def query_var(self) -> np.ndarray:
        """Posterior variances (n_arms,)."""
        return self.var

    @property
    def query_noise(self) -> np.ndarray:
        """Noise variances (n_arms,)."""
        return self.noise

    @property
    def cost(self) -> np.ndarray:
        """Ones: what arms cost is the affair of a budget."""
        return np.ones(len(self.mean))

    @property
    def target_mean(self) -> np.ndarray:
        """Those of the queries."""
        return self.mean

    @property
    def target_var(self) -> np.ndarray:
        """Those of the queries."""
        return self.var


class ArmsPosterior(QueriesAreTargets):
    """Posterior of all arms before a round: all that the rule of an algorithm looks at.

    Values are in units of the surrogate, where the prior is the kernel: those of the rewards
    unless ``normalize_y`` is set. Pending queries count as answered with what is expected.

    Attributes
    ----------
    t : int
        The round about to be played, counted from 1.
    mean, std : ndarray of shape (n_arms,)
        Posterior of the noiseless value of every arm.
    noise : ndarray of shape (n_arms,)
        Noise variance of a pull.
    offset, scale : float
        Units: a reward is ``offset + scale * value``.
    rng : numpy.random.Generator
        Randomness of this round, the same whenever the round is asked again.
    """

    offset: float
    scale: float

    def __init__(
        self,
        expected: Posterior,
        pairs: TrackedPairs,
        pulled: list[int],
        noise: float | np.ndarray,
        t: int,
        rng: np.random.Generator,
    ) -> None:
        gp = pairs.gp
        self._expected, self._pairs = expected, pairs
        # What is pending, and the noise variance of its answers in the user's units.
        self._pulled, self._noise = pulled, noise
        self.t = t
        self.offset, self.scale = gp.offset, gp.scale
        self.mean: np.ndarray = expected.tracked_mean()
        self.var: np.ndarray = expected.tracked_var()
        self.std: np.ndarray = np.sqrt(self.var)
        self.noise: np.ndarray = noise / gp.scale**2 + gp.white_noise(gp.tracked)
        self.rng = rng

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.mean)

    def in_units_of_reward(self, values: np.ndarray) -> np.ndarray:
        """Values of f, in units of the surrogate, as rewards."""
        return values * self.scale + self.offset

    def draws(self, n_draws: int) -> np.ndarray:
        """Joint draws of all arms, shape (n_draws, n_arms), given what was told."""
        return self._pairs.draws(n_draws, self.rng)

    @property
    def covariance(self) -> np.ndarray:
        """Posterior covariances of all pairs (n_arms, n_arms)."""
        return self._pairs.covariance(self._expected, self._pulled, self._noise)

    def covariance_of_target(self, number: int) -> np.ndarray:
        """Posterior covariances (n_arms,) of one arm with all."""
        return self._pairs.rows(self._expected, np.array([number]))[0]

    def own_reduction(self) -> np.ndarray:
        """S_t(x, x), the fall of an arm's own standard deviation by a pull, shape (n_arms,)."""
        return own_reduction(self.std, self.noise)

    def reduction(self, weights: np.ndarray, covariance: str = "auto") -> np.ndarray:
        """Weighted fall of all standard deviations by a pull of each arm, equation 37.

        Parameters
        ----------
        weights : ndarray of shape (n_arms,)
            w_t(x'), >= 0.
        covariance : {"auto", "full", "lean"}, default="auto"
            Whether to keep the covariance of all pairs of arms.

        Returns
        -------
        uncertainty : ndarray of shape (n_arms,)
            sum_x' w_t(x') S_t(x, x') for every x. O(n_arms) for each x' of positive weight,
            after O(n_arms t) for its covariances in the lean mode.
        """
        out = np.zeros(self.n_arms)
        # No fall exceeds the standard deviation itself.
        most = weights * self.std
        order = np.argsort(most, kind="stable")
        left_out = np.searchsorted(np.cumsum(most[order]), NEGLIGIBLE * most.sum(), side="right")
        others = np.sort(order[left_out:])
        if _keeps_covariance(covariance, self.n_arms):
            C = self._pairs.covariance(self._expected, self._pulled, self._noise)
            add_reductions(C, others, weights[others], self.var, self.noise, others, out)
            return out
        for some in self._pairs.blocks(others):
            rows = self._pairs.rows(self._expected, some)
            row_numbers = np.arange(len(some))
            add_reductions(rows, row_numbers, weights[some], self.var, self.noise, some, out)
        return out


def _keeps_covariance(covariance: str, n_arms: int) -> bool:
    """Resolve ``covariance``, refusing what would not fit into memory."""
    if covariance == "full" and n_arms > FULL_AT_MOST:
        raise ValueError(
            f"covariance='full' would keep {n_arms} x {n_arms} covariances, "
            f"{8e-9 * n_arms**2:.0f} GB; pass covariance='lean', which forms no such matrix"
        )
    return covariance == "full" or (covariance == "auto" and n_arms <= FULL_BY_DEFAULT)


class AllocationsPosterior(QueriesAreTargets):
    """Posterior of the allocations worth looking at, in the place of an :class:`ArmsPosterior`.

    Their totals are normal with the sums of the campaigns' means and variances. They are in units
    of the first campaign, whose rule is asked.
    """

    def __init__(
        self,
        posteriors: list[ArmsPosterior],
        table: CostTable,
    ) -> None:
        mean = np.concatenate([p.in_units_of_reward(p.mean) for p in posteriors])
        std = np.concatenate([p.scale * p.std for p in posteriors])
        noise = np.concatenate([p.scale**2 * p.noise for p in posteriors])
        drawn = np.concatenate([p.in_units_of_reward(p.draws(N_DRAWN)) for p in posteriors], axis=1)
        # A variance relative to the largest deviation, so that both spreads have the same unit.
        relative = std**2 / std.max() if std.max() > 0.0 else std
        fronts = [mean + FACTORS[:, None] * spread for spread in (std, relative)]
        self.choices = np.unique(table.best(np.concatenate([*fronts, drawn])), axis=0)
        columns = table.starts[:-1] + self.choices
        self.optimism = mean + std
        self.t, self.rng = posteriors[0].t, posteriors[0].rng
        self.offset, self.scale = zero, unit = posteriors[0].offset, posteriors[0].scale
        self.mean = (mean[columns].sum(axis=1) - zero) / unit
        self.var = (std**2)[columns].sum(axis=1) / unit**2
        self.std = np.sqrt(self.var)
        self.noise = noise[columns].sum(axis=1) / unit**2
        self._posteriors = posteriors
        # The best allocation of every draw is among the choices: its maximum is exact.
        self._drawn = (drawn[:, columns].sum(axis=2) - zero) / unit

    @property
    def n_arms(self) -> int:
        """Number of allocations."""
        return len(self.choices)

    @property
    def covariance(self) -> np.ndarray:
        """Posterior covariances of the totals of all pairs (n_arms, n_arms)."""
        total = np.zeros((self.n_arms, self.n_arms))
        for posterior, arms in zip(self._posteriors, self.choices.T, strict=True):
            total += (posterior.scale / self.scale) ** 2 * posterior.covariance[np.ix_(arms, arms)]
        return total

    def covariance_of_target(self, number: int) -> np.ndarray:
        """Posterior covariances (n_arms,) of one total with all."""
        return self.covariance[number]

    def draws(self, n_draws: int) -> np.ndarray:
        """Joint draws, shape (n_draws, n_arms), the same again beyond the first 256."""
        return self._drawn[np.arange(n_draws) % N_DRAWN]


class TargetsPosterior:
    """Posterior of all queries and all targets before a round: all that a rule looks at.

    Values are in units of the surrogate, where the prior is the kernel. Pending queries count as
    answered with what is expected.

    Attributes
    ----------
    t : int
        The round about to be played, counted from 1.
    query_mean, query_var : ndarray of shape (n_queries,)
        Posterior of what each query observes, without the noise of an answer.
    query_noise : ndarray of shape (n_queries,)
        Noise variance of an answer.
    cost : ndarray of shape (n_queries,)
        Price of an answer.
    target_mean, target_var : ndarray of shape (n_targets,)
        Posterior of the targets.
    covariance : ndarray of shape (n_queries, n_targets)
        Posterior covariances of queries and targets.
    offset, scale : float
        Units: a reward is ``offset + scale * value``.
    rng : numpy.random.Generator
        Randomness of this round, the same whenever the round is asked again.
    """

    t: int
    query_mean: np.ndarray
    query_var: np.ndarray
    query_noise: np.ndarray
    cost: np.ndarray
    target_mean: np.ndarray
    target_var: np.ndarray
    offset: float
    scale: float
    rng: np.random.Generator

    def __init__(
        self,
        across: TrackedAcross,
        falls: np.ndarray,
        noise: np.ndarray,
        cost: np.ndarray,
        t: int,
        rng: np.random.Generator,
    ) -> None:
        gp, n = across.gp, across.n_first
        # What pending answers will take off covariances, as ``pending_falls`` has it.
        self._across, self._falls = across, falls
        mean = gp.posterior.tracked_mean()
        var = gp.posterior.tracked_var()
        if len(falls):
            var = np.maximum(var - np.einsum("ij,ij->j", falls, falls), 0.0)
        self.query_mean, self.target_mean = mean[:n], mean[n:]
        self.query_var, self.target_var = var[:n], var[n:]
        self.query_noise = noise / gp.scale**2 + gp.white_noise(gp.tracked)[:n]
        self.cost = cost
        self.t = t
        self.offset, self.scale = gp.offset, gp.scale
        self.rng = rng
        # The first draws of so many, for those who look from elsewhere.
        self._first_draws: dict[int, np.ndarray] = {}

    @property
    def covariance(self) -> np.ndarray:
        """Posterior covariances (n_queries, n_targets)."""
        known = self._across.covariance()
        if not len(self._falls):
            return known
        known = known.copy()
        first, others = np.split(self._falls, [self._across.n_first], axis=1)
        # In place: memory for another matrix takes longer than all else.
        return dgemm(-1.0, others.T, first, beta=1.0, c=known.T, overwrite_c=True).T

    def covariance_of_target(self, number: int) -> np.ndarray:
        """Posterior covariances of one target with all targets, shape (n_targets,)."""
        return self._among_targets(np.array([number]))[0]

    def draws(self, n_draws: int) -> np.ndarray:
        """Joint draws of all targets, shape (n_draws, n_targets)."""
        across, mean = self._across, self.target_mean
        m, n = len(mean), across.n_first
        root = posterior_root(across.gp, n, self._falls[:, n:])
        if root is None:
            covariance = self._among_targets(np.arange(m))
            seed = int(self.rng.integers(2**31))
            found = joint_draws(mean, covariance, n_draws, seed).T
        else:
            normals = self.rng.standard_normal((check_draws(n_draws, m), m))
            found = mean + normals @ root.T
        self._first_draws.setdefault(n_draws, found)
        return found

    def first_draws(self, n_draws: int) -> np.ndarray:
        """Joint draws that are the same whenever they are asked for, shape (n_draws, n_targets)."""
        found = self._first_draws.get(n_draws)
        return self.draws(n_draws) if found is None else found

    def _among_targets(self, numbers: np.ndarray) -> np.ndarray:
        """Posterior covariances (k, n_targets) of some targets with all."""
        others = self._falls[:, self._across.n_first :]
        return self._across.among_others(numbers) - others[:, numbers].T @ others


class ElsewherePosterior(TargetsPosterior):
    """The same of the same targets and of other queries, of which none is tracked.

    Parameters
    ----------
    known : TargetsPosterior
        That of the queries that are tracked.
    rows : ndarray of shape (n_queries, n_columns)
        The other queries.
    noise, cost : ndarray of shape (n_queries,)
        Their noise variances, in units of the surrogate, and prices.
    falls : ndarray of shape (p, n_queries)
        What pending answers will take off their covariances, as ``pending_falls`` has it.
    rng : numpy.random.Generator
        As that of ``known`` was at first.
    """

    def __init__(
        self,
        known: TargetsPosterior,
        rows: np.ndarray,
        noise: np.ndarray,
        cost: np.ndarray,
        falls: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        vars(self).update(vars(known))
        gp, n = self._across.gp, self._across.n_first
        some = Functionals.of_rows(rows)
        mean, std = gp.moments(rows, std=True)
        self.query_mean = (mean - gp.offset) / gp.scale
        fall = np.einsum("ij,ij->j", falls, falls)
        self.query_var = np.maximum((std / gp.scale) ** 2 - fall, 0.0)
        self.query_noise, self.cost, self.rng = noise, cost, rng
        K = covariance_with_tracked(gp, some, n)
        self._elsewhere: np.ndarray = K - falls.T @ self._falls[:, n:] if len(falls) else K

    @property
    def covariance(self) -> np.ndarray:
        """Posterior covariances (n_queries, n_targets)."""
        return self._elsewhere

    def draws(self, n_draws: int) -> np.ndarray:
        """Joint draws of all targets, shape (n_draws, n_targets), those of what is tracked."""
        return self.first_draws(n_draws) if n_draws in self._first_draws else super().draws(n_draws)


class AmongPosterior(TargetsPosterior):
    """The same of one query that moves, and of some of the targets.

    Parameters
    ----------
    known : TargetsPosterior
        That of all targets.
    numbers : ndarray of int, shape (n_targets,)
        Which of them these are.
    """

    def __init__(self, known: TargetsPosterior, numbers: np.ndarray) -> None:
        vars(self).update(vars(known))
        self._known, self._numbers = known, numbers
        self.target_mean = known.target_mean[numbers]
        self.target_var = known.target_var[numbers]
        self._of_target: dict[int, np.ndarray] = {}

    def look(self, moments: Moments, noise: float, cost: float) -> None:
        """Let the query be where its posterior has these moments."""
        self.query_mean, self.query_var = np.array([moments.mean]), np.array([moments.var])
        self.query_noise, self.cost = np.array([noise]), np.array([cost])
        self._elsewhere: np.ndarray = moments.covariance[np.newaxis]

    @property
    def covariance(self) -> np.ndarray:
        """Posterior covariances (1, n_targets)."""
        return self._elsewhere

    def covariance_of_target(self, number: int) -> np.ndarray:
        """Posterior covariances of one target with all targets, shape (n_targets,)."""
        if number not in self._of_target:
            every = self._known.covariance_of_target(int(self._numbers[number]))
            self._of_target[number] = every[self._numbers]
        return self._of_target[number]

    def draws(self, n_draws: int) -> np.ndarray:
        """Joint draws of these targets, shape (n_draws, n_targets)."""
        return self._known.first_draws(n_draws)[:, self._numbers]


class IndirectTargetsPosterior(TargetsPosterior):
    """The same of questions a and points x, from a conditional mean process that tracks both."""

    def __init__(
        self,
        process: ConditionalMeanProcess,
        noise: np.ndarray,
        cost: np.ndarray,
        t: int,
        rng: np.random.Generator,
    ) -> None:
        self._process = process
        self.offset, self.scale = process.center_, process.scale_
        query_mean, query_std = process.predict_query_tracked(return_std=True)
        target_mean, target_std = process.predict_tracked(return_std=True)
        self.query_mean, self.target_mean = (
            (mean - self.offset) / self.scale for mean in (query_mean, target_mean)
        )
        self.query_var, self.target_var = (
            (std / self.scale) ** 2 for std in (query_std, target_std)
        )
        self.query_noise = process.noise_of(noise) / self.scale**2
        self.cost = cost
        self.t, self.rng = t, rng
        self._covariance: np.ndarray | None = None
        self._among: np.ndarray | None = None

    @property
    def covariance(self) -> np.ndarray:
        """Posterior covariances (n_queries, n_targets)."""
        if self._covariance is None:
            X, A = self._process.X_tracked_, self._process.A_tracked_
            found = self._process.covariance(X, A).T / self.scale**2
            self._covariance = np.ascontiguousarray(found)
        return self._covariance

    def covariance_of_target(self, number: int) -> np.ndarray:
        """Posterior covariances of one target with all targets, shape (n_targets,)."""
        if self._among is None:
            _, found = self._process.predict(self._process.X_tracked_, return_cov=True)
            self._among = found / self.scale**2
        return self._among[number]

    def draws(self, n_draws: int) -> np.ndarray:
        """Joint draws of all targets, shape (n_draws, n_targets)."""
        seed = int(self.rng.integers(2**31))
        draws = np.asarray(self._process.sample_tracked(n_draws, seed))
        return (draws.T - self.offset) / self.scale
