"""The kernel of an optimizer that searches settings of different kinds, and its prior."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel

from skgpb.kernels._settings import AxisMatern, AxisRBF, OnSettings
from skgpb.kernels.additive_matern import AdditiveMatern
from skgpb.kernels.columns import Columns
from skgpb.surrogate.likelihood import (
    LENGTH_SPREAD,
    MAIN_EFFECTS_LIMITS,
    MAIN_EFFECTS_SPREAD,
    Prior,
    default_prior,
)
from skgpb.surrogate.likelihood import default_kernel as box_kernel

# Expected length scale, in units of a side; and how sure this is, as standard
# deviations of logarithms.
LENGTH_SCALE, LENGTH_LIMITS = 0.5, (1e-1, 1e1)
SPREAD_LENGTH, SPREAD_VARIANCE = 0.8, 1.0
# With main effects (decision D-H49): length scales of lists and of ordered axes, which grow with
# sqrt(n), and the variance of the main effects in units of that of the other part.
OF_LISTS, OF_NUMBERS, LIMITS, MAIN_EFFECTS = 0.5, 0.3, (0.05, 50.0), 2.0


def default_kernel(space: Any, smooth: bool = False, main_effects: bool = False) -> Kernel:
    """Matérn-5/2 with an amplitude and a length scale for every axis of a ParameterSpace.

    With ``smooth`` an RBF kernel, whose averages over cells have a closed form. With
    ``main_effects`` single axes have an effect of their own, if there are several.
    """
    side, n, amplitude = np.diff(space.bounds)[:, 0], space.n_axes, ConstantKernel(1.0, (1e-2, 1e2))
    if main_effects and n > 1:
        each = np.where([axis.ordered for _, axis in space.axes], OF_NUMBERS, OF_LISTS)
        return amplitude * AdditiveMatern(
            each * sqrt(n) * side,
            np.outer(side, LIMITS),
            main_effects=MAIN_EFFECTS,
            main_effects_bounds=MAIN_EFFECTS_LIMITS,
            groups=space.groups,
        )
    scales: Any = LENGTH_SCALE * side
    limits: Any = np.outer(side, LENGTH_LIMITS)
    if n == 1:
        scales, limits = float(scales[0]), tuple(limits[0])
    shape = AxisRBF if smooth else AxisMatern
    return amplitude * shape(scales, limits, groups=space.groups)


def default_model(space: Any, main_effects: bool = True) -> tuple[Kernel, Prior]:
    """Return the kernel that is learned over columns of settings, and its prior.

    Without lists and integers it is the one of a box of numbers.
    """
    if not any(axis.discrete for _, axis in space.axes):
        bounds = space.bounds
        return box_kernel(bounds, main_effects=main_effects), default_prior(bounds, main_effects)
    kernel, n = default_kernel(space, main_effects=main_effects), space.n_axes
    spread = [SPREAD_VARIANCE, *[SPREAD_LENGTH] * n]
    if main_effects and n > 1:
        spread = [SPREAD_VARIANCE, *[LENGTH_SPREAD] * n, MAIN_EFFECTS_SPREAD]
    return kernel, Prior(kernel.theta, np.array(spread))


def kernel_on_settings(kernel: Kernel | None, space: Any, main_effects: bool = False) -> OnSettings:
    """Put the kernel of an optimizer on settings; None for one that is learned under a prior."""
    if kernel is not None:
        return OnSettings(kernel, space)
    kernel, prior = default_model(space, main_effects)
    return OnSettings(kernel, space, prior)


def kernel_of_cells(space: Any) -> Kernel:
    """The default RBF kernel on settings as a product over axes, for cells of them.

    The mean over pairs of settings of two cells is then a product of means along the axes. Its
    hyperparameters are those of ``kernel_on_settings(None, space)``.
    """
    default = default_kernel(space)
    product, shape = default.k1, default.k2
    scales = np.atleast_1d(shape.length_scale)
    limits = np.atleast_2d(shape.length_scale_bounds)
    for i, (name, axis) in enumerate(space.axes):
        part = RBF(float(scales[i]), tuple(limits[i]))
        if axis.discrete:
            part = OnSettings(part, type(space).from_axes({name: axis}))
        product = product * Columns(part, [i])
    return product
