"""GPTree, Algorithm 1 of Shekhar and Javidi (EJS 2018), line by line; and its constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.tree import Node, best, children_of, root_of


@dataclass
class Evaluation:
    """One evaluation, and the refinements since the one before."""

    t: int
    node: Node
    reward: float
    mean: float
    std: float
    refined: list
    recommendation: Node


def depth_limit(n, alpha, n_children, d):
    """Equation (3.4); boxes cut in turn along d axes have rho = K^(-1/d)."""
    rho = n_children ** (-1.0 / d)
    return np.log(n) / (2.0 * alpha * np.log(1.0 / rho)) * (1.0 + 1.0 / alpha)


def theory_beta(n, h_max, n_children, failure_probability):
    """Square of beta_n: the proof of Claim 1 with |L_t| <= n N h_max (Remark 8)."""
    u = np.log(1.0 / failure_probability)
    h_max = max(1.0, h_max)
    return 2.0 * (u + np.log(2.0 * h_max * n) + np.log(n * n_children * h_max))


def theory_variation(kernel, bounds, n_children, n_depths, failure_probability):
    """Claim 2 with C2 = C3 = 1, for a stationary kernel that decreases with distance.

    g is then the distance in d of the centre of a cell from a corner.
    """
    u = np.log(1.0 / failure_probability)
    node, values = root_of(bounds), []
    d = len(bounds)
    for h in range(n_depths):
        center = 0.5 * (np.array(node.lower) + np.array(node.upper))
        X = np.array([center, node.upper])
        K = kernel(X, X.copy())
        g = np.sqrt(K[0, 0] + K[1, 1] - 2.0 * K[0, 1])
        C4 = 1.0 + 2.0 * np.log((h + 1) ** 2 * np.pi**2 / 6.0)
        inside = 2.0 * u + C4 + h * np.log(n_children) + 4.0 * d * np.log(1.0 / g)
        values.append(4.0 * g * (np.sqrt(max(inside, 0.0)) + 1.0))
        node = children_of(node, n_children)[0]
    return np.minimum.accumulate(values)


def recommend(posterior, expanded, root, observed, y):
    """The deepest expanded node; ties by the posterior mean, then the index."""
    if not expanded:
        return root
    deepest = max(node.depth for node in expanded)
    candidates = [node for node in expanded if node.depth == deepest]
    mean, _ = posterior(candidates, observed, np.asarray(y))
    return candidates[best(candidates, mean)]


def gp_tree(posterior, oracle, n, *, bounds, variation, beta, h_max, n_children=2):
    """Yield an Evaluation for each of n.

    posterior: of reference.gpoo.posterior_for. oracle(node, t): the noisy reward of evaluation t.
    variation: V_h as a function of h. beta: the factor of the variance, a number or of t.
    """
    root = root_of(bounds)
    leaves, parent = [root], {root.key: None}
    expanded, refined = [], []
    observed, y = [], []
    while len(observed) < n:  # line 1, see the erratum: n evaluations and not n + 1
        beta_t = beta(len(observed) + 1) if callable(beta) else beta
        mean, std = posterior(leaves, observed, np.asarray(y))
        index = mean + np.sqrt(beta_t) * std
        ups = [parent[leaf.key] for leaf in leaves]
        if ups[0] is not None:  # equation (3.2); the root alone has no parent
            parent_mean, parent_std = posterior(ups, observed, np.asarray(y))
            above = [variation(up.depth) for up in ups]
            index = np.minimum(index, parent_mean + np.sqrt(beta_t) * parent_std + above)
        index = index + [variation(leaf.depth) for leaf in leaves]  # equation (3.1)
        chosen = best(leaves, index)  # line 2
        node = leaves[chosen]
        if np.sqrt(beta_t) * std[chosen] <= variation(node.depth) and node.depth <= h_max:
            children = children_of(node, n_children)  # lines 4 and 5
            leaves = [leaf for leaf in leaves if leaf is not node] + children
            parent |= {child.key: node for child in children}
            expanded.append(node)
            refined.append(node)
            continue
        t = len(observed) + 1  # lines 7 to 9
        reward = oracle(node, t)
        observed.append(node)
        y.append(reward)
        recommendation = recommend(posterior, expanded, root, observed, y)
        yield Evaluation(t, node, reward, mean[chosen], std[chosen], refined, recommendation)
        refined = []
