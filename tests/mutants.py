"""Small errors that the tests by default must find: ``python -m tests.mutants [WORD ...]``.

They are in mutants.toml. The sources are copied to a temporary folder, where one error is made at a
time; the test named for it runs first, then all tests by default. Words choose among the errors by
what they are or where; ``--named`` leaves it at the tests that are named, and ``--table`` prints
the table in ``doc/development/mutants.rst``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = [".git", ".nox", ".venv", "build", "dist", "_build", "gallery", "*.egg-info", ".*_cache"]
# Seconds of the test that is named, and of all; an error may make a run endless.
LONGEST, LONGEST_OF_ALL = 300, 3600


@dataclass(frozen=True)
class Mutant:
    """One small error.

    Attributes
    ----------
    what : str
        The error in words.
    file, old, new : str
        File of the error, text that stands there exactly once, and its replacement.
    test : str
        Test that is run first: the name of a test, or of a file of tests.
    equivalent : str
        Why no test can find it; empty for one that has to be found.
    """

    what: str
    file: str
    old: str
    new: str
    test: str
    equivalent: str = ""

    def applied(self, text: str) -> str:
        """Return a source with the error in it, or raise ValueError where it does not fit."""
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.what}: {self.old!r} occurs {text.count(self.old)} times in {self.file}"
            )
        return text.replace(self.old, self.new)


def all_mutants() -> list[Mutant]:
    """Return what mutants.toml holds."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return [Mutant(**each) for each in tomllib.loads(text)["mutant"]]


def table(mutants: list[Mutant]) -> str:
    """Return what the documentation shows of them."""
    lines = [".. csv-table::", "   :header: error, where, found by", "   :widths: 5, 3, 4", ""]
    for each in mutants:
        found = f"``{each.test.removeprefix('tests/')}``"
        if each.equivalent:
            found = f"equivalent: {each.equivalent}"
        lines.append(f'   "{each.what}", "``{each.file.removeprefix("skgpb/")}``", "{found}"')
    return "\n".join(lines) + "\n"


@contextmanager
def made(mutant: Mutant, copy: Path) -> Iterator[None]:
    """Make the error in a copy of the sources, for a while."""
    path = copy / mutant.file
    # The source and the files compiled from it.
    before = {each: each.read_bytes() for each in path.parent.glob(f"{path.stem}.*")}
    # Bytecode is told from its source by seconds and size, which may be the same.
    bytecode = Path(cache_from_source(str(path)))
    try:
        path.write_text(mutant.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        bytecode.unlink(missing_ok=True)
        if path.suffix == ".pyx":
            build(path, copy)
        yield
    finally:
        bytecode.unlink(missing_ok=True)
        for each, content in before.items():
            each.write_bytes(content)


def build(path: Path, copy: Path) -> None:
    """Compile one extension module, the others being out of sight."""
    others = [each for each in path.parent.glob("*.pyx") if each != path]
    for each in others:
        each.rename(each.with_suffix(".hidden"))
    command = [sys.executable, "setup.py", "build_ext", "--inplace", "--force"]
    subprocess.run(command, cwd=copy, check=True, capture_output=True)
    for each in others:
        each.with_suffix(".hidden").rename(each)


def failing(copy: Path, seconds: float, *tests: str) -> str | None:
    """Return the first test that fails, None if there is none."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(copy)}
    try:
        run = subprocess.run(
            [*command, *tests],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {seconds} s"
    if run.returncode in (0, 5):  # 5: nothing that is named is among the tests by default
        return None
    first = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, flags=re.MULTILINE)
    if run.returncode != 1 or first is None:
        raise RuntimeError(f"pytest ended with {run.returncode}:\n{run.stdout}\n{run.stderr}")
    return first[1]


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; 1 if an error was not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="run those in whose text or file one occurs")
    parser.add_argument("--named", action="store_true", help="run no other tests than are named")
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    options = parser.parse_args(arguments)
    mutants = all_mutants()
    if options.table:
        print(table(mutants), end="")
        return 0
    if options.words:
        mutants = [m for m in mutants if any(w in m.what or w in m.file for w in options.words)]
    survived = equivalent = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "sources"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for each in mutants:
            with made(each, copy):
                found = failing(copy, LONGEST, each.test)
                if found is None and not options.named:
                    found = failing(copy, LONGEST_OF_ALL)
            survived += found is None and not each.equivalent
            equivalent += bool(each.equivalent)
            outcome = "SURVIVED" if found is None else f"found by {found}"
            print(f"{each.what} ({each.file}): {outcome}", flush=True)
    print(f"{len(mutants)} errors, {equivalent} of them equivalent: {survived} not found")
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
