"""Names in docstrings exist: those in double backquotes, and those of parameters."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import skgpb

ROOT = Path(skgpb.__file__).parent
OWNERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
#: Names of other packages and of files, and patterns of names.
ELSEWHERE = {"predict_proba", "GaussianProcessRegressor", "NA", "time_", "name__parameter"}
ELSEWHERE |= {"reward_search", "base__", "", "name_0", "name_1"}
QUOTED = re.compile(r"``([A-Za-z_][\w.]*)(?:\(\))?``")
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=\n\n\S[^\n]*\n-+\n|\Z)", re.DOTALL | re.MULTILINE)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?$", re.MULTILINE)


@cache
def trees() -> dict[Path, ast.Module]:
    """Return the parsed files of the package."""
    paths = sorted(ROOT.rglob("*.py"))
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def docstrings(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        if isinstance(node, OWNERS) and (text := ast.get_docstring(node)):
            yield node, text


def words_of_code(tree: ast.AST) -> set[str]:
    """Return all identifiers of a module, and the words of its strings but docstrings."""
    texts = {id(node.body[0].value) for node, _ in docstrings(tree)}  # type: ignore[attr-defined]
    words: set[str] = set()
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            if isinstance(value := getattr(node, field, None), str):
                words.update(value.split("."))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            words.update(re.findall(r"\w+", node.value))
    return words


def all_words() -> set[str]:
    words = {*dir(builtins), *ELSEWHERE}
    for path, tree in trees().items():
        words |= words_of_code(tree) | {path.stem, *path.parts}
    for path in [path for kind in ("pyx", "pyi", "pxd") for path in ROOT.rglob(f"*.{kind}")]:
        code = re.sub(r'"""(?:.|\n)*?"""', "", path.read_text(encoding="utf-8"))
        words |= {path.stem, *re.findall(r"\w+", code)}
    return words


@pytest.mark.slow
def test_names_in_backquotes_exist():
    words, unknown = all_words(), []
    for path, tree in trees().items():
        for node, text in docstrings(tree):
            for name in QUOTED.findall(text):
                if not words.issuperset(name.split(".")):
                    where = f"{path.relative_to(ROOT)}, {getattr(node, 'name', 'module')}"
                    unknown.append(f"{where}: {name}")
    assert not unknown


@pytest.mark.slow
def test_documented_parameters_of_functions_exist():
    unknown = []
    for path, tree in trees().items():
        for node, text in docstrings(tree):
            if not isinstance(node, ast.FunctionDef) or not (section := SECTION.search(text)):
                continue
            every = [each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)]
            for entry in ENTRY.findall(section[1]):
                names = set(entry.replace("*", "").split(", ")) - set(every)
                unknown += [f"{path.relative_to(ROOT)}, {node.name}: {name}" for name in names]
    assert not unknown
