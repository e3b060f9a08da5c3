"""The UCB family over finite arms, line by line from Nuara et al. (AAMAS 2020).

Everything is recomputed in every round from equations 2 and 3; nothing is shared with skgpb.
Arms whose scores agree within 1e-9 of the largest tie, and the first is pulled.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtr, pbdv

TIE = 1e-9


def posterior(K, pulled, y, alpha):
    """Equations 2 and 3, and the covariance of all pairs, from the prior covariance of arms."""
    if not pulled:
        return np.zeros(len(K)), K.copy()
    k_t = K[pulled]  # (t, n)
    A = K[np.ix_(pulled, pulled)] + alpha * np.eye(len(pulled))
    solved = np.linalg.solve(A, k_t)
    return solved.T @ y, K - k_t.T @ solved


def argmax_first(scores, tie=TIE):
    size = max(abs(scores.max()), min(1.0, np.abs(scores[np.isfinite(scores)]).max(initial=0.0)))
    return int(np.flatnonzero(scores >= scores.max() - tie * size)[0])


def std_of(C):
    return np.sqrt(np.maximum(np.diag(C), 0.0))


def log_beta(t, n, delta):
    """beta(t, delta) of GP-UCB."""
    return 2 * np.log(t**2 * np.pi**2 * n / (6 * delta))


def reductions(C, alpha):
    """Equation 37 for all pairs: S[x, x'], the fall of the deviation of x' by pulling x."""
    var = np.maximum(np.diag(C), 0.0)
    after = var - C**2 / (var + alpha)[:, None]  # equation 3 with one more observation, of x
    return np.sqrt(var) - np.sqrt(np.maximum(after, 0.0))


def densities(s, mean, std):
    """pdf of each arm at s (k, 1) times the cdfs of the others, shape (k, n)."""
    z = (s - mean) / std
    cdf = ndtr(z)
    pdf = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) / std
    F = cdf.prod(axis=1, keepdims=True)
    return np.divide(pdf * F, cdf, out=np.zeros_like(cdf), where=cdf > 0)


def graded_rule(low, high, panels=60):
    """Composite Gauss-Legendre rule, finer towards the lower end."""
    x, u = np.polynomial.legendre.leggauss(20)
    edges = low + (high - low) * np.linspace(0, 1, panels + 1) ** 2
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + x)).reshape(-1, 1), (half * u).reshape(-1, 1)


def eq_36(mean, std):
    """Equation 36 with x != x' in the product; known arms are a floor."""
    varies, w = std > 1e-7, np.zeros(len(mean))
    floor = mean[~varies].max(initial=-np.inf)
    known = ~varies & (mean == floor)
    if not varies.any():
        return known / known.sum()
    m, d = mean[varies], std[varies]
    low, high = (m - 9 * d).max(), (m + 9 * d).max()
    if floor > low:
        s, h = graded_rule(floor, high)
        w[known] = ndtr((floor - m) / d).prod() / known.sum()
    else:
        # The integrands vanish at both ends: the trapezoidal rule is exact to rounding.
        relevant = d[m + 9 * d > low]
        h = min(relevant.min() / 4, relevant.max() / 12)
        s = np.arange(low, high + h, h)[:, None]
    w[varies] = (densities(s, m, d) * h).sum(axis=0)
    return w


def expected_maximum(mean, std):
    """E max of independent arms, as the integral of s times the density of the maximum."""
    varies = std > 1e-7
    floor = mean[~varies].max(initial=-np.inf)
    if not varies.any():
        return floor
    # E max(M, c) = c + int_c^inf (1 - F) for any c that M exceeds or that is the floor.
    low = max((mean[varies] - 9 * std[varies]).max(), floor)
    high = (mean[varies] + 9 * std[varies]).max()
    s, h = graded_rule(low, high)
    F = ndtr((s - mean[varies]) / std[varies]).prod(axis=1)
    return low + ((1 - F) * h.ravel()).sum()


def algorithm_2(mean, std, n_draws, rng):
    counts = np.zeros(len(mean))
    for _ in range(n_draws):
        s = mean + std * rng.standard_normal(len(mean))
        counts[np.argmax(s)] += 1
    return counts / n_draws


def symmetric_root(K):
    """K^(1/2) without the directions that are rounding."""
    values, U = np.linalg.eigh(0.5 * (K + K.T))
    values = np.where(values > len(K) * np.finfo(float).eps * values[-1], values, 0.0)
    return (U * np.sqrt(values)) @ U.T


def joint_draws(K, root, pulled, y, alpha, n_draws, rng):
    """Matheron's rule: a prior draw, corrected for the mean answer of every arm pulled."""
    arms = list(dict.fromkeys(pulled))
    counts = np.array([pulled.count(a) for a in arms])
    answers = np.array([np.mean([v for a, v in zip(pulled, y, strict=True) if a == b])
                        for b in arms])  # fmt: skip
    prior = rng.standard_normal((n_draws, len(K))) @ root
    noise = rng.standard_normal((n_draws, len(arms))) * np.sqrt(alpha / np.maximum(counts, 1))
    if not arms:
        return prior
    A = K[np.ix_(arms, arms)] + np.diag(alpha / counts)
    return prior + (answers - prior[:, arms] - noise) @ np.linalg.solve(A, K[arms])


def greedy_gain(K, alpha, T):
    """Information gain of the greedy choice after 1..T rounds."""
    chosen, gains = [], []
    for _ in range(T):
        _, C = posterior(K, chosen, np.zeros(len(chosen)), alpha)
        chosen.append(argmax_first(np.diag(C) / alpha))
        A = np.eye(len(chosen)) + K[np.ix_(chosen, chosen)] / alpha
        gains.append(0.5 * np.linalg.slogdet(A)[1])
    return np.array(gains)


# Scores of all arms, given what the round needs to know -----------------------------------------


class Game:
    """Prior covariance, parameters and fixed draws; ``choose(name)`` plays a round."""

    def __init__(self, K, alpha, delta=0.1, seed=0, n_draws=50):
        self.K, self.alpha, self.delta, self.n_draws, self.seed = K, alpha, delta, n_draws, seed
        self.root = symmetric_root(K)
        self.pulled, self.y = [], []
        self.gains = greedy_gain(K, alpha, 60)

    def tell(self, arm, reward):
        self.pulled.append(arm)
        self.y.append(reward)

    def choose(self, name):
        """Arm to pull; two where rounding decides whether a score is within the tolerance."""
        mean, C = posterior(self.K, self.pulled, np.array(self.y), self.alpha)
        scores = getattr(self, name)(len(self.pulled) + 1, mean, C)
        return {argmax_first(scores, TIE * share) for share in (0.999, 1.001)}

    def rng(self):
        return np.random.default_rng([self.seed, len(self.pulled), 0])

    def draws(self, n_draws):
        return joint_draws(self.K, self.root, self.pulled, self.y, self.alpha, n_draws, self.rng())

    def root_beta(self, t):
        return np.sqrt(log_beta(t, len(self.K), self.delta))

    def gp_ucb(self, t, mean, C):
        return mean + self.root_beta(t) * std_of(C)

    def igp_ucb(self, t, mean, C):
        gamma = self.gains[t - 1] / (1 - 1 / np.e)
        beta = (1 + np.sqrt(2 * (gamma + 1 + np.log(1 / self.delta)))) ** 2
        return mean + np.sqrt(beta) * std_of(C)

    def gp_ts(self, t, mean, C):
        return self.draws(1)[0]

    def urgp_own(self, t, mean, C):
        return mean + self.root_beta(t) * np.diag(reductions(C, self.alpha))

    def urgp_mean(self, t, mean, C):
        return mean + self.root_beta(t) * reductions(C, self.alpha).mean(axis=1)

    def urgp_sum(self, t, mean, C):
        return mean + self.root_beta(t) * reductions(C, self.alpha).sum(axis=1)

    def dagp(self, t, mean, C, w):
        return mean + self.root_beta(t) * reductions(C, self.alpha) @ w

    def dagp_integral(self, t, mean, C):
        return self.dagp(t, mean, C, eq_36(mean, std_of(C)))

    def dagp_sampling(self, t, mean, C):
        return self.dagp(t, mean, C, algorithm_2(mean, std_of(C), self.n_draws, self.rng()))

    def dagp_joint(self, t, mean, C):
        best = self.draws(self.n_draws).argmax(axis=1)
        return self.dagp(t, mean, C, np.bincount(best, minlength=len(mean)) / self.n_draws)

    def ei(self, t, mean, C):
        """log EI by the parabolic cylinder function: E max(0, Z - a) = e^(-a^2/4) D_-2(a) / c."""
        std, gap = std_of(C), mean.max() - mean
        a = np.divide(gap, std, out=np.full_like(mean, np.inf), where=std > 0)
        near = np.minimum(a, 30.0)
        log_h = -(near**2) / 4 + np.log(pbdv(-2, near)[0]) - np.log(2 * np.pi) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            far = -(a**2) / 2 - 2 * np.log(a) + np.log1p(-3 / a**2 + 15 / a**4)
            return np.log(std) + np.where(a < 30, log_h, far - np.log(2 * np.pi) / 2)

    def pi(self, t, mean, C):
        with np.errstate(divide="ignore"):
            return (mean - mean.max() - 0.01) / std_of(C)

    def est(self, t, mean, C):
        std = std_of(C)
        m = max(expected_maximum(mean, std), mean.max())
        with np.errstate(divide="ignore", invalid="ignore"):
            # An arm that is known to have the value sought is 0 deviations from it; the value is
            # an integral, known but for rounding of what is largest.
            equal = (std == 0.0) & (np.abs(m - mean) <= 1e-12 * np.max(np.abs(mean) + std))
            return np.where(equal, 0.0, -(m - mean) / std)

    def mes(self, t, mean, C):
        std = std_of(C)
        gamma = (self.draws(self.n_draws).max(axis=1)[:, None] - mean) / np.where(std > 0, std, 1)
        density = np.exp(-(gamma**2) / 2) / np.sqrt(2 * np.pi)
        value = gamma * density / (2 * ndtr(gamma)) - log_ndtr(gamma)
        with np.errstate(divide="ignore"):
            return np.log(np.where(std > 0, value.mean(axis=0), 0.0))
