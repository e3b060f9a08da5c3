r"""Information-directed sampling: the least squared gap for each unit of information.

References
----------
.. [Russo2018] D. Russo and B. Van Roy, "Learning to Optimize via Information-Directed Sampling",
   Operations Research 66 (1), 2018.
.. [Kirschner2018] J. Kirschner and A. Krause, "Information Directed Sampling and Bandits with
   Heteroscedastic Noise", COLT 2018.
"""

from __future__ import annotations

import numpy as np


def log_information_ratio(gap: np.ndarray, information: np.ndarray) -> np.ndarray:
    """Logarithm of gap**2 / information, the information ratio of [Kirschner2018]_.

    Parameters
    ----------
    gap, information : ndarray of shape (n,)
        At least 0, of every query.

    Returns
    -------
    log_ratio : ndarray of shape (n,)
        inf where there is no information, -inf where there is some and no gap.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 2.0 * np.log(gap) - np.log(information)
    return np.where(information > 0.0, ratio, np.inf)


def least_ratio(gap: np.ndarray, information: np.ndarray) -> tuple[int, int, float]:
    r"""Distribution of the least information ratio, on at most two queries.

    It minimises :math:`E[gap]^2 / E[information]`. As a function of the two expectations this is
    quasi-convex, falls with the information and rises with the gap, so that its least value over
    the convex hull of the queries lies on an edge where both rise [Russo2018]_. O(n log n).

    Parameters
    ----------
    gap, information : ndarray of shape (n,)
        At least 0; some information is above 0.

    Returns
    -------
    first, second : int
        The queries, of which the first has the smaller gap; one and the same where one is best.
    share : float
        Probability of the first.

    Examples
    --------
    One query is nearly the best but tells nothing, another tells much: each in half of the cases.

    >>> import numpy as np
    >>> from skgpb.acquisition.information import least_ratio
    >>> least_ratio(np.array([1.0, 3.0, 4.0]), np.array([0.0, 1.0, 1.0]))
    (0, 1, 0.5)
    """
    chain = _lower_right(gap, information)
    low, known = gap[chain], information[chain]
    rise, more = np.diff(low), np.diff(known)
    # Where the derivative of (low + s rise)^2 / (known + s more) by s is 0; both rise on an edge.
    shares = np.clip(low[:-1] / rise - 2.0 * known[:-1] / more, 0.0, 1.0)
    # The last query alone ends the chain.
    shares, ends = np.append(shares, 0.0), np.append(chain[1:], chain[-1:])
    total = known + shares * np.append(more, 0.0)
    ratios = log_information_ratio(low + shares * np.append(rise, 0.0), total)
    best = int(np.argmin(ratios))
    first, second, share = int(chain[best]), int(ends[best]), 1.0 - float(shares[best])
    if share in (0.0, 1.0):
        first = second = first if share else second
        share = 1.0
    return first, second, share


def _lower_right(gap: np.ndarray, information: np.ndarray) -> np.ndarray:
    """Corners of the convex hull from the least gap to the most information, both rising."""
    order = np.lexsort((-information, gap))
    most = np.maximum.accumulate(information[order])
    order = order[np.append(True, most[1:] > most[:-1])]
    chain: list[tuple[float, float, int]] = []
    for x, y, i in zip(information[order], gap[order], order, strict=True):
        while len(chain) > 1:
            (x0, y0, _), (x1, y1, _) = chain[-2:]
            if (x1 - x0) * (y - y0) > (y1 - y0) * (x - x0):
                break
            chain.pop()
        chain.append((x, y, i))
    return np.array([i for _, _, i in chain])
