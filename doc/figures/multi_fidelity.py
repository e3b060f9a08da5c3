"""Queries at low and at high fidelity, and what the search recommends."""

import numpy as np
from drawn import BLUE, GREEN, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb import KGOptimizer
from skgpb.domains import Fidelities


def experiment(x):
    return np.exp(-(((x - 0.32) / 0.15) ** 2)) + 0.8 * np.exp(-(((x - 0.8) / 0.15) ** 2))


def simulation(x):
    return 0.5 * experiment(x) + 0.3 * x - 1.0


def answer(query):
    return (experiment, simulation)[query.task](float(query.points[0, 0]))


def draw() -> Figure:
    opt = KGOptimizer(queries=Fidelities(2), cost=[1.0, 0.1], bounds=[(0, 1)], random_state=0)
    opt.run(answer, max_cost=10)
    x, history = np.linspace(0, 1, 301), opt.history_
    figure, axes = pyplot.subplots(2, figsize=(5.2, 4.4), sharex=True, layout="constrained")
    for ax, task, f, color, name in (
        (axes[0], 1, simulation, ORANGE, "simulation, cost 0.1"),
        (axes[1], 0, experiment, BLUE, "experiment, cost 1"),
    ):
        asked = history["descriptor"][history["task"] == task, 0]
        ax.plot(x, f(x), color=INK, lw=1.5)
        ax.plot(asked, f(asked), "o", color=color, ms=5)
        ax.set_title(f"{name}: {len(asked)} queries", loc="left", color=color)
    best = float(opt.recommend().points[0, 0])
    axes[1].axvline(best, color=GREEN, ls="--")
    axes[1].text(best - 0.015, 0.0, "recommended", color=GREEN, ha="right")
    axes[1].set(xlim=(0, 1), xlabel="setting")
    return figure
