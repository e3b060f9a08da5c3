"""Regret by method: two of the tables that the benchmarks print."""

import re
from pathlib import Path

import numpy as np
from drawn import BLUE, GREY, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure

PRINTED = Path(__file__).parents[2] / "benchmarks" / "printed"
SUITE = {
    "ucb": "GP-UCB, as it comes",
    "simple": "GP-UCB, simple",
    "ei": "EI, as it comes",
    "botorch": "BoTorch",
    "tpe": "Optuna's TPE",
    "cma-es": "CMA-ES",
    "random": "random points",
}
CELLS = {
    "GPOO advised": "GPOO, as advised",
    "GPOO advised, own beta": "GPOO, as it comes",
    "GPOO kernel, rule": "and recommendation",
    "GPOO kernel": r"$\delta(h)$ from the kernel",
    "GPOO c=14": "GPOO, paper",
}


def rows(start: str) -> dict[str, list[str]]:
    """Read the lines of the first kept table by their labels."""
    (path,) = PRINTED.glob(f"benchmarks_{start}_*.txt")
    lines = path.read_text(encoding="utf-8").splitlines()
    split = [re.split(r" {2,}", line.strip()) for line in lines]
    return {re.sub(r": .*", "", label): columns for label, *columns in reversed(split) if columns}


def draw() -> Figure:
    fig, (top, bottom) = pyplot.subplots(2, 1, figsize=(5.2, 6.6), height_ratios=[2, 1])
    suite, cells = rows("suite_kinds"), rows("papers_smoothness")
    y = np.arange(len(SUITE))
    per_round, end = ([float(suite[name][k]) for name in SUITE] for k in (0, 4))
    top.barh(y - 0.2, per_round, 0.38, color=GREY, label="per answer")
    top.barh(y + 0.2, end, 0.38, color=BLUE, label="of the recommendation")
    top.set(yticks=y, yticklabels=SUITE.values(), xlabel="loss, % of the range", xlim=(0, 50))
    top.set_title("values: 19 functions, 100 answers", loc="left")
    top.legend(fontsize=9, loc="upper right")
    lost = [cells[name][2] for name in CELLS]
    mean, error = zip(*[map(float, re.findall(r"[\d.]+", each)) for each in lost], strict=True)
    y = np.arange(len(CELLS))
    bottom.barh(y, mean, 0.6, xerr=error, color=ORANGE, ecolor=GREY)
    bottom.set(yticks=y, yticklabels=CELLS.values(), xlabel="loss of the recommended region")
    bottom.set_title("averages: 208 functions, 80 answers", loc="left")
    for ax in (top, bottom):
        ax.invert_yaxis()
    return fig
