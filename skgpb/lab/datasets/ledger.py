"""Privacy account of every row of a table, in a file that all searches of the table share.

The file is text with one JSON object per line. The first line names the table and the column, the
second line counts all further lines. Each further line is either the cost of an answer, with the
rows that pay it, or the answer::

    {"lines":            2}
    {"spend": 0.0061, "range": [0.0, 100.0], "rows": "eJx7...", "sha256 to here": "5f0c..."}
    {"answer": 41.7, "variance": 0.83, "to": 0, "sha256 to here": "92ab..."}

The cost of Gaussian noise is in zCDP; Laplace noise has ``epsilon`` instead of ``spend``. Rows are
bits, packed by zlib and base64. ``to`` is the index of the question among the lines with a cost. A
line with a cost is written to the disk, then counted, and only then is the answer drawn; lines are
only ever appended. So if a process is killed, all answers that it may have given are paid, and an
incomplete line never had an answer. Each line has the checksum of all lines before it except for
the count, see :class:`~skgpb.utils.persistence.Seal`. The checksums detect a line that was changed
or lost, the count detects lost lines at the end. Ledgers of version 1 have no count, and their
first lines no checksum; the first line appended has the checksum of all of them.

The file depends on the values through the answers only, so it reveals no more than they do.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from skgpb.exceptions import LoadError
from skgpb.lab.datasets.account import PrivateAnswer, Question
from skgpb.lab.file_lock import FileLock
from skgpb.utils.persistence import VERSION, Seal, check_version, reason_of, replace_file
from skgpb.utils.typing import SupportsArray
from skgpb.utils.validation import is_number

__all__ = ["PrivacyLedger"]

FORMAT = "skgpb privacy ledger"
# Format: the second line, whose length does not depend on the number.
COUNT = b'{"lines": %12d}\n'
# The protected unit, for which the loss is counted.
UNIT = "the value of one row"
# Limit: bytes of the first line.
LARGEST_HEAD = 2**20


class PrivacyLedger:
    """Privacy account of a table, in a file shared by processes and searches.

    A ledger belongs to one column of one table, and adds up the privacy loss of the value of every
    row, over all questions asked with it: in several :class:`PrivateAverages`, at the same time or
    one after the other. A repeated question gets the same answer at no cost, so that a search that
    was killed can continue.

    Parameters
    ----------
    path : path
        The file, created if missing. If you delete it, the record of all answers is lost. Links,
        and mounts of the file elsewhere, are other names of the same account; a copy is another
        account.
    table : dict, DataFrame or array-like of shape (n_rows,) or (n_rows, n_columns)
        Public columns of all rows of the table, such as features, also if fewer rows are searched.
        The ledger recognises its table by these columns and by the order of the rows.
    target : str, default="values"
        Name of the protected column.

    Attributes
    ----------
    path : Path
        The file.
    n_rows : int
        Number of rows of the table.
    target : str
        Name of the protected column.
    spent : ndarray of shape (n_rows,)
        Budget spent on each row when the account was last read, in zCDP.
    epsilons : ndarray of shape (n_rows,)
        The epsilon spent on each row with delta = 0; infinite after an answer with Gaussian noise.

    Raises
    ------
    ValueError
        If the file is the ledger of another table or column: the message names the difference.
    skgpb.exceptions.LoadError
        A ``ValueError``: the file is damaged, or no ledger.
    OSError
        If the file cannot be read or written, or another program locks it for a minute.

    Notes
    -----
    The file contains names and digests of the public columns, the rows of all groups that were
    asked for, and the noisy answers, all of which were paid for. It does not contain the values: if
    values are corrected later, the costs of their rows remain, and old answers are repeated.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from skgpb.lab.datasets import PrivacyLedger, PrivateAverages
    >>> places, income = np.random.default_rng(0).random((1000, 2)), np.linspace(20, 80, 1000)
    >>> ledger = PrivacyLedger(os.path.join(tempfile.mkdtemp(), "income.ledger"), places)
    >>> def office():
    ...     return PrivateAverages(income, (0, 100), epsilon=1, delta=1e-6, ledger=ledger)
    >>> first = office().answer(np.arange(500), share=1)
    >>> office().answer(np.arange(500)) == first
    True
    >>> office().affords(np.arange(400))  # the budget was spent by the first one
    False
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        table: Mapping[str, Sequence[object] | SupportsArray] | Sequence[object] | SupportsArray,
        *,
        target: str = "values",
    ) -> None:
        columns = _public_columns(table)
        self.path: Path = Path(path)
        self.target: str = str(target)
        self.n_rows: int = len(next(iter(columns.values())))
        with FileLock(self.path):
            if not self.path.exists():
                self._write_head(columns)
            head = self._read_head()
        self._check_table(head, columns)
        self._forget()

    def _write_head(self, columns: dict[str, np.ndarray]) -> None:
        """Create the file with its first two lines."""
        head = {"format": FORMAT, "version": VERSION, "unit": UNIT, "target": self.target}
        head["rows"] = self.n_rows
        head["table"] = {name: _digest(column) for name, column in columns.items()}
        line = Seal().write(head)
        if len(line) > LARGEST_HEAD:
            raise ValueError(
                f"table has {len(columns)} columns, too many to name in a ledger: give an "
                "array, or fewer columns that distinguish this table from others"
            )
        replace_file(self.path, line + COUNT % 0)

    def _read_head(self) -> dict[str, Any]:
        """Read the lines before the records; return the first one as a dict."""
        self._first_seal, self._count_at = Seal(), 0
        head, self._begin = _head(self.path, self._first_seal)
        if head["version"] > 1:
            self._count_at, self._begin = self._begin, self._begin + len(COUNT % 0)
        return head

    def _check_table(self, head: dict[str, Any], columns: dict[str, np.ndarray]) -> None:
        """Raise ValueError if the file is the ledger of another table or column."""
        other = f"{str(self.path)!r} is the ledger of another table"
        if head["target"] != self.target:
            raise ValueError(
                f"{str(self.path)!r} is the ledger of the column {head['target']!r}, not of "
                f"{self.target!r}: each column that is protected has a ledger of its own"
            )
        if head["rows"] != self.n_rows:
            raise ValueError(f"{other}: of {head['rows']} rows, this one has {self.n_rows}")
        missing = [name for name in head["table"] if name not in columns]
        if missing:
            raise ValueError(f"{other}: it has a column {missing[0]!r}, this one has none")
        for name, digest in head["table"].items():
            if _digest(columns[name]) != digest:
                raise ValueError(
                    f"{other}: the column {name!r} has other values there, or in another order"
                )

    def _forget(self) -> None:
        """Clear all records in memory, so that the whole file is read again."""
        self.spent: np.ndarray = np.zeros(self.n_rows)
        self.epsilons: np.ndarray = np.zeros(self.n_rows)
        self.answers: dict[Question, PrivateAnswer] = {}
        self._questions: list[Question] = []
        self._costs: list[float] = []
        self._read, self._n_read, self._seal = self._begin, 0, self._first_seal.copy()
        self._process = os.getpid()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock the file in a ``with`` block, after reading it up to its end.

        Raises
        ------
        OSError
            If the file is missing or cannot be read, or another process locks it for a minute.
        skgpb.exceptions.LoadError
            If the file is damaged.
        """
        # The lock excludes other threads as well, and processes that use another name of the file.
        with FileLock(self.path, replaced=False):
            if os.getpid() != self._process:
                # After a fork: another thread may have been changing the records that were copied.
                self._forget()
            self._read_new_lines()
            yield

    def spend(self, question: Question, rows: np.ndarray, rho: float, epsilon: float) -> None:
        """Charge the cost of an answer to its rows, and write it to the disk."""
        bits = np.zeros(self.n_rows, dtype=bool)
        bits[rows] = True
        packed = base64.b64encode(zlib.compress(np.packbits(bits).tobytes())).decode("ascii")
        cost = {"epsilon": epsilon} if math.isfinite(epsilon) else {"spend": rho}
        self._add(**cost, range=[question.low, question.high], rows=packed)

    def answered(self, question: Question, answer: PrivateAnswer) -> None:
        """Record the answer to the question of the last :meth:`spend`."""
        to = len(self._questions) - 1
        self._add(answer=answer.average, variance=answer.variance, to=to)

    def _add(self, **entry: Any) -> None:
        """Append a line to the file, and read it from there as all other processes do."""
        line = self._seal.copy().write(entry)
        with open(self.path, "r+b") as file:
            # Text after the last complete line is from a process that was killed.
            file.truncate(self._read)
            _write_bytes(file, self._read, line)
            if self._count_at:
                _write_bytes(file, self._count_at, COUNT % (self._n_read + 1))
        self._read_new_lines()

    def _read_new_lines(self) -> None:
        """Read the lines that were appended since the last reading."""
        with open(self.path, "rb") as file:
            if os.fstat(file.fileno()).st_size < self._read:
                raise LoadError(
                    f"{str(self.path)!r} has become shorter since it was read: it was replaced or "
                    "damaged, and the amount spent is unknown"
                )
            try:
                file.seek(self._read)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._add_record(self._seal.read(line))
                    self._read, self._n_read = self._read + len(line), self._n_read + 1
                self._check_count(file)
            except OSError:
                raise
            except Exception as error:
                offset = self._read
                self._forget()
                _raise_load_error(self.path, offset, error)

    def _check_count(self, file: BinaryIO) -> None:
        """Raise ValueError if the count shows that lines at the end are lost."""
        if self._count_at:
            file.seek(self._count_at)
            n = json.loads(file.readline(len(COUNT % 0)))["lines"]
            if type(n) is not int or n > self._n_read:
                raise ValueError(
                    f"it has {self._n_read} of {n} lines, and the costs in the others are lost"
                )

    def _add_record(self, entry: dict[str, Any]) -> None:
        """Add a record of the file to the account."""
        if "spend" in entry or "epsilon" in entry:
            pure, (low, high) = "epsilon" in entry, entry["range"]
            cost = entry["epsilon" if pure else "spend"]
            if not (is_number(cost) and 0.0 < cost < math.inf):
                raise ValueError(f"it spends {cost!r}")
            rho, epsilon = (0.5 * cost * cost, cost) if pure else (cost, math.inf)
            rows = self._rows(entry["rows"])
            self._questions.append(Question.from_rows(float(low), float(high), rows))
            self._costs.append(float(rho))
            self.spent[rows] += rho
            self.epsilons[rows] += epsilon
            return
        average, variance, to = entry["answer"], entry["variance"], entry["to"]
        if not (math.isfinite(average) and math.isfinite(variance) and type(to) is int and to >= 0):
            raise ValueError(f"it answers {average!r} to {to!r}")
        answer = PrivateAnswer(float(average), float(variance), self._costs[to])
        self.answers[self._questions[to]] = answer

    def _rows(self, packed: str) -> np.ndarray:
        """Return the sorted numbers of the rows that a line names."""
        size = (self.n_rows + 7) // 8
        data = zlib.decompressobj().decompress(base64.b64decode(packed, validate=True), size + 1)
        if len(data) != size:
            raise ValueError("it names rows of another table")
        bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
        rows = np.flatnonzero(bits)
        if not len(rows) or rows[-1] >= self.n_rows:
            raise ValueError("it names no rows, or rows that do not exist")
        return rows


def read_public_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the public columns by which a ledger recognises its table.

    Parameters
    ----------
    path : path
        The file of a :class:`PrivacyLedger`, which may be missing.

    Returns
    -------
    names : list of str
        Empty if the file is missing.
    """
    return list(_head(Path(path), Seal())[0]["table"]) if os.path.exists(path) else []


def _head(path: Path, seal: Seal) -> tuple[dict[str, Any], int]:
    """Return the first line of a ledger as a dict, and its length in bytes."""
    try:
        if not path.is_file():
            raise ValueError("it is not a regular file")
        with open(path, "rb") as file:
            line = file.readline(LARGEST_HEAD + 1)
        head = seal.read(line)
        if head.get("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT!r}")
        check_version(head["version"])
        if head["version"] > 1 and not seal.is_begun:
            raise ValueError("its first line has no checksum")
        table = head["table"]
        if head["unit"] != UNIT or not (isinstance(table, dict) and table):
            raise ValueError(f"it does not name the columns by which it recognises {UNIT}")
    except Exception as error:
        _raise_load_error(path, 0, error)
    return head, len(line)


def _raise_load_error(path: Path, offset: int, error: Exception) -> NoReturn:
    raise LoadError(
        f"{str(path)!r} is not a privacy ledger, or damaged at byte {offset}: {reason_of(error)}"
    ) from error


def _write_bytes(file: BinaryIO, offset: int, data: bytes) -> None:
    """Write bytes at ``offset``, and force them to the disk."""
    file.seek(offset)
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _public_columns(table: Any) -> dict[str, np.ndarray]:
    """Return the public columns of a table by names; an array is one column."""
    if hasattr(table, "items"):
        columns = {str(name): np.asarray(column) for name, column in table.items()}
        lengths = {len(column) if column.ndim == 1 else -1 for column in columns.values()}
        if len(lengths) != 1 or min(lengths) < 1:
            raise ValueError(
                "table must have one column or more, each of shape (n_rows,), got "
                + str({name: column.shape for name, column in columns.items()})
            )
        return columns
    array = np.asarray(table)
    if array.ndim not in (1, 2) or not array.size:
        raise ValueError(
            f"table must have the shape (n_rows,) or (n_rows, n_columns), got {array.shape}"
        )
    return {"table": array}


def _digest(column: np.ndarray) -> str:
    """Return the digest of a column, the same for equal numbers of any type."""
    if column.dtype.kind in "biuf":
        numbers = column.astype("<f8") + 0.0  # not -0.0
        numbers[np.isnan(numbers)] = np.nan
        data = b"numbers" + np.ascontiguousarray(numbers).tobytes()
    else:
        data = json.dumps(column.astype(str).tolist()).encode("ascii")
    return hashlib.sha256(f"{column.shape}".encode() + data).hexdigest()
