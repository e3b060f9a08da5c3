"""Files of runs that were damaged, by accident or on purpose."""

import contextlib
import copy
import io
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from runs import (
    BOUNDS,
    document_of,
    failing_peak,
    lines_of,
    of_another_version,
    optimizer,
    peak,
    with_document,
    with_member,
    without_member,
)
from sklearn.gaussian_process.kernels import RBF

import skgpb.utils.persistence
from skgpb import (
    EIOptimizer,
    GPOOOptimizer,
)
from skgpb.exceptions import LoadError, ReplayWarning


@pytest.fixture
def saved(tmp_path):
    """A file of a run on a pool, whose queries refer to arrays."""
    path = tmp_path / "run"
    pool = np.random.default_rng(0).random((40, 2))
    run = optimizer(kernel=RBF(0.2), bounds=None, pool=pool, alpha=0.01)
    run.run(peak, 5)
    run.save(path)
    return path


def test_flipped_and_missing_bytes_end_in_one_error(saved):
    data, rng = saved.read_bytes(), np.random.default_rng(1)
    for _ in range(150):
        damaged = bytearray(data)
        for place in rng.integers(len(data), size=3):
            damaged[place] ^= int(rng.integers(1, 256))
        saved.write_bytes(damaged if rng.random() < 0.8 else data[: rng.integers(len(data))])
        # Some bytes, such as dates of members, mean nothing.
        with contextlib.suppress(LoadError):
            assert len(GPOOOptimizer.load(saved).history_) == 5


def _changed(*place, to):
    def change(document):
        for key in place[:-1]:
            document = document[key]
        document[place[-1]] = to

    return change


@pytest.mark.parametrize(
    "change",
    [
        _changed("events", 1, to=None),
        _changed("events", 1, to=["tell"]),
        _changed("events", 1, to=["throw", {}]),
        _changed("events", 0, 1, "query", to="Popen"),
        _changed("events", 0, 1, "arguments", to=[0, 0, None, None, None, None]),
        _changed("events", 1, 2, to=float("nan")),
        _changed("events", 1, 2, to={"float": "nan"}),
        _changed("events", 1, 2, to={"float": "inf"}),
        _changed("events", 1, 2, to={"scalar": "|V1000000000", "value": 1}),
        _changed("events", 1, 3, to=-1.0),
        _changed("parameters", "pool", to={"array": "nothing"}),
        _changed("parameters", "pool", to={"floats": [1.0], "shape": [10**15]}),
        _changed("parameters", "n_children", to="many"),
        _changed("parameters", "colour", to="red"),
        _changed("class", to=[]),
        _changed("version", to="new"),
        _changed("version", to=0),
        _changed("version", to=-1),
        _changed("version", to=True),
        _changed("version", to=1.0),
    ],
)
def test_documents_that_are_none_end_in_one_error(saved, change):
    with_document(saved, change)
    with pytest.raises(LoadError, match="cannot be loaded as a saved run"):
        GPOOOptimizer.load(saved)


@pytest.mark.parametrize("names", ["x", ["x"], ["x", "y", "z"], ["x", 1], [None, "y"], 5])
def test_names_that_do_not_fit_the_features_are_refused(names, tmp_path):
    path = tmp_path / "run"
    optimizer(bounds=[(0.0, 1.0)] * 2).fit([[0.1, 0.2], [0.3, 0.4]]).save(path)
    with_document(path, _changed("feature_names", to=names))
    with pytest.raises(LoadError, match="feature_names must be a list of 2"):
        GPOOOptimizer.load(path)


@pytest.mark.parametrize("text", [b"[" * 100_000, b"\xff", b'"\xc3\xa9"', b"1" * 10_000, b"\n"])
@pytest.mark.parametrize("name", ["run.json", "events.jsonl"])
def test_documents_that_are_no_json_end_in_one_error(saved, text, name):
    without_member(saved, name)
    with_member(saved, name, text)
    with pytest.raises(LoadError, match="cannot be loaded as a saved run"):
        GPOOOptimizer.load(saved)


@pytest.mark.parametrize("name", ["run.json", "events.jsonl"])
def test_a_file_without_one_of_its_parts_is_refused(saved, name):
    without_member(saved, name)
    with pytest.raises(LoadError, match="cannot be loaded as a saved run"):
        GPOOOptimizer.load(saved)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("center", {"float": "nan"}),
        ("scale", 0.0),
        ("theta", {"tuple": [{"float": "inf"}, 0.0]}),
        ("theta", {"floats": [0.0], "shape": [1]}),
        ("noise", -1.0),
        ("noise", "small"),
    ],
)
def test_learned_numbers_that_cannot_be_are_refused(tmp_path, key, value):
    run, path = optimizer(variation="kernel"), tmp_path / "run"
    run.run(peak, 6)
    run.save(path)

    def change(document):
        learned = [event[1]["dict"] for event in document["events"] if event[0] == "learned"]
        assert key in [pair[0] for pair in learned[-1]]
        learned[-1][:] = [[name, value if name == key else old] for name, old in learned[-1]]

    with_document(path, change)
    with pytest.raises(LoadError):
        GPOOOptimizer.load(path)


def test_only_what_the_document_names_is_read(saved):
    expected = GPOOOptimizer.load(saved).ask()
    with_member(saved, "array_99.npy", b"no array")
    with_member(saved, "other", b"something")
    assert GPOOOptimizer.load(saved).ask() == expected


def _header(shape):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return file.getvalue()


def test_bombs_are_refused_before_they_expand(saved, monkeypatch):
    document = document_of(saved)
    events = lines_of(document.pop("events"))
    large = bytes(3 * 2**20)
    monkeypatch.setattr(skgpb.utils.persistence, "LARGEST_ARRAYS", 2**20)
    monkeypatch.setattr(skgpb.utils.persistence, "LARGEST_DOCUMENT", 2**20)
    bombs = []
    for name, data in [
        ("large.npy", large),
        # A header that promises more than there is.
        ("large.npy", _header((10**12,)) + bytes(80)),
        ("large.npy", _header((0, 10**12)) + bytes(80)),
        ("run.json", large),
        ("events.jsonl", large),
    ]:
        document["parameters"]["pool"] = {"array": "large"}
        members = {"run.json": json.dumps(document), "events.jsonl": events, name: data}
        path = saved.with_name(f"bomb{len(bombs)}")
        bombs.append(path)
        for member, content in members.items():
            with_member(path, member, content)
    tracemalloc.start()
    for path in bombs:
        with pytest.raises(LoadError):
            GPOOOptimizer.load(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 2**20
    # So are many small values: each takes more memory than its text.
    monkeypatch.setattr(skgpb.utils.persistence, "LARGEST_NUMBER_OF_VALUES", 1000)
    many = {"run.json": b"{}", "events.jsonl": b""}
    for name in many:
        path = saved.with_name(f"many {name}")
        for member, content in {**many, name: b"[" + b"[]," * 2000 + b"0]"}.items():
            with_member(path, member, content)
        with pytest.raises(LoadError, match="larger than a file may hold"):
            GPOOOptimizer.load(path)


MEASURED = """
import resource, sys
from skgpb import GPOOOptimizer
from skgpb.exceptions import LoadError

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    GPOOOptimizer.load(sys.argv[1])
except LoadError:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units")
@pytest.mark.parametrize(
    ("where", "value"),
    [("events", "[]\n"), ("events", '["unlearned"]\n'), ("events", "[],"), ("parameters", "[],")],
)
def test_a_small_file_of_many_values_takes_little_memory(where, value, tmp_path):
    """As many values as a file may hold, which takes kilobytes."""
    path = tmp_path / "many"
    values = skgpb.utils.persistence.LARGEST_NUMBER_OF_VALUES // (
        value.count("[") + value.count(",")
    )
    many = value * min(values - 100, (skgpb.utils.persistence.LARGEST_DOCUMENT - 200) // len(value))
    if value.endswith(","):
        many = f"[{many}0]"
    bounds, events = (f'"bounds":{many}', "") if where == "parameters" else ("", many)
    text = f'{{"parameters":{{{bounds}}},"notes":{{}},"format":"skgpb run","version":1,'
    with_member(path, "run.json", text + '"class":"GPOOOptimizer","omitted":[]}')
    with_member(path, "events.jsonl", events)
    assert path.stat().st_size < 2**18
    found = subprocess.run(
        [sys.executable, "-c", MEASURED, path], check=True, capture_output=True, text=True
    )
    # The text may have 128 MB, and is decoded.
    assert float(found.stdout) < 280.0


def test_what_would_not_be_read_is_not_written(tmp_path, monkeypatch):
    run = optimizer(bounds=None, pool=np.random.default_rng(0).random((40, 2)))
    run.run(peak, 5)
    monkeypatch.setattr(skgpb.utils.persistence, "LARGEST_ARRAYS", 600)
    with pytest.raises(ValueError, match="omit"):
        run.save(tmp_path / "run")
    monkeypatch.setattr(skgpb.utils.persistence, "LARGEST_NUMBER_OF_VALUES", 100)
    with pytest.raises(ValueError, match="pickle it"):
        run.save(tmp_path / "run")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("limit", ["LARGEST_EVENT", "MOST_EVENTS", "LARGEST_REST"])
def test_a_part_that_is_too_large_is_refused_and_not_written(saved, limit, tmp_path, monkeypatch):
    run = GPOOOptimizer.load(saved)
    monkeypatch.setattr(skgpb.utils.persistence, limit, 9)
    with pytest.raises(LoadError, match="pass arrays for long lists of numbers"):
        GPOOOptimizer.load(saved)
    with pytest.raises(ValueError, match="pass arrays for long lists of numbers"):
        run.save(tmp_path / "other")
    assert os.listdir(tmp_path) == ["run"]


def test_methods_of_compression_that_save_does_not_use_are_refused(saved):
    pytest.importorskip("lzma")
    text = json.dumps(document_of(saved))
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("run.json", text)
    with pytest.raises(LoadError, match="compressed"):
        GPOOOptimizer.load(saved)


def test_queries_that_come_out_otherwise_are_taken_as_they_were(tmp_path):
    run, path = optimizer(feedback="center"), tmp_path / "run"
    run.run(peak, 12)
    run.save(path)
    X = np.linspace(0, 1, 9)[:, None]
    of_another_version(path, n_children=3)
    with pytest.warns(ReplayWarning, match="steps.*chose other queries than skgpb 0.0 did"):
        other = GPOOOptimizer.load(path)
    assert_array_equal(other.history_["reward"], run.history_["reward"])
    # With the same kernel the posterior is that of the answers, whoever chose the queries.
    np.testing.assert_allclose(other.predict(X), run.predict(X), atol=1e-10)
    other.tell(other.ask(), 0.3)


def test_seeds_that_nobody_chose_are_kept(tmp_path):
    for random_state in (None, np.random.RandomState(4)):
        run = EIOptimizer(bounds=BOUNDS, n_candidates=30, random_state=random_state)
        run.run(peak, 4)
        run.save(tmp_path / "run")
        resumed = EIOptimizer.load(tmp_path / "run")
        resumed.run(peak, 5)
        run.run(peak, 5)
        assert_array_equal(resumed.history_, run.history_)


def test_queries_over_arms_are_taken_as_they_were(tmp_path):
    arms, path = np.linspace(0, 1, 40)[:, None], tmp_path / "run"
    run = EIOptimizer(RBF(0.2), arms=arms, alpha=0.01, n_initial=3, random_state=0)
    run.run(failing_peak, 12, on_error="record")
    run.ask(2)
    run.save(path)
    for repeated in (False, True):
        loaded = cases.loaded(EIOptimizer, path, repeated)
        assert loaded.pending_ == run.pending_
        assert_array_equal(loaded.history_, run.history_)
        assert_array_equal(loaded.failed_, run.failed_)
        assert loaded.ask(4) == copy.deepcopy(run).ask(4)
        assert_allclose(loaded.predict(arms), run.predict(arms), rtol=0 if repeated else 1e-10)

    def other(document):
        for event in document["events"]:
            arguments = event[1].get("arguments") if event[0] != "learned" else None
            if arguments and arguments[0] == run.pending_[0].index:
                event[1]["arguments"][:2] = [39, {"floats": [1.0], "shape": [1]}]

    with_document(path, other)
    assert EIOptimizer.load(path).pending_[0].index == 39
    of_another_version(path)
    with pytest.warns(ReplayWarning, match="chose other queries"):
        assert EIOptimizer.load(path).pending_[0].index == 39
