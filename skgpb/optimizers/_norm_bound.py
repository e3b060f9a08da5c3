"""Confidence widths from a bound on the norm of f, for all functionals and all rounds."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted

from skgpb.guarantee import USUAL
from skgpb.locks import locked
from skgpb.optimizers._base import Q
from skgpb.optimizers._gap import Comparison, by_intervals
from skgpb.optimizers._gaussian import GaussianProcessOptimizer, LearningOptimizer
from skgpb.surrogate.bounded_norm import Widths
from skgpb.surrogate.length_scales import shorter
from skgpb.surrogate.model import Learned
from skgpb.utils import Interval, Real, StrOptions, check_callable_value

# As ``optimizer``: length scales are dropped that contradict the answers.
CONSISTENT = "consistent"


class Intervals(LearningOptimizer[Q]):
    """A search for an f of bounded norm: intervals that hold whatever chose the queries."""

    _parameter_constraints: dict[str, Any] = {
        "optimizer": [StrOptions({"fmin_l_bfgs_b", CONSISTENT}), callable, None],
    }

    def _widths(self) -> Widths:
        """Return the widths from the posterior of f and the hyperparameters at the start."""
        several, model = self._is_consistent, self._model
        return Widths(
            model.process,
            self.guarantee or USUAL,
            self.alpha,
            lambda: self.alpha_,
            model.standardizes,
            self.optimizer is not None and not several,
            model.own_noise > 0.0,
            model.first_theta if several else None,
        )

    @property
    @locked
    def widths_hold_(self) -> bool:
        """True if all that the intervals rest on, ``guarantee`` and ``kernel`` aside, is so."""
        check_is_fitted(self, "surrogate_")
        return self._widths().unfounded is None

    # -- intervals --------------------------------------------------------------------------

    @locked
    def interval(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Interval in which f lies at points, for all points and all rounds at once.

        With a probability of at least 1 - ``guarantee.failure_probability`` f is within these ends
        everywhere and whenever they are asked for, however queries were chosen, if f and the noise
        are as ``guarantee`` says (:mod:`skgpb.surrogate.widths`).

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
            If hyperparameters, the noise or the scale are learned from the answers, by which the
            guarantee is lost, or where no f of this norm fits the answers.
        """
        check_is_fitted(self, "bounds_")
        return self._ends(self._functionals_at(self._checked_points_of(X)))

    def _ends(self, blocks: Any) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = self._widths().ends(blocks)
        return (-upper, -lower) if self._minimizes else (lower, upper)

    def _gap_by_intervals(self, comparison: Comparison) -> float:
        return by_intervals(comparison, self._ends, self._minimizes)

    def _check_failures(self, delta: float, name: str) -> None:
        given = (self.guarantee or USUAL).failure_probability
        if given > delta:
            raise ValueError(
                f"intervals fail with guarantee.failure_probability={given!r}, which must be at "
                f"most {name}"
            )

    # -- length scales that do not contradict the answers -----------------------------------

    @property
    def _is_consistent(self) -> bool:
        return isinstance(self.optimizer, str) and self.optimizer == CONSISTENT

    def _chosen(self) -> Learned | None:
        if not self._is_consistent:
            return None
        theta = self._widths().next_theta(self._model.n_learned)
        return Learned(0.0, 1.0, theta, self._model.noise)

    @property
    def _has_noise(self) -> bool:
        """True if no answer is known to be without noise."""
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
        if not self._has_noise or (self.guarantee or USUAL).misspecification > 0.0:
            raise ValueError(
                f"optimizer={CONSISTENT!r} needs noise, alpha > 0, and a kernel that is not "
                f"misspecified; got alpha={self.alpha!r} and "
                f"misspecification={(self.guarantee or USUAL).misspecification!r}"
            )
        shorter(kernel, kernel.theta)


class NormBounded(Intervals[Q]):
    """A search that may be guided by the norm: ``beta="rkhs"``."""

    beta: Any

    _parameter_constraints: dict[str, Any] = {
        "beta": [StrOptions({"theory", "rkhs"}), Interval(Real, 0, None, closed="left"), callable],
    }

    def _given_beta(self, t: int) -> float:
        """Factor of the variance in round t that the user chose in place of the theory's."""
        if callable(self.beta):
            return check_callable_value(self.beta, t, "beta")
        return self._widths().beta() if self.beta == "rkhs" else float(self.beta)


class GaussianIntervals(Intervals[Q], GaussianProcessOptimizer[Q]):
    """Intervals where queries are functionals of the process itself."""

    def _start_surrogate(self, kernel: Kernel, n_columns: int, seed: int | None = None) -> None:
        if self._is_consistent:
            self._check_consistent(kernel)
        super()._start_surrogate(kernel, n_columns, seed)

    @overload
    def predict_query(
        self, queries: Any, return_std: Literal[False] = False, *, interval: Literal[False] = False
    ) -> np.ndarray: ...

    @overload
    def predict_query(
        self, queries: Any, return_std: Literal[True], *, interval: Literal[False] = False
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict_query(
        self, queries: Any, return_std: Literal[False] = False, *, interval: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

    @overload
    def predict_query(
        self, queries: Any, return_std: bool = False, *, interval: Literal[False] = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict_query(
        self, queries: Any, return_std: bool = False, *, interval: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray] | tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Posterior of what queries observe, without the noise of an answer.

        Parameters
        ----------
        queries : query or list of queries
            Queries of this optimizer, asked or not; in a list also points, of shape (d,) or (S, d),
            which stand for their average.
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
        blocks = [self.domain_.block_of(query) for query in self._checked_queries(queries)]
        return self._signed_moments(self._gp.moments(blocks)), *self._ends(blocks)


class NormBoundedOptimizer(NormBounded[Q], GaussianIntervals[Q]):
    """Norm bound of optimizers that may also use it to choose queries."""

    def _start_surrogate(self, kernel: Kernel, n_columns: int, seed: int | None = None) -> None:
        super()._start_surrogate(kernel, n_columns, seed)
        if isinstance(self.beta, str) and self.beta == "rkhs":
            self._widths().warn_if_unfounded()
