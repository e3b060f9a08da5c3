"""The suboptimality gap of a recommendation against given rivals.

The recommendation is one of several functionals of f; its rivals are the others. If there are too
many rivals to list, a finite sample represents them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from skgpb.guarantee import DEFAULT_GUARANTEE, Guarantee
from skgpb.optimizers._expected_gain import expected_gain, promising
from skgpb.optimizers._stop import Stop
from skgpb.surrogate.bounded_norm import Widths
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.models import Models
from skgpb.surrogate.suboptimality_gap import SuboptimalityGap

# Format: distinguishes the random stream of a gap from all others of a run.
GAP_STREAM = 0x676170
# Accuracy: best regions of each level that are looked into, and regions from which on a gap looks
# into these alone.
BEAM, MANY_REGIONS = 16, 256


def is_by_intervals(stop: Any) -> bool:
    """Return whether intervals are to say when a run may stop."""
    return isinstance(stop, Stop) and stop.bound == "interval"


class Comparison(ABC):
    """Posterior of the recommendation and of its alternatives at one moment.

    Parameters
    ----------
    gp : GaussianProcess
        The posterior.
    best : ndarray of shape (n_rows, n_columns)
        Descriptor rows of the recommendation.
    widths : callable
        Makes the widths of intervals for every f of bounded norm, as they are then.
    models : callable, default=None
        Makes models other than that of ``gp`` that fit the answers; None if there are none.
    """

    def __init__(
        self,
        gp: GaussianProcess,
        best: np.ndarray,
        widths: Callable[[], Widths],
        models: Callable[[float], Models] | None = None,
    ) -> None:
        self._gp, self._best, self._widths, self._models = gp, best, widths, models

    @abstractmethod
    def blocks(self) -> list[np.ndarray]:
        """Return the functionals of f of the rivals, and last that of the recommendation."""

    def __call__(self) -> SuboptimalityGap:
        """Compute how far the recommendation is below the best."""
        return SuboptimalityGap.of_process(self._gp, self.blocks())

    def by_intervals(self) -> float:
        """Largest upper end of an interval less the lower end of the recommendation's, >= 0."""
        lower, upper = self._widths().ends(self.blocks())
        return max(0.0, float(upper.max() - lower[-1]))

    def gap(self, delta: float, rng: np.random.Generator) -> float:
        """Compute how much better the best may be, with probability 1 - delta."""
        return (self.averaged() or self()).quantile(delta, rng)

    def is_within(
        self, epsilon: float, risks: tuple[float, float], rng: np.random.Generator
    ) -> bool:
        """Return whether the best is better by at most epsilon, see :class:`Stop` for the risks."""
        if self.is_refuted(epsilon, risks[0]) or not self().is_within(epsilon, *risks, rng):
            return False
        averaged = self.averaged(epsilon)
        return averaged is None or averaged.is_within(epsilon, *risks, rng)

    def averaged(self, epsilon: float = 0.0) -> SuboptimalityGap | None:
        """Compute the gap averaged over the models that fit the answers, if there are any.

        If it is to be compared with epsilon > 0, the models take f to vary by more than that.
        """
        models = self.models(epsilon)
        return None if models is None else models.suboptimality_gap(self.blocks())

    def expected_gain(self, noise: float, n: int) -> float:
        """Return by how much the best mean is expected to rise by n answers.

        They have this noise, or that of each model where several were learned.
        """
        blocks = self.blocks()
        chosen = promising(self._gp, blocks, noise, n)
        models = self.models()
        if models is None:
            return expected_gain(self._gp, blocks, noise, chosen)
        noises = np.full(len(models.weights), noise) if models.noises is None else models.noises
        gains = [
            expected_gain(gp, blocks, own, chosen)
            for gp, own in zip(models.processes, noises, strict=True)
        ]
        return float(models.weights @ gains)

    def models(self, epsilon: float = 0.0) -> Models | None:
        """Return the models that fit the answers, if there are any, as :meth:`averaged` does."""
        return None if self._models is None else self._models(epsilon)

    def is_refuted(self, epsilon: float, delta: float) -> bool:
        """Return whether known values already show that the gap may exceed epsilon."""
        return False


class Rivals(Comparison):
    """Finitely many rows against one functional; ``parts`` are those of every comparison."""

    def __init__(self, rows: np.ndarray, *parts: Any) -> None:
        super().__init__(*parts)
        self._rows = rows

    def blocks(self) -> list[np.ndarray]:
        """Return the descriptor rows of the rivals, and last that of the recommendation."""
        return [*(self._rows[i : i + 1] for i in range(len(self._rows))), self._best]


class Refined(Comparison):
    """Regions of a domain and finer ones against one of them."""

    def __init__(self, domain: Any, finest_depth: int, *parts: Any) -> None:
        super().__init__(*parts)
        self._domain, self._finest_depth = domain, finest_depth

    def is_refuted(self, epsilon: float, delta: float) -> bool:
        """Return whether one of the regions of the search itself, which are tracked, shows it."""
        beside = SuboptimalityGap.of_tracked(self._gp, self._best)
        return bool(beside.ahead(epsilon).max(initial=0.0) > delta)

    def blocks(self) -> list[np.ndarray]:
        """Refine all regions until they are many, then those that may be best."""
        regions, finest_depth = self._domain.copy(), self._finest_depth
        front, blocks = regions.front(finest_depth), []
        while front:
            new = [regions.block(each) for each in front]
            blocks += new
            if len(front) >= MANY_REGIONS:
                mean, std = self._gp.moments(new, std=True)
                order = np.argsort(-(mean + 3.0 * std), kind="stable")
                front = [front[i] for i in order[:BEAM]]
            front = regions.finer(front, finest_depth)
        return [*blocks, self._best]


def stream_of_gap(seed: Any, n_told: int) -> np.random.Generator:
    """Random numbers of their own, the same whenever this state is looked at."""
    return np.random.default_rng([seed, n_told, GAP_STREAM])


def check_failures(guarantee: Guarantee | None, delta: float, name: str) -> None:
    """Raise ValueError where intervals fail more often than delta."""
    given = (guarantee or DEFAULT_GUARANTEE).failure_probability
    if given > delta:
        raise ValueError(
            f"intervals fail with guarantee.failure_probability={given!r}, which must be at "
            f"most {name}"
        )
