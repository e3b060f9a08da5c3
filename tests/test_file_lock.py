"""The lock on a file: one process and one thread at a time, which may take it again."""

from __future__ import annotations

from threading import Thread

from skgpb.experiments import Experiment
from skgpb.file_lock import FileLock


def test_what_was_looked_at_holds_for_what_is_changed(tmp_path):
    path = tmp_path / "run.skgpb"
    run = Experiment.create(path, ["heat=0:1"])
    run.ask()
    other = Experiment(path)
    thread = Thread(target=other.tell, args=(7.0, 1))
    with run.alone():
        thread.start()
        run.correct(run.tell(1.0, 1)["query"], 2.0)
        run.undo()
        thread.join(0.2)
        # Nobody else got in between.
        assert [entry["status"] for entry in run.history()] == ["pending"]
    thread.join(60)
    assert [entry["answer"] for entry in run.history()] == [7.0]


def test_a_lock_is_free_when_its_thread_has_left_it_as_often_as_entered(tmp_path):
    path, entered = tmp_path / "file", []

    def enter():
        with FileLock(path):
            entered.append(True)

    thread = Thread(target=enter)
    with FileLock(path):
        with FileLock(path):
            thread.start()
        thread.join(0.2)
        assert not entered
    thread.join(10)
    assert entered == [True]
    assert list(tmp_path.iterdir()) == []
