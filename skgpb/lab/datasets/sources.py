"""Sources of the bytes of a table, their compression and their encoding."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from skgpb.lab.datasets.credentials import NOT_REPEATED, mask_addresses

HEAD = 2**16
PACKED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
# The second mark is that of an empty archive.
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
PARQUET, OLD_EXCEL = b"PAR1", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
UNREAD = {
    b"\x28\xb5\x2f\xfd": "is compressed by Zstandard: unpack it, or use gz, bz2, xz or zip",
    b"7z\xbc\xaf\x27\x1c": "is compressed by 7-Zip: unpack it, or use gz, bz2, xz or zip",
    b"%PDF": "is a PDF document, not a table",
    b"\x89PNG": "is a picture, not a table",
    OLD_EXCEL: "is an Excel file of before 2007, or has a password: save it without a password, as "
    ".xlsx or CSV",
}
MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
# JSON, XML and HTML, which some programs write to files named .csv or .xls.
MARKUP = re.compile(
    rb'(\xef\xbb\xbf)?\s*(\[\s*[\[{]|\{\s*"|<(!doctype|html|\?xml|table)\b)', re.IGNORECASE
)
STDIN = "-"
DAMAGED = "is damaged or incomplete: copy it again, or save it anew in the program it comes from"


class Source:
    """Bytes of a table, which can be read several times.

    Parameters
    ----------
    path : str or Path
        A file, or "-" for standard input. If it is not a regular file, such as a pipe, its bytes
        are read once and kept in memory.

    Attributes
    ----------
    name : str
        Name for messages.
    kind : str
        "text", "parquet" or "excel", by the first bytes.
    """

    def __init__(self, path: str | Path) -> None:
        self.name: str = "standard input" if str(path) == STDIN else str(path)
        if mask_addresses(self.name) != self.name and not os.path.exists(path):
            raise ValueError(f"there is no file of the name that was given {NOT_REPEATED}")
        self._path = path
        self._kept: IO[bytes] | None = None
        if str(path) == STDIN:
            self._kept = io.BytesIO(sys.stdin.buffer.read() if sys.stdin is not None else b"")
        elif not os.path.isfile(path):
            self._kept = io.BytesIO(Path(path).read_bytes())
        with self.raw() as raw:
            head = raw.read(HEAD)
        for mark, reason in UNREAD.items():
            if head.startswith(mark):
                raise ValueError(f"{self.name} {reason}")
        self._open: Any = next((PACKED[mark] for mark in PACKED if head.startswith(mark)), None)
        self.kind = "parquet" if head.startswith(PARQUET) else "text"
        if head.startswith(ZIP):
            self._look_into_zip()

    def _look_into_zip(self) -> None:
        with self.damage_errors(), self.raw() as raw, zipfile.ZipFile(raw) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
        if "xl/workbook.xml" in names:
            self.kind = "excel"
            return
        files = [name for name in names if not name.startswith(("__MACOSX/", "."))]
        if len(files) != 1:
            shown = ", ".join(map(repr, files[:5])) + (", ..." if len(files) > 5 else "")
            raise ValueError(
                f"{self.name} must hold one table, it has {len(files)} files"
                + (f": {shown}" if files else "")
                + "; save it as .xlsx or CSV"
            )
        self._open = lambda raw: zipfile.ZipFile(raw).open(files[0])  # noqa: SIM115

    @contextmanager
    def raw(self) -> Iterator[IO[bytes]]:
        """Open the stored bytes in a ``with`` block."""
        if self._kept is None:
            with open(self._path, "rb") as file:
                yield file
        else:
            self._kept.seek(0)
            yield self._kept

    @contextmanager
    def unpack(self) -> Iterator[IO[bytes]]:
        """Open the decompressed bytes in a ``with`` block."""
        unpacked = nullcontext if self._open is None else self._open
        with self.damage_errors(), self.raw() as raw, unpacked(raw) as file:
            yield file

    @contextmanager
    def text(self, encoding: str) -> Iterator[io.TextIOWrapper]:
        """Open the text in a ``with`` block, with unchanged line ends."""
        with self.unpack() as file:
            wrapper = io.TextIOWrapper(file, encoding=encoding, newline="")
            try:
                yield wrapper
            finally:
                wrapper.detach()  # the kept stream must not be closed

    @contextmanager
    def damage_errors(self) -> Iterator[None]:
        """Convert the errors of libraries for damaged archives into a ValueError."""
        try:
            yield
        except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
            raise ValueError(f"{self.name} {DAMAGED}") from error
        except (NotImplementedError, RuntimeError) as error:  # such as a password
            raise ValueError(f"{self.name} cannot be unpacked: {error}") from None
        except OSError as error:
            if error.errno is not None:
                raise
            raise ValueError(f"{self.name} {DAMAGED}") from error

    def encodings(self) -> list[str]:
        """Return the encodings to try, in this order.

        Raises
        ------
        ValueError
            If the bytes are not text.
        """
        with self.unpack() as file:
            head = file.read(HEAD)
        if MARKUP.match(head):
            raise ValueError(f"{self.name} is JSON or a page, not a table: save it as .xlsx or CSV")
        for mark, encoding in MARKS.items():
            if head.startswith(mark):
                return [encoding]
        even, odd = head[::2].count(0), head[1::2].count(0)
        if even or odd:
            # Latin letters in UTF-16 have a zero as every other byte.
            if min(even, odd) == 0 and max(even, odd) > len(head) // 4:
                return ["utf-16-be" if even else "utf-16-le"]
            raise ValueError(f"{self.name} is neither text nor Excel: save it as .xlsx or CSV")
        return ["utf-8", "cp1252", "latin-1"]
