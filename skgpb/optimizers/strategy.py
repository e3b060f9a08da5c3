"""What a search is to the loop that runs it: five methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from skgpb.domains.query import PointsQuery
from skgpb.utils.documentation import DocumentedMixin
from skgpb.utils.typing import BaseEstimator

__all__ = ["Strategy"]


class Strategy(DocumentedMixin, BaseEstimator, ABC):
    """A search of your own, of any kind: five methods, which :class:`StrategyOptimizer` calls.

    A subclass says which point is asked next, and what is the best one. Validation, names and kinds
    of sides, the sign, pending and failed queries, batches, files, interrupts, workers and threads
    are the optimizer's, see :doc:`/development/new_strategy`.

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
    Parameters are those of the constructor, or the fields of a dataclass. A run works on a clone,
    which :meth:`start` gives its other attributes.

    A run that is loaded or was interrupted repeats the same calls, so that these must give the same
    result: all random numbers come from ``rng``, and :meth:`recommend` changes nothing. An
    exception of a method undoes the whole call of ``ask`` or ``tell``.
    """

    def __init__(self) -> None:
        # Without parameters, unless a subclass has some.
        super().__init__()

    @abstractmethod
    def start(self, bounds: np.ndarray, rng: np.random.Generator) -> None:
        """Begin without any answer.

        Parameters
        ----------
        bounds : ndarray of shape (d, 2)
            The box. A side with a name that is not a pair ``(lower, upper)`` goes from 0 to 1, and
            points are moved to its nearest value.
        rng : numpy.random.Generator
            Random numbers of the run.
        """

    @abstractmethod
    def propose(self, pending: Sequence[PointsQuery]) -> ArrayLike:
        """Return the points to ask next.

        Parameters
        ----------
        pending : sequence of queries
            Queries without an answer. Their ``points`` have the shape (S, d). Where a batch is
            asked for, its first queries are pending when the next one is chosen. Failed ones are
            among them for a while.

        Returns
        -------
        points : array-like of shape (d,) or (S, d)
            Points of the box; an answer about several is an average over them. They have to differ
            from those that are pending.

        Raises
        ------
        AllPendingError
            If all that may be asked is pending.
        """

    @abstractmethod
    def observe(self, query: PointsQuery, reward: float, alpha: float) -> None:
        """Take an answer, which may be about points that were not proposed.

        Parameters
        ----------
        query : PointsQuery
            Its ``points`` have the shape (S, d).
        reward : float
            The larger the better: with ``direction="minimize"`` the answer has the other sign.
        alpha : float
            Noise variance that was told with it; NaN if none was.
        """

    def learn(self) -> None:
        """Learn from the answers, if that is due; called after each of them. By default nothing."""

    @abstractmethod
    def recommend(self) -> ArrayLike:
        """Return the best point, shape (d,), after at least one answer."""
