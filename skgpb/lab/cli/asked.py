"""``search`` by questions about averages: the result and its uncertainty."""

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
from skgpb.lab.cli.features import FeatureLimits, box_limits
from skgpb.lab.cli.tables import MIN_GROUP_ROWS, fewest_rows, search_values
from skgpb.lab.datasets.columns import Column
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.asking import AskedSearch, Oracle, search_by_asking
from skgpb.lab.tables.conditions import Subgroup

# By default the smallest group has one row in this number of rows.
GROUPS = 64
# A column with more categories holds identifiers, or free texts.
MOST_CATEGORIES = 100
# Half width of a 95 % interval, in standard deviations.
QUANTILE_95 = 1.96
# Draws of the averages of all groups; the error of a probability is then about one percent.
DRAWS = 4000
# Smallest probability of a gain that is called significant.
SIGNIFICANT = 0.975
# Probability that one of the groups drawn at random exceeds ``best_by_chance``.
CHANCE = 0.05


@dataclass(frozen=True)
class AskedResult:
    """Result of a search that asked for averages, in terms of the columns of the file.

    Attributes
    ----------
    search : AskedSearch
        Result of the search.
    memory : MemoryTable
        The features of the rows.
    features : list of Column
        The features as columns of the file.
    target : str
        Name of the column whose averages were asked for.
    minimizes : bool
        Whether the lowest average was sought.
    range : (low, high)
        Possible range of every average.
    conditions : tuple of str
        Conditions of ``--where`` that select the searched rows of the file.
    neighbours : sequence of str
        Features whose categories have an order, so that groups are ranges of them.
    enough : str or None
        Reason why the search stopped before its budget was spent; None if it did not.
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

    # -- groups -----------------------------------------------------------------------------

    @property
    def members(self) -> np.ndarray:
        """Rows of the recommended group, shape (n_members,)."""
        return self.search.group.rows

    @cached_property
    def limits(self) -> list[FeatureLimits]:
        """Conditions of the recommended group, the most important features first."""
        return self._box_limits(self.search.subgroup)

    def group_limits(self, index: int) -> list[FeatureLimits]:
        """Return the conditions of a group of the search, the most important features first."""
        box = self.memory.shape.subgroup(self.search.groups[index].inside)
        return self._box_limits(self.memory.tidied(box))

    def _box_limits(self, box: Subgroup) -> list[FeatureLimits]:
        return box_limits(self.features, box, self.effects, self.neighbours)

    # -- averages ---------------------------------------------------------------------------

    @property
    def _sign(self) -> float:
        return -1.0 if self.minimizes else 1.0

    def group_mean(self, index: int) -> float:
        """Return the expected average over a group of the search."""
        return float(np.clip(self.search.mean[index], *self.range))

    @property
    def mean(self) -> float:
        """Expected average over the recommended group."""
        return self.group_mean(self.search.index)

    @property
    def std(self) -> float:
        """Posterior standard deviation of the average over the recommended group."""
        index = self.search.index
        return math.sqrt(max(float(self.search.cov[index, index]), 0.0))

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of 95 % for the average over the recommended group."""
        far = QUANTILE_95 * self.std
        low, high = np.clip([self.mean - far, self.mean + far], *self.range)
        return float(low), float(high)

    def _difference(self, index: int, other: int) -> tuple[float, float]:
        """Return the posterior mean and standard deviation of the gain of a group over another."""
        cov = self.search.cov
        var = cov[index, index] + cov[other, other] - 2.0 * cov[index, other]
        gain = self._sign * (self.search.mean[index] - self.search.mean[other])
        return float(gain), math.sqrt(max(float(var), 0.0))

    @cached_property
    def gain(self) -> tuple[float, float]:
        """Gain of the group over the average of the whole table, and its standard deviation."""
        whole = len(self.members) == self.memory.n_rows
        return (0.0, 0.0) if whole else self._difference(self.search.index, 0)

    @property
    def gain_interval(self) -> tuple[float, float]:
        """Interval of 95 % for the gain."""
        gain, std = self.gain
        return gain - QUANTILE_95 * std, gain + QUANTILE_95 * std

    @property
    def probability_of_gain(self) -> float:
        """Probability that the group is better than the whole table."""
        return positive_probability(*self.gain)

    @property
    def is_significant(self) -> bool:
        """True if the gain is too large to be only noise of the answers."""
        return self.probability_of_gain > SIGNIFICANT

    @cached_property
    def probability_of_best(self) -> float:
        """Probability that no other group of the search is better."""
        rng = np.random.default_rng(0)
        mean, cov = self._sign * self.search.mean, self.search.cov
        # Rounding: eigenvalues of similar groups may be just below zero.
        draws = rng.multivariate_normal(mean, cov, size=DRAWS, check_valid="ignore", method="eigh")
        best = draws[:, [self.search.index]]
        return float((best >= draws).all(axis=1).mean())

    @cached_property
    def runner_up(self) -> int | None:
        """Index of the best group without a row in common with the recommended one, or None."""
        mean = self._sign * self.search.mean
        for i in np.argsort(-mean, kind="stable").tolist():
            if not np.isin(self.search.groups[i].rows, self.members).any():
                return int(i)
        return None

    @property
    def runner_up_better(self) -> float:
        """Probability that the runner-up is better than the recommended group; 0 without one."""
        if self.runner_up is None:
            return 0.0
        return positive_probability(*self._difference(self.runner_up, self.search.index))

    @cached_property
    def effects(self) -> dict[str, float]:
        """Standard deviation of the target by each feature alone, the largest first."""
        if self.search.model is None:
            return dict.fromkeys((column.name for column in self.features), 0.0)
        return self.search.model.effects()

    def predict_rows(self) -> np.ndarray:
        """Return the expected value of every row, shape (n_rows,)."""
        if self.search.model is None:
            return np.full(self.memory.n_rows, self.search.mean[0])
        return self._sign * self.search.model.rows()


def positive_probability(mean: float, std: float) -> float:
    """Return the probability that a normal variable is positive."""
    return float(mean > 0.0) if std == 0.0 else float(norm.cdf(mean / std))


def feature_table(features: Sequence[Column], neighbours: Sequence[str] = ()) -> MemoryTable:
    """Return the features as a table with zeros for the target, which the search does not read."""
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
        columns[column.name] = search_values(column)
    return MemoryTable(columns, np.zeros(len(features[0].values)))


def smallest_group(arguments: argparse.Namespace, n: int) -> int:
    """Return the smallest number of rows of a group of a table with n rows."""
    return fewest_rows(arguments.min_rows, n, max(MIN_GROUP_ROWS, n // GROUPS))


def search_by_averages(
    features: Sequence[Column],
    oracle: Oracle,
    arguments: argparse.Namespace,
    conditions: tuple[str, ...] = (),
    neighbours: Sequence[str] = (),
) -> AskedResult:
    """Search by questions about averages over groups of rows."""
    memory = feature_table(features, neighbours)
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
    return AskedResult(
        found, memory, list(features), arguments.target, arguments.minimize, limits, conditions,
        neighbours, enough,
    )  # fmt: skip


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], object]]:
    """Show a progress bar of ``total`` questions on a terminal, if tqdm is installed.

    Yield the function to call after each answer.
    """
    if sys.stderr is None or not sys.stderr.isatty() or find_spec("tqdm") is None:
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit="question", leave=False) as bar:
        yield bar.update


def best_by_chance(values: np.ndarray, size: int, minimize: bool) -> float:
    """Return a bound on the average of the best of all groups of a size, if features do not matter.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The column, which only a report may read.
    size : int
        Rows of a group; the table has about n / size of them.
    minimize : bool
        Whether the best is the lowest.

    Returns
    -------
    average : float
        The bound. If rows are assigned to groups at random, one of the groups exceeds it with a
        probability of at most ``CHANCE``: Bonferroni's bound for averages that are about normal.
    """
    n_groups = max(1.0, len(values) / size)
    # Standard error of an average of rows drawn without replacement.
    spread = values.std() * math.sqrt((len(values) - size) / max(1, len(values) - 1) / size)
    far = float(norm.isf(CHANCE / n_groups)) * spread
    return float(values.mean() - far if minimize else values.mean() + far)
