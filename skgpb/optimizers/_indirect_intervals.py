"""Intervals of an indirect search: the bound on the norm is that of f, not of the answers."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted

from skgpb.domains.indirect import IndirectQuery
from skgpb.locks import locked
from skgpb.optimizers._base import Q
from skgpb.optimizers._gaussian import LearningOptimizer
from skgpb.optimizers._norm_bound import CONSISTENT
from skgpb.utils import check_numbers


class IndirectIntervals(LearningOptimizer[Q]):
    """Intervals of queries and of f, which the process both knows."""

    def _functionals_at(self, points: np.ndarray) -> np.ndarray:
        return self._gp.kernel.points(points)

    def _check_consistent(self, kernel: Kernel) -> None:
        super()._check_consistent(kernel)
        if self._model.own_noise > 0.0:
            raise ValueError(
                f"optimizer={CONSISTENT!r} needs to know the distribution of the inputs of a "
                "query: pass conditional instead of pairs"
            )

    @overload
    def predict_query(
        self, A: Any, return_std: Literal[False] = False, *, interval: Literal[False] = False
    ) -> np.ndarray: ...

    @overload
    def predict_query(
        self, A: Any, return_std: Literal[True], *, interval: Literal[False] = False
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict_query(
        self, A: Any, return_std: Literal[False] = False, *, interval: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

    @overload
    def predict_query(
        self, A: Any, return_std: bool = False, *, interval: Literal[False] = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict_query(
        self, A: Any, return_std: bool = False, *, interval: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray] | tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Posterior of g, the noiseless answers.

        Parameters
        ----------
        A : array-like of shape (n, q) or list of n queries
            Rows, or queries as they are asked.
        return_std, interval : bool, default=False
            At most one of them.

        Returns
        -------
        mean : ndarray of shape (n,)
        std : ndarray of shape (n,), only if ``return_std``
        lower, upper : ndarray of shape (n,), only if ``interval``
            Ends that hold for all queries, points and rounds at once, see :meth:`interval`.
        """
        if return_std and interval:
            raise ValueError("at most one of return_std and interval can be asked for")
        A = self._checked_rows_asked(A)
        moments = self._signed_moments(self.surrogate_.predict_query(A, return_std=return_std))
        if not interval:
            return moments
        return moments, *self._ends(self.surrogate_.kernel_.queries(A))

    def _checked_rows_asked(self, A: Any) -> np.ndarray:
        """Rows (n, q) of queries, or of rows."""
        check_is_fitted(self, "bounds_")
        A = self._each_query(A)
        rows = [each.a if isinstance(each, IndirectQuery) else each for each in A]
        return check_numbers(rows if len(rows) else A, "A")
