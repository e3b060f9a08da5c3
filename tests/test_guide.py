"""The user guide: every page has a picture and a place, every term of the glossary a use."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOC = Path(__file__).resolve().parents[1] / "doc"
if not DOC.is_dir():
    pytest.skip("the documentation is not available", allow_module_level=True)

GUIDE = sorted((DOC / "user_guide").glob("*.rst"))
PICTURE = re.compile(r"^\.\. (drawn|figure|image):: +(\S+)", re.M)


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOC)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


@pytest.mark.parametrize(
    "page", [page for page in GUIDE if page.stem != "index"], ids=lambda p: p.stem
)
def test_every_page_of_the_guide_has_a_picture(page: Path) -> None:
    assert PICTURE.search(text(page))


def test_every_picture_has_a_script_and_every_script_a_page() -> None:
    pages = [page for page in DOC.rglob("*.rst") if "_build" not in page.parts]
    shown = {
        name for page in pages for kind, name in PICTURE.findall(text(page)) if kind == "drawn"
    }
    assert shown == {script.stem for script in (DOC / "figures").glob("*.py")}


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {DOC / "index.rst"}
    for page in DOC.rglob("*.rst"):
        for block in re.findall(r"^\.\. toctree::\n((?:[ ].*\n|\n)*)", text(page) + "\n", re.M):
            names = re.findall(r"^ +(?!:)(?:.+ <)?([^\s>]+)>?$", block, re.M)
            listed |= {page.parent / f"{name}.rst" for name in names}
    built = {"_build", "gallery", "generated", "examples", "_templates"}
    written = {
        page
        for page in DOC.rglob("*.rst")
        if not built & set(page.parts) and not text(page).lstrip().startswith(":orphan:")
    }
    assert written <= listed


@pytest.mark.slow
def test_every_term_of_the_glossary_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = module("terms", monkeypatch)
    found = terms.read_terms(text(DOC / "user_guide/glossary.rst"))
    entries = list(dict.fromkeys(found.values()))
    assert len(entries) > 30 and entries == sorted(entries, key=str.lower)
    prose = "\n".join(text(page) for page in GUIDE if page.stem not in ("index", "glossary"))
    used = {found[match[1].lower()] for match in terms.pattern(found).finditer(prose)}
    assert set(found.values()) - used == set()


def test_the_first_use_of_a_term_is_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = module("terms", monkeypatch)
    core = importlib.import_module("docutils.core")
    nodes = importlib.import_module("docutils.nodes")
    page = "Cells\n=====\n\n``cell`` is code. Cells have leaves, *a cell* too. A length scale.\n"
    document = core.publish_doctree(page)
    known = terms.read_terms(
        ".. glossary::\n\n   cell\n      A part.\n\n   leaf\n   leaves\n      A cell.\n\n"
        "   length scale\n"
    )
    assert known == {
        "cell": "cell",
        "leaf": "leaf",
        "leaves": "leaf",
        "length scale": "length scale",
    }
    before = document.astext()
    assert terms.link(document, known, "page") == {"cell", "leaf", "length scale"}
    links = [node for node in document.findall(nodes.Element) if node.get("reftype") == "term"]
    assert [(link.astext(), link["reftarget"]) for link in links] == [
        ("Cells", "cell"),
        ("leaves", "leaf"),
        ("length scale", "length scale"),
    ]
    assert document.astext() == before


def test_pictures_are_drawn_for_light_and_for_dark_pages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    drawn = module("drawn", monkeypatch)
    script = tmp_path / "one.py"
    script.write_text(
        "from matplotlib import pyplot\n\ndef draw():\n"
        "    figure, ax = pyplot.subplots()\n    ax.set_xlabel('x')\n    return figure\n"
    )
    first, again = drawn.pictures(script), drawn.pictures(script)
    assert first == again
    assert drawn.INK in first["light"] and drawn.INK not in first["dark"]
    assert first["dark"].count(drawn.INK_ON_DARK) == first["light"].count(drawn.INK)


def test_the_reference_goes_by_what_one_comes_for() -> None:
    titles = re.findall(r"^(.+)\n-+$", text(DOC / "api/index.rst"), re.M)
    assert titles[:3] == [
        "I have a table",
        "I have an instrument or an experiment",
        "I tune a model",
    ]
    assert "I work on bandits" in titles
