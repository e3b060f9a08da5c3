"""The groups of a table that a search asked about."""

import numpy as np
from drawn import GREY, INK, RED
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from skgpb import GPOOOptimizer


def draw() -> Figure:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    income = 30 + 10 * np.exp(-((X - [1, 0]) ** 2).sum(axis=1)) + 3 * rng.normal(size=1000)
    asked = []

    def office(group):
        asked.append(group)
        return round(income[group.members].mean())

    opt = GPOOOptimizer(pool=X, min_members=30, random_state=0)
    opt.run(office, budget=60)
    fig, ax = pyplot.subplots(figsize=(5.2, 3.9))
    image = ax.scatter(*X.T, c=income, s=7, lw=0)
    for group in [*asked, opt.recommend()]:
        lower, upper = X[group.members].min(axis=0), X[group.members].max(axis=0)
        ax.add_patch(Rectangle(lower, *(upper - lower), fill=False, color=GREY, lw=0.8))
    ax.patches[-1].set(color=RED, lw=2.5)
    ax.set(aspect="equal", xlabel="east", ylabel="north", xlim=(-3, 3.5), ylim=(-2.6, 2.6))
    fig.colorbar(image, label="income").outline.set_edgecolor(INK)
    return fig
