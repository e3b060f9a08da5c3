"""What an experiment costs, as people write it: 20 + 0.5*time, and 100 if catalyst = Pd."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, ClassVar

from skgpb.domains.linear import read_sum

# An amount, and perhaps the side and the value for which it is, which may be between quotes.
_FORM = re.compile(r'(.*?)(?:\bif\s+("(?:[^"]|"")*"|[^="]+?)\s*=\s*(.+))?', re.DOTALL)
# Memory: texts of costs that are kept as what they mean.
MOST_READ = 64


@dataclass(frozen=True)
class SettingCosts:
    """What an answer at a setting costs, for ``cost`` of a search in a box with named sides.

    Attributes
    ----------
    texts : tuple of str
        Amounts that add up: numbers and sums of sides that are numbers, ``"20 + 0.5*time"``. One
        with ``if`` is for a single value of a side, ``"100 if catalyst = Pd"``.

    Examples
    --------
    >>> from skgpb.domains.costs import SettingCosts
    >>> cost = SettingCosts(("20 + 0.5*time", "100 if catalyst = Pd"))
    >>> cost({"time": 30, "catalyst": "Ni"}), cost({"time": 30, "catalyst": "Pd"})
    (35.0, 135.0)
    """

    #: Arguments that a file holds of it.
    arguments: ClassVar[tuple[str, ...]] = ("texts",)

    texts: tuple[str, ...]

    def __call__(self, setting: Mapping[str, Any]) -> float:
        """Return the cost at a setting, a value for each side by its name."""
        return sum(amount.at(setting) for amount in amounts(self.texts, tuple(setting)))


@dataclass(frozen=True)
class Amount:
    """A part of a cost.

    Attributes
    ----------
    coefficients : dict
        Factors of sides by their names; that of the empty name is a number by itself.
    side, value : str or None
        For which value of which side it is; None for all settings.
    """

    coefficients: Mapping[str, float]
    side: str | None = None
    value: str | None = None

    def at(self, setting: Mapping[str, Any]) -> float:
        """Return the amount at a setting, 0 where it is for another one."""
        if self.side is not None and not self.is_for(setting[self.side]):
            return 0.0
        pairs = self.coefficients.items()
        return sum(each * (float(setting[name]) if name else 1.0) for name, each in pairs)

    def is_for(self, value: Any) -> bool:
        """Return whether it is for a value of its side, which people write as they like."""
        if str(value) == self.value:
            return True
        try:
            return isinstance(value, Real) and float(value) == float(self.value or "")
        except ValueError:
            return False


@lru_cache(MOST_READ)
def amounts(texts: tuple[str, ...], names: tuple[str, ...]) -> list[Amount]:
    """Return what costs consist of, given the names of the sides.

    Raises
    ------
    ValueError
        If a text has not the form of a cost, or names no side; the message says which and why.
    """
    out = []
    for text in texts:
        found = _FORM.fullmatch(text.strip())
        assert found is not None  # the amount may be anything
        coefficients = read_sum(found[1], names)
        side, value = (None if part is None else _unquoted(part) for part in found.group(2, 3))
        if side is not None and side not in names:
            raise ValueError(
                f"cost {text.strip()!r}: there is no side named {side!r}; the sides are "
                f"{', '.join(names)}"
            )
        out.append(Amount(coefficients, side, value))
    return out


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1].replace('""', '"') if is_quoted else text
