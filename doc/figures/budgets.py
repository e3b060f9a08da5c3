"""Three campaigns after thirty days."""

import numpy as np
from drawn import BLUE, GREEN, INK, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb import GPUCBOptimizer
from skgpb.optimizers.combinatorial import CombinatorialBandit

RESPONSES = {
    "search": lambda money: 100 * (1 - np.exp(-0.30 * np.maximum(money - 1, 0))),
    "social": lambda money: 80 * (1 - np.exp(-0.80 * np.maximum(money - 4, 0))),
    "video": lambda money: 60 * (1 - np.exp(-0.10 * money)),
}


def draw() -> Figure:
    rng = np.random.default_rng(0)
    amounts = np.arange(0, 21.0)
    campaign = GPUCBOptimizer(arms=amounts[:, None])
    bandit = CombinatorialBandit(
        [(name, campaign) for name in RESPONSES], budget=20, random_state=0
    )
    days = []
    for _ in range(30):
        division = bandit.ask()
        truth = [f(x) for f, x in zip(RESPONSES.values(), division.costs, strict=True)]
        clicks = np.array(truth) + 2.0 * rng.normal(size=3)
        bandit.tell(division, clicks)
        days.append((division.costs, clicks))
    spent, clicks = (np.array(each) for each in zip(*days, strict=True))
    best = bandit.recommend().costs
    mean, std = bandit.predict(np.tile(amounts[:, None], 3), return_std=True)
    fig, axes = pyplot.subplots(1, 3, figsize=(5.2, 2.6), sharex=True, sharey=True)
    for k, (ax, (name, response)) in enumerate(zip(axes, RESPONSES.items(), strict=True)):
        low, high = mean[:, k] - 2 * std[:, k], mean[:, k] + 2 * std[:, k]
        ax.fill_between(amounts, low, high, color=BLUE, alpha=0.25, lw=0)
        ax.plot(amounts, response(amounts), color=INK, lw=1.2)
        ax.plot(spent[:, k], clicks[:, k], "o", ms=3, color=ORANGE)
        ax.axvline(best[k], color=GREEN, lw=2)
        ax.set_title(f"{name}: {best[k]:.0f}")
        ax.set(xlim=(0, 20), ylim=(-10, 120), xlabel="money")
    axes[0].set_ylabel("clicks a day")
    return fig
