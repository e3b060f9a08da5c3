"""What the displays share: axes, and messages where there is nothing to draw or to draw with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import NotFittedError

from skgpb.domains import ContextPartition
from skgpb.domains.partition import Partition
from skgpb.domains.query import readable
from skgpb.domains.space import Axis, Span

# Colour of what is recommended, in every display.
RECOMMENDED = "#d62728"
# Half width of a 95 % interval of a normal distribution, in standard deviations.
QUANTILE_95 = 1.96
# A side of more values than this has ticks at some of them.
MOST_TICKS = 12


def check_has_cells(optimizer: Any, what: str, *, posterior: bool = False) -> None:
    """Raise TypeError unless an optimizer has a tree of cells, and a posterior if so."""
    has_tree = isinstance(getattr(optimizer, "domain_", None), (Partition, ContextPartition))
    if not has_tree or (posterior and not hasattr(optimizer, "surrogate_")):
        raise TypeError(f"{what} to draw, {type(optimizer).__name__} has none")


def check_is_single(optimizer: Any) -> None:
    """Raise TypeError for several bandits in one, such as CombinatorialBandit."""
    if hasattr(optimizer, "optimizers_"):
        raise TypeError(
            f"{type(optimizer).__name__} has no posterior and no rewards of its own: draw one of "
            "its named_optimizers_"
        )


def recommendation_of(optimizer: Any) -> Any:
    """What an optimizer recommends, None where that needs a context or an answer."""
    if "context_bounds" in optimizer.get_params(deep=False):
        return None
    try:
        return optimizer.recommend()
    except NotFittedError:
        return None


def names_of(optimizer: Any, given: Sequence[str] | None) -> list[str]:
    """Names of all features: as given, those of the box's sides, those seen by ``fit``."""
    if given is not None:
        return list(given)
    if optimizer.space_ is not None:
        return optimizer.space_.names
    numbered = [f"feature {i}" for i in range(optimizer.n_features_in_)]
    return list(getattr(optimizer, "feature_names_in_", numbered))


def sides_of(optimizer: Any) -> list[Axis] | None:
    """What coordinates along each feature stand for, None where they are values themselves."""
    space = optimizer.space_
    return None if space is None else [axis for _, axis in space.axes]


def label_ticks(axis: Any, side: Axis) -> None:
    """Let the ticks of an axis show values of a side, in the user's units and kinds."""
    if isinstance(side, Span):
        return  # coordinates are the values
    if side.discrete and side.n_settings <= MOST_TICKS:
        middles = side.middles()
        axis.set_ticks(middles, labels=[readable(side.value(u), 3) for u in middles])
    else:

        def value(u: float, _: Any) -> str:
            return readable(side.value(u), 3) if 0.0 <= u <= 1.0 else ""

        axis.set_major_formatter(value)


def make_axes(ax: Any) -> Any:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install skgpb[plot]"
        ) from error
    return plt.subplots(layout="constrained")[1]
