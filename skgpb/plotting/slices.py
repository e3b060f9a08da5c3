"""Display of the posterior of f along each side, the others at the recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgpb.domains.space import Side
from skgpb.plotting import drawing
from skgpb.plotting.inspection import feature_effects
from skgpb.plotting.letters import add_legend, add_legend_of_figure, fit_labels
from skgpb.utils.typing import Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skgpb.optimizers._base import BaseBanditOptimizer

__all__ = ["SliceDisplay"]

# Default number of panels.
MOST_PANELS = 12
# Height in inches of the title and the legend together that a new figure provides.
ROOM = 0.4


@dataclass(kw_only=True, eq=False, repr=False)
class SliceDisplay(drawing.Display):
    """Posterior of f along each side in turn, the others at the recommendation.

    Use :meth:`from_optimizer`. Every panel varies one side and fixes the others at the
    recommendation: a curve with a band of 95 %, or a point with a bar of 95 % for each category. A
    steep curve is a side to be careful with; a flat one within its band is a side that hardly
    matters here. All panels share the scale of the rewards. A curve ends where constraints do, and
    in a mixture the largest part makes room.

    Parameters
    ----------
    grids : list of ndarrays
        Coordinates along each drawn side.
    means, stds : list of ndarrays
        Posterior of f there, in units of the reward.
    asked : list of ndarrays of shape (n_asked, 2), default=None
        Ends [lower, upper] of the queries along each side, equal for points.
    rewards : ndarray of shape (n_asked,), default=None
        Answers.
    here : list of ndarrays of shape (n_asked,) of bool, default=None
        Whether an answer lies on the slice along each side, and is drawn as a dot. With one side
        all of them do, otherwise those with the same values of all other sides. A mark shows the
        coordinate of each other query. Several answers to one query have a bar of one standard
        deviation to either side of their mean. None if no answers lie on slices.
    recommended : ndarray of shape (n_drawn, 2), default=None
        Ends of the recommendation along each side, equal for a point.
    feature_names : sequence of str, default=None
        Names of the drawn sides.
    value_name : str, default=None
        Name of the rewards, for labels.
    title : str, default=None
        Point through which the slices go.
    sides : sequence of Side, default=None
        Scales of the sides, for the ticks; None if coordinates are values.
    within : list of ndarrays, default=None
        Probability along each side that all limits on other outcomes hold. The region where it is
        below one half is shaded, up to a dotted line. None without limits.
    value_range : (low, high), default=(-inf, inf)
        Range of the averages of rewards; curves and bands are clipped to it.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each side.
    ax_ : matplotlib Axes
        The first of these.
    figure_ : matplotlib Figure
        Figure with the axes.

    Examples
    --------
    >>> from skgpb import GPUCBOptimizer
    >>> from skgpb.plotting import SliceDisplay
    >>> sides = {"heat": (20, 90), "catalyst": ["A", "B"]}
    >>> opt = GPUCBOptimizer(bounds=sides, random_state=0)
    >>> _ = opt.run(lambda query: query.params["heat"] / 100, budget=12)
    >>> display = SliceDisplay.from_optimizer(opt, value_name="yield")
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['heat', 'catalyst']
    """

    grids: list[np.ndarray]
    means: list[np.ndarray]
    stds: list[np.ndarray]
    asked: list[np.ndarray] | None = None
    rewards: np.ndarray | None = None
    here: list[np.ndarray] | None = None
    recommended: np.ndarray | None = None
    feature_names: Sequence[str] | None = None
    value_name: str | None = None
    title: str | None = None
    sides: Sequence[Side] | None = None
    within: list[np.ndarray] | None = None
    value_range: tuple[float, float] = drawing.EVERYTHING

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BaseBanditOptimizer[Any],
        ax: Axes | Sequence[Axes] | None = None,
        *,
        features: Sequence[int | str] | int | str | None = None,
        fixed: Setting | None = None,
        grid_resolution: int = 100,
        feature_names: Sequence[str] | None = None,
        value_name: str | None = None,
        value_range: tuple[float, float] = drawing.EVERYTHING,
    ) -> Self:
        """Draw slices of the posterior of an optimizer.

        Parameters
        ----------
        optimizer : BaseBanditOptimizer
            Optimizer with a Gaussian process, after at least one ``ask`` or ``fit``.
        ax : matplotlib Axes or array-like of them, default=None
            Axes to draw on: one for each side, or one whose place the panels take; None for a new
            figure.
        features : int, str or sequence of them, default=None
            Sides to draw, by index or name; None for all, or for the twelve most important ones by
            :func:`~skgpb.plotting.inspection.feature_effects`.
        fixed : array-like of shape (d,) or dict, default=None
            Point through which the slices go: a dict, or numbers in the units of the sides, if
            these have names; None for the centre of the recommendation, or of the domain if the
            recommendation needs a context or an answer.
        grid_resolution : int, default=100
            Number of points along a side without a short list of values.
        feature_names : sequence of d str, default=None
            Names of all features; None for those of the sides, or of the columns of the table
            ``pool``, ``arms`` or X of ``fit``.
        value_name : str, default=None
            Name of the rewards, for labels.
        value_range : (low, high), default=(-inf, inf)
            Range in which averages of rewards are, such as (0, 100) for percents; nothing is drawn
            beyond.

        Returns
        -------
        display : SliceDisplay
        """
        check_is_fitted(optimizer, "bounds_")
        drawing.check_has_posterior(optimizer)
        d = optimizer.n_features_in_
        names = drawing.resolve_names(optimizer, feature_names)
        sides = drawing.feature_axes(optimizer)
        if features is None:
            features = range(d)
            if d > MOST_PANELS:
                order = np.argsort(-feature_effects(optimizer).known, kind="stable")
                features = sorted(order[:MOST_PANELS].tolist())
        drawn = drawing.feature_indices(features, names, most=d)
        drawing.check_resolution(grid_resolution)
        lower, upper = optimizer.bounds_.T
        point, corners = drawing.slice_position(optimizer, fixed)
        of_drawn = [None if sides is None else sides[i] for i in drawn]
        grids = [
            side.middles()
            if drawing.is_short(side)
            else np.linspace(lower[i], upper[i], grid_resolution)
            for i, side in zip(drawn, of_drawn, strict=True)
        ]
        means, stds, within = [], [], []
        for i, grid in zip(drawn, grids, strict=True):
            X = np.tile(point, (len(grid), 1))
            X[:, i] = grid
            mean, std, hold = drawing.predict_points(optimizer, X, [i])
            means.append(mean)
            stds.append(std)
            within += [] if hold is None else [hold]
        asked, rewards = drawing.queried_boxes(optimizer)
        values = drawing.format_point(point, sides)
        pairs = [f"{names[i]} = {values[i]}" for i in range(d)]
        if d > MOST_PANELS:
            pairs = [*(pairs[i] for i in drawn), "..."]
        through = ", ".join(pairs)
        display = cls(
            grids=grids,
            means=means,
            stds=stds,
            asked=None if asked is None else [asked[:, :, i] for i in drawn],
            rewards=rewards,
            here=None if asked is None else [_on_slice(optimizer, point, asked, i) for i in drawn],
            recommended=None if corners is None else corners[:, drawn].T,
            feature_names=[names[i] for i in drawn],
            value_name=value_name,
            title=f"slices through {through}" if d > 1 else None,
            sides=None if sides is None else [sides[i] for i in drawn],
            within=within or None,
            value_range=value_range,
        )
        return display.plot(ax)

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw the slices.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            Axes to draw on: one for each side, or one whose place the panels take; None for a new
            figure.

        Returns
        -------
        self : SliceDisplay

        Raises
        ------
        ValueError
            If the number of axes is neither one nor the number of sides.
        """
        new = ax is None
        self.axes_: list[Any] = drawing.make_panels(ax, len(self.grids))
        self._start(self.axes_[0])
        names = drawing.default_names(self.feature_names, len(self.grids))
        for i, (panel, name) in enumerate(zip(self.axes_, names, strict=True)):
            self._draw_side(panel, i)
            panel.set_xlabel(name)
            if self.sides is not None:
                drawing.label_ticks(panel.xaxis, self.sides[i])
        limits = np.array([panel.get_ylim() for panel in self.axes_])
        for panel in self.axes_:
            panel.set_ylim(limits[:, 0].min(), limits[:, 1].max())
            first = panel.get_subplotspec() is None or panel.get_subplotspec().is_first_col()
            if first:
                panel.set_ylabel(self.value_name or "f")
        fit_labels(*self.axes_)
        if new:
            n_columns = self.axes_[0].get_gridspec().ncols
            add_legend_of_figure(self.figure_, legend_handles(self.axes_), 2 * n_columns)
            if self.title:
                width = drawing.TITLE_WIDTH * n_columns
                title = self.figure_.suptitle(fill(self.title, width), fontsize="medium")
                _make_room(self.figure_, [title, *self.figure_.legends])
        else:
            add_legend(self.ax_, 3, above=True, fontsize="small")
        return self

    def _draw_side(self, ax: Any, i: int) -> None:
        """Draw one panel: the posterior along a side, the queries, and the recommendation."""
        x = self.grids[i]
        mean, low, high = drawing.clip_interval(self.means[i], self.stds[i], self.value_range)
        side = None if self.sides is None else self.sides[i]
        if self.recommended is not None:
            first, last = self.recommended[i]
            if drawing.is_short(side):
                first = last = 0.5 * (first + last)
            drawing.mark_recommended(ax, first, last)
        if self.within is not None:
            drawing.shade_violations(ax, x, self.within[i], drawing.is_short(side))
        if side is not None and drawing.is_short(side):
            style = {"fmt": "o", "capsize": 4, "label": "posterior mean, 95 % interval"}
            ax.errorbar(x, mean, [mean - low, high - mean], **style)
            ax.set_xlim(*side.ends)
        else:
            drawing.draw_band(ax, x, mean, low, high)
            ax.set_xlim(x[0], x[-1])
        if self.asked is not None and len(self.asked[i]):
            middles = self.asked[i].mean(axis=1)
            none = np.zeros(len(middles), dtype=bool)
            here = none if self.here is None or self.rewards is None else self.here[i]
            style = {"color": drawing.label_color(ax), "alpha": 0.55, "linestyle": "none"}
            if not here.all():
                # Answers far from the slice would seem to contradict it.
                mark = {"marker": "|", "markersize": 8, "transform": ax.get_xaxis_transform()}
                there = middles[~here]
                ax.plot(there, np.full(len(there), 0.015), **style, **mark, label="asked")
            if self.rewards is not None and here.any():
                dot = {"marker": "o", "markersize": 3.5, "mew": 0, "label": "answers"}
                ax.plot(middles[here], self.rewards[here], **style, **dot)
                _draw_replicates(ax, middles[here], self.rewards[here])


def _on_slice(optimizer: Any, point: np.ndarray, asked: np.ndarray, i: int) -> np.ndarray:
    """Return a mask (n,) of the queries (n, 2, d) that equal a point except on side ``i``."""
    lower, upper = optimizer.bounds_.T
    same = np.abs(asked - point) <= 1e-9 * (upper - lower)
    same[:, :, i] = True
    return np.asarray(same.all(axis=(1, 2)))


def _draw_replicates(ax: Any, x: np.ndarray, rewards: np.ndarray) -> None:
    """Draw mean and standard deviation of answers to the same query."""
    places, which, counts = np.unique(x, return_inverse=True, return_counts=True)
    groups = [rewards[which == k] for k in np.flatnonzero(counts > 1)]
    if groups:
        means, stds = [g.mean() for g in groups], [g.std(ddof=1) for g in groups]
        style = {
            "fmt": "none",
            "capsize": 3,
            "ecolor": drawing.label_color(ax),
            "elinewidth": 1.0,
            "alpha": 0.7,
        }
        ax.errorbar(places[counts > 1], means, stds, **style)


def _make_room(figure: Any, letters: Sequence[Any]) -> None:
    """Make a figure higher if the letters outside its panels need more room than usual."""
    inches = sum(each.get_window_extent().height for each in letters) / figure.dpi
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + max(0.0, inches - ROOM))


def legend_handles(axes: Sequence[Any]) -> list[Any]:
    """Return the entries of a legend of several panels, each once."""
    handles = {h.get_label(): h for ax in axes for h in ax.get_legend_handles_labels()[0]}
    if "posterior mean" in handles:
        handles.pop("posterior mean, 95 % interval", None)
    return list(handles.values())
