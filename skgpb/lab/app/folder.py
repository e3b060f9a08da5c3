"""The experiments of a folder: a list of them, and the pages of each below its name."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flask import Flask, redirect, render_template, request

from skgpb._version import __version__
from skgpb.lab.app.forms import Form, sentence
from skgpb.lab.app.guard import REFUSALS, Guard, reason_of, without_folders
from skgpb.lab.app.pages import guarded_app, make_app
from skgpb.lab.experiments.listed import ENDING, experiment_in
from skgpb.lab.experiments.sides import format_value
from skgpb.lab.experiments.texts import to_one_line

# Experiments whose pages, and whose rows of the list, are kept.
KEPT = 64
# Names that are valid on every system and do not lead to another folder.
NAME = re.compile(r"[^/\\:*?\"<>|\x00-\x1f\ud800-\udfff.][^/\\:*?\"<>|\x00-\x1f\ud800-\udfff]*")
# Bytes of a name: a file beside it has a name with six more, and file systems take 255.
LONGEST = 249


def make_folder_app(folder: str | os.PathLike[str], hosts: Iterable[str] = ()) -> Flask:
    """Return the web application of all experiments of a folder.

    Parameters
    ----------
    folder : path
        Files in it that end in .skgpb are experiments.
    hosts : iterable of str, default=()
        As for :func:`~skgpb.lab.app.pages.make_app`.

    Returns
    -------
    app : Flask
    """
    guard = Guard(hosts)
    app = guarded_app(guard)
    pages = Folder(Path(folder), guard)
    app.add_url_rule("/", "list", pages.index)
    for code in REFUSALS:
        app.register_error_handler(code, pages.refused)
    app.register_error_handler(OSError, pages.unreadable)
    app.wsgi_app = pages.behind(app.wsgi_app)  # type: ignore[method-assign]
    return app


class Folder:
    """The list of the experiments of a folder, and the way to each.

    Parameters
    ----------
    folder : Path
        Folder with the experiments.
    guard : Guard
        Guard of the list and of all experiments.
    """

    def __init__(self, folder: Path, guard: Guard) -> None:
        self._folder, self._guard = folder, guard
        self._app_of = lru_cache(KEPT)(self._make_app)
        self._row_of = lru_cache(KEPT)(self._read_row)

    def behind(self, own: Callable[..., Any]) -> Callable[..., Any]:
        """Return a WSGI application that passes requests below a name to its experiment."""

        def application(environ: dict[str, Any], start_response: Any) -> Any:
            first, _, rest = environ["PATH_INFO"].lstrip("/").partition("/")
            name = first.encode("latin-1").decode("utf-8", "replace")
            if not _is_name(name):
                return own(environ, start_response)
            environ["SCRIPT_NAME"] = f"{environ.get('SCRIPT_NAME', '')}/{first}"
            environ["PATH_INFO"] = f"/{rest}"
            return self._app_of(name)(environ, start_response)

        return application

    def _make_app(self, name: str) -> Flask:
        return make_app(self._folder / name, guard=self._guard, home="/")

    def index(self) -> Any:
        """Show all experiments; a typed name leads to the form of a new one."""
        form = Form.of("begin", request.args)
        name = form.text("name").removesuffix(ENDING) + ENDING
        if not form.text("name"):
            return self._show(form)
        if not _is_name(name):
            form.errors["name"] = (
                'Please leave out / \\ : * ? " < > |, and dots at the beginning.'
                if len(name.encode()) <= LONGEST
                else "This name is too long: please give a shorter one."
            )
            return self._show(form, 422)
        return redirect(f"/{quote(name)}/", 303)

    def _show(self, form: Form, status: int = 200) -> Any:
        names = [name for name in sorted(os.listdir(self._folder)) if name.endswith(ENDING)]
        # A hidden file is not shown, and a name that no address can have leads nowhere.
        every = [
            (name, self._row(name) if _is_name(name) else None)
            for name in names
            if not name.startswith(".")
        ]
        experiments = [(f"/{quote(name)}/", row) for name, row in every if row is not None]
        unread = [to_one_line(name) for name, row in every if row is None]
        return self._page("list.html", status, form=form, experiments=experiments, unread=unread)

    def _row(self, name: str) -> dict[str, Any] | None:
        """Return the row of an experiment in the list, None if it cannot be read."""
        path = self._folder / name
        try:
            seen = hashlib.sha256(path.read_bytes()).digest(), path.stat().st_mtime_ns
        except OSError:
            return None
        return self._row_of(name, *seen)

    def _read_row(self, name: str, digest: bytes, changed: int) -> dict[str, Any] | None:
        """Read a file; the digest tells whether the kept result is still valid."""
        row = experiment_in(self._folder / name)
        if row is None:
            return None
        best = row["best_answer"]
        said = "none yet" if best is None else f"{format_value(best)} {row['unit']}".strip()
        return {**row, "best": said}

    def _page(self, template: str, status: int, **values: Any) -> tuple[str, int]:
        path = self._folder.absolute()
        name, path_shown = to_one_line(path.name), to_one_line(str(path))
        common = {"name": name, "path": path_shown, "version": __version__}
        return without_folders(render_template(template, **common | values), self._folder), status

    def refused(self, error: Any) -> Any:
        """Say why a request is refused; strangers do not learn the name of the folder."""
        values = {"name": "skgpb", "path": ""} if error.code == 403 else {"home": "/"}
        return self._page("problem.html", error.code, error=reason_of(error), **values)

    def unreadable(self, error: OSError) -> Any:
        """Say why the folder cannot be read."""
        return self._page("problem.html", 500, error=sentence(error.strerror or error), home="/")


def _is_name(name: str) -> bool:
    """Return whether this may be the name of an experiment in a folder."""
    is_plain = name.endswith(ENDING) and NAME.fullmatch(name) is not None
    return is_plain and len(name.encode()) <= LONGEST
