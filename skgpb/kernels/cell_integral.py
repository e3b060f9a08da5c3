r"""Feedback that is the mean of f over a whole cell (GPOO, appendix D).

References
----------
.. [GPOO] M. Zhang, R. Tsuchida, C. S. Ong, "Gaussian process bandits with aggregated feedback",
   AAAI 2022, appendix D. The paper integrates without dividing by the volume; here it is the
   mean, so that cells of all sizes can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._cells import GaussianCells
from skgpb.kernels._boxes import Rule, axis_counts, corners, gauss_legendre_rule
from skgpb.kernels._cell import CellKernel, is_point
from skgpb.kernels._products import GaussianProducts
from skgpb.kernels.window_mean import WindowEvaluator, WindowMean

__all__ = ["CellIntegral"]

#: Accuracy: number of nodes along each axis of a box over which features are averaged.
FEATURE_NODES = 16


@dataclass(eq=False, repr=False)
class CellIntegral(CellKernel):
    r"""Kernel for answers that average f over a whole box.

    .. math:: k(A, B) = \frac{1}{|A|\,|B|} \int_A \int_B k_{base}(a, b)\, db\, da

    with the volumes :math:`|A|` and :math:`|B|` of two boxes. A degenerate box, lower == upper, is
    the point itself; a box without width along some axes is the mean over the others.

    Parameters
    ----------
    base : Kernel
        Kernel of f, over points with d coordinates: any kernel of
        ``sklearn.gaussian_process.kernels``. Its hyperparameters are this kernel's.
    n_nodes : int, sequence of d ints or None, default=None
        Gauss-Legendre nodes along each axis of a box, for bases without a closed form. None chooses
        the number that ``tolerance`` needs, at most 64.
    tolerance : float, default=1e-6
        Largest error of a covariance by quadrature, as a share of the variance of f, with
        ``n_nodes=None``.

    Warns
    -----
    ConvergenceWarning
        If quadrature with an affordable number of nodes does not reach the tolerance. The message
        has the accuracy that it reaches.

    Notes
    -----
    Sums, products and integer powers of ``RBF``, ``ConstantKernel`` and ``WhiteKernel`` have a
    closed form in the error function, exact to 1e-13 of the variance for boxes of any size, at
    O(d) for a pair of cells, without ``n_nodes``. With ``n_nodes=None`` other stationary bases use
    quadrature over the d coordinates of the difference of two points, like :class:`WindowMean`,
    which converges fast even for kernels with a kink at zero. Every other base, and a given
    ``n_nodes``, costs O(n_nodes^(2 d)), without an estimate of the error. A ``LowRank`` base
    averages its features over 16 nodes, or ``n_nodes``.

    White noise in ``base`` averages out over a box, and remains in full at a point.

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

    base: Kernel
    n_nodes: int | Sequence[int] | None = None
    tolerance: float = 1e-6

    _counted = "n_nodes"
    _noise_survives = False

    def _counts(self, d: int) -> tuple[int, ...]:
        nodes = FEATURE_NODES if self.n_nodes is None else self.n_nodes
        return axis_counts(nodes, d, "n_nodes")

    def _rules(self, d: int) -> list[Rule]:
        return [gauss_legendre_rule(s) for s in self._counts(d)]

    def _noise_share(self, boxes: np.ndarray) -> np.ndarray:
        return is_point(boxes).astype(np.float64)

    def _make_cells(self, products: GaussianProducts) -> GaussianCells:
        return GaussianCells(products.weights, products.precisions, None)

    # A box is a uniform window, whose quadrature estimates its error.

    def generic(
        self, boxes: np.ndarray, others: np.ndarray | None = None, eval_gradient: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the covariances by evaluations of the base, without fast paths."""
        if self.n_nodes is not None or (is_point(boxes).all() and others is None):
            return super().generic(boxes, others, eval_gradient)
        others = None if others is None else as_windows(others)
        return self._windows()(as_windows(boxes), others, eval_gradient)

    def generic_diag(self, boxes: np.ndarray) -> np.ndarray:
        """Return the variances by evaluations of the base, without fast paths."""
        if self.n_nodes is not None:
            return super().generic_diag(boxes)
        return self._windows().diag(as_windows(boxes))

    def _generic_noise_diag(self, boxes: np.ndarray) -> np.ndarray:
        if self.n_nodes is not None:
            return super()._generic_noise_diag(boxes)
        return self._windows().noise_diag(as_windows(boxes))

    def _windows(self) -> BoxWindow:
        """Windows with the present base; cached, because they search for numbers of nodes."""
        base, kept = self._checked_base(), self.__dict__.get("_kept")
        if kept is None or kept.tolerance != self.tolerance or kept.base != base:
            kept = BoxWindow(clone(base), window="uniform", tolerance=self.tolerance)
            self._kept = kept
        return kept


class BoxWindow(WindowMean):
    """A window with a fixed base, so that its evaluator can be cached."""

    def evaluator(self, n_columns: int) -> WindowEvaluator:
        """Return the evaluation of rows with a given number of columns."""
        kept: Any = self.__dict__.get("_evaluator")
        # A shallow copy with another base has the evaluator of the original.
        if kept is None or kept.base is not self.base or kept.d != n_columns // 2:
            self._evaluator = kept = super().evaluator(n_columns)
        return kept


def as_windows(boxes: np.ndarray) -> np.ndarray:
    """Convert boxes [lower, upper] to windows [centre, half-width]."""
    lower, upper = corners(boxes)
    return np.hstack((0.5 * (lower + upper), 0.5 * (upper - lower)))
