r"""Feedback that is the mean of f over a window of any width.

A row is ``[center_1..center_d, scale_1..scale_d]``: a product of one Gaussian (standard deviation
``scale``) or uniform distribution (half-width ``scale``) for each axis, clipped to a box if one is
given. An axis without scale is its centre. There are six ways to compute a covariance of two rows:

================== =================== ==========================================================
base kernel        windows             method
================== =================== ==========================================================
Gaussian products  Gaussian            closed form
Gaussian products  uniform             closed form in the error function, ``skgpb._core._cells``
Gaussian products  clipped             a Gauss rule for the clipped distribution, axis by axis
periodic, d = 1    not clipped         Fourier series, ``skgpb.kernels._harmonics``
Matern, rational   not clipped, d > 1  closed form of a mixture of Gaussian products
quadratic
stationary         not clipped         quadrature over the difference of the two points, d axes
any other          any                 tensor Gauss rule for each window, 2 d axes
================== =================== ==========================================================

The number of nodes of a window follows from its own scale, so a row means the same functional in
every call.

References
----------
.. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
   Optimization with Integrated Feedback", section 3.2 and equation 8.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, Kernel

from skgpb._core._cells import GaussianCells
from skgpb.kernels._harmonics import harmonic_pairs, split_harmonics
from skgpb.kernels._indirect import IndirectKernel, as_points
from skgpb.kernels._products import (
    GaussianProducts,
    compile_gaussian_products,
    gaussian_mixture,
)
from skgpb.kernels._quadrature import (
    clipped_rules,
    hermite,
    legendre,
    mean_over_differences,
    mean_over_rules,
    tensor_rule,
)
from skgpb.kernels._white import noise_of_points, variances
from skgpb.kernels.evaluator import Evaluator, origin_of, relative
from skgpb.utils.validation import box_around
from skgpb.utils.warnings import warn

__all__ = ["WindowMean"]

#: Accuracy: nodes per axis, and in all, for the mean of a given function over a window.
MEAN_NODES, MEAN_POINTS = 48, 20_000
#: Accuracy: numbers of nodes, per axis or per panel, that are tried in turn.
NODE_COUNTS = (4, 6, 8, 12, 16, 24, 32, 48, 64)
#: Accuracy: largest number of points of the tensor rule of one window.
MAX_POINTS = 1024
#: Accuracy: largest number of points of the tensor rule of one difference.
MAX_DIFFERENCES = 40_000
#: Memory: numbers in one block of evaluations (32 MB).
BLOCK_SIZE = 2**22


@dataclass(eq=False, repr=False)
class WindowMean(IndirectKernel):
    r"""Kernel for an instrument with a blur of known width, Gaussian or uniform.

    .. math:: k(a, a') = E[k_{base}(h(a) + \xi,\; h(a') + \xi')]

    with independent :math:`\xi, \xi'`, also for a = a' [IQBO]_. Along each axis :math:`\xi` is
    Gaussian with standard deviation ``scale``, or uniform within ``scale`` of zero. A window
    without width is a point, so that windows of all resolutions and values of f can be mixed.

    Parameters
    ----------
    base : Kernel, default=None
        Kernel of f, over points with d coordinates. Its hyperparameters are this kernel's.
    scale : float, array-like of shape (d,) or callable, default=None
        Standard deviations or half-widths. A callable takes queries A (n, q) and returns scales
        (n,) or (n, d). With None each query has its own scale, in its last column, for all axes.
    window : {"gaussian", "uniform"}, default="gaussian"
        Shape of the window along each axis.
    location : callable, default=None
        The map h: takes queries A (n, q), without the scale if that is the last column, and
        returns centres (n, d). None is the identity.
    domain : array-like of shape (d, 2), default=None
        Box to which :math:`h(a) + \xi` is clipped: mass outside gathers on its faces. This changes
        g considerably near the faces. None does not clip.
    tolerance : float, default=1e-10
        Largest error of a covariance by quadrature, as a share of the variance of f.

    Warns
    -----
    ConvergenceWarning
        If quadrature with an affordable number of nodes does not reach the tolerance. The message
        has the accuracy that it reaches.

    Notes
    -----
    Sums, products and integer powers of ``RBF``, ``ConstantKernel`` and ``WhiteKernel`` have closed
    forms, exact to rounding, unless clipped. On the line so do ``ExpSineSquared`` and its powers,
    products and sums, and for Gaussian windows its products with these: the window damps each
    harmonic. In more dimensions ``ExpSineSquared`` uses the Euclidean distance, so that it is no
    product over axes, and not always a covariance: it is evaluated by quadrature, with a warning if
    a window spans a period. In more dimensions ``Matern`` and ``RationalQuadratic`` kernels, and
    their products with Gaussian ones, are mixtures of some tens of Gaussians, which have closed
    forms: the error is below the tolerance. Other stationary kernels use quadrature over the d
    coordinates of the difference of two points, which converges fast even for kernels with a kink
    at zero; clipped windows and other kernels use quadrature over each window. A row needs the same
    quadrature in every call.

    White noise in ``base`` averages out over a window, and remains in full at a point.

    Rows of this kernel are ``[center, scale]``, 2 d columns: :meth:`points` and :meth:`queries`
    write them.

    References
    ----------
    .. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
       Optimization with Integrated Feedback", section 3.2.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import WindowMean
    >>> kernel = WindowMean(RBF(0.3), scale=None)
    >>> sharp_and_blurred = kernel.queries([[0.5, 0.01], [0.5, 0.4]])  # location, scale
    >>> kernel(sharp_and_blurred, kernel.points([[0.5], [0.9]])).round(3)
    array([[0.999, 0.411],
           [0.6  , 0.436]])
    """

    base: Kernel | None = None
    scale: float | ArrayLike | Callable | None = None
    _: KW_ONLY
    window: str = "gaussian"
    location: Callable | None = None
    domain: ArrayLike | None = None
    tolerance: float = 1e-10

    def rows_of_points(self, X: np.ndarray) -> np.ndarray:
        """Return rows of windows without width, shape (n, 2 d)."""
        self._check_settings(X.shape[1])
        return np.hstack((X, np.zeros_like(X)))

    def rows_of_queries(self, A: np.ndarray) -> np.ndarray:
        """Return rows [center, scale], shape (n, 2 d)."""
        place = A
        if self.scale is None:
            if A.shape[1] < 2:
                raise ValueError("with scale=None the last column of A is the scale; it has one.")
            place, scale = A[:, :-1], A[:, -1]
        elif callable(self.scale):
            scale = np.asarray(self.scale(A), dtype=np.float64)
        else:
            scale = np.asarray(self.scale, dtype=np.float64)
        center = place if self.location is None else np.asarray(self.location(place), np.float64)
        if center.ndim != 2 or len(center) != len(A) or not np.isfinite(center).all():
            raise ValueError(
                f"location(A) must hold finite centres, shape (n, d) with n={len(A)}; got an array"
                f" of shape {center.shape}."
            )
        n, d = center.shape
        if (callable(self.scale) or self.scale is None) and scale.shape == (n,):
            scale = scale[:, None]
        elif scale.shape not in ((), (d,)) and not (callable(self.scale) and scale.shape == (n, d)):
            raise ValueError(
                f"scale must be a number, one for each of {d} axes, or a callable that returns (n,)"
                f" or (n, {d}); got shape {scale.shape}."
            )
        scale = np.broadcast_to(scale, (n, d))
        if not ((scale >= 0.0) & np.isfinite(scale)).all():
            row = int(np.argmin(((scale >= 0.0) & np.isfinite(scale)).all(axis=1)))
            raise ValueError(
                f"scale must be finite and >= 0; query {row} has {scale[row].tolist()}."
            )
        self._check_settings(d)
        return np.hstack((center, scale))

    def mean_of(self, rows: np.ndarray, mean: Callable) -> np.ndarray:
        """Return the means (n,) of a given function over the windows ``rows``, by quadrature."""
        d = rows.shape[1] // 2
        evaluator = self._make_evaluator(rows.shape[1])
        n = max(1, min(MEAN_NODES, int(MEAN_POINTS ** (1.0 / d))))
        nodes, weights = evaluator.rules(evaluator.relative(rows), n)
        if evaluator.origin is not None:
            nodes += evaluator.origin[:, None]
        return mean_over_rules(nodes, weights, mean)

    def _make_evaluator(self, n_columns: int) -> WindowEvaluator:
        d = n_columns // 2
        domain = self._check_settings(d)
        return WindowEvaluator(self._checked_base(), d, self.window, domain, float(self.tolerance))

    def _evaluator_near(self, other: Evaluator, n_columns: int) -> WindowEvaluator:
        evaluator = self._make_evaluator(n_columns)
        if isinstance(other, WindowEvaluator):
            # A change of the number of nodes must not be part of a derivative.
            evaluator.counts = other.counts
        return evaluator

    def _check_settings(self, d: int) -> np.ndarray | None:
        if self.window not in ("gaussian", "uniform"):
            raise ValueError(f"window must be 'gaussian' or 'uniform'; got {self.window!r}.")
        if not (isinstance(self.tolerance, Real) and 0.0 < self.tolerance < 1.0):
            raise ValueError(f"tolerance must be a number in (0, 1); got {self.tolerance!r}.")
        if self.domain is None:
            return None
        domain = as_points(self.domain, "domain")
        if domain.shape != (d, 2) or not (domain[:, 0] < domain[:, 1]).all():
            raise ValueError(
                f"domain must have shape ({d}, 2), rows lower < upper; got {domain.tolist()}."
            )
        return domain

    def _check_rows(self, rows: np.ndarray, name: str) -> None:
        d = rows.shape[1] // 2
        if rows.shape[1] % 2:
            raise ValueError(
                f"{name} must hold rows [center, scale], an even number of columns, as written by"
                f" points or queries; got {rows.shape[1]} columns."
            )
        if not (rows[:, d:] >= 0.0).all():
            row = int(np.argmin((rows[:, d:] >= 0.0).all(axis=1)))
            raise ValueError(
                f"{name} must hold scales >= 0; row {row} has {rows[row, d:].tolist()}."
            )


@dataclass
class WindowRows:
    """Embedding of n rows."""

    rows: np.ndarray  # (n, 2 d)
    origin: np.ndarray | None = None  # (d,), of the centres, if they are far from zero

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(kw_only=True)
class RuledRows(WindowRows):
    """Embedding of n rows with the rules of their windows, padded with weights of zero."""

    nodes: np.ndarray  # (n, d, s)
    weights: np.ndarray  # (n, d, s)


@dataclass(eq=False, repr=False)
class WindowEvaluator:
    """The two-step evaluation for windows.

    Parameters
    ----------
    base : Kernel
        Kernel over points.
    d : int
        Number of coordinates.
    window : {"gaussian", "uniform"}
        Shape along each axis.
    domain : ndarray of shape (d, 2) or None
        Box to which points are clipped.
    tolerance : float
        Largest error of a covariance by quadrature, as a share of the variance of f.
    """

    memory = "whole"

    base: Kernel
    d: int
    window: str
    domain: np.ndarray | None
    tolerance: float

    def __post_init__(self) -> None:
        base, domain = self.base, self.domain
        self.origin: np.ndarray | None = None
        self.half_sides: np.ndarray = np.full(self.d, np.inf)
        if domain is not None:
            self.half_sides = 0.5 * (domain[:, 1] - domain[:, 0])
            # Clipped windows are relative to the middle of the domain, if that is far from zero.
            self.origin = origin_of(base, domain)
            self.domain = relative(domain.T, self.origin).T
        self.counts: dict[tuple[float, ...], int] = {}
        # The part of the kernel that needs quadrature.
        self.rest: Kernel | None = base
        products = compile_gaussian_products(base, self.d)
        self.is_mixture = products is None and domain is None and self.d > 1
        if self.is_mixture:
            products = gaussian_mixture(base, self.d, self.tolerance)
        if products is None:
            stationary = base.is_stationary()
            self.way = "difference" if stationary and domain is None else "tensor"
            line = self.way == "difference" and self.d == 1
            series = split_harmonics(base, self.window == "gaussian") if line else None
            if series is not None:
                self.way = "series"
                self.harmonics, self.rest = series
        else:
            self.way = "closed" if domain is None else "axes"
            self.products = products
            self.cells = GaussianCells(products.weights, products.precisions, None)

    # -- the protocol -----------------------------------------------------------------------

    def embed(self, rows: np.ndarray, offsets: None = None) -> WindowRows:
        """Return the rows, with the rules of their windows if the method needs them."""
        rows = self.relative(rows)
        if self.way == "closed" and self.window == "uniform" and len(rows):
            return WindowRows(rows, origin_of(self.base, box_around(rows[:, : self.d])))
        if self.way in ("closed", "difference", "series"):
            return WindowRows(rows)
        return self._ruled(rows)

    def relative(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (n, 2 d) with centres relative to the origin of the domain, a copy."""
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
        flat = _without_width(E)
        if flat.any():
            points = E.rows[flat, : self.d]
            out[flat] = variances(self.base, points) - noise_of_points(self.base, points)
        distinct, inverse = self._like(E, ~flat)
        covariance = getattr(self, f"_{self.way}")
        values = np.array([covariance(_take(E, [i]), _take(E, [i]))[0, 0] for i in distinct])
        if len(values):
            out[~flat] = values[inverse]
        return out

    def noise(self, E: WindowRows) -> np.ndarray:
        """Return the white noise (n,): the noise of f at a point, zero over a window."""
        out = np.zeros(len(E))
        flat = _without_width(E)
        if flat.any():
            out[flat] = noise_of_points(self.base, E.rows[flat, : self.d])
        return out

    def gradient(self, E: WindowRows) -> np.ndarray | None:
        """Return d K / d theta (n, n, p), noise included, for closed forms; None otherwise."""
        if self.way != "closed":
            return None
        products, flat = self.products, _without_width(E)
        jacobians = products.weights_jacobian, products.precisions_jacobian
        if self.window == "uniform":
            _, out = self.cells.gram_gradient(self._boxes(E.rows, E.origin), *jacobians)
        else:
            out = gaussian_pairs_gradient(products, E.rows)
        diagonal = np.flatnonzero(flat)
        out[diagonal, diagonal] += products.nugget_jacobian
        if self.is_mixture and len(diagonal):
            points = E.rows[diagonal, : self.d]
            out[np.ix_(diagonal, diagonal)] = self.base(points, eval_gradient=True)[1]
        return out

    def _like(self, E: WindowRows, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return one row for each distinct variance, and the index of the variance of each row."""
        rows = E.rows[where]
        if self.way in ("difference", "series"):  # the variance does not depend on the centre
            rows = rows[:, self.d :]
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return np.flatnonzero(where)[first], inverse.ravel()

    def _cost(self, F: WindowRows) -> int:
        return F.nodes.shape[2] ** 2 if isinstance(F, RuledRows) else 1

    # -- closed forms -----------------------------------------------------------------------

    def _closed(self, E: WindowRows, F: WindowRows) -> np.ndarray:
        if not self.is_mixture:
            return self._products_of(E, F)
        i, j = (np.flatnonzero(_without_width(G)) for G in (E, F))
        if not (len(i) and len(j)):
            return self._products_of(E, F)
        of_points = self.base(*(G.rows[k, : self.d] for G, k in ((E, i), (F, j))))
        if of_points.shape == (len(E), len(F)):
            return of_points
        K = self._products_of(E, F)
        K[np.ix_(i, j)] = of_points
        return K

    def _products_of(self, E: WindowRows, F: WindowRows) -> np.ndarray:
        """Return covariances of the Gaussian products that the base kernel is a sum of."""
        if self.window == "gaussian":
            return gaussian_pairs(self.products, E.rows[:, None], F.rows[None])
        return self.cells.cross(*(self._boxes(G.rows, F.origin) for G in (E, F)))

    def _series(self, E: WindowRows, F: WindowRows) -> np.ndarray:
        """Return covariances on the line: harmonics, plus quadrature for the other summands."""
        K = harmonic_pairs(self.harmonics, E.rows, F.rows, self.window)
        return K if self.rest is None else K + self._difference(E, F)

    def _boxes(self, rows: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
        """Return corners (n, 2 d) relative to an origin: far from zero they would lose digits."""
        center, scale = relative(rows[:, : self.d], origin), rows[:, self.d :]
        return np.hstack((center - scale, center + scale))

    def _axes(self, E: RuledRows, F: RuledRows) -> np.ndarray:
        """Return covariances of Gaussian products: one double sum for each axis and term."""
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

        ``n`` is the number of nodes for every axis with a scale; None for that of the tolerance.
        """
        counts = [self.n_nodes(row[self.d :]) if n is None else n for row in rows]
        return clipped_rules(rows, counts, self.domain, self.window)

    def _nodes_of(self, scales: np.ndarray) -> np.ndarray:
        """Return :meth:`n_nodes` of each row of scales (n, d), once for each distinct row."""
        distinct, which = np.unique(scales, axis=0, return_inverse=True)
        return np.array([self.n_nodes(scale) for scale in distinct])[which.ravel()]

    def n_nodes(self, scale: np.ndarray) -> int:
        """Return the number of nodes per axis, or per panel, that reaches the tolerance.

        It is a function of the window's scales alone, rounded up to powers of sqrt(2).
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
        """Increase the number of nodes until a variance settles; warn if it does not."""
        wide = int((scale > 0.0).sum())
        if self.way == "axes":
            return self._search_axes(scale)
        difference = self.way in ("difference", "series")
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
        warn(
            f"quadrature of {self.rest} over {self.window} windows with scale {scale.tolist()} does"
            f" not reach tolerance={self.tolerance:.1e}: with {affordable[-1]} nodes per axis"
            f" covariances still change by {error:.1e} of the variance",
            ConvergenceWarning,
        )
        return affordable[-1]

    def _search_axes(self, scale: np.ndarray) -> int:
        """Choose the number of nodes for Gaussian products, whose closed forms give the errors.

        The part of a window inside the domain needs no more nodes than the domain itself.
        """
        roots = np.sqrt(self.products.precisions)
        widths = {self.window: float((roots * scale).max(initial=0.0))}
        inside = float((roots * np.where(scale > 0.0, self.half_sides, 0.0)).max(initial=0.0))
        widths["uniform"] = min(widths.get("uniform", np.inf), inside)
        for n in NODE_COUNTS:
            if any(self.d * rule_error(*item, n) <= self.tolerance for item in widths.items()):
                return n
        warn(
            f"{self.window} windows with scale {scale.tolist()} are too wide for the quadrature of"
            f" clipped windows at tolerance={self.tolerance:.1e} and kernel {self.base}",
            ConvergenceWarning,
        )
        return n

    def _somewhere(self) -> np.ndarray:
        """Return a point to measure errors at: the middle of the domain, or the origin."""
        return np.zeros(self.d) if self.domain is None else self.domain.mean(axis=1)

    def _by_nodes(self, row: np.ndarray, other: np.ndarray, n: int) -> float:
        if self.way in ("difference", "series"):
            pair = row[None], other[None]
            return float(mean_over_differences(self.rest, *pair, self.window, n)[0])
        return float(self._tensor(self._ruled(row[None], n), self._ruled(other[None], n))[0, 0])

    def _ruled(self, rows: np.ndarray, n: int | None = None) -> RuledRows:
        nodes, weights = self.rules(rows, n)
        return RuledRows(rows, nodes=nodes, weights=weights)

    def _tensor(self, E: RuledRows, F: RuledRows) -> np.ndarray:
        """Return covariances of any kernel: the base at all pairs of points of two tensor rules."""
        left, right = ([*map(tensor_rule, G.nodes, G.weights)] for G in (E, F))
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
        """Return covariances of stationary kernels: means over the difference of two points."""
        K = np.empty((len(E), len(F)))
        left, right = (self._nodes_of(G.rows[:, self.d :]) for G in (E, F))
        counts = np.maximum(left[:, None], right[None])
        for n in np.unique(counts):
            i, j = np.nonzero(counts == n)
            size = (self._panels() * int(n)) ** self.d
            step = max(1, BLOCK_SIZE // (size * (self.d + 1)))
            for start in range(0, len(i), step):
                part = slice(start, start + step)
                pairs = E.rows[i[part]], F.rows[j[part]]
                K[i[part], j[part]] = mean_over_differences(self.rest, *pairs, self.window, int(n))
        return K


def gaussian_pairs(products: GaussianProducts, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return covariances of Gaussian windows in closed form; arguments (..., 2 d) broadcast."""
    total = np.zeros(np.broadcast_shapes(rows.shape[:-1], others.shape[:-1]))
    for w, q in zip(products.weights, products.precisions, strict=True):
        total += w * _gaussian_term(q, rows, others)
    return total


def _gaussian_term(q: np.ndarray, rows: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """Return the mean of prod_a exp(-q_a u_a^2 / 2) over u_a ~ N(D_a, v_a), for all pairs.

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
    """Return the derivatives (n, n, p) of ``gaussian_pairs`` over rows (n, 2 d)."""
    n, d, p = len(rows), products.precisions.shape[1], products.weights_jacobian.shape[1]
    out = np.zeros((n, n, p))
    for k, (w, q) in enumerate(zip(products.weights, products.precisions, strict=True)):
        value = _gaussian_term(q, rows)
        slope = np.multiply.outer(value, products.weights_jacobian[k])
        for a, j in np.argwhere(products.precisions_jacobian[k]):  # usually one j for each a
            v = rows[:, None, d + a] ** 2 + rows[None, :, d + a] ** 2
            spread = 1.0 + q[a] * v
            gap = (rows[:, None, a] - rows[None, :, a]) ** 2
            by_precision = -0.5 * w * value * (gap / spread**2 + v / spread)
            slope[..., j] += by_precision * products.precisions_jacobian[k, a, j]
        out += slope
    return out


def _without_width(E: WindowRows) -> np.ndarray:
    """Return a mask (n,) of the windows that are points."""
    return (E.rows[:, E.rows.shape[1] // 2 :] == 0.0).all(axis=1)


def _take(E: WindowRows, part: slice | list[int]) -> WindowRows:
    if isinstance(E, RuledRows):
        return RuledRows(E.rows[part], nodes=E.nodes[part], weights=E.weights[part])
    return WindowRows(E.rows[part], E.origin)


@functools.lru_cache(maxsize=1024)
def rule_error(window: str, ratio: float, n: int) -> float:
    """Return the error of n nodes for RBF(1) and windows of scale ``ratio``.

    The covariances are those of a window with itself and with points.
    """
    nodes, weights = hermite(n) if window == "gaussian" else legendre(n)
    rows = np.array([[0.0, ratio], [0.0, 0.0], [2.0 * max(1.0, ratio), 0.0]])
    evaluator = WindowEvaluator(RBF(1.0), 1, window, None, 1.0)
    exact = evaluator.cross(WindowRows(rows[:1]), WindowRows(rows))[0]
    y = np.concatenate([ratio * nodes, rows[1:, 0]])
    values = weights @ np.exp(-0.5 * (ratio * nodes[:, None] - y) ** 2)
    return float(np.abs([values[:n] @ weights - exact[0], *(values[n:] - exact[1:])]).max())
