"""The report on a search that asked for averages, for a terminal and for an HTML page."""

from __future__ import annotations

from html import escape
from typing import Any

from skgpb.lab.cli.asked import AskedResult
from skgpb.lab.cli.html_report import Report
from skgpb.lab.cli.private import privacy_remark
from skgpb.lab.cli.words import LISTED, chances, count, describe_group, number, percent, shell_quote

# Features with less than this share of the largest effect are reported as hardly important.
MATTERS = 0.1


def make_report(found: AskedResult, result: dict[str, Any], source: str) -> Report:
    """Return the report on the result of a search."""
    return Report(
        title=f"{result['sought'].capitalize()} average of {found.target}",
        source=source,
        rows=_rows(found, result),
        remarks=_remarks(found, result),
        conclusion=_conclusion(found, result),
        method=_method(result),
    )


def _rows(found: AskedResult, result: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines of the report as pairs of name and text."""
    low, high = result["interval_95"]
    whole = found.is_whole
    limits = [limit for limit in found.limits if limit.condition] or found.limits
    conditions = [(f"  {limit.column.name}", limit.text) for limit in limits]
    exact = [("exactly these rows", f"--where {shell_quote(found.where)}")] if found.where else []
    true = []
    if "true_average" in result:
        text = (
            f"{number(result['true_average'])}, of the whole table "
            f"{number(result['true_average_of_table'])} (computed only for this report)"
        )
        true.append(("true average", text))
    return [
        (
            "recommended group",
            f"{count(result['n_members'], 'row')}, "
            f"{percent(result['n_members'] / result['n_rows'])} of the table",
        ),
        *conditions,
        *(exact if result["command"] == "search" else []),
        (
            "average found",
            f"{number(result['posterior_mean'])}, with 95 % probability between {number(low)} "
            f"and {number(high)}",
        ),
        *([] if whole else _comparison(found)),
        ("what matters", _matters(found)),
        (
            "questions asked",
            f"{result['n_rounds']:,} on {count(result['n_groups_asked'], 'group')}, "
            + _describe_noise(result),
        ),
        ("how it was found", _how(result)),
        ("smallest group asked", count(result["smallest_group_asked"], "row")),
        ("groups of one row", percent(result["share_of_rows_averaged_singly"])),
        *true,
        *([] if whole else _chance(found, result)),
    ]


def _comparison(found: AskedResult) -> list[tuple[str, str]]:
    """Return the lines that compare the group with the whole table and with the runner-up."""
    low, high = found.gain_interval
    verdict = (
        "more than the noise of the answers" if found.is_significant else "which may be noise alone"
    )
    word = "lower" if found.minimizes else "higher"
    rows = [
        (
            f"{word} than the table",
            f"by {number(found.gain[0])}, with 95 % probability by {number(low)} to "
            f"{number(high)}: {verdict}",
        )
    ]
    index = found.runner_up
    if index is not None:
        group = found.search.groups[index]
        mean, chance = number(found.group_mean(index)), chances(found.runner_up_better)
        rows.append(
            (
                "runner-up",
                f"{count(len(group.rows), 'row')}, "
                f"{describe_group(found.group_limits(found.group_box(group)))}: "
                f"{mean} ({chance} chance that it is the better one)",
            )
        )
    n, chance = len(found.search.groups), chances(found.probability_of_best)
    text = f"{chance} that no other of the {n:,} groups asked is better"
    return [*rows, ("how sure", text)]


def _how(result: dict[str, Any]) -> str:
    """Describe the method that chose among the groups, and the reason for it."""
    predicted = result["r2_loo"]
    if result["engine"] == "model":
        return (
            "a Gaussian process proposed groups: it predicts "
            f"{percent(predicted)} of the variance of answers from all others"
        )
    if predicted is None:
        return "the best of the groups asked, as there were too few answers for a model"
    return (
        "the worse half of the groups was left out again and again: a Gaussian process predicts "
        "too little of the answers to propose any"
    )


def _matters(found: AskedResult) -> str:
    """Write the features that matter, with their effects."""
    effects = found.effects
    largest = max(effects.values())
    if largest == 0.0:
        return "no feature, as far as the answers tell"
    mattering = [name for name, effect in effects.items() if effect >= MATTERS * largest]
    shown = [f"{name} (by {number(effects[name], 3)})" for name in mattering[:LISTED]]
    more = len(mattering) - LISTED
    text = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    hardly = [name for name in effects if name not in mattering]
    return text + (f"; hardly {', '.join(hardly[:LISTED])}" if hardly else "")


def _chance(found: AskedResult, result: dict[str, Any]) -> list[tuple[str, str]]:
    """Return a line with the best average by chance; it is no verdict, for the group was sought."""
    if "best_by_chance" not in result:
        return []
    side = "below" if found.minimizes else "above"
    text = f"if rows form groups of this size at random, the best is seldom {side} "
    return [("by chance", text + number(result["best_by_chance"]))]


def _describe_noise(result: dict[str, Any]) -> str:
    """Describe the noise of the answers."""
    if "privacy" in result:
        least, most = (f"{noise:,.3g}" for noise in result["privacy"]["noise"])
        return f"with noise of {least}" + (f" to {most}" if least != most else "")
    noise = result["parameters"]["noise"]
    return f"each answer with noise of {number(noise)}" if noise else "answered exactly"


def _remarks(found: AskedResult, result: dict[str, Any]) -> list[list[str]]:
    """Return remarks on the limits of the numbers, each as lines."""
    remarks = []
    if found.is_whole and len(found.search.groups) > 1:
        remarks.append(["As far as these answers say, no group is better than the whole table."])
    if found.enough is not None:
        remarks.append([f"Enough is known: the group is {found.enough}."])
    elif len(found.search.groups) < 2:
        remarks.append(["The budget was too small to ask for more than the whole table."])
    if "privacy" in result:
        remarks.append(privacy_remark(result["privacy"], result["n_rows"]))
    return remarks


def _conclusion(found: AskedResult, result: dict[str, Any]) -> str:
    """Return the main result in sentences, as HTML."""
    word = "lower" if found.minimizes else "higher"
    target = escape(found.target)
    if found.is_whole:
        return (
            f"<p>No group is known to have a {word} average of {target} than the whole table.</p>"
        )
    group = " and ".join(
        f"<strong>{escape(limit.column.name)}</strong> {escape(limit.text)}"
        for limit in found.limits
        if limit.condition
    )
    low, high = found.gain_interval
    # If the budget is a privacy budget, more questions may be impossible.
    more = "" if "privacy" in result else ": ask more questions"
    noise = (
        "This can be told from the noise of the answers."
        if found.is_significant
        else f"<strong>This may be noise alone</strong>{more}."
    )
    return (
        f"<p>The {result['n_members']:,} rows with {group} have an average {target} of about "
        f"<strong>{number(result['posterior_mean'], 4)}</strong>, {word} than that of the whole "
        f"table by {number(found.gain[0], 3)} (with 95 % probability by {number(low, 3)} to "
        f"{number(high, 3)}). {noise}</p>"
    )


def _method(result: dict[str, Any]) -> str:
    """Describe the method in sentences, and the data that the search did not read."""
    if result["engine"] == "model":
        how = (
            "A Gaussian process learned from the answers and proposed boxes. The best boxes "
            "were asked for as well."
        )
    else:
        how = "Of these the worse half was left out again and again."
    return (
        f"The table was parted at random into groups by {', '.join(result['features'])}. A search "
        f"asked {result['n_rounds']:,} times for the average of {result['target']} over one of "
        f"{result['n_groups_asked']:,} groups and never for the value of a row. {how}"
    )
