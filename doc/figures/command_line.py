"""Groups of patients that a search of the diabetes table asked about."""

import numpy as np
from drawn import GREY, INK, RED
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import load_diabetes

from skgpb import GPOOOptimizer


def draw() -> Figure:
    data = load_diabetes(as_frame=True, scaled=False).frame
    X, y = data[["bmi", "bp"]].to_numpy(), data["target"].to_numpy()
    rng = np.random.default_rng(0)
    asked = []

    def answer(group):
        asked.append(group)
        return y[group.members].mean() + 8 * rng.normal()

    opt = GPOOOptimizer(pool=X, min_members=len(X) // 64, alpha=64.0, random_state=0)
    opt.run(answer, budget=150)
    mean = opt.predict(X)
    fig, ax = pyplot.subplots(figsize=(5.2, 3.5))
    image = ax.scatter(*X.T, c=mean, s=9, lw=0)
    for group in [*asked, opt.recommend()]:
        lower, upper = X[group.members].min(axis=0), X[group.members].max(axis=0)
        ax.add_patch(Rectangle(lower, *(upper - lower), fill=False, color=GREY, lw=0.7))
    ax.patches[-1].set(color=RED, lw=2.5)
    ax.set(xlabel="bmi", ylabel="bp")
    fig.colorbar(image, label="target, as believed").outline.set_edgecolor(INK)
    return fig
