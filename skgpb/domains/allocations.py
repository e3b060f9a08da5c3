"""The queries of the combinatorial bandits: one arm for each campaign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.first_design import first_points, in_sides, next_place
from skgpb.domains.query import PointsQuery, Query, with_fields
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
        Their rows in the arms of the campaigns.
    costs : ndarray of shape (n_campaigns,)
        Cost of each arm.
    cost : float
        Total cost.
    points : ndarray of shape (1, n_features)
        The centres of the arms side by side, a row as ``predict`` takes it; ``np.asarray``
        gives it too.
    """

    arms: tuple[Arm, ...]
    costs: NDArray[np.float64]

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

    @property
    def box(self) -> np.ndarray:
        """Lower corners of the arms side by side, then upper ones."""
        lower = [arm.lower for arm in self.arms]
        return np.concatenate(lower + [arm.upper for arm in self.arms])

    def __hash__(self) -> int:
        return hash((self.arms, self.costs.tobytes()))

    def describe(self) -> str:
        """Rows and costs."""
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
        Whether points cost what they are, so that the cost of points that are no arms is known.
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
        """Return the query that has the chosen arm of each campaign."""
        arms = (arms.arm(int(k)) for arms, k in zip(self.campaigns, choice, strict=True))
        costs = [cost[k] for cost, k in zip(self.costs, choice, strict=True)]
        return Allocation(tuple(arms), np.array(costs)).named(self.space)

    def first_allocation(
        self,
        n: int,
        known: np.ndarray,
        failed: np.ndarray,
        seed: int,
        best: Callable[[np.ndarray], np.ndarray],
    ) -> Allocation | None:
        """Return, of n random affordable allocations, the one farthest from the known ones.

        They are those nearest to points that fill the space of all arms, whatever these cost.

        Parameters
        ----------
        n : int
            Number of allocations.
        known, failed : ndarray of shape (m, n_features)
            Centres of arms that were played, or in vain, side by side.
        seed : int
            Seeds the points.
        best : callable
            Takes values of all arms, end to end, (n, n_arms), and returns the choices within the
            budget of the largest sums, (n, n_campaigns).

        Returns
        -------
        allocation : Allocation or None
            None if the known allocations already fill the space.
        """
        bounds = np.concatenate([arms.bounds for arms in self.campaigns])
        targets = self.columns(in_sides(first_points(bounds, n, seed, len(failed)), bounds))
        values = [
            -cdist(target, in_sides(arms.places_of(arms.rows), arms.bounds), "sqeuclidean")
            for arms, target in zip(self.campaigns, targets, strict=True)
        ]
        choices = best(np.concatenate(values, axis=1))
        allocations = [self.allocation(choice) for choice in choices]
        places = np.concatenate([each.points for each in allocations])
        number = next_place(places, n, known, failed, bounds)
        return None if number is None else allocations[number]

    def columns(self, X: np.ndarray) -> list[np.ndarray]:
        """Columns of X (n, n_features) that belong to each campaign."""
        widths = [len(arms.bounds) for arms in self.campaigns]
        return np.split(X, np.cumsum(widths)[:-1], axis=1)

    def parts_of(self, query: Allocation | PointsQuery) -> list[Arm | PointsQuery]:
        """Return what each campaign plays."""
        if isinstance(query, Allocation):
            return list(query.arms)
        return [PointsQuery(part.copy()) for part in self.columns(query.points)]

    def resolve(self, query: Allocation) -> None:
        """Raise ValueError unless a query is one of the allocations, whatever it costs."""
        if len(query.arms) != len(self.campaigns):
            raise ValueError(
                f"{query} has {len(query.arms)} campaigns, expected {len(self.campaigns)}"
            )
        for arms, arm in zip(self.campaigns, query.arms, strict=True):
            arms.resolve(arm)

    def slots_of(self, query: Allocation | PointsQuery) -> NDArray[np.intp]:
        """Return the indices of the arms, -1 for unknown arms, shape (n_campaigns,)."""
        pairs = zip(self.campaigns, self.parts_of(query), strict=True)
        return np.array([arms.slot_of(part) for arms, part in pairs], dtype=np.intp)

    def cost_of(self, query: Allocation | PointsQuery) -> float:
        """Cost of a query, NaN where it is not known."""
        total = 0.0
        parts = zip(self.costs, self.slots_of(query), self.parts_of(query), strict=True)
        for costs, slot, part in parts:
            if slot >= 0:
                total += costs[slot]
            else:
                total += float(part.points[0, 0]) if self.priced else np.nan
        return total
