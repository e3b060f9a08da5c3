"""How GP-UCB explores where beta is not given: our own schedules (decision D-D9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from skgpb import defaults
from skgpb.acquisition.ucb import scheduled_beta
from skgpb.domains.arms import ArmSet
from skgpb.optimizers.round import MOST_ARMS_IN_FULL, Round
from skgpb.surrogate.model import Model

# Limit: values of beta, each twice the one before, until one asks for something unknown.
MOST_DOUBLINGS = 40
# Rounding: share of each side by which two settings that are one may differ (D-H40).
SAME_SETTING = 1e-6


@dataclass(frozen=True)
class Exploration:
    """The schedule of beta, and the rounds in which no upper bound chooses.

    Parameters
    ----------
    regret : {"cumulative", "simple"}
        The regret that is to be small.
    horizon : int or None
        Number of answers, if it is known.
    is_learned : bool
        Whether the kernel is learned.
    queries, targets : ArmSet
        The two sets; the same object twice where arms are pulled.
    asked : callable
        Returns the rows of all queries, pending ones included.
    model : Model
        It knows whether answers have noise.
    """

    regret: Literal["cumulative", "simple"]
    horizon: int | None
    is_learned: bool
    queries: ArmSet
    targets: ArmSet
    asked: Callable[[], np.ndarray]
    model: Model

    def beta(self, round: Round) -> float:
        """Return beta_t."""
        beta, arms = scheduled_beta(round.t, self.regret, self.horizon), self.queries
        if not self.is_learned:
            return beta
        many, at_the_end = arms.layout.n_sides >= defaults.MANY_SIDES, self.horizon is None
        # Of settings some are whole numbers or of a list.
        if arms.space_of_all is not None and arms.space_of_all.discrete:
            beta *= defaults.SETTINGS_BETA_FACTOR
        elif self.regret == "simple" and at_the_end and arms.is_discretization and many:
            beta *= defaults.MANY_SIDES_BETA_FACTOR
        past_known = self.regret == "simple" and arms.is_discretization
        return self._beta_past_known(beta, round) if past_known else beta

    def _beta_past_known(self, beta: float, round: Round) -> float:
        """Return beta, doubled until the arm of the largest bound is none whose value is known.

        Where answers are exact, the arm of the best one would be pulled in all remaining rounds.
        A pending query counts as answered, as in the posterior.
        """
        mean, std, arms, asked = round.mean, round.std, self.queries.rows, self.asked()
        known = std < defaults.NEGLIGIBLE * np.ptp(mean)
        near = SAME_SETTING * np.ptp(arms, axis=0)
        for wider in beta * 2.0 ** np.arange(MOST_DOUBLINGS):
            best = np.argmax(mean + sqrt(wider) * std)
            if not (known[best] and (np.abs(asked - arms[best]) <= near).all(axis=1).any()):
                return float(wider)
        return beta

    def follows_other_rule(self, round: Round) -> bool:
        """Return whether no upper bound chooses, where the simple regret is to be small."""
        return self._seeks_gain(round) or self._distances_from_asked(round) is not None

    def other_scores(self, round: Round) -> np.ndarray | None:
        """Return the logarithms of what arms are worth by another rule; None for upper bounds.

        It is the knowledge gradient in the last rounds before the horizon, and the distance from
        all other queries in some rounds. Both are for a small simple regret.
        """
        if self._seeks_gain(round):
            return round.log_knowledge_gradient()
        distances = self._distances_from_asked(round)
        # Logarithms, as those of the knowledge gradient: of a repeat it is not -inf.
        return None if distances is None else np.log(np.maximum(distances, SAME_SETTING))

    def _seeks_gain(self, round: Round) -> bool:
        """Return whether the knowledge gradient chooses."""
        if self.horizon is None:
            return False
        last = self.horizon * (1.0 - defaults.KNOWLEDGE_GRADIENT_SHARE) < round.t <= self.horizon
        return last and round.n_targets <= MOST_ARMS_IN_FULL

    def _distances_from_asked(self, round: Round) -> np.ndarray | None:
        """Return distances from all queries, in lengths of sides; None where they do not count."""
        if not self.is_learned:
            return None
        layout, arms = self.queries.layout, self.queries.rows
        period = defaults.EXPLORATION_PERIOD.get(layout.n_sides)
        if period is None or layout.n_context or round.t == 1 or (round.t - 1) % period:
            return None
        box = self.queries is self.targets and self.queries.is_discretization
        if not box or self.model.diagnosis.noise != "some":
            return None
        side = np.ptp(arms, axis=0)
        side[side == 0.0] = 1.0
        distances = cdist(arms / side, self.asked() / side).min(axis=1, initial=inf)
        return distances if distances.max() > SAME_SETTING else None
