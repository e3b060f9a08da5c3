"""Support for contexts, which the environment chooses, shared by several optimizers.

A context comes before the question and changes from round to round. The model is over rows
[context, action], so that an answer in one context says something of others. With GP-UCB this is
CGP-UCB [Krause2011]_.

References
----------
.. [Krause2011] A. Krause and C. S. Ong, "Contextual Gaussian process bandit optimization",
   NIPS 2011.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from skgpb.domains.space import ParameterSpace
from skgpb.locks import locked
from skgpb.optimizers._base import BaseBanditOptimizer, Q
from skgpb.utils import check_bounds, check_count, check_inside, check_numbers, unchanged_by_errors


class InContexts(BaseBanditOptimizer[Q]):
    """An optimizer in contexts, where it has ``context_bounds``.

    A subclass chooses in ``_choose_in``.
    """

    context_bounds: Any
    n_context_: int

    # Names of the sides of contexts and of actions.
    _contexts: ParameterSpace | None
    _actions: ParameterSpace | None

    @abstractmethod
    def _choose_in(self, context: np.ndarray) -> Q:
        """Return the next query in a context, different from the pending ones."""

    def _without_context(self, context: Any) -> bool:
        """Return whether there are no contexts; raise ValueError if one is given anyway."""
        if self.context_bounds is None and context is not None:
            raise ValueError(
                f"context is for optimizers with context_bounds, and these are None: {context!r}"
            )
        return self.context_bounds is None

    # -- asking -----------------------------------------------------------------------------

    @locked
    def _ask_in(self, context: Any, n: int | None, another: bool = False) -> Any:
        """Return a query in a context, or n; repeated calls agree until an answer is told."""
        count = 1 if n is None else check_count(n)
        self._ensure_started()
        context = self._checked_context(context)
        mine = [query for query in self._record.asked if np.array_equal(query.context, context)]
        mine = [] if another else mine[:count]
        self._record.asked_again.update(mine)
        if len(mine) < count:
            mine += self._commit(self._ask_more, count - len(mine), self._choose_in, context)
        return mine[0] if n is None else mine

    def _checked_contexts(self, contexts: Any) -> list[np.ndarray]:
        """Check the contexts of a run, in the order in which they arrive."""
        if contexts is None:
            raise ValueError(
                "contexts must be given if there are context_bounds, got None: "
                "run(objective, contexts=[...])"
            )
        with unchanged_by_errors(self):
            self._ensure_started()
            if self._contexts is not None:
                contexts = self._contexts.points(contexts)
            given = check_numbers(contexts, "contexts", ensure_2d=False)
            rows = [self._checked_context(row) for row in given]
            if not rows:
                raise ValueError("contexts must hold at least one context")
        return rows

    def _checked_context(self, context: Any) -> np.ndarray:
        if context is None:
            raise ValueError(
                "context must be given if there are context_bounds, got None: pass context=..."
            )
        if self._contexts is not None and isinstance(context, Mapping):
            context = self._contexts.point(context)
        context = np.atleast_1d(check_numbers(np.atleast_1d(context), "context", ensure_2d=False))
        if context.shape != (self.n_context_,):
            raise ValueError(f"context must have shape ({self.n_context_},), got {context.shape}")
        check_inside(context[None], self.bounds_[: self.n_context_])
        if self._contexts is not None:
            context = self._contexts.snapped(context[None])[0]
        return context + 0.0  # -0.0 and 0.0 are one context

    # -- the domain ---------------------------------------------------------------------------

    def _make_space(self) -> ParameterSpace | None:
        actions = self._actions = super()._make_space()
        self._contexts = None
        if self.context_bounds is not None:
            self._contexts = self._checked_space(self.context_bounds, "context_bounds")
            if (actions is None) != (self._contexts is None):
                raise ValueError(
                    "give the sides of both context_bounds and bounds names, or of neither"
                )
        if actions is None or self._contexts is None:
            return actions
        if not set(self.bounds).isdisjoint(self.context_bounds):
            raise ValueError("the sides of context_bounds and bounds must have different names")
        return ParameterSpace.of_bounds({**self.context_bounds, **self.bounds})

    def _joint_bounds(self) -> np.ndarray:
        """Return the box of contexts and actions together, from the parameters of both."""
        if self.space_ is not None:
            return self.space_.bounds
        contexts = check_bounds(self.context_bounds, "context_bounds")
        return np.concatenate([contexts, check_bounds(self.bounds)])
