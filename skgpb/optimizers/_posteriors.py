"""What rules look at: the posterior of all arms before a round, or of allocations of arms."""

from __future__ import annotations

import numpy as np

from skgpb._core._arms import add_reductions
from skgpb._core._posterior import Posterior
from skgpb.acquisition.ucb import own_reduction
from skgpb.optimizers._knapsack import CostTable
from skgpb.surrogate.pairs import TrackedPairs

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

    target_mean, target_var = query_mean, query_var


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
        noise: float,
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
