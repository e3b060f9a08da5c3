import numpy as np
from numpy.typing import NDArray

def log_gains(
    mean: NDArray[np.float64],
    slopes: NDArray[np.float64],
    unit: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]: ...
def on_envelope(
    mean: NDArray[np.float64], slopes: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]: ...
