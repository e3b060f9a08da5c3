"""Picture of an experiment: the prediction along every side, and the progress."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.answers import range_ends
from skgpb.lab.experiments.pictures import draw_progress, draw_trade_offs
from skgpb.lab.experiments.sides import format_value
from skgpb.lab.experiments.texts import to_one_line
from skgpb.plotting import SliceDisplay
from skgpb.plotting.letters import add_legend_of_figure, fit_labels
from skgpb.plotting.slices import legend_handles
from skgpb.plotting.words import say

# Inches of a panel, and of the margins of the figure.
PANEL, MARGINS = (2.6, 2.2), (0.5, 1.4)
PANELS_PER_ROW = 3
# Letters of the title per inch.
LETTERS = 12
# Digits of a number in the title.
DIGITS = 4


def draw_experiment(experiment: Experiment) -> Any:
    """Draw the prediction along every side through the recommendation, and the answers so far.

    Parameters
    ----------
    experiment : Experiment
        An experiment with at least one answer.

    Returns
    -------
    figure : matplotlib Figure

    Raises
    ------
    ValueError
        Before the first answer.
    """
    from matplotlib.figure import Figure

    status = experiment.status()
    if status["best"] is None:
        raise ValueError(f"{experiment.path} has no answer yet that could be drawn")
    value = " in ".join(filter(None, [status["answer"] or "answer", status["unit"]]))
    d = len(status["sides"])
    columns = min(d, PANELS_PER_ROW)
    rows = -(-d // columns)
    width = max(columns, 2) * PANEL[0] + MARGINS[0]
    figure = Figure(figsize=(width, (rows + 1) * PANEL[1] + MARGINS[1]), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=[rows, 1])
    slices, progress = halves
    ends = range_ends(status["answer_range"])
    _draw_slices(slices, experiment.optimizer, (rows, columns, d), value, ends)
    found = experiment.trade_offs() if status["goals"] else None
    if found is None:
        draw_progress(progress.subplots(), experiment.history(), status["direction"], value)
    else:
        draw_trade_offs(progress.subplots(), found)
    say(figure)
    title = status["title"] or to_one_line(experiment.path.name)
    lines = _describe_best(status["best"], value, int(LETTERS * width))
    figure.suptitle("\n".join([title, *lines]), fontsize="medium")
    # Fit labels after the layout: the title and the names make the panels smaller.
    figure.draw_without_rendering()
    fit_labels(*figure.get_axes())
    return figure


def _describe_best(best: dict[str, Any], value: str, width: int) -> list[str]:
    """Return the recommendation as lines of text."""
    setting = ", ".join(
        f"{name} = {format_value(each, DIGITS)}" for name, each in best["params"].items()
    )
    mean, low, high = (format_value(each, DIGITS) for each in (best["mean"], *best["interval_95"]))
    return [
        *wrap(f"recommended: {setting}", width),
        f"{value}: {mean}, with 95 % probability between {low} and {high}",
    ]


def _draw_slices(
    figure: Any,
    optimizer: Any,
    shape: tuple[int, int, int],
    value: str,
    ends: tuple[float, float],
) -> None:
    rows, columns, d = shape
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in panels[d:]:
        unused.remove()
    SliceDisplay.from_optimizer(optimizer, ax=panels[:d], value_name=value, value_range=ends)
    # One legend for all panels, below them, where it hides nothing.
    panels[0].get_legend().remove()
    add_legend_of_figure(figure, legend_handles(panels[:d]), 4, fontsize="small")
