"""Batched pure exploration, Algorithm 1 of Li and Scarlett (2022), line by line and dense."""

from __future__ import annotations

from math import ceil, log, pi, sqrt

import numpy as np


class NaivePhasedElimination:
    """Arms are rows of X; everything is computed afresh from its definition."""

    def __init__(self, kernel, X, noise, horizon, delta):
        self.K = kernel(X)
        self.noise, self.T, self.delta = noise, horizon, delta
        self.left = list(range(len(X)))
        self.N, self.t, self.i = 1, 0, 0

    def posterior(self, asked, y):
        """Mean and deviation of all arms given answers y at the arms asked."""
        prior = np.diag(self.K)
        if not asked:
            return np.zeros(len(self.K)), np.sqrt(prior)
        k = self.K[:, asked]
        Q = self.K[np.ix_(asked, asked)] + self.noise * np.eye(len(asked))
        mean = k @ np.linalg.solve(Q, np.asarray(y))
        var = prior - np.einsum("ij,ji->i", k, np.linalg.solve(Q, k.T))
        return mean, np.sqrt(np.maximum(var, 0.0))

    def design(self):
        """Lines 4 to 9: the arms of the next batch."""
        self.N = ceil(sqrt(self.T * self.N))
        length = min(self.N, self.T - self.t)
        asked = []
        for _ in range(length):
            _, std = self.posterior(asked, np.zeros(len(asked)))
            best = max(std[x] ** 2 for x in self.left)
            asked.append(next(x for x in self.left if std[x] ** 2 >= best - 1e-9))
        self.t += length
        return asked

    def eliminate(self, asked, y):
        """Lines 10 to 12: leave out what the answers of this batch exclude."""
        self.i += 1
        beta = 2 * log(len(self.K) * pi**2 * self.i**2 / (6 * self.delta))
        mean, std = self.posterior(asked, y)
        upper, lower = mean + sqrt(beta) * std, mean - sqrt(beta) * std
        highest = max(lower[x] for x in self.left)
        self.left = [x for x in self.left if upper[x] >= highest]
