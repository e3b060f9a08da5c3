"""The evidence for a group by averages that were asked for, and what is said of it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

import numpy as np

from skgpb.lab.cli.asked import AskedResult, best_by_chance
from skgpb.lab.cli.exact import member_entries
from skgpb.lab.cli.features import describe_group, write_condition
from skgpb.lab.cli.finding import Finding, describe_rival, where_option
from skgpb.lab.cli.pictures import make_panels
from skgpb.lab.cli.private import PrivateOracle, privacy_entry, privacy_remark
from skgpb.lab.cli.words import LISTED, chances, count, digits_apart, listed, number, percent
from skgpb.lab.tables.asking import Oracle

# Features with less than this share of the largest effect are reported as hardly important.
MATTERS = 0.1


@dataclass(frozen=True, kw_only=True)
class AskedFinding(Finding):
    """A group whose average was asked for, with its uncertainty.

    Attributes
    ----------
    found : AskedResult
        Result of the search.
    noise : str
        The noise of the answers, for people.
    truth : dict of str to float
        Averages that only the report may show; empty if the search is private.
    privacy : dict
        The protection of the target, see :func:`privacy_entry`; empty if the search is not private.
    """

    found: AskedResult
    noise: str
    truth: dict[str, float]
    privacy: dict[str, Any]

    def _entries(self) -> dict[str, Any]:
        """Return the numbers, for other programs."""
        found = self.found
        return {
            "posterior_mean": found.mean,
            "posterior_std": found.std,
            "interval_95": list(found.interval),
            "gain": found.gain[0],
            "gain_interval_95": list(found.gain_interval),
            "probability_better_than_table": found.probability_of_gain,
            "probability_best_of_groups_asked": found.probability_of_best,
        }

    @property
    def remarks(self) -> list[list[str]]:
        """Lines of each remark on what is known and what is not."""
        remarks, n = [], len(self.found.search.groups)
        if self.is_whole and n > 1:
            remarks.append("As far as these answers say, no group is better than the whole table.")
        if self.found.enough is not None:
            remarks.append(f"Enough is known: the group is {self.found.enough}.")
        elif n < 2:
            remarks.append("The budget was too small to ask for more than the whole table.")
        private = [privacy_remark(self.privacy, self.n_rows)] if self.privacy else []
        return [*([remark] for remark in remarks), *private]

    @property
    def conclusion(self) -> list[str]:
        """By how much the group is better than the table, as HTML."""
        found, word, target = self.found, self.better, escape(self.target)
        if self.is_whole:
            return [f"No group is known to have a {word} average of {target} than the whole table."]
        gain, low, high = (number(each, 3) for each in (found.gain[0], *found.gain_interval))
        # If the budget is a privacy budget, more questions may be impossible.
        more = "" if self.privacy else ": ask more questions"
        noise = (
            "This can be told from the noise of the answers."
            if found.is_significant
            else f"<strong>This may be noise alone</strong>{more}."
        )
        mean = number(found.mean, digits_apart(found.interval, 4))
        return [
            f"{self._named_rows()} have an average {target} of about "
            f"<strong>{mean}</strong>, {word} than that of the whole table by "
            f"{gain} (with 95 % probability by {low} to {high}). {noise}"
        ]

    @property
    def statements(self) -> list[tuple[str, str]]:
        """Names and texts of the lines on the group, its average, the questions and the method."""
        found, search = self.found, self.found.search
        digits = digits_apart(found.interval)
        low, high = (number(end, digits) for end in found.interval)
        average = f"{number(found.mean, digits)}, with 95 % probability between {low} and {high}"
        asked = f"{search.n_answers:,} on {count(len(search.groups), 'group')}, {self.noise}"
        return [
            *super().statements,
            ("average found", average),
            *([] if self.is_whole else self._comparison()),
            ("what matters", _matters(self.effects)),
            ("questions asked", asked),
            ("how it was found", self._how()),
            ("smallest group asked", count(self.more["smallest_group_asked"], "row")),
            ("groups of one row", percent(self.more["share_of_rows_averaged_singly"])),
            *(self._truth() if self.truth else []),
        ]

    def _comparison(self) -> list[tuple[str, str]]:
        """Return the lines that compare the group with the table, the runner-up, and all others."""
        found = self.found
        low, high = map(number, found.gain_interval)
        verdict = "more than the noise of the answers"
        if not found.is_significant:
            verdict = "which may be noise alone"
        gain = f"by {number(found.gain[0])}, with 95 % probability by {low} to {high}: {verdict}"
        other = f" ({chances(found.runner_up_better)} chance that it is the better one)"
        best, n = chances(found.probability_of_best), len(found.search.groups)
        return [
            (f"{self.better} than the table", gain),
            *self._compared(other),
            ("how sure", f"{best} that no other of the {n:,} groups asked is better"),
        ]

    def _how(self) -> str:
        """Describe the method that chose among the groups, and the reason for it."""
        search = self.found.search
        if search.engine == "model":
            return (
                "a Gaussian process proposed groups: it predicts "
                f"{percent(search.r2_loo)} of the variance of answers from all others"
            )
        if search.model is None:
            return "the best of the groups asked, as there were too few answers for a model"
        return (
            "the worse half of the groups was left out again and again: a Gaussian process "
            "predicts too little of the answers to propose any"
        )

    def _truth(self) -> list[tuple[str, str]]:
        """Return the true averages and the best by chance, no verdict: the group was sought."""
        digits = digits_apart(self.truth.values())
        average, whole, chance = (number(each, digits) for each in self.truth.values())
        text = f"{average}, of the whole table {whole} (computed only for this report)"
        side = "below" if self.minimizes else "above"
        seldom = f"if rows form groups of this size at random, the best is seldom {side} {chance}"
        return [("true average", text), *([] if self.is_whole else [("by chance", seldom)])]


def _matters(effects: dict[str, float]) -> str:
    """Write the features that matter, with their effects."""
    largest = max(effects.values())
    if largest == 0.0:
        return "no feature, as far as the answers tell"
    some = {name: effect for name, effect in effects.items() if effect >= MATTERS * largest}
    hardly = [name for name in effects if name not in some]
    text = listed([f"{name} (by {number(effect, 3)})" for name, effect in some.items()])
    return text + (f"; hardly {', '.join(hardly[:LISTED])}" if hardly else "")


def make_finding(
    found: AskedResult,
    oracle: Oracle,
    values: np.ndarray | None,
    arguments: argparse.Namespace,
    source: str,
    table: str,
    rows: np.ndarray | None = None,
) -> Finding:
    """Say what a search found.

    ``values`` (n,) is the column, for averages that only the report may show; None if the search is
    private. ``rows`` are the numbers of the searched rows in the file; None for all rows.
    """
    search, members, n = found.search, found.members, found.memory.n_rows
    truth, privacy = {}, {}
    if values is None:
        assert isinstance(oracle, PrivateOracle)
        privacy = privacy_entry(oracle, arguments, found)
        least, most = (f"{noise:,.3g}" for noise in privacy["noise"])
        noise = f"with noise of {least}" + (f" to {most}" if least != most else "")
    else:
        truth = {
            "true_average": float(values[members].mean()),
            "true_average_of_table": float(values.mean()),
            "best_by_chance": best_by_chance(values, len(members), found.minimizes),
        }
        noise = "answered exactly"
        if arguments.noise:
            noise = f"each answer with noise of {number(arguments.noise)}"
    names, (runner_up, rival) = [column.name for column in found.features], _runner_up(found)
    sizes = [len(group.rows) for group in search.groups]
    alone = {int(group.rows[0]) for group in search.groups if len(group.rows) == 1}
    where = write_condition(found.conditions, found.limits)
    shown = [limit for limit in found.limits if limit.condition] or found.limits
    how = "Of these the worse half was left out again and again."
    if search.engine == "model":
        how = (
            "A Gaussian process learned from the answers and proposed boxes. The best boxes were "
            "asked for as well."
        )
    return AskedFinding(
        command=arguments.command,
        source=source,
        table=table,
        answers="noisy" if oracle.repeats else "private" if privacy else "exact",
        features=names,
        target=found.target,
        minimizes=found.minimizes,
        n_rows=n,
        n_members=len(members),
        sides={limit.column.name: limit.text for limit in shown},
        where=where,
        exactly=where_option(where) if arguments.command == "search" else "",
        found=found,
        noise=noise,
        truth=truth,
        privacy=privacy,
        effects=found.effects,
        runner_up=runner_up,
        rival=rival,
        method=f"The table was parted at random into groups by {', '.join(names)}. A search asked "
        f"{search.n_answers:,} times for the average of {found.target} over one of "
        f"{len(search.groups):,} groups and never for the value of a row. {how}",
        panels=partial(make_panels, found),
        rows=member_entries(found.features, members, rows),
        more={
            **({"privacy": privacy} if privacy else truth),
            "engine": search.engine,
            "r2_loo": search.r2_loo if search.model is not None else None,
            "n_rounds": search.n_answers,
            "enough": found.enough,
            "n_groups_asked": len(search.groups),
            "smallest_group_asked": min(sizes),
            "share_of_rows_averaged_singly": len(alone) / n,
        },
        seed=arguments.seed or 0,
        parameters={
            "budget": arguments.budget,
            "stop_within": arguments.stop_within,
            "confidence": arguments.confidence,
            "noise": None if privacy else arguments.noise,
            "alpha": arguments.alpha,
            "min_rows": arguments.least,
        },
    )


def _runner_up(found: AskedResult) -> tuple[dict[str, Any] | None, str]:
    """Return the next best group for programs, and for people."""
    index = found.runner_up
    if index is None:
        return None, ""
    limits, mean = found.group_limits(index), found.group_mean(index)
    n = len(found.search.groups[index].rows)
    entry = {
        "n_members": n,
        "where": write_condition(found.conditions, limits),
        "posterior_mean": mean,
        "probability_better": found.runner_up_better,
    }
    return entry, describe_rival(n, describe_group(limits), mean, found.interval[0])
