"""First queries that fill the space, while no model of the rewards could be trusted (D-G6).

A design is a set of places; of these the one is asked that lies farthest from all that was asked or
told, so that what is known from elsewhere counts, in whatever order it comes. It counts where it
lies: however much is known in one corner, the places elsewhere are asked (D-G8).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from skgpb._core._tree import first_maximum

# Rounding: distances in sides that differ by less are the same.
SAME = 1e-9


def first_points(bounds: np.ndarray, n: int, seed: int, more: int = 0) -> np.ndarray:
    """N points that fill a box (d, 2), and ``more`` in case of need, shape (n + more, d).

    They are the first of a scrambled Sobol sequence; in one dimension, where this leaves gaps twice
    as wide as need be, the n are the middles of equal parts, in random order.

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


def level_out(points: np.ndarray, n: int, axes: Iterable[int]) -> np.ndarray:
    """Let the first n points have every value of a list equally often, or one time more.

    Along each of these axes the coordinates become their ranks, as in a Latin hypercube: points
    keep their order, but none of few values is left out.

    Parameters
    ----------
    points : ndarray of shape (n + more, d)
        Points of :func:`first_points`.
    n : int
        Size of the design.
    axes : iterable of int
        Axes from 0 to 1 on which each value has an interval, all of the same length.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains.first_design import level_out
    >>> level_out(np.array([[0.1], [0.2], [0.9], [0.3]]), 4, [0]).ravel()
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
    """Numbers of n + ``more`` distinct members of a finite set, all of them where they are fewer.

    For each of :func:`first_points` in turn the nearest that is left, in sides of the box.

    Parameters
    ----------
    places : ndarray of shape (n_members, d)
        Locations of the members.
    bounds : ndarray of shape (d, 2)
        The box.
    n, more : int
        Numbers of points.
    seed : int
        Scrambles the sequence.

    Returns
    -------
    numbers : ndarray of shape (at most n + more,)
    """
    targets = in_sides(first_points(bounds, n, seed, more), bounds)
    places = in_sides(places, bounds)
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
    """Number of the place farthest from all that is known, in sides; None if all are known.

    The first of several, and of all where nothing is known.

    Parameters
    ----------
    places : ndarray of shape (n, d)
        Possible locations.
    known : ndarray of shape (m, d)
        Locations that were asked.
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
    distance = cdist(in_sides(places, bounds), in_sides(known, bounds)).min(axis=1)
    return first_maximum(distance, SAME) if distance.max() > SAME else None


def next_place(
    places: np.ndarray, n: int, known: np.ndarray, failed: np.ndarray, bounds: np.ndarray
) -> int | None:
    """Number of the place of a first design to go to next; None once n places are filled.

    A place is filled where something is known nearer to it than the next place is. Of the others
    the one farthest from all that was tried is next.

    Parameters
    ----------
    places : ndarray of shape (n_places, d)
        The design, and after its n places others that replace those that fail.
    n : int
        Size of the design.
    known : ndarray of shape (m, d)
        Queries that were answered, or will be.
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
    at = in_sides(places, bounds)
    to_known, to_failed = (cdist(at, in_sides(rows, bounds)) for rows in (known, failed))
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
    """Distance of each of the first n places to the next of them, of others to the next before."""
    # Not numpy.unique, which turns a KeyboardInterrupt into a TypeError now and then.
    rows = at[:n][np.lexsort(at[:n].T)]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    first = cKDTree(rows[new]).query(at[:n], k=2)[0][:, 1]
    others = cdist(at[n:], at)
    later = np.arange(len(at)) >= np.arange(n, len(at))[:, np.newaxis]
    others[later | (others <= SAME)] = np.inf
    return np.concatenate([first, others.min(axis=1, initial=np.inf)])


def in_sides(points: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Points (n, d) in a box, in units of its sides from its lower corner."""
    side = bounds[:, 1] - bounds[:, 0]
    return (points - bounds[:, 0]) / np.where(side > 0.0, side, 1.0)
