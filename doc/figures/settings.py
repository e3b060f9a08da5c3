"""Queries of a search over four named settings, each on its own scale."""

import numpy as np
from drawn import GREY
from matplotlib import pyplot
from matplotlib.figure import Figure
from scipy.stats import loguniform

from skgpb import GPUCBOptimizer

SIDES = {
    "temperature": (20, 90),
    "salt": loguniform(1e-4, 1e-1),
    "cycles": range(1, 9),
    "catalyst": ["A", "B"],
}


def yield_of(query):
    p = query.params
    loss = ((p["temperature"] - 60) / 35) ** 2 + (np.log10(p["salt"]) + 2) ** 2
    return 5.0 - loss - ((p["cycles"] - 5) / 4) ** 2 + (p["catalyst"] == "B")


def draw() -> Figure:
    told = []

    def kept(query):
        told.append((query.params, yield_of(query)))
        return told[-1][1]

    GPUCBOptimizer(bounds=SIDES, random_state=0).run(kept, budget=40)
    told.sort(key=lambda each: each[1])
    values = [value for _, value in told]
    column = {name: [params[name] for params, _ in told] for name in SIDES}
    beside = np.random.default_rng(0).uniform(-0.15, 0.15, (2, len(told)))
    kinds = np.array([each == "B" for each in column["catalyst"]]) + beside[0]
    fig, (left, right) = pyplot.subplots(1, 2, figsize=(5.2, 2.9))
    style = {"c": values, "edgecolor": GREY, "linewidth": 0.5, "s": 32}
    left.scatter(column["temperature"], column["salt"], **style)
    left.set(xlabel="temperature", ylabel="salt", yscale="log", xlim=(18, 92))
    image = right.scatter(np.array(column["cycles"]) + beside[1], kinds, **style)
    right.set(xlabel="cycles", yticks=[0, 1], yticklabels=["A", "B"], ylim=(-0.5, 1.5))
    right.set(ylabel="catalyst", xticks=range(1, 9))
    fig.colorbar(image, ax=right, label="answer")
    return fig
