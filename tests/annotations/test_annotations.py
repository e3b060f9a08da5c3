"""The scripts that mypy and stubtest check, in the session ``types``, are complete and run."""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STUBS = ROOT / "skgpb" / "_core"
SCRIPTS = ["right_calls.py", "user_classes.py", "user_script.py", "wrong_calls.py"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_users_scripts_run(script):
    runpy.run_path(str(HERE / script), run_name="__main__")


def test_what_type_checkers_find_does_not_work():
    wrong = runpy.run_path(str(HERE / "wrong_calls.py"))["WRONG"]
    assert len(wrong) >= 20
    for call in wrong:
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            call()


def public_parameters():
    """Annotations of the parameters of all public functions, constructors and methods."""
    names = ["", "domains", "kernels", "model_selection", "optimizers", "plotting", "problems"]
    modules = [importlib.import_module(f"skgpb.{name}".rstrip(".")) for name in names]
    public = dict.fromkeys(getattr(module, name) for module in modules for name in module.__all__)
    classes = [each for each in public if inspect.isclass(each)]
    methods = [
        inspect.unwrap(getattr(member, "__func__", member))
        for cls in classes
        for home in cls.__mro__
        if home.__module__.startswith("skgpb.")
        for name, member in vars(home).items()
        if not name.startswith("_") and inspect.isfunction(getattr(member, "__func__", member))
    ]
    functions = [each for each in public if inspect.isfunction(each)]
    for each in dict.fromkeys([*classes, *functions, *methods]):
        for parameter in inspect.signature(each).parameters.values():
            if parameter.name not in ("self", "cls"):
                yield f"{each.__qualname__}({parameter.name})", str(parameter.annotation)


def test_few_parameters_may_be_anything():
    annotated = dict(public_parameters())
    anything = [name for name, text in annotated.items() if re.search(r"^Any\b|\| Any\b", text)]
    assert len(annotated) > 800
    assert len(anything) < 0.03 * len(annotated), anything


def test_all_wrong_calls_but_one_are_known_to_mypy():
    # The session ``types`` fails where one of these comments is not needed.
    lines = (HERE / "wrong_calls.py").read_text(encoding="utf-8").splitlines()
    calls = [line for line in lines if line.startswith("    lambda: ")]
    assert sum("# type: ignore[" in line for line in calls) == len(calls) - 1 >= 18


def test_no_module_is_left_out():
    project = ROOT / "pyproject.toml"
    if not project.is_file():
        pytest.skip("the settings are not available")
    settings = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["mypy"]
    assert "exclude" not in settings
    assert settings["files"] == [
        "skgpb",
        *(f"tests/annotations/{name}" for name in sorted(SCRIPTS)),
    ]
    assert not any(each.get("ignore_errors") for each in settings["overrides"])


def test_every_compiled_module_has_a_stub():
    sources = {path.stem for path in STUBS.glob("*.pyx")}
    if not sources:
        pytest.skip("the sources are not available")
    assert {path.stem for path in STUBS.glob("*.pyi")} == sources


def test_the_users_script_touches_every_optimizer_and_query():
    import skgpb
    import skgpb.domains

    script = (HERE / "user_script.py").read_text(encoding="utf-8")
    kinds = [getattr(skgpb.domains, name) for name in skgpb.domains.__all__]
    classes = [kind for kind in kinds if isinstance(kind, type)]
    queries = [kind.__name__ for kind in classes if issubclass(kind, skgpb.domains.Query)]
    for name in set(skgpb.__all__) - {"__version__"} | set(queries) - {"PointsQuery"}:
        assert len(re.findall(rf"\b{name}\b", script)) > 1, name


def test_the_users_scripts_touch_every_class_of_the_reference():
    index = ROOT / "doc" / "api" / "index.rst"
    if not index.is_file():
        pytest.skip("the documentation is not available")
    script = "".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    entries = re.findall(r"^   (?:[a-z_]+\.)*([A-Z]\w+)$", index.read_text(encoding="utf-8"), re.M)
    assert len(set(entries)) > 70
    for name in set(entries):
        assert len(re.findall(rf"\b{name}\b", script)) > 1, name
