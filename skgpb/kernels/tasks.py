r"""Several related functions, identified by a column.

References
----------
.. [Bonilla2008] E. Bonilla, K. M. Chai and C. Williams, "Multi-task Gaussian Process Prediction",
   NIPS 2007.
.. [Alvarez2012] M. A. Álvarez, L. Rosasco and N. D. Lawrence, "Kernels for Vector-Valued Functions:
   a Review", Foundations and Trends in Machine Learning 4 (3), 2012. Section 4.2.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from skgpb import defaults
from skgpb.kernels._wrapper import WrapperKernel, check_pair
from skgpb.kernels.evaluator import Evaluator, FeatureEvaluator, evaluator_of, row_set_means
from skgpb.utils.validation import check_size

__all__ = ["Tasks"]

#: Limit: largest number of tasks, and of functions that they share, checked before memory is
#: allocated.
MOST_TASKS = 1_000


@dataclass(eq=False, repr=False)
class Tasks(WrapperKernel):
    r"""Multi-task and multi-fidelity kernel: several functions, whose index is the last column.

    .. math:: k((x, t), (x', t')) = B_{t t'}\, k_{base}(x, x'), \qquad
              B = W W^\top + \mathrm{diag}(\kappa)

    Task t is a mixture, with weights :math:`W_t`, of ``rank`` functions that all tasks share, and
    of its own function with variance :math:`\kappa_t`: the intrinsic model of coregionalisation
    [Bonilla2008]_. Tasks are, for example, a simulation and an experiment, or several traits that
    are measured on the same plots. Sums of kernels of this class are the linear model
    [Alvarez2012]_.

    Parameters
    ----------
    base : Kernel
        Kernel over the columns before the last: points, or the descriptors of any kernel of
        :mod:`skgpb.kernels`, so that each task can be observed by functionals of its own.
    rank : int, default=1
        Number of shared functions; 0 makes the tasks independent.
    n_tasks : int, default=2
        Number of tasks, with indices 0, 1, ... in rows.
    W : array-like of shape (n_tasks, rank), default=None
        Weights of the shared functions, of any sign. With None the shared functions have nine
        tenths of a variance of one.
    kappa : float or array-like of shape (n_tasks,), default=None
        Variances of the tasks' own functions, at least 0. None is a tenth.
    W_bounds : pair of floats or "fixed", default=(-10.0, 10.0)
        Bounds of all weights for learning.
    kappa_bounds : pair of floats or "fixed", default=(1e-6, 1e2)
        Bounds of all variances for learning.

    Notes
    -----
    ``theta`` starts with W itself, because weights may be negative, row by row; the logarithms of
    kappa follow, and then the ``theta`` of the base. Hyperparameters with bounds "fixed" are left
    out. The scale of B and the scale of the base are redundant: fix either.

    ``Tasks(CellAverage(k))`` and ``CellAverage(Tasks(k))`` are equal; the first is faster, because
    its rows, ``[lower, upper, task]``, are shorter. The same holds for ``Tasks(WeightedSum(k))``.

    White noise in ``base`` is noise of each task in units of :math:`B_{tt}`.

    References
    ----------
    .. [Bonilla2008] E. Bonilla, K. M. Chai and C. Williams, "Multi-task Gaussian Process
       Prediction", NIPS 2007.
    .. [Alvarez2012] M. A. Álvarez, L. Rosasco and N. D. Lawrence, "Kernels for Vector-Valued
       Functions: a Review", Foundations and Trends in Machine Learning 4 (3), 2012.

    Examples
    --------
    Predict task 0 from ten answers of task 1 and two of its own:

    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import OnlineGaussianProcessRegressor
    >>> from skgpb.kernels import Tasks
    >>> cheap = np.column_stack([np.linspace(0, 1, 10), np.ones(10)])
    >>> expensive = np.array([[0.2, 0.0], [0.8, 0.0]])
    >>> X = np.vstack([cheap, expensive])
    >>> y = np.where(X[:, 1] == 1, 0.5, 1.0) * np.sin(5 * X[:, 0])
    >>> gp = OnlineGaussianProcessRegressor(Tasks(RBF(0.3)), alpha=1e-6).fit(X, y)
    >>> bool(abs(gp.predict([[0.5, 0.0]])[0] - np.sin(2.5)) < 0.02)
    True
    """

    base: Kernel
    rank: int = 1
    _: KW_ONLY
    n_tasks: int = 2
    W: ArrayLike | None = None
    kappa: float | ArrayLike | None = None
    W_bounds: tuple[float, float] | Literal["fixed"] = (-10.0, 10.0)
    kappa_bounds: tuple[float, float] | Literal["fixed"] = (1e-6, 1e2)

    # --- hyperparameters ---

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """W, kappa and the hyperparameters of the base, in the order of ``theta``."""
        W, kappa = self.mixture()
        own = [
            Hyperparameter(name, "numeric", bounds, max(1, value.size))
            for name, value, bounds in (
                ("W", W, self.W_bounds),
                ("kappa", kappa, self.kappa_bounds),
            )
            if value.size
        ]
        return own + super().hyperparameters

    @property
    def theta(self) -> np.ndarray:
        """Free hyperparameters, shape (p,): W, then logarithms of kappa and those of the base."""
        W, kappa = self.mixture()
        with np.errstate(divide="ignore"):
            parts = [W.ravel(), np.log(kappa)]
        n_W, n_kappa = self._n_free()
        return np.concatenate([parts[0][:n_W], parts[1][:n_kappa], self._checked_base().theta])

    @theta.setter
    def theta(self, theta: np.ndarray) -> None:
        n_W, n_kappa = self._n_free()
        if n_W:
            self.W = np.array(theta[:n_W], dtype=np.float64).reshape(self.n_tasks, self.rank)
        if n_kappa:
            self.kappa = np.exp(theta[n_W : n_W + n_kappa])
        self._checked_base().theta = theta[n_W + n_kappa :]

    @property
    def bounds(self) -> np.ndarray:
        """Bounds of ``theta``, shape (p, 2)."""
        n_W, n_kappa = self._n_free()
        limits = [np.empty((0, 2))]
        if n_W:
            limits.append(np.tile(_pair(self.W_bounds, "W_bounds"), (n_W, 1)))
        if n_kappa:
            pair = _pair(self.kappa_bounds, "kappa_bounds", positive=True)
            limits.append(np.tile(np.log(pair), (n_kappa, 1)))
        return np.vstack([*limits, self._checked_base().bounds.reshape(-1, 2)])

    @property
    def B(self) -> np.ndarray:
        """Covariances of the tasks, shape (n_tasks, n_tasks)."""
        W, kappa = self.mixture()
        return W @ W.T + np.diag(kappa)

    def _n_free(self) -> tuple[int, int]:
        """Return the numbers of learned weights and of learned variances."""
        W, kappa = self.mixture()
        return (
            0 if _is_fixed(self.W_bounds) else W.size,
            0 if _is_fixed(self.kappa_bounds) else kappa.size,
        )

    def mixture(self) -> tuple[np.ndarray, np.ndarray]:
        """Return W (n_tasks, rank) and kappa (n_tasks,), checked."""
        n, rank = self.n_tasks, self.rank
        for name, value, least in (("n_tasks", n, 1), ("rank", rank, 0)):
            check_size(value, f"{name} of Tasks", least, MOST_TASKS)
        if self.W is None:
            W = _first_weights(n, rank)
        else:
            W = _numbers(self.W)
            if W.shape != (n, rank) or not np.isfinite(W).all():
                raise ValueError(
                    f"W of Tasks must hold finite numbers of shape (n_tasks, rank), ({n}, {rank});"
                    f" got {self.W!r} of shape {W.shape}."
                )
        kappa = defaults.TASK_OWN if self.kappa is None else _numbers(self.kappa)
        if np.shape(kappa) not in ((), (n,)) or not (np.isfinite(kappa) & (kappa >= 0.0)).all():
            raise ValueError(
                f"kappa of Tasks must be a finite number >= 0, or one for each of {n} tasks; got"
                f" {self.kappa!r}."
            )
        return W, np.broadcast_to(kappa, (n,)).astype(np.float64)

    # --- rows ---

    def split(self, X: ArrayLike, name: str = "X") -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the base (n, c - 1) and the indices of tasks (n,) of rows (n, c)."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] < 2:
            raise ValueError(
                f"{name} must hold rows of the base with the number of a task in a further column;"
                f" got an array of shape {X.shape}."
            )
        tasks = X[:, -1]
        known = (tasks >= 0) & (tasks < self.n_tasks) & (tasks == np.floor(tasks))
        if not known.all():
            row = int(np.argmin(known))
            raise ValueError(
                f"the last column of {name} must hold numbers of tasks, integers from 0 to"
                f" {self.n_tasks - 1}; row {row} has {float(tasks[row])!r}."
            )
        return np.ascontiguousarray(X[:, :-1]), tasks.astype(np.intp)

    # --- covariances ---

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        """Return the covariances between rows.

        Parameters
        ----------
        X : array-like of shape (n, c)
            Rows of the base, with the index of a task in an additional column.
        Y : array-like of shape (m, c), default=None
            Rows; None means ``X``, with the white noise of the base, if any, on the diagonal.
        eval_gradient : bool, default=False
            Whether to return the gradient by ``theta`` as well; only with ``Y=None``.

        Returns
        -------
        K : ndarray of shape (n, m)
        K_gradient : ndarray of shape (n, n, p), only with ``eval_gradient``
        """
        base, B = self._checked_base(), self.B
        x, t = self.split(X)
        if Y is not None:
            y, u = self.split(Y, "Y")
            check_pair(x, y, eval_gradient)
            return B[np.ix_(t, u)] * base(x, y)
        across = B[np.ix_(t, t)]
        if not eval_gradient:
            return across * base(x)
        K, slopes = base(x, eval_gradient=True)
        own = self.mixture_slopes(t) * K[:, :, None]
        return across * K, np.concatenate([own, across[:, :, None] * slopes], axis=2)

    def mixture_slopes(self, tasks: np.ndarray) -> np.ndarray:
        """Return derivatives (n, n, q) of covariances of tasks (n,) by the free W and kappa."""
        W, kappa = self.mixture()
        n_W, n_kappa = self._n_free()
        slopes = np.zeros((self.n_tasks, self.n_tasks, n_W + n_kappa))
        if n_W:
            for t in range(self.n_tasks):
                columns = slice(t * self.rank, (t + 1) * self.rank)
                slopes[t, :, columns] += W
                slopes[:, t, columns] += W
        for t in range(n_kappa):
            slopes[t, t, n_W + t] = kappa[t]
        return slopes[np.ix_(tasks, tasks)]

    def diag(self, X: ArrayLike) -> np.ndarray:
        """Return the variances of rows (n, c): the diagonal of ``self(X)``."""
        x, t = self.split(X)
        return self.B[t, t] * self._checked_base().diag(x)

    def noise_diag(self, X: ArrayLike) -> np.ndarray:
        """Return the part of ``diag(X)`` that is white noise of the base kernel, shape (n,)."""
        x, t = self.split(X)
        evaluator = evaluator_of(self._checked_base(), x.shape[1])
        return self.B[t, t] * evaluator.noise(evaluator.embed(x))

    def evaluator(self, n_columns: int) -> Evaluator:
        """Return the two-step evaluation: the one of the base, and the tasks.

        Parameters
        ----------
        n_columns : int
            Number of columns of the rows.
        """
        base = evaluator_of(self._checked_base(), n_columns - 1)
        if isinstance(base, FeatureEvaluator):
            return FeatureEvaluator(_TaskFeatures(self, base.features))
        return _TaskEvaluator(self, base)


class _TaskEvaluator:
    """Evaluator whose embedding is (tasks, embedding of the base)."""

    memory = "whole"

    def __init__(self, kernel: Tasks, base: Any) -> None:
        self.kernel, self.base, self.B = kernel, base, kernel.B
        self.is_exact = base.memory == "none" or getattr(base, "is_exact", False)

    def embed(self, rows: np.ndarray, offsets: Any = None) -> tuple[np.ndarray, Any]:
        x, t = self.kernel.split(rows)
        return t, self.base.embed(x)

    def join(self, first: Any, second: Any) -> tuple[np.ndarray, Any]:
        return np.concatenate([first[0], second[0]]), self.base.join(first[1], second[1])

    def cross(self, E: Any, F: Any) -> np.ndarray:
        return self.B[np.ix_(E[0], F[0])] * self.base.cross(E[1], F[1])

    def diag(self, E: Any) -> np.ndarray:
        return self.B[E[0], E[0]] * self.base.diag(E[1])

    def noise(self, E: Any) -> np.ndarray:
        return self.B[E[0], E[0]] * self.base.noise(E[1])


class _TaskFeatures:
    """Features of a base with finitely many, repeated for each function in B."""

    def __init__(self, kernel: Tasks, base: Any) -> None:
        W, kappa = kernel.mixture()
        self.kernel, self.base = kernel, base
        self.roots = np.hstack([W, np.diag(np.sqrt(kappa))])  # B is their product

    def means(self, rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the features (m, r) of means over the runs of rows that begin at ``starts``."""
        x, t = self.kernel.split(rows)
        phi = self.base.means(x, np.arange(len(x)))
        wide = (phi[:, :, None] * self.roots[t][:, None, :]).reshape(len(x), -1)
        return row_set_means(wide, np.append(starts, len(x)), 0)


def _first_weights(n: int, rank: int) -> np.ndarray:
    """Return weights (n, rank) of similar tasks, which differ in the functions after the first."""
    at = np.pi * np.outer(np.arange(n) + 0.5, np.arange(rank)) / max(1, n)
    W = np.cos(at).round(12)  # zeros are zeros
    if rank:
        W *= np.sqrt(1.0 - defaults.TASK_OWN) / np.linalg.norm(W, axis=1, keepdims=True)
    return W


def _numbers(values: Any) -> np.ndarray:
    """Return values as floats, NaN if they are not numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(np.nan)


def _pair(bounds: Any, name: str, positive: bool = False) -> np.ndarray:
    """Return the pair of bounds; raise ValueError if it is wrong."""
    pair = _numbers(bounds)
    least = 0.0 if positive else -np.inf
    if pair.shape != (2,) or not (np.isfinite(pair).all() and least < pair[0] <= pair[1]):
        numbers = "positive numbers" if positive else "numbers"
        raise ValueError(
            f"{name} of Tasks must be 'fixed' or a lower and an upper end, finite {numbers}; got"
            f" {bounds!r}."
        )
    return pair


def _is_fixed(bounds: Any) -> bool:
    return isinstance(bounds, str) and bounds == "fixed"
