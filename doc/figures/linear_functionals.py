"""Kinds of answers as weights on f, and what they leave unknown."""

import numpy as np
from drawn import BLUE, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF

from skgpb import OnlineGaussianProcessRegressor
from skgpb.kernels import CellAverage, CellIntegral, WindowMean

GRID = np.linspace(0, 1, 200)
LOW, HIGH = 0.35, 0.75


def f(x):
    return np.sin(2 * np.pi * x) * np.exp(-x)


def belief(kernel, row, value, points):
    model = OnlineGaussianProcessRegressor(kernel, alpha=1e-6, optimizer=None)
    return model.fit([row], [value]).predict(points, return_std=True)


def draw() -> Figure:
    boxes, window = np.column_stack([GRID, GRID]), WindowMean(RBF(0.12), scale=0.1)
    ten = LOW + (HIGH - LOW) * (np.arange(10) + 0.5) / 10
    fine = np.linspace(LOW, HIGH, 400)
    blur = np.exp(-0.5 * ((GRID - 0.55) / 0.1) ** 2)
    kinds = [
        ("a value", CellAverage(RBF(0.12), 10), [0.55, 0.55], f(0.55), boxes),
        ("average over points", CellAverage(RBF(0.12), 10), [LOW, HIGH], f(ten).mean(), boxes),
        ("mean over a cell", CellIntegral(RBF(0.12)), [LOW, HIGH], f(fine).mean(), boxes),
        (
            "a window",
            window,
            window.queries([[0.55]])[0],
            (blur * f(GRID)).sum() / blur.sum(),
            window.points(GRID[:, None]),
        ),
    ]
    fig, axes = pyplot.subplots(2, 2, figsize=(5.2, 4.0), sharex=True, sharey=True)
    for ax, (title, kernel, row, value, points) in zip(axes.flat, kinds, strict=True):
        mean, std = belief(kernel, row, value, points)
        ax.fill_between(GRID, mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.22, lw=0)
        ax.plot(GRID, mean, color=BLUE)
        ax.plot(GRID, f(GRID), color=INK, lw=1.2)
        ax.set_title(title)
        ax.set(xlim=(0, 1), ylim=(-2.7, 2.4), yticks=[])
    base = -2.6
    axes[0, 0].plot([0.55, 0.55], [base, -1.9], color=ORANGE, lw=2)
    axes[0, 1].vlines(ten, base, -2.2, color=ORANGE, lw=2)
    axes[1, 0].fill_between([LOW, HIGH], base, -2.2, color=ORANGE, lw=0)
    axes[1, 1].fill_between(GRID, base, base + 0.6 * blur, color=ORANGE, lw=0)
    return fig
