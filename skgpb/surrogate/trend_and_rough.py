"""A prior of f for answers that average it over cells of several sizes.

A small cell shows ripples that a large one averages away. A kernel with a single length scale, that
of the trend, explains ripples as noise: the search then asks there again and again, or concludes
from a few small cells that the large cells around them are as good. So f is the sum of a trend and
a rougher part, whose variances and length scales are learned. Both are Gaussian, so that averages
over cells have a closed form.

Answers are in units of their standard deviation, and an average varies less than f: the larger the
cell and the number of dimensions, the less. The prior variances are therefore set so that averages
over the target cells have the variance of the answers.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Product, Sum

from skgpb import defaults
from skgpb.kernels import CellIntegral
from skgpb.kernels._random_effect import RandomEffect
from skgpb.kernels._wrapper import WrapperKernel
from skgpb.surrogate.likelihood import Prior


def trend_and_rough(bounds: np.ndarray, wanted: np.ndarray) -> Kernel:
    """Return a trend and a rough part, with length scales for every side of a box (d, 2).

    It is for standardised answers. ``wanted`` (k, d) are the sides of the target cells.
    """
    d, side = len(bounds), bounds[:, 1] - bounds[:, 0]
    side = np.where(side > 0.0, side, 1.0)
    cells = np.hstack([np.zeros_like(wanted), wanted])

    def of_averages(scale: np.ndarray) -> float:
        """Return the variance of averages over target cells if f has variance 1."""
        return float(CellIntegral(RBF(scale)).diag(cells).mean())

    def part(variance: float, limits: Any, scale: Any, of_length: Any) -> Kernel:
        within: Any = np.outer(side, of_length)
        if d == 1:
            scale, within = float(scale[0]), tuple(within[0])
        levels = tuple(variance * limit for limit in limits)
        return ConstantKernel(variance, levels) * RBF(scale, within)

    scale = defaults.LENGTH_SCALE * d**defaults.TREND_GROWTH * side
    rough_scale = min(defaults.ROUGH_LENGTH * sqrt(d), 1.0) * scale
    variance = defaults.TREND_LEVEL / of_averages(scale)
    rough = min(defaults.ROUGH_LEVEL / of_averages(rough_scale), variance)
    trend = part(variance, defaults.AMPLITUDE_LIMITS, scale, defaults.LENGTH_LIMITS)
    return trend + part(rough, defaults.ROUGH_LIMITS, rough_scale, defaults.LENGTH_LIMITS)


def has_rough_part(kernel: Any) -> bool:
    """Return whether a kernel is a trend and a rough part, or consists of averages over them."""
    while isinstance(kernel, WrapperKernel) and not isinstance(kernel, RandomEffect):
        kernel = kernel.base
    return isinstance(kernel, Sum) and all(
        isinstance(part, Product) and type(part.k2) is RBF for part in (kernel.k1, kernel.k2)
    )


def prior_of_trend_and_rough(bounds: np.ndarray, wanted: np.ndarray) -> Prior:
    """Return the log-normal prior of the hyperparameters of :func:`trend_and_rough`."""
    d = len(bounds)
    trend = [defaults.AMPLITUDE_SPREAD, *[defaults.LENGTH_SPREAD] * d]
    rough = [defaults.PART_SPREAD, *[defaults.ROUGH_LENGTH_SPREAD] * d]
    return Prior(trend_and_rough(bounds, wanted).theta, np.array(trend + rough))
