"""Link the terms of the glossary where a page first uses them."""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

GLOSSARY = "user_guide/glossary"
# Where pages with prose for users are.
PROSE = ("user_guide/", "doors/", "benchmarks/", "quick_start", "map")
# What a reader does not take for text, or what is a link already.
CLOSED = (
    nodes.title,
    nodes.reference,
    nodes.literal,
    nodes.literal_block,
    nodes.doctest_block,
    nodes.math,
    nodes.math_block,
    nodes.caption,
    nodes.comment,
    nodes.raw,
    nodes.strong,
    addnodes.pending_xref,
    addnodes.toctree,
)


def read_terms(text: str) -> dict[str, str]:
    """Return the terms of a glossary in small letters, each with the first one of its entry."""
    terms: dict[str, str] = {}
    first = before = ""
    for line in text.partition(".. glossary::")[2].splitlines():
        if re.match(r" {3}\S", line):
            first = first if re.match(r" {3}\S", before) else line.strip()  # another name of it
            terms[line.strip().lower()] = first
        before = line
    return terms


def pattern(terms: dict[str, str]) -> re.Pattern:
    """Match any term, singular or plural; of several that begin alike the longest."""
    longest = sorted(terms, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest))})s?(?![\w-])", re.I)


def link(document: nodes.document, terms: dict[str, str], page: str) -> set[str]:
    """Turn the first use of each term into a link to the glossary; return what is used."""
    used = {
        terms.get(node["reftarget"].lower(), "")
        for node in document.findall(addnodes.pending_xref)
        if node.get("reftype") == "term"
    }
    regex = pattern(terms)
    for text in list(document.findall(nodes.Text)):
        ancestor = text.parent
        while ancestor is not None and not isinstance(ancestor, CLOSED):
            ancestor = ancestor.parent
        if ancestor is not None:
            continue
        pieces, position, words = [], 0, text.astext()
        for match in regex.finditer(words):
            term = terms[match[1].lower()]
            if term not in used:
                used.add(term)
                shown = nodes.inline("", match[0], classes=["xref", "std", "std-term"])
                reference = addnodes.pending_xref(
                    "",
                    shown,
                    refdomain="std",
                    reftype="term",
                    reftarget=term,
                    refdoc=page,
                    refexplicit=True,
                    refwarn=True,
                )
                pieces += [nodes.Text(words[position : match.start()]), reference]
                position = match.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(words[position:])])
    return used - {""}


def link_terms(app: Sphinx, document: nodes.document) -> None:
    """Link the terms of a page as soon as it is read."""
    page = app.env.docname
    if page.startswith(PROSE) and page not in (GLOSSARY, "user_guide/index"):
        glossary = Path(app.srcdir) / f"{GLOSSARY}.rst"
        app.env.note_dependency(str(glossary))
        link(document, read_terms(glossary.read_text(encoding="utf-8")), page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what is defined above."""
    app.connect("doctree-read", link_terms)
    return {"parallel_read_safe": True}
