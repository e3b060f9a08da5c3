"""A function and cheaper likenesses of it, to be asked at points of a box or over cells."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.cells import Cells, FreeCells
from skgpb.domains.query import PointsQuery
from skgpb.domains.space import ParameterSpace
from skgpb.utils import check_inside


class Fidelities(Cells):
    """Points, or cells, of a function and of cheaper likenesses of it, wherever they lie.

    It says what can be asked of an optimizer that takes ``queries`` and ``targets``, such as
    :class:`~skgpb.KGOptimizer`: an experiment and its simulation, a long and a short training run.
    Fidelity 0 is the function whose best is sought. How much each of the others says of it is
    learned (:class:`~skgpb.kernels.Tasks`).

    Parameters
    ----------
    n : int, default=2
        Number of fidelities, called 0, 1, ...: ``query.task`` says which is asked.
    sizes : float or dict, or a list of sizes, default=0.0
        Sides of the cells that each can be asked for, as :class:`Cells` takes them; 0 for points.

    Examples
    --------
    >>> from skgpb import KGOptimizer
    >>> from skgpb.domains import Fidelities
    >>> def answer(query):  # the simulation is half as high, tilted, and costs a tenth
    ...     x = float(query.points[0, 0])
    ...     truth = -((x - 0.3) ** 2)
    ...     return truth if query.task == 0 else 0.5 * truth + 0.1 * x
    >>> opt = KGOptimizer(
    ...     queries=Fidelities(2), cost=[1.0, 0.1], bounds=[(0, 1)], random_state=0
    ... )
    >>> result = opt.run(answer, max_cost=8)
    >>> bool(abs(result.x.points[0, 0] - 0.3) < 0.05)
    True
    """

    arguments: ClassVar[tuple[str, ...]] = ("n", "sizes")

    n: int

    def __init__(self, n: int = 2, sizes: Any = 0.0) -> None:
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n of Fidelities must be an integer >= 1, got {n!r}")
        super().__init__(sizes)
        self.n = int(n)

    def sides(
        self, bounds: np.ndarray, space: ParameterSpace | None, name: str = "Fidelities"
    ) -> np.ndarray:
        """Return the sides (n * n_sizes, d): those of fidelity 0, then those of the next."""
        return np.tile(super().sides(bounds, space, name), (self.n, 1))

    @property
    def tasks(self) -> np.ndarray:
        """The fidelity of each of the kinds of cells, shape (n * n_sizes,)."""
        n_sizes = len(self.sizes) if isinstance(self.sizes, list) else 1
        return np.repeat(np.arange(self.n), n_sizes)

    def __repr__(self) -> str:
        sizes = "" if self.sizes == 0.0 else f", {self.sizes!r}"
        return f"Fidelities({self.n}{sizes})"

    def __eq__(self, other: object) -> bool:
        return type(other) is Fidelities and repr(other) == repr(self)

    __hash__ = Cells.__hash__


class FidelityArm(Arm):
    """A point, or a cell, of a function or of one of its likenesses.

    Attributes
    ----------
    task : int
        Which is asked, 0 for the function itself.
    index, descriptor, points, counts, lower, upper, center
        As an :class:`Arm` has them; the last number of ``descriptor`` is the task.
    """

    __slots__ = ()

    @property
    def task(self) -> int:
        """Which function is asked."""
        return int(self.descriptor[-1])

    def find_points(self) -> np.ndarray:
        """The point, or representatives of the cell."""
        return Arm(-1, self.descriptor[:-1].copy(), self.counts).find_points()

    @property
    def upper(self) -> np.ndarray:
        """Upper corner, shape (d,)."""
        return self.descriptor[-1 - self._d : -1]

    @property
    def _d(self) -> int:
        return (len(self.descriptor) - 1) // (1 if self.counts is None else 2)

    def describe(self) -> str:
        """Row and descriptor."""
        return f"FidelityArm(task={self.task}, descriptor={self.descriptor[:-1]})"

    def __repr__(self) -> str:
        text = super().__repr__()
        return text if self._space is None else f"{text[:-1]}, task={self.task})"


class OfFidelities:
    """Rows with the number of a function in a further column."""

    n_behind: ClassVar[int] = 1

    def query_of(self: Any, index: int, row: np.ndarray) -> FidelityArm:
        """Return the query of a row."""
        return FidelityArm(index, row, self.counts).named(self.space)

    def rows_of(self: Any, points: np.ndarray) -> np.ndarray:
        """Descriptor rows (n, n_columns) of values of the function itself at points (n, d)."""
        return np.column_stack([super().rows_of(points), np.zeros(len(points))])  # type: ignore[misc]

    def places_of(self: Any, rows: np.ndarray) -> np.ndarray:
        """Points (n, d), or centres of boxes, that rows describe."""
        return super().places_of(rows[:, :-1])  # type: ignore[misc]


class FidelityArms(OfFidelities, ArmSet):
    """Finitely many points or boxes of the function itself; parameters as of :class:`ArmSet`."""


class FreeFidelities(OfFidelities, FreeCells):
    """Points or cells that stand for all of some sizes, of several functions.

    Parameters
    ----------
    sizes, bounds, n, counts, seed, space
        As of :class:`FreeCells`.
    tasks : ndarray of shape (n_sizes,)
        Of which function the cells of each size are.
    n_tasks : int
        How many functions there are.
    """

    kind = "fidelity (and size of cells)"
    tasks: np.ndarray
    n_tasks: int

    def __init__(
        self,
        sizes: np.ndarray,
        bounds: np.ndarray,
        n: int,
        counts: tuple[int, ...] | None,
        seed: list[int],
        space: ParameterSpace | None,
        *,
        tasks: np.ndarray,
        n_tasks: int,
    ) -> None:
        self.tasks, self.n_tasks = tasks, n_tasks
        super().__init__(sizes, bounds, n, counts, seed, space)

    def told(self, values: np.ndarray) -> FidelityArm | None:
        """Return the query of a point with the number of a function behind it, (d + 1,)."""
        if values.shape != (len(self.bounds) + 1,):
            return None
        task = values[-1]
        if not (0 <= task < self.n_tasks and task == np.floor(task)):
            raise ValueError(
                f"the last of {len(values)} numbers of a point is its fidelity, an integer from 0 "
                f"to {self.n_tasks - 1}; got {float(task)!r}"
            )
        check_inside(values[None, :-1], self.bounds)
        row = self.rows_of(values[None, :-1])[0]
        row[-1] = task
        return self.query_of(-1, row)

    def number_of_size(self, query: Arm | PointsQuery) -> int:
        """Return the number of the function and size of a query, -1 if there is none such."""
        task = query.task if isinstance(query, FidelityArm) else 0
        alike = np.flatnonzero(self.tasks == task)
        number = self.nearest_size(query, alike)
        return -1 if number < 0 else int(alike[number])

    def placed(self, centers: np.ndarray, number: int) -> np.ndarray:
        """Descriptor rows of cells of a size at these centres."""
        rows = super().placed(centers, number)
        return np.column_stack([rows, np.full(len(rows), float(self.tasks[number]))])

    def _knows(self, query: Arm) -> bool:
        if not isinstance(query, FidelityArm) or not 0 <= query.task < self.n_tasks:
            return False
        return super()._knows(Arm(query.index, query.descriptor[:-1].copy(), query.counts))
