"""Sides of an experiment: parsing of texts such as 20:90 or A,B, and of values; formatting."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from skgpb.domains import Angle, Steps
from skgpb.domains.space import refuse_set
from skgpb.lab.datasets.numbers import SECONDS, Reading, read_number
from skgpb.lab.experiments.texts import check_name, quote, split_list, split_pair, with_point
from skgpb.utils.expressions import is_quoted, strip_quotes
from skgpb.utils.validation import is_number
from skgpb.utils.warnings import warn

# Accepted forms of a side, for messages.
FORMS = (
    "LOW:HIGH, LOW:HIGH:log, LOW:HIGH:int, LOW:HIGH:STEP, LOW:HIGH:any, LOW:HIGH:periodic, or "
    "values A,B,C"
)
# Limit: number of values of a list, or of steps in a range.
MOST_VALUES = 10_000
# Rounding: numbers beyond an end of a side by this share of its length are moved to the end.
ROUNDING = 1e-12
# Locants at the start of a chemical name, such as 1,4-dioxane or N,N-dimethylformamide.
LOCANTS = re.compile(r"(?<![^,])(?:(?:\d+|[NOPS])'*,)+(?:\d+|[NOPS])'*-(?=[^\W\d]|[(\[])[^,]*")


class Ends(NamedTuple):
    """The first and the last value of a region along a side."""

    first: Any
    last: Any


@dataclass(frozen=True)
class Side:
    """One named setting of an experiment: its range, scale or choices.

    Attributes
    ----------
    name : str
        Name of the setting, such as "temperature".
    kind : {"range", "log", "periodic", "integer", "choice", "distribution"}
        Real numbers in a range, the same on a logarithmic scale or periodic, or integers; one of
        several values; or any other distribution of ``scipy.stats``, which has no form as a text.
    bounds : object
        The side as in ``bounds={name: side}`` of an optimizer.
    exact : bool
        Whether numbers of any number of digits can be set; otherwise the range gets steps.

    Examples
    --------
    >>> from skgpb.lab.experiments.sides import Side
    >>> Side.parse("temperature=20:90").as_dict()
    {'name': 'temperature', 'kind': 'range', 'low': 20.0, 'high': 90.0}
    >>> Side.parse("catalyst=A,B").bounds
    ['A', 'B']
    >>> str(Side.parse("salt=1e-4:0.1:log"))
    '0.0001 to 0.1, on a log scale'
    """

    name: str
    kind: str
    bounds: Any
    exact: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name, "the name of a side")

    @classmethod
    def parse(cls, text: str) -> Side:
        """Parse a side from a text with its name.

        Parameters
        ----------
        text : str
            ``name=LOW:HIGH``, ``name=LOW:HIGH:log``, ``name=LOW:HIGH:int``,
            ``name=LOW:HIGH:STEP``, ``name=LOW:HIGH:any``, ``name=LOW:HIGH:periodic`` or
            ``name=A,B,C``. The first ``=`` ends the name. Quotes are as in CSV:
            ``solvent="1,4-dioxane",DMF`` has two values, and ``"a=b"=0:1`` is named ``a=b``. A
            value between quotes is a text.

        Returns
        -------
        side : Side

        Raises
        ------
        ValueError
            If the text has none of these forms.

        Warns
        -----
        UserWarning
            If the list has one value only, so that nothing can be chosen.
        """
        try:
            name, form = split_pair(text)
        except ValueError:
            raise ValueError(f"a side must be NAME={FORMS}, got {text!r}") from None
        return cls._parse_form(name, form)

    @classmethod
    def _parse_form(cls, name: str, form: str) -> Side:
        """Parse a side from its name and the text after the ``=``."""
        pieces = split_list(form)
        if len(pieces) > 1 and any(re.match(r"[-+]?\d+:[-+]?\d", piece) for piece in pieces):
            raise ValueError(
                f"{name}: a decimal point is a point, not a comma, got {form!r}; a value with a "
                'colon stands between quotes, such as "1:2"'
            )
        if span := re.fullmatch(r"(\d[\d.]*)(?:-|\.\.)(\d[\d.]*)", form):
            raise ValueError(
                f"{name}: a range is written with a colon, {span[1]}:{span[2]}, got {form!r}"
            )
        if len(pieces) > 1 or is_quoted(form) or ":" not in form:
            values = values_in(name, form)
            if len(values) == 1:
                warn(
                    f"{name} has one value only, {values[0]!r}, so that there is nothing to "
                    "choose: separate several by commas",
                    UserWarning,
                )
            return cls.choice(name, values)
        ends, scale = form.split(":")[:2], form.split(":")[2:]
        low, high = (number(end, f"{name}: an end of the range") for end in ends)
        if len(scale) > 1 and scale[1:] != ["periodic"]:
            raise ValueError(f"{name} must be {FORMS}, got {form!r}")
        return cls.between(name, low, high, ":".join(scale))

    @classmethod
    def between(cls, name: str, low: float, high: float, scale: str = "") -> Side:
        """Return a side of numbers in a range.

        Parameters
        ----------
        name : str
            Name of the setting.
        low, high : float
            Ends of the range.
        scale : str, default=""
            "log" for a logarithmic scale, "int" for integers, a number for steps of this size,
            "any" for numbers of any number of digits, "periodic" if both ends are the same, as of
            an angle, "5:periodic" for steps of 5 of an angle.

        Returns
        -------
        side : Side
        """
        if not low < high:
            raise ValueError(
                f"{name}: the low end must be below the high one, got {low:g}:{high:g}"
                + (f"; a value that is held is written {name}={low:g}" if low == high else "")
            )
        if scale in ("", "any"):
            return cls(name, "range", (float(low), float(high)), exact=scale == "any")
        if scale.endswith("periodic"):
            side = cls.between(name, low, high, scale.removesuffix("periodic").removesuffix(":"))
            if side.kind != "range":
                raise ValueError(f"{name} must be {FORMS}, got {low:g}:{high:g}:{scale}")
            step = side.bounds.step if isinstance(side.bounds, Steps) else None
            return cls(name, "periodic", Angle(low, high, step), side.exact)
        from scipy import stats  # here, because importing it takes long

        if scale == "log":
            if low <= 0:
                raise ValueError(f"{name}: a log scale has numbers above 0 only, got {low:g}")
            return cls(name, "log", stats.loguniform(float(low), float(high)))
        if scale == "int":
            if low != int(low) or high != int(high):
                raise ValueError(f"{name}: int needs whole numbers, got {low:g}:{high:g}")
            return cls(name, "integer", stats.randint(int(low), int(high) + 1))
        if scale.count(",") == 1 and _reads(scale.replace(",", ".")):
            raise ValueError(f"{name}: write the step with a point: {scale.replace(',', '.')}")
        step = number(
            scale, f"{name}: what follows the range must be log, int, any, periodic or a step"
        )
        if not 0 < step <= high - low or (high - low) / step > MOST_VALUES:
            raise ValueError(
                f"{name}: a step must be above 0, at most the length of the range, and at least a "
                f"{MOST_VALUES}th of it; got {scale}"
            )
        return cls(name, "range", Steps(float(low), float(high), step))

    @classmethod
    def choice(cls, name: str, values: Iterable[Any]) -> Side:
        """Return a side with a list of values.

        Parameters
        ----------
        name : str
            Name of the setting.
        values : iterable
            The values; they are ordered if all are numbers. A single value is fixed.

        Returns
        -------
        side : Side
        """
        refuse_set(values, name)
        values = list(values)
        if not values or any(value == "" for value in values):
            raise ValueError(f"{name}: a value is missing in the list {values}")
        try:
            repeated = len(set(values)) < len(values)
        except TypeError:  # values such as lists have no hash
            repeated = any(value in values[:i] for i, value in enumerate(values))
        if repeated:
            raise ValueError(f"{name}: a value is twice in the list {values}")
        for value in values:
            if isinstance(value, str):
                check_name(value, f"a value of {name}")
        return cls(name, "choice", values)

    @classmethod
    def of(cls, name: str, side: Any) -> Side:
        """Return a side from the bounds of an optimizer, a dict or a text.

        Parameters
        ----------
        name : str
            Name of the setting.
        side : tuple, list, distribution, dict or str
            As in ``bounds={name: side}``, a dict of :meth:`as_dict`, or a text such as "20:90".

        Returns
        -------
        side : Side
        """
        if isinstance(side, str):
            return cls._parse_form(name, side.strip())
        if isinstance(side, Mapping):
            return cls._from_dict(name, side)
        if isinstance(side, Steps):
            return cls(name, "log" if side.log else "range", side)
        if isinstance(side, Angle):
            return cls(name, "periodic", side)
        if isinstance(side, tuple):
            if len(side) != 2:
                raise ValueError(f"{name} must be a pair (low, high) or a list, got {side!r}")
            low, high = (number(end, f"{name}: an end of the range") for end in side)
            return cls.between(name, low, high)
        if hasattr(side, "ppf"):
            if getattr(getattr(side, "dist", None), "name", "") in ("loguniform", "reciprocal"):
                return cls(name, "log", side)
            return cls(name, "integer" if hasattr(side, "pmf") else "distribution", side)
        if isinstance(side, range) and side[:MOST_VALUES] != side:
            if abs(side.step) != 1:
                raise ValueError(f"{name} has more than {MOST_VALUES} values, got {side!r}")
            low, high = sorted((side[0], side[-1]))
            return cls.between(name, low, high, "int")
        if not hasattr(side, "__len__"):
            raise ValueError(f"{name} must be a pair (low, high) or a list, got {side!r}")
        return cls.choice(name, side.tolist() if hasattr(side, "tolist") else side)

    @classmethod
    def _from_dict(cls, name: str, side: Mapping[str, Any]) -> Side:
        scale = {"range": "", "log": "log", "integer": "int", "periodic": "periodic"}
        kind = side.get("kind")
        if kind == "choice" and isinstance(side.get("values"), (list, tuple)):
            return cls.choice(name, side["values"])
        if kind not in scale or not {"low", "high"} <= set(side):
            raise ValueError(
                f"{name} must have a kind of {sorted(scale)} with low and high, or the kind "
                f"'choice' with values; got {dict(side)!r}"
            )
        low, high = (number(side[end], f"{name}: {end}") for end in ("low", "high"))
        if kind == "log" and side.get("digits"):
            return cls(name, "log", Steps(low, high, log=True))
        if kind == "periodic":
            return cls(name, kind, Angle(low, high, side.get("step")))
        step = side.get("step") if kind == "range" else None
        return cls.between(name, low, high, scale[kind] if step is None else f"{step!r}")

    def rounded_to_grid(self) -> Side:
        """Return the side with steps of three significant digits, unless it has steps or is exact.

        Sides that are no range, log scale or angle are returned unchanged.
        """
        if self.exact or self._has_steps or self.kind not in ("range", "log", "periodic"):
            return self
        steps = Steps(*self.ends, log=self.kind == "log")
        bounds = Angle(*self.ends, steps.default_step) if self.kind == "periodic" else steps
        return Side(self.name, self.kind, bounds)

    @property
    def _has_steps(self) -> bool:
        return isinstance(self.bounds, (Steps, Angle)) and self.bounds.has_steps

    @property
    def _step(self) -> float | None:
        """Distance of two steps; None on a logarithmic scale."""
        return self.bounds.step if isinstance(self.bounds, Angle) else self.bounds.shown_step

    def with_value_list(self) -> Side:
        """Return the side with its steps as a list of values, which averages over regions need.

        An angle has no steps then.
        """
        if isinstance(self.bounds, Angle):
            return Side(self.name, self.kind, Angle(*self.ends))
        if not isinstance(self.bounds, Steps):
            return self
        values = self.bounds.grid.tolist()
        whole = all(value.is_integer() for value in values)
        return Side.choice(self.name, [int(value) for value in values] if whole else values)

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest number of the side, which must not be a choice."""
        if isinstance(self.bounds, (Steps, Angle)):
            return self.bounds.low, self.bounds.high
        if self.kind == "range":
            return self.bounds
        low, high = self.bounds.support()
        return (int(low), int(high)) if self.kind == "integer" else (float(low), float(high))

    @property
    def is_ordered(self) -> bool:
        """True if all values are numbers; distances between values have a meaning then."""
        return self.kind != "choice" or all(map(is_number, self.bounds))

    def as_dict(self) -> dict[str, Any]:
        """Return the side as a dict of JSON types: ``name``, ``kind``, and its ends or values.

        The ends are ``low`` and ``high``, the list of a choice is ``values``. With steps there is
        also ``step``, or on a logarithmic scale ``digits``, the number of significant digits.
        """
        if self.kind == "choice":
            return {"name": self.name, "kind": "choice", "values": list(self.bounds)}
        low, high = (end if math.isfinite(end) else None for end in self.ends)
        out = {"name": self.name, "kind": self.kind, "low": low, "high": high}
        if self._has_steps:
            out |= {"digits": 3} if self.kind == "log" else {"step": self._step}
        return out

    def __str__(self) -> str:
        if self.kind == "choice":
            return " or ".join(map(format_value, self.bounds))
        if self.kind != "log" and self._has_steps:
            return f"{self._among}, in steps of {format_value(self._step)}"
        return self._among

    @property
    def _among(self) -> str:
        """The range as a text, such as "20 to 90", without steps."""
        low, high = map(format_value, self.ends)
        kinds = {"log": ", on a log scale", "integer": ", whole numbers", "periodic": ", periodic"}
        return f"{low} to {high}{kinds.get(self.kind, '')}"

    def value(self, given: Any) -> Any:
        """Convert a text or a JSON value to a value of this side, of the right type.

        Parameters
        ----------
        given : str or number
            The text that a user typed, or a value of a JSON type.

        Returns
        -------
        value : object

        Raises
        ------
        ValueError
            If the text is not one of the values.
        """
        if self.kind != "choice":
            value, (low, high) = number(given, self.name), self.ends
            rounding = ROUNDING * (high - low) if math.isfinite(high - low) else 0.0
            if not low - rounding <= value <= high + rounding:
                raise ValueError(f"{self.name} must be {self._among}, got {given}")
            value = min(max(value, low), high)
            if self.kind == "integer":
                if value != int(value):
                    raise ValueError(f"{self.name} must be a whole number, got {given}")
                return int(value)
            return value
        for value in self.bounds:
            if type(value) is type(given) and value == given:
                return value
        text = str(given).strip()
        for each in (text, strip_quotes(text).strip()):
            for value in self.bounds:
                if str(value).strip() == each:
                    return value
        meant = _value(text)
        for value in self.bounds:
            if not isinstance(meant, str) and is_number(value) and value == meant:
                return value
        raise ValueError(f"{self.name} must be {self}, got {text!r}")

    def value_or_other(self, given: Any) -> Any:
        """Convert a text or a JSON value to a value of this side, or to another one like it."""
        try:
            return self.value(given)
        except ValueError:
            return number(given, self.name) if self.is_ordered else given

    def format_region(self, values: Sequence[Any]) -> str:
        """Format the values of a region along this side; :meth:`region` parses the text."""
        if self.is_ordered:
            return " to ".join(dict.fromkeys(map(exact, (values[0], values[-1]))))
        return format_list(values)

    def region(self, given: str) -> Ends:
        """Parse the values of a region along this side.

        Parameters
        ----------
        given : str
            "20 to 90", or "A, B" if the values are not ordered.

        Returns
        -------
        ends : Ends

        Raises
        ------
        ValueError
            If a value is not on this side, or the values do not follow each other in its list.
        """
        if self.is_ordered:
            low, separator, high = given.partition(" to ")
            ends = Ends(self.value(with_point(low)), self.value(with_point(high or low)))
            if ends.first > ends.last or (separator and not high):
                raise ValueError(f"{self.name} must be LOW to HIGH, got {given!r}")
            return ends
        places = [self.bounds.index(self.value(each)) for each in split_list(given)]
        if places != list(range(places[0], places[-1] + 1)):
            raise ValueError(
                f"{self.name} must be values that follow each other in its list, {self}, got "
                f"{given!r}"
            )
        return Ends(*(self.bounds[places[i]] for i in (0, -1)))


def values_in(name: str, text: str) -> list[Any]:
    """Parse a list of values that a user typed.

    Parameters
    ----------
    name : str
        Name of the side, for messages.
    text : str
        Numbers and texts, separated by commas; a value between quotes is a text.

    Returns
    -------
    values : list

    Raises
    ------
    ValueError
        If quotes are not around a whole value, or a comma may belong to the name of a chemical.
    """
    pieces = split_list(text)
    unclear = LOCANTS.search(",".join(piece for piece in pieces if not is_quoted(piece)))
    if unclear and unclear[0] in text:
        apart = unclear[0].replace(",", ", ")
        raise ValueError(
            f"{name}: {unclear[0]} may be one value or several: write {quote(unclear[0])} with "
            f"quotes if it is one, and {apart} with blanks if not"
        )
    return [_value(piece) for piece in pieces]


def format_list(values: Iterable[Any]) -> str:
    """Format a list of values; :func:`values_in` parses the text."""
    return ", ".join(map(_list_item, values))


def _list_item(value: Any) -> str:
    text = exact(value)
    would_change = isinstance(value, str) and not isinstance(_value(text), str)
    return quote(text) if would_change or re.search(r'^"|[,:]|^\s|\s$', text) else text


def number(given: Any, what: str) -> float:
    """Convert a text or number to a finite float.

    Parameters
    ----------
    given : str or number
        The text that a user typed, or a number.
    what : str
        Name of the quantity, for messages.

    Returns
    -------
    value : float

    Raises
    ------
    ValueError
        If the text is not a finite number, or has a decimal comma.
    """
    if is_number(given):
        value = float(given)
    elif isinstance(given, str):
        text = given.strip()
        if "_" in text or not _reads(text):
            pointed = text.replace(",", ".")
            hint = f": write {pointed}" if text.count(",") == 1 and _reads(pointed) else ""
            raise ValueError(f"{what} must be a number, got {text!r}{hint or _unit_hint(text)}")
        value = float(text)
    else:
        raise ValueError(f"{what} must be a number, got {given!r}")
    if not math.isfinite(value):
        raise ValueError(f"{what} must be a finite number, got {given}")
    return value


def measured_number(given: Any, what: str) -> float:
    """Convert a measurement to a float, see :func:`number`; a limit such as <0.5 counts as 0.5."""
    reading = limit_in(given)
    return number(given if reading is None else reading.value, what)


def limit_in(given: Any) -> Reading | None:
    """Parse a limit such as "<0.5", without a unit; return None if ``given`` is no such limit.

    Examples
    --------
    >>> from skgpb.lab.experiments.sides import limit_in
    >>> limit_in("<0.5")
    Reading(value=0.5, unit='', limit='<')
    """
    try:
        reading = read_number(given) if isinstance(given, str) else None
    except ValueError:
        return None
    return reading if reading is not None and reading.limit and not reading.unit else None


def _unit_hint(text: str) -> str:
    """Return a hint how to write a number with a unit as a number; empty if it is unclear."""
    try:
        reading = read_number(text)
    except ValueError as error:
        return f": {error}" if "not determined" in str(error) else ""
    if reading.limit or not reading.unit:
        return ""
    how = "for seconds" if reading.unit == SECONDS else "without the unit"
    return f": write {exact(reading.value)} {how}"


def format_value(value: Any, digits: int | None = None) -> str:
    """Format a value for reports, or the values of a region.

    Parameters
    ----------
    value : object
        Value of a side, or an answer.
    digits : int, default=None
        Number of significant digits. None for all digits of a number that has up to twelve, and
        for six of others, or twelve from 100,000 on.

    Returns
    -------
    text : str
    """
    if isinstance(value, (tuple, list)):
        if not all(is_number(each) for each in value):
            return ", ".join(format_value(each, digits) for each in value)
        ends = [format_value(value[i], digits) for i in (0, -1)]
        return " to ".join(ends if len(value) > 1 else ends[:1])
    if not isinstance(value, float):
        return str(value)
    if digits is None:
        # What was typed, or lies on a grid, is short, and is set or compared as it is printed.
        is_short = float(f"{value:.12g}") == value
        digits = 12 if is_short or abs(value) >= 1e5 else 6
    return f"{value:z.{digits}g}"


def format_estimate(value: float, std: float) -> str:
    """Format an estimate with its significant digits, given its standard deviation.

    Parameters
    ----------
    value, std : float

    Returns
    -------
    text : str
    """
    if not 0.0 < std < math.inf:
        return format_value(value, 6)
    return f"{round(value, 1 - math.floor(math.log10(std))):z.12g}"


def format_percent(probability: float) -> str:
    """Format a probability in percent; only 0 and 1 are written as 0 % and 100 %."""
    percent = 100.0 * probability
    if 0.0 < percent < 1.0 or 99.0 < percent < 100.0:
        return "below 1 %" if percent < 1.0 else "above 99 %"
    return f"{percent:.0f} %"


def exact(value: Any) -> str:
    """Format a value without rounding, so that parsing the text returns the same value."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _reads(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _value(text: str) -> Any:
    """Convert a text to a number; return the text without quotes if it is none, or is quoted."""
    if is_quoted(text):
        return strip_quotes(text)
    if not _reads(text) or "_" in text or not math.isfinite(float(text)):
        return text
    # Python converts no text of 4,300 digits to a whole number.
    return int(text) if re.fullmatch(r"[-+]?\d{1,400}", text) else float(text)
