from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_POINTS: int

class Memory:
    def __new__(cls, n_keys: int, n_values: int) -> Self: ...

class RadialCells:
    def __new__(
        cls,
        weights: ArrayLike,
        powers: ArrayLike,
        kinds: ArrayLike,
        precisions: ArrayLike,
        shapes: ArrayLike,
        n_representatives: ArrayLike,
    ) -> Self: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_terms(self) -> int: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def n_evaluations(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def cross(self, A: ArrayLike, B: ArrayLike) -> NDArray[np.float64]: ...
    def gram(self, A: ArrayLike) -> NDArray[np.float64]: ...
    def diag(self, A: ArrayLike) -> NDArray[np.float64]: ...
    def gram_gradient(
        self,
        A: ArrayLike,
        weights_jacobian: ArrayLike,
        precisions_jacobian: ArrayLike,
        shapes_jacobian: ArrayLike,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
