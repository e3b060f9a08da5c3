"""Pictures of an experiment as SVG, on a light and on a dark page."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from skgpb.plotting import RegretDisplay, SliceDisplay

# Inches; a column of panels is readable on a telephone.
WIDTH, HEIGHT = 5.0, 3.0
PIXELS_PER_INCH = 96
# What matplotlib draws with keeps state in its module.
DRAWING = Lock()
THEMES = {
    "light": {"page": "#ffffff", "ink": "#1b2430", "line": "#51606f", "curve": "#0072b2"},
    "dark": {"page": "#1d232a", "ink": "#e6eaee", "line": "#a5b1bd", "curve": "#56b4e9"},
}


@dataclass(frozen=True)
class Picture:
    """One picture: what it is called in addresses, what it says, and how large it is."""

    kind: str
    caption: str
    alt: str
    panels: int

    @property
    def width(self) -> int:
        """In pixels."""
        return round(WIDTH * PIXELS_PER_INCH)

    @property
    def height(self) -> int:
        """In pixels."""
        return round(HEIGHT * self.panels * PIXELS_PER_INCH)


def draw(kind: str, theme: str, optimizer: Any, outcome: str) -> bytes:
    """Draw a picture of what an optimizer knows.

    Parameters
    ----------
    kind : {"progress", "slices"}
        The best answer after each answer, or what is believed along each side.
    theme : {"light", "dark"}
        What page it stands on.
    optimizer : BaseBanditOptimizer
        After at least one answer.
    outcome : str
        What is measured.

    Returns
    -------
    svg : bytes
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.rcsetup import cycler

    colours = THEMES[theme]
    line, ink, page = colours["line"], colours["ink"], colours["page"]
    style: dict[Any, Any] = {
        "figure.facecolor": page,
        "axes.facecolor": page,
        "legend.facecolor": page,
        "legend.edgecolor": line,
        "savefig.facecolor": page,
        "text.color": ink,
        "axes.labelcolor": ink,
        "axes.edgecolor": line,
        "xtick.color": line,
        "xtick.labelcolor": ink,
        "ytick.color": line,
        "ytick.labelcolor": ink,
        "axes.prop_cycle": cycler(color=[colours["curve"]]),
        "svg.hashsalt": "skgpb",  # the same run, the same picture
    }
    with DRAWING, rc_context(style):
        panels = 1 if kind == "progress" else optimizer.n_features_in_
        figure = Figure(figsize=(WIDTH, HEIGHT * panels), layout="constrained")
        PAINTERS[kind](figure.subplots(panels, squeeze=False)[:, 0].tolist(), optimizer, outcome)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def _progress(axes: Sequence[Any], optimizer: Any, outcome: str) -> None:
    RegretDisplay.from_optimizer(
        optimizer, axes[0], kind="best", name="best so far", value_name=outcome
    )


def _slices(axes: Sequence[Any], optimizer: Any, outcome: str) -> None:
    SliceDisplay.from_optimizer(optimizer, axes, value_name=outcome)


PAINTERS: dict[str, Callable[[Sequence[Any], Any, str], None]] = {
    "progress": _progress,
    "slices": _slices,
}
