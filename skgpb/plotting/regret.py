"""Regret, or the best answer so far, against the number of rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgpb.optimizers import _loop as loop
from skgpb.plotting.drawing import Display, highest_fidelity, label_color
from skgpb.plotting.inspection import check_is_single
from skgpb.plotting.letters import add_legend, fit_labels
from skgpb.problems.metrics import cumulative_regret, instant_regret
from skgpb.utils.typing import Values
from skgpb.utils.validation import check_numbers, check_real, has_contexts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from skgpb.optimizers._base import BaseBanditOptimizer

__all__ = ["RegretDisplay"]

KINDS = {
    "cumulative": "cumulative regret",
    "average": "regret per round",
    "instant": "regret of the best query so far",
    "best": "best answer so far",
}
# Line styles: runs on the same axes differ not only in their colours.
LINES = ["-", "--", "-.", ":"]


@dataclass(kw_only=True, eq=False, repr=False)
class RegretDisplay(Display):
    """Regret, or best answer so far, of a run after each round.

    Use :meth:`from_optimizer`, several times with the same ``ax`` to compare runs, and
    :meth:`from_optimizers` for the mean of runs with different seeds. If the optimum is unknown,
    ``kind="best"`` shows the progress of a run without it.

    Parameters
    ----------
    regret : ndarray of shape (n_rounds,)
        Regret after each round, or the best so far, in units of the reward.
    kind : {"cumulative", "average", "instant", "best"}
        Kind of regret: the sum over the rounds, this sum divided by the number of rounds, or the
        regret of the best query so far; "best" is the best answer so far instead of a regret.
    optimum : float, default=None
        Value that the rewards are compared with; None is allowed only with "best".
    estimated : bool, default=False
        Whether the optimum is the optimizer's own estimate.
    name : str, default=None
        Name of the run, for the legend.
    answers : ndarray of shape (n_rounds,), default=None
        Answers, drawn as dots; None without dots.
    error : ndarray of shape (n_rounds,), default=None
        Standard error of the curve, drawn as a band around it; None without a band.
    value_name : str, default=None
        Name of the rewards, for labels.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure with the axes.

    Examples
    --------
    >>> from skgpb import GPOOOptimizer
    >>> from skgpb.plotting import RegretDisplay
    >>> opt = GPOOOptimizer(bounds=[(0, 1)])
    >>> _ = opt.run(lambda cell: float(cell.points.mean()), budget=15)
    >>> display = RegretDisplay.from_optimizer(opt, optimum=1.0)
    >>> display.ax_.get_ylabel()
    'cumulative regret'
    """

    regret: np.ndarray
    kind: str
    optimum: float | None = None
    estimated: bool = False
    name: str | None = None
    answers: np.ndarray | None = None
    error: np.ndarray | None = None
    value_name: str | None = None

    @classmethod
    def from_optimizer(
        cls,
        optimizer: BaseBanditOptimizer[Any],
        ax: Axes | None = None,
        *,
        optimum: float | None = None,
        values: Values | None = None,
        kind: str = "cumulative",
        name: str | None = None,
        value_name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the regret of the answers of an optimizer.

        Parameters
        ----------
        optimizer : BaseBanditOptimizer
            Optimizer after at least one ``tell``. With :class:`~skgpb.domains.Fidelities` only
            answers of the function itself count as rounds.
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        optimum : float, default=None
            Best true value of the function, the smallest if it is minimised. None for the
            optimizer's estimate of the mean reward of its recommendation, which the label of the
            axis mentions; ``kind="best"`` needs none, and draws it if it is given.
        values : array-like of shape (n_rounds,), default=None
            True, noiseless values of the queries of all rounds. None for the rewards, whose noise
            averages out of the cumulative regret, but makes the instant regret too small and the
            best answer too good.
        kind : {"cumulative", "average", "instant", "best"}, default="cumulative"
            See the class.
        name : str, default=None
            Name of the run in the legend; None for the class of the optimizer.
        value_name : str, default=None
            Name of the rewards, for labels.
        **kwargs : dict
            Arguments of matplotlib's ``plot``.

        Returns
        -------
        display : RegretDisplay
        """
        curve = _curve(optimizer, optimum, values, kind)
        name = type(optimizer).__name__ if name is None else name
        display = cls(
            regret=curve.regret,
            kind=kind,
            optimum=curve.optimum,
            estimated=curve.estimated,
            name=name,
            answers=curve.rewards if kind == "best" else None,
            value_name=value_name,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_optimizers(
        cls,
        optimizers: Sequence[Any],
        ax: Axes | None = None,
        *,
        optimum: float | None = None,
        values: Sequence[Any] | None = None,
        kind: str = "cumulative",
        name: str | None = None,
        value_name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the mean regret of several runs, with a band of one standard error of the mean.

        Parameters
        ----------
        optimizers : sequence of BaseBanditOptimizer
            Runs of the same function, at least two, for example with different seeds. Rounds that
            not every run has are left out.
        ax, optimum, kind, value_name, **kwargs
            As in :meth:`from_optimizer`. Without ``optimum`` each run has its own estimate.
        values : sequence of array-like, default=None
            For each run the argument of :meth:`from_optimizer`.
        name : str, default=None
            Name of the runs in the legend; None for the class of the first optimizer.

        Returns
        -------
        display : RegretDisplay

        Examples
        --------
        >>> from skgpb import GPUCBOptimizer
        >>> from skgpb.plotting import RegretDisplay
        >>> runs = [GPUCBOptimizer(bounds={"x": (0, 10)}, random_state=seed) for seed in range(3)]
        >>> for opt in runs:
        ...     result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
        >>> display = RegretDisplay.from_optimizers(runs, optimum=0.0)
        >>> display.regret.shape
        (15,)
        """
        if len(optimizers) < 2:
            raise ValueError(f"optimizers must be at least two runs, got {len(optimizers)}")
        each = [None] * len(optimizers) if values is None else list(values)
        if len(each) != len(optimizers):
            raise ValueError(f"values must be given for {len(optimizers)} runs, got {len(each)}")
        curves = [_curve(*pair, kind) for pair in zip(optimizers, repeat(optimum), each)]
        n = min(len(curve.regret) for curve in curves)
        regrets = np.array([curve.regret[:n] for curve in curves])
        display = cls(
            regret=regrets.mean(axis=0),
            kind=kind,
            optimum=optimum,
            estimated=curves[0].estimated,
            name=type(optimizers[0]).__name__ if name is None else name,
            error=regrets.std(axis=0, ddof=1) / np.sqrt(len(curves)),
            value_name=value_name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        name : str, default=None
            Name in the legend; None for the name of the display.
        **kwargs : dict
            Arguments of matplotlib's ``plot``.

        Returns
        -------
        self : RegretDisplay
        """
        ax = self._start(ax)
        rounds = np.arange(1, len(self.regret) + 1)
        others = [line.get_label() for line in ax.lines]
        line = LINES[len([label for label in others if label != "optimum"]) % len(LINES)]
        style = {"label": self.name if name is None else name, "linestyle": line} | kwargs
        if self.kind == "best":
            style = {"drawstyle": "steps-post"} | style
        self.line_: Line2D = ax.plot(rounds, self.regret, **style)[0]
        if self.error is not None:
            step: Literal["post"] | None = "post" if self.kind == "best" else None
            band: dict[str, Any] = {
                "color": self.line_.get_color(),
                "alpha": 0.25,
                "linewidth": 0.0,
            }
            low, high = self.regret - self.error, self.regret + self.error
            ax.fill_between(rounds, low, high, step=step, **band)
        if self.answers is not None:
            ax.scatter(rounds, self.answers, s=10, color=self.line_.get_color(), alpha=0.5)
        if self.kind == "best" and self.optimum is not None and "optimum" not in others:
            thin: dict[str, Any] = {"linewidth": 1.0, "linestyle": (0, (1, 3)), "label": "optimum"}
            ax.axhline(self.optimum, color=label_color(ax), **thin)
        what = KINDS[self.kind]
        if self.value_name and self.kind == "best":
            what = f"best {self.value_name} so far"
        elif self.value_name:
            what = f"{what} of {self.value_name}"
        against = " (against the estimated optimum)" if self.estimated else ""
        ax.set(xlabel="round", ylabel=what + against)
        ax.locator_params(axis="x", integer=True)
        fit_labels(ax)
        if style["label"] is not None:
            _draw_legend(ax)
        return self


class Curve(NamedTuple):
    """Regret of a run after each round, the value it is compared with, and the answers."""

    regret: np.ndarray
    optimum: float | None
    estimated: bool
    rewards: np.ndarray


def _curve(optimizer: Any, optimum: float | None, values: Any, kind: str) -> Curve:
    """Return the curve of a run; arguments are those of :meth:`RegretDisplay.from_optimizer`."""
    check_is_fitted(optimizer, "bounds_")
    check_is_single(optimizer)
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {list(KINDS)}, got {kind!r}")
    history = highest_fidelity(optimizer.history_)
    rewards = history["reward"]
    if not len(rewards):
        raise ValueError("the optimizer has no answers yet, so there is no regret to draw")
    if values is not None:
        values = check_numbers(values, "values", ensure_2d=False)
        if values.shape != rewards.shape:
            raise ValueError(
                f"values must hold one number for each of {len(rewards)} rounds, got an array "
                f"of shape {values.shape}"
            )
        rewards = values
    estimated = optimum is None and kind != "best"
    if estimated:
        optimum = _estimated_optimum(optimizer)
    goal: Any = None if optimum is None else check_real(optimum, "optimum")
    sign = -1.0 if getattr(optimizer, "direction", "maximize") == "minimize" else 1.0
    if kind == "best":
        beyond = optimizer._limit_violation_mask()[history["round"] - 1]
        regret = sign * np.fmax.accumulate(np.where(beyond, np.nan, sign * rewards))
    else:
        function = instant_regret if kind == "instant" else cumulative_regret
        regret = function(sign * goal, sign * rewards)
    if kind == "average":
        regret = regret / np.arange(1, len(regret) + 1)
    return Curve(regret, goal, estimated, rewards)


def _draw_legend(ax: Any) -> None:
    """Draw the legend below the axes; inside them if no layout engine makes room for it."""
    if ax.figure.get_layout_engine() is None:
        ax.legend()
    else:
        add_legend(ax, 3)


def _estimated_optimum(optimizer: Any) -> float:
    """Return the estimated mean reward of the recommendation."""
    if has_contexts(optimizer):
        raise ValueError("optimum must be given, because the maximum depends on the context")
    best = optimizer.recommend()
    return float(loop.value_of(optimizer, best))
