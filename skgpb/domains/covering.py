r"""Coverings of the unit cube by balls, and the search for uncovered points.

A covering starts with one ball around the centre of the cube, with its diameter as radius. Balls
only ever shrink, to half their radius; a shrink that uncovers a point adds a ball of the first
radius, which covers everything again. Metrics differ in the search for the uncovered region.

References
----------
.. [Shekhar2018] S. Shekhar and T. Javidi, "Gaussian process bandits with adaptive
   discretization", Electronic Journal of Statistics 12, 2018. Algorithm 2 and Remark 14.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from math import sqrt
from typing import Any

import numpy as np

from skgpb._core._covering import Subdivision, largest_cell, overlapping, subtract

# Rounding: radii are diameter * 2**-k with k up to this, and centres are multiples of 2**-LEVELS:
# then every face is a float64 without rounding, and touching faces coincide.
LEVELS = 40
# Rounding: volumes are products of exact widths, each rounded once: equal ones agree within this
# factor.
VOLUME_TIE = 1e-12
# Rounding: clearances from Euclidean balls closer than this are tied.
CLEARANCE_TIE = 1e-9


class Covering(ABC):
    """Balls in the unit cube whose union, after every call, is the whole cube.

    Parameters
    ----------
    n_features : int
        d, the dimension of the cube.

    Attributes
    ----------
    diameter : float
        Diameter of the cube, the first radius of every ball.
    """

    #: Norm that defines a ball.
    metric: str

    def __init__(self, n_features: int, diameter: float) -> None:
        self.n_features = n_features
        self.diameter = diameter
        self._n = 0
        self._centers = np.empty((16, n_features))
        self._depth = np.zeros(16, dtype=np.intp)
        self._add(np.full(n_features, 0.5))

    def __len__(self) -> int:
        return self._n

    @property
    def centers(self) -> np.ndarray:
        """Centres of the balls, oldest first, shape (n_balls, d)."""
        return self._centers[: self._n].copy()

    def center(self, ball: int) -> np.ndarray:
        """Return the centre of a ball, shape (d,)."""
        return self._centers[ball].copy()

    @property
    def depth(self) -> np.ndarray:
        """Number of times that each ball was halved, shape (n_balls,)."""
        return self._depth[: self._n].copy()

    @property
    def radii(self) -> np.ndarray:
        """Radii ``diameter * 2**-depth``, shape (n_balls,)."""
        return self.diameter * 2.0 ** -self._depth[: self._n].astype(np.float64)

    @property
    def effort(self) -> int:
        """Number of boxes of the uncovered region; 0 for a covering without boxes."""
        return 0

    def shrink(self, ball: int) -> int | None:
        """Halve the radius of a ball, and add a ball if that leaves a point uncovered.

        Parameters
        ----------
        ball : int
            Index of the ball.

        Returns
        -------
        added : int or None
            Index of the new ball; None if no point was uncovered.

        Raises
        ------
        ValueError
            If the ball has been halved as often as float64 allows.
        """
        if not 0 <= ball < self._n:
            raise IndexError(f"ball {ball} of {self._n}")
        if self._depth[ball] >= LEVELS:
            raise ValueError(f"ball {ball} has been halved {LEVELS} times, it can be no smaller")
        self._depth[ball] += 1
        point = self._uncovered_after(ball)
        return None if point is None else self._add(point)

    def _add(self, center: np.ndarray) -> int:
        if self._n == len(self._centers):
            self._centers = np.concatenate([self._centers, np.empty_like(self._centers)])
            self._depth = np.concatenate([self._depth, np.zeros_like(self._depth)])
        self._centers[self._n] = center
        self._n += 1
        return self._n - 1

    @abstractmethod
    def _uncovered_after(self, ball: int) -> np.ndarray | None:
        """Return a point that halving ``ball`` uncovered; None if there is none."""


class ChebyshevCovering(Covering):
    """Covering by balls of the sup norm, which are boxes; exact in any dimension.

    The oracle returns the centre of the largest uncovered cell (by volume, ties lexicographic) of
    the grid in which the faces of all balls cut the cube. It never forms that grid, whose size is
    exponential in d. As long as nothing is uncovered, only the newest ball may be needed
    everywhere, so the covering keeps the region that all *others* leave uncovered, as a list of
    disjoint boxes. A shrinking ball adds the region that it alone covered, which is computed inside
    that ball only (Remark 14 of [Shekhar2018]_); then the part that the newest ball covers is
    removed.

    Examples
    --------
    >>> from skgpb.domains.covering import ChebyshevCovering
    >>> covering = ChebyshevCovering(1)
    >>> covering.shrink(0)  # [0, 1] around 0.5 still covers everything
    >>> covering.shrink(0)  # but [0.25, 0.75] does not
    1
    >>> covering.centers.ravel(), covering.radii
    (array([0.5  , 0.125]), array([0.25, 1.  ]))
    """

    metric = "chebyshev"

    def __init__(self, n_features: int) -> None:
        # Balls as boxes within the cube, and the number of balls with a face at each coordinate.
        self._boxes = np.empty((16, 2 * n_features))
        self._faces = [Faces() for _ in range(n_features)]
        super().__init__(n_features, 1.0)
        # Disjoint boxes [lower, upper] that all balls but the newest leave uncovered, (n, 2 d).
        self._region = np.repeat([0.0, 1.0], n_features)[None]
        self._newest = 0

    @property
    def effort(self) -> int:
        """Number of boxes that only the newest ball covers."""
        return len(self._region)

    def _box(self, center: np.ndarray, radius: float) -> np.ndarray:
        return np.clip(np.concatenate([center - radius, center + radius]), 0.0, 1.0)

    def _add(self, center: np.ndarray) -> int:
        ball = super()._add(center)
        if ball == len(self._boxes):
            self._boxes = np.concatenate([self._boxes, np.empty_like(self._boxes)])
        self._boxes[ball] = self._box(center, self.diameter)
        self._count_faces(self._boxes[ball], 1)
        return ball

    def _count_faces(self, box: np.ndarray, change: int) -> None:
        d = self.n_features
        for a, faces in enumerate(self._faces):
            faces.count(float(box[a]), change)
            faces.count(float(box[d + a]), change)

    def _uncovered_after(self, ball: int) -> np.ndarray | None:
        before = self._boxes[ball].copy()
        radius = self.diameter * 2.0 ** -float(self._depth[ball])
        self._boxes[ball] = self._box(self._centers[ball], radius)
        self._count_faces(before, -1)
        self._count_faces(self._boxes[ball], 1)
        if ball != self._newest:
            exposed = self._exclusive_region(ball, before)
            if not len(exposed):
                return None
            self._region = np.concatenate([self._region, exposed])
        newest = self._boxes[self._newest : self._newest + 1]
        if not len(subtract(self._region, newest, True)):
            return None
        self._region = subtract(self._region, newest)
        self._newest = self._n
        d = self.n_features
        cell = largest_cell(self._region, [faces.cuts for faces in self._faces], VOLUME_TIE)
        center = 0.5 * (cell[:d] + cell[d:])
        return np.round(center * 2.0**LEVELS) * 2.0**-LEVELS

    def _exclusive_region(self, ball: int, before: np.ndarray) -> np.ndarray:
        """Return the region that only ``ball`` covered before it was halved."""
        boxes = self._boxes[: self._n]
        near = overlapping(boxes, before)
        near = near[(near != ball) & (near != self._newest)]
        # Large balls first: they leave fewer pieces.
        near = near[np.argsort(self._depth[near], kind="stable")]
        return subtract(before[None], boxes[np.concatenate([[ball], near])])


class Faces:
    """Sorted distinct coordinates at which the balls cut one axis of the cube.

    Attributes
    ----------
    cuts : array of float
        The coordinates, 0 and 1 always among them.
    """

    def __init__(self) -> None:
        self.cuts: array[float] = array("d", [0.0, 1.0])
        self._counts = {0.0: 1, 1.0: 1}

    def __getstate__(self) -> dict[str, Any]:
        # An array of the standard library has no state that every format can write.
        return {"_counts": self._counts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, cuts=array("d", sorted(state["_counts"])))

    def count(self, face: float, change: int) -> None:
        """Add one face (+1) at a coordinate, or remove one (-1)."""
        count = self._counts.get(face, 0) + change
        if count == 0:
            del self._counts[face], self.cuts[bisect_left(self.cuts, face)]
            return
        if face not in self._counts:
            self.cuts.insert(bisect_left(self.cuts, face), face)
        self._counts[face] = count


class EuclideanCovering(Covering):
    """Covering by Euclidean balls, by subdivision to a tolerance.

    Cells of the dyadic grid (side 2^-level) are compared with the balls from coarse to fine, and
    cells inside one ball are dropped. The oracle returns the first cell centre that is in no ball;
    among several of one level, the one farthest from the balls (ties lexicographic). It stops at
    cells with a diagonal of ``2 * tolerance`` times the radius of the ball that shrank: every point
    of the cube is within ``tolerance`` times that radius of a ball.

    The work grows as (1 / tolerance)^d; in more than two dimensions prefer the sup norm.

    Parameters
    ----------
    n_features : int
        d, the dimension of the cube.
    tolerance : float, default=0.25
        In units of the radius of the ball that shrinks, in (0, 1].
    """

    metric = "euclidean"

    def __init__(self, n_features: int, tolerance: float = 0.25) -> None:
        if not 0.0 < tolerance <= 1.0:
            raise ValueError(f"tolerance must be in (0, 1], got {tolerance!r}")
        self.tolerance = tolerance
        super().__init__(n_features, sqrt(n_features))

    def _uncovered_after(self, ball: int) -> np.ndarray | None:
        d, centers, radii = self.n_features, self._centers[: self._n], self.radii
        center, before = centers[ball], 2.0 * radii[ball]
        # Points that lost their cover are in the old ball, and only balls that meet it can help.
        gap = np.linalg.norm(centers - center, axis=1) - radii - before
        near = np.flatnonzero(gap < 2.0 * CLEARANCE_TIE)
        # Large balls first: they decide most cells.
        near = near[np.argsort(-radii[near], kind="stable")]
        search = Subdivision(centers[near], radii[near], center, before, CLEARANCE_TIE)
        level = 0
        while True:
            bare, is_open = search.level(level)
            if len(bare):
                return self._farthest_point(bare, centers, radii)
            if not is_open or sqrt(d) * 2.0**-level <= self.tolerance * before:
                return None
            level += 1

    @staticmethod
    def _farthest_point(points: np.ndarray, centers: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return the point farthest from the balls, the lexicographically smallest of several."""
        clearance = np.full(len(points), np.inf)
        for center, radius in zip(centers, radii, strict=True):
            distance = np.linalg.norm(points - center, axis=1) - radius
            np.minimum(clearance, distance, out=clearance)
        ties = points[clearance >= clearance.max() - CLEARANCE_TIE]
        return ties[np.lexsort(ties.T[::-1])[0]]
