"""Files of runs: what ``save`` writes and ``load`` reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from math import isnan, nan
from typing import Any

import numpy as np

from skgpb._version import __version__
from skgpb._warnings import warn
from skgpb.domains import Arm, Box, Cells, Districts, PointsQuery, Region, Steps
from skgpb.domains.costs import SettingCosts
from skgpb.domains.layout import Layout
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import LoadError, ReplayWarning
from skgpb.locks import StateLock
from skgpb.optimizers._record import ANSWERED, Event
from skgpb.optimizers._replay import Replay, rebuilt, take_over
from skgpb.optimizers.strategy import Strategy
from skgpb.persistence import FORMAT, VERSION, Reader, Writer, encode_parameters, opened, write
from skgpb.surrogate.likelihood import Prior


def write_run(
    optimizer: Any,
    path: str | os.PathLike[str],
    omit: Collection[str],
    notes: Mapping[str, Any] | None,
) -> None:
    """Write a run that has begun, see ``save``."""
    writer, record = Writer(), optimizer._record
    parameters = encode_parameters(writer, record.parameters, omit)
    names = getattr(optimizer, "feature_names_in_", None)
    events = [_encoded(writer, *event) for event in _without(omit, optimizer._events)]
    document = {
        "format": FORMAT,
        "version": VERSION,
        "skgpb": __version__,
        "class": type(optimizer).__name__,
        "parameters": parameters,
        "omitted": sorted(omit),
        "seed": optimizer._seed,
        "feature_names": None if names is None else list(names),
        "times": [None if isnan(each) else each for each in record.times],
        "batch": [writer.query(query) for query in record.evaluations.batch],
    }
    if notes is not None:
        document["notes"] = dict(notes)
    snapshot = writer.encode(optimizer._snapshot(), "snapshot")
    write(path, document, events, writer.arrays, snapshot)


def read_run(
    cls: Any,
    every: type,
    path: str | os.PathLike[str],
    given: dict[str, Any],
    lock: StateLock | None = None,
) -> Any:
    """Return the optimizer in a file, of a class or one derived from it, see ``load``.

    ``every`` is the base of all optimizers, whose subclasses parameters may be; ``lock`` is for all
    parts of the optimizer.
    """
    with opened(path) as (document, log, arrays):
        known = {each.__name__: each for each in _with_subclasses(cls)}
        if document["class"] not in known:
            raise ValueError(
                f"it holds a run of {document['class']}, not of {cls.__name__}; a class of your "
                "own has to be imported before its run is loaded"
            )
        cls = known[document["class"]]
        kinds: list[type] = [PointsQuery, Region, Box, Steps, SettingCosts, ParameterSpace, Prior]
        for each in (cls._query_type, Arm, Cells, Districts, Layout):
            kinds += _with_subclasses(each)
        reader = Reader(arrays, kinds, [*_with_subclasses(every), *_with_subclasses(Strategy)])
        missing = sorted(set(document["omitted"]) - set(given))
        if missing:
            raise ValueError(
                f"it was saved without {missing}: pass them to load, as in "
                f"load(path, {missing[0]}=...)"
            )
        further = sorted(set(given) - set(document["omitted"]))
        if further:
            raise ValueError(f"it has {further}: change them by set_params once it is loaded")
        again = document["skgpb"] != __version__
        # Snapshots of other versions have other fields: the run is repeated.
        snapshot = None if again or document["version"] != VERSION else arrays.snapshot()
        parameters = reader.parameters(document["parameters"]) | given
        events = [_decoded(reader, *event) for event in log]
        replay = Replay(
            events,
            document["seed"],
            names=document["feature_names"],
            batch=[reader.query(each) for each in document["batch"]],
            times=[nan if each is None else each for each in document["times"]],
        )
        optimizer, n_mismatches = rebuilt(cls, parameters, replay, reader.decode(snapshot), lock)
    if n_mismatches:
        who, why = f"skgpb {document['skgpb']}", "only that version would go on as before"
        if not again:
            who, why = "the run", f"{cls.__name__} has changed, or not all it draws is from its rng"
        warn(
            f"{n_mismatches} of {len(events)} steps of {os.fspath(path)!r} chose other queries "
            f"than {who} did; the answers stay those that were told, and the run may go on: {why}",
            ReplayWarning,
        )
    return optimizer


def take_up(optimizer: Any, every: type, path: str | os.PathLike[str], resume: bool) -> None:
    """Continue the run of a checkpoint, or refuse it where saving would lose answers in it.

    Nothing is lost if all that happened in the file has happened to the optimizer as well.
    """
    if not os.path.isfile(path):
        return  # there is none, or it is a device, which holds nothing
    try:
        kept = read_run(type(optimizer), every, path, {}, optimizer._lock)
    except LoadError as error:
        raise LoadError(f"checkpoint {error}: delete it or choose another name") from error
    events, in_file = optimizer._events, kept._events
    if _begins(events, in_file):
        return
    n = sum(event[0] in ANSWERED for event in in_file)
    name = f"checkpoint {os.fspath(path)!r} holds a run of {n} answers"
    if not resume:
        raise ValueError(
            f"{name}, which this one would replace: resume=True continues it, budget being the "
            "number of all answers then; otherwise delete it or choose another name"
        )
    if not _begins(in_file, events):
        raise ValueError(f"{name} that began with other data or answers: choose another name")
    parameters = kept.get_params(deep=False)
    later = {each for kind, *rest in in_file if kind == "set" for each in rest[0]}
    for parameter, value in optimizer.get_params(deep=False).items():
        if parameter in later:
            continue
        # A generator of random numbers has moved on since it was saved.
        drawn = isinstance(value, (np.random.RandomState, np.random.Generator))
        given, before = ([(each, parameter)] for each in (value, parameters[parameter]))
        if not drawn and _stored(Writer.encode, given) != _stored(Writer.encode, before):
            raise ValueError(
                f"{name} with another {parameter}: continue it with the same parameters, or choose "
                "another name"
            )
    take_over(optimizer, kept, later)


def _begins(log: list[Event], start: list[Event]) -> bool:
    """Return whether a log begins with all events of another one."""
    first = log[: len(start)]
    return len(first) == len(start) and _stored(_encoded, first) == _stored(_encoded, start)


def _stored(write: Callable[..., Any], values: Iterable[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return what a file would hold of values, as ``write`` encodes them, to be compared."""
    writer = Writer()
    encoded = [write(writer, *each) for each in values]
    arrays = writer.arrays.items()
    return encoded, {name: (each.dtype.str, each.shape, each.tobytes()) for name, each in arrays}


def _without(names: Collection[str], events: list[Event]) -> list[Event]:
    """Return events without what they say of some parameters, which others give."""
    if not names:
        return events
    kept = [
        (kind, {name: value for name, value in rest[0].items() if name not in names})
        if kind == "set"
        else (kind, *rest)
        for kind, *rest in events
    ]
    return [event for event in kept if event[0] != "set" or event[1]]


def _encoded(writer: Writer, kind: str, *rest: Any) -> list[Any]:
    """Return an event as the file has it."""
    if kind == "fit":
        return [kind, *(writer.encode(each, "X") for each in rest)]
    if kind == "learned":
        return [kind, writer.encode(rest[0], "hyperparameters")]
    if kind == "set":
        return [kind, {name: writer.encode(value, name) for name, value in rest[0].items()}]
    if kind == "unlearned":
        return [kind, *rest]
    query, *numbers = rest
    return [kind, writer.query(query), *(writer.encode(each, "reward") for each in numbers)]


def _decoded(reader: Reader, kind: str, *rest: Any) -> Event:
    """Return an event as the log has it."""
    if kind in ("fit", "learned"):
        return kind, *(reader.decode(each) for each in rest)
    if kind == "set":
        return kind, reader.parameters(rest[0])
    if kind == "unlearned":
        return kind, *rest
    numbers = (each if type(each) is float else reader.decode(each) for each in rest[1:])
    return kind, reader.query(rest[0]), *numbers


def _with_subclasses(cls: Any) -> list[Any]:
    return [cls, *(each for child in cls.__subclasses__() for each in _with_subclasses(child))]
