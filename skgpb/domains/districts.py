"""Sets of points with weights: districts with their people, polygons, groups of rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skgpb.domains.arms import Arm, ArmSet
from skgpb.utils import as_labels, check_numbers


class Districts:
    """Weighted averages over sets of points: districts with their people, polygons, groups.

    It says what can be asked, or what is to be found, to an optimizer that takes ``queries`` and
    ``targets``, such as :class:`~skgpb.KGOptimizer`. Who asks for one kind of district may look for
    the best of another: the covariances follow from those of f at the points
    (:class:`~skgpb.kernels.WeightedSum`), and these are learned unless a kernel is given.

    Parameters
    ----------
    points : array-like of shape (n_points, d)
        Where f is, towns or the points of a grid in a polygon. A point of several districts of one
        kind is there several times.
    names : array-like of shape (n_points,)
        Of which district each point is: texts or integers.
    weights : array-like of shape (n_points,), default=None
        By which points count in the average of their district, at least 0: people, areas. They are
        divided by their sum. None stands for equal ones.

    Attributes
    ----------
    labels : list
        The names of the districts, in the order in which they first occur.

    Examples
    --------
    Which ward is the best, if counties and larger regions answer?

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

    points: np.ndarray
    names: list
    labels: list
    #: For each district which points are its own, and their shares.
    members: list[tuple[np.ndarray, np.ndarray]]

    def __init__(self, points: Any, names: Any, weights: Any = None) -> None:
        self.points = np.array(check_numbers(points, "points"), dtype=np.float64)
        n = len(self.points)
        given = as_labels(names)
        if given.shape != (n,) or given.dtype.kind not in "iuU":
            raise ValueError(
                f"names of Districts must be a text or an integer for each of {n} points; got "
                f"{given.dtype.name} of shape {given.shape}"
            )
        self.names = given.tolist()
        self.weights: np.ndarray | None = None
        if weights is not None:
            self.weights = np.array(check_numbers(weights, "weights", ensure_2d=False), dtype=float)
            if self.weights.shape != (n,) or not (self.weights >= 0.0).all():
                raise ValueError(
                    f"weights of Districts must be a number >= 0 for each of {n} points; got "
                    f"{weights!r}"
                )
        self.labels = list(dict.fromkeys(self.names))
        self.members = []
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
        """What the points of all districts count, one district after the other."""
        return np.concatenate([share for _, share in self.members])


class District(Arm):
    """A district, immutable and hashable; its answer is ``weights @ f(points)``.

    Attributes
    ----------
    name : str or int
        What it is called.
    points : ndarray of shape (S, d)
        Its points.
    weights : ndarray of shape (S,)
        What they count in the average; their sum is 1.
    center : ndarray of shape (d,)
        Weighted average of its points.
    index : int
        Its number among the districts that can be asked, or are to be found.
    lower, upper : ndarray of shape (d,)
        Corners of the box around its points.
    descriptor, counts
        As an :class:`Arm` has them.
    """

    __slots__ = ("members", "name", "weights")

    arguments: ClassVar[tuple[str, ...]] = ("index", "descriptor", "name", "members", "weights")

    name: str | int
    members: np.ndarray
    weights: np.ndarray

    def __init__(
        self,
        index: int,
        descriptor: np.ndarray,
        name: str | int,
        members: np.ndarray,
        weights: np.ndarray,
    ) -> None:
        self.freeze(
            index=index,
            descriptor=descriptor,
            counts=None,
            name=name,
            members=members,
            weights=weights,
        )

    def find_points(self) -> np.ndarray:
        """Points of the district."""
        return self.members

    @property
    def lower(self) -> np.ndarray:
        """Lower corner of the box around its points, shape (d,)."""
        return self.members.min(axis=0)

    @property
    def upper(self) -> np.ndarray:
        """Upper corner of the box around its points, shape (d,)."""
        return self.members.max(axis=0)

    @property
    def center(self) -> np.ndarray:
        """Weighted average of its points, shape (d,)."""
        return self.descriptor[:-1]

    def describe(self) -> str:
        """Name."""
        return f"District({self.name!r}, index={self.index})"


class DistrictSet(ArmSet):
    """Finitely many districts; rows are [center, number], as ``WeightedSum`` has them.

    Parameters
    ----------
    districts : Districts
        What there is.
    bounds : ndarray of shape (d, 2)
        Box around all points.
    first : int
        Number of the first of them, as the kernel counts.
    """

    n_behind: ClassVar[int] = 1

    def __init__(self, districts: Districts, bounds: np.ndarray, first: int) -> None:
        centers = [share @ districts.points[own] for own, share in districts.members]
        numbers = first + np.arange(len(districts))
        super().__init__(np.column_stack([np.array(centers), numbers]), bounds)
        self.districts = districts

    def query_of(self, index: int, row: np.ndarray) -> District:
        """Return the district of a row."""
        own, share = self.districts.members[index]
        points = self.districts.points[own]
        return District(index, row, self.districts.labels[index], points, share.copy())

    def named_arm(self, name: str) -> Arm:
        """Return the district that is called so."""
        labels = self.districts.labels
        if name not in labels:
            shown = ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
            raise ValueError(f"there is no district {name!r} to be asked: they are {shown}")
        return self.arm(labels.index(name))

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Descriptor rows (n, d + 1) of values of f at points (n, d)."""
        return np.column_stack([points, np.full(len(points), -1.0)])

    def places_of(self, rows: np.ndarray) -> np.ndarray:
        """Points, or centres of districts (n, d), that rows describe."""
        return rows[:, :-1]
