"""Numbers of default behaviour stand in one file, each with what it does and what it is worth."""

from __future__ import annotations

import ast
import re
from itertools import takewhile
from pathlib import Path

import pytest

import skgpb
from skgpb import defaults

ROOT = Path(skgpb.__file__).parent
NAMES = [name for name in vars(defaults) if name.isupper()]
#: Rooms that are products around the library: what they say and draw is theirs.
PRODUCTS = ["lab", "plotting", "problems", "testing.py"]
#: What else a number at module level may be: whatever it is, the same is asked and said.
KINDS = re.compile(r"#:? (Accuracy|Format|Limit|Mathematics|Memory|Rounding|Speed): ")


def sources():
    left_out = [ROOT / each for each in PRODUCTS]
    for path in sorted(ROOT.rglob("*.py")):
        if not any(path.is_relative_to(each) for each in left_out):
            yield path, path.read_text(encoding="utf-8")


def is_number(node):
    """Whether an expression is made of numbers, or of NumPy's and math's functions of them."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        own = name.split(".")[0] in ("np", "math") or name in ("sqrt", "exp", "log")
        return own and any(map(is_number, node.args))
    parts = {ast.Tuple: "elts", ast.List: "elts", ast.Set: "elts", ast.Dict: "values"}
    if type(node) in parts:
        return any(map(is_number, getattr(node, parts[type(node)])))
    children = {ast.UnaryOp: ["operand"], ast.BinOp: ["left", "right"]}.get(type(node), [])
    return any(is_number(getattr(node, child)) for child in children)


def numbers_without_a_kind(text):
    """Names of numbers at module level whose comment does not say which kind they are."""
    lines, found = text.split("\n"), []
    for node in ast.parse(text).body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not is_number(node.value):
            continue
        # A comment holds for all that follows without a line between.
        above = lines[: node.lineno - 1]
        while above and above[-1] and not above[-1].startswith("#"):
            above.pop()
        block = list(takewhile(lambda line: line.startswith("#"), reversed(above)))
        if not block or not KINDS.match(block[-1]):
            found.append(ast.unparse(node).split(" = ")[0])
    return found


def reads(node):
    """Names of defaults that are read below a node of a syntax tree."""
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and ast.unparse(each.value) == "defaults"
    }


def reads_on_import(tree):
    """Names that are read outside of functions: at module level, in classes, as parameters."""
    found = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for part in [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]:
                found |= reads(part) if part is not None else set()
        elif isinstance(node, ast.ClassDef):
            found |= reads_on_import(node)
        else:
            found |= reads(node)
    return found


def test_no_number_of_default_behaviour_stands_elsewhere():
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in sources()
        if path.name != "defaults.py"
        for name in numbers_without_a_kind(text)
    }
    assert found == set(), "move these to skgpb/defaults.py, or say above them which kind they are"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BETA = 2.0", ["BETA"]),
        ("# beta.\nBETA = 2.0\n", ["BETA"]),
        ("# Rounding: two are one.\nSAME = 1e-9\nEQUAL = -1e-9\n\nBETA = [2, 3]\n", ["BETA"]),
        ("#: Memory: rows.\nROWS: int = 2**9\n# a share\nSHARE = {'a': 0.5}\n", ["SHARE"]),
        ("WEIGHTS = np.geomspace(1.0, 2.0, 3)\nNAME = 'x'\nOK = True\n", ["WEIGHTS"]),
        ("RANGES = {'n': [Interval(Integral, 1, None)]}\n", []),
    ],
)  # fmt: skip
def test_numbers_at_module_level_are_found(text, expected):
    assert numbers_without_a_kind(text) == expected


def test_every_default_has_one_line_that_says_what_it_does():
    lines = (ROOT / "defaults.py").read_text(encoding="utf-8").split("\n")
    where = {line.split(" = ")[0]: i for i, line in enumerate(lines) if re.match(r"[A-Z]", line)}
    assert set(NAMES) <= set(where)
    for name in NAMES:
        i = where[name]
        assert lines[i - 1].startswith("# ") and not lines[i - 2].startswith("# "), name


@pytest.mark.slow
def test_every_default_is_read_and_none_on_import():
    used = set()
    for path, text in sources():
        tree = ast.parse(text)
        used |= reads(tree)
        assert reads_on_import(tree) == set(), path.name
        # A copy of a value would not follow.
        assert "from skgpb.defaults import" not in text, path.name
    assert used == set(NAMES)


def test_every_default_can_be_switched_off():
    other_values = pytest.importorskip("benchmarks.ablate.other_values")
    assert list(other_values.OTHER) == NAMES
    for name, value in other_values.OTHER.items():
        usual = getattr(defaults, name)
        assert value != usual and (not isinstance(usual, tuple) or isinstance(value, tuple)), name


def test_reads_on_import_are_found():
    text = "X = defaults.A\ndef f(x=defaults.B): return defaults.C\nclass K:\n  x = defaults.D\n"
    assert reads_on_import(ast.parse(text)) == {"A", "B", "D"}
