"""
Acquisition functions: GP-UCB, DAGP-UCB and one of your own
===========================================================

GP-UCB scores an arm by its own upper confidence bound, DAGP-UCB by what a pull tells about the arms
that may be the best. This example runs both on the same function with the same noise, together
with an acquisition function written in ten lines.
"""

# %%
# The function is a draw from a Gaussian process over 100 arms in [0, 1]; a pull has noise of
# variance 0.1.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from skgpb import DAGPUCBOptimizer, GPUCBOptimizer
from skgpb.optimizers import BaseUCBOptimizer

arms = np.linspace(0, 1, 100)[:, None]
kernel, alpha = RBF(0.2), 0.1
f = GaussianProcessRegressor(kernel).sample_y(arms, random_state=2).ravel()


# %%
# An acquisition function of your own returns a score for every arm. Here exploration is as large as
# that of GP-UCB, and weighted by a softmax of the posterior mean.


class SoftmaxUCB(BaseUCBOptimizer):
    def acquisition(self, posterior):
        weights = np.exp(5.0 * (posterior.mean - posterior.mean.max()))
        uncertainty = posterior.reduction(weights / weights.sum())
        return posterior.mean + np.sqrt(self.exploration(posterior)) * uncertainty

    def exploration(self, posterior):
        return 2.0 * np.log(posterior.t**2 * np.pi**2 * posterior.n_arms / (6.0 * 0.1))


# %%
# Thirty rounds each. The same seed gives every optimizer the same noise.


def play(cls):
    rng = np.random.default_rng(0)
    opt = cls(kernel, arms=arms, alpha=alpha)
    opt.run(lambda arm: f[arm.index] + np.sqrt(alpha) * rng.normal(), budget=30)
    return opt


optimizers = [play(cls) for cls in (GPUCBOptimizer, DAGPUCBOptimizer, SoftmaxUCB)]

# %%
# DAGP-UCB stops exploring regions that cannot contain the maximum, and stays uncertain
# about them. The last panel has the cumulative regret.

figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
for axis, opt, line in zip(axes.flat, optimizers, ("-", "--", "-."), strict=False):
    mean, std = opt.predict(arms, return_std=True)
    axis.plot(arms, f, ":", color="0.2", lw=2, label="f, unknown")
    axis.plot(arms, mean, label="posterior mean")
    axis.fill_between(arms[:, 0], mean - 2 * std, mean + 2 * std, alpha=0.2)
    pulled = opt.history_["descriptor"][:, 0]
    axis.plot(pulled, opt.history_["reward"], ".", color="0.2", label="rewards")
    axis.set(title=type(opt).__name__, xlabel="arm", ylabel="reward")
    regret = f.max() - np.interp(pulled, arms[:, 0], f)
    axes[1, 1].plot(np.arange(1, 31), regret.cumsum(), line, label=type(opt).__name__)
    print(f"{type(opt).__name__}: {regret.sum():.1f} lost in 30 rounds")
axes[0, 0].legend()
axes[1, 1].set(xlabel="round", ylabel="cumulative regret")
axes[1, 1].legend()
plt.show()

# %%
# All three find the best arm, but their regret differs. GP-UCB also explored the left half of the
# arms, and has twice the regret. The others only learned that the best arm is not there.
