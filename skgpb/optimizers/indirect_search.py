r"""The search by indirect queries: a search over two sets, with a kernel of answers.

A query a is answered by the noisy conditional expectation g(a) = E[f(X) | A = a]; the target is
the x that maximises f. The law of X given a is a parameter (``conditional``) or learned from pairs
(x_j, a_j); eqs 2 to 5 of [Zhang2025]_ then give the covariances of f and g. So queries and points
are two sets of functionals of f, as in every ``SetSearch``, and
:class:`~skgpb.surrogate.ConditionalMeanProcess` is the public view of the model.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from scipy.spatial import cKDTree
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted

from skgpb import defaults
from skgpb._core._ties import exceeds, size_of, tied
from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.arms import Query, Region
from skgpb.domains.candidates import points_in
from skgpb.domains.indirect import IndirectQuery, PointSet, QuerySet, QueryTree
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import ModelWarning
from skgpb.kernels import ConditionalMean, PolicyMean, WindowMean
from skgpb.kernels.learned_window import conditional_of
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._feasibility import Feasibility, FeasibilityOfQueries, SuccessProbabilities
from skgpb.optimizers._gaussian import ModelParameters
from skgpb.optimizers._inputs import IndirectInputs, coordinates, points_of
from skgpb.optimizers._loop import seed_of_run
from skgpb.optimizers._run import AT_START, RunResult, history_table, own_copy
from skgpb.optimizers._sets import PosteriorCache, QueryCosts
from skgpb.optimizers._stopping import Rivals, over_windows
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import SetSearch
from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess
from skgpb.surrogate.criticism import leave_one_out
from skgpb.surrogate.exactness import exact_noise
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.likelihood import smooth_kernel, smooth_prior
from skgpb.surrogate.model import POLICY_OF_AVERAGES, Diagnosis, Model
from skgpb.utils.locks import reading_log
from skgpb.utils.typing import Bounds, Costs, Optimizer, Points, Relearn, Seed, Settings, Values
from skgpb.utils.validation import (
    MOST_POINTS,
    Integral,
    Interval,
    Real,
    StrOptions,
    box_around,
    check_bounds,
    check_inside,
    check_numbers,
    check_resolution,
    check_squares,
    check_unmasked,
    validate_data,
)
from skgpb.utils.warnings import warn

__all__ = ["IndirectParameters", "IndirectSearch"]

# Accuracy: number of points with which the gap of a recommendation is computed.
N_RIVALS = 256


# Class of the indirect queries that an optimizer asks.
Asked = TypeVar("Asked", bound=IndirectQuery)


@dataclass(eq=False, repr=False)
class IndirectParameters(ModelParameters):
    """Parameters and attributes of all searches by indirect queries, which are rows or cells.

    A query a is answered with a noisy conditional expectation E[f(X) | A = a]. The target is the x
    where f itself is largest. Which class is for which problem: :ref:`which-class`.

    Other parameters are inherited from :class:`~skgpb.optimizers.ModelParameters`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x; None takes the base of ``conditional``. If this has no base, a
        kernel is learned from standardised answers with a weak prior, starting from
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the sides of ``bounds``.
    query_kernel : Kernel, default=None
        Kernel over a of the conditional mean operator that ``fit`` learns from pairs. None
        chooses it, and the regularisation, by closed-form leave-one-out.
    conditional : WindowMean, PolicyMean, ConditionalMean or None, default=None
        The distribution p(x | a) over which a query averages. None learns it from the ``queries``
        given to ``fit``. Without these the answer to a query is assumed to be the value of f at
        the query, with a warning.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised. None stands for the arms of a PolicyMean, or the box around X.
        A dict gives the sides names, pairs or continuous distributions, see :ref:`named-sides`;
        the recommendation then has ``params``.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; None learns it. A callable
        takes a.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        Method that learns the hyperparameters of a given ``kernel`` from the answers, by
        marginal likelihood. None keeps them. The default kernel is always learned.
        "consistent", if queries are chosen by the posterior of f, uses several length scales in
        turn and drops a length scale if no f of the norm in ``guarantee`` fits the answers
        (:doc:`/user_guide/guarantees`).
    relearn : "growing", "doubling", int or None, default="growing"
        When to refit: whenever the number of observations has grown by a quarter or doubled
        (from 4 on), after every given number of observations, or only in ``fit`` (None).
    normalize_y : bool, default=False
        Whether to centre and scale the answers for a ``kernel`` that is given.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.
    operator : {"auto", "embedding", "window"}, default="auto"
        Estimator of p(x | a) from pairs: the conditional mean operator of eq. 5, a smooth map plus
        scatter (much more accurate if p(x | a) has this form), or ("auto") the one with the lower
        leave-one-out loss on the pairs.
    query_bounds : array-like of shape (q, 2) or dict, default=None
        Box of queries, if they are not a finite set. None stands for the box around the queries
        given to ``fit``, the agents of a PolicyMean, or ``bounds`` for windows. A dict gives the
        sides names, as in ``bounds``; functions of a query get its coordinates.
    n_points : int, default=2500
        Number of points of the domain on which draws of f are maximised.
    n_initial : int, default=None
        Size of the initial design: distinct queries, spread evenly, before the first query by the
        acquisition function. Earlier answers count. None means 10, up to 25 with a narrow
        blur on the line, and 0 if the kernel of f is given or queries differ in cost.
    model_noise : "auto" or float, default="auto"
        Variance of the error of the learned p(x | a), which is added to the noise of every answer.
        "auto" estimates it by leave-one-out cross-validation, and is 0 with ``conditional``.

    Attributes
    ----------
    surrogate_ : ConditionalMeanProcess
        Posterior of f and g.
    domain_ : ArmSet
        The queries.
    targets_ : ArmSet
        The targets: the points of which the best is sought, or a grid of points in ``bounds``.
    bounds_ : ndarray of shape (d, 2)
        The box of x.
    spent_ : float
        Total cost of the answers.
    alpha_ : float
        Noise variance in use, if it is one number: ``alpha``, or the learned noise variance.
    """

    kernel: Kernel | None = None
    query_kernel: Kernel | None = None
    conditional: Kernel | None = None
    _: KW_ONLY
    operator: Literal["auto", "embedding", "window"] = "auto"
    bounds: Bounds | None = None
    query_bounds: Bounds | None = None
    n_points: int = 2500
    n_initial: int | None = None
    alpha: float | Callable[[Any], float] | None = None  # type: ignore[assignment]
    model_noise: Literal["auto"] | float = "auto"
    optimizer: Optimizer = None
    relearn: Relearn = "growing"
    normalize_y: bool = False
    random_state: Seed = None


class BaseIndirectSearch(SetSearch[Asked, np.ndarray]):
    """A search that asks for conditional expectations of f and recommends the maximiser of f.

    A subclass has the parameters of :class:`IndirectParameters`, makes the set of queries in
    ``_make_queries``, and scores them in :meth:`acquisition`.
    """

    model_noise: Any

    # Pairs (x, a) that were given to ``fit``.
    _pairs: tuple[Any, Any] = (None, None)

    if TYPE_CHECKING:
        domain_: Any
        targets_: Any
        run: Callable[..., RunResult[np.ndarray]]  # the recommendation is an x, not a query

    _query_type: ClassVar[type[Query]] = IndirectQuery
    _inputs_type = IndirectInputs
    _recommends_points = True
    _methods = ("posterior", "paper")
    _sides = "numbers"
    _keeps_settings = False
    _targets_are_queries = False
    _at_start = AT_START | {"cost"}
    _parameter_constraints = {
        "query_bounds": "no_validation",
        "query_kernel": [None, Kernel],
        "conditional": [None, Kernel],
        "operator": [StrOptions({"auto", "embedding", "window"})],
        "n_points": [Interval(Integral, 1, MOST_POINTS, closed="both")],
        "n_initial": [Interval(Integral, 0, MOST_POINTS, closed="both"), None],
        "alpha": [Interval(Real, 0, None, closed="left"), callable, None],
        "model_noise": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    }

    # -- names of the sides of two boxes: bounds of x, and query_bounds of queries --------------

    @property
    def _box(self) -> np.ndarray | None:
        """Box of x by the parameter ``bounds``, shape (d, 2); None if it is not given."""
        run = self.run_
        return coordinates(run.params.bounds, run.space, "bounds")

    @property
    def _query_box(self) -> Any:
        """Box of queries by the parameter ``query_bounds``, shape (q, 2); None if not given."""
        run = self.run_
        return coordinates(run.params.query_bounds, run.query_space, "query_bounds")

    def _space_of(self, box: np.ndarray | None) -> ParameterSpace | None:
        """Return the space of named sides of the box of queries, which may be the box of x."""
        run = self.run_
        same = run.params.query_bounds is None and box is self.bounds_
        return run.space if same else run.query_space

    # -- fitting ----------------------------------------------------------------------------

    _tables = ("targets",)

    @reading_log
    def fit(self, X: Settings, y: Values | None = None, *, queries: Settings | None = None) -> Self:
        """Start a new run; learn p(x | a) from pairs, and f from evaluations.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Points. The domain is the box around them if the parameters have no box.
        y : array-like of shape (n_samples,), default=None
            Noisy evaluations of f at X; with ``queries``, NaN marks points without an evaluation.
        queries : array-like of shape (n_samples, q), default=None
            D1: row j is the query from which X[j] came. Not needed with ``conditional``.
        """
        return loop.fit(self, X, y, partial(self._checked_data, queries))

    def _checked_data(self, queries: Any, X: Any, y: Any) -> tuple[Any, ...]:
        X, y = self._checked_points(X, y, queries is not None)
        run = self.run_
        if run.query_space is not None and queries is not None:
            queries = run.query_space.rows(queries)
        A = None if queries is None else check_numbers(queries, "queries")
        if A is not None and len(A) != len(X):
            raise ValueError(f"queries has {len(A)} rows, but X has {len(X)}")
        self._pairs = own_copy(X), own_copy(A)
        return X, y, A

    def _checked_points(self, X: Any, y: Any, paired: bool) -> tuple[np.ndarray, Any]:
        check_unmasked(y, "y")
        if y is None or paired:
            X = validate_data(self, X, dtype=np.float64)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        if y is None:
            return X, None
        y = np.asarray(y, dtype=np.float64 if np.asarray(y).dtype.kind == "O" else None)
        check_squares(y[y == y], "y")  # NaN marks points without a value; texts are refused
        if y.shape != (len(X),) or np.isinf(y).any():
            raise ValueError(
                f"y must hold one number or NaN for each of {len(X)} rows of X, got shape {y.shape}"
            )
        return X, y.astype(np.float64)

    def _observe_initial(self, X: np.ndarray, y: np.ndarray) -> None:
        known = ~np.isnan(y)
        if known.any():
            super()._observe_initial(X[known], y[known])

    # -- the kernel and the two sets --------------------------------------------------------

    def _domain(self, X: np.ndarray | None) -> np.ndarray:
        """Return the box (d, 2) in which f is maximised.

        It is ``bounds``, or else the box around the arms of a PolicyMean, around X, or of the
        kernel of answers, whichever comes first.
        """
        box, _ = self._box, self._query_box  # check both boxes before learning from pairs
        self._answered = kernel = self._query_kernel(*self._pairs)
        if box is not None:
            check_resolution(box, "the domain")
            if X is not None and X.shape[1] == len(box):
                check_inside(X, box)
            return box
        if isinstance(kernel, PolicyMean):
            return box_around(kernel.arms_)
        if X is not None:
            bounds = box_around(X)
        elif isinstance(kernel, WindowMean) and kernel.domain is not None:
            bounds = check_bounds(kernel.domain)
        elif isinstance(kernel, ConditionalMean) and kernel.X is not None:
            bounds = box_around(check_numbers(kernel.X, "X"))
        else:
            raise NotFittedError(
                f"This {type(self).__name__} instance has no domain yet: pass bounds=, a "
                "box of x, to the constructor, or call fit(X, queries=A), which sets the bounds "
                "to the box around X."
            )
        check_resolution(bounds, "the domain")
        return bounds

    def _query_kernel(self, X: np.ndarray | None, A: np.ndarray | None) -> Kernel:
        """Return the kernel of queries: ``conditional``, learned from pairs, or of f at a query."""
        run = self.run_
        if run.params.conditional is None and A is None:
            warn(
                "the distribution p(x | a) over which a query averages is unknown: every query is "
                "assumed to be the point itself. Pass conditional=, or fit(X, queries=A) with "
                "pairs; conditional=WindowMean(scale=0.0) says that queries are points",
                ModelWarning,
            )
        return conditional_of(
            run.params.conditional,
            X,
            A,
            run.params.operator,
            run.params.query_kernel,
        )

    @abstractmethod
    def _make_queries(self, kernel: Kernel, A: np.ndarray | None) -> QuerySet | QueryTree:
        """Return the set of rows or cells that the search may ask.

        ``kernel`` is the kernel of queries; A (n, q) are the queries of pairs, None without pairs.
        """

    def _make_targets(self, kernel: Kernel) -> PointSet:
        """Return the targets: all points of a box, or the arms of policies."""
        run = self.run_
        bounds, space = self.bounds_, run.space
        if self._box is None and isinstance(kernel, PolicyMean):
            return PointSet(kernel.arms_, kernel, bounds, space, finite=True)
        points, shape = points_in(bounds, run.params.n_points)
        return PointSet(points, kernel, bounds, space, shape)

    def _begin(self) -> None:
        kernel = self._answered
        run = self.run_
        if run.params.kernel is not None:
            kernel.base = clone(run.params.kernel)
        # Without a kernel of the user: the default kernel, learned with its weak prior.
        ours = kernel.base is None
        if ours:
            kernel.base = smooth_kernel(self.bounds_)
        targets = self._make_targets(kernel)
        queries = self._make_queries(kernel, self._pairs[1])
        kernel.check_related(queries.A, targets.points[:1])
        self._set_costs(queries)
        run.seed = seed_of_run(self.random_state, self._replay)
        typical = None
        if not (ours or self.normalize_y):
            typical = float(kernel.diag(queries.rows).mean()) or 1.0
        model = Model(
            kernel,
            queries.rows.shape[1],
            self._options(),
            prior=smooth_prior(kernel.theta) if ours else None,
            seed=run.seed,
            typical=typical,
            learning_policy=POLICY_OF_AVERAGES,
        )
        self.surrogate_: ConditionalMeanProcess = ConditionalMeanProcess(
            conditional=kernel,
            alpha=None,
            model_noise=self.model_noise,
            random_state=run.seed,
        )
        self._begin_with(model)
        sets = queries, targets
        self._track(PosteriorCache(sets, model.process, optimistic=False, over_tasks=False))
        self._n_usual = self._usual_n_initial(kernel)

    # -- costs and noise --------------------------------------------------------------------

    def _set_costs(self, queries: Any) -> None:
        self._cost_model: Any = QueryCosts(queries, self.run_.params.alpha)

    # -- asking -----------------------------------------------------------------------------

    @property
    def _n_initial(self) -> int:
        """Size of the initial design, less the number of evaluations given to ``fit``."""
        n = self.n_initial
        if n is None:
            # With different costs there is no design: only the acquisition function weighs costs.
            fills = self._model.prior is not None and not self._cost_model.differ
            n = self._n_usual if fills else 0
        return max(0, n - self.run_.n_fitted)

    def _usual_n_initial(self, kernel: Kernel) -> int:
        """Return the size of the initial design without ``n_initial``, for a learned kernel."""
        return defaults.N_INITIAL

    def _observed_rows_with(self, queries: Iterable[Any]) -> np.ndarray:
        return self._rows_of_queries([*self.run_.told_queries(), *queries])

    def _rows_of_queries(self, queries: Iterable[Any]) -> np.ndarray:
        return np.array([query.a for query in queries]).reshape(-1, self.domain_.A.shape[1])

    def _expected_posterior(self, pending: list[Any]) -> GaussianProcess:
        """Return the posterior given the expected answers to pending queries."""
        row_sets, gp = [self.domain_.rows_of_query(query) for query in pending], self._model.process
        return gp.fantasize(row_sets, self._noises_of(pending)) if pending else gp

    @property
    def _settings(self) -> np.ndarray:
        return self.domain_.A

    def _feasibility(self, expecting: bool = False, n_failures: int | None = None) -> Feasibility:
        A = self.domain_.A
        learn = partial(SuccessProbabilities, domain=A)
        taught = self.run_.outcomes(A[:0], lambda query: query.a, learn, n_failures)
        return FeasibilityOfQueries(taught, None, self._model.process)

    def _row_sets_of(self, queries: Any) -> np.ndarray:
        check_is_fitted(self, "bounds_")
        inputs: Any = self._inputs
        each = inputs.each(queries)
        rows = [inputs.numbers(query) for query in each]
        kernel = self._model.process.kernel
        return kernel.queries(check_numbers(rows if len(rows) else each, "queries"))

    # -- results ----------------------------------------------------------------------------

    def _rows_of(self, points: np.ndarray) -> np.ndarray:
        return points

    def _functionals_at(self, points: np.ndarray) -> np.ndarray:
        return self._model.process.kernel.points(points)

    def _observed_points(self) -> np.ndarray:
        return self.targets_.points

    def _best_region(self, side: Any, **options: Any) -> Region:
        if self.targets_.finite:
            raise ValueError(f"side is for cells of a box, got side={side!r}")
        return super()._best_region(side, **options)

    def _best(self, context: np.ndarray | None = None) -> Any:
        best = super()._best(context)
        return best if best.has_names else best.points[0]

    def _comparison(self, best: Any) -> Rivals:
        """Return the comparison of the recommendation with the targets of largest upper bounds."""
        gp, x, n = self._model.process.copy(), np.atleast_2d(best), len(self.targets_)
        mean, std = (each[-n:] for each in gp.tracked_moments())
        some = np.argsort(-(mean + 3.0 * std), kind="stable")[:N_RIVALS]
        known = self._widths, self._model.possible(gp)
        every = Rivals(self.targets_.rows[some], gp, self._functionals_at(x), *known)
        if not self._gap_averages():
            return every
        rows, of_best = self._average_rows(x)
        mean, std = gp.moments(rows, std=True)
        some = np.argsort(-(mean + 3.0 * std), kind="stable")[:N_RIVALS]
        found = Rivals(rows[some], gp, of_best, *known)
        found.finest = every
        return found

    def _blur(self) -> np.ndarray:
        """Scale (d,) of the windows that a gap compares; 0 if it compares values of f.

        With a learned kernel nothing is known of f inside windows, nor between them. So this is
        the scale of the observed window nearest to a target, or the distance of its centre if that
        is larger, for the target where it is largest.
        """
        kernel, n = self._model.process.kernel, len(self.bounds_)
        if self._model.prior is None or not isinstance(kernel, WindowMean):
            return np.zeros(n)
        centers, scales = np.hsplit(self._model.process.observed.rows, [n])
        if not np.median(scales, axis=0).any():
            return np.zeros(n)
        side = np.ptp(self.bounds_, axis=1)
        away, nearest = cKDTree(centers / side).query(self.targets_.points / side, p=np.inf)
        share = np.maximum(away, (scales / side).max(axis=1)[nearest])
        return share.max() * side

    def _gap_averages(self) -> str:
        blur, window = self._blur(), self._model.process.kernel
        if not blur.any():
            return ""
        if window.window == "uniform":
            return over_windows(2.0 * blur)
        return over_windows(blur, "standard deviation ")

    def _average_rows(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of windows around all targets, and around x (1, d)."""
        points = np.concatenate([self.targets_.points, x])
        rows = np.hstack([points, np.broadcast_to(self._blur(), points.shape)])
        return rows[:-1], rows[-1:]

    @property
    @reading_log
    def history_(self) -> np.ndarray:
        """Every answer since the start, a structured array.

        Fields: ``round`` (from 1); ``descriptor`` (2 q,), the box [lower, upper] of the query;
        ``reward``; ``mean`` and ``std``, the prediction of the answer before it arrived, std
        without its noise; the row ``a`` and ``cost`` of the query.
        """
        check_is_fitted(self, "bounds_")
        queries, run = self.domain_, self.run_.first_events(self._dirty)
        told = zip(run.history, run.told_queries(), strict=True)
        rows = [(*row[:4], query.a, query.cost) for row, query in told]
        a = "a", np.float64, (queries.A.shape[1],)
        d, cost = len(queries.bounds), ("cost", np.float64)
        return history_table(rows, d, run.sign.convert, a, cost)


@dataclass(eq=False, repr=False)
class IndirectSearch(IndirectParameters, BaseIndirectSearch[IndirectQuery]):
    """Base class for your own acquisition function over indirect queries: rows, or a box of rows.

    A subclass implements :meth:`acquisition`. :class:`~skgpb.IndirectTargetsOptimizer` has it as a
    parameter. Other parameters are inherited from :class:`~skgpb.optimizers.IndirectParameters`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x; None takes the base of ``conditional``.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    targets : array-like of shape (n_targets, d), default=None
        Points of which the best is sought. None stands for all points of ``bounds``.
    n_candidates : int, default=2500
        Approximate number of candidate rows in a box of queries; a grid in up to three dimensions.
    continuous : bool, default=True
        Whether to improve the best candidates of a box by local searches.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a. None stands for 1. The score of a query is divided by
        its cost.

    Notes
    -----
    *Initial design.* Its queries (``n_initial``) are points of a scrambled Sobol sequence, or in
    one dimension the middles of equal parts; among finitely many rows, the rows nearest to these.
    For a ``WindowMean`` on the line the parts have a length of at most two standard deviations of
    the blur, as far as 25 queries suffice. Otherwise a peak could lie between the queries. The next
    query is always the one farthest from all earlier queries and answers. Earlier answers near a
    query of the design replace it.

    *Ties.* Ties go to the query nearest to the centre of the candidates.

    *Repeats.* ``ask`` returns a query again, up to four times in all, if its answers lie two
    standard deviations above their prediction from all other answers. They may be on a peak as
    narrow as the blur. Repeats need a learned kernel and learned noise.

    *Batches.* ``ask(n)`` chooses each query given the expected answers to pending queries.
    """

    _: KW_ONLY
    queries: Points | None = None
    targets: Points | None = None
    n_candidates: int = 2500
    continuous: bool = True
    cost: float | Costs | Callable[[np.ndarray], float] | None = None

    _parameter_constraints = {
        "queries": "no_validation",
        "targets": "no_validation",
        "n_candidates": [Interval(Integral, 1, MOST_POINTS, closed="both")],
        "continuous": ["boolean"],
        "cost": "no_validation",
    }

    # -- the two sets -----------------------------------------------------------------------

    def _make_queries(self, kernel: Kernel, A: np.ndarray | None) -> QuerySet:
        """Return the set of queries: the given rows, or candidates in a box of queries."""
        box = None
        run = self.run_
        if run.params.queries is not None:
            rows = check_numbers(run.params.queries, "queries")
        elif run.params.query_bounds is not None:
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
                f"This {type(self).__name__} instance has no queries: pass queries= or "
                "query_bounds= to the constructor."
            )
        if box is not None:
            check_resolution(box, "the box of queries")
            rows, _ = points_in(box, self.n_candidates)
        return QuerySet(rows, kernel, run.params.cost, box, self._space_of(box))

    def _make_targets(self, kernel: Kernel) -> PointSet:
        run = self.run_
        given, bounds = run.params.targets, self.bounds_
        if given is None:
            return super()._make_targets(kernel)
        rows = check_numbers(points_of(given, run.space), "targets")
        if rows.shape[1] != len(bounds):
            raise ValueError(f"targets must have {len(bounds)} columns, got {rows.shape[1]}")
        return PointSet(check_inside(rows, bounds), kernel, bounds, run.space, finite=True)

    # -- asking -----------------------------------------------------------------------------

    def _best_slot(self, round: Round, values: np.ndarray, free: np.ndarray | None) -> int:
        # Before the first answer all queries tie; a central one is related to the most points.
        slots = np.arange(len(values)) if free is None else free
        best = slots[tied(values[slots], self._unit_of_values(round))]
        return self.domain_.most_central(best)

    def _refine_query(
        self, round: Round, values: np.ndarray, free: np.ndarray | None, slot: int
    ) -> IndirectQuery:
        queries, box = self.domain_, self.domain_.box
        known = self._known_between()
        if not self.continuous or box is None or known is None:
            return queries.arm(slot)

        run = self.run_
        usual, differ = self._noises_of([queries.arm(slot)]), callable(run.params.alpha)
        lowest, feasibility = values[np.isfinite(values)].min(), self._feasibility()
        targets = self.targets_.rows

        def value(A: np.ndarray) -> np.ndarray:
            noises = self._noises_of([IndirectQuery(a) for a in A]) if differ else usual
            gp, rows_of = known
            there = round.at(gp, rows_of(A), np.broadcast_to(noises, len(A)), queries.costs_of(A))
            found = self._scores(feasibility.weight_round(there, A, targets))
            if feasibility.is_certain:
                return found
            return np.where(feasibility.hopeless_mask(A) | ~np.isfinite(found), lowest, found)

        slots = np.arange(len(values)) if free is None else free
        starts = queries.A[slots[best_apart(queries.A[slots], values[slots], box)]]
        unit = self._unit_of_values(round) or size_of(values)
        a, top = maximise_in_box(value, starts, box, unit)
        taken = any(np.array_equal(a, each.a) for each in run.pending)
        if run.evaluating:
            # Beside a candidate that is not free a pending answer tells nearly as much.
            distances = (np.abs(queries.A - a) / np.ptp(box, axis=1)).max(axis=1)
            taken |= int(distances.argmin()) not in slots
        better = exceeds(top, float(values[slots].max()), unit) and not taken
        return queries.query_at(a) if better else queries.arm(slot)

    def _known_between(self) -> tuple[GaussianProcess, Callable[[np.ndarray], np.ndarray]] | None:
        """Return the posterior that scores queries of the box, and the function of their rows.

        The function maps queries (n, q) to the rows of this posterior. None if no local search is
        possible.
        """
        return self._expected_posterior(
            list(self.run_.pending)
        ), self.domain_.kernel.rows_of_queries

    def _unit_of_values(self, round: Round) -> float | None:
        """Return the unit of scores for the comparison of ties: 1 per unit cost, at most 1.

        None means that the scores themselves have a size.
        """
        return min(1.0, 1.0 / float(round.cost.max()))

    def _usual_n_initial(self, kernel: Kernel) -> int:
        A = self.domain_.A
        if not isinstance(kernel, WindowMean) or len(self.bounds_) > 1 or A.shape[1] > 1:
            return defaults.N_INITIAL
        center, scale = kernel.rows_of_queries(A).T
        blur = float(scale.min())
        if kernel.window == "uniform":
            blur /= np.sqrt(3.0)
        # A peak narrower than the blur has no visible effect; one as narrow raises few answers.
        needed = np.ceil(np.ptp(center) / (defaults.BLUR_SPACING * blur)) if blur > 0.0 else 0
        return int(np.clip(needed, defaults.N_INITIAL, defaults.MOST_INITIAL))

    def _suspect_answers(self, diagnosis: Diagnosis) -> list[int]:
        run = self.run_
        judged = self._model.schedule.learned_at - run.n_fitted
        differ = self._cost_model.differ
        found = super()._suspect_answers(diagnosis)
        return found or ([] if differ else unexplained_peak(self._model, run.n_fitted, judged))


def unexplained_peak(model: Model, n_fitted: int, n_judged: int) -> list[int]:
    """Return the indices of the answers to the query that most exceeds its prediction from others.

    A peak as narrow as the blur has few answers, which a model with long length scales explains as
    noise. Further answers decide (decision D-G8). The list is empty if no query exceeds its
    prediction by enough. It is also empty if the kernel or the noise is given, or if the error of
    the kernel may explain the answers.

    Parameters
    ----------
    model : Model
        The model of f.
    n_fitted, n_judged : int
        Number of samples that were given to ``fit``, the first of the model, and number of samples
        after them that were observed before the last refit.
    """
    given = model.prior is None or model.options.noise is not None
    if given or n_judged < defaults.FIRST_CHECK_LEARNED:
        return []
    if model.model_noise or model.noise <= exact_noise():
        return []
    gp = model.process
    first = max(0, len(gp.observed) - defaults.N_CHECKED)
    errors, variances = leave_one_out(gp, first)
    above = errors / np.sqrt(variances)
    above[gp.posterior.counts()[first:] >= defaults.MOST_ANSWERS] = -np.inf
    if above.max(initial=-np.inf) <= defaults.SURPRISING:
        return []
    # Later answers are left out: only a refit decides whether they are outliers.
    judged = np.array(model.samples.functional[n_fitted:][:n_judged])
    for i in np.argsort(-above, kind="stable"):
        if above[i] <= defaults.SURPRISING:
            break
        same = judged == first + i
        if same.any():  # otherwise a value given to fit, or later than the last refit
            return np.flatnonzero(same).tolist()
    return []
