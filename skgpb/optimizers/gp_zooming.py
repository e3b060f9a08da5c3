r"""Bayesian zooming: Gaussian process bandits on balls that a covering oracle provides.

Every active point x is the centre of a ball of radius r(x). A round chooses the one with the
largest index

    J(x) = mean(x) + sqrt(beta_n) std(x) + W(r(x)).

If sqrt(beta_n) std(x) <= W(r(x)), the variation of f within balls of that radius, the radius is
*halved*. If that leaves a part of the domain uncovered, a point of this part becomes active, with
the largest radius. Otherwise f is *evaluated* at x.

References
----------
.. [Shekhar2018] S. Shekhar and T. Javidi, "Gaussian process bandits with adaptive
   discretization", Electronic Journal of Statistics 12, 2018. Equation, algorithm and claim
   numbers below are this paper's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log, nan, sqrt
from typing import Any, Literal

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skgpb._core._posterior import Posterior
from skgpb._core._ties import argmax_first, tied
from skgpb.domains import Ball
from skgpb.domains.arms import PointsQuery
from skgpb.domains.balls import Balls
from skgpb.domains.covering import LEVELS, ChebyshevCovering, EuclideanCovering
from skgpb.domains.partition import points_per_axis
from skgpb.exceptions import AllPendingError, RefinementWarning
from skgpb.optimizers._gaussian import ModelParameters
from skgpb.optimizers._run import AT_START
from skgpb.optimizers._trees import (
    HORIZON,
    Horizon,
    PriorOfPoints,
    RegionSearch,
    claim_2,
    kernel_of_regions,
    largest_within,
    monotone_envelope,
    smoothness_exponent,
)
from skgpb.surrogate.settings import kernel_on_settings
from skgpb.utils.locks import locked
from skgpb.utils.typing import Beta, FeedbackOfRegion, Representatives, Variation
from skgpb.utils.validation import (
    MOST_LEAVES,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_callable_value,
)
from skgpb.utils.warnings import warn

__all__ = ["GPZoomingOptimizer"]

# Limit: maximum number of boxes of an uncovered region; it grows exponentially with d.
MAX_EFFORT = 100_000
# Limit: maximum number of balls before the first evaluation (D-B6).
HEAD_START = 1000


@dataclass(eq=False, repr=False, kw_only=True)
class GPZoomingOptimizer(ModelParameters, RegionSearch[Ball]):
    r"""Find the best point of a box of up to four dimensions by balls that shrink (Algorithm 2).

    >>> from skgpb import GPZoomingOptimizer
    >>> opt = GPZoomingOptimizer(bounds={"x": (0, 10)}, horizon=40)
    >>> result = opt.run(lambda ball: -((ball.points - 3) ** 2).mean(), budget=40)
    >>> result.x.center.round(1)
    array([3.])

    It needs no tree of partitions: the search shrinks balls where f is large, and a covering
    oracle returns a point that needs a new ball. Lengths are measured in units of the domain's
    sides, so that the domain is the unit cube, whose diameter is 1 under the sup norm and sqrt(d)
    for Euclidean balls. A round takes O(m t) for m balls and t distinct queries, plus the time of
    the oracle.

    Other parameters are inherited from :class:`~skgpb.optimizers.ModelParameters`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f, any kernel of scikit-learn; None learns one from the answers.
    bounds : array-like of shape (d, 2) or dict, default=None
        The box that is searched: a pair (lower, upper) for each side, or a dict of named sides.
    alpha : float, array-like or None, default=None
        Noise variance of an answer, in units of the reward squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is random: draws, candidates in a box, and restarts of the optimizer.
    horizon : int, default=100
        n, the number of evaluations for which beta_n, W and r_min hold. A
        :class:`~skgpb.exceptions.BudgetWarning` says when there are more.
    anytime : bool, default=False
        Whether n doubles whenever ``horizon`` evaluations are spent. The balls and the
        observations are kept.
    metric : {"chebyshev", "euclidean"}, default="chebyshev"
        Norm that defines a ball. Under the sup norm the covering oracle is exact in any
        dimension, see :mod:`skgpb.domains.covering`; for Euclidean balls, with
        d <= 2, it subdivides to a tolerance.
    feedback : {"center", "average", "integral"} or Kernel, default="center"
        Answer of the oracle to a ball: f at its centre (the paper's case), the average
        over representatives of the ball, or the mean over the whole ball, both within the
        domain. A kernel over box descriptors [lower, upper] is used as it is, instead of
        ``kernel``. Euclidean balls are not boxes and need "center".
    n_representatives : int or tuple of d ints, default=None
        Points per axis in a ball for "average"; None chooses as many as possible up to 10 per
        axis and 100 in all.
    variation : "kernel", "theory", (c, exponent) or callable, default="kernel"
        W(r), the variation of f within balls of radius r: a bound computed from the kernel
        (see Notes), that of Claim 7, ``c * r**exponent``, or any function of r in units of
        the reward.
    r_min : float, default=None
        Minimum radius of a ball that may be shrunk. None stands for equation 3.4 of the tree, with
        a ball of radius r in place of a cell of side 2 r:
        diam / 2 * n**-((1 + 1/a) / (2 a)), where a is the exponent of smoothness of the kernel.
        This is diam / (2 n) if f is differentiable.
    max_active : int, default=5000
        Maximum number of balls: 1,000 before the first evaluation, the others in proportion to the
        number of evaluations. If more balls would be needed, the search evaluates balls instead of
        shrinking them. A :class:`~skgpb.exceptions.RefinementWarning` says so before the first
        such evaluation.
    beta : {"theory", "rkhs"}, float or callable, default="theory"
        beta_n squared, the factor of the posterior *variance*. "theory" follows the proof of
        Claim 6, see Notes; "rkhs" is valid for all balls at once and any f of norm at most B
        (:doc:`/user_guide/guarantees`); a callable takes the round t, counted from 1.

    Attributes
    ----------
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over box descriptors. It tracks every ball; its slot is the index of the
        ball.
    domain_ : Balls
        The balls as queries; ``domain_.ball(index)`` is the ball with an index.
    tree_ : Bunch
        The balls as arrays. The parent of a ball is the ball whose shrinking left its centre
        uncovered.
    history_ : structured ndarray
        The answers; ``expanded`` says whether balls were shrunk on the way to the query.
    horizon_ : int
        The current n.
    r_min_ : float
        The present r_min.
    max_depth_ : int
        Maximum number of times that a ball is halved.

    Notes
    -----
    *Sides* with names are pairs, continuous distributions or angles. For integers and categories
    use :class:`GPUCBOptimizer` or :class:`GPOOOptimizer`.

    *Ties.* Balls whose index values agree within a relative 1e-9 tie. Ties go to the largest
    radius, then to the oldest ball.

    *beta="theory".* Claim 6 sums the failure probabilities of all confidence intervals that the
    algorithm uses. The posterior changes with n evaluations, and there are at most M balls. Two
    centres are farther apart than the smallest radius, so M = ``2**(d * max_depth_)``, or
    ``max_active`` if that is less. Hence beta_n^2 = 2 (log(1 / theta) + log(2 n) + log(M)).

    *variation="kernel".* W(r) is sqrt(2 log(M / theta)) times the largest prior standard
    deviation of f(y) minus the answer to the query, for y in a ball of radius r.

    *Refinement* before the first evaluation happens within ``ask``. After each answer it happens
    within ``tell``, until a ball is to be evaluated. It adds many balls if W is much larger than
    sqrt(beta) times the prior standard deviation, as "theory" is; ``max_active`` bounds their
    number.

    *Recommendation.* ``recommend("paper")`` is the smallest ball at the time of the last
    evaluation, ties to the highest posterior mean, then to the oldest.

    *Batches.* Pending queries shrink the posterior standard deviations; balls shrink only after
    the answers. When every ball is pending, ``ask`` shrinks the best ball, again and again, until
    a new ball is needed.
    """

    horizon: int = 100
    anytime: bool = False
    metric: Literal["chebyshev", "euclidean"] = "chebyshev"
    feedback: FeedbackOfRegion | Kernel = "center"
    n_representatives: Representatives = None
    variation: Variation = "kernel"
    r_min: float | None = None
    max_active: int = 5000
    beta: Beta = "theory"

    _at_start = AT_START | {"horizon"}
    _parameter_constraints = HORIZON | {
        "metric": [StrOptions({"chebyshev", "euclidean"})],
        "variation": [StrOptions({"kernel", "theory"}), tuple, list, callable],
        "r_min": [Interval(Real, 0, None, closed="neither"), None],
        "max_active": [Interval(Integral, 1, MOST_LEAVES, closed="both")],
    }

    _query_type = Ball
    _kept_fields = (
        "domain_",
        "_horizon",
        "_guarded",
        "_exhausted",
        "_refined",
        "_settled",
        "_following",
    )

    # -- Algorithm 2 ------------------------------------------------------------------------

    def _begin(self) -> None:
        run = self.run_
        own, self._horizon = run.params, Horizon(int(self.horizon))
        self._guarded = self._exhausted = self._refined = False
        self._following = nan  # beta of the next round, set by the first answer
        d, counts = self.n_features_in_, None if own.feedback == "center" else self._counts()
        covering = EuclideanCovering(d) if own.metric == "euclidean" else ChebyshevCovering(d)
        self.domain_: Balls = Balls(self._root, covering, counts, run.space)
        self._settled = self.domain_.depth
        prior = self._query_kernel()
        self._exponent = smoothness_exponent(PriorOfPoints(prior), self.bounds_)
        n_columns = self.domain_.rows_of_query(self.domain_.ball(0)).shape[1]
        self._start_surrogate(prior, n_columns)
        self._find_constants()
        self._track()

    def _choose(self, context: np.ndarray | None) -> Ball:
        """Lines 2 to 7: shrink the ball of the largest index until one is to be evaluated."""
        run = self.run_
        t = run.n_told + 1 + len(run.pending)
        self._follow_horizon(t)
        beta = self._beta(t)
        if not run.pending:
            self._refine(t, beta)
        unlikely = self._shrink_failing_balls()
        posterior = self._model.fantasize(map(self.domain_.rows_of_query, run.pending)).posterior
        pending = {query.index for query in run.pending if isinstance(query, Ball)}
        if len(pending - {-1}) == len(self.domain_):
            # Every ball is pending: shrink the best until a new ball is needed.
            while len(pending - {-1}) == len(self.domain_):
                self._shrink(self._best_shrinkable(posterior, beta))
            posterior = self._model.fantasize(
                map(self.domain_.rows_of_query, run.pending)
            ).posterior
        if len(pending | unlikely) < len(self.domain_):
            pending |= unlikely
        ball = self._best_ball(posterior, beta, self._variation, pending)
        if self._should_shrink(ball, posterior, beta):
            # Only a smaller ball would be informative, but the search is at its limit or waits for
            # pending answers. Until then choose the best centre, as if no other points existed.
            ball = self._best_ball(posterior, beta, np.zeros_like(self._variation), pending)
        return self.domain_.ball(ball)

    def _shrink_failing_balls(self) -> set[int]:
        """Shrink the balls that always failed; return the indices of balls likely to fail."""
        chances = self.run_.chances_of_regions(self.bounds_)
        if chances is None:
            return set()
        failed = chances.among(chances.always_failed, self._boxes())
        for ball in np.flatnonzero(failed & (self.domain_.depth < self.max_depth_)).tolist():
            self._shrink(ball)
        return set(np.flatnonzero(chances.unlikely_mask(self._boxes())).tolist())

    def _boxes(self) -> np.ndarray:
        """Return the boxes [lower, upper] (n_balls, 2 d) of all balls."""
        return np.array([self.domain_.ball(i).box for i in range(len(self.domain_))])

    def _refine(self, t: int, beta: float) -> None:
        """Lines 2 to 5 and 11 to 13: shrink the best ball until one is to be evaluated."""
        posterior = self._model.process.posterior
        while True:
            ball = self._best_ball(posterior, beta, self._variation)
            if not self._should_shrink(ball, posterior, beta) or not self._may_shrink(t):
                return
            self._shrink(ball)

    def _best_ball(
        self,
        posterior: Posterior,
        beta: float,
        variation: np.ndarray,
        excluded: Iterable[int] = (),
    ) -> int:
        """Line 2: return the ball of the largest index (equation 5.1), -1 if all are excluded."""
        depth = self.domain_.depth
        index = posterior.tracked_mean() + np.sqrt(beta * posterior.tracked_var())
        index += variation[depth]
        index[[i for i in excluded if i >= 0]] = -np.inf
        top = index.max()
        if top == -np.inf:
            return -1
        among = tied(index)
        return int(among[np.argmin(depth[among])])

    def _should_shrink(self, ball: int, posterior: Posterior, beta: float) -> bool:
        """Line 3: return whether a ball is certain enough, and large enough, to be shrunk."""
        depth = self.domain_.depth[ball]
        width = sqrt(beta * posterior.moments_at(ball)[1])
        return depth < self.max_depth_ and width <= self._variation[depth]

    def _shrink(self, ball: int) -> None:
        """Lines 4, 11 to 13: halve the radius of a ball; add a ball around an uncovered point."""
        added = self.domain_.shrink(ball)
        self._refined = True
        # The answer to a ball changes with its radius, but not f at its centre.
        changed = [ball] if self.run_.params.feedback != "center" else []
        changed += [] if added is None else [added]
        for each in changed:
            self._model.process.track([self.domain_.rows_of_query(self.domain_.ball(each))], [each])

    def _observe(self, query: Ball | PointsQuery, reward: float, alpha: float) -> None:
        """Lines 7 to 9: observe the reward of a ball or point."""
        # First, because it may call the user's function: if that raises, nothing has changed.
        run = self.run_
        self._following = self._beta(run.n_told + 2)
        ball = query.index if isinstance(query, Ball) else -1
        # If the ball has shrunk since ``ask`` returned it, the answer is about the larger ball.
        same = isinstance(query, Ball) and (
            run.params.feedback == "center" or query.depth == self.domain_.depth[ball]
        )
        what = ball if same and ball >= 0 else self.domain_.rows_of_query(query)
        mean, var = self._model.observe(what, reward, alpha, renew=self._on_refit)
        if ball >= 0:
            self.domain_.n_evaluations[ball] += 1
        refined, self._refined = self._refined, False
        run.close(query, reward, *self._model.to_user_units(mean, var), refined)

    def _learn(self) -> None:
        """Refit if that is due, and do lines 2 to 5 of the next round."""
        super()._learn()
        self._settled = self.domain_.depth.copy()
        t = self.run_.n_told + 1
        if self.anytime or t <= self._horizon.n:
            self._follow_horizon(t)
            following = self._following if callable(self.beta) else self._beta(t)
            self._refine(t, following)

    def _best(self, context: np.ndarray | None = None) -> Ball:
        """Return the smallest ball at the last evaluation; ties go to the highest mean."""
        smallest = np.flatnonzero(self._settled == self._settled.max())
        balls = [self.domain_.ball(i, int(self._settled[i])) for i in smallest.tolist()]
        gp = self._model.process
        means = gp.moments([self.domain_.rows_of_query(ball) for ball in balls])
        return balls[argmax_first((means - gp.offset) / gp.scale, self._model.tie_scale)]

    # -- the constants of Appendix D --------------------------------------------------------

    def _beta(self, t: int) -> float:
        """Return beta_n squared by Claim 6, or by the parameter ``beta`` of the user."""
        if self.beta != "theory":
            return self._norm.given_beta(t, self._model)
        u = log(1.0 / self._guarantee.failure_probability)
        return 2.0 * (u + log(2.0 * self._horizon.n) + self._log_regions)

    @property
    def _log_regions(self) -> float:
        """Logarithm of M, an upper bound on the number of balls."""
        return min(self.n_features_in_ * self.max_depth_ * log(2.0), log(self.max_active))

    def _follow_horizon(self, t: int) -> None:
        """Extend the horizon to evaluation t if ``anytime``; otherwise warn if t exceeds it."""
        before = self._horizon
        if t <= before.n:
            return
        self._horizon = before.at(t, self.anytime, type(self).__name__)
        if self._horizon.n != before.n:
            self._find_constants()

    def _find_constants(self) -> None:
        """Set r_min, the number of halvings, and W."""
        diameter, a = self.domain_.covering.diameter, self._exponent
        run = self.run_
        if run.params.r_min is None:
            self.r_min_: float = (
                0.5 * diameter * float(self._horizon.n) ** (-(1.0 + 1.0 / a) / (2.0 * a))
            )
        else:
            self.r_min_ = float(run.params.r_min)
        self.max_depth_: int = 0
        while self.max_depth_ < LEVELS and diameter * 2.0**-self.max_depth_ >= self.r_min_:
            self.max_depth_ += 1
        self._update_derived_values()

    def _update_derived_values(self) -> None:
        """Recompute W(r_k) for k = 0..max_depth_, in normalised units."""
        radii = self.domain_.covering.diameter * 2.0 ** -np.arange(self.max_depth_ + 1.0)
        run = self.run_
        if isinstance(run.params.variation, str):
            self._variation = self._variation_bound(radii)
            return
        if callable(run.params.variation):
            given = np.array(
                [check_callable_value(run.params.variation, r, "variation") for r in radii]
            )
        else:
            c, exponent = run.params.variation
            given = c * radii**exponent
        self._variation = given / self._model.process.scale

    def _variation_bound(self, radii: np.ndarray) -> np.ndarray:
        """Return W(r) for all radii, from the kernel or by Claim 7."""
        if self.run_.params.variation == "theory":
            # W(r_k) = 2 w(2 r_k), for balls around a cover of at most 2^(k d) points.
            g = np.array([self._deviation(2.0 * r, of_answer=False) for r in radii])
            d = self.n_features_in_
            return 2.0 * claim_2(g, 4**d, d, self._guarantee.failure_probability)
        g = monotone_envelope(np.array([self._deviation(r) for r in radii]))
        factor = self._norm.deviations_within(self._log_regions)
        return factor * g

    def _deviation(self, radius: float, of_answer: bool = True) -> float:
        """Return the largest prior standard deviation of f(y) - z over points y of a ball.

        z is the answer to the ball, or f at its centre if ``of_answer`` is False. The maximum is
        over the balls around the centre and two opposite corners of the domain.
        """
        d, balls = self.n_features_in_, self.domain_
        depth = round(np.log2(self.domain_.covering.diameter / radius))
        found = []
        for center in (np.full(d, 0.5), np.zeros(d), np.ones(d)):
            if of_answer:
                row_set = self.domain_.rows_of_query(balls.ball_at(center, depth))
            else:
                row_set = self._rows_of(balls.place(center[None]))
            of = self._model.process.deviations_from(row_set)

            def deviations(t: Any, center: Any = center, of: Any = of) -> Any:
                return of(self._rows_of(balls.within(center, depth, t)))

            found.append(largest_within(deviations, d))
        return max(found)

    # -- guards -----------------------------------------------------------------------------

    def _best_shrinkable(self, posterior: Posterior, beta: float) -> int:
        """Return the ball of the largest index, of all balls that can still be shrunk."""
        smallest = np.flatnonzero(self.domain_.depth >= self.max_depth_)
        ball = self._best_ball(posterior, beta, self._variation, smallest.tolist())
        if ball < 0:
            raise AllPendingError(
                f"all {len(self.domain_)} balls are pending and have the smallest radius: tell "
                "some of them before asking for more, or decrease r_min"
            )
        return ball

    def _may_shrink(self, t: int) -> bool:
        """Return whether a ball may be shrunk before evaluation t, by the limits on the balls.

        Breadth-first refinement would spend ``max_active`` at once, before any answer shows where
        f is large. So the first balls are available at once, and the others in proportion to the
        number of evaluations.
        """
        head = min(HEAD_START, self.max_active)
        share = head + (self.max_active - head) * min(1.0, t / self._horizon.n)
        if self.domain_.covering.effort > MAX_EFFORT:
            if not self._exhausted:
                self._exhausted = True
                warn(
                    f"the region that {len(self.domain_)} balls leave uncovered in "
                    f"{self.n_features_in_} dimensions consists of more than {MAX_EFFORT} boxes: "
                    "balls are shrunk no further. Use GPTreeOptimizer, whose cost is linear in the "
                    "dimension, or a smaller variation",
                    RefinementWarning,
                )
            return False
        if len(self.domain_) < share:
            return True
        if self.run_.n_told == 0 and not self._guarded:
            self._guarded = True
            warn(
                f"there are {len(self.domain_)} balls before the first evaluation: for now they "
                "are evaluated and not shrunk. Balls shrink before any evaluation where W "
                "(variation) is much larger than sqrt(beta) times the standard deviation. Pass a "
                "smaller variation (variation='kernel', or (c, exponent) with a smaller c), a "
                "kernel with longer length scales, a larger beta or a larger r_min; or raise "
                "max_active",
                RefinementWarning,
            )
        return False

    # -- state ------------------------------------------------------------------------------

    @property
    @locked
    def horizon_(self) -> int:
        """Number of evaluations for which the constants hold at present."""
        check_is_fitted(self, "bounds_")
        return self._horizon.n

    @property
    def _finest_depth(self) -> int:
        return self.max_depth_

    def _slots_of(self, front: list[Any]) -> np.ndarray:
        return np.array([ball for _, _, ball in front])

    @property
    @locked
    def tree_(self) -> Bunch:
        """The balls so far, as arrays with one entry per ball, oldest first.

        The fields are ``depth`` (halvings), ``index``, ``parent`` (the ball whose shrinking left
        the centre of this one uncovered, -1 for the first), ``children`` (n_balls, most children),
        padded with -1, ``lower`` and ``upper`` (n_balls, d), ``n_evaluations``, ``center``
        (n_balls, d) and ``radius``. ``domain_.ball(index)`` is the query.
        """
        check_is_fitted(self, "bounds_")
        return Bunch(**self.domain_.arrays())

    def _begin_checks(self) -> None:
        run, root = self.run_, self._root
        if (root[:, 0] == root[:, 1]).any():
            raise ValueError(
                "bounds must have ranges for balls; a search by candidates or by a tree, such as "
                f"GPTreeOptimizer, can hold a side, got {run.params.bounds!r}"
            )
        if run.params.metric == "euclidean" and run.params.feedback != "center":
            raise ValueError(
                "feedback must be 'center' with metric='euclidean', because its balls are not "
                f"boxes; got {run.params.feedback!r}"
            )
        if isinstance(run.params.variation, (tuple, list)):
            numbers = [isinstance(x, Real) and 0 < float(x) < np.inf for x in run.params.variation]
            if len(numbers) != 2 or not all(numbers):
                raise ValueError(
                    "variation as (c, exponent) stands for c * r**exponent and needs two finite "
                    f"numbers > 0, got {run.params.variation!r}"
                )

    def _counts(self) -> tuple[int, ...]:
        """Return the number of representatives along each side of a ball."""
        run = self.run_
        d, feedback = self.n_features_in_, run.params.feedback
        if isinstance(feedback, str) and feedback == "center":
            return (1,) * d
        return points_per_axis(run.params.n_representatives, d)

    def _query_kernel(self) -> Kernel:
        """Return the kernel of the answers to queries, over box descriptors."""
        own, counts, space = self.run_.params, self._counts(), self.run_.space
        kernel = own.kernel
        if space is not None and space.uses_columns:
            kernel = kernel_on_settings(kernel, space)
        return kernel_of_regions(own.feedback, kernel, counts, self.bounds_, None)

    def _resume(self) -> None:
        self._find_constants()
        self._track()

    def _track(self) -> None:
        """Track every ball; its slot is its index."""
        balls = [self.domain_.ball(i) for i in range(len(self.domain_))]
        self._model.process.track([self.domain_.rows_of_query(ball) for ball in balls])
