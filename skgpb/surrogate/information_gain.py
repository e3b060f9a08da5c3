r"""Upper bounds on the maximum information gain of t noisy answers about f.

For answers at x_1..x_t with noise variance lambda the information gain is

    1/2 log det(I + K_t / lambda) = 1/2 sum_h log(1 + var_{h-1}(x_h) / lambda),

where var_{h-1} is the posterior variance after the first h - 1 of them. gamma_t is its maximum
over all choices of x_1..x_t; regret bounds grow with sqrt(t gamma_t).

References
----------
.. [Srinivas2010] N. Srinivas, A. Krause, S. M. Kakade and M. Seeger, "Gaussian Process
   Optimization in the Bandit Setting: No Regret and Experimental Design", ICML 2010.
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Equation 4.
.. [Chowdhury2017] S. R. Chowdhury and A. Gopalan, "On Kernelized Multi-armed Bandits", ICML
   2017. Theorem 2.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Kernel,
    Matern,
    Product,
    Sum,
    WhiteKernel,
)

from skgpb._core._tree import first_maximum
from skgpb.kernels._cell import CellKernel
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.utils.validation import (
    Integral,
    check_callable_value,
    check_noise_variance,
    check_numbers,
)

# Mathematics: the information gain is submodular: the greedy choice has at least this share of
# gamma_t.
GREEDY_SHARE = 1.0 - exp(-1.0)


class GreedyInformationGain:
    """Information gain of the greedy choice of arms, one round at a time.

    Parameters
    ----------
    kernel : Kernel
        Prior covariance, over rows of ``arms``.
    arms : array-like of shape (n_arms, n_columns)
        Points, or descriptors for ``kernel``.
    alpha : float
        Noise variance, > 0.

    Attributes
    ----------
    gains : list of float
        Information gain after 1, 2, ... rounds, up to the largest t of the calls.
    arms_chosen : list of int
        The arm of each round: the largest posterior variance, ties to the first.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.surrogate.information_gain import GreedyInformationGain
    >>> gain = GreedyInformationGain(RBF(0.2), np.linspace(0, 1, 11)[:, None], alpha=0.1)
    >>> round(gain(3), 3)
    3.595
    >>> gain.arms_chosen
    [0, 10, 5]
    """

    def __init__(self, kernel: Kernel, arms: Any, alpha: float) -> None:
        arms = check_numbers(arms, "arms")
        self._alpha = check_noise_variance(alpha)
        if not self._alpha > 0.0:
            raise ValueError("alpha must be > 0: without noise the information gain is infinite")
        self._gp = GaussianProcess(clone(kernel), arms.shape[1])
        self._gp.track(arms)
        self._nuggets = self._gp.white_noise(self._gp.tracked)
        self.gains: list[float] = []
        self.arms_chosen: list[int] = []

    def __call__(self, t: int) -> float:
        """Return the information gain of t rounds; every new round costs O(n_arms t)."""
        if not isinstance(t, Integral) or t < 0:
            raise ValueError(f"t must be an integer >= 0, got {t!r}")
        while len(self.gains) < t:
            var = self._gp.posterior.tracked_var()
            noise = self._alpha + self._nuggets
            ratio = var / noise
            arm = first_maximum(ratio)
            gain = 0.5 * log(1.0 + ratio[arm])
            self._gp.observe_tracked(arm, 0.0, self._alpha)
            self.gains.append(gain + (self.gains[-1] if self.gains else 0.0))
            self.arms_chosen.append(arm)
        return self.gains[t - 1] if t else 0.0

    def bound(self, t: int) -> float:
        """Return an upper bound on gamma_t: the greedy gain divided by 1 - 1/e."""
        return self(t) / GREEDY_SHARE


def information_gain(kernel: Kernel, X: Any, alpha: float) -> float:
    """Return the information gain of answers at given rows, 1/2 log det(I + K / alpha).

    Parameters
    ----------
    kernel : Kernel
        Prior covariance, over rows of X.
    X : array-like of shape (t, n_columns)
        Points or descriptors, repeats allowed.
    alpha : float
        Noise variance, > 0.

    Returns
    -------
    gain : float
        In nats.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.surrogate.information_gain import information_gain
    >>> round(information_gain(RBF(0.2), [[0.0], [1.0], [0.5]], alpha=0.1), 3)
    3.595
    """
    X = check_numbers(X, "X")
    functionals = Functionals.of_rows(X)
    gp = GaussianProcess(clone(kernel), X.shape[1])
    noise = check_noise_variance(alpha) + gp.white_noise(functionals)
    if not noise.min() > 0.0:
        raise ValueError("alpha must be > 0: without noise the information gain is infinite")
    root = np.sqrt(noise)
    K = gp.covariance(functionals, functionals) / np.outer(root, root)
    return 0.5 * float(np.linalg.slogdet(np.eye(len(X)) + K)[1])


def information_gain_order(kernel: Kernel, t: int, d: int) -> float:
    r"""Return the growth of gamma_t with constants dropped, Section 3 of [Nuara2020]_.

    d log t for a linear kernel, (log t)^(d + 1) for an RBF kernel and
    t^(d (d + 1) / (2 nu + d (d + 1))) log t for a Matern kernel. A sum has the largest order of its
    parts; constants, white noise and averages over cells do not matter.

    Parameters
    ----------
    kernel : Kernel
        Built from ``DotProduct``, ``RBF`` and ``Matern``.
    t : int
        Number of answers; 0 counts as 1.
    d : int
        Dimension of the points.

    Returns
    -------
    order : float

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from skgpb.surrogate.information_gain import information_gain_order
    >>> round(information_gain_order(Matern(nu=1.5), t=50, d=1), 2)
    18.71
    """
    parts = _stationary_parts(kernel)
    log_t = log(max(t, 1))
    if not parts:
        return 0.0
    orders = []
    for part in parts:
        if isinstance(part, DotProduct):
            orders.append(d * log_t)
        elif type(part) is Matern and np.isfinite(part.nu):
            power = d * (d + 1) / (2.0 * part.nu + d * (d + 1))
            orders.append(t**power * log_t)
        else:
            orders.append(log_t ** (d + 1))
    return max(orders)


def _stationary_parts(kernel: Kernel) -> list[Kernel]:
    """Return the parts of a kernel expression that decide how fast gamma_t grows."""
    if isinstance(kernel, (ConstantKernel, WhiteKernel)):
        return []
    if isinstance(kernel, CellKernel):
        return _stationary_parts(kernel.base)
    if isinstance(kernel, Sum):
        return _stationary_parts(kernel.k1) + _stationary_parts(kernel.k2)
    if isinstance(kernel, Product):
        parts = _stationary_parts(kernel.k1) + _stationary_parts(kernel.k2)
        if len(parts) < 2:
            return parts
    elif isinstance(kernel, (RBF, DotProduct)):  # Matern is an RBF to scikit-learn
        return [kernel]
    raise ValueError(
        f"no order formula is known for {kernel!r}: pass information_gain='greedy', which takes "
        "any kernel"
    )


def norm_bound_beta(B: float, share: float, gain: float, log_odds: float) -> float:
    r"""Return the square of the width within which f stays, Theorem 2 of [Chowdhury2017]_.

    .. math:: B + \frac{R}{\sqrt{\lambda}} \sqrt{2 (\gamma + 1 + \log(1 / \delta))}

    The paper regularises by lambda = 1. With lambda = alpha, as here, its bound is for f over a
    kernel that is divided by alpha: the norm B becomes sqrt(alpha) B and standard deviations are
    divided by sqrt(alpha), so that R is left with the quotient (decision D-D8).

    Parameters
    ----------
    B : float
        Bound on the norm of f.
    share : float
        R / sqrt(alpha).
    gain : float
        Information gain gamma.
    log_odds : float
        log(1 / delta).

    Returns
    -------
    beta : float
    """
    width = B + share * sqrt(2.0 * (gain + 1.0 + log_odds))
    return width * width


class GainOfRound:
    """The parameter ``information_gain`` of an optimizer over arms: gamma_t as a function of t.

    With "greedy" gamma_t is computed from the arms at the first call.

    Parameters
    ----------
    optimizer : Search
        Its present kernel, arms and noise are used.
    """

    # Arms and noise at the start of the run: those of the optimizer may have changed since.
    _kept_fields = ("_arms", "_alpha")

    def __init__(self, optimizer: Any) -> None:
        self._spec = optimizer.information_gain
        self._kernel = clone(optimizer.surrogate_.kernel_)
        self._d = optimizer.n_features_in_
        self._greedy: GreedyInformationGain | None = None
        self._arms = optimizer.domain_.every_row().copy()
        self._alpha = optimizer.alpha_ / optimizer.surrogate_.process_.scale**2
        if isinstance(self._spec, str) and self._spec == "order":
            _stationary_parts(self._kernel)

    def __call__(self, t: int) -> float:
        """Return gamma_t."""
        if callable(self._spec):
            return check_callable_value(self._spec, t, "information_gain")
        if self._spec == "order":
            return information_gain_order(self._kernel, t, self._d)
        if self._spec != "greedy":
            return float(self._spec)
        if self._alpha == 0.0:
            raise ValueError(
                "alpha must be > 0 with information_gain='greedy', which is infinite without "
                "noise; pass 'order' or a number"
            )
        if self._greedy is None:
            self._greedy = GreedyInformationGain(self._kernel, self._arms, self._alpha)
        return self._greedy.bound(t)
