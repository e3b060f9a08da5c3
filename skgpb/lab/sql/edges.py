"""Edges of the levels of a column: quantiles, rounded so that they are easy to read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import ibis.expr.operations as ops
import numpy as np

from skgpb.lab.sql.connection import Queries
from skgpb.lab.tables.verdict import MAX_OUTLIER_SDS

SECONDS_PER_DAY = 86_400
# Units to which timestamps are rounded, in seconds.
TIME_STEPS = (SECONDS_PER_DAY, 3600, 60, 1)


def is_ordered(kind: Any) -> bool:
    """Return whether a type of ibis is a number, a date or a timestamp."""
    return bool(kind.is_numeric() or kind.is_temporal()) and not (
        kind.is_time() or kind.is_interval()
    )


def is_category(kind: Any) -> bool:
    """Return whether a type of ibis is a text or a boolean."""
    return bool(kind.is_string() or kind.is_boolean())


def as_numbers(column: Any) -> Any:
    """Return an ordered column of ibis as numbers, with NULL in place of NaN.

    Dates become days since 1970, timestamps seconds since 1970.
    """
    kind = column.type()
    if kind.is_date():
        return column.cast("timestamp").epoch_seconds().cast("float64") / SECONDS_PER_DAY
    if kind.is_timestamp():
        return column.epoch_seconds().cast("float64")
    if kind.is_floating():
        return column.isnan().ifelse(None, column).cast("float64")
    return column.cast("float64")


def query_quantiles(
    queries: Queries, rows: Any, names: Sequence[str], n_bins: int
) -> dict[str, list[float | None]]:
    """Query ``n_bins + 1`` quantiles of each ordered column, by one query.

    They go from the smallest value to the largest.

    Parameters
    ----------
    queries : Queries
        Connection to the database.
    rows : ibis.expr.types.Table
        Table with the columns.
    names : sequence of str
        Names of the columns.
    n_bins : int
        Number of bins between the quantiles.
    """
    if not names:
        return {}
    shares = (np.arange(n_bins + 1) / n_bins).tolist()
    can = queries.connection.has_operation
    exact = can(ops.MultiQuantile) or can(ops.Quantile)
    several = can(ops.MultiQuantile if exact else ops.ApproxMultiQuantile)
    aggregates = {}
    for j, name in enumerate(names):
        column = as_numbers(rows[name])
        quantile = column.quantile if exact else column.approx_quantile
        if several:
            aggregates[f"q{j}"] = quantile(shares)
        else:
            aggregates |= {f"q{j}_{i}": quantile(share) for i, share in enumerate(shares)}
    answer = queries.evaluate(rows.aggregate(**aggregates))
    if several:
        return {name: answer[f"q{j}"][0] or [] for j, name in enumerate(names)}
    indices = range(n_bins + 1)
    return {name: [answer[f"q{j}_{i}"][0] for i in indices] for j, name in enumerate(names)}


def outlier_limits(quantiles: Sequence[float | None]) -> tuple[float, float] | None:
    """Return the limits beyond which values of a target are outliers; None for no limits.

    Parameters
    ----------
    quantiles : sequence of float
        Increasing quantiles of the target in a sample, smallest and largest included.
    """
    given = np.array([each for each in quantiles if each is not None], dtype=np.float64)
    if len(given) < 3 or not np.isfinite(given).all():
        return None
    # If one of two values is rare, the quantiles without the tails are constant.
    spread = float(given[1:-1].std()) or float(given.std())
    middle, far = float(np.median(given)), MAX_OUTLIER_SDS * spread
    return (middle - far, middle + far) if far else None


def level_edges(
    quantiles: Sequence[float | None], kind: Any
) -> tuple[tuple[Any, ...], dict[Any, Any]]:
    """Return the edges of the levels of a column.

    A frequent value, which equals several quantiles, is a level of its own.

    Parameters
    ----------
    quantiles : sequence of float
        Increasing quantiles of the numbers of :func:`as_numbers`, smallest and largest included.
    kind : ibis.expr.datatypes.DataType
        Type of the column.

    Returns
    -------
    edges : tuple
        Increasing edges, of the column's type; floats for decimals.
    above : dict
        For each edge that is the next float after a frequent value: that value.
    """
    given = np.array([each for each in quantiles if each is not None], dtype=np.float64)
    values, counts = np.unique(given[np.isfinite(given)], return_counts=True)
    frequent, last = counts > 1, len(values) - 1
    unit = _unit(kind)
    edges, above = set(), {}
    for i, value in enumerate(values.tolist()):
        if i and frequent[i]:
            edges.add(value)
        elif 0 < i < last:
            gap = min(value - values[i - 1], values[i + 1] - value)
            edges.add(_round_value(value, gap, kind))
        if frequent[i] and i < last and not frequent[i + 1]:
            after = value + unit if unit else float(np.nextafter(value, np.inf))
            edges.add(after)
            if not unit:
                above[after] = value
    return tuple(_to_kind(each, kind) for each in sorted(edges)), above


def _unit(kind: Any) -> float:
    """Return the distance between neighbouring numbers of a type of ibis; 0 for floats."""
    if kind.is_floating():
        return 0.0
    if kind.is_decimal():
        return 10.0 ** -(kind.scale or 0)
    return 1.0


def _round_value(value: float, gap: float, kind: Any) -> float:
    """Round a number to as few digits as possible, by less than half of ``gap``."""
    if kind.is_timestamp():
        step = next((each for each in TIME_STEPS if 2 * each <= gap), 1)
        return float(round(value / step) * step)
    digits = math.floor(math.log10(0.5 * gap))
    if kind.is_date():
        digits = 0
    elif not kind.is_floating():
        digits = max(digits, round(math.log10(_unit(kind))))
    return float(round(value, -digits))


def _to_kind(value: float, kind: Any) -> Any:
    """Convert a number to a value of the column's type ``kind``."""
    if kind.is_date():
        return date(1970, 1, 1) + timedelta(days=round(value))
    if kind.is_timestamp():
        origin = datetime(1970, 1, 1, tzinfo=UTC if kind.timezone else None)
        return origin + timedelta(seconds=round(value))
    return round(value) if kind.is_integer() else value
