"""The weights of a query on the inputs, learned from pairs."""

import numpy as np
from drawn import BLUE, GREY, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF

from skgpb.kernels import ConditionalMean


def draw() -> Figure:
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(300, 1))
    X = 1 - A + 0.1 * rng.normal(size=(300, 1))
    learned = ConditionalMean(RBF(0.3), X, A)
    fig, (left, right) = pyplot.subplots(1, 2, figsize=(5.2, 2.7))
    left.plot(A[:, 0], X[:, 0], "o", ms=2.5, color=GREY, alpha=0.7)
    left.set(xlabel="query a", ylabel="input x that it led to", xlim=(0, 1))
    for query, color in [(0.2, BLUE), (0.7, ORANGE)]:
        weights = learned.operator_.weights([[query]])[0]
        left.axvline(query, color=color)
        order = X[:, 0].argsort()
        right.plot(X[order, 0], np.cumsum(weights[order]), color=color, label=f"a = {query}")
    right.set(xlabel="x", ylabel="weight up to x")
    right.legend(fontsize=9)
    return fig
