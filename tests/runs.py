"""Runs that tests put into files, and what is in these."""

import json
import zipfile

import numpy as np
import pytest

from skgpb import EIOptimizer, GPOOOptimizer
from skgpb.exceptions import EvaluationWarning

BOUNDS = [(0.0, 1.0)]


def peak(query):
    """A noisy objective whose noise depends on the query only: the same in any process."""
    x = float(np.asarray(query).mean())
    return float(np.sin(7.0 * x) + 0.1 * np.sin(1e4 * x))


def failing_peak(query):
    if 0.4 < float(np.asarray(query).mean()) < 0.5:
        raise ArithmeticError("there is a hole")
    return peak(query)


def parallel_history():
    """Return the answers, failures included, told in batches of two with any joblib backend."""
    run = EIOptimizer(bounds=BOUNDS, n_candidates=40, random_state=0)
    with pytest.warns(EvaluationWarning):
        run.run(failing_peak, 20, n_jobs=2)
    return run.history_.tolist() + run.failed_.tolist()


def optimizer(**parameters):
    return GPOOOptimizer(
        **{"bounds": BOUNDS, "variation": (3.0, 0.6), "random_state": 0} | parameters
    )


def document_of(path):
    """What a file holds beside arrays, with its events."""
    with zipfile.ZipFile(path) as archive:
        events = [json.loads(line) for line in archive.read("events.jsonl").splitlines()]
        return json.loads(archive.read("run.json")) | {"events": events}


def lines_of(events):
    return "".join(json.dumps(event) + "\n" for event in events)


def with_document(path, change, name="run.json"):
    """Rewrite the JSON of a member of a file, or the document of a run with its events."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = document_of(path) if name == "run.json" else json.loads(members[name])
    change(document)
    if name == "run.json":
        members["events.jsonl"] = lines_of(document.pop("events"))
    members[name] = json.dumps(document)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def of_another_version(path, **parameters):
    """Let a file be that of another version, whose run had other parameters."""

    def change(document):
        document["skgpb"] = "0.0"
        document["parameters"] |= parameters

    with_document(path, change)


def without_member(path, name):
    """Take a member out of a file."""
    with zipfile.ZipFile(path) as archive:
        members = {each: archive.read(each) for each in archive.namelist() if each != name}
    with zipfile.ZipFile(path, "w") as archive:
        for each, data in members.items():
            archive.writestr(each, data)


def with_member(path, name, data, **options):
    """Add a member to a file."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, data, zipfile.ZIP_DEFLATED, **options)
