"""Scores of several measurements: as texts, and through everything that changes an experiment."""

import csv

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb.lab.cli import main
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.export import write_table
from skgpb.lab.experiments.pictures import draw_trade_offs
from skgpb.lab.experiments.scores import Score, desirability
from skgpb.lab.experiments.trade_offs import trade_offs

SIDES = ["heat=20:90", "oil=A,B"]
SCORE = "0.7*yield - 0.3*cost"


def measured_at(params):
    large = 80.0 - 0.02 * (params["heat"] - 60.0) ** 2 - 3.0 * (params["oil"] == "B")
    return {"yield": round(large, 3), "cost": round(5.0 + 0.1 * params["heat"], 3)}


def play(run, n):
    for _ in range(n):
        (query,) = run.ask()
        run.tell(query=query["query"], measured=measured_at(query["params"]))


def check(run, of=lambda p, m: 0.7 * m["yield"] - 0.3 * m["cost"]):
    """Every answer is what the notebook says, and so is all that the model has seen."""
    for each in (run, Experiment(run.path)):
        told = [e for e in each.history() if e["answer"] is not None]
        expected = [of(e["params"], e["measured"]) for e in told]
        assert_allclose([e["answer"] for e in told], expected, rtol=1e-12)
        assert_allclose(sorted(each.optimizer._model.samples.reward), sorted(expected), rtol=1e-12)


@pytest.fixture
def run(tmp_path):
    return Experiment.create(tmp_path / "run.skgpb", SIDES, score=SCORE)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a", 2.0),
        ("-a + 3 * b ** 2 / 2", 22.0),
        ("a^2 - 1e1", -6.0),
        ('"a b (%)" * lambda', 35.0),
        ("min(a, b, 1) + max(a, b) + abs(-a) + sqrt(b * b) + exp(0) + log(1)", 12.0),
        ("desirability(a, 1, 3) * desirability(b, 8, 4)", 0.5),
        ("sqrt(desirability(a, 0, 4, 8))", 0.5**0.5),
        ("min + 1", 8.0),
    ],
)
def test_a_score_is_arithmetic_of_what_is_measured(text, value):
    values = {"a": 2.0, "b": 4.0, "a b (%)": 5.0, "lambda": 7.0, "min": 7.0}
    assert_allclose(Score(text)(values), value)


@pytest.mark.parametrize(
    "text",
    [
        *("1 + 2", "a +", "a b", "a if a else b", "a.real", "a[0]", "a < b", "[a]", "'a'", "a @ b"),
        *("__import__('os').system('ls')", "open(a)", "(lambda: a)()", "a := 3", "f'{a}'", "a()"),
        *("min(a)", "desirability(a)", "desirability(a, 1)", "sqrt(a, b)", "max(*a)", "a; b"),
        *("exec", "exp(a, base=2)", "1j * a", "a" * 2000, "(" * 500 + "a" + ")" * 500),
    ],
)
def test_nothing_but_arithmetic_is_read(text):
    if text == "exec":  # a name as any other
        assert Score(text).names == ("exec",)
        return
    with pytest.raises(ValueError, match="score"):
        Score(text)


def test_only_numbers_have_a_score():
    score = Score('2*a + "b c"')
    assert score({"a": 1, "b c": 0.5, "d": None}) == 2.5
    for wrong in (True, None, [1], {}):
        with pytest.raises(ValueError, match="a must be a number"):
            score({"a": wrong, "b c": 0.5})
    with pytest.raises(ValueError, match="needs b c"):
        score({"a": 1})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2 + sqr(a)", "there is no function 'sqr' at letter 5, did you mean sqrt"),
        ("desirabilty (a, 1, 2)", "there is no function 'desirabilty' at letter 1, did you mean d"),
        ("qqq(a)", "there is no function 'qqq' at letter 1"),
        ("a b(c)", "there is no function 'b' at letter 3"),
        ("a b", "found 'b' at letter 3"),
    ],
)
def test_functions_that_do_not_exist_are_named(text, said):
    with pytest.raises(ValueError, match="score") as error:
        Score(text)
    assert said in str(error.value) and ("did you mean" in said) == ("did you" in str(error.value))


def test_a_single_result_has_no_compromises(run):
    run.tell(at={"heat": 40, "oil": "A"}, measured={"yield": 30, "cost": 5})
    assert run.trade_offs() is None
    run.tell(at={"heat": 50, "oil": "A"}, measured={"yield": 40, "cost": 6})
    assert run.trade_offs()["best"] == [1, 2]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        *(("1 / a", {"a": 0.0}), ("log(a)", {"a": -1.0}), ("a ** 9999", {"a": 9.0})),
        *(("a ** 0.5", {"a": -1.0}), ("exp(a)", {"a": 1e6}), ("desirability(a, 1, 1)", {"a": 0.0})),
    ],
)
def test_a_score_that_is_no_number_says_where(text, values):
    with pytest.raises(ValueError, match=r"is no number where a = "):
        Score(text)(values)


def test_desirability_rises_falls_and_has_a_middle():
    x = np.linspace(-1, 11, 121)
    assert_allclose([desirability(v, 2, 7) for v in x], np.clip((x - 2) / 5, 0, 1))
    assert_allclose([desirability(v, 7, 2) for v in x], np.clip((7 - x) / 5, 0, 1))
    middle = np.minimum(np.clip((x - 2) / 5, 0, 1), np.clip((10 - x) / 3, 0, 1))
    assert_allclose([desirability(v, 2, 7, 10) for v in x], middle)
    assert_allclose([desirability(v, 10, 7, 2) for v in x], middle)


def test_answers_are_scores_whatever_is_changed(run):
    play(run, 5)
    check(run)
    run.annotate(2, measured={"cost": 30.0})
    check(run)
    run.correct(3, at={"heat": 33.0, "oil": "B"})
    check(run)
    run.undo()
    check(run)
    (query,) = run.ask()
    run.annotate(query["query"], measured={"cost": 12.0})  # before it is answered
    run.tell(query=query["query"], measured={"yield": 50.0})
    check(run)
    run.tell(at={"heat": 50, "oil": "A"}, measured={"yield": 77.0, "cost": 10.0}, operator="Ann")
    run.change(["heat=10:90"], block="operator")
    check(run)
    assert [each["n_answers"] for each in run.blocks()] == [1]


def test_the_score_is_changed_with_all_answers_kept(tmp_path, run):
    play(run, 8)
    run.change(score="yield - 2*cost - 0.1*heat", by="me")
    check(run, lambda p, m: m["yield"] - 2 * m["cost"] - 0.1 * p["heat"])
    (change,) = run.changes()
    assert (change["what"], change["before"]) == ("score", SCORE)
    run.change(score=SCORE)
    other = Experiment.create(tmp_path / "other.skgpb", SIDES, score=SCORE)
    for entry in run.history():
        other.tell(at=entry["params"], measured=entry["measured"])
    assert_allclose(other.best()["mean"], run.best()["mean"], rtol=0.05)
    with pytest.raises(ValueError, match=r"query 1: the score 'yield [*] purity' needs purity"):
        run.change(score="yield * purity")
    assert run.status()["score"] == SCORE
    check(run)


def test_answers_that_were_told_are_measurements_of_a_later_score(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", SIDES, answer="yield", unit="%")
    for _ in range(5):
        (query,) = run.ask()
        known = measured_at(query["params"])
        run.tell(known["yield"], query["query"], measured={"cost": known["cost"]})
    before = run.best()
    run.change(score=SCORE)
    check(run)
    assert (run.status()["answer"], run.status()["unit"]) == ("score", "")
    run.change(score="")
    assert run.best()["mean"] == before["mean"] and run.status()["answer"] == "yield"


def test_the_answer_is_not_told_where_it_is_computed(run):
    (query,) = run.ask()
    for call in (
        lambda: run.tell(3.0, query["query"]),
        lambda: run.tell(query=query["query"], noise=1.0, measured={"yield": 1.0, "cost": 2.0}),
    ):
        with pytest.raises(ValueError, match="the answer is computed by"):
            call()
    with pytest.raises(ValueError, match="needs yield"):
        run.tell(query=query["query"], measured={"yeild": 3.0})
    with pytest.raises(ValueError, match="yield must be a number"):
        run.tell(query=query["query"], measured={"yield": "much", "cost": 3.0})
    assert run.history()[0]["status"] == "pending"
    run.fail(query["query"])
    play(run, 1)
    with pytest.raises(ValueError, match="the answer is computed by"):
        run.correct(2, 3.0)


def test_an_answer_is_needed_without_a_score(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", SIDES)
    run.ask()
    with pytest.raises(ValueError, match="there is no answer"):
        run.tell(measured={"yield": 3.0})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "oil + yield"}, "'oil' is one of a list"),
        ({"score": "2 * heat"}, "needs the name of a measurement"),
        ({"score": "yield +"}, "a score is arithmetic"),
        ({"score": SCORE, "regions": True}, "score is for single settings, not for regions"),
    ],
)
def test_what_is_no_score_is_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        Experiment.create(tmp_path / "run.skgpb", SIDES, **options)
    assert not list(tmp_path.iterdir())


def test_scores_limits_and_blocks_go_together(tmp_path):
    run = Experiment.create(
        tmp_path / "run.skgpb", SIDES, score=SCORE, limits="cost < 12", block="day"
    )
    for i in range(6):
        (query,) = run.ask()
        measured = measured_at(query["params"]) | {"day": f"d{i % 2}"}
        run.tell(query=query["query"], measured=measured)
    check(run)
    process = cases.outcome_model(run.optimizer, "cost").process
    assert sorted(process.observed.strata.tolist()) == [1, 1, 1, 2, 2, 2]


def test_tables_have_what_is_measured(run, tmp_path):
    play(run, 6)
    write_table(run, tmp_path / "notebook.csv")
    again = Experiment.create(
        tmp_path / "again.skgpb", SIDES, score=SCORE, data=tmp_path / "notebook.csv"
    )
    check(again)
    assert len(again.history()) == 6
    with open(tmp_path / "plain.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["cost", "heat", "oil", "yield", "who"])
        for e in run.history():
            writer.writerow(
                [e["measured"]["cost"], *e["params"].values(), e["measured"]["yield"], 1]
            )
    plain = Experiment.create(
        tmp_path / "plain.skgpb", SIDES, score=SCORE, data=tmp_path / "plain.csv", limits="cost < 9"
    )
    check(plain)
    assert cases.outcome_model(plain.optimizer, "cost").n_answers == 6
    with pytest.warns(UserWarning, match="6 of 6 rows have the setting and the answer"):
        run.add_table(tmp_path / "plain.csv")
    check(run)
    assert len(run.history()) == 12


def test_outcomes_of_tables_are_in_the_blocks_of_their_rows(tmp_path):
    rows = [(20.0 + 10 * i, "AB"[i % 2], 50.0 + i, 5.0 + i, f"b{i % 3}") for i in range(6)]
    with open(tmp_path / "t.csv", "w", newline="") as file:
        csv.writer(file).writerows([("heat", "oil", "yield", "cost", "batch"), *rows])
    run = Experiment.create(
        *(tmp_path / "run.skgpb", SIDES),
        answer="yield",
        limits="cost < 9",
        block="batch",
        data=tmp_path / "t.csv",
    )
    process = cases.outcome_model(run.optimizer, "cost").process
    assert process.observed.strata.tolist() == run.optimizer._model.process.observed.strata.tolist()
    assert process.observed.strata.tolist() == [1, 2, 3, 1, 2, 3]


def test_compromises_are_what_nothing_beats(run):
    assert run.trade_offs() is None
    play(run, 9)
    found = run.trade_offs()
    assert found["names"] == ["yield", "cost"] and found["larger_is_better"] == [True, False]
    history = {e["query"]: e["measured"] for e in run.history()}
    for query, known in history.items():
        beaten = any(
            other["yield"] >= known["yield"] and other["cost"] <= known["cost"] and other != known
            for other in history.values()
        )
        assert beaten == (query not in found["best"])
    assert 0.0 < found["hypervolume"] <= 1.0
    run.change(score="yield + 0*cost")
    assert run.trade_offs() is None


@pytest.mark.slow
def test_the_shell_takes_a_score(tmp_path, capsys):
    path = str(tmp_path / "run.skgpb")

    def said(*arguments, status=0):
        assert main([*map(str, arguments)]) == status
        out, err = capsys.readouterr()
        return err if status else out

    assert "the score is " + SCORE in said("new", path, "--bounds", *SIDES, "--maximize", SCORE)
    assert "tell" in (asked := said("ask", path)) and "--measured yield=VALUE cost=VALUE" in asked
    assert "query 1: 40" in said("tell", path, "--measured", "yield=70", "cost=30")
    assert "computed by" in said("tell", path, 3, "--at", "heat=30", "oil=A", status=2)
    for heat, large, cost in ((30, 60, 10), (50, 80, 50), (40, 50, 40)):
        at = ("--at", f"heat={heat}", "oil=A")
        said("tell", path, *at, "--measured", f"yield={large}", f"cost={cost}")
    line = said("best", path).splitlines()[-1]
    assert "compromises so far between large yield and small cost: queries 1, 2, 3;" in line
    assert "the score is yield" in said("change", path, "--maximize", "yield")
    assert "seeks" not in said("change", path, "--maximize", SCORE)
    assert "a score is arithmetic" in said("change", path, "--maximize", "a(b)", status=2)
    other = str(tmp_path / "other.skgpb")
    refused = said(*("new", other, "--bounds", *SIDES, "--minimize", "--maximize", SCORE), status=2)
    assert "turn the signs" in refused
    said("new", other, "--bounds", *SIDES, "--minimize")
    assert "seeks small answers" in said("change", other, "--maximize", SCORE, status=2)


def test_what_a_score_needs_may_be_measured_later(tmp_path):
    run = Experiment.create(tmp_path / "run", {"heat": (20, 90)}, score="yield - purity/10")
    run.ask(2)
    half = run.tell(query=1, measured={"yield": 40})
    assert (half["status"], half["measured"]) == ("pending", {"yield": 40.0})
    assert [each["query"] for each in run.ask(3)] == [1, 2, 3]
    assert run.status()["n_failed"] == 0
    with pytest.raises(ValueError, match="the score 'yield - purity/10' needs yield"):
        run.tell(query=2)
    assert Experiment(run.path).tell(query=1, measured={"purity": 90})["answer"] == 31.0


@pytest.mark.parametrize("beyond", [[], [3], [3, 4]])
def test_compromises_are_drawn_apart_from_other_results(beyond):
    figure = pytest.importorskip("matplotlib.figure")
    found = {
        "names": ["yield", "cost", "pH"], "queries": [1, 2, 3, 4, 5], "best": [1, 2],
        "values": [[5.0, 1.0, 7], [9.0, 3.0, 7], [8.0, 4.0, 7], [2.0, 5.0, 7], [1.0, 6.0, 7]],
        "larger_is_better": [True, False, True], "beyond": beyond,
    }  # fmt: skip
    ax = figure.Figure(figsize=(6, 4)).subplots()
    draw_trade_offs(ax, found)
    drawn = {line.get_label(): list(zip(*line.get_data(), strict=True)) for line in ax.lines}
    others = [
        row
        for row, query in ((found["values"][q - 1], q) for q in (3, 4, 5))
        if query not in beyond
    ]
    expected = {
        "results": [tuple(row[:2]) for row in others],
        "best compromises": [(5.0, 1.0), (9.0, 3.0)],
    }
    if beyond:
        expected["beyond a limit"] = [tuple(found["values"][q - 1][:2]) for q in beyond]
    assert drawn == expected
    assert [text.get_text() for text in ax.texts] == ["1", "2"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "yield (more is better)",
        "cost (less is better)",
    )
    assert len(ax.get_legend().get_texts()) == len(expected)


@pytest.mark.parametrize("seed", range(3))
def test_compromises_are_those_of_all_pairs_of_results(seed):
    rng = np.random.default_rng(seed)
    score = Score("yield - 2*cost + 3*purity^2 + hue*0 + x*speed")
    entries = [
        {
            "query": i + 3,
            "params": {"x": float(rng.choice([-1, 1]))},
            "measured": dict(
                zip(["yield", "cost", "purity", "hue", "speed"], row, strict=True)
            ),
            "within_limits": [True, False, None][rng.integers(3)] if seed else None,
        }
        for i, row in enumerate(rng.random((12, 5)).round(1).tolist())
    ]  # fmt: skip
    found = trade_offs(score, {}, entries)
    names = ["yield", "cost", "purity"]
    assert found["names"] == names and found["larger_is_better"] == [True, False, True]
    assert found["queries"] == list(range(3, 15))
    assert found["values"] == [[each["measured"][name] for name in names] for each in entries]
    assert found["beyond"] == [e["query"] for e in entries if e["within_limits"] is False]
    states = [each["within_limits"] for each in entries]
    among = [e for e in entries if e["within_limits"] is (True if True in states else None)]
    signed = {
        e["query"]: np.array(v) * [1, -1, 1] for e, v in zip(entries, found["values"], strict=True)
    }
    best = [
        e["query"]
        for e in among
        if not any(
            (signed[o["query"]] >= signed[e["query"]]).all()
            and (signed[o["query"]] > signed[e["query"]]).any()
            for o in among
        )
    ]
    assert found["best"] == best and 0 < len(best) < len(among)
    every = np.array(list(signed.values()))
    share = (every - every.min(axis=0)) / np.ptp(every, axis=0)
    front = share[[each["query"] in best for each in entries]]
    draws = rng.random((20_000, 3))
    volume = (front[:, None] >= draws).all(axis=2).any(axis=0).mean()
    assert found["hypervolume"] == pytest.approx(volume, abs=0.015)
    assert trade_offs(score, {}, entries[:1]) is None
    # A measurement that is the same in all results has no direction.
    flat = [e | {"measured": e["measured"] | {"cost": 1.0, "purity": 0.5}} for e in entries]
    assert trade_offs(score, {}, flat) is None
