"""The result of a search that asked for averages, for other programs."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import skgpb
from skgpb.lab.cli.asked import AskedResult, best_by_chance
from skgpb.lab.cli.exact import feature_extremes
from skgpb.lab.cli.private import PrivateOracle, privacy_entry
from skgpb.lab.tables.asking import Oracle


def make_result(
    found: AskedResult,
    oracle: Oracle,
    values: np.ndarray | None,
    arguments: argparse.Namespace,
    source: str,
    rows: np.ndarray | None = None,
) -> dict[str, Any]:
    """Return the result of a search as a dict.

    ``values`` (n,) is the column, for averages that only the report may show; None if the search is
    private. ``rows`` are the numbers of the searched rows in the file; None for all rows.
    """
    search, members = found.search, found.members
    if values is None:
        assert isinstance(oracle, PrivateOracle)
        extra: dict[str, Any] = {"privacy": privacy_entry(oracle, arguments, found)}
    else:
        extra = {
            "true_average": float(values[members].mean()),
            "true_average_of_table": float(values.mean()),
            "best_by_chance": best_by_chance(values, len(members), found.minimizes),
        }
    sizes = [len(group.rows) for group in search.groups]
    singly = {int(group.rows[0]) for group in search.groups if len(group.rows) == 1}
    gain, _ = found.gain
    return {
        "command": arguments.command,
        "source": str(source),
        "answers": "noisy" if oracle.repeats else "private" if values is None else "exact",
        "features": [column.name for column in found.features],
        "target": found.target,
        "sought": "lowest" if found.minimizes else "highest",
        "n_rows": found.memory.n_rows,
        "n_members": len(members),
        "members": (members if rows is None else rows[members]).tolist(),
        "lower": feature_extremes(found.features, members, np.min),
        "upper": feature_extremes(found.features, members, np.max),
        "where": found.where,
        "posterior_mean": found.mean,
        "posterior_std": found.std,
        "interval_95": list(found.interval),
        "gain": gain,
        "gain_interval_95": list(found.gain_interval),
        "probability_better_than_table": found.probability_of_gain,
        "probability_best_of_groups_asked": found.probability_of_best,
        "runner_up": _runner_up(found),
        "effects_of_features": found.effects,
        **extra,
        "engine": search.engine,
        "r2_loo": search.r2_loo if search.model is not None else None,
        "n_rounds": search.n_answers,
        "enough": found.enough,
        "n_groups_asked": len(search.groups),
        "smallest_group_asked": min(sizes),
        "share_of_rows_averaged_singly": len(singly) / found.memory.n_rows,
        "seed": arguments.seed or 0,
        "parameters": {
            "budget": arguments.budget,
            "stop_within": arguments.stop_within,
            "confidence": arguments.confidence,
            "noise": None if values is None else arguments.noise,
            "alpha": arguments.alpha,
            "min_rows": arguments.least,
        },
        "version": skgpb.__version__,
    }


def _runner_up(found: AskedResult) -> dict[str, Any] | None:
    index = found.runner_up
    if index is None:
        return None
    group = found.search.groups[index]
    return {
        "n_members": len(group.rows),
        "where": found.write_condition(found.group_limits(found.group_box(group))),
        "posterior_mean": found.group_mean(index),
        "probability_better": found.runner_up_better,
    }
