r"""Bandits over finite arms: what the members of the UCB family share (Algorithm 1).

One round, in the notation of the paper: among all arms, pull the one with the largest

    mean(x) + sqrt(beta_t) sum_x' w_t(x, x') S_t(x, x'),

where beta_t is the exploration term, w_t are the weights and S_t the uncertainty terms. A
member of the family says what these three are.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Equation, algorithm and
   theorem numbers below are this paper's.
.. [Desautels2014] T. Desautels, A. Krause and J. W. Burdick, "Parallelizing
   Exploration-Exploitation Tradeoffs in Gaussian Process Bandit Optimization", JMLR 15, 2014.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from math import ceil, log, pi, sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel
from sklearn.utils.validation import check_is_fitted

from skgpb._core._arms import add_reductions
from skgpb._core._posterior import Posterior
from skgpb._core._tree import TIE_TOLERANCE
from skgpb.acquisition.ucb import own_reduction
from skgpb.domains.arms import Arm
from skgpb.domains.box import points_per_axis
from skgpb.domains.candidates import even_grid, points_near, spread_points
from skgpb.domains.query import PointsQuery
from skgpb.kernels import CellAverage
from skgpb.kernels._boxes import boxes_from_points, check_boxes
from skgpb.kernels._cell import CellKernel
from skgpb.locks import locked
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers._gaussian import GaussianProcessMixin
from skgpb.surrogate.pairs import TrackedPairs
from skgpb.utils import (
    MOST_POINTS,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_callable_value,
    check_inside,
    check_numbers,
)

# covariance="auto" keeps the covariance of all pairs for at most so many arms (200 MB),
FULL_BY_DEFAULT = 5_000
# covariance="full" is refused beyond (3.2 GB).
FULL_AT_MOST = 20_000
# Arms that could add no more than this share to a weighted sum, all together, are left out.
NEGLIGIBLE = 1e-14
# Of the candidates in a box, one in so many follows the posterior, around so many centers.
LOCAL_SHARE, N_CENTERS = 4, 5
# Assumption 1 is taken with a = 1; the slope is probed at so many points over this step.
N_PROBES, PROBE_STEP = 16, 1e-4


class ArmsPosterior:
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
    rng : numpy.random.Generator
        Randomness of this round, the same whenever the round is asked again.
    """

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
        self.mean = expected.tracked_mean()
        self.var = expected.tracked_var()
        self.std = np.sqrt(self.var)
        self.noise = noise / gp.scale**2 + gp.white_noise(gp.tracked)
        self.rng = rng

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.mean)

    def draws(self, n_draws: int) -> np.ndarray:
        """Joint draws of all arms, shape (n_draws, n_arms), given what was told."""
        return self._pairs.draws(n_draws, self.rng)

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


class BaseArmsOptimizer(GaussianProcessMixin, BaseBanditOptimizer[Arm]):
    """A rule that scores all arms and pulls the best.

    A subclass implements ``_score``.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance, over rows of ``arms``: any kernel of
        ``sklearn.gaussian_process.kernels`` where arms are points, or one of
        ``skgpb.kernels`` where they are descriptors of averages, integrals and so on. None learns
        Matern-5/2 with a scale for every side, in units of the rewards' spread
        (:mod:`skgpb.surrogate.likelihood`).
    arms : array-like of shape (n_arms, n_columns), default=None
        The arms. Rows are points, or descriptors of whatever ``kernel`` takes.
    bounds : array-like of shape (d, 2), default=None
        A box instead of arms, which candidates then stand for, see Notes. With neither it
        comes from ``fit``.
    alpha : float, default=None
        Noise variance of a reward, in units of the reward squared; None learns it.
    n_candidates : int, default=500
        Most points that stand for a box.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How hyperparameters are learned from what was told, as in GaussianProcessRegressor.
        None keeps those of a given ``kernel``.
    n_restarts_optimizer : int, default=0
        Further starts of the optimizer.
    relearn : {"doubling", "growing"}, int or None, default="doubling"
        When to learn them and the noise: whenever the number of observations has doubled or
        grown by a quarter (from 4 on), every so many observations, or only in ``fit``. It is
        also when rewards are scaled.
    normalize_y : bool, default=False
        Whether to centre and scale the rewards, so that a given ``kernel`` is in units of
        their spread. ``alpha`` stays in units of the reward.
    random_state : int, RandomState instance or None, default=None
        Seeds what is random: draws, candidates, restarts.

    Attributes
    ----------
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over rows as in ``arms``.
    history_ : structured ndarray
        What was told.
    bounds_ : ndarray of shape (d, 2)
        The domain; the bounding box of the arms.
    n_features_in_ : int
        Number of dimensions.

    Notes
    -----
    *Ties.* Among arms whose scores agree within 1e-9 the first is pulled.

    *Recommendation.* The arm of the highest posterior mean.

    *Boxes.* While it has at most ``n_candidates`` points the domain is the grid of Theorem 2,
    ceil(d t^2 b sqrt(log(d / theta))) points per axis, b being sqrt(2) times the largest prior
    standard deviation of a slope over the box. Afterwards it is a fixed set that fills the box
    evenly, plus a quarter of the candidates which follow the posterior: the best points so
    far and points around them, at distances of every order of magnitude.

    *Batches.* ``ask(n)`` shrinks the standard deviations by the queries that are pending, whose
    values are assumed to be as expected [Desautels2014]_; a batch has no arm twice.
    """

    _query_type = Arm

    _parameter_constraints: dict = {
        "arms": "no_validation",
        "bounds": "no_validation",
        "n_candidates": [Interval(Integral, 8, MOST_POINTS, closed="both")],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        bounds: Any = None,
        alpha: float | None = None,
        n_candidates: int = 500,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.arms = arms
        self.bounds = bounds
        self.alpha = alpha
        self.n_candidates = n_candidates
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn = relearn
        self.normalize_y = normalize_y
        self.random_state = random_state

    @abstractmethod
    def _score(self, posterior: ArmsPosterior) -> np.ndarray:
        """Return what to maximise, shape (n_arms,)."""

    # -- the round --------------------------------------------------------------------------

    def _choose(self) -> Arm:
        self._refresh_candidates()
        scores = self._score(self.posterior())
        free = np.ones(len(scores), dtype=bool)
        for query in self._pending:
            if self.arms is not None:
                free[query.index] = False
            else:
                # Candidates that follow the posterior may coincide with others.
                free &= (self._gp.tracked.rows != query.descriptor).any(axis=1)
        free = np.flatnonzero(free)
        if not len(free):
            raise ValueError(
                f"all {len(scores)} arms are pending: tell some of them before asking for more"
            )
        return self._arm(int(free[first_maximum(scores[free])]))

    def _update(self, query: Arm | PointsQuery, reward: float, alpha: float) -> None:
        # Every round has its candidates, whether or not anybody has looked at them.
        self._refresh_candidates()
        slot = self._slot_of(query)
        mean, var = self._observe(query, slot, reward, alpha)
        self._pairs.observed(slot, self._noise_of(alpha))
        self._record(query, reward, mean, var, False)

    def _best(self) -> Arm:
        self._refresh_candidates()
        return self._arm(first_maximum(self._gp.posterior.tracked_mean()))

    def posterior(self) -> ArmsPosterior:
        """Posterior of all arms before the round about to be played, for a rule to look at."""
        pending = len(self._pending)
        return ArmsPosterior(
            self._expected().posterior,
            self._pairs,
            [self._slot_of(query) for query in self._pending],
            self._default_noise(),
            self._round + 1 + pending,
            np.random.default_rng([self._seed, self._round, pending]),
        )

    # -- what users and other algorithms read --------------------------------------------------

    @property
    @locked
    def arms_(self) -> np.ndarray:
        """Arms, or the present candidates in a box, shape (n_arms, n_columns)."""
        check_is_fitted(self, "bounds_")
        self._refresh_candidates()
        return self._gp.tracked.rows.copy()

    @locked
    def scores(self) -> np.ndarray:
        """Score of every arm in the round about to be played.

        Returns
        -------
        scores : ndarray of shape (n_arms,)
            ``ask`` returns the first arm of the largest score that is not pending. The index
            of Algorithm 1 in the UCB family, logarithms or standard scores elsewhere.
        """
        self._ensure_started()
        self._refresh_candidates()
        kept = self._pairs.known
        try:
            return self._score(self.posterior())
        finally:
            # When covariances are computed afresh decides their rounding: only ``ask`` does.
            self._pairs.known = kept

    @locked
    def predict_arms(self, return_std: bool = False) -> Any:
        """Posterior of every arm.

        Parameters
        ----------
        return_std : bool, default=False
            Whether to return standard deviations as well.

        Returns
        -------
        mean : ndarray of shape (n_arms,)
        std : ndarray of shape (n_arms,), only if ``return_std``
            Without the noise of a pull.
        """
        self._ensure_started()
        self._refresh_candidates()
        return self.surrogate_.predict_tracked(return_std=return_std)

    @locked
    def sample_arms(self, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw all arms jointly from the posterior.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws.
        random_state : int, Generator or None, default=0
            Seeds the draws, as ``numpy.random.default_rng`` takes it.

        Returns
        -------
        samples : ndarray of shape (n_arms, n_samples)
            The low-rank root of the prior is found once; a draw then takes O(n_arms t).
        """
        self._ensure_started()
        self._refresh_candidates()
        draws = self._pairs.draws(n_samples, np.random.default_rng(random_state))
        return draws.T * self._gp.scale + self._gp.offset

    # -- domain -----------------------------------------------------------------------------

    @property
    def _over_boxes(self) -> bool:
        """Whether the kernel takes box descriptors, anywhere in its expression."""
        if not isinstance(self.kernel, Kernel):
            return False
        parts = [self.kernel, *self.kernel.get_params(deep=True).values()]
        return any(isinstance(part, CellKernel) for part in parts)

    def _domain(self) -> np.ndarray | None:
        if self.arms is None:
            return super()._domain()
        if self.bounds is not None:
            raise ValueError("pass either bounds or arms: arms have the bounds of their rows")
        rows = check_numbers(self.arms, "arms")
        if not self._over_boxes:
            return np.column_stack([rows.min(axis=0), rows.max(axis=0)])
        rows = check_boxes(rows, "arms")
        d = rows.shape[1] // 2
        return np.column_stack([rows[:, :d].min(axis=0), rows[:, d:].max(axis=0)])

    def _begin_checks(self, d: int) -> None:
        if isinstance(self.kernel, CompoundKernel):
            raise TypeError(f"kernel must return one covariance, got {self.kernel!r}")

    def _begin(self) -> None:
        d = self.n_features_in_
        kernel = self._prior_kernel(d)
        self._counts = self._points_per_axis(kernel, d) if self._over_boxes else None
        self._start_surrogate(kernel, 2 * d if self._over_boxes else d)
        self._candidates_at = -1
        self._n_candidates = self.n_candidates
        self._adaptive = False
        self._slope: float | None = None
        self._begin_arms()

    def _begin_arms(self) -> None:
        if self.arms is not None:
            self._track(np.array(check_numbers(self.arms, "arms")))
        else:
            self._refresh_candidates()

    def _track(self, rows: np.ndarray) -> None:
        """Follow the posterior of these rows, and of no others."""
        self._gp.track(rows)
        self._pairs = TrackedPairs(self._gp)

    def _points_per_axis(self, kernel: Kernel, d: int) -> tuple[int, ...]:
        """Representatives of a box: those of the kernel's average, else as many as GPOO takes."""
        parts = [kernel, *kernel.get_params(deep=True).values()]
        for part in parts:
            if isinstance(part, CellAverage):
                return part._counts(d)
        return points_per_axis(None, d)

    def _rows_of(self, points: np.ndarray) -> np.ndarray:
        return boxes_from_points(points) if self._over_boxes else points

    def _descriptor(self, query: Arm | PointsQuery) -> np.ndarray:
        block, d = self._block(query), self.n_features_in_
        return np.concatenate([block[:, :d].min(axis=0), block[:, -d:].max(axis=0)])

    # -- queries ----------------------------------------------------------------------------

    def _arm(self, slot: int) -> Arm:
        row = self._gp.tracked[slot][0].copy()
        return Arm(-1 if self.arms is None else slot, row, self._counts)

    def _block(self, query: Arm | PointsQuery) -> np.ndarray:
        if isinstance(query, Arm):
            return query.descriptor[None]
        return self._rows_of(query.points)

    def _resolve(self, query: Arm | PointsQuery) -> Arm | PointsQuery:
        self._check_candidates()
        if isinstance(query, PointsQuery):
            return query
        block = self._block(query)
        tracked = self._gp.tracked
        if block.shape[1] != self.surrogate_.n_features_in_ or query.counts != self._counts:
            known = False
        elif self.arms is None:
            known = query.index == -1
            if known:
                d = self.n_features_in_
                check_inside(np.stack([block[0, :d], block[0, -d:]]), self.bounds_)
        else:
            known = 0 <= query.index < len(tracked)
            known = known and np.array_equal(tracked[query.index], block)
        if not known:
            raise ValueError(
                f"{query} is not one of this optimizer's arms ({len(tracked)} of "
                f"{self.surrogate_.n_features_in_} columns)"
            )
        return query

    def _slot_of(self, query: Arm | PointsQuery) -> int:
        """Row of a query in ``arms_``, -1 where it is none of them."""
        if isinstance(query, Arm) and self.arms is not None:
            return query.index
        block = self._block(query)
        if len(block) != 1:
            return -1
        equal = np.flatnonzero((self._gp.tracked.rows == block).all(axis=1))
        return int(equal[0]) if len(equal) else -1

    def _relearned(self) -> None:
        self._pairs = TrackedPairs(self._gp)
        self._slope = None

    def _condition(self, X: np.ndarray, y: np.ndarray) -> None:
        super()._condition(X, y)
        self._pairs = TrackedPairs(self._gp)
        self._candidates_at = -1

    # -- candidates in a box (Theorem 2) --------------------------------------------------------

    def _refresh_candidates(self) -> None:
        """Choose the candidates of this round, once."""
        self._check_candidates()
        if self.arms is not None or self._candidates_at == self._round:
            return
        self._candidates_at = self._round
        # Once the grid is too fine it stays so: it grows with t^2.
        per_axis = 0 if self._adaptive else self._theorem_2(self._round + 1)
        if not self._adaptive and per_axis**self.n_features_in_ <= self.n_candidates:
            self._track(self._rows_of(even_grid(self.bounds_, per_axis)))
            return
        n, n_local = self.n_candidates, self.n_candidates // LOCAL_SHARE
        if not self._adaptive:
            self._adaptive = True
            shift = np.random.default_rng([self._seed, 0]).random(self.n_features_in_)
            self._track(self._rows_of(spread_points(self.bounds_, n, shift)))
        if len(self._gp.observed):
            rows = self._rows_of(self._local_points(n_local))
            self._gp.track(rows, range(n - n_local, n))
            self._pairs = TrackedPairs(self._gp)

    def _check_candidates(self) -> None:
        """Raise ValueError where their number was changed during the run."""
        if self.arms is None and self.n_candidates != self._n_candidates:
            raise ValueError(
                f"n_candidates was {self._n_candidates} when this run began and is "
                f"{self.n_candidates!r} now, but the candidates in a box are laid out once: set it "
                "back, or call fit to start afresh"
            )

    def _theorem_2(self, t: int) -> int:
        """Points per axis in round t."""
        d, theta = self.n_features_in_, getattr(self, "failure_probability", 0.1)
        if self._slope is None:
            self._slope = self._largest_slope()
        b = sqrt(2.0) * self._slope
        return max(2, ceil(min(1e9, d * t**2 * b * sqrt(log(d / theta)))))

    def _largest_slope(self) -> float:
        """Largest prior standard deviation of a slope, over the unit cube."""
        lower, upper = self.bounds_.T
        side = upper - lower
        slopes = [0.0]
        for x in spread_points(self.bounds_, N_PROBES, np.full(len(side), 0.5)):
            for axis in range(len(side)):
                step = np.zeros(len(side))
                step[axis] = PROBE_STEP * (
                    side[axis] if x[axis] < upper[axis] - side[axis] / 2 else -side[axis]
                )
                pair = self._rows_of(np.stack([x, x + step]))
                taken = abs((x + step - x)[axis]) / side[axis]
                slopes.append(self._gp.deviations(pair[:1], pair[1:])[0] / taken)
        return max(slopes)

    def _local_points(self, n: int) -> np.ndarray:
        """The best points so far and points around them, shape (n, d)."""
        gp, d = self._gp, self.n_features_in_
        observed, posterior = gp.observed, gp.posterior
        points, mean = observed.rows[:, :d], posterior.tracked_mean()
        # What is known of f where it was observed: the answer less the noise in it.
        told = posterior.targets() - posterior.noises() * posterior.weights()
        if observed.offsets is not None:
            single = np.diff(observed.offsets) == 1
            points, told = points[observed.offsets[:-1][single]], told[single]
        rows = np.clip(np.concatenate([gp.tracked.rows[:, :d], points]), *self.bounds_.T)
        mean = np.concatenate([mean, told])
        order = np.argsort(-mean, kind="stable")
        centers = np.unique(rows[order[: 2 * N_CENTERS]], axis=0, return_index=True)[1]
        centers = rows[order[np.sort(centers)[:N_CENTERS]]]
        rng = np.random.default_rng([self._seed, self._round, self._n_fitted, 1])
        return np.concatenate([centers, points_near(self.bounds_, centers, n - len(centers), rng)])


class BaseUCBOptimizer(BaseArmsOptimizer):
    r"""Algorithm 1: the largest mean plus sqrt(beta_t) sum_x' w_t(x, x') S_t(x, x').

    A subclass overrides what differs from GP-UCB: ``_theory_beta(t, n_arms)``, the exploration
    term; ``_weights(posterior)``, the weights w_t(x') of all arms, None for 1 at x' = x and 0
    elsewhere; ``_uncertainty(posterior, weights)``, the sum over x' for every x. See
    :class:`ArmsPosterior` for what they are given.

    Parameters
    ----------
    beta : "theory", float or callable, default="theory"
        Factor of the posterior *variance*: the uncertainty is multiplied by sqrt(beta).
        "theory" is the algorithm's own; a callable takes the round t, counted from 1.
    failure_probability : float, default=0.1
        delta of the theory, in (0, 1).
    """

    _parameter_constraints: dict = {
        "beta": [StrOptions({"theory"}), Interval(Real, 0, None, closed="left"), callable],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        bounds: Any = None,
        alpha: float | None = None,
        beta: str | float | Callable[[int], float] = "theory",
        failure_probability: float = 0.1,
        n_candidates: int = 500,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            arms=arms,
            bounds=bounds,
            alpha=alpha,
            n_candidates=n_candidates,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            relearn=relearn,
            normalize_y=normalize_y,
            random_state=random_state,
        )
        self.beta = beta
        self.failure_probability = failure_probability

    def _score(self, posterior: ArmsPosterior) -> np.ndarray:
        """Line 3 of Algorithm 1, equation 5."""
        uncertainty = self._uncertainty(posterior, self._weights(posterior))
        return posterior.mean + sqrt(self._beta(posterior)) * uncertainty

    def _weights(self, posterior: ArmsPosterior) -> np.ndarray | None:
        """Return w_t(x') for every arm x', or None for Kronecker's delta."""
        return None

    def _uncertainty(self, posterior: ArmsPosterior, weights: np.ndarray | None) -> np.ndarray:
        """Return sum_x' w_t(x, x') S_t(x, x') for every arm x."""
        return posterior.std

    def _theory_beta(self, t: int, n_arms: int) -> float:
        """2 log(t^2 pi^2 n_arms / (6 delta)); delta / 2 in a box, equation 22."""
        delta = self.failure_probability * (1.0 if self.arms is not None else 0.5)
        return 2.0 * log(t**2 * pi**2 * n_arms / (6.0 * delta))

    def _beta(self, posterior: ArmsPosterior) -> float:
        if callable(self.beta):
            return check_callable_value(self.beta, posterior.t, "beta")
        if self.beta == "theory":
            return max(0.0, self._theory_beta(posterior.t, posterior.n_arms))
        return float(self.beta)


def first_maximum(scores: np.ndarray) -> int:
    """Position of the first score within the tolerance of the largest (decision D-G1)."""
    return int(np.flatnonzero(scores >= scores.max() - TIE_TOLERANCE)[0])
