"""The query of the combinatorial bandits: one arm for each campaign."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skgpb.domains.arms import Arm
from skgpb.domains.query import Query


class Allocation(Query):
    """One arm for each campaign, immutable and hashable.

    Attributes
    ----------
    arms : tuple of n_campaigns Arm
        The arm of each campaign.
    indices : tuple of n_campaigns int
        Their rows in the arms of the campaigns.
    costs : ndarray of shape (n_campaigns,)
        What each costs.
    cost : float
        What they cost together.
    points : ndarray of shape (1, n_features)
        The centres of the arms side by side, a row as ``predict`` takes it; ``np.asarray``
        gives it too.
    """

    __slots__ = ("arms", "costs")

    arguments = ("arms", "costs")

    arms: tuple[Arm, ...]
    costs: NDArray[np.float64]

    def __init__(self, arms: tuple[Arm, ...], costs: NDArray[np.float64]) -> None:
        self.freeze(arms=arms, costs=costs)

    @property
    def indices(self) -> tuple[int, ...]:
        """Rows in the arms of the campaigns."""
        return tuple(arm.index for arm in self.arms)

    @property
    def cost(self) -> float:
        """Total cost."""
        return float(self.costs.sum())

    def find_points(self) -> np.ndarray:
        """Centres of the arms side by side."""
        return np.concatenate([arm.center for arm in self.arms])[np.newaxis]

    def __repr__(self) -> str:
        return f"Allocation(indices={self.indices}, costs={self.costs})"
