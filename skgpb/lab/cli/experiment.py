"""``python -m skgpb new``, ``ask``, ``tell``, ``undo``, ``show``, ``best`` and ``plot``.

Each command calls the method of this name of :class:`skgpb.lab.experiments.Experiment`, and prints
the result as text, or with ``--json`` as one JSON object in a line, for programs.
"""

from __future__ import annotations

import argparse
import getpass
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

from skgpb.lab.cli.arguments import (
    UsageError,
    add_confidence,
    add_seed,
    check_confidence,
    positive,
    select_arguments,
    whole,
)
from skgpb.lab.cli.experiment_picture import draw_experiment
from skgpb.lab.cli.files import check_outputs, check_picture
from skgpb.lab.cli.words import count
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.answers import read_range
from skgpb.lab.experiments.blocks import describe_shift
from skgpb.lab.experiments.changes import describe_change
from skgpb.lab.experiments.export import write_table
from skgpb.lab.experiments.judge import (
    answer_remark,
    describe_outcomes,
    describe_preferred_query,
    describe_surprise,
    limits_remark,
    scatter_interval,
)
from skgpb.lab.experiments.limits import describe_limit
from skgpb.lab.experiments.listed import ENDING, experiments_in
from skgpb.lab.experiments.reasons import describe_reason
from skgpb.lab.experiments.sides import format_estimate, format_percent, format_value
from skgpb.lab.experiments.texts import quote_name, split_pair, to_one_line

# Result of a command: an object for programs, and lines for people.
Output = tuple[dict[str, Any], list[str]]
# Characters between two columns.
GAP = "  "
# Parameters that are lists of texts, and the options that add one text each.
LISTS = {"constraints": "--constraint", "limits": "--limit", "costs": "--cost"}


def add_parser(commands: Any) -> None:
    """Add the commands of experiments to the subparsers ``commands``."""
    _add_new(commands)
    _add_ask(commands)
    _add_tell(commands)
    undo = add_command(
        commands, "undo", _undo, "take back what was told last, an answer or a failure"
    )
    _add_author(undo)
    add_command(commands, "show", _show, "what the experiment is, every query, and what is pending")
    history = add_command(commands, "history", _history, "every query, or what was changed of them")
    history.add_argument(
        "--changes",
        action="store_true",
        help="what was corrected, taken back or written anew: the old value, when, by whom",
    )
    best = add_command(
        commands, "best", _best, "the setting recommended by now, and how sure that is"
    )
    best.add_argument(
        "--stop-within",
        type=positive,
        metavar="W",
        help="say how much better it may still be, and whether that is at most W, so that you may "
        "stop",
    )
    add_confidence(best)
    best.add_argument(
        "--side",
        nargs="+",
        metavar="NAME=LENGTH",
        help="of an experiment over regions, how long the sides of the recommended one are to be: "
        "a share of a log scale, and how many whole numbers or values of a list (default: 1)",
    )
    expect = add_command(commands, "expect", _expect, "what answer is expected at a setting")
    expect.add_argument(
        "--at", nargs="+", required=True, metavar="NAME=VALUE", help="a value for each side"
    )
    note = add_command(commands, "note", _note, "add a note to a query in the notebook")
    note.add_argument("--query", type=whole(1), required=True, metavar="N", help="its number")
    _add_record(note)
    _add_author(note)
    change = add_command(
        commands, "change", _change, "go on with other limits, values or constraints"
    )
    change.add_argument(
        "--bounds",
        dest="sides",
        nargs="+",
        default=[],
        metavar="SIDE",
        help="sides that change, as for new; a single value, NAME=VALUE, holds a side",
    )
    change.add_argument(
        "--earlier",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="for each new side in --bounds the value that it had in all queries so far",
    )
    change.add_argument(
        "--drop",
        dest="dropped",
        nargs="+",
        default=[],
        metavar="NAME",
        help="sides to leave out; their values are kept as measurements",
    )
    for name, option in LISTS.items():
        change.add_argument(
            option,
            dest=name,
            action="append",
            metavar="TEXT",
            help="as for new; those given replace all there were, and none stands for none",
        )
    for name, option, metavar, none in (
        ("block", "--block", "NAME", "none if nothing tells results apart any more"),
        ("answer_range", "--answer-range", "LOW:HIGH", "none if there is no end any more"),
        (
            "score",
            "--maximize",
            "SCORE",
            "for all results so far, or none for the answers that were told",
        ),
    ):
        change.add_argument(option, dest=name, metavar=metavar, help=f"as for new; {none}")
    _add_author(change)
    export = add_command(
        commands, "export", _export, "write the notebook to a table for a spreadsheet"
    )
    export.add_argument("table", metavar="TABLE", help="a file that ends in .csv or .xlsx")
    export.add_argument(
        "--decimal-comma",
        action="store_true",
        help="semicolons and decimal commas in .csv, as a German Excel opens it",
    )
    every = commands.add_parser(
        "list",
        help="the experiments in a folder",
        description="List the experiments in a folder: how far each is, and its best answer.",
    )
    every.set_defaults(run=_as_command(_list))
    every.add_argument("run_file", nargs="?", default=".", metavar="FOLDER", help="(default: .)")
    every.add_argument("--json", action="store_true", help="print one JSON object instead")
    plot = add_command(
        commands, "plot", _plot, "draw what is expected along every side, and the progress"
    )
    plot.add_argument(
        "--output", metavar="FILE", help="where to draw it (default: RUN with the ending .png)"
    )


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], Output], summary: str
) -> argparse.ArgumentParser:
    """Add a command on the file of an experiment, which prints the output of ``run``."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
    )
    parser.set_defaults(run=_as_command(run))
    parser.add_argument("run_file", metavar="RUN", help="the file of the experiment")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    return parser


def _add_new(commands: Any) -> None:
    new = add_command(commands, "new", _new, "begin an experiment in a file of its own")
    add = new.add_argument
    add(
        "--bounds",
        dest="sides",
        nargs="+",
        required=True,
        metavar="SIDE",
        help="what is set, and from where to where: NAME=LOW:HIGH, NAME=LOW:HIGH:log, "
        "NAME=LOW:HIGH:int, NAME=LOW:HIGH:STEP, NAME=LOW:HIGH:periodic or NAME=A,B,C. Numbers "
        "have three significant digits unless a step is given; NAME=LOW:HIGH:any has none. Values "
        "with a comma stand between quotes: 'NAME=\"1,4-dioxane\",DMF'",
    )
    lists = {
        "constraints": "a rule for several sides, such as 'A + B <= 100' or 'A + B + C = 1'; may "
        "be given several times",
        "limits": "limit on what else is measured, such as 'peak temperature < 80' or '6 <= pH <= "
        "8', or 'passed = yes'; tell it with --measured. May be given several times",
        "costs": "what an experiment costs, if some cost more than others: '20 + 0.5*time', or "
        "'100 if catalyst = Pd' for one value of a list. May be given several times; amounts add "
        "up",
    }
    for name, text in lists.items():
        add(LISTS[name], dest=name, action="append", default=[], metavar="TEXT", help=text)
    add(
        "--block",
        default="",
        metavar="NAME",
        help="what may shift several results together: operator, date, or the NAME of --measured "
        "such as batch. How far the results of different operators (days, batches) are apart is "
        "learned, and is not taken for noise",
    )
    add(
        "--answer-range",
        default="",
        metavar="LOW:HIGH",
        help="between which ends an average result is, such as 0:100 for per cent, or 0: if only "
        "the low end is known; nothing is then expected beyond them",
    )
    add(
        "--maximize",
        dest="score",
        default="",
        metavar="SCORE",
        help="what is sought, if several things are measured: arithmetic of what --measured tells, "
        "such as '0.7*yield - 0.3*cost' or 'desirability(yield, 60, 90) * desirability(cost, 20, "
        "5)', each from worthless to perfect; there is no other answer then",
    )
    add(
        "--goal",
        dest="goals",
        action="append",
        default=[],
        metavar="TEXT",
        help="one of two to four measurements of which the best compromises are sought: 'large "
        "yield' or 'small cost'; tell them with --measured, there is no other answer then",
    )
    add(
        "--minimize",
        dest="direction",
        action="store_const",
        const="minimize",
        default="maximize",
        help="seek small answers (default: large ones)",
    )
    add(
        "--noise",
        type=lambda text: None if text == "unknown" else text,
        metavar="SD",
        help="standard deviation of the noise in an answer, or unknown: then it is learned "
        "(default: unknown)",
    )
    add(
        "--regions",
        action="store_true",
        help="ask for averages over regions of settings, not for single ones",
    )
    add("--data", metavar="TABLE", help="settings and answers of the past to start from")
    _add_skip(new)
    add(
        "--earlier-campaign",
        dest="earlier_campaigns",
        action="append",
        default=[],
        metavar="TABLE",
        help="settings and answers of an earlier campaign, perhaps in other units or at another "
        "level; how much it is like this one is learned. May be given several times",
    )
    add("--answer", default="", metavar="NAME", help="what is measured, and its column in --data")
    add("--unit", default="", metavar="UNIT", help="unit of the answers, for display")
    add("--title", default="", metavar="TEXT", help="for display")
    add_seed(new, "the same seed and answers give the same queries")


def _add_ask(commands: Any) -> None:
    ask = add_command(commands, "ask", _ask, "what to evaluate next; the same again before a tell")
    add = ask.add_argument
    add("-n", "--number", type=whole(1), default=1, metavar="N", help="queries (default: 1)")
    add("--another", action="store_true", help="other queries than were asked before")
    add("--repeat", type=whole(1), metavar="N", help="the setting of query N once more")
    add(
        "--fixed",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="settings that are held for these queries, such as temperature=60",
    )
    add(
        "--shared",
        nargs="+",
        default=[],
        metavar="NAME",
        help="settings that are the same in all N queries, and chosen with the first",
    )
    add("--why", action="store_true", help="also say what is expected there, and why it is asked")


def _add_tell(commands: Any) -> None:
    tell = add_command(commands, "tell", _tell, "report an answer or a failure")
    add = tell.add_argument
    add(
        "answer",
        nargs="?",
        metavar="ANSWER",
        help="what was measured; '14.7 15.3' for several measurements of this run, whose mean and "
        "standard error are taken; '12 of 300' for a proportion",
    )
    add(
        "--query", type=whole(1), metavar="N", help="number of the query, where several are pending"
    )
    add("--failed", action="store_true", help="there is no answer: the evaluation failed")
    add("--skip", action="store_true", help="leave the query out; that is no failure")
    add(
        "--correct",
        action="store_true",
        help="replace what was told of --query before: the ANSWER, or the setting by --at, or both",
    )
    add(
        "--at",
        nargs="+",
        metavar="NAME=VALUE",
        help="the setting, a value for each side, where it is not exactly what was asked",
    )
    add("--noise", metavar="SD", help="standard deviation of the noise in this answer")
    add("--data", metavar="TABLE", help="report all answers in a table")
    _add_skip(tell)
    _add_record(tell)
    _add_author(tell)


def _add_author(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by",
        metavar="NAME",
        help="who changes what was recorded, for history --changes (default: your login name)",
    )


def _author(arguments: argparse.Namespace) -> str:
    """Return the name of the person who makes a change; empty if it is unknown."""
    if arguments.by is not None:
        return arguments.by
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # there is no login name
        return ""


def _add_record(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--note", metavar="TEXT", help="what is to be remembered")
    add("--operator", metavar="NAME", help="who measured")
    add("--date", metavar="YYYY-MM-DD", help="when (default of tell: today)")
    add(
        "--measured",
        nargs="+",
        metavar="NAME=VALUE",
        help="what else was measured; it is kept, and learned from if it has a limit",
    )


def _add_skip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--skip-outside",
        action="store_true",
        help="leave out rows of --data with a value that is missing or outside its side, and name "
        "them (default: take no row then)",
    )


def _as_command(command: Callable[[argparse.Namespace], Output]) -> Callable:
    """Return a function of the arguments that prints the output and the errors of a command."""

    def run(arguments: argparse.Namespace) -> None:
        try:
            with warnings.catch_warnings(record=True) as noticed:
                warnings.simplefilter("default")
                result, lines = command(arguments)
        except TimeoutError as error:
            raise UsageError(str(error)) from error
        except OSError as error:
            name = error.filename or arguments.run_file
            raise UsageError(f"cannot use {name}: {error.strerror or error}") from error
        except (ValueError, TypeError, ImportError) as error:
            raise UsageError(str(error)) from error
        for each in noticed if sys.stderr is not None else []:
            print(f"skgpb: warning: {' '.join(str(each.message).split())}", file=sys.stderr)
        print(json.dumps(result, allow_nan=False) if arguments.json else "\n".join(lines))

    return run


# -- the commands -------------------------------------------------------------------------------


def _new(arguments: argparse.Namespace) -> Output:
    _check_skip(arguments)
    if arguments.goals and (arguments.score or arguments.direction == "minimize"):
        raise UsageError("--goal cannot be combined with --maximize or --minimize: say small NAME")
    if arguments.score and arguments.direction == "minimize":
        raise UsageError("--minimize cannot be combined with --maximize: turn the signs of SCORE")
    given = select_arguments(Experiment.create, arguments)
    experiment = Experiment.create(arguments.run_file, **given)
    status = experiment.status()
    lines = [
        f"{arguments.run_file}: {_goal(status)}",
        *columns((side.name, str(side)) for side in experiment.sides),
        *_rules(status),
    ]
    n_past = status["n_given"] + status["n_answered"]
    if n_past:
        lines.append(f"{count(n_past, 'answer')} of the past are taken from {arguments.data}")
        lines += _not_used(status)
    return status, [*lines, f"next: {program()} ask {quote(arguments.run_file)}"]


def _not_used(status: dict[str, Any]) -> list[str]:
    """Return a line with the columns of a table that are saved but not used, or no line."""
    names = ", ".join(status["not_used"])
    return [f"saved, but not used without a limit, a score or a block: {names}"] if names else []


def program() -> str:
    """Return the command that runs this program; after pipx install there is only ``skgpb``."""
    return "skgpb" if Path(sys.argv[0]).stem == "skgpb" else "python -m skgpb"


def _ask(arguments: argparse.Namespace) -> Output:
    experiment = Experiment(arguments.run_file)
    if arguments.repeat is not None:
        held = arguments.fixed or arguments.shared
        if arguments.another or held or arguments.number != 1:
            raise UsageError(
                "--repeat N cannot be combined with --another, --fixed, --shared or --number"
            )
        queries = [experiment.repeat(arguments.repeat)]
    else:
        fixed = parse_pairs(arguments.fixed, "--fixed")
        queries = experiment.ask(
            arguments.number, another=arguments.another, fixed=fixed, shared=arguments.shared
        )
    pending = experiment.pending()
    reasons = {each["query"]: each for each in experiment.why()} if arguments.why else {}
    lines: list[str] = []
    for entry in queries:
        lines += [f"query {entry['query']}", *_setting(entry["params"])]
        lines += [] if entry["cost"] is None else [f"it costs {format_value(entry['cost'])}"]
        lines += describe_reason(reasons[entry["query"]]) if reasons else []
    asked = [entry["query"] for entry in queries]
    others = [str(entry["query"]) for entry in pending if entry["query"] not in asked]
    if others:
        lines.append(f"also pending: {', '.join(others)}")
    number = f" --query {asked[0]}" if len(pending) > 1 else ""
    names = [quote(f"{quote_name(name)}=VALUE") for name in experiment.counted]
    status = experiment.status()
    block = status["block"]
    if block and block not in ("operator", "date"):
        names.append(quote(f"{quote_name(block)}=NAME"))
    measured = " --operator NAME" if block == "operator" else ""
    measured += f" --measured {' '.join(names)}" if names else ""
    answer = "" if status["score"] else " ANSWER"
    lines.append(f"then: {program()} tell {quote(arguments.run_file)}{answer}{number}{measured}")
    result = {"queries": queries, "pending": pending}
    if reasons:
        result["reasons"] = [reasons[number] for number in asked]
    return result, lines


def _tell(arguments: argparse.Namespace) -> Output:
    _check_tell(arguments)
    experiment = Experiment(arguments.run_file)
    at = None if arguments.at is None else parse_pairs(arguments.at)
    record, noise = _record(arguments), arguments.noise
    if arguments.data is not None:
        told = experiment.add_table(arguments.data, skip_outside=arguments.skip_outside)
    elif arguments.correct:
        given = ... if arguments.answer is None else arguments.answer
        answer, by = None if arguments.failed else given, _author(arguments)
        with experiment.exclusive():  # both or, after an error, neither
            entry = experiment.correct(arguments.query, answer, at=at, noise=noise, by=by)
            if record:
                entry = experiment.annotate(arguments.query, **record, by=by)
        told = [entry]
    elif arguments.skip:
        told = [experiment.skip(arguments.query, **record)]
    elif arguments.failed:
        told = [experiment.fail(arguments.query, at=at, **record)]
    else:
        surprises: dict[str, Any] = {}
        with suppress(ValueError):  # the call of tell reports errors
            measured = record.get("measured", {})
            found = experiment.surprises(measured, arguments.query)
            surprises = {f"{name} = {measured[name]}": each for name, each in found.items()}
            if arguments.answer is not None:
                unusual = experiment.surprise(arguments.answer, arguments.query, at=at)
                surprises |= {} if unusual is None else {str(arguments.answer): unusual}
        entry = experiment.tell(arguments.answer, arguments.query, at=at, noise=noise, **record)
        told = [entry]
        for value, each in surprises.items():
            warnings.warn(
                f"{value} is unusual. {describe_surprise(each)} The answer is saved; `undo` "
                "removes it, `tell --correct` changes it",
                UserWarning,
                stacklevel=2,
            )
    lines = [f"query {entry['query']}: {_outcome(entry)}" for entry in told]
    if arguments.data is not None:
        lines += _not_used(experiment.status())
    return {"told": told, **_state_entry(experiment)}, [*lines, *_state(experiment)]


def _record(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments that are notes on a query, by names."""
    given = {name: getattr(arguments, name) for name in ("note", "operator", "date")}
    if arguments.measured:
        given["measured"] = parse_pairs(arguments.measured, "--measured")
    return {name: value for name, value in given.items() if value is not None}


def _note(arguments: argparse.Namespace) -> Output:
    record = _record(arguments)
    if not record:
        raise UsageError("note needs --note, --operator, --date or --measured")
    experiment = Experiment(arguments.run_file)
    entry = experiment.annotate(arguments.query, **record, by=_author(arguments))
    return {"noted": entry}, [f"query {entry['query']}: {_outcome(entry)}", *_notes_line(entry)]


def _change(arguments: argparse.Namespace) -> Output:
    names = (*LISTS, "block", "answer_range", "score")
    rules = {name: given for name in names if (given := getattr(arguments, name)) is not None}
    if not (arguments.sides or arguments.dropped or rules):
        raise UsageError(
            "change needs --bounds, --drop, --constraint, --limit, --cost, --block, --answer-range "
            "or --maximize"
        )
    for name, given in rules.items():
        none = "" if given == "none" else given
        rules[name] = [each for each in given if each != "none"] if name in LISTS else none
    experiment = Experiment(arguments.run_file)
    if rules.get("score") and experiment.status()["direction"] == "minimize":
        raise UsageError(
            f"{arguments.run_file} seeks small answers: --maximize is for an experiment that seeks "
            "large ones"
        )
    experiment.change(
        arguments.sides,
        **rules,
        dropped=arguments.dropped,
        earlier=parse_pairs(arguments.earlier, "--earlier"),
        by=_author(arguments),
    )
    status = experiment.status()
    lines = columns((side.name, str(side)) for side in experiment.sides)
    return status, [*lines, *_rules(status), *_state(experiment)]


def _expect(arguments: argparse.Namespace) -> Output:
    experiment = Experiment(arguments.run_file)
    found, status = experiment.expect(parse_pairs(arguments.at)), experiment.status()
    unit = f" {status['unit']}" if status["unit"] else ""
    lines = [
        f"{status['answer'] or 'answer'} there: {_format_prediction(found, unit)}",
        _describe_scatter(found, unit),
        *describe_outcomes(found),
    ]
    if not found["possible"]:
        lines.append(f"this setting breaks a rule: {'; '.join(found['violates'])}")
    return found, lines


def _export(arguments: argparse.Namespace) -> Output:
    experiment = Experiment(arguments.run_file)
    check_outputs({"TABLE": arguments.table}, arguments.run_file)
    write_table(experiment, arguments.table, decimal_comma=arguments.decimal_comma)
    return {"table": arguments.table}, [f"notebook in {arguments.table}"]


def _list(arguments: argparse.Namespace) -> Output:
    found = experiments_in(arguments.run_file)
    rows = [["file", "answers", "to do", "best", "last changed", "title"]]
    for each in found:
        best = "" if each["best_answer"] is None else format_value(each["best_answer"])
        unit = f" {each['unit']}" if each["unit"] and best else ""
        n, m = str(each["n_answers"]), str(each["n_pending"])
        rows.append([each["file"], n, m, best + unit, each["changed"], each["title"]])
    lines = align_rows(rows) if found else [f"no experiment in {arguments.run_file}"]
    listed = [each["file"] for each in found]
    there = sorted(path.name for path in Path(arguments.run_file).glob(f"*{ENDING}"))
    if unread := [name for name in there if name not in listed]:
        lines.append(
            f"no experiments: {', '.join(map(to_one_line, unread))} (budgets are shown by "
            f"{program()} budget show FILE)"
        )
    return {"experiments": found, "unread": unread}, lines


def _check_tell(arguments: argparse.Namespace) -> None:
    """Refuse options of tell that contradict each other."""
    choices = {
        "an ANSWER": arguments.answer,
        "--failed": arguments.failed,
        "--skip": arguments.skip,
        "--data": arguments.data,
    }
    given = [name for name, value in choices.items() if value]
    if not given and arguments.measured and not arguments.correct:
        given = ["--measured"]  # a score is computed from it
    of_setting = arguments.correct and arguments.at and not given
    if len(given) != 1 and not of_setting:
        raise UsageError(
            f"tell takes one of {', '.join(choices)}; got {' and '.join(given) or 'none'}"
        )
    _check_skip(arguments)
    if arguments.by is not None and not arguments.correct:
        raise UsageError("--by is for --correct; who measured is told by --operator")
    if arguments.correct and (arguments.query is None or arguments.data):
        raise UsageError("--correct needs --query N, and an ANSWER, --failed or --at")
    if arguments.data and (arguments.query or arguments.at or arguments.noise):
        raise UsageError("--data cannot be combined with --query, --at or --noise")
    if arguments.skip and (arguments.at or arguments.noise or arguments.correct):
        raise UsageError(
            "--skip needs --query N, and cannot be combined with --at, --noise or --correct"
        )
    if arguments.data and _record(arguments):
        raise UsageError("--data cannot be combined with --note, --operator, --date or --measured")
    if arguments.failed and arguments.noise:
        raise UsageError("--noise needs an answer, and a failure has none")


def _check_skip(arguments: argparse.Namespace) -> None:
    if arguments.skip_outside and arguments.data is None:
        raise UsageError("--skip-outside is for --data")


def _undo(arguments: argparse.Namespace) -> Output:
    experiment = Experiment(arguments.run_file)
    entry = experiment.undo(by=_author(arguments))
    line = f"query {entry['query']}: {_outcome(entry)} is taken back"
    return {"undone": entry, **_state_entry(experiment)}, [line, *_state(experiment)]


def _show(arguments: argparse.Namespace) -> Output:
    experiment = Experiment(arguments.run_file)
    status, history = experiment.status(), experiment.history()
    lines = [f"{status['title'] or arguments.run_file}: {_goal(status)}"]
    lines += columns((side.name, str(side)) for side in experiment.sides)
    lines += _rules(status)
    if history:
        lines += ["", *_list_queries(experiment)]
    result = {**status, "history": history, "trade_offs": experiment.trade_offs()}
    return result, [*lines, "", *_state(experiment)]


def _history(arguments: argparse.Namespace) -> Output:
    experiment = Experiment(arguments.run_file)
    if not arguments.changes:
        history = experiment.history()
        return {"history": history}, _list_queries(experiment) if history else [
            "nothing was asked yet"
        ]
    changes = experiment.changes()
    head = ["when", "query", "what", "before", "after", "by"]
    none = ["nothing was corrected or taken back"]
    lines = align_rows([head, *map(describe_change, changes)]) if changes else none
    return {"changes": changes}, lines


def _list_queries(experiment: Experiment) -> list[str]:
    """Return lines with a table of all queries, the notes on them, and remarks on answers."""
    status, history = experiment.status(), experiment.history()
    names = [side.name for side in experiment.sides]
    limited = [name for name in experiment.counted if name != status["answer"]]
    rows = [
        [
            str(e["query"]),
            *(format_value(e["params"][name]) for name in names),
            _outcome(e),
            *(format_value(e["measured"].get(name, "")) for name in limited),
        ]
        for e in history
    ]
    lines = align_rows([["query", *names, status["answer"] or "answer", *limited], *rows])
    notes = [(e["query"], *_notes_line(e)) for e in history]
    lines += [f"query {number}: {text}" for number, *texts in notes for text in texts]
    for each in experiment.replicates():
        numbers = ", ".join(map(str, each["queries"]))
        lines.append(
            f"queries {numbers} are of one setting: {format_value(each['mean'])} on average, with "
            f"a standard deviation of {format_value(each['spread'], 3)}"
        )
    lines += [
        f"{status['block']} {each['block']}: {count(each['n_answers'], 'answer')}, "
        f"{describe_shift(each)} of all"
        for each in experiment.blocks()
    ]
    for each in experiment.questionable():
        text = f"query {each['query']}: {format_value(each['answer'])} is unusual"
        lines.append(f"{text}. {describe_surprise(each)}")
    return lines


def _best(arguments: argparse.Namespace) -> Output:
    check_confidence(arguments)
    experiment = Experiment(arguments.run_file)
    best = experiment.best(_lengths(arguments.side))
    if best is None:
        raise UsageError(
            f"{arguments.run_file} has no answer yet: ask, try what is asked, and tell its answer"
        )
    status = experiment.status()
    unit = f" {status['unit']}" if status["unit"] else ""
    top = best["best_answer"]
    lines = [
        f"recommended after {count(best['n_answers'], 'answer')}",
        *_setting(best["params"]),
        f"{status['answer'] or 'answer'} there: {_format_prediction(best, unit)}",
        *([best["beware"]] if best["beware"] else []),
        _describe_scatter(best, unit),
        *_block_shift(status, best, unit),
        *describe_preferred_query(best),
        *describe_outcomes(best),
        f"best answer {limits_remark(best)}so far: "
        f"{format_value(top['answer'])}{unit}, of query {top['query']}",
        *_best_compromises(experiment),
    ]
    if arguments.stop_within is None:
        return best, lines
    found = experiment.may_stop(arguments.stop_within, arguments.confidence)
    lines.append(found["why"])
    names = ("gap", "expected_gain", "enough", "why")
    return {**best, **{name: found[name] for name in names}}, lines


def _plot(arguments: argparse.Namespace) -> Output:
    picture = arguments.output or str(Path(arguments.run_file).with_suffix(".png"))
    experiment = Experiment(arguments.run_file)
    check_outputs({"--output": picture}, arguments.run_file)
    check_picture(picture, "--output")
    draw_experiment(experiment).savefig(picture, dpi=150)
    return {"picture": picture}, [f"picture in {picture}"]


# -- texts --------------------------------------------------------------------------------------


def _state_entry(experiment: Experiment) -> dict[str, Any]:
    """Return the pending queries and the recommendation after a change, for programs."""
    return {"pending": experiment.pending(), "best": experiment.best()}


def _rules(status: dict[str, Any]) -> list[str]:
    """Return a line for each rule: constraints, limits, score, block, range and costs."""
    has_score = status["score"] and not status["goals"]
    more = [f"the score is {status['score']}"] if has_score else []
    more += [f"results may be shifted by the {status['block']}"] if status["block"] else []
    if status["answer_range"]:
        ends = read_range(status["answer_range"])
        more.append(f"average results are {describe_limit(ends)}")
    for name, n in status["earlier_campaigns"].items():
        more.append(f"earlier campaign {name}: {count(n, 'answer')}, likeness is learned")
    if status["costs"]:
        more.append(f"an experiment costs {'; '.join(status['costs'])}")
    return [GAP + each for each in (*status["constraints"], *status["limits"], *more)]


def _best_compromises(experiment: Experiment) -> list[str]:
    """Return a line with the results that are Pareto optimal in the parts of the score.

    Return no line without a score of several parts, or without such results.
    """
    found = experiment.trade_offs()
    if found is None or not found["best"]:
        return []
    goals = [
        f"{'large' if is_large else 'small'} {name}"
        for name, is_large in zip(found["names"], found["larger_is_better"], strict=True)
    ]
    numbers = ", ".join(map(str, found["best"]))
    return [
        f"best compromises so far between {' and '.join(goals)}: queries {numbers}; they cover "
        f"{format_percent(found['hypervolume'])} of what lies between the worst and the best values"
    ]


def _block_shift(status: dict[str, Any], best: dict[str, Any], unit: str) -> list[str]:
    """Return a line with the standard deviation between blocks, or no line without blocks."""
    spread = best["between_blocks"]
    if spread is None:
        return []
    return [
        f"answers shift by {format_value(spread, 3)}{unit} from one {status['block']} to another "
        f"(standard deviation); what is expected is for an average {status['block']}"
    ]


def _state(experiment: Experiment) -> list[str]:
    """Return lines on the state of an experiment: counts, pending queries, recommendation."""
    status = experiment.status()
    counts = [count(status["n_answered"] + status["n_given"], "answer")]
    if status["n_failed"]:
        counts.append(count(status["n_failed"], "failure"))
    if status["n_skipped"]:
        counts.append(f"{status['n_skipped']} skipped")
    if status["spent"]:
        counts.append(f"spent {format_value(status['spent'])}")
    pending = [str(entry["query"]) for entry in status["pending"]]
    if pending:
        counts.append(f"pending: {', '.join(pending)}")
    lines = [", ".join(counts)]
    if (best := status["best"]) is not None:
        setting = ", ".join(
            f"{name} = {format_value(value)}" for name, value in best["params"].items()
        )
        lines.append(f"recommended so far: {setting}; {_format_prediction(best)}")
        lines += [best["beware"]] if best["beware"] else []
        lines += describe_outcomes(best)
    return lines


def _format_prediction(found: dict[str, Any], unit: str = "") -> str:
    """Write a prediction with its interval, to as many digits as its error allows."""
    numbers = found["mean"], *found["interval_95"]
    mean, low, high = (format_estimate(number, found["std"]) for number in numbers)
    return f"expected {mean}{unit} (95 %: {low} to {high})"


def _notes_line(entry: dict[str, Any]) -> list[str]:
    """Return the notes on a query as one line, or no line."""
    parts = [entry["note"], entry["operator"] and f"by {entry['operator']}"]
    parts += [f"{name} = {format_value(value)}" for name, value in entry["measured"].items()]
    if several := entry["measurements"]:
        parts.append(f"the mean of {', '.join(map(format_value, several))}")
    text = to_one_line("; ".join(filter(None, parts)))
    return [text] if text else []


def _describe_scatter(found: dict[str, Any], unit: str) -> str:
    """Write by how much repeated answers differ."""
    if found["scatter"] is None:
        return "how much repeated answers scatter is not known: nothing was repeated yet"
    size = f"{format_value(found['scatter'], 3)}{unit}"
    return f"repeated answers scatter by {size} (standard deviation{scatter_interval(found)})"


def _goal(status: dict[str, Any]) -> str:
    """Write the question of an experiment: where the answer is largest, or smallest."""
    answer, unit = status["answer"] or "answer", f" in {status['unit']}" if status["unit"] else ""
    if status["goals"]:
        return f"which are the best compromises between {' and '.join(status['goals'])}?"
    extreme = "smallest" if status["direction"] == "minimize" else "largest"
    average = "average " if status["regions"] else ""
    noise = "unknown" if status["noise"] is None else format_value(status["noise"])
    return f"where is the {average}{answer}{unit} {extreme}? (noise {noise})"


def _outcome(entry: dict[str, Any]) -> str:
    """Write the answer to a query, or the status of a query without an answer."""
    if entry["answer"] is None:
        return str(entry["status"])
    return format_value(entry["answer"]) + answer_remark(entry)


def _setting(params: dict[str, Any]) -> list[str]:
    return columns((name, format_value(value)) for name, value in params.items())


def columns(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return pairs of a name and a text as indented lines of two columns."""
    return [GAP + line for line in align_rows([list(pair) for pair in pairs])]


def align_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _lengths(texts: Sequence[str] | None) -> dict[str, float] | None:
    """Return the lengths of the sides of a region by names; None without --side."""
    if texts is None:
        return None
    pairs = parse_pairs(texts, "--side")
    try:
        return {name: float(text) for name, text in pairs.items()}
    except ValueError:
        raise UsageError(f"--side takes NAME=LENGTH, lengths being numbers, got {texts}") from None


def parse_pairs(texts: Sequence[str], option: str = "--at") -> dict[str, str]:
    """Split texts NAME=VALUE of an option into a dict."""
    pairs: dict[str, str] = {}
    for text in texts:
        try:
            name, value = split_pair(text)
        except ValueError:
            raise UsageError(f"{option} takes NAME=VALUE, got {text!r}") from None
        if name in pairs:
            raise UsageError(f"{option} has {name!r} twice")
        pairs[name] = value
    return pairs
