"""Runs as files: JSON and arrays in a zip archive, written atomically, read without running code.

A file has the content of a run, independent of its representation in a version of skgpb: the
constructor's parameters at the start, and in order every fit, every query asked, every answer,
failure, learned set of hyperparameters and parameters that were set, all numbers exactly. Loading
replays them, so that later versions can load the file as well.

The layout, version 2: a zip archive, which ``numpy.load`` opens too, with a member ``run.json``,
the log ``events.jsonl`` with an event in each line, and one ``.npy`` member for each array that
these refer to as ``{"array": name}``. Nothing else is read, and no member is expanded beyond the
size that a run written by ``save`` may need: ``LARGEST_*``. A value takes up to 200 bytes of
memory, but only three characters of text, which is compressed as well; so values are counted before
they are parsed, and events are parsed one at a time. A query is written at its first occurrence,
and as ``{"query": n}`` afterwards, with its index n among the distinct ones.

The file may also have a snapshot, ``snapshot.json``: state that is expensive to compute from the
log. It identifies the run by the SHA-256 of ``run.json`` and ``events.jsonl``, and is ignored with
another run. Programs that write files can leave it out.

Files of version 1 are read as well. Their snapshots have other fields, so the runs are replayed.
The earliest files have the events in ``run.json`` and no times, and a few of these declare
version 2.

Text files, such as the checkpoint of a hyperparameter search, have a JSON object in each line, with
the checksum of a :class:`Seal`; text files of version 1 have no checksum.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
import stat
import zipfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

import numpy as np
import sklearn.gaussian_process.kernels as sklearn_kernels
from sklearn.gaussian_process.kernels import Kernel

from skgpb._version import __version__
from skgpb.exceptions import LoadError
from skgpb.guarantee import Guarantee
from skgpb.utils.typing import File

__all__ = ["read_notes", "register_kernel"]

# Format: name of the format in the file of a run, and version of all files.
FORMAT, VERSION = "skgpb run", 2
# Format: parameters of version 1 with another name in version 2; removed parameters, which a file
# may have if they are None.
RENAMED, GONE = {"diameter": "variation"}, {"relative_noise"}
# Format: text before the checksum in a line.
SEAL = b', "sha256 to here": "'
# Kinds of ValueError whose messages are about bytes and positions in them.
BYTES_TOLD = (UnicodeError, json.JSONDecodeError)
# Format: largest array that is written into the JSON itself, in numbers.
SMALL = 16
# Kinds of NumPy's numbers and strings in files: no objects, no structures.
KINDS = "biufUS"
# Limit: bytes of run.json and the events, and values in them: a round takes about 360 and 50.
LARGEST_DOCUMENT, LARGEST_NUMBER_OF_VALUES = 2**27, 2**24
# Limit: characters of an event, number of events, and values of run.json or of the snapshot.
LARGEST_EVENT, MOST_EVENTS, LARGEST_REST = 2**20, 2**20, 2**21
# Limit: bytes of all arrays together.
LARGEST_ARRAYS = 2**30


_KERNELS: dict[str, type[Kernel]] = {}


def register_kernel(cls: type[Kernel]) -> type[Kernel]:
    """Register a kernel class, so that runs with it can be saved and loaded.

    Parameters
    ----------
    cls : subclass of sklearn.gaussian_process.kernels.Kernel
        Files refer to it by its name, and rebuild it from its ``get_params(deep=False)``.

    Returns
    -------
    cls : the class itself, so that the function is also a decorator.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.utils.persistence import register_kernel
    >>> @register_kernel
    ... class Periodic(RBF):
    ...     pass
    """
    if not (isinstance(cls, type) and issubclass(cls, Kernel)):
        raise TypeError(f"cls must be a subclass of Kernel, got {cls!r}")
    known = _KERNELS.setdefault(cls.__name__, cls)
    if known is not cls and known.__module__ != cls.__module__:
        raise ValueError(f"a kernel named {cls.__name__} is registered already: {known!r}")
    _KERNELS[cls.__name__] = cls
    return cls


def _register_known_kernels() -> None:
    import skgpb.kernels  # here, because kernels are below this module only in this one place
    from skgpb.kernels import _settings

    for module in (sklearn_kernels, skgpb.kernels, _settings):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Kernel) and value is not Kernel:
                _KERNELS.setdefault(value.__name__, value)


class Writer:
    """Encoder of values as JSON, which collects their arrays.

    Parameters
    ----------
    kinds : iterable of type, default=()
        Classes of queries and sides, which a file distinguishes by their names alone.
    """

    def __init__(self, kinds: Iterable[type] = ()) -> None:
        self._ours = {each.__name__: each for each in kinds if _is_of_library(each)}
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[bytes, str] = {}
        self._numbers: dict[Any, int] = {}
        _register_known_kernels()

    def encode(self, value: Any, where: str) -> Any:
        """Return a JSON value; ``where`` is the name of the parameter in error messages."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float) and not isinstance(value, np.generic):
            # JSON has no NaN and no infinities.
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.generic):
            return {"scalar": value.dtype.str, "value": self.encode(value.item(), where)}
        if isinstance(value, (tuple, list)):
            items = [self.encode(item, where) for item in value]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, dict):
            items = [[self.encode(each, where) for each in pair] for pair in value.items()]
            return {"dict": items}
        if isinstance(value, range):
            return {"range": [value.start, value.stop, value.step]}
        if hasattr(value, "dist") and _distribution(value.dist.name) is not None:
            arguments = [self.encode(each, where) for each in (list(value.args), value.kwds)]
            return {"distribution": value.dist.name, "arguments": arguments}
        if isinstance(value, Kernel):
            return self._kernel(value, where)
        if isinstance(value, np.random.RandomState):
            return {"RandomState": self.encode(value.get_state(legacy=False), where)}
        if isinstance(value, np.random.Generator):
            return {"Generator": self.encode(value.bit_generator.state, where)}
        if hasattr(value, "find_points") and value in self._numbers:
            return self.query(value)
        if hasattr(value, "arguments"):
            return self._encode_arguments(value, where)
        if hasattr(value, "get_params") and (hasattr(value, "ask") or hasattr(value, "propose")):
            parameters = value.get_params(deep=False)
            encoded = {key: self.encode(v, f"{where}.{key}") for key, v in parameters.items()}
            return {"optimizer": type(value).__name__, "parameters": encoded}
        if isinstance(value, Guarantee):
            return {"guarantee": self.encode(value.get_params(deep=False), where)}
        if hasattr(value, "__array__"):
            array = np.asarray(value)
            if array.dtype.kind in KINDS:
                return self._array(array)
        what = f"a {type(value).__module__}.{type(value).__qualname__}, {value!r}"
        raise TypeError(
            f"{where} is {what}, which cannot be written to a file that runs no code when it is "
            f"loaded: pass omit=[{where.split('.')[0]!r}] to save, and the value itself to load"
        )

    def _array(self, array: np.ndarray) -> dict[str, Any]:
        if array.size <= SMALL and array.dtype == np.float64 and np.isfinite(array).all():
            return {"floats": array.ravel().tolist(), "shape": list(array.shape)}
        array = np.ascontiguousarray(array)
        key = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode() + array.tobytes()).digest()
        name = self._names.setdefault(key, f"array_{len(self._names)}")
        self.arrays[name] = array
        return {"array": name}

    def _kernel(self, kernel: Kernel, where: str) -> dict[str, Any]:
        name = type(kernel).__name__
        if _KERNELS.get(name) is not type(kernel):
            raise TypeError(
                f"{where} has a kernel of the class {type(kernel).__qualname__}, which files do "
                "not know: register it with skgpb.utils.persistence.register_kernel, before saving "
                f"and before loading; or pass omit=[{where.split('.')[0]!r}] to save, and the "
                "kernel itself to load"
            )
        parameters = kernel.get_params(deep=False)
        encoded = {key: self.encode(v, f"{where}.{key}") for key, v in parameters.items()}
        return {"kernel": name, "parameters": encoded}

    def query(self, query: Any) -> dict[str, Any]:
        """Encode a query of the log, as its index if an equal one came before."""
        if query in self._numbers:
            return {"query": self._numbers[query]}
        self._numbers[query] = len(self._numbers)
        return self._encode_arguments(query, "query")

    def _encode_arguments(self, value: Any, where: str) -> dict[str, Any]:
        """Encode a query, or an object in bounds, by the arguments of its class."""
        name, cls = type(value).__name__, type(value)
        if (ours := self._ours.get(name, cls)) is not cls:
            raise TypeError(
                f"{where} has {value!r}, whose class has the name of {ours!r}, so that a file "
                "could not tell them apart: rename your class"
            )
        arguments = [getattr(value, each) for each in value.arguments]
        return {"query": name, "arguments": self.encode(arguments, where)}


def _is_of_library(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "skgpb"


class Reader:
    """Decoder of the values in a file, for the classes named here only."""

    def __init__(
        self,
        arrays: dict[str, np.ndarray] | Arrays,
        queries: Iterable[type] = (),
        optimizers: Iterable[type] = (),
    ) -> None:
        self._arrays = arrays
        self._queries = {each.__name__: each for each in sorted(queries, key=_is_of_library)}
        self._known: list[Any] = []
        self._optimizers = {each.__name__: each for each in optimizers}
        _register_known_kernels()

    def decode(self, value: Any) -> Any:
        """Return the value that ``Writer.encode`` encoded."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "float" in value:
            return float(value["float"])
        if "scalar" in value:
            dtype = np.dtype(value["scalar"])
            if dtype.kind not in KINDS:
                raise ValueError(f"not a number or a string: {value!r}")
            return dtype.type(self.decode(value["value"]))
        if "tuple" in value:
            return tuple(self.decode(value["tuple"]))
        if "dict" in value:
            return {self.decode(key): self.decode(item) for key, item in value["dict"]}
        if "range" in value:
            return range(*map(int, value["range"]))
        if "distribution" in value:
            distribution = _distribution(value["distribution"])
            if distribution is None:
                raise ValueError(f"not a distribution of scipy.stats: {value!r}")
            args, kwds = map(self.decode, value["arguments"])
            return distribution(*args, **kwds)
        if "floats" in value:
            return np.array(value["floats"], dtype=np.float64).reshape(value["shape"])
        if "array" in value:
            return self._arrays[value["array"]]
        if "RandomState" in value:
            state = np.random.RandomState()
            state.set_state(self.decode(value["RandomState"]))
            return state
        if "Generator" in value:
            return _generator(self.decode(value["Generator"]))
        if "kernel" in value:
            return self._kernel(value)
        if "query" in value:
            return (
                self.query(value) if type(value["query"]) is int else self._decode_arguments(value)
            )
        if "guarantee" in value:
            return Guarantee(**self.decode(value["guarantee"]))
        if "optimizer" in value:
            name = value["optimizer"]
            if name not in self._optimizers:
                raise ValueError(
                    f"the run has {name}(...), whose class is not known here: import it before "
                    "loading"
                )
            return self._optimizers[name](**self.parameters(value["parameters"]))
        raise ValueError(f"not a value of a saved run: {value!r}")

    def parameters(self, stored: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters that ``encode_parameters`` encoded."""
        return {name: self.decode(item) for name, item in stored.items()}

    def _kernel(self, value: dict[str, Any]) -> Kernel:
        name = value["kernel"]
        if name not in _KERNELS:
            raise ValueError(
                f"the run has a kernel of the class {name}, which is not known here: register it "
                "with skgpb.utils.persistence.register_kernel before loading"
            )
        return _KERNELS[name](**{k: self.decode(v) for k, v in value["parameters"].items()})

    def query(self, value: dict[str, Any]) -> Any:
        """Return the query that ``Writer.query`` encoded; call it in the same order."""
        number = value["query"]
        if type(number) is int and 0 <= number < len(self._known):
            return self._known[number]
        self._known.append(self._decode_arguments(value))
        return self._known[-1]

    def _decode_arguments(self, value: dict[str, Any]) -> Any:
        if value["query"] not in self._queries:
            raise ValueError(
                f"the run has a query or a side of the unknown class {value['query']!r}: import a "
                "class of your own before loading"
            )
        return self._queries[value["query"]](*self.decode(value["arguments"]))


def _distribution(name: Any) -> Any:
    """Return the distribution of ``scipy.stats``, or ours, with a name; None without one."""
    from scipy import stats  # here, because importing it takes long and few runs need it

    from skgpb.utils.distributions import LOG_RANDINT

    if name == LOG_RANDINT.name:
        return LOG_RANDINT
    found = getattr(stats, name, None) if isinstance(name, str) else None
    return found if isinstance(found, (stats.rv_continuous, stats.rv_discrete)) else None


def _generator(state: dict[str, Any]) -> np.random.Generator:
    names = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
    if state["bit_generator"] not in names:
        raise ValueError(f"not a bit generator of NumPy: {state['bit_generator']!r}")
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


def write(
    path: File,
    document: dict[str, Any],
    events: Iterable[list[Any]],
    arrays: dict[str, np.ndarray],
    snapshot: Any,
) -> None:
    """Write a file atomically: a complete file exists at every moment. An open one is written to.

    It writes a temporary file in the same folder, syncs it, and renames it. Links are followed, and
    the permissions are those of the replaced file, or the usual ones for a new file.
    """
    text = json.dumps(document, allow_nan=False).encode("ascii")
    log = "".join(json.dumps(event, allow_nan=False) + "\n" for event in events).encode("ascii")
    _check_size(text, log)
    beside = json.dumps({"of": _name_of(text, log), "fields": snapshot}, allow_nan=False)
    if sum(array.nbytes for array in arrays.values()) > LARGEST_ARRAYS:
        raise ValueError(
            f"the arrays of the run are larger than {LARGEST_ARRAYS} bytes, more than a file may "
            "hold: omit the parameter that they belong to, as in save(path, omit=['pool'])"
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.json", text)
        archive.writestr("events.jsonl", log)
        if _n_values(beside.encode("ascii")) <= LARGEST_REST:
            archive.writestr("snapshot.json", beside)
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            archive.writestr(f"{name}.npy", member.getvalue())
    if not hasattr(path, "write"):
        replace_file(path, buffer.getvalue())
    elif isinstance(path, io.TextIOBase):
        raise TypeError(f"path must be a path or a file that is open in binary mode, got {path!r}")
    else:
        path.write(buffer.getvalue())


def _name_of(text: bytes, log: bytes) -> str:
    """Return the name of a run, by which its snapshot identifies it."""
    name = hashlib.sha256(text)
    name.update(log)
    return name.hexdigest()


class Seal:
    """SHA-256 of the lines of a text file so far, which each line repeats at its end.

    So the lines form a chain: one that was changed, lost, added or moved does not go with the
    checksum of its own line, or with that of the next.

    Attributes
    ----------
    is_begun : bool
        Whether a line with a checksum was written or read. All further ones must have one.
    """

    def __init__(self) -> None:
        self._sum = hashlib.sha256()
        self.is_begun: bool = False

    def copy(self) -> Seal:
        """Return a copy, which goes on by itself."""
        other = Seal()
        other._sum, other.is_begun = self._sum.copy(), self.is_begun
        return other

    def write(self, entry: dict[str, Any]) -> bytes:
        """Return an entry as the next line, with its checksum."""
        line = json.dumps(entry, allow_nan=False)[:-1].encode("ascii")
        return line + self._end_of(line)

    def read(self, line: bytes) -> dict[str, Any]:
        """Return the entry of the next line, or raise ValueError if it is damaged."""
        text, mark, end = line.rpartition(SEAL)
        if not mark and not self.is_begun:
            self._sum.update(line)
        elif not mark or mark + end != self._end_of(text):
            raise ValueError("it is damaged: a line does not go with its checksum")
        entry = _parse(line)
        if not isinstance(entry, dict):
            raise ValueError(f"it is damaged: a line is {entry!r}")
        return entry

    def _end_of(self, line: bytes) -> bytes:
        """Add a line to the sum, and return how it ends."""
        self._sum.update(line)
        self.is_begun = True
        return SEAL + self._sum.hexdigest().encode("ascii") + b'"}\n'


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes to a file atomically, so that a complete file exists at every moment.

    Parameters
    ----------
    path : path
        The file, which need not exist.
    data : bytes
        Content of the file.

    Raises
    ------
    OSError
        If the file cannot be written. The error has ``path``, not the temporary file.
    """
    given, path = str(path), Path(path)
    if path.exists() and not path.is_file():
        # A device or a pipe cannot be replaced: write to it.
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    mode = path.stat().st_mode & 0o7777 if path.exists() else None
    try:
        _replace_unseen(path, data, mode)
    except (AttributeError, OSError):
        try:
            _replace(path, data, mode)
        except OSError as error:
            if error.errno is None:
                raise
            # The user did not choose the name of the temporary file.
            raise type(error)(error.errno, error.strerror, given) from None
    _sync_directory(path.parent)


def _check_size(text: bytes, log: bytes) -> None:
    """Raise ValueError for a document and events larger than those of any run."""
    rest, size = _n_values(text), len(text) + len(log)
    values = rest + _n_values(log)
    if size > LARGEST_DOCUMENT or values > LARGEST_NUMBER_OF_VALUES:
        raise ValueError(
            f"a run of {values} values in {size} bytes is larger than a file may hold "
            f"({LARGEST_NUMBER_OF_VALUES} values, {LARGEST_DOCUMENT} bytes): pickle it"
        )
    if rest > LARGEST_REST:
        raise ValueError(
            f"apart from its events a run has more than {LARGEST_REST} values: pass arrays for "
            "long lists of numbers"
        )
    if log.count(b"\n") > MOST_EVENTS or max(map(len, io.BytesIO(log)), default=0) > LARGEST_EVENT:
        raise ValueError(
            f"a run has more than {MOST_EVENTS} events, or one of more than {LARGEST_EVENT} "
            "characters: pass arrays for long lists of numbers"
        )


def _n_values(text: bytes) -> int:
    """Return the largest possible number of values of a JSON text: commas and open brackets."""
    return sum(map(text.count, (b",", b"[", b"{")))


def _replace_unseen(path: Path, data: bytes, mode: int | None) -> None:
    """Replace a file by one without a name until it is complete, so that a kill leaves nothing.

    Linux supports this on most file systems.
    """

    def nameless(directory: str, flags: int) -> int:
        return os.open(directory, os.O_WRONLY | os.O_TMPFILE, 0o666)

    # A link cannot replace a file. A kill between the next two steps leaves the link, and the next
    # save removes it.
    name = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    beside = path.with_name(f".{name}.skgpb")
    with open(path.parent, "wb", opener=nameless) as file:
        _fill(file, data)
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        beside.unlink(missing_ok=True)
        # The link in /proc is followed only with a directory descriptor.
        os.link(f"/proc/self/fd/{file.fileno()}", beside, src_dir_fd=file.fileno())
    os.replace(beside, path)


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    """Replace a file by a temporary one, which remains only if the process is killed."""
    beside = path.with_name(f".{secrets.token_hex(8)}.skgpb")
    try:
        with open(beside, "xb") as file:
            _fill(file, data)
        if mode is not None:
            beside.chmod(mode)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _fill(file: BinaryIO, data: bytes) -> None:
    """Write data and force it to the disk."""
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _sync_directory(directory: Path) -> None:
    """Force the new name to the disk, if the system supports it."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


@contextmanager
def open_run(path: File) -> Iterator[tuple[dict[str, Any], Iterator[Any], Arrays]]:
    """Open a file; yield its document, its events, parsed one at a time, and its arrays.

    Every error in the block becomes a ``LoadError``, because damaged bytes can cause errors of
    any kind.
    """
    document: dict[str, Any] = {}
    is_open, given = hasattr(path, "read"), cast(Any, path)
    # os.fspath rejects numbers, which are open files.
    with nullcontext(given) if is_open else open(os.fspath(given), "rb") as file:
        try:
            if not (is_open or stat.S_ISREG(os.fstat(file.fileno()).st_mode)):
                raise ValueError("it is not a regular file")
            with zipfile.ZipFile(file) as archive:
                text, log = _member(archive, "run.json", LARGEST_DOCUMENT), b""
                has_log = "events.jsonl" in archive.namelist()
                if has_log:
                    log = _member(archive, "events.jsonl", LARGEST_DOCUMENT - len(text))
                _check_size(text, log)
                document = _document(text)
                events = map(_parse, io.BytesIO(log)) if has_log else iter(document["events"])
                if document["version"] == 1 or not has_log:
                    events = map(_of_version_1, events)
                    now = {name: _of_version_1(document[name]) for name in ("parameters", "batch")}
                    document = {"times": [], **document, **now, "version": 1}
                yield document, events, Arrays(archive, _name_of(text, log))
        except MemoryError:
            raise
        except Exception as error:
            raise LoadError(
                f"{shown(path)} cannot be loaded as a saved run: {_age(document)}{reason_of(error)}"
            ) from error


def reason_of(error: Exception) -> str:
    """Return why a file cannot be read, for messages."""
    # Messages of libraries about damage are in their own terms, not about the file.
    is_clear = isinstance(error, (ValueError, TypeError)) and not isinstance(error, BYTES_TOLD)
    return str(error) if is_clear else "it is damaged, incomplete or another kind of file"


def _of_version_1(value: Any) -> Any:
    """Return the JSON value of version 2 for one of version 1."""
    if isinstance(value, list):
        return [_of_version_1(each) for each in value]
    if not isinstance(value, dict):
        return value
    now = {
        RENAMED.get(name, name): _of_version_1(each)
        for name, each in value.items()
        if name not in GONE or each is not None
    }
    if now.get("query") == "Layout" and len(now["arguments"]) == 5 and not now["arguments"][3]:
        del now["arguments"][3]  # a removed parameter: whether rows are discs
    return now


def check_version(version: Any) -> None:
    """Raise ValueError for an invalid version, or one that is newer than this library."""
    if type(version) is not int or version < 1:
        raise ValueError(
            f"the version of its format must be a whole number from 1 to {VERSION}, got {version!r}"
        )
    if version > VERSION:
        raise ValueError(
            f"it has version {version} of the format, which is newer than this skgpb "
            f"({__version__}); it reads versions 1 to {VERSION}"
        )


def _age(document: dict[str, Any]) -> str:
    """Return a text that another version of the library saved a file; empty for this version."""
    writer = str(document.get("skgpb", __version__))
    here, saved = (VERSION, __version__), (document.get("version", VERSION), writer)
    if saved == here:
        return ""
    is_older = saved[0] < VERSION or _numbers(writer) < _numbers(__version__)
    age = "older" if is_older else "newer"
    return (
        f"it was saved by skgpb {writer} in version {saved[0]} of the format, {age} than this one "
        f"({__version__}, version {VERSION}): "
    )


def _numbers(version: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", version)]


def shown(path: File) -> str:
    """Return the name of a file in messages."""
    return repr(path if hasattr(path, "read") else os.fspath(path))


def read_notes(path: File) -> dict[str, Any]:
    """Return the notes that were saved with a run; empty without notes.

    Parameters
    ----------
    path : path or binary file
        A file written by ``save`` of an optimizer.

    Returns
    -------
    notes : dict
        As passed to ``save``.

    Raises
    ------
    skgpb.exceptions.LoadError
        A ``ValueError``: the file is damaged or not a saved run.
    OSError
        If the file cannot be open_run.
    """
    with open_run(path) as (document, _, _):
        notes = document.get("notes", {})
        if not isinstance(notes, dict):
            raise ValueError(f"notes must be a dict, got {notes!r}")
        return notes


def _member(archive: zipfile.ZipFile, name: str, largest: int) -> bytes:
    """Read a member of at most ``largest`` bytes; zipfile never expands beyond the stated size."""
    info = archive.getinfo(name)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name} is compressed in a way that runs are not")
    if info.file_size > largest:
        raise ValueError(f"{name} has {info.file_size} bytes, at most {largest} are accepted")
    return archive.read(info)


def _parse(text: bytes) -> Any:
    """Return a parsed JSON text, without NaN and infinities."""
    return json.loads(text.decode("ascii"), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _document(text: bytes) -> dict[str, Any]:
    document = _parse(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    check_version(document["version"])
    return document


class Arrays:
    """Arrays of an archive by name, read-only, each read once, at its first access.

    Parameters
    ----------
    archive : ZipFile
        The file.
    run : str
        Name of its run, by which the snapshot identifies it.
    """

    def __init__(self, archive: zipfile.ZipFile, run: str) -> None:
        self._archive = archive
        self._run = run
        self._known: dict[str, np.ndarray] = {}
        self._room = LARGEST_ARRAYS

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._known:
            data = _member(self._archive, f"{name}.npy", self._room)
            self._room -= len(data)
            self._known[name] = _array_from(data)
        return self._known[name]

    def snapshot(self) -> Any:
        """Return the encoded snapshot of this run; None if there is none."""
        if "snapshot.json" not in self._archive.namelist():
            return None
        text = _member(self._archive, "snapshot.json", LARGEST_DOCUMENT)
        if _n_values(text) > LARGEST_REST:
            raise ValueError(f"its snapshot has more than {LARGEST_REST} values")
        beside = _parse(text)
        return beside.get("fields") if beside["of"] == self._run else None


def _array_from(data: bytes) -> np.ndarray:
    """Return the array of an .npy member over its bytes, without trusting its header."""
    file = io.BytesIO(data)
    headers = np.lib.format
    read = {(1, 0): headers.read_array_header_1_0, (2, 0): headers.read_array_header_2_0}
    shape, is_fortran, dtype = read[headers.read_magic(file)](file)
    if dtype.kind not in KINDS or not dtype.itemsize:
        raise ValueError(f"arrays of {dtype} are not accepted")
    array = np.ndarray(
        shape, dtype, buffer=data, offset=file.tell(), order="F" if is_fortran else "C"
    )
    return np.require(array, requirements="A")


def encode_parameters(
    writer: Writer, parameters: dict[str, Any], omit: Collection[str]
) -> dict[str, Any]:
    """Encode constructor parameters except those in ``omit``; an error names the parameter."""
    unknown = sorted(set(omit) - set(parameters))
    if unknown:
        raise ValueError(f"omit names {unknown}, but the parameters are {sorted(parameters)}")
    return {
        name: writer.encode(value, name) for name, value in parameters.items() if name not in omit
    }
