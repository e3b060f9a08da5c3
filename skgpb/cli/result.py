"""Everything about a search, for other programs."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import skgpb
from skgpb.cli.conclusion import Conclusion, by_chance
from skgpb.cli.features import FeatureSpace, Limits
from skgpb.cli.private import PrivateGroups, privacy_entry
from skgpb.cli.region import QUANTILE_95, Region
from skgpb.domains import Cell


@dataclass(frozen=True)
class Found:
    """What a search found, and in which features.

    Attributes
    ----------
    region : Region
        The recommended group.
    space : FeatureSpace
        Its features.
    conclusion : Conclusion
        How sure that is.
    target : str
        Name of the column.
    conditions : tuple of str
        What of the file was searched, for ``--where``.
    """

    region: Region
    space: FeatureSpace
    conclusion: Conclusion
    target: str
    conditions: tuple[str, ...] = ()

    @cached_property
    def limits(self) -> list[Limits]:
        """What tells the recommended group from all other rows."""
        return self.limits_of(self.region.group)

    def limits_of(self, group: Cell) -> list[Limits]:
        """What tells a group from all other rows, by features that matter if possible."""
        assert group.members is not None
        return self.space.limits(group.members, list(self.conclusion.effects))

    @property
    def minimizes(self) -> bool:
        """Whether the lowest average was sought."""
        return self.region.optimizer.direction == "minimize"

    @property
    def where(self) -> str:
        """The recommended group for ``--where``; empty for the whole table."""
        return self.where_of(self.limits)

    def where_of(self, limits: list[Limits]) -> str:
        """What selects from the file exactly the rows of a group."""
        told = (each for limit in limits for each in limit.conditions)
        return " and ".join([*self.conditions, *told])


def result_of(
    found: Found,
    values: np.ndarray | None,
    arguments: argparse.Namespace,
    source: str,
    rows: np.ndarray | None = None,
) -> dict[str, Any]:
    """Everything about a search, with the truth that only the report may know.

    It does not where the search is private: ``values`` is None then. ``rows`` are the numbers of
    the rows in the file, None where all of it was searched.
    """
    region, space = found.region, found.space
    optimizer, oracle, members = region.optimizer, region.oracle, region.members
    if values is None:
        assert isinstance(oracle, PrivateGroups)
        known: dict[str, Any] = {"privacy": privacy_entry(oracle, arguments)}
    else:
        known = {
            "true_average": float(values[members].mean()),
            "true_average_of_table": float(values.mean()),
            "best_by_chance": by_chance(values, len(members), found.minimizes),
        }
    return {
        "command": arguments.command,
        "source": str(source),
        "features": [column.name for column in space.columns],
        "target": found.target,
        "sought": "lowest" if found.minimizes else "highest",
        "n_rows": oracle.n_rows,
        "n_members": len(members),
        "members": (members if rows is None else rows[members]).tolist(),
        "lower": space.ends(members, np.min),
        "upper": space.ends(members, np.max),
        "where": found.where,
        "n_rows_within_bounds": region.n_inside,
        "posterior_mean": region.mean,
        "posterior_std": region.std,
        "interval_95": list(region.interval),
        **_concluded(found),
        **known,
        "n_rounds": oracle.n_answers,
        "enough": region.enough,
        "n_groups_asked": len(oracle.asked),
        "smallest_group_asked": oracle.smallest,
        "share_of_rows_averaged_singly": oracle.share_asked_singly,
        "seed": arguments.seed or 0,
        "parameters": {
            "budget": arguments.budget,
            "stop_within": arguments.stop_within,
            "confidence": arguments.confidence,
            "noise": None if values is None else arguments.noise,
            "alpha": None if values is None else region.alpha,
            "kernel": arguments.kernel,
            "kernel_learned": str(optimizer.surrogate_.kernel_),
            "max_depth": optimizer.max_depth_,
            "min_members": optimizer.min_members,
            "n_children": optimizer.n_children,
            "n_representatives": optimizer.n_representatives,
            "diameter": optimizer.diameter,
            "expansion": optimizer.expansion,
            "beta": optimizer.beta,
            "failure_probability": optimizer.failure_probability,
        },
        "version": skgpb.__version__,
    }


def _concluded(found: Found) -> dict[str, Any]:
    """What the posterior says of the group beside others."""
    conclusion = found.conclusion
    group = conclusion.runner_up
    runner_up = None
    if group is not None:
        limits = found.limits_of(group)
        runner_up = {
            "n_members": len(np.asarray(group.members)),
            "where": found.where_of(limits),
            "posterior_mean": conclusion.runner_up_mean,
            "probability_better": conclusion.runner_up_better,
        }
    half = QUANTILE_95 * conclusion.gain_std
    return {
        "gain": conclusion.gain,
        "gain_interval_95": [conclusion.gain - half, conclusion.gain + half],
        "probability_better_than_table": conclusion.sure_of_gain,
        "probability_best_of_groups_asked": conclusion.sure_of_best,
        "runner_up": runner_up,
        "effects_of_features": conclusion.effects,
    }
