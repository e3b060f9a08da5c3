"""The posterior as a regressor with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self, overload

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel
from sklearn.utils import check_random_state

from skgpb.kernels._white import variances
from skgpb.kernels.evaluator import Functionals, origin_of, unique_rows
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.likelihood import center_and_scale, log_likelihood, maximise_likelihood
from skgpb.surrogate.model import Model
from skgpb.surrogate.samples import ScaledSamples
from skgpb.utils.documentation import DocumentedMixin
from skgpb.utils.locks import Guarded, locked
from skgpb.utils.roots import joint_draws
from skgpb.utils.typing import Noise, Points, Seed, Values
from skgpb.utils.validation import (
    MOST_QUERIES,
    MOST_RESTARTS,
    Integral,
    Interval,
    StrOptions,
    box_around,
    check_noise_variances,
    check_reached,
    check_size,
    check_squares,
    fit_context,
    unchanged_by_errors,
    validate_data,
    warn_at_bounds,
)

__all__ = ["OnlineGaussianProcessRegressor"]


def default_kernel() -> Kernel:
    """Return ``ConstantKernel(1.0) * RBF(1.0)``, of which ``fit`` learns both parameters."""
    return ConstantKernel(1.0) * RBF(1.0)


def single_or_many(y: Any) -> np.ndarray:
    """Return targets as an array (n,), or (n, q) if there are q > 1 columns."""
    y = np.asarray(y, dtype=np.float64)
    check_squares(y, "y")
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


@dataclass(eq=False, repr=False)
class OnlineGaussianProcessRegressor(
    Guarded, DocumentedMixin, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    r"""Gaussian process regression for data that arrive one by one, in O(t^2) each.

    A drop-in replacement of :class:`sklearn.gaussian_process.GaussianProcessRegressor` for inputs
    that are vectors, with the same parameters, methods and results. In addition,
    :meth:`partial_fit` appends observations to the Cholesky factor instead of refitting, each
    observation may have a noise variance of its own, and the posterior mean and standard deviation
    of *tracked* candidates are updated after every observation in O(t) each. Repeated inputs are
    merged exactly, so time and memory depend on the number of distinct inputs.

    There is no ``sample_weight``: the noise variance takes its place. A sample of weight w is one
    with the noise variance ``alpha / w``, as if it were the mean of w samples.

    With a kernel from :mod:`skgpb.kernels` the inputs are descriptors of averages, integrals
    and so on; the regression is then on aggregated data.

    Parameters
    ----------
    kernel : Kernel, default=None
        Covariance of the observed functionals. None stands for
        ``ConstantKernel(1.0) * RBF(1.0)``; :meth:`fit` learns both parameters.
    alpha : float or ndarray of shape (n_samples,), default=1e-10
        Noise variance added to the diagonal, in units of the normalised targets; an array
        holds one value for each sample given to :meth:`fit`.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        Optimizer by which :meth:`fit` maximises the log marginal likelihood over the kernel's
        hyperparameters; None keeps them. A callable has the signature of scikit-learn's.
    n_restarts_optimizer : int, default=0
        Number of further starts, drawn log-uniformly from the bounds.
    normalize_y : bool, default=False
        Whether to subtract the mean of all targets observed so far, and divide by their standard
        deviation.
    copy_X_train : bool, default=True
        Accepted for compatibility; training inputs are always copied because they grow.
    n_targets : int, default=None
        Number of targets, which determines the shape of predictions before :meth:`fit`.
    random_state : int, RandomState instance or None, default=None
        Seeds the restarts.

    Attributes
    ----------
    process_ : GaussianProcess
        The posterior itself.
    kernel_ : Kernel
        The kernel used for prediction, with learned hyperparameters.
    X_train_ : ndarray of shape (n_distinct, n_features)
        Distinct inputs observed so far.
    y_train_ : ndarray of shape (n_distinct,) or (n_distinct, n_targets)
        Normalised targets; the precision-weighted mean where an input was repeated.
    L_ : ndarray of shape (n_distinct, n_distinct)
        Lower Cholesky factor of the Gram matrix plus noise.
    alpha_ : ndarray of shape (n_distinct,) or (n_distinct, n_targets)
        Dual coefficients.
    log_marginal_likelihood_value_ : float
        Log marginal likelihood of all observations, repeats included.
    n_features_in_ : int
        Number of columns of X.

    Warns
    -----
    NumericalWarning
        If the Gram matrix is not numerically positive definite. The smallest jitter of
        1e-10, 1e-9, ..., 1e-4 times the largest prior variance that helps is added; beyond
        that ``numpy.linalg.LinAlgError`` is raised and the state does not change.

    Notes
    -----
    With a WhiteKernel inside ``kernel`` repeats are not merged, because its noise depends on
    hyperparameters that may change. Several targets share one factor; they cannot be tracked.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import CellAverage
    >>> from skgpb.surrogate import OnlineGaussianProcessRegressor
    >>> gpr = OnlineGaussianProcessRegressor(CellAverage(RBF(0.3), 10), alpha=0.01, optimizer=None)
    >>> halves = np.array([[0.0, 0.5], [0.5, 1.0]])  # [lower, upper] of each cell
    >>> gpr = gpr.fit(halves, [0.2, 0.8])
    >>> gpr = gpr.partial_fit([[0.75, 1.0]], [0.9])
    >>> gpr.predict([[0.9, 0.9]]).round(2)  # a degenerate cell is a point
    array([0.91])
    """

    kernel: Kernel | None = None
    _: KW_ONLY
    alpha: Noise = 1e-10
    optimizer: Literal["fmin_l_bfgs_b"] | Callable | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: int = 0
    normalize_y: bool = False
    copy_X_train: bool = True
    n_targets: int | None = None
    random_state: Seed = None

    _parameter_constraints = {
        "kernel": [None, Kernel],
        "alpha": "no_validation",  # by check_noise_variances, which knows the number of samples
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, MOST_RESTARTS, closed="both")],
        "normalize_y": ["boolean"],
        "copy_X_train": ["boolean"],
        "n_targets": [Interval(Integral, 1, MOST_QUERIES, closed="both"), None],
        "random_state": ["random_state"],
    }

    # -- the methods of scikit-learn ----------------------------------------------------------

    @locked
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Points, y: Values | Points) -> Self:
        """Learn the hyperparameters and condition on (X, y) alone, without earlier data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, or descriptors for the kernel.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observed values.

        Returns
        -------
        self : OnlineGaussianProcessRegressor

        Raises
        ------
        numpy.linalg.LinAlgError
            If no documented jitter makes the Gram matrix positive definite.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If learning left hyperparameters at a bound, or stopped early.
        """
        with unchanged_by_errors(self):
            rows, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
            values = single_or_many(y)
            n_targets = values.shape[1] if values.ndim == 2 else 1
            if self.n_targets is not None and n_targets != self.n_targets:
                raise ValueError(f"y has {n_targets} targets, but n_targets={self.n_targets}")
            noise = check_noise_variances(self.alpha, len(rows))
            kernel = clone(self.kernel) if self.kernel is not None else default_kernel()
            self._start(kernel, rows.shape[1], origin_of(kernel, box_around(rows)))
            self._add(rows, values, noise, learn=True)
        return self

    @locked
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Points, y: Values | Points, alpha: float | np.ndarray | None = None
    ) -> Self:
        """Append observations with the present hyperparameters. O(t^2) for each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; repeated inputs are merged with their earlier observations.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observed values.
        alpha : float or array-like of shape (n_samples,), default=None
            Noise variance of these observations. None stands for the parameter ``alpha``, which
            must then be a number.

        Returns
        -------
        self : OnlineGaussianProcessRegressor
        """
        with unchanged_by_errors(self):
            first = not hasattr(self, "process_")
            rows, y = validate_data(
                self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, reset=first
            )
            values = single_or_many(y)
            if alpha is None and not first and np.ndim(self.alpha):
                raise ValueError("pass alpha for these samples: the parameter alpha is an array")
            noise = check_noise_variances(self.alpha if alpha is None else alpha, len(rows))
            if first:
                kernel = clone(self.kernel) if self.kernel else default_kernel()
                self._start(kernel, rows.shape[1], origin_of(kernel, box_around(rows)))
            elif len(self.process_.observed) and values.shape[1:] != self._targets_shape:
                raise ValueError(f"y must have targets of shape {self._targets_shape}, as before")
            self._add(rows, values, noise)
        return self

    @overload
    def predict(
        self, X: Points, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> np.ndarray: ...

    @overload
    def predict(
        self, X: Points, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(
        self, X: Points, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(
        self, X: Points, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict(
        self, X: Points, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the posterior mean at X, and on request standard deviations or the covariance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points or descriptors.
        return_std, return_cov : bool, default=False
            At most one may be True.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
        y_std : ndarray of the same shape, only if ``return_std``
        y_cov : ndarray of shape (n_samples, n_samples[, n_targets]), only if ``return_cov``
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            moments = self._moments(rows, return_std, return_cov)
        check_reached(moments, rows)
        return moments

    def _moments(self, X: np.ndarray, return_std: bool, return_cov: bool) -> Any:
        """Return the mean at points, and the deviations or the covariance if requested."""
        if not hasattr(self, "process_"):
            kernel = self.kernel if self.kernel is not None else default_kernel()
            q = check_size(self.n_targets or 1, "n_targets", most=MOST_QUERIES)
            mean = np.zeros((len(X), q) if q > 1 else len(X))
            second = kernel(X) if return_cov else variances(kernel, X) if return_std else None
            return self._predictions(mean, second, np.ones(q), return_std)
        process = self.process_
        K = process.covariance(Functionals.of_rows(X), process.observed)
        weights = self.alpha_
        mean = K @ weights
        scale = np.broadcast_to(self._y_train_std, mean.shape[1:] or 1)
        mean = mean * self._y_train_std + self._y_train_mean
        if not return_std and not return_cov:
            return mean
        process.posterior.solve_rows(K)
        if return_cov:
            prior = self.kernel_(process.relative(X))
            return self._predictions(mean, prior - K @ K.T, scale, False)
        return self._predictions(
            mean, process.posterior_variances(variances(self.kernel_, X), K), scale, True
        )

    @staticmethod
    def _predictions(mean: np.ndarray, second: Any, scale: np.ndarray, std: bool) -> Any:
        """Return mean and second moment, scaled to the units of each target."""
        if second is None:
            return mean
        second = second[..., None] * scale**2 if mean.ndim > 1 else second * scale[0] ** 2
        return mean, np.sqrt(second) if std else second

    @locked
    def sample_y(self, X: Points, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draw joint samples from the posterior at X.

        The draws use the symmetric root of the covariance. A seed gives the same draws on every
        machine, but not those of scikit-learn, which depend on the signs of eigenvectors.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            Points or descriptors.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seeds the draws.

        Returns
        -------
        samples : ndarray of shape (n_samples_X, n_samples) or \
                (n_samples_X, n_targets, n_samples)
        """
        rng = check_random_state(random_state)
        mean, cov = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return joint_draws(mean, cov, n_samples, rng)
        draws = [joint_draws(mean[:, j], cov[..., j], n_samples, rng) for j in range(mean.shape[1])]
        return np.stack(draws, axis=1)

    @locked
    def log_marginal_likelihood(
        self, theta: Values | None = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """Return the log marginal likelihood of the (normalised) observations at ``theta``.

        Parameters
        ----------
        theta : array-like of shape (n_kernel_params,), default=None
            Log-transformed hyperparameters; None for those of ``kernel_``.
        eval_gradient : bool, default=False
            Whether to return the gradient in theta as well; needs ``theta``.
        clone_kernel : bool, default=True
            Whether ``kernel_`` keeps its hyperparameters; False sets them to ``theta``.

        Returns
        -------
        log_likelihood : numpy.float64
        gradient : ndarray of shape (n_kernel_params,), only if ``eval_gradient``
        """
        if theta is None:
            if eval_gradient:
                raise ValueError("the gradient can only be evaluated at a given theta")
            return self.log_marginal_likelihood_value_
        process = self.process_
        constant = -0.5 * sum(process.posterior.repeat_terms())
        kernel = self.kernel_.clone_with_theta(theta) if clone_kernel else self.kernel_
        kernel.theta = theta
        result = log_likelihood(
            kernel, self._distinct, process.noises(), self.y_train_, eval_gradient
        )
        return (result[0] + constant, result[1]) if eval_gradient else result + constant

    @property
    @locked
    def X_train_(self) -> np.ndarray:
        """Distinct inputs observed so far, shape (n_distinct, n_features)."""
        return self.process_.observed.rows.copy()

    @property
    @locked
    def y_train_(self) -> np.ndarray:
        """Normalised targets of the distinct inputs."""
        if self._many is not None:
            return (self._many - self._y_train_mean) / self._y_train_std
        return self.process_.posterior.targets()

    @property
    @locked
    def L_(self) -> np.ndarray:
        """Lower Cholesky factor of the Gram matrix plus noise."""
        return self.process_.posterior.factor()

    @property
    @locked
    def alpha_(self) -> np.ndarray:
        """Dual coefficients."""
        if self._many is None:
            return self.process_.posterior.weights()
        rows = np.ascontiguousarray(self.y_train_.T)
        self.process_.posterior.solve_rows(rows)
        self.process_.posterior.solve_rows(rows, transposed=True)
        return rows.T

    @property
    @locked
    def log_marginal_likelihood_value_(self) -> float:
        """Log marginal likelihood of all observations at the hyperparameters of ``kernel_``."""
        if self._many is not None:
            noises = self.process_.noises()
            return log_likelihood(self.kernel_, self._distinct, noises, self.y_train_)
        return np.float64(self.process_.posterior.log_marginal_likelihood())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    # -- tracked candidates -----------------------------------------------------------------

    @locked
    def track(self, X: Points) -> Self:
        """Track the posterior at candidates X, in O(t) for each of them and each observation.

        Parameters
        ----------
        X : array-like of shape (n_candidates, n_features)
            Points or descriptors; they replace all tracked candidates.

        Returns
        -------
        self : OnlineGaussianProcessRegressor
        """
        first = not hasattr(self, "process_")
        rows = validate_data(self, X, dtype=np.float64, reset=first)
        if first:
            self._start(clone(self.kernel) if self.kernel else default_kernel(), rows.shape[1])
        if self._many is not None:
            raise ValueError("tracked candidates need a single target")
        self.process_.track(rows)
        return self

    @overload
    def predict_tracked(self, return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict_tracked(self, return_std: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict_tracked(
        self, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict_tracked(
        self, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return posterior mean, and standard deviation without noise, of the tracked candidates.

        Returns
        -------
        mean : ndarray of shape (n_candidates,)
        std : ndarray of shape (n_candidates,), only if ``return_std``
            Without the variance of a WhiteKernel, in contrast to :meth:`predict`.
        """
        mean, std = self.process_.tracked_moments()
        return (mean, std) if return_std else mean

    # -- start, observe and learn, from validated inputs ---------------------------------------

    @locked
    def _start(self, kernel: Kernel, n_columns: int, origin: np.ndarray | None = None) -> Self:
        """Start without observations, with a kernel that is not cloned.

        Parameters
        ----------
        kernel : Kernel
            The kernel in use from now on; learning changes it.
        n_columns : int
            Number of columns of X.
        origin : ndarray of shape (n_columns,) or None, default=None
            See :class:`GaussianProcess`.

        Returns
        -------
        self : OnlineGaussianProcessRegressor
        """
        return self._begin(GaussianProcess(kernel, n_columns, origin))

    def _begin(self, process: GaussianProcess) -> Self:
        """Start with ``process``, which has no observations."""
        self.n_features_in_: int = process.n_columns
        self.process_: GaussianProcess = process
        self._seen: list[np.ndarray] = []
        self._many: np.ndarray | None = None
        self._units: tuple[Any, Any] = (0.0, 1.0)
        self._targets_shape: tuple[int, ...] = ()
        return self

    @locked
    def _with_model(self, model: Model) -> Self:
        """Return this regressor if it has the process of ``model``, otherwise a copy with it."""
        if self.process_ is model.process:
            return self
        out = copy(self)
        out.process_ = model.process
        return out

    @property
    @locked
    def kernel_(self) -> Kernel:
        """The kernel used for prediction, with learned hyperparameters."""
        return self.process_.kernel

    @property
    def _y_train_mean(self) -> Any:
        return self.process_.offset if self._many is None else self._units[0]

    @property
    def _y_train_std(self) -> Any:
        return self.process_.scale if self._many is None else self._units[1]

    @property
    def _distinct(self) -> Functionals:
        """Distinct inputs observed so far, minus the origin."""
        process, observed = self.process_, self.process_.observed
        if process.origin is None:
            return observed
        row_sets = [process.relative(row_set) for row_set in observed]
        return Functionals.of(row_sets, process.n_columns)

    def _add(self, X: np.ndarray, y: np.ndarray, noise: np.ndarray, learn: bool = False) -> None:
        """Observe one functional for each row of X, with targets in the user's units."""
        process, many = self.process_, y.ndim == 2
        if many and len(process.tracked):
            raise ValueError("tracked candidates need a single target")
        units = self._scaling([*self._seen, y])
        if learn:
            self._learn(X, (y - units[0]) / units[1], noise)
            if self.optimizer is not None and self.kernel_.n_dims:
                warn_at_bounds(self.kernel_)
        # From units of the normalised targets, as in scikit-learn, to the user's units.
        noise = noise * process.scale**2
        process.observe_all(X, y[:, 0] if many else y, noise, merge=not many)
        if many:
            self._many = y if self._many is None else np.concatenate([self._many, y])
        if self.normalize_y:
            self._seen = [*self._seen, y]
        self._targets_shape = y.shape[1:]
        self._units = units
        process.set_units(*(float(np.ravel(unit)[0]) for unit in units))

    def _learn(self, X: np.ndarray, Y: np.ndarray, noise: np.ndarray) -> None:
        """Maximise the log marginal likelihood over the hyperparameters of ``kernel_``."""
        process = self.process_
        if Y.ndim == 1:
            numbers, first = unique_rows(X, merge=not process.white)
            merged = ScaledSamples(numbers, Y, noise).merged()
            X, Y, noise = X[first], merged.y, merged.noise
        self._maximise(process.kernel, Functionals.of_rows(process.relative(X)), noise, Y)
        process.reset_evaluator()

    def _maximise(
        self,
        kernel: Kernel,
        functionals: Functionals,
        noise: np.ndarray,
        Y: np.ndarray,
    ) -> None:
        if self.optimizer is None or kernel.n_dims == 0 or not len(functionals):
            return
        maximise_likelihood(
            kernel,
            functionals,
            noise,
            Y,
            self.optimizer,
            self.n_restarts_optimizer,
            self.random_state,
        )

    @locked
    def _relearn(self, center: float, scale: float) -> Self:
        """Learn the hyperparameters from all observations, in given units of the targets.

        Noise variances keep their value in the user's units. O(n^3) for n distinct inputs.

        Parameters
        ----------
        center, scale : float
            The targets are (y - center) / scale.

        Returns
        -------
        self : OnlineGaussianProcessRegressor
        """
        process, kernel = self.process_, clone(self.process_.kernel)
        merged = process.merged().to_units(process.offset, process.scale, center, scale)
        self._maximise(kernel, self._distinct, merged.noise, merged.y)
        self.process_ = process.with_hyperparameters(kernel.theta, merged, center, scale)
        return self

    def _scaling(self, seen: list[np.ndarray]) -> tuple[Any, Any]:
        """Return centre and scale of all targets observed so far, as scikit-learn does."""
        if not self.normalize_y:
            return 0.0, 1.0
        return center_and_scale(np.concatenate(seen))
