"""Covariances of one functional that moves, and their slopes in the coordinates of the movement.

Where a kernel over boxes has slopes in the corners they are in closed form. Those of any other are
differences of its covariances, which are exact themselves.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from skgpb.kernels.evaluator import Evaluator, Functionals, block_means

# Step of differences, in units of the coordinates: its square and rounding over it are as small.
STEP = 1e-5


class Movement(Protocol):
    """Descriptor rows by n coordinates, each of which moves by about one at most.

    Attributes
    ----------
    n : int
        How many coordinates there are.
    """

    n: int

    def rows(self, Z: np.ndarray) -> np.ndarray:
        """Descriptor rows (k, n_columns) at coordinates (k, n), also a little beyond the domain."""

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """Derivatives (2 d, n) of the corners of a box at coordinates (n,)."""


def stencil(z: np.ndarray) -> np.ndarray:
    """Coordinates (2 n, n) one step ahead of some (n,), and one behind."""
    steps = STEP * np.eye(len(z))
    return np.concatenate([z + steps, z - steps])


def differences(values: np.ndarray) -> np.ndarray:
    """Slopes (n, ...) of values (2 n, ...) at a stencil."""
    ahead, behind = np.split(values, 2)
    return (ahead - behind) / (2.0 * STEP)


class CovarianceSlopes:
    """Covariances of a functional at some coordinates with others, and their slopes.

    Parameters
    ----------
    evaluator : Evaluator
        The kernel.
    movement : Movement
        What moves.
    z : ndarray of shape (n,)
        Where it is.
    """

    def __init__(self, evaluator: Evaluator, movement: Movement, z: np.ndarray) -> None:
        self._evaluator: Any = evaluator
        self.row: np.ndarray = movement.rows(z[np.newaxis])
        self._around: Functionals | None = None
        if hasattr(evaluator, "corner_slopes"):
            self._by_corner: np.ndarray = movement.slopes(z)
        else:
            self._around = Functionals.of_rows(movement.rows(stencil(z)))

    def with_others(self, others: Functionals) -> tuple[np.ndarray, np.ndarray]:
        """Covariances (m,), and derivatives (n, m) by the coordinates."""
        if self._around is not None:
            single = Functionals.of_rows(self.row)
            K = single.covariance(others, self._evaluator)[0]
            return K, differences(self._around.covariance(others, self._evaluator))
        if not len(others):
            return np.zeros(0), np.zeros((self._by_corner.shape[1], 0))
        K, corners = self._evaluator.corner_slopes(self.row, others.rows)
        slopes = (corners[0] @ self._by_corner).T
        return block_means(K, others.offsets, 1)[0], block_means(slopes, others.offsets, 1)

    def own(self) -> tuple[float, np.ndarray]:
        """The variance, and its derivatives (n,) by the coordinates."""
        if self._around is not None:
            single = Functionals.of_rows(self.row)
            variance = single.variance(self._evaluator)[0]
            return float(variance), differences(self._around.variance(self._evaluator))
        K, corners = self._evaluator.corner_slopes(self.row, self.row)
        # It moves on both sides of the covariance.
        return float(K[0, 0]), 2.0 * corners[0, 0] @ self._by_corner
