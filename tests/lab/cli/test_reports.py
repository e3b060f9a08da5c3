"""Lines of reports, from results that are written by hand, and averages of parts of a picture."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb.lab.cli import report
from skgpb.lab.cli.counted import Words, make_report, outlier_remark
from skgpb.lab.cli.database_pictures import (
    _interval_ends,
    _merge_levels,
    _positions,
    format_value,
)
from skgpb.lab.cli.exact import feature_extremes
from skgpb.lab.cli.private import privacy_remark
from skgpb.lab.datasets.columns import Column
from skgpb.lab.tables.levels import Moments

RESULT = {
    "target": "sales",
    "sought": "highest",
    "n_rows": 1000,
    "n_members": 80,
    "verdict": "real",
    "p_value": 0.005,
    "counted_average": 31.4159265,
    "counted_average_of_table": 21.0,
    "new_rows_average": 30.0,
    "new_rows_interval": [28.5, 31.25],
    "optimism": 1.4159265,
    "effects_of_features": {"shop": 6.5, "hour": 2.25},
    "true_average": 99.0,
    "true_average_of_table": 98.0,
    "outliers_count_as": [-5.0, 60.0],
}
WORDS = Words(
    source="sales.csv", sides={"shop": "Ann's, Dee", "hour": "12 or more"}, where="shop = 'x'",
    chance="in 40 % of the tables", verdict="0 of 199", runner_up="40 rows", how="all rows",
    method="Sought the {sought} average.", remarks=["a remark"],
)  # fmt: skip


def lines_of(**change):
    return make_report(RESULT | change, WORDS)


def test_a_report_has_the_group_its_averages_and_the_verdict():
    found = lines_of()
    assert (
        found.title == "Highest average of sales" and found.method == "Sought the highest average."
    )
    assert found.headline[0] == (
        "The group is real: new rows of it are expected to average 30 (28.5 to 31.25 with 95 % "
        "probability), all rows 21."
    )
    assert found.conclusion.startswith(
        "<p>The 80 rows with <strong>shop</strong> Ann&#x27;s, Dee and <strong>hour</strong> 12 or "
        "more average <strong>31.42</strong>.</p>"
    )
    rows = dict(found.rows)
    assert rows["recommended group"] == "80 rows, 8 % of the table"
    assert (rows["  shop"], rows["exactly these rows"]) == ("Ann's, Dee", "shop = 'x'")
    assert rows["average of these rows"] == (
        "31.4159, of the whole table 21; about 1.42 of this is luck"
    )
    assert rows["average of new rows"] == (
        "30 expected, with 95 % probability between 28.5 and 31.25"
    )
    assert rows["verdict"] == "real: 0 of 199" and rows["runner-up"] == "40 rows"
    assert rows["what matters"] == "shop (6.5 lower without it), hour (2.25 lower without it)"
    assert found.rows[-1] == ("how it was found", "all rows") and found.remarks == [["a remark"]]


@pytest.mark.parametrize("optimism", [None, -0.5, 0.0])
def test_luck_is_named_only_if_there_is_any(optimism):
    assert "luck" not in dict(lines_of(optimism=optimism).rows)["average of these rows"]
    same = lines_of(new_rows_average=31.41592651)
    assert "luck" not in dict(same.rows)["average of these rows"]


def test_a_group_by_chance_and_the_whole_table_are_called_so():
    found = lines_of(verdict="chance")
    assert found.headline == ["The group may be chance: in 40 % of the tables."]
    for sought, word in (("highest", "higher"), ("lowest", "lower")):
        whole = lines_of(n_members=1000, sought=sought)
        assert whole.headline == [f"No group has a {word} average than the whole table."]
        names = [name for name, _ in whole.rows]
        assert not {"verdict", "runner-up", "what matters", "average of new rows"} & set(names)
        assert "strong" not in whole.conclusion
    low = dict(lines_of(sought="lowest").rows)["what matters"]
    assert low.startswith("shop (6.5 higher without it)")
    unknown = lines_of(new_rows_average=None, new_rows_interval=None, optimism=None)
    assert unknown.headline[0] == "The group is real."
    assert "average of new rows" not in dict(unknown.rows)


def test_of_many_effects_five_are_listed():
    effects = {f"x{i}": 9.0 - i for i in range(7)}
    text = dict(lines_of(effects_of_features=effects).rows)["what matters"]
    assert text.count("without it") == 5 and text.endswith("x4 (5 lower without it) and 2 more")


@pytest.mark.parametrize(
    ("extremes", "counted"),
    [((-9.0, 70.0), "-5 or 60"), ((-5.0, 70.0), "60"), ((-9.0, 60.0), "-5")],
)
def test_outliers_count_as_the_end_that_they_are_beyond(extremes, counted):
    said = outlier_remark(RESULT, ": 70 in line 3", extremes)
    assert f"they count as {counted}." in said and "mistyped: 70 in line 3." in said
    assert said.endswith("these rows average 99 and the whole table 98.")


# -- searches that ask ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "predicted", "said"),
    [
        ("model", 0.5, "predicts 50 % of the variance"),
        ("halving", 0.02, "the worse half of the groups was left out"),
        ("halving", None, "too few answers for a model"),
    ],
)
def test_how_a_group_was_found_is_said(engine, predicted, said):
    assert said in report._how({"engine": engine, "r2_loo": predicted})


@pytest.mark.parametrize("share", [0.099, 0.1])
def test_features_that_matter_are_told_from_those_that_hardly_do(share):
    found = SimpleNamespace(effects={"a": 2.0, "b": 2.0 * share, "c": 0.0})
    text = report._matters(found)
    if share < 0.1:
        assert text == "a (by 2); hardly b, c"
    else:
        assert text == "a (by 2), b (by 0.2); hardly c"
    assert report._matters(SimpleNamespace(effects={"a": 0.0})).startswith("no feature")
    many = SimpleNamespace(effects={f"x{i}": 2.0 for i in range(7)})
    assert report._matters(many).endswith("x4 (by 2) and 2 more")


@pytest.mark.parametrize("minimizes", [False, True])
@pytest.mark.parametrize("is_significant", [False, True])
@pytest.mark.parametrize("runner_up", [None, 1])
def test_a_group_is_compared_with_the_table_and_the_runner_up(minimizes, is_significant, runner_up):
    found = SimpleNamespace(
        gain_interval=(1.0, 3.0), gain=(2.0, 0.5), is_significant=is_significant,
        minimizes=minimizes, runner_up=runner_up, probability_of_best=0.4, runner_up_better=0.004,
        search=SimpleNamespace(groups=[None, SimpleNamespace(rows=np.arange(7))]),
        group_mean=lambda i: 5.25, group_limits=lambda box: [], group_box=lambda group: None,
    )  # fmt: skip
    (name, text), *more = report._comparison(found)
    assert name == ("lower" if minimizes else "higher") + " than the table"
    assert text.startswith("by 2, with 95 % probability by 1 to 3: ")
    assert ("may be noise alone" in text) == (not is_significant)
    assert len(more) == 1 + (runner_up is not None)
    if runner_up:
        assert more[0][1].startswith("7 rows, the whole table: 5.25 (less than 1 % chance")
    assert more[-1] == ("how sure", "40 % that no other of the 2 groups asked is better")


def test_the_noise_of_answers_and_the_limits_of_numbers_are_said():
    noisy = {"parameters": {"noise": 0.5}}
    assert report._describe_noise(noisy) == "each answer with noise of 0.5"
    assert report._describe_noise({"parameters": {"noise": 0.0}}) == "answered exactly"
    private = {"privacy": {"noise": (1000.0, 1000.0)}}
    assert report._describe_noise(private) == "with noise of 1e+03"
    assert report._describe_noise({"privacy": {"noise": (0.5, 2.0)}}) == "with noise of 0.5 to 2"
    for whole, n_groups, enough, said in [
        (True, 2, None, ["As far as these answers say"]),
        (False, 2, None, []),
        (True, 1, None, ["The budget was too small"]),
        (False, 2, "within 1", ["Enough is known: the group is within 1."]),
    ]:
        search = SimpleNamespace(groups=[None] * n_groups)
        found = SimpleNamespace(is_whole=whole, search=search, enough=enough)
        remarks = report._remarks(found, {})
        assert len(remarks) == len(said)
        assert all(text in remark[0] for text, remark in zip(said, remarks, strict=True))
    for minimizes, word in ((False, "above"), (True, "below")):
        found = SimpleNamespace(minimizes=minimizes)
        assert report._chance(found, {}) == []
        ((_, text),) = report._chance(found, {"best_by_chance": 4.5})
        assert text.endswith(f"seldom {word} 4.5")


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
    rows = np.array([0, 1, 2])
    assert feature_extremes(columns, rows, np.min) == [1.0, "1970-01-01", None]
    assert feature_extremes(columns, rows, np.max) == [3.0, "1970-03-01", None]
    assert feature_extremes(columns[:1], rows[1:2], np.max) == [None]
