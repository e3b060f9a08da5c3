"""Queries whose answers have several numbers: a value and its slopes, a spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from skgpb.utils import check_numbers


class Blocks:
    """Queries whose answers have several numbers, one for each of their rows.

    Pass it as ``queries`` of an optimizer with targets, such as :class:`~skgpb.KGOptimizer`.
    Examples are a value with its gradient, the averages of some cells, and a spectrum.
    ``tell`` takes a vector, and the posterior uses all of its numbers in one step.

    Parameters
    ----------
    rows : array-like of shape (n_queries, k, n_columns), or list of arrays (k_i, n_columns)
        The rows of each query, as the kernel takes them, without contexts.

    Notes
    -----
    Noise, in units of the reward squared, is a number for each answer or for each of its numbers,
    or a covariance if the numbers have errors in common, for instance from one calibration:

    ============================ ==================================================
    ``alpha``                    what it stands for
    ============================ ==================================================
    number                       the noise variance of every number
    (n_queries,)                 one noise variance for each query
    (n_queries, k) or (1, k)     the noise variance of each number
    (n_queries, k, k), (1, k, k) the covariance of the noise of each answer
    (k, k)                       one covariance for all queries, unless n_queries is k
    ============================ ==================================================

    If there are k queries, an array (k, k) has the variances of each number; a symmetric one is
    refused, because it might be meant as a covariance.
    ``tell(query, reward, alpha)`` takes a number, (k,) or (k, k). Covariances have no negative
    eigenvalues; some may be 0.

    Examples
    --------
    A value and its slope at each of 9 places, for :class:`~skgpb.kernels.Derivative`, and the best
    of 41 points:

    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import KGOptimizer
    >>> from skgpb.domains import Blocks
    >>> from skgpb.kernels import Derivative
    >>> value = -1.0  # the axis of a row that is f itself
    >>> queries = Blocks([[[x, value], [x, 0.0]] for x in np.linspace(0, 1, 9)])
    >>> targets = [[x, value] for x in np.linspace(0, 1, 41)]
    >>> opt = KGOptimizer(
    ...     Derivative(RBF(0.2)), queries=queries, targets=targets, alpha=1e-4, random_state=0
    ... )
    >>> def value_and_slope(query):
    ...     x = query.descriptor[0, 0]
    ...     return [np.sin(5 * x), 5 * np.cos(5 * x)]
    >>> result = opt.run(value_and_slope, budget=4)
    >>> bool(abs(result.x.descriptor[0] - np.pi / 10) < 0.03)
    True

    Two detectors that share an error of calibration, of deviation 0.3, and have one of 0.1 each:

    >>> pair = Blocks([[[x], [x + 0.2]] for x in np.linspace(0, 0.8, 9)])
    >>> noise = 0.3**2 * np.ones((2, 2)) + 0.1**2 * np.eye(2)
    >>> opt = KGOptimizer(
    ...     RBF(0.2), queries=pair, targets=np.linspace(0, 1, 11)[:, None], alpha=noise
    ... )
    >>> opt.ask().index in range(9)
    True
    """

    #: Names of the constructor's arguments, for files.
    arguments: ClassVar[tuple[str, ...]] = ("rows",)

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def checked(self, name: str) -> list[np.ndarray]:
        """Return the rows (k_i, n_columns) of each query, or raise ValueError."""
        if not isinstance(self.rows, Sequence | np.ndarray) or not len(self.rows):
            raise ValueError(f"{name} must have an array of rows for each query, got {self.rows!r}")
        blocks = [check_numbers(block, f"a block of {name}") for block in self.rows]
        if len({block.shape[1] for block in blocks}) > 1:
            raise ValueError(f"all rows of {name} must have as many columns")
        return [np.array(block, dtype=np.float64) for block in blocks]

    def __repr__(self) -> str:
        return f"Blocks({self.rows!r})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not Blocks or len(other.rows) != len(self.rows):
            return False
        return all(map(np.array_equal, self.rows, other.rows))

    __hash__ = None  # type: ignore[assignment]


def rows_given(given: Any, name: str) -> np.ndarray:
    """Return the rows of queries or targets that are finitely many, or raise ValueError."""
    if isinstance(given, Blocks):
        return np.concatenate(given.checked(name))
    return check_numbers(given, name)
