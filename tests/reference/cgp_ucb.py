"""CGP-UCB, line by line from Krause and Ong (NIPS 2011), section 3.

Everything is recomputed in every round from the posterior of all pairs of a context and an action
that were told; nothing is shared with skgpb. Arms whose bounds agree within 1e-9 tie, and the first
is pulled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TIE = 1e-9


class EvaluationLoop(NamedTuple):
    """A round: what was known of every arm in its context, what was pulled, what is the best."""

    mean: np.ndarray
    std: np.ndarray
    pulled: int
    recommended: int


def posterior(kernel, alpha, told, y, rows):
    """Means and deviations of f at rows [context, action]."""
    prior = np.array([kernel(row[None], row[None])[0, 0] for row in rows])
    if not len(told):
        return np.zeros(len(rows)), np.sqrt(prior)
    k = kernel(told, rows)
    solved = np.linalg.solve(kernel(told) + alpha * np.eye(len(told)), k)
    return solved.T @ y, np.sqrt(np.maximum(prior - (k * solved).sum(axis=0), 0.0))


def argmax_first(values):
    return int(np.flatnonzero(values >= values.max() - TIE * max(1.0, abs(values.max())))[0])


def cgp_ucb(kernel, alpha, arms, contexts, answer, beta):
    """Play one round for each context.

    ``beta`` takes the round, from 1, and the number of arms; ``answer`` a row [context, action] and
    the round.
    """
    told, y, plays = np.empty((0, contexts.shape[1] + arms.shape[1])), np.empty(0), []
    for t, context in enumerate(contexts, 1):
        rows = np.column_stack([np.tile(context, (len(arms), 1)), arms])
        mean, std = posterior(kernel, alpha, told, y, rows)
        pulled = argmax_first(mean + np.sqrt(beta(t, len(arms))) * std)
        told = np.concatenate([told, rows[pulled][None]])
        y = np.append(y, answer(rows[pulled], t))
        after, spread = posterior(kernel, alpha, told, y, rows)
        tied = np.flatnonzero(after >= after.max() - TIE * max(1.0, abs(after.max())))
        recommended = int(tied[argmax_first(-(spread[tied] ** 2))])
        plays.append(EvaluationLoop(mean, std, pulled, recommended))
    return plays
