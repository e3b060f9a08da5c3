"""Pictures of a search of visible rows: the group among all rows, and the effects of its sides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from skgpb.lab.cli import pictures
from skgpb.lab.cli.asked import QUANTILE_95
from skgpb.lab.cli.exact import ExactResult
from skgpb.lab.cli.features import FeatureLimits
from skgpb.lab.cli.pictures import Panel
from skgpb.lab.cli.words import count
from skgpb.plotting.drawing import label_color

# Names of the averages along a feature, and of their intervals.
AVERAGES = "average of rows", "95 % intervals"


def make_panels(found: ExactResult) -> list[Panel]:
    """Return the panels of a search, the most informative first."""
    columns = {column.name: column for column in found.table.features}
    limits = list(found.limits)
    # A map needs two features: fill up with features without a side.
    box = found.finding.subgroup
    rest = [FeatureLimits(column) for name, column in columns.items() if name not in box]
    panels = []
    if len(columns) > 1:
        first, second = (limits + rest)[:2]
        panels.append(_map(found, first, second))
    if len(limits) > 1:
        panels.append(panel_of_effects(found.target, found.finding.effects()))
    return [*panels, *(_profile(found, limit) for limit in (limits or rest)[: pictures.PROFILES])]


def panel_of_effects(target: str, effects: dict[str, float]) -> Panel:
    """Return the panel of the effect of each side of the group."""
    label = f"average {target} that each side adds"
    return Panel(
        lambda ax: pictures.draw_effects(ax, effects, label, "what matters"),
        "By how much the average of the group is better for each of its sides.",
    )


def _map(found: ExactResult, first: FeatureLimits, second: FeatureLimits) -> Panel:
    """Return the panel of averages by two features, over the rows inside all other sides."""
    names = [limit.column.name for limit in (first, second)]
    inside = _on_other_sides(found, names)

    def draw(ax: Any) -> None:
        rows = inside & ~first.column.missing & ~second.column.missing
        places = np.flatnonzero(rows)
        shown = [
            FeatureLimits(limit.column.select_rows(places), limit.low, limit.high, limit.among)
            for limit in (first, second)
        ]
        pictures.draw_means(ax, shown, _values(found)[rows], f"average {found.target}")

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


def _profile(found: ExactResult, limit: FeatureLimits) -> Panel:
    """Return the panel of averages along one feature, over the rows inside all other sides."""
    column, inside = limit.column, _on_other_sides(found, [limit.column.name])

    def draw(ax: Any) -> None:
        rows = np.flatnonzero(inside & ~column.missing)
        pictures.draw_profile(
            ax, limit, column.values[rows], _values(found)[rows], _average, AVERAGES
        )
        ax.axhline(found.finding.counted_table_average, color=label_color(ax), lw=0.8, ls=":")
        pictures.finish_profile(ax, column.name, f"average {found.target}")

    others = (
        " of the rows that meet the other conditions" if len(found.finding.subgroup) > 1 else ""
    )
    return Panel(
        draw,
        f"Average {found.target} by {column.name}{others}. Dotted: all rows.",
    )


def _average(target: np.ndarray) -> tuple[float, float, float]:
    """Return the average, and the ends of its 95 % interval; NaN without rows."""
    if not len(target):
        return math.nan, math.nan, math.nan
    spread = float(target.std(ddof=1)) if len(target) > 1 else 0.0
    mean, half = float(target.mean()), QUANTILE_95 * spread / math.sqrt(len(target))
    return mean, mean - half, mean + half


def _values(found: ExactResult) -> np.ndarray:
    """Return the clipped targets, shape (n_rows,)."""
    return found.finding.table.y


def _on_other_sides(found: ExactResult, names: list[str]) -> np.ndarray:
    """Return the mask (n_rows,) of the rows inside all sides except those of ``names``."""
    box = found.finding.subgroup
    for name in names:
        box = box.without(name)
    return found.finding.table.rows(box)
