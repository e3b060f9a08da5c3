"""Interface of a user-defined search: the five methods that StrategyOptimizer calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from skgpb.domains.arms import PointsQuery
from skgpb.utils.documentation import DocumentedMixin
from skgpb.utils.typing import BaseEstimator

__all__ = ["Strategy"]


class Strategy(DocumentedMixin, BaseEstimator, ABC):
    """A search of your own, of any kind: five methods, which :class:`StrategyOptimizer` calls.

    A subclass chooses the points to ask, and the best point. The optimizer does the rest:
    validation, names and kinds of sides, the sign, pending and failed queries, batches, files,
    interrupts, workers and threads, see :doc:`/development/new_strategy`.

    >>> from skgpb.optimizers import Strategy, StrategyOptimizer
    >>> class RandomSearch(Strategy):
    ...     def start(self, bounds, rng):
    ...         self.low, self.high, self.rng = *bounds.T, rng
    ...         self.best, self.top = None, float("-inf")
    ...
    ...     def propose(self, pending):
    ...         return self.rng.uniform(self.low, self.high)
    ...
    ...     def observe(self, query, reward, alpha):
    ...         if reward > self.top:
    ...             self.best, self.top = query.points.mean(axis=0), reward
    ...
    ...     def recommend(self):
    ...         return self.best
    >>> opt = StrategyOptimizer(RandomSearch(), bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=200)
    >>> round(result.x.params["x"], 1)
    3.0

    Notes
    -----
    The parameters are the arguments of the constructor, or the fields of a dataclass. A run has a
    clone of the strategy; :meth:`start` sets all attributes of the clone that are not parameters.

    A run that is loaded or was interrupted repeats the same calls, and these must have the same
    results. So all random numbers must come from ``rng``, and :meth:`recommend` must change
    nothing. If a method raises an exception, the whole call of ``ask`` or ``tell`` is undone.
    """

    def __init__(self) -> None:
        # No parameters by default; scikit-learn reads the signature of this method.
        super().__init__()

    @abstractmethod
    def start(self, bounds: np.ndarray, rng: np.random.Generator) -> None:
        """Start a run, without any answer.

        Parameters
        ----------
        bounds : ndarray of shape (d, 2)
            The box. A named side that is not a pair ``(lower, upper)`` has the bounds (0, 1), and
            the optimizer moves points to the nearest value of the side.
        rng : numpy.random.Generator
            Random numbers of the run.
        """

    @abstractmethod
    def propose(self, pending: Sequence[PointsQuery]) -> ArrayLike:
        """Return the points of the next query.

        Parameters
        ----------
        pending : sequence of queries
            Queries without an answer. Their ``points`` have the shape (S, d). In a batch, the
            queries chosen before are among them, and for a while failed queries as well.

        Returns
        -------
        points : array-like of shape (d,) or (S, d)
            Points of the box. The answer about several points is an average over them. They
            must not be the points of a pending query.

        Raises
        ------
        AllPendingError
            If every query that the strategy could ask is pending.
        """

    @abstractmethod
    def observe(self, query: PointsQuery, reward: float, alpha: float) -> None:
        """Learn an answer, which may be about points that were not proposed.

        Parameters
        ----------
        query : PointsQuery
            The query; its ``points`` have the shape (S, d).
        reward : float
            The answer, with its sign changed for ``direction="minimize"``: larger is better.
        alpha : float
            Noise variance of the answer, as told; NaN if it was told without one.
        """

    def learn(self) -> None:
        """Refit a model if that is due; called after each answer. By default it does nothing."""

    @abstractmethod
    def recommend(self) -> ArrayLike:
        """Return the best point, shape (d,), after at least one answer."""
