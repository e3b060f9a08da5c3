r"""What the answer to an indirect query tells about the largest value of f.

Eq. 7 of [Zhang2025]_ truncates the noiseless g(a) at a sample of f* and cannot tell an
informative query from one that is drowned in noise. Appendix A includes the noise of the answer;
its last formula lacks the normaliser and has the wrong sign. Corrected (decision D-C2), with
:math:`\rho^2 = \sigma_g^2 / (\sigma_g^2 + \sigma^2)`, :math:`w^2 = 1 - \rho^2`, the Mills ratio
:math:`h = \phi / \Phi` and A for the bracket in eq. 7, completing the square gives

.. math::

    B(\gamma, w) = A(\gamma) - w\, h(\gamma)\,
    \mathrm{E}\left[ \frac{A(S)}{h(S)} \right], \qquad S \sim N(\gamma w, \rho^2),

which is eq. 7 without noise and 0 where noise is all there is. The expectation of one smooth
function is all that is left of the paper's numerical integral.

Both forms know only that g(a) <= f*, which says little where answers are blurred: g then stays
below f* anyway, and queries around the largest *answer* look best. What follows takes the
dependence of g(a) and f* from the joint posterior instead. By Stein's lemma

.. math::

    \mathrm{Cov}(g(a), f^*) = \mathrm{E}\, \mathrm{Cov}(g(a), f(x^*)),

posterior covariances at the maximisers :math:`x^*` of joint draws, averaged, and the information
in the part of f* that is linear in the answer is :math:`-\log(1 - \rho^2) / 2`.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025. Eqs. 6 and 7, Appendix A.
"""

from __future__ import annotations

import numpy as np

from skgpb._core._entropy import information

# Standard deviations of g up to this one carry no information (decision D-C3).
KNOWN = 1e-9
# Largest share of the variance of f* that an answer explains: it is estimated from draws.
LARGEST_SHARE = 1.0 - 1e-9


def conditional_max_value_entropy(
    mean: np.ndarray,
    std: np.ndarray,
    max_values: np.ndarray,
    noise: np.ndarray | float | None = None,
) -> np.ndarray:
    r"""Mutual information of an answer and the largest value of f, in nats.

    Parameters
    ----------
    mean, std : ndarray of shape (n,)
        Posterior of the noiseless answers g(a).
    max_values : ndarray of shape (k,)
        Samples of f*, the largest value of f.
    noise : float or ndarray of shape (n,), default=None
        Noise variance of the answers, for the corrected form of Appendix A. None for eq. 7.

    Returns
    -------
    information : ndarray of shape (n,)
        At least 0, and 0 where ``std`` is below 1e-9. O(n k).

    Examples
    --------
    >>> import numpy as np
    >>> mean, std = np.zeros(3), np.array([1.0, 1.0, 0.0])
    >>> conditional_max_value_entropy(mean, std, np.array([0.0])).round(4)
    array([0.6931, 0.6931, 0.    ])
    >>> noise = np.array([1e-6, 4.0, 1.0])
    >>> conditional_max_value_entropy(mean, std, np.array([0.0]), noise).round(4)
    array([0.6924, 0.0681, 0.    ])
    """
    mean, std, max_values = (
        np.ascontiguousarray(a, dtype=np.float64) for a in (mean, std, max_values)
    )
    if noise is not None:
        noise = np.ascontiguousarray(np.broadcast_to(noise, mean.shape), dtype=np.float64)
    return information(mean, std, max_values, KNOWN, noise)


def linear_information(
    covariance: np.ndarray, std: np.ndarray, noise: np.ndarray | float, variance: float
) -> np.ndarray:
    r"""Information about f* in the part of it that is linear in the answer, in nats.

    Parameters
    ----------
    covariance : ndarray of shape (n,)
        Posterior covariance of g(a) and f*.
    std : ndarray of shape (n,)
        Posterior standard deviation of the noiseless answers g(a).
    noise : float or ndarray of shape (n,)
        Noise variance of the answers.
    variance : float
        Posterior variance of f*.

    Returns
    -------
    information : ndarray of shape (n,)
        At least 0, and 0 where ``std`` is below 1e-9 or ``variance`` is 0.

    Examples
    --------
    >>> import numpy as np
    >>> linear_information(np.array([0.5, 0.5, 0.0]), np.ones(3), np.array([0.0, 3.0, 0.0]), 1.0)
    array([0.14384104, 0.03226926, 0.        ])
    """
    total = (std**2 + noise) * variance
    known = (std <= KNOWN) | (total <= 0.0)
    share = covariance**2 / np.where(known, 1.0, total)
    return np.where(known, 0.0, -0.5 * np.log1p(-np.minimum(share, LARGEST_SHARE)))


def refined_maxima(draws: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Largest values of smooth functions between the points of a product grid (decision D-C4).

    The largest grid value is biased low. Along every axis the parabola through it and its two
    neighbours is maximised, which removes the second-order part of the bias.

    Parameters
    ----------
    draws : ndarray of shape (n_points, k)
        Values on a grid in C order, one column for each function.
    shape : tuple of d ints
        Points per axis.

    Returns
    -------
    maxima : ndarray of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0.0, 1.0, 4)
    >>> refined_maxima(1.0 - (x[:, None] - 0.5) ** 2, (4,)).round(12)
    array([1.])
    """
    best = draws.argmax(axis=0)
    columns = np.arange(draws.shape[1])
    top = draws[best, columns]
    gain = np.zeros_like(top)
    stride = 1
    for n in reversed(shape):
        place = best // stride % n
        inner = (place > 0) & (place < n - 1)
        if n > 2:
            at = np.where(inner, best, best + np.where(place == 0, stride, -stride))
            low, high = draws[at - stride, columns], draws[at + stride, columns]
            bend = 2.0 * top - low - high
            rise = (high - low) ** 2 / (8.0 * np.where(bend > 0.0, bend, 1.0))
            gain += np.where(inner & (bend > 0.0), rise, 0.0)
        stride *= n
    return top + gain
