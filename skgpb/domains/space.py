"""Settings as points of a box: the parameters of an estimator, or named sides of any kind.

An optimizer searches a box of coordinates, one axis for each parameter. Its model must not depend
on coordinates but on settings: all points with the same integer, category or inactive parameter are
one setting. Therefore the kernel takes the *columns* of the setting instead of the point
[Garrido2020]_.

References
----------
.. [Garrido2020] E. C. Garrido-Merchán and D. Hernández-Lobato, "Dealing with categorical and
   integer-valued variables in Bayesian Optimization with Gaussian processes", Neurocomputing
   380, 2020.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from itertools import product
from pickle import PicklingError
from typing import Any, ClassVar

import numpy as np
from joblib import hash as joblib_hash

from skgpb import defaults
from skgpb.domains.available import AvailableSet
from skgpb.domains.box import Box
from skgpb.domains.candidates import points_near
from skgpb.domains.constraints import FeasibleSet
from skgpb.domains.few import FewOfSet, is_rule
from skgpb.utils.validation import SAME as SAME
from skgpb.utils.validation import (
    Real,
    check_bounds,
    check_unmasked,
    column_names,
    is_number,
    keyed,
    row_message,
    shorten_value,
)

# Format: coordinate of an inactive parameter.
NEUTRAL = 0.5
# Rounding: distance from the ends of an interval of coordinates at which its value is read; rare
# integers have short intervals.
WITHIN = 1e-12
# Memory: largest number of integers of a distribution, or of a range, in a table.
MOST_TABLED = 10_000
# Limit: largest number of values whose coordinates differ.
MOST_VALUES = 2**50
# Format: number of values of a list in messages.
MOST_SHOWN = 20
# Third entries of a range in the notation of other libraries.
WRITTEN_SCALES = ("log", "log-uniform", "uniform", "int")


class Side(ABC):
    """A side of a box of settings: its values, their coordinates, and what the kernel compares.

    A side of your own defines :meth:`value` and :meth:`coordinate`, and :meth:`columns` if its
    values are not as far apart as their coordinates. Searches over named sides accept it, those
    for indirect queries only without columns of its own. See :doc:`/development/new_side`.

    Attributes
    ----------
    ends : tuple of two floats
        Smallest and largest coordinate, (0, 1) unless the side sets other ends.
    arguments : tuple of str
        Names of the constructor's arguments, in its order; each is an attribute. Files, equality,
        hashing and ``repr`` follow from them.

    See Also
    --------
    skgpb.domains.Angle : A periodic number.

    Examples
    --------
    >>> from skgpb import GPUCBOptimizer
    >>> from skgpb.domains import Side
    >>> class Squared(Side):
    ...     def value(self, u):
    ...         return u**2
    ...     def coordinate(self, value):
    ...         return value**0.5
    >>> opt = GPUCBOptimizer(bounds={"x": Squared()}, random_state=0)
    >>> best = opt.run(lambda query: -abs(query.params["x"] - 0.01), budget=15).x
    >>> bool(abs(best.params["x"] - 0.01) < 0.01)
    True
    """

    ends: tuple[float, float] = (0.0, 1.0)
    #: Names of the constructor's arguments, for files.
    arguments: ClassVar[tuple[str, ...]] = ()
    #: Number of different values.
    n_settings: float = np.inf

    @abstractmethod
    def value(self, u: float) -> Any:
        """Return the value at a coordinate, in the user's unit and type.

        Parameters
        ----------
        u : float
            A coordinate between the ends.

        Returns
        -------
        value : object
            What users find in ``query.params``. :meth:`coordinate` accepts it, also at the ends,
            where rounding must not move it beyond them.
        """

    @abstractmethod
    def coordinate(self, value: Any) -> float:
        """Return the coordinate of a value, or raise ValueError if it is not on this side.

        Parameters
        ----------
        value : object
            A value that a user told.

        Returns
        -------
        u : float
            A coordinate at which :meth:`value` returns this value.
        """

    def columns(self, u: np.ndarray) -> np.ndarray:
        """Return the columns that a kernel compares.

        Parameters
        ----------
        u : ndarray of shape (n,)
            Coordinates.

        Returns
        -------
        columns : ndarray of shape (n, n_columns)
            The coordinates themselves, unless a side says otherwise. Nearby values should be as far
            apart in the columns as in the coordinates, because default length scales are in units
            of the distance between the ends.
        """
        return u[:, None]

    # What follows from these three methods.

    @property
    def entry(self) -> Any:
        """The side as an entry of ``bounds``."""
        return self

    def has(self, value: Any) -> bool:
        """Return whether a value is on the side."""
        try:
            self.coordinate(value)
        except ValueError:
            return False
        return True

    @cached_property
    def uses_columns(self) -> bool:
        """True if kernels compare the columns of this side, and not its coordinates."""
        return type(self).columns is not Side.columns

    @cached_property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.columns(np.array(self.ends[:1])).shape[1]

    @cached_property
    def is_periodic(self) -> bool:
        """True if both ends have the same columns, so that steps continue at the other end."""
        if not self.uses_columns or np.isfinite(self.n_settings):
            return False
        first, last = self.columns(np.array(self.ends))
        return bool(np.allclose(first, last, rtol=0.0, atol=SAME * (self.ends[1] - self.ends[0])))

    @cached_property
    def has_steps(self) -> bool:
        """True if suggestions are at steps, while told values may lie between them."""
        # No step of a round size is at a golden section.
        u = self.ends[0] + (self.ends[1] - self.ends[0]) * np.array([0.381966011, 0.618033989])
        return not np.array_equal(self.rounded_to_grid(u), self.snap(u))

    @cached_property
    def ordered(self) -> bool:
        """True if the values are numbers."""
        return is_number(self.value(self.ends[0]))

    def snap(self, u: np.ndarray) -> np.ndarray:
        """Move coordinates (n,) to the middles of the intervals of their values.

        The ends of a periodic side are one value, which stands at the lower end.
        """
        return np.where(u == self.ends[1], self.ends[0], u) if self.is_periodic else u

    def rounded_to_grid(self, u: np.ndarray) -> np.ndarray:
        """Round coordinates (n,) to the nearest possible settings."""
        return self.snap(u)

    # Numbers for constraints, of sides whose values are numbers.

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest number."""
        low, high = sorted(float(self.value(end)) for end in self.ends)
        return low, high

    def numbers(self, u: np.ndarray) -> np.ndarray:
        """Return numbers (n,) at coordinates (n,)."""
        return np.array([self.value(each) for each in u], dtype=np.float64)

    def nearest_coordinates(self, values: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) of the possible values nearest to numbers (n,)."""
        return np.array([self.coordinate(each) for each in np.clip(values, *self.limits)])

    def between(self, values: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) of numbers (n,), which may lie between possible values."""
        return self.nearest_coordinates(values)

    def values_between(self, low: float, high: float) -> Any:
        """Return the values between two coordinates: a pair if they are continuous."""
        return self.value(low), self.value(high)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            equal(getattr(self, each), getattr(other, each)) for each in self.arguments
        )

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.arguments)
        return f"{type(self).__name__}({arguments})"


class ListedAxis(Side):
    """An axis with finitely many values that can be set."""

    @abstractmethod
    def middles(self) -> np.ndarray:
        """Return the coordinates of all values, which must be finitely many."""


class SeparateAxis(ListedAxis):
    """An axis on which each value has an interval of coordinates.

    Values have indices in their order; an integer of a distribution is its own index.
    """

    @abstractmethod
    def run(self, low: float, high: float) -> tuple[int, int]:
        """Return the indices of the first and of the last value between two coordinates."""

    @abstractmethod
    def middles_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the middles of the intervals of values, given by index."""

    @abstractmethod
    def edge(self, number: int) -> float:
        """Return the lower end of the interval of coordinates of a value, given by index."""

    def ends_of_run(self, first: int, last: int) -> tuple[float, float]:
        """Return the ends of the intervals of the values first..last together."""
        least, most = self.run(0.0, 1.0)
        low = self.edge(first) if first > least else 0.0
        return low, self.edge(last + 1) if last < most else 1.0


#: Accepted forms of a named side, for messages.
SIDES = (
    "a pair of numbers (lower, upper), a list of values, range(1, 9) for the integers from 1 to 8, "
    "a frozen distribution of scipy.stats such as loguniform(0.001, 1), or a skgpb.domains.Side"
)


class Span(Side):
    """Numbers between two limits; the coordinate is the number itself."""

    def __init__(self, name: str, limits: Any) -> None:
        low, high = check_bounds([limits], name)[0].tolist()
        self.ends: tuple[float, float] = low, high

    @property
    def entry(self) -> tuple[float, float]:
        """The ends."""
        return self.ends

    def value(self, u: float) -> float:
        """Return the value of the parameter at a coordinate: the same number."""
        return float(u)

    def numbers(self, u: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,): they are the numbers."""
        return np.asarray(u, dtype=np.float64)

    def nearest_coordinates(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers (n,), clipped to the ends."""
        return np.clip(values, *self.ends)

    def coordinate(self, value: Any) -> float:
        """Return the number itself as its coordinate."""
        return clip_rounding(checked_number(value), *self.ends)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and self.ends == other.ends

    __hash__ = Side.__hash__


class Choice(SeparateAxis):
    """One of several values; a list of numbers is ordered by size, anything else is not."""

    def __init__(self, name: str, values: Any) -> None:
        self.values: Sequence[Any]
        if isinstance(values, range) and _is_long(name, values):
            self.values = values if values.step > 0 else values[::-1]
            self.ordered: bool = True
        else:
            # A repeated value would have several intervals, like several values.
            distinct: dict[Any, Any] = {}
            for value in values:
                distinct.setdefault(_key(value), value)
            self.values = list(distinct.values())
            self.ordered = all(is_number(v) and v == v for v in self.values)
        if not self.values:
            raise ValueError(f"{name} is an empty list")
        if self.ordered and isinstance(self.values, list):
            self.values = sorted(self.values)
        self.n: int = len(self.values)
        # Less than half of the interval of a value.
        self._same: float = min(SAME, 0.25 / self.n)
        self.n_settings: float = float(self.n)

    @property
    def entry(self) -> Sequence[Any]:
        """The values."""
        return self.values

    def number(self, u: np.ndarray) -> np.ndarray:
        """Return the indices of the values at coordinates u in [0, 1]."""
        return np.minimum((u * self.n).astype(np.intp), self.n - 1)

    def value(self, u: float) -> Any:
        """Return the value of the parameter at a coordinate in [0, 1]."""
        return self.values[int(self.number(np.asarray(u)))]

    def coordinate(self, value: Any) -> float:
        """Return the coordinate in [0, 1] of a value."""
        try:
            if isinstance(self.values, range):
                # ``index`` of a range compares anything but an int with each of its values.
                value = int(value) if checked_number(value).is_integer() else self.values.stop
            number = None if isinstance(self.values, range) else self._places.get(_key(value))
            return ((self.values.index(value) if number is None else number) + 0.5) / self.n
        except ValueError:
            raise ValueError(f"must be one of {self._message_values}") from None

    @cached_property
    def _places(self) -> dict[Any, int]:
        """Index of each value."""
        return {_key(value): number for number, value in enumerate(self.values)}

    @property
    def _message_values(self) -> str:
        """The values as a text for messages; only the first of many."""
        if isinstance(self.values, range) or self.n <= MOST_SHOWN:
            return str(self.values)
        first = ", ".join(map(repr, self.values[:MOST_SHOWN]))
        return f"{self.n} values: {first}, ..."

    def snap(self, u: np.ndarray) -> np.ndarray:
        """Move coordinates (n,) to the middles of the intervals of their values."""
        return (self.number(u) + 0.5) / self.n

    @cached_property
    def _sorted_values(self) -> np.ndarray:
        return np.asarray(self.values, dtype=np.float64)

    def nearest_coordinates(self, values: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) of the values nearest to numbers (n,)."""
        if isinstance(self.values, range):
            steps = (values - self.values.start) / self.values.step
            return self.middles_of(np.clip(np.rint(steps), 0, self.n - 1))
        return self.middles_of(nearest(self._sorted_values, values))

    def middles(self) -> np.ndarray:
        """Return the coordinates of all values, shape (n,)."""
        return self.middles_of(np.arange(self.n))

    def values_between(self, low: float, high: float) -> Sequence[Any]:
        """Return the values between two coordinates; a range if the values are a long range."""
        first, last = self.run(low, high)
        return self.values[first : last + 1]

    def run(self, low: float, high: float) -> tuple[int, int]:
        """Return the indices of the first and of the last value between two coordinates."""
        first, last = self.number(np.array([low + self._same, max(low, high - self._same)]))
        return int(first), int(last)

    def middles_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the middles of the intervals of values, given by index."""
        return (numbers + 0.5) / self.n

    def edge(self, number: int) -> float:
        """Return the lower end of the interval of coordinates of a value, given by index."""
        return number / self.n

    def columns(self, u: np.ndarray) -> np.ndarray:
        """Return columns (n, n_columns) of coordinates (n,)."""
        number = self.number(u)
        if self.ordered:
            return (number / max(1, self.n - 1))[:, None]
        # Any two categories are at distance 1.
        columns = np.zeros((len(number), self.n))
        columns[np.arange(len(number)), number] = 1.0 / np.sqrt(2.0)
        return columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and equal(self.values, other.values)

    __hash__ = Side.__hash__


class Quantile(Side):
    """A distribution: the coordinate is the quantile, so that its scale is even."""

    low: float
    high: float

    def __init__(self, name: str, distribution: Any) -> None:
        self.distribution = distribution
        low, high = distribution.support()
        if not low <= high:
            raise ValueError(f"{name} has no values: its support is [{low}, {high}]")
        self.low, self.high = float(low), float(high)

    @property
    def entry(self) -> Any:
        """The distribution."""
        return self.distribution

    def _values(self, u: np.ndarray) -> np.ndarray:
        smallest = 0.0 if np.isfinite(self.low) else defaults.DISTRIBUTION_TAIL
        largest = 1.0 if np.isfinite(self.high) else 1.0 - defaults.DISTRIBUTION_TAIL
        values = self.distribution.ppf(np.clip(u, smallest, largest))
        return np.clip(values, self.low, self.high)

    def value(self, u: float) -> float | int:
        """Return the value of the parameter at a coordinate in [0, 1].

        A told number of up to twelve digits is returned unchanged.
        """
        return shorten_number(float(self._values(np.asarray(u))), u, self.distribution.cdf)

    def numbers(self, u: np.ndarray) -> np.ndarray:
        """Return numbers (n,) at coordinates (n,)."""
        return self._values(np.asarray(u, dtype=np.float64))

    def nearest_coordinates(self, values: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) of the possible values nearest to numbers (n,)."""
        return self.distribution.cdf(np.clip(values, *self.limits))

    def coordinate(self, value: Any) -> float:
        """Return the coordinate in [0, 1] of a value."""
        value = clip_rounding(checked_number(value), self.low, self.high)
        return float(self.distribution.cdf(value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantile) or type(other) is not type(self):
            return False
        parts = [
            (type(d.distribution.dist), d.distribution.args, d.distribution.kwds)
            if hasattr(d.distribution, "dist")
            else id(d.distribution)
            for d in (self, other)
        ]
        return equal(*parts)

    __hash__ = Side.__hash__


class IntegerQuantile(Quantile, SeparateAxis):
    """A distribution of integers. Each has a share of the axis equal to its probability."""

    def __init__(self, name: str, distribution: Any) -> None:
        super().__init__(name, distribution)
        self.n_settings: float = self.high - self.low + 1.0

    def value(self, u: float) -> int:
        """Return the value of the parameter at a coordinate in [0, 1]."""
        return int(self._values(np.asarray(u)))

    def _values(self, u: np.ndarray) -> np.ndarray:
        begins, _, least = self._table
        # The table leaves out rarer integers.
        if not len(begins) or not ((u >= SAME) & (u <= 1.0 - SAME)).all():
            return super()._values(u)
        return least + np.searchsorted(begins, u, side="left") - 1.0

    def columns(self, u: np.ndarray) -> np.ndarray:
        """Return columns (n, n_columns) of coordinates (n,)."""
        return self._middles_of_values(self._values(u))[:, None]

    def nearest_coordinates(self, values: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) of the integers nearest to numbers (n,)."""
        return self._middle(np.rint(np.clip(values, *self.limits)))

    def _middles_of_values(self, values: np.ndarray) -> np.ndarray:
        """Return the coordinates of integers (n,), from the table if it has them."""
        _, middles, least = self._table
        numbers = values.astype(np.intp) - least
        if len(middles) and ((numbers >= 0) & (numbers < len(middles))).all():
            return middles[numbers]
        return self._middle(values)

    def _middle(self, values: Any) -> Any:
        """Return the middles of the intervals of integers."""
        return self.distribution.cdf(values) - 0.5 * self.distribution.pmf(values)

    def coordinate(self, value: Any) -> float:
        """Return the coordinate in [0, 1] of a value."""
        value = checked_number(value)
        if not (value.is_integer() and self.low <= value <= self.high):
            raise ValueError(f"must be an integer from {self.low:g} to {self.high:g}")
        return float(self._middle(value))

    def snap(self, u: np.ndarray) -> np.ndarray:
        """Move coordinates (n,) to the middles of the intervals of their integers."""
        return self.columns(u)[:, 0]

    def middles(self) -> np.ndarray:
        """Return the coordinates of all integers, shape (n_settings,)."""
        return self._middle(np.arange(self.low, self.high + 1.0))

    def values_between(self, low: float, high: float) -> Any:
        """Return the range of integers between two coordinates."""
        first, last = self.run(low, high)
        return range(first, last + 1)

    def run(self, low: float, high: float) -> tuple[int, int]:
        """Return the first and the last integer between two coordinates."""
        ends = np.clip([low + WITHIN, max(low, high - WITHIN)], SAME, 1.0 - SAME)
        begins, _, least = self._table
        if not len(begins):
            first, last = self._values(ends)
        else:
            places = np.searchsorted(begins, ends, side="left") - 1
            first, last = least + np.clip(places, 0, len(begins) - 1)
        return int(first), int(last)

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Lower ends and middles of the intervals, and the first integer; empty if too many.

        A distribution takes a hundred times as long as a table.
        """
        least, most = super()._values(np.array([SAME, 1.0 - SAME])).astype(int).tolist()
        numbers = np.arange(least, most + 1 if most - least < MOST_TABLED else least)
        return self.distribution.cdf(numbers - 1), self._middle(numbers), least

    def middles_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the middles of the intervals of integers."""
        _, middles, least = self._table
        if len(middles):
            return middles[np.clip(np.asarray(numbers) - least, 0, len(middles) - 1)]
        return self._middle(np.asarray(numbers, dtype=np.float64))

    def edge(self, number: int) -> float:
        """Return the lower end of the interval of an integer."""
        begins, _, least = self._table
        known = 0 <= number - least < len(begins)
        return float(begins[number - least] if known else self.distribution.cdf(number - 1))


def _is_long(name: str, values: range) -> bool:
    """Return whether a range has too many values to list them."""
    try:
        n = len(values)
    except OverflowError:
        n = MOST_VALUES + 1
    if n > MOST_VALUES:
        raise ValueError(
            f"{name} has more than {MOST_VALUES} values, got {values!r}: pass the pair "
            "(lower, upper), and round"
        )
    return n > MOST_TABLED


def equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal; those that cannot be compared are not."""
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False


def _key(value: Any) -> Any:
    """Return the key by which one of two values counts as a repetition of the other.

    To an estimator 1, 1.0 and True may differ, although they are equal.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        return "NaN"
    try:
        hash(value)
    except TypeError:  # a list, an array, a dict
        with suppress(PicklingError):
            return type(value), joblib_hash(value)
        return id(value)
    return type(value), value


def shorten_number(value: float, u: float, coordinate: Callable[[float], Any]) -> float:
    """Return the value at a coordinate, with at most twelve digits if that has the coordinate."""
    short = float(f"{value:.12g}")
    return short if float(coordinate(short)) == u else value


def nearest(grid: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return indices in a sorted grid of the values nearest to ``values``; of two, the lower."""
    right = np.clip(np.searchsorted(grid, values), 1, len(grid) - 1)
    return np.where(values - grid[right - 1] <= grid[right] - values, right - 1, right)


def checked_number(value: Any) -> float:
    """Return a number as a float; raise ValueError for anything else."""
    if not is_number(value):
        raise ValueError("must be a number")
    return float(value)


def clip_rounding(value: float, low: float, high: float) -> float:
    """Return a number, moved to an end of its range if only rounding puts it outside."""
    scale = high - low
    if low > 0.0 or not np.isfinite(scale):
        scale = min(scale, abs(value))  # on a logarithmic scale 0 is far from 1e-12
    if not low - SAME * scale <= value <= high + SAME * scale:
        raise ValueError(f"must be between {low} and {high}")
    if not np.isfinite(value):  # of a side without ends
        raise ValueError("must be a finite number")
    return min(max(value, low), high)


class Coordinates(np.ndarray):
    """Points (n, d) in the coordinates of a box, for methods that otherwise accept settings.

    In a box with named sides only some sides have the user's numbers as coordinates.
    """


def as_coordinates(points: Any) -> Coordinates:
    """Mark points as coordinates of a box."""
    return np.asarray(points).view(Coordinates)


def _is_written_range(values: Any) -> bool:
    """Return whether values are a range in the notation of other libraries, not a list."""
    return (
        isinstance(values, tuple)
        and len(values) == 3
        and all(isinstance(each, (Real, np.number)) for each in values[:2])
        and isinstance(values[2], str)
        and values[2] in WRITTEN_SCALES
    )


def refuse_set(values: Any, name: str) -> None:
    """Raise TypeError if the choices are a set."""
    if isinstance(values, (set, frozenset)):
        raise TypeError(
            f"{name} must be a list, got the set {values!r}: its order is another one in every "
            "process, so that the same random_state would give another run"
        )


def check_side(name: str, side: Side) -> Side:
    """Return a side; raise ValueError if its ends or the results of its methods are invalid."""
    low, high = check_bounds([side.ends], f"ends of {name}")[0].tolist()
    middle = 0.5 * (low + high)
    columns = np.asarray(side.columns(np.array([low, middle, high])))
    if columns.dtype.kind not in "fiu" or columns.ndim != 2 or len(columns) != 3:
        raise ValueError(
            f"columns of {name} must return numbers of shape (n, n_columns) for n coordinates, got "
            f"shape {columns.shape} of {columns.dtype} for 3; the side is {side!r}"
        )
    if not np.isfinite(columns).all():
        raise ValueError(f"columns of {name} must be finite, got {columns.tolist()} of {side!r}")
    for u in (low, middle, high):
        value = side.value(u)
        try:
            back = side.coordinate(value)
        except ValueError as error:
            raise ValueError(
                f"coordinate of {name} must accept {value!r}, which is value({u}) of {side!r}, but "
                f"raised: {error}. At an end, value may have to clip what rounding moves beyond it"
            ) from error
        if not is_number(back) or not low <= back <= high:
            raise ValueError(
                f"coordinate of {name} must return a number between {low} and {high}, got "
                f"{back!r} for the value {value!r} at {u}; the side is {side!r}"
            )
    return side


def _axis(name: str, values: Any, spans: bool) -> Side:
    """Return the axis of a parameter; with ``spans`` a pair of numbers is an interval."""
    if isinstance(values, Side):
        return check_side(name, values)
    has_methods = all(hasattr(values, method) for method in ("ppf", "cdf", "support"))
    if has_methods and not getattr(values, "numargs", 0):  # such as the class loguniform has
        return (IntegerQuantile if hasattr(values, "pmf") else Quantile)(name, values)
    if spans and isinstance(values, tuple):
        if len(values) != 2 or not all(isinstance(each, (Real, np.number)) for each in values):
            raise ValueError(f"{name} must be {SIDES}; got {values!r}")
        return Span(name, values)
    if _is_written_range(values):
        raise ValueError(
            f"{name} must be a list of values or a distribution, got {values!r}: write the "
            f"range as loguniform({values[0]!r}, {values[1]!r}), uniform(...) or randint(...) of "
            "scipy.stats"
        )
    refuse_set(values, name)
    if not isinstance(values, (str, bytes, Mapping)) and hasattr(values, "__len__"):
        if isinstance(values, np.ndarray) and values.ndim > 1:
            raise ValueError(f"{name} must be one-dimensional")
        return Choice(name, values.tolist() if isinstance(values, np.ndarray) else values)
    if spans:
        raise TypeError(f"{name} must be {SIDES}; got {values!r}")
    raise TypeError(
        f"{name} must be a list of values or a frozen distribution of scipy.stats (uniform, "
        f"loguniform, randint, ...), got {values!r}"
    )


def wider_axis(name: str, side: Any, earlier: Any) -> Side:
    """Return an axis with all values of a side and those of earlier answers.

    Parameters
    ----------
    name : str
        Name of the side, for messages.
    side, earlier : object
        Entries of ``bounds``; ``earlier`` may be a single value.
    """
    now = _axis(name, side, spans=True)
    before = _axis(f"earlier of {name}", earlier if _is_side(earlier) else [earlier], spans=True)
    if before == now:
        return now
    if isinstance(before, Choice) and isinstance(now, Choice):
        lists = not any(isinstance(each.values, range) for each in (before, now))
        values = [*before.values, *now.values] if lists else _range_around(before, now)
        return Choice(name, values)
    if not (before.ordered and now.ordered):
        raise ValueError(
            f"{name} must be numbers, or a list, like the earlier side {earlier!r}; got {side!r}"
        )
    (low, high), (least, most) = before.limits, now.limits
    if not before.has_steps and not isinstance(before, Choice) and low <= least <= most <= high:
        return before
    low, high = min(low, least), max(high, most)
    if isinstance(before, IntegerQuantile) and isinstance(now, SeparateAxis):
        from scipy.stats import randint  # here, because importing it takes long

        return IntegerQuantile(name, randint(int(low), int(high) + 1))
    if low > 0.0 and _is_logarithmic(before if isinstance(now, Choice) else now):
        from scipy.stats import loguniform

        return Quantile(name, loguniform(low, high))
    return Span(name, (low, high))


def _is_side(given: Any) -> bool:
    """Return whether an entry of ``earlier`` is a side, not a value."""
    return isinstance(given, (Side, tuple, list, range, np.ndarray)) or hasattr(given, "ppf")


def _range_around(*axes: Choice) -> range:
    """Return the integers from the smallest to the largest value of several axes."""
    low, high = zip(*(axis.limits for axis in axes), strict=True)
    return range(int(min(low)), int(max(high)) + 1)


def _is_logarithmic(axis: Side) -> bool:
    """Return whether the middle of the coordinates is nearer to the geometric mean of the ends."""
    (low, high), middle = axis.limits, axis.value(0.5 * sum(axis.ends))
    return abs(middle - np.sqrt(low * high)) < abs(middle - 0.5 * (low + high))


class ParameterSpace:
    """Search space of ``param_distributions``, for your own search loop.

    Parameters
    ----------
    param_distributions : dict or list of dicts
        As in RandomizedSearchCV. With several dicts the first axis chooses among them, and a
        parameter with the same distribution in two of them shares an axis.
    as_cube, asked_once : bool, default=False
        As set by :meth:`copy_for_search`.

    Attributes
    ----------
    n_axes : int
        d, the dimension of the cube.
    groups : ndarray of shape (n_columns,)
        Axis of each column.
    n_settings : float
        Number of different settings, infinite if a distribution is continuous.
    """

    #: Names of the arguments in a file.
    arguments: ClassVar[tuple[str, ...]] = ("param_distributions", "as_cube", "asked_once")

    def __init__(
        self, param_distributions: Any, as_cube: bool = False, asked_once: bool = False
    ) -> None:
        self.param_distributions: Any = param_distributions
        self.as_cube, self.asked_once = as_cube, asked_once
        several = isinstance(param_distributions, (list, tuple))
        spaces = list(param_distributions) if several else [param_distributions]
        if not spaces or not all(isinstance(space, Mapping) for space in spaces):
            raise TypeError(
                "param_distributions must be a dict of distributions or lists, or a list of such "
                f"dicts; got {param_distributions!r}"
            )
        self._lay_out(spaces, "param_distributions", spans=False)

    @classmethod
    def from_bounds(cls, bounds: Mapping[str, Any], name: str = "bounds") -> ParameterSpace:
        """Return the space of a box with named sides.

        Parameters
        ----------
        bounds : dict
            Names and sides: a tuple ``(lower, upper)`` for all numbers between two, whose
            coordinates are the numbers themselves, or an entry of ``param_distributions``.
        name : str, default="bounds"
            Name of the parameter, for messages.

        Returns
        -------
        space : ParameterSpace
        """
        unnamed = [side for side in bounds if not isinstance(side, str)]
        if unnamed:
            raise TypeError(f"the names of sides in {name} must be strings, got {unnamed[0]!r}")
        if isinstance(bounds, Box) and bounds.earlier:
            return cls._with_earlier(bounds, name)
        space = cls.__new__(cls)
        space._lay_out([bounds], name, spans=True)
        if space.n_settings <= 1:
            raise ValueError(f"{name} must leave something to choose, got {bounds!r}")
        if not isinstance(bounds, Box) or not bounds.is_constrained:
            return space
        rules = list(filter(is_rule, bounds.constraints))
        if len(rules) > 1:
            raise ValueError(f"{name} may have one rule on the number of parts, got {rules}")
        if rules:
            others = [text for text in bounds.constraints if text not in rules]
            box = Box(bounds.sides, others, bounds.feasible)
            space.feasible = FewOfSet(space, rules[0], box)
        else:
            space.feasible = FeasibleSet(
                space, bounds.constraints, bounds.feasible, space.constants
            )
        return space

    @classmethod
    def _with_earlier(cls, bounds: Box, name: str) -> ParameterSpace:
        """Return the space of the present sides and of earlier answers.

        If it is wider than the present sides, its feasible set has the settings on these.
        """
        now = cls.from_bounds(bounds.of_now, name)
        axes = {
            side: wider_axis(f"{name}[{side!r}]", values, bounds.earlier.get(side, values))
            for side, values in bounds.items()
        }
        space = cls.__new__(cls)
        space._lay_out([axes], name, spans=True)
        space = now if space.axes == now.axes else space.restricted_to(now)
        space.earlier = {k: value for k, value in bounds.earlier.items() if not _is_side(value)}
        return space

    def restricted_to(self, now: ParameterSpace) -> ParameterSpace:
        """Return this space with the settings of a narrower one as its feasible set."""
        if now.feasible is None:
            now.feasible = FeasibleSet(now, (), None, now.constants)
        out = copy(self)
        out.feasible = AvailableSet(now, self)
        return out

    def entries(self) -> dict[str, Any]:
        """Return the sides as entries of ``bounds``."""
        axes = dict(self.axes)
        constants = self.constants
        return {
            name: axes[name].entry if name in axes else [constants[name]] for name in self.sides
        }

    #: Values that answers had on sides which were added after them.
    earlier: Mapping[str, Any] = {}

    def earlier_setting(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return the setting of an answer that was told on the sides of an earlier box."""
        given = {**self.earlier, **setting}
        return {name: given[name] for name in self.sides if name in given}

    #: Whether the search treats all points of the cube as different settings.
    as_cube: bool = False
    #: Whether another answer to the same setting would be the same number.
    asked_once: bool = False

    def copy_for_search(self, as_cube: bool = False) -> ParameterSpace:
        """Return the same settings for a search that asks each of them once.

        Parameters
        ----------
        as_cube : bool, default=False
            For a search over points of a cube, without settings. It may repeat them; its
            kernel treats points of one setting as equal.
        """
        out = copy(self)
        out.as_cube, out.asked_once = as_cube, not as_cube
        return out

    #: Feasible settings of a box with constraints; None without constraints.
    feasible: FeasibleSet | AvailableSet | FewOfSet | None = None

    def _lay_out(self, spaces: list[Any], name: str, spans: bool) -> None:
        """Create an axis for every parameter of some dicts."""
        self.parameter = name
        self._orders: list[list[str]] = [list(space) for space in spaces]
        self.axes: list[tuple[str, Any]] = []
        if len(spaces) > 1:
            self.axes.append((name, Choice("", [str(i) for i in range(len(spaces))])))
        self._constants: list[dict[str, Any]] = []
        #: For each dict, the axes of its parameters by name.
        self._active: list[dict[str, int]] = []
        self.n_settings: float = 0.0
        for space in spaces:
            constants, active, n_settings = {}, {}, 1.0
            for side, values in space.items():
                axis = _axis(f"{name}[{side!r}]", values, spans)
                n_settings *= axis.n_settings
                if axis.n_settings == 1:
                    constants[side] = axis.value(0.0)
                else:
                    active[side] = self._place(side, axis)
            self._constants.append(constants)
            self._active.append(active)
            self.n_settings += n_settings
        if not self.axes:
            # A single setting; the cube needs at least one axis.
            self.axes.append(("", Choice("", ["only"])))
        self._finish()

    def _finish(self) -> None:
        """Set the numbers of axes and columns."""
        self.n_axes: int = len(self.axes)
        self.groups: np.ndarray = np.repeat(
            np.arange(self.n_axes), [axis.n_columns for _, axis in self.axes]
        )

    @classmethod
    def from_axes(cls, axes: Mapping[str, Any]) -> ParameterSpace:
        """Return the space of given axes, all of them active."""
        space = cls.__new__(cls)
        space.axes, space._orders = list(axes.items()), [list(axes)]
        space.parameter = "axes"
        space._constants, space._active = [{}], [{name: i for i, name in enumerate(axes)}]
        space._finish()
        space.n_settings = float(np.prod([axis.n_settings for axis in axes.values()]))
        return space

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.names})"

    def __deepcopy__(self, memo: dict[int, Any]) -> ParameterSpace:
        """Return itself: it is immutable, and kernels are copied often."""
        return self

    def _place(self, name: str, axis: Side) -> int:
        if (name, axis) not in self.axes:
            self.axes.append((name, axis))
        return self.axes.index((name, axis))

    @property
    def bounds(self) -> np.ndarray:
        """The box of coordinates, shape (d, 2)."""
        return np.array([axis.ends for _, axis in self.axes])

    @property
    def box_of_now(self) -> np.ndarray:
        """The box (d, 2) of the sides of now, which earlier answers need to be wider.

        Raises
        ------
        ValueError
            If the values of a side of now have gaps, so that no range of the wider side has them.
        """
        if not isinstance(self.feasible, AvailableSet):
            return self.bounds
        box = []
        for (name, axis), (now, u) in zip(self.axes, self.feasible.ranges(), strict=True):
            low, high, n = u.min(), u.max(), 1.0 if now is None else now.n_settings
            if isinstance(axis, SeparateAxis):
                first, last = axis.run(low, low)[0], axis.run(high, high)[0]
                (low, high), has_gaps = axis.ends_of_run(first, last), last - first + 1 != n
            else:
                has_gaps = 1 < n < np.inf
            if has_gaps:
                raise ValueError(
                    f"{self.parameter}[{name!r}] must have no gaps for a search by regions: all "
                    "numbers between two of the earlier side; leave values out by another search, "
                    "which begins with fit(X, y) of the answers so far"
                )
            box.append((low, high))
        return np.array(box)

    @property
    def n_values(self) -> np.ndarray:
        """Number of values of each axis, shape (d,); 0 if they are continuous."""
        runs = [
            axis.run(0.0, 1.0) if isinstance(axis, SeparateAxis) else (0, -1)
            for _, axis in self.axes
        ]
        return np.array([last - first + 1 for first, last in runs], dtype=np.intp)

    @property
    def longest_list(self) -> int:
        """Largest number of values of a list without an order, 0 without such a list."""
        pairs = zip(self.axes, self.n_values.tolist(), strict=True)
        return max((n for (_, axis), n in pairs if not axis.ordered), default=0)

    @property
    def column_bounds(self) -> np.ndarray:
        """Ranges of the columns of a box with named sides, shape (n_columns, 2)."""
        if self.as_cube:
            return self.bounds
        return np.sort(self.columns(self.bounds.T), axis=0).T

    @property
    def periodic(self) -> np.ndarray:
        """Mask (d,) of the axes without ends."""
        return np.array([axis.is_periodic for _, axis in self.axes])

    @property
    def names(self) -> list[str]:
        """Names of the axes."""
        return [name for name, _ in self.axes]

    @property
    def constants(self) -> dict[str, Any]:
        """Values of the sides of a box that have only one."""
        return self._constants[0]

    @property
    def sides(self) -> list[str]:
        """Names of all sides of a box in the user's order, including sides with one value."""
        return self._orders[0]

    @property
    def uses_columns(self) -> bool:
        """True if the kernel compares columns of settings, and not the coordinates of points."""
        return not self.as_cube and any(axis.uses_columns for _, axis in self.axes)

    @property
    def has_lists(self) -> bool:
        """True if several points may have one setting, and the search distinguishes settings."""
        return not self.as_cube and any(
            axis.uses_columns and not axis.is_periodic for _, axis in self.axes
        )

    @property
    def ordered(self) -> bool:
        """True if settings close to each other are expected to give similar answers."""
        return all(axis.ordered for _, axis in self.axes)

    def _which(self, points: np.ndarray) -> np.ndarray:
        """Return the index of the dict of every point (n, d)."""
        if len(self._active) == 1:
            return np.zeros(len(points), dtype=np.intp)
        first: Any = self.axes[0][1]  # the choice between the dicts
        return first.number(points[:, 0])

    def setting(self, point: np.ndarray) -> dict[str, Any]:
        """Return the setting of a point (d,)."""
        which = int(self._which(point[None])[0])
        active = self._active[which]
        values = {name: self.axes[i][1].value(point[i]) for name, i in active.items()}
        values |= self._constants[which]
        return {name: values[name] for name in self._orders[which]}

    def columns(self, points: np.ndarray) -> np.ndarray:
        """Return the columns (n, n_columns) of the settings of points (n, d)."""
        points = np.asarray(points, dtype=np.float64)
        out = np.hstack([axis.columns(u) for (_, axis), u in zip(self.axes, points.T, strict=True)])
        if len(self._active) > 1:
            out[~self._active_axes(points)[:, self.groups]] = NEUTRAL
        return out

    # -- a box with named sides ---------------------------------------------------------------

    def point(self, setting: Mapping[str, Any]) -> np.ndarray:
        """Return the point (d,) of a setting of a named box.

        Parameters
        ----------
        setting : dict
            A value for every side.

        Returns
        -------
        point : ndarray of shape (d,)

        Raises
        ------
        ValueError
            If a name is missing or unknown, or a value is not on its side.
        """
        errors = []
        for which in range(len(self._active)):
            try:
                return self._point_of(which, setting)
            except ValueError as error:
                errors.append(error)
        raise errors[0]

    def _point_of(self, which: int, setting: Mapping[str, Any]) -> np.ndarray:
        """Return the point (d,) of a setting of one of the dicts."""
        expected, constants = set(self._orders[which]), self._constants[which]
        if set(setting) != expected:
            raise ValueError(
                f"a setting must have a value for each of {sorted(expected)}: "
                f"missing {sorted(expected - set(setting))}, "
                f"unknown {sorted(set(setting) - expected, key=str)}"
            )
        point = np.full(self.n_axes, NEUTRAL)
        if len(self._active) > 1:
            point[0] = self.axes[0][1].coordinate(str(which))
        for name, i in self._active[which].items():
            try:
                point[i] = self.axes[i][1].coordinate(setting[name])
            except ValueError as error:
                raise ValueError(f"{name} {error}, got {setting[name]!r}") from None
        for name, value in constants.items():
            if not equal(value, setting[name]):
                raise ValueError(f"{name} must be {value!r}, got {setting[name]!r}")
        return point

    def points(self, X: Any) -> Coordinates:
        """Return the points (n, d) of settings.

        Parameters
        ----------
        X : dict, list of dicts, DataFrame or array-like of shape (n, n_sides)
            One setting, several, a table with a column for every side, or rows of numbers in the
            order of the sides, if all sides are numeric.

        Returns
        -------
        X : Coordinates of shape (n, d)

        Raises
        ------
        ValueError
            If a value is not on its side, a name is missing, or a side without numbers has one.
        """
        if isinstance(X, Coordinates):
            return X
        X = keyed(X, self.sides)
        settings = [X] if isinstance(X, Mapping) else self._settings(X)
        points = np.empty((len(settings), self.n_axes))
        for i, setting in enumerate(settings):
            try:
                points[i] = self.point(setting)
            except ValueError as error:
                raise ValueError(row_message(i, len(settings), error)) from None
        return points.view(Coordinates)

    def rows(self, X: Any) -> Coordinates:
        """Return points (n, d) of settings; an extra number after the sides is not changed."""
        values = np.asarray(X) if isinstance(X, (list, tuple, np.ndarray)) else np.empty(0)
        if isinstance(X, Coordinates) or values.shape[1:] != (len(self.sides) + 1,):
            return self.points(X)
        return as_coordinates(np.hstack([self.points(values[:, :-1]), values[:, -1:]]))

    def has_rows(self, X: Any) -> bool:
        """Return whether X is an array or a table without names, of numbers for all axes."""
        is_setting = hasattr(X, "keys") and np.ndim(X) == 1  # a Series has the names of the sides
        unnamed = hasattr(X, "__array__") and column_names(X) is None and not is_setting
        return unnamed and self.ordered and not (self.constants or isinstance(X, Coordinates))

    def _settings(self, X: Any) -> list[Mapping[str, Any]]:
        """Return rows, in any accepted form, as settings."""
        if hasattr(X, "columns") and hasattr(X, "__array__"):
            if len(set(X.columns)) < len(X.columns):
                raise ValueError(f"columns must have different names, got {list(X.columns)}")
            rows = zip(*(list(X[name]) for name in X.columns), strict=True)
            return [dict(zip(X.columns, row, strict=True)) for row in rows]
        if isinstance(X, (list, tuple)) and X:
            settings = [keyed(x, self.sides) for x in X]
            if all(isinstance(each, Mapping) for each in settings):
                return settings
        check_unmasked(X, "the values of named sides")
        sides = self.sides
        try:
            values = np.asarray(X)
        except ValueError:  # rows of different lengths
            raise ValueError(self._give_names(X)) from None
        if values.dtype.kind not in "fiu" or self._sides_without_numbers:
            raise ValueError(self._give_names(X))
        if values.ndim < 2:
            values = values.reshape(-1, 1) if len(sides) == 1 else np.atleast_2d(values)
        if values.ndim != 2 or values.shape[1] != len(sides):
            raise ValueError(
                f"rows must have {len(sides)} numbers, one for each of the sides {sides} in this "
                f"order and in their units; got shape {np.shape(X)}"
            )
        return [dict(zip(sides, row, strict=True)) for row in values.tolist()]

    @property
    def _sides_without_numbers(self) -> list[str]:
        """Names of the sides whose values are not numbers."""
        lists = [name for name, axis in self.axes if not axis.ordered]
        return lists + [name for name, value in self.constants.items() if not is_number(value)]

    def _give_names(self, X: Any) -> str:
        """Return the message that requires the names of sides."""
        rows = ", or as rows of numbers in this order"
        if wrong := self._sides_without_numbers:
            rows = f", because {wrong[0]!r} is no number"
        return (
            "values of named sides are given by name, as a dict, a list of dicts or a DataFrame "
            f"with the columns {self.sides}{rows}; got {shorten_value(X)}"
        )

    def snap(self, points: np.ndarray) -> np.ndarray:
        """Move points (n, d) to the middles of the boxes of their settings."""
        if not self.uses_columns:
            return points
        return self._apply_axes("snap", points)

    def _apply_axes(self, change: str, points: np.ndarray) -> np.ndarray:
        """Apply a method of each axis, given by name, to the coordinates of points (n, d)."""
        pairs = zip(self.axes, points.T, strict=True)
        out = np.column_stack([getattr(axis, change)(u) for (_, axis), u in pairs])
        return out if len(self._active) == 1 else np.where(self._active_axes(out), out, NEUTRAL)

    @cached_property
    def branch_axis(self) -> int | None:
        """Index of the axis of the dicts, or of the only list beside numbers; None without one."""
        if len(self._active) > 1:
            return 0
        lists = [i for i, (_, axis) in enumerate(self.axes) if not axis.ordered]
        return lists[0] if len(lists) == 1 else None

    def branches(self, points: np.ndarray) -> np.ndarray:
        """Return the index (n,) of the dict of each point (n, d), or of its level of the list."""
        assert self.branch_axis is not None
        axis: Any = self.axes[self.branch_axis][1]
        return np.asarray(axis.number(points[:, self.branch_axis]), dtype=np.intp)

    @cached_property
    def numbers_of_branches(self) -> np.ndarray:
        """Number (n_branches,) of continuous sides in each branch."""
        assert self.branch_axis is not None
        if len(self._active) > 1:
            of_each = [[self.axes[i][1] for i in active.values()] for active in self._active]
        else:
            n = int(self.n_values[self.branch_axis])
            of_each = [[axis for _, axis in self.axes]] * n
        return np.array([sum(np.isinf(axis.n_settings) for axis in each) for each in of_each])

    def _active_axes(self, points: np.ndarray) -> np.ndarray:
        """Return a mask (n, d) of the axes that are active in the settings of points (n, d)."""
        if len(self._active) == 1:
            return np.ones((len(points), self.n_axes), dtype=bool)
        used = np.zeros((len(self._active), self.n_axes), dtype=bool)
        for number, active in enumerate(self._active):
            used[number, [0, *active.values()]] = True
        return used[self._which(points)]

    @property
    def has_settings(self) -> bool:
        """True if a grid would have infeasible points, or two of one setting."""
        stepped = not self.as_cube and any(axis.has_steps for _, axis in self.axes)
        return self.uses_columns or self.feasible is not None or stepped

    def points_around(self, centers: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return n points around centers (k, d) in turn, on some sides if there are lists."""
        if self.uses_columns:
            return self.neighbours(centers, n, rng)
        return points_near(self.bounds, centers, n, rng)

    def neighbours(self, centers: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return n points that differ from centers (k, d) in turn on one side, or on several.

        All other values of a list are equally near; numbers move by every order of magnitude, and
        integers in either of these ways. Steps continue at the other end of a periodic side.
        """
        starts, d = centers[np.arange(n) % len(centers)], self.n_axes
        near = points_near(self.bounds, starts, n, rng, self.periodic)
        lower, upper = self.bounds.T
        anywhere = lower + rng.random((n, d)) * (upper - lower)
        chance = [
            0.5 * (axis.uses_columns and not axis.is_periodic) + 0.5 * (not axis.ordered)
            for _, axis in self.axes
        ]
        moved = rng.random((n, d)) < rng.choice([1.0 / d, 2.0 / d, 0.5], size=(n, 1))
        several, used = len(self._active) > 1, self._active_axes(starts)
        one = (used * rng.random((n, d))).argmax(axis=1) if several else rng.integers(d, size=n)
        moved[np.arange(n), one] = True
        other = np.where(rng.random((n, d)) < chance, anywhere, near)
        points = np.where(moved, other, starts)
        if several:
            # An axis that is active in the new setting and not at its center may have any value.
            points = np.where(self._active_axes(points) & ~used, anywhere, points)
        return points

    def rounded_to_grid(self, points: np.ndarray) -> np.ndarray:
        """Round points (n, d) to possible settings, ignoring constraints.

        The feasible set of a space that was wider does so: a held number may be between two steps.
        """
        if self.as_cube:
            return points
        if isinstance(self.feasible, AvailableSet):
            return self.snap(points)
        return self._apply_axes("rounded_to_grid", points)

    def is_feasible(self, point: np.ndarray) -> bool:
        """Return whether a point (d,) is a possible setting and satisfies all constraints."""
        points = point[np.newaxis]
        if not self.is_at(self.rounded_to_grid(points)[0], self.snap(points)[0]):
            return False
        return self.feasible is None or bool(self.feasible.is_feasible(points)[0])

    def have_values(self, points: np.ndarray, values: Mapping[str, Any]) -> bool:
        """Return whether all points (n, d) have the given values of some axes, up to rounding."""
        axes = dict(self.axes)
        u = {
            name: axes[name].snap(np.array([axes[name].coordinate(values[name])]))
            for name in values
        }
        return all(
            bool((np.abs(at - u[name]) <= SAME * (axis.ends[1] - axis.ends[0])).all())
            for (name, axis), at in zip(self.axes, self.snap(points).T, strict=True)
            if name in u
        )

    def every_point(self) -> np.ndarray:
        """Return one point for every setting, shape (n, d); they must be finitely many."""
        listed = [axis.middles() for _, axis in self.axes if isinstance(axis, ListedAxis)]
        if len(self._active) == 1:
            return np.array(list(product(*listed)))
        points: list[Any] = []
        for number, active in enumerate(self._active):
            sides = [np.array([NEUTRAL])] * self.n_axes
            sides[0] = listed[0][number : number + 1]
            for i in active.values():
                sides[i] = listed[i]
            points += product(*sides)
        return np.array(points)

    def ranges(self, lower: np.ndarray, upper: np.ndarray) -> dict[str, Any]:
        """Return the range of each side between corners: a pair, range, list or single value."""
        which = int(self._which(0.5 * (lower + upper)[np.newaxis])[0])
        sides = dict(self._constants[which])
        for name, i in self._active[which].items():
            axis, a, b = self.axes[i][1], lower[i], upper[i]
            sides[name] = axis.value(a) if a == b else axis.values_between(a, b)
        return {name: sides[name] for name in self._orders[which]}

    def box_between(self, first: Mapping[str, Any], last: Mapping[str, Any]) -> np.ndarray:
        """Return the box (2 d,) of the values from those of one setting to those of another.

        It inverts :meth:`ranges`, and raises the errors of :meth:`point`.
        """
        lower, upper = self.point(first), self.point(last)
        for i, (_, axis) in enumerate(self.axes):
            if isinstance(axis, SeparateAxis):
                numbers = (axis.run(each[i], each[i])[0] for each in (lower, upper))
                lower[i], upper[i] = axis.ends_of_run(*numbers)
        return np.concatenate([lower, upper])

    def n_at_ends(self, points: np.ndarray) -> np.ndarray:
        """Return the number of values of each setting at an end of their range, shape (n,)."""
        used, count = self._active_axes(points), np.zeros(len(points), dtype=np.intp)
        for i, (_, axis) in enumerate(self.axes):
            if axis.ordered and not axis.is_periodic:
                count += used[:, i] & np.isin(axis.numbers(points[:, i]), axis.limits)
        return count

    def is_at(self, point: np.ndarray, other: np.ndarray) -> bool:
        """Return whether two points (d,) are equal up to the rounding of values."""
        if len(self._active) > 1:
            point, other = (self.columns(np.atleast_2d(each)) for each in (point, other))
            return bool((np.abs(point - other) <= SAME).all())
        return bool((np.abs(point - other) <= SAME * np.diff(self.bounds)[:, 0]).all())


def named_box(bounds: Any, name: str = "bounds") -> ParameterSpace | None:
    """Return the space of a box with named sides; None for a box without names."""
    if isinstance(bounds, ParameterSpace):
        return bounds
    return ParameterSpace.from_bounds(bounds, name) if isinstance(bounds, Mapping) else None
