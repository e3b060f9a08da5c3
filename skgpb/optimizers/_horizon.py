"""A horizon: the number of evaluations that the constants of an algorithm are meant for."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

from skgpb.exceptions import BudgetWarning
from skgpb.utils import Integral, Interval


class Horizon:
    """Parameters ``horizon`` and ``anytime``, and the present n in ``horizon_``.

    The class it is mixed into renews in ``_set_horizon`` what depends on n.
    """

    _parameter_constraints: dict[str, Any] = {
        "horizon": [Interval(Integral, 1, None, closed="left")],
        "anytime": ["boolean"],
    }

    # What it needs of the class that it is mixed into.
    horizon: int
    anytime: bool

    def _begin_horizon(self) -> None:
        self.horizon_: int = int(self.horizon)
        self._overdrawn = False

    @abstractmethod
    def _set_horizon(self) -> None:
        """Renew what depends on ``horizon_``."""

    def _follow_horizon(self, t: int) -> None:
        """Double n until evaluation t is within the horizon (decision D-B7), or warn."""
        if t <= self.horizon_:
            return
        if self.anytime:
            while self.horizon_ < t:
                self.horizon_ *= 2
            self._set_horizon()
        elif not self._overdrawn:
            self._overdrawn = True
            warnings.warn(
                f"the constants of this {type(self).__name__} hold for horizon={self.horizon_} "
                f"evaluations, and this is evaluation {t}: pass the true horizon, or anytime=True",
                BudgetWarning,
                stacklevel=4,
            )
