"""The queries and targets of a search, which its posterior tracks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.query import PointsQuery
from skgpb.kernels.evaluator import Functionals
from skgpb.optimizers._feasibility import Utility
from skgpb.optimizers._following import PosteriorIncumbents, followed
from skgpb.optimizers.round import ArmPosterior, CrossPosterior, QueryTargetPosterior
from skgpb.roots import PivotedRoot
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.pairs import PairCovariances, QueryTargetCovariances, pending_downdate


class ExpectedAnswers:
    """What a process knows once pending queries are answered as it expects.

    In a batch every query is added to those before it, whose answers are expected already.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin again: the process has changed."""
        # Pending queries with their noise variances, and the process that expects their answers.
        self._known: tuple[list[tuple[Any, float]], GaussianProcess | None] = [], None

    def __getstate__(self) -> dict[str, Any]:
        return {"_known": ([], None)}

    def of(
        self,
        process: GaussianProcess,
        pending: list[Any],
        blocks: list[np.ndarray],
        noises: np.ndarray,
    ) -> GaussianProcess:
        """Return the process, or a copy that expects answers.

        Parameters
        ----------
        process : GaussianProcess
            The same one in every call, unless everything was forgotten.
        pending : list of queries
            The queries.
        blocks : list of ndarray of shape (n_rows, n_columns)
            Functionals that they will tell.
        noises : ndarray of shape (k,)
            Noise variances of these answers, in the user's units.
        """
        if not pending:
            return process
        pairs = list(zip(pending, noises.tolist(), strict=True))
        known, expected = self._known
        if expected is None or pairs[: len(known)] != known:
            known, expected = [], process
        n = len(known)
        expected = expected.fantasize(blocks[n:], noises[n:])
        self._known = pairs, expected
        return expected


class PosteriorCache:
    """Queries and targets whose posterior a process tracks, and the covariances of their pairs.

    Candidates that stand for a box move once in a round, or whenever a context is entered.

    Parameters
    ----------
    sets : pair of ArmSet
        Queries and targets; the same object twice where arms are pulled.
    gp : GaussianProcess
        The posterior.
    optimistic : bool
        Whether candidates follow targets that may be the best as well.
    over_tasks : bool
        Whether several functions are asked. All candidates then move when something was learned.

    Attributes
    ----------
    queries, targets : ArmSet
        The sets in the present round and context.
    are_one : bool
        Whether queries are the targets.
    refreshed_at : int
        The last round, from 0, in which candidates have moved.
    """

    _kept_fields = ("_place", "queries", "targets", "refreshed_at")

    def __init__(
        self,
        sets: tuple[ArmSet, ArmSet],
        gp: GaussianProcess,
        *,
        optimistic: bool,
        over_tasks: bool,
    ) -> None:
        self.sets = sets
        self.queries, self.targets = sets
        self.are_one: bool = self.queries is self.targets
        self.refreshed_at = -1
        self._optimistic, self._over_tasks = optimistic, over_tasks
        # The context that was entered, and the round if candidates follow the posterior.
        self._entered: tuple[bytes, int | None] | None = None
        self.invalidate(gp)

    # -- what is tracked ----------------------------------------------------------------------

    def invalidate(self, gp: GaussianProcess) -> None:
        """Forget what depends on hyperparameters; ``gp`` has others, or is another one."""
        self.gp = gp
        self._slope: float | None = None
        self._renew_covariances()

    def _renew_covariances(self) -> None:
        # None before they are asked for.
        self._covariances: PairCovariances | QueryTargetCovariances | None = None
        self._root: PivotedRoot | None = None
        self._expected = ExpectedAnswers()

    def covariances(self) -> Any:
        """Posterior covariances of queries and targets: of pairs where these are one set."""
        if self._covariances is None and self.are_one:
            self._covariances = PairCovariances(self.gp, moving=self.queries.is_discretization)
        elif self._covariances is None:
            self._covariances = QueryTargetCovariances(self.gp, len(self.queries.rows))
        return self._covariances

    def root(self) -> PivotedRoot | None:
        """A root of the prior covariance of targets that stay and are smooth; None for others."""
        if self._root is None and self.targets.has_root:
            gp, n = self.gp, len(self.queries.rows)
            targets = Functionals.of_rows(gp.tracked.rows[n:])
            self._root = PivotedRoot(
                lambda i: gp.covariance(targets, targets.one(i))[:, 0], gp.variance(targets)
            )
        return self._root

    def observing(self, slot: int, noise: float) -> None:
        """Let covariances that were asked for follow an observation that is about to be made.

        ``slot`` is the row of a query that is tracked, -1 for any other; ``noise`` its variance in
        the user's units.
        """
        self._expected.forget()
        if self._covariances is not None:
            self._covariances.observing(slot, noise)

    def track(self) -> None:
        """Track all queries and targets."""
        self.gp.track(self._rows())
        self._renew_covariances()

    def _rows(self) -> np.ndarray:
        """Return what is tracked: the rows of queries, and those of targets if they are others."""
        if self.are_one:
            return self.queries.rows
        return np.concatenate([self.queries.rows, self.targets.rows])

    def _retrack(self, slots: np.ndarray) -> None:
        """Track what lies in some slots now."""
        self.gp.track(self._rows()[slots], slots)
        self._expected.forget()
        if self._covariances is not None:
            self._covariances.moved(slots)

    def slot_of(self, query: Arm | PointsQuery) -> int:
        """Row of a query that is tracked, or of a candidate that is put there; or -1."""
        slot = self.queries.slot_of(query)
        if slot < 0:
            # A tracked query is followed at a fraction of the cost.
            slot = self.queries.move_to(query)
            if slot >= 0:
                self._retrack(np.array([slot]))
        return slot

    @property
    def moments_of_targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Posterior means and variances of all targets, in units of the process."""
        n, posterior = len(self.targets.rows), self.gp.posterior
        return posterior.tracked_mean()[-n:], posterior.tracked_var()[-n:]

    def known(
        self, pending: list[Any], blocks: list[np.ndarray], noises: np.ndarray
    ) -> QueryTargetPosterior:
        """Return covariances of pairs of queries and targets, given pending queries.

        Parameters
        ----------
        pending : list of queries
            Queries that are being evaluated.
        blocks : list of ndarray of shape (n_rows, n_columns)
            Functionals that they will tell.
        noises : ndarray of shape (k,)
            Noise variances of these answers, in the user's units.
        """
        if not self.are_one:
            downdate = pending_downdate(self.gp, blocks, noises)
            return CrossPosterior(self.covariances(), downdate, self.root)
        expected = self._expected.of(self.gp, pending, blocks, noises)
        slots = [self.queries.slot_of(query) for query in pending]
        return ArmPosterior(self.gp, expected.posterior, self.covariances, slots, noises)

    # -- before a round -----------------------------------------------------------------------

    def refresh(
        self,
        round: int,
        theta: float,
        make_rng: Callable[[], np.random.Generator],
        learned: bool,
        utility: Callable[[], Utility | None],
    ) -> None:
        """Let candidates follow the posterior, once in a round; not in contexts.

        Parameters
        ----------
        round : int
            The round, from 0.
        theta : float
            Probability with which the grid of Theorem 2 may fail.
        make_rng : callable
            Makes the generator that scatters candidates of this round around the best.
        learned : bool
            Whether hyperparameters were learned since the last round.
        utility : callable
            Returns what means are worth where evaluations fail or limits may not hold.
        """
        if self.refreshed_at == round or self.queries.layout.n_context:
            return
        self.refreshed_at = round
        if self.queries.make_candidates(round + 1, theta, self.largest_slope):
            self.track()
        moving = [each for each in (self.queries, self.targets)[: 2 - self.are_one] if each.follows]
        if not moving or not len(self.gp.observed):
            return
        rng = make_rng()
        incumbents = PosteriorIncumbents(
            self.targets, self.gp, optimistic=self._optimistic, utility=utility()
        )
        for each in moving:
            if learned and self._over_tasks:
                each.resample_all()  # they have followed the best of other hyperparameters
            first = 0 if each is self.queries else len(self.queries.rows)
            self._retrack(first + each.resample(incumbents, rng))

    def largest_slope(self) -> float:
        """Largest slope that the prior expects of f, known until hyperparameters change."""
        if self._slope is None:
            self._slope = self.queries.largest_slope(self.gp.deviations)
        return self._slope

    # -- contexts -----------------------------------------------------------------------------

    def enter(
        self,
        context: np.ndarray,
        round: int,
        make_rng: Callable[[], np.random.Generator],
        seen: Callable[[], np.ndarray],
    ) -> None:
        """Track queries and targets in a context: O(n t^2), unless they are tracked already."""
        follow = any(each.follows for each in self.sets)
        entered = (context.tobytes(), round if follow else None)
        if entered != self._entered:
            self.queries, self.targets = self.in_context(context, make_rng, seen)
            self.track()
            self._entered = entered

    def in_context(
        self,
        context: np.ndarray,
        make_rng: Callable[[], np.random.Generator],
        seen: Callable[[], np.ndarray],
    ) -> tuple[ArmSet, ArmSet]:
        """Return queries and targets in a context; their candidates follow the best ones there.

        ``seen`` returns the rows that were observed, in whatever context.
        """
        queries, targets = self._sets_at_context(context)
        if not len(self.gp.observed):
            return queries, targets
        optimistic = self._optimistic
        return followed(queries, targets, self.gp, make_rng(), optimistic=optimistic, seen=seen)

    def _sets_at_context(self, context: np.ndarray) -> tuple[ArmSet, ArmSet]:
        """Return queries and targets in a context, with candidates that fill the box."""
        queries = self.sets[0].at_context(context)
        return queries, queries if self.are_one else self.sets[1].at_context(context)

    # -- what was told before the first round, and files --------------------------------------

    def begin_again(self) -> None:
        """Let candidates move in this round once more, for answers that came without a query."""
        self.refreshed_at, self._entered = -1, None
        self._renew_covariances()

    @property
    def _place(self) -> tuple[np.ndarray, int | None] | None:
        """The context that was entered, and when."""
        if self._entered is None or self.queries.context is None:
            return None
        return self.queries.context, self._entered[1]

    @_place.setter
    def _place(self, place: tuple[np.ndarray, int | None] | None) -> None:
        if place is not None:
            context = np.array(place[0], dtype=np.float64)
            self.queries, self.targets = self._sets_at_context(context)
            self._entered = context.tobytes(), place[1]
