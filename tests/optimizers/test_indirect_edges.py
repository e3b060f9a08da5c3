"""Awkward pairs, queries and policies: used or refused by name, and nothing told is lost."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, RationalQuadratic

from skgpb.kernels import ConditionalMean, PolicyMean, WindowMean
from skgpb.kernels.window_mean import WindowEvaluator
from skgpb.optimizers import (
    CMESOptimizer,
    CMETSOptimizer,
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
    indirect_search,
)

FLAT = (
    CMESOptimizer,
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
)
ALL = (*FLAT, CMETSOptimizer)
RNG = np.random.default_rng(3)
A1 = RNG.uniform(size=(60, 2))
X1 = np.clip(2.0 * A1 + 0.1 * RNG.normal(size=(60, 2)), 0.0, 2.0)
DOMAIN = [(0.0, 2.0), (0.0, 2.0)]
SQUARE = [(0.0, 1.0), (0.0, 1.0)]
SMALL = {"n_points": 100, "alpha": 1e-3, "random_state": 0, "bounds": DOMAIN}


def make(cls, **settings):
    if cls is CMETSOptimizer:
        return cls(**SMALL | {"query_bounds": SQUARE, "max_depth": 3} | settings)
    return cls(**SMALL | {"query_bounds": SQUARE, "n_candidates": 49} | settings)


def answer(query):
    a = query.center if hasattr(query, "depth") else query.a
    return float(np.exp(-2.0 * ((2.0 * a[:2] - 1.2) ** 2).sum()))


def play(optimizer, n=4):
    for _ in range(n):
        query = optimizer.ask()
        optimizer.tell(query, answer(query))
    return optimizer


def view(optimizer, points=((0.4, 1.1), (1.9, 0.2))):
    """Return the answers, the posterior and the next query."""
    optimizer = copy.deepcopy(optimizer)
    mean, std = optimizer.predict(np.array(points), return_std=True)
    return repr(
        [
            optimizer.history_.tolist(),
            optimizer.spent_,
            optimizer.n_features_in_,
            mean.tolist(),
            std.tolist(),
            optimizer.recommend().tolist(),
            optimizer.ask(),
        ]
    )


PAIRS = {
    "every pair twice": (np.vstack([X1, X1]), np.vstack([A1, A1])),
    "one query, many outcomes": (X1, np.full_like(A1, 0.5)),
    "the same pair over and over": (np.full_like(X1, 1.2), np.full_like(A1, 0.6)),
    "a constant column of queries": (X1, np.column_stack([A1[:, 0], np.full(60, 0.5)])),
    "a constant column of outcomes": (np.column_stack([X1[:, 0], np.full(60, 1.0)]), A1),
    "two pairs": (X1[:2], A1[:2]),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("case", PAIRS)
@pytest.mark.parametrize("operator", ["auto", "embedding", "window"])
def test_awkward_pairs_are_learned_from(case, operator):
    X, A = PAIRS[case]
    optimizer = play(make(CMESOptimizer, operator=operator).fit(X, queries=A))
    mean, std = optimizer.predict(X1[:10], return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all() and (std >= 0.0).all()
    x = optimizer.recommend()
    assert (x >= 0.0).all() and (x <= 2.0).all()
    assert len(optimizer.history_) == 4 and np.isfinite(optimizer.history_["std"]).all()


@pytest.mark.one_in(10)
@pytest.mark.parametrize("cls", ALL)
def test_duplicates_and_constant_columns_in_every_method(cls):
    for case in ("every pair twice", "a constant column of queries"):
        X, A = PAIRS[case]
        optimizer = play(make(cls).fit(X, queries=A), 3)
        assert np.isfinite(optimizer.predict(X1[:10])).all()
        assert len(optimizer.history_) == 3


def test_many_copies_of_a_pair_do_not_change_what_is_known():
    once = ConditionalMean(RBF(0.5), X1, A1, query_kernel=RBF(0.3, "fixed"), regularization=1e-3)
    # N lambda stays: three copies at lambda are one at lambda / 3 x 3 pairs
    thrice = ConditionalMean(
        RBF(0.5),
        np.vstack([X1] * 3),
        np.vstack([A1] * 3),
        query_kernel=RBF(0.3, "fixed"),
        regularization=1e-3,
    )
    rows = once.queries(A1[:5]), once.points(X1[:5])
    np.testing.assert_allclose(thrice(*rows), once(*rows), atol=1e-8)


def spoiled(array, value):
    out = array.copy()
    out[7, 1] = value
    return out


BAD = {
    "NaN in X": ((spoiled(X1, np.nan), A1), "NaN"),
    "infinite X": ((spoiled(X1, np.inf), A1), "infinity|finite"),
    "NaN in queries": ((X1, spoiled(A1, np.nan)), "queries"),
    "infinite queries": ((X1, spoiled(A1, np.inf)), "queries"),
    "words for queries": ((X1, np.full(A1.shape, "a")), "queries"),
    "fewer queries": ((X1, A1[:-1]), "queries has 59 rows, but X has 60"),
    "flat queries": ((X1, A1[:, 0]), "queries"),
    "outside the domain": ((spoiled(X1, 2.5), A1), "bounds|domain|inside|outside"),
    "one pair": ((X1[:1], A1[:1]), "one pair is too few"),
    "no pair": ((X1[:0], A1[:0]), "0 sample"),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", ALL)
def test_bad_pairs_are_refused_by_name_and_nothing_is_lost(cls):
    optimizer = play(make(cls).fit(X1, queries=A1), 2)
    before = view(optimizer)
    for (X, A), message in BAD.values():
        with pytest.raises(ValueError, match=message):
            optimizer.fit(X, queries=A)
    assert view(optimizer) == before


def test_scores_per_unit_cost_are_compared_in_units_of_at_most_one():
    search = CMESOptimizer(bounds=[(0, 1)])
    for costs, unit in (([0.25, 0.5], 1.0), ([1.0], 1.0), ([0.5, 4.0], 0.25)):
        assert search._unit_of_values(SimpleNamespace(cost=np.array(costs))) == unit


def test_one_pair_is_enough_where_nothing_is_left_to_learn():
    conditional = ConditionalMean(
        X=X1[:1], A=A1[:1], query_kernel=RBF(0.3, "fixed"), regularization=1e-3
    )
    optimizer = play(make(CMESOptimizer, conditional=conditional))
    assert np.isfinite(optimizer.predict(X1[:5])).all()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", FLAT)
@pytest.mark.parametrize("candidates", [None, A1[:20]])
def test_queries_outside_are_refused_and_nothing_is_lost(cls, candidates):
    where = {"query_bounds": SQUARE} if candidates is None else {"queries": candidates}
    optimizer = make(cls, **{"query_bounds": None} | where).fit(X1, queries=A1)
    play(optimizer, 2)
    before = view(optimizer)
    for bad in ([1.5, 0.5], [-1e-6, 0.5], [np.nan, 0.5], [0.5], [0.5, 0.5, 0.5], "a", [[0.5, 7.0]]):
        with pytest.raises((ValueError, TypeError)):
            optimizer.tell(bad, 0.3)
    with pytest.raises(ValueError, match="reward"):
        optimizer.tell(optimizer.ask(), np.nan)
    assert view(optimizer) == before
    if candidates is None:  # anywhere in the box may be told, also between the candidates
        optimizer.tell([0.123, 0.456], 0.3)
        assert len(optimizer.history_) == 3


def test_far_from_all_pairs_the_prior_is_what_is_left():
    optimizer = play(make(CMESOptimizer, operator="embedding").fit(X1, queries=A1))
    mean, std = optimizer.predict_query([[50.0, -50.0]], return_std=True)
    assert np.isfinite(mean).all() and std[0] == pytest.approx(0.0, abs=1e-6)


POLICIES = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
ARMS = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
NO_POLICIES = {
    "sum above one": (POLICIES + 0.01, "sum to one"),
    "sum below one": (0.5 * POLICIES, "sum to one"),
    "negative": (np.array([[1.2, -0.2, 0.0]]), "negative|probabilit"),
    "NaN": (np.array([[np.nan, 0.5, 0.5]]), "finite"),
}


@pytest.mark.parametrize("case", NO_POLICIES)
@pytest.mark.parametrize("cls", FLAT)
def test_no_probabilities_are_refused_before_anything_is_asked(cls, case):
    table, message = NO_POLICIES[case]
    settings = {"alpha": 1e-3, "random_state": 0}
    optimizer = cls(conditional=PolicyMean(policies=table, arms=ARMS), **settings)
    with pytest.raises(ValueError, match=message):
        optimizer.ask()
    assert not hasattr(optimizer, "history_")
    optimizer.set_params(conditional=PolicyMean(policies=POLICIES, arms=ARMS))
    assert optimizer.ask().a.shape == (1,)


def test_a_function_that_returns_no_probabilities_loses_nothing():
    def policy(A):  # fails for one of the queries that can be told
        A = np.asarray(A)
        table = np.column_stack([A[:, 0], 1.0 - A[:, 0], np.zeros(len(A))])
        table[A[:, 0] == 0.55, 2] = 0.3
        return table

    optimizer = CMESOptimizer(
        conditional=PolicyMean(policies=policy, arms=ARMS),
        query_bounds=[(0.0, 1.0)],
        n_candidates=11,
        continuous=False,
        alpha=1e-3,
        random_state=0,
    )
    for _ in range(3):
        query = optimizer.ask()
        optimizer.tell(query, float(query.a[0]))
    before = view(optimizer, ARMS)
    with pytest.raises(ValueError, match="sum to one"):
        optimizer.tell([0.55], 0.5)
    assert view(optimizer, ARMS) == before


def test_windows_of_bad_scale_are_refused():
    for scale in (-0.1, np.nan, lambda A: np.full(len(A), -1.0)):
        with pytest.raises(ValueError, match="scale"):
            make(CMESOptimizer, conditional=WindowMean(scale=scale)).ask()


@pytest.mark.parametrize("cls", [CMESOptimizer, CMETSOptimizer])
def test_queries_that_lead_out_of_the_domain_are_refused_at_the_start(cls):
    """Without ``conditional`` or ``location`` a number is no point of a square."""
    with pytest.raises(ValueError, match="domain has 2 dimensions"):
        cls(bounds=[(0, 1), (0, 1)], query_bounds=[(0, 1)]).ask()


FAR = 2.0**30
SIXTEENTHS = np.linspace(0.0, 1.0, 17)[:, None]


def exact(values):
    """Numbers with so few digits that they are the same distances apart around ``FAR``."""
    return np.round(values * 2**20) / 2**20


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("kind", "noise"),
    [
        *((kind, 1e-2) for kind in ("uniform", "clipped", "pairs", "cells", "answers", "policies")),
        *((kind, None) for kind in ("uniform", "pairs", "cells", "answers", "policies")),
    ],
)
def test_what_lies_far_from_zero_is_asked_and_known_like_what_is_near(kind, noise):
    found = []
    for origin in (0.0, FAR):
        x = origin + SIXTEENTHS
        settings = {"bounds": [(origin, origin + 1)], "queries": x, "n_points": 65, "alpha": noise}
        settings |= {"kernel": None if noise is None else RBF(0.2), "random_state": 0}
        window = {"window": "uniform"} if kind == "uniform" else {}
        window |= {"domain": settings["bounds"]} if kind == "clipped" else {}
        cls, conditional = CMESOptimizer, WindowMean(scale=0.1, **window)
        if kind == "cells":
            cls, conditional = CMETSOptimizer, None
            del settings["queries"]
        elif kind == "answers":
            cls = IndirectEIOptimizer
            settings["answer_kernel"] = RationalQuadratic(0.3, alpha=2.0)
        elif kind == "pairs":
            conditional = None
            settings |= {"operator": "embedding", "bounds": [(origin - 0.5, origin + 1.5)]}
        elif kind == "policies":
            weights = np.exp(-50 * (SIXTEENTHS - SIXTEENTHS.T) ** 2)
            weights /= weights.sum(axis=1, keepdims=True)
            conditional = PolicyMean(policies=weights, arms=x)
            del settings["bounds"], settings["queries"]
        optimizer = cls(conditional=conditional, **settings)
        if kind == "pairs":
            rng = np.random.default_rng(0)
            A = exact(rng.uniform(size=(40, 1)))
            optimizer.fit(origin + exact(A + 0.07 * rng.normal(size=(40, 1))), queries=origin + A)
        asked = []
        for _ in range(8):
            query = optimizer.ask()
            place = query.a[0] / 16 if kind == "policies" else query.points[0, 0] - origin
            asked.append(place)
            optimizer.tell(query, float(np.sin(5 * place)))
        found.append((asked, *optimizer.predict(x, return_std=True)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    # Weights of pairs solve equations whose condition is 1 / regularization, 1e9 at most.
    atol = 1e-6 if kind == "pairs" else 1e-9
    np.testing.assert_allclose(found[0][1:], found[1][1:], rtol=0, atol=atol)


@pytest.mark.filterwarnings("ignore::skgpb.exceptions.NumericalWarning")
def test_answers_whose_squares_overflow_are_not_learned_from():
    """A likelihood of NaN must not lead a search to kernels of NaN, which are slow as well."""
    conditional = WindowMean(scale=0.1)
    optimizer = IndirectEIOptimizer(
        conditional=conditional, bounds=[(0, 1)], alpha=1e-3, n_points=20, n_candidates=15
    )
    seen = []
    embed = WindowEvaluator.embed

    def spy(evaluator, rows, offsets=None):
        seen.append(evaluator.base.theta)
        return embed(evaluator, rows, offsets)

    with pytest.MonkeyPatch.context() as patched, np.errstate(all="ignore"):
        patched.setattr(WindowEvaluator, "embed", spy)
        for query, reward in zip(optimizer.ask(6), [0.0, 1e12, 1e150] * 2, strict=True):
            optimizer.tell(query, reward)
    assert np.isfinite(seen).all()


def test_masked_evaluations_beside_pairs_are_refused():
    X, masked = np.linspace(0, 1, 4)[:, None], np.ma.masked_greater([0.0, 0.5, 9.0, 0.2], 1.0)
    with pytest.raises((TypeError, ValueError), match=r"y .*mask"):
        CMESOptimizer(bounds=[(0, 1)]).fit(X, masked, queries=X)


def test_between_the_candidates_none_is_asked_beside_one_that_is_not_free(monkeypatch):
    """While answers are awaited. The nearest one differs least, in sides, on any side."""
    sides, tops = np.array([1.0, 10.0]), []
    optimizer = CMESOptimizer(
        RBF(1.0),
        conditional=WindowMean(scale=0.1),
        bounds=[(0.0, 1.0), (0.0, 10.0)],
        n_candidates=25,
        alpha=0.01,
        n_initial=0,
        random_state=0,
    )
    monkeypatch.setattr(indirect_search, "maximise_in_box", lambda *given: tops[-1])
    rng = np.random.default_rng(0)
    for a in rng.random((5, 2)) * sides:
        tops.append((a, 99.0))
        optimizer.start()
        candidates = optimizer.domain_.A
        round, values = optimizer.posterior(), np.zeros(len(candidates))
        every = np.arange(len(candidates))
        nearest = np.argmin(np.max(np.abs(candidates - a) / sides, axis=1))
        for left_out in (nearest, (nearest + 1) % len(every)):
            free = np.delete(every, left_out)
            between = not optimizer.run_.evaluating or left_out != nearest
            found = optimizer._refine_query(round, values, free, free[3]).a
            np.testing.assert_array_equal(found, a if between else candidates[free[3]])
        assert np.array_equal(optimizer.ask(another=True).a, a)
        # The place itself is pending now.
        assert not np.array_equal(optimizer._refine_query(round, values, free, free[3]).a, a)


DOMAINS = {
    "arms of policies": (PolicyMean(policies=POLICIES, arms=ARMS), [(0.0, 2.0), (0.0, 2.0)]),
    "a window's domain": (WindowMean(scale=0.1, domain=[(0, 3), (1, 2)]), [(0, 3), (1, 2)]),
    "pairs": (ConditionalMean(X=X1, A=A1), np.stack([X1.min(axis=0), X1.max(axis=0)]).T),
    "nothing": (WindowMean(scale=0.1), None),
}


@pytest.mark.parametrize("case", DOMAINS)
def test_without_bounds_the_domain_is_that_of_the_conditional(case):
    conditional, expected = DOMAINS[case]
    where = {} if case == "arms of policies" else {"queries": A1[:9]}
    optimizer = CMESOptimizer(conditional=conditional, alpha=0.1, n_points=50, **where)
    if expected is None:
        with pytest.raises(NotFittedError, match="has no domain yet: pass bounds="):
            optimizer.start()
    else:
        np.testing.assert_array_equal(optimizer.start().bounds_, expected)


def test_the_cells_of_a_tree_may_be_of_the_domain_itself():
    tree = CMETSOptimizer(query_bounds=[(0.0, 1.0), (2.0, 4.0)], max_depth=2, n_points=50)
    np.testing.assert_array_equal(tree.start().bounds_, [(0.0, 1.0), (2.0, 4.0)])
    assert tree.domain_.cell((0, 0)).center.tolist() == [0.5, 3.0]
    with pytest.raises(NotFittedError, match="has no domain yet"):
        clone(tree).set_params(location=lambda A: 2.0 * A).start()


@pytest.mark.parametrize("with_scale", [False, True])
def test_without_query_bounds_the_root_is_the_box_of_the_queries_of_pairs(with_scale):
    scale = (lambda depth: 0.5 / (1 + depth)) if with_scale else None
    tree = CMETSOptimizer(bounds=DOMAIN, scale=scale, max_depth=2, n_points=50, alpha=0.1)
    tree.fit(X1, queries=np.column_stack([A1, np.full(60, 0.2)]) if with_scale else A1)
    cell = tree.domain_.cell((0, 0))
    np.testing.assert_allclose(cell.center, 0.5 * (A1.min(axis=0) + A1.max(axis=0)))
    assert len(cell.a) == 2 + with_scale


def test_between_the_candidates_a_baseline_asks_only_while_no_answer_is_awaited():
    settings = {"bounds": [(0, 1)], "n_candidates": 11, "alpha": 0.01, "n_initial": 0}
    conditional = WindowMean(scale=0.1)
    optimizer = IndirectEIOptimizer(RBF(0.3), conditional=conditional, **settings, random_state=0)
    for a, reward in (([0.2], 0.0), ([0.63], 1.0), ([0.9], 0.3)):
        optimizer.tell(a, reward)
    first, *others = optimizer.ask(3)
    assert first.index < 0 <= min(query.index for query in others)
