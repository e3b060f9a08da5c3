"""Effect of averaging over models on `Stop` when kernel and noise are learned.

``python -m benchmarks.averaged_stop [--runs 20] [--seed 0] [--dimensions 1 2] [--noise 0.3]
[--answers 150]`` draws functions from Gaussian processes of several smoothnesses at 101 arms in one
dimension and at 15 x 15 in two, with noise of this standard deviation. GP-UCB, which is told
nothing, plays up to so many rounds. At every check of Stop(0.4) the same run is judged twice: by
the most probable model alone, and by it and by all models that the answers leave
(:mod:`skgpb.surrogate.models`), as Stop does.

Printed: how many runs either rule stopped, in how many of these the claim was true, with the exact
binomial interval of 95 %, and the median number of answers.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern

from benchmarks._common import argument_parser, format_table, write_csv
from benchmarks.stopping import DELTA, EPSILON, NOISE, interval
from skgpb import GPUCBOptimizer, Stop

MOST = 150
# Added to the variance of f, so that its covariance has a Cholesky factor.
JITTER = 1e-8
SIDE = np.linspace(0.0, 1.0, 15)
ARMS = {1: np.linspace(0.0, 1.0, 101)[:, None], 2: np.stack(np.meshgrid(SIDE, SIDE), -1)}
#: Kernel of f, and dimensions.
CELLS: tuple[tuple[Kernel, int], ...] = (
    (Matern(0.2, nu=0.5), 1),
    (Matern(0.2, nu=1.5), 1),
    (Matern(0.2, nu=2.5), 1),
    (RBF(0.2), 1),
    (Matern(0.3, nu=0.5), 2),
    (Matern(0.3, nu=2.5), 2),
)
RULES = ("one model", "averaged")


def play(kernel: Kernel, d: int, noise: float, most: int, seed: int) -> dict[str, tuple[int, bool]]:
    """Answers after which each rule stopped, and whether its claim was true."""
    arms = ARMS[d].reshape(-1, d)
    # The eigenvectors of a grid are not unique, and differ between processors.
    root = np.linalg.cholesky(kernel(arms) + JITTER * np.eye(len(arms)))
    rng = np.random.default_rng([seed, d, 9])
    f = root @ rng.normal(size=len(arms))
    optimizer, stop = GPUCBOptimizer(arms=arms, random_state=seed), Stop(EPSILON, DELTA)
    found: dict[str, tuple[int, bool]] = {}
    for t in range(1, most + 1):
        arm = optimizer.ask()
        optimizer.tell(arm, float(f[arm.index] + noise * rng.normal()))
        risks = stop.risks(t, True, d)
        if risks is None:
            continue
        best = optimizer.recommend()
        ended = t, bool(f.max() - f[best.index] <= EPSILON)
        if not optimizer._compared(best)().is_within(EPSILON, *risks, optimizer._gap_stream()):
            continue
        found.setdefault(RULES[0], ended)
        if optimizer._stops(stop):
            found[RULES[1]] = ended
            break
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print what held."""
    parser = argument_parser("averaged_stop", __doc__, 20)
    parser.add_argument(
        "--dimensions", type=int, nargs="+", choices=ARMS, default=list(ARMS), help="default all"
    )
    parser.add_argument("--noise", type=float, default=NOISE, help=f"default {NOISE}")
    parser.add_argument(
        "--answers", type=int, default=MOST, help=f"most answers of a run, default {MOST}"
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    table, rows = [], []
    for kernel, d in (cell for cell in CELLS if cell[1] in options.dimensions):
        seeds = range(options.seed, options.seed + options.runs)
        runs = [play(kernel, d, options.noise, options.answers, seed) for seed in seeds]
        for rule in RULES:
            ended = [run[rule] for run in runs if rule in run]
            n, true = len(ended), sum(claim for _, claim in ended)
            share = median = "-"
            if n:
                low, high = interval(true, n)
                share = f"{100 * true / n:.1f} ({100 * low:.1f} to {100 * high:.1f})"
                median = f"{np.median([t for t, _ in ended]):.0f}"
            table.append((f"{kernel}, {d}-D: {rule}", [str(n), str(true), share, median]))
        for seed, run in zip(seeds, runs, strict=True):
            rows += [(str(kernel), d, seed, rule, *run[rule]) for rule in RULES if rule in run]
    title = f"Stop({EPSILON:g}, delta={DELTA:g}), noise {options.noise:g}: "
    title += f"{options.runs} runs, seed {options.seed}"
    print(format_table(title, ["stopped", "true", "% true (95 %)", "median n"], table))
    path = options.output / "averaged_stop.csv"
    write_csv(path, ["kernel", "d", "seed", "rule", "stopped_at", "true"], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()
