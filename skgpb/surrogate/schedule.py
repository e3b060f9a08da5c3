"""When a model is learned, and when it is compared with its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from skgpb.surrogate.likelihood import next_learning


@dataclass
class Schedule:
    """Numbers of answers at which a model is learned next, and compared with its answers.

    Attributes
    ----------
    relearn : "growing", "doubling", int or None
        As :func:`~skgpb.surrogate.likelihood.next_learning` takes it; None for never.
    first : int
        Fewest answers that are learned from.
    learned_at : int
        Number of answers at the last time, at first 0.
    learning_due, check_due : float
        Numbers of answers from which on it is due.
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
        """Return the schedule of a model that knows nothing yet."""
        return cls(relearn, first, 0, next_learning(relearn, 0, first), check_due)

    def following(self, relearn: str | int | None, first: int) -> Schedule:
        """Return the same with other times of learning from now on."""
        due = next_learning(relearn, self.learned_at, first)
        return replace(self, relearn=relearn, first=first, learning_due=due)

    def learned(self, n: int) -> None:
        """Note that n answers were learned from, or that learning from them failed."""
        self.learned_at, self.learning_due = n, next_learning(self.relearn, n, self.first)

    def learn_soon(self) -> None:
        """Let the next answer be learned from."""
        self.learning_due = min(self.learning_due, self.learned_at + 1)

    def compares(self, n: int) -> bool:
        """Note when n answers are compared with the model next; return whether they are now."""
        if self.learned_at < n < self.learning_due < inf:
            # Hyperparameters learned from fewer answers are no longer believed.
            self.check_due = self.learning_due
            return False
        self.n_checks += 1
        self.check_due = next_learning("doubling", n)
        if self.learning_due < inf:
            self.check_due = max(self.check_due, self.learning_due)
        return True
