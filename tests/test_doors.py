"""The first pages: scripts that do what their pages say, and the map from problem to class."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import re
import runpy
import shlex
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes

import skgpb
from skgpb.lab.cli import main

ROOT = Path(__file__).resolve().parents[1]
DOC, DOORS = ROOT / "doc", ROOT / "doc/doors"
if not DOC.is_dir():
    pytest.skip("the documentation is not available", allow_module_level=True)

SCRIPTS = sorted({*DOORS.glob("*.py"), *DOORS.glob("*.sh")} - {DOORS / "run.py"})
PICTURE = "# Its picture\n"


def script_of(path: Path) -> str:
    """Return a script without what draws its picture."""
    return path.read_text(encoding="utf-8").partition(PICTURE)[0]


@pytest.fixture
def doors(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.syspath_prepend(DOC)
    return importlib.import_module("doors.run")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_printed_whole_and_have_ten_lines(path: Path) -> None:
    lines = [line for line in script_of(path).splitlines() if line.strip()]
    assert 1 <= len(lines) <= 10
    pages = "".join(page.read_text(encoding="utf-8") for page in DOORS.glob("*.rst"))
    # No option leaves out a line.
    assert re.search(rf"literalinclude:: {path.name}\n(   :language: \w+\n)?\n", pages)


@pytest.mark.parametrize("page", ["doors/table", "doors/instrument", "user_guide/app"])
def test_doors_without_python_begin_with_a_line_that_needs_no_clone(page: str) -> None:
    text = (DOC / f"{page}.rst").read_text(encoding="utf-8")
    first = min(text.find(mark) for mark in ("literalinclude::", "   $ ") if mark in text)
    assert 0 < text.find("install.inc") < first and "-e " not in text
    said = (DOORS / "install.inc").read_text(encoding="utf-8")
    released, wheel = re.findall(r"^   \$ (pipx install .*?)$", said, re.M)
    assert released == 'pipx install "skgpb[app]"'
    # pipx takes what does not begin like a path for a name, and drops what is in brackets.
    assert re.fullmatch(r'pipx install "\./skgpb-[\w.-]+\.whl\[app\]"', wheel)
    if skgpb.__version__ == "0.1.0":
        assert "There is no release yet." in said


def test_the_table_to_practise_on_is_that_of_scikit_learn() -> None:
    text = (DOORS / "patients.csv").read_text(encoding="utf-8")
    data = load_diabetes(scaled=False)
    assert text.partition("\n")[0].split(",") == [*data.feature_names, "progression"]
    rows = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
    assert_allclose(rows, np.column_stack([data.data, data.target]), rtol=1e-5)


@pytest.mark.parametrize("name", ["instrument", "tuning"])
def test_scripts_say_only_what_nobody_else_can_know(name: str) -> None:
    statements = ast.parse(script_of(DOORS / f"{name}.py")).body
    calls = [
        node
        for statement in statements
        if not isinstance(statement, ast.FunctionDef)  # it stands for the user's own instrument
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
    ]
    given = {keyword.arg for call in calls for keyword in call.keywords}
    # Arguments for the domain, the budget, the size of the answer, the file of the run, and a seed.
    wanted = {"bounds", "budget", "side", "checkpoint", "n_iter", "random_state", "return_X_y"}
    assert given <= wanted


def test_a_comparison_says_what_all_rules_are_told_and_no_more() -> None:
    script = script_of(DOORS / "bandits.py")
    assert re.findall(r'"(\w+)": ', script) == ["kernel", "arms", "alpha"]
    assert set(re.findall(r"[(,] ?(\w+)=", script)) == {"random_state", "n_rounds"}


def test_commands_have_no_advice_in_them() -> None:
    scripts = "".join(script_of(DOORS / name) for name in ("table.sh", "experiment.sh"))
    options = set(re.findall(r"--[\w-]+", scripts))
    assert options <= {"--features", "--target", "--budget", "--plot", "--report", "--bounds"}


@pytest.mark.slow
def test_a_table_leads_to_a_better_group(doors: ModuleType) -> None:
    printed, figures = doors.run("table")
    average, overall = re.search(
        r"average of these rows +([\d.]+), of the whole table ([\d.]+)", printed
    ).groups()
    assert float(average) > 1.5 * float(overall)
    assert figures and figures[0].axes


@pytest.mark.slow
def test_an_instrument_finds_its_source(doors: ModuleType) -> None:
    printed, (figure,) = doors.run("instrument")
    (left, right), (low, high) = (
        map(float, side) for side in re.findall(r"\(([\d.]+), ([\d.]+)\)", printed)
    )
    assert left < 62 < right and low < 22 < high
    assert figure.axes[0].get_xlabel() == "azimuth"


def test_an_instrument_without_programming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in (DOORS / "regions.sh").read_text(encoding="utf-8").splitlines():
        assert main(shlex.split(line)[1:]) == 0
    printed = capsys.readouterr().out
    assert "azimuth   0 to 90" in printed.partition("query 1")[2]
    best = printed.partition("recommended after")[2]
    ends = re.findall(r"(?:azimuth|altitude) +([\d.]+) to ([\d.]+)", best)
    assert [float(high) - float(low) for low, high in ends] == pytest.approx([10.0, 10.0])


@pytest.mark.slow
@pytest.mark.usefixtures("own_seeds")  # seeds of the answers on the page
def test_an_experiment_finds_its_best_settings(doors: ModuleType) -> None:
    printed, figures = doors.run("experiment")
    answers = re.findall(r"^query \d+: (-?[\d.]+)$", printed, re.M)
    assert len(answers) == doors.ROUNDS
    # The page prints the answer to the first query.
    assert f" {answers[0]}\n" in script_of(DOORS / "experiment.sh")
    best = printed.partition("recommended after")[2]
    temperature, salt = map(float, re.findall(r"(?:temperature|salt) +([\d.]+)", best))
    # An outcome of at least 4.8, of -3.6 to 5: one of twenty settings drawn at random has that.
    assert ((temperature - 60) / 25) ** 2 < 0.2 and 0.0035 < salt < 0.03
    assert len(figures) == 1


@pytest.mark.slow
def test_tuning_finds_settings_that_hold_elsewhere(doors: ModuleType) -> None:
    printed, figures = doors.run("tuning")
    assert float(printed.split()[-1]) > 0.95
    assert len(figures) == 1


@pytest.mark.slow
def test_rules_are_compared(doors: ModuleType) -> None:
    _, (figure,) = doors.run("bandits")
    curves = {line.get_label().split(",")[0]: line.get_ydata() for line in figure.axes[0].lines}
    assert curves["EIOptimizer"][-1] < curves["GPUCBOptimizer"][-1]
    assert len(curves) == 3


def test_every_optimizer_is_on_the_map_and_leads_there() -> None:
    page = (DOC / "map.rst").read_text(encoding="utf-8")
    assert page.startswith(".. _which-class:\n")
    optimizers = {skgpb.CombinatorialBandit, skgpb.optimizers.BaseUCBOptimizer} | {
        cls
        for name in skgpb.__all__
        if name.endswith("Optimizer")
        for cls in [getattr(skgpb, name)]
    }
    assert len(optimizers) >= 22
    for cls in optimizers:
        assert re.search(rf":class:`~[\w.]*\b{cls.__name__}`", page), cls
        # It is said where its parameters are described: there, or in a base that it names.
        described = " ".join(inspect.getdoc(each) or "" for each in cls.__mro__[:-1]).split()
        assert "Which class is for which problem: :ref:`which-class`." in " ".join(described), cls


def test_the_figure_of_the_map_names_classes_of_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docutils")
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOC)
    kinds = runpy.run_path(str(DOC / "figures/map.py"))["KINDS"]
    page = (DOC / "map.rst").read_text(encoding="utf-8")
    first = page.partition("For comparison")[0]
    assert [name.partition("(")[0] for _, _, name in kinds] == [
        match.split(".")[-1] for match in re.findall(r"^     - :class:`~([\w.]+)`", first, re.M)
    ]


@pytest.mark.slow
def test_the_picture_of_the_readme_is_small_and_drawn_by_its_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [ROOT / path for path in re.findall(r'(?:src|srcset)="([^"]+\.svg)"', readme)]
    assert {path.name for path in shown} == {"idea-light.svg", "idea-dark.svg"}
    assert sum(path.stat().st_size for path in set(shown)) < 100_000
    assert "python doc/drawn.py --to doc idea" in readme
    pytest.importorskip("sphinx")
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.syspath_prepend(DOC)
    importlib.import_module("drawn").main(["--to", str(tmp_path), "idea"])
    for path in shown:
        drawn = (tmp_path / path.name).read_text(encoding="utf-8")
        assert re.findall("<!-- (.+) -->", drawn) == re.findall(
            "<!-- (.+) -->", path.read_text(encoding="utf-8")
        )
