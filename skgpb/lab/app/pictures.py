"""Pictures of an experiment as SVG, on a light and on a dark page."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from skgpb.plotting.drawing import label_color
from skgpb.plotting.letters import fit_labels
from skgpb.plotting.themes import theme_style
from skgpb.plotting.words import say

# Size of a panel in inches: a column of panels is readable on a telephone.
WIDTH, HEIGHT = 4.4, 2.8
# Height of a map in inches, with legend and colour bar below it.
MAP_HEIGHT = 4.6
# Height in inches of the legend above the first of several panels.
LEGEND_HEIGHT = 0.6
PIXELS_PER_INCH = 96
# Lock of matplotlib, which has global state.
DRAWING = Lock()
# A function that draws on the axes of a picture, one for each panel.
Paint = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True)
class Picture:
    """One picture: its name in addresses, its caption, and its size.

    Each panel is an image of its own, so that a page break may fall between two panels.
    """

    kind: str
    caption: str
    alt: str
    #: Name of the side along each panel, if there are several panels.
    along: tuple[str, ...] = ()
    inches: float = HEIGHT

    @property
    def panels(self) -> int:
        """Number of panels."""
        return max(1, len(self.along))

    @property
    def alts(self) -> list[str]:
        """Alternative texts of the panels, for screen readers."""
        return [self.alt, *(f"The same along {name}." for name in self.along[1:])]

    @property
    def width(self) -> int:
        """Width of the panels in pixels."""
        return round(WIDTH * PIXELS_PER_INCH)

    @property
    def heights(self) -> list[int]:
        """Height of each panel in pixels."""
        return [round(inches * PIXELS_PER_INCH) for inches in self._inches()]

    def _inches(self) -> list[float]:
        first = self.inches + (LEGEND_HEIGHT if self.panels > 1 else 0.0)
        return [first] + [self.inches] * (self.panels - 1)

    def draw(self, paint: Paint, theme: str) -> list[bytes]:
        """Draw the picture as SVG.

        Parameters
        ----------
        paint : callable
            Function that draws on the axes of the panels.
        theme : {"light", "dark"}
            Theme of the page around the picture.

        Returns
        -------
        svgs : list of bytes
            One for each panel.
        """
        from matplotlib import rc_context
        from matplotlib.figure import Figure
        from matplotlib.transforms import Bbox

        # Keep letters as text, because the browser may have fonts that matplotlib lacks; do not
        # parse names of users as formulas.
        style = {"svg.fonttype": "none", "text.parse_math": False, "hatch.linewidth": 0.4}
        with DRAWING, rc_context(theme_style(theme) | style), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")
            figure = Figure(figsize=(WIDTH, sum(self._inches())), layout="constrained")
            panels = figure.subplots(self.panels, squeeze=False)[:, 0].tolist()
            paint(panels)
            say(figure)
            if self.panels == 1:
                return [_to_svg(figure)]
            # Lay out all panels together, so that their widths agree; then save each alone.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            svgs = []
            for panel, inches in zip(panels, self._inches(), strict=True):
                for each in panels:
                    each.set_visible(each is panel)
                box = panel.get_tightbbox().transformed(figure.dpi_scale_trans.inverted())
                height = max(inches, box.height)
                low = 0.5 * (box.y0 + box.y1 - height)
                svgs.append(_to_svg(figure, Bbox.from_bounds(0.0, low, WIDTH, height)))
        return svgs


def _to_svg(figure: Any, box: Any = None) -> bytes:
    """Return a figure, or the part of it in a box in inches, as SVG."""
    out = io.BytesIO()
    figure.savefig(out, format="svg", bbox_inches=box, metadata={"Date": None, "Creator": None})
    return out.getvalue()


def draw_replicates(ax: Any, groups: Sequence[dict[str, Any]], outcome: str) -> None:
    """Draw the answers at each setting with replicates.

    Parameters
    ----------
    ax : matplotlib Axes
    groups : sequence of dicts
        Replicates, as :meth:`~skgpb.lab.experiments.Experiment.replicates` returns them.
    outcome : str
        Name of the measured quantity.
    """
    dots = {"marker": "o", "ms": 4, "mew": 0, "ls": "none", "color": label_color(ax), "alpha": 0.55}
    for i, group in enumerate(groups):
        answers = group["answers"]
        ax.plot([i] * len(answers), answers, **dots, label="results" if i == 0 else None)
    x, bars = range(len(groups)), [group["spread"] for group in groups]
    means = [group["mean"] for group in groups]
    said = {"label": "mean ± standard deviation", "fmt": "_", "ms": 12, "capsize": 4}
    ax.errorbar([i + 0.15 for i in x], means, bars, **said)
    # With many groups, write the numbers of a group below each other.
    between = ", " if len(groups) <= 2 else "\n"
    ax.set_xticks(x, [between.join(map(str, group["queries"])) for group in groups])
    ax.set_xlim(-0.6, len(groups) - 0.4)
    ax.set_xlabel("experiments with the same settings")
    ax.set_ylabel(outcome)
    fit_labels(ax)
    ax.figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize="small")
