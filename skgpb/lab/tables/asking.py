"""Search by questions about averages, which are few, noisy, private or costly.

The search does not read the target. It asks for averages over groups of rows, each with its noise:

1. The search splits the table at random into groups, each by features of its own, and asks for
   the average of every group. The groups are about as small as the smallest group allowed.
2. A Gaussian process (:class:`~skgpb.lab.tables.model.GroupModel`) predicts the target of each row,
   and the search of visible rows finds the boxes with the best predictions, independently of the
   first groups. The search asks for the averages of the best boxes, the model is refitted to the
   answers, and this step is repeated.
3. The remaining questions are about a few groups: the best groups asked so far and the best that
   the model predicts. The search asks for all of them, drops the worse half, and so on
   (sequential halving, [Karnin2013]_).

So the model proposes and the answers decide. If the model predicts the answers no better than their
average does, it proposes nothing, and halving starts from the best groups of the first step alone.
If no group is significantly better than the whole table, the whole table is recommended.

References
----------
.. [Karnin2013] Z. Karnin, T. Koren and O. Somekh, "Almost Optimal Exploration in Multi-Armed
   Bandits", ICML 2013.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from scipy.stats import norm

from skgpb.lab.tables.conditions import Subgroup
from skgpb.lab.tables.memory import MemoryTable
from skgpb.lab.tables.model import GroupModel
from skgpb.lab.tables.search import RowSides, search_rows, simplify_box, standardize

# Shares of the questions: for the first groups, and for all groups before the last ones.
SHARE_FIRST, SHARE_PROPOSED = 0.45, 0.6
# A budget of this many questions or fewer is spent on the first groups.
FEWEST_QUESTIONS = 8
# Parts of the budget of a row for one answer: about the whole table, about all first groups
# together, and about any later group.
PART_WHOLE, PART_FIRST, PART_OTHERS = 0.02, 0.6, 0.1
# Boxes that the model proposes at once; asked groups, and proposed ones, among the last groups.
BOXES_AT_ONCE, N_LAST = 6, 8
# Two groups are alike if at least this share of the rows of the larger one is in both.
MAX_OVERLAP = 0.8
# Smallest leave-one-out R2 with which the model may propose groups.
MIN_R2 = 0.05
# Smallest probability that a recommended group is better than the whole table: if questions can be
# repeated, so that further answers confirm it, and if each question has one answer.
BETTER_REPEATED, BETTER_UNREPEATED = 0.95, 0.7
# Assumed noise of exact answers, as a fraction of their standard deviation.
NOISE_FLOOR = 0.01
# Smallest number of groups to which the model is fitted.
FEWEST_ANSWERS = 6
# Largest number of rows in which boxes are sought; a larger table is sampled.
MOST_ROWS = 100_000


class Oracle(Protocol):
    """Source of answers about groups of rows.

    Attributes
    ----------
    repeats : bool
        Whether a repeated question gets a new answer, with noise of its own.
    """

    @property
    def repeats(self) -> bool:
        """True if a repeated question gets a new answer."""

    def affords(self, rows: np.ndarray) -> bool:
        """Return whether a question about this group would be answered."""

    def answer(self, rows: np.ndarray, part: float) -> tuple[float, float]:
        """Return the noisy average over a group, and the variance of its noise.

        ``part`` is the fraction of the total budget of a row to spend on this answer.
        """


@dataclass(eq=False)
class AskedGroup:
    """A group of rows and the answers about it.

    Attributes
    ----------
    inside : ndarray of shape (size,) of uint8
        1 for each level of the features that is inside the group.
    rows : ndarray of int
        Indices of its rows.
    answers, variances : list of float
        Answers, and the variances of their noise.
    """

    inside: np.ndarray
    rows: np.ndarray
    answers: list[float] = field(default_factory=list)
    variances: list[float] = field(default_factory=list)

    def pooled_answer(self, floor: float) -> tuple[float, float]:
        """Return the weighted average of the answers, and its variance.

        Noise variances below ``floor`` count as ``floor``.
        """
        weights = 1.0 / np.maximum(self.variances, floor)
        return float(weights @ self.answers / weights.sum()), float(1.0 / weights.sum())


@dataclass(frozen=True)
class AskedSearch:
    """Result of a search that asked for averages over groups.

    Attributes
    ----------
    group : AskedGroup
        The recommended group.
    subgroup : Subgroup
        The recommended group as a box.
    groups : list of AskedGroup
        All groups with an answer, and the whole table; the whole table is the first.
    model : GroupModel or None
        Fitted model; None if there were too few answers.
    engine : {"model", "halving"}
        Method that chose among the groups.
    r2_loo : float
        Share of the variance of the answers that the model predicts, each from all others.
    mean, cov : ndarray of shape (n_groups,), (n_groups, n_groups)
        Posterior of the averages of ``groups``.
    n_answers : int
        Number of questions.
    enough : bool
        Whether the search stopped before its budget was spent, because of ``within``.
    """

    group: AskedGroup
    subgroup: Subgroup
    groups: list[AskedGroup]
    model: GroupModel | None
    engine: Literal["model", "halving"]
    r2_loo: float
    mean: np.ndarray
    cov: np.ndarray
    n_answers: int
    enough: bool = False

    @property
    def index(self) -> int:
        """Index of the recommended group in ``groups``."""
        return next(i for i, group in enumerate(self.groups) if group is self.group)


@dataclass(eq=False)
class _Asking:
    """State of a search that asks for averages.

    Parameters
    ----------
    table : MemoryTable
        The features.
    oracle : Oracle
        Source of the answers.
    least : int
        Fewest rows of a group.
    budget : int
        Most questions.
    sign : {1.0, -1.0}
        -1.0 if low averages are sought.
    variance : float or None
        Noise variance of each answer in the model; None for the variance that the oracle reports.
    rng : Generator
        Source of the random partitions and samples.
    tick : callable
        Function that the search calls after every answer.
    within, confidence : float
        Parameters of :func:`search_by_asking`.
    """

    table: MemoryTable
    oracle: Oracle
    least: int
    budget: int
    sign: float
    variance: float | None
    rng: np.random.Generator
    tick: Callable[[], object]
    within: float | None = None
    confidence: float = 0.95
    groups: list[AskedGroup] = field(default_factory=list)
    n_answers: int = 0
    model: GroupModel | None = None

    # -- asking -----------------------------------------------------------------------------

    def ask(self, group: AskedGroup, part: float) -> bool:
        """Ask for the average of a group; return whether it was answered."""
        if group.answers and not self.oracle.repeats:
            return False
        if self.n_answers >= self.budget or not self.oracle.affords(group.rows):
            return False
        answer, variance = self.oracle.answer(group.rows, part)
        group.answers.append(self.sign * answer)
        group.variances.append(variance if self.variance is None else self.variance)
        if len(group.answers) == 1:
            self.groups.append(group)
        self.n_answers += 1
        self.tick()
        return True

    def ask_all(self, groups: Sequence[AskedGroup], part: float) -> bool:
        """Ask for the averages of groups; return whether any was answered."""
        return sum(self.ask(group, part) for group in groups) > 0

    def get_group(self, inside: np.ndarray) -> AskedGroup:
        """Return the group with the levels ``inside`` (size,), a new one if none was asked."""
        for group in self.groups:
            if np.array_equal(group.inside, inside):
                return group
        held = self.table.shape.holds(self.table.codes, inside)
        return AskedGroup(inside, np.flatnonzero(held))

    @property
    def floor(self) -> float:
        """Smallest variance of the noise of an answer."""
        answers = [answer for group in self.groups for answer in group.answers]
        return max((NOISE_FLOOR * float(np.std(answers))) ** 2, 1e-300)

    def learn(self) -> None:
        """Fit the model to all answers so far; set it to None if there are too few."""
        floor = self.floor
        answers, noise = np.array([group.pooled_answer(floor) for group in self.groups]).T
        if len(self.groups) < FEWEST_ANSWERS or not np.ptp(answers):
            self.model = None
            return
        if self.model is None:
            self.model = GroupModel(self.table)
        self.model.fit([group.rows for group in self.groups], answers, noise)

    # -- groups -----------------------------------------------------------------------------

    def random_partition(self, n_groups: int) -> list[np.ndarray]:
        """Split the table at random into ``n_groups`` groups, the largest group first.

        Return the levels (size,) of each group. There are fewer groups if none can be split into
        two that have ``least`` rows each.
        """
        shape, codes = self.table.shape, self.table.codes
        least = self.least
        if len(codes) > MOST_ROWS:
            some = self.rng.choice(len(codes), MOST_ROWS, replace=False)
            codes, least = codes[some], math.ceil(least * MOST_ROWS / len(codes))
        parts = [(shape.everything, np.arange(len(codes)))]
        whole: list[np.ndarray] = []
        while parts and len(parts) + len(whole) < n_groups:
            largest = max(range(len(parts)), key=lambda i: len(parts[i][1]))
            inside, rows = parts.pop(largest)
            halves = self._split_group(inside, rows, codes, least)
            if halves is None:
                whole.append(inside)
            else:
                parts += halves
        return [*whole, *(inside for inside, _ in parts)]

    def _split_group(
        self, inside: np.ndarray, rows: np.ndarray, codes: np.ndarray, least: int
    ) -> list[tuple[np.ndarray, np.ndarray]] | None:
        """Split a group by a random feature into two of about the same number of rows.

        Return the levels and the rows of both. Return None if no feature splits it into two groups
        of at least ``least`` rows.
        """
        if len(rows) < 2 * least:
            return None
        shape = self.table.shape
        for j in self.rng.permutation(len(shape.n_values)).tolist():
            start, stop = shape.offsets[j], shape.offsets[j + 1]
            count = np.bincount(codes[rows, j], minlength=stop - start)
            order = np.arange(stop - start)
            if not shape.ordered[j]:
                order = self.rng.permutation(order)
            elif stop - start > shape.n_values[j] and self.rng.random() < 0.5:
                order = np.roll(order, 1)  # so that missing values may be in the lower half
            below = count[order].cumsum()
            cut = int(np.abs(below - 0.5 * len(rows)).argmin())
            if min(below[cut], len(rows) - below[cut]) < least:
                continue
            lower = np.zeros(stop - start, dtype=bool)
            lower[order[: cut + 1]] = True
            halves = []
            for part in (lower, ~lower):
                half = inside.copy()
                half[start:stop] &= part
                halves.append((half, rows[part[codes[rows, j]]]))
            return halves
        return None

    def propose(self, n_groups: int) -> list[AskedGroup]:
        """Propose at most ``n_groups`` boxes with the best predicted averages, no two alike."""
        assert self.model is not None
        table, least, predicted = self.table, self.least, self.model.rows()
        if table.n_rows > MOST_ROWS:
            some = self.rng.choice(table.n_rows, MOST_ROWS, replace=False)
            table, predicted = table.part(some), predicted[some]
            # The margin makes it unlikely that a box has fewer than least rows of the whole table.
            share = self.least / self.table.n_rows
            least = math.ceil(MOST_ROWS * share + 2.0 * math.sqrt(MOST_ROWS * share))
        target = standardize(predicted)
        found, sides = search_rows(table, target, least), RowSides(table, target)
        boxes: list[AskedGroup] = []
        seen: set[bytes] = set()
        for i in np.argsort(-found.mean, kind="stable").tolist():
            if found.inside[i].tobytes() in seen:
                continue
            seen.add(found.inside[i].tobytes())
            inside = simplify_box(found.inside[i], table.shape, sides.ask)
            group = self.get_group(inside)
            if len(group.rows) >= self.least and not any(_overlap(group, each) for each in boxes):
                boxes.append(group)
            if len(boxes) == n_groups:
                break
        return boxes

    # -- the search -------------------------------------------------------------------------

    def run(self) -> AskedSearch:
        """Run the three steps of the search, and recommend a group."""
        whole = self.get_group(self.table.shape.everything)
        self.ask(whole, PART_WHOLE)
        self._ask_first(
            max(round(SHARE_FIRST * self.budget), min(FEWEST_QUESTIONS, self.budget)) - 1
        )
        if not self.groups:
            raise ValueError(
                "no group of the table could answer a question: the budget was already spent"
            )
        self.learn()
        earned = self.model is not None and self.model.r2_loo > MIN_R2
        until, tried = (SHARE_PROPOSED if self.oracle.repeats else 1.0) * self.budget, earned
        while tried and self.n_answers < until:
            tried = self.ask_all(self.propose(BOXES_AT_ONCE), PART_OTHERS)
            self.learn()
        floor = self.floor
        ranked = sorted(self.groups, key=lambda group: -group.pooled_answer(floor)[0])
        if earned:
            last = self.propose(N_LAST)
            last += [group for group in ranked if group not in last][:N_LAST]
        else:
            last = ranked[: max(2, min(2 * N_LAST, self.budget - self.n_answers))]
        if whole not in last and whole.answers:
            last.append(whole)
        stopped = self._halve(last)
        self.learn()
        return self._conclude(whole, "model" if earned else "halving", stopped)

    def _ask_first(self, n_groups: int) -> None:
        """Ask for about ``n_groups`` groups, of as many random partitions as necessary."""
        partitions: list[list[np.ndarray]] = []
        missing = n_groups
        while missing > 1:
            partitions.append(self.random_partition(missing))
            missing -= len(partitions[-1])
            if missing < 0.5 * len(partitions[0]) or len(partitions[-1]) < 2:
                break
        for partition in partitions:
            for group in map(self.get_group, partition):
                # A large table was sampled: a group may have fewer rows than expected.
                if len(group.rows) >= self.least:
                    self.ask(group, PART_FIRST / len(partitions))

    def _halve(self, groups: list[AskedGroup]) -> bool:
        """Ask for groups and drop the worse half of them, until one is left or the budget is spent.

        Return whether the search stopped before, because of ``within``.
        """
        left = groups
        while len(left) > 1 and self.n_answers < self.budget:
            rounds = math.ceil(math.log2(len(left)))
            each = max(1, (self.budget - self.n_answers) // (rounds * len(left)))
            asked = False
            for _ in range(each):
                asked = self.ask_all(left, PART_OTHERS) or asked
                if self.within is not None:
                    self.learn()
                    if self._is_enough(left, self.within):
                        return True
            if not asked:
                break  # no question can be answered any more
            floor = self.floor
            left = [group for group in left if group.answers]
            left.sort(key=lambda group: -group.pooled_answer(floor)[0])
            left = left[: math.ceil(len(left) / 2)]
        return False

    def _is_enough(self, groups: list[AskedGroup], within: float) -> bool:
        """Return whether the best of ``groups`` is at most ``within`` below each other one.

        This must hold with the probability ``confidence`` for all of them together (Bonferroni).
        """
        mean, cov = self.posterior()
        some = [i for i, group in enumerate(self.groups) if group in groups]
        best = max(some, key=lambda i: mean[i])
        behind = cov[best, best] + np.diag(cov) - 2.0 * cov[best]
        far = norm.isf((1.0 - self.confidence) / max(1, len(some) - 1))
        more = mean - mean[best] + far * np.sqrt(np.maximum(behind, 0.0))
        return bool((more[[i for i in some if i != best]] <= within).all())

    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the posterior mean (n,) and covariance (n, n) of the averages over ``groups``."""
        floor = self.floor
        mean, noise = np.array([group.pooled_answer(floor) for group in self.groups]).T
        if self.model is None:
            return mean, np.diag(noise)
        rows = [group.rows for group in self.groups]
        return self.model.joint(rows, range(len(rows)))

    def _conclude(
        self, whole: AskedGroup, engine: Literal["model", "halving"], stopped: bool
    ) -> AskedSearch:
        mean, cov = self.posterior()
        groups = self.groups
        if not whole.answers:  # the oracle could not afford it
            groups = [whole, *groups]
            if self.model is None:
                spread = float(mean.var() + np.diag(cov).max())
                mean, cov = np.append(mean.mean(), mean), np.pad(cov, ((1, 0), (1, 0)))
                cov[0, 0] = spread
            else:
                rows = [each.rows for each in groups]
                mean, cov = self.model.joint(rows, range(-1, len(self.groups)))
        # The whole table is among the groups, and is recommended if no other is surely better.
        least = BETTER_REPEATED if self.oracle.repeats else BETTER_UNREPEATED
        behind = np.diag(cov) - 2.0 * cov[0] + cov[0, 0]
        sure = mean - mean[0] >= norm.isf(1.0 - least) * np.sqrt(np.maximum(behind, 0.0))
        group = groups[int(np.where(sure, mean, -np.inf).argmax())]
        return AskedSearch(
            group,
            self.table.tidied(self.table.shape.subgroup(group.inside)),
            groups,
            self.model,
            engine,
            -math.inf if self.model is None else self.model.r2_loo,
            self.sign * mean,
            cov,
            self.n_answers,
            stopped,
        )


def _overlap(one: AskedGroup, other: AskedGroup) -> bool:
    """Return whether two groups have most rows of the larger one in common."""
    n = max(len(one.rows), len(other.rows))
    if min(len(one.rows), len(other.rows)) < MAX_OVERLAP * n:
        return False
    return len(np.intersect1d(one.rows, other.rows, assume_unique=True)) >= MAX_OVERLAP * n


def search_by_asking(
    table: MemoryTable,
    oracle: Oracle,
    least: int,
    budget: int,
    *,
    minimize: bool = False,
    variance: float | None = None,
    seed: int = 0,
    tick: Callable[[], object] = lambda: None,
    within: float | None = None,
    confidence: float = 0.95,
) -> AskedSearch:
    """Find a group of rows with a high average by asking for averages.

    Parameters
    ----------
    table : MemoryTable
        The features. The search does not read its target.
    oracle : Oracle
        Source of the answers.
    least : int
        Fewest rows of a group.
    budget : int
        Most questions.
    minimize : bool, default=False
        Whether a low average is sought.
    variance : float, default=None
        Noise variance that the model assumes; None for the variance that the oracle reports.
    seed : int, default=0
        Seed of the random partitions and samples.
    tick : callable, default=None
        Function that the search calls after every answer.
    within : float, default=None
        Stop when the recommendation is at most this much below the best of the last groups. None
        to spend the whole budget.
    confidence : float, default=0.95
        Probability with which ``within`` must hold.

    Returns
    -------
    result : AskedSearch

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.lab.tables import MemoryTable
    >>> from skgpb.lab.tables.asking import NoisyAverages, search_by_asking
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 3))
    >>> y = (X[:, :2] > 0.6).all(axis=1) + 0.1 * rng.normal(size=1000)
    >>> table = MemoryTable(X, np.zeros(1000))
    >>> found = search_by_asking(table, NoisyAverages(y, 0.1), 100, 80)
    >>> [name for name, _ in found.subgroup.conditions], bool(y[found.group.rows].mean() > 0.9)
    (['x0', 'x1'], True)
    """
    asking = _Asking(
        table, oracle, least, budget, -1.0 if minimize else 1.0, variance,
        np.random.default_rng(seed), tick, within, confidence,
    )  # fmt: skip
    return asking.run()


class NoisyAverages:
    """Averages of a column with the same noise in every answer.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The column.
    noise : float
        Standard deviation of the Gaussian noise in every answer, in units of the column.
    seed : int, default=0
        Seeds the noise.
    """

    def __init__(self, values: np.ndarray, noise: float, seed: int = 0) -> None:
        self._values = values
        self.noise: float = noise
        self._rng = np.random.default_rng([seed, 1])

    @property
    def repeats(self) -> bool:
        """True if a repeated question gets a new answer."""
        return self.noise > 0.0

    def affords(self, rows: np.ndarray) -> bool:
        """Return True: every group is answered."""
        return True

    def answer(self, rows: np.ndarray, part: float) -> tuple[float, float]:
        """Return the noisy average over a group, and the variance of its noise."""
        average = float(self._values[rows].mean()) + self.noise * float(self._rng.normal())
        return average, self.noise**2
