"""Sphinx configuration: ``python -m sphinx -W --keep-going -b html doc doc/_build/html``."""

from __future__ import annotations

import inspect
import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

import matplotlib
import scipy.linalg  # noqa: F401  # the limit is for libraries that are loaded already
from docutils.nodes import Element, SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.inspect import stringify_signature
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))
import architecture
import parameters

# The examples' matrices are small: on a busy machine threads would wait for each other for minutes.
threadpool_limits(1, user_api="blas")
matplotlib.use("Agg")
logger = logging.getLogger(__name__)

project = "skgpb"
author = "The skgpb developers"
copyright = author
version = release = installed_version("skgpb")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "thumbnails",
    "drawn",
    "terms",
]
exclude_patterns = ["_build", "examples", "gallery/**/*.ipynb", "gallery/**/*.md5"]
templates_path = ["_templates"]
default_role = "code"

# -- API reference ------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings give types and shapes
numpydoc_show_class_members = False  # _templates/autosummary/class.rst lists them
numpydoc_xref_param_type = False

# -- gallery ------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "ExampleTitleSortKey",
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "image_scrapers": ("thumbnails.scrape",),
    "thumbnail_size": (400, 400),
    "reference_url": {"skgpb": None},
    "doc_module": ("skgpb",),
    "backreferences_dir": "gallery/backreferences",
    "inspect_global_variables": False,
}

# -- code that can be copied, without prompts and output -----------------------------------------

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- HTML ---------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"skgpb {release}"
html_static_path = ["_static"]
html_css_files = ["skgpb.css"]
html_show_sourcelink = False
html_search_scorer = str(Path(__file__).parent / "scorer.js")
html_copy_source = False
html_theme_options = {
    "logo": {"text": "skgpb"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "show_toc_level": 2,
}
# The left column is of use where a section has several pages; elsewhere code gets the room.
single = ["index", "install", "quick_start", "map", "faq", "references", "changes"]
single += ["coming_from", "citing"]
single += ["doors/**", "gallery/**"]
html_sidebars = {page: [] for page in single}
html_math_renderer = "mathml"


def mathml(node: Element, displayed: bool) -> str:
    """Convert a formula to MathML, which every current browser shows by itself."""
    # docutils knows \ldots but not \dots, and takes both digits of \frac12 for the numerator.
    formula = re.sub(r"(frac)(\d)(\d)", r"\1{\2}{\3}", node.astext().replace(r"\dots", r"\ldots"))
    try:
        return tex2mathml(formula, as_block=displayed)
    except MathError as error:
        logger.warning("cannot convert %r: %s", node.astext(), error, location=node)
        return node.astext()


def visit_inline_math(translator: object, node: Element) -> None:
    """Write mathematics within a line."""
    translator.body.append(mathml(node, displayed=False))
    raise SkipNode


def visit_displayed_math(translator: object, node: Element) -> None:
    """Write mathematics on a line of its own."""
    translator.body.append(f'<div class="math">{mathml(node, displayed=True)}</div>\n')
    raise SkipNode


def unlink_foreign_references(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Drop links to pages of other projects from the docstrings of inherited methods."""
    origin = getattr(obj, "fget", None) or obj
    if not (getattr(origin, "__module__", None) or "skgpb").startswith("skgpb"):
        lines[:] = [re.sub(r":ref:`([^<`]+?)\s*<[^>]+>`", r"\1", line) for line in lines]
        lines[:] = [re.sub(r":term:`([^`]+)`", r"``\1``", line) for line in lines]


def describe_all_parameters(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Show the parameters that base classes declare as well, in full."""
    if what == "class" and parameters.inherited(obj):
        lines[:] = parameters.on_page(obj).splitlines()


def signature_of_init(
    app: Sphinx,
    what: str,
    name: str,
    obj: object,
    options: object,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Show the parameters of ``__init__``, not the ``__new__`` that gives an object its lock."""
    if what == "class" and signature == "(*args, **kwargs)":
        signature = stringify_signature(inspect.signature(obj), show_annotation=False)
    return signature, returns


def markdown_to_rst(text: str) -> str:
    """Turn the little Markdown of CHANGELOG.md into reStructuredText."""
    text = re.sub(r"`([^`]+)`", r"``\1``", text)
    text = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r"`\1 <\2>`__", text)
    lines: list[str] = []
    for line in text.splitlines():
        heading = re.match(r"(#+) (.+)", line)
        if heading:
            underline = "=-~"[len(heading[1]) - 1] * len(heading[2])
            lines += [heading[2], underline]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def insert_changelog(app: Sphinx, docname: str, source: list[str]) -> None:
    """Fill the page ``changes`` from CHANGELOG.md, so that there is one list of changes."""
    if docname == "changes":
        path = Path(app.srcdir).parent / "CHANGELOG.md"
        app.env.note_dependency(str(path))
        source[0] = markdown_to_rst(path.read_text(encoding="utf-8"))


def draw_architecture(app: Sphinx) -> None:
    """Draw the page ``development/architecture``'s picture from the source as it is."""
    target, picture = Path(app.srcdir) / "development" / "architecture.svg", architecture.draw()
    if not target.exists() or target.read_text(encoding="utf-8") != picture:
        target.write_text(picture, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register what is defined above."""
    app.add_html_math_renderer("mathml", (visit_inline_math, None), (visit_displayed_math, None))
    app.connect("builder-inited", draw_architecture)
    app.connect("source-read", insert_changelog)
    app.connect("autodoc-process-signature", signature_of_init)
    # Before numpydoc, which reads the sections.
    app.connect("autodoc-process-docstring", describe_all_parameters, priority=400)
    app.connect("autodoc-process-docstring", unlink_foreign_references)
