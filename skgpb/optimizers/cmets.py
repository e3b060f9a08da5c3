r"""Conditional max-value entropy tree search (CMETS).

Queries are cells of a tree over the query space: the deeper, the finer, the less noisy and the
more expensive. One round of Algorithm 1: among the leaves and their children, ask the cell whose
answer carries the most information about f* per unit cost, then split where it was asked.

Algorithm 1 as printed leaves the siblings of a chosen child behind and lets a cell be chosen twice.
The default update repairs both: a chosen cell leaves both sets, its parent leaves the leaves, its
siblings are promoted to leaves, L' is the children of L, and nothing lies below ``max_depth``.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025. Algorithm 1 and Section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._ties import first_best
from skgpb._typing import Bounds, Direction, Optimizer, Relearn, Seed
from skgpb.domains.first_design import farthest
from skgpb.domains.indirect import IndirectCell, QueryTree, are_fewer
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import AllPendingError
from skgpb.guarantee import Guarantee
from skgpb.kernels import ConditionalMean, WindowMean
from skgpb.kernels.learned_window import learned_conditional
from skgpb.locks import locked
from skgpb.optimizers.cmes import SamplesMaximum
from skgpb.utils import (
    MOST_CHILDREN,
    Integral,
    Interval,
    StrOptions,
    box_around,
    check_callable_value,
)


class CellWindow:
    """Centres and half-widths of the images of cells, for rows [centre, K^-depth].

    Exact for maps that act on each coordinate alone and are linear within a cell; otherwise the
    box around the images of opposite corners, filled evenly.
    """

    side: np.ndarray
    map: Callable[..., Any] | None

    def __init__(self, side: np.ndarray, location: Callable | None) -> None:
        self.side, self.map = side, location

    def _corners(self, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        half = 0.5 * self.side * A[:, -1:]
        ends = A[:, :-1] - half, A[:, :-1] + half
        if self.map is None:
            return ends
        lower, upper = (np.asarray(self.map(end), dtype=np.float64) for end in ends)
        return lower, upper

    def location(self, A: np.ndarray) -> np.ndarray:
        """Centres (n, d)."""
        lower, upper = self._corners(A)
        return 0.5 * (lower + upper)

    def scale(self, A: np.ndarray) -> np.ndarray:
        """Half-widths (n, d)."""
        lower, upper = self._corners(A)
        return 0.5 * np.abs(upper - lower)


def default_cost(depth: int) -> float:
    """Return (depth + 1) / 2, the paper's 0.5 log2(1 / d) for d = 2^-(depth + 1): D-C8."""
    return 0.5 * (depth + 1)


class CMETSOptimizer(SamplesMaximum[IndirectCell]):
    """Find the best input from answers at several resolutions with different costs.

    It maximises f from averages over cells or windows, where a finer resolution costs more.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x. None takes the base of ``conditional``. If that has no base, a
        kernel is learned from standardised answers with a weak prior, starting from
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the sides of ``bounds``.
    query_kernel : Kernel, default=None
        Kernel over a of the conditional mean operator that ``fit`` learns from pairs. None
        chooses it, and the regularisation, by closed-form leave-one-out.
    conditional : Kernel or None, default=None
        Kernel of the average that a query observes, over rows [centre] or [centre, scale]. None
        stands for ``window``, or for the one that ``fit`` learns from pairs.
    operator : {"auto", "embedding", "window"}, default="auto"
        How p(x | a) is learned from pairs: by the conditional mean operator of eq. 5, as a smooth
        map plus scatter (much more accurate if p(x | a) has this form), or by the one with
        the lower leave-one-out loss on the pairs.
    bounds : array-like of shape (d, 2), default=None
        Box in which f is maximised. None stands for ``query_bounds``, or for the box around X.
    query_bounds : array-like of shape (q, 2), default=None
        The root cell. None stands for ``bounds``, or for the box around the centres of pairs.
    n_children : int, default=2
        K, parts per axis: a cell has K^q children.
    max_depth : int, default=6
        Depth of the finest cells.
    window : {"cell", "gaussian"}, default="cell"
        Distribution p(x | a), if it is known: uniform over the (image of the) cell itself, or
        normal around the (image of its) centre with standard deviation ``scale(depth)``.
    scale : callable, default=None
        Takes a depth, returns the standard deviation of a Gaussian window in units of x. With
        pairs whose ``queries`` have a column more than ``query_bounds``, that column.
    location : callable, default=None
        The map h from queries (n, q) to points (n, d). None is the identity.
    cost : callable, default=None
        Takes a depth, returns lambda, the cost of a query. None stands for (depth + 1) / 2.
    alpha : float, callable or None, default=None
        Noise variance of an answer; a callable takes the depth. None learns it, one for all
        levels.
    update : {"repaired", "literal"}, default="repaired"
        Rule by which the tree changes, see the module's notes.
    n_points : int, default=2500
        Points of the domain on which draws of f are maximised.
    n_initial : int, default=None
        Size of the initial design: distinct queries, spread evenly, that are asked before the
        acquisition function is used. Earlier answers count. None means 10, up to 25 with a narrow
        blur on the line, and 0 if the kernel of f is given or ``queries`` differ in cost.
    model_noise : "auto" or float, default="auto"
        Variance of the error of the learned p(x | a), which is added to the noise of every answer.
        "auto" estimates it by leave-one-out cross-validation; it is 0 for a known distribution.
    information : {"auto", "noiseless", "noisy", "joint"}, default="auto"
        "noiseless" is eq. 7, which ignores the noise of the answers; "noisy" is the corrected
        Appendix A, which discounts answers that are mostly noise. "auto" is "noisy" if ``alpha`` is
        learned or depends on the query, and eq. 7 if it is one number. "joint" is not in the paper:
        the information in the part of f* that is linear in the answer, from their joint posterior,
        including the noise. It looks for the maximum of f, not of g, and explores more.
    max_values : {"draws", "gumbel"}, default="draws"
        How f* is sampled: by joint draws of f, refined between grid points, or from a Gumbel
        distribution fitted to independent marginals, which is biased high on fine grids. "joint"
        always uses draws.
    n_max_values : int, default=100
        Number of samples of f*.
    guarantee : Guarantee, default=None
        Assumptions of confidence bounds and :meth:`interval` about f and the noise, and their
        failure probability: :class:`~skgpb.Guarantee`. None uses its defaults.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How the hyperparameters of a given ``kernel`` are learned from the answers, by
        marginal likelihood. None keeps them. The default kernel is always learned.
        "consistent", if queries are chosen by the posterior of f, uses several length scales in
        turn and drops those for which no f of the norm in ``guarantee`` fits the answers
        (:doc:`/user_guide/guarantees`).
    n_restarts_optimizer : int, default=0
        Number of additional random starts of the optimizer.
    relearn : "growing", "doubling", int or None, default="growing"
        When to learn them: whenever the number of observations has grown by a quarter or doubled
        (from 4 on), after every given number of observations, or only in ``fit`` (None).
    normalize_y : bool, default=False
        Whether to centre and scale the answers for a ``kernel`` that is given.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether to look for large or small rewards. ``tell``, ``predict`` and ``history_`` use the
        user's sign. With "minimize" acquisition functions (``acquisition``) and ``surrogate_``
        use rewards with the opposite sign.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.

    Attributes
    ----------
    surrogate_ : ConditionalMeanProcess
        Posterior of f and g.
    history_ : structured ndarray
        Queries and answers, one row for each answer.
    leaves_, next_leaves_ : list of (depth, index)
        L and L' of Algorithm 1.
    spent_ : float
        Total cost of the answers.
    alpha_ : float
        Noise variance in use, if it is one number: ``alpha``, or the learned value.
    bounds_ : ndarray of shape (d, 2)
        The box of x.

    Notes
    -----
    The initial design (``n_initial``) has the coarsest cells below the root, level by level, in an
    order that spreads them over the whole box. Their averages leave no gap.

    Scores that agree within a relative 1e-9 tie: the lowest depth, then the lowest index is asked.
    Once all cells were asked, they may be asked again.

    If no cell has information about f*, as when answers are so blurred that they stay far below it,
    the cell with the largest uncertainty per unit cost is asked.

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

    _query_type = IndirectCell

    _parameter_constraints: dict[str, Any] = {
        "n_children": [Interval(Integral, 2, MOST_CHILDREN, closed="both")],
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "window": [StrOptions({"cell", "gaussian"})],
        "scale": [None, callable],
        "location": [None, callable],
        "cost": [None, callable],
        "update": [StrOptions({"repaired", "literal"})],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        query_kernel: Kernel | None = None,
        conditional: Kernel | None = None,
        *,
        operator: str = "auto",
        bounds: Bounds | None = None,
        query_bounds: Any = None,
        n_children: int = 2,
        max_depth: int = 6,
        window: str = "cell",
        scale: Callable[[int], float] | None = None,
        location: Callable | None = None,
        cost: Callable[[int], float] | None = None,
        alpha: float | Callable[[int], float] | None = None,
        update: str = "repaired",
        n_points: int = 2500,
        n_initial: int | None = None,
        model_noise: str | float = "auto",
        information: str = "auto",
        max_values: str = "draws",
        n_max_values: int = 100,
        guarantee: Guarantee | None = None,
        optimizer: Optimizer = None,
        n_restarts_optimizer: int = 0,
        relearn: Relearn = "growing",
        normalize_y: bool = False,
        direction: Direction = "maximize",
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.query_kernel = query_kernel
        self.conditional = conditional
        self.operator = operator
        self.bounds = bounds
        self.query_bounds = query_bounds
        self.n_children = n_children
        self.max_depth = max_depth
        self.window = window
        self.scale = scale
        self.location = location
        self.cost = cost
        self.alpha = alpha
        self.update = update
        self.n_points = n_points
        self.n_initial = n_initial
        self.model_noise = model_noise
        self.information = information
        self.max_values = max_values
        self.n_max_values = n_max_values
        self.guarantee = guarantee
        self.optimizer: Optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn: Relearn = relearn
        self.normalize_y = normalize_y
        self.direction: Direction = direction
        self.random_state = random_state

    # -- Algorithm 1 ------------------------------------------------------------------------

    def _best_by_rule(self) -> IndirectCell:
        """Return the cell of L and L' whose answer has the most information on f* per unit cost."""
        about_maximum = self._about_maximum()
        cells = [self._queries.cell(node) for node in self._active()]
        rows = np.array([cell.a for cell in cells])
        costs = np.array([cell.cost for cell in cells])
        value = about_maximum(self._expected(), rows, self._alphas_of(cells)) / costs
        return cells[first_best(value, min(1.0, 1.0 / costs.max()))]

    def _spread_query(
        self, n: int, known: list[np.ndarray], failed: list[np.ndarray]
    ) -> IndirectCell | None:
        """Return the cell farthest from those asked, among the coarsest cells below the root."""
        nodes = [node for node in self._active() if node != (0, 0)]
        if not nodes or not are_fewer(n, known):
            return None
        tree, depth = self._queries, nodes[0][0]
        cells = [tree.cell(node) for node in nodes if node[0] == depth]
        asked = [tree.cell(node) for node in sorted(self._asked_cells)] + list(self._record.pending)
        others = [cell.center for cell in asked if cell.depth == depth]
        places = np.array([cell.center for cell in cells])
        number = farthest(places, np.reshape(others, (-1, len(tree.root))), tree.root)
        return None if number is None else cells[number]

    def _active(self) -> list[tuple[int, int]]:
        """Return the available cells, by depth and index; asked ones if none is left."""
        nodes = self._leaves | self._next
        pending = {(query.depth, query.index) for query in self._record.pending}
        free = (nodes - pending) or (self._asked_cells - pending)
        if not free:
            raise AllPendingError(
                f"all {len(nodes)} cells are pending: tell some of them before asking for more"
            )
        return sorted(free)

    def _begun(self) -> None:
        self._leaves: set[tuple[int, int]] = {(0, 0)}
        self._next = set(self._queries.children((0, 0)))
        self._asked_cells: set[tuple[int, int]] = set()

    def _snapshot(self) -> dict[str, Any]:
        sets = {"leaves": self._leaves, "next": self._next, "asked_cells": self._asked_cells}
        return super()._snapshot() | {name: sorted(nodes) for name, nodes in sets.items()}

    def _restore(self, snapshot: dict[str, Any]) -> None:
        super()._restore(snapshot)
        self._leaves, self._next = set(snapshot["leaves"]), set(snapshot["next"])
        self._asked_cells = set(snapshot["asked_cells"])

    def _observed(self, query: IndirectCell, reward: float, alpha: float) -> None:
        """Update the tree at the queried cell."""
        node = (query.depth, query.index)
        self._asked_cells.add(node)
        if node not in self._leaves and node not in self._next:
            return
        if self.update == "literal":  # decision D-C8
            self._update_literally(node)
        else:
            self._update_tree(node)

    def _update_tree(self, node: tuple[int, int]) -> None:
        tree = self._queries
        if node in self._leaves:
            self._leaves.remove(node)
        else:
            parent = tree.parent(node)
            self._leaves.discard(parent)
            self._leaves.update(set(tree.children(parent)) - {node})
        self._leaves.update(tree.children(node))
        self._leaves -= self._asked_cells
        children = {child for leaf in self._leaves for child in tree.children(leaf)}
        self._next = children - self._leaves - self._asked_cells

    def _update_literally(self, node: tuple[int, int]) -> None:
        tree = self._queries
        if node in self._next:
            self._leaves.discard(tree.parent(node))
            self._next.remove(node)
        else:
            self._leaves.remove(node)
        self._leaves.update(tree.children(node))
        for leaf in self._leaves:
            self._next.update(tree.children(leaf))

    @property
    @locked
    def leaves_(self) -> list[tuple[int, int]]:
        """L of Algorithm 1, as (depth, index)."""
        return sorted(self._leaves)

    @property
    @locked
    def next_leaves_(self) -> list[tuple[int, int]]:
        """L' of Algorithm 1, the children of leaves, as (depth, index)."""
        return sorted(self._next)

    # -- the two spaces ---------------------------------------------------------------------

    def _query_kernel(self, X: np.ndarray | None, A: np.ndarray | None) -> Kernel:
        """Return the kernel of cells: as given, learned from pairs, or of a known window."""
        self._last_column = None
        if self._own.conditional is not None:
            kernel = super()._query_kernel(X, A)
            if isinstance(kernel, ConditionalMean) and kernel.A is not None:
                self._find_last_column(np.shape(kernel.A)[1])
            elif isinstance(kernel, WindowMean) and kernel.scale is None:
                self._last_column = "scale"
        elif X is not None and A is not None:
            self._find_last_column(A.shape[1])
            scaled = self._last_column == "scale"
            kernel = learned_conditional(X, A, self._own.operator, self._own.query_kernel, scaled)
        elif self._own.window == "gaussian":
            self._last_column = "scale"
            kernel = WindowMean(location=self._own.location)
        else:
            self._last_column = "width"
            kernel = WindowMean(window="uniform")  # completed when the root cell is known
        if self._last_column == "scale" and self._own.scale is None:
            raise ValueError("scale must say how wide the window of each depth is")
        return kernel

    def _find_last_column(self, q: int) -> None:
        root = None if self._query_box is None else len(self._query_box)
        if root is None:
            root = q - (self._own.scale is not None)
        if q == root + 1:
            self._last_column = "scale"
        elif q != root:
            raise ValueError(
                f"queries must have {root} columns, or {root + 1} with the scale last; got {q}"
            )

    def _resolved_bounds(self, X: np.ndarray | None, kernel: Kernel) -> np.ndarray:
        root = self._query_box
        if self._own.bounds is None and root is not None and self._own.location is None:
            known = self._own.conditional is None and not isinstance(kernel, ConditionalMean)
            if known and self._last_column is not None and X is None:
                self._arms = None
                self._space: ParameterSpace | None = self._query_space
                return root
        return super()._resolved_bounds(X, kernel)

    def _make_queries(self, kernel: Kernel, A: np.ndarray | None) -> QueryTree:
        """The tree of cells of the root, at once with the windows over them."""
        root = self._query_box
        if root is None and A is not None:
            root = box_around(A[:, : A.shape[1] - (self._last_column is not None)])
        elif root is None:
            root = self.bounds_
        column = None
        if self._last_column == "width":
            window = CellWindow(root[:, 1] - root[:, 0], self._own.location)
            kernel.set_params(location=window.location, scale=window.scale)

            def column(depth: int) -> float:
                return 1.0 / self._own.n_children**depth

        elif self._last_column == "scale":

            def column(depth: int) -> float:
                return check_callable_value(self._own.scale, depth, "scale")

        cost = self._own.cost or default_cost
        space = self._space_of(root)
        return QueryTree(root, self._own.n_children, self._own.max_depth, cost, column, space)
