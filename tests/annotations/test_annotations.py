"""What is checked by mypy and stubtest, in the session ``types``, is complete and runs."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STUBS = ROOT / "skgpb" / "_core"


def test_the_users_script_runs():
    runpy.run_path(str(HERE / "user_script.py"), run_name="__main__")


def test_no_module_is_left_out():
    project = ROOT / "pyproject.toml"
    if not project.is_file():
        pytest.skip("the settings are not beside the tests")
    settings = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["mypy"]
    assert "exclude" not in settings and settings["files"][0] == "skgpb"
    assert not any(each.get("ignore_errors") for each in settings["overrides"])


def test_every_compiled_module_has_a_stub():
    sources = {path.stem for path in STUBS.glob("*.pyx")}
    if not sources:
        pytest.skip("the sources are not beside the tests")
    assert {path.stem for path in STUBS.glob("*.pyi")} == sources


def test_the_users_script_touches_every_optimizer_and_query():
    import skgpb
    import skgpb.domains

    script = (HERE / "user_script.py").read_text(encoding="utf-8")
    kinds = [getattr(skgpb.domains, name) for name in skgpb.domains.__all__]
    queries = [kind.__name__ for kind in kinds if issubclass(kind, skgpb.domains.Query)]
    for name in set(skgpb.__all__) - {"__version__"} | set(queries) - {"PointsQuery"}:
        assert len(re.findall(rf"\b{name}\b", script)) > 1, name
