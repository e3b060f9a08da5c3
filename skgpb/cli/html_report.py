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

PAGE = Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
:root { --page: $light_page; --ink: $light_ink;
  --quiet: #51606f; --rule: #d5dbe1; --best: #a84900; }
@media screen and (prefers-color-scheme: dark) {
  :root { --page: $dark_page; --ink: $dark_ink;
    --quiet: #a5b1bd; --rule: #3a4550; --best: #f0a35e; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.5rem; }
.quiet, figcaption { color: var(--quiet); }
.best { border-left: 0.4rem solid var(--best); padding: 0.1rem 0 0.1rem 1rem; font-size: 1.1rem; }
.best strong { color: var(--best); }
dl { display: grid; grid-template-columns: minmax(8rem, 14rem) 1fr; gap: 0; margin: 0; }
dt, dd { margin: 0; padding: 0.4rem 0; border-top: 1px solid var(--rule); }
dt { color: var(--quiet); padding-right: 1rem; }
code { font: 0.9em ui-monospace, monospace; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr));
  gap: 1.5rem; }
figure { margin: 0; }
img { width: 100%; height: auto; display: block; }
.dark { display: none; }
@media screen and (prefers-color-scheme: dark) {
  .light { display: none; }
  .dark { display: block; }
}
figcaption { font-size: 0.9rem; margin-top: 0.3rem; }
@media (max-width: 30rem) {
  dl { display: block; }
  dt { padding-bottom: 0; }
  dd { border-top: 0; padding-top: 0; }
}
@media print {
  :root { color-scheme: light; }
  body { max-width: none; padding: 0; }
  .pictures { display: block; }
  /* Two in a row; one page has all of each. */
  figure { display: inline-block; width: 48%; margin: 0 1% 1rem 0; vertical-align: top; }
  img { max-height: 80vh; object-fit: contain; object-position: left top; }
  figure, .best, dt, dd { break-inside: avoid; }
  h2 { break-after: avoid; }
  footer { break-before: avoid; }
}
@media print and (orientation: landscape) { figure { width: 32%; } }
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
<h2>What was found</h2>
<dl>
$rows
</dl>
$remarks
$pictures
<h2>How it was found</h2>
<p>$method</p>
</main>
<footer><p class="quiet">Written by skgpb $version.</p></footer>
</body>
</html>
"""
)


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
    colours = {
        f"{theme}_{part}": THEMES[theme][part] for theme in THEMES for part in ("page", "ink")
    }
    figures = "\n".join(_figure(panel) for panel in panels)
    page = PAGE.substitute(
        title=escape(title),
        source=escape(f"In {source}"),
        conclusion=conclusion,
        rows="\n".join(said),
        remarks="\n".join(f"<p>{escape(remark)}</p>" for remark in remarks),
        pictures=f'<h2>Pictures</h2>\n<div class="pictures">\n{figures}\n</div>' if panels else "",
        method=escape(method),
        version=escape(__version__),
        **colours,
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
