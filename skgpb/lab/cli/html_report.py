"""The report of a search: lines for a terminal, and one HTML page with pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from skgpb import __version__
from skgpb.lab.cli.pictures import Panel
from skgpb.plotting.themes import THEMES, theme_style

# Inches, and dots per inch: letters are legible on a telephone, lines are sharp on a screen.
SIZE, DOTS = (5.2, 4.2), 160

# The template of the page, and the style sheet, which the pages of experiments use as well.
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
    """The report on a search, for a terminal and for an HTML page.

    Attributes
    ----------
    title : str
        The average that was sought.
    source : str
        The table, and the part of it that was searched.
    rows : list of (str, str)
        Names and texts of the lines.
    remarks : list of list of str
        Lines of each remark on the limits of the numbers.
    conclusion : str
        The main result, as HTML; all other texts are plain.
    method : str
        The method in sentences, for readers who do not know it.
    headline : sequence of str
        The main result, for a terminal.
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
        """Lines of the report for a terminal: the headline, rows with aligned names, remarks."""
        width = max(len(name) for name, _ in self.rows)
        lines = [
            f"{self.title} in {self.source}",
            "",
            *self.headline,
            *([""] if self.headline else []),
            *(f"{name:<{width}}  {text}" for name, text in self.rows),
            *(line for remark in self.remarks for line in ("", *remark)),
        ]
        # Names and values may contain line ends, which become blanks, except in the condition for a
        # database, which must not change.
        return [line if " WHERE " in line else " ".join(line.splitlines()) for line in lines]

    def write_page(self, panels: Sequence[Panel], name: str) -> None:
        """Write the report with pictures as one HTML file, which needs no other files."""
        rows = (f"<dt>{escape(each.strip())}</dt><dd>{_value(x)}</dd>" for each, x in self.rows)
        figures = "\n".join(_figure(panel) for panel in panels)
        page = Template(PAGE.read_text(encoding="utf-8")).substitute(
            title=escape(self.title),
            source=escape(f"In {self.source}"),
            conclusion=self.conclusion,
            rows="\n".join(rows),
            remarks="\n".join(f"<p>{escape(' '.join(remark))}</p>" for remark in self.remarks),
            pictures=PICTURES.format(figures) if panels else "",
            method=escape(self.method),
            version=escape(__version__),
            style=STYLE.read_text(encoding="utf-8"),
        )
        Path(name).write_text(page, encoding="utf-8")


def _value(text: str) -> str:
    """Return a value as HTML, with a monospaced font for a condition."""
    code = text.startswith(("--where", "WHERE "))
    return f"<code>{escape(text)}</code>" if code else escape(text)


def _figure(panel: Panel) -> str:
    """Return a picture with its caption as HTML, in a light and a dark version.

    The style sheet shows the version of the screen, and prints the light one.
    """
    width, height = (round(side * DOTS / 2) for side in SIZE)
    caption = escape(panel.caption)
    images = "".join(
        f'<img class="{theme}" src="{_data_url(panel, theme)}" width="{width}" height="{height}" '
        f'alt="{caption}">'
        for theme in THEMES
    )
    return f"<figure>{images}<figcaption>{caption}</figcaption></figure>"


def _data_url(panel: Panel, theme: str) -> str:
    """Draw a picture in one theme; return it as a data URL."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(theme_style(theme)):
        figure = Figure(figsize=SIZE, layout="constrained", dpi=DOTS)
        panel.draw(figure.subplots())
        out = io.BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode("ascii")
