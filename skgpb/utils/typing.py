"""Types of parameters that several classes share; no names but these are needed to read them.

A parameter whose values nobody can list has the type ``Any``. Whatever a type allows is checked
when it is used, and what it does not allow may work as well, as an iterator of integers may where a
list is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
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


#: One number for each of several things.
Values: TypeAlias = Sequence[float] | SupportsArray
#: Rows of numbers, shape (n, d).
Points: TypeAlias = Sequence[Sequence[float]] | Sequence[SupportsArray] | SupportsArray
#: A box: a pair (lower, upper) for each side, or names of sides with the values that each may take.
Bounds: TypeAlias = Points | Mapping[str, Any]
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
#: Rule by which a search recommends.
RecommendMethod: TypeAlias = Literal["posterior", "best_observed", "shrinkage", "paper"]
