r"""Kernel expressions as sums of products of functions of scaled distances.

Sums, products and positive integer powers of ``Matern``, ``RationalQuadratic``, ``RBF``
(``AxisMatern`` and ``AxisRBF`` for the columns of settings), ``ConstantKernel`` and ``WhiteKernel``
are polynomials in these leaves,

.. math:: k(x, x') = \nu\,[x \text{ is } x'] + \sum_k w_k \prod_l g_l(s_l)^{p_{kl}},
          \qquad s_l = \sum_a q_{la} (x_a - x'_a)^2,

with g_l(0) = 1. Means over grids of such a kernel are in ``skgpb._core._radial``. Without Matern
and rational quadratic kernels a monomial is again a weighted Gaussian,

.. math:: k(x, x') = \nu\,[x \text{ is } x']
          + \sum_k w_k \prod_a \exp\bigl(-q_{ka} (x_a - x'_a)^2 / 2\bigr),

and means over boxes factorise over the axes; see ``skgpb._core._cells``.

References
----------
.. [Trefethen2014] L. N. Trefethen and J. A. C. Weideman, "The exponentially convergent trapezoidal
   rule", SIAM Review 56, 2014.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import accumulate, product, zip_longest
from math import prod
from typing import Any

import numpy as np
from scipy.special import digamma, gammainccinv, gammaincinv, gammaln
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Exponentiation,
    Hyperparameter,
    Kernel,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from skgpb._core._radial import RadialCells
from skgpb.kernels._settings import AxisMatern, AxisRBF, starts_of

#: Speed: largest number of monomials of an expansion; kernels with more use the generic path.
MAX_TERMS = 64
#: Speed: largest number of Gaussian products that approximate a kernel.
MAX_MIXTURE = 400
#: Leaves of Gaussian products.
GAUSSIAN_LEAVES = (RBF, AxisRBF, ConstantKernel, WhiteKernel)
#: Leaves of products of functions of distances.
RADIAL_LEAVES = (*GAUSSIAN_LEAVES, Matern, AxisMatern, RationalQuadratic)
#: Format: codes of the functions; of Matern kernels by nu, with one code for any other nu.
GAUSSIAN, GENERAL_MATERN, RATIONAL_QUADRATIC = 0, 4, 5
MATERN = {0.5: 1, 1.5: 2, 2.5: 3, np.inf: GAUSSIAN}

#: A polynomial in the leaves: exponents of all leaves -> coefficient.
Polynomial = Counter[tuple[int, ...]]


@dataclass(frozen=True)
class GaussianProducts:
    """A kernel as a nugget and a sum of Gaussian products, with derivatives by ``theta``.

    ``theta`` holds the logarithms of the p free hyperparameters in the kernel's own order.
    """

    weights: np.ndarray  # (n_terms,), w
    precisions: np.ndarray  # (n_terms, d), q: one over squared length scale
    nugget: float  # variance of the white noise
    weights_jacobian: np.ndarray  # (n_terms, p), d w / d theta
    precisions_jacobian: np.ndarray  # (n_terms, d, p), d q / d theta
    nugget_jacobian: np.ndarray  # (p,), d nugget / d theta

    @property
    def jacobians(self) -> tuple[np.ndarray, ...]:
        """Arguments of ``GaussianCells.gram_gradient``."""
        return self.weights_jacobian, self.precisions_jacobian


@dataclass(frozen=True)
class RadialProducts:
    """A kernel as a nugget and a sum of products of leaves, with derivatives by ``theta``.

    ``theta`` holds the logarithms of the p free hyperparameters in the kernel's own order.
    """

    weights: np.ndarray  # (n_terms,), w
    powers: np.ndarray  # (n_terms, n_leaves), p
    kinds: np.ndarray  # (n_leaves,)
    precisions: np.ndarray  # (n_leaves, d), q: one over squared length scale
    shapes: np.ndarray  # (n_leaves,), nu of a Matern kernel, alpha of a rational quadratic one
    nugget: float  # variance of the white noise
    weights_jacobian: np.ndarray  # (n_terms, p), d w / d theta
    precisions_jacobian: np.ndarray  # (n_leaves, d, p), d q / d theta
    shapes_jacobian: np.ndarray  # (n_leaves, p), d log alpha / d theta
    nugget_jacobian: np.ndarray  # (p,), d nugget / d theta

    @property
    def jacobians(self) -> tuple[np.ndarray, ...]:
        """Arguments of ``RadialCells.gram_gradient``."""
        return self.weights_jacobian, self.precisions_jacobian, self.shapes_jacobian

    def cells(self, n_representatives: tuple[int, ...]) -> RadialCells:
        """Return the means over grids with given numbers of points along each axis."""
        return RadialCells(
            self.weights, self.powers, self.kinds, self.precisions, self.shapes, n_representatives
        )


def compile_gaussian_products(kernel: Kernel, n_features: int) -> GaussianProducts | None:
    """Expand a kernel into Gaussian products.

    Parameters
    ----------
    kernel : Kernel
        Kernel over points of d = ``n_features`` coordinates.
    n_features : int
        Number of coordinates.

    Returns
    -------
    products : GaussianProducts or None
        None when the kernel has another form (other kernels, subclasses of the leaves,
        powers that are not positive integers) or more than ``MAX_TERMS`` monomials.
    """
    found = compile_radial_products(kernel, n_features, GAUSSIAN_LEAVES)
    if found is None:
        return None
    return GaussianProducts(
        found.weights,
        found.powers @ found.precisions,
        found.nugget,
        found.weights_jacobian,
        np.einsum("kl,lap->kap", found.powers, found.precisions_jacobian),
        found.nugget_jacobian,
    )


def gaussian_mixture(kernel: Kernel, n_features: int, tolerance: float) -> GaussianProducts | None:
    r"""Approximate a kernel by Gaussian products.

    Matern and rational quadratic kernels are mixtures of Gaussians of all length scales,

    .. math:: g(s) = \int_0^\infty e^{-t s / 2}\, m(t)\, dt,

    with t = nu / u for a Matern kernel and t = u / alpha for a rational quadratic one, where u has
    a Gamma distribution of shape nu or alpha. In log u the integrand is analytic within a strip of
    half-width pi / 2, so that the trapezoidal rule converges exponentially [Trefethen2014]_.

    Parameters
    ----------
    kernel : Kernel
        Kernel over points of d = ``n_features`` coordinates.
    n_features : int
        Number of coordinates.
    tolerance : float
        Largest error of a covariance, as a share of the variance.

    Returns
    -------
    products : GaussianProducts or None
        None when the kernel has another form, or needs more than ``MAX_MIXTURE`` terms.
    """
    found = compile_radial_products(kernel, n_features)
    if found is None:
        return None
    rules: list[Any] = [
        _mixture_rule(kind, shape, tolerance)
        for kind, shape in zip(found.kinds, found.shapes, strict=True)
    ]
    if None in rules:
        return None
    weights: list[float] = []
    precisions, by_weight, by_precision = [], [], []
    for w, powers, jacobian in zip(
        found.weights, found.powers, found.weights_jacobian, strict=True
    ):
        leaves = np.repeat(np.arange(len(powers)), powers)
        if len(weights) + prod(len(rules[i][0]) for i in leaves) > MAX_MIXTURE:
            return None
        for nodes in product(*(zip(*rules[i], strict=True) for i in leaves)):
            t, masses, slopes = np.array(nodes).reshape(-1, 3).T
            mass = masses.prod()
            weights.append(w * mass)
            by_weight.append(mass * (jacobian + w * slopes @ found.shapes_jacobian[leaves]))
            precisions.append(t @ found.precisions[leaves])
            by_precision.append(np.tensordot(t, found.precisions_jacobian[leaves], 1))
    n, n_theta = len(weights), len(found.nugget_jacobian)
    return GaussianProducts(
        np.array(weights),
        np.array(precisions).reshape(n, n_features),
        found.nugget,
        np.array(by_weight).reshape(n, n_theta),
        np.array(by_precision).reshape(n, n_features, n_theta),
        found.nugget_jacobian,
    )


def _mixture_rule(
    kind: int, shape: float, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return precisions t (n,) and masses (n,) of a leaf, and d log mass / d log alpha (n,).

    None if these are too many.
    """
    if kind == GAUSSIAN:
        return np.ones(1), np.ones(1), np.zeros(1)
    least = 0.1 * tolerance  # of each of three errors
    low, high = gammaincinv(shape, least), gammainccinv(shape, least)
    # On a line at a distance y the density of log u is larger by cos(y)^-shape at most.
    y = np.linspace(0.01, 0.5 * np.pi, 200, endpoint=False)
    step = (2.0 * np.pi * y / (-np.log(least) - shape * np.log(np.cos(y)))).max()
    if not low > 0.0 or np.log(high) - np.log(low) > MAX_MIXTURE * step:
        return None
    x = np.arange(np.log(low), np.log(high) + step, step)
    masses = step * np.exp(shape * x - np.exp(x) - gammaln(shape))
    if kind != RATIONAL_QUADRATIC:
        # The rest has so short length scales that it only counts at distance 0.
        masses[0] += 1.0 - masses.sum()
        return shape * np.exp(-x), masses, np.zeros(len(x))
    t = np.exp(x) / shape
    by_alpha = shape * (np.log(shape) + 1.0 - digamma(shape) + np.log(t) - t)
    masses[0] += 1.0 - masses.sum()
    # The masses sum to 1 for every alpha, so that the variance does not depend on alpha.
    return t, masses, by_alpha - masses @ by_alpha


def compile_radial_products(
    kernel: Kernel, n_features: int, leaf_kinds: tuple[type[Kernel], ...] = RADIAL_LEAVES
) -> RadialProducts | None:
    """Expand a kernel into products of functions of scaled distances.

    Parameters
    ----------
    kernel : Kernel
        Kernel over points of d = ``n_features`` coordinates.
    n_features : int
        Number of coordinates.
    leaf_kinds : tuple of types, default=RADIAL_LEAVES
        Types of leaves that are accepted.

    Returns
    -------
    products : RadialProducts or None
        None when the kernel has another form, or length scales, alpha or nu for which the
        functions are not finite.
    """
    leaves: list[Kernel] = []
    polynomial = expand(kernel, leaves, leaf_kinds)
    if polynomial is None:
        return None
    radial, found, sizes = [i for i, leaf in enumerate(leaves) if _is_radial(leaf)], [], []
    for leaf in leaves:
        if not _is_radial(leaf):
            sizes.append(int(not _hyperparameter(leaf).fixed))
            continue
        one = _radial_leaf(leaf, n_features)
        if one is None:
            return None
        found.append(one)
        sizes.append(one.shape_is_free + one.jacobian.shape[1])
    columns = [0, *accumulate(sizes)]
    n_theta = columns[-1]

    precisions_jacobian = np.zeros((len(radial), n_features, n_theta))
    shapes_jacobian = np.zeros((len(radial), n_theta))
    for l, (i, leaf) in enumerate(zip(radial, found, strict=True)):  # noqa: E741
        # A rational quadratic's alpha comes before its length scale: names are in order.
        first = columns[i] + leaf.shape_is_free
        precisions_jacobian[l, :, first : columns[i + 1]] = leaf.jacobian
        shapes_jacobian[l, columns[i] : first] = 1.0

    constants = [(i, constant_of(leaf)) for i, leaf in enumerate(leaves) if i not in radial]
    white = [i for i, leaf in enumerate(leaves) if type(leaf) is WhiteKernel]
    rows, nugget, nugget_jacobian = [], 0.0, np.zeros(n_theta)
    for exponents, coefficient in polynomial.items():
        powers = exponents + (0,) * (len(leaves) - len(exponents))
        weight, jacobian = float(coefficient), np.zeros(n_theta)
        for i, constant in constants:
            weight *= constant ** powers[i]
            jacobian[columns[i] : columns[i + 1]] = powers[i]
        jacobian *= weight
        if any(powers[i] for i in white):
            # Radial functions are 1 at distance 0, where white noise is.
            nugget += weight
            nugget_jacobian += jacobian
        else:
            rows.append((weight, [powers[i] for i in radial], jacobian))
    n_terms = len(rows)
    return RadialProducts(
        weights=np.array([row[0] for row in rows], dtype=np.float64),
        powers=np.array([row[1] for row in rows], dtype=np.intp).reshape(n_terms, len(radial)),
        kinds=np.array([leaf.kind for leaf in found], dtype=np.intp),
        precisions=np.array([leaf.precision for leaf in found]).reshape(len(radial), n_features),
        shapes=np.array([leaf.shape for leaf in found], dtype=np.float64),
        nugget=nugget,
        weights_jacobian=np.array([row[2] for row in rows]).reshape(n_terms, n_theta),
        precisions_jacobian=precisions_jacobian,
        shapes_jacobian=shapes_jacobian,
        nugget_jacobian=nugget_jacobian,
    )


def expand(
    kernel: Kernel, leaves: list[Kernel], kinds: tuple[type[Kernel], ...]
) -> Polynomial | None:
    """Expand a kernel into a polynomial, appending its leaves in the order of ``theta``.

    Exponents are tuples indexed by leaf; they end at the last leaf of their time, and missing ones
    are zeros. Types are compared exactly, because a subclass may compute anything. The result is
    None if a leaf is of none of the ``kinds``.
    """
    kind = type(kernel)
    if kind in kinds:
        leaves.append(kernel)
        return Counter({(0,) * (len(leaves) - 1) + (1,): 1})
    if kind is Sum or kind is Product:
        left, right = (expand(part, leaves, kinds) for part in (kernel.k1, kernel.k2))
        if left is None or right is None:
            return None
        if kind is Product:
            return _multiply(left, right)
        total = left + right  # leaves are never shared, so neither are monomials
        return total if len(total) <= MAX_TERMS else None
    if kind is Exponentiation:
        exponent = float(kernel.exponent)
        if not (exponent >= 1.0 and exponent.is_integer()):
            return None
        factor = power = expand(kernel.kernel, leaves, kinds)
        for _ in range(int(exponent) - 1):
            if factor is None or power is None:
                return None
            power = _multiply(power, factor)
        return power
    return None


def _multiply(left: Polynomial, right: Polynomial) -> Polynomial | None:
    product: Polynomial = Counter()
    for a, coefficient_a in left.items():
        for b, coefficient_b in right.items():
            exponents = tuple(map(sum, zip_longest(a, b, fillvalue=0)))
            product[exponents] += coefficient_a * coefficient_b
        if len(product) > MAX_TERMS:
            return None
    return product


def precisions_of(leaf: Kernel, d: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return precisions (d,) of a leaf, and derivatives (d, n) by its length scales.

    None if a length scale is too short to have a finite precision.
    """
    by_axis = isinstance(leaf, AxisRBF | AxisMatern)
    length_scale: Any = leaf.length_scale
    if by_axis:
        length_scale = np.atleast_1d(length_scale)[np.asarray(leaf.groups)]
    length_scale = np.squeeze(length_scale).astype(float)
    if length_scale.ndim > 1 or (length_scale.ndim == 1 and len(length_scale) != d):
        raise ValueError(
            f"length_scale of {type(leaf).__name__} must be a number or one number for each of the"
            f" {d} coordinates; got {leaf.length_scale!r}."
        )
    with np.errstate(divide="ignore", over="ignore"):
        precision = np.broadcast_to(1.0 / length_scale**2, (d,)).copy()
    if not np.isfinite(precision).all():
        return None
    if leaf.hyperparameter_length_scale.fixed:
        jacobian = np.zeros((d, 0))
    elif length_scale.ndim == 1:
        jacobian = np.diag(-2.0 * precision)
    else:
        jacobian = -2.0 * precision[:, None]
    if by_axis and jacobian.shape[1] > 1:
        jacobian = np.add.reduceat(jacobian, starts_of(np.asarray(leaf.groups)), axis=1)
    return precision, jacobian


@dataclass(frozen=True)
class _RadialLeaf:
    """Function of a leaf kernel, and the scaled distance that is its argument."""

    kind: int
    precision: np.ndarray  # (d,)
    jacobian: np.ndarray  # (d, number of free length scales)
    shape: float
    shape_is_free: bool


def _is_radial(leaf: Kernel) -> bool:
    return type(leaf) not in (ConstantKernel, WhiteKernel)


def constant_of(leaf: Kernel) -> float:
    """Return the value of a constant, or the variance of white noise."""
    return float(leaf.constant_value if type(leaf) is ConstantKernel else leaf.noise_level)


def _hyperparameter(leaf: Kernel) -> Hyperparameter:
    if type(leaf) is ConstantKernel:
        return leaf.hyperparameter_constant_value
    return leaf.hyperparameter_noise_level


def _radial_leaf(leaf: Kernel, d: int) -> _RadialLeaf | None:
    scales = precisions_of(leaf, d)
    if scales is None:
        return None
    precision, jacobian = scales
    kind, shape, free = GAUSSIAN, 1.0, False
    if type(leaf) is RationalQuadratic:
        if np.ndim(leaf.length_scale):
            return None  # the kernel itself raises: it has one length scale for all axes
        kind, shape = RATIONAL_QUADRATIC, float(leaf.alpha)
        free = not leaf.hyperparameter_alpha.fixed
    elif isinstance(leaf, Matern):
        kind, shape = MATERN.get(leaf.nu, GENERAL_MATERN), float(leaf.nu)
    if not (shape > 0.0 and (np.isfinite(shape) or kind == GAUSSIAN)):
        return None
    return _RadialLeaf(kind, precision, jacobian, shape, free)
