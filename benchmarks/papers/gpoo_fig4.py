"""Reproduce Figure 4 of the GPOO paper: aggregated regret of GPOO, StoOO and GPTree.

``python -m benchmarks.papers.gpoo_fig4 [--runs 30] [--seed 0] [--n-jobs 1] [--output DIR]``

prints, for both test functions and their mirror images, the mean aggregated regret (Definition 2)
and its standard error after t = 10, 20, ..., 80 rounds, and writes ``gpoo_fig4.csv`` and
``gpoo_fig4.png``. All curves are anytime curves: one run of 80 rounds, a recommendation after each.

Settings (section 5 and Appendix E): kernel 0.1 RBF(0.05), noise standard deviation 0.1, K = 2,
h_max = 10, delta(h) = 14 * 2^-h, error probability 0.1; S = 1 asks for the value at the centre of a
cell, S = 10 for the average over ten points.

- "Lemma 1" is the confidence width of the theory, beta_t = 2 log(M pi^2 t^2 / (6 * 0.1)).
- "small" is the one the authors' experiments correspond to, beta_t = 0.1 log(pi^2 t^2 / 0.6).
- "before" and "after" are the two readings of line 6 of Algorithm 1: whether the confidence
  interval that decides on the expansion has seen the reward of the round.
- The paper does not say which delta StoOO and AVE-StoOO run with; they get the same as GPOO, and
  the width of equation (12) for rewards in [0, 1].
- GPTree has "all parameters as listed in its theoretical analysis" (beta_n, V_h and h_max for
  n = 80) and, as "small", the width above at t = n, which does not grow with the rounds either.
- The last rows are not in the paper: zooming, with the variation of its theory and of the kernel.

References
----------
M. Zhang, R. Tsuchida, C. S. Ong, "Gaussian Process Bandits with Aggregated Feedback", AAAI 2022.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF

from benchmarks._common import (
    argument_parser,
    draw_curve,
    estimates,
    format_table,
    import_pyplot,
    mean_and_error,
    replicate,
    save,
    spawn_seeds,
    write_csv,
)
from skgpb.guarantee import Guarantee
from skgpb.optimizers import (
    GPOOOptimizer,
    GPTreeOptimizer,
    GPZoomingOptimizer,
    StoOOOptimizer,
)
from skgpb.problems import gpoo_function
from skgpb.problems.metrics import aggregated_regret

BUDGET = 80
REPORTED = range(10, BUDGET + 1, 10)
VARIATION = (14.0, 0.5)
MAX_DEPTH = 10
FAILURE_PROBABILITY = 0.1
FUNCTIONS = [(1, False), (1, True), (2, False), (2, True)]


def small_beta(t: int) -> float:
    """Return the authors' confidence width, six to eight times narrower than Lemma 1's."""
    return 0.1 * float(np.log(np.pi**2 * t**2 / 0.6))


@dataclass(frozen=True)
class Algorithm:
    """One row of the table."""

    name: str
    n_representatives: int
    beta: str | None = None
    expansion: str | None = None
    variation: str | None = None

    @property
    def label(self) -> str:
        """Name and settings for tables."""
        settings = (f"S = {self.n_representatives}", self.beta, self.expansion, self.variation)
        return ", ".join([self.name, *filter(None, settings)])

    def build(self) -> Any:
        """Return the optimizer."""
        common = {
            "bounds": [(0.0, 1.0)],
            "n_children": 2,
            "feedback": "average",
            "n_representatives": self.n_representatives,
        }
        if self.name.endswith("StoOO"):
            given = {"variation": VARIATION, "max_depth": MAX_DEPTH}
            given |= {"failure_probability": FAILURE_PROBABILITY}
            return StoOOOptimizer(width="anytime", reward_range=(0.0, 1.0), **given, **common)
        common |= {"guarantee": Guarantee(failure_probability=FAILURE_PROBABILITY)}
        common |= {"kernel": 0.1 * RBF(0.05), "alpha": 0.1**2}
        if self.name == "GPTree":
            beta = "theory" if self.beta == "theory" else small_beta(BUDGET)
            return GPTreeOptimizer(horizon=BUDGET, beta=beta, variation="theory", **common)
        if self.name == "zooming":
            del common["n_children"]
            return GPZoomingOptimizer(horizon=BUDGET, variation=self.variation, **common)
        return GPOOOptimizer(
            variation=VARIATION,
            max_depth=MAX_DEPTH,
            beta="theory" if self.beta == "Lemma 1" else small_beta,
            expansion=self.expansion,
            **common,
        )


ALGORITHMS = [
    Algorithm("GPOO", S, beta, expansion)
    for S in (1, 10)
    for beta in ("Lemma 1", "small")
    for expansion in ("before", "after")
]
ALGORITHMS += [Algorithm("StoOO", 1), Algorithm("AVE-StoOO", 10)]
ALGORITHMS += [Algorithm("GPTree", 1, "theory"), Algorithm("GPTree", 1, "small")]
ALGORITHMS += [Algorithm("zooming", 1, variation=name) for name in ("theory", "kernel")]


def regret_curve(
    number: int, mirrored: bool, algorithm: Algorithm, seed: int
) -> NDArray[np.float64]:
    """Return the aggregated regret of one run after each round, (BUDGET,)."""
    problem = gpoo_function(number, mirrored=mirrored)
    rng = np.random.default_rng(seed)
    optimizer = algorithm.build()
    averages = np.empty(BUDGET)
    for t in range(BUDGET):
        cell = optimizer.ask()
        optimizer.tell(cell, problem.observe(cell, rng))
        averages[t] = problem.average(optimizer.recommend("paper"))
    return aggregated_regret(problem.optimum, averages)


def function_name(number: int, mirrored: bool) -> str:
    """Return a title for one of the test functions."""
    return f"Function {number}" + (", mirrored" if mirrored else "")


def print_tables(curves: dict[tuple[int, bool, Algorithm], NDArray[np.float64]]) -> None:
    """Print one table per function: mean (standard error) per algorithm and number of rounds."""
    header = [f"t = {t}" for t in REPORTED]
    for number, mirrored in FUNCTIONS:
        rows = [
            (algorithm.label, estimates(curves[number, mirrored, algorithm], REPORTED))
            for algorithm in ALGORITHMS
        ]
        print(format_table(function_name(number, mirrored), header, rows), end="\n\n")


def save_csv(path: Path, curves: dict[tuple[int, bool, Algorithm], NDArray[np.float64]]) -> None:
    """Write mean, standard error, standard deviation and median of every round."""
    rows = []
    for (number, mirrored, algorithm), runs in curves.items():
        mean, error = mean_and_error(runs)
        columns = (mean, error, error * np.sqrt(len(runs)), np.median(runs, axis=0))
        case = [number, int(mirrored), algorithm.name, algorithm.n_representatives]
        case += [algorithm.beta or "", algorithm.expansion or "", algorithm.variation or ""]
        rows += [
            [*case, t + 1, len(runs), *(float(column[t]) for column in columns)]
            for t in range(BUDGET)
        ]
    header = ["function", "mirrored", "algorithm", "n_representatives", "beta", "expansion"]
    header += ["variation", "t", "n_runs", "mean", "standard_error", "standard_deviation", "median"]
    write_csv(path, header, rows)


#: Colour and line style in the figure, where only the default reading of line 6 is drawn.
STYLES = {
    ("GPOO", 1, "Lemma 1"): ("#0b5394", "-"),
    ("GPOO", 10, "Lemma 1"): ("#0b5394", "--"),
    ("GPOO", 1, "small"): ("#2a9d56", "-"),
    ("GPOO", 10, "small"): ("#2a9d56", "--"),
    ("StoOO", 1, None): ("#d1600a", "-"),
    ("AVE-StoOO", 10, None): ("#d1600a", "--"),
    ("GPTree", 1, "theory"): ("#8e44ad", "-"),
    ("GPTree", 1, "small"): ("#8e44ad", ":"),
}


WIDTHS = {
    "Lemma 1": r", Lemma 1's $\beta_t$",
    "theory": r", its theory's $\beta_n$",
    "small": r", small $\beta$",
    None: "",
}


def save_figure(
    path: Path, curves: dict[tuple[int, bool, Algorithm], NDArray[np.float64]], n_runs: int
) -> None:
    """Draw the functions above, the mean regrets with bands below, where there is matplotlib."""
    plt = import_pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(
        2, len(FUNCTIONS), figsize=(14, 7), sharey="row", height_ratios=[1, 1.5], squeeze=False
    )
    grid = np.linspace(0.0, 1.0, 1000)
    rounds = np.arange(1, BUDGET + 1)
    for column, (number, mirrored) in enumerate(FUNCTIONS):
        problem = gpoo_function(number, mirrored=mirrored)
        top, bottom = axes[:, column]
        top.plot(grid, problem.f(grid[:, np.newaxis]), color="0.2")
        top.plot(problem.argmax, problem.optimum, "o", color="#c1121f", label="optimum")
        top.set(title=function_name(number, mirrored), xlabel="x", xlim=(0, 1))
        for algorithm in ALGORITHMS:
            if algorithm.expansion == "after" or algorithm.variation:
                continue
            key = (algorithm.name, algorithm.n_representatives, algorithm.beta)
            color, style = STYLES[key]
            label = f"{algorithm.name}, S = {algorithm.n_representatives}"
            label += WIDTHS[algorithm.beta]
            runs = curves[number, mirrored, algorithm]
            draw_curve(bottom, rounds, runs, ls=style, color=color, label=label)
        # Logarithmic where regrets differ by orders of magnitude, linear around zero because they
        # may be negative.
        bottom.set_yscale("symlog", linthresh=0.01, linscale=0.6)
        bottom.set_yticks([0.0, 0.01, 0.1, 1.0], labels=["0", "0.01", "0.1", "1"])
        bottom.set(xlabel="round t", xlim=(1, BUDGET), ylim=(-0.004, 1.2))
        bottom.axhline(0.0, color="0.7", lw=0.8, zorder=0)
        bottom.grid(alpha=0.3)
    axes[0, 0].set_ylabel("reward f(x)")
    axes[0, 0].legend(loc="upper center", frameon=False)
    axes[1, 0].set_ylabel("aggregated regret (log scale above 0.01)")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False, fontsize=10)
    figure.suptitle(
        f"Aggregated regret of the recommended cell: mean of {n_runs} runs, "
        "band of one standard error"
    )
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    save(plt, figure, path)


def main(arguments: list[str] | None = None) -> None:
    """Run the reproduction from the command line."""
    options = argument_parser("papers.gpoo_fig4", __doc__, 30, n_jobs=True).parse_args(arguments)

    start = time.perf_counter()
    cases = [
        (number, mirrored, algorithm) for number, mirrored in FUNCTIONS for algorithm in ALGORITHMS
    ]
    results = replicate(
        regret_curve, cases, spawn_seeds(options.seed, options.runs), options.n_jobs
    )
    curves = dict(zip(cases, results, strict=True))

    print(f"Aggregated regret, mean (standard error) over {options.runs} runs, seed {options.seed}")
    print(f"GPOO: beta_t, reading of line 6. delta(h) = {VARIATION[0]:g} * 2^-h for all.\n")
    print_tables(curves)
    table, picture = options.output / "gpoo_fig4.csv", options.output / "gpoo_fig4.png"
    save_csv(table, curves)
    print(f"Written: {table}")
    save_figure(picture, curves, options.runs)
    print(f"{len(cases) * options.runs} runs in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
