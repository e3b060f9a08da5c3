"""The script that keeps the tables of the documentation."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir() or not (ROOT / "doc").is_dir():
    pytest.skip("the benchmarks are not part of this tree", allow_module_level=True)

PRINTED = """\
Mean (standard error) over 2 runs, seed 0

First table
-----------
                 t = 1          t = 20
A, S = 1  0.50 (0.125)    0.25 (0.125)
B         1.00 (0.125)               -

Second table
------------
   t = 1  t = 20
A   0.50    0.75

Written: somewhere.csv
"""


@pytest.fixture
def documented(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("benchmarks.documented")


@pytest.fixture
def page(documented: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make a page of its own the only one, and a command that prints the tables above."""
    monkeypatch.setattr(documented, "ROOT", tmp_path)
    monkeypatch.setattr(documented, "PRINTED", tmp_path / "printed")
    monkeypatch.setattr(documented, "run", lambda command, output: PRINTED)
    (tmp_path / "doc").mkdir()
    return tmp_path / "doc" / "page.rst"


def test_reads_tables_as_they_are_printed(documented: ModuleType) -> None:
    first, second = documented.read_tables(PRINTED)
    assert first.title == "First table" and second.title == "Second table"
    assert first.header == ["t = 1", "t = 20"]
    assert first.rows == [["A, S = 1", "0.50 (0.125)", "0.25 (0.125)"], ["B", "1.00 (0.125)", "-"]]


def test_rewrites_what_is_quoted_and_nothing_else(documented: ModuleType, page: Path) -> None:
    text = (
        "Before.\n\n.. quoted: benchmarks.some --seed 0; tables=First; rows=A; columns=t = 20\n\n"
        "stale\n\n.. end quoted\n\nAfter.\n"
    )
    page.write_text(text)
    assert documented.main(["--check"]) == 1 and page.read_text() == text
    assert documented.main([]) == 0
    assert documented.main(["--check"]) == 0
    lines = page.read_text().splitlines()
    assert lines[:3] == text.splitlines()[:3] and lines[-3:] == [".. end quoted", "", "After."]
    assert [line.split() for line in lines[-8:-4]] == [
        ["\\", "t", "=", "20"],
        ["========", "============"],
        ["A,", "S", "=", "1", "0.25", "(0.125)"],
        ["========", "============"],
    ]
    assert "stale" not in lines and "0.50" not in page.read_text()


def test_a_missing_number_is_not_the_bullet_of_a_list(documented: ModuleType) -> None:
    table = documented.Table("Title", ["share"], [["learned", "-"], ["given", "-0.1"]])
    lines = [line.split() for line in documented.as_rst(table).splitlines()]
    assert ["learned", "\\-"] in lines and ["given", "-0.1"] in lines
    assert documented.as_markdown(table).count("| - |") == 1


def test_titles_may_hold_bars(documented: ModuleType, page: Path, monkeypatch) -> None:
    printed = PRINTED.replace("First table", "p(x | a)").replace("-----------\n ", "--------\n ")
    monkeypatch.setattr(documented, "run", lambda command, output: printed)
    page = page.parents[1] / "page.md"
    page.write_text("<!-- quoted: benchmarks.some; tables=p(x | a)|Third -->\n\n<!-- end quoted")
    documented.main([])
    assert "| p(x \\| a) | t = 1 | t = 20 |" in page.read_text()
    assert "Second" not in page.read_text()


def test_other_commands_are_left_alone(documented: ModuleType, page: Path) -> None:
    page.write_text(".. quoted: benchmarks.some\n\nstale\n\n.. end quoted\n")
    assert documented.main(["other", "--check"]) == 0
    assert documented.main(["some", "--check"]) == 1


def test_output_to_the_letter(documented: ModuleType, page: Path) -> None:
    page.write_text(".. quoted: benchmarks.some; to the letter\n\n.. end quoted\n")
    documented.main([])
    text = page.read_text()
    assert "   $ python -m benchmarks.some\n   Mean (standard error) over 2 runs" in text
    assert "   A, S = 1  0.50 (0.125)    0.25 (0.125)\n" in text


@pytest.mark.parametrize("choice", ["tables=Third", "rows=C", "columns=t = 2", "row=A"])
def test_what_is_not_printed_cannot_be_quoted(
    documented: ModuleType, page: Path, choice: str
) -> None:
    page.write_text(f".. quoted: benchmarks.some; {choice}\n\n.. end quoted\n")
    with pytest.raises(ValueError, match=r"prints no such|unknown row"):
        documented.main([])


def test_pages_quote_commands_that_exist_with_their_seed(documented: ModuleType) -> None:
    blocks = [
        (page, block)
        for page in documented.pages()
        for block in documented.BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]
    assert len(blocks) >= 5
    for page, block in blocks:
        quoted = documented.parse(block["quoted"])
        module, *options = shlex.split(quoted.command)
        assert importlib.util.find_spec(module) is not None
        assert "--seed" in options, f"{page}: {quoted.command}"
        assert f"python -m {quoted.command}" in block["body"], page


def test_each_command_runs_once_and_is_kept(
    documented: ModuleType, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def run(command: str, output: Path) -> str:
        calls.append(command)
        return PRINTED

    monkeypatch.setattr(documented, "run", run)
    page.write_text(2 * ".. quoted: benchmarks.some\n\n.. end quoted\n\n")
    assert documented.main(["--check"]) == 1 and not documented.PRINTED.exists()
    documented.main([])
    assert calls == ["benchmarks.some"] * 2
    assert documented.main(["--check", "--reuse"]) == 0 and len(calls) == 2
    documented.kept("benchmarks.some").write_text(PRINTED.replace("0.75", "0.76"))
    assert documented.main(["--check", "--reuse"]) == 1


def test_pages_show_what_was_printed(documented: ModuleType) -> None:
    assert documented.main(["--check", "--reuse"]) == 0
    quoted = {
        documented.kept(documented.parse(block["quoted"]).command)
        for page in documented.pages()
        for block in documented.BLOCK.finditer(page.read_text(encoding="utf-8"))
    }
    assert quoted == set(documented.PRINTED.iterdir())


def test_no_table_of_estimates_is_pasted(documented: ModuleType) -> None:
    # "0.50 (0.125)" and "0.50 ± 0.125" in a row of a table; machines' times have no such error.
    # One page records what was measured when decisions were made, of alternatives that are gone.
    row = re.compile(r"^(?:\||\s*(?:\* )?- |\S.* {2,}).*\d (?:\(\d+(?:\.\d+)?\)|± \d).*$", re.M)
    pasted = {
        page.name: row.findall(documented.BLOCK.sub("", page.read_text(encoding="utf-8")))
        for page in documented.pages()
        if page.name != "tried.rst"
    }
    assert {name: rows for name, rows in pasted.items() if rows} == {}
