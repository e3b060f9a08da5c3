"""Actions that were played and are recommended, for each context."""

import numpy as np
from drawn import INK, RED
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb import ContextualGPTreeOptimizer


def effect(temperature, dose):
    return -((dose - 2 - temperature / 5) ** 2) / 4


def draw() -> Figure:
    rng = np.random.default_rng(0)
    opt = ContextualGPTreeOptimizer(
        context_bounds={"temperature": (0, 30)},
        bounds={"dose": (0, 10)},
        beta=4.0,
        horizon=100,
        random_state=0,
    )
    played = []
    for _ in range(100):
        temperature = rng.uniform(0, 30)
        query = opt.ask(context={"temperature": temperature})
        dose = query.actions[0, 0]
        played.append((temperature, dose))
        opt.tell(query, effect(temperature, dose) + 0.1 * rng.normal())
    x, y = np.linspace(0, 30, 80), np.linspace(0, 10, 80)
    fig, ax = pyplot.subplots(figsize=(5.2, 3.2))
    image = ax.pcolormesh(x, y, effect(x, y[:, None]), rasterized=True, shading="gouraud")
    ax.plot(x, 2 + x / 5, color="black", lw=1.5)
    ax.plot(*np.transpose(played), "o", ms=3.5, color="white", mec="black", mew=0.4)
    contexts = np.arange(1.0, 30, 2)
    best = [opt.recommend(context={"temperature": each}).actions[0, 0] for each in contexts]
    ax.plot(contexts, best, "x", color=RED, ms=7, mew=2.2)
    ax.set(xlabel="temperature (given)", ylabel="dose (chosen)", xlim=(0, 30), ylim=(0, 10))
    fig.colorbar(image, label="true effect").outline.set_edgecolor(INK)
    return fig
