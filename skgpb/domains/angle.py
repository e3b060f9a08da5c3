"""Periodic numbers, such as angles and the time of the day."""

from __future__ import annotations

from math import tau
from typing import ClassVar

import numpy as np

from skgpb.domains.space import Side, checked_number, clip_rounding
from skgpb.domains.steps import Steps
from skgpb.utils.validation import check_bounds

__all__ = ["Angle"]


class Angle(Side):
    """A side of periodic numbers: both ends are the same setting, and 355 degrees are near 5.

    Parameters
    ----------
    low, high : float, default=0, 360
        The ends; ``high - low`` is the period, in any unit: degrees, radians, hours.
    step : float, default=None
        Distance of two numbers that can be set, counted from ``low``. Told numbers may lie between
        them. None for all numbers.

    Notes
    -----
    Kernels get two columns, a point on a circle whose circumference is the period. For short
    distances a distance on it is the difference of the angles, so that length scales are in the
    unit of the side.

    Told numbers are between ``low`` and ``high``: tell 355 and not -5.

    Cells and regions go from a smaller to a larger number, and none contains both sides of the end:
    ``Angle(-180, 180)`` has its border where ``Angle(0, 360)`` has its middle. An average over a
    range of angles is the average over evenly spaced angles in it.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb import GPUCBOptimizer
    >>> from skgpb.domains import Angle
    >>> opt = GPUCBOptimizer(bounds={"wind": Angle(0, 360)}, random_state=0)
    >>> best = opt.run(lambda query: np.cos(np.radians(query.params["wind"] - 355)), budget=15).x
    >>> abs((best.params["wind"] - 355 + 180) % 360 - 180) < 5
    True
    """

    low: float
    high: float
    step: float | None
    #: Names of the arguments in a file.
    arguments: ClassVar[tuple[str, ...]] = ("low", "high", "step")

    def __init__(self, low: float = 0.0, high: float = 360.0, step: float | None = None) -> None:
        self.low, self.high = check_bounds([(low, high)], "low, high")[0].tolist()
        self.ends: tuple[float, float] = self.low, self.high
        self._steps = None if step is None else Steps(low, high, step)
        self.step = None if step is None else float(step)

    def value(self, u: float) -> float:
        """Return the number at a coordinate: the coordinate itself."""
        return float(u)

    def coordinate(self, value: object) -> float:
        """Return the coordinate of a number: the number itself."""
        return clip_rounding(checked_number(value), *self.ends)

    def rounded_to_grid(self, u: np.ndarray) -> np.ndarray:
        """Round coordinates (n,) to the nearest steps."""
        return self.snap(u if self._steps is None else self._steps.rounded_to_grid(u))

    def columns(self, u: np.ndarray) -> np.ndarray:
        """Return the points (n, 2) of a circle at coordinates (n,)."""
        radius = (self.high - self.low) / tau
        u = np.where(u == self.high, self.low, u)  # one row for both ends
        return radius * np.column_stack([np.cos(u / radius), np.sin(u / radius)])
