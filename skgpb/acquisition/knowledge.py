r"""The knowledge gradient: by how much an answer is expected to raise the largest mean.

References
----------
.. [Frazier2009] P. Frazier, W. Powell and S. Dayanik, "The Knowledge-Gradient Policy for
   Correlated Normal Beliefs", INFORMS Journal on Computing 21 (4), 2009. Equations 12 to 14.
"""

from __future__ import annotations

import numpy as np

from skgpb._core._envelope import log_gains, on_envelope

# Two lines that meet where the density of Z is below exp(-NEGLIGIBLE) of the largest add nothing.
NEGLIGIBLE = 40.0


def log_knowledge_gradient(
    mean: np.ndarray, covariance: np.ndarray, var: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """Logarithm of the expected rise of the largest posterior mean by one answer, exact.

    Parameters
    ----------
    mean : ndarray of shape (n_targets,)
        Posterior means of what is to be compared in the end.
    covariance : ndarray of shape (n_queries, n_targets)
        Posterior covariances of what can be asked with it.
    var, noise : ndarray of shape (n_queries,)
        Posterior variances of the queries, and the noise variances of their answers.

    Returns
    -------
    log_gain : ndarray of shape (n_queries,)
        -inf where no answer could change which target has the largest mean.

    Examples
    --------
    A noiseless answer about one of two targets, then one about neither.

    >>> import numpy as np
    >>> from skgpb.acquisition.knowledge import log_knowledge_gradient
    >>> covariance = np.array([[1.0, 0.0], [0.0, 0.0]])
    >>> gain = np.exp(log_knowledge_gradient(np.zeros(2), covariance, np.ones(2), np.zeros(2)))
    >>> gain.round(4)  # 1 / sqrt(2 pi): that of the larger of N(0, 1) and 0
    array([0.3989, 0.    ])
    """
    total = var + noise
    unit = np.sqrt(np.where(total > 0.0, total, np.inf))
    return log_gains(np.ascontiguousarray(mean), np.ascontiguousarray(covariance), unit)


def envelope(mean: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lines that are highest somewhere, in the order of their slopes, and where they meet.

    What meets so far from zero that it adds nothing to the expected rise is left out.

    Parameters
    ----------
    mean, slopes : ndarray of shape (n_targets,)
        Heights at zero, and slopes.

    Returns
    -------
    lines : ndarray of int, shape (k,)
        Their numbers.
    places : ndarray of shape (k - 1,)
        Where each meets the next.
    """
    highest = int(np.argmax(mean))
    rises = np.abs(slopes - slopes[highest])
    # Where each meets the highest; it is above it, and on the envelope, no nearer to zero.
    away = np.full(len(mean), np.inf)
    np.divide(mean[highest] - mean, rises, out=away, where=rises > 0.0)
    near = away <= np.sqrt(away.min() ** 2 + 2.0 * NEGLIGIBLE)
    near[highest] = True
    among = np.flatnonzero(near)
    order = among[np.lexsort((mean[among], slopes[among]))]
    lines, places = on_envelope(mean[order], slopes[order])
    return order[lines], places


def log_gain_slopes(
    mean: np.ndarray, covariance: np.ndarray, total: float, log_gain: float
) -> tuple[np.ndarray, float]:
    """Derivatives of the logarithm of the gain of one query, of which it is given.

    The gain is the mean of max(mean + slopes Z); whichever line is the highest, that changes by Z
    with its slope, and between two places where lines meet Z has the mean of a truncated normal.

    Parameters
    ----------
    mean : ndarray of shape (n_targets,)
        Posterior means.
    covariance : ndarray of shape (n_targets,)
        Posterior covariances of the query with them.
    total : float
        Variance of its answer, noise included.
    log_gain : float
        See :func:`log_knowledge_gradient`.

    Returns
    -------
    by_covariance : ndarray of shape (n_targets,)
    by_total : float
    """
    by_covariance = np.zeros(len(mean))
    if not np.isfinite(log_gain):
        return by_covariance, 0.0
    unit = np.sqrt(total)
    lines, places = envelope(mean, covariance / unit)
    density = np.exp(-0.5 * places**2 - 0.5 * np.log(2.0 * np.pi) - log_gain)
    ends = np.concatenate([[0.0], density, [0.0]])
    by_covariance[lines] = (ends[:-1] - ends[1:]) / unit
    return by_covariance, -0.5 * float(by_covariance @ covariance) / total
