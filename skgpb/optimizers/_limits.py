"""Limits on other measured outcomes: their models, and how probable it is that all limits hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from math import inf, isfinite
from typing import Any, Self

import numpy as np
from scipy.special import ndtr

from skgpb import defaults
from skgpb._core._ties import argmax_first
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.utils import Real, check_reward

#: Descriptor rows, or blocks of them, as a process takes them.
Blocks = np.ndarray | list[np.ndarray]
# Rounding: no probability is taken for smaller: variances stay above 0.
LEAST_PROBABILITY = 1e-9


def checked_limits(limits: Any) -> dict[str, tuple[float, float]]:
    """Return limits by the names of the outcomes, open ends being infinite, or raise ValueError."""
    if not (limits is None or isinstance(limits, Mapping)):
        raise ValueError(f"limits must be a dict of pairs (low, high) or None, got {limits!r}")
    out = {}
    for name, ends in (limits or {}).items():
        pair = tuple(ends) if isinstance(ends, Sequence) and not isinstance(ends, str) else ()
        known = [end for end in pair if end is not None]
        fine = isinstance(name, str) and len(pair) == 2 and len(known) > 0
        if fine := fine and all(map(_is_finite, known)):
            low, high = -inf if pair[0] is None else pair[0], inf if pair[1] is None else pair[1]
        if not (fine and low < high):
            raise ValueError(
                "limits must have a pair (low, high) for each name, None for an end that is open; "
                f"got {name!r}: {ends!r}"
            )
        out[name] = float(low), float(high)
    return out


class Measured(float):
    """A reward, what else was measured, and the block of the answer; a float otherwise.

    It is what ``tell(query, reward, outcomes=..., block=...)`` stands for. The pair that an
    objective returns to ``run`` has no block.

    Parameters
    ----------
    reward : float
        The reward.
    outcomes : dict or None
        Numbers by their names; None for what was not measured.
    block : str, default=None
        Name of the block.

    Examples
    --------
    >>> from skgpb.optimizers._limits import Measured
    >>> Measured(2.5, {"temperature": 71.0})
    Measured(2.5, {'temperature': 71.0}, None)
    """

    outcomes: dict[str, Any] | None
    block: str | None

    def __new__(cls, reward: Any, outcomes: Any, block: Any = None) -> Self:
        """Check the outcomes and the block."""
        if reward is None:
            raise ValueError(
                "an evaluation that failed has no outcomes and no block, got reward=None, "
                f"outcomes={outcomes!r} and block={block!r}"
            )
        if not (block is None or (isinstance(block, str) and block)):
            raise ValueError(f"block must be a name that is not empty, or None, got {block!r}")
        measured = super().__new__(cls, check_reward(reward))
        measured.outcomes = None if outcomes is None else checked_outcomes(outcomes)
        measured.block = block
        return measured

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.outcomes, self.block)

    def __repr__(self) -> str:
        return f"Measured({float(self)!r}, {self.outcomes!r}, {self.block!r})"


def checked_outcomes(outcomes: Any) -> dict[str, Any]:
    """Return outcomes as floats, or raise ValueError; None stands for missing."""
    if not isinstance(outcomes, Mapping):
        raise ValueError(f"outcomes must be a dict of numbers by their names, got {outcomes!r}")
    out = {}
    for name, value in outcomes.items():
        if not isinstance(name, str) or not (value is None or _is_finite(value)):
            raise ValueError(
                f"outcomes must be finite numbers by their names, or None; got {name!r}: {value!r}"
            )
        out[name] = None if value is None else float(value)
    return out


def check_spelling(outcomes: Mapping[str, Any], limits: Mapping[str, Any] | None) -> None:
    """Raise ValueError where an outcome that has a limit seems to be told under another name."""
    missing = [name for name in limits or () if name not in outcomes]
    others = {name.strip().casefold(): name for name in outcomes if name not in (limits or ())}
    for name in missing:
        if alike := get_close_matches(name.strip().casefold(), others, 1):
            raise ValueError(
                f"outcomes has {others[alike[0]]!r}, which has no limit, and not {name!r}, which "
                f"has one: write {name!r}, or tell {name!r}: None as well if it was not measured"
            )


class OutcomeConstraints:
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
        return np.maximum(self.hold(rows), LEAST_PROBABILITY)

    def hopeless(self, rows: np.ndarray) -> np.ndarray:
        """Return which rows hardly keep all limits while others may, shape (n,)."""
        hold = self.hold(rows)
        return hold < min(defaults.HOPELESS_OF_LIMITS, 0.5 * hold.max(initial=0.0))

    def possible(self, rows: Blocks) -> np.ndarray:
        """Return which rows may be recommended, shape (n,)."""
        return self.hold(rows) >= defaults.SURE

    def nearest(self, rows: np.ndarray) -> int:
        """Return the number of the row at which all limits most probably hold.

        Where that is beyond the smallest numbers, it is the one least beyond the limits.
        """
        hold = self.hold(rows)
        if hold.any():
            return argmax_first(hold)
        beyond = np.zeros(len(rows))
        for low, high, process in self._limits:
            mean = process.moments(rows)
            beyond += np.maximum(np.maximum(low - mean, mean - high), 0.0) / process.scale
        return argmax_first(-beyond)

    def base(self, known: GaussianProcess) -> float | None:
        """Return the largest mean of an answered query that keeps all limits; None for none.

        It is in units of the process.
        """
        observed, means = known.observed, known.means_of_f()
        kept = means[self.possible([*observed])]
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


def _is_finite(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
