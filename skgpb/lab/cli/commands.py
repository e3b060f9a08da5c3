"""The parser of ``python -m skgpb``, and the exit status and error messages of its commands.

An error in the arguments is one line on stderr and exit status 2; if possible, it is found before
the first question is asked. An interrupt, or a pipe that is closed, is no error: the status is that
of a shell for the signal.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

import skgpb
from skgpb.lab.cli.arguments import UsageError

# cmd.exe leaves single quotes in the arguments, and splits at the blanks between them.
LEAVES_QUOTES = os.name == "nt"
# 128 plus the numbers of SIGINT and SIGPIPE.
INTERRUPTED, READER_GONE = 130, 141


class _Parser(argparse.ArgumentParser):
    """Parser whose errors are one line, without the usage."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"allow_abbrev": False})
        # Some versions of Python take an answer of -1e-5 for an option.
        self._negative_number_matcher = re.compile(r"-\.?\d|-inf|-nan", re.IGNORECASE)
        self._is_mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # argparse alone finds no ANSWER in "tell RUN --query 2 ANSWER": it decides before the first
        # option that an optional positional argument is missing.
        if self._subparsers is not None or self._is_mixing:
            return super().parse_known_args(args, namespace)
        self._is_mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False

    def error(self, message: str) -> NoReturn:
        from skgpb.lab.datasets.credentials import mask_addresses  # slow to import

        # The address of a database may follow an option that is misspelt.
        raise UsageError(f"{mask_addresses(message)} (see {self.prog} --help)")

    def _print_message(self, message: str, file: Any = None) -> None:
        # The inherited method ignores errors when help cannot be written.
        print(message, end="", file=file)


def import_commands(argv: list[str]) -> list[Any]:
    """Return the modules of the commands, in the order of --help; none for --version.

    Importing them takes a second. Each module has a function ``add_parser(commands)``, which sets
    the function of the command by ``parser.set_defaults(run=...)``. This function takes the
    arguments, and raises UsageError if they are wrong.
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
        0 after success, 2 if an argument or a file is wrong, 130 after an interrupt, 141 if
        standard output is a pipe that was closed.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of columns may have letters that the terminal cannot encode.
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
        _show_steps()
        arguments = _parser(argv).parse_args(argv)
        arguments.run(arguments)
    except UsageError as error:
        from skgpb.lab.datasets.credentials import mask_secrets  # slow to import

        # The address of a database may stand where a file or an answer belongs.
        _complain(f"error: {' '.join(mask_secrets(str(error), argv).split())}")
        return 2
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED
    except SystemExit as stop:  # --help and --version
        return int(stop.code or 0)
    return 0


def _show_steps() -> None:
    """Show on a terminal what the library does with thousands of past answers."""
    steps = logging.getLogger("skgpb.past")
    if sys.stderr is not None and sys.stderr.isatty() and not steps.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("skgpb: %(message)s"))
        steps.addHandler(handler)
        steps.setLevel(logging.INFO)


def _check_quotes(argv: list[str]) -> None:
    """Refuse arguments in single quotes if the shell does not remove these."""
    first = next((i for i, each in enumerate(argv) if each.startswith("'")), len(argv))
    last = next((each for each in argv[first:] if each.endswith("'")), None)
    if LEAVES_QUOTES and last is not None:
        raise UsageError(
            f"this shell takes single quotes for letters, got {argv[first]}: write double quotes"
        )


def _complain(message: str) -> None:
    """Print a message to stderr; if that fails, only the exit status reports the error."""
    if sys.stderr is None:
        return
    try:
        print(f"skgpb: {message}", file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Redirect a stream to os.devnull, because Python would flush it again at exit."""
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
