r"""The conditional mean process: one posterior of f and of what indirect queries measure.

Observations are answers z = g(a) + noise with :math:`g(a) = E[f(X) | A = a]`, values
y = f(x) + noise, or both. Everything follows from covariances between functionals of f, which
the kernel of the answers supplies (:class:`~skgpb.kernels.WindowMean`,
:class:`~skgpb.kernels.PolicyMean`, :class:`~skgpb.kernels.ConditionalMean`); the posterior is that
of :class:`~skgpb.OnlineGaussianProcessRegressor`.

References
----------
.. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
   Optimization with Integrated Feedback", equations 1 to 5.
.. [CMP] S. L. Chau, S. Bouabid, D. Sejdinovic, "Deconditional downscaling with Gaussian processes",
   NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel

from skgpb.kernels._indirect import IndirectKernel, as_points, noise_of_points
from skgpb.learning import NOISE, Prior, noise_prior
from skgpb.locks import Guarded, locked
from skgpb.roots import joint_draws, next_pivot
from skgpb.surrogate import Functionals, OnlineGaussianProcessRegressor
from skgpb.utils import (
    MOST_RESTARTS,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_numbers,
    validate_params,
)

#: Sets of rows whose embedding is remembered: tracked, observed, and one that was predicted.
REMEMBERED = 3
#: Prior variance, as a share of the largest, that joint draws at tracked points may leave out.
UNRESOLVED = 1e-8
#: Largest rank of joint draws.
MAX_RANK = 1500
#: Step of the central differences of the model noise in the logarithm of a hyperparameter.
NOISE_STEP = 1e-4


class _EmbeddedRegressor(OnlineGaussianProcessRegressor):
    """The online regressor with the two-step evaluation of indirect kernels.

    What is needed of a row (weights over the pairs, say) is computed once for tracked and observed
    rows, and not in every round.
    """

    kernel_: IndirectKernel

    def _prepare_kernel(self) -> None:
        super()._prepare_kernel()
        self._evaluator = self.kernel_.evaluator(self.n_features_in_)
        self._memory: list[tuple[np.ndarray, Any]] = []

    def embed(self, rows: np.ndarray) -> Any:
        """Return the embedding of rows, from memory where they, or the first of them, are known."""
        lengths = [
            len(known) if np.array_equal(rows[: len(known)], known) else 0
            for known, _ in self._memory
        ]
        n = max(lengths, default=0)
        if n:
            known, E = self._memory.pop(lengths.index(n))
            if n < len(rows):
                E = self._evaluator.join(E, self._evaluator.embed(rows[n:]))
                known = rows.copy()
            self._memory.insert(0, (known, E))
            return E
        E = self._evaluator.embed(rows)
        if len(rows) > 1:
            self._memory = [(rows.copy(), E), *self._memory[: REMEMBERED - 1]]
        return E

    def _cross(self, A: Functionals, B: Functionals) -> np.ndarray:
        if not len(A) or not len(B):
            return np.zeros((len(A), len(B)))
        return self._evaluator.cross(self.embed(A.rows), self.embed(B.rows))

    def _prior_var(self, functionals: Functionals) -> np.ndarray:
        if not len(functionals):
            return np.zeros(0)
        return self._evaluator.diag(self.embed(functionals.rows))

    def follow(self, rows: np.ndarray) -> None:
        """Track rows (n, c), single functionals each, in place of those tracked before."""
        self._posterior.untrack_all()
        functionals = Functionals(rows.shape[1])
        functionals.extend(rows)
        slots = np.arange(len(rows), dtype=np.intp)
        cross, var = self._cross(functionals, self._observed), self._prior_var(functionals)
        self._posterior.track(cross, var, slots)
        self._tracked = functionals

    def moments(self, rows: np.ndarray, std: bool = False, cov: bool = False) -> Any:
        """Posterior means (n,), and deviations (n,) or covariance (n, n), all noiseless."""
        functionals = Functionals(rows.shape[1])
        functionals.extend(rows)
        K = self._cross(functionals, self._observed)
        mean = K @ self._posterior.weights() * self._factor + self._offset
        if not (std or cov):
            return mean
        self._posterior.solve_rows(K)
        if std:
            var = self._prior_var(functionals) - np.einsum("ij,ij->i", K, K)
            return mean, np.sqrt(np.maximum(var, 0.0)) * self._factor
        C = self._cross(functionals, functionals)
        C = 0.5 * (C + C.T) - K @ K.T
        return mean, C * self._factor**2

    def _state(self) -> dict[str, Any]:
        state = {**super()._state(), "_memory": []}
        state.pop("_evaluator", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "kernel_" in state:
            self._evaluator = self.kernel_.evaluator(self.n_features_in_)


class _WithModelNoise:
    """A kernel with its model noise on the diagonal of answers, for one set of rows."""

    def __init__(self, kernel: IndirectKernel, asked: np.ndarray) -> None:
        self.kernel, self.asked = kernel, np.flatnonzero(asked)
        self.bounds, self.n_dims = kernel.bounds, kernel.n_dims

    @property
    def theta(self) -> np.ndarray:
        return self.kernel.theta

    @theta.setter
    def theta(self, theta: np.ndarray) -> None:
        self.kernel.theta = theta

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"kernel": self.kernel}

    def __call__(self, rows: np.ndarray, eval_gradient: bool = False) -> Any:
        noise = self.kernel.model_noise()
        result = self.kernel(rows, eval_gradient=eval_gradient)
        K = result[0] if eval_gradient else result
        K[self.asked, self.asked] += noise
        if eval_gradient and noise > 0.0:
            result[1][self.asked, self.asked] += self._noise_slopes()
        return result

    def _noise_slopes(self) -> np.ndarray:
        """Derivatives (p,) of the model noise."""
        slopes, theta = self.kernel.model_noise_gradient(), self.theta
        if slopes is not None:
            return slopes
        slopes = np.empty(len(theta))
        for j, shift in enumerate(NOISE_STEP * np.eye(len(theta))):
            up, down = (self.kernel._with_theta(theta + s).model_noise() for s in (shift, -shift))
            slopes[j] = (up - down) / (2 * NOISE_STEP)
        return slopes


class _WithUnknownNoise:
    """A kernel with noise to be learned on the diagonal, for one set of rows.

    The logarithm of the noise variance is the last hyperparameter, and the only one where the
    kernel's own are to be kept.
    """

    def __init__(
        self, kernel: Any, unknown: np.ndarray, start: float, limits: np.ndarray, free: bool
    ) -> None:
        self.kernel, self.unknown, self.free = kernel, np.flatnonzero(unknown), free
        self.log_noise = start
        self.bounds = np.concatenate([kernel.bounds, limits]) if free else limits
        self.n_dims = len(self.bounds)
        self._fixed: np.ndarray | None = None

    @property
    def theta(self) -> np.ndarray:
        return np.append(self.kernel.theta if self.free else [], self.log_noise)

    @theta.setter
    def theta(self, theta: np.ndarray) -> None:
        if self.free:
            self.kernel.theta = theta[:-1]
        self.log_noise = float(theta[-1])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"kernel": self.kernel}

    def __call__(self, rows: np.ndarray, eval_gradient: bool = False) -> Any:
        slopes = np.empty((len(rows), len(rows), 0))
        if not self.free:
            # The hyperparameters do not change, so neither do the covariances.
            self._fixed = self.kernel(rows) if self._fixed is None else self._fixed
            K = self._fixed.copy()
        elif eval_gradient:
            K, slopes = self.kernel(rows, eval_gradient=True)
        else:
            K = self.kernel(rows)
        noise, i = np.exp(self.log_noise), self.unknown
        K[i, i] += noise
        if not eval_gradient:
            return K
        slope = np.zeros((*K.shape, 1))
        slope[i, i] = noise
        return K, np.concatenate([slopes, slope], axis=2)


def with_prior_on_noise(optimizer: Callable | str | None, prior: Prior) -> Callable:
    """Return an optimizer as scikit-learn's that adds a prior on the last argument."""
    if not callable(optimizer):
        optimizer = _lbfgs

    def search(objective: Callable, start: np.ndarray, bounds: np.ndarray) -> Any:
        def tempered(x: np.ndarray, eval_gradient: bool = True) -> Any:
            density, slope = prior(x[-1:])
            if not eval_gradient:
                return objective(x, eval_gradient=False) - density
            value, gradient = objective(x)
            gradient = np.array(gradient, dtype=np.float64)
            gradient[-1] -= slope[0]
            return value - density, gradient

        return optimizer(tempered, start, bounds=bounds)

    return search


def _lbfgs(objective: Callable, start: np.ndarray, bounds: np.ndarray) -> Any:
    return OnlineGaussianProcessRegressor()._minimize(objective, start, bounds)


class ConditionalMeanProcess(Guarded, BaseEstimator):
    r"""Posterior of f and of g(a) = E[f(X) | A = a] from answers and values, in any order.

    Parameters
    ----------
    kernel : Kernel, default=None
        Covariance of f, over points with d coordinates. None takes the base of ``conditional``,
        and ``ConstantKernel(1.0) * RBF(1.0)`` where that has none.
    conditional : WindowMean, PolicyMean or ConditionalMean
        What an answer is. Its ``base`` is replaced by ``kernel``, where one is given.
    alpha : float or None, default=1e-2
        Noise variance of an answer or a value, unless :meth:`condition_query` or
        :meth:`condition_point` is told otherwise. None has :meth:`learn` find it; until then it
        is 5 % of the variance of observations: 1 with ``normalize_y``, else their mean variance
        under the prior.
    model_noise : "auto" or float, default="auto"
        Variance added to ``alpha`` for answers: the conditional's own error about g. "auto" is
        ``conditional.model_noise()``: zero where p(x|a) is known, estimated from leave-one-out
        residuals of the pairs where it is learned.
    mean : callable or float, default=None
        Prior mean of f: m(X) for points (n, d), shape (n,). That of g follows. None is zero.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How :meth:`learn` maximises the marginal likelihood; None keeps the hyperparameters.
    n_restarts_optimizer : int, default=0
        Further starts of :meth:`learn`.
    normalize_y : bool, default=False
        Whether to centre and scale targets, to what the first observations say and to all of them
        whenever :meth:`learn` is called. ``alpha`` and a ``model_noise`` given as a number stay in
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
        Noise variance in use where none is told: ``alpha``, or what was learned.
    center_, scale_ : float
        Observations are centred and divided by these; 0 and 1 unless ``normalize_y``.
    n_observations_ : int
        Number of answers and values observed.

    Notes
    -----
    After t observations an answer about a tracked query costs O(m t) for m tracked functionals,
    and one row of covariances: with N pairs O(N (m + N)), no factorisation. It is the posterior of
    equations 4 and 5 of [Zhang2025]_.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.conditional_mean_process import ConditionalMeanProcess
    >>> from skgpb.kernels import WindowMean
    >>> process = ConditionalMeanProcess(RBF(0.3), WindowMean(scale=0.2), alpha=1e-4)
    >>> process = process.condition_query([[0.3], [0.7]], [0.1, 0.9])
    >>> process = process.condition_point([[0.0]], [0.0])
    >>> process.predict([[0.3], [0.7]]).round(2)  # f is sharper than its blurred answers
    array([-0.12,  1.1 ])
    >>> process.predict_query([[0.3], [0.7]]).round(2)
    array([0.1, 0.9])
    """

    _parameter_constraints: dict = {
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

    def __init__(
        self,
        kernel: Kernel | None = None,
        conditional: IndirectKernel | None = None,
        *,
        alpha: float | None = 1e-2,
        model_noise: str | float = "auto",
        mean: Callable | float | None = None,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.conditional = conditional
        self.alpha = alpha
        self.model_noise = model_noise
        self.mean = mean
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.random_state = random_state

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
            Where that is None, too, NaN stands for noise that is to be learned.

        Returns
        -------
        self : ConditionalMeanProcess
        """
        return self._condition(self._prepared().queries(one_or_more(A, "A")), z, alpha, True)

    @locked
    def condition_point(self, X: ArrayLike, y: ArrayLike, alpha: ArrayLike | None = None) -> Self:
        """Observe values y of f at points X (n, d); otherwise as :meth:`condition_query`."""
        return self._condition(self._prepared().points(one_or_more(X, "X")), y, alpha, False)

    @locked
    def condition_tracked(self, i: int, z: float, alpha: float | None = None) -> Self:
        """Observe an answer about tracked query number i. O(m t), no solve."""
        if not hasattr(self, "A_tracked_") or not 0 <= i < len(self.A_tracked_):
            raise IndexError(f"tracked query {i} of {len(getattr(self, 'A_tracked_', ()))}")
        slot = len(self.X_tracked_) + int(i)
        rows = self._gpr._tracked[slot]
        values, noises = self._checked(rows, z, alpha)
        target, noise = self._targets(rows, values), self._noises(noises, True)
        self._gpr._observe_tracked(slot, float(target[0]), float(noise[0]))
        self._log(rows, values, noises, True)
        return self

    @locked
    def learn(self) -> Self:
        """Maximise the marginal likelihood of all observations over the hyperparameters of f.

        Units and ``model_noise="auto"`` follow. What was observed and what is tracked is kept.
        Where ``optimizer`` is None hyperparameters are kept, too. Noise that is not known is
        learned in either case, with a weak prior around 5 % of the variance of observations.
        """
        kernel = self._prepared()
        if not self.n_observations_:
            return self
        names = ("_gpr", "kernel_", "_own_noise", "_level", "center_", "scale_")
        before = {name: getattr(self, name) for name in names}
        rows, values, alphas, asked = (
            np.concatenate(part) for part in zip(*self._seen, strict=True)
        )
        try:
            self._choose_units(rows, values)
            targets = self._targets(rows, values)
            self.kernel_ = self._learned(clone(kernel), rows, targets, alphas, asked)
            self._own_noise = self._model_noise(self.kernel_)
            self._begin(self.kernel_, rows.shape[1])
            self._gpr._add(rows, targets, self._noises(alphas, asked))
            if hasattr(self, "X_tracked_"):
                self._track_rows()
        except BaseException:
            self.__dict__.update(before)
            raise
        return self

    # -- predicting -------------------------------------------------------------------------

    @locked
    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Any:
        """Posterior mean of f at points X (n, d), with deviations or covariance on demand.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Points.
        return_std, return_cov : bool, default=False
            At most one of them; both are of f without noise.

        Returns
        -------
        mean : ndarray of shape (n,)
        std : ndarray of shape (n,), only if ``return_std``
        cov : ndarray of shape (n, n), only if ``return_cov``
        """
        return self._moments(self._prepared().points(X), return_std, return_cov)

    @locked
    def predict_query(
        self, A: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> Any:
        """Posterior mean of g at queries A (n, q); otherwise as :meth:`predict`."""
        return self._moments(self._prepared().queries(A), return_std, return_cov)

    @locked
    def predict_joint(self, X: ArrayLike, A: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Joint posterior mean (n + m,) and covariance (n + m, n + m) of f(X), then g(A)."""
        kernel = self._prepared()
        return self._moments(np.vstack((kernel.points(X), kernel.queries(A))), False, True)

    @locked
    def covariance(self, X: ArrayLike, A: ArrayLike) -> np.ndarray:
        """Posterior covariance (n, m) between f at points X (n, d) and g at queries A (m, q)."""
        kernel = self._prepared()
        left, right = kernel.points(X), kernel.queries(A)
        gpr = self._ready(left)
        sides = []
        for rows in (left, right):
            functionals = Functionals(rows.shape[1])
            functionals.extend(rows)
            K = gpr._cross(functionals, gpr._observed)
            gpr._posterior.solve_rows(K)
            sides.append((functionals, K))
        (E, K), (F, M) = sides
        return (gpr._cross(E, F) - K @ M.T) * self.scale_**2

    @locked
    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw f at points X (n, d) from the joint posterior, shape (n, n_samples)."""
        mean, cov = self.predict(X, return_cov=True)
        return joint_draws(mean, cov, n_samples, random_state)

    @locked
    def sample_query(self, A: ArrayLike, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw g at queries A (n, q) from the joint posterior, shape (n, n_samples)."""
        mean, cov = self.predict_query(A, return_cov=True)
        return joint_draws(mean, cov, n_samples, random_state)

    @locked
    def noise_of(self, alpha: ArrayLike | None = None) -> Any:
        """Return the noise variance with which an answer is observed: ``alpha + model_noise_``."""
        self._prepared()
        return (self.alpha_ if alpha is None else np.asarray(alpha)) + self.model_noise_

    @property
    @locked
    def alpha_(self) -> float:
        """Noise variance in use where none is told: ``alpha``, or what was learned."""
        if self.alpha is not None:
            return self.alpha
        self._prepared()
        if self._level is None:
            raise AttributeError("alpha_ is not known before anything is observed or tracked")
        return self._level * self.scale_**2

    @property
    @locked
    def model_noise_(self) -> float:
        """Variance added to the noise of answers, in units of the observations."""
        self._prepared()
        return self._own_noise * self.scale_**2

    @property
    @locked
    def n_observations_(self) -> int:
        """Number of answers and values observed."""
        return sum(len(part[0]) for part in getattr(self, "_seen", []))

    @property
    @locked
    def log_marginal_likelihood_value_(self) -> float:
        """Log marginal likelihood of everything observed, in units of the scaled targets."""
        return self._gpr.log_marginal_likelihood_value_

    # -- tracked points and queries ---------------------------------------------------------

    @locked
    def track(self, X: ArrayLike | None = None, A: ArrayLike | None = None) -> Self:
        """Follow f at points X (n, d) and g at queries A (m, q) from now on, O(t) each a round.

        They replace those tracked before.
        """
        kernel = self._prepared()
        parts = [] if X is None else [kernel.points(X)]
        parts += [] if A is None else [kernel.queries(A)]
        if not parts:
            raise ValueError("track needs points X, queries A, or both")
        self._ready(np.vstack(parts))
        self.X_tracked_ = np.array(X, dtype=np.float64) if X is not None else np.empty((0, 0))
        self.A_tracked_ = np.array(A, dtype=np.float64) if A is not None else np.empty((0, 0))
        self._track_rows()
        return self

    @locked
    def predict_tracked(self, return_std: bool = False) -> Any:
        """Posterior mean (n,), and deviation, of f at the tracked points. No solve."""
        return self._tracked_moments(slice(0, len(self.X_tracked_)), return_std)

    @locked
    def predict_query_tracked(self, return_std: bool = False) -> Any:
        """Posterior mean (m,), and deviation, of g at the tracked queries. No solve."""
        return self._tracked_moments(slice(len(self.X_tracked_), None), return_std)

    @locked
    def sample_tracked(
        self, n_samples: int, random_state: Any = 0, queries: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Draw f at the tracked points from the joint posterior.

        The prior is resolved by a pivoted Cholesky factor, computed once for the tracked set, so
        that draws cost O(r^2 (r + t) + n r n_samples) with its rank r; see Notes.

        Parameters
        ----------
        n_samples : int
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seeds the draws.
        queries : bool, default=False
            Whether to draw g at the tracked queries jointly.

        Returns
        -------
        f : ndarray of shape (n, n_samples)
        g : ndarray of shape (m, n_samples), only with ``queries``

        Notes
        -----
        Given f at the r pivots, f at the other points is known but for ``UNRESOLVED`` = 1e-8 of the
        prior variance, with or without data. So f is drawn at the pivots from their posterior, of
        covariance :math:`P_p (I - B B^T) P_p^T` with :math:`P P^T` the prior, and extended by P.
        """
        factor, pivots = self._root(queries)
        V = self._gpr._posterior.tracked_rows()[pivots]
        B = solve_triangular(factor[pivots], V, lower=True)
        S = np.eye(len(pivots)) - B @ B.T
        whitened = joint_draws(np.zeros(len(pivots)), S, n_samples, random_state)
        mean = np.concatenate([self.predict_tracked(), self.predict_query_tracked()])
        draws = mean[: len(factor), None] + factor @ whitened * self.scale_
        n = len(self.X_tracked_)
        return (draws[:n], draws[n:]) if queries else draws

    @locked
    def covariance_tracked(self, points: ArrayLike, weights: ArrayLike) -> np.ndarray:
        """Posterior covariance (m,) of g at the tracked queries and a weighted sum of f.

        Parameters
        ----------
        points : array-like of int, shape (k,)
            Numbers of tracked points.
        weights : array-like of shape (k,)
            What f weighs there.
        """
        points, weights = np.asarray(points), np.asarray(weights)
        gpr, n = self._gpr, len(self.X_tracked_)
        rows, V = gpr._tracked.rows, gpr._posterior.tracked_rows()
        evaluator = gpr._evaluator
        prior = evaluator.cross(evaluator.embed(rows[n:]), evaluator.embed(rows[points]))
        return (prior @ weights - V[n:] @ (V[points].T @ weights)) * self.scale_**2

    @locked
    def imagine(self, A: ArrayLike, alpha: ArrayLike | None = None) -> np.ndarray:
        """Deviations (m,) of g at the tracked queries after further answers, whatever these are.

        Parameters
        ----------
        A : array-like of shape (n, q) or (q,)
            Queries whose answers are on their way.
        alpha : float or array-like of shape (n,), default=None
            Their noise variances, as in :meth:`condition_query`.
        """
        rows = self._prepared().queries(one_or_more(A, "A"))
        _, noises = self._checked(rows, np.zeros(len(rows)), alpha)
        blocks = [row[None] for row in rows]
        fork = self._gpr._imagine(blocks, list(self._noises(noises, True)))
        return np.sqrt(fork.tracked_var()[len(self.X_tracked_) :]) * self.scale_

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
            self.center_, self.scale_ = 0.0, 1.0
            self._own_noise = self._model_noise(kernel)
            self._seen: list[tuple] = []
            # Noise variance that is to be learned, in units of the scaled targets; None until
            # it is known what variance is typical of these.
            self._level: float | None = None
            self.kernel_ = kernel
        return self.kernel_

    def _model_noise(self, kernel: IndirectKernel) -> float:
        """Variance added to the noise of answers, in units of the scaled targets."""
        if self.model_noise == "auto":
            return float(kernel.model_noise())
        return float(self.model_noise) / self.scale_**2

    def _learned(
        self,
        kernel: IndirectKernel,
        rows: np.ndarray,
        targets: np.ndarray,
        alphas: np.ndarray,
        asked: np.ndarray,
    ) -> IndirectKernel:
        """Maximise the likelihood with the model noise that goes with each hyperparameter."""
        noise, auto = alphas / self.scale_**2, self.model_noise == "auto"
        if not auto:
            noise = noise + self._own_noise * asked
        learner = OnlineGaussianProcessRegressor(
            optimizer=self.optimizer,
            n_restarts_optimizer=self.n_restarts_optimizer,
            random_state=self.random_state,
        )
        learner.n_features_in_ = rows.shape[1]
        learner.kernel_ = _WithModelNoise(kernel, asked) if auto else kernel
        unknown = np.isnan(alphas)
        if unknown.any():
            prior, limits = noise_prior(self._unit)
            free = self.optimizer is not None and kernel.n_dims > 0
            start = float(prior.center[0])
            learner.kernel_ = _WithUnknownNoise(learner.kernel_, unknown, start, limits, free)
            learner.optimizer = with_prior_on_noise(self.optimizer, prior)
            noise = np.where(unknown, 0.0 if auto else self._own_noise * asked, noise)
        functionals = Functionals(rows.shape[1])
        functionals.extend(rows)
        learner._learn(functionals, noise, targets)
        if unknown.any():
            self._level = float(np.exp(learner.kernel_.log_noise))
        return kernel

    def _assume_noise(self, unit: float, level: float | None = None) -> None:
        """Say what variance of observations is typical, and their noise until it is learned.

        Both are in units of the scaled targets; ``level`` is ``NOISE`` units unless given.
        """
        self._prepared()
        self._unit, self._level = unit, NOISE * unit if level is None else level

    def _choose_units(self, rows: np.ndarray, values: np.ndarray) -> None:
        if not self.normalize_y:
            return
        residuals = values - self._prior(rows)
        self.center_, scale = float(residuals.mean()), float(residuals.std())
        tiny = 10 * np.finfo(float).eps * max(1.0, float(np.abs(residuals).max()))
        self.scale_ = scale if scale > tiny else 1.0
        if self.model_noise != "auto":
            self._own_noise = self._model_noise(self.kernel_)

    def _targets(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Observations in scaled units (n,), without the prior mean."""
        return (values - self._prior(rows) - self.center_) / self.scale_

    def _noises(self, alphas: np.ndarray, asked: Any) -> np.ndarray:
        """Noise variances in scaled units (n,)."""
        scaled = alphas / self.scale_**2
        if self._level is not None:
            scaled = np.where(np.isnan(scaled), self._level, scaled)
        return scaled + self._own_noise * asked

    def _ready(self, rows: np.ndarray) -> _EmbeddedRegressor:
        """Return the regressor, made at the first rows, which say how many columns there are."""
        if not hasattr(self, "_gpr"):
            self._begin(self.kernel_, rows.shape[1])
            if self.alpha is None and self._level is None:
                typical = 1.0 if self.normalize_y else float(self.kernel_.diag(rows).mean())
                self._assume_noise(typical or 1.0)
        elif rows.shape[1] != self._gpr.n_features_in_:
            raise ValueError(
                f"rows have {rows.shape[1]} columns, not {self._gpr.n_features_in_} as before: the"
                " number of coordinates changed"
            )
        return self._gpr

    def _begin(self, kernel: IndirectKernel, n_columns: int) -> None:
        gpr = _EmbeddedRegressor(
            optimizer=self.optimizer,
            n_restarts_optimizer=self.n_restarts_optimizer,
            random_state=self.random_state,
        )
        gpr._lock = self._lock
        gpr._start(kernel, n_columns)
        self._gpr = gpr

    def _prior(self, rows: np.ndarray) -> np.ndarray:
        """Prior means of functionals (n,)."""
        if self.mean is None:
            return np.zeros(len(rows))
        mean = self.mean if callable(self.mean) else lambda X: np.full(len(X), float(self.mean))

        def checked(X: np.ndarray) -> np.ndarray:
            values = np.asarray(mean(X), dtype=np.float64)
            if values.shape != (len(X),) or not np.isfinite(values).all():
                raise ValueError("mean(X) must return finite numbers of shape (n,)")
            return values

        return self.kernel_.mean_of(rows, checked)

    def _checked(self, rows: np.ndarray, z: Any, alpha: Any) -> tuple[np.ndarray, np.ndarray]:
        z = check_numbers(np.atleast_1d(z), "observations", ensure_2d=False)
        if z.shape != (len(rows),):
            raise ValueError(f"expected {len(rows)} observations, got an array of shape {z.shape}")
        default = np.nan if self.alpha is None else self.alpha
        given = np.asarray(default if alpha is None else alpha, dtype=np.float64)
        unknown = np.isnan(given) & (self.alpha is None or self._level is not None)
        noises = OnlineGaussianProcessRegressor._noise_of(np.where(unknown, 0.0, given), len(rows))
        return z, np.where(unknown, np.nan, noises)

    def _condition(self, rows: np.ndarray, z: Any, alpha: Any, asked: bool) -> Self:
        values, noises = self._checked(rows, z, alpha)
        gpr, units = self._ready(rows), (self.center_, self.scale_, self._own_noise)
        try:
            if not self._seen:
                self._choose_units(rows, values)
            gpr._add(rows, self._targets(rows, values), self._noises(noises, asked))
        except BaseException:
            self.center_, self.scale_, self._own_noise = units
            raise
        self._log(rows, values, noises, asked)
        return self

    def _log(self, rows: np.ndarray, values: np.ndarray, noises: np.ndarray, asked: bool) -> None:
        self._seen.append((rows.copy(), values, noises, np.full(len(rows), asked)))

    def _moments(self, rows: np.ndarray, std: bool, cov: bool) -> Any:
        if std and cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        shift = self._prior(rows) + self.center_
        result = self._ready(rows).moments(rows, std, cov)
        if not std and not cov:
            return result * self.scale_ + shift
        mean, second = result
        return mean * self.scale_ + shift, second * (self.scale_ if std else self.scale_**2)

    def _track_rows(self) -> None:
        kernel = self.kernel_
        parts = [kernel.points(self.X_tracked_)] if len(self.X_tracked_) else []
        parts += [kernel.queries(self.A_tracked_)] if len(self.A_tracked_) else []
        rows = np.vstack(parts)
        self._tracked_prior = self._prior(rows)
        self._roots: dict[bool, tuple[np.ndarray, np.ndarray]] = {}
        self._gpr.follow(rows)

    def _tracked_moments(self, part: slice, return_std: bool) -> Any:
        mean, std = self._gpr.predict_tracked(return_std=True)
        mean = mean[part] * self.scale_ + self._tracked_prior[part] + self.center_
        return (mean, std[part] * self.scale_) if return_std else mean

    def _root(self, queries: bool) -> tuple[np.ndarray, np.ndarray]:
        """Pivoted Cholesky factor of the prior covariance of what is tracked, and its pivots."""
        if queries not in self._roots:
            column, rest = self._columns(queries)
            largest = rest.max()
            factor, pivots = np.zeros((min(len(rest), MAX_RANK), len(rest))), []
            while len(pivots) < len(factor) and rest.max() > UNRESOLVED * largest:
                r, p = len(pivots), next_pivot(rest)
                factor[r] = (column(p) - factor[:r, p] @ factor[:r]) / np.sqrt(rest[p])
                factor[r, pivots] = 0.0
                pivots.append(p)
                rest = np.maximum(rest - factor[r] ** 2, 0.0)
                rest[p] = 0.0
            self._roots[queries] = np.ascontiguousarray(factor[: len(pivots)].T), np.array(pivots)
        return self._roots[queries]

    def _columns(self, queries: bool) -> tuple[Callable[[int], np.ndarray], np.ndarray]:
        """Columns and diagonal of the prior covariance of what is tracked, or of points alone."""
        if not queries:
            base, X = self.kernel_.base, self.X_tracked_
            variances = base.diag(X) - noise_of_points(base, X)
            return lambda p: base(X, X[p : p + 1].copy())[:, 0], variances
        evaluator, rows = self._gpr._evaluator, self._gpr._tracked.rows
        everything = self._gpr.embed(rows)

        def column(p: int) -> np.ndarray:
            return evaluator.cross(everything, evaluator.embed(rows[p : p + 1]))[:, 0]

        return column, evaluator.diag(everything)

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        return {**state, "_roots": {}} if "_roots" in state else state


def one_or_more(values: ArrayLike, name: str) -> np.ndarray:
    """Return an array (n, q); one of shape (q,) is a single row."""
    values = np.asarray(values)
    return as_points(values[None] if values.ndim == 1 else values, name)
