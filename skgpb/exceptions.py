"""All warning and error classes of skgpb."""

from __future__ import annotations

__all__ = [
    "AllPendingError",
    "AllocationWarning",
    "ApproximationWarning",
    "BudgetWarning",
    "DataWarning",
    "DatabaseError",
    "EvaluationWarning",
    "GuaranteeWarning",
    "LearningWarning",
    "LimitWarning",
    "LoadError",
    "ModelWarning",
    "NumericalWarning",
    "ParameterWarning",
    "PendingWarning",
    "PrivacyBudgetError",
    "RefinementWarning",
    "ReplayWarning",
    "ScansSpentError",
]


class NumericalWarning(RuntimeWarning):
    """Digits were lost: jitter was added, a variance was clipped, or means are inaccurate.

    The message says how much. If a factorisation fails, the smallest sufficient multiple 1e-10,
    1e-9, ..., 1e-4 of the largest prior variance is added as jitter to the noise variance of the
    observations concerned. If 1e-4 is not sufficient, ``numpy.linalg.LinAlgError`` is raised and
    nothing changes. The threshold grows with the rounding errors of variances so far. If the
    smallest jitter is not sufficient, it is added to all observations with less noise.

    The same holds for values with prior variance zero, such as f(0) under ``DotProduct(0.0)``:
    noisy answers change nothing there, and exact answers get jitter. Exact answers raise an error
    if all prior variances are zero, or too small to divide by.

    There is no warning if a variance is clipped at zero by at most 1e-6 of the largest prior
    variance, or if rounding moves a mean by at most 1e-6 prior standard deviations, or ten
    standard deviations of the noise.
    """


class RefinementWarning(UserWarning):
    """A partition is not refined further, to limit the cost or because of a parameter."""


class BudgetWarning(UserWarning):
    """A run has more evaluations than the constants of its algorithm are valid for."""


class AllocationWarning(UserWarning):
    """An allocation given to ``tell`` costs more than the budget. Its answers are used."""


class EvaluationWarning(UserWarning):
    """Some evaluations of an objective failed. The run continued without them."""


class LearningWarning(UserWarning):
    """Learning failed. The answer is used, and the hyperparameters stay the same."""


class LimitWarning(UserWarning):
    """An answer was told without an outcome that has a limit. Its model does not learn from it."""


class ModelWarning(UserWarning):
    """Answers contradict the model of f. The message names the contradiction and its handling."""


class ParameterWarning(UserWarning):
    """A parameter was set during a run. It has no effect before the next ``fit``."""


class DataWarning(UserWarning):
    """A table has suspicious values or rows. The message names them and a remedy."""


class PendingWarning(UserWarning):
    """``tell`` got several answers to a query that ``ask`` had returned to several workers."""


class ReplayWarning(UserWarning):
    """Replaying a saved run chose other queries than the file has."""


class ApproximationWarning(UserWarning):
    """An approximation is less accurate than requested. The message says by how much."""


class GuaranteeWarning(UserWarning):
    """A probability statement depends on an assumption that is wrong or unverified."""


class AllPendingError(ValueError):
    """All queries are pending. Tell an answer before the next ``ask``."""


class LoadError(ValueError):
    """A file cannot be loaded as a run. The message says why.

    The file may be damaged, too large, inconsistent, not a saved run, or a run of another class or
    of a later version. A file that cannot be opened raises an ``OSError``.
    """


class PrivacyBudgetError(ValueError):
    """An answer would exceed the privacy budget, and was not given."""


class DatabaseError(RuntimeError):
    """A database did not answer. The message gives the reason without credentials."""


class ScansSpentError(RuntimeError):
    """A query would exceed the allowed number of reads of a table. It was not sent."""
