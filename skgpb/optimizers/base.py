"""The loop that every optimizer shares: fit, ask, tell, recommend, run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from skgpb.utils import (
    Integral,
    check_bounds,
    check_inside,
    check_noise_variance,
    check_numbers,
    check_reward,
    validate_params,
)


class BaseBanditOptimizer(RegressorMixin, BaseEstimator, ABC):
    """Ask for queries, tell rewards, recommend; it maximises.

    A subclass implements the algorithm in ``_begin``, ``_choose``, ``_resolve``, ``_update``
    and ``_best``, none of which has to validate anything.
    """

    # -- the algorithm ----------------------------------------------------------------------

    @abstractmethod
    def _begin(self) -> None:
        """Set up the state before any observation, for the domain in ``bounds_``."""

    @abstractmethod
    def _choose(self) -> Any:
        """Return the next query, different from the keys of ``_pending``."""

    @abstractmethod
    def _resolve(self, query: Any) -> Any:
        """Return what ``_update`` needs to know of a query; raise without changing anything."""

    @abstractmethod
    def _update(self, target: Any, reward: float, alpha: float) -> None:
        """Take one validated reward."""

    @abstractmethod
    def _best(self) -> Any:
        """Return the recommended query."""

    @abstractmethod
    def _condition(self, X: np.ndarray, y: np.ndarray) -> None:
        """Take point evaluations given to ``fit``."""

    # -- fitting ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Start afresh, learning from X and y what can be learned before the first query.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points. They give the bounds where the parameters give no domain.
        y : array-like of shape (n_samples,), default=None
            Noisy evaluations of f at X, which the posterior is conditioned on. None for none.

        Returns
        -------
        self : BaseBanditOptimizer
            Everything told before is forgotten.
        """
        with self._unchanged_by_errors():
            validate_params(self)
            if y is None:
                X = validate_data(self, X, dtype=np.float64)
            else:
                X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
            self._start(X)
            if y is not None:
                self._condition(X, np.asarray(y, dtype=np.float64))
        return self

    @contextmanager
    def _unchanged_by_errors(self) -> Iterator[None]:
        """Restore the attributes if the block, which must not change them in place, fails."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _domain(self) -> np.ndarray | None:
        """Bounds (d, 2) from the parameters, or None where they give no domain."""
        return None if self.bounds is None else check_bounds(self.bounds)

    def _start(self, X: np.ndarray | None) -> None:
        """Forget everything and begin on the domain given, or on the bounding box of X."""
        bounds = self._domain()
        if bounds is None:
            if X is None:
                raise NotFittedError(
                    f"This {type(self).__name__} instance has no domain yet: pass bounds= (or "
                    f"{'arms' if hasattr(self, 'arms') else 'pool'}=) to the constructor, or call "
                    "fit(X, y), which takes the bounds from X."
                )
            lower, upper = X.min(axis=0), X.max(axis=0)
            flat = ~(upper > lower)
            # A constant feature still needs a box of positive volume.
            pad = np.where(flat, np.maximum(0.5, 1e-6 * np.abs(lower)), 0.0)
            bounds = np.column_stack([lower - pad, upper + pad])
        elif X is not None:
            if X.shape[1] != len(bounds):
                raise ValueError(
                    f"X has {X.shape[1]} features, but the domain given to the constructor has "
                    f"{len(bounds)} dimensions"
                )
            check_inside(X, bounds)
        self._begin_checks(len(bounds))
        self.bounds_ = bounds
        self.n_features_in_ = len(bounds)
        self._round = 0
        self._asked: list[Any] = []
        self._pending: dict[Any, Any] = {}
        self._history: list[tuple] = []
        self._begin()

    def _begin_checks(self, d: int) -> None:
        """Check parameters that depend on the dimension, before any state changes."""

    def _ensure_started(self) -> None:
        if not hasattr(self, "bounds_"):
            validate_params(self)
            self._start(None)

    # -- the loop ---------------------------------------------------------------------------

    def ask(self, n: int | None = None) -> Any:
        """Return the next query, or a list of n different ones for parallel evaluation.

        Asking again before a ``tell`` returns the same queries. Queries asked for and not yet
        told stay pending: later ones differ from them and assume that their answers will
        reduce the uncertainty, which the variance allows to compute exactly.

        Parameters
        ----------
        n : int, default=None
            Number of queries; None for a single one, not in a list.

        Returns
        -------
        query : query or list of queries

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Where neither the parameters nor ``fit`` gave a domain.
        """
        if n is None:
            count = 1
        elif isinstance(n, Integral) and not isinstance(n, bool) and n >= 1:
            count = int(n)
        else:
            raise ValueError(f"n must be None or an integer >= 1, got {n!r}")
        self._ensure_started()
        while len(self._asked) < count:
            query = self._choose()
            self._asked.append(query)
            self._pending[query] = None
        return self._asked[0] if n is None else self._asked[:count]

    def tell(self, query: Any, reward: Any, alpha: Any = None) -> Self:
        """Report the reward of a query; nothing changes if anything is wrong with it.

        Parameters
        ----------
        query : query, array-like of shape (d,) or (S, d), or list of queries
            What was evaluated: a query from :meth:`ask` (in any order, also after pickling),
            or points, of which the average was observed.
        reward : float, or array-like of shape (n,) for a list of n queries
            The noisy answer.
        alpha : float, or array-like of shape (n,), default=None
            Noise variance of this answer; None for the parameter ``alpha``.

        Returns
        -------
        self : BaseBanditOptimizer

        Raises
        ------
        ValueError, TypeError
            For rewards that are not finite real numbers, negative noise variances, queries of
            another optimizer and points outside the bounds. The state is then as before.
        """
        if hasattr(self, "bounds_"):
            observations = self._checked_all(query, reward, alpha)
        else:
            with self._unchanged_by_errors():
                self._ensure_started()
                observations = self._checked_all(query, reward, alpha)
        for query, target, value, noise in observations:
            self._update(target, value, noise)
            self._pending.pop(query, None)
        self._asked = []
        return self

    def _checked_all(self, query: Any, reward: Any, alpha: Any) -> list[tuple]:
        if isinstance(query, list) and query and isinstance(query[0], self._query_type):
            return self._checked_list(query, reward, alpha)
        return [self._checked(query, reward, alpha)]

    def _checked(self, query: Any, reward: Any, alpha: Any) -> tuple:
        value = check_reward(reward)
        noise = self._default_noise() if alpha is None else check_noise_variance(alpha)
        if not isinstance(query, self._query_type):
            query = self._as_query(query)
        return query, self._resolve(query), value, noise

    def _checked_list(self, queries: list, rewards: Any, alphas: Any) -> list[tuple]:
        if np.ndim(rewards) != 1 or len(rewards) != len(queries):
            raise ValueError(
                f"reward must hold one number for each of {len(queries)} queries, got {rewards!r}"
            )
        if alphas is None or np.ndim(alphas) == 0:
            alphas = [alphas] * len(queries)
        if len(alphas) != len(queries):
            raise ValueError(
                f"alpha must hold one number for each of {len(queries)} queries, got {alphas!r}"
            )
        return [self._checked(*each) for each in zip(queries, rewards, alphas, strict=True)]

    def _as_query(self, points: Any) -> Any:
        """Return the pending query with these points, or else the points themselves."""
        points = np.atleast_2d(check_numbers(points, "query", ensure_2d=False))
        if points.ndim != 2 or points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"a query must be one of this optimizer's queries or points of shape "
                f"({self.n_features_in_},) or (S, {self.n_features_in_}); got {points.shape}"
            )
        for query in self._pending:
            if np.array_equal(query.points, points):
                return query
        check_inside(points, self.bounds_)
        return PointsQuery(points)

    def _default_noise(self) -> float:
        return float(self.alpha)

    def recommend(self) -> Any:
        """Return the best query found so far, by the algorithm's own rule.

        Returns
        -------
        query : query
        """
        self._ensure_started()
        return self._best()

    def run(
        self,
        objective: Callable[[Any], float],
        budget: int,
        callback: Callable[[Self], Any] | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
    ) -> OptimizeResult:
        """Ask, evaluate and tell ``budget`` times, continuing from the present state.

        Parameters
        ----------
        objective : callable
            Takes a query and returns its noisy reward. What it raises ends the run; all that
            was told before is kept.
        budget : int
            Number of evaluations, at least 1.
        callback : callable, default=None
            Called with the optimizer after every ``tell``; returning True ends the run.
        progress : bool, default=False
            Whether to show a progress bar (needs tqdm: ``pip install skgpb[progress]``).
        n_jobs : int, default=None
            Queries asked for and evaluated side by side through joblib, whose backend the
            caller chooses. Results depend on the number of jobs, not on their timing.

        Returns
        -------
        result : scipy.optimize.OptimizeResult
            ``x`` (the recommended query), ``fun`` (its posterior or empirical mean), ``nfev``,
            ``history`` (see ``history_``), ``success`` and ``message``.
        """
        if not isinstance(budget, Integral) or isinstance(budget, bool) or budget < 1:
            raise ValueError(f"budget must be an integer >= 1, got {budget!r}")
        if not callable(objective):
            raise TypeError(f"objective must be callable, got {objective!r}")
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable or None, got {callback!r}")
        self._ensure_started()
        bar = _progress_bar(budget) if progress else None
        done, stopped = 0, False
        pool = Parallel(n_jobs=n_jobs)
        batch = 1 if n_jobs in (None, 1) else pool._effective_n_jobs()
        while done < budget and not stopped:
            queries = self.ask(min(batch, budget - done))
            if batch == 1:
                rewards = [objective(queries[0])]
            else:
                rewards = pool(delayed(objective)(query) for query in queries)
            for query, reward in zip(queries, rewards, strict=True):
                self.tell(query, reward)
                done += 1
                if bar is not None:
                    bar.update()
                if callback is not None and callback(self) is True:
                    stopped = True
                    break
        if bar is not None:
            bar.close()
        best = self.recommend()
        return OptimizeResult(
            x=best,
            fun=self._value_of(best),
            nfev=done,
            history=self.history_,
            success=True,
            message="stopped by the callback" if stopped else "the budget is spent",
        )

    @abstractmethod
    def _value_of(self, query: Any) -> float:
        """Return the estimated mean reward of a query."""

    @property
    def history_(self) -> np.ndarray:
        """Every observation told since the start, a structured array.

        Fields: ``round`` (from 1), ``descriptor`` (2 d,), the box [lower, upper] around what
        was observed, ``reward``, ``mean`` and ``std`` of the query before the observation, and
        ``expanded``, whether its cell was split.
        """
        check_is_fitted(self, "bounds_")
        d = self.n_features_in_
        dtype = [
            ("round", np.intp),
            ("descriptor", np.float64, (2 * d,)),
            ("reward", np.float64),
            ("mean", np.float64),
            ("std", np.float64),
            ("expanded", np.bool_),
        ]
        rows = [(i + 1, *row) for i, row in enumerate(self._history)]
        return np.array(rows, dtype=dtype)


class PointsQuery:
    """Points told from outside: the reward is their average.

    Attributes
    ----------
    points : ndarray of shape (S, d)
        The points.
    """

    __slots__ = ("points",)

    def __init__(self, points: np.ndarray) -> None:
        self.points = points

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.points, dtype=dtype)


def _progress_bar(total: int) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "progress=True needs tqdm, which is not installed: pip install skgpb[progress]"
        ) from error
    return tqdm(total=total, unit="query")


def descriptors_of(points: np.ndarray) -> np.ndarray:
    """Box [lower, upper] around points (S, d), shape (2 d,)."""
    return np.concatenate([points.min(axis=0), points.max(axis=0)])
