"""Edges of the levels of a column: near quantiles, and easy to read."""

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
# Units that timestamps are rounded to, in seconds.
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
    """Return an ordered column of ibis as numbers: days or seconds since 1970 for times.

    NaN becomes NULL.
    """
    kind = column.type()
    if kind.is_date():
        return column.cast("timestamp").epoch_seconds().cast("float64") / SECONDS_PER_DAY
    if kind.is_timestamp():
        return column.epoch_seconds().cast("float64")
    if kind.is_floating():
        return column.isnan().ifelse(None, column).cast("float64")
    return column.cast("float64")


def quantiles_of(
    queries: Queries, rows: Any, names: Sequence[str], n_bins: int
) -> dict[str, list[float | None]]:
    """Ask for quantiles of columns that have an order, by one query.

    Parameters
    ----------
    queries : Queries
        Connection that answers them.
    rows : ibis.expr.types.Table
        The columns.
    names : sequence of str
        Their names.
    n_bins : int
        There is one quantile more, from the smallest value to the largest.
    """
    if not names:
        return {}
    shares = (np.arange(n_bins + 1) / n_bins).tolist()
    can = queries.connection.has_operation
    exact = can(ops.MultiQuantile) or can(ops.Quantile)
    several = can(ops.MultiQuantile if exact else ops.ApproxMultiQuantile)
    asked = {}
    for j, name in enumerate(names):
        column = as_numbers(rows[name])
        quantile = column.quantile if exact else column.approx_quantile
        if several:
            asked[f"q{j}"] = quantile(shares)
        else:
            asked |= {f"q{j}_{i}": quantile(share) for i, share in enumerate(shares)}
    found = queries.evaluate(rows.aggregate(**asked))
    if several:
        return {name: found[f"q{j}"][0] or [] for j, name in enumerate(names)}
    places = range(n_bins + 1)
    return {name: [found[f"q{j}_{i}"][0] for i in places] for j, name in enumerate(names)}


def limits_of(quantiles: Sequence[float | None]) -> tuple[float, float] | None:
    """Return the limits beyond which values of a target are outliers, or None.

    Parameters
    ----------
    quantiles : sequence of float
        Increasing quantiles of the target in a sample, smallest and largest included.
    """
    given = np.array([each for each in quantiles if each is not None], dtype=np.float64)
    if len(given) < 3 or not np.isfinite(given).all():
        return None
    # If another value than the most frequent one is rare, nothing is left without the tails.
    spread = float(given[1:-1].std()) or float(given.std())
    middle, far = float(np.median(given)), MAX_OUTLIER_SDS * spread
    return (middle - far, middle + far) if far else None


def edges_of(
    quantiles: Sequence[float | None], kind: Any
) -> tuple[tuple[Any, ...], dict[Any, Any]]:
    """Return where levels begin.

    A value that is several quantiles is a level of its own.

    Parameters
    ----------
    quantiles : sequence of float
        Increasing quantiles of the numbers of :func:`as_numbers`, smallest and largest included.
    kind : ibis.expr.datatypes.DataType
        Type of the column.

    Returns
    -------
    edges : tuple
        Increasing, of the column's type; decimals as floats.
    above : dict
        The edges that are the next float after a frequent value, and that value.
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
            edges.add(_rounded(value, gap, kind))
        if frequent[i] and i < last and not frequent[i + 1]:
            after = value + unit if unit else float(np.nextafter(value, np.inf))
            edges.add(after)
            if not unit:
                above[after] = value
    return tuple(_of_kind(each, kind) for each in sorted(edges)), above


def _unit(kind: Any) -> float:
    """Distance between two neighbours among the numbers; 0 for floats."""
    if kind.is_floating():
        return 0.0
    if kind.is_decimal():
        return 10.0 ** -(kind.scale or 0)
    return 1.0


def _rounded(value: float, gap: float, kind: Any) -> float:
    """Round a number to as few digits as a gap allows."""
    if kind.is_timestamp():
        step = next((each for each in TIME_STEPS if 2 * each <= gap), 1)
        return float(round(value / step) * step)
    digits = math.floor(math.log10(0.5 * gap))
    if kind.is_date():
        digits = 0
    elif not kind.is_floating():
        digits = max(digits, round(math.log10(_unit(kind))))
    return float(round(value, -digits))


def _of_kind(value: float, kind: Any) -> Any:
    """Return a number as a value of the column."""
    if kind.is_date():
        return date(1970, 1, 1) + timedelta(days=round(value))
    if kind.is_timestamp():
        origin = datetime(1970, 1, 1, tzinfo=UTC if kind.timezone else None)
        return origin + timedelta(seconds=round(value))
    return round(value) if kind.is_integer() else value
