"""Scores far below the good ones, on a scale that bounds their distance.

Scores of hyperparameters have a plateau and cliffs: most settings do well, and some not at all. A
stationary model that follows the cliffs cannot distinguish settings on the plateau, and both
contradict it. It does not matter how bad the bad ones are, so their distance from the others is
bounded, as outputs are warped in [Song2024]_.

References
----------
.. [Song2024] X. Song et al., "The Vizier Gaussian Process Bandit Algorithm", arXiv:2408.11527,
   2024. Warping of outputs.
"""

from __future__ import annotations

import numpy as np

from skgpb import defaults

# Rounding: the distance from the best to the median is at least this share of the typical distance.
LEAST_WIDTH = 1e-3
# Mathematics: the typical distance is the first quantile at these shares that is not zero.
SHARES = (0.5, 0.75, 0.9, 1.0)


class Warp:
    """An increasing function that keeps good scores and moves bad ones closer to them.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        All scores, at least one; larger ones are better.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.surrogate.warp import Warp
    >>> scores = np.array([0.98, 0.97, 0.96, 0.95, 0.4])
    >>> warp = Warp(scores)
    >>> warp(scores).round(3)
    array([0.98 , 0.97 , 0.96 , 0.95 , 0.901])
    >>> warp.inverse(warp(scores)).round(3)
    array([0.98, 0.97, 0.96, 0.95, 0.4 ])
    """

    def __init__(self, scores: np.ndarray) -> None:
        middle = float(np.median(scores))
        # A single disaster, such as a model that diverges, must not set the scale.
        typical = np.quantile(np.abs(scores - middle), SHARES)
        least = LEAST_WIDTH * float(typical[np.argmax(typical > 0.0)])
        self._width = max(float(scores.max()) - middle, least)
        self._edge = middle - defaults.SCORE_STRAIGHT * self._width
        self._worst = float(scores.min())

    def _below(self, scores: np.ndarray | float) -> np.ndarray:
        """Return how far scores are below the edge, in units of the width."""
        if self._width <= 0.0:  # all scores are equal
            return np.zeros(np.shape(scores))
        return np.maximum(self._edge - scores, 0.0) / self._width

    def __call__(self, scores: np.ndarray | float) -> np.ndarray:
        """Return the warped scores."""
        below = self._below(scores)
        return np.where(below > 0.0, self._edge - self._width * below / (1.0 + below), scores)

    def slope(self, scores: np.ndarray | float) -> np.ndarray:
        """Return the derivative at scores."""
        return 1.0 / (1.0 + self._below(scores)) ** 2

    def inverse(self, values: np.ndarray | float) -> np.ndarray:
        """Return the scores of warped values, at least the worst score that was given."""
        most = self._below(self._worst)
        below = self._below(values)
        below = np.minimum(below / np.maximum(1.0 - below, 1.0 / (1.0 + most)), most)
        return np.where(below > 0.0, self._edge - self._width * below, values)
