"""What a search hands to its report: numbers for programs, texts, files, and what it refuses."""

from __future__ import annotations

import io
import json
import math
import sys
import zipfile
from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import pytest
from askings import BOX, COLUMNS, N, Y, asked
from numpy.testing import assert_allclose
from scipy.stats import norm

from skgpb.exceptions import DatabaseError, PrivacyBudgetError, ScansSpentError
from skgpb.lab.cli import (
    app,
    databases,
    demo,
    exact,
    files,
    main,
    pictures,
    private,
    search,
    tables,
)
from skgpb.lab.cli import asked as asking
from skgpb.lab.cli.arguments import UsageError
from skgpb.lab.cli.averaged import make_finding
from skgpb.lab.cli.features import box_limits, describe_group
from skgpb.lab.cli.tables import row_count
from skgpb.lab.cli.where import Condition
from skgpb.lab.cli.words import percent
from skgpb.lab.datasets import PrivacyLedger
from skgpb.lab.datasets.columns import Column
from skgpb.lab.datasets.private import check_range
from skgpb.lab.experiments import Experiment
from skgpb.lab.tables.conditions import Range, Subgroup
from skgpb.utils.install import install_command

pytestmark = pytest.mark.one_in(3)

GIVEN = {
    "command": "search", "seed": 3, "budget": 40, "stop_within": None, "confidence": 0.95,
    "noise": 0.0, "alpha": None, "least": 7, "target": "sales", "minimize": False,
    "epsilon": 2.0, "delta": None, "target_range": [10.0, 30.0], "ledger": None, "min_rows": None,
}  # fmt: skip


# -- searches that ask ----------------------------------------------------------------------------


def found_by(index=2, engine="model", model=True, conditions=(), **change):
    found = asked(3, index=index, n_groups=6)
    fields = {name: getattr(found.search, name) for name in found.search.__dataclass_fields__}
    fields |= {"engine": engine, "r2_loo": 0.625, "n_answers": 1030}
    fields |= {} if model else {"model": None}
    search = type(found.search)(**fields)
    return asking.AskedResult(
        search, found.memory, found.features, "sales", found.minimizes, conditions=conditions
    )


@pytest.mark.parametrize("engine", ["model", "halving"])
@pytest.mark.parametrize("model", [True, False])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_search_that_asks_hands_over_what_it_asked(engine, model, noise):
    found = found_by(engine=engine, model=model, conditions=("(hour > 3)",))
    oracle = SimpleNamespace(repeats=noise > 0)
    given = Namespace(**GIVEN | {"noise": noise, "stop_within": 3.0})
    finding = make_finding(found, oracle, Y, given, "t.csv", "t.csv, 240 rows")
    entries = finding.to_json()
    members = np.flatnonzero(found.memory.rows(BOX))
    limits = box_limits(COLUMNS, BOX)
    where = f"(hour > 3) and {' and '.join(limit.condition for limit in limits)}"
    sizes = [len(group.rows) for group in found.search.groups]
    shown = {
        "command": "search", "source": "t.csv", "features": ["hour", "shop", "day"],
        "answers": "noisy" if noise else "exact", "target": "sales", "sought": "highest",
        "n_rows": N, "n_members": len(members), "members": members.tolist(), "seed": 3,
        "where": where, "engine": engine, "r2_loo": 0.625 if model else None, "n_rounds": 1030,
        "n_groups_asked": 6, "smallest_group_asked": min(sizes), "enough": None,
        "share_of_rows_averaged_singly": 0.0,
        "parameters": {
            "budget": 40, "stop_within": 3.0, "confidence": 0.95, "noise": noise, "alpha": None,
            "min_rows": 7,
        },
    }  # fmt: skip
    assert {name: entries[name] for name in shown} == shown
    assert entries["true_average"] == Y[members].mean()
    assert entries["true_average_of_table"] == Y.mean()
    spread = Y.std() * math.sqrt((N - len(members)) / (N - 1) / len(members))
    chance = Y.mean() + norm.isf(0.05 * len(members) / N) * spread
    assert_allclose(entries["best_by_chance"], chance)
    lines = dict(finding.statements)
    asked_for = "each answer with noise of 0.5" if noise else "answered exactly"
    assert lines["questions asked"] == f"1,030 on 6 groups, {asked_for}"
    assert lines["exactly these rows"] == f'--where "{where}"'
    assert finding.sides == {"hour": "12.0 to 17.0".replace(".0", ""), "shop": "B, C"}
    how = "A Gaussian process learned from the answers and proposed boxes. The best boxes were "
    how += "asked for as well."
    if engine == "halving":
        how = "Of these the worse half was left out again and again."
    assert finding.method == (
        "The table was parted at random into groups by hour, shop, day. A search asked 1,030 times "
        f"for the average of sales over one of 6 groups and never for the value of a row. {how}"
    )
    assert [panel.caption for panel in finding.panels()] == [
        panel.caption for panel in pictures.make_panels(found)
    ]


def test_groups_of_one_row_are_counted_once_each():
    found = found_by()
    for group, rows in zip(found.search.groups[3:], ([5], [5], [9]), strict=True):
        group.rows = np.array(rows)
    given = Namespace(**GIVEN | {"command": "demo"})
    finding = make_finding(found, SimpleNamespace(repeats=False), Y, given, "t", "t")
    entries = finding.to_json()
    assert entries["share_of_rows_averaged_singly"] == 2 / N
    assert dict(finding.statements)["groups of one row"] == percent(2 / N)
    assert entries["smallest_group_asked"] == 1
    assert "exactly these rows" not in dict(finding.statements)  # there is no table to search


@pytest.mark.parametrize("shop", [False, True])
def test_sides_that_all_rows_meet_are_only_named_alone(shop):
    sides = (("hour", Range(missing=True)), ("shop", BOX["shop"]))
    found = asked(2, box=Subgroup(sides if shop else sides[:1]))
    finding = make_finding(
        found, SimpleNamespace(repeats=False), Y, Namespace(**GIVEN), "t.csv", "t.csv"
    )
    assert finding.sides == ({"shop": "B, C"} if shop else {"hour": "any"})
    assert finding.is_whole != shop and (finding.where == "") != shop


@pytest.mark.parametrize("minimizes", [False, True])
def test_the_runner_up_of_a_search_is_described(minimizes):
    found = asked(1, minimizes, box=Subgroup((("hour", Range(20.0, None)),)), index=5)
    finding = make_finding(
        found, SimpleNamespace(repeats=False), Y, Namespace(**GIVEN), "t.csv", "t.csv"
    )
    index = found.runner_up
    group, limits = found.search.groups[index], found.group_limits(index)
    assert finding.runner_up == {
        "n_members": len(group.rows),
        "where": limits[0].condition,
        "posterior_mean": found.search.mean[index],
        "probability_better": found.runner_up_better,
    }
    assert finding.rival.startswith(f"{len(group.rows)} rows, {describe_group(limits)}: ")
    hours = COLUMNS[0].values[group.rows]
    assert (limits[0].low or 0.0) <= hours.min() and hours.max() <= (limits[0].high or 23.0)


def test_only_rounding_makes_a_variance_negative():
    found = asked(2)
    fields = {name: getattr(found.search, name) for name in found.search.__dataclass_fields__}
    cov = -1e-15 * np.eye(len(found.search.mean))
    search = type(found.search)(**fields | {"cov": cov})
    found = asking.AskedResult(search, found.memory, found.features, "sales", False)
    assert found.std == 0.0 and found.gain[1] == 0.0
    assert found.interval == (found.mean, found.mean)


@pytest.mark.parametrize("n", [99, 100, 101])
def test_texts_of_more_than_a_hundred_kinds_are_no_categories(n):
    codes = np.append(np.arange(2.0 * n) % n, np.nan)
    column = Column("name", "texts", codes, tuple(f"r{i}" for i in range(n)))
    table = asking.feature_table([column], ["name"])
    assert_allclose(table.columns["name"], codes)
    assert not table.y.any() and table.n_rows == 2 * n + 1
    if n > 100:
        with pytest.raises(UsageError, match=f"has {n} different texts, such as 'r0': at most 100"):
            asking.feature_table([column])
    else:
        assert asking.feature_table([column]).columns["name"].tolist() == [
            *column.labels,
            *column.labels,
            None,
        ]


def test_the_smallest_group_asked_for_is_a_64th_of_the_rows():
    for n in (4, 127, 128, 191, 192, 6400):
        assert asking.smallest_group(Namespace(min_rows=None), n) == max(2, n // 64)
    assert asking.smallest_group(Namespace(min_rows=0.25), 100) == 25
    assert asking.smallest_group(Namespace(min_rows=50), 100) == 50
    with pytest.raises(UsageError, match="--min-rows 51 leaves no choice in a table of 100 rows"):
        asking.smallest_group(Namespace(min_rows=51), 100)


def test_shares_of_rows_are_rounded_up_but_for_rounding_errors():
    for n in range(1, 200):
        for share in (0.01, 0.05, 0.1, 0.3, 0.7, 1.0):
            assert row_count(share, n) == -(-round(share * 100) * n // 100)
        assert row_count(n, 7) == n


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_bar_counts_the_questions_on_a_terminal(monkeypatch, is_terminal):
    events = []

    class Bar:
        def __init__(self, **given):
            events.append(given)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            events.append("closed")

        def update(self):
            events.append(1)

    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=Bar, __spec__=object()))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: is_terminal))
    with asking._progress(7) as tick:
        tick()
    bar = [{"total": 7, "unit": "question", "leave": False}, 1, "closed"]
    assert events == (bar if is_terminal else [])


@pytest.mark.parametrize("seed", [None, 5])
def test_a_search_that_asks_gets_the_options_of_the_user(monkeypatch, seed):
    seen = []

    def ask(table, oracle, least, budget, **given):
        seen.append((table.n_rows, least, budget, given))
        given["tick"]()
        return SimpleNamespace(enough=within is not None)

    monkeypatch.setattr(asking, "search_by_asking", ask)
    oracle = SimpleNamespace(limits=(1.0, 2.0))
    for within, minimize in ((None, False), (2.5, True)):
        given = Namespace(
            **GIVEN | {"seed": seed, "stop_within": within, "minimize": minimize, "alpha": 0.5}
        )
        found = asking.search_by_averages(COLUMNS[:2], oracle, given, ("a > 1",), ["shop"])
        *sizes, options = seen.pop()
        options.pop("tick")
        assert sizes == [N, 7, 40]
        assert options == {
            "minimize": minimize, "variance": 0.5, "seed": seed or 0, "within": within,
            "confidence": 0.95,
        }  # fmt: skip
        assert (found.range, found.conditions, found.neighbours) == (
            (1.0, 2.0),
            ("a > 1",),
            ["shop"],
        )
        assert (found.minimizes, found.target) == (minimize, "sales")
        assert found.enough == (within and "within 2.5 of the best with probability 0.95")
    found = asking.search_by_averages(COLUMNS[:1], SimpleNamespace(), given)
    assert (found.range, found.conditions, found.neighbours) == ((-math.inf, math.inf), (), ())


# -- private searches -----------------------------------------------------------------------------


def privately(found, **given):
    given = Namespace(**GIVEN | {"seed": None} | given)
    oracle = private.private_oracle(Y, given)
    return oracle, given, found


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_a_private_search_hands_over_its_account(delta):
    oracle, given, found = privately(found_by(), delta=delta, least=9)
    first, variance = oracle.answer(np.arange(100), 0.25)
    oracle.answer(np.arange(120), 0.5)
    assert oracle.noises == pytest.approx([math.sqrt(variance), oracle.noises[1]])
    assert oracle.noises[0] > oracle.noises[1] and abs(first - Y[:100].mean()) < 99 * variance**0.5
    averages = oracle.averages
    entry = private.privacy_entry(oracle, given, found)
    spent = averages.spent_.max()
    assert_allclose(spent, 0.75 * averages.budget, rtol=1e-5)
    assert entry == {
        "epsilon": 2.0, "delta": delta or 0.0, "epsilon_spent": averages.epsilon_spent_,
        "epsilon_spent_before": 0.0, "ledger": None,
        "noise_law": "gaussian" if delta else "laplace",
        "rho": averages.budget if delta else None, "rho_spent": spent if delta else None,
        "target_range": [10.0, 30.0], "at_end_of_range": None,
        "noise": sorted(oracle.noises), "protected": "the value of sales in any one row",
        "public": ["features", "rows and group sizes", "target_range"], "holds": True,
    }  # fmt: skip
    finding = make_finding(found, oracle, None, given, "t.csv", "t.csv")
    entries = finding.to_json()
    assert entries["answers"] == "private" and entries["privacy"] == entry
    assert entries["parameters"]["noise"] is None and "true_average" not in entries
    low, high = (f"{noise:,.3g}" for noise in entry["noise"])
    assert dict(finding.statements)["questions asked"].endswith(f"with noise of {low} to {high}")
    oracle.noises[:] = [1234.5, 1234.6]
    finding = make_finding(found, oracle, None, given, "t.csv", "t.csv")
    asked_for = "1,030 on 6 groups, with noise of 1.23e+03"
    assert dict(finding.statements)["questions asked"] == asked_for
    # A search at the same time may have spent more than the budget of this one.
    averages = SimpleNamespace(epsilon=1.0, epsilon_spent_=1.5, delta=0.0)
    oracle = SimpleNamespace(averages=averages, spent_before=0.0, noises=[1.0])
    assert private.privacy_entry(oracle, given, found)["epsilon"] == 1.5
    assert (
        private.privacy_entry(oracle, Namespace(**vars(given) | {"seed": 1}), found)["holds"]
        is False
    )


def test_a_share_of_the_budget_is_of_what_is_left():
    for part, expected in ((0.25, 0.25), (0.5, 0.5), (1.0, 1.0), (2.0, 1.0)):
        oracle, *_ = privately(None, least=9)
        oracle.answer(np.arange(50), part)
        assert_allclose(oracle.averages.spent_[:50], 2.0 * expected)
        assert not oracle.averages.spent_[50:].any()
        assert oracle.affords(np.arange(60)) == (expected < 1.0)
    oracle, *_ = privately(None, least=9)
    for size, spent in ((50, 0.8), (51, 1.6), (52, 2.0)):
        oracle.answer(np.arange(size), 0.4)
        assert_allclose(oracle.averages.spent_.max(), spent, rtol=1e-5)
    with pytest.raises(PrivacyBudgetError, match="is spent for some of the 49 rows"):
        oracle.answer(np.arange(49), 0.4)


@pytest.mark.parametrize("has_ledger", [False, True])
def test_answers_are_about_the_rows_that_are_searched(tmp_path, has_ledger):
    rows = np.arange(100, 220, 2)
    ledger = PrivacyLedger(tmp_path / "a.ledger", np.arange(float(N))) if has_ledger else None
    given = Namespace(**GIVEN | {"seed": None, "epsilon": 1e7, "least": 9})
    for n in range(2):
        oracle = private.private_oracle(Y[rows], given, ledger, rows)
        assert (oracle.spent_before > 0) == (has_ledger and n == 1)
        answer, variance = oracle.answer(np.arange(20, 50), 0.1 + 0.1 * n)
        assert answer == pytest.approx(Y[rows[20:50]].clip(10, 30).mean(), abs=1e-3)
        assert 0.0 < variance < 1e-6
    spent = np.flatnonzero(oracle.averages.spent_)
    assert spent.tolist() == (rows[20:50] if has_ledger else np.arange(20, 50)).tolist()


def test_the_budget_of_questions_covers_the_table_once():
    for least, n_first in ((9, 27), (60, 5), (120, 3)):
        given = Namespace(**GIVEN | {"seed": None, "least": least, "budget": None})
        oracle = private.private_oracle(Y, given)
        assert given.budget == math.ceil(n_first / 0.45) and given.least == least
        assert oracle.limits == (10.0, 30.0) and not oracle.repeats
    given = Namespace(**GIVEN | {"seed": None, "least": None, "budget": 7})
    private.private_oracle(Y, given)
    assert given.least == private.private_group_size(N, 2.0, 0.0) and given.budget == 7
    with pytest.raises(ValueError, match="9"):
        private.PrivateOracle(Y, Namespace(**vars(given) | {"least": 9})).answer(np.arange(3), 0.1)


def test_the_default_size_of_private_groups_is_bounded_on_both_sides():
    for n in (10, 64, 640, 100_000):
        for epsilon in (0.01, 0.3, 2.0, 1e6):
            enough = math.ceil(10.0 * math.sqrt(2.0) / epsilon)
            expected = max(2, n // 64, min(enough, n // 2))
            assert private.private_group_size(n, epsilon, 0.0) == expected


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_only_an_average_near_an_end_of_the_range_may_lie_beyond_it(scale):
    low, high = check_range([-scale, 3.0 * scale])
    for mean in np.linspace(-1.0, 3.0, 41) * scale:
        for std in (0.0, 0.01 * scale, 0.05 * scale, scale):
            end = private._end_of_range(SimpleNamespace(mean=mean, std=std), low, high)
            # Within a tenth of the range, and within six standard deviations.
            near = [e for e in (low, high) if abs(mean - e) < 0.4 * scale * (1 - 1e-9)]
            assert end == next((e for e in near if abs(mean - e) <= 6.0 * std), None), (mean, std)


@pytest.mark.parametrize(
    ("error", "ledger", "said"),
    [
        (ValueError("of another table"), "a.ledger", "^of another table$"),
        (TimeoutError("held by another"), "a.ledger", "^cannot use --ledger a.ledger: held by an"),
        (OSError(28, "No space left"), "a.ledger", "^cannot use --ledger a.ledger: No space left$"),
        (OSError("odd"), "a.ledger", "^cannot use --ledger a.ledger: odd$"),
        (OSError(28, "No space left"), None, None),
    ],
)
def test_errors_of_a_ledger_are_named(error, ledger, said):
    raised = OSError if said is None else UsageError
    with pytest.raises(raised, match=said), private.ledger_errors(Namespace(ledger=ledger)):
        raise error


def test_cells_are_compared_as_texts_where_missing_ones_are_empty():
    column = Column("a", "texts", np.array([1.0, np.nan, 0.0]), ("x", "y"))
    assert private._cell_texts(column).tolist() == ["y", "", "x"]


# -- searches of visible rows ---------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Search a table; return its entries and what is printed, or the error."""
    monkeypatch.chdir(tmp_path)

    def run(lines, *more, features=("x",), status=0):
        (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
        words = ["search", "t.csv", "--features", *features, "--target", "y", *map(str, more)]
        assert main([*words, "--output", "r.json"]) == status
        out, err = capsys.readouterr()
        return err if status else (json.loads((tmp_path / "r.json").read_text()), out)

    return run


def test_at_most_five_outliers_are_named(run):
    rng = np.random.default_rng(0)
    y = 10 + 5.0 * (np.arange(800) % 20 > 11) + rng.normal(size=800)
    wild = list(range(50, 400, 50))
    y[wild] = 1e6 + np.arange(7)
    lines = ["x,y", *(f"{i % 20},{value!r}" for i, value in enumerate(y.tolist()))]
    found, printed = run(lines)
    assert found["outliers"] == [{"row": i, "value": y[i]} for i in wild[::-1]]
    named = ", ".join(f"{y[i]:,.6g} in line {i + 2}" for i in wild[:1:-1])
    assert f"perhaps mistyped: {named} and 2 more. In the search" in printed
    assert found["n_groups_met"] > 1 and found["parameters"] == {"min_rows": 40}
    assert found["other_sizes"] and found["new_rows_interval"][0] < found["new_rows_average"]
    for size in found["other_sizes"]:
        rows = Condition(size["where"]).rows({"x": Column("x", "numbers", np.arange(800.0) % 20)})
        assert rows.sum() == size["n_members"]
        assert f"{size['n_members']} rows, {size['group']}: " in printed


def test_the_runner_up_of_visible_rows_has_rows_of_its_own(run):
    x, town = np.arange(600) % 30, np.arange(600) // 300
    y = 5.0 * (x >= 24) * (town == 0) + 4.0 * (x < 6) * (town == 1)
    y += 0.1 * np.random.default_rng(0).normal(size=600)
    cells = zip(x, town, y.tolist(), strict=True)
    found, printed = run(["x,t,y", *(f"{a},{b},{c!r}" for a, b, c in cells)], features=("x", "t"))
    other, rows = found["runner_up"], (x < 6) & (town == 1)
    assert (found["where"], other["where"]) == ("x >= 24 and t = 0", "x <= 5 and t = 1")
    assert (other["n_members"], other["true_average"]) == (60, pytest.approx(y[rows].mean()))
    assert f"60 rows, x up to 5, t 1: {y[rows].mean():,.6g}" in printed


@pytest.mark.parametrize("minimize", [False, True])
def test_chance_is_said_as_the_verdict_has_it(minimize):
    def chance(p):
        verdict = SimpleNamespace(p_value=p)
        return exact._chance(SimpleNamespace(verdict=verdict, minimizes=minimize), "y")

    word = "higher" if minimize else "lower"
    assert chance(0.02) == f"new rows of it may average as much as all rows, or {word}"
    said = "of the tables whose y is dealt out to the rows at random a search finds as much"
    assert chance(0.0201) == f"in 2 % {said}" and chance(1.005) == f"in 100 % {said}"


@pytest.mark.parametrize(("n", "left"), [(4, 0), (3, 0), (3, 1), (4, 2), (1, 3)])
def test_a_search_needs_four_rows(run, n, left):
    lines = ["x,y", *(f"{i},{i * i}" for i in range(n)), *["9,"] * left]
    if n >= 4:
        assert run(lines)[0]["n_rows"] == n
    else:
        noun = "1 row" if n == 1 else f"{n} rows"
        said = f"t.csv has {noun}{' left' if left else ''}, a search needs at least 4\n"
        assert run(lines, status=2).endswith(said)


@pytest.mark.parametrize("more", [[], ["--budget", "9", "--noise", "0.1"]])
def test_files_of_a_search_are_named_after_its_lines(run, tmp_path, monkeypatch, more):
    pytest.importorskip("matplotlib")
    titles = []

    def draw(panels, title):
        titles.append((title, len(panels) > 1))
        return SimpleNamespace(savefig=lambda name: (tmp_path / name).write_text("picture"))

    monkeypatch.setattr(search, "draw_panels", draw)
    lines = ["x,y", *(f"{i % 9},{(i % 9) ** 2}" for i in range(90))]
    found, printed = run(lines, "--plot", "m.png", "--save-rows", "rows.csv", *more)
    assert printed.splitlines()[-4:] == [
        "", "result in r.json", "rows in rows.csv", "map in m.png"
    ]  # fmt: skip
    after = f" after {found['n_rounds']} averages of y" if more else ""
    assert titles == [(f"{found['n_members']} rows of 90 recommended{after}", bool(more))]
    assert (tmp_path / "rows.csv").read_text().count("\n") == 1 + found["n_members"]


def test_a_report_is_printed_and_files_are_named_even_if_one_fails(capsys, tmp_path):
    def fail(name):
        raise OSError(28, "No space left", None if name == "b" else name)

    written = []
    files.write_report(["one"], [("result", "a", written.append), ("map", None, fail)])
    assert written == ["a"] and capsys.readouterr().out == "one\n\nresult in a\n"
    files.write_report(["one"], [("map", None, fail)])
    assert capsys.readouterr().out == "one\n"
    for name, said in (("a", "cannot write a: No space"), ("b", "cannot write the results: No sp")):
        with pytest.raises(UsageError, match=said):
            files.write_report(["one"], [("rows", "c", written.append), ("result", name, fail)])
        assert capsys.readouterr().out == "one\n"
    files.write_json({"a": [1, None], "b": {"c": "ä"}}, str(tmp_path / "r.json"))
    assert (tmp_path / "r.json").read_text() == '{\n  "a": [1, null],\n  "b": {"c": "\\u00e4"}\n}\n'


@pytest.mark.parametrize("name", ["a.png", "b.PDF", "c.svg"])
def test_pictures_have_an_ending_that_can_be_drawn(name):
    pytest.importorskip("matplotlib")
    files.check_picture(name)
    with pytest.raises(UsageError, match=r"cannot draw --plot map.xyz: its .* of \..+, \.png"):
        files.check_picture("map.xyz")
    with pytest.raises(UsageError, match="cannot draw --output png: its name must end in one of"):
        files.check_picture("png", "--output")


@pytest.mark.parametrize(
    "route", [[], ["--budget", "9"], ["--epsilon", "1", "--target-range", "0", "1"], ["--sql"]]
)
def test_only_pictures_need_matplotlib(run, tmp_path, capsys, monkeypatch, route):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    monkeypatch.setattr(search, "search_database", lambda given: pytest.fail("asked the database"))
    if route != ["--sql"]:
        assert run(["x,y", *(f"{i},{i}" for i in range(40))], *route)[1]
    table = ["--sql", "duckdb:///none.db"] if route else ["t.csv"]
    table = ["t.csv", *route] if route != ["--sql"] else table
    words = ["search", *table, "--features", "x", "--target", "y"]
    assert main([*words, "--report", "r.html"]) == 2
    assert f"--report needs matplotlib, which is not installed: {install_command('plot')}" in (
        capsys.readouterr().err
    )
    if route == ["--sql"]:
        databases.check_database(
            Namespace(
                data=None, sql="a", target=[["y"]], features=["x"], group=None, one_hot=[],
                groups=[], output=None, report=None,
            )
        )  # fmt: skip


@pytest.mark.parametrize("route", [[], ["--budget", "9"]])
def test_one_feature_that_varies_is_enough(run, route):
    lines = ["x,y,one", *(f"{i % 9},{(i % 9) ** 2},7" for i in range(90))]
    assert run(lines, *route, features=("one", "x"))[0]["n_rows"] == 90
    said = run(lines, *route, features=("one",), status=2)
    assert "no groups can be formed: every feature has one and the same value" in said


@pytest.mark.parametrize("seed", [[], ["--seed", "5"]])
def test_the_noise_of_answers_has_the_seed_of_the_user(run, monkeypatch, seed):
    seen, real = [], search.NoisyAverages

    def noisy(values, noise, seed):
        seen.append((noise, seed))
        return real(values, noise, seed)

    monkeypatch.setattr(search, "NoisyAverages", noisy)
    run(["x,y", *(f"{i % 9},{i % 9}" for i in range(90))], "--budget", 5, "--noise", 0.5, *seed)
    assert seen == [(0.5, 5 if seed else 0)]


@pytest.mark.parametrize("seed", [[], ["--seed", "5"]])
@pytest.mark.parametrize("more", [[], ["--minimize", "--min-rows", "30"]])
def test_a_search_of_visible_rows_gets_the_options_of_the_user(run, monkeypatch, seed, more):
    seen = []

    def find(table, least, **given):
        seen.append((table.n_rows, least, given.pop("rng").random(), given))
        return real(table, least, rng=np.random.default_rng(0), n_permutations=9, **given)

    real = exact.find_and_judge
    monkeypatch.setattr(exact, "find_and_judge", find)
    found, _ = run(["x,y", *(f"{i % 9},{(i % 9) ** 2}" for i in range(90))], *seed, *more)
    first = np.random.default_rng(5 if seed else 0).random()
    least = 30 if more else 5
    assert seen == [(90, least, first, {"minimize": bool(more), "groups": None})]
    assert found["seed"] == (5 if seed else 0) and found["parameters"] == {"min_rows": least}
    assert found["sought"] == ("lowest" if more else "highest")


# -- databases ------------------------------------------------------------------------------------


def in_database(given=(), **change):
    found = {
        "p_value": 0.0123, "runner_up": None, "n_sample": 4000, "n": 900, "where": '"hour" > 3',
        "subgroup": Subgroup((("hour", Range(3, 9)),)), "effects": {"hour": 2.5},
        "verdict": "real", "new_rows_average": 30.0, "new_rows_interval": (29.0, 31.0),
        "mean": 30.5, "counted_mean": 30.25, "n_asked": 1500,
    }  # fmt: skip
    table = {
        "n_rows": 4000, "n_missing": 0, "missing_code": None, "limits": None, "n_outliers": 0,
        "extremes": (-5.0, 60.0), "true_mean": 21.5, "mean": 21.0, "n_scans": 1200,
    }  # fmt: skip
    arguments = {
        "command": "search", "sql": "duckdb:///a.db", "table": None, "target": "price",
        "features": ["hour"], "minimize": False, "seed": None,
    } | dict(given)  # fmt: skip
    for name, value in change.items():
        (found if name in found else table)[name] = value
    return databases._finding(
        SimpleNamespace(**found), SimpleNamespace(**table), Namespace(**arguments), 40, ["panel"]
    )


def test_a_search_of_a_database_hands_over_what_was_counted():
    finding = in_database()
    entries = finding.to_json()
    shown = {
        "source": "duckdb:///a.db", "answers": "exact", "n_rows": 4000, "n_members": 900,
        "where": '"hour" > 3', "sought": "highest", "verdict": "real", "p_value": 0.0123,
        "new_rows_average": 30.0, "new_rows_interval": [29.0, 31.0], "true_average": 30.5,
        "true_average_of_table": 21.5, "outliers_count_as": None, "counted_average": 30.25,
        "counted_average_of_table": 21.0, "missing_code": None, "runner_up": None,
        "n_rows_without_target": 0, "n_outliers": 0, "n_scans": 1200, "n_rows_searched": 4000,
        "n_questions": 1500, "seed": 0, "parameters": {"min_rows": 40},
    }  # fmt: skip
    assert {name: entries[name] for name in shown} == shown
    assert finding.table == "duckdb:///a.db, 4,000 rows" and finding.remarks == []
    lines = dict(finding.statements)
    assert lines["verdict"] == "real: p = 0.012, by rows that had no part in the choice"
    assert lines["how it was found"] == "1,200 queries to the table, 1,500 to 4,000 rows of it"
    assert lines["  hour"] == "3 to 8" and "runner-up" not in lines
    assert lines["exactly these rows"] == 'WHERE "hour" > 3'
    assert "no row left it. All rows were searched for the box with the highest" in finding.method
    assert finding.panels() == ["panel"]


def test_numbers_of_a_database_are_said_as_they_are():
    said = dict(in_database(p_value=1e-6).statements)["verdict"]
    assert said.startswith("real: p < 1e-06, by")
    assert "p = 1.1e-06" in dict(in_database(p_value=1.1e-6).statements)["verdict"]
    given = {"table": "sales", "minimize": True, "seed": 5}
    finding = in_database(given, n_missing=1234, n_sample=3999, new_rows_interval=None)
    assert finding.table == (
        "table sales of duckdb:///a.db, 4,000 rows (1,234 without price left out)"
    )
    assert finding.to_json()["n_rows_without_target"] == 1234 and finding.to_json()["seed"] == 5
    assert "A sample of the rows was searched for the box with the lowest" in finding.method
    assert finding.new_rows_interval is None
    finding = in_database(runner_up=("x < 3", 40, 28.5))
    assert finding.runner_up == {"n_members": 40, "where": "x < 3", "counted_average": 28.5}
    assert dict(finding.statements)["runner-up"] == "40 rows, WHERE x < 3: 28.5"
    ((remark,),) = in_database(missing_code=-99.0).remarks
    assert "-99 is often the value of price" in remark and remark.endswith("with price <> -99")


@pytest.mark.parametrize(
    ("limits", "n", "said"),
    [
        ((-9.0, 50.0), 1, "in 1 row: 60. In the"),
        ((0.0, 70.0), 2, "in 2 rows: -5 and 1 more. In the"),
        ((0.0, 50.0), 3, "in 3 rows: -5, 60 and 1 more. In the"),
    ],
)
def test_outliers_of_a_database_are_named_by_their_ends(limits, n, said):
    finding = in_database(limits=limits, n_outliers=n)
    ((remark,),) = finding.remarks
    assert f"perhaps mistyped, {said}" in remark
    assert finding.outliers_count_as == list(limits) and finding.to_json()["n_outliers"] == n


@pytest.mark.parametrize("report", [None, "r.html"])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (None, None),
        (ScansSpentError("the table needs 5"), "--max-scans 9 is too few: the table needs 5"),
        (DatabaseError("did not answer"), "did not answer"),
        (ValueError("no rows"), "no rows"),
    ],
)
def test_a_database_is_opened_asked_and_left(monkeypatch, error, said, report):
    seen = {}
    address = "postgresql://ann:t0psecret@db.example/shop"
    backend = SimpleNamespace(disconnect=lambda: seen.update(left=seen.get("left", 0) + 1))
    expression = SimpleNamespace(get_backend=lambda: backend)

    def connect(*given):
        seen.update(opened=given)
        return expression

    def make_table(*given, **more):
        seen.update(table=(given, more))
        return SimpleNamespace(n_rows=1000)

    def find(table, least, **given):
        seen.update(asked=(least, given))
        if error is not None:
            raise error
        return SimpleNamespace(subgroup="box", counted_mean=3.0)

    package = SimpleNamespace(IbisTable=make_table, find_in_database=find)
    monkeypatch.setitem(sys.modules, "skgpb.lab.sql", package)
    monkeypatch.setitem(sys.modules, "skgpb.lab.sql.connection", SimpleNamespace(connect=connect))
    monkeypatch.setattr(databases, "make_panels", lambda *given: ["drawn", *given[1:]])
    monkeypatch.setattr(databases, "_finding", lambda *given: given)
    given = Namespace(
        sql=address, table="sales", features=["x"], target="y", where="x > 1",
        max_scans=9, min_rows=0.1, sample=0.5, minimize=True, seed=5, report=report,
    )  # fmt: skip
    if error is None:
        *_, arguments, least, panels = databases.search_database(given)
        assert (arguments, least) == (given, 100)
        assert panels == (["drawn", "box", 3.0] if report else [])
    else:
        with pytest.raises(UsageError, match=f"^{said}$"):
            databases.search_database(given)
    secrets = seen["table"][1]["secrets"]
    assert "t0psecret" in secrets
    assert seen == {
        "opened": (address, "sales"), "left": 1,
        "table": ((expression, ["x"], "y"), {"where": "x > 1", "max_scans": 9, "secrets": secrets}),
        "asked": (100, {"minimize": True, "n_sample": 500, "seed": 5}),
    }  # fmt: skip
    given.sample, given.seed, given.min_rows = None, None, None
    if error is None:
        databases.search_database(given)
        assert seen["asked"] == (50, {"minimize": True, "n_sample": None, "seed": 0})


# -- tables ---------------------------------------------------------------------------------------


ROWS = [f"{i % 8},{i % 3},{'AB'[i % 2]},{(i % 8) ** 2 + i % 5}" for i in range(48)]
HEAD = "x,z,town,y"


@pytest.fixture
def read(run, monkeypatch):
    """Read a table for a search; return its description and conditions."""

    def stop(table, arguments):
        raise UsageError(f"{table.description} | {' and '.join(table.conditions)}")

    def read(lines, *more, **given):
        said = run(lines, *more, status=2, **given)
        return [part.strip() for part in said.removeprefix("skgpb: error: ").split("|")]

    monkeypatch.setattr(search, "search_exactly", stop)
    return read


def test_notes_say_of_each_row_why_it_is_not_searched(read):
    assert read([HEAD, *ROWS]) == ["t.csv, 48 rows", ""]
    lines = [HEAD, *ROWS, "1,,A,5", "2,1,B,", "3,1,A,<7"]
    limits = "1 cells such as <0.5 or >100 count as their limit"
    assert read(lines) == [
        f"t.csv, 50 rows (1 without a value of y left out; {limits})",
        "y is not missing",
    ]
    assert read(lines, "--drop-missing", "--where", "x < 7", features=("x", "z")) == [
        f"t.csv, 43 rows (2 with missing values left out; 6 not selected by --where; {limits})",
        "(x < 7) and y is not missing and z is not missing",
    ]
    odd = [*lines, "9,odd,A,8", "9,odd,A,"]
    assert read(odd, "--unreadable", "missing", features=("x", "z"))[0] == (
        "t.csv, 51 rows (2 without a value of y left out; 2 cells that cannot be read count as "
        f"missing; {limits})"
    )
    assert read(["x,y,y", *(f"{i},{i},{i}" for i in range(9))])[0] == (
        "t.csv, 9 rows (of 2 columns called y the first)"
    )


@pytest.mark.parametrize("place", [0, 20, 47])
@pytest.mark.parametrize("n", [1, 2])
def test_ways_out_of_unreadable_cells_fit_the_table(run, place, n):
    lines = [HEAD, *ROWS]
    for i in range(n):
        lines[1 + (place + i) % 48] = "odd,1,A,5"
    err = run(lines, status=2)
    ways = [
        "correct them" if n > 1 else "correct it",
        'leave out such rows by --where "x is not missing"',
    ]
    ways += ["take such cells for missing values by --unreadable missing"]
    ways += ['take all cells for categories by --one-hot "x"']
    ways += ["say --header 2 if it belongs to the header"] if place == 0 or place + n > 48 else []
    assert err.endswith(f": {', '.join(ways[:-1])}, or {ways[-1]}\n")


@pytest.mark.parametrize(
    ("n_others", "last", "is_total"),
    [
        (9, 1.0, True),
        (8, 1.0, False),
        (40, 1.00009, True),
        (40, 1.00011, False),
        (40, 0.99991, True),
        (40, 0.9, False),
    ],
)
def test_a_sum_of_all_other_rows_is_recognised(run, n_others, last, is_total):
    y = 10.0 + np.arange(n_others)
    cells = [f"{i % 4},{value!r}" for i, value in enumerate([*y.tolist(), float(y.sum() * last)])]
    lines = ["x,y", *cells]
    if is_total:
        assert f"line {n_others + 2}, column 'y': " in run(lines, status=2)
    else:
        run(lines, "--min-rows", 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--where", "z > 7"], "--where 'z > 7' selects none of the 48 rows"),
        (["--where", "x >"], "--where"),
        (["--group", "y"], "--group 'y' is the --target"),
        (["--one-hot", "z"], "--one-hot 'z' is not one of --features"),
        (["--groups", "x", "--one-hot", "x"], "cannot be combined"),
        (["--budget", "9", "--groups", "x", "--one-hot", "x"], "'x' is both in --one-hot and in"),
        (["--target", "x = 3"], "--target takes one column"),
        (["--sheet", "a"], "--sheet a has no effect on"),
        (
            ["--epsilon", "1", "--target-range", "0", "9", "--where", "y > 3"],
            "--where compares 'y', which",
        ),
        (["--dates", "%Y"], "--dates %Y has no effect: none of the columns 'x', 'y' holds dates"),
        (["--features", "x", "z", "x"], "--features names 'x' more than once"),
    ],
)
def test_what_cannot_be_searched_is_said(run, options, said):
    options = [
        *options,
        *(["--budget", "9"] if "--groups" in options[:1] and said[0] == "'" else []),
    ]
    assert said in run([HEAD, *ROWS], *options, status=2) or said == "cannot be combined"


@pytest.mark.parametrize("header", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("first", [0, 1, -1])
@pytest.mark.parametrize("others", [0, 2])
def test_all_ways_out_of_unreadable_cells_work(header, n, first, others):
    odd = dict.fromkeys([(first + i) % 8 for i in range(n)], "odd")
    columns = {
        name: SimpleNamespace(unreadable=dict.fromkeys(range(k), "odd") if name != "x" else odd)
        for name, k in (("x", n), ("z", others), ("y", 0))
    }
    file = SimpleNamespace(unreadable=lambda column, selected: "odd cells")
    given = Namespace(unreadable="error", features=["x"], header=header)
    selected = np.ones(8, dtype=bool)
    with pytest.raises(UsageError) as error:
        tables._check_readable(file, columns, selected, given)
    ways = ["correct them" if n + others > 1 else "correct it"]
    ways += ['leave out such rows by --where "x is not missing"']
    ways += ["take such cells for missing values by --unreadable missing"]
    ways += ['take all cells for categories by --one-hot "x"']
    # More than half of a column are no header.
    ways += [f"say --header {header + 1} if it belongs to the header"] * (
        0 in odd and header > 0 and n < 4
    )
    more = "; 2 in column 'z'" if others else ""
    assert str(error.value) == f"odd cells{more}: {', '.join(ways[:-1])}, or {ways[-1]}"
    given.unreadable = "missing"
    assert tables._check_readable(file, columns, selected, given) == n + others
    given.unreadable, selected[:] = "error", False
    assert tables._check_readable(file, columns, selected, given) == 0


def test_conditions_name_the_columns_that_lack_values_where_rows_are_selected(read):
    lines = [HEAD, *ROWS, "9,1,B,", "9,,B,7"]
    assert read(lines)[1] == "y is not missing"
    for more in ([], ["--drop-missing"]):
        assert read(lines, "--where", "x < 9", *more, features=("x", "z"))[1] == "(x < 9)"
    where = read(lines, "--where", "x > 8 or x < 2", "--drop-missing", features=("x", "z"))[1]
    assert where == "(x > 8 or x < 2) and y is not missing and z is not missing"


@pytest.mark.parametrize("n", [2, 3])
def test_a_target_of_texts_is_asked_about_with_two_of_them(run, n):
    err = run(["x,y", *(f"{i},{'abc'[i % n]}1" for i in range(40))], status=2)
    assert 'by --target "y = a1" or "y = b1"\n' in err and "c1" not in err


def test_standard_input_that_cannot_be_read_is_named(run, monkeypatch):
    def fail(*given):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(tables, "TableFile", fail)
    assert "cannot read t.csv: Input/output error" in run(["x,y"], status=2)
    with pytest.raises(UsageError, match="cannot read standard input: Input/output error"):
        tables.read_search(Namespace(data="-", where=None))


def test_only_what_cannot_be_computed_again_is_kept(tmp_path):
    old, packed, new = tmp_path / "old.json", tmp_path / "a.zip", tmp_path / "new.json"
    old.write_text("{}")
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("other.json", "{}")
    files.check_outputs({"--output": str(old), "--plot": str(packed), "--report": str(new)})
    files.check_outputs({"--output": None, "--plot": None}, str(old))
    ledger = tmp_path / "a.ledger"
    ledger.write_bytes(files.LEDGER + b"}")
    files.check_outputs({"--ledger": str(ledger)})
    for given, said in (
        ({"--output": ledger}, "it holds a privacy ledger"),
        ({"--ledger": tmp_path}, "cannot write --ledger .*: it is a directory"),
        ({"--output": new, "--plot": new}, "--plot .* would overwrite --output"),
        ({"--output": new, "--plot": tmp_path / "." / "new.json"}, "would overwrite --output"),
    ):
        with pytest.raises(UsageError, match=said):
            files.check_outputs({option: str(path) for option, path in given.items()})


def test_identities_are_sought_in_the_other_columns(run, monkeypatch):
    seen = []

    def find(columns, values):
        seen.append((list(columns), len(values), {len(each) for each in columns.values()}))

    def stop(table, arguments):
        raise UsageError(f"{table.identity} {table.together is None}")

    monkeypatch.setattr(tables, "find_identity", find)
    monkeypatch.setattr(search, "search_exactly", stop)
    lines = [HEAD, *ROWS, "1,odd,B,"]
    assert run(lines, status=2).endswith(" None True\n")
    assert seen.pop() == (["x", "z", "town"], 48, {48})
    run(lines, "--where", "z < 2", status=2)
    assert seen.pop() == (["x", "z", "town"], 32, {32})
    monkeypatch.setattr(tables, "MOST_OTHERS", 1)
    run(lines, status=2)
    assert seen.pop()[0] == ["x", "z"]
    monkeypatch.setattr(tables, "MOST_CHECKED", 48)
    run(lines, status=2)
    assert seen.pop()
    monkeypatch.setattr(tables, "MOST_CHECKED", 47)
    run(lines, status=2)
    run(lines, "--budget", 9)
    assert run(lines, "--group", "x", features=("town",), status=2).endswith(" None False\n")
    assert not seen


# -- the demo and the app -------------------------------------------------------------------------


def test_the_demo_asks_for_the_brightness_of_a_photograph(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows, columns = np.indices((32, 48), dtype=float)
    light = np.exp(-((columns - 30) ** 2 + (rows - 10) ** 2) / 60)
    image = np.repeat((255 * light).astype(np.uint8)[..., None], 3, axis=2)
    places = np.column_stack([columns.ravel(), rows.ravel()])
    monkeypatch.setattr(demo, "load_flower", lambda: (places, light.ravel(), image))
    drawn = []

    def draw(found, of):
        drawn.append((found, of))
        return SimpleNamespace(savefig=lambda name: (tmp_path / name).write_text("picture"))

    monkeypatch.setattr(demo, "draw_photograph", draw)
    pytest.importorskip("matplotlib")
    assert main(["demo", "--budget", "30", "--output", "a.json", "--plot", "b.png"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Highest average of brightness in a photograph of 48 x 32 pixels\n")
    assert printed.endswith("\nresult in a.json\nmap in b.png\n")
    found = json.loads((tmp_path / "a.json").read_text())
    shown = {
        "command": "demo", "source": "flower.jpg", "features": ["column (pixels)", "row (pixels)"],
        "target": "brightness", "sought": "highest", "n_rows": 32 * 48, "answers": "noisy",
        "parameters": {
            "budget": 30, "stop_within": None, "confidence": 0.95, "noise": 0.05, "alpha": None,
            "min_rows": 6,
        },
    }  # fmt: skip
    assert {name: found[name] for name in shown} == shown
    assert found["true_average"] > 3 * found["true_average_of_table"]
    assert (found["lower"][0], found["upper"][0]) != (found["lower"][1], found["upper"][1])
    ((result, of),) = drawn
    assert of is image and np.array_equal(result.members, found["members"])
    for wrong in (["--confidence", "0.5"], ["--output", "gone/a.json"], ["--plot", "b.xyz"]):
        assert main(["demo", *wrong]) == 2
    assert len(drawn) == 1


def test_the_address_of_the_app_is_printed_at_once(tmp_path, monkeypatch):
    class Stream(io.StringIO):
        flushed = 0

        def flush(self):
            self.flushed = len(self.getvalue())

    def serve(file, host, port, ready):
        ready("http://127.0.0.1:81/")
        assert out.flushed == len(out.getvalue()) > 0

    monkeypatch.setattr(app, "serve", serve)
    for host in ("127.0.0.1", "0.0.0.0"):
        out = Stream()
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["app", str(tmp_path), "--host", host]) == 0


@pytest.mark.parametrize(
    ("options", "is_terminal", "opens"),
    [([], True, True), ([], False, False), (["--no-browser"], True, False)],
)
def test_the_app_opens_a_browser_on_a_terminal(
    tmp_path, monkeypatch, capsys, options, is_terminal, opens
):
    served, opened = [], []

    def serve(file, host, port, ready):
        served.append((file, host, port))
        ready("http://127.0.0.1:81/")
        if port == 81:
            Experiment.create(file, ["x=0:1"])

    monkeypatch.setattr(app, "serve", serve)
    monkeypatch.setattr(app.webbrowser, "open", opened.append)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    path = str(tmp_path / "run.skgpb")
    assert main(["app", path, *options]) == 0
    assert capsys.readouterr().out == (
        f"{path} is shown at http://127.0.0.1:81/ until you press Ctrl-C\n"
        "\nstopped; no experiment was begun\n"
    )
    assert opened == ["http://127.0.0.1:81/"] * opens
    assert main(["app", path, *options, "--port", "81"]) == 0
    assert capsys.readouterr().out.endswith(f"\nstopped; everything is saved in {path}\n")
    assert main(["app", path, *options, "--host", "0.0.0.0"]) == 0
    assert "whoever reaches port 81 of this computer can read" in capsys.readouterr().out
    assert main(["app", str(tmp_path), *options]) == 0
    assert [each[1:] for each in served] == [
        ("127.0.0.1", None), ("127.0.0.1", 81), ("0.0.0.0", None), ("127.0.0.1", None)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "options", "said"),
    [
        (ImportError("needs flask"), [], "needs flask"),
        (OSError(98, "in use"), ["--port", "81"], "cannot listen at 127.0.0.1:81: in use"),
        (OSError(98, "in use"), [], "cannot listen at 127.0.0.1: in use"),
        (OSError("odd"), ["--host", "lab"], "cannot listen at lab: odd"),
    ],
)
def test_an_app_that_cannot_be_served_says_why(tmp_path, monkeypatch, capsys, error, options, said):
    def serve(*given):
        raise error

    monkeypatch.setattr(app, "serve", serve)
    assert main(["app", str(tmp_path), *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"skgpb: error: {said}\n")


def test_nothing_is_served_that_cannot_be_opened(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(app, "serve", lambda *given: pytest.fail("served"))
    damaged = tmp_path / "damaged.skgpb"
    damaged.write_bytes(b"no run")
    monkeypatch.setattr(
        app.os, "listdir", lambda path: (_ for _ in ()).throw(PermissionError("no"))
    )
    for path, said in (
        (damaged, f"cannot open {damaged}: "),
        (tmp_path / "nowhere" / "run.skgpb", "cannot write RUN.skgpb "),
        (tmp_path, f"cannot open {tmp_path}: no"),
    ):
        assert main(["app", str(path)]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith(f"skgpb: error: {said}") and err.count("\n") == 1
