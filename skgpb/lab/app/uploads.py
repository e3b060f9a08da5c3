"""Tables that come with a form: pasted text, or an uploaded file, which may be anything."""

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

# Limit of the bytes in an Excel file: a small file can unpack to more than the memory holds.
MOST_BYTES = 20_000_000
# Largest file that is taken, in bytes.
MOST_UPLOADED = 1_000_000
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
LEAVE_OUT = "Mark below that such rows are left out, or change them"
PACKED_FILE = "the file is compressed: unpack it, and choose the table itself"
OTHER_FORMAT = "the file is an archive or in another format: save the table as .xlsx or CSV"
TOO_LONG = f"the file is too long: at most {MOST_UPLOADED:,} bytes are accepted"
# Names of the table on disk, which messages use, and what its user calls it.
UPLOADED, PASTED = "the file", "the table"


@contextmanager
def table_of(form: Form) -> Iterator[Path | None]:
    """Yield the table that came with a form, pasted or uploaded, as a file; None without a table.

    Raises
    ------
    ValueError
        If the file is too long or compressed, or unpacks to more than is allowed.
    """
    given = request.files.get("file")
    with TemporaryDirectory() as folder:
        if given is not None and given.filename:
            # The name of the file decides only in which format it is read.
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
    """Raise ValueError if a file is or unpacks to more than is allowed, or is compressed text."""
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
    """Mark the field of a table that has errors: the file, or what was pasted."""
    given = request.files.get("file")
    form.errors["file" if given and given.filename else "data"] = _about(error, table)


def _about(error: Exception, table: Path | None) -> str:
    """Describe the errors of a table, without the name of its temporary file."""
    text = str(error)
    if table is not None:
        text = text.replace(str(table), PASTED if table.name == PASTED else UPLOADED)
    text = text.split(" (--skip-outside")[0]
    return sentence(f"{text}. {LEAVE_OUT}" if "cannot be taken" in text else text)
