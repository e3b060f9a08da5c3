"""Colours of pictures on light and dark pages."""

from __future__ import annotations

from typing import Any

THEMES = {
    "light": {"page": "#ffffff", "ink": "#1b2430", "line": "#51606f", "curve": "#0072b2"},
    "dark": {"page": "#1d232a", "ink": "#e6eaee", "line": "#a5b1bd", "curve": "#56b4e9"},
}


def theme_style(theme: str) -> dict[Any, Any]:
    """Return matplotlib's settings for a picture on a "light" or a "dark" page."""
    from matplotlib.rcsetup import cycler

    colours = THEMES[theme]
    line, ink, page = colours["line"], colours["ink"], colours["page"]
    return {
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
