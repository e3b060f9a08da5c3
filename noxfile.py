"""All checks under one name each: ``nox`` runs the first four, ``nox -s docs`` one of the others.

Arguments after ``--`` go to the command of a session, as in ``nox -s tests -- -k resume``.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "completeness", "tests"]
nox.options.default_venv_backend = "venv"

ROOT = Path(__file__).parent
LINTER = "ruff>=0.17,<0.18"
CHECKER = ["mypy>=2.4,<2.5", "pandas-stubs"]
# Without stubs of what is inherited from, no class that inherits has a known type.
COUNTER = ["pyright[nodejs]>=1.1.414", "pandas-stubs", "scipy-stubs", "scikit-learn-stubs"]
ALLOWED = "tests/annotations/stubtest.txt"


@nox.session
def lint(session: nox.Session) -> None:
    """Style and formatting; pass --fix to change what can be changed."""
    session.install(LINTER)
    session.run("ruff", "check", *session.posargs, ".")
    session.run("ruff", "format", *([] if "--fix" in session.posargs else ["--check"]), ".")


@nox.session
def types(session: nox.Session) -> None:
    """Types of the package and of a user's script, and the stubs of the compiled modules."""
    session.install("-e", ".[test]", *CHECKER)
    session.run("mypy", *session.posargs)
    options = ["--mypy-config-file", "pyproject.toml", "--allowlist", ALLOWED]
    session.run("stubtest", "skgpb._core", "--ignore-disjoint-bases", *options)


@nox.session
def completeness(session: nox.Session) -> None:
    """The share of the public names whose types pyright knows; it comes with a Node of its own."""
    session.install("-e", ".[test]", *COUNTER)
    session.run("python", "tests/annotations/completeness.py")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests as they run by default."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """The app in Chromium, which has to be there.

    On Debian: ``apt-get install chromium chromium-driver``. Elsewhere: Chromium or Chrome, and
    the chromedriver of the same version on the path.
    """
    if shutil.which("chromedriver") is None:
        session.error("there is no chromedriver: apt-get install chromium chromium-driver")
    session.install("-e", ".[test]", "selenium>=4.20")
    session.run("python", "-m", "pytest", "-m", "browser", "tests/app", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, its examples included; a warning, or a broken link, is an error."""
    session.install("-e", ".[doc]")
    command = ["sphinx", "-W", "--keep-going", "-b", "html", *session.posargs]
    session.run("python", "-m", *command, "doc", "doc/_build/html")
    session.run("python", "doc/check_site.py")


@nox.session
def bench(session: nox.Session) -> None:
    """Every benchmark, with the smallest run that it can do."""
    session.install("-e", ".[test,bench]")
    session.run("python", "-m", "pytest", "-m", "", "tests/test_benchmarks.py", *session.posargs)


@nox.session
def debug(session: nox.Session) -> None:
    """The tests on a copy that is compiled with bounds checks: a wrong index raises."""
    copy = Path(session.create_tmp()) / "checked"
    shutil.rmtree(copy, ignore_errors=True)
    left_out = [".git", ".nox", "build", "_build", "gallery", "generated", "*.egg-info", "*.so"]
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*left_out))
    session.chdir(copy)
    session.install("-e", ".[test]", env={"SKGPB_BOUNDSCHECK": "1"})
    session.run("python", "-m", "pytest", *session.posargs)
