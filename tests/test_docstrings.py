"""Descriptions shared by several docstrings are written once and shown in each of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys

import pytest
from sklearn.utils._testing import assert_docstring_consistency

from skgpb import (
    CMESOptimizer,
    EIOptimizer,
    GPTSOptimizer,
    IGPUCBOptimizer,
    MESOptimizer,
    PIOptimizer,
    optimizers,
)
from skgpb._docstrings import PLACEHOLDER, SHARED, with_shared_paragraphs
from skgpb.optimizers import BaseUCBOptimizer, Leaves, Round, Search

OPTIMIZERS = [
    cls for name in optimizers.__all__ if inspect.isclass(cls := getattr(optimizers, name))
]

FAMILY = [cls for cls in OPTIMIZERS if issubclass(cls, Search) and not inspect.isabstract(cls)]
UCB = [cls for cls in FAMILY if issubclass(cls, BaseUCBOptimizer)]
EVERYWHERE = ["kernel", "arms", "bounds", "alpha", "n_candidates", "n_initial"]
EVERYWHERE += ["optimizer", "n_restarts_optimizer", "relearn", "normalize_y", "random_state"]


def parameters_described(cls):
    """Names in the section "Parameters", in its order."""
    section = re.search(r"\nParameters\n-+\n(.*?)(?:\n\n|$)", inspect.getdoc(cls), re.DOTALL)
    entries = re.findall(r"^\S.*", section.group(1), flags=re.MULTILINE)
    return [name for entry in entries for name in entry.partition(" : ")[0].split(", ")]


def test_entries_stand_where_they_are_named():
    @with_shared_paragraphs
    class Rule:
        """Do something with 5 % of the arms.

        Parameters
        ----------
        xi : float
            Its own.
        n_candidates, guarantee : %(arms)s
        last : str
            Its own, too.
        """

    assert parameters_described(Rule) == ["xi", "n_candidates", "guarantee", "last"]
    lines = inspect.getdoc(Rule).splitlines()
    assert "\n".join(lines[8:14]) == "\n".join(
        SHARED["arms"][name] for name in ("n_candidates", "guarantee")
    )


@pytest.mark.parametrize("line", ["no_parameter : %(arms)s", "kernel : %(no_family)s"])
def test_what_is_not_shared_cannot_be_named(line):
    with pytest.raises(KeyError, match="no_"):
        with_shared_paragraphs(type("Rule", (), {"__doc__": line}))


def test_nothing_is_left_to_be_filled_in():
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(optimizers.__path__, "skgpb.optimizers.")
    ]
    classes = [
        each for module in modules for each in vars(module).values() if inspect.isclass(each)
    ]
    assert set(OPTIMIZERS) <= set(classes)
    for cls in classes:
        assert not PLACEHOLDER.search(cls.__doc__ or ""), cls


@pytest.mark.parametrize("cls", [cls for cls in OPTIMIZERS if cls not in (Round, Leaves)])
def test_parameters_are_described_in_the_order_of_the_signature(cls):
    assert parameters_described(cls) == list(inspect.signature(cls).parameters)


@pytest.mark.slow
def test_without_docstrings_there_is_nothing_to_fill_in():
    code = "from skgpb import GPUCBOptimizer; print(GPUCBOptimizer.__doc__)"
    command = [sys.executable, "-OO", "-c", code]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    assert result.stdout == "None\n"


@pytest.mark.parametrize(
    ("classes", "parameters", "defaults_differ"),
    [
        (FAMILY, EVERYWHERE, ()),
        (UCB, ["guarantee"], ()),
        ([IGPUCBOptimizer, GPTSOptimizer], ["information_gain"], ()),
        ([EIOptimizer, PIOptimizer], ["xi"], ("xi",)),
        ([MESOptimizer, CMESOptimizer], ["n_max_values"], ()),
    ],
)
def test_shared_parameters_are_worded_once(classes, parameters, defaults_differ):
    pytest.importorskip("numpydoc")
    for cls in classes:  # entries that are not in all docstrings would not be compared
        assert set(parameters) <= set(cls().get_params())
    assert_docstring_consistency(classes, include_params=parameters, ignore_types=defaults_differ)


def test_shared_attributes_are_worded_once():
    pytest.importorskip("numpydoc")
    assert_docstring_consistency(FAMILY, include_attrs=True)
