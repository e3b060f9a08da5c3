import numpy as np

def additive_covariances(
    x: np.ndarray, y: np.ndarray, starts: np.ndarray, kind: int, share: float
) -> np.ndarray: ...
