"""Regret where old answers are told in other ways than as earlier campaigns, or a process drifts.

    python -m benchmarks.transfer [--runs 8] [--seed 0] [--answers 8] [--rounds 200] [--output DIR]

The process has two numbers and two peaks, and noise of 5 % of the range. The earlier campaign has
thirty answers at random settings. It is *told* as if it were new, as a *block*, as a *fidelity* or
as one of the *earlier campaigns*. Regrets are those of the recommendation after eight new answers,
in per cent of the range. The process that drifts has one number, noise of 0.1, and an optimum that
moves to and fro during 200 answers; a setting half of the range away from it costs 1, and regrets
are means over all answers. There the time is *ignored*, or a context that ends at 200 or 2,000.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from skgpb import EIOptimizer, GPUCBOptimizer, KGOptimizer
from skgpb.domains import Fidelities

NOISE, N_OLD = 0.05, 30
BOUNDS = [(0.0, 1.0)] * 2
Function = Callable[[np.ndarray], Any]


def process(x: np.ndarray) -> Any:
    """Return the values (n,) of points (n, 2), at most about 1."""
    high = np.exp(-(((x[..., 0] - 0.65) / 0.2) ** 2) - ((x[..., 1] - 0.4) / 0.25) ** 2)
    low = np.exp(-(((x[..., 0] - 0.2) / 0.2) ** 2) - ((x[..., 1] - 0.8) / 0.2) ** 2)
    return high + 0.6 * low


EARLIER: dict[str, Function] = {
    "the same process": process,
    "shifted by half of the range": lambda x: process(x) + 0.5,
    "of half the scale, with a tilt": lambda x: 0.5 * process(x) + 0.3 * x[..., 0],
    "with its optimum moved by 0.15": lambda x: process(x + 0.15 / np.sqrt(2.0)),
    "turned upside down": lambda x: 1.0 - process(x),
}
WAYS = ("told", "block", "fidelity", "earlier campaign")
TIMES = {"ignored": 0, "from 0 to 200": 200, "from 0 to 2000": 2000}


def old_answers(earlier: Function, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return settings (n, 2) and answers (n,) of the earlier campaign."""
    rng = np.random.default_rng([41, seed])
    X = rng.random((N_OLD, 2))
    return X, earlier(X) + NOISE * rng.normal(size=N_OLD)


def play(way: str, earlier: Function, seed: int, n: int) -> float:
    """Return the regret of the recommendation after n new answers, in per cent."""
    X, y = old_answers(earlier, seed)
    rng, blocks = np.random.default_rng([42, seed]), {}
    settings: dict[str, Any] = {"bounds": BOUNDS, "random_state": seed}
    opt: Any
    if way == "fidelity":
        opt = KGOptimizer(queries=Fidelities(2), cost=[1.0, 1e6], **settings)
        opt.tell(np.column_stack([X, np.ones(N_OLD)]), y)
    elif way == "earlier campaign":
        opt = EIOptimizer(earlier_campaigns={"last year": (X, y)}, **settings)
    else:
        opt = EIOptimizer(**settings)
        if way == "told":
            opt.tell(X, y)
        elif way == "block":
            opt.tell(X, y, block=["last year"] * N_OLD)
            blocks = {"block": "this year"}
    for _ in range(n):
        query = opt.ask()
        opt.tell(query, process(query.points[0][:2]) + NOISE * rng.normal(), **blocks)
    grid = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 201)] * 2), axis=-1)
    return float(100.0 * (process(grid).max() - process(opt.recommend().points[0][:2])))


def drift(end: int, seed: int, n: int) -> float:
    """Return the mean regret of n answers while the optimum moves; 0 ignores the time."""
    rng, regrets = np.random.default_rng([43, seed]), []
    contexts: dict[str, Any] = {"context_bounds": [(0, end)]} if end else {}
    opt: Any = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=seed, **contexts)
    for t in range(n):
        query = opt.ask(context=t) if end else opt.ask()
        best = 0.5 + 0.35 * np.sin(2.0 * np.pi * t / 200)
        regrets.append(4.0 * (float(query.points[0, -1]) - best) ** 2)
        opt.tell(query, 1.0 - regrets[-1] + 0.1 * rng.normal())
    return float(np.mean(regrets))


def main(arguments: list[str] | None = None) -> None:
    """Play all runs, and print means and standard errors."""
    parser = argument_parser("transfer", __doc__ or "", runs=8, answers=8, rounds=200)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    seeds = range(100 * options.seed, 100 * options.seed + options.runs)
    rows: list[list[Any]] = []
    n = options.answers

    def cell(kind: str, way: str, runs: list[float], digits: int) -> str:
        rows.extend([kind, way, *each] for each in zip(seeds, runs, strict=True))
        mean, error = mean_and_error(np.array(runs)[:, np.newaxis])
        return estimate(float(mean[0]), float(error[0]), digits)

    table = []
    for name, earlier in EARLIER.items():
        runs = {way: [play(way, earlier, seed, n) for seed in seeds] for way in WAYS}
        table.append((name, [cell(name, way, each, 0) for way, each in runs.items()]))
    print(format_table(f"Regret after {n} new answers", WAYS, table), end="\n\n")
    alone = {m: [play("", process, seed, m) for seed in seeds] for m in (n, 2 * n)}
    table = [(f"{m} answers", [cell("alone", str(m), each, 0)]) for m, each in alone.items()]
    print(format_table("Regret without old answers", ["regret"], table), end="\n\n")
    moving = {
        name: [drift(end, seed, options.rounds) for seed in seeds] for name, end in TIMES.items()
    }
    table = [(name, [cell("drift", name, each, 3)]) for name, each in moving.items()]
    print(format_table("Regret while the optimum moves, by the time", ["regret"], table))
    path = options.output / "transfer.csv"
    write_csv(path, ["campaign", "way", "seed", "regret"], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()
