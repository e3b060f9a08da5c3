"""What a search over two sets recommends, by each of the methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skgpb._core._ties import argmax_first
from skgpb._typing import RecommendMethod
from skgpb.domains.arms import Arm, ArmSet
from skgpb.optimizers._best import best_expected, best_observed, best_shrunken, best_target
from skgpb.optimizers._feasibility import Feasibility
from skgpb.surrogate.model import Model

# Methods that recommend one of the queries that were answered.
ANSWERED = {"best_observed": best_observed, "shrinkage": best_shrunken}


@dataclass(frozen=True)
class Recommendation:
    """The best of a set of targets, as far as is known.

    Parameters
    ----------
    queries, targets : ArmSet
        The two sets.
    model : Model
        The model of f.
    feasibility : Feasibility
        What is known of failures and limits.
    is_observable : bool
        Whether the query of the best answer may be what is to be found.
    """

    queries: ArmSet
    targets: ArmSet
    model: Model
    feasibility: Feasibility
    is_observable: bool

    @property
    def method(self) -> RecommendMethod:
        """Name of the method that is best known."""
        method = self.model.diagnosis.method if self.is_observable else "posterior"
        possible = method not in ANSWERED or self.answered(method) is not None
        return method if possible else "posterior"

    def answered(self, method: str) -> Arm | None:
        """Return the best of the queries that were answered; None if there is none to name."""
        return ANSWERED[method](self.queries, self.model, self.feasibility.kept)

    def target(self, means: np.ndarray, variances: np.ndarray) -> Arm:
        """Return the best target by the posterior, given the moments of all."""
        feasibility, targets = self.feasibility, self.targets
        if self.is_observable and not feasibility.is_certain:
            known = best_expected(self.queries, self.model, feasibility.kept)
            if known is not None:
                return known
        possible, limits = feasibility.possible, feasibility.limits
        if limits is not None and possible is not None and not possible(targets.rows).any():
            return targets.arm(argmax_first(limits.hold(targets.rows)))
        return best_target(targets, means, variances, self.model.process, possible)
