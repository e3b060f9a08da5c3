"""Reproduce Figure 3 of the DAGP-UCB paper: regret on functions drawn from three kernels.

``python -m benchmarks.papers.dagp_fig3 [--runs 10] [--functions 10] [--seed 0] [--n-jobs 1]
[--output DIR]``

prints, for the linear, the squared exponential (length scale 1) and the Matérn kernel (nu = 1.5,
length scale 0.2), the mean cumulative pseudo-regret and its standard error for every member of the
family, and writes ``dagp_fig3.csv`` and ``dagp_fig3.png``.

Settings (section 6.2): 100 arms evenly spaced over [0, 1], noise variance 0.1, delta = 0.1, T = 50,
matching kernels, 10 functions. The paper plays each function 100 times; 10 times give the same
picture (``--runs 100`` for all). The standard error is over functions, of the mean over the runs of
each: runs on one function are not independent of each other.

B of IGP-UCB and of GP-TS's scale is the norm of the very function that is played.

References
----------
A. Nuara, F. Trovò, D. Crippa, N. Gatti, M. Restelli, "Driving Exploration by Maximum Distribution
in Gaussian Process Bandits", AAMAS 2020.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks._common import argument_parser, import_pyplot
from benchmarks.papers._dagp import (
    IN_PAPER,
    MEMBERS,
    Member,
    draw_regrets,
    finish_figure,
    print_regrets,
    save_curves,
)
from skgpb.problems import gp_draw
from skgpb.problems.gp_draws import ArmsProblem
from skgpb.problems.simulation import simulate

BUDGET = 50
REPORTED = (10, 20, 30, 40, 50)
KERNELS = {
    "linear": "Linear kernel",
    "se": "Squared exponential kernel",
    "matern": "Matérn kernel",
}


def build(member: Member, problem: ArmsProblem) -> Any:
    """Return a member for a drawn function."""
    return member.build(problem.kernel, problem.arms, problem.noise_variance, problem.rkhs_norm)


def functions(kernel: str, seed: int, n_functions: int) -> list[ArmsProblem]:
    """Draw functions; a larger ``n_functions`` extends the same sequence."""
    seeds = np.random.SeedSequence(seed).spawn(n_functions)
    return [gp_draw(kernel, random_state=int(each.generate_state(1)[0])) for each in seeds]


def main(arguments: list[str] | None = None) -> None:
    """Run the reproduction from the command line."""
    parser = argument_parser("papers.dagp_fig3", __doc__, 10, n_jobs=True, functions=10)
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    policies = {member.label: partial(build, member) for member in MEMBERS}
    cases = {}
    for kernel, title in KERNELS.items():
        result = simulate(
            policies,
            functions(kernel, options.seed, options.functions),
            BUDGET,
            n_runs=options.runs,
            random_state=options.seed,
            n_jobs=options.n_jobs,
        )
        cases[title] = {label: runs.mean(axis=1) for label, runs in result.regret.items()}
        print_regrets(
            f"{title}: cumulative regret, mean (standard error) over {options.functions} functions "
            f"of the mean of {options.runs} runs, seed {options.seed}",
            cases[title],
            REPORTED,
        )
    save_curves(options.output / "dagp_fig3.csv", cases)
    print(f"Written: {options.output / 'dagp_fig3.csv'}")
    plt = import_pyplot()
    if plt is not None:
        figure = plt.figure(figsize=(15, 9), layout="constrained")
        axes = draw_regrets(figure, cases, IN_PAPER)
        for axis, curves in zip(axes[0], cases.values(), strict=True):
            # Members whose regret is many times GP-UCB's would flatten all others.
            axis.set_ylim(0, 1.6 * curves["GP-UCB"].mean(axis=0)[-1])
        title = f"{options.functions} functions, {options.runs} runs each"
        finish_figure(plt, figure, axes, title, options.output / "dagp_fig3.png")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
