"""Contexts, which the environment chooses: the box that they are in, and what stands for one.

A context comes before the question and changes from round to round. The model is over rows
[context, action], so that an answer in one context says something of others. With GP-UCB this is
CGP-UCB [Krause2011]_.

References
----------
.. [Krause2011] A. Krause and C. S. Ong, "Contextual Gaussian process bandit optimization",
   NIPS 2011.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from skgpb.domains.space import ParameterSpace, in_coordinates
from skgpb.utils import check_inside, check_numbers


class NoContexts:
    """Of a search in which no context is given: false, and refuses any.

    Parameters
    ----------
    optimizer : str
        The name of its class.
    parameters : collection of str
        Its parameters.
    """

    def __init__(self, optimizer: str, parameters: Collection[str]) -> None:
        self._optimizer, self._parameters = optimizer, parameters

    def __bool__(self) -> bool:
        return False

    def checked(self, context: Any) -> None:
        """Raise ValueError if a context, or several, are given anyway."""
        if context is not None:
            known = "context_bounds" in self._parameters
            none = "these are None" if known else f"{self._optimizer} has none"
            raise ValueError(
                f"context is for optimizers with context_bounds, and {none}: {context!r}"
            )

    def of(self, query: Any) -> None:
        """Return the context of a query: none."""


class Contexts:
    """The box of contexts of a run.

    Parameters
    ----------
    bounds : ndarray of shape (d_c, 2)
        The box.
    space : ParameterSpace or None
        Names of its sides; None if they have none.
    """

    def __init__(self, bounds: np.ndarray, space: ParameterSpace | None) -> None:
        self.bounds = bounds
        self.space = space

    def of(self, query: Any) -> np.ndarray:
        """Return the context in which a query was chosen."""
        return self.checked(in_coordinates(query.context))

    def checked(self, context: Any) -> np.ndarray:
        """Return the point (d_c,) that a context stands for, or raise ValueError.

        A context that the library has kept is Coordinates.
        """
        if context is None:
            raise ValueError(
                "context must be given if there are context_bounds, got None: pass context=..."
            )
        if self.space is not None:
            rows = np.atleast_2d(self.space.points(context))
            if len(rows) != 1:
                raise ValueError(f"context must be a single context, got {len(rows)}")
            context = rows[0]
        context = np.atleast_1d(check_numbers(np.atleast_1d(context), "context", ensure_2d=False))
        if context.shape != (len(self.bounds),):
            raise ValueError(f"context must have shape ({len(self.bounds)},), got {context.shape}")
        context = check_inside(context[None], self.bounds)[0]
        if self.space is not None:
            context = self.space.snapped(context[None])[0]
        return context + 0.0  # -0.0 and 0.0 are one context

    def all_checked(self, contexts: Any) -> list[np.ndarray]:
        """Check the contexts of a run, in the order in which they arrive."""
        if contexts is None:
            raise ValueError(
                "contexts must be given if there are context_bounds, got None: "
                "run(objective, contexts=[...])"
            )
        if self.space is not None:
            contexts = self.space.points(contexts)
        given = check_numbers(contexts, "contexts", ensure_2d=False)
        rows = [self.checked(in_coordinates(np.atleast_1d(row))) for row in given]
        if not rows:
            raise ValueError("contexts must hold at least one context")
        return rows
