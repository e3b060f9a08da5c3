"""What ``run`` returns, to be read by people as well."""

from __future__ import annotations

import numpy as np
from scipy.optimize import OptimizeResult


class RunResult(OptimizeResult):
    """Result of ``run``: an ``OptimizeResult`` that prints what was found in a few lines.

    Attributes
    ----------
    x : query
        What is recommended; None where nothing is known.
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
    """

    def __repr__(self) -> str:
        """Lines that say what was found, what it rests on and why the run ended."""
        rewards = np.asarray(self.history["reward"], dtype=np.float64)
        lines = [("recommended", repr(self.x)), ("estimated mean", f"{self.fun:.6g}")]
        failed = f", {self.nfail} of them failed" if self.nfail else ""
        lines.append(("evaluations", f"{self.nfev}{failed}"))
        if "cost" in self:
            lines.append(("cost", f"{self.cost:g}"))
        if np.isfinite(rewards).any():
            low, high = np.nanmin(rewards), np.nanmax(rewards)
            lines.append(("answers", f"{len(rewards)}, from {low:.6g} to {high:.6g}"))
        lines.append(("ended because", self.message))
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)
