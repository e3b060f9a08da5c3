"""The record of a run as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgpb.domains.space import equal
from skgpb.optimizers._run import event_block_name
from skgpb.utils.install import needs
from skgpb.utils.validation import Real

if TYPE_CHECKING:
    from skgpb.optimizers._base import BaseBanditOptimizer

__all__ = ["history_frame"]

with needs("skgpb.integrations.pandas", "pandas", "pandas"):
    import pandas as pd


def history_frame(
    optimizer: BaseBanditOptimizer[Any], feature_names: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return a run as a DataFrame with one row for each answer and for each failure.

    Parameters
    ----------
    optimizer : BaseBanditOptimizer
        Optimizer after at least one ``ask``, ``tell`` or ``fit``.
    feature_names : sequence of d str, default=None
        Names of the features. None stands for the names of the sides, or else for the feature names
        of X in ``fit``, or else for x0, x1 and so on.

    Returns
    -------
    frame : pandas.DataFrame
        Answers and failures in the order of ``tell``, with numbers from 1 as the index. Each
        feature has a column of its settings, in the user's units. If queries are regions, a numeric
        feature has the columns ``lower_<name>`` and ``upper_<name>`` instead, and the column of any
        other feature has lists. Then come

        - ``reward``, ``mean``, ``std`` and so on, as in ``history_``; for campaigns their names or
          numbers are appended, ``reward_search``;
        - ``noise``, the noise variance of the answer, NaN if it is learned;
        - a column for each of ``outcomes``, NaN if it was not measured;
        - ``block``, if an answer has one;
        - ``failure``, the reason of a failure, None for an answer;
        - ``time``, the time of ``tell`` (UTC).

        A column whose name occurs before it has an underscore appended: ``time_``.

    Examples
    --------
    >>> from skgpb import GPUCBOptimizer
    >>> from skgpb.integrations.pandas import history_frame
    >>> opt = GPUCBOptimizer(bounds={"heat": (20, 90), "oil": ["A", "B"]}, random_state=0)
    >>> _ = opt.run(lambda query: query.params["heat"], budget=3)
    >>> history_frame(opt)[["heat", "oil", "reward"]].shape
    (3, 3)
    """
    check_is_fitted(optimizer, "bounds_")
    events, measured, last = [], list[dict[str, Any]](), dict[Any, dict[str, Any]]()
    for event in optimizer._events:
        if event[0] in ("tell", "fail"):
            events.append(event)
            measured.append({})
            last[event[1]] = measured[-1]
        elif event[0] == "outcomes" and event[1] in last:
            last[event[1]].update(event[2])
    answers = [event for event in events if event[0] == "tell"]
    frame = pd.DataFrame(_settings(optimizer, [event[1] for event in events], feature_names))
    frame.index = pd.RangeIndex(1, len(events) + 1)

    def put(label: str, column: Any) -> None:
        while label in frame:
            label += "_"
        frame[label] = column

    told = frame.index[[event[0] == "tell" for event in events]]
    history = optimizer.history_
    columns = {name: history[name] for name in (history.dtype.names or ())[2:]}
    columns["noise"] = np.array([event[3] for event in answers], dtype=np.float64)
    for name, values in columns.items():
        campaigns = getattr(optimizer.domain_, "names", None) or range(values[:1].size)
        several = [name] if values.ndim == 1 else [f"{name}_{each}" for each in campaigns]
        nothing = False if values.dtype == bool else np.nan
        for label, column in zip(several, np.atleast_2d(values.T), strict=True):
            put(label, pd.Series(column, told).reindex(frame.index, fill_value=nothing))
    for name in dict.fromkeys(name for each in measured for name in each):
        put(name, np.array([each.get(name) for each in measured], dtype=np.float64))
    blocks = [event_block_name(event) for event in events]
    if any(block is not None for block in blocks):
        put("block", blocks)
    put("failure", [None if event[0] == "tell" else event[2] for event in events])
    put("time", pd.to_datetime(optimizer.run_.times, unit="s", utc=True))
    return frame


def _settings(optimizer: Any, queries: list[Any], names: Sequence[str] | None) -> dict[str, Any]:
    """Return the settings of queries, a dict of lists by the names of the columns."""
    corners = [np.split(query.box, 2) for query in queries]
    lower = [query.ranges(low, low) for query, (low, _) in zip(queries, corners, strict=True)]
    sides = [query.ranges(*ends) for query, ends in zip(queries, corners, strict=True)]
    if queries:
        keys = list(dict.fromkeys(key for side in sides for key in side))
    elif optimizer.run_.space is None:
        keys = [f"x{i}" for i in range(optimizer.n_features_in_)]
    else:
        keys = optimizer.run_.space.sides
    if names is None:
        # Indirect queries are in another space than X, with names of their own.
        seen = getattr(optimizer, "feature_names_in_", ())
        names = seen if len(seen) == len(keys) else keys
    if len(names) != len(keys):
        raise ValueError(f"feature_names must hold {len(keys)} names, got {names!r}")
    columns: dict[str, Any] = {}
    for key, name in zip(keys, names, strict=True):
        # get: a query of one of several spaces lacks the parameters of the other spaces.
        values = [side.get(key) for side in sides]
        wide = [
            value is not low.get(key) and not equal(value, low.get(key))
            for value, low in zip(values, lower, strict=True)
        ]
        if not any(wide):
            columns[str(name)] = values
            continue
        ends = [list(v) if w else [v] for v, w in zip(values, wide, strict=True)]
        if all(end[0] is None or isinstance(end[0], Real) for end in ends):
            columns[f"lower_{name}"] = [end[0] for end in ends]
            columns[f"upper_{name}"] = [end[-1] for end in ends]
        else:
            columns[str(name)] = ends
    return columns
