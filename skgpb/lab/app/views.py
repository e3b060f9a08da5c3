"""Texts of the pages and the report, from the dicts that an experiment returns."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from skgpb.lab.app.forms import is_held, sentence, side_fields
from skgpb.lab.app.pictures import MAP_HEIGHT, Picture
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.blocks import describe_shift
from skgpb.lab.experiments.changes import describe_change
from skgpb.lab.experiments.judge import (
    answer_remark,
    describe_outcomes,
    describe_preferred_query,
    describe_surprise,
    limits_remark,
    scatter_interval,
)
from skgpb.lab.experiments.limits import describe_limit, parse_arithmetic, required_measurements
from skgpb.lab.experiments.plan import outcome_limits
from skgpb.lab.experiments.reasons import describe_reason
from skgpb.lab.experiments.sides import Side, format_estimate, format_percent, format_value
from skgpb.lab.experiments.texts import to_one_line
from skgpb.utils.typing import Limit

# A number or date with a hyphen, after which browsers may break a line: 1e-05, 2026-01-31.
WITH_HYPHEN = re.compile(r"\d[\w.]*(?:-\d+)+")

# Part of the captions of pictures of experiments with limits.
BEYOND = "Where it is shaded, a limit is probably not kept; the dotted line is its border."
# A number or a range of numbers; a name that begins with a digit is none.
NUMBER = re.compile(r"(-?\d[\d.]*(e[-+]?\d+)?)( to (-?\d[\d.]*(e[-+]?\d+)?))?")


def is_number(text: str) -> bool:
    """Return whether a text is a number or a range of numbers."""
    return bool(NUMBER.fullmatch(text))


def whole(text: str) -> Markup:
    """Return a text as HTML in which browsers break no number or date across lines."""
    span = '<span class="number">{}</span>'
    return Markup(WITH_HYPHEN.sub(lambda found: span.format(found[0]), str(escape(text))))


def result_text(entry: dict[str, Any]) -> str:
    """Return the answer of an entry with its noise as a text, or its status without an answer."""
    text = {"failed": "failed", "pending": "not yet", "skipped": "skipped"}.get(entry["status"])
    if text is None:
        text = f"{format_value(entry['answer'])}"
        if entry["noise"] is not None:
            text += f" ± {format_value(entry['noise'])}"
        text += answer_remark(entry)
    return text


def notes_text(entry: dict[str, Any]) -> str:
    """Return the note, measurements, operator and date of an entry as a text."""
    parts = [entry["note"], *(f"{n} = {format_value(v)}" for n, v in entry["measured"].items())]
    if several := entry["measurements"]:
        parts.insert(0, f"mean of {', '.join(map(format_value, several))}")
    return "; ".join(filter(None, [*parts, entry["operator"], entry["date"]]))


def digest(data: Any) -> str:
    """Return a hash of JSON data as a short text, to detect changes."""
    text = json.dumps(data, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def digest_of_results(entries: list[dict[str, Any]]) -> str:
    """Return a digest of all entries that are not pending."""
    return digest([entry for entry in entries if entry["status"] != "pending"])


def digest_of_pending(entries: list[dict[str, Any]]) -> str:
    """Return a digest of the pending queries."""
    return digest([entry for entry in entries if entry["status"] == "pending"])


def outcome_label(status: dict[str, Any]) -> str:
    """Return the name of the answers of an experiment, with their unit."""
    unit = f" ({status['unit']})" if status["unit"] else ""
    return (status["answer"] or "result") + unit


def requested_fields(experiment: Experiment) -> tuple[dict[str, Limit | None], str]:
    """Return the measurements for score, goals and limits, with limits, and the block's name."""
    limits = outcome_limits(experiment.optimizer)
    return {name: limits.get(name) for name in experiment.counted}, experiment.status()["block"]


@dataclass(frozen=True)
class SideView:
    """A side or a measurement as a field of a form and as the header of a column.

    ``typed`` are the texts of its fields in the form that changes the experiment.
    """

    label: str
    field: str
    hint: str
    choices: list[tuple[str, str]]
    typed: dict[str, str]


def _side_view(i: int, side: Side) -> SideView:
    """Return the view of side number i."""
    values = side.bounds if side.kind == "choice" and not is_held(side) else []
    choices = [(str(value), format_value(value)) for value in values]
    return SideView(side.name, f"side{i}", str(side), choices, side_fields(i, side))


class RunView:
    """Data and texts of the page of an experiment.

    Parameters
    ----------
    experiment : Experiment
        The experiment, which does not change.
    """

    def __init__(self, experiment: Experiment) -> None:
        status, entries = experiment.status(), experiment.history()
        self.title: str = status["title"] or to_one_line(experiment.path.name)
        self.outcome: str = outcome_label(status)
        #: The outcome as the label of a field, with a capital letter.
        self.label: str = self.outcome[:1].upper() + self.outcome[1:]
        extreme = "largest" if status["direction"] == "maximize" else "smallest"
        sought = f"{extreme} {status['answer'] or 'result'}"
        if status["goals"]:
            sought = f"best compromises between {' and '.join(status['goals'])}"
        self.aim: str = f"Looking for the {sought}"
        self.sides: list[SideView] = [
            _side_view(i, side) for i, side in enumerate(experiment.sides)
        ]
        self.pending: list[dict[str, Any]] = status["pending"]
        #: Reasons for the pending queries, as sentences, by their numbers.
        self.reasons: dict[int, list[str]] = {
            each["query"]: [sentence(line.strip()) for line in describe_reason(each)]
            for each in experiment.why()
        }
        #: Entries that are not pending, the last first.
        self.rows: list[dict[str, Any]] = [e for e in entries if e["status"] != "pending"][::-1]
        self.counts: str = _counts(status)
        self.revision: str = digest_of_results(entries)
        self.to_do: str = digest_of_pending(entries)
        self.best: dict[str, Any] | None = status["best"]
        #: Remarks on the recommendation, and on the limits at its setting.
        self.about: str = "" if self.best is None else _about(self.best, status["block"])
        self.of_limits: list[str] = [] if self.best is None else describe_outcomes(self.best)
        #: Result of :meth:`~skgpb.lab.experiments.Experiment.status`.
        self.status: dict[str, Any] = status
        #: Blocks: name, number of results, and shift as a text.
        self.blocks: list[tuple[str, int, str]] = [
            (each["block"], each["n_answers"], describe_shift(each)) for each in experiment.blocks()
        ]
        limits = [
            (
                f"{name}, " * bool(parse_arithmetic(name)) + describe_limit(limit),
                required_measurements([name]),
            )
            for name, limit in outcome_limits(experiment.optimizer).items()
        ]
        #: Measurements for the score and limits.
        self.limited: list[SideView] = [
            SideView(
                name,
                f"limited{i}",
                " ".join(f"Limit: {text}." for text, parts in limits if name in parts),
                [(value, value) for value in ("", "yes", "no")] if isinstance(limit, bool) else [],
                {},
            )
            for i, (name, limit) in enumerate(requested_fields(experiment)[0].items())
        ]
        self.trade_offs: dict[str, Any] | None = experiment.trade_offs()
        #: Rows of tables that were left out, with the reasons.
        self.left_out: list[str] = experiment.left_out()
        #: Corrections and other changes, rows of texts.
        self.changes: list[list[str]] = [describe_change(each) for each in experiment.changes()]
        #: Probable typos: number of the query, and a remark.
        self.questionable: list[tuple[int, str]] = [
            (each["query"], f"{format_value(each['answer'])} is unusual. {describe_surprise(each)}")
            for each in experiment.questionable()
        ]
        #: Settings that were measured several times.
        self.replicates: list[dict[str, Any]] = experiment.replicates()
        self.pictures: list[Picture] = []
        if self.best is not None:
            self.pictures = _pictures(self, self.best)

    def map(self, x: int, y: int) -> Picture:
        """Return the map over the sides number x and y."""
        one, two = self.sides[x].label, self.sides[y].label
        where = "" if self.best is None else _format_params(self.best["params"])
        return Picture(
            "map",
            f"The expected {self.outcome} over {one} and {two}, with the other settings as "
            f"recommended ({where}). Dots are experiments, at their values of these two settings. "
            + ("Constraints exclude the hatched part. " if self.status["constraints"] else "")
            + (BEYOND if self.status["limits"] else ""),
            f"Expected {self.outcome} over {one} and {two}; best at {where}.",
            inches=MAP_HEIGHT,
        )


def _counts(status: dict[str, Any]) -> str:
    """Describe the progress of an experiment: numbers of results, failures and pending queries."""
    results = status["n_answered"] + status["n_given"]
    parts = [f"{results} result{'' if results == 1 else 's'}"]
    if status["n_given"]:
        parts[0] += f", {status['n_given']} of them from before"
    if status["n_failed"]:
        parts.append(f"{status['n_failed']} failed")
    if status["n_skipped"]:
        parts.append(f"{status['n_skipped']} skipped")
    if status["spent"]:
        parts.append(f"{format_value(status['spent'])} spent")
    parts.append(f"{len(status['pending'])} to do")
    return "; ".join(parts) + "."


def _format_params(params: dict[str, Any]) -> str:
    """Format a setting in one line."""
    return ", ".join(f"{name} {format_value(value)}" for name, value in params.items())


def describe_scatter(found: dict[str, Any]) -> str:
    """Describe how much repeated results scatter; empty if they do not."""
    scatter = found["scatter"]
    if scatter is None:
        return "How much repeated results scatter is not known: nothing was repeated yet"
    if not scatter:
        return ""
    kind = f"standard deviation{scatter_interval(found)}"
    return f"Repeated results scatter by about {scatter:.2g} around their average ({kind})"


def _about(best: dict[str, Any], block: str) -> str:
    """Describe the answers behind the recommendation: number, best one, noise, caveats."""
    answered = best["best_answer"]
    n = best["n_answers"]
    about = (
        f"From {n} result{'' if n == 1 else 's'}. The best single one "
        f"{limits_remark(best)}is "
        f"{format_value(answered['answer'])}, of experiment {answered['query']}"
    )
    if scatter := describe_scatter(best):
        about += f". {scatter}"
    if best["between_blocks"] is not None:
        about += (
            f". Results shift by about {best['between_blocks']:.2g} from one {block} to another; "
            f"what is expected is for an average {block}"
        )
    if best["noise"]:
        about += (
            ". The best of many results is partly luck, so the expected result may be less good"
        )
    if best["beware"]:
        about += f". {best['beware']}"
    return " ".join([f"{about}.", *map(sentence, describe_preferred_query(best))])


def _pictures(run: RunView, best: dict[str, Any]) -> list[Picture]:
    """Return the pictures of an experiment with a result."""
    where, n_answered = _format_params(best["params"]), run.status["n_answered"]
    expected = best["mean"], *best["interval_95"]
    mean, low, high = (format_estimate(value, best["std"]) for value in expected)
    slices = Picture(
        "slices",
        f"The expected result along each setting, with the others as recommended ({where}). The "
        "band contains the true average with 95 % probability. A flat line means that the setting "
        "hardly matters there." + (f" {BEYOND}" if run.status["limits"] else ""),
        f"Expected {run.outcome} along each of {len(run.sides)} settings: best at {where}, with "
        f"{mean}, between {low} and {high}.",
        tuple(side.label for side in run.sides),
    )
    progress = Picture(
        "progress",
        "All results at the numbers of their experiments, without failed and skipped experiments, "
        "and the best one so far"
        + (" of those within the limits. Crosses are beyond one." if run.status["limits"] else "."),
        f"{run.label} of {n_answered} experiments in their order, and the best so far, which is "
        f"{format_value(best['best_answer']['answer'])}.",
    )
    pictures = [progress, slices] if n_answered else [slices]
    if run.trade_offs is not None and run.trade_offs["best"]:
        names = run.trade_offs["names"]
        numbers = ", ".join(map(str, run.trade_offs["best"]))
        share = format_percent(run.trade_offs["hypervolume"])
        within = " within the limits" if run.status["limits"] else ""
        more = "" if len(names) == 2 else f" Counting {' and '.join(names[2:])} as well."
        compromises = Picture(
            "trade-offs",
            f"The best compromises between {' and '.join(names)} are experiments {numbers}: no "
            f"other result{within} is better in everything. They cover {share} of what lies "
            f"between the worst and the best values.{more}"
            + (" Crosses are beyond a limit." if run.trade_offs["beyond"] else ""),
            f"{names[1]} over {names[0]} of all results; the best compromises are {numbers}.",
        )
        pictures.insert(-1, compromises)
    if run.replicates:
        said = "; ".join(
            f"{format_value(each['mean'], 4)} ± {format_value(each['spread'], 2)}"
            for each in run.replicates
        )
        replicates = Picture(
            "replicates",
            "Settings that were measured several times. Dots are results; the bar reaches one "
            "standard deviation to either side of their mean"
            + (f", that of one {run.status['block']}." if run.blocks else "."),
            f"{run.label} of settings that were measured several times: {said}.",
        )
        pictures.insert(-1, replicates)
    return pictures


# Filters of the templates, by their names.
FILTERS = (digest, is_number, notes_text, result_text, format_estimate, format_value, whole)
