"""Excel files whose cells are far from each other, however that is written in them."""

import io
import re
import zipfile

import numpy as np
import pytest

from skgpb.lab.datasets import frame_table
from skgpb.lab.datasets.format import TableFormat
from skgpb.lab.datasets.table import TableFile

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("pandas")

FAR = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
# The same far cell in other spellings.
SPELLINGS = {
    "as Excel": lambda sheet: sheet,
    "blanks": lambda sheet: sheet.replace('r="', 'r = "'),
    "single quotes": lambda sheet: sheet.replace('"', "'"),
    "character reference": lambda sheet: sheet.replace("XFD", "&#88;FD"),
    "entity": lambda sheet: '<!DOCTYPE x [<!ENTITY e "XFD">]>' + sheet.replace("XFD", "&e;"),
    "UTF-16": lambda sheet: sheet.encode("utf-16"),
    "dimension": lambda sheet: sheet.replace('ref="A1:B3"', 'ref="A1:XFD1048576"'),
}


def packed(path, change, folder="xl/worksheets"):
    """Write a book of two columns and three rows, with a change to the text of its sheet."""
    book, raw = openpyxl.Workbook(), io.BytesIO()
    for row in (["x", "y"], [0.5, 1.0], [0.25, 2.0]):
        book.active.append(row)
    book.save(raw)
    with zipfile.ZipFile(raw) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("sheet1.xml"):
                data = change(data.decode().partition("?>")[2] or data.decode())
            elif name.endswith((".rels", "Types].xml")):
                data = data.replace(b"/xl/worksheets", f"/{folder}".encode())
            new.writestr(name.replace("xl/worksheets", folder), data)
    return path


def with_rows(rows):
    return lambda sheet: sheet.replace("</sheetData>", f"{rows}</sheetData>")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_far_cell_takes_no_memory(tmp_path, monkeypatch, spelling):
    row = "1048576" if spelling == "as Excel" else "100000"  # which is faster

    def change(sheet):
        return SPELLINGS[spelling](with_rows(FAR.replace("1048576", row))(sheet))

    folder = "xl/elsewhere" if spelling == "as Excel" else "xl/worksheets"
    table = TableFile(packed(tmp_path / "t.xlsx", change, folder))
    monkeypatch.setattr(frame_table, "MOST_CELLS", 100_000)  # of 17,179,869,184
    x, y = table.read(["x", "y"])
    assert x.values.tolist()[:2] == [0.5, 0.25] and np.isnan(x.values[2])
    assert y.values.tolist()[:2] == [1.0, 2.0]
    assert table.place(2) == f"row {row}"


@pytest.mark.parametrize(
    "rows",
    [
        "".join(f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(4, 20)),
        "".join(f'<row r="{i}"><c r="XFD{i}" s="1"/></row>' for i in range(4, 20)),
        '<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>',
        '<row r="1001"><c><v>1</v></c></row>',
    ],
    ids=["many far cells", "colours", "no such row", "one row more"],
)
def test_tables_that_span_too_much_are_refused(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(frame_table, "MOST_CELLS", 200_000)
    monkeypatch.setattr(frame_table, "MOST_READ", 200_000)
    monkeypatch.setattr(frame_table, "MOST_ROWS", 1000)
    table = TableFile(packed(tmp_path / "t.xlsx", with_rows(rows)))
    with pytest.raises(ValueError, match=r"t\.xlsx spans more than 1,000 rows or 200,000 cell"):
        table.read(["x", "y"])


def test_cells_are_read_as_they_are(tmp_path):
    book = openpyxl.Workbook()
    book.create_sheet("other")
    cells = [
        [None, None, None, None, None, None],
        [None, "n", "share", "kind", "error", "yes"],
        [None, 1, 0.5, "A", "#DIV/0!", True],
        [None, None, None, None, None, None],
        [None, 2.0, 3, 7, 2, False],
    ]
    for row in cells:
        book["Sheet"].append(row)
    book["Sheet"]["H9"].fill = openpyxl.styles.PatternFill("solid", "ff0000")
    book.save(tmp_path / "t.xlsx")
    table = TableFile(tmp_path / "t.xlsx", TableFormat(sheet="Sheet"))
    assert table.names([]) == ["", "n", "share", "kind", "error", "yes"]
    n, share, kind, error, yes = table.read(["n", "share", "kind", "error", "yes"], ["kind"])
    assert (n.values.tolist(), share.values.tolist()) == ([1.0, 2.0], [0.5, 3.0])
    assert (kind.labels, yes.values.tolist()) == (("7", "A"), [1.0, 0.0])
    assert np.isnan(error.values[0]) and error.values[1] == 2.0
    assert [table.place(i) for i in range(2)] == ["row 3", "row 5"]
    table.copy_rows([1], tmp_path / "copy.csv")
    lines = (tmp_path / "copy.csv").read_text().splitlines()
    assert lines[1].split(",")[1:] == ["2", "3", "7", "2", "False"]
    with pytest.raises(ValueError, match=re.escape("say --sheet, one of 'Sheet', 'other'")):
        TableFile(tmp_path / "t.xlsx").read(["n"])
    with pytest.raises(ValueError, match="is empty"):
        TableFile(tmp_path / "t.xlsx", TableFormat(sheet="other")).read(["n"])
