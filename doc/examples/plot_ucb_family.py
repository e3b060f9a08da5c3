"""
What the arms teach each other
==============================

GP-UCB pulls an arm for its own sake, DAGP-UCB for what the pull tells about the arms that may be
the best. Two rules on the same function with the same noise, and a third one written in ten lines.
"""

# %%
# The function is a draw from a Gaussian process over 100 arms in [0, 1]; a pull has noise of
# variance 0.1.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from skgpb import DAGPUCBOptimizer, GPUCBOptimizer
from skgpb.acquisition.ucb import union_bound_beta
from skgpb.optimizers import BaseUCBOptimizer

arms = np.linspace(0, 1, 100)[:, None]
kernel, alpha = RBF(0.2), 0.1
f = GaussianProcessRegressor(kernel).sample_y(arms, random_state=2).ravel()


# %%
# A rule of one's own says what it maximises. Here exploration is weighted by a soft maximum of the
# posterior mean, and as large as that of GP-UCB.


class SoftmaxUCB(BaseUCBOptimizer):
    def acquisition(self, posterior):
        weights = np.exp(5.0 * (posterior.mean - posterior.mean.max()))
        uncertainty = posterior.reduction(weights / weights.sum())
        return posterior.mean + np.sqrt(self.exploration(posterior)) * uncertainty

    def theory_beta(self, t, n_arms):
        return union_bound_beta(t, n_arms, self.failure_probability)


# %%
# Thirty rounds each. The same seed gives every rule the same noise.


def play(cls):
    rng = np.random.default_rng(0)
    opt = cls(kernel, arms=arms, alpha=alpha)
    opt.run(lambda arm: f[arm.index] + np.sqrt(alpha) * rng.normal(), budget=30)
    return opt


optimizers = [play(cls) for cls in (GPUCBOptimizer, DAGPUCBOptimizer, SoftmaxUCB)]

# %%
# DAGP-UCB stops looking at regions that cannot hold the maximum any more, and is left uncertain
# about them. In the last panel: the regret that every rule has collected.

figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
for axis, opt, line in zip(axes.flat, optimizers, ("-", "--", "-."), strict=False):
    mean, std = opt.predict_arms(return_std=True)
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
# All three find the best arm. What differs is the price: GP-UCB went to see the left half of the
# arms as well and lost twice as much on the way. The others never learned what is there, only that
# the best arm is elsewhere.
