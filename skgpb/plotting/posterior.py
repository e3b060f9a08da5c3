"""What an optimizer believes of the function: along one feature, or over two."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgpb.domains.query import readable
from skgpb.domains.space import Axis
from skgpb.plotting._axes import (
    QUANTILE_95,
    RECOMMENDED,
    check_is_single,
    label_ticks,
    make_axes,
    names_of,
    recommendation_of,
    sides_of,
)
from skgpb.utils import Integral, check_numbers


@dataclass(kw_only=True, eq=False, repr=False)
class PosteriorDisplay:
    """Posterior of the function at points, and what was asked.

    Use :meth:`from_optimizer`. One feature is drawn as a curve with a band of 95 %, two as a
    map of the mean or of the standard deviation.

    Parameters
    ----------
    grid : tuple of one or two ndarrays
        Coordinates along the features drawn.
    mean, std : ndarray of shape (n,) or (n, m)
        Posterior of f on the grid, first feature first; in units of the reward.
    asked : ndarray of shape (n_asked, 2, n_features_drawn), default=None
        Corners [lower, upper] of what was asked; the same twice for points.
    rewards : ndarray of shape (n_asked,), default=None
        The answers.
    recommended : ndarray of shape (2, n_features_drawn), default=None
        Corners of the recommendation.
    feature_names : sequence of str, default=None
        Of the features drawn.
    value_name : str, default=None
        What the rewards measure.
    title : str, default=None
        Says where the features that are not drawn are fixed.
    sides : sequence of Axis, default=None
        What coordinates along the features drawn stand for, for the ticks; None for themselves.

    Attributes
    ----------
    ax_ : matplotlib Axes
        With the curve or the map.
    figure_ : matplotlib Figure
        With the axes and the colour bar.
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
    recommended: np.ndarray | None = None
    feature_names: Sequence[str] | None = None
    value_name: str | None = None
    title: str | None = None
    sides: Sequence[Axis] | None = None

    @classmethod
    def from_optimizer(
        cls,
        optimizer: Any,
        ax: Any = None,
        *,
        features: Sequence[int | str] | int | str | None = None,
        fixed: Any = None,
        grid_resolution: int = 100,
        feature_names: Sequence[str] | None = None,
        value_name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the posterior of an optimizer.

        Parameters
        ----------
        optimizer : BaseBanditOptimizer
            With a Gaussian process, after at least one ``ask`` or ``fit``.
        ax : matplotlib Axes, default=None
            Where to draw; None for a new figure.
        features : int, str or sequence of one or two of them, default=None
            Which features to draw, by number or name; None for the first two, or the only one.
        fixed : array-like of shape (d,) or dict, default=None
            Point at which the other features are fixed, a dict where sides have names; None for
            the centre of what is recommended.
        grid_resolution : int, default=100
            Points along a feature.
        feature_names : sequence of d str, default=None
            Names of all features; None for those of the sides, or those seen by ``fit``.
        value_name : str, default=None
            What the rewards measure.
        **kwargs : dict
            For :meth:`plot`.

        Returns
        -------
        display : PosteriorDisplay
        """
        check_is_fitted(optimizer, "bounds_")
        check_is_single(optimizer)
        if "return_std" not in inspect.signature(optimizer.predict).parameters:
            raise TypeError(f"{type(optimizer).__name__} has no posterior to draw")
        d = optimizer.n_features_in_
        names, sides = names_of(optimizer, feature_names), sides_of(optimizer)
        drawn = _checked_features(features, names)
        if not isinstance(grid_resolution, Integral) or grid_resolution < 2:
            raise ValueError(f"grid_resolution must be an integer >= 2, got {grid_resolution!r}")
        lower, upper = optimizer.bounds_.T
        corners = None
        best = recommendation_of(optimizer)
        if best is not None:
            point = np.asarray(best, dtype=np.float64).reshape(-1, d).mean(axis=0)
            corners = [getattr(best, name, point) for name in ("lower", "upper")]
        if fixed is None:
            fixed = 0.5 * (lower + upper) if corners is None else np.mean(corners, axis=0)
        elif isinstance(fixed, Mapping) and optimizer.space_ is not None:
            fixed = optimizer.space_.point(fixed)
        fixed = check_numbers(fixed, "fixed", ensure_2d=False)
        if fixed.shape != (d,):
            raise ValueError(f"fixed must be a point of shape ({d},), got shape {fixed.shape}")
        grid = tuple(np.linspace(lower[i], upper[i], grid_resolution) for i in drawn)
        X = np.tile(fixed, (grid_resolution ** len(drawn), 1))
        X[:, drawn] = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(len(X), -1)
        shape = (grid_resolution,) * len(drawn)
        mean, std = (a.reshape(shape) for a in optimizer.predict(X, return_std=True))
        history, asked, rewards = optimizer.history_, None, None
        if "a" not in history.dtype.names:  # else queries live in a space of their own
            asked = history["descriptor"].reshape(len(history), 2, d)[:, :, drawn]
            rewards = history["reward"]
        title = None
        if len(drawn) < d:
            rest = [i for i in range(d) if i not in drawn]
            values = fixed if sides is None else [sides[i].value(u) for i, u in enumerate(fixed)]
            title = ", ".join(f"{names[i]} = {readable(values[i], 3)}" for i in rest)
        display = cls(
            grid=grid,
            mean=mean,
            std=std,
            asked=asked,
            rewards=rewards,
            recommended=None if corners is None else np.array(corners)[:, drawn],
            feature_names=[names[i] for i in drawn],
            sides=None if sides is None else [sides[i] for i in drawn],
            value_name=value_name,
            title=title,
        )
        return display.plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "mean",
        cmap: str = "viridis",
        colorbar: bool = True,
    ) -> Self:
        """Draw the posterior.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None for a new figure.
        kind : {"mean", "std"}, default="mean"
            What the colours of a map of two features show; a curve shows both.
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
        ax = make_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        names = self.feature_names
        if names is None:
            names = [f"feature {i}" for i in range(len(self.grid))]
        ax.set_xlabel(names[0])
        if self.title:
            ax.set_title(self.title, fontsize="medium")
        self.mappable_ = None
        if len(self.grid) == 1:
            self._draw_curve(ax)
        else:
            ax.set_ylabel(names[1])
            self._draw_map(ax, kind, cmap, colorbar)
        for axis, side in zip((ax.xaxis, ax.yaxis), self.sides or (), strict=False):
            label_ticks(axis, side)
        return self

    def _draw_curve(self, ax: Any) -> None:
        (x,), half = self.grid, QUANTILE_95 * self.std
        (line,) = ax.plot(x, self.mean, label="posterior mean")
        band = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
        ax.fill_between(x, self.mean - half, self.mean + half, label="95 % interval", **band)
        if self.asked is not None and len(self.asked):
            low, high = self.asked[:, 0, 0], self.asked[:, 1, 0]
            if (high > low).any():
                ax.hlines(self.rewards, low, high, color="0.35", lw=0.8, alpha=0.5)
            style = {"ms": 3.5, "color": "0.35", "alpha": 0.7}
            ax.plot(0.5 * (low + high), self.rewards, "o", label="answers", **style)
        if self.recommended is not None:
            low, high = self.recommended[:, 0]
            style = {"color": RECOMMENDED, "label": "recommended"}
            if high > low:
                ax.axvspan(low, high, alpha=0.2, **style)
            else:
                ax.axvline(low, lw=1.5, **style)
        ax.set_ylabel(self.value_name or "f")
        ax.legend()

    def _draw_map(self, ax: Any, kind: str, cmap: str, colorbar: bool) -> None:
        from matplotlib.patches import Rectangle

        values = self.mean if kind == "mean" else self.std
        self.mappable_ = ax.pcolormesh(
            *self.grid, values.T, cmap=cmap, shading="gouraud", rasterized=True
        )
        legend = []
        if self.asked is not None and len(self.asked):
            centers = self.asked.mean(axis=1)
            style = {"s": 14, "facecolors": "white", "edgecolors": "0.2", "linewidths": 0.7}
            legend.append(ax.scatter(*centers.T, label="queried", **style))
        if self.recommended is not None:
            low, high = self.recommended
            if (high > low).all():
                edge: dict[str, Any] = {"fill": False, "edgecolor": RECOMMENDED, "lw": 2.2}
                box = Rectangle(low, *(high - low), label="recommended", **edge)
                legend.append(ax.add_patch(box))
            style = {"marker": "*", "s": 130, "color": RECOMMENDED, "edgecolors": "white"}
            star = ax.scatter(
                *self.recommended.mean(axis=0), label="recommended", zorder=3, **style
            )
            if len(legend) < 2:
                legend.append(star)
        ax.set_xlim(self.grid[0][[0, -1]])
        ax.set_ylim(self.grid[1][[0, -1]])
        if colorbar:
            what = "posterior mean" if kind == "mean" else "posterior standard deviation"
            name = f" of {self.value_name}" if self.value_name else ""
            self.figure_.colorbar(self.mappable_, ax=ax, label=what + name)
        if legend:
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.12)}
            ax.legend(handles=legend, **place, ncols=2, frameon=False)


def _checked_features(features: Any, names: list[str]) -> list[int]:
    """Return the numbers of one or two different features."""
    d = len(names)
    if features is None:
        return list(range(min(d, 2)))
    drawn: list[Any] = [features] if isinstance(features, (Integral, str)) else list(features)
    drawn = [names.index(i) if i in names else i for i in drawn]
    valid = all(isinstance(i, Integral) and 0 <= int(i) < d for i in drawn)
    if not valid or len(drawn) not in (1, 2) or len(set(drawn)) < len(drawn):
        raise ValueError(
            f"features must be one or two different ones of 0..{d - 1} or of {names}, "
            f"got {features!r}"
        )
    return [int(i) for i in drawn]
