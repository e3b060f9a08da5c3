"""Lines, summaries and pictures of experiments, compared with the numbers that they tell of."""

import itertools
import os

import numpy as np
import pytest

from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.changes import describe_change, differences
from skgpb.lab.experiments.judge import (
    answer_remark,
    describe_outcomes,
    describe_preferred_query,
    describe_surprise,
    limits_remark,
)
from skgpb.lab.experiments.limits import describe_limit, is_within_limits
from skgpb.lab.experiments.listed import experiments_in
from skgpb.lab.experiments.pictures import draw_progress, draw_trade_offs
from skgpb.lab.experiments.reasons import describe_reason, nearest


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("answer", 15.0, 16.5), ("result", "15", "16.5")),
        (("noise", 0.25, None), ("noise", "0.25", "nothing")),
        (("measurements", [14.7, 15.3], None), ("measurements", "14.7; 15.3", "nothing")),
        (("note", "a\nb", "c"), ("note", "a b", "c")),
        (
            ("params", {"x": 1.0, "kind": "A", "n": 3}, {"x": 2.0, "kind": "A", "n": 4}),
            ("settings", "x = 1, n = 3", "x = 2, n = 4"),
        ),
        (("measured", {"pH": 7.0}, None), ("also measured", "pH = 7", "nothing")),
        (
            ("measured", {"pH": 7.0, "hue": "red"}, {"hue": "red", "T": 5.0}),
            ("also measured", "pH = 7", "T = 5"),
        ),
        (("params", {"x": [0.0, 0.5]}, None), ("settings", "x = 0 to 0.5", "nothing")),
        (("limits", "peak <= 70", "peak <= 80"), ("limits", "peak <= 70", "peak <= 80")),
    ],
)
def test_a_change_is_described_by_what_is_different(change, words):
    what, before, after = change
    for query in (None, 12):
        (found,) = differences(query, {what: before}, {what: after}, "Ada")
        assert found.as_dict() | {"when": ""} == {
            **{"query": query, "what": what, "before": before, "after": after, "by": "Ada"},
            "when": "",
        }
        day = found.as_dict() | {"when": "2026-01-31T16:05:59"}
        number = "" if query is None else "12"
        assert describe_change(day) == ["2026-01-31 16:05", number, *words, "Ada"]
        assert differences(query, {what: before}, {what: before}, "Ada") == []
        assert differences(query, {what: None}, {what: before}, "Ada") == []


def test_a_limit_is_described_by_its_ends():
    for low, high, text in (
        *((None, 80.0, "at most 80"), (1.5, None, "at least 1.5"), (6.0, 8.0, "6 to 8")),
    ):
        assert describe_limit((low, high)) == text
    assert (describe_limit(True), describe_limit(False)) == ("yes", "no")


def test_results_are_within_limits_up_to_their_ends():
    ends = (None, 2.0, 5.0)
    for low, high in itertools.product(ends, ends):
        if low is not None and high is not None and not low < high:
            continue
        for value in (1.0, 2.0, 3.0, 5.0, 6.0):
            holds = (low is None or low <= value) and (high is None or value <= high)
            assert is_within_limits({"T": value}, {"T": (low, high)}) is holds
            # A limit of detection holds if all values beyond it do, not if none of them does.
            for sign in (-1, 1):
                beyond = value + sign * np.array([0.0, 1e-9, *range(1, 20)])
                states = {bool(is_within_limits({"T": x}, {"T": (low, high)})) for x in beyond}
                expected = states.pop() if len(states) == 1 else None
                text = f"{'<' if sign < 0 else '>'}{value:g}"
                assert is_within_limits({"T": text}, {"T": (low, high)}) is expected
        assert is_within_limits({}, {"T": (low, high)}) is None
        assert is_within_limits({"T": "red"}, {"T": (low, high)}) is None
    both = {"T": (None, 2.0), "ok": True}
    for T, ok in itertools.product((1.0, 3.0, None), (True, False, None)):
        told = {"T": T, "ok": "yes" if ok else "no"}
        known = {name: told[name] for name, x in (("T", T), ("ok", ok)) if x is not None}
        states = [None if T is None else T <= 2, ok]
        expected = False if False in states else None if None in states else True
        assert is_within_limits(known, both) is expected
        assert is_within_limits(known, dict(reversed(both.items()))) is expected


def test_outcomes_are_described_by_how_sure_and_how_well_known_they_are():
    known = {"mean": 71.234, "std": 0.5, "probability": 0.25, "n_answers": 4, "n_missing": 0}
    never = dict.fromkeys(["mean", "std", "probability"]) | {"n_answers": 0, "n_missing": 4}
    first = "T <= 80: holds with probability 25 % (expected 71.23 ± 0.5"
    for more, line in (
        ({}, f"{first})"),
        ({"n_missing": 2}, f"{first}; known of 4 of 6 results)"),
        ({"mean": None}, "T <= 80: holds with probability 25 %"),
        (
            {"mean": None, "n_missing": 1},
            "T <= 80: holds with probability 25 % (known of 4 of 5 results)",
        ),
        (never, "T <= 80: not known, it was not measured yet"),
    ):
        each = known | more | {"limit": "T <= 80"}
        assert describe_outcomes({"goals": [], "outcomes": [each], "within_limits": 0.25}) == [line]
        lines = describe_outcomes({"goals": [], "outcomes": [each, each], "within_limits": 0.0625})
        assert lines == [line, line, "all limits hold with probability 6 %"]
        assert (
            describe_outcomes({"goals": [], "outcomes": [each, each], "within_limits": None})
            == [line] * 2
        )
    for state, said, remark in (
        (True, "within the limits ", ""),
        (None, "(not every limit measured) ", ", not every limit measured"),
        (False, "(beyond a limit) ", ", beyond a limit"),
    ):
        entry = {"within_limits": state, "answer": 0.0}
        assert limits_remark({"best_answer": entry, "outcomes": [known]}) == said
        assert limits_remark({"best_answer": entry, "outcomes": []}) == ""
        assert answer_remark(entry) == remark and answer_remark(entry | {"answer": None}) == ""


def test_what_is_expected_is_described_with_its_digits():
    best = {"mean": 3.14159, "std": 0.021, "preferred": {"query": 7, "mean": 3.1777}}
    (line,) = describe_preferred_query(best)
    assert "of query 7 (3.178) than at the recommended one (3.142) where" in line
    for nothing in (None, {"query": 7, "mean": 3.14162}):  # as much, as far as digits are known
        assert describe_preferred_query(best | {"preferred": nothing}) == []
    said = {"expected": [-1.23456, 70.0], "meant": None}
    assert describe_surprise(said) == "The expected range is -1.23 to 70."
    said["meant"] = 64.5
    assert describe_surprise(said) == "The expected range is -1.23 to 70; perhaps 64.5 was meant."
    known = {"query": 4, "answer": 2.5, "differs": ["heat", "acid"], "distance": 0.1}
    found = {"mean": 3.14159, "std": 0.0213, "nearest": known, "why": "because"}
    lines = ["  expected: 3.142 ± 0.021", "  nearest known: query 4, 2.5", "  why: because"]
    assert describe_reason(found | {"nearest": known | {"differs": []}}) == lines
    lines[1] += ", which differs in heat, acid"
    assert describe_reason(found) == lines
    assert describe_reason(found | {"nearest": None}) == lines[2:]


def test_the_nearest_setting_has_the_smallest_mean_difference(tmp_path):
    sides = {"x": (0.0, 10.0), "kind": ["A", "B", "C"], "n": (1, 5)}
    run = Experiment.create(tmp_path / "run.skgpb", sides)
    rng = np.random.default_rng(0)
    settings = [
        {"x": float(x), "kind": "ABC"[i % 3], "n": 1 + i % 5}
        for i, x in enumerate(rng.uniform(0, 10, 7).round(2))
    ]
    for i, setting in enumerate(settings):
        run.tell(float(i), at=setting)
    entries = run._notebook.entries
    for i, entry in enumerate(entries):
        others = [each for each in entries if each is not entry]
        here, far = settings[i], {}
        for each in others:
            there = settings[each.number - 1]
            parts = [abs(here["x"] - there["x"]) / 10.0, here["kind"] != there["kind"]]
            far[each.number] = float(np.mean([*parts, abs(here["n"] - there["n"]) / 4.0]))
        found = nearest(entry, run.optimizer, run.sides, others)
        assert found["distance"] == pytest.approx(min(far.values()), abs=0.02)
        assert far[found["query"]] == pytest.approx(min(far.values()), abs=0.02)
        there = settings[found["query"] - 1]
        assert found["differs"] == [name for name in sides if here[name] != there[name]]
        assert found["answer"] == found["query"] - 1.0


def test_a_folder_is_listed_with_the_best_answer_within_the_limits(tmp_path):
    for name, limits in (("b.skgpb", ["T < 5"]), ("a.skgpb", []), ("c.other", [])):
        run = Experiment.create(
            tmp_path / name, ["x=0:1"], limits=limits, title="Oven", answer="loss", unit="%",
            direction="minimize",
        )  # fmt: skip
        for i in range(3):
            run.tell(float(i), at={"x": i / 3}, measured={"T": 6.0})
        run.ask(2)
    (tmp_path / "d.skgpb").write_text("no run")
    Experiment.create(tmp_path / "e.skgpb", ["x=0:1"])
    found = experiments_in(tmp_path)
    assert [each["file"] for each in found] == ["a.skgpb", "b.skgpb", "e.skgpb"]
    assert [each["best_answer"] for each in found] == [0.0, None, None]
    assert [(each["n_answers"], each["n_pending"]) for each in found] == [(3, 2), (3, 2), (0, 0)]
    labels = [found[0][name] for name in ("title", "answer", "unit", "direction")]
    assert labels == ["Oven", "loss", "%", "minimize"]
    os.utime(tmp_path / "a.skgpb", (86_400 * 365,) * 2)
    assert experiments_in(tmp_path)[0]["changed"].startswith(("1970-12-31 ", "1971-01-01 "))
    assert len(experiments_in(tmp_path)[0]["changed"]) == len("1970-12-31 16:05")


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_progress_is_the_best_within_the_limits_so_far(direction):
    figure = pytest.importorskip("matplotlib.figure")
    results = [(5, True), (None, True), (8, False), (7, None), (3, True), (6, True), (9, False)]
    entries = [
        {"query": i, "answer": answer, "within_limits": within}
        for i, (answer, within) in enumerate(results, 1)
    ]
    entries.append({"query": 8, "answer": None, "within_limits": None})
    ax = figure.Figure(figsize=(6, 4)).subplots()
    draw_progress(ax, entries[::-1], direction, "loss in %")
    best = [5, 5, 5, 5, 5, 6, 6] if direction == "maximize" else [5, 5, 5, 5, 3, 3, 3]
    assert ax.lines[0].get_data()[1].tolist() == best
    assert ax.lines[0].get_data()[0].tolist() == [1, 2, 3, 4, 5, 6, 7]
    drawn = [np.ma.filled(each.get_offsets(), np.nan) for each in ax.collections]
    assert all(min(each.get_linewidths()) > 0.0 for each in ax.collections)
    beyond, answers = ({tuple(p) for p in each if np.isfinite(p).all()} for each in drawn)
    assert beyond == {(3, 8), (7, 9)} and answers == {(1, 5), (4, 7), (5, 3), (6, 6)}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("number of the experiment", "loss in %")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(labels) == ["best so far", "beyond a limit"]
    ax = figure.Figure(figsize=(6, 4)).subplots()
    draw_progress(ax, [entry | {"within_limits": True} for entry in entries], direction, "loss")
    assert len(ax.collections) == 1


def test_numbers_of_compromises_do_not_lie_on_each_other():
    figure = pytest.importorskip("matplotlib.figure")
    x = [0.0, 0.05, 0.1, 0.5, 0.52, 1.0]
    values = [[10 * each, 200 - 100 * each] for each in x]
    found = {
        "names": ["yield", "purity"], "queries": [3, 4, 5, 6, 7, 8], "best": [3, 4, 5, 6, 7, 8],
        "values": values, "larger_is_better": [True, True], "beyond": [],
    }  # fmt: skip
    ax = figure.Figure(figsize=(6, 4)).subplots()
    draw_trade_offs(ax, found)
    # From the smallest on: less than 0.08 of the picture apart from a named one has no number.
    assert [text.get_text() for text in ax.texts] == ["3", "5", "6", "8"]
    assert [text.xy for text in ax.texts] == [tuple(values[i]) for i in (0, 2, 3, 5)]
    for flat in (0, 1):
        level = [[5.0, row[1]] if flat == 0 else [row[0], 5.0] for row in values]
        ax = figure.Figure(figsize=(6, 4)).subplots()
        draw_trade_offs(ax, found | {"values": level})
        assert len(ax.texts) == 4
