r"""Confidence widths for every linear functional of f, at all times simultaneously.

f has norm at most B in the reproducing kernel Hilbert space of the prior covariance k. Answers are
y_i = phi_i(f) + eps_i with phi_i and a variance alpha_i chosen, in any way, before the answer
comes, and eps_i is rho sqrt(alpha_i)-sub-Gaussian given all answers before. With mu_t the
posterior mean for noise variances alpha_i, and V_t = I + sum_i phi_i phi_i^T / alpha_i,

.. math:: \|f - \mu_t\|_{V_t}^2 \le \beta_t = B^2 + 2 \rho^2 (\gamma_t + \log(1 / \delta))

at all times t with probability 1 - delta, where gamma_t = 1/2 log det V_t is the information gain
of these very answers. A functional phi moves over that ball by sqrt(beta_t) times its posterior
standard deviation, so that |phi(f) - phi(mu_t)| <= sqrt(beta_t) sd_t(phi) for all of them: points,
averages over cells, windows. No union bound is needed, neither over them nor over rounds.

*Why.* For every g the products of exp((eps_i (phi_i(g - f)) - phi_i(g - f)^2 / 2) / (rho^2
alpha_i)) are a supermartingale that starts at one, and so is their average over g from the
Gaussian process of covariance rho^2 k. By Ville's inequality it stays below 1 / delta, which reads

.. math:: \sum_i (y_i - \phi_i(f))^2 / \alpha_i \le y^T Q^{-1} y + 2 \rho^2 (\gamma_t +
          \log(1 / \delta)),    Q = K + \mathrm{diag}(\alpha).

Completing the square, the sum of these squares and of f's own squared norm is y^T Q^-1 y +
\|f - mu_t\|_V^2. The two together give beta_t: the sum of two squares, where the triangle
inequality [AbbasiYadkori2013]_ [Chowdhury2017]_ gives the square of their sum. It is the analytic
bound of [Flynn2024]_. Their dual bound uses the two inequalities as they are, and is tighter for
most functionals (:func:`norm_ends`).

Noise variances may differ. Answers about the same functional may be merged, by which neither mu_t
nor V_t changes. k and c k have the same functions, of norms that differ by sqrt(c). A larger alpha
than the variance of the noise (rho < 1) regularises more, and the factor of a smaller gain falls
[Whitehouse2023]_ (:func:`balancing_alpha`).

*A kernel that is wrong by epsilon.* If not f but some f_0 within epsilon of it has norm at most B
and the functionals are averages, answers are about f_0 with an error of at most epsilon each, which
moves mu_t by at most epsilon sqrt(sum_i 1 / alpha_i) in the norm of V_t [Bogunovic2021]_:

.. math:: |\phi(f) - \phi(\mu_t)| \le (\sqrt{\beta_t} + \epsilon \sqrt{\textstyle\sum_i 1 /
          \alpha_i}) \, sd_t(\phi) + \epsilon.

References
----------
.. [AbbasiYadkori2013] Y. Abbasi-Yadkori, "Online Learning for Linearly Parametrized Control
   Problems", PhD thesis, University of Alberta, 2013. Theorem 3.11.
.. [Chowdhury2017] S. R. Chowdhury and A. Gopalan, "On Kernelized Multi-armed Bandits", ICML
   2017. Theorem 2.
.. [Bogunovic2021] I. Bogunovic and A. Krause, "Misspecified Gaussian Process Bandit
   Optimization", NeurIPS 2021.
.. [Whitehouse2023] J. Whitehouse, Z. S. Wu and A. Ramdas, "On the Sublinear Regret of GP-UCB",
   NeurIPS 2023.
.. [Flynn2024] H. Flynn and D. Reeb, "Tighter Confidence Bounds for Sequential Kernel Regression",
   2024.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log, sqrt

import numpy as np
from scipy.optimize import brentq

from skgpb.exceptions import GuaranteeWarning
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.utils.validation import check_real
from skgpb.utils.warnings import warn

# Accuracy: weights of the norm relative to the answers that the dual bound tries; beta_t uses 1.
WEIGHTS = np.geomspace(1e-4, 1e4, 81)
# Accuracy: weights s of squared residuals.
EXPONENTS = np.array([0.25, 0.125, 0.0625, 0.03125])
# Speed: largest number of distinct functionals whose Gram matrix is decomposed to tighten the
# intervals.
MOST_DECOMPOSED = 2000


def gain_of(gp: GaussianProcess) -> float:
    """Return the information gain of all answers with noise, 1/2 log det(I + K / noise)."""
    gain = gp.posterior.gain
    if gain < inf:
        return gain
    # Answers without noise do not contribute.
    noise = gp.posterior.noises()
    noisy = np.flatnonzero(noise > 0.0)
    root = np.sqrt(noise[noisy])
    K = gp.covariance(gp.observed, gp.observed)[np.ix_(noisy, noisy)] / np.outer(root, root)
    return 0.5 * float(np.linalg.slogdet(np.eye(len(noisy)) + K)[1])


def norm_beta(
    gp: GaussianProcess,
    B: float,
    share: float,
    failure_probability: float,
    misspecification: float = 0.0,
) -> float:
    """Return the factor of the variance within which all functionals lie, see the module.

    Parameters
    ----------
    gp : GaussianProcess
        Process with the observations.
    B : float
        Bound on the norm of f, in units of the process.
    share : float
        rho: noise of variance alpha is rho sqrt(alpha)-sub-Gaussian.
    failure_probability : float
        delta, in (0, 1).
    misspecification : float, default=0.0
        epsilon, in the user's units.

    Returns
    -------
    beta : float
    """
    gain = gain_of(gp)
    # Answers without information do not affect the mean, and neither does their noise.
    beta = B * B + (2.0 * share**2 * (gain - log(failure_probability)) if gain > 0.0 else 0.0)
    if misspecification > 0.0 and len(gp.observed):
        with np.errstate(divide="ignore"):
            precision = float((1.0 / gp.posterior.noises()).sum())
        width = sqrt(beta) + misspecification / gp.scale * sqrt(precision)
        beta = width * width
    if not beta < inf:
        raise ValueError(
            f"the width for B={B:g} and misspecification={misspecification:g} is not finite; with "
            "a misspecification every answer needs a noise variance alpha > 0"
        )
    return beta


def norm_ends(
    gp: GaussianProcess,
    row_sets: np.ndarray | list[np.ndarray],
    B: float,
    share: float,
    failure_probability: float,
    misspecification: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the lower and upper ends of simultaneous intervals, one for each functional.

    They are the extremes of phi(f) over all f of norm at most B whose squared distance to the
    answers is at most the bound of the module. For every weight lambda > 0 of the norm, mu and sd
    are those of
    noise variances lambda alpha_i, and

    .. math:: |\phi(f) - \phi(\mu_\lambda)| \le \sqrt{b(\lambda)} \, sd_\lambda(\phi), \quad
              b(\lambda) = B^2 + (y^T Q^{-1} y + 2 \rho^2 (\gamma + \log(1 / \delta))) / \lambda
              - y^T Q_\lambda^{-1} y,

    which at lambda = 1 is the interval of :func:`norm_beta`. Each end uses the best of several
    weights. One eigendecomposition, O(t^3), then O(t) for every functional and weight.

    Parameters
    ----------
    gp : GaussianProcess
        Process with the observations.
    row_sets : ndarray of shape (n, n_columns) or list of ndarray of shape (n_rows, n_columns)
        Descriptor rows of the functionals.
    B, share, failure_probability, misspecification : float
        See :func:`norm_beta`.

    Returns
    -------
    lower, upper : ndarray of shape (n,)
        In the user's units.
    """
    width = sqrt(norm_beta(gp, B, share, failure_probability, misspecification))
    mean, std = gp.moments(row_sets, std=True)
    ends = mean - width * std, mean + width * std
    noise = gp.posterior.noises()
    if misspecification > 0.0:
        return ends[0] - misspecification, ends[1] + misspecification
    if not 0 < len(noise) <= MOST_DECOMPOSED or not noise.min() > 0.0:
        return ends
    several = gp.functionals(row_sets)
    dual = dual_ends(
        gp.covariance(gp.observed, gp.observed),
        noise,
        gp.posterior.targets(),
        gp.covariance(several, gp.observed),
        gp.variance(several),
        B * B,
        2.0 * share**2 * (gain_of(gp) - log(failure_probability)),
    )
    if dual is None:
        warn(
            f"no function of norm B={B:g} fits the answers with a probability of "
            f"{failure_probability:g} or more: B or the noise is larger than given, and these "
            "intervals may be wrong",
            GuaranteeWarning,
        )
        return ends
    lower, upper = (each * gp.scale + gp.offset for each in dual)
    return np.maximum(lower, ends[0]), np.minimum(upper, ends[1])


def dual_ends(
    gram: np.ndarray,
    noise: np.ndarray,
    answers: np.ndarray,
    covariance: np.ndarray,
    variance: np.ndarray,
    norm2: float,
    excess: float,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return :func:`norm_ends` in units of the process, from covariances; None if no f fits.

    Parameters
    ----------
    gram : ndarray of shape (t, t)
        Prior covariances of the observed functionals.
    noise, answers : ndarray of shape (t,)
        Noise variances > 0, and the answers.
    covariance, variance : ndarray of shape (n, t) and (n,)
        Prior covariances of the functionals with the observed ones, and their variances.
    norm2 : float
        B^2.
    excess : float
        2 rho^2 (gamma + log(1 / delta)).

    Returns
    -------
    lower, upper : ndarray of shape (n,)
    """
    root = np.sqrt(noise)
    values, vectors = np.linalg.eigh(gram / np.outer(root, root))
    values, along = np.maximum(values, 0.0)[:, None], (answers / root @ vectors)[:, None]
    squares = _radii(values, along, norm2, excess)
    if squares.min() < 0.0:
        return None
    shares = 1.0 / (values + WEIGHTS)
    rows = (covariance / root) @ vectors
    half = np.sqrt(squares * np.maximum(variance[:, None] - rows**2 @ shares, 0.0))
    mean = rows @ (along * shares)
    return (mean - half).max(axis=1), (mean + half).min(axis=1)


def balancing_alpha(
    gain: Callable[[float], float], B: float, R: float, failure_probability: float = 0.1
) -> float:
    r"""Return the noise variance to regularise by, with which rough kernels have regret bounds.

    With ``alpha`` in the place of the noise variance R^2 the width is, after T answers,

    .. math:: \beta = B^2 + 2 \frac{R^2}{\alpha} \bigl(\gamma_T(\alpha) + \log(1 / \delta)\bigr),
              \qquad (1)

    and the bound on the regret of GP-UCB, for alpha of at least the prior variance, of the order of

    .. math:: \sqrt{\beta \, \alpha \, \gamma_T(\alpha) \, T}. \qquad (2)

    The first term of its square, that of B, grows with alpha, and the second falls. They are equal
    at the solution of

    .. math:: \alpha B^2 = 2 R^2 \bigl(\gamma_T(\alpha) + \log(1 / \delta)\bigr), \qquad (3)

    where beta is at most 2 B^2 whatever T is. So alpha grows as the information gain does, the
    choice of [Whitehouse2023]_. With the gain of a Matern kernel, (T / alpha)^(d / (2 nu + d)) up
    to logarithms, it is of the order of T^(d / (2 nu + 2 d)), and (2) of T^((nu + 2 d) /
    (2 nu + 2 d)), which is sublinear for every nu. With alpha = R^2 it is not if nu is at most
    d / 2. The choice must not depend on any answer: T is fixed before.

    Parameters
    ----------
    gain : callable
        gamma_T(alpha), a bound on the information gain of T answers, or its order, as a function of
        the noise variance, with which it must not grow. For T = 1,000 over arms
        ``lambda alpha: GreedyInformationGain(kernel, arms, alpha).bound(1000)``.
    B : float
        Bound on the norm of f, > 0.
    R : float
        The noise is R-sub-Gaussian, > 0.
    failure_probability : float, default=0.1
        delta, in (0, 1).

    Returns
    -------
    alpha : float
        For the parameter ``alpha`` of an optimizer, together with ``beta="rkhs"`` and
        ``Guarantee(noise_bound=R)``. At least R^2: a smaller value would widen the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from skgpb.surrogate.information_gain import GreedyInformationGain
    >>> from skgpb.surrogate.widths import balancing_alpha
    >>> arms = np.linspace(0, 1, 20)[:, None]
    >>> def gain(alpha):
    ...     return GreedyInformationGain(Matern(0.3, nu=1.5), arms, alpha).bound(100)
    >>> round(balancing_alpha(gain, B=2.0, R=0.5), 3)
    1.55
    """
    B, R = check_real(B, "B"), check_real(R, "R")
    if not (B > 0.0 and R > 0.0 and 0.0 < failure_probability < 1.0):
        raise ValueError(
            "B and R must be > 0 and failure_probability in (0, 1); got "
            f"B={B!r}, R={R!r} and failure_probability={failure_probability!r}"
        )

    def excess(log_alpha: float) -> float:
        alpha = exp(log_alpha)
        return log_alpha - log(2.0 * (R / B) ** 2 * (gain(alpha) - log(failure_probability)))

    low = 2.0 * log(R)
    if excess(low) >= 0.0:
        return R * R
    # The gain does not grow with alpha: at the right side of (3) for R^2 it is not larger.
    high = low - excess(low)
    return exp(brentq(excess, low, high, xtol=1e-6)) if excess(high) > 0.0 else exp(high)


def fits(gp: GaussianProcess, B: float, share: float, failure_probability: float) -> bool:
    """Return whether some function of norm B fits the answers, by two tests.

    It must lie in the ball of :func:`norm_ends`, and leave residuals that noise can have. For every
    s in (0, 1/2) the products of sqrt(1 - 2 s) exp(s (eps_i / rho)^2 / alpha_i) are a
    supermartingale, and so is their mean over several s.

    Parameters
    ----------
    gp : GaussianProcess
        Process with the observations, which have noise.
    B, share : float
        See :func:`norm_beta`.
    failure_probability : float
        Failure probability of each of the two tests.
    """
    noise = gp.posterior.noises()
    if not len(noise):
        return True
    root = np.sqrt(noise)
    K, answers = gp.covariance(gp.observed, gp.observed), gp.posterior.targets()
    values, vectors = np.linalg.eigh(K / np.outer(root, root))
    along = (answers / root @ vectors)[:, None]
    values = np.maximum(values, 0.0)[:, None]
    excess = 2.0 * share**2 * (gain_of(gp) - log(failure_probability))
    if _radii(values, along, B * B, excess).min() < 0.0:
        return False
    # The least sum of squares of a function of norm B, by the dual of that problem.
    least = (WEIGHTS * ((along**2 / (values + WEIGHTS)).sum(axis=0) - B * B)).max()
    least += gp.posterior.repeat_terms()[0]
    n, log_odds = int(gp.posterior.counts().sum()), log(len(EXPONENTS) / failure_probability)
    most = ((log_odds - 0.5 * n * np.log1p(-2.0 * EXPONENTS)) / EXPONENTS).min()
    return bool(least <= share**2 * most)


def _radii(values: np.ndarray, along: np.ndarray, norm2: float, excess: float) -> np.ndarray:
    """Return b(lambda) for all weights, from eigenvalues (t, 1) and projected answers (t, 1)."""
    # y^T Q^-1 y / lambda - y^T Q_lambda^-1 y, without cancellation
    surplus = along**2 * values * (1.0 - WEIGHTS) / ((values + 1.0) * (values + WEIGHTS))
    return norm2 + (excess + surplus.sum(axis=0)) / WEIGHTS
