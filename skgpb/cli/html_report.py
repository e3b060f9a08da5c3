"""``--report``: one file with the conclusion and the pictures, for people without Python."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from skgpb._version import __version__
from skgpb.cli.pictures import Panel
from skgpb.plotting._themes import THEMES, style_of

# Inches and dots per inch: letters can be read on a telephone, lines are sharp on a screen.
SIZE, DOTS = (5.2, 4.2), 160

# The sheet of the pages of an experiment.
STYLE = Path(__file__).parents[1] / "app" / "static" / "app.css"
PAGE = Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
$style
.best strong { white-space: normal; }
/* What is said of a group is long: below its name where there is no room beside it. */
@media (max-width: 30rem) {
  dl.settings { display: block; }
  dl.settings dd { margin-bottom: 0.5rem; }
}
</style>
</head>
<body>
<header>
<h1>$title</h1>
<p class="quiet">$source</p>
</header>
<main>
<section class="best">
$conclusion
</section>
<section>
<h2>What was found</h2>
<dl class="settings">
$rows
</dl>
$remarks
</section>
$pictures
<section>
<h2>How it was found</h2>
<p>$method</p>
</section>
</main>
<footer><p>Written by skgpb $version.</p></footer>
</body>
</html>
"""
)
PICTURES = """<section>
<h2>Pictures</h2>
<div class="columns">
{}
</div>
</section>"""


def write_page(
    name: str,
    *,
    title: str,
    source: str,
    conclusion: str,
    rows: Sequence[tuple[str, str]],
    remarks: Sequence[str],
    panels: Sequence[Panel],
    method: str,
) -> None:
    """Write a page that needs nothing but itself; ``conclusion`` is HTML, all else text."""
    said = (f"<dt>{escape(label.strip())}</dt><dd>{_value(text)}</dd>" for label, text in rows)
    figures = "\n".join(_figure(panel) for panel in panels)
    page = PAGE.substitute(
        title=escape(title),
        source=escape(f"In {source}"),
        conclusion=conclusion,
        rows="\n".join(said),
        remarks="\n".join(f"<p>{escape(remark)}</p>" for remark in remarks),
        pictures=PICTURES.format(figures) if panels else "",
        method=escape(method),
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

    with rc_context(style_of(theme)):
        figure = Figure(figsize=SIZE, layout="constrained", dpi=DOTS)
        panel.draw(figure.subplots())
        out = io.BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode("ascii")
