"""Tables as people have them: each is read as it was meant, or refused in one clear line."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skgpb.cli import main

N = 64
RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.0, 100.0, N).round(2), RNG.uniform(0.0, 100.0, N).round(1)
# Highest where x is: groups of 2 rows are told from each other by far.
VALUE = (1000.0 + 3.0 * X + 0.01 * Y).round(3)


def text(separator=",", decimal=".", header=("x", "y", "value"), ends="\n", head="", rows=None):
    """The table as text."""

    def cell(number):
        return f"{number}".replace(".", decimal)

    lines = [separator.join(header)]
    lines += [separator.join(map(cell, row)) for row in rows or zip(X, Y, VALUE, strict=True)]
    return head + ends.join(lines) + ends


def zipped(*names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, text())
    return packed.getvalue()


def with_line(i, line):
    """The table with another line instead of row i."""
    lines = text().split("\n")
    lines[i + 1] = line
    return "\n".join(lines)


def with_column(name, cells):
    lines = text().strip().split("\n")
    added = [name, *map(str, cells)]
    return "\n".join(f"{line},{cell}" for line, cell in zip(lines, added, strict=True))


def grouped(decimal, groups):
    """Numbers above a thousand with their digits in groups."""
    swap = str.maketrans({",": groups, ".": decimal})
    rows = [(x, y, f"{v:,.3f}".translate(swap)) for x, y, v in zip(X, Y, VALUE, strict=True)]
    return (
        text(";", decimal).split("\n")[0]
        + "\n"
        + "\n".join(
            f"{x}".replace(".", decimal) + f";{y}".replace(".", decimal) + f";{v}"
            for x, y, v in rows
        )
    )


#: Tables that all hold the same numbers, and what must be said to read them.
SAME = {
    "plain": text(),
    "semicolons": text(";"),
    "semicolons and decimal commas": text(";", ","),
    "tabs": text("\t"),
    "tabs and decimal commas": text("\t", ","),
    "pipes": text("|"),
    "blanks": text(" "),
    "columns aligned by blanks": text("   ", head="  ").replace("\n", "  \n  "),
    "colons": (text(":"), "--separator", ":"),
    "separator by its name": (text("\t"), "--separator", "tab"),
    "Excel's first line": text("^", head="sep=^\n"),
    "commas within quotes": text('","', ",").replace("\n", '"\n"').join('""')[:-1],
    "decimal comma by option": (text(";", ","), "--decimal", "comma"),
    "German thousands": grouped(",", "."),
    "Swiss thousands": grouped(".", "'"),
    "French thousands": grouped(",", "\u202f"),
    "American thousands": grouped(".", ","),
    "UTF-8 with its mark": b"\xef\xbb\xbf" + text().encode(),
    "UTF-16 with its mark": text().encode("utf-16"),
    "UTF-16 big-endian": b"\xfe\xff" + text().encode("utf-16-be"),
    "UTF-16 without a mark": text().encode("utf-16-le"),
    "UTF-32": text().encode("utf-32"),
    "Latin-1": with_column("größe", ["süß"] * N).encode("latin-1"),
    "Latin-1 by option": (
        with_column("größe", range(N)).encode("latin-1"),
        "--encoding",
        "latin-1",
    ),
    "Windows line ends": text(ends="\r\n"),
    "old Macintosh line ends": text(ends="\r"),
    "no line end at the end": text().rstrip(),
    "blank lines": text(ends="\n\n"),
    "rows of nothing but separators": text() + ",,\n,,\n",
    "blanks around cells": text(" , "),
    "quoted names": text(header=('"x"', '"y"', '"value"')),
    "line ends within quotes": with_column("note", ['"a\nb"'] * N),
    "another column twice": with_column("note", ["a"] * N)
    .replace("note", "note,note", 1)
    .replace(",a\n", ",a,b\n")
    + ",b",
    "minus signs of typographers": text().replace(",", ",\u2212-"[0:1]),
    "gzip": gzip.compress(text().encode()),
    "bzip2": bz2.compress(text().encode()),
    "xz": lzma.compress(text().encode()),
    "zip": zipped("data/table.csv"),
    "zip of a Macintosh": zipped("table.csv", "__MACOSX/._table.csv"),
    "gzip of UTF-16 with semicolons": gzip.compress(text(";", ",").encode("utf-16")),
    "missing where nobody looks": with_column("note", [""] * N),
}
#: Tables that cannot be searched, and what is said of them.
REFUSED = {
    "empty": (b"", "is empty"),
    "blank lines alone": (b"\n\n \n", "is empty"),
    "a header alone": ("x,y,value\n", "has a header but no rows"),
    "one row": ("x,y,value\n1,2,3\n", "has 1 row, a search needs at least 4"),
    "no header": ("\n".join(text().split("\n")[1:]), "has no column 'x'; it has '63.7'"),
    "a name in capitals": (text().replace("x", "X", 1), "did you mean 'X'?"),
    "a column twice": (with_column("x", X), "has 2 columns named 'x'"),
    "ragged": (with_line(5, "1,2"), "row 5 (line 7) has 2 cells, the header has 3"),
    "a cell too many": (with_line(60, "1,2,3,4"), "row 60 (line 62) has 4 cells"),
    "missing": (with_line(7, "1,,3"), "row 7 (line 9), column 'y': the value is missing (--drop-"),
    "missing in words": (with_line(7, "1,#N/A,3"), "column 'y': the value is missing"),
    "a word among numbers": (
        with_line(9, "1,2,high"),
        "row 9 (line 11), column 'value': 'high'",
    ),
    "infinite": (with_line(3, "1,2,inf"), "row 3 (line 5), column 'value': 'inf' is not a finite"),
    "far too large": (with_line(3, "1,2,1e300"), "is larger than 1e+150"),
    "text as target": (
        text(rows=[(x, 1, "ab") for x in X]),
        "'value': 'ab' is not a number",
    ),
    "dates as target": (
        text(rows=[(x, 1, "2024-05-01") for x in X]),
        "column 'value': a date is not a number",
    ),
    "1,234": (
        text(";", rows=[(i, -i, "1,234") for i in range(N)]),
        "row 0 (line 2), column 'value': '1,234' may be 1.234 or 1234: say --decimal",
    ),
    "all constant": (text(rows=[(1, 2, 3)] * N), "every feature has one and the same value"),
    "features constant but for one row": (
        text(rows=[(1, 2, 3)] * (N - 1) + [(2, 2, 3)]),
        "no groups can be formed: cuts go between different values",
    ),
    "broken gzip": (gzip.compress(text().encode())[:-20], "is damaged"),
    "broken bzip2": (b"BZh9" + bytes(50), "is damaged"),
    "broken xz": (lzma.compress(text().encode())[:-9], "is damaged"),
    "broken zip": (zipped("table.csv")[:-9], "is damaged"),
    "zip of two tables": (zipped("a.csv", "b.csv"), "must hold one table, it has 2 files"),
    "zip of nothing": (zipped(), "must hold one table, it has 0 files"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(99), "is a picture, not a table"),
    "zeros": (bytes(999), "is not a text: it has bytes of zero"),
    "Zstandard": (b"\x28\xb5\x2f\xfd" + bytes(9), "is compressed by Zstandard"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "save it as .xlsx or CSV"),
    "the start of UTF-16": (b"\xff\xfex", "is not text in UTF-16"),
    "a quote that never ends": (
        with_line(3, '1,2,"3') + "9" * 200_000,
        "is not a table of separated values",
    ),
}


@pytest.fixture
def search(tmp_path, capsys):
    def search(content, *more, features=("x", "y"), target="value", budget="30"):
        """Search a table; the status, the result and what was printed."""
        path, output = tmp_path / "table.dat", tmp_path / "result.json"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        given = ["--features", *features, "--target", target, "--budget", budget]
        status = main(["search", str(path), *given, "--output", str(output), *map(str, more)])
        result = json.loads(output.read_text()) if status == 0 else None
        out, err = capsys.readouterr()
        return status, result, out if status == 0 else err

    return search


def is_one_line(error):
    return error.startswith("skgpb: error: ") and error.count("\n") == 1 and error.endswith("\n")


@pytest.mark.parametrize("kind", SAME)
def test_the_same_numbers_give_the_same_result(search, kind):
    content, *more = SAME[kind] if isinstance(SAME[kind], tuple) else (SAME[kind],)
    status, result, said = search(content, *more)
    assert status == 0, said
    highest = np.argsort(VALUE)[-result["n_members"] :]
    assert_array_equal(result["members"], np.sort(highest))
    assert result["true_average"] == pytest.approx(VALUE[highest].mean(), rel=1e-14)
    assert result["n_rows"] == N


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_searched_is_one_line(search, kind):
    content, says = REFUSED[kind]
    status, _, error = search(content)
    assert status == 2 and is_one_line(error)
    assert says in error
