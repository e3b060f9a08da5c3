"""Parameters for cutting a box or a pool into cells, and the variation of f in cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from skgpb import defaults
from skgpb.domains.mixed import deepest_cut, partition_of_box
from skgpb.domains.partition import (
    BoxPartition,
    Partition,
    PoolPartition,
    deepest_level,
    points_per_axis,
)
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import AllPendingError
from skgpb.optimizers._failing import Chances
from skgpb.utils import (
    MOST_CHILDREN,
    Integral,
    Interval,
    Real,
    check_bounds,
    check_callable_value,
    check_numbers,
)

#: Constraints of the parameters that say how a domain is cut.
CUTTING: dict[str, Any] = {
    "pool": "no_validation",
    "n_children": [Interval(Integral, 2, MOST_CHILDREN, closed="both")],
    "n_representatives": [Interval(Integral, 1, None, closed="left"), "array-like", None],
    "max_depth": [Interval(Integral, 0, None, closed="left"), None],
    "min_members": [Interval(Integral, 1, None, closed="left")],
}


@dataclass(frozen=True)
class Cutting:
    """Parameters of a search about the cells of its domain, a box or a pool.

    Attributes
    ----------
    pool : array-like of shape (n, d) or None
        The points, where the domain is no box.
    space : ParameterSpace or None
        Names of the sides of the box.
    n_children, feedback, n_representatives, max_depth, min_members
        As given to the search.
    """

    pool: Any
    space: ParameterSpace | None
    n_children: int
    feedback: Any
    n_representatives: Any
    max_depth: int | None
    min_members: int

    @classmethod
    def of(cls, given: Any, space: ParameterSpace | None) -> Cutting:
        """Return the parameters that are attributes of an object."""
        names = [each.name for each in fields(cls) if each.name != "space"]
        return cls(space=space, **{name: getattr(given, name) for name in names})

    def box(self, bounds: Any) -> np.ndarray | None:
        """Return the box (d, 2) of the domain, given ``bounds``; None if nothing is given."""
        if self.pool is None:
            if self.space is not None:
                return self.space.bounds
            return None if bounds is None else check_bounds(bounds)
        pool = check_numbers(self.pool, "pool")
        box = np.column_stack([pool.min(axis=0), pool.max(axis=0)])
        if bounds is not None and (
            self.space is not None or not np.array_equal(check_bounds(bounds), box)
        ):
            raise ValueError("pass either bounds or pool: a pool has the bounds of its rows")
        return box

    def counts(self, d: int) -> tuple[int, ...]:
        """Representatives along each side of a box."""
        if isinstance(self.feedback, str) and self.feedback == "center":
            return (1,) * d
        return points_per_axis(self.n_representatives, d, self.space)

    def check(self, d: int) -> None:
        """Raise ValueError where d dimensions cannot be cut like this."""
        self.given_depth()
        if self.pool is None:
            self.counts(d)

    def given_depth(self) -> int | None:
        """Return ``max_depth``, or the depth of a pool; None if neither is given."""
        given = checked_depth(self.max_depth, self.n_children)
        if given is not None or self.pool is None:
            return given
        # The deepest level at which every cell still has children.
        n, depth = len(self.pool) // self.n_children, 0
        while n // self.n_children >= self.min_members and depth < deepest_level(self.n_children):
            n, depth = n // self.n_children, depth + 1
        return depth

    def depth(self, d: int) -> int:
        """Resolve ``max_depth``: as given, or some cuts along every axis, within 64-bit indices."""
        given = self.given_depth()
        if given is not None:
            return given
        deepest = defaults.CUTS_PER_AXIS * d
        if self.space is not None and self.space.discrete:
            deepest = deepest_cut(self.space, self.n_children, defaults.CUTS_PER_AXIS)
        return min(deepest, deepest_level(self.n_children))

    def partition(self, bounds: np.ndarray, max_depth: int) -> BoxPartition | PoolPartition:
        """Return the partition with its root only."""
        named = isinstance(self.feedback, str)
        if self.pool is None:
            counts = self.counts(len(bounds))
            at_center = named and self.feedback != "integral" and max(counts) == 1
            return partition_of_box(
                bounds, self.n_children, counts, at_center, max_depth, self.space
            )
        pool = check_numbers(self.pool, "pool")
        n = defaults.POOL_CELL_POINTS if self.n_representatives is None else self.n_representatives
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n_representatives must be an integer >= 1 for a pool, got {n!r}")
        sizes = {"center": 1, "integral": None}
        size = sizes.get(self.feedback, int(n)) if named else int(n)
        return PoolPartition(pool, self.n_children, size, self.min_members, max_depth)


def checked_depth(max_depth: int | None, n_children: int) -> int | None:
    """Check that the nodes of a K-ary tree of this depth have 64-bit indices."""
    limit = deepest_level(n_children)
    if max_depth is None or max_depth <= limit:
        return None if max_depth is None else int(max_depth)
    raise ValueError(
        f"max_depth must be at most {limit} with n_children={n_children}, got {max_depth}"
    )


def check_variation(variation: Any) -> None:
    """Check a ``variation`` of the form (c, rho)."""
    if not isinstance(variation, (tuple, list)):
        return
    numbers = len(variation) == 2 and all(isinstance(x, Real) for x in variation)
    if not numbers or not (np.isfinite(variation[0]) and variation[0] > 0 and 0 < variation[1] < 1):
        raise ValueError(
            "variation as (c, rho) stands for c * rho**depth and needs finite c > 0 and "
            f"0 < rho < 1, got {variation!r}"
        )


def given_variation(variation: Any, n: int) -> np.ndarray:
    """delta(h) for depths h = 0..n - 1 where the user gave it, in units of the reward."""
    if callable(variation):
        return np.array([check_callable_value(variation, h, "variation") for h in range(n)])
    c, rho = variation
    return c * rho ** np.arange(n, dtype=np.float64)


def best_divisible(partition: Partition, best_leaf: Callable[[np.ndarray], int]) -> int:
    """Return the best leaf that can be split, where all are being evaluated.

    ``best_leaf`` takes a mask (n_nodes,) of what is excluded, and returns -1 where nothing is left.
    """
    leaves = partition.tree.leaves
    excluded = np.zeros(partition.tree.n_nodes, dtype=np.uint8)
    for leaf in leaves.tolist():
        if not partition.splittable(leaf):
            excluded[leaf] = 1
    node = best_leaf(excluded)
    if node < 0:
        raise AllPendingError(
            f"all {len(leaves)} cells at the finest resolution are pending: tell some of "
            "them before asking for more, or increase max_depth"
        )
    return node


def boxes_of(partition: Partition, nodes: np.ndarray) -> np.ndarray:
    """Boxes [lower, upper] of nodes, shape (n, 2 d)."""
    tree = partition.tree
    return np.hstack([tree.lower[nodes], tree.upper[nodes]])


def leaves_that_always_failed(partition: Partition, chances: Chances) -> list[int]:
    """Return the leaves that have failed, were never answered, and can be split."""
    leaves = partition.tree.leaves
    failed = leaves[chances.among(chances.always_failed, boxes_of(partition, leaves))]
    return [leaf for leaf in failed.tolist() if partition.splittable(leaf)]


def without_unlikely(
    partition: Partition, excluded: np.ndarray | None, chances: Chances
) -> np.ndarray:
    """Exclude the leaves that hardly ever have an answer as well."""
    tree = partition.tree
    leaves = tree.leaves
    marked = np.zeros(tree.n_nodes, dtype=np.uint8) if excluded is None else excluded
    marked[leaves[chances.unlikely(boxes_of(partition, leaves))]] = 1
    return marked
