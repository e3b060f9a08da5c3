"""Answers of several numbers, one for each row of a query, see :class:`~skgpb.domains.Blocks`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skgpb.domains.arms import Arm
from skgpb.utils import (
    check_noise_covariances,
    check_noise_variance,
    check_one_each,
    check_reward,
)

# Fields of a history that have as many numbers as an answer.
OF_EACH_NUMBER = ("reward", "mean", "std")


def checked_numbers(query: Arm, reward: Any, alpha: Any) -> tuple[np.ndarray | None, Any]:
    """Check an answer of one number for each row.

    Parameters
    ----------
    query : Arm
        The query, with k rows.
    reward : array-like of shape (k,) or None
        The answer; None for a failure.
    alpha : float, array-like of shape (k,) or (k, k), or None
        Noise variances that were told with it, or the covariance of the noise.

    Returns
    -------
    rewards : ndarray of shape (k,) or None
    noises : ndarray of shape (k,) or (k, k), or None
    """
    k, noises = len(query.descriptor), None
    if alpha is not None and np.ndim(alpha) == 2:
        noises = check_noise_covariances(np.asarray(alpha)[np.newaxis], (1, k, k), "alpha")[0]
    elif alpha is not None:
        alphas = check_one_each(alpha, k, "alpha", "rows of the query", shared=True)
        noises = np.array([check_noise_variance(each) for each in alphas])
    if reward is None:
        return None, noises
    rewards = check_one_each(reward, k, "reward", "rows of the query")
    return np.array([check_reward(each) for each in rewards]), noises


def history_of_numbers(history: Sequence[tuple[Any, ...]], d: int, k: int) -> np.ndarray:
    """Return a history of answers of up to k numbers, to queries in a box of d sides.

    NaN stands behind answers of fewer numbers.
    """
    numbers = [(name, np.float64, (k,)) for name in OF_EACH_NUMBER]
    dtype = [("round", np.intp), ("descriptor", np.float64, (2 * d,)), *numbers]
    out = np.zeros(len(history), dtype=[*dtype, ("expanded", np.bool_)])
    out["round"] = np.arange(1, len(out) + 1)
    for i, (descriptor, *values, _) in enumerate(history):
        out["descriptor"][i] = descriptor
        for name, value in zip(OF_EACH_NUMBER, values, strict=True):
            out[name][i] = np.nan
            out[name][i, : np.size(value)] = value
    return out
