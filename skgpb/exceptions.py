"""Every warning and error class that skgpb raises of its own."""

from __future__ import annotations


class NumericalWarning(RuntimeWarning):
    """Digits were lost: jitter was added, a variance clipped, or means are less exact than said.

    The message says how much. The policy, in one sentence: the smallest of 1e-10, 1e-9, ...,
    1e-4 times the largest prior variance that makes the factorisation succeed is added to the
    noise variance of the observations concerned; beyond 1e-4 ``numpy.linalg.LinAlgError`` is
    raised and nothing is changed. What is too little grows with what rounding did to variances
    so far. Where the smallest is too little, all observations with less noise take part.

    It covers what the prior knows for certain, as f(0) under ``DotProduct(0.0)``: answers with
    noise change nothing there, exact ones take jitter, and where no prior variance is above
    zero, or above what floating-point numbers can divide by, exact answers are refused.

    Variances are clipped at zero in silence within 1e-6 of the largest prior variance, and means
    may be moved by rounding in silence by 1e-6 prior deviations or ten of their own.
    """


class RefinementWarning(UserWarning):
    """A partition is refined no further, to keep the tree affordable or because it was told so."""


class BudgetWarning(UserWarning):
    """More evaluations were asked for than the constants of an algorithm are meant for."""


class AllocationWarning(UserWarning):
    """An allocation was told that costs more than the budget; its answers were taken."""


class EvaluationWarning(UserWarning):
    """Some evaluations of an objective failed; the run went on without them."""


class LearningWarning(UserWarning):
    """Learning hyperparameters failed; the answer was taken and those in use were kept."""


class ModelWarning(UserWarning):
    """Answers contradict the model of f. The message says how, and what skgpb does about it."""


class PendingWarning(UserWarning):
    """A query that ``ask`` returned several times is told several times: workers shared it."""


class ReplayWarning(UserWarning):
    """A saved run was loaded whose queries come out otherwise than they did when it was saved."""


class ApproximationWarning(UserWarning):
    """An approximation is less accurate than requested. The message says by how much."""


class GuaranteeWarning(UserWarning):
    """A probability statement depends on an assumption that is wrong or not known."""


class AllPendingError(ValueError):
    """All possible queries are being evaluated: an answer has to be told first."""


class LoadError(ValueError):
    """A file holds no run that can be continued; the message says why.

    Whatever is wrong with what a file contains ends in this error: it is damaged, no saved run,
    one of another class or of a later version, too large, or its parts do not fit together. A file
    that cannot be opened is an ``OSError``, as everywhere.
    """


class PrivacyBudgetError(ValueError):
    """An answer would spend more privacy than is left; it was not given."""


class DatabaseError(RuntimeError):
    """A database did not answer; the message says why, without any credentials."""


class ScansSpentError(RuntimeError):
    """A query would read a table once more than it may be read; it was not made."""
