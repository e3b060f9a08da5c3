"""Discs, balls and ellipses of sizes that the user names, wherever they lie in a box."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.cells import Cells, FreeCells
from skgpb.domains.space import ParameterSpace
from skgpb.kernels.ball_average import points_in_balls


class Discs(Cells):
    """Discs of one radius or of several, or balls, wherever they lie in the box.

    It says what can be asked, or what is to be found, to an optimizer that takes ``queries`` and
    ``targets``, such as :class:`~skgpb.KGOptimizer`. An answer is the average over a disc
    (:class:`~skgpb.kernels.BallAverage`): over ``query.points``, of which there are 19 in a plane.

    Parameters
    ----------
    radii : float or dict, or a list of radii
        In units of ``bounds``: one number for all dimensions; a tuple of d numbers, or a dict by
        the names of the sides, for ellipses. A list has several. 0 stands for points.

    Examples
    --------
    >>> from skgpb import KGOptimizer
    >>> from skgpb.domains import Discs
    >>> def seen(disc):
    ...     return float(-((disc.points - [0.3, 0.6]) ** 2).sum(axis=1).mean())
    >>> opt = KGOptimizer(
    ...     queries=Discs([0.1, 0.2]), targets=Discs(0.1), bounds=[(0, 1)] * 2,
    ...     n_candidates=100, random_state=0,
    ... )
    >>> opt.run(seen, budget=15).x.center.round(1)
    array([0.3, 0.6])
    """

    arguments: ClassVar[tuple[str, ...]] = ("radii",)

    def __init__(self, radii: Any) -> None:
        super().__init__(radii)
        self.radii = radii

    def sides(
        self, bounds: np.ndarray, space: ParameterSpace | None, name: str = "Discs"
    ) -> np.ndarray:
        """Return the diameters (n_radii, d), or raise ValueError.

        Parameters
        ----------
        bounds : ndarray of shape (d, 2)
            The box.
        space : ParameterSpace or None
            What its sides are called.
        name : str, default="Discs"
            What errors call them.
        """
        if space is not None and space.discrete:
            raise ValueError(f"{name} must be no Discs where sides have separate values")
        radii, extent = super().sides(bounds, space, name), bounds[:, 1] - bounds[:, 0]
        if not (2.0 * radii <= extent).all():
            raise ValueError(
                f"radii of {name} must be no longer than half of the box, "
                f"{(0.5 * extent).tolist()}, got {self.radii!r}"
            )
        return 2.0 * radii

    def __repr__(self) -> str:
        return f"Discs({self.radii!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is Discs and repr(other) == repr(self)

    __hash__ = Cells.__hash__


class Disc(Arm):
    """A disc, a ball or an ellipse; a point where its radius is 0.

    Attributes
    ----------
    radius : ndarray of shape (d,)
        Half of its extent along each axis.
    points : ndarray of shape (S, d)
        Points that stand for it, whose average is the reward.
    index, descriptor, counts, lower, upper, center
        As an :class:`Arm` has them; the corners are those of the box around it.
    """

    __slots__ = ()

    @property
    def radius(self) -> np.ndarray:
        """Half of its extent along each axis, shape (d,)."""
        return 0.5 * (self.upper - self.lower)

    def find_points(self) -> np.ndarray:
        """Points that stand for it."""
        return points_in_balls(self.box[None]).points

    @property
    def box(self) -> np.ndarray:
        """Box [lower, upper] around it, shape (2 d,)."""
        return self.descriptor

    def describe(self) -> str:
        """Centre and radius."""
        radius = np.unique(self.radius)
        return f"Disc(center={self.center}, radius={radius[0] if len(radius) == 1 else radius})"


class OfDiscs:
    """Rows of boxes of which the discs inside are meant."""

    def query_of(self: Any, index: int, row: np.ndarray) -> Disc:
        """Return the disc that a row describes."""
        return Disc(index, row, self.counts).named(self.space)


class DiscSet(OfDiscs, ArmSet):
    """Finitely many discs; parameters as of :class:`ArmSet`."""


class FreeDiscs(OfDiscs, FreeCells):
    """Discs that stand for all of some radii; parameters as of :class:`FreeCells`."""

    kind = "radius of discs"
