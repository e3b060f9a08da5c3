"""Pictures of a search of visible rows: the group among all rows, and the effects of its sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from skgpb.lab.cli import pictures
from skgpb.lab.cli.asked import QUANTILE_95
from skgpb.lab.cli.features import FeatureLimits
from skgpb.lab.cli.pictures import AVERAGES, Panel, panel_of_averages, panel_of_effects
from skgpb.lab.cli.words import count
from skgpb.lab.datasets.columns import Column
from skgpb.lab.tables.finding import JudgedGroup


def make_panels(
    judged: JudgedGroup, features: Sequence[Column], limits: list[FeatureLimits], target: str
) -> list[Panel]:
    """Return the panels of a search, the most informative first.

    ``limits`` are the conditions of the group, the most important first.
    """
    # A map needs two features: fill up with features without a side.
    box = judged.subgroup
    rest = [FeatureLimits(column) for column in features if column.name not in box]
    panels = []
    if len(features) > 1:
        first, second = (limits + rest)[:2]
        panels.append(_map(judged, first, second, target))
    if len(limits) > 1:
        panels.append(panel_of_effects(target, judged.effects()))
    drawn = (limits or rest)[: pictures.PROFILES]
    return [*panels, *(_profile(judged, limit, target) for limit in drawn)]


def _map(judged: JudgedGroup, first: FeatureLimits, second: FeatureLimits, target: str) -> Panel:
    """Return the panel of averages by two features, over the rows inside all other sides."""
    names = [limit.column.name for limit in (first, second)]
    inside = _on_other_sides(judged, names)

    def draw(ax: Any) -> None:
        rows = inside & ~first.column.missing & ~second.column.missing
        places = np.flatnonzero(rows)
        shown = [
            FeatureLimits(limit.column.select_rows(places), limit.low, limit.high, limit.among)
            for limit in (first, second)
        ]
        pictures.draw_means(ax, shown, judged.table.y[rows], f"average {target}")

    n = int(inside.sum())
    beside = f", of the {count(n, 'row')} on its other sides" if n < len(inside) else ""
    caption = (
        f"The average {target} by {names[0]} and {names[1]}{beside}. The group of "
        f"{count(int(judged.rows.sum()), 'row')} is outlined; where there is no colour there are "
        "no rows."
    )
    return Panel(draw, caption)


def _profile(judged: JudgedGroup, limit: FeatureLimits, target: str) -> Panel:
    """Return the panel of averages along one feature, over the rows inside all other sides."""
    column, inside = limit.column, _on_other_sides(judged, [limit.column.name])

    def draw(ax: Any) -> None:
        rows = np.flatnonzero(inside & ~column.missing)
        values = judged.table.y[rows]
        pictures.draw_profile(ax, limit, column.values[rows], values, _average, AVERAGES)

    mean = judged.counted_table_average
    return panel_of_averages(draw, column.name, target, mean, len(judged.subgroup))


def _average(target: np.ndarray) -> tuple[float, float, float]:
    """Return the average, and the ends of its 95 % interval; NaN without rows."""
    if not len(target):
        return math.nan, math.nan, math.nan
    spread = float(target.std(ddof=1)) if len(target) > 1 else 0.0
    mean, half = float(target.mean()), QUANTILE_95 * spread / math.sqrt(len(target))
    return mean, mean - half, mean + half


def _on_other_sides(judged: JudgedGroup, names: list[str]) -> np.ndarray:
    """Return the mask (n_rows,) of the rows inside all sides except those of ``names``."""
    box = judged.subgroup
    for name in names:
        box = box.without(name)
    return judged.table.rows(box)
