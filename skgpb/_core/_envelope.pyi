import numpy as np
from numpy.typing import NDArray

def log_gains(
    mean: NDArray[np.float64],
    slopes: NDArray[np.float64],
    unit: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]: ...
