"""Hierarchical partitions of boxes and pools, and the cells they are made of."""

from skgpb.partition.ball import Ball
from skgpb.partition.box import BoxPartition
from skgpb.partition.cell import Cell
from skgpb.partition.covering import ChebyshevCovering, EuclideanCovering
from skgpb.partition.indirect_query import IndirectCell, IndirectQuery
from skgpb.partition.pool import PoolPartition

__all__ = [
    "Ball",
    "BoxPartition",
    "Cell",
    "ChebyshevCovering",
    "EuclideanCovering",
    "IndirectCell",
    "IndirectQuery",
    "PoolPartition",
]
