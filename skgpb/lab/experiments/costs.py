"""Parsing of the costs of experiments: 20 + 0.5*time, and 100 if catalyst = Pd."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from skgpb.domains.costs import Amount, SettingCosts, amounts
from skgpb.lab.experiments.sides import Side, format_value
from skgpb.lab.experiments.texts import check_name


def read_costs(texts: str | Iterable[str], sides: Sequence[Side]) -> SettingCosts | None:
    """Parse the cost of an experiment as a function of its setting; None if there are no texts.

    Parameters
    ----------
    texts : str or iterable of str
        Amounts that add up: "20 + 0.5*time", "100 if catalyst = Pd".
    sides : sequence of Side
        The settings.

    Raises
    ------
    ValueError
        If a text does not have this form, names no setting or value, or a setting would cost
        nothing.
    """
    given = [texts] if isinstance(texts, str) else list(texts)
    for text in given:
        check_name(text, "a cost")
    written = tuple(text.strip() for text in given if text.strip())
    if not written:
        return None
    of = {side.name: side for side in sides}
    found = amounts(written, tuple(of))
    for text, amount in zip(written, found, strict=True):
        _check(text, amount, of)
    least = _least([each for each in found if each.side is None], of)
    for side in sides if any(each.side for each in found) else []:
        values = side.bounds if side.kind == "choice" else []
        own = [
            [each for each in found if each.side == side.name and each.is_for(v)] for v in values
        ]
        least += min((_least(each, of) for each in own), default=0.0)
    if not least > 0.0:
        raise ValueError(
            f"every experiment must cost something, and by {'; '.join(written)!r} some cost "
            f"{format_value(least)}: add a cost of every experiment, such as 20"
        )
    return SettingCosts(written)


def _check(text: str, amount: Amount, of: Mapping[str, Side]) -> None:
    """Raise ValueError if an amount is infinite, or names a side or value that it cannot have."""
    for name, each in amount.coefficients.items():
        if name and of[name].kind == "choice":
            raise ValueError(
                f"cost {text!r}: {name} is a list: write the cost of a value, such as 100 if "
                f"{name} = {of[name].bounds[0]}"
            )
        # A distribution may have infinite ends.
        ends = of[name].ends if name else (1.0,)
        if any(isfinite(end) and not isfinite(each * end) for end in ends):
            raise ValueError(f"cost {text!r}: its numbers are too large")
    if amount.side is None:
        return
    side = of[amount.side]
    if side.kind != "choice":
        raise ValueError(
            f"cost {text!r}: {side.name} is no list: write the cost of a unit, such as "
            f"0.5*{side.name}"
        )
    if not any(map(amount.is_for, side.bounds)):
        raise ValueError(f"cost {text!r}: {side.name} must be {side}, got {amount.value!r}")


def _least(some: Iterable[Amount], of: Mapping[str, Side]) -> float:
    """Return the minimum of the sum of amounts over all settings."""
    total: dict[str, float] = {}
    for amount in some:
        for name, each in amount.coefficients.items():
            total[name] = total.get(name, 0.0) + each
    return sum(
        min(c * end for end in of[name].ends) if name else c for name, c in total.items() if c
    )


def cost_texts(optimizer: Any) -> list[str]:
    """Return the texts of the ``cost`` of an optimizer; empty if it has none."""
    cost = getattr(optimizer.run_.params, "cost", None)
    return list(cost.texts) if isinstance(cost, SettingCosts) else []
