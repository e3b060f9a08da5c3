"""Searches that begin with an earlier campaign, shifted up or with its peak moved."""

import numpy as np
from drawn import BLUE, GREEN, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb import EIOptimizer


def f(x):
    return np.exp(-(((x - 0.62) / 0.13) ** 2))


def draw() -> Figure:
    fig, axes = pyplot.subplots(1, 2, sharey=True, figsize=(5.6, 2.8))
    grid = np.linspace(0, 1, 200)
    shifted, moved = (lambda x: f(x) + 0.7), (lambda x: f(x + 0.22) + 0.7)
    for ax, earlier, title in zip(axes, (shifted, moved), ("shifted up", "moved"), strict=True):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(30, 1))
        opt = EIOptimizer(bounds=[(0, 1)], random_state=0)
        opt.tell(X, earlier(X[:, 0]) + 0.04 * rng.normal(size=30), block=["old"] * 30)
        asked = []
        for _ in range(4):
            query = opt.ask()
            x = float(query.points[0, 0])
            asked.append((x, f(x) + 0.04 * rng.normal()))
            opt.tell(query, asked[-1][1], block="new")
        best = float(opt.recommend().points[0, 0])
        ax.plot(grid, f(grid), color=INK, lw=1.2, label="this campaign")
        ax.plot(X, opt.history_["reward"][:30], "o", ms=3, color=GREEN, label="old results")
        ax.plot(*np.array(asked).T, "o", ms=5, color=ORANGE, label="new results")
        ax.axvline(best, color=BLUE, ls="--", lw=1.4, label="recommended")
        ax.set(xlim=(0, 1), xlabel="setting", title=title)
        ax.title.set(fontsize=10, color=INK)
    axes[0].set(ylabel="answer")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8, handletextpad=0.3)
    return fig
