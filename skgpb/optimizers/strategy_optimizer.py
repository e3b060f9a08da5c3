"""An optimizer of a box by a user-defined strategy."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skgpb.domains.arms import PointsQuery
from skgpb.domains.space import as_coordinates
from skgpb.exceptions import AllPendingError
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers._loop import seed_of_run
from skgpb.optimizers._places import nearest_means
from skgpb.optimizers._run import AT_START
from skgpb.optimizers.strategy import Strategy
from skgpb.utils.locks import locked
from skgpb.utils.typing import Bounds, Direction, Queries, Seed, Settings
from skgpb.utils.validation import check_inside, check_numbers

__all__ = ["StrategyOptimizer"]


@dataclass(eq=False, repr=False)
class StrategyOptimizer(BaseBanditOptimizer[PointsQuery]):
    """Search a box by a strategy of your own, with batches, files, workers and interrupts.

    >>> from skgpb.optimizers import Strategy, StrategyOptimizer
    >>> class CoordinateSearch(Strategy):  # a step along one side at a time, from the best point
    ...     def start(self, bounds, rng):
    ...         self.bounds, self.rng = bounds, rng
    ...         self.best, self.top = bounds.mean(axis=1), float("-inf")
    ...
    ...     def propose(self, pending):
    ...         x, axis = self.best.copy(), self.rng.integers(len(self.best))
    ...         step = self.rng.normal(0, 0.1) * (self.bounds[axis, 1] - self.bounds[axis, 0])
    ...         x[axis] = (x[axis] + step).clip(*self.bounds[axis])
    ...         return x
    ...
    ...     def observe(self, query, reward, alpha):
    ...         if reward > self.top:
    ...             self.best, self.top = query.points.mean(axis=0), reward
    ...
    ...     def recommend(self):
    ...         return self.best
    >>> opt = StrategyOptimizer(CoordinateSearch(), bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=100)
    >>> round(result.x.params["x"], 1)
    3.0

    The methods of a strategy are described in :class:`~skgpb.optimizers.Strategy`.

    Parameters
    ----------
    strategy : Strategy
        The search. A run has a clone of it, ``strategy_``.
    bounds : array-like of shape (d, 2) or dict, default=None
        The domain, a box. None stands for the box around X in ``fit``. A dict gives the sides
        names, see :ref:`named-sides`.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether to look for large or small rewards. ``tell``, ``predict`` and ``history_`` use the
        user's sign.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers of the strategy.

    Attributes
    ----------
    strategy_ : Strategy
        The clone of the strategy that this run uses.
    history_ : structured ndarray
        The answers; ``mean`` and ``std`` are NaN.
    bounds_ : ndarray of shape (d, 2)
        The domain.
    n_features_in_ : int
        Number of dimensions.
    """

    strategy: Strategy
    _: KW_ONLY
    bounds: Bounds | None = None
    direction: Direction = "maximize"
    random_state: Seed = None

    _query_type = PointsQuery
    _sides = "any"
    _methods = ("paper",)
    _at_start = AT_START | {"strategy"}
    _parameter_constraints = {"strategy": [Strategy], "random_state": ["random_state"]}

    if TYPE_CHECKING:

        def recommend(self, method: Any = None, *, context: Any = None) -> PointsQuery:
            """Return the best point found so far."""

    # -- the five methods ---------------------------------------------------------------------

    def _begin(self) -> None:
        run = self.run_
        run.seed = seed_of_run(self.random_state, self._replay)
        self.strategy_: Strategy = clone(run.params.strategy)
        self.strategy_.start(self.bounds_.copy(), np.random.default_rng(run.seed))

    def _propose(self, context: np.ndarray | None) -> PointsQuery:
        pending = list(self.run_.pending)
        # A failed choice must not change the strategy: it may have drawn random numbers.
        before = deepcopy(self.strategy_) if pending else None
        try:
            query = self._query("propose", self.strategy_.propose(pending))
            if query in pending:
                raise AllPendingError(
                    f"{query!r} is pending, and propose of {type(self.strategy_).__name__} returns "
                    "it again: tell some queries before asking for more"
                )
        except AllPendingError:
            self.strategy_ = before or self.strategy_
            raise
        return query

    def _observe(self, query: PointsQuery, reward: float, alpha: float) -> None:
        self.strategy_.observe(query, reward, alpha)
        self.run_.close(query, reward, nan, nan, False)

    def _learn(self) -> None:
        self.strategy_.learn()

    def _best(self, context: np.ndarray | None = None) -> PointsQuery:
        return self._query("recommend", self.strategy_.recommend())

    def _query(self, method: str, points: ArrayLike) -> PointsQuery:
        """Return the query of the points from a method of the strategy; ValueError if invalid."""
        whose, d = f"{method} of {type(self.strategy_).__name__}", self.n_features_in_
        rows = np.atleast_2d(check_numbers(points, whose, ensure_2d=False))
        if rows.ndim != 2 or rows.shape[1] != d:
            raise ValueError(
                f"{whose} must return points of shape ({d},) or (S, {d}), got {np.shape(points)}"
            )
        rows = check_inside(rows, self.bounds_)
        run = self.run_
        if run.space is not None:
            rows = run.space.snap(rows)
        return self._inputs.attach_names(PointsQuery(rows))

    # -- state --------------------------------------------------------------------------------

    def _observe_initial(self, X: np.ndarray, y: np.ndarray) -> None:
        self.run_.n_fitted = len(X)
        for x, value in zip(X, y.tolist(), strict=True):
            self.strategy_.observe(
                self._inputs.attach_names(PointsQuery(x[np.newaxis])), value, nan
            )
            self.strategy_.learn()

    def _snapshot(self) -> Any:
        """Return None: a file has no state of a strategy, because loading repeats all its calls."""
        return None

    # -- a regressor --------------------------------------------------------------------------

    @locked
    def predict(self, X: Settings) -> np.ndarray:
        """Return the mean of the answers to the query nearest to each x, NaN without any answer.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Points.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "bounds_")
        X, run = self._inputs.points(X), self.run_
        boxes, values = [row[0] for row in run.history], [row[1] for row in run.history]
        if run.n_fitted:
            _, given, y, *_ = run.events[0]
            boxes += [np.tile(x, 2) for x in given]
            values += run.sign.convert(y).tolist()
        if not boxes:
            return np.full(len(X), nan)
        return run.sign.convert(nearest_means(X, boxes, values, self.bounds_, run.space))

    @locked
    def predict_query(self, queries: Queries) -> np.ndarray:
        """Return the mean of :meth:`predict` over the points of each query.

        Parameters
        ----------
        queries : query or list of queries
            Queries, asked or not. A list may also have points, of shape (d,) or (S, d).

        Returns
        -------
        mean : ndarray of shape (n_queries,)
        """
        check_is_fitted(self, "bounds_")
        checked = self._inputs.queries(queries)
        return np.array([self.predict(as_coordinates(query.points)).mean() for query in checked])
