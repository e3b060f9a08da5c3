r"""Base of optimizers with indirect queries: two spaces, the process, queries and costs.

A query a is answered by the noisy conditional expectation g(a) = E[f(X) | A = a]; what is sought
is the x that maximises f. The law of X given a is known (``conditional``) or learned from pairs
(x_j, a_j); eqs 2 to 5 of [Zhang2025]_ then give the covariances of f and g. The model is that of
all optimizers, over rows of both; :class:`~skgpb.surrogate.ConditionalMeanProcess` shows it.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted

from skgpb._core._ties import beats, tied
from skgpb._core._tree import TIE_TOLERANCE
from skgpb._typing import RuleOfChoice
from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.candidates import points_in
from skgpb.domains.first_design import N_INITIAL
from skgpb.domains.indirect import IndirectQuery, QuerySet, QueryTree
from skgpb.domains.query import PointsQuery, Region
from skgpb.domains.space import in_coordinates
from skgpb.exceptions import AllPendingError
from skgpb.kernels import ConditionalMean, PolicyMean, WindowMean
from skgpb.kernels.learned_window import conditional_of
from skgpb.locks import locked, reading_log
from skgpb.optimizers._base import FreeChoice, PricedOptimizer
from skgpb.optimizers._gap import AtPoints
from skgpb.optimizers._indirect_intervals import IndirectIntervals
from skgpb.optimizers._inputs import check_unnamed, query_at
from skgpb.optimizers._parameters import AT_START, own_copy
from skgpb.optimizers._placement import Sides
from skgpb.optimizers._result import RunResult
from skgpb.optimizers._sides import NamedQueries
from skgpb.optimizers._targets import PointTargets
from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess
from skgpb.surrogate.criticism import FEWEST_LEARNED, leave_one_out
from skgpb.surrogate.exactness import EXACT
from skgpb.surrogate.likelihood import smooth_kernel, smooth_prior
from skgpb.surrogate.model import OF_AVERAGES, Model, ModelOptions
from skgpb.utils import (
    MOST_POINTS,
    Integral,
    Interval,
    Real,
    StrOptions,
    box_around,
    check_bounds,
    check_callable_value,
    check_inside,
    check_numbers,
    check_resolution,
    check_rows,
    check_squares,
    check_unmasked,
    unchanged_by_errors,
    validate_data,
)

# Points that a recommendation is compared with.
N_RIVALS = 256
# A query is asked again, up to MOST_ANSWERS times in all, if its answers lie SURPRISING standard
# deviations above their prediction from all others. The last N_COMPARED queries are compared.
SURPRISING, MOST_ANSWERS, N_COMPARED = 2.0, 4, 100
# Largest distance of neighbours in an initial design on the line, in standard deviations of the
# blur, and the most queries that are asked for its sake.
SPACING, MOST_INITIAL = 2.0, 25

# Place of the row that was asked in an entry of the history.
ROW_ASKED = 4

# The kind of indirect query that an optimizer asks.
Asked = TypeVar("Asked", bound=IndirectQuery)


class BaseIndirectOptimizer(
    NamedQueries,
    PricedOptimizer[Asked],
    IndirectIntervals[Asked],
    FreeChoice[Asked],
):
    """Ask for conditional expectations of f, recommend where f itself is largest.

    A subclass says what can be asked in ``_make_queries``, which of it fills the space in
    ``_spread_query``, and chooses in ``_best_by_rule`` once it is filled. If it keeps more than the
    model of f it has the hooks ``_begun``, ``_observed`` and ``_relearned``.
    """

    n_initial: int | None
    model_noise: Any

    if TYPE_CHECKING:  # it recommends an x, not a query
        run: Callable[..., RunResult[np.ndarray]]

    _at_start = AT_START | {"cost"}
    _parameter_constraints: dict[str, Any] = {
        "query_kernel": [None, Kernel],
        "conditional": [None, Kernel],
        "operator": [StrOptions({"auto", "embedding", "window"})],
        "bounds": "no_validation",
        "query_bounds": "no_validation",
        "n_points": [Interval(Integral, 1, MOST_POINTS, closed="both")],
        "n_initial": [Interval(Integral, 0, MOST_POINTS, closed="both"), None],
        "alpha": [Interval(Real, 0, None, closed="left"), callable, None],
        "model_noise": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    }

    # The targets, and their rows if they are finitely many.
    _targets: PointTargets
    _arms: np.ndarray | None

    # -- costs --------------------------------------------------------------------------------

    @property
    def _least_price(self) -> float:
        return self._queries.least_cost

    def _price_of(self, query: Asked) -> float:
        return query.cost

    # -- how far it is from the best ----------------------------------------------------------

    @property
    def _has_rivals(self) -> bool:
        return True

    def _compared(self, best: Any) -> AtPoints:
        """Points of the largest upper bounds, and last the one that is recommended."""
        mean, std = self.surrogate_.predict_tracked(return_std=True)
        some = np.argsort(-(mean + 3.0 * std), kind="stable")[:N_RIVALS]
        points = np.concatenate([self.surrogate_.X_tracked_[some], np.atleast_2d(best)])
        mean, cov = self.surrogate_.predict(points, return_cov=True)
        return AtPoints(mean, cov, self._functionals_at(points))

    # -- the algorithm ----------------------------------------------------------------------

    @abstractmethod
    def _make_queries(self, kernel: Kernel, A: np.ndarray | None) -> QuerySet | QueryTree:
        """Return the queries; ``kernel`` is that of queries, A (n, q) are the queries of pairs."""

    def _make_targets(self) -> PointTargets:
        """Return the targets: the points, or cells, to choose the best of."""
        return PointTargets(self.bounds_, self._own.n_points, self.space_, self._arms)

    @abstractmethod
    def _best_by_rule(self) -> Asked:
        """One round of the algorithm: the next query, different from the keys of ``_pending``."""

    def _usual_n_initial(self, kernel: Kernel) -> int:
        """Return the size of an initial design, if none is given and one is needed."""
        return N_INITIAL

    @abstractmethod
    def _spread_query(
        self, n: int, known: list[np.ndarray], failed: list[np.ndarray]
    ) -> Asked | None:
        """Return one of n space-filling queries, far from rows tried; None if enough are known."""

    def _begun(self) -> None:
        """Set up the state that is kept in addition to the process."""

    def _observed(self, query: Any, reward: float, alpha: float) -> None:
        """Take one answer that the model has taken already."""

    # -- fitting ----------------------------------------------------------------------------

    @reading_log
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
            self._prepare()
            check_rows(X, y)
            X, y = self._checked_points(self._points_of(X), y, queries is not None)
            if self._query_space is not None and queries is not None:
                queries = self._query_space.rows(queries)
            A = None if queries is None else check_numbers(queries, "queries")
            if A is not None and len(A) != len(X):
                raise ValueError(f"queries has {len(A)} rows, but X has {len(X)}")
            X, y, A = map(own_copy, (X, y, A))
            self._start(X, A)
            self._record.events.append(("fit", X, y, A))
            if y is not None and not np.isnan(y).all():
                known = ~np.isnan(y)
                self._condition(X[known], self._signed(y[known]))
        return self

    def _refit(
        self, X: np.ndarray, y: np.ndarray | None, queries: np.ndarray | None = None
    ) -> None:
        A = None if queries is None else in_coordinates(queries)
        self.fit(in_coordinates(X), y, queries=A)

    def _checked_points(self, X: Any, y: Any, paired: bool) -> tuple[np.ndarray, Any]:
        check_unmasked(y, "y")
        if y is None:
            return validate_data(self, X, dtype=np.float64), None
        if not paired:
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
            check_squares(y, "y")
            return X, np.asarray(y, dtype=np.float64)
        X = validate_data(self, X, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64)
        if y.shape != (len(X),) or np.isinf(y).any():
            raise ValueError(
                f"y must hold one number or NaN for each of {len(X)} rows of X, got shape {y.shape}"
            )
        check_squares(y[~np.isnan(y)], "y")
        return X, y

    def _start(self, X: np.ndarray | None, A: np.ndarray | None = None) -> None:
        kernel = self._query_kernel(X, A)
        bounds = self._resolved_bounds(X, kernel)
        if X is not None and X.shape[1] != len(bounds):
            raise ValueError(
                f"X has {X.shape[1]} features, but the domain has {len(bounds)} dimensions"
            )
        self.bounds_ = bounds
        self.n_features_in_: int = len(bounds)
        self._targets = self._make_targets()
        self._queries = self._make_queries(kernel, A)
        points = bounds.T[:1] if self._arms is None else self._arms[:1]
        kernel.check_related(self._queries.typical_rows, points)
        self._find_noises()
        self._begin_loop()
        self._spent = 0.0
        self._seed = self._draw_seed()
        self._averaged = kernel
        self._begin()

    def _reread(self) -> None:
        self._find_noises()
        super()._reread()

    def _find_noises(self) -> None:
        """Return the noise variances of the answers to all queries, if they differ."""
        self._noises = None
        if callable(self._own.alpha):
            arguments = self._queries.arguments
            noises = [check_callable_value(self._own.alpha, a, "alpha") for a in arguments]
            self._noises = np.array(noises)

    def _begin(self) -> None:
        kernel, targets, queries = self._averaged, self._targets, self._queries
        if self._own.kernel is not None:
            kernel.base = clone(self._own.kernel)
        # A kernel that the user did not choose is ours, to be learned under our prior.
        ours = kernel.base is None
        if ours:
            kernel.base = smooth_kernel(self.bounds_)
        rows, typical = kernel.queries(queries.typical_rows), None
        if not (ours or self.normalize_y):
            typical = float(kernel.diag(rows).mean()) or 1.0
        model = Model(
            kernel,
            rows.shape[1],
            self._options(),
            prior=smooth_prior(kernel.theta) if ours else None,
            seed=self._seed,
            typical=typical,
            habits=OF_AVERAGES,
        )
        process = ConditionalMeanProcess(
            conditional=kernel, alpha=None, model_noise=self.model_noise, random_state=self._seed
        )
        self._share_lock(process)
        self.surrogate_: ConditionalMeanProcess = process
        self._take_model(model)
        self.surrogate_.track(targets.points, queries.rows)
        self._n_usual = self._usual_n_initial(kernel)
        if self._is_consistent:
            self._check_consistent(kernel)
        self._measure()
        self._begun()

    def _show(self, model: Model) -> None:
        self.surrogate_ = self.surrogate_.showing(model)

    @property
    def _known_noise(self) -> float | None:
        return float(self._noises.min()) if self._noises is not None else super()._known_noise

    def _options(self) -> ModelOptions:
        own = None if self.model_noise == "auto" else float(self.model_noise)
        return replace(super()._options(), own_noise=own)

    def _relearned(self) -> None:
        self._measure()

    def _measure(self) -> None:
        """Largest prior standard deviation of f, the unit in which information is computed."""
        largest = float(np.sqrt(self._gp.kernel.base.diag(self._targets.points).max()))
        self._unit = (largest or 1.0) * self._gp.scale

    # -- the two spaces ---------------------------------------------------------------------

    def _query_kernel(self, X: np.ndarray | None, A: np.ndarray | None) -> Kernel:
        """Return the kernel of queries: as given, learned from pairs, or that of f at the query."""
        return conditional_of(
            self._own.conditional, X, A, self._own.operator, self._own.query_kernel
        )

    def _resolved_bounds(self, X: np.ndarray | None, kernel: Kernel) -> np.ndarray:
        """Box (d, 2) in which f is maximised; ``_arms`` holds the points where it is finite."""
        self._arms = None
        box = self._box
        if box is not None:
            bounds = box
        elif isinstance(kernel, PolicyMean):
            self._arms = kernel.arms_
            bounds = box_around(self._arms)
        elif X is not None:
            bounds = box_around(X)
        elif isinstance(kernel, WindowMean) and kernel.domain is not None:
            bounds = check_bounds(kernel.domain)
        elif isinstance(kernel, ConditionalMean) and kernel.X is not None:
            bounds = box_around(check_numbers(kernel.X, "X"))
        else:
            raise NotFittedError(
                f"This {type(self).__name__} instance has no domain yet: pass bounds=, a "
                "box of x, to the constructor, or call fit(X, queries=A), which takes the bounds "
                "from X."
            )
        if self._arms is None:
            check_resolution(bounds, "the domain")
        if X is not None and box is not None and X.shape[1] == len(bounds):
            check_inside(X, bounds)
        return bounds

    def _alphas_of(self, queries: Sequence[IndirectQuery]) -> np.ndarray:
        """Noise variances (n,) of the answers that queries are expected to give."""
        if self._noises is None:
            return np.full(len(queries), self._model.alpha)
        arguments = map(self._queries.argument, queries)
        return np.array([check_callable_value(self._own.alpha, a, "alpha") for a in arguments])

    # -- asking -----------------------------------------------------------------------------

    def _choose(self) -> Asked:
        first = self._first_query()
        return self._best_by_rule() if first is None else first

    def _first_query(self) -> Asked | None:
        """Return a query of the initial design, None once the design is complete."""
        n_initial = self.n_initial
        if n_initial is None:
            # Only the acquisition function can tell which expensive queries are worth their cost.
            fills = self._model.prior is not None and not self._queries.differ_in_cost
            n_initial = self._n_usual if fills else 0
        n_initial -= self._record.n_fitted
        if n_initial <= self._filled:
            return None
        evaluated = [query.a for query in self._record.awaited]
        known = self._asked() + evaluated
        # Failed queries do not count, but nothing near them is asked again.
        failed = [query.a for _, query, _ in self._record.failures]
        query = self._spread_query(n_initial, known, failed)
        if query is None and not evaluated:
            self._filled = n_initial
        return query

    def _asked(self) -> list[np.ndarray]:
        """Rows of the queries of all answers."""
        return [row[ROW_ASKED] for row in self._record.history]

    def _expected(self) -> ConditionalMeanProcess:
        """The posterior after the answers to pending queries, their values as expected."""
        if not self._record.pending:
            return self.surrogate_
        rows = np.array([query.a for query in self._record.pending])
        return self.surrogate_.imagined(rows, alpha=self._alphas_of(list(self._record.pending)))

    # -- telling ----------------------------------------------------------------------------

    def _as_query(self, points: Any) -> IndirectQuery:
        space, pending = self._queries.space, self._record.pending
        if space is None:
            check_unnamed(points)
        else:
            points = query_at(points, space, space.n_axes, pending)
            if isinstance(points, IndirectQuery):
                return points
        return self._queries.find(points, pending)

    def _check_query(self, query: IndirectQuery) -> None:
        self._queries.check(query)

    def _checked(self, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
        query, target, value, noise = super()._checked(query, reward, alpha)
        if alpha is None and self._noises is not None:
            noise = float(self._alphas_of([query])[0])
        return query, target, value, noise

    def _update(self, query: IndirectQuery, reward: float, alpha: float) -> None:
        """Condition f and g on one answer, eq. 5."""
        what: int | np.ndarray = len(self._targets.points) + query.index
        if self._queries.rows is None or query.index < 0:
            what = self._gp.kernel.rows_of_queries(query.a[np.newaxis])
        mean, var = self._model.observe(what, reward, alpha, renew=self._measure)
        self._spent += query.cost
        self._observed(query, reward, alpha)
        before = self._model.in_units(mean, var)
        self._record.add((query.box, reward, *before, query.a, query.cost))

    def _snapshot(self) -> dict[str, Any]:
        return super()._snapshot() | {"spent": self._spent}

    def _restore(self, snapshot: dict[str, Any]) -> None:
        super()._restore(snapshot)
        self.surrogate_.track(self._targets.points, self._queries.rows)
        self._spent = snapshot["spent"]
        self._measure()

    # -- results ----------------------------------------------------------------------------

    def _best(self) -> Any:
        return self._targets.best(self.surrogate_)

    @overload  # type: ignore[override]  # it recommends an x, not a query
    def recommend(
        self, rule: RuleOfChoice | None = None, *, context: None = None, side: None = None
    ) -> np.ndarray: ...

    @overload
    def recommend(
        self, rule: RuleOfChoice | None = None, *, context: None = None, side: Sides
    ) -> Region: ...

    @locked
    def recommend(
        self, rule: RuleOfChoice | None = None, *, context: Any = None, side: Sides | None = None
    ) -> Any:
        """Return the x, shape (d,), at which the posterior mean of f is largest.

        The best points that are tracked are improved by searches, so that the recommendation is
        not tied to a grid; where f has finitely many arms it is the row of the best arm.

        Parameters
        ----------
        rule : {"posterior", "paper"}, default=None
            The rule by which it is chosen; None for the best one known. Here all are the same.
        context : None
            There are no contexts here.
        side : float, array-like of shape (d,) or dict, default=None
            In a box, sides of a cell of x, one for all or one for each: the cell of this size over
            which f is largest on average, wherever it lies. None for an x.

        Returns
        -------
        x : ndarray of shape (d,)
            If the sides of ``bounds`` have names, a :class:`~skgpb.domains.PointsQuery`, whose
            ``params`` is the setting. With ``side``, or if the targets are cells, a
            :class:`~skgpb.domains.Region`.
        """
        self._checked_rule(rule)
        self._without_context(context)
        self._check_informed()
        if side is not None:
            return self._targets.best_cell(self.surrogate_, side)
        x = self._best()
        if self.space_ is None or isinstance(x, Region):
            return x
        return PointsQuery(x[np.newaxis]).named(self.space_)

    def _value_of(self, query: np.ndarray) -> float:
        return float(self.predict(in_coordinates(np.atleast_2d(query))).mean())

    @property
    @locked
    def alpha_(self) -> float:
        """Noise variance of an answer in use: ``alpha``, or what was learned."""
        if callable(self._own.alpha):
            raise AttributeError("there is no single noise variance, because alpha is a function")
        return super().alpha_

    @property
    @reading_log
    def history_(self) -> np.ndarray:
        """Every answer told since the start, a structured array.

        Fields: ``round`` (from 1), ``descriptor`` (2 q,), the box [lower, upper] of queries that
        was asked, ``reward``, ``mean`` and ``std`` of the answer before it came (std without its
        noise), the row ``a`` and ``cost``.
        """
        check_is_fitted(self, "bounds_")
        queries = self._queries
        dtype = [
            ("round", np.intp),
            ("descriptor", np.float64, (2 * queries.n_dims,)),
            *((name, np.float64) for name in ("reward", "mean", "std")),
            *(("a", np.float64, (queries.typical_rows.shape[1],)), ("cost", np.float64)),
        ]
        rows = [(i + 1, *row) for i, row in enumerate(self._log.history)]
        return self._signed_history(np.array(rows, dtype=dtype))


class BaseQuerySetOptimizer(BaseIndirectOptimizer[IndirectQuery]):
    """Ask the best of finitely many queries, or of a box of them by a local search."""

    _query_type = IndirectQuery

    n_candidates: int
    continuous: bool
    _queries: QuerySet

    _parameter_constraints: dict[str, Any] = {
        "queries": "no_validation",
        "n_candidates": [Interval(Integral, 1, MOST_POINTS, closed="both")],
        "continuous": ["boolean"],
        "cost": "no_validation",
    }

    def _make_queries(self, kernel: Kernel, A: np.ndarray | None) -> QuerySet:
        """Candidates (m, q), and the box around them where queries are continuous."""
        box = None
        if self._own.queries is not None:
            rows = check_numbers(self._own.queries, "queries")
        elif self._own.query_bounds is not None:
            box = self._query_box
        elif isinstance(kernel, PolicyMean) and not callable(kernel.policies):
            rows = np.arange(len(np.asarray(kernel.policies)), dtype=np.float64)[:, None]
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
                "queries= or query_bounds= to the constructor."
            )
        if box is not None:
            check_resolution(box, "the box of queries")
            rows, _ = points_in(box, self.n_candidates)
        return QuerySet(rows, self._own.cost, box, self._space_of(box))

    def _spread_query(
        self, n: int, known: list[np.ndarray], failed: list[np.ndarray]
    ) -> IndirectQuery | None:
        return self._queries.first_query(n, known, failed, self._seed)

    def _usual_n_initial(self, kernel: Kernel) -> int:
        rows = self._queries.rows
        if not isinstance(kernel, WindowMean) or len(self.bounds_) > 1 or rows.shape[1] > 1:
            return N_INITIAL
        center, scale = kernel.rows_of_queries(rows).T
        blur = float(scale.min())
        if kernel.window == "uniform":
            blur /= np.sqrt(3.0)
        # Narrower peaks than the blur are not seen; one as narrow raises few answers.
        needed = np.ceil(np.ptp(center) / (SPACING * blur)) if blur > 0.0 else 0
        return int(np.clip(needed, N_INITIAL, MOST_INITIAL))

    def _doubted(self) -> list[int]:
        return super()._doubted() or self._surprising()

    def _surprising(self) -> list[int]:
        """Return the answers to the query that exceeds its prediction from all others by most.

        A peak as narrow as the blur has few answers, which a model of long length scales takes for
        noise. Further ones decide (decision D-G8). There are none if the kernel or the noise is
        known, if the kernel's own error may explain the answers, or if queries differ in cost.
        """
        model, gp, n_fitted = self._model, self._gp, self._record.n_fitted
        n_judged = self._schedule.learned_at - n_fitted
        if model.prior is None or model.options.noise is not None or n_judged < FEWEST_LEARNED:
            return []
        if model.own_noise or model.noise <= EXACT or self._queries.differ_in_cost:
            return []
        first = max(0, len(gp.observed) - N_COMPARED)
        errors, variances = leave_one_out(gp, first)
        above = errors / np.sqrt(variances)
        above[gp.posterior.counts()[first:] >= MOST_ANSWERS] = -np.inf
        if above.max(initial=-np.inf) <= SURPRISING:
            return []
        # A later answer may be wild, which is decided when hyperparameters are learned.
        judged = np.array(model.samples.functional[n_fitted:][:n_judged])
        for i in np.argsort(-above, kind="stable"):
            if above[i] <= SURPRISING:
                break
            same = judged == first + i
            if same.any():  # otherwise it is a value given to fit, or not judged
                return np.flatnonzero(same).tolist()
        return []

    def _alphas(self, A: np.ndarray | None) -> np.ndarray:
        """Noise variances (n,) of answers to rows A (n, q), or to the candidates."""
        if self._noises is None:
            return np.full(len(self._queries if A is None else A), self._model.alpha)
        if A is None:
            return self._noises
        return np.array([check_callable_value(self._own.alpha, a, "alpha") for a in A])

    def _most_valuable(
        self, score: Callable, search: bool = True, unit: float | None = None
    ) -> IndirectQuery:
        """Return the query with the highest score that is not pending.

        ``score`` takes rows A (n, q), or None for the candidates, with their costs (n,), and
        returns values (n,). With ``search`` the best candidates of a box are improved. ``unit`` is
        that of what values are computed from, for ties; None for one per unit of price.
        """
        queries = self._queries
        unit = min(1.0, 1.0 / queries.costs.max()) if unit is None else unit

        def objective(A: np.ndarray | None) -> np.ndarray:
            return score(A, queries.costs_of(A))

        value = objective(None)
        free = np.ones(len(value), dtype=bool)
        free[[query.index for query in self._record.pending if query.index >= 0]] = False
        if free.any():
            value[~free] = -np.inf
        if search and self.continuous and queries.box is not None:
            starts = queries.rows[best_apart(queries.rows, value, queries.box)]
            a, top = maximise_in_box(objective, starts, queries.box, unit)
            known = any(np.array_equal(a, each.a) for each in self._record.pending)
            if beats(top, value.max(), unit) and not known:
                return queries.query_at(a)
        if not free.any():
            raise AllPendingError(
                f"all {len(value)} queries are pending: tell some of them before asking for more"
            )
        # Before anything is known all queries tie; one in the middle beats one in a corner.
        return queries.query(queries.most_central(tied(value, unit), TIE_TOLERANCE))
