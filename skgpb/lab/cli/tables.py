"""Options of ``search`` for reading a table and selecting its rows."""

from __future__ import annotations

import argparse
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skgpb.lab.cli.arguments import UsageError, select_arguments, whole
from skgpb.lab.cli.options import Route, RoutedParser
from skgpb.lab.cli.where import Condition, quote_column
from skgpb.lab.cli.words import count, shell_quote
from skgpb.lab.datasets.columns import TOTAL, CellError, Column
from skgpb.lab.datasets.format import MOST_TITLES, TableError, TableFormat
from skgpb.lab.datasets.sources import STDIN
from skgpb.lab.datasets.table import TableFile
from skgpb.lab.experiments.texts import split_pair
from skgpb.lab.tables.checks import MOST_CHECKED, find_identity
from skgpb.lab.tables.subgroup import encode_groups
from skgpb.utils.expressions import strip_quotes

# Relative rounding error of a row of totals, and smallest number of rows in which it is recognised.
ROUNDED, FEWEST_OF_TOTAL = 1e-4, 10
# Default of the fewest rows of a group, as a share of the table, and its minimum.
SHARE_OF_TABLE, MIN_GROUP_ROWS = 0.05, 2
# Maximum number of other columns of a file that are checked for an identity.
MOST_OTHERS = 50
TWO_ANSWERS = (
    ", nor are all cells yes or no: say which text counts as 1, and all others as 0, by --target {}"
)
NOT_LEFT_OUT = (
    ", and no row is left out for that with --epsilon: which rows are searched would tell of the "
    "values. Fill it, or take the row out of the table where all may know that it has no value"
)
SEVERAL_TARGETS = (
    "--target takes one column, got {}: what is best for one is not best for the other. Search for "
    "each, or put what they are worth together into a column of its own"
)


@dataclass(frozen=True)
class SearchTable:
    """The rows that are searched, and their columns.

    Attributes
    ----------
    file : TableFile
        File with the rows.
    features : list of Column
        Features of the rows.
    values : ndarray of shape (n_rows,)
        Targets of the rows.
    target : str
        Name of the column of the targets.
    rows : ndarray of shape (n_rows,)
        Numbers of the rows in the file, from 0.
    columns : dict of str to Column
        Columns of these rows by names: the features, and the columns that --where compares.
    conditions : tuple of str
        Conditions of --where that select the searched rows of the file.
    n_read : int
        Number of rows in the file.
    notes : tuple of str
        Notes for people: rows that were left out, and cells that count as other values.
    groups : sequence of str
        Features whose categories have an order, so that groups are ranges of them.
    together : ndarray of shape (n_rows,) of int or None
        Rows that belong together have the same number; None for independent rows.
    identity : str or None
        Name of a column whose rows with the same value seem to belong together; None with --group
        or if there is no such column.
    """

    file: TableFile
    features: list[Column]
    values: np.ndarray
    target: str
    rows: np.ndarray
    columns: dict[str, Column]
    conditions: tuple[str, ...]
    n_read: int
    notes: tuple[str, ...] = ()
    groups: Sequence[str] = ()
    together: np.ndarray | None = None
    identity: str | None = None

    @property
    def numbers(self) -> np.ndarray:
        """Numbers of the rows in a data frame of pandas, shape (n_rows,)."""
        return self.file.row_numbers(self.rows)

    @property
    def description(self) -> str:
        """The name of the table and the part of it that is searched, for people."""
        rows = count(len(self.rows), "row")
        return f"{self.file.name}, {rows}" + (f" ({'; '.join(self.notes)})" if self.notes else "")

    def copy_members(self, members: Collection[int], to: str) -> None:
        """Write rows, given by their numbers in a data frame, to a file."""
        self.file.copy_rows(self.rows[np.isin(self.numbers, list(members))].tolist(), to)


def add_table(parser: RoutedParser) -> None:
    """Add the options for the format of a table and the choice of rows."""
    table = parser.add_argument_group(
        "table", "The format of the table is detected unless these options give it."
    )
    add = table.add_argument
    add(
        "--separator",
        metavar="SEP",
        help="comma, semicolon, tab, pipe, space or any other letter between the cells",
    )
    add("--decimal", choices=["point", "comma"], help="decimal mark; the other one groups digits")
    add("--encoding", metavar="NAME", help="such as utf-8 or latin-1")
    add(
        "--dates",
        metavar="FORMAT",
        help="how dates are written, such as %%d/%%m/%%Y; dates are features like numbers",
    )
    add("--sheet", metavar="NAME", help="sheet of an Excel file")
    add(
        "--skip-lines",
        type=whole(0),
        default=0,
        metavar="N",
        help="lines above the header, such as titles, that are left out (default: 0)",
    )
    add(
        "--header",
        type=whole(0, MOST_TITLES),
        default=1,
        metavar="N",
        help="lines of the header, whose cells are joined; with 0 the columns are called column1, "
        "column2 and so on (default: 1)",
    )
    add(
        "--unreadable",
        choices=["error", "missing"],
        default="error",
        help="what to do with a cell that is not a number, or not a date, where most others of its "
        "column are: stop, or take it for a missing value (default: error)",
    )
    add(
        "--where",
        metavar="CONDITION",
        help="search the rows that fulfil it, such as \"age >= 18 and region in ('N', 'S')\"; "
        "put names with blanks between brackets",
    )
    add("--drop-missing", action="store_true", help="leave out rows with missing features")
    add(
        "--one-hot",
        nargs="+",
        default=[],
        metavar="NAME",
        help="features that are categories, each on its own; so are all that hold texts",
    )
    add(
        "--group",
        metavar="NAME",
        help="column that says which rows belong together, such as the patient of a visit: the "
        "verdict is then about new patients",
    )
    add(
        "--groups",
        nargs="+",
        default=[],
        metavar="NAME",
        help="features that are categories in alphabetical order, so that a group may be a "
        "range of them",
    )


def check_table(arguments: argparse.Namespace) -> None:
    """Refuse options that cannot be combined, before the table is read."""
    targets = [name for names in arguments.target for name in names]
    if arguments.data is None and len(targets) > 1:
        arguments.data = targets.pop()  # search --features x --target value table.csv
    if arguments.data is None:
        raise UsageError("the following arguments are required: DATA")
    if len(targets) > 1:
        raise UsageError(SEVERAL_TARGETS.format(", ".join(map(repr, targets))))
    arguments.target = targets[0]
    features, target = arguments.features, arguments.target
    for name in features:
        if features.count(name) > 1:
            raise UsageError(f"--features names {name!r} more than once")
    if target in features:
        raise UsageError(f"--target {target!r} is also one of --features, which are not hidden")
    if arguments.group == target:
        raise UsageError(f"--group {target!r} is the --target")
    for option in ("one_hot", "groups"):
        for name in getattr(arguments, option):
            if name not in features:
                raise UsageError(f"--{option.replace('_', '-')} {name!r} is not one of --features")
    for name in arguments.one_hot:
        if name in arguments.groups:
            raise UsageError(f"{name!r} is both in --one-hot and in --groups")


def read_search(arguments: argparse.Namespace) -> SearchTable:
    """Read the rows that are searched."""
    path = arguments.data
    try:
        condition = None if arguments.where is None else Condition(arguments.where)
        return _read(arguments, condition)
    except TableError as error:
        message = f"{error}: say {error.option}" if error.option else str(error)
        raise UsageError(message) from error
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        name = "standard input" if path == STDIN else path
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error


def _read(arguments: argparse.Namespace, condition: Condition | None) -> SearchTable:
    file = TableFile(arguments.data, TableFormat(**select_arguments(TableFormat, arguments)))
    compared = [] if condition is None else condition.columns
    sought, counted = _parse_target(file, arguments)
    if arguments.epsilon is not None and sought in compared:
        raise ValueError(
            f"--where compares {sought!r}, which --epsilon protects: which rows are "
            "searched would tell of it"
        )
    together = [] if arguments.group is None else [arguments.group]
    names = list(dict.fromkeys([*arguments.features, sought, *compared, *together]))
    texts = {*arguments.one_hot, *arguments.groups}
    of_target = {"numbers" if counted is None else "verbatim": [sought]}
    read = file.read(names, texts, **of_target, keep_unreadable=True)
    columns = dict(zip(names, read, strict=True))
    if arguments.dates is not None and all(column.kind != "dates" for column in read):
        raise ValueError(
            f"--dates {arguments.dates} has no effect: none of the columns "
            f"{', '.join(map(repr, names))} holds dates"
        )
    features, target = [columns[name] for name in arguments.features], columns[sought].as_numbers
    if counted is not None:
        target = columns[sought] = columns[sought].equal_to(counted)
    n_read = len(target.values)
    selected = np.ones(n_read, dtype=bool) if condition is None else condition.rows(columns)
    if not selected.any():
        raise ValueError(f"--where {arguments.where!r} selects none of the {n_read:,} rows")
    n_unreadable = _check_readable(file, columns, selected, arguments)
    try:
        target.check_numbers(TWO_ANSWERS.format(_choices(target)))
        if arguments.epsilon is not None:
            _check_present(target, selected, NOT_LEFT_OUT)
        needed = [target, *(features if arguments.drop_missing else [])]
        complete = selected & ~np.logical_or.reduce([column.missing for column in needed])
        # In a search of visible rows, missing values of a feature are a level of their own.
        for column in [] if arguments.route is Route.EXACT else features:
            _check_present(column, complete, " (--drop-missing leaves such rows out)")
        if arguments.epsilon is None:
            _check_total(target, np.flatnonzero(complete))
    except CellError as error:
        raise ValueError(file.error_text(error)) from None
    if not complete.any():
        what = "complete row" if arguments.drop_missing else f"row with a value of {target.name!r}"
        raise ValueError(f"{file.name} has no {what}")
    given = [] if condition is None else [f"({arguments.where})"]
    there = [
        f"{quote_column(column.name)} is not missing"
        for column in needed
        if (column.missing & selected).any()
    ]
    rows = np.flatnonzero(complete)
    kept = {name: column.select_rows(rows) for name, column in columns.items()}
    values = kept.pop(target.name).as_numbers.values
    numbers, identity = None, None
    if together:
        numbers = encode_groups(search_values(kept[arguments.group]), len(rows))
    elif arguments.route is Route.EXACT and len(rows) <= MOST_CHECKED:
        identity = _identity(file, kept, rows, target.name, values)
    what = "with missing values" if arguments.drop_missing else f"without a value of {target.name}"
    notes = {
        f"{{:,}} {what} left out": int(selected.sum()) - len(rows),
        "{:,} not selected by --where": n_read - int(selected.sum()),
        "{:,} cells that cannot be read count as missing": n_unreadable,
        "{:,} cells such as <0.5 or >100 count as their limit": _n_limits(columns, rows),
        **{
            f"of {{}} columns called {name} the first": n for name, n in file.duplicate_names(names)
        },
    }
    return SearchTable(
        file=file,
        features=[kept[column.name] for column in features],
        values=values,
        target=sought,
        rows=rows,
        columns=kept,
        conditions=(*given, *there),
        n_read=n_read,
        notes=tuple(note.format(n) for note, n in notes.items() if n),
        groups=arguments.groups,
        together=numbers,
        identity=identity,
    )


def _parse_target(file: TableFile, arguments: argparse.Namespace) -> tuple[str, str | None]:
    """Return the column of the target, and the text that counts as 1, as in "status = pass".

    The text is None if the target is only the name of a column.
    """
    given = arguments.target
    if "=" not in given or given in file.names(arguments.features):
        return given, None
    try:
        name, text = split_pair(given)
    except ValueError as error:
        raise UsageError(f"--target: {error}") from None
    if name in (*arguments.features, arguments.group):
        raise UsageError(f"--target {given!r} is about a column of --features or --group")
    return name, strip_quotes(text)


def _choices(target: Column) -> str:
    """Return values of --target for the first two texts of a column, quoted for a shell."""
    return " or ".join(shell_quote(f"{target.name} = {label}") for label in target.labels[:2])


def _n_limits(columns: Mapping[str, Column], rows: np.ndarray) -> int:
    """Return the number of cells of these rows that are limits."""
    return sum(row in column.limits for column in columns.values() for row in rows.tolist())


def _identity(
    file: TableFile, kept: dict[str, Column], rows: np.ndarray, target: str, values: np.ndarray
) -> str | None:
    """Return the name of a column of the file whose rows seem to belong together, or None.

    ``kept`` are the columns of ``rows`` that were read already, and ``values`` those of the target.
    """
    columns = {name: search_values(column) for name, column in kept.items()}
    try:
        others = [name for name in file.names([*kept, target]) if name not in {*kept, target}]
        others = list(dict.fromkeys(others))[:MOST_OTHERS]
        read = file.read(others, keep_unreadable=True) if others else []
    except ValueError:  # other columns are only a hint: ignore their errors
        read = []
    columns |= {column.name: search_values(column.select_rows(rows)) for column in read}
    return find_identity(columns, values)


def search_values(column: Column) -> np.ndarray:
    """Return the values of a column for a search: floats, or texts with None if missing."""
    if column.kind != "texts":
        return column.values
    labels = np.array([*column.labels, None], dtype=object)
    codes = np.where(column.missing, len(column.labels), column.values)
    return labels[codes.astype(np.intp)]


def fewest_rows(given: int | float | None, n: int, default: int) -> int:
    """Return the fewest rows of a group in a table of n rows.

    ``given`` is a number or a share, None for ``default``.
    """
    least = default if given is None else row_count(given, n)
    if 2 * least > n:
        raise UsageError(
            f"--min-rows {least} leaves no choice in a table of {n} rows: at most {n // 2}"
        )
    return least


def default_min_rows(n: int) -> int:
    """Return the default of the fewest rows of a group, in a search of n visible rows."""
    return min(n, max(MIN_GROUP_ROWS, math.ceil(SHARE_OF_TABLE * n)))


def row_count(given: int | float, n: int) -> int:
    """Return a number of rows, ``given`` as such or as a share (a float) of n rows."""
    return math.ceil(given * n - 1e-9) if isinstance(given, float) else given


def _check_readable(
    file: TableFile,
    columns: Mapping[str, Column],
    selected: np.ndarray,
    arguments: argparse.Namespace,
) -> int:
    """Return the number of unreadable cells in the selected rows, if they count as missing.

    Raises
    ------
    UsageError
        If there are such cells without --unreadable missing. The message names them, and the ways
        to proceed.
    """
    wrong = {
        name: rows
        for name, column in columns.items()
        if (rows := [row for row in column.unreadable if selected[row]])
    }
    if not wrong or arguments.unreadable == "missing":
        return sum(map(len, wrong.values()))
    (name, rows), *others = wrong.items()
    message = file.unreadable(columns[name], selected)
    message += "".join(f"; {len(each)} in column {other!r}" for other, each in others)
    ways = [
        "correct them" if len(rows) > 1 or others else "correct it",
        f'leave out such rows by --where "{quote_column(name)} is not missing"',
        "take such cells for missing values by --unreadable missing",
    ]
    if name in arguments.features:
        ways.append(f"take all cells for categories by --one-hot {shell_quote(name)}")
    if 0 in rows and arguments.header and 2 * len(rows) < len(selected):
        ways.append(f"say --header {arguments.header + 1} if it belongs to the header")
    raise UsageError(f"{message}: {', '.join(ways[:-1])}, or {ways[-1]}")


def _check_total(target: Column, rows: np.ndarray) -> None:
    """Raise a CellError if the last of these rows is the sum of all others."""
    *others, last = target.values[rows] if len(rows) >= FEWEST_OF_TOTAL else [0.0]
    if not others or abs(last) <= 2.0 * np.abs(others).max():
        return
    total = float(np.sum(others))
    if abs(last - total) <= ROUNDED * abs(total):
        raise CellError(rows[-1], target.name, f"{last:,.15g} is the sum of all other rows{TOTAL}")


def _check_present(column: Column, rows: np.ndarray, hint: str) -> None:
    """Raise a CellError if a value is missing in a row of a mask (n_rows,)."""
    for row in np.flatnonzero(column.missing & rows)[:1]:
        raise CellError(row, column.name, f"the value is missing{hint}")
