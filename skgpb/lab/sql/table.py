"""A table in a database, through ibis (https://ibis-project.org): the database does the counting.

:class:`IbisTable` is the source of a search of a table, see :mod:`skgpb.lab.tables`. It answers for
all boxes of a step by one query with GROUPING SETS, which reads the table once. The database
returns counts and averages; no row leaves it. Queries are written in DuckDB's SQL and translated
into the SQL of the database.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import numpy as np

from skgpb.lab.sql.connection import Queries
from skgpb.lab.sql.edges import (
    is_category,
    is_ordered,
    level_edges,
    outlier_limits,
    query_quantiles,
)
from skgpb.lab.tables import Levels, Moments
from skgpb.lab.tables.checks import missing_code
from skgpb.lab.tables.conditions import Categories, Condition, Range, Subgroup, format_literal
from skgpb.lab.tables.levels import is_two_valued

# Approximate number of rows of the sample by which quantiles and categories are found.
ROWS_FOR_LEVELS = 200_000
# Bins of a number, and most frequent categories with a level of their own.
N_BINS, N_CATEGORIES = 128, 60
# Columns of a temporary table.
HALF, BLOCK, PART = "half of the rows", "block of the row", "part of the blocks"
# Number of parts into which the sampled blocks are divided; variances are estimated between parts.
# The blocks of each half are in half of the parts.
N_PARTS = 64
# Numbers of blocks are multiplied by MIXED modulo PRIME, so that blocks of a part are scattered.
MIXED, PRIME = 1_103_515_245, 2_147_483_647


class Rest:
    """Label of the level of all categories that have no level of their own."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rest)

    def __hash__(self) -> int:
        return hash(Rest)

    def __repr__(self) -> str:
        return "any other"


class IbisTable:
    """A table in a database as a source of a search.

    Parameters
    ----------
    table : ibis.expr.types.Table
        Table of a connection: ``connection.table(name)``, ``connection.read_parquet(path)`` or any
        expression.
    features : sequence of str
        Columns that form groups. Numbers, dates and timestamps have an order; texts and booleans
        are categories. NULL is a level of its own, and NaN counts as NULL.
    target : str
        Column whose average is sought: numbers or booleans. Rows without a target are left out.
    where : str, default=None
        Rows to search: a condition in the SQL of the database. None for all rows.
    n_bins : int, default=128
        Approximate number of levels of a number.
    n_categories : int, default=60
        Number of most frequent categories with a level of their own; the others share one level.
    max_scans : int, default=None
        Maximum number of queries over all rows, see ``n_scans``; None for no limit.
    secrets : sequence of str, default=()
        Texts that error messages must not show, such as a password.

    Attributes
    ----------
    levels : tuple of Levels
        The levels of the features. Edges are rounded quantiles of a sample. Labels are the
        categories of a sample, the most frequent first, and a :class:`Rest` if the table has other
        categories.
    n_rows : int
        Number of rows that are searched: those that fulfil ``where`` and have a target.
    n_missing : int
        Number of rows that fulfil ``where`` and have no target.
    mean : float
        Average of the clipped target over the rows that are searched.
    true_mean : float
        Average of the target over these rows, without clipping.
    limits : tuple of float or None
        Limits to which the target is clipped in all answers; None if it has no outliers.
    n_outliers : int
        Number of outliers.
    missing_code : float or None
        A frequent target that is far from all others, such as 9999: perhaps a code for missing
        values. None if there is no such value.
    extremes : tuple of float
        The smallest and the largest target.
    n_scans : int
        Number of queries so far that read all rows.

    Raises
    ------
    DatabaseError
        If the database does not answer.
    ScansSpentError
        If a query would be one more than ``max_scans``.
    ValueError
        If a column is missing or has a type that cannot be searched, if ``where`` is no condition,
        or if no rows are left.

    Notes
    -----
    The constructor makes two to five queries: they count rows, find the levels of numbers and of
    texts in sampled blocks, count categories, and return averages and counts of missing values.
    After that each call of :meth:`totals` or :meth:`marginals` is one query.

    Examples
    --------
    >>> import ibis
    >>> from skgpb.lab.sql import IbisTable
    >>> database = ibis.duckdb.connect()
    >>> rows = "SELECT i % 10 AS hour, i AS price FROM range(1000) t(i)"
    >>> _ = database.raw_sql(f"CREATE TABLE sales AS {rows}")
    >>> sales = database.table("sales")
    >>> table = IbisTable(sales, ["hour"], "price")
    >>> table.n_rows, table.levels[0].edges[:3]
    (1000, (1, 2, 3))
    >>> evening = table.levels[0].subgroup(8, 10)
    >>> table.totals([evening]).mean
    array([503.5])
    >>> print(table.where(evening))
    "hour" >= 8
    """

    def __init__(
        self,
        table: Any,
        features: Sequence[str],
        target: str,
        *,
        where: str | None = None,
        n_bins: int = N_BINS,
        n_categories: int = N_CATEGORIES,
        max_scans: int | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        self._table = table
        self._queries = Queries(table.get_backend(), max_scans, secrets)
        schema = table.schema()
        for name in (*features, target):
            if name not in schema:
                raise ValueError(
                    f"there is no column {name!r}; the columns are {', '.join(schema.names)}"
                )
        self._types = {name: schema[name] for name in (*features, target)}
        for name in features:
            _check_feature(name, self._types[name])
        self.target = target
        self._number = self._as_it_is = _target_number(target, self._types[target])
        self._given = None if where is None else self._queries.condition(where)
        self._present = f"NOT ({_missing(target, self._types[target])})"
        self._from = self._queries.source(table)
        counted = self._ask({"n": ("COUNT(*)", "int64")}, self._given)["n"]
        if not counted:
            raise ValueError(
                "the table has no rows" if where is None else f"where selects no rows: {where}"
            )
        # Names of the columns with the levels, by features.
        self._codes: dict[str, str] = {}
        # Attributes of a sample: the number of all rows, the variance of the target, and whether
        # there are parts of sampled blocks.
        self._n_all: int | None = None
        self._variance, self._parts = 0.0, False
        # Edges just above a frequent value, by features: conditions write them as > and <=.
        self._just_above: dict[str, dict[Any, Any]] = {name: {} for name in features}
        few = counted <= 2 * ROWS_FOR_LEVELS
        sample = table if few else self._queries.sample(table, ROWS_FOR_LEVELS, counted, 0)
        found = self._find_levels(sample, n_bins, n_categories)
        self._read_facts(found)
        self._limit_target()
        self.n_missing: int = counted - self.n_rows

    @property
    def n_scans(self) -> int:
        """Number of queries so far that read all rows."""
        return self._queries.n_scans

    @property
    def is_two_valued(self) -> bool:
        """True if the target has two values only, in a table that :meth:`kept` returned."""
        return self.limits is None and is_two_valued(self.mean, self._variance, *self.extremes)

    # -- queries of a search ----------------------------------------------------------------

    def totals(self, boxes: Sequence[Subgroup]) -> Moments:
        """Return the moments of the target in boxes, with arrays of shape (n_boxes,).

        Parameters
        ----------
        boxes : sequence of Subgroup
            Boxes whose ends are edges of levels.
        """
        if not boxes:
            return Moments(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
        answer = self._query_sums([], boxes)
        indices = range(len(boxes))
        sums = [[answer[f"{each}{i}"][0] or 0.0 for i in indices] for each in self._sums]
        return self._moments(np.array(sums))

    def marginals(
        self, boxes: Sequence[Subgroup], features: Sequence[Sequence[str]] | None = None
    ) -> list[dict[str, Moments]]:
        """Return the moments of the target in boxes, by levels of features.

        Parameters
        ----------
        boxes : sequence of Subgroup
            Boxes whose ends are edges of levels; they may overlap.
        features : sequence of sequence of str, default=None
            Names of the features for each box; None for all features of all boxes.

        Returns
        -------
        answers : list of dict of str to Moments
            For each box and feature; arrays have shape (n_levels,).
        """
        every = [levels.name for levels in self.levels]
        names = [every] * len(boxes) if features is None else [list(each) for each in features]
        used = [levels for levels in self.levels if any(levels.name in each for each in names)]
        if not used:
            return [{} for _ in boxes]
        keys = [f"{self._code(levels)} AS c{j}" for j, levels in enumerate(used)]
        answer = self._query_sums(keys, boxes)
        indices = range(len(boxes))
        size = len(self._sums), len(boxes)
        sums = [np.zeros((*size, levels.n_levels)) for levels in used]
        for row in range(len(answer["n0"])):
            for j, levels in enumerate(used):
                level = answer[f"c{j}"][row]
                # NULL: the row of the answer is about another feature. A level beyond the last one:
                # rows were inserted after the levels were found.
                if level is not None and level < levels.n_levels:
                    for a, each in enumerate(self._sums):
                        sums[j][a, :, level] = [answer[f"{each}{i}"][row] or 0.0 for i in indices]
        return [
            {
                levels.name: self._moments(sums[j][:, i])
                for j, levels in enumerate(used)
                if levels.name in names[i]
            }
            for i in indices
        ]

    # -- groups -----------------------------------------------------------------------------

    def where(self, box: Subgroup) -> str:
        """Write a box as a condition in the SQL of the database.

        The condition contains the ``where`` of this table, and selects the rows of the box that are
        searched.

        Parameters
        ----------
        box : Subgroup
            A box whose ends are edges of levels.
        """
        parts = [self._given] if self._given is not None else []
        parts += [self._side(name, box[name]) for name in box]
        if self.n_missing:
            parts.append(self._present)
        return self._queries.translate(_all(parts) or "TRUE")

    def averages(self, where: str) -> tuple[int, float, float]:
        """Return the number of rows that a condition selects, and averages of the target.

        Parameters
        ----------
        where : str
            Condition in the SQL of the database, such as :meth:`where` returns.

        Returns
        -------
        n : int
        mean, counted : float
            Average of the target, and of the clipped target.
        """
        asked = {"n": ("COUNT(*)", "int64"), "mean": (f"AVG({self._as_it_is})", "float64")}
        if self.limits is not None:
            asked["counted"] = f"AVG({self._number})", "float64"
        answer = self._ask(asked, self._queries.condition(where))
        return answer["n"], answer["mean"], answer.get("counted", answer["mean"])

    def kept(self, n_rows: int | None = None, seed: int = 0) -> IbisTable:
        r"""Return the rows that are searched as a temporary table of this connection.

        Parameters
        ----------
        n_rows : int, default=None
            Approximate number of rows of a sample; None for all rows. A sample of 100,000 rows or
            more of a table of DuckDB or PostgreSQL consists of blocks of rows; otherwise, and from
            files, views and other databases, single rows are drawn.
        seed : int, default=0
            Seed of the sample, if the database accepts one.

        Returns
        -------
        table : IbisTable
            Table with the same levels, whose queries are not counted as scans of this table. The
            moments of a sample have ``noise``: the variance of their averages as estimates of the
            averages of all rows, between the blocks or between the single rows that were drawn.

        Notes
        -----
        Blocks are divided at random into 64 parts. An average is the ratio of a sum and a count.
        With the sums :math:`s_p` and the counts :math:`n_p` of the :math:`k` parts that have rows
        of the box, :math:`n = \sum n_p` and the average :math:`m`, its variance is

        .. math:: (1 - f) \frac{k}{k - 1} \sum_p \Bigl(\frac{s_p - m n_p}{n}\Bigr)^2,

        where :math:`f` is the sampled share of the rows. For single rows it is :math:`(1 - f)`
        times the variance of the target over :math:`n - 1`. If all rows of a box are in one part,
        or if there is only one row, the variance of all targets is used.
        """
        table, source, parts = self._table, None, False
        if n_rows is not None and n_rows < self.n_rows:
            # The sample contains rows without a target, which are then left out.
            size = (n_rows, self.n_rows + self.n_missing, seed)
            source = self._queries.blocks(table, *size, BLOCK)
            parts = source is not None
            table = table if parts else self._queries.sample(table, *size, "row")
        rows = self._select_rows(source or self._queries.source(table), [BLOCK] if parts else [])
        few = copy.copy(self)
        # Speed: levels are computed once and stored in columns of the temporary table.
        few._codes = {each.name: f"level of {each.name}" for each in self.levels}
        codes = {
            _quote(few._codes[each.name]): f"CAST({self._code(each)} AS SMALLINT)"
            for each in self.levels
        }
        if parts:
            part = f"({_quote(BLOCK)} * {MIXED}) % {PRIME} % {N_PARTS}"
            codes[_quote(PART)] = f"CAST({part} AS SMALLINT)"
            codes[_quote(HALF)] = f"CAST({part} % 2 AS SMALLINT)"
        added = [*few._codes.values(), *([PART, HALF] if parts else [])]
        types = self._types | ({BLOCK: "int64"} if parts else {}) | dict.fromkeys(added, "int16")
        few._table = self._queries.keep(rows, codes, types, None if parts else HALF)
        few._parts = parts
        few._n_all = None if n_rows is None or n_rows >= self.n_rows else self.n_rows
        few._queries = Queries(self._queries.connection, None, self._queries.secrets)
        few._from = few._queries.source(few._table)
        few.n_missing = 0
        return few._with_rows(None)

    def halves(self) -> tuple[IbisTable, IbisTable]:
        """Return two random halves of a table that :meth:`kept` returned."""
        first, second = (self._with_rows(f"{_quote(HALF)} = {i}") for i in range(2))
        return first, second

    def outside(self, box: Subgroup) -> IbisTable:
        """Return the rows outside a box, of a table that :meth:`kept` returned."""
        inside = _all([self._condition(name, box[name]) for name in box])
        # A comparison with a missing value is neither true nor false.
        return self._with_rows(_all([self._given, f"NOT COALESCE({inside}, FALSE)"]))

    def only(self, features: Sequence[str]) -> IbisTable:
        """Return the table with these features only."""
        other = copy.copy(self)
        other.levels = tuple(levels for levels in self.levels if levels.name in features)
        return other

    def _with_rows(self, where: str | None) -> IbisTable:
        """Return the table of the rows that fulfil a condition, in the SQL of DuckDB."""
        some = copy.copy(self)
        some._given = where
        every = some.totals([Subgroup()])
        some.n_rows = int(every.n[0])
        some.mean = float(every.mean[0])
        some._variance = float(every.variance[0])
        return some

    # -- queries ----------------------------------------------------------------------------

    def _ask(self, asked: Mapping[str, tuple[str, str]], where: str | None) -> dict[str, Any]:
        """Query aggregates of the rows that fulfil a condition; None for all rows.

        ``asked`` has expressions and the types of their values, by names.
        """
        columns = ", ".join(f"{each} AS {name}" for name, (each, _) in asked.items())
        types = {name: kind for name, (_, kind) in asked.items()}
        tail = "" if where is None else f" WHERE {where}"
        answer = self._queries.ask(f"SELECT {columns} FROM {self._from}{tail}", types)
        return {name: values[0] for name, values in answer.items()}

    def _query_sums(self, keys: list[str], boxes: Sequence[Subgroup]) -> dict[str, list[Any]]:
        """Query the sums over the rows of boxes, by each of ``keys``, such as ``level AS c0``.

        The columns of the answer are the keys, and for box ``i`` ``n{i}``, ``s{i}`` and so on, see
        ``_sums``.
        """
        # Rounding: sums of squares lose no digits if the average is subtracted first.
        value = f"{self._number} - {self.mean!r}"
        common = [
            each for each in boxes[0].conditions if all(each in box.conditions for box in boxes)
        ]
        # Speed: a side that several boxes have is evaluated once for each row.
        flags: dict[tuple[str, Condition], str] = {}
        conditions = []
        for box in boxes:
            own = [side for side in box.conditions if side not in common]
            names = [flags.setdefault(side, f'"side {len(flags)}"') for side in own]
            conditions.append(" AND ".join(names))
        values = [
            f"CASE WHEN {each} THEN {value} END AS y{i}" if each else f"{value} AS y{i}"
            for i, each in enumerate(conditions)
        ]
        rows = [self._given, self._present, *(self._condition(*side) for side in common)]
        columns = ["*", *(f"{self._condition(*side)} AS {name}" for side, name in flags.items())]
        inner = f"SELECT {', '.join(columns)} FROM {self._from} WHERE {_all(rows)}"
        some = (
            f" WHERE {' OR '.join(f'({each})' for each in conditions)}" if all(conditions) else ""
        )
        names = [f"c{j}" for j in range(len(keys))]
        part = [_quote(PART)] if self._parts else []
        inner = f"SELECT {', '.join([*keys, *part, *values])} FROM ({inner}) AS r{some}"
        sums, types = [], dict.fromkeys(names, "int64")
        for i in range(len(boxes)):
            sums += [f"COUNT(y{i}) AS n{i}", f"SUM(y{i}) AS s{i}", f"SUM(y{i} * y{i}) AS t{i}"]
        sets = [", ".join([name, *part]) for name in names] or part
        tail = f" GROUP BY GROUPING SETS ({', '.join(f'({each})' for each in sets)})"
        query = f"SELECT {', '.join([*names, *sums])} FROM ({inner}) AS s{tail if sets else ''}"
        if self._parts:
            sums = []
            for i in range(len(boxes)):
                sums += [f"CAST(SUM(n{i}) AS BIGINT) AS n{i}", f"SUM(s{i}) AS s{i}"]
                sums += [f"SUM(t{i}) AS t{i}", f"SUM(CASE WHEN n{i} > 0 THEN 1 ELSE 0 END) AS k{i}"]
                count = f"CAST(n{i} AS DOUBLE)"
                sums += [f"SUM({count} * {count}) AS u{i}", f"SUM({count} * s{i}) AS v{i}"]
                sums += [f"SUM(s{i} * s{i}) AS w{i}"]
            tail = f" GROUP BY {', '.join(names)}" if names else ""
            query = f"SELECT {', '.join([*names, *sums])} FROM ({query}) AS p{tail}"
        names = [f"{each}{i}" for i in range(len(boxes)) for each in self._sums]
        types |= {each: "int64" if each[0] in "nk" else "float64" for each in names}
        return self._queries.ask(query, types)

    @property
    def _sums(self) -> str:
        """Letters of the sums that are queried for each box.

        n is the number of rows, s and t are the sums of their targets and of the squares. With
        parts of blocks, k is the number of parts, and u, v and w are the sums over the parts of
        n * n, n * s and s * s.
        """
        return "nstkuvw" if self._parts else "nst"

    def _moments(self, sums: np.ndarray) -> Moments:
        """Convert sums (n_sums, n_groups), in the order of ``_sums``, into moments."""
        n = sums[0].astype(np.int64)
        moments = Moments.of_sums(n, sums[1], sums[2])
        noise = None
        if self._n_all is not None:
            mean, some = moments.mean, np.maximum(n, 1)
            if self._parts:
                k = sums[3]
                squared = np.maximum(sums[6] - 2.0 * mean * sums[5] + mean**2 * sums[4], 0.0)
                noise = k / np.maximum(k - 1.0, 1.0) * squared / some**2.0
            else:
                k, noise = n, moments.variance / np.maximum(n - 1, 1)
            noise = np.where(k > 1, noise, self._variance) * (1.0 - self.n_rows / self._n_all)
        return replace(moments, mean=np.where(n > 0, moments.mean + self.mean, 0.0), noise=noise)

    def _code(self, levels: Levels) -> str:
        """Write the level of a value in SQL; bisection gives the level of a number."""
        if levels.name in self._codes:
            return _quote(self._codes[levels.name])

        def code(edges: Sequence[Any], first: int) -> str:
            if not edges:
                return str(first)
            half = len(edges) // 2
            below, above = code(edges[:half], first), code(edges[half + 1 :], first + half + 1)
            return f"CASE WHEN {name} < {self._literal(edges[half])} THEN {below} ELSE {above} END"

        name = _quote(levels.name)
        missing = _missing(levels.name, self._types[levels.name])
        if levels.kind == "number":
            present = code(levels.edges, 0)
            return f"CASE WHEN {missing} THEN {levels.n_values} ELSE {present} END"
        # Without a rest, a value without a level was inserted after the levels were found.
        rest = levels.n_values - 1 if Rest() in levels.labels else levels.n_levels
        return self._category_case(levels, [str(i) for i in range(levels.n_values + 1)], str(rest))

    def _category_case(self, levels: Levels, values: Sequence[str], otherwise: str) -> str:
        """Write a CASE with a value for each level of a category.

        ``values`` has one for each level and one for missing values, ``otherwise`` is for all other
        categories. Speed: the frequent categories come first; with IN, DuckDB would compare each
        row with the whole list.
        """
        name = _quote(levels.name)
        cases = [
            f"WHEN {name} = {self._literal(label)} THEN {value}"
            for label, value in zip(levels.labels, values, strict=False)
            if label != Rest()
        ]
        return f"CASE {' '.join(cases)} WHEN {name} IS NULL THEN {values[-1]} ELSE {otherwise} END"

    # -- conditions -------------------------------------------------------------------------

    def _condition(self, name: str, side: Condition) -> str:
        """Write a side as a condition of a query, which compares categories by their levels."""
        if not isinstance(side, Categories):
            return f"({self._side(name, side) or 'TRUE'})"
        levels = next(each for each in self.levels if each.name == name)
        inside = [label in side.among for label in levels.labels] + [side.missing]
        if name not in self._codes:
            truth = [str(each).upper() for each in inside]
            return self._category_case(
                levels, truth, truth[-2] if Rest() in levels.labels else "FALSE"
            )
        # Speed: each row is compared with a whole list. Write the shorter one of IN and NOT IN.
        most = 2 * sum(inside) > len(inside)
        codes = ", ".join(str(i) for i, each in enumerate(inside) if each != most)
        if not codes:
            return "TRUE" if most else "FALSE"
        return f"({_quote(self._codes[name])} {'NOT IN' if most else 'IN'} ({codes}))"

    def _side(self, name: str, side: Condition) -> str:
        column = _quote(name)
        if isinstance(side, Categories) and Rest() in side.among:
            levels = next(each for each in self.levels if each.name == name)
            others = [each for each in levels.labels if each not in side.among]
            listed = ", ".join(map(self._literal, others))
            inner = f"{column} NOT IN ({listed})" if others else f"{column} IS NOT NULL"
            return f"({inner} OR {column} IS NULL)" if side.missing else inner
        read = self._read(name, side)
        if name not in self._with_nan:
            return read.where(column, self._literal, "NULL")
        # NaN is not NULL, and in some databases it is larger than all numbers.
        nan = f"ISNAN({column})"
        if not isinstance(read, Range):  # missing values only
            return f"({column} IS NULL OR {nan})" if side.missing else "FALSE"
        text = replace(read, missing=False).where(column, self._literal, "NULL")
        text = text if read.high is not None else f"{text} AND NOT {nan}"
        return f"({text} OR {column} IS NULL OR {nan})" if side.missing else text

    def read(self, box: Subgroup) -> Subgroup:
        """Return the box with readable ends: "> 0" in place of ">= 5e-324".

        Parameters
        ----------
        box : Subgroup
            A box whose ends are edges of levels.
        """
        return Subgroup(tuple((name, self._read(name, box[name])) for name in box))

    def _read(self, name: str, side: Condition) -> Condition:
        above = self._just_above[name]
        if not isinstance(side, Range) or not {side.low, side.high} & set(above):
            return side
        # Replace an edge just above a value by the value: outside at the low end, inside at the
        # high end.
        low, high = above.get(side.low, side.low), above.get(side.high, side.high)
        if side.low in above:
            return Range(low, high, "right" if side.high in above else "neither", side.missing)
        return Range(low, high, "both", side.missing)

    def _literal(self, value: Any) -> str:
        if isinstance(value, datetime):
            kind = "TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ"
            return f"CAST('{value}' AS {kind})"
        return f"CAST('{value}' AS DATE)" if isinstance(value, date) else format_literal(value)

    # -- levels -----------------------------------------------------------------------------

    def _select_rows(self, source: str, more: Sequence[str] = ()) -> str:
        """Write a query for the rows that are searched, with all columns used and ``more``."""
        columns = ", ".join(map(_quote, [*self._types, *more]))
        return f"SELECT {columns} FROM {source} WHERE {_all([self._given, self._present])}"

    def _find_levels(self, sample: Any, n_bins: int, n_categories: int) -> list[Levels]:
        """Find the edges and labels of the features, without levels of missing values."""
        rows = self._select_rows(self._queries.source(sample))
        rows = self._queries.expression(rows, self._types)
        ordered = [name for name in self._just_above if is_ordered(self._types[name])]
        numbers = [] if self._types[self.target].is_boolean() else [self.target]
        quantiles = query_quantiles(self._queries, rows, [*ordered, *numbers], n_bins)
        given = [each for each in quantiles.get(self.target, []) if each is not None]
        self.missing_code: float | None = missing_code(np.array(given, dtype=np.float64))
        self.limits: tuple[float, float] | None = outlier_limits(quantiles.get(self.target, []))
        labels = self._labels(rows, n_categories, sample is not self._table)
        found = []
        for name in self._just_above:
            if name in ordered:
                edges, self._just_above[name] = level_edges(quantiles[name], self._types[name])
                found.append(Levels(name, "number", edges=edges))
            else:
                found.append(Levels(name, "category", labels=labels[name]))
        return found

    def _labels(self, rows: Any, n_categories: int, sampled: bool) -> dict[str, tuple[Any, ...]]:
        """Return the most frequent categories of ``rows``, by features without an order.

        ``sampled`` is True if the table has more rows: then its categories are counted as well, to
        see whether there are others.
        """
        kinds = {name: self._types[name] for name in self._just_above}
        labels: dict[str, tuple[Any, ...]] = {
            name: (False, True) for name, kind in kinds.items() if kind.is_boolean()
        }
        texts: dict[str, list[str]] = {name: [] for name, kind in kinds.items() if kind.is_string()}
        if not texts:
            return labels
        parts = []
        for j, column in enumerate(map(_quote, texts)):
            frequent = (
                f"SELECT {column} AS label, COUNT(*) AS n FROM {self._queries.source(rows)} "
                f"WHERE {column} IS NOT NULL GROUP BY {column} ORDER BY n DESC, label "
                f"LIMIT {n_categories + 1}"
            )
            parts.append(f"SELECT {j} AS feature, label, n FROM ({frequent}) AS f{j}")
        types = {"feature": "int64", "label": "string", "n": "int64"}
        found = self._queries.ask(" UNION ALL ".join(parts), types)
        names = list(texts)
        negative = (-n for n in found["n"])
        for _, j, label in sorted(zip(negative, found["feature"], found["label"], strict=True)):
            texts[names[j]].append(label)
        counts = {name: len(each) for name, each in texts.items()}
        few = [name for name, count in counts.items() if count <= n_categories]
        if few and sampled:
            # Memory: in a query together with averages, DuckDB would store all rows.
            columns = [f"COUNT(DISTINCT {_quote(name)})" for name in few]
            asked = {f"k{j}": (each, "int64") for j, each in enumerate(columns)}
            different = self._ask(asked, _all([self._given, self._present]))
            counts |= dict(zip(few, different.values(), strict=True))
        for name, each in texts.items():
            first = each[:n_categories]
            labels[name] = (*first, Rest()) if counts[name] > len(first) else tuple(first)
        return labels

    def _read_facts(self, found: Sequence[Levels]) -> None:
        """Query the number of rows, the average target, and the features with missing values."""
        value = self._number
        asked = {"n": ("COUNT(*)", "int64")}
        for name, function in (("low", "MIN"), ("high", "MAX"), ("mean", "AVG")):
            asked[name] = f"{function}({value})", "float64"
        for j, levels in enumerate(found):
            column = _quote(levels.name)
            asked[f"k{j}"] = f"COUNT({column})", "int64"
            if self._types[levels.name].is_floating():
                asked[f"nan{j}"] = f"SUM(CASE WHEN ISNAN({column}) THEN 1 ELSE 0 END)", "int64"
        facts = self._ask(asked, _all([self._given, self._present]))
        self.n_rows: int = facts["n"]
        if not self.n_rows:
            raise ValueError(f"no row has a target: {self.target!r} is missing in all")
        if not np.isfinite([facts["low"], facts["high"]]).all():
            raise ValueError(f"the target {self.target!r} has infinite values")
        self.mean: float = float(facts["mean"])
        self.true_mean: float = self.mean
        self.extremes: tuple[float, float] = (float(facts["low"]), float(facts["high"]))
        self._with_nan: set[str] = set()
        self.levels: tuple[Levels, ...] = ()
        for j, levels in enumerate(found):
            if facts.get(f"nan{j}"):
                self._with_nan.add(levels.name)
            missing = facts[f"k{j}"] < self.n_rows or levels.name in self._with_nan
            self.levels += (replace(levels, missing=missing),)

    def _limit_target(self) -> None:
        """Clip the target from now on, and count outliers; remove limits without outliers."""
        self.n_outliers: int = 0
        low, high = self.extremes if self.limits is None else self.limits
        if low <= self.extremes[0] and self.extremes[1] <= high:
            self.limits = None
            return
        value = self._as_it_is
        below, above = f"{value} < {low!r}", f"{value} > {high!r}"
        self._number = f"CASE WHEN {below} THEN {low!r} WHEN {above} THEN {high!r} ELSE {value} END"
        count = f"SUM(CASE WHEN {below} OR {above} THEN 1 ELSE 0 END)"
        asked = {"n": (count, "int64"), "mean": (f"AVG({self._number})", "float64")}
        found = self._ask(asked, _all([self._given, self._present]))
        self.n_outliers, self.mean = found["n"], found["mean"]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _all(conditions: Sequence[str | None]) -> str:
    return " AND ".join(filter(None, conditions))


def _missing(name: str, kind: Any) -> str:
    """Write the condition that a value is missing: NULL or NaN."""
    column = _quote(name)
    missing = f"{column} IS NULL"
    return f"{missing} OR ISNAN({column})" if kind.is_floating() else missing


def _check_feature(name: str, kind: Any) -> None:
    if not (is_ordered(kind) or is_category(kind)):
        raise ValueError(
            f"the feature {name!r} is of type {kind}: numbers, dates, timestamps, texts and "
            "booleans are accepted"
        )


def _target_number(target: str, kind: Any) -> str:
    """Write the target as a number in SQL; raise ValueError for other types."""
    if kind.is_boolean():
        # DOUBLE: sums of squares of decimals overflow.
        return f"CAST(CASE WHEN {_quote(target)} THEN 1 ELSE 0 END AS DOUBLE)"
    if not kind.is_numeric():
        raise ValueError(
            f"the target {target!r} is of type {kind}: numbers and booleans are accepted; of texts "
            "make a view with a column that is 1 for the text whose share is sought, else 0"
        )
    return f"CAST({_quote(target)} AS DOUBLE)"
