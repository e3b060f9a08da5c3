"""Code shared by the fuzz tests: number of cases, time limit, allowed outcomes."""

from __future__ import annotations

import faulthandler
import linecache
import os
import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings

#: Cases of each kind, shared by the estimators that are tried.
EXAMPLES = int(os.environ.get("SKGPB_FUZZ_EXAMPLES", "500"))
# Seconds of the processor that a case may take, so that a busy machine does not fail it, and
# seconds on the wall after which even a deadlock or a loop in C ends the process.
PATIENCE, LAST_PATIENCE = 20.0, 300.0
# File for the description of the running case, and the traceback of a hang; conftest.py sets it.
LAST_CASE = Path(os.devnull)
STDERR = 2


def fuzz_settings(n_shares: int, **more: Any) -> settings:
    """Settings of one of ``n_shares`` tests that share the cases of a kind."""
    return settings(
        max_examples=-(-EXAMPLES // n_shares),
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        **more,
    )


class UsersError(Exception):
    """Error that the user's functions raise here; it may propagate unchanged."""


class _Hang(BaseException):
    """Raised by the alarm; no handler of errors in the library catches it."""


def _alarm(number: int, frame: Any) -> None:
    raise _Hang


@contextmanager
def patience(description: object) -> Iterator[None]:
    """Fail what takes too long; warnings are for users, not for here."""
    LAST_CASE.write_text(f"{description}\n")
    before = signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    faulthandler.dump_traceback_later(LAST_PATIENCE, exit=True, file=STDERR)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    except _Hang as hang:
        raise AssertionError(f"{description} took more than {PATIENCE:g} s") from hang
    except Exception as error:
        error.add_note(f"Case: {description}")
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
        faulthandler.cancel_dump_traceback_later()


def on_purpose(error: BaseException) -> bool:
    """Return whether an error is a refusal: a documented class, a message, a ``raise``.

    One that NumPy or SciPy raises, or that an expression of the library happens to raise, says
    nothing to its user, whatever its class is. Checks of scikit-learn name what they refuse.
    """
    if isinstance(error, UsersError):
        return True
    if not isinstance(error, (ValueError, TypeError)) or not str(error):
        return False
    frame = traceback.extract_tb(error.__traceback__)[-1]
    parts = Path(frame.filename).parts
    if "sklearn" in parts:
        return True
    line = linecache.getline(frame.filename, frame.lineno or 0)
    return "skgpb" in parts and line.lstrip().startswith("raise ")


@contextmanager
def refusals() -> Iterator[None]:
    """Let refusals pass; every other error is a finding."""
    try:
        yield
    except Exception as error:
        if not on_purpose(error):
            raise


def check_finite(values: Any) -> None:
    """Fail on NaN and infinities in arrays, numbers and sequences of them."""
    for value in values if isinstance(values, (list, tuple)) else [values]:
        array = np.asarray(value, dtype=np.float64)
        assert np.isfinite(array).all(), f"not finite: {array}"
