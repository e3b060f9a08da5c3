"""Texts of the pages and the report, made from the plain dicts of an experiment."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from skgpb.lab.app.forms import limits_of, sentence
from skgpb.lab.app.pictures import MAP_HEIGHT, Picture
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.blocks import describe_shift
from skgpb.lab.experiments.changes import describe_change
from skgpb.lab.experiments.experiment_file import outcome_limits
from skgpb.lab.experiments.judgement import (
    answer_remark,
    describe_outcomes,
    describe_preferred_query,
    describe_surprise,
    limits_remark,
)
from skgpb.lab.experiments.limits import describe_limit, parse_arithmetic, required_measurements
from skgpb.lab.experiments.reasons import describe_reason
from skgpb.lab.experiments.sides import Side, format_estimate, format_percent, format_value
from skgpb.lab.experiments.texts import to_one_line

# A number or a date with a hyphen in it, at which browsers break lines: 1e-05, 2026-01-31.
WITH_HYPHEN = re.compile(r"\d[\w.]*(?:-\d+)+")

# Captions of pictures under limits.
BEYOND = "Where it is shaded, a limit is probably not kept; the dotted line is its border."
# A number, or a range of numbers, and no name that begins with a digit.
NUMBER = re.compile(r"(-?\d[\d.]*(e[-+]?\d+)?)( to (-?\d[\d.]*(e[-+]?\d+)?))?")


def is_number(text: str) -> bool:
    """Return whether a value is a number or a range of numbers."""
    return bool(NUMBER.fullmatch(text))


def whole(text: str) -> Markup:
    """Return a text in which no number is broken across lines: half of it is another number."""
    span = '<span class="number">{}</span>'
    return Markup(WITH_HYPHEN.sub(lambda found: span.format(found[0]), str(escape(text))))


def result_of(entry: dict[str, Any]) -> str:
    """Return the result of an entry, or what became of it."""
    text = {"failed": "failed", "pending": "not yet", "skipped": "skipped"}.get(entry["status"])
    if text is None:
        text = f"{format_value(entry['answer'])}"
        if entry["noise"] is not None:
            text += f" ± {format_value(entry['noise'])}"
        text += answer_remark(entry)
    return text


def notes_of(entry: dict[str, Any]) -> str:
    """Return what the notebook has of an entry."""
    parts = [entry["note"], *(f"{n} = {format_value(v)}" for n, v in entry["measured"].items())]
    if several := entry["measurements"]:
        parts.insert(0, f"mean of {', '.join(map(format_value, several))}")
    return "; ".join(filter(None, [*parts, entry["operator"], entry["date"]]))


def digest(what: Any) -> str:
    """Return a short text that tells plain data from any other."""
    text = json.dumps(what, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def digest_of_results(entries: list[dict[str, Any]]) -> str:
    """Return a digest of the answers, which further queries do not change."""
    return digest([entry for entry in entries if entry["status"] != "pending"])


def digest_of_pending(entries: list[dict[str, Any]]) -> str:
    """Return a digest of the pending queries."""
    return digest([entry for entry in entries if entry["status"] == "pending"])


def outcome_of(status: dict[str, Any]) -> str:
    """Return what an experiment measures, with its unit."""
    unit = f" ({status['unit']})" if status["unit"] else ""
    return (status["answer"] or "result") + unit


def asked_with(experiment: Experiment) -> tuple[list[str], str]:
    """Return what else is asked for: names of what is in the score or has a limit; the block."""
    return experiment.counted, experiment.status()["block"]


@dataclass(frozen=True)
class SideView:
    """A side, or what has a limit, as a field of a form and as the head of a column."""

    label: str
    field: str
    hint: str
    choices: list[tuple[str, str]]
    typed: dict[str, str]


def _side_view(i: int, side: Side) -> SideView:
    """Return the name and the values of a side."""
    values = side.bounds if side.kind == "choice" else []
    choices = [(str(value), format_value(value)) for value in values]
    return SideView(side.name, f"side{i}", str(side), choices, limits_of(i, side))


class RunView:
    """An experiment as its page shows it.

    Parameters
    ----------
    experiment : Experiment
        Experiment to show; it is only read.
    """

    def __init__(self, experiment: Experiment) -> None:
        status, entries = experiment.status(), experiment.history()
        self.title: str = status["title"] or to_one_line(experiment.path.name)
        self.outcome: str = outcome_of(status)
        #: Label of a field for it, with a capital letter.
        self.label: str = self.outcome[:1].upper() + self.outcome[1:]
        extreme = "largest" if status["direction"] == "maximize" else "smallest"
        self.aim: str = f"Looking for the {extreme} {status['answer'] or 'result'}"
        self.sides: list[SideView] = [
            _side_view(i, side) for i, side in enumerate(experiment.sides)
        ]
        self.pending: list[dict[str, Any]] = status["pending"]
        #: Why each of them is suggested, in sentences, by its number.
        self.reasons: dict[int, list[str]] = {
            each["query"]: [sentence(line.strip()) for line in describe_reason(each)]
            for each in experiment.why()
        }
        #: Entries with a result, and failed ones; the last first.
        self.rows: list[dict[str, Any]] = [e for e in entries if e["status"] != "pending"][::-1]
        self.counts: str = _counts(status)
        self.revision: str = digest_of_results(entries)
        self.to_do: str = digest_of_pending(entries)
        self.best: dict[str, Any] | None = status["best"]
        #: What is said of the recommendation besides its numbers, and of limits there.
        self.about: str = "" if self.best is None else _about(self.best, status["block"])
        self.of_limits: list[str] = [] if self.best is None else describe_outcomes(self.best)
        #: What it is, as :meth:`~skgpb.lab.experiments.Experiment.status` returns it.
        self.status: dict[str, Any] = status
        #: Blocks of results: their names, numbers of results and shifts.
        self.blocks: list[tuple[str, int, str]] = [
            (each["block"], each["n_answers"], describe_shift(each)) for each in experiment.blocks()
        ]
        limits = [
            (
                f"{name}, " * bool(parse_arithmetic(name)) + describe_limit(*ends),
                required_measurements([name]),
            )
            for name, ends in outcome_limits(experiment.optimizer).items()
        ]
        #: What else is measured and is in the score or has a limit.
        self.limited: list[SideView] = [
            SideView(
                name,
                f"limited{i}",
                " ".join(f"Limit: {text}." for text, parts in limits if name in parts),
                [],
                {},
            )
            for i, name in enumerate(asked_with(experiment)[0])
        ]
        self.trade_offs: dict[str, Any] | None = experiment.trade_offs()
        #: Rows of tables that were left out, and why.
        self.left_out: list[str] = experiment.left_out()
        #: What was corrected or taken back: rows of texts.
        self.changes: list[list[str]] = [describe_change(each) for each in experiment.changes()]
        #: Answers that are probably slips: the number, and what is said.
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
        """Return the picture of two of the sides, by their numbers."""
        one, two = self.sides[x].label, self.sides[y].label
        where = "" if self.best is None else _in_words(self.best["params"])
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
    """Say how far an experiment is."""
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


def _in_words(params: dict[str, Any]) -> str:
    """Return settings in a line."""
    return ", ".join(f"{name} {format_value(value)}" for name, value in params.items())


def _about(best: dict[str, Any], block: str) -> str:
    """Say what the recommendation rests on."""
    answered = best["best_answer"]
    n, noise = best["n_answers"], best["noise"]
    about = (
        f"From {n} result{'' if n == 1 else 's'}. The best single one "
        f"{limits_remark(best)}is "
        f"{format_value(answered['answer'])}, of experiment {answered['query']}"
    )
    apart = ""
    if best["between_blocks"] is not None:
        apart = (
            f", and shift by about {best['between_blocks']:.2g} from one {block} to another; what "
            f"is expected is for an average {block}"
        )
    if noise:
        about += (
            f". Repeated results scatter by about {noise:.2g} around their average (standard "
            f"deviation){apart}. The best of many results is partly luck, so the expected result "
            "may be less good"
        )
    if best["beware"]:
        about += f". {best['beware']}"
    return " ".join([f"{about}.", *map(sentence, describe_preferred_query(best))])


def _pictures(run: RunView, best: dict[str, Any]) -> list[Picture]:
    """Return the pictures of an experiment with a result."""
    where, n_answered = _in_words(best["params"]), run.status["n_answered"]
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


# What templates do with values, by these names.
FILTERS = (digest, is_number, notes_of, result_of, format_estimate, format_value, whole)
