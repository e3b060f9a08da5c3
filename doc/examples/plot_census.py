"""
The richest district, from noisy averages of groups
===================================================

A statistical office does not publish the income of a household. It may publish averages over
groups of households, with noise added. Where in the country is income highest? (Noise alone gives
no privacy; :doc:`/user_guide/privacy` explains what does.)

The domain is a *pool*: the places of the households, not a box. Groups are split at quantiles, so
no group is empty, although half of the map is sea. This example uses a simulated country; the same
search in your own table is one command, see :doc:`/user_guide/command_line`.
"""

# %%
# A country
# ---------
# Twenty thousand households live in towns along a coast. Income varies smoothly over the country,
# with a wealthy stretch of coast, and a lot between neighbours.

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer

rng = np.random.default_rng(7)
n_households = 20_000


def coast(x):
    """Return the northing of the coast line, in km; the sea is below."""
    return 300 - 0.7 * x + 25 * np.sin(x / 60)


n_towns = 150
town_x = rng.uniform(0, 400, size=n_towns)
town_y = coast(town_x) + rng.gamma(1.0, 70.0, size=n_towns)
town = rng.choice(n_towns, p=rng.dirichlet(np.ones(n_towns)), size=4 * n_households)
places = np.column_stack([town_x[town], town_y[town]]) + rng.normal(scale=9, size=(len(town), 2))
inside = (np.abs(places - [200, 200]) < 200).all(axis=1) & (places[:, 1] > coast(places[:, 0]))
places = places[inside][:n_households]

wealthy = np.exp(-0.5 * (((places - [265, 130]) / 30) ** 2).sum(axis=1))
near_coast = np.exp(-(places[:, 1] - coast(places[:, 0])) / 40)
typical = 30 + 25 * wealthy + 10 * near_coast + 5 * np.sin(places[:, 0] / 45)
income = typical * rng.lognormal(sigma=0.35, size=n_households)  # thousands a year

# %%
# The office
# ----------
# An answer is the average over a group, plus noise of a tenth of the standard deviation of
# income. It refuses groups of fewer than 150 households, and the search respects that by
# ``min_members``.

noise = 0.1 * income.std()


def office(cell):
    """Answer with the noisy average income of the members of a cell."""
    assert len(cell.members) >= 150
    return income[cell.members].mean() + noise * rng.normal()


# %%
# The search
# ----------
# Rewards are centred and scaled by ``normalize_y``, so that a prior variance of one fits, and the
# length scales start at 50 km and are learned on the way.

opt = GPOOOptimizer(
    kernel=RBF([50.0, 50.0], length_scale_bounds=(10, 400)),
    pool=places,
    alpha=noise**2,
    min_members=150,
    normalize_y=True,
    optimizer="fmin_l_bfgs_b",
    random_state=0,
)
result = opt.run(office, budget=120)
best = result.x

print(f"recommended: {len(best.members)} households")
print(f"their true average: {income[best.members].mean():.1f}, of everybody: {income.mean():.1f}")
asked = opt.tree_.n_evaluations > 0
print(f"different groups asked for: {asked.sum()}, in {result.nfev} queries")

# %%
# Is there a better group? The search cannot see this, but we can average the incomes of every group
# that the office would have answered for.

groups = [opt.domain_.cell_at(best.depth, index) for index in range(2**best.depth)]
averages = np.array([income[group.members].mean() for group in groups])
rank = int((averages > income[best.members].mean()).sum()) + 1
print(
    f"of {len(groups)} groups of that size it is number {rank}; the best has {averages.max():.1f}"
)

# %%
# On the left the true typical income at the place of every household, which the search does not
# know. In the middle the final posterior mean. Thin boxes are the groups that were asked for, the
# thick box is the recommendation; on the right is a closer view of it.
#
# The brightest spot of the picture may be at the edge of that box or outside. Boxes are cut at
# medians, and an answer is the average over everybody in a box. The recommendation is the *group*
# with the highest average, not the group around the place with the highest income.

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

tree = opt.tree_
fig, axes = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
believed = opt.predict(places)
norm = plt.Normalize(typical.min(), max(typical.max(), believed.max()))
axes[0].scatter(*places.T, c=typical, s=1, norm=norm)
axes[0].set(title="typical income, unknown", ylabel="northing (km)")
for ax, size in zip(axes[1:], (1, 9), strict=True):
    dots = ax.scatter(*places.T, c=believed, s=size, norm=norm)
    for lower, upper in zip(tree.lower[asked], tree.upper[asked], strict=True):
        ax.add_patch(Rectangle(lower, *(upper - lower), fill=False, edgecolor="0.35", lw=0.5))
axes[1].set(title=f"believed after {result.nfev} averages")
middle = (best.lower + best.upper) / 2
axes[2].set(title="the same, closely", xlim=middle[0] + [-45, 45], ylim=middle[1] + [-45, 45])
axes[2].set_label("thumbnail")
for ax in axes:
    side = best.upper - best.lower
    group = Rectangle(best.lower, *side, fill=False, edgecolor="#d55e00", lw=3)
    group.set_label("recommended group")
    ax.add_patch(group)
    ax.set(xlabel="easting (km)", aspect="equal")
axes[0].legend(loc="lower left")
fig.colorbar(dots, ax=axes, label="income (thousands a year)", shrink=0.85)
plt.show()

# %%
# A few dozen noisy averages, none of fewer than 150 households, were enough to find the richest
# stretch of the coast among 128 groups. No income of a single household was ever asked for.

# %%
# Answers that are counts
# -----------------------
# Suppose we ask *how many* households of a group earn more than 80 thousand, and the office asks
# 150 of them. The noise of the count depends on the proportion itself.
# :func:`~skgpb.feedback.from_counts` converts counts into the answer to tell, and
# :func:`~skgpb.feedback.to_proportion` converts the posterior back into a proportion.

from skgpb.feedback import from_counts, to_proportion

rich = GPOOOptimizer(pool=places, min_members=150, random_state=0)
for _ in range(60):
    group = rich.ask()
    asked = rng.choice(group.members, size=150, replace=False)
    rich.tell(group, *from_counts((income[asked] > 80).sum(), trials=150))

best = rich.recommend()
mean, std = rich.predict_query(best, return_std=True)
share, low, high = to_proportion(mean[0], std[0])
print(f"recommended: a group in which {share:.0%} earn more ({low:.0%} to {high:.0%})")
print(f"in truth {(income[best.members] > 80).mean():.0%}, of everybody {(income > 80).mean():.0%}")
