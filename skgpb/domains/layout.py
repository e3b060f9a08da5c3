"""Layout of a descriptor row: columns of contexts, points or boxes, and further columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np


@dataclass(frozen=True)
class Layout:
    """Columns of descriptor rows: ``[context | lower | (context | upper) | task column]``.

    Parameters
    ----------
    d : int
        Number of sides of the actions; the sides of the context come first.
    n_context : int, default=0
        Number of sides of the context.
    counts : tuple of d ints or None, default=None
        Representatives of a box along each of the d sides; None if rows are points.
    task_column : float or None, default=None
        Last column of rows that describe the value of f itself at a point: 0 for the first of
        several tasks, -1 if other rows are weighted sums. None without this column.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains.layout import Layout
    >>> boxes = Layout(1, n_context=1, counts=(3,))
    >>> row = boxes.with_contexts(np.array([7.0]), np.array([[0.0, 1.0]]))
    >>> row
    array([[7., 0., 7., 1.]])
    >>> boxes.places(row), boxes.actions_of(row)
    (array([[7. , 0.5]]), array([[0., 1.]]))
    """

    #: Names of the constructor's arguments, for files.
    arguments: ClassVar[tuple[str, ...]] = ("d", "n_context", "counts", "task_column")

    d: int
    n_context: int = 0
    counts: tuple[int, ...] | None = None
    task_column: float | None = None

    @property
    def boxes(self) -> bool:
        """True if rows describe boxes."""
        return self.counts is not None

    @property
    def n_sides(self) -> int:
        """Number of sides of contexts and actions together."""
        return self.n_context + self.d

    @property
    def n_columns(self) -> int:
        """Number of columns of a row."""
        return self.n_sides * (2 if self.boxes else 1) + (self.task_column is not None)

    @property
    def counts_of_all(self) -> tuple[int, ...] | None:
        """Numbers of representatives along each side, one for a context; None for points."""
        return None if self.counts is None else (1,) * self.n_context + self.counts

    @property
    def actions_layout(self) -> Layout:
        """The layout of rows without contexts."""
        return replace(self, n_context=0) if self.n_context else self

    def add_contexts(self, n: int) -> Layout:
        """Return the layout of the same rows with n leading sides of a context."""
        return replace(self, n_context=n)

    # -- joining and splitting --------------------------------------------------------------

    def corners(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper corners (n, n_sides); both are the point if rows are points."""
        n = self.n_sides
        return rows[:, :n], rows[:, n : 2 * n] if self.boxes else rows[:, :n]

    def trailing_columns(self, rows: np.ndarray) -> np.ndarray:
        """Return the columns (n, 0 or 1) after points and boxes."""
        return rows[:, self.n_sides * (2 if self.boxes else 1) :]

    def with_contexts(self, contexts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return rows of actions in one context (n_context,), or in one for each (n, n_context)."""
        given, actions = np.broadcast_to(contexts, (len(rows), self.n_context)), self.actions_layout
        corners = actions.corners(rows)[: 1 + self.boxes]
        parts = [each for corner in corners for each in (given, corner)]
        return np.hstack([*parts, actions.trailing_columns(rows)])

    def actions_of(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of actions without their contexts."""
        if not self.n_context:
            return rows
        corners = self.corners(rows)[: 1 + self.boxes]
        return np.hstack(
            [*(each[:, self.n_context :] for each in corners), self.trailing_columns(rows)]
        )

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Return descriptor rows (n, n_columns) of values of f at points (n, n_sides)."""
        parts = [points, points] if self.boxes else [points]
        if self.task_column is not None:
            parts.append(np.full((len(points), 1), self.task_column))
        return np.hstack(parts) if len(parts) > 1 else points

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the points (n, n_sides), or centres of boxes, of rows."""
        lower, upper = self.corners(rows)
        return 0.5 * lower + 0.5 * upper
