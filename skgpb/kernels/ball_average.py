"""Feedback that averages f over a disc, a ball or an ellipse."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb.kernels._boxes import PointSet, corners
from skgpb.kernels._cell import CellKernel
from skgpb.utils import check_size


@functools.lru_cache(maxsize=32)
def unit_ball(d: int) -> np.ndarray:
    """Points (S, d) that stand for the unit ball; their average is exact for cubic polynomials.

    In one dimension the middles of ten parts, in two a centre, 6 points around it and 12 around
    these, beyond the centre and two points on every axis.
    """
    if d == 1:
        points = (np.arange(10.0)[:, None] + 0.5) / 5.0 - 1.0
    elif d == 2:
        # As much of the area for each point; rings where the annuli have their mean square.
        rings = [
            np.sqrt((inner + outer) / 38.0) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
            for inner, outer in ((1, 7), (7, 19))
            for angles in [2.0 * np.pi * (np.arange(outer - inner) + 0.5) / (outer - inner)]
        ]
        points = np.concatenate([np.zeros((1, 2)), *rings])
    else:
        points = np.concatenate([np.zeros((1, d)), np.eye(d), -np.eye(d)])
    # The mean square of a coordinate over the ball is 1 / (d + 2).
    points *= np.sqrt(1.0 / (d + 2) / np.mean(points[:, 0] ** 2))
    points.flags.writeable = False
    return points


def points_in_balls(boxes: np.ndarray, n_context: int = 0) -> PointSet:
    """Return the quadrature points of balls inscribed in boxes (n, 2 d); one for a point.

    The first ``n_context`` coordinates are no axes of the balls.
    """
    lower, upper = corners(boxes)
    unit, wide = unit_ball(lower.shape[1] - n_context), (upper > lower).any(axis=1)
    sizes = np.where(wide, len(unit), 1)
    starts = np.cumsum(sizes) - sizes
    points = np.repeat(0.5 * lower + 0.5 * upper, sizes, axis=0)
    half = 0.5 * (upper - lower)[:, n_context:]
    inside = np.repeat(wide, sizes)
    points[inside, n_context:] += (half[wide, np.newaxis] * unit).reshape(-1, unit.shape[1])
    return PointSet(points, np.repeat(1.0 / sizes, sizes), starts)


class BallAverage(CellKernel):
    r"""Kernel for answers that average over discs, balls or ellipses, placed anywhere.

    .. math:: k(A, B) = \frac{1}{|A|\,|B|} \sum_{a \in A} \sum_{b \in B} k_{base}(a, b)

    where A and B are 19 points of a disc, 10 of an interval, or 2 d + 1 of a ball in d > 2
    dimensions. Their average equals the average of f over the ball for all cubic polynomials f. A
    row is the box ``[lower, upper]`` around a ball, and one without extent the point itself.

    Parameters
    ----------
    base : Kernel
        Kernel of f, over points with d coordinates: any kernel of
        ``sklearn.gaussian_process.kernels``. Its hyperparameters are this kernel's.
    n_context : int, default=0
        Number of leading coordinates that are no axes of balls but a context, in which rows have
        no extent.

    Notes
    -----
    There is no closed form: a pair of discs costs 361 evaluations of ``base``. White noise in it is
    noise of f at each of the points, as for :class:`~skgpb.kernels.CellAverage`.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import BallAverage
    >>> kernel = BallAverage(RBF(0.5))
    >>> kernel([[0.0, 0.0, 1.0, 1.0], [0.5, 0.5, 0.5, 0.5]]).round(4)  # the exact average is 0.7869
    array([[0.6507, 0.785 ],
           [0.785 , 1.    ]])
    """

    _noise_survives = True

    def __init__(self, base: Kernel, n_context: int = 0) -> None:
        self.base = base
        self.n_context = n_context

    def point_set(self, boxes: np.ndarray) -> PointSet:
        """Points and weights of the means over the balls inscribed in boxes (n, 2 d)."""
        return points_in_balls(boxes, self._n_context(boxes.shape[1] // 2))

    def _n_context(self, d: int) -> int:
        """Check and return the number of coordinates that are a context, of d."""
        return check_size(self.n_context, "n_context of BallAverage", 0, d - 1)

    def runs(self, boxes: np.ndarray, limit: int) -> Iterator[slice]:
        """Cut balls into runs of at most ``limit`` points, and at least one ball."""
        step = max(1, limit // max(self._counts(boxes.shape[1] // 2)))
        for start in range(0, len(boxes), step):
            yield slice(start, min(start + step, len(boxes)))

    def _counts(self, d: int) -> tuple[int, ...]:
        # Their product is the number of points, which the cost of a pair depends on.
        n = self._n_context(d)
        return (1,) * n + (len(unit_ball(d - n)),) + (1,) * (d - n - 1)
