"""The plan of an experiment: the search that suggests the next query, and repeats its run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from skgpb.domains import Box, PointsQuery, Query, Region
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import LimitWarning
from skgpb.lab.experiments.costs import cost_texts, read_costs
from skgpb.lab.experiments.entries import Entry
from skgpb.lab.experiments.sides import Ends, Side
from skgpb.lab.experiments.table import PastAnswer, read_answers
from skgpb.optimizers import EIOptimizer, GPOOOptimizer, GPUCBOptimizer
from skgpb.optimizers.changed_box import (
    Restatement,
    box_with_earlier,
    known_settings,
    restated_campaigns,
)
from skgpb.optimizers.search import Search
from skgpb.utils.typing import Directions, Limits
from skgpb.utils.warnings import without_warnings


class Plan:
    """The search of an experiment, which suggests queries. Its bounds and limits do not change.

    Parameters
    ----------
    optimizer : optimizer
        A started optimizer over a box with named sides.

    Attributes
    ----------
    optimizer : optimizer
    sides : list of Side
        The settings and their ranges.
    """

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self.sides: list[Side] = [Side.of(*each) for each in optimizer.run_.params.bounds.items()]

    @classmethod
    def create(
        cls,
        sides: Iterable[Side],
        constraints: list[str],
        limits: Limits,
        regions: bool,
        **settings: Any,
    ) -> Plan:
        """Return a new search with these rules, and other parameters of the optimizer."""
        settings = {"bounds": _make_bounds(sides, constraints), **settings}
        if regions:
            del settings["cost"]
            return cls(GPOOOptimizer(**settings).start())
        return cls(_make_search(limits, settings).start())

    # -- rules ------------------------------------------------------------------------------

    @property
    def space(self) -> ParameterSpace:
        """The named sides."""
        return self.optimizer.run_.space

    @property
    def earlier_sides(self) -> dict[str, Side]:
        """Sides of earlier queries, by name, that were wider than the present ones."""
        bounds, space = self.optimizer.run_.params.bounds, self.space
        known = bounds.earlier if isinstance(bounds, Box) else {}
        return {name: Side.of(name, known[name]) for name in known if name not in space.earlier}

    @property
    def constraints(self) -> list[str]:
        """Linear constraints between sides."""
        bounds = self.optimizer.run_.params.bounds
        return list(bounds.constraints) if isinstance(bounds, Box) else []

    @property
    def limits(self) -> Limits:
        """Limits on outcomes; empty if there are none."""
        return outcome_limits(self.optimizer)

    @property
    def goals(self) -> Directions:
        """Directions of the goals beside the answer; empty if there are none."""
        return getattr(self.optimizer.run_.params, "goals", None) or {}

    @property
    def outcomes(self) -> Limits:
        """Limits on all outcomes that have models; a goal without a limit is open at both ends."""
        return {**dict.fromkeys(self.goals, (None, None)), **self.limits}

    @property
    def costs(self) -> list[str]:
        """Costs of an experiment; empty if all cost the same."""
        return cost_texts(self.optimizer)

    @property
    def earlier_campaigns(self) -> dict[str, int]:
        """Number of answers of each earlier campaign by its name."""
        given = getattr(self.optimizer.run_.params, "earlier_campaigns", None) or {}
        return {name: len(answers) for name, (_, answers) in given.items()}

    @property
    def is_tree(self) -> bool:
        """True if the search cuts the box into regions."""
        return isinstance(self.optimizer, GPOOOptimizer)

    @property
    def has_regions(self) -> bool:
        """True if answers are averages over regions."""
        return self.is_tree or self.optimizer.domain_.describes_boxes

    def setting(self, at: Mapping[str, Any]) -> dict[str, Any]:
        """Return a complete setting, with each value converted to the type of its side."""
        names = [side.name for side in self.sides]
        unknown = [name for name in at if name not in names]
        missing = [name for name in names if name not in at]
        if unknown or missing:
            wrong = f"no side {unknown[0]!r}" if unknown else f"no value for {missing[0]!r}"
            raise ValueError(f"{wrong}: a setting has a value for each of {', '.join(names)}")
        try:
            return {side.name: side.value(at[side.name]) for side in self.sides}
        except ValueError as error:
            if not self.has_regions:
                raise
            raise ValueError(f"{error}; a region is told by its query, or in a table") from None

    def violations(self, setting: Mapping[str, Any]) -> list[str]:
        """Return the constraints that a setting violates."""
        feasible = self.space.feasible
        return [] if feasible is None else feasible.violations(self.space.point(setting))

    # -- the run ----------------------------------------------------------------------------

    @property
    def events(self) -> list[Any]:
        """A copy of the events of the run."""
        return self.optimizer._events

    def ask(
        self,
        n: int,
        another: bool,
        is_first: bool,
        fixed: Mapping[str, Any] | None,
        shared: Collection[str],
    ) -> list[Query]:
        """Return the next queries; the first design of a run has at least as many.

        Parameters
        ----------
        n : int
            Number of queries.
        another : bool
            Whether to pass over the queries that are pending.
        is_first : bool
            Whether there is no answer or failure so far.
        fixed : dict or None
            Values of sides, as typed, that the queries shall have.
        shared : collection of str
            Names of sides that have one value in all of them.
        """
        optimizer = self.optimizer
        sides = {side.name: side for side in self.sides}
        values = {
            name: sides[name].value(given) if name in sides else given
            for name, given in (fixed or {}).items()
        }
        n_first = n + another * sum(event[0] == "ask" for event in self.events)
        if isinstance(optimizer, Search) and is_first and 0 < optimizer._n_initial < n_first:
            optimizer.set_params(n_initial=n_first)
        return optimizer.ask(n, another=another, fixed=values or None, shared=shared)

    def tell(self, queries: Any, answers: Any, alpha: Any, **more: Any) -> None:
        """Tell answers, None for failures. The notebook warns of measurements that are missing."""
        without_warnings(LimitWarning, self.optimizer.tell, queries, answers, alpha, **more)

    def tell_rows(self, rows: Sequence[PastAnswer]) -> None:
        """Tell the answers in rows of a table."""
        queries = [self._row_query(row.setting) for row in rows]
        self.tell(queries, [row.answer for row in rows], [row.alpha for row in rows])

    def repeated(self, events: list[Any]) -> Plan:
        """Return the plan of a run with other events."""
        return Plan(self.optimizer._repeat_events(events))

    def with_past(self, rows: Sequence[PastAnswer]) -> tuple[Plan, list[PastAnswer], list[Region]]:
        """Add the rows of a table to a new run.

        Returns
        -------
        plan : Plan
        rows : list of PastAnswer
            The rows in the order of the events of the run.
        lost : list of Region
            Regions of the last rows, pending queries that the tree would not ask.
        """
        given = [row for row in rows if row.status == "given"]
        told = [row for row in rows if row.status not in ("given", "pending")]
        if given:
            settings, answers = [row.setting for row in given], [row.answer for row in given]
            without_warnings(LimitWarning, self.optimizer.fit, settings, answers)
        if told:
            self.tell_rows(told)
        asked: list[tuple[PastAnswer, Any]] = []
        lost: list[tuple[PastAnswer, Any]] = []
        for row in rows:
            if row.status != "pending":
                continue
            query = self._row_query(row.setting)
            if isinstance(query, dict):
                point = self.space.point(query)
                if self.is_tree:
                    query = self.region(point, point, (1,) * len(point))
                else:
                    query = self.placed_arm(point)
            (lost if isinstance(query, Region) else asked).append((row, query))
        events = [("ask", query) for _, query in asked]
        plan = self.repeated([*self.events, *events]) if asked else self
        pending = [row for row, _ in (*asked, *lost)]
        return plan, [*given, *told, *pending], [region for _, region in lost]

    def _row_query(self, setting: dict[str, Any]) -> Any:
        """Return the setting of a row of a table; the query of its region if it is a region."""
        is_region = any(isinstance(value, Ends) for value in setting.values())
        if not is_region and not (self.is_tree and self.space.n_settings < np.inf):
            return setting
        ends = {n: v if isinstance(v, Ends) else Ends(v, v) for n, v in setting.items()}
        first, last = ({name: each[i] for name, each in ends.items()} for i in (0, 1))
        return self.optimizer.domain_.query_of_box(self.space.box_between(first, last))

    # -- queries ----------------------------------------------------------------------------

    def point_query(self, point: np.ndarray) -> PointsQuery:
        """Return the query for a point (d,) that was not asked."""
        return PointsQuery(point[np.newaxis].copy()).with_names(self.space)

    def placed_arm(self, point: np.ndarray) -> Any:
        """Return the query for a point (d,) as the search would ask it."""
        return self.optimizer.domain_.placed_arm(point).with_names(self.space)

    def region(self, lower: np.ndarray, upper: np.ndarray, counts: tuple[int, ...]) -> Region:
        """Return the query for a region, from its corners and the numbers of its cells."""
        return Region(lower, upper, counts).with_names(self.space)

    # -- other rules ------------------------------------------------------------------------

    def with_rules(
        self,
        changed: Mapping[str, Side],
        dropped: Collection[str],
        earlier: Mapping[str, Any],
        constraints: list[str],
        costs: str | Iterable[str] | None,
        limits: Limits | None,
    ) -> Plan:
        """Return a new search with other sides and rules.

        Parameters
        ----------
        changed : dict of Side
            Sides that change, and new sides.
        dropped : collection of str
            Names of sides that are left out.
        earlier : dict
            The value that all queries had so far, as typed, for each new side.
        constraints : list of str
            All constraints.
        costs, limits : object
            None keeps the costs, or the limits.
        """
        if self.has_regions:
            raise ValueError("the ranges of an experiment over regions cannot be changed")
        if not self.optimizer.domain_.is_discretization:
            raise ValueError("the ranges of this kind of search cannot be changed")
        self._check_names(changed, dropped, earlier)
        sides = {side.name: side for side in self.sides if side.name not in dropped}
        sides |= dict(changed)
        values = {name: sides[name].value_or_other(given) for name, given in earlier.items()}
        every, run = list(sides.values()), self.optimizer.run_
        box = Box({side.name: side.bounds for side in every}, constraints, earlier=values)
        box = box_with_earlier(box, run.space, known_settings(self.optimizer))
        # Start from the initial parameters: later changes of them are events of the run.
        other = clone(self.optimizer._repeat_events([]))
        other.set_params(bounds=box if box.is_constrained else dict(box))
        other.set_params(**restated_campaigns(self.optimizer))
        if costs is not None or self.costs:
            other.set_params(cost=read_costs(self.costs if costs is None else costs, every))
        if limits is not None:
            given = other.get_params(deep=False)
            ours = EIOptimizer if self.limits or self.goals else GPUCBOptimizer
            if type(other) is ours and given.get("regret", "simple") == "simple":
                shared = (
                    *("bounds", "alpha", "direction", "cost", "random_state"),
                    *("earlier_campaigns", "goals"),
                )
                other = _make_search(limits, {name: given[name] for name in shared})
            else:
                other.set_params(limits=dict(limits) or None)
        return Plan(other.start())

    def _check_names(
        self,
        changed: Mapping[str, Side],
        dropped: Collection[str],
        earlier: Mapping[str, Any],
    ) -> None:
        """Raise ValueError unless all names are those of sides, or of sides that are added."""
        names = [side.name for side in self.sides]
        unknown = [name for name in dropped if name not in names]
        new = [name for name in changed if name not in names]
        unknown += [name for name in earlier if name not in new]
        if self.optimizer.run_.events:
            unknown += [name for name in new if name not in earlier]
        if unknown:
            raise ValueError(
                f"there is no side {unknown[0]!r}; the sides are {', '.join(names)}. A new side "
                "needs its range and the value that all queries had so far"
            )

    def check_pending(self, entries: Sequence[Entry], known: Sequence[str]) -> None:
        """Raise ValueError if a pending query violates a constraint that is not ``known``."""
        before = {text.strip() for text in known}
        for entry in [each for each in entries if each.status == "pending"]:
            for text in self.violations(self.space.earlier_setting(entry.query.params)):
                if text not in before:
                    raise ValueError(
                        f"query {entry.number} is pending and violates {text!r}: tell its answer, "
                        "or skip it, before the constraint is added"
                    )

    def convert_events(self, other: Plan) -> list[Any]:
        """Return the events of the run for a plan with other sides; None for those of learning."""
        there = Restatement(other.optimizer, self.space, self.optimizer.domain_)
        known = set(other.optimizer.get_params(deep=False)) - {"bounds", "limits", "cost"}
        events: list[Any] = []
        for event in self.events:
            if event[0] == "set":
                event = "set", {name: x for name, x in event[1].items() if name in known}
            events.append(None if event[0] == "outcomes" else there.event(event))
        return events


def outcome_limits(optimizer: Any) -> Limits:
    """Return the limits of an optimizer on outcomes; an empty dict if it has none."""
    return getattr(optimizer.run_.params, "limits", None) or {}


def _make_search(limits: Limits, settings: dict[str, Any]) -> Search:
    """Return the optimizer of an experiment: with limits or goals another class than without.

    Simple regret, because the setting that is recommended at the end counts, not each answer.
    """
    if limits or settings.get("goals"):
        return EIOptimizer(limits=dict(limits) or None, **settings)
    return GPUCBOptimizer(regret="simple", **settings)


def read_earlier_campaigns(
    paths: Iterable[str | os.PathLike[str]],
    sides: Sequence[Side],
    constraints: list[str],
    answer: str,
) -> dict[str, tuple[list[dict[str, Any]], list[float]]]:
    """Return settings and answers of earlier campaigns in tables, by the names of the files.

    Rows that are not on the sides are left out, with a warning.
    """
    space = ParameterSpace.from_bounds(_make_bounds(sides, constraints))
    campaigns: dict[str, tuple[list[dict[str, Any]], list[float]]] = {}
    for path in map(Path, paths):
        if path.stem in campaigns:
            raise ValueError(f"two earlier campaigns have the name {path.stem!r}: rename a file")
        past = read_answers(path, sides, answer or None, space=space, skip_outside=True)
        rows = [(row.setting, row.answer) for row in past.rows if row.answer is not None]
        campaigns[path.stem] = [x for x, _ in rows], [y for _, y in rows]
    return campaigns


def _make_bounds(sides: Iterable[Side], constraints: list[str]) -> Any:
    """Return the ``bounds`` parameter of an optimizer, a dict or a Box with constraints."""
    bounds = {side.name: side.bounds for side in sides}
    return Box(bounds, constraints) if constraints else bounds
