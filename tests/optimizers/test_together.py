"""Answers that are told together: one model, one set of candidates, one event of learning."""

from __future__ import annotations

import io
import pickle
import warnings
from copy import deepcopy

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from runs import of_another_version
from sklearn.gaussian_process.kernels import RBF

from skgpb import EIOptimizer, GPUCBOptimizer, KGOptimizer, defaults
from skgpb.domains.arms import PointsQuery
from skgpb.domains.space import as_coordinates
from skgpb.exceptions import LimitWarning, ModelWarning
from skgpb.optimizers import CMETSOptimizer, DAGPUCBOptimizer
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.surrogate import GaussianProcess
from skgpb.utils import progress

pytestmark = pytest.mark.one_in(6)


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(defaults, "TOGETHER_FROM", 2)


#: No hyperparameters are learned, so that the answers alone determine the model.
FIXED = {"relearn": None, "optimizer": None, "kernel": RBF(0.5), "alpha": 0.01}


def fixed(optimizer, **more):
    known = optimizer.get_params(deep=False)
    return optimizer.set_params(**{name: x for name, x in (FIXED | more).items() if name in known})


def contextual(name):
    cls, settings = cases.IN_CONTEXTS[name]
    return cls(**{"context_bounds": [(0, 1)], "random_state": 0} | settings)


MAKE = (
    dict.fromkeys(cases.CASES, cases.make)
    | {name: cases.make_indirect for name in cases.INDIRECT if "pairs" not in name}
    | {name: contextual for name in cases.IN_CONTEXTS if name != "EI-cells-in-contexts"}
)


def asked(optimizer, n=9):
    if isinstance(optimizer, CMETSOptimizer):  # it has three cells at first
        return optimizer.ask(3) * 3
    if not optimizer._contexts:
        return optimizer.ask(n)
    return [optimizer.ask(context=[(i % 3) / 2], another=True) for i in range(n)]


def told_in_both_ways(optimizer, queries, answers, alphas):
    """Return a run that was told the answers one by one, and one that was told them together."""
    in_turn, together = optimizer, deepcopy(optimizer)
    for each in zip(queries, answers, alphas, strict=True):
        in_turn.tell(*each)
    return in_turn, together.tell(queries, answers, alphas)


def assert_one_model(one, other):
    """Predictions, history, failures, pending queries and costs of two runs agree."""
    told = one.run_.told_queries()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = one.bounds_[:, 0] + np.random.default_rng(0).random((9, len(one.bounds_))) * np.ptp(
            one.bounds_, axis=1
        )
        assert_allclose(*(r.predict_query(told) for r in (one, other)), rtol=0, atol=1e-8)
        if cases.has_model(one) and not getattr(getattr(one, "targets_", None), "finite", False):
            X = as_coordinates(X)
            for a, b in zip(*(r.predict(X, return_std=True) for r in (one, other)), strict=True):
                assert_allclose(a, b, rtol=0, atol=1e-8)
    assert one.history_.dtype == other.history_.dtype
    for name in one.history_.dtype.names:
        assert_allclose(one.history_[name], other.history_[name], rtol=0, atol=1e-8)
    assert str(one.failed_) == str(other.failed_)
    assert one.run_.pending == other.run_.pending
    kinds = [[e[:2] for e in r._events if e[0] in ("tell", "fail", "ask")] for r in (one, other)]
    assert kinds[0] == kinds[1]
    if hasattr(one, "spent_"):
        assert one.spent_ == other.spent_


@pytest.mark.parametrize("name", MAKE)
def test_the_model_is_that_of_answers_told_in_turn(name):
    optimizer = fixed(MAKE[name](name))
    queries = asked(optimizer)
    # A repeat, two failures, a noise variance of one answer, and two queries that stay pending.
    queries = [*queries[:7], queries[2], queries[4]]
    answers = [0.3, None, 1.2, 0.7, -0.4, None, 0.1, 1.0, -0.5]
    alphas = [None, None, 0.04, None, 0.001, None, None, None, 0.02]
    one, other = told_in_both_ways(optimizer, queries, answers, alphas)
    assert_one_model(one, other)
    one, other = told_in_both_ways(
        other, [*queries[1:4], queries[3]], [0.5, 0.6, 0.2, 0.1], [0.03] * 4
    )
    assert_one_model(one, other)


def points(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, np.sin(5 * X).sum(axis=1) + 0.1 * rng.standard_normal(n)


SETTINGS = {"x": (0.0, 3.0), "n": range(1, 6), "kind": ["a", "b", "c"]}


@pytest.mark.parametrize(
    "given",
    [
        {"kernel": RBF(0.4), "alpha": 0.01},
        {"kernel": RBF(0.4), "alpha": 0.01, "normalize_y": True},
        {"kernel": RBF(0.4), "alpha": None},
        {"kernel": RBF(0.15), "alpha": 0.0},
        {"direction": "minimize"},
        {"limits": {"t": (None, 1.0)}},
    ],
)
def test_points_of_a_box_blocks_and_outcomes(given):
    X, y = points(30)
    X[20:25] = X[:5]
    if given.get("alpha") == 0.0:
        y[20:25] = y[:5]
    blocks = [None if i % 3 else f"day {i // 10}" for i in range(30)]
    outcomes = [{"t": x.sum()} for x in X]
    more = [{"outcomes": each, "block": day} for each, day in zip(outcomes, blocks, strict=True)]
    more = more if "limits" in given else [{}] * 30
    one, other = (GPUCBOptimizer(bounds=[(0, 1)] * 2, relearn=None, **given) for _ in range(2))
    for x, value, told in zip(X, y, more, strict=True):
        one.tell(x, value, **told)
    together = {"outcomes": outcomes, "block": blocks} if "limits" in given else {}
    other.tell(X, y, **together)
    if given.get("alpha") == 0.0:
        # The deviation of an answer that is known already is the square root of rounding.
        others = np.setdiff1d(np.arange(30), np.arange(20, 25))
        assert_allclose(one.history_["std"][others], other.history_["std"][others], atol=1e-8)
        assert_allclose(other.history_["std"][20:25], 0.0, atol=1e-4)
        assert_allclose(one.predict(X), other.predict(X), atol=1e-8)
        return
    assert_one_model(one, other)
    if together:
        models = [cases.outcome_model(each, "t") for each in (one, other)]
        assert [each.n_answers for each in models] == [30, 30]


def test_settings_and_a_later_batch():
    rng = np.random.default_rng(3)
    queries = [
        {"x": float(rng.uniform(0, 3)), "n": int(rng.integers(1, 6)), "kind": str(kind)}
        for kind in rng.choice(["a", "b", "c"], 40)
    ]
    answers = [q["x"] + q["n"] + len(q["kind"]) for q in queries]
    runs = [GPUCBOptimizer(bounds=SETTINGS, relearn=None, random_state=0) for _ in range(2)]
    for each in runs:
        each.tell(queries[0], answers[0])
    for query, value in zip(queries[1:], answers[1:], strict=True):
        runs[0].tell(query, value)
    runs[1].tell(queries[1:20], answers[1:20]).tell(queries[20:], answers[20:])
    assert_one_model(*runs)


def test_averages_over_points_and_campaigns():
    rng = np.random.default_rng(0)
    groups = [rng.random((k, 2)) for k in (1, 3, 2, 4, 3)]
    queries = [cases.ARMS[:0], *groups][1:]
    runs = [GPUCBOptimizer(bounds=[(0, 1)] * 2, **FIXED) for _ in range(2)]
    for query, value in zip(queries, range(5), strict=True):
        runs[0].tell(query, float(value))
    runs[1].tell([PointsQuery(query) for query in queries], np.arange(5.0))
    assert_one_model(*runs)

    def bandit():
        member = DAGPUCBOptimizer(arms=np.linspace(0, 1, 6)[:, None], **FIXED)
        return CombinatorialBandit([("a", member), ("b", member)], budget=1.5)

    X = rng.choice(np.linspace(0, 1, 6), (8, 2))
    rewards = [[x, None if i == 3 else y] for i, (x, y) in enumerate(X.tolist())]
    runs = [bandit(), bandit().tell(X, rewards)]
    for x, reward in zip(X, rewards, strict=True):
        runs[0].tell(x, reward)
    for name in ("reward", "mean", "std", "choice"):
        assert_allclose(*(each.history_[name] for each in runs), atol=1e-8)
    for one, other in zip(*(each.optimizers_ for each in runs), strict=True):
        assert_allclose(one.predict([[0.3]]), other.predict([[0.3]]), atol=1e-8)


# -- learning ---------------------------------------------------------------------------------


def learned(optimizer):
    return [event[1] for event in optimizer._events if event[0] == "learned"]


def test_hyperparameters_are_learned_once_from_all_answers_as_by_fit():
    X, y = points(50)
    at_once = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0).tell(X, y)
    (found,) = learned(at_once)
    (by_fit,) = learned(GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0).fit(X, y))
    assert_allclose(found["theta"], by_fit["theta"], rtol=1e-3)
    assert at_once._model.schedule.learned_at == 50
    assert at_once._model.schedule.learning_due == 100
    # Answers before it is due again are not learned from.
    at_once.tell(*points(20, seed=1))
    assert len(learned(at_once)) == 1
    at_once.tell(*points(40, seed=2))
    assert len(learned(at_once)) == 2


def test_hyperparameters_are_learned_from_part_of_many_answers(monkeypatch):
    from skgpb.surrogate.samples import random_subsample

    assert random_subsample(500, 0) is None and random_subsample(2000, 1000) is None
    assert [len(random_subsample(n, 0)) for n in (501, 1000, 1800, 9000)] == [500, 500, 900, 1000]
    assert len(random_subsample(9000, 4500)) == 2000
    chosen = random_subsample(3000, 10)
    assert (np.diff(chosen) > 0).all() and chosen[0] >= 0 and chosen[-1] < 3000
    monkeypatch.setattr(defaults, "MOST_LEARNED", 60)
    X, y = points(120)
    run = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0).tell(X, y)
    # All answers are in the model, although a half is behind its hyperparameters.
    assert len(run._model.process.observed) == 120
    grid = np.random.default_rng(1).random((200, 2))
    assert np.abs(run.predict(grid) - np.sin(5 * grid).sum(axis=1)).max() < 0.5


def test_an_outlier_among_answers_told_together_is_found():
    X, y = points(40)
    run = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0).tell(X[:32], y[:32])
    before = len(learned(run))
    more = y[32:].copy()
    more[3] += 60.0
    run.tell(X[32:], more)
    assert len(learned(run)) == before + 1
    assert run._model.diagnosis.outliers == (35,)


def test_a_penalty_anywhere_among_answers_told_together_is_warned_of():
    X, y = points(30)
    for wrong in ([4], [29], [2, 17]):
        told = y.copy()
        told[wrong] = -1e9
        with pytest.warns(ModelWarning, match="tell None where an evaluation failed") as caught:
            GPUCBOptimizer(bounds=[(0, 1)] * 2, **FIXED).tell(X, told)
        assert sum("tell None" in str(each.message) for each in caught) == 1


def test_measurements_that_only_some_answers_lack_are_warned_of():
    X, y = points(6)
    outcomes = [{"t": 0.1}, None, {"t": None}, {}, {"t": 0.3}, {"t": 0.2}]
    run = EIOptimizer(bounds=[(0, 1)] * 2, limits={"t": (None, 1)}, random_state=0)
    with pytest.warns(LimitWarning, match="did not come with the answers"):
        run.tell(X, y, outcomes=outcomes)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LimitWarning)
        run.tell(X, y)


# -- candidates, files and copies ---------------------------------------------------------------


def test_covariances_are_factorized_once_for_all_answers_and_once_to_learn(monkeypatch, caplog):
    blocks, append = [], GaussianProcess._append

    def spy(self, new, *arguments):
        blocks.append(len(new))
        append(self, new, *arguments)

    monkeypatch.setattr(GaussianProcess, "_append", spy)
    monkeypatch.setattr(progress, "LOGGED_FROM", 120)
    X, y = points(120)
    with caplog.at_level("INFO", "skgpb.past"):
        run = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0).tell(X, y)
        assert blocks == [120, 120]
        file = io.BytesIO()
        run.save(file)
        file.seek(0)
        GPUCBOptimizer.load(file)
    assert blocks == [120] * 3
    steps = ["computing their covariances", "learning the hyperparameters"]
    steps.append("computing the posterior of the run")
    assert caplog.messages == [f"120 answers: {step}" for step in steps]


def test_lists_as_short_as_batches_are_told_in_turn(monkeypatch):
    monkeypatch.undo()
    X, y = points(100)
    one, other = (GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0) for _ in range(2))
    for x, value in zip(X[:99], y[:99], strict=True):
        one.tell(x, value)
    other.tell(X[:99], y[:99])
    assert [e[0] for e in one._events] == [e[0] for e in other._events]
    assert one.ask() == other.ask()
    whole = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0).tell(X, y)
    assert [event[0] for event in whole._events] == [
        "together",
        *["tell"] * 100,
        "apart",
        "learned",
    ]


def test_candidates_move_once_and_as_many_as_in_so_many_rounds(monkeypatch):
    from skgpb.domains.box_candidates import BoxCandidates

    X, y = points(300, d=6)
    run = GPUCBOptimizer(bounds=[(0, 1)] * 6, random_state=0, **FIXED).tell(X, y)
    run.ask()
    before, moves = run.domain_.rows.copy(), []
    resample = BoxCandidates.resample

    def spy(self, *arguments):
        moves.append(len(resample(self, *arguments)))
        return np.arange(0)

    monkeypatch.setattr(BoxCandidates, "resample", spy)
    run.tell(*points(100, d=6, seed=1))
    run.ask(another=True)
    assert moves == [500]
    assert not (run.domain_.rows == before).all(axis=1).any()


def next_queries(run):
    n = 2 if not run._contexts else None
    context = {} if n else {"context": [0.5]}
    queries = run.ask(n, another=True, **context)
    return [each.box.tolist() for each in (queries if n else [queries])]


KEPT = ["GP-UCB-box", "GP-UCB", "EI", "KG-cells", "KG-fidelities", "CMES-noisy", "CMETS"]
KEPT += ["EI-unknown-noise", "UCB-box-in-contexts", "GPOO-center", "default"]


@pytest.mark.parametrize("name", KEPT)
def test_copies_files_and_repetitions_ask_the_same(name, tmp_path):
    if name == "default":
        run = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0)
    else:
        given = {} if "unknown" in name or name == "KG-fidelities" else {"kernel": RBF(0.5)}
        run = MAKE[name](name)
        run = run.set_params(**given) if "kernel" in run.get_params(deep=False) else run
    queries = asked(run, 9)
    rng = np.random.default_rng(1)
    run.tell(queries[0], 0.4)
    run.tell(queries[1:7], [None, *rng.standard_normal(5)])
    context = {"context": [0.5]} if run._contexts else {}
    run.tell(run.ask(**context), 0.2)
    run.tell(queries[7:], [0.3, None])
    twins = [deepcopy(run), pickle.loads(pickle.dumps(run)), run._repeat_events(run._events)]
    given = {
        parameter: value
        for parameter in ("conditional", "location")
        if callable(getattr(value := run.get_params().get(parameter), "location", value))
    }
    file = io.BytesIO()
    run.save(file, omit=tuple(given))
    file.seek(0)
    twins.append(type(run).load(file, **given))
    path = tmp_path / "run.skgpb"
    run.save(path, omit=tuple(given))
    of_another_version(path)  # its events are repeated
    twins.append(type(run).load(path, **given))
    kinds = [event[0] for event in run._events]
    expected = next_queries(run)
    for twin in twins:
        assert [event[0] for event in twin._events] == kinds
        assert_array_equal(twin.history_["mean"], run.history_["mean"])
        assert next_queries(twin) == expected


def test_an_answer_may_be_left_out_of_those_told_together():
    X, y = points(20)
    run = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0, **FIXED).tell(X, y)
    kinds = [event[0] for event in run._events]
    assert kinds == ["together", *["tell"] * 20, "apart"]
    events = run._events
    without = run._repeat_events([*events[:5], *events[6:]])
    assert_allclose(without.predict(X), deepcopy(without).predict(X))
    other = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0, **FIXED)
    other.tell(np.delete(X, 4, axis=0), np.delete(y, 4))
    assert without.ask() == other.ask()
    cut = run._repeat_events(events[:11])  # its end was left out
    assert [event[0] for event in cut._events] == [*kinds[:11], "apart"]
    assert cut.ask() == GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0, **FIXED).tell(
        X[:10], y[:10]
    ).ask()  # fmt: skip


def test_an_error_in_the_midst_changes_nothing(monkeypatch):
    X, y = points(20)
    run = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0).tell(X, y)
    events, twin = run._events, deepcopy(run)

    def broken(self, *_):
        raise KeyboardInterrupt

    for name in ("_learn_if_due", "_observe_together"):
        with monkeypatch.context() as patch:
            patch.setattr(GPUCBOptimizer, name, broken)
            with pytest.raises(KeyboardInterrupt):
                run.tell(*points(30, seed=1))
    assert len(run._events) == len(events) and len(run.history_) == 20
    assert run.run_.together is None
    assert run.ask() == twin.ask()


def test_events_that_do_not_belong_together_are_refused():
    run = GPUCBOptimizer(bounds=[(0, 1)]).start()
    for events in ([("apart",)], [("together",), ("together",)]):
        with pytest.raises(ValueError, match="together here"):
            run._repeat_events(events)
    with pytest.raises(ValueError, match="together here"):
        cases.make("StoOO").start()._repeat_events([("together",)])


def test_covariances_that_were_computed_before_are_those_after_all_answers():
    arms = np.linspace(0.0, 1.0, 9)[:, None]
    runs = [KGOptimizer(RBF(0.3), arms=arms, alpha=0.01, random_state=0) for _ in range(2)]
    runs[0].ask()
    assert runs[0].posterior().covariance.shape == (9, 9)
    for run in runs:
        run.tell(arms[[2, 5, 7]], [1.0, 2.0, 0.0])
    found, expected = (run.posterior([]) for run in runs)
    assert_allclose(found.covariance, expected.covariance, atol=1e-9)
    assert_allclose(np.diag(found.covariance), found.var, atol=1e-9)
