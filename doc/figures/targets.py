"""Queries, the posterior of f, and the decision: three views of one posterior."""

import numpy as np
from drawn import BLUE, GREEN, GREY, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF

from skgpb import KGOptimizer
from skgpb.domains import Cells

PRICES = {0.3: 1.0, 0.1: 3.0}


def f(x):
    return np.exp(-(((x - 0.32) / 0.12) ** 2)) + 0.75 * np.exp(-(((x - 0.75) / 0.1) ** 2))


def draw() -> Figure:
    rng = np.random.default_rng(1)
    opt = KGOptimizer(
        0.3 * RBF(0.1),
        alpha=0.05**2,
        queries=Cells(list(PRICES)),
        targets=Cells(0.1),
        cost=list(PRICES.values()),
        bounds=[(0, 1)],
        random_state=0,
    )
    opt.run(lambda cell: f(cell.points).mean() + 0.05 * rng.normal(), max_cost=25.0)
    fig, (asked, known, wanted) = pyplot.subplots(
        3, figsize=(5.2, 5.0), sharex=True, sharey=True, layout="constrained"
    )
    for (left, right), answer in zip(
        opt.history_["descriptor"], opt.history_["reward"], strict=True
    ):
        wide = right - left > 0.2
        asked.plot([left, right], [answer] * 2, color=ORANGE if wide else BLUE, lw=2.5, alpha=0.8)
    asked.text(0.42, 1.12, "one tenth, price 3", color=BLUE, va="top")
    asked.text(0.97, 0.95, "three tenths, price 1", color=ORANGE, ha="right", va="top")
    x = np.linspace(0, 1, 301)
    mean, std = opt.predict(x[:, None], return_std=True)
    known.fill_between(x, mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.25, lw=0)
    known.plot(x, mean, color=BLUE)
    known.plot(x, f(x), ":", color=INK, lw=1.5)
    known.text(0.97, 1.12, "dotted: the truth", color=INK, ha="right", va="top")
    best = opt.recommend()
    lower = np.arange(10) / 10
    cells = [np.linspace(left, left + 0.1, 9)[:, None] for left in lower]
    mean, std = opt.predict_query([*cells, best], return_std=True)
    for left, m, s in zip([*lower, best.lower[0]], mean, std, strict=True):
        color = GREEN if left == best.lower[0] else GREY
        wanted.plot([left, left + 0.1], [m, m], color=color, lw=3)
        wanted.plot([left + 0.05] * 2, [m - 2 * s, m + 2 * s], color=color, lw=1)
    wanted.axvspan(best.lower[0], best.upper[0], color=GREEN, alpha=0.2, lw=0)
    wanted.text(best.upper[0] + 0.02, 1.12, "the best tenth, anywhere", color=GREEN, va="top")
    for ax, title in ((asked, "asked"), (known, "known"), (wanted, "decided")):
        ax.set_ylabel(title, fontsize=12)
        ax.set(xlim=(0, 1), ylim=(-0.25, 1.15), yticks=[0, 0.5, 1])
    wanted.set(xlabel="x")
    return fig
