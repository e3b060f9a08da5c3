"""Numbers are switched off in whichever process a game is played, and only where it reads them."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not part of this tree", allow_module_level=True)
sys.path.insert(0, str(ROOT))

from benchmarks.ablate import __main__ as ablate  # noqa: E402
from benchmarks.ablate.games import PER_ROUND, log_of, two_of  # noqa: E402
from skgpb import GPUCBOptimizer, defaults  # noqa: E402


def first_queries(seed):
    """How many queries are asked first, and where the last of them is."""
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=seed).start()
    n = optimizer._n_initial
    return float(n), float(optimizer.ask(n)[-1].points[0, 0])


def without_reading(seed):
    return 1.0, float(seed)


def failing(seed):
    raise RuntimeError("no game")


@pytest.mark.slow
def test_a_number_is_switched_off_in_worker_processes(tmp_path):
    found = {}
    for n_jobs in (1, 2):
        record = ablate.Record(tmp_path / f"{n_jobs}.csv", "small", n_jobs)
        runs = [(name, "game", seed) for name in ("", "N_INITIAL") for seed in range(2)]
        record.of("part", {"game": first_queries}, runs)
        found[n_jobs] = record.played
    assert found[1] == found[2]
    firsts = {key[0]: values["first"] for key, values in found[2].items()}
    assert firsts == {"": defaults.N_INITIAL, "N_INITIAL": ablate.OTHER["N_INITIAL"]}
    again = ablate.Record(tmp_path / "2.csv", "small", 2).played
    assert {key: values["second"] for key, values in again.items()} == {
        key: values["second"] for key, values in found[1].items()
    }


def test_a_number_is_as_before_after_a_game():
    usual = defaults.N_INITIAL
    with pytest.raises(RuntimeError, match="no game"):
        ablate.play(failing, "N_INITIAL", 0)
    assert usual == defaults.N_INITIAL
    assert type(defaults) is type(math)


def test_only_games_that_read_a_number_are_played_again(tmp_path):
    games = {"reads": first_queries, "does not": without_reading}
    record = ablate.Record(tmp_path / "played.csv", "small", 1)
    record.of("part", games, [("", game, seed) for game in games for seed in range(2)])
    found = ablate.differences(record, "N_INITIAL", "part", games, range(2))
    assert [key[3] for key in record.played if key[0]] == ["reads", "reads"]
    np.testing.assert_array_equal(found[:, 0], ablate.OTHER["N_INITIAL"] - defaults.N_INITIAL)
    assert ablate.cells_of(found, 4)[:2] == ["2 of 4", "2"]
    assert ablate.line_of({"part": found}).split()[:2] == ["2", "2"]
    none = ablate.differences(record, "RISK", "part", games, range(2))
    assert ablate.line_of({"part": none}).split() == ["0"] * 4


def of_two_numbers(seed):
    """Six more at the end by one number, two less by another, and noise."""
    noise = np.random.default_rng(seed).standard_normal(2)
    return noise[0], 6.0 * (defaults.N_STARTS == 1) - 2.0 * (defaults.RISK == 0.1) + noise[1]


def test_many_numbers_together_are_told_apart(tmp_path):
    record = ablate.Record(tmp_path / "played.csv", "small", 1)
    names = ["N_STARTS", "RISK", "N_INITIAL"]
    printed = ablate.together(record, names, {"part": {"game": of_two_numbers}}, range(300))
    assert {" ".join(key[0].split()) for key in record.played} > {"", "N_STARTS RISK"}
    found = {line.split()[0]: line.split() for line in printed.splitlines()[2:]}
    for name, expected in (("N_STARTS", 6.0), ("RISK", -2.0)):
        mean, error = float(found[name][3]), float(found[name][4].strip("()"))
        assert error < 0.2
        assert abs(mean - expected) < 4.0 * error
    assert found["N_STARTS"][7:11] == ["part,", "log10", "at", "the"]
    assert found["N_INITIAL"] == ["N_INITIAL", "=", "4", "-", "-"]


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([[1.0, 0.0], [1.1, 0.0], [0.9, 0.0]], "3 3 0 0 part +17.3"),
        ([[1.0, -2.0], [1.1, -2.1], [0.9, -1.9]], "3 3 0 3 part -34.6"),
        ([[1.0, 0.5], [-1.1, 0.0], [0.2, 0.0]], "3 3 1 0"),
        ([[0.0, 0.0], [0.0, 0.0]], "2 0 0 0"),
        ([[1.0, 1.0]], "1 1 1 0"),
    ],
)
def test_what_is_said_of_differences(differences, expected):
    assert ablate.line_of({"part": np.array(differences)}).split() == expected.split()


@pytest.mark.slow
def test_what_is_asked_for_is_checked(capsys):
    for arguments in (["NOTHING"], [], ["RISK", "--parts", "nothing"]):
        with pytest.raises(SystemExit):
            ablate.main(arguments)
    ablate.main(["--list"])
    printed = capsys.readouterr().out.splitlines()
    assert f"N_INITIAL = {defaults.N_INITIAL!r}, other value 4" in printed


def test_regrets_are_in_per_cent():
    assert two_of([0.5, 0.3], 0.1) == (40.0, 1.0)
    assert (log_of(0.0), log_of(0.0, noisy=False), PER_ROUND) == (-2.0, -6.0, "per round, %")
