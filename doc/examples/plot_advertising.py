"""
Split an advertising budget
===========================

Three campaigns share a daily budget of 20. Each responds to money in its own, unknown way: no
clicks below a threshold, then fewer and fewer additional clicks. Every day we choose a split and
see the clicks of each campaign. :class:`~skgpb.CombinatorialBandit` learns the three responses
while it spends the budget.
"""

# %%
# The problem
# -----------
# A campaign can get 0, 1, ..., 20. Only the problem knows the best split.

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from skgpb import DAGPUCBOptimizer
from skgpb.feedback import from_rate
from skgpb.optimizers import GPTSOptimizer, GPUCBOptimizer
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.problems import AdvertisingBudget
from skgpb.problems.simulation import simulate

problem = AdvertisingBudget()
print(f"best split: {problem.best_allocation}, {problem.optimum:.1f} clicks a day")

# %%
# Thirty days
# -----------
# Every campaign has its own optimizer, with the budgets as arms. The kernel says what is known of
# such campaigns: there are up to about a hundred clicks, and they change over about eight units of
# money. They do not change smoothly, because there are none below a threshold. A smooth kernel
# (RBF) would be too certain of values that it has not seen.
#
# Clicks are counts, so a day with many clicks has more noise than a day with few.
# :func:`~skgpb.feedback.from_rate` computes the noise variance. The clicks themselves are told
# (``stabilize=False``), because we maximise their sum.

kernel = ConstantKernel(80.0**2) * Matern(8.0, nu=1.5)
campaign = DAGPUCBOptimizer(kernel, arms=problem.arms, alpha=60.0)  # variance of sixty clicks
bandit = CombinatorialBandit(
    [("search", campaign), ("social", campaign), ("video", campaign)],
    budget=problem.budget,
    random_state=0,
)
rng = np.random.default_rng(0)
for _ in range(30):
    split = bandit.ask()
    clicks = rng.poisson(problem.clicks(split.costs))
    bandit.tell(split, *from_rate(clicks, stabilize=False))

best = bandit.recommend()
mean, std = bandit.predict(best.points, return_std=True)
print(
    f"recommended: {best.costs}, {mean.sum():.1f} clicks expected, "
    f"give or take {np.sqrt((std**2).sum()):.1f}"
)
print(f"its true value is {problem.value(best):.1f} clicks")

# %%
# The bands show what was learned: each response is known to a few clicks where it matters for the
# split, and hardly elsewhere. It was not necessary to give one campaign the whole budget.

import matplotlib.pyplot as plt

budgets = problem.arms[:, 0]
history = bandit.history_
truth = np.array([problem.clicks([x] * 3) for x in budgets])
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
for i, (axis, (name, optimizer)) in enumerate(
    zip(axes, bandit.named_optimizers_.items(), strict=True)
):
    mean, std = optimizer.predict(problem.arms, return_std=True)
    axis.fill_between(budgets, mean - 2 * std, mean + 2 * std, alpha=0.25, lw=0)
    axis.plot(budgets, mean, label="posterior mean, two standard deviations")
    axis.plot(budgets, truth[:, i], ":", color="0.2", lw=2, label="true response")
    asked, seen = history["descriptor"][:, i], history["reward"][:, i]
    axis.plot(asked, seen, "o", ms=4, color="0.2", label="observed")
    axis.axvline(best.costs[i], color="#d55e00", ls="--", label="recommended budget")
    axis.set(title=name, xlabel="budget", xlim=(0, 20))
axes[0].set_ylabel("clicks")
handles, labels = axes[0].get_legend_handles_labels()
fig.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
plt.show()

# %%
# Which acquisition function has the smallest regret?
# ---------------------------------------------------
# Any optimizer over finite arms is a policy. :func:`~skgpb.problems.simulation.simulate` plays
# several of them against the same noise. The regret counts the clicks lost to learning.

rules = {"DAGP-UCB": DAGPUCBOptimizer, "GP-TS": GPTSOptimizer, "GP-UCB": GPUCBOptimizer}
policies = {
    name: CombinatorialBandit(
        [rule(kernel, arms=problem.arms, alpha=problem.noise_variance)] * 3,
        problem.budget,
    )
    for name, rule in rules.items()
}
result = simulate(policies, problem, n_rounds=50, n_runs=5, random_state=0)

fig, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, regret), line in zip(result.regret.items(), ("-", "--", "-."), strict=True):
    axis.plot(np.arange(1, 51), regret[0].mean(axis=0), line, label=name)
    print(f"{name}: {regret[0, :, -1].mean():.0f} clicks lost in 50 days")
axis.set(
    title="Clicks lost to learning, mean of five runs",
    xlabel="day",
    ylabel="cumulative regret in clicks",
    xlim=(1, 50),
    ylim=(0, None),
)
axis.legend(frameon=False)
plt.show()
