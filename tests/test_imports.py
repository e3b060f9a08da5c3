"""Imports go down the floors of the house, and never in a circle."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import skgpb

ROOT = Path(skgpb.__file__).parent
#: From the ground up; rooms of one floor do not import each other. A room that stands on several
#: floors is named with its parts.
FLOORS = [
    "defaults utils._for_mypy utils.names utils.discovery utils.distributions utils.install",
    "utils.expressions _version exceptions utils.documentation utils.typing utils.warnings",
    "_core utils.locks utils.progress utils.validation",
    "feedback guarantee utils.roots",
    "kernels",
    "acquisition domains surrogate utils.persistence",
    "optimizers",
    "model_selection testing",
    "problems",
    "integrations plotting",
    "lab.file_lock lab.tables",
    "lab.datasets",
    "lab.experiments lab.sql",
    "lab.app",
    "lab.cli",
    "__main__",
]
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms.split()}
DIVIDED = {room.partition(".")[0] for room in LEVEL if "." in room}


MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}


def imported(path):
    """Modules of skgpb that a file imports, anywhere in its text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
            names = [name if name in MODULES else str(node.module) for name in names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "skgpb")


def room_of(module):
    """Return the room of a module: its part of a divided package, or its package."""
    _, name, *parts = module.split(".")
    return f"{name}.{parts[0]}" if name in DIVIDED and parts else name


def test_imports_go_down_and_never_in_a_circle():
    below = {}
    for module, path in MODULES.items():
        if module.removeprefix("skgpb.") in ("skgpb", *DIVIDED):
            continue
        below[module], room = set(imported(path)), room_of(module)
        for target in below[module] - {"skgpb"}:
            other = room_of(target)
            assert other == room or LEVEL[other] < LEVEL[room], f"{module} imports {target}"
        root_is_allowed = room in ("lab.app", "lab.cli", "utils.warnings")
        assert "skgpb" not in below[module] or root_is_allowed, f"{module} imports the package root"
    assert len(below) > 50
    TopologicalSorter(below).prepare()  # raises CycleError


def test_the_library_imports_nothing_of_the_lab():
    for module, path in MODULES.items():
        if not module.startswith("skgpb.lab") and module != "skgpb.__main__":
            assert not [name for name in imported(path) if name.startswith("skgpb.lab")], module


def test_the_ground_floor_knows_nothing_above_it():
    for path in (ROOT / "_core").glob("*.p*"):
        named = set(re.findall(r"\bskgpb\.(\w+)", path.read_text(encoding="utf-8")))
        assert named <= {"_core", "exceptions"}, path.name
