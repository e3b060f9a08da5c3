"""Cells as people write them: each is read as it is meant, or refused with a way out."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skgpb.lab.datasets import frame_table
from skgpb.lab.datasets.format import TableError, TableFormat
from skgpb.lab.datasets.table import TableFile

pytest.importorskip("pandas")


@pytest.fixture
def column(tmp_path):
    def column(*cells, **options):
        """Read a column with some cells beside a column of numbers."""
        path = tmp_path / "t.csv"
        rows = [f'{i},"{cell}"\n' for i, cell in enumerate(cells)]
        path.write_text("i,x\n" + "".join(rows), encoding="utf-8")
        return TableFile(path).read(["x"], **options)[0]

    return column


# -- units ---------------------------------------------------------------------------------------

UNITS = {
    "C": ("20 C", "30 C", "40C"),
    "°C": ("20 °C", "30 °C", "40°C"),
    "mm": ("20 mm", "30mm", " 40  mm "),
    "m2": ("20 m2", "30 m2", "40m2"),
    "mg/m³": ("20 mg/m³", "30 mg/m³", "40 mg/m³"),
    "EUR": ("20 EUR", "30 EUR", "40.0 EUR"),
    "%": ("20%", "30 %", "4e1%"),
    "seconds": ("0:00:20", "00:00:30", "00:00:40"),
}


@pytest.mark.parametrize("unit", UNITS)
def test_numbers_are_read_with_their_unit(column, unit):
    found = column(*UNITS[unit])
    assert found.kind == "numbers" and found.unit == unit
    assert_array_equal(found.values, [20.0, 30.0, 40.0])


def test_a_decimal_comma_and_grouped_digits_may_have_a_unit(column):
    assert_array_equal(column("1,5 mm", "2,25 mm", "1.200,0 mm").values, [1.5, 2.25, 1200.0])


def test_durations_are_seconds(column):
    found = column("02:09:19", "1 day, 0:00:01", "2 days 00:00:00.5")
    assert_array_equal(found.values, [7759.0, 86401.0, 172800.5])


def test_a_number_in_another_unit_than_most_is_named(column):
    with pytest.raises(ValueError, match="'68 F' is not in C, as most others of the column"):
        column("20 C", "21 C", "68 F")
    with pytest.raises(ValueError, match="'22' is not in C"):
        column("20 C", "21 C", "22")
    with pytest.raises(ValueError, match="'68 F' has a unit, unlike most others"):
        column("20", "21", "68 F")


def test_texts_with_numbers_are_texts(column):
    for cells in (
        ("500 mg", "1 g", "2 kg"),
        ("1A", "2B", "3C"),
        ("1st", "2nd", "3rd"),
        ("0x1F", "0x2E", "0x3D"),
        ("2020Q1", "2020Q2", "2020Q4"),
        ("1-5", "6-10", "11-15"),
        ("14.7 nan", "15.3 nan", "16.1 nan"),
    ):
        assert column(*cells).kind == "texts"


# -- limits of detection -------------------------------------------------------------------------


def test_a_limit_counts_as_its_number_and_is_remembered(column):
    found = column("<0.5", "1.5", "> 100", "≤0.25", "7")
    assert found.kind == "numbers"
    assert_array_equal(found.values, [0.5, 1.5, 100.0, 0.25, 7.0])
    assert found.limits == {0: "<0.5", 2: "> 100", 3: "≤0.25"}
    assert found.select_rows(np.array([0, 1])).limits == {}


def test_classes_are_no_limits(column):
    assert column("<=50K", ">50K", "<=50K").labels == ("<=50K", ">50K")
    assert column("<18", ">65", "<18").kind == "texts"


def test_not_detected_is_never_missing(column):
    for text in ("n.d.", "ND", "n/d", "BDL", "< LOD", "<LOQ"):
        with pytest.raises(ValueError, match="may be not determined or not detected: leave it"):
            column("1", text, "3")


# -- dates, long numbers -------------------------------------------------------------------------


def test_months_are_their_first_day(column):
    days = np.array(["2021-05-01", "2021-11-01", "2022-01-01"], "datetime64[D]").astype(float)
    for cells in (
        ("2021-05", "2021-11", "2022-01"),
        ("5/2021", "11/2021", "01/2022"),
        ("May-2021", "November 2021", "Jan-2022"),
    ):
        found = column(*cells)
        assert found.kind == "dates"
        assert_array_equal(found.values, days)


def test_a_month_without_a_century_is_asked_about(column):
    with pytest.raises(TableError, match="looks like a date, but it is not clear which") as error:
        column("May-21", "Jun-21", "Jul-21")
    assert "--dates" in error.value.option


def test_codes_are_no_months(column):
    assert column("4711-05", "4712-06", "4713-07").kind == "texts"
    assert column("2021-13", "2021-14", "2021-15").kind == "texts"


def test_a_number_of_many_digits_is_too_large(column):
    with pytest.raises(ValueError, match="is not a finite number"):
        column("1", "9" * 5000, "3")


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_lines", [2, 3, 4])
def test_a_header_of_several_lines_is_found(tmp_path, n_lines):
    path = tmp_path / "t.csv"
    header = [["oven", "oven"], ["heat", "time"], ["mean", "mean"], ["C", "s"]][:n_lines]
    rows = [*header, *([str(i), str(2 * i)] for i in range(9))]
    path.write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")
    names = [" ".join(dict.fromkeys(cells)) for cells in zip(*header, strict=True)]
    with pytest.raises(TableError, match=f"a header of {n_lines} lines") as error:
        TableFile(path).read(names)
    assert error.value.option == f"--header {n_lines}"
    first, _ = TableFile(path, TableFormat(header=n_lines)).read(names)
    assert_array_equal(first.values, range(9))


def test_a_header_longer_than_a_sample_is_read(tmp_path):
    path, n = tmp_path / "t.csv", 20_000
    names = ",".join(f"z{i}" for i in range(n))
    path.write_text(f"x,{names}\n" + ("7" + ",1" * n + "\n") * 2, encoding="utf-8")
    assert_array_equal(TableFile(path).read(["x"])[0].values, [7, 7])


def test_warnings_of_the_excel_reader_are_not_shown(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    path, cells_of = tmp_path / "t.xlsx", frame_table._read_cells
    book = openpyxl.Workbook()
    for row in (["x"], [1], [2]):
        book.active.append(row)
    book.save(path)

    def warning(sheet):
        said = "Data Validation extension is not supported and will be removed"
        warnings.warn_explicit(said, UserWarning, "_reader.py", 1, "openpyxl.worksheet._reader")
        return cells_of(sheet)

    monkeypatch.setattr(frame_table, "_read_cells", warning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(TableFile(path).read(["x"])[0].values, [1, 2])
