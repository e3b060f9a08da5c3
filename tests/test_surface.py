"""What is public: few names, all in the reference, and few attributes of a search."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from functools import partial
from pathlib import Path

import cases
import pytest

import skgpb
from skgpb import CombinatorialBandit, ContextualGPTreeOptimizer, domains, exceptions

INDEX = Path(__file__).parents[1] / "doc" / "api" / "index.rst"
MOST_NAMES, MOST_ATTRIBUTES = 115, 28
# Errors and warnings have a list of their own, and the command line is no module to import from.
ASIDE = {*exceptions.__all__, "__version__", "main"}
# What every estimator of scikit-learn has.
OF_ESTIMATORS = {
    "fit",
    "predict",
    "score",
    "get_params",
    "set_params",
    "get_metadata_routing",
    "n_features_in_",
}


def modules():
    """Modules whose name has no underscore, as far as their libraries are installed."""
    found = {"skgpb": skgpb}
    for each in pkgutil.walk_packages(skgpb.__path__, "skgpb."):
        if "._" not in each.name:
            try:
                found[each.name] = importlib.import_module(each.name)
            except ImportError as error:
                if "not installed" not in str(error):
                    raise
    return found


def reference():
    """Names of each module in the reference."""
    if not INDEX.is_file():
        pytest.skip("the documentation is not available")
    module, names = "", {}
    for line in INDEX.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   (\w[\w.]*)$", line):
            *inner, name = found[1].split(".")
            names.setdefault(".".join([module, *inner]), set()).add(name)
    return names


def test_every_module_of_the_reference_lists_its_names():
    found = modules()
    for module, names in reference().items():
        if module in found:
            assert names <= set(found[module].__all__), module


def test_every_public_name_is_in_the_reference():
    known = set().union(*reference().values()) | ASIDE
    for name, module in modules().items():
        public = getattr(module, "__all__", [])
        assert set(public) <= known, name
        assert all(hasattr(module, each) for each in public), name


def test_there_are_few_public_names():
    public = {
        id(getattr(module, name))
        for module in modules().values()
        for name in set(getattr(module, "__all__", [])) - ASIDE
    }
    assert len(public) <= MOST_NAMES


def searches():
    """Return what makes a search of each kind."""
    makers = {
        CombinatorialBandit: lambda: CombinatorialBandit(
            [cases.make("GP-UCB")] * 2, budget=2, costs=cases.COSTS
        ),
        ContextualGPTreeOptimizer: lambda: ContextualGPTreeOptimizer(
            bounds=[(0, 1)], context_bounds=[(0, 1)], horizon=20
        ),
    }
    for name, case in cases.CASES.items():
        makers.setdefault(case[0], partial(cases.make, name))
    for name, case in cases.INDIRECT.items():
        makers.setdefault(case[0], partial(cases.make_indirect, name))
    return makers


def public_attributes(optimizer):
    """Public attributes besides parameters and those of all estimators."""
    names = {name for name in dir(optimizer) if not name.startswith("_")}
    names -= OF_ESTIMATORS | set(inspect.signature(type(optimizer)).parameters)
    return {name for name in names if not re.fullmatch("set_[a-z]+_request", name)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", searches())
def test_a_search_has_few_public_attributes(cls):
    assert len(public_attributes(searches()[cls]().start())) <= MOST_ATTRIBUTES


def test_no_search_is_left_out():
    of_queries = {each for name in skgpb.__all__ if hasattr(each := getattr(skgpb, name), "ask")}
    assert of_queries == set(searches())


QUERIES = [each for each in vars(domains).values() if isinstance(each, type)]
QUERIES = [each for each in QUERIES if issubclass(each, domains.Query)]


@pytest.mark.parametrize("cls", QUERIES)
def test_public_methods_of_queries_describe_their_parameters(cls):
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        text = (inspect.getdoc(method) or "").partition("Parameters\n---")[2]
        if not name.startswith("_"):
            _, *given = inspect.signature(method).parameters
            assert all(re.search(rf"^(\*\*|.*, )?{each}\b", text, re.M) for each in given), name
