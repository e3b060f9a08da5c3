"""When a model is learned, and when it is compared with its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from skgpb.surrogate.likelihood import next_refit


@dataclass
class Schedule:
    """Numbers of answers at the next refit of a model, and at its next comparison with them.

    Attributes
    ----------
    relearn : "growing", "doubling", int or None
        See :func:`~skgpb.surrogate.likelihood.next_refit`; None for no refits.
    first : int
        Number of answers at the first refit, at least.
    learned_at : int
        Number of answers at the latest refit; 0 before the first.
    learning_due, check_due : float
        Numbers of answers from which on a refit, and a comparison, are due.
    n_checks : int
        Number of comparisons so far.
    """

    relearn: str | int | None = None
    first: int = 1
    learned_at: int = 0
    learning_due: float = inf
    check_due: float = inf
    n_checks: int = 0

    _kept_fields = ("learned_at", "learning_due", "check_due", "n_checks")

    @classmethod
    def of(cls, relearn: str | int | None, first: int, check_due: float = inf) -> Schedule:
        """Return the schedule of a model without answers."""
        return cls(relearn, first, 0, next_refit(relearn, 0, first), check_due)

    def following(self, relearn: str | int | None, first: int) -> Schedule:
        """Return a copy with other rules of refits."""
        due = next_refit(relearn, self.learned_at, first)
        return replace(self, relearn=relearn, first=first, learning_due=due)

    def record_refit(self, n: int) -> None:
        """Record a refit to n answers, even if it failed."""
        self.learned_at, self.learning_due = n, next_refit(self.relearn, n, self.first)

    def request_refit(self) -> None:
        """Make a refit due at the next answer."""
        self.learning_due = min(self.learning_due, self.learned_at + 1)

    def compares(self, n: int) -> bool:
        """Return whether a comparison is due at n answers; schedule the next one."""
        if self.learned_at < n < self.learning_due < inf:
            # The refit comes first: the present hyperparameters are those of fewer answers.
            self.check_due = self.learning_due
            return False
        self.n_checks += 1
        self.check_due = next_refit("doubling", n)
        if self.learning_due < inf:
            self.check_due = max(self.check_due, self.learning_due)
        return True
