"""Queries of a batch differ where their answers tell different things; a plate shares sides."""

import io
import pickle

import cases
import numpy as np
import pytest
from cases import CASES, make_indirect
from scipy.stats import loguniform
from sklearn.gaussian_process.kernels import RBF

from skgpb import EIOptimizer, GPOOOptimizer, GPUCBOptimizer, defaults
from skgpb.domains import Cells
from skgpb.kernels import WindowMean
from skgpb.optimizers import (
    CMESOptimizer,
    ESTOptimizer,
    IDSOptimizer,
    IndirectEIOptimizer,
    KGOptimizer,
    MESOptimizer,
    PIOptimizer,
    TargetsOptimizer,
)

pytestmark = pytest.mark.one_in(6)

CUBE = [(0.0, 1.0)] * 3
RECIPE = {
    "cat": ["Pd", "Ni", "Cu", "Fe"],
    "solvent": ["DMF", "THF", "EtOH"],
    "load": loguniform(1e-3, 1e-1),
}
WINDOW = {"conditional": WindowMean(scale=0.1)}
SEARCHES = {
    "EI": (EIOptimizer, {}),
    "PI": (PIOptimizer, {}),
    "EST": (ESTOptimizer, {}),
    "KG": (KGOptimizer, {}),
    "IDS": (IDSOptimizer, {}),
    "MES": (MESOptimizer, {}),
    "simple": (GPUCBOptimizer, {"regret": "simple"}),
    "cells": (KGOptimizer, {"queries": Cells([0.1, 0.3]), "targets": Cells(0.1)}),
    "own rule": (TargetsOptimizer, {"rule": "ids", "queries": Cells(0.2)}),
    "indirect EI": (IndirectEIOptimizer, WINDOW),
    "CMES": (CMESOptimizer, WINDOW),
}


def waves(points):
    """Return values at points (n, d), largest near 0.37 along every side."""
    return -((points - 0.37) ** 2).sum(axis=1) + 0.1 * np.sin(8.0 * points).sum(axis=1)


def place(query):
    """Return the place of a query (d,), the middle of a region."""
    return query.a if hasattr(query, "a") else query.points.mean(axis=0)


def nearest(places):
    """Return the distances (n,) of places (n, d) from the nearest other one."""
    apart = np.linalg.norm(places[:, None] - places, axis=2) + 9.0 * np.eye(len(places))
    return apart.min(axis=1)


@pytest.mark.one_in(18)
@pytest.mark.parametrize(
    ("name", "noise"),
    # Noisy averages are worth several answers at nearly one place.
    [(name, 0.0) for name in SEARCHES]
    + [(name, 0.05) for name in SEARCHES if name not in ("own rule", "CMES")],
)
def test_queries_of_a_batch_are_apart(name, noise):
    cls, settings = SEARCHES[name]
    opt, rng = cls(bounds=CUBE[:2], random_state=0, **settings), np.random.default_rng(0)
    for _ in range(3):
        batch = opt.ask(16)
        places = np.array([place(query) for query in batch])
        # Noisy averages are worth two answers at nearly one place.
        assert (nearest(places) < 0.01).sum() <= (
            2 if noise and name in ("own rule", "CMES") else 0
        )
        values = [waves(q.a[None] if hasattr(q, "a") else q.points).mean() for q in batch]
        opt.tell(batch, np.array(values) + noise * rng.normal(size=len(batch)))


@pytest.mark.slow
def test_a_large_batch_fills_the_place_of_the_best():
    opt, rng = (
        GPUCBOptimizer(bounds=CUBE, regret="simple", random_state=0),
        np.random.default_rng(0),
    )
    for _ in range(2):
        batch = opt.ask(96)
        points = np.concatenate([query.points for query in batch])
        assert nearest(points).min() > 0.03
        opt.tell(batch, waves(points) + 0.05 * rng.normal(size=len(batch)))


@pytest.mark.parametrize("limits", [None, {"impurity": (None, 1.5)}])
@pytest.mark.parametrize(("size", "seed"), [(4, 0), (8, 1), (8, 2)])
def test_a_batch_is_not_one_recipe_at_loads_that_hardly_differ(limits, size, seed):
    opt, rng = (
        EIOptimizer(bounds=RECIPE, limits=limits, random_state=seed),
        np.random.default_rng(0),
    )
    for _ in range(32 // size):
        batch, close = opt.ask(size), 0
        told = [query.params for query in batch]
        for i, a in enumerate(told):
            same = [b for b in told[:i] if (a["cat"], a["solvent"]) == (b["cat"], b["solvent"])]
            close += any(abs(np.log10(a["load"] / b["load"])) < 0.02 for b in same)
        assert close <= 1
        catalyst = [{"Pd": 30, "Ni": 18, "Cu": 10, "Fe": 0}[p["cat"]] for p in told]
        solvent = [{"DMF": 5, "THF": 0, "EtOH": -5}[p["solvent"]] for p in told]
        load = np.log10([p["load"] for p in told])
        outcomes = [{"impurity": 1.0 + 0.4 * (p["cat"] == "Pd") + 8 * p["load"]} for p in told]
        opt.tell(
            batch,
            np.add(catalyst, solvent) - 6 * (load + 2) ** 2 + rng.normal(size=size),
            outcomes=outcomes,
        )


@pytest.mark.parametrize("name", ["EI", "KG-points", "CMES", "GP-UCB-box"])
def test_queries_one_by_one_are_as_ever(name, monkeypatch):
    runs = []
    for shares in (defaults.LEFT_TO_LEARN, dict.fromkeys(defaults.LEFT_TO_LEARN, 0.0)):
        monkeypatch.setattr(defaults, "LEFT_TO_LEARN", shares)
        if name in CASES:
            cls, settings = CASES[name]
            given = {"bounds": [(-1.0, 1.0), (0.0, 3.0)], "random_state": 0} | settings
            opt = cls(**given)
        else:
            opt = make_indirect(name)
        asked = []
        for i in range(14):
            query = opt.ask()
            asked.append(place(query))
            opt.tell(query, None if i == 11 else float(np.sin(3 * asked[-1]).sum()))
        runs.append(np.array(asked))
    assert np.array_equal(*runs)


def test_much_noise_makes_repeats_worth_asking(monkeypatch):
    rng, batches = np.random.default_rng(0), []
    X = rng.random((10, 2))
    y = waves(X) + rng.normal(size=10)
    for shares in (defaults.LEFT_TO_LEARN, dict.fromkeys(defaults.LEFT_TO_LEARN, 0.0)):
        monkeypatch.setattr(defaults, "LEFT_TO_LEARN", shares)
        opt = EIOptimizer(bounds=CUBE[:2], alpha=25.0, random_state=0).fit(X, y)
        batches.append(opt.ask(4))
    assert batches[0] == batches[1]


def test_of_the_queries_that_leave_enough_to_learn_the_best_is_asked():
    """By plain algebra: the share of a variance that is left once pending queries are answered."""
    arms, alpha, told = np.linspace(0.0, 1.0, 60)[:, None], 0.02, [3, 17, 30, 44, 52]
    kernel, elsewhere = RBF(0.12), 0

    def variances(seen, noises):
        known = np.linalg.solve(kernel(arms[seen]) + np.diag(noises), kernel(arms[seen], arms))
        return 1.0 - np.einsum("ij,ij->j", kernel(arms[seen], arms), known)

    for cls, kind in ((EIOptimizer, "value"), (KGOptimizer, "information"), (GPUCBOptimizer, None)):
        name = "queries" if cls is KGOptimizer else "arms"
        opt = cls(kernel, alpha=alpha, random_state=0, **{name: arms})
        opt.tell(arms[told], waves(arms[told]) + 2.0)
        opt.tell(opt.ask(), None)  # a failure is pending for a while
        opt.ask()
        for _ in range(5):
            score, pending = cases.scores(opt), [query.index for query in opt.run_.pending]
            noises = defaults.PENDING_NOISE.get(kind, 1.0) * np.full(len(pending), alpha)
            left = variances(told + pending, np.append(np.full(5, alpha), noises))
            left /= variances(told, np.full(5, alpha))
            free = ~np.isin(np.arange(60), pending)
            enough = left >= defaults.LEFT_TO_LEARN.get(kind, 0.0) * left[free].max()
            best = np.argmax(np.where(free & enough, score, -np.inf))
            elsewhere += best != np.argmax(np.where(free, score, -np.inf))
            assert opt.ask(another=True).index == best, kind
    assert elsewhere > 3


def test_a_query_beside_a_pending_one_is_better_than_one_beyond_a_limit():
    arms = np.array([[0.5], [0.501], [0.502], [0.503], [0.0], [1.0], [2.0], [3.0]])
    opt = EIOptimizer(arms=arms, limits={"heat": (None, 1.0)}, random_state=0)
    for x, heat in ((0.0, 0.0), (1.0, 5.0), (2.0, 9.0), (3.0, 12.0)) * 3:
        opt.tell([x], 1.0 - abs(x - 0.5), outcomes={"heat": heat})
    batch = opt.ask(4)
    assert max(query.points[0, 0] for query in batch) <= 0.503


def test_a_query_that_is_never_answered_does_not_bar_the_best():
    opt = EIOptimizer(bounds=CUBE[:2], random_state=0)
    for _ in range(12):
        query = opt.ask()
        opt.tell(query, waves(query.points)[0])
    opt.ask(another=True)  # its worker dies
    for _ in range(25):
        query = opt.ask(another=True)
        opt.tell(query, waves(query.points)[0])
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 201)] * 2), axis=-1).reshape(-1, 2)
    assert waves(opt.recommend().points)[0] > waves(grid).max() - 1e-3


# -- plates ------------------------------------------------------------------------------------


SIDES = {
    "cat": ["Pd", "Ni", "Cu"],
    "load": loguniform(1e-3, 1e-1),
    "heat": (20.0, 90.0),
    "minutes": range(1, 9),
}


def of_plate(params):
    """Return a yield, largest at 60 degrees, with nickel at a load of 0.01."""
    load, heat = np.log10(params["load"]) + 2.0, (params["heat"] - 60.0) / 30.0
    return (params["cat"] == "Ni") - load**2 - heat**2


@pytest.mark.parametrize("shared", [["heat"], ["load"], ("minutes", "cat")], ids=repr)
@pytest.mark.parametrize("cls", [EIOptimizer, GPUCBOptimizer])
def test_a_plate_shares_what_the_search_chooses(cls, shared):
    opt = cls(bounds=SIDES, random_state=0)
    plates = []
    for _ in range(3):
        plate = opt.ask(8, shared=shared)
        assert len(set(plate)) == 8
        (values,) = {tuple(query.params[name] for name in shared) for query in plate}
        plates.append(values)
        assert opt.ask(8, shared=shared) == plate
        assert opt.ask(3, shared=shared) == plate[:3]
        opt.tell(plate, [of_plate(query.params) for query in plate])
    assert len(set(plates)) > 1


def test_a_plate_keeps_sides_that_are_fixed():
    opt = EIOptimizer(bounds=SIDES, random_state=0)
    plate = opt.ask(5, fixed={"cat": "Cu"}, shared=["heat"])
    assert {query.params["cat"] for query in plate} == {"Cu"}
    assert len({query.params["heat"] for query in plate}) == 1


@pytest.mark.slow
def test_plates_find_the_best_value_of_the_shared_side():
    opt = EIOptimizer(bounds=SIDES, random_state=0)
    for _ in range(6):
        plate = opt.ask(8, shared=["heat"])
        opt.tell(plate, [of_plate(query.params) for query in plate])
    assert of_plate(opt.recommend().params) > 0.98


@pytest.mark.slow
def test_plates_are_asked_again_in_copies_and_files():
    opt = EIOptimizer(bounds=SIDES, random_state=0)
    for _ in range(3):
        plate = opt.ask(4, shared=["heat"])
        opt.tell(plate, [of_plate(query.params) for query in plate])
    opt.ask(4, shared=["heat"])
    file = io.BytesIO()
    opt.save(file)
    file.seek(0)
    copies = [EIOptimizer.load(file), pickle.loads(pickle.dumps(opt))]
    copies.append(opt._repeat_events(opt._events))
    for each in copies:
        assert each.ask(6, shared=["heat"]) == opt.ask(6, shared=["heat"])
        assert each.pending_ == opt.pending_


def test_sides_that_cannot_be_shared_are_refused():
    opt = EIOptimizer(bounds=SIDES, random_state=0)
    for shared, message in (
        ("heat", "shared must be a list of names of sides .* got 'heat'"),
        (["zinc"], r"shared must be a list of names of sides .* got \['zinc'\]"),
        (list(SIDES), "must leave something to choose"),
    ):
        with pytest.raises(ValueError, match=message):
            opt.ask(3, shared=shared)
        assert not opt.pending_


def test_a_tree_has_no_plates():
    with pytest.raises(ValueError, match="shared is for searches by candidates of a box"):
        GPOOOptimizer(bounds={"x": (0, 1), "y": (0, 1)}).ask(2, shared=["x"])
