"""The kernel of an optimizer over settings with sides of different kinds, and its prior."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern

from skgpb import defaults
from skgpb.kernels._settings import AxisMatern, AxisRBF, OnSettings
from skgpb.kernels.additive_matern import AdditiveMatern
from skgpb.kernels.columns import Columns
from skgpb.surrogate.likelihood import Prior, default_prior
from skgpb.surrogate.likelihood import default_kernel as box_kernel


def default_kernel(space: Any, smooth: bool = False, main_effects: bool = False) -> Kernel:
    """Return a Matérn-5/2 kernel with an amplitude and a length scale for every axis of a space.

    ``space`` is a ParameterSpace. Without lists and integers the length scales are those of a box
    of numbers. With ``smooth`` the kernel is an RBF kernel, whose averages over
    cells have a closed form. With ``main_effects`` single axes have an effect of their own, if the
    space has several.
    """
    if not space.has_lists:
        return _by_axis(box_kernel(space.bounds, smooth, main_effects), space.groups)
    side, n = np.diff(space.bounds)[:, 0], space.n_axes
    limits: Any = np.outer(side, defaults.LENGTH_LIMITS)
    amplitude = ConstantKernel(1.0, defaults.AMPLITUDE_LIMITS)
    if main_effects and n > 1:
        ordered = [axis.ordered for _, axis in space.axes]
        each = np.where(ordered, defaults.ORDERED_LENGTH_SCALE, defaults.LIST_LENGTH_SCALE)
        return amplitude * AdditiveMatern(
            each * sqrt(n) * side,
            limits,
            main_effects=defaults.SETTINGS_MAIN_EFFECTS,
            main_effects_bounds=defaults.AMPLITUDE_LIMITS,
            groups=space.groups,
        )
    scales: Any = defaults.LIST_LENGTH_SCALE * side
    if n == 1:
        scales, limits = float(scales[0]), tuple(limits[0])
    shape = AxisRBF if smooth else AxisMatern
    return amplitude * shape(scales, limits, groups=space.groups)


def _by_axis(kernel: Any, groups: np.ndarray) -> Kernel:
    """Return a default kernel of a box, with its length scales shared by the columns of an axis."""
    shape = kernel.k2
    if len(groups) == len(np.unique(groups)):
        return kernel
    if isinstance(shape, AdditiveMatern):
        return kernel.set_params(k2__groups=groups)
    by_axis = AxisMatern if isinstance(shape, Matern) else AxisRBF
    return kernel.k1 * by_axis(shape.length_scale, shape.length_scale_bounds, groups=groups)


def default_model(space: Any, main_effects: bool = True) -> tuple[Kernel, Prior]:
    """Return the learned kernel over columns of settings, and its prior.

    Without lists and integers the prior is that of a box of numbers.
    """
    kernel, n = default_kernel(space, main_effects=main_effects), space.n_axes
    if not space.has_lists:
        return kernel, default_prior(space.bounds, main_effects)
    spread = [defaults.AMPLITUDE_SPREAD, *[defaults.SETTINGS_LENGTH_SPREAD] * n]
    if main_effects and n > 1:
        spread = [
            defaults.AMPLITUDE_SPREAD,
            *[defaults.LENGTH_SPREAD] * n,
            defaults.PART_SPREAD,
        ]
    return kernel, Prior(kernel.theta, np.array(spread))


def kernel_on_settings(kernel: Kernel | None, space: Any, main_effects: bool = False) -> OnSettings:
    """Return a kernel over settings; for None one that is learned, with its prior."""
    if kernel is not None:
        return OnSettings(kernel, space)
    kernel, prior = default_model(space, main_effects)
    return OnSettings(kernel, space, prior)


def kernel_of_cells(space: Any) -> Kernel:
    """Return the default RBF kernel over settings as a product over axes, for cells of settings.

    The mean over pairs of settings of two cells is then a product of means along the axes. Its
    hyperparameters are those of ``kernel_on_settings(None, space)``.
    """
    default = default_kernel(space)
    product, shape = default.k1, default.k2
    scales = np.atleast_1d(shape.length_scale)
    limits = np.atleast_2d(shape.length_scale_bounds)
    for i, (name, axis) in enumerate(space.axes):
        part = RBF(float(scales[i]), tuple(limits[i]))
        if axis.uses_columns:
            part = OnSettings(part, type(space).from_axes({name: axis}))
        product = product * Columns(part, [i])
    return product
