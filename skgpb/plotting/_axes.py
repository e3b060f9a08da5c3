"""What the displays share: axes, and messages where there is nothing to draw or to draw with."""

from __future__ import annotations

from typing import Any

# Colour of what is recommended, in every display.
RECOMMENDED = "#d62728"
# Half width of a 95 % interval of a normal distribution, in standard deviations.
QUANTILE_95 = 1.96


def check_draws(optimizer: Any, cls: type, what: str) -> None:
    """Raise TypeError unless an optimizer is one whose picture can be drawn."""
    if not isinstance(optimizer, cls):
        raise TypeError(f"{what} to draw, {type(optimizer).__name__} has none")


def make_axes(ax: Any) -> Any:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install skgpb[plot]"
        ) from error
    return plt.subplots(layout="constrained")[1]
