"""Files of runs, which ``save`` writes and ``load`` reads.

A file holds the events of a run and a snapshot of its state. The snapshot has the fields that each
class lists in ``_kept_fields``: fields that change during a run and are expensive to compute from
the events. After ``load`` has set them, ``_resume`` of a class recomputes the other fields, and
raises an error if the stored values are invalid.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from functools import partial
from math import isnan, nan
from typing import Any

import numpy as np

from skgpb._version import __version__
from skgpb.domains import Arm, Box, Cells, Districts, PointsQuery, Region, Side
from skgpb.domains.arms import Layout
from skgpb.domains.costs import SettingCosts
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import LoadError, ReplayWarning
from skgpb.optimizers._loop import Replay, adopt_state, names_of, rebuild
from skgpb.optimizers._run import ANSWERED, TOGETHER, Event
from skgpb.optimizers.strategy import Strategy
from skgpb.surrogate.likelihood import Prior
from skgpb.utils.locks import StateLock
from skgpb.utils.persistence import (
    FORMAT,
    SMALL,
    VERSION,
    Reader,
    Writer,
    encode_parameters,
    open_run,
    shown,
    write,
)
from skgpb.utils.progress import log_step
from skgpb.utils.typing import File
from skgpb.utils.warnings import warn

# -- Snapshots of the fields in ``_kept_fields`` ---------------------------------------------------

# Types of the entries of a list that come back unchanged if a file has the list as an array.
ALIKE = ({float, np.float64}, {bool, np.bool_}, {int})


def snapshot_of(value: Any) -> Any:
    """Return the snapshot of a value, for files.

    The snapshot of an object is a dict of its fields in ``_kept_fields``. That of a list is a dict
    with an array of its entries, or with an array for each position in its tuples.
    """
    if hasattr(value, "_kept_fields"):
        fields = [name for _, names in _classes_and_fields(value) for name in names]
        return {_key(name): snapshot_of(getattr(value, name)) for name in fields}
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
    """Restore the fields of an object, which is in its state at the start of a run, in place.

    Parameters
    ----------
    value : object
        The object. Objects in its fields are restored in place as well.
    snapshot : dict
        The return value of :func:`snapshot_of`.

    Raises
    ------
    ValueError
        If the value of a field has another type or shape than at the start.
    """
    for cls, names in _classes_and_fields(value):
        for name in names:
            now, kept = getattr(value, name), snapshot[_key(name)]
            if hasattr(now, "_kept_fields"):
                restore(now, kept)
            elif (new := _like(now, kept, name)) is not now:
                setattr(value, name, new)
        if "_resume" in vars(cls):
            cls._resume(value)


def _key(field: str) -> str:
    """Return the name of a field in files of version 2."""
    return "record" if field == "run_" else field.strip("_")


def _classes_and_fields(value: Any) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yield each class of an object, base classes first, with the fields that it declares."""
    for cls in reversed(type(value).__mro__):
        yield cls, vars(cls).get("_kept_fields", ())


def _column(entries: list[Any]) -> Any:
    """Return entries of one type and shape as an array if they are many; otherwise as a list."""
    kinds = {type(each) for each in entries}
    if any(kinds <= kind for kind in ALIKE):
        array = np.array(entries)
        return array if len(array) > SMALL and array.dtype.kind in "fbi" else array.tolist()
    if kinds == {np.ndarray} and len({(each.shape, each.dtype.str) for each in entries}) == 1:
        return np.stack(entries)
    return entries


def _entries(column: Any) -> list[Any]:
    """Return the entries of a column of :func:`_column` as a list."""
    is_flat = isinstance(column, np.ndarray) and column.ndim == 1
    return column.tolist() if is_flat else list(column)


def _like(now: Any, kept: Any, name: str) -> Any:
    """Return a field from its snapshot, or raise ValueError if it does not fit its initial value.

    Parameters
    ----------
    now : object
        Value at the start of a run.
    kept : object
        Value in the snapshot.
    name : str
        Name of the field, for messages.
    """
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
    raise ValueError(
        f"it has {name.strip('_')}={kept!r}, which does not fit the initial value {now!r}: it is "
        "damaged, or was written by another version"
    )


# -- The file of a run -----------------------------------------------------------------------------


def write_run(
    optimizer: Any,
    path: File,
    omit: Collection[str],
    notes: Mapping[str, Any] | None,
) -> None:
    """Write the file of a run that has begun; the arguments are as for ``save``."""
    writer, run = Writer(_known_kinds(type(optimizer))), optimizer.run_
    parameters = encode_parameters(writer, run.parameters, omit)
    events = [_encode_event(writer, *event) for event in _omit_parameters(omit, optimizer._events)]
    document = {
        "format": FORMAT,
        "version": VERSION,
        "skgpb": __version__,
        "class": type(optimizer).__name__,
        "parameters": parameters,
        "omitted": sorted(omit),
        "seed": optimizer.run_.seed,
        "feature_names": names_of(optimizer),
        "times": [None if isnan(each) else each for each in run.times],
        "batch": [writer.query(query) for query in run.evaluations.batch],
    }
    if notes is not None:
        document["notes"] = dict(notes)
    snapshot = writer.encode(optimizer._snapshot(), "snapshot")
    write(path, document, events, writer.arrays, snapshot)


def read_run(
    cls: Any,
    every: type,
    path: File,
    given: dict[str, Any],
    lock: StateLock | None = None,
) -> Any:
    """Return the optimizer in a file, see ``load``.

    Parameters
    ----------
    cls : type
        Class of the optimizer, or a base of it.
    every : type
        Base class of all optimizers: parameters may be instances of its subclasses.
    path : path or binary file
        The file.
    given : dict
        Values of the parameters that were omitted from the file.
    lock : StateLock, default=None
        Lock of all parts of the optimizer; None for a new one.
    """
    with open_run(path) as (document, log, arrays):
        known = {each.__name__: each for each in _with_subclasses(cls)}
        if document["class"] not in known:
            raise ValueError(
                f"it holds a run of {document['class']}, not of {cls.__name__}; a class of your "
                "own has to be imported before its run is loaded"
            )
        cls = known[document["class"]]
        reader = Reader(
            arrays, _known_kinds(cls), [*_with_subclasses(every), *_with_subclasses(Strategy)]
        )
        missing = sorted(set(document["omitted"]) - set(given))
        if missing:
            raise ValueError(
                f"it was saved without {missing}: pass them to load, as in "
                f"load(path, {missing[0]}=...)"
            )
        further = sorted(set(given) - set(document["omitted"]))
        if further:
            raise ValueError(f"it has values of {further}: change them by set_params after load")
        again = (document["version"], document["skgpb"]) != (VERSION, __version__)
        # Snapshots of other versions may have other fields: then the events are repeated.
        snapshot = None if again else arrays.snapshot()
        parameters = reader.parameters(document["parameters"]) | given
        events = [_decode_event(reader, *event) for event in log]
        replay = partial(
            Replay,
            seed=document["seed"],
            names=document["feature_names"],
            batch=[reader.query(each) for each in document["batch"]],
            times=[nan if each is None else each for each in document["times"]],
        )
        log_step(sum(event[0] == "tell" for event in events), "computing the posterior of the run")
        try:
            optimizer, n_mismatches = rebuild(
                cls, parameters, replay(events), reader.decode(snapshot), lock
            )
        except (IndexError, ValueError):
            if not again:
                raise
            # That version may have had another default kernel: refit the hyperparameters.
            answers = [event for event in events if event[0] != "learned"]
            optimizer, n_mismatches = rebuild(cls, parameters, replay(answers), None, lock)
    if n_mismatches:
        who, why = f"skgpb {document['skgpb']}", "only that version would choose the same queries"
        if not again:
            who, why = "the run", f"{cls.__name__} has changed, or draws numbers without its rng"
        warn(
            f"{n_mismatches} of {len(events)} steps of {shown(path)} chose other queries "
            f"than {who} did; all answers are kept, and the run can go on: {why}",
            ReplayWarning,
        )
    return optimizer


def resume_checkpoint(
    optimizer: Any, every: type, path: str | os.PathLike[str], resume: bool
) -> None:
    """Continue the run in a checkpoint, or raise ValueError if saving would lose its answers.

    Nothing is lost if the events in the file are the first events of the optimizer.
    """
    if not os.path.isfile(path):
        return  # no file, or a device such as /dev/null, which holds no run
    try:
        kept = read_run(type(optimizer), every, path, {}, optimizer._lock)
    except LoadError as error:
        raise LoadError(f"checkpoint {error}; choose another name") from error
    events, in_file = optimizer._events, kept._events
    if _begins(events, in_file):
        return
    n = sum(event[0] in ANSWERED for event in in_file)
    name = f"checkpoint {os.fspath(path)!r} holds a run of {n} answers"
    if not resume:
        raise ValueError(
            f"{name}, which this one would replace: resume=True continues it, budget being the "
            "number of all answers then; otherwise choose another name"
        )
    if not _begins(in_file, events):
        raise ValueError(f"{name} that began with other data or answers: choose another name")
    parameters = kept.get_params(deep=False)
    later = {each for kind, *rest in in_file if kind == "set" for each in rest[0]}
    for parameter, value in optimizer.get_params(deep=False).items():
        if parameter in later:
            continue
        # Random generators are not compared: their state has changed since the file was written.
        drawn = isinstance(value, (np.random.RandomState, np.random.Generator))
        given, before = ([(each, parameter)] for each in (value, parameters[parameter]))
        if not drawn and _encode_values(Writer.encode, given) != _encode_values(
            Writer.encode, before
        ):
            raise ValueError(
                f"{name} with another {parameter}: continue it with the same parameters, or choose "
                "another name"
            )
    adopt_state(optimizer, kept, later)
    # What the file and the constructor have in common was not set during the run, although objects
    # that scipy.stats returns are never equal.
    run = optimizer.run_
    run.seen = {
        name: value if name in later else getattr(optimizer, name)
        for name, value in run.seen.items()
    }


def _begins(log: list[Event], start: list[Event]) -> bool:
    """Return whether the first events of ``log`` are all events of ``start``."""
    first = log[: len(start)]
    return len(first) == len(start) and _encode_values(_encode_event, first) == _encode_values(
        _encode_event, start
    )


def _encode_values(
    write: Callable[..., Any], values: Iterable[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return values as ``write`` encodes them for a file, in a form that ``==`` compares."""
    writer = Writer()
    encoded = [write(writer, *each) for each in values]
    arrays = writer.arrays.items()
    return encoded, {name: (each.dtype.str, each.shape, each.tobytes()) for name, each in arrays}


def _omit_parameters(names: Collection[str], events: list[Event]) -> list[Event]:
    """Return events without the values of parameters in ``names``, which ``save`` omits."""
    if not names:
        return events
    kept = [
        (kind, {name: value for name, value in rest[0].items() if name not in names})
        if kind == "set"
        else (kind, *rest)
        for kind, *rest in events
    ]
    return [event for event in kept if event[0] != "set" or event[1]]


def _encode_event(writer: Writer, kind: str, *rest: Any) -> list[Any]:
    """Return an event in the form of a file, a list of JSON values."""
    if kind == "fit":
        return [kind, *(writer.encode(each, "X") for each in rest)]
    if kind == "learned":
        return [kind, writer.encode(rest[0], "hyperparameters")]
    if kind == "set":
        return [kind, {name: writer.encode(value, name) for name, value in rest[0].items()}]
    if kind in ("unlearned", *TOGETHER):
        return [kind, *rest]
    query, *numbers = rest
    return [kind, writer.query(query), *(writer.encode(each, "reward") for each in numbers)]


def _decode_event(reader: Reader, kind: str, *rest: Any) -> Event:
    """Return an event of :attr:`Run.events` from its form in a file."""
    if kind in ("fit", "learned"):
        return kind, *(reader.decode(each) for each in rest)
    if kind == "set":
        return kind, reader.parameters(rest[0])
    if kind in ("unlearned", *TOGETHER):
        return kind, *rest
    numbers = (each if type(each) is float else reader.decode(each) for each in rest[1:])
    return kind, reader.query(rest[0]), *numbers


def _known_kinds(cls: Any) -> list[type]:
    """Return the classes of queries, sides and sets that a file of a run of ``cls`` may have."""
    kinds: list[type] = [PointsQuery, Region, Box, SettingCosts, ParameterSpace, Prior]
    for each in (Side, cls._query_type, Arm, Cells, Districts, Layout):
        kinds += _with_subclasses(each)
    return kinds


def _with_subclasses(cls: Any) -> list[Any]:
    return [cls, *(each for child in cls.__subclasses__() for each in _with_subclasses(child))]
