"""Candidates in a box that follow the posterior: where they move, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import numpy as np

from skgpb import defaults
from skgpb._core._ties import largest_first
from skgpb.domains.arms import ArmSet
from skgpb.domains.candidates import Incumbents
from skgpb.optimizers._feasibility import Utility
from skgpb.surrogate.gaussian_process import GaussianProcess


class PosteriorIncumbents(Incumbents):
    """The best of what a process observed and tracks.

    Parameters
    ----------
    targets : ArmSet
        The targets, the last rows that are tracked.
    gp : GaussianProcess
        The posterior.
    optimistic : bool
        Whether targets that may be the best are followed as well.
    utility : Utility or None
        What means are worth where evaluations fail or limits may not hold, and candidates do not
        follow them.
    """

    def __init__(
        self,
        targets: ArmSet,
        gp: GaussianProcess,
        *,
        optimistic: bool,
        utility: Utility | None,
    ) -> None:
        self._targets, self._gp = targets, gp
        self.most = max(1, defaults.MOST_MULTIPLICATIONS // len(gp.observed) ** 2)
        # Candidates move one set after the other, all to the same places.
        n, posterior = len(targets.rows), gp.posterior
        self._means = posterior.tracked_mean()[-n:]
        self._spread = np.sqrt(posterior.tracked_var()[-n:]) if optimistic else None
        self._utility = utility
        if utility is not None:
            self._means = utility.of(targets.rows, self._means, False)
        self._places: np.ndarray | None = None

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points (n, d), observed ones and candidates, and the posterior of f there."""
        observed, posterior = self._gp.observed, self._gp.posterior
        d = self._targets.layout.n_sides
        rows = observed.rows
        # Mean of f at the observations: the answers less the noise in them.
        told = posterior.targets() - posterior.noises() * posterior.weights()
        if observed.offsets is not None:
            single = np.diff(observed.offsets) == 1
            rows, told = rows[observed.offsets[:-1][single]], told[single]
        points, values = [rows, self._targets.rows], [told, self._means]
        utility, gp = self._utility, self._gp
        if utility is not None:
            values[0] = utility.of(rows, told, True)
        if utility is not None and utility.n_probes:
            shift = np.random.default_rng(len(observed)).random(d)
            probes = self._targets.probes(utility.n_probes, shift)
            means = (gp.moments(probes) - gp.offset) / gp.scale if len(probes) else told[:0]
            points.append(probes)
            values.append(utility.of(probes, means, False))
        return np.concatenate(points)[:, :d], np.concatenate(values)

    def places(self) -> np.ndarray:
        """Return the places of the best targets."""
        if self._places is None:
            self._places = best_places(self._targets, self._means, self._spread)
        return self._places


class IncumbentsInContext(Incumbents):
    """The best of what is known in a context, where nothing is tracked yet.

    Parameters
    ----------
    targets : ArmSet
        The targets in the context.
    gp : GaussianProcess
        The posterior.
    optimistic : bool
        Whether targets that may be the best are followed as well.
    seen : callable or None
        Returns rows that were observed, in whatever context, to be followed as well.
    """

    def __init__(
        self,
        targets: ArmSet,
        gp: GaussianProcess,
        *,
        optimistic: bool,
        seen: Callable[[], np.ndarray] | None,
    ) -> None:
        self._targets, self._gp, self._optimistic, self._seen = targets, gp, optimistic, seen
        self._places: np.ndarray | None = None

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the points that were observed and the candidates, and the means of f there."""
        layout, context, rows = self._targets.layout, self._targets.context, self._targets.rows
        if self._seen is not None and context is not None:
            seen = layout.beside(context, layout.actions_of(self._seen()))
            rows = np.concatenate([seen, rows])
        return layout.of_actions.places(layout.actions_of(rows)), self._gp.moments(rows)

    def places(self) -> np.ndarray:
        """Return the places of the best targets."""
        if self._places is None:
            mean, std = self._gp.moments(self._targets.rows, std=True)
            self._places = best_places(self._targets, mean, std if self._optimistic else None)
        return self._places


def followed(
    queries: ArmSet,
    targets: ArmSet,
    gp: GaussianProcess,
    rng: np.random.Generator,
    *,
    optimistic: bool,
    seen: Callable[[], np.ndarray],
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
    optimistic : bool
        Whether targets that may be the best are followed as well.
    seen : callable
        Returns rows that were observed, in whatever context.
    """
    if not (queries.follows or targets.follows):
        return queries, targets
    are_one = targets is queries
    for step in range(defaults.N_FOLLOWING_STEPS):
        of_others = None if step else seen
        incumbents = IncumbentsInContext(targets, gp, optimistic=optimistic, seen=of_others)
        queries = _moved(queries, incumbents, rng)
        targets = queries if are_one else _moved(targets, incumbents, rng)
    return queries, targets


def _moved(each: ArmSet, incumbents: Incumbents, rng: np.random.Generator) -> ArmSet:
    """Return a set with some candidates moved to incumbents and around them."""
    out = copy(each)
    out.resample(incumbents, rng)
    return out


def best_places(targets: ArmSet, means: np.ndarray, spread: np.ndarray | None) -> np.ndarray:
    """Return the places of the best targets, points or centres (k, d), at most a few.

    With standard deviations ``spread``, targets of large mean alternate with targets of large upper
    bound: cells that follow only means stay on one hill, although another may be higher (decision
    D-H31).
    """
    ranked = [means] if spread is None else [means, means + defaults.FOLLOWED_OPTIMISM * spread]
    n = defaults.N_CENTERS
    best = np.column_stack([largest_first(each, 4 * n) for each in ranked]).ravel()
    distinct: dict[bytes, np.ndarray] = {}
    for place in targets.layout.of_actions.places(targets.plain[best]):
        distinct.setdefault(place.tobytes(), place)
    return np.array(list(distinct.values())[:n])
