r"""Feedback that is the average reward of an agent with a known policy over finite arms.

References
----------
.. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
   Optimization with Integrated Feedback", section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from skgpb.kernels._indirect import IndirectKernel, as_points
from skgpb.kernels._support import Support, SupportEvaluator
from skgpb.kernels._white import noise_of_points

__all__ = ["PolicyMean"]

#: Rounding: largest deviation of the sum of probabilities from one, or of one from zero.
PROBABILITY_TOLERANCE = 1e-8


class _Arms(Support):
    """Arms as the support; a row consists of the probabilities themselves."""

    def split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.ones(len(rows), dtype=bool), np.empty((0, self.points.shape[1])), rows

    def query_noise(self, base: Kernel, coefficients: np.ndarray) -> np.ndarray:
        return coefficients**2 @ noise_of_points(base, self.points)


@dataclass(eq=False, repr=False)
class PolicyMean(IndirectKernel):
    r"""Kernel for agents that choose among K arms with known probabilities.

    .. math:: k(p, p') = \sum_{i=1}^K \sum_{j=1}^K p_i\, k_{base}(x_i, x_j)\, p'_j

    for agents that pull arm :math:`x_i` with probability :math:`p_i` [IQBO]_. A row of this kernel
    has the K probabilities, so that an arm is the agent that always pulls it, and arms and agents
    can be mixed.

    Parameters
    ----------
    base : Kernel, default=None
        Kernel of f, the expected reward, over the features of arms. Its hyperparameters are this
        kernel's. ``RBF(1e-3, "fixed")`` over the default ``arms`` makes them independent.
    policies : array-like of shape (n_agents, K) or callable, default=None
        Policies of the agents. With a matrix a query is the index of an agent, shape (n, 1). A
        callable takes covariates A (n, q) and returns probabilities (n, K), like ``predict_proba``
        of a classifier. None if all rows are written by hand.
    arms : array-like of shape (K, d), default=None
        Features of the arms; None means the indices 0..K-1.

    Notes
    -----
    White noise in ``base`` is noise of f at each arm: it adds ``sum_i p_i^2 noise_level`` to the
    diagonal of ``K(X)``.

    References
    ----------
    .. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
       Optimization with Integrated Feedback", section 3.1.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import PolicyMean
    >>> kernel = PolicyMean(RBF(1.0), policies=[[0.5, 0.5, 0.0], [0.1, 0.1, 0.8]])
    >>> kernel(kernel.queries([[0], [1]]), kernel.points([[0], [1], [2]])).round(3)
    array([[0.803, 0.803, 0.371],
           [0.269, 0.646, 0.874]])
    """

    base: Kernel | None = None
    policies: ArrayLike | Callable | None = None
    arms: ArrayLike | None = None

    @property
    def arms_(self) -> np.ndarray:
        """Features (K, d) of the arms, or their indices if they have none."""
        return self._arms(None)

    def rows_of_points(self, X: np.ndarray) -> np.ndarray:
        """Return rows of arms, given by their features X (n, d): sure choices, shape (n, K)."""
        arms = self._arms(None)
        if X.shape[1] != arms.shape[1]:
            raise ValueError(f"X must have {arms.shape[1]} columns, as arms; got {X.shape[1]}.")
        number: dict[bytes, int] = {}
        for i, arm in enumerate(arms):
            number.setdefault((arm + 0.0).tobytes(), i)
        rows = np.zeros((len(X), len(arms)))
        for row, x in enumerate(X):
            place = number.get((x + 0.0).tobytes())
            if place is None:
                raise ValueError(f"row {row} of X is {x.tolist()}, which is not one of the arms.")
            rows[row, place] = 1.0
        return rows

    def rows_of_queries(self, A: np.ndarray) -> np.ndarray:
        """Return rows of agents A (n, q): their probabilities, shape (n, K)."""
        if self.policies is None:
            raise ValueError("PolicyMean needs policies to translate queries.")
        if callable(self.policies):
            rows = np.array(self.policies(A), dtype=np.float64)
            if rows.ndim != 2 or len(rows) != len(A):
                raise ValueError(
                    f"policies(A) must have shape (n, K) with n={len(A)}; got {rows.shape}."
                )
            check_probabilities(rows, "policies(A)")
        else:
            table = check_probabilities(np.array(self.policies, dtype=np.float64), "policies")
            agents = A[:, 0]
            known = (agents >= 0) & (agents < len(table)) & (agents == np.floor(agents))
            if A.shape[1] != 1 or not known.all():
                raise ValueError(
                    "with a table of policies a query is the number of an agent, one column of"
                    f" integers from 0 to {len(table) - 1}; got "
                    + (
                        f"{A.shape[1]} columns."
                        if known.all()
                        else f"{float(agents[~known][0])!r}."
                    )
                )
            rows = table[agents.astype(np.intp)]
        self._check_rows(rows, "policies")
        return rows

    def mean_of(self, rows: np.ndarray, mean: Callable) -> np.ndarray:
        """Return p . mean(arms) for each row, shape (n,)."""
        return rows @ mean(self._arms(rows.shape[1]))

    def _check_rows(self, rows: np.ndarray, name: str) -> None:
        check_probabilities(rows, name)
        arms = self._arms(rows.shape[1])
        if rows.shape[1] != len(arms):
            raise ValueError(
                f"{name} must hold one probability for each of {len(arms)} arms; got"
                f" {rows.shape[1]} columns."
            )

    def _arms(self, n_arms: int | None) -> np.ndarray:
        if self.arms is not None:
            return as_points(self.arms, "arms")
        if n_arms is None:
            if self.policies is None or callable(self.policies):
                raise ValueError("PolicyMean needs arms, or a table of policies, to know the arms.")
            table = check_probabilities(np.array(self.policies, dtype=np.float64), "policies")
            n_arms = table.shape[1]
        return np.arange(n_arms, dtype=np.float64)[:, None]

    def _make_evaluator(self, n_columns: int) -> SupportEvaluator:
        base = self._checked_base()
        return SupportEvaluator(base, _Arms(self._arms(n_columns), base))


def check_probabilities(rows: np.ndarray, name: str) -> np.ndarray:
    """Return probabilities (n, K) unchanged; raise ValueError with the first wrong row."""
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(f"{name} must have shape (n, K); got an array of shape {rows.shape}.")
    wrong = ~(np.isfinite(rows) & (rows >= -PROBABILITY_TOLERANCE)).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must hold finite probabilities >= 0; row {row} is {rows[row].tolist()}."
        )
    total = rows.sum(axis=1)
    wrong = np.abs(total - 1.0) > PROBABILITY_TOLERANCE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must hold probabilities that sum to one; row {row} sums to {total[row]:.12g}."
        )
    return rows
