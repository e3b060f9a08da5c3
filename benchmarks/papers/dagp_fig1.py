"""Reproduce Figure 1 of the DAGP-UCB paper: where the algorithms sample, and what they then know.

``python -m benchmarks.papers.dagp_fig1 [--runs 30] [--seed 0] [--n-jobs 1] [--output DIR]``

prints, for every member of the family after 25 rounds, how many different arms it pulled, which
share of the pulls was within 0.1 of the best value, the posterior standard deviation on average
over all arms and at the best arm, and the cumulative regret; it writes ``dagp_fig1.csv`` and
``dagp_fig1.png``, one run on one function.

Settings as in Figure 2: 100 arms, squared exponential kernel with length scale 1, noise variance
0.1. Only on [0, 10] are there regions far from the optimum that an algorithm may neglect.

References
----------
A. Nuara, F. Trovò, D. Crippa, N. Gatti, M. Restelli, "Driving Exploration by Maximum Distribution
in Gaussian Process Bandits", AAMAS 2020.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    import_pyplot,
    mean_and_error,
    save,
    spawn_seeds,
    write_csv,
)
from benchmarks.papers._dagp import MEMBERS, Member
from benchmarks.papers.dagp_fig2 import WIDTHS, drawn
from benchmarks.papers.dagp_fig3 import build
from skgpb.problems.gp_draws import ArmsProblem

N_ROUNDS = 25
NEAR = 0.1
COLUMNS = ["different arms", "near the best", "mean std", "std at best", "regret"]
PICTURED = ["DAGP-UCB", "GP-UCB", "URGP-UCB, own", "URGP-UCB, sum"]


def play(member: Member, problem: ArmsProblem, seed: int) -> Any:
    """Return the optimizer after one run."""
    optimizer, rng = build(member, problem), np.random.default_rng(seed)
    optimizer.set_params(random_state=seed)
    for _ in range(N_ROUNDS):
        arm = optimizer.ask()
        optimizer.tell(arm, problem.observe(arm, rng))
    return optimizer


def pulled(optimizer: Any, problem: ArmsProblem) -> NDArray[np.intp]:
    """Number of the arm pulled in each round."""
    points = optimizer.history_["descriptor"][:, :1]
    return np.abs(points - problem.arms[:, 0]).argmin(axis=1)


def measure(member: Member, problem: ArmsProblem, seed: int) -> NDArray[np.float64]:
    """Return the numbers of one run, as in COLUMNS."""
    optimizer = play(member, problem, seed)
    arms = pulled(optimizer, problem)
    gaps = problem.optimum - problem.values[arms]
    std = optimizer.predict(problem.arms, return_std=True)[1]
    near = np.mean(gaps <= NEAR)
    return np.array([len(set(arms)), near, std.mean(), std[problem.argmax], gaps.sum()])


def draw(axis: Any, member: Member, problem: ArmsProblem, seed: int) -> None:
    """Draw function, posterior and samples of one run."""
    optimizer = play(member, problem, seed)
    x = problem.arms[:, 0]
    mean, std = optimizer.predict(problem.arms, return_std=True)
    axis.fill_between(x, mean - 1.96 * std, mean + 1.96 * std, color="#0b5394", alpha=0.2, lw=0)
    axis.plot(x, mean, color="#0b5394", label="posterior mean, 95 % interval")
    axis.plot(x, problem.values, "--", color="0.2", label="f")
    history = optimizer.history_
    axis.plot(
        history["descriptor"][:, 0], history["reward"], "o", ms=4, color="#c1121f", label="samples"
    )
    axis.set(xlim=(x[0], x[-1]), xlabel="x")


def main(arguments: list[str] | None = None) -> None:
    """Run the reproduction from the command line."""
    options = argument_parser("papers.dagp_fig1", __doc__, 30, n_jobs=True).parse_args(arguments)
    start = time.perf_counter()
    seeds = spawn_seeds(options.seed, options.runs)
    rows = []
    for width in WIDTHS:
        problems = drawn(width, options.seed, options.runs)
        numbers = Parallel(n_jobs=options.n_jobs)(
            delayed(measure)(member, problem, seed)
            for member in MEMBERS
            for problem, seed in zip(problems, seeds, strict=True)
        )
        numbers = np.array(numbers).reshape(len(MEMBERS), options.runs, len(COLUMNS))
        table = []
        for member, runs in zip(MEMBERS, numbers, strict=True):
            mean, error = mean_and_error(runs)
            cells = [estimate(m, e, 2) for m, e in zip(mean, error, strict=True)]
            table.append((member.label, cells))
            for name, m, e in zip(COLUMNS, mean, error, strict=True):
                rows.append([f"[0, {width:g}]", member.label, name, options.runs, m, e])
        title = (
            f"Arms in [0, {width:g}], {N_ROUNDS} rounds: mean (standard error) over "
            f"{options.runs} functions"
        )
        print(format_table(title, COLUMNS, table), end="\n\n")
    header = ["arms", "member", "quantity", "n_runs", "mean", "standard_error"]
    write_csv(options.output / "dagp_fig1.csv", header, rows)
    print(f"Written: {options.output / 'dagp_fig1.csv'}")
    plt = import_pyplot()
    if plt is not None:
        figure, axes = plt.subplots(2, len(PICTURED), figsize=(15, 7.5), sharey="row")
        members = {member.label: member for member in MEMBERS}
        for row, width in zip(axes, WIDTHS, strict=True):
            problem = drawn(width, options.seed, 1)[0]
            for axis, label in zip(row, PICTURED, strict=True):
                draw(axis, members[label], problem, seeds[0])
                axis.set_title(label)
            row[0].set_ylabel("f(x)")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=3, frameon=False)
        figure.suptitle(f"What is known after {N_ROUNDS} rounds")
        figure.tight_layout(rect=(0, 0.05, 1, 1))
        save(plt, figure, options.output / "dagp_fig1.png")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
