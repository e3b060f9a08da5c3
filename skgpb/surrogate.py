r"""The one incremental posterior that every algorithm stands on.

An observation is y = phi(f) + eps with phi linear, so all it takes are covariances between
functionals. A functional is one row of descriptors (a point, a box, whatever the kernel takes)
or, where ``offsets`` are given, the mean over a block of rows.

References
----------
.. [RW2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning",
   MIT Press, 2006. Algorithm 2.1 and equation 5.9.
.. [Zhang2022] M. Zhang, R. Tsuchida and C. S. Ong, "Gaussian Process Bandits with Aggregated
   Feedback", AAAI 2022. Equation 4 and Appendix B.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from skgpb._core._posterior import Posterior
from skgpb.exceptions import NumericalWarning
from skgpb.learning import MOST_ROWS, check_restarts, covariance_of
from skgpb.locks import Guarded, locked
from skgpb.roots import joint_draws
from skgpb.utils import (
    MOST_RESTARTS,
    Integral,
    Interval,
    StrOptions,
    check_numbers,
    fit_context,
    unchanged_by_errors,
    warn_at_bounds,
)

# Jitter, relative to the largest prior variance: the smallest that works, tried in this order.
# Measured at condition 1e12, 1e-10 moves predictions by 8e-7 and 1e-6 by 6e-4.
JITTERS = tuple(10.0**e for e in range(-10, -3))


class Functionals:
    """A growing list of functionals: one descriptor row each, or the mean over several.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Descriptor rows.
    offsets : ndarray of shape (n + 1,) or None
        Functional i averages rows ``offsets[i]:offsets[i + 1]``; None where each is one row.
    """

    def __init__(self, n_columns: int) -> None:
        self._n = 0
        self._buffer = np.empty((8, n_columns))
        self._blocks: list[np.ndarray] | None = None
        self._map: Any = None

    @classmethod
    def of(cls, blocks: list[np.ndarray], n_columns: int) -> Functionals:
        """Return the functionals of some blocks of rows, to be read and not to grow."""
        out = cls.__new__(cls)
        out._n = len(blocks)
        out._map = None
        several = any(len(block) != 1 for block in blocks)
        out._blocks = blocks if several else None
        if several or not blocks:
            out._buffer = np.empty((0, n_columns))
        else:
            out._buffer = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        return out

    def __len__(self) -> int:
        return self._n

    @property
    def rows(self) -> np.ndarray:
        """Descriptor rows of all functionals, one below the other."""
        if self._blocks is not None:
            return np.concatenate(self._blocks) if self._blocks else self._buffer[:0]
        return self._buffer[: self._n]

    @property
    def offsets(self) -> np.ndarray | None:
        """Where each functional's rows begin, or None where each has one."""
        if self._blocks is None:
            return None
        return np.concatenate([[0], np.cumsum([len(block) for block in self._blocks])])

    def features(self, feature_map: Any) -> np.ndarray:
        """Features (n, r) of every functional, found once for each map."""
        if self._map is not feature_map:
            self._map, self._known = feature_map, np.zeros(0, dtype=bool)
            self._phi = np.empty((0, feature_map.n_features))
        self._reserve_features()
        new = np.flatnonzero(~self._known[: self._n])
        if len(new):
            blocks = [self[i] for i in new.tolist()]
            starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
            self._phi[new] = feature_map.means(np.concatenate(blocks), starts)
            self._known[new] = True
        return self._phi[: self._n]

    def _reserve_features(self) -> None:
        spare = 2 * self._n - len(self._known)
        if len(self._known) < self._n:
            self._phi = np.concatenate([self._phi, np.empty((spare, self._phi.shape[1]))])
            self._known = np.concatenate([self._known, np.zeros(spare, dtype=bool)])

    def put(self, i: int, other: Functionals, j: int) -> None:
        """Replace functional i by functional j of another list, or append it."""
        self[i] = other[j]
        if self._map is not None and self._map is other._map and other._known[j]:
            self._reserve_features()
            self._phi[i], self._known[i] = other._phi[j], True

    def one(self, i: int) -> Functionals:
        """Return functional i by itself, to be read and not to grow."""
        block = self[i]
        out = Functionals.of([block], block.shape[1])
        if self._map is not None and self._known[i]:
            out._map, out._phi, out._known = self._map, self._phi[i : i + 1], self._known[i : i + 1]
        return out

    def copy(self) -> Functionals:
        """Return an independent copy."""
        out = Functionals(self._buffer.shape[1])
        out.__setstate__(self.__getstate__())
        if self._blocks is not None:
            out._blocks = list(self._blocks)
        if self._map is not None:
            out._map, out._phi, out._known = self._map, self._phi.copy(), self._known.copy()
        return out

    def __getitem__(self, i: int) -> np.ndarray:
        return self._buffer[i : i + 1] if self._blocks is None else self._blocks[i]

    def __setitem__(self, i: int, block: np.ndarray) -> None:
        """Replace functional i, or append it where i is the length."""
        if self._blocks is None and len(block) != 1:
            self._blocks = [self._buffer[j : j + 1].copy() for j in range(self._n)]
        if self._blocks is not None:
            self._blocks[i : i + 1] = [np.array(block)]
        else:
            if i == len(self._buffer):
                self._buffer = np.concatenate([self._buffer, np.empty_like(self._buffer)])
            self._buffer[i] = block[0]
        if self._map is not None and i < len(self._known):
            self._known[i] = False
        self._n = max(self._n, i + 1)

    def extend(self, rows: np.ndarray) -> None:
        """Append one functional per row."""
        if self._blocks is not None:
            for row in rows:
                self[self._n] = row[None]
            return
        if self._n + len(rows) > len(self._buffer):
            spare = max(self._n, len(rows))
            grown = np.empty((self._n + len(rows) + spare, self._buffer.shape[1]))
            grown[: self._n] = self.rows
            self._buffer = grown
        self._buffer[self._n : self._n + len(rows)] = rows
        self._n += len(rows)

    def thinned(self, most: int) -> Functionals:
        """Functionals of at most ``most`` rows in all, evenly chosen, and at least one each."""
        if self._blocks is None or len(self.rows) <= most:
            return self
        each = max(1, most // self._n)
        thin = Functionals(self._buffer.shape[1])
        for i, block in enumerate(self._blocks):
            chosen = np.arange(min(each, len(block))) * len(block) // min(each, len(block))
            thin[i] = block[chosen]
        return thin

    def __getstate__(self) -> dict[str, Any]:
        return {"_n": self._n, "_blocks": self._blocks, "_buffer": self._buffer[: self._n].copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._map = None
        if not len(self._buffer):
            self._buffer = np.empty((8, self._buffer.shape[1]))


def contains_white_noise(kernel: Kernel) -> bool:
    """Whether a WhiteKernel occurs anywhere in a kernel expression."""
    parts = [kernel, *kernel.get_params(deep=True).values()]
    return any(isinstance(part, WhiteKernel) for part in parts)


def key_of(block: np.ndarray) -> bytes:
    """Identity of a functional: equal descriptors, equal key (-0.0 counts as 0.0)."""
    return (block + 0.0).tobytes()


def first_of(value: Any) -> float:
    """First of one number or several; optimizers, who have one, ask in every round."""
    return value if type(value) is float else float(np.ravel(value)[0])


def single_or_many(y: Any) -> np.ndarray:
    """Targets (n,) or (n, q) with q > 1: a single column is one target."""
    y = np.asarray(y, dtype=np.float64)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def block_means(K: np.ndarray, offsets: np.ndarray | None, axis: int) -> np.ndarray:
    """Average blocks of rows (axis 0) or columns (axis 1) of a covariance matrix."""
    if offsets is None:
        return K
    sizes = np.diff(offsets)
    sums = np.add.reduceat(K, offsets[:-1], axis=axis)
    return sums / sizes.reshape([-1 if a == axis else 1 for a in range(K.ndim)])


def feature_map_of(kernel: Kernel, n_columns: int) -> Any:
    """Features of a kernel that has finitely many, None for any other."""
    make = getattr(kernel, "feature_map", None)
    return None if make is None else make(n_columns)


def gram_of(kernel: Kernel, functionals: Functionals, eval_gradient: bool) -> tuple:
    """Covariances (n, n) of functionals, and on demand the gradient (n, n, p), else None."""
    rows, offsets = functionals.rows, functionals.offsets
    features = feature_map_of(kernel, rows.shape[1])
    if features is not None:
        starts = np.arange(len(rows)) if offsets is None else offsets[:-1]
        if eval_gradient:
            return features.gram_gradient(rows, starts)
        phi = features.means(rows, starts)
        return phi @ phi.T, None
    gradient = None
    if eval_gradient:
        K, gradient = kernel(rows, eval_gradient=True)
        gradient = block_means(block_means(gradient, offsets, 0), offsets, 1)
    else:
        K = kernel(rows)
    return block_means(block_means(K, offsets, 0), offsets, 1), gradient


def log_likelihood(
    kernel: Kernel,
    functionals: Functionals,
    noise: np.ndarray,
    Y: np.ndarray,
    eval_gradient: bool = False,
) -> Any:
    """Log marginal likelihood of targets Y (n,) or (n, q), and its gradient in theta.

    [RW2006]_ equation 5.9 with the Gram matrix of the functionals.
    """
    K, gradient = gram_of(kernel, functionals, eval_gradient)
    K[np.diag_indices_from(K)] += noise
    try:
        L = cholesky(K, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        value = np.float64(-np.inf)
        return (value, np.zeros_like(kernel.theta)) if eval_gradient else value
    Y = Y[:, None] if Y.ndim == 1 else Y
    weights = cho_solve((L, True), Y, check_finite=False)
    n, q = Y.shape
    value = -0.5 * np.einsum("ik,ik->", Y, weights)
    value -= q * (np.log(np.diag(L)).sum() + n / 2 * np.log(2 * np.pi))
    if not eval_gradient:
        return value
    inner = weights @ weights.T - q * cho_solve((L, True), np.eye(n), check_finite=False)
    return value, 0.5 * np.einsum("ij,jik->k", inner, gradient)


def default_kernel() -> Kernel:
    """The prior of scikit-learn's GaussianProcessRegressor, amplitude and length scale learned."""
    return ConstantKernel(1.0) * RBF(1.0)


class Merged:
    """Samples with repeats merged, see ``skgpb._core._posterior``.

    Attributes
    ----------
    first : list of int
        Number of the first sample of each distinct functional.
    y, noise : list of float
        Precision-weighted mean and its noise variance.
    counts : list of int
        Samples behind it.
    square, log : float
        What the merged samples add to minus twice the log likelihood.
    """

    def __init__(self, keys: list[bytes], y: np.ndarray, noise: np.ndarray) -> None:
        self.first: list[int] = []
        self.y: list[float] = []
        self.noise: list[float] = []
        self.counts: list[int] = []
        self.square = self.log = 0.0
        position: dict[bytes, int] = {}
        for sample, key in enumerate(keys):
            i = position.setdefault(key, len(self.first))
            value, variance = float(y[sample]), float(noise[sample])
            if i == len(self.first):
                self.first.append(sample)
                self.y.append(value)
                self.noise.append(variance)
                self.counts.append(1)
                continue
            self.counts[i] += 1
            gap, total = value - self.y[i], self.noise[i] + variance
            if total == 0.0:
                self.y[i] += gap / self.counts[i]
                continue
            self.square += gap**2 / total
            self.log += np.log(2 * np.pi * total)
            self.y[i] += gap * (self.noise[i] / total)
            self.noise[i] *= variance / total


class OnlineGaussianProcessRegressor(Guarded, MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Gaussian process regression that takes observations one at a time, in O(t^2).

    A drop-in for :class:`sklearn.gaussian_process.GaussianProcessRegressor` on inputs that are
    vectors (sequences and other objects are not taken): the same parameters, methods and
    results, plus :meth:`partial_fit`, which appends observations to the Cholesky factor instead
    of refitting, a noise variance for each observation, and *tracked* candidates whose posterior
    mean and standard deviation follow every observation in O(t) each. Repeated inputs are merged
    exactly, so that cost and memory follow the number of distinct inputs.

    With a kernel from :mod:`skgpb.kernels` the inputs are descriptors of averages, integrals
    and so on; the regression is then on aggregated data.

    Parameters
    ----------
    kernel : Kernel, default=None
        Covariance of the functionals observed. None stands for
        ``ConstantKernel(1.0) * RBF(1.0)``, both learned.
    alpha : float or ndarray of shape (n_samples,), default=1e-10
        Noise variance added to the diagonal, in units of the normalised targets; an array
        holds one value for each sample given to :meth:`fit`.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        How :meth:`fit` maximises the log marginal likelihood over the kernel's
        hyperparameters; None keeps them. A callable has the signature of scikit-learn's.
    n_restarts_optimizer : int, default=0
        Further starts, drawn log-uniformly from the bounds.
    normalize_y : bool, default=False
        Whether to centre and scale targets to unit variance, for the targets seen so far.
    copy_X_train : bool, default=True
        Accepted for compatibility; training inputs are always copied because they grow.
    n_targets : int, default=None
        Number of targets, which decides the shape of predictions before :meth:`fit`.
    random_state : int, RandomState instance or None, default=None
        Seeds the restarts.

    Attributes
    ----------
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
        Where the Gram matrix is not numerically positive definite. The smallest jitter of
        1e-10, 1e-9, ..., 1e-4 times the largest prior variance that helps is added; beyond
        that ``numpy.linalg.LinAlgError`` is raised and the state is left as it was.

    Notes
    -----
    With a WhiteKernel inside ``kernel`` repeats are kept apart, because its noise is not known
    before the hyperparameters are. Several targets share one factor; they cannot be tracked.

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

    _parameter_constraints: dict = {
        "kernel": [None, Kernel],
        "alpha": "no_validation",  # by _noise_of, which knows the number of samples
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, MOST_RESTARTS, closed="both")],
        "normalize_y": ["boolean"],
        "copy_X_train": ["boolean"],
        "n_targets": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        alpha: float | np.ndarray = 1e-10,
        optimizer: str | Callable | None = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        copy_X_train: bool = True,
        n_targets: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.copy_X_train = copy_X_train
        self.n_targets = n_targets
        self.random_state = random_state

    # -- scikit-learn's face ----------------------------------------------------------------

    @locked
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, learn the hyperparameters and condition on (X, y).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, or descriptors of whatever the kernel takes.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observed values.

        Returns
        -------
        self : OnlineGaussianProcessRegressor

        Raises
        ------
        numpy.linalg.LinAlgError
            Where no documented jitter makes the Gram matrix positive definite.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            For hyperparameters that learning left at a bound, or where it stopped early.
        """
        with unchanged_by_errors(self):
            X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
            y = single_or_many(y)
            n_targets = y.shape[1] if y.ndim == 2 else 1
            if self.n_targets is not None and n_targets != self.n_targets:
                raise ValueError(f"y has {n_targets} targets, but n_targets={self.n_targets}")
            noise = self._noise_of(self.alpha, len(X))
            kernel = clone(self.kernel) if self.kernel is not None else default_kernel()
            self._start(kernel, X.shape[1])
            self._add(X, y, noise, learn=True)
        return self

    @locked
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, alpha: float | np.ndarray | None = None) -> Self:
        """Append observations, keeping the hyperparameters. O(t^2) for each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; those seen before are merged with their earlier observations.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observed values.
        alpha : float or array-like of shape (n_samples,), default=None
            Noise variance of these observations. None takes the parameter ``alpha``, which
            must then be a number.

        Returns
        -------
        self : OnlineGaussianProcessRegressor
        """
        with unchanged_by_errors(self):
            first = not hasattr(self, "kernel_")
            X, y = validate_data(
                self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, reset=first
            )
            y = single_or_many(y)
            if alpha is None and not first and np.ndim(self.alpha):
                raise ValueError("pass alpha for these samples: the parameter alpha is an array")
            noise = self._noise_of(self.alpha if alpha is None else alpha, len(X))
            if first:
                self._start(clone(self.kernel) if self.kernel else default_kernel(), X.shape[1])
            elif len(self._observed) and y.shape[1:] != self._targets_shape:
                raise ValueError(f"y must have targets of shape {self._targets_shape}, as before")
            self._add(X, y, noise)
        return self

    @locked
    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Posterior mean at X, with standard deviations or covariance on demand.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points or descriptors.
        return_std, return_cov : bool, default=False
            At most one of them.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
        y_std : ndarray of the same shape, only if ``return_std``
        y_cov : ndarray of shape (n_samples, n_samples[, n_targets]), only if ``return_cov``
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        fitted = hasattr(self, "kernel_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if not fitted:
            kernel = self.kernel if self.kernel is not None else default_kernel()
            q = self.n_targets or 1
            mean = np.zeros((len(X), q) if q > 1 else len(X))
            second = kernel(X) if return_cov else kernel.diag(X) if return_std else None
            return self._predictions(mean, second, np.ones(q), return_std)
        K = self._cross_observed(X)
        weights = self.alpha_
        mean = K @ weights
        scale = np.broadcast_to(self._y_train_std, mean.shape[1:] or 1)
        mean = mean * self._y_train_std + self._y_train_mean
        if not return_std and not return_cov:
            return mean
        self._posterior.solve_rows(K)
        if return_cov:
            return self._predictions(mean, self.kernel_(self._relative(X)) - K @ K.T, scale, False)
        var = self.kernel_.diag(X) - np.einsum("ij,ij->i", K, K)
        return self._predictions(mean, np.maximum(var, 0.0), scale, True)

    @staticmethod
    def _predictions(mean: np.ndarray, second: Any, scale: np.ndarray, std: bool) -> Any:
        """Bring the second moment, shared by all targets, to each target's scale."""
        if second is None:
            return mean
        second = second[..., None] * scale**2 if mean.ndim > 1 else second * scale[0] ** 2
        return mean, np.sqrt(second) if std else second

    @locked
    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw joint samples from the posterior at X.

        The draws are made by the symmetric root of the covariance. A seed gives the same draws on
        every machine, but not those of scikit-learn, which depend on the signs of eigenvectors.

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
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """Log marginal likelihood of the (normalised) observations at ``theta``.

        Parameters
        ----------
        theta : array-like of shape (n_kernel_params,), default=None
            Log-transformed hyperparameters; None for those of ``kernel_``.
        eval_gradient : bool, default=False
            Whether to return the gradient in theta as well; needs ``theta``.
        clone_kernel : bool, default=True
            If False ``kernel_`` itself is set to ``theta``.

        Returns
        -------
        log_likelihood : numpy.float64
        gradient : ndarray of shape (n_kernel_params,), only if ``eval_gradient``
        """
        if theta is None:
            if eval_gradient:
                raise ValueError("the gradient can only be evaluated at a given theta")
            return self.log_marginal_likelihood_value_
        noise = self._alpha_train()
        constant = -0.5 * sum(self._posterior.repeat_terms())
        kernel = self.kernel_.clone_with_theta(theta) if clone_kernel else self.kernel_
        kernel.theta = theta
        result = log_likelihood(kernel, self._observed, noise, self.y_train_, eval_gradient)
        return (result[0] + constant, result[1]) if eval_gradient else result + constant

    @property
    @locked
    def X_train_(self) -> np.ndarray:
        """Distinct inputs observed so far, shape (n_distinct, n_features)."""
        return self._observed.rows.copy()

    @property
    @locked
    def y_train_(self) -> np.ndarray:
        """Normalised targets of the distinct inputs."""
        if self._many is not None:
            return (self._many - self._y_train_mean) / self._y_train_std
        return self._posterior.targets()

    @property
    @locked
    def L_(self) -> np.ndarray:
        """Lower Cholesky factor of the Gram matrix plus noise."""
        return self._posterior.factor()

    @property
    @locked
    def alpha_(self) -> np.ndarray:
        """Dual coefficients."""
        if self._many is None:
            return self._posterior.weights()
        rows = np.ascontiguousarray(self.y_train_.T)
        self._posterior.solve_rows(rows)
        self._posterior.solve_rows(rows, transposed=True)
        return rows.T

    @property
    @locked
    def log_marginal_likelihood_value_(self) -> float:
        """Log marginal likelihood of all observations at the hyperparameters of ``kernel_``."""
        if self._many is not None:
            return log_likelihood(self.kernel_, self._observed, self._alpha_train(), self.y_train_)
        return np.float64(self._posterior.log_marginal_likelihood())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    # -- tracked candidates -----------------------------------------------------------------

    @locked
    def track(self, X: Any) -> Self:
        """Follow the posterior at candidates X from now on, in O(t) each per observation.

        Parameters
        ----------
        X : array-like of shape (n_candidates, n_features)
            Points or descriptors; they replace those tracked before.

        Returns
        -------
        self : OnlineGaussianProcessRegressor
        """
        first = not hasattr(self, "kernel_")
        X = validate_data(self, X, dtype=np.float64, reset=first)
        if first:
            self._start(clone(self.kernel) if self.kernel else default_kernel(), X.shape[1])
        if self._many is not None:
            raise ValueError("tracked candidates need a single target")
        self._tracked = Functionals(X.shape[1])
        self._posterior.untrack_all()
        self._track_blocks(range(len(X)), [x[None] for x in X])
        return self

    @locked
    def predict_tracked(self, return_std: bool = False) -> Any:
        """Posterior mean, and standard deviation without noise, of the tracked candidates.

        Returns
        -------
        mean : ndarray of shape (n_candidates,)
        std : ndarray of shape (n_candidates,), only if ``return_std``
            Unlike :meth:`predict` it leaves out the variance of a WhiteKernel.
        """
        mean = self._posterior.tracked_mean() * self._y_train_std + self._y_train_mean
        if not return_std:
            return mean
        return mean, np.sqrt(self._posterior.tracked_var()) * self._y_train_std

    # -- the posterior, for optimizers: inputs are validated, units are normalised ------------

    def _start(self, kernel: Kernel, n_columns: int) -> None:
        """Begin without observations."""
        self.kernel_ = kernel
        self.n_features_in_ = n_columns
        # What stationary kernels may subtract from rows far from zero, set by optimizers.
        self._origin: np.ndarray | None = None
        self._y_train_mean = 0.0
        self._y_train_std = 1.0
        self._seen: list[np.ndarray] = []
        self._many: np.ndarray | None = None
        self._targets_shape: tuple[int, ...] = ()
        self._tracked = Functionals(n_columns)
        self._observed = Functionals(n_columns)
        self._position: dict[bytes, int] = {}
        self._prepare_kernel()
        self._posterior = Posterior()

    def _prepare_kernel(self) -> None:
        fast = getattr(self.kernel_, "gaussian_cells", None)
        self._cells = fast(self.n_features_in_ // 2) if fast else None
        self._map = feature_map_of(self.kernel_, self.n_features_in_)
        self._white = contains_white_noise(self.kernel_)

    @staticmethod
    def _noise_of(alpha: Any, n: int) -> np.ndarray:
        single = not hasattr(alpha, "__len__") or getattr(alpha, "ndim", 1) == 0
        noise = check_numbers([alpha] if single else alpha, "alpha", ensure_2d=False)
        if noise.shape == (1,):
            noise = np.full(n, noise)
        if noise.shape != (n,):
            raise ValueError(
                f"alpha must be a number or an array with one entry for each of {n} samples, "
                f"got shape {noise.shape}"
            )
        if not (noise >= 0.0).all():
            raise ValueError("alpha holds noise variances and must be finite and >= 0")
        return noise

    def _alpha_train(self) -> np.ndarray:
        """Noise variances of the distinct observations, without the kernel's own noise."""
        noise = self._posterior.noises()
        return noise - self._nuggets(self._observed) if self._white else noise

    def _nuggets(self, functionals: Functionals) -> np.ndarray:
        """Variance of a WhiteKernel in each functional: what k(x, x) has over k(x, copy of x)."""
        if not self._white:
            return np.zeros(len(functionals))
        if functionals.offsets is None and hasattr(self.kernel_, "noise_diag"):
            return self.kernel_.noise_diag(functionals.rows)
        blocks = [functionals[i] for i in range(len(functionals))]
        return np.array(
            [np.mean(self.kernel_(b)) - np.mean(self.kernel_(b, b.copy())) for b in blocks]
        )

    def _cross(self, A: Functionals, B: Functionals) -> np.ndarray:
        """Noiseless covariances (len(A), len(B)), a new C-contiguous array."""
        if not len(A) or not len(B):
            return np.zeros((len(A), len(B)))
        if self._map is not None:
            return A.features(self._map) @ B.features(self._map).T
        if self._cells is not None:
            K = self._cells.cross(A.rows, B.rows)
        else:
            K = self.kernel_(self._relative(A.rows), self._relative(B.rows))
            K = np.asarray(K, dtype=np.float64, order="C")
        return block_means(block_means(K, A.offsets, 0), B.offsets, 1)

    def _relative(self, rows: np.ndarray) -> np.ndarray:
        """Descriptor rows as a kernel takes them that sees nothing but differences."""
        return rows if self._origin is None else rows - self._origin

    def _cross_observed(self, X: np.ndarray) -> np.ndarray:
        functionals = Functionals(X.shape[1])
        functionals.extend(X)
        return self._cross(functionals, self._observed)

    def _prior_var(self, functionals: Functionals) -> np.ndarray:
        """Noiseless prior variances, shape (n,)."""
        if self._map is not None:
            phi = functionals.features(self._map)
            return np.einsum("ij,ij->i", phi, phi)
        if self._cells is not None and functionals.offsets is None:
            return self._cells.diag(functionals.rows)
        if functionals.offsets is None:
            diag = self.kernel_.diag(self._relative(functionals.rows))
            return np.asarray(diag, dtype=np.float64) - self._nuggets(functionals)
        blocks = [self._relative(functionals[i]) for i in range(len(functionals))]
        return np.array([np.mean(self.kernel_(b, b.copy())) for b in blocks])

    def _add(self, X: np.ndarray, y: np.ndarray, noise: np.ndarray, learn: bool = False) -> None:
        """Observe one functional per row of X, targets in the user's units."""
        many = y.ndim == 2
        if many and len(self._tracked):
            raise ValueError("tracked candidates need a single target")
        merge = not (self._white or many)
        keys = [key_of(x) for x in X] if merge else [str(i).encode() for i in range(len(X))]
        merged = Merged(keys, y[:, 0] if many else y, noise)
        position = self._position if merge else {}
        fresh = [j for j, s in enumerate(merged.first) if keys[s] not in position]
        old = [j for j, s in enumerate(merged.first) if keys[s] in position]
        if len(old) > 1 or (old and fresh):
            # One part may fail after another succeeded: what is changed in place is a copy.
            self._posterior, self._observed = self._posterior.copy(), self._observed.copy()
        new = Functionals(X.shape[1])
        new.extend(X[[merged.first[j] for j in fresh]])
        center, scale = self._scaling([*self._seen, y])
        if learn:
            Y = y if many else np.array(merged.y)
            self._learn(new, np.array(merged.noise), (Y - center) / scale)
            if self.optimizer is not None and self.kernel_.n_dims:
                warn_at_bounds(self.kernel_)
        self._append_block(
            new,
            (np.array([merged.y[j] for j in fresh]) - self._offset) / self._factor,
            np.array([merged.noise[j] for j in fresh]),
            np.array([merged.counts[j] for j in fresh], dtype=np.intp),
        )
        for j in old:
            i = position[keys[merged.first[j]]]
            value = (merged.y[j] - self._offset) / self._factor
            self._repeat(i, value, merged.noise[j], merged.counts[j])
        self._posterior.add_repeat_terms(merged.square / self._factor**2, merged.log)
        if merge:
            for j in fresh:
                position[keys[merged.first[j]]] = len(position)
        if many:
            self._many = y if self._many is None else np.concatenate([self._many, y])
        if self.normalize_y:
            self._seen = [*self._seen, y]
        self._targets_shape = y.shape[1:]
        self._rescale(center, scale)

    def _scaling(self, seen: list[np.ndarray]) -> tuple[Any, Any]:
        """Centre and scale of all targets seen, as scikit-learn computes them."""
        if not self.normalize_y:
            return 0.0, 1.0
        y = np.concatenate(seen)
        scale = np.std(y, axis=0)
        tiny = scale < 10 * np.finfo(float).eps * np.maximum(1.0, np.abs(y).max(axis=0))
        return np.mean(y, axis=0), np.where(tiny, 1.0, scale)[()]

    @property
    def _offset(self) -> float:
        return first_of(self._y_train_mean)

    @property
    def _factor(self) -> float:
        return first_of(self._y_train_std)

    def _rescale(self, center: Any, scale: Any) -> None:
        """Change the centre and scale of the targets, keeping every covariance."""
        offset, factor = self._offset, self._factor
        self._y_train_mean, self._y_train_std = center, scale
        if (offset, factor) != (self._offset, self._factor):
            raw = self._posterior.targets() * factor + offset
            targets = (raw - self._offset) / self._factor
            self._posterior.set_targets(targets, factor / self._factor)

    def _append_block(
        self, new: Functionals, y: np.ndarray, noise: np.ndarray, counts: np.ndarray
    ) -> None:
        """Observe functionals that were not observed before, all or none."""
        if not len(new):
            return
        K_new = self._cross(new, new)
        K_new[np.diag_indices_from(K_new)] = self._prior_var(new)
        arguments = (self._cross(new, self._observed), K_new)
        noise = noise + self._nuggets(new)
        K_tracked = self._cross(self._tracked, new)

        def append(jitter: float) -> bool:
            return self._posterior.append_block(*arguments, noise + jitter, y, K_tracked, counts)

        if not append(0.0):
            self._append_with_jitter(append, new)
        if self._observed._blocks is None and new.offsets is None:
            self._observed.extend(new.rows)
        else:
            for i in range(len(new)):
                self._observed.put(len(self._observed), new, i)
        if self._posterior.clipped or self._posterior.doubtful:
            self._report_losses()

    def _append_with_jitter(self, append: Callable[[float], bool], new: Functionals) -> None:
        """Observe ``new`` with the smallest jitter that helps, or raise and change nothing."""
        known = (new, self._tracked, self._observed)
        scale = max(float(self._prior_var(some).max(initial=0.0)) for some in known)
        for relative in JITTERS:
            if append(relative * scale):
                warn_of_jitter(relative * scale, len(new))
                return
        raise np.linalg.LinAlgError(
            f"the Gram matrix of kernel {self.kernel_} is not positive definite even with jitter "
            f"{JITTERS[-1] * scale:.1e}, the largest prior variance being {scale:.1e}; increase "
            "alpha"
        )

    def _report_losses(self) -> None:
        """Warn of what rounding cost, as ``skgpb.exceptions.NumericalWarning`` promises."""
        posterior, factor = self._posterior, self._factor
        clipped, doubtful = posterior.clipped * factor**2, posterior.doubtful * factor
        posterior.forget_losses()
        if clipped:
            message = f"a variance came out as {-clipped:.1e} and was set to 0: kernel "
            message += f"{self.kernel_} is no covariance, or alpha is too small for its rounding"
        else:
            message = f"rounding may move means by {doubtful:.1e}, more than their deviations say: "
            message += f"alpha is too small for covariances of kernel {self.kernel_}"
        warnings.warn(
            message,
            NumericalWarning,
            stacklevel=4,
        )

    def _repeat(self, i: int, y: float, noise: float, count: int = 1) -> None:
        """Observe functional i of the observed ones again."""
        before = self._posterior
        if before.repeat(i, noise, y, count):
            return
        jitter = JITTERS[0] * float(self._prior_var(self._observed.one(i))[0])
        if noise < jitter and before.repeat(i, noise + jitter, y, count):
            warn_of_jitter(jitter, 1)
            return
        # So much more precise than what was known of it that the digits of an update cancel.
        targets, noises, counts = before.targets(), before.noises(), before.counts()
        square, log = before.repeat_terms()
        total, gap = noises[i] + noise, y - targets[i]
        targets[i] += gap * (noises[i] / total)
        noises[i] *= noise / total
        counts[i] += count
        self._factorise(noises, targets, counts)
        self._posterior.add_repeat_terms(square + gap**2 / total, log + np.log(2 * np.pi * total))

    def _observe_tracked(self, slot: int, y: float, noise: float) -> None:
        """Observe a tracked functional; y and noise in normalised units. O(m t)."""
        block = self._tracked[slot]
        key = key_of(block)
        if not self._white and key in self._position:
            self._repeat(self._position[key], y, noise)
            return
        single = self._tracked.one(slot)
        k_tracked = self._cross(self._tracked, single)[:, 0].copy()
        if self._white:
            noise += self._nuggets(single)[0]
        append = partial(self._posterior.append_tracked, slot, k_tracked, noise, y)
        if not append():
            self._append_with_jitter(append, single)
        self._position.setdefault(key, len(self._observed))
        self._observed.put(len(self._observed), self._tracked, slot)
        if self._posterior.clipped or self._posterior.doubtful:
            self._report_losses()

    def _observe(self, block: np.ndarray, y: float, noise: float) -> None:
        """Observe any functional; y and noise in normalised units. O(t^2 + m t)."""
        key = key_of(block)
        if not self._white and key in self._position:
            self._repeat(self._position[key], y, noise)
            return
        single = Functionals.of([block], block.shape[1])
        self._append_block(single, np.array([y]), np.array([noise]), np.ones(1, dtype=np.intp))
        self._position.setdefault(key, len(self._observed) - 1)

    def _track_blocks(self, slots: Any, blocks: list[np.ndarray]) -> None:
        """Track functionals under the given slots, overwriting or appending."""
        new = Functionals.of(blocks, self.n_features_in_)
        slots = np.asarray(slots, dtype=np.intp)
        self._posterior.track(self._cross(new, self._observed), self._prior_var(new), slots)
        for i, slot in enumerate(slots.tolist()):
            self._tracked.put(slot, new, i)
        if self._posterior.clipped:
            self._report_losses()

    def _imagine(self, blocks: list[np.ndarray], noises: list[float]) -> Posterior:
        """Posterior of the tracked functionals after observing its own mean at further ones."""
        return self._fork(blocks, noises)._posterior

    def _fork(self, blocks: list[np.ndarray], noises: list[float]) -> Self:
        """Copy of the regressor, after observing its own mean at further functionals.

        Means stay, variances shrink exactly as they will whatever the answers are: the
        hallucination of batch methods (Desautels, Krause and Burdick, JMLR 2014).
        """
        fork = OnlineGaussianProcessRegressor.__new__(OnlineGaussianProcessRegressor)
        fork.__dict__.update(self.__dict__)
        fork._posterior = self._posterior.copy()
        fork._position = dict(self._position)
        fork._observed = self._observed.copy()
        for block, noise in zip(blocks, noises, strict=True):
            single = Functionals.of([block], block.shape[1])
            mean = float((fork._cross(single, fork._observed) @ fork._posterior.weights())[0])
            fork._observe(block, mean, noise)
        return fork

    def _learn(self, functionals: Functionals, noise: np.ndarray, Y: np.ndarray) -> None:
        """Maximise the log marginal likelihood over the hyperparameters of ``kernel_``."""
        if self.optimizer is None or self.kernel_.n_dims == 0 or not len(functionals):
            return
        kernel = self.kernel_

        def objective(theta: np.ndarray, eval_gradient: bool = True) -> Any:
            kernel.theta = theta
            if not eval_gradient:
                return -log_likelihood(kernel, functionals, noise, Y)
            value, gradient = log_likelihood(kernel, functionals, noise, Y, eval_gradient=True)
            return -value, -gradient

        rng = check_random_state(self.random_state)
        bounds = kernel.bounds
        starts = [kernel.theta]
        if self.n_restarts_optimizer > 0:
            check_restarts(kernel, self.n_restarts_optimizer)
            draws = [rng.uniform(*bounds.T) for _ in range(self.n_restarts_optimizer)]
            starts += draws
        optima = [self._minimize(objective, start, bounds) for start in starts]
        kernel.theta = min(optima, key=lambda optimum: optimum[1])[0]
        self._prepare_kernel()

    def _minimize(self, objective: Callable, start: np.ndarray, bounds: np.ndarray) -> Any:
        if callable(self.optimizer):
            return self.optimizer(objective, start, bounds=bounds)
        result = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds)
        if result.status != 0:
            warnings.warn(
                f"learning the hyperparameters stopped early: {result.message}",
                ConvergenceWarning,
                stacklevel=5,
            )
        return result.x, result.fun

    def _relearn(self, center: float, scale: float) -> None:
        """Learn the hyperparameters from everything observed, in new units of the targets.

        Noise variances keep their value in the user's units.
        """
        before, ratio = self._posterior, self._factor / scale
        noise = self._alpha_train() * ratio**2
        targets = (before.targets() * self._factor + self._offset - center) / scale
        self._learn(self._observed, noise, targets)
        self._rebuild(noise, targets, ratio)
        self._y_train_mean, self._y_train_std = center, scale

    def _apart(self) -> Self:
        """Copy that can learn, and factorise anew, without changing this regressor."""
        apart = OnlineGaussianProcessRegressor.__new__(OnlineGaussianProcessRegressor)
        apart.__dict__.update(self.__dict__)
        apart.kernel_ = clone(self.kernel_)
        return apart

    def _adopt(self, theta: np.ndarray, merged: Any, center: float, scale: float) -> None:
        """Take hyperparameters, units and merged observations that were learned outside."""
        self.kernel_.theta = theta
        self._factorise(merged.noise, merged.y, merged.counts)
        self._posterior.add_repeat_terms(merged.square, merged.log)
        self._y_train_mean, self._y_train_std = center, scale

    def _covariance_of_observed(self, free: bool) -> Callable:
        """Covariance of what was observed, as a ``Likelihood`` takes it; constant unless free."""
        functionals = self._observed.thinned(MOST_ROWS)
        rows, offsets = self._relative(functionals.rows), functionals.offsets

        def means(K: np.ndarray) -> np.ndarray:
            return block_means(block_means(K, offsets, 0), offsets, 1)

        if not free:
            fixed = means(self.kernel_(rows))
            return lambda theta: (fixed.copy(), lambda inner: np.empty(0))
        if offsets is None:
            return covariance_of(self.kernel_, rows)
        sizes = np.diff(offsets)
        of_points = covariance_of(self.kernel_, rows)

        def covariance(theta: np.ndarray) -> tuple[np.ndarray, Callable]:
            K, contract = of_points(theta)

            def spread(inner: np.ndarray) -> np.ndarray:
                each = inner / np.outer(sizes, sizes)
                return contract(each.repeat(sizes, 0).repeat(sizes, 1))

            return means(K), spread

        return covariance

    def _number_of(self, block: np.ndarray, n_before: int) -> int:
        """Number among the distinct functionals of one that was just observed."""
        grown = len(self._observed) > n_before
        return n_before if grown else self._position[key_of(block)]

    def _rebuild(self, noise: np.ndarray, targets: np.ndarray, ratio: float = 1.0) -> None:
        """Factorise afresh with the present kernel, tracked functionals included."""
        before = self._posterior
        self._factorise(noise, targets, before.counts())
        square, log = before.repeat_terms()
        self._posterior.add_repeat_terms(square * ratio**2, log + 2 * np.log(ratio) * before.n)

    def _factorise(self, noise: np.ndarray, targets: np.ndarray, counts: np.ndarray) -> None:
        before, observed, tracked = self._posterior, self._observed, self._tracked
        self._prepare_kernel()
        self._posterior, self._observed = Posterior(), Functionals(self.n_features_in_)
        self._tracked = Functionals(self.n_features_in_)
        try:
            self._append_block(observed, targets, noise, counts)
        except np.linalg.LinAlgError:
            self._posterior, self._observed, self._tracked = before, observed, tracked
            raise
        self._track_blocks(range(len(tracked)), [tracked[i] for i in range(len(tracked))])

    def _moments(self, blocks: list[np.ndarray], std: bool = False) -> Any:
        """Posterior means, and noiseless standard deviations, in the user's units."""
        several = Functionals.of(blocks, blocks[0].shape[1])
        K = self._cross(several, self._observed)
        mean = K @ self._posterior.weights() * self._factor + self._offset
        if not std:
            return mean
        self._posterior.solve_rows(K)
        var = self._prior_var(several) - np.einsum("ij,ij->i", K, K)
        return mean, np.sqrt(np.maximum(var, 0.0)) * self._factor

    def _deviations(self, block: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Prior standard deviations of f at each of ``rows`` minus a functional, shape (n,)."""
        single, points = Functionals(block.shape[1]), Functionals(rows.shape[1])
        single[0] = block
        points.extend(rows)
        var = self._prior_var(points) + self._prior_var(single)
        return np.sqrt(np.maximum(var - 2 * self._cross(points, single)[:, 0], 0.0))


def warn_of_jitter(jitter: float, n: int) -> None:
    """Report jitter, as the policy in ``skgpb.exceptions.NumericalWarning`` promises."""
    warnings.warn(
        f"the Gram matrix is not numerically positive definite: jitter {jitter:.1e} was added to "
        f"the noise variance of {n} observation(s); near-duplicates need a larger alpha",
        NumericalWarning,
        stacklevel=5,
    )
