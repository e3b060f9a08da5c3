r"""Phased elimination: few batches, each designed in advance, arms that cannot be best left out.

One batch, in the notation of [Li2022]_: of the arms that are left ask, as often as the batch is
long, the one of the largest posterior deviation, which no answer changes; then, with the posterior
of *these answers alone*, leave out every arm whose upper confidence bound is below the largest
lower one. Batch i has ceil(sqrt(T N_{i-1})) answers, so that O(log log T) of them make T.

References
----------
.. [Li2022] Z. Li and J. Scarlett, "Gaussian Process Bandit Optimization with Few Batches", AISTATS
   2022. Algorithm 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import ceil, sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._tree import first_maximum
from skgpb._docstrings import with_shared_paragraphs
from skgpb.acquisition.ucb import union_bound_beta
from skgpb.domains.arms import Arm, ArmSet, BoxCandidates
from skgpb.domains.candidates import GRID_DIMENSIONS, even_grid, spread_points
from skgpb.domains.query import PointsQuery
from skgpb.locks import locked
from skgpb.optimizers._arms import BaseArmsOptimizer
from skgpb.optimizers._posteriors import ArmsPosterior
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.utils import Integral, Interval, Real, StrOptions, check_callable_value

# An arm is known without noise where its variance is this share of the largest.
KNOWN = 1e-8


@with_shared_paragraphs
class PhasedEliminationOptimizer(BaseArmsOptimizer):
    r"""Ask in few batches, each designed in advance, and leave out what cannot be best [Li2022]_.

    For laboratories: a batch can be printed, :attr:`batch_`, carried out in any order, and told
    as answers come in. About four batches make a thousand answers. After each batch every arm is
    left out whose upper confidence bound is below the lower bound of another.

    Parameters
    ----------
    kernel, arms, bounds, alpha : %(arms)s
    horizon : int, default=1000
        T, about how many answers there will be. It decides the lengths of the batches; beyond it
        batches of this order follow.
    beta : "theory", float or callable, default="theory"
        Factor of the posterior *variance* in the widths by which arms are left out. "theory" is
        2 log(n_arms pi^2 i^2 / (6 delta)) for batch i, with which f drawn from the prior is within
        all of them with probability 1 - delta; a callable takes i, counted from 1.
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

    *Other answers*, told and not asked for, and those of first arms, are known to ``surrogate_``,
    which recommends and predicts from all, and not used for eliminating, as the theory has it.

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

    _parameter_constraints: dict[str, Any] = {
        "horizon": [Interval(Integral, 1, None, closed="left")],
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
        horizon: int = 1000,
        beta: str | float | Callable[[int], float] = "theory",
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
        for slot in self._batch_slots:
            if self._unanswered[slot] > 0 and slot not in pending:
                return self.domain_.arm(slot)
        raise ValueError(
            f"all that is left of this batch is pending, {len(pending)} arms: tell some of them "
            "before asking for more"
        )

    def _design(self) -> None:
        """Choose the arms of the next batch, where the last one is finished."""
        if self._batch_slots:
            return
        rows, noise = self.domain_.rows[self._active], self._default_noise()
        gp = self._fresh_process()
        gp.track(rows)
        known = KNOWN * float(gp.posterior.tracked_var().max())
        for _ in range(self._next_length()):
            variances = gp.posterior.tracked_var()
            number = first_maximum(variances)
            if self._batch_slots and noise == 0.0 and variances[number] <= known:
                break  # without noise nothing is asked twice
            gp.observe_tracked(number, gp.offset, noise)
            self._batch_slots.append(int(self._active[number]))
        self._unanswered = Counter(self._batch_slots)

    def _next_length(self) -> int:
        """N_i = ceil(sqrt(T N_{i-1})), the last batch before T being what is left of it."""
        length, left = ceil(sqrt(self.horizon * self._length)), self.horizon - self._spent
        self._length = length
        self._spent += min(length, left) if left > 0 else length
        return min(length, left) if left > 0 else length

    def _eliminate(self) -> None:
        """Leave out arms by the widths of what this batch alone has told, and begin the next."""
        gp = self._fresh_process()
        slots, rewards, noises = zip(*self._answers, strict=True)
        known = np.array([self._noise_of(each) for each in noises])
        gp.observe_all(self.domain_.rows[list(slots)], np.array(rewards), known)
        mean, std = gp.moments(self.domain_.rows[self._active], std=True)
        self.n_batches_ += 1
        width = sqrt(self._width(self.n_batches_)) * std
        self._active = self._active[mean + width >= (mean - width).max()]
        self._batch_slots, self._answers = [], []
        self._unanswered = Counter()

    def _fresh_process(self) -> GaussianProcess:
        """The prior, in the present units and with the present hyperparameters."""
        gp = GaussianProcess(self._gp.kernel, self._gp.n_columns, self._gp.origin)
        gp.set_units(self._gp.offset, self._gp.scale)
        return gp

    def _width(self, i: int) -> float:
        """Factor of the variance after batch i."""
        if callable(self.beta):
            return check_callable_value(self.beta, i, "beta")
        if self.beta == "theory":
            return union_bound_beta(i, len(self.domain_), self.failure_probability)
        return float(self.beta)

    # -- the loop ---------------------------------------------------------------------------

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
        self._width(1)  # a callable that is none says so before anything is evaluated

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
