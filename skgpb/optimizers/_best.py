"""What is recommended: the best of finitely many functionals, and the best region near it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from skgpb._core._ties import argmax_first, exceeds, size_of, tied
from skgpb._typing import RecommendMethod
from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.arms import Arm, ArmSet
from skgpb.optimizers._feasibility import Feasibility, IsFeasible
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.model import Model

# Methods that recommend one of the queries that were answered.
ANSWERED = frozenset({"best_observed", "shrinkage"})


def best_known(means: np.ndarray, variances: np.ndarray) -> int:
    """Return the number of the largest mean; among ties, the one of the smallest variance.

    Ties are common: after one answer all means far from it are equal.
    """
    # Means may all be zero but for rounding, which is in proportion to what is not known of them.
    among = tied(means, min(1.0, max(size_of(means), sqrt(variances.max()))))
    return int(among[argmax_first(-variances[among])])


def means_of_possible(
    targets: ArmSet, means: np.ndarray, possible: IsFeasible | None
) -> tuple[np.ndarray, IsFeasible | None]:
    """Return means, below all others where a target may not be recommended.

    Where none may, means are as they were, and so is what may be recommended: everything.
    """
    if possible is None:
        return means, None
    which = possible(targets.rows)
    if not which.any():
        return means, None
    return np.where(which, means, means.min() - 1.0), possible


def polished(
    targets: ArmSet,
    slot: int,
    means: np.ndarray,
    gp: GaussianProcess,
    possible: IsFeasible | None = None,
) -> Arm:
    """Return the query of a row, or of its size the one of the largest mean, wherever it lies.

    Parameters
    ----------
    targets : ArmSet
        The targets, in their context, if they are in one. Where they stand for all regions of a
        size, local searches begin at the best rows.
    slot : int
        Number of the best row.
    means : ndarray of shape (n,)
        Means of all rows, in units of the process.
    gp : GaussianProcess
        The posterior.
    possible : callable or None, default=None
        Returns which rows may be recommended; None stands for all.
    """
    placements = targets.placements_of(slot)
    if placements is None:
        return targets.arm(slot)

    def value(coordinates: np.ndarray) -> np.ndarray:
        rows = placements.rows_at(coordinates)
        if targets.context is not None:
            rows = targets.layout.beside(targets.context, rows)
        found = (gp.moments(rows) - gp.offset) / gp.scale
        return found if possible is None else np.where(possible(rows), found, means.min())

    # Ties are relative to the variation of f, where the prior is in other units than its answers.
    unit = size_of(means - means.min()) or 1.0
    starts = best_apart(placements.coordinates, means[placements.alike], placements.bounds)
    best, top = maximise_in_box(value, placements.coordinates[starts], placements.bounds, unit)
    if not exceeds(top, means[slot], unit):
        return targets.arm(slot)
    return targets.arm_in(placements, best)


#: Values of answered queries, by the name of a method: the answers, the means of a query's own
#: answers, shrunk to that of all, and the posterior means.
VALUES: dict[str, Callable[[Model], np.ndarray]] = {
    "best_observed": lambda model: model.process.posterior.targets(),
    "shrinkage": lambda model: model.shrinkage_means(),
    "posterior": lambda model: model.process.means_of_f(),
}


def best_answered(
    arms: ArmSet, model: Model, method: str, possible: IsFeasible | None = None
) -> Arm | None:
    """Return the best query of an answer that is no outlier; None if there is none to name.

    Parameters
    ----------
    arms : ArmSet
        The queries.
    model : Model
        The model of f.
    method : str
        Name of the values that are compared.
    possible : callable or None, default=None
        Returns which blocks of rows may be recommended; None stands for all.
    """
    observed, outlying = model.process.observed, model.diagnosis.outlying
    blocks = [*observed]
    may_be = np.ones(len(blocks), dtype=bool) if possible is None else possible(blocks)
    for i in np.argsort(-VALUES[method](model), kind="stable").tolist():
        arm = None if i in outlying or not may_be[i] else arms.arm_at(observed[i])
        if arm is not None:
            return arm
    return None


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
        return best_answered(self.queries, self.model, method, self.feasibility.kept)

    def target(self, means: np.ndarray, variances: np.ndarray) -> Arm:
        """Return the best target by the posterior, given the moments of all."""
        feasibility, targets = self.feasibility, self.targets
        if self.is_observable and not feasibility.is_certain:
            known = self.answered("posterior")
            if known is not None:
                return known
        possible, limits = feasibility.possible, feasibility.limits
        if limits is not None and possible is not None and not possible(targets.rows).any():
            return targets.arm(limits.nearest(targets.rows))
        means, possible = means_of_possible(targets, means, possible)
        best = best_known(means, variances)
        return polished(targets, best, means, self.model.process, possible)
