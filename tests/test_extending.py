"""The examples of the developers' pages pass all checks of ``skgpb.testing``."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgpb.utils import persistence

PAGES = Path(__file__).resolve().parents[1] / "doc" / "development"
if not PAGES.is_dir():
    pytest.skip("the documentation is not available", allow_module_level=True)


def built_on(page: str) -> dict[str, Any]:
    """Names after all examples of a page, as those of a module, so that they can be pickled."""
    module = ModuleType(f"examples_of_{page.removesuffix('.rst')}")
    sys.modules[module.__name__] = module
    for example in doctest.DocTestParser().get_examples((PAGES / page).read_text("utf-8")):
        if example.exc_msg is None:  # an error is shown, which builds nothing
            exec(compile(example.source, page, "single"), vars(module))
    return vars(module)


# Classes of tests, which pytest collects here.
some = pytest.mark.one_in(8)
TestRule: type = some(built_on("new_algorithm.rst")["TestBayesUCB"])
TestTree: type = some(built_on("new_tree.rst")["TestKnownToATenth"])
TestSet: type = some(built_on("new_domain.rst")["TestLines"])
TestKernel: type = built_on("new_kernel.rst")["TestEndsMean"]
TestStrategy: type = some(built_on("new_strategy.rst")["TestEvolution"])
del persistence._KERNELS["EndsMean"]  # the page itself is run elsewhere

PLAYED = [f"new_{each}.rst" for each in ("algorithm", "tree", "strategy", "domain", "kernel")]


@parametrize_with_checks([TestStrategy().make().set_params(bounds=None)])
def test_the_strategy_of_the_page_is_an_estimator(estimator, check):
    check(estimator)


def test_pages_use_public_names_alone():
    for page in PLAYED:
        for example in doctest.DocTestParser().get_examples((PAGES / page).read_text("utf-8")):
            assert not re.search(r"\._[a-z]|import _", example.source), example.source
