r"""Information-directed sampling: the least squared gap for each unit of information.

References
----------
.. [Kirschner2018] J. Kirschner and A. Krause, "Information Directed Sampling and Bandits with
   Heteroscedastic Noise", COLT 2018.
"""

from __future__ import annotations

import numpy as np


def log_information_ratio(gap: np.ndarray | float, information: np.ndarray) -> np.ndarray:
    """Return the logarithm of gap**2 / information, the information ratio of [Kirschner2018]_.

    Parameters
    ----------
    gap : float or ndarray of shape (n,)
        Gaps >= 0 of the queries, or one for all.
    information : ndarray of shape (n,)
        Information >= 0 about the maximum in an answer to each query.

    Returns
    -------
    log_ratio : ndarray of shape (n,)
        inf without information, -inf with information and no gap.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 2.0 * np.log(gap) - np.log(information)
    return np.where(information > 0.0, ratio, np.inf)
