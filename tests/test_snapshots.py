"""Snapshots in files of runs: loading makes no decision again."""

import numpy as np
import pytest
from cases import CASES, INDIRECT
from numpy.testing import assert_allclose, assert_array_equal
from runs import document_of, optimizer, peak, with_document, without_member
from sklearn.gaussian_process.kernels import RBF
from trajectories import NAMES, game, numbers_of

from skgpb import GPOOOptimizer, GPTreeOptimizer, GPUCBOptimizer, GPZoomingOptimizer
from skgpb.exceptions import LoadError
from skgpb.optimizers._loop import Replay
from skgpb.surrogate import GaussianProcess

# A rule that is a function is in no file.
SAVED = [name for name in NAMES if "rule-of" not in name and not name.startswith("even")]
SNAPSHOT = "snapshot.json"
#: A case of every kind and class.
ONE_OF_EACH = {
    (name.split(":")[0], type(game(name)[0])): name
    for name in SAVED
    if not name.startswith("campaigns")  # their parameters are optimizers
}.values()


def saved(run, path):
    """Write a run to a file, without its functions; what to load it with."""
    functions = {}
    while True:
        try:
            run.save(path, omit=list(functions))
            return functions
        except TypeError as error:
            name = str(error).split(".")[0].split(" ")[0]
            functions[name] = getattr(run, name)


@pytest.mark.one_in(20)
@pytest.mark.parametrize("name", SAVED)
def test_loading_chooses_and_learns_nothing_again(name, tmp_path, monkeypatch):
    run, answer, asked, _ = game(name)
    for _ in range(12):
        query = run.ask(**asked)
        run.tell(query, answer(query))
    pending = run.ask(**asked)
    functions = saved(run, tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.delattr(Replay, "_repeat_all")
        loaded = type(run).load(tmp_path / "run", **functions)
    for field in run.history_.dtype.names:
        assert_array_equal(loaded.history_[field], run.history_[field])
    assert [each[0] for each in loaded._events] == [each[0] for each in run._events]
    assert loaded.pending_ == run.pending_ == [pending]
    for _ in range(3):
        asked_for = [each.ask(**asked) for each in (loaded, run)]
        assert_allclose(*map(numbers_of, asked_for), rtol=1e-9, atol=1e-9)
        for each, query in zip((loaded, run), asked_for, strict=True):
            each.tell(query, answer(asked_for[1]))
    assert_allclose(loaded.history_["std"], run.history_["std"], rtol=1e-9, atol=1e-9)


def test_every_class_of_the_cases_is_among_them():
    assert {name.split(":")[1] for name in SAVED} >= CASES.keys() | INDIRECT.keys()


def test_the_posterior_is_factorised_once(tmp_path, monkeypatch):
    arms = np.random.default_rng(0).random((60, 2))
    run = GPUCBOptimizer(RBF(0.1), arms=arms, alpha=0.1, random_state=0)
    run.run(peak, 50)
    run.save(tmp_path / "run")
    sizes, append = [], GaussianProcess._append

    def counted(self, new, *arguments):
        sizes.append(len(new))
        return append(self, new, *arguments)

    monkeypatch.setattr(GaussianProcess, "_append", counted)
    GPUCBOptimizer.load(tmp_path / "run")
    assert sizes == [len(run._model.process.observed)]
    assert sizes[0] > 20


# Fields that are computed when asked for or set when they change, and buffers with room to grow.
LEFT_OUT = {
    "BoxPartition._cells",
    "ChebyshevCovering._boxes",
    "ChebyshevCovering._centers",
    "EuclideanCovering._centers",
    "Functionals._buffer",
    "Functionals._memory",
    "GainOfRound._greedy",
    "GaussianProcess._evaluator",
    "GaussianProcess._number_at",
    "GaussianProcess.lazy",
    "Model._diagnosed",
    "PoolPartition._boxes",
    "PoolPartition._cells",
    "PosteriorCache._covariances",
    "PosteriorCache._root",
    "PosteriorCache._slope",
    "QuerySet._queries",
    "QueryTree._cells",
    "Run._taught",
}


def fields_of(value, name="", seen=None):
    """Yield the numbers and texts of an object of the library, and of those that it consists of."""
    seen = set() if seen is None else seen
    if name in LEFT_OUT or id(value) in seen:
        return
    if isinstance(value, (float, int, str, bytes, np.ndarray, np.generic)):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from fields_of(each, name, seen)
    elif isinstance(value, (dict, set)):
        yield name, sorted(map(repr, value))
        for each in value.values() if isinstance(value, dict) else ():
            yield from fields_of(each, name, seen)
    elif type(value).__module__.startswith("skgpb") and hasattr(value, "__dict__"):
        seen.add(id(value))
        for field, each in sorted(vars(value).items()):
            yield from fields_of(each, f"{type(value).__name__}.{field}", seen)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_every_field_is_kept_or_follows(name, tmp_path):
    run, answer, asked, _ = game(name)
    for i in range(14):
        query = run.ask(**asked)
        run.tell(query, None if i == 7 else answer(query))
    run.ask(**asked)
    functions = saved(run, tmp_path / "run")
    loaded = type(run).load(tmp_path / "run", **functions)
    pairs = zip(fields_of(run), fields_of(loaded), strict=True)
    for (field, value), (same_field, same) in pairs:
        assert same_field == field
        if isinstance(value, (str, list, bytes)):
            assert same == value, field
        else:
            assert_allclose(same, value, rtol=1e-8, atol=1e-8, err_msg=field)


def test_a_query_is_written_once(tmp_path):
    run = GPUCBOptimizer(RBF(0.2), arms=[[0.0], [1.0]], alpha=0.1, random_state=0)
    run.run(lambda query: float(query.points.sum()), 20)
    run.save(tmp_path / "run")
    queries = [event[1]["query"] for event in document_of(tmp_path / "run")["events"]]
    assert sum(isinstance(each, str) for each in queries) == 2
    assert [each for each in queries if not isinstance(each, str)] == [
        int(query.index != run._events[0][1].index)
        for i, (_, query, *_) in enumerate(run._events)
        if not isinstance(queries[i], str)
    ]


def test_a_log_that_was_changed_is_repeated(tmp_path):
    path, run = tmp_path / "run", optimizer(alpha=0.01)
    run.run(peak, 8)
    run.save(path)

    def corrected(document):
        told = [event for event in document["events"] if event[0] == "tell"]
        told[-1][2] += 1.0

    with_document(path, corrected)
    loaded = GPOOOptimizer.load(path)
    assert loaded.history_["reward"][-1] == run.history_["reward"][-1] + 1.0
    changed = abs(loaded.predict([[0.2], [0.8]]) - run.predict([[0.2], [0.8]]))
    assert changed.max() > 1e-3


def test_files_of_others_need_no_snapshot(tmp_path):
    path, run = tmp_path / "run", optimizer(alpha=0.01)
    run.run(peak, 8)
    run.save(path)
    without_member(path, SNAPSHOT)
    loaded = GPOOOptimizer.load(path)
    assert_array_equal(loaded.history_, run.history_)
    assert_array_equal(loaded.predict([[0.3]]), run.predict([[0.3]]))


def test_a_run_in_an_older_format_is_repeated(tmp_path, monkeypatch):
    path, run = tmp_path / "run", optimizer(alpha=0.01)
    run.run(peak, 8)
    with monkeypatch.context() as patched:
        patched.setattr("skgpb.optimizers._files.VERSION", 1)
        run.save(path)
    repeat, repeated = Replay._repeat_all, []
    monkeypatch.setattr(
        Replay, "_repeat_all", lambda *of_run: repeated.append(of_run) or repeat(*of_run)
    )
    loaded = GPOOOptimizer.load(path)
    assert len(repeated) == 1
    assert_array_equal(loaded.history_, run.history_)
    assert loaded.ask() == run.ask()


def _within(state, *names):
    """Return what holds an entry of a snapshot, and its place there."""
    for name in names:
        if isinstance(name, int):
            where = state["tuple"], name
        else:
            where = next(pair for pair in state["dict"] if pair[0] == name), 1
        state = where[0][where[1]]
    return where


@pytest.mark.parametrize(
    ("cls", "settings", "names", "value"),
    [
        (
            GPOOOptimizer,
            {},
            ["model", "process", "answers", 0],
            {"floats": [0.5], "shape": [1, 1]},
        ),
        (GPOOOptimizer, {}, ["model", "process", "answers", 2], {"floats": [0.5], "shape": [1]}),
        (
            GPOOOptimizer,
            {},
            ["model", "process", "answers", 3],
            {"floats": [-1.0] * 6, "shape": [6]},
        ),
        (
            GPOOOptimizer,
            {},
            ["model", "process", "answers", 7],
            {"integers": [-1] * 6, "shape": [6]},
        ),
        (GPOOOptimizer, {}, ["model", "process", "offset"], "0.0"),
        (GPOOOptimizer, {}, ["model", "process", "scale"], {"float": "nan"}),
        (
            GPOOOptimizer,
            {},
            ["model", "samples", "functional"],
            {"dict": [["entries", [7] * 6]]},
        ),
        (GPOOOptimizer, {}, ["domain", "growth", 0], {"floats": [1e6], "shape": [1]}),
        (GPOOOptimizer, {}, ["domain", "growth", 1], {"floats": [1e9], "shape": [1]}),
        (GPOOOptimizer, {}, ["moments"], {"tuple": []}),
        (GPOOOptimizer, {}, ["moments"], {"tuple": [{"floats": [0.5], "shape": [1]}] * 3}),
        (GPOOOptimizer, {}, ["record", "history"], {"dict": [["entries", []]]}),
        (GPOOOptimizer, {}, ["record", "pending"], 5),
        (
            GPUCBOptimizer,
            {"n_candidates": 8},
            ["cache", "queries", "plain"],
            {"floats": [0.5] * 16, "shape": [8, 2]},
        ),
        (GPUCBOptimizer, {}, ["cache", "queries"], []),
        (GPUCBOptimizer, {}, ["cache", "refreshed_at"], None),
        (
            GPTreeOptimizer,
            {"horizon": 9},
            ["horizon"],
            {"dict": [["n", "9"], ["past_horizon", False]]},
        ),
        (
            GPZoomingOptimizer,
            {"horizon": 9},
            ["domain", "shrunk"],
            {"dict": [["entries", [0, 7]]]},
        ),
        (
            GPZoomingOptimizer,
            {"horizon": 9},
            ["domain", "n_evaluations"],
            {"dict": [["entries", [6]]]},
        ),
    ],
)
def test_snapshots_that_cannot_be_are_refused(cls, settings, names, value, tmp_path):
    path = tmp_path / "run"
    run = cls(RBF(0.2), bounds=[(0, 1)], alpha=0.01, random_state=0, **settings)
    run.run(peak, 6)
    run.save(path)

    def change(document):
        holder, place = _within(document["fields"], *names)
        holder[place] = value

    with_document(path, change, SNAPSHOT)
    with pytest.raises(LoadError, match="cannot be loaded as a saved run"):
        cls.load(path)


@pytest.mark.filterwarnings("ignore::skgpb.exceptions.ModelWarning")
def test_wild_answers_stay_wild(tmp_path):
    run = GPUCBOptimizer(bounds=[(0, 1)], n_candidates=60, random_state=0)
    rng = np.random.default_rng(0)
    for i in range(40):
        query = run.ask()
        reward = float(np.sin(6.0 * query.points).sum() + 0.1 * rng.normal())
        run.tell(query, reward + 30.0 * (i == 25))
    assert run._model.samples.factors
    run.save(tmp_path / "run")
    loaded = GPUCBOptimizer.load(tmp_path / "run")
    assert loaded._model.samples.factors == run._model.samples.factors
    X = np.linspace(0, 1, 7)[:, None]
    for _ in range(5):
        query = run.ask()
        assert loaded.ask() == query
        for each in (run, loaded):
            each.tell(query, float(np.sin(6.0 * query.points).sum()))
        assert_allclose(loaded.predict(X), run.predict(X), rtol=1e-8, atol=1e-8)
