r"""Variation of a Gaussian process within the cells of a partition, and its smoothness.

For a cell with centre c write g = max over x in the cell of

    d(x, c) = sd(f(x) - f(c)) = sqrt(k(x, x) + k(c, c) - 2 k(x, c)).

References
----------
.. [Shekhar2018] S. Shekhar and T. Javidi, "Gaussian process bandits with adaptive
   discretization", Electronic Journal of Statistics 12, 2018. Equations 2.2, 3.3, 3.4, Claim 2
   and Corollary 1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb.domains.candidates import spread_points
from skgpb.domains.mixed import rows_of_points
from skgpb.domains.partition import BoxPartition, PoolPartition
from skgpb.domains.space import ParameterSpace
from skgpb.kernels._white import DIAGONAL_POINTS, contains_white_noise
from skgpb.roots import nonnegative
from skgpb.surrogate.gaussian_process import GaussianProcess

# Accuracy: along an axis of [-1, 1], its ends and its middle, points spread evenly, and points as
# dense as they are near the ends, to find the right place in the last of many periods.
EVEN = spread_points(np.array([[-1.0, 1.0]]), 36, np.zeros(1))[:, 0]
NEAR = 1.0 - 10.0 ** -np.linspace(0.3, 2.5, 10)
LINE = np.concatenate([[-1.0, 0.0, 1.0], EVEN, NEAR, -NEAR])
# Accuracy: points all over a cell at which f is compared with the answer to it (D-B11).
N_VARIATION_POINTS = 32
# Accuracy: step of the numerical exponent, in units of the sides of the domain.
STEP = 1e-4


def claim_2(g: np.ndarray, n_children: int, d: int, failure_probability: float) -> np.ndarray:
    r"""V_h, a bound on the variation of f within any cell of depth h (Claim 2, decision D-B10).

    .. math::

        V_h = 4 g_h \left( \sqrt{2 u + C_4 + h \log K + 4 d \log(1 / g_h)} + C_3 \right),
        \quad C_4 = C_2 + 2 \log\left( (h + 1)^2 \pi^2 / 6 \right),
        \quad u = \log(1 / \theta).

    The paper leaves C_2 and C_3 open; both are 1 here. The radicand is clipped at zero, and as the
    formula is not monotone in g_h, the smallest value up to depth h is returned. It is not
    homogeneous either: log(1 / g) depends on the unit of the reward. It is meant for prior
    variances of the order of one.

    Parameters
    ----------
    g : ndarray of shape (n,)
        The largest standard deviation of f(x) - f(c) over cells of depth h = 0, 1, ... with
        centre c.
    n_children : int
        K of the partition.
    d : int
        Number of dimensions.
    failure_probability : float
        theta, in (0, 1).

    Returns
    -------
    variation : ndarray of shape (n,)
        V_0, ..., in units of the reward; never increasing.
    """
    h = np.arange(len(g))
    C2, C3 = defaults.CLAIM2_CONSTANTS
    inside = 2.0 * log(1.0 / failure_probability) + C2 + 2.0 * np.log((h + 1) ** 2 * pi**2 / 6.0)
    # log(1 / g) is -inf for g = inf only; a process that does not vary at all has V = 0.
    inside += h * log(n_children) - 4.0 * d * np.log(np.where(g > 0, g, 1.0))
    bound = 4.0 * g * (np.sqrt(np.maximum(inside, 0.0)) + C3)
    return np.minimum.accumulate(bound)


def cell_deviations(
    kernel: Kernel | Callable,
    cells: Callable[[int], list[tuple[np.ndarray, np.ndarray]]],
    n_depths: int,
) -> np.ndarray:
    """g_h for h = 0..n_depths - 1: the largest sd of f(x) - f(centre), x in a cell of depth h.

    ``cells`` returns the corners of the cells of a depth that are looked at.
    """
    g = np.zeros(n_depths)
    for h in range(n_depths):
        for lower, upper in cells(h):
            center, half = 0.5 * (lower + upper), 0.5 * (upper - lower)

            def deviations(t: np.ndarray, c: np.ndarray = center, r: np.ndarray = half) -> Any:
                return _deviations(kernel, c, c + r * t)

            g[h] = max(g[h], largest_within(deviations, len(lower)))
    return never_increasing(g)


def answer_deviations(
    gp: GaussianProcess, partition: BoxPartition | PoolPartition, n_depths: int, everywhere: bool
) -> np.ndarray:
    """Largest prior sd of f(x) minus the answer to a cell, x in cells of depth h = 0..n_depths - 1.

    Over a sample of cells of each depth; with ``everywhere`` not those of the same shape alone.
    """
    found = np.zeros(n_depths)
    for depth in range(n_depths):
        if isinstance(partition, PoolPartition):
            for block, members in partition.deviation_blocks(depth):
                found[depth] = max(found[depth], gp.deviations(block, members).max())
            continue
        for block, lower, upper in partition.deviation_cells(depth, everywhere):
            center, half, of = (
                0.5 * (lower + upper),
                0.5 * (upper - lower),
                gp.deviations_from(block),
            )

            def deviations(t: Any, of: Any = of, c: Any = center, r: Any = half) -> Any:
                return of(partition.rows_of(c + r * t))

            found[depth] = max(found[depth], largest_within(deviations, len(center)))
    return never_increasing(found)


class PriorOfPoints:
    """Prior covariance of f between points of a box, from that of the answers to queries."""

    def __init__(self, kernel: Kernel, space: ParameterSpace | None = None) -> None:
        self.kernel, self.space = kernel, space

    def __call__(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Covariances (n, m), without white noise."""
        return self.kernel(rows_of_points(X, self.space), rows_of_points(Y, self.space))

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Variances (n,), white noise included."""
        return self.kernel.diag(rows_of_points(X, self.space))


def never_increasing(g: np.ndarray) -> np.ndarray:
    """Raise g_h to the largest of g_h, g_{h+1}, ..., so that no level is promised too little.

    Finer cells may stray farther from their average: a periodic f over one period and a half,
    say, does so more than over two.
    """
    return np.maximum.accumulate(g[::-1])[::-1]


def largest_within(deviations: Callable[[np.ndarray], np.ndarray], d: int) -> float:
    """Largest of ``deviations(t)``, t (n, d) in the cube [-1, 1]^d, up to a few percent.

    Corners are the farthest where covariance falls with distance, but a periodic process may be
    the same there. From the best of corners and points spread over the cube, two rounds look
    along all axes at once and take the best of every axis, which is the maximum wherever it is a
    monotone function of a sum or product over the axes. The points are no lattice, which a period
    could fit.
    """
    if d == 1:
        return float(deviations(LINE[:, None]).max())
    alternate = np.where(np.arange(d) % 2, -1.0, 1.0)
    corners = np.stack([np.zeros(d), np.ones(d), -np.ones(d), alternate, -alternate])
    cube, axis = np.tile([-1.0, 1.0], (d, 1)), np.arange(d)
    points = np.concatenate([corners, spread_points(cube, N_VARIATION_POINTS, np.zeros(d))])
    values = deviations(points)
    for _ in range(2):
        best = points[int(np.argmax(values))]
        lines = np.tile(best, (d, len(LINE), 1))
        lines[axis, :, axis] = LINE
        along = deviations(lines.reshape(-1, d)).reshape(d, -1)
        place = np.unravel_index(along.argmax(), along.shape)
        points = np.stack([best, lines[place], LINE[along.argmax(axis=1)]])
        values = deviations(points)
    return float(values.max())


def smoothness_exponent(kernel: Kernel | Callable, bounds: np.ndarray) -> float:
    """Alpha of equation 3.3, d(x, y) <= C |x - y|^alpha for near points, to two decimals.

    1 for kernels with a differentiable process or nearly so (RBF, Matern with nu > 1), 1/2 for
    the exponential kernel; the least over the axes, at the centre of the domain.
    """
    center, side = bounds.mean(axis=1), bounds[:, 1] - bounds[:, 0]
    exponents = [1.0]
    for step in np.diag(STEP * side):
        near, far = _deviations(kernel, center, center + np.stack([step, 2.0 * step]))
        if near > 0.0:
            exponents.append(round(float(np.log2(far / near)), 2))
    return max(0.1, min(exponents))


def h_max(n: int, alpha: float, n_children: int, d: int) -> float:
    """Depth of equation 3.4 for n evaluations, a real number; rho = K^(-1/d) for boxes."""
    return log(n) / (2.0 * alpha * log(n_children) / d) * (1.0 + 1.0 / alpha)


def _deviations(kernel: Callable, center: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Standard deviations of f(points) - f(center), without white noise, shape (n,)."""
    X = np.concatenate([center[None], points])
    own = _variances(kernel, X)
    variances = own[1:] + own[0] - 2.0 * np.asarray(kernel(X[:1], points))[0]
    return np.sqrt(nonnegative(variances, kernel, lambda: float(own.max())))


def _variances(kernel: Callable, X: np.ndarray) -> np.ndarray:
    """Variances of f at points (n, d), without white noise and without all their pairs."""
    if hasattr(kernel, "diag") and not contains_white_noise(kernel):
        return kernel.diag(X)
    # A copy, because k(X) of scikit-learn adds white noise on the diagonal and k(X, Y) does not.
    parts = (X[start : start + DIAGONAL_POINTS] for start in range(0, len(X), DIAGONAL_POINTS))
    return np.concatenate([np.diag(np.asarray(kernel(part, part.copy()))) for part in parts])
