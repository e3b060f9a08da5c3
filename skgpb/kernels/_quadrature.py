"""Quadrature rules over a window, clipped or not, over the difference of two, and over products.

The difference x - x' of two points has a density of its own, and a kernel like Matern is smooth in
it except at the origin: panels that end there restore the fast convergence that separate rules for
the two points would lose.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import numpy as np
from scipy.special import erfc
from sklearn.gaussian_process.kernels import Kernel

#: Accuracy: reach of a Gaussian in standard deviations; less than 1e-16 of the mass lies beyond.
REACH = 8.3
#: Accuracy: number of panels, and of nodes in each, of the fine rule that a Gauss rule of a clipped
#: window compresses.
FINE_PANELS, FINE_NODES = 24, 12


@functools.lru_cache(maxsize=64)
def legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the mean over [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return nodes, 0.5 * weights


@functools.lru_cache(maxsize=64)
def hermite(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the mean under N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, weights / weights.sum()


def gauss_rule(points: np.ndarray, masses: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Compress a discrete distribution (M,) to n nodes, exact for degrees up to 2 n - 1.

    Lanczos with full reorthogonalisation gives the Jacobi matrix, whose eigenvalues are the nodes
    (Golub and Welsch).
    """
    kept = masses > 0.0
    points, masses = points[kept], masses[kept]
    if len(points) <= n:
        return points, masses
    middle, half = 0.5 * (points.max() + points.min()), 0.5 * np.ptp(points)
    if half == 0.0:
        return points[:1], masses.sum(keepdims=True)
    x, basis = (points - middle) / half, np.zeros((n, len(points)))
    basis[0] = np.sqrt(masses / masses.sum())
    diagonal, off = np.zeros(n), np.zeros(n)
    for k in range(n):
        v = x * basis[k]
        diagonal[k] = basis[k] @ v
        for _ in range(2):
            v -= (basis[: k + 1] @ v) @ basis[: k + 1]
        off[k] = np.sqrt(v @ v)
        if k + 1 == n or off[k] < 1e-13:
            n = k + 1
            break
        basis[k + 1] = v / off[k]
    J = np.diag(diagonal[:n]) + np.diag(off[: n - 1], 1) + np.diag(off[: n - 1], -1)
    nodes, vectors = np.linalg.eigh(J)
    return middle + half * nodes, masses.sum() * vectors[0] ** 2


def clipped_rule(
    center: float, scale: float, low: float, high: float, window: str, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return a Gauss rule with n nodes for one window on one axis, clipped to [low, high]."""
    reach = scale * (REACH if window == "gaussian" else 1.0)
    if scale == 0.0:
        return np.array([center]), np.ones(1)
    if center - reach >= low and center + reach <= high:
        nodes, weights = hermite(n) if window == "gaussian" else legendre(n)
        return center + scale * nodes, weights
    a, b = np.clip([center - reach, center + reach], low, high)
    edges = np.linspace(a, b, FINE_PANELS + 1)
    nodes, weights = legendre(FINE_NODES)
    width = (b - a) / FINE_PANELS
    points = (0.5 * (edges[1:] + edges[:-1])[:, None] + 0.5 * width * nodes).ravel()
    masses = np.tile(weights * width, FINE_PANELS)
    z = (points - center) / scale
    if window == "gaussian":
        masses = masses * np.exp(-0.5 * z**2)
        left = 0.5 * erfc((center - low) / (scale * np.sqrt(2)))
        right = 0.5 * erfc((high - center) / (scale * np.sqrt(2)))
    else:
        left = np.clip((low - center + scale) / (2 * scale), 0.0, 1.0)
        right = np.clip((center + scale - high) / (2 * scale), 0.0, 1.0)
    inner = max(0.0, 1.0 - left - right)
    masses *= inner / masses.sum() if masses.sum() > 0.0 else 0.0
    # the atoms stay nodes of their own: the inside is smooth
    points, masses = gauss_rule(points, masses, n) if inner > 0.0 else (points[:0], masses[:0])
    return np.concatenate([[low, high], points]), np.concatenate([[left, right], masses])


def clipped_rules(
    rows: np.ndarray, counts: list[int], domain: np.ndarray | None, window: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights (n, d, s) of windows, rows [center, scale] (n, 2 d), zero-padded.

    ``counts`` are nodes for every axis with a scale; windows are clipped to ``domain`` (d, 2).
    """
    d = rows.shape[1] // 2
    rules, size = {}, 1
    box = np.tile([-np.inf, np.inf], (d, 1)) if domain is None else domain
    low, high = box.T
    for row, count in zip(rows, counts, strict=True):
        for a in range(d):
            key = (a, row[a], row[d + a], count)
            if key not in rules:
                rules[key] = clipped_rule(row[a], row[d + a], low[a], high[a], window, count)
                size = max(size, len(rules[key][0]))
    nodes, weights = np.zeros((2, len(rows), d, size))
    for i, (row, count) in enumerate(zip(rows, counts, strict=True)):
        for a in range(d):
            x, w = rules[a, row[a], row[d + a], count]
            nodes[i, a, : len(x)], weights[i, a, : len(x)] = x, w
    return nodes, weights


def difference_rule(
    gap: np.ndarray, first: np.ndarray, second: np.ndarray, window: str, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights (m, s) for the difference of two points on one axis.

    Panels end at zero, where the kernel may have a kink.

    Parameters
    ----------
    gap, first, second : ndarray of shape (m,)
        Difference of the centres, and the two scales.
    window : {"gaussian", "uniform"}
        Shape of both windows.
    n : int
        Nodes in each panel.
    """
    if window == "gaussian":
        spread = np.hypot(first, second)
        ends = np.stack([gap - REACH * spread, gap + REACH * spread])
        # zero splits the panels if it lies inside; otherwise the middle does
        inside = (ends[0] < 0.0) & (ends[1] > 0.0)
        edges = np.stack([ends[0], np.where(inside, 0.0, gap), ends[1]])
    else:
        outer, inner = first + second, np.abs(first - second)
        edges = np.stack([gap - outer, gap - inner, gap + inner, gap + outer])
        edges = np.sort(np.concatenate([edges, np.clip(0.0, edges[:1], edges[-1:])]), axis=0)
    nodes, weights = legendre(n)
    low, width = edges[:-1].T[..., None], np.diff(edges, axis=0).T[..., None]
    u = low + 0.5 * width * (1.0 + nodes)
    if window == "gaussian":
        safe = np.where(spread > 0.0, spread, 1.0)[:, None, None]
        density = np.exp(-0.5 * ((u - gap[:, None, None]) / safe) ** 2)
    else:
        density = np.clip(
            outer[:, None, None] - np.abs(u - gap[:, None, None]),
            0.0,
            2.0 * np.minimum(first, second)[:, None, None],
        )
        # one of the two is a point
        density = np.where(np.minimum(first, second)[:, None, None] == 0.0, 1.0, density)
    mass = (weights * width * density).reshape(len(gap), -1)
    u = u.reshape(len(gap), -1)
    total = mass.sum(axis=1)
    flat = (first == 0.0) & (second == 0.0)
    u[flat], mass[flat], mass[flat, :1], total[flat] = gap[flat, None], 0.0, 1.0, 1.0
    # Panels of no width, for example if one of the two is a point.
    used = mass.any(axis=0)
    return u[:, used], mass[:, used] / total[:, None]


def mean_over_differences(
    base: Kernel, rows: np.ndarray, others: np.ndarray, window: str, n: int
) -> np.ndarray:
    """Return means (m,) of a stationary kernel over pairs of windows, n nodes in each panel."""
    m, d = len(rows), rows.shape[1] // 2
    gap, scales = rows[:, :d] - others[:, :d], (rows[:, d:], others[:, d:])
    axes = [
        difference_rule(gap[:, a], scales[0][:, a], scales[1][:, a], window, n) for a in range(d)
    ]
    sizes = [x.shape[1] for x, _ in axes]
    nodes, weights = np.empty((m, *sizes, d)), np.ones((m, *sizes))
    for a, (x, w) in enumerate(axes):
        shape = (m, *(s if b == a else 1 for b, s in enumerate(sizes)))
        nodes[..., a] = x.reshape(shape)
        weights = weights * w.reshape(shape)
    values = base(nodes.reshape(-1, d), np.zeros((1, d)))[:, 0]
    return (values * weights.ravel()).reshape(m, -1).sum(axis=1)


def tensor_rule(nodes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points (m, d) and weights (m,) of rules (d, s) for the axes, without zero weights."""
    axes = [(x[w != 0.0], w[w != 0.0]) for x, w in zip(nodes, weights, strict=True)]
    points = np.array(list(itertools.product(*(x for x, _ in axes))))
    masses = np.array([np.prod(w) for w in itertools.product(*(w for _, w in axes))])
    return points, masses


def mean_over_rules(
    nodes: np.ndarray, weights: np.ndarray, function: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the means (n,) of a function over tensor rules (n, d, s)."""
    out = np.empty(len(nodes))
    for i in range(len(nodes)):
        points, masses = tensor_rule(nodes[i], weights[i])
        out[i] = masses @ function(points)
    return out
