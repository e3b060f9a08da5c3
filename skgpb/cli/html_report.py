"""``--report``: one file with the conclusion and the pictures, for people without Python."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from skgpb._version import __version__
from skgpb.cli.asked import Found
from skgpb.cli.exact import ExactFound, headline, rows_said
from skgpb.cli.exact import remarks_of as exact_remarks_of
from skgpb.cli.exact_pictures import panels_of as exact_panels_of
from skgpb.cli.pictures import Panel, panels_of
from skgpb.cli.report import remarks_of, rows_of
from skgpb.cli.words import count, number
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


# For people who know no more of it than its name.
EXACT_METHOD = (
    "All rows were searched for the box with the {sought} average, side by side. The verdict comes "
    "from the same search in tables whose target was dealt out to the rows at random. What new "
    "rows are expected to average comes from five searches, each without a fifth of the rows: "
    "those had no part in the choice."
)


def write_html(found: Found, result: dict[str, Any], source: str, name: str) -> None:
    """Write a page about a search that asked questions."""
    write_page(
        name,
        title=f"{result['sought'].capitalize()} average of {found.target}",
        source=source,
        conclusion=_conclusion(found, result),
        rows=rows_of(found, result),
        remarks=[" ".join(remark) for remark in remarks_of(found, result)],
        panels=panels_of(found),
        method=_method(result),
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


def write_exact_html(found: ExactFound, result: dict[str, Any], source: str, name: str) -> None:
    """Write a page about a search of visible rows."""
    write_page(
        name,
        title=f"{result['sought'].capitalize()} average of {found.target}",
        source=source,
        conclusion=_exact_conclusion(found, result),
        rows=rows_said(found, result),
        remarks=exact_remarks_of(found, result),
        panels=exact_panels_of(found),
        method=EXACT_METHOD.format_map(result),
    )


def _exact_conclusion(found: ExactFound, result: dict[str, Any]) -> str:
    """Say in sentences what matters most."""
    said = "".join(f"<p>{escape(line)}</p>" for line in headline(found, result))
    if found.is_whole:
        return said
    group = " and ".join(
        f"<strong>{escape(limit.column.name)}</strong> {escape(limit.said)}"
        for limit in found.limits
    )
    average = number(result["counted_average"], 4)
    rows = count(result["n_members"], "row")
    return f"<p>The {rows} with {group} average <strong>{average}</strong>.</p>{said}"


def _conclusion(found: Found, result: dict[str, Any]) -> str:
    """Say in sentences what matters most."""
    word = "lower" if found.minimizes else "higher"
    target = escape(found.target)
    if found.is_whole:
        return (
            f"<p>No group is known to have a {word} average of {target} than the whole table.</p>"
        )
    group = " and ".join(
        f"<strong>{escape(limit.column.name)}</strong> {escape(limit.said)}"
        for limit in found.limits
        if limit.conditions
    )
    low, high = found.gain_interval
    # If the budget is a privacy budget, more questions may be impossible.
    more = "" if "privacy" in result else ": ask more questions"
    noise = (
        "This can be told from the noise of the answers."
        if found.told_from_noise
        else f"<strong>This may be noise alone</strong>{more}."
    )
    return (
        f"<p>The {result['n_members']:,} rows with {group} have an average {target} of about "
        f"<strong>{number(result['posterior_mean'], 4)}</strong>, {word} than that of the whole "
        f"table by {number(found.gain[0], 3)} (with 95 % probability by {number(low, 3)} to "
        f"{number(high, 3)}). {noise}</p>"
    )


def _value(text: str) -> str:
    """Write a value; text for a shell or a database in a monospaced font."""
    code = text.startswith(("--where", "WHERE "))
    return f"<code>{escape(text)}</code>" if code else escape(text)


def _method(result: dict[str, Any]) -> str:
    """Describe what the search did, and which data it did not see."""
    if result["engine"] == "model":
        how = (
            "A Gaussian process learned from the answers and proposed boxes. The best boxes "
            "were asked for as well."
        )
    else:
        how = "Of these the worse half was left out again and again."
    return (
        f"The table was parted at random into groups by {', '.join(result['features'])}. A search "
        f"asked {result['n_rounds']:,} times for the average of {result['target']} over one of "
        f"{result['n_groups_asked']:,} groups and never for the value of a row. {how}"
    )


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
