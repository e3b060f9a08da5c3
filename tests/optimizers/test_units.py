"""Scaling or shifting all answers does not change the queries."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb import (
    CMESOptimizer,
    CMETSOptimizer,
    CombinatorialBandit,
    ContextualGPTreeOptimizer,
    DAGPUCBOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IDSOptimizer,
    IndirectEIOptimizer,
    KGOptimizer,
    MESOptimizer,
    PIOptimizer,
    StoOOOptimizer,
)
from skgpb.domains import Cells
from skgpb.exceptions import NumericalWarning
from skgpb.kernels import WindowMean

ARMS = np.linspace(0.0, 1.0, 40)[:, None]
BOX = {"bounds": [(0.0, 1.0)], "random_state": 0}
CELLS = {"queries": Cells([0.2, 0.1]), "targets": Cells(0.1), "n_candidates": 40}
INDIRECT = BOX | {"queries": ARMS, "n_points": 40}
# The noise that is given to some is in units of the answers.
LEARNED = {
    "GP-UCB": lambda noise: GPUCBOptimizer(arms=ARMS, random_state=0),
    "GP-UCB in a box": lambda noise: GPUCBOptimizer(**BOX),
    "EI, noise known": lambda noise: EIOptimizer(arms=ARMS, alpha=noise, random_state=0),
    "EI, normalised": lambda noise: EIOptimizer(
        RBF(0.2),
        arms=ARMS,
        alpha=noise,
        normalize_y=True,
        optimizer="fmin_l_bfgs_b",
        random_state=0,
    ),
    "MES": lambda noise: MESOptimizer(arms=ARMS, random_state=0),
    "GPOO": lambda noise: GPOOOptimizer(**BOX),
    "GPTree": lambda noise: GPTreeOptimizer(**BOX),
    "zooming": lambda noise: GPZoomingOptimizer(**BOX),
    "KG of cells": lambda noise: KGOptimizer(**CELLS, **BOX),
    "IDS": lambda noise: IDSOptimizer(queries=ARMS, random_state=0),
    "CMES": lambda noise: CMESOptimizer(**INDIRECT),
    "EI, indirect": lambda noise: IndirectEIOptimizer(**INDIRECT),
}
# Both kernel and noise are given, in units of the answers squared.
GIVEN = {
    "GP-UCB": lambda kernel, alpha: GPUCBOptimizer(kernel, arms=ARMS, alpha=alpha, random_state=0),
    "MES": lambda kernel, alpha: MESOptimizer(kernel, arms=ARMS, alpha=alpha, random_state=0),
    "GPOO": lambda kernel, alpha: GPOOOptimizer(kernel, alpha=alpha, **BOX),
    "GPTree": lambda kernel, alpha: GPTreeOptimizer(kernel, alpha=alpha, **BOX),
    "zooming": lambda kernel, alpha: GPZoomingOptimizer(kernel, alpha=alpha, **BOX),
    "KG": lambda kernel, alpha: KGOptimizer(kernel, queries=ARMS, alpha=alpha, random_state=0),
    "IDS": lambda kernel, alpha: IDSOptimizer(kernel, queries=ARMS, alpha=alpha, random_state=0),
    "CMES": lambda kernel, alpha: CMESOptimizer(
        kernel, conditional=WindowMean(kernel, 0.05), alpha=alpha, **INDIRECT
    ),
}


def play(optimizer, factor=1.0, offset=0.0, n=8):
    """Return the descriptors of the queries and of the recommendation."""
    asked = []
    for i in range(n):
        query = optimizer.ask()
        asked.append(np.ravel(query))
        x = asked[-1]
        answer = np.sin(5.0 * x).mean() + 0.3 * np.sin(23.0 * x).mean() + 0.05 * np.sin(1e4 * i)
        optimizer.tell(query, float(factor * answer + offset))
    return [*asked, np.ravel(optimizer.recommend())]


def assert_same_queries(some, others):
    """Queries to six digits; a flat top is found to four by searches that stop at rounding."""
    for one, other in zip(some[:-1], others[:-1], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
    np.testing.assert_allclose(some[-1], others[-1], rtol=0, atol=1e-4)


@pytest.mark.one_in(20)
@pytest.mark.filterwarnings("ignore::skgpb.exceptions.NumericalWarning")
@pytest.mark.parametrize(
    ("factor", "offset"),
    [(1e-150, 0.0), (1e-9, 0.0), (1e9, 0.0), (1e149, 0.0), (1.0, 1e6), (1.0, -1e9), (1e-9, 1.0)],
)
@pytest.mark.parametrize("name", LEARNED)
def test_learned_units_follow_the_answers(name, factor, offset):
    expected = play(LEARNED[name](0.01))
    assert_same_queries(play(LEARNED[name](0.01 * factor**2), factor, offset), expected)


SIDES = {"x": (0.0, 2.0), "kind": ["a", "b", "c"]}
CONTEXTS = {"context_bounds": [(0.0, 1.0)], "n_candidates": 20, **BOX}
EARLIER = np.linspace(0.0, 1.0, 6)[:, None], np.sin(4.0 * np.linspace(0.0, 1.0, 6))
#: Searches with everything that answers reach, by their units.
WHATEVER = {
    "lists and limits": lambda factor, offset: EIOptimizer(
        bounds=SIDES, limits={"heat": (offset, 0.7 * factor + offset)}, n_initial=4, random_state=0
    ),
    "a box for the end": lambda factor, offset: GPUCBOptimizer(
        **BOX, alpha=0.01 * factor**2, regret="simple", n_initial=3, n_candidates=30
    ),
    "a box in contexts": lambda factor, offset: GPUCBOptimizer(**CONTEXTS, n_initial=2),
    "cells in contexts": lambda factor, offset: KGOptimizer(
        queries=Cells([0.3, 0.2]), targets=Cells(0.2), n_initial=2, **CONTEXTS
    ),
    "a tree in contexts": lambda factor, offset: ContextualGPTreeOptimizer(
        context_bounds=[(0.0, 1.0)], horizon=12, **BOX
    ),
    "a margin": lambda factor, offset: PIOptimizer(
        xi=0.3 * factor, n_initial=3, n_candidates=20, **BOX
    ),
    "a known optimum": lambda factor, offset: MESOptimizer(
        optimum=1.3 * factor + offset, n_initial=3, n_candidates=20, **BOX
    ),
    "failures": lambda factor, offset: GPUCBOptimizer(arms=ARMS, n_initial=6, random_state=0),
    "CMETS": lambda factor, offset: CMETSOptimizer(max_depth=3, n_points=40, n_initial=3, **BOX),
    "campaigns": lambda factor, offset: CombinatorialBandit(
        [GPUCBOptimizer(arms=ARMS[::5]), DAGPUCBOptimizer(arms=ARMS[::5])], 1.3, random_state=0
    ),
    "earlier campaigns": lambda factor, offset: GPUCBOptimizer(
        earlier_campaigns={"A": (EARLIER[0], factor * EARLIER[1] + offset)}, n_candidates=20, **BOX
    ),
}


def everything(make, factor, offset):
    """Return what a run asks, recommends and predicts, all in the units of factor 1, offset 0."""
    optimizer, found = make(factor, offset), []
    contexts, fails = getattr(optimizer, "context_bounds", None), make is WHATEVER["failures"]
    for i in range(10 if fails else 4):
        batch = optimizer.ask(2, context=[0.3 * (i % 3)]) if contexts else optimizer.ask(2)
        for j, query in enumerate(batch):
            x = np.ravel(query.a if hasattr(query, "a") else query.points)
            found.append(x)
            value = factor * (np.sin(5.0 * x).mean() + 0.1 * np.sin(1e4 * (2 * i + j))) + offset
            if hasattr(query, "arms"):
                optimizer.tell(query, [value, offset - 0.5 * (value - offset)])
            elif fails and x[0] < 0.4:
                optimizer.tell(query, None)
            elif getattr(optimizer, "limits", None):
                optimizer.tell(query, value, outcomes={"heat": factor * x.mean() / 2 + offset})
            else:
                optimizer.tell(query, value)
    there = {"context": [0.6]} if contexts else {}
    best = optimizer.recommend(**there)
    found.append(np.ravel(getattr(best, "points", best)))
    mean, std = optimizer.predict_query(batch, return_std=True)
    found += [(mean - offset) / factor, std / factor]
    if optimizer._can_bound_gap:
        gain = optimizer._comparison(best).expected_gain(0.01 * factor**2, 2)
        found.append(np.array([optimizer.gap(), gain]) / factor)
    if not (fails or hasattr(optimizer, "optimizers") or getattr(optimizer, "limits", None)):
        found.append(optimizer.recommend(side=0.25, **there).lower)
    return found


LONG = {"lists and limits", "earlier campaigns", "CMETS", "failures"}


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.slow] * (each in LONG)) for each in WHATEVER]
)
def test_units_of_the_answers_are_those_of_all_that_follows_from_them(name):
    expected = everything(WHATEVER[name], 1.0, 0.0)
    offset = 500.0 if "tree" in name else -500.0  # bounds of a tree are the smaller of two
    for one, other in zip(everything(WHATEVER[name], 64.0, offset), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("factor", [1e-12, 1e-9, 1e9, 1e12])
@pytest.mark.parametrize("name", GIVEN)
def test_a_kernel_and_a_noise_in_other_units_ask_the_same(name, factor):
    """Neither ties nor thresholds are in units of their own."""
    unit = ConstantKernel(1.0) * RBF(0.2)
    other = ConstantKernel(factor**2) * RBF(0.2)
    expected = play(GIVEN[name](unit, 0.01))
    assert_same_queries(play(GIVEN[name](other, 0.01 * factor**2), factor), expected)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize(("factor", "offset"), [(1.0, 1e15), (1e-160, 0.0)])
def test_where_too_few_digits_are_left_it_is_said(name, factor, offset):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        play(LEARNED[name](0.01 * factor**2), factor, offset)
    said = [str(each.message) for each in seen if each.category is NumericalWarning]
    expected = "four of sixteen digits" if offset else "nothing can be learned"
    assert any(expected in each for each in said)


def test_an_offset_that_a_given_kernel_does_not_have_is_said():
    with pytest.warns(NumericalWarning, match="of up to 1e.15 differ by 1.0e.00 only"):
        EIOptimizer(RBF(0.2), arms=ARMS, alpha=0.01).tell(ARMS[0], 1e15)
    with pytest.warns(NumericalWarning, match="of up to 1e.15 differ by"):
        CMESOptimizer(RBF(0.2), alpha=0.01, **INDIRECT).tell(ARMS[0], 1e15)


@pytest.mark.parametrize("value", [1.7e308, -1.7e308, 1e151])
def test_what_cannot_be_squared_is_refused(value):
    """As points given to ``fit``, and as a part of an answer; the contract tells it as a whole."""
    message = r"must be within -1e\+150 and 1e\+150, because learning squares it; got "
    for optimizer in (GPUCBOptimizer(**BOX), StoOOOptimizer(**BOX), IndirectEIOptimizer(**BOX)):
        with pytest.raises(ValueError, match=f"y {message}"):
            optimizer.fit([[0.0], [1.0]], [0.5, value])
        assert not hasattr(optimizer, "bounds_")
    campaigns = [GPUCBOptimizer(arms=ARMS, alpha=0.01) for _ in range(2)]
    bandit = CombinatorialBandit(campaigns, budget=1.0, costs=ARMS[:, 0])
    query = bandit.ask()
    with pytest.raises(ValueError, match=f"reward {message}"):
        bandit.tell(query, [0.5, value])
    assert len(bandit.history_) == 0
