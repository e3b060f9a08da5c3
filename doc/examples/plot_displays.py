"""
Displays: how good is the recommendation, and how certain?
==========================================================

A search has ended with a recommendation. How good is it, how certain is it, and where were the
queries spent? Seven displays answer these questions, each with one line of code.
"""

# %%
# The search
# ----------
# A laboratory maximises the yield of a reaction over a temperature, an amount of salt between
# 0.0001 and 0.1, and three catalysts. There were thirty experiments; a measurement has a standard
# deviation of 0.1.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import loguniform
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer, GPUCBOptimizer
from skgpb.plotting import (
    CellMapDisplay,
    ImportanceDisplay,
    PosteriorDisplay,
    RegretDisplay,
    SliceDisplay,
    TreeDisplay,
)

rng = np.random.default_rng(0)


def experiment(query):
    p = query.params
    heat, salt = (p["temperature"] - 60) / 20, np.log10(p["salt"]) + 2
    truth = {"A": 2.0, "B": 3.0, "none": 1.5}[p["catalyst"]] - heat**2 - 0.1 * salt**2
    return truth + 0.1 * rng.normal()


sides = {
    "temperature": (20.0, 90.0),
    "salt": loguniform(1e-4, 1e-1),
    "catalyst": ["A", "B", "none"],
}
laboratory = GPUCBOptimizer(bounds=sides, random_state=0)
print(laboratory.run(experiment, budget=30))

# %%
# Progress of the run
# -------------------
# The best answer so far needs no knowledge of the truth. It rises in steps; if it has not risen for
# a long time, there is little reason to continue. It is too optimistic, because the best of many
# noisy answers is partly luck. Judge a run by the estimated mean of the recommendation, printed
# above.

RegretDisplay.from_optimizer(laboratory, kind="best", value_name="yield")
plt.show()

# %%
# Which settings matter?
# ----------------------
# The length of a bar is the standard deviation of the yield when only this setting changes. The
# pale part is uncertain. Temperature and catalyst matter; the salt hardly does.

ImportanceDisplay.from_optimizer(laboratory, value_name="yield")
plt.show()

# %%
# How precisely must a setting be met?
# ------------------------------------
# Slices go through the recommendation, one for each setting; ticks below are the queries. The
# band is narrow where there were queries. Ten degrees more reduce the yield by a quarter of a unit,
# another catalyst by a whole unit; the salt may have any value near 0.01.

SliceDisplay.from_optimizer(laboratory, value_name="yield")
plt.show()

# %%
# Two settings together, at the recommended catalyst.

PosteriorDisplay.from_optimizer(laboratory, features=("temperature", "salt"), value_name="yield")
plt.show()

# %%
# A search by averages
# --------------------
# Now an instrument averages over an interval, and the function has several peaks. The display has
# the posterior of the function and of the averages over cells: the steps are narrow where the
# search looked closely. Lines next to the dots are the intervals that were asked for.


def f(x):
    return 0.5 + 0.5 * np.sin(13 * x) * np.sin(27 * x)


def instrument(query):
    return float(f(query.points).mean() + 0.05 * rng.normal())


kernel, alpha = 0.2 * RBF(0.05), 0.05**2
place = {"place": (0.0, 1.0)}
settings = {"alpha": alpha, "beta": 4.0, "n_representatives": 5, "max_depth": 7}
averages = GPOOOptimizer(kernel, bounds=place, **settings)
averages.run(instrument, budget=60)

figure, axes = plt.subplots(2, 1, figsize=(7, 7.5), sharex=True, layout="constrained")
PosteriorDisplay.from_optimizer(averages, axes[0])
x = np.linspace(0, 1, 500)
axes[0].plot(x, f(x), ":", color="0.2", label="f, unknown")
CellMapDisplay.from_optimizer(averages, axes[1])
beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False}
for ax in axes:
    ax.legend(**beside)
plt.show()

# %%
# Where were the queries spent?
# -----------------------------
# The tree of cells: large dots were asked for often. Most answers went below the highest peak, at
# the end of the marked path, some below the second and the third, which had to be ruled out.

TreeDisplay.from_optimizer(averages)
plt.show()

# %%
# What did learning cost?
# -----------------------
# The *regret* of a query is the maximum of f minus the value of the query. Here the cumulative
# regret is divided by the number of rounds, so that 0.1 means a loss of 0.1 per round. It needs the
# true maximum, which only a test problem knows; without ``optimum`` an estimate is used, and the
# label says so. For comparison the same budget is spent on points.
#
# An average over a wide cell is below the maximum wherever the cell lies, so averages have a larger
# regret at first. Both curves keep falling; the curve of a search that has stopped learning would
# be level.

points = GPUCBOptimizer(kernel, bounds=place, alpha=alpha, beta=4.0, random_state=0)
points.run(instrument, budget=60)

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.set_label("thumbnail")
for name, opt in {"averages (GPOO)": averages, "points (GP-UCB)": points}.items():
    RegretDisplay.from_optimizer(opt, ax, optimum=f(x).max(), kind="average", name=name)
plt.show()

# %%
# In summary: the best answer so far shows whether to continue, the importance which settings to
# control, the slices how precisely to control them, and the tree whether anything was overlooked.
