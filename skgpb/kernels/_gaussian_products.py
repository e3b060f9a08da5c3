r"""Write a kernel expression as a sum of Gaussian products, where that is possible.

Sums, products and positive integer powers of ``RBF`` (``AxisRBF`` for the columns of settings),
``ConstantKernel`` and ``WhiteKernel`` are
polynomials in these leaves, and a monomial in them is again a weighted Gaussian, so that

.. math:: k(x, x') = \nu\,[x \text{ is } x']
          + \sum_k w_k \prod_a \exp\bigl(-q_{ka} (x_a - x'_a)^2 / 2\bigr).

Means over boxes of such a kernel factorise over the axes; see ``skgpb._core._cells``.
"""

from __future__ import annotations

import numbers
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Exponentiation,
    Kernel,
    Product,
    Sum,
    WhiteKernel,
)

from skgpb.kernels._settings import AxisMatern, AxisRBF, starts_of

#: Speed: expansions with more monomials than this are left to the generic path.
MAX_TERMS = 64
#: Kernels that Gaussian products are made of.
GAUSSIAN_LEAVES = (RBF, AxisRBF, ConstantKernel, WhiteKernel)

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
        None when the kernel has another form (other kernels, subclasses of the three leaves,
        powers that are not positive integers) or more than ``MAX_TERMS`` monomials.
    """
    leaves: list[Kernel] = []
    polynomial = expand(kernel, leaves, GAUSSIAN_LEAVES)
    if polynomial is None:
        return None
    logs = []
    for leaf in leaves:
        log = log_leaf(leaf, n_features)
        if log is None:
            return None
        logs.append(log)

    n_theta = sum(log.n_theta for log in logs)
    rows, nugget, nugget_jacobian = [], 0.0, np.zeros(n_theta)
    for exponents, coefficient in polynomial.items():
        weight, precision = float(coefficient), np.zeros(n_features)
        slopes: list[float] = []
        precision_jacobian = []
        for log, power in zip(logs, exponents + (0,) * (len(logs) - len(exponents)), strict=True):
            weight *= log.scale**power
            precision += power * log.precision
            slopes += [float(power * log.is_scale)] * log.n_theta
            precision_jacobian.append(power * log.precision_jacobian)
        weight_jacobian = weight * np.array(slopes)
        if any(p and type(leaf) is WhiteKernel for leaf, p in zip(leaves, exponents, strict=False)):
            # White noise times a Gaussian product is white noise: the Gaussian is 1 at distance 0.
            nugget += weight
            nugget_jacobian += weight_jacobian
        else:
            rows.append((weight, precision, weight_jacobian, np.hstack(precision_jacobian)))
    n_terms = len(rows)
    return GaussianProducts(
        weights=np.array([row[0] for row in rows], dtype=np.float64),
        precisions=np.array([row[1] for row in rows]).reshape(n_terms, n_features),
        nugget=nugget,
        weights_jacobian=np.array([row[2] for row in rows]).reshape(n_terms, n_theta),
        precisions_jacobian=np.array([row[3] for row in rows]).reshape(
            n_terms, n_features, n_theta
        ),
        nugget_jacobian=nugget_jacobian,
    )


def expand(
    kernel: Kernel, leaves: list[Kernel], kinds: tuple[type[Kernel], ...]
) -> Polynomial | None:
    """Expand a kernel into a polynomial, appending its leaves in the order of ``theta``.

    Exponents are tuples indexed by leaf; they end at the last leaf known when they were written,
    shorter tuples meaning zeros. Exact type checks, because a subclass may compute anything. None
    where a leaf is of none of the ``kinds``.
    """
    kind = type(kernel)
    if kind in kinds:
        leaves.append(kernel)
        return Counter({(0,) * (len(leaves) - 1) + (1,): 1})
    if kind is Sum or kind is Product:
        left = expand(kernel.k1, leaves, kinds)
        if left is None:
            return None
        right = expand(kernel.k2, leaves, kinds)
        if right is None:
            return None
        if kind is Product:
            return _multiply(left, right)
        total = left + right  # leaves are never shared, so neither are monomials
        return total if len(total) <= MAX_TERMS else None
    if kind is Exponentiation:
        exponent = kernel.exponent
        if not isinstance(exponent, numbers.Real):
            return None
        exponent = float(exponent)
        if exponent < 1 or not exponent.is_integer():
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
            width = max(len(a), len(b))
            a_, b_ = a + (0,) * (width - len(a)), b + (0,) * (width - len(b))
            exponents = tuple(i + j for i, j in zip(a_, b_, strict=True))
            product[exponents] += coefficient_a * coefficient_b
        if len(product) > MAX_TERMS:
            return None
    return product


@dataclass(frozen=True)
class LogLeaf:
    """Contribution of a leaf kernel to a monomial, per power of the leaf."""

    scale: float  # factor of the weight
    precision: np.ndarray  # (d,), summand of the precisions
    is_scale: bool  # whether its hyperparameter is the scale
    n_theta: int  # number of free hyperparameters
    precision_jacobian: np.ndarray  # (d, n_theta)


def log_leaf(leaf: Kernel, d: int) -> LogLeaf | None:
    """Return the contribution of a leaf kernel; None for a length scale that is too short."""
    if type(leaf) not in (RBF, AxisRBF):
        if type(leaf) is ConstantKernel:
            scale, fixed = leaf.constant_value, leaf.hyperparameter_constant_value.fixed
        else:
            scale, fixed = leaf.noise_level, leaf.hyperparameter_noise_level.fixed
        n_theta = 0 if fixed else 1
        return LogLeaf(float(scale), np.zeros(d), True, n_theta, np.zeros((d, n_theta)))
    found = precisions_of(leaf, d)
    if found is None:
        return None
    precision, jacobian = found
    return LogLeaf(1.0, precision, False, jacobian.shape[1], jacobian)


def precisions_of(leaf: Kernel, d: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Precisions (d,) of a leaf with length scales, and their derivatives (d, n) by these.

    None where a length scale is too short to have one.
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
