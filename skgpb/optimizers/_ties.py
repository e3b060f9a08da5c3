"""Which of several nearly equal values counts as the largest."""

from __future__ import annotations

import numpy as np

from skgpb._core._tree import TIE_TOLERANCE


def first_maximum(values: np.ndarray, tolerance: float = TIE_TOLERANCE) -> int:
    """Position of the first value within ``tolerance`` of the largest (decision D-G1).

    NaN counts as lowest.
    """
    values = np.where(np.isnan(values), -np.inf, values)
    return int(np.flatnonzero(values >= values.max() - tolerance)[0])
