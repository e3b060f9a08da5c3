"""Input of an acquisition function: the posterior of queries and targets before a round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy.linalg.blas import dgemm

from skgpb._core._arms import add_reductions
from skgpb._core._posterior import Posterior
from skgpb.acquisition.entropy import linear_information
from skgpb.acquisition.knowledge import log_knowledge_gradient
from skgpb.acquisition.ucb import own_reduction
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.draws import posterior_root
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.pairs import PairCovariances, QueryTargetCovariances
from skgpb.utils.roots import PivotedRoot, joint_draws
from skgpb.utils.validation import check_draws

__all__ = ["Round"]

# Memory: covariance="auto" keeps the covariance of all pairs for at most this many arms (200 MB).
MOST_ARMS_IN_FULL = 5_000
# Memory: covariance="full" is refused for more arms (3.2 GB).
FULL_AT_MOST = 20_000
# Rounding: arms that together add at most this share to a weighted sum are left out of it.
NEGLIGIBLE_REDUCTION = 1e-14

Value = TypeVar("Value")


class QueryTargetPosterior(ABC):
    """Posterior covariances of pairs of queries and targets, computed on demand.

    Attributes
    ----------
    offset, scale : float
        Units: a reward is ``offset + scale * value``.
    query_mean, query_var : ndarray of shape (n_queries,)
        Posterior moments of the functionals that the queries observe.
    target_mean, target_var : ndarray of shape (n_targets,)
        Posterior moments of the targets.
    incumbent : float or None
        Value to improve upon; None stands for the largest mean of a query.
    """

    incumbent: float | None = None

    def __init__(
        self,
        units: tuple[float, float],
        queries: tuple[np.ndarray, np.ndarray],
        targets: tuple[np.ndarray, np.ndarray],
    ) -> None:
        self.offset: float = units[0]
        self.scale: float = units[1]
        self.query_mean: np.ndarray = queries[0]
        self.query_var: np.ndarray = queries[1]
        self.target_mean: np.ndarray = targets[0]
        self.target_var: np.ndarray = targets[1]

    @abstractmethod
    def covariance(self) -> np.ndarray:
        """Return posterior covariances (n_queries, n_targets) of queries and targets."""

    @abstractmethod
    def target_covariance(self, number: int) -> np.ndarray:
        """Return posterior covariances (n_targets,) of one target with all targets."""

    def covariance_with(self, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return posterior covariances (n_queries,) of queries with a weighted sum of targets."""
        return self.covariance()[:, numbers] @ weights

    @abstractmethod
    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, n_targets) of the targets."""

    @abstractmethod
    def query_draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, n_queries) of the functionals that the queries observe."""

    def reduction(self, noise: np.ndarray, weights: np.ndarray, covariance: str) -> np.ndarray:
        """Return the weighted reduction (n_queries,) of all target deviations by an answer."""
        C, std = self.covariance(), np.sqrt(self.target_var)
        total = np.maximum(self.query_var + noise, np.finfo(float).tiny)
        left = np.maximum(self.target_var - C**2 / total[:, np.newaxis], 0.0)
        return (std - np.sqrt(left)) @ weights


class ArmPosterior(QueryTargetPosterior):
    """Covariances if queries and targets are one set; ``pairs()`` is called on first use."""

    def __init__(
        self,
        gp: GaussianProcess,
        expected: Posterior,
        pairs: Callable[[], PairCovariances],
        pulled: list[int],
        noises: np.ndarray,
    ) -> None:
        self._gp, self._expected, self._pairs = gp, expected, pairs
        # Slots of pending queries, and the noise variances of their answers in the user's units.
        self._pulled, self._noises = pulled, noises
        moments = expected.tracked_mean(), expected.tracked_var()
        super().__init__((gp.offset, gp.scale), moments, moments)

    @property
    def rows_of_targets(self) -> np.ndarray:
        """Descriptors of the arms."""
        return self._gp.tracked.rows

    def covariance(self) -> np.ndarray:
        """Return posterior covariances (n_arms, n_arms) of all pairs."""
        return self._pairs().covariance(self._expected, self._pulled, self._noises)

    def target_covariance(self, number: int) -> np.ndarray:
        """Return posterior covariances (n_arms,) of one arm with all arms."""
        return self._pairs().rows(self._expected, np.array([number]))[0]

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint posterior draws (n_draws, n_arms) of all arms."""
        return self._pairs().draws(n_draws, rng)

    def query_draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return :meth:`draws`: here the queries are the targets."""
        return self.draws(n_draws, rng)

    def reduction(self, noise: np.ndarray, weights: np.ndarray, covariance: str) -> np.ndarray:
        """Return the weighted reduction (n_arms,) of all deviations by an answer about each arm.

        Equation 37 of [Nuara2020]_. O(n_arms) for each arm of positive weight, after O(n_arms t)
        for its covariances, unless the covariances of all pairs are kept.
        """
        n, var = len(self.query_var), self.query_var
        out = np.zeros(n)
        # No reduction exceeds the standard deviation itself.
        most = weights * np.sqrt(var)
        order = np.argsort(most, kind="stable")
        left_out = np.searchsorted(
            np.cumsum(most[order]), NEGLIGIBLE_REDUCTION * most.sum(), side="right"
        )
        others = np.sort(order[left_out:])
        if _keeps_covariance(covariance, n):
            C = self.covariance()
            add_reductions(C, others, weights[others], var, noise, others, out)
            return out
        pairs = self._pairs()
        for some in pairs.batches(others):
            rows = pairs.rows(self._expected, some)
            add_reductions(rows, np.arange(len(some)), weights[some], var, noise, some, out)
        return out


def _keeps_covariance(covariance: str, n_arms: int) -> bool:
    """Return whether the full matrix is kept; raise ValueError if it does not fit into memory."""
    if covariance == "full" and n_arms > FULL_AT_MOST:
        raise ValueError(
            f"covariance='full' would keep {n_arms} x {n_arms} covariances, "
            f"{8e-9 * n_arms**2:.0f} GB; pass covariance='lean', which forms no such matrix"
        )
    return covariance == "full" or (covariance == "auto" and n_arms <= MOST_ARMS_IN_FULL)


class CrossPosterior(QueryTargetPosterior):
    """Covariances if queries and targets are two sets, with tracked covariances."""

    def __init__(
        self,
        across: QueryTargetCovariances,
        downdate: np.ndarray,
        root: Callable[[], PivotedRoot | None] = lambda: None,
    ) -> None:
        gp, n = across.gp, across.n_first
        # Reductions of covariances by pending answers (see ``pending_downdate``), and a root of the
        # prior covariance of the targets, None if candidates move.
        self._across, self._downdate, self._root = across, downdate, root
        mean, var = gp.posterior.tracked_mean(), gp.posterior.tracked_var()
        if len(downdate):
            var = np.maximum(var - np.einsum("ij,ij->j", downdate, downdate), 0.0)
        super().__init__((gp.offset, gp.scale), (mean[:n], var[:n]), (mean[n:], var[n:]))

    def covariance(self) -> np.ndarray:
        """Return posterior covariances (n_queries, n_targets) of queries and targets."""
        known = self._across.covariance()
        if not len(self._downdate):
            return known
        known = known.copy()
        first, others = np.split(self._downdate, [self._across.n_first], axis=1)
        # In place: allocating another matrix takes longer than the product.
        return dgemm(-1.0, others.T, first, beta=1.0, c=known.T, overwrite_c=True).T

    @property
    def rows_of_targets(self) -> np.ndarray:
        """Descriptors of the targets."""
        return self._across.gp.tracked.rows[self._across.n_first :]

    def covariance_with(self, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return posterior covariances (n_queries,) of queries with a weighted sum of targets."""
        gp, n, downdate = self._across.gp, self._across.n_first, self._downdate
        queries = Functionals.of_rows(gp.tracked.rows[:n])
        prior = gp.covariance(queries, Functionals.of_rows(self.rows_of_targets[numbers]))
        V = gp.posterior.tracked_rows()
        told = V[:n] @ (V[n + numbers].T @ weights)
        return prior @ weights - told - downdate[:, :n].T @ (downdate[:, n + numbers] @ weights)

    def target_covariance(self, number: int) -> np.ndarray:
        """Return posterior covariances (n_targets,) of one target with all targets."""
        return self._among(np.array([number]))[0]

    def _among(self, numbers: np.ndarray) -> np.ndarray:
        others = self._downdate[:, self._across.n_first :]
        return self._across.target_covariance_rows(numbers) - others[:, numbers].T @ others

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, n_targets) of all targets, given pending queries as well."""
        across, mean = self._across, self.target_mean
        m, n = len(mean), across.n_first
        prior = self._root()
        if prior is not None:
            rows = across.gp.posterior.tracked_rows()[n:]
            if len(self._downdate):
                rows = np.hstack([rows, self._downdate[:, n:].T])
            draws = prior.draws(rows, n_draws, int(rng.integers(2**31)))
            draws += mean[:, np.newaxis]
            return draws.T
        root = posterior_root(across.gp, n, self._downdate[:, n:])
        if root is None:
            covariance = self._among(np.arange(m))
            return joint_draws(mean, covariance, n_draws, int(rng.integers(2**31))).T
        return mean + rng.standard_normal((check_draws(n_draws, m), m)) @ root.T

    def query_draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, n_queries) of the functionals that the queries observe."""
        gp, n = self._across.gp, self._across.n_first
        _, cov = gp.moments(gp.tracked.rows[:n], cov=True)
        downdate = self._downdate[:, :n]
        cov = cov / gp.scale**2 - downdate.T @ downdate
        return joint_draws(self.query_mean, cov, n_draws, int(rng.integers(2**31))).T


class PosteriorAtRows(QueryTargetPosterior):
    """Covariances of any functionals, as queries, with the tracked targets.

    Parameters
    ----------
    gp : GaussianProcess
        The posterior, given the expected answers to pending queries.
    rows : ndarray of shape (n_queries, n_columns)
        Descriptors of the queries.
    known : CrossPosterior, ArmPosterior or PosteriorAtRows
        Posterior of the targets.
    """

    def __init__(self, gp: GaussianProcess, rows: np.ndarray, known: Any) -> None:
        self._gp, self._rows, self._known = gp, rows, known
        mean, std = gp.moments(rows, std=True)
        queries = (mean - gp.offset) / gp.scale, (std / gp.scale) ** 2
        targets = known.target_mean, known.target_var
        super().__init__((gp.offset, gp.scale), queries, targets)

    @cached_property
    def _queries(self) -> Functionals:
        return Functionals.of_rows(self._rows)

    @property
    def rows_of_targets(self) -> np.ndarray:
        """Descriptors of the targets."""
        return self._known.rows_of_targets

    def covariance(self) -> np.ndarray:
        """Return posterior covariances (n_queries, n_targets) of queries and targets."""
        targets = Functionals.of_rows(self.rows_of_targets)
        return self._gp.posterior_covariance(self._queries, targets)

    def target_covariance(self, number: int) -> np.ndarray:
        """Return posterior covariances (n_targets,) of one target with all targets."""
        return self._known.target_covariance(number)

    def covariance_with(self, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return posterior covariances (n_queries,) of queries with a weighted sum of targets."""
        targets = Functionals.of_rows(self.rows_of_targets[numbers])
        return self._gp.posterior_covariance(self._queries, targets) @ weights

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, n_targets) of all targets."""
        return self._known.draws(n_draws, rng)

    def query_draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, n_queries) of the expected answers to all queries."""
        cov = self._gp.posterior_covariance(self._queries, self._queries)
        return joint_draws(self.query_mean, cov, n_draws, int(rng.integers(2**31))).T


class Round:
    """Posterior of queries and targets before a round, the argument of acquisition functions.

    Values are in units of the surrogate, where the prior is the kernel; these are the units of the
    rewards unless rewards are scaled. Pending queries count as answered, with the expected answer.
    Do not change the arrays: change a copy.

    Attributes
    ----------
    t : int
        The round about to be played, counted from 1.
    query_mean, query_var : ndarray of shape (n_queries,)
        Posterior moments of the functionals that the queries observe, without noise.
    query_noise : ndarray of shape (n_queries,)
        Noise variance of an answer.
    cost : ndarray of shape (n_queries,)
        Cost of an answer.
    target_mean, target_var : ndarray of shape (n_targets,)
        Posterior moments of the targets. If arms are pulled, the targets are the queries.
    offset, scale : float
        Units: a reward is ``offset + scale * value``.
    known : QueryTargetPosterior
        The posterior from which the attributes are read.
    """

    offset: float
    scale: float
    known: QueryTargetPosterior
    query_mean: np.ndarray
    query_var: np.ndarray
    query_noise: np.ndarray
    target_mean: np.ndarray
    target_var: np.ndarray
    cost: np.ndarray
    t: int

    def __init__(
        self,
        known: QueryTargetPosterior,
        noise: np.ndarray,
        cost: np.ndarray,
        t: int,
        make_rng: Callable[[], np.random.Generator],
    ) -> None:
        self.known = known
        self.query_mean, self.query_var = known.query_mean, known.query_var
        self.target_mean, self.target_var = known.target_mean, known.target_var
        self.offset, self.scale = known.offset, known.scale
        self.query_noise, self.cost, self.t = noise, cost, t
        self._make_rng = make_rng  # called on demand: seeding takes half of a round
        self._once: dict[str, Any] = {}

    @classmethod
    def before(
        cls,
        known: QueryTargetPosterior,
        gp: GaussianProcess,
        noise: np.ndarray,
        cost: np.ndarray,
        t: int,
        make_rng: Callable[[], np.random.Generator],
    ) -> Round:
        """Return a round; ``noise`` is in the user's units."""
        noise = noise / gp.scale**2
        if gp.white:
            noise = noise + gp.white_noise(gp.tracked)[: len(known.query_mean)]
        return cls(known, noise, cost, t, make_rng)

    def at(
        self, gp: GaussianProcess, rows: np.ndarray, noise: np.ndarray, cost: np.ndarray
    ) -> Round:
        """Return this round with other queries.

        Parameters
        ----------
        gp : GaussianProcess
            The posterior, given the expected answers to pending queries.
        rows : ndarray of shape (n, n_columns)
            Descriptors of the queries.
        noise, cost : ndarray of shape (n,)
            Noise variances, in the user's units, and costs of their answers.
        """
        known, noise = PosteriorAtRows(gp, rows, self.known), noise / gp.scale**2
        if gp.white:
            noise = noise + gp.white_noise(Functionals.of_rows(rows))
        out = self.replace(known, noise, cost)
        out._once = self._once
        return out

    def replace(self, known: QueryTargetPosterior, noise: np.ndarray, cost: np.ndarray) -> Round:
        """Return this round with another posterior, and other noise variances and costs."""
        return Round(known, noise, cost, self.t, self._make_rng)

    def once(self, name: str, compute: Callable[[], Value]) -> Value:
        """Return ``compute()``, which is called once in this round.

        Use it for values that do not depend on the queries, such as samples of the largest target,
        if a rule is evaluated for other queries as well, see :meth:`at`.
        """
        if name not in self._once:
            self._once[name] = compute()
        return self._once[name]

    @cached_property
    def rng(self) -> np.random.Generator:
        """Random generator of this round; each round object begins in the same state."""
        return self._make_rng()

    # -- queries ----------------------------------------------------------------------------

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.cost)

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return len(self.target_mean)

    @property
    def n_arms(self) -> int:
        """Number of queries, the name for rules over arms."""
        return len(self.cost)

    @property
    def mean(self) -> np.ndarray:
        """``query_mean``."""
        return self.query_mean

    @property
    def var(self) -> np.ndarray:
        """``query_var``."""
        return self.query_var

    @property
    def std(self) -> np.ndarray:
        """Square roots of ``query_var``, shape (n_queries,)."""
        return np.sqrt(self.query_var)

    @property
    def noise(self) -> np.ndarray:
        """``query_noise``."""
        return self.query_noise

    @property
    def incumbent(self) -> float:
        """Value to improve upon: the largest mean of a query, with limits of a feasible one."""
        known = self.known.incumbent
        return float(self.query_mean.max()) if known is None else known

    def in_units_of_reward(self, values: np.ndarray) -> np.ndarray:
        """Convert values of f to the units of the reward; with "minimize" the sign stays turned."""
        return values * self.scale + self.offset

    # -- queries and targets ----------------------------------------------------------------

    @property
    def covariance(self) -> np.ndarray:
        """Posterior covariances of queries and targets, shape (n_queries, n_targets)."""
        return self.known.covariance()

    def covariance_of_target(self, number: int) -> np.ndarray:
        """Return posterior covariances (n_targets,) of one target with all targets."""
        return self.known.target_covariance(number)

    def covariance_with(self, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return posterior covariances (n_queries,) of queries with a weighted sum of targets.

        Parameters
        ----------
        numbers : ndarray of int, shape (k,)
            Indices of the targets.
        weights : ndarray of shape (k,)
            Their weights.
        """
        return self.known.covariance_with(numbers, weights)

    def draws(self, n_draws: int) -> np.ndarray:
        """Return joint draws (n_draws, n_targets) of all targets."""
        return self.known.draws(n_draws, self.rng)

    def query_draws(self, n_draws: int) -> np.ndarray:
        """Return joint draws (n_draws, n_queries) of the functionals that the queries observe."""
        return self.known.query_draws(n_draws, self.rng)

    def own_reduction(self) -> np.ndarray:
        """Return S_t(x, x) (n_queries,): how much an answer to a query reduces its deviation."""
        return own_reduction(self.std, self.query_noise)

    def reduction(self, weights: np.ndarray, covariance: str = "auto") -> np.ndarray:
        """Return the weighted reduction of the target deviations by an answer to each query.

        Parameters
        ----------
        weights : ndarray of shape (n_targets,)
            w_t(x'), >= 0.
        covariance : {"auto", "full", "lean"}, default="auto"
            Whether to keep the covariances of all pairs of arms in memory.

        Returns
        -------
        uncertainty : ndarray of shape (n_queries,)
            sum_x' w_t(x') S_t(x, x') for every x, equation 37 of the DAGP-UCB paper.
        """
        return self.known.reduction(self.query_noise, weights, covariance)

    def log_knowledge_gradient(self) -> np.ndarray:
        """Return the log (n_queries,) of the expected increase of the largest target mean."""
        return log_knowledge_gradient(
            self.target_mean, self.covariance, self.query_var, self.query_noise
        )

    def information(
        self, covariance: np.ndarray, variance: float | np.ndarray, rounding: float = 0.0
    ) -> np.ndarray:
        """Return the information (n_queries,) in nats about a functional, by answers to each query.

        Parameters
        ----------
        covariance : ndarray of shape (n_queries,)
            Posterior covariances of the functional with the queries.
        variance : float, or ndarray of shape (n_queries,)
            Its posterior variance; one for each query if each has a functional of its own.
        rounding : float, default=0.0
            Queries whose variances are at most this share of the largest one get 0.
        """
        var, unit = self.query_var, self.largest_variance
        std = np.sqrt(np.where(var > rounding * unit, var / unit, 0.0))
        noise = self.query_noise / unit
        return linear_information(covariance / unit, std, noise, variance / unit)

    def information_about_f(self, rounding: float = 0.0) -> np.ndarray:
        """Return the information (n_queries,) in nats about f as a whole, by an answer to each."""
        return self.information(self.query_var, self.query_var, rounding)

    @property
    def largest_variance(self) -> float:
        """The largest variance of a query or a target; 1 if all are 0."""
        return float(max(self.query_var.max(), self.target_var.max())) or 1.0
