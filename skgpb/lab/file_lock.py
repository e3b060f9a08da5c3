"""A lock between processes: only its holder may read and change a file."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from io import FileIO
from pathlib import Path
from threading import local
from typing import Self
from weakref import WeakValueDictionary

# Limit: seconds to wait for a lock, many times the time to read and write the file of a long run.
PATIENCE = 60.0
# Speed: seconds between two attempts.
PAUSE = 0.02


class FileLock:
    """Lock on a file, held in a ``with`` block; the system releases it when the process ends.

    A thread that holds the lock may acquire it again.

    Parameters
    ----------
    path : path
        The file that only one process at a time may change.
    replaced : bool, default=True
        Whether writers replace the file by a new one of the same name. The lock is then on a
        separate file in the same folder, which is removed when the lock is released. Otherwise the
        lock is on the file itself, which must exist; it then holds for all names of the file, such
        as hard links and mounts.
    """

    # Open files that this thread has locked, by their paths. A lock belongs to its open file:
    # weak references release it even if an interrupt comes before it is stored anywhere else.
    _threads = local()

    def __init__(self, path: str | os.PathLike[str], *, replaced: bool = True) -> None:
        self._for = Path(os.path.realpath(path))
        self._replaced = replaced
        self._path = self._for.with_name(f".{self._for.name}.lock") if replaced else self._for
        self._file: FileIO | None = None

    def __enter__(self) -> Self:
        held = self._threads.__dict__.setdefault("held", WeakValueDictionary())
        if (file := held.get(self._path)) is not None and not file.closed:
            return self
        until = time.monotonic() + PATIENCE
        try:
            while not self._take():
                if time.monotonic() > until:
                    raise TimeoutError(
                        f"{self._for} has been held by another program for {PATIENCE:.0f} seconds"
                    )
                time.sleep(PAUSE)
            held[self._path] = self._file
        except BaseException:
            self.__exit__()
            raise
        return self

    def _take(self) -> bool:
        """Try to acquire the lock; return whether it is held."""
        try:
            file = FileIO(self._path, "a" if self._replaced else "r+")
        except OSError as error:
            # Name the user's file: the separate file of the lock would only confuse.
            raise type(error)(error.errno, error.strerror, str(self._for)) from None
        try:
            # Between open and lock its holder may have removed the file, and another process may
            # have created a new one: then the lock is on a file that nobody else uses.
            with suppress(FileNotFoundError):
                if _lock(file) and os.path.samestat(os.fstat(file.fileno()), os.stat(self._path)):
                    self._file = file
        finally:
            if self._file is None:
                file.close()
        return self._file is not None

    def __exit__(self, *error: object) -> None:
        file = self._file
        if file is None:
            return
        try:
            # Windows cannot remove a file that is open, here or in another process.
            if self._replaced and sys.platform != "win32":
                self._path.unlink(missing_ok=True)
        finally:
            file.close()
            self._file = None
        if self._replaced and sys.platform == "win32":
            with suppress(OSError):
                self._path.unlink()


if sys.platform == "win32":
    import msvcrt

    def _lock(file: FileIO) -> bool:
        # Lock one byte far beyond the end: other processes may still read the content.
        file.seek(2**62)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(file: FileIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
