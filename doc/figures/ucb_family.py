"""One posterior over arms, and the scores that different rules give them."""

import numpy as np
from drawn import BLUE, INK, ORANGE, STYLE
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF

from skgpb import DAGPUCBOptimizer, EIOptimizer, GPUCBOptimizer, MESOptimizer

RULES = {
    "GP-UCB": GPUCBOptimizer,
    "DAGP-UCB": DAGPUCBOptimizer,
    "EI": EIOptimizer,
    "MES": MESOptimizer,
}
MARKS = ["o", "s", "^", "D"]


def f(x):
    return np.sin(7 * x) * x + 0.3 * np.cos(17 * x)


def draw() -> Figure:
    arms = np.linspace(0, 1, 100)
    told = np.array([10, 30, 55, 90])
    fig, (top, bottom) = pyplot.subplots(
        2, 1, figsize=(5.2, 3.9), sharex=True, height_ratios=[3, 1.3]
    )
    for row, cls in enumerate(RULES.values()):
        opt = cls(RBF(0.12), arms=arms[:, None], alpha=0.01, random_state=0)
        for k in told:
            opt.tell(arms[k, None], f(arms[k]))
        chosen = opt.ask().points[0, 0]
        color = STYLE["axes.prop_cycle"].by_key()["color"][row]
        bottom.plot(chosen, row, MARKS[row], color=color, ms=7)
        top.axvline(chosen, color=color, lw=1.2)
    mean, std = opt.predict(arms[:, None], return_std=True)
    top.fill_between(arms, mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.2, lw=0)
    top.plot(arms, mean, color=BLUE)
    top.plot(arms, f(arms), color=INK, lw=1.2)
    top.plot(arms[told], f(arms[told]), "o", ms=5, color=ORANGE)
    top.set(ylabel="reward", xlim=(-0.02, 1.02))
    bottom.set(yticks=range(len(RULES)), yticklabels=RULES, ylim=(3.6, -0.6), xlabel="arm")
    return fig
