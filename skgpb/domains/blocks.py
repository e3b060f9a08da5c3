"""Queries of which an answer is several numbers at once: a value and its slopes, a spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.query import PointsQuery
from skgpb.domains.space import ParameterSpace
from skgpb.utils import check_numbers


class Blocks:
    """Queries that are answered with several numbers at once, one for each of their rows.

    It says what can be asked of an optimizer that takes ``queries`` and ``targets``, such as
    :class:`~skgpb.KGOptimizer`: a value with its gradient, the averages of some cells, a spectrum.
    What is told is a vector, which the posterior takes in one step.

    Parameters
    ----------
    rows : array-like of shape (n_queries, k, n_columns), or list of arrays (k_i, n_columns)
        The rows of each query, as the kernel takes them, without contexts.

    Notes
    -----
    Noise, in units of the reward squared, is a number for each answer or for each of its numbers,
    or a covariance where these have errors in common, as those of one calibration:

    ============================ ==================================================
    ``alpha``                    what it stands for
    ============================ ==================================================
    number                       the noise variance of every number
    (n_queries,)                 that of all numbers of each query
    (n_queries, k) or (1, k)     that of each number
    (n_queries, k, k), (1, k, k) the covariance of the noise of each answer
    (k, k)                       the same for all queries, where there are not k
    ============================ ==================================================

    Where there are k queries an array (k, k) has the variances of each number, and one that is
    symmetric, and so might be meant as a covariance, is refused. ``relative_noise`` takes the same
    shapes, of which the level is learned, and ``tell(query, reward, alpha)`` a number, (k,) or
    (k, k). Covariances have no negative eigenvalues; some may be 0.

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


class BlockArm(Arm):
    """A query that is answered with several numbers at once.

    Attributes
    ----------
    index : int
        Which of the queries.
    descriptor : ndarray of shape (k, n_columns)
        Its rows, as the kernel takes them. The answer has one number for each.
    parts : list of k Arms
        What each of these numbers is about.
    points : ndarray of shape (S, d)
        Those of all parts, one after the other.
    lower, upper, center : ndarray of shape (d,)
        Corners and centre of the box around all parts.
    counts : tuple of d ints or None
        Representatives of a box along each axis; None where rows are no boxes.
    """

    __slots__ = ()

    @property
    def parts(self) -> list[Arm]:
        """What each number of the answer is about."""
        return [Arm(-1, row.copy(), self.counts).named(self._space) for row in self.descriptor]

    def find_points(self) -> np.ndarray:
        """Those of all parts."""
        return np.concatenate([part.points for part in self.parts])

    @property
    def lower(self) -> np.ndarray:
        """Lower corner, shape (d,)."""
        return np.min([part.lower for part in self.parts], axis=0)

    @property
    def upper(self) -> np.ndarray:
        """Upper corner, shape (d,)."""
        return np.max([part.upper for part in self.parts], axis=0)

    def describe(self) -> str:
        """Number and rows."""
        return f"BlockArm(index={self.index}, descriptor={self.descriptor.tolist()})"


class BlockSet(ArmSet):
    """Finitely many queries of several rows each.

    Parameters
    ----------
    blocks : list of ndarray of shape (k_i, n_columns)
        The rows of each.
    bounds : ndarray of shape (d, 2)
        Box around them.
    counts : tuple of d ints or None
        Representatives of a box along each axis; None where rows are no boxes.
    space : ParameterSpace or None
        What the sides of the box are called.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        The rows of all queries, one block below the other.
    starts : ndarray of shape (n_queries + 1,)
        Where the rows of each begin.
    """

    def __init__(
        self,
        blocks: list[np.ndarray],
        bounds: np.ndarray,
        counts: tuple[int, ...] | None = None,
        space: ParameterSpace | None = None,
    ) -> None:
        super().__init__(np.concatenate(blocks), bounds, counts, space)
        self.starts: np.ndarray = np.cumsum([0, *map(len, blocks)])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def slots(self, number: int) -> np.ndarray:
        """Rows of a query, by number."""
        return np.arange(self.starts[number], self.starts[number + 1])

    def arm(self, slot: int) -> BlockArm:
        """Return the query of a number."""
        rows = self.rows[self.slots(slot)]
        return BlockArm(slot, rows, self.counts).named(self.space)

    def found(self, points: Any) -> BlockArm | None:
        """Return the query of exactly these rows (k, n_columns), None where there is none."""
        for number in range(len(self)):
            if np.array_equal(self.rows[self.slots(number)], points):
                return self.arm(number)
        return None

    def every_place(self) -> np.ndarray:
        """Centres of the queries, shape (n_queries, d)."""
        sums = np.add.reduceat(self.places_of(self.rows), self.starts[:-1])
        return sums / np.diff(self.starts)[:, np.newaxis]

    def apart_from(self, query: Arm) -> np.ndarray:
        """Which queries differ from one, shape (n_queries,)."""
        return np.arange(len(self)) != query.index

    def block_of(self, query: Arm | PointsQuery) -> np.ndarray:
        """Descriptor rows of what a query observes."""
        return query.descriptor if isinstance(query, BlockArm) else super().block_of(query)

    def slot_of(self, query: Arm | PointsQuery) -> int:
        """Return the number of a query, -1 where it is none of them."""
        return query.index if isinstance(query, BlockArm) else -1

    def _knows(self, query: Arm) -> bool:
        if not isinstance(query, BlockArm) or not 0 <= query.index < len(self):
            return False
        same = np.array_equal(query.descriptor, self.rows[self.slots(query.index)])
        return same and query.counts == self.counts


def rows_given(given: Any, name: str) -> np.ndarray:
    """Return the rows of queries or targets that are finitely many, or raise ValueError."""
    if isinstance(given, Blocks):
        return np.concatenate(given.checked(name))
    return check_numbers(given, name)
