r"""Conditional max-value entropy tree search (CMETS).

Queries are cells of a tree over the query space. Deeper cells are finer, less noisy and more
expensive. One round of Algorithm 1: among the leaves L and their children L', ask the cell whose
answer carries the most information about f* per unit cost, then split this cell.

Algorithm 1 as printed loses the siblings of a chosen child, and may choose a cell twice. The
default update repairs both. The chosen cell leaves both sets, and its parent leaves L. Its siblings
and its children become leaves. L' is the set of children of L, and no cell is below ``max_depth``.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025. Algorithm 1 and Section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._ties import argmax_first
from skgpb.domains.first_design import farthest
from skgpb.domains.indirect import IndirectCell, QueryTree, are_fewer
from skgpb.exceptions import AllPendingError
from skgpb.kernels import ConditionalMean, WindowMean
from skgpb.kernels.learned_window import learned_conditional
from skgpb.optimizers._stopping import asked_depth, over_regions
from skgpb.optimizers.cmes import MaxValueSearch
from skgpb.optimizers.indirect_search import IndirectParameters
from skgpb.optimizers.round import Round
from skgpb.utils.locks import locked
from skgpb.utils.typing import Bounds
from skgpb.utils.validation import (
    MOST_CHILDREN,
    Integral,
    Interval,
    StrOptions,
    box_around,
    check_callable_value,
)

__all__ = ["CMETSOptimizer"]


@dataclass(eq=False)
class CellWindow:
    """Centres and half-widths of the images of cells, for rows [centre, K^-depth].

    They are exact for maps that act on each coordinate alone and are linear within a cell. For
    other maps the image is approximated by the box around the images of two opposite corners.

    Parameters
    ----------
    side : ndarray of shape (q,)
        Sides of the root cell.
    map : callable or None
        The map from queries (n, q) to points (n, d). None is the identity.
    """

    side: np.ndarray
    map: Callable[..., Any] | None

    def _corners(self, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        half = 0.5 * self.side * A[:, -1:]
        ends = A[:, :-1] - half, A[:, :-1] + half
        if self.map is None:
            return ends
        lower, upper = (np.asarray(self.map(end), dtype=np.float64) for end in ends)
        return lower, upper

    def location(self, A: np.ndarray) -> np.ndarray:
        """Return the centres (n, d) of the images of rows (n, q + 1)."""
        lower, upper = self._corners(A)
        return 0.5 * (lower + upper)

    def scale(self, A: np.ndarray) -> np.ndarray:
        """Return the half-widths (n, d) of the images of rows (n, q + 1)."""
        lower, upper = self._corners(A)
        return 0.5 * np.abs(upper - lower)


def default_cost(depth: int) -> float:
    """Return (depth + 1) / 2, the paper's 0.5 log2(1 / d) for d = 2^-(depth + 1): D-C8."""
    return 0.5 * (depth + 1)


class ActiveCells:
    """The sets of cells of Algorithm 1, as nodes (depth, index).

    Parameters
    ----------
    tree : QueryTree
        The tree of all cells.

    Attributes
    ----------
    leaves, children : set of nodes
        L and L'.
    asked : set of nodes
        Cells with an answer.
    """

    _kept_fields = ("leaves", "children", "asked")

    def __init__(self, tree: QueryTree) -> None:
        self._tree = tree
        self.leaves: set[tuple[int, int]] = {(0, 0)}
        self.children: set[tuple[int, int]] = set(tree.children((0, 0)))
        self.asked: set[tuple[int, int]] = set()

    def available(self, pending: Collection[IndirectCell]) -> list[IndirectCell]:
        """Return the cells that can be the next query, by depth and index.

        These are the leaves and their children, without the pending cells. If none is left, they
        are the earlier queries.
        """
        nodes = self.leaves | self.children
        waiting = {(query.depth, query.index) for query in pending}
        free = (nodes - waiting) or (self.asked - waiting)
        if not free:
            raise AllPendingError(
                f"all {len(nodes)} cells are pending: tell some of them before asking for more"
            )
        return [self._tree.cell(node) for node in sorted(free)]

    def farthest(self, pending: Collection[IndirectCell]) -> IndirectCell | None:
        """Return the cell farthest from all answered and pending cells.

        It is one of the coarsest available cells below the root; None if there is none.
        """
        below = [cell for cell in self.available(pending) if cell.depth > 0]
        cells = [cell for cell in below if cell.depth == below[0].depth]
        if not cells:
            return None
        root, asked = self._tree.root, [self._tree.cell(node) for node in sorted(self.asked)]
        others = [cell.center for cell in [*asked, *pending] if cell.depth == cells[0].depth]
        places = np.array([cell.center for cell in cells])
        number = farthest(places, np.reshape(others, (-1, len(root))), root)
        return None if number is None else cells[number]

    def observe(self, cell: IndirectCell, literally: bool) -> None:
        """Update the sets after an answer to a cell, by Algorithm 1 as printed or repaired."""
        node = cell.depth, cell.index
        self.asked.add(node)
        if node not in self.leaves and node not in self.children:
            return
        if literally:  # decision D-C8
            self._update_literally(node)
        else:
            self._update(node)

    def _update(self, node: tuple[int, int]) -> None:
        tree = self._tree
        if node in self.leaves:
            self.leaves.remove(node)
        else:
            parent = tree.parent(node)
            self.leaves.discard(parent)
            self.leaves.update(set(tree.children(parent)) - {node})
        self.leaves.update(tree.children(node))
        self.leaves -= self.asked
        children = {child for leaf in self.leaves for child in tree.children(leaf)}
        self.children = children - self.leaves - self.asked

    def _update_literally(self, node: tuple[int, int]) -> None:
        tree = self._tree
        if node in self.children:
            self.leaves.discard(tree.parent(node))
            self.children.remove(node)
        else:
            self.leaves.remove(node)
        self.leaves.update(tree.children(node))
        for leaf in self.leaves:
            self.children.update(tree.children(leaf))


@dataclass(eq=False, repr=False)
class CMETSOptimizer(MaxValueSearch[IndirectCell], IndirectParameters):
    """Find the best input from answers at several resolutions with different costs.

    Conditional max-value entropy tree search (CMETS) maximises f from averages over cells or
    windows, where a finer resolution costs more.

    Other parameters are inherited from :class:`~skgpb.optimizers.IndirectParameters`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x; None takes the base of ``conditional``.
    conditional : Kernel or None, default=None
        Kernel of the average that a query observes, over rows [centre] or [centre, scale]. None
        stands for ``window``, or for the kernel that ``fit`` learns from pairs.
    bounds : array-like of shape (d, 2), default=None
        Box in which f is maximised. None stands for ``query_bounds``, or for the box around X.
    alpha : float, callable or None, default=None
        Noise variance of an answer; a callable takes the depth. None learns it, one for all
        levels.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.
    query_bounds : array-like of shape (q, 2), default=None
        The root cell. None stands for ``bounds``, or for the box around the centres of pairs.
    n_children : int, default=2
        K, the number of parts per axis: a cell has K^q children.
    max_depth : int, default=6
        Depth of the finest cells.
    window : {"cell", "gaussian"}, default="cell"
        Distribution p(x | a) without ``conditional`` and pairs: uniform over the (image of the)
        cell, or normal around the (image of its) centre with standard deviation ``scale(depth)``.
    scale : callable, default=None
        Function of the depth that returns the standard deviation of a Gaussian window, in units of
        x. If the ``queries`` of pairs have one column more than ``query_bounds``, it returns the
        value of this column.
    location : callable, default=None
        The map h from queries (n, q) to points (n, d). None is the identity.
    cost : callable, default=None
        Function of the depth that returns lambda, the cost of a query. None stands for
        (depth + 1) / 2.
    update : {"repaired", "literal"}, default="repaired"
        Update of the tree after an answer: "literal" is Algorithm 1 as printed, which loses the
        siblings of a chosen child and may choose a cell twice; "repaired" is without these faults.
    information, max_values, n_max_values
        As for :class:`~skgpb.CMESOptimizer`.

    Attributes
    ----------
    leaves_ : list of (depth, index)
        L of Algorithm 1.

    Notes
    -----
    *Initial design.* Its cells (``n_initial``) are the coarsest below the root, level by level, in
    an order that spreads them over the whole box. Their averages cover the box without a gap.

    *Ties.* Scores that agree within a relative 1e-9 tie. Ties go to the lowest depth, then to the
    lowest index.

    *Repeats.* Once all cells were asked, they may be asked again.

    If no cell has information about f*, the cell with the largest uncertainty per unit cost is
    asked. This occurs if answers are so blurred that all are far below f*.

    References
    ----------
    .. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect
       Query Bayesian Optimization with Integrated Feedback", 2025. Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb import CMETSOptimizer
    >>> opt = CMETSOptimizer(bounds=[(0, 1)], alpha=1e-4, max_depth=5, random_state=0)
    >>> def average(cell):
    ...     x = np.linspace(cell.lower, cell.upper, 50)
    ...     return float(np.exp(-20 * (x - 0.3) ** 2).mean())
    >>> result = opt.run(average, max_cost=15)
    >>> bool(abs(result.x[0] - 0.3) < 0.05), bool(opt.spent_ >= 15)
    (True, True)
    """

    conditional: Kernel | None = None
    _: KW_ONLY
    bounds: Bounds | None = None
    query_bounds: Bounds | None = None
    n_children: int = 2
    max_depth: int = 6
    window: Literal["cell", "gaussian"] = "cell"
    scale: Callable[[int], float] | None = None
    location: Callable | None = None
    cost: Callable[[int], float] | None = None
    alpha: float | Callable[[Any], float] | None = None
    update: Literal["repaired", "literal"] = "repaired"
    information: Literal["auto", "noiseless", "noisy", "joint"] = "auto"
    max_values: Literal["draws", "gumbel"] = "draws"
    n_max_values: int = 100

    _query_type = IndirectCell
    _kept_fields = ("_cells",)

    _parameter_constraints = {
        "n_children": [Interval(Integral, 2, MOST_CHILDREN, closed="both")],
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "window": [StrOptions({"cell", "gaussian"})],
        "scale": [None, callable],
        "location": [None, callable],
        "cost": [None, callable],
        "update": [StrOptions({"repaired", "literal"})],
    }

    # -- Algorithm 1 ------------------------------------------------------------------------

    def _best_by_rule(self) -> IndirectCell:
        """Return the cell of L and L' whose answer has the most information on f* per unit cost."""
        round, values = self._scored_round()
        unit = min(1.0, 1.0 / float(round.cost.max()))
        return self._cells.available(self.run_.pending)[argmax_first(values, unit)]

    def _round(self, pending: list[Any]) -> Round:
        cells = self._cells.available(self.run_.pending)
        rows = self.domain_.kernel.rows_of_queries(np.array([cell.a for cell in cells]))
        costs = np.array([cell.cost for cell in cells])
        of_levels = super()._round(pending)
        return of_levels.at(self._expected_posterior(pending), rows, self._noises_of(cells), costs)

    def _initial_query(self, n: int, known: np.ndarray, failed: np.ndarray) -> IndirectCell | None:
        return self._cells.farthest(self.run_.pending) if are_fewer(n, known) else None

    @property
    def _settings(self) -> np.ndarray:
        return np.array([cell.a for cell in self._cells.available(self.run_.pending)])

    def _begin(self) -> None:
        super()._begin()
        self._cells = ActiveCells(self.domain_)

    def _observe(self, query: IndirectCell, reward: float, alpha: float) -> None:
        super()._observe(query, reward, alpha)
        self._cells.observe(query, self.update == "literal")

    # -- the gap ----------------------------------------------------------------------------

    def _asked_depth(self) -> int:
        return asked_depth(self.run_.told_queries(), self.domain_.n_parts)

    def _gap_averages(self) -> str:
        return over_regions(self._asked_depth(), self.domain_.n_parts) if self._blur().any() else ""

    def _average_rows(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of all cells of one depth, and of the one that is nearest to x."""
        tree, depth = self.domain_, self._asked_depth()
        cells = [tree.cell((depth, number)) for number in range(tree.n_parts**depth)]
        rows = tree.kernel.rows_of_queries(np.array([cell.a for cell in cells]))
        away = np.abs(rows[:, : x.shape[1]] - x) / np.ptp(self.bounds_, axis=1)
        nearest = int(away.max(axis=1).argmin())
        return rows, rows[nearest : nearest + 1]

    @property
    @locked
    def leaves_(self) -> list[tuple[int, int]]:
        """The leaves, L of Algorithm 1, as (depth, index)."""
        return sorted(self._cells.leaves)

    # -- the two spaces ---------------------------------------------------------------------

    def _query_kernel(self, X: np.ndarray | None, A: np.ndarray | None) -> Kernel:
        """Return the kernel of cells: ``conditional``, learned from pairs, or of ``window``."""
        self._last_column = None
        run = self.run_
        if run.params.conditional is not None:
            kernel = super()._query_kernel(X, A)
            if isinstance(kernel, ConditionalMean) and kernel.A is not None:
                self._find_last_column(np.shape(kernel.A)[1])
            elif isinstance(kernel, WindowMean) and kernel.scale is None:
                self._last_column = "scale"
        elif X is not None and A is not None:
            self._find_last_column(A.shape[1])
            scaled = self._last_column == "scale"
            kernel = learned_conditional(X, A, run.params.operator, run.params.query_kernel, scaled)
        elif run.params.window == "gaussian":
            self._last_column = "scale"
            kernel = WindowMean(location=run.params.location)
        else:
            self._last_column = "width"
            kernel = WindowMean(window="uniform")  # _make_queries sets its location and scale
        if self._last_column == "scale" and run.params.scale is None:
            raise ValueError(
                "scale must be a function of the depth that returns the standard deviation of the "
                "window, got None"
            )
        return kernel

    def _find_last_column(self, q: int) -> None:
        root = None if self._query_box is None else len(self._query_box)
        if root is None:
            root = q - (self.run_.params.scale is not None)
        if q == root + 1:
            self._last_column = "scale"
        elif q != root:
            raise ValueError(
                f"queries must have {root} columns, or {root + 1} with the scale last; got {q}"
            )

    def _domain(self, X: np.ndarray | None) -> np.ndarray:
        run = self.run_
        own, root = run.params, self._query_box
        by_root = own.bounds is None and own.location is None and own.conditional is None
        if not by_root or root is None or X is not None:
            return super()._domain(X)
        self._answered = self._query_kernel(None, None)
        run.space = run.query_space
        return root

    def _make_queries(self, kernel: Kernel, A: np.ndarray | None) -> QueryTree:
        """Return the tree of cells, after setting the windows of the kernel for the root cell."""
        root = self._query_box
        if root is None and A is not None:
            root = box_around(A[:, : A.shape[1] - (self._last_column is not None)])
        elif root is None:
            root = self.bounds_
        column = None
        run = self.run_
        if self._last_column == "width":
            window = CellWindow(root[:, 1] - root[:, 0], run.params.location)
            kernel.set_params(location=window.location, scale=window.scale)

            def column(depth: int) -> float:
                return 1.0 / run.params.n_children**depth

        elif self._last_column == "scale":

            def column(depth: int) -> float:
                return check_callable_value(run.params.scale, depth, "scale")

        own = run.params
        cost, space = own.cost or default_cost, self._space_of(root)
        return QueryTree(root, kernel, own.n_children, own.max_depth, cost, column, space)
