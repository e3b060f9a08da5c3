r"""Regrets: the difference between the best possible values and those of a bandit algorithm.

Every function takes *true, noiseless values*, first those of the optimum, then those that the
algorithm played or recommended. No function needs an optimizer, so they serve simulations, tables
and replayed data alike; a problem of :mod:`skgpb.problems` supplies both arguments::

    aggregated_regret(problem.optimum, problem.average(optimizer.recommend()))

Regrets are never clipped. If the optimum is that of a grid, a value between two grid points may
exceed it, and the regret is then slightly negative; clipping would bias every mean.

References
----------
.. [Zhang2022] M. Zhang, R. Tsuchida, C. S. Ong, "Gaussian Process Bandits with Aggregated
   Feedback", AAAI 2022.
.. [Shekhar2018] S. Shekhar, T. Javidi, "Gaussian process bandits with adaptive discretization",
   Electronic Journal of Statistics 12(2), 2018.
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "aggregated_regret",
    "contextual_regret",
    "cumulative_regret",
    "simple_regret",
]


def simple_regret(optimum: ArrayLike, value: ArrayLike) -> float | NDArray[np.float64]:
    r"""Return the gap between the optimum and the function at a recommended point.

    Definition 1 of [Zhang2022]_ and (1.3) of [Shekhar2018]_:
    :math:`f(x^*) - f(x_N)`.

    Parameters
    ----------
    optimum : float or array-like
        The largest value of the function, :math:`f(x^*)`.
    value : float or array-like
        The function at the recommended point, or at the points recommended after each of several
        budgets. The two arguments broadcast against each other.

    Returns
    -------
    regret : float or ndarray
        In the units of the function; a float if both arguments are scalars.

    Notes
    -----
    [Zhang2025]_ (Definition 1) credits an algorithm with the best point it has recommended
    *so far*. That reading is ``simple_regret(optimum, np.maximum.accumulate(values))``.

    Examples
    --------
    >>> from skgpb.problems.metrics import simple_regret
    >>> simple_regret(1.0, 0.75)
    0.25
    >>> simple_regret(1.0, [0.25, 0.75, 1.125])
    array([ 0.75 ,  0.25 , -0.125])
    """
    return _gap(optimum, value)


def aggregated_regret(optimum: ArrayLike, average: ArrayLike) -> float | NDArray[np.float64]:
    r"""Return the gap between the optimum and the average over a recommended cell.

    Definition 2 of [Zhang2022]_: :math:`f(x^*) - \bar F(X_N)`, where :math:`\bar F(X_N)` is the
    mean of the function over the representatives of the recommended cell. With one representative
    this is the simple regret.

    Parameters
    ----------
    optimum : float or array-like
        The largest value of the function *at a point*, :math:`f(x^*)`. An average cannot reach it
        unless the function is flat, so the regret of the best cell of any size is positive.
    average : float or array-like
        The true average over the recommended cell, or over the cells recommended after each of
        several budgets. The two arguments broadcast against each other.

    Returns
    -------
    regret : float or ndarray
        In the units of the function; a float if both arguments are scalars.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.problems.metrics import aggregated_regret
    >>> representatives = np.array([0.5, 0.75, 1.0])
    >>> aggregated_regret(1.0, representatives.mean())
    0.25
    """
    return _gap(optimum, average)


def cumulative_regret(optimum: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
    r"""Return the regret summed over the rounds up to each round.

    (1.2) of [Shekhar2018]_: :math:`R_t = \sum_{s \le t} \left( f(x^*) - f(x_s) \right)`.

    Parameters
    ----------
    optimum : float or array-like of shape (n_rounds,)
        The largest value of the function, one for all rounds or one for each.
    The function at the point played in each round (not the noisy reward). Leading axes, for
    example one for runs, are kept.

    Returns
    -------
    regret : ndarray of shape (..., n_rounds)
        Entry ``t`` sums the rounds up to and including ``t``.

    Examples
    --------
    >>> from skgpb.problems.metrics import cumulative_regret
    >>> cumulative_regret(1.0, [0.5, 0.75, 1.0])
    array([0.5 , 0.75, 0.75])
    """
    return np.cumsum(_gap(optimum, _rounds(values, "values")), axis=-1)


def instant_regret(optimum: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
    r"""Return the gap between the optimum and the best query up to each round.

    Definition 2 of [Zhang2025]_: :math:`f(x^*) - \max_{s \le t} g(a_s)`, where :math:`g(a)` is the
    noiseless answer to the query :math:`a`. As :math:`g` averages :math:`f`, its maximum is below
    that of :math:`f`, and the instant regret of a perfect algorithm converges to the floor
    :math:`f(x^*) - \max g` rather than to zero.

    Parameters
    ----------
    optimum : float
        The largest value of the function, :math:`f(x^*)`.
    values : array-like of shape (..., n_rounds)
        The noiseless answer to the query of each round. Leading axes are kept.

    Returns
    -------
    regret : ndarray of shape (..., n_rounds)
        Never increases along the last axis if ``optimum`` is a scalar.

    Examples
    --------
    >>> from skgpb.problems.metrics import instant_regret
    >>> instant_regret(1.0, [0.5, 0.25, 0.75])
    array([0.5 , 0.5 , 0.25])
    """
    return _gap(optimum, np.maximum.accumulate(_rounds(values, "values"), axis=-1))


def contextual_regret(optima: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
    r"""Return the regret against the best action in each context, summed up to each round.

    (5.7) and (5.8) of [Shekhar2018]_:
    :math:`\sum_{s \le t} \left( \sup_a f(c_s, a) - f(c_s, a_s) \right)` with contexts
    :math:`c_s` that the algorithm does not choose.

    Parameters
    ----------
    optima : array-like of shape (..., n_rounds)
        The best value reachable in the context of each round.
    values : array-like of the same shape
        The function at the context and the action of each round.

    Returns
    -------
    regret : ndarray of shape (..., n_rounds)
        Entry ``t`` sums the rounds up to and including ``t``.

    Examples
    --------
    >>> from skgpb.problems.metrics import contextual_regret
    >>> contextual_regret([1.0, 0.5, 2.0], [0.75, 0.5, 1.0])
    array([0.25, 0.25, 1.25])
    """
    optima, values = _rounds(optima, "optima"), _rounds(values, "values")
    if optima.shape != values.shape:
        raise ValueError(
            "optima and values must have the same shape, one entry per round; "
            f"got {optima.shape} and {values.shape}."
        )
    return np.cumsum(optima - values, axis=-1)


def _gap(optimum: ArrayLike, value: ArrayLike) -> Any:
    """Return ``optimum - value`` broadcast, as a float if both are scalars."""
    optimum, value = _real(optimum, "optimum"), _real(value, "value")
    try:
        gap = np.subtract(optimum, value)
    except ValueError:
        raise ValueError(
            f"The shapes of the optimum, {optimum.shape}, and of the values, {value.shape}, "
            "do not fit together."
        ) from None
    return float(gap) if gap.ndim == 0 else gap


def _rounds(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return values as an array whose last axis runs over rounds."""
    values = _real(values, name)
    if values.ndim == 0:
        raise ValueError(f"{name} must hold one entry per round; got a single number.")
    return values


def _real(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return values as a finite float array, or raise an error."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be real numbers; got {values!r}.")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; got {values!r}.")
    return array
