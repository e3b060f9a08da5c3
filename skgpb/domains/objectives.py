"""Functions of x as objectives of ``run``, like those of SciPy and scikit-optimize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skgpb.domains.arms import Query

__all__ = ["of_x"]


class of_x:  # used like a function
    """An objective for ``run`` from a function of x.

    ``run`` passes a query to its objective: a point, a cell or another kind of query. This wraps a
    function of a point: it evaluates the function at the point of the query, or at all
    representative points of a cell, and then returns their average.

    Parameters
    ----------
    function : callable
        Takes x, an array of shape (d,), and returns a number, or None if the evaluation failed. If
        the sides of the box have names it takes a list of the d values, in the order of the sides,
        since these may be categories; a function of ``query.params`` may then be more convenient.

    Examples
    --------
    >>> from skgpb import GPUCBOptimizer, of_x
    >>> opt = GPUCBOptimizer(bounds=[(-5, 10), (0, 15)], random_state=0)
    >>> result = opt.run(of_x(lambda x: -((x[0] - 2) ** 2) - (x[1] - 3) ** 2), budget=25)
    >>> result.x.points[0].round()
    array([2., 3.])

    Across processes (``n_jobs``) the function must be one that can be imported.
    """

    function: Callable[[Any], Any]

    def __init__(self, function: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable, got {function!r}")
        self.function = function

    def __call__(self, query: Query) -> Any:
        """Evaluate the function at the points of a query."""
        if query.has_names:
            places: Any = [list(setting.values()) for setting in query.settings]
        else:
            places = query.points.copy()  # the function may change them
        values = [self.function(x) for x in places]
        return values[0] if len(values) == 1 else float(np.mean(values))

    def __repr__(self) -> str:
        return f"of_x({self.function!r})"
