"""Commands that install what is missing, where skgpb is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from skgpb.utils import install as _install
from skgpb.utils.install import install_command

REQUIRED = [
    "numpy>=2.0",
    'pandas>=2.2; extra == "tables"',
    "tomli; extra == 'tables' ",
    "x; extra == 'tab'",
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An environment of its own."""
    monkeypatch.setattr(_install, "requires", lambda name: REQUIRED)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "skgpb"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "skgpb" / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "skgpb" / "bin"))
    (tmp_path / "skgpb" / "bin").mkdir(parents=True)
    for name in ("python", "python3"):
        path = tmp_path / "skgpb" / "bin" / name
        path.touch()
        path.chmod(0o755)
    return tmp_path / "skgpb"


def test_packages_and_not_the_extra_are_named(place):
    assert install_command("tables") == 'python -m pip install "pandas>=2.2" tomli'


def test_an_environment_of_pipx_is_injected(place):
    (place / "pipx_metadata.json").touch()
    assert install_command("tables") == 'pipx inject skgpb "pandas>=2.2" tomli'


@pytest.mark.skipif(sys.platform == "win32", reason="paths are written in another way")
def test_the_python_is_named_if_another_one_comes_first(place, monkeypatch):
    monkeypatch.setenv("PATH", "")
    said = install_command("tables")
    assert said == f'{place}/bin/python -m pip install "pandas>=2.2" tomli'


@pytest.mark.skipif(sys.platform == "win32", reason="paths are written in another way")
def test_without_pip_uv_installs(place, monkeypatch):
    monkeypatch.setattr(_install, "find_spec", lambda name: None)
    said = install_command("tables")
    assert said == f'uv pip install --python {place}/bin/python "pandas>=2.2" tomli'


def test_what_nobody_knows_is_the_extra(monkeypatch):
    def unknown(name):
        raise _install.PackageNotFoundError

    monkeypatch.setattr(_install, "requires", unknown)
    assert install_command("tables").endswith(' "skgpb[tables]"')


@pytest.mark.slow
def test_the_library_and_the_demo_need_no_pandas(tmp_path):
    pytest.importorskip("matplotlib")
    script = (
        "import sys\n"
        "for name in ('pandas', 'pyarrow', 'openpyxl'):\n"
        "    sys.modules[name] = None\n"
        "import skgpb, skgpb.lab.datasets, skgpb.lab.experiments\n"
        "from skgpb.lab.cli import main\n"
        "sys.exit(main(['demo', '--budget', '6']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert Path(tmp_path, "skgpb_demo.json").exists()
