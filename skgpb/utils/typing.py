"""Types of parameters that several classes share; no names but these are needed to read them.

A parameter whose values nobody can list has the type ``Any``. Whatever a type allows is checked
when it is used, and what it does not allow may work as well, as an iterator of integers may where a
list is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, Literal, Protocol, TypeAlias

import numpy as np

# scikit-learn has no annotations. With a base class of type Any mypy would find nothing that is
# misspelt, neither a parameter nor a method. Other type checkers read scikit-learn's source.
MYPY = False
if MYPY:
    from skgpb.utils._for_mypy import BaseEstimator as BaseEstimator
    from skgpb.utils._for_mypy import RegressorMixin as RegressorMixin
else:
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import RegressorMixin as RegressorMixin


class SupportsArray(Protocol):
    """Whatever NumPy takes for an array: arrays, data frames, series, queries."""

    def __array__(self) -> np.ndarray: ...


class Splitter(Protocol):
    """Whatever divides rows into folds, as the splitters of scikit-learn do."""

    def split(self, *args: Any, **kwargs: Any) -> Iterable[Any]:
        """Return pairs of the rows to train on and the rows to test with."""

    def get_n_splits(self, *args: Any, **kwargs: Any) -> int:
        """Return the number of pairs."""


#: One number for each of several things.
Values: TypeAlias = Sequence[float] | SupportsArray
#: Rows of numbers, shape (n, d).
Points: TypeAlias = Sequence[Sequence[float]] | Sequence[SupportsArray] | SupportsArray
#: A box: a pair (lower, upper) for each side, or names of sides with the values that each may take.
Bounds: TypeAlias = Points | Mapping[str, Any]
#: One point or setting: its numbers, or a value for each name of a side. Names are of any type,
#: because they are in the dicts that pandas makes of the rows of a table.
Setting: TypeAlias = Mapping[Any, Any] | Sequence[float] | SupportsArray
#: Several of them: rows, a list of dicts, or a table with a column for each side.
Settings: TypeAlias = Points | Sequence[Mapping[Any, Any]]
#: What an answer is about: a query, a setting, the points of an average, or a list of these.
Told: TypeAlias = Setting | Settings | Sequence[Sequence[Sequence[float]]]
#: A query, or a list of queries.
Queries: TypeAlias = SupportsArray | Sequence[SupportsArray]
#: Sides of cells: one number for all, or a number for each side; a list of several sizes.
Sizes: TypeAlias = (
    float | Mapping[str, float] | Sequence[float | Sequence[float] | Mapping[str, float]]
)
#: Outcomes that were measured with an answer, by their names.
Outcomes: TypeAlias = Mapping[Any, float | None]
#: Costs of answers: one for each query, or for each size of cells.
Costs: TypeAlias = Values
#: Variance of noise: one number for all, or one for each query.
Noise: TypeAlias = float | Values
#: Low and high end by the names of what is measured; None for an open one.
Limits: TypeAlias = Mapping[str, tuple[float | None, float | None]]
#: A path, or a file that is open in binary mode.
File: TypeAlias = str | os.PathLike[str] | BinaryIO
#: Seed of random numbers.
Seed: TypeAlias = int | np.integer | np.random.RandomState | None
#: Whether large or small values are sought.
Direction: TypeAlias = Literal["maximize", "minimize"]
#: When hyperparameters are learned.
Relearn: TypeAlias = Literal["doubling", "growing"] | int | None
#: How hyperparameters are learned.
Optimizer: TypeAlias = Literal["fmin_l_bfgs_b", "consistent"] | Callable[..., Any] | None
#: A number, or what gives one for each round, counted from 1.
PerRound: TypeAlias = float | Callable[[int], float]
#: Factor of the posterior variance in a confidence bound.
Beta: TypeAlias = Literal["theory", "rkhs"] | PerRound
#: Where f is observed within a region.
FeedbackOfRegion: TypeAlias = Literal["center", "average", "integral"]
#: Points along each axis of a region.
Representatives: TypeAlias = int | Sequence[int] | None
#: Variation of f within a region: by the kernel, by theory, by its two constants, or a function.
Variation: TypeAlias = Literal["kernel", "theory"] | Sequence[float] | Callable[[Any], float]
#: Score of an estimator: the name of a metric or a function, or several of them.
Scoring: TypeAlias = str | Callable[..., Any] | Sequence[str] | Mapping[str, Any] | None
#: Rule by which a search recommends.
RecommendMethod: TypeAlias = Literal["posterior", "best_observed", "shrinkage", "paper"]
