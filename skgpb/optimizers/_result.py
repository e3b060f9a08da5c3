"""The result of ``run``, with a readable text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

import numpy as np
from scipy.optimize import OptimizeResult

# What is recommended.
X = TypeVar("X")


class RunResult(OptimizeResult, Generic[X]):
    """Result of ``run``: an ``OptimizeResult`` that prints what was found in a few lines.

    Attributes
    ----------
    x : query
        The recommendation; None without any answer.
    fun : float
        Its estimated mean reward, NaN where nothing is known.
    nfev, nfail : int
        Number of evaluations, and how many of these failed.
    history : ndarray
        Everything told, see ``history_``.
    success : bool
        Whether anything is known.
    message : str
        Why the run ended.
    model : dict of str
        What is known of the model of f at the end, in words: under ``"noise"`` that of the answers,
        and if there is something to say, ``"outliers"``, ``"lack of fit"``, and under ``"beware"``
        how the answers contradicted the model when they were last compared. Empty for methods
        without a Gaussian process.
    gap : float
        Bound on how much better than ``x`` the best may be, see ``gap`` of the optimizer. It holds
        with probability 1 - delta, with the delta and the bound of ``stop``, or else with 0.95. It
        is computed from the state in which the run ended, by draws when it is first read.
    """

    x: X
    fun: float
    nfev: int
    nfail: int
    history: np.ndarray
    success: bool
    message: str
    model: dict[str, str]
    gap: float

    def with_gap(self, compute: Callable[[], float]) -> Self:
        """Return this result, with the function that computes its gap."""
        self.__dict__["compute"] = compute
        return self

    def __missing__(self, key: str) -> Any:
        """Compute an attribute when it is first read."""
        if key != "gap" or "compute" not in vars(self):
            raise KeyError(key)
        self["gap"] = self.__dict__.pop("compute")()
        return self["gap"]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the gap and not the posterior that it is computed from."""
        if "compute" in vars(self):
            self["gap"]
        return type(self), (dict(self),)

    def __repr__(self) -> str:
        """Return lines with the result, its basis, and the reason why the run ended."""
        rewards = np.asarray(self.history["reward"], dtype=np.float64)
        lines = [("recommended", repr(self.x)), ("estimated mean", f"{self.fun:.6g}")]
        if "compute" in vars(self) or "gap" in self:
            lines += [("best is at most", f"{self.gap:.3g} better")] * bool(np.isfinite(self.gap))
        failed = f", {self.nfail} of them failed" if self.nfail else ""
        lines.append(("evaluations", f"{self.nfev}{failed}"))
        if (
            self.get("cost", self.nfev - self.nfail) != self.nfev - self.nfail
        ):  # some price is not 1
            lines.append(("cost", f"{self.cost:g}"))
        if np.isfinite(rewards).any():
            low, high = np.nanmin(rewards), np.nanmax(rewards)
            lines.append(("answers", f"{len(rewards)}, from {low:.6g} to {high:.6g}"))
        lines += [("ended because", self.message), *self.model.items()]
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)
