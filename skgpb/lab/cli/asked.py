"""``search`` if averages have to be asked for: the result and its uncertainty."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

import numpy as np
from scipy.stats import norm

from skgpb.lab.cli.arguments import UsageError
from skgpb.lab.cli.features import FeatureLimits, limits_of
from skgpb.lab.cli.tables import MIN_GROUP_ROWS, fewest_rows, values_of
from skgpb.lab.datasets.columns import Column
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.asking import AskedGroup, AskedSearch, Oracle, search_by_asking
from skgpb.lab.tables.conditions import Categories, Range, Subgroup

# By default the smallest group has one row in this number of rows.
GROUPS = 64
# More categories than this are identifiers, or texts.
MOST_CATEGORIES = 100
# Half width of a 95 % interval, in standard deviations.
QUANTILE_95 = 1.96
# Draws of the averages of all groups; a probability is known to about one percent.
DRAWS = 4000
# Beyond, an average is said to be told from noise.
SIGNIFICANT = 0.975
# Groups drawn at random have a smaller average than this, all of them together.
CHANCE = 0.05


@dataclass(frozen=True)
class Found:
    """Result of a search that asked for averages, in the columns of the file.

    Attributes
    ----------
    search : AskedSearch
        The groups that were asked for.
    memory : MemoryTable
        Their rows.
    features : list of Column
        Features by which groups are described.
    target : str
        Name of the column.
    minimizes : bool
        Whether the lowest average was sought.
    range : (low, high)
        Range of every average.
    conditions : tuple of str
        Conditions of ``--where`` that select the searched rows of the file.
    neighbours : sequence of str
        Features whose categories come together with their neighbours.
    enough : str or None
        Statement that allowed the search to stop before the budget was spent.
    """

    search: AskedSearch
    memory: MemoryTable
    features: list[Column]
    target: str
    minimizes: bool
    range: tuple[float, float] = (-math.inf, math.inf)
    conditions: tuple[str, ...] = ()
    neighbours: Sequence[str] = ()
    enough: str | None = None

    # -- what tells groups ------------------------------------------------------------------

    @property
    def members(self) -> np.ndarray:
        """Rows of the recommended group, shape (n_members,)."""
        return self.search.group.rows

    @property
    def is_whole(self) -> bool:
        """Return whether the recommended group has all rows."""
        return len(self.members) == self.memory.n_rows

    @cached_property
    def limits(self) -> list[FeatureLimits]:
        """Limits that separate the recommended group from all other rows."""
        return self.limits_of(self.search.subgroup)

    def limits_of(self, box: Subgroup) -> list[FeatureLimits]:
        """Return the limits of a group on each feature, the most important features first."""
        columns = {column.name: column for column in self.features}
        sides = {name: box[name] for name in self.effects if name in box}
        return [
            limits_of(columns[name], self._as_categories(columns[name], side))
            for name, side in sides.items()
        ]

    def _as_categories(self, column: Column, side: Range | Categories) -> Range | Categories:
        """Say neighbours among categories by their names."""
        if column.name not in self.neighbours or not isinstance(side, Range):
            return side
        inside = side.holds(np.arange(len(column.labels), dtype=float))
        labels = tuple(np.array(column.labels, dtype=object)[inside])
        return Categories(labels, side.missing)

    def box_of(self, group: AskedGroup) -> Subgroup:
        """Return a group as a box."""
        return self.memory.tidied(self.memory.shape.subgroup(group.inside))

    @property
    def where(self) -> str:
        """Condition that selects the rows of the recommended group from the file."""
        return self.where_of(self.limits)

    def where_of(self, limits: list[FeatureLimits]) -> str:
        """Return the condition that selects the rows of a group from the file."""
        told = (limit.condition for limit in limits)
        return " and ".join(filter(None, [*self.conditions, *told]))

    # -- what is known of it ----------------------------------------------------------------

    @property
    def _sign(self) -> float:
        return -1.0 if self.minimizes else 1.0

    def mean_of(self, place: int) -> float:
        """Return the expected average over a group that was asked for."""
        return float(np.clip(self.search.mean[place], *self.range))

    @property
    def mean(self) -> float:
        """Expected average over the recommended group."""
        return self.mean_of(self.search.index)

    @property
    def std(self) -> float:
        """Standard deviation of that."""
        place = self.search.index
        return math.sqrt(max(float(self.search.cov[place, place]), 0.0))

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of 95 % for the average over the recommended group."""
        far = QUANTILE_95 * self.std
        low, high = np.clip([self.mean - far, self.mean + far], *self.range)
        return float(low), float(high)

    def _beyond(self, place: int, other: int) -> tuple[float, float]:
        """By how much one average is better than another one, and the deviation of that."""
        cov = self.search.cov
        var = cov[place, place] + cov[other, other] - 2.0 * cov[place, other]
        gain = self._sign * (self.search.mean[place] - self.search.mean[other])
        return float(gain), math.sqrt(max(float(var), 0.0))

    @cached_property
    def gain(self) -> tuple[float, float]:
        """Gain of the group over the average of the whole table, and its standard deviation."""
        return (0.0, 0.0) if self.is_whole else self._beyond(self.search.index, 0)

    @property
    def gain_interval(self) -> tuple[float, float]:
        """Interval of 95 % for the gain."""
        gain, std = self.gain
        return gain - QUANTILE_95 * std, gain + QUANTILE_95 * std

    @property
    def sure_of_gain(self) -> float:
        """Probability that it is better than the whole table at all."""
        return above_zero(*self.gain)

    @property
    def told_from_noise(self) -> bool:
        """Return whether the gain is too large to be only noise of the answers."""
        return self.sure_of_gain > SIGNIFICANT

    @cached_property
    def sure_of_best(self) -> float:
        """Probability that no other group that was asked for is better."""
        rng = np.random.default_rng(0)
        mean, cov = self._sign * self.search.mean, self.search.cov
        # Rounding leaves eigenvalues just below zero where groups are known to be alike.
        draws = rng.multivariate_normal(mean, cov, size=DRAWS, check_valid="ignore", method="eigh")
        best = draws[:, [self.search.index]]
        return float((best >= draws).all(axis=1).mean())

    @cached_property
    def runner_up(self) -> int | None:
        """Number of the best group that has no row in common with the recommended one."""
        mean = self._sign * self.search.mean
        for i in np.argsort(-mean, kind="stable").tolist():
            if not np.isin(self.search.groups[i].rows, self.members).any():
                return int(i)
        return None

    @property
    def runner_up_better(self) -> float:
        """Probability that it is the better one."""
        if self.runner_up is None:
            return 0.0
        return above_zero(*self._beyond(self.runner_up, self.search.index))

    @cached_property
    def effects(self) -> dict[str, float]:
        """By how much the column varies with each feature alone, the largest first."""
        if self.search.model is None:
            return dict.fromkeys((column.name for column in self.features), 0.0)
        return self.search.model.effects()

    def predicted(self) -> np.ndarray:
        """Return the expected value of every row, shape (n_rows,)."""
        if self.search.model is None:
            return np.full(self.memory.n_rows, self.search.mean[0])
        return self._sign * self.search.model.rows()


def above_zero(mean: float, std: float) -> float:
    """Probability that a normal variable is positive."""
    return float(mean > 0.0) if std == 0.0 else float(norm.cdf(mean / std))


def memory_of(features: Sequence[Column], neighbours: Sequence[str] = ()) -> MemoryTable:
    """Return features as a table whose target is not known."""
    columns = {}
    for column in features:
        n = len(column.labels)
        if column.kind == "texts" and column.name in neighbours:
            columns[column.name] = np.where(column.missing, np.nan, column.values)
            continue
        if column.kind == "texts" and n > MOST_CATEGORIES:
            raise UsageError(
                f"column {column.name!r} has {n:,} different texts, such as {column.labels[0]!r}: "
                f"at most {MOST_CATEGORIES} are accepted as categories. --groups {column.name} "
                "forms groups of neighbours in alphabetical order"
            )
        columns[column.name] = values_of(column)
    return MemoryTable(columns, np.zeros(len(features[0].values)))


def fewest_asked(arguments: argparse.Namespace, n: int) -> int:
    """Return the minimum size of a group of a table with n rows."""
    return fewest_rows(arguments.min_rows, n, max(MIN_GROUP_ROWS, n // GROUPS))


def search_asked(
    features: Sequence[Column],
    oracle: Oracle,
    arguments: argparse.Namespace,
    conditions: tuple[str, ...] = (),
    neighbours: Sequence[str] = (),
) -> Found:
    """Ask for averages over groups of rows, and recommend a group."""
    memory = memory_of(features, neighbours)
    if all(levels.n_levels == 1 for levels in memory.levels):
        raise UsageError("no groups can be formed: every feature has one and the same value")
    within, confidence = arguments.stop_within, arguments.confidence
    try:
        with _progress(arguments.budget) as tick:
            found = search_by_asking(
                memory,
                oracle,
                arguments.least,
                arguments.budget,
                minimize=arguments.minimize,
                variance=arguments.alpha,
                seed=arguments.seed or 0,
                tick=tick,
                within=within,
                confidence=confidence,
            )
    except np.linalg.LinAlgError as error:
        raise UsageError(f"the model failed numerically, try a larger --alpha: {error}") from error
    except ValueError as error:
        raise UsageError(str(error)) from error
    enough = None
    if found.enough:
        enough = f"within {within:g} of the best with probability {confidence:g}"
    limits = getattr(oracle, "limits", (-math.inf, math.inf))
    return Found(
        found, memory, list(features), arguments.target, arguments.minimize, limits, conditions,
        neighbours, enough,
    )  # fmt: skip


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], object]]:
    """Show on a terminal how many questions were asked, if tqdm is installed."""
    if sys.stderr is None or not sys.stderr.isatty() or find_spec("tqdm") is None:
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit="question", leave=False) as bar:
        yield bar.update


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
