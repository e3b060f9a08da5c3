"""The balls of a zooming search in the plane."""

import numpy as np
from drawn import INK, RED
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPZoomingOptimizer


def f(points):
    return np.exp(-((points - [0.66, 0.35]) ** 2).sum(axis=-1) / 0.05)


def draw() -> Figure:
    rng = np.random.default_rng(0)
    opt = GPZoomingOptimizer(
        RBF(0.2), bounds=[(0, 1), (0, 1)], horizon=80, alpha=0.05**2, beta=4.0, variation=(2.0, 1.0)
    )
    asked = []

    def value(ball):
        asked.append(ball.center)
        return f(ball.center) + 0.05 * rng.normal()

    opt.run(value, budget=80)
    side = np.linspace(0, 1, 80)
    fig, ax = pyplot.subplots(figsize=(4.6, 3.9))
    shown = f(np.stack(np.meshgrid(side, side), axis=-1))
    image = ax.pcolormesh(side, side, shown, rasterized=True, shading="gouraud", cmap="cividis")
    for lower, upper in zip(opt.tree_.lower, opt.tree_.upper, strict=True):
        ax.add_patch(Rectangle(lower, *(upper - lower), fill=False, color="white", lw=0.6))
    ax.plot(*np.transpose(asked), "o", ms=3.5, color="white", mec="black", mew=0.4)
    ax.plot(*opt.recommend().center, "*", ms=15, color=RED, mec="white")
    ax.set(aspect="equal", xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    fig.colorbar(image, label="f").outline.set_edgecolor(INK)
    return fig
