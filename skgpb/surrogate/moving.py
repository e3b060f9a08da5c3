"""What is known of one functional that moves, and how that changes with its coordinates.

With the observations o, y and their noise, the factor L of their covariances and h = L^-1 k(o, q),
the posterior covariance of q and x is k(q, x) - h(q) h(x). What a value made of posterior moments
of q changes by is then a sum over the slopes of k(q, o), k(q, x) and k(q, q), whose factors take
one solution with L. Functionals that are pending come behind those that were observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skgpb.kernels.evaluator import Functionals
from skgpb.kernels.slopes import Movement
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.pairs import pending_root


class Moments(NamedTuple):
    """Posterior mean, variance and covariances with others (k,), or derivatives by these."""

    mean: float
    var: float
    covariance: np.ndarray


class MovingFunctional:
    """Posterior moments of a functional by its coordinates, in units of the process.

    Parameters
    ----------
    gp : GaussianProcess
        What is known.
    movement : Movement
        What moves.
    others : ndarray of int, shape (k,)
        Numbers of tracked functionals, each of one row, whose covariances with it are wanted.
    blocks : list of ndarray of shape (n_rows, n_columns)
        What is pending, and counts as observed.
    noises : sequence of float, or ndarray (k, k)
        Noise variances of its answers, in the user's units.
    """

    def __init__(
        self,
        gp: GaussianProcess,
        movement: Movement,
        others: np.ndarray,
        blocks: list[np.ndarray],
        noises: Sequence[float] | np.ndarray,
    ) -> None:
        self._gp, self._movement = gp, movement
        self._weights: np.ndarray = gp.posterior.weights()
        self._others = Functionals.of_rows(gp.tracked.rows[others])
        self._pending = Functionals.of(blocks, gp.n_columns)
        self._of_others: np.ndarray = gp.posterior.tracked_rows(others)
        self._of_pending: np.ndarray = gp.covariance(self._pending, gp.observed)
        gp.posterior.solve_rows(self._of_pending)
        self._root: np.ndarray = np.zeros((0, 0))
        self._falls: np.ndarray = np.zeros((0, len(others)))
        if blocks:
            self._root = pending_root(gp, self._pending, noises)
            known = gp.covariance(self._pending, self._others)
            self._falls = self._root.T @ (known - self._of_pending @ self._of_others.T)

    def at(self, z: np.ndarray) -> Moments:
        """Look at the functional at coordinates (n,), and return its posterior moments."""
        gp = self._gp
        prior = gp.slopes_along(self._movement, z)
        with_observed, self._by_observed = prior.with_others(gp.observed)
        with_others, self._by_others = prior.with_others(self._others)
        with_pending, self._by_pending = prior.with_others(self._pending)
        var, self._by_own = prior.own()
        mean = float(with_observed @ self._weights)
        solved = with_observed[np.newaxis].copy()
        gp.posterior.solve_rows(solved)
        self._h = solved[0]
        self._g = self._root.T @ (with_pending - self._of_pending @ self._h)
        left = var - self._h @ self._h - self._g @ self._g
        covariance = with_others - self._of_others @ self._h - self._g @ self._falls
        return Moments(mean, max(float(left), 0.0), covariance)

    def slopes(self, by: Moments) -> np.ndarray:
        """Derivatives (n,) of a value by the coordinates looked at last, from those by moments."""
        by_g = -self._falls @ by.covariance - 2.0 * by.var * self._g
        of_pending = self._root @ by_g
        by_h = -by.covariance @ self._of_others - 2.0 * by.var * self._h
        by_h -= of_pending @ self._of_pending
        of_observed = np.ascontiguousarray(by_h[np.newaxis])
        self._gp.posterior.solve_rows(of_observed, transposed=True)
        of_observed = of_observed[0] + by.mean * self._weights
        return (
            self._by_own * by.var
            + self._by_observed @ of_observed
            + self._by_others @ by.covariance
            + self._by_pending @ of_pending
        )
