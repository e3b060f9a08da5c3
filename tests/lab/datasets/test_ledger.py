"""The account in a file: what it counts, who shares it, and what it refuses."""

import base64
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb import GPOOOptimizer
from skgpb.exceptions import LoadError, PrivacyBudgetError
from skgpb.lab.datasets import PrivacyLedger, PrivateAverages, epsilon_of, rho_of
from skgpb.utils.persistence import Seal

N = 60
TABLE = {"place": np.arange(N) * 0.5, "name": [f"row {i}" for i in range(N)]}
VALUES = np.linspace(0.0, 10.0, N)
DELTA = 1e-6
FORKS = "fork" in multiprocessing.get_all_start_methods()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "values.ledger"


def office(path, epsilon=1.0, values=VALUES, low=0, high=10, delta=DELTA, **more):
    ledger = PrivacyLedger(path, TABLE)
    return PrivateAverages(values, (low, high), epsilon=epsilon, delta=delta, ledger=ledger, **more)


def counted(path):
    """Return the budget spent on every row, counted from the text of the file."""
    spent = np.zeros(N)
    for line in path.read_text().splitlines()[1:]:
        entry = json.loads(line)
        if "spend" in entry:
            packed = np.frombuffer(zlib.decompress(base64.b64decode(entry["rows"])), np.uint8)
            spent[np.unpackbits(packed)[:N] == 1] += entry["spend"]
    return spent


def ask_at_random(path, seed, epsilon=1.0, n=25):
    """Ask about groups of all kinds, and return what was answered."""
    oracle, rng, told = office(path, epsilon), np.random.default_rng(seed), []
    for _ in range(n):
        group = rng.permutation(N)[: rng.integers(1, N)]
        try:
            told.append((tuple(np.sort(group).tolist()), oracle.answer(group, rng.uniform(0.1, 1))))
        except PrivacyBudgetError:
            continue
    return told


def test_what_was_told_is_what_the_file_says(path):
    told = [ask_at_random(path, seed) for seed in range(4)]
    spent = np.zeros(N)
    for members, answer in {each for one in told for each in one}:
        # One value moves the average by 10 / n at most.
        spent[list(members)] += (10.0 / len(members)) ** 2 / (2.0 * answer.variance)
    assert_allclose(counted(path), spent, rtol=1e-9)
    assert_allclose(office(path).spent_, spent, rtol=1e-9)
    assert 0.9 < epsilon_of(spent.max(), DELTA) <= 1.0


def test_a_second_search_has_what_the_first_has_left(path):
    office(path).answer(np.arange(20), share=0.5)
    second = office(path)
    assert second.answer(np.arange(10, 30), share=1).rho == pytest.approx(
        0.5 * rho_of(1.0, DELTA), rel=1e-4
    )
    with pytest.raises(PrivacyBudgetError, match="is spent for some of"):
        office(path).answer(np.arange(15, 40))
    # In a first object of its own account there would be.
    assert PrivateAverages(VALUES, (0, 10), epsilon=1, delta=DELTA).affords(np.arange(15, 40))


def test_laplace_noise_is_counted_in_epsilon_and_in_zcdp(path):
    first = office(path, delta=0.0).answer(np.arange(20), share=0.5)
    assert json.loads(path.read_text().splitlines()[2])["epsilon"] == pytest.approx(0.5, rel=1e-4)
    second = office(path, delta=0.0)
    assert second.answer(np.arange(20)) == first
    assert second.epsilon_spent_ == pytest.approx(0.5, rel=1e-4)
    answer = second.answer(np.arange(10, 30), share=1)
    assert answer.variance == pytest.approx(2.0 * (10.0 / 20 / 0.5) ** 2, rel=1e-4)
    assert not office(path, delta=0.0).affords(np.arange(15, 40))
    # What is 0.5-private is 0.125-zCDP; two such answers are 0.25-zCDP.
    gaussian = office(path, epsilon=6.0)
    assert_allclose(gaussian.spent_[[5, 15, 25, 35]], [0.125, 0.25, 0.125, 0.0], rtol=1e-3)
    assert gaussian.epsilon_spent_ == pytest.approx(epsilon_of(0.25, DELTA), rel=1e-3)


def test_laplace_noise_promises_nothing_after_gaussian_noise(path):
    office(path).answer(np.arange(20), share=0.5)
    with pytest.raises(PrivacyBudgetError, match="delta must be > 0 with the ledger"):
        office(path, delta=0.0)


def test_two_objects_at_the_same_time_see_what_the_other_spends(path):
    one, two = office(path), office(path)
    answer = one.answer(np.arange(20), share=1)
    assert not two.affords(np.arange(5))
    assert two.epsilon_spent_ == one.epsilon_spent_ == pytest.approx(1.0, rel=1e-3)
    assert two.answer(np.arange(20)[::-1]) == answer and two.n_answers == 1


def test_the_same_question_has_the_same_answer_only_within_the_same_range(path):
    group = np.arange(30)
    first = office(path, epsilon=1).answer(group, share=0.5)
    assert office(path).answer(group) == first
    other = office(path, high=20).answer(group, share=0.5)
    assert other != first
    assert_allclose(office(path).spent_[group], first.rho + other.rho, rtol=1e-12)


def test_a_budget_below_what_is_spent_is_refused_and_a_larger_one_goes_on(path):
    office(path, epsilon=2).answer(np.arange(20), share=1)
    with pytest.raises(PrivacyBudgetError, match=r"but epsilon=2 is spent already"):
        office(path, epsilon=1)
    later = office(path, epsilon=3)
    later.answer(np.arange(10), share=1)
    assert 2.9 < later.epsilon_spent_ <= 3.0


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_two_names_of_one_file_are_one_account(path, link):
    """While one search is answered the other waits, whatever name it knows the file by."""
    one, name = office(path), path.with_name("other.ledger")
    link(path, name)
    two = office(name)
    with ThreadPoolExecutor(1) as thread:
        with one._account.exclusive():
            told = thread.submit(two.answer, np.arange(10, 40), 1.0)
            assert not wait([told], 0.3).done
            one.answer(np.arange(20), share=1.0)
        with pytest.raises(PrivacyBudgetError):
            told.result()
    assert epsilon_of(counted(path).max(), DELTA) <= 1.0
    assert_allclose(two.spent_, one.spent_)


@pytest.mark.skipif(not FORKS, reason="needs forks")
@pytest.mark.parametrize("own", [True, False])
def test_processes_share_one_budget(path, own):
    """Each with an object of its own, or with a copy that the fork has made."""
    shared = office(path)

    def work(seed):
        if own:
            ask_at_random(path, seed)
            return
        rng = np.random.default_rng(seed)
        for _ in range(25):
            group = rng.permutation(N)[: rng.integers(1, N)]
            if shared.affords(group):
                try:
                    shared.answer(group, 0.3)
                except PrivacyBudgetError:  # another was faster
                    continue

    context = multiprocessing.get_context("fork")
    children = [context.Process(target=work, args=(seed,)) for seed in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(120)
    assert [child.exitcode for child in children] == [0] * 4
    spent = counted(path)
    assert 0.9 < epsilon_of(spent.max(), DELTA) <= 1.0
    assert_allclose(shared.spent_, spent, rtol=1e-12)
    assert os.listdir(path.parent) == [path.name]


def test_threads_share_one_budget(path):
    oracle = office(path)

    def ask(start):
        try:
            return oracle.answer(np.arange(start, start + 30), share=1.0)
        except PrivacyBudgetError:
            return None

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(8)))
    assert sum(answer is not None for answer in answers) == 1
    assert counted(path).max() <= oracle.budget


KILLED = """
import os, signal, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import test_ledger

calls, at = 0, int(sys.argv[3])
write = os.fsync

def fatal(file):
    global calls
    calls += 1
    if calls == at:
        # What stands in the file now is half a line, or a whole one.
        if at % 2:
            os.ftruncate(file, os.fstat(file).st_size - 7)
        os.kill(os.getpid(), signal.SIGKILL)
    write(file)

from pathlib import Path
os.fsync = fatal
test_ledger.ask_at_random(Path(sys.argv[2]), at)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_kills_at_any_moment_leave_a_ledger_that_counts_all_that_was_told(path):
    here = os.path.dirname(__file__)
    told, before = set(ask_at_random(path, 99, n=3)), counted(path)
    for at in range(1, 6):
        command = [sys.executable, "-c", KILLED, here, str(path), str(at)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        oracle, spent = office(path), counted_leniently(path)
        assert (spent >= before).all()
        assert_allclose(oracle.spent_, spent, rtol=1e-12)
        before = spent
    told |= set(ask_at_random(path, 100))
    least = np.zeros(N)
    for members, answer in told:
        least[list(members)] += answer.rho
    spent = counted(path)  # every line is whole again
    assert (spent >= least * (1.0 - 1e-9)).all()
    assert epsilon_of(spent.max(), DELTA) <= 1.0


def counted_leniently(path):
    """As ``counted``, without a line that was not finished."""
    data = path.read_bytes()
    whole = path.with_name("whole")
    whole.write_bytes(data[: data.rindex(b"\n") + 1])
    found = counted(whole)
    whole.unlink()
    return found


@pytest.mark.parametrize("tail", [b'{"spend": 0.', b"\0" * 30, b"{"])
def test_a_line_that_was_not_finished_was_never_answered(path, tail):
    ask_at_random(path, 0, n=3)
    before = counted(path)
    with open(path, "ab") as file:
        file.write(tail)
    oracle = office(path)
    assert_allclose(oracle.spent_, before, rtol=1e-12)
    assert oracle.answer([7], share=0.01).rho > 0.0
    assert_allclose(counted(path), oracle.spent_, rtol=1e-12)


def test_it_is_paid_before_it_is_drawn(path, monkeypatch):
    oracle = office(path)

    def broken(sigma, dice):
        assert counted(path)[:20].min() > 0.0
        raise KeyboardInterrupt

    monkeypatch.setattr("skgpb.lab.datasets.private.discrete_gaussian", broken)
    with pytest.raises(KeyboardInterrupt):
        oracle.answer(np.arange(20), share=0.5)
    monkeypatch.undo()
    paid = oracle.spent_
    assert paid[:20].min() > 0.0 and not paid[20:].any()
    assert oracle.answer(np.arange(20), share=0.5).rho < paid[0]  # half of the rest


def test_what_cannot_be_written_is_not_answered(path, monkeypatch):
    oracle = office(path)

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    drawn = []
    monkeypatch.setattr(
        "skgpb.lab.datasets.private.discrete_gaussian", lambda *given: drawn.append(given)
    )
    with pytest.raises(OSError, match="No space"):
        oracle.answer(np.arange(20))
    assert not drawn


def test_the_file_tells_nothing_of_the_values_but_answers(path, monkeypatch, tmp_path):
    """Two columns whose values all differ, and the same noisy answers."""
    monkeypatch.setattr("skgpb.lab.datasets.private.discrete_gaussian", lambda sigma, dice: 12345)
    other = tmp_path / "other.ledger"
    for each, values in ((path, VALUES), (other, VALUES + 1e-9)):
        office(each, values=values).answer(np.arange(20))
    assert path.read_bytes() == other.read_bytes()


TABLES = [
    ({"place": TABLE["place"] + 1e-9, "name": TABLE["name"]}, "the column 'place' has other"),
    ({"place": TABLE["place"], "name": TABLE["name"][::-1]}, "the column 'name' has other"),
    ({"place": TABLE["place"]}, "it has a column 'name', this one has none"),
    ({name: column[1:] for name, column in TABLE.items()}, f"of {N} rows, this one has {N - 1}"),
]


@pytest.mark.parametrize(("table", "says"), TABLES)
def test_the_ledger_of_another_table_is_refused(path, table, says):
    PrivacyLedger(path, TABLE)
    with pytest.raises(ValueError, match=f"is the ledger of another table: {says}"):
        PrivacyLedger(path, table)


def test_the_ledger_of_another_column_is_refused(path):
    PrivacyLedger(path, TABLE, target="income")
    with pytest.raises(ValueError, match="the column 'income', not of 'wealth'"):
        PrivacyLedger(path, TABLE, target="wealth")


def test_a_table_is_known_by_its_columns_however_they_are_given(path):
    pandas = pytest.importorskip("pandas")
    PrivacyLedger(path, TABLE)
    PrivacyLedger(path, pandas.DataFrame(TABLE))
    PrivacyLedger(path, TABLE | {"more": np.ones(N)})
    array = path.with_name("array.ledger")
    PrivacyLedger(array, np.arange(N))
    PrivacyLedger(array, np.arange(N, dtype=np.float64))
    with pytest.raises(ValueError, match="another table"):
        PrivacyLedger(array, np.arange(N)[:, None] * 1.5)


@pytest.mark.parametrize("place", range(0, 12, 3))
def test_damage_is_found_and_counts_as_nothing_unspent(path, place):
    ask_at_random(path, 0, n=4)
    lines = path.read_bytes().splitlines(keepends=True)
    line = place // 3
    for damaged in (
        b"no json\n",
        b"[]\n",
        b"{}\n",
        lines[line].replace(b"e", b"\xff", 1),
        lines[line][:-20] + b"\n",
    ):
        path.write_bytes(b"".join([*lines[:line], damaged, *lines[line + 1 :]]))
        with pytest.raises(LoadError, match="not a privacy ledger, or damaged at byte"):
            office(path)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"spend": -1.0}, "it spends -1.0"),
        ({"spend": True}, "it spends True"),
        ({"spend": float("nan")}, "NaN is not JSON"),
        ({"rows": base64.b64encode(zlib.compress(bytes(8))).decode()}, "no rows"),
        ({"rows": base64.b64encode(zlib.compress(b"\xff" * 8)).decode()}, "rows that do not"),
        ({"rows": base64.b64encode(zlib.compress(bytes(2**20))).decode()}, "of another table"),
    ],
)
def test_lines_that_cannot_be_are_refused(path, entry, says):
    ask_at_random(path, 0, n=1)
    lines = of_version_1(path)
    path.write_text("\n".join([lines[0], json.dumps(json.loads(lines[1]) | entry), ""]))
    with pytest.raises(LoadError, match=says):
        office(path)


@pytest.mark.parametrize(
    ("version", "says"),
    [(0, "from 1 to 2, got 0"), (3, "newer than this"), (True, "got True"), ("1", "got '1'")],
)
def test_other_versions_are_refused(path, version, says):
    PrivacyLedger(path, TABLE)
    head = json.loads(of_version_1(path)[0]) | {"version": version}
    path.write_bytes(Seal().write(head))
    with pytest.raises(LoadError, match=says):
        PrivacyLedger(path, TABLE)


def of_version_1(path):
    """Let a ledger be as version 1 wrote it, without checksums and the count; return its lines."""
    head, _, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    entries = [head | {"version": 1}, *lines]
    for entry in entries:
        del entry["sha256 to here"]
    texts = [json.dumps(entry) for entry in entries]
    path.write_text("\n".join([*texts, ""]))
    return texts


def test_a_ledger_of_version_1_goes_on_with_checksums(path):
    ask_at_random(path, 0, n=3)
    before, old = counted(path), of_version_1(path)
    assert_allclose(office(path).spent_, before, rtol=1e-12)
    answer = office(path).answer([7], share=0.01)
    assert path.read_text().splitlines()[: len(old)] == old
    assert office(path).answer([7]) == answer
    assert_allclose(office(path).spent_, counted(path), rtol=1e-12)
    # The first checksum is that of the lines which have none.
    data = path.read_bytes()
    for changed in (data.replace(b'"spend": 0', b'"spend": 1', 1), data.replace(b"zlib", b"")):
        if changed != data:
            path.write_bytes(changed)
            with pytest.raises(LoadError, match="a line does not go with its checksum"):
                office(path)


@pytest.mark.parametrize("n_lost", [1, 2, 3])
def test_lines_that_are_lost_or_cut_are_no_refund(path, n_lost):
    ask_at_random(path, 0, n=4)
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    kept = b"".join(lines[:-n_lost])
    for damaged in (kept, kept + lines[-n_lost][:-7], kept + lines[-n_lost][:1]):
        path.write_bytes(damaged)
        with pytest.raises(LoadError, match=r"it has \d of 6 lines"):
            office(path)
    path.write_bytes(b"".join(lines[:2] + lines[2 + n_lost :]))
    with pytest.raises(LoadError, match="a line does not go with its checksum"):
        office(path)
    path.write_bytes(data)
    office(path)


def test_a_changed_byte_is_no_refund(path):
    ask_at_random(path, 0, n=3)
    data, spent, rng = path.read_bytes(), counted(path), np.random.default_rng(0)
    for place in rng.integers(len(data), size=200):
        path.write_bytes(
            data[:place] + bytes([data[place] ^ int(rng.integers(1, 256))]) + data[place + 1 :]
        )
        # The number of lines may also be lower, of a process that was killed.
        with suppress(LoadError):
            assert_allclose(office(path).spent_, spent, rtol=1e-12)


def test_a_ledger_that_is_mended_while_it_is_open_goes_on(path):
    oracle = office(path)
    oracle.answer(np.arange(20), share=0.1)
    data = path.read_bytes()
    other = office(path)
    other.answer(np.arange(30), share=0.1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40] + b"?" + whole[-39:])
    with pytest.raises(LoadError, match="does not go with its checksum"):
        oracle.answer(np.arange(40), share=0.1)
    path.write_bytes(whole)
    oracle.answer(np.arange(40), share=0.1)
    assert len(data) < len(whole) < len(path.read_bytes())
    assert_allclose(office(path).spent_, counted(path), rtol=1e-12)


def test_a_file_that_is_gone_or_shorter_is_not_begun_anew(path):
    oracle = office(path)
    oracle.answer(np.arange(20))
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"\n") + 1])
    with pytest.raises(LoadError, match="has become shorter"):
        oracle.answer(np.arange(20, 40))
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"values\.ledger"):
        oracle.answer(np.arange(20, 40))
    assert not path.exists()


def test_other_files_are_left_alone(path):
    for data in (b"", b"mine", b'{"format": "mine"}\n'):
        path.write_bytes(data)
        with pytest.raises(LoadError, match="not a privacy ledger"):
            PrivacyLedger(path, TABLE)
        assert path.read_bytes() == data
    with pytest.raises(LoadError, match="not a regular file"):
        PrivacyLedger(path.parent, TABLE)
    with pytest.raises(FileNotFoundError, match="missing"):
        PrivacyLedger(path.parent / "missing" / "a.ledger", TABLE)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"ledger": "a path"}, TypeError, "ledger must be a PrivacyLedger or None, got 'a path'"),
        ({"random_state": 0}, ValueError, "random_state must be None with a ledger"),
        ({"values": VALUES[1:]}, ValueError, f"all {N} rows of the table of the ledger"),
    ],
)
def test_what_would_break_the_promise_is_refused(path, given, error, says):
    settings = {"values": VALUES, "target_range": (0, 10), "epsilon": 1, "delta": DELTA}
    settings |= {"ledger": PrivacyLedger(path, TABLE)} | given
    with pytest.raises(error, match=says):
        PrivateAverages(**settings)


@pytest.mark.parametrize(
    "table", [{}, {"a": [1], "b": [1, 2]}, {"a": [[1]]}, np.ones((2, 2, 2)), []]
)
def test_what_is_no_table_is_refused(path, table):
    with pytest.raises(ValueError, match="table must have"):
        PrivacyLedger(path, table)
    assert not path.exists()


@pytest.mark.slow
@pytest.mark.skipif(not FORKS, reason="needs forks")
def test_a_run_on_processes_spends_one_budget(path):
    OFFICE[:] = [office(path, epsilon=5, min_members=5)]
    optimizer = GPOOOptimizer(pool=VALUES[:, None], min_members=5, random_state=0)
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        optimizer.run(in_office, 12, executor=pool, on_error="record")
    assert len(optimizer.history_) > 2
    assert 0.0 < OFFICE[-1].epsilon_spent_ <= 5.0
    assert OFFICE[-1].n_answers == len({*optimizer.history_["reward"].tolist()})


OFFICE: list[PrivateAverages] = []


def in_office(cell):
    return OFFICE[-1].answer(cell).average
