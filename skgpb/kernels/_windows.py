"""Covariances of means of f over windows, by closed forms and by quadrature.

A row is ``[center_1..center_d, scale_1..scale_d]``: a product of one Gaussian (standard deviation
``scale``) or uniform distribution (half-width ``scale``) for each axis, clipped to a box where one
is given. An axis without scale is its centre. There are four ways to the covariance of two rows:

================== =================== ==========================================================
base kernel        windows             by
================== =================== ==========================================================
Gaussian products  Gaussian            closed form
Gaussian products  uniform             closed form in the error function, ``skgpb._core._cells``
Gaussian products  clipped             a Gauss rule for the clipped distribution, axis by axis
stationary         not clipped         quadrature over the difference of the two points, d axes
any other          any                 tensor Gauss rule for each window, 2 d axes
================== =================== ==========================================================

The number of nodes of a window follows from its own scale, so a row means the same functional in
every call. The difference x - x' of two points has a density of its own, and a kernel like Matern
is smooth in it but for the origin: panels that end there restore the fast convergence that a rule
for each of the two points would lose.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erfc
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, Kernel

from skgpb._core._cells import GaussianCells
from skgpb.kernels._gaussian_products import GaussianProducts, compile_gaussian_products
from skgpb.kernels._indirect import noise_of_points
from skgpb.kernels.evaluator import origin_of, relative
from skgpb.utils import box_around

#: Standard deviations of a Gaussian that count; less than 1e-16 of the mass lies beyond.
REACH = 8.3
#: Numbers of nodes that are tried, per axis or per panel.
NODE_COUNTS = (4, 6, 8, 12, 16, 24, 32, 48, 64)
#: Largest number of points of the tensor rule of one window.
MAX_POINTS = 1024
#: Largest number of points of the tensor rule of one difference.
MAX_DIFFERENCES = 40_000
#: Numbers in one block of evaluations (32 MB).
BLOCK_SIZE = 2**22
#: Panels and nodes in each of the fine rule that a Gauss rule of a clipped window is made from.
FINE_PANELS, FINE_NODES = 24, 12


@functools.lru_cache(maxsize=64)
def legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the mean over [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return nodes, 0.5 * weights


@functools.lru_cache(maxsize=64)
def hermite(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the mean under N(0, 1)."""
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


@functools.lru_cache(maxsize=1024)
def rule_error(window: str, ratio: float, n: int) -> float:
    """Error of n nodes for RBF(1) and windows of scale ``ratio``: with itself and with points."""
    nodes, weights = hermite(n) if window == "gaussian" else legendre(n)
    rows = np.array([[0.0, ratio], [0.0, 0.0], [2.0 * max(1.0, ratio), 0.0]])
    evaluator = WindowEvaluator(RBF(1.0), 1, window, None, 1.0)
    exact = evaluator.cross(WindowRows(rows[:1]), WindowRows(rows))[0]
    y = np.concatenate([ratio * nodes, rows[1:, 0]])
    values = weights @ np.exp(-0.5 * (ratio * nodes[:, None] - y) ** 2)
    return float(np.abs([values[:n] @ weights - exact[0], *(values[n:] - exact[1:])]).max())


def clipped_rule(
    center: float, scale: float, low: float, high: float, window: str, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rule with n nodes for one window on one axis, clipped to [low, high]."""
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
        masses = masses * np.exp(-0.5 * z**2) / (scale * np.sqrt(2 * np.pi))
        left = 0.5 * erfc((center - low) / (scale * np.sqrt(2)))
        right = 0.5 * erfc((high - center) / (scale * np.sqrt(2)))
    else:
        masses = masses / (2 * scale)
        left = np.clip((low - center + scale) / (2 * scale), 0.0, 1.0)
        right = np.clip((center + scale - high) / (2 * scale), 0.0, 1.0)
    inner = max(0.0, 1.0 - left - right)
    masses *= inner / masses.sum() if masses.sum() > 0.0 else 0.0
    # the atoms stay nodes of their own: the inside is smooth
    points, masses = gauss_rule(points, masses, n) if inner > 0.0 else (points[:0], masses[:0])
    return np.concatenate([[low, high], points]), np.concatenate([[left, right], masses])


@dataclass
class WindowRows:
    """Embedding of n rows."""

    rows: np.ndarray  # (n, 2 d)
    origin: np.ndarray | None = None  # (d,), where centres lie, if far from zero

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(kw_only=True)
class RuledRows(WindowRows):
    """Embedding of n rows with the rules of their windows, padded with weights of zero."""

    nodes: np.ndarray  # (n, d, s)
    weights: np.ndarray  # (n, d, s)


class WindowEvaluator:
    """The two-step evaluation for windows.

    Parameters
    ----------
    base : Kernel
        Kernel over points.
    n_features : int
        Number d of coordinates.
    window : {"gaussian", "uniform"}
        Shape along each axis.
    domain : ndarray of shape (d, 2) or None
        Box to which points are clipped.
    tolerance : float
        Error of a covariance that quadrature may make, as a share of the variance of f.
    """

    memory = "whole"

    def __init__(
        self,
        base: Kernel,
        n_features: int,
        window: str,
        domain: np.ndarray | None,
        tolerance: float,
    ) -> None:
        self.base, self.d, self.window = base, n_features, window
        self.domain, self.origin, self.tolerance = domain, None, tolerance
        self.half_sides = np.full(n_features, np.inf)
        if domain is not None:
            self.half_sides = 0.5 * (domain[:, 1] - domain[:, 0])
            # Clipped windows are relative to where the domain lies, if that is far from zero.
            self.origin = origin_of(base, domain)
            self.domain = relative(domain.T, self.origin).T
        self.counts: dict[tuple[float, ...], int] = {}
        products = compile_gaussian_products(base, n_features)
        if products is None:
            stationary = base.is_stationary()
            self.way = "difference" if stationary and domain is None else "tensor"
        else:
            self.way = "closed" if domain is None else "axes"
            self.products = products
            self.cells = GaussianCells(products.weights, products.precisions, None)

    # -- the protocol -----------------------------------------------------------------------

    def embed(self, rows: np.ndarray, offsets: None = None) -> WindowRows:
        """Return the rows, with the rules of their windows where these are needed."""
        rows = self.relative(rows)
        if self.way == "closed" and self.window == "uniform" and len(rows):
            return WindowRows(rows, origin_of(self.base, box_around(rows[:, : self.d])))
        if self.way in ("closed", "difference"):
            return WindowRows(rows)
        return self._ruled(rows)

    def relative(self, rows: np.ndarray) -> np.ndarray:
        """Rows (n, 2 d) with centres relative to where the domain lies, a copy."""
        rows = np.array(rows)
        if self.origin is not None:
            rows[:, : self.d] -= self.origin
        return rows

    @staticmethod
    def join(first: WindowRows, second: WindowRows) -> WindowRows:
        """Return both embeddings, one below the other."""
        rows = np.concatenate([first.rows, second.rows])
        if not (isinstance(first, RuledRows) and isinstance(second, RuledRows)):
            return WindowRows(rows, first.origin)
        size = max(first.nodes.shape[2], second.nodes.shape[2])
        nodes, weights = (
            np.concatenate([np.pad(a, ((0, 0), (0, 0), (0, size - a.shape[2]))) for a in pair])
            for pair in ((first.nodes, second.nodes), (first.weights, second.weights))
        )
        return RuledRows(rows, nodes=nodes, weights=weights)

    def cross(self, E: WindowRows, F: WindowRows) -> np.ndarray:
        """Return the covariances (n, m)."""
        K = np.empty((len(E), len(F)))
        step = max(1, BLOCK_SIZE // max(1, len(F) * self._cost(F)))
        for start in range(0, len(E), step):
            part = slice(start, start + step)
            some = E if step >= len(E) else _take(E, part)
            K[part] = getattr(self, f"_{self.way}")(some, F)
        return K

    def diag(self, E: WindowRows) -> np.ndarray:
        """Return the variances (n,)."""
        out = np.empty(len(E))
        if self.way == "closed" and self.window == "uniform":
            return self.cells.diag(self._boxes(E.rows, E.origin))
        if self.way == "closed":
            return gaussian_pairs(self.products, E.rows[:, None], E.rows[:, None])[:, 0]
        flat = (E.rows[:, self.d :] == 0.0).all(axis=1)
        if flat.any():
            points = E.rows[flat, : self.d]
            out[flat] = self.base.diag(points) - noise_of_points(self.base, points)
        distinct, inverse = self._like(E, ~flat)
        covariance = getattr(self, f"_{self.way}")
        values = np.array([covariance(_take(E, [i]), _take(E, [i]))[0, 0] for i in distinct])
        if len(values):
            out[~flat] = values[inverse]
        return out

    def noise(self, E: WindowRows) -> np.ndarray:
        """Return the white noise: that of f at a point, none over a window, shape (n,)."""
        out = np.zeros(len(E))
        flat = (E.rows[:, self.d :] == 0.0).all(axis=1)
        if flat.any():
            out[flat] = noise_of_points(self.base, E.rows[flat, : self.d])
        return out

    def gradient(self, E: WindowRows) -> np.ndarray | None:
        """Return d K / d theta (n, n, p), noise included, for closed forms; None otherwise."""
        if self.way != "closed":
            return None
        products, flat = self.products, (E.rows[:, self.d :] == 0.0).all(axis=1)
        jacobians = products.weights_jacobian, products.precisions_jacobian
        if self.window == "uniform":
            _, out = self.cells.gram_gradient(self._boxes(E.rows, E.origin), *jacobians)
        else:
            out = gaussian_pairs_gradient(products, E.rows)
        diagonal = np.flatnonzero(flat)
        out[diagonal, diagonal] += products.nugget_jacobian
        return out

    def _like(self, E: WindowRows, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows, one for each distinct variance, and which of them each row has."""
        rows = E.rows[where]
        if self.way == "difference":  # the place does not matter
            rows = rows[:, self.d :]
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return np.flatnonzero(where)[first], inverse.ravel()

    def _cost(self, F: WindowRows) -> int:
        return F.nodes.shape[2] ** 2 if isinstance(F, RuledRows) else 1

    # -- closed forms -----------------------------------------------------------------------

    def _closed(self, E: WindowRows, F: WindowRows) -> np.ndarray:
        if self.window == "uniform":
            return self.cells.cross(self._boxes(E.rows, F.origin), self._boxes(F.rows, F.origin))
        return gaussian_pairs(self.products, E.rows[:, None], F.rows[None])

    def _boxes(self, rows: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
        """Corners (n, 2 d): sums of a centre far from zero and a scale would lose digits."""
        center, scale = relative(rows[:, : self.d], origin), rows[:, self.d :]
        return np.hstack((center - scale, center + scale))

    def _axes(self, E: RuledRows, F: RuledRows) -> np.ndarray:
        """Gaussian products: one double sum for each axis and term."""
        total = np.zeros((len(E), len(F)))
        for w, q in zip(self.products.weights, self.products.precisions, strict=True):
            product = np.full((len(E), len(F)), w)
            for a in range(self.d):
                if q[a] == 0.0:
                    continue
                gap = E.nodes[:, None, a, :, None] - F.nodes[None, :, a, None, :]
                gap *= gap
                gap *= -0.5 * q[a]
                np.exp(gap, out=gap)
                product *= np.einsum("ijst,is,jt->ij", gap, E.weights[:, a], F.weights[:, a])
            total += product
        return total

    # -- quadrature -------------------------------------------------------------------------

    def rules(self, rows: np.ndarray, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes and weights (n_rows, d, s) of the relative windows ``rows``, clipped.

        ``n`` nodes for every axis with a scale; None for as many as the tolerance asks for.
        """
        rules, size = {}, 1
        box = np.tile([-np.inf, np.inf], (self.d, 1)) if self.domain is None else self.domain
        low, high = box.T
        needed = [self.n_nodes(row[self.d :]) if n is None else n for row in rows]
        for row, count in zip(rows, needed, strict=True):
            for a in range(self.d):
                key = (a, row[a], row[self.d + a], count)
                if key not in rules:
                    rules[key] = clipped_rule(
                        row[a], row[self.d + a], low[a], high[a], self.window, count
                    )
                    size = max(size, len(rules[key][0]))
        nodes, weights = np.zeros((2, len(rows), self.d, size))
        for i, (row, count) in enumerate(zip(rows, needed, strict=True)):
            for a in range(self.d):
                x, w = rules[a, row[a], row[self.d + a], count]
                nodes[i, a, : len(x)], weights[i, a, : len(x)] = x, w
        return nodes, weights

    def n_nodes(self, scale: np.ndarray) -> int:
        """Return the nodes per axis, or per panel, that bring a window within the tolerance.

        A function of the window's scales alone, rounded up to powers of sqrt(2).
        """
        positive = scale > 0.0
        if not positive.any():
            return NODE_COUNTS[0]
        rounded = np.zeros(self.d)
        rounded[positive] = 2.0 ** (0.5 * np.ceil(2.0 * np.log2(scale[positive])))
        key = tuple(rounded)
        if key not in self.counts:
            self.counts[key] = self._search(rounded)
        return self.counts[key]

    def _search(self, scale: np.ndarray) -> int:
        """Try numbers of nodes until a variance settles; warn where none is enough."""
        wide = int((scale > 0.0).sum())
        if self.way == "axes":
            return self._search_axes(scale)
        difference = self.way == "difference"
        panels = self._panels() ** wide if difference else 1
        limit = MAX_DIFFERENCES if difference else MAX_POINTS
        affordable = [n for n in NODE_COUNTS if panels * n**wide <= limit] or [1]
        row = np.concatenate([self._somewhere(), scale])
        point = np.concatenate([row[: self.d], np.zeros(self.d)])
        beside = np.concatenate([row[: self.d] + 1.5 * scale, scale])
        place = row[None, : self.d]
        size = float(self.base(place, place.copy())[0, 0]) or 1.0
        before, error = None, np.inf
        for n in affordable:
            values = np.array([self._by_nodes(row, other, n) for other in (row, point, beside)])
            if before is not None:
                error = float(np.abs(values - before).max()) / size
                if error <= self.tolerance:
                    return n
            before = values
        warnings.warn(
            f"quadrature of {self.base} over {self.window} windows with scale {scale.tolist()} does"
            f" not reach tolerance={self.tolerance:.1e}: with {affordable[-1]} nodes per axis"
            f" covariances still change by {error:.1e} of the variance",
            ConvergenceWarning,
            stacklevel=2,
        )
        return affordable[-1]

    def _search_axes(self, scale: np.ndarray) -> int:
        """The same for Gaussian products, where closed forms tell the error on each axis.

        What is left of a window inside the domain needs no more nodes than the domain itself.
        """
        roots = np.sqrt(self.products.precisions)
        widths = {self.window: float((roots * scale).max(initial=0.0))}
        inside = float((roots * np.where(scale > 0.0, self.half_sides, 0.0)).max(initial=0.0))
        widths["uniform"] = min(widths.get("uniform", np.inf), inside)
        for n in NODE_COUNTS:
            if any(self.d * rule_error(*item, n) <= self.tolerance for item in widths.items()):
                return n
        warnings.warn(
            f"{self.window} windows with scale {scale.tolist()} are too wide for the quadrature of"
            f" clipped windows at tolerance={self.tolerance:.1e} and kernel {self.base}",
            ConvergenceWarning,
            stacklevel=2,
        )
        return n

    def _somewhere(self) -> np.ndarray:
        """A place to measure errors at: the middle of the domain, or the origin."""
        return np.zeros(self.d) if self.domain is None else self.domain.mean(axis=1)

    def _by_nodes(self, row: np.ndarray, other: np.ndarray, n: int) -> float:
        if self.way == "difference":
            return float(self._difference_of(row, other, n))
        return float(self._tensor(self._ruled(row[None], n), self._ruled(other[None], n))[0, 0])

    def _ruled(self, rows: np.ndarray, n: int | None = None) -> RuledRows:
        nodes, weights = self.rules(rows, n)
        return RuledRows(rows, nodes=nodes, weights=weights)

    def _tensor(self, E: RuledRows, F: RuledRows) -> np.ndarray:
        """Any kernel: the base at all pairs of points of two tensor rules."""
        left, right = ([_tensor_points(G, i) for i in range(len(G))] for G in (E, F))
        K = np.empty((len(E), len(F)))
        points, masses = (np.concatenate(parts) for parts in zip(*right, strict=True))
        starts = np.cumsum([0] + [len(p[1]) for p in right[:-1]])
        for i, (x, u) in enumerate(left):
            total = np.zeros(len(points))
            step = max(1, BLOCK_SIZE // len(points))
            for start in range(0, len(x), step):
                part = slice(start, start + step)
                total += u[part] @ self.base(x[part], points)
            K[i] = np.add.reduceat(total * masses, starts)
        return K

    def _panels(self) -> int:
        return 2 if self.window == "gaussian" else 5

    def _difference(self, E: WindowRows, F: WindowRows) -> np.ndarray:
        """Stationary kernels: the mean of the base over the difference of the two points."""
        K = np.empty((len(E), len(F)))
        left, right = (np.array([self.n_nodes(s) for s in G.rows[:, self.d :]]) for G in (E, F))
        counts = np.maximum(left[:, None], right[None])
        for n in np.unique(counts):
            i, j = np.nonzero(counts == n)
            size = (self._panels() * int(n)) ** self.d
            step = max(1, BLOCK_SIZE // (size * (self.d + 1)))
            for start in range(0, len(i), step):
                part = slice(start, start + step)
                K[i[part], j[part]] = self._differences(E.rows[i[part]], F.rows[j[part]], int(n))
        return K

    def _difference_of(self, row: np.ndarray, other: np.ndarray, n: int) -> float:
        return self._differences(row[None], other[None], n)[0]

    def _differences(self, rows: np.ndarray, others: np.ndarray, n: int) -> np.ndarray:
        """Covariances (m,) of pairs of rows, with n nodes in each panel."""
        m, d = len(rows), self.d
        gap, scales = rows[:, :d] - others[:, :d], (rows[:, d:], others[:, d:])
        axes = [
            difference_rule(gap[:, a], scales[0][:, a], scales[1][:, a], self.window, n)
            for a in range(d)
        ]
        sizes = [x.shape[1] for x, _ in axes]
        nodes, weights = np.empty((m, *sizes, d)), np.ones((m, *sizes))
        for a, (x, w) in enumerate(axes):
            shape = (m, *(s if b == a else 1 for b, s in enumerate(sizes)))
            nodes[..., a] = x.reshape(shape)
            weights = weights * w.reshape(shape)
        values = self.base(nodes.reshape(-1, d), np.zeros((1, d)))[:, 0]
        return (values * weights.ravel()).reshape(m, -1).sum(axis=1)


def gaussian_pairs(products: GaussianProducts, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Closed form for Gaussian windows; the arguments (..., 2 d) broadcast against each other."""
    total = np.zeros(np.broadcast_shapes(rows.shape[:-1], others.shape[:-1]))
    for w, q in zip(products.weights, products.precisions, strict=True):
        total += w * _gaussian_term(q, rows, others)
    return total


def _gaussian_term(q: np.ndarray, rows: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """Mean of prod_a exp(-q_a u_a^2 / 2) over u_a ~ N(D_a, v_a); all pairs of rows by default.

    It is exp(-q D^2 / (2 (1 + q v))) / sqrt(1 + q v) on each axis.
    """
    if others is None:
        rows, others = rows[:, None], rows[None]
    shape, d = np.broadcast_shapes(rows.shape[:-1], others.shape[:-1]), len(q)
    exponent, volume = np.zeros(shape), np.ones(shape)
    for a in range(d):
        if q[a] == 0.0:
            continue
        spread = 1.0 + q[a] * (rows[..., d + a] ** 2 + others[..., d + a] ** 2)
        exponent += q[a] * (rows[..., a] - others[..., a]) ** 2 / spread
        volume *= spread
    return np.exp(-0.5 * exponent) / np.sqrt(volume)


def gaussian_pairs_gradient(products: GaussianProducts, rows: np.ndarray) -> np.ndarray:
    """Derivatives (n, n, p) of ``gaussian_pairs`` over rows (n, 2 d)."""
    n, d, p = len(rows), products.precisions.shape[1], products.weights_jacobian.shape[1]
    out = np.zeros((n, n, p))
    for k, (w, q) in enumerate(zip(products.weights, products.precisions, strict=True)):
        value = _gaussian_term(q, rows)
        slope = np.multiply.outer(value, products.weights_jacobian[k])
        for a, j in np.argwhere(products.precisions_jacobian[k]):  # of the p usually one each
            v = rows[:, None, d + a] ** 2 + rows[None, :, d + a] ** 2
            spread = 1.0 + q[a] * v
            gap = (rows[:, None, a] - rows[None, :, a]) ** 2
            by_precision = -0.5 * w * value * (gap / spread**2 + v / spread)
            slope[..., j] += by_precision * products.precisions_jacobian[k, a, j]
        out += slope
    return out


def difference_rule(
    gap: np.ndarray, first: np.ndarray, second: np.ndarray, window: str, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights (m, s) for the difference of two points on one axis, split at zero.

    Parameters
    ----------
    gap, first, second : ndarray of shape (m,)
        Difference of the centres, and the two scales.
    window : {"gaussian", "uniform"}
        Shape of both.
    n : int
        Nodes in each panel.
    """
    if window == "gaussian":
        spread = np.hypot(first, second)
        ends = np.stack([gap - REACH * spread, gap + REACH * spread])
        # zero splits the panels where it lies inside; elsewhere the middle does
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
    u[flat], mass[flat] = gap[flat, None], 1.0
    total[flat] = mass.shape[1]
    return u, mass / total[:, None]


def _take(E: WindowRows, part: slice | list[int]) -> WindowRows:
    if isinstance(E, RuledRows):
        return RuledRows(E.rows[part], nodes=E.nodes[part], weights=E.weights[part])
    return WindowRows(E.rows[part], E.origin)


def _tensor_points(E: RuledRows, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (s, d) and weights (s,) of row i, without those of no weight."""
    axes = [(x[w != 0.0], w[w != 0.0]) for x, w in zip(E.nodes[i], E.weights[i], strict=True)]
    points = np.array(list(itertools.product(*(x for x, _ in axes))))
    weights = np.array([np.prod(w) for w in itertools.product(*(w for _, w in axes))])
    return points, weights


def mean_over_rules(
    nodes: np.ndarray, weights: np.ndarray, function: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Means of a function over tensor rules (n, d, s), shape (n,)."""
    E = RuledRows(np.empty((len(nodes), 0)), nodes=nodes, weights=weights)
    out = np.empty(len(nodes))
    for i in range(len(nodes)):
        points, masses = _tensor_points(E, i)
        out[i] = masses @ function(points)
    return out
