"""Output of runs: one progress line, one line per answer, and both to the logger."""

from __future__ import annotations

import logging
import pickle
import re
import sys

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

from skgpb import CMETSOptimizer, ContextualGPTreeOptimizer, EIOptimizer, GPUCBOptimizer
from skgpb.exceptions import EvaluationWarning
from skgpb.model_selection import BanditSearchCV
from skgpb.optimizers.combinatorial import CombinatorialBandit


def optimizer(**parameters):
    return EIOptimizer(bounds=[(0, 1)], random_state=0, **parameters)


def f(query):
    return float(query.points.mean())


def test_a_run_is_silent_by_default(capsys, caplog):
    optimizer().run(f, 12)
    assert capsys.readouterr() == ("", "")
    assert not caplog.records


def test_ten_lines_are_printed_however_long_the_run(capsys):
    opt = optimizer()
    opt.run(f, 40, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    rewards = opt.history_["reward"]
    for i, line in zip(range(4, 41, 4), lines, strict=True):
        best = f"best {rewards[:i].max():.6g}"
        text = rf"EIOptimizer  {i}/40  last {rewards[i - 1]:.6g}  {best}  \d:\d\d:\d\d"
        assert re.fullmatch(text, line)
    optimizer().run(f, 3, verbose=2)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_the_logger_gets_the_same_events(caplog):
    with caplog.at_level(logging.INFO, logger="skgpb"):
        optimizer(direction="minimize").run(lambda query: 1.0 - f(query), 4)
    messages = [record.getMessage() for record in caplog.records]
    assert messages[0] == "EIOptimizer begins, 4 to go"
    assert [m.split()[1] for m in messages[1:-1]] == ["1/4", "2/4", "3/4", "4/4"]
    answers = [float(m.split()[3]) for m in messages[1:-1]]
    assert float(messages[-2].split()[5]) == min(answers)
    assert messages[-1] == "EIOptimizer ends after 4 evaluations, 0 failed"
    assert {record.name for record in caplog.records} == {"skgpb"}


def test_failures_are_warnings_of_the_logger(caplog, capsys):
    def objective(query):
        if f(query) > 0.5:
            raise OSError("no signal")

    with pytest.raises(RuntimeError, match="have failed"):
        optimizer().run(objective, 30, verbose=2)
    failed = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert len(failed) == 10
    assert any("OSError: no signal" in record.getMessage() for record in failed)
    assert "last failed" in capsys.readouterr().out
    with caplog.at_level(logging.INFO, logger="skgpb"), pytest.raises(RuntimeError):
        optimizer().run(objective, 30)
    last = caplog.records[-1].getMessage()
    assert last == "EIOptimizer was ended by RuntimeError after 10 evaluations, 10 failed"


def test_a_library_prints_no_warnings_where_nothing_logs(capfd):
    with pytest.warns(EvaluationWarning):
        optimizer().run(lambda query: None, 2)
    assert capfd.readouterr() == ("", "")


def test_progress_does_not_change_a_run(caplog):
    quiet, loud = optimizer(), optimizer()
    quiet.run(f, 12)
    with caplog.at_level(logging.INFO, logger="skgpb"):
        loud.run(f, 12, verbose=1)
    np.testing.assert_array_equal(quiet.history_, loud.history_)


def test_other_kinds_of_runs(capsys):
    contextual = ContextualGPTreeOptimizer(bounds=[(0, 1)], context_bounds=[(0, 1)])
    contextual.run(f, contexts=[[0.1], [0.2], [0.3]], verbose=2)
    assert "3/3" in capsys.readouterr().out
    priced = CMETSOptimizer(bounds=[(0, 1)], cost=lambda depth: 0.7 + depth, random_state=0)
    result = priced.run(lambda query: float(query.center[0]), max_cost=4, verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == result.nfev
    assert f"{result.cost:g}/4" in lines[-1]
    campaign = EIOptimizer(arms=np.arange(5.0)[:, None], alpha=0.1)
    bandit = CombinatorialBandit([("one", campaign), ("other", campaign)], 5)
    bandit.run(lambda allocation: [2.0, None], 2, verbose=2)
    assert "last 2  best 2" in capsys.readouterr().out


@pytest.mark.parametrize("verbose", [-1, 1.5, "yes", None])
def test_nonsense_is_refused_before_anything_begins(verbose):
    opt = optimizer()
    with pytest.raises(ValueError, match="verbose must be"):
        opt.run(f, 3, verbose=verbose)
    assert not hasattr(opt, "bounds_")


def test_a_search_logs_what_it_prints(caplog, capsys):
    space = {"constant": list(range(8))}
    X, y = np.zeros((20, 1)), np.arange(20.0)
    estimator = DummyRegressor(strategy="constant")
    with caplog.at_level(logging.INFO, logger="skgpb"):
        search = BanditSearchCV(estimator, space, n_iter=4, cv=2, verbose=1, random_state=0)
        search.fit(X, y)
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[")]
    logged = [m for m in caplog.messages if m.startswith("[")]
    assert len(printed) == 4 and logged == printed


def test_a_bar_without_tqdm_is_refused_before_anything_begins(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    opt = optimizer()
    with pytest.raises(ImportError, match=r"needs tqdm, .* pip install .?tqdm"):
        opt.run(f, 3, progress=True)
    assert not hasattr(opt, "bounds_")


def test_a_bar_says_the_last_and_the_best_answer(capfd):
    pytest.importorskip("tqdm")
    result = optimizer().run(lambda query: 1.0 - f(query), 3, progress=True)
    shown = capfd.readouterr().err
    rewards = result.history["reward"]
    assert "3/3" in shown
    assert f"last {rewards[-1]:.6g}  best {rewards.max():.6g}" in shown


# Results -----------------------------------------------------------------------------------------


def test_a_result_reads_as_lines_of_words():
    sides = {"heat": (20.0, 90.0), "catalyst": ["A", "B"]}
    opt = GPUCBOptimizer(bounds=sides, random_state=0)
    calls = []

    def objective(query):
        calls.append(query)
        return None if len(calls) == 3 else query.params["heat"]

    with pytest.warns(EvaluationWarning):
        result = opt.run(objective, 13)
    lines = dict(line.split("  ", 1) for line in repr(result).splitlines())
    lines = {name: text.strip() for name, text in lines.items()}
    assert lines["recommended"] == repr(result.x) and "heat=" in lines["recommended"]
    assert lines["estimated mean"] == f"{result.fun:.6g}"
    assert lines["evaluations"] == "13, 1 of them failed"
    rewards = result.history["reward"]
    assert lines["answers"] == f"12, from {rewards.min():.6g} to {rewards.max():.6g}"
    assert lines["ended because"] == "the budget is spent"
    assert lines["noise"] == result.model["noise"]
    assert not {"cost", "limit"} & lines.keys()  # each evaluation costs 1
    assert str(result) == repr(result)
    again = pickle.loads(pickle.dumps(result))
    assert repr(again) == repr(result) and again.nfev == 13


def test_a_result_says_its_cost_and_that_nothing_is_known():
    priced = CMETSOptimizer(bounds=[(0, 1)], random_state=0)
    result = priced.run(lambda query: 0.5, 3)
    assert re.search(rf"^cost +{result.cost:g}$", repr(result), re.MULTILINE)
    with pytest.warns(EvaluationWarning):
        text = repr(optimizer().run(lambda query: None, 2))
    assert "recommended     None" in text and "there is no recommendation" in text
    assert "answers" not in text
