"""Imports go down the floors of the house, and never in a circle."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import skgpb

ROOT = Path(skgpb.__file__).parent
#: From the ground up; rooms of one floor do not know each other.
FLOORS = [
    "_for_mypy _names defaults",
    "_distributions _documentation _install _typing _version _warnings exceptions",
    "_core file_lock locks progress utils",
    "feedback guarantee roots",
    "kernels",
    "domains acquisition surrogate persistence tables",
    "optimizers",
    "datasets inspection metrics model_selection objectives testing",
    "experiments integrations plotting problems",
    "app",
    "cli",
    "__main__",
]
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms.split()}


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


def test_imports_go_down_and_never_in_a_circle():
    below = {}
    for module, path in MODULES.items():
        if module == "skgpb":
            continue
        below[module], room = set(imported(path)), module.split(".")[1]
        for target in below[module] - {"skgpb"}:
            other = target.split(".")[1]
            assert other == room or LEVEL[other] < LEVEL[room], f"{module} imports {target}"
        assert "skgpb" not in below[module] or room == "cli", f"{module} imports the package root"
    assert len(below) > 50
    TopologicalSorter(below).prepare()  # raises CycleError


def test_the_ground_floor_knows_nothing_above_it():
    for path in (ROOT / "_core").glob("*.p*"):
        named = set(re.findall(r"\bskgpb\.(\w+)", path.read_text(encoding="utf-8")))
        assert named <= {"_core", "exceptions"}, path.name
