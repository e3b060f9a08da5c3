"""What failures and limits mean for the next query and for the recommendation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb.kernels._settings import OnSettings
from skgpb.optimizers._limits import OutcomeConstraints
from skgpb.optimizers.round import QueryTargetPosterior, Round
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.success import SuccessModel, learned_success

# Rounding: no chance is taken for smaller: variances stay above 0.
LEAST_PROBABILITY = 1e-3
# Speed: last outcomes that are looked at (D-H65).
MOST_OUTCOMES = 400


def stand_in(rewards: np.ndarray) -> float:
    """Return what is told of a failure to a search that does not learn where evaluations fail.

    It is worse than all rewards so far, by their standard deviation, even if they are all equal.
    """
    return float(rewards.min() - max(rewards.std(), defaults.SCORE_FAILURE * np.abs(rewards).max()))


class Chances:
    """Chances of success of rows of descriptors, in one round.

    Parameters
    ----------
    asked : ndarray of shape (n, n_columns)
        A row for each answer and each failure.
    succeeded : ndarray of shape (n,)
        1 for an answer and 0 for a failure.
    domain : ndarray of shape (m, n_columns)
        Rows of the domain, by which columns are scaled.
    kernel : Kernel, default=None
        The kernel of f, which knows what distinguishes settings. None if rows say it themselves.
    """

    def __init__(
        self,
        asked: np.ndarray,
        succeeded: np.ndarray,
        domain: np.ndarray,
        kernel: Kernel | None = None,
    ) -> None:
        self._columns = kernel.columns if isinstance(kernel, OnSettings) else None
        every = self._distinguished(np.concatenate([asked, domain]))
        self._lower, unit = every.min(axis=0), np.ptp(every, axis=0)
        self._unit = np.where(unit > 0.0, unit, 1.0)
        scaled = self._scaled(asked[-MOST_OUTCOMES:])
        self._model: SuccessModel | None = learned_success(scaled, succeeded[-MOST_OUTCOMES:])
        self._lately = 1.0 - float(succeeded[-defaults.LATELY :].mean())
        self._likely = min(defaults.SURE, defaults.LIKELY + 0.5 * self._lately)
        never = np.unique(asked[succeeded == 0.0], axis=0)
        #: Rows that were answered, and rows that have failed and were never answered.
        self.answered = {row.tobytes() for row in asked[succeeded > 0.0] + 0.0}
        self.always_failed = {row.tobytes() for row in never + 0.0} - self.answered

    @property
    def known(self) -> bool:
        """Whether it depends on the query if an evaluation fails."""
        return self._model is not None

    def _distinguished(self, rows: np.ndarray) -> np.ndarray:
        return rows if self._columns is None else self._columns(rows)

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        return (self._distinguished(rows) - self._lower) / self._unit

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the chance of each row as a share of what is as good as certain, (n,)."""
        if self._model is None:
            return np.ones(len(rows))
        return np.clip(
            self._model.chance(self._scaled(rows)) / self._likely, LEAST_PROBABILITY, 1.0
        )

    def hopeless(self, rows: np.ndarray) -> np.ndarray:
        """Return which rows hardly ever have an answer, shape (n,)."""
        if self._model is None:
            return np.zeros(len(rows), dtype=bool)
        return self._model.chance(self._scaled(rows)) < defaults.HOPELESS * self._model.rate

    def unlikely(self, rows: np.ndarray) -> np.ndarray:
        """Return which rows are less likely to have an answer than they should be, shape (n,).

        As long as evaluations succeed, that is less than their rate. The more of the last ones
        failed, the surer a row has to be.
        """
        if self._model is None:
            return np.zeros(len(rows), dtype=bool)
        least = (1.0 - self._lately) * self._model.rate + self._lately * self._likely
        return self._model.chance(self._scaled(rows)) < least

    def possible(self, rows: np.ndarray) -> np.ndarray:
        """Return which rows may be recommended, shape (n,): those that are as good as certain.

        None of them has failed without ever being answered.
        """
        if self._model is None:
            return ~self.among(self.always_failed, rows)
        sure = self._model.chance(self._scaled(rows)) >= defaults.SURE
        return (sure & ~self.among(self.always_failed, rows)) | self.among(self.answered, rows)

    @staticmethod
    def among(keys: set[bytes], rows: np.ndarray) -> np.ndarray:
        """Return which rows are among ``always_failed`` or ``answered``, shape (n,)."""
        return np.array([row.tobytes() in keys for row in rows + 0.0], dtype=bool)


class WeighedPosterior(QueryTargetPosterior):
    """Posterior of what queries are worth of which some may be of no use.

    The worth of a query is f(x) as far as it is likely to be of use, and otherwise a base:
    base + p (f - base). This is linear in f, so that all covariances follow.

    Parameters
    ----------
    known : QueryTargetPosterior
        The posterior of f.
    of_queries, of_targets : ndarray
        Probabilities p of each.
    base : float
        Worth of what is of no use, in units of the process.
    incumbent : float or None
        As for :class:`QueryTargetPosterior`.
    """

    def __init__(
        self,
        known: QueryTargetPosterior,
        of_queries: np.ndarray,
        of_targets: np.ndarray,
        base: float,
        incumbent: float | None,
    ) -> None:
        self._known, self._of_queries, self._of_targets = known, of_queries, of_targets
        self._base, self.incumbent = base, incumbent
        super().__init__(
            (known.offset, known.scale),
            (self._weighed(known.query_mean, of_queries), known.query_var * of_queries**2),
            (self._weighed(known.target_mean, of_targets), known.target_var * of_targets**2),
        )

    def _weighed(self, values: np.ndarray, chances: np.ndarray) -> np.ndarray:
        return self._base + chances * (values - self._base)

    def covariance(self) -> np.ndarray:
        """Posterior covariances of queries and targets."""
        return self._of_queries[:, np.newaxis] * self._known.covariance() * self._of_targets

    def target_covariance(self, number: int) -> np.ndarray:
        """Posterior covariances of one target with all."""
        p = self._of_targets
        return p[number] * self._known.target_covariance(number) * p

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Joint draws of the targets."""
        return self._weighed(self._known.draws(n_draws, rng), self._of_targets)

    def query_draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Joint draws of what the queries observe."""
        return self._weighed(self._known.query_draws(n_draws, rng), self._of_queries)

    def reduction(self, noise: np.ndarray, weights: np.ndarray, covariance: str) -> np.ndarray:
        """Weighted fall of the deviations of all targets by an answer to each row."""
        p = self._of_queries
        return p * self._known.reduction(noise / p**2, weights * self._of_targets, covariance)


def with_limits(
    round: Round,
    limits: OutcomeConstraints,
    rows: tuple[np.ndarray, np.ndarray],
    known: GaussianProcess,
) -> Round:
    """Return a round in which queries and targets are worth less where limits may not hold.

    An improvement upon the best answered query that keeps all limits counts as far as it is
    probable that they hold. While none is known to keep them, the base is the worst answer.

    Parameters
    ----------
    round : Round
        The posterior of f.
    limits : OutcomeConstraints
        How probable it is that limits hold.
    rows : pair of ndarrays
        Descriptors of queries and of targets.
    known : GaussianProcess
        The posterior of f without pending queries.
    """
    best = limits.base(known)
    base = worst_answer(known) if best is None else best
    return _weighed(round, limits.of, rows, base, base)[0]


def with_failures(
    round: Round, chances: Chances, rows: tuple[np.ndarray, np.ndarray], gp: GaussianProcess
) -> Round:
    """Return a round in which queries and targets are worth less where evaluations fail.

    Parameters
    ----------
    round : Round
        The posterior of f.
    chances : Chances
        Where evaluations fail.
    rows : pair of ndarrays
        Descriptors of queries and of targets.
    gp : GaussianProcess
        The posterior of f, which knows the worst answer so far.
    """
    low = worst_answer(gp)
    out, of_queries = _weighed(round, chances.of, rows, low, round.known.incumbent)
    # On average an answer takes 1 / p evaluations.
    out.cost = out.cost / of_queries
    return out


def worst_answer(known: GaussianProcess) -> float:
    """Return the worst answer so far, in units of the process."""
    return float(known.posterior.targets().min())


def _weighed(
    round: Round,
    of: Callable[[np.ndarray], np.ndarray],
    rows: tuple[np.ndarray, np.ndarray],
    base: float,
    incumbent: float | None,
) -> tuple[Round, np.ndarray]:
    """Return a round with the worth of queries and targets, and the weights of queries."""
    first = of(rows[0])
    second = first if rows[1] is rows[0] else of(rows[1])
    known = WeighedPosterior(round.known, first, second, base, incumbent)
    return round.replaced(known, round.query_noise * first**2, round.cost), first
