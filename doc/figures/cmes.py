"""One round of CMES: f, its blurred version, and what an answer would tell."""

import numpy as np
from drawn import BLUE, GREEN, INK, ORANGE, RED
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb import CMESOptimizer
from skgpb.kernels import WindowMean
from skgpb.optimizers.cmes import conditional_max_value_entropy

NODES = np.linspace(-3, 3, 61)
WEIGHTS = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()


def f(x):
    return 0.7 * np.exp(-30 * (x - 0.3) ** 2) + np.exp(-300 * (x - 0.8) ** 2)


def band(ax, x, moments, color):
    mean, std = moments
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=color, alpha=0.22, lw=0)
    ax.plot(x, mean, color=color)


def draw() -> Figure:
    conditional = WindowMean(scale=0.07)
    kernel = ConstantKernel(0.4**2) * RBF(0.1)
    opt = CMESOptimizer(
        kernel, conditional=conditional, bounds=[(0, 1)], alpha=0.02**2, random_state=0
    )
    asked = [(a, float(WEIGHTS @ f(a + 0.07 * NODES))) for a in (0.08, 0.35, 0.58, 0.93)]
    for a, answer in asked:
        opt.tell([a], answer)
    x = np.linspace(0, 1, 201)
    fig, (top, middle, bottom) = pyplot.subplots(3, 1, figsize=(5.2, 5.0), sharex=True)
    top.plot(x, f(x), color=INK, lw=1.2)
    band(top, x, opt.predict(x[:, None], return_std=True), BLUE)
    top.set_title("what is wanted: f", loc="left")
    blurred = opt.predict_query(x[:, None], return_std=True)
    band(middle, x, blurred, ORANGE)
    middle.plot(*np.transpose(asked), "o", ms=4, color=ORANGE)
    middle.set_title("what can be asked: g, blurred", loc="left")
    largest = opt.sample_y(x[:, None], 200, random_state=0).max(axis=0)
    told = conditional_max_value_entropy(*blurred, largest)
    bottom.fill_between(x, told, color=GREEN, alpha=0.35, lw=0)
    bottom.axvline(x[told.argmax()], color=RED, lw=1.6)
    bottom.set_title("what an answer tells of the largest f", loc="left")
    bottom.set(xlim=(0, 1), ylim=(0, None), xlabel="x, and query a")
    return fig
