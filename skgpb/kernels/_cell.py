"""Base of the kernels over boxes: hyperparameters, checks, fast paths and the generic one.

Both kernels are the covariance of *means* of f over boxes, under a tensor rule per box::

    k(A, B) = sum_ij u_i v_j base(a_i, b_j),        a_i in A with weights u, b_j in B with weights v

- The fast path serves base kernels that are sums of Gaussian products: the rule factorises over
  the axes (d s^2 evaluations instead of s^(2 d)), in ``skgpb._core._cells``.
- The features of a ``LowRank`` base average over the points of a box: S r evaluations for each box
  and r multiplications for each pair.
- Sums and products of kernels over some coordinates each (``Columns``) and constants are evaluated
  part by part, in ``skgpb.kernels._groups``.
- ``CellAverage`` evaluates functions of scaled distances, such as Matern kernels, once for every
  distinct difference of points, in ``skgpb._core._radial``.
- The generic path serves every other scikit-learn kernel: it evaluates ``base`` on blocks of
    points and sums. Tests compare the fast paths with it.

White noise in ``base`` follows scikit-learn: it exists only on the diagonal of ``K(X)``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._cells import GaussianCells
from skgpb._core._sizes import SizedCells
from skgpb.kernels._boxes import BoxPoints, Rule, box_points, check_boxes, points_per_box
from skgpb.kernels._groups import Groups, has_groups
from skgpb.kernels._products import GaussianProducts, RadialProducts, compile_gaussian_products
from skgpb.kernels._white import DIAGONAL_POINTS, contains_white_noise, noise_of_points, variances
from skgpb.kernels._wrapper import WrapperKernel, check_pair
from skgpb.kernels.evaluator import (
    Evaluator,
    FeatureEvaluator,
    PlainEvaluator,
    check_covariances,
    row_set_means,
)
from skgpb.kernels.low_rank import FeatureMap, LowRank, feature_covariances

#: Limit: largest number of base evaluations that one covariance between two boxes may take.
MAX_EVALUATIONS = 10**8
#: Memory: one block of the generic path, in float64 numbers (64 MB).
BLOCK_SIZE = 2**23
#: Memory: arrays of the size of a block that base kernels typically hold at once.
BLOCK_COPIES = 4
#: Memory: number of points of boxes whose features are computed at once.
FEATURE_POINTS = 2**16

#: Forms of a base with compiled means over boxes.
Products = GaussianProducts | RadialProducts


class CellKernel(WrapperKernel):
    """Covariance of means of f over boxes, under a rule along each axis."""

    base: Kernel

    # --- for subclasses to define ---

    #: Whether averaged white noise keeps a variance over a box with positive volume.
    _noise_survives: bool
    #: Parameter that gives the number of points along each axis.
    _counted: str

    @abstractmethod
    def _counts(self, d: int) -> tuple[int, ...]:
        """Check and return the number of points along each of the d axes."""

    @abstractmethod
    def _rules(self, d: int) -> list[Rule]:
        """Return the rule along each of the d axes."""

    @abstractmethod
    def _noise_share(self, boxes: np.ndarray) -> np.ndarray:
        """Return, for each box (n,), the factor of the nugget in the variance of the mean."""

    @abstractmethod
    def _make_cells(self, products: Any) -> Any:
        """Return the compiled means over boxes of the result of :meth:`_products`."""

    # --- covariances ---

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the covariances between the means over boxes.

        Parameters
        ----------
        X : array-like of shape (n, 2 * d)
            Box descriptors.
        Y : array-like of shape (m, 2 * d), default=None
            Box descriptors; None means ``X``, with the white noise of the base, if any, on the
            diagonal.
        eval_gradient : bool, default=False
            Whether to return the gradient by ``theta`` as well; only with ``Y=None``.

        Returns
        -------
        K : ndarray of shape (n, m)
            The covariances.
        K_gradient : ndarray of shape (n, n, p)
            Derivatives by the p free hyperparameters on their log scale; only with
            ``eval_gradient``.
        """
        boxes, others = check_boxes(X), None if Y is None else check_boxes(Y, "Y")
        check_pair(boxes, others, eval_gradient)
        d = boxes.shape[1] // 2
        features = self.feature_map(2 * d)
        if features is not None:
            return feature_covariances(features, boxes, others, eval_gradient)
        products = self._products(d)
        if products is None and self._has_groups():
            return Groups(self, d).covariances(boxes, others, eval_gradient)
        if products is None:
            return self.generic(boxes, others, eval_gradient)
        cells = self._make_cells(products)
        if others is not None:
            return cells.cross(boxes, others)
        share, diagonal = self._noise_share(boxes), np.diag_indices(len(boxes))
        if not eval_gradient:
            K = cells.gram(boxes)
            K[diagonal] += products.nugget * share
            return K
        K, gradient = cells.gram_gradient(boxes, *products.jacobians)
        K[diagonal] += products.nugget * share
        gradient[diagonal] += share[:, None] * products.nugget_jacobian
        return K, gradient

    def diag(self, X: ArrayLike) -> np.ndarray:
        """Return the variances of the means over boxes (n, 2 * d): the diagonal of ``self(X)``."""
        boxes = check_boxes(X)
        d = boxes.shape[1] // 2
        features = self.feature_map(2 * d)
        if features is not None:
            phi = features.means(boxes, np.arange(len(boxes)))
            return np.einsum("ij,ij->i", phi, phi)
        products = self._products(d)
        if products is None and self._has_groups():
            return Groups(self, d).diag(boxes)
        if products is None:
            return self.generic_diag(boxes)
        noiseless = self._make_cells(products).diag(boxes)
        return noiseless + products.nugget * self._noise_share(boxes)

    def noise_diag(self, X: ArrayLike) -> np.ndarray:
        """Return the part of ``diag(X)`` that is white noise of the base kernel.

        Parameters
        ----------
        X : array-like of shape (n, 2 * d)
            Box descriptors.

        Returns
        -------
        noise : ndarray of shape (n,)
            Zero without a ``WhiteKernel``.
        """
        boxes = check_boxes(X)
        if isinstance(self.base, LowRank):
            return np.zeros(len(boxes))  # LowRank rejects white noise
        products = self._products(boxes.shape[1] // 2)
        if products is not None:
            return products.nugget * self._noise_share(boxes)
        return np.zeros(len(boxes)) if self._has_groups() else self._generic_noise_diag(boxes)

    def evaluator(self, n_columns: int) -> Evaluator | None:
        """Return the fast evaluation for the current hyperparameters, or None.

        Parameters
        ----------
        n_columns : int
            Number 2 d of columns of a box descriptor.
        """
        features = self.feature_map(n_columns)
        if features is not None:
            return FeatureEvaluator(features)
        products = self._products(n_columns // 2)
        if products is None:
            return None
        cells = self._make_cells(products)
        kind = CellsEvaluator if isinstance(cells, GaussianCells) else CompiledEvaluator
        return kind(self, cells)

    def feature_map(self, n_columns: int) -> BoxFeatures | None:
        """Return the features of means over boxes, None if the base has infinitely many.

        Parameters
        ----------
        n_columns : int
            Number 2 d of columns of a box descriptor.

        Returns
        -------
        features : BoxFeatures or None
            Features of a :class:`~skgpb.kernels.LowRank` base.
        """
        base = self._checked_base()
        if not isinstance(base, LowRank):
            return None
        return BoxFeatures(self, base.feature_map(n_columns // 2))

    def point_set(self, boxes: np.ndarray) -> BoxPoints:
        """Return points and weights of the means over boxes (n, 2 d)."""
        return box_points(boxes, self._rules(boxes.shape[1] // 2))

    def over(self, base: Kernel, columns: Sequence[int], d: int) -> Self:
        """Return this kernel with another base over some of the d coordinates of a point."""
        parameters = self.get_params(deep=False) | {"base": base}
        if parameters[self._counted] is not None:
            counts = self._counts(d)
            parameters[self._counted] = tuple(counts[column] for column in columns)
        return type(self)(**parameters)

    def _products(self, d: int) -> Products | None:
        """Return the base in a form with compiled means over boxes, or None."""
        self._counts(d)  # raise for a wrong parameter on both paths
        return compile_gaussian_products(self._checked_base(), d)

    def _has_groups(self) -> bool:
        """Return whether the base has parts over some coordinates each, and no white noise."""
        base = self._checked_base()
        return has_groups(base) and not contains_white_noise(base)

    # --- the generic path: blocks of base evaluations ---

    def generic(
        self, boxes: np.ndarray, others: np.ndarray | None = None, eval_gradient: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the result of ``__call__`` for any base, by evaluations of ``base`` on points.

        Boxes are processed in groups so that a block of evaluations stays within ``BLOCK_SIZE``.
        """
        base, p = self._checked_base(), self.theta.size if eval_gradient else 0
        columns = boxes if others is None else others
        d = boxes.shape[1] // 2
        if len(boxes) and is_point(columns).all() and is_point(boxes).all():
            # A box without volume is a point, including its white noise.
            if others is not None:
                return base(boxes[:, :d], others[:, :d])
            return base(boxes[:, :d], eval_gradient=eval_gradient)
        block = self._block_points(p if eval_gradient else None)
        self._check_affordable(boxes, columns)
        K = np.empty((len(boxes), len(columns)))
        gradient: Any = np.empty((len(boxes), len(columns), p)) if eval_gradient else None
        for rows in self.runs(boxes, block):
            left = self.point_set(boxes[rows])
            for cols in self.runs(columns, block):
                symmetric = others is None
                if symmetric and cols.start < rows.start:
                    continue  # mirrored below
                within = symmetric and cols.start == rows.start
                right = left if within else self.point_set(columns[cols])
                values, slopes = _mean_block(
                    base, left, right, within and self._noise_survives, eval_gradient, block
                )
                if within:  # the two triangles were summed in different orders
                    values = 0.5 * (values + values.T)
                    slopes = slopes if slopes is None else 0.5 * (slopes + slopes.swapaxes(0, 1))
                K[rows, cols] = values
                if symmetric:
                    K[cols, rows] = values.T
                if eval_gradient:
                    gradient[rows, cols] = slopes
                    gradient[cols, rows] = slopes.swapaxes(0, 1)
        if others is None and not self._noise_survives:
            self._restore_point_noise(boxes, K, gradient)
        return (K, gradient) if eval_gradient else K

    def generic_diag(self, boxes: np.ndarray) -> np.ndarray:
        """Return the diagonal of ``generic(boxes)`` from small blocks around the diagonal."""
        base, block = self._checked_base(), self._block_points(None)
        if len(boxes) and is_point(boxes).all():
            return variances(base, boxes[:, : boxes.shape[1] // 2])
        self._check_affordable(boxes, boxes)
        out = np.empty(len(boxes))
        for rows in self.runs(boxes, DIAGONAL_POINTS):
            points = self.point_set(boxes[rows])
            K, _ = _mean_block(base, points, points, self._noise_survives, False, block)
            out[rows] = np.diag(K)
        if not self._noise_survives:
            flat = np.flatnonzero(is_point(boxes))
            out[flat] = variances(base, boxes[flat, : boxes.shape[1] // 2])
        return out

    def _generic_noise_diag(self, boxes: np.ndarray) -> np.ndarray:
        """Return the noise (n,): the diagonal of ``base(P)`` minus that of ``base(P, P)``."""
        base, noise = self._checked_base(), np.zeros(len(boxes))
        kept = np.arange(len(boxes)) if self._noise_survives else np.flatnonzero(is_point(boxes))
        self._check_affordable(boxes[kept], boxes[kept])
        for rows in self.runs(boxes[kept], DIAGONAL_POINTS):
            points, weights, starts = self.point_set(boxes[kept[rows]])
            noise[kept[rows]] = np.add.reduceat(weights**2 * noise_of_points(base, points), starts)
        return noise

    def _restore_point_noise(
        self, boxes: np.ndarray, K: np.ndarray, gradient: np.ndarray | None
    ) -> None:
        """Add to degenerate boxes the full white noise, which points keep and integrals lose."""
        base, flat = self._checked_base(), np.flatnonzero(is_point(boxes))
        for part in _slices(len(flat), DIAGONAL_POINTS):
            rows = flat[part]
            points = boxes[rows, : boxes.shape[1] // 2]
            if gradient is None:
                K[rows, rows] = variances(base, points)
            else:
                values, slopes = base(points, eval_gradient=True)
                here = np.arange(len(rows))
                K[rows, rows] = values[here, here]
                gradient[rows, rows] = slopes[here, here]

    def runs(self, boxes: np.ndarray, limit: int) -> Iterator[slice]:
        """Yield runs of boxes with at most ``limit`` points, and at least one box, as slices."""
        sizes = points_per_box(boxes, self._counts(boxes.shape[1] // 2))
        start, total = 0, 0.0
        for row, size in enumerate(sizes):
            if row > start and total + size > limit:
                yield slice(start, row)
                start, total = row, 0.0
            total += size
        if len(boxes):
            yield slice(start, len(boxes))

    @staticmethod
    def _block_points(n_theta: int | None) -> int:
        """Return the number of points along a side of a block that fits in ``BLOCK_SIZE``.

        ``n_theta`` is the number of derivatives; None without a gradient.
        """
        # A gradient needs base on both sides stacked: four times the block, for each derivative.
        copies = BLOCK_COPIES * (1 if n_theta is None else 4 * (1 + n_theta))
        return max(1, int((BLOCK_SIZE / copies) ** 0.5))

    def _check_affordable(self, boxes: np.ndarray, others: np.ndarray) -> None:
        counts = self._counts(boxes.shape[1] // 2)
        largest = [points_per_box(b, counts).max(initial=0.0) for b in (boxes, others)]
        if largest[0] * largest[1] > MAX_EVALUATIONS:
            raise ValueError(
                f"{self!r} needs {largest[0] * largest[1]:.3g} evaluations of base for one"
                f" covariance between two boxes, more than {MAX_EVALUATIONS:.0e}. Use fewer"
                " points per axis, a base made of RBF kernels, whose averages factorise over the"
                " axes, or another feedback: 'center' or 'integral'."
            )


class CompiledEvaluator(PlainEvaluator):
    """Covariances of means over boxes in a compiled form.

    Parameters
    ----------
    kernel : CellKernel
        Kernel, for its white noise.
    cells : GaussianCells or RadialCells
        Noiseless covariances of the means.
    """

    def __init__(self, kernel: CellKernel, cells: Any) -> None:
        super().__init__(kernel)
        self.cells = cells
        # Methods of the compiled object, without a Python call around them.
        vars(self).update(cross=cells.cross, diag=cells.diag)


class CellsEvaluator(CompiledEvaluator):
    """Gram matrix of boxes under a base that is a sum of Gaussian products."""

    def tabulate_sizes(self, sizes: np.ndarray) -> Self:
        """Tabulate covariances between sizes (n_sizes, d) from now on; return the evaluator."""
        vars(self).update(cross=SizedCells(self.cells, sizes).cross)
        return self


class BoxFeatures:
    """Features of means over boxes, and of means over runs of boxes."""

    def __init__(self, kernel: CellKernel, points: FeatureMap) -> None:
        self._kernel = kernel
        self._points = points
        self.n_features: int = points.n_features

    def means(self, boxes: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the features (m, r) of means over the runs of boxes that begin at ``starts``."""
        phi = np.empty((len(boxes), self.n_features))
        for rows in self._kernel.runs(boxes, FEATURE_POINTS):
            points, weights, first = self._kernel.point_set(boxes[rows])
            phi[rows] = self._points.means(points, first, weights)
        return row_set_means(phi, np.append(starts, len(boxes)), 0)

    def gram_gradient(self, boxes: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the covariances (m, m) of these means and their gradient (m, m, p) by theta."""
        points, weights, first = self._kernel.point_set(boxes)
        sizes = np.diff(np.append(starts, len(boxes)))
        share = np.repeat(1.0 / sizes, sizes)  # share of each box in its run
        weights = weights * np.repeat(share, np.diff(np.append(first, len(points))))
        return self._points.gram_gradient(points, first[starts], weights)


def is_point(boxes: np.ndarray) -> np.ndarray:
    d = boxes.shape[1] // 2
    return (boxes[:, :d] == boxes[:, d:]).all(axis=1)


def _slices(n: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _mean_block(
    base: Kernel,
    left: BoxPoints,
    right: BoxPoints,
    with_noise: bool,
    eval_gradient: bool,
    limit: int,
) -> tuple[np.ndarray, Any]:
    """Return the means of ``base`` over pairs of boxes, (n, m), and their gradients, (n, m, p).

    ``with_noise`` says that both sides are the same points and that ``base(P)``, with its white
    noise, is meant; otherwise it is the noiseless ``base(P, Q)``. A box with more than ``limit``
    points comes alone and is summed in parts.
    """
    n, m = len(left.starts), len(right.starts)
    K, gradient = np.zeros((n, m)), None
    left_parts = _slices(len(left.points), limit) if n == 1 else [slice(None)]
    right_parts = _slices(len(right.points), limit) if m == 1 else [slice(None)]
    for i, rows in enumerate(left_parts):
        for j, cols in enumerate(right_parts):
            P, Q = left.points[rows], right.points[cols]
            if not eval_gradient:
                values = base(P) if with_noise and i == j else base(P, Q)
            elif with_noise and i == j:
                values, slopes = base(P, eval_gradient=True)
            else:
                # scikit-learn differentiates only K(X): take the off-diagonal block of [P, Q].
                values, slopes = base(np.vstack((P, Q)), eval_gradient=True)
                values, slopes = values[: len(P), len(P) :], slopes[: len(P), len(P) :]
            check_covariances(base, values, (len(P), len(Q)))
            u, v = left.weights[rows], right.weights[cols]
            K += _weighted_sums(values[..., None], u, v, left.starts, right.starts)[..., 0]
            if eval_gradient:
                part = _weighted_sums(slopes, u, v, left.starts, right.starts)
                gradient = part if gradient is None else gradient + part
    return K, gradient


def _weighted_sums(
    values: np.ndarray, u: np.ndarray, v: np.ndarray, rows: np.ndarray, cols: np.ndarray
) -> np.ndarray:
    """Sum (N, M, p) over runs of rows and columns that start at ``rows`` and ``cols``."""
    inner = np.add.reduceat(values * v[:, None], cols, axis=1)
    return np.add.reduceat(inner * u[:, None, None], rows, axis=0)
