"""Two fidelities: the best of an expensive function with the help of a cheap one, at equal cost.

    python -m benchmarks.fidelities [--runs 20] [--seed 0] [--output DIR] [--methods LABELS]

On three pairs of functions every method gets the same initial design, 4 d answers of the cheap
function and d + 1 of the expensive one, and continues until its next query would exceed the budget.
The cheap one costs a fifth. Regret is that of the point with the largest posterior mean at high
fidelity, when half of the cost after the initial design is spent, and all. BoTorch is skipped where
it is not installed. Results are appended to a CSV file in ``--output`` as they come; a run that was
interrupted goes on where it stopped.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

from benchmarks._common import DEFAULT_OUTPUT, argument_parser, estimate, mean_and_error
from benchmarks.fidelities import ours, peers
from benchmarks.fidelities.functions import PAIRS, Pair

METHODS: list[Any] = [ours.KG, ours.KGAlone, peers.MaxValueEntropy, peers.KnowledgeGradient]
FIELDS = ("problem", "method", "seed", "spent", "regret", "rounds", "high", "seconds")
SHARES = (0.5, 1.0)


def first_design(pair: Pair, seed: int) -> list[tuple[np.ndarray, int]]:
    """Points of the cheap function that fill the cube, and of the expensive one."""
    design = []
    for task, n in ((1, 4 * pair.d), (0, pair.d + 1)):
        sobol = qmc.Sobol(pair.d, seed=np.random.default_rng([seed, task]))
        design += [(x, task) for x in sobol.random_base2(int(np.ceil(np.log2(n))))[:n]]
    return design


def play(method: type, pair: Pair, seed: int) -> Iterator[dict[str, Any]]:
    """Rows of one run, at each share of the money."""
    optimizer, spent, rounds, high = method(pair.d, pair.price, seed), 0.0, 0, 0
    for x, task in first_design(pair, seed):
        optimizer.tell(x, task, pair.answer(x, task))
        spent += pair.price_of(task)
    begun, start, seconds, shares = spent, process_time(), 0.0, list(SHARES)
    while shares:
        x, task = optimizer.ask()
        ends = spent + pair.price_of(task) > pair.budget + 1e-9
        while shares and (ends or spent >= begun + shares[0] * (pair.budget - begun) - 1e-9):
            best = optimizer.recommend()
            seconds += process_time() - start
            regret = pair.optimum - pair.answer(np.clip(best, 0.0, 1.0), 0)
            yield {
                "spent": shares.pop(0),
                "regret": regret,
                "rounds": rounds,
                "high": high,
                "seconds": seconds,
            }
            start = process_time()
        optimizer.tell(x, task, pair.answer(x, task))
        spent, rounds, high = spent + pair.price_of(task), rounds + 1, high + (task == 0)


def read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def report(rows: list[dict[str, Any]]) -> str:
    """Mean regrets with standard errors, and seconds of processor time per round."""
    lines = []
    for pair in PAIRS:
        for method in dict.fromkeys(row["method"] for row in rows):
            mine = [r for r in rows if (r["problem"], r["method"]) == (pair.name, method)]
            texts = []
            for share in SHARES:
                regret = np.array([float(r["regret"]) for r in mine if float(r["spent"]) == share])
                if len(regret):
                    texts.append(estimate(*mean_and_error(regret), 4))
            last = [r for r in mine if float(r["spent"]) == 1.0]
            if last:
                seconds, rounds, high = (
                    np.array([float(r[name]) for r in last])
                    for name in ("seconds", "rounds", "high")
                )
                each = 1e3 * seconds.sum() / rounds.sum()
                lines.append(
                    f"{pair.name:10}{method:18}{'  '.join(texts):32}{len(last):3d} runs  "
                    f"{rounds.mean():5.1f} rounds, {high.mean():4.1f} high  {each:8.1f} ms/round"
                )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argument_parser("fidelities", __doc__, 20)
    parser.add_argument("--methods", default="", help="labels that contain one of these, by commas")
    parser.set_defaults(output=DEFAULT_OUTPUT / "fidelities")
    options = parser.parse_args(arguments)
    names = [name for name in options.methods.split(",") if name]
    methods = [m for m in METHODS if not names or any(name in m.label for name in names)]
    if find_spec("botorch") is None:
        methods = [m for m in methods if not issubclass(m, peers.BoTorch)]
        print("not installed, skipped: botorch")
    path = options.output / "runs.csv"
    done = {(r["problem"], r["method"], int(r["seed"])) for r in read(path)}
    with threadpool_limits(1):
        for seed in range(options.seed, options.seed + options.runs):
            for pair in PAIRS:
                for method in methods:
                    if (pair.name, method.label, seed) in done:
                        continue
                    base = {"problem": pair.name, "method": method.label, "seed": seed}
                    rows = [base | row for row in play(method, pair, seed)]
                    fresh = not path.exists()
                    with path.open("a", newline="") as file:
                        writer = csv.DictWriter(file, FIELDS)
                        if fresh:
                            writer.writeheader()
                        writer.writerows(rows)
                    print(rows[-1], flush=True)
    print(report(read(path)))
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
