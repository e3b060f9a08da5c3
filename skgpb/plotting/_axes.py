"""What the displays share: axes, and a message where matplotlib is missing."""

from __future__ import annotations

from typing import Any

# Colour of what is recommended, in every display.
RECOMMENDED = "#d62728"
# Half width of a 95 % interval of a normal distribution, in standard deviations.
QUANTILE_95 = 1.96


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
