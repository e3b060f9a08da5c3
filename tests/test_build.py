"""Building from source: what is written where, and what a source distribution holds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# As setup.py sees it where nothing can be written, whoever runs the tests.
READ_ONLY = """
import os, runpy
os.access = lambda path, mode: False
runpy.run_path("setup.py", run_name="__main__")
"""

if not (ROOT / "setup.py").exists():
    pytest.skip("the sources are not available", allow_module_level=True)


@pytest.fixture
def source(tmp_path):
    """A copy of the sources, with one tiny extension module in the place of all others."""
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    source = tmp_path / "source"
    core = source / "skgpb" / "_core"
    core.mkdir(parents=True)
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "LICENSE", "CITATION.cff"):
        shutil.copy(ROOT / name, source)
    for page in ROOT.glob("*.md"):
        shutil.copy(page, source)
    (core / "_tiny.pyx").write_text('include "blas_int.pxi"\ncdef blas_int n = 1\n')
    for package in (core, core.parent):
        (package / "__init__.py").touch()
    ignore = shutil.ignore_patterns("_build", "gallery", "generated", "__pycache__")
    shutil.copytree(ROOT / "doc", source / "doc", ignore=ignore)
    return source


def run(source, *command, **environment):
    result = subprocess.run(
        [sys.executable, *command],
        cwd=source,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def files(source):
    return {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}


def new_files(source, before):
    """New files that are neither in the build directory nor metadata."""
    return [f for f in sorted(files(source) - before) if not re.match(r"build/|skgpb.egg-info/", f)]


@pytest.mark.slow
def test_a_build_in_place_adds_only_the_extension_module(source):
    before = files(source)
    run(source, "setup.py", "build_ext", "--inplace")
    # Newer versions of Cython put what extension modules have in common into a module beside them.
    *shared, module = new_files(source, before)
    assert [re.sub(r"_shared\.", "_tiny.", each) for each in shared] in ([], [module])
    assert re.fullmatch(r"skgpb/_core/_tiny\..*(so|pyd)", module.replace(os.sep, "/"))
    # Checks change the C code of a source that did not change.
    run(source, "setup.py", "egg_info", SKGPB_BOUNDSCHECK="1")
    assert (source / "build" / "cython-checked" / "skgpb" / "_core" / "_tiny.c").exists()
    assert new_files(source, before) == [*shared, module]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sanitizers of GCC, Linux")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="the sanitizers of GCC, Linux")
def test_sanitizers_find_a_wrong_index(source):
    (source / "skgpb" / "_core" / "_tiny.pyx").write_text(
        "import numpy as np\n"
        "def at(Py_ssize_t i):\n"
        "    cdef double[::1] zeros = np.zeros(400)\n"
        "    return zeros[i]\n"
    )
    run(source, "setup.py", "build_ext", "--inplace", SKGPB_SANITIZE="address,undefined")
    runtime = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
    watched = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
    run(source, "-c", "from skgpb._core._tiny import at; at(399)", **watched)
    with pytest.raises(AssertionError, match="heap-buffer-overflow"):
        run(source, "-c", "from skgpb._core._tiny import at; at(400)", **watched)


@pytest.mark.slow
def test_read_only_sources_build(source, tmp_path):
    before = files(source)
    run(source, "-c", READ_ONLY, "build", "--build-lib", str(tmp_path / "out"), "egg_info")
    assert files(source) == before
    assert list((tmp_path / "out" / "skgpb" / "_core").glob("_tiny.*.*"))


@pytest.mark.slow
def test_the_source_distribution_holds_what_its_pages_include_and_link(source, tmp_path):
    run(source, "setup.py", "sdist", "--dist-dir", str(tmp_path))
    (archive,) = tmp_path.glob("skgpb-*.tar.gz")
    with tarfile.open(archive) as tar:
        held = {name.partition("/")[2] for name in tar.getnames()}
    included = set()
    for page in [*ROOT.glob("doc/**/*.rst"), *ROOT.glob("doc/**/*.inc")]:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"^\s*\.\. (?:\w+)::\s+(\S+\.(?:inc|svg|rst|py|sh))$", text, re.M):
            base = ROOT / "doc" if target.startswith("/") else page.parent
            included.add(os.path.relpath(base / target.lstrip("/"), ROOT))
    assert len(included) >= 5
    assert included - {"doc/development/architecture.svg"} <= held  # conf.py draws it
    assert not [name for name in held if name.endswith((".c", ".pxi", ".so"))]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {link for link in re.findall(r"\]\(([^)/:#]+)\)", readme) if "." in link} <= held


@pytest.mark.slow
def test_links_of_the_readme_lead_to_the_files_of_the_release_on_pypi(source):
    def links():
        run(source, "setup.py", "--quiet", "egg_info")
        page = PathDistribution(source / "skgpb.egg-info").metadata.get_payload()
        return page, re.findall(r"\]\((?!#)([^)]+)\)|(?:src|srcset)=\"([^\"]+)", page)

    page, relative = links()
    assert page.strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
    project = source / "pyproject.toml"
    urls = '[project.urls]\nSource = "https://example.org/a/skgpb"\n'
    project.write_text(project.read_text(encoding="utf-8").replace("[project.urls]\n", urls))
    version = re.search(r'(?m)^version = "(.+)"', project.read_text(encoding="utf-8"))[1]
    _, absolute = links()
    assert len(relative) > 40
    for (link, picture), (link_there, picture_there) in zip(relative, absolute, strict=True):
        folder = f"https://example.org/a/skgpb/{'blob' if link else 'raw'}/v{version}/"
        there = link_there or picture_there
        assert there == (link or picture if ":" in link else folder + (link or picture))


@pytest.mark.slow
def test_an_editable_installation_is_a_path_that_type_checkers_follow(source, tmp_path):
    script = (
        "from setuptools import build_meta; import sys;"
        "print(build_meta.build_editable(sys.argv[1]))"
    )
    wheel = run(source, "-c", script, str(tmp_path)).split()[-1]
    with zipfile.ZipFile(tmp_path / wheel) as archive:
        (hook,) = (name for name in archive.namelist() if name.startswith("__editable__"))
        assert archive.read(hook).decode().strip() == str(source)


@pytest.mark.slow
def test_a_checkout_that_was_not_built_says_what_to_run(tmp_path):
    ignore = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(ROOT / "skgpb", tmp_path / "skgpb", ignore=ignore)
    for words in (["-c", "import skgpb; skgpb.GPOOOptimizer"], ["-m", "skgpb", "demo"]):
        said = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        last = said.stderr.splitlines()[-1]
        assert said.returncode != 0
        assert f"the sources of skgpb in {tmp_path} are not compiled (_" in last
        assert "run `python -m pip install -e .` there" in last
    assert len(said.stderr.splitlines()) == 1  # no traceback at the command line


def test_every_bound_on_matplotlib_goes_with_numpy_2():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    bounds = re.findall(r'"matplotlib>=([\d.]+)"', text)
    assert bounds
    assert min(tuple(map(int, bound.split("."))) for bound in bounds) >= (3, 8, 4)
