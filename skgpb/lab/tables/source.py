"""Protocol of a table that can be searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from skgpb.lab.tables.conditions import Subgroup
from skgpb.lab.tables.levels import Levels, Moments

__all__ = ["Table"]


class Table(Protocol):
    """Source of a search: it returns the number of rows in a box and their average target.

    Attributes
    ----------
    levels : sequence of Levels
        The levels of each feature; no two features have the same name.
    n_rows : int
        Number of rows that have a target.
    """

    @property
    def levels(self) -> Sequence[Levels]:
        """The features and their levels."""

    @property
    def n_rows(self) -> int:
        """Number of rows that have a target."""

    def totals(self, boxes: Sequence[Subgroup]) -> Moments:
        """Return the moments of the target in boxes, with arrays of shape (n_boxes,)."""

    def marginals(
        self, boxes: Sequence[Subgroup], features: Sequence[Sequence[str]] | None = None
    ) -> list[dict[str, Moments]]:
        """Return the moments of the target in boxes, by levels of features.

        Parameters
        ----------
        boxes : sequence of Subgroup
            The boxes of one step of a search; they may overlap.
        features : sequence of sequence of str, default=None
            Names of the features for each box; None for all features of all boxes. A feature may
            have a side in its box; then its levels outside that side have no rows.

        Returns
        -------
        answers : list of dict of str to Moments
            For each box and feature; arrays have shape (n_levels,).
        """
