"""The lock on a file: one process and one thread at a time, which may take it again."""

from __future__ import annotations

import gc
import os
import warnings
from threading import Thread

import pytest

from skgpb.lab import file_lock
from skgpb.lab.experiments import Experiment
from skgpb.lab.file_lock import FileLock
from skgpb.testing import count_lines, interrupt_at


def test_what_was_looked_at_holds_for_what_is_changed(tmp_path):
    path = tmp_path / "run.skgpb"
    run = Experiment.create(path, ["heat=0:1"])
    run.ask()
    other = Experiment(path)
    thread = Thread(target=other.tell, args=(7.0, 1))
    with run.exclusive():
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


def is_free(path, **how):
    """Return whether another thread can take the lock at once."""
    taken = []

    def take():
        with FileLock(path, **how):
            taken.append(True)

    thread = Thread(target=take)
    thread.start()
    thread.join(10)
    return bool(taken)


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_file_with_two_names_has_one_lock(tmp_path, link, monkeypatch):
    monkeypatch.setattr(file_lock, "PATIENCE", 0.0)
    monkeypatch.setattr("threading.excepthook", lambda _: None)
    path, other = tmp_path / "file", tmp_path / "other"
    path.touch()
    link(path, other)
    with FileLock(path, replaced=False):
        assert not is_free(other, replaced=False)
    assert is_free(other, replaced=False)
    assert sorted(tmp_path.iterdir()) == [path, other]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_lock_is_free_after_an_interrupt_at_any_line(tmp_path, replaced, monkeypatch):
    monkeypatch.setattr(file_lock, "PATIENCE", 0.0)
    monkeypatch.setattr("threading.excepthook", lambda _: None)
    path = tmp_path / "file"
    path.touch()

    def hold():
        with FileLock(path, replaced=replaced):
            pass

    gc.freeze()  # to look through all that other tests left takes seconds
    for line in range(count_lines(hold)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            assert interrupt_at(hold, line)
            gc.collect()
        assert is_free(path, replaced=replaced), line
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_locked_itself_must_exist(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(FileNotFoundError, match="file"), FileLock(path, replaced=False):
        pass
    assert not path.exists()
