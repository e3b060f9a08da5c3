"""Pictures of a group in a database, drawn from counts and averages alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from functools import partial
from typing import Any

import numpy as np

from skgpb.lab.cli import pictures
from skgpb.lab.cli.asked import QUANTILE_95
from skgpb.lab.cli.pictures import AVERAGES, Panel, panel_of_averages, panel_of_effects
from skgpb.lab.tables import Levels, Moments
from skgpb.lab.tables.conditions import Categories, Condition, Subgroup


def make_panels(table: Any, box: Subgroup, average: float) -> list[Panel]:
    """Return panels of the averages along each side of a group, after one query for them.

    Parameters
    ----------
    table : IbisTable
        The table in which the group was found.
    box : Subgroup
        The group. If it is the whole table, the first features are drawn.
    average : float
        Average of the target over the group.
    """
    levels = {each.name: each for each in table.levels if each.n_levels > 1}
    names = list(box) or list(levels)[: pictures.PROFILES]
    others = [box.without(name) for name in names]
    answers = table.marginals(others, [[name] for name in names])
    seen = {name: answer[name] for name, answer in zip(names, answers, strict=True)}
    panels = []
    if len(box) > 1:
        without = {name: float(each.n @ each.mean / each.n.sum()) for name, each in seen.items()}
        names.sort(key=lambda name: -abs(average - without[name]))
        effects = {name: abs(average - without[name]) for name in names}
        panels.append(panel_of_effects(table.target, effects))
    sides = dict(box.conditions)
    return panels + [
        panel_of_averages(
            partial(_draw_profile, levels[name], sides.get(name), seen[name]),
            name, table.target, table.mean, len(box),
        )
        for name in names[: pictures.PROFILES]
        if levels[name].n_values > 1
    ]  # fmt: skip


def _draw_profile(levels: Levels, side: Condition | None, seen: Moments, ax: Any) -> None:
    """Draw the averages along one feature, without rows whose value is missing."""
    n = levels.n_values
    seen = Moments(seen.n[:n], seen.mean[:n], seen.variance[:n])
    if levels.kind != "category":
        _draw_numbers(ax, levels.edges, side, seen)
        return
    among = side.among if isinstance(side, Categories) else ()
    chosen = [label in among for label in levels.labels]
    mean = np.where(seen.n > 0, seen.mean, np.nan)
    pictures.draw_categories(ax, chosen, mean, _interval_ends(seen), AVERAGES)
    pictures.label_categories(ax.xaxis, [format_value(each) for each in levels.labels], chosen)


def _draw_numbers(ax: Any, edges: Sequence[Any], side: Condition | None, seen: Moments) -> None:
    """Draw the averages over neighbouring levels."""
    inner = _positions(edges)
    width = np.diff(inner) if len(inner) > 1 else np.ones(1)
    # The outer levels have no outer ends: draw them as wide as their neighbours.
    ends = np.concatenate([inner[:1] - width[:1], inner, inner[-1:] + width[-1:]])
    starts = np.arange(len(seen.n))
    if len(starts) > pictures.PARTS:
        share = np.cumsum(seen.n) / max(int(seen.n.sum()), 1)
        starts = np.flatnonzero(np.diff(np.ceil(pictures.PARTS * share), prepend=-1.0))
    parts = _merge_levels(seen, starts)
    middle = 0.5 * (ends[starts] + ends[np.append(starts[1:], len(seen.n))])
    limits = None
    if side is not None and not isinstance(side, Categories):
        low = ends[0] if side.low is None else _positions([side.low])[0]
        limits = (low, ends[-1] if side.high is None else _positions([side.high])[0])
    some = parts.n > 0
    spans = [end[some] for end in _interval_ends(parts)]
    pictures.draw_averages(ax, middle[some], parts.mean[some], spans, limits, AVERAGES)
    if isinstance(edges[0], date):
        pictures.label_dates(ax.xaxis)


def _merge_levels(seen: Moments, starts: np.ndarray) -> Moments:
    """Merge neighbouring levels into parts; ``starts`` (n_parts,) is the first level of each."""
    n = np.add.reduceat(seen.n, starts)
    mean = np.add.reduceat(seen.n * seen.mean, starts) / np.maximum(n, 1)
    apart = seen.mean - np.repeat(mean, np.diff(starts, append=len(seen.n)))
    squares = np.add.reduceat(seen.n * (seen.variance + apart**2), starts)
    return Moments(n, mean, squares / np.maximum(n, 1))


def _positions(values: Sequence[Any]) -> np.ndarray:
    """Return positions (n,) of edges on an axis, midway between whole numbers or days."""
    first = values[0]
    whole = isinstance(first, int | date) and not isinstance(first, datetime)
    if isinstance(first, date):
        from matplotlib.dates import date2num

        values = date2num(values)
    return np.array([float(each) for each in values]) - 0.5 * whole


def _interval_ends(seen: Moments) -> list[np.ndarray]:
    """Return the ends of 95 % intervals of the averages: the low ends, and the high ends."""
    half = QUANTILE_95 * np.sqrt(seen.variance / np.maximum(seen.n - 1, 1))
    return [seen.mean - half, seen.mean + half]


def format_value(value: Any) -> str:
    """Write a category, or an end of an interval, for people."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
