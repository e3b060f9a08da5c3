"""Contexts, which one does not choose: what optimizers share that are asked what to do in one.

A context comes before the question and changes from round to round. The model is over rows
[context, action], so that an answer in one context says something of others. With GP-UCB this is
CGP-UCB [Krause2011]_.

References
----------
.. [Krause2011] A. Krause and C. S. Ong, "Contextual Gaussian process bandit optimization",
   NIPS 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from os import PathLike
from typing import Any, overload

import numpy as np

from skgpb.domains.arms import Arm
from skgpb.domains.contexts import ContextArms
from skgpb.domains.query import Region
from skgpb.domains.space import ParameterSpace
from skgpb.locks import locked
from skgpb.optimizers._base import FreeChoice
from skgpb.optimizers._first_design import best_known
from skgpb.optimizers._gap import GapOfArms
from skgpb.optimizers._placement import best_placed, checked_sides
from skgpb.optimizers._result import RunResult
from skgpb.optimizers._run import PricedRuns, Runs, check_run
from skgpb.optimizers._sides import NamedSides
from skgpb.optimizers._stop import Stop
from skgpb.optimizers._workers import workers_of
from skgpb.utils import check_bounds, check_count, check_inside, check_numbers, unchanged_by_errors

# Candidates move so many times in a round where nothing is kept from the last one.
N_STEPS = 3


class InContexts(NamedSides):
    """Contexts of an optimizer, where it has ``context_bounds``.

    A subclass chooses in ``_choose_in`` and ``_best_in``.
    """

    # What it needs of the class that it is mixed into.
    context_bounds: Any
    bounds: Any
    bounds_: np.ndarray
    space_: ParameterSpace | None
    n_context_: int
    _batch: list[Any]

    # -- asking -----------------------------------------------------------------------------

    @locked
    def _ask_in(self: Any, context: Any, n: int | None) -> Any:
        """One query in a context, or a list of n; the same again until something is told."""
        count = check_count(n)
        self._ensure_started()
        context = self._checked_context(context)
        mine = [query for query in self._asked if np.array_equal(query.context, context)]
        while len(mine) < count:
            mine.append(self._ask_for(self._choose_in, context))
        return mine[0] if n is None else mine[:count]

    @locked
    def _ask_each(self: Any, contexts: list[np.ndarray]) -> list[Any]:
        """One query in each of these contexts, none of which is being evaluated."""
        queries: list[Any] = []
        for context in contexts:
            # Until something is told, ask returns what is being evaluated in this context as well.
            known = [each for each in self._asked if np.array_equal(each.context, context)]
            out = [each for each in known if each in self._batch or each in queries]
            asked = self._ask_in(context, len(out) + 1)
            queries += [each for each in asked if each not in out][:1]
        return queries

    def _turns(
        self: Any,
        objective: Any,
        contexts: Any,
        callback: Any,
        progress: bool,
        n_jobs: int | None,
        executor: Executor | None,
        on_error: str,
        checkpoint: Any,
        verbose: int,
    ) -> tuple[Any, int, Any, Any, Any, Any]:
        """What ``_play`` is to be given to play one context after the other."""
        check_run(objective, callback, on_error, verbose)
        workers = workers_of(executor, n_jobs, objective, on_error)
        rows = self._checked_contexts(contexts)

        def ask(begun: int, most: int) -> list[Any]:
            return self._ask_each(rows[begun : begun + most])

        shown = self._progress(len(rows), bar=progress, verbose=verbose)
        return workers, len(rows), ask, callback, shown, checkpoint

    def _checked_contexts(self: Any, contexts: Any) -> list[np.ndarray]:
        """Check the contexts of a run, in the order in which they arrive."""
        if contexts is None:
            raise ValueError("contexts must be given where there are context_bounds, got None")
        with unchanged_by_errors(self):
            self._ensure_started()
            if self._contexts is not None:
                contexts = self._contexts.points(contexts)
            given = check_numbers(contexts, "contexts", ensure_2d=False)
            rows = [self._checked_context(row) for row in given]
            if not rows:
                raise ValueError("contexts must hold at least one context")
        # Contexts do not come back: what an interrupted run left is not evaluated in this one.
        self._batch = []
        return rows

    def _checked_context(self, context: Any) -> np.ndarray:
        if context is None:
            raise ValueError("context must be given where there are context_bounds, got None")
        if self._contexts is not None and isinstance(context, Mapping):
            context = self._contexts.point(context)
        context = np.atleast_1d(check_numbers(np.atleast_1d(context), "context", ensure_2d=False))
        if context.shape != (self.n_context_,):
            raise ValueError(f"context must have shape ({self.n_context_},), got {context.shape}")
        check_inside(context[None], self.bounds_[: self.n_context_])
        if self._contexts is not None:
            context = self._contexts.snapped(context[None])[0]
        return context + 0.0  # -0.0 and 0.0 are one context

    def _best_actions(self: Any, context: np.ndarray, side: Any) -> Region:
        """The best cell of actions of a size, in a context."""
        if getattr(self, "arms", None) is not None:
            raise ValueError(f"side is for cells of a box, got side={side!r}")
        n, bounds, actions = len(context), self.bounds_[self.n_context_ :], self._actions

        def moments(cells: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
            points = [np.hstack([np.tile(context, (len(cell), 1)), cell]) for cell in cells]
            return self._gp.moments([self._rows_of(each) for each in points], std=True)

        sides, seen = checked_sides(side, bounds, actions), self._places_seen()[:, n:]
        best = best_placed(moments, seen, bounds, sides, 0.0, actions)
        lower, upper = (np.concatenate([context, end]) for end in (best.lower, best.upper))
        return Region(lower, upper, (1,) * n + best.counts).named(self.space_)

    # -- the domain ---------------------------------------------------------------------------

    def _make_space(self: Any) -> ParameterSpace | None:
        actions = self._actions = super()._make_space()
        self._contexts = None
        if self.context_bounds is not None:
            self._contexts = self._checked_space(self.context_bounds, "context_bounds")
            if (actions is None) != (self._contexts is None):
                raise ValueError(
                    "give the sides of both context_bounds and bounds names, or of neither"
                )
        if actions is None or self._contexts is None:
            return actions
        if not set(self.bounds).isdisjoint(self.context_bounds):
            raise ValueError("the sides of context_bounds and bounds must have different names")
        return ParameterSpace.of_bounds({**self.context_bounds, **self.bounds})

    def _joint_bounds(self) -> np.ndarray:
        """Box of contexts and actions together, of which the parameters give both."""
        if self.space_ is not None:
            return self.space_.bounds
        contexts = check_bounds(self.context_bounds, "context_bounds")
        return np.concatenate([contexts, check_bounds(self.bounds)])


class ChoiceInContexts(GapOfArms, InContexts, FreeChoice[Arm]):
    """The same of an optimizer that is asked without contexts where it has no ``context_bounds``.

    Its domain has a set for every context (``within``); only the present one is tracked.
    """

    n_context_: int
    # What is tracked: a context, and the round where candidates follow what is known.
    _entered: tuple[Any, ...] | None

    @overload
    def ask(self, n: None = None, *, context: Any = None) -> Arm: ...

    @overload
    def ask(self, n: int, *, context: Any = None) -> list[Arm]: ...

    @locked
    def ask(self, n: int | None = None, *, context: Any = None) -> Any:
        """Return the next query, or a list of n different ones for parallel evaluation.

        Asking again before a ``tell``, in the same context, returns the same queries. Queries
        asked for and not yet told stay pending: later ones differ from them and assume that their
        answers will reduce the uncertainty, which the variance allows to compute exactly.

        Parameters
        ----------
        n : int, default=None
            Number of queries, at most 10,000; None for a single one, not in a list.
        context : array-like of shape (d_c,), a number where d_c = 1, or dict, default=None
            The present context, where there are ``context_bounds``; a dict where their sides have
            names.

        Returns
        -------
        query : query or list of queries
            In a context they know it, as ``query.context``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Where neither the parameters nor ``fit`` gave a domain.
        """
        if self._without_context(context):
            return super().ask(n)
        return self._ask_in(context, n)

    @locked
    def recommend(self: Any, rule: str | None = None, *, context: Any = None) -> Any:
        """Return the best query found so far.

        Parameters
        ----------
        rule : {"posterior", "paper"}, default=None
            The rule by which it is chosen; None for the best one known. Here all are the same.
        context : array-like of shape (d_c,), a number where d_c = 1, or dict, default=None
            Where it is to be best, where there are ``context_bounds``.

        Returns
        -------
        query : query

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before anything is known: an answer that was told, or evaluations given to ``fit``.
        """
        if self._without_context(context):
            return super().recommend(rule)
        self._checked_rule(rule)
        self._check_informed()
        return self._best_in(self._checked_context(context))

    def _without_context(self, context: Any) -> bool:
        """Whether there are no contexts, and so none is given."""
        if self.context_bounds is None and context is not None:
            raise ValueError(
                f"context is for optimizers with context_bounds, and these are None: {context!r}"
            )
        return self.context_bounds is None

    def _choose_in(self: Any, context: np.ndarray) -> Any:
        self._enter(context)
        return self._choose()

    def _choice_of(self: Any, query: Any) -> tuple[Any, ...]:
        if self.context_bounds is None:
            return (self._choose,)
        return self._choose_in, self._checked_context(query.context)

    def _result(self: Any, last: Any) -> Any:
        return self.recommend(context=None if self.context_bounds is None else last.context)

    def _with_contexts(self: Any, actions: np.ndarray | None) -> np.ndarray | None:
        """Box of contexts and actions, of that of actions; the latter where there are no others."""
        self.n_context_ = 0
        if self.context_bounds is None:
            return actions
        if actions is None:
            raise ValueError("pass the domain of actions, such as bounds, with context_bounds")
        if self.space_ is not None:
            self.n_context_ = self._contexts.n_axes
            return actions
        contexts = check_bounds(self.context_bounds, "context_bounds")
        self.n_context_ = len(contexts)
        return np.concatenate([contexts, actions])


class ArmsInContexts(ChoiceInContexts):
    """The same of an optimizer over arms or a box."""

    domain_: Any

    def _best_in(self: Any, context: np.ndarray) -> Any:
        # What is tracked belongs to the context that was asked last.
        arms = self._within(context)
        mean, std = self._gp.moments(arms.rows, std=True)
        return arms.arm(best_known(mean / self._gp.scale, (std / self._gp.scale) ** 2))

    def _enter(self: Any, context: np.ndarray) -> None:
        """Track the arms in a context: O(n_arms t^2), unless they are tracked already."""
        arms = self.domain_.within(context)
        entered = (context.tobytes(), self._round if arms.follows else None)
        if entered != self._entered:
            self.domain_ = self._within(context)
            self._track(self.domain_.rows)
            self._entered = entered

    def _within(self: Any, context: np.ndarray) -> ContextArms:
        """The arms in a context, or the candidates of this round."""
        self._check_candidates()
        arms = self.domain_.within(context)
        if not (arms.follows and len(self._gp.observed)):
            return arms
        seen = self._rows_of(self._places_seen())
        rows = np.concatenate([arms.beside(context, arms.actions_of(seen)), arms.rows])
        rng = np.random.default_rng([self._seed, self._round, self._n_fitted, 1])
        for _ in range(N_STEPS):
            arms = arms.following(rows, self._gp.moments(rows), rng)
            rows = arms.rows
        return arms


class RunsInContexts(Runs):
    """``run`` of an optimizer that may be asked in contexts."""

    def run(
        self: Any,
        objective: Callable[[Any], float],
        budget: int | None = None,
        callback: Callable[[Any], Any] | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
        *,
        contexts: Any = None,
        executor: Executor | None = None,
        on_error: str = "record",
        checkpoint: str | PathLike[str] | None = None,
        verbose: int = 0,
        stop: Stop | Callable[[Any], Any] | None = None,
    ) -> RunResult:
        """Ask, evaluate and tell ``budget`` times, or for one context after the other.

        Parameters
        ----------
        objective : callable
            Takes a query and returns its noisy reward, or None where the evaluation failed.
        budget : int, default=None
            Number of evaluations, at least 1; failed ones count. Not with ``contexts``.
        callback, progress, n_jobs, executor, on_error, checkpoint, verbose, stop
            As in the other optimizers; contexts that are played side by side begin in their
            order.
        contexts : array-like of shape (n, d_c), or (n,) where d_c = 1, default=None
            Where there are ``context_bounds``, the contexts in the order in which they arrive;
            where sides have names also a DataFrame or a list of dicts.

        Returns
        -------
        result : scipy.optimize.OptimizeResult
            As in the other optimizers; ``x`` is the recommended query, for the last context.
        """
        common: dict[str, Any] = {
            "executor": executor,
            "on_error": on_error,
            "checkpoint": checkpoint,
            "verbose": verbose,
        }
        if self._without_context(contexts):
            most: Any = budget  # None is refused there
            return super().run(objective, most, callback, progress, n_jobs, stop=stop, **common)
        if budget is not None and contexts is not None:
            raise ValueError(f"budget must be None where there are contexts, got {budget!r}")
        turns = self._turns(objective, contexts, callback, progress, n_jobs, *common.values())
        return self._play(*turns, stop=stop)


class PricedRunsInContexts(PricedRuns):
    """The same where queries have costs."""

    def run(
        self: Any,
        objective: Callable[[Any], float],
        budget: int | None = None,
        callback: Callable[[Any], Any] | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
        *,
        max_cost: float | None = None,
        contexts: Any = None,
        executor: Executor | None = None,
        on_error: str = "record",
        checkpoint: str | PathLike[str] | None = None,
        verbose: int = 0,
        stop: Stop | Callable[[Any], Any] | None = None,
    ) -> RunResult:
        """Ask, evaluate and tell until enough is evaluated or spent, or in some contexts.

        Parameters
        ----------
        objective : callable
            Takes a query and returns its noisy answer.
        budget : int, default=None
            Number of evaluations, at least 1; failed ones count. None for any number, which
            ``max_cost`` then limits.
        callback, progress, n_jobs, executor, on_error, checkpoint, verbose, stop
            As in the other optimizers; with ``max_cost`` progress is that of the cost spent.
        max_cost : float, default=None
            Cost to be spent, > 0. The last query may overshoot it. Failures cost nothing.
        contexts : array-like of shape (n, d_c), or (n,) where d_c = 1, default=None
            Where there are ``context_bounds``, the contexts in the order in which they arrive,
            instead of ``budget`` and ``max_cost``; where sides have names also a DataFrame or a
            list of dicts.

        Returns
        -------
        result : scipy.optimize.OptimizeResult
            As in the other optimizers, and ``cost``, what was spent.
        """
        common: dict[str, Any] = {
            "executor": executor,
            "on_error": on_error,
            "checkpoint": checkpoint,
            "verbose": verbose,
        }
        if self._without_context(contexts):
            return super().run(
                objective,
                budget,
                callback,
                progress,
                n_jobs,
                max_cost=max_cost,
                stop=stop,
                **common,
            )
        if contexts is not None and not (budget is None and max_cost is None):
            raise ValueError(
                "budget and max_cost must be None where there are contexts, got "
                f"{budget!r} and {max_cost!r}"
            )
        turns = self._turns(objective, contexts, callback, progress, n_jobs, *common.values())
        start = self.spent_
        result = self._play(*turns, stop=stop)
        result.cost = self.spent_ - start
        return result
