r"""What answers tell of differences, and how much more where they were designed in advance.

Answers are y_i = phi_i(f) + eps_i with phi_i and noise variances nu_i all chosen before any answer
came, and independent noise, eps_i being rho sqrt(nu_i)-sub-Gaussian. The posterior mean of a
functional phi has the weights w = Q^-1 k, Q = K + diag(nu), and errs by

.. math:: \phi(f) - \phi(\mu) = \langle f, r \rangle - \sum_i w_i \epsilon_i, \qquad
          r = \phi - \sum_i w_i \phi_i.

Its posterior variance is the sum of what these two parts can be,

.. math:: sd(\phi)^2 = a^2 + b^2, \qquad a^2 = \|r\|^2, \quad b^2 = \sum_i w_i^2 \nu_i,

because k - K w = diag(nu) w. For f of norm at most B the first part is at most B a, whatever f is,
and the second is one rho b-sub-Gaussian number: with probability 1 - delta

.. math:: \phi(f) - \phi(\mu) \le B a + \rho \, b \sqrt{2 \log(1 / \delta)}.

Theorem 1 of [Vakili2021b]_ is this with sd in the place of both a and b, and equal variances; with
variances that differ it is what [Iwazaki2025]_ build on. Answers about the same functional may be
merged by their precisions, by which neither part changes. Nothing depends on the information gain,
which is what choosing in advance is worth; but it holds for one functional at a time.

*A kernel that is wrong by epsilon* (:mod:`skgpb.surrogate.widths`) moves every answer by at most
epsilon, the mean by at most epsilon sum_i abs(w_i), and phi(f) by epsilon for an average.

*Differences.* Which of two functionals is larger is told by the parts of their difference. They are
at most the sums of the two, and far smaller where the two are alike.

References
----------
.. [Vakili2021b] S. Vakili, N. Bouziani, S. Jalali, A. Bernacchia and D. Shiu, "Optimal Order Simple
   Regret for Gaussian Process Bandits", NeurIPS 2021. Theorem 1.
.. [Iwazaki2025] S. Iwazaki and S. Takeno, "Improved Regret Analysis in Gaussian Process Bandits:
   Optimality for Noiseless Reward, RKHS norm, and Non-Stationary Variance", ICML 2025.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
from scipy.special import ndtr

from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.pairs import BLOCK


def differences(
    gp: GaussianProcess, rows: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """How far functionals lie above others, a few at a time; O(n t^2 + n^2 t) for all pairs.

    Parameters
    ----------
    gp : GaussianProcess
        What was observed.
    rows : ndarray of shape (n, n_columns)
        Descriptor rows of the functionals.

    Yields
    ------
    gap : ndarray of shape (k, n)
        Means of all less those of the next k functionals, in units of the process.
    own, noise : ndarray of shape (k, n)
        Variances of these differences: a^2, what f leaves open, and b^2, what noise does.
    """
    several = Functionals.of_rows(rows)
    K = gp.covariance(several, gp.observed)
    mean = K @ gp.posterior.weights()
    gp.posterior.solve_rows(K)
    explained = K.copy()
    gp.posterior.solve_rows(K, transposed=True)
    errors = K * np.sqrt(gp.posterior.noises())
    total = gp.variance(several) - np.einsum("ij,ij->i", explained, explained)
    of_noise = np.einsum("ij,ij->i", errors, errors)
    size = max(1, BLOCK // len(rows))
    for start in range(0, len(rows), size):
        some = np.arange(start, min(start + size, len(rows)))
        C = gp.covariance(several.chosen(some), several) - explained[some] @ explained.T
        variance = np.maximum(total[some, None] + total - 2.0 * C, 0.0)
        noise = of_noise[some, None] + of_noise - 2.0 * errors[some] @ errors.T
        noise = np.clip(noise, 0.0, variance)
        yield mean - mean[some, None], variance - noise, noise


def outdone(
    gp: GaussianProcess,
    rows: np.ndarray,
    B: float,
    share: float,
    log_odds: float,
    misspecification: float = 0.0,
) -> np.ndarray:
    """Functionals that lie below another one, for every f of norm at most B.

    The largest one is among them with a probability of at most n - 1 times exp(-log_odds), if the
    answers were designed in advance: as many differences have to hold, those with it.

    Parameters
    ----------
    gp : GaussianProcess
        The answers of one design.
    rows : ndarray of shape (n, n_columns)
        Descriptor rows of the functionals.
    B : float
        Bound on the norm of f, in units of the process.
    share : float
        rho: noise of variance alpha is share * sqrt(alpha)-sub-Gaussian.
    log_odds : float
        log(1 / delta), of each difference.
    misspecification : float, default=0.0
        epsilon, in the user's units.

    Returns
    -------
    outdone : ndarray of bool, shape (n,)
    """
    epsilon, factor = misspecification / gp.scale, share * sqrt(2.0 * log_odds)
    moved = epsilon * (1.0 + _size_of_weights(gp, rows)) if epsilon > 0.0 else np.zeros(len(rows))
    out, done = np.zeros(len(rows), dtype=bool), 0
    for gap, own, noise in differences(gp, rows):
        some = slice(done, done := done + len(gap))
        width = B * np.sqrt(own) + factor * np.sqrt(noise) + moved[some, None] + moved
        out[some] = (gap > width).any(axis=1)
    return out


def outdone_within(gp: GaussianProcess, rows: np.ndarray, beta: float, margin: float) -> np.ndarray:
    """Functionals that lie below another one by sqrt(beta) deviations of their difference.

    Parameters
    ----------
    gp : GaussianProcess
        Any answers.
    rows : ndarray of shape (n, n_columns)
        Descriptor rows of the functionals.
    beta : float
        A factor of the variance that holds for all functionals, as
        :func:`~skgpb.surrogate.widths.norm_beta`.
    margin : float
        Further distance, in the user's units.

    Returns
    -------
    outdone : ndarray of bool, shape (n,)
    """
    width = sqrt(beta)
    parts = [
        (gap > width * np.sqrt(own + noise) + margin / gp.scale).any(axis=1)
        for gap, own, noise in differences(gp, rows)
    ]
    return np.concatenate(parts)


def chances_of_best(gp: GaussianProcess, rows: np.ndarray) -> np.ndarray:
    """Upper bounds on the probability that each functional is the largest, f being the process.

    It is at most the probability of being no less than another one, whichever: the least of
    these. However the questions were chosen, because that changes no posterior.

    Parameters
    ----------
    gp : GaussianProcess
        All answers.
    rows : ndarray of shape (n, n_columns)
        Descriptor rows of the functionals.

    Returns
    -------
    chances : ndarray of shape (n,)
        At least 1/2 for that of the largest mean.
    """
    parts = []
    for gap, own, noise in differences(gp, rows):
        std = np.sqrt(own + noise)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = gap / std
        scores[(std == 0.0) & (gap == 0.0)] = 0.0
        parts.append(ndtr(-scores.max(axis=1)))
    return np.concatenate(parts)


def _size_of_weights(gp: GaussianProcess, rows: np.ndarray) -> np.ndarray:
    """Sum of the absolute weights of answers in each mean."""
    K = gp.covariance(Functionals.of_rows(rows), gp.observed)
    gp.posterior.solve_rows(K)
    gp.posterior.solve_rows(K, transposed=True)
    return np.abs(K).sum(axis=1)
