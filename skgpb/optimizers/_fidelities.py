"""Queries of a function and of cheaper likenesses of it: rows, prior, what is told and kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from skgpb.acquisition.maximise import best_apart
from skgpb.domains.arms import ArmSet
from skgpb.domains.cells import FreeCells
from skgpb.domains.contexts import without_contexts
from skgpb.domains.discs import DiscSet, FreeDiscs
from skgpb.domains.fidelities import Fidelities, FidelityArms, FreeFidelities
from skgpb.domains.ranged_cells import RangedCells
from skgpb.kernels import CellAverage
from skgpb.locks import locked
from skgpb.optimizers._first_design import takes_boxes
from skgpb.optimizers._improvement import improved_place
from skgpb.surrogate.likelihood import Prior, noise_prior
from skgpb.surrogate.tasks import (
    NOISE,
    NOISE_SPREAD,
    around,
    over_tasks,
    prior_over_tasks,
    slow_kernel,
    takes_tasks,
)
from skgpb.utils import check_numbers


class OverFidelities:
    """What an optimizer over queries and targets does where ``queries`` are fidelities."""

    # What it needs of the class that it is mixed into.
    kernel: Kernel | None
    queries: Any
    bounds_: np.ndarray

    @property
    def _n_tasks(self) -> int:
        """Number of fidelities; 0 where there is one function alone."""
        return self.queries.n if isinstance(self.queries, Fidelities) else 0

    def _over_fidelities(self: Any, kernel: Kernel, counts: tuple[int, ...] | None) -> Kernel:
        """Return the kernel over rows with a column for the fidelity, where there are several."""
        if not self._n_tasks:
            return kernel
        mixed = self.space_ is not None and self.space_.discrete
        if mixed and counts is not None:
            raise ValueError(
                "sizes of Fidelities must be 0, and targets points, where sides of bounds or "
                f"context_bounds have separate values; got {self.queries!r} and {self.targets!r}"
            )
        if self.kernel is not None and takes_tasks(self.kernel):
            if mixed:
                raise ValueError(
                    "kernel must be that of the truth, without Tasks, where sides of bounds or "
                    f"context_bounds have separate values; got {self.kernel!r}"
                )
            if counts is not None and not takes_boxes(self.kernel, behind=True):
                raise ValueError(
                    f"cells of {self.queries!r} need a kernel over rows [lower, upper, fidelity]: "
                    f"Tasks(CellAverage(kernel), n_tasks={self._n_tasks}); got {self.kernel!r}"
                )
            return clone(self.kernel)
        slow = slow_kernel(self.bounds_, counts is not None, self.space_)
        slow = slow if counts is None else CellAverage(slow, counts)
        make = over_tasks if self.kernel is None else around
        return make(kernel, slow, self._n_tasks)

    def _default_prior(self: Any) -> Prior:
        prior, n = super()._default_prior(), self._n_tasks  # type: ignore[misc]
        return prior_over_tasks(prior, n) if n else prior

    def _noise_prior(self: Any) -> tuple[Prior, np.ndarray]:
        if not self._n_tasks:
            return super()._noise_prior()  # type: ignore[misc]
        return noise_prior(self._unit(), NOISE, NOISE_SPREAD)

    def _free_set(self: Any, given: Any, *layout: Any) -> FreeCells:
        """Points or cells that stand for all of some sizes, the first of ``layout``."""
        between = None if given is None else given.between(self._box, self._actions, "queries")
        if between is not None:
            return RangedCells(*layout, between=between)
        if not self._n_tasks:
            return FreeDiscs(*layout) if self._over_discs else FreeCells(*layout)
        of_truth = np.zeros(len(layout[0]), dtype=np.intp)
        tasks = given.tasks if isinstance(given, Fidelities) else of_truth
        return FreeFidelities(*layout, tasks=tasks, n_tasks=self._n_tasks)

    def _followed_anew(self: Any, places: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Let all candidates move that follow the best targets, and return what they follow now.

        That is the target that would be recommended, and the best that lie apart; ``places`` where
        no targets move. After hyperparameters were learned all that is tracked is evaluated afresh
        in any case, and what candidates followed before was the best under others (D-H32).
        """
        for each in (self.domain_, self.targets_):
            if isinstance(each, FreeCells):
                each.follow_anew()
        targets = self.targets_
        if not isinstance(targets, FreeCells):
            return places
        best = improved_place(targets, int(np.argmax(means)), means, self._gp).descriptor
        at = targets.places_of(targets.rows)
        # Another hill may be the higher one.
        others = at[best_apart(at, means, self._box)[1 : len(places)]]
        return np.vstack([targets.places_of(best[np.newaxis]), others])

    def _row_set(self: Any, rows: np.ndarray, *layout: Any) -> ArmSet:
        """Rows of points or boxes, which are of the function itself."""
        if not self._n_tasks:
            return DiscSet(rows, *layout) if self._over_discs else ArmSet(rows, *layout)
        return FidelityArms(np.column_stack([rows, np.zeros(len(rows))]), *layout)

    def _as_query(self: Any, points: Any) -> Any:
        free = isinstance(without_contexts(self.domain_), FreeFidelities)
        if free and not isinstance(points, Mapping):
            found = self.domain_.told(check_numbers(points, "query", ensure_2d=False))
            if found is not None:
                return found
        return super()._as_query(points)  # type: ignore[misc]

    def _places_seen(self: Any) -> np.ndarray:
        if not self._n_tasks:
            return super()._places_seen()  # type: ignore[misc]
        return self.domain_.places_of(self._gp.observed.rows)

    @property
    @locked
    def history_(self: Any) -> np.ndarray:
        """Every observation told since the start, a structured array.

        Fields: ``round`` (from 1), ``descriptor`` (2 d,), the box [lower, upper] around what
        was observed, ``reward``, ``mean`` and ``std`` of the query before the observation, and
        ``expanded``, which is False; with :class:`~skgpb.domains.Fidelities` also ``task``.
        """
        history = super().history_  # type: ignore[misc]
        if not self._n_tasks:
            return history
        told = [event[1] for event in self._log if event[0] == "tell"]
        out = np.empty(len(history), dtype=[*history.dtype.descr, ("task", np.intp)])
        for name in history.dtype.names:
            out[name] = history[name]
        out["task"] = [getattr(query, "task", 0) for query in told]
        return out
