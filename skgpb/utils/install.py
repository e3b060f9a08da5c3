"""Commands that install a missing package in the environment of skgpb."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec


@contextmanager
def needs(what: str, library: str, extra: str, otherwise: str = "") -> Iterator[None]:
    """Raise an error with the command that installs a library, if its import fails in the block.

    Parameters
    ----------
    what, library : str
        Feature that needs the library, and its name.
    extra : str
        See :func:`install_command`.
    otherwise : str, default=""
        Alternative, after a comma.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"{what} needs {library}, which is not installed: {install_command(extra)}{otherwise}"
        ) from error


def install_command(extra: str) -> str:
    """Return a command that installs the packages of an extra beside skgpb.

    It has the names of the packages instead of the extra, because skgpb may be installed from a
    file or a folder that the package index does not have.

    Parameters
    ----------
    extra : str
        Name of the extra, such as "tables".

    Returns
    -------
    command : str
        Command for any shell.
    """
    packages = " ".join(_quote(package) for package in _packages(extra))
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx inject {os.path.basename(sys.prefix)} {packages}"
    python = shutil.which("python")
    is_ours = python is not None and os.path.realpath(os.path.dirname(python)) == os.path.realpath(
        os.path.dirname(sys.executable)
    )
    if find_spec("pip") is None:  # as in environments made by uv
        return f"uv pip install --python {_quote(sys.executable)} {packages}"
    return f"{'python' if is_ours else _quote(sys.executable)} -m pip install {packages}"


def _packages(extra: str) -> list[str]:
    """Return the packages of an extra; the extra itself if the metadata has none."""
    try:
        required = requires("skgpb") or []
    except PackageNotFoundError:
        required = []
    of_extra = [each.partition(";") for each in required]
    mark = f"extra=={extra}"
    found = [
        name.strip()
        for name, _, condition in of_extra
        if mark in condition.replace(" ", "").replace('"', "").replace("'", "")
    ]
    return found or [f"skgpb[{extra}]"]


def _quote(text: str) -> str:
    return f'"{text}"' if set(text) - set(_PLAIN) else text


_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"
