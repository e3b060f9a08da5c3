r"""What the indirect-query methods share: the two spaces, the process, queries and their costs.

A query a is answered by the noisy conditional expectation g(a) = E[f(X) | A = a]; what is sought
is the x that maximises f. The law of X given a is known (``conditional``) or learned from pairs
(x_j, a_j); eqs 2 to 5 of [Zhang2025]_ then give the joint posterior of f and g, which
:class:`~skgpb.surrogate.conditional_mean_process.ConditionalMeanProcess` keeps.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from math import ceil
from typing import Any, Self, TypeVar

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from skgpb._core._tree import TIE_TOLERANCE
from skgpb.domains.candidates import even_grid, spread_points
from skgpb.domains.indirect import IndirectQuery
from skgpb.kernels import ConditionalMean, PolicyMean, WindowMean
from skgpb.kernels.learned_window import learned_window
from skgpb.locks import locked
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers._gaussian import usable
from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess
from skgpb.surrogate.likelihood import (
    FIRST_LEARNING,
    GROWTH,
    Prior,
    Schedule,
    check_restarts,
    smooth_kernel,
    smooth_prior,
)
from skgpb.utils import (
    MOST_POINTS,
    MOST_RESTARTS,
    Integral,
    Interval,
    Real,
    StrOptions,
    box_around,
    check_bounds,
    check_callable_value,
    check_inside,
    check_noise_variance,
    check_numbers,
    check_resolution,
    check_reward,
    check_unmasked,
    unchanged_by_errors,
    validate_params,
)

# Boxes of up to so many dimensions are represented by a product grid, others by spread points.
GRID_DIMENSIONS = 3
# Most points per axis of such a grid.
PER_AXIS = 200
# Starts of the local search for the best x and the best a, and its differencing step in sides.
N_STARTS, STEP = 4, 1e-5

# The kind of indirect query that an optimizer asks.
Asked = TypeVar("Asked", bound=IndirectQuery)


class BaseIndirectOptimizer(BaseBanditOptimizer[Asked]):
    """Ask for conditional expectations of f, recommend where f itself is largest.

    A subclass implements ``_scores`` and, if it keeps more than the process, the hooks
    ``_begun``, ``_observed`` and ``_learned``.
    """

    _parameter_constraints: dict = {
        "kernel": [None, Kernel],
        "query_kernel": [None, Kernel],
        "conditional": [None, Kernel],
        "operator": [StrOptions({"auto", "embedding", "window"})],
        "domain": "no_validation",
        "candidates": "no_validation",
        "query_bounds": "no_validation",
        "n_candidates": [Interval(Integral, 1, MOST_POINTS, closed="both")],
        "continuous": ["boolean"],
        "n_points": [Interval(Integral, 1, MOST_POINTS, closed="both")],
        "alpha": [Interval(Real, 0, None, closed="left"), callable, None],
        "model_noise": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "cost": "no_validation",
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, MOST_RESTARTS, closed="both")],
        "relearn": [
            StrOptions(set(GROWTH)),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "normalize_y": ["boolean"],
        "random_state": ["random_state"],
    }

    # -- the algorithm ----------------------------------------------------------------------

    @abstractmethod
    def _scores(self, A: np.ndarray | None, state: Any) -> np.ndarray:
        """Value of asking each of A (n, q), or each candidate where A is None; cost aside."""

    def _round_state(self) -> Any:
        """Return what all scores of a round share, such as samples of f*."""
        return None

    def _begun(self) -> None:
        """Set up what is kept beside the process."""

    def _observed(self, query: IndirectQuery, reward: float, alpha: float) -> None:
        """Take one answer that the process has taken already."""

    def _learned(self) -> None:
        """Renew what depends on hyperparameters."""

    # -- fitting ----------------------------------------------------------------------------

    @locked
    def fit(self, X: Any, y: Any = None, *, queries: Any = None) -> Self:
        """Start afresh, learning p(x | a) from pairs and f from evaluations where given.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Points. They give the domain where the parameters give none.
        y : array-like of shape (n_samples,), default=None
            Noisy evaluations of f at X, which the posterior is conditioned on; with
            ``queries``, NaN marks points without one. None for none.
        queries : array-like of shape (n_samples, q), default=None
            D1: row j is the query from which X[j] came. Not needed where ``conditional`` says
            what a query averages.

        Returns
        -------
        self : BaseIndirectOptimizer
            Everything told before is forgotten.
        """
        with unchanged_by_errors(self):
            validate_params(self)
            X, y = self._checked_points(X, y, queries is not None)
            A = None if queries is None else check_numbers(queries, "queries")
            if A is not None and len(A) != len(X):
                raise ValueError(f"queries has {len(A)} rows, but X has {len(X)}")
            self._start(X, A)
            self._log.append(("fit", X, y, A))
            if y is not None and not np.isnan(y).all():
                known = ~np.isnan(y)
                self._condition(X[known], y[known])
        return self

    def _refit(self, X: np.ndarray, y: np.ndarray | None, queries: np.ndarray | None) -> None:
        self.fit(X, y, queries=queries)

    def _checked_points(self, X: Any, y: Any, paired: bool) -> tuple[np.ndarray, Any]:
        check_unmasked(X, "X")
        check_unmasked(y, "y")
        if y is None:
            return validate_data(self, X, dtype=np.float64), None
        if not paired:
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
            return X, np.asarray(y, dtype=np.float64)
        X = validate_data(self, X, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64)
        if y.shape != (len(X),) or np.isinf(y).any():
            raise ValueError(
                f"y must hold one number or NaN for each of {len(X)} rows of X, got shape {y.shape}"
            )
        return X, y

    def _condition(self, X: np.ndarray, y: np.ndarray) -> None:
        noise = np.full(len(X), np.nan if self.alpha is None else self._alpha_of(None))
        self._points = (X, y, noise)
        self._n_fitted = len(X)
        self.process_.condition_point(*self._points)
        self._learn()

    def _start(self, X: np.ndarray | None, A: np.ndarray | None = None) -> None:
        kernel = self._query_kernel(X, A)
        bounds = self._resolved_domain(X, kernel)
        if X is not None and X.shape[1] != len(bounds):
            raise ValueError(
                f"X has {X.shape[1]} features, but the domain has {len(bounds)} dimensions"
            )
        self.bounds_ = bounds
        self.n_features_in_ = len(bounds)
        self._set_queries(kernel, A)
        self._begin_loop()
        self._learned_at = 0
        self._spent = 0.0
        # What was asked and answered, and its noise variance: NaN where it is to be learned.
        self._answers: list[tuple[np.ndarray, float, float]] = []
        self._seed = self._draw_seed()
        self._points: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._begin(kernel)

    def _begin(self, kernel: Kernel) -> None:
        if self.kernel is not None:
            kernel.base = clone(self.kernel)
        elif kernel.base is None:
            kernel.base = smooth_kernel(self.bounds_)
        if self.optimizer is not None:
            check_restarts(kernel, self.n_restarts_optimizer)
        self._prior = self._prior_on(kernel.theta)
        self.process_ = ConditionalMeanProcess(
            conditional=kernel,
            alpha=None,
            model_noise=self.model_noise,
            n_restarts_optimizer=self.n_restarts_optimizer,
            random_state=self._seed,
        )
        self.share_lock(self.process_)
        self.process_.assume_noise(self._typical_variance(kernel))
        self._track()
        self._begun()

    def _prior_on(self, theta: np.ndarray) -> Prior:
        """Where searches for hyperparameters begin, and how far they are expected to lead."""
        ours = self.kernel is None and self.optimizer == "fmin_l_bfgs_b"
        return smooth_prior(theta) if ours else Prior(theta, np.full(len(theta), np.inf))

    def _typical_variance(self, kernel: Kernel) -> float:
        """Variance of answers, in the process's units, of which noise is a share at first."""
        if self.normalize_y:
            return 1.0
        return float(kernel.diag(kernel.queries(self._typical_queries())).mean()) or 1.0

    def _typical_queries(self) -> np.ndarray:
        """Queries (m, q) whose answers vary under the prior as answers do."""
        return self._A

    # -- the two spaces ---------------------------------------------------------------------

    def _query_kernel(self, X: np.ndarray | None, A: np.ndarray | None) -> Kernel:
        """What a query averages: as given, learned from pairs, or f at the query itself."""
        given = self.conditional
        if given is None and A is None:
            return WindowMean(scale=0.0)
        if given is None:
            return learned_conditional(X, A, self.operator, self.query_kernel)
        given = clone(given)
        if isinstance(given, ConditionalMean) and A is not None:
            given.set_params(X=X, A=A)
        if not hasattr(given, "queries"):
            raise ValueError(
                "conditional must be None or one of WindowMean, PolicyMean and ConditionalMean, "
                f"got {given!r}"
            )
        return given

    def _resolved_domain(self, X: np.ndarray | None, kernel: Kernel) -> np.ndarray:
        """Box (d, 2) in which f is maximised; ``_arms`` holds the points where it is finite."""
        self._arms = None
        if self.domain is not None:
            bounds = named_box(self.domain, "domain")
        elif isinstance(kernel, PolicyMean):
            self._arms = arms_of(kernel)
            bounds = box_around(self._arms)
        elif X is not None:
            bounds = box_around(X)
        elif isinstance(kernel, WindowMean) and kernel.domain is not None:
            bounds = check_bounds(kernel.domain)
        elif isinstance(kernel, ConditionalMean) and kernel.X is not None:
            bounds = box_around(check_numbers(kernel.X, "X"))
        else:
            raise NotFittedError(
                f"This {type(self).__name__} instance has no domain yet: pass domain=, the "
                "bounds of x, to the constructor, or call fit(X, queries=A), which takes the "
                "bounds from X."
            )
        if self._arms is None:
            check_resolution(bounds, "the domain")
        if X is not None and self.domain is not None and X.shape[1] == len(bounds):
            check_inside(X, bounds)
        return bounds

    def _set_queries(self, kernel: Kernel, A: np.ndarray | None) -> None:
        """Candidates (m, q), and the box around them where queries are continuous."""
        box = None
        if self.candidates is not None:
            candidates = check_numbers(self.candidates, "candidates")
        elif self.query_bounds is not None:
            box = named_box(self.query_bounds, "query_bounds")
        elif isinstance(kernel, PolicyMean) and not callable(kernel.policies):
            candidates = np.arange(len(kernel.policies), dtype=np.float64)[:, None]
        elif A is not None:
            box = box_around(A)
        elif isinstance(kernel, ConditionalMean):
            box = box_around(check_numbers(kernel.A, "A"))
        elif (
            isinstance(kernel, WindowMean) and kernel.location is None and kernel.scale is not None
        ):
            box = self.bounds_
        else:
            raise NotFittedError(
                f"This {type(self).__name__} instance does not know what can be asked: pass "
                "candidates= or query_bounds= to the constructor."
            )
        if box is not None:
            check_resolution(box, "the box of queries")
            candidates, _ = points_in(box, self.n_candidates)
        self._A = np.ascontiguousarray(candidates)
        self._query_box = box if self.continuous else None
        self._free_box = box
        self._check_kernel(kernel, self._A)
        self._costs = self._costs_of(self._A)

    def _check_kernel(self, kernel: Kernel, A: np.ndarray) -> None:
        """Raise before anything is asked where a kernel does not relate queries to the domain."""
        n_columns = kernel.queries(A).shape[1]
        points = kernel.points(self.bounds_.T[:1] if self._arms is None else self._arms[:1])
        if n_columns != points.shape[1]:
            raise ValueError(
                f"the domain has {len(self.bounds_)} dimensions, but queries lead to points of "
                "another number: conditional, or the location of windows, must say which points "
                "of the domain a query averages"
            )

    def _costs_of(self, A: np.ndarray) -> np.ndarray:
        """Cost of each of A (n, q)."""
        if self.cost is None:
            return np.ones(len(A))
        if callable(self.cost):
            costs = np.array([check_callable_value(self.cost, a, "cost") for a in A])
        elif np.ndim(self.cost) == 0:
            costs = np.full(len(A), check_reward(self.cost, "cost"))
        else:
            costs = check_numbers(self.cost, "cost", ensure_2d=False)
            if costs.shape != (len(self._A),) or self.candidates is None:
                raise ValueError(
                    "cost must be a number, a function of a, or hold one number for each of the "
                    f"candidates; got shape {costs.shape}"
                )
        if not (costs > 0.0).all():
            raise ValueError("cost must be positive for every query")
        return costs

    def _alpha_of(self, query: IndirectQuery | None) -> float:
        """Noise variance of an answer; of a direct evaluation, the smallest there is."""
        if not callable(self.alpha):
            return self.alpha_
        if query is None:
            return float(self._alphas(self._A).min())
        return float(self._alphas(query.a[np.newaxis])[0])

    def _alphas(self, A: np.ndarray) -> np.ndarray:
        if callable(self.alpha):
            return np.array([check_callable_value(self.alpha, a, "alpha") for a in A])
        return np.full(len(A), self.alpha_)

    def _track(self) -> None:
        """Follow f on points of the domain, and g at the candidates."""
        self._follow_points()

    def _follow_points(self) -> None:
        if self._arms is not None:
            self._X, self._shape = self._arms, None
        else:
            self._X, self._shape = points_in(self.bounds_, self.n_points)
        self.process_.track(X=self._X, A=self._A)
        self._measure()

    def _measure(self) -> None:
        """Largest prior standard deviation of f, the unit in which information is computed."""
        share = float(np.sqrt(self.process_.kernel_.base.diag(self._X).max())) or 1.0
        self._unit = share * self.process_.scale_

    # -- asking -----------------------------------------------------------------------------

    # While a query is chosen, the one copy of the process that knows the pending queries.
    _forks: list[ConditionalMeanProcess] | None = None

    def _choose(self) -> IndirectQuery:
        self._forks = []
        try:
            return self._best_query()
        finally:
            del self._forks

    def _best_query(self) -> IndirectQuery:
        state = self._round_state()
        value = self._scores(None, state)
        value = self._per_cost(value, self._costs)
        free = np.ones(len(value), dtype=bool)
        free[[query.index for query in self._pending if query.index >= 0]] = False
        if free.any():
            value[~free] = -np.inf
        if self._query_box is not None:
            better = self._search_queries(value, state)
            if better is not None:
                return better
        if not free.any():
            raise ValueError(
                f"all {len(value)} candidates are pending: tell some of them before asking for more"
            )
        i = self._most_central(np.flatnonzero(value >= value.max() - TIE_TOLERANCE))
        return IndirectQuery(self._A[i], self._costs[i], i)

    def _most_central(self, ties: np.ndarray) -> int:
        """Before anything is known all queries tie; one in the middle beats one in a corner."""
        if len(ties) == 1:
            return int(ties[0])
        side = np.ptp(self._A, axis=0)
        away = (self._A[ties] - self._A.mean(axis=0)) / np.where(side > 0.0, side, 1.0)
        distance = (away**2).sum(axis=1)
        return int(ties[np.flatnonzero(distance <= distance.min() + TIE_TOLERANCE)[0]])

    @staticmethod
    def _per_cost(value: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """Information per unit cost."""
        return value / cost

    def _search_queries(self, value: np.ndarray, state: Any) -> IndirectQuery | None:
        """Multi-start local search from the best candidates; None where they are no worse."""

        def objective(A: np.ndarray) -> np.ndarray:
            return self._per_cost(self._scores(A, state), self._costs_of(A))

        starts = self._A[best_apart(self._A, value, self._query_box)]
        a, top = maximise_in_box(objective, starts, self._query_box)
        if not top > value.max() or any(np.array_equal(a, query.a) for query in self._pending):
            return None
        return IndirectQuery(a, float(self._costs_of(a[np.newaxis])[0]))

    def _moments(self, A: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Posterior mean and standard deviation of g, pending answers assumed as expected."""
        if A is not None:
            return self._expected().predict_query(A, return_std=True)
        mean, std = self.process_.predict_query_tracked(return_std=True)
        if self._pending:
            std = self._expected().predict_query_tracked(return_std=True)[1]
        return mean, std

    def _expected(self) -> ConditionalMeanProcess:
        """The process after the answers to pending queries, their values as expected."""
        if not self._pending:
            return self.process_
        if self._forks:
            return self._forks[0]
        rows = np.array([query.a for query in self._pending])
        fork = self.process_.imagined(rows, alpha=self._alphas_of(self._pending))
        if self._forks is not None:
            self._forks.append(fork)
        return fork

    def _alphas_of(self, queries: Any) -> np.ndarray:
        """Noise variances (n,) of the answers that queries are expected to give."""
        return self._alphas(np.array([query.a for query in queries]))

    def _noise(self, A: np.ndarray | None) -> np.ndarray:
        """Total noise variance of the answers, alpha and the operator's own."""
        return self.process_.noise_of(self._alphas(self._A if A is None else A))

    # -- telling ----------------------------------------------------------------------------

    def _resolve(self, query: IndirectQuery) -> IndirectQuery:
        self._check_query(query.a)
        if query.index >= 0 and not (
            query.index < len(self._A) and np.array_equal(self._A[query.index], query.a)
        ):
            raise ValueError(f"{query!r} is not a query of this optimizer")
        if not 0.0 <= query.cost < np.inf:
            raise ValueError(f"the cost of a query must be a finite number >= 0, got {query!r}")
        return query

    def _check_query(self, a: np.ndarray) -> None:
        if a.shape != (self._A.shape[1],):
            raise ValueError(
                f"a query must have {self._A.shape[1]} entries, got an array of shape {a.shape}"
            )
        if self._free_box is not None:
            check_inside(a[np.newaxis], self._free_box)
        elif not np.all(a == self._A, axis=1).any():
            raise ValueError(f"query {a} is not among the candidates")

    def _as_query(self, points: Any) -> IndirectQuery:
        a = check_numbers(points, "query", ensure_2d=False)
        a = a[0] if a.ndim == 2 and len(a) == 1 else a
        self._check_query(a)
        for query in self._pending:
            if np.array_equal(query.a, a):
                return query
        match = np.flatnonzero(np.all(a == self._A, axis=1))
        if len(match):
            return IndirectQuery(a, self._costs[match[0]], int(match[0]))
        return IndirectQuery(a, float(self._costs_of(a[np.newaxis])[0]))

    def _checked(self, query: Any, reward: Any, alpha: Any) -> tuple:
        given = None if alpha is None else check_noise_variance(alpha)
        query, target, value, _ = super()._checked(query, reward, 0.0)
        if given is None:
            given = float("nan") if self.alpha is None else self._alpha_of(query)
        return query, target, value, given

    def _update(self, query: IndirectQuery, reward: float, alpha: float) -> None:
        """Condition f and g on one answer, eq. 5."""
        process = self.process_
        slot = self._row_number(query)
        if slot >= 0:
            mean, std = (x[slot] for x in process.predict_query_tracked(return_std=True))
            process.condition_tracked(slot, reward, alpha=alpha)
        else:
            row = query.a[np.newaxis]
            mean, std = (x[0] for x in process.predict_query(row, return_std=True))
            process.condition_query(row, reward, alpha=alpha)
        self._answers.append((query.a, reward, alpha))
        self._record(query, reward, float(mean), float(std), alpha)

    def _row_number(self, query: IndirectQuery) -> int:
        """Number under which the process tracks a query, -1 if it does not."""
        return query.index

    def _record(
        self, query: IndirectQuery, reward: float, mean: float, std: float, alpha: float
    ) -> None:
        """Close the round."""
        self._round += 1
        self._spent += query.cost
        self._history.append((query.a, reward, mean, std, query.cost))
        self._observed(query, reward, alpha)

    @property
    def _learns(self) -> bool:
        return self.optimizer is not None or self.normalize_y or self.alpha is None

    def _learning_is_due(self) -> bool:
        """Follow the schedule of ``relearn``."""
        schedule = Schedule(self.relearn, 1 if self.normalize_y else FIRST_LEARNING)
        return self._learns and schedule.due(self._round + self._n_fitted, self._learned_at)

    def _learn(self) -> None:
        """Learn the units of the answers, the hyperparameters of f's prior, unknown noise."""
        if not self._learns:
            return
        process, n = copy(self.process_), self._round + self._n_fitted
        units = self._units() if self.normalize_y else (0.0, 1.0)
        if n >= FIRST_LEARNING:
            # A likelihood of few answers has several maxima: each search starts from the prior,
            # not from where the last one was caught.
            process.optimizer = self.optimizer
            process.learn(units, self._prior)
        else:
            process.set_units(*units)
        self.process_, self._learned_at = process, n
        self._measure()
        self._learned()

    def _units(self) -> tuple[float, float]:
        """Centre and scale of everything observed."""
        values = np.array([answer[1] for answer in self._answers])
        values = np.append(values, self._points[1] if self._points is not None else [])
        spread = float(values.std())
        if self.alpha is not None:
            spread = max(spread, float(np.sqrt(self._alpha_of(None))))
        elif not spread > 1e-12 * float(np.abs(values).max()):
            spread = abs(float(values[0]))
        if len(values) == 1:
            # One answer says nothing of the spread but, at best, its order of magnitude.
            spread = max(spread, abs(float(values[0])))
        return float(values.mean()), usable(spread)

    # -- results ----------------------------------------------------------------------------

    def _best(self) -> np.ndarray:
        """The x of the highest posterior mean of f, over all of a continuous domain."""
        mean = self.process_.predict_tracked()
        if self._arms is not None:
            x = self._arms[int(np.argmax(mean))].copy()
        else:
            starts = self._X[best_apart(self._X, mean, self.bounds_)]
            x, top = maximise_in_box(self.process_.predict, starts, self.bounds_)
            if not top > mean.max():
                x = self._X[int(np.argmax(mean))].copy()
        x.flags.writeable = False
        return x

    @locked
    def recommend(self) -> np.ndarray:
        """Return the x, shape (d,), at which the posterior mean of f is largest.

        The best points that are tracked are improved by L-BFGS-B, so that the recommendation is
        not tied to a grid; where f has finitely many arms it is the row of the best arm.

        Returns
        -------
        x : ndarray of shape (d,)
        """
        return super().recommend()

    def _value_of(self, query: np.ndarray) -> float:
        return float(self.predict(query[np.newaxis])[0])

    @property
    @locked
    def alpha_(self) -> float:
        """Noise variance of an answer in use: ``alpha``, or what was learned."""
        if callable(self.alpha):
            raise AttributeError("alpha is a function: there is no one noise variance")
        if self.alpha is not None:
            return float(self.alpha)
        check_is_fitted(self, "bounds_")
        return self.process_.alpha_

    @property
    @locked
    def spent_(self) -> float:
        """Cost of all answers told since the start."""
        check_is_fitted(self, "bounds_")
        return self._spent

    @property
    @locked
    def history_(self) -> np.ndarray:
        """Every answer told since the start, a structured array.

        Fields: ``round`` (from 1), ``a`` (q,), ``reward``, ``mean`` and ``std`` of the answer
        before it came (std without its noise) and ``cost``.
        """
        check_is_fitted(self, "bounds_")
        dtype = [
            ("round", np.intp),
            ("a", np.float64, (self._A.shape[1],)),
            *((name, np.float64) for name in ("reward", "mean", "std", "cost")),
        ]
        return np.array([(i + 1, *row) for i, row in enumerate(self._history)], dtype=dtype)

    @locked
    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Posterior of f at points.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Points.
        return_std, return_cov : bool, default=False
            At most one of them.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,), only if ``return_std``
        cov : ndarray of shape (n_samples, n_samples), only if ``return_cov``
        """
        check_is_fitted(self, "bounds_")
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.process_.predict(X, return_std=return_std, return_cov=return_cov)

    @locked
    def predict_query(self, A: Any, return_std: bool = False) -> Any:
        """Posterior of g, the noiseless answers.

        Parameters
        ----------
        A : array-like of shape (n, q)
            Queries.
        return_std : bool, default=False
            Whether to return standard deviations as well.

        Returns
        -------
        mean : ndarray of shape (n,)
        std : ndarray of shape (n,), only if ``return_std``
        """
        check_is_fitted(self, "bounds_")
        A = check_numbers(A, "A")
        return self.process_.predict_query(A, return_std=return_std)

    @locked
    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw samples of f from the posterior at points.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, d)
            Points.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seeds the draws.

        Returns
        -------
        samples : ndarray of shape (n_samples_X, n_samples)
        """
        check_is_fitted(self, "bounds_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.process_.sample_y(X, n_samples, random_state)


def learned_conditional(
    X: np.ndarray,
    A: np.ndarray,
    operator: str,
    query_kernel: Kernel | None,
    scaled: bool = False,
) -> Kernel:
    """What queries average, from pairs: eq. 5, a learned window, or the better of the two.

    Better is the lower leave-one-out loss of the conditional mean embedding. With ``scaled`` the
    last column of A is the standard deviation of x given a.
    """
    if len(X) < 2 and operator == "window":
        raise ValueError("one pair is too few to learn a window: use operator='embedding'")
    embedding = ConditionalMean(X=X, A=A, query_kernel=query_kernel)
    if operator == "embedding" or len(X) < 2:
        embedding.operator_  # noqa: B018 - learns, and raises where the pairs do not allow it
        return embedding
    learned = embedding.operator_
    window, loss = learned_window(X, A, learned.embedding_kernel, query_kernel, scaled)
    return window if operator == "window" or loss < learned.loss else embedding


def arms_of(kernel: PolicyMean) -> np.ndarray:
    """Features (K, d) of the arms that policies choose from."""
    if kernel.arms is not None:
        return check_numbers(kernel.arms, "arms")
    if kernel.policies is None or callable(kernel.policies):
        raise ValueError("a PolicyMean without a table of policies needs arms")
    return np.arange(np.shape(kernel.policies)[1], dtype=np.float64)[:, None]


def named_box(values: Any, name: str) -> np.ndarray:
    """Return a box (d, 2); an error names the parameter."""
    try:
        return check_bounds(values)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def points_in(box: np.ndarray, n: int) -> tuple[np.ndarray, tuple[int, ...] | None]:
    """About n points of a box, and the shape of their grid where they form one."""
    d = len(box)
    if d > GRID_DIMENSIONS:
        return spread_points(box, n, np.full(d, 0.5)), None
    per_axis = min(PER_AXIS, max(1, ceil(n ** (1 / d) - 1e-9)))
    if per_axis == 1:
        return box.mean(axis=1)[np.newaxis], (1,) * d
    return even_grid(box, per_axis), (per_axis,) * d


def best_apart(points: np.ndarray, values: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Numbers of the best points, N_STARTS at most, no two within a tenth of the sides."""
    side = box[:, 1] - box[:, 0]
    chosen: list[int] = []
    for i in np.argsort(-values, kind="stable")[: 64 * N_STARTS].tolist():
        if all(np.abs((points[i] - points[j]) / side).max() > 0.1 for j in chosen):
            chosen.append(i)
            if len(chosen) == N_STARTS:
                break
    return np.array(chosen)


def maximise_in_box(
    function: Callable[[np.ndarray], np.ndarray], starts: np.ndarray, box: np.ndarray
) -> tuple[np.ndarray, float]:
    """L-BFGS-B from several starts; slopes by differences, a whole stencil in one call.

    ``function`` takes points (n, d) and returns values (n,).
    """
    lower, side = box[:, 0], box[:, 1] - box[:, 0]
    d = len(box)
    steps = STEP * np.eye(d)

    def negative(u: np.ndarray) -> tuple[float, np.ndarray]:
        ahead, behind = np.minimum(u + steps, 1.0), np.maximum(u - steps, 0.0)
        stencil = np.vstack([u[np.newaxis], ahead, behind])
        values = function(np.clip(lower + stencil * side, lower, box[:, 1]))
        width = np.diag(ahead) - np.diag(behind)
        return -float(values[0]), -(values[1 : d + 1] - values[d + 1 :]) / width

    best, top = starts[0].copy(), -np.inf
    for start in starts:
        u = (start - lower) / side
        scale = max(1e-300, abs(negative(u)[0]), float(np.abs(negative(u)[1]).max()))
        result = minimize(
            lambda u, scale=scale: tuple(v / scale for v in negative(u)),
            u,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * d,
            options={"maxiter": 50},
        )
        if -result.fun * scale > top:
            best, top = np.clip(lower + result.x * side, lower, box[:, 1]), -result.fun * scale
    return best, top
