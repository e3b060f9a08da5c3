"""Export of the notebook of an experiment to CSV and Excel files."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from skgpb.lab.experiments import table
from skgpb.lab.experiments.answers import format_measurements
from skgpb.lab.experiments.entries import jsonable
from skgpb.lab.experiments.experiment import Experiment
from skgpb.lab.experiments.sides import Side
from skgpb.lab.experiments.texts import mark_as_text
from skgpb.utils.install import needs


def notebook_rows(experiment: Experiment) -> list[list[Any]]:
    """Return the header and a row for each query: numbers, texts and None."""
    status, sides, history = experiment.status(), experiment.sides, experiment.history()
    names = [side["name"] for side in status["sides"]]
    unit = f" ({status['unit']})" if status["unit"] else ""
    answer = (status["answer"] or "result") + unit
    while answer in names:
        answer = table.BOOK_PREFIX + answer
    measured = list(dict.fromkeys(name for entry in history for name in entry["measured"]))
    book = table.notebook_columns([*names, answer])
    taken = [*names, answer, *book.values()]
    words = table.measured_prefix(taken)
    header = [book[table.NUMBER], *names, answer, book[table.ERROR], book[table.STATUS]]
    unclear = {
        name for name in measured if name in taken or name.startswith((words, table.BOOK_PREFIX))
    }
    header += [words + name if name in unclear else name for name in measured]
    several = any(entry["measurements"] for entry in history)
    header += [book[table.MEASUREMENTS]] * several + [book[name] for name in table.WRITTEN]
    rows = [
        [
            entry["query"],
            *(
                _format_cell_value(side, entry["params"][side.name], status["regions"])
                for side in sides
            ),
            entry["answer"],
            entry["noise"],
            entry["status"],
            *(entry["measured"].get(name) for name in measured),
            *[format_measurements(entry["measurements"])] * several,
            *(entry[name] for name in table.WRITTEN),
        ]
        for entry in history
    ]
    return [header, *rows]


def _format_cell_value(side: Side, value: Any, with_regions: bool) -> Any:
    """Format the value of a side, or the values of a region, as a number or a text."""
    if with_regions and isinstance(value, str):
        return side.format_region([value])  # quoted if it looks like a list
    if value is None or isinstance(value, (bool, list)):  # as a text that Side.value parses
        levels = side.bounds if side.kind == "choice" else []
        same = [str(each) for each in levels if jsonable(each) == value]
        return same[0] if same or not isinstance(value, list) else side.format_region(value)
    return value


def as_csv(experiment: Experiment, *, decimal_comma: bool = False) -> bytes:
    """Return the notebook as separated values in UTF-8, with a byte-order mark for Excel.

    Parameters
    ----------
    experiment : Experiment
    decimal_comma : bool, default=False
        Whether numbers have decimal commas and semicolons separate them, as a German or French
        Excel opens them.

    Returns
    -------
    table : bytes
    """
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";" if decimal_comma else ",", lineterminator="\r\n")
    for row in notebook_rows(experiment):
        writer.writerow([_cell(value, decimal_comma) for value in row])
    return out.getvalue().encode("utf-8-sig")


def _cell(value: Any, decimal_comma: bool) -> Any:
    if isinstance(value, str):
        return mark_as_text(value, formulas=True)
    if isinstance(value, float):
        text = repr(value)
        if not decimal_comma:
            return text
        # Append a zero to 1,125, which may also be a number with a thousands separator.
        digits, e, exponent = text.replace(".", ",").partition("e")
        zero = "0" if len(digits.partition(",")[2]) == 3 else ""
        return f"{digits}{zero}{e}{exponent}"
    return value


def as_excel(experiment: Experiment) -> bytes:
    """Return the notebook as an Excel file.

    Parameters
    ----------
    experiment : Experiment

    Returns
    -------
    table : bytes

    Raises
    ------
    ImportError
        If openpyxl is not installed.
    """
    with needs("an Excel file", "openpyxl", "tables", ", or write .csv"):
        from openpyxl import Workbook
    book = Workbook()
    sheet = book.active
    sheet.title = "results"
    for i, row in enumerate(notebook_rows(experiment), 1):
        for j, value in enumerate(row, 1):
            cell = sheet.cell(i, j)
            cell.value = mark_as_text(value, formulas=False) if isinstance(value, str) else value
            if isinstance(value, str):
                cell.data_type = "s"  # openpyxl sets "f" for texts that begin like a formula
    sheet.freeze_panes = "A2"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


# Endings of files for export.
FORMATS = (".csv", ".xlsx")


def write_table(experiment: Experiment, path: str | Path, *, decimal_comma: bool = False) -> None:
    """Write the notebook of an experiment to a file.

    Parameters
    ----------
    experiment : Experiment
    path : path
        Ends in .csv or .xlsx.
    decimal_comma : bool, default=False
        As for :func:`as_csv`.

    Raises
    ------
    ValueError
        For another ending, and for decimal commas in .xlsx, which shows them as Excel is set.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise ValueError(f"the file must end in {' or '.join(FORMATS)}, got {str(path)!r}")
    if decimal_comma and ending != ".csv":
        raise ValueError(
            f"decimal commas are for .csv, got {str(path)!r}: Excel shows numbers of .xlsx with "
            "the decimal mark it is set to"
        )
    is_excel = ending == ".xlsx"
    data = as_excel(experiment) if is_excel else as_csv(experiment, decimal_comma=decimal_comma)
    Path(path).write_bytes(data)
