"""A horizon: the number of evaluations that the constants of an algorithm are meant for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from skgpb._warnings import warn
from skgpb.exceptions import BudgetWarning
from skgpb.utils import Integral, Interval

#: Constraints of ``horizon`` and ``anytime``.
HORIZON: dict[str, Any] = {
    "horizon": [Interval(Integral, 1, None, closed="left")],
    "anytime": ["boolean"],
}


@dataclass(frozen=True)
class Horizon:
    """The number of evaluations that constants are meant for.

    Attributes
    ----------
    n : int
        Number of evaluations.
    past_horizon : bool
        Whether the user was warned that more are made.
    """

    n: int
    past_horizon: bool = False

    def at(self, t: int, anytime: bool, name: str) -> Horizon:
        """Return the constants for evaluation t; ``anytime`` doubles n (D-B7), else it warns."""
        if t <= self.n:
            return self
        if anytime:
            n = self.n
            while n < t:
                n *= 2
            return replace(self, n=n)
        if not self.past_horizon:
            warn(
                f"the constants of this {name} hold for horizon={self.n} "
                f"evaluations, and this is evaluation {t}: pass the true horizon, or anytime=True",
                BudgetWarning,
            )
        return replace(self, past_horizon=True)
