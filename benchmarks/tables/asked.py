"""Averages that have to be asked for: with noise, few, or private.

Opponents are asked about leaves: the table is halved at medians of the widest feature until halves
would be smaller than the group that is sought, or than a 64th of the table.

``halving``
    Asks for all leaves, leaves the worse half out, and so on.
``laplace histogram``
    Every leaf at once with Laplace noise for the whole epsilon, which a value of a row costs once;
    the best leaf. Both methods promise delta = 0.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from benchmarks.tables.problems import Problem
from skgpb.lab.cli.private import PrivateOracle
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.asking import SHARE_FIRST, NoisyAverages, search_by_asking

GROUPS = 64
NOISES, EPSILONS = (0.1, 0.3), (1.0, 3.0)


def leaves(X: np.ndarray, m: int) -> list[np.ndarray]:
    """Rows of cells: halved at the median of the widest feature where halves are large enough."""
    X = np.nan_to_num(X)
    side = np.ptp(X, axis=0)
    X = (X - X.min(axis=0)) / np.where(side > 0.0, side, 1.0)
    cells, found = [np.arange(len(X))], []
    while cells:
        rows = cells.pop()
        for j in np.argsort(-np.ptp(X[rows], axis=0), kind="stable"):
            left = X[rows, j] < np.median(X[rows, j])
            if min(left.sum(), (~left).sum()) >= m:
                cells += [rows[left], rows[~left]]
                break
        else:
            found.append(rows)
    return found


def sequential_halving(groups: list[np.ndarray], oracle: NoisyAverages, budget: int) -> np.ndarray:
    """Rows of the group that is left."""
    sums, counts, left, asked = np.zeros(len(groups)), np.zeros(len(groups)), None, 0
    left = np.arange(len(groups))
    while len(left) > 1 and asked < budget:
        each = max(1, (budget - asked) // (math.ceil(math.log2(len(left))) * len(left)))
        for i in np.repeat(left, each)[: budget - asked]:
            sums[i] += oracle.answer(groups[i], 1.0)[0]
            counts[i] += 1
            asked += 1
        means = np.where(counts[left] > 0, sums[left] / np.maximum(counts[left], 1), -np.inf)
        left = left[np.argsort(-means, kind="stable")[: max(1, len(left) // 2)]]
    return groups[left[0]]


def laplace_histogram(
    groups: list[np.ndarray], y: np.ndarray, width: float, epsilon: float, seed: int
) -> np.ndarray:
    """Rows of the group with the highest noisy average."""
    rng = np.random.default_rng([seed, 2])
    noisy = [y[rows].mean() + rng.laplace(scale=width / epsilon / len(rows)) for rows in groups]
    return groups[int(np.argmax(noisy))]


def noisy_gains(
    problem: Problem, share: float, noise: float, budget: int, seed: int
) -> dict[str, float]:
    """True gains of what is found with noise, in standard deviations of the column."""
    y, n = problem.y, len(problem.y)
    least, spread = math.ceil(share * n), float(problem.y.std())
    groups = leaves(problem.X_as(problem), max(least, n // GROUPS))
    rows = {
        "skgpb": search_by_asking(
            MemoryTable(problem.columns, np.zeros(n)),
            NoisyAverages(y, noise * spread, seed), least, budget, seed=seed,
        ).group.rows,
        "halving": sequential_halving(groups, NoisyAverages(y, noise * spread, seed), budget),
    }  # fmt: skip
    return {method: float(y[each].mean() - y.mean()) / spread for method, each in rows.items()}


def private_gains(problem: Problem, share: float, epsilon: float, seed: int) -> dict[str, float]:
    """True gains of private searches; values lie between the quantiles of 1 % and 99 %."""
    limits = np.quantile(problem.y, [0.01, 0.99])
    if limits[0] == limits[1]:
        limits = np.array([problem.y.min(), problem.y.max()])
    y, n = problem.y.clip(*limits), len(problem.y)
    least, spread = math.ceil(share * n), float(y.std())
    groups = leaves(problem.X_as(problem), max(least, n // GROUPS))
    given = argparse.Namespace(
        epsilon=epsilon, delta=0.0, target_range=tuple(limits), seed=seed, least=least
    )
    budget = math.ceil((min(GROUPS, n // least) + 1) / SHARE_FIRST)
    found = search_by_asking(
        MemoryTable(problem.columns, np.zeros(n)), PrivateOracle(y, given), least, budget, seed=seed
    )
    rows = {
        "skgpb": found.group.rows,
        "laplace histogram": laplace_histogram(groups, y, float(np.ptp(limits)), epsilon, seed),
    }
    return {method: float(y[each].mean() - y.mean()) / spread for method, each in rows.items()}
