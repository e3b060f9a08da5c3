"""After how many answers `Stop` may be believed where kernel and noise are learned.

``python -m benchmarks.first_check [--runs 200] [--seed 0] [--dimensions 1 2 4] [--output DIR]``
draws functions from Gaussian processes (Matern-5/2) in one, two and four dimensions, at 101, 441
and 400 arms. Each has a length scale between 0.1 and 0.5 times the square root of the dimension and
noise of a standard deviation between 0.1 and 0.5, both drawn on a logarithmic scale. GP-UCB learns
kernel and noise and is watched by Stop(0.4, delta=0.05, min_answers=m) for several m, for at most
150 answers.

The runs of the first half of the seeds are for choosing m, those of the other half for saying how
often the claim was true with it. Printed for each half: runs that stopped, in how many of these the
claim was true, with the exact binomial interval of 95 %, and the median number of answers.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import qmc
from sklearn.gaussian_process.kernels import Matern

from benchmarks._common import argument_parser, format_table, write_csv
from benchmarks.stopping import interval
from skgpb import GPUCBOptimizer, Stop

EPSILON, DELTA, MOST = 0.4, 0.05, 150
LEAST = (10, 15, 20, 30, 45, 60, 90)
LENGTHS, NOISES = (0.1, 0.5), (0.1, 0.5)
SIDE = np.linspace(0.0, 1.0, 21)
ARMS = {
    1: np.linspace(0.0, 1.0, 101)[:, None],
    2: np.stack(np.meshgrid(SIDE, SIDE), axis=-1).reshape(-1, 2),
    4: qmc.Sobol(4, seed=np.random.default_rng(0)).random(512)[:400],
}


def between(limits: tuple[float, float], rng: np.random.Generator) -> float:
    """Draw a number on a logarithmic scale."""
    return float(np.exp(rng.uniform(*np.log(limits))))


def play(d: int, seed: int) -> list[tuple[float, float]]:
    """Answers until each Stop, and whether its claim was true; NaN where it did not stop."""
    rng = np.random.default_rng([seed, d, 2])
    arms = ARMS[d]
    kernel, noise = Matern(between(LENGTHS, rng) * np.sqrt(d), nu=2.5), between(NOISES, rng)
    values, vectors = np.linalg.eigh(kernel(arms))
    f = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=len(arms)))
    optimizer = GPUCBOptimizer(arms=arms, random_state=seed)
    found: list[tuple[float, float]] = []
    n = 0
    for least in LEAST:
        # A run that is stopped is the beginning of one that is not, so one run serves all.
        if n < least and n < MOST:
            stop = Stop(EPSILON, DELTA, min_answers=least)
            result = optimizer.run(
                lambda arm: float(f[arm.index] + noise * rng.normal()), MOST - n, stop=stop
            )
            n += result.nfev
            stopped = result.message == stop.message
            true = float(f.max() - f[result.x.index] <= EPSILON)
            last = (float(n), true) if stopped else (np.nan, np.nan)
        found.append(last)
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print what held."""
    parser = argument_parser("first_check", __doc__, 200)
    parser.add_argument(
        "--dimensions", type=int, nargs="+", choices=ARMS, default=list(ARMS), help="default all"
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rows = []
    for d in options.dimensions:
        seeds = range(options.seed, options.seed + options.runs)
        found = np.array([play(d, seed) for seed in seeds])
        half = (options.runs + 1) // 2
        table = []
        for i, least in enumerate(LEAST):
            cells = []
            for part in (found[:half, i], found[half:, i]):
                told = part[~np.isnan(part[:, 0])]
                n, true = len(told), int(told[:, 1].sum())
                low, high = interval(true, n) if n else (0.0, 1.0)
                share = f"{100 * true / max(n, 1):.1f} ({100 * low:.1f} to {100 * high:.1f})"
                cells += [str(n), share, f"{np.median(told[:, 0]):.0f}" if n else "-"]
            table.append((str(least), cells))
        title = f"{d} dimension(s): Stop({EPSILON:g}, delta={DELTA:g}, min_answers=...)"
        header = ["stopped", "% true, choosing", "median n", "stopped", "% true, other", "median n"]
        print(format_table(title, header, table), flush=True)
        print()
        rows += [
            (d, seed, least, *row)
            for seed, run in zip(seeds, found, strict=True)
            for least, row in zip(LEAST, run, strict=True)
        ]
    path = options.output / "first_check.csv"
    write_csv(path, ["dimensions", "seed", "min_answers", "stopped_at", "true"], rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
