"""Code shared by the reproductions of the DAGP-UCB paper: rules, tables, curves, options."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._common import (
    draw_curve,
    estimates,
    format_table,
    mean_and_error,
    save,
    write_csv,
)
from skgpb.guarantee import Guarantee
from skgpb.optimizers import (
    DAGPUCBOptimizer,
    EIOptimizer,
    ESTOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    IGPUCBOptimizer,
    MESOptimizer,
    PIOptimizer,
    URGPUCBOptimizer,
)

FAILURE_PROBABILITY = 0.1
#: Drawn once more below the paper's curves, for comparison.
REPEATED = ("DAGP-UCB", "GP-UCB")
SHRINKING = 0.3


@dataclass(frozen=True)
class Member:
    """One row of the tables: a class, its settings and how it is drawn.

    ``parameters(n_arms, norm)`` gives the settings; ``norm`` is the norm of the function under
    the kernel, which two of the theories ask for and nobody knows outside a simulation.
    ``in_paper`` says which rows Figures 3 and 4 of the paper have.
    """

    label: str
    cls: Any
    color: str
    style: str = "-"
    in_paper: bool = False
    parameters: Callable[[int, float], dict] = lambda n_arms, norm: {}

    def build(self, kernel: Any, arms: NDArray[np.float64], alpha: float, norm: float) -> Any:
        """Return the optimizer for these arms."""
        settings = {"kernel": kernel, "arms": arms, "alpha": alpha}
        return self.cls(**settings, **self.parameters(len(arms), norm))


def shrunken_beta(n_arms: int, t: int) -> float:
    """Return GP-UCB's beta with its square root times 0.3."""
    return SHRINKING**2 * 2.0 * math.log(t**2 * math.pi**2 * n_arms / (6 * FAILURE_PROBABILITY))


def settings(**fixed: Any) -> Callable[[int, float], dict]:
    """Return settings that do not depend on the problem."""
    return lambda n_arms, norm: fixed


#: Every member of the family, with every reading of it that changes results.
MEMBERS = [
    Member("DAGP-UCB", DAGPUCBOptimizer, "#c1121f", in_paper=True),
    Member(
        "DAGP-UCB, sampled", DAGPUCBOptimizer, "#c1121f", "--", False, settings(weights="sampling")
    ),
    Member("DAGP-UCB, joint", DAGPUCBOptimizer, "#c1121f", ":", False, settings(weights="joint")),
    Member("GP-UCB", GPUCBOptimizer, "#0b5394", in_paper=True),
    Member(
        "GP-UCB x 0.3",
        GPUCBOptimizer,
        "#0b5394",
        "--",
        parameters=lambda n_arms, norm: {"beta": partial(shrunken_beta, n_arms)},
    ),
    Member(
        "IGP-UCB",
        IGPUCBOptimizer,
        "#7a5195",
        in_paper=True,
        parameters=lambda n_arms, norm: {"guarantee": Guarantee(norm)},
    ),
    Member("GP-TS, v = 1", GPTSOptimizer, "#2a9d56", in_paper=True),
    Member(
        "GP-TS, v = v_t",
        GPTSOptimizer,
        "#2a9d56",
        "--",
        parameters=lambda n_arms, norm: {"beta": "theory", "guarantee": Guarantee(norm)},
    ),
    Member("URGP-UCB, own", URGPUCBOptimizer, "#d1600a"),
    Member("URGP-UCB, mean", URGPUCBOptimizer, "#d1600a", "--", False, settings(weights="mean")),
    Member("URGP-UCB, sum", URGPUCBOptimizer, "#d1600a", ":", False, settings(weights="sum")),
    Member("EI", EIOptimizer, "#222222"),
    Member("PI", PIOptimizer, "#222222", ":"),
    Member("EST", ESTOptimizer, "#888888"),
    Member("MES", MESOptimizer, "#888888", "--"),
]

#: Labels in Figures 3 and 4 of the paper.
IN_PAPER = tuple(member.label for member in MEMBERS if member.in_paper)


def print_regrets(
    title: str,
    curves: Mapping[str, NDArray[np.float64]],
    rounds: Sequence[int],
    digits: int = 2,
    baseline: str = "GP-UCB",
) -> None:
    """Print a table of cumulative regrets (runs, rounds) by member and the share of GP-UCB's."""
    reference = curves[baseline][:, -1].mean()
    rows = []
    for label, runs in curves.items():
        share = 100 * (runs[:, -1].mean() / reference - 1)
        rows.append((label, [*estimates(runs, rounds, digits), f"{share:+.0f} %"]))
    header = [*(f"t = {t}" for t in rounds), f"to {baseline}"]
    print(format_table(title, header, rows), end="\n\n")


def save_curves(path: Path, cases: Mapping[str, Mapping[str, NDArray[np.float64]]]) -> None:
    """Write mean, standard error and median of every round of every case and member."""
    rows = []
    for case, curves in cases.items():
        for label, runs in curves.items():
            mean, error = mean_and_error(runs)
            columns = (mean, error, np.median(runs, axis=0))
            rows += [
                [case, label, t + 1, len(runs), *(float(column[t]) for column in columns)]
                for t in range(runs.shape[1])
            ]
    header = ["case", "member", "t", "n_runs", "mean", "standard_error", "median"]
    write_csv(path, header, rows)


def draw_regrets(
    figure: Any, cases: Mapping[str, Mapping[str, NDArray[np.float64]]], shown: Sequence[str]
) -> Any:
    """Draw one column per case: what the paper shows above, the variants and others below.

    The curves above are those whose labels are ``shown``, with a band of one standard error; below
    DAGP-UCB and GP-UCB are repeated as thin lines to compare with. Returns the axes.
    """
    axes = figure.subplots(2, len(cases), sharex=True, sharey="col", squeeze=False)
    members = {member.label: member for member in MEMBERS}
    for (top, bottom), (case, curves) in zip(axes.T, cases.items(), strict=True):
        for label, runs in curves.items():
            member = members[label.partition(", per campaign")[0]]
            style = member.style if label == member.label else "--"
            line = {"color": member.color, "ls": style, "label": label}
            t = np.arange(1, runs.shape[1] + 1)
            if label in shown:
                draw_curve(top, t, runs, lw=2.0, **line)
            if label not in shown or label in REPEATED:
                bottom.plot(t, runs.mean(axis=0), lw=0.8 if label in shown else 1.5, **line)
        top.set_title(case)
        bottom.set(xlabel="round t", xlim=(1, runs.shape[1]))
        for axis in (top, bottom):
            axis.grid(alpha=0.3)
    for axis, what in zip(axes[:, 0], ("the paper's", "variants and others"), strict=True):
        axis.set_ylabel(f"cumulative regret: {what}")
    return axes


def finish_figure(plt: Any, figure: Any, axes: Any, title: str, path: Path) -> None:
    """Put the legend of each row next to it, and write the file."""
    for axis in axes[:, -1]:
        axis.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    figure.suptitle(title)
    save(plt, figure, path)
