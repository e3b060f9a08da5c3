"""Change of the box or the arms of a run: new sides, ranges and lists, with all answers so far.

The events of the run are restated in the coordinates of the new box and repeated there. A box that
does not contain all of their settings gets the earlier sides, see :class:`~skgpb.domains.Box`.
Arms that are no longer among the new ones are ``earlier_arms``, which are not asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skgpb.domains.arms import Arm, PointsQuery, Query, Region
from skgpb.domains.box import Box
from skgpb.domains.space import Choice, ParameterSpace, SeparateAxis, wider_axis
from skgpb.domains.value_ranges import reach
from skgpb.optimizers._loop import Replay, adopt_state, rebuild
from skgpb.optimizers._run import OF_QUERIES, SPACE, Event, identity
from skgpb.utils.validation import SAME, check_numbers

# Events that depend on the coordinates, and are repeated anew.
LEARNING = ("learned", "unlearned")


def change_box(search: Any, bounds: Mapping[str, Any]) -> None:
    """Continue the run of a search in another box; an error changes nothing."""
    box = box_with_earlier(bounds, search.run_.actions, known_settings(search))
    continue_with(search, Restatement, bounds=box, **restated_campaigns(search))


def change_arms(search: Any, arms: Any) -> None:
    """Continue the run of a search with other arms; an error changes nothing."""
    domain, rows = search.domain_, check_numbers(arms, "arms")
    before = np.concatenate([domain.plain, domain.earlier])
    if rows.shape[1] != before.shape[1]:
        raise ValueError(
            f"arms must have {before.shape[1]} columns, like the earlier ones, got {rows.shape[1]}"
        )
    now = {row.tobytes() for row in rows + 0.0}  # adding 0.0 turns -0.0 into 0.0
    left = before[[row.tobytes() not in now for row in before + 0.0]]
    earlier = left if len(left) else None
    continue_with(search, RestatedArms, arms=arms, earlier_arms=earlier)
    search.earlier_arms = earlier
    search.run_.seen = {**search.run_.seen, "earlier_arms": earlier}


def continue_with(search: Any, restatement: type[Restatement], **sets: Any) -> None:
    """Repeat the events of a run, restated for other sets of queries, and continue from there."""
    run = search.run_
    parameters = {**run.parameters, **sets}
    # Its seed must not be drawn from the generator of the run.
    begun = type(search)(**{**parameters, "random_state": 0}).start()
    there = restatement(begun, run.space, search.domain_)
    events = [event for event in map(there.event, run.events) if event is not None]
    replay = Replay(events, run.seed, times=run.times)
    twin, _ = rebuild(type(search), parameters, replay, lock=search._lock)
    new, asked = twin.run_, set(map(there.query, run.asked))
    new.asked = [each for each in new.asked if each in asked]
    every = [event[1] for event in run.events if event[0] in OF_QUERIES]
    new.moved = {old: there.query(query) for old, query in run.moved.items()} | {
        identity(query): there.query(query) for query in every
    }
    new.asked_again = set(map(there.query, run.asked_again))
    new.evaluations.batch = list(map(there.query, run.evaluations.batch))
    new.evaluations.arrived = run.evaluations.arrived
    new.seen, new.unwarned = run.seen, [name for name in run.unwarned if name not in sets]
    adopt_state(search, twin)


def restated_campaigns(search: Any) -> dict[str, Any]:
    """Return the earlier campaigns as a parameter, on the sides of the run; empty without any.

    The box that comes next does not have the values of sides that are new in this one.
    """
    given, setting = search.run_.parameters.get("earlier_campaigns"), search.run_.space.setting
    if not given:
        return {}
    told = zip(given.items(), search._answers_of_campaigns(), strict=True)
    return {"earlier_campaigns": {n: (list(map(setting, X)), y) for (n, (_, y)), (X, _) in told}}


def known_settings(search: Any) -> list[dict[str, Any]]:
    """Return the settings of all queries, of points given to ``fit``, and of earlier campaigns."""
    run, settings = search.run_, search._settings_of_campaigns()
    for kind, *rest in run.events:
        if kind == "fit":
            settings += map(run.space.setting, rest[0])
        elif kind in OF_QUERIES:
            query = rest[0]
            settings += query.settings if len(query.points) == 1 else _settings_in(query, run.space)
    return settings


def _settings_in(region: Query, space: ParameterSpace) -> list[dict[str, Any]]:
    """Return settings that have all values of the points of a region, and of its corners."""
    every = [
        np.unique([*u, *reach(axis, *ends)])
        for (_, axis), u, ends in zip(
            space.axes, region.points.T, region.box.reshape(2, -1).T, strict=True
        )
    ]
    last = max(map(len, every))
    return [space.setting(np.array([u[min(i, len(u) - 1)] for u in every])) for i in range(last)]


def box_with_earlier(
    bounds: Mapping[str, Any], before: ParameterSpace, settings: list[dict[str, Any]]
) -> Box:
    """Return a box of the bounds, with the earlier sides of settings that are not on them.

    Parameters
    ----------
    bounds : dict or Box
        The new sides.
    before : ParameterSpace
        The sides before, without contexts.
    settings : list of dicts
        The settings of all queries so far.

    Raises
    ------
    ValueError
        If a side is new and ``earlier`` does not have the value of all settings so far.
    """
    box = bounds if isinstance(bounds, Box) else Box(bounds)
    given, earlier, known = box.earlier, dict(box.earlier), before.entries()
    for name, side in bounds.items():
        if name not in known:
            if settings and name not in given:
                raise ValueError(
                    f"bounds has the new side {name!r}: pass the value that all answers had so "
                    f"far, as in Box(sides, earlier={{{name!r}: value}}), got {bounds!r}"
                )
            continue
        axis = wider_axis(f"bounds[{name!r}]", side, given.get(name, side))
        if not all(axis.has(setting[name]) for setting in settings):
            earlier[name] = known[name]
            if isinstance(axis, Choice) and not axis.ordered and isinstance(known[name], list):
                # A region has values that are beside each other: those of now come first.
                gone = [value for value in known[name] if not axis.has(value)]
                earlier[name] = [*axis.values, *gone]
    return Box(box.sides, box.constraints, box.feasible, earlier)


class Restatement:
    """Queries and events of a run, restated for a search over other sides.

    Parameters
    ----------
    search : Search
        A search over the new sides that has begun.
    before : ParameterSpace
        The sides of the run so far, with those of contexts.
    earlier : ArmSet, Partition or Balls
        The queries of the run so far.
    """

    def __init__(self, search: Any, before: ParameterSpace, earlier: Any) -> None:
        self._domain, self._earlier, self._before = search.domain_, earlier, before
        self._space: ParameterSpace = search.run_.space

    def points(self, points: np.ndarray) -> np.ndarray:
        """Return points (n, d) of the run so far as points of the new search."""
        before, out = self._before, np.empty((len(points), self._space.n_axes))
        given = {**self._space.earlier, **before.constants}
        for i, (name, axis) in enumerate(self._space.axes):
            if name in before.names:
                number = before.names.index(name)
                u, places = np.unique(points[:, number], return_inverse=True)
                was = before.axes[number][1]
                out[:, i] = np.array([axis.coordinate(was.value(each)) for each in u])[places]
            else:
                out[:, i] = axis.coordinate(given[name])
        return out

    def query(self, query: Query) -> Query:
        """Return a query of the run so far as a query of the new search."""
        points = self.points(query.points)
        there = self._region(query, points)
        # A list may have the values in another order, or without some of them.
        found, told = (np.unique(each, axis=0) for each in (there.points, points))
        if found.shape != told.shape or not np.allclose(found, told, rtol=SAME, atol=SAME):
            there = PointsQuery(points).with_names(self._space)
        domain, before = self._domain, self._earlier
        if isinstance(query, Arm) and domain.cost_group(there) != before.cost_group(query):
            raise ValueError(
                "bounds must keep the sizes of cells, such as their shares of a logarithmic side; "
                f"{query!r} would have another size"
            )
        return there

    def _region(self, query: Query, points: np.ndarray) -> Arm | PointsQuery:
        """Return the arm or the region in the new box which should have the points (S, d)."""
        is_arm = isinstance(query, Arm)
        counts: Any = getattr(query, "spec", getattr(query, "counts", None))
        if not is_arm and (len(points) == 1 or not isinstance(counts, tuple)):
            return PointsQuery(points).with_names(self._space)
        low = high = points[0]
        if isinstance(counts, tuple):
            sides = zip(self._before.axes, *np.split(query.box, 2), strict=True)
            ends = np.array([reach(axis, *each) for (_, axis), *each in sides]).T
            low, high = self.points(ends)
            for i, (_, axis) in enumerate(self._space.axes):
                # A single value of a list is a point of an arm, and an interval of a cell.
                if isinstance(axis, SeparateAxis) and not (is_arm and low[i] == high[i]):
                    first, last = axis.run(low[i], low[i])[0], axis.run(high[i], high[i])[0]
                    low[i], high[i] = axis.ends_of_run(first, last)
        if isinstance(query, Arm):
            n, layout = query.n_context, query.layout
            there = self._domain.with_context(low[:n]) if n else self._domain
            rows = [each[n:] for each in (low, high)][: 1 + layout.boxes]
            more = layout.trailing_columns(query.descriptor[np.newaxis])[0]
            return there.placed_arm(np.concatenate([*rows, more])).with_names(self._space)
        along = dict(zip(self._before.names, counts, strict=True))
        spread = tuple(along.get(name, 1) for name in self._space.names)
        return Region(low, high, spread).with_names(self._space)

    def event(self, event: Event) -> Event | None:
        """Return an event of the run so far; None if it is of learning, which is repeated."""
        kind, *rest = event
        if kind in LEARNING:
            return None
        if kind == "set":  # without a space that waited
            left = {name: value for name, value in rest[0].items() if name not in SPACE}
            return (kind, left) if left else None
        if kind == "fit":
            return kind, self.points(np.asarray(rest[0])), *rest[1:]
        if kind not in OF_QUERIES:
            return event
        if kind == "ask" and rest[1:]:  # the sides that were fixed
            fixed, names = rest[1], self._space.names
            left = {name: fixed[name] for name in names if name in fixed}
            rest[1:] = [left] if left or not fixed else []
        return kind, self.query(rest[0]), *rest[1:]


class RestatedArms(Restatement):
    """Queries and events of a run, restated for a search over other arms."""

    def query(self, query: Query) -> Query:
        """Return a query of the run so far as a query of the new search."""
        if not isinstance(query, Arm):
            return query
        domain = self._domain.with_context(query.context) if query.n_context else self._domain
        row = query.descriptor[np.newaxis]
        arm: Arm | None = domain.arm_at(row)
        return domain.placed_arm(domain.layout.actions_of(row)[0]) if arm is None else arm

    def event(self, event: Event) -> Event | None:
        """Return an event of the run so far; None if it is of learning, which is repeated."""
        return event if event[0] == "fit" else super().event(event)
