"""The queries and the final posterior of a search with default settings."""

import numpy as np
from drawn import INK, RED
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb import GPUCBOptimizer


def draw() -> Figure:
    rng = np.random.default_rng(0)

    def instrument(query):
        x, y = query.points[0]
        return 1e4 * (5.0 - (x - 30.0) ** 2 / 400 - (y - 0.2) ** 2 + 0.3 * rng.normal())

    opt = GPUCBOptimizer(bounds=[(0, 100), (-1, 1)], random_state=0)
    opt.run(instrument, budget=60)
    best = opt.recommend().points[0]
    x, y = np.linspace(0, 100, 70), np.linspace(-1, 1, 60)
    rows = np.column_stack([each.ravel() for each in np.meshgrid(x, y)])
    mean = opt.predict(rows).reshape(len(y), len(x))
    asked = opt.history_["descriptor"][:, :2]
    fig, ax = pyplot.subplots(figsize=(5.2, 3.2))
    image = ax.pcolormesh(x, y, mean, rasterized=True, shading="gouraud")
    ax.plot(*asked[:10].T, "o", ms=8, mfc="none", mec="white", mew=1.6, label="first ten")
    ax.plot(
        *asked[10:].T, "o", ms=3.5, color="white", mec="black", mew=0.5, label="the other fifty"
    )
    ax.plot(*best, "*", ms=15, color=RED, mec="white", label="recommended")
    ax.plot(30, 0.2, "+", ms=12, mew=2.2, color="black", label="true best")
    ax.set(xlabel="first setting", ylabel="second setting", xlim=(0, 100), ylim=(-1, 1))
    fig.colorbar(image, label="believed answer").outline.set_edgecolor(INK)
    legend = fig.legend(loc="outside upper center", ncols=4, fontsize=8.5, handletextpad=0.3)
    for handle in legend.legend_handles[:2] + legend.legend_handles[3:]:
        handle.set_markeredgecolor(INK)
    return fig
