"""Feasibility: what failures, and limits on other outcomes, mean for queries and targets."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from skgpb import defaults
from skgpb.optimizers._failing import Chances, with_failures, with_limits, worst_answer
from skgpb.optimizers._limits import OutcomeConstraints
from skgpb.optimizers.round import Round
from skgpb.surrogate.gaussian_process import GaussianProcess

#: Which rows of descriptors, or blocks of rows, may be recommended.
IsFeasible: TypeAlias = Callable[[Any], np.ndarray]


class Utility(NamedTuple):
    """What means are worth where evaluations fail or limits may not hold.

    Attributes
    ----------
    of : callable
        Takes rows of descriptors, means there, and whether they were answered; returns utilities.
    n_probes : int
        Further points at which it is looked for: what is worth most may lie between candidates.
    """

    of: Callable[[np.ndarray, np.ndarray, bool], np.ndarray]
    n_probes: int


class Feasibility:
    """What is known of failures and limits at one moment of a run.

    Parameters
    ----------
    outcomes : Chances or None
        What failures have taught; None without any.
    limits : OutcomeConstraints or None
        How probable it is that all limits hold; None without any.
    gp : GaussianProcess
        The posterior of f, without pending queries.

    Attributes
    ----------
    chances : Chances or None
        Where evaluations fail; None as long as nothing is known of that.
    """

    def __init__(
        self, outcomes: Chances | None, limits: OutcomeConstraints | None, gp: GaussianProcess
    ) -> None:
        self._outcomes, self.limits, self._gp = outcomes, limits, gp
        self.chances: Chances | None = outcomes if outcomes is not None and outcomes.known else None

    @property
    def is_certain(self) -> bool:
        """True if, as far as is known, every query has an answer, within all limits."""
        return self.chances is None and self.limits is None

    # -- the next query -----------------------------------------------------------------------

    def weighed(self, round: Round, settings: np.ndarray, targets: np.ndarray) -> Round:
        """Return a round in which queries count as far as they are likely to be of use.

        Parameters
        ----------
        round : Round
            The posterior of f.
        settings : ndarray of shape (n_queries, n_columns)
            Rows that distinguish its queries.
        targets : ndarray of shape (n_targets, n_columns)
            Descriptors of its targets.
        """
        if self.limits is not None:
            round = with_limits(round, self.limits, (settings, targets), self._gp)
        if self.chances is None:
            return round
        return with_failures(round, self.chances, (settings, targets), self._gp)

    def hopeless(self, settings: np.ndarray) -> np.ndarray:
        """Return which queries are asked only if no others are left, shape (n,)."""
        out = np.zeros(len(settings), dtype=bool)
        for each in (self.limits, self.chances):
            if each is not None:
                out |= each.hopeless(settings)
        return out

    def values_of_use(self, values: np.ndarray, settings: np.ndarray) -> np.ndarray:
        """Return values of queries, -inf of those that are asked only if no others are left."""
        return values if self.is_certain else np.where(self.hopeless(settings), -inf, values)

    def utility(self) -> Utility | None:
        """Return what means are worth to candidates; None for what they are."""
        if self.is_certain:
            return None
        limits, chances, low = self.limits, self.chances, worst_answer(self._gp)
        best = None if limits is None else limits.base(self._gp)

        def utility(rows: np.ndarray, means: np.ndarray, answered: bool) -> np.ndarray:
            if limits is not None:
                hold = limits.of(rows)
                above = (hold >= defaults.HOPELESS_OF_LIMITS) & (
                    means > (inf if best is None else best)
                )
                base = np.where(above, best or 0.0, low)
                means = base + hold * (means - base)
            if chances is not None and not answered:
                means = low + chances.of(rows) * (means - low)
            return means

        return Utility(utility, 0 if limits is None else defaults.N_PROBES_OF_LIMITS)

    # -- the recommendation -------------------------------------------------------------------

    @property
    def kept(self) -> IsFeasible | None:
        """Which answered queries keep all limits, as far as is known; None without limits."""
        return None if self.limits is None else self.limits.possible

    @property
    def possible(self) -> IsFeasible | None:
        """Which rows of targets may be recommended; None stands for all."""
        every = [each.possible for each in (self._outcomes, self.limits) if each is not None]
        return (lambda rows: np.all([each(rows) for each in every], axis=0)) if every else None


class FeasibilityOfQueries(Feasibility):
    """Feasibility where queries can fail, and targets, which are no queries, cannot."""

    def weighed(self, round: Round, settings: np.ndarray, targets: np.ndarray) -> Round:
        """Return a round in which queries cost more, the likelier they are to fail."""
        if self.chances is None:
            return round
        # On average an answer takes 1 / p evaluations.
        cost = round.cost / self.chances.of(settings)
        return round.replaced(round.known, round.query_noise, cost)

    def hopeless(self, settings: np.ndarray) -> np.ndarray:
        """Return which queries are likely to fail, of whose chances scores do not know."""
        assert self.chances is not None
        return self.chances.unlikely(settings)

    @property
    def possible(self) -> None:
        """Every target may be recommended."""
        return None
