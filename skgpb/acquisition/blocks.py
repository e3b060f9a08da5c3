r"""The knowledge gradient of an answer with several numbers.

An answer y to a query of k rows a is normal. With S the posterior covariance of a, R the noise
variances and C the covariances of a and the targets, :math:`W = (S + R)^{-1/2}` turns it into k
independent standard normal numbers z, and target means become :math:`m + (W C)^T z`.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm, qmc

from skgpb.acquisition.entropy import LARGEST_SHARE
from skgpb.acquisition.knowledge import log_knowledge_gradient

# Draws of an answer, in pairs of opposite sign.
N_DRAWS = 256
# Shares of a variance up to this one are rounding errors: nothing is left to be told.
KNOWN_SHARE = 1e-12


def inverse_root(covariance: np.ndarray) -> np.ndarray:
    """Symmetric roots (..., k, k) of the inverses of covariances of answers, 0 where these are.

    Examples
    --------
    >>> import numpy as np
    >>> inverse_root(np.diag([4.0, 0.0]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    values, vectors = np.linalg.eigh(covariance)
    least = KNOWN_SHARE * np.maximum(values.max(axis=-1, keepdims=True), 0.0)
    shares = np.where(values > least, values, np.inf) ** -0.5
    return (vectors * shares[..., np.newaxis, :]) @ np.swapaxes(vectors, -1, -2)


def standard_draws(k: int, rng: np.random.Generator) -> np.ndarray:
    """Standard normal draws (256, k) of low discrepancy, each with its opposite."""
    unit = qmc.Sobol(k, seed=rng).random_base2(int(np.log2(N_DRAWS // 2)))
    half = norm.ppf(np.clip(unit, 1e-12, 1.0 - 1e-12))
    return np.concatenate([half, -half])


def log_block_gain(mean: np.ndarray, effects: np.ndarray, draws: np.ndarray) -> float:
    """Logarithm of the expected rise of the largest target mean by one answer of k numbers.

    Parameters
    ----------
    mean : ndarray of shape (n_targets,)
        Posterior means of the targets.
    effects : ndarray of shape (k, n_targets)
        Change of the targets' means per unit of each of the k independent parts of an answer.
    draws : ndarray of shape (n_draws, k)
        Standard normal; the same for all queries.

    Returns
    -------
    log_gain : float
        The mean over the draws; exact where k = 1. It is never below the exact gain of the one
        combination of the numbers that moves the targets most, which sees the rare answers that no
        draw has.
    """
    vectors = np.linalg.eigh(np.cov(effects, bias=True).reshape(len(effects), -1))[1]
    along = vectors[:, -1:].T @ effects
    exact = float(log_knowledge_gradient(mean, along, np.ones(1), np.zeros(1))[0])
    if len(effects) == 1:
        return exact
    rise = float((mean + draws @ effects).max(axis=1).mean() - mean.max())
    return max(exact, float(np.log(rise))) if rise > 0.0 else exact


def information_of_block(answers: np.ndarray, covariance: np.ndarray, variance: float) -> float:
    """Information in nats about a functional, by an answer of several numbers.

    Parameters
    ----------
    answers : ndarray of shape (k, k)
        Covariance of the answer, noise included.
    covariance : ndarray of shape (k,)
        Posterior covariances of the functional with its numbers.
    variance : float
        Posterior variance of the functional, above 0.
    """
    share = float(((inverse_root(answers) @ covariance) ** 2).sum()) / variance
    return -0.5 * float(np.log1p(-min(share, LARGEST_SHARE)))


def log_det_ratio(answers: np.ndarray, noise: np.ndarray) -> float:
    """Log det(S) - log det(R), at most what a noise of 1e-9 of the variances leaves.

    Parameters
    ----------
    answers : ndarray of shape (k, k)
        S, the covariance of an answer, noise included.
    noise : ndarray of shape (k, k)
        R, the covariance of its noise.
    """
    S, R, variances = answers, noise, np.diag(noise)
    if np.count_nonzero(R - np.diag(variances)):
        root = inverse_root(S)
        left = np.linalg.eigvalsh(root @ R @ root)[len(S) - np.linalg.matrix_rank(root) :]
        return -float(np.log(np.maximum(left, 1.0 - LARGEST_SHARE)).sum())
    variances = np.maximum(variances, (1.0 - LARGEST_SHARE) * np.diag(S))
    if not (variances > 0.0).all():
        return 0.0
    return float(np.linalg.slogdet(S / np.outer(np.sqrt(variances), np.sqrt(variances)))[1])
