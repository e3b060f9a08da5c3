"""The pages: the addresses that a browser may request, and the actions of each form."""

from __future__ import annotations

import io
import os
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from datetime import date
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from flask import Flask, Response, abort, redirect, render_template, request, send_file, url_for
from markupsafe import Markup
from werkzeug.routing import IntegerConverter

from skgpb import __version__
from skgpb.exceptions import LoadError
from skgpb.lab.app import forms, views
from skgpb.lab.app.forms import MOST_DIGITS, Form, Mistyped, read_place, sentence
from skgpb.lab.app.guard import REFUSALS, Guard, refusal_reason, remove_folders
from skgpb.lab.app.pictures import Paint, draw_replicates
from skgpb.lab.app.uploads import mark_table, open_table
from skgpb.lab.app.views import RunView
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.answers import range_ends, read_range
from skgpb.lab.experiments.export import as_csv, as_excel
from skgpb.lab.experiments.judge import describe_outcomes
from skgpb.lab.experiments.pictures import draw_progress, draw_trade_offs
from skgpb.lab.experiments.sides import format_value
from skgpb.lab.experiments.texts import to_one_line
from skgpb.plotting import PosteriorDisplay, SliceDisplay
from skgpb.plotting.themes import THEMES
from skgpb.utils.warnings import without_warnings

# Key of ``SAID`` for the report on the next page; number of the query, or "FIRST to LAST".
Said = tuple[str, int | str]
Change = Callable[[Any], Said]
# Fields of a new experiment, and words that identify the errors about them.
ABOUT = {
    "constraints": "constraint",
    "limits": "a limit",
    "score": "score",
    "goals": "goal",
    "costs": "cost",
    "block": "block",
}
# Limit: queries of one request; a plate has 24 or 96 wells.
MOST_AT_ONCE = 96
# Memory: pictures in the cache, two kinds on two kinds of page, for two states of the experiment.
KEPT_PICTURES = 8
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MISTYPED = "Nothing is saved yet: please look at what is marked below."
# Reports of the last action, by the parameter ``said`` of the address.
SAID = {
    "begun": "The experiment has begun.",
    "told": "The result of experiment {number} is saved.",
    "failed": "Experiment {number} is noted as failed.",
    "next": "The result of experiment {number} is saved, and the next one is suggested.",
    "corrected": "The result of experiment {number} is corrected.",
    "asked": "Experiment {number} is suggested.",
    "several": "Experiments {number} are suggested.",
    "undone": "The last entry, of experiment {number}, is taken back.",
    "skipped": "Experiment {number} is skipped.",
    "repeated": "Experiment {number} has the same settings once more.",
    "changed": "The changes are saved.",
    "added": "The results from the table are saved, {number} of them.",
    "some": "The results from the table are saved, {number} of them. Other rows are left out: they "
    "are listed below.",
}


class Stale(Exception):
    """Error of a form whose experiment has changed since its page was opened.

    Parameters
    ----------
    message : str
        Description of the change.
    number : int, default=None
        Number of the experiment whose page of corrections to show.
    """

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(message)
        self.number = number


def make_app(
    path: str | os.PathLike[str],
    hosts: Iterable[str] = (),
    *,
    guard: Guard | None = None,
    home: str | None = None,
) -> Flask:
    """Return the web application of an experiment.

    Parameters
    ----------
    path : path
        The file of the experiment; if it does not exist, the app shows the form of a new one.
    hosts : iterable of str, default=()
        Host names that browsers may use, in addition to localhost and all IP addresses.
    guard : Guard, default=None
        Guard shared with other experiments; None for a new guard with ``hosts``.
    home : str, default=None
        Address of the list of all experiments, if there is one.

    Returns
    -------
    app : Flask
    """
    guard = guard or Guard(hosts)
    app = guarded_app(guard)
    pages = Pages(Path(path), guard, home)
    for code in REFUSALS:
        app.register_error_handler(code, pages.show_refusal)
    for error in (OSError, LoadError):
        app.register_error_handler(error, pages.show_file_error)
    rules: list[tuple[str, str, Any, list[str]]] = [
        ("/", "run", pages.run, ["GET"]),
        ("/new", "new", pages.new, ["POST"]),
        ("/ask", "ask", pages.ask, ["POST"]),
        ("/tell/<int:number>", "tell", pages.tell, ["POST"]),
        ("/tell", "own", pages.own, ["POST"]),
        ("/correct/<int:number>", "correct", pages.correct, ["GET", "POST"]),
        ("/repeat/<int:number>", "repeat", pages.repeat, ["POST"]),
        ("/undo", "undo", pages.undo, ["POST"]),
        ("/expect", "expect", pages.expect, ["GET"]),
        ("/change", "change", pages.change, ["GET", "POST"]),
        ("/add", "add", pages.add, ["GET", "POST"]),
        ("/map", "map", pages.map, ["GET"]),
        ("/map/<int:x>-<int:y>-<theme>.svg", "map_picture", pages.map_picture, ["GET"]),
        ("/picture/<kind>-<int:panel>-<theme>.svg", "picture", pages.picture, ["GET"]),
        ("/report.html", "report", pages.report, ["GET"]),
        ("/results.csv", "table", pages.table, ["GET"]),
        ("/results-comma.csv", "comma_table", pages.comma_table, ["GET"]),
        ("/results.xlsx", "excel", pages.excel, ["GET"]),
        ("/run.skgpb", "file", pages.file, ["GET"]),
    ]
    for rule, name, view, methods in rules:
        app.add_url_rule(rule, name, view, methods=methods)
    return app


def guarded_app(guard: Guard) -> Flask:
    """Return an application without pages, whose requests the guard checks."""
    app = Flask(__name__)
    app.url_map.converters["int"] = _Number
    app.jinja_options = {"trim_blocks": True, "lstrip_blocks": True}
    app.jinja_env.filters |= {each.__name__: each for each in views.FILTERS}
    guard.watch(app)
    return app


class _Number(IntegerConverter):
    """A whole number in an address."""

    regex = rf"\d{{1,{MOST_DIGITS}}}"


class Pages:
    """The pages of the app; one method for each address, which returns a page or a redirect.

    Parameters
    ----------
    path : Path
        The file of the experiment.
    guard : Guard
        Guard whose token is in the forms of these pages.
    home : str or None
        Address of the list of all experiments, if there is one.
    """

    def __init__(self, path: Path, guard: Guard, home: str | None) -> None:
        self._path, self._guard, self._home = path, guard, home
        self._experiment: Experiment | None = None
        self._draw_cached = lru_cache(KEPT_PICTURES)(self._draw)
        # Browsers request all panels of a picture at the same time: draw them once.
        self._drawing = Lock()

    def _check_token(self) -> None:
        """Raise Stale for a form of an earlier process; the page shows its typed texts again."""
        if not self._guard.is_own_token(request.form.get("token", "")):
            raise Stale(
                "The app was started again since this page was opened, and nothing was saved yet. "
                "What you typed is still here: look at it and press the button again."
            )

    # -- pages --------------------------------------------------------------------------------

    def run(self) -> Any:
        """Show the page of the experiment, or the form of a new one."""
        number, said = request.args.get("number", ""), SAID.get(request.args.get("said", ""), "")
        known = all(map(str.isdecimal, number.split(" to "))) or "{number}" not in said
        return self._show_run(said=said.format(number=number) if known else "")

    def _open_experiment(self) -> Experiment | None:
        """Return the experiment; None if its file does not exist."""
        if not self._path.exists():
            self._experiment = None
        elif self._experiment is None:
            self._experiment = Experiment(self._path)
        return self._experiment

    def _show_run(self, form: Form | None = None, *, status: int = 200, **values: Any) -> Any:
        """Return the page of the experiment; ``form`` replaces its form with the same id."""
        experiment = self._open_experiment()
        if experiment is None:
            return self._show_new(Form("new"), status=status, **values)
        run = RunView(experiment)

        def get_form(id: str) -> Form:
            typed = {"count": "1"} if id == "ask" else {}
            return form if form is not None and form.id == id else Form(id, typed)

        within = Form.of("stop", request.args if request.method == "GET" else {})
        verdict = None
        if run.best is not None:
            enough = within.number("within", "a number", required=False)
            verdict = experiment.may_stop(enough)
        return self._page(
            "run.html",
            status,
            run=run,
            get_form=get_form,
            within=within,
            verdict=verdict,
            has_excel=find_spec("openpyxl") is not None,
            **values,
        )

    def _show_new(self, form: Form, *, status: int = 200, **values: Any) -> Any:
        values |= {"kinds": forms.KINDS, "n_sides": forms.count_sides(form)}
        return self._page("new.html", status, form=form, **values)

    def _show_row(self, number: int, form: Form, *, status: int = 200, **values: Any) -> Any:
        """Return the page to correct a result, or the main page if there is no result."""
        experiment = self._open_experiment()
        run = None if experiment is None else RunView(experiment)
        row = next((row for row in run.rows if row["query"] == number), None) if run else None
        if row is not None:
            return self._page("correct.html", status, run=run, row=row, form=form, **values)
        # If the query is pending again, show the typed texts in its form.
        form.id = f"tell-{number}"
        if status == 200:
            status, values["error"] = 404, f"Experiment {number} has no result to be corrected."
        return self._show_run(form, status=status, **values)

    def _page(self, template: str, status: int, **values: Any) -> tuple[str, int]:
        common = {
            "name": to_one_line(self._path.name),
            "path": to_one_line(str(self._path.absolute())),
            "version": __version__,
            "token": self._guard.token,
            "home": self._home,
        }
        return remove_folders(render_template(template, **common | values), self._path), status

    def show_refusal(self, error: Any) -> Any:
        """Show the reason for refusing a request; hide file names from other sites."""
        hidden = {"name": "skgpb", "path": "", "token": "", "home": None}
        values = hidden if error.code == 403 else {}
        return self._page("problem.html", error.code, error=refusal_reason(error), **values)

    def show_file_error(self, error: Exception) -> Any:
        """Show the error of reading or writing the file, and a remedy."""
        advice = (
            "Put a copy of the file from before in its place, with the same name, and try again."
            if isinstance(error, LoadError)
            else "Nothing was changed. When the reason is gone, try again."
        )
        return self._page("problem.html", 500, error=_reason(error), advice=advice)

    # -- forms --------------------------------------------------------------------------------

    def _submit(
        self,
        form: Form,
        change: Change,
        number: int | None = None,
        *,
        show: Any = None,
        exclusive: bool = True,
    ) -> Any:
        """Run the action of a form and redirect, or show the form again with its errors.

        Parameters
        ----------
        form : Form
        change : callable
            The action; it takes the experiment and returns the report for the next page.
        number : int, default=None
            Number of the experiment whose correction the form is; None for other forms.
        show : callable, default=None
            Function that returns the page with the form; None for the page of the experiment.
        exclusive : bool, default=True
            Whether to hold the lock of the file during the whole action. False for actions that
            read a table for long: then only the changes themselves lock the file.
        """
        experiment = self._open_experiment()
        if show is None:
            show = partial(self._show_run, form)
        if number is not None:
            show = partial(self._show_row, number, form)
        try:
            self._check_token()
            if experiment is None and form.id != "new":
                raise Stale(
                    f"The file {to_one_line(self._path.name)} is gone, and nothing was changed."
                )
            with experiment.exclusive() if experiment and exclusive else nullcontext():
                said, about = change(experiment)
        except Stale as error:
            if error.number is not None:
                show = partial(self._show_row, error.number, form)
            return show(status=409, error=str(error))
        except Mistyped:
            return show(status=422, error=MISTYPED)
        except LoadError:
            raise
        except (OSError, ValueError) as error:
            return show(status=422, error=_reason(error))
        return redirect(url_for("run", said=said, number=about), 303)

    def _current(self, experiment: Experiment, number: int, form: Form) -> dict[str, Any]:
        """Return the entry of a form; raise Stale if it has changed since the page was opened."""
        entries = [entry for entry in experiment.history() if entry["query"] == number]
        typed = f" You typed {form.text('value')}." if form.text("value") else ""
        if not entries:
            raise Stale(f"There is no experiment {number} any more, and nothing was saved.{typed}")
        (entry,) = entries
        if views.digest(entry) == form.text("seen"):
            return entry
        if entry["status"] == "pending":
            raise Stale(
                f"The result of experiment {number} was taken back, or its settings changed, since "
                f"this page was opened, and nothing was saved.{typed} Look at it and save it again."
            )
        raise Stale(
            f"Since this page was opened experiment {number} was saved as "
            f"{views.result_text(entry)}, in another window or by another program; what you did "
            f"here was not.{typed} Save it as a correction, or leave it as it is.",
            number,
        )

    def new(self) -> Any:
        """Create an experiment, or add a row to its form."""
        form = Form.of("new", request.form)
        if form.text("outcome") == "more":
            form.typed["n_sides"] = str(min(forms.count_sides(form) + 1, forms.MOST_SIDES))
            return self._show_new(form)

        def change(_: Any) -> Said:
            if self._path.exists():
                raise Stale(
                    f"{self._path.name} was begun elsewhere since this page was opened, and "
                    "nothing was changed. Open the first page again to see it."
                )
            self._begin(form)
            return "begun", 0

        return self._submit(form, change, show=partial(self._show_new, form), exclusive=False)

    def _begin(self, form: Form) -> None:
        """Create an experiment from a form, with the past results in its table."""
        settings = forms.read_new(form)
        skip = form.text("skip_outside") == "yes"
        table = None
        try:
            with open_table(form) as table:
                # The page lists the rows that are left out: no warnings in the terminal.
                without_warnings(
                    UserWarning,
                    partial(Experiment.create, self._path, **settings),
                    data=table,
                    skip_outside=skip,
                )
        except ValueError as error:
            if table is not None or request.files.get("file"):
                mark_table(form, error, table)
            else:
                fields = (f for f, words in ABOUT.items() if settings[f] and words in str(error))
                field = next(fields, None)
                if field is None:
                    raise
                form.errors[field] = sentence(error)
        form.check()

    def ask(self) -> Any:
        """Ask for more queries."""
        form = Form.of("ask", request.form)

        def change(experiment: Experiment) -> Said:
            count = forms.read_count(form, MOST_AT_ONCE)
            if form.text("seen") != views.digest_of_pending(experiment.history()):
                raise Stale(
                    "What is to be done has changed since this page was opened, and nothing more "
                    "was suggested. Look at it and press the button again if you need more."
                )
            fixed = forms.read_fixed(form, experiment.sides)
            shared = forms.read_shared(form, experiment.sides)
            queries = experiment.ask(count, another=True, fixed=fixed, shared=shared)
            first, last = (queries[i]["query"] for i in (0, -1))
            return ("asked", first) if first == last else ("several", f"{first} to {last}")

        return self._submit(form, change)

    def tell(self, number: int) -> Any:
        """Tell the result of a query that was asked, its failure, or skip it."""
        form = Form.of(f"tell-{number}", request.form)

        def change(experiment: Experiment) -> Said:
            entry = self._current(experiment, number, form)
            record = forms.read_record(form, *views.requested_fields(experiment))
            form.check()
            if form.text("outcome") == "skip":
                experiment.skip(number, **record)
                return "skipped", number
            value, noise = read_result(form, experiment)
            at = forms.read_other_settings(form, experiment.sides, entry["params"])
            if value is None:
                experiment.fail(number, at=at, **record)
                return "failed", number
            forms.check_surprises(form, surprises_in(experiment, value, record, number, at))
            experiment.tell(value or None, number, at=at, noise=noise, **record)
            if form.text("outcome") != "next":
                return "told", number
            with suppress(ValueError):  # no query is left; the form for more shows the reason
                experiment.ask(another=True)
                return "next", number
            return "told", number

        return self._submit(form, change)

    def own(self) -> Any:
        """Tell a result at a setting that was not asked."""
        form = Form.of("own", request.form)

        def change(experiment: Experiment) -> Said:
            settings = forms.read_settings(form, experiment.sides)
            record = forms.read_record(form, *views.requested_fields(experiment))
            value, noise = read_result(form, experiment)
            if value is None:
                return "failed", experiment.fail(at=settings, **record)["query"]
            forms.check_surprises(form, surprises_in(experiment, value, record, None, settings))
            told = experiment.tell(value or None, at=settings, noise=noise, **record)
            return "told", told["query"]

        return self._submit(form, change)

    def correct(self, number: int) -> Any:
        """Show the form to correct a result, or apply the correction."""
        form = Form.of(f"correct-{number}", request.form)
        if request.method == "GET":
            form.typed = self._record_fields(number)
            return self._show_row(number, form)

        def change(experiment: Experiment) -> Said:
            entry = self._current(experiment, number, form)
            record = forms.read_record(form, *views.requested_fields(experiment))
            form.check()
            gone = {name: "" for name in entry["measured"] if name not in record["measured"]}
            record["measured"] |= gone
            value: Any = ...
            noise = None
            if form.text("value") or form.text("outcome") == "failed":
                value, noise = read_result(form, experiment)
            at = forms.read_other_settings(form, experiment.sides, entry["params"])
            if value is not ... or at is not None:
                experiment.correct(number, value, at=at, noise=noise, by=form.text("by"))
            experiment.annotate(number, **record, by=form.text("by"))
            return "corrected", number

        return self._submit(form, change, number)

    def _record_fields(self, number: int) -> dict[str, str]:
        """Return the notes on a query as the fields of its form; empty without such a query."""
        experiment = self._require_experiment()
        for entry in experiment.history():
            if entry["query"] == number:
                return forms.record_fields(entry, *views.requested_fields(experiment))
        return {}

    def repeat(self, number: int) -> Any:
        """Ask for a replicate of a query."""
        form = Form.of(f"repeat-{number}", request.form)

        def change(experiment: Experiment) -> Said:
            return "repeated", experiment.repeat(number)["query"]

        return self._submit(form, change)

    def change(self) -> Any:
        """Show the form of the ranges and rules of the experiment, or change them."""
        form = Form.of("change", request.form)
        run = RunView(self._require_experiment())

        def show(status: int = 200, **values: Any) -> Any:
            return self._page(
                "change.html", status, run=run, form=form, kinds=forms.KINDS, **values
            )

        if request.method == "GET":
            form.typed = {name: text for side in run.sides for name, text in side.typed.items()}
            for name in ("constraints", "limits", "costs"):
                form.typed[name] = "\n".join(run.status[name])
            form.typed |= {name: run.status[name] for name in ("block", "answer_range", "score")}
            return show()

        def change(experiment: Experiment) -> Said:
            sides = forms.read_changed_sides(form, experiment.sides, experiment.earlier_sides)
            ends = form.take("answer_range", read_range)
            form.check()
            lists = ("constraints", "limits", "costs")
            rules: dict[str, Any] = {name: forms.read_lines(form, name) for name in lists}
            texts = ("block",) if run.status["goals"] else ("block", "score")
            rules |= {name: form.text(name) for name in texts}
            experiment.change(**sides, answer_range=ends, **rules)
            return "changed", 0

        return self._submit(form, change, show=show)

    def add(self) -> Any:
        """Show the form for a table, or add the results of a table, pasted or uploaded."""
        form = Form.of("add", request.form)
        run = RunView(self._require_experiment())

        def show(status: int = 200, **values: Any) -> Any:
            return self._page("add.html", status, run=run, form=form, **values)

        if request.method == "GET":
            return show()

        def change(experiment: Experiment) -> Said:
            skip, before = form.text("skip_outside") == "yes", len(experiment.left_out())
            table = None
            try:
                with open_table(form) as table:
                    if table is None:
                        raise ValueError("please paste a table, or choose a file")
                    add = partial(experiment.add_table, table, skip_outside=skip)
                    n = len(without_warnings(UserWarning, add))
            except ValueError as error:
                mark_table(form, error, table)
                raise Mistyped from None
            return "some" if len(experiment.left_out()) > before else "added", n

        return self._submit(form, change, show=show, exclusive=False)

    def expect(self) -> Any:
        """Show the prediction at the settings in a form."""
        experiment = self._require_experiment()
        form, run, found = Form.of("expect", request.args), RunView(experiment), None
        status, values = 200, dict[str, Any]()
        if form.typed:
            try:
                settings = forms.read_settings(form, experiment.sides)
                form.check()
                found = experiment.expect(settings)
            except Mistyped:
                status, values = 422, {"error": "Please look at what is marked below."}
            except ValueError as error:
                status, values = 422, {"error": sentence(error)}
        elif run.best is not None:
            best = run.best["params"].values()
            form.typed = {f"side{i}": format_value(value) for i, value in enumerate(best)}
        values["of_limits"] = [] if found is None else describe_outcomes(found)
        values["scatter"] = "" if found is None else views.describe_scatter(found)
        return self._page("expect.html", status, run=run, form=form, found=found, **values)

    def undo(self) -> Any:
        """Undo the last answer or failure."""
        form = Form.of("undo", request.form)

        def change(experiment: Experiment) -> Said:
            if form.text("seen") != views.digest_of_results(experiment.history()):
                raise Stale(
                    "Results were saved or changed since this page was opened, and nothing was "
                    "taken back. Look at them and press the button again."
                )
            return "undone", experiment.undo(by=form.text("by"))["query"]

        return self._submit(form, change)

    # -- pictures and downloads ---------------------------------------------------------------

    def picture(self, kind: str, panel: int, theme: str) -> Any:
        """Return a panel of a picture of the present experiment as SVG."""
        run = RunView(self._require_experiment())
        panels = {each.kind: each.panels for each in run.pictures}
        if theme not in THEMES or panel >= panels.get(kind, 0):
            return abort(404, "There is no such picture.")
        with self._drawing:
            svg = self._draw_cached(kind, theme, run.revision)[panel]
        return Response(svg, mimetype="image/svg+xml")

    def _draw(self, kind: str, theme: str, revision: str, *sides: int) -> list[bytes]:
        """Return the panels of a picture as SVG; the arguments are the key of the cache."""
        experiment = self._require_experiment()
        run, optimizer = RunView(experiment), experiment.optimizer
        what, direction = run.outcome, run.status["direction"]
        of_all: dict[str, Any] = {
            "value_name": what,
            "value_range": range_ends(run.status["answer_range"]),
        }
        of_map: dict[str, Any] = {"features": sides, "grid_resolution": 60, **of_all}
        paint: dict[str, Paint] = {
            "progress": lambda axes: draw_progress(axes[0], experiment.history(), direction, what),
            "replicates": lambda axes: draw_replicates(axes[0], run.replicates, what),
            "trade-offs": lambda axes: draw_trade_offs(axes[0], run.trade_offs or {}),
            "slices": lambda axes: SliceDisplay.from_optimizer(optimizer, axes, **of_all),
            "map": lambda axes: PosteriorDisplay.from_optimizer(optimizer, axes[0], **of_map),
        }
        picture = run.map(*sides) if sides else {each.kind: each for each in run.pictures}[kind]
        return picture.draw(paint[kind], theme)

    def map(self) -> Any:
        """Show the map of two settings."""
        run = RunView(self._require_experiment())
        form = Form.of("map", request.args)
        d, default = len(run.sides), {"x": "0", "y": "1"}
        form.typed = {name: form.text(name) or value for name, value in default.items()}
        x, y = (read_place(form.text(name), d) for name in ("x", "y"))
        picture = None
        if run.best is None:
            form.errors["x"] = "There is no result yet that a map could show."
        elif not (x < d and y < d and x != y):
            form.errors["y"] = "Please choose two different settings."
        else:
            picture = run.map(x, y)
        values = {"picture": picture, "x": x, "y": y}
        return self._page("map.html", 200, run=run, form=form, **values)

    def map_picture(self, x: int, y: int, theme: str) -> Any:
        """Return a map of the present experiment as SVG."""
        run = RunView(self._require_experiment())
        d = 0 if run.best is None else len(run.sides)
        if theme not in THEMES or not (x < d and y < d and x != y):
            return abort(404, "There is no such picture.")
        svg = self._draw_cached("map", theme, run.revision, x, y)[0]
        return Response(svg, mimetype="image/svg+xml")

    def report(self) -> Any:
        """Download the experiment as one self-contained page, readable without this app."""
        run = RunView(self._require_experiment())

        def data_uri(kind: str, panel: int, theme: str) -> str:
            svg = self._draw_cached(kind, theme, run.revision)[panel]
            return "data:image/svg+xml;base64," + b64encode(svg).decode("ascii")

        style = Markup((Path(__file__).parent / "static" / "app.css").read_text(encoding="utf-8"))
        today = date.today().isoformat()
        values = {"run": run, "data_uri": data_uri, "style": style, "date": today}
        html, _ = self._page("report.html", 200, **values)
        return self._download(html, "text/html", "-report.html")

    def table(self) -> Any:
        """Download the table as CSV with commas and decimal points."""
        return self._download(as_csv(self._require_experiment()), "text/csv", ".csv")

    def comma_table(self) -> Any:
        """Download the table as CSV with semicolons and decimal commas."""
        data = as_csv(self._require_experiment(), decimal_comma=True)
        return self._download(data, "text/csv", "-comma.csv")

    def excel(self) -> Any:
        """Download the table as an Excel file."""
        try:
            data = as_excel(self._require_experiment())
        except ImportError as error:
            return abort(404, sentence(error))
        return self._download(data, EXCEL, ".xlsx")

    def file(self) -> Any:
        """Download the file itself, which is always complete: writing replaces it in one step."""
        self._require_experiment()
        data = self._path.read_bytes()
        return self._download(data, "application/octet-stream", self._path.suffix)

    def _require_experiment(self) -> Experiment:
        """Return the experiment; abort with 404 if its file does not exist."""
        experiment = self._open_experiment()
        if experiment is None:
            return abort(404, f"The file {to_one_line(self._path.name)} does not exist yet.")
        return experiment

    def _download(self, content: str | bytes, mimetype: str, ending: str) -> Response:
        """Return a response that a browser saves under the name of the experiment's file."""
        data = io.BytesIO(content.encode() if isinstance(content, str) else content)
        name = to_one_line(self._path.stem) + ending
        return send_file(data, mimetype, as_attachment=True, download_name=name)


def read_result(form: Form, experiment: Experiment) -> tuple[str | None, float | None]:
    """Return the answer in a form and its standard error, see :func:`read_outcome`."""
    status = experiment.status()
    what, is_scored = views.outcome_label(status), bool(status["score"])
    return forms.read_outcome(form, what, status["unit"], is_scored)


def surprises_in(
    experiment: Experiment,
    value: str,
    record: dict[str, Any],
    number: int | None,
    at: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the expected ranges of probable typos, see ``Experiment.surprise``, by field names."""
    found = experiment.surprises(record["measured"], number)
    names, _ = views.requested_fields(experiment)
    fields = {f"limited{i}": found.get(name) for i, name in enumerate(names)}
    return fields | {"value": experiment.surprise(value, number, at=at) if value else None}


def _reason(error: Exception) -> str:
    """Return the reason of an error as a sentence."""
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return sentence(f"{name}{error.strerror}")
    return sentence(error)
