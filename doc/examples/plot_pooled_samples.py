"""
Pooled samples: measure mixtures, find the best single sample
=============================================================

A laboratory has 96 samples of soil and looks for the one with the most of an enzyme. An assay needs
more soil than a sample has, so it measures the average of a mixture of four samples. The queries
are mixtures, the targets single samples, see :doc:`/user_guide/targets`.
"""

# %%
# The samples
# -----------
# They come from a field of 8 by 12 plots. Neighbouring plots are similar, but every plot also has
# an independent part. Nothing else is known.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel

from skgpb import IDSOptimizer, KGOptimizer, TargetsOptimizer

plots = np.stack(np.meshgrid(np.arange(12), np.arange(8)), axis=-1).reshape(-1, 2)
alike = (0.7 * RBF(1.8) + WhiteKernel(0.3))(plots)  # covariance of the 96 samples
root = np.linalg.cholesky(alike)
noise = 0.3


def activity(seed):
    """Activities of the 96 samples, unknown to the search."""
    return 3.0 + root @ np.random.default_rng(seed).standard_normal(96)


# %%
# The queries
# -----------------
# A query is a row of 96 weights that sum to one: four neighbours, in a square or in a line. For
# finitely many samples with covariance L L' the covariance of two mixtures w and v is (w L)(v L)',
# so we only need the rows w L and a plain dot product.


def blocks(height, width):
    """Shares of all mixtures of a block of neighbours."""
    mixtures = []
    for top in range(8 - height + 1):
        for left in range(12 - width + 1):
            inside = (plots >= [left, top]) & (plots < [left + width, top + height])
            mixtures.append(inside.all(axis=1) / (height * width))
    return np.array(mixtures)


mixtures = np.concatenate([blocks(2, 2), blocks(1, 4), blocks(4, 1)])
single = np.eye(96)
print(f"{len(mixtures)} mixtures can be asked for, {len(single)} samples are of interest")
settings = {
    "kernel": DotProduct(sigma_0=0, sigma_0_bounds="fixed"),
    "queries": mixtures @ root,
    "targets": single @ root,
    "alpha": noise**2,
    "random_state": 0,
}


def play(opt, seed, n_assays):
    """Assay what an optimizer asks for; which mixtures these were."""
    truth, rng = activity(seed), np.random.default_rng(seed + 100)
    asked = []
    for _ in range(n_assays):
        query = opt.ask()
        asked.append(query.index)
        opt.tell(query, mixtures[query.index] @ truth - 3.0 + noise * rng.normal())
    return asked


# %%
# Twenty fields
# -------------
# The regret of the recommended sample after 15 and 30 assays, for the knowledge gradient, for
# information-directed sampling, and for an acquisition function of our own that asks at random
# with the same posterior. The last line is the regret of the best mixture.

rules = {
    "knowledge gradient": lambda: KGOptimizer(**settings),
    "information-directed": lambda: IDSOptimizer(**settings),
    "at random": lambda: TargetsOptimizer(
        lambda posterior: posterior.rng.random(len(mixtures)), **settings
    ),
}


def in_words(losses):
    mean, error = np.mean(losses, axis=0), np.std(losses, axis=0, ddof=1) / np.sqrt(len(losses))
    return " and ".join(f"{m:.2f} ({e:.2f})" for m, e in zip(mean, error, strict=True))


for name, make in rules.items():
    lost = []
    for seed in range(20):
        truth, opt = activity(seed), make()
        found = []
        for _ in range(2):
            play(opt, seed, 15)
            found.append(opt.recommend().index)
        lost.append(truth.max() - truth[found])
    print(f"{name}: {in_words(lost)} less than the best")
alone = [[activity(seed).max() - (mixtures @ activity(seed)).max()] for seed in range(20)]
print(f"the best mixture, were it known: {in_words(alone)}")

# %%
# One field. Mixtures overlap, and the overlaps separate the samples.

opt = rules["knowledge gradient"]()
asked = play(opt, 3, 30)
truth, best = activity(3), opt.recommend().index
believed = opt.predict(single @ root) + 3.0

figure, axes = plt.subplots(1, 3, figsize=(13, 3.7), layout="constrained")
panels = {
    "the truth, unknown": truth,
    "30 assays of four samples each": np.full(96, np.nan),
    "believed of single samples": believed,
}
norm = plt.Normalize(truth.min(), truth.max())
for ax, (title, values) in zip(axes, panels.items(), strict=True):
    image = ax.imshow(values.reshape(8, 12), norm=norm, origin="lower")
    ax.plot(*plots[truth.argmax()], "x", color="#0072b2", ms=10, mew=2.5, label="the best sample")
    ax.plot(*plots[best], "o", color="#d55e00", ms=15, mew=2.5, mfc="none", label="recommended")
    ax.set(title=title, xticks=[], yticks=[])
shift = np.random.default_rng(0).uniform(-0.12, 0.12, size=(len(asked), 2))
answers = opt.history_["reward"] + 3.0
for i, move, answer in zip(asked, shift, answers, strict=True):
    inside = plots[mixtures[i] > 0]
    low, high = inside.min(axis=0) - 0.36 + move, inside.max(axis=0) + 0.36 + move
    color = image.cmap(norm(answer))
    axes[1].add_patch(plt.Rectangle(low, *(high - low), fill=False, ec=color, lw=2.5))
axes[2].set_label("thumbnail")
figure.colorbar(image, ax=axes, label="activity", shrink=0.8)
handles, labels = axes[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
plt.show()
