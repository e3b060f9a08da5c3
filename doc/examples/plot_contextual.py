"""
Contextual bandit: the best action for every context
====================================================

A machine needs a new setting for each batch of material. The material (the context) is given, we
choose the setting (the action), and the quality of the product is measured with noise.
:class:`~skgpb.ContextualGPTreeOptimizer` learns during production which setting suits which
material.
"""

# %%
# The problem
# -----------
# The best setting moves with the material, and two settings are good for materials near 0.8.

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from skgpb import ContextualGPTreeOptimizer
from skgpb.kernels import Columns
from skgpb.problems.metrics import contextual_regret

rng = np.random.default_rng(0)


def quality(material, setting):
    ridge = np.exp(-20 * (setting - 0.25 - 0.5 * np.sin(2 * material)) ** 2)
    return ridge + 0.8 * np.exp(-30 * ((material - 0.8) ** 2 + (setting - 0.2) ** 2))


# %%
# Playing
# -------
# The kernel is the product of a kernel over materials and a kernel over settings: similar materials
# behave similarly under similar settings. Materials arrive at random.

opt = ContextualGPTreeOptimizer(
    Columns(RBF(0.3), [0]) * Columns(RBF(0.2), [1]),
    context_bounds=[(0, 1)],
    bounds=[(0, 1)],
    alpha=0.05**2,
    beta=4.0,
    horizon=100,
    max_depth=9,
)
materials = rng.uniform(size=100)
opt.run(lambda query: quality(*query.points[0]) + 0.05 * rng.normal(), contexts=materials)

# %%
# The regret compares each setting with the best setting for the same material.

played = opt.history_["descriptor"][:, :2]
grid = np.linspace(0, 1, 501)
optima = np.array([quality(material, grid).max() for material in materials])
regret = contextual_regret(optima, quality(*played.T))
print(f"regret after 20, 50 and 100 batches: {regret[[19, 49, 99]].round(2)}")

# %%
# Actions and final recommendations
# ---------------------------------

import matplotlib.pyplot as plt

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
image = left.pcolormesh(grid, grid, quality(*np.meshgrid(grid, grid)), cmap="viridis")
fig.colorbar(image, ax=left, label="quality")
dots = left.scatter(*played.T, c=np.arange(100), cmap="Reds", s=18, edgecolor="k", lw=0.3)
fig.colorbar(dots, ax=left, label="batch")
contexts = np.linspace(0, 1, 60)
advice = [opt.recommend(context=c).actions[0, 0] for c in contexts]
left.plot(contexts, advice, "w.", ms=4, label="recommended")
left.set(xlabel="material (context)", ylabel="setting (action)")
below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}
left.legend(**below, facecolor="0.2", labelcolor="w")
right.plot(np.arange(1, 101), regret)
right.set(xlabel="batches", ylabel="cumulative contextual regret", xlim=(1, 100), ylim=0)
plt.show()

# %%
# A new material needs no new search, because similar materials show how to set the machine. The
# first twenty batches lost nearly half of the quality each, the last fifty less than a twentieth.
# Dots far from the white line are early batches.
