"""The "?" in scikit-learn's HTML display leads to the page of a class."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sklearn.utils import estimator_html_repr

import skgpb
from skgpb.model_selection import BanditSearchCV
from skgpb.surrogate import ConditionalMeanProcess
from skgpb.utils import documentation as _documentation

INDEX = Path(__file__).parents[1] / "doc" / "api" / "index.rst"
ESTIMATORS = [
    BanditSearchCV,
    ConditionalMeanProcess,
    *(
        getattr(skgpb, name)
        for name in skgpb.__all__
        if name not in ("Stop", "__version__", "of_x")
    ),
]


def pages():
    """Names of the pages of the reference."""
    if not INDEX.is_file():
        pytest.skip("the documentation is not available")
    module, names = "", set()
    for line in INDEX.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   (\w[\w.]*)$", line):
            names.add(f"{module}.{found[1]}")
    return names


@pytest.fixture
def address(monkeypatch):
    """An address of the documentation."""
    monkeypatch.setattr(_documentation, "documentation_address", lambda: "https://skgpb.example")
    return "https://skgpb.example"


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_the_link_is_that_of_a_page_of_the_reference(cls, address):
    link = cls.__new__(cls)._get_doc_link()
    found = re.fullmatch(rf"{address}/api/generated/([\w.]+)\.html", link)
    assert found and found[1] in pages()


def test_the_display_has_the_link(address):
    html = estimator_html_repr(skgpb.GPOOOptimizer(bounds=[(0, 1)]))
    assert f'href="{address}/api/generated/skgpb.GPOOOptimizer.html"' in html


def test_what_has_no_page_has_no_link(address):
    class Mine(skgpb.GPOOOptimizer):
        pass

    assert Mine()._get_doc_link() == ""


def test_without_an_address_there_is_no_link(monkeypatch):
    monkeypatch.setattr(_documentation, "documentation_address", lambda: "")
    assert skgpb.GPOOOptimizer()._get_doc_link() == ""
    assert 'href="https://scikit-learn.org' not in estimator_html_repr(skgpb.GPOOOptimizer())


def test_the_address_is_that_of_the_installed_package(monkeypatch):
    class Metadata:
        def get_all(self, name):
            assert name == "Project-URL"
            return ["Source, https://b.example", "Documentation, https://a.example/en/"]

    monkeypatch.setattr(_documentation, "metadata", lambda name: Metadata())
    assert _documentation.documentation_address.__wrapped__() == "https://a.example/en"
