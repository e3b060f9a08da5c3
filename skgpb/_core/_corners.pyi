import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgpb._core._cells import GaussianCells

def corner_slopes(
    cells: GaussianCells, A: ArrayLike, B: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
