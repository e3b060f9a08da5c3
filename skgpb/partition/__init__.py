"""Hierarchical partitions of boxes and pools, and the cells they are made of."""

from skgpb.partition.box import BoxPartition
from skgpb.partition.cell import Cell
from skgpb.partition.pool import PoolPartition

__all__ = ["BoxPartition", "Cell", "PoolPartition"]
