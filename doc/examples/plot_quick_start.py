"""
Find the best region from noisy averages
========================================

An instrument can point at an interval of [0, 1] and reports the average of an unknown function
over it, plus noise. Which interval is best? :class:`~skgpb.GPOOOptimizer` starts with the whole
domain and refines it where that pays off.

The function is the first test problem of the GPOO paper: three hills, the highest near 0.9.
"""

# %%
# The problem
# -----------
# The problem knows its optimum, but the optimizer sees only noisy averages over the
# cells it asks for. The noise has a standard deviation of 0.1.

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer
from skgpb.problems import gpoo_function
from skgpb.problems.metrics import aggregated_regret

problem = gpoo_function(1)
rng = np.random.default_rng(0)

# %%
# The search
# ----------
# The kernel says how f varies: a prior variance of 0.1 and a length scale of 0.05. A cell is
# represented by ten points, over which the answer is averaged. ``max_depth`` is the resolution:
# cells are halved down to level 6, so that the finest are 1/128 wide.

opt = GPOOOptimizer(
    kernel=0.1 * RBF(0.05),
    bounds=problem.bounds,
    alpha=problem.noise_std**2,
    feedback="average",
    n_representatives=10,
    max_depth=6,
)
for _ in range(80):
    cell = opt.ask()
    opt.tell(cell, problem.observe(cell, rng))

best = opt.recommend()
regret = aggregated_regret(problem.optimum, problem.average(best))
print(f"recommended: [{best.lower[0]:.3f}, {best.upper[0]:.3f}], depth {best.depth}")
print(f"its true average is {regret:.3f} below the maximum of f, {problem.optimum:.3f}")

# %%
# The queries and the posterior
# --------------------------------
# Every row of the upper panel is one level of the partition. The colour of a cell is the number of
# times it was asked for; white means never. Some cells were split without being asked, because
# they were known well enough. Most answers were spent on the highest hill. Below is the
# posterior of f *at points*, which comes from averages alone: no point was ever observed.

import matplotlib.pyplot as plt

grid = np.linspace(0, 1, 400)[:, np.newaxis]
mean, std = opt.predict(grid, return_std=True)
tree = opt.tree_

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 6.4), sharex=True, height_ratios=[1, 1.3], layout="constrained"
)
counts = tree.n_evaluations
cmap = plt.get_cmap("viridis_r")
norm = plt.Normalize(1, counts.max())
cells = zip(tree.depth, tree.lower[:, 0], tree.upper[:, 0], counts, strict=True)
for depth, lower, upper, n in cells:
    color = cmap(norm(n)) if n else "white"
    top.barh(depth, upper - lower, left=lower, height=0.9, color=color, edgecolor="0.6", lw=0.6)
top.barh(
    best.depth, best.upper - best.lower, left=best.lower, height=0.9, fill=False, ec="#d55e00", lw=2
)
top.set(ylabel="depth of the cell", ylim=(tree.depth.max() + 0.6, -0.6))
fig.colorbar(
    plt.cm.ScalarMappable(norm, cmap), ax=top, label="answers", pad=0.01, ticks=range(1, 9)
)

bottom.plot(grid, problem.f(grid), color="0.2", ls=":", label="f, unknown to the search")
bottom.plot(grid, mean, color="tab:blue", label="posterior mean")
bottom.fill_between(
    grid[:, 0],
    mean - 2 * std,
    mean + 2 * std,
    color="tab:blue",
    alpha=0.15,
    lw=0,
    label="± 2 standard deviations",
)
bottom.axvspan(best.lower[0], best.upper[0], color="#d55e00", alpha=0.4, label="recommended cell")
bottom.set_label("thumbnail")
bottom.set(xlabel="x", ylabel="reward", xlim=(0, 1))
bottom.legend(loc="upper center", ncols=2, fontsize=9)
plt.show()

# %%
# Eighty noisy averages were enough to find one of 128 intervals whose average is within a hundredth
# of the best. The band is widest over the valleys, because it is enough to know that they are
# low.
