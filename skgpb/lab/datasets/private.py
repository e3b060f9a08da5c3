r"""Averages over groups of rows, within a budget of differential privacy.

The value of one row is protected: two columns are *neighbours* if they differ in one
row, whose value may be anything within the range. The rows themselves, and the rows of each group,
are public. Between neighbours an average over n rows changes by at most ``range / n``, and only if
the group contains the row. So the privacy loss of a row is the sum over the answers about groups
that contain it, and each row has a budget of its own: questions about disjoint groups cost no more
than one of them ([McSherry2009]_, and [Feldman2021]_ if the questions depend on previous answers,
as here).

References
----------
.. [McSherry2009] F. McSherry, "Privacy Integrated Queries", SIGMOD 2009.
.. [Feldman2021] V. Feldman and T. Zrnic, "Individual Privacy Accounting via a Renyi Filter",
   NeurIPS 2021.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from sklearn.utils import check_random_state

from skgpb.exceptions import PrivacyBudgetError
from skgpb.lab.datasets.account import Account, PrivateAnswer, Question
from skgpb.lab.datasets.accounting import (
    SLACK,
    RandomIntegers,
    discrete_gaussian,
    discrete_laplace,
    epsilon_of,
    rho_of,
)
from skgpb.lab.datasets.ledger import PrivacyLedger
from skgpb.utils.typing import Seed, SupportsArray, Values
from skgpb.utils.validation import Integral, check_numbers, is_number

__all__ = ["PrivateAverages"]

# Values are rounded to this many steps of their range, so that sums are exact integers.
STEPS = 2**20
# The budget of a row counts as spent if less than this share is left.
SPENT_SHARE = 1e-3
# Largest standard deviation of the noise of an answer, in ranges.
MOST_NOISE = 1e9


class PrivateAverages:
    r"""Averages over groups of rows with the noise that differential privacy needs.

    All answers together are (epsilon, delta)-differentially private with respect to the value of
    one row, for any questions in any order, which may depend on previous answers. A repeated
    question gets the same answer at no cost.

    Parameters
    ----------
    values : array-like of shape (n,)
        The column to protect.
    target_range : (low, high)
        Range of possible values. It is public, so it must be known independently of the column,
        never from its smallest and largest value. Values beyond the range are clipped to its ends.
    epsilon : float
        The budget for all questions, greater than 0.
    delta : float, default=0
        At least 0, and far less than 1 / n. With 0 the noise is that of Laplace, and the epsilons
        of answers add up. Otherwise the noise is Gaussian, and the amounts of zCDP of answers add
        up. ``delta=1e-6`` needs less noise than 0 if there are more than ten answers about a row.
    min_members : int, default=1
        Fewest rows of a group; smaller groups are refused. Larger groups cost less, see Notes.
    random_state : int, RandomState instance or None, default=None
        None for the operating system's entropy. Anybody who knows another ``random_state`` can
        reproduce the noise and subtract it: **nothing is private then** unless it is kept as secret
        as the column. It must be None with a ledger.
    ledger : PrivacyLedger, default=None
        The account, in a file that survives this object. ``epsilon`` is then the budget for all
        questions ever asked with the ledger, and part of it may be spent; ``values`` is the column
        of all rows of the ledger's table, in their order. None for an account of this object alone.

    Attributes
    ----------
    budget : float
        The budget of each row: ``epsilon`` if delta is 0, otherwise in zero-concentrated
        differential privacy (zCDP), see :func:`rho_of`.
    spent_ : ndarray of shape (n,)
        Part of ``budget`` spent on every row; with a ledger, by all searches that share it.
    epsilon_spent_ : float
        The largest entry of ``spent_``, converted to epsilon at ``delta``.
    n_answers : int
        Number of different groups with an answer; with a ledger, from all searches that share it.

    Notes
    -----
    *Cost of an answer.* Without ``share`` the average over n rows costs :math:`1 / k` of the
    remaining budget of its rows if delta is 0, otherwise :math:`1 / k^2`, where k is n /
    ``min_members`` rounded down. The noise is then about the same at all sizes, and the smallest
    groups get most of the budget.

    *Noise.* Values are rounded to :math:`2^{20}` steps of the range. Their sum is an exact integer,
    and so is the noise, a discrete Laplace or Gaussian variable drawn without floating-point
    numbers [Canonne2020]_: the last digits of an answer reveal nothing. The time of a draw, and the
    memory of the process, are not protected.

    *Copies.* Threads may share one object. It cannot be copied or pickled, and it does not answer
    in a forked process: a copy would spend the same budget again. Processes share a
    :class:`PrivacyLedger`: each may have an object with it, by a fork or of its own.

    *Repeated searches.* Another object for the same rows, or another run of a program, spends
    another budget: two objects of epsilon 1 promise epsilon 2. With a ledger the second object has
    the budget that the first has left. Settle the total before you see an answer: if you raise the
    budget because of answers, the promise is that of the highest budget you might have chosen.

    *Accounting.* An answer with noise of standard deviation s on the average costs
    :math:`(range / n) \sqrt{2} / s` of epsilon if the noise is that of Laplace, and
    :math:`(range / n)^2 / (2 s^2)` in zCDP if it is Gaussian; see :func:`rho_of` for the total.

    *A ledger with both kinds of noise.* With delta above 0 answers with Laplace noise count as
    well, with :math:`\epsilon^2 / 2` in zCDP. With delta = 0 a ledger with answers that have
    Gaussian noise is refused.

    References
    ----------
    .. [Canonne2020] C. L. Canonne, G. Kamath and T. Steinke, "The Discrete Gaussian for
       Differential Privacy", NeurIPS 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.lab.datasets import PrivateAverages
    >>> income = np.linspace(20.0, 80.0, 1000)
    >>> office = PrivateAverages(income, (0, 100), epsilon=1, min_members=100)
    >>> group = np.arange(500, 1000)
    >>> answer = office.answer(group)
    >>> bool(abs(answer.average - 65.0) < 20 * answer.variance**0.5)
    True
    >>> office.answer(group) == answer  # the same question has the same answer, at no cost
    True
    """

    epsilon: float
    delta: float
    min_members: int

    def __init__(
        self,
        values: Values,
        target_range: tuple[float, float],
        *,
        epsilon: float,
        delta: float = 0.0,
        min_members: int = 1,
        random_state: Seed = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        self._low, self._high = check_range(target_range)
        self.budget: float = row_budget(epsilon, delta)
        whole = isinstance(min_members, Integral) and not isinstance(min_members, bool)
        if not (whole and min_members >= 1):
            raise ValueError(f"min_members must be a whole number >= 1, got {min_members!r}")
        values = check_numbers(values, "values", ensure_2d=False)
        if values.ndim != 1:
            raise ValueError(f"values must be one column of shape (n,), got {values.shape}")
        shares = (np.clip(values, self._low, self._high) - self._low) / (self._high - self._low)
        self._steps = np.rint(shares * STEPS).astype(np.int64)
        self.epsilon, self.delta, self.min_members = float(epsilon), float(delta), int(min_members)
        self._account = Account(len(values)) if ledger is None else ledger
        if ledger is not None:
            self._check_ledger(ledger, random_state)
        self._random = random_source(random_state)

    def _check_ledger(self, ledger: PrivacyLedger, random_state: Any) -> None:
        """Raise an error for a ledger with which the privacy guarantee would not hold."""
        if not isinstance(ledger, PrivacyLedger):
            raise TypeError(f"ledger must be a PrivacyLedger or None, got {ledger!r}")
        if random_state is not None:
            raise ValueError(
                "random_state must be None with a ledger: the next process would draw the same "
                "noise again, and the difference of two answers would have none"
            )
        if len(self._steps) != ledger.n_rows:
            raise ValueError(
                f"values must have all {ledger.n_rows} rows of the table of the ledger, even if "
                f"only some of them are asked about; got {len(self._steps)}"
            )
        if math.isinf(self.spent_.max()):
            raise PrivacyBudgetError(
                f"delta must be > 0 with the ledger {str(ledger.path)!r}: it has answers with "
                "Gaussian noise, which promises nothing at delta=0"
            )
        if self.spent_.max() > self.budget * (1.0 + SLACK):
            raise PrivacyBudgetError(
                f"epsilon={self.epsilon:g} at delta={self.delta:g} is the budget for all questions "
                f"with the ledger {str(ledger.path)!r}, but epsilon={self.epsilon_spent_:.4g} is "
                "spent already"
            )

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or sent to another process."""
        raise TypeError(
            "PrivateAverages cannot be copied, because a copy would have a budget of its own: "
            "use it in one process"
        )

    def answer(
        self, group: Sequence[int] | SupportsArray, share: float | None = None
    ) -> PrivateAnswer:
        """Return the noisy average over a group, if the budget allows.

        Parameters
        ----------
        group : Cell or array-like of int, shape (m,)
            A group of a pool, or the numbers of its rows.
        share : float, default=None
            Fraction of the remaining budget of its rows to spend, > 0 and <= 1. It must depend on
            the values through previous answers only. None for a share that depends on the size of
            the group, see Notes.

        Returns
        -------
        answer : PrivateAnswer

        Raises
        ------
        PrivacyBudgetError
            If the remaining budget of a row is too small. Nothing is spent.
        RuntimeError
            In a forked process, without a ledger.
        OSError
            If the ledger cannot be read or written. There is no answer then.
        ValueError
            For a group with too few rows, with a row twice, or with rows that do not exist.
        """
        rows = self._rows(group)
        if not (share is None or (is_number(share) and 0.0 < share <= 1.0)):
            raise ValueError(f"share must be None or a number > 0 and <= 1, got {share!r}")
        question = Question.from_rows(self._low, self._high, rows)
        with self._account.exclusive():
            previous = self._account.answers.get(question)
            return previous or self._new_answer(question, rows, share)

    def _new_answer(
        self, question: Question, rows: np.ndarray, share: float | None
    ) -> PrivateAnswer:
        """Answer a new question; the caller holds the lock of the account."""
        scale = self._scale(rows, share)
        if scale is None:
            raise PrivacyBudgetError(
                f"the privacy budget of epsilon={self.epsilon:g} at delta={self.delta:g} is spent "
                f"for some of the {len(rows)} rows of the group"
            )
        rho, epsilon = STEPS**2 / (2 * scale**2), math.inf if self.delta else STEPS / scale
        # Spend before drawing: an interrupt in between loses the answer, not the guarantee.
        self._account.spend(question, rows, rho, epsilon)
        noise = discrete_gaussian if self.delta else discrete_laplace
        noisy = int(self._steps[rows].sum()) + noise(scale, self._random)
        unit = (self._high - self._low) / STEPS / len(rows)
        variance = (1.0 if self.delta else 2.0) * (unit * scale) ** 2
        answer = PrivateAnswer(self._low + unit * noisy, variance, rho)
        self._account.answered(question, answer)
        return answer

    def affords(self, group: Sequence[int] | SupportsArray) -> bool:
        """Return whether a group would be answered, by a previous answer or within the budget.

        Parameters
        ----------
        group : Cell or array-like of int, shape (m,)
            As for :meth:`answer`.

        Returns
        -------
        affords : bool
        """
        rows = self._rows(group)
        with self._account.exclusive():
            question = Question.from_rows(self._low, self._high, rows)
            return question in self._account.answers or self._scale(rows) is not None

    @property
    def spent_(self) -> np.ndarray:
        """Budget spent on every row, shape (n,)."""
        with self._account.exclusive():
            return self._spending.copy()

    @property
    def n_answers(self) -> int:
        """Number of different groups with an answer."""
        with self._account.exclusive():
            return len(self._account.answers)

    @property
    def epsilon_spent_(self) -> float:
        """The largest entry of ``spent_``, converted to epsilon at ``delta``."""
        spent = float(self.spent_.max())
        return epsilon_of(spent, self.delta) if self.delta else spent

    @property
    def _spending(self) -> np.ndarray:
        """Budget spent on every row, (n,): the array of the account, not a copy."""
        return self._account.spent if self.delta else self._account.epsilons

    def _rows(self, group: Any) -> np.ndarray:
        """Return the sorted row numbers of a group, after checking them."""
        rows = np.asarray(getattr(group, "members", group))
        if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
            raise ValueError(
                "a group must be a cell of a pool or a one-dimensional array of row numbers, got "
                f"an array of {rows.dtype} of shape {rows.shape}"
            )
        n = len(self._steps)
        rows = np.sort(rows.astype(np.int64))
        if len(rows) and (rows[0] < 0 or rows[-1] >= n):
            raise ValueError(f"rows must be from 0 to {n - 1}, got {rows[0]} to {rows[-1]}")
        if (rows[1:] == rows[:-1]).any():
            raise ValueError("a group must not contain a row twice")
        if len(rows) < self.min_members:
            raise ValueError(
                f"a group must have at least min_members={self.min_members} rows, got {len(rows)}"
            )
        return rows

    def _scale(self, rows: np.ndarray, share: float | None = None) -> int | None:
        """Return the scale of the noise of the next answer, in steps of the sum.

        It is the standard deviation of Gaussian noise, or the scale of Laplace noise. Return None
        if the budget is too small.
        """
        left = self.budget - float(self._spending[rows].max())
        power = 2 if self.delta else 1
        cost = left * (1.0 / (len(rows) // self.min_members) ** power if share is None else share)
        if left <= SPENT_SHARE * self.budget or cost * MOST_NOISE**power < 1.0:
            return None
        return math.ceil(STEPS / (math.sqrt(2.0 * cost) if self.delta else cost))


def row_budget(epsilon: float, delta: float) -> float:
    """Return the budget of a row: ``epsilon`` if delta is 0, otherwise an amount of zCDP."""
    if is_number(delta) and delta == 0.0:
        if not (is_number(epsilon) and 0.0 < epsilon < math.inf):
            raise ValueError(f"epsilon must be a finite number > 0, got {epsilon!r}")
        return float(epsilon)
    return rho_of(epsilon, delta)


def check_range(target_range: Any) -> tuple[float, float]:
    """Return the range as two floats; raise ValueError unless low < high and both are finite."""
    try:
        low, high = (float(x) for x in target_range)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (low < high and math.isfinite(high - low)):
        raise ValueError(
            "target_range must be two finite numbers (low, high) with low < high, got "
            f"{target_range!r}"
        )
    return low, high


def random_source(random_state: Any) -> RandomIntegers:
    """Return the operating system's random numbers, or reproducible ones with a random state."""
    if random_state is None:
        return random.SystemRandom()
    return random.Random(int(check_random_state(random_state).randint(np.iinfo(np.int32).max)))
