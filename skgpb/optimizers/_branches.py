"""Queries in a branch that has been searched less finely than its rivals."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import Matern

from skgpb import defaults
from skgpb._core._ties import argmax_first
from skgpb.domains.first_design import SAME, to_unit_cube

# Rounding: variance that is added to the diagonal, in units of the variance of f.
JITTER = 1e-3


def query_of_branch(
    points: np.ndarray, known: np.ndarray, values: np.ndarray, bounds: np.ndarray, n_sides: int
) -> int | None:
    """Return the index of the point with the largest upper bound under a model of one branch.

    The model of all branches is smooth where other branches are flat, and so expects little between
    the answers of this one. Here the length scale is the distance between m evaluated points that
    fill the branch, m^(-1/n_sides). Where their values are equal, the point is far from all of
    them; where one is larger, it is near that one. None if all points were evaluated.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Candidate points.
    known : ndarray of shape (m, d)
        Evaluated points of the branch.
    values : ndarray of shape (m,)
        Answers there minus their mean, in standard deviations of the answers in all branches.
    bounds : ndarray of shape (d, 2)
        The box.
    n_sides : int
        Number of continuous sides of the branch.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.optimizers._branches import query_of_branch
    >>> points, known = np.array([[0.25], [0.6], [0.9]]), np.array([[0.0], [0.2], [1.0]])
    >>> query_of_branch(points, known, np.zeros(3), np.array([[0.0, 1.0]]), 1)
    1
    >>> query_of_branch(points, known, np.array([-2.0, 4.0, -2.0]), np.array([[0.0, 1.0]]), 1)
    0
    """
    if not len(known):
        return 0
    points, known = to_unit_cube(points, bounds), to_unit_cube(known, bounds)
    kernel = Matern(len(known) ** (-1.0 / n_sides), nu=2.5)
    K = kernel(known)
    K[np.diag_indices_from(K)] += JITTER
    k = kernel(known, points)
    weights = np.linalg.solve(K, k)
    variance = np.maximum(1.0 - (weights * k).sum(axis=0), 0.0)
    upper = values @ weights + defaults.BRANCH_BONUS * np.sqrt(variance)
    is_new = cdist(points, known).min(axis=1) > SAME
    return argmax_first(np.where(is_new, upper, -np.inf)) if is_new.any() else None
