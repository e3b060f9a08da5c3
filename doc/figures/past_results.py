"""A search that begins with past results of a part of the range."""

import numpy as np
from drawn import BLUE, GREEN, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb import EIOptimizer


def f(x):
    return np.exp(-(((x - 28) / 9) ** 2)) + 1.4 * np.exp(-(((x - 68) / 7) ** 2))


def draw() -> Figure:
    rng = np.random.default_rng(1)
    past = np.sort(rng.uniform(20, 48, 9))
    opt = EIOptimizer(bounds={"temperature": (20, 90)}, random_state=0)
    opt.tell([{"temperature": x} for x in past], f(past) + 0.04 * rng.normal(size=9))
    asked = []
    for _ in range(6):
        query = opt.ask()
        asked.append(query.params["temperature"])
        opt.tell(query, f(asked[-1]) + 0.04 * rng.normal())
    grid = np.linspace(20, 90, 200)
    mean, std = opt.predict([{"temperature": x} for x in grid], return_std=True)
    fig, ax = pyplot.subplots()
    ax.fill_between(grid, mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.22, lw=0)
    ax.plot(grid, mean, color=BLUE, label="estimate, 95 %")
    ax.plot(grid, f(grid), color=INK, lw=1.2, label="truth")
    rewards = opt.history_["reward"]
    ax.plot(past, rewards[:9], "o", ms=5, color=GREEN, label="past results")
    ax.plot(asked, rewards[9:], "o", ms=5, color=ORANGE, label="asked since")
    for number, (x, y) in enumerate(zip(asked, rewards[9:], strict=True), 1):
        ax.annotate(
            str(number), (x, y), (0, 6), textcoords="offset points", ha="center", fontsize=8
        )
    ax.set(xlim=(20, 90), xlabel="temperature", ylabel="answer")
    fig.legend(loc="outside upper center", ncols=4, fontsize=9, handletextpad=0.4)
    return fig
