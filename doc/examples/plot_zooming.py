"""
Zooming: find the best point with shrinking balls
=================================================

:class:`~skgpb.GPZoomingOptimizer` covers the domain with balls. Where the function may be high, the
balls shrink, and if that leaves a gap, a new ball fills it. Here f has two hills on the
unit square, and every evaluation has noise.
"""

# %%
# The function
# ------------

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPZoomingOptimizer

rng = np.random.default_rng(0)


def f(points):
    """Two hills, the higher one at (0.8, 0.3)."""
    points = np.atleast_2d(points)
    low = np.exp(-((points - [0.25, 0.7]) ** 2).sum(axis=1) / 0.03)
    high = np.exp(-((points - [0.8, 0.3]) ** 2).sum(axis=1) / 0.03)
    return 0.7 * low + high


# %%
# The search
# ----------
# With the sup norm, the default, balls are squares. ``variation`` is W(r), the variation of f
# within a ball of radius r: (c, exponent) stands for c r^exponent.

opt = GPZoomingOptimizer(
    kernel=0.1 * RBF(0.15),
    bounds=[(0, 1), (0, 1)],
    alpha=0.05**2,
    horizon=120,
    variation=(2.0, 1.0),
    beta=4.0,
)
result = opt.run(lambda ball: f(ball.points)[0] + 0.05 * rng.normal(), budget=120)
best = result.x
print(f"recommended: {best.center.round(3)}, where f is {f(best.center)[0]:.3f}")

# %%
# The balls
# ---------
# The squares always cover the whole domain. They are large far from the hills and smallest around
# the higher hill. Dots are the centres that were evaluated.

axis = np.linspace(0, 1, 101)
grid = np.stack(np.meshgrid(axis, axis), axis=-1)
tree = opt.tree_

fig, ax = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
mesh = ax.pcolormesh(axis, axis, f(grid.reshape(-1, 2)).reshape(101, 101), cmap="Blues")
for lower, upper in zip(tree.lower, tree.upper, strict=True):
    ax.add_patch(Rectangle(lower, *(upper - lower), fill=False, linewidth=0.4, edgecolor="0.3"))
asked = tree.n_evaluations > 0
ax.plot(*tree.center[asked].T, ".", color="tab:orange", markersize=4, label="evaluated")
ax.plot(*best.center, "*", color="#d55e00", markersize=14, label="recommended")
ax.set(xlabel="$x_1$", ylabel="$x_2$", title="Balls after 120 evaluations", aspect="equal")
fig.legend(loc="outside lower center", ncols=2, frameon=False)
fig.colorbar(mesh, ax=ax, label="f")
plt.show()

# %%
# After 120 noisy evaluations the recommendation is within a hundredth of the top of the higher
# hill. A few large balls cover most of the square, which was never evaluated again: this is how
# zooming saves evaluations.
