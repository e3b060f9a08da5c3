"""Discs, balls and ellipses of sizes that the user names, wherever they lie in a box."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skgpb.domains.cells import Cells
from skgpb.domains.space import ParameterSpace


class Discs(Cells):
    """Discs or balls of one radius or of several radii, anywhere in the box.

    Pass it as ``queries`` or ``targets`` of an optimizer such as :class:`~skgpb.KGOptimizer`. An
    answer is the average over a disc (:class:`~skgpb.kernels.BallAverage`), represented by
    ``query.points``: 19 points in a plane.

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
            Names of its sides.
        name : str, default="Discs"
            Name of the parameter, for messages.
        """
        if space is not None and space.discrete:
            raise ValueError(f"{name} must not be Discs if bounds has integer or categorical sides")
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
