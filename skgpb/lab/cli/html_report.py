"""A finding as one HTML page with pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from skgpb import __version__
from skgpb.lab.cli.finding import Finding
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


def write_page(finding: Finding, panels: Sequence[Panel], name: str) -> None:
    """Write a finding with its pictures as one HTML file, which needs no other files."""
    rows = (
        f"<dt>{escape(each.strip())}</dt><dd>{_value(x)}</dd>" for each, x in finding.statements
    )
    figures = "\n".join(_figure(panel) for panel in panels)
    page = Template(PAGE.read_text(encoding="utf-8")).substitute(
        title=escape(finding.title),
        source=escape(f"In {finding.table}"),
        conclusion="".join(f"<p>{line}</p>" for line in finding.conclusion),
        rows="\n".join(rows),
        remarks="\n".join(f"<p>{escape(' '.join(remark))}</p>" for remark in finding.remarks),
        pictures=PICTURES.format(figures) if panels else "",
        method=escape(finding.method),
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
