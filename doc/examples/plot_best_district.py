"""
The best district, from averages of counties
============================================

In which of 80 districts are most people vaccinated? Surveys are only made by county and by health
region; each reports how many people were asked, and how many of them were vaccinated. Counties and
health regions overlap in different ways, so their averages together have information about every
district, see :doc:`/user_guide/targets`.
"""

# %%
# The country
# -----------
# Districts have centres and populations. Counties and health regions are different sets of
# neighbouring districts.

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import Voronoi, cKDTree, voronoi_plot_2d

from skgpb import KGOptimizer
from skgpb.domains import Districts
from skgpb.feedback import from_counts

rng = np.random.default_rng(4)
districts = rng.uniform(0, 100, size=(80, 2))
population = rng.lognormal(10, 0.6, size=80)
seats = {"county": rng.uniform(0, 100, size=(16, 2)), "health region": rng.uniform(0, 100, (12, 2))}
member_of = {kind: cKDTree(places).query(districts)[1] for kind, places in seats.items()}


def share(places):
    """Share of vaccinated people, unknown to the search."""
    x, y = places.T
    town = np.exp(-(((x - 70) / 16) ** 2 + ((y - 35) / 16) ** 2))
    return 0.55 + 0.3 * town + 0.08 * np.sin(y / 20)


vaccinated = share(districts)

# %%
# Queries and targets
# -------------------
# A survey of an area is an average over its districts, weighted by their populations. The search
# learns from the answers how similar districts are, and over which distance.

areas = Districts(
    np.vstack([districts, districts]),
    [f"{kind} {number}" for kind, members in member_of.items() for number in members],
    np.tile(population, 2),
)
opt = KGOptimizer(queries=areas, targets=districts, alpha=0.25 / 400, random_state=0)

# %%
# Forty surveys of 400 people. The proportion itself is told (``stabilize=False``), because the
# answer has to be an average over districts; its noise is estimated from the answer.

asked = []
for _ in range(40):
    query = opt.ask()
    asked.append(query.name)
    yes = rng.binomial(400, query.weights @ share(query.points))
    opt.tell(query, *from_counts(yes, 400, stabilize=False))

best = opt.recommend().index
mean, std = opt.predict(districts, return_std=True)
told = [area.weights @ share(area.points) for area in map(opt.domain_.arm, range(len(areas)))]
print(f"recommended: district {best}, {mean[best]:.0%} expected, +- {std[best]:.0%}")
print(f"its true share is {vaccinated[best]:.1%}; the best district has {vaccinated.max():.1%}")
print(f"the best of all counties and regions has {max(told):.1%}")
print(f"asked: {len(set(asked))} of {len(areas)} areas")

# %%
# On the left the counties with their answers, white if they were not surveyed; in the middle the
# estimates for districts; on the right the truth. Lines are borders of districts.

answers = opt.history_["reward"]
by_county = {
    number: np.mean(answers[np.array(asked) == f"county {number}"])
    for number in np.unique(member_of["county"])
    if f"county {number}" in asked
}
values = {
    "surveys of counties": [by_county.get(number, np.nan) for number in member_of["county"]],
    "believed of districts": mean,
    "the truth, unknown": vaccinated,
}
side = np.linspace(0, 100, 301)
pixels = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
nearest = cKDTree(districts).query(pixels)[1]
figure, axes = plt.subplots(1, 3, figsize=(13, 4.8), sharey=True, layout="constrained")
norm = plt.Normalize(0.45, vaccinated.max())
for ax, (title, known) in zip(axes, values.items(), strict=True):
    image = np.asarray(known)[nearest].reshape(301, 301)
    picture = ax.imshow(image, origin="lower", extent=(0, 100, 0, 100), norm=norm)
    borders = {"show_points": False, "show_vertices": False, "line_width": 0.5}
    voronoi_plot_2d(Voronoi(districts), ax=ax, line_colors="0.8", **borders)
    ax.set(title=title, xlim=(0, 100), ylim=(0, 100), xlabel="km", aspect="equal")
axes[0].set_ylabel("km")
axes[1].set_label("thumbnail")
for ax in axes[1:]:
    ax.plot(*districts[best], "o", color="#d55e00", ms=14, mew=3, mfc="none", label="recommended")
    ax.plot(*districts[vaccinated.argmax()], "x", color="0.1", ms=9, mew=2, label="the best")
handles, labels = axes[1].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
figure.colorbar(picture, ax=axes, label="share vaccinated", shrink=0.8)
plt.show()

# %%
# No survey was about a single district. The overlaps of the two kinds of areas, and the learned
# similarity of neighbours, are enough to find one of the best: the recommended district is the
# second of 80, well above any area that was surveyed.
