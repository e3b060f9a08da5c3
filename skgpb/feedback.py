r"""Answers that are counts: conversion to a reward and its variance, and back.

Examples are k ill people among n, 12 clicks of 300 visitors, or 7 failures of machines in 40 days.
The noise variance of the proportion p depends on p itself, which is unknown: it is largest at one
half. A Gaussian process needs the noise variance. Therefore the answer is converted to the angle
arcsin(sqrt(p)), whose estimate has the same variance for all p. For rates, the square root has this
property.

The estimates of [Freeman1950]_ have the smallest errors near zero and one. Their mean squared error
is at most 1.141 times ``alpha`` for every number of trials and every p. From 10 trials on, and for
every rate, it is at most 1.074 times ``alpha``.

References
----------
.. [Freeman1950] M. F. Freeman and J. W. Tukey, "Transformations Related to the Angular and the
   Square Root", Annals of Mathematical Statistics 21 (4), 1950.
.. [Anscombe1948] F. J. Anscombe, "The Transformation of Poisson, Binomial and Negative-Binomial
   Data", Biometrika 35, 1948.
"""

from __future__ import annotations

import re
from math import nan
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from skgpb.utils.validation import check_reward, check_unmasked

__all__ = ["RowAverage", "from_counts", "from_rate", "to_proportion", "to_rate"]

# Counts as people write them: 12 of 300.
_COUNTS = re.compile(r"\s*(\S+)\s+of\s+(\S+)\s*")


class Answer(NamedTuple):
    """A reward and its noise variance, the arguments of ``tell(query, *answer)``.

    Attributes
    ----------
    reward : float or ndarray
        The reward.
    alpha : float or ndarray
        Its noise variance.
    """

    reward: Any
    alpha: Any


class RowAverage(float):
    """A float, the average over the rows of a cell, with the number of rows as ``count``.

    An objective returns it to ``run`` if cells may have few rows or none. It has the same effect as
    ``tell(cell, value, count=n)``.

    Parameters
    ----------
    value : float or None
        The average; ignored if ``count`` is 0.
    count : int
        Number of rows in the cell, which may be 0.

    Examples
    --------
    >>> from skgpb.feedback import RowAverage
    >>> RowAverage(2.5, 40)
    RowAverage(2.5, count=40)
    """

    count: int

    def __new__(cls, value: Any, count: int) -> Self:
        """Check the number of rows."""
        if not isinstance(count, Integral) or isinstance(count, bool) or count < 0:
            raise ValueError(f"count must be an integer >= 0, got {count!r}")
        average = super().__new__(cls, check_reward(value) if count else nan)
        average.count = int(count)
        return average

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.count)

    def __repr__(self) -> str:
        return f"RowAverage({float(self)!r}, count={self.count})"


class Estimate(NamedTuple):
    """A proportion or rate, and an interval around it.

    Attributes
    ----------
    value : float or ndarray
        The estimate, a median.
    lower, upper : float or ndarray
        Ends of an interval that contains the true value with probability ``level``.
    """

    value: Any
    lower: Any
    upper: Any


def from_counts(successes: ArrayLike, trials: ArrayLike, *, stabilize: bool = True) -> Answer:
    r"""Convert k successes in n trials to a reward and its noise variance.

    Parameters
    ----------
    successes, trials : float or array-like
        k and n, which broadcast against each other; 0 <= k <= n and n > 0. Weighted counts need
        not be integers.
    stabilize : bool, default=True
        True for the angle, whose noise does not depend on p. False for the proportion itself: use
        it if answers are averages over regions, because the average of angles is another quantity.
        Its noise variance is an estimate, which is poor for few successes or failures.

    Returns
    -------
    reward, alpha : float or ndarray
        A tuple, for ``tell(query, *answer)``. ``reward`` is
        (arcsin(sqrt(k / (n + 1))) + arcsin(sqrt((k + 1) / (n + 1)))) / 2, an estimate
        of arcsin(sqrt(p)) in radians, and ``alpha`` is 1 / (4 n + 2). With ``stabilize=False`` they
        are k / n and q (1 - q) / n, with q = (k + 1) / (n + 2).

    See Also
    --------
    to_proportion : Convert an angle back to a proportion with an interval.

    Examples
    --------
    >>> from skgpb import GPUCBOptimizer
    >>> from skgpb.feedback import from_counts, to_proportion
    >>> opt = GPUCBOptimizer(bounds=[(0, 1)], random_state=0)
    >>> opt = opt.tell([[0.2]], *from_counts(12, 300)).tell([[0.7]], *from_counts(30, 300))
    >>> mean, std = opt.predict_query(opt.recommend(), return_std=True)
    >>> value, lower, upper = to_proportion(mean[0], std[0])
    >>> 0.03 < lower < value < upper < 0.15
    True
    """
    k, n = _pair(successes, "successes", trials, "trials")
    if not (n > 0.0).all():
        raise ValueError(f"trials must be above 0, got {trials!r}")
    if not ((k >= 0.0) & (k <= n)).all():
        raise ValueError(
            f"successes must be from 0 to trials, got {successes!r} of trials={trials!r}"
        )
    if not _as_flag(stabilize):
        q = (k + 1.0) / (n + 2.0)
        return Answer(_plain(k / n), _plain(q * (1.0 - q) / n))
    angle = np.arcsin(np.sqrt(k / (n + 1.0))) + np.arcsin(np.sqrt((k + 1.0) / (n + 1.0)))
    return Answer(_plain(0.5 * angle), _plain(1.0 / (4.0 * n + 2.0)))


def counts_in(text: str) -> tuple[str, str] | None:
    """Split counts such as "12 of 300" into two texts; return None for any other text.

    Examples
    --------
    >>> from skgpb.feedback import counts_in
    >>> counts_in("12 of 300"), counts_in("0.04")
    (('12', '300'), None)
    """
    found = _COUNTS.fullmatch(text)
    return None if found is None else (found[1], found[2])


def successes_in(text: str) -> Answer:
    """Convert "12 of 300" to the number of successes, for answers that are added to others.

    The noise variance is n^2 times that of the proportion, see :func:`from_counts`.

    Parameters
    ----------
    text : str
        "k of n". "0 of 0" counts as "0 of 1", so that the noise variance is above 0.

    Returns
    -------
    reward, alpha : float
        k, and n q (1 - q) with q = (k + 1) / (n + 2).

    Examples
    --------
    >>> from skgpb.feedback import successes_in
    >>> reward, alpha = successes_in("12 of 300")
    >>> reward, round(alpha, 2)
    (12.0, 12.36)
    """
    counts = counts_in(text)
    try:
        k, n = map(float, counts or ())
    except ValueError:
        raise ValueError(
            f"reward must be a number, or counts such as '12 of 300', got {text!r}"
        ) from None
    if k == n == 0.0:
        n = 1.0
    _, alpha = from_counts(k, n, stabilize=False)
    return Answer(k, alpha * n**2)


def from_rate(events: ArrayLike, exposure: ArrayLike = 1.0, *, stabilize: bool = True) -> Answer:
    r"""Convert a number of events to a reward and its noise variance, for a rate.

    Parameters
    ----------
    events : float or array-like
        Number x of events, at least 0.
    exposure : float or array-like, default=1.0
        T > 0: time, area or number of people of the count. The rate is per unit of exposure.
    stabilize : bool, default=True
        True for the square root of the rate, whose noise does not depend on the rate. False for the
        rate itself, as for :func:`from_counts`.

    Returns
    -------
    reward, alpha : float or ndarray
        A tuple, for ``tell(query, *answer)``. ``reward`` is
        (sqrt(x) + sqrt(x + 1)) / (2 sqrt(T)), an estimate of the square root of the
        rate, and ``alpha`` is 1 / (4 T). With ``stabilize=False`` they are x / T and (x + 1) / T^2.

    See Also
    --------
    to_rate : Convert a square root back to a rate with an interval.

    Examples
    --------
    >>> from skgpb.feedback import from_rate, to_rate
    >>> reward, alpha = from_rate(7, exposure=40)
    >>> value, lower, upper = to_rate(reward, alpha**0.5)
    >>> print(f"{value:.2f} a day, from {lower:.2f} to {upper:.2f}")
    0.19 a day, from 0.08 to 0.35
    """
    x, exposed = _pair(events, "events", exposure, "exposure")
    if not (exposed > 0.0).all():
        raise ValueError(f"exposure must be above 0, got {exposure!r}")
    if not (x >= 0.0).all():
        raise ValueError(f"events must be at least 0, got {events!r}")
    with np.errstate(over="ignore", divide="ignore"):
        if _as_flag(stabilize):
            root = 0.5 * (np.sqrt(x) + np.sqrt(x + 1.0)) / np.sqrt(exposed)
            reward, alpha = root, 0.25 / exposed
        else:
            reward, alpha = x / exposed, (x + 1.0) / exposed / exposed
    if not np.isfinite(alpha).all():
        raise ValueError(f"exposure is too small for a noise variance, got {exposure!r}")
    return Answer(_plain(reward), _plain(alpha))


def to_proportion(mean: ArrayLike, std: ArrayLike = 0.0, *, level: float = 0.95) -> Estimate:
    """Convert the posterior of an angle to a proportion with an interval.

    Parameters
    ----------
    mean, std : float or array-like
        Posterior of an angle, from an optimizer or regressor with rewards of :func:`from_counts`.
    level : float, default=0.95
        Probability of the interval, between 0 and 1.

    Returns
    -------
    value, lower, upper : float or ndarray
        sin^2 of the mean and of the ends of its interval, after clipping them to [0, pi / 2].
        ``value`` is the median; the interval keeps its probability, and is not symmetric.

    Examples
    --------
    >>> from skgpb.feedback import from_counts, to_proportion
    >>> reward, alpha = from_counts(0, 20)
    >>> value, lower, upper = to_proportion(reward, alpha**0.5)
    >>> print(f"{value:.2f}, from {lower:.2f} to {upper:.2f}")
    0.01, from 0.00 to 0.10
    """
    ends = _ends(mean, std, level)
    return Estimate(*(_plain(np.sin(np.clip(end, 0.0, 0.5 * np.pi)) ** 2) for end in ends))


def to_rate(mean: ArrayLike, std: ArrayLike = 0.0, *, level: float = 0.95) -> Estimate:
    """Convert the posterior of the square root of a rate to a rate with an interval.

    Parameters
    ----------
    mean, std : float or array-like
        Posterior of a square root, from an optimizer or regressor with rewards of
        :func:`from_rate`.
    level : float, default=0.95
        Probability of the interval, between 0 and 1.

    Returns
    -------
    value, lower, upper : float or ndarray
        Squares of the mean and of the ends of its interval, after clipping them at zero; per unit
        of exposure.

    Examples
    --------
    >>> from skgpb.feedback import to_rate
    >>> to_rate(2.0).value
    4.0
    """
    return Estimate(*(_plain(np.maximum(end, 0.0) ** 2) for end in _ends(mean, std, level)))


def _as_flag(stabilize: Any) -> bool:
    if not isinstance(stabilize, bool | np.bool_):
        raise ValueError(f"stabilize must be True or False, got {stabilize!r}")
    return bool(stabilize)


def _ends(mean: ArrayLike, std: ArrayLike, level: float) -> tuple[np.ndarray, ...]:
    """Return the mean and both ends of a normal interval, each of the same shape."""
    if not isinstance(level, Real) or not 0.0 < level < 1.0:
        raise ValueError(f"level must be a probability between 0 and 1, got {level!r}")
    middle, spread = _pair(mean, "mean", std, "std")
    if not (spread >= 0.0).all():
        raise ValueError(f"std must be at least 0, got {std!r}")
    reach = ndtri(0.5 + 0.5 * level) * spread
    return middle, middle - reach, middle + reach


def _pair(first: Any, name: str, second: Any, other: str) -> tuple[np.ndarray, np.ndarray]:
    """Convert two arguments to float arrays and broadcast them to one shape."""
    arrays = []
    for values, called in ((first, name), (second, other)):
        check_unmasked(values, called)
        array = np.asarray(values)
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError(f"{called} must be finite numbers, got {values!r}")
        arrays.append(array.astype(np.float64))
    try:
        left, right = np.broadcast_arrays(*arrays)
    except ValueError as error:
        raise ValueError(
            f"{name} and {other} must have shapes that go together, got {arrays[0].shape} and "
            f"{arrays[1].shape}"
        ) from error
    return left, right


def _plain(values: np.ndarray) -> Any:
    """Return a float for a single value, and an array for several."""
    return float(values) if np.ndim(values) == 0 else values
