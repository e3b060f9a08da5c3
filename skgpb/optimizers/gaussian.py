"""What optimizers with a Gaussian process on f share: observing, learning, predicting."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from skgpb._core._posterior import Posterior
from skgpb.surrogate import OnlineGaussianProcessRegressor
from skgpb.utils import Integral, Interval, Real, StrOptions

# Length scale of the default kernel, in units of the domain's sides.
DEFAULT_LENGTH_SCALE = 0.2
# Hyperparameters are not learned from fewer observations.
FIRST_LEARNING = 4


def default_kernel(bounds: np.ndarray) -> Kernel:
    """``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the sides of a box (d, 2)."""
    side = bounds[:, 1] - bounds[:, 0]
    scale = DEFAULT_LENGTH_SCALE * np.where(side > 0, side, 1.0)
    return ConstantKernel(1.0) * RBF(scale[0] if len(scale) == 1 else scale)


class GaussianProcessMixin:
    """A surrogate, observations of functionals, the schedule of learning, a regressor for f.

    The class it is mixed into says what the descriptor rows of points and queries are
    (``_rows_of``, ``_block``, ``_descriptor``), and what depends on the hyperparameters
    (``_relearned``).
    """

    _parameter_constraints: dict = {
        "kernel": [None, Kernel],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "relearn": [StrOptions({"doubling"}), Interval(Integral, 1, None, closed="left"), None],
        "normalize_y": ["boolean"],
        "random_state": ["random_state"],
    }

    def _rows_of(self, points: np.ndarray) -> np.ndarray:
        """Descriptor rows (n, n_columns) of points (n, d)."""
        raise NotImplementedError

    def _block(self, query: Any) -> np.ndarray:
        """Descriptor rows of the functional that a query observes."""
        raise NotImplementedError

    def _relearned(self) -> None:
        """Renew what depends on the hyperparameters and the units of the surrogate."""

    # -- observing --------------------------------------------------------------------------

    def _start_surrogate(self, kernel: Kernel, n_columns: int) -> None:
        """Begin without observations, and draw the seed of everything random."""
        self._seed = self._draw_seed()
        self.surrogate_ = OnlineGaussianProcessRegressor(
            alpha=self.alpha,
            optimizer=self.optimizer,
            n_restarts_optimizer=self.n_restarts_optimizer,
            random_state=self._seed,
        )
        self.surrogate_._start(kernel, n_columns)
        self._learned_at = 0
        self._n_fitted = 0

    def _observe(self, query: Any, slot: int, reward: float, alpha: float) -> tuple[float, float]:
        """Condition on a reward; the query's mean and variance before it, normalised.

        ``slot`` is the number under which the surrogate tracks the query, -1 if it does not.
        """
        surrogate = self.surrogate_
        if self.normalize_y and not len(surrogate._observed):
            # The first reward is the best guess of the centre, its noise the least spread.
            surrogate._rescale(reward, sqrt(self.alpha) or 1.0)
            self._relearned()
        scale, offset = surrogate._factor, surrogate._offset
        y, noise = (reward - offset) / scale, alpha / (scale * scale)
        if slot >= 0:
            before = surrogate._posterior.tracked_at(slot)
            surrogate._observe_tracked(slot, y, noise)
            return before
        block = self._block(query)
        mean, std = (float(x[0]) for x in surrogate._moments([block], std=True))
        surrogate._observe(block, y, noise)
        return (mean - offset) / scale, (std / scale) ** 2

    def _record(self, query: Any, reward: float, mean: float, var: float, expanded: bool) -> None:
        """Close the round: remember, and learn hyperparameters where it is time."""
        scale, offset = self.surrogate_._factor, self.surrogate_._offset
        row = (mean * scale + offset, sqrt(var) * scale)
        self._round += 1
        self._history.append((self._descriptor(query), reward, *row, expanded))
        self._relearn_if_due()

    def _expected(self) -> Posterior:
        """Posterior after the answers to pending queries, their values assumed as expected."""
        if not self._pending:
            return self.surrogate_._posterior
        noise = self._default_noise() / self.surrogate_._factor**2
        blocks = [self._block(query) for query in self._pending]
        return self.surrogate_._imagine(blocks, [noise] * len(blocks))

    def _condition(self, X: np.ndarray, y: np.ndarray) -> None:
        """Condition on point evaluations, one functional each."""
        rows = self._rows_of(X)
        for i, value in enumerate(y):
            self.surrogate_._observe(rows[i : i + 1], value, self.alpha)
        self._n_fitted = len(X)
        self._learn()

    # -- learning ---------------------------------------------------------------------------

    def _relearn_if_due(self) -> None:
        """Follow the schedule of ``relearn``."""
        if self.optimizer is None and not self.normalize_y:
            return
        n = self._round + self._n_fitted
        if self.relearn == "doubling":
            due = n >= max(1 if self.normalize_y else FIRST_LEARNING, 2 * self._learned_at)
        else:
            due = self.relearn is not None and n - self._learned_at >= self.relearn
        if due:
            self._learn()

    def _learn(self) -> None:
        """Learn the scale of the rewards and the hyperparameters, and refactorise."""
        if self.optimizer is None and not self.normalize_y:
            return
        surrogate = self.surrogate_
        self._learned_at = self._round + self._n_fitted
        center, scale = surrogate._offset, surrogate._factor
        if self.normalize_y:
            rewards = surrogate._posterior.targets() * scale + center
            # One distinct query says nothing of the spread: rewards spread at least as their noise.
            center, scale = float(rewards.mean()), max(float(rewards.std()), sqrt(self.alpha))
        surrogate.optimizer = self.optimizer if self._learned_at >= FIRST_LEARNING else None
        surrogate._relearn(center, scale or 1.0)
        self._relearned()

    # -- a regressor for f ------------------------------------------------------------------

    def _value_of(self, query: Any) -> float:
        return float(self.surrogate_._moments([self._block(query)])[0])

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
        X = validate_data(self, X, dtype=np.float64, reset=False)
        rows = self._rows_of(X)
        return self.surrogate_.predict(rows, return_std=return_std, return_cov=return_cov)

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
        return self.surrogate_.sample_y(self._rows_of(X), n_samples, random_state)
