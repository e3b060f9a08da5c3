"""A belief, a width that holds for all functions of bounded norm, and the tighter intervals."""

import numpy as np
from drawn import BLUE, GREEN, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPUCBOptimizer, Guarantee


def draw() -> Figure:
    rng = np.random.default_rng(4)
    kernel, B, noise = RBF(0.12), 3.0, 0.3
    centers, weights = rng.random((8, 1)), rng.normal(size=8)
    weights *= B / np.sqrt(weights @ kernel(centers) @ weights)
    grid = np.linspace(0, 1, 201)[:, None]
    opt = GPUCBOptimizer(
        kernel, bounds=[(0, 1)], alpha=noise**2, beta="rkhs", guarantee=Guarantee(B), random_state=0
    )
    for _ in range(15):
        query = opt.ask()
        f = (kernel(query.points, centers) @ weights).item()
        opt.tell(query, f + noise * rng.normal())
    mean, std = opt.predict(grid, return_std=True)
    width = np.sqrt(opt.exploration(opt.posterior())) * std
    lower, upper = opt.interval(grid)
    x = grid[:, 0]
    fig, ax = pyplot.subplots()
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.25, lw=0)
    ax.plot(x, mean, color=BLUE, lw=1.2, label="estimate, 2 standard deviations")
    for sign in (1.0, -1.0):
        label = "width of beta='rkhs'" if sign > 0 else None
        ax.plot(x, mean + sign * width, color=ORANGE, lw=1.2, ls="--", label=label)
    for end, label in ((lower, None), (upper, "interval")):
        ax.plot(x, end, color=GREEN, lw=1.6, label=label)
    ax.plot(x, kernel(grid, centers) @ weights, color=INK, lw=1.2, label="truth")
    points, answers = opt.history_["descriptor"][:, 0], opt.history_["reward"]
    ax.plot(points, answers, "o", color=INK, ms=3)
    ax.set(xlim=(0, 1), xlabel="setting", ylabel="answer")
    fig.legend(loc="outside upper center", ncols=2, fontsize=9, handletextpad=0.4)
    return fig
