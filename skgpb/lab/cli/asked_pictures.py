"""Pictures of a search that asked for averages."""

from __future__ import annotations

import math
from textwrap import wrap
from typing import Any

import numpy as np

from skgpb.lab.cli import pictures
from skgpb.lab.cli.asked import QUANTILE_95, AskedResult
from skgpb.lab.cli.features import FeatureLimits, describe_group
from skgpb.lab.cli.pictures import Panel
from skgpb.lab.cli.words import count
from skgpb.plotting._axes import RECOMMENDED, label_color, outline_style
from skgpb.plotting._letters import fit_labels

PIXELS = ["column (pixels)", "row (pixels)"]
# Number of groups in the ranking.
GROUPS_SHOWN = 8
# Cost: maximum number of rows that are drawn; more make a map no clearer.
ROWS_DRAWN = 200_000


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
        *(_profile(found, name) for name in order[: pictures.PROFILES]),
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
    pictures.draw_means(
        ax, limits, found.predict_rows()[::step], f"posterior mean of {found.target}", step
    )


def _bars(found: AskedResult) -> Panel:
    label = f"standard deviation of {found.target} by the feature alone"
    return Panel(
        lambda ax: pictures.draw_effects(ax, found.effects, label, "which features matter"),
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
        pictures.draw_profile(ax, limit, values, mean, spread, names)
        pictures.finish_profile(ax, name, f"posterior mean of {found.target}")

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
    return "\n".join(wrap(name, pictures.LETTERS, max_lines=2, placeholder=" …"))


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
