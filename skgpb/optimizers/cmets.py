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
from os import PathLike
from typing import Any, Self

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._tree import TIE_TOLERANCE
from skgpb.domains.indirect import IndirectCell
from skgpb.kernels import ConditionalMean, WindowMean
from skgpb.locks import locked
from skgpb.optimizers._indirect import (
    learned_conditional,
    named_box,
)
from skgpb.optimizers._run import check_run, progress_bar
from skgpb.optimizers.cmes import MaxValueInformation
from skgpb.utils import (
    MOST_CHILDREN,
    Integral,
    Interval,
    Real,
    StrOptions,
    box_around,
    check_callable_value,
)


class CellWindow:
    """Centres and half-widths of the images of cells, for rows [centre, K^-depth].

    Exact for maps that act on each coordinate alone and are linear within a cell; otherwise the
    box around the images of opposite corners, filled evenly.
    """

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


class CMETSOptimizer(MaxValueInformation[IndirectCell]):
    """Maximise f from averages at resolutions that cost the more the finer they are.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x. None stands for ``ConstantKernel(1.0) * RBF(l)`` with l
        a fifth of the domain's sides.
    query_kernel : Kernel, default=None
        Kernel over queries, where p(x | a) is learned from pairs.
    conditional : Kernel or None, default=None
        What a query averages, a kernel over rows [centre] or [centre, scale]. None stands for
        ``window``, or for what ``fit`` learns from pairs.
    operator : {"auto", "embedding", "window"}, default="auto"
        How p(x | a) is learned from pairs, as in :class:`~skgpb.CMESOptimizer`.
    domain : array-like of shape (d, 2), default=None
        Box in which f is maximised. None stands for ``query_bounds``, or for the box around X.
    query_bounds : array-like of shape (q, 2), default=None
        The root cell. None stands for ``domain``, or for the box around the centres of pairs.
    n_children : int, default=2
        K, parts per axis: a cell has K^q children.
    max_depth : int, default=6
        Depth of the finest cells.
    window : {"cell", "gaussian"}, default="cell"
        Where p(x | a) is known: the average over the (image of the) cell itself, or around the
        (image of its) centre with standard deviation ``scale(depth)``.
    scale : callable, default=None
        Takes a depth, returns the standard deviation of a Gaussian window in units of x. With
        pairs whose ``queries`` have a column more than ``query_bounds``, that column.
    location : callable, default=None
        The map h from queries (n, q) to points (n, d). None is the identity.
    cost : callable, default=None
        Takes a depth, returns lambda, the cost of a query. None stands for (depth + 1) / 2.
    alpha : float, callable or None, default=0.01
        Noise variance of an answer; a callable takes the depth. None learns it, one for all
        levels.
    update : {"repaired", "literal"}, default="repaired"
        How the tree changes, see the module's notes.
    n_points, model_noise, information, max_values, n_max_values, optimizer, \
n_restarts_optimizer, relearn, normalize_y, random_state
        As in :class:`~skgpb.CMESOptimizer`.

    Attributes
    ----------
    process_ : ConditionalMeanProcess
        Posterior of f and g.
    history_ : structured ndarray
        What was told.
    leaves_, next_leaves_ : list of (depth, index)
        L and L' of Algorithm 1.
    spent_ : float
        Cost of what was told.
    alpha_ : float
        Noise variance in use, where it is one number: ``alpha``, or what was learned.
    bounds_ : ndarray of shape (d, 2)
        The domain.

    Notes
    -----
    Scores that agree within 1e-9 tie: the lowest depth, then the lowest index is asked. Once all
    cells were asked, they may be asked again.

    Where no cell tells anything of f*, as where answers are blurred so much that they stay far
    below it, the one whose answer is known least per unit cost is asked.

    References
    ----------
    .. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect
       Query Bayesian Optimization with Integrated Feedback", 2025. Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb import CMETSOptimizer
    >>> opt = CMETSOptimizer(domain=[(0, 1)], alpha=1e-4, max_depth=5, random_state=0)
    >>> def average(cell):
    ...     x = np.linspace(cell.lower, cell.upper, 50)
    ...     return float(np.exp(-20 * (x - 0.3) ** 2).mean())
    >>> result = opt.run(average, budget=15)  # in units of cost
    >>> bool(abs(result.x[0] - 0.3) < 0.05), bool(opt.spent_ >= 15)
    (True, True)
    """

    _query_type = IndirectCell

    _parameter_constraints: dict = {
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
        domain: Any = None,
        query_bounds: Any = None,
        n_children: int = 2,
        max_depth: int = 6,
        window: str = "cell",
        scale: Callable[[int], float] | None = None,
        location: Callable | None = None,
        cost: Callable[[int], float] | None = None,
        alpha: float | Callable[[int], float] | None = 0.01,
        update: str = "repaired",
        n_points: int = 2500,
        model_noise: str | float = "auto",
        information: str = "auto",
        max_values: str = "draws",
        n_max_values: int = 100,
        optimizer: str | Callable | None = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "growing",
        normalize_y: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.query_kernel = query_kernel
        self.conditional = conditional
        self.operator = operator
        self.domain = domain
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
        self.model_noise = model_noise
        self.information = information
        self.max_values = max_values
        self.n_max_values = n_max_values
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn = relearn
        self.normalize_y = normalize_y
        self.random_state = random_state

    # -- the two spaces ---------------------------------------------------------------------

    def _query_kernel(self, X: np.ndarray | None, A: np.ndarray | None) -> Kernel:
        """What a cell averages: as given, learned from pairs, or a window of known shape."""
        self._last_column = None
        if self.conditional is not None:
            kernel = super()._query_kernel(X, A)
            if isinstance(kernel, ConditionalMean) and kernel.A is not None:
                self._find_last_column(np.shape(kernel.A)[1])
            elif isinstance(kernel, WindowMean) and kernel.scale is None:
                self._last_column = "scale"
        elif A is not None:
            self._find_last_column(A.shape[1])
            scaled = self._last_column == "scale"
            kernel = learned_conditional(X, A, self.operator, self.query_kernel, scaled)
        elif self.window == "gaussian":
            self._last_column = "scale"
            kernel = WindowMean(location=self.location)
        else:
            self._last_column = "width"
            kernel = WindowMean(window="uniform")  # completed when the root cell is known
        if self._last_column == "scale" and self.scale is None:
            raise ValueError("scale must say how wide the window of each depth is")
        return kernel

    def _find_last_column(self, q: int) -> None:
        root = (
            None if self.query_bounds is None else len(named_box(self.query_bounds, "query_bounds"))
        )
        if root is None:
            root = q - (self.scale is not None)
        if q == root + 1:
            self._last_column = "scale"
        elif q != root:
            raise ValueError(
                f"queries must have {root} columns, or {root + 1} with the scale last; got {q}"
            )

    def _resolved_domain(self, X: np.ndarray | None, kernel: Kernel) -> np.ndarray:
        if self.domain is None and self.query_bounds is not None and self.location is None:
            known = self.conditional is None and not isinstance(kernel, ConditionalMean)
            if known and self._last_column is not None and X is None:
                self._arms = None
                return named_box(self.query_bounds, "query_bounds")
        return super()._resolved_domain(X, kernel)

    def _set_queries(self, kernel: Kernel, A: np.ndarray | None) -> None:
        if self.query_bounds is not None:
            root = named_box(self.query_bounds, "query_bounds")
        elif A is not None:
            root = box_around(A[:, : A.shape[1] - (self._last_column is not None)])
        else:
            root = self.bounds_
        self._root = root
        if self._last_column == "width":
            window = CellWindow(root[:, 1] - root[:, 0], self.location)
            kernel.set_params(location=window.location, scale=window.scale)
        if len(root) * self.max_depth * np.log2(self.n_children) > 62:
            raise ValueError("max_depth is so large that cell numbers overflow 64 bits")
        self._level_costs = np.array([self._level_cost(h) for h in range(self.max_depth + 1)])
        self._level_alphas = np.array([self._level_alpha(h) for h in range(self.max_depth + 1)])
        self._A = np.empty((0, len(root) + (self._last_column is not None)))
        self._costs = np.empty(0)
        self._query_box = self._free_box = None
        self._leaves, self._next = {(0, 0)}, set()
        self._asked_cells: set[tuple[int, int]] = set()
        self._next = {child for leaf in self._leaves for child in self._children(leaf)}
        self._check_kernel(kernel, np.array([self._cell((0, 0)).a]))

    def _level_cost(self, depth: int) -> float:
        value = check_callable_value(self.cost or default_cost, depth, "cost")
        if value == 0.0:
            raise ValueError(f"cost({depth}) must be positive")
        return value

    def _level_alpha(self, depth: int) -> float:
        if callable(self.alpha):
            return check_callable_value(self.alpha, depth, "alpha")
        return float("nan") if self.alpha is None else float(self.alpha)

    def _alphas_of(self, queries: Any) -> np.ndarray:
        alphas = self._level_alphas[[cell.depth for cell in queries]]
        if np.isnan(alphas).any():
            return np.full(len(queries), self.process_.alpha_)
        return alphas

    def _typical_queries(self) -> np.ndarray:
        return np.array([self._cell(node).a for node in [(0, 0), *self._children((0, 0))]])

    def _track(self) -> None:
        candidates, self._A = self._A, None
        self._follow_points()
        self._A = candidates

    # -- cells ------------------------------------------------------------------------------

    def _cell(self, node: tuple[int, int]) -> IndirectCell:
        """The query that asks a node (depth, index)."""
        depth, index = node
        q, K = len(self._root), self.n_children
        place, scale = np.zeros(q), 1
        digits = index
        for _ in range(depth):
            digits, child = divmod(digits, K**q)
            for axis in range(q - 1, -1, -1):
                child, step = divmod(child, K)
                place[axis] += step * scale
            scale *= K
        lower, side = self._root[:, 0], self._root[:, 1] - self._root[:, 0]
        low, high = lower + side * (place / scale), lower + side * ((place + 1) / scale)
        a = 0.5 * (low + high)
        if self._last_column == "scale":
            a = np.append(a, check_callable_value(self.scale, depth, "scale"))
        elif self._last_column == "width":
            a = np.append(a, 1.0 / scale)
        return IndirectCell(a, self._level_costs[depth], index, depth, low, high)

    def _children(self, node: tuple[int, int]) -> list[tuple[int, int]]:
        depth, index = node
        if depth >= self.max_depth:
            return []
        n = self.n_children ** len(self._root)
        return [(depth + 1, n * index + j) for j in range(n)]

    def _parent(self, node: tuple[int, int]) -> tuple[int, int]:
        return node[0] - 1, node[1] // self.n_children ** len(self._root)

    def _active(self) -> list[tuple[int, int]]:
        """Cells that can be asked, by depth and index; all that were asked once none is left."""
        nodes = self._leaves | self._next
        pending = {(query.depth, query.index) for query in self._pending}
        free = (nodes - pending) or (self._asked_cells - pending)
        if not free:
            raise ValueError(
                f"all {len(nodes)} cells are pending: tell some of them before asking for more"
            )
        return sorted(free)

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

    # -- Algorithm 1 ------------------------------------------------------------------------

    def _best_query(self) -> IndirectCell:
        cells = [self._cell(node) for node in self._active()]
        rows = np.array([cell.a for cell in cells])
        costs = np.array([cell.cost for cell in cells])
        mean, std = self._moments(rows)
        noise = self.process_.noise_of(self._alphas_of(cells))
        value = self._information(rows, mean, std, noise, self._round_state())
        if self._is_silent(value):
            value = std / self._unit
        value = value / costs
        return cells[int(np.flatnonzero(value >= value.max() - TIE_TOLERANCE)[0])]

    def _observed(self, query: IndirectCell, reward: float, alpha: float) -> None:
        node = (query.depth, query.index)
        self._asked_cells.add(node)
        if node not in self._leaves and node not in self._next:
            return
        if self.update == "literal":  # decision D-C8
            self._update_literally(node)
        else:
            self._update_tree(node)

    def _update_tree(self, node: tuple[int, int]) -> None:
        if node in self._leaves:
            self._leaves.remove(node)
        else:
            parent = self._parent(node)
            self._leaves.discard(parent)
            self._leaves.update(set(self._children(parent)) - {node})
        self._leaves.update(self._children(node))
        self._leaves -= self._asked_cells
        children = {child for leaf in self._leaves for child in self._children(leaf)}
        self._next = children - self._leaves - self._asked_cells

    def _update_literally(self, node: tuple[int, int]) -> None:
        if node in self._next:
            self._leaves.discard(self._parent(node))
            self._leaves.update(self._children(node))
            self._next.remove(node)
        else:
            self._leaves.remove(node)
            self._leaves.update(self._children(node))
        for leaf in self._leaves:
            self._next.update(self._children(leaf))

    def _alpha_of(self, query: IndirectCell | None) -> float:
        alpha = self._level_alphas.min() if query is None else self._level_alphas[query.depth]
        return self.process_.alpha_ if np.isnan(alpha) else float(alpha)

    def _scores(self, A: np.ndarray | None, state: np.ndarray) -> np.ndarray:
        raise NotImplementedError("cells are scored where they are chosen")

    # -- telling ----------------------------------------------------------------------------

    def _resolve(self, query: IndirectCell) -> IndirectCell:
        n = self.n_children ** len(self._root)
        known = 0 <= query.depth <= self.max_depth and 0 <= query.index < n**query.depth
        if not known or self._cell((query.depth, query.index)) != query:
            raise ValueError(f"{query!r} is not a cell of this optimizer")
        return query

    def _as_query(self, points: Any) -> IndirectCell:
        for query in self._pending:
            if np.shape(points) in (query.center.shape, (1, *query.center.shape)) and (
                np.array_equal(np.ravel(points), query.center)
            ):
                return query
        raise ValueError(
            f"a query must be a cell of this optimizer, or the centre of one that is pending; "
            f"got {points!r}"
        )

    def _row_number(self, query: IndirectCell) -> int:
        return -1

    # -- budget -----------------------------------------------------------------------------

    def run(
        self,
        objective: Callable[[IndirectCell], float],
        budget: float,
        callback: Callable[[Self], Any] | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
        *,
        on_error: str = "record",
        checkpoint: str | PathLike | None = None,
    ) -> OptimizeResult:
        """Ask, evaluate and tell until the budget is spent, continuing from the present state.

        Parameters
        ----------
        objective : callable
            Takes a query and returns its noisy answer.
        budget : float
            Cost to be spent, > 0. The last query may overshoot it.
        callback, progress, n_jobs, on_error, checkpoint
            As in the other optimizers; ``progress`` shows the cost spent. Failures cost nothing.

        Returns
        -------
        result : scipy.optimize.OptimizeResult
            ``x``, ``fun``, ``nfev``, ``history``, ``cost`` (what was spent), ``success`` and
            ``message``.
        """
        if not isinstance(budget, Real) or isinstance(budget, bool) or not 0 < budget < np.inf:
            raise ValueError(f"budget must be a finite number > 0, got {budget!r}")
        check_run(objective, callback, on_error)
        self._ensure_started()
        start, before = self._spent, len(self._history)
        stops: list[bool] = []
        bar = progress_bar(budget, "cost") if progress else None

        def spent(optimizer: Self) -> bool:
            if bar is not None:
                # The last query may overshoot, which a bar cannot show.
                bar.update(min(optimizer._spent - start, budget) - bar.n)
            stops.append(callback is not None and callback(optimizer) is True)
            return stops[-1] or optimizer._spent - start >= budget

        most = max(1, int(np.ceil(budget / self._level_costs.min())))
        try:
            result = super().run(
                objective, most, spent, False, n_jobs, on_error=on_error, checkpoint=checkpoint
            )
        finally:
            if bar is not None:
                bar.close()
        result.nfev = len(self._history) - before + result.nfail
        result.cost = self._spent - start
        if result.success and not stops[-1]:
            result.message = "the budget is spent"
        return result
