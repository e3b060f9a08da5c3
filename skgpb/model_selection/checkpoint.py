"""Fits of a hyperparameter search in a file, from which another process goes on.

The file holds no state: a search that is started again asks for the same settings, and those in the
file need not be fitted. So it may be started with a larger ``n_iter``, or with more workers.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from skgpb._version import __version__
from skgpb.exceptions import LoadError
from skgpb.utils.persistence import Reader, Writer, replace_file
from skgpb.utils.warnings import warn

# Format: its name and version.
FORMAT, VERSION = "skgpb-search-cv", 1


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
        try:
            document = json.loads(Path(self._path).read_text(encoding="ascii"))
            version, search = document["version"], document["search"]
            seed, n_iter = (int(document[each]) for each in ("seed", "n_iter"))
            fits = Reader({}).decode(document["fits"])
            if document["format"] != FORMAT or not isinstance(fits, dict):
                raise ValueError("it is another kind of file")
        except (KeyError, TypeError, ValueError) as error:
            raise LoadError(
                f"{name} holds no search: delete it or choose another name ({error})"
            ) from error
        if version != VERSION:
            raise LoadError(f"{name} has version {version} of the format, and {VERSION} is known")
        if not resume:
            raise ValueError(
                f"{name} holds a search of {len(fits)} settings, which this one would replace: "
                "resume=True continues it, n_iter being the number of all settings then; "
                "otherwise delete it or choose another name"
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
        document = {
            "format": FORMAT,
            "version": VERSION,
            "skgpb": __version__,
            "search": self._search,
            "seed": self.seed,
            "n_iter": self.n_iter,
            "fits": Writer().encode(self._fits, "fits"),
        }
        replace_file(self._path, json.dumps(document, allow_nan=False).encode("ascii"))


def described(value: Any) -> str:
    """Return a text that is the same in every process: what a file would hold, or the repr."""
    try:
        return json.dumps(Writer().encode(value, "value"), allow_nan=False)
    except TypeError:
        return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
