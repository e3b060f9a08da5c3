"""What the displays share: axes, and messages where there is nothing to draw or to draw with."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import NotFittedError

from skgpb.domains import ContextPartition
from skgpb.domains.partition import Partition

# Colour of what is recommended, in every display.
RECOMMENDED = "#d62728"
# Half width of a 95 % interval of a normal distribution, in standard deviations.
QUANTILE_95 = 1.96


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
