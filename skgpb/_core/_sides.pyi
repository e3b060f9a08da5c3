import numpy as np
from numpy.typing import NDArray

LEAST_GAIN: float

def best_move(
    offsets: NDArray[np.int32],
    n_values: NDArray[np.int32],
    ordered: NDArray[np.uint8],
    count: NDArray[np.float64],
    total: NDArray[np.float64],
    inside: NDArray[np.uint8],
    threshold: float,
    penalty: float,
    least: float,
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]: ...

class Sides:
    @property
    def n(self) -> int: ...
    @property
    def d(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def count(self) -> float: ...
    @property
    def total(self) -> float: ...
    def __init__(
        self,
        codes: NDArray[np.uint16],
        offsets: NDArray[np.int32],
        n_values: NDArray[np.int32],
        ordered: NDArray[np.uint8],
        weights: NDArray[np.float64],
    ) -> None: ...
    def start(self, sums: NDArray[np.float64], inside: NDArray[np.uint8]) -> None: ...
    def ascend(self, threshold: float, penalty: float, least: float, most: int) -> int: ...
    @property
    def box(self) -> NDArray[np.uint8]: ...
    @property
    def members(self) -> NDArray[np.intp]: ...
    @property
    def marginals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

def best_pairs(
    coarse: NDArray[np.uint8],
    n_coarse: int,
    sums: NDArray[np.float64],
    weights: NDArray[np.float64],
    least: float,
    cost: float,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...
