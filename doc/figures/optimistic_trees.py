"""The cells that GPTree has refined, and where it evaluated."""

import numpy as np
from drawn import INK, RED
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPTreeOptimizer


def f(points):
    return np.exp(-((points - [0.3, 0.6]) ** 2).sum(axis=-1) / 0.05)


def draw() -> Figure:
    rng = np.random.default_rng(0)
    opt = GPTreeOptimizer(
        RBF(0.2),
        bounds=[(0, 1), (0, 1)],
        horizon=60,
        max_depth=10,
        alpha=0.05**2,
        beta=4.0,
        variation=(2.0, 0.6),
    )
    asked = []

    def value(cell):
        asked.append(cell.center)
        return f(cell.center) + 0.05 * rng.normal()

    opt.run(value, budget=60)
    side = np.linspace(0, 1, 60)
    fig, ax = pyplot.subplots(figsize=(4.6, 3.9))
    shown = f(np.stack(np.meshgrid(side, side), axis=-1))
    image = ax.pcolormesh(side, side, shown, rasterized=True, shading="gouraud", cmap="cividis")
    for node in np.flatnonzero(opt.tree_.children[:, 0] < 0):
        cell = opt.domain_.cell(node)
        sides = cell.upper - cell.lower
        ax.add_patch(Rectangle(cell.lower, *sides, fill=False, color="white", lw=0.7))
    ax.plot(*np.transpose(asked), "o", ms=3.5, color="white", mec="black", mew=0.4)
    ax.plot(*opt.recommend().center, "*", ms=15, color=RED, mec="white")
    ax.set(aspect="equal", xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    fig.colorbar(image, label="f").outline.set_edgecolor(INK)
    return fig
