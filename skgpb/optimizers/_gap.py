"""How far a recommendation may be from the best there is: what each family compares it with.

What is recommended is one of some functionals of f, its rivals are the others. Where these are too
many to list, finitely many stand for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgpb.domains.arms import Arm, BoxCandidates
from skgpb.domains.candidates import spread_points
from skgpb.locks import locked
from skgpb.optimizers._stop import DELTA, Stop, check_share
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.shortfall import Shortfall

# Regions, or points, that stand for all of a box at least, besides those of the search.
N_SPREAD = 256
# Regions that are refined at each level below these, and points of an indirect search.
BEAM, N_POINTS = 16, 256
# Distinguishes the random stream of a gap from all others of a run.
STREAM = 0x676170

#: Computes a shortfall of a state that is kept.
Later = Any


def by_intervals(stop: Any) -> bool:
    """Whether intervals are to say when a run may stop."""
    return isinstance(stop, Stop) and stop.rule == "interval"


class Gaps:
    """``gap`` of what is recommended; NaN unless a family says what its rivals are."""

    # What it needs of the class that it is mixed into.
    _lock: Any
    _history: list[Any]
    _check_informed: Callable[[], None]
    _informed: Any
    recommend: Callable[..., Any]
    failure_probability: float
    _n_fitted: int
    _minimizes: bool
    _ends: Callable[[Any], tuple[np.ndarray, np.ndarray]]

    @property
    def _has_rivals(self) -> bool:
        """Whether what is recommended can be compared with what else could have been."""
        return False

    @locked
    def gap(self, delta: float | None = None, *, rule: str = "draws") -> float:
        """How much better than the recommendation the best may be, as far as is known.

        The best is at most this much better with probability 1 - delta. What it is compared with
        is all that could have been recommended; where these are the regions or the points of a
        box, finitely many stand for all.

        Parameters
        ----------
        delta : float, default=None
            In (0, 1). None stands for 0.05, and for ``failure_probability`` with intervals.
        rule : {"draws", "interval"}, default="draws"
            "draws" takes the posterior, drawn jointly. Hyperparameters count as known: where they
            were learned from few answers the gap is too small, see :ref:`stopping`. "interval" is
            the largest upper end of an interval less the lower end of the recommendation's: a
            bound for every f of norm at most ``B``, at all times at once, with probability
            1 - ``failure_probability``, which must be at most delta.

        Returns
        -------
        gap : float
            In units of the reward, at least 0; NaN where the best depends on a context, and for
            searches without a posterior.

        Warns
        -----
        GuaranteeWarning
            As :meth:`interval` does, where intervals are no guarantee.
        """
        if rule not in ("draws", "interval"):
            raise ValueError(f"rule must be 'draws' or 'interval', got {rule!r}")
        by_interval = rule == "interval"
        if delta is not None:
            delta = check_share(delta, "delta")
            if by_interval and self._has_rivals:
                self._check_failures(delta, f"delta={delta:g}")
        check_is_fitted(self, "bounds_")
        self._check_informed()
        best = self.recommend() if self._has_rivals else None
        return self._gap_later(best, DELTA if delta is None else delta, by_interval)()

    @locked
    def may_stop(self, stop: Stop | Callable[[Any], Any], query: Any = None) -> bool:
        """Whether enough is known to end a loop of your own, as ``stop`` ends that of :meth:`run`.

        Parameters
        ----------
        stop : Stop or callable
            As in :meth:`run`.
        query : query, default=None
            What would be taken as the best, for a Stop; None for what :meth:`recommend` returns.

        Returns
        -------
        enough : bool
            To be asked for after every answer: a :class:`~skgpb.Stop` looks whenever a tenth more
            was told than at the last time, and is not convinced in between.
        """
        self._check_stop(stop)
        return bool(self._informed) and self._stops(stop, query)

    def _check_stop(self, stop: Any) -> None:
        """Raise unless this can be ``stop`` of ``run``."""
        if isinstance(stop, Stop) and not self._has_rivals:
            in_contexts = getattr(self, "context_bounds", None) is not None
            why = ", which depends on the context" if in_contexts else ""
            raise ValueError(
                f"{type(self).__name__} cannot say how far its recommendation is from the best{why}"
                f": stop must be a function of the optimizer or None, got {stop!r}"
            )
        if by_intervals(stop):
            self._check_failures(stop.delta, f"delta={stop.delta:g} of {stop!r}")
        if stop is not None and not isinstance(stop, Stop) and not callable(stop):
            raise TypeError(
                f"stop must be a Stop, a function of the optimizer or None, got {stop!r}"
            )

    def _check_failures(self, delta: float, name: str) -> None:
        """Raise ValueError where intervals fail more often than delta."""
        if self.failure_probability > delta:
            raise ValueError(
                f"intervals fail with failure_probability={self.failure_probability!r}, which "
                f"must be at most {name}"
            )

    def _stops(self: Any, stop: Stop | Callable[[Any], Any], best: Any = None) -> bool:
        """Whether a run may stop now."""
        if not isinstance(stop, Stop):
            return stop(self) is True
        with self._lock:
            n = len(self._history) + self._n_fitted
            risks = stop.risks(n, self._learns, self.n_features_in_)
            if risks is None:
                return False
            later = self._shortfall(self.recommend() if best is None else best)
            if later is None:
                return False
            if by_intervals(stop):
                return self._gap_by_intervals(later) <= stop.epsilon
            if later.is_refuted(stop.epsilon, risks[0]):
                return False
            rng = self._gap_stream()
        return later().is_within(stop.epsilon, *risks, rng)

    def _gap_later(self, best: Any, delta: float, by_intervals: bool = False) -> Gap:
        """Return the gap of the present state, to be computed when it is asked for.

        That by intervals is computed at once: it needs all that they rest on, as it is now.
        """
        later = None if best is None or not self._has_rivals else self._shortfall(best)
        if later is None:
            return Gap(None, delta, None)
        known = self._gap_by_intervals(later) if by_intervals else None
        return Gap(later, delta, self._gap_stream(), known)

    def _gap_by_intervals(self, later: Later) -> float:
        lower, upper = self._ends(later.blocks())
        better = upper[-1] - lower.min() if self._minimizes else upper.max() - lower[-1]
        return max(0.0, float(better))

    def _shortfall(self, best: Any) -> Later | None:
        """How far the recommendation is below the best, as is known now; None if no one can say.

        What is returned is independent of what is told from now on.
        """
        return None

    def _gap_stream(self: Any) -> np.random.Generator:
        """Random numbers of their own, the same whenever this state is looked at."""
        return np.random.default_rng([self._seed, len(self._history), STREAM])


class GapOfArms(Gaps):
    """Arms against each other; in a box the candidates and points that fill it."""

    # What it needs of the class that it is mixed into.
    domain_: Any
    _gp: GaussianProcess
    _rows_of: Callable[[np.ndarray], np.ndarray]

    @property
    def _has_rivals(self) -> bool:
        return getattr(self, "context_bounds", None) is None

    def _shortfall(self, best: Any) -> Later:
        return Rivals(self._gp.copy(), self._rival_rows(), self._block_of_best(best))

    def _block_of_best(self, best: Any) -> np.ndarray:
        """Rows of what is recommended, an arm or a region."""
        return self.domain_.block_of(best) if isinstance(best, Arm) else self._rows_of(best.points)

    def _rival_rows(self) -> np.ndarray:
        arms = self.domain_
        if not (isinstance(arms, BoxCandidates) and arms.adaptive):
            return arms.rows.copy()
        points = spread_points(arms.bounds, N_SPREAD, np.full(len(arms.bounds), 0.5))
        if arms.space is not None:
            points = arms.space.snapped(points)
        return np.concatenate([arms.rows, arms.rows_of(points)])


class GapOfTargets(GapOfArms):
    """Targets against each other."""

    targets_: Any

    def _rival_rows(self) -> np.ndarray:
        return self.targets_.rows.copy()


class GapOfRegions(Gaps):
    """Regions as fine as may be recommended: so many that fill the box, and finer ones."""

    @property
    def _has_rivals(self) -> bool:
        return True

    # What it needs of the class that it is mixed into.
    domain_: Any
    _gp: GaussianProcess
    _block: Callable[[Any], np.ndarray]

    def _shortfall(self: Any, best: Any) -> Later:
        return Refined(self._gp.copy(), self.domain_.copy(), self._finest, self._block(best))


class GapOfPoints(Gaps):
    """Points at which f is largest, against those of the largest upper bounds."""

    @property
    def _has_rivals(self) -> bool:
        return True

    # What it needs of the class that it is mixed into.
    surrogate_: Any
    _functionals_at: Callable[[np.ndarray], np.ndarray]

    def _shortfall(self, best: Any) -> Later:
        mean, std = self.surrogate_.predict_tracked(return_std=True)
        some = np.argsort(-(mean + 3.0 * std), kind="stable")[:N_POINTS]
        points = np.concatenate([self.surrogate_.X_tracked_[some], np.atleast_2d(best)])
        mean, cov = self.surrogate_.predict(points, return_cov=True)
        return AtPoints(mean, cov, self._functionals_at(points))


class Gap:
    """A gap that is computed when it is called."""

    def __init__(
        self,
        later: Later | None,
        delta: float,
        rng: np.random.Generator | None,
        known: float | None = None,
    ) -> None:
        self._later, self._delta, self._rng, self._known = later, delta, rng, known

    def __call__(self) -> float:
        """Compute it, NaN where nobody can say."""
        if self._known is not None:
            return self._known
        if self._later is None or self._rng is None:
            return float("nan")
        return self._later().quantile(self._delta, self._rng)


class Rivals:
    """Finitely many rows against one functional."""

    def __init__(self, gp: GaussianProcess, rows: np.ndarray, best: np.ndarray) -> None:
        self._gp, self._rows, self._best = gp, rows, best

    def blocks(self) -> list[np.ndarray]:
        """Descriptor rows of the rivals, and last of what is recommended."""
        return [*(self._rows[i : i + 1] for i in range(len(self._rows))), self._best]

    def is_refuted(self, epsilon: float, delta: float) -> bool:
        """Whether a part that is known already shows that the best may be further than epsilon."""
        return False

    def __call__(self) -> Shortfall:
        """Compute it."""
        return Shortfall.of_process(self._gp, self.blocks())


class AtPoints:
    """Points against the last of them, of which the moments are known."""

    def __init__(self, mean: np.ndarray, cov: np.ndarray, functionals: Any) -> None:
        self._mean, self._cov, self._functionals = mean, cov, functionals

    def blocks(self) -> Any:
        """Return functionals of f, the last what is recommended."""
        return self._functionals

    def is_refuted(self, epsilon: float, delta: float) -> bool:
        """Return False: there is no part of it that is cheaper than the whole."""
        return False

    def __call__(self) -> Shortfall:
        """Compute it."""
        return Shortfall.of_moments(self._mean, self._cov)


class Refined(Rivals):
    """Regions of a domain and finer ones against one of them."""

    def __init__(self, gp: GaussianProcess, domain: Any, finest: int, best: np.ndarray) -> None:
        self._gp, self._domain, self._finest, self._best = gp, domain, finest, best

    def is_refuted(self, epsilon: float, delta: float) -> bool:
        """Whether one of the regions of the search itself, which are tracked, shows it."""
        beside = Shortfall.of_tracked(self._gp, self._best)
        return bool(beside.ahead(epsilon).max(initial=0.0) > delta)

    def blocks(self) -> list[np.ndarray]:
        """Refine all regions until they are many, then those that may be best."""
        regions, finest = self._domain.copy(), self._finest
        front, blocks = regions.front(finest), []
        while front:
            new = [regions.block(each) for each in front]
            blocks += new
            if len(front) >= N_SPREAD:
                mean, std = self._gp.moments(new, std=True)
                order = np.argsort(-(mean + 3.0 * std), kind="stable")
                front = [front[i] for i in order[:BEAM]]
            front = regions.finer(front, finest)
        return [*blocks, self._best]
