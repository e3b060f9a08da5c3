"""Progress of long runs: a bar, a line, and events of the logger ``skgpb``.

>>> import logging
>>> logging.getLogger("skgpb").setLevel(logging.INFO)  # what a run says, to where you log
>>> logging.getLogger("skgpb").setLevel(logging.NOTSET)

Every answer is an event of level INFO, every failed evaluation one of level WARNING. Nothing is
printed unless ``verbose`` asks for it or the program logs.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Any, Self

import numpy as np

from skgpb._install import install_command

logger: logging.Logger = logging.getLogger("skgpb")
# Warnings of a library must not be printed where a program has set up no logging.
logger.addHandler(logging.NullHandler())

# Number of progress lines of a run, if a line cannot be overwritten.
LINES = 10


class Progress:
    """Follow a run; a context manager, so that a bar or a line ends with it.

    Parameters
    ----------
    name : str
        Name of the run.
    total : float
        Number of evaluations, or their maximum cost.
    unit : str, default="query"
        Unit of ``total``.
    spent : callable, default=None
        Returns how much of ``total`` is done; None counts what is told.
    bar : bool, default=False
        Whether to show a bar of tqdm.
    verbose : int, default=0
        1 prints one line that is written over, or ten lines where the output is no terminal; 2
        prints a line for every answer.
    minimize : bool, default=False
        Whether the smallest answer is the best.
    """

    def __init__(
        self,
        name: str,
        total: float,
        unit: str = "query",
        *,
        spent: Callable[[], float] | None = None,
        bar: bool = False,
        verbose: int = 0,
        minimize: bool = False,
    ) -> None:
        self._name, self._total, self._spent = name, total, spent
        self._verbose, self._sign = int(verbose), -1.0 if minimize else 1.0
        self._n = self._failed = self._printed = 0
        self._best, self._width = -inf, 0
        self._unit, self._bar = unit if bar else None, None

    def __enter__(self) -> Self:
        """Begin."""
        if self._unit is not None:
            self._bar = progress_bar(self._total, self._unit)
        self._began = monotonic()
        logger.info("%s begins, %g to go", self._name, self._total)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """End, however it ends."""
        if self._bar is not None:
            self._bar.close()
        if self._width:
            print()
        how = "ends" if kind is None else f"was ended by {kind.__name__}"
        logger.info("%s %s after %d evaluations, %d failed", self._name, how, self._n, self._failed)

    def told(self, reward: Any, error: str | None = None) -> None:
        """Record one answer, or None and the reason of the failure.

        Parameters
        ----------
        reward : float, array-like of floats or None
            The answer; of several campaigns the sum counts.
        error : str, default=None
            Reason why there is no answer.
        """
        self._n += 1
        if reward is None:
            self._failed += 1
            logger.warning("%s: an evaluation failed: %s", self._name, error or "told as failed")
        if self._bar is not None:
            self._bar.update(min(self._done, self._total) - self._bar.n)
        if not self._verbose and not logger.isEnabledFor(logging.INFO):
            return
        last = "failed"
        if reward is not None:
            values = np.asarray(reward, dtype=np.float64)
            value, last = float(np.nansum(values)), "no rows"
            if not np.isnan(values).all():
                self._best, last = max(self._best, self._sign * value), f"{value:.6g}"
        best = "" if self._best == -inf else f"  best {self._sign * self._best:.6g}"
        failed = f"  failed {self._failed}" if self._failed else ""
        line = f"{self._name}  {self._done:g}/{self._total:g}  last {last}{best}{failed}"
        if reward is not None:
            logger.info(line)
        if self._verbose:
            self._print(f"{line}  {self._times()}")

    @property
    def _done(self) -> float:
        return self._n if self._spent is None else self._spent()

    def _times(self) -> str:
        """Return the elapsed time, and the remaining time at this pace."""
        passed, done = monotonic() - self._began, self._done
        if not 0.0 < done < self._total:
            return clock(passed)
        return f"{clock(passed)}, {clock(passed * (self._total / done - 1.0))} left"

    def _print(self, line: str) -> None:
        if self._verbose == 1 and sys.stdout.isatty():
            print("\r" + line.ljust(self._width), end="", flush=True)
            self._width = max(self._width, len(line))
            return
        reached = int(LINES * min(1.0, self._done / self._total))
        if self._verbose > 1 or reached > self._printed:
            self._printed = reached
            print(line, flush=True)


def clock(seconds: float) -> str:
    """Write a time as hours, minutes and seconds, without leading hours of zero.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    text : str

    Examples
    --------
    >>> clock(75.2), clock(3 * 3600)
    ('1:15', '3:00:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def progress_bar(total: float, unit: str = "query") -> Any:
    """Return a bar of tqdm.

    Parameters
    ----------
    total : float
        Value at which the bar is full.
    unit : str, default="query"
        Unit of the values.

    Returns
    -------
    bar : tqdm
    """
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "progress=True needs tqdm, which is not installed: "
            f"{install_command('progress')}, or use verbose=1"
        ) from error
    return tqdm(total=total, unit=unit)
