"""What a number of default behaviour is worth: runs with it, and with it switched off, in pairs.

    python -m benchmarks.ablate NAME ... [--all] [--list] [--small] [--together] [--runs 4]
        [--seed 0] [--parts suite bbob ...] [--tables FOLDER] [--n-jobs 1] [--output DIR]

The numbers are those of ``skgpb/defaults.py``; what each is replaced by is in
``benchmarks/ablate/other_values.py``. Every number is measured on the choosing half of the suite,
on BBOB (if ``coco-experiment`` is installed), on tables of reactions (with ``--tables``) and on
exact answers, told nothing but the bounds, and on further short runs of other kinds of searches.
``--small`` has fewer functions and 50 instead of 100 answers.

Printed is, for each part, in how many games the number was read and in how many of these something
else was asked or recommended, and the means of two differences with their standard errors over the
games that read it: positive ones say that without the number it is worse. The first is of the
regret per round in per cent, the second of the log10 of the regret at the end, where nothing else
is said. Games that never read a number are not played again. Both runs of a pair have one seed and
noise; but once they differ they are two different runs, so that single differences say little.

``--together`` decides of many numbers with the runs that one would take: in each run every number
has its other value with a probability of :data:`SHARE`, independently, and a regression over all
runs tells what each of them changes, on average over the values of the others. Printed are, for
each number, the changes of the log10 of the regret at the end and of the regret per round, with
standard errors, over all games that read it, and the parts where a change is more than three
standard errors.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error
from benchmarks.ablate.games import (
    AT_THE_END,
    MAIN,
    MEASURES,
    PER_ROUND,
    Game,
    further_parts,
    main_parts,
)
from benchmarks.ablate.other_values import OTHER
from benchmarks.peers.methods import quiet, single_threaded
from skgpb import defaults

NAMES = tuple(OTHER)
FIELDS = ("name", "size", "part", "game", "seed", "first", "second", "reads")
#: Probability with which a number has its other value in a run of many together.
SHARE = 0.2
Key = tuple[str, str, str, str, int]

_read: set[str] = set()


class Recorder(ModuleType):
    """A module that notes which of its numbers are read."""

    def __getattribute__(self, name: str) -> Any:
        if name.isupper():
            _read.add(name)
        return super().__getattribute__(name)


@contextmanager
def recorded() -> Iterator[set[str]]:
    """Note the numbers that are read in the block."""
    _read.clear()
    defaults.__class__ = Recorder
    try:
        yield _read
    finally:
        defaults.__class__ = ModuleType


@contextmanager
def switched(names: str) -> Iterator[None]:
    """Let numbers, separated by spaces, have their other values in the block."""
    usual = {name: getattr(defaults, name) for name in names.split()}
    for name in usual:
        setattr(defaults, name, OTHER[name])
    try:
        yield
    finally:
        for name, value in usual.items():
            setattr(defaults, name, value)


def play(game: Game, names: str, seed: int) -> dict[str, Any]:
    """Play a game with numbers switched off, in whichever process this is."""
    quiet()
    warnings.simplefilter("ignore")
    with threadpool_limits(1), switched(names), recorded() as read:
        first, second = game(seed)
        reads = " ".join(sorted(read))
    return {"first": first, "second": second, "reads": reads}


class Record:
    """What was played, in a file that the next call goes on with."""

    def __init__(self, path: Path, size: str, n_jobs: int) -> None:
        self.path, self.size, self.n_jobs = path, size, n_jobs
        self.played: dict[Key, dict[str, Any]] = {}
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    key = (row["name"], row["size"], row["part"], row["game"], int(row["seed"]))
                    self.played[key] = row | {n: float(row[n]) for n in ("first", "second")}

    def of(self, part: str, games: dict[str, Game], runs: Sequence[tuple[str, str, int]]) -> None:
        """Play the runs (numbers, game, seed) that are not in the file."""
        keys: list[Key] = [(names, self.size, part, game, seed) for names, game, seed in runs]
        keys = [key for key in keys if key not in self.played]
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(play)(games[game], names, seed) for names, _, _, game, seed in keys
        )
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS)
            if not file.tell():
                writer.writeheader()
            for key, values in zip(keys, found, strict=True):
                self.played[key] = values
                writer.writerow(dict(zip(FIELDS[:5], key, strict=True)) | values)


def differences(record: Record, name: str, part: str, games: dict[str, Game], seeds: range) -> Any:
    """Differences (n, 2) in the games that read a number: with its other value minus as it is."""
    usual = {
        (game, seed): record.played["", record.size, part, game, seed]
        for game in games
        for seed in seeds
    }

    read = [key for key, found in usual.items() if name in found["reads"].split()]
    record.of(part, games, [(name, *key) for key in read])
    pairs = [
        [float(record.played[name, record.size, part, *key][m]) - float(usual[key][m]) for m in
         ("first", "second")]
        for key in read
    ]  # fmt: skip
    return np.array(pairs).reshape(-1, 2)


def cells_of(found: np.ndarray, n_games: int) -> list[str]:
    """Games that read it, in how many something changed, and the mean differences."""
    if not len(found):
        return [f"0 of {n_games}", "", "", ""]
    changed = int((found != 0.0).any(axis=1).sum())
    if not changed:
        return [f"{len(found)} of {n_games}", "0", "0", "0"]
    both = [estimate(*map(float, each), 2) for each in zip(*mean_and_error(found), strict=True)]
    return [f"{len(found)} of {n_games}", str(changed), *both]


def scores(found: np.ndarray) -> np.ndarray:
    """Both mean differences (2,) in standard errors; 0 for one game, or where nothing changed."""
    if len(found) < 2:
        return np.zeros(2)
    mean, error = mean_and_error(found)
    return np.divide(mean, error, out=np.zeros(2), where=error > 0.0)


def line_of(found: dict[str, np.ndarray]) -> str:
    """In how many games a number was read, and without it was worse and better at the end; where.

    Parts are named in which a mean difference is more than a standard error, with the larger one of
    both in standard errors. By chance alone this happens to half of the parts.
    """
    every = np.concatenate([np.empty((0, 2)), *found.values()])
    changed = int((every != 0.0).any(axis=1).sum())
    largest = {part: max(scores(each).tolist(), key=abs) for part, each in found.items()}
    said = ", ".join(f"{part} {score:+.1f}" for part, score in largest.items() if abs(score) > 1.0)
    worse, better = (int((sign * every[:, 1] > 0.0).sum()) for sign in (1.0, -1.0))
    return f"{len(every):>5} {changed:>8} {worse:>6} {better:>7}  {said}".rstrip()


def drawn(names: Sequence[str], part: str, game: str, seed: int) -> str:
    """Numbers that have their other values in a run of many together."""
    rng = np.random.default_rng([seed, crc32(f"{part} {game}".encode())])
    return " ".join(name for name in names if rng.random() < SHARE)


def changes(
    record: Record, names: Sequence[str], parts: dict[str, dict[str, Game]], seeds: range, m: str
) -> tuple[np.ndarray, np.ndarray]:
    """What the other value of each number changes in a measure, and standard errors; nan if unread.

    Least squares with a constant for each game; errors are for variances that differ.
    """
    X, y, n_constants = [], [], 0
    for part, games in parts.items():
        for game in games:
            keys = [(drawn(names, part, game, s), record.size, part, game, s) for s in seeds]
            found = np.array([float(record.played[key][m]) for key in keys])
            read = set(" ".join(str(record.played[key]["reads"]) for key in keys).split())
            other = np.array([[n in read and n in key[0].split() for n in names] for key in keys])
            X.append(other - other.mean(axis=0))
            y.append(found - found.mean())
            n_constants += 1
    mean, error = np.full((2, len(names)), np.nan)
    if not X:
        return mean, error
    A, b = np.concatenate(X), np.concatenate(y)
    used = A.any(axis=0)
    A = A[:, used]
    inverse = np.linalg.pinv(A.T @ A)
    mean[used] = inverse @ (A.T @ b)
    freedom = len(b) - n_constants - int(used.sum())
    if freedom > 0:
        left = (b - A @ mean[used]) * np.sqrt(len(b) / freedom)
        error[used] = np.sqrt(np.diag(inverse @ (A.T * left**2) @ A @ inverse))
    return mean, error


def together(
    record: Record, names: Sequence[str], parts: dict[str, dict[str, Game]], seeds: range
) -> str:
    """Play runs with many numbers switched off at once, and return a table of what each changes."""
    for part, games in parts.items():
        runs = [(drawn(names, part, game, s), game, s) for game in games for s in seeds]
        record.of(part, games, runs)
    kinds = {part: MEASURES.get(part, (PER_ROUND, AT_THE_END)) for part in parts}
    in_all = [
        changes(record, names, {p: g for p, g in parts.items() if kinds[p][i] == kind}, seeds, m)
        for i, kind, m in ((1, AT_THE_END, "second"), (0, PER_ROUND, "first"))
    ]
    far: dict[str, list[str]] = {name: [] for name in names}
    for part, games in parts.items():
        for kind, m in zip(kinds[part], ("first", "second"), strict=True):
            for name, mean, error in zip(
                names, *changes(record, names, {part: games}, seeds, m), strict=True
            ):
                if abs(mean) > 3.0 * error:
                    far[name].append(f"{part}, {kind} {estimate(mean, error, 2)}")
    width = max(len(f"{name} = {OTHER[name]!r}") for name in names)
    lines = [
        f"What other values change, {len(seeds)} runs of each game, seed {seeds[0]}",
        f"{'':<{width}}  log10 at the end    per round, %  beyond three errors",
    ]
    for i, name in enumerate(names):
        cells = [
            "-" if np.isnan(error[i]) else estimate(mean[i], error[i], digits)
            for (mean, error), digits in zip(in_all, (3, 2), strict=True)
        ]
        label = f"{name} = {OTHER[name]!r}"
        lines.append(f"{label:<{width}}  {cells[0]:>16}  {cells[1]:>14}  {'; '.join(far[name])}")
    return "\n".join(line.rstrip() for line in lines)


def main(arguments: list[str] | None = None) -> None:
    """Play what is missing, and print a table for each number."""
    parser = argument_parser("ablate", __doc__, 4, n_jobs=True)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of numbers in skgpb/defaults.py")
    parser.add_argument("--all", action="store_true", help="all of them, with a table at the end")
    parser.add_argument("--list", action="store_true", help="print them, and play nothing")
    parser.add_argument("--small", action="store_true", help="fewer and shorter games")
    parser.add_argument("--together", action="store_true", help="switch many off in each run")
    parser.add_argument("--parts", nargs="+", metavar="PART", help="instead of all of them")
    parser.add_argument("--tables", type=Path, help="folder of the tables of reactions")
    options = parser.parse_args(arguments)
    wrong = [name for name in options.names if name not in NAMES]
    if wrong:
        parser.error(f"no numbers of skgpb/defaults.py: {', '.join(wrong)}; see --list")
    if options.list:
        for name in NAMES:
            print(f"{name} = {getattr(defaults, name)!r}, other value {OTHER[name]!r}")
        return
    names = NAMES if options.all else options.names
    if not names:
        parser.error("which numbers? Name some, or pass --all or --list")
    quiet()
    single_threaded()
    warnings.simplefilter("ignore")
    parts = main_parts(options.small, options.tables) | further_parts(options.small)
    missing = [name for name in MAIN if name not in parts]
    if missing:
        print(f"skipped, see --help: {', '.join(missing)}")
    unknown = set(options.parts or []) - set(parts)
    if unknown:
        parser.error(f"no parts: {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    parts = {name: games for name, games in parts.items() if name in (options.parts or parts)}
    seeds = range(options.seed, options.seed + options.runs)
    path = options.output / "ablate.csv"
    record = Record(path, "small" if options.small else "full", options.n_jobs)
    if options.together:
        print(f"{together(record, names, parts, seeds)}\n\nWritten: {path}")
        return
    for part, games in parts.items():
        record.of(part, games, [("", game, seed) for game in games for seed in seeds])
    said = []
    for name in names:
        found = {p: differences(record, name, p, games, seeds) for p, games in parts.items()}
        rows = [
            (f"{part}: {', '.join(MEASURES.get(part, (PER_ROUND, AT_THE_END)))}",
             cells_of(found[part], len(games) * options.runs))
            for part, games in parts.items()
            if len(found[part]) or part in MAIN
        ]  # fmt: skip
        title = f"{name} = {OTHER[name]!r} instead of {getattr(defaults, name)!r}"
        table = format_table(title, ["read in", "changed", "first", "second"], rows)
        said.append((f"{name} = {OTHER[name]!r}", line_of(found)))
        print(f"{table}\n", flush=True)
    width = max(len(label) for label, _ in said)
    print(
        f"Worse (+) and better (-) with the other value; {options.runs} runs, seed {options.seed}"
    )
    print(f"{'':<{width}}  read  changed  worse  better  in standard errors")
    print("\n".join(f"{label:<{width}} {line}" for label, line in said))
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()
