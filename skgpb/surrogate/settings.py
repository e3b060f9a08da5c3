"""The kernel of an optimizer that searches settings of different kinds, and its prior."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel

from skgpb.kernels._settings import AxisMatern, AxisRBF, OnSettings
from skgpb.kernels.columns import Columns
from skgpb.surrogate.likelihood import Prior

# Expected length scale, in units of a side; and how sure this is, as standard
# deviations of logarithms.
LENGTH_SCALE, LENGTH_LIMITS = 0.5, (1e-1, 1e1)
SPREAD_LENGTH, SPREAD_VARIANCE = 0.8, 1.0


def default_kernel(space: Any, smooth: bool = False) -> Kernel:
    """Matérn-5/2 with an amplitude and a length scale for every axis of a ParameterSpace.

    With ``smooth`` an RBF kernel, whose averages over cells have a closed form.
    """
    side = np.diff(space.bounds)[:, 0]
    scales: Any = LENGTH_SCALE * side
    limits: Any = np.outer(side, LENGTH_LIMITS)
    if space.n_axes == 1:
        scales, limits = float(scales[0]), tuple(limits[0])
    shape = AxisRBF if smooth else AxisMatern
    return ConstantKernel(1.0, (1e-2, 1e2)) * shape(scales, limits, groups=space.groups)


def kernel_on_settings(kernel: Kernel | None, space: Any) -> OnSettings:
    """Put the kernel of an optimizer on settings; None for one that is learned under a prior."""
    if kernel is not None:
        return OnSettings(kernel, space.columns)
    kernel = default_kernel(space)
    spread = np.array([SPREAD_VARIANCE, *[SPREAD_LENGTH] * space.n_axes])
    return OnSettings(kernel, space.columns, Prior(kernel.theta, spread))


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
            part = OnSettings(part, type(space).from_axes({name: axis}).columns)
        product = product * Columns(part, [i])
    return product
