"""Importance of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skgpb.plotting.drawing import Display, default_names, resolve_names
from skgpb.plotting.inspection import feature_effects
from skgpb.plotting.letters import add_legend, fit_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

    from skgpb.optimizers._base import BaseBanditOptimizer

__all__ = ["ImportanceDisplay"]

# Number of letters of a line of a name.
NAME_WIDTH = 26


@dataclass(kw_only=True, eq=False, repr=False)
class ImportanceDisplay(Display):
    """Importance of features: the variation of f with each feature alone.

    Use :meth:`from_optimizer`. The bars are those of
    :func:`~skgpb.plotting.inspection.feature_effects`, in units of the reward: the full part is the
    effect in the posterior mean, the pale part the additional effect that the posterior allows. A
    feature with a short full bar does not matter; a feature with a long pale bar has too few
    answers for a conclusion.

    Parameters
    ----------
    known, possible : ndarray of shape (d,)
        Effects in the posterior mean alone, and with the posterior's uncertainty.
    feature_names : sequence of d str, default=None
        Names of the features.
    value_name : str, default=None
        Name of the rewards, for labels.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The full bars, from the bottom.
    ax_ : matplotlib Axes
        Axes with the bars.
    figure_ : matplotlib Figure
        Figure with the axes.

    Examples
    --------
    >>> from skgpb import GPUCBOptimizer
    >>> from skgpb.plotting import ImportanceDisplay
    >>> opt = GPUCBOptimizer(bounds={"colour": (0, 1), "heat": (0, 1)}, random_state=0)
    >>> _ = opt.run(lambda query: query.params["heat"], budget=20)
    >>> display = ImportanceDisplay.from_optimizer(opt)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['colour', 'heat']
    """

    known: np.ndarray
    possible: np.ndarray
    feature_names: Sequence[str] | None = None
    value_name: str | None = None

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BaseBanditOptimizer[Any],
        ax: Axes | None = None,
        *,
        n_samples: int = 200,
        feature_names: Sequence[str] | None = None,
        value_name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the importance of features for an optimizer.

        Parameters
        ----------
        optimizer : BaseBanditOptimizer
            Optimizer after at least one ``ask`` or ``fit``.
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        n_samples : int, default=200
            Number of pairs of points for each feature.
        feature_names : sequence of d str, default=None
            Names of all features; None for those of the sides, or of the columns of the table
            ``pool``, ``arms`` or X of ``fit``.
        value_name : str, default=None
            Name of the rewards, for labels.
        **kwargs : dict
            Arguments of :meth:`plot`.

        Returns
        -------
        display : ImportanceDisplay
        """
        effects = feature_effects(optimizer, n_samples)
        names = resolve_names(optimizer, feature_names)
        display = cls(
            known=effects.known,
            possible=effects.possible,
            feature_names=names,
            value_name=value_name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, n_features: int = 20) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        n_features : int, default=20
            Number of most important features to draw.

        Returns
        -------
        self : ImportanceDisplay
        """
        ax = self._start(ax)
        names = default_names(self.feature_names, len(self.known))
        drawn = np.argsort(self.known, kind="stable")[-n_features:]
        places = np.arange(len(drawn))
        self.bars_: BarContainer = ax.barh(
            places, self.known[drawn], height=0.6, label="by the posterior mean"
        )
        color = self.bars_.patches[0].get_facecolor()
        unsure = (self.possible - self.known)[drawn]
        if unsure.any():
            pale: dict[str, Any] = {
                "color": color,
                "alpha": 0.3,
                "label": "with what is not known yet",
            }
            ax.barh(places, unsure, height=0.6, left=self.known[drawn], **pale)
        ax.set_yticks(places, [fill(names[i], NAME_WIDTH) for i in drawn])
        what = self.value_name or "f"
        ax.set_xlabel(f"standard deviation of {what} by one feature alone")
        ax.set_xlim(0.0, None)
        fit_labels(ax)
        if unsure.any():
            add_legend(ax, 2)
        return self
