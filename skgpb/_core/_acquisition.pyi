import numpy as np
from numpy.typing import NDArray

def information(
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
    maxima: NDArray[np.float64],
    known: float,
    noise: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]: ...
def log_gains(
    mean: NDArray[np.float64],
    slopes: NDArray[np.float64],
    unit: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]: ...
