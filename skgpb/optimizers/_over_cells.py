"""What a search does where cells are asked and nothing is known of f."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb.domains.blocks import rows_given
from skgpb.domains.cells import SAME_SIZE, Cells, FreeCells, are_among
from skgpb.domains.contexts import ContextArms, without_contexts
from skgpb.surrogate.likelihood import Prior
from skgpb.surrogate.two_scales import prior_of_two_scales, two_scales


class OverCells:
    """A prior for averages, and answers that hold whatever f is like.

    What cells of another size say of the wanted ones rests on the kernel, and one that nobody
    gave is a guess. So the first design is of wanted cells, where these can be asked, and a rule
    that counts on its posterior asks for one in every other round. Where wanted cells are dearer
    than others the first design is of all sizes in turn, and where prices differ at least half of
    the money is for wanted cells (decision D-H30).
    """

    #: Whether every other answer is of a wanted cell.
    _asks_wanted = False

    # What it needs of the class that it is mixed into.
    kernel: Kernel | None
    bounds_: np.ndarray
    _over_cells: bool

    @property
    def _guesses(self: Any) -> bool:
        """Whether averages over boxes are asked, of f of which nothing is known."""
        mixed = self.space_ is not None and self.space_.discrete
        return self.kernel is None and self._over_cells and not (mixed or self._over_discs)

    def _prior_kernel(self, d: int, smooth: bool = False) -> Kernel:
        if self._guesses:
            return two_scales(self.bounds_, self._asked_sides)
        return super()._prior_kernel(d, smooth)  # type: ignore[misc]

    def _default_prior(self) -> Prior:
        if self._guesses:
            return prior_of_two_scales(self.bounds_, self._asked_sides)
        return super()._default_prior()  # type: ignore[misc]

    @property
    def _asked_sides(self: Any) -> np.ndarray:
        """Sides (k, n + d) of what is asked first, wanted cells if they can be; 0 of contexts."""
        queries, targets = (self._given[name] for name in ("queries", "targets"))
        sides = self._sides_given("queries", queries)
        if isinstance(queries, Cells) and isinstance(targets, Cells):
            wanted = are_among(sides, self._sides_given("targets", targets), self._box)
            sides = sides[wanted] if wanted.any() else sides
        return np.pad(sides, ((0, 0), (self.n_context_, 0)))

    def _sides_given(self: Any, name: str, given: Any) -> np.ndarray:
        """Sides (k, d) of cells or rows of boxes, 0 of points."""
        d = len(self._box)
        if isinstance(given, Cells):
            return self._sizes_of(name, given)
        rows = np.zeros((1, d)) if given is None else rows_given(given, name)
        lower, upper = (rows[:, :d], rows[:, d:]) if rows.shape[1] == 2 * d else (rows, rows)
        return np.maximum(upper - lower, 0.0)

    def _sizes_of(self: Any, name: str, given: Cells) -> np.ndarray:
        """Sides (n_sizes, d) of cells; to those that stand for a range come the wanted ones."""
        box, space = self._box, self._actions
        sizes, between = given.sides(box, space, name), given.between(box, space, name)
        targets = self._given["targets"]
        if between is None or not isinstance(targets, Cells):
            return sizes
        side = box[:, 1] - box[:, 0]
        near = SAME_SIZE * np.where(side > 0.0, side, 1.0)
        for wanted in targets.sides(box, space, "targets")[:, np.newaxis]:
            if between.within(wanted[0], near) and not are_among(wanted, sizes, box).all():
                sizes = np.concatenate([sizes, wanted])
        return sizes

    def _find_wanted(self: Any) -> None:
        """Note which sizes of queries are those of targets, where that matters."""
        queries: Any = without_contexts(self.domain_)
        targets: Any = without_contexts(self.targets_)
        both = isinstance(queries, FreeCells) and isinstance(targets, FreeCells)
        self._wanted = np.empty(0, dtype=np.intp)
        if both and self._guesses and not self._n_tasks:
            self._wanted = queries.sizes_like(targets.sizes)
        self._spent_on_wanted = 0.0
        if len(self._wanted) and self._prices[self._wanted].min() <= self._prices.min():
            queries.first_sizes = self._wanted

    def _in_turn(self: Any, free: np.ndarray) -> np.ndarray:
        """Numbers of the queries that this round chooses from, of those that are free."""
        if self._is_for_wanted:
            queries: Any = without_contexts(self.domain_)
            wanted = np.isin(queries.size_of, self._wanted)
            if (free & wanted).any():
                return np.flatnonzero(free & wanted)
        return np.flatnonzero(free)

    @property
    def _is_for_wanted(self: Any) -> bool:
        """Whether a wanted cell is asked in this round."""
        if not (self._asks_wanted and len(self._wanted)):
            return False
        if not np.ptp(self._prices):
            return (self._round + len(self._pending)) % 2 == 0
        on_wanted = self._spent_on_wanted + sum(map(self._price_if_wanted, self._pending))
        return 2.0 * on_wanted <= self._spent + sum(map(self._price_of, self._pending))

    def _price_if_wanted(self: Any, query: Any) -> float:
        """Price of a query that is a wanted cell, 0 of any other."""
        price, domain = self._price_of(query), self.domain_
        if isinstance(domain, ContextArms):
            query, domain = domain.action_of(query), domain.actions
        return price if domain.nearest_size(query, self._wanted) >= 0 else 0.0

    def _wants_its_size(self: Any, slot: int) -> bool:
        """Whether a query is asked because it is a wanted cell, so that its size is to stay."""
        return self._is_for_wanted and bool(np.isin(self.domain_.size_of[slot], self._wanted))
