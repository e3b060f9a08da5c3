"""Damaged files of runs: loading refuses them, or returns a run that goes on."""

from __future__ import annotations

import io
import json
import tempfile
import warnings
import zipfile
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.harness import fuzz_settings, patience, refusals
from fuzz.setups import LOOPS
from skgpb.exceptions import LoadError

#: Values of JSON where something else is expected.
WRONG = [
    None,
    True,
    -1,
    0,
    7,
    1e308,
    10**40,
    10**400,
    "",
    "x",
    [],
    {},
    [[]],
    [[[[]]]],
    float("nan"),
    float("inf"),
    {"float": "nan"},
    {"float": "inf"},
    {"float": "abc"},
    {"float": []},
    {"scalar": "|O", "value": 1},
    {"scalar": "<U9", "value": 1},
    {"scalar": "zz", "value": 1},
    {"scalar": "<f8", "value": {"float": "nan"}},
    {"tuple": 5},
    {"tuple": []},
    {"dict": [[1]]},
    {"dict": [[[], 1]]},
    {"floats": [1, 2], "shape": [3]},
    {"floats": [1, 2], "shape": [2]},
    {"floats": [], "shape": [10**15, 0]},
    {"floats": "a", "shape": []},
    {"floats": [float("nan")], "shape": [1]},
    {"array": "nothing"},
    {"array": 3},
    {"array": "array_0"},
    {"RandomState": {}},
    {"RandomState": 5},
    {"Generator": {}},
    {"Generator": {"bit_generator": "os"}},
    {"kernel": "RBF", "parameters": {"length_scale": "q"}},
    {"kernel": "RBF", "parameters": {"length_scale": {"float": "nan"}}},
    {"kernel": "RBF", "parameters": {"nothing": 1}},
    {"kernel": "RBF", "parameters": 5},
    {"kernel": "Kernel", "parameters": {}},
    {"kernel": "os", "parameters": {}},
    {"kernel": [], "parameters": {}},
    {"query": "Cell", "arguments": []},
    {"query": "Arm", "arguments": [1, 2, 3]},
    {"query": "Arm", "arguments": [10**30, {"floats": [0.5], "shape": [1]}, None]},
    {"query": "PointsQuery", "arguments": ["a"]},
    {"query": "PointsQuery", "arguments": [{"floats": [0.5, 0.5], "shape": [1, 2]}]},
    {"query": []},
    {"optimizer": "GPOOOptimizer", "parameters": {}},
    {"optimizer": "GPUCBOptimizer", "parameters": {"arms": [[0.0], [1.0]]}},
    {"optimizer": [], "parameters": {}},
    "ask",
    "tell",
    "fit",
    "learned",
    "fail",
]


@cache
def a_file(name):
    """A run with answers, failures, pending queries, and noise of its own."""
    setup = LOOPS[name]
    run = setup.new()
    if setup.n_columns == 2 and not name.startswith("campaigns"):
        run.fit([[0.1, 0.2], [0.3, 0.4]], [0.5, 0.75])
    for i in range(5):
        query = setup.ask(run)
        run.tell(query, setup.answer(query), 0.02 if i == 2 else None)
    run.tell(setup.ask(run), None)
    setup.ask(run, 2)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run"
        run.save(path, omit=setup.omit)
        return path.read_bytes()


@cache
def members(name):
    with zipfile.ZipFile(io.BytesIO(a_file(name))) as archive:
        return {each: archive.read(each) for each in archive.namelist()}


def archive_of(contents, *more):
    """Return a complete zip file with these members; names may be repeated."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")
        for name, data in (*contents.items(), *more):
            archive.writestr(name, data)
    return buffer.getvalue()


def flipped(draw, data, first=None):
    """Return the bytes with up to three changed, all among the first ``n`` if given."""
    data = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, min(len(data), first or len(data)) - 1))
        data[at] ^= draw(st.integers(1, 255))
    return bytes(data)


def places(value, path=()):
    """Paths to everything in a JSON value."""
    yield path
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


def changed(draw, document):
    """The document with one or two of its places left out, doubled, or holding another value."""
    for _ in range(draw(st.integers(1, 2))):
        *path, last = draw(st.sampled_from([path for path in places(document) if path]))
        parent = document
        for key in path:
            parent = parent[key]
        how = draw(st.sampled_from(["other", "other", "left out", "doubled", "moved"]))
        if how == "other":
            parent[last] = deepcopy(draw(st.sampled_from(WRONG)))
        elif how == "left out":
            del parent[last]
        elif isinstance(parent, list):
            parent.insert(last if how == "doubled" else 0, deepcopy(parent[last]))
        if not document:
            break
    return document


@st.composite
def damaged(draw, name):
    """Contents of a file, and what was done to them."""
    data, contents = a_file(name), members(name)
    how = draw(
        st.sampled_from(["flips", "end", "cut", "json", "json", "json", "array", "members", "text"])
    )
    if how == "flips":
        return how, flipped(draw, data)
    if how == "end":
        # The directory of the archive.
        return how, flipped(draw, data[::-1], 300)[::-1]
    if how == "cut":
        return how, data[: draw(st.integers(0, len(data) - 1))]
    if how == "text":
        which = draw(st.sampled_from(["run.json", "events.jsonl"]))
        return how, archive_of({**contents, which: flipped(draw, contents[which])})
    if how == "json":
        document = json.loads(contents["run.json"])
        document["events"] = [json.loads(line) for line in contents["events.jsonl"].splitlines()]
        document = changed(draw, document)
        events = document.pop("events", [])
        lines = map(json.dumps, events if isinstance(events, list) else [events])
        changes = {"run.json": json.dumps(document), "events.jsonl": "\n".join(lines)}
        return how, archive_of({**contents, **changes})
    if how == "array":
        arrays = [each for each in contents if each.endswith(".npy")]
        if arrays:
            which = draw(st.sampled_from(arrays))
            contents = {**contents, which: flipped(draw, contents[which], 200)}
        return how, archive_of(contents)
    left_out = draw(st.sampled_from(sorted(contents)))
    extra = draw(
        st.sampled_from(
            [
                ("../run.json", b"{}"),
                ("run.json", b"{}"),
                ("run.json", b"[" * 10**6),
                ("run.json", b'{"a": 1e999}'),
                ("run.json", bytes(10**8)),
                ("events.jsonl", b"[" * 10**6),
                ("events.jsonl", b"\n" * 10**8),
                ("array_0.npy", b"\x93NUMPY\x01\x00"),
                ("array_0.npy", bytes(10**8)),
                ("array_0.npy", npy_header((10**12,))),
                ("array_0.npy", npy_header((-1,))),
                ("array_0.npy", npy_header((2, 2), "|O")),
            ]
        )
    )
    return how, archive_of({k: v for k, v in contents.items() if k != left_out}, extra)


def npy_header(shape, descr="<f8"):
    """The beginning of an array that promises more than there is."""
    buffer = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + bytes(32)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", LOOPS)
def test_damaged_files_are_refused_or_go_on(name, tmp_path):
    setup = LOOPS[name]
    whole = tmp_path / "whole"
    whole.write_bytes(a_file(name))
    as_saved = setup.behaviour(setup.loaded(whole))

    @fuzz_settings(len(LOOPS))
    @given(damaged(name))
    def load(case):
        how, data = case
        path = tmp_path / "run"
        path.write_bytes(data)
        with patience(f"{name}: {how}"), refusals():
            try:
                run = setup.loaded(path)
            except LoadError:
                return
            if how in ("flips", "end", "cut"):
                assert setup.behaviour(run) == as_saved, "a damaged file was taken for a whole one"
            setup.saved(run)
            query = setup.ask(run)
            run.tell(query, setup.answer(query))
            setup.check(run)

    load()
