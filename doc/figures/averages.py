"""Cells that a search for the brightest patch asked about."""

import numpy as np
from drawn import INK, RED
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from skgpb import GPOOOptimizer

PEAK = [0.57, 0.41]


def f(points):
    return np.exp(-((points - PEAK) ** 2).sum(axis=-1) / 0.02)


def frame(ax, box, **style):
    ax.add_patch(Rectangle(box.lower, *(box.upper - box.lower), fill=False, **style))


def draw() -> Figure:
    rng = np.random.default_rng(0)
    opt = GPOOOptimizer(bounds=[(0, 1), (0, 1)], n_representatives=5, max_depth=8, random_state=0)
    asked = []

    def brightness(patch):
        asked.append(patch)
        return f(patch.points).mean() + 0.02 * rng.normal()

    opt.run(brightness, budget=80)
    side = np.linspace(0, 1, 120)
    points = np.stack(np.meshgrid(side, side), axis=-1)
    fig, ax = pyplot.subplots(figsize=(4.6, 3.9))
    image = ax.pcolormesh(side, side, f(points), rasterized=True, shading="gouraud", cmap="cividis")
    for patch in asked:
        frame(ax, patch, color="white", lw=0.7)
    frame(ax, opt.recommend(), color=RED, lw=2.5)
    frame(ax, opt.recommend(side=0.2), color=RED, lw=2, ls="--")
    ax.set(aspect="equal", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], xlabel="east", ylabel="north")
    fig.colorbar(image, label="true brightness").outline.set_edgecolor(INK)
    return fig
