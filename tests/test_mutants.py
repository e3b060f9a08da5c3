"""Small errors are made where they can be noticed, one at a time."""

from __future__ import annotations

import ast
import os
import signal
import sys
import time
from types import SimpleNamespace

import mutants
import pytest

SOURCE = '''
LIMIT = 3

def clipped(x: int, low=0) -> int:
    """Return 1 number."""
    if x < low:
        raise ValueError(f"x must be at least {low + 1}")
    return min(x, LIMIT)
'''


def test_what_cannot_be_wrong_is_left_out():
    changes = [
        (ast.unparse(old), ast.unparse(new))
        for *_, old, others in mutants.places(ast.parse(SOURCE))
        for new in others
    ]
    branch = ast.unparse(ast.parse(SOURCE).body[1].body[1])
    assert changes == [
        (branch, branch.replace("x < low", "not x < low")),
        ("x < low", "x <= low"),
        (branch.partition("\n    ")[2], "pass"),
        ("min(x, LIMIT)", "max(x, LIMIT)"),
        ("min", "max"),
    ]


def test_an_error_is_made_where_it_is_switched_on(monkeypatch, tmp_path):
    (tmp_path / "skgpb/room").mkdir(parents=True)
    (tmp_path / "skgpb/room/module.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    made, sources = mutants.chosen(100, 0, ["room"])
    for on in (-1, *range(len(made))):
        switch = SimpleNamespace(is_on=lambda number, on=on: number == on)
        monkeypatch.setitem(sys.modules, "switch", switch)
        exec(sources["skgpb/room/module.py"], names := {})
        try:
            found = [names["clipped"](x) for x in (0, 2, 5)]
            with pytest.raises(ValueError, match="at least 1"):
                names["clipped"](-1)
        except (ValueError, pytest.fail.Exception):
            found = None
        assert (found == [0, 2, 3]) == (on < 0), made[on]


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(
    ("act", "passed"), [(lambda: None, True), (lambda: time.sleep(60), None), (killed, False)]
)
def test_a_test_that_takes_too_long_has_found_nothing(monkeypatch, act, passed):
    monkeypatch.setitem(sys.modules, "switch", SimpleNamespace(on=-1, executed=set()))
    hook = SimpleNamespace(pytest_runtest_protocol=lambda item, nextitem: act())
    item = SimpleNamespace(nodeid="a", config=SimpleNamespace(hook=hook))
    (ran,) = mutants.Loop([], 1.0).run([item], {"a": 0.2})
    assert (ran.name, ran.passed) == ("a", passed)
