"""What rules share that ask one kind of thing and decide another.

What can be asked, the queries, and what is to be found, the best of the targets, are two sets of
linear functionals of f: points, cells of any sizes, rows of whatever the kernel takes. The
posterior knows every covariance between the two sets. A rule looks at a :class:`TargetsPosterior`
and says what each query is worth.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel

from skgpb._core._tree import first_maximum
from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.blocks import BlockArm, Blocks, BlockSet, rows_given
from skgpb.domains.candidates import largest_first
from skgpb.domains.cells import Cells, FreeCells, frequent_sizes, points_in_runs
from skgpb.domains.contexts import ContextArms, ContextBlocks, in_contexts, without_contexts
from skgpb.domains.fidelities import Fidelities
from skgpb.domains.query import PointsQuery, Query
from skgpb.kernels._boxes import boxes_from_points, check_boxes
from skgpb.locks import locked
from skgpb.optimizers._base import FreeChoice
from skgpb.optimizers._blocks import BlocksPosterior, OverBlocks
from skgpb.optimizers._contexts import N_STEPS, ChoiceInContexts, PricedRunsInContexts
from skgpb.optimizers._discs import OverDiscs
from skgpb.optimizers._districts import OverDistricts
from skgpb.optimizers._fidelities import OverFidelities
from skgpb.optimizers._first_design import FirstDesign, best_known, representatives_of, takes_boxes
from skgpb.optimizers._gap import GapOfTargets
from skgpb.optimizers._improvement import (
    ImprovesQueries,
    improved_in_context,
    improved_place,
)
from skgpb.optimizers._norm_bound import GaussianIntervals
from skgpb.optimizers._over_cells import OverCells
from skgpb.optimizers._posteriors import TargetsPosterior
from skgpb.optimizers._prices import PricedKinds
from skgpb.surrogate.pairs import TrackedAcross, TrackedWithin, pending_falls
from skgpb.surrogate.settings import kernel_of_cells
from skgpb.utils import MOST_POINTS, Integral, Interval, Real

# Of the best targets so many are followed by the cells that stand for a box; who may be among the
# best says the mean with so many deviations.
N_FOLLOWED, OPTIMISM = 5, 2.0


def worth_asking(
    values: np.ndarray, posterior: TargetsPosterior, slots: Any = slice(None)
) -> np.ndarray:
    """Return the values of queries; or how unknown each is, where none is worth asking."""
    if np.isfinite(values[slots]).any():
        return values[slots]
    unknown = posterior.unknown if isinstance(posterior, BlocksPosterior) else posterior.query_var
    return (unknown / posterior.cost)[slots]


class BaseTargetsOptimizer(
    ImprovesQueries,
    OverBlocks,
    OverDiscs,
    OverDistricts,
    OverFidelities,
    OverCells,
    PricedKinds,
    GapOfTargets,
    PricedRunsInContexts,
    ChoiceInContexts,
    FirstDesign,
    GaussianIntervals[Arm],
    FreeChoice[Arm],
):
    """A rule that asks the query that is worth most of its price, to find the best target.

    A subclass implements :meth:`acquisition`. In a context both queries and targets are in it, and
    what is looked at without one is in the context that was asked last, as for rules over arms.
    """

    _query_type = Arm
    _sides = "any"

    queries: Any
    targets: Any
    cost: Any
    alpha: Any
    relative_noise: Any
    domain_: ArmSet
    targets_: ArmSet

    _parameter_constraints: dict[str, Any] = {
        "queries": "no_validation",
        "targets": "no_validation",
        "bounds": "no_validation",
        "context_bounds": "no_validation",
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", callable, None],
        "cost": ["array-like", callable, None],
        "relative_noise": ["array-like", callable, None],
        "n_candidates": [Interval(Integral, 20, MOST_POINTS, closed="both")],
        "n_initial": [Interval(Integral, 0, MOST_POINTS, closed="both"), None],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        queries: Any = None,
        targets: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        cost: Any = None,
        alpha: Any = None,
        relative_noise: Any = None,
        n_candidates: int = 500,
        n_initial: int | None = None,
        B: float = 1.0,
        R: float | None = None,
        misspecification: float = 0.0,
        failure_probability: float = 0.1,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        direction: str = "maximize",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.queries = queries
        self.targets = targets
        self.bounds = bounds
        self.context_bounds = context_bounds
        self.cost = cost
        self.alpha = alpha
        self.relative_noise = relative_noise
        self.n_candidates = n_candidates
        self.n_initial = n_initial
        self.B = B
        self.R = R
        self.misspecification = misspecification
        self.failure_probability = failure_probability
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn = relearn
        self.normalize_y = normalize_y
        self.direction = direction
        self.random_state = random_state

    @abstractmethod
    @locked
    def acquisition(self, posterior: TargetsPosterior) -> np.ndarray:
        """Return what is maximised over the queries, their price included.

        Parameters
        ----------
        posterior : TargetsPosterior
            What is known of all queries and targets, see :meth:`posterior`.

        Returns
        -------
        values : ndarray of shape (n_queries,)
        """

    # -- the round --------------------------------------------------------------------------

    def _choose(self) -> Arm:
        first = self._first_arm()
        return self._best_by_rule() if first is None else first

    def _best_by_rule(self) -> Arm:
        posterior = self.posterior()
        values = self.acquisition(posterior)
        free = np.ones(len(values), dtype=bool)
        for query in self._pending:
            free &= self.domain_.apart_from(query)
        slots = self._in_turn(free)
        if not len(slots):
            raise ValueError(
                f"all {len(values)} queries are pending: tell some of them before asking for more"
            )
        slot = int(slots[first_maximum(worth_asking(values, posterior, slots))])
        return self._improved(posterior, np.where(free, values, -np.inf), slot)

    def _update(self, query: Arm | PointsQuery, reward: Any, alpha: Any) -> None:
        self._refresh_candidates()
        if isinstance(query, BlockArm):
            self._update_block(query, reward, alpha)
            return
        slot = self.domain_.slot_of(query)
        if slot < 0 and isinstance(self.domain_, FreeCells) and len(self._block(query)) == 1:
            # What is tracked is followed at a fraction of the cost.
            slot = self.domain_.put(query)
            if slot >= 0:
                self._retrack(np.array([slot]))
        self._across.observing(slot, self._noise_of(alpha, self._noise_share(query)))
        mean, var = self._observe(query, slot, reward, alpha)
        self._spent += self._price_of(query)
        if len(self._wanted):
            self._spent_on_wanted += self._price_if_wanted(query)
        self._record(query, reward, mean, var, False)

    def _best(self) -> Any:
        self._refresh_candidates()
        n, posterior = self._across.n_first, self._gp.posterior
        means, variances = posterior.tracked_mean()[n:], posterior.tracked_var()[n:]
        best = best_known(means, variances)
        if not isinstance(self.targets_, FreeCells):
            return self.targets_.arm(best)
        return improved_place(self.targets_, best, means, self._gp)

    def _best_in(self, context: np.ndarray) -> Any:
        # What is tracked belongs to the context that was asked last.
        _, targets = self._within(context)
        mean, std = self._gp.moments(targets.rows, std=True)
        best = best_known(mean / self._gp.scale, (std / self._gp.scale) ** 2)
        sides = self._sides_of(best)
        if sides is None:
            return targets.arm(best)
        if self._over_discs or self._n_tasks:
            return improved_in_context(targets, best, mean, self._gp)
        return self._best_actions(context, sides)

    def _sides_of(self, target: int) -> np.ndarray | None:
        """Sides of a target that may lie anywhere, None for any other."""
        targets = without_contexts(self.targets_)
        if not isinstance(targets, FreeCells) or targets.counts is None:
            return None
        sides = targets.sizes[targets.size_of[target]]
        return sides if (sides > 0.0).all() else None

    @locked
    def posterior(self, pending: Sequence[Arm | PointsQuery] | None = None) -> TargetsPosterior:
        """Posterior of all queries and targets before the round about to be played.

        Parameters
        ----------
        pending : sequence of queries, default=None
            What is being evaluated. None stands for what was asked and not told.

        Returns
        -------
        posterior : TargetsPosterior
        """
        self._ensure_started()
        self._refresh_candidates()
        pending = list(self._pending if pending is None else map(self._resolve, pending))
        make = self._block_posterior if self._has_blocks else TargetsPosterior
        return make(
            self._across,
            pending_falls(self._gp, *self._pending_rows(pending)),
            self._noises(),
            self._costs(),
            self._round + 1 + len(pending),
            self._rng_of_round(len(pending)),
        )

    def _rng_of_round(self, n_pending: int) -> np.random.Generator:
        """Randomness of this round, the same whenever it is asked for."""
        return np.random.default_rng([self._seed, self._round, n_pending])

    # -- answers ------------------------------------------------------------------------------

    @property
    def _known_noise(self) -> float | None:
        # A round asks for it seven times, and a median takes a while.
        return self._typical_noise if self._alpha_differs else super()._known_noise

    def _checked(self, query: Any, reward: Any, alpha: Any) -> tuple:
        query = self._found(query)
        if isinstance(query, BlockArm):
            return self._checked_block(query, reward, alpha)
        query, target, value, noise = super()._checked(query, reward, alpha)
        if alpha is None and self._known_noise is not None:
            noise = self._noises_of([target])[0]
        return query, target, value, noise

    def _checked_queries(self, queries: Any) -> list[Any]:
        """Check what is to be predicted: targets as well, which perhaps cannot be asked."""
        checked: list[Any] = []
        for query in [queries] if isinstance(queries, Query) else self._points_of(queries):
            if query in self.targets_:
                checked.append(query)
            elif isinstance(query, BlockArm):
                self._resolve(query)
                checked += query.parts
            else:
                checked += super()._checked_queries([query])
        return checked

    # -- domain -----------------------------------------------------------------------------

    @property
    def _given(self) -> dict[str, Any]:
        """Queries and targets as they were given; targets are the queries where these are rows."""
        targets = self.targets
        if targets is None and self.queries is not None and not isinstance(self.queries, Cells):
            targets = self.queries
        given = {"queries": self.queries, "targets": targets}
        if self._actions is None or self._has_blocks:
            return given
        return {name: self._actions.points(each) for name, each in given.items()}

    def _domain(self) -> np.ndarray | None:
        return self._with_contexts(self._domain_of_rows())

    def _domain_of_rows(self) -> np.ndarray | None:
        bounds = super()._domain()
        if self._has_districts:
            return self._box_of_districts(bounds)
        arrays = {
            name: rows_given(value, name)
            for name, value in self._given.items()
            if value is not None and not isinstance(value, Cells)
        }
        if bounds is not None or len(arrays) < 2:
            return bounds
        corners = [
            np.split(check_boxes(rows, name), 2, axis=1) if takes_boxes(self.kernel) else [rows]
            for name, rows in arrays.items()
        ]
        if len({part.shape[1] for parts in corners for part in parts}) > 1:
            shapes = " and ".join(f"{name} of {rows.shape[1]}" for name, rows in arrays.items())
            raise ValueError(f"queries and targets must have as many columns; got {shapes}")
        points = np.concatenate([part for parts in corners for part in parts])
        return np.column_stack([points.min(axis=0), points.max(axis=0)])

    def _begin_checks(self, d: int) -> None:
        self._check_prices()
        if isinstance(self.targets, Blocks | Fidelities):
            raise ValueError(
                "targets must be Cells, Discs, Districts or rows: Blocks and Fidelities are for "
                f"queries; got {self.targets!r}"
            )
        if isinstance(self.kernel, CompoundKernel):
            raise TypeError(f"kernel must return one covariance, got {self.kernel!r}")
        if self.space_ is not None and self.space_.discrete:
            self._check_separate()
        self._check_blocks()
        if self._over_discs:
            self._check_discs()

    def _check_separate(self) -> None:
        """Refuse what is for continuous sides, where some have separate values."""
        if takes_boxes(self.kernel):
            raise ValueError(
                "kernel must be over points where bounds has sides of separate values; "
                f"{self.kernel!r} is over boxes"
            )

    def _begin(self) -> None:
        n, self._box = self.n_context_, self.bounds_[self.n_context_ :]
        d = len(self._box)
        self._over_cells = False
        self._find_typical_noise()
        sets: list[ArmSet]
        if self._has_districts:
            kernel, sets = self._over_districts()
            self._start_surrogate(kernel, n + d + 1)
            over_cells = False
        else:
            sets, over_cells = self._begin_in_box(n, d)
        if n:
            sets = [in_contexts(each, self.bounds_, self.space_) for each in sets]
        self.domain_, self.targets_ = sets
        self._entered = None
        if over_cells:
            rows = np.concatenate([without_contexts(each).rows[:, : 2 * d] for each in sets])
            self._gp.sizes = np.pad(frequent_sizes(rows), ((0, 0), (n, 0)))
            self._gp.evaluate_afresh()
        self._find_prices()
        self._find_wanted()
        self._spent = 0.0
        self._candidates_at = 0
        self._track()
        # A kernel that does not take the rows says so before anything is evaluated.
        self._gp.deviations(self.domain_.rows[:1], self.targets_.rows[:1])

    def _begin_in_box(self, n: int, d: int) -> tuple[list[ArmSet], bool]:
        """Start the surrogate; points, cells or rows of a box, and whether they are boxes.

        ``n`` and ``d`` are the numbers of sides of contexts and of actions.
        """
        given_boxes = takes_boxes(self.kernel, behind=self._n_tasks > 0)
        sizes = [
            self._sizes_of(name, each)
            for name, each in self._given.items()
            if isinstance(each, Cells)
        ]
        over_cells = given_boxes or any(map(np.any, sizes)) or self._has_boxes(d)
        self._over_cells = over_cells
        kernel = self._prior_kernel(n + d, smooth=over_cells)
        counts = None
        if given_boxes:
            counts = representatives_of(kernel, n + d)[n:]
        elif over_cells:
            counts = representatives_of(kernel, d)
            if self._actions is not None and self._actions.discrete:
                counts = points_in_runs(np.concatenate(sizes), counts, self._actions)
                kernel = kernel_of_cells(self.space_) if self.kernel is None else kernel
            kernel = self._average_kernel(kernel, (1,) * n + counts)
        elif n and takes_boxes(self.kernel, behind=True):
            raise ValueError(
                "kernel must be over points, or over boxes with no column behind them, where there "
                f"are context_bounds; got {self.kernel!r}"
            )
        kernel = self._over_fidelities(kernel, None if counts is None else (1,) * n + counts)
        n_columns = (2 * (n + d) if over_cells else n + d) + (self._n_tasks > 0)
        self._start_surrogate(kernel, n_columns)
        sets = [
            self._set_of(name, each, counts, number)
            for number, (name, each) in enumerate(self._given.items())
        ]
        return sets, over_cells

    def _has_boxes(self, d: int) -> bool:
        """Whether rows of boxes [lower, upper] are given, of d sides."""
        boxes = any(
            rows_given(each, name).shape[1] == 2 * d
            for name, each in self._given.items()
            if not (each is None or isinstance(each, Cells))
        )
        if boxes and self.space_ is not None and self.space_.discrete:
            raise ValueError(
                "queries and targets must be settings, or Cells, where bounds has sides of "
                "separate values; got rows of boxes"
            )
        return boxes

    def _set_of(self, name: str, given: Any, counts: tuple[int, ...] | None, number: int) -> ArmSet:
        """Return the set that a parameter stands for."""
        bounds, d, space = self._box, len(self._box), self._actions
        if given is None or isinstance(given, Cells):
            sizes = np.zeros((1, d)) if given is None else self._sizes_of(name, given)
            seed = [self._seed, number]
            layout = (sizes, bounds, self.n_candidates, counts, seed, space)
            return self._free_set(given, *layout)
        rows = np.array(rows_given(given, name))
        if rows.shape[1] == d and counts is not None:
            rows = boxes_from_points(rows)
        if rows.shape[1] != (d if counts is None else 2 * d):
            raise ValueError(
                f"{name} must have {d} columns, points, or {2 * d}, boxes [lower, upper]; got "
                f"{rows.shape[1]}"
            )
        if counts is not None:
            rows = check_boxes(rows, name)
        corners = rows.reshape(-1, d)
        if not ((corners >= bounds[:, 0]) & (corners <= bounds[:, 1])).all():
            raise ValueError(f"{name} has rows outside the bounds {bounds.tolist()}")
        if isinstance(given, Blocks):
            blocks = np.split(rows, np.cumsum([len(block) for block in given.rows])[:-1])
            return BlockSet(blocks, bounds, counts, space)
        return self._row_set(rows, bounds, counts, space)

    # -- candidates -------------------------------------------------------------------------

    def _track(self) -> None:
        self._gp.track(np.concatenate([self.domain_.rows, self.targets_.rows]))
        self._relearned()

    def _relearned(self) -> None:
        self._across = TrackedAcross(self._gp, len(self.domain_.rows))
        if isinstance(self.domain_, BlockSet | ContextBlocks):
            self._in_blocks = TrackedWithin(self._gp, self.domain_.starts)

    def _condition(self, X: np.ndarray, y: np.ndarray) -> None:
        super()._condition(X, y)
        self._relearned()
        self._candidates_at, self._entered = -1, None

    def _refresh_candidates(self) -> None:
        """Let cells that stand for a box follow the best targets, once in a round."""
        moving = [
            (first, each)
            for first, each in ((0, self.domain_), (self._across.n_first, self.targets_))
            if isinstance(each, FreeCells)
        ]
        if self._candidates_at == self._round or not moving or not len(self._gp.observed):
            return
        self._candidates_at = self._round
        rng = np.random.default_rng([self._seed, self._round, self._n_fitted, 1])
        n, posterior = self._across.n_first, self._gp.posterior
        means = posterior.tracked_mean()[n:]
        spread = np.sqrt(posterior.tracked_var()[n:]) if self._over_cells else None
        places = best_places(self.targets_, means, spread)
        if self._n_tasks and self._learned_at == self._round + self._n_fitted:
            places = self._followed_anew(places, means)
        for first, each in moving:
            self._retrack(first + each.move(places, rng))

    def _retrack(self, slots: np.ndarray) -> None:
        """Track what lies in some slots now."""
        rows = np.concatenate([self.domain_.rows, self.targets_.rows])
        self._gp.track(rows[slots], slots)
        self._across.moved(slots)

    # -- contexts -----------------------------------------------------------------------------

    def _enter(self: Any, context: np.ndarray) -> None:
        """Track queries and targets in a context, unless they are tracked already."""
        follow = any(isinstance(each.actions, FreeCells) for each in (self.domain_, self.targets_))
        entered = (context.tobytes(), self._round if follow else None)
        if entered != self._entered:
            self.domain_, self.targets_ = self._within(context)
            self._track()
            self._entered = entered

    def _within(self: Any, context: np.ndarray) -> tuple[ContextArms, ContextArms]:
        """Queries and targets in a context, of which cells follow the best targets there."""
        queries, targets = self.domain_.within(context), self.targets_.within(context)
        if not len(self._gp.observed):
            return queries, targets
        rng = np.random.default_rng([self._seed, self._round, self._n_fitted, 1])
        for _ in range(N_STEPS):
            mean, std = self._gp.moments(targets.rows, std=True)
            places = best_places(targets, mean, std if self._over_cells else None)
            places = places[:, self.n_context_ :]
            queries, targets = (
                each.around(places, rng) if isinstance(each.actions, FreeCells) else each
                for each in (queries, targets)
            )
        return queries, targets


def best_places(targets: ArmSet, means: np.ndarray, spread: np.ndarray | None) -> np.ndarray:
    """Where the best targets lie, points or centres, at most N_FOLLOWED of them.

    With deviations ``spread`` those that may well be the best come in turn with them: cells that
    follow means alone stay on one hill while another is as likely to be higher (decision D-H31).
    """
    ranked = [means] if spread is None else [means, means + OPTIMISM * spread]
    best = np.column_stack([largest_first(each, 4 * N_FOLLOWED) for each in ranked]).ravel()
    distinct: dict[bytes, np.ndarray] = {}
    for place in targets.places_of(targets.rows[best]):
        distinct.setdefault(place.tobytes(), place)
    return np.array(list(distinct.values())[:N_FOLLOWED])
