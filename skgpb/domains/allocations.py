"""Queries of the combinatorial bandits: one arm for each campaign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from skgpb.domains.arms import Arm, ArmSet, PointsQuery, Query, with_fields
from skgpb.domains.first_design import first_points, next_place, to_unit_cube
from skgpb.domains.space import ParameterSpace, Span
from skgpb.utils.validation import box_around

__all__ = ["Allocation"]


@with_fields
class Allocation(Query):
    """One arm for each campaign, immutable and hashable.

    Attributes
    ----------
    arms : tuple of n_campaigns Arm
        The arm of each campaign.
    indices : tuple of n_campaigns int
        Indices of these arms in the sets of the campaigns.
    costs : ndarray of shape (n_campaigns,)
        Cost of each arm.
    cost : float
        Total cost.
    points : ndarray of shape (1, n_features)
        The centres of the arms side by side, a row for ``predict``; also the result of
        ``np.asarray``.
    """

    arms: tuple[Arm, ...]
    costs: NDArray[np.float64]

    @property
    def indices(self) -> tuple[int, ...]:
        """Indices of the arms in the sets of the campaigns."""
        return tuple(arm.index for arm in self.arms)

    @property
    def cost(self) -> float:
        """Total cost."""
        return float(self.costs.sum())

    def find_points(self) -> np.ndarray:
        """Return the centres of the arms side by side."""
        return np.concatenate([arm.center for arm in self.arms])[np.newaxis]

    @property
    def box(self) -> np.ndarray:
        """Lower corners of the arms side by side, followed by the upper ones."""
        lower = [arm.lower for arm in self.arms]
        return np.concatenate(lower + [arm.upper for arm in self.arms])

    def __hash__(self) -> int:
        return hash((self.arms, self.costs.tobytes()))

    def describe(self) -> str:
        """Return indices and costs as text."""
        return f"Allocation(indices={self.indices}, costs={self.costs})"


@dataclass(eq=False, repr=False)
class AllocationSet:
    """The set of allocations, one arm for each campaign, with their costs.

    Parameters
    ----------
    campaigns : sequence of ArmSet
        The arms of each campaign.
    costs : sequence of ndarrays of shape (n_arms_i,)
        Cost of each arm.
    priced : bool, default=False
        Whether the first coordinate of a point is its cost, so that points outside the sets have a
        known cost.
    names : sequence of str, default=None
        Names of the campaigns; None if they have none.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains.allocations import AllocationSet
    >>> from skgpb.domains.arms import ArmSet
    >>> budgets = ArmSet(np.array([[0.0], [1.0]]), bounds=np.array([[0.0, 1.0]]))
    >>> both = AllocationSet([budgets, budgets], costs=[np.array([0.0, 1.0])] * 2)
    >>> both.allocation([0, 1])
    Allocation(indices=(0, 1), costs=[0. 1.])
    """

    campaigns: Sequence[ArmSet]
    costs: Sequence[NDArray[np.float64]]
    priced: bool = False
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Name the columns of all arms, where campaigns have names."""
        axes: dict[str, Span] = {}
        for name, arms in zip(self.names or (), self.campaigns, strict=False):
            sides = box_around(arms.bounds.T)
            for i, limits in enumerate(sides):
                side = name if len(sides) == 1 else f"{name}_{i}"
                if side in axes:
                    raise ValueError(f"two columns of the arms have the name {side!r}")
                axes[side] = Span(side, limits)
        #: Names of the columns of all arms; None if campaigns have none.
        self.space: ParameterSpace | None = ParameterSpace.from_axes(axes) if axes else None

    def allocation(self, choice: Sequence[int] | NDArray[np.intp]) -> Allocation:
        """Return the query with the chosen arm of each campaign."""
        arms = (arms.arm(int(k)) for arms, k in zip(self.campaigns, choice, strict=True))
        costs = [cost[k] for cost, k in zip(self.costs, choice, strict=True)]
        return Allocation(tuple(arms), np.array(costs)).with_names(self.space)

    def first_allocation(
        self,
        n: int,
        known: np.ndarray,
        failed: np.ndarray,
        seed: int,
        best: Callable[[np.ndarray], np.ndarray],
    ) -> Allocation | None:
        """Return the one of n random affordable allocations farthest from the evaluated ones.

        The n allocations are the nearest to points that fill the space of all arms evenly,
        regardless of cost.

        Parameters
        ----------
        n : int
            Number of allocations.
        known, failed : ndarray of shape (m, n_features)
            Centres of evaluated arms, and of failed ones, side by side.
        seed : int
            Seeds the points.
        best : callable
            Takes values of all arms, concatenated, (n, n_arms), and returns the choices with the
            largest sums within the budget, (n, n_campaigns).

        Returns
        -------
        allocation : Allocation or None
            None if the evaluated allocations already fill the space.
        """
        bounds = np.concatenate([arms.bounds for arms in self.campaigns])
        targets = self.columns(to_unit_cube(first_points(bounds, n, seed, len(failed)), bounds))
        values = [
            -cdist(target, to_unit_cube(arms.places_of(arms.rows), arms.bounds), "sqeuclidean")
            for arms, target in zip(self.campaigns, targets, strict=True)
        ]
        choices = best(np.concatenate(values, axis=1))
        allocations = [self.allocation(choice) for choice in choices]
        places = np.concatenate([each.points for each in allocations])
        number = next_place(places, n, known, failed, bounds)
        return None if number is None else allocations[number]

    def columns(self, X: np.ndarray) -> list[np.ndarray]:
        """Return the columns of X (n, n_features) for each campaign."""
        widths = [len(arms.bounds) for arms in self.campaigns]
        return np.split(X, np.cumsum(widths)[:-1], axis=1)

    def parts_of(self, query: Allocation | PointsQuery) -> list[Arm | PointsQuery]:
        """Return the query of each campaign."""
        if isinstance(query, Allocation):
            return list(query.arms)
        return [PointsQuery(part.copy()) for part in self.columns(query.points)]

    def resolve(self, query: Allocation) -> None:
        """Raise ValueError unless a query is one of the allocations, with any costs."""
        if len(query.arms) != len(self.campaigns):
            raise ValueError(
                f"{query} has {len(query.arms)} campaigns, expected {len(self.campaigns)}"
            )
        for arms, arm in zip(self.campaigns, query.arms, strict=True):
            arms.resolve(arm)

    def slots_of(self, query: Allocation | PointsQuery) -> NDArray[np.intp]:
        """Return the indices of the arms (n_campaigns,), -1 for unknown arms."""
        pairs = zip(self.campaigns, self.parts_of(query), strict=True)
        return np.array([arms.slot_of(part) for arms, part in pairs], dtype=np.intp)

    def cost_of(self, query: Allocation | PointsQuery) -> float:
        """Return the cost of a query, NaN if it is unknown."""
        total = 0.0
        parts = zip(self.costs, self.slots_of(query), self.parts_of(query), strict=True)
        for costs, slot, part in parts:
            if slot >= 0:
                total += costs[slot]
            else:
                total += float(part.points[0, 0]) if self.priced else np.nan
        return total
