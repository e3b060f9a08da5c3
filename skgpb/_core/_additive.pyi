from typing import Self

import numpy as np

class RadialKernel:
    def __new__(
        cls,
        x: np.ndarray,
        y: np.ndarray,
        starts: np.ndarray,
        kind: int,
        shape: float,
        share: float,
    ) -> Self: ...
    def below(self, first: int, stop: int) -> np.ndarray: ...
    def contracted(self, first: int, A: np.ndarray) -> np.ndarray: ...

def additive_covariances(
    X: np.ndarray,
    Y: np.ndarray,
    scale: np.ndarray,
    starts: np.ndarray,
    kind: int,
    share: float,
) -> np.ndarray: ...
