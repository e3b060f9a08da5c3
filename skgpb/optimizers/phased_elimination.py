r"""Phased elimination: few batches, each designed in advance, arms that cannot be best left out.

One batch, in the notation of [Li2022]_: of the arms that are left ask, as often as the batch is
long, the one of the largest posterior deviation, which no answer changes; then, with the posterior
of *these answers alone*, leave out every arm whose upper confidence bound is below the largest
lower one. Batch i has ceil(sqrt(T N_{i-1})) answers, so that O(log log T) of them make T. What is
known of each arm's noise decides how often it is asked, and what its answers weigh [Iwazaki2025]_.

References
----------
.. [Li2022] Z. Li and J. Scarlett, "Gaussian Process Bandit Optimization with Few Batches", AISTATS
   2022. Algorithm 1.
.. [Iwazaki2025] S. Iwazaki and S. Takeno, "Improved Regret Analysis in Gaussian Process Bandits:
   Optimality for Noiseless Reward, RKHS norm, and Non-Stationary Variance", ICML 2025.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import ceil, log, pi, sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._tree import first_maximum
from skgpb._docstrings import with_shared_paragraphs
from skgpb.domains.arms import Arm, ArmSet, BoxCandidates
from skgpb.domains.candidates import GRID_DIMENSIONS, even_grid, spread_points
from skgpb.domains.query import PointsQuery
from skgpb.locks import locked
from skgpb.optimizers._arms import BaseArmsOptimizer
from skgpb.optimizers._norm_bound import NormBoundedOptimizer
from skgpb.optimizers._posteriors import ArmsPosterior
from skgpb.surrogate.fixed_design import chances_of_best, outdone, outdone_within
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.widths import norm_beta
from skgpb.utils import (
    Integral,
    Interval,
    Real,
    StrOptions,
    check_noise_variances,
)

# An arm is known without noise where its variance is this share of the largest.
KNOWN = 1e-8


@with_shared_paragraphs
class PhasedEliminationOptimizer(NormBoundedOptimizer[Arm], BaseArmsOptimizer):
    r"""Ask in few batches, each designed in advance, and leave out what cannot be best [Li2022]_.

    For laboratories: a batch can be printed, :attr:`batch_`, carried out in any order, and told
    as answers come in. About four batches make a thousand answers. After each batch every arm is
    left out that is below another one, as far as that is certain.

    Parameters
    ----------
    kernel, arms, bounds : %(arms)s
    alpha : float or array-like of shape (n_arms,), default=None
        Noise variance of a reward, in units of the reward squared, or that of each arm: of a group
        of n people, for example, in proportion to 1 / n. None learns one for all.
    horizon : int, default=1000
        T, about how many answers there will be. It decides the lengths of the batches; beyond it
        batches of this order follow.
    beta : {"theory", "design", "paper", "rkhs"}, float or callable, default="theory"
        By what an arm is left out, see Notes. "theory" is for f drawn from the prior; the three
        others are for any f of norm at most ``B``: "design" is the tightest, "paper" that of
        [Li2022]_, and "rkhs" the width that holds for whatever was asked
        (:doc:`/user_guide/guarantees`). A number is the factor of the posterior *variance*, given
        the answers of a batch; a callable returns it for batch i, counted from 1.
    B, R, misspecification : %(arms)s
    failure_probability : %(arms)s
    n_candidates, n_initial, optimizer, n_restarts_optimizer, relearn, normalize_y : %(arms)s
    direction, random_state : %(arms)s

    Attributes
    ----------
    batch_ : list of Arm
        The design of the present batch, in its order, an arm as often as it is to be asked.
    active_ : ndarray of shape (n_active,)
        Rows of the arms that are left.
    n_batches_ : int
        How many batches are finished.
    surrogate_, domain_, arms_, history_, bounds_, n_features_in_ : %(arms)s

    Notes
    -----
    *Order.* ``ask`` goes through the batch from its beginning, and ``ask(n)`` returns n different
    arms of it; an arm that is to be asked several times is asked again when its answer was told.
    Where all that is left of a batch is pending there is nothing to ask. Answers may come in any
    order, and a failed evaluation is asked again. The next batch begins when the last answer of
    this one is told.

    *What is left out.* delta_i, an equal share of ``failure_probability`` for each batch that makes
    up the horizon and one more for all later ones, is what batch i may do wrong. "theory", given
    *all* answers, leaves out the arms that are least likely to be the best, of which each is at
    most as likely as to be no worse than another one, as long as these probabilities add up to
    at most delta_i: of an f from the prior, the best arm is left out with a probability of at most
    ``failure_probability``. "design", given the answers of *this batch*, leaves out every arm whose
    mean is below another one's by more than

    .. math:: B a + \rho \, b \sqrt{2 \log(n_i / \delta_i)}, \qquad a^2 + b^2 = sd^2,

    where sd is the deviation of their difference, b its part that noise accounts for, n_i the
    number of other arms that were left and :math:`\rho = R / \sqrt\alpha`
    (:mod:`skgpb.surrogate.fixed_design`). The batch being designed in advance, each difference
    from the best arm has this width with probability 1 - delta_i / n_i. "paper" has the sum of
    deviations in the place of sd, as printed, with (B + rho sqrt(2 log(n_arms / delta_i)))^2 as
    beta; "rkhs" the sd of the difference given all answers.

    *Regret.* With "design" and "paper" the best arm stays, and all that stay are at most two such
    widths below it, with probabilities that add up to 2 ``failure_probability``. By Theorem 1 of
    [Li2022]_ the cumulative regret is then of the order of sqrt(T gamma_T), up to logarithms, for
    equal noise. The arms' own noise variances keep the widths valid. The regret bound of
    [Iwazaki2025]_ is for variances that change with time and not with the arm, and for other
    lengths of batches: it is not claimed here.

    *Other answers*, told and not asked for, and those of first arms, are known to ``surrogate_``,
    which recommends and predicts from all. They count for "theory" and "rkhs", which hold however
    questions were chosen, and not for what is about one batch.

    *A box.* Its candidates are the same throughout: a grid of at most ``n_candidates`` points, in
    more than three dimensions points that fill it evenly.

    *Recommendation.* The arm of the highest posterior mean, given all answers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import PhasedEliminationOptimizer
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> arms = np.linspace(0, 1, 101)[:, None]
    >>> opt = PhasedEliminationOptimizer(RBF(0.2), arms=arms, alpha=0.1**2, horizon=100).start()
    >>> [arm.index for arm in opt.batch_]
    [0, 91, 45, 68, 21, 100, 33, 10, 80, 56]
    >>> result = opt.run(noisy, budget=100)
    >>> opt.n_batches_, len(opt.active_) < 40, abs(result.x.index - 31) <= 3
    (4, True, True)
    """

    # Elimination is of arms for all contexts: there are none.
    context_bounds = None

    n_batches_: int
    _active: np.ndarray
    _batch_slots: list[int]
    _unanswered: Counter[int]
    _answers: list[tuple[int, float, float]]
    # Length of the last batch, and of all of them.
    _length: int
    _spent: int

    alpha: Any

    _parameter_constraints: dict[str, Any] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", None],
        "horizon": [Interval(Integral, 1, None, closed="left")],
        "beta": [
            StrOptions({"theory", "design", "paper", "rkhs"}),
            Interval(Real, 0, None, closed="left"),
            callable,
        ],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        bounds: Any = None,
        alpha: Any = None,
        horizon: int = 1000,
        beta: str | float | Callable[[int], float] = "theory",
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
        self.alpha = alpha
        self.horizon = horizon
        self.beta = beta
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

    # -- Algorithm 1 ------------------------------------------------------------------------

    def _best_by_rule(self) -> Arm:
        """Return the first arm of the batch that is not answered, and not being evaluated."""
        self._design()
        pending = {self.domain_.slot_of(query) for query in self._pending}
        for slot, n_answers in self._unanswered.items():  # in the order of the design
            if n_answers > 0 and slot not in pending:
                return self.domain_.arm(slot)
        raise ValueError(
            f"all that is left of this batch is pending, {len(pending)} arms: tell some of them "
            "before asking for more"
        )

    def _design(self) -> None:
        """Choose the arms of the next batch, where the last one is finished."""
        if self._batch_slots:
            return
        rows, noise = self.domain_.rows[self._active], self._noises_of_arms()[self._active]
        gp = self._gp.copy() if self._takes_all else self._fresh_process(self._gp)
        gp.track(rows)
        known = KNOWN * float(gp.variance(gp.tracked).max())
        for _ in range(self._next_length()):
            variances = gp.posterior.tracked_var()
            number = first_maximum(variances)
            if self._batch_slots and noise[number] == 0.0 and variances[number] <= known:
                break  # without noise nothing is asked twice
            gp.observe_tracked(number, gp.offset, float(noise[number]))
            self._batch_slots.append(int(self._active[number]))
        self._unanswered = Counter(self._batch_slots)

    def _next_length(self) -> int:
        """Length of the next batch, the last one before T being what is left of it."""
        self._length, length = next_length(self.horizon, self._length, self._spent)
        self._spent += length
        return length

    def _eliminate(self) -> None:
        """Leave out arms by what was told, and begin the next batch."""
        self.n_batches_ += 1
        if self.beta == "theory":
            out = self._least_likely()
        else:
            # Of several length scales one is right, and under that one the best arm stays.
            out = np.all([self._outdone(gp) for gp in self._possible_processes()], axis=0)
        self._active = self._active[~out]
        self._batch_slots, self._answers = [], []
        self._unanswered = Counter()

    def _least_likely(self) -> np.ndarray:
        """Arms, of those that are left, of which hardly any can be the best."""
        rows, processes = self.domain_.rows[self._active], self._possible_processes()
        chances = np.max([chances_of_best(gp, rows) for gp in processes], axis=0)
        order = np.argsort(chances, kind="stable")
        out = np.zeros(len(chances), dtype=bool)
        out[order[np.cumsum(chances[order]) <= self._share(self.failure_probability)]] = True
        return out

    def _outdone(self, gp: GaussianProcess) -> np.ndarray:
        """Arms, of those that are left, that are below another one; under one kernel."""
        rows = self.domain_.rows[self._active]
        B, share, delta, epsilon = self._norm_bound()
        if self.beta == "rkhs":
            return outdone_within(gp, rows, norm_beta(gp, B, share, delta, epsilon), 2.0 * epsilon)
        gp, delta = self._of_batch(gp), self._share(delta)
        if self.beta == "design":
            others = max(len(rows) - 1, 1)
            return outdone(gp, rows, B, share, log(others / delta), epsilon)
        mean, std = gp.moments(rows, std=True)
        if self.beta == "paper":
            width = (B + share * sqrt(2.0 * log(len(self.domain_) / delta))) * std
        else:
            width = sqrt(self._beta(self.n_batches_)) * std
        return mean + width < (mean - width).max()

    def _of_batch(self, gp: GaussianProcess) -> GaussianProcess:
        """What the answers of this batch alone tell, under the kernel of a process."""
        gp = self._fresh_process(gp)
        slots, rewards, noises = zip(*self._answers, strict=True)
        known = np.array([self._noise_of(each) for each in noises])
        gp.observe_all(self.domain_.rows[list(slots)], np.array(rewards), known)
        return gp

    def _fresh_process(self, like: GaussianProcess) -> GaussianProcess:
        """The prior, in the units and with the hyperparameters of another process."""
        gp = GaussianProcess(like.kernel, like.n_columns, like.origin)
        gp.set_units(like.offset, like.scale)
        return gp

    def _share(self, delta: float) -> float:
        """What of delta is for the batch that has ended."""
        planned, spent, length = 0, 0, 1
        while spent < self.horizon:
            length, taken = next_length(self.horizon, length, spent)
            planned, spent = planned + 1, spent + taken
        later = self.n_batches_ - planned
        return delta / (planned + 1) / (pi**2 * later**2 / 6.0 if later > 0 else 1.0)

    @property
    def _takes_all(self) -> bool:
        """Whether all answers count, however they were chosen."""
        return isinstance(self.beta, str) and self.beta in ("theory", "rkhs")

    # -- noise of each arm --------------------------------------------------------------------

    @property
    def _known_noise(self) -> float | None:
        if np.ndim(self.alpha) == 0:
            return super()._known_noise
        return float(np.median(self.alpha))

    def _noises_of_arms(self) -> np.ndarray:
        """Noise variance of each arm."""
        if np.ndim(self.alpha) == 0:
            return np.full(len(self.domain_), self._default_noise())
        return check_noise_variances(self.alpha, len(self.domain_))

    def _noises_of(self, queries: list) -> list[float]:
        noises, slots = self._noises_of_arms(), map(self.domain_.slot_of, queries)
        return [float(noises[i]) if i >= 0 else self._default_noise() for i in slots]

    def _checked(self, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
        query, target, value, noise = super()._checked(query, reward, alpha)
        if alpha is None and np.ndim(self.alpha):
            noise = self._noises_of([target])[0]
        return query, target, value, noise

    def _told_noises(self, points: np.ndarray) -> list[float]:
        if np.ndim(self.alpha) == 0:
            return super()._told_noises(points)
        return self._noises_of([PointsQuery(points[i : i + 1]) for i in range(len(points))])

    # -- the loop ---------------------------------------------------------------------------

    def _begin_checks(self, d: int) -> None:
        super()._begin_checks(d)
        if np.ndim(self.alpha) == 0:
            return
        if self.arms is None:
            raise ValueError("alpha must be one number for a box: several are for arms")
        check_noise_variances(self.alpha, len(self.arms))
        if self.R is not None:
            raise ValueError(
                "R must be None where alpha has a number for each arm, which then says what the "
                f"noise is; got R={self.R!r}"
            )

    def _begin(self) -> None:
        super()._begin()
        arms = self.domain_
        if isinstance(arms, BoxCandidates):
            rows = arms.rows_of(self._points_of_box(arms))
            self.domain_ = ArmSet(rows, arms.bounds, arms.counts, arms.space)
            self._track(rows)
        self._active = np.arange(len(self.domain_))
        self._batch_slots, self._answers = [], []
        self._unanswered = Counter()
        self.n_batches_ = 0
        self._length, self._spent = 1, 0
        if callable(self.beta):
            self._beta(1)  # what is no such function says so before anything is evaluated
        if isinstance(self.beta, str) and self.beta in ("design", "paper"):
            self._warn_if_unfounded()

    def _points_of_box(self, arms: BoxCandidates) -> np.ndarray:
        """Points that stand for the box from beginning to end."""
        n, d, space = self.n_candidates, len(arms.bounds), arms.space
        if space is not None and space.discrete:
            if space.n_settings <= n:
                return space.every_point()
            points = space.snapped(spread_points(arms.bounds, n, np.full(d, 0.5)))
            return np.unique(points, axis=0)
        if d > GRID_DIMENSIONS:
            return spread_points(arms.bounds, n, np.full(d, 0.5))
        return even_grid(arms.bounds, max(2, int(n ** (1.0 / d) + 1e-9)))

    def _update(self, query: Arm | PointsQuery, reward: float, alpha: float) -> None:
        slot, first = self.domain_.slot_of(query), not self._batch_slots
        if first and not self._filling():
            self._design()
        super()._update(query, reward, alpha)
        if slot >= 0 and self._unanswered[slot] > 0:
            self._unanswered[slot] -= 1
            self._answers.append((slot, reward, alpha))

    def _filling(self) -> bool:
        """Whether first arms are still being asked."""
        return self._filled < self.n_initial_

    def _settle(self) -> None:
        if self._batch_slots and not any(self._unanswered.values()):
            self._eliminate()

    # -- what users read ----------------------------------------------------------------------

    @locked
    def acquisition(self, posterior: ArmsPosterior) -> np.ndarray:
        """Return the deviations of the arms that are left, 0 of others: a look, and not the rule.

        A batch is designed from its own answers alone, and before they are known.
        """
        left = np.zeros(posterior.n_arms)
        left[self._active] = posterior.std[self._active]
        return left

    @property
    @locked
    def batch_(self) -> list[Arm]:
        """The design of the present batch, in its order."""
        self._ensure_started()
        if not self._filling():
            self._design()
        return [self.domain_.arm(slot) for slot in self._batch_slots]

    @property
    @locked
    def active_(self) -> np.ndarray:
        """Rows of ``arms_`` that are left."""
        self._ensure_started()
        return self._active.copy()


def next_length(horizon: int, last: int, spent: int) -> tuple[int, int]:
    """N_i = ceil(sqrt(T N_{i-1})), and how many of them are left until T, all of them beyond."""
    length, left = ceil(sqrt(horizon * last)), horizon - spent
    return length, min(length, left) if left > 0 else length
