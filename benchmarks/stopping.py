"""Check the claims of `Stop`, and how much earlier it stops than confidence bounds would.

``python -m benchmarks.stopping [--runs 200] [--seed 0] [--output DIR]`` draws functions from
Gaussian processes of three kernels at 101 points, with noise of standard deviation 0.3. GP-UCB with
the width of its theory looks for the best point. Two rules watch the same run:

- Stop(0.4, delta=0.05), joint draws from the posterior;
- the bounds of the theory: the largest upper bound is less than 0.4 above the lower bound of the
  arm that is recommended.

In the fourth row the optimizer knows nothing of kernel and noise and learns both, with the beta
that it has by default; there is no theory to compare with.

Printed: runs that stopped, in how many of these the claim was true, with the exact binomial
interval of 95 %, the median number of evaluations, and its share of what the bounds needed.
"""

from __future__ import annotations

import warnings
from math import sqrt

import numpy as np
from scipy.special import betaincinv
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern

from benchmarks._common import argument_parser, format_table, write_csv
from skgpb import GPUCBOptimizer, Stop

ARMS = np.linspace(0.0, 1.0, 101)[:, None]
NOISE, EPSILON, DELTA = 0.3, 0.4, 0.05
MOST = 3000
KERNELS = {
    "RBF(0.2)": RBF(0.2),
    "Matern(0.2, nu=2.5)": Matern(0.2, nu=2.5),
    "Matern(0.2, nu=1.5)": Matern(0.2, nu=1.5),
}


def function(kernel: Kernel, rng: np.random.Generator) -> np.ndarray:
    """Draw f at all arms."""
    values, vectors = np.linalg.eigh(kernel(ARMS))
    return vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=len(ARMS)))


def bounds_meet(optimizer: GPUCBOptimizer) -> bool:
    """Return whether all upper bounds are within epsilon of the recommendation's lower bound."""
    posterior = optimizer.posterior([])
    width = sqrt(optimizer.exploration(posterior)) * posterior.std
    best = int(np.argmax(posterior.mean))
    return bool((posterior.mean + width).max() - (posterior.mean - width)[best] <= EPSILON)


def play(kernel: Kernel, learned: bool, seed: int) -> tuple[float, float, float]:
    """Evaluations until Stop, whether its claim was true, evaluations until the bounds meet."""
    rng = np.random.default_rng([seed, 1])
    f = function(kernel, rng)
    given = {} if learned else {"kernel": kernel, "alpha": NOISE**2}
    optimizer = GPUCBOptimizer(arms=ARMS, random_state=seed, **given)

    def answer(arm: object) -> float:
        return float(f[arm.index] + NOISE * rng.normal())

    stop = Stop(EPSILON, DELTA)
    result = optimizer.run(answer, MOST if not learned else 200, stop=stop)
    stopped = result.message == stop.message
    regret = f.max() - f[result.x.index]
    first = (result.nfev if stopped else np.nan, float(regret <= EPSILON) if stopped else np.nan)
    if learned or bounds_meet(optimizer):
        return *first, float(result.nfev if not learned else np.nan)
    more = optimizer.run(answer, MOST, stop=bounds_meet)
    return *first, float(result.nfev + more.nfev)


def interval(true: int, n: int) -> tuple[float, float]:
    """Exact binomial interval of 95 %."""
    low = betaincinv(true, n - true + 1, 0.025) if true else 0.0
    high = betaincinv(true + 1, n - true, 0.975) if true < n else 1.0
    return float(low), float(high)


def main(arguments: list[str] | None = None) -> None:
    """Print what held."""
    options = argument_parser("stopping", __doc__, 200).parse_args(arguments)
    warnings.simplefilter("ignore")
    cases = [(name, kernel, False) for name, kernel in KERNELS.items()]
    cases.append(("learned, of Matern(0.2, nu=2.5)", KERNELS["Matern(0.2, nu=2.5)"], True))
    table, rows = [], []
    for name, kernel, learned in cases:
        seeds = range(options.seed, options.seed + options.runs)
        found = np.array([play(kernel, learned, seed) for seed in seeds])
        told = ~np.isnan(found[:, 0])
        n, true = int(told.sum()), int(np.nansum(found[:, 1]))
        low, high = interval(true, n)
        median, theory = float(np.median(found[told, 0])), float(np.median(found[:, 2]))
        share = "-" if learned else f"{median / theory:.2f}"
        cells = [
            str(n),
            str(true),
            f"{100 * true / max(n, 1):.1f} ({100 * low:.1f} to {100 * high:.1f})",
        ]
        table.append((name, [*cells, f"{median:.0f}", "-" if learned else f"{theory:.0f}", share]))
        rows += [(name, seed, *row) for seed, row in zip(seeds, found, strict=True)]
    title = f"Stop({EPSILON:g}, delta={DELTA:g}): {options.runs} functions, seed {options.seed}"
    header = ["stopped", "true", "% true (95 %)", "median n", "of bounds", "share"]
    print(format_table(title, header, table))
    path = options.output / "stopping.csv"
    write_csv(path, ["kernel", "seed", "stopped_at", "true", "bounds_met_at"], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()
