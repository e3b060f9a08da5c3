"""Means over boxes of kernels that consist of parts over groups of coordinates.

The mean of a product over a tensor grid is the product of the means, if the factors depend on
different coordinates. Sums and products of :class:`~skgpb.kernels.Columns` and constants therefore
cost the sum of their parts, s^(2 d') evaluations for d' coordinates in the largest group instead of
s^(2 d), for parts of any kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Product, Sum

from skgpb.kernels.columns import Columns


def has_groups(base: Kernel) -> bool:
    """Return whether a kernel is a sum or product with a part on some of the coordinates."""
    if type(base) in (Sum, Product):
        return has_groups(base.k1) or has_groups(base.k2)
    return type(base) is Columns


def coordinates_of(base: Kernel, d: int) -> frozenset[int]:
    """Return the coordinates that a kernel depends on."""
    if type(base) is ConstantKernel:
        return frozenset()
    if type(base) in (Sum, Product):
        return coordinates_of(base.k1, d) | coordinates_of(base.k2, d)
    if type(base) is Columns:
        return frozenset(int(column) % d for column in base.columns)
    return frozenset(range(d))


class Groups:
    """Evaluation of one cell kernel part by part.

    Parameters
    ----------
    kernel : CellKernel
        Kernel whose base has groups.
    d : int
        Number of coordinates.
    """

    def __init__(self, kernel: Any, d: int) -> None:
        self._kernel = kernel
        self._d = d

    def covariances(
        self, boxes: np.ndarray, others: np.ndarray | None, eval_gradient: bool
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the result of ``kernel(boxes, others, eval_gradient)``."""
        K, gradient = self._visit(self._kernel.base, boxes, others, eval_gradient)
        return (K, gradient) if eval_gradient else K

    def diag(self, boxes: np.ndarray) -> np.ndarray:
        """Return the result of ``kernel.diag(boxes)``."""
        return self._diag(self._kernel.base, boxes)

    def _factorises(self, base: Kernel) -> bool:
        left, right = (coordinates_of(k, self._d) for k in (base.k1, base.k2))
        return not left & right

    def _part(self, base: Kernel) -> tuple[Any, np.ndarray]:
        """Return the kernel of a part and the columns of descriptors that it depends on."""
        if type(base) is not Columns:
            return self._kernel.over(base, range(self._d), self._d), np.arange(2 * self._d)
        columns = [int(column) % self._d for column in base.columns]
        part = self._kernel.over(base.base, columns, self._d)
        return part, np.array([*columns, *(self._d + column for column in columns)])

    def _visit(
        self, base: Kernel, boxes: np.ndarray, others: np.ndarray | None, eval_gradient: bool
    ) -> tuple[np.ndarray, Any]:
        shape = (len(boxes), len(boxes if others is None else others))
        if type(base) is ConstantKernel:
            K = np.full(shape, float(base.constant_value))
            free = not base.hyperparameter_constant_value.fixed
            return K, (K[:, :, None] if free else np.empty((*shape, 0))) if eval_gradient else None
        if type(base) is Sum or (type(base) is Product and self._factorises(base)):
            (K, G), (L, H) = (
                self._visit(k, boxes, others, eval_gradient) for k in (base.k1, base.k2)
            )
            if type(base) is Product:
                if eval_gradient:
                    G, H = G * L[:, :, None], K[:, :, None] * H
                K = K * L
            else:
                K = K + L
            return K, np.concatenate([G, H], axis=2) if eval_gradient else None
        part, columns = self._part(base)
        right = None if others is None else others[:, columns]
        # A product of overlapping parts is itself a leaf, which must not be visited again.
        whole = type(base) is not Columns and has_groups(base)
        evaluate = part.generic if whole else part
        out = evaluate(np.ascontiguousarray(boxes[:, columns]), right, eval_gradient)
        return out if eval_gradient else (out, None)

    def _diag(self, base: Kernel, boxes: np.ndarray) -> np.ndarray:
        if type(base) is ConstantKernel:
            return np.full(len(boxes), float(base.constant_value))
        if type(base) is Sum:
            return self._diag(base.k1, boxes) + self._diag(base.k2, boxes)
        if type(base) is Product and self._factorises(base):
            return self._diag(base.k1, boxes) * self._diag(base.k2, boxes)
        part, columns = self._part(base)
        whole = type(base) is not Columns and has_groups(base)
        evaluate = part.generic_diag if whole else part.diag
        return evaluate(np.ascontiguousarray(boxes[:, columns]))
