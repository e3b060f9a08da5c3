"""Each parameter is described where it is declared; docstrings and pages are made from that."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
import sys
from functools import cache
from pathlib import Path

import pytest

import skgpb
from skgpb import CombinatorialBandit, EIOptimizer, PIOptimizer, optimizers
from skgpb.optimizers import Leaves, ModelParameters, Round, Stop, StopRule
from skgpb.optimizers.indirect_search import BaseIndirectSearch

DOC = Path(__file__).resolve().parents[1] / "doc"
OTHERS = re.compile(
    r"parameters are inherited from ([^.]*`~skgpb\.[^`]*`(?: and [^.]*`~skgpb\.[^`]*`)?)"
)
BASES = re.compile(r"~skgpb\.optimizers\.(\w+)`")
CLASSES = [
    cls
    for name in optimizers.__all__
    if inspect.isclass(cls := getattr(optimizers, name))
    and cls not in (Round, Leaves, Stop, StopRule)
] + [CombinatorialBandit]
WITHOUT_EXAMPLE = (
    ModelParameters,
    optimizers.IndirectParameters,
    optimizers.PartitionSearch,
)
#: They show what a person types first below their first line.
WITH_EXAMPLE = [
    cls for cls in CLASSES if not issubclass(cls, BaseIndirectSearch) and cls not in WITHOUT_EXAMPLE
]


def shown(cls):
    """Names that the section "Parameters" of a class has, in its order."""
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    entries = re.findall(r"^\S.*", section[1] if section else "", flags=re.MULTILINE)
    return [name for entry in entries for name in entry.partition(" : ")[0].split(", ")]


@cache
def documented(cls):
    """Those that the class describes itself; of others it has a line."""
    return [name for name in shown(cls) if name in declared(cls)]


def declared(cls):
    """Parameters that a class itself declares, in their order."""
    if "__dataclass_fields__" in vars(cls):
        return [name for name in vars(cls).get("__annotations__", {}) if name in parameters(cls)]
    return parameters(cls) if "__init__" in vars(cls) else []


def parameters(cls):
    return list(inspect.signature(cls).parameters)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", CLASSES)
def test_each_parameter_is_described_where_it_is_declared(cls):
    for name in parameters(cls):
        homes = [each for each in cls.__mro__ if name in documented(each)]
        assert homes, f"nothing describes {name}"
        # Again only where it has another default or other values than in the class above.
        assert len(homes) == 1 or all(name in vars(each)["__annotations__"] for each in homes)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", CLASSES)
def test_a_class_describes_its_own_parameters_and_names_the_class_of_the_others(cls):
    own = documented(cls)
    assert shown(cls) == [name for name in parameters(cls) if name in shown(cls)]
    rest, homes = set(parameters(cls)) - set(own), [cls]
    while rest:
        home = homes.pop(0)
        others = OTHERS.findall(" ".join(home.__doc__.split()))
        assert len(others) <= 1
        bases = [getattr(optimizers, name) for name in BASES.findall("".join(others))]
        assert all(issubclass(home, base) for base in bases)
        homes += bases
        rest -= {name for base in bases for name in documented(base)}


@pytest.mark.parametrize("cls", WITH_EXAMPLE)
def test_kernels_come_first_and_all_else_by_name(cls):
    given = inspect.signature(cls).parameters
    by_place = [name for name in given if given[name].kind is not given[name].KEYWORD_ONLY]
    places = {"optimizers": ["optimizers", "budget", "costs"], "rule": ["rule", "kernel"]}
    places["strategy"] = ["strategy"]
    first = next(iter(given), "")
    assert by_place == places.get(first, ["kernel"] if "kernel" in given else [])


def test_no_docstring_has_a_place_to_be_filled_in():
    texts = [path.read_text(encoding="utf-8") for path in Path(skgpb.__file__).parent.rglob("*.py")]
    assert len(texts) > 100
    assert not any(re.search(r"^ *\w[\w, ]* : %\(\w+\)s$", text, re.MULTILINE) for text in texts)


@pytest.mark.parametrize("cls", WITH_EXAMPLE)
def test_what_a_person_types_first_comes_first(cls):
    text = inspect.getdoc(cls)
    before, example = text.split(">>> ", 1)
    assert len(before.splitlines()) <= 10
    assert "Parameters\n---" not in before
    example, shown = re.split(r"\n(?!>>> |\.\.\.)", example, maxsplit=1)
    assert cls.__name__ in example
    assert shown.partition("\n")[0] not in ("", "True")
    assert "bounds={" in example or "arms=" in example


@pytest.fixture
def pages(monkeypatch):
    if not DOC.is_dir():
        pytest.skip("the documentation is not available")
    monkeypatch.syspath_prepend(DOC)
    monkeypatch.delitem(sys.modules, "parameters", raising=False)
    return importlib.import_module("parameters")


@pytest.mark.parametrize("cls", CLASSES)
def test_the_docstring_has_the_parameters_that_a_first_user_sets(cls, pages):
    first = [name for name in parameters(cls) if name in pages.FIRST]
    assert [name for name in shown(cls) if name in first] == first


def test_lines_on_inherited_parameters_are_those_of_the_declaring_class(pages, capsys):
    assert pages.main(["--check"]) == 0, capsys.readouterr().out
    lines = {each.name: each for each in pages.entries(pages.docstring(EIOptimizer))}
    declaring = {each.name: each for each in pages.entries(pages.docstring(ModelParameters))}
    assert lines["bounds"] == declaring["bounds"].summary != declaring["bounds"]
    assert lines["bounds"].text[0].strip().startswith("The box that is searched")


def test_a_docstring_that_differs_is_written_anew(pages, tmp_path):
    source = Path(inspect.getfile(EIOptimizer)).read_text(encoding="utf-8")
    stale = re.sub(r"    alpha : .*\n.*\n", "", source)
    assert stale != source
    path = tmp_path / "improvement.py"
    path.write_text(stale, encoding="utf-8")
    assert pages.rewrite(path, [EIOptimizer, PIOptimizer]) == source


@pytest.mark.parametrize("cls", CLASSES)
def test_pages_describe_all_parameters(cls, pages):
    docscrape = pytest.importorskip("numpydoc.docscrape")
    page = docscrape.NumpyDocString(pages.on_page(cls))
    named = [name for entry in page["Parameters"] for name in entry.name.split(", ")]
    assert named == parameters(cls)
    assert all(entry.desc for entry in page["Parameters"] + page["Attributes"])
    assert "parameters are inherited from" not in " ".join(
        pages.on_page(cls).partition("Notes\n")[0].split()
    )
    own = docscrape.ClassDoc(cls, config={"show_class_members": False})
    assert [name for entry in own["Parameters"] for name in entry.name.split(", ")] == shown(cls)


@pytest.mark.slow
@pytest.mark.one_in(8)
@pytest.mark.parametrize("cls", CLASSES)
def test_editors_show_the_text_and_the_parameters(cls):
    jedi = pytest.importorskip("jedi")
    script = jedi.Script(f"from {cls.__module__} import {cls.__name__}\n{cls.__name__}(")
    (signature,) = script.get_signatures()
    shown = [each.name for each in signature.params if each.name not in ("_", "*")]
    # It lists a field that is declared again twice.
    assert set(shown) == set(parameters(cls))
    assert inspect.getdoc(cls) in signature.docstring()


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if hasattr(cls, "ask")])
def test_help_can_be_read(cls):
    # The half of them are what pydoc says of fields, and of scikit-learn's methods.
    assert len(pydoc.plain(pydoc.render_doc(cls)).splitlines()) <= 710
