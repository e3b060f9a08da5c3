"""What commands take: arguments that several share, conversions, and how a mistake is said."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

LARGEST_SEED = 2**32 - 1
CONFIDENCE = 0.95


class UsageError(Exception):
    """Something the user gave is wrong; the message is one line."""


def add_common(parser: argparse.ArgumentParser, output: str | None, plot: str | None) -> None:
    """Add what every search takes, with the names of files that are written unless others are."""

    def shown(default: str | None) -> str:
        return f" (default: {default})" if default else ""

    parser.add_argument(
        "--seed",
        type=whole(0, LARGEST_SEED),
        default=0,
        metavar="SEED",
        help="seeds the noise and the search (default: 0)",
    )
    parser.add_argument(
        "--output", default=output, metavar="FILE", help="write the result as JSON" + shown(output)
    )
    parser.add_argument(
        "--plot", default=plot, metavar="FILE", help="draw a map, e.g. map.png" + shown(plot)
    )


def whole(least: int, largest: int | None = None) -> Callable[[str], int]:
    """Return a conversion to whole numbers within limits."""
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


def not_negative(text: str) -> float:
    """Convert to a number whose square is finite too."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (0.0 <= value < math.inf and math.isfinite(value * value)):
        raise argparse.ArgumentTypeError(f"must be a finite number >= 0, got {text!r}")
    return value


def add_stop(parser: argparse.ArgumentParser) -> None:
    """Add when enough is known."""
    parser.add_argument(
        "--stop-within",
        type=positive,
        metavar="W",
        help="ask no more once what is recommended is within W of the best, in units of the "
        "answers (default: ask as often as --budget says)",
    )
    add_confidence(parser)


def add_confidence(parser: argparse.ArgumentParser) -> None:
    """Add how sure that is to be."""
    parser.add_argument(
        "--confidence",
        type=share,
        default=CONFIDENCE,
        metavar="P",
        help="with which probability --stop-within is to be true (default: %(default)s)",
    )


def share(text: str) -> float:
    """Convert to a number between zero and one."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"must be a number > 0 and < 1, got {text!r}")
    return value


def positive(text: str) -> float:
    """Convert to a finite number above zero."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a finite number > 0, got {text!r}")
    return value
