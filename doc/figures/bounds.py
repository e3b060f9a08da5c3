"""Regret and bounds at 80, 1,000 and 10,000 answers, measured by ``benchmarks.papers.bounds``."""

import sys
from pathlib import Path

import numpy as np
from drawn import BLUE, GREY, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks._common import spawn_seeds
from benchmarks.papers import bounds

N_RUNS = 3


def draw() -> Figure:
    fig, axes = pyplot.subplots(2, 1, figsize=(5.2, 5.6), sharex=True)
    n = bounds.HORIZONS[-1]
    t = bounds.marks(n)
    shown = {"GPOO, Theorem 1": axes[0], "GP-UCB, gain as asked": axes[1]}
    for (name, ax), style in zip(shown.items(), ("steps-post", "default"), strict=True):
        runs = [bounds.curves(name, n, seed) for seed in spawn_seeds(0, N_RUNS)]
        # The best value comes from a grid, so regret may be slightly negative.
        regret, bound, worst = np.maximum(runs, 1e-6).swapaxes(0, 1)
        ax.loglog(t, regret.T, color=BLUE, lw=0.8)
        ax.lines[-1].set_label("three runs")
        ax.loglog(t, bound.T, color=ORANGE, lw=1.2, drawstyle=style)
        ax.lines[-1].set_label("their bounds")
        ax.loglog(t, np.median(worst, axis=0), ":", color=INK, lw=1.2, label="the worst there is")
        for budget in bounds.HORIZONS:
            ax.axvline(budget, color=GREY, lw=0.6, zorder=0)
    axes[0].set(ylabel="regret of what is recommended")
    axes[0].set_title("GPOO, averages over cells", loc="left")
    axes[1].set(ylabel="sum of what was lost", xlabel="answers", xlim=(1, n), ylim=(0.5, None))
    axes[1].set_title("GP-UCB, values at 50 points", loc="left")
    axes[1].set_xticks([1, 10, *bounds.HORIZONS], ["1", "10", "80", "1,000", "10,000"])
    axes[1].minorticks_off()
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig
