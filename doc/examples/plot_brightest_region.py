"""
The brightest region of a photograph
====================================

A telescope, a microscope or a camera with binned pixels measures the mean brightness of a
rectangle. Here a photograph takes the place of the sky. The search looks for the brightest region
and sees only noisy averages over rectangles, never a pixel.
"""

# %%
# The oracle
# ----------
# The photograph comes with scikit-learn. An answer is the mean over all pixels of a rectangle
# plus noise with a standard deviation of 0.05, on a scale from 0 (black) to 1 (white).

import warnings

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer
from skgpb.exceptions import RefinementWarning

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
with warnings.catch_warnings():
    # What is known of large cells says enough of many small ones, which are then made at once.
    warnings.simplefilter("ignore", RefinementWarning)
    result = opt.run(measure, budget=150)
best = result.x
print("recommended: (column, row) from", best.lower.round(), "to", best.upper.round())
print(f"its true mean brightness: {pixels(best).mean():.2f}, of all: {brightness.mean():.2f}")

# %%
# On the left the rectangles that the search asked for: large ones everywhere, small ones on the
# flower. On the right the final posterior mean of the brightness at every point.

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

tree = opt.tree_
asked = np.flatnonzero(tree.n_evaluations)
columns, rows = np.meshgrid(np.arange(2, width, 4), np.arange(2, height, 4))
mean = opt.predict(np.column_stack([columns.ravel(), rows.ravel()])).reshape(columns.shape)


def outline(ax, lower, upper, **style):
    """Draw the outline of a rectangle."""
    ax.add_patch(Rectangle(lower, *(upper - lower), fill=False, **style))


fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.1), sharey=True, layout="constrained")
left.imshow(photo)
for cell in asked:
    outline(left, tree.lower[cell], tree.upper[cell], edgecolor="white", lw=0.8, alpha=0.8)
left.set(title="what was asked for", xlabel="column", ylabel="row")
image = right.imshow(mean, extent=(0, width, height, 0), cmap="gray", vmin=0)
right.set(title="posterior mean after 150 noisy averages", xlabel="column")
fig.colorbar(image, ax=right, label="brightness", shrink=0.9)
for ax in (left, right):  # the white rim is seen on the orange flower, and the frame on white
    outline(ax, best.lower, best.upper, edgecolor="white", lw=5)
    outline(ax, best.lower, best.upper, edgecolor="#d55e00", lw=2.5)
plt.show()

# %%
# The search ends at the brightest part of the flower: a rectangle of about 20 by 26 pixels, nearly
# three times as bright as the average of the photograph. It took 150 averages, instead of
# 270,000 measurements for every pixel.
