"""Pictures of an experiment as SVG, on a light and on a dark page."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from skgpb.plotting import PosteriorDisplay, RegretDisplay, SliceDisplay
from skgpb.plotting._themes import style_of
from skgpb.plotting._words import say

# Inches; a column of panels is readable on a telephone.
WIDTH, HEIGHT = 5.0, 3.0
PIXELS_PER_INCH = 96
# What matplotlib draws with keeps state in its module.
DRAWING = Lock()


@dataclass(frozen=True)
class Picture:
    """One picture: its name in addresses, its caption, and its size."""

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
        The best answer after each answer, or the prediction along each side.
    theme : {"light", "dark"}
        Colours of the page, light or dark.
    optimizer : BaseBanditOptimizer
        After at least one answer.
    outcome : str
        Name of the answer.

    Returns
    -------
    svg : bytes
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Letters that matplotlib does not have the browser may have; what users typed is no formula.
    letters = {"svg.fonttype": "none", "text.parse_math": False}
    with DRAWING, rc_context(style_of(theme) | letters), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        panels = 1 if kind == "progress" else optimizer.n_features_in_
        figure = Figure(figsize=(WIDTH, HEIGHT * panels), layout="constrained")
        PAINTERS[kind](figure.subplots(panels, squeeze=False)[:, 0].tolist(), optimizer, outcome)
        say(figure)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def draw_map(optimizer: Any, x: int, y: int, theme: str, outcome: str) -> bytes:
    """Draw the prediction over two sides, with the recommended values of the others.

    Parameters
    ----------
    optimizer : BaseBanditOptimizer
        After at least one answer.
    x, y : int
        Numbers of the sides.
    theme : {"light", "dark"}
        Colours of the page, light or dark.
    outcome : str
        Name of the answer.

    Returns
    -------
    svg : bytes
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    letters = {"svg.fonttype": "none", "text.parse_math": False, "hatch.linewidth": 0.4}
    with DRAWING, rc_context(style_of(theme) | letters), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        figure = Figure(figsize=(WIDTH, 1.4 * HEIGHT), layout="constrained")
        PosteriorDisplay.from_optimizer(
            optimizer, figure.subplots(), features=[x, y], grid_resolution=60, value_name=outcome
        )
        say(figure)
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
