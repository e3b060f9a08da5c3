"""One search after 5, 8 and 25 answers."""

import numpy as np
from drawn import BLUE, GREEN, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb import GPOOOptimizer


def f(x):
    return np.exp(-40 * (x - 0.72) ** 2) + 0.6 * np.exp(-80 * (x - 0.25) ** 2)


def draw() -> Figure:
    rng = np.random.default_rng(0)
    opt = GPOOOptimizer(bounds=[(0, 1)], max_depth=5, random_state=0)
    grid = np.linspace(0, 1, 300)
    fig, axes = pyplot.subplots(3, 1, figsize=(5.2, 5.4), sharex=True, sharey=True)
    count, told = 0, []
    for ax, n in zip(axes, (5, 8, 25), strict=True):
        for _ in range(n - count):
            cell = opt.ask()
            told.append((cell, f(cell.points[:, 0]).mean() + 0.05 * rng.normal()))
            opt.tell(*told[-1])
        count = n
        mean, std = opt.predict(grid[:, None], return_std=True)
        best = opt.recommend()
        ax.axvspan(best.lower[0], best.upper[0], color=GREEN, alpha=0.3, lw=0)
        ax.fill_between(grid, mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.22, lw=0)
        ax.plot(grid, mean, color=BLUE)
        ax.plot(grid, f(grid), color=INK, lw=1.2)
        for cell, answer in told:
            ax.hlines(answer, cell.lower[0], cell.upper[0], color=ORANGE, lw=2)
        ax.set(xlim=(0, 1), ylim=(-0.6, 1.6), ylabel="f")
        ax.set_title(f"after {n} answers", loc="left")
    axes[-1].set_xlabel("place along the line")
    return fig
