"""Imports go down the floors of the house, and never in a circle."""

from __future__ import annotations

import ast
import re
from functools import cache
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


@cache
def tree_of(path):
    """Return the parsed file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path):
    """Modules of skgpb that a file imports, anywhere in its text."""
    for node in ast.walk(tree_of(path)):
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


# Private names of the library that the lab may use, because no public name has the same result.
PRIVATE_MODULES = {
    "skgpb._core._sides",  # compiled, for the search for groups of rows
    "skgpb.optimizers._base",  # the base class, whose ``load`` opens the file of any search
}
PRIVATE_NAMES = {
    *("_events", "_repeat_events"),  # the notebook corrects and repeats a run
    *("_model", "_inputs", "_functionals_at", "_row_sets_of"),  # doubts about answers
    *("_better_predicted_query", "_comparison", "_gap_averages", "_n_initial"),  # sentences
    *("_goals_at", "_limits_at"),  # predictions of measurements
}


def private(name):
    return name.startswith("_") and not name.startswith("__")


def test_the_lab_uses_public_names_of_the_library():
    trees = {
        module: tree_of(path) for module, path in MODULES.items() if module.startswith("skgpb.lab")
    }
    nodes = [(module, node) for module, tree in trees.items() for node in ast.walk(tree)]
    of_lab = {"_subparsers"}  # of argparse
    for _, node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            of_lab.add(node.name)
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            of_lab.add(node.attr if isinstance(node, ast.Attribute) else node.id)
    for module, node in nodes:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("skgpb"):
            names = [*str(node.module).split("."), *(each.name for each in node.names)]
            allowed = str(node.module) in PRIVATE_MODULES
            assert allowed or not any(map(private, names)), f"{module} imports {names}"
        elif isinstance(node, ast.Attribute) and private(node.attr):
            known = node.attr in of_lab or node.attr in PRIVATE_NAMES
            assert known, f"{module}, line {node.lineno}: {node.attr}"


def test_the_ground_floor_knows_nothing_above_it():
    for path in (ROOT / "_core").glob("*.p*"):
        named = set(re.findall(r"\bskgpb\.(\w+)", path.read_text(encoding="utf-8")))
        assert named <= {"_core", "exceptions"}, path.name
