r"""Bandits over finite arms: what rules that score all arms and pull the best share.

A rule says what it maximises, ``acquisition(posterior)``, in the file with its name. In the UCB
family that is, in the notation of Algorithm 1,

    mean(x) + sqrt(beta_t) sum_x' w_t(x, x') S_t(x, x'),

where beta_t is the exploration term, w_t are the weights and S_t the uncertainty terms.

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
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel
from sklearn.utils.validation import check_is_fitted

from skgpb._core._tree import first_maximum
from skgpb._docstrings import with_shared_paragraphs
from skgpb.domains.arms import Arm, ArmSet, BoxCandidates
from skgpb.domains.contexts import ContextArms
from skgpb.domains.query import PointsQuery, Region
from skgpb.kernels._boxes import check_boxes
from skgpb.locks import locked
from skgpb.optimizers._base import FreeChoice
from skgpb.optimizers._contexts import ArmsInContexts, RunsInContexts
from skgpb.optimizers._first_design import FirstDesign, best_known, representatives_of, takes_boxes
from skgpb.optimizers._norm_bound import GaussianIntervals, NormBoundedOptimizer
from skgpb.optimizers._placement import Sides
from skgpb.optimizers._posteriors import ArmsPosterior
from skgpb.surrogate.pairs import TrackedPairs
from skgpb.utils import (
    MOST_POINTS,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_callable_value,
    check_draws,
    check_numbers,
)

# Multiplications that moving candidates may take in a round, about a millisecond; and how many move
# in any case (decision D-D10).
MOST_MULTIPLICATIONS, FEWEST_MOVED = 2**24, 8


@with_shared_paragraphs
class BaseArmsOptimizer(
    RunsInContexts, ArmsInContexts, FirstDesign, GaussianIntervals[Arm], FreeChoice[Arm]
):
    """A rule that scores all arms and pulls the best.

    A subclass implements :meth:`acquisition`.

    Parameters
    ----------
    kernel, arms : %(arms)s
    bounds : array-like of shape (d, 2), default=None
        A box instead of arms, which candidates then stand for, see Notes. With neither it
        comes from ``fit``.
    context_bounds, alpha, B, R, misspecification, failure_probability : %(arms)s
    n_candidates, n_initial, optimizer, n_restarts_optimizer : %(arms)s
    relearn, normalize_y : %(arms)s
    direction, random_state : %(arms)s

    Attributes
    ----------
    surrogate_, domain_, history_, bounds_, n_features_in_ : %(arms)s

    Notes
    -----
    *First arms.* A model of few rewards is a guess. Where ``n_initial`` says so arms are first
    pulled that fill the space: the points of a scrambled Sobol sequence, in one dimension the
    middles of equal parts, or, of finitely many arms, those nearest to them; in turn the one
    farthest from all that was asked and told. One beside which something is known is left out.

    *Ties.* Among arms whose scores agree within 1e-9 the first is pulled.

    *Recommendation.* The arm of the highest posterior mean; of several the one that is known best.

    *Boxes.* While it has at most ``n_candidates`` points the domain is the grid of Theorem 2,
    ceil(d t^2 b sqrt(log(d / theta))) points per axis, b being sqrt(2) times the largest prior
    standard deviation of a slope over the box. Afterwards it is a fixed set that fills the box
    evenly, plus a quarter of the candidates which follow the posterior: the best points so
    far and points around them, at distances of every order of magnitude. In more than three
    dimensions, where no such set fills the box, all of them follow the posterior. After some
    hundred answers they move in turn, a few in each round (decision D-D10).

    *Contexts.* With ``context_bounds`` an arm is asked for in a context, ``ask(context=...)``, and
    rows, kernel and posterior are those of [context, arm]. What is looked at without a context, by
    :meth:`posterior`, :meth:`scores` and :meth:`predict_arms`, is in the one that was asked last,
    at first the middle of their box. First arms fill the space of arms whatever their contexts
    are. Candidates in a box are from the first round on a set that fills it, of which a share
    follows what is best in the context.

    *Batches.* ``ask(n)`` shrinks the standard deviations by the queries that are pending, whose
    values are assumed to be as expected [Desautels2014]_; a batch has no arm twice.
    """

    _query_type = Arm
    _sides = "any"

    domain_: ArmSet

    _parameter_constraints: dict[str, Any] = {
        "arms": "no_validation",
        "bounds": "no_validation",
        "context_bounds": "no_validation",
        "n_candidates": [Interval(Integral, 8, MOST_POINTS, closed="both")],
        "n_initial": [Interval(Integral, 0, MOST_POINTS, closed="both"), None],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        alpha: float | None = None,
        B: float = 1.0,
        R: float | None = None,
        misspecification: float = 0.0,
        failure_probability: float = 0.1,
        n_candidates: int = 500,
        n_initial: int | None = None,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        direction: str = "maximize",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.arms = arms
        self.bounds = bounds
        self.context_bounds = context_bounds
        self.alpha = alpha
        self.B = B
        self.R = R
        self.misspecification = misspecification
        self.failure_probability = failure_probability
        self.n_candidates = n_candidates
        self.n_initial = n_initial
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn = relearn
        self.normalize_y = normalize_y
        self.direction = direction
        self.random_state = random_state

    @abstractmethod
    @locked
    def acquisition(self, posterior: ArmsPosterior) -> np.ndarray:
        """Return what is maximised over the arms.

        Parameters
        ----------
        posterior : ArmsPosterior
            What is known of all arms, see :meth:`posterior`.

        Returns
        -------
        values : ndarray of shape (n_arms,)
            After the first arms, ``ask`` returns the first of the largest value that is not
            pending.
        """

    # -- the round --------------------------------------------------------------------------

    def _choose(self) -> Arm:
        self._check_candidates()
        first = self._first_arm()
        return self._best_by_rule() if first is None else first

    def _best_by_rule(self) -> Arm:
        values = self.acquisition(self.posterior())
        arms = self.domain_
        free = np.ones(len(values), dtype=bool)
        for query in self._pending:
            if query.index >= 0 and arms.slot_of(query) >= 0:
                free[query.index] = False
            else:
                # Candidates that follow the posterior may coincide with others.
                free &= (arms.rows != query.descriptor).any(axis=1)
        free = np.flatnonzero(free)
        if not len(free):
            raise ValueError(
                f"all {len(values)} arms are pending: tell some of them before asking for more"
            )
        return arms.arm(int(free[first_maximum(values[free])]))

    def _noises_of_arms(self) -> float | np.ndarray:
        """Noise variance of each arm, one number where they are equal."""
        return self._default_noise()

    def _update(self, query: Arm | PointsQuery, reward: float, alpha: float) -> None:
        # Every round has its candidates, whether or not anybody has looked at them.
        self._refresh_candidates()
        slot = self.domain_.slot_of(query)
        mean, var = self._observe(query, slot, reward, alpha)
        self._pairs.observed(slot, self._noise_of(alpha))
        self._record(query, reward, mean, var, False)

    def _best(self) -> Arm:
        self._refresh_candidates()
        means, variances = self._gp.posterior.tracked_mean(), self._gp.posterior.tracked_var()
        return self.domain_.arm(best_known(means, variances))

    @locked
    def posterior(self, pending: Sequence[Arm | PointsQuery] | None = None) -> ArmsPosterior:
        """Posterior of all arms before the round about to be played, for a rule to look at.

        Parameters
        ----------
        pending : sequence of queries, default=None
            What is being evaluated. None stands for what was asked and not told.

        Returns
        -------
        posterior : ArmsPosterior
        """
        self._ensure_started()
        self._refresh_candidates()
        pending = list(self._pending if pending is None else map(self._resolve, pending))
        return ArmsPosterior(
            self._expected(pending).posterior,
            self._pairs,
            [self.domain_.slot_of(query) for query in pending],
            self._noises_of_arms(),
            self._round + 1 + len(pending),
            np.random.default_rng([self._seed, self._round, len(pending)]),
        )

    @overload
    def recommend(
        self, rule: str | None = None, *, side: None = None, context: Any = None
    ) -> Arm: ...

    @overload
    def recommend(self, rule: str | None = None, *, side: Sides, context: Any = None) -> Region: ...

    @locked
    def recommend(
        self, rule: str | None = None, *, side: Sides | None = None, context: Any = None
    ) -> Arm | Region:
        """Return the best arm, or the best cell of a size.

        Parameters
        ----------
        rule : {"posterior", "paper"}, default=None
            The rule by which it is chosen; None for the best one known. Here all are the same.
        side : float, array-like of shape (d,) or dict, default=None
            In a box, sides of a cell, one for all or one for each: the cell of this size with the
            best average, wherever it lies. Of separate values it is their number, one where a dict
            or a single number does not say. None for an arm.
        context : array-like of shape (d_c,), a number where d_c = 1, or dict, default=None
            Where it is to be best, where there are ``context_bounds``.

        Returns
        -------
        query : Arm or Region
        """
        best = super().recommend(rule, context=context)
        if side is None:
            return best
        if self.context_bounds is not None:
            return self._best_actions(self._checked_context(context), side)
        return self._best_placed(side, self._checked_rule(rule))

    # -- what users and other algorithms read --------------------------------------------------

    @property
    @locked
    def arms_(self) -> np.ndarray:
        """Arms, or the present candidates in a box, shape (n_arms, n_columns)."""
        check_is_fitted(self, "bounds_")
        self._refresh_candidates()
        return self.domain_.rows.copy()

    @locked
    def scores(self) -> np.ndarray:
        """Value of :meth:`acquisition` for every arm in the round about to be played.

        Returns
        -------
        scores : ndarray of shape (n_arms,)
            After the first arms, ``ask`` returns the first of the largest score that is not
            pending. The index of Algorithm 1 in the UCB family, logarithms or standard scores
            elsewhere.
        """
        posterior = self.posterior()
        kept = self._pairs.known
        try:
            return self.acquisition(posterior)
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
        return self._signed_moments(self.surrogate_.predict_tracked(return_std=return_std))

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
            Of arms the low-rank root of the prior is found once; a draw then takes O(n_arms t).
        """
        n_samples = check_draws(n_samples)
        self._ensure_started()
        self._refresh_candidates()
        check_draws(n_samples, len(self.domain_))
        draws = self._pairs.draws(n_samples, np.random.default_rng(random_state))
        return self._signed(draws.T * self._gp.scale + self._gp.offset)

    # -- domain -----------------------------------------------------------------------------

    @property
    def _over_boxes(self) -> bool:
        """Whether the kernel takes box descriptors."""
        return takes_boxes(self.kernel)

    def _domain(self) -> np.ndarray | None:
        return self._with_contexts(self._domain_of_arms())

    def _domain_of_arms(self) -> np.ndarray | None:
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
        if self._over_boxes and self.space_ is not None and self.space_.discrete:
            raise ValueError(
                f"kernel must be over points where bounds has sides of separate values; "
                f"{self.kernel!r} is over boxes"
            )

    def _begin(self) -> None:
        d, over_boxes = self.n_features_in_, self._over_boxes
        kernel = self._prior_kernel(d)
        counts = representatives_of(kernel, d) if over_boxes else None
        self._start_surrogate(kernel, 2 * d if over_boxes else d)
        self._candidates_at = -1
        self._slope: float | None = None
        self._entered = None
        n = self.n_context_
        box, counts = self.bounds_[n:], counts and counts[n:]
        if self.arms is not None:
            arms = ArmSet(np.array(check_numbers(self.arms, "arms")), box, counts)
        else:
            arms = BoxCandidates(box, self.n_candidates, counts, self._seed, self._actions)
        if n:
            arms = ContextArms(arms, self.bounds_, self.space_)
        self.domain_ = arms
        if isinstance(arms, BoxCandidates):
            self._refresh_candidates()
        else:
            self._track(arms.rows)

    def _track(self, rows: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Follow the posterior of these arms, in place of some others or of all."""
        self._gp.track(rows, slots)
        self._pairs_afresh()

    def _checked(self, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
        self._check_candidates()
        return super()._checked(query, reward, alpha)

    def _pairs_afresh(self) -> None:
        self._pairs = TrackedPairs(self._gp, moving=self._candidates is not None)

    def _relearned(self) -> None:
        self._pairs_afresh()
        self._slope = None

    def _condition(self, X: np.ndarray, y: np.ndarray) -> None:
        super()._condition(X, y)
        self._pairs_afresh()
        self._candidates_at, self._entered = -1, None

    # -- candidates in a box ------------------------------------------------------------------

    def _refresh_candidates(self) -> None:
        """Choose the candidates of this round, once."""
        self._check_candidates()
        candidates = self.domain_
        if not isinstance(candidates, BoxCandidates) or self._candidates_at == self._round:
            return
        self._candidates_at = self._round
        theta = self.failure_probability
        if candidates.lay_out(self._round + 1, theta, self._largest_slope):
            self._track(candidates.rows)
        if candidates.adaptive and len(self._gp.observed):
            rng = np.random.default_rng([self._seed, self._round, self._n_fitted, 1])
            most = max(FEWEST_MOVED, MOST_MULTIPLICATIONS // len(self._gp.observed) ** 2)
            moved = candidates.move(*self._known_values(), rng, most)
            self._track(candidates.rows[moved], moved)

    @property
    def _candidates(self) -> BoxCandidates | None:
        """Those that stand for a box, of actions where there are contexts; None for arms."""
        arms = getattr(self.domain_, "actions", self.domain_)
        return arms if isinstance(arms, BoxCandidates) else None

    def _check_candidates(self) -> None:
        """Raise ValueError where their number was changed during the run."""
        candidates = self._candidates
        if candidates is not None and self.n_candidates != candidates.n_candidates:
            raise ValueError(
                f"n_candidates was {candidates.n_candidates} when this run began and is "
                f"{self.n_candidates!r} now, but the candidates in a box are laid out once: set it "
                "back, or call fit to start afresh"
            )

    def _largest_slope(self) -> float:
        """Largest slope that the prior expects of f, known until hyperparameters change."""
        if self._slope is None:
            self._slope = self.domain_.largest_slope(self._gp.deviations)
        return self._slope

    def _known_values(self) -> tuple[np.ndarray, np.ndarray]:
        """Points (n, d), those observed and candidates, and what is known of f there."""
        gp, d = self._gp, self.n_features_in_
        observed, posterior = gp.observed, gp.posterior
        points = observed.rows[:, :d]
        # What is known of f where it was observed: the answer less the noise in it.
        told = posterior.targets() - posterior.noises() * posterior.weights()
        if observed.offsets is not None:
            single = np.diff(observed.offsets) == 1
            points, told = points[observed.offsets[:-1][single]], told[single]
        points = np.concatenate([points, self.domain_.rows[:, :d]])
        return points, np.concatenate([told, posterior.tracked_mean()])


@with_shared_paragraphs
class BaseUCBOptimizer(BaseArmsOptimizer):
    r"""The base of rules of your own over arms or a box, Algorithm 1 with beta.

    A subclass says what is pulled, :meth:`acquisition`, in which :meth:`exploration` is beta_t,
    and what beta="theory" stands for, :meth:`theory_beta`. They are given an
    :class:`~skgpb.optimizers._posteriors.ArmsPosterior`.

    Parameters
    ----------
    kernel, arms, bounds, context_bounds, alpha : %(arms)s
    beta : "theory", float or callable, default="theory"
        Factor of the posterior *variance*: the uncertainty is multiplied by sqrt(beta).
        "theory" is the algorithm's own; a callable takes the round t, counted from 1.
    B, R, misspecification : %(arms)s
    failure_probability, n_candidates, n_initial, optimizer, n_restarts_optimizer : %(arms)s
    relearn, normalize_y, direction, random_state : %(arms)s
    """

    _parameter_constraints: dict[str, Any] = {
        "beta": [StrOptions({"theory"}), Interval(Real, 0, None, closed="left"), callable],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        alpha: float | None = None,
        beta: str | float | Callable[[int], float] | None = "theory",
        B: float = 1.0,
        R: float | None = None,
        misspecification: float = 0.0,
        failure_probability: float = 0.1,
        n_candidates: int = 500,
        n_initial: int | None = None,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        direction: str = "maximize",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            arms=arms,
            bounds=bounds,
            context_bounds=context_bounds,
            alpha=alpha,
            B=B,
            R=R,
            misspecification=misspecification,
            failure_probability=failure_probability,
            n_candidates=n_candidates,
            n_initial=n_initial,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            relearn=relearn,
            normalize_y=normalize_y,
            direction=direction,
            random_state=random_state,
        )
        self.beta: Any = beta

    @locked
    def exploration(self, posterior: ArmsPosterior) -> float:
        """Return beta_t, the exploration term of the round: given, or what the theory says.

        Parameters
        ----------
        posterior : ArmsPosterior
            Knows the round and the number of arms.

        Returns
        -------
        beta : float
            At least 0.
        """
        if callable(self.beta):
            return check_callable_value(self.beta, posterior.t, "beta")
        if self.beta == "theory":
            return max(0.0, self.theory_beta(posterior.t, posterior.n_arms))
        return float(self.beta)

    @locked
    def theory_beta(self, t: int, n_arms: int) -> float:
        """Return the exploration term that beta="theory" stands for.

        Parameters
        ----------
        t : int
            Round, counted from 1.
        n_arms : int
            Number of arms.

        Returns
        -------
        beta : float
        """
        raise ValueError(
            f"beta='theory' is not known for {type(self).__name__}: pass a number or a function of "
            "the round, or define theory_beta(t, n_arms)"
        )


class NormBoundedUCBOptimizer(NormBoundedOptimizer[Arm], BaseUCBOptimizer):
    """A rule of upper confidence bounds that knows of a width for every f of a norm."""

    @locked
    def exploration(self, posterior: ArmsPosterior) -> float:
        """Return beta_t: given, what the theory says, or a width that holds for bounded norms."""
        if isinstance(self.beta, str) and self.beta == "rkhs":
            return self._norm_beta()
        return super().exploration(posterior)
