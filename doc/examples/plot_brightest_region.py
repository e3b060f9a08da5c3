"""
The brightest region of a photograph
====================================

A telescope, a microscope or a camera with binned pixels answers with the mean brightness of a
rectangle. Here a photograph plays the sky: the search never sees a pixel, only noisy averages over
rectangles, and looks for the brightest region.
"""

# %%
# The oracle
# ----------
# The photograph comes with scikit-learn. An answer is the mean over all pixels of a rectangle
# plus noise with a standard deviation of 0.05, on a scale from 0 (black) to 1 (white).

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer

photo = load_sample_image("flower.jpg")
brightness = photo.mean(axis=2) / 255
height, width = brightness.shape
rng = np.random.default_rng(0)


def pixels(cell):
    """Return the brightness of the pixels in a cell of (column, row) coordinates."""
    left, top = np.floor(cell.lower).astype(int)
    right, bottom = np.ceil(cell.upper).astype(int)
    return brightness[top:bottom, left:right]


def measure(cell):
    """Answer a query."""
    return pixels(cell).mean() + 0.05 * rng.normal()


# %%
# The search
# ----------
# ``feedback="integral"`` because an answer averages everything inside the rectangle. The kernel
# expects brightness to vary over some forty pixels. ``beta=4.0`` makes the bonus for uncertainty
# two standard deviations.

opt = GPOOOptimizer(
    kernel=0.1 * RBF(40.0),
    bounds=[(0, width), (0, height)],
    alpha=0.05**2,
    feedback="integral",
    max_depth=8,
    beta=4.0,
)
result = opt.run(measure, budget=150)
best = result.x
print("recommended: (column, row) from", best.lower.round(), "to", best.upper.round())
print(f"its true mean brightness: {pixels(best).mean():.2f}, of all: {brightness.mean():.2f}")

# %%
# Rectangles are small where the search looked closely. On the right is what it knows about the
# photograph in the end: the posterior mean of the brightness at every point.

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

tree = opt.tree_
leaves = np.flatnonzero(tree.children[:, 0] < 0)
columns, rows = np.meshgrid(np.arange(2, width, 4), np.arange(2, height, 4))
mean = opt.predict(np.column_stack([columns.ravel(), rows.ravel()])).reshape(columns.shape)


def outline(ax, lower, upper, **style):
    """Draw the outline of a rectangle."""
    ax.add_patch(Rectangle(lower, *(upper - lower), fill=False, **style))


fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.1), sharey=True, layout="constrained")
left.imshow(photo)
for leaf in leaves:
    outline(left, tree.lower[leaf], tree.upper[leaf], edgecolor="white", lw=0.6, alpha=0.7)
left.set(title="the cells of the partition", xlabel="column", ylabel="row")
image = right.imshow(mean, extent=(0, width, height, 0), cmap="gray", vmin=0)
right.set(title="posterior mean after 150 noisy averages", xlabel="column")
fig.colorbar(image, ax=right, label="brightness", shrink=0.9)
for ax in (left, right):
    outline(ax, best.lower, best.upper, edgecolor="red", lw=2)
plt.show()
