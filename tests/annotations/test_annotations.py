"""Annotations: of the package, as a user's script sees them, and of the compiled modules."""

from __future__ import annotations

import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STUBS = ROOT / "skgpb" / "_core"

needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None or not (ROOT / "pyproject.toml").exists(),
    reason="needs mypy and the sources; nox -s types has both",
)


def run(*command: str) -> None:
    result = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True)
    assert result.returncode == 0, (result.stdout + result.stderr).decode()


def test_the_users_script_runs():
    runpy.run_path(str(HERE / "user_script.py"), run_name="__main__")


def test_every_compiled_module_has_a_stub():
    sources = {path.stem for path in STUBS.glob("*.pyx")}
    if not sources:
        pytest.skip("the sources are not beside the tests")
    assert {path.stem for path in STUBS.glob("*.pyi")} == sources


def test_the_users_script_touches_every_optimizer_and_query():
    import skgpb
    import skgpb.domains

    script = (HERE / "user_script.py").read_text(encoding="utf-8")
    queries = [name for name in skgpb.domains.__all__ if not re.search("Partition|Covering", name)]
    for name in set(skgpb.__all__) - {"__version__"} | set(queries) - {"PointsQuery"}:
        assert len(re.findall(rf"\b{name}\b", script)) > 1, name


@needs_mypy
@pytest.mark.slow
def test_mypy_finds_nothing():
    run("mypy")


@needs_mypy
@pytest.mark.slow
def test_stubs_are_those_of_the_compiled_modules():
    allowed = str(HERE / "stubtest.txt")
    run("mypy.stubtest", "skgpb._core", "--ignore-disjoint-bases", "--allowlist", allowed)
