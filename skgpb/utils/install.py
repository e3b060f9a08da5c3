"""How a package that is missing is installed where skgpb is."""

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
    """Say how to install a library, if it is missing when it is imported in a ``with`` block.

    Parameters
    ----------
    what, library : str
        What needs it, and its name.
    extra : str
        As of :func:`install_command`.
    otherwise : str, default=""
        What else helps, behind a comma.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"{what} needs {library}, which is not installed: {install_command(extra)}{otherwise}"
        ) from error


def install_command(extra: str) -> str:
    """Return a command that installs the packages of an extra beside skgpb.

    It names the packages and not the extra, because skgpb may come from a file or a folder of which
    the index of packages does not know.

    Parameters
    ----------
    extra : str
        Such as "tables".

    Returns
    -------
    command : str
        For any shell.
    """
    packages = " ".join(_quoted(package) for package in _packages(extra))
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx inject {os.path.basename(sys.prefix)} {packages}"
    python = shutil.which("python")
    is_ours = python is not None and os.path.realpath(os.path.dirname(python)) == os.path.realpath(
        os.path.dirname(sys.executable)
    )
    if find_spec("pip") is None:  # as in environments made by uv
        return f"uv pip install --python {_quoted(sys.executable)} {packages}"
    return f"{'python' if is_ours else _quoted(sys.executable)} -m pip install {packages}"


def _packages(extra: str) -> list[str]:
    """Return what an extra requires, or the extra itself where nothing is known of it."""
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


def _quoted(text: str) -> str:
    return f'"{text}"' if set(text) - set(_PLAIN) else text


_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"
