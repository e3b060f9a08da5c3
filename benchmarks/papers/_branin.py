r"""Branin behind an indirect query: the third paper's synthetic problems.

A query a in the unit square is answered by the conditional expectation of f = -Branin,

.. math::

    g(a) = \mathrm{E}\, f\left( \mathrm{clip}(h(a) + \tau \xi) \right), \qquad
    \xi \sim N(0, I_2),

with h linear, :math:`h(a) = (15 a_1 - 5, 15 a_2)`, or not,
:math:`h(a) = (15 \cos(\pi a_1 / 2) - 5, 15 \cos(\pi a_2 / 2))`.
"Truncated" in the paper is read as clipped to the domain (decision D-C6); that moves g by up to 43
units near the borders. Branin is a quadratic in its second coordinate with coefficients that depend
on the first, so g needs one-dimensional quadrature only and is exact to rounding.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025. Section 7.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from skgpb.utils.validation import MOST_CHILDREN, check_size

_LOWER, _UPPER = np.array([-5.0, 0.0]), np.array([10.0, 15.0])
_CURVE, _TILT, _LEVEL = 5.1 / (4 * np.pi**2), 5 / np.pi, 6.0
_WAVE = 10 * (1 - 1 / (8 * np.pi))
_ARGMAX = np.array([[-np.pi, 12.275], [np.pi, 2.275], [3 * np.pi, 2.475]])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
# Standard deviations beyond which a normal density is 0 to rounding.
_REACH = 9.0


def branin(X: ArrayLike) -> NDArray[np.float64]:
    """Return -Branin, to be maximised, at each row of X.

    Parameters
    ----------
    X : array-like of shape (n_points, 2)

    Returns
    -------
    values : ndarray of shape (n_points,)
        At most -0.397887, attained at three points.

    Examples
    --------
    >>> import numpy as np
    >>> branin([[np.pi, 2.275], [0.0, 0.0]]).round(4)
    array([ -0.3979, -55.6021])
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"X must have shape (n_points, 2); got {X.shape}.")
    x, y = X.T
    return -((y - _valley(x)) ** 2 + _WAVE * np.cos(x) + 10.0)


def _valley(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the second coordinate of the valley's floor above the first, x."""
    return _CURVE * x**2 - _TILT * x + _LEVEL


def _expected_branin(axes: list[tuple[NDArray[np.float64], NDArray]]) -> NDArray[np.float64]:
    """E f(x, y) for independent x, y given by nodes and weights, (n, m) each."""
    (x, v), (y, w) = axes
    floor = _valley(x)
    square = (w * y * y).sum(1) - 2 * (w * y).sum(1) * (v * floor).sum(1)
    square += (v * floor * floor).sum(1)
    return -(square + (v * (_WAVE * np.cos(x) + 10.0)).sum(1))


def _clipped_normal(
    center: np.ndarray, scale: np.ndarray, axis: int
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of clip(N(center, scale^2)) along one axis of the domain."""
    lower, upper = _LOWER[axis], _UPPER[axis]
    # In standard deviations: differences of nodes would lose the digits of a narrow scatter.
    start = np.clip((lower - center) / scale, -_REACH, _REACH)[:, None]
    width = np.clip((upper - center) / scale, -_REACH, _REACH)[:, None] - start
    z = start + 0.5 * (_NODES + 1.0) * width
    nodes = center[:, None] + scale[:, None] * z
    weights = 0.5 * _WEIGHTS * width * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    ends = np.broadcast_to([lower, upper], (len(center), 2))
    tails = [ndtr((lower - center) / scale), ndtr((center - upper) / scale)]
    return np.hstack([nodes, ends]), np.hstack([weights, np.column_stack(tails)])


@dataclass(frozen=True)
class IndirectBranin:
    """-Branin, seen through a known map and Gaussian scatter (Fig. 1 of the paper).

    Parameters
    ----------
    transformation : {"linear", "cosine"}, default="linear"
        The map h from queries to the domain, LT or NLT in the paper.
    scale : float, default=sqrt(0.5)
        tau, the standard deviation of the scatter, in units of x.
    noise_std : float, default=0.5
        Standard deviation of the noise of an answer. The paper does not state it.

    Attributes
    ----------
    bounds, query_bounds : ndarray of shape (2, 2)
        The domain of f and the unit square of queries.
    optimum : float
        Largest value of f, -0.397887.
    argmax : ndarray of shape (3, 2)
        Points at which it is attained.

    Examples
    --------
    >>> import numpy as np
    >>> problem = IndirectBranin("cosine")
    >>> problem.g([[0.5, 0.5]]).round(3)
    array([-104.792])
    >>> X, A = problem.pairs(500, np.random.default_rng(0))
    >>> X.shape, A.shape
    ((500, 2), (500, 2))
    """

    transformation: str = "linear"
    scale: float = 0.5**0.5
    noise_std: float = 0.5
    bounds: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    query_bounds: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    optimum: float = field(init=False, repr=False)
    argmax: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.transformation not in ("linear", "cosine"):
            raise ValueError(
                f'transformation must be "linear" or "cosine"; got {self.transformation!r}.'
            )
        if not self.scale > 0.0 or not self.noise_std >= 0.0:
            raise ValueError("scale must be positive and noise_std at least 0.")
        put = object.__setattr__
        put(self, "bounds", np.column_stack([_LOWER, _UPPER]))
        put(self, "query_bounds", np.array([[0.0, 1.0], [0.0, 1.0]]))
        put(self, "argmax", _ARGMAX.copy())
        put(self, "optimum", float(branin(_ARGMAX).max()))
        for array in (self.bounds, self.query_bounds, self.argmax):
            array.setflags(write=False)

    def f(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the function to be maximised at each row of X, shape (n_points,)."""
        return branin(X)

    def location(self, A: ArrayLike) -> NDArray[np.float64]:
        """Return h(a) for each of the queries A (n, 2), shape (n, 2)."""
        A = np.atleast_2d(np.asarray(A, dtype=np.float64))[:, :2]
        return 15.0 * (A if self.transformation == "linear" else np.cos(0.5 * np.pi * A)) + _LOWER

    def g(self, A: ArrayLike, scale: Any = None) -> NDArray[np.float64]:
        """Return the noiseless answers.

        Parameters
        ----------
        A : array-like of shape (n, 2)
            Queries.
        scale : float or array-like of shape (n,), default=None
            tau, None for the problem's own.

        Returns
        -------
        values : ndarray of shape (n,)
        """
        center = self.location(A)
        scale = np.broadcast_to(self.scale if scale is None else scale, len(center)).astype(float)
        return _expected_branin([_clipped_normal(center[:, i], scale, i) for i in range(2)])

    def pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw D1: n pairs of an input X (n, 2) and the query A (n, 2), uniform, it came from."""
        A = rng.uniform(size=(check_size(n, "n"), 2))
        X = self.location(A) + self.scale * rng.standard_normal((n, 2))
        return np.clip(X, _LOWER, _UPPER), A

    def value(self, query: Any) -> float:
        """Return the noiseless answer to a query of an optimizer, or to a row a."""
        return float(self.g(np.atleast_2d(getattr(query, "a", query)))[0])

    def observe(self, query: Any, rng: np.random.Generator) -> float:
        """Answer a query with Gaussian noise."""
        return self.value(query) + self.noise_std * float(rng.standard_normal())


@dataclass(frozen=True)
class MultiResolutionBranin(IndirectBranin):
    r"""-Branin, seen at resolutions that cost the more the finer they are (Fig. 2).

    Queries are cells of a tree over the unit square, of depth l = 0, 1, ..., 6. A cell of depth l
    costs :math:`\lambda_l = 0.5 \log_2(2^{l + 1})`, its answer has noise of standard deviation
    :math:`0.5 / \lambda_l`.

    Parameters
    ----------
    transformation : {"linear", "cosine"}, default="linear"
        The map from queries to the domain.
    window : {"gaussian", "cell"}, default="gaussian"
        Average that an answer observes: f around the image of the cell's centre, with
        :math:`\tau_l = 0.5 / \lambda_l` in units of x, or f over the image of the whole cell.

    Examples
    --------
    >>> problem = MultiResolutionBranin()
    >>> [problem.cost(depth) for depth in (0, 1, 6)]
    [0.5, 1.0, 3.5]
    """

    window: str = "gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window not in ("gaussian", "cell"):
            raise ValueError(f'window must be "gaussian" or "cell"; got {self.window!r}.')

    @staticmethod
    def cost(depth: int) -> float:
        """Return the cost of a query of some depth."""
        return 0.5 * (depth + 1)

    def level_noise_std(self, depth: int) -> float:
        """Return the standard deviation of the noise of an answer of some depth."""
        return 0.5 / self.cost(depth)

    def level_scale(self, depth: int) -> float:
        """Return tau at some depth, in units of x."""
        return 0.5 / self.cost(depth)

    def pairs(self, n: int, rng: np.random.Generator, max_depth: int = 6) -> tuple[Any, ...]:
        """Draw pairs X (n, 2) and A (n, 3), whose last column is tau, at depths 0..max_depth."""
        n, max_depth = check_size(n, "n"), check_size(max_depth, "max_depth", 0, MOST_CHILDREN)
        scale = np.array([self.level_scale(depth) for depth in range(max_depth + 1)])
        scale = rng.choice(scale, size=n)
        A = rng.uniform(size=(n, 2))
        X = self.location(A) + scale[:, None] * rng.standard_normal((n, 2))
        return np.clip(X, _LOWER, _UPPER), np.column_stack([A, scale])

    def value(self, query: Any) -> float:
        """Return the noiseless answer to a cell with ``depth``, ``lower`` and ``upper``."""
        lower, upper = (np.asarray(c, dtype=np.float64) for c in (query.lower, query.upper))
        if self.window == "gaussian":
            return float(self.g(0.5 * (lower + upper)[None], self.level_scale(query.depth))[0])
        A = lower + 0.5 * (_NODES[:, None] + 1.0) * (upper - lower)
        X = self.location(A)
        return float(_expected_branin([(X[None, :, i], 0.5 * _WEIGHTS[None]) for i in (0, 1)])[0])

    def observe(self, query: Any, rng: np.random.Generator) -> float:
        """Answer a query with the noise of its depth."""
        noise = self.level_noise_std(query.depth) * float(rng.standard_normal())
        return self.value(query) + noise
