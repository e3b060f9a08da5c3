r"""Model criticism: how far each answer is from its prediction, given all others.

The factor that predictions are made from also says what they would be without one of the answers.
With the covariance Q of the answers and w = Q^-1 y the i-th is expected, from all others, with the
error w_i / Q^-1_ii and the variance 1 / Q^-1_ii, [RW2006]_ equations 5.10 to 5.12.

References
----------
.. [RW2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT
   Press, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, pi, sqrt

import numpy as np
from scipy.linalg.lapack import dtrtri
from scipy.special import chdtrc, ndtri, stdtrit

from skgpb.surrogate.blas import one_thread_if_small
from skgpb.surrogate.gaussian_process import GaussianProcess

# Probability that a correct model is reported as contradicted, over all checks of a run.
RISK = 1e-3
# Distinct queries that are answered before the first check, with given and with learned
# hyperparameters; the next check follows when their number has doubled.
FEWEST, FEWEST_LEARNED = 3, 10
# Number of the distinct queries, answered last, that are checked.
LAST = 500
# Errors below this share of the spread of the answers are no contradiction, however certain the
# model is: rounding makes them.
HARMLESS = 1e-3


def risk_of_check(number: int) -> float:
    """Share of the risk that a check may spend, counted from 1; the sum is at most the risk."""
    return RISK * 6.0 / (pi * number) ** 2


@dataclass(frozen=True)
class Criticism:
    """Comparison of the answers with the model that predicts them.

    Attributes
    ----------
    residuals : ndarray of shape (n,)
        Standardized leave-one-out residuals of the distinct queries that were answered last, 500 at
        most: the answer minus its prediction from all others, in standard deviations of that
        prediction, noise included. They are standard normal if the model is right. The mean counts
        if a query was answered several times.
    first : int
        Number of the first of them among all distinct queries.
    most : float
        No residual of a right model is larger in absolute value, but for the risk of the check.
        Infinite where a scale was learned from fewer than ten distinct queries.
    repeats : float
        Variance of the answers to one query, as a multiple of what the noise lets expect; NaN where
        nothing was asked twice.
    repeats_fit : bool
        Whether that is possible.
    """

    residuals: np.ndarray
    first: int
    most: float
    repeats: float = float("nan")
    repeats_fit: bool = True

    @property
    def wild(self) -> np.ndarray:
        """Numbers of the distinct queries whose residuals are too large, the largest first."""
        size = np.abs(self.residuals)
        order = np.argsort(-size, kind="stable")
        return self.first + order[size[order] > self.most]

    @property
    def contradicts(self) -> bool:
        """True if the model does not explain some answers."""
        return not self.repeats_fit or bool(len(self.wild))

    def size_of(self, number: int) -> float:
        """Absolute residual of a distinct query."""
        return abs(float(self.residuals[number - self.first]))

    @classmethod
    def of(cls, gp: GaussianProcess, risk: float = RISK, learned: bool = False) -> Criticism:
        """Return that of a process and all that it has observed.

        Parameters
        ----------
        gp : GaussianProcess
            The model, and the answers.
        risk : float, default=0.001
            Probability with which a right model may be called contradicted.
        learned : bool, default=False
            Whether the scale of f or of the noise was learned from these answers. One wild answer
            then makes all deviations larger, its own among them, and the bound is that of
            studentised residuals.

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
        posterior, n = gp.posterior, len(gp.observed)
        first = max(0, n - LAST)
        # L^-1 e_i is zero above i: the last columns of the inverse need the last rows alone.
        with one_thread_if_small(n - first):
            inverse, _ = dtrtri(posterior.factor()[first:, first:].T, lower=0)
        precision = np.einsum("ij,ij->i", inverse, inverse)
        targets = posterior.targets()
        least = HARMLESS * float(np.ptp(targets)) if n else 0.0
        errors = posterior.weights()[first:] / precision
        residuals = errors / np.sqrt(1.0 / precision + least**2)
        # Half of the risk is for either kind; of the residuals for all together.
        each = 0.25 * risk / max(n - first, 1)
        if learned and n < FEWEST_LEARNED:
            most = inf  # the scale was learned from too few to judge one of them by the others
        elif learned:
            t = float(stdtrit(n - 2, 1.0 - each))
            most = t * sqrt((n - 1) / (n - 2 + t**2))
        else:
            most = -float(ndtri(each))
        square, _ = posterior.repeat_terms()
        more = int(posterior.counts().sum()) - n
        if not more:
            return cls(residuals, first, most)
        fit = bool(chdtrc(more, square) > 0.5 * risk)
        return cls(residuals, first, most, square / more, fit)
