"""The app of a folder: a list of its experiments, and the pages of each under its name."""

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

from skgpb import __version__
from skgpb.lab.app.forms import Form, sentence
from skgpb.lab.app.guard import REFUSALS, Guard, refusal_reason, remove_folders
from skgpb.lab.app.pages import guarded_app, make_app
from skgpb.lab.experiments.listed import ENDING, experiment_in
from skgpb.lab.experiments.sides import format_value
from skgpb.lab.experiments.texts import to_one_line

# Memory: experiments whose app and row of the list are in the caches.
CACHE_SIZE = 64
# File names that are valid on every system and do not lead to another folder.
NAME = re.compile(r"[^/\\:*?\"<>|\x00-\x1f\ud800-\udfff.][^/\\:*?\"<>|\x00-\x1f\ud800-\udfff]*")
# Limit: bytes of a name; its lock file has a name with six more, and file systems allow 255.
LONGEST = 249


def make_folder_app(folder: str | os.PathLike[str], hosts: Iterable[str] = ()) -> Flask:
    """Return the web application of all experiments of a folder.

    Parameters
    ----------
    folder : path
        Folder of the experiments, files that end in .skgpb.
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
        app.register_error_handler(code, pages.show_refusal)
    app.register_error_handler(OSError, pages.show_file_error)
    app.wsgi_app = pages.wrap_wsgi(app.wsgi_app)  # type: ignore[method-assign]
    return app


class Folder:
    """The list of the experiments of a folder, and the routing to the app of each.

    Parameters
    ----------
    folder : Path
        Folder with the experiments.
    guard : Guard
        Guard of the list and of all experiments.
    """

    def __init__(self, folder: Path, guard: Guard) -> None:
        self._folder, self._guard = folder, guard
        self._cached_app = lru_cache(CACHE_SIZE)(self._make_app)
        self._cached_row = lru_cache(CACHE_SIZE)(self._read_row)

    def wrap_wsgi(self, own: Callable[..., Any]) -> Callable[..., Any]:
        """Return a WSGI application that passes requests under a name to the app of that name.

        ``own`` gets all other requests.
        """

        def application(environ: dict[str, Any], start_response: Any) -> Any:
            first, _, rest = environ["PATH_INFO"].lstrip("/").partition("/")
            name = first.encode("latin-1").decode("utf-8", "replace")
            if not _is_name(name):
                return own(environ, start_response)
            environ["SCRIPT_NAME"] = f"{environ.get('SCRIPT_NAME', '')}/{first}"
            environ["PATH_INFO"] = f"/{rest}"
            return self._cached_app(name)(environ, start_response)

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
        # Leave out hidden files; names that no address can have count as unreadable.
        every = [
            (name, self._row(name) if _is_name(name) else None)
            for name in names
            if not name.startswith(".")
        ]
        experiments = [(f"/{quote(name)}/", row) for name, row in every if row is not None]
        unread = [to_one_line(name) for name, row in every if row is None]
        return self._page("list.html", status, form=form, experiments=experiments, unread=unread)

    def _row(self, name: str) -> dict[str, Any] | None:
        """Return the row of an experiment in the list; None if the file cannot be read."""
        path = self._folder / name
        try:
            seen = hashlib.sha256(path.read_bytes()).digest(), path.stat().st_mtime_ns
        except OSError:
            return None
        return self._cached_row(name, *seen)

    def _read_row(self, name: str, digest: bytes, changed: int) -> dict[str, Any] | None:
        """Read the row of an experiment; ``digest`` and ``changed`` are the key of the cache."""
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
        return remove_folders(render_template(template, **common | values), self._folder), status

    def show_refusal(self, error: Any) -> Any:
        """Show the reason for refusing a request; hide the folder's name from other sites."""
        values = {"name": "skgpb", "path": ""} if error.code == 403 else {"home": "/"}
        return self._page("problem.html", error.code, error=refusal_reason(error), **values)

    def show_file_error(self, error: OSError) -> Any:
        """Show the error of reading the folder."""
        return self._page("problem.html", 500, error=sentence(error.strerror or error), home="/")


def _is_name(name: str) -> bool:
    """Return whether a text is a valid name for the file of an experiment."""
    is_plain = name.endswith(ENDING) and NAME.fullmatch(name) is not None
    return is_plain and len(name.encode()) <= LONGEST
