"""Who takes part in the suite: ours as it comes, variants of it, and what people use instead."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.methods import (
    CMAES,
    SMAC,
    BayBE,
    BayesianOptimization,
    BoTorch,
    Method,
    OptunaGP,
    OptunaTPE,
    Random,
    ScikitOptimize,
    Skgpb,
)
from skgpb import EIOptimizer, GPTSOptimizer, GPUCBOptimizer, MESOptimizer


class Told(Skgpb):
    """An optimizer that is told the bounds, and nothing else about the problem."""

    optimizer: type = GPUCBOptimizer
    settings: dict[str, Any] = {}

    def begin(self) -> None:
        """Pass the bounds and a seed."""
        bounds = [(0.0, 1.0)] * self.d
        self.opt: Any = self.optimizer(bounds=bounds, random_state=self.seed, **self.settings)


def told(name: str, optimizer: type, **settings: Any) -> tuple[str, type[Method]]:
    """Name and class of an optimizer with these parameters."""
    changed = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    label = f"{optimizer.__name__}({changed})"
    members = {"optimizer": optimizer, "settings": settings, "label": label}
    return name, type(name, (Told,), members)


#: By the name that ``--methods`` takes.
METHODS: dict[str, type[Method]] = {
    **dict(
        [
            told("ucb", GPUCBOptimizer),
            told("horizon", GPUCBOptimizer, horizon=100),
            told("simple", GPUCBOptimizer, regret="simple"),
            told("simple-horizon", GPUCBOptimizer, regret="simple", horizon=100),
            told("paper", GPUCBOptimizer, beta="theory", n_initial=0),
            told("beta2", GPUCBOptimizer, beta=2.0, n_initial=0),
            told("beta2-first", GPUCBOptimizer, beta=2.0, n_initial=10),
            told("beta4-first", GPUCBOptimizer, beta=4.0, n_initial=10),
            told("beta4-growing", GPUCBOptimizer, beta=4.0, n_initial=10, relearn="growing"),
            told("beta2-growing", GPUCBOptimizer, beta=2.0, n_initial=10, relearn="growing"),
            told("ei", EIOptimizer),
            told("ts", GPTSOptimizer),
            told("mes", MESOptimizer),
        ]
    ),
    "random": Random,
    "tpe": OptunaTPE,
    "cma-es": CMAES,
    "optuna-gp": OptunaGP,
    "botorch": BoTorch,
    "bayesian-optimization": BayesianOptimization,
    "scikit-optimize": ScikitOptimize,
    "smac": SMAC,
    "baybe": BayBE,
}
#: Methods that the suite compares unless told otherwise.
COMPARED = ("ucb", "ei", "paper", "random", "tpe", "cma-es", "botorch", "optuna-gp")
COMPARED += ("bayesian-optimization", "scikit-optimize")
