"""
A malaria hot spot from averages over districts
===============================================

Surveys report how many people of a district fell ill, but not where in the district they live.
Which place has the highest incidence? Districts are irregular, and people live only in some parts
of them. The weights of the average over a district are therefore *learned* from a register of
household locations.
"""

# %%
# A country
# ---------
# Sixty districts, 200 km across. Incidence is raised along a river and highest around a lake, whose
# shores belong to several districts. Households live in villages.

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import Voronoi, cKDTree, voronoi_plot_2d

from skgpb import CMESOptimizer, IndirectEIOptimizer
from skgpb.feedback import from_rate, to_rate

rng = np.random.default_rng(5)
seats = rng.uniform(0, 200, size=(60, 2))
nearest_seat = cKDTree(seats).query  # a place belongs to the district whose seat is nearest

villages = rng.uniform(0, 200, size=(260, 2))
homes = villages[rng.choice(260, p=rng.dirichlet(np.ones(260)), size=40_000)]
homes = np.clip(homes + rng.normal(scale=3, size=homes.shape), 0, 200)
district = nearest_seat(homes)[1]


def incidence(places):
    """Cases per person and year at places (n, 2), unknown to the search."""
    x, y = places.T
    river = np.exp(-0.5 * ((y - 60 - 25 * np.sin(x / 35)) / 14) ** 2)
    lake = np.exp(-0.5 * (((x - 142) / 20) ** 2 + ((y - 128) / 20) ** 2))
    return 0.03 + 0.06 * river + 0.25 * lake


# %%
# The register and the surveys
# ----------------------------
# The register lists 800 of the 40,000 households, each with its location and the seat of its
# district. A query is a district, given by its seat. A survey follows 4,000 people from all over
# the district for a year and counts how many fall ill.
# :func:`~skgpb.feedback.from_rate` takes a square root of the count, whose noise is the same for
# rare and for frequent illness.

listed = rng.choice(len(homes), size=800, replace=False)
locations, their_seats = homes[listed], seats[district[listed]]
n_people = 4000


def survey(query, rng):
    """Return the result of a survey in a district: the square root of cases per person."""
    number = nearest_seat(query.a)[1]
    people = rng.choice(np.flatnonzero(district == number), size=n_people)
    return from_rate(rng.poisson(incidence(homes[people])).sum(), exposure=n_people)


# %%
# The search
# ----------
# Forty surveys, each in a district that the search chooses. ``fit`` learns where people of a
# district live, and estimates the error of that.


def search(cls, seed):
    """Return an optimizer after forty surveys."""
    rng = np.random.default_rng(seed)
    opt = cls(
        bounds=[(0, 200), (0, 200)],
        queries=seats[np.unique(district[listed])],
        alpha=from_rate(0, exposure=n_people).alpha,  # the same for every survey
        relearn="doubling",
        random_state=seed,
    ).fit(locations, queries=their_seats)
    opt.run(lambda query: survey(query, rng).reward, budget=40)
    return opt


cmes = [search(CMESOptimizer, seed) for seed in range(4)]
ei = [search(IndirectEIOptimizer, seed) for seed in range(4)]

# %%
# The distance from the hot spot to the recommendation, and to the seat of the district with the
# highest answer:

grid = np.stack(np.meshgrid(*2 * [np.linspace(0, 200, 101)]), axis=-1).reshape(-1, 2)
truth = incidence(grid)
hot_spot = grid[truth.argmax()]


def distances(places):
    return [round(float(np.hypot(*(place - hot_spot)))) for place in places]


seats_of_worst = [opt.history_["a"][opt.history_["reward"].argmax()] for opt in cmes]
print(f"hot spot at {hot_spot}, incidence {truth.max():.2f}; kilometres away, in four runs:")
print("CMES:", distances(opt.recommend() for opt in cmes))
print("EI:", distances(opt.recommend() for opt in ei))
print("seat of the district with the highest answer:", distances(seats_of_worst))

# %%
# On the left the surveys of the first run, with the register as dots; districts that were
# not surveyed are white. In the middle the posterior mean, on the right the truth.

opt = cmes[0]
told = np.full(len(seats), np.nan)
told[nearest_seat(opt.history_["a"])[1]] = to_rate(opt.history_["reward"]).value
images = {
    f"{np.isfinite(told).sum()} districts surveyed": told[nearest_seat(grid)[1]],
    "believed of places": to_rate(opt.predict(grid)).value,
    "the truth, unknown": truth,
}
figure, axes = plt.subplots(1, 3, figsize=(13, 5), sharey=True, layout="constrained")
axes[1].set_label("thumbnail")
norm = plt.Normalize(0, truth.max())
for ax, (title, image) in zip(axes, images.items(), strict=True):
    borders = {"show_points": False, "show_vertices": False, "line_width": 0.6}
    voronoi_plot_2d(Voronoi(seats), ax=ax, line_colors="0.6", **borders)
    extent = (0, 200, 0, 200)
    picture = ax.imshow(image.reshape(101, 101), origin="lower", extent=extent, norm=norm)
    ax.set(title=title, xlabel="km", xlim=(0, 200), ylim=(0, 200), aspect="equal")
axes[0].set_ylabel("km")
axes[0].plot(*locations.T, ".", ms=2, color="0.3", label="household in the register")
axes[0].plot([], [], color="0.6", lw=0.6, label="border of a district")
for ax in axes[1:]:
    found = {"color": "#d55e00", "ms": 16, "mew": 3, "label": "recommended"}
    ax.plot(*opt.recommend(), "+", **found)
    ax.plot(*hot_spot, "x", color="0.1", ms=9, mew=2, label="the hot spot")
handles = {h.get_label(): h for ax in axes for h in ax.get_legend_handles_labels()[0]}
style = {"loc": "outside lower center", "ncols": 4, "frameon": False}
figure.legend(handles=list(handles.values()), **style)
figure.colorbar(picture, ax=axes, label="cases per person and year", shrink=0.8)
plt.show()

# %%
# No survey says where in its district people fell ill, and the shores of the lake belong to several
# districts. The averages and the register together locate the hot spot: the picture in the
# middle is finer than the districts. The printed distances also show that a single run may be
# misled, as one of the four was; so would be the choice of the district with its highest answer.
