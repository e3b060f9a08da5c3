"""What optimizers share that know a bound on the norm of f: widths that hold for everything."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted

from skgpb.exceptions import GuaranteeWarning
from skgpb.kernels import LowRank
from skgpb.locks import locked
from skgpb.optimizers._base import Q
from skgpb.optimizers._gaussian import GaussianProcessOptimizer, LearningOptimizer
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.information_gain import noise_share
from skgpb.surrogate.length_scales import consistent, shorter
from skgpb.surrogate.widths import norm_beta, norm_ends
from skgpb.utils import Interval, Real, StrOptions

# As ``optimizer``: length scales are dropped that contradict the answers.
CONSISTENT = "consistent"


class Intervals(LearningOptimizer[Q]):
    """A search for an f of norm at most ``B``: intervals that hold whatever chose the queries."""

    # For classes of one's own that do not name these parameters.
    B: float = 1.0
    R: float | None = None
    misspecification: float = 0.0
    failure_probability: float = 0.1

    _parameter_constraints: dict[str, Any] = {
        "B": [Interval(Real, 0, None, closed="left")],
        "R": [Interval(Real, 0, None, closed="left"), None],
        "misspecification": [Interval(Real, 0, None, closed="left")],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
        "optimizer": [StrOptions({"fmin_l_bfgs_b", CONSISTENT}), callable, None],
    }

    # Hyperparameters of the kernel that was given.
    _first_theta: np.ndarray

    @abstractmethod
    def _process(self) -> GaussianProcess:
        """Return the posterior of f."""

    @abstractmethod
    def _times_learned(self) -> int:
        """How often hyperparameters were chosen since the start."""

    def _norm_bound(self) -> tuple[float, float, float, float]:
        B, delta = float(self.B), float(self.failure_probability)
        if self._is_consistent:
            delta *= 0.5  # the other half is for a length scale that is dropped by its residuals
        return B, noise_share(self), delta, float(self.misspecification)

    @property
    def _unfounded(self) -> str | None:
        """Why the widths of a bounded norm are no guarantee, None where they are one."""
        if self._standardizes:
            return "the answers are scaled by their own spread"
        learned = self.optimizer is not None and not self._is_consistent
        if learned and self.surrogate_.kernel_.n_dims:
            return "hyperparameters are learned from the answers"
        if self.alpha is None:
            return "the noise is learned from the answers (pass alpha)"
        if isinstance(self.surrogate_.kernel_, LowRank):
            return "the kernel is approximated by features"
        return None

    @property
    @locked
    def widths_hold_(self) -> bool:
        """Whether all that the intervals rest on, ``B``, ``R`` and ``kernel`` aside, is so."""
        check_is_fitted(self, "surrogate_")
        return self._unfounded is None

    def _warn_if_unfounded(self) -> None:
        if self._unfounded is not None:
            warnings.warn(
                f"widths of an f of norm B={self.B!r} are no guarantee here: {self._unfounded}",
                GuaranteeWarning,
                stacklevel=5,
            )

    # -- intervals --------------------------------------------------------------------------

    @locked
    def interval(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Interval in which f lies at points, for all points and all rounds at once.

        With a probability of at least 1 - ``failure_probability`` f is within these ends everywhere
        and whenever they are asked for, however queries were chosen, if its norm is at most ``B``
        and the noise is as ``R`` says (:mod:`skgpb.surrogate.widths`).

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Points, as for :meth:`predict`.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,)

        Warns
        -----
        GuaranteeWarning
            Where hyperparameters, the noise or the scale are learned from the answers, by which the
            guarantee is lost, or where no f of this norm fits the answers.
        """
        check_is_fitted(self, "bounds_")
        return self._ends(self._functionals_at(self._checked_points_of(X)))

    def _functionals_at(self, points: np.ndarray) -> np.ndarray:
        """Descriptor rows of f at points (n, d), as the process knows them."""
        return self._rows_of(points)

    def _ends(self, blocks: Any) -> tuple[np.ndarray, np.ndarray]:
        self._warn_if_unfounded()
        bound = self._norm_bound()
        ends = [norm_ends(gp, blocks, *bound) for gp in self._possible_processes()]
        lower = np.min([each[0] for each in ends], axis=0)
        upper = np.max([each[1] for each in ends], axis=0)
        return (-upper, -lower) if self._minimizes else (lower, upper)

    # -- length scales that do not contradict the answers -----------------------------------

    @property
    def _is_consistent(self) -> bool:
        return isinstance(self.optimizer, str) and self.optimizer == CONSISTENT

    @property
    def _has_noise(self) -> bool:
        """Whether no answer is known to be without noise."""
        if self.alpha is None or callable(self.alpha):
            return True
        return bool(np.all(np.asarray(self.alpha) > 0.0))

    def _check_consistent(self, kernel: Kernel) -> None:
        """Raise ValueError where length scales cannot be compared by a norm."""
        if self.kernel is None or self.alpha is None or self.normalize_y:
            raise ValueError(
                f"optimizer={CONSISTENT!r} compares length scales by a norm: it needs a "
                "kernel, whose length scales are the longest, alpha, and normalize_y=False"
            )
        if not self._has_noise or self.misspecification > 0.0:
            raise ValueError(
                f"optimizer={CONSISTENT!r} needs noise, alpha > 0, and a kernel that is not "
                f"misspecified; got alpha={self.alpha!r} and "
                f"misspecification={self.misspecification!r}"
            )
        shorter(kernel, kernel.theta)

    def _possible_processes(self) -> list[GaussianProcess]:
        """Processes of which one is right: of each length scale that fits, the longest first."""
        if not self._is_consistent:
            return [self._process()]
        thetas = shorter(self._process().kernel, self._first_theta)
        return consistent(self._process(), thetas, *self._norm_bound()[:3])

    def _next_theta(self) -> np.ndarray:
        """Hyperparameters that guide the search until the next are chosen.

        Each length scale has its turn: a search by one alone may never see what contradicts it.
        """
        left = self._possible_processes()
        return left[self._times_learned() % len(left)].kernel.theta


class NormBounded(Intervals[Q]):
    """A search that may be guided by the norm: ``beta="rkhs"``."""

    beta: Any

    _parameter_constraints: dict[str, Any] = {
        "beta": [StrOptions({"theory", "rkhs"}), Interval(Real, 0, None, closed="left"), callable],
    }

    def _norm_beta(self) -> float:
        """Factor of the variance that ``beta="rkhs"`` stands for, after what was told."""
        return norm_beta(self._process(), *self._norm_bound())


class GaussianIntervals(Intervals[Q], GaussianProcessOptimizer[Q]):
    """Intervals where queries are functionals of the process itself."""

    def _times_learned(self) -> int:
        return sum(event[0] == "learned" for event in self._log)

    def _process(self) -> GaussianProcess:
        return self._gp

    def _start_surrogate(self, kernel: Kernel, n_columns: int) -> None:
        if self._is_consistent:
            self._check_consistent(kernel)
        super()._start_surrogate(kernel, n_columns)

    def _most_probable(self) -> dict[str, Any]:
        if not self._is_consistent:
            return super()._most_probable()
        theta = self._next_theta()
        return {"center": 0.0, "scale": 1.0, "theta": theta, "noise": self._noise}

    @locked
    def predict_query(
        self, queries: Any, return_std: bool = False, *, interval: bool = False
    ) -> Any:
        """Posterior of what queries observe, without the noise of an answer.

        Parameters
        ----------
        queries : query or list of queries
            Those of this optimizer, asked or not; in a list also points, of shape (d,) or (S, d),
            of which the average is meant.
        return_std, interval : bool, default=False
            At most one of them.

        Returns
        -------
        mean : ndarray of shape (n_queries,)
        std : ndarray of shape (n_queries,), only if ``return_std``
        lower, upper : ndarray of shape (n_queries,), only if ``interval``
            Ends that hold for all queries, points and rounds at once, see :meth:`interval`.
        """
        if not interval:
            return super().predict_query(queries, return_std)
        if return_std:
            raise ValueError("at most one of return_std and interval can be asked for")
        check_is_fitted(self, "bounds_")
        blocks = [self._block(query) for query in self._checked_queries(queries)]
        return self._signed_moments(self._gp.moments(blocks)), *self._ends(blocks)


class NormBoundedOptimizer(NormBounded[Q], GaussianIntervals[Q]):
    """The same where the norm may guide the search as well."""

    def _start_surrogate(self, kernel: Kernel, n_columns: int) -> None:
        super()._start_surrogate(kernel, n_columns)
        if isinstance(self.beta, str) and self.beta == "rkhs":
            self._warn_if_unfounded()
