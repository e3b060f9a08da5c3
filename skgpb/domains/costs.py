"""The cost of an experiment as a text: 20 + 0.5*time, and 100 if catalyst = Pd."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, ClassVar

from skgpb.domains.linear import read_sum
from skgpb.utils.expressions import strip_quotes

# An amount, optionally followed by a side and its value, which may be quoted.
_FORM = re.compile(r'(.*?)(?:\bif\s+("(?:[^"]|"")*"|[^="]+?)\s*=\s*(.+))?', re.DOTALL)
# Memory: number of texts whose parsed costs are cached.
MOST_READ = 64


@dataclass(frozen=True)
class SettingCosts:
    """Cost of an answer at a setting, for ``cost`` of a search in a box with named sides.

    Attributes
    ----------
    texts : tuple of str
        Amounts that are summed: numbers and sums of numeric sides, ``"20 + 0.5*time"``. An amount
        with ``if`` holds for a single value of a side, ``"100 if catalyst = Pd"``.

    Examples
    --------
    >>> from skgpb.domains.costs import SettingCosts
    >>> cost = SettingCosts(("20 + 0.5*time", "100 if catalyst = Pd"))
    >>> cost({"time": 30, "catalyst": "Ni"}), cost({"time": 30, "catalyst": "Pd"})
    (35.0, 135.0)
    """

    #: Names of the arguments in a file.
    arguments: ClassVar[tuple[str, ...]] = ("texts",)

    texts: tuple[str, ...]

    def __call__(self, setting: Mapping[str, Any]) -> float:
        """Return the cost at a setting, a value for each side by its name."""
        return sum(amount.at(setting) for amount in amounts(self.texts, tuple(setting)))


@dataclass(frozen=True)
class Amount:
    """A term of a cost.

    Attributes
    ----------
    coefficients : dict
        Factors of sides by their names; the empty name has the constant.
    side, value : str or None
        The side, and its value, for which the amount holds; None for all settings.
    """

    coefficients: Mapping[str, float]
    side: str | None = None
    value: str | None = None

    def at(self, setting: Mapping[str, Any]) -> float:
        """Return the amount at a setting, 0 if it does not hold there."""
        if self.side is not None and not self.is_for(setting[self.side]):
            return 0.0
        pairs = self.coefficients.items()
        return sum(each * (float(setting[name]) if name else 1.0) for name, each in pairs)

    def is_for(self, value: Any) -> bool:
        """Return whether the amount holds for a value of its side, in any notation of numbers."""
        if str(value) == self.value:
            return True
        try:
            return isinstance(value, Real) and float(value) == float(self.value or "")
        except ValueError:
            return False


@lru_cache(MOST_READ)
def amounts(texts: tuple[str, ...], names: tuple[str, ...]) -> list[Amount]:
    """Return the amounts of a cost, given the names of the sides.

    Raises
    ------
    ValueError
        If a text is not a cost, or names an unknown side; the message has the text and reason.
    """
    out = []
    for text in texts:
        found = _FORM.fullmatch(text.strip())
        assert found is not None  # the pattern accepts any amount
        coefficients = read_sum(found[1], names)
        side, value = (None if part is None else strip_quotes(part) for part in found.group(2, 3))
        if side is not None and side not in names:
            raise ValueError(
                f"cost {text.strip()!r}: there is no side named {side!r}; the sides are "
                f"{', '.join(names)}"
            )
        out.append(Amount(coefficients, side, value))
    return out
