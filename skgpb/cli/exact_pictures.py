"""Pictures of a search of visible rows: the group among all rows, and what its sides are for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from skgpb.cli.asked import QUANTILE_95
from skgpb.cli.exact import ExactFound
from skgpb.cli.features import FeatureLimits
from skgpb.cli.pictures import (
    PARTS,
    PROFILES,
    ROWS_OF_PART,
    Panel,
    draw_effects,
    draw_means,
    label_axis,
)
from skgpb.cli.words import count
from skgpb.plotting._axes import RECOMMENDED, ink_of
from skgpb.plotting._letters import add_legend, fit_labels


def panels_of(found: ExactFound) -> list[Panel]:
    """Pictures of a search, the most telling first."""
    columns = {column.name: column for column in found.table.features}
    limits = list(found.limits)
    # Features without a side fill up a map.
    told = found.finding.subgroup
    rest = [FeatureLimits(column) for name, column in columns.items() if name not in told]
    panels = []
    if len(columns) > 1:
        first, second = (limits + rest)[:2]
        panels.append(_map(found, first, second))
    if len(limits) > 1:
        panels.append(panel_of_effects(found.target, found.finding.effects()))
    return [*panels, *(_profile(found, limit) for limit in (limits or rest)[:PROFILES])]


def panel_of_effects(target: str, effects: dict[str, float]) -> Panel:
    """Return the picture of what each side of the group is for."""
    label = f"average {target} that each side adds"
    return Panel(
        lambda ax: draw_effects(ax, effects, label, "what matters"),
        "By how much the average of the group is better for each of its sides.",
    )


def _map(found: ExactFound, first: FeatureLimits, second: FeatureLimits) -> Panel:
    """The average of the rows by two features, and the group."""
    names = [limit.column.name for limit in (first, second)]
    inside = _on_other_sides(found, names)

    def draw(ax: Any) -> None:
        rows = inside & ~first.column.missing & ~second.column.missing
        places = np.flatnonzero(rows)
        shown = [
            FeatureLimits(limit.column.of_rows(places), limit.low, limit.high, limit.among)
            for limit in (first, second)
        ]
        draw_means(ax, shown, _values(found)[rows], f"average {found.target}")

    beside = (
        f", of the {count(int(inside.sum()), 'row')} on its other sides"
        if (int(inside.sum()) < len(inside))
        else ""
    )
    n = count(int(found.finding.rows.sum()), "row")
    caption = (
        f"The average {found.target} by {names[0]} and {names[1]}{beside}. The group of {n} is "
        "outlined; where there is no colour there are no rows."
    )
    return Panel(draw, caption)


def _profile(found: ExactFound, limit: FeatureLimits) -> Panel:
    """The average of the rows on all other sides along one feature."""
    column, inside = limit.column, _on_other_sides(found, [limit.column.name])

    def draw(ax: Any) -> None:
        rows = np.flatnonzero(inside & ~column.missing)
        values, target = column.values[rows], _values(found)[rows]
        if column.kind == "texts":
            parts = [np.flatnonzero(values == code) for code in range(len(column.labels))]
            mean, error = np.array([_average(target[part]) for part in parts]).T
            chosen = [limit.among is not None and label in limit.among for label in column.labels]
            draw_categories(ax, chosen, mean, error)
        else:
            n = max(1, min(PARTS, len(values) // ROWS_OF_PART))
            parts = np.array_split(np.argsort(values, kind="stable"), n)
            x = np.array([values[part].mean() for part in parts])
            mean, error = np.array([_average(target[part]) for part in parts]).T
            ends = None
            if limit.low is not None or limit.high is not None:
                low = values.min() if limit.low is None else limit.low
                ends = (low, values.max() if limit.high is None else limit.high)
            draw_averages(ax, x, mean, error, ends)
        label_axis(limit, ax.xaxis)
        finish_profile(ax, column.name, found.target, found.finding.counted_table_average)

    others = (
        " of the rows that meet the other conditions" if len(found.finding.subgroup) > 1 else ""
    )
    return Panel(
        draw,
        f"Average {found.target} by {column.name}{others}. Dotted: all rows.",
    )


def draw_averages(
    ax: Any, x: Any, mean: np.ndarray, error: np.ndarray, ends: tuple[Any, Any] | None
) -> None:
    """Draw averages along a number, and the side of the group."""
    ax.fill_between(x, mean - error, mean + error, alpha=0.25, lw=0, label="95 % intervals")
    ax.plot(x, mean, label="average of rows")
    if ends is not None:
        ax.axvspan(*ends, color=RECOMMENDED, alpha=0.2, lw=0, label="the group")


def draw_categories(ax: Any, chosen: Sequence[bool], mean: np.ndarray, error: np.ndarray) -> None:
    """Draw averages of categories; ``chosen`` are those of the group."""
    for inside in (False, True):
        some = np.flatnonzero(np.asarray(chosen) == inside)
        style = {"color": RECOMMENDED if inside else "C0", "capsize": 3}
        name = "in the group" if inside else "average, with 95 % intervals"
        if len(some):
            ax.errorbar(some, mean[some], error[some], fmt="o", label=name, **style)


def finish_profile(ax: Any, name: str, target: str, of_table: float) -> None:
    """Draw what all pictures of averages along a feature have."""
    ax.axhline(of_table, color=ink_of(ax), lw=0.8, ls=":")
    ax.set(xlabel=name, ylabel=f"average {target}")
    fit_labels(ax)
    add_legend(ax, 3, above=True)


def _average(target: np.ndarray) -> tuple[float, float]:
    """Average and half of its interval of 95 %; NaN without rows."""
    if not len(target):
        return math.nan, math.nan
    spread = float(target.std(ddof=1)) if len(target) > 1 else 0.0
    return float(target.mean()), QUANTILE_95 * spread / math.sqrt(len(target))


def _values(found: ExactFound) -> np.ndarray:
    """Targets as they count."""
    return found.finding.table.y


def _on_other_sides(found: ExactFound, names: list[str]) -> np.ndarray:
    """Return whether each row is on all sides but some."""
    box = found.finding.subgroup
    for name in names:
        box = box.without(name)
    return found.finding.table.rows(box)
