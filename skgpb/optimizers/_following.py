"""Candidates in a box that follow the posterior: where they move, and in which order."""

from __future__ import annotations

from copy import copy

import numpy as np

from skgpb.acquisition.maximise import best_apart
from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.box_candidates import BoxCandidates
from skgpb.domains.candidates import largest_first
from skgpb.domains.free_cells import FreeCells
from skgpb.surrogate.gaussian_process import GaussianProcess

# Number of the best targets that the cells of a box follow; standard deviations that are added to
# the mean to decide which targets may be the best.
N_FOLLOWED, OPTIMISM = 5, 2.0
# Number of moves of the candidates in a round, if nothing is kept from the last round.
N_STEPS = 3


def best_places(targets: ArmSet, means: np.ndarray, spread: np.ndarray | None) -> np.ndarray:
    """Return the places of the best targets, points or centres (k, d), at most N_FOLLOWED.

    With standard deviations ``spread``, targets of large mean alternate with targets of large upper
    bound: cells that follow only means stay on one hill, although another may be higher (decision
    D-H31).
    """
    ranked = [means] if spread is None else [means, means + OPTIMISM * spread]
    best = np.column_stack([largest_first(each, 4 * N_FOLLOWED) for each in ranked]).ravel()
    distinct: dict[bytes, np.ndarray] = {}
    for place in targets.layout.of_actions.places(targets.plain[best]):
        distinct.setdefault(place.tobytes(), place)
    return np.array(list(distinct.values())[:N_FOLLOWED])


def places_apart(targets: ArmSet, best: Arm, means: np.ndarray, n: int) -> np.ndarray:
    """Locations (n, d) of a target and of n - 1 others of the largest means that lie apart."""
    at = targets.every_place()
    others = at[best_apart(at, means, targets.bounds)[1:n]]
    return np.vstack([targets.places_of(best.descriptor[np.newaxis]), others])


def followed(
    queries: ArmSet,
    targets: ArmSet,
    gp: GaussianProcess,
    rng: np.random.Generator,
    seen: np.ndarray | None,
    optimistic: bool,
) -> tuple[ArmSet, ArmSet]:
    """Return queries and targets whose candidates follow the best targets in their context.

    Parameters
    ----------
    queries, targets : ArmSet
        In the context, with candidates that fill the box; the same object where arms are pulled.
    gp : GaussianProcess
        The posterior.
    rng : Generator
        Scatters candidates around the best.
    seen : ndarray of shape (n, n_columns) or None
        Observed rows, in any context, for points that follow values.
    optimistic : bool
        Whether cells follow what may be the best as well.
    """
    if isinstance(queries, BoxCandidates):
        return _followed_points(queries, gp, rng, seen)
    moving = (queries, targets)
    if not any(isinstance(each, FreeCells) for each in moving):
        return moving
    for _ in range(N_STEPS):
        mean, std = gp.moments(targets.rows, std=True)
        places = best_places(targets, mean, std if optimistic else None)
        queries, targets = (_moved(each, places, rng) for each in moving)
    return queries, targets


def _moved(each: ArmSet, places: np.ndarray, rng: np.random.Generator) -> ArmSet:
    """Return a set with some cells moved to places (k, d) and around them."""
    if not isinstance(each, FreeCells):
        return each
    out = copy(each)
    out.move(places, rng)
    return out


def _followed_points(
    arms: BoxCandidates, gp: GaussianProcess, rng: np.random.Generator, seen: np.ndarray | None
) -> tuple[ArmSet, ArmSet]:
    if seen is None or arms.context is None:
        return arms, arms
    layout, out = arms.layout, arms
    rows = np.concatenate([layout.beside(arms.context, layout.actions_of(seen)), arms.rows])
    for _ in range(N_STEPS):
        out = copy(arms)
        out.move(layout.of_actions.places(layout.actions_of(rows)), gp.moments(rows), rng)
        rows = out.rows
    return out, out
