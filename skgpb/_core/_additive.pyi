import numpy as np

def additive_covariances(
    x: np.ndarray, y: np.ndarray, starts: np.ndarray, kind: int, share: float
) -> np.ndarray: ...
def covariances_below(
    x: np.ndarray,
    starts: np.ndarray,
    kind: int,
    shape: float,
    share: float,
    first: int,
    stop: int,
) -> np.ndarray: ...
def contracted_slopes(
    x: np.ndarray,
    starts: np.ndarray,
    kind: int,
    shape: float,
    share: float,
    first: int,
    A: np.ndarray,
) -> np.ndarray: ...
