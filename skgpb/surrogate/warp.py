"""Scores far below the good ones, on a scale on which they are less far.

Scores of hyperparameters have a plateau and cliffs: most settings do well, and some not at all. A
stationary model that follows the cliffs cannot tell settings on the plateau from each other, and
both contradict it. How bad the bad ones are does not matter, only that they are: so their distance
from the others is taken logarithmically [Song2024]_, and followed loosely.

References
----------
.. [Song2024] X. Song et al., "The Vizier Gaussian Process Bandit Algorithm", arXiv:2408.11527,
   2024. Warping of outputs.
"""

from __future__ import annotations

import numpy as np

from skgpb import defaults

# Rounding: the distance from the median to the best is at least this share of the standard deviation
# of all scores.
LEAST_WIDTH = 1e-3


class Warp:
    """An increasing function: scores as they are, but bad ones on a logarithmic scale.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        All scores, large ones being good; at least one.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.surrogate.warp import Warp
    >>> scores = np.array([0.98, 0.97, 0.96, 0.95, 0.4])
    >>> warp = Warp(scores)
    >>> warp(scores).round(3)
    array([0.98 , 0.97 , 0.96 , 0.95 , 0.854])
    >>> warp.inverse(warp(scores)).round(3)
    array([0.98, 0.97, 0.96, 0.95, 0.4 ])
    """

    def __init__(self, scores: np.ndarray) -> None:
        middle = float(np.median(scores))
        self._width = max(float(scores.max()) - middle, LEAST_WIDTH * float(scores.std()))
        self._middle, self._edge = middle, middle - defaults.SCORE_STRAIGHT * self._width
        self._worst = float(scores.min())

    def _below(self, scores: np.ndarray) -> np.ndarray:
        """Return how far scores are below the edge, in units of the width."""
        if self._width <= 0.0:  # all scores are equal
            return np.zeros(np.shape(scores))
        return np.maximum(self._edge - scores, 0.0) / self._width

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return scores on the new scale."""
        below = self._below(scores)
        return np.where(below > 0.0, self._edge - self._width * np.log1p(below), scores)

    def noise(self, scores: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return noise variances on the new scale, and those with which bad scores are followed."""
        below = self._below(scores)
        loose = np.where(below > 0.0, defaults.SCORE_LOOSE * (self._middle - self(scores)), 0.0)
        return noise / (1.0 + below) ** 2 + loose**2

    def inverse(self, values: np.ndarray) -> np.ndarray:
        """Return the scores of values on the new scale; none is below the worst that is known."""
        most = np.log1p(self._below(np.array(self._worst)))
        below = np.minimum(self._below(values), most)
        return np.where(below > 0.0, self._edge - self._width * np.expm1(below), values)
