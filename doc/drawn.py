"""Pictures of the pages, drawn when the documentation is built, for light and dark pages.

``.. drawn:: NAME`` shows what ``figures/NAME.py`` draws; the text below it is the caption, and
``:alt:`` says in words what there is to see. A script has a function ``draw`` without arguments,
which returns a matplotlib figure. It draws with the colours below, which are told apart on white
and on black, and by the colour-blind. The version for dark pages is the same file with another
colour of ink.

``python doc/drawn.py NAME ...`` draws to ``doc/_drawn`` without building the pages, with
``--to FOLDER`` elsewhere.
"""

from __future__ import annotations

import argparse
import io
import re
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.parsers.rst.directives.images import Figure
from sphinx.application import Sphinx
from sphinx.util import logging

DOC = Path(__file__).resolve().parent
SCRIPTS = DOC / "figures"
FOLDER = "_drawn"

BLUE, ORANGE, GREEN, RED = "#2f86c6", "#cf7415", "#15976c", "#d5443a"
GREY, INK, INK_ON_DARK = "#7a8791", "#26323d", "#dbe3ea"

# Five inches are the width of a page; on a telephone letters are two thirds as large.
STYLE = {
    "figure.figsize": (5.2, 2.9),
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": matplotlib.cycler(color=[BLUE, ORANGE, GREEN, RED, GREY]),
    **dict.fromkeys(
        ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"], INK
    ),
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "image.cmap": "viridis",
    "savefig.transparent": True,
    "savefig.dpi": 150,
    "svg.hashsalt": "skgpb",
}


def pictures(script: Path) -> dict[str, str]:
    """Run a script, and return its picture for light and for dark pages."""
    from matplotlib import pyplot

    with matplotlib.rc_context(STYLE):
        figure = runpy.run_path(str(script))["draw"]()
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    light = buffer.getvalue()
    return {"light": light, "dark": light.replace(INK, INK_ON_DARK)}


def write(script: Path, folder: Path) -> None:
    """Write both pictures of a script to a folder."""
    folder.mkdir(exist_ok=True)
    for page, picture in pictures(script).items():
        (folder / f"{script.stem}-{page}.svg").write_text(picture, encoding="utf-8")


def draw_all(app: Sphinx) -> None:
    """Draw what is not there, or older than its script or anything that scripts use.

    Before pages are read: what a script prints may be included further up than its picture.
    """
    used = [Path(__file__), *(DOC.parent / "skgpb").rglob("*.py"), *(DOC / "doors").iterdir()]
    newest = max(path.stat().st_mtime for path in used)
    for script in sorted(SCRIPTS.glob("*.py")):
        target = DOC / FOLDER / f"{script.stem}-dark.svg"
        made = target.stat().st_mtime if target.exists() else 0.0
        if made < max(newest, script.stat().st_mtime):
            logging.getLogger(__name__).info("drawing %s", script.stem)
            write(script, DOC / FOLDER)


class Drawn(Figure):
    """A figure drawn by a script: a light and a dark picture."""

    required_arguments = 1
    option_spec = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Show both versions."""
        name = self.arguments[0]
        script = SCRIPTS / f"{name}.py"
        if not re.fullmatch(r"\w+", name) or not script.exists():
            raise self.error(f"there is no script doc/figures/{name}.py")
        if "alt" not in self.options:
            raise self.error(f"say in words what {name} shows, with :alt:")
        self.state.document.settings.record_dependencies.add(str(script))
        self.arguments = [f"/{FOLDER}/{name}-light.svg"]
        self.options["class"] = ["only-light"]
        figure, *rest = super().run()
        light = figure[0]
        dark = light.deepcopy()
        dark["uri"], dark["classes"] = f"/{FOLDER}/{name}-dark.svg", ["only-dark"]
        figure.insert(1, dark)
        return [figure, *rest]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive, and draw before pages are read."""
    app.add_directive("drawn", Drawn)
    app.connect("builder-inited", draw_all)
    return {"parallel_read_safe": True}


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the pictures that are named."""
    parser = argparse.ArgumentParser(description="Draw pictures of the documentation.")
    parser.add_argument("names", nargs="+", metavar="NAME", help="of doc/figures/NAME.py")
    parser.add_argument("--to", type=Path, default=DOC / FOLDER, metavar="FOLDER")
    given = parser.parse_args(arguments)
    for name in given.names:
        write(SCRIPTS / f"{name}.py", given.to)


if __name__ == "__main__":
    sys.modules["drawn"] = sys.modules["__main__"]  # scripts take the colours from here
    main()
