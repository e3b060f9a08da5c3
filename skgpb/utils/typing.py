"""Types of parameters that several classes share, which need no other names to read.

A parameter whose values cannot be listed has the type ``Any``. Values of the type are checked when
they are used; other values may work as well, for example an iterator of integers in place of a
list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

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


#: One number for each of several items.
Values: TypeAlias = Sequence[float] | SupportsArray
#: Rows of numbers, shape (n, d).
Points: TypeAlias = Sequence[Sequence[float]] | Sequence[SupportsArray] | SupportsArray
#: A box: a pair (lower, upper) for each side, or names of sides with their possible values.
Bounds: TypeAlias = Points | Mapping[str, Any]
#: Costs of answers: one for each query, or for each size of cells.
Costs: TypeAlias = Values
#: Variance of noise: one number for all, or one for each query.
Noise: TypeAlias = float | Values
#: Low and high end by the names of outcomes; None for an open end.
Limits: TypeAlias = Mapping[str, tuple[float | None, float | None]]
#: Seed of random numbers.
Seed: TypeAlias = int | np.integer | np.random.RandomState | None
#: Whether large or small values are sought.
Direction: TypeAlias = Literal["maximize", "minimize"]
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
#: Rule of the recommendation.
RecommendMethod: TypeAlias = Literal["posterior", "best_observed", "shrinkage", "paper"]
