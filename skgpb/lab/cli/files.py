"""Files that a command writes: what would keep them from being written, and writing them."""

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
from skgpb.utils.install import install_command

Writer = Callable[[str], Any]
#: How the file of a ledger begins.
LEDGER = b'{"format": "skgpb privacy ledger"'


def check_outputs(named: Mapping[str, str | None], table: str | None = None) -> None:
    """Find what would keep results from being written, before anything is spent.

    ``named`` has what was given for each option, ``table`` is the file that is read.
    """
    taken = {} if table is None else {_identity(table): "the table"}
    for option, name in named.items():
        if name is None:
            continue
        path = Path(name)
        place = _identity(name)
        if place in taken:
            raise UsageError(f"{option} {name} would overwrite {taken[place]}")
        taken[place] = option
        reason = _obstacle(path) or (_kept_in(path) if option != "--ledger" else None)
        if reason:
            raise UsageError(f"cannot write {option} {name}: {reason}")


def _identity(name: str) -> Any:
    """Return what all names of one file have in common."""
    try:
        found = os.stat(name)
    except OSError:
        return os.path.realpath(name)
    return found.st_dev, found.st_ino


def _kept_in(path: Path) -> str | None:
    """Return what a file keeps that cannot be computed again, or None."""
    if path.is_file():
        with suppress(OSError, zipfile.BadZipFile), open(path, "rb") as file:
            if file.read(len(LEDGER)) == LEDGER:
                return "it holds a privacy ledger"
            if zipfile.is_zipfile(file) and "run.json" in zipfile.ZipFile(file).namelist():
                return "it holds a saved run"
    return None


def _obstacle(path: Path) -> str | None:
    """Return the reason why a file could not be written, or None."""
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
    """Find that there is nothing to draw with; otherwise return matplotlib's canvas."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise UsageError(
            f"{option} needs matplotlib, which is not installed: {install_command('plot')}"
        ) from error
    return FigureCanvasBase


def check_picture(name: str, option: str = "--plot") -> None:
    """Find what would keep a picture from being drawn."""
    formats = check_drawing(option).get_supported_filetypes()
    ending = Path(name).suffix.lstrip(".").lower()
    if ending not in formats:
        raise UsageError(
            f"cannot draw {option} {name}: its name must end in one of "
            f"{', '.join('.' + each for each in sorted(formats))}"
        )


def write_report(summary: list[str], files: Sequence[tuple[str, str | None, Writer]]) -> None:
    """Write the files that were asked for and print the summary, each even if the other fails.

    A file is what it holds, its name or None, and a function that writes it.
    """
    lines, written = list(summary), []
    try:
        for what, name, write in files:
            if name is not None:
                write(name)
                written.append(f"{what} in {name}")
        lines += ["", *written] if written else []
    except OSError as error:
        name = error.filename or "the results"
        raise UsageError(f"cannot write {name}: {error.strerror or error}") from error
    finally:
        print("\n".join(lines))


def write_json(result: Mapping[str, Any], name: str) -> None:
    """Write an entry a line."""
    lines = (f"  {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in result.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    Path(name).write_text(text, encoding="utf-8")
