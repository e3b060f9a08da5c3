"""Every block of code of the guide and the doors runs, after those before it on its page."""

from __future__ import annotations

import ast
import builtins
import contextlib
import doctest
import io
import re
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DOC = Path(__file__).resolve().parents[1] / "doc"
if not DOC.is_dir():
    pytest.skip("the documentation is not available", allow_module_level=True)

BLOCK = re.compile(
    r"^\.\. code-block:: python\n((?:\n|   .*\n?)+)|((?:^>>> .*\n(?:^\S.*\n)*\n?)+)", re.M
)
PAGES = [
    page
    for folder in ("user_guide", "doors")
    for page in sorted((DOC / folder).glob("*.rst"))
    if ".. code-block:: python\n" in page.read_text(encoding="utf-8")
]
# Pages that take more than some seconds.
SLOW = {"advertising", "nothing_known", "scikit_learn"}
# What the blocks need that is not here: other machines, a database, and services that log runs.
ELSEWHERE = re.compile(
    r"^ *(?:from|import) (dask|mpi4py|ray|mlflow|wandb)\b|storage=\"postgresql", re.M
)


def blocks(page: Path) -> list[tuple[int, str]]:
    """Return the line and the code of every block of a page, examples of a session included."""
    text, found = page.read_text(encoding="utf-8"), []
    for match in BLOCK.finditer(text):
        code = textwrap.dedent(match[1] or "") or "".join(
            each.source for each in doctest.DocTestParser().get_examples(match[0])
        )
        found.append((text[: match.start()].count("\n") + 1, code))
    return found


def names_of(code: str) -> tuple[set[str], set[str]]:
    """Return the names that a block uses, and those that it defines."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    known = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    for node in nodes:
        if isinstance(node, (ast.alias, ast.FunctionDef, ast.ClassDef, ast.arg)):
            name = node.arg if isinstance(node, ast.arg) else node.name
            known.add(getattr(node, "asname", None) or name.partition(".")[0])
    return {node.id for node in names}, known


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if page.stem in SLOW else []) for page in PAGES],
    ids=lambda page: page.stem,
)
@pytest.mark.filterwarnings("ignore")
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    # The table of which the page says that the reader has it.
    places = np.column_stack([rng.uniform(-124, -114, 500), rng.uniform(32, 42, 500)])
    table = np.column_stack([places, rng.uniform(1e4, 5e5, 500)])
    names = "longitude,latitude,median_house_value"
    np.savetxt("california_housing.csv", table, delimiter=",", header=names, comments="")
    namespace: dict[str, Any] = {"__name__": "page"}
    for line, code in blocks(page):
        compiled = compile("\n" * line + code, str(page), "exec")
        if ELSEWHERE.search(code) or ("import optuna" in code and find_spec("optuna") is None):
            used, defined = names_of(code)
            assert used <= defined | namespace.keys() | vars(builtins).keys()
            namespace |= dict.fromkeys(defined - namespace.keys())
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compiled, namespace)


def test_all_blocks_are_found() -> None:
    for page in PAGES:
        n = page.read_text(encoding="utf-8").count("code-block:: python")
        assert sum(bool(match[1]) for match in BLOCK.finditer(page.read_text("utf-8"))) == n
    assert len(PAGES) >= 9
