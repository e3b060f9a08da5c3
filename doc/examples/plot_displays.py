"""
Reading a run
=============

Four pictures of one search, each drawn from the optimizer in one line: what it believes, which
cells it asked for, how deep it looked where, and what the search has cost.
"""

# %%
# The function has several peaks. The oracle averages five points of a cell, with noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer, GPUCBOptimizer
from skgpb.plotting import CellMapDisplay, PosteriorDisplay, RegretDisplay, TreeDisplay


def f(x):
    return 0.5 + 0.5 * np.sin(13 * x) * np.sin(27 * x)


rng = np.random.default_rng(0)


def instrument(query):
    return float(f(query.points).mean() + 0.05 * rng.normal())


kernel, alpha = 0.2 * RBF(0.05), 0.05**2
opt = GPOOOptimizer(
    kernel, bounds=[(0, 1)], alpha=alpha, beta=4.0, n_representatives=5, max_depth=7
)
result = opt.run(instrument, budget=60)

# %%
# The same budget for points instead of averages, to compare the regret.

points = GPUCBOptimizer(kernel, bounds=[(0, 1)], alpha=alpha, beta=4.0, random_state=0)
_ = points.run(instrument, budget=60)

# %%
# Every display has ``from_optimizer``, takes axes, and keeps what it drew. The regret is that of
# the noisy answers against the true maximum; without ``optimum`` it would be the estimated one. An
# average over a wide cell is far below the maximum wherever the cell lies, so that asking for
# averages costs more than asking for points.

figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
display = PosteriorDisplay.from_optimizer(opt, axes[0, 0])
x = np.linspace(0, 1, 500)
display.ax_.plot(x, f(x), "k--", lw=0.8, label="f")
below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.18), "ncols": 3, "frameon": False}
display.ax_.legend(fontsize="small", **below)
CellMapDisplay.from_optimizer(opt, axes[0, 1]).ax_.legend(fontsize="small", **below)
TreeDisplay.from_optimizer(opt, axes[1, 0])
RegretDisplay.from_optimizer(opt, axes[1, 1], optimum=f(x).max(), kind="average")
RegretDisplay.from_optimizer(points, axes[1, 1], optimum=f(x).max(), kind="average")
titles = ["posterior of f", "posterior of the cells", "tree", "regret"]
for ax, title in zip(axes.flat, titles, strict=True):
    ax.set_title(title)
plt.show()
