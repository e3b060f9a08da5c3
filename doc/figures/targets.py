"""Which tenth of a line is best, where wide averages are cheap and narrow ones dear."""

import numpy as np
from drawn import BLUE, GREEN, GREY, INK
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb import KGOptimizer
from skgpb.domains import Cells

PRICES = {0.3: 1.0, 0.1: 3.0}


def f(x):
    return np.exp(-(((x - 0.32) / 0.12) ** 2)) + 0.75 * np.exp(-(((x - 0.75) / 0.1) ** 2))


def draw() -> Figure:
    rng = np.random.default_rng(1)
    opt = KGOptimizer(
        queries=Cells(list(PRICES)),
        targets=Cells(0.1),
        cost=list(PRICES.values()),
        bounds=[(0, 1)],
        random_state=0,
    )
    opt.run(lambda cell: f(cell.points).mean() + 0.05 * rng.normal(), max_cost=40.0)
    best = opt.recommend()
    fig, (above, below) = pyplot.subplots(
        2, figsize=(5.2, 3.6), sharex=True, height_ratios=[3, 2], layout="constrained"
    )
    x = np.linspace(0, 1, 301)
    above.plot(x, f(x), color=INK, lw=1)
    above.axvspan(best.lower[0], best.upper[0], color=GREEN, alpha=0.3, lw=0)
    above.text(best.upper[0] + 0.02, 0.85, "the best tenth found", color=GREEN)
    above.text(0.02, 0.1, "truth", color=INK)
    for row, (left, right) in enumerate(opt.history_["descriptor"]):
        wide = right - left > 0.2
        below.plot([left, right], [row, row], color=GREY if wide else BLUE, lw=2)
    below.set(xlabel="x", ylabel="question", yticks=[], xlim=(0, 1))
    below.invert_yaxis()
    below.text(0.99, 0.25, "wide, price 1", color=GREY, ha="right", transform=below.transAxes)
    below.text(0.99, 0.06, "narrow, price 3", color=BLUE, ha="right", transform=below.transAxes)
    return fig
