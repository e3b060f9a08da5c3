"""Blocks of answers, which share a random shift: days, operators, batches of material."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import Any

import numpy as np

from skgpb.lab.experiments.records import LabRecord, normalize_date
from skgpb.lab.experiments.sides import format_estimate, format_value
from skgpb.lab.experiments.texts import check_name


def read_block(text: str, taken: Iterable[str]) -> str:
    """Return the name of the field that names blocks, checked; empty without blocks.

    Parameters
    ----------
    text : str
        ``"operator"``, ``"date"``, or the name of another measurement.
    taken : iterable of str
        Names of sides, of the answer and of outcomes with limits, which cannot name blocks.

    Raises
    ------
    ValueError
        If ``text`` is one of ``taken``.
    """
    check_name(text, "block")
    name = text.strip()
    if name in taken:
        raise ValueError(
            "block is written down beside the settings, such as operator, date or batch: "
            f"{name!r} is a setting, the answer or has a limit"
        )
    # These two are fields of the record, with lower-case names.
    return name.lower() if name.lower() in ("operator", "date") else name


def block_name(record: LabRecord, block: str) -> str | None:
    """Return the name of the block of an answer; None if its record has none."""
    if block in ("operator", "date"):
        return getattr(record, block) or None
    value = record.measured.get(block)
    return None if value is None else format_value(value)


def write_block(record: LabRecord, block: str, text: str) -> None:
    """Write the block of an answer, a text in a table, to its record."""
    if block == "date":
        record.write(date=normalize_date(text))
    elif block == "operator":
        record.write(operator=text)
    else:
        record.write(measured={block: text})


def block_std(optimizer: Any) -> float | None:
    """Return the standard deviation of the shifts of blocks; None if no answer has a block."""
    process = None if optimizer._model is None else optimizer._model.process
    return sqrt(process.effect) * process.scale if process is not None and process.effect else None


def blocks_in(optimizer: Any) -> list[dict[str, Any]]:
    """Return the prediction of the shift of each block, see ``Experiment.blocks``."""
    numbers, sign = optimizer.run_.blocks, optimizer.run_.sign.convert(1.0)
    if not numbers:
        return []
    told = [event[4] for event in optimizer._events if event[0] == "tell" and len(event) > 4]
    means, covariances = optimizer._model.process.effects(n := len(numbers))
    # Shifts from the average of these blocks: shifts from a mean of 0 would be more uncertain.
    contrasts = np.eye(n) - 1.0 / n
    stds = np.sqrt(np.maximum(np.diag(contrasts @ covariances @ contrasts), 0.0))
    return [
        {
            "block": name,
            "n_answers": told.count(name),
            "mean": sign * float(mean),
            "std": float(std),
        }
        for name, mean, std in zip(numbers, contrasts @ means, stds, strict=True)
    ]


def describe_shift(shift: dict[str, Any]) -> str:
    """Describe the shift of a block from the average, with its significant digits.

    Examples
    --------
    >>> from skgpb.lab.experiments.blocks import describe_shift
    >>> describe_shift({"block": "Ann", "n_answers": 7, "mean": -1.94, "std": 0.31})
    '1.94 ± 0.31 below the average'
    """
    mean, std = shift["mean"], shift["std"]
    side = "below" if mean < 0.0 else "above"
    shown = f"{format_estimate(abs(mean), std)} \N{PLUS-MINUS SIGN} {format_value(std, 2)}"
    return f"{shown} {side} the average"
