"""Small errors at random places, which the default tests must find: ``python -m tests.mutants``.

The sources are copied to a temporary folder. The tests run there once, to see which of them execute
which place. Then one error after the other is made, and those tests run, fastest first, until one
fails. What is left out cannot be wrong in this sense: docstrings, messages, annotations, checks of
types, defaults, and numbers at module level, which are choices.
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
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import cache_from_source
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ["optimizers", "surrogate", "tables", "domains", "experiments", "kernels"]
LEFT_OUT = [".git", ".nox", ".venv", "build", "dist", "_build", "gallery", "*.egg-info", ".*_cache"]
# A test may take this many times as long as it did, and so many seconds more; and bytes.
TIMES, SECONDS, BYTES = 10, 30, 2**34

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
# Nothing in these is changed, or only says or checks something, or makes nothing else of numbers.
NO_FIELDS = {"annotation", "returns", "decorator_list", "args", "ctx", "exc", "cause"}
NO_CALLS = {"isinstance", "issubclass", "hasattr", "cast", "warn", "TypeVar"}
NO_KEYWORDS = {"strict", "stacklevel", "check_finite", "overwrite_a", "overwrite_b"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Mutant:
    """One small error: where, what stands there and what replaces it, and the source with it."""

    file: str
    line: int
    old: str
    new: str
    source: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.new}"


# -- errors -----------------------------------------------------------------------------------


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
        case ast.Call(args=[a, b], keywords=[]) if not isinstance(b, ast.Starred):
            yield changed(args=[b, a])
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
    return isinstance(node, ast.arguments) or (field in NO_FIELDS and field != "args")


def places(node: ast.AST, within: tuple | None = None) -> Iterator[tuple]:
    """Yield what may be changed in functions: its statement, its slot, what may replace it."""
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for i, child in enumerate(children):
            if not isinstance(child, ast.AST) or is_left_out(field, child):
                continue
            inside = within
            if isinstance(child, ast.stmt) and (within or isinstance(node, FUNCTIONS)):
                inside = (value, child)
            if inside and (others := list(replacements(child))):
                yield inside, (node, field, i), others
            yield from places(child, inside)


def chosen(n: int, seed: int, folders: list[str]) -> tuple[list[Mutant], dict[str, str]]:
    """Choose errors at random; return them, and the sources that note which of them is executed."""
    rng = random.Random(seed)
    texts = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for folder in folders
        for path in sorted((ROOT / "skgpb" / folder).rglob("*.py"))
    }
    every = [(file, i) for file in texts for i in range(len(list(places(ast.parse(texts[file])))))]
    mutants, statements = [], defaultdict(list)
    trees = {file: ast.parse(text) for file, text in texts.items()}
    for file, i in rng.sample(every, min(n, len(every))):
        statements[file].append((len(mutants), list(places(trees[file]))[i][0]))
        tree = ast.parse(texts[file])
        _, (parent, field, at), others = list(places(tree))[i]
        old, new = getattr(parent, field), rng.choice(others)
        if isinstance(old, list):
            old = old[at]
            getattr(parent, field)[at] = new
        else:
            setattr(parent, field, new)
        said = [ast.unparse(ast.fix_missing_locations(x)).partition("\n")[0] for x in (old, new)]
        mutants.append(Mutant(file, old.lineno, *said, ast.unparse(tree)))
    for marks in statements.values():
        for number, (body, statement) in marks:
            mark = ast.parse(f"__import__('executed').add({number})").body[0]
            body.insert(next(i for i, each in enumerate(body) if each is statement), mark)
    return mutants, {file: ast.unparse(trees[file]) for file in statements}


# -- hooks of pytest ----------------------------------------------------------------------------


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests that are asked for, in that order."""
    if "MUTANTS_TESTS" in os.environ:
        there = {item.nodeid: item for item in items}
        items[:] = [there[name] for name in wanted() if name in there]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Give up on a test that takes too long, also in a loop that is compiled."""
    faulthandler.dump_traceback_later(wanted().get(item.nodeid, 3600.0), exit=True)
    executed = __import__("executed")
    executed.numbers.clear()
    begun = time.perf_counter()
    yield
    faulthandler.cancel_dump_traceback_later()
    if "MUTANTS_MAP" in os.environ:
        said = [item.nodeid, time.perf_counter() - begun, sorted(executed.numbers)]
        with open(os.environ["MUTANTS_MAP"], "a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")
    return True


@cache
def wanted() -> dict[str, float]:
    """Return the tests that are asked for and the seconds that each may take."""
    path = os.environ.get("MUTANTS_TESTS")
    return json.loads(Path(path).read_text(encoding="utf-8")) if path else {}


# -- runs ---------------------------------------------------------------------------------------


class Copy:
    """A copy of the sources in which the tests run."""

    def __init__(self, folder: str) -> None:
        self.root, self.wanted = Path(folder) / "sources", Path(folder) / "tests.json"
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(*LEFT_OUT))
        text = "numbers = set()\nadd = numbers.add\n"
        (self.root / "executed.py").write_text(text, encoding="utf-8")

    @contextmanager
    def holding(self, sources: dict[str, str]) -> Iterator[None]:
        """Replace sources for a while."""
        before = {file: (self.root / file).read_bytes() for file in sources}
        try:
            self._write({file: text.encode() for file, text in sources.items()})
            yield
        finally:
            self._write(before)

    def _write(self, contents: dict[str, bytes]) -> None:
        for file, content in contents.items():
            path = self.root / file
            path.write_bytes(content)
            # Bytecode is told from its source by seconds and size, which may be the same.
            Path(cache_from_source(str(path))).unlink(missing_ok=True)

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the default tests, or some of them."""
        path = os.pathsep.join([str(self.root), str(self.root / "tests")])
        threads = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"]
        return subprocess.run(
            [*command, "-p", "mutants", *arguments],
            cwd=self.root,
            env=os.environ | threads | {"PYTHONPATH": path} | variables,
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES)),
        )

    def executed_by(self, marked: dict[str, str], tests: list[str]) -> list[tuple]:
        """Return for each test that passes its name, its seconds and the places it executes."""
        record = self.root / "map.jsonl"
        with self.holding(marked):
            run = self.run(*tests, MUTANTS_MAP=str(record))
        if not record.exists():
            raise RuntimeError(f"no test ran:\n{run.stdout}\n{run.stderr}")
        failed = set(re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", run.stdout, re.MULTILINE))
        said = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
        return [each for each in said if each[0] not in failed]

    def failing(self, tests: dict[str, float]) -> str | None:
        """Return the first test that fails, None if there is none."""
        limits = {name: SECONDS + TIMES * seconds for name, seconds in tests.items()}
        self.wanted.write_text(json.dumps(limits), encoding="utf-8")
        files = dict.fromkeys(name.partition("::")[0] for name in tests)
        run = self.run("-x", *files, MUTANTS_TESTS=str(self.wanted))
        if run.returncode == 0:
            return None
        first = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", run.stdout, re.MULTILINE)
        return first[1] if first else "no end, or the end of the program"


def main() -> int:
    """Run what the command line asks for; 1 if an error was not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    add = parser.add_argument
    add("tests", nargs="*", default=["tests"], help="files of tests to run, all by default")
    add("--errors", type=int, default=100, help="their number")
    add("--seed", type=int, default=0)
    add("--only", help="make only errors whose description matches this regular expression")
    add("--folders", nargs="+", default=FOLDERS, metavar="FOLDER", help="folders of skgpb")
    add("--seconds", type=float, default=120.0, help="of tests for one error, on an idle machine")
    options = parser.parse_args()
    mutants, marked = chosen(options.errors, options.seed, options.folders)
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(folder)
        record = copy.executed_by(marked, options.tests)
        killers, survived = {}, Counter()
        made = [(k, m) for k, m in enumerate(mutants) if re.search(options.only or "", str(m))]
        for k, mutant in made:
            there = sorted((seconds, name) for name, seconds, places in record if k in places)
            total = accumulate(seconds for seconds, _ in there)
            tests = {x[1]: x[0] for x, t in zip(there, total, strict=True) if t < options.seconds}
            found = None
            if tests:
                with copy.holding({mutant.file: mutant.source}):
                    found = copy.failing(tests)
            killers |= {found: tests[found]} if found in tests else {}
            survived[mutant.file.split("/")[1]] += found is None
            outcome = f"found by {found}" if found else f"SURVIVED {len(tests)} of {len(there)}"
            print(f"{mutant}: {outcome}", flush=True)
        if killers and (broken := copy.failing(killers)):
            print(f"{broken} fails without an error as well: what it found counts for nothing")
    of = Counter(m.file.split("/")[1] for _, m in made)
    print(*(f"{name}: {of[name] - survived[name]} of {of[name]} found" for name in of), sep="\n")
    print(f"{len(made)} errors, {survived.total()} not found")
    return int(survived.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
