"""The indirect-query paper's acquisition and tree update, evaluated as they are defined.

Eq. 7 term by term; Appendix A by numerical integration of -p log p; Algorithm 1's sets by search
through all nodes instead of bookkeeping.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.special import log_ndtr


def log_pdf(x):
    return -0.5 * x * x - 0.5 * np.log(2 * np.pi)


def eq7(mean, std, maxima):
    """The mean over f* of the bracket in eq. 7, for one query."""
    total = 0.0
    for f in maxima:
        gamma = (f - mean) / std
        mills = np.exp(log_pdf(gamma) - log_ndtr(gamma))
        total += 0.5 * gamma * mills - log_ndtr(gamma)
    return total / len(maxima)


def appendix_a(mean, std, maxima, noise):
    """H[z | a] - mean over f* of H[z | g <= f*, a], the second by quadrature, for one query."""
    spread = np.sqrt(std**2 + noise)
    value = 0.5 * np.log(2 * np.pi * np.e * spread**2)
    return value - np.mean([truncated_entropy(mean, std, f, noise) for f in maxima])


def truncated_entropy(mean, std, f, noise):
    """Entropy of z = g + noise given g <= f, nodes placed on the conditional law."""
    spread2 = std**2 + noise
    gamma = (f - mean) / std
    below = log_ndtr(gamma)
    mills = np.exp(log_pdf(gamma) - below)

    def log_density(z):
        u = mean + std**2 * (z - mean) / spread2
        s = std * np.sqrt(noise / spread2)
        rho = (z - mean) / np.sqrt(spread2)
        return log_pdf(rho) - 0.5 * np.log(spread2) + log_ndtr((f - u) / s) - below

    def integrand(z):
        value = log_density(z)
        return -np.exp(value) * value

    center = mean - std * mills
    width = np.sqrt(std**2 * max(1 - gamma * mills - mills**2, 1e-12) + noise)
    # The law has an exponential tail to the left where f is far below the mean.
    cuts = center + width * np.array([-40, -20, -10, -6, -4, -2, -1, 0, 0.5, 1, 1.5, 2, 4, 7, 12])
    return sum(
        quad(integrand, a, b, epsabs=1e-13, epsrel=1e-11, limit=400)[0] for a, b in pairwise(cuts)
    )


class NaiveTree:
    """L and L' of Algorithm 1 from the list of chosen nodes, by looking at every node."""

    def __init__(self, n_children, max_depth):
        self.n, self.max_depth = n_children, max_depth
        self.leaves, self.next = {(0, 0)}, set(self.children((0, 0)))
        self.chosen = set()

    def children(self, node):
        if node[0] == self.max_depth:
            return []
        return [(node[0] + 1, self.n * node[1] + j) for j in range(self.n)]

    def nodes(self):
        return [(h, i) for h in range(self.max_depth + 1) for i in range(self.n**h)]

    def parent(self, node):
        return (node[0] - 1, node[1] // self.n)

    def choose_repaired(self, node):
        """A node is a leaf when a parent or sibling of it was split and it was not itself."""
        self.chosen.add(node)
        split = {a for c in self.chosen for a in [c, *self.ancestors(c)]}
        self.leaves = {
            v for v in self.nodes() if v not in split and (v[0] == 0 or self.parent(v) in split)
        }
        self.next = {w for v in self.leaves for w in self.children(v)}

    def ancestors(self, node):
        found = []
        while node[0] > 0:
            node = self.parent(node)
            found.append(node)
        return found

    def choose_literal(self, node):
        """Algorithm 1, line by line."""
        if node in self.next:
            self.leaves = (self.leaves - {self.parent(node)}) | set(self.children(node))
            self.next = self.next - {node}
        else:
            self.leaves = (self.leaves - {node}) | set(self.children(node))
        for leaf in list(self.leaves):
            self.next = self.next | set(self.children(leaf))
