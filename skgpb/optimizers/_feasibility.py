"""Failed queries and limits on measured outcomes: which queries and targets are feasible."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from math import inf, isfinite, isnan, nan
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import ndtr
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb._core._ties import argmax_first
from skgpb.kernels._settings import OnSettings
from skgpb.optimizers.round import QueryTargetPosterior, Round
from skgpb.surrogate.draws import posterior_sampler
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.success import AveragedSuccess, SuccessModel, learned_success
from skgpb.utils.validation import Real, check_one_each, check_reward, is_missing, truth_value

# -- Limits on outcomes ----------------------------------------------------------------------------

#: Functionals as a process accepts them: rows (n, n_columns), or n arrays of rows.
RowSets = np.ndarray | list[np.ndarray]
#: Draws whether limits hold: a function of the number of draws and a generator that returns a mask
#: (n_draws, n_rows).
MaskSampler: TypeAlias = Callable[[int, np.random.Generator], np.ndarray]
# Rounding: lower bound on the probabilities, so that weighted variances stay above 0.
MIN_LIMIT_PROBABILITY = 1e-9


#: Limit on an outcome: its ends, infinite where open, or True or False for an outcome yes or no.
CheckedLimit: TypeAlias = tuple[float, float] | bool


def checked_limits(limits: Any) -> dict[str, CheckedLimit]:
    """Return limits by outcome, with infinite open ends, or raise ValueError."""
    if not (limits is None or isinstance(limits, Mapping)):
        raise ValueError(f"limits must be a dict of pairs (low, high) or None, got {limits!r}")
    out: dict[str, CheckedLimit] = {}
    for name, ends in (limits or {}).items():
        if isinstance(name, str) and isinstance(ends, (bool, np.bool_)):
            out[name] = bool(ends)
            continue
        pair = tuple(ends) if isinstance(ends, Sequence) and not isinstance(ends, str) else ()
        known = [end for end in pair if end is not None]
        fine = isinstance(name, str) and len(pair) == 2 and len(known) > 0
        if fine := fine and all(map(_is_finite, known)):
            low, high = -inf if pair[0] is None else pair[0], inf if pair[1] is None else pair[1]
        if not (fine and low < high):
            raise ValueError(
                "limits must have a pair (low, high) for each name, None for an end that is open, "
                f"or True or False for an outcome that is yes or no; got {name!r}: {ends!r}"
            )
        out[name] = float(low), float(high)
    return out


def check_kinds(
    outcomes: Mapping[str, Any], limits: Mapping[str, CheckedLimit], goals: Collection[str] = ()
) -> None:
    """Raise ValueError for a number whose limit is yes or no, and for yes or no within ends.

    Goals must be numbers.
    """
    for name in goals:
        if isinstance(outcomes.get(name), bool) or isinstance(limits.get(name), bool):
            got = outcomes.get(name, limits.get(name))
            raise ValueError(f"goals must be numbers, and {name!r} is yes or no; got {got!r}")
    for name, limit in limits.items():
        value = outcomes.get(name)
        if value is None or (
            not isinstance(value, bool) if not isinstance(limit, bool) else value in (0, 1)
        ):
            continue
        must = (
            f"yes or no, such as True or False, because its limit is {limit}"
            if isinstance(limit, bool)
            else f"a number, because its limit is the pair {limit}: write limits={{{name!r}: True}}"
        )
        raise ValueError(f"outcomes must have for {name!r} {must}; got {value!r}")


def keeps_limit(value: float, limit: CheckedLimit) -> bool:
    """Return whether an outcome is within its limit."""
    return value == limit if isinstance(limit, bool) else limit[0] <= value <= limit[1]


class AnswerWithOutcomes(float):
    """An answer: a float, the reward, with the measured outcomes and the name of its block.

    ``tell(query, reward, outcomes=..., block=...)`` makes one, and so does a pair (reward,
    outcomes) that an objective returns to ``run``; it has no block. An evaluation without a reward
    may have outcomes.

    Parameters
    ----------
    reward : float or None
        The reward; None for a failed evaluation, and the float is then NaN.
    outcomes : dict, Series or None
        Numbers, or yes or no, by their names; None or NaN for an outcome that was not measured.
    block : str, default=None
        Name of the block.

    Examples
    --------
    >>> from skgpb.optimizers._feasibility import AnswerWithOutcomes
    >>> AnswerWithOutcomes(2.5, {"temperature": 71.0})
    AnswerWithOutcomes(2.5, {'temperature': 71.0}, None)
    """

    outcomes: dict[str, Any] | None
    block: str | None

    def __new__(cls, reward: Any, outcomes: Any, block: Any = None) -> Self:
        """Check the outcomes and the block."""
        if reward is None and block is not None:
            raise ValueError(
                f"an evaluation that failed has no block, got reward=None and block={block!r}"
            )
        if not (block is None or (isinstance(block, str) and block)):
            raise ValueError(f"block must be a name that is not empty, or None, got {block!r}")
        measured = super().__new__(cls, nan if reward is None else check_reward(reward))
        measured.outcomes = None if outcomes is None else checked_outcomes(outcomes)
        measured.block = block
        return measured

    @property
    def reward(self) -> float | None:
        """The reward, None for a failed evaluation."""
        return None if isnan(self) else float(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reward, self.outcomes, self.block)

    def __repr__(self) -> str:
        return f"AnswerWithOutcomes({self.reward!r}, {self.outcomes!r}, {self.block!r})"


def checked_outcomes(outcomes: Any) -> dict[str, Any]:
    """Return outcomes as floats or bools, None for a missing one, or raise ValueError."""
    if hasattr(outcomes, "to_dict"):  # a row of a table
        outcomes = outcomes.to_dict()
    if not isinstance(outcomes, Mapping):
        raise ValueError(f"outcomes must be a dict of numbers by their names, got {outcomes!r}")
    out: dict[str, Any] = {}
    for name, value in outcomes.items():
        known = (
            None if is_missing(value) else float(value) if _is_finite(value) else truth_value(value)
        )
        if not isinstance(name, str) or (known is None and not is_missing(value)):
            raise ValueError(
                "outcomes must be finite numbers, or yes or no, by their names, None or NaN for an "
                f"outcome that was not measured; got {name!r}: {value!r}"
            )
        out[name] = known
    return out


def outcomes_of_each(outcomes: Any, n: int) -> list[Any]:
    """Return the outcomes of each of n answers, given as n dicts or as columns by their names."""
    if hasattr(outcomes, "to_frame") and not any(isinstance(each, Mapping) for each in outcomes):
        outcomes = outcomes.to_frame()
    if not (isinstance(outcomes, Mapping) or hasattr(outcomes, "columns")):
        return check_one_each(outcomes, n, "outcomes", "rewards", kind="dict")
    names = list(getattr(outcomes, "columns", outcomes))
    if len(set(names)) < len(names):
        raise ValueError(f"outcomes must have different names, got {names}")
    owners = "rewards, because there are several"
    columns = {
        name: check_one_each(outcomes[name], n, f"outcomes[{name!r}]", owners) for name in names
    }
    return [{name: column[i] for name, column in columns.items()} for i in range(n)]


def check_spelling(
    outcomes: Mapping[str, Any], limits: Collection[str], goals: Collection[str] = ()
) -> None:
    """Raise ValueError if a limit or goal is missing and another name is similar to its name."""
    known = [*limits, *goals]
    others = {name.strip().casefold(): name for name in outcomes if name not in known}
    for name in (name for name in known if name not in outcomes):
        if alike := get_close_matches(name.strip().casefold(), others, 1):
            has = ("has no limit", "has one") if name in limits else ("is no goal", "is one")
            raise ValueError(
                f"outcomes has {others[alike[0]]!r}, which {has[0]}, and not {name!r}, which "
                f"{has[1]}: write {name!r}, or tell {name!r}: None as well if it was not measured"
            )


def limit_in_words(found: Mapping[str, Any], n_all: int) -> str:
    """Return a text: whether a limit holds at the recommendation, and how many answers show it.

    ``found`` is an entry of ``RunResult.limits``, and ``n_all`` the number of all answers.

    Examples
    --------
    >>> limit = {"name": "heat", "low": None, "high": 80.0, "value": None, "n_answers": 0}
    >>> limit_in_words(limit | dict.fromkeys(("mean", "std", "probability")), 12)
    'heat, at most 80: not known, none of 12 answers has it'
    """
    low, high, value = found["low"], found["high"], found["value"]
    if value is not None:
        ends = "yes" if value else "no"
    elif low is None:
        ends = f"at most {high:g}"
    else:
        ends = f"at least {low:g}" if high is None else f"{low:g} to {high:g}"
    every = f"{n_all} answer{'' if n_all == 1 else 's'}"
    if found["probability"] is None:
        return f"{found['name']}, {ends}: not known, none of {every} has it"
    expected = (
        ""
        if found["mean"] is None
        else f"expected {found['mean']:.6g} (standard deviation {found['std']:.2g}), "
    )
    return (
        f"{found['name']}, {ends}: holds with probability {found['probability']:.3g}, {expected}"
        f"{found['n_answers']} of {every} have it"
    )


class NumberWithinEnds:
    """A limit on a number.

    Parameters
    ----------
    low, high : float
        Ends, infinite where open.
    processes : list of GaussianProcess
        Posteriors of the outcome.
    probabilities : list of float
        Their probabilities.
    """

    def __init__(
        self,
        low: float,
        high: float,
        processes: list[GaussianProcess],
        probabilities: list[float],
    ) -> None:
        self._low, self._high = low, high
        self._processes, self._probabilities = processes, np.array(probabilities)
        # Cache: a round needs the probabilities at its queries several times.
        self._last: tuple[np.ndarray, np.ndarray] = np.empty(0), np.empty(0)

    def _moments_of_each(self, row_sets: RowSets) -> list[tuple[np.ndarray, np.ndarray]]:
        return [process.moments(row_sets, std=True) for process in self._processes]

    def moments(self, row_sets: RowSets) -> tuple[np.ndarray, np.ndarray]:
        """Return means and standard deviations (n,) of the number at each functional."""
        means, stds = (
            np.array(each) for each in zip(*self._moments_of_each(row_sets), strict=True)
        )
        mean = self._probabilities @ means
        return mean, np.sqrt(self._probabilities @ (stds**2 + (means - mean) ** 2))

    def probability(self, row_sets: RowSets) -> np.ndarray:
        """Return the probability (n,) that the limit holds at each functional."""
        is_array, (known, last) = isinstance(row_sets, np.ndarray), self._last
        if is_array and np.array_equal(row_sets, known):
            return last
        each = self._moments_of_each(row_sets)
        held = [probability_between(self._low, self._high, *moments) for moments in each]
        out = self._probabilities @ np.array(held)
        if is_array:
            self._last = np.array(row_sets), out  # a copy: candidates move within their array
        return out

    def weights(self, rows: RowSets) -> np.ndarray:
        """Return the probability (n,) by which an improvement is weighted: the same."""
        return self.probability(rows)

    def certain_probability(self, row_sets: RowSets) -> np.ndarray:
        """Return the probability (n,) by which a functional is recommended: the same."""
        return self.probability(row_sets)

    def sampler(self, row_sets: RowSets) -> MaskSampler:
        """Return a function that draws jointly at which functionals the limit holds."""
        samplers = [posterior_sampler(process, row_sets) for process in self._processes]

        def draw(n_draws: int, rng: np.random.Generator) -> np.ndarray:
            counts = rng.multinomial(n_draws, self._probabilities).tolist()
            pairs = zip(samplers, counts, strict=True)
            drawn = np.concatenate([each(n, rng) for each, n in pairs if n])
            drawn = drawn[rng.permutation(n_draws)]
            return (drawn >= self._low) & (drawn <= self._high)

        return draw

    def copy(self) -> Self:
        """Return a copy that later observations do not change."""
        processes = [process.copy() for process in self._processes]
        return type(self)(self._low, self._high, processes, self._probabilities.tolist())

    def excess(self, rows: np.ndarray) -> np.ndarray:
        """Return how far the means (n,) are beyond the ends, in units of the process."""
        mean, _ = self.moments(rows)
        beyond = np.maximum(np.maximum(self._low - mean, mean - self._high), 0.0)
        return beyond / self._processes[0].scale


class OutcomeConstraints:
    """Limits with the models of the outcomes.

    Parameters
    ----------
    limits : list of LimitModel
        The limits.
    """

    def __init__(self, limits: list[LimitModel]) -> None:
        self._limits = limits

    def probability(self, row_sets: RowSets) -> np.ndarray:
        """Return the probability (n,) that all limits hold at each functional."""
        return np.prod([each.probability(row_sets) for each in self._limits], axis=0)

    def weights(self, rows: RowSets) -> np.ndarray:
        """Return weights (n,) of improvements, at least ``MIN_LIMIT_PROBABILITY``.

        A weight is the probability that all limits hold, with a power of the odds of yes or no.
        """
        every = np.prod([each.weights(rows) for each in self._limits], axis=0)
        return np.maximum(every, MIN_LIMIT_PROBABILITY)

    def hopeless_mask(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the rows that hardly satisfy all limits, while others may."""
        p = self.probability(rows)
        return p < min(defaults.HOPELESS_OF_LIMITS, 0.5 * p.max(initial=0.0))

    def certain_probability(self, row_sets: RowSets) -> np.ndarray:
        """Return the probabilities (n,) by which functionals are recommended."""
        return np.prod([each.certain_probability(row_sets) for each in self._limits], axis=0)

    def feasible_mask(self, rows: RowSets) -> np.ndarray:
        """Return a mask (n,) of the functionals that may be recommended."""
        return self.certain_probability(rows) >= defaults.SURE

    def sampler(self, row_sets: RowSets) -> MaskSampler:
        """Return a function that draws jointly at which functionals all limits hold."""
        samplers = [each.sampler(row_sets) for each in self._limits]
        return lambda n, rng: np.all([draw(n, rng) for draw in samplers], axis=0)

    def copy(self) -> OutcomeConstraints:
        """Return a copy that later observations do not change."""
        return OutcomeConstraints([each.copy() for each in self._limits])

    def nearest(self, rows: np.ndarray) -> int:
        """Return the index of the row at which all limits hold most probably.

        If all probabilities are negligible, it is the row whose means exceed the limits least.
        """
        p = self.certain_probability(rows)
        if p.max(initial=0.0) >= MIN_LIMIT_PROBABILITY:
            return argmax_first(p)
        return argmax_first(-np.sum([each.excess(rows) for each in self._limits], axis=0))

    def base(self, known: GaussianProcess) -> float | None:
        """Return the largest mean of a feasible answered query, in units of the process.

        None if no answered query is feasible.
        """
        observed, means = known.observed, known.means_of_f()
        kept = means[self.feasible_mask([*observed])]
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


# -- Probability of success ------------------------------------------------------------------------

# Rounding: lower bound on the probabilities, so that weighted variances stay above 0.
MIN_SUCCESS_WEIGHT = 1e-3
# Speed: the model of failures is fitted to so many of the latest evaluations (D-H65).
MOST_OUTCOMES = 400


def failure_score(rewards: np.ndarray) -> float:
    """Return the score of failed evaluations, for searches without a model of failures.

    It is the smallest score minus the standard deviation of the scores, or minus 1 % of the largest
    absolute score if that is more. If all scores are 0, it is -0.01.

    Examples
    --------
    >>> import numpy as np
    >>> failure_score(np.array([2.0, 2.0])), failure_score(np.zeros(3))
    (1.98, -0.01)
    """
    share = defaults.SCORE_FAILURE
    margin = max(rewards.std(), share * np.abs(rewards).max()) or share
    return float(rewards.min() - margin)


class SuccessProbabilities:
    """Probabilities of success of rows of descriptors, learned from answers and failures.

    Parameters
    ----------
    asked : ndarray of shape (n, n_columns)
        The row of the query of each answer and of each failure, in order.
    succeeded : ndarray of shape (n,)
        1 for an answer and 0 for a failure.
    domain : ndarray of shape (m, n_columns)
        Rows whose range, together with that of ``asked``, is the unit of each column.
    kernel : Kernel, default=None
        The kernel of f. If it is over settings, it converts rows to columns that distinguish them.
    """

    def __init__(
        self,
        asked: np.ndarray,
        succeeded: np.ndarray,
        domain: np.ndarray,
        kernel: Kernel | None = None,
    ) -> None:
        self._columns = kernel.columns if isinstance(kernel, OnSettings) else None
        every = self._distinguishing_columns(np.concatenate([asked, domain]))
        self._lower, unit = every.min(axis=0), np.ptp(every, axis=0)
        self._unit = np.where(unit > 0.0, unit, 1.0)
        scaled = self._to_units(asked[-MOST_OUTCOMES:])
        # None if failures do not depend on the query: then only ``feasible_mask`` is called.
        self._model: Any = self._learned(scaled, succeeded[-MOST_OUTCOMES:])
        self._lately = 1.0 - float(succeeded[-defaults.LATELY :].mean())
        self._likely = min(defaults.SURE, defaults.LIKELY + 0.5 * self._lately)
        #: Rows that were answered, rows that failed, and those of them that were never answered, as
        #: bytes.
        self.answered: set[bytes] = {row.tobytes() for row in asked[succeeded > 0.0] + 0.0}
        self.failed: set[bytes] = {row.tobytes() for row in asked[succeeded == 0.0] + 0.0}
        self.always_failed: set[bytes] = self.failed - self.answered

    @staticmethod
    def _learned(scaled: np.ndarray, succeeded: np.ndarray) -> SuccessModel | None:
        return learned_success(scaled, succeeded)

    @property
    def depends_on_query(self) -> bool:
        """True if failures depend on the query, so that there is a model of them."""
        return self._model is not None

    def _distinguishing_columns(self, rows: np.ndarray) -> np.ndarray:
        return rows if self._columns is None else self._columns(rows)

    def _to_units(self, rows: np.ndarray) -> np.ndarray:
        return (self._distinguishing_columns(rows) - self._lower) / self._unit

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """Return weights (n,) between ``MIN_SUCCESS_WEIGHT`` and 1 of the rows.

        A weight is the probability of success divided by the probability that counts as certain.
        """
        return np.clip(
            self._model.chance(self._to_units(rows)) / self._likely, MIN_SUCCESS_WEIGHT, 1.0
        )

    def hopeless_mask(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the rows whose probability of success is far below the rate."""
        return self._model.chance(self._to_units(rows)) < defaults.HOPELESS * self._model.rate

    def unlikely_mask(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the rows whose probability of success is below a threshold.

        The threshold is the rate of success while evaluations succeed. The more of the last
        evaluations failed, the higher it is.
        """
        least = (1.0 - self._lately) * self._model.rate + self._lately * self._likely
        return self._model.chance(self._to_units(rows)) < least

    def feasible_mask(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the rows that may be recommended.

        They were answered, or they succeed almost surely and have not failed without an answer.
        """
        if self._model is None:
            return ~self.among(self.always_failed, rows)
        sure = self._model.chance(self._to_units(rows)) >= defaults.SURE
        return (sure & ~self.among(self.always_failed, rows)) | self.among(self.answered, rows)

    @staticmethod
    def among(keys: set[bytes], rows: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the rows in ``keys``: ``always_failed`` or ``answered``."""
        return np.array([row.tobytes() in keys for row in rows + 0.0], dtype=bool)


class YesOrNo(SuccessProbabilities):
    """A limit on an outcome that is yes or no; success is the value that the limit demands."""

    _model: AveragedSuccess

    @staticmethod
    def _learned(scaled: np.ndarray, succeeded: np.ndarray) -> AveragedSuccess:
        return AveragedSuccess(scaled, succeeded)

    def probability(self, row_sets: RowSets) -> np.ndarray:
        """Return the probability (n,) that the limit holds at each functional.

        As far as outcomes depend on the query, a query that was evaluated has the same again.
        """
        rows, share = middles(row_sets), self._model.share
        chance = self._model.chance(self._to_units(rows))
        again = share + (1.0 - share) * chance
        out = np.where(self.among(self.answered - self.failed, rows), again, chance)
        return np.where(self.among(self.always_failed, rows), (1.0 - share) * chance, out)

    def weights(self, rows: RowSets) -> np.ndarray:
        """Return the weight (n,) of an improvement: the probability with a power of its odds.

        Yes or no does not say how far a border is, so that the probability declines slowly there.
        """
        p = self.probability(rows)
        yes, no = p**defaults.YES_OR_NO_POWER, (1.0 - p) ** defaults.YES_OR_NO_POWER
        return yes / (yes + no)

    def certain_probability(self, row_sets: RowSets) -> np.ndarray:
        """Return probabilities (n,), 1 where the limit has always held, 0 where it never has."""
        rows = middles(row_sets)
        out = np.where(self.among(self.answered - self.failed, rows), 1.0, self.probability(rows))
        return np.where(self.among(self.always_failed, rows), 0.0, out)

    def sampler(self, row_sets: RowSets) -> MaskSampler:
        """Return a function that draws jointly at which functionals the limit holds.

        It holds where it always has, and does not where it never has.
        """
        rows = middles(row_sets)
        draw = self._model.sampler(self._to_units(rows))
        holds = self.among(self.answered - self.failed, rows)
        fails = self.among(self.always_failed, rows)
        return lambda n, rng: (draw(n, rng) | holds) & ~fails

    def copy(self) -> Self:
        """Return this model, which later observations do not change."""
        return self

    def excess(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability (n,) that the limit does not hold."""
        return 1.0 - self.certain_probability(rows)


def middles(row_sets: RowSets) -> np.ndarray:
    """Return the row (n, n_columns) that stands for each functional in a model of failures."""
    if isinstance(row_sets, np.ndarray):
        return row_sets
    return np.array([rows.mean(axis=0) for rows in row_sets])


#: Model of a limit.
LimitModel: TypeAlias = NumberWithinEnds | YesOrNo


class FeasibilityWeightedPosterior(QueryTargetPosterior):
    """Posterior of f weighted by feasibility: base + p (f - base), p being the probability of it.

    This is the expected value of a query if an infeasible one has the value ``base``. It is linear
    in f, so that all covariances follow.

    Parameters
    ----------
    known : QueryTargetPosterior
        The posterior of f.
    of_queries, of_targets : ndarray of shape (n_queries,) and (n_targets,)
        Probabilities p.
    base : float
        Value of an infeasible query or target, in units of the process.
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
            (self._weight_values(known.query_mean, of_queries), known.query_var * of_queries**2),
            (self._weight_values(known.target_mean, of_targets), known.target_var * of_targets**2),
        )

    def _weight_values(self, values: np.ndarray, chances: np.ndarray) -> np.ndarray:
        return self._base + chances * (values - self._base)

    def covariance(self) -> np.ndarray:
        """Return posterior covariances (n_queries, n_targets) of queries and targets."""
        return self._of_queries[:, np.newaxis] * self._known.covariance() * self._of_targets

    def target_covariance(self, number: int) -> np.ndarray:
        """Return posterior covariances (n_targets,) of one target with all targets."""
        p = self._of_targets
        return p[number] * self._known.target_covariance(number) * p

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, n_targets) of the targets."""
        return self._weight_values(self._known.draws(n_draws, rng), self._of_targets)

    def query_draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, n_queries) of the functionals that the queries observe."""
        return self._weight_values(self._known.query_draws(n_draws, rng), self._of_queries)

    def reduction(self, noise: np.ndarray, weights: np.ndarray, covariance: str) -> np.ndarray:
        """Return the weighted reduction (n_queries,) of all target deviations by an answer."""
        p = self._of_queries
        return p * self._known.reduction(noise / p**2, weights * self._of_targets, covariance)


def weight_by_limits(
    round: Round,
    limits: OutcomeConstraints,
    rows: tuple[np.ndarray, np.ndarray],
    known: GaussianProcess,
) -> Round:
    """Return a round whose queries and targets are weighted by the probability that limits hold.

    The base is the mean of the best feasible answered query, or the worst answer if no answered
    query is feasible.

    Parameters
    ----------
    round : Round
        The posterior of f.
    limits : OutcomeConstraints
        Posteriors of the outcomes.
    rows : pair of ndarrays of shape (n_queries, n_columns) and (n_targets, n_columns)
        Descriptors of queries and of targets.
    known : GaussianProcess
        The posterior of f without pending queries.
    """
    best = limits.base(known)
    base = worst_answer(known) if best is None else best
    return _weight_round(round, limits.weights, rows, base, base)[0]


def weight_by_success(
    round: Round,
    chances: SuccessProbabilities,
    rows: tuple[np.ndarray, np.ndarray],
    gp: GaussianProcess,
) -> Round:
    """Return a round whose queries and targets are weighted by their probability of success.

    The base is the worst answer.

    Parameters
    ----------
    round : Round
        The posterior of f.
    chances : SuccessProbabilities
        Probabilities of success.
    rows : pair of ndarrays of shape (n_queries, n_columns) and (n_targets, n_columns)
        Descriptors of queries and of targets.
    gp : GaussianProcess
        The posterior of f without pending queries, which has the answers.
    """
    low = worst_answer(gp)
    out, of_queries = _weight_round(round, chances.weights, rows, low, round.known.incumbent)
    # One answer takes 1 / p evaluations on average.
    out.cost = out.cost / of_queries
    return out


def worst_answer(known: GaussianProcess) -> float:
    """Return the smallest answer, in units of the process."""
    return float(known.posterior.targets().min())


def _weight_round(
    round: Round,
    of: Callable[[np.ndarray], np.ndarray],
    rows: tuple[np.ndarray, np.ndarray],
    base: float,
    incumbent: float | None,
) -> tuple[Round, np.ndarray]:
    """Return a round weighted by probabilities, and the probabilities (n_queries,) of its queries.

    ``rows`` are the descriptors of queries and of targets; ``of`` returns their probabilities.
    """
    first = of(rows[0])
    second = first if rows[1] is rows[0] else of(rows[1])
    known = FeasibilityWeightedPosterior(round.known, first, second, base, incumbent)
    return round.replace(known, round.query_noise * first**2, round.cost), first


# -- Feasibility of queries and targets ------------------------------------------------------------

#: Function that returns a mask (n,) of n rows, or n arrays of rows, that may be recommended.
IsFeasible: TypeAlias = Callable[[Any], np.ndarray]


class Utility(NamedTuple):
    """Discount of posterior means for failures and limits.

    Attributes
    ----------
    of : callable
        Takes rows (n, n_columns), means (n,) there, and whether these rows were answered; returns
        utilities (n,).
    n_probes : int
        Number of further points to evaluate, because the maximum may lie between candidates.
    """

    of: Callable[[np.ndarray, np.ndarray, bool], np.ndarray]
    n_probes: int


def with_means(utility: Utility | None, mean_of: Callable[[np.ndarray], np.ndarray]) -> Utility:
    """Return a utility of the means (n,) that a function of rows returns, for those of the process.

    ``utility`` is applied to these means; None for none.
    """
    if utility is None:
        return Utility(lambda rows, means, answered: mean_of(rows), 0)
    of = utility.of
    return Utility(
        lambda rows, means, answered: of(rows, mean_of(rows), answered), utility.n_probes
    )


class Feasibility:
    """Feasibility of queries and targets in the present round, by failures and limits.

    Parameters
    ----------
    outcomes : SuccessProbabilities or None
        Probabilities of success; None before the first failure.
    limits : OutcomeConstraints or None
        Probabilities that all limits hold; None without limits.
    gp : GaussianProcess
        The posterior of f, without pending queries.

    Attributes
    ----------
    chances : SuccessProbabilities or None
        ``outcomes``; None while the probability of success does not depend on the query.
    """

    def __init__(
        self,
        outcomes: SuccessProbabilities | None,
        limits: OutcomeConstraints | None,
        gp: GaussianProcess,
    ) -> None:
        self._outcomes, self.limits, self._gp = outcomes, limits, gp
        self.chances: SuccessProbabilities | None = (
            outcomes if outcomes is not None and outcomes.depends_on_query else None
        )

    @property
    def is_certain(self) -> bool:
        """True if all queries count as feasible."""
        return self.chances is None and self.limits is None

    # -- the next query -----------------------------------------------------------------------

    def weight_round(self, round: Round, settings: np.ndarray, targets: np.ndarray) -> Round:
        """Return a round whose queries and targets are weighted by their feasibility.

        Parameters
        ----------
        round : Round
            The posterior of f.
        settings : ndarray of shape (n_queries, n_columns)
            Rows that distinguish its queries.
        targets : ndarray of shape (n_targets, n_columns)
            Descriptors of its targets.
        """
        if self.limits is not None:
            round = weight_by_limits(round, self.limits, (settings, targets), self._gp)
        if self.chances is None:
            return round
        return weight_by_success(round, self.chances, (settings, targets), self._gp)

    def hopeless_mask(self, settings: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the queries to ask only if no others are left."""
        out = np.zeros(len(settings), dtype=bool)
        for each in (self.limits, self.chances):
            if each is not None:
                out |= each.hopeless_mask(settings)
        return out

    def mask_hopeless(self, values: np.ndarray, settings: np.ndarray) -> np.ndarray:
        """Return ``values`` (n,) of queries, with -inf for hopeless queries."""
        return values if self.is_certain else np.where(self.hopeless_mask(settings), -inf, values)

    def log_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return the logarithm (n,) of the weights of an improvement at rows (n, n_columns)."""
        out = np.zeros(len(rows))
        for each in (self.limits, self.chances):
            if each is not None:
                out += np.log(each.weights(rows))
        return out

    def utility(self) -> Utility | None:
        """Return the discount of posterior means by feasibility; None if everything is feasible."""
        if self.is_certain:
            return None
        limits, chances, low = self.limits, self.chances, worst_answer(self._gp)
        best = None if limits is None else limits.base(self._gp)

        def utility(rows: np.ndarray, means: np.ndarray, answered: bool) -> np.ndarray:
            if limits is not None:
                p = limits.weights(rows)
                above = (p >= defaults.HOPELESS_OF_LIMITS) & (
                    means > (inf if best is None else best)
                )
                base = np.where(above, best or 0.0, low)
                means = base + p * (means - base)
            if chances is not None and not answered:
                means = low + chances.weights(rows) * (means - low)
            return means

        return Utility(utility, 0 if limits is None else defaults.N_PROBES_OF_LIMITS)

    # -- the recommendation -------------------------------------------------------------------

    @property
    def limits_mask(self) -> IsFeasible | None:
        """Function that returns a mask of the answered queries within all limits; None without."""
        return None if self.limits is None else self.limits.feasible_mask

    @property
    def feasible_mask(self) -> IsFeasible | None:
        """Function that returns a mask of the targets that may be recommended; None for all."""
        every = [each.feasible_mask for each in (self._outcomes, self.limits) if each is not None]
        return (lambda rows: np.all([each(rows) for each in every], axis=0)) if every else None


class FeasibilityOfQueries(Feasibility):
    """Feasibility of indirect queries, which can fail; the targets, which are points, cannot."""

    def weight_round(self, round: Round, settings: np.ndarray, targets: np.ndarray) -> Round:
        """Return a round whose costs are divided by the probability of success of a query."""
        if self.chances is None:
            return round
        # One answer takes 1 / p evaluations on average.
        cost = round.cost / self.chances.weights(settings)
        return round.replace(round.known, round.query_noise, cost)

    def hopeless_mask(self, settings: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the queries that are likely to fail."""
        assert self.chances is not None
        return self.chances.unlikely_mask(settings)

    @property
    def feasible_mask(self) -> None:
        """None: every target may be recommended."""
        return None
