"""The list of estimators is that of the reference."""

import re
from inspect import isabstract
from pathlib import Path

import pytest
from cases import OPTIMIZERS
from sklearn.base import BaseEstimator

from skgpb.utils.discovery import all_estimators

INDEX = Path(__file__).parents[2] / "doc" / "api" / "index.rst"


def test_every_optimizer_is_listed_and_nothing_that_is_none():
    listed = all_estimators()
    assert listed == sorted(listed, key=lambda pair: pair[0])
    assert set(OPTIMIZERS) <= set(dict(listed).values())
    for name, cls in listed:
        assert cls.__name__ == name
        assert issubclass(cls, BaseEstimator)
        assert not isabstract(cls)


def test_the_reference_has_all_of_them():
    if not INDEX.exists():
        pytest.skip("the reference is not available")
    names = set(re.findall(r"^   (?:\w+\.)*(\w+)$", INDEX.read_text(encoding="utf-8"), re.M))
    assert {name for name, _ in all_estimators()} <= names
