"""Display of the posterior of f along one or two features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgpb.domains.space import Side
from skgpb.plotting import drawing
from skgpb.plotting.letters import add_colorbar, add_legend, fit_labels
from skgpb.utils.typing import Setting

__all__ = ["PosteriorDisplay"]

# Least side of a recommended box, as a fraction of the map, that is drawn as a box.
SMALLEST_BOX = 0.04

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from skgpb.optimizers._base import BaseBanditOptimizer


@dataclass(kw_only=True, eq=False, repr=False)
class PosteriorDisplay(drawing.Display):
    """Posterior of f and the queries of a run, for one or two features.

    Use :meth:`from_optimizer`. One feature is drawn as a curve with a band of 95 %, two as a
    map of the mean or of the standard deviation. Infeasible points are hatched, or gaps of the
    curve.

    Parameters
    ----------
    grid : tuple of one or two ndarrays
        Coordinates along the drawn features.
    mean, std : ndarray of shape (n,) or (n, m)
        Posterior of f on the grid, with the first feature first; in units of the reward.
    asked : ndarray of shape (n_asked, 2, n_features_drawn), default=None
        Corners [lower, upper] of the queries, equal for points.
    rewards : ndarray of shape (n_asked,), default=None
        Answers.
    here : ndarray of shape (n_asked,) of bool, default=None
        Whether a query has the categories in the title; others are pale. None for all.
    recommended : ndarray of shape (2, n_features_drawn), default=None
        Corners of the recommendation.
    feature_names : sequence of str, default=None
        Names of the drawn features.
    value_name : str, default=None
        Name of the rewards, for labels.
    title : str, default=None
        Values of the features that are not drawn.
    sides : sequence of Side, default=None
        Scales of the drawn features, for the ticks; None if coordinates are values.
    within : ndarray of shape (n,) or (n, m), default=None
        Probability on the grid that all limits on other outcomes hold. The region where it is below
        one half is shaded, up to a dotted line. None without limits.
    value_range : (low, high), default=(-inf, inf)
        Range of the averages of rewards; curves and bands are clipped to it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curve or the map.
    figure_ : matplotlib Figure
        Figure with the axes and the colour bar.
    mappable_ : matplotlib QuadMesh
        The map; None for one feature.

    Examples
    --------
    >>> from skgpb import GPOOOptimizer
    >>> from skgpb.plotting import PosteriorDisplay
    >>> opt = GPOOOptimizer(bounds=[(0, 1)])
    >>> _ = opt.run(lambda cell: float(cell.points.mean()), budget=10)
    >>> display = PosteriorDisplay.from_optimizer(opt, feature_names=["width"])
    >>> display.ax_.get_xlabel()
    'width'
    """

    grid: tuple[np.ndarray, ...]
    mean: np.ndarray
    std: np.ndarray
    asked: np.ndarray | None = None
    rewards: np.ndarray | None = None
    here: np.ndarray | None = None
    recommended: np.ndarray | None = None
    feature_names: Sequence[str] | None = None
    value_name: str | None = None
    title: str | None = None
    sides: Sequence[Side] | None = None
    within: np.ndarray | None = None
    value_range: tuple[float, float] = drawing.EVERYTHING

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BaseBanditOptimizer[Any],
        ax: Axes | None = None,
        *,
        features: Sequence[int | str] | int | str | None = None,
        fixed: Setting | None = None,
        grid_resolution: int = 100,
        feature_names: Sequence[str] | None = None,
        value_name: str | None = None,
        value_range: tuple[float, float] = drawing.EVERYTHING,
        **kwargs: Any,
    ) -> Self:
        """Draw the posterior of an optimizer.

        Parameters
        ----------
        optimizer : BaseBanditOptimizer
            Optimizer with a Gaussian process, after at least one ``ask`` or ``fit``. Of a
            :class:`~skgpb.CombinatorialBandit`, the campaign of ``features`` is drawn, with its
            part of the recommended allocation.
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        features : int, str or sequence of one or two of them, default=None
            Features to draw, by index or name; None for the first two, or the only one.
        fixed : array-like of shape (d,) or dict, default=None
            Point at which the other features are fixed: a dict, or numbers in the units of the
            sides, if these have names; None for the centre of the recommendation.
        grid_resolution : int, default=100
            Number of points along a feature.
        feature_names : sequence of d str, default=None
            Names of all features; None for those of the sides, or those that ``fit`` read.
        value_name : str, default=None
            Name of the rewards, for labels.
        value_range : (low, high), default=(-inf, inf)
            Range in which averages of rewards are, such as (0, 100) for percents; nothing is drawn
            beyond.
        **kwargs : dict
            Arguments of :meth:`plot`.

        Returns
        -------
        display : PosteriorDisplay
        """
        check_is_fitted(optimizer, "bounds_")
        part = None
        if hasattr(optimizer, "optimizers_"):
            optimizer, features, part = drawing.select_campaign(optimizer, features)
        campaign = getattr(optimizer, "_campaign", None)
        if value_name is None and campaign is not None:
            value_name = f"reward of {campaign}"
        drawing.check_has_posterior(optimizer)
        d = optimizer.n_features_in_
        names = drawing.resolve_names(optimizer, feature_names)
        sides = drawing.feature_axes(optimizer)
        drawn = drawing.feature_indices(
            range(min(d, 2)) if features is None else features, names, most=2
        )
        drawing.check_resolution(grid_resolution)
        lower, upper = optimizer.bounds_.T
        point, corners = drawing.slice_position(optimizer, fixed, part)
        grid = tuple(np.linspace(lower[i], upper[i], grid_resolution) for i in drawn)
        X = np.tile(point, (grid_resolution ** len(drawn), 1))
        X[:, drawn] = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(len(X), -1)
        shape = (grid_resolution,) * len(drawn)
        mean, std, within = drawing.predict_points(optimizer, X, drawn)
        asked, rewards = drawing.queried_boxes(optimizer)
        values = drawing.format_point(point, sides)
        rest = [f"{names[i]} = {values[i]}" for i in range(d) if i not in drawn]
        display = cls(
            grid=grid,
            mean=mean.reshape(shape),
            std=std.reshape(shape),
            asked=None if asked is None else asked[:, :, drawn],
            rewards=rewards,
            here=None if asked is None else drawing.category_mask(point, asked, sides, drawn),
            recommended=None if corners is None else corners[:, drawn],
            feature_names=[names[i] for i in drawn],
            sides=None if sides is None else [sides[i] for i in drawn],
            value_name=value_name,
            title=", ".join(rest) or None,
            within=None if within is None else within.reshape(shape),
            value_range=value_range,
        )
        return display.plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: str = "mean",
        cmap: str = "viridis",
        colorbar: bool = True,
    ) -> Self:
        """Draw the posterior.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        kind : {"mean", "std"}, default="mean"
            Quantity that the colours of a map of two features show; a curve shows both.
        cmap : str, default="viridis"
            Colours of a map.
        colorbar : bool, default=True
            Whether to add a colour bar to a map.

        Returns
        -------
        self : PosteriorDisplay
        """
        if kind not in ("mean", "std"):
            raise ValueError(f"kind must be 'mean' or 'std', got {kind!r}")
        ax = self._start(ax)
        names = drawing.default_names(self.feature_names, len(self.grid))
        ax.set_xlabel(names[0])
        if self.title:
            ax.set_title(fill(self.title, drawing.TITLE_WIDTH), fontsize="medium", pad=9.0)
        self.mappable_: ScalarMappable | None = None
        legend = None
        if len(self.grid) == 1:
            self._draw_curve(ax)
        else:
            ax.set_ylabel(names[1])
            legend = self._draw_map(ax, kind, cmap, colorbar)
        for axis, side in zip((ax.xaxis, ax.yaxis), self.sides or (), strict=False):
            drawing.label_ticks(axis, side)
        fit_labels(ax)
        if legend is None or legend:
            add_legend(ax, 2, handles=legend)
        return self

    def _draw_curve(self, ax: Any) -> None:
        (x,) = self.grid
        drawing.draw_band(ax, x, *drawing.clip_interval(self.mean, self.std, self.value_range))
        if self.asked is not None and len(self.asked):
            low, high = self.asked[:, 0, 0], self.asked[:, 1, 0]
            ink = drawing.label_color(ax)
            if (high > low).any():
                ax.hlines(self.rewards, low, high, color=ink, lw=0.8, alpha=0.35)
            style = {"ms": 3.5, "color": ink, "alpha": 0.55, "mew": 0}
            ax.plot(0.5 * (low + high), self.rewards, "o", label="answers", **style)
        if self.within is not None:
            drawing.shade_violations(ax, x, self.within, False)
        if self.recommended is not None:
            drawing.mark_recommended(ax, *self.recommended[:, 0])
        ax.set_ylabel(self.value_name or "f")

    def _draw_map(self, ax: Any, kind: str, cmap: str, colorbar: bool) -> list[Any]:
        """Draw a map; return the entries of its legend."""
        from matplotlib.patches import Patch, Rectangle

        values = self.mean.clip(*self.value_range) if kind == "mean" else self.std
        whole = bool(np.isfinite(values).all())
        shading = "gouraud" if whole else "nearest"
        self.mappable_ = ax.pcolormesh(
            *self.grid, values.T, cmap=cmap, shading=shading, rasterized=True
        )
        if not whole:  # infeasible settings
            ax.patch.set(hatch="///", edgecolor=drawing.label_color(ax))
        legend = []
        if self.within is not None and np.ptp(self.within) > 0.0:
            beyond = {"levels": [-1.0, 0.5], "colors": ["black"], "alpha": 0.45}
            ax.contourf(*self.grid, self.within.T, **beyond)
            border = {"levels": [0.5], "colors": ["white"], "linestyles": "dotted"}
            ax.contour(*self.grid, self.within.T, **border)
            shade = {"facecolor": (0.0, 0.0, 0.0, 0.45), "edgecolor": drawing.label_color(ax)}
            legend.append(Patch(label="probably beyond a limit", **shade))
        if self.asked is not None and len(self.asked):
            centers = self.asked.mean(axis=1)
            here = np.ones(len(centers), dtype=bool) if self.here is None else self.here
            ink = {"facecolors": ax.get_facecolor(), "edgecolors": drawing.label_color(ax)}
            style = {"s": 14, "linewidths": 0.7} | ink
            if here.any():
                legend.append(ax.scatter(*centers[here].T, label="queried", **style))
            if not here.all():
                other = {"marker": "X", "alpha": 0.75, "label": "queried in other categories"}
                # The longest labels are in one column.
                legend.insert(1, ax.scatter(*centers[~here].T, **style | {"s": 24} | other))
        if self.recommended is not None:
            low, high = self.recommended
            extent = np.array([abs(side[-1] - side[0]) for side in self.grid])
            is_box = (high - low >= SMALLEST_BOX * extent).all()
            if is_box:
                edge = {"edgecolor": drawing.RECOMMENDED} | drawing.outline_style(ax, 1.1)
                box = Rectangle(low, *(high - low), fill=False, label="recommended", **edge)
                legend.append(ax.add_patch(box))
            style = {"marker": "*", "s": 130, "color": drawing.RECOMMENDED}
            style["edgecolors"] = ax.get_facecolor()
            star = ax.scatter(
                *self.recommended.mean(axis=0), label="recommended", zorder=3, **style
            )
            if not is_box:
                legend.append(star)
        ax.set_xlim(self.grid[0][[0, -1]])
        ax.set_ylim(self.grid[1][[0, -1]])
        if colorbar:
            what = "posterior mean" if kind == "mean" else "posterior standard deviation"
            name = f" of {self.value_name}" if self.value_name else ""
            add_colorbar(ax, self.mappable_, what + name)
        return legend
