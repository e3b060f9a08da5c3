"""
Reading a run
=============

A search has ended with a recommendation. Is it any good, how sure can one be, and what was the
effort spent on? Seven pictures answer, each drawn from the optimizer in one line.
"""

# %%
# A search to look at
# -------------------
# A laboratory seeks the yield of a reaction: a temperature, an amount of salt between 0.0001 and
# 0.1, and one of three catalysts. Thirty experiments were made, and a measurement is off by 0.1 or
# so.

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
# How far has it come?
# --------------------
# The best answer so far needs no knowledge of the truth. It rises in steps, and when it has not
# risen for long there is little reason to go on. Noise flatters it: the luckiest of many answers is
# above what it measures, so that a run should be judged by the recommendation's estimated mean,
# printed above.

RegretDisplay.from_optimizer(laboratory, kind="best", value_name="yield")
plt.show()

# %%
# Which sides matter?
# -------------------
# The length of a bar is the standard deviation of the yield when this side alone changes. Pale is
# what the search cannot tell yet. Temperature and catalyst matter and the salt hardly does.

ImportanceDisplay.from_optimizer(laboratory, value_name="yield")
plt.show()

# %%
# What if a side is missed?
# -------------------------
# Slices go through the recommendation, one for each side, with what is asked as ticks below. The
# band is narrow where the search has looked. Ten degrees more cost a quarter of the yield's unit,
# another catalyst a whole one; the salt may be anything near 0.01.

SliceDisplay.from_optimizer(laboratory, value_name="yield")
plt.show()

# %%
# And two of them together, at the recommended catalyst.

PosteriorDisplay.from_optimizer(laboratory, features=("temperature", "salt"), value_name="yield")
plt.show()

# %%
# A search by averages
# --------------------
# Now an instrument that averages over an interval, and a function with several peaks. The posterior
# of the function and that of the cells' averages: the steps are as fine as the search has looked.
# Lines beside the dots are the intervals that were asked for.


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
# Where was the effort spent?
# ---------------------------
# The tree of cells: large dots were asked for often. Most answers went below the highest peak, at
# the end of the marked path, some below the second and the third, which had to be ruled out.

TreeDisplay.from_optimizer(averages)
plt.show()

# %%
# What has the search cost?
# -------------------------
# *Regret* is what was given away: the difference between the best there is and what one got. Here
# it is divided by the number of rounds, so that 0.1 means a loss of 0.1 per round so far. It has to
# be computed against the true maximum, which only a test problem knows; without ``optimum`` the
# estimated one is taken, and the label says so. For comparison the same budget is spent on points.
#
# An average over a wide cell is below the maximum wherever the cell lies, so that asking for
# averages costs more at first. In the end both curves fall, and that is what counts: the curve of a
# search that has stopped learning stays level.

points = GPUCBOptimizer(kernel, bounds=place, alpha=alpha, beta=4.0, random_state=0)
points.run(instrument, budget=60)

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.set_label("thumbnail")
for name, opt in {"averages (GPOO)": averages, "points (GP-UCB)": points}.items():
    RegretDisplay.from_optimizer(opt, ax, optimum=f(x).max(), kind="average", name=name)
plt.show()

# %%
# So: look at the best answer so far to decide whether to go on, at the importance to decide what to
# control, at the slices to decide how precisely, and at the tree to see whether anything was
# overlooked.
