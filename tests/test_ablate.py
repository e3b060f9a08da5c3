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
        for name in ("", "N_INITIAL"):
            record.of(name, "part", {"game": first_queries}, range(2), lambda game, seed: True)
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
    record.of("", "part", games, range(2), lambda game, seed: True)
    found = ablate.differences(record, "N_INITIAL", "part", games, range(2))
    assert [key[3] for key in record.played if key[0]] == ["reads", "reads"]
    np.testing.assert_array_equal(found[:, 0], ablate.OTHER["N_INITIAL"] - defaults.N_INITIAL)
    assert ablate.cells_of(found, 4)[:2] == ["2 of 4", "2"]
    assert ablate.line_of({"part": found}).split()[:2] == ["2", "2"]
    none = ablate.differences(record, "RISK", "part", games, range(2))
    assert ablate.line_of({"part": none}).split() == ["0"] * 4


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
