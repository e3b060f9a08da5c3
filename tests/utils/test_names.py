"""Constructors say which parameter may be meant where they have none of a name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import pytest
from sklearn.base import clone

from skgpb import (
    CombinatorialBandit,
    EIOptimizer,
    GPOOOptimizer,
    Guarantee,
    OnlineGaussianProcessRegressor,
    StoOOOptimizer,
    TargetsOptimizer,
)
from skgpb.model_selection import BanditSearchCV
from skgpb.optimizers import Search, Strategy, TreeSearch
from skgpb.utils.names import SYNONYMS

CLASSES = [EIOptimizer, GPOOOptimizer, StoOOOptimizer, TargetsOptimizer, BanditSearchCV]
CLASSES += [CombinatorialBandit, Guarantee, OnlineGaussianProcessRegressor]


@pytest.mark.parametrize(
    ("cls", "given", "meant"),
    [
        (EIOptimizer, "pool", "arms"),
        (GPOOOptimizer, "arms", "pool"),
        (EIOptimizer, "bound", "bounds"),
        (EIOptimizer, "noise", "alpha"),
        (EIOptimizer, "n_iter", "run(objective, budget=...)"),
        (BanditSearchCV, "n_iters", "n_iter"),
        (EIOptimizer, "acquisition", "TargetsOptimizer(rule=...)"),
        (TargetsOptimizer, "acquisition", "rule"),
        (Guarantee, "delta", "failure_probability"),
        (OnlineGaussianProcessRegressor, "noise_level", "alpha"),
        (CombinatorialBandit, "rng", "random_state"),
    ],
)
def test_the_nearest_name_is_said(cls, given, meant):
    with pytest.raises(TypeError) as refused:
        cls(**{given: 1})
    assert (
        str(refused.value) == f"{cls.__name__} has no parameter {given!r}; did you mean {meant!r}?"
    )


def test_all_names_are_said_where_none_is_near():
    with pytest.raises(TypeError, match="has no parameter 'zzz'; it has alpha, arms, bounds, cont"):
        EIOptimizer(zzz=1)


@pytest.mark.parametrize("cls", CLASSES)
def test_a_name_that_a_class_has_is_never_refused(cls):
    names = list(inspect.signature(cls).parameters)
    assert cls(**dict.fromkeys(names)).get_params(deep=False) == dict.fromkeys(names)


def test_each_synonym_leads_to_a_parameter_of_some_class():
    known = {name for cls in CLASSES for name in inspect.signature(cls).parameters}
    for given, meant in SYNONYMS.items():
        assert all("(" in name or name in known for name in meant), given


def test_a_class_of_ones_own_may_have_another_constructor():
    class Own(Search):
        def __init__(self, margin=1.0):
            super().__init__(bounds=[(0, 1)])
            self.margin = margin

        def acquisition(self, posterior):
            return posterior.mean + self.margin

    assert clone(Own(margin=2.0)).margin == 2.0
    assert len(Own().ask(2)) == 2
    with pytest.raises(TypeError, match="did you mean 'margin'"):
        Own(margins=2.0)


@pytest.mark.parametrize("base", [EIOptimizer, TreeSearch, Strategy])
def test_a_field_without_the_decorator_is_missed_by_its_name(base):
    class Wide(base):
        width: float = 2.0

    class Wider(Wide):
        pass

    for cls in (Wide, Wider):
        with pytest.raises(TypeError, match="'width'; Wide declares it, but lacks @data"):
            cls(width=3.0)
    with pytest.raises(TypeError, match=r"no parameter 'widht'; (it has|did you mean)"):
        Wide(widht=3.0)

    @dataclass(eq=False, repr=False, kw_only=True)
    class Decorated(base):
        width: float = 2.0

    Decorated.__abstractmethods__ = frozenset()
    assert Decorated(width=3.0).get_params()["width"] == 3.0
    with pytest.raises(TypeError, match="no parameter 'widht'; did you mean 'width'"):
        Decorated(widht=3.0)
