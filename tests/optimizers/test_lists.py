"""Searches over lists, integers and numbers together, where nothing else is known."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb import EIOptimizer, ESTOptimizer, GPUCBOptimizer, MESOptimizer, PIOptimizer
from skgpb.acquisition.improvement import log_own_gain
from skgpb.domains import Box
from skgpb.kernels import AdditiveMatern

FOR_THE_BEST = {
    "EI": EIOptimizer,
    "PI": PIOptimizer,
    "EST": ESTOptimizer,
    "MES": MESOptimizer,
    "UCB": lambda **settings: GPUCBOptimizer(regret="simple", **settings),
}
SIZES = (6, 5, 4)


def lists(sizes=SIZES):
    return {f"s{i}": [f"{i}-{k}" for k in range(n)] for i, n in enumerate(sizes)}


def table(seed, sizes=SIZES):
    """Return a function of settings: main effects, and as much that is not a sum of them."""
    rng = np.random.default_rng(seed)
    values = sum(np.ix_(*(rng.normal(size=n) for n in sizes))) + rng.normal(size=sizes)
    values = (values - values.min()) / np.ptp(values)
    return lambda query: float(values[tuple(int(v.split("-")[1]) for v in query.params.values())])


def play(optimizer, f, n, noise=0.0, seed=0):
    rng, asked = np.random.default_rng(seed), []
    for _ in range(n):
        query = optimizer.ask()
        asked.append(tuple(query.params.values()))
        optimizer.tell(query, f(query) + noise * rng.normal())
    return asked


def longest(asked):
    runs = np.split(asked, np.flatnonzero([a != b for a, b in pairwise(asked)]) + 1)
    return max(map(len, runs))


def test_what_is_learned_of_one_value_of_a_list_counts_everywhere():
    """A sum of effects of ten lists is known after far fewer answers than there are settings."""
    sizes = (3,) * 10
    rng = np.random.default_rng(0)
    effects = [rng.normal(size=n) for n in sizes]
    settings = rng.integers(3, size=(100, 10))
    y = np.sum([effect[settings[:, i]] for i, effect in enumerate(effects)], axis=0)
    rows = [
        {name: lists(sizes)[name][k] for name, k in zip(lists(sizes), x, strict=True)}
        for x in settings
    ]
    optimizer = GPUCBOptimizer(bounds=lists(sizes), random_state=0).fit(rows[:60], y[:60])
    assert type(optimizer._model.process.kernel.base.k2) is AdditiveMatern
    error = optimizer.predict(rows[60:]) - y[60:]
    assert np.sqrt(np.mean(error**2)) < 0.15 * y.std()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FOR_THE_BEST)
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_no_setting_is_asked_again_and_again(name, noise):
    """Repeats are for what may change the recommendation, and never many in a row."""
    optimizer = FOR_THE_BEST[name](bounds=lists(), random_state=0)
    asked = play(optimizer, table(0), 50, noise, 0)
    assert longest(asked) <= 4
    assert len(set(asked)) >= (49 if noise == 0.0 else 35)


@pytest.mark.parametrize("name", FOR_THE_BEST)
def test_no_arm_is_asked_again_where_answers_are_exact(name):
    arms = np.linspace(0.0, 1.0, 30)[:, np.newaxis]
    optimizer = FOR_THE_BEST[name](arms=arms, alpha=0.0, random_state=0)
    asked = []
    for _ in range(20):
        query = optimizer.ask()
        asked.append(query.index)
        optimizer.tell(query, -((query.points[0, 0] - 0.3) ** 2))
    assert len(set(asked)) == 20


@pytest.mark.parametrize("name", ["EI", "UCB"])
def test_a_run_ends_when_every_setting_is_known_exactly(name):
    f = table(3, (4, 3, 2))
    optimizer = FOR_THE_BEST[name](bounds=lists((4, 3, 2)), random_state=0)
    result = optimizer.run(f, budget=200)
    assert "every query was answered" in result.message and result.success
    # One answer more says that answers are exact.
    assert 24 <= result.nfev <= 25
    assert result.fun == pytest.approx(1.0) and f(result.x) == 1.0


@pytest.mark.parametrize("noise", [0.05, None])
def test_a_run_with_noise_or_for_its_answers_goes_on(noise):
    f, rng = table(3, (4, 2)), np.random.default_rng(0)
    if noise is None:
        optimizer = GPUCBOptimizer(bounds=lists((4, 2)), random_state=0)
        assert optimizer.run(f, budget=40).nfev == 40
    else:
        optimizer = EIOptimizer(bounds=lists((4, 2)), random_state=0)
        assert optimizer.run(lambda q: f(q) + noise * rng.normal(), budget=40).nfev == 40


def test_settings_beside_the_best_are_candidates():
    """Those that differ from it in a single list, of which a cube's neighbourhood has few."""
    sizes = (12, 10, 9, 8)
    optimizer = EIOptimizer(bounds=lists(sizes), random_state=0)
    play(optimizer, table(0, sizes), 20, 0.01)
    optimizer.ask()
    best = optimizer.recommend()
    points = optimizer.domain_.every_place()
    space = optimizer.run_.space
    settings = {tuple(space.setting(point).values()) for point in points}
    values = np.array(list(best.params.values()))
    near = [each for each in settings if (np.array(each) != values).sum() == 1]
    assert len(near) >= 20  # of 35


def test_a_box_with_a_rule_has_candidates_beside_the_best_too():
    sides = {"x": (0.0, 1.0), "y": (0.0, 1.0), "kind": list("ABCDEFGH"), "n": range(1, 200)}
    optimizer = EIOptimizer(bounds=Box(sides, ["x + y <= 1.2"]), random_state=0)
    for _ in range(15):
        query = optimizer.ask()
        params = query.params
        assert params["x"] + params["y"] <= 1.2 + 1e-9
        optimizer.tell(query, params["x"] - (params["kind"] != "C") - abs(params["n"] - 50) / 200)
    kinds = [optimizer.run_.space.setting(p)["kind"] for p in optimizer.domain_.every_place()]
    assert set(kinds) == set("ABCDEFGH")


def counts_in(optimizer, n, sizes):
    """How often each value of each list is among the first queries."""
    asked = optimizer.ask(n)
    every = [[query.params[name] for query in asked] for name in lists(sizes)]
    return [
        [each.count(v) for v in s] for each, s in zip(every, lists(sizes).values(), strict=True)
    ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("sizes", [(12, 8, 3), (16, 4), (5, 5, 5), (25,)])
@pytest.mark.parametrize("constraint", [[], ["x + y <= 1"]])
@pytest.mark.parametrize("seed", range(3))
def test_first_queries_try_every_value_of_every_list(sizes, constraint, seed):
    box = Box(lists(sizes) | {"x": (0, 1), "y": (0, 1)}, constraint)
    optimizer = GPUCBOptimizer(bounds=box, regret="simple", random_state=seed).start()
    first = optimizer._n_initial
    assert first == max(10, *sizes)
    for counts in counts_in(optimizer, first, sizes):
        assert min(counts) >= first // len(counts) - (1 if constraint else 0) and min(counts) > 0
        assert constraint or np.ptp(counts) <= 1


def test_a_long_list_does_not_make_all_queries_first_ones():
    (counts,) = counts_in(EIOptimizer(bounds=lists((60,)) | {"x": (0, 1)}), 25, (60,))
    assert sorted(counts)[-25:] == [1] * 25
    # Values in an order tell of their neighbours, and where every answer counts no value must be.
    for cls, settings in (
        (EIOptimizer, {"bounds": {"n": range(40)}}),
        (EIOptimizer, {"bounds": lists((40,)), "n_initial": 7}),
        (GPUCBOptimizer, {"bounds": lists((40,))}),
    ):
        optimizer = cls(**settings, random_state=0)
        optimizer.ask()
        assert optimizer._n_initial == settings.get("n_initial", 10)


@pytest.mark.parametrize("factor", [1.0, 1e-6])
@pytest.mark.parametrize("kernel", [None, RBF(0.3)])
def test_noise_far_above_the_differences_of_arms_is_learned_from_repeats(factor, kernel):
    """Means of many answers to a few arms hardly differ, and so say nothing of the noise."""
    rng = np.random.default_rng(0)
    if kernel is None:
        arms = [{"arm": name} for name in "uvw"]
        search = GPUCBOptimizer(bounds={"arm": list("uvw")}, random_state=0)
    else:
        arms, kernel = [[0.0], [0.5], [1.0]], ConstantKernel((0.01 * factor) ** 2) * kernel
        search = GPUCBOptimizer(kernel, arms=arms, random_state=0)
    for _ in range(85):
        search.tell(arms, factor * rng.normal(size=3))
    assert 0.8 < search.alpha_ / factor**2 < 1.25
    mean, std = search.predict(arms, return_std=True)
    assert (np.abs(mean) < 3.0 * std).all()
    if search.kernel is None:
        # The standard error of an arm with 85 answers is 0.11.
        assert (std > 0.04 * factor).all()


@pytest.mark.parametrize("costs", [None, np.linspace(1.0, 4.0, 12)])
def test_a_repeat_must_gain_more_than_the_best_new_query(costs):
    """Per unit cost, as all repeats must; free queries alone are compared."""
    arms, rng = np.linspace(0.0, 1.0, 12)[:, None], np.random.default_rng(0)
    optimizer = EIOptimizer(arms=arms, cost=costs, n_initial=0, random_state=0)
    asked = [1, 4, 5, 8, 10]
    optimizer.tell(arms[asked * 2], np.sin(5 * arms[asked * 2, 0]) + 0.3 * rng.normal(size=10))
    round, found = optimizer.posterior(), set()
    gains = log_own_gain(round.mean, round.var, round.noise)
    gains -= 0.0 if costs is None else np.log(costs)
    for i in range(30):
        values = rng.normal(size=12)
        free = None if i % 2 else np.sort(rng.choice(12, 9, replace=False))
        slots = np.arange(12) if free is None else free
        new = max((s for s in slots if s not in asked), key=values.__getitem__)
        again = [s for s in slots if s in asked]
        for slot in (new, *again):
            expected = slot if slot == new else max([new, *again], key=gains.__getitem__)
            assert optimizer._prefer_new_query(round, values, free, slot) == expected
            found.add(expected in asked)
    assert found == {True, False}
