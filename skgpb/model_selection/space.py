"""Spaces of estimator parameters as a unit cube, and kernels that respect their kinds.

An optimizer searches the cube [0, 1]^d, one axis for each parameter. What it believes must not
depend on where in the cube a setting lies but on the setting itself: all points that stand for the
same integer, category or inactive parameter are one and the same, so the kernel looks at the
setting's *columns* and not at the point [Garrido2020]_.

References
----------
.. [Garrido2020] E. C. Garrido-Merchán and D. Hernández-Lobato, "Dealing with categorical and
   integer-valued variables in Bayesian Optimization with Gaussian processes", Neurocomputing
   380, 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Matern

from skgpb.kernels._wrapper import WrapperKernel
from skgpb.surrogate.likelihood import Prior
from skgpb.utils import Real

# Infinite ends of a distribution are cut off at this quantile.
TAIL = 1.0 / 1024
# Where length scales are expected, in units of the cube's sides; and how sure this is, as standard
# deviations of logarithms.
LENGTH_SCALE = 0.5
SPREAD_LENGTH, SPREAD_VARIANCE = 0.8, 1.0
# Of a parameter that is not in use.
NEUTRAL = 0.5


class Choice:
    """One of several values; a list of numbers is ordered by size, anything else is not."""

    def __init__(self, name: str, values: Any) -> None:
        self.values = list(values)
        if not self.values:
            raise ValueError(f"param_distributions[{name!r}] is an empty list")
        self.n = len(self.values)
        self.ordered = all(
            isinstance(v, (Real, np.number)) and not isinstance(v, (bool, np.bool_))
            for v in self.values
        )
        if self.ordered:
            self.values = sorted(self.values)
        self.n_columns = 1 if self.ordered else self.n
        self.n_settings = float(self.n)

    def number(self, u: np.ndarray) -> np.ndarray:
        """Number of the value at coordinates u in [0, 1]."""
        return np.minimum((u * self.n).astype(np.intp), self.n - 1)

    def value(self, u: float) -> Any:
        """Value of the parameter at a coordinate in [0, 1]."""
        return self.values[int(self.number(np.asarray(u)))]

    def coordinate(self, value: Any) -> float:
        """Coordinate in [0, 1] of a value."""
        return (self.values.index(value) + 0.5) / self.n

    def columns(self, u: np.ndarray) -> np.ndarray:
        """Columns (n, n_columns) of coordinates (n,)."""
        number = self.number(u)
        if self.ordered:
            return (number / max(1, self.n - 1))[:, None]
        # Any two categories are at distance 1.
        return np.eye(self.n)[number] / np.sqrt(2.0)

    def same_as(self, other: object) -> bool:
        """Whether another axis has the same values."""
        return isinstance(other, Choice) and _equal(self.values, other.values)


class Quantile:
    """A distribution: the coordinate is the quantile, so that its scale becomes even."""

    n_columns = 1

    def __init__(self, name: str, distribution: Any) -> None:
        self.distribution = distribution
        self.discrete = hasattr(distribution, "pmf")
        low, high = distribution.support()
        if not low <= high:
            raise ValueError(
                f"param_distributions[{name!r}] has no values: its support is [{low}, {high}]"
            )
        self.low, self.high = float(low), float(high)
        self.n_settings = self.high - self.low + 1.0 if self.discrete else np.inf

    def _values(self, u: np.ndarray) -> np.ndarray:
        smallest = 0.0 if np.isfinite(self.low) else TAIL
        largest = 1.0 if np.isfinite(self.high) else 1.0 - TAIL
        values = self.distribution.ppf(np.clip(u, smallest, largest))
        return np.clip(values, self.low, self.high)

    def value(self, u: float) -> float | int:
        """Value of the parameter at a coordinate in [0, 1]."""
        value = float(self._values(np.asarray(u)))
        return int(value) if self.discrete else value

    def columns(self, u: np.ndarray) -> np.ndarray:
        """Columns (n, n_columns) of coordinates (n,)."""
        if not self.discrete:
            return u[:, None]
        values = self._values(u)
        # The middle of the quantiles that stand for the integer.
        return (self.distribution.cdf(values) - 0.5 * self.distribution.pmf(values))[:, None]

    def same_as(self, other: object) -> bool:
        """Whether another axis has the same values."""
        if not isinstance(other, Quantile):
            return False
        parts = [
            (type(d.distribution.dist), d.distribution.args, d.distribution.kwds)
            if hasattr(d.distribution, "dist")
            else id(d.distribution)
            for d in (self, other)
        ]
        return _equal(*parts)


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are equal; those that cannot be compared are not."""
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False


def _axis(name: str, values: Any) -> Choice | Quantile:
    if all(hasattr(values, method) for method in ("ppf", "cdf", "support")):
        return Quantile(name, values)
    if not isinstance(values, (str, bytes, Mapping)) and hasattr(values, "__len__"):
        if isinstance(values, np.ndarray) and values.ndim > 1:
            raise ValueError(f"param_distributions[{name!r}] must be one-dimensional")
        return Choice(name, values.tolist() if isinstance(values, np.ndarray) else values)
    raise TypeError(
        f"param_distributions[{name!r}] must be a list of values or a frozen distribution of "
        f"scipy.stats (uniform, loguniform, randint, ...), got {values!r}"
    )


class ParameterSpace:
    """All settings that ``param_distributions`` describes.

    Parameters
    ----------
    param_distributions : dict or list of dicts
        As in RandomizedSearchCV. With several dicts the first axis chooses among them, and a
        parameter that has the same distribution in two of them shares an axis.

    Attributes
    ----------
    n_axes : int
        d, the dimension of the cube.
    groups : ndarray of shape (n_columns,)
        Axis of every column.
    n_settings : float
        Number of different settings, infinite where a distribution is continuous.
    """

    def __init__(self, param_distributions: Any) -> None:
        several = isinstance(param_distributions, (list, tuple))
        spaces = list(param_distributions) if several else [param_distributions]
        if not spaces or not all(isinstance(space, Mapping) for space in spaces):
            raise TypeError(
                "param_distributions must be a dict of distributions or lists, or a list of such "
                f"dicts; got {param_distributions!r}"
            )
        self.axes: list[tuple[str, Choice | Quantile]] = []
        if len(spaces) > 1:
            self.axes.append(("", Choice("", [str(i) for i in range(len(spaces))])))
        self._constants: list[dict[str, Any]] = []
        #: For each dict, which axis its parameters are on.
        self._active: list[dict[str, int]] = []
        self.n_settings = 0.0
        for space in spaces:
            constants, active, n_settings = {}, {}, 1.0
            for name, values in space.items():
                axis = _axis(name, values)
                n_settings *= axis.n_settings
                if axis.n_settings == 1:
                    constants[name] = axis.value(0.0)
                else:
                    active[name] = self._place(name, axis)
            self._constants.append(constants)
            self._active.append(active)
            self.n_settings += n_settings
        if not self.axes:
            # A single setting; the cube needs an axis all the same.
            self.axes.append(("", Choice("", ["only"])))
        self._finish()

    def _finish(self) -> None:
        """Count axes and columns."""
        self.n_axes = len(self.axes)
        self.groups = np.repeat(np.arange(self.n_axes), [axis.n_columns for _, axis in self.axes])

    @classmethod
    def from_axes(cls, axes: Mapping[str, Any]) -> ParameterSpace:
        """Return the space of given axes, each in use whatever the others are."""
        space = cls.__new__(cls)
        space.axes = list(axes.items())
        space._constants, space._active = [{}], [{name: i for i, name in enumerate(axes)}]
        space._finish()
        space.n_settings = float(np.prod([axis.n_settings for axis in axes.values()]))
        return space

    def __deepcopy__(self, memo: dict) -> ParameterSpace:
        """Return itself: nothing in it changes, and kernels are copied often."""
        return self

    def _place(self, name: str, axis: Choice | Quantile) -> int:
        for i, (other_name, other) in enumerate(self.axes):
            if name == other_name and axis.same_as(other):
                return i
        self.axes.append((name, axis))
        return len(self.axes) - 1

    @property
    def bounds(self) -> np.ndarray:
        """The unit cube, shape (d, 2)."""
        return np.tile([0.0, 1.0], (self.n_axes, 1))

    def _which(self, points: np.ndarray) -> np.ndarray:
        """Which dict every point (n, d) belongs to."""
        if len(self._active) == 1:
            return np.zeros(len(points), dtype=np.intp)
        first: Any = self.axes[0][1]  # which dict it is, a Choice
        return first.number(points[:, 0])

    def setting(self, point: np.ndarray) -> dict[str, Any]:
        """Return the parameters that a point (d,) stands for."""
        which = int(self._which(point[None])[0])
        active = self._active[which]
        values = {name: self.axes[i][1].value(point[i]) for name, i in active.items()}
        return {**self._constants[which], **values}

    def columns(self, points: np.ndarray) -> np.ndarray:
        """Return what distinguishes settings, shape (n, n_columns); points have shape (n, d)."""
        points = np.asarray(points, dtype=np.float64)
        out = np.hstack([axis.columns(u) for (_, axis), u in zip(self.axes, points.T, strict=True)])
        which = self._which(points)
        for number, active in enumerate(self._active):
            if len(self._active) == 1:
                break
            unused = ~np.isin(self.groups, [0, *active.values()])
            out[np.ix_(which == number, unused)] = NEUTRAL
        return out


class AxisMatern(Matern):
    """Matérn kernel with one length scale for each axis, which the axis's columns share.

    Parameters
    ----------
    length_scale : float or ndarray of shape (n_axes,)
        Of each axis.
    length_scale_bounds : pair of floats, default=(1e-1, 1e1)
        Where they are learned.
    nu : float, default=2.5
        Smoothness.
    groups : sequence of n_columns int, default=()
        Axis of every column, ascending.
    """

    def __init__(
        self,
        length_scale: Any = 1.0,
        length_scale_bounds: Any = (1e-1, 1e1),
        nu: float = 2.5,
        groups: Any = (),
    ) -> None:
        super().__init__(length_scale, length_scale_bounds, nu)
        self.groups = groups

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the covariances, and with ``eval_gradient`` their gradient by ``theta``."""
        groups = np.asarray(self.groups)
        by_column = Matern(np.atleast_1d(self.length_scale)[groups], nu=self.nu)
        if not eval_gradient:
            return by_column(X, Y)
        K, gradient = by_column(X, eval_gradient=True)
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        return K, np.add.reduceat(gradient, starts, axis=2)


class OnSettings(WrapperKernel):
    """A kernel on the columns of settings, as a kernel on points of the cube.

    Parameters
    ----------
    base : Kernel
        Over columns; its hyperparameters are those of this kernel.
    columns : callable
        Maps points (n, d) to columns.
    prior : Prior, default=None
        Under which the hyperparameters are learned from standardised values. None for a kernel
        that is learned only if its user says so.
    """

    def __init__(
        self,
        base: Kernel,
        columns: Callable[[np.ndarray], np.ndarray],
        prior: Prior | None = None,
    ) -> None:
        self.base = base
        self.columns = columns
        self.prior = prior

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the covariances of the settings that points (n, d) stand for."""
        X = self.columns(np.atleast_2d(X))
        return self.base(X, None if Y is None else self.columns(np.atleast_2d(Y)), eval_gradient)

    def diag(self, X: Any) -> np.ndarray:
        """Return the diagonal of ``self(X)``, shape (n,)."""
        return self.base.diag(self.columns(np.atleast_2d(X)))

    def is_stationary(self) -> bool:
        """Return False: an integer is the same setting wherever in the cube its points lie."""
        return False


def default_kernel(space: ParameterSpace) -> Kernel:
    """Matérn-5/2 with an amplitude and a length scale for every axis."""
    scales = np.full(space.n_axes, LENGTH_SCALE) if space.n_axes > 1 else LENGTH_SCALE
    return ConstantKernel(1.0, (1e-2, 1e2)) * AxisMatern(scales, groups=space.groups)


def kernel_on_settings(kernel: Kernel | None, space: ParameterSpace) -> OnSettings:
    """Put the kernel of an optimizer on settings; None for one that is learned under a prior."""
    if kernel is not None:
        return OnSettings(kernel, space.columns)
    kernel = default_kernel(space)
    spread = np.array([SPREAD_VARIANCE, *[SPREAD_LENGTH] * space.n_axes])
    return OnSettings(kernel, space.columns, Prior(kernel.theta, spread))
