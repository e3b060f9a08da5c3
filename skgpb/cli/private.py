"""``search --epsilon``: a search within a budget of differential privacy.

The column goes into a :class:`~skgpb.datasets.PrivateAverages` and nowhere else: what a private
search prints and writes is made of its answers, the features and what the user gave.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from skgpb.cli.arguments import UsageError, positive
from skgpb.cli.region import N_CHILDREN, GroupOracle, group_size
from skgpb.datasets import PrivateAverages, rho_of
from skgpb.datasets.accounting import check_delta
from skgpb.datasets.private import check_range
from skgpb.domains import Cell, UndividedPool

DELTA = 1e-6
# Times the number of rows: more is reported to be weak.
LARGEST_DELTA = 0.1
# The smallest groups have so many rows that the noise is about one tenth of the range, or less.
NOISE_SHARE = 0.1


def add_private(parser: argparse.ArgumentParser) -> None:
    """Add what a private search takes."""
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
        type=positive,
        metavar="D",
        help=f"beside epsilon, far less than one over the number of rows (default: {DELTA:g})",
    )
    add(
        "--target-range",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="between what values of the target may lie, from what is known without the table; "
        "values beyond count as LOW or HIGH",
    )
    # The operating system's random numbers, unless a seed is given.
    parser.set_defaults(seed=None)


def check_private(arguments: argparse.Namespace) -> None:
    """Find what does not go together, before the table is read."""
    if arguments.epsilon is None:
        for option in ("delta", "target_range"):
            if getattr(arguments, option) is not None:
                raise UsageError(f"--{option.replace('_', '-')} is for --epsilon")
        if arguments.budget is None:
            raise UsageError("the following arguments are required: --budget (or --epsilon)")
        return
    if arguments.target_range is None:
        raise UsageError(
            "--epsilon needs --target-range LOW HIGH, between what values of the target may lie"
        )
    for option, plain in (("noise", 0.0), ("alpha", None), ("save_rows", None)):
        if getattr(arguments, option) != plain:
            reason = {
                "save_rows": "it writes the values of the target, which --epsilon protects; "
                "--output has the numbers of the rows",
            }.get(option, "the noise follows from --epsilon")
            raise UsageError(f"--{option.replace('_', '-')} does not go with --epsilon: {reason}")
    try:
        check_range(arguments.target_range)
        check_delta(delta_of(arguments))
    except ValueError as error:
        raise UsageError(f"--{str(error).replace('_', '-', 1)}") from error


def delta_of(arguments: argparse.Namespace) -> float:
    """Return what was given, or the default."""
    return DELTA if arguments.delta is None else arguments.delta


def private_group_size(n_rows: int, max_depth: int | None, rho: float) -> int:
    """Fewest rows of a group where the user does not say, by what is public only."""
    enough = math.ceil(1.0 / (NOISE_SHARE * math.sqrt(2.0 * rho)))
    return max(group_size(n_rows, max_depth), min(enough, n_rows // N_CHILDREN))


class PrivateGroups(GroupOracle):
    """Averages with the noise that a budget of privacy asks for; each group answers once.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The column.
    arguments : Namespace
        Of the command line.

    Attributes
    ----------
    averages : PrivateAverages
        What answers, and counts.
    noises : list of float
        Standard deviation of the noise in every answer.
    """

    variance: float

    def __init__(self, values: np.ndarray, arguments: argparse.Namespace) -> None:
        super().__init__(len(values), 0.0)
        self._values, self._arguments = values, arguments
        self.noises: list[float] = []

    def begin(self, domain: UndividedPool) -> None:
        """Take notice of the groups that may be asked for."""
        self._domain = domain
        self.averages: PrivateAverages = PrivateAverages(
            self._values,
            self._arguments.target_range,
            epsilon=self._arguments.epsilon,
            delta=delta_of(self._arguments),
            min_members=domain.fewest,
            random_state=self._arguments.seed,
        )

    def _answer(self, group: Cell) -> float:
        average, self.variance, _ = self.averages.answer(group, self._share(group))
        self.noises.append(math.sqrt(self.variance))
        return average

    def _share(self, group: Cell) -> float:
        """How much of what is left to its rows a group may spend: all of it where it is last."""
        if not self._domain.splittable(self._domain.node_of(group)):
            return 1.0
        # The noise is about that of the smallest groups, so that little is spent on the way.
        times = len(np.asarray(group.members)) // self._domain.min_members
        return 1.0 / max(N_CHILDREN, times) ** 2

    def refuses(self, group: Cell) -> bool:
        """Whether there is nothing to ask of a group: it was answered, or its budget is spent."""
        return (group.depth, group.index) in self.asked or not self.averages.affords(group)


def private_oracle(values: np.ndarray, arguments: argparse.Namespace) -> PrivateGroups:
    """Return what answers a private search, and resolve what depends on the number of rows."""
    n = len(values)
    if arguments.min_members is None:
        rho = rho_of(arguments.epsilon, delta_of(arguments))
        arguments.size = private_group_size(n, arguments.max_depth, rho)
    if arguments.budget is None:
        # As many as there are groups: the search ends when all have told what they may.
        arguments.budget = N_CHILDREN**2 * (n // (arguments.min_members or arguments.size))
    return PrivateGroups(values, arguments)


def privacy_entry(oracle: PrivateGroups, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the report says of privacy, for other programs."""
    averages = oracle.averages
    return {
        "epsilon": averages.epsilon,
        "delta": averages.delta,
        "epsilon_spent": averages.epsilon_spent_,
        "rho": averages.rho,
        "rho_spent": float(averages.spent_.max()),
        "target_range": list(arguments.target_range),
        "noise": [min(oracle.noises), max(oracle.noises)],
        "protected": f"the value of {arguments.target} in any one row",
        "public": ["features", "rows and group sizes", "target_range"],
        # With a seed the noise can be repeated, and so be taken off.
        "holds": arguments.seed is None,
    }


def privacy_remark(privacy: dict[str, Any], n_rows: int) -> list[str]:
    """Lines that say what is protected, what is not, and what was spent."""
    if not privacy["holds"]:
        return [
            "NOT PRIVATE: with --seed the noise can be repeated and taken off by whoever knows "
            "the seed. Leave it out for a report that leaves the house.",
        ]
    low, high = privacy["target_range"]
    weak = []
    if privacy["delta"] > LARGEST_DELTA / n_rows:
        weak.append(
            f"That is a weak promise: delta should be far less than one over the {n_rows:,} rows."
        )
    return [
        f"Privacy: {privacy['protected']} is protected with epsilon = {privacy['epsilon']:g} and "
        f"delta = {privacy['delta']:g} in all that this search prints and writes; spent were "
        f"{privacy['epsilon_spent']:.4g}.",
        *weak,
        f"Taken to be public: the features, which rows there are, the sizes of groups, and that "
        f"values lie from {low:,.6g} to {high:,.6g}.",
        "Not protected: the table itself, and whatever else is computed from it.",
    ]
