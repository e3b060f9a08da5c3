"""Sides of boxes that have names, and the sign of rewards: what users mean by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb.domains.space import ParameterSpace, named_box
from skgpb.utils import check_bounds


class Sign:
    """Turns what is to be small into what is to be large, and back: both change the sign.

    Parameters
    ----------
    minimizes : bool
        Whether small rewards are sought.
    """

    def __init__(self, minimizes: bool) -> None:
        self._minimizes = minimizes

    def of(self, values: Any) -> Any:
        """Convert rewards to the maximised values, or back."""
        return -values if self._minimizes else values

    def of_moments(self, moments: Any) -> Any:
        """Convert a mean, or a mean and what follows it."""
        if isinstance(moments, tuple):
            return self.of(moments[0]), *moments[1:]
        return self.of(moments)

    def of_ends(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Convert the ends of intervals."""
        return (-upper, -lower) if self._minimizes else (lower, upper)


def checked_space(
    bounds: Any, name: str, optimizer: str, sides: str, keeps_settings: bool = False
) -> ParameterSpace | None:
    """Return the settings of one box, refusing sides that the algorithm cannot search.

    ``sides`` are those that it can: "continuous" ones, or "any" (integers, categories).
    ``keeps_settings`` says whether what it asks and recommends are settings that can be set and are
    possible.
    """
    space = named_box(bounds, name)
    if space is None:
        return None
    if not keeps_settings:
        check_settings(space, bounds, name, optimizer)
    # A cube of settings has continuous sides, whatever they stand for.
    for side, axis in space.axes:
        if axis.discrete and space.discrete and sides == "continuous":
            raise ValueError(
                f"{name}[{side!r}] must be a pair (lower, upper) or a continuous distribution "
                f"for {optimizer}, got {bounds[side]!r}. For integers and categories "
                "use GPUCBOptimizer or GPOOOptimizer"
            )
    return space


def check_settings(space: ParameterSpace, bounds: Any, name: str, optimizer: str) -> None:
    """Refuse constraints and steps if a query could violate them."""
    what = "constraints" if space.feasible is not None else "Steps"
    if what == "constraints" or any(axis.stepped for _, axis in space.axes):
        raise ValueError(
            f"{name} must have no {what}: {optimizer} might ask or recommend a "
            "setting that violates them. Use GPUCBOptimizer, EIOptimizer or another optimizer "
            f"that searches a box by candidates, with bounds alone. Got {bounds!r}"
        )


def joint_space(
    contexts: ParameterSpace | None,
    actions: ParameterSpace | None,
    context_bounds: Any,
    bounds: Any,
) -> ParameterSpace | None:
    """Return the names of all sides, first those of contexts; None if they have none."""
    if context_bounds is not None and (actions is None) != (contexts is None):
        raise ValueError("give the sides of both context_bounds and bounds names, or of neither")
    if actions is None or contexts is None:
        return actions
    if not set(bounds).isdisjoint(context_bounds):
        raise ValueError("the sides of context_bounds and bounds must have different names")
    return ParameterSpace.of_bounds({**context_bounds, **bounds})


def coordinates(bounds: Any, space: ParameterSpace | None, name: str) -> np.ndarray | None:
    """Return bounds as an array (d, 2), or None."""
    if space is not None:
        return space.bounds
    return None if bounds is None else check_bounds(bounds, name)
