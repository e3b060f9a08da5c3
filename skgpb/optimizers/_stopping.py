"""Stop rules, the expected gain of further answers, and the suboptimality gap.

Expected gain: if n queries are chosen at once, the posterior means after their answers are jointly
normal. The gain is the expected amount by which the largest of them exceeds the largest mean of
today, the knowledge gradient of n queries [Wu2016]_. Queries that are chosen one by one gain more.

Gap: the recommendation is compared with its rivals, the other functionals of f that could have been
recommended [Wilson2024]_. If there are too many to list, a finite sample represents them.

References
----------
.. [Wilson2024] J. Wilson, "Stopping Bayesian Optimization with Probabilistic Regret Bounds",
   NeurIPS 2024.
.. [Wu2016] J. Wu and P. Frazier, "The Parallel Knowledge Gradient Method for Batch Bayesian
   Optimization", NeurIPS 2016.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import partial
from math import floor, inf, log, nan, pi
from typing import Any

import numpy as np
from scipy.stats import norm, qmc

from skgpb import defaults
from skgpb.acquisition.improvement import log_own_gain
from skgpb.guarantee import DEFAULT_GUARANTEE, Guarantee
from skgpb.kernels.evaluator import Functionals
from skgpb.optimizers._feasibility import OutcomeConstraints
from skgpb.surrogate.bounded_norm import Widths
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.models import Models
from skgpb.surrogate.suboptimality_gap import FeasibleGap, SuboptimalityGap
from skgpb.utils.validation import Real, check_size

__all__ = ["Stop", "StopRule"]

# -- Stop rules ------------------------------------------------------------------------------------


def check_share(value: Any, name: str) -> float:
    """Return ``value`` as a float; raise ValueError if it is not in (0, 1)."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0.0 < value < 1.0:
        raise ValueError(f"{name} must be a number in (0, 1), got {value!r}")
    return float(value)


def n_answers_before_check(n_dims: int) -> int:
    """Return the number of answers before the first check with a learned kernel (D-G12)."""
    return defaults.FIRST_STOP * max(1, n_dims - 1)


class StopRule(ABC):
    """A rule that ends a run before its budget, as the parameter ``stop`` of ``run``.

    A rule of your own defines :meth:`decide`, see :doc:`/development/new_stop`. A function of the
    optimizer is a rule without a class: it is called where :meth:`decide` would be.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import GPUCBOptimizer
    >>> from skgpb.optimizers import StopRule
    >>> class Reached(StopRule):
    ...     def __init__(self, target):
    ...         self.target = target
    ...     def decide(self, optimizer):
    ...         best = optimizer.history_["reward"].max()
    ...         return f"an answer is above {self.target}" if best > self.target else ""
    >>> opt = GPUCBOptimizer(RBF(0.3), bounds=[(0, 1)], alpha=1e-4, random_state=0)
    >>> opt.run(lambda query: 1 - query.points.mean(), budget=50, stop=Reached(0.9)).message
    'an answer is above 0.9'
    """

    @abstractmethod
    def decide(self, optimizer: Any) -> str | bool:
        """Return the reason to end the run now; an empty text if it goes on.

        Parameters
        ----------
        optimizer : optimizer
            The search, with at least one answer. Reading it changes no run.

        Returns
        -------
        reason : str or bool
            ``message`` of the result. True stands for the attribute ``message`` of the rule.
        """

    def check(self, optimizer: Any) -> None:  # noqa: B027 - most rules have nothing to check
        """Raise ValueError if the rule cannot be used; called before the first query.

        Parameters
        ----------
        optimizer : optimizer
            The search, before its run or with the answers of an earlier one.
        """

    def gap_function(self, optimizer: Any, best: Any) -> Callable[[], float]:
        """Return a function that computes ``gap`` of the result, in the present state of the run.

        Parameters
        ----------
        optimizer : optimizer
            The search at the end of its run.
        best : query
            The recommendation.

        Returns
        -------
        gap : callable
            Called without arguments when ``result.gap`` is first read. The default is the gap that
            is exceeded with probability 0.05; NaN if the search cannot bound it.
        """
        return gap_later(optimizer, best)


class FunctionRule(StopRule):
    """A function of the optimizer as a stop rule; its attribute ``message`` is that of the rule."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self.message: str = getattr(function, "message", "stop returned True")

    def decide(self, optimizer: Any) -> Any:
        """Return the result of the function."""
        return self._function(optimizer)


def stop_rule(stop: Any) -> StopRule:
    """Return the rule of the parameter ``stop``; raise TypeError if it is none."""
    if isinstance(stop, StopRule):
        return stop
    if stop is None:
        return FunctionRule(lambda _: False)
    if isinstance(stop, type) and issubclass(stop, StopRule):
        raise TypeError(f"stop must be a rule and not its class, such as {stop.__name__}(...)")
    if not callable(stop):
        raise TypeError(
            "stop must be a StopRule such as Stop, a function of the optimizer or None, got "
            f"{stop!r}"
        )
    return FunctionRule(stop)


@dataclass(eq=False, repr=False)
class Stop(StopRule):
    """Stop when the recommendation is within epsilon of the best, with probability 1 - delta.

    The rule of [Wilson2024]_. It draws the values of all possible recommendations jointly from the
    posterior, until it can decide whether the best of a draw exceeds the recommendation by more
    than epsilon with a probability of at most delta. delta includes the error of the draws in all
    checks. The rule is checked whenever the number of answers has grown by a tenth.

    Parameters
    ----------
    epsilon : float
        Largest difference between the best and the recommendation, in units of the reward, > 0.
    delta : float, default=0.05
        Probability, in (0, 1), with which the difference may be larger.
    min_answers : int, default=None
        Answers before the first check. None stands for 1, or, if hyperparameters or the noise are
        learned, for 30 in one and two dimensions and 30 (d - 1) in d.
    bound : {"draws", "interval"}, default="draws"
        "draws" is the rule above. "interval" waits until no upper end of an interval is more than
        epsilon above the lower end of the recommendation's, which holds for every f of norm at most
        ``B`` and not on average over the prior, and needs many more answers. The optimizer's
        ``guarantee.failure_probability`` must be at most delta.

    Notes
    -----
    The claim is as good as the model. It holds for functions that are drawn from the prior; if
    hyperparameters are learned it is too bold as long as answers are few, see :ref:`stopping`.
    If the kernel of arms, rows or a box is learned, the average over models of several
    smoothnesses, length scales and noise variances has to agree (:mod:`skgpb.surrogate.models`).
    These models expect the standard deviation of f to be at least two epsilon.
    A stop never changes the queries of a run, and has random numbers of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import GPUCBOptimizer, Stop
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> opt = GPUCBOptimizer(RBF(0.2), arms=np.linspace(0, 1, 101)[:, None], alpha=0.1**2)
    >>> result = opt.run(noisy, budget=500, stop=Stop(epsilon=0.1))
    >>> result.nfev < 50, result.gap < 0.1
    (True, True)
    >>> result.message
    'within 0.1 of the best with probability 0.95'
    """

    epsilon: float
    delta: float = 0.05
    _: KW_ONLY
    min_answers: int | None = None
    bound: str = "draws"

    def __post_init__(self) -> None:
        number = isinstance(self.epsilon, Real) and not isinstance(self.epsilon, bool)
        if not number or not 0.0 < self.epsilon < float("inf"):
            raise ValueError(f"epsilon must be a finite number > 0, got {self.epsilon!r}")
        self.epsilon, self.delta = float(self.epsilon), check_share(self.delta, "delta")
        if self.bound not in ("draws", "interval"):
            raise ValueError(f"bound must be 'draws' or 'interval', got {self.bound!r}")
        if self.min_answers is not None:
            self.min_answers = check_size(self.min_answers, "min_answers")

    @property
    def message(self) -> str:
        """Reason for the end of a run that this rule has stopped."""
        return f"within {self.epsilon:g} of the best with probability {1.0 - self.delta:g}"

    def risks(self, n: int, learned: bool = False, n_dims: int = 1) -> tuple[float, float] | None:
        """Return the parts of delta for the posterior and for its draws after n answers.

        Parameters
        ----------
        n : int
            Number of answers.
        learned : bool, default=False
            Whether hyperparameters or the noise are learned from them.
        n_dims : int, default=1
            Number of dimensions, read if hyperparameters are learned.

        Returns
        -------
        risks : tuple of two floats, or None
            Error probabilities of the posterior and of the draws; None if no check is due.
        """
        if n < (self.min_answers or (n_answers_before_check(n_dims) if learned else 1)):
            return None
        # Counted by the number of answers, so that a resumed run makes the same checks.
        check = floor(log(n) / log(defaults.STOP_GROWTH))
        if n > 1 and check == floor(log(n - 1) / log(defaults.STOP_GROWTH)):
            return None
        share = 6.0 / (pi * (check + 1)) ** 2  # the shares of all checks sum to one
        of_draws = (1.0 - defaults.POSTERIOR_SHARE) * self.delta * share
        return defaults.POSTERIOR_SHARE * self.delta, of_draws

    def check(self, optimizer: Any) -> None:
        """Raise ValueError if the search cannot bound how far its recommendation is from the best.

        Parameters
        ----------
        optimizer : optimizer
            The search.
        """
        own = optimizer._params
        if not optimizer._can_bound_gap:
            why = "" if own.context_bounds is None else " because it depends on the context"
            raise ValueError(
                f"stop must be a function of the optimizer or None for {type(optimizer).__name__}, "
                f"which cannot bound the loss of its recommendation{why}; got {self!r}"
            )
        if self.bound == "interval":
            check_failures(own.guarantee, self.delta, f"delta={self.delta:g} of {self!r}")

    def decide(self, optimizer: Any) -> str:
        """Return :attr:`message` if the recommendation is good enough; empty if not or not known.

        Parameters
        ----------
        optimizer : optimizer
            The search.

        Returns
        -------
        reason : str
        """
        with optimizer._lock:
            model, run = optimizer._model, optimizer.run_
            is_learned = model is not None and model.learns
            risks = self.risks(run.n_observations, is_learned, optimizer.n_features_in_)
            comparison = None if risks is None else comparison_of(optimizer, optimizer.recommend())
            if risks is None or comparison is None:
                return ""
            if self.bound == "interval":
                return self.message if comparison.interval_gap() <= self.epsilon else ""
            rng = gap_rng(run.seed, run.n_told)
            over = optimizer._gap_averages()
        within = comparison.is_within(self.epsilon, risks, rng)
        return f"{self.message}{f', {over}' * bool(over)}" if within else ""

    def gap_function(self, optimizer: Any, best: Any) -> Callable[[], float]:
        """Return a function that computes the gap with the delta and the bound of this rule.

        Parameters
        ----------
        optimizer : optimizer
            The search.
        best : query
            The recommendation.

        Returns
        -------
        gap : callable
        """
        return gap_later(optimizer, best, self.delta, self.bound == "interval")

    def __repr__(self) -> str:
        return f"Stop(epsilon={self.epsilon:g}, delta={self.delta:g}, bound={self.bound!r})"


# -- Expected gain of further answers --------------------------------------------------------------

# Accuracy: number of draws of further answers.
N_DRAWS = 256
# Rounding: a variance below this share of the prior variance counts as 0.
KNOWN = 1e-9


class _Lookahead:
    """Posterior moments of functionals after hypothetical answers to some of them.

    Attributes
    ----------
    mean, var : ndarray of shape (n,)
        Present posterior means, and variances after the answers, in the user's units.
    """

    def __init__(self, gp: GaussianProcess, row_sets: Sequence[np.ndarray]) -> None:
        self._gp, self._functionals = gp, Functionals.of(list(row_sets), gp.n_columns)
        V = gp.covariance(self._functionals, gp.observed)
        self.mean: np.ndarray = (V @ gp.posterior.weights()) * gp.scale
        gp.posterior.solve_rows(V)
        self._explained = V
        self._prior = gp.variance(self._functionals) * gp.scale**2
        left = self._prior - np.einsum("ij,ij->i", V, V) * gp.scale**2
        self.var: np.ndarray = np.maximum(left, 0.0)
        # Change of all means (n,) per standard deviation of each answer.
        self.moves: list[np.ndarray] = []

    def answer(self, i: int, noise: float) -> None:
        """Add a hypothetical answer to functional i."""
        gp, V = self._gp, self._explained
        column = gp.covariance(self._functionals, self._functionals.one(i))[:, 0] - V @ V[i]
        column = column * gp.scale**2 - sum(move * move[i] for move in self.moves)
        total = float(column[i]) + noise
        # A functional of variance 0 changes no mean; dividing by it would amplify rounding errors.
        move = column / np.sqrt(total) if total > KNOWN * self._prior[i] else 0.0 * column
        self.moves.append(move)
        self.var = np.maximum(self.var - move**2, 0.0)


def greedy_batch(
    gp: GaussianProcess,
    row_sets: Sequence[np.ndarray],
    noise: float,
    n: int,
    limits: OutcomeConstraints | None = None,
) -> list[int]:
    """Return the indices of n functionals, chosen one by one by the gain of each by itself.

    With limits a difference from the last functional counts as far as it is probable that they
    hold.
    """
    further, chosen = _Lookahead(gp, row_sets), list[int]()
    p, base = np.ones(len(row_sets)), float(further.mean[-1])
    mean = further.mean
    if limits is not None:
        p = limits.weights([*row_sets])
        mean = base + p * (mean - base)
    for _ in range(n):
        gains = log_own_gain(mean, p**2 * further.var, p**2 * noise)
        chosen.append(int(np.argmax(gains)))
        further.answer(chosen[-1], noise)
    return chosen


def expected_gain(
    gp: GaussianProcess,
    row_sets: Sequence[np.ndarray],
    noise: float,
    chosen: Sequence[int],
    masks: np.ndarray | None = None,
) -> float:
    """Return the expected increase of the largest posterior mean by further answers.

    Parameters
    ----------
    gp : GaussianProcess
        The posterior.
    row_sets : sequence of ndarray of shape (n_rows, n_columns)
        Descriptor rows of the functionals that can be queried and recommended.
    noise : float
        Noise variance of an answer, in the user's units.
    chosen : sequence of int
        Indices of the functionals that will be answered.
    masks : ndarray of shape (N_DRAWS, n_functionals), default=None
        With limits, the functionals that can be recommended after the answers of each draw. The
        last one is recommended before. None if every functional can be recommended.

    Returns
    -------
    gain : float
        In the user's units, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.surrogate import GaussianProcess
    >>> gp = GaussianProcess(RBF(0.3), n_columns=1)
    >>> _ = gp.observe(np.array([[0.0]]), 2.0, noise=0.01)
    >>> row_sets = list(np.linspace(0, 1, 21)[:, None, None])
    >>> chosen = greedy_batch(gp, row_sets, 0.01, 3)
    >>> print(f"{expected_gain(gp, row_sets, 0.01, chosen):.2f}")
    0.11
    """
    further = _Lookahead(gp, row_sets)
    for i in chosen:
        further.answer(i, noise)
    normals = norm.ppf(qmc.Sobol(len(chosen), rng=0).random(N_DRAWS))
    later, now = further.mean + normals @ np.array(further.moves), further.mean.max()
    if masks is not None:
        later, now = np.where(masks, later, -np.inf), further.mean[-1]
    return max(0.0, float(later.max(axis=1).mean() - now))


# -- Suboptimality gap -----------------------------------------------------------------------------

# Format: key of the random stream of a gap, different from all other streams of a run.
GAP_STREAM = 0x676170
# Accuracy: number of regions that are refined on each level, once there are MANY_REGIONS of them.
BEAM, MANY_REGIONS = 16, 256


class Comparison(ABC):
    """Posterior of the recommendation and of its rivals, in the present state of a search.

    Parameters
    ----------
    gp : GaussianProcess
        The posterior.
    best : ndarray of shape (n_rows, n_columns)
        Descriptor rows of the recommendation.
    widths : callable
        Returns the present widths of intervals for every f of bounded norm.
    models : callable, default=None
        Returns the models that are averaged, given an epsilon; None if ``gp`` is the only one.
    limits : OutcomeConstraints, default=None
        Limits that rivals must keep; None without limits.
    keeps_limits : bool, default=True
        Whether the recommendation is known to keep all limits.
    """

    def __init__(
        self,
        gp: GaussianProcess,
        best: np.ndarray,
        widths: Callable[[], Widths],
        models: Callable[[float], Models] | None = None,
        limits: OutcomeConstraints | None = None,
        keeps_limits: bool = True,
    ) -> None:
        self._gp, self._best, self._widths, self._models = gp, best, widths, models
        self._limits = limits
        self.keeps_limits: bool = keeps_limits
        # With coarse answers only averages are compared; Stop also waits for this comparison of
        # the targets themselves, so that it does not end a run that still resolves them.
        self.finest: Comparison | None = None

    @abstractmethod
    def row_sets(self) -> list[np.ndarray]:
        """Return the descriptor rows of the rivals, and last of the recommendation."""

    def __call__(self) -> SuboptimalityGap:
        """Return the gap between the recommendation and the best rival, by ``gp`` alone."""
        row_sets = self.row_sets()
        return self._within_limits(SuboptimalityGap.from_process(self._gp, row_sets), row_sets)

    def _within_limits(self, gap: SuboptimalityGap, row_sets: list[np.ndarray]) -> SuboptimalityGap:
        """Return the gap to the rivals that keep all limits."""
        limits = self._limits
        if limits is None:
            return gap
        p = limits.certain_probability(row_sets)
        return FeasibleGap(
            gap, p, lambda some: limits.sampler([row_sets[i] for i in some.tolist()])
        )

    def interval_gap(self) -> float:
        """Return the largest upper end minus the lower end of the recommendation, at least 0.

        It is infinite if the recommendation may violate a limit. Rivals count unless they hardly
        keep all limits.
        """
        if not self.keeps_limits:
            return inf
        lower, upper = self._widths().ends(self.row_sets())
        return max(0.0, float(upper.max() - lower[-1]))

    def gap(self, delta: float, rng: np.random.Generator) -> float:
        """Return the bound on the gap that holds with probability 1 - delta.

        It is infinite if the recommendation may violate a limit.
        """
        if not self.keeps_limits:
            return inf
        return (self.model_average() or self()).quantile(delta, rng)

    def is_within(
        self, epsilon: float, risks: tuple[float, float], rng: np.random.Generator
    ) -> bool:
        """Return whether the gap is at most epsilon, for ``risks`` by :meth:`Stop.risks`."""
        if not self.keeps_limits or self.is_refuted(epsilon, risks[0]):
            return False
        if self.finest is not None and not self.finest.is_within(epsilon, risks, rng):
            return False
        if not self().is_within(epsilon, *risks, rng):
            return False
        averaged = self.model_average(epsilon)
        return averaged is None or averaged.is_within(epsilon, *risks, rng)

    def model_average(self, epsilon: float = 0.0) -> SuboptimalityGap | None:
        """Return the gap averaged over models; None if there is one model.

        With epsilon > 0 the models assume that f varies by more than that.
        """
        models, row_sets = self.models(epsilon), self.row_sets()
        if models is None:
            return None
        return self._within_limits(models.suboptimality_gap(row_sets), row_sets)

    def expected_gain(self, noise: float, n: int) -> float:
        """Return the expected increase of the largest mean by n answers with this noise variance.

        With averaged models each has its own noise variance. NaN if the recommendation may violate
        a limit. Later recommendations are queries whose answers are within all limits.
        """
        row_sets, limits, masks = self.row_sets(), self._limits, None
        if not self.keeps_limits:
            return nan
        chosen = greedy_batch(self._gp, row_sets, noise, n, limits)
        if limits is not None:
            masks = np.zeros((N_DRAWS, len(row_sets)), dtype=bool)
            draw = limits.sampler([row_sets[i] for i in chosen])
            masks[:, chosen] = draw(N_DRAWS, np.random.default_rng(0))
            masks[:, -1] = True
        models = self.models()
        if models is None:
            return expected_gain(self._gp, row_sets, noise, chosen, masks)
        noises = np.full(len(models.weights), noise) if models.noises is None else models.noises
        gains = [
            expected_gain(gp, row_sets, own, chosen, masks)
            for gp, own in zip(models.processes, noises, strict=True)
        ]
        return float(models.weights @ gains)

    def models(self, epsilon: float = 0.0) -> Models | None:
        """Return the averaged models, see :meth:`model_average`; None if there is one model."""
        return None if self._models is None else self._models(epsilon)

    def is_refuted(self, epsilon: float, delta: float) -> bool:
        """Return whether tracked values show already that the gap may exceed epsilon."""
        return False


class Rivals(Comparison):
    """Comparison with finitely many rows; ``parts`` are the arguments of :class:`Comparison`."""

    def __init__(self, rows: np.ndarray, *parts: Any) -> None:
        super().__init__(*parts)
        self._rows = rows

    def row_sets(self) -> list[np.ndarray]:
        """Return each row of a rival as a set, and last the rows of the recommendation."""
        return [*(self._rows[i : i + 1] for i in range(len(self._rows))), self._best]

    def over(self, averages: Callable[[np.ndarray], np.ndarray]) -> Rivals:
        """Return the comparison of averages, by a function of the rows of targets."""
        found = copy(self)
        found._rows, found._best, found.finest = averages(self._rows), averages(self._best), self
        return found


class Refined(Comparison):
    """Comparison with the regions of a domain and with finer ones inside them."""

    def __init__(self, domain: Any, finest_depth: int, *parts: Any) -> None:
        super().__init__(*parts)
        self._domain, self.finest_depth = domain, finest_depth

    def is_refuted(self, epsilon: float, delta: float) -> bool:
        """Return whether a tracked region is more than epsilon better with probability > delta."""
        if self.finest is not None:  # tracked regions may be finer than the compared ones
            return False
        beside = SuboptimalityGap.from_marginals(self._gp, self._best)
        return bool(beside.ahead(epsilon).max(initial=0.0) > delta)

    def row_sets(self) -> list[np.ndarray]:
        """Refine all regions until there are MANY_REGIONS, then the BEAM best; return all."""
        regions, finest_depth = self._domain.copy(), self.finest_depth
        front, row_sets = regions.front(finest_depth), []
        while front:
            new = [regions.row_set(each) for each in front]
            row_sets += new
            if len(front) >= MANY_REGIONS:
                mean, std = self._gp.moments(new, std=True)
                order = np.argsort(-(mean + 3.0 * std), kind="stable")
                front = [front[i] for i in order[:BEAM]]
            front = regions.finer(front, finest_depth)
        return [*row_sets, self._best]


def gap_later(
    search: Any, best: Any, delta: float | None = None, by_interval: bool = False
) -> Callable[[], float]:
    """Return a function that computes the gap of the present state.

    None for ``delta`` stands for the default. The gap by intervals is computed at once, because it
    needs the present state.
    """
    comparison = None if best is None else comparison_of(search, best)
    if comparison is None:
        return lambda: nan
    if by_interval:
        return partial(float, comparison.interval_gap())
    rng = gap_rng(search.run_.seed, search.run_.n_told)
    return partial(comparison.gap, defaults.GAP_DELTA if delta is None else delta, rng)


def comparison_of(search: Any, best: Any) -> Comparison | None:
    """Return the comparison of the recommendation with its rivals; None if no gap can be stated.

    Answers that show nothing of f leave a learned kernel an assumption.
    """
    if not search._can_bound_gap:
        return None
    model = search._model
    is_assumed = model is not None and model.prior is not None and model.diagnosis.shows_nothing
    return None if is_assumed else search._comparison(best)


def asked_depth(cells: Iterable[Any], n_children: int) -> int:
    """Return the depth of the finest level of which most cells were asked, at least 1.

    A cell counts if it, or a cell inside it, was asked.

    Parameters
    ----------
    cells : iterable of Cell or IndirectCell
        The asked cells.
    n_children : int
        Number of children of a cell.
    """
    nodes, depth = {(cell.depth, cell.index) for cell in cells}, 0
    while True:
        at = {i // n_children ** (h - depth - 1) for h, i in nodes if h > depth}
        if len(at) < defaults.ASKED_SHARE * n_children ** (depth + 1):
            return max(1, depth)
        depth += 1


def over_regions(depth: int, n_children: int) -> str:
    """Return the averages over cells of this depth as text."""
    return f"averaged over regions of 1/{n_children**depth} of the space"


def over_windows(sizes: np.ndarray, measure: str = "") -> str:
    """Return the averages over windows with these sides (d,), or another measure, as text."""
    found = " x ".join(f"{size:.3g}" for size in sizes.tolist())
    return f"averaged over windows of {measure}{found}"


def gap_rng(seed: Any, n_told: int) -> np.random.Generator:
    """Return a generator of its own for a gap, the same for the same state of a run."""
    return np.random.default_rng([seed, n_told, GAP_STREAM])


def check_failures(guarantee: Guarantee | None, delta: float, name: str) -> None:
    """Raise ValueError if intervals may fail with a probability above delta."""
    given = (guarantee or DEFAULT_GUARANTEE).failure_probability
    if given > delta:
        raise ValueError(
            f"intervals fail with guarantee.failure_probability={given!r}, which must be at "
            f"most {name}"
        )
