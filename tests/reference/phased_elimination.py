"""Batched pure exploration, Algorithm 1 of Li and Scarlett (2022), line by line and dense.

The noise of an answer is known and may differ from arm to arm, as in Iwazaki and Takeno (2025).
"""

from __future__ import annotations

from math import ceil, log, pi, sqrt

import numpy as np
from scipy.stats import norm


class NaivePhasedElimination:
    """Arms are rows of X; everything is computed afresh from its definition."""

    def __init__(self, kernel, X, noise, horizon, delta, beta="theory", B=1.0, rho=1.0):
        self.K = kernel(X)
        self.noise, self.T, self.delta = np.broadcast_to(noise, len(X)), horizon, delta
        self.beta, self.B, self.rho = beta, B, rho
        self.left = list(range(len(X)))
        self.N, self.t, self.i = 1, 0, 0
        self.all_asked, self.all_y = [], []

    def weights(self, asked):
        """Rows of k(x)^T (K + Sigma)^-1 for all arms x."""
        Q = self.K[np.ix_(asked, asked)] + np.diag(self.noise[asked])
        return np.linalg.solve(Q, self.K[:, asked].T).T

    def covariance(self, asked):
        """Posterior covariance of all arms given answers of the arms asked."""
        if not asked:
            return self.K
        return self.K - self.weights(asked) @ self.K[asked]

    def design(self):
        """Lines 4 to 9: the arms of the next batch."""
        self.N = ceil(sqrt(self.T * self.N))
        length = min(self.N, self.T - self.t)
        asked = []
        for _ in range(length):
            known = self.all_asked if self.beta in ("theory", "rkhs") else []
            var = np.diag(self.covariance(known + asked))
            best = max(var[x] for x in self.left)
            asked.append(next(x for x in self.left if var[x] >= best - 1e-9))
        self.t += length
        return asked

    def n_batches(self):
        """Number of batches up to T."""
        N, t, count = 1, 0, 0
        while t < self.T:
            N = ceil(sqrt(self.T * N))
            t += N
            count += 1
        return count

    def width(self, x, other, asked):
        """How far the difference of two arms may be from that of their means."""
        phi = np.zeros(len(self.K))
        phi[other] += 1.0
        phi[x] -= 1.0
        delta = self.delta / (self.n_batches() + 1)
        w = (self.weights(asked)[other] - self.weights(asked)[x]) if x != other else 0.0
        if self.beta == "design":
            # the residual functional, and what noise adds
            r = phi.copy()
            np.add.at(r, asked, -w)
            a, b = sqrt(max(r @ self.K @ r, 0.0)), sqrt(np.sum(w**2 * self.noise[asked]))
            return self.B * a + self.rho * b * sqrt(2 * log((len(self.left) - 1) / delta))
        C = self.covariance(asked)
        if self.beta == "rkhs":
            scaled = self.K[np.ix_(asked, asked)] / self.noise[asked]
            gain = 0.5 * np.linalg.slogdet(np.eye(len(asked)) + scaled)[1]
            beta = self.B**2 + 2 * self.rho**2 * (gain + log(1 / self.delta))
            return sqrt(beta * max(phi @ C @ phi, 0.0))
        beta = (self.B + self.rho * sqrt(2 * log(len(self.K) / delta))) ** 2
        return sqrt(beta) * (sqrt(C[x, x]) + sqrt(C[other, other]))

    def eliminate(self, asked, y):
        """Lines 10 to 12: leave out what the answers exclude."""
        self.i += 1
        self.all_asked, self.all_y = self.all_asked + asked, self.all_y + y
        if self.beta in ("theory", "rkhs"):
            asked, y = self.all_asked, self.all_y
        mean = self.weights(asked) @ np.asarray(y)
        if self.beta == "theory":
            self.left = self.likely(mean, self.covariance(asked))
            return
        self.margins = np.array(
            [[mean[z] - mean[x] - self.width(x, z, asked) for z in self.left] for x in self.left]
        )
        self.left = [
            x for x, row in zip(self.left, self.margins, strict=True) if not (row > 0.0).any()
        ]

    def likely(self, mean, C):
        """Arms without the least likely ones, whose chances add up to delta of a batch."""
        if len(self.left) == 1:
            return self.left
        later = self.i - self.n_batches()
        delta = self.delta / (self.n_batches() + 1) / (pi**2 * later**2 / 6 if later > 0 else 1)
        chances = {
            x: min(
                norm.cdf((mean[x] - mean[z]) / sqrt(C[x, x] + C[z, z] - 2 * C[x, z]))
                for z in self.left
                if z != x
            )
            for x in self.left
        }
        out, total = [], 0.0
        for x in sorted(self.left, key=chances.get):
            total += chances[x]
            if total > delta:
                break
            out.append(x)
        return [x for x in self.left if x not in out]
