"""What people read of a search: a summary that concludes."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from skgpb.cli.features import Limits
from skgpb.cli.private import privacy_remark
from skgpb.cli.region import Region
from skgpb.cli.result import Found

# Features below this share of the largest effect do not matter.
MATTERS = 0.1
# So many features are listed.
LISTED = 5


def summary_of(found: Found, result: dict[str, Any], source: str) -> list[str]:
    """Lines that say what was found."""
    rows = rows_of(found, result)
    width = max(len(name) for name, _ in rows)
    return [
        f"{result['sought'].capitalize()} average of {found.target} in {source}",
        "",
        *(f"{name:<{width}}  {text}" for name, text in rows),
        *(line for remark in remarks_of(found, result) for line in ("", *remark)),
    ]


def rows_of(found: Found, result: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what is said of a search, each with its name."""
    low, high = result["interval_95"]
    whole = found.region.group.depth == 0
    told = [limit for limit in found.limits if limit.conditions] or found.limits
    named = [(f"  {limit.column.name}", limit.said) for limit in told]
    exact = [("exactly these rows", f"--where {quoted(found.where)}")] if found.where else []
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
        *named,
        *(exact if result["command"] == "search" else []),
        (
            "average found",
            f"{number(result['posterior_mean'])}, with 95 % probability between {number(low)} "
            f"and {number(high)}",
        ),
        *([] if whole else _compared(found)),
        ("what matters", _matters(found)),
        (
            "questions asked",
            f"{result['n_rounds']:,} on {count(result['n_groups_asked'], 'group')}, "
            + _noise_of(result),
        ),
        ("smallest group asked", count(result["smallest_group_asked"], "row")),
        ("rows averaged singly", percent(result["share_of_rows_averaged_singly"])),
        *true,
        *([] if whole else _chance(found, result)),
    ]


def _compared(found: Found) -> list[tuple[str, str]]:
    """Compare the group with the whole table and with the best of the others."""
    conclusion = found.conclusion
    low, high = conclusion.gain_interval
    verdict = "not noise" if conclusion.told_from_noise else "which may be noise alone"
    word = "lower" if found.minimizes else "higher"
    rows = [
        (
            f"{word} than the table",
            f"by {number(conclusion.gain)}, with 95 % probability by {number(low)} to "
            f"{number(high)}: {verdict}",
        )
    ]
    if conclusion.runner_up is not None:
        group = conclusion.runner_up
        limits = found.limits_of(group)
        rows.append(
            (
                "runner-up",
                f"{count(len(np.asarray(group.members)), 'row')}, {named(limits)}: "
                f"{number(conclusion.runner_up_mean)}, the better one with "
                f"{chances(conclusion.runner_up_better)} probability",
            )
        )
    sure = f"{chances(conclusion.sure_of_best)} that no other group asked for is better"
    return [*rows, ("how sure", sure)]


def named(limits: list[Limits]) -> str:
    """Name what tells a group from other rows."""
    said = [f"{limit.column.name} {limit.said}" for limit in limits if limit.conditions]
    return ", ".join(said) or "the whole table"


def _matters(found: Found) -> str:
    """Say which features matter."""
    effects = found.conclusion.effects
    largest = max(effects.values())
    if largest == 0.0:
        return "no feature, as far as the answers tell"
    mattering = [name for name, effect in effects.items() if effect >= MATTERS * largest]
    shown = [f"{name} (by {number(effects[name], 3)})" for name in mattering[:LISTED]]
    more = len(mattering) - LISTED
    text = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    hardly = [name for name in effects if name not in mattering]
    return text + (f"; hardly {', '.join(hardly[:LISTED])}" if hardly else "")


def _chance(found: Found, result: dict[str, Any]) -> list[tuple[str, str]]:
    if "best_by_chance" not in result:
        return []
    edge, average = result["best_by_chance"], result["true_average"]
    beyond = average < edge if found.minimizes else average > edge
    side = "below" if found.minimizes else "above"
    verdict = "so it is not chance" if beyond else "so it may be chance alone"
    return [
        (
            "by chance",
            f"the best of groups of so many rows, drawn at random, is seldom {side} "
            f"{number(edge)}: {verdict}",
        )
    ]


def _noise_of(result: dict[str, Any]) -> str:
    """Say how noisy the answers were."""
    if "privacy" in result:
        least, most = (f"{noise:,.3g}" for noise in result["privacy"]["noise"])
        return f"with noise of {least}" + (f" to {most}" if least != most else "")
    noise = result["parameters"]["noise"]
    return f"each answer with noise of {number(noise)}" if noise else "answered exactly"


def remarks_of(found: Found, result: dict[str, Any]) -> list[list[str]]:
    """Say what the numbers do not."""
    remarks, region = [], found.region
    if region.group.depth == 0 and len(region.oracle.asked) > 1:
        remarks.append(["No group that was asked for is better than the whole table."])
    if region.enough is not None:
        remarks.append([f"Enough is known: the group is {region.enough}."])
    elif _unfinished(region):
        remarks.append(
            [
                "The budget was too small to settle on one of the smallest groups: a larger one "
                f"may find a {'lower' if found.minimizes else 'higher'} average."
            ]
        )
    if "privacy" in result:
        remarks.append(privacy_remark(result["privacy"], result["n_rows"]))
    return remarks


def _unfinished(region: Region) -> bool:
    """Whether the recommended group can be cut further."""
    if region.exhausted:
        return False
    try:
        region.optimizer.domain_.cell_at(region.group.depth + 1, 2 * region.group.index)
    except ValueError:
        return False
    return True


def quoted(text: str) -> str:
    """Put a text between quotes for a shell, of any kind where that is possible."""
    return shlex.quote(text) if set(text) & set('"$`!\\') else f'"{text}"'


def count(n: int, what: str) -> str:
    """Number of things, in words."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def percent(share: float) -> str:
    """Two significant digits, more of what is close to all."""
    percent = 100.0 * share
    return f"{percent:.2g} %" if percent < 10.0 else f"{percent:.4g} %"


def chances(probability: float) -> str:
    """Percents of a probability that is known to about one of them."""
    if probability < 0.01:
        return "less than 1 %"
    return f"{100.0 * probability:.0f} %" if probability < 0.995 else "more than 99 %"


def number(x: float, digits: int = 6) -> str:
    """So many significant digits, with thousands apart."""
    return f"{x:,.{digits}g}"
