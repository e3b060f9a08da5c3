r"""The conditional mean process: one posterior of f and of the averages of indirect queries.

Observations are answers z = g(a) + noise with :math:`g(a) = E[f(X) | A = a]`, values
y = f(x) + noise, or both: functionals of f, whose covariances the kernel of the answers supplies
(:class:`~skgpb.kernels.WindowMean`, ``PolicyMean`` or ``ConditionalMean``).

References
----------
.. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
   Optimization with Integrated Feedback", equations 1 to 5.
.. [CMP] S. L. Chau, S. Bouabid, D. Sejdinovic, "Deconditional downscaling with Gaussian processes",
   NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass
from math import inf, isnan
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel

from skgpb.kernels._indirect import IndirectKernel, checked_mean, one_or_more
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.likelihood import Prior, center_and_scale
from skgpb.surrogate.model import Model, ModelOptions
from skgpb.utils.documentation import DocumentedMixin
from skgpb.utils.locks import Guarded, locked
from skgpb.utils.roots import joint_draws
from skgpb.utils.typing import Seed
from skgpb.utils.validation import (
    LARGEST_REWARD,
    MOST_RESTARTS,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_columns,
    check_noise_variances,
    check_numbers,
    check_reached,
    check_squares,
    column_names,
    validate_params,
)

__all__ = ["ConditionalMeanProcess"]


@dataclass(eq=False, repr=False)
class ConditionalMeanProcess(Guarded, DocumentedMixin, BaseEstimator):
    r"""Posterior of f and of g(a) = E[f(X) | A = a]: indirect answers without a search.

    Parameters
    ----------
    kernel : Kernel, default=None
        Covariance of f, over points with d coordinates. None stands for the base of
        ``conditional``, or ``ConstantKernel(1.0) * RBF(1.0)`` if that has none.
    conditional : WindowMean, PolicyMean or ConditionalMean
        Average that an answer observes. ``kernel``, if given, replaces its ``base``.
    alpha : float or None, default=1e-2
        Noise variance of an answer or a value for which :meth:`condition_query` or
        :meth:`condition_point` gets no other. With None :meth:`learn` learns it. Before, it is 5 %
        of the mean prior variance of observations, or 5 % of 1 with ``normalize_y``.
    model_noise : "auto" or float, default="auto"
        Variance added to ``alpha`` for answers: the error of ``conditional`` about g. "auto" is
        ``conditional.model_noise()``: zero if p(x|a) is given, and estimated from leave-one-out
        residuals of the pairs if it is learned.
    mean : callable or float, default=None
        Prior mean of f: m(X) for points (n, d), shape (n,). It implies the prior mean of g. None
        is zero.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        Optimizer by which :meth:`learn` maximises the marginal likelihood; None keeps the
        hyperparameters.
    n_restarts_optimizer : int, default=0
        Number of further starts of :meth:`learn`.
    normalize_y : bool, default=False
        Whether to centre and scale targets: by the first observations, and by all observations
        at each call of :meth:`learn`. ``alpha`` and a ``model_noise`` given as a number stay in
        units of the observations.
    random_state : int, RandomState instance or None, default=None
        Seeds the restarts.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel of the answers, with the covariance of f as its base.
    model_noise_ : float
        Variance added to the noise of answers, in units of the observations.
    alpha_ : float
        Noise variance of observations without their own: ``alpha``, or the learned one.
    center_, scale_ : float
        Observations are centred and divided by these; 0 and 1 unless ``normalize_y``.
    n_observations_ : int
        Number of answers and values observed.
    process_ : GaussianProcess
        The posterior, over rows of ``kernel_``.

    Notes
    -----
    The posterior is that of equations 4 and 5 of [Zhang2025]_, for functionals of one
    :class:`~skgpb.surrogate.GaussianProcess`. The observations and the learned hyperparameters are
    in its model, of the class that all optimizers use. An answer costs O(t^2) after t others, and
    one row of covariances: with N pairs O(N (t + N)).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess
    >>> from skgpb.kernels import WindowMean
    >>> process = ConditionalMeanProcess(RBF(0.3), WindowMean(scale=0.2), alpha=1e-4)
    >>> process = process.condition_query([[0.3], [0.7]], [0.1, 0.9])
    >>> process = process.condition_point([[0.0]], [0.0])
    >>> process.predict([[0.3], [0.7]]).round(2)  # f is sharper than its blurred answers
    array([-0.12,  1.1 ])
    >>> process.predict_query([[0.3], [0.7]]).round(2)
    array([0.1, 0.9])
    """

    kernel: Kernel | None = None
    conditional: IndirectKernel | None = None
    _: KW_ONLY
    alpha: float | None = 1e-2
    model_noise: str | float = "auto"
    mean: Callable | float | None = None
    optimizer: str | Callable | None = None
    n_restarts_optimizer: int = 0
    normalize_y: bool = False
    random_state: Seed = None

    _parameter_constraints = {
        "kernel": [None, Kernel],
        "conditional": [IndirectKernel],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "model_noise": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "mean": [None, callable, Interval(Real, None, None, closed="neither")],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, MOST_RESTARTS, closed="both")],
        "normalize_y": ["boolean"],
        "random_state": ["random_state"],
    }

    # -- observing --------------------------------------------------------------------------

    @locked
    def condition_query(self, A: ArrayLike, z: ArrayLike, alpha: ArrayLike | None = None) -> Self:
        """Observe answers z about queries A. O(t^2) each.

        Parameters
        ----------
        A : array-like of shape (n, q) or (q,)
            Queries, or one of them.
        z : array-like of shape (n,) or float
            Answers.
        alpha : float or array-like of shape (n,), default=None
            Their noise variances, without ``model_noise``; None is the parameter ``alpha``.
            If that is None as well, NaN stands for noise that is learned.

        Returns
        -------
        self : ConditionalMeanProcess
        """
        self._observe(self._rows("queries", A, one_or_more(A, "A")), z, alpha, True)
        return self._name_columns("queries", A)

    @locked
    def condition_point(self, X: ArrayLike, y: ArrayLike, alpha: ArrayLike | None = None) -> Self:
        """Observe values y of f at points X (n, d); see :meth:`condition_query` for the rest."""
        self._observe(self._rows("points", X, one_or_more(X, "X")), y, alpha, False)
        return self._name_columns("points", X)

    @locked
    def learn(self, units: tuple[float, float] | None = None, prior: Prior | None = None) -> Self:
        """Learn the most probable hyperparameters of f given all observations.

        ``model_noise="auto"`` follows them. The observations stay. If ``optimizer`` is None the
        hyperparameters stay as well. An unknown noise variance is learned in either case, with a
        weak prior around 5 % of the variance of observations. If the call fails the process does
        not change.

        Parameters
        ----------
        units : tuple (center, scale), default=None
            Units of the observations after the call; None follows ``normalize_y``.
        prior : Prior, default=None
            Prior of the logarithms of the hyperparameters, in these units. The search begins at
            its centre. None maximises the marginal likelihood.

        Returns
        -------
        self : ConditionalMeanProcess
        """
        if not self.n_observations_:
            return self
        model = self._observing(self._model.process.observed.rows)
        center, scale = self._units_of(np.array(model.samples.reward)) if units is None else units
        self._show(model.refit(model.fit_in_units(center, scale, prior)))
        return self

    # -- predicting -------------------------------------------------------------------------

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> np.ndarray: ...

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(
        self, X: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict(
        self, X: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the posterior mean of f at points X (n, d); deviations or covariance on demand.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Points.
        return_std, return_cov : bool, default=False
            At most one may be True; both are of f without noise.

        Returns
        -------
        mean : ndarray of shape (n,)
        std : ndarray of shape (n,), only if ``return_std``
        cov : ndarray of shape (n, n), only if ``return_cov``
        """
        points = self._rows("points", X)
        with np.errstate(over="ignore", invalid="ignore"):
            moments = self._moments(points, return_std, return_cov)
        check_reached(moments, X)
        return moments

    @overload
    def predict_query(
        self, A: ArrayLike, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> np.ndarray: ...

    @overload
    def predict_query(
        self, A: ArrayLike, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict_query(
        self, A: ArrayLike, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict_query(
        self, A: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict_query(
        self, A: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the posterior mean of g at queries A (n, q); see :meth:`predict` for the rest."""
        return self._moments(self._rows("queries", A), return_std, return_cov)

    @locked
    def predict_joint(self, X: ArrayLike, A: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the joint posterior mean (n + m,) and covariance of f(X), followed by g(A)."""
        rows = self._rows("points", X), self._rows("queries", A)
        return self._moments(np.vstack(rows), False, True)

    @locked
    def covariance(self, X: ArrayLike, A: ArrayLike) -> np.ndarray:
        """Return the posterior covariance (n, m) of f at points X and g at queries A (m, q)."""
        both = self._rows("points", X), self._rows("queries", A)
        left, right = map(Functionals.of_rows, both)
        return self._ready(left.rows).posterior_covariance(left, right) * self.scale_**2

    @locked
    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draw f at points X (n, d) from the joint posterior, shape (n, n_samples)."""
        mean, cov = self.predict(X, return_cov=True)
        return joint_draws(mean, cov, n_samples, random_state)

    @locked
    def sample_query(self, A: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draw g at queries A (n, q) from the joint posterior, shape (n, n_samples)."""
        mean, cov = self.predict_query(A, return_cov=True)
        return joint_draws(mean, cov, n_samples, random_state)

    @locked
    def noise_of(self, alpha: ArrayLike | None = None) -> Any:
        """Return the noise variance of an answer with ``alpha``: ``alpha + model_noise_``."""
        self._prepared()
        return (self.alpha_ if alpha is None else np.asarray(alpha)) + self.model_noise_

    @property
    @locked
    def alpha_(self) -> float:
        """Noise variance of answers without their own: ``alpha``, or the learned one."""
        if self.alpha is not None:
            return self.alpha
        if not hasattr(self, "_model"):
            self._prepared()
            raise AttributeError("alpha_ is not known before anything is observed")
        return self._model.alpha

    @property
    @locked
    def model_noise_(self) -> float:
        """Variance added to the noise of answers, in units of the observations."""
        kernel = self._prepared()
        if hasattr(self, "_model"):
            return self._model.model_noise
        return float(kernel.model_noise() if self.model_noise == "auto" else self.model_noise)

    @property
    @locked
    def outlier_factors(self) -> dict[int, float]:
        """Factors of the noise variances of the outliers, by the indices of the observations."""
        return dict(self._model.samples.factors) if hasattr(self, "_model") else {}

    @property
    @locked
    def n_observations_(self) -> int:
        """Number of answers and values observed."""
        return len(self._model.samples) if hasattr(self, "_model") else 0

    @property
    @locked
    def log_marginal_likelihood_value_(self) -> float:
        """Log marginal likelihood of everything observed, in units of the scaled targets."""
        return self.process_.posterior.log_marginal_likelihood()

    # -- inside -----------------------------------------------------------------------------

    def _prepared(self) -> IndirectKernel:
        """Return the kernel of the answers, validating the parameters the first time."""
        if not hasattr(self, "kernel_"):
            validate_params(self)
            kernel = clone(self.conditional)
            if self.kernel is not None:
                kernel.base = clone(self.kernel)
            elif kernel.base is None:
                kernel.base = ConstantKernel(1.0) * RBF(1.0)
            self.kernel_: Kernel = kernel
        return self.kernel_

    def _rows(self, kind: str, table: Any, values: Any = None) -> np.ndarray:
        """Return rows of ``kernel_`` for "points" or "queries", given as a table or as values.

        The columns of a table must be those of the first one that was observed.
        """
        check_columns(table, vars(self).get("_columns", {}).get(kind))
        return getattr(self._prepared(), kind)(table if values is None else values)

    def _name_columns(self, kind: str, table: Any) -> Self:
        """Keep the names of the columns of the first table of points or of queries."""
        known = vars(self).get("_columns", {})
        self._columns = known | {kind: known.get(kind) or column_names(table)}
        return self

    @property
    @locked
    def center_(self) -> float:
        """Centre of the units: the number that is subtracted from observations."""
        return self.process_.offset if hasattr(self, "process_") else 0.0

    @property
    @locked
    def scale_(self) -> float:
        """Scale of the units: the number by which observations are divided."""
        return self.process_.scale if hasattr(self, "process_") else 1.0

    def _units_of(self, values: np.ndarray) -> tuple[float, float]:
        """Return centre and scale of observations (n,) without the prior mean."""
        return center_and_scale(values) if self.normalize_y else (0.0, 1.0)

    def _options(self) -> ModelOptions:
        """Return the options of the model by the present parameters, for each :meth:`learn`."""
        return ModelOptions(
            self.alpha,
            self.optimizer,
            self.n_restarts_optimizer,
            None,
            self.normalize_y,
            None if self.model_noise == "auto" else float(self.model_noise),
        )

    def _ready(self, rows: np.ndarray) -> GaussianProcess:
        """Return the process, creating it for the columns of the first rows."""
        if not hasattr(self, "_model"):
            kernel, typical = self._prepared(), None
            if self.alpha is None and not self.normalize_y:
                typical = float(kernel.diag(rows).mean()) or 1.0
            model = Model(
                kernel, rows.shape[1], self._options(), seed=self.random_state, typical=typical
            )
            model.set_units(0.0, 1.0)
            self._show(model)
        elif rows.shape[1] != self.process_.n_columns:
            raise ValueError(
                f"rows have {rows.shape[1]} columns, not {self.process_.n_columns} as before: the"
                " number of coordinates changed"
            )
        return self.process_

    def _observing(self, rows: np.ndarray) -> Model:
        """Return the model that is about to observe rows, with the options of the parameters."""
        if hasattr(self, "_model") and not len(self._model.samples):
            del self._model  # it was created for rows that were only predicted
        self._ready(rows)
        if self._model.options != self._options():
            self._show(self._model.with_options(self._options()))
        return self._model

    def _show(self, model: Model) -> None:
        """Set the model, its process and its kernel."""
        self._model: Model = model
        self.process_: GaussianProcess = model.process
        self.kernel_ = model.process.kernel

    @locked
    def _with_model(self, model: Model) -> Self:
        """Return a copy with the model of an optimizer, over rows of its kernel."""
        out = copy(self)
        out._show(model)
        return out

    def _prior(self, rows: np.ndarray) -> np.ndarray:
        """Return the prior means of functionals (n,)."""
        if self.mean is None:
            return np.zeros(len(rows))
        mean = self.mean if callable(self.mean) else lambda X: np.full(len(X), float(self.mean))
        return self.kernel_.mean_of(rows, checked_mean(mean))

    def _checked(self, rows: np.ndarray, z: Any, alpha: Any) -> tuple[np.ndarray, np.ndarray]:
        given = self._model.default_noise_variance if alpha is None else alpha
        learned = self._model.options.noise is None
        single = len(rows) == 1 and isinstance(z, float) and isinstance(given, float)
        usual = single and (0.0 <= given < inf or (learned and isnan(given)))
        if usual and abs(z) <= LARGEST_REWARD:
            return np.array([z]), np.array([given])  # fast path: most observations come one by one
        z = check_numbers(np.atleast_1d(z), "observations", ensure_2d=False)
        check_squares(z, "observations")
        if z.shape != (len(rows),):
            raise ValueError(f"expected {len(rows)} observations, got an array of shape {z.shape}")
        given = np.asarray(given, dtype=np.float64)
        unknown = np.isnan(given) & learned
        noises = check_noise_variances(np.where(unknown, 0.0, given), len(rows))
        return z, np.where(unknown, np.nan, noises)

    @locked
    def _observe(
        self, rows: np.ndarray, z: ArrayLike, alpha: ArrayLike | None = None, is_answer: bool = True
    ) -> Self:
        """Observe answers, or values of f, for rows of ``kernel_``; rows are trusted."""
        model, gp = self._observing(rows), self.process_
        values, noises = self._checked(rows, z, alpha)
        residuals, units = values - self._prior(rows), (gp.offset, gp.scale)
        try:
            if not len(model.samples):
                gp.set_units(*self._units_of(residuals))
            model.observe_rows(rows, residuals, noises, is_answer)
        except BaseException:
            gp.set_units(*units)
            raise
        return self

    @locked
    def _moments(self, rows: np.ndarray, std: bool = True, cov: bool = False) -> Any:
        """Return the posterior for rows of ``kernel_``, like :meth:`predict_query` for queries."""
        if std and cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        prior, result = self._prior(rows), self._ready(rows).moments(rows, std, cov)
        return (result[0] + prior, result[1]) if std or cov else result + prior
