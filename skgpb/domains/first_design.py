"""First queries that fill the space, while no model of the rewards could be trusted (D-G6).

A design is a set of places; of these the one is asked that lies farthest from all that was asked or
told, so that what is known from elsewhere counts, in whatever order it comes.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from skgpb._core._tree import first_maximum

#: Distinct queries that are asked first where nothing is known.
N_INITIAL = 10
# Distances in sides that differ by less are the same.
SAME = 1e-9


def first_points(bounds: np.ndarray, n: int, seed: int) -> np.ndarray:
    """The first n points, shape (n, d), of a scrambled Sobol sequence in a box (d, 2).

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains.first_design import first_points
    >>> points = first_points(np.array([[0.0, 4.0]]), 4, seed=0)
    >>> np.sort(points.ravel()).astype(int)  # one in every quarter
    array([0, 1, 2, 3])
    """
    sobol = qmc.Sobol(len(bounds), seed=np.random.default_rng([seed, 0, 0, 2]))
    unit = sobol.random_base2(max(0, n - 1).bit_length())[:n]
    lower, upper = bounds.T
    return np.clip(lower + unit * (upper - lower), lower, upper)


def first_members(places: np.ndarray, bounds: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Numbers of n distinct members of a finite set, all of them where they are fewer.

    For each of :func:`first_points` in turn the nearest that is left, in sides of the box.

    Parameters
    ----------
    places : ndarray of shape (n_members, d)
        Where they lie.
    bounds : ndarray of shape (d, 2)
        The box.
    n : int
        How many.
    seed : int
        Scrambles the sequence.

    Returns
    -------
    numbers : ndarray of shape (at most n,)
    """
    places, targets = (in_sides(each, bounds) for each in (places, first_points(bounds, n, seed)))
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
        Where one can go.
    known : ndarray of shape (m, d)
        Where one was.
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


def in_sides(points: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Points (n, d) in a box, in units of its sides from its lower corner."""
    side = bounds[:, 1] - bounds[:, 0]
    return (points - bounds[:, 0]) / np.where(side > 0.0, side, 1.0)
