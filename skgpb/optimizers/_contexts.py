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

from typing import Any

import numpy as np

from skgpb.domains.space import ParameterSpace, in_coordinates
from skgpb.utils import check_inside, check_numbers


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
        """Check the contexts of a run, in the order in which they arrive: Coordinates."""
        if self.space is not None:
            contexts = self.space.points(contexts)
        given = check_numbers(contexts, "contexts", ensure_2d=False)
        rows = [self.checked(in_coordinates(np.atleast_1d(row))) for row in given]
        if not rows:
            raise ValueError("contexts must hold at least one context")
        return [in_coordinates(row) for row in rows]
