"""GPOO, Algorithm 1 of Zhang, Tsuchida and Ong (AAAI 2022), line by line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.tree import Node, best, children_of, quadrature, representatives, root_of


@dataclass
class Round:
    """Record of one round. mean, std and b are the values at the time of the choice."""

    t: int
    node: Node
    reward: float
    mean: float
    std: float
    b: float
    expanded: bool
    recommendation: Node
    leaves: list
    leaf_means: np.ndarray
    leaf_stds: np.ndarray


class PointPosterior:
    """Equation (4) as printed: all points of all observations, and the averaging matrix A."""

    def __init__(self, kernel, alpha, per_axis):
        self.kernel, self.alpha, self.per_axis = kernel, alpha, per_axis
        self.prior_variances = {}

    def points(self, node):
        return representatives(node, self.per_axis)

    def prior_variance(self, node):
        if node.key not in self.prior_variances:
            X = self.points(node)
            self.prior_variances[node.key] = self.kernel(X).mean()
        return self.prior_variances[node.key]

    def __call__(self, nodes, observed, y):
        """Posterior mean and standard deviation of the cell average of each of nodes."""
        S = int(np.prod(self.per_axis))
        prior = np.array([self.prior_variance(node) for node in nodes])
        t = len(observed)
        if t == 0:
            return np.zeros(len(nodes)), np.sqrt(prior)
        X = np.vstack([self.points(node) for node in observed])  # X_{1:t}, (t S, d)
        A = np.kron(np.eye(t), np.full((1, S), 1.0 / S))  # A_{1:t}, (t, t S)
        X_star = np.vstack([self.points(node) for node in nodes])
        A_star = np.kron(np.eye(len(nodes)), np.full((1, S), 1.0 / S))
        Q = A @ self.kernel(X, X) @ A.T + self.alpha * np.eye(t)
        cross = A_star @ self.kernel(X_star, X) @ A.T  # a_*^T k(X_*, X) A^T
        M = np.linalg.solve(Q, cross.T).T
        return M @ y, np.sqrt(np.maximum(prior - (M * cross).sum(axis=1), 0.0))


class IntegralPosterior:
    """Appendix D with the mean over the box in place of the integral, by Gauss quadrature.

    A covariance of two cells depends on the cells only, so a dictionary keeps it; the same object
    may serve several runs.
    """

    def __init__(self, kernel, alpha, n_nodes):
        self.kernel, self.alpha, self.n_nodes = kernel, alpha, n_nodes
        self.rules, self.covariances = {}, {}

    def rule(self, node):
        if node.key not in self.rules:
            self.rules[node.key] = quadrature(node, self.n_nodes)
        return self.rules[node.key]

    def covariance(self, one, other):
        pair = one.key, other.key
        if pair not in self.covariances:
            X, w = self.rule(one)
            Z, v = self.rule(other)
            value = w @ self.kernel(X, Z) @ v
            self.covariances[pair] = self.covariances[pair[::-1]] = value
        return self.covariances[pair]

    def __call__(self, nodes, observed, y):
        prior = np.array([self.covariance(node, node) for node in nodes])
        t = len(observed)
        if t == 0:
            return np.zeros(len(nodes)), np.sqrt(prior)
        # A cell observed several times has equal rows; look each up once.
        distinct = list({node.key: node for node in observed}.values())
        keys = [node.key for node in distinct]
        which = [keys.index(node.key) for node in observed]
        Q = np.array([[self.covariance(a, b) for b in distinct] for a in distinct])
        Q = Q[np.ix_(which, which)] + self.alpha * np.eye(t)
        cross = np.array([[self.covariance(a, b) for b in distinct] for a in nodes])[:, which]
        M = np.linalg.solve(Q, cross.T).T
        return M @ y, np.sqrt(np.maximum(prior - (M * cross).sum(axis=1), 0.0))


def posterior_for(kernel, *, alpha, feedback, n_dimensions, n_representatives=1, n_nodes=8):
    """Posterior of the noiseless answers to center, average or integral queries."""
    if feedback == "integral":
        return IntegralPosterior(kernel, alpha, n_nodes)
    if feedback == "center":
        n_representatives = 1
    if np.ndim(n_representatives) == 0:
        n_representatives = (n_representatives,) * n_dimensions
    return PointPosterior(kernel, alpha, tuple(n_representatives))


def theory_beta(t, n_children, max_depth, failure_probability):
    """Lemma 1."""
    M = sum(n_children**h for h in range(max_depth + 1))
    return 2.0 * np.log(M * np.pi**2 * t**2 / 6.0 / failure_probability)


def recommend(posterior, expanded, root, observed, y):
    """Line 11: the deepest expanded nodes, the highest posterior mean among them."""
    if not expanded:
        return root
    deepest = max(node.depth for node in expanded)
    candidates = [node for node in expanded if node.depth == deepest]
    mean, _ = posterior(candidates, observed, np.asarray(y))
    return candidates[best(candidates, mean)]


def gpoo(
    posterior,
    oracle,
    n_rounds,
    *,
    bounds,
    variation,
    max_depth,
    n_children=2,
    expansion="before",
    beta="theory",
    failure_probability=0.1,
):
    """Yield a Round for each t = 1..n_rounds.

    posterior: of posterior_for. oracle(node, t): the noisy reward. variation: delta(h).
    """
    root = root_of(bounds)
    leaves, expanded = [root], []
    observed, y = [], []
    for t in range(1, n_rounds + 1):  # line 1
        if beta == "theory":
            beta_t = theory_beta(t, n_children, max_depth, failure_probability)
        else:
            beta_t = beta(t) if callable(beta) else beta
        # line 2, with equations (5) and (6): the posterior given rounds 1..t-1
        mean, std = posterior(leaves, observed, np.asarray(y))
        delta = np.array([variation(node.depth) for node in leaves])
        b = mean + np.sqrt(beta_t) * std + delta
        chosen = best(leaves, b)
        node = leaves[chosen]
        # lines 3 to 5
        reward = oracle(node, t)
        observed.append(node)
        y.append(reward)
        # line 6, in either reading
        std_for_expansion = std[chosen]
        if expansion != "before":
            std_for_expansion = posterior([node], observed, np.asarray(y))[1][0]
        expand = (
            variation(node.depth) >= np.sqrt(beta_t) * std_for_expansion and node.depth <= max_depth
        )
        record = Round(
            t, node, reward, mean[chosen], std[chosen], b[chosen], expand, None, leaves, mean, std
        )
        if expand:  # lines 7 to 9
            leaves = [leaf for leaf in leaves if leaf is not node] + children_of(node, n_children)
            expanded.append(node)
        while expansion == "posterior":  # not the paper's: line 6 for every leaf
            _, std = posterior(leaves, observed, np.asarray(y))
            widths = zip(leaves, np.sqrt(beta_t) * std, strict=True)
            known = [n for n, w in widths if w <= variation(n.depth) and n.depth <= max_depth]
            if not known:
                break
            expanded += known
            leaves = [leaf for leaf in leaves if leaf not in known]
            leaves += [child for n in known for child in children_of(n, n_children)]
        record.recommendation = recommend(posterior, expanded, root, observed, y)
        yield record
