"""Limits on other measured outcomes: their models, and how probable it is that all limits hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
from scipy.special import ndtr

from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.utils import Real

#: Descriptor rows, or blocks of them, as a process takes them.
Blocks = np.ndarray | list[np.ndarray]
# What is recommended keeps all limits with this probability, as far as anything does.
SURE = 0.95
# Nothing is asked that keeps them with less, while others are left; no probability is taken for
# smaller than LEAST: variances stay above 0.
HOPELESS, LEAST = 0.05, 1e-9


def checked_limits(limits: Any) -> dict[str, tuple[float, float]]:
    """Return limits by the names of the outcomes, open ends being infinite, or raise ValueError."""
    if not (limits is None or isinstance(limits, Mapping)):
        raise ValueError(f"limits must be a dict of pairs (low, high) or None, got {limits!r}")
    out = {}
    for name, ends in (limits or {}).items():
        pair = tuple(ends) if isinstance(ends, Sequence) and not isinstance(ends, str) else ()
        known = [end for end in pair if end is not None]
        numbers = all(isinstance(end, Real) and np.isfinite(end) for end in known)
        low, high = (*pair, None, None)[:2]
        low, high = -inf if low is None else low, inf if high is None else high
        if not (isinstance(name, str) and len(pair) == 2 and known and numbers and low < high):
            raise ValueError(
                "limits must have a pair (low, high) for each name, None for an end that is open; "
                f"got {name!r}: {ends!r}"
            )
        out[name] = float(low), float(high)
    return out


class Limits:
    """Limits with the posteriors of what they limit.

    Parameters
    ----------
    limits : list of tuples
        The low and the high end, and the posterior, of each outcome.
    """

    def __init__(self, limits: list[tuple[float, float, GaussianProcess]]) -> None:
        self._limits = limits

    def hold(self, blocks: Blocks) -> np.ndarray:
        """Return the probability that all limits hold at each of some functionals, shape (n,)."""
        out = np.ones(len(blocks))
        for low, high, process in self._limits:
            out *= probability_between(low, high, *process.moments(blocks, std=True))
        return out

    def of(self, rows: Blocks) -> np.ndarray:
        """Return the weight of each row, shape (n,)."""
        return np.maximum(self.hold(rows), LEAST)

    def hopeless(self, rows: np.ndarray) -> np.ndarray:
        """Return which rows hardly keep all limits while others may, shape (n,)."""
        hold = self.hold(rows)
        return hold < min(HOPELESS, 0.5 * hold.max(initial=0.0))

    def possible(self, rows: Blocks) -> np.ndarray:
        """Return which rows may be recommended, shape (n,)."""
        return self.hold(rows) >= SURE

    def base(self, known: GaussianProcess) -> float | None:
        """Return the largest mean of an answered query that keeps all limits; None for none.

        It is in units of the process.
        """
        posterior, observed = known.posterior, known.observed
        means = posterior.targets() - posterior.noises() * posterior.weights()
        kept = means[self.possible([observed[i] for i in range(len(observed))])]
        return float(kept.max()) if len(kept) else None


def probability_between(low: float, high: float, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Return the probability that normal variables lie between two limits, ends included.

    Examples
    --------
    >>> import numpy as np
    >>> from math import inf
    >>> mean, std = np.array([80.0, 80.0, 81.0]), np.array([0.0, 2.0, 0.0])
    >>> probability_between(-inf, 80.0, mean, std)
    array([1. , 0.5, 0. ])
    """
    out = np.full(len(mean), -1.0)
    for room in (mean - low, high - mean):
        known = np.where(room >= 0.0, inf, -inf)
        out += ndtr(np.divide(room, std, out=known, where=std > 0.0))
    return np.maximum(out, 0.0)
