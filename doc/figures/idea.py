"""The idea in three pictures: the truth, what averages tell, what was found."""

import numpy as np
from drawn import RED
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from skgpb import GPOOOptimizer

SOURCES = [(1.0, 0.70, 0.34, 0.10, 0.08), (0.7, 0.25, 0.72, 0.13, 0.11), (0.4, 0.3, 0.2, 0.2, 0.1)]


def sky(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return sum(
        height * np.exp(-(((x - x0) / width) ** 2) - ((y - y0) / depth) ** 2)
        for height, x0, y0, width, depth in SOURCES
    )


def draw() -> Figure:
    rng = np.random.default_rng(0)
    search = GPOOOptimizer(bounds=[(0, 1), (0, 1)], random_state=0)
    search.run(lambda patch: sky(*patch.points.T).mean() + 0.02 * rng.normal(), budget=60)
    found = search.recommend(side=0.15)

    middles = (np.arange(96) + 0.5) / 96
    x, y = np.meshgrid(middles, middles)
    told = np.full(x.shape, np.nan)
    for answer in search.history_:
        (left, low), (right, high) = answer["descriptor"].reshape(2, 2)
        told[(left <= x) & (x <= right) & (low <= y) & (y <= high)] = answer["reward"]
    mean = search.predict(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)

    figure, axes = pyplot.subplots(1, 3, figsize=(5.2, 2.0), sharex=True, sharey=True)
    titles = ["the truth", "60 noisy averages", "what was found"]
    for ax, title, image in zip(axes, titles, [sky(x, y), told, mean], strict=True):
        ax.imshow(
            image, origin="lower", extent=(0, 1, 0, 1), vmin=0.0, vmax=1.0, interpolation="none"
        )
        ax.set_title(title, fontsize=12)
        ax.set(xticks=[], yticks=[])
    for ax in (axes[0], axes[2]):
        frame = Rectangle(found.lower, *(found.upper - found.lower), fill=False, ec=RED, lw=2)
        ax.add_patch(frame)
    return figure
