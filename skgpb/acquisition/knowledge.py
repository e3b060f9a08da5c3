r"""The knowledge gradient: the expected rise of the largest mean by an answer.

References
----------
.. [Frazier2009] P. Frazier, W. Powell and S. Dayanik, "The Knowledge-Gradient Policy for
   Correlated Normal Beliefs", INFORMS Journal on Computing 21 (4), 2009. Equations 12 to 14.
"""

from __future__ import annotations

import numpy as np

from skgpb._core._acquisition import log_gains


def log_knowledge_gradient(
    mean: np.ndarray, covariance: np.ndarray, var: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """Return the logarithm of the exact expected rise of the largest mean by one answer.

    Parameters
    ----------
    mean : ndarray of shape (n_targets,)
        Posterior means of the targets.
    covariance : ndarray of shape (n_queries, n_targets)
        Posterior covariances of the queries with the targets.
    var, noise : ndarray of shape (n_queries,)
        Posterior variances of the queries, and the noise variances of their answers.

    Returns
    -------
    log_gain : ndarray of shape (n_queries,)
        -inf if no answer can change which target has the largest mean.

    Examples
    --------
    A noiseless answer about one of two targets, and one about neither.

    >>> import numpy as np
    >>> from skgpb.acquisition.knowledge import log_knowledge_gradient
    >>> covariance = np.array([[1.0, 0.0], [0.0, 0.0]])
    >>> gain = np.exp(log_knowledge_gradient(np.zeros(2), covariance, np.ones(2), np.zeros(2)))
    >>> gain.round(4)  # 1 / sqrt(2 pi), the mean of max(Z, 0)
    array([0.3989, 0.    ])
    """
    total = var + noise
    unit = np.sqrt(np.where(total > 0.0, total, np.inf))
    return log_gains(np.ascontiguousarray(mean), np.ascontiguousarray(covariance), unit)
