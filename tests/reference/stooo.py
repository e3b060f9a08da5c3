"""StoOO (Munos, 2014) and AVE-StoOO (Zhang, Tsuchida and Ong, AAAI 2022, Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.tree import Node, best, children_of, root_of


@dataclass
class Round:
    """Record of one round: the value b at the time of the choice, and the mean of its leaf."""

    t: int
    node: Node
    reward: float
    mean: float
    b: float
    expanded: bool
    recommendation: Node


def stooo(
    oracle,
    n_rounds,
    *,
    bounds,
    variation,
    max_depth,
    n_children=2,
    width="anytime",
    reward_range=(0.0, 1.0),
    failure_probability=0.1,
    horizon=None,
):
    """Yield a Round for each t = 1..n_rounds. The oracle decides between StoOO and AVE-StoOO."""
    span = reward_range[1] - reward_range[0]

    def confidence(t, T):
        if width == "anytime":  # equation (12)
            return span * np.sqrt(2.0 * np.log(t**2 / failure_probability) / T)
        return span * np.sqrt(np.log(horizon**2 / failure_probability) / (2.0 * T))

    root = root_of(bounds)
    leaves, expanded = [root], []
    rewards = {root.key: []}
    for t in range(1, n_rounds + 1):
        b = [
            np.mean(rewards[node.key])
            + confidence(t, len(rewards[node.key]))
            + variation(node.depth)
            if rewards[node.key]
            else np.inf
            for node in leaves
        ]
        chosen = best(leaves, b)
        node = leaves[chosen]
        mean = np.mean(rewards[node.key]) if rewards[node.key] else np.nan
        reward = oracle(node, t)
        rewards[node.key].append(reward)
        expand = (
            confidence(t, len(rewards[node.key])) <= variation(node.depth)
            and node.depth <= max_depth
        )
        if expand:
            leaves = [leaf for leaf in leaves if leaf is not node]
            for child in children_of(node, n_children):
                leaves.append(child)
                rewards[child.key] = []
            expanded.append(node)
        recommendation = root
        if expanded:
            deepest = max(other.depth for other in expanded)
            candidates = [other for other in expanded if other.depth == deepest]
            means = [np.mean(rewards[other.key]) for other in candidates]
            recommendation = candidates[best(candidates, means)]
        yield Round(t, node, reward, mean, b[chosen], expand, recommendation)
