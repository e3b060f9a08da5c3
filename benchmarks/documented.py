"""Rewrite the tables of the documentation from what the commands above them print.

    python -m benchmarks.documented [--check] [--reuse] [--output DIR] [NAME ...]

A page quotes a command between two comments, ``.. quoted:`` and ``.. end quoted`` in
reStructuredText, ``<!-- quoted: ... -->`` and ``<!-- end quoted -->`` in Markdown:

    .. quoted: benchmarks.papers.gpoo_fig5 --runs 30 --seed 0; tables=Length scale 0.01; rows=small

The text between them is replaced by the tables that the command prints. ``tables=``, ``rows=``
and ``columns=`` select those whose title, label or heading begins like one of a list, with ``|``
and no space between its members; "to the letter" takes all that is printed as it is. Each command
runs once, and what it prints is kept in ``benchmarks/printed``, under version control; ``--reuse``
takes what is there. NAMEs limit the commands to those that contain one of them. ``--check`` changes
nothing, says which pages differ, and ends with status 1 if one does. The test suite checks with
``--reuse``.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes

from benchmarks._common import DEFAULT_OUTPUT, write_csv

ROOT = Path(__file__).resolve().parents[1]
PRINTED = Path(__file__).resolve().parent / "printed"
BLOCK = re.compile(
    r"^(?P<start>(?P<rst>\.\. )?(?:<!-- )?quoted: (?P<quoted>[^\n]*?)(?: -->)?\n)"
    r"(?P<body>.*?)^(?P<end>(?:\.\. |<!-- )end quoted)",
    re.M | re.S,
)
VERBATIM = "to the letter"
TABLE = "diabetes.csv"


class Table(NamedTuple):
    """A table as ``format_table`` prints it."""

    title: str
    header: list[str]
    rows: list[list[str]]


class Quoted(NamedTuple):
    """A command, and what a page shows of what it prints."""

    command: str
    verbatim: bool
    tables: list[str]
    rows: list[str]
    columns: list[str]


def parse(text: str) -> Quoted:
    """Return what a comment asks for."""
    command, *options = (part.strip() for part in text.split(";"))
    chosen = dict(option.split("=", 1) for option in options if option != VERBATIM)
    unknown = chosen.keys() - {"tables", "rows", "columns"}
    if unknown:
        raise ValueError(f"{text!r}: unknown {', '.join(sorted(unknown))}")
    lists = (re.split(r"(?<! )\|(?! )", chosen.get(k, "")) for k in ("tables", "rows", "columns"))
    return Quoted(command, VERBATIM in options, *lists)


def read_tables(printed: str) -> list[Table]:
    """Find the tables: a title, a line of dashes, a heading, rows; columns are two spaces apart."""
    tables = []
    for block in re.split(r"\n\s*\n", printed):
        lines = block.splitlines()
        if len(lines) > 2 and set(lines[1]) == {"-"}:
            cells = [re.split(r" {2,}", line.strip()) for line in lines[2:]]
            tables.append(Table(lines[0], cells[0], cells[1:]))
    return tables


def select(table: Table, quoted: Quoted) -> Table:
    """Return the rows and columns that are asked for."""
    kept = [
        i
        for i, name in enumerate(table.header)
        if any(name == column or not column for column in quoted.columns)
    ]
    rows = [
        [row[0], *(row[1 + i] for i in kept)]
        for row in table.rows
        if any(row[0].startswith(label) for label in quoted.rows)
    ]
    return Table(table.title, [table.header[i] for i in kept], rows)


def as_rst(table: Table) -> str:
    """Render a table for Sphinx."""
    # A lone hyphen would begin a list.
    rows = [["\\", *table.header], *([c if c != "-" else "\\-" for c in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["=" * width for width in widths]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [rule, rows[0], rule, *rows[1:], rule]
    ]
    return "\n".join([f".. table:: {table.title}", "", *(f"   {line}" for line in lines)])


def as_markdown(table: Table) -> str:
    """Render a table for GitHub."""
    rows = [[table.title, *table.header], ["---"] * (1 + len(table.header)), *table.rows]
    rows = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def shown(printed: str, quoted: Quoted, rst: bool) -> str:
    """Return what stands between the comments."""
    if quoted.verbatim:
        lines = [f"$ python -m {quoted.command}", *printed.rstrip().splitlines()]
        if rst:
            lines = [".. code-block:: console", "", *(f"   {x}".rstrip() for x in lines)]
        else:
            lines = ["```console", *lines, "```"]
        return "\n".join(lines)
    tables = [
        select(table, quoted)
        for table in read_tables(printed)
        if any(table.title.startswith(title) for title in quoted.tables)
    ]
    if not tables or not all(table.rows and table.header for table in tables):
        raise ValueError(f"python -m {quoted.command} prints no such table, row or column")
    command = f"``python -m {quoted.command}``" if rst else f"`python -m {quoted.command}`"
    return "\n\n".join([f"{command}:", *map(as_rst if rst else as_markdown, tables)])


def write_table(path: Path) -> None:
    """Write scikit-learn's diabetes data, in its own units, for the command line to search."""
    data = load_diabetes(scaled=False)
    rows = np.column_stack([data.data, data.target]).tolist()
    write_csv(path, [*data.feature_names, "target"], rows)


def run(command: str, output: Path) -> str:
    """Return what a command prints; its files go to ``output``."""
    print(f"python -m {command}", flush=True)
    output.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", *command.split()]
    if command.startswith("benchmarks."):
        words += ["--output", "."]
    if TABLE in words:
        write_table(output / TABLE)
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        words,
        cwd=output,
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def kept(command: str) -> Path:
    """Return the file for what a command prints."""
    return PRINTED / (re.sub(r"\W+", "_", command) + ".txt")


def printed(command: str, output: Path, reuse: bool, check: bool) -> str:
    """Return what a command prints or has printed; keep it unless it is only to be checked."""
    if reuse:
        return kept(command).read_text(encoding="utf-8")
    text = run(command, output)
    if not check:
        PRINTED.mkdir(exist_ok=True)
        kept(command).write_text(text, encoding="utf-8")
    return text


def pages() -> list[Path]:
    """Return all pages that may quote commands."""
    found = [
        *ROOT.glob("*.md"),
        *(ROOT / "benchmarks").glob("*.md"),
        *(ROOT / "doc").rglob("*.rst"),
    ]
    built = (ROOT / "doc" / "_build", ROOT / "doc" / "gallery", ROOT / "doc" / "api" / "generated")
    return sorted(page for page in found if not any(page.is_relative_to(x) for x in built))


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the pages."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.documented", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("names", nargs="*", default=[""], help="parts of commands; all by default")
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--reuse", action="store_true", help="take what was printed and kept")
    parser.add_argument(
        "--output", type=Path, default=DEFAULT_OUTPUT / "documented", help="directory for files"
    )
    options = parser.parse_args(arguments)
    stale, texts = [], {}
    for page in pages():

        def replaced(block: re.Match) -> str:
            quoted = parse(block["quoted"])
            command = quoted.command
            if not any(name in command for name in options.names):
                return block[0]
            if command not in texts:
                texts[command] = printed(command, options.output, options.reuse, options.check)
            body = shown(texts[command], quoted, bool(block["rst"]))
            return f"{block['start']}\n{body}\n\n{block['end']}"

        before = page.read_text(encoding="utf-8")
        after = BLOCK.sub(replaced, before)
        if after != before:
            stale.append(page)
            print(f"{'differs' if options.check else 'written'}: {page.relative_to(ROOT)}")
            if not options.check:
                page.write_text(after, encoding="utf-8")
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
