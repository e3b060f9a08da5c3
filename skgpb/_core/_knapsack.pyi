import numpy as np
from numpy.typing import NDArray

def solve(
    values: NDArray[np.float64],
    costs: NDArray[np.float64],
    starts: NDArray[np.intp],
    limit: float,
    slack: float,
    tie: float,
) -> NDArray[np.intp]: ...
