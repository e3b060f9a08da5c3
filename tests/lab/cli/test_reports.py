"""Lines of reports, from findings that are written by hand, and averages of parts of a picture."""

from __future__ import annotations

import html
from datetime import date
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb.lab.cli import html_report
from skgpb.lab.cli.averaged import AskedFinding, _matters
from skgpb.lab.cli.counted import SCOPE, CountedFinding
from skgpb.lab.cli.database_pictures import (
    _draw_profile,
    _interval_ends,
    _merge_levels,
    _positions,
    format_value,
    make_panels,
)
from skgpb.lab.cli.exact import member_entries
from skgpb.lab.cli.finding import LONGEST, describe_rival, where_option
from skgpb.lab.cli.pictures import PARTS, Panel, draw_panels
from skgpb.lab.cli.private import privacy_remark
from skgpb.lab.cli.words import listed
from skgpb.lab.datasets.columns import Column
from skgpb.lab.tables.conditions import Categories, Range, Subgroup
from skgpb.lab.tables.levels import Levels, Moments

GROUP = {
    "command": "search", "source": "sales.csv", "table": "the rows of sales.csv",
    "answers": "exact", "features": ["shop", "hour"], "target": "sales", "minimizes": False,
    "n_rows": 1000, "n_members": 80, "sides": {"shop": "Ann's, Dee", "hour": "12 or more"},
    "where": "shop = 'x'", "exactly": "--where x", "effects": {"shop": 6.5, "hour": 2.25},
    "runner_up": None, "rival": "40 rows", "method": "A method.", "seed": 3, "parameters": {},
}  # fmt: skip
COUNTED = {
    "verdict": "real", "p_value": 0.005, "new_rows_average": 30.0,
    "new_rows_interval": [28.5, 31.25], "true_average": 99.0, "true_average_of_table": 98.0,
    "outliers_count_as": None, "counted_average": 31.4159265, "counted_average_of_table": 21.0,
    "missing_code": None, "chance": "in 40 % of the tables", "test": "0 of 199", "how": "all rows",
    "outliers": ": 70 in line 3", "extremes": (-9.0, 70.0), "without_code": "sales != 1",
    "luck": 1.4159265,
}  # fmt: skip


def counted(**change):
    return CountedFinding(**(GROUP | COUNTED | change))


def test_a_report_has_the_group_its_averages_and_the_verdict():
    found = counted()
    assert found.title == "Highest average of sales"
    assert found.headline == [
        "The group is real: new rows of it are expected to average 30 (28.5 to 31.25 with 95 % "
        "probability), all rows 21.",
        SCOPE,
    ]
    assert found.conclusion[0] == (
        "The 80 rows with <strong>shop</strong> Ann&#x27;s, Dee and <strong>hour</strong> 12 or "
        "more average <strong>31.42</strong>."
    )
    rows = dict(found.statements)
    assert rows["recommended group"] == "80 rows, 8 % of the table"
    assert (rows["  shop"], rows["exactly these rows"]) == ("Ann's, Dee", "--where x")
    assert rows["average of these rows"] == (
        "31.4159, of the whole table 21; about 1.42 of this is luck"
    )
    assert rows["average of new rows"] == (
        "30 expected, with 95 % probability between 28.5 and 31.25"
    )
    assert rows["verdict"] == "real: 0 of 199" and rows["runner-up"] == "40 rows"
    assert rows["what matters"] == "shop (6.5 lower without it), hour (2.25 lower without it)"
    assert found.statements[-1] == ("how it was found", "all rows") and found.remarks == []
    lines = found.lines
    assert lines[0] == "Highest average of sales in the rows of sales.csv"
    assert lines[2:5] == [*found.headline, ""]
    assert (
        len({line.index(text) for line, (_, text) in zip(lines[5:], found.statements, strict=True)})
        == 1
    )
    entries = found.to_json()
    assert entries["sought"] == "highest" and entries["seed"] == 3
    assert entries["new_rows_interval"] == [28.5, 31.25] and entries["p_value"] == 0.005


def test_averages_of_a_headline_and_a_remark_have_four_digits():
    rounded = counted(
        new_rows_average=30.12345, new_rows_interval=[28.98765, 31.0],
        counted_average_of_table=2e5 / 3,
    )  # fmt: skip
    said = "average 30.12 (28.99 to 31 with 95 % probability), all rows 66,670."
    assert rounded.headline[0].endswith(said)
    ((remark,),) = counted(outliers_count_as=[-5.12345, 60.98765]).remarks
    assert "they count as -5.123 or 60.99. As" in remark


@pytest.mark.parametrize("luck", [None, -0.5, 0.0])
def test_luck_is_named_only_if_there_is_any(luck):
    assert "luck" not in dict(counted(luck=luck).statements)["average of these rows"]
    same = counted(new_rows_average=31.41592651)
    assert "luck" not in dict(same.statements)["average of these rows"]


def test_groups_of_other_sizes_are_listed_below_the_group():
    sizes = [
        {"n_members": 1200, "group": "shop x", "new_rows_average": 31.98765,
         "new_rows_interval": [30.12345, 32.5]},
        {"n_members": 1, "group": "hour 3", "new_rows_average": None, "new_rows_interval": None},
    ]  # fmt: skip
    lines = counted(sizes=sizes).statements
    assert lines[-3:-1] == [
        ("other sizes", "1,200 rows, shop x: new rows 31.99 (30.12 to 32.5)"),
        ("", "1 row, hour 3: too few rows to say what new ones average"),
    ]
    assert counted(sizes=sizes, n_members=1000).statements[-2][0] == "average of these rows"
    assert counted(sides={}).conclusion == counted().headline


def test_a_group_by_chance_and_the_whole_table_are_called_so():
    assert counted(verdict="chance").headline == ["The group may be chance: in 40 % of the tables."]
    for minimizes, word in ((False, "higher"), (True, "lower")):
        whole = counted(n_members=1000, minimizes=minimizes)
        assert whole.headline == [f"No group has a {word} average than the whole table."]
        names = [name for name, _ in whole.statements]
        assert not {"verdict", "runner-up", "what matters", "average of new rows"} & set(names)
        assert whole.conclusion == whole.headline
    low = counted(minimizes=True)
    assert low.sought == "lowest"
    assert dict(low.statements)["what matters"].startswith("shop (6.5 higher without it)")
    unknown = counted(new_rows_average=None, new_rows_interval=None, luck=None)
    assert unknown.headline[0] == "The group is real."
    assert "average of new rows" not in dict(unknown.statements)
    assert "exactly these rows" not in dict(counted(exactly="").statements)


def test_long_lists_and_conditions_are_shortened():
    effects = {f"x{i}": 9.0 - i for i in range(7)}
    text = dict(counted(effects=effects).statements)["what matters"]
    assert text.count("without it") == 5 and text.endswith("x4 (5 lower without it) and 2 more")
    assert (
        listed(list("abcde")) == "a, b, c, d, e"
        and listed(list("ab"), 5, 1002) == "a, b and 1,000 more"
    )
    assert where_option("") == "" and where_option("a = 1") == '--where "a = 1"'
    long = "a" * (LONGEST - len('--where ""'))
    assert where_option(long) == f'--where "{long}"'
    assert where_option(long + "a").startswith("a condition of 2,001 letters, see where")
    assert describe_rival(1, "shop x", 2.5, 2.0) == "1 row, shop x: 2.5"


@pytest.mark.parametrize(
    ("extremes", "said"),
    [((-9.0, 70.0), "-5 or 60"), ((-5.0, 70.0), "60"), ((-9.0, 60.0), "-5")],
)
def test_outliers_count_as_the_end_that_they_are_beyond(extremes, said):
    ((text,),) = counted(outliers_count_as=[-5.0, 60.0], extremes=extremes).remarks
    assert f"they count as {said}." in text and "mistyped: 70 in line 3." in text
    assert text.endswith("these rows average 99 and the whole table 98.")


def test_codes_and_rows_that_belong_together_are_remarked():
    (code,), (together,) = counted(missing_code=9999.0, together="Rows repeat.").remarks
    assert code.startswith("9,999 is often the value of sales") and together == "Rows repeat."
    assert code.endswith("--where sales != 1")


@pytest.mark.parametrize("n", [0, 2])
def test_a_page_has_what_is_printed_and_its_pictures(tmp_path, n, monkeypatch):
    monkeypatch.setattr(html_report, "_figure", lambda panel: f"[{panel.caption}]")
    panels = [Panel(lambda ax: None, f"picture {i}") for i in range(n)]
    found = counted(together="Rows < repeat.")
    html_report.write_page(found, panels, str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text("utf-8")
    assert ("<h2>Pictures</h2>" in page) == ("[picture 0]\n[picture 1]" in page) == (n > 0)
    assert "<p>Rows &lt; repeat.</p>" in page and "A method." in page
    assert "<title>Highest average of sales</title>" in page
    for name, text in found.statements:
        code = f"<code>{text}</code>" if name.startswith("exactly") else html.escape(text)
        assert f"<dt>{name.strip()}</dt><dd>{code}</dd>" in page
    for line in found.conclusion:
        assert f"<p>{line}</p>" in page


# -- searches that ask ----------------------------------------------------------------------------


def asked(n_groups=2, enough=None, is_significant=True, truth=None, privacy=None, **change):
    search = SimpleNamespace(
        groups=[None] * n_groups, n_answers=1200, engine="model", r2_loo=0.5, model=object()
    )
    for name in ("engine", "r2_loo", "model"):
        if name in change:
            setattr(search, name, change.pop(name))
    found = SimpleNamespace(
        search=search, enough=enough, mean=5.25, std=0.5, interval=(4.0, 6.5), gain=(2.0, 0.5),
        gain_interval=(1.0, 3.0), is_significant=is_significant, probability_of_gain=0.9,
        probability_of_best=0.4, runner_up_better=0.004,
    )  # fmt: skip
    more = {"smallest_group_asked": 7, "share_of_rows_averaged_singly": 0.02}
    given = GROUP | {"more": more} | change
    return AskedFinding(
        found=found, noise="exactly", truth=truth or {}, privacy=privacy or {}, **given
    )


@pytest.mark.parametrize("minimizes", [False, True])
@pytest.mark.parametrize("is_significant", [False, True])
@pytest.mark.parametrize("rival", ["", "40 rows"])
def test_a_group_is_compared_with_the_table_and_the_runner_up(minimizes, is_significant, rival):
    found = asked(is_significant=is_significant, minimizes=minimizes, rival=rival)
    rows = dict(found.statements)
    text = rows[("lower" if minimizes else "higher") + " than the table"]
    assert text.startswith("by 2, with 95 % probability by 1 to 3: ")
    assert ("may be noise alone" in text) == (not is_significant)
    assert rows.get("runner-up", "") == (
        f"{rival} (less than 1 % chance that it is the better one)" if rival else ""
    )
    assert rows["how sure"] == "40 % that no other of the 2 groups asked is better"
    assert rows["average found"] == "5.25, with 95 % probability between 4 and 6.5"
    assert rows["questions asked"] == "1,200 on 2 groups, exactly"
    assert rows["smallest group asked"] == "7 rows" and rows["groups of one row"] == "2 %"
    (said,) = found.conclusion
    assert (
        "about <strong>5.25</strong>" in said and "by 2 (with 95 % probability by 1 to 3)" in said
    )
    assert ("ask more questions" in said) == (not is_significant)
    private = asked(is_significant=is_significant, privacy=PRIVACY).conclusion[0]
    assert "ask more questions" not in private
    entries = found.to_json()
    assert (entries["posterior_mean"], entries["gain"]) == (5.25, 2.0)
    whole = asked(n_members=1000, minimizes=minimizes)
    assert "how sure" not in dict(whole.statements)
    assert whole.conclusion[0].startswith("No group is known to have a")


def test_true_averages_are_only_for_the_report():
    truth = {"true_average": 5.0, "true_average_of_table": 3.0, "best_by_chance": 4.5}
    for minimizes, side in ((False, "above"), (True, "below")):
        rows = dict(asked(truth=truth, minimizes=minimizes).statements)
        assert rows["true average"] == "5, of the whole table 3 (computed only for this report)"
        assert rows["by chance"].endswith(f"seldom {side} 4.5")
    assert "by chance" not in dict(asked(truth=truth, n_members=1000).statements)
    assert "true average" not in dict(asked().statements)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "predicts 50 % of the variance"),
        ({"engine": "halving"}, "the worse half of the groups was left out"),
        ({"engine": "halving", "model": None}, "too few answers for a model"),
    ],
)
def test_how_a_group_was_found_is_said(change, said):
    assert said in dict(asked(**change).statements)["how it was found"]


@pytest.mark.parametrize("share", [0.099, 0.1])
def test_features_that_matter_are_told_from_those_that_hardly_do(share):
    text = _matters({"a": 2.0, "b": 2.0 * share, "c": 0.0})
    assert text == ("a (by 2); hardly b, c" if share < 0.1 else "a (by 2), b (by 0.2); hardly c")
    assert _matters({"a": 0.0}).startswith("no feature")
    assert _matters({f"x{i}": 2.0 for i in range(7)}).endswith("x4 (by 2) and 2 more")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n_members": 1000}, ["As far as these answers say"]),
        ({}, []),
        ({"n_members": 1000, "n_groups": 1}, ["The budget was too small"]),
        ({"enough": "within 1"}, ["Enough is known: the group is within 1."]),
    ],
)
def test_the_limits_of_the_numbers_are_said(change, said):
    remarks = asked(**change).remarks
    assert len(remarks) == len(said)
    assert all(text in remark[0] for text, remark in zip(said, remarks, strict=True))
    assert len(asked(privacy=PRIVACY, **change).remarks) == len(said) + 1


PRIVACY = {
    "holds": True, "target_range": [0.0, 9.0], "at_end_of_range": None, "delta": 1e-9,
    "protected": "one value", "ledger": None, "epsilon": 2.0, "epsilon_spent": 1.5,
    "epsilon_spent_before": 0.5,
}  # fmt: skip


def test_what_is_private_is_said_with_what_weakens_it():
    assert privacy_remark(PRIVACY | {"holds": False}, 100)[0].startswith("NOT PRIVATE")
    for end, word in ((9.0, "above 9 count as 9"), (0.0, "below 0 count as 0")):
        text = " ".join(privacy_remark(PRIVACY | {"at_end_of_range": end}, 100))
        assert f"values {word}" in text
    shares = PRIVACY | {"at_end_of_range": 1.0, "target_range": [0.0, 1.0]}
    assert "Take a wider range" not in " ".join(privacy_remark(shares, 100))
    assert "weak promise" not in " ".join(privacy_remark(PRIVACY, 100))
    assert "the 100 rows" in " ".join(privacy_remark(PRIVACY | {"delta": 0.5}, 100))
    text = " ".join(privacy_remark(PRIVACY | {"ledger": "a.ledger"}, 100))
    assert "the ledger a.ledger" in text and "0.5 of it before" in text


# -- parts of pictures ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_merged_levels_have_the_moments_of_all_their_rows(seed):
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=int(rng.integers(0, 6))) for _ in range(9)]

    def moments(parts):
        return Moments(
            np.array([len(part) for part in parts]),
            np.array([part.mean() if len(part) else 0.0 for part in parts]),
            np.array([part.var() if len(part) else 0.0 for part in parts]),
        )

    starts = np.array([0, 2, 3, 7])
    merged = _merge_levels(moments(rows), starts)
    ends = [*starts[1:], 9]
    expected = moments([np.concatenate(rows[a:b]) for a, b in zip(starts, ends, strict=True)])
    for name in ("n", "mean", "variance"):
        assert_allclose(getattr(merged, name), getattr(expected, name), atol=1e-12)
    low, high = _interval_ends(expected)
    for i, (a, b) in enumerate(zip(starts, ends, strict=True)):
        part = np.concatenate(rows[a:b])
        if len(part) > 1:
            half = 1.96 * part.std(ddof=1) / np.sqrt(len(part))
            assert_allclose([low[i], high[i]], [part.mean() - half, part.mean() + half])


class Axes:
    """Axes that keep what is drawn on them."""

    def __init__(self):
        self.drawn = []
        self.xaxis = self

    def __getattr__(self, name):
        return lambda *given, **options: self.drawn.append((name, given))

    def named(self, name):
        return [given for each, given in self.drawn if each == name]


def averages_of(n_levels, seed=0):
    rng = np.random.default_rng(seed)
    return Moments(rng.integers(2, 9, n_levels), rng.normal(size=n_levels), np.ones(n_levels))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("side", "span"), [(None, None), (Range(20.0), (20, 36)), (Range(None, 28.0), (12, 28))]
)
def test_numbers_are_drawn_in_the_middle_of_their_levels(missing, side, span):
    levels = Levels("x", "number", edges=(16.0, 20.0, 28.0), missing=missing)
    seen = averages_of(4 + missing)
    axes = Axes()  # the outer levels are as wide as their neighbours
    _draw_profile(levels, side, seen, axes)
    ((x, mean),) = axes.named("plot")
    assert_allclose(x, [14, 18, 24, 32])
    assert_allclose(mean, seen.mean[:4])
    ((_, low, high),) = axes.named("fill_between")
    assert_allclose((low + high) / 2, mean)
    assert_allclose((high - low) / 2, 1.96 / np.sqrt(seen.n[:4] - 1))
    assert axes.named("axvspan") == ([] if span is None else [span])


def test_many_levels_are_drawn_as_parts_and_empty_ones_not():
    n = 100
    levels = Levels("x", "number", edges=tuple(np.arange(1.0, n)))
    seen = averages_of(n)
    axes = Axes()
    _draw_profile(levels, None, seen, axes)
    ((x, mean),) = axes.named("plot")
    assert len(x) == len(mean) == PARTS and np.all(np.diff(x) > 0)
    seen.n[3] = 0
    few = Moments(seen.n[:8], seen.mean[:8], seen.variance[:8])
    axes = Axes()
    _draw_profile(Levels("x", "number", edges=tuple(np.arange(1.0, 8))), None, few, axes)
    ((x, mean),) = axes.named("plot")
    assert_allclose(x, [0.5, 1.5, 2.5, 4.5, 5.5, 6.5, 7.5])
    assert_allclose(mean, np.delete(few.mean, 3))


@pytest.mark.parametrize("side", [None, Categories(("b", "c"))])
def test_categories_are_drawn_at_their_places(side):
    levels = Levels("x", "category", labels=("a", "b", "c", "d"), missing=True)
    seen = averages_of(5)
    seen.n[2] = 0
    axes = Axes()
    _draw_profile(levels, side, seen, axes)
    points = {int(i): y for x, mean, _ in axes.named("plot") for i, y in zip(x, mean, strict=True)}
    assert points == {i: seen.mean[i] for i in (0, 1, 3)}
    groups = [x.tolist() for x, _, _ in axes.named("plot")]
    assert groups == ([[0, 1, 3]] if side is None else [[0, 3], [1]])


def test_features_are_drawn_by_how_much_lower_the_average_is_without_them():
    figure = pytest.importorskip("matplotlib.figure")
    levels = [Levels("x", "number", edges=(1.0,)), Levels("y", "number", edges=(1.0, 2.0))]
    seen = {"x": averages_of(2, seed=1), "y": averages_of(3, seed=2)}

    def marginals(others, names):
        assert [list(other) for other in others] == [["y"], ["x"]]
        return [{name: seen[name]} for (name,) in names]

    table = SimpleNamespace(levels=levels, marginals=marginals, target="t", mean=0.0)
    box = Subgroup((("x", Range(1.0)), ("y", Range(2.0))))
    for average in (5.0, -5.0):
        axes = figure.Figure().subplots()
        make_panels(table, box, average)[0].draw(axes)
        widths = [bar.get_width() for bar in axes.patches]
        without = [np.average(each.mean, weights=each.n) for each in seen.values()]
        expected = sorted((abs(average - each) for each in without), reverse=True)
        assert_allclose(widths, expected)


@pytest.mark.parametrize(
    ("n", "grid"), [(1, (1, 1)), (2, (1, 2)), (3, (1, 3)), (4, (2, 2)), (7, (3, 3))]
)
def test_panels_are_drawn_in_rows_that_are_equally_long(n, grid):
    pytest.importorskip("matplotlib")
    drawn = []
    figure = draw_panels([Panel(drawn.append, "")] * n, "title")
    shape = figure.axes[0].get_gridspec()
    assert (shape.nrows, shape.ncols) == grid
    assert drawn == figure.axes[:n]
    assert [ax.axison for ax in figure.axes] == [True] * n + [False] * (grid[0] * grid[1] - n)


def test_lines_are_single_except_the_condition_for_a_database():
    found = counted(sides={"two\nlines": "a\nb"}, exactly="SELECT WHERE x = 'a\nb'")
    broken = [line for line in found.lines if "\n" in line]
    assert len(broken) == 1 and broken[0].endswith(" WHERE x = 'a\nb'")
    assert any("two lines" in line and "a b" in line for line in found.lines)


def test_edges_of_whole_numbers_and_days_lie_between_them():
    assert_allclose(_positions([18, 65]), [17.5, 64.5])
    assert_allclose(_positions([18.5, 65.0]), [18.5, 65.0])
    assert_allclose(_positions([date(1970, 1, 11), date(1970, 2, 1)]), [9.5, 30.5])
    assert [format_value(x) for x in (True, False, 1, "a")] == ["yes", "no", "1", "a"]


def test_extremes_of_features_are_numbers_days_or_nothing():
    columns = [
        Column("age", "numbers", np.array([3.0, np.nan, 1.0, 9.0])),
        Column("day", "dates", np.array([0.0, 31.0, 59.0, np.nan])),
        Column("shop", "texts", np.array([0.0, 0.0, 1.0, 1.0]), ("a", "b")),
    ]
    found = member_entries(columns, np.array([0, 1, 2]), np.array([10, 20, 30, 40]))
    assert found == {
        "members": [10, 20, 30],
        "lower": [1.0, "1970-01-01", None],
        "upper": [3.0, "1970-03-01", None],
    }
    found = member_entries(columns[:1], np.array([1]), None)
    assert found == {"members": [1], "lower": [None], "upper": [None]}
