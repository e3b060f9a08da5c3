r"""Model criticism: compare each answer with its prediction from all other answers.

The Cholesky factor behind the predictions also gives the leave-one-out predictions. Let Q be the
covariance of the answers and w = Q^-1 y. Predicted from all others, answer i has the error
w_i / Q^-1_ii and the variance 1 / Q^-1_ii ([RW2006]_, equations 5.10 to 5.12). The residual is the
error divided by the standard deviation. Whether the model is contradicted is decided with the
square of a thousandth of the range of the answers added to the variance, because so small an error
may be rounding.

References
----------
.. [RW2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT
   Press, 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, pi, sqrt

import numpy as np
from scipy.special import chdtr, chdtrc, ndtri, stdtrit
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb.surrogate.blas import one_thread_if_small
from skgpb.surrogate.gaussian_process import GaussianProcess

# Speed: largest number of queries whose triangle LAPACK inverts on one thread by itself.
ALONE = 64
# Accuracy: number of variances that are compared, within three deviations of their prior.
N_VARIANCES = 25


def risk_of_check(number: int) -> float:
    """Return the share of the risk for check ``number``, from 1; all shares sum to the risk."""
    return defaults.RISK * 6.0 / (pi * number) ** 2


def residual_bound(
    n_residuals: int, risk: float, learned: bool, n_answered: int | None = None
) -> float:
    """Return the bound on all absolute standardised residuals of a correct model.

    Parameters
    ----------
    n_residuals : int
        Number of residuals.
    risk : float
        Probability with which any residual of a correct model exceeds the bound.
    learned : bool
        Whether the scale of f or of the noise was learned from these answers. One outlier then
        increases all deviations, including its own, and the bound is that of studentised
        residuals.
    n_answered : int, default=None
        Number of distinct queries that the scale was learned from; None for ``n_residuals``.

    Returns
    -------
    bound : float
        Infinite if a scale was learned from fewer than ten queries, which are too few to judge one
        of them by the others.
    """
    n = n_residuals if n_answered is None else n_answered
    each = 0.5 * risk / max(n_residuals, 1)
    if not learned:
        return -float(ndtri(each))
    if n < defaults.FIRST_CHECK_LEARNED:
        return inf
    t = float(stdtrit(n - 2, 1.0 - each))
    return t * sqrt((n - 1) / (n - 2 + t**2))


def leave_one_out(gp: GaussianProcess, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Compare each distinct query from index ``first`` on with its prediction from all others.

    Returns
    -------
    errors, variances : ndarray of shape (n - first,)
        Mean answer minus its prediction, and the variance of this error, noise included.
    """
    posterior = gp.posterior
    if posterior.n - first <= ALONE:
        return posterior.leave_one_out(first)
    with one_thread_if_small(posterior.n - first):
        return posterior.leave_one_out(first)


def leave_one_out_refit(
    K: np.ndarray, noise: np.ndarray, y: np.ndarray, spreads: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Predict each answer from all others, with the most probable variances given these others.

    A model that was learned from a wrong answer may explain it as noise. Here the variances are
    chosen without the answer that is predicted.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Covariances of the observed functionals, for the median of the variance of f.
    noise : ndarray of shape (n,)
        Median noise variances of the answers.
    y : ndarray of shape (n,)
        Answers.
    spreads : pair of floats
        Standard deviations of the logarithms of the variance of f and of the noise variance; 0 for
        a variance that is given.

    Returns
    -------
    errors, variances : ndarray of shape (n,)
        As of :func:`leave_one_out`.

    Examples
    --------
    Nine answers agree, and one does not:

    >>> import numpy as np
    >>> from skgpb.surrogate.criticism import leave_one_out_refit
    >>> y = np.array([1.0, 1.1, 0.9, 1.0, 1.2, 5.0, 1.1, 0.9, 1.0, 1.1])
    >>> errors, variances = leave_one_out_refit(np.ones((10, 10)), np.ones(10), y, (1.0, 1.5))
    >>> bool(errors[5] > 3.9 and errors[5] > 10 * variances[5] ** 0.5)
    True
    """
    root = np.sqrt(noise)
    values, U = np.linalg.eigh(K / np.outer(root, root))
    z = np.linspace(-3.0, 3.0, N_VARIANCES)
    of_f, of_noise = (np.unique(spread * z) for spread in spreads)
    a, s = (each.ravel() for each in np.meshgrid(of_f, of_noise))
    prior = -0.5 * sum((x / t) ** 2 if t else 0.0 for x, t in zip((a, s), spreads, strict=True))
    # One column for each pair of variances; rows are eigenvectors, then answers.
    weight = 1.0 / (np.exp(a) * np.maximum(values, 0.0)[:, np.newaxis] + np.exp(s))
    along = (U.T @ (y / root))[:, np.newaxis]
    density = 0.5 * (np.log(weight) - along**2 * weight).sum(axis=0) + prior
    variances = 1.0 / (U**2 @ weight)
    errors = (U @ (along * weight)) * variances
    best = (density + 0.5 * (np.log(variances) + errors**2 / variances)).argmax(axis=1)
    each = np.arange(len(y))
    return errors[each, best] * root, variances[each, best] * noise


def deviations_from_others(values: np.ndarray) -> np.ndarray:
    """Return how far each of n > 2 values is from the mean of the others, in their deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.surrogate.criticism import deviations_from_others
    >>> deviations_from_others(np.array([1.0, 1.0, 2.0, 0.0])).round(2)
    array([0.  , 0.  , 2.31, 2.31])
    >>> deviations_from_others(np.array([1.0, 1.0, 1.0, 2.0]))
    array([0.57735027, 0.57735027, 0.57735027,        inf])
    """
    n = len(values)
    gap = (values - values.mean()) * (n / (n - 1))
    # Leaving a value out takes its part of the sum of squares, and the mean moves.
    left = np.maximum(values.var() * n - gap**2 * ((n - 1) / n), 0.0) / (n - 2)
    rounding = 1e-12 * np.square(values).max(initial=0.0)
    far = np.full(n, np.inf)
    return np.divide(np.abs(gap), np.sqrt(left), out=far, where=left > rounding)


def explains_nothing(gp: GaussianProcess) -> bool:
    """Return whether the model predicts answers no better than the mean of the others does.

    The most recent 500 distinct queries are compared. The result is False for fewer than ten.
    """
    first, n = max(0, len(gp.observed) - defaults.N_CHECKED), len(gp.observed)
    if n < defaults.FIRST_CHECK_LEARNED:
        return False
    errors, _ = leave_one_out(gp, first)
    targets = gp.posterior.targets()[first:]
    m = len(targets)
    by_mean = (targets - targets.mean()) * (m / (m - 1))
    return bool(errors @ errors >= by_mean @ by_mean)


def lacks_fit(gp: GaussianProcess, noise: float) -> bool:
    """Return whether most of a noise variance is variation of f between queries.

    Answers to the same query then agree much better than the noise variance predicts. The first
    test is a test for lack of fit: the variance of repeated answers must be less than half of the
    noise variance, and as small under a correct model with a probability of at most
    ``LACK_OF_FIT``. The second test excludes noise that is only lower at the repeated queries:
    their mean answers must be ``ODDS_OF_ROUGHNESS`` times as probable if the difference of the
    two variances is variation of f.

    Parameters
    ----------
    gp : GaussianProcess
        The model, conditioned on the answers.
    noise : float
        Noise variance of an answer, in units of the process.
    """
    counts = gp.posterior.counts()
    square, _ = gp.posterior.repeat_terms()
    more = int(counts.sum()) - len(counts)
    if not (square < 0.5 * more and chdtr(more, square) <= defaults.LACK_OF_FIT):
        return False
    first = max(0, len(counts) - defaults.N_CHECKED)
    repeated = counts[first:] > 1
    errors, variances = (each[repeated] for each in leave_one_out(gp, first))
    # Share of the noise that repeated answers do not show. The model's noise counts as one degree
    # of freedom, so that equal answers are not taken for exact ones.
    hidden = 1.0 - (square + 1.0) / (more + 1.0)
    smooth = variances - hidden * gp.posterior.noises()[first:][repeated]
    rough = smooth + hidden * noise
    odds = 0.5 * (errors**2 * (1.0 / smooth - 1.0 / rough) - np.log(rough / smooth)).sum()
    return bool(odds >= log(defaults.ODDS_OF_ROUGHNESS))


@dataclass(frozen=True)
class Criticism:
    """Comparison of the answers with the model that predicts them.

    Attributes
    ----------
    residuals : ndarray of shape (n,)
        Standardized leave-one-out residuals of the most recent distinct queries, 500 at most: the
        answer minus its prediction from all others, divided by the standard deviation of that
        prediction, noise included. They are standard normal if the model is right. The mean answer
        counts if a query was answered several times.
    sizes : ndarray of shape (n,)
        Absolute residuals, with the square of a thousandth of the range of the answers added to
        the variance, because a smaller error may be rounding. They decide whether the answers
        contradict the model.
    first : int
        Index of the first residual among all distinct queries.
    most : float
        Bound on the ``sizes`` of a correct model, exceeded with probability ``risk``. Infinite
        if a scale was learned from fewer than ten distinct queries.
    repeats : float
        Variance of the answers to one query, divided by the noise variance; NaN if no query was
        answered twice.
    repeats_fit : bool
        Whether the model makes ``repeats`` plausible.
    """

    residuals: np.ndarray
    sizes: np.ndarray
    first: int
    most: float
    repeats: float = float("nan")
    repeats_fit: bool = True

    @property
    def outliers(self) -> np.ndarray:
        """Indices of the distinct queries whose residuals are too large, the largest first."""
        order = np.argsort(-self.sizes, kind="stable")
        return self.first + order[self.sizes[order] > self.most]

    @property
    def contradicts(self) -> bool:
        """True if the answers contradict the model."""
        return not self.repeats_fit or bool((self.sizes > self.most).any())

    @classmethod
    def of(cls, gp: GaussianProcess, risk: float | None = None, learned: bool = False) -> Criticism:
        """Compare a process with all its observations.

        Parameters
        ----------
        gp : GaussianProcess
            The model, conditioned on the answers.
        risk : float, default=None
            Probability that a correct model is reported as contradicted; None for 0.001.
        learned : bool, default=False
            Whether the scale of f or of the noise was learned from these answers. A single outlier
            then increases all standard deviations, including its own, so the bound for studentised
            residuals applies.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.gaussian_process.kernels import RBF
        >>> from skgpb.surrogate import GaussianProcess
        >>> gp = GaussianProcess(RBF(1.0), n_columns=1)
        >>> for x in (0.0, 0.3, 0.6, 1.0):
        ...     _ = gp.observe(np.array([[x]]), np.cos(5 * x), noise=1e-10)
        >>> Criticism.of(gp).contradicts
        True
        """
        risk = defaults.RISK if risk is None else risk
        posterior, n = gp.posterior, len(gp.observed)
        first = max(0, n - defaults.N_CHECKED)
        errors, variances = leave_one_out(gp, first)
        targets = posterior.targets()
        least = defaults.NEGLIGIBLE * float(targets.max() - targets.min()) if n else 0.0
        residuals = errors / np.sqrt(variances)
        sizes = np.abs(errors) / np.sqrt(variances + least**2)
        # Half of the risk is for the repeated answers, half for all residuals together.
        most = residual_bound(n - first, 0.5 * risk, learned, n)
        square, _ = posterior.repeat_terms()
        more = int(posterior.counts().sum()) - n
        if not more:
            return cls(residuals, sizes, first, most)
        fit = bool(chdtrc(more, square) > 0.5 * risk)
        return cls(residuals, sizes, first, most, square / more, fit)


def contradiction_message(
    found: Criticism,
    worst: str,
    kernel: Kernel,
    noise: float,
    *,
    knows_noise: bool,
    learns_kernel: bool,
) -> str:
    """Return a message on how the answers contradict the model, with a remedy.

    Parameters
    ----------
    found : Criticism
        The comparison, which contradicts the model.
    worst : str
        Name of the query with the largest residual.
    kernel : Kernel
        Kernel of the model.
    noise : float
        Noise variance of an answer.
    knows_noise, learns_kernel : bool
        Whether the noise is given, and whether the hyperparameters are learned.
    """
    known = f"a noise variance of {noise:.3g}"
    if not found.repeats_fit:
        said = (
            f"the variance of answers to the same query is {found.repeats:.3g} times as large "
            f"as expected under {known}"
        )
        if knows_noise:
            return f"the answers contradict the model: {said}; alpha=None learns it"
    else:
        outliers = found.outliers
        some = "one answer differs" if len(outliers) == 1 else f"{len(outliers)} answers differ"
        said = (
            f"{some} from the prediction that all others give, {worst} "
            f"by {found.sizes.max():.3g} standard deviations, under kernel "
            f"{kernel} and {known}"
        )
    return f"the answers contradict the model: {said}; " + (
        "kernel and noise were learned, so f may have jumps, the noise may differ between "
        "queries, or these answers may be wrong"
        if learns_kernel
        else "predictions may have larger errors than their standard deviations say; "
        "kernel=None learns the kernel"
    )


def outliers_message(n: int, worst: str, variance: float) -> str:
    """Return a message on n outliers, with the name and the noise variance of the worst."""
    some = "one answer is" if n == 1 else f"{n} answers are"
    return (
        f"{some} far from what all others let expect, {worst} by "
        f"{sqrt(variance):.3g}; unless an answer to the same query confirms it, it counts little: "
        f"its noise variance is taken to be {variance:.3g}"
    )
