"""Helpers of the displays: axes, checks and error messages."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from sklearn.exceptions import NotFittedError

from skgpb.domains import Steps
from skgpb.domains.contexts import ContextPartition
from skgpb.domains.partition import Partition
from skgpb.domains.query import readable
from skgpb.domains.space import Axis, Quantile, SeparateAxis, Span, in_coordinates
from skgpb.plotting.inspection import check_is_single, feature_names_of
from skgpb.utils.install import needs
from skgpb.utils.validation import Integral, check_numbers, in_contexts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colour of what is recommended, in every display: vermilion, which people who do not tell red
# from green still tell from the blue, green and yellow of the others.
RECOMMENDED = "#d55e00"
# Colour of what is probably beyond a limit.
BEYOND = "#777777"
# Half width of a 95 % interval of a normal distribution, in standard deviations.
QUANTILE_95 = 1.96
# Range of rewards that may have any value.
EVERYTHING = (-np.inf, np.inf)
# A side of more values than this has ticks at some of them.
MOST_TICKS = 12
# Letters of the name of a value, and the width of one in font sizes; where all names side by side
# would be wider than the axes they are turned by some degrees, or stand if they are close.
LONGEST_LABEL, LETTER, TURNED = 18, 0.6, 40
# A side whose ends have at least this ratio has ticks at powers of ten; the smallest tick distance.
DECADES, APART = 100.0, 0.1
# Number of panels in a row.
PANELS_PER_ROW = 3
# Characters of a line of the title above each panel.
TITLE_WIDTH = 36


def check_has_cells(optimizer: Any, what: str, *, posterior: bool = False) -> None:
    """Raise TypeError unless an optimizer has a tree of cells, and a posterior if so."""
    has_tree = isinstance(getattr(optimizer, "domain_", None), (Partition, ContextPartition))
    if not has_tree or (posterior and not hasattr(optimizer, "surrogate_")):
        raise TypeError(f"{type(optimizer).__name__} has no {what} to draw")


def check_has_posterior(optimizer: Any) -> None:
    """Raise TypeError for an optimizer that does not know how sure it is of f at points."""
    check_is_single(optimizer)
    if "return_std" not in inspect.signature(optimizer.predict).parameters:
        raise TypeError(f"{type(optimizer).__name__} has no posterior to draw")


def recommendation_of(optimizer: Any) -> Any:
    """Return the recommendation, or None if it needs a context or an answer.

    A campaign has none of its own: what is best for it depends on the budget of all.
    """
    if in_contexts(optimizer) or getattr(optimizer, "_campaign", None) is not None:
        return None
    try:
        return optimizer.recommend()
    except NotFittedError:
        return None


def campaign_of(bandit: Any, features: Any) -> tuple[Any, list[int], Any]:
    """Return a campaign's optimizer, its features that are drawn, and its part of the best split.

    The part is None if nothing is known.
    """
    names, widths = feature_names_of(bandit), [each.n_features_in_ for each in bandit.optimizers_]
    owners = np.repeat(np.arange(len(widths)), widths)
    drawn = [] if features is None else numbers_of(features, names, most=2)
    if len(set(owners[drawn])) != 1:
        raise ValueError(f"features must be of one campaign, from {names}; got {features!r}")
    which = int(owners[drawn[0]])
    best = recommendation_of(bandit)
    first = int(np.flatnonzero(owners == which)[0])
    part = None if best is None else best.arms[which]
    return bandit.optimizers_[which], [i - first for i in drawn], part


def names_of(optimizer: Any, given: Sequence[str] | None) -> list[str]:
    """Names of all features: as given, or what the optimizer calls them."""
    names = feature_names_of(optimizer) if given is None else [str(name) for name in given]
    if len(names) != optimizer.n_features_in_:
        raise ValueError(
            f"feature_names must name each of {optimizer.n_features_in_} features, got {given!r}"
        )
    return names


def sides_of(optimizer: Any) -> list[Axis] | None:
    """Return the scale of each feature, None if its coordinates are the values."""
    space = optimizer._run.space
    return None if space is None else [axis for _, axis in space.axes]


def numbers_of(features: Any, names: Sequence[str], most: int) -> list[int]:
    """Return the numbers of some different features, given by number or name."""
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


def place_of(optimizer: Any, fixed: Any, part: Any = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the fixed values of undrawn features, and the corners of the recommendation.

    ``part`` is the recommendation for a campaign.
    """
    d, corners = optimizer.n_features_in_, None
    best = recommendation_of(optimizer) if part is None else part
    if best is not None:
        point = np.asarray(best, dtype=np.float64).reshape(-1, d).mean(axis=0)
        corners = np.array([getattr(best, name, point) for name in ("lower", "upper")])
    if fixed is None:
        return (optimizer.bounds_.T if corners is None else corners).mean(axis=0), corners
    if optimizer._run.space is not None:
        fixed = optimizer._run.space.points(fixed)[0]
    fixed = check_numbers(fixed, "fixed", ensure_2d=False)
    if fixed.shape != (d,):
        raise ValueError(f"fixed must be a point of shape ({d},), got shape {fixed.shape}")
    return fixed, corners


def possible_of(
    optimizer: Any, X: np.ndarray, drawn: Sequence[int]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Points (n, d) of a picture that satisfy equations, and which are possible; None for all."""
    feasible = None if optimizer._run.space is None else optimizer._run.space.feasible
    return (X, None) if feasible is None else feasible.adjusted(X, drawn)


def asked_of(optimizer: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the corners (n, 2, d) of queries, and answers; None for another space.

    Answers at low fidelity are left out: they are values of another function.
    """
    history = of_truth(optimizer.history_)
    if "a" in history.dtype.names:
        return None, None
    boxes = history["descriptor"].reshape(len(history), 2, optimizer.n_features_in_)
    return boxes, history["reward"]


def with_categories_of(
    point: np.ndarray, asked: np.ndarray, sides: Sequence[Any] | None, drawn: Sequence[int]
) -> np.ndarray | None:
    """Return which queries (n, 2, d) include the categories of a point on sides not drawn.

    None where all of them do.
    """
    here = np.ones(len(asked), dtype=bool)
    for i, side in enumerate(sides or ()):
        if i not in drawn and side.discrete and side.n_columns > 1:
            place = side.number(point[i])
            numbers = side.number(asked[:, :, i])
            # The upper corner of a cell is where the next category begins.
            last = np.maximum(numbers[:, 0], side.number(asked[:, 1, i] - 1e-9))
            here &= (numbers[:, 0] <= place) & (place <= last)
    return None if here.all() else here


def of_truth(history: Any) -> Any:
    """Return the answers at the highest fidelity, if there are several fidelities."""
    return history[history["task"] == 0] if "task" in history.dtype.names else history


def plain(value: Any) -> str:
    """Write a value of a side in a picture: numbers with few digits, text without quotes."""
    return readable(value, 3) if isinstance(value, (float, tuple)) else str(value)


def shorten(text: str, longest: int) -> str:
    """Return a text, or the beginning of one that is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def setting_of(point: np.ndarray, sides: list[Axis] | None) -> list[str]:
    """Write the coordinates of a point as values of the sides."""
    values = point.tolist()
    if sides is not None:
        values = [side.value(u) for side, u in zip(sides, values, strict=True)]
    return [plain(value) for value in values]


def is_short(side: Axis | None) -> TypeGuard[SeparateAxis]:
    """Return whether a side has so few values that each is drawn."""
    return isinstance(side, SeparateAxis) and side.n_settings <= MOST_TICKS


def label_ticks(axis: Any, side: Axis) -> None:
    """Let the ticks of an axis show values of a side, in the user's units and kinds."""
    if isinstance(side, Span) or (isinstance(side, Steps) and not side.log):
        return  # coordinates are the values
    if is_short(side):
        middles = side.middles()
        labels = [shorten(plain(side.value(u)), LONGEST_LABEL) for u in middles]
        style = {} if axis.axis_name == "y" else _turned(axis.axes, labels)
        axis.set_ticks(middles, labels=labels, **style)
        return
    if isinstance(side, Quantile | Steps):
        axis.set_ticks(_round_places(side))

    def value(u: float, _: Any) -> str:
        return plain(side.value(u)) if 0.0 <= u <= 1.0 else ""

    axis.set_major_formatter(value)


def _turned(ax: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the style of names below some axes with which they do not lie on each other."""
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
    """Coordinates of round values, powers of ten where the side spans several of them."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    low, high = (float(side.value(u)) for u in side.ends)
    decades = low > 0.0 and high >= DECADES * low
    locator = (
        LogLocator(numticks=6)
        if decades
        else MaxNLocator(5, steps=[1, 2, 5, 10], integer=side.discrete)
    )
    places: list[float] = []
    for value in np.asarray(locator.tick_values(low, high)).tolist():
        inside = min(max(value, low), high)
        if np.isclose(value, inside, rtol=1e-9, atol=0.0):  # an end may be a rounded number
            u = side.coordinate(inside)
            if not places or u - places[-1] >= APART:
                places.append(u)
    return places


def ink_of(ax: Any) -> Any:
    """Colour of the labels of some axes, which is dark on light and light on dark."""
    return ax.xaxis.label.get_color()


def outlined(ax: Any, width: float = 1.5) -> dict[str, Any]:
    """Style that sets a line off from any colours below it, by a rim like the background."""
    from matplotlib.patheffects import Normal, Stroke

    rim = Stroke(linewidth=2.0 * width + 2.0, foreground=ax.get_facecolor(), alpha=0.8)
    return {"linewidth": 2.0 * width, "path_effects": [rim, Normal()]}


def mark_recommended(ax: Any, low: float, high: float) -> None:
    """Mark what is recommended along the horizontal axis, however narrow it is."""
    if high > low:
        ax.axvspan(low, high, color=RECOMMENDED, alpha=0.25, linewidth=0)
    style = {"linestyle": "--", "linewidth": 1.5, "label": "recommended"}
    ax.axvline(0.5 * (low + high), color=RECOMMENDED, **style)


def predicted_at(
    optimizer: Any, X: np.ndarray, drawn: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return mean and deviation of f at points (n, d) of a picture, and whether limits hold.

    They are NaN where constraints exclude a point, and there are no probabilities without limits.
    """
    X, possible = possible_of(optimizer, X, drawn)
    mean, std = optimizer.predict(in_coordinates(X), return_std=True)
    if possible is not None:
        mean, std = (np.where(possible, each, np.nan) for each in (mean, std))
    return mean, std, within_limits(optimizer, X)


def interval_within(
    mean: np.ndarray, std: np.ndarray, ends: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means and the ends of the intervals of 95 %, all within a range."""
    half = QUANTILE_95 * std
    mean, low, high = (np.clip(each, *ends) for each in (mean, mean - half, mean + half))
    return mean, low, high


def draw_band(ax: Any, x: np.ndarray, mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Draw a posterior along an axis with a band around it."""
    (line,) = ax.plot(x, mean, label="posterior mean")
    band = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
    ax.fill_between(x, low, high, label="95 % interval", **band)


def numbered(names: Sequence[str] | None, n: int) -> Sequence[str]:
    """Return names of n features, which are their numbers where none are given."""
    return [f"feature {i}" for i in range(n)] if names is None else names


def within_limits(optimizer: Any, X: np.ndarray) -> np.ndarray | None:
    """Return the probability that all limits hold at points (n, d); None without limits."""
    if not getattr(optimizer, "limits", None):
        return None
    return optimizer.predict_within_limits(in_coordinates(X))


def shade_beyond(ax: Any, x: np.ndarray, within: np.ndarray, apart: bool) -> None:
    """Shade where a limit is probably not kept, and mark the border; categories lie apart."""
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
        ax.axvline(border, color=ink_of(ax), linestyle="dotted", linewidth=1.5)


def make_axes(ax: Any, **subplots: Any) -> Any:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    with needs("drawing", "matplotlib", "plot"):
        import matplotlib.pyplot as plt
    return plt.subplots(layout="constrained", **subplots)[1]


class Display:
    """What every display has once it is drawn: its axes, and the figure with them."""

    ax_: Axes
    figure_: Figure

    def _start(self, ax: Any) -> Any:
        """Take the axes given, or those of a new figure."""
        ax = make_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def make_panels(ax: Any, n: int) -> list[Any]:
    """Return n axes: the given ones, axes of a new figure, or axes in place of the given one."""
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
    # As in scikit-learn's displays: the axes given says where.
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
    """The first n of a grid of axes; the others are removed."""
    for spare in axes.flat[n:]:
        spare.remove()
    return axes.ravel()[:n].tolist()
