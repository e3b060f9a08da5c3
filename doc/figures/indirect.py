"""The target, the possible measurements, and the result of a search."""

import numpy as np
from drawn import BLUE, GREEN, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb import CMESOptimizer
from skgpb.kernels import WindowMean

NODES = np.linspace(-3, 3, 61)
WEIGHTS = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()


def f(x):
    return 0.7 * np.exp(-30 * (x - 0.3) ** 2) + np.exp(-300 * (x - 0.8) ** 2)


def blurred(a):
    return float(WEIGHTS @ f(a + 0.07 * NODES))


def draw() -> Figure:
    opt = CMESOptimizer(
        conditional=WindowMean(scale=0.07), bounds=[(0, 1)], alpha=1e-6, random_state=0
    )
    asked = []

    def answer(query):
        asked.append((query.a[0], blurred(query.a[0])))
        return asked[-1][1]

    opt.run(answer, budget=15)
    x = np.linspace(0, 1, 400)
    fig, ax = pyplot.subplots()
    ax.plot(x, opt.predict(x[:, None]), color=BLUE, ls="--", label="f, as estimated")
    ax.plot(x, f(x), color=INK, label="f, which is wanted")
    ax.plot(x, [blurred(each) for each in x], color=ORANGE, label="what can be measured")
    ax.plot(*np.transpose(asked), "o", ms=4, color=ORANGE)
    ax.axvline(opt.recommend()[0], color=GREEN, lw=2)
    ax.text(opt.recommend()[0] + 0.012, 1.08, "recommended", color=GREEN)
    ax.set(xlim=(0, 1), ylim=(-0.15, 1.2), xlabel="place", ylabel="value")
    fig.legend(loc="outside upper center", ncols=3, fontsize=8.5, handletextpad=0.4)
    return fig
