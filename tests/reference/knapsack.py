"""The multiple-choice knapsack by looking at every allocation."""

from __future__ import annotations

from itertools import product


def brute_force(values, costs, budget):
    """Arm numbers of the best allocation: most value, then cheapest, then first in order.

    Totals are added from the last campaign to the first, so that they carry the same rounding as a
    dynamic programme that starts from the last one.
    """
    slack = 1e-9 * max(budget, 1e-300)
    best = None
    for choice in product(*(range(len(v)) for v in values)):
        value = cost = 0.0
        for i in reversed(range(len(values))):
            value = values[i][choice[i]] + value
            cost = cost + costs[i][choice[i]]
        if cost > budget + slack:
            continue
        if best is None or value > best[0] or (value == best[0] and cost < best[1] - slack):
            best = value, cost, choice
    return None if best is None else best[2]
