r"""The census problem: the group of rows with the highest average, asking only for averages.

This is what ``python -m skgpb search`` runs: GPOO on a pool partition, with settings that need
no knowledge of the table. They were chosen by measurement on tables of many shapes, and none is
tuned to one of them.

- *Groups.* The table is halved at medians until groups have n / 64 rows, six levels down.
  Those are the finest groups that are ever asked for. Cuts go between different values, as near
  to the median as there is such a place, so that a box tells the rows of a group from all others;
  where many values are equal a group may have half as many rows. Of all groups asked for the one
  with the highest posterior mean is recommended, which is a coarse one, or the whole table, only
  while nothing finer is known to be better.
- *Coordinates.* Every feature is scaled to [0, 1]: one length scale serves all. Learning one
  for each feature was no better, for they have to be learned from averages.
- *Prior.* A Matern kernel with nu = 5/2, amplitude and length scale learned whenever the number
  of answers has doubled. The amplitude is at least the variance of the answers, because values
  vary at least as much as their averages do; without this bound a few averages over large
  groups, which are all alike, make the model believe that there is nothing to find.
- *diameter="kernel"*: how far values stray from the average of their group follows from the
  learned kernel, so there is nothing to choose.
- *expansion="posterior"*, the default: nothing is spent on groups that are known already.
- *beta="theory"*. Smaller ones save questions but stop looking elsewhere too early.

``python -m benchmarks.region`` measures them on nine tables. With 150 questions and noise of 10 %
of the column's standard deviation the recommended group has nearly all of the gain that the best of
the finest groups has over the whole table; with noise of 50 % some runs miss it altogether.

References
----------
.. [Zhang2022] M. Zhang, R. Tsuchida and C. S. Ong, "Gaussian Process Bandits with Aggregated
   Feedback", AAAI 2022.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern, RationalQuadratic

from skgpb.domains import Cell, UndividedPool
from skgpb.exceptions import RefinementWarning
from skgpb.optimizers import GPOOOptimizer, Stop

# The finest groups hold about one row in so many.
GROUPS = 64
N_CHILDREN = 2
# One row is no group.
FEWEST_MEMBERS = 2
N_REPRESENTATIVES = 8
# Length scales in units of the range of a feature: where learning starts, and its bounds.
LENGTH_SCALE, LENGTH_SCALE_BOUNDS = 0.2, (0.02, 2.0)
# Variance of the values in units of the variance of the answers.
AMPLITUDE_BOUNDS = (1.0, 100.0)
# Smallest noise the model assumes, as a share of the spread of the answers: 8 members stand
# for all members of a group, which is not exact.
NOISE_FLOOR = 0.01
# Half width of a 95 % interval, in standard deviations.
QUANTILE_95 = 1.96

KERNELS: dict[str, Callable[[], Kernel]] = {
    "matern12": lambda: Matern(LENGTH_SCALE, LENGTH_SCALE_BOUNDS, nu=0.5),
    "matern32": lambda: Matern(LENGTH_SCALE, LENGTH_SCALE_BOUNDS, nu=1.5),
    "matern52": lambda: Matern(LENGTH_SCALE, LENGTH_SCALE_BOUNDS, nu=2.5),
    "rationalquadratic": lambda: RationalQuadratic(
        LENGTH_SCALE, length_scale_bounds=LENGTH_SCALE_BOUNDS
    ),
    "rbf": lambda: RBF(LENGTH_SCALE, LENGTH_SCALE_BOUNDS),
}


class GroupSearch(GPOOOptimizer):
    """GPOO over groups of rows that a box tells from all others.

    Parameters
    ----------
    kernel : Kernel
        On features scaled to [0, 1].
    pool : ndarray of shape (n, d)
        The rows.
    alpha : float
        Noise variance of an answer.
    min_members, smallest : int
        What the finest groups are to have, and fewest rows of a group; see
        :class:`~skgpb.domains.UndividedPool`.
    max_depth : int, default=None
        Deepest level at which groups are cut.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether the highest or the lowest average is sought.
    random_state : int, default=None
        Seeds the search.
    """

    domain_: UndividedPool

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        pool: np.ndarray | None = None,
        alpha: float | None = None,
        min_members: int = 1,
        smallest: int = 1,
        max_depth: int | None = None,
        direction: str = "maximize",
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            kernel,
            pool=pool,
            alpha=alpha,
            n_children=N_CHILDREN,
            n_representatives=N_REPRESENTATIVES,
            max_depth=max_depth,
            min_members=min_members,
            optimizer="fmin_l_bfgs_b",
            normalize_y=True,
            direction=direction,
            random_state=random_state,
        )
        self.smallest = smallest

    def _make_partition(self, max_depth: int) -> UndividedPool:
        partition = UndividedPool(
            self.pool, N_REPRESENTATIVES, self.min_members, self.smallest, self.max_depth
        )
        if partition.max_depth < 0:
            raise ValueError(
                "no groups can be formed: cuts go between different values, and no feature can be "
                f"cut so that {self.smallest} rows or more are on either side"
            )
        return partition


class GroupOracle(ABC):
    """All that a search may see of a column: noisy averages over groups of rows.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    variance : float
        Noise variance of the first answer.

    Attributes
    ----------
    asked : dict
        The groups asked for, by (depth, index).
    n_answers : int
        How many answers were given.
    variance : float
        Noise variance of the last answer, or of the first one before it.
    """

    def __init__(self, n_rows: int, variance: float) -> None:
        self.n_rows = n_rows
        self.variance = variance
        self.asked: dict[tuple[int, int], Cell] = {}
        self.n_answers: int = 0

    def begin(self, domain: UndividedPool) -> None:  # noqa: B027
        """Take notice of the groups that may be asked for."""

    def __call__(self, group: Cell) -> float:
        """Answer with the average over the members of a group, plus noise."""
        answer = self._answer(group)
        self.asked[group.depth, group.index] = group
        self.n_answers += 1
        return answer

    @abstractmethod
    def _answer(self, group: Cell) -> float:
        """Answer, and renew ``variance``."""

    @abstractmethod
    def refuses(self, group: Cell) -> bool:
        """Whether there is nothing to ask of a group."""

    @property
    def smallest(self) -> int:
        """Number of rows in the smallest group asked for."""
        return min(len(np.asarray(group.members)) for group in self.asked.values())

    @property
    def share_asked_singly(self) -> float:
        """Share of the rows that were ever averaged on their own."""
        groups = [np.asarray(group.members) for group in self.asked.values()]
        return len({rows[0] for rows in groups if len(rows) == 1}) / self.n_rows


class GroupAverages(GroupOracle):
    """Averages with the same noise in every answer.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The column.
    noise : float
        Standard deviation of the Gaussian noise in every answer, in units of the column.
    seed : int
        Seeds the noise.
    """

    def __init__(self, values: np.ndarray, noise: float, seed: int) -> None:
        super().__init__(len(values), noise**2)
        self._values = values
        self.noise = noise
        self._rng = np.random.default_rng(seed)

    def _answer(self, group: Cell) -> float:
        return float(self._values[group.members].mean() + self.noise * self._rng.normal())

    def refuses(self, group: Cell) -> bool:
        """Whether there is nothing to ask of a group: an exact answer is the same again."""
        return self.noise == 0.0 and (group.depth, group.index) in self.asked


@dataclass(frozen=True)
class Region:
    """What a search found.

    Attributes
    ----------
    group : Cell
        The recommended group; ``members`` are its rows.
    lower, upper : ndarray of shape (d,)
        Corners of the smallest box around them, in units of the features.
    n_inside : int
        Number of rows in that box: the members, and rows that share a value with some of them
        where the cut goes through equal values.
    mean, std : float
        Posterior of its average, in units of the column.
    alpha : float
        Noise variance of an answer in the model.
    optimizer : GroupSearch
        The state of the search, over features scaled to [0, 1].
    oracle : GroupOracle
        What was asked.
    exhausted : bool
        Whether every group was asked for, and has nothing more to tell.
    enough : str or None
        What was known when it stopped before the budget was spent.
    """

    group: Cell
    lower: np.ndarray
    upper: np.ndarray
    n_inside: int
    mean: float
    std: float
    alpha: float
    optimizer: GroupSearch
    oracle: GroupOracle
    exhausted: bool
    enough: str | None = None

    @property
    def members(self) -> np.ndarray:
        """Rows of the group, shape (n_members,)."""
        return np.asarray(self.group.members)

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of 95 % for the average over the group."""
        return self.mean - QUANTILE_95 * self.std, self.mean + QUANTILE_95 * self.std


def group_size(n_rows: int, max_depth: int | None) -> int:
    """Fewest rows of a group where the user does not say: n / 64, or what the depth implies."""
    parts = GROUPS if max_depth is None else N_CHILDREN ** (max_depth + 1)
    return max(FEWEST_MEMBERS, n_rows // parts)


def find_region(
    table: np.ndarray,
    oracle: GroupOracle,
    budget: int,
    *,
    alpha: float | None = None,
    kernel: str = "matern52",
    max_depth: int | None = None,
    min_members: int | None = None,
    size: int | None = None,
    minimize: bool = False,
    seed: int = 0,
    tick: Callable[[], Any] | None = None,
    stop: Stop | None = None,
) -> Region:
    """Search a table for the group of rows with the highest average.

    Parameters
    ----------
    table : ndarray of shape (n, d)
        Features of the rows, which need not be hidden.
    oracle : GroupOracle
        Answers the questions.
    budget : int
        Number of questions; fewer are asked where the oracle refuses all groups that are left.
    alpha : float, default=None
        Noise variance that the model assumes. None for that of each answer, or, where that is
        larger, the square of a hundredth of the standard deviation of the answers so far.
    kernel : str, default="matern52"
        One of ``KERNELS``.
    max_depth : int, default=None
        Deepest level at which groups are split.
    min_members : int, default=None
        Fewest rows of a group, None for half of ``size``: fewer than ``size`` only where equal
        values leave no other place for a cut.
    size : int, default=None
        Rows that the finest groups are to have, None for ``min_members`` or :func:`group_size`.
    minimize : bool, default=False
        Whether the lowest average is sought, not the highest.
    seed : int, default=0
        Seeds the search.
    tick : callable, default=None
        Called after every answer.
    stop : Stop, default=None
        When no more need be asked.

    Returns
    -------
    region : Region
        Of the groups asked for, the one with the highest posterior mean.

    Raises
    ------
    ValueError
        Where the table cannot be cut.
    """
    if min_members is None:
        size = size or group_size(len(table), max_depth)
        smallest = max(FEWEST_MEMBERS, size // 2)
    else:
        size = smallest = min_members
    low, side = table.min(axis=0), np.ptp(table, axis=0)
    variance = oracle.variance if alpha is None else alpha
    optimizer = GroupSearch(
        ConstantKernel(1.0, AMPLITUDE_BOUNDS) * KERNELS[kernel](),
        pool=(table - low) / np.where(side > 0.0, side, 1.0),
        alpha=variance,
        min_members=size,
        smallest=smallest,
        max_depth=max_depth,
        direction="minimize" if minimize else "maximize",
        random_state=seed,
    ).start()
    oracle.begin(optimizer.domain_)
    answers: list[float] = []
    enough = None
    with warnings.catch_warnings():
        # Hyperparameters at their bounds are expected while answers are few.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Splitting goes on after the next answer.
        warnings.simplefilter("ignore", RefinementWarning)
        for _ in range(budget):
            group = _next_group(optimizer, oracle)
            if group is None:
                break
            answers.append(oracle(group))
            if alpha is None:
                variance = max(oracle.variance, (NOISE_FLOOR * float(np.std(answers))) ** 2)
            # Not for this answer alone: pending groups are expected to have the same noise.
            optimizer.set_params(alpha=variance).tell(group, answers[-1])
            if tick is not None:
                tick()
            if stop is not None and optimizer.may_stop(stop, _best(optimizer, oracle)[0]):
                enough = stop.message
                break
    group, mean, std = _best(optimizer, oracle)
    rows = table[group.members]
    lower, upper = rows.min(axis=0), rows.max(axis=0)
    n_inside = int(((table >= lower) & (table <= upper)).all(axis=1).sum())
    exhausted = enough is None and oracle.n_answers < budget
    found = group, lower, upper, n_inside, mean, std, variance, optimizer, oracle
    return Region(*found, exhausted, enough)


def _next_group(optimizer: GroupSearch, oracle: GroupOracle) -> Cell | None:
    """Return what to ask for; what the oracle refuses stays pending, and is not asked for again."""
    n = 1
    try:
        while oracle.refuses(group := optimizer.ask(n)[-1]):
            n += 1
    except ValueError:
        return None  # no group is left
    return group


def _best(optimizer: GroupSearch, oracle: GroupOracle) -> tuple[Cell, float, float]:
    """Of the groups asked for, the one with the highest posterior mean.

    The paper's rule takes the deepest *split* cells, which are one level above the finest, and
    does not know whether they are better than the whole table.
    """
    groups = [group for _, group in sorted(oracle.asked.items())]
    mean, std = optimizer.predict_query(groups, return_std=True)
    best = int(np.argmin(mean) if optimizer.direction == "minimize" else np.argmax(mean))
    return groups[best], float(mean[best]), float(std[best])
