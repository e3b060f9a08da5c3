"""What files keep of the objects of a run: fields that each class declares once.

A class lists in ``_kept_fields`` those of its fields, or properties that can be set, which change
in a run and do not follow from the log at little cost. Everything else is as at the start of the
run, or follows from these: ``_resume`` of a class renews it, when the fields of this class and of
its bases are set, and refuses what cannot be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np

from skgpb.persistence import SMALL

# Types of entries that an array holds without a change that anybody sees.
ALIKE = ({float, np.float64}, {bool, np.bool_}, {int})


def snapshot_of(value: Any) -> Any:
    """Return what is kept of a value: of an object its fields, of a long list its columns."""
    if hasattr(value, "_kept_fields"):
        fields = [name for _, names in _declared(value) for name in names]
        return {name.strip("_"): snapshot_of(getattr(value, name)) for name in fields}
    if is_dataclass(value):
        return vars(value)
    if isinstance(value, set):
        return snapshot_of(sorted(value))
    if not isinstance(value, list):
        return value
    if value and all(isinstance(each, tuple) for each in value):
        return {"rows": [_column(list(each)) for each in zip(*value, strict=True)]}
    return {"entries": _column(value)}


def restore(value: Any, snapshot: dict[str, Any]) -> None:
    """Let an object that is as at the start of a run be as one of which this was kept.

    Parameters
    ----------
    value : object
        It is changed in place, and so are objects that its fields are.
    snapshot : dict
        What :func:`snapshot_of` has returned.

    Raises
    ------
    ValueError
        If the values of fields are no such values.
    """
    for cls, names in _declared(value):
        for name in names:
            now, kept = getattr(value, name), snapshot[name.strip("_")]
            if hasattr(now, "_kept_fields"):
                restore(now, kept)
            elif (new := _like(now, kept, name)) is not now:
                setattr(value, name, new)
        if "_resume" in vars(cls):
            cls._resume(value)


def _declared(value: Any) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yield the classes of an object with the fields that each of them declares, bases first."""
    for cls in reversed(type(value).__mro__):
        yield cls, vars(cls).get("_kept_fields", ())


def _column(entries: list[Any]) -> Any:
    """Many entries of one kind and shape as an array; others as they are."""
    kinds = {type(each) for each in entries}
    if any(kinds <= kind for kind in ALIKE):
        array = np.array(entries)
        return array if len(array) > SMALL and array.dtype.kind in "fbi" else array.tolist()
    if kinds == {np.ndarray} and len({(each.shape, each.dtype.str) for each in entries}) == 1:
        return np.stack(entries)
    return entries


def _entries(column: Any) -> list[Any]:
    """Return the entries of a column."""
    is_flat = isinstance(column, np.ndarray) and column.ndim == 1
    return column.tolist() if is_flat else list(column)


def _like(now: Any, kept: Any, name: str) -> Any:
    """Return what was kept of a field, if it is a value like the one at the start."""
    if is_dataclass(now) and not isinstance(now, type):
        fields = {each: _like(old, kept[each], each) for each, old in vars(now).items()}
        return replace(now, **fields)
    if isinstance(now, (list, set)):
        rows = "rows" in kept
        columns = [_entries(each) for each in (kept["rows"] if rows else [kept["entries"]])]
        return type(now)(zip(*columns, strict=True) if rows else columns[0])
    if isinstance(now, tuple):
        return tuple(_like(*each, name) for each in zip(now, kept, strict=True))
    if isinstance(now, np.ndarray):
        fits = isinstance(kept, np.ndarray) and kept.dtype.kind == now.dtype.kind
        if fits and kept.shape[1:] == now.shape[1:] and np.isfinite(kept).all():
            return np.array(kept, dtype=now.dtype)
    else:
        kept = kept.item() if isinstance(kept, np.generic) else kept
        if now is None or type(kept) is type(now) or {type(kept), type(now)} == {int, float}:
            return kept
    raise ValueError(f"{name.strip('_')} cannot be {kept!r} where it was {now!r} at the start")
