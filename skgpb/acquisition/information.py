r"""Information-directed sampling: the least squared gap for each unit of information.

References
----------
.. [Kirschner2018] J. Kirschner and A. Krause, "Information Directed Sampling and Bandits with
   Heteroscedastic Noise", COLT 2018.
"""

from __future__ import annotations

import numpy as np


def log_information_ratio(gap: np.ndarray | float, information: np.ndarray) -> np.ndarray:
    """Logarithm of gap**2 / information, the information ratio of [Kirschner2018]_.

    Parameters
    ----------
    gap : float or ndarray of shape (n,)
        At least 0, of every query, or the same for all.
    information : ndarray of shape (n,)
        At least 0, of every query.

    Returns
    -------
    log_ratio : ndarray of shape (n,)
        inf where there is no information, -inf where there is some and no gap.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 2.0 * np.log(gap) - np.log(information)
    return np.where(information > 0.0, ratio, np.inf)
