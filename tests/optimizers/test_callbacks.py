"""scikit-learn's callbacks see a run as one task, with one for each evaluation in it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from skgpb import (
    CMESOptimizer,
    CombinatorialBandit,
    ContextualGPTreeOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
)
from skgpb.exceptions import EvaluationWarning

followed = pytest.mark.skipif(
    not hasattr(GPOOOptimizer, "set_callbacks"), reason="callbacks came with scikit-learn 1.9"
)


class Note:
    """Takes down what it sees, and ends the run when it has seen enough answers."""

    def __init__(self, most=np.inf):
        self.events, self.rewards, self.most = [], [], most

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id, context.max_subtasks))

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.events.append(("end", context.task_name, context.task_id))
        if metadata is not None:
            assert metadata["query"] not in estimator._record.asked  # it was told
            self.rewards.append(metadata["reward"])
        return len(self.rewards) >= self.most


def search(**parameters):
    return GPOOOptimizer(RBF(0.2), bounds=[(0, 1)], alpha=1e-2, random_state=0, **parameters)


def answer(query):
    return float(np.sin(5.0 * query.points).mean())


@followed
def test_a_run_and_its_evaluations_are_tasks():
    note = Note()
    optimizer = search().set_callbacks(note)
    optimizer.run(answer, 3)
    evaluations = [
        event
        for i in range(3)
        for event in (("begin", "evaluation", i, 0), ("end", "evaluation", i))
    ]
    assert note.events == [
        "setup",
        ("begin", "run", 0, 3),
        *evaluations,
        ("end", "run", 0),
        "teardown",
    ]
    np.testing.assert_array_equal(note.rewards, optimizer.history_["reward"])


@followed
def test_what_is_begun_together_is_seen_to_begin_together():
    note = Note()
    search().set_callbacks(note).run(answer, 4, n_jobs=2)
    kinds = [event[0] for event in note.events if event[1] == "evaluation"]
    assert kinds == ["begin", "begin", "end", "end"] * 2


@followed
def test_a_callback_ends_the_run():
    note = Note(most=2)
    result = search().set_callbacks(note).run(answer, 10)
    assert result.nfev == 2 and result.message == "stopped by the callback"
    assert note.events[-1] == "teardown"


@followed
def test_callbacks_are_let_go_when_the_objective_raises():
    note = Note()
    optimizer = search().set_callbacks(note)
    with pytest.raises(ZeroDivisionError):
        optimizer.run(lambda query: 1 / 0, 3, on_error="raise")
    assert note.events[-1] == "teardown" and not hasattr(optimizer, "_callback_fit_ctx")
    assert optimizer.run(answer, 2).nfev == 2


@followed
def test_callbacks_change_no_run():
    alone, seen = search(), clone(search().set_callbacks(Note()))
    alone.run(answer, 8)
    seen.run(answer, 8)
    np.testing.assert_array_equal(alone.history_, seen.history_)
    assert seen._skl_callbacks[0].rewards  # a clone has them, too


@followed
@pytest.mark.parametrize("kind", ["indirect", "context", "campaigns"])
def test_every_kind_of_run_is_followed(kind):
    note, arms = Note(), np.linspace(0.0, 1.0, 5)[:, None]
    if kind == "indirect":
        optimizer = CMESOptimizer(bounds=[(0, 1)], queries=arms, alpha=1e-2, random_state=0)
        optimizer.set_callbacks(note).run(lambda query: 0.5, max_cost=3.0)
    elif kind == "context":
        optimizer = ContextualGPTreeOptimizer(RBF(0.3), context_bounds=[(0, 1)], bounds=[(0, 1)])
        optimizer.set_callbacks(note).run(answer, contexts=[0.1, 0.5, 0.9])
    else:
        bandits = [GPUCBOptimizer(RBF(0.2), arms=arms, alpha=1e-2) for _ in range(2)]
        optimizer = CombinatorialBandit(bandits, budget=1.0, costs=arms[:, 0])
        optimizer.set_callbacks(note).run(lambda query: [0.1, 0.2], 3)
    assert sum(event[:2] == ("end", "evaluation") for event in note.events) == 3
    assert note.events[-1] == "teardown"


@followed
def test_a_bar_of_scikit_learn_follows_a_run():
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    assert search().set_callbacks(ProgressBar()).run(answer, 3).nfev == 3


def test_a_warning_names_the_line_that_ran():
    answers = iter([0.1, None, 0.3])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search().run(lambda query: next(answers), 3)
    (warning,) = [each for each in caught if issubclass(each.category, EvaluationWarning)]
    assert warning.filename == __file__
