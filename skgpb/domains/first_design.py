"""First queries that fill the space, while no model of the rewards would be reliable (D-G6).

A design is a set of points. The next query is the point of the design farthest from all evaluated
and pending queries, so that answers from elsewhere count, in any order. Their location matters:
however many answers there are in one corner, the points elsewhere are still asked (D-G8).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from skgpb._core._tree import first_maximum

# Rounding: distances, in sides, that differ by less are equal.
SAME = 1e-9


def first_points(bounds: np.ndarray, n: int, seed: int, more: int = 0) -> np.ndarray:
    """Return n points that fill a box (d, 2), and ``more`` replacements, shape (n + more, d).

    They are the first points of a scrambled Sobol sequence. In one dimension, where its gaps are
    twice as wide as necessary, the n points are the middles of equal parts, in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains.first_design import first_points
    >>> points = first_points(np.array([[0.0, 4.0]]), 4, seed=0)
    >>> np.sort(points.ravel()).astype(int)  # one in every quarter
    array([0, 1, 2, 3])
    """
    rng = np.random.default_rng([seed, 0, 0, 2])
    even = n if len(bounds) == 1 else 0
    parts = (rng.permutation(even)[:, np.newaxis] + 0.5) / max(1, even)
    size = n - even + more
    unit = qmc.Sobol(len(bounds), seed=rng).random_base2(max(0, size - 1).bit_length())[:size]
    if even:
        unit = np.concatenate([parts, unit])
    lower, upper = bounds.T
    return np.clip(lower + unit * (upper - lower), lower, upper)


def balance_values(points: np.ndarray, n: int, axes: Iterable[int]) -> np.ndarray:
    """Change the first n points so that every value of a list occurs equally often, or once more.

    Along each of these axes the coordinates become their ranks, as in a Latin hypercube: points
    keep their order, but none of few values is left out.

    Parameters
    ----------
    points : ndarray of shape (n + more, d)
        Points of :func:`first_points`.
    n : int
        Size of the design.
    axes : iterable of int
        Axes from 0 to 1 on which the values have intervals of equal length.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains.first_design import balance_values
    >>> balance_values(np.array([[0.1], [0.2], [0.9], [0.3]]), 4, [0]).ravel()
    array([0.125, 0.375, 0.875, 0.625])
    """
    out = points.copy()
    for axis in axes:
        ranks = np.argsort(np.argsort(points[:n, axis], kind="stable"))
        out[:n, axis] = (ranks + 0.5) / n
    return out


def first_members(
    places: np.ndarray, bounds: np.ndarray, n: int, seed: int, more: int = 0
) -> np.ndarray:
    """Return indices of n + ``more`` distinct members of a finite set; of all if it is smaller.

    They are the nearest remaining members to :func:`first_points` in turn, in sides of the box.

    Parameters
    ----------
    places : ndarray of shape (n_members, d)
        Points of the members.
    bounds : ndarray of shape (d, 2)
        The box.
    n, more : int
        Numbers of members.
    seed : int
        Scrambles the sequence.

    Returns
    -------
    indices : ndarray of shape (at most n + more,)
    """
    targets = to_unit_cube(first_points(bounds, n, seed, more), bounds)
    places = to_unit_cube(places, bounds)
    left = np.ones(len(places), dtype=bool)
    chosen = []
    for target in targets:
        distance = np.where(left, ((places - target) ** 2).sum(axis=1), np.inf)
        nearest = first_maximum(-distance, SAME**2)
        if not left[nearest]:
            break
        chosen.append(nearest)
        left &= (places != places[nearest]).any(axis=1)
    return np.array(chosen, dtype=np.intp)


def farthest(places: np.ndarray, known: np.ndarray, bounds: np.ndarray) -> int | None:
    """Return the index of the point farthest from evaluated ones, in sides.

    It is the first of several, and 0 if nothing was evaluated; None if all points were evaluated.

    Parameters
    ----------
    places : ndarray of shape (n, d)
        Candidate points.
    known : ndarray of shape (m, d)
        Evaluated points.
    bounds : ndarray of shape (d, 2)
        The box.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains.first_design import farthest
    >>> farthest(np.array([[0.1], [0.5], [0.9]]), np.array([[0.2]]), np.array([[0.0, 1.0]]))
    2
    """
    if not len(known):
        return 0
    distance = cdist(to_unit_cube(places, bounds), to_unit_cube(known, bounds)).min(axis=1)
    return first_maximum(distance, SAME) if distance.max() > SAME else None


def next_place(
    places: np.ndarray, n: int, known: np.ndarray, failed: np.ndarray, bounds: np.ndarray
) -> int | None:
    """Return the index of the next point of a first design; None once n of its points are filled.

    A point is filled if an answered query is nearer to it than the next point of the design. The
    next one is the unfilled point farthest from all tried queries.

    Parameters
    ----------
    places : ndarray of shape (n_places, d)
        The design: n points, and then replacements for those that fail.
    n : int
        Size of the design.
    known : ndarray of shape (m, d)
        Queries with an answer, or pending ones.
    failed : ndarray of shape (k, d)
        Queries that failed: nothing near them is tried.
    bounds : ndarray of shape (d, 2)
        The box.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains.first_design import next_place
    >>> places, box = np.array([[0.1], [0.5], [0.9]]), np.array([[0.0, 1.0]])
    >>> next_place(places, 3, np.array([[0.2], [0.21], [0.22]]), np.empty((0, 1)), box)
    2
    >>> next_place(places, 3, np.array([[0.2], [0.6], [0.7]]), np.empty((0, 1)), box) is None
    True
    """
    if not len(known) + len(failed):
        return 0
    at = to_unit_cube(places, bounds)
    to_known, to_failed = (cdist(at, to_unit_cube(rows, bounds)) for rows in (known, failed))
    nearest, vain = (gaps.min(axis=1, initial=np.inf) for gaps in (to_known, to_failed))
    filled = (nearest < _spacing(at, n) - SAME) & ((vain > SAME) | (nearest <= SAME))
    if filled.sum() >= n:
        return None
    distance = np.where(filled, 0.0, np.minimum(nearest, vain))
    for part, begin in ((distance[:n], 0), (distance[n:], n)):
        if part.max(initial=0.0) > SAME:
            return begin + first_maximum(part, SAME)
    return None


def _spacing(at: np.ndarray, n: int) -> np.ndarray:
    """Return distances (n_places,) of n points to the next of them, of others to an earlier one."""
    # Not numpy.unique, which turns a KeyboardInterrupt into a TypeError now and then.
    rows = at[:n][np.lexsort(at[:n].T)]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    first = cKDTree(rows[new]).query(at[:n], k=2)[0][:, 1]
    others = cdist(at[n:], at)
    later = np.arange(len(at)) >= np.arange(n, len(at))[:, np.newaxis]
    others[later | (others <= SAME)] = np.inf
    return np.concatenate([first, others.min(axis=1, initial=np.inf)])


def to_unit_cube(points: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return points (n, d) in a box, in units of its sides from its lower corner."""
    side = bounds[:, 1] - bounds[:, 0]
    return (points - bounds[:, 0]) / np.where(side > 0.0, side, 1.0)
