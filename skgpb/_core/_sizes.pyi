from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgpb._core._cells import GaussianCells

class SizedCells:
    def __new__(cls, cells: GaussianCells, sizes: ArrayLike) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def cross(self, A: ArrayLike, B: ArrayLike) -> NDArray[np.float64]: ...
