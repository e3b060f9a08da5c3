"""Connections to databases: queries are counted and translated, and errors fit one line.

Messages of drivers are passed on without passwords and tokens, whether these come from the
connection string or from environment variables.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl
from uuid import uuid4

from skgpb.exceptions import DatabaseError, ScansSpentError
from skgpb.lab.datasets.credentials import check_address, find_secrets, safe_address, safe_name
from skgpb.lab.datasets.sources import PARQUET
from skgpb.utils.install import needs

with needs("skgpb.lab.sql", "ibis", "sql"):
    import ibis
    import sqlglot
    import sqlglot.expressions as exp
    from ibis.common.exceptions import TableNotFound, UnsupportedOperationError
    from ibis.expr.operations import DatabaseTable

# Dialect of SQL in which queries are written.
OURS = "duckdb"
# Databases with a function for NaN; in all others NaN equals itself.
HAS_ISNAN = {"pyspark", "databricks", "bigquery"}
# Databases without GROUPING SETS, by which one query counts all boxes of a step.
WITHOUT_SETS = {"sqlite": "SQLite", "mysql": "MySQL"}
FILES = (".parquet", ".pq")
# Maximum number of letters of an error message.
LONGEST_COMPLAINT = 300
MOST_LISTED = 10
# Conversions of the values of an answer, by type.
AS: dict[str, Callable[[Any], Any]] = {"int64": int, "float64": float, "string": str}
# Smallest sample that is drawn by blocks, because DuckDB has blocks of some thousand rows.
FEWEST_IN_BLOCKS = 100_000
# Expression for the number of the block of a row, in the SQL of DuckDB, by databases.
BLOCK_OF = {
    OURS: "rowid // 2048",
    "postgres": "CAST(SPLIT_PART(SUBSTRING(CAST(ctid AS TEXT), 2), ',', 1) AS BIGINT)",
}


def connect(url: str, table: str | None = None) -> Any:
    """Return a table of a database as an expression of ibis.

    Parameters
    ----------
    url : str
        ``duckdb:///sales.db`` (four slashes for an absolute path), ``duckdb://`` for a database in
        memory, or any other URL of ``ibis.connect``, such as
        ``postgresql://user:password@host/database``, ``pyspark://``,
        ``bigquery://project/dataset`` and ``snowflake://...``. A Parquet file, several with ``*``,
        or a folder of such files are read by DuckDB.
    table : str, default=None
        Name of the table, or ``schema.table``; for DuckDB also the name of a Parquet file. None for
        the only table of the database.

    Returns
    -------
    table : ibis.expr.types.Table

    Raises
    ------
    DatabaseError
        If the database cannot be reached, or has no such table.
    """
    secrets = find_secrets(url)
    try:
        if "://" not in url:
            if table is not None:
                raise DatabaseError(f"Parquet files have no tables by names, got table {table!r}")
            return _parquet(ibis.duckdb.connect(), url)
        check_address(url)
        connection = _connect(url)
        if connection.name == OURS and table is not None and _is_file(table):
            return _parquet(connection, table)
        return _table(connection, table)
    except DatabaseError:
        raise
    except Exception as error:
        raise DatabaseError(
            f"cannot open {safe_address(url)}: {error_text(error, secrets)}"
        ) from None


class Queries:
    """Queries to a database, which are counted.

    Parameters
    ----------
    connection : ibis.backends.BaseBackend
        Connection to the database.
    max_scans : int, default=None
        Maximum number of queries; None for no limit.
    secrets : sequence of str, default=()
        Texts that error messages must not show.

    Attributes
    ----------
    n_scans : int
        Number of queries so far.

    Raises
    ------
    DatabaseError
        If the database lacks a part of SQL that a search needs.
    """

    def __init__(
        self, connection: Any, max_scans: int | None = None, secrets: Sequence[str] = ()
    ) -> None:
        if connection.name in WITHOUT_SETS:
            raise DatabaseError(
                f"{WITHOUT_SETS[connection.name]} has no GROUPING SETS, by which a search counts: "
                "write the table to a CSV or Parquet file, and search that"
            )
        self.connection = connection
        self.max_scans: int | None = max_scans
        self.secrets: tuple[str, ...] = tuple(secrets)
        self.n_scans: int = 0

    def ask(self, query: str, types: Mapping[str, str]) -> dict[str, list[Any]]:
        """Return the answer to a query as lists by columns.

        Parameters
        ----------
        query : str
            The query, in the SQL of DuckDB.
        types : mapping of str to {"int64", "float64", "string"}
            Types of the columns of the answer, in the order of the query.

        Raises
        ------
        ScansSpentError
            If there were ``max_scans`` queries before.
        DatabaseError
            If the database does not answer.
        """
        if self.connection.name == OURS:
            return self._answer(lambda: self._query_duckdb(query, types))
        return self._answer(lambda: self.expression(query, types).to_pyarrow().to_pydict())

    def _query_duckdb(self, query: str, types: Mapping[str, str]) -> dict[str, list[Any]]:
        """Query DuckDB without ibis, which takes longer to parse a query than DuckDB to answer."""
        rows = self.connection.raw_sql(query).fetchall()
        columns = zip(*rows, strict=True) if rows else ([] for _ in types)
        # Sums of whole numbers and of decimals have other types than their columns.
        return {
            name: [None if value is None else AS[kind](value) for value in column]
            for (name, kind), column in zip(types.items(), columns, strict=True)
        }

    def evaluate(self, expression: Any) -> dict[str, list[Any]]:
        """Return the rows of an expression of ibis as lists by columns."""
        return self._answer(lambda: expression.to_pyarrow().to_pydict())

    def keep(
        self, rows: str, columns: Mapping[str, str], types: Mapping[str, Any], coin: str | None
    ) -> Any:
        """Store the rows of a query in a temporary table of the database, and return the table.

        The table exists until the end of the connection.

        Parameters
        ----------
        rows : str
            The query, in the SQL of DuckDB.
        columns : mapping of str to str
            Expressions of further columns by their names, both in the SQL of DuckDB.
        types : mapping of str to ibis type
            Types of all columns.
        coin : str or None
            Name of one more column, which is 0 or 1 at random; None for no such column.
        """
        name = f"skgpb_{uuid4().hex}"
        chosen = ", ".join(["*", *(f"{value} AS {each}" for each, value in columns.items())])

        def store() -> Any:
            if self.connection.name == OURS:
                # Speed: a sample of single rows comes in small pieces. Computing columns for each
                # piece takes ten times as long as storing the rows first.
                flip = f', CAST(RANDOM() < 0.5 AS SMALLINT) AS "{coin}"' if coin else ""
                steps = (
                    f"CREATE TEMP TABLE {name}_rows AS {rows}",
                    f"CREATE TEMP TABLE {name} AS SELECT {chosen}{flip} FROM {name}_rows",
                    f"DROP TABLE {name}_rows",
                )
                for step in steps:
                    self.connection.raw_sql(step).fetchall()
                return self.connection.table(name, database=("temp", "main"))
            half = (ibis.random() < 0.5).ifelse(1, 0).cast("int16")
            query = self.expression(f"SELECT {chosen} FROM ({rows}) AS r", types)
            query = query.mutate(**{coin: half}) if coin else query
            try:
                return self.connection.create_table(name, query, temp=True)
            except NotImplementedError:  # Spark has a cache instead
                return query.cache()

        return self._answer(store)

    def _answer(self, query: Callable[[], Any]) -> Any:
        if self.max_scans is not None and self.n_scans >= self.max_scans:
            raise ScansSpentError(
                f"the table was read {self.n_scans} times, the largest number allowed"
            )
        self.n_scans += 1
        try:
            return query()
        except Exception as error:
            # "from None": the original error may show the connection string.
            raise DatabaseError(
                f"the database did not answer: {error_text(error, self.secrets)}"
            ) from None

    def expression(self, query: str, types: Mapping[str, Any]) -> Any:
        """Return a query in the SQL of DuckDB as an expression of ibis."""
        # Speed: SQL for DuckDB needs no translation.
        translated = query if self.connection.name == OURS else self.translate(query)
        return self.connection.sql(translated, schema=ibis.schema(types))

    def translate(self, query: str) -> str:
        """Translate a query, or a condition, from the SQL of DuckDB into that of the database."""
        tree = sqlglot.parse_one(query, read=OURS)
        if self.connection.name not in HAS_ISNAN:
            tree = tree.transform(_replace_isnan)
        return tree.sql(self.connection.dialect)

    def source(self, table: Any) -> str:
        """Write an expression of ibis for use after FROM, in the SQL of DuckDB."""
        query = sqlglot.parse_one(self.connection.compile(table), read=self.connection.dialect)
        return f"({query.sql(OURS)}) AS t"

    def condition(self, where: str) -> str:
        """Translate a condition from the SQL of the database into DuckDB's SQL.

        Raises
        ------
        ValueError
            If it is not a condition.
        """
        try:
            found = sqlglot.parse(f"SELECT 1 WHERE {where}", read=self.connection.dialect)
        except sqlglot.errors.SqlglotError as error:
            raise ValueError(
                f"where must be a condition, got {where!r} ({error_text(error, ())})"
            ) from None
        query = found[0]
        parts = set() if query is None else {name for name, part in query.args.items() if part}
        if query is None or len(found) > 1 or parts != {"expressions", "where"}:
            raise ValueError(f"where must be a condition, got {where!r}")
        return f"({query.args['where'].this.sql(OURS)})"

    def sample(self, table: Any, n_rows: int, n: int, seed: int, method: str | None = None) -> Any:
        """Return a sample of about ``n_rows`` of the n rows of a table, as an expression.

        Parameters
        ----------
        table : ibis.expr.types.Table
            The table to sample.
        n_rows, n : int
            Approximate number of sampled rows, and number of rows of the table.
        seed : int
            Seed of the sample, if the database accepts one.
        method : {"block", "row"}, default=None
            Unit of the sample. None for blocks if the sample is large enough, otherwise rows.
        """
        how: Any = method or ("block" if n_rows >= FEWEST_IN_BLOCKS else "row")
        try:
            found = table.sample(n_rows / n, method=how, seed=seed)
            self.connection.compile(found)
        except UnsupportedOperationError:
            found = table.sample(n_rows / n, method=how)
        if self.connection.name == "postgres" and not self._can(self.source(found)):
            # PostgreSQL can sample tables but no views.
            found = table.filter(ibis.random() < n_rows / n)
        return found

    def blocks(self, table: Any, n_rows: int, n: int, seed: int, name: str) -> str | None:
        """Return a sample of blocks, with the number of the block of each row.

        Parameters
        ----------
        table : ibis.expr.types.Table
        n_rows, n, seed : int
            Parameters of :meth:`sample`.
        name : str
            Name of the column with the numbers of blocks.

        Returns
        -------
        rows : str or None
            The sample for use after FROM, in the SQL of DuckDB. None if the sample is too small, or
            if the database has no numbers of blocks, as for files, views and results of queries.
        """
        block = BLOCK_OF.get(self.connection.name)
        if block is None or n_rows < FEWEST_IN_BLOCKS or not isinstance(table.op(), DatabaseTable):
            return None
        sampled = self.connection.compile(self.sample(table, n_rows, n, seed, "block"))
        query = sqlglot.parse_one(sampled, read=self.connection.dialect)
        query.select(f'{block} AS "{name}"', dialect=OURS, copy=False)
        source = f"({query.sql(OURS)}) AS t"
        return source if self._can(source) else None

    def _can(self, source: str) -> bool:
        """Return whether the database can read ``source`` after FROM; it reads no row."""
        try:
            self.expression(f"SELECT 1 AS one FROM {source} LIMIT 0", {"one": "int64"}).to_pyarrow()
        except Exception:
            return False
        return True


def _replace_isnan(node: exp.Expression) -> exp.Expression:
    """Replace a call of ISNAN by a comparison with NaN."""
    if not isinstance(node, exp.IsNan):
        return node
    return exp.EQ(this=node.this, expression=exp.cast(exp.Literal.string("NaN"), "DOUBLE"))


def error_text(error: Exception, secrets: Sequence[str]) -> str:
    """Return the message of an error in one line, with *** for secrets."""
    text = str(error).strip() or type(error).__name__
    for secret in secrets:
        text = text.replace(secret, "***")
    # sqlglot underlines with terminal codes.
    text = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())
    return text if len(text) <= LONGEST_COMPLAINT else text[:LONGEST_COMPLAINT] + " ..."


def _connect(url: str) -> Any:
    """Connect to the database of a connection string."""
    scheme, rest = url.split("://", 1)
    if scheme != OURS or not rest.partition("?")[0]:
        return ibis.connect(url)
    # As in SQLAlchemy, the name follows the third slash.
    name, mark, parameters = rest.removeprefix("/").partition("?")
    if not Path(name).exists():
        raise DatabaseError(f"cannot open {safe_address(url)}: there is no file {safe_name(name)}")
    options = dict(parse_qsl(parameters)) if mark else {}
    return ibis.duckdb.connect(name, read_only=True, **options)


def _table(connection: Any, name: str | None) -> Any:
    if name is None:
        names = _names(connection)
        if len(names) != 1:
            raise DatabaseError(f"say which table: the database has {_list_names(names)}")
        name = names[0]
    schema, _, last = name.rpartition(".")
    database = tuple(schema.split(".")) if schema else None
    try:
        return connection.table(last, database=database)
    except TableNotFound:
        names = _names(connection, database)
        raise DatabaseError(
            f"there is no table {safe_name(repr(name))}: the database has {_list_names(names)}"
        ) from None


def _names(connection: Any, database: tuple[str, ...] | None = None) -> list[str]:
    """Return the names of the tables of a schema; None for the current schema."""
    if connection.name != OURS:
        return connection.list_tables(database=database)
    # ibis 12 cannot list the tables of DuckDB 2.
    query = (
        "SELECT table_catalog, table_schema, table_name FROM information_schema.tables "
        "ORDER BY table_name"
    )
    schema = database or (connection.current_catalog, connection.current_database)
    tables = connection.raw_sql(query).fetchall()
    return [name for *path, name in tables if tuple(path[-len(schema) :]) == schema]


def _list_names(names: Sequence[str]) -> str:
    shown_names = ", ".join(map(repr, names[:MOST_LISTED]))
    return (shown_names or "none") + (" and others" if len(names) > MOST_LISTED else "")


def _is_file(name: str) -> bool:
    return name.endswith(FILES) or Path(name).is_dir() or "*" in name


def _parquet(connection: Any, name: str) -> Any:
    """Return Parquet files as a table of DuckDB, which reads them block by block on demand."""
    path = Path(name)
    pattern = str(path / "**" / "*.parquet") if path.is_dir() else name
    if not path.is_file() and not glob.glob(pattern, recursive=True):
        raise DatabaseError(f"there is no Parquet file {safe_name(name)}")
    if path.is_file():
        with open(path, "rb") as file:
            if file.read(len(PARQUET)) != PARQUET:
                raise DatabaseError(
                    f"{name} is no Parquet file: a file of DuckDB is called duckdb:///{name}, and "
                    "text and Excel are no databases"
                )
    with suppress(Exception):  # an older DuckDB has no such cache
        connection.raw_sql("SET enable_external_file_cache = false")
    return connection.read_parquet(pattern)
