"""Labels and legends that fit their axes: broken into lines, and outside all other letters.

They are measured in the axes at the time of drawing; a layout engine hardly changes the size of
the axes afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np

# Largest share of a side of the axes for a label: a layout engine shrinks the axes a little.
SHARE = 0.85
# Largest width of a legend, in widths of the axes.
LEGEND_SHARE = 1.15
# Largest number of lines of a label of an axis; least number of letters of a line.
MOST_LINES, FEWEST_LETTERS = 3, 8
# Width in inches below which axes have their colour bar below them.
NARROW = 4.0
# Distance between a legend and the letters next to it, in font sizes.
GAP = 0.4


def fit_labels(*axes: Any) -> None:
    """Break titles and labels of axes into lines that fit along their side of the axes."""
    for ax in axes:
        width, height = ax.bbox.size - _beyond(ax)
        _fit(ax.title, SHARE * width, None)
        _fit(ax.xaxis.label, SHARE * width, MOST_LINES)
        _fit(ax.yaxis.label, SHARE * height, MOST_LINES)


def _beyond(ax: Any) -> Any:
    """Return by how many pixels letters exceed the left and the lower edge of the figure.

    A layout engine shrinks the axes by as much.
    """
    boxes = ax.yaxis.get_tightbbox(), ax.xaxis.get_tightbbox()
    starts = [
        0.0 if box is None else getattr(box, side)
        for box, side in zip(boxes, ("x0", "y0"), strict=True)
    ]
    return np.maximum(0.0, -np.array(starts))


def _fit(text: Any, length: float, most_lines: int | None) -> None:
    """Break a text into lines of at most ``length`` pixels."""
    said = " ".join(text.get_text().split())
    if not said:
        return
    text.set_text(said)
    drawn = max(text.get_window_extent().size)
    if drawn > length:
        letters = max(FEWEST_LETTERS, int(len(said) * length / drawn))
        lines = wrap(said, letters, max_lines=most_lines, placeholder=" …")
        text.set_text("\n".join(lines))


def add_colorbar(ax: Any, mappable: Any, label: str) -> None:
    """Add a colour bar beside axes, or below narrow ones."""
    narrow = ax.bbox.width < NARROW * ax.figure.dpi
    place = {"location": "bottom", "aspect": 30.0} if narrow else {}
    fit_labels(ax.figure.colorbar(mappable, ax=ax, label=label, **place).ax)


def add_legend(ax: Any, n_columns: int, *, above: bool = False, **legend: Any) -> None:
    """Add a legend below the label of the horizontal axis, or above the axes.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes with all ticks and labels.
    n_columns : int
        Largest number of columns; fewer if they would be much wider than the axes.
    above : bool, default=False
        Whether the legend is above the axes.
    **legend : dict
        Arguments of ``ax.legend``.
    """
    style = {"loc": "lower center" if above else "upper center", "frameon": False, **legend}
    style["bbox_to_anchor"] = (0.5, 1.0 if above else 0.0)
    pad = GAP
    if not above:
        letters = ax.xaxis.get_tightbbox()
        below = 0.0 if letters is None else max(0.0, ax.bbox.y0 - letters.y0)
        size = ax.legend(**style).prop.get_size_in_points() * ax.figure.dpi / 72.0
        pad += below / size
    for n in range(n_columns, 0, -1):
        drawn = ax.legend(**style, borderaxespad=pad, ncols=n)
        if drawn.get_window_extent().width <= LEGEND_SHARE * ax.bbox.width:
            return


def add_legend_of_figure(
    figure: Any, handles: Sequence[Any], n_columns: int, **legend: Any
) -> None:
    """Add a legend below all axes of a figure, with fewer columns if they do not fit."""
    style = {"loc": "outside lower center", "frameon": False, "handles": handles, **legend}
    for n in range(n_columns, 0, -1):
        drawn = figure.legend(**style, ncols=n)
        if n == 1 or drawn.get_window_extent().width <= figure.bbox.width:
            return
        drawn.remove()
