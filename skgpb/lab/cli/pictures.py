"""Drawing averages of a table, and the group found in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binned_statistic_2d

from skgpb.lab.cli.features import FeatureLimits
from skgpb.lab.datasets.columns import Column
from skgpb.plotting._axes import RECOMMENDED, label_color, outline_style, shorten
from skgpb.plotting._letters import add_colorbar, add_legend, fit_labels

# Inches of a panel, and maximum number of panels in a row.
PANEL = (6.0, 4.8)
SIDE_BY_SIDE = 3
# Maximum number of features with a profile, and with a bar.
PROFILES, BARS = 3, 12
# Smallest number of rows of a part of an axis with an average, and maximum number of parts.
ROWS_OF_PART, PARTS = 5, 24
# Maximum number of letters of a name at an axis.
LETTERS = 26
# Numbers of categories: above the first, names below an axis are slanted; above the second, upright
# and small; above the third, only the categories of the group have names, if they are few.
TURNED, CROWDED, MOST_LABELS = 4, 14, 40
# Names of the averages of rows along a feature, and of their intervals.
AVERAGES = "average of rows", "95 % intervals"


@dataclass(frozen=True)
class Panel:
    """One picture.

    Attributes
    ----------
    draw : callable
        Function that draws on axes.
    caption : str
        Caption of the picture.
    """

    draw: Callable[[Any], object]
    caption: str


def draw_panels(panels: list[Panel], title: str) -> Any:
    """Draw panels in one figure."""
    from matplotlib.figure import Figure

    n_rows = math.ceil(len(panels) / SIDE_BY_SIDE)
    n_columns = math.ceil(len(panels) / n_rows)
    size = (PANEL[0] * n_columns, PANEL[1] * n_rows + 0.5)
    figure = Figure(figsize=size, layout="constrained", dpi=150)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for panel, ax in zip(panels, axes, strict=False):
        panel.draw(ax)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    figure.suptitle(title)
    return figure


def draw_means(
    ax: Any, limits: list[FeatureLimits], values: np.ndarray, label: str, step: int = 1
) -> None:
    """Draw averages of every ``step``-th row over two features, and the recommended group."""
    edges = [_edges(limit.column, step) for limit in limits]
    x, y = (limit.column.values[::step] for limit in limits)
    mean = binned_statistic_2d(x, y, values, bins=edges).statistic
    drawn = ax.pcolormesh(edges[0], edges[1], mean.T, cmap="viridis", rasterized=True)
    add_colorbar(ax, drawn, label)
    for limit, axis in zip(limits, (ax.xaxis, ax.yaxis), strict=True):
        label_axis(limit, axis)
        axis.set_label_text(limit.column.name)
    fit_labels(ax)
    outline(ax, limits, edges)


def _edges(column: Column, step: int) -> np.ndarray:
    """Return the edges of the parts of an axis, shape (n_parts + 1,)."""
    values = column.values[::step]
    if column.kind == "texts":
        return np.arange(len(column.labels) + 1) - 0.5
    low, high = column.values.min(), column.values.max()
    n = max(4, min(PARTS, math.isqrt(len(values) // ROWS_OF_PART)))
    return np.linspace(low, high, n + 1) if high > low else np.array([low - 0.5, low + 0.5])


def outline(ax: Any, limits: list[FeatureLimits], edges: Any) -> None:
    """Outline the recommended group, with a rectangle for each pair of stretches of the axes."""
    from matplotlib.patches import Rectangle

    for x, width in _stretches(limits[0], edges[0]):
        for y, height in _stretches(limits[1], edges[1]):
            style = outline_style(ax, 1.2)
            ax.add_patch(Rectangle((x, y), width, height, fill=False, ec=RECOMMENDED, **style))


def _stretches(limit: FeatureLimits, edges: np.ndarray) -> list[tuple[float, float]]:
    """Return the intervals of the group along an axis, as pairs of start and length."""
    if limit.column.kind != "texts":
        low = edges[0] if limit.low is None else limit.low
        return [(low, (edges[-1] if limit.high is None else limit.high) - low)]
    codes = list(range(len(limit.column.labels)))
    if limit.among is not None:
        codes = [limit.column.labels.index(label) for label in limit.among]
    starts = [code for code in codes if code - 1 not in codes]
    ends = [code for code in codes if code + 1 not in codes]
    return [(a - 0.5, b - a + 1.0) for a, b in zip(starts, ends, strict=True)]


def draw_effects(ax: Any, effects: dict[str, float], label: str, title: str) -> None:
    """Draw a bar for each feature, the largest first."""
    effects = dict(list(effects.items())[:BARS])
    places = np.arange(len(effects))[::-1]
    ax.barh(places, list(effects.values()), height=0.6)
    ax.set_yticks(places, [shorten(name, LETTERS) for name in effects])
    ax.set(xlim=(0.0, None), ylim=(min(-0.6, len(effects) - 5.0), len(effects) - 0.4))
    ax.set_xlabel(label)
    ax.set_title(title)
    fit_labels(ax)


def panel_of_effects(target: str, effects: dict[str, float]) -> Panel:
    """Return the panel of the effect of each side of a group of visible rows."""
    label = f"average {target} that each side adds"
    return Panel(
        lambda ax: draw_effects(ax, effects, label, "what matters"),
        "By how much the average of the group is better for each of its sides.",
    )


def panel_of_averages(
    draw: Callable[[Any], object], name: str, target: str, mean: float, n_sides: int
) -> Panel:
    """Return the panel of averages of visible rows along a feature, which ``draw`` draws.

    ``mean`` is the average of all rows, ``n_sides`` the number of conditions of the group.
    """

    def draw_all(ax: Any) -> None:
        draw(ax)
        ax.axhline(mean, color=label_color(ax), lw=0.8, ls=":")
        finish_profile(ax, name, f"average {target}")

    rest = " of the rows that meet the other conditions" if n_sides > 1 else ""
    return Panel(draw_all, f"Average {target} by {name}{rest}. Dotted: all rows.")


def draw_profile(
    ax: Any,
    limit: FeatureLimits,
    values: np.ndarray,
    target: np.ndarray,
    average: Callable[[np.ndarray], tuple[float, float, float]],
    names: tuple[str, str],
) -> None:
    """Draw averages along a feature: of its categories, or of parts with as many rows each.

    ``values`` (n,) and ``target`` (n,) are the feature and the target of the rows. The function
    ``average`` returns the average of targets, and the ends of its interval; ``names`` are the
    names of both in the legend.
    """
    column = limit.column
    if column.kind == "texts":
        parts = [target[values == code] for code in range(len(column.labels))]
        mean, *spans = np.array([average(part) for part in parts]).T
        chosen = [limit.among is not None and label in limit.among for label in column.labels]
        draw_categories(ax, chosen, mean, spans, names)
    else:
        n = max(1, min(PARTS, len(values) // ROWS_OF_PART))
        places = np.array_split(np.argsort(values, kind="stable"), n)
        x = np.array([values[part].mean() for part in places])
        mean, *spans = np.array([average(target[part]) for part in places]).T
        ends = None
        if limit.low is not None or limit.high is not None:
            low = values.min() if limit.low is None else limit.low
            ends = (low, values.max() if limit.high is None else limit.high)
        draw_averages(ax, x, mean, spans, ends, names)
    label_axis(limit, ax.xaxis)


def draw_averages(
    ax: Any, x: Any, mean: np.ndarray, spans: Any, ends: Any, names: tuple[str, str]
) -> None:
    """Draw averages along a number with intervals, and the side of the group, if it has one."""
    ax.fill_between(x, *spans, alpha=0.25, lw=0, label=names[1])
    ax.plot(x, mean, label=names[0])
    if ends is not None:  # with a line width, because the span may be narrow
        ax.axvspan(*ends, color=RECOMMENDED, alpha=0.2, lw=1.0, label="recommended")


def draw_categories(
    ax: Any, chosen: Sequence[bool], mean: np.ndarray, spans: Any, names: tuple[str, str]
) -> None:
    """Draw averages of categories with intervals; ``chosen`` is the mask of those of the group."""
    for inside in (False, True):
        some = np.flatnonzero((np.asarray(chosen) == inside) & ~np.isnan(mean))
        color = RECOMMENDED if inside else "C0"
        label = "recommended" if inside else f"{names[0]}, with {names[1]}"
        if len(some):
            # The average of skewed values may lie outside the interval of most of them.
            low, high = np.array(spans)[:, some]
            middle, half = (low + high) / 2, (high - low) / 2
            ax.errorbar(some, middle, half, fmt="none", color=color, capsize=3)
            ax.plot(some, mean[some], "o", color=color, label=label)


def finish_profile(ax: Any, name: str, value: str) -> None:
    """Add labels and a legend to the axes of a profile."""
    ax.set(xlabel=name, ylabel=value)
    fit_labels(ax)
    add_legend(ax, 3, above=True)


def label_axis(limit: FeatureLimits, axis: Any) -> None:
    """Set the labels of an axis whose feature is dates or categories."""
    if limit.column.kind == "dates":
        label_dates(axis)
    elif limit.column.kind == "texts":
        among = limit.among or ()
        label_categories(axis, limit.column.labels, [each in among for each in limit.column.labels])


def label_dates(axis: Any) -> None:
    """Set labels of dates on an axis."""
    axis.axis_date()
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(maxticks=7)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))


def label_categories(axis: Any, labels: Sequence[str], chosen: Sequence[bool] = ()) -> None:
    """Set labels of categories on an axis, at 0, 1 and so on.

    If there are very many, only the chosen categories get a label.
    """
    places = list(range(len(labels)))
    if len(labels) > MOST_LABELS:
        places = np.flatnonzero(chosen).tolist() if sum(chosen) <= CROWDED else []
    style: dict[str, Any] = {}
    if axis.axis_name == "x" and len(labels) > TURNED:
        style = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    if len(places) > CROWDED:
        style = {"rotation": 90 if axis.axis_name == "x" else 0, "fontsize": "x-small"}
    axis.set_ticks(places, [shorten(labels[i], LETTERS) for i in places], **style)
