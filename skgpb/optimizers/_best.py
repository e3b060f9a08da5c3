"""The best of finitely many functionals, and the best region near it."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, TypeAlias

import numpy as np

from skgpb._core._ties import argmax_first, exceeds, size_of, tied
from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.arms import Arm, ArmSet
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.model import Model

#: Which rows of descriptors, or blocks of rows, may be recommended.
IsFeasible: TypeAlias = Callable[[Any], np.ndarray]


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


def best_target(
    targets: ArmSet,
    means: np.ndarray,
    variances: np.ndarray,
    gp: GaussianProcess,
    possible: IsFeasible | None = None,
) -> Arm:
    """Return the target of the largest mean, wherever it lies, of these moments of all rows.

    ``possible`` returns which rows may be recommended; None stands for all.
    """
    means, possible = means_of_possible(targets, means, possible)
    return polished(targets, best_known(means, variances), means, gp, possible)


def best_observed(arms: ArmSet, model: Model, possible: IsFeasible | None = None) -> Arm | None:
    """Return the query of the best answer that is no outlier; None if there is none to name."""
    return _best_answered(arms, model, model.process.posterior.targets(), possible)


def best_shrunken(arms: ArmSet, model: Model, possible: IsFeasible | None = None) -> Arm | None:
    """Return the query whose own answers are best; None if it cannot be recommended."""
    return _best_answered(arms, model, model.shrinkage_means(), possible)


def best_expected(arms: ArmSet, model: Model, possible: IsFeasible | None = None) -> Arm | None:
    """Return the query of an answer whose posterior mean is largest; None if there is none."""
    return _best_answered(arms, model, model.process.means_of_f(), possible)


def _best_answered(
    arms: ArmSet, model: Model, values: np.ndarray, possible: IsFeasible | None
) -> Arm | None:
    """Return the query of the best value that may be recommended."""
    observed, outlying = model.process.observed, model.diagnosis.outlying
    blocks = [observed[i] for i in range(len(observed))]
    may_be = np.ones(len(blocks), dtype=bool) if possible is None else possible(blocks)
    for i in np.argsort(-values, kind="stable").tolist():
        arm = None if i in outlying or not may_be[i] else arms.arm_at(observed[i])
        if arm is not None:
            return arm
    return None
