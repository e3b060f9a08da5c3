"""Answers about wanted cells, which need no assumption about f."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.free_cells import FreeCells
from skgpb.domains.query import PointsQuery
from skgpb.optimizers._cost_model import CostModel
from skgpb.optimizers._feedback import Feedback


@dataclass
class TargetSizes:
    """The queries that are cells of the wanted sizes, and when one of them is asked.

    Answers about other sizes inform about wanted cells only through the kernel, and a default
    kernel is a guess. The initial design therefore consists of wanted cells, if these can be asked,
    and a rule that relies on its posterior asks for one in every other round. If wanted cells cost
    more than others, the initial design takes all sizes in turn. If costs differ, at least half of
    the budget goes to wanted cells (decision D-H30).

    Parameters
    ----------
    queries : FreeCells
        All possible queries.
    numbers : ndarray of int
        Numbers of the wanted sizes of queries.
    spent : float, default=0.0
        Cost of the wanted queries so far.
    """

    queries: FreeCells
    numbers: np.ndarray
    spent: float = 0.0

    _kept_fields = ("spent",)

    @classmethod
    def of(
        cls, sets: tuple[ArmSet, ArmSet], feedback: Feedback, cost_model: CostModel
    ) -> TargetSizes | None:
        """Note which sizes of queries are sizes of targets; None if that does not matter."""
        queries, targets = sets
        if not (isinstance(queries, FreeCells) and isinstance(targets, FreeCells)):
            return None
        numbers = queries.sizes_like(targets.sizes)
        if not len(numbers) or not feedback.uses_default_kernel or feedback.n_tasks:
            return None
        if cost_model.of_groups[numbers].min() <= cost_model.least:
            queries.first_sizes = numbers
        return cls(queries, numbers)

    def among(self, free: np.ndarray) -> np.ndarray:
        """Return which of the free queries are wanted, or all of them if none is."""
        wanted = free & np.isin(self.queries.size_of, self.numbers)
        return wanted if wanted.any() else free

    def is_due(
        self,
        round: int,
        spent: float,
        pending: Sequence[Arm | PointsQuery],
        cost_model: CostModel,
    ) -> bool:
        """Return whether a wanted cell is asked in a round, from 0, after ``spent`` was paid."""
        if not cost_model.differ:
            return (round + len(pending)) % 2 == 0
        costs = [cost_model.cost_of(query) for query in pending]
        pairs = zip(pending, costs, strict=True)
        on_wanted = self.spent + sum(cost for query, cost in pairs if self._is_one(query))
        return 2.0 * on_wanted <= spent + sum(costs)

    def pay(self, query: Arm | PointsQuery, price: float) -> None:
        """Note what an answer has cost."""
        if self._is_one(query):
            self.spent += price

    def _is_one(self, query: Arm | PointsQuery) -> bool:
        return self.queries.nearest_size(query, self.numbers) >= 0
