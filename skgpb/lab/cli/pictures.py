"""Pictures of averages of a table and of the group found: of any search, and by questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
from scipy.stats import binned_statistic_2d

from skgpb.lab.cli.asked import QUANTILE_95, AskedResult
from skgpb.lab.cli.features import FeatureLimits, describe_group
from skgpb.lab.cli.words import count
from skgpb.lab.datasets.columns import Column
from skgpb.plotting.drawing import RECOMMENDED, label_color, outline_style, shorten
from skgpb.plotting.letters import add_colorbar, add_legend, fit_labels

PIXELS = ["column (pixels)", "row (pixels)"]
# Inches of a panel, and maximum number of panels in a row.
PANEL = (6.0, 4.8)
SIDE_BY_SIDE = 3
# Maximum number of features with a profile, and with a bar.
PROFILES, BARS = 3, 12
# Number of groups in the ranking.
GROUPS_SHOWN = 8
# Smallest number of rows of a part of an axis with an average, and maximum number of parts.
ROWS_OF_PART, PARTS = 5, 24
# Cost: maximum number of rows that are drawn; more make a map no clearer.
ROWS_DRAWN = 200_000
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


# -- a search by questions ------------------------------------------------------------------------


def make_panels(found: AskedResult) -> list[Panel]:
    """Return the panels of a search that asked for averages, the most informative first."""
    target, order = found.target, list(found.effects)
    # Features with a condition come first.
    order.sort(key=lambda name: name not in found.search.subgroup)
    if len(order) == 1:
        return [_profile(found, order[0]), _ranking(found)]
    first, second = order[:2]
    others = ", on average over the others" if len(order) > 2 else ""
    where = f"The recommended group of {count(len(found.members), 'row')} is outlined."
    caption = f"What the answers tell of {target} by {first} and {second}{others}. {where}"
    return [
        Panel(lambda ax: _draw_map(found, ax, first, second), caption),
        _bars(found),
        *(_profile(found, name) for name in order[:PROFILES]),
        _ranking(found),
    ]


def _find_limits(found: AskedResult, name: str) -> FeatureLimits:
    """Return the limits of the recommended group on a feature."""
    limits = {limit.column.name: limit for limit in found.limits}
    column = next(column for column in found.features if column.name == name)
    return limits.get(name, FeatureLimits(column))


def _draw_map(found: AskedResult, ax: Any, first: str, second: str) -> None:
    """Draw the prediction over two features, averaged over the others."""
    limits = [_find_limits(found, name) for name in (first, second)]
    step = -(-found.memory.n_rows // ROWS_DRAWN)
    draw_means(ax, limits, found.predict_rows()[::step], f"posterior mean of {found.target}", step)


def _bars(found: AskedResult) -> Panel:
    label = f"standard deviation of {found.target} by the feature alone"
    return Panel(
        lambda ax: draw_effects(ax, found.effects, label, "which features matter"),
        f"By how much {found.target} varies with each feature alone.",
    )


def _profile(found: AskedResult, name: str) -> Panel:
    """Return a panel of the posterior means along one feature: average and middle 80 %."""
    limit = _find_limits(found, name)

    def spread(mean: np.ndarray) -> tuple[float, float, float]:
        if not len(mean):
            return math.nan, math.nan, math.nan
        return float(mean.mean()), *np.quantile(mean, (0.1, 0.9)).tolist()

    def draw(ax: Any) -> None:
        step = -(-found.memory.n_rows // ROWS_DRAWN)
        names = "average posterior mean", "80 % of the rows"
        values, mean = limit.column.values[::step], found.predict_rows()[::step]
        draw_profile(ax, limit, values, mean, spread, names)
        finish_profile(ax, name, f"posterior mean of {found.target}")

    caption = f"{name}: what the answers tell of {found.target} along it"
    others = ", whatever the others are" if len(found.features) > 1 else ""
    return Panel(draw, caption + others + ".")


def _ranking(found: AskedResult) -> Panel:
    def draw(ax: Any) -> None:
        search = found.search
        mean, std = search.mean, np.sqrt(np.maximum(np.diag(search.cov), 0.0))
        sign = 1.0 if found.minimizes else -1.0
        best = np.argsort(sign * mean, kind="stable")[:GROUPS_SHOWN].tolist()
        best += [] if 0 in best else [0]
        places = np.arange(len(best))[::-1]
        for place, i in zip(places, best, strict=True):
            color = RECOMMENDED if i == search.index else "C0"
            bar = {"xerr": QUANTILE_95 * std[i], "color": color, "capsize": 3}
            ax.errorbar(mean[i], place, fmt="o", **bar)
        names = [_wrap(_name(found, i)) for i in best]
        ax.set_yticks(places, names, fontsize="small")
        ax.axvline(mean[0], color=label_color(ax), lw=0.8, ls=":")
        ax.set(xlabel=f"average {found.target}, with 95 % intervals", title="the best groups asked")
        fit_labels(ax)

    return Panel(draw, "The best of the groups that were asked for, and the whole table.")


def _name(found: AskedResult, index: int) -> str:
    if index == 0:
        return "whole table"
    if index == found.search.index:
        return "recommended"
    return describe_group(found.group_limits(index))


def _wrap(name: str) -> str:
    return "\n".join(wrap(name, LETTERS, max_lines=2, placeholder=" …"))


def draw_photograph(found: AskedResult, image: np.ndarray) -> Any:
    """Draw the photograph, and beside it the posterior mean of its brightness."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(15.0, 5.2), layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2)
    left.imshow(image)
    shown = right.imshow(found.predict_rows().reshape(image.shape[:2]), cmap="viridis")
    figure.colorbar(shown, ax=right, label="posterior mean of brightness")
    corners = [column.values[found.members] for column in found.features]
    low, high = (np.array([end(each) for each in corners]) for end in (np.min, np.max))
    for ax in (left, right):
        style = outline_style(ax, 1.2)
        ax.add_patch(
            Rectangle((low[0], low[1]), *(high - low), fill=False, ec=RECOMMENDED, **style)
        )
        ax.set(xlabel=PIXELS[0], ylabel=PIXELS[1])
    left.set(title="the photograph, unknown to the search")
    right.set(title=f"what {count(found.search.n_answers, 'average')} tell")
    return figure
