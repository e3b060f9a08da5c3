"""Numbers between two limits that can be set only in steps."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from skgpb import defaults
from skgpb.domains.space import (
    SAME,
    ListedAxis,
    checked_number,
    clip_rounding,
    nearest,
    shorten_number,
)
from skgpb.utils.validation import check_bounds

__all__ = ["Steps"]

# Limit: largest number of steps; more are assumed to be a mistake.
MOST_STEPS = 10_000


class Steps(ListedAxis):
    """A side of a box with equally spaced values, as on a thermostat or a pipette.

    Queries and recommendations are at one of the steps. Told values may lie between two steps: a
    measured temperature counts at its true value.

    Parameters
    ----------
    low, high : float
        The ends, which are steps as well.
    step : float, default=None
        Distance of two steps, counted from ``low``. None for numbers of three significant digits of
        the range: 100 to 1,000 of them, multiples of 0.1, 1, 10, ..., and the ends.
    log : bool, default=False
        Whether the scale is logarithmic: numbers of three significant digits, 200 on each decade.

    Examples
    --------
    >>> from skgpb import GPUCBOptimizer
    >>> from skgpb.domains import Steps
    >>> opt = GPUCBOptimizer(bounds={"heat": Steps(20, 90, 0.5)}, random_state=0)
    >>> heat = opt.ask().params["heat"]
    >>> (heat / 0.5).is_integer()
    True
    """

    low: float
    high: float
    step: float | None
    log: bool
    arguments: ClassVar[tuple[str, ...]] = ("low", "high", "step", "log")

    def __init__(
        self, low: float, high: float, step: float | None = None, log: bool = False
    ) -> None:
        self.low, self.high = check_bounds([(low, high)], "low, high")[0].tolist()
        self.step = None if step is None else float(step)
        self.log = bool(log)
        if self.log and not self.low > 0.0:
            raise ValueError(f"low must be above 0 on a logarithmic scale, got {low!r}")
        if self.log and step is not None:
            raise ValueError(f"step must be None on a logarithmic scale, got {step!r}")
        if self.step is not None and not (
            0.0 < self.step <= self.high - self.low
            and (self.high - self.low) / self.step <= MOST_STEPS
        ):
            raise ValueError(
                f"step must be above 0, at most the length of the range, and at least a "
                f"{MOST_STEPS}th of it; got {step!r}"
            )
        self.ends: tuple[float, float] = (0.0, 1.0) if self.log else (self.low, self.high)
        #: All steps, sorted.
        self.grid: np.ndarray = self._make_grid()
        self.n_settings: float = float(len(self.grid))

    def _make_grid(self) -> np.ndarray:
        if self.log:
            n = math.ceil(defaults.STEPS_PER_DECADE * math.log10(self.high / self.low))
            values = np.geomspace(self.low, self.high, min(max(n, 2), MOST_STEPS))
            return np.unique([self.low, *(float(f"{v:.3g}") for v in values[1:-1]), self.high])
        first, step = self.low, self.step
        if step is None:
            step = self.default_step
            first = math.floor(self.low / step) * step
        count = math.floor((self.high - first) / step * (1.0 + 1e-12)) + 1
        # Rounding must not turn 0 or a step into 1e-17.
        exact = [float(f"{first + i * step:.12g}") for i in range(count)]
        values = np.array([0.0 if abs(v) < 1e-9 * step else v for v in exact])
        if self.step is None:
            inside = values[(values > self.low) & (values < self.high)]
            values = np.concatenate([[self.low], inside, [self.high]])
        return np.clip(values, self.low, self.high)

    @property
    def default_step(self) -> float:
        """The power of ten that divides the range into 100 to 1,000 steps."""
        return float(f"1e{math.ceil(math.log10(self.high - self.low) - 1e-9) - 3}")

    @property
    def shown_step(self) -> float | None:
        """The distance of two steps; None on a logarithmic scale."""
        if self.log:
            return None
        return self.default_step if self.step is None else self.step

    # -- as an axis -------------------------------------------------------------------------

    def numbers(self, u: np.ndarray) -> np.ndarray:
        """Return numbers (n,) at coordinates (n,)."""
        if not self.log:
            return np.asarray(u, dtype=np.float64)
        values = self.low * (self.high / self.low) ** np.asarray(u, dtype=np.float64)
        near = self.grid[nearest(self.grid, values)]
        return np.where(np.abs(values - near) <= SAME * near, near, values)

    def value(self, u: float) -> float:
        """Return the number at a coordinate; a told number of up to twelve digits is unchanged."""
        value = float(self.numbers(np.array([u]))[0])
        if not self.log:
            return value
        return shorten_number(value, u, lambda x: self._coordinates(np.array([x]))[0])

    def coordinate(self, value: object) -> float:
        """Return the coordinate of a number, which may lie between two steps."""
        value = clip_rounding(checked_number(value), self.low, self.high)
        return float(self._coordinates(np.array([value]))[0])

    def _coordinates(self, values: np.ndarray) -> np.ndarray:
        if not self.log:
            return values
        return np.clip(np.log(values / self.low) / math.log(self.high / self.low), 0.0, 1.0)

    def nearest_coordinates(self, values: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) of the steps nearest to numbers (n,)."""
        return self._coordinates(self.grid[nearest(self.grid, values)])

    def between(self, values: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) of numbers (n,), which may lie between two steps."""
        return self._coordinates(values)

    def rounded_to_grid(self, u: np.ndarray) -> np.ndarray:
        """Round coordinates (n,) to the nearest steps."""
        if not self.log:
            return self.nearest_coordinates(u)
        at = self._coordinates(self.grid)
        return at[nearest(at, u)]

    def middles(self) -> np.ndarray:
        """Return the coordinates of all steps, shape (n_settings,)."""
        return self._coordinates(self.grid)

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest number."""
        return self.low, self.high

    def __repr__(self) -> str:
        step = "" if self.step is None else f", {self.step:g}"
        return f"Steps({self.low:g}, {self.high:g}{step}{', log=True' if self.log else ''})"
