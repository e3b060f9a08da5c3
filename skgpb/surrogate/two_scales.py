"""A prior of f for answers that average it over cells of several sizes.

A small cell sees what a large one averages away. Under a kernel with one length scale, that of the
trend, ripples are noise to a search: it asks where they are again and again, or believes from a
few small cells that the large ones around them are as good. So f is the sum of a trend and of
something rougher, whose variance and length scales are learned as well, both Gaussian, so that
averages over cells have a closed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel

from skgpb.surrogate.likelihood import (
    AMPLITUDE_LIMITS,
    AMPLITUDE_SPREAD,
    LENGTH_LIMITS,
    LENGTH_SCALE,
    LENGTH_SPREAD,
    Prior,
)

# Medians of the rough part's variance and length scales, as shares of those of the trend; their
# limits, the length scales' in units of the sides; and the deviations of their logarithms.
ROUGH, ROUGH_LENGTH = 0.1, 0.25
ROUGH_LIMITS, ROUGH_LENGTH_LIMITS = (1e-4, 10.0), (0.01, 2.0)
ROUGH_SPREAD, ROUGH_LENGTH_SPREAD = 1.5, 0.5


def two_scales(bounds: np.ndarray) -> Kernel:
    """Return a trend and a rough part, with length scales for every side of a box (d, 2).

    For standardised answers. The length scales do not grow with d: averages are asked in few
    dimensions, and are smooth already.
    """
    side = bounds[:, 1] - bounds[:, 0]
    side = np.where(side > 0.0, side, 1.0)

    def part(variance: float, limits: Any, share: float, of_length: Any) -> Kernel:
        scale: Any = share * side
        within: Any = np.outer(side, of_length)
        if len(side) == 1:
            scale, within = float(scale[0]), tuple(within[0])
        return ConstantKernel(variance, limits) * RBF(scale, within)

    trend = part(1.0, AMPLITUDE_LIMITS, LENGTH_SCALE, LENGTH_LIMITS)
    rough_length = ROUGH_LENGTH * LENGTH_SCALE
    return trend + part(ROUGH, ROUGH_LIMITS, rough_length, ROUGH_LENGTH_LIMITS)


def prior_of_two_scales(bounds: np.ndarray) -> Prior:
    """Prior on the hyperparameters of :func:`two_scales`, log-normal around its own."""
    d = len(bounds)
    trend = [AMPLITUDE_SPREAD, *[LENGTH_SPREAD] * d]
    rough = [ROUGH_SPREAD, *[ROUGH_LENGTH_SPREAD] * d]
    return Prior(two_scales(bounds).theta, np.array(trend + rough))
