"""Answers with noise of their own, and what is believed after them."""

import numpy as np
from drawn import BLUE, GREEN, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb import OnlineGaussianProcessRegressor


def draw() -> Figure:
    rng = np.random.default_rng(3)
    X = np.array([0.03, 0.12, 0.2, 0.3, 0.38, 0.46, 0.55, 0.63, 0.72, 0.8, 0.9, 0.97])
    error = np.where(np.arange(12) < 6, 0.06, 0.6)
    y = np.sin(6 * X) + error * rng.normal(size=12)
    kernel = ConstantKernel(1.0) * RBF(0.18)
    model = OnlineGaussianProcessRegressor(kernel, alpha=error**2, optimizer=None)
    model.fit(X[:, None], y)
    grid = np.linspace(0, 1, 200)
    mean, std = model.predict(grid[:, None], return_std=True)
    fig, ax = pyplot.subplots()
    ax.fill_between(grid, mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.22, lw=0)
    ax.plot(grid, mean, color=BLUE, label="estimate, 95 %")
    ax.plot(grid, np.sin(6 * grid), color=INK, lw=1.2, label="truth")
    for rows, color, label in [(error < 0.1, GREEN, "exact"), (error > 0.1, ORANGE, "rough")]:
        style = {"color": color, "ms": 4, "lw": 1.4, "capsize": 2, "label": label}
        ax.errorbar(X[rows], y[rows], error[rows], fmt="o", **style)
    ax.set(xlim=(0, 1), xlabel="setting", ylabel="answer")
    fig.legend(loc="outside upper center", ncols=4, fontsize=9, handletextpad=0.4)
    return fig
