"""Groups of patients that a search of the diabetes table asked about."""

import numpy as np
from drawn import GREY, INK, RED
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import load_diabetes

from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.asking import NoisyAverages, search_by_asking


def draw() -> Figure:
    data = load_diabetes(as_frame=True, scaled=False).frame
    X, y = data[["bmi", "bp"]].to_numpy(), data["target"].to_numpy()
    table = MemoryTable(X, np.zeros(len(X)))
    found = search_by_asking(table, NoisyAverages(y, 8.0), len(X) // 64, 150)
    fig, ax = pyplot.subplots(figsize=(5.2, 3.5))
    image = ax.scatter(*X.T, c=found.model.rows(), s=9, lw=0)
    for group in [*found.groups, found.group]:
        lower, upper = X[group.rows].min(axis=0), X[group.rows].max(axis=0)
        ax.add_patch(Rectangle(lower, *(upper - lower), fill=False, color=GREY, lw=0.7))
    ax.patches[-1].set(color=RED, lw=2.5)
    ax.set(xlabel="bmi", ylabel="bp")
    fig.colorbar(image, label="posterior mean of target").outline.set_edgecolor(INK)
    return fig
