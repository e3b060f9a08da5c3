"""Types of parameters that several classes share, which need no other names to read.

A parameter whose values cannot be listed has the type ``Any``. Values of the type are checked when
they are used; other values may work as well, for example an iterator of integers in place of a
list.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, Literal, Protocol, TypeAlias

import numpy as np

# scikit-learn has no annotations. With a base class of type Any mypy would not find misspelt
# parameters and methods. Other type checkers read scikit-learn's source.
MYPY = False
if MYPY:
    from skgpb.utils._for_mypy import BaseEstimator as BaseEstimator
    from skgpb.utils._for_mypy import RegressorMixin as RegressorMixin
else:
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import RegressorMixin as RegressorMixin


class SupportsArray(Protocol):
    """Objects that NumPy converts to an array: arrays, data frames, series, queries."""

    def __array__(self) -> np.ndarray: ...


class Splitter(Protocol):
    """An object that divides rows into folds, like the splitters of scikit-learn."""

    def split(self, *args: Any, **kwargs: Any) -> Iterable[Any]:
        """Return pairs of training rows and test rows."""

    def get_n_splits(self, *args: Any, **kwargs: Any) -> int:
        """Return the number of pairs."""


#: One number for each of several items.
Values: TypeAlias = Sequence[float] | SupportsArray
#: Rows of numbers, shape (n, d).
Points: TypeAlias = Sequence[Sequence[float]] | Sequence[SupportsArray] | SupportsArray
#: A box: a pair (lower, upper) for each side, or names of sides with their possible values.
Bounds: TypeAlias = Points | Mapping[str, Any]
#: One point or setting: its numbers, or a value for each name of a side. Names are of any type,
#: because they are in the dicts that pandas makes of the rows of a table.
Setting: TypeAlias = Mapping[Any, Any] | Sequence[float] | SupportsArray
#: Several of them: rows, a list of dicts, or a table with a column for each side.
Settings: TypeAlias = Points | Sequence[Mapping[Any, Any]]
#: Subject of an answer: a query, a setting, the points of an average, or a list of these.
Told: TypeAlias = Setting | Settings | Sequence[Sequence[Sequence[float]]]
#: A query, or a list of queries.
Queries: TypeAlias = SupportsArray | Sequence[SupportsArray]
#: Sides of cells: one number for all, or a number for each side; a list of several sizes.
Sizes: TypeAlias = (
    float | Mapping[str, float] | Sequence[float | Sequence[float] | Mapping[str, float]]
)
#: Outcomes that were measured with an answer, by their names: numbers, or yes or no.
Outcomes: TypeAlias = Mapping[Any, float | str | None]
#: Costs of answers: one for each query, or for each size of cells.
Costs: TypeAlias = Values
#: Variance of noise: one number for all, or one for each query.
Noise: TypeAlias = float | Values
#: Limit on an outcome: low and high end, None for an open end; or True or False for yes or no.
Limit: TypeAlias = tuple[float | None, float | None] | bool
#: Limits by the names of outcomes.
Limits: TypeAlias = Mapping[str, Limit]
#: Settings and answers of earlier campaigns, by their names.
EarlierAnswers: TypeAlias = Mapping[str, tuple[Any, Values]]
#: A path, or a file that is open in binary mode.
File: TypeAlias = str | os.PathLike[str] | BinaryIO
#: Seed of random numbers.
Seed: TypeAlias = int | np.integer | np.random.RandomState | None
#: Whether large or small values are sought.
Direction: TypeAlias = Literal["maximize", "minimize"]
#: Directions of goals by the names of outcomes.
Directions: TypeAlias = Mapping[str, Direction]
#: When hyperparameters are learned.
Relearn: TypeAlias = Literal["doubling", "growing"] | int | None
#: How hyperparameters are learned.
Optimizer: TypeAlias = Literal["fmin_l_bfgs_b", "consistent"] | Callable[..., Any] | None
#: A number, or a function of the round, counted from 1.
PerRound: TypeAlias = float | Callable[[int], float]
#: Factor of the posterior variance in a confidence bound.
Beta: TypeAlias = Literal["theory", "rkhs"] | PerRound
#: Where f is observed within a region.
FeedbackOfRegion: TypeAlias = Literal["center", "average", "integral"]
#: Points along each axis of a region.
Representatives: TypeAlias = int | Sequence[int] | None
#: Variation of f within a region: by the kernel, by theory, by two constants, or a function.
Variation: TypeAlias = Literal["kernel", "theory"] | Sequence[float] | Callable[[Any], float]
#: Score of an estimator: the name of a metric or a function, or several of them.
Scoring: TypeAlias = str | Callable[..., Any] | Sequence[str] | Mapping[str, Any] | None
#: Rule of the recommendation.
RecommendMethod: TypeAlias = Literal["posterior", "best_observed", "shrinkage", "paper"]
