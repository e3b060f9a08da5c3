"""``python -m skgpb budget``: ``new``, ``ask``, ``tell``, ``undo`` and ``show`` of campaigns.

Each command calls the method of this name of
:class:`skgpb.lab.experiments.campaigns.Campaigns`, and prints the result as text or JSON.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from shlex import quote
from typing import Any

from skgpb.lab.cli.arguments import add_seed, select_arguments
from skgpb.lab.cli.experiment import Output, add_command, align_rows, columns, parse_pairs, program
from skgpb.lab.experiments.campaigns import Campaigns
from skgpb.lab.experiments.sides import format_estimate, format_value
from skgpb.lab.experiments.texts import quote_name


def add_parser(commands: Any) -> None:
    """Add the command, with its own commands, to the subparsers ``commands``."""
    budget = commands.add_parser(
        "budget",
        help="split a budget between campaigns: new, ask, tell, undo, show",
        description="Split a budget between campaigns: which split brings most? A file keeps what "
        "each campaign got and what came back.",
    )
    own = budget.add_subparsers(required=True, metavar="COMMAND")
    new = add_command(own, "new", _new, "begin with some campaigns in a file of its own")
    new.add_argument(
        "--campaigns",
        nargs="+",
        required=True,
        metavar="CAMPAIGN",
        help="what each may get, from where to where: NAME=LOW:HIGH:STEP, or NAME=0,5,10",
    )
    new.add_argument("--budget", required=True, metavar="B", help="what all get together at most")
    new.add_argument("--answer", default="", metavar="NAME", help="what comes back, for display")
    add_seed(new, "the same seed and answers give the same splits")
    ask = add_command(own, "ask", _ask, "what each campaign gets next; the same before a tell")
    ask.add_argument("--budget", metavar="B", help="another budget, from now on")
    tell = add_command(own, "tell", _tell, "report what came back from each campaign")
    tell.add_argument(
        "answers",
        nargs="+",
        metavar="CAMPAIGN=ANSWER",
        help="a number, or 'search=12 of 300' for 12 orders of 300 clicks, which says how sure it "
        "is; leave out a campaign without a report",
    )
    tell.add_argument(
        "--spent",
        nargs="+",
        default=[],
        metavar="CAMPAIGN=AMOUNT",
        help="what campaigns really got, where that is not what was asked",
    )
    add_command(own, "undo", _undo, "take back what was told last")
    add_command(own, "show", _show, "every split, what came back, and the best split by now")


def _new(arguments: argparse.Namespace) -> Output:
    campaigns = Campaigns.create(
        arguments.run_file, **select_arguments(Campaigns.create, arguments)
    )
    status = campaigns.status()
    amounts = status["campaigns"].items()
    lines = [
        f"{arguments.run_file}: which split of {format_value(status['budget'])} brings most "
        f"{status['answer'] or 'in all'}?",
        *columns((name, _abbreviate(each)) for name, each in amounts),
    ]
    return status, [*lines, f"next: {program()} budget ask {quote(arguments.run_file)}"]


def _ask(arguments: argparse.Namespace) -> Output:
    split = Campaigns(arguments.run_file).ask(arguments.budget)
    names = " ".join(quote(f"{quote_name(name)}=ANSWER") for name in split["amounts"])
    lines = [f"split {split['split']}", *_amounts(split["amounts"])]
    return split, [*lines, f"then: {program()} budget tell {quote(arguments.run_file)} {names}"]


def _tell(arguments: argparse.Namespace) -> Output:
    campaigns = Campaigns(arguments.run_file)
    answers = parse_pairs(arguments.answers, "tell")
    split = campaigns.tell(answers, spent=parse_pairs(arguments.spent, "--spent"))
    line = f"split {split['split']}: {format_value(_total(split))} {campaigns.answer}".rstrip()
    missing = [name for name, each in split["answers"].items() if each is None]
    line += f", without {' and '.join(missing)}" if missing else ""
    return split, [line, *_state(campaigns)]


def _undo(arguments: argparse.Namespace) -> Output:
    campaigns = Campaigns(arguments.run_file)
    split = campaigns.undo()
    return split, [f"split {split['split']} is taken back", *_state(campaigns)]


def _show(arguments: argparse.Namespace) -> Output:
    campaigns = Campaigns(arguments.run_file)
    status = campaigns.status()
    names = list(status["campaigns"])
    rows = [["split", *names, status["answer"] or "total"]]
    for each in status["splits"]:
        answers = each["answers"]
        back = {name: "?" if y is None else format_value(y) for name, y in answers.items()}
        cells = [
            f"{format_value(x)} -> {back.get(name, '?')}" for name, x in each["amounts"].items()
        ]
        rows.append(
            [str(each["split"]), *cells, format_value(_total(each)) if answers else "not yet"]
        )
    lines = ["nothing was asked yet"]
    if status["splits"]:
        lines = ["what each campaign got -> what came back", *align_rows(rows)]
    return status, [*lines, "", *_state(campaigns)]


def _state(campaigns: Campaigns) -> list[str]:
    """Return lines on the best split so far, or on the number of first splits told."""
    status = campaigns.status()
    best, n = status["best"], sum(bool(each["answers"]) for each in status["splits"])
    if best is None:
        return [
            f"told: {n} of the first {campaigns.n_first} splits, which give each campaign much and "
            "little; the best split is named after them"
        ]
    numbers = best["mean"], *best["interval_95"]
    mean, low, high = (format_estimate(x, best["std"]) for x in numbers)
    return [
        f"best split of {format_value(status['budget'])} after {n}:",
        *_amounts(best["amounts"]),
        f"{status['answer'] or 'in all'}: expected {mean} (95 %: {low} to {high})",
    ]


def _amounts(amounts: Mapping[str, float]) -> list[str]:
    return columns((name, format_value(each)) for name, each in amounts.items())


def _total(split: dict[str, Any]) -> float:
    """Return the sum of the answers of all campaigns."""
    return sum(each for each in split["answers"].values() if each is not None)


def _abbreviate(amounts: list[float]) -> str:
    """Write the amounts that a campaign may get, without those in the middle of a long list."""
    few = ", ".join(map(format_value, amounts[:3]))
    return few if len(amounts) <= 3 else f"{few}, ..., {format_value(amounts[-1])}"
