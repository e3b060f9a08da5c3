"""The privacy account of every row, with the answers, in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

import numpy as np


class PrivateAnswer(NamedTuple):
    r"""Answer of :class:`PrivateAverages`: a noisy average, its noise variance, and its cost.

    Attributes
    ----------
    average : float
        The average over the group, with noise.
    variance : float
        Variance of the noise; ``optimizer.tell(group, average, alpha=variance)``.
    rho : float
        Privacy loss of the rows of the group by this answer, in zCDP. Laplace noise that costs
        epsilon costs :math:`\epsilon^2 / 2`.
    """

    average: float
    variance: float
    rho: float


class Question(NamedTuple):
    """Question about the average of a group.

    Attributes
    ----------
    low, high : float
        Range to which the values are clipped.
    rows : bytes
        Digest of the sorted row numbers of the group.
    """

    low: float
    high: float
    rows: bytes

    @classmethod
    def from_rows(cls, low: float, high: float, rows: np.ndarray) -> Question:
        """Return the question about these rows (n,), whose numbers are sorted."""
        return cls(low, high, hashlib.sha256(rows.astype("<i8").tobytes()).digest())


class Account:
    """Privacy account of one process.

    Parameters
    ----------
    n_rows : int
        Number of rows.

    Attributes
    ----------
    spent : ndarray of shape (n_rows,)
        Budget spent on each row, in zCDP. Read it inside :meth:`exclusive` only.
    epsilons : ndarray of shape (n_rows,)
        The epsilon spent on each row with delta = 0; infinite after an answer with Gaussian noise.
    answers : dict
        Answers, by question.
    """

    def __init__(self, n_rows: int) -> None:
        self.spent: np.ndarray = np.zeros(n_rows)
        self.epsilons: np.ndarray = np.zeros(n_rows)
        self.answers: dict[Question, PrivateAnswer] = {}
        self._lock, self._process = Lock(), os.getpid()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock the account for this thread in a ``with`` block.

        Raises
        ------
        RuntimeError
            In a forked process: it has a copy of the account, and would spend the budget again.
        """
        if os.getpid() != self._process:
            raise RuntimeError(
                f"the budget of these PrivateAverages is counted in the process {self._process}, "
                f"and the process {os.getpid()} would spend it again: ask there, by threads if it "
                "is to be at the same time, or give all processes one ledger"
            )
        with self._lock:
            yield

    def spend(self, question: Question, rows: np.ndarray, rho: float, epsilon: float) -> None:
        """Charge the cost of an answer to its rows, before the answer is drawn."""
        self.spent[rows] += rho
        self.epsilons[rows] += epsilon

    def answered(self, question: Question, answer: PrivateAnswer) -> None:
        """Record the answer to the question of the last :meth:`spend`."""
        self.answers[question] = answer
