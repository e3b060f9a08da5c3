"""The kinds of measurements, each with a sketch and the class to start with."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from drawn import BLUE, GREEN, GREY, INK, ORANGE
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

X = np.linspace(0, 1, 200)
PLACES = np.random.default_rng(3).normal([0.45, 0.45], [0.22, 0.18], size=(70, 2))


def f(x: np.ndarray) -> np.ndarray:
    return 0.1 + 0.5 * np.exp(-40 * (x - 0.25) ** 2) + 0.8 * np.exp(-60 * (x - 0.72) ** 2)


def average(lower: float, upper: float) -> float:
    return float(f(np.linspace(lower, upper, 50)).mean())


def bars(ax: Axes, edges: list[float], **style: object) -> None:
    for lower, upper in pairwise(edges):
        ax.hlines(average(lower, upper), lower, upper, **style)


def values(ax: Axes) -> None:
    ax.plot(X, f(X), color=GREY)
    tried = np.array([0.06, 0.25, 0.45, 0.64, 0.72, 0.93])
    ax.plot(tried, f(tried), "o", color=ORANGE, ms=5)


def regions(ax: Axes) -> None:
    ax.plot(X, f(X), color=GREY)
    bars(ax, [0.0, 0.33, 0.58, 0.66, 0.78, 1.0], color=ORANGE, lw=3.5)


def groups(ax: Axes) -> None:
    ax.scatter(*PLACES.T, s=5, color=GREY)
    for left, low, width, height in [(0.03, 0.05, 0.4, 0.9), (0.45, 0.05, 0.5, 0.4)]:
        ax.add_patch(Rectangle((left, low), width, height, fill=False, ec=GREY, lw=1))
    ax.add_patch(Rectangle((0.45, 0.5), 0.5, 0.45, fill=False, ec=ORANGE, lw=2.2))


def blurred(ax: Axes) -> None:
    ax.plot(X, f(X), color=GREY)
    asked = 0.62
    window = np.exp(-70 * (X - asked) ** 2)
    ax.fill_between(X, 0.55 * window, color=ORANGE, alpha=0.35, lw=0)
    ax.plot(asked, np.average(f(X), weights=window), "o", color=ORANGE, ms=5)


def resolutions(ax: Axes) -> None:
    ax.plot(X, f(X), color=GREY)
    bars(ax, [0.0, 0.5, 1.0], color=BLUE, lw=2)
    bars(ax, [0.5, 0.625, 0.75, 0.875, 1.0], color=ORANGE, lw=3.5)


def pooled(ax: Axes) -> None:
    ax.plot(X, f(X), color=GREY)
    bars(ax, [0.1, 0.6], color=BLUE, lw=2)
    bars(ax, [0.55, 0.9], color=BLUE, lw=2)
    bars(ax, [0.66, 0.78], color=ORANGE, lw=3.5)


def contexts(ax: Axes) -> None:
    x, y = np.meshgrid(X, X)
    ax.imshow(f(0.25 + 0.5 * x - 0.4 * (y - 0.6)), extent=(0, 1, 0, 1), aspect="auto", alpha=0.75)
    ax.axvline(0.4, color=ORANGE, lw=2.2)


def split(ax: Axes) -> None:
    for i, (height, colour) in enumerate(
        zip((0.45, 0.85, 0.3), (BLUE, ORANGE, GREEN), strict=True)
    ):
        ax.add_patch(Rectangle((0.1 + 0.3 * i, 0), 0.2, height, color=colour, lw=0))


def settings(ax: Axes) -> None:
    for y, at in ((0.8, 0.3), (0.5, 0.75), (0.2, 0.5)):
        ax.hlines(y, 0.05, 0.95, color=GREY, lw=2)
        ax.plot(at, y, "o", color=ORANGE, ms=7)


def at_hand(ax: Axes) -> None:
    ax.fill_between(X, f(X) - 0.1, f(X) + 0.1, color=BLUE, alpha=0.3, lw=0)
    ax.plot(X, f(X), color=BLUE)
    bars(ax, [0.0, 0.2, 0.35, 0.6, 0.8, 1.0], color=ORANGE, lw=3.5)


KINDS = [
    (values, "the value at a setting", "GPUCBOptimizer"),
    (regions, "the average over a region", "GPOOOptimizer"),
    (groups, "the average of a group of rows", "GPOOOptimizer(pool=...)"),
    (blurred, "an average over blurred or random inputs", "CMESOptimizer"),
    (resolutions, "coarse or fine: fine costs more", "CMETSOptimizer"),
    (pooled, "cells of several sizes, or fidelities", "KGOptimizer"),
    (contexts, "an action in a given context", "GPUCBOptimizer(context_bounds=...)"),
    (split, "returns of campaigns with one budget", "CombinatorialBandit"),
    (settings, "the score of hyperparameters", "BanditSearchCV"),
    (at_hand, "nothing more: you have averages", "OnlineGaussianProcessRegressor"),
]


def draw() -> Figure:
    figure, axes = pyplot.subplots(
        len(KINDS), 2, figsize=(5.2, 0.68 * len(KINDS)), width_ratios=[1.1, 3.4]
    )
    for (sketch, words), (draw_sketch, question, name) in zip(axes, KINDS, strict=True):
        draw_sketch(sketch)
        sketch.set(xlim=(-0.03, 1.03), ylim=(-0.06, 1.06), xticks=[], yticks=[])
        words.set_axis_off()
        words.text(0.0, 0.66, question, va="center", fontsize=12)
        words.text(0.0, 0.26, name, va="center", fontsize=12, weight="bold", color=BLUE)
        for spine in sketch.spines.values():
            spine.set(visible=True, color=INK, alpha=0.25)
    return figure
