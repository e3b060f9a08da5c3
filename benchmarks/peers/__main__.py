"""skgpb next to the optimizers that people would use instead, in one run.

    python -m benchmarks.peers [--runs 20] [--seed 0] [--evaluations 50] [--output DIR] [--quick]

1. CPU seconds of one ask and tell after t = 50..1,000 observations in 2 and 10 dimensions, with
   the same fixed kernel for all where the package allows it.
2. Point feedback: regret on Branin and Hartmann-6 with noise, every package as it comes.
3. Aggregated feedback: answers are averages over cells. Packages that know points only get the
   average over a cell around them as if it had been observed at the centre; GPOO asks for
   cells and takes averages for what they are.

Packages that are not installed are skipped and named. Results are appended to CSV files in
``--output`` as they come; a run that was interrupted goes on where it stopped. ``--report DIR``
writes the page and the figures of the documentation from them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks._common import DEFAULT_OUTPUT, argument_parser, positive_int
from benchmarks.peers import measure, methods, problems, report

PARTS = ("timing", "points", "averages")
FIELDS = ("part", "problem", "method", "seed", "t", "recommended", "per_round", "seconds")


def read(path: Path) -> list[dict]:
    """Return the rows of a CSV file with numbers as numbers, none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for name, value in row.items():
            if name not in ("part", "problem", "method"):
                row[name] = float(value) if value else None
    return rows


def append(path: Path, rows: Iterable[dict]) -> None:
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if fresh:
            writer.writeheader()
        writer.writerows(rows)


def time_all(
    path: Path, dimensions: list[int], times: list[int], which: list[type], seed: int
) -> None:
    done = {(row["problem"], row["method"]) for row in read(path) if row["part"] == "timing"}
    for d in dimensions:
        for method in which:
            problem = f"d = {d}"
            if (problem, method.label) in done:
                continue
            found = measure.seconds_per_round(method, d, times, seed)
            base = {"part": "timing", "problem": problem, "method": method.label, "seed": seed}
            append(path, [base | {"t": t, "seconds": s} for t, s in found.items()])
            print(problem, method.label, {t: f"{1e3 * s:.3g} ms" for t, s in found.items()})


def compete(
    path: Path, part: str, cases: list, which: list[type], seeds: range, budget: int
) -> None:
    """Play every method on every problem; seeds are the outer loop."""
    done = {(r["part"], r["problem"], r["method"], r["seed"]) for r in read(path)}
    checkpoints = sorted({max(1, budget * k // 5) for k in range(1, 6)})
    for seed in seeds:
        for problem in cases:
            for method in which:
                key = (part, problem.name, method.label, seed)
                if key in done:
                    continue
                cells = issubclass(method, methods.SkgpbAverages)
                play = measure.cell_regret if cells else measure.point_regret
                base = dict(zip(("part", "problem", "method", "seed"), key, strict=True))
                rows = [base | row for row in play(method, problem, budget, checkpoints, seed)]
                append(path, rows)
                last = rows[-1]
                print(
                    f"{part} {problem.name} seed {seed} {method.label}: regret "
                    f"{last['recommended']:.4g}, per round {last['per_round']:.4g}, "
                    f"{1e3 * last['seconds']:.3g} ms",
                    flush=True,
                )


def main(arguments: list[str] | None = None) -> None:
    parser = argument_parser("peers", __doc__, 20, what="runs of each method with points")
    parser.add_argument("--parts", default=",".join(PARTS), help="which of %(default)s to run")
    parser.add_argument(
        "--average-runs", type=positive_int, default=10, help="and with averages (default 10)"
    )
    parser.add_argument(
        "--evaluations", type=positive_int, default=50, help="budget of a run (default 50)"
    )
    parser.add_argument("--times", default="50,100,200,500,1000", help="default %(default)s")
    parser.add_argument("--dimensions", default="2,10", help="default %(default)s")
    parser.add_argument(
        "--sides", default="0.25,0.1", help="of the cells around points (default %(default)s)"
    )
    parser.add_argument("--methods", default="", help="labels that contain one of these, by commas")
    parser.add_argument("--quick", action="store_true", help="a few runs, rounds and sizes")
    parser.set_defaults(output=DEFAULT_OUTPUT / "peers")
    parser.add_argument("--report", type=Path, help="folder for the page and the figures")
    options = parser.parse_args(arguments)
    if options.quick:
        options.runs = options.average_runs = 1
        options.evaluations, options.times, options.dimensions = 12, "50,100", "2"
        options.sides = "0.25"
    path, parts = options.output / "runs.csv", options.parts.split(",")
    methods.quiet()
    methods.single_threaded()

    def chosen(which: list[type]) -> list[type]:
        names = [name for name in options.methods.split(",") if name]
        return [m for m in which if not names or any(name in m.label for name in names)]

    def seeds(runs: int) -> range:
        return range(options.seed, options.seed + runs)

    peers, missing = methods.available(methods.PEERS)
    if missing:
        print("not installed, skipped:", ", ".join(missing))
    with threadpool_limits(1):
        if "timing" in parts:
            numbers = (
                [int(x) for x in text.split(",")] for text in (options.dimensions, options.times)
            )
            time_all(path, *numbers, chosen(methods.OURS_TIMED + peers), options.seed)
        if "points" in parts:
            which = chosen([*methods.OURS, methods.Random, *peers])
            cases = problems.point_problems()
            compete(path, "points", cases, which, seeds(options.runs), options.evaluations)
        if "averages" in parts:
            which = chosen([*methods.OURS_AVERAGES, methods.Random, *peers])
            sides = [float(side) for side in options.sides.split(",")]
            cases = [p for side in sides for p in problems.aggregated_problems(side)]
            runs = seeds(options.average_runs)
            compete(path, "averages", cases, which, runs, options.evaluations)
    rows = read(path)
    print(report.text(rows, missing))
    print(f"Written: {path}")
    if options.report:
        report.write(rows, missing, options.report)


if __name__ == "__main__":
    main()
