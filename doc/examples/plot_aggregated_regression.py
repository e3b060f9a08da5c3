"""
Regression on averages
======================

Monthly sums, binned counts, zonal statistics: many data sets hold averages over intervals of
different widths, not values at points. Wrapping a scikit-learn kernel in
:class:`~skgpb.kernels.CellAverage` is all it takes to learn f itself from them, here with
:class:`~skgpb.OnlineGaussianProcessRegressor`, which also accepts further averages later.
"""

# %%
# Data
# ----
# Fourteen averages over intervals of different widths, with some overlap and a gap. An interval
# is one row, [lower, upper].

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb import OnlineGaussianProcessRegressor
from skgpb.kernels import CellAverage


def f(x):
    """Return the function behind the averages."""
    return np.sin(2 * np.pi * x) + 0.6 * np.sin(6 * np.pi * x)


rng = np.random.default_rng(3)
lower = np.array(
    [0.0, 0.06, 0.12, 0.16, 0.24, 0.30, 0.38, 0.40, 0.50, 0.56, 0.60, 0.84, 0.88, 0.94]
)
upper = np.array(
    [0.1, 0.16, 0.20, 0.28, 0.32, 0.42, 0.46, 0.54, 0.60, 0.68, 0.70, 0.94, 0.98, 1.00]
)
cells = np.column_stack([lower, upper])
fine = cells[:, [0]] + (cells[:, [1]] - cells[:, [0]]) * np.linspace(0.005, 0.995, 100)
averages = f(fine).mean(axis=1) + 0.03 * rng.normal(size=len(cells))

# %%
# Model
# -----
# The amplitude and the length scale of f are learned from the averages by maximum likelihood, as
# in scikit-learn.

base = ConstantKernel(1.0) * RBF(0.1, length_scale_bounds=(0.02, 2.0))
kernel = CellAverage(base, n_representatives=10)
gpr = OnlineGaussianProcessRegressor(kernel, alpha=0.03**2, n_restarts_optimizer=2, random_state=0)
gpr.fit(cells, averages)
print("learned:", gpr.kernel_)

# %%
# A late observation is appended, without refitting: one average over the gap.

gap = np.array([[0.7, 0.85]])
grid = np.linspace(0, 1, 400)
points = np.column_stack([grid, grid])  # a point is a box without width
middle = np.tile(gap.mean(), (1, 2))
before = gpr.predict(middle, return_std=True)[1]
late = f(np.linspace(0.7, 0.85, 100)).mean()
gpr.partial_fit(gap, [late])
after = gpr.predict(middle, return_std=True)[1]
print(f"standard deviation of f in the middle of the gap: {before[0]:.2f}, then {after[0]:.2f}")

mean, std = gpr.predict(points, return_std=True)

# %%
# For comparison, the usual shortcut: pretend that every average was a value at the middle of its
# interval.

from sklearn.gaussian_process import GaussianProcessRegressor

all_cells = np.vstack([cells, gap])
all_averages = np.append(averages, late)
shortcut = GaussianProcessRegressor(base, alpha=0.03**2, n_restarts_optimizer=2, random_state=0)
shortcut.fit(all_cells.mean(axis=1, keepdims=True), all_averages)
naive = shortcut.predict(grid[:, np.newaxis])

for name, estimate in [("averages", mean), ("midpoints", naive)]:
    error = np.sqrt(np.mean((estimate - f(grid)) ** 2))
    print(f"root mean squared error from {name}: {error:.3f}")

# %%

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
ax.plot(grid, f(grid), color="0.2", ls=":", label="f, unknown")
ax.plot(grid, mean, color="tab:blue", label="posterior mean")
ax.fill_between(
    grid,
    mean - 2 * std,
    mean + 2 * std,
    color="tab:blue",
    alpha=0.15,
    lw=0,
    label="± 2 standard deviations",
)
ax.plot(grid, naive, color="tab:orange", ls="--", label="averages taken for midpoints")
ax.hlines(all_averages[:-1], *cells.T, color="0.2", lw=3, label="observed averages")
ax.hlines(all_averages[-1:], *gap.T, color="#d55e00", lw=3, label="added later")
ax.set(xlabel="x", ylabel="f(x)", xlim=(0, 1))
fig.legend(loc="outside lower center", ncols=3, fontsize=9, frameon=False)
plt.show()

# %%
# With averages treated as averages, the error is little more than half of that of the usual
# shortcut, which flattens every peak. Where nothing was measured, a single late average is enough:
# the band over the gap closes.
