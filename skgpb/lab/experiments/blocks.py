"""Blocks of answers that share a shift of their own: days, operators, batches of material."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import Any

import numpy as np

from skgpb.lab.experiments.records import LabRecord, written_date
from skgpb.lab.experiments.sides import rounded, shown
from skgpb.lab.experiments.texts import check_name
from skgpb.optimizers._run import block_told


def read_block(text: str, taken: Iterable[str]) -> str:
    """Return the name of what blocks are told by, checked; empty for none.

    Parameters
    ----------
    text : str
        ``"operator"``, ``"date"``, or the name of something else that is measured.
    taken : iterable of str
        Names of sides, of the answer and of what has a limit, which no block can be.

    Raises
    ------
    ValueError
        If it is one of these.
    """
    check_name(text, "block")
    name = text.strip()
    if name in taken:
        raise ValueError(
            "block is written down beside the settings, such as operator, date or batch: "
            f"{name!r} is a setting, the answer or has a limit"
        )
    # In the notebook these two have fields of their own, whatever their capitals.
    return name.lower() if name.lower() in ("operator", "date") else name


def block_of(record: LabRecord, block: str) -> str | None:
    """Return the name of the block of an answer; None if none is written down."""
    if block in ("operator", "date"):
        return getattr(record, block) or None
    value = record.measured.get(block)
    return None if value is None else shown(value)


def write_block(record: LabRecord, block: str, text: str) -> None:
    """Write down the block of an answer, as a table has it."""
    if block == "date":
        record.write(date=written_date(text))
    elif block == "operator":
        record.write(operator=text)
    else:
        record.write(measured={block: text})


def between_blocks(optimizer: Any) -> float | None:
    """Return the standard deviation of the shifts of blocks, None if there are none."""
    process = getattr(optimizer, "_gp", None)
    return sqrt(process.effect) * process.scale if process is not None and process.effect else None


def blocks_in(optimizer: Any) -> list[dict[str, Any]]:
    """Return what is known of the shift of each block, as ``Experiment.blocks`` does."""
    numbers, sign = optimizer._run.blocks, optimizer._run.sign.of(1.0)
    if not numbers:
        return []
    told = [block_told(event) for event in optimizer._events]
    means, covariances = optimizer._gp.effects(n := len(numbers))
    # How far an average block is from all of these is known less well, and asked by nobody.
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


def shift_in_words(shift: dict[str, Any]) -> str:
    """Return how far the answers of a block are from the average, with the digits that are known.

    Examples
    --------
    >>> from skgpb.lab.experiments.blocks import shift_in_words
    >>> shift_in_words({"block": "Ann", "n_answers": 7, "mean": -1.94, "std": 0.31})
    '1.94 ± 0.31 below the average'
    """
    mean, std = shift["mean"], shift["std"]
    side = "below" if mean < 0.0 else "above"
    return f"{rounded(abs(mean), std)} \N{PLUS-MINUS SIGN} {shown(std, 2)} {side} the average"
