"""Runs as files: JSON and arrays in a zip archive, written atomically, read without running code.

A file holds what a run *is*, not how a version of skgpb represents it: the constructor's
parameters, and in order every fit, every query asked, every answer, failure and learned set of
hyperparameters, all numbers exactly. Loading replays them, so that a later version can as well.

The layout, version 1: a zip archive, which ``numpy.load`` opens too, with a member ``run.json``
and one ``.npy`` member for each array that it refers to as ``{"array": name}``.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.gaussian_process.kernels as sklearn_kernels
from sklearn.gaussian_process.kernels import Kernel

FORMAT, VERSION = "skgpb run", 1
# Arrays of at most so many numbers are written into the JSON itself.
SMALL = 16

_KERNELS: dict[str, type[Kernel]] = {}


def register_kernel(cls: type[Kernel]) -> type[Kernel]:
    """Let runs with a kernel of your own be saved; load them where it is registered as well.

    Parameters
    ----------
    cls : subclass of sklearn.gaussian_process.kernels.Kernel
        It is known in files by its name, and rebuilt from its ``get_params(deep=False)``.

    Returns
    -------
    cls : the class itself, so that this also is a decorator.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.persistence import register_kernel
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

    for module in (sklearn_kernels, skgpb.kernels):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Kernel) and value is not Kernel:
                _KERNELS.setdefault(value.__name__, value)


class Writer:
    """Turns values into what JSON can hold, and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[bytes, str] = {}
        _register_known_kernels()

    def encode(self, value: Any, where: str) -> Any:
        """Return a JSON value; ``where`` names the parameter in error messages."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, float) and not isinstance(value, np.generic):
            # JSON has no NaN and no infinities.
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, int):
            return value
        if isinstance(value, np.generic):
            return {"scalar": value.dtype.str, "value": self.encode(value.item(), where)}
        if isinstance(value, (tuple, list)):
            items = [self.encode(item, where) for item in value]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, dict):
            items = [[self.encode(each, where) for each in pair] for pair in value.items()]
            return {"dict": items}
        if isinstance(value, Kernel):
            return self._kernel(value, where)
        if isinstance(value, np.random.RandomState):
            return {"RandomState": self.encode(value.get_state(legacy=False), where)}
        if isinstance(value, np.random.Generator):
            return {"Generator": self.encode(value.bit_generator.state, where)}
        if hasattr(value, "points") and hasattr(value, "__array__"):
            return self.query(value)
        if hasattr(value, "ask") and hasattr(value, "get_params"):
            parameters = value.get_params(deep=False)
            encoded = {key: self.encode(v, f"{where}.{key}") for key, v in parameters.items()}
            return {"optimizer": type(value).__name__, "parameters": encoded}
        if hasattr(value, "__array__"):
            array = np.asarray(value)
            if array.dtype.kind in "biufUS":
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
                "not know: register it with skgpb.persistence.register_kernel, before saving and "
                f"before loading; or pass omit=[{where.split('.')[0]!r}] to save, and the kernel "
                "itself to load"
            )
        parameters = kernel.get_params(deep=False)
        encoded = {key: self.encode(v, f"{where}.{key}") for key, v in parameters.items()}
        return {"kernel": name, "parameters": encoded}

    def query(self, query: Any) -> dict[str, Any]:
        """Encode a query by the arguments from which its class rebuilds it."""
        cls, arguments = query.__reduce__()
        return {"query": cls.__name__, "arguments": self.encode(list(arguments), "query")}


class Reader:
    """Turns what a file holds back into values; knows only the classes named here."""

    def __init__(
        self,
        arrays: dict[str, np.ndarray],
        queries: Iterable[type] = (),
        optimizers: Iterable[type] = (),
    ) -> None:
        self._arrays = arrays
        self._queries = {each.__name__: each for each in queries}
        self._optimizers = {each.__name__: each for each in optimizers}
        _register_known_kernels()

    def decode(self, value: Any) -> Any:
        """Inverse of ``Writer.encode``."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "float" in value:
            return float(value["float"])
        if "scalar" in value:
            return np.dtype(value["scalar"]).type(self.decode(value["value"]))
        if "tuple" in value:
            return tuple(self.decode(value["tuple"]))
        if "dict" in value:
            return {self.decode(key): self.decode(item) for key, item in value["dict"]}
        if "floats" in value:
            return np.array(value["floats"], dtype=np.float64).reshape(value["shape"])
        if "array" in value:
            return self._arrays[value["array"]].copy()
        if "RandomState" in value:
            state = np.random.RandomState()
            state.set_state(self.decode(value["RandomState"]))
            return state
        if "Generator" in value:
            return _generator(self.decode(value["Generator"]))
        if "kernel" in value:
            return self._kernel(value)
        if "query" in value:
            return self.query(value)
        if value.get("optimizer") in self._optimizers:
            parameters = {key: self.decode(item) for key, item in value["parameters"].items()}
            return self._optimizers[value["optimizer"]](**parameters)
        raise ValueError(f"not a value of a saved run: {value!r}")

    def _kernel(self, value: dict[str, Any]) -> Kernel:
        name = value["kernel"]
        if name not in _KERNELS:
            raise ValueError(
                f"the run has a kernel of the class {name}, which is not known here: register it "
                "with skgpb.persistence.register_kernel before loading"
            )
        return _KERNELS[name](**{k: self.decode(v) for k, v in value["parameters"].items()})

    def query(self, value: dict[str, Any]) -> Any:
        """Inverse of ``Writer.query``."""
        if value["query"] not in self._queries:
            raise ValueError(f"the run has a query of the unknown kind {value['query']!r}")
        return self._queries[value["query"]](*self.decode(value["arguments"]))


def _generator(state: dict[str, Any]) -> np.random.Generator:
    names = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
    if state["bit_generator"] not in names:
        raise ValueError(f"not a bit generator of NumPy: {state['bit_generator']!r}")
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


def write(path: str | os.PathLike, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a file so that at every moment, whatever fails, a whole one is there.

    It is written beside its place, forced to the disk and moved there in one step.
    """
    path = Path(path)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.json", json.dumps(document, allow_nan=False))
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            archive.writestr(f"{name}.npy", member.getvalue())
    descriptor, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(buffer.getvalue())
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Force the new name to the disk, where the system can."""
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


def read(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file, refusing what is none of ours or of a later version."""
    try:
        with zipfile.ZipFile(path) as archive:
            document = json.loads(archive.read("run.json"))
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{os.fspath(path)!r} is not a saved run: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{os.fspath(path)!r} is not a saved run")
    if document["version"] > VERSION:
        raise ValueError(
            f"{os.fspath(path)!r} was saved in version {document['version']} of the format, by "
            f"skgpb {document['skgpb']}; this skgpb reads versions up to {VERSION}"
        )
    return document, arrays


def encode_parameters(
    writer: Writer, parameters: dict[str, Any], omit: Collection[str]
) -> dict[str, Any]:
    """Encode constructor parameters but those in ``omit``; an error names the parameter."""
    unknown = sorted(set(omit) - set(parameters))
    if unknown:
        raise ValueError(f"omit names {unknown}, but the parameters are {sorted(parameters)}")
    return {
        name: writer.encode(value, name) for name, value in parameters.items() if name not in omit
    }
