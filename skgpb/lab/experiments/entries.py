"""Entries of an experiment: one for each query of the run, with a permanent number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from math import isnan, sqrt
from typing import Any

from skgpb.domains import PointsQuery, Query
from skgpb.domains.space import ParameterSpace
from skgpb.lab.experiments.records import LabRecord
from skgpb.optimizers.changed_box import LEARNING

# Events before and after answers that change the model together.
TOGETHER = ("together", "apart")
# Events that begin or answer no query.
ABOUT_NO_QUERY = (*LEARNING, *TOGETHER, "set", "outcomes")


@dataclass
class Entry:
    """One query: how it was asked or added, and its result.

    Attributes
    ----------
    number : int
        Number by which users refer to it.
    query : Query
        The query.
    status : {"pending", "answered", "failed", "skipped", "given"}
        "given" is an answer of the past, from before the first query.
    answer : float or None
        The answer that was told.
    alpha : float or None
        Noise variance of this answer, if it was told with one.
    reason : str or None
        Text of the failure.
    began, ended : int
        Indices of the events that added and answered it; -1 if there is no such event.
    row : int
        Row among the answers of the past; -1 for queries that were asked or told.
    record : LabRecord
        Notes on the query.
    within_limits : bool or None
        Whether all outcomes are within their limits; None if no measurement is beyond a limit, but
        a measurement is missing.
    cost : float or None
        Cost of the query, if experiments have costs.
    """

    number: int
    query: Query
    status: str = "pending"
    answer: float | None = None
    alpha: float | None = None
    reason: str | None = None
    began: int = -1
    ended: int = -1
    row: int = -1
    record: LabRecord = field(default_factory=LabRecord)
    within_limits: bool | None = True
    cost: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as a dict of JSON types, see :meth:`Experiment.history`."""
        return {
            "query": self.number,
            "params": {name: jsonable(value) for name, value in self.query.params.items()},
            "status": self.status,
            "answer": self.answer,
            "noise": None if self.alpha is None else sqrt(self.alpha),
            "reason": self.reason,
            "within_limits": self.within_limits,
            "cost": self.cost,
            **self.record.as_dict(),
        }


def make_entries(
    events: Sequence[tuple[Any, ...]],
    numbers: Sequence[int],
    last: int,
    space: ParameterSpace,
    alpha: float | None,
) -> list[Entry]:
    """Return the entries of a run, in the order of the events that began them.

    Parameters
    ----------
    events : sequence of tuples
        The events of an optimizer.
    numbers : sequence of int
        Numbers of the first entries.
    last : int
        Last number in use; later entries get the numbers after it.
    space : ParameterSpace
        The named sides.
    alpha : float or None
        The optimizer's noise variance, for answers told without one; None if it is learned.
    """
    entries: list[Entry] = []
    pending: dict[Query, list[Entry]] = {}
    number = chain(numbers, count(last + 1))
    for i, (kind, *rest) in enumerate(events):
        if kind in ABOUT_NO_QUERY:
            continue
        if kind == "fit":
            X, y = rest[:2]
            for row, value in enumerate([] if y is None else y.tolist()):
                query = PointsQuery(X[row : row + 1].copy()).with_names(space)
                entries.append(Entry(next(number), query, "given", value, began=i, row=row))
            continue
        query = rest[0]
        if kind == "ask" or not pending.get(query):
            entries.append(Entry(next(number), query, began=i))
            pending.setdefault(query, []).append(entries[-1])
        if kind == "ask":
            continue
        entry = pending[query].pop(0)
        entry.ended = i
        if kind == "fail":
            entry.status, entry.reason = "failed", rest[1]
        elif kind == "withdraw":
            entry.status = "skipped"
        else:
            entry.status, entry.answer, noise = "answered", float(rest[1]), rest[2]
            # NaN: told without a noise variance, and the optimizer learns it.
            entry.alpha = None if isnan(noise) or noise == alpha else float(noise)
    return entries


def jsonable(value: Any) -> Any:
    """Convert a value of a side, or the values of a region, to JSON types."""
    if isinstance(value, (tuple, list, range)):
        return [jsonable(each) for each in value]
    if hasattr(value, "item"):
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
