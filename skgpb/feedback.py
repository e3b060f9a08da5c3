r"""Answers that are counts: conversion to a reward and its variance, and back.

Such answers are k ill people among n, 12 clicks of 300 visitors, or 7 failures of machines in 40
days. Their noise depends on what is sought: a proportion near one half is noisier than one near
zero. A Gaussian process wants to be told the noise, so the answer is turned into one whose noise is
known beforehand. The angle arcsin(sqrt(p)) of a proportion p is estimated with the same variance
whatever p is, and so is the square root of a rate.

The estimates are those of [Freeman1950]_, which err least near zero and one: the mean squared
error is at most 1.141 times ``alpha`` for every number of trials and every p, and from 10 trials
on, as for every rate, at most 1.074 times.

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
    """A reward and its noise variance, as ``tell(query, *answer)`` takes them.

    Attributes
    ----------
    reward : float or ndarray
        The reward to tell.
    alpha : float or ndarray
        Variance of the noise in it.
    """

    reward: Any
    alpha: Any


class RowAverage(float):
    """The average over the rows of a cell, and how many these are; a float otherwise.

    It is what ``tell(cell, value, count=n)`` stands for, and what an objective returns to ``run``
    where cells may hold few rows, or none.

    Parameters
    ----------
    value : float or None
        The average. It is not looked at where there is no row.
    count : int
        Number of rows, 0 for none.

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
    """A value and an interval around it, in the units that people read.

    Attributes
    ----------
    value : float or ndarray
        The estimate, a median.
    lower, upper : float or ndarray
        Ends of the interval that holds it with the probability asked for.
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
        not be whole.
    stabilize : bool, default=True
        True for the angle, whose noise does not depend on p. False for the proportion itself: it is
        what has to be told where an average over a region is meant exactly as an average, and its
        noise variance is then an estimate that is poor for few successes or failures.

    Returns
    -------
    reward, alpha : float or ndarray
        A tuple, for ``tell(query, *answer)``. ``reward`` is
        (arcsin(sqrt(k / (n + 1))) + arcsin(sqrt((k + 1) / (n + 1)))) / 2, an estimate
        of arcsin(sqrt(p)) in radians, and ``alpha`` 1 / (4 n + 2). Without ``stabilize`` k / n and
        q (1 - q) / n, with q = (k + 1) / (n + 2).

    See Also
    --------
    to_proportion : Back to a proportion with an interval.

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
    """Return what somebody has written before and behind "of", as in "12 of 300", if it is there.

    Examples
    --------
    >>> from skgpb.feedback import counts_in
    >>> counts_in("12 of 300"), counts_in("0.04")
    (('12', '300'), None)
    """
    found = _COUNTS.fullmatch(text)
    return None if found is None else (found[1], found[2])


def successes_in(text: str) -> Answer:
    """Convert "12 of 300" to the number of successes, for answers that are added up.

    Its noise variance is n^2 times that of the proportion, see :func:`from_counts`.

    Parameters
    ----------
    text : str
        "k of n". "0 of 0" counts as "0 of 1": it is 0, but not for certain.

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
        Their number x, at least 0.
    exposure : float or array-like, default=1.0
        T > 0: time, area or people in which they happened. The rate is per unit of it.
    stabilize : bool, default=True
        True for the square root of the rate, whose noise does not depend on the rate. False for the
        rate itself, as for :func:`from_counts`.

    Returns
    -------
    reward, alpha : float or ndarray
        A tuple, for ``tell(query, *answer)``. ``reward`` is
        (sqrt(x) + sqrt(x + 1)) / (2 sqrt(T)), an estimate of the square root of the
        rate, and ``alpha`` 1 / (4 T). Without ``stabilize`` x / T and (x + 1) / T^2.

    See Also
    --------
    to_rate : Back to a rate with an interval.

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
        Posterior of an angle, from a process that was told answers of :func:`from_counts`.
    level : float, default=0.95
        Probability of the interval, between 0 and 1.

    Returns
    -------
    value, lower, upper : float or ndarray
        sin^2 of the mean and of the ends of its interval, all of them first moved into
        [0, pi / 2]. A median stays a median and an interval keeps its probability; neither is
        symmetric.

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
        Posterior of a square root, from a process that was told answers of :func:`from_rate`.
    level : float, default=0.95
        Probability of the interval, between 0 and 1.

    Returns
    -------
    value, lower, upper : float or ndarray
        Squares of the mean and of the ends of its interval, none of them below zero. Per unit of
        exposure.

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
    """Mean and both ends of a normal interval."""
    if not isinstance(level, Real) or not 0.0 < level < 1.0:
        raise ValueError(f"level must be a probability between 0 and 1, got {level!r}")
    middle, spread = _pair(mean, "mean", std, "std")
    if not (spread >= 0.0).all():
        raise ValueError(f"std must be at least 0, got {std!r}")
    reach = ndtri(0.5 + 0.5 * level) * spread
    return middle, middle - reach, middle + reach


def _pair(first: Any, name: str, second: Any, other: str) -> tuple[np.ndarray, np.ndarray]:
    """Two arguments as arrays of one shape."""
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
