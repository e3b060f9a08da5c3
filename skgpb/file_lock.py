"""A lock between processes: who holds it may read, change and replace a file."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import local
from typing import Self

# Seconds for which a lock is waited for: many times what a long run needs to be read and written.
PATIENCE = 60.0
# Seconds between two attempts.
PAUSE = 0.02


class FileLock:
    """Held in a ``with`` block; it falls free when the process ends, however that comes.

    A thread that holds it may take it again.

    The lock is on a separate file in the same folder, because the file itself is replaced. The name
    is removed with the lock, so that nothing stays behind.

    Parameters
    ----------
    path : path
        The file that is to be changed by one process at a time.
    """

    # Number of times that the thread holds each lock.
    _threads = local()

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._for = Path(os.path.realpath(path))
        self._path = self._for.with_name(f".{self._for.name}.lock")
        self._file: int | None = None

    @property
    def _held(self) -> Counter[Path]:
        """Number of times that this thread holds each lock, by its file."""
        return self._threads.__dict__.setdefault("held", Counter())

    def __enter__(self) -> Self:
        until = time.monotonic() + PATIENCE
        while not (self._held[self._path] or self._taken()):
            if time.monotonic() > until:
                raise TimeoutError(
                    f"{self._for} has been held by another program for {PATIENCE:.0f} seconds"
                )
            time.sleep(PAUSE)
        self._held[self._path] += 1
        return self

    def _taken(self) -> bool:
        """Try to take the lock."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            # The user knows nothing of this file.
            raise type(error)(error.errno, error.strerror, str(self._for)) from None
        try:
            # Between the two steps its holder may have removed the name, and another made it anew.
            if _lock(file) and os.path.samestat(os.fstat(file), os.stat(self._path)):
                self._file, file = file, -1
                return True
        except FileNotFoundError:
            pass
        finally:
            if file >= 0:
                os.close(file)
        return False

    def __exit__(self, *error: object) -> None:
        self._held[self._path] -= 1
        file, self._file = self._file, None
        if file is None:
            return
        if sys.platform == "win32":
            # A file that is open cannot be removed; one that somebody else has opened stays.
            os.close(file)
            with suppress(OSError):
                self._path.unlink()
            return
        with suppress(OSError):
            self._path.unlink()
        os.close(file)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
