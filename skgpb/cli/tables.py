"""Options of ``search`` for reading a table and selecting its rows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skgpb.cli.arguments import UsageError
from skgpb.cli.where import Condition, written
from skgpb.datasets import Column, TableFile, TableFormat
from skgpb.datasets.columns import TOTAL, CellError
from skgpb.datasets.sources import STDIN
from skgpb.tables.checks import MOST_CHECKED, identity_of
from skgpb.tables.subgroup import numbered

# A total is rounded, and in a few rows the last one may be as large by chance.
ROUNDED, FEWEST_OF_TOTAL = 1e-4, 10
# Further columns of a file that may be an identity.
MOST_OTHERS = 50
SEVERAL_TARGETS = (
    "--target takes one column, got {}: what is best for one is not best for the other. Search for "
    "each, or put what they are worth together into a column of its own"
)


@dataclass(frozen=True)
class SearchTable:
    """The rows that are searched.

    Attributes
    ----------
    file : TableFile
        File that the rows come from.
    features : list of Column
        Their features.
    values : ndarray of shape (n_rows,)
        Their targets.
    rows : ndarray of shape (n_rows,)
        Their numbers in the file, from 0.
    columns : list of Column
        Columns of these rows: the features and those that --where compares.
    conditions : tuple of str
        Conditions of --where that select the searched rows of the file.
    n_read, n_incomplete : int
        Rows in the file, and rows left out because a value is missing.
    groups : sequence of str
        Features whose categories come together with their neighbours.
    together : ndarray of shape (n_rows,) of int or None
        Rows that belong together have the same number; None for independent rows.
    identity : str or None
        A column that looks like one of rows that belong together, if none was named.
    """

    file: TableFile
    features: list[Column]
    values: np.ndarray
    rows: np.ndarray
    columns: dict[str, Column]
    conditions: tuple[str, ...]
    n_read: int
    n_incomplete: int
    groups: Sequence[str] = ()
    together: np.ndarray | None = None
    identity: str | None = None

    @property
    def said(self) -> str:
        """Name the table and how much of it is searched, for people."""
        n, left_out = len(self.rows), []
        if self.n_incomplete:
            left_out.append(f"{self.n_incomplete:,} with missing values left out")
        if self.n_read - n - self.n_incomplete:
            left_out.append(f"{self.n_read - n - self.n_incomplete:,} not selected by --where")
        rows = f"{n:,} row{'' if n == 1 else 's'}"
        return f"{self.file.name}, {rows}" + (f" ({'; '.join(left_out)})" if left_out else "")


def add_table(parser: argparse.ArgumentParser) -> None:
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
        "--where",
        metavar="CONDITION",
        help="search the rows that fulfil it, such as \"age >= 18 and region in ('N', 'S')\"; "
        "put names with blanks between brackets",
    )
    add("--drop-missing", action="store_true", help="leave out rows with missing values")
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


def is_exact(arguments: argparse.Namespace) -> bool:
    """Return whether rows are visible and answers are free, so that no questions are needed."""
    return arguments.budget is None and arguments.epsilon is None and arguments.noise == 0.0


def check_table(arguments: argparse.Namespace) -> None:
    """Find what does not go together, before the table is read."""
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
    if arguments.group is not None and not is_exact(arguments):
        raise UsageError("--group is for searches of all rows, without --budget and --epsilon")
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
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        what = "standard input" if path == STDIN else path
        raise UsageError(f"cannot read {what}: {error.strerror or error}") from error


def _read(arguments: argparse.Namespace, condition: Condition | None) -> SearchTable:
    how = TableFormat(
        arguments.separator,
        arguments.decimal,
        arguments.encoding,
        arguments.dates,
        arguments.sheet,
    )
    file = TableFile(arguments.data, how)
    asked = [] if condition is None else condition.columns
    if arguments.epsilon is not None and arguments.target in asked:
        raise ValueError(
            f"--where compares {arguments.target!r}, which --epsilon protects: which rows are "
            "searched would tell of it"
        )
    together = [] if arguments.group is None else [arguments.group]
    names = list(dict.fromkeys([*arguments.features, arguments.target, *asked, *together]))
    texts = {*arguments.one_hot, *arguments.groups}
    columns = dict(zip(names, file.read(names, texts), strict=True))
    features, target = (
        [columns[name] for name in arguments.features],
        columns[arguments.target].as_numbers,
    )
    # If all rows are visible, a missing value of a feature is one more of its values.
    needed = (
        (target,) if is_exact(arguments) and not arguments.drop_missing else (*features, target)
    )
    n_read = len(target.values)
    selected = np.ones(n_read, dtype=bool) if condition is None else condition.rows(columns)
    if not selected.any():
        raise ValueError(f"--where {arguments.where!r} selects none of the {n_read:,} rows")
    complete = selected.copy()
    try:
        target.check_numbers()
        for column in needed:
            _check_complete(column, selected, arguments)
            complete &= ~column.missing
        if arguments.epsilon is None:
            _check_total(target, np.flatnonzero(complete))
    except CellError as error:
        raise ValueError(file.said(error)) from None
    if not complete.any():
        raise ValueError(f"{file.name} has no row without a missing value")
    given = [] if condition is None else [f"({arguments.where})"]
    there = [
        f"{written(column.name)} is not missing"
        for column in needed
        if (column.missing & selected).any()
    ]
    rows = np.flatnonzero(complete)
    kept = {name: column.of_rows(rows) for name, column in columns.items()}
    values = kept.pop(target.name).as_numbers.values
    numbers, identity = None, None
    if together:
        numbers = numbered(values_of(kept[arguments.group]), len(rows))
    elif is_exact(arguments) and len(rows) <= MOST_CHECKED:
        identity = _identity(file, kept, rows, target.name)
    return SearchTable(
        file=file,
        features=[kept[column.name] for column in features],
        values=values,
        rows=rows,
        columns=kept,
        conditions=(*given, *there),
        n_read=n_read,
        n_incomplete=int(selected.sum() - len(rows)),
        groups=arguments.groups,
        together=numbers,
        identity=identity,
    )


def _identity(
    file: TableFile, kept: dict[str, Column], rows: np.ndarray, target: str
) -> str | None:
    """Return the name of a column of the file that looks like an identity which repeats."""
    columns = {name: values_of(column) for name, column in kept.items()}
    others = [name for name in file.names([*kept, target]) if name not in {*kept, target}]
    for name in others[:MOST_OTHERS]:
        try:
            (column,) = file.read([name])
        except ValueError:  # of no kind that an identity has
            continue
        columns[name] = values_of(column.of_rows(rows))
    return identity_of(columns)


def values_of(column: Column) -> np.ndarray:
    """Values of a column as a search of rows takes them."""
    if column.kind != "texts":
        return column.values
    labels = np.array([*column.labels, None], dtype=object)
    codes = np.where(column.missing, len(column.labels), column.values)
    return labels[codes.astype(np.intp)]


def _check_total(target: Column, rows: np.ndarray) -> None:
    """Raise a CellError where the last of some rows is the sum of all others."""
    *others, last = target.values[rows] if len(rows) >= FEWEST_OF_TOTAL else [0.0]
    if not others or abs(last) <= 2.0 * np.abs(others).max():
        return
    total = float(np.sum(others))
    if abs(last - total) <= ROUNDED * abs(total):
        raise CellError(rows[-1], target.name, f"{last:,.15g} is the sum of all other rows{TOTAL}")


def _check_complete(column: Column, selected: np.ndarray, arguments: argparse.Namespace) -> None:
    """Raise a CellError where a value of a row that is searched is missing and must not be."""
    hint = " (--drop-missing leaves such rows out)"
    if arguments.epsilon is not None and column.name == arguments.target:
        hint = (
            ", and no row is left out for that with --epsilon: which rows are searched would tell "
            "of the values. Fill it, or take the row out of the table where all may know that it "
            "has no value"
        )
    elif arguments.drop_missing:
        return
    for row in np.flatnonzero(column.missing & selected)[:1]:
        raise CellError(row, column.name, f"the value is missing{hint}")
