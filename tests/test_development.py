"""The pages for developers keep to the code: decisions, the picture of the rooms."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import skgpb
from skgpb.kernels import WindowMean
from skgpb.utils.validation import validate_params

ROOT = Path(__file__).resolve().parents[1]
NUMBER = r"D-[A-Z]\d+"


@pytest.fixture(scope="module")
def decisions() -> str:
    pages = sorted((ROOT / "doc/development/decisions").glob("*.rst"))
    if not pages:
        pytest.skip("the documentation is not available")
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


@pytest.fixture(scope="module")
def architecture() -> dict:
    script = ROOT / "doc/architecture.py"
    if not script.exists():
        pytest.skip("the documentation is not available")
    return runpy.run_path(str(script))


def test_every_decision_has_one_anchor_of_its_own_number(decisions):
    anchors = re.findall(rf"^\.\. _({NUMBER}):$", decisions, flags=re.MULTILINE)
    titles = re.findall(rf"^({NUMBER}): .+\n-+$", decisions, flags=re.MULTILINE)
    assert anchors == titles
    assert len(set(anchors)) == len(anchors)
    for letter in "GABCDH":  # without gaps: a number that was given is never given again
        numbers = sorted(int(each[3:]) for each in anchors if each[2] == letter)
        assert numbers == list(range(1, len(numbers) + 1)) != []


def test_every_decision_says_which_part_is_which(decisions):
    entries = re.split(rf"^{NUMBER}: .+\n-+\n", decisions, flags=re.MULTILINE)[1:]
    part = re.compile(r"\*\*(Context|Decision|Measured|Consequences)\.\*\*")
    assert len(entries) > 100 and all(part.match(entry.lstrip()) for entry in entries)


def test_pages_about_decisions_are_not_searched():
    pages = sorted((ROOT / "doc/development/decisions").glob("*.rst"))
    if not pages:
        pytest.skip("the documentation is not available")
    for page in [*pages, ROOT / "doc/benchmarks/tried.rst"]:
        assert page.read_text(encoding="utf-8").startswith(":nosearch:\n"), page.name


def test_decisions_cited_in_the_code_exist(decisions):
    cited = {
        number
        for path in (ROOT / "skgpb").rglob("*.py*")
        if path.suffix in (".py", ".pyx", ".pyi")
        for number in re.findall(rf"\b{NUMBER}\b", path.read_text(encoding="utf-8"))
    }
    assert cited <= set(re.findall(rf"_({NUMBER}):", decisions))


def test_alternatives_in_decisions_are_accepted(decisions):
    # A line may end within the call.
    calls = re.findall(r"``(\w+Optimizer\([^`]+\))``", re.sub(r"\s*\n\s*", " ", decisions))
    assert len(calls) > 20
    names = {name: getattr(skgpb, name) for name in skgpb.__all__}
    for call in calls:
        validate_params(eval(call, {"np": np} | names))


@pytest.mark.slow
def test_imports_go_down_the_floors_of_the_picture(architecture):
    picture = architecture["draw"]()
    rooms = {path.parent.name for path in (ROOT / "skgpb").glob("*/__init__.py")}
    modules = {path.stem for path in (ROOT / "skgpb").glob("*.py")} - {"__init__"}
    # Single modules of the package's own use, and the command, are not drawn.
    for name in rooms | {each for each in modules if not each.startswith("_")}:
        assert re.search(rf"\b{name}\b", picture), name


def test_the_page_names_all_that_the_loop_knows_of_a_search():
    file = ROOT / "doc/development/architecture.rst"
    if not file.exists():
        pytest.skip("the documentation is not available")
    page = file.read_text()
    known: set[str] = set()
    for name in ("_loop", "_evaluations", "_files"):
        tree = ast.parse((ROOT / f"skgpb/optimizers/{name}.py").read_text())
        known |= {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and re.search(r"\b(search|_?optimizer|kept)$", ast.unparse(node.value))
            and re.match(r"_[a-z]", node.attr)
        }
    assert {"_begin", "_propose", "_observe", "_learn"} <= known
    assert [name for name in sorted(known) if f"``{name}" not in page] == []


def test_an_import_upwards_is_found(architecture, tmp_path):
    for name, text in {"kernels": "import skgpb.optimizers.gpoo", "optimizers": ""}.items():
        (tmp_path / "skgpb" / name).mkdir(parents=True)
        (tmp_path / "skgpb" / name / "a.py").write_text(text)
    with pytest.raises(ValueError, match=r"upwards or in a circle: .*'kernels', 'optimizers'"):
        architecture["draw"](tmp_path / "skgpb")


def test_arrows_that_follow_from_others_are_left_out(architecture):
    pairs = {("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "d")}
    assert architecture["essential"](pairs) == {("a", "b"), ("b", "c"), ("c", "d")}


LINE = {"bounds": [(0, 1)], "alpha": 0.01, "random_state": 0}
ROUNDS = {
    "GP-UCB in a box": lambda: skgpb.GPUCBOptimizer(bounds=[(0, 1), (0, 1)], random_state=0),
    "GPOO": lambda: skgpb.GPOOOptimizer(RBF(0.2), **LINE),
    "CMES": lambda: skgpb.CMESOptimizer(RBF(0.2), conditional=WindowMean(scale=0.1), **LINE),
}


def calls_of_a_round(optimizer):
    """Calls after 12 answers: file and name of each, and the number of calls at its return."""

    def answer(query):
        return float(np.sin(5 * np.asarray(query)).sum(axis=1).mean())

    for _ in range(12):
        query = optimizer.ask()
        optimizer.tell(query, answer(query))
    calls, open_calls = [], []

    def watch(frame, event, _):
        file = Path(frame.f_code.co_filename)
        if not file.is_relative_to(ROOT / "skgpb"):
            return
        if event == "call":
            name = file.relative_to(ROOT / "skgpb").as_posix(), frame.f_code.co_qualname
            open_calls.append(len(calls))
            calls.append([*name, None])
        elif event == "return":
            calls[open_calls.pop()][-1] = len(calls)

    sys.setprofile(watch)
    try:
        query = optimizer.ask()
        optimizer.tell(query, answer(query))
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", ROUNDS)
def test_a_drawn_round_is_the_one_that_runs(title):
    file = ROOT / "doc/development/rounds.rst"
    if not file.exists():
        pytest.skip("the documentation is not available")
    section = file.read_text(encoding="utf-8").partition(f"\n{title}\n---")[2].partition("\n---")[0]
    steps = re.findall(r"^    ( *)(\S+)  +(\S+\.py)", section, flags=re.MULTILINE)
    assert len(steps) > 20
    calls, place, above = calls_of_a_round(ROUNDS[title]()), 0, []
    for indent, name, path in steps:
        above = [each for each in above if each[0] < len(indent)]
        end = above[-1][1] if above else len(calls)
        found = [i for i in range(place, end) if calls[i][:2] == [path, name]]
        assert found, f"{name} in {path} is not called here"
        place = found[0] + 1
        above.append((len(indent), calls[found[0]][-1]))
