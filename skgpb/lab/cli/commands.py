"""The parser of ``python -m skgpb``, and what ends a command: a status, and a line if it is not 0.

Whatever is wrong with what the user gave is one line on stderr and exit status 2; it is found
before the first question is asked wherever that is possible. An interrupt and a reader that goes
away are no mistakes: the status is what a shell reports for the signal.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

import skgpb
from skgpb.lab.cli.arguments import UsageError

# cmd.exe leaves single quotes in the arguments, and splits at the blanks between them.
LEAVES_QUOTES = os.name == "nt"
# 128 and the numbers of SIGINT and SIGPIPE.
INTERRUPTED, READER_GONE = 130, 141


class _Parser(argparse.ArgumentParser):
    """Reports errors like every other one: a line, not the usage."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"allow_abbrev": False})
        # An answer of -1e-5 is no option, which some versions of Python take it for.
        self._negative_number_matcher = re.compile(r"-\.?\d|-inf|-nan", re.IGNORECASE)
        self._is_mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # By itself argparse has no ANSWER in "tell RUN --query 2 ANSWER": it gives an argument that
        # may be left out nothing before the first option.
        if self._subparsers is not None or self._is_mixing:
            return super().parse_known_args(args, namespace)
        self._is_mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False

    def error(self, message: str) -> NoReturn:
        from skgpb.lab.datasets.credentials import mask_addresses  # takes as long as commands

        # The address of a database may have come behind an option that is misspelt.
        raise UsageError(f"{mask_addresses(message)} (see {self.prog} --help)")

    def _print_message(self, message: str, file: Any = None) -> None:
        # The inherited one is silent where help cannot be written.
        print(message, end="", file=file)


def import_commands(argv: list[str]) -> list[Any]:
    """Return the modules of the commands, in the order of --help; none for the version alone.

    Importing them takes a second. Each has ``add_parser(commands)``, whose parser names what it
    runs: ``parser.set_defaults(run=function of the arguments)``. What is wrong is a UsageError.
    """
    if argv[:1] == ["--version"]:
        return []
    from skgpb.lab.cli import app, budget, demo, experiment, search

    return [search, demo, experiment, budget, app]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments without the program's name; None for those of the process.

    Returns
    -------
    status : int
        0, 2 where an argument or a file is wrong, 130 after an interrupt, 141 where standard
        output is a pipe that was closed.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names are the user's, and not every terminal has all letters.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run_command(list(sys.argv[1:] if argv is None else argv))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        _give_up(sys.stdout)
        if isinstance(error, BrokenPipeError):
            return READER_GONE
        _complain(f"error: cannot write the report: {error.strerror}")
        return 2


def _run_command(argv: list[str]) -> int:
    try:
        _check_quotes(argv)
        arguments = _parser(argv).parse_args(argv)
        arguments.run(arguments)
    except UsageError as error:
        from skgpb.lab.datasets.credentials import mask_secrets  # takes as long as commands

        # The address of a database may stand where a file or an answer belongs.
        _complain(f"error: {' '.join(mask_secrets(str(error), argv).split())}")
        return 2
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED
    except SystemExit as stop:  # --help and --version
        return int(stop.code or 0)
    return 0


def _check_quotes(argv: list[str]) -> None:
    """Refuse arguments between single quotes where the shell has left these."""
    first = next((i for i, each in enumerate(argv) if each.startswith("'")), len(argv))
    last = next((each for each in argv[first:] if each.endswith("'")), None)
    if LEAVES_QUOTES and last is not None:
        raise UsageError(
            f"this shell takes single quotes for letters, got {argv[first]}: write double quotes"
        )


def _complain(what: str) -> None:
    """Print an error to stderr; if that fails, only the exit status reports it."""
    if sys.stderr is None:
        return
    try:
        print(f"skgpb: {what}", file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Let the rest of a stream vanish: at the end Python would try to write it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _parser(argv: list[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="skgpb",
        description="Say what to measure next, and what is best, when every answer is an average "
        "or is noisy.",
    )
    parser.add_argument("--version", action="version", version=f"skgpb {skgpb.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for command in import_commands(argv):
        command.add_parser(commands)
    return parser
