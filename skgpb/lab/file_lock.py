"""A lock between processes: who holds it may read and change a file."""

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

# Limit: seconds for which a lock is waited for: many times what a long run needs to be read and
# written.
PATIENCE = 60.0
# Speed: seconds between two attempts.
PAUSE = 0.02


class FileLock:
    """Held in a ``with`` block; it falls free when the process ends, however that comes.

    A thread that holds it may take it again.

    Parameters
    ----------
    path : path
        The file that is to be changed by one process at a time.
    replaced : bool, default=True
        Whether the file is replaced by another one of its name. The lock is then on a separate
        file in the same folder, whose name is removed with the lock, so that nothing stays behind.
        Otherwise it is on the file itself, which must exist, and whatever names it has: hard links
        and mounts are other names of one file.
    """

    # What the thread holds: files that are open and locked, by their names. A lock belongs to its
    # open file, so that it cannot outlive an interrupt that comes before anybody has noted it.
    _threads = local()

    def __init__(self, path: str | os.PathLike[str], *, replaced: bool = True) -> None:
        self._for = Path(os.path.realpath(path))
        self._replaced = replaced
        self._path = self._for.with_name(f".{self._for.name}.lock") if replaced else self._for
        self._file: FileIO | None = None

    def __enter__(self) -> Self:
        held = self._threads.__dict__.setdefault("held", WeakValueDictionary())
        if (known := held.get(self._path)) is not None and not known.closed:
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
        """Try to take the lock."""
        try:
            file = FileIO(self._path, "a" if self._replaced else "r+")
        except OSError as error:
            # The user knows nothing of a separate file.
            raise type(error)(error.errno, error.strerror, str(self._for)) from None
        try:
            # Between the two steps its holder may have removed the name, and another made it anew.
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
            # Windows removes no file that is open; one that somebody else has opened stays.
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
        # Others may read what is before this place, where no file has anything.
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
