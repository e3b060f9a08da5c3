"""Searches of the cells of a partition, with a model or without one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skgpb._core._tree import Tree
from skgpb.domains import Cell
from skgpb.locks import locked
from skgpb.optimizers._base import BaseBanditOptimizer, Q
from skgpb.optimizers._cutting import (
    Cutting,
    best_divisible,
    check_variation,
    leaves_that_always_failed,
    without_unlikely,
)


class Partitioned(BaseBanditOptimizer[Q]):
    """A search whose domain is cut into cells, the nodes of a tree."""

    _sides = "any"

    domain_: Any
    _tree: Tree

    @property
    @locked
    def max_depth_(self) -> int:
        """Deepest level at which cells are split."""
        return self.domain_.max_depth

    @property
    @locked
    def tree_(self) -> Bunch:
        """The partition so far, as arrays with one entry per node.

        ``depth``, ``index``, ``parent`` (-1 for the root), ``children`` (n_nodes, K) (-1 for
        leaves), ``lower`` and ``upper`` (n_nodes, d), ``n_evaluations`` and ``reward_sum``, the
        number and the sum of the rewards of its cell. ``domain_.cell(node)`` is the query of a
        node.
        """
        check_is_fitted(self, "bounds_")
        shape = ("depth", "index", "parent", "children", "lower", "upper", "n_evaluations")
        arrays = {name: getattr(self._tree, name) for name in shape}
        return Bunch(**arrays, reward_sum=self._sign.of(self._tree.reward_sum))


class CellSearch(Partitioned[Cell]):
    """One that asks the best leaf, which gives way to its children when it is split."""

    _query_type = Cell

    @property
    def _cutting(self) -> Cutting:
        """How the domain is cut into cells."""
        return Cutting.of(self._params, self._space)

    def _domain(self, X: np.ndarray | None) -> np.ndarray | None:
        return self._cutting.box(self._params.bounds)

    def _begin_checks(self) -> None:
        self._cutting.check(self.n_features_in_)
        check_variation(self._params.variation)

    @abstractmethod
    def _best_leaf(self, excluded: np.ndarray | None) -> int:
        """Return the leaf of the largest index that is not excluded, -1 if there is none."""

    @abstractmethod
    def _best_of(self, nodes: np.ndarray) -> int:
        """Return the place of the node of the largest mean."""

    def _cell_to_ask(self, split: Callable[[int], Any]) -> Cell:
        """Return the best leaf; where every leaf is pending, the best are split early.

        Where it depends on the cell whether an evaluation fails, cells that have failed give way to
        their children, and those that hardly ever have an answer are asked only if no others are
        left.
        """
        domain, pending, node = self.domain_, self._record.pending, -1
        chances = self._record.chances_of_regions(self.bounds_)
        if chances is not None:
            for leaf in leaves_that_always_failed(domain, chances):
                split(leaf)
            node = self._best_leaf(without_unlikely(domain, domain.asked(pending), chances))
        if node < 0:
            node = self._best_leaf(domain.asked(pending))
        while node < 0:
            split(best_divisible(domain, self._best_leaf))
            node = self._best_leaf(domain.asked(pending))
        return domain.cell(node)

    def _best(self, context: np.ndarray | None = None) -> Cell:
        """Return the split cell of the highest mean at the deepest level that has any."""
        outcomes = self._record.outcomes_of_regions(self.bounds_)
        nodes = self.domain_.deepest_expanded(outcomes.always_failed if outcomes else frozenset())
        return self.domain_.cell(int(nodes[self._best_of(nodes)]))
