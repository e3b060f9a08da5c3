"""Arms pulled by a rule over queries and targets, which here are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb.domains.cells import Cells
from skgpb.locks import locked
from skgpb.optimizers._arms import BaseArmsOptimizer
from skgpb.optimizers._targets import BaseTargetsOptimizer

# What it takes over from the optimizer whose rule it follows.
SHARED = (
    *("kernel", "alpha", "n_initial", "optimizer", "n_restarts_optimizer", "relearn"),
    *("normalize_y", "direction", "random_state", "bounds", "context_bounds"),
    *("B", "R", "misspecification", "failure_probability"),
)


class ArmsByRule(BaseArmsOptimizer):
    """Arms that are both what is asked and what is to be found.

    Parameters
    ----------
    rule : BaseTargetsOptimizer
        Its ``acquisition`` is followed.
    kernel, arms, bounds, context_bounds, alpha, n_initial, optimizer, n_restarts_optimizer
        As in every optimizer over arms.
    relearn, normalize_y, direction, random_state
        The same.
    """

    _parameter_constraints: dict[str, Any] = {"rule": [BaseTargetsOptimizer]}

    def __init__(
        self,
        rule: BaseTargetsOptimizer,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        alpha: float | None = None,
        B: float = 1.0,
        R: float | None = None,
        misspecification: float = 0.0,
        failure_probability: float = 0.1,
        n_candidates: int = 500,
        n_initial: int | None = None,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        direction: str = "maximize",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            arms=arms,
            bounds=bounds,
            context_bounds=context_bounds,
            alpha=alpha,
            B=B,
            R=R,
            misspecification=misspecification,
            failure_probability=failure_probability,
            n_candidates=n_candidates,
            n_initial=n_initial,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            relearn=relearn,
            normalize_y=normalize_y,
            direction=direction,
            random_state=random_state,
        )
        self.rule = rule

    @locked
    def acquisition(self, posterior: Any) -> np.ndarray:
        """Return what the rule says of all arms, which are its queries and its targets."""
        return self.rule.acquisition(posterior)


def over_arms(name: str, optimizer: Any) -> Any:
    """Return a campaign's optimizer; of one over queries that are rows, one over these as arms."""
    if not isinstance(optimizer, BaseTargetsOptimizer):
        return optimizer
    if optimizer.targets is not None or isinstance(optimizer.queries, Cells):
        raise ValueError(
            f"the optimizer of {name!r} must have no targets, and queries that are rows: what a "
            "budget is shared for are arms, that are pulled and found"
        )
    if optimizer.cost is not None:
        raise ValueError(f"the optimizer of {name!r} must have no cost: the bandit is given costs")
    if optimizer.relative_noise is not None or np.ndim(optimizer.alpha):
        raise ValueError(f"the optimizer of {name!r} must have one alpha for all arms")
    settings = {each: getattr(optimizer, each) for each in SHARED}
    return ArmsByRule(optimizer, arms=optimizer.queries, **settings)
