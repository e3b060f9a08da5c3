"""Intervals for every f of bounded norm, from a process, its assumptions and its use.

:mod:`~skgpb.surrogate.widths` proves the widths; this module decides which of them hold for a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Any

import numpy as np

from skgpb.exceptions import GuaranteeWarning
from skgpb.guarantee import Guarantee
from skgpb.kernels import LowRank
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.information_gain import norm_bound_beta
from skgpb.surrogate.length_scales import consistent, shorter
from skgpb.surrogate.widths import norm_beta, norm_ends
from skgpb.utils.warnings import warn


@dataclass(frozen=True)
class Widths:
    """Widths of intervals that hold at all times at once, however the queries were chosen.

    Attributes
    ----------
    process : GaussianProcess
        Posterior of f.
    guarantee : Guarantee
        Assumptions about f and the noise.
    alpha : float, array-like, callable or None
        Noise variances of the answers in the user's units; None if they are learned.
    level : callable
        Function of no arguments that returns the noise variance of all answers.
    standardizes : bool
        Whether answers are divided by their standard deviation.
    learns : bool
        Whether hyperparameters are learned from the answers.
    from_pairs : bool
        Whether the averages that queries observe are learned from pairs.
    longest : ndarray of shape (n_theta,) or None
        Hyperparameters with the longest length scales, if shorter ones that do not contradict the
        answers are tried as well; None if only those of the process are used.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> gp = GaussianProcess(RBF(0.3), n_columns=1)
    >>> _ = gp.observe(np.array([[0.5]]), 1.0, noise=0.01)
    >>> widths = Widths(gp, Guarantee(norm_bound=2.0), 0.01, lambda: 0.01)
    >>> lower, upper = widths.ends(np.array([[0.5], [0.9]]))
    >>> bool(upper[0] - lower[0] < upper[1] - lower[1])
    True
    """

    process: GaussianProcess
    guarantee: Guarantee
    alpha: Any
    level: Callable[[], float]
    standardizes: bool = False
    learns: bool = False
    from_pairs: bool = False
    longest: np.ndarray | None = None

    # -- whether they hold --------------------------------------------------------------------

    @property
    def invalid_reason(self) -> str | None:
        """Reason why the widths are not guaranteed, None if they are."""
        if self.from_pairs:
            return "what a query averages is learned from pairs"
        if self.standardizes:
            return "the answers are scaled by their standard deviation"
        if self.learns and self.process.kernel.n_dims:
            return "hyperparameters are learned from the answers"
        if self.alpha is None:
            return "the noise is learned from the answers (pass alpha)"
        if isinstance(self.process.kernel, LowRank):
            return "the kernel is approximated by features"
        return None

    def warn_if_unfounded(self) -> None:
        """Warn if the widths are not guaranteed."""
        if self.invalid_reason is not None:
            warn(
                f"widths for functions of norm at most {self.guarantee.norm_bound!r} are not "
                f"guaranteed here: {self.invalid_reason}",
                GuaranteeWarning,
            )

    # -- the widths ---------------------------------------------------------------------------

    def beta(self) -> float:
        """Return the factor of the variance within which all functionals lie, given the answers."""
        return norm_beta(self.process, *self._bound())

    def beta_of_gain(self, gain: float, odds: float) -> float:
        """Return (B + R sqrt(2 (gamma + 1 + log(odds / delta))))^2, of IGP-UCB and GP-TS."""
        given = self.guarantee
        log_odds = log(odds / given.failure_probability)
        beta = norm_bound_beta(given.norm_bound, self._noise_share(), gain, log_odds)
        if not beta < inf:
            raise ValueError(
                f"guarantee={given!r} makes the width of beta='theory' so large that its square is "
                "not finite"
            )
        return beta

    def ends(self, row_sets: np.ndarray | list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper ends of intervals, one for each functional.

        Parameters
        ----------
        row_sets : ndarray of shape (n, n_columns) or list of ndarray of shape (n_rows, n_columns)
            Descriptor rows of the functionals.

        Warns
        -----
        GuaranteeWarning
            If the ends are not guaranteed, or where no f of this norm fits the answers.
        """
        self.warn_if_unfounded()
        bound = self._bound()
        lower, upper = zip(
            *(norm_ends(gp, row_sets, *bound) for gp in self.possible()), strict=True
        )
        return np.min(lower, axis=0), np.max(upper, axis=0)

    def possible(self) -> list[GaussianProcess]:
        """Return the processes, one for each length scale that fits the answers, longest first."""
        if self.longest is None:
            return [self.process]
        thetas = shorter(self.process.kernel, self.longest)
        return consistent(self.process, thetas, *self._bound()[:3])

    def next_theta(self, n_chosen: int) -> np.ndarray:
        """Return the hyperparameters for the next search, after ``n_chosen`` earlier choices.

        The length scales take turns: a search with a single one may never visit the points that
        contradict it.
        """
        left = self.possible()
        return left[n_chosen % len(left)].kernel.theta

    def _bound(self) -> tuple[float, float, float, float]:
        """Return the arguments of :func:`~skgpb.surrogate.widths.norm_beta` after the process."""
        given = self.guarantee
        B, delta = float(given.norm_bound), float(given.failure_probability)
        if self.longest is not None:
            delta *= 0.5  # the other half is for length scales that their residuals rule out
        return B, self._noise_share(), delta, float(given.misspecification)

    def _noise_share(self) -> float:
        """Return R / sqrt(alpha); Gaussian noise has R = sqrt(alpha)."""
        given = self.guarantee.noise_bound
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
        return given / sqrt(self.level())
