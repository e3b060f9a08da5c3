"""File with the fits of a hyperparameter search, from which another process can resume it.

The file has no state of the engine. A resumed search chooses the same settings again, and takes the
scores of settings in the file from there. So it may have a larger ``n_iter``, or more workers.

The file is text: a line with the search, and a line for the fits of each setting, with checksums
(see :class:`~skgpb.utils.persistence.Seal`). Files of version 1 have one line without checksums.
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

# Format: name of the file format.
FORMAT = "skgpb-search-cv"


class Checkpoint:
    """The fits of a search, by setting, and their file.

    Parameters
    ----------
    path : path
        The file.
    resume : bool
        Whether to continue the search in the file, if there is one.
    search : dict
        Parameters and data, by name, which must agree with the file: otherwise scores of the two
        searches cannot be compared.

    Attributes
    ----------
    seed : int or None
        Seed of the search in the file; None if there was no file.
    n_iter : int
        ``n_iter`` with which the search in the file was started.
    """

    seed: int | None
    n_iter: int

    def __init__(self, path: str | os.PathLike[str], resume: bool, search: dict[str, Any]) -> None:
        self._path = path
        self._search = {name: describe_value(each) for name, each in search.items()}
        self._fits: dict[str, list[dict[str, Any]]] = {}
        self._asked: set[str] = set()
        self.seed = None
        if os.path.isfile(path):
            self._read(resume)

    def _read(self, resume: bool) -> None:
        """Read the fits of the file; raise an error if it is invalid or must not be replaced."""
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
                "resume=True continues it, with n_iter as the number of all settings; otherwise "
                "choose another name"
            )
        for each in self._search:
            if search.get(each) != self._search[each]:
                raise ValueError(
                    f"{name} holds a search with another {each}: continue it with the same {each}, "
                    "or choose another name"
                )
        self.seed, self.n_iter, self._fits = seed, n_iter, fits

    def begin(self, seed: int, n_iter: int) -> None:
        """Write the file before the first fit, so that an error in writing comes at once."""
        self.seed, self.n_iter = seed, n_iter
        self._write()

    def get(self, key: bytes) -> list[dict[str, Any]] | None:
        """Return the fits of a setting, one dict for each fold; None if it has to be fitted.

        ``key`` has the bytes of the setting's columns.
        """
        self._asked.add(key.hex())
        return self._fits.get(key.hex())

    def add(self, fits: dict[bytes, list[dict[str, Any]]]) -> None:
        """Add the fits of settings, by key, and write the file."""
        self._fits.update((key.hex(), each) for key, each in fits.items())
        self._write()

    def warn_of_rest(self) -> None:
        """Warn if the file holds settings that this search did not evaluate."""
        n = len(self._fits.keys() - self._asked)
        if n:
            warn(
                f"checkpoint {os.fspath(self._path)!r} holds {n} settings that this search did not "
                "ask for, as with a smaller n_iter, or another version of a library; their scores "
                "are not used",
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
    """Return the search, its seed, its ``n_iter``, and the fits by setting, from the lines."""
    seal, reader = Seal(), Reader({})
    head, *settings = map(seal.read, lines)
    if head["format"] != FORMAT:
        raise ValueError(f"its format is {head['format']!r}, and must be {FORMAT!r}")
    check_version(head["version"])
    if head["version"] == 1:
        fits = reader.decode(head["fits"])
    else:
        fits = {each["setting"]: reader.decode(each["fits"]) for each in settings}
        if not seal.is_begun or len(fits) != head["n_settings"]:
            raise ValueError("it is damaged: lines or checksums are missing")
    return head["search"], int(head["seed"]), int(head["n_iter"]), fits


def describe_value(value: Any) -> str:
    """Return a text that is the same in every process: its form in a file, or its repr."""
    try:
        return json.dumps(Writer().encode(value, "value"), allow_nan=False)
    except TypeError:
        return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
