"""
Multi-fidelity: a cheap simulation and an expensive experiment
==============================================================

An experiment (high fidelity) costs 20, a simulation of it (low fidelity) 1. The simulation is
wrong, but it shows where little happens. A query is one of the two at some setting; the target is
the setting at which the experiment is best, see :doc:`/user_guide/multi_fidelity`.
"""

# %%
# Two functions
# -------------
# The last column of a row is the fidelity: 0 for the experiment, 1 for the simulation. The search
# knows neither function.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF

from skgpb import EIOptimizer, KGOptimizer
from skgpb.exceptions import ModelWarning
from skgpb.kernels import Tasks

x = np.linspace(0, 1, 101)


def experiment(x):
    """The usual test function of Forrester and others, upside down."""
    return -((6 * x - 2) ** 2) * np.sin(12 * x - 4) / 5


def simulator(x):
    """Half as high, with a trend and a shift of its own."""
    return 0.5 * experiment(x) - 2 * (x - 0.5) + 1


# %%
# The search
# ----------
# :class:`~skgpb.kernels.Tasks` turns a kernel over settings into a kernel over both functions,
# which share nine tenths of their variance. Targets are the settings of the experiment. A fidelity
# is a task with a cost.

rows = np.concatenate([np.column_stack([x, np.full(101, task)]) for task in (0, 1)])
cost = np.repeat([20.0, 1.0], 101)
noise = 0.05


def both(seed, max_cost):
    """Return an optimizer that used both fidelities, at a total cost of ``max_cost``."""
    rng = np.random.default_rng(seed)
    opt = KGOptimizer(
        Tasks(RBF(0.2)),
        queries=rows,
        targets=rows[:101],
        cost=cost,
        alpha=noise**2,
        normalize_y=True,
        random_state=seed,
    )

    def measured(query):
        setting, task = query.descriptor
        return float((simulator if task else experiment)(setting) + noise * rng.normal())

    with warnings.catch_warnings():
        # The kernel is given, not learned, and the answers of some runs contradict it.
        warnings.simplefilter("ignore", ModelWarning)
        opt.run(measured, max_cost=max_cost)
    return opt


def experiments_alone(seed, max_cost):
    """Return expected improvement with experiments alone, at the same cost."""
    rng = np.random.default_rng(seed)
    opt = EIOptimizer(
        RBF(0.2), arms=x[:, None], alpha=noise**2, n_initial=3, normalize_y=True, random_state=seed
    )
    opt.run(lambda arm: float(experiment(arm.points[0, 0]) + noise * rng.normal()), max_cost // 20)
    return opt


# %%
# Twenty runs at a total cost of 60, the cost of three experiments, and at 120.

top = experiment(x).max()
for name, search in {"both": both, "experiments alone": experiments_alone}.items():
    lost = []
    for seed in range(20):
        found = [search(seed, money).recommend().points[0, 0] for money in (60, 120)]
        lost.append(top - experiment(np.array(found)))
    mean, error = np.mean(lost, axis=0), np.std(lost, axis=0, ddof=1) / np.sqrt(20)
    after = [f"{m:.2f} ({e:.2f})" for m, e in zip(mean, error, strict=True)]
    print(f"{name}: {after[0]} below the best for 60, {after[1]} for 120")

# %%
# One run. The search asks the simulation first and most often, and then makes experiments where
# the simulation leaves the decision open.

opt = both(0, 120)
history, best = opt.history_, opt.recommend().points[0, 0]
figure, axes = plt.subplots(2, sharex=True, figsize=(7, 5.6), layout="constrained")
for ax, task, truth, title in (
    (axes[0], 1, simulator, "the simulator, 1 each"),
    (axes[1], 0, experiment, "the experiment, 20 each"),
):
    mean, std = opt.predict(np.column_stack([x, np.full(101, task)]), return_std=True)
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, alpha=0.25, lw=0)
    ax.plot(x, mean, label="posterior mean, two standard deviations")
    ax.plot(x, truth(x), ":", color="0.2", lw=2, label="the truth")
    told = history["descriptor"][:, 1] == task
    at, answers = history["descriptor"][told, 0], history["reward"][told]
    ax.plot(at, answers, "o", color="0.2", ms=5, label="asked")
    ax.set(title=f"{title}: asked {told.sum()} times", xlim=(0, 1))
axes[1].axvline(best, color="#d55e00", ls="--", label="recommended")
axes[1].set(xlabel="setting")
handles, labels = axes[1].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
axes[1].set_label("thumbnail")
plt.show()
