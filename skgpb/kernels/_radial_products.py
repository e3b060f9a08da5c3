r"""Write a kernel expression as a sum of products of functions of scaled distances.

Sums, products and positive integer powers of ``Matern``, ``RationalQuadratic``, ``RBF``,
``ConstantKernel`` and ``WhiteKernel`` are polynomials in these leaves,

.. math:: k(x, x') = \nu\,[x \text{ is } x'] + \sum_k w_k \prod_l g_l(s_l)^{p_{kl}},
          \qquad s_l = \sum_a q_{la} (x_a - x'_a)^2,

with g_l(0) = 1. Means over grids of such a kernel are in ``skgpb._core._radial``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Kernel,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from skgpb._core._radial import RadialCells
from skgpb.kernels._gaussian_products import expand, precisions_of
from skgpb.kernels._settings import AxisMatern, AxisRBF

#: Kernels that products of functions of distances are made of.
RADIAL_LEAVES = (
    RBF,
    AxisRBF,
    Matern,
    AxisMatern,
    RationalQuadratic,
    ConstantKernel,
    WhiteKernel,
)
#: Format: numbers of the kinds of functions; of Matern kernels by nu, any other being the general
#: one.
GAUSSIAN, GENERAL_MATERN, RATIONAL_QUADRATIC = 0, 4, 5
MATERN = {0.5: 1, 1.5: 2, 2.5: 3, np.inf: GAUSSIAN}


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


def compile_radial_products(kernel: Kernel, n_features: int) -> RadialProducts | None:
    """Expand a kernel into products of functions of scaled distances.

    Parameters
    ----------
    kernel : Kernel
        Kernel over points of d = ``n_features`` coordinates.
    n_features : int
        Number of coordinates.

    Returns
    -------
    products : RadialProducts or None
        None when the kernel has another form, or length scales, alpha or nu for which the
        functions are not finite.
    """
    leaves: list[Kernel] = []
    polynomial = expand(kernel, leaves, RADIAL_LEAVES)
    if polynomial is None:
        return None
    radial, found = [i for i, leaf in enumerate(leaves) if _is_radial(leaf)], []
    for i in radial:
        one = _radial_leaf(leaves[i], n_features)
        if one is None:
            return None
        found.append(one)
    columns = np.cumsum([0, *(leaf.n_dims for leaf in leaves)])
    n_theta = int(columns[-1])

    precisions_jacobian = np.zeros((len(radial), n_features, n_theta))
    shapes_jacobian = np.zeros((len(radial), n_theta))
    for l, (i, leaf) in enumerate(zip(radial, found, strict=True)):  # noqa: E741
        # A rational quadratic's alpha comes before its length scale: names are in order.
        first = columns[i] + leaf.shape_is_free
        precisions_jacobian[l, :, first : columns[i + 1]] = leaf.jacobian
        shapes_jacobian[l, columns[i] : first] = 1.0

    rows, nugget, nugget_jacobian = [], 0.0, np.zeros(n_theta)
    for exponents, coefficient in polynomial.items():
        powers = np.array(exponents + (0,) * (len(leaves) - len(exponents)))
        weight, jacobian = float(coefficient), np.zeros(n_theta)
        for i, (leaf, power) in enumerate(zip(leaves, powers.tolist(), strict=True)):
            if power and not _is_radial(leaf):
                weight *= _constant(leaf) ** power
                jacobian[columns[i] : columns[i + 1]] = power
        jacobian *= weight
        if any(p and type(leaf) is WhiteKernel for leaf, p in zip(leaves, powers, strict=True)):
            # Radial functions are 1 at distance 0, where white noise is.
            nugget += weight
            nugget_jacobian += jacobian
        else:
            rows.append((weight, powers[radial], jacobian))
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


@dataclass(frozen=True)
class _RadialLeaf:
    """Return the argument of a leaf kernel, and the function."""

    kind: int
    precision: np.ndarray  # (d,)
    jacobian: np.ndarray  # (d, number of free length scales)
    shape: float
    shape_is_free: bool


def _is_radial(leaf: Kernel) -> bool:
    return type(leaf) not in (ConstantKernel, WhiteKernel)


def _constant(leaf: Kernel) -> float:
    return float(leaf.constant_value if type(leaf) is ConstantKernel else leaf.noise_level)


def _radial_leaf(leaf: Kernel, d: int) -> _RadialLeaf | None:
    scales = precisions_of(leaf, d)
    if scales is None:
        return None
    precision, jacobian = scales
    kind, shape, free = GAUSSIAN, 1.0, False
    if type(leaf) is RationalQuadratic:
        if np.ndim(leaf.length_scale):
            return None  # it takes one for all axes, and says so
        kind, shape = RATIONAL_QUADRATIC, float(leaf.alpha)
        free = not leaf.hyperparameter_alpha.fixed
    elif isinstance(leaf, Matern):
        kind, shape = MATERN.get(leaf.nu, GENERAL_MATERN), float(leaf.nu)
    if not (shape > 0.0 and (np.isfinite(shape) or kind == GAUSSIAN)):
        return None
    return _RadialLeaf(kind, precision, jacobian, shape, free)
