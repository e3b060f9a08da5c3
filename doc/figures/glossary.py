"""The words of the first pages in one picture."""

import numpy as np
from drawn import BLUE, GREEN, GREY, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb import OnlineGaussianProcessRegressor
from skgpb.kernels import CellAverage


def f(x):
    return 0.8 * np.exp(-60 * (x - 0.3) ** 2) + 1.3 * np.exp(-40 * (x - 0.72) ** 2)


def draw() -> Figure:
    fig, ax = pyplot.subplots(figsize=(5.2, 3.4))
    grid = np.linspace(0, 1, 400)
    cells = [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)]
    averages = [f(np.linspace(*cell, 50)).mean() for cell in cells]
    kernel = CellAverage(ConstantKernel(2.5) * RBF(0.13))
    model = OnlineGaussianProcessRegressor(kernel, alpha=1e-3, optimizer=None, normalize_y=True)
    model.fit(np.array(cells), averages)
    mean, std = model.predict(np.column_stack([grid, grid]), return_std=True)
    ax.fill_between(grid, mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.2, lw=0)
    ax.plot(grid, mean, color=BLUE)
    ax.plot(grid, f(grid), color=INK)
    for edge in (0.25, 0.5, 0.75):
        ax.axvline(edge, color=GREY, lw=0.8, ls=":")
    for (lower, upper), average in zip(cells, averages, strict=True):
        ax.hlines(average, lower, upper, color=ORANGE, lw=3)
    lower, upper = cells[2]
    points = lower + (upper - lower) * (np.arange(10) + 0.5) / 10
    ax.plot(points, f(points), "o", ms=3.5, color=GREEN)
    top = f(grid).max()
    x = 0.755
    ax.annotate("", (x, top), (x, averages[2]), arrowprops={"arrowstyle": "<->", "color": INK})
    ax.text(x + 0.015, 0.5 * (top + averages[2]), r"at most $\delta(h)$", va="center")
    ax.text(0.99, averages[3] - 0.14, "an average", color=ORANGE, ha="right")
    ax.text(0.66, 1.2, "representatives", color=GREEN, ha="right")
    ax.text(0.345, 0.8, "f", color=INK, ha="left", style="italic")
    ax.text(0.10, 0.62, "posterior:\nmean and\nuncertainty", color=BLUE, ha="center")
    ax.text(0.625, -0.52, "a cell", ha="center")
    ax.annotate("", (0.5, -0.36), (0.75, -0.36), arrowprops={"arrowstyle": "<->", "color": INK})
    ax.set(xlim=(0, 1), ylim=(-0.6, 1.6), xlabel="domain", yticks=[])
    ax.spines["left"].set_visible(False)
    return fig
