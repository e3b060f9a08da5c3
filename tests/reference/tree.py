"""Cells of a K-ary partition of a box, one plain object each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

TIE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Node:
    """Cell (depth, index) with its corners."""

    depth: int
    index: int
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @cached_property
    def key(self):
        return self.depth, self.index


def root_of(bounds):
    bounds = np.asarray(bounds, dtype=float)
    return Node(0, 0, tuple(bounds[:, 0]), tuple(bounds[:, 1]))


def children_of(node, n_children):
    """Cut the side that is longest in units of the root box, the lowest such axis, into K.

    All sides shrink by the same factor in turn, so that axis is depth modulo d.
    """
    axis = node.depth % len(node.lower)
    low, up = node.lower[axis], node.upper[axis]
    width = up - low
    children = []
    for j in range(n_children):
        lower, upper = list(node.lower), list(node.upper)
        lower[axis] = low + j * width / n_children
        upper[axis] = up if j == n_children - 1 else low + (j + 1) * width / n_children
        children.append(
            Node(node.depth + 1, n_children * node.index + j, tuple(lower), tuple(upper))
        )
    return children


def tensor(axes):
    """All combinations of one coordinate per axis, the last axis fastest: (n, d)."""
    return np.array(np.meshgrid(*axes, indexing="ij")).reshape(len(axes), -1).T


def representatives(node, per_axis):
    """Centres of an s_1 x ... x s_d sub-grid of the cell."""
    return tensor(
        [
            low + (np.arange(s) + 0.5) / s * (up - low)
            for low, up, s in zip(node.lower, node.upper, per_axis, strict=True)
        ]
    )


def quadrature(node, n_nodes):
    """Gauss-Legendre points and weights for the *mean* over the cell."""
    z, w = np.polynomial.legendre.leggauss(n_nodes)
    points = tensor(
        [low + 0.5 * (z + 1.0) * (up - low) for low, up in zip(node.lower, node.upper, strict=True)]
    )
    weights = tensor([0.5 * w] * len(node.lower)).prod(axis=1)
    return points, weights


def best(nodes, values):
    """Position of the largest value; ties within the tolerance by depth, then by index."""
    values = np.asarray(values, dtype=float)
    top = values.max()
    tied = [
        position
        for position, value in enumerate(values)
        if value == top or value >= top - TIE_TOLERANCE * max(1.0, abs(top))
    ]
    return min(tied, key=lambda position: nodes[position].key)
