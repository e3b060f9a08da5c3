"""The front of several goals: two of them against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skgpb.plotting.drawing import Display, label_color
from skgpb.plotting.letters import add_legend, fit_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from skgpb.optimizers.search import Search

__all__ = ["FrontDisplay"]


@dataclass(kw_only=True, eq=False, repr=False)
class FrontDisplay(Display):
    """Front of a search for several goals: one goal against another.

    Use :meth:`from_optimizer`. With two goals the line encloses the dominated volume, down to the
    reference point.

    Parameters
    ----------
    front : Front
        Result of ``front()`` of a search.
    goals : sequence of two str, default=None
        Goals of the horizontal and the vertical axis; None for the first two.
    value_name : str, default=None
        Name of the reward, for labels.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The front.
    ax_ : matplotlib Axes
        Axes with the front.
    figure_ : matplotlib Figure
        Figure with the axes.

    Examples
    --------
    >>> from skgpb import EIOptimizer
    >>> from skgpb.plotting import FrontDisplay
    >>> opt = EIOptimizer(bounds={"x": (0, 10)}, goals={"cost": "minimize"}, random_state=0)
    >>> _ = opt.run(lambda query: (query.params["x"], {"cost": query.params["x"] ** 2}), budget=12)
    >>> display = FrontDisplay.from_optimizer(opt, value_name="yield")
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('yield (more is better)', 'cost (less is better)')
    """

    front: Any
    goals: Sequence[str] | None = None
    value_name: str | None = None

    @classmethod
    def from_optimizer(
        cls,
        optimizer: Search,
        ax: Axes | None = None,
        *,
        goals: Sequence[str] | None = None,
        method: Any = None,
        value_name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the front of a search.

        Parameters
        ----------
        optimizer : Search
            Search with ``goals``, after an answer of each of them.
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        goals : sequence of two str, default=None
            See the class; the reward is "reward".
        method : {"posterior", "best_observed"}, default=None
            See ``front`` of the search.
        value_name : str, default=None
            Name of the reward, for labels.
        **kwargs : dict
            Arguments of matplotlib's ``plot``.

        Returns
        -------
        display : FrontDisplay
        """
        if not hasattr(optimizer, "front"):
            raise TypeError(f"{type(optimizer).__name__} has no front to draw")
        display = cls(front=optimizer.front(method), goals=goals, value_name=value_name)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the front, the other answers and the reference point.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        **kwargs : dict
            Arguments of matplotlib's ``plot``.

        Returns
        -------
        self : FrontDisplay
        """
        front, names = self.front, self.front.names
        shown = names[:2] if self.goals is None else list(self.goals)
        if len(shown) != 2 or not set(shown) <= set(names):
            raise ValueError(f"goals must be two of {names}, got {self.goals!r}")
        ax = self._start(ax)
        which = [names.index(name) for name in shown]
        values, corner = front.values[:, which], front.reference[which]
        others = {"ms": 4, "mew": 0, "color": label_color(ax), "alpha": 0.55}
        ax.plot(*front.others[:, which].T, "o", **others, label="other answers")
        style: dict[str, Any] = {
            "marker": "o",
            "ms": 6,
            "linestyle": "none",
            "label": "front",
        } | kwargs
        self.line_: Line2D = ax.plot(*values.T, **style)[0]
        if len(names) == 2 and len(values):
            # Each point is a corner of the edge, between vertical lines at the points.
            x = np.append(values[:, 0], corner[0])
            y = np.concatenate([corner[1:], values[:, 1]])
            ax.plot(
                np.repeat(x, 2)[:-1],
                np.repeat(y, 2)[1:],
                lw=1.0,
                color=self.line_.get_color(),
                alpha=0.6,
            )
        ax.plot(*corner, "+", ms=9, color=label_color(ax), label="reference point")
        better = {"maximize": "more is better", "minimize": "less is better"}
        labels = [
            f"{self.value_name if name == 'reward' and self.value_name else name} "
            f"({better[front.directions[i]]})"
            for name, i in zip(shown, which, strict=True)
        ]
        ax.set(xlabel=labels[0], ylabel=labels[1])
        ax.margins(0.1)
        fit_labels(ax)
        add_legend(ax, 2)
        return self
