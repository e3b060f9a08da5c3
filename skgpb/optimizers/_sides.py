"""Boxes whose sides have names: settings in the user's units and kinds, and points of the box."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skgpb.domains.query import Query
from skgpb.domains.space import ParameterSpace, named_box
from skgpb.utils import check_bounds, validate_data


class NamedSides:
    """Names of the sides of a box, and settings as dicts."""

    # Attributes of the class that it is mixed into.
    bounds: Any
    space_: ParameterSpace | None
    _own: Any

    #: Of an optimizer that has no contexts.
    context_bounds: Any = None

    # Names of the sides of contexts, and of actions.
    _context_space: ParameterSpace | None
    _actions: ParameterSpace | None

    #: Sides that the algorithm can search: "continuous" ones, or "any" (integers, categories).
    _sides: ClassVar[str] = "continuous"
    #: Whether what it asks and recommends are settings that can be set and are possible.
    _keeps_settings: ClassVar[bool] = False

    def _make_space(self) -> ParameterSpace | None:
        """Return the names of all sides, first those of contexts; None if they have none."""
        bounds, others = self._own.bounds, self._own.context_bounds
        actions = self._actions = self._checked_space(bounds, "bounds")
        contexts = self._context_space = self._checked_space(others, "context_bounds")
        if others is not None and (actions is None) != (contexts is None):
            raise ValueError(
                "give the sides of both context_bounds and bounds names, or of neither"
            )
        if actions is None or contexts is None:
            return actions
        if not set(bounds).isdisjoint(others):
            raise ValueError("the sides of context_bounds and bounds must have different names")
        return ParameterSpace.of_bounds({**others, **bounds})

    def _checked_space(self, bounds: Any, name: str) -> ParameterSpace | None:
        """Return the settings of one box, refusing sides that the algorithm cannot search."""
        space = named_box(bounds, name)
        if space is None:
            return None
        if not self._keeps_settings or name != "bounds":
            self._check_settings(space, bounds, name)
        # A cube of settings has continuous sides, whatever they stand for.
        for side, axis in space.axes:
            if axis.discrete and space.discrete and self._sides == "continuous":
                raise ValueError(
                    f"{name}[{side!r}] must be a pair (lower, upper) or a continuous distribution "
                    f"for {type(self).__name__}, got {bounds[side]!r}. For integers and categories "
                    "use GPUCBOptimizer or GPOOOptimizer"
                )
        return space

    def _check_settings(self, space: ParameterSpace, bounds: Any, name: str) -> None:
        """Refuse constraints and steps if a query could violate them."""
        what = "constraints" if space.feasible is not None else "Steps"
        if what == "constraints" or any(axis.stepped for _, axis in space.axes):
            raise ValueError(
                f"{name} must have no {what}: {type(self).__name__} might ask or recommend a "
                "setting that violates them. Use GPUCBOptimizer, EIOptimizer or another optimizer "
                f"that searches a box by candidates, with bounds alone. Got {bounds!r}"
            )

    def _points_of(self, X: Any) -> Any:
        """Convert settings to points of the box; inputs without names are returned unchanged."""
        return X if self.space_ is None else self.space_.points(X)

    def _rows_asked(self, X: Any) -> Any:
        """Rows of queries that settings stand for; what has no names is returned as it is."""
        if self.space_ is None and hasattr(X, "columns") and hasattr(self, "feature_names_in_"):
            # Columns in another order than those given to fit are refused.
            return validate_data(self, X, dtype=np.float64, reset=False)
        return self._points_of(X)

    def _checked_points_of(self, X: Any) -> np.ndarray:
        """Check points at which something is to be known, shape (n, d)."""
        return validate_data(self, self._points_of(X), dtype=np.float64, reset=False)

    def _named(self, query: Query) -> Query:
        """Let a query that was not made by the domain know the names of its sides."""
        return query.named(self.space_)


class NamedQueries(NamedSides):
    """Names of the sides of two boxes: ``bounds`` of x, and ``query_bounds`` of queries."""

    # Attributes of the class that it is mixed into.
    query_bounds: Any
    bounds_: np.ndarray
    domain_: Any
    targets_: Any
    _gp: Any
    _record: Any
    # Pairs (x, a) that were given to ``fit``.
    _pairs: tuple[Any, Any] = (None, None)

    def _make_space(self) -> ParameterSpace | None:
        self._query_space = self._checked_space(self._own.query_bounds, "query_bounds")
        return super()._make_space()

    @property
    def _box(self) -> np.ndarray | None:
        """Return ``bounds`` as an array (d, 2), or None."""
        return _coordinates(self._own.bounds, self.space_, "bounds")

    @property
    def _query_box(self) -> Any:
        """Return ``query_bounds`` as an array (q, 2), or None."""
        return _coordinates(self._own.query_bounds, self._query_space, "query_bounds")

    def _space_of(self, box: np.ndarray | None) -> ParameterSpace | None:
        """Names of the sides of the box of queries, which may be that of x."""
        same = self._own.query_bounds is None and box is self.bounds_
        return self.space_ if same else self._query_space

    def _rows_asked(self, A: Any) -> Any:
        """Rows of queries that settings stand for; what has no names is returned as it is."""
        return A if self.domain_.space is None else self.domain_.space.rows(A)

    def _named(self, query: Query) -> Query:
        return query.named(self.domain_.space)


def _coordinates(bounds: Any, space: ParameterSpace | None, name: str) -> np.ndarray | None:
    if space is not None:
        return space.bounds
    return None if bounds is None else check_bounds(bounds, name)
