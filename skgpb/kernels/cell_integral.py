r"""Feedback that is the mean of f over a whole cell (GPOO, appendix D).

References
----------
.. [GPOO] M. Zhang, R. Tsuchida, C. S. Ong, "Gaussian process bandits with aggregated feedback",
   AAAI 2022, appendix D. The paper integrates without dividing by the volume; here it is the
   mean, so that cells of all sizes compare.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._cells import GaussianCells
from skgpb.kernels._boxes import Rule, axis_counts, gauss_legendre_rule
from skgpb.kernels._cell import CellKernel, is_point
from skgpb.kernels._gaussian_products import GaussianProducts


class CellIntegral(CellKernel):
    r"""Covariance between means of f over whole boxes.

    .. math:: k(A, B) = \frac{1}{|A|\,|B|} \int_A \int_B k_{base}(a, b)\, db\, da

    with the volumes :math:`|A|` and :math:`|B|` of two boxes. A degenerate box, lower == upper, is
    the point itself; a box without width along some axes is the mean over the others.

    Parameters
    ----------
    base : Kernel
        Kernel of f, over points with d coordinates: any kernel of
        ``sklearn.gaussian_process.kernels``. Its hyperparameters are this kernel's.
    n_nodes : int or sequence of d ints, default=16
        Gauss-Legendre nodes along each axis, for bases without a closed form. Boxes should be at
        most about ``n_nodes / 4`` length scales wide for smooth kernels.

    Notes
    -----
    Sums, products and integer powers of ``RBF``, ``ConstantKernel`` and ``WhiteKernel`` have a
    closed form in the error function, exact to 1e-13 of the variance for boxes of any size, at
    O(d) for a pair of cells; ``n_nodes`` is not used. Every other base costs O(n_nodes^(2 d)).

    White noise in ``base`` averages out over a box, and stays whole for a point.

    References
    ----------
    .. [GPOO] M. Zhang, R. Tsuchida, C. S. Ong, "Gaussian process bandits with aggregated feedback",
       AAAI 2022, appendix D.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import CellIntegral
    >>> kernel = CellIntegral(RBF(0.3))
    >>> kernel([[0.0, 1.0], [0.5, 0.5]]).round(4)  # the unit interval and its middle
    array([[0.572 , 0.6801],
           [0.6801, 1.    ]])
    """

    _noise_survives = False

    def __init__(self, base: Kernel, n_nodes: int | Sequence[int] = 16) -> None:
        self.base = base
        self.n_nodes = n_nodes

    def _counts(self, d: int) -> tuple[int, ...]:
        return axis_counts(self.n_nodes, d, "n_nodes")

    def _rules(self, d: int) -> list[Rule]:
        return [gauss_legendre_rule(s) for s in self._counts(d)]

    def _noise_share(self, boxes: np.ndarray) -> np.ndarray:
        return is_point(boxes).astype(np.float64)

    def _make_cells(self, products: GaussianProducts) -> GaussianCells:
        return GaussianCells(products.weights, products.precisions, None)
