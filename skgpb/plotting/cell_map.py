"""Map of the cells of a tree search: posterior, queries and recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from skgpb.domains import Cell
from skgpb.domains.space import Side
from skgpb.plotting import drawing
from skgpb.plotting.letters import add_colorbar, add_legend, fit_labels
from skgpb.utils.typing import Points
from skgpb.utils.validation import has_contexts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection

    from skgpb.optimizers._base import BaseBanditOptimizer

__all__ = ["CellMapDisplay"]


@dataclass(kw_only=True, eq=False, repr=False)
class CellMapDisplay(drawing.Display):
    """Map of the cells or groups of a tree search: queries and posterior.

    Use :meth:`from_optimizer`. One feature is drawn as steps with a band of 95 %, two as a map. Of
    more features the first two are drawn, with high cells above low ones. Members of a pool are
    drawn as dots in the colour of their cell.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_leaves, d)
        Corners of the leaves.
    mean, std : ndarray of shape (n_leaves,)
        Posterior of the average over each leaf, in units of the reward.
    asked : ndarray of shape (n_asked, 2, d)
        Corners of the evaluated cells, leaves or not.
    recommended : ndarray of shape (2, d), default=None
        Corners of the recommended cell; None without a recommendation.
    answers : ndarray of shape (n_answers, 2), default=None
        Centre along the first feature, and reward, of each answer; drawn for d = 1.
    points : ndarray of shape (n, d), default=None
        Members of a pool.
    leaf_of : ndarray of shape (n,), default=None
        Leaf of each member.
    feature_names : sequence of d str, default=None
        Labels of the axes.
    value_name : str, default=None
        Name of the rewards, for labels.
    sides : sequence of Side, default=None
        Scale of each feature, for the ticks; None if coordinates are values.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the map.
    figure_ : matplotlib Figure
        Figure with the axes and the colour bar.
    mappable_ : matplotlib artist
        The coloured boxes or dots; None for one feature.

    Examples
    --------
    >>> from skgpb import GPOOOptimizer
    >>> from skgpb.plotting import CellMapDisplay
    >>> opt = GPOOOptimizer(bounds=[(0, 1), (0, 1)])
    >>> _ = opt.run(lambda cell: cell.points.sum(axis=1).mean(), budget=15)
    >>> display = CellMapDisplay.from_optimizer(opt, feature_names=["width", "height"])
    >>> display.ax_.get_xlabel()
    'width'
    """

    #: Colour of the recommended cell.
    color = drawing.RECOMMENDED

    lower: np.ndarray
    upper: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    asked: np.ndarray
    recommended: np.ndarray | None = None
    answers: np.ndarray | None = None
    points: np.ndarray | None = None
    leaf_of: np.ndarray | None = None
    feature_names: Sequence[str] | None = None
    value_name: str | None = None
    sides: Sequence[Side] | None = None

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BaseBanditOptimizer[Any],
        ax: Axes | None = None,
        *,
        recommended: Cell | None = None,
        pool: Points | None = None,
        feature_names: Sequence[str] | None = None,
        value_name: str | None = None,
    ) -> Self:
        """Draw the state of an optimizer.

        Parameters
        ----------
        optimizer : GPOOOptimizer
            GPOOOptimizer or another tree search with a Gaussian process, after at least one answer.
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        recommended : Cell, default=None
            None for ``optimizer.recommend()``, or no mark before the first answer; must be given if
            the recommendation needs a context.
        pool : array-like of shape (n, d), default=None
            Members of a pool in the units of the map, if the optimizer's own are scaled linearly.
        feature_names : sequence of d str, default=None
            Labels of the axes; None for the names of the sides, or those that ``fit`` read.
        value_name : str, default=None
            Name of the rewards, for labels.

        Returns
        -------
        display : CellMapDisplay
        """
        check_is_fitted(optimizer, "bounds_")
        drawing.check_has_cells(optimizer, "cells with a posterior", posterior=True)
        if recommended is None:
            if has_contexts(optimizer):
                raise ValueError(
                    "recommended must be given, because the best cell depends on the context"
                )
            recommended = drawing.find_recommendation(optimizer)
        searched: Any = optimizer
        tree, cell_of = searched.tree_, searched.domain_.cell
        cells = [cell_of(leaf) for leaf in np.flatnonzero(tree.children[:, 0] < 0).tolist()]
        mean, std = searched.predict_query(cells, return_std=True)
        asked = [cell_of(node) for node in np.flatnonzero(tree.n_evaluations).tolist()]
        points: Any = None
        leaf_of = None
        if cells[0].members is not None:
            points = check_array(searched.pool if pool is None else pool, dtype=np.float64)
            leaf_of = np.empty(len(points), dtype=np.intp)
            for i, cell in enumerate(cells):
                leaf_of[cell.members] = i

        def corners(cell: Cell) -> np.ndarray:
            if points is None:
                return np.stack([cell.lower, cell.upper])
            members = points[cell.members]
            return np.stack([members.min(axis=0), members.max(axis=0)])

        boxes = np.stack([corners(cell) for cell in cells])
        answers = None
        if optimizer.n_features_in_ == 1:
            history, (low, high) = optimizer.history_, optimizer.bounds_[0]
            centers = history["descriptor"].mean(axis=1)
            if pool is not None:
                centers = np.interp(centers, [low, high], [points.min(), points.max()])
            answers = np.column_stack([centers, history["reward"]])
        display = cls(
            lower=boxes[:, 0],
            upper=boxes[:, 1],
            mean=mean,
            std=std,
            asked=np.array([corners(cell) for cell in asked]).reshape(len(asked), *boxes.shape[1:]),
            recommended=None if recommended is None else corners(recommended),
            answers=answers,
            points=points,
            leaf_of=leaf_of,
            feature_names=drawing.resolve_names(optimizer, feature_names),
            value_name=value_name,
            sides=drawing.feature_axes(optimizer),
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None, *, cmap: str = "viridis", colorbar: bool = True) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        cmap : str, default="viridis"
            Colours of the posterior mean.
        colorbar : bool, default=True
            Whether to add a colour bar and a legend.

        Returns
        -------
        self : CellMapDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = self._start(ax)
        names = drawing.default_names(self.feature_names, self.lower.shape[1])
        ax.set_xlabel(names[0])
        self.mappable_: Collection | None = None
        legend = None
        if self.lower.shape[1] == 1:
            self._draw_steps(ax)
        else:
            ax.set_ylabel(names[1])
            legend = self._draw_map(ax, cmap, colorbar)
        drawn = (ax.xaxis, ax.yaxis)[: self.lower.shape[1]]
        for axis, side in zip(drawn, self.sides or (), strict=False):
            drawing.label_ticks(axis, side)
        if len(names) > 2:
            ax.set_title(f"{names[0]} and {names[1]} of {len(names)} features, highest on top")
        fit_labels(ax)
        if legend is None or legend:
            add_legend(ax, 2, handles=legend)
        return self

    def _draw_steps(self, ax: Any) -> None:
        """Draw the posterior of every leaf along one feature, as a step with its interval."""
        order = np.argsort(self.lower[:, 0])
        edges = np.concatenate([self.lower[order, 0], self.upper[order[-1:], 0]])
        mean, half = self.mean[order], drawing.QUANTILE_95 * self.std[order]
        value, ink = self.value_name or "average", drawing.label_color(ax)
        band = ax.stairs(
            mean + half, edges, baseline=mean - half, fill=True, alpha=0.25, label="95 % interval"
        )
        line = {"color": band.get_facecolor()[:3], "lw": 1.8, "label": "posterior mean"}
        ax.stairs(mean, edges, baseline=None, **line)
        if self.answers is not None and len(self.answers):
            ax.plot(*self.answers.T, "o", ms=3, color=ink, mew=0, alpha=0.55, label="answers")
        for i, (lower, upper) in enumerate(self.asked[:, :, 0]):
            label = "queried cells" if i == 0 else None
            y = [0.015, 0.015]
            style = {"transform": ax.get_xaxis_transform(), "color": ink, "label": label}
            ax.plot([lower, upper], y, "|-", lw=0.8, ms=7, **style)
        if self.recommended is not None:
            drawing.mark_recommended(ax, *self.recommended[:, 0])
        ax.set_ylabel(value)

    def _draw_map(self, ax: Any, cmap: str, colorbar: bool) -> list[Any]:
        """Draw leaves or their members in colour, with outlines; return the legend's entries."""
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        def box(lower: np.ndarray, upper: np.ndarray, **style: Any) -> Rectangle:
            (x, y), (width, height) = lower[:2], (upper - lower)[:2]
            return Rectangle((x, y), width, height, **style)

        order = np.argsort(self.mean, kind="stable")
        if self.points is None or self.leaf_of is None:
            patches = [box(self.lower[i], self.upper[i]) for i in order]
            colored = ax.add_collection(PatchCollection(patches, cmap=cmap, linewidths=0))
            colored.set_array(self.mean[order])
        else:
            order = np.argsort(self.mean[self.leaf_of], kind="stable")
            size = np.clip(40_000 / len(order), 2.0, 30.0)
            colored = ax.scatter(
                *self.points[order, :2].T,
                c=self.mean[self.leaf_of[order]],
                s=size,
                cmap=cmap,
                linewidths=0,
                rasterized=True,
            )
        style: dict[str, Any] = {
            "facecolor": "none",
            "edgecolor": drawing.label_color(ax),
            "alpha": 0.7,
        }
        legend = []
        if self.lower.shape[1] == 2:
            outlines = [box(lower, upper) for lower, upper in self.asked]
            ax.add_collection(PatchCollection(outlines, **style, linewidths=0.6))
            thin: dict[str, Any] = {"linewidth": 0.6, "label": "queried"}
            legend.append(Rectangle((0, 0), 1, 1, **style, **thin))
        ax.autoscale_view()
        if self.recommended is not None:
            low, high = self.recommended
            rim = drawing.outline_style(ax, 1.2)
            best = box(low, high, fill=False, edgecolor=self.color, label="recommended", **rim)
            legend.append(ax.add_patch(best))
            self._point_out(ax, low[:2], high[:2])
        self.mappable_ = colored
        if colorbar:
            name = f" of {self.value_name}" if self.value_name else ""
            add_colorbar(ax, colored, f"posterior mean{name}")
        return legend

    def _point_out(self, ax: Any, low: np.ndarray, high: np.ndarray) -> None:
        """Label the recommended cell, with an arrow that shows it even if it is tiny."""
        center = 0.5 * (low + high)
        # In units of the axes, because the axes may be inverted.
        place = ax.transAxes.inverted().transform(ax.transData.transform(center))
        right_half, upper_half = place > 0.5
        label = {"boxstyle": "round", "edgecolor": self.color, "alpha": 0.9}
        label["facecolor"] = ax.get_facecolor()
        ax.annotate(
            "recommended",
            center,
            xytext=(-50 if right_half else 50, -45 if upper_half else 45),
            textcoords="offset points",
            ha="right" if right_half else "left",
            color=self.color,
            weight="bold",
            bbox=label,
            arrowprops={"arrowstyle": "-|>", "color": self.color, "lw": 2.0},
        )
