"""Arguments that several commands share, conversions, and error messages."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from inspect import signature
from typing import Any

LARGEST_SEED = 2**32 - 1
CONFIDENCE = 0.95


class UsageError(Exception):
    """An argument of the user is wrong; the message is one line."""


def select_arguments(function: Callable[..., Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments with the names of parameters of a function or a class."""
    names = signature(function).parameters
    return {name: value for name, value in vars(arguments).items() if name in names}


def add_common(parser: Any, output: str | None, plot: str | None) -> None:
    """Add the options of every search; ``output`` and ``plot`` are default names of files."""

    def default_text(default: str | None) -> str:
        return f" (default: {default})" if default else ""

    add_seed(parser, "seeds the noise and the search")
    parser.add_argument(
        "--output",
        default=output,
        metavar="FILE",
        help="write the result as JSON" + default_text(output),
    )
    parser.add_argument(
        "--plot", default=plot, metavar="FILE", help="draw a map, e.g. map.png" + default_text(plot)
    )


def add_seed(parser: Any, effect: str) -> None:
    """Add the option --seed; ``effect`` is its help."""
    kind, text = whole(0, LARGEST_SEED), f"{effect} (default: 0)"
    parser.add_argument("--seed", type=kind, default=0, metavar="SEED", help=text)


def whole(least: int, largest: int | None = None) -> Callable[[str], int]:
    """Return a converter of texts to whole numbers from ``least`` to ``largest``."""
    limits = f"a whole number >= {least}" + (f" and <= {largest}" if largest is not None else "")

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least or (largest is not None and value > largest):
            raise argparse.ArgumentTypeError(f"must be {limits}, got {text!r}")
        return value

    return convert


def rows_or_share(text: str) -> int | float:
    """Convert a text to a whole number of rows, or one such as "1%" to a share of the rows."""
    stripped = text.strip()
    try:
        if not stripped.endswith("%"):
            return whole(1)(text)
        share = float(stripped[:-1]) / 100.0
    except (ValueError, argparse.ArgumentTypeError):
        share = math.nan
    if not 0.0 < share <= 1.0:
        raise argparse.ArgumentTypeError(
            f"must be a whole number >= 1, or a share such as 1%, got {text!r}"
        )
    return share


def _number(holds: Callable[[float], bool], kind: str) -> Callable[[str], float]:
    """Return a converter of texts to numbers for which ``holds`` is true.

    ``kind`` describes these numbers in error messages.
    """

    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not holds(value):
            raise argparse.ArgumentTypeError(f"must be {kind}, got {text!r}")
        return value

    return convert


# The square must be finite too, because a standard deviation becomes a variance.
not_negative: Callable[[str], float] = _number(
    lambda x: x >= 0.0 and math.isfinite(x * x), "a finite number >= 0"
)
positive: Callable[[str], float] = _number(lambda x: 0.0 < x < math.inf, "a finite number > 0")
share: Callable[[str], float] = _number(lambda x: 0.0 < x < 1.0, "a number > 0 and < 1")


def add_stop(parser: Any) -> None:
    """Add the options that stop a search before its budget is spent."""
    parser.add_argument(
        "--stop-within",
        type=positive,
        metavar="W",
        help="stop once the recommendation is within W of the best, in units of the answers "
        "(default: use the whole --budget)",
    )
    add_confidence(parser)


def add_confidence(parser: Any) -> None:
    """Add the option --confidence."""
    parser.add_argument(
        "--confidence",
        type=share,
        metavar="P",
        help=f"with which probability --stop-within is to be true (default: {CONFIDENCE})",
    )


def check_confidence(arguments: argparse.Namespace) -> None:
    """Refuse --confidence without --stop-within; set the default confidence."""
    if arguments.confidence is None:
        arguments.confidence = CONFIDENCE
    elif arguments.stop_within is None:
        raise UsageError("--confidence is for --stop-within")
