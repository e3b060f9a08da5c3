"""What a search has found out: how much better a group is, how sure that is, what matters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from skgpb.cli.features import FeatureSpace
from skgpb.cli.region import QUANTILE_95, Region
from skgpb.domains import Cell
from skgpb.inspection import feature_effects

# Draws of the averages of all groups; a probability is known to about one percent.
DRAWS = 4000
# Beyond, an average is said to be told from noise or from chance.
SURE = 0.975
# Groups drawn at random have a smaller average than this, all of them together.
CHANCE = 0.05


@dataclass(frozen=True)
class Conclusion:
    """What the posterior says of the recommended group beside others.

    Attributes
    ----------
    gain, gain_std : float
        By how much its average is better than that of the whole table, in units of the column and
        positive where it is better; both 0 where the whole table is recommended.
    sure_of_gain : float
        Probability that it is better at all.
    sure_of_best : float
        Probability that none of the other groups asked for is better.
    runner_up : Cell or None
        The best of the groups asked for that have no row in common with it.
    runner_up_mean : float
        Its posterior mean.
    runner_up_better : float
        Probability that it is the better one.
    effects : dict
        Of each feature, the most important first, by how much the column varies with it alone.
    """

    gain: float
    gain_std: float
    sure_of_gain: float
    sure_of_best: float
    runner_up: Cell | None
    runner_up_mean: float
    runner_up_better: float
    effects: dict[str, float]

    @property
    def gain_interval(self) -> tuple[float, float]:
        """Interval of 95 % for the gain."""
        return self.gain - QUANTILE_95 * self.gain_std, self.gain + QUANTILE_95 * self.gain_std

    @property
    def told_from_noise(self) -> bool:
        """Whether the noise of the answers cannot be all that there is."""
        return self.sure_of_gain > SURE


def conclude(region: Region, space: FeatureSpace) -> Conclusion:
    """Compare the recommended group with the whole table and with the other groups asked for."""
    sign = -1.0 if region.optimizer.direction == "minimize" else 1.0
    others = [
        group
        for _, group in sorted(region.oracle.asked.items())
        if (group.depth, group.index) != (region.group.depth, region.group.index)
    ]
    root = region.optimizer.domain_.cell_at(0, 0)
    mean, cov = _joint(region, [region.group, root, *others])
    contrast = np.zeros(len(mean))
    contrast[0] += 1.0
    contrast[1] -= 1.0
    gain, gain_std = _moments(sign * contrast, mean, cov)
    if region.group.depth == 0:
        gain = gain_std = 0.0
    apart = [i for i, group in enumerate(others) if _apart(group, region.group)]
    best = max(apart, key=lambda i: sign * mean[2 + i], default=None)
    better = 0.0
    if best is not None:
        contrast = np.zeros(len(mean))
        contrast[[0, 2 + best]] = -1.0, 1.0
        better = _above_zero(*_moments(sign * contrast, mean, cov))
    rng = np.random.default_rng(0)
    # Rounding leaves eigenvalues just below zero where groups are known to be alike.
    options: dict[str, Any] = {"check_valid": "ignore", "method": "eigh"}
    draws = sign * rng.multivariate_normal(mean, cov, size=DRAWS, **options)
    return Conclusion(
        gain=gain,
        gain_std=gain_std,
        sure_of_gain=_above_zero(gain, gain_std),
        sure_of_best=float((draws[:, :1] >= draws[:, 1:]).all(axis=1).mean()),
        runner_up=None if best is None else others[best],
        runner_up_mean=math.nan if best is None else float(mean[2 + best]),
        runner_up_better=better,
        effects=_effects(region, space),
    )


def _joint(region: Region, groups: Sequence[Cell]) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean and covariance of the averages over some groups."""
    sizes = [len(group.points) for group in groups]
    mean, cov = region.optimizer.predict(
        np.vstack([group.points for group in groups]), return_cov=True
    )
    starts = np.cumsum([0, *sizes[:-1]])
    average = np.add.reduceat(np.add.reduceat(cov, starts, axis=0), starts, axis=1)
    return np.add.reduceat(mean, starts) / sizes, average / np.outer(sizes, sizes)


def _moments(weights: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> tuple[float, float]:
    return float(weights @ mean), math.sqrt(max(float(weights @ cov @ weights), 0.0))


def _above_zero(mean: float, std: float) -> float:
    if std == 0.0:
        return float(mean > 0.0)
    return float(norm.cdf(mean / std))


def _apart(group: Cell, other: Cell) -> bool:
    """Whether neither of two groups is part of the other."""
    deep, high = (group, other) if group.depth > other.depth else (other, group)
    return deep.index >> (deep.depth - high.depth) != high.index


def _effects(region: Region, space: FeatureSpace) -> dict[str, float]:
    known = feature_effects(region.optimizer).known
    squares = np.bincount(space.feature_of, known**2)
    names = [column.name for column in space.columns]
    order = np.argsort(-squares, kind="stable")
    return {names[i]: float(math.sqrt(squares[i])) for i in order}


def by_chance(values: np.ndarray, size: int, minimize: bool) -> float:
    """Return what the best of all groups of a size averages if features do not matter, at most.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The column, which only a report may know.
    size : int
        Rows of a group; the table has about n / size of them.
    minimize : bool
        Whether the best is the lowest.

    Returns
    -------
    average : float
        Exceeded with a probability of ``CHANCE`` by one of the groups, were rows to be dealt out
        at random: Bonferroni's bound for averages that are about normal.
    """
    n_groups = max(1.0, len(values) / size)
    # Without replacement.
    spread = values.std() * math.sqrt((len(values) - size) / max(1, len(values) - 1) / size)
    far = float(norm.isf(CHANCE / n_groups)) * spread
    return float(values.mean() - far if minimize else values.mean() + far)
