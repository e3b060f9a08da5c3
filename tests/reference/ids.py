"""Information-directed sampling by the definition: refits, and all queries."""

from __future__ import annotations

import numpy as np


def moments(kernel, rows, told, rewards, alphas):
    """Posterior mean and covariance of the functionals ``rows``, given answers about ``told``."""
    if not len(told):
        return np.zeros(len(rows)), kernel(rows)
    C = np.linalg.inv(kernel(told) + np.diag(np.broadcast_to(alphas, len(told))))
    across = kernel(rows, told)
    return across @ C @ np.array(rewards), kernel(rows) - across @ C @ across.T


def first(values):
    """The first of the largest."""
    return int(np.argmax(np.array(values) >= max(values) - 1e-9))


class NaiveIDS:
    """The bound on the gap, information and the ratios; refits from all answers."""

    def __init__(self, kernel, queries, targets, cost, alpha, beta, information):
        self.kernel, self.queries, self.targets = kernel, queries, targets
        self.cost, self.alpha, self.beta = cost, alpha, beta
        self.information = information
        self.told, self.rewards = [], []

    def moments(self, rows, *more):
        """Return the moments of ``rows``, also after further answers, which change no mean."""
        told = [*self.told, *more]
        X, alphas = self.queries[told], self.alpha[told]
        mean = moments(
            self.kernel, rows, X[: len(self.told)], self.rewards, alphas[: len(self.told)]
        )
        return mean[0], moments(self.kernel, rows, X, np.zeros(len(told)), alphas)[1]

    def rivals(self):
        """The best target, the one that may be most above it, and by how much."""
        mean, cov = self.moments(self.targets)
        best = max(
            np.flatnonzero(mean >= mean.max() - 1e-9),
            key=lambda x: (-round(cov[x, x], 9), -x),
        )
        bounds = [
            mean[x] - mean[best] + np.sqrt(self.beta * self.variance(cov, x, best))
            if self.variance(cov, x, best) > 1e-14
            else -np.inf
            for x in range(len(mean))
        ]
        return best, first(bounds), max(0.0, max(bounds))

    @staticmethod
    def variance(cov, i, j):
        return max(0.0, cov[i, i] + cov[j, j] - 2 * cov[i, j])

    def gains(self):
        """Logarithm of the share of a variance that every answer leaves."""
        best, rival, _ = self.rivals()
        out = []
        for a in range(len(self.queries)):
            if self.information == "full":
                own = self.moments(self.queries[a : a + 1])[1][0, 0]
                out.append(0.5 * np.log1p(own / self.alpha[a]))
                continue
            before, after = (self.moments(self.targets, *more)[1] for more in ((), (a,)))
            left = self.variance(after, rival, best) / self.variance(before, rival, best)
            out.append(-0.5 * np.log(left))
        return np.array(out)

    def ratios(self):
        """Squared gap for each unit of information and cost; of one where there is no gap."""
        with np.errstate(divide="ignore"):
            return (self.rivals()[2] or 1.0) ** 2 * self.cost / self.gains()

    def tell(self, i, reward):
        self.told.append(i)
        self.rewards.append(reward)
