"""The tree of a search: its depth in each part of the domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgpb.domains import Cell
from skgpb.plotting.drawing import (
    RECOMMENDED,
    Display,
    check_has_cells,
    find_recommendation,
    label_color,
)
from skgpb.plotting.letters import add_colorbar, add_legend, fit_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

    from skgpb.optimizers._base import BaseBanditOptimizer

__all__ = ["TreeDisplay"]

# Area of a node without answers, and the area added for the node with the most, in points; the
# first area shrinks if there are more nodes than MANY.
SMALLEST, LARGEST, MANY = 8.0, 150.0, 300


@dataclass(kw_only=True, eq=False, repr=False)
class TreeDisplay(Display):
    """Tree of a tree search, which shows where it refines and why.

    Use :meth:`from_optimizer`. Leaves stand side by side in the order of the partition, and
    parents above the middle of their children. The area of a node grows with the number of queries
    of its cell.

    Parameters
    ----------
    depth : ndarray of shape (n_nodes,)
        Depth of every node; the root is at 0.
    parent : ndarray of shape (n_nodes,)
        Parent of each node, -1 for the root.
    children : ndarray of shape (n_nodes, K)
        Children of each node, -1 for leaves.
    n_evaluations : ndarray of shape (n_nodes,)
        Number of queries of each node.
    mean : ndarray of shape (n_nodes,)
        Estimated mean reward; NaN without an estimate.
    recommended : int, default=-1
        Finest node that contains the recommended cell; -1 without a recommendation.
    value_name : str, default=None
        Name of the rewards, for labels.

    Attributes
    ----------
    position_ : ndarray of shape (n_nodes,)
        Horizontal position of the nodes, in leaves.
    mappable_ : matplotlib PathCollection
        The nodes.
    ax_ : matplotlib Axes
        Axes with the tree.
    figure_ : matplotlib Figure
        Figure with the axes and the colour bar.

    Examples
    --------
    >>> from skgpb import GPOOOptimizer
    >>> from skgpb.plotting import TreeDisplay
    >>> opt = GPOOOptimizer(bounds=[(0, 1)], variation=(1.0, 0.5))
    >>> _ = opt.run(lambda cell: float(cell.points.mean()), budget=15)
    >>> display = TreeDisplay.from_optimizer(opt)
    >>> display.ax_.get_ylabel()
    'depth'
    """

    depth: np.ndarray
    parent: np.ndarray
    children: np.ndarray
    n_evaluations: np.ndarray
    mean: np.ndarray
    recommended: int = -1
    value_name: str | None = None

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BaseBanditOptimizer[Any],
        ax: Axes | None = None,
        *,
        recommended: Cell | None = None,
        value_name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the tree of an optimizer.

        Parameters
        ----------
        optimizer : GPOOOptimizer, GPTreeOptimizer, StoOOOptimizer or another tree search
            Optimizer after at least one ``ask``.
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        recommended : Cell, default=None
            None for ``optimizer.recommend()``, or no mark if that needs a context or an answer.
        value_name : str, default=None
            Name of the rewards, for labels.
        **kwargs : dict
            Arguments of :meth:`plot`.

        Returns
        -------
        display : TreeDisplay
        """
        check_is_fitted(optimizer, "bounds_")
        check_has_cells(optimizer, "tree of cells")
        tree = cast(Any, optimizer).tree_
        if recommended is None:
            recommended = find_recommendation(optimizer)
        display = cls(
            depth=np.asarray(tree.depth),
            parent=np.asarray(tree.parent),
            children=np.asarray(tree.children),
            n_evaluations=np.asarray(tree.n_evaluations),
            mean=_estimates(optimizer, tree),
            recommended=-1 if recommended is None else _containing_node(tree, recommended),
            value_name=value_name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, cmap: str = "viridis", colorbar: bool = True) -> Self:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        cmap : str, default="viridis"
            Colours of the estimated mean reward.
        colorbar : bool, default=True
            Whether to add a colour bar.

        Returns
        -------
        self : TreeDisplay
        """
        ax = self._start(ax)
        x, y = self.position_, self.depth
        child = np.flatnonzero(self.parent >= 0)

        def edges(nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            above, gap = self.parent[nodes], np.full(len(nodes), np.nan)
            across, down = (np.column_stack([a[above], a[nodes], gap]).ravel() for a in (x, y))
            return across, down

        ink = label_color(ax)
        thin = {"color": ink, "alpha": 0.3, "lw": max(0.15, 0.8 * min(1.0, MANY / len(x)))}
        ax.plot(*edges(child), zorder=1, **thin)
        path = self._path()
        if len(path):
            ax.plot(*edges(path[path > 0]), color=RECOMMENDED, lw=1.8, zorder=2)
        smallest = SMALLEST * min(1.0, MANY / len(x))
        size = smallest + LARGEST * self.n_evaluations / max(1, self.n_evaluations.max())
        unknown = np.isnan(self.mean)
        faint: dict[str, Any] = {"color": ink, "alpha": 0.3, "linewidths": 0, "zorder": 3}
        ax.scatter(x[unknown], y[unknown], s=smallest, **faint)
        # Nodes with answers are drawn on top.
        known = np.flatnonzero(~unknown)
        known = known[np.argsort(self.n_evaluations[known] > 0, kind="stable")]
        self.mappable_: PathCollection = ax.scatter(
            x[known],
            y[known],
            s=size[known],
            c=self.mean[known],
            cmap=cmap,
            edgecolors=ink,
            linewidths=np.where(self.n_evaluations[known] > 0, 0.5, 0.0).tolist(),
            zorder=3,
        )
        if self.recommended >= 0:
            ring: dict[str, Any] = {
                "facecolors": "none",
                "edgecolors": RECOMMENDED,
                "linewidths": 2.0,
            }
            where = x[self.recommended], y[self.recommended]
            area = size[self.recommended] + 60
            ax.scatter(*where, s=area, label="recommended", zorder=4, **ring)
        ax.invert_yaxis()
        ax.locator_params(axis="y", integer=True)
        ax.set(xticks=[], xlabel="cells, in the order of the partition", ylabel="depth")
        fit_labels(ax)
        if self.recommended >= 0:
            add_legend(ax, 1)
        if colorbar:
            label = f"estimated mean of {self.value_name}" if self.value_name else "estimated mean"
            add_colorbar(ax, self.mappable_, label)
        return self

    @property
    def position_(self) -> np.ndarray:
        """Horizontal position of the nodes, shape (n_nodes,)."""
        position, leaves = np.full(len(self.depth), np.nan), 0
        stack = [0]
        while stack:
            node = stack.pop()
            below = self.children[node][self.children[node] >= 0]
            if not len(below):
                position[node], leaves = leaves, leaves + 1
            elif np.isnan(position[below]).any():
                stack += [node, *below[::-1].tolist()]
            else:
                position[node] = position[below].mean()
        return position

    def _path(self) -> np.ndarray:
        """Return the nodes from the recommended one up to the root."""
        path, node = [], self.recommended
        while node >= 0:
            path.append(node)
            node = int(self.parent[node])
        return np.array(path, dtype=np.intp)


def _containing_node(tree: Any, cell: Cell) -> int:
    """Return the finest node whose cell is, or contains, the given one."""
    depth, index = cell.depth, cell.index
    while True:
        at = np.flatnonzero((tree.depth == depth) & (tree.index == index))
        if len(at):
            return int(at[0])
        depth, index = depth - 1, index // tree.children.shape[1]


def _estimates(optimizer: Any, tree: Any) -> np.ndarray:
    """Return the posterior mean of every node; without a posterior the mean of its rewards."""
    return optimizer.predict_query([optimizer.domain_.cell(i) for i in range(len(tree.depth))])
