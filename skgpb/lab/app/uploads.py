"""Tables in forms: pasted text, or an uploaded file, which may have any content."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from flask import request

from skgpb.lab.app.forms import Form, sentence
from skgpb.lab.datasets.sources import DAMAGED

# Limit: unpacked bytes of an Excel file, because a small file can unpack to more than the memory.
MOST_BYTES = 20_000_000
# Limit: bytes of an uploaded file.
MOST_UPLOADED = 1_000_000
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
LEAVE_OUT = "Mark below that such rows are left out, or change them"
PACKED_FILE = "the file is compressed: unpack it, and choose the table itself"
OTHER_FORMAT = "the file is an archive or in another format: save the table as .xlsx or CSV"
TOO_LONG = f"the file is too long: at most {MOST_UPLOADED:,} bytes are accepted"
# Names of the temporary file, which appear in messages.
UPLOADED, PASTED = "the file", "the table"


@contextmanager
def open_table(form: Form) -> Iterator[Path | None]:
    """Yield the path of the table in a form, pasted or uploaded; None if there is no table.

    Raises
    ------
    ValueError
        If the file is compressed, or larger than allowed, also after unpacking.
    """
    given = request.files.get("file")
    with TemporaryDirectory() as folder:
        if given is not None and given.filename:
            # Only the ending of the user's file name is used, for the format.
            ending = Path(given.filename).suffix.lower()
            known = ending if ending in (".csv", ".tsv", ".txt", ".xlsx") else ""
            table = Path(folder, f"{UPLOADED}{known}")
            given.save(table)
            check_unpacked(table)
            yield table
        elif form.text("data"):
            table = Path(folder, PASTED)
            table.write_text(form.text("data"), encoding="utf-8")
            yield table
        else:
            yield None


def check_unpacked(table: Path) -> None:
    """Raise ValueError if a file is larger than allowed, also unpacked, or compressed text."""
    if table.stat().st_size > MOST_UPLOADED:
        raise ValueError(TOO_LONG)
    with open(table, "rb") as file:
        head = file.read(8)
    if head.startswith(PACKED):
        raise ValueError(PACKED_FILE)
    if not zipfile.is_zipfile(table):
        return
    try:
        _check_archive(table)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"the file {DAMAGED}") from error


def _check_archive(table: Path) -> None:
    with zipfile.ZipFile(table) as archive:
        if "xl/workbook.xml" not in archive.namelist():
            raise ValueError(OTHER_FORMAT)
        if sum(each.file_size for each in archive.infolist()) > MOST_BYTES:
            raise ValueError(f"the Excel file has more than {MOST_BYTES // 1_000_000} MB in it")


def mark_table(form: Form, error: Exception, table: Path | None) -> None:
    """Add the error of a table to its field: the file, or the pasted text."""
    given = request.files.get("file")
    form.errors["file" if given and given.filename else "data"] = _about(error, table)


def _about(error: Exception, table: Path | None) -> str:
    """Return the error of a table as a sentence, without the name of its temporary file."""
    text = str(error)
    if table is not None:
        text = text.replace(str(table), PASTED if table.name == PASTED else UPLOADED)
    text = text.split(" (--skip-outside")[0]
    return sentence(f"{text}. {LEAVE_OUT}" if "cannot be taken" in text else text)
