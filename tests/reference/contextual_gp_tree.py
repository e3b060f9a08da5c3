"""Algorithm 3 of Shekhar and Javidi (EJS 2018), line by line, for points (center feedback).

Nodes are those of reference.tree over the joint domain [context, action]; the root included, every
expanded node keeps the candidate it had when it was expanded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.tree import Node, best, children_of, root_of, tensor


@dataclass
class EvaluationLoop:
    """One context: the cell played, the refinements before it."""

    tau: int
    node: Node
    points: np.ndarray
    reward: float
    mean: float
    std: float
    refined: list
    recommendation: Node


class Posterior:
    """Posterior of averages of f over sets of points, from averages."""

    def __init__(self, kernel, alpha):
        self.kernel, self.alpha = kernel, alpha

    def covariance(self, A, B):
        """All sets have the same number S of points."""
        S = len(A[0])
        K = self.kernel(np.vstack(A), np.vstack(B).copy())
        return K.reshape(len(A), S, len(B), S).mean(axis=(1, 3))

    def __call__(self, queries, observed, y):
        prior = np.array([self.covariance([q], [q])[0, 0] for q in queries])
        if not observed:
            return np.zeros(len(queries)), np.sqrt(prior)
        Q = self.covariance(observed, observed) + self.alpha * np.eye(len(observed))
        cross = self.covariance(queries, observed)
        M = np.linalg.solve(Q, cross.T).T
        return M @ y, np.sqrt(np.maximum(prior - (M * cross).sum(axis=1), 0.0))


def active(node, context, root):
    """Return whether a cell contains a context: half open, closed at the domain's upper face."""
    return all(
        low <= c and (c < up or (c == up == top))
        for low, up, top, c in zip(node.lower, node.upper, root.upper, context, strict=False)
    )


def candidate(node, context, per_axis):
    """Return rows of the context and the centres of a sub-grid of the cell's actions."""
    n = len(context)
    axes = [
        low + (np.arange(s) + 0.5) / s * (up - low)
        for low, up, s in zip(node.lower[n:], node.upper[n:], per_axis, strict=True)
    ]
    actions = tensor(axes)
    return np.hstack([np.tile(context, (len(actions), 1)), actions])


def deviations(kernel, bounds, n_children, n_depths):
    """g_h: distance in d from the centre of a cell of depth h to its corner (stationary)."""
    node, values = root_of(bounds), []
    for _ in range(n_depths):
        X = np.array([0.5 * (np.array(node.lower) + np.array(node.upper)), node.upper])
        K = kernel(X, X.copy())
        values.append(np.sqrt(max(0.0, K[0, 0] + K[1, 1] - 2.0 * K[0, 1])))
        node = children_of(node, n_children)[0]
    return values


def contextual_gp_tree(
    kernel, alpha, oracle, contexts, *, bounds, per_axis, variation, g, beta, h_max, n_children=2
):
    """Yield a Play for each context."""
    posterior, root = Posterior(kernel, alpha), root_of(bounds)
    leaves, parent, bar = [root], {root.key: None}, {}
    observed, y = [], []
    width = np.sqrt(beta)
    for tau, context in enumerate(contexts, start=1):  # lines 1 and 2
        refined = []
        while True:
            relevant = [leaf for leaf in leaves if active(leaf, context, root)]  # line 4
            points = [candidate(leaf, context, per_axis) for leaf in relevant]
            mean, std = posterior(points, observed, np.asarray(y))
            index = mean + width * std
            ups = [parent[leaf.key] for leaf in relevant]
            if ups[0] is not None:  # equation (5.9); the root alone has no parent
                m, s = posterior([bar[up.key] for up in ups], observed, np.asarray(y))
                above = [variation(up.depth) for up in ups]
                index = np.minimum(index, m + width * s + above)
            index = index + [variation(leaf.depth) for leaf in relevant]
            chosen = best(relevant, index)  # line 5
            node = relevant[chosen]
            h = node.depth
            if not (width * std[chosen] <= variation(h) + width * g[h] and h < h_max):
                break
            children = children_of(node, n_children)  # lines 7 and 8
            leaves = [leaf for leaf in leaves if leaf is not node] + children
            parent |= {child.key: node for child in children}
            bar[node.key] = points[chosen]
            refined.append(node)
        reward = oracle(points[chosen], tau)  # lines 10 to 12
        observed.append(points[chosen])
        y.append(reward)
        after, _ = posterior(points, observed, np.asarray(y))
        yield EvaluationLoop(
            tau, node, points[chosen], reward, mean[chosen], std[chosen], refined,
            relevant[best(relevant, after)],
        )  # fmt: skip
