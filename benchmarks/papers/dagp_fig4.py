"""Reproduce Figure 4 of the DAGP-UCB paper: cumulative regret in advertising.

``python -m benchmarks.papers.dagp_fig4 [--runs 30] [--seed 0] [--length-scale 4] [--days 50]
[--n-jobs 1] [--output DIR]``

prints the mean cumulative pseudo-regret in clicks and its standard error for every member of the
family, each playing three campaigns under one budget, and writes ``dagp_fig4.csv`` and
``dagp_fig4.png``.

Settings (section 6.3): 21 budgets per campaign, 20 to spend a day, T = 50 days, Matérn kernel with
nu = 1.5, noise variance 0.1 per campaign. Neither the scale nor the length scale of the kernel is
stated. The scale (the prior standard deviation of the clicks, which run up to 100) decides who
wins, so three are played; the length scale is a fifth of the budget, 4.

Members of the UCB family and GP-TS give an index to every arm of every campaign and the knapsack
adds them up. EI, PI, EST and MES do not add up and score whole allocations.

References
----------
A. Nuara, F. Trovò, D. Crippa, N. Gatti, M. Restelli, "Driving Exploration by Maximum Distribution
in Gaussian Process Bandits", AAMAS 2020.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from benchmarks._common import argument_parser, format_table, import_pyplot
from benchmarks.papers._dagp import (
    IN_PAPER,
    MEMBERS,
    Member,
    draw_regrets,
    finish_figure,
    print_regrets,
    save_curves,
)
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.problems import AdvertisingBudget
from skgpb.problems.simulation import simulate

REPORTED = (5, 10, 20, 30, 40, 50)
SCALES = (10.0, 30.0, 100.0)


def rows() -> list[Member]:
    """The family; its readings of DAGP-UCB are those of a common budget."""
    first = MEMBERS[0]
    kept = [m for m in MEMBERS if m.label not in ("DAGP-UCB, sampled", "DAGP-UCB, joint")]
    joint = next(m for m in MEMBERS if m.label == "DAGP-UCB, joint")
    per_campaign = replace(first, label="DAGP-UCB, per campaign", style="--", in_paper=False)
    return [kept[0], joint, per_campaign, *kept[1:]]


def policy(
    member: Member, problem: AdvertisingBudget, scale: float, length_scale: float
) -> CombinatorialBandit:
    """Return a member as a policy for three campaigns."""
    kernel = problem.kernel(scale, length_scale)
    K = kernel(problem.arms)
    campaigns = []
    for clicks in np.array([problem.clicks([x] * 3) for x in problem.arms[:, 0]]).T:
        norm = float(np.sqrt(clicks @ np.linalg.solve(K, clicks)))
        campaigns.append(member.build(kernel, problem.arms, problem.noise_variance, norm))
    weights = "campaign" if member.label.endswith("per campaign") else "allocation"
    return CombinatorialBandit(campaigns, problem.budget, weights=weights)


def main(arguments: list[str] | None = None) -> None:
    """Run the reproduction from the command line."""
    parser = argument_parser("papers.dagp_fig4", __doc__, 30, n_jobs=True, length_scale=4, days=50)
    options = parser.parse_args(arguments)
    reported = [t for t in REPORTED if t <= options.days] or [options.days]
    start = time.perf_counter()
    problem, members = AdvertisingBudget(), rows()
    print(
        f"Best allocation {tuple(problem.best_allocation.tolist())}, "
        f"{problem.optimum:.3f} clicks a day\n"
    )
    cases, ends = {}, {}
    for scale in SCALES:
        result = simulate(
            {m.label: policy(m, problem, scale, options.length_scale) for m in members},
            problem,
            options.days,
            n_runs=options.runs,
            random_state=options.seed,
            n_jobs=options.n_jobs,
        )
        case = f"kernel scale {scale:g}"
        cases[case] = {label: runs[0] for label, runs in result.regret.items()}
        ends[case] = {label: values[0] for label, values in result.recommended.items()}
        print_regrets(
            f"{case}: cumulative regret in clicks, mean (standard error) over "
            f"{options.runs} runs, seed {options.seed}",
            cases[case],
            reported,
            digits=0,
        )
    found = [
        (m.label, [f"{np.mean(ends[c][m.label] > problem.optimum - 1e-9):.0%}" for c in cases])
        for m in members
    ]
    title = f"Share of runs that recommend the best allocation after {options.days} days"
    print(format_table(title, list(cases), found), end="\n\n")
    save_curves(options.output / "dagp_fig4.csv", cases)
    print(f"Written: {options.output / 'dagp_fig4.csv'}")
    plt = import_pyplot()
    if plt is not None:
        figure = plt.figure(figsize=(15, 9), layout="constrained")
        axes = draw_regrets(figure, cases, IN_PAPER)
        for axis in axes[0]:
            # The best members lose a fiftieth of what the worst lose.
            axis.set_yscale("log")
            axis.set_ylim(30, 4500)
            axis.set_yticks([50, 100, 200, 500, 1000, 2000, 4000])
            axis.yaxis.set_major_formatter("{x:g}")
            axis.minorticks_off()
        title = f"Three campaigns under one budget, clicks, mean of {options.runs} runs"
        finish_figure(plt, figure, axes, title, options.output / "dagp_fig4.png")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
