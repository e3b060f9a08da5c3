"""Reproduce Figure 2 of the DAGP-UCB paper: the regret of DAGP-UCB, GP-UCB and URGP-UCB.

``python -m benchmarks.papers.dagp_fig2 [--runs 100] [--seed 0] [--n-jobs 1] [--output DIR]``

prints the mean cumulative pseudo-regret and its standard error for every member of the family and
writes ``dagp_fig2.csv`` and ``dagp_fig2.png``.

Settings (section 6.1): 100 arms, squared exponential kernel with length scale 1, noise variance
0.1, delta = 0.1; each run plays a function of its own. The domain is not stated: [0, 1], as in
section 6.2, spans one length scale and [0, 10] ten of them; both are played.

"URGP-UCB, own" is the algorithm as printed, whose weights are Kronecker's delta: an arm counts only
the fall of its own standard deviation. "mean" and "sum" count the fall at all arms, the reading
under which the algorithm explores everywhere, as the paper describes it.

References
----------
A. Nuara, F. Trovò, D. Crippa, N. Gatti, M. Restelli, "Driving Exploration by Maximum Distribution
in Gaussian Process Bandits", AAMAS 2020.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from benchmarks._common import argument_parser, import_pyplot
from benchmarks.papers._dagp import (
    MEMBERS,
    draw_regrets,
    finish_figure,
    print_regrets,
    save_curves,
)
from benchmarks.papers.dagp_fig3 import build
from skgpb.problems import gp_draw
from skgpb.problems.gp_draws import ArmsProblem
from skgpb.problems.simulation import simulate

BUDGET = 50
REPORTED = (5, 10, 20, 30, 50)
WIDTHS = (1.0, 10.0)
N_ARMS = 100
#: The three algorithms of the figure, URGP-UCB in both readings.
SHOWN = ("DAGP-UCB", "GP-UCB", "URGP-UCB, own", "URGP-UCB, sum")


def drawn(width: float, seed: int, n_functions: int) -> list[ArmsProblem]:
    """Draw functions over [0, width]."""
    arms = np.linspace(0.0, width, N_ARMS)[:, np.newaxis]
    seeds = np.random.SeedSequence(seed).spawn(n_functions)
    return [gp_draw("se", arms, random_state=int(each.generate_state(1)[0])) for each in seeds]


def main(arguments: list[str] | None = None) -> None:
    """Run the reproduction from the command line."""
    options = argument_parser("papers.dagp_fig2", __doc__, 100, n_jobs=True).parse_args(arguments)
    start = time.perf_counter()
    policies = {member.label: partial(build, member) for member in MEMBERS}
    cases = {}
    for width in WIDTHS:
        result = simulate(
            policies,
            drawn(width, options.seed, options.runs),
            BUDGET,
            random_state=options.seed,
            n_jobs=options.n_jobs,
        )
        case = f"arms in [0, {width:g}]"
        cases[case] = {label: runs[:, 0] for label, runs in result.regret.items()}
        print_regrets(
            f"{case.capitalize()}: cumulative regret, mean (standard error) over "
            f"{options.runs} runs, seed {options.seed}",
            cases[case],
            REPORTED,
        )
    save_curves(options.output / "dagp_fig2.csv", cases)
    print(f"Written: {options.output / 'dagp_fig2.csv'}")
    plt = import_pyplot()
    if plt is not None:
        figure = plt.figure(figsize=(12, 9), layout="constrained")
        axes = draw_regrets(figure, cases, SHOWN)
        for axis, curves in zip(axes[0], cases.values(), strict=True):
            # Members whose regret is many times GP-UCB's would flatten all others.
            axis.set_ylim(0, 1.6 * curves["GP-UCB"].mean(axis=0)[-1])
        title = f"Squared exponential kernel, {options.runs} functions"
        finish_figure(plt, figure, axes, title, options.output / "dagp_fig2.png")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
