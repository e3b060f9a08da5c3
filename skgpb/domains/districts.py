"""Sets of points with weights: districts with their people, polygons, groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from skgpb.domains.arms import ArmSet, Layout
from skgpb.utils.typing import Points, SupportsArray, Values
from skgpb.utils.validation import as_labels, check_numbers

__all__ = ["Districts"]


class Districts:
    """Weighted averages over sets of points: districts with their people, polygons, groups.

    Pass it as ``queries`` or ``targets`` of an optimizer such as :class:`~skgpb.KGOptimizer`.
    Queries and targets may be different districts: their covariances follow from the kernel of f
    over the points (:class:`~skgpb.kernels.WeightedSum`), which is learned unless you pass one.

    Parameters
    ----------
    points : array-like of shape (n_points, d)
        Points on which f is defined: towns, or grid points in a polygon. A point in several
        districts of the same set is repeated.
    names : array-like of shape (n_points,)
        The district of each point: texts or integers.
    weights : array-like of shape (n_points,), default=None
        Weights of the points in the average of their district, at least 0, such as people or areas.
        They are divided by their sum. None stands for equal weights.

    Attributes
    ----------
    labels : list
        Names of the districts, in the order in which they first occur.

    Examples
    --------
    Find the best ward from the answers of counties and larger regions:

    >>> import numpy as np
    >>> from skgpb import KGOptimizer
    >>> from skgpb.domains import Districts
    >>> towns, people = np.arange(12.0)[:, None], np.tile([1.0, 2.0, 3.0], 4)
    >>> county, region = np.repeat(["A", "B", "C", "D"], 3), np.repeat(["I", "II", "III"], 4)
    >>> ward = np.repeat(range(6), 2)
    >>> def survey(area):
    ...     return float(area.weights @ np.sin(area.points[:, 0] / 4))
    >>> opt = KGOptimizer(
    ...     queries=Districts([*towns, *towns], [*county, *region], [*people, *people]),
    ...     targets=Districts(towns, ward, people),
    ...     random_state=0,
    ... )
    >>> opt.run(survey, budget=10).x.name  # of towns 6 and 7
    3
    """

    #: Names of the constructor's arguments, for files.
    arguments: ClassVar[tuple[str, ...]] = ("points", "names", "weights")

    def __init__(
        self,
        points: Points,
        names: Sequence[str] | Sequence[int] | SupportsArray,
        weights: Values | None = None,
    ) -> None:
        self.points: np.ndarray = np.array(check_numbers(points, "points"), dtype=np.float64)
        n = len(self.points)
        given = as_labels(names)
        if given.shape != (n,) or given.dtype.kind not in "iuU":
            raise ValueError(
                f"names of Districts must be a text or an integer for each of {n} points; got "
                f"{given.dtype.name} of shape {given.shape}"
            )
        self.names: list[Any] = given.tolist()
        self.weights: np.ndarray | None = None
        if weights is not None:
            self.weights = np.array(check_numbers(weights, "weights", ensure_2d=False), dtype=float)
            if self.weights.shape != (n,) or not (self.weights >= 0.0).all():
                raise ValueError(
                    f"weights of Districts must be a number >= 0 for each of {n} points; got "
                    f"{weights!r}"
                )
        self.labels: list[Any] = list(dict.fromkeys(self.names))
        #: Indices of the points of each district, and their weights, with sum 1.
        self.members: list[tuple[np.ndarray, np.ndarray]] = []
        for label in self.labels:
            own = np.flatnonzero(given == label)
            share = np.ones(len(own)) if self.weights is None else self.weights[own]
            if not share.sum() > 0.0:
                raise ValueError(f"weights of Districts must not all be 0, as those of {label!r}")
            self.members.append((own, share / share.sum()))

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"<Districts: {len(self)} of {len(self.points)} points>"

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Districts
            and np.array_equal(self.points, other.points)
            and self.names == other.names
            and np.array_equal(self.shares, other.shares)
        )

    def __hash__(self) -> int:
        return hash((self.points.tobytes(), tuple(self.names)))

    @property
    def shares(self) -> np.ndarray:
        """Weights of the points of all districts, one district after the other."""
        return np.concatenate([share for _, share in self.members])

    def as_set(self, bounds: np.ndarray, first: int) -> ArmSet:
        """Return the districts as a set, with rows [center, index] for ``WeightedSum``.

        Parameters
        ----------
        bounds : ndarray of shape (d, 2)
            Box around all points.
        first : int
            Index of the first district in the kernel.
        """
        centers = [share @ self.points[own] for own, share in self.members]
        rows = np.column_stack([np.array(centers), first + np.arange(len(self))])
        members = [(self.points[own], share.copy()) for own, share in self.members]
        layout = Layout(len(bounds), task_column=-1.0)
        return ArmSet(rows, bounds, layout, names=self.labels, members=members)
