r"""Feedback that averages f over representative points of a cell (GPOO).

References
----------
.. [GPOO] M. Zhang, R. Tsuchida, C. S. Ong, "Gaussian process bandits with aggregated feedback",
   AAAI 2022, eq. 1: the reward of a cell is the mean of f over S representative points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._cells import GaussianCells
from skgpb._core._radial import MOST_POINTS, RadialCells
from skgpb.kernels._boxes import Rule, axis_counts, midpoint_rule, points_per_box
from skgpb.kernels._cell import MAX_EVALUATIONS, CellKernel, Products
from skgpb.kernels._products import RadialProducts, compile_radial_products

__all__ = ["CellAverage"]


@dataclass(eq=False, repr=False)
class CellAverage(CellKernel):
    r"""Kernel for answers that average f over some points of a box, or of several.

    .. math:: k(A, B) = \frac{1}{|A|\,|B|} \sum_{a \in A} \sum_{b \in B} k_{base}(a, b)

    where A and B are the centres of an :math:`s_1 \times \dots \times s_d` sub-grid of two boxes
    [GPOO]_. A degenerate box, lower == upper, is the point itself, so cells and points can be mixed
    and cross-covariances with f itself need no extra code. An axis without width has one point.

    Parameters
    ----------
    base : Kernel
        Kernel of f, over points with d coordinates: any kernel of
        ``sklearn.gaussian_process.kernels``. Its hyperparameters are this kernel's.
    n_representatives : int or sequence of d ints, default=10
        Number of representatives along each axis; S is their product.

    Notes
    -----
    Sums, products and integer powers of ``RBF``, ``ConstantKernel`` and ``WhiteKernel`` cost
    O(d s^2) for a pair of cells. With ``Matern`` and ``RationalQuadratic`` among them as well, a
    pair of cells of one size costs at most (2 s - 1)^d evaluations, once for all pairs at the same
    distance, and cells of other sizes O(s^(2 d)) at most. Separate cells of a tree need fewer,
    often 20 to 100 in two dimensions for any s: Gaussian rules agree with all evaluations to 1e-13
    of the variance. Sums and products of :class:`~skgpb.kernels.Columns` cost the sum of their
    parts, every other base O(s^(2 d)) evaluations of a scikit-learn kernel: wrap it in
    :class:`~skgpb.kernels.LowRank` if cells have hundreds of points.

    White noise in ``base`` is noise of f at each representative: it adds ``noise_level / S`` to
    the diagonal of ``K(X)``.

    References
    ----------
    .. [GPOO] M. Zhang, R. Tsuchida, C. S. Ong, "Gaussian process bandits with aggregated feedback",
       AAAI 2022.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import CellAverage
    >>> kernel = CellAverage(RBF(0.3), n_representatives=4)
    >>> kernel([[0.0, 1.0], [0.5, 0.5]]).round(4)  # the unit interval and its middle
    array([[0.5828, 0.6873],
           [0.6873, 1.    ]])
    """

    base: Kernel
    n_representatives: int | Sequence[int] = 10

    _counted = "n_representatives"
    _noise_survives = True

    def _counts(self, d: int) -> tuple[int, ...]:
        return axis_counts(self.n_representatives, d, "n_representatives")

    def _rules(self, d: int) -> list[Rule]:
        return [midpoint_rule(s) for s in self._counts(d)]

    def _noise_share(self, boxes: np.ndarray) -> np.ndarray:
        return 1.0 / points_per_box(boxes, self._counts(boxes.shape[1] // 2))

    def _products(self, d: int) -> Products | None:
        products = super()._products(d)
        if products is not None:
            return products
        counts = self._counts(d)
        if max(counts) > MOST_POINTS or float(np.prod(counts, dtype=float)) ** 2 > MAX_EVALUATIONS:
            return None
        return compile_radial_products(self._checked_base(), d)

    def _make_cells(self, products: Products) -> GaussianCells | RadialCells:
        counts = self._counts(products.precisions.shape[1])
        if isinstance(products, RadialProducts):
            return products.cells(counts)
        return GaussianCells(products.weights, products.precisions, np.array(counts))
