"""Queries and the domains they come from: boxes, pools, balls, arms and indirect queries."""

from skgpb.domains.allocations import Allocation, AllocationSet
from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.balls import Ball, Balls
from skgpb.domains.box import Box
from skgpb.domains.box_candidates import BoxCandidates
from skgpb.domains.cells import Cells
from skgpb.domains.contexts import ContextCell, ContextPartition
from skgpb.domains.covering import ChebyshevCovering, EuclideanCovering
from skgpb.domains.districts import Districts
from skgpb.domains.fidelities import Fidelities
from skgpb.domains.free_cells import FreeCells
from skgpb.domains.indirect import IndirectCell, IndirectQuery
from skgpb.domains.layout import Layout
from skgpb.domains.mixed import MixedPartition
from skgpb.domains.partition import BoxPartition, Cell, PoolPartition
from skgpb.domains.query import PointsQuery, Query, Region
from skgpb.domains.steps import Steps

__all__ = [
    "Allocation",
    "AllocationSet",
    "Arm",
    "ArmSet",
    "Ball",
    "Balls",
    "Box",
    "BoxCandidates",
    "BoxPartition",
    "Cell",
    "Cells",
    "ChebyshevCovering",
    "ContextCell",
    "ContextPartition",
    "Districts",
    "EuclideanCovering",
    "Fidelities",
    "FreeCells",
    "IndirectCell",
    "IndirectQuery",
    "Layout",
    "MixedPartition",
    "PointsQuery",
    "PoolPartition",
    "Query",
    "Region",
    "Steps",
]
