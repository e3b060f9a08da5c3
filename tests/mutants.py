"""Small errors at random places, which the default tests must find: ``python -m tests.mutants``.

A copy of the sources gets all of the errors, each behind a switch. The tests run there once with
no error, to see which of them execute which place; then, in a forked process for each error, those
that do run with it, the fastest first, until one fails. An error that makes a test too slow is not
found by it. What is left out cannot be wrong in this sense: docstrings, messages, annotations,
checks of types, and what is executed on import, as defaults and numbers at module level, which are
choices.
"""

from __future__ import annotations

import argparse
import ast
import copy
import faulthandler
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import IO, Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ["optimizers", "surrogate", "domains", "kernels"]
FOLDERS += ["lab/tables", "lab/experiments", "lab/cli"]
LEFT_OUT = [".git", ".nox", ".venv", "build", "dist", "_build", "gallery", "*.egg-info", ".*_cache"]
# A test may take this many times as long as without an error, so many seconds more, and bytes.
TIMES, SECONDS, BYTES = 10, 30, 2**34
# Tests that are too slow with an error, before no other one is tried.
MOST_SLOW = 3

OTHER = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
PAIRS = [("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all")]
PAIRS += [("floor", "ceil"), ("zeros", "ones")]
TWIN = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}
# Nothing in these is changed: it only says or checks something.
NO_FIELDS = {"annotation", "returns", "decorator_list", "ctx", "exc", "cause", "pattern"}
NO_CALLS = {"isinstance", "issubclass", "hasattr", "cast", "warn", "TypeVar"}
NO_KEYWORDS = {"strict", "stacklevel", "check_finite", "overwrite_a", "overwrite_b"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# A module of the copy: whether an error is switched on, and what was executed.
SWITCH = """
import os
on, executed = int(os.environ.get("MUTANT", "-1")), set()
def is_on(number):
    executed.add(number)
    return number == on
"""


@dataclass
class Mutant:
    """One small error: where it is, what stands there, and what replaces it."""

    number: int
    file: str
    line: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.new}"


# -- errors -------------------------------------------------------------------------------------


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand for a part of a program by a small error."""

    def changed(**fields: Any) -> ast.AST:
        other = copy.deepcopy(node)
        for name, value in fields.items():
            setattr(other, name, value)
        return other

    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield changed(ops=[*ops[:i], OTHER[type(op)](), *ops[i + 1 :]])
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if type(op) in OTHER:
            yield changed(op=OTHER[type(op)]())
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if "isinstance" not in ast.unparse(test) and not isinstance(test, ast.UnaryOp):
                yield changed(test=ast.UnaryOp(ast.Not(), test))
        case ast.Call(func=ast.Name("range"), args=[*before, stop]):
            yield changed(args=[*before, ast.BinOp(stop, ast.Add(), ast.Constant(1))])
        case ast.Call(func=function, args=[a, b], keywords=[]) if not isinstance(b, ast.Starred):
            others = list(replacements(function))  # the order is the same to max and min
            yield changed(func=others[0]) if others else changed(args=[b, a])
        case ast.Name(id=name) if name in TWIN:
            yield changed(id=TWIN[name])
        case ast.Attribute(attr=name) if name in TWIN:
            yield changed(attr=TWIN[name])
    match node:
        case ast.AugAssign() | ast.Raise() | ast.Break() | ast.Continue():
            yield ast.Pass()
        case ast.Expr(ast.Call()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Slice(upper=ast.expr() as upper) if not isinstance(upper, ast.Constant):
            yield changed(upper=ast.BinOp(upper, ast.Add(), ast.Constant(1)))


def is_left_out(field: str, node: ast.AST) -> bool:
    """Return whether nothing is changed in a field of a node."""
    match node:
        case ast.JoinedStr() | ast.AnnAssign(value=None):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in NO_CALLS
        case ast.keyword(arg=name):
            return name in NO_KEYWORDS
        case ast.FunctionDef(name=name):
            return name == "__repr__"
    return isinstance(node, ast.arguments) or field in NO_FIELDS


def places(node: ast.AST, inside: bool = False) -> Iterator[tuple]:
    """Yield what may be changed in functions: its parent, field, number there, and what to."""
    for field, value in ast.iter_fields(node):
        for i, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST) and not is_left_out(field, child):
                within = inside or (isinstance(node, FUNCTIONS) and isinstance(child, ast.stmt))
                if within and (others := list(replacements(child))):
                    yield node, field, i, child, others
                yield from places(child, within)


def switched(number: int, old: Any, new: Any) -> ast.AST:
    """Return what has an error once it is switched on."""
    test = ast.parse(f"__import__('switch').is_on({number})", mode="eval").body
    if isinstance(old, ast.Slice):
        return ast.Slice(old.lower, switched(number, old.upper, new.upper), old.step)
    if isinstance(old, ast.stmt):
        return ast.If(test, [new], [old])
    return ast.IfExp(test, new, old)


def chosen(n: int, seed: int, folders: list[str]) -> tuple[list[Mutant], dict[str, str]]:
    """Choose errors at random; return them, and the sources that have them behind switches."""
    rng = random.Random(seed)
    paths = [p for folder in folders for p in sorted((ROOT / "skgpb" / folder).rglob("*.py"))]
    trees = {str(p.relative_to(ROOT)): ast.parse(p.read_text(encoding="utf-8")) for p in paths}
    every = [(file, place) for file, tree in trees.items() for place in places(tree)]
    mutants, switches = [], []
    for file, (parent, field, i, old, others) in rng.sample(every, min(n, len(every))):
        new = rng.choice(others)
        if isinstance(getattr(old, "ctx", None), ast.Store):
            continue  # a name that is assigned, as ``floor``
        said = [ast.unparse(ast.fix_missing_locations(x)).partition("\n")[0] for x in (old, new)]
        mutants.append(Mutant(len(mutants), file, old.lineno, *said))
        switches.append((parent, field, i, old, new))
    for number, (parent, field, i, old, new) in enumerate(switches):
        both = switched(number, old, new)
        if isinstance(value := getattr(parent, field), list):
            value[i] = both
        else:
            setattr(parent, field, both)
    files = dict.fromkeys(mutant.file for mutant in mutants)
    return mutants, {f: ast.unparse(ast.fix_missing_locations(trees[f])) for f in files}


# -- runs ---------------------------------------------------------------------------------------


@dataclass
class Ran:
    """A test that ran: its name, whether it passed, its seconds, and the errors it executes.

    ``passed`` is None if it took too long.
    """

    name: str
    passed: bool | None
    seconds: float
    executed: list[int]


class Loop:
    """Takes the place of pytest's loop over the tests, for the given errors.

    Parameters
    ----------
    mutants : list of Mutant
    seconds : float
        Tests that take longer together are not run with an error.
    """

    def __init__(self, mutants: list[Mutant], seconds: float) -> None:
        self.mutants, self.seconds = mutants, seconds
        self.found: dict[int, str] = {}
        self._has_failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        self._has_failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests without an error, then those that execute it with each of them."""
        session.config.pluginmanager.unregister(name="terminalreporter")
        items = {item.nodeid: item for item in session.items}
        record = self.record(session.items)
        limits = {ran.name: SECONDS + TIMES * ran.seconds for ran in record}
        for mutant in self.mutants:
            there = [ran for ran in record if ran.passed and mutant.number in ran.executed]
            there.sort(key=lambda ran: ran.seconds)
            sums = accumulate(ran.seconds for ran in there)
            some = [r.name for r, total in zip(there, sums, strict=True) if total < self.seconds]
            left, outcome = [items[name] for name in some], f"SURVIVED {len(some)} of {len(there)}"
            for _ in range(MOST_SLOW):
                ran = self.run(left, limits, mutant.number)
                failed = next((each for each in ran if not each.passed), None)
                if failed is None:
                    break
                outcome = f"TOO SLOW in {failed.name}"
                if failed.passed is not None:
                    self.found[mutant.number] = failed.name
                    outcome = f"found by {failed.name}"
                    break
                slow = failed.name.partition("[")[0]
                left = [each for each in left[len(ran) :] if not each.nodeid.startswith(slow)]
            print(f"{mutant}: {outcome}", flush=True)
        names = dict.fromkeys(self.found.values())
        again = self.run([items[name] for name in names], limits)
        failing = {ran.name for ran in again if not ran.passed}
        for mutant in self.mutants:
            name = self.found.get(mutant.number)
            if name in failing:
                print(f"{mutant}: not found, since {name} fails without it too")
                del self.found[mutant.number]
        return True

    def record(self, items: list[pytest.Item]) -> list[Ran]:
        """Run all tests without an error."""
        return self.run(items, dict.fromkeys((item.nodeid for item in items), 3600.0))

    def run(self, items: list[pytest.Item], limits: dict[str, float], on: int = -1) -> list[Ran]:
        """Run tests in a process of their own, with an error until one fails."""
        with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as file:
            if not (pid := os.fork()):
                try:
                    self._run(items, limits, on, file)
                    os._exit(0)
                finally:
                    os._exit(2)
            _, status = os.waitpid(pid, 0)
            ran = [Ran(*json.loads(line)) for line in Path(file.name).read_text().splitlines()]
        if status:  # it brought the process down, or took too long, whose code is 1
            is_slow = os.waitstatus_to_exitcode(status) == 1
            ran.append(Ran(items[len(ran)].nodeid, None if is_slow else False, 0.0, []))
        return ran

    def _run(
        self, items: list[pytest.Item], limits: dict[str, float], on: int, file: IO[str]
    ) -> None:
        import resource

        import switch

        switch.on, os.environ["MUTANT"] = on, str(on)
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        with open(os.devnull, "w") as nowhere:
            for item, nextitem in zip_longest(items, items[1:]):
                switch.executed.clear()
                self._has_failed, begun = False, time.perf_counter()
                faulthandler.dump_traceback_later(limits[item.nodeid], exit=True, file=nowhere)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
                faulthandler.cancel_dump_traceback_later()
                seconds, executed = time.perf_counter() - begun, sorted(switch.executed)
                line = [item.nodeid, not self._has_failed, seconds, executed]
                print(json.dumps(line), file=file, flush=True)
                if on >= 0 and self._has_failed:
                    return


def main() -> int:
    """Run what the command line asks for; 1 if an error was not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    add = parser.add_argument
    add("tests", nargs="*", default=["tests"], help="files of tests to run, all by default")
    add("--errors", type=int, default=100, help="their number")
    add("--seed", type=int, default=0)
    add("--only", default="", help="make those whose line in the report has this expression")
    add("--folders", nargs="+", default=FOLDERS, choices=FOLDERS, help="where to make them")
    add("--seconds", type=float, default=120.0, help="of tests with one error")
    options = parser.parse_args()
    mutants, sources = chosen(options.errors, options.seed, options.folders)
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "sources"
        shutil.copytree(ROOT, copied, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for file, text in {**sources, "switch.py": SWITCH}.items():
            (copied / file).write_text(text, encoding="utf-8")
        os.environ |= dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
        os.environ["PYTHONPATH"] = str(copied)
        os.chdir(copied)
        sys.path[:] = [str(copied), *(p for p in sys.path if Path(p).resolve() != ROOT)]
        sys.modules.pop("tests", None)
        loop = Loop([m for m in mutants if re.search(options.only, str(m))], options.seconds)
        arguments = ["-qq", "--no-summary", "--tb=no", "-p", "no:cacheprovider", *options.tests]
        # Tests of this script start its watchdog in a process that has one, and wait forever.
        arguments.append("--ignore=tests/test_mutants.py")
        code = pytest.main(arguments, [loop])
        if code != pytest.ExitCode.OK:
            raise RuntimeError(f"pytest ended with {code!r}")
    made = Counter(str(Path(mutant.file).parent) for mutant in loop.mutants)
    found = Counter(str(Path(m.file).parent) for m in loop.mutants if m.number in loop.found)
    print(*(f"{name}: {found[name]} of {made[name]} found" for name in made), sep="\n")
    print(f"{found.total()} of {made.total()} errors found")
    return int(found.total() < made.total())


if __name__ == "__main__":
    sys.exit(main())
