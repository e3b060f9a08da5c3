from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

def subtract(
    boxes: NDArray[np.float64], balls: NDArray[np.float64], first_only: bool = False
) -> NDArray[np.float64]: ...
def largest_cell(
    boxes: NDArray[np.float64], faces: list[Any], tolerance: float
) -> NDArray[np.float64]: ...
def overlapping(boxes: NDArray[np.float64], box: NDArray[np.float64]) -> NDArray[np.intp]: ...

class Subdivision:
    def __init__(
        self, centers: ArrayLike, radii: ArrayLike, around: ArrayLike, reach: float, tie: float
    ) -> None: ...
    def level(self, target: int) -> tuple[NDArray[np.float64], bool]: ...
