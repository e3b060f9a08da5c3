"""GP-UCB with more regularisation than noise, compared with GP-UCB and GPOO without.

``python -m benchmarks.regularised [--runs 20] [--answers 1000 10000] [--seed 0] [--output DIR]``
draws functions whose norm is exactly 2 for three kernels on [0, 1], as ``benchmarks.coverage``
does, and every search is given kernel, norm and noise (standard deviation 0.2). GP-UCB asks for the
values of 101 points, GPOO for those at the centres of its cells, down to 256 of them. Regret is
against the best of what each of them may ask.

Printed for each number of answers and each kernel: the sum of regrets of all that was asked, the
regret of what is recommended at the end, both with standard errors over the runs, and the seconds
of processor time of one run, its answers included. "regularised" is GP-UCB with the noise variance
that ``skgpb.surrogate.widths.balancing_alpha`` chooses before the first answer.
"""

from __future__ import annotations

import time
import warnings
from functools import cache
from typing import Any

import numpy as np

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    positive_int,
    spawn_seeds,
    write_csv,
)
from benchmarks.coverage import KERNELS, NOISE, B, Function
from skgpb import GPOOOptimizer, GPUCBOptimizer
from skgpb.exceptions import NumericalWarning, RefinementWarning
from skgpb.guarantee import Guarantee
from skgpb.surrogate.information_gain import GreedyInformationGain
from skgpb.surrogate.widths import balancing_alpha

DEPTH = 8
ARMS = np.linspace(0.0, 1.0, 101)[:, np.newaxis]
CENTERS = (np.arange(2**DEPTH) + 0.5)[:, np.newaxis] / 2**DEPTH
USED = ("RBF", "Matern-5/2", "Matern-3/2")
HEADER = ("sum of regrets", "at the end", "s")
METHODS: dict[str, tuple[type, dict[str, Any]]] = {
    "GP-UCB, theory": (GPUCBOptimizer, {"beta": "theory"}),
    "GP-UCB, rkhs": (GPUCBOptimizer, {"beta": "rkhs"}),
    "GP-UCB, rkhs, regularised": (
        GPUCBOptimizer,
        {"beta": "rkhs", "guarantee": Guarantee(B, noise_bound=NOISE)},
    ),
    "GPOO, theory": (GPOOOptimizer, {"beta": "theory"}),
    "GPOO, rkhs": (GPOOOptimizer, {"beta": "rkhs"}),
}


@cache
def regularised(kernel: str, answers: int) -> float:
    """The noise variance that is chosen for a kernel and a number of answers."""

    def gain(alpha: float) -> float:
        return GreedyInformationGain(KERNELS[kernel], ARMS, alpha).bound(answers)

    return balancing_alpha(gain, B, NOISE)


def search(method: str, kernel: str, answers: int, seed: int) -> Any:
    """Return the optimizer."""
    cls, settings = METHODS[method]
    known = {"alpha": NOISE**2, "guarantee": Guarantee(B), "random_state": seed} | settings
    if method.endswith("regularised"):
        known["alpha"] = regularised(kernel, answers)
    if cls is GPOOOptimizer:
        box = {"bounds": [(0.0, 1.0)], "feedback": "center", "max_depth": DEPTH - 1}
        return cls(KERNELS[kernel], **box, **known)
    return cls(KERNELS[kernel], arms=ARMS, **known)


def play(method: str, kernel: str, answers: int, seed: int) -> np.ndarray:
    """Sum of regrets, regret at the end, seconds, (3,)."""
    rng = np.random.default_rng(seed)
    f = Function(KERNELS[kernel], rng)
    points = CENTERS if METHODS[method][0] is GPOOOptimizer else ARMS
    best = max(f.average(point[np.newaxis]) for point in points)
    # The same point is asked again and again.
    value = cache(lambda x: f.average(np.array([[x]])))
    optimizer = search(method, kernel, answers, int(rng.integers(2**31)))
    noise = NOISE * rng.normal(size=answers)
    values, start = np.empty(answers), time.process_time()
    for t in range(answers):
        query = optimizer.ask()
        values[t] = value(float(query.center[0]))
        optimizer.tell(query, values[t] + noise[t])
    last = value(float(optimizer.recommend().center[0]))
    return np.array([best * answers - values.sum(), best - last, time.process_time() - start])


def main(args: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argument_parser("regularised", __doc__, runs=20, what="functions of each kernel")
    parser.add_argument(
        "--answers",
        type=positive_int,
        nargs="+",
        default=[1000, 10_000],
        help="numbers of answers (default 1000 10000)",
    )
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=list(METHODS), help="default all"
    )
    options = parser.parse_args(args)
    warnings.simplefilter("ignore", NumericalWarning)
    warnings.simplefilter("ignore", RefinementWarning)
    records = []
    for answers in options.answers:
        for kernel in USED:
            rows = []
            for method in options.methods:
                seeds = spawn_seeds(options.seed, options.runs)
                found = np.array([play(method, kernel, answers, seed) for seed in seeds])
                records += [
                    (answers, kernel, method, seed, *row)
                    for seed, row in zip(seeds, found.tolist(), strict=True)
                ]
                (total, last, seconds), error = mean_and_error(found)
                cells = [estimate(total, error[0], 1), estimate(last, error[1], 4)]
                rows.append((method, [*cells, f"{seconds:.2f}"]))
            title = f"{kernel}, {answers} answers: {options.runs} functions, seed {options.seed}"
            print(format_table(title, HEADER, rows))
            print(flush=True)
    path = options.output / "regularised.csv"
    header = ("answers", "kernel", "method", "seed", "sum", "at_the_end", "seconds")
    write_csv(path, header, records)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
