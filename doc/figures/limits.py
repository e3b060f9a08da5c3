"""Queries of a search with a limit on another outcome than the answer."""

import numpy as np
from drawn import BLUE, GREY, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb import EIOptimizer


def peak(heat, time):
    return 0.95 * heat + 0.25 * time


def draw() -> Figure:
    def reactor(query):
        heat, time = query.params["heat"], query.params["time"]
        return 0.7 * heat + 0.4 * time, {"peak": peak(heat, time)}

    opt = EIOptimizer(
        bounds={"heat": (20, 90), "time": (1, 60)}, limits={"peak": (None, 80)}, random_state=0
    )
    best = opt.run(reactor, budget=40).x
    points = np.array([row["descriptor"] for row in opt.history_]).reshape(40, -1)[:, :2]
    kept = peak(*points.T) <= 80
    fig, ax = pyplot.subplots()
    heat = np.linspace(20, 90, 200)
    ax.plot(heat, (80 - 0.95 * heat) / 0.25, "--", color=INK, lw=1.2, label="peak = 80")
    style = {"edgecolor": GREY, "linewidth": 0.5, "s": 30}
    ax.scatter(*points[kept].T, color=BLUE, label="keeps the limit", **style)
    ax.scatter(*points[~kept].T, color=ORANGE, label="does not", **style)
    place = [best.params["heat"], best.params["time"]]
    ring = {"facecolor": "none", "edgecolor": INK, "s": 130, "linewidth": 1.5}
    ax.scatter(*place, label="recommended", **ring)
    ax.set(xlim=(18, 92), ylim=(-1, 62), xlabel="heat", ylabel="time")
    fig.legend(loc="outside upper center", ncols=4, fontsize=9, handletextpad=0.2)
    return fig
