"""The knowledge gradient by the definition: dense algebra, and lines sorted by their slopes."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm


def expected_rise(a, b):
    """E[max(a + b Z)] - max(a), Z ~ N(0, 1): Algorithm 1 of Frazier, Powell and Dayanik (2009)."""
    order = np.lexsort((a, b))
    a, b = a[order], b[order]
    keep = [i for i in range(len(a)) if i + 1 == len(a) or b[i + 1] > b[i]]
    a, b = a[keep], b[keep]
    envelope, places = [0], [-np.inf]
    for i in range(1, len(a)):
        while True:
            z = (a[envelope[-1]] - a[i]) / (b[i] - b[envelope[-1]])
            if len(envelope) == 1 or z > places[-1]:
                break
            envelope.pop()
            places.pop()
        envelope.append(i)
        places.append(z)
    z = -np.abs(places[1:])
    return float(np.sum(np.diff(b[envelope]) * (norm.pdf(z) + z * norm.cdf(z))))


class NaiveKG:
    """Asks the row of ``queries`` that is worth most of its price; refits from all answers."""

    def __init__(self, kernel, queries, targets, cost, alpha):
        self.kernel, self.queries, self.targets = kernel, queries, targets
        self.cost, self.alpha = cost, alpha
        self.told, self.rewards = [], []

    def posterior(self, told, rewards):
        """Means of the targets, and covariances of queries with queries and with targets."""
        k, Q, T = self.kernel, self.queries, self.targets
        if not told:
            return np.zeros(len(T)), k(Q), k(Q, T)
        X = Q[told]
        C = np.linalg.inv(k(X) + np.diag(self.alpha[told]))
        mean = k(T, X) @ C @ np.array(rewards)
        return mean, k(Q) - k(Q, X) @ C @ k(X, Q), k(Q, T) - k(Q, X) @ C @ k(X, T)

    def gains(self, pending=()):
        mean = self.posterior(self.told, self.rewards)[0]
        told = [*self.told, *pending]
        _, own, across = self.posterior(told, np.zeros(len(told)))
        slopes = across / np.sqrt(np.diag(own) + self.alpha)[:, None]
        return np.array([expected_rise(mean, b) for b in slopes]) / self.cost

    def tell(self, i, reward):
        self.told.append(i)
        self.rewards.append(reward)
