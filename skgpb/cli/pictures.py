"""Pictures of a search: where averages are high, what was found, and which features matter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from skgpb.cli.features import Limits
from skgpb.cli.region import QUANTILE_95, Region
from skgpb.cli.report import count, named
from skgpb.cli.result import Found
from skgpb.datasets import Column
from skgpb.plotting._axes import RECOMMENDED, ink_of, mark_recommended, outlined

PIXELS = ["column (pixels)", "row (pixels)"]
# A recommended group narrower than this share of the map gets a close-up of so many times its
# own size on every side.
SMALL, ZOOM = 0.1, 3.0
CLOSE_UP_DOT = 9.0
# Inches of a panel; at most so many are side by side.
PANEL = (6.0, 4.8)
SIDE_BY_SIDE = 3
# So many features are drawn along an axis of their own, and in bars.
PROFILES, BARS = 3, 12
# So many groups are compared.
GROUPS_SHOWN = 8
# Averages are drawn over parts with so many rows or more, of which there are at most so many.
ROWS_OF_PART, PARTS = 5, 24
# More rows than these make a map no clearer.
ROWS_DRAWN = 200_000
# Letters of a name beside an axis.
LETTERS = 26


@dataclass(frozen=True)
class Panel:
    """One picture.

    Attributes
    ----------
    draw : callable
        Draws on axes.
    caption : str
        What it shows.
    """

    draw: Callable[[Any], object]
    caption: str


def panels_of(found: Found) -> list[Panel]:
    """Pictures of a search of a table, the most telling first."""
    columns, target = found.space.columns, found.target
    order = [
        next(i for i, column in enumerate(columns) if column.name == name)
        for name in found.conclusion.effects
    ]
    numbers = all(column.kind != "texts" for column in columns)
    where = f"The recommended group of {count(len(found.region.members), 'row')} is outlined."
    if len(columns) == 1:
        if not numbers:
            return [_profile(found, 0), _ranking(found)]
        caption = f"What the answers tell of {target} along {columns[0].name}."
        return [Panel(lambda ax: _draw_cells(found, ax), caption), _ranking(found)]
    if len(columns) == 2 and numbers:
        caption = f"What the answers tell of {target}: each dot is a row. {where}"
        panels = [Panel(lambda ax: _draw_cells(found, ax), caption)]
        if _is_small(found):
            panels.append(Panel(lambda ax: _draw_cells(found, ax, close_up=True), "Closer."))
        return [*panels, _bars(found), _ranking(found)]
    first, second = order[:2]
    caption = (
        f"What the answers tell of {target} by the two features that matter most, on average over "
        f"the others. {where}"
        if len(columns) > 2
        else f"What the answers tell of {target}. {where}"
    )
    return [
        Panel(lambda ax: _draw_map(found, ax, first, second), caption),
        _bars(found),
        *(_profile(found, i) for i in order[:PROFILES]),
        _ranking(found),
    ]


def draw_table(found: Found) -> Any:
    """Draw the panels of a table in one figure."""
    from matplotlib.figure import Figure

    panels = panels_of(found)
    n_rows = math.ceil(len(panels) / SIDE_BY_SIDE)
    n_columns = math.ceil(len(panels) / n_rows)
    size = (PANEL[0] * n_columns, PANEL[1] * n_rows + 0.5)
    figure = Figure(figsize=size, layout="constrained", dpi=150)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for panel, ax in zip(panels, axes, strict=False):
        panel.draw(ax)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    region = found.region
    figure.suptitle(
        f"{len(region.members):,} of {count(region.oracle.n_rows, 'row')} recommended after "
        f"{count(region.oracle.n_answers, 'average')} of {found.target}"
    )
    return figure


# -- one or two numbers -------------------------------------------------------------------------


def _is_small(found: Found) -> bool:
    span = np.ptp(found.space.coordinates, axis=0)
    return bool((found.region.upper - found.region.lower < SMALL * span).any())


def _draw_cells(found: Found, ax: Any, *, close_up: bool = False) -> None:
    """Draw the groups of one or two numbers as they were cut."""
    from matplotlib.collections import PathCollection

    from skgpb.plotting import CellMapDisplay

    region, columns = found.region, found.space.columns
    display = CellMapDisplay.from_optimizer(
        region.optimizer,
        ax,
        recommended=region.group,
        pool=found.space.coordinates,
        feature_names=[column.name for column in columns],
        value_name=f"average {found.target}",
    )
    for column, axis in zip(columns, (ax.xaxis, ax.yaxis), strict=False):
        _label(column, axis)
    if close_up:
        span, side = np.ptp(found.space.coordinates, axis=0), region.upper - region.lower
        margin = np.minimum(span, ZOOM * np.where(side > 0.0, side, span))
        if isinstance(display.mappable_, PathCollection):
            display.mappable_.set_sizes([CLOSE_UP_DOT])
        low, high = region.lower - margin, region.upper + margin
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), title="close-up")


# -- many features, and categories --------------------------------------------------------------


def believed(found: Found) -> np.ndarray:
    """Posterior mean of the average over the finest group that each row is in, shape (n_rows,)."""
    optimizer = found.region.optimizer
    leaves = np.flatnonzero(optimizer.tree_.children[:, 0] < 0).tolist()
    cells = [optimizer.domain_.cell(leaf) for leaf in leaves]
    values = np.empty(found.region.oracle.n_rows)
    for cell, mean in zip(cells, optimizer.predict_query(cells), strict=True):
        values[cell.members] = mean
    return values


def _draw_map(found: Found, ax: Any, first: int, second: int) -> None:
    """Draw what is believed by two features, averaged over the others."""
    columns = [found.space.columns[i] for i in (first, second)]
    step = -(-found.region.oracle.n_rows // ROWS_DRAWN)
    edges, places = zip(*(_binned(column, step) for column in columns), strict=True)
    shape = [len(edge) - 1 for edge in edges]
    cell = np.ravel_multi_index(places, shape)
    n = np.bincount(cell, minlength=math.prod(shape))
    sums = np.bincount(cell, believed(found)[::step], minlength=math.prod(shape))
    with np.errstate(invalid="ignore"):
        mean = (sums / n).reshape(shape)
    drawn = ax.pcolormesh(edges[0], edges[1], mean.T, cmap="viridis", rasterized=True)
    ax.figure.colorbar(drawn, ax=ax, label=f"posterior mean of average {found.target}")
    for column, axis in zip(columns, (ax.xaxis, ax.yaxis), strict=True):
        _label(column, axis)
        axis.set_label_text(column.name)
    limits = [found.limits[i] for i in (first, second)]
    _outline(ax, limits, edges)


def _binned(column: Column, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges of the parts of an axis, and in which part each drawn row is."""
    values = column.values[::step]
    if column.kind == "texts":
        return np.arange(len(column.labels) + 1) - 0.5, values.astype(int)
    low, high = column.values.min(), column.values.max()
    n = max(4, min(PARTS, math.isqrt(len(values) // ROWS_OF_PART)))
    edges = np.linspace(low, high, n + 1) if high > low else np.array([low - 0.5, low + 0.5])
    return edges, np.clip(np.searchsorted(edges, values, "right") - 1, 0, len(edges) - 2)


def _outline(ax: Any, limits: list[Limits], edges: Any) -> None:
    """Outline the recommended group, with a box for each pair of categories if they are apart."""
    from matplotlib.patches import Rectangle

    for x, width in _stretches(limits[0], edges[0]):
        for y, height in _stretches(limits[1], edges[1]):
            style = outlined(ax, 1.2)
            ax.add_patch(Rectangle((x, y), width, height, fill=False, ec=RECOMMENDED, **style))


def _stretches(limit: Limits, edges: np.ndarray) -> list[tuple[float, float]]:
    """Where along an axis the group is: beginnings and lengths."""
    if limit.column.kind != "texts":
        low = edges[0] if limit.low is None else limit.low
        return [(low, (edges[-1] if limit.high is None else limit.high) - low)]
    codes = list(range(len(limit.column.labels)))
    if limit.among is not None:
        codes = [limit.column.labels.index(label) for label in limit.among]
    starts = [code for code in codes if code - 1 not in codes]
    ends = [code for code in codes if code + 1 not in codes]
    return [(a - 0.5, b - a + 1.0) for a, b in zip(starts, ends, strict=True)]


def _bars(found: Found) -> Panel:
    def draw(ax: Any) -> None:
        effects = dict(list(found.conclusion.effects.items())[:BARS])
        places = np.arange(len(effects))[::-1]
        ax.barh(places, list(effects.values()), height=0.6)
        ax.set_yticks(places, [_short(name) for name in effects])
        ax.set(xlim=(0.0, None), ylim=(min(-0.6, len(effects) - 5.0), len(effects) - 0.4))
        ax.set_xlabel(f"standard deviation of {found.target} by the feature alone")
        ax.set_title("which features matter")

    return Panel(draw, f"By how much {found.target} varies with each feature alone.")


def _profile(found: Found, feature: int) -> Panel:
    column, limit = found.space.columns[feature], found.limits[feature]

    def draw(ax: Any) -> None:
        step = -(-found.region.oracle.n_rows // ROWS_DRAWN)
        values, mean = column.values[::step], believed(found)[::step]
        if column.kind == "texts":
            _draw_categories(ax, column, limit, values, mean)
        else:
            _draw_profile(ax, limit, values, mean)
        _label(column, ax.xaxis)
        ax.set(xlabel=column.name, ylabel=f"average {found.target}")
        ax.legend()

    caption = f"{column.name}: what the answers tell of {found.target} along it"
    others = ", whatever the others are" if len(found.space.columns) > 1 else ""
    return Panel(draw, caption + others + ".")


def _draw_profile(ax: Any, limit: Limits, values: np.ndarray, mean: np.ndarray) -> None:
    """Draw average and spread over parts with equally many rows."""
    n = max(1, min(PARTS, len(values) // ROWS_OF_PART))
    parts = np.array_split(np.argsort(values, kind="stable"), n)
    x = [values[part].mean() for part in parts]
    low, high = zip(*(np.quantile(mean[part], (0.1, 0.9)) for part in parts), strict=True)
    ax.fill_between(x, low, high, alpha=0.25, lw=0, label="80 % of the rows")
    ax.plot(x, [mean[part].mean() for part in parts], label="their average")
    if limit.conditions:
        ends = (values.min(), values.max())
        stretch = [
            end if given is None else given
            for given, end in zip((limit.low, limit.high), ends, strict=True)
        ]
        mark_recommended(ax, *stretch)


def _draw_categories(
    ax: Any, column: Column, limit: Limits, values: np.ndarray, mean: np.ndarray
) -> None:
    among = limit.among or column.labels
    labelled: set[bool] = set()
    for code, label in enumerate(column.labels):
        part = mean[values == code]
        low, high = np.quantile(part, (0.1, 0.9)) if len(part) else (math.nan, math.nan)
        chosen = limit.among is not None and label in among
        name = "recommended" if chosen else "80 % of the rows, and their average"
        color = RECOMMENDED if chosen else "C0"
        ax.plot([code, code], [low, high], color=color, lw=6, alpha=0.35, solid_capstyle="butt")
        point = {"color": color, "label": None if chosen in labelled else name}
        ax.plot([code], [part.mean() if len(part) else math.nan], "o", **point)
        labelled.add(chosen)


def _ranking(found: Found) -> Panel:
    def draw(ax: Any) -> None:
        region = found.region
        groups = [group for _, group in sorted(region.oracle.asked.items())]
        mean, std = region.optimizer.predict_query(groups, return_std=True)
        sign = 1.0 if found.minimizes else -1.0
        best = np.argsort(sign * mean, kind="stable")[:GROUPS_SHOWN].tolist()
        root = next((i for i, group in enumerate(groups) if group.depth == 0), best[0])
        best += [] if root in best else [root]
        places = np.arange(len(best))[::-1]
        for place, i in zip(places, best, strict=True):
            chosen = groups[i].depth == region.group.depth and groups[i].index == region.group.index
            color = RECOMMENDED if chosen else "C0"
            bar = {"xerr": QUANTILE_95 * std[i], "color": color, "capsize": 3}
            ax.errorbar(mean[i], place, fmt="o", **bar)
        names = [_folded(_name(found, groups[i])) for i in best]
        ax.set_yticks(places, names, fontsize="small")
        ax.axvline(mean[root], color=ink_of(ax), lw=0.8, ls=":")
        ax.set(xlabel=f"average {found.target}, with 95 % intervals", title="the best groups asked")

    return Panel(draw, "The best of the groups that were asked for, and the whole table.")


def _name(found: Found, group: Any) -> str:
    if group.depth == 0:
        return "whole table"
    if (group.depth, group.index) == (found.region.group.depth, found.region.group.index):
        return "recommended"
    return named(found.limits_of(group))


def _folded(name: str) -> str:
    return "\n".join(wrap(name, LETTERS, max_lines=2, placeholder=" …"))


def _short(name: str) -> str:
    return name if len(name) <= LETTERS else name[: LETTERS - 1] + "…"


def _label(column: Column, axis: Any) -> None:
    """Let an axis show dates and categories."""
    if column.kind == "dates":
        axis.axis_date()
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(maxticks=7)
        axis.set_major_locator(locator)
        axis.set_major_formatter(ConciseDateFormatter(locator))
    elif column.kind == "texts":
        n = len(column.labels)
        turned = {"rotation": 40, "ha": "right"} if axis.axis_name == "x" and n > 4 else {}
        axis.set_ticks(range(n), [_short(label) for label in column.labels], **turned)


# -- the demo -----------------------------------------------------------------------------------


def draw_photograph(region: Region, places: np.ndarray, image: np.ndarray) -> Any:
    """Draw the photograph, and beside it what the averages tell of it."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    from skgpb.plotting import CellMapDisplay

    figure = Figure(figsize=(15.0, 6.0), layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2)
    right.invert_yaxis()
    display = CellMapDisplay.from_optimizer(
        region.optimizer,
        right,
        recommended=region.group,
        pool=places,
        feature_names=PIXELS,
        value_name="average brightness",
    )
    left.imshow(image)
    low, high = region.lower, region.upper
    left.add_patch(
        Rectangle((low[0], low[1]), *(high - low), fill=False, edgecolor=display.color, lw=2.5)
    )
    left.set(title="the photograph, unknown to the search", xlabel=PIXELS[0], ylabel=PIXELS[1])
    right.set(title=f"what {count(region.oracle.n_answers, 'average')} tell", aspect="equal")
    right.set(xlim=left.get_xlim(), ylim=left.get_ylim())
    return figure
