"""Parts of a snapshot of a run: rows of a history as columns, and back."""

from __future__ import annotations

from typing import Any

import numpy as np


def columns_of(rows: list[tuple[Any, ...]]) -> list[Any]:
    """Return the columns of some rows, as arrays where that keeps every entry.

    Parameters
    ----------
    rows : list of tuples
        All of the same length.

    Returns
    -------
    columns : list of ndarray or list
    """
    return [_column(list(entries)) for entries in zip(*rows, strict=True)]


def _column(entries: list[Any]) -> Any:
    """Entries of one kind and shape as an array; others as they are."""
    if all(isinstance(each, float) for each in entries):
        return np.array(entries)
    if all(isinstance(each, (bool, np.bool_)) for each in entries):
        return np.array(entries)
    if all(isinstance(each, np.ndarray) for each in entries):
        kinds = {(each.shape, each.dtype.str) for each in entries}
        if len(kinds) == 1:
            return np.stack(entries)
    return entries


def rows_of(columns: list[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of some columns, the inverse of :func:`columns_of`."""
    parts = [
        each.tolist() if isinstance(each, np.ndarray) and each.ndim == 1 else list(each)
        for each in columns
    ]
    return list(zip(*parts, strict=True))
