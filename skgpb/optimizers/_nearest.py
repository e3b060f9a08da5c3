"""Predictions without a model: what was answered nearest to a point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skgpb.domains.space import ParameterSpace


def nearest_means(
    X: np.ndarray,
    boxes: Sequence[np.ndarray],
    values: Sequence[float],
    bounds: np.ndarray,
    space: ParameterSpace | None,
) -> np.ndarray:
    """Return the mean value of the smallest box nearest to each point.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Points.
    boxes : sequence of m ndarrays of shape (2 d,)
        Boxes [lower, upper] that were observed, at least one; those of equal ones are averaged.
    values : sequence of m floats
        What was observed.
    bounds : ndarray of shape (d, 2)
        The domain, whose sides are the units of distance.
    space : ParameterSpace or None
        Names of its sides.

    Returns
    -------
    means : ndarray of shape (n,)
    """
    d, side = len(bounds), bounds[:, 1] - bounds[:, 0]
    side = np.where(side > 0, side, 1.0)
    told: dict[bytes, list[float]] = {}
    for box, value in zip(boxes, values, strict=True):
        told.setdefault(box.tobytes(), []).append(value)
    corners = np.array([np.frombuffer(box) for box in told])
    means = np.array([np.mean(each) for each in told.values()])
    volume = np.prod((corners[:, d:] - corners[:, :d]) / side, axis=1)
    order = np.argsort(volume, kind="stable")
    corners, means = corners[order], means[order]
    if space is not None:
        X = space.snapped(X)
    low, high = corners[:, :d], corners[:, d:]
    nearest = [
        np.argmin((np.maximum(np.maximum(low - x, x - high), 0.0) / side).sum(axis=1)) for x in X
    ]
    return means[nearest]
