"""``search --epsilon``: a search within a budget of differential privacy.

Only a :class:`~skgpb.lab.datasets.PrivateAverages` reads the column: the output of a private search
is computed from its answers, the features and the arguments of the user.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from skgpb.lab.cli.arguments import UsageError, not_negative, positive
from skgpb.lab.cli.asked import GROUPS, AskedResult
from skgpb.lab.cli.options import RoutedParser
from skgpb.lab.cli.tables import MIN_GROUP_ROWS, SearchTable
from skgpb.lab.datasets import PrivacyLedger, PrivateAverages
from skgpb.lab.datasets.columns import Column
from skgpb.lab.datasets.ledger import read_public_names
from skgpb.lab.datasets.private import check_range, row_budget
from skgpb.lab.tables.asking import SHARE_FIRST

# Largest product of delta and the number of rows without a warning.
LARGEST_DELTA = 0.1
# Largest noise in the smallest groups, as a share of the range.
NOISE_SHARE = 0.1
# An average this close to an end of the range, as a share of it, may be due to values beyond it.
NEAR_END = 0.1
# Standard deviations by which the average of the best of many groups may be too high.
TOO_GOOD = 6.0
# Range of shares, and of yes and no: there are no values beyond it.
SHARES = [0.0, 1.0]


def add_private(parser: RoutedParser) -> None:
    """Add the options of a private search."""
    private = parser.add_argument_group(
        "privacy",
        "The value of one row of the target is protected, with differential privacy, in all that "
        "is printed and written. Features, and which rows there are, are taken to be public. "
        "Each answer gets the noise that the budget asks for, and the search ends when it is "
        "spent: --budget may be left out. Leave out --seed too: with it the noise can be repeated "
        "and taken off.",
    )
    add = private.add_argument
    add("--epsilon", type=positive, metavar="E", help="the budget for the whole search")
    add(
        "--delta",
        type=not_negative,
        metavar="D",
        help="delta of differential privacy, far below 1 / number of rows; above 0 the noise is "
        "Gaussian instead of Laplace, which pays for many more questions (default: 0)",
    )
    add(
        "--target-range",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="range of possible values of the target, known independently of the table; "
        "values beyond count as LOW or HIGH",
    )
    add(
        "--ledger",
        metavar="FILE",
        help="file with the account of all searches of this table, created if missing. --epsilon "
        "is then the budget for all of them together, and a repeated question gets the same answer",
    )
    # The operating system's random numbers, unless a seed is given.
    parser.defaults["seed"] = None


def check_private(arguments: argparse.Namespace) -> None:
    """Refuse options that cannot be combined, before the table is read."""
    if arguments.target_range is None:
        raise UsageError(
            "--epsilon needs --target-range LOW HIGH, the range of possible values of the target"
        )
    if arguments.ledger is not None and arguments.seed is not None:
        raise UsageError(
            "--seed cannot be combined with --ledger: the next search would draw the same noise "
            "again, and the difference of two answers would have none"
        )
    try:
        check_range(arguments.target_range)
        row_budget(arguments.epsilon, get_delta(arguments))
    except ValueError as error:
        raise UsageError(f"--{str(error).replace('_', '-', 1)}") from error


def get_delta(arguments: argparse.Namespace) -> float:
    """Return the delta of the arguments, or its default."""
    return 0.0 if arguments.delta is None else arguments.delta


def private_group_size(n_rows: int, epsilon: float, delta: float) -> int:
    """Return the default minimum size of a group, from public information only."""
    budget = row_budget(epsilon, delta)
    # Standard deviation of the noise in the sum over a group, in ranges.
    noise = 1.0 / math.sqrt(2.0 * budget) if delta else math.sqrt(2.0) / budget
    enough = math.ceil(noise / NOISE_SHARE)
    return max(MIN_GROUP_ROWS, n_rows // GROUPS, min(enough, n_rows // 2))


class PrivateOracle:
    """Averages with the noise that a privacy budget requires; each group has one answer.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The column.
    arguments : Namespace
        Arguments of the command line.
    ledger : PrivacyLedger, default=None
        The account of all searches of the table.
    rows : ndarray of shape (n,), default=None
        Numbers of the rows in the ledger's table; None for all rows.

    Attributes
    ----------
    averages : PrivateAverages
        Source of the answers, with the privacy account.
    spent_before : float
        The epsilon that other searches had spent before.
    noises : list of float
        Standard deviation of the noise of every answer.
    limits : (low, high)
        Range of every average before noise is added.
    """

    #: A repeated question gets the same answer.
    repeats = False

    def __init__(
        self,
        values: np.ndarray,
        arguments: argparse.Namespace,
        ledger: PrivacyLedger | None = None,
        rows: np.ndarray | None = None,
    ) -> None:
        self.limits: tuple[float, float] = check_range(arguments.target_range)
        if ledger is None or rows is None:
            self._rows, column = np.arange(len(values)), values
        else:
            # The ledger counts for all rows of the table. Rows that are not searched are in no
            # group, so that their values do not matter.
            self._rows, column = rows, np.full(ledger.n_rows, self.limits[0])
            column[rows] = values
        self.noises: list[float] = []
        self.averages: PrivateAverages = PrivateAverages(
            column,
            arguments.target_range,
            epsilon=arguments.epsilon,
            delta=get_delta(arguments),
            min_members=arguments.least,
            random_state=arguments.seed,
            ledger=ledger,
        )
        self.spent_before: float = self.averages.epsilon_spent_

    def affords(self, rows: np.ndarray) -> bool:
        """Return whether a question about this group would be answered: its budget is not spent."""
        return self.averages.affords(self._rows[rows])

    def answer(self, rows: np.ndarray, part: float) -> tuple[float, float]:
        """Return the noisy average over a group, and the variance of its noise."""
        members = self._rows[rows]
        left = 1.0 - float(self.averages.spent_[members].max()) / self.averages.budget
        share = min(1.0, part / left) if left > 0.0 else 1.0
        average, variance, _ = self.averages.answer(members, share)
        self.noises.append(math.sqrt(variance))
        return average, variance


def open_ledger(table: SearchTable, arguments: argparse.Namespace) -> PrivacyLedger | None:
    """Return the account of all searches of a table; None without --ledger.

    The ledger recognises the table by the columns that were features of the first search.
    """
    if arguments.ledger is None:
        return None
    file, features = table.file, arguments.features
    try:
        recorded = set(read_public_names(arguments.ledger))
        # If none of them exists, it is another table, as the ledger will detect.
        names = [name for name in file.names(features) if name in recorded] or features
        # Read them as texts, because searches may read them as other kinds.
        public = {column.name: _cell_texts(column) for column in file.read(names, names)}
        return PrivacyLedger(arguments.ledger, public, target=table.target)
    except ValueError as error:
        raise UsageError(f"--ledger: {error}") from error


def _cell_texts(column: Column) -> np.ndarray:
    """Return the texts of a column, empty for missing values, shape (n_rows,)."""
    texts = np.array(["", *column.labels], dtype=object)
    return texts[np.where(column.missing, -1, np.nan_to_num(column.values)).astype(np.intp) + 1]


@contextmanager
def ledger_errors(arguments: argparse.Namespace) -> Iterator[None]:
    """Convert errors of the ledger into a UsageError: its file, or the table, is wrong."""
    try:
        yield
    except ValueError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        if arguments.ledger is None:
            raise
        reason = str(error) if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise UsageError(f"cannot use --ledger {arguments.ledger}: {reason}") from error


def private_oracle(
    values: np.ndarray,
    arguments: argparse.Namespace,
    ledger: PrivacyLedger | None = None,
    rows: np.ndarray | None = None,
) -> PrivateOracle:
    """Return the source of private answers; set options whose defaults depend on the table size."""
    n = len(values)
    if arguments.least is None:
        arguments.least = private_group_size(n, arguments.epsilon, get_delta(arguments))
    if arguments.budget is None:
        # So many that the first groups cover the whole table once.
        arguments.budget = math.ceil((n // arguments.least + 1) / SHARE_FIRST)
    return PrivateOracle(values, arguments, ledger, rows)


def privacy_entry(
    oracle: PrivateOracle, arguments: argparse.Namespace, found: AskedResult
) -> dict[str, Any]:
    """Return the privacy part of the report, for other programs."""
    averages = oracle.averages
    spent = averages.epsilon_spent_
    return {
        # Another search with this ledger may have a larger budget.
        "epsilon": max(averages.epsilon, spent),
        "delta": averages.delta,
        "epsilon_spent": spent,
        "epsilon_spent_before": oracle.spent_before,
        "ledger": arguments.ledger,
        "noise_law": "gaussian" if averages.delta else "laplace",
        # The loss by Gaussian noise is an amount of zCDP.
        "rho": averages.budget if averages.delta else None,
        "rho_spent": float(averages.spent_.max()) if averages.delta else None,
        "target_range": list(arguments.target_range),
        "at_end_of_range": _end_of_range(found, *arguments.target_range),
        "noise": [min(oracle.noises), max(oracle.noises)],
        "protected": f"the value of {arguments.target} in any one row",
        "public": ["features", "rows and group sizes", "target_range"],
        # Anybody who knows the seed can reproduce the noise and subtract it.
        "holds": arguments.seed is None,
    }


def _end_of_range(found: AskedResult, low: float, high: float) -> float | None:
    """Return the end of the range near the noisy average; None if it is near no end."""
    near, far = NEAR_END * (high - low), TOO_GOOD * found.std
    if found.mean > high - near and found.mean + far >= high:
        return high
    if found.mean < low + near and found.mean - far <= low:
        return low
    return None


def privacy_remark(privacy: dict[str, Any], n_rows: int) -> list[str]:
    """Return lines on the protected values, the public information, and the budget spent."""
    if not privacy["holds"]:
        return [
            "NOT PRIVATE: with --seed the noise can be repeated and taken off by whoever knows "
            "the seed. Leave it out for a report that leaves the house.",
        ]
    low, high = privacy["target_range"]
    weak = []
    if privacy["at_end_of_range"] is not None and privacy["target_range"] != SHARES:
        end = privacy["at_end_of_range"]
        beyond = "above" if end == high else "below"
        weak.append(
            f"The average found perhaps lies at the end of --target-range: values {beyond} "
            f"{end:,.6g} count as {end:,.6g}, and where there are many the true average lies "
            "beyond. Take a wider range, known independently of the table."
        )
    if privacy["delta"] > LARGEST_DELTA / n_rows:
        weak.append(
            f"That is a weak promise: delta should be far less than one over the {n_rows:,} rows."
        )
    output, before = "this search prints and writes", ""
    if privacy["ledger"] is not None:
        output = f"this search and all others with the ledger {privacy['ledger']} print and write"
        before = f", {privacy['epsilon_spent_before']:.4g} of it before this search"
    return [
        f"Privacy: {privacy['protected']} is protected with epsilon = {privacy['epsilon']:g} and "
        f"delta = {privacy['delta']:g} in all that {output}; spent were "
        f"{privacy['epsilon_spent']:.4g}{before}.",
        *weak,
        f"Taken to be public: the features, which rows there are, the sizes of groups, and that "
        f"values lie from {low:,.6g} to {high:,.6g}.",
        "Not protected: the table itself, and whatever else is computed from it.",
    ]
