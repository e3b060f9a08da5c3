import numpy as np
from numpy.typing import NDArray

from skgpb._core._posterior import Posterior

def downdate(C: NDArray[np.float64], i: int, noise: float) -> bool: ...
def subtract_explained(
    posterior: Posterior, K: NDArray[np.float64], slots: NDArray[np.intp], start: int = ...
) -> None: ...
def correct_draws(
    posterior: Posterior,
    residuals: NDArray[np.float64],
    draws: NDArray[np.float64],
) -> None: ...
def add_reductions(
    C: NDArray[np.float64],
    rows: NDArray[np.intp],
    weights: NDArray[np.float64],
    var: NDArray[np.float64],
    noise: NDArray[np.float64],
    others: NDArray[np.intp],
    out: NDArray[np.float64],
) -> None: ...
def maximum_distribution(
    mean: NDArray[np.float64], std: NDArray[np.float64], floor: float = ...
) -> NDArray[np.float64]: ...
def expected_maximum(mean: NDArray[np.float64], std: NDArray[np.float64]) -> float: ...
def maximum_cdf(
    mean: NDArray[np.float64], std: NDArray[np.float64], s: NDArray[np.float64]
) -> NDArray[np.float64]: ...
