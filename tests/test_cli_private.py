"""``search --epsilon``: what it finds, counts, prints, and keeps to itself."""

import json
import random
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from skgpb.cli import main, private
from skgpb.cli.region import find_region
from skgpb.datasets import PrivateAverages, epsilon_of, rho_of

CALIFORNIA = Path(__file__).parents[2] / "shared" / "data" / "california_housing.csv"
N = 2000


def write(path, values):
    """Write rows (x, y, value) with the peak of the value near (0.8, 0.3)."""
    places = np.random.default_rng(3).uniform(size=(N, 2)).tolist()
    rows = (f"{x!r},{y!r},{v!r}" for (x, y), v in zip(places, values.tolist(), strict=True))
    path.write_text("\n".join(["x,y,value", *rows]) + "\n")
    return path


def column():
    places = np.random.default_rng(3).uniform(size=(N, 2))
    return 9 * np.exp(-8 * ((places - [0.8, 0.3]) ** 2).sum(axis=1))


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "table.csv", column())


def search(table, *more, **given):
    options = {"epsilon": 3, "target-range": (0, 10)} | given
    words = ["--features", "x", "y", "--target", "value"]
    for name, value in options.items():
        if value is not None:
            words += [f"--{name}", *map(str, value if isinstance(value, tuple) else [value])]
    return main(["search", str(table), *words, *map(str, more)])


def test_it_finds_the_peak_and_says_what_it_spent(table, tmp_path, capsys):
    output = tmp_path / "result.json"
    assert search(table, "--output", output, seed=1) == 0
    result = json.loads(output.read_text())
    assert column()[result["members"]].mean() > 7.0  # the table's average is 2.6
    spent = result["privacy"]
    assert (spent["epsilon"], spent["delta"]) == (3.0, 1e-6)
    assert 2.9 < spent["epsilon_spent"] <= 3.0
    assert spent["epsilon_spent"] == pytest.approx(epsilon_of(spent["rho_spent"], 1e-6))
    assert spent["rho_spent"] <= spent["rho"] == rho_of(3.0, 1e-6)
    assert not {"true_average", "true_average_of_table"} & result.keys()
    printed = capsys.readouterr().out
    assert "NOT PRIVATE: with --seed" in printed and "true average" not in printed


def test_it_says_what_is_protected_and_what_is_taken_to_be_public(table, tmp_path, capsys):
    output = tmp_path / "result.json"
    assert search(table, "--output", output, "--budget", 5, epsilon=1, delta=1e-7) == 0
    printed = capsys.readouterr().out
    assert (
        "the value of value in any one row is protected with epsilon = 1 and delta = 1e-07"
        in printed
    )
    assert "public: the features, which rows there are, the sizes of groups" in printed
    assert "values lie from 0 to 10" in printed and "NOT PRIVATE" not in printed
    assert "--save-rows" not in printed
    result = json.loads(output.read_text())
    assert result["privacy"]["holds"] is True and result["n_rounds"] == 5


def test_the_lowest_average_is_sought_as_well(table, tmp_path):
    output = tmp_path / "result.json"
    assert search(table, "--minimize", "--output", output, seed=1) == 0
    assert column()[json.loads(output.read_text())["members"]].mean() < 1.0


def test_a_delta_that_promises_little_is_named(table, capsys):
    for delta, weak in ((1e-3, True), (1e-5, False)):
        assert search(table, "--budget", 2, delta=delta) == 0
        assert ("weak promise" in capsys.readouterr().out) == weak


def test_answers_differ_from_run_to_run_unless_a_seed_is_given(table, tmp_path):
    def run(**given):
        output = tmp_path / "result.json"
        assert search(table, "--output", output, "--budget", 4, **given) == 0
        return json.loads(output.read_text())["posterior_mean"]

    assert run() != run()
    assert run(seed=4) == run(seed=4) != run(seed=5)


def outputs(table, folder, capsys):
    """Everything that a search gives away."""
    files = {"--output": "result.json", "--plot": "map.png", "--report": "report.html"}
    files = {option: folder / name for option, name in files.items()}
    more = [word for item in files.items() for word in item]
    assert search(table, *more, "--budget", 6) == 0
    found = {name: path.read_bytes() for name, path in files.items()}
    assert b"protected with epsilon" in found["--report"]
    return found | {"printed": capsys.readouterr().out}


def test_the_column_leaves_through_answers_only(tmp_path, monkeypatch, capsys):
    """Two tables whose values all differ, the answers of one given for those of the other."""
    pytest.importorskip("matplotlib")
    path, answer, told = tmp_path / "table.csv", PrivateAverages.answer, []

    def listen(self, group, share):
        told.append((np.sort(group.members), answer(self, group, share)))
        return told[-1][1]

    monkeypatch.setattr(PrivateAverages, "answer", listen)
    monkeypatch.setattr(random, "SystemRandom", lambda: random.Random(1))
    first = outputs(write(path, column()), tmp_path, capsys)

    def repeat(self, group, share):
        answer(self, group, share)  # is counted
        members, kept = replayed.pop(0)
        np.testing.assert_array_equal(np.sort(group.members), members)
        return kept

    monkeypatch.setattr(PrivateAverages, "answer", repeat)
    replayed = list(told)
    assert outputs(write(path, 10.0 - column()), tmp_path, capsys) == first
    assert not replayed


def test_one_value_moves_only_the_answers_about_groups_that_hold_it(tmp_path, monkeypatch):
    """The same noise on two tables that differ in one value, as long as the same is asked."""
    answer, path = PrivateAverages.answer, tmp_path / "table.csv"
    runs = []

    def listen(self, group, share):
        found = answer(self, group, share)
        runs[-1].append((group.members, found))
        return found

    monkeypatch.setattr(PrivateAverages, "answer", listen)
    monkeypatch.setattr(random, "SystemRandom", lambda: random.Random(1))
    for value in (0.0, 10.0):
        runs.append([])
        values = column()
        values[77] = value
        assert search(write(path, values), "--budget", 8) == 0
    for (members, one), (others, two) in zip(*runs, strict=True):
        if not np.array_equal(members, others):
            break
        share = 10.0 / len(members) if 77 in members else 0.0
        assert two.average - one.average == pytest.approx(share, abs=1e-9)
        assert two.variance == one.variance


def test_groups_that_cannot_be_cut_any_more_spend_all_that_is_left_to_them():
    """Also where equal values make some of them twice as large as others."""
    X = np.round(np.random.default_rng(3).uniform(size=(N, 2)), 1)
    given = Namespace(epsilon=3.0, delta=1e-6, target_range=(0, 10), seed=1, budget=None)
    given.min_members = given.max_depth = None
    oracle = private.private_oracle(column(), given)
    domain = find_region(X, oracle, given.budget, size=given.size).optimizer.domain_
    last = [
        group for group in oracle.asked.values() if not domain.splittable(domain.node_of(group))
    ]
    sizes = [len(group.members) for group in last]
    assert len(last) > 10 and max(sizes) > 1.5 * min(sizes)
    for group in last:
        spent = oracle.averages.spent_[group.members] / oracle.averages.rho
        assert spent.min() > 0.999 and spent.max() <= 1.0


def test_small_tables_and_budgets_ask_for_larger_groups(tmp_path):
    sizes = [private.private_group_size(442, None, rho_of(e, 1e-6)) for e in (0.1, 1, 10, 100)]
    assert sizes == [221, 46, 6, 6]
    assert private.private_group_size(20_640, None, rho_of(1, 1e-6)) == 322


@pytest.mark.skipif(not CALIFORNIA.exists(), reason="the census table is not there")
@pytest.mark.parametrize(("epsilon", "least"), [(1, 350_000), (3, 390_000), (10, 390_000)])
def test_census(epsilon, least, tmp_path):
    """Without privacy the best group found has 393,896 on average; the table 206,856."""
    output = tmp_path / "result.json"
    words = ["--features", "longitude", "latitude", "--target", "median_house_value"]
    words += ["--epsilon", str(epsilon), "--delta", "1e-6", "--target-range", "0", "500001"]
    assert main(["search", str(CALIFORNIA), *words, "--seed", "5", "--output", str(output)]) == 0
    result = json.loads(output.read_text())
    values = np.genfromtxt(CALIFORNIA, delimiter=",", skip_header=1, usecols=8)
    assert values[result["members"]].mean() >= least
    assert result["privacy"]["epsilon_spent"] <= epsilon


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"target-range": None}, "--epsilon needs --target-range LOW HIGH"),
        ({"target-range": (5, 5)}, "--target-range must be two finite numbers (low, high)"),
        ({"target-range": (0, "inf")}, "--target-range must be two finite numbers"),
        ({"target-range": (0, "x")}, "--target-range"),
        ({"epsilon": 0}, "--epsilon: must be a finite number > 0, got '0'"),
        ({"epsilon": "nan"}, "finite number > 0"),
        ({"delta": 1}, "--delta must be a number > 0 and < 1, got 1.0"),
        ({"delta": 0}, "--delta: must be a finite number > 0"),
        ({"noise": 3}, "--noise does not go with --epsilon: the noise follows from --epsilon"),
        ({"alpha": 3}, "--alpha does not go with --epsilon"),
        ({"save-rows": "rows.csv"}, "--save-rows does not go with --epsilon: it writes the values"),
        ({"epsilon": None}, "--target-range is for --epsilon"),
        ({"epsilon": None, "target-range": None, "delta": 1e-6}, "--delta is for --epsilon"),
        ({"epsilon": None, "target-range": None}, "are required: --budget (or --epsilon)"),
    ],
)
def test_what_promises_nothing_is_refused(given, says, table, capsys):
    assert search(table, **given) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and says in err
