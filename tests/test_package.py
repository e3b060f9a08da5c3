"""The package as users get it: version, typing marker, documented names, examples that run."""

from __future__ import annotations

import doctest
import importlib
import importlib.metadata
import importlib.resources
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import skgpb

ROOT = Path(__file__).resolve().parents[1]
MODULES = ["skgpb"] + [
    module.name
    for module in pkgutil.walk_packages(skgpb.__path__, "skgpb.")
    if not module.name.startswith("skgpb._core.")
]
PUBLIC = [
    "skgpb",
    "skgpb.kernels",
    "skgpb.plotting.inspection",
    "skgpb.problems.metrics",
    "skgpb.model_selection",
    "skgpb.optimizers",
    "skgpb.domains",
    "skgpb.plotting",
    "skgpb.problems",
    "skgpb.lab.tables",
    "skgpb.testing",
]
PAGES = sorted(
    path.relative_to(ROOT / "doc").as_posix()
    for folder in (".", "development", "user_guide")
    for path in (ROOT / "doc" / folder).glob("*.rst")
    if ">>> " in path.read_text(encoding="utf-8")
)


def in_checkout(path: str) -> Path:
    """Return a file of the repository, or skip where only the tests were copied."""
    file = ROOT / path
    if not file.exists():
        pytest.skip(f"{path} is not available")
    return file


def test_version_is_that_of_the_distribution():
    assert skgpb.__version__ == importlib.metadata.version("skgpb")


def test_typing_marker_and_declarations_are_installed():
    package = importlib.resources.files("skgpb")
    assert (package / "py.typed").is_file()
    assert (package / "_core" / "_posterior.pxd").is_file()


def test_names_are_there_before_they_are_imported():
    assert set(skgpb.__all__) <= set(dir(skgpb))
    assert not hasattr(skgpb, "nothing")


@pytest.mark.slow
def test_the_package_itself_imports_nothing_and_an_optimizer_no_optional_library():
    code = """
import sys
before = set(sys.modules)
import skgpb
new = set(sys.modules) - before
new = {name for name in new if name.partition(".")[0] not in sys.stdlib_module_names}
assert new == {"skgpb", "skgpb._version"}, new
import sklearn.gaussian_process
before = set(sys.modules)
skgpb.kernels, skgpb.EIOptimizer
skgpb.GPOOOptimizer(bounds=[(0, 1)]).ask()
new = {name.partition(".")[0] for name in set(sys.modules) - before}
optional = {"IPython", "dask", "flask", "matplotlib", "optuna", "pandas", "pyarrow", "rich", "tqdm"}
assert not new & optional, new & optional
assert not {name for name in sys.modules if name.startswith(("skgpb.lab.cli", "skgpb.lab.app"))}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_exist_and_are_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    for public in module.__all__:
        member = getattr(module, public)
        assert public == "__version__" or (member.__doc__ or "").strip(), public


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_in_the_api_reference(name):
    page = in_checkout("doc/api/index.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   (\w+)$", page, flags=re.MULTILINE)
    public = set(importlib.import_module(name).__all__) - {"__version__"}
    assert public <= set(listed)


def needs(name: str) -> str | None:
    """Return the library without which the examples of a module cannot run."""
    if name.startswith("skgpb.integrations."):
        return name.split(".")[2]  # the module has the name of the library that it needs
    if name == "skgpb.lab.app.pages":
        return "flask"
    if name.startswith("skgpb.lab.sql"):
        return "ibis"
    return "matplotlib" if name.startswith("skgpb.plotting.") else None


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", MODULES)
@pytest.mark.usefixtures("own_seeds")
def test_examples_in_docstrings_run(name):
    if needs(name):
        pytest.importorskip(needs(name))
    module = importlib.import_module(name)
    with np.printoptions():
        result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("skgpb.plotting.")])
def test_examples_that_draw_are_skipped_without_matplotlib(name, monkeypatch):
    for loaded in [m for m in sys.modules if m.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(pytest.skip.Exception, match="matplotlib"):
        test_examples_in_docstrings_run(name)


@pytest.mark.parametrize(
    "name", ["GPOOOptimizer", "StoOOOptimizer", "OnlineGaussianProcessRegressor"]
)
def test_estimators_show_an_example(name):
    examples = doctest.DocTestFinder(recurse=False).find(getattr(skgpb, name))
    assert any(test.examples for test in examples)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_examples_in_the_documentation_run(page):
    path = in_checkout(f"doc/{page}")
    result = doctest.testfile(str(path), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_example_in_the_readme_finds_the_peak(capsys):
    text = in_checkout("README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL)[1]
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    best = names["best"]
    assert np.all(np.abs(best.center - [0.7, 0.3]) < 0.1)
    assert "best region" in capsys.readouterr().out


def test_continuous_integration_runs_the_command_of_the_readme():
    pattern = r"^python -m pip install .* && python -m pytest -n 2$"
    readme = in_checkout("README.md").read_text(encoding="utf-8")
    assert len(re.findall(pattern, readme, flags=re.MULTILINE)) == 1
    script = in_checkout(".ci/run").read_text(encoding="utf-8")
    assert pattern in script


def test_files_in_the_table_of_the_readme_exist():
    readme = in_checkout("README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^):#]+)\)", readme)
    assert len(links) > 5
    in_checkout("setup.py")
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.slow
def test_the_documentation_builds_with_one_blas_thread():
    pytest.importorskip("sphinx")
    script = (
        "import runpy, scipy.linalg, threadpoolctl\n"
        "runpy.run_path('doc/conf.py')\n"
        "pools = threadpoolctl.threadpool_info()\n"
        "print({pool['num_threads'] for pool in pools if pool['user_api'] == 'blas'})"
    )
    threads = {"OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    run = {"cwd": ROOT, "env": os.environ | threads, "capture_output": True, "text": True}
    assert subprocess.run([sys.executable, "-c", script], check=True, **run).stdout == "{1}\n"


@pytest.mark.slow
def test_the_documentation_shows_the_parameters_of_optimizers():
    pytest.importorskip("sphinx")
    script = (
        "import runpy, skgpb\n"
        "conf = runpy.run_path('doc/conf.py')\n"
        "given = None, 'class', '', skgpb.StoOOOptimizer, None, '(*args, **kwargs)', None\n"
        "print(conf['signature_of_init'](*given)[0])"
    )
    run = {"cwd": ROOT, "capture_output": True, "text": True}
    shown = subprocess.run([sys.executable, "-c", script], check=True, **run).stdout
    assert "bounds=None" in shown and "args" not in shown and ":" not in shown
