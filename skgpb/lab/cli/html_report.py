"""The report of a search: lines, and one page with pictures, for people without Python."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from skgpb._version import __version__
from skgpb.lab.cli.pictures import Panel
from skgpb.plotting._themes import THEMES, theme_style

# Inches and dots per inch: letters can be read on a telephone, lines are sharp on a screen.
SIZE, DOTS = (5.2, 4.2), 160

# The page, and the sheet of the pages of an experiment.
HERE = Path(__file__).parent
PAGE, STYLE = HERE / "search_page.html", HERE.parent / "app" / "static" / "app.css"
PICTURES = """<section>
<h2>Pictures</h2>
<div class="columns">
{}
</div>
</section>"""


@dataclass(frozen=True)
class Report:
    """What is said of a search, on a terminal and on a page.

    Attributes
    ----------
    title : str
        What was sought.
    source : str
        The table and how much of it was searched.
    rows : list of (str, str)
        Lines with their names.
    remarks : list of list of str
        Sentences about the limits of the numbers, by lines.
    conclusion : str
        What matters most, as HTML; all else is text.
    method : str
        What the search did, for people who know no more of it than its name.
    headline : sequence of str
        What matters most, for a terminal.
    """

    title: str
    source: str
    rows: list[tuple[str, str]]
    remarks: list[list[str]]
    conclusion: str
    method: str
    headline: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """The report on a terminal: sentences, rows with names of one width, and remarks."""
        width = max(len(name) for name, _ in self.rows)
        lines = [
            f"{self.title} in {self.source}",
            "",
            *self.headline,
            *([""] if self.headline else []),
            *(f"{name:<{width}}  {text}" for name, text in self.rows),
            *(line for remark in self.remarks for line in ("", *remark)),
        ]
        # Names and values of a database may have several lines; its condition has to have them.
        return [line if " WHERE " in line else " ".join(line.splitlines()) for line in lines]

    def write_page(self, panels: Sequence[Panel], name: str) -> None:
        """Write a page that needs nothing but itself, with pictures."""
        said = (f"<dt>{escape(each.strip())}</dt><dd>{_value(x)}</dd>" for each, x in self.rows)
        figures = "\n".join(_figure(panel) for panel in panels)
        page = Template(PAGE.read_text(encoding="utf-8")).substitute(
            title=escape(self.title),
            source=escape(f"In {self.source}"),
            conclusion=self.conclusion,
            rows="\n".join(said),
            remarks="\n".join(f"<p>{escape(' '.join(remark))}</p>" for remark in self.remarks),
            pictures=PICTURES.format(figures) if panels else "",
            method=escape(self.method),
            version=escape(__version__),
            style=STYLE.read_text(encoding="utf-8"),
        )
        Path(name).write_text(page, encoding="utf-8")


def _value(text: str) -> str:
    """Write a value; text for a shell or a database in a monospaced font."""
    code = text.startswith(("--where", "WHERE "))
    return f"<code>{escape(text)}</code>" if code else escape(text)


def _figure(panel: Panel) -> str:
    """Write a picture with its caption; paper has the light one, whatever the screen shows."""
    width, height = (round(side * DOTS / 2) for side in SIZE)
    caption = escape(panel.caption)
    images = "".join(
        f'<img class="{theme}" src="{_drawn(panel, theme)}" width="{width}" height="{height}" '
        f'alt="{caption}">'
        for theme in THEMES
    )
    return f"<figure>{images}<figcaption>{caption}</figcaption></figure>"


def _drawn(panel: Panel, theme: str) -> str:
    """Draw a picture for one kind of page, as an address that holds it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(theme_style(theme)):
        figure = Figure(figsize=SIZE, layout="constrained", dpi=DOTS)
        panel.draw(figure.subplots())
        out = io.BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode("ascii")
