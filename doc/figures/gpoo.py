"""The optimistic value of every leaf, and what it consists of."""

import numpy as np
from drawn import BLUE, GREEN, INK, ORANGE, RED
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer

BETA, WIDTH, SHRINK = 4.0, 1.6, 0.5  # delta(h) = WIDTH * SHRINK**h


def f(x):
    return np.sin(13 * x) * np.sin(27 * x) / 2 + 0.5


def draw() -> Figure:
    rng = np.random.default_rng(0)
    opt = GPOOOptimizer(
        RBF(0.1), bounds=[(0, 1)], alpha=0.1**2, beta=BETA, variation=(WIDTH, SHRINK), max_depth=4
    )
    opt.run(lambda cell: f(cell.points).mean() + 0.1 * rng.normal(), budget=16)
    tree = opt.tree_
    leaves = [opt.domain_.cell(node) for node in np.flatnonzero(tree.children[:, 0] < 0)]
    mean, std = opt.predict_query(leaves, return_std=True)
    grid = np.linspace(0, 1, 400)
    fig, ax = pyplot.subplots(figsize=(5.2, 3.4))
    ax.plot(grid, f(grid), color=INK, lw=1.2, label="f")
    best = -np.inf
    for leaf, m, s in zip(leaves, mean, std, strict=True):
        left, width = leaf.lower[0], leaf.upper[0] - leaf.lower[0]
        known, hidden = np.sqrt(BETA) * s, WIDTH * SHRINK**leaf.depth
        style = {"align": "edge", "alpha": 0.55, "ec": INK, "lw": 0.4}
        ax.bar(left, known, width, m, color=BLUE, **style)
        ax.bar(left, hidden, width, m + known, color=ORANGE, **style)
        ax.hlines(m, left, left + width, color=GREEN, lw=2.5)
        if m + known + hidden > best:
            best, place = m + known + hidden, left + width / 2
    ax.plot(place, best + 0.07, "v", color=RED, ms=9)
    for color, label in [
        (GREEN, "mean"),
        (BLUE, r"$\sqrt{\beta}\,$std: noise"),
        (ORANGE, r"$\delta(h)$: size"),
    ]:
        ax.plot([], [], color=color, lw=5, alpha=0.7, label=label)
    ax.set(xlim=(0, 1), xlabel="leaves of the tree", ylabel="optimistic value")
    fig.legend(loc="outside upper center", ncols=4, fontsize=8.5, handlelength=1.3)
    return fig
