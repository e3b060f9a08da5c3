"""Confidence widths from a bound on the norm of f, for all functionals and all rounds."""

from __future__ import annotations

from abc import abstractmethod
from math import inf, log, sqrt
from typing import Any, Literal, overload

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted

from skgpb._warnings import warn
from skgpb.exceptions import GuaranteeWarning
from skgpb.guarantee import USUAL
from skgpb.kernels import LowRank
from skgpb.locks import locked
from skgpb.optimizers._base import Q
from skgpb.optimizers._gap import Comparison, by_intervals
from skgpb.optimizers._gaussian import GaussianProcessOptimizer, LearningOptimizer
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.information_gain import norm_bound_beta
from skgpb.surrogate.length_scales import consistent, shorter
from skgpb.surrogate.model import Learned
from skgpb.surrogate.widths import norm_beta, norm_ends
from skgpb.utils import Interval, Real, StrOptions, check_callable_value

# As ``optimizer``: length scales are dropped that contradict the answers.
CONSISTENT = "consistent"


class Intervals(LearningOptimizer[Q]):
    """A search for an f of bounded norm: intervals that hold whatever chose the queries."""

    _parameter_constraints: dict[str, Any] = {
        "optimizer": [StrOptions({"fmin_l_bfgs_b", CONSISTENT}), callable, None],
    }

    @abstractmethod
    def _process(self) -> GaussianProcess:
        """Return the posterior of f."""

    @abstractmethod
    def _initial_theta(self) -> np.ndarray:
        """Hyperparameters of the kernel that was given."""

    @abstractmethod
    def _times_learned(self) -> int:
        """Return how often hyperparameters were chosen since the start."""

    def _norm_bound(self) -> tuple[float, float, float, float]:
        given = self.guarantee or USUAL
        B, delta = float(given.norm_bound), float(given.failure_probability)
        if self._is_consistent:
            delta *= 0.5  # the other half is for a length scale that is dropped by its residuals
        return B, self._noise_to_alpha(), delta, float(given.misspecification)

    def _noise_to_alpha(self) -> float:
        """R / sqrt(alpha), where Gaussian noise has R = sqrt(alpha)."""
        given = (self.guarantee or USUAL).noise_bound
        if given is None or given == 0.0:
            return float(given is None)
        if callable(self.alpha):
            raise ValueError(
                "guarantee.noise_bound must be None where alpha is a function, got "
                f"noise_bound={given!r}"
            )
        if self.alpha is not None and not np.all(np.asarray(self.alpha) > 0.0):
            raise ValueError(
                f"guarantee.noise_bound={given!r} with alpha=0 leaves the width unbounded; pass "
                "the noise variance as alpha, or a noise_bound of 0 or None"
            )
        return given / sqrt(self.alpha_)

    def _norm_bound_beta(self, gain: float, odds: float) -> float:
        """(B + R sqrt(2 (gamma + 1 + log(odds / delta))))^2, of IGP-UCB and GP-TS."""
        given, share = self.guarantee or USUAL, self._noise_to_alpha()
        beta = norm_bound_beta(given.norm_bound, share, gain, log(odds / given.failure_probability))
        if not beta < inf:
            raise ValueError(
                f"guarantee={given!r} makes the width of beta='theory' so large that its square is "
                "not finite"
            )
        return beta

    @property
    def _unfounded(self) -> str | None:
        """Reason why the widths of a bounded norm are not guaranteed, None if they are."""
        if self._standardizes:
            return "the answers are scaled by their standard deviation"
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
        """True if all that the intervals rest on, ``guarantee`` and ``kernel`` aside, is so."""
        check_is_fitted(self, "surrogate_")
        return self._unfounded is None

    def _warn_if_unfounded(self) -> None:
        if self._unfounded is not None:
            bound = (self.guarantee or USUAL).norm_bound
            warn(
                f"widths for functions of norm at most {bound!r} are not "
                f"guaranteed here: {self._unfounded}",
                GuaranteeWarning,
            )

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

    def _possible_processes(self) -> list[GaussianProcess]:
        """Processes, one for each length scale that fits the answers, the longest first."""
        if not self._is_consistent:
            return [self._process()]
        thetas = shorter(self._process().kernel, self._initial_theta())
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
        """Return the factor of the variance for ``beta="rkhs"``, given the answers."""
        return norm_beta(self._process(), *self._norm_bound())

    def _given_beta(self, t: int) -> float:
        """Factor of the variance in round t that the user chose in place of the theory's."""
        if callable(self.beta):
            return check_callable_value(self.beta, t, "beta")
        return self._norm_beta() if self.beta == "rkhs" else float(self.beta)


class GaussianIntervals(Intervals[Q], GaussianProcessOptimizer[Q]):
    """Intervals where queries are functionals of the process itself."""

    def _times_learned(self) -> int:
        return self._model.n_learned

    def _process(self) -> GaussianProcess:
        return self._gp

    def _initial_theta(self) -> np.ndarray:
        return self._model.first_theta

    def _start_surrogate(self, kernel: Kernel, n_columns: int, seed: int | None = None) -> None:
        if self._is_consistent:
            self._check_consistent(kernel)
        super()._start_surrogate(kernel, n_columns, seed)

    def _chosen(self) -> Learned | None:
        if not self._is_consistent:
            return None
        return Learned(0.0, 1.0, self._next_theta(), self._model.noise)

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
            self._warn_if_unfounded()
