"""Fits of a hyperparameter search in a file, from which another process goes on.

The file holds no state: a search that is started again asks for the same settings, and those in the
file need not be fitted. So it may be started with a larger ``n_iter``, or with more workers.

It is text: a line with the search, and a line for the fits of each setting, with checksums (see
:class:`~skgpb.utils.persistence.Seal`). Files of version 1 have everything in one line, without.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from skgpb._version import __version__
from skgpb.exceptions import LoadError
from skgpb.utils.persistence import (
    VERSION,
    Reader,
    Seal,
    Writer,
    check_version,
    reason_of,
    replace_file,
)
from skgpb.utils.warnings import warn

# Format: its name.
FORMAT = "skgpb-search-cv"


class Checkpoint:
    """Fits of settings in a file.

    Parameters
    ----------
    path : path
        The file.
    resume : bool
        Whether to go on with what it holds.
    search : dict
        What must be the same if scores are to be compared: a name, and any value, of each thing.

    Attributes
    ----------
    seed : int or None
        Seed of the search in the file; None where there was no file.
    n_iter : int
        Number of settings that the search in the file was begun with.
    """

    seed: int | None
    n_iter: int

    def __init__(self, path: str | os.PathLike[str], resume: bool, search: dict[str, Any]) -> None:
        self._path, self._search = path, {name: described(each) for name, each in search.items()}
        self._fits: dict[str, list[dict[str, Any]]] = {}
        self._asked: set[str] = set()
        self.seed = None
        if os.path.isfile(path):
            self._read(resume)

    def _read(self, resume: bool) -> None:
        """Take up what the file holds, or refuse to replace it."""
        name = f"checkpoint {os.fspath(self._path)!r}"
        with open(self._path, "rb") as file:
            lines = file.readlines()
        try:
            search, seed, n_iter, fits = _read_lines(lines)
        except Exception as error:
            raise LoadError(
                f"{name} cannot be loaded as a search: {reason_of(error)}; choose another name"
            ) from error
        if not resume:
            raise ValueError(
                f"{name} holds a search of {len(fits)} settings, which this one would replace: "
                "resume=True continues it, n_iter being the number of all settings then; "
                "otherwise choose another name"
            )
        for each in self._search:
            if search.get(each) != self._search[each]:
                raise ValueError(
                    f"{name} holds a search with another {each}: continue it with the same one, "
                    "or choose another name"
                )
        self.seed, self.n_iter, self._fits = seed, n_iter, fits

    def begin(self, seed: int, n_iter: int) -> None:
        """Write the file before the first fit: if that is impossible it is known at once."""
        self.seed, self.n_iter = seed, n_iter
        self._write()

    def of(self, key: bytes) -> list[dict[str, Any]] | None:
        """Return the fits of a setting, None if it has to be fitted."""
        self._asked.add(key.hex())
        return self._fits.get(key.hex())

    def add(self, fits: dict[bytes, list[dict[str, Any]]]) -> None:
        """Keep the fits of some settings."""
        self._fits.update((key.hex(), each) for key, each in fits.items())
        self._write()

    def warn_of_rest(self) -> None:
        """Say so if the file holds settings that this search did not ask for."""
        n = len(self._fits.keys() - self._asked)
        if n:
            warn(
                f"checkpoint {os.fspath(self._path)!r} holds {n} settings that this search did not "
                "ask for, as with a smaller n_iter, or another version of a library; they take no "
                "part",
                UserWarning,
            )

    def _write(self) -> None:
        seal, writer = Seal(), Writer()
        head = {
            "format": FORMAT,
            "version": VERSION,
            "skgpb": __version__,
            "search": self._search,
            "seed": self.seed,
            "n_iter": self.n_iter,
            "n_settings": len(self._fits),
        }
        settings = (
            {"setting": key, "fits": writer.encode(fits, "fits")}
            for key, fits in self._fits.items()
        )
        replace_file(self._path, b"".join(seal.write(line) for line in (head, *settings)))


def _read_lines(lines: list[bytes]) -> tuple[dict[str, str], int, int, dict[str, Any]]:
    """Return the search, its seed and number of settings, and the fits in a file."""
    seal, reader = Seal(), Reader({})
    head, *settings = map(seal.read, lines)
    if head["format"] != FORMAT:
        raise ValueError("it is another kind of file")
    check_version(head["version"])
    if head["version"] == 1:
        fits = reader.decode(head["fits"])
    else:
        fits = {each["setting"]: reader.decode(each["fits"]) for each in settings}
        if not seal.is_begun or len(fits) != head["n_settings"]:
            raise ValueError("it is damaged: lines or checksums are missing")
    return head["search"], int(head["seed"]), int(head["n_iter"]), fits


def described(value: Any) -> str:
    """Return a text that is the same in every process: what a file would hold, or the repr."""
    try:
        return json.dumps(Writer().encode(value, "value"), allow_nan=False)
    except TypeError:
        return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
