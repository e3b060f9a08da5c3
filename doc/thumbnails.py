"""Square thumbnails of the gallery: one panel of an example's last figure, without its labels.

A whole figure, made small, shows nothing. The panel is the axes with the label "thumbnail", or the
first: ``ax.set_label("thumbnail")`` in an example chooses another.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from sphinx.application import Sphinx
from sphinx_gallery.scrapers import matplotlib_scraper

# Side of a thumbnail in inches, and its resolution.
SIDE, DPI = 3.2, 125


def scrape(block: tuple, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save the figures of a block as sphinx-gallery does, and a panel of the last as a square."""
    figures = [plt.figure(number) for number in plt.get_fignums()]
    text = matplotlib_scraper(block, variables, settings)
    if figures:
        folder = Path(settings["src_dir"]) / "gallery" / "thumbnails"
        folder.mkdir(exist_ok=True)
        save_square(figures[-1], folder / f"{Path(variables['src_file']).stem}.png")
    return text


def save_square(figure: Any, path: Path) -> None:
    """Save one panel of a figure, which is changed."""
    chosen = [ax for ax in figure.axes if ax.get_label() == "thumbnail"] or figure.axes
    for ax in figure.axes:
        ax.set_visible(ax is chosen[0])
    for legend in [*figure.legends, chosen[0].get_legend()]:
        if legend is not None:
            legend.set_visible(False)
    figure.suptitle("")
    figure.set_layout_engine("none")
    figure.set_size_inches(SIDE, SIDE)
    ax = chosen[0]
    ax.set(title="", xlabel="", ylabel="", xticks=[], yticks=[], aspect="auto")
    ax.set_position((0.02, 0.02, 0.96, 0.96))
    figure.savefig(path, dpi=DPI)


def replace(app: Sphinx) -> None:
    """Put the squares in the place of sphinx-gallery's thumbnails, which have been made by then."""
    gallery = Path(app.srcdir) / "gallery"
    for path in (gallery / "thumbnails").glob("*.png"):
        shutil.copy(path, gallery / "images" / "thumb" / f"sphx_glr_{path.stem}_thumb.png")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register :func:`replace`, to be called after the gallery was made."""
    app.connect("builder-inited", replace, priority=900)
    return {"parallel_read_safe": True}
