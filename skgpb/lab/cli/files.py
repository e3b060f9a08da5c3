"""Files that a command writes: checks before it starts, and writing."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from skgpb.lab.cli.arguments import UsageError
from skgpb.utils.install import needs

Writer = Callable[[str], Any]
#: First bytes of the file of a ledger.
LEDGER = b'{"format": "skgpb privacy ledger"'


def check_outputs(named: Mapping[str, str | None], table: str | None = None) -> None:
    """Raise a UsageError if results cannot be written, before any budget is spent.

    ``named`` has the names of the files by options, ``table`` is the name of the file to read.
    """
    owners = {} if table is None else {_identity(table): "the table"}
    for option, name in named.items():
        if name is None:
            continue
        path = Path(name)
        identity = _identity(name)
        if identity in owners:
            raise UsageError(f"{option} {name} would overwrite {owners[identity]}")
        owners[identity] = option
        reason = _obstacle(path) or (_valuable_content(path) if option != "--ledger" else None)
        if reason:
            raise UsageError(f"cannot write {option} {name}: {reason}")


def _identity(name: str) -> Any:
    """Return an identity of a file that is the same for all its names."""
    try:
        status = os.stat(name)
    except OSError:
        return os.path.realpath(name)
    return status.st_dev, status.st_ino


def _valuable_content(path: Path) -> str | None:
    """Return a description of content that cannot be computed again; None without such content."""
    if path.is_file():
        with suppress(OSError, zipfile.BadZipFile), open(path, "rb") as file:
            if file.read(len(LEDGER)) == LEDGER:
                return "it holds a privacy ledger"
            if zipfile.is_zipfile(file) and "run.json" in zipfile.ZipFile(file).namelist():
                return "it holds a saved run"
    return None


def _obstacle(path: Path) -> str | None:
    """Return the reason why a file cannot be written; None if it can."""
    there = path
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            return "it is a directory"
    except FileNotFoundError:
        there = path.parent
        if not there.is_dir():
            return f"there is no folder {there}"
    except OSError as error:  # such as a name that is too long
        return error.strerror
    return None if os.access(there, os.W_OK) else "permission denied"


def check_drawing(option: str) -> Any:
    """Raise a UsageError without matplotlib; otherwise return its canvas."""
    try:
        with needs(option, "matplotlib", "plot"):
            from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise UsageError(str(error)) from error
    return FigureCanvasBase


def check_picture(name: str, option: str = "--plot") -> None:
    """Raise a UsageError if a picture of this name cannot be drawn."""
    formats = check_drawing(option).get_supported_filetypes()
    ending = Path(name).suffix.lstrip(".").lower()
    if ending not in formats:
        raise UsageError(
            f"cannot draw {option} {name}: its name must end in one of "
            f"{', '.join('.' + each for each in sorted(formats))}"
        )


def write_report(summary: list[str], files: Sequence[tuple[str, str | None, Writer]]) -> None:
    """Write files and print the summary, even if a file cannot be written.

    Each of ``files`` is a description, a name, and a function that writes the file. If the name is
    None, the file is not written.
    """
    lines, names = list(summary), []
    try:
        for description, name, write in files:
            if name is not None:
                write(name)
                names.append(f"{description} in {name}")
        lines += ["", *names] if names else []
    except OSError as error:
        name = error.filename or "the results"
        raise UsageError(f"cannot write {name}: {error.strerror or error}") from error
    finally:
        print("\n".join(lines))


def write_json(result: Mapping[str, Any], name: str) -> None:
    """Write a result as one JSON object, with an entry in each line."""
    lines = (f"  {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in result.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    Path(name).write_text(text, encoding="utf-8")
