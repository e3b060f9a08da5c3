"""State of one run of a search: events, pending queries, parameters in use, and its result.

:class:`Run` has no reference to its search, so that a copy, a pickle or a restored run needs no
rebinding. History, failures and pending queries are derived from its list of events.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import partial
from time import time
from types import SimpleNamespace
from typing import Any, Generic, Self, TypeVar

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.gaussian_process.kernels import Kernel

from skgpb.domains.arms import PointsQuery
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import AllPendingError
from skgpb.optimizers._feasibility import (
    CheckedLimit,
    SuccessProbabilities,
    keeps_limit,
    limit_in_words,
)
from skgpb.optimizers._inputs import Sign, checked_space, joint_space
from skgpb.utils.typing import RecommendMethod
from skgpb.utils.validation import validate_params

# -- Parameters of a run: copies, which ``set_params`` changes between two rounds ------------------

#: Parameters, of any class, that a run reads at its start only.
AT_START: frozenset[str] = frozenset(
    {
        "answer_kernel",
        "arms",
        "bounds",
        "conditional",
        "context_bounds",
        "costs",
        "direction",
        "feedback",
        "kernel",
        "location",
        "max_depth",
        "metric",
        "min_members",
        "n_candidates",
        "n_children",
        "n_context",
        "n_points",
        "n_representatives",
        "operator",
        "optimizers",
        "pool",
        "queries",
        "query_bounds",
        "query_kernel",
        "r_min",
        "random_state",
        "scale",
        "targets",
        "window",
    }
)


#: Parameters that determine which queries there are.
SPACE: frozenset[str] = frozenset(
    {"arms", "bounds", "optimizers", "pool", "queries", "query_bounds"}
)


def check_parameters(estimator: Any) -> None:
    """Raise an error if a parameter has a value that is not accepted."""
    validate_params(estimator)
    guarantee = getattr(estimator, "guarantee", None)
    if guarantee is not None:
        validate_params(guarantee)


def checked_method(
    method: RecommendMethod | None, known: tuple[RecommendMethod, ...]
) -> RecommendMethod:
    """Return a valid ``method`` of ``recommend``; None stands for the first of ``known``."""
    if method is None:
        return known[0]
    if method not in known:
        raise ValueError(f"method must be None or one of {list(known)}, got {method!r}")
    return method


def own_copy(value: Any) -> Any:
    """Return a private copy of a parameter, or the value itself if it is immutable.

    Functions are not copied, nor are random generators, from which a run draws its seed.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        if value.base is None and not value.flags.writeable:
            return value
        value = value.copy()
        value.flags.writeable = False
        return value
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return value
    if callable(value) and not isinstance(value, Kernel):
        return value
    try:
        return deepcopy(value)
    except Exception:  # such as a table that is a connection
        return value


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two values of a parameter are equal; False if they cannot be compared."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    try:
        return bool(one == other)
    except Exception:  # arrays within lists have no truth value
        return False


# -- The run ---------------------------------------------------------------------------------------

#: Result of a model of failures.
FailureModel = TypeVar("FailureModel")

#: An event of a run: its kind, followed by the values of this kind.
Event = tuple[Any, ...]

# Kinds of events that are answers to a query.
ANSWERED = ("tell", "fail", "rows")
# Kinds of events before and after answers that were told together.
TOGETHER = ("together", "apart")
# Kinds of events that are about a query.
OF_QUERIES = ("ask", "outcomes", "withdraw", *ANSWERED)
# Format: value in ``pending`` of a query that is not pending.
NOT_PENDING = -1


def history_table(
    rows: list[tuple[Any, ...]], d: int, sign: Callable[[Any], Any], *fields: tuple[Any, ...]
) -> np.ndarray:
    """Return rows of boxes (2 d,), rewards, means, deviations and further fields as a table."""
    numbers = [(name, np.float64) for name in ("reward", "mean", "std")]
    dtype = [("round", np.intp), ("descriptor", np.float64, (2 * d,)), *numbers, *fields]
    table = np.array([(i, *row) for i, row in enumerate(rows, 1)], dtype=dtype)
    for name in ("reward", "mean"):
        table[name] = sign(table[name])
    return table


def failure_table(failures: list[tuple[int, Any, str]], d: int) -> np.ndarray:
    """Return the failures of a :class:`Run` as a table, of width 2 d if it is empty."""
    rows = [(i, query.box, reason) for i, query, reason in failures]
    width = len(rows[0][1]) if rows else 2 * d
    dtype = [("round", np.intp), ("descriptor", np.float64, (width,)), ("reason", object)]
    return np.array(rows, dtype=dtype)


def event_block_name(event: Event) -> str | None:
    """Return the name of the block of a "tell" event; None if it has none, or for other events."""
    return event[4] if event[0] == "tell" and len(event) > 4 else None


@dataclass(frozen=True, eq=False)
class CompletedEvaluation:
    """The result, for ``tell``, of an evaluation that started after ``n_events`` events."""

    query: Any
    outcome: tuple[Any, Any]
    n_events: int


class Evaluations:
    """Evaluations that may outlive the call of ``run`` that started them.

    Attributes
    ----------
    batch : list of queries
        Queries that ``run`` is evaluating, or whose results it has not passed to ``tell`` yet. The
        list is replaced, not changed.
    arrived : list of CompletedEvaluation
        Results that this call of ``run``, or a later one, passes to ``tell`` next.
    """

    def __init__(self) -> None:
        self.batch: list[Any] = []
        self.arrived: list[CompletedEvaluation] = []


def identity(query: Any) -> tuple[Any, str]:
    """Return a key of a query by which it differs from others at its coordinates in other boxes."""
    return query, repr(query.params) if query.has_names else ""


class Run:
    """State of one run of a search, without a reference to the search.

    Parameters
    ----------
    given : dict
        Copies of the parameters at the start, and defaults of parameters that the class lacks.
    seen : dict
        Parameters, as they are on the search.

    Attributes
    ----------
    events : list of events
        All events, in order. The other attributes can be derived from them.
    history : list of tuples
        A row for each answer.
    n_told, n_fitted : int
        Number of answers, and of evaluations that were given to ``fit``.
    pending : dict
        Queries being evaluated (None), and failed or withdrawn queries with the count of answers
        and failures from which on ``ask`` may return them again.
    failures : list of tuples
        For each failure: the number of answers before it, the query and the reason.
    times : list of float
        Time of each answer and failure, in seconds since 1970; NaN if it is unknown.
    asked : list of queries
        Queries since the last answer or failure; ``ask`` returns them again.
    asked_again : set of queries
        Queries that ``ask`` returned more than once before their answer.
    moved : dict
        The present query for each query, with the text of its settings, from before the box
        or the arms changed: in another box the same coordinates may be other settings.
    params : SimpleNamespace
        The parameters in use.
    space, actions, context_space, query_space : ParameterSpace or None
        Names of the sides of the whole box, of actions, of contexts and of queries.
    sign : Sign
        The sign of rewards.
    seed : int, list of int or None
        Seed of all random numbers, or one for each campaign; None if there are none.
    parameters, newest, seen : dict
        Copies of the parameters at the start, copies of the latest ones, and the latest objects
        themselves, to notice a change by identity.
    unwarned : list of str
        Parameters that wait for the next ``fit``, and of which no warning was issued yet.
    rows : dict
        Number of rows of a table in a query, for the queries whose rows were counted.
    blocks : dict
        Numbers, from 1, of the blocks of answers by name, in order of appearance.
    block : str or None
        Block of the answer that is being applied.
    together : list of tuples or None
        Answers that are being told together, so far; None if each is applied at once.
    names : list of str or None
        Columns of the first table that the run was given, in a box whose sides have no names.
    evaluations : Evaluations
        Evaluations of calls of ``run``.
    """

    _kept_fields = ("times", "history", "failures", "pending", "asked", "rows", "n_fitted")

    space: ParameterSpace | None
    actions: ParameterSpace | None
    context_space: ParameterSpace | None
    query_space: ParameterSpace | None

    def __init__(self, given: dict[str, Any], seen: dict[str, Any]) -> None:
        self.params: SimpleNamespace = SimpleNamespace(**given)
        self.parameters: dict[str, Any] = {name: given[name] for name in seen}
        self.newest: dict[str, Any] = self.parameters
        self.seen = seen
        self.unwarned: list[str] = []
        self.sign: Sign = Sign(given["direction"] == "minimize")
        self.seed: Any = None
        self.evaluations: Evaluations = Evaluations()
        self.events: list[Event] = []
        self.history: list[tuple[Any, ...]] = []
        self.n_told: int = 0
        self.n_fitted: int = 0
        self.pending: dict[Any, int | None] = {}
        self.failures: list[tuple[int, Any, str]] = []
        # Models of failures, by the numbers of answers and failures.
        self._taught: dict[tuple[int, int], Any] = {}
        self.times: list[float] = []
        self.asked: list[Any] = []
        self.asked_again: set[Any] = set()
        self.moved: dict[tuple[Any, str], Any] = {}
        self.rows: dict[Any, int] = {}
        self.blocks: dict[str, int] = {}
        self.block: str | None = None
        self.together: list[Any] | None = None
        self.names: list[str] | None = None

    def name_sides(
        self, optimizer: str, sides: str, keeps_settings: bool, keeps_ranges: bool
    ) -> None:
        """Set the names of the sides of all boxes; for the arguments see ``checked_space``."""
        own, space_of = self.params, partial(checked_space, optimizer=optimizer, sides=sides)
        actions = space_of(
            own.bounds, "bounds", keeps_settings=keeps_settings, keeps_ranges=keeps_ranges
        )
        contexts = space_of(own.context_bounds, "context_bounds")
        self.actions, self.context_space = actions, contexts
        self.query_space = space_of(vars(own).get("query_bounds"), "query_bounds")
        self.space = joint_space(contexts, actions, own.context_bounds, own.bounds)

    @property
    def has_data(self) -> bool:
        """True if there are answers, or evaluations given to ``fit``."""
        return self.n_observations > 0

    @property
    def n_observations(self) -> int:
        """Number of observations: answers, and evaluations given to ``fit``."""
        return self.n_told + self.n_fitted

    @property
    def evaluating(self) -> list[Any]:
        """Queries being evaluated, in the order in which ``ask`` returned them."""
        return [query for query, until in self.pending.items() if until is None]

    @property
    def left_out(self) -> list[Any]:
        """Failed queries, and withdrawn ones that ``ask`` does not return yet."""
        queries = [query for _, query, _ in self.failures]
        return [*queries, *(q for q, end in self.pending.items() if end and q not in queries)]

    @property
    def stratum(self) -> int:
        """Number of the block of the answer that is being applied; 0 if it has none."""
        return self.number_of(self.block)

    def n_measured(self, name: str) -> int:
        """Return the number of answers that came with the outcome ``name``."""
        told = (event[2] for event in self.events if event[0] == "outcomes")
        return sum(outcomes.get(name) is not None for outcomes in told)

    def beyond(self, limits: Mapping[str, CheckedLimit]) -> np.ndarray:
        """Return a mask (n_told,) of the answers that came with an outcome beyond its limit."""
        out: list[bool] = []
        places: dict[Any, int] = {}  # of the last answer to each query
        for kind, *rest in self.events:
            if kind == "tell":
                places[rest[0]] = len(out)
                out.append(False)
            elif kind == "fail":
                places.pop(rest[0], None)
            elif kind == "outcomes" and rest[0] in places:
                pairs = ((rest[1].get(name), limit) for name, limit in limits.items())
                out[places[rest[0]]] |= any(
                    x is not None and not keeps_limit(x, limit) for x, limit in pairs
                )
        return np.array(out, dtype=bool)

    def number_of(self, block: str | None) -> int:
        """Return the number of a block by name, the next free one for a new block; 0 for None."""
        return 0 if block is None else self.blocks.get(block, len(self.blocks) + 1)

    def stratum_of_outcomes(self, place: int) -> int:
        """Return the number of the block of the answer that the outcomes at an event belong to."""
        query = self.events[place][1]
        return next(
            self.number_of(event_block_name(event))
            for event in reversed(self.events[:place])
            if event[0] == "fit" or (event[0] in ("tell", "fail") and event[1] == query)
        )

    def known_outcomes(self, query: Any) -> dict[str, Any] | None:
        """Return the outcomes told with the last answer or failure of a query; None without one."""
        found: dict[str, Any] | None = None
        for kind, *rest in self.events:
            if kind in ("tell", "fail", "outcomes") and rest[0] == query:
                found = {**(found or {}), **rest[1]} if kind == "outcomes" else {}
        return found

    def name_of(self, n_samples: int, sample: int) -> str | None:
        """Return the name of the query of a sample of the model.

        None if the sample was given to ``fit``, or an answer consists of several samples.
        """
        told, place = self.told_queries(), sample - self.n_fitted
        if place >= 0 and len(told) == n_samples - self.n_fitted:
            return repr(told[place])
        return None

    def restated(self, query: Any) -> Any:
        """Return the present query for one from before the box changed; others unchanged."""
        if not self.moved:
            return query
        # A cell of now may be one from before the change as well, if the box is there again.
        key = identity(query)
        again = query in self.pending and key in map(identity, self.pending)
        return query if again else self.moved.get(key, query)

    def told_queries(self) -> list[Any]:
        """Return the query of each answer."""
        return [event[1] for event in self.events if event[0] == "tell"]

    def outcomes(
        self,
        fitted: np.ndarray,
        row_of: Callable[[Any], np.ndarray],
        learn: Callable[[np.ndarray, np.ndarray], FailureModel],
        n_failures: int | None = None,
    ) -> FailureModel | None:
        """Return the result of ``learn`` for the first ``n_failures`` failures.

        None before the first failure or the first observation.

        Parameters
        ----------
        fitted : ndarray of shape (n, n_columns)
            Rows of the evaluations given to ``fit``.
        row_of : callable
            Returns the row (n_columns,) of a query.
        learn : callable
            Fits a model to rows (n, n_columns) and successes, 1 or 0, of shape (n,).
        n_failures : int, default=None
            Number of failures; None for all.
        """
        n = len(self.failures) if n_failures is None else n_failures
        if not n or not self.n_observations:
            return None
        when = self.n_told, n
        if when not in self._taught:
            left, asked, succeeded = n, [*fitted], [1.0] * len(fitted)
            for kind, *rest in self.events:
                if kind == "tell" or (kind == "fail" and left > 0):
                    asked.append(row_of(rest[0]))
                    succeeded.append(float(kind == "tell"))
                    left -= kind == "fail"
            taught = learn(np.array(asked), np.array(succeeded))
            # Keep two models: of all failures, and of the failures before the last answer, by which
            # the candidates were chosen.
            self._taught = dict([*self._taught.items(), (when, taught)][-2:])
        return self._taught[when]

    def outcomes_of_regions(self, bounds: np.ndarray) -> SuccessProbabilities | None:
        """Return the model of failures of regions [lower, upper] in a box (d, 2)."""
        if not self.failures:
            return None
        X = self.events[0][1] if self.n_fitted else np.empty((0, len(bounds)))
        learn = partial(SuccessProbabilities, domain=np.tile(bounds.T, 2))
        return self.outcomes(np.hstack([X, X]), lambda query: query.box, learn)

    def chances_of_regions(self, bounds: np.ndarray) -> SuccessProbabilities | None:
        """Return the model of failures of regions; None if it is no better than their rate."""
        found = self.outcomes_of_regions(bounds)
        return found if found is not None and found.depends_on_query else None

    def first_free(self, places: list[int]) -> Any:
        """Return the first query that is not pending; ``places`` are indices of answers.

        None if all are pending.
        """
        told = self.told_queries()
        return next((told[place] for place in places if told[place] not in self.pending), None)

    def ask(self, query: Any, fixed: Mapping[str, Any] | None = None) -> None:
        """Record a new query, and the sides that were fixed."""
        self.asked.append(query)
        self.pending[query] = None
        self.events.append(("ask", query) if fixed is None else ("ask", query, dict(fixed)))
        if self.asked_again:
            self.asked_again.discard(query)

    def ask_by(self, propose: Callable[[], Any], fixed: Mapping[str, Any] | None = None) -> Any:
        """Call ``propose``, record the query and the sides that are fixed, and return the query.

        If all queries are pending, the failed ones are released first.
        """
        try:
            query = propose()
        except AllPendingError:
            pending = self.pending
            if len(self.evaluating) == len(pending):
                raise
            self.release_failures()
            try:
                query = propose()
            except AllPendingError:
                self.pending = pending
                raise
        self.ask(query, fixed)
        return query

    def take_back(self, query: Any) -> None:
        """Remove the last query again."""
        del self.pending[query], self.asked[-1], self.events[-1]

    def close(self, query: Any, reward: Any, mean: Any, std: Any, expanded: bool) -> None:
        """Add an answer to the history, with the moments of its query before the answer."""
        self.add((query.box, reward, mean, std, expanded))

    def add(self, row: tuple[Any, ...]) -> None:
        """Add the row of an answer to the history."""
        self.history.append(row)
        self.n_told += 1

    def tell(self, query: Any, value: Any, noise: Any) -> bool:
        """Record an answer; return whether the same query has been answered by another worker.

        That happens if ``ask`` returned the query to two workers.
        """
        second = self.pending.pop(query, NOT_PENDING) is NOT_PENDING and query in self.asked_again
        if second:
            self.asked_again.discard(query)
        self.times.append(time())
        block = () if self.block is None else (self.block,)
        for name in block:
            self.blocks[name] = self.number_of(name)
        self.events.append(("tell", query, value, noise, *block))
        self._release()
        return second

    def fail(self, query: Any, reason: str) -> None:
        """Record a failure; ``ask`` does not return the query for a while, longer each time."""
        self.failures.append((self.n_told, query, reason))
        self.times.append(time())
        self.events.append(("fail", query, reason))
        if query in self.pending or not isinstance(query, PointsQuery):
            times = sum(each == query for _, each, _ in self.failures)
            now = self.n_told + len(self.failures)
            self.pending[query] = now + 2**times
        self._release()

    def withdraw(self, query: Any) -> None:
        """Record that a query is not evaluated; ``ask`` does not return it for a while."""
        self.events.append(("withdraw", query))
        self.pending[query] = self.n_told + len(self.failures) + 2
        self.asked = [each for each in self.asked if each != query]

    def count(self, query: Any, n: int) -> None:
        """Record the number of rows of a table in a query; a query without rows has no answer."""
        self.events.append(("rows", query, n))
        self.rows[query] = n
        if not n:
            self.pending.pop(query, None)
            self._release()

    def measure(self, query: Any, outcomes: dict[str, Any], later: bool = False) -> None:
        """Record outcomes of the last answer to a query, told with it or ``later``."""
        self.events.append(("outcomes", query, outcomes, *([True] if later else [])))

    def release_failures(self) -> None:
        """Let ``ask`` return all failed queries again."""
        self.pending = dict.fromkeys(self.evaluating)

    def _release(self) -> None:
        """Clear the queries that ``ask`` returns again; release queries that failed long ago."""
        self.asked = []
        now = self.n_told + len(self.failures)
        due = [each for each, until in self.pending.items() if until is not None and until <= now]
        for query in due:
            del self.pending[query]

    def with_parameters(
        self, seen: dict[str, Any], changed: dict[str, Any], waiting: Collection[str]
    ) -> Self:
        """Return a copy of this run, with parameters that were set after the last event.

        Parameters
        ----------
        seen : dict
            The new objects of all parameters that were set.
        changed : dict
            Copies of the ones whose values differ from the latest values.
        waiting : collection of str
            Names of parameters that apply from the next ``fit`` on only.
        """
        out = copy(self)
        out.seen = self.seen | seen
        if changed:
            now, ready = vars(self.params), changed.keys() - waiting
            out.newest = self.newest | changed
            out.events = [*self.events, ("set", changed)]
            out.params = SimpleNamespace(**now | {name: changed[name] for name in ready})
            out.unwarned = [name for name in self.unwarned if name not in changed] + sorted(
                name for name in changed.keys() - ready if not are_equal(changed[name], now[name])
            )
        return out

    def first_events(self, n_events: int | None) -> Self:
        """Return a copy of this run with its first ``n_events`` events; None stands for all."""
        if n_events is None:
            return self
        out = copy(self)
        out.events = self.events[:n_events]
        kinds = [event[0] for event in out.events]
        out.history = self.history[: kinds.count("tell")]
        out.failures = self.failures[: kinds.count("fail")]
        return out

    def _resume(self) -> None:
        """Count the answers and failures, and check that the events have the same numbers."""
        kinds = [event[0] for event in self.events]
        self.n_told = len(self.history)
        if (self.n_told, len(self.failures)) != (kinds.count("tell"), kinds.count("fail")):
            raise ValueError("its answers and failures differ from its events")
        names = dict.fromkeys(
            name for name in map(event_block_name, self.events) if name is not None
        )
        self.blocks = {name: number for number, name in enumerate(names, 1)}


# -- The result of ``run`` -------------------------------------------------------------------------

# Type of a recommendation.
X = TypeVar("X")


class RunResult(OptimizeResult, Generic[X]):
    """Result of ``run``: an ``OptimizeResult`` that prints as a few lines.

    Attributes
    ----------
    x : query
        The recommendation; None if there are no answers.
    fun : float
        Its estimated mean reward; NaN if there are no answers.
    nfev, nfail : int
        Number of evaluations, and how many of these failed.
    history : ndarray
        All answers, see ``history_``.
    success : bool
        Whether there is a recommendation.
    message : str
        Reason for the end of the run.
    model : dict of str
        Description of the model of f at the end: ``"noise"`` of the answers and, if they apply,
        ``"outliers"``, ``"lack of fit"``, ``"predict"``, an answered query with a larger mean by
        ``predict`` than ``x``, and ``"beware"``, how the answers contradicted the model in the
        latest check. Empty for methods without a Gaussian process.
    limits : list of dict
        The ``limits`` at ``x``: ``name``, ``low`` and ``high``, None for an open end; ``value``,
        True or False for an outcome that is yes or no, None for a number; ``mean`` and ``std`` of a
        number and the ``probability`` that the limit holds, None if no answer came with the
        outcome; and ``n_answers``, the number of answers that did.
    front : Front or None
        The front of several ``goals``; None without goals, or before all of them were measured.
    gap : float
        Bound on how much better than ``x`` the best may be, see ``gap`` of the optimizer. It holds
        with probability 1 - delta, with the delta and the bound of ``stop``, or else with 0.95. It
        is computed from the state in which the run ended, by draws when it is first read.
    resolution : str
        Averages that ``gap`` compares, such as "averaged over regions of 1/16 of the space", and
        nothing narrower. Empty if it compares the targets themselves.
    """

    x: X
    fun: float
    nfev: int
    nfail: int
    history: np.ndarray
    success: bool
    message: str
    model: dict[str, str]
    limits: list[dict[str, Any]]
    front: Any
    gap: float
    resolution: str

    def with_gap(self, compute: Callable[[], float]) -> Self:
        """Return this result, with the function that computes its gap."""
        self.__dict__["compute"] = compute
        return self

    def __missing__(self, key: str) -> Any:
        """Compute the gap when it is first read."""
        if key != "gap" or "compute" not in vars(self):
            raise KeyError(key)
        self["gap"] = self.__dict__.pop("compute")()
        return self["gap"]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the gap instead of the posterior from which it is computed."""
        if "compute" in vars(self):
            self["gap"]
        return type(self), (dict(self),)

    def __repr__(self) -> str:
        """Return lines with the result, its basis, and the reason why the run ended."""
        rewards = np.asarray(self.history["reward"], dtype=np.float64)
        lines = [("recommended", repr(self.x)), ("estimated mean", f"{self.fun:.6g}")]
        if "compute" in vars(self) or "gap" in self:
            over = f", {self.resolution}" if self.get("resolution") else ""
            better = f"{self.gap:.3g} better{over}"
            lines += [("best is at most", better)] * bool(np.isfinite(self.gap))
        failed = f", {self.nfail} of them failed" if self.nfail else ""
        lines.append(("evaluations", f"{self.nfev}{failed}"))
        n_answers = self.nfev - self.nfail
        if self.get("cost", n_answers) != n_answers:  # the cost of some query is not 1
            lines.append(("cost", f"{self.cost:g}"))
        if np.isfinite(rewards).any():
            low, high = np.nanmin(rewards), np.nanmax(rewards)
            lines.append(("answers", f"{len(rewards)}, from {low:.6g} to {high:.6g}"))
        n = len(rewards)
        lines += [("limit", limit_in_words(each, n)) for each in self.get("limits", [])]
        if self.get("front") is not None:
            front = f"{len(self.front.queries)} of {n} answers, volume {self.front.volume:.6g}"
            lines.append(("front", front))
        lines += [("ended because", self.message), *self.model.items()]
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)
