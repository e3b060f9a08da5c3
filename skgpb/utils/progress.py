"""Progress of long runs: a bar of tqdm, lines, and events of the logger ``skgpb``.

>>> import logging
>>> logging.getLogger("skgpb").setLevel(logging.INFO)  # events of a run, in your log
>>> logging.getLogger("skgpb").setLevel(logging.NOTSET)

Every answer is an event of level INFO, every failed evaluation one of level WARNING. The steps of
taking a thousand past answers or more are events of its child ``skgpb.past``. Nothing is printed
unless ``progress`` or ``verbose`` asks for it or the program logs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Any, Self

import numpy as np

from skgpb.utils.install import needs

logger: logging.Logger = logging.getLogger("skgpb")
# Warnings of a library must not be printed if a program has set up no logging.
logger.addHandler(logging.NullHandler())

# Format: number of lines of a run with verbose=1.
LINES = 10
# Speed: number of answers from which on taking them together may last a second.
LOGGED_FROM = 1000


def log_step(n: int, step: str) -> None:
    """Log the next step of taking n answers together, or of loading them, if that may last."""
    if n >= LOGGED_FROM:
        logger.getChild("past").info("%d answers: %s", n, step)


class Progress:
    """Progress of a run; a context manager, so that a bar ends with it.

    Parameters
    ----------
    name : str
        Name of the run.
    total : float
        Number of evaluations, or their maximum cost.
    unit : str, default="query"
        Unit of ``total``.
    spent : callable, default=None
        Returns the amount of ``total`` that is done; None counts the answers.
    bar : bool, default=False
        Whether to show a bar of tqdm.
    verbose : int, default=0
        1 prints ten lines, 2 one for every answer.
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
        self._unit, self._tqdm, self._bar = unit, tqdm_class() if bar else None, None
        self._verbose, self._better = int(verbose), min if minimize else max
        self._n = self._failed = self._printed = 0
        self._best: float | None = None

    def __enter__(self) -> Self:
        """Start the bar and log the beginning."""
        if self._tqdm is not None:
            self._bar = self._tqdm(total=self._total, unit=self._unit)
        self._began = monotonic()
        logger.info("%s begins, %g to go", self._name, self._total)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """Close the bar and log the end, with or without an error."""
        if self._bar is not None:
            self._bar.close()
        how = "ends" if kind is None else f"was ended by {kind.__name__}"
        logger.info("%s %s after %d evaluations, %d failed", self._name, how, self._n, self._failed)

    def record(self, reward: Any, error: str | None = None, *, beyond: bool = False) -> None:
        """Record one answer, or None and the reason of the failure.

        Parameters
        ----------
        reward : float, array-like of floats or None
            Answer; the sum for several campaigns.
        error : str, default=None
            Reason why there is no answer.
        beyond : bool, default=False
            Whether it is beyond a limit, and cannot be the best.
        """
        self._n += 1
        last = "failed"
        if reward is None:
            self._failed += 1
            logger.warning("%s: an evaluation failed: %s", self._name, error or "told as failed")
        elif np.isnan(values := np.asarray(reward, dtype=np.float64)).all():
            last = "no rows"
        else:
            value = float(np.nansum(values))
            if not beyond:
                self._best = value if self._best is None else self._better(self._best, value)
            last = f"{value:.6g}"
        best = "" if self._best is None else f"  best {self._best:.6g}"
        failed = f"  failed {self._failed}" if self._failed else ""
        text = f"last {last}{best}{failed}"
        done = self._n if self._spent is None else self._spent()
        line = f"{self._name}  {done:g}/{self._total:g}  {text}"
        if reward is not None:
            logger.info(line)
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update(min(done, self._total) - self._bar.n)
        reached = int(LINES * min(1.0, done / self._total))
        if self._verbose > 1 or (self._verbose and reached > self._printed):
            self._printed = reached
            print(f"{line}  {timedelta(seconds=round(monotonic() - self._began))}", flush=True)


def tqdm_class() -> Any:
    """Return the bar of tqdm for the place where it is shown: a terminal or a notebook."""
    with needs("progress=True", "tqdm", "progress", ", or use verbose=1"):
        from tqdm.auto import tqdm
    return tqdm
