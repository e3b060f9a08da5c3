"""Sides of a box as people write them: 20:90, 1e-4:0.1:log, A,B; and what users type as values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from skgpb.domains import Steps
from skgpb.domains.space import refuse_set
from skgpb.lab.datasets.numbers import SECONDS, Reading, read_number
from skgpb.lab.experiments.texts import (
    check_name,
    is_quoted,
    quoted,
    split_list,
    split_pair,
    unquoted,
    with_point,
)
from skgpb.utils.validation import is_number
from skgpb.utils.warnings import warn

# Accepted forms of a side, for messages.
FORMS = "LOW:HIGH, LOW:HIGH:log, LOW:HIGH:int, LOW:HIGH:STEP, LOW:HIGH:any, or values A,B,C"
# Maximum number of values of a list; more are taken for a mistake.
MOST_VALUES = 10_000
# Numbers beyond an end of a side by this share of its length are at the end, but for rounding.
ROUNDING = 1e-12
# The beginning of a name in chemistry, such as 1,4-dioxane or N,N-dimethylformamide.
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
    kind : {"range", "log", "integer", "choice", "distribution"}
        Numbers between two, on a logarithmic scale or whole ones; one of several values; or any
        other distribution of ``scipy.stats``, which only Python can give.
    bounds : object
        The side as ``bounds={name: side}`` of an optimizer takes it.
    exact : bool
        Whether numbers of any number of digits can be set, so that no steps are wanted.

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
        """Return the side that a text stands for.

        Parameters
        ----------
        text : str
            ``name=LOW:HIGH``, ``name=LOW:HIGH:log``, ``name=LOW:HIGH:int``,
            ``name=LOW:HIGH:STEP``, ``name=LOW:HIGH:any`` or ``name=A,B,C``. The first ``=`` ends
            the name. Quotes are as in CSV: ``solvent="1,4-dioxane",DMF`` has two values, and
            ``"a=b"=0:1`` is named ``a=b``. A value between quotes is a text.

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
            If there is one value only, and so nothing to choose.
        """
        try:
            name, form = split_pair(text)
        except ValueError:
            raise ValueError(f"a side must be NAME={FORMS}, got {text!r}") from None
        return cls._written(name, form)

    @classmethod
    def _written(cls, name: str, form: str) -> Side:
        """Return the side that the text behind its name stands for."""
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
        if len(scale) > 1:
            raise ValueError(f"{name} must be {FORMS}, got {form!r}")
        return cls.between(name, low, high, *scale)

    @classmethod
    def between(cls, name: str, low: float, high: float, scale: str = "") -> Side:
        """Return a side of numbers between two.

        Parameters
        ----------
        name : str
            Name of the setting.
        low, high : float
            The ends.
        scale : str, default=""
            "log" for a logarithmic scale, "int" for whole numbers, a number for steps of this size,
            "any" for numbers of any number of digits.

        Returns
        -------
        side : Side
        """
        if not low < high:
            raise ValueError(
                f"{name}: the low end must be below the high one, got {low:g}:{high:g}"
            )
        if scale in ("", "any"):
            return cls(name, "range", (float(low), float(high)), exact=scale == "any")
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
        step = number(scale, f"{name}: what follows the range must be log, int, any or a step")
        if not 0 < step <= high - low or (high - low) / step > MOST_VALUES:
            raise ValueError(
                f"{name}: a step must be above 0, at most the length of the range, and at least a "
                f"{MOST_VALUES}th of it; got {scale}"
            )
        return cls(name, "range", Steps(float(low), float(high), step))

    @classmethod
    def choice(cls, name: str, values: Iterable[Any]) -> Side:
        """Return a side of several values, or of one that is fixed.

        Parameters
        ----------
        name : str
            Name of the setting.
        values : iterable
            Numbers, which are ordered by size, or anything else, which is not ordered.

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
        except TypeError:  # of lists there are few
            repeated = any(value in values[:i] for i, value in enumerate(values))
        if repeated:
            raise ValueError(f"{name}: a value is twice in the list {values}")
        for value in values:
            if isinstance(value, str):
                check_name(value, f"a value of {name}")
        return cls(name, "choice", values)

    @classmethod
    def of(cls, name: str, side: Any) -> Side:
        """Return the side that an optimizer has, or that a dict of :meth:`as_dict` describes.

        Parameters
        ----------
        name : str
            Name of the setting.
        side : tuple, list, distribution, dict or str
            As in ``bounds={name: side}``, as :meth:`as_dict` gives it, or a text such as "20:90".

        Returns
        -------
        side : Side
        """
        if isinstance(side, str):
            return cls._written(name, side.strip())
        if isinstance(side, Mapping):
            return cls._described(name, side)
        if isinstance(side, Steps):
            return cls(name, "log" if side.log else "range", side)
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
    def _described(cls, name: str, side: Mapping[str, Any]) -> Side:
        scale = {"range": "", "log": "log", "integer": "int"}
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
        step = side.get("step") if kind == "range" else None
        return cls.between(name, low, high, scale[kind] if step is None else f"{step!r}")

    def rounded_to_grid(self) -> Side:
        """Return the side with steps that suit its range, if it has none and allows them."""
        if self.exact or isinstance(self.bounds, Steps) or self.kind not in ("range", "log"):
            return self
        return Side(self.name, self.kind, Steps(*self.ends, log=self.kind == "log"))

    def listed(self) -> Side:
        """Return the side with a list of values for steps, as averages over regions need it."""
        if not isinstance(self.bounds, Steps):
            return self
        values = self.bounds.grid.tolist()
        whole = all(value.is_integer() for value in values)
        return Side.choice(self.name, [int(value) for value in values] if whole else values)

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest number of a side that is no choice."""
        if isinstance(self.bounds, Steps):
            return self.bounds.low, self.bounds.high
        if self.kind == "range":
            return self.bounds
        low, high = self.bounds.support()
        return (int(low), int(high)) if self.kind == "integer" else (float(low), float(high))

    @property
    def is_ordered(self) -> bool:
        """True if all values are numbers, so that some are nearer to each other than others."""
        return self.kind != "choice" or all(map(is_number, self.bounds))

    def as_dict(self) -> dict[str, Any]:
        """Return name, kind, and low and high or values, as JSON has them.

        A side in steps has ``step`` as well, one on a logarithmic scale ``digits``, how many its
        values have.
        """
        if self.kind == "choice":
            return {"name": self.name, "kind": "choice", "values": list(self.bounds)}
        low, high = (end if math.isfinite(end) else None for end in self.ends)
        out = {"name": self.name, "kind": self.kind, "low": low, "high": high}
        if isinstance(self.bounds, Steps):
            out |= {"digits": 3} if self.kind == "log" else {"step": self.bounds.shown_step}
        return out

    def __str__(self) -> str:
        if self.kind == "choice":
            return " or ".join(map(shown, self.bounds))
        if self.kind == "range" and isinstance(self.bounds, Steps):
            return f"{self._among}, in steps of {shown(self.bounds.shown_step)}"
        return self._among

    @property
    def _among(self) -> str:
        """Between what its numbers are."""
        low, high = map(shown, self.ends)
        kinds = {"log": ", on a log scale", "integer": ", whole numbers"}
        return f"{low} to {high}{kinds.get(self.kind, '')}"

    def value(self, given: Any) -> Any:
        """Convert typed or sent data to a value of this side, of the right type.

        Parameters
        ----------
        given : str or number
            A text, or a value as JSON has it.

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
        for each in (text, unquoted(text).strip()):
            for value in self.bounds:
                if str(value).strip() == each:
                    return value
        meant = _value(text)
        for value in self.bounds:
            if not isinstance(meant, str) and is_number(value) and value == meant:
                return value
        raise ValueError(f"{self.name} must be {self}, got {text!r}")

    def written(self, values: Sequence[Any]) -> str:
        """Write the values of a region along this side, so that :meth:`region` reads the same."""
        if self.is_ordered:
            return " to ".join(dict.fromkeys(map(exact, (values[0], values[-1]))))
        return list_of(values)

    def region(self, given: str) -> Ends:
        """Return the values of a region that a text stands for.

        Parameters
        ----------
        given : str
            "20 to 90", or "A, B" for a list of values that are not ordered.

        Returns
        -------
        ends : Ends

        Raises
        ------
        ValueError
            If a value is not one of this side, or some of the list between two are left out.
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
    """Return the values of a list that somebody typed.

    Parameters
    ----------
    name : str
        Name of the side, for messages.
    text : str
        Numbers and texts, separated by commas; those between quotes are texts.

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
            f"{name}: {unclear[0]} may be one value or several: write {quoted(unclear[0])} with "
            f"quotes if it is one, and {apart} with blanks if not"
        )
    return [_value(piece) for piece in pieces]


def list_of(values: Iterable[Any]) -> str:
    """Write values in the way that :func:`values_in` reads."""
    return ", ".join(map(_in_list, values))


def _in_list(value: Any) -> str:
    text = exact(value)
    would_change = isinstance(value, str) and not isinstance(_value(text), str)
    return quoted(text) if would_change or re.search(r'^"|[,:]|^\s|\s$', text) else text


def number(given: Any, what: str) -> float:
    """Return the finite number that somebody typed or sent.

    Parameters
    ----------
    given : str or number
        The typed text.
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
        try:
            if "_" in text:
                raise ValueError
            value = float(text)
        except ValueError:
            pointed = text.replace(",", ".")
            hint = f": write {pointed}" if text.count(",") == 1 and _reads(pointed) else ""
            raise ValueError(
                f"{what} must be a number, got {text!r}{hint or _without_unit(text)}"
            ) from None
    else:
        raise ValueError(f"{what} must be a number, got {given!r}")
    if not math.isfinite(value):
        raise ValueError(f"{what} must be a finite number, got {given}")
    return value


def measured_number(given: Any, what: str) -> float:
    """Return the number that was measured, as :func:`number`; of a limit such as <0.5 the limit."""
    reading = limit_in(given)
    return number(given if reading is None else reading.value, what)


def limit_in(given: Any) -> Reading | None:
    """Return the limit, without a unit, that was measured instead of a number; None if it is none.

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


def _without_unit(text: str) -> str:
    """Return a hint how to write a text that is no number as one; empty if that is not clear."""
    try:
        reading = read_number(text)
    except ValueError as error:
        return f": {error}" if "not determined" in str(error) else ""
    if reading.limit or not reading.unit:
        return ""
    how = "for seconds" if reading.unit == SECONDS else "without the unit"
    return f": write {exact(reading.value)} {how}"


def shown(value: Any, digits: int = 6) -> str:
    """Write a value as one reads it, or the values of a region.

    Parameters
    ----------
    value : object
        Value of a side, or an answer.
    digits : int, default=6
        Number of significant digits.

    Returns
    -------
    text : str
    """
    if isinstance(value, (tuple, list)):
        if not all(is_number(each) for each in value):
            return ", ".join(shown(each, digits) for each in value)
        ends = [shown(value[i], digits) for i in (0, -1)]
        return " to ".join(ends if len(value) > 1 else ends[:1])
    return f"{value:z.{digits}g}" if isinstance(value, float) else str(value)


def rounded(value: float, std: float) -> str:
    """Write an estimate with the digits that are meaningful, given its standard deviation.

    Parameters
    ----------
    value, std : float

    Returns
    -------
    text : str
    """
    if not 0.0 < std < math.inf:
        return shown(value)
    return f"{round(value, 1 - math.floor(math.log10(std))):z.12g}"


def in_percent(probability: float) -> str:
    """Write a probability in percent; only what is certain is 0 % or 100 %."""
    percent = 100.0 * probability
    if 0.0 < percent < 1.0 or 99.0 < percent < 100.0:
        return "below 1 %" if percent < 1.0 else "above 99 %"
    return f"{percent:.0f} %"


def exact(value: Any) -> str:
    """Write a value so that the same one is read: of a number all digits that it has."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _reads(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _value(text: str) -> Any:
    """Return the number that a text stands for, or else the text, without quotes around it."""
    if is_quoted(text):
        return unquoted(text)
    if not _reads(text) or "_" in text or not math.isfinite(float(text)):
        return text
    # Python converts no text of 4,300 digits to a whole number.
    return int(text) if re.fullmatch(r"[-+]?\d{1,400}", text) else float(text)
