"""Kernel of observations in blocks: f, and an effect with mean zero for each block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from skgpb.kernels._wrapper import WrapperKernel


@dataclass(eq=False, repr=False)
class RandomEffect(WrapperKernel):
    r"""A kernel of f, and the variance of a random effect in some of the observations.

    .. math:: k((x, b), (x', b')) = k_{base}(x, x') + \sigma_b^2 [b = b']

    Rows of descriptors have no column for the block b: called with rows this is the kernel of f,
    which is the mean over all possible blocks. A list of functionals stores which of them were
    observed in a block (:attr:`skgpb.kernels.evaluator.Functionals.strata`).

    Parameters
    ----------
    base : Kernel
        Kernel of f, over descriptor rows.
    variance : float
        Variance of the effects.
    variance_bounds : pair of floats
        Bounds between which it is learned.

    Notes
    -----
    ``theta`` is that of ``base``, followed by the logarithm of the variance.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels._random_effect import RandomEffect
    >>> RandomEffect(RBF(0.5), 1.0, (0.01, 100.0)).theta.round(4)
    array([-0.6931,  0.    ])
    """

    base: Kernel
    variance: float
    variance_bounds: tuple[float, float]

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Hyperparameters of the base kernel, followed by the variance."""
        own = Hyperparameter("variance", "numeric", self.variance_bounds)
        return [*super().hyperparameters, own]

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the hyperparameters, shape (p + 1,)."""
        return np.append(self.base.theta, np.log(self.variance))

    @theta.setter
    def theta(self, theta: np.ndarray) -> None:
        self.base.theta = theta[:-1]
        self.variance = float(np.exp(theta[-1]))

    @property
    def bounds(self) -> np.ndarray:
        """Bounds of ``theta``, shape (p + 1, 2)."""
        return np.vstack([self.base.bounds, np.log(self.variance_bounds)])

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the covariances of f."""
        if not eval_gradient:
            return self.base(X, Y)
        K, gradient = self.base(X, Y, eval_gradient=True)
        return K, np.concatenate([gradient, np.zeros((*K.shape, 1))], axis=2)

    def diag(self, X: Any) -> np.ndarray:
        """Return the variances of f, shape (n,)."""
        return self.base.diag(X)

    def is_stationary(self) -> bool:
        """Return whether the kernel of f is stationary."""
        return self.base.is_stationary()


def of_f(kernel: Any) -> Kernel:
    """Return the kernel of f, without a random effect."""
    return kernel.base if isinstance(kernel, RandomEffect) else kernel


def variance_of_effect(kernel: Any) -> float:
    """Return the variance of the random effect of a kernel, 0 if it has none."""
    return kernel.variance if isinstance(kernel, RandomEffect) else 0.0
