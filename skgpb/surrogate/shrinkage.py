r"""A model in which queries have nothing in common, for f that varies over shorter distances.

Variation of f that a kernel does not explain counts as noise of the answers. If this is nearly all
of it, because f is rougher than any kernel that was tried, the posterior mean is flat and its
largest value means nothing. Here each query has a value of its own instead, and values and noise
have the variances :math:`\tau^2` and :math:`\sigma^2`. The posterior mean of a query with n answers
is then

.. math:: \mu + \frac{n}{n + \sigma^2 / \tau^2} (\bar y - \mu).
"""

from __future__ import annotations

import numpy as np

from skgpb import defaults


def shrinkage_means(functional: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the posterior mean of each query, if queries have nothing in common.

    Parameters
    ----------
    functional : ndarray of shape (n_answers,)
        Indices of the queries, from 0.
    y : ndarray of shape (n_answers,)
        The answers.

    Returns
    -------
    means : ndarray of shape (n_queries,)

    Examples
    --------
    >>> shrinkage_means(np.array([0, 1, 1, 2]), np.array([5.0, 4.0, 4.2, 1.0])).round(2)
    array([4.48, 3.96, 1.75])
    """
    counts = np.bincount(functional)
    means = np.bincount(functional, y) / counts
    total, center = float(np.var(means)), float(means.mean())
    if not total > 0.0:
        return means
    within = float(((y - means[functional]) ** 2).sum()), len(y) - len(counts)
    noise = (within[0] + defaults.SHRINKAGE_BELIEF * 0.5 * total) / (
        within[1] + defaults.SHRINKAGE_BELIEF
    )
    between = max(total - noise * float((1.0 / counts).mean()), defaults.SHRINKAGE_LEAST * total)
    return center + counts / (counts + noise / between) * (means - center)
