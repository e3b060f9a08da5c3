"""What a bound on the norm of f decides in a search: the bonus, and which length scales to keep."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb.guarantee import Guarantee
from skgpb.surrogate.bounded_norm import Widths
from skgpb.surrogate.length_scales import shorter
from skgpb.surrogate.model import Hyperparameters, Model
from skgpb.utils import Interval, Real, StrOptions, check_callable_value

# As ``optimizer``: length scales are dropped that contradict the answers.
CONSISTENT = "consistent"
#: Constraints of ``beta`` where the norm may say how large it is.
BETA_CONSTRAINTS = [
    StrOptions({"theory", "rkhs"}),
    Interval(Real, 0, None, closed="left"),
    callable,
]


@dataclass(slots=True)
class NormBound:
    """What is assumed of f and the noise, and what of a search is decided by it.

    Attributes
    ----------
    guarantee : Guarantee
        What is assumed.
    alpha : float, array-like, callable or None
        Noise variances of answers as they were given; None if they are learned.
    optimizer : str, callable or None
        How hyperparameters are learned.
    beta : Any
        Factor of the variance, as the user gave it, where a search has one.
    """

    guarantee: Guarantee
    alpha: Any
    optimizer: Any
    beta: Any

    @property
    def is_consistent(self) -> bool:
        """True if length scales are dropped that contradict the answers."""
        return isinstance(self.optimizer, str) and self.optimizer == CONSISTENT

    @property
    def chooses(self) -> bool:
        """True if queries are chosen by the bound, ``beta="rkhs"``."""
        return isinstance(self.beta, str) and self.beta == "rkhs"

    def check_consistent(self, kernel: Kernel, is_given: bool, normalize_y: bool) -> None:
        """Raise ValueError where length scales cannot be compared by a norm."""
        alpha, misspecification = self.alpha, self.guarantee.misspecification
        if not is_given or alpha is None or normalize_y:
            raise ValueError(
                f"optimizer={CONSISTENT!r} compares length scales by a norm: it needs a "
                "kernel, whose length scales are the longest, alpha, and normalize_y=False"
            )
        noisy = callable(alpha) or bool(np.all(np.asarray(alpha) > 0.0))
        if not noisy or misspecification > 0.0:
            raise ValueError(
                f"optimizer={CONSISTENT!r} needs noise, alpha > 0, and a kernel that is not "
                f"misspecified; got alpha={alpha!r} and misspecification={misspecification!r}"
            )
        shorter(kernel, kernel.theta)

    def widths(self, model: Model) -> Widths:
        """Return the widths from the posterior of f and the hyperparameters at the start."""
        several = self.is_consistent
        return Widths(
            model.process,
            self.guarantee,
            self.alpha,
            lambda: model.alpha,
            model.standardizes,
            self.optimizer is not None and not several,
            model.model_noise > 0.0,
            model.first_theta if several else None,
        )

    def chosen(self, model: Model) -> Hyperparameters | None:
        """Return hyperparameters that are chosen rather than learned, if they are."""
        if not self.is_consistent:
            return None
        theta = self.widths(model).next_theta(model.n_learned)
        return Hyperparameters(0.0, 1.0, theta, model.noise)

    def given_beta(self, t: int, model: Model) -> float:
        """Factor of the variance in round t that the user chose in place of the theory's."""
        if callable(self.beta):
            return check_callable_value(self.beta, t, "beta")
        return self.widths(model).beta() if self.chooses else float(self.beta)

    def deviations_within(self, log_regions: float) -> float:
        """Prior deviations by which f may differ from the answer to a region, in all of them.

        ``log_regions`` is the logarithm of the number of regions over which the papers take a
        union.
        """
        if self.chooses:
            return float(self.guarantee.norm_bound)
        return sqrt(2.0 * (log_regions - log(self.guarantee.failure_probability)))
