"""Helpers of the displays: axes, checks and error messages."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from sklearn.exceptions import NotFittedError

from skgpb.domains import Steps
from skgpb.domains.arms import readable
from skgpb.domains.contexts import ContextPartition
from skgpb.domains.partition import Partition
from skgpb.domains.space import Choice, Quantile, SeparateAxis, Side, Span, as_coordinates
from skgpb.plotting.inspection import check_is_single, find_feature_names
from skgpb.utils.install import needs
from skgpb.utils.validation import Integral, check_numbers, has_contexts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colour of the recommendation in every display: vermilion, which colour-blind people distinguish
# from the blue, green and yellow of the other elements.
RECOMMENDED = "#d55e00"
# Colour of the region where a limit is probably exceeded.
BEYOND = "#777777"
# Half width of a 95 % interval of a normal distribution, in standard deviations.
QUANTILE_95 = 1.96
# Range of rewards without bounds.
EVERYTHING = (-np.inf, np.inf)
# Largest number of values of a side that all have ticks.
MOST_TICKS = 12
# Largest number of letters of a value's name; width of a letter in font sizes; rotation in degrees
# of names that are wider than the axes. They are vertical if they are closer still.
LONGEST_LABEL, LETTER, TURNED = 18, 0.6, 40
# Least ratio of the ends of a side with ticks at powers of ten; smallest distance of ticks.
DECADES, APART = 100.0, 0.1
# Number of panels in a row.
PANELS_PER_ROW = 3
# Number of characters of a line of the title above each panel.
TITLE_WIDTH = 36


def check_has_cells(optimizer: Any, what: str, *, posterior: bool = False) -> None:
    """Raise TypeError unless an optimizer has a tree of cells, and ``posterior`` if required."""
    has_tree = isinstance(getattr(optimizer, "domain_", None), (Partition, ContextPartition))
    if not has_tree or (posterior and not hasattr(optimizer, "surrogate_")):
        raise TypeError(f"{type(optimizer).__name__} has no {what} to draw")


def check_has_posterior(optimizer: Any) -> None:
    """Raise TypeError if an optimizer has no posterior standard deviation of f at points."""
    check_is_single(optimizer)
    if "return_std" not in inspect.signature(optimizer.predict).parameters:
        raise TypeError(f"{type(optimizer).__name__} has no posterior to draw")


def find_recommendation(optimizer: Any) -> Any:
    """Return the recommendation, or None if it needs a context or an answer.

    A campaign has no recommendation of its own, because its best arm depends on the budget of all
    campaigns.
    """
    if has_contexts(optimizer) or getattr(optimizer, "_campaign", None) is not None:
        return None
    try:
        return optimizer.recommend()
    except NotFittedError:
        return None


def select_campaign(bandit: Any, features: Any) -> tuple[Any, list[int], Any]:
    """Return the optimizer of a campaign, its drawn features, and its recommended arm.

    The arm is None if there is no recommendation yet.
    """
    names, widths = find_feature_names(bandit), [each.n_features_in_ for each in bandit.optimizers_]
    owners = np.repeat(np.arange(len(widths)), widths)
    drawn = [] if features is None else feature_indices(features, names, most=2)
    if len(set(owners[drawn])) != 1:
        raise ValueError(f"features must be of one campaign, from {names}; got {features!r}")
    which = int(owners[drawn[0]])
    best = find_recommendation(bandit)
    first = int(np.flatnonzero(owners == which)[0])
    part = None if best is None else best.arms[which]
    return bandit.optimizers_[which], [i - first for i in drawn], part


def resolve_names(optimizer: Any, given: Sequence[str] | None) -> list[str]:
    """Return the names of all features, the given ones or the optimizer's."""
    names = find_feature_names(optimizer) if given is None else [str(name) for name in given]
    if len(names) != optimizer.n_features_in_:
        raise ValueError(
            f"feature_names must name each of {optimizer.n_features_in_} features, got {given!r}"
        )
    return names


def feature_axes(optimizer: Any) -> list[Side] | None:
    """Return the scale of each feature; None if its coordinates are the values."""
    space = optimizer.run_.space
    return None if space is None else [axis for _, axis in space.axes]


def feature_indices(features: Any, names: Sequence[str], most: int) -> list[int]:
    """Return the indices of some different features, given by index or name."""
    d = len(names)
    drawn: list[Any] = [features] if isinstance(features, (Integral, str)) else list(features)
    drawn = [names.index(i) if i in names else i for i in drawn]
    valid = all(isinstance(i, Integral) and 0 <= int(i) < d for i in drawn)
    if not valid or not 0 < len(set(drawn)) == len(drawn) <= most:
        many = "one or two" if most == 2 else "some"
        raise ValueError(
            f"features must be {many} different ones of 0..{d - 1} or of {names}, got {features!r}"
        )
    return [int(i) for i in drawn]


def check_resolution(grid_resolution: Any) -> None:
    """Raise ValueError unless grid_resolution is an integer >= 2."""
    if not isinstance(grid_resolution, Integral) or grid_resolution < 2:
        raise ValueError(f"grid_resolution must be an integer >= 2, got {grid_resolution!r}")


def slice_position(
    optimizer: Any, fixed: Any, part: Any = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the fixed values of undrawn features, and the corners of the recommendation.

    ``part`` is the recommended arm of a campaign; None for the recommendation of the optimizer.
    """
    d, corners = optimizer.n_features_in_, None
    best = find_recommendation(optimizer) if part is None else part
    if best is not None:
        point = np.asarray(best, dtype=np.float64).reshape(-1, d).mean(axis=0)
        corners = np.array([getattr(best, name, point) for name in ("lower", "upper")])
    if fixed is None:
        return (optimizer.bounds_.T if corners is None else corners).mean(axis=0), corners
    if optimizer.run_.space is not None:
        fixed = optimizer.run_.space.points(fixed)[0]
    fixed = check_numbers(fixed, "fixed", ensure_2d=False)
    if fixed.shape != (d,):
        raise ValueError(f"fixed must be a point of shape ({d},), got shape {fixed.shape}")
    return fixed, corners


def satisfy_constraints(
    optimizer: Any, X: np.ndarray, drawn: Sequence[int]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return points (n, d) moved onto the equations, and a mask of feasible ones, or None."""
    feasible = None if optimizer.run_.space is None else optimizer.run_.space.feasible
    return (X, None) if feasible is None else feasible.satisfy_equations(X, drawn)


def queried_boxes(optimizer: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the corners (n, 2, d) of queries, and their answers; None for indirect queries.

    Answers at low fidelity are left out: they are values of another function.
    """
    history = highest_fidelity(optimizer.history_)
    if "a" in history.dtype.names:
        return None, None
    boxes = history["descriptor"].reshape(len(history), 2, optimizer.n_features_in_)
    return boxes, history["reward"]


def category_mask(
    point: np.ndarray, asked: np.ndarray, sides: Sequence[Any] | None, drawn: Sequence[int]
) -> np.ndarray | None:
    """Return a mask (n,) of the queries with a point's categories on undrawn sides.

    None if they all are.
    """
    here = np.ones(len(asked), dtype=bool)
    for i, side in enumerate(sides or ()):
        if i not in drawn and isinstance(side, Choice) and not side.ordered:
            place = side.number(point[i])
            numbers = side.number(asked[:, :, i])
            # The upper corner of a cell is the beginning of the next category.
            last = np.maximum(numbers[:, 0], side.number(asked[:, 1, i] - 1e-9))
            here &= (numbers[:, 0] <= place) & (place <= last)
    return None if here.all() else here


def highest_fidelity(history: Any) -> Any:
    """Return the answers at the highest fidelity, if there are several fidelities."""
    return history[history["task"] == 0] if "task" in history.dtype.names else history


def plain(value: Any) -> str:
    """Return a value of a side as text: numbers with few digits, strings without quotes."""
    return readable(value, 3) if isinstance(value, (float, tuple)) else str(value)


def shorten(text: str, longest: int) -> str:
    """Return a text, cut off if it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def format_point(point: np.ndarray, sides: list[Side] | None) -> list[str]:
    """Return the coordinates of a point as texts of values."""
    values = point.tolist()
    if sides is not None:
        values = [side.value(u) for side, u in zip(sides, values, strict=True)]
    return [plain(value) for value in values]


def is_short(side: Side | None) -> TypeGuard[SeparateAxis]:
    """Return whether a side has so few values that each gets a tick."""
    return isinstance(side, SeparateAxis) and side.n_settings <= MOST_TICKS


def label_ticks(axis: Any, side: Side) -> None:
    """Label the ticks of an axis with values of a side, in the user's units and types."""
    if isinstance(side, Span) or (isinstance(side, Steps) and not side.log):
        return  # coordinates are the values
    if is_short(side):
        middles = side.middles()
        labels = [shorten(plain(side.value(u)), LONGEST_LABEL) for u in middles]
        style = {} if axis.axis_name == "y" else _tick_style(axis.axes, labels)
        axis.set_ticks(middles, labels=labels, **style)
        return
    if isinstance(side, Quantile | Steps):
        axis.set_ticks(_round_places(side))

    def value(u: float, _: Any) -> str:
        return plain(side.value(u)) if side.ends[0] <= u <= side.ends[1] else ""

    axis.set_major_formatter(value)


def _tick_style(ax: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the style of tick labels with which they do not overlap."""
    from matplotlib.font_manager import FontProperties

    usual, small = (FontProperties(size=size).get_size_in_points() for size in ("medium", "small"))
    distance = ax.bbox.width * 72.0 / ax.figure.dpi / len(names)
    if max(map(len, names)) * LETTER * usual <= distance:
        return {}
    # A colour bar will take some of the width.
    if 0.6 * distance * np.sin(np.radians(TURNED)) > small:
        turn = {"rotation": TURNED, "ha": "right", "rotation_mode": "anchor"}
        return {**turn, "fontsize": "small"}
    return {"rotation": 90, "fontsize": "small" if distance > 1.2 * small else "xx-small"}


def _round_places(side: Quantile | Steps) -> list[float]:
    """Return coordinates of round values; of powers of ten if the side spans several."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    low, high = (float(side.value(u)) for u in side.ends)
    decades = low > 0.0 and high >= DECADES * low
    locator = (
        LogLocator(numticks=6)
        if decades
        else MaxNLocator(5, steps=[1, 2, 5, 10], integer=isinstance(side, SeparateAxis))
    )
    places: list[float] = []
    for value in np.asarray(locator.tick_values(low, high)).tolist():
        inside = min(max(value, low), high)
        if np.isclose(value, inside, rtol=1e-9, atol=0.0):  # an end may be a rounded number
            u = side.coordinate(inside)
            if not places or u - places[-1] >= APART:
                places.append(u)
    return places


def label_color(ax: Any) -> Any:
    """Return the colour of the labels of some axes, dark on light and light on dark."""
    return ax.xaxis.label.get_color()


def outline_style(ax: Any, width: float = 1.5) -> dict[str, Any]:
    """Return a line style with a rim in the background's colour, visible on any colour."""
    from matplotlib.patheffects import Normal, Stroke

    rim = Stroke(linewidth=2.0 * width + 2.0, foreground=ax.get_facecolor(), alpha=0.8)
    return {"linewidth": 2.0 * width, "path_effects": [rim, Normal()]}


def mark_recommended(ax: Any, low: float, high: float) -> None:
    """Mark the recommendation along the horizontal axis, however narrow it is."""
    if high > low:
        ax.axvspan(low, high, color=RECOMMENDED, alpha=0.25, linewidth=0)
    style = {"linestyle": "--", "linewidth": 1.5, "label": "recommended"}
    ax.axvline(0.5 * (low + high), color=RECOMMENDED, **style)


def predict_points(
    optimizer: Any, X: np.ndarray, drawn: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return mean and deviation of f at points (n, d) of a picture, and limit probabilities.

    Infeasible points have NaN. The probabilities that all limits hold are None without limits.
    """
    X, possible = satisfy_constraints(optimizer, X, drawn)
    mean, std = optimizer.predict(as_coordinates(X), return_std=True)
    if possible is not None:
        mean, std = (np.where(possible, each, np.nan) for each in (mean, std))
    return mean, std, limit_probabilities(optimizer, X)


def clip_interval(
    mean: np.ndarray, std: np.ndarray, ends: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means and the ends of the 95 % intervals, clipped to the range ``ends``."""
    half = QUANTILE_95 * std
    mean, low, high = (np.clip(each, *ends) for each in (mean, mean - half, mean + half))
    return mean, low, high


def draw_band(ax: Any, x: np.ndarray, mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Draw a posterior along an axis with a band from ``low`` to ``high``."""
    (line,) = ax.plot(x, mean, label="posterior mean")
    band = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
    ax.fill_between(x, low, high, label="95 % interval", **band)


def default_names(names: Sequence[str] | None, n: int) -> Sequence[str]:
    """Return the names of n features, or names with their indices if there are none."""
    return [f"feature {i}" for i in range(n)] if names is None else names


def limit_probabilities(optimizer: Any, X: np.ndarray) -> np.ndarray | None:
    """Return the probability that all limits hold at points (n, d); None without limits."""
    if not getattr(optimizer, "limits", None):
        return None
    return optimizer.predict_within_limits(as_coordinates(X))


def shade_violations(ax: Any, x: np.ndarray, within: np.ndarray, apart: bool) -> None:
    """Shade where a limit is probably exceeded, and mark the border; categories are separate."""
    beyond = within < 0.5
    if not beyond.any():
        return
    style = {"color": BEYOND, "linewidth": 0, "label": "probably beyond a limit"}
    if apart:
        half = 0.5 * float(np.diff(x).min(initial=1.0))
        for at in x[beyond]:
            ax.axvspan(at - half, at + half, alpha=0.3, **style)
            style.pop("label", None)
        return
    place = {"transform": ax.get_xaxis_transform(), "alpha": 0.3}
    ax.fill_between(x, 0.0, 1.0, where=beyond, **place, **style)
    for border in (0.5 * (x[1:] + x[:-1]))[beyond[1:] != beyond[:-1]]:
        ax.axvline(border, color=label_color(ax), linestyle="dotted", linewidth=1.5)


def make_axes(ax: Any, **subplots: Any) -> Any:
    """Return the given axes, or the axes of a new figure."""
    if ax is not None:
        return ax
    with needs("drawing", "matplotlib", "plot"):
        import matplotlib.pyplot as plt
    return plt.subplots(layout="constrained", **subplots)[1]


class Display:
    """Axes and figure of a display, set when it is drawn."""

    ax_: Axes
    figure_: Figure

    def _start(self, ax: Any) -> Any:
        """Set and return the given axes, or the axes of a new figure."""
        ax = make_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def make_panels(ax: Any, n: int) -> list[Any]:
    """Return n axes: the given ones, those of a new figure, or a grid in place of a single one."""
    n_rows = -(-n // PANELS_PER_ROW)
    n_columns = -(-n // n_rows)
    if ax is None:
        size = {"figsize": (max(4.0, 3.2 * n_columns), 3.2 * n_rows)}
        axes = make_axes(None, nrows=n_rows, ncols=n_columns, squeeze=False, **size)
        return _first_panels(axes, n)
    if not hasattr(ax, "figure"):
        given = np.asarray(ax, dtype=object).ravel().tolist()
        if len(given) != n:
            raise ValueError(
                f"ax must be one Axes or a sequence of {n} Axes, one for each panel; "
                f"got {len(given)}"
            )
        return given
    if n == 1:
        return [ax]
    # As in scikit-learn's displays: the panels take the place of the given axes.
    place = ax.get_subplotspec()
    if place is None:
        raise ValueError(
            f"ax must be made by subplots or add_subplot, or be a sequence of {n} Axes, one for "
            "each panel"
        )
    ax.set_axis_off()
    axes = place.subgridspec(n_rows, n_columns).subplots(squeeze=False)
    return _first_panels(axes, n)


def _first_panels(axes: Any, n: int) -> list[Any]:
    """Return the first n of a grid of axes, and remove the others."""
    for spare in axes.flat[n:]:
        spare.remove()
    return axes.ravel()[:n].tolist()
