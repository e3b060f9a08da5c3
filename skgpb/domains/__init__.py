"""What can be asked, and where: boxes, pools, balls, arms and indirect queries."""

from skgpb.domains.allocations import Allocation, AllocationSet
from skgpb.domains.arms import Arm, ArmSet, BoxCandidates
from skgpb.domains.balls import Ball, Balls
from skgpb.domains.blocks import BlockArm, Blocks
from skgpb.domains.cells import Cells, FreeCells
from skgpb.domains.context_queries import (
    ContextArm,
    ContextBlockArm,
    ContextDisc,
    ContextDistrict,
    ContextFidelityArm,
)
from skgpb.domains.contexts import ContextArms, ContextCell, ContextPartition
from skgpb.domains.covering import ChebyshevCovering, EuclideanCovering
from skgpb.domains.discs import Disc, Discs, DiscSet, FreeDiscs
from skgpb.domains.districts import District, Districts, DistrictSet
from skgpb.domains.fidelities import Fidelities, FidelityArm
from skgpb.domains.indirect import IndirectCell, IndirectQuery
from skgpb.domains.mixed import MixedPartition
from skgpb.domains.mixed_balls import MixedBalls, MixedCovering
from skgpb.domains.partition import BoxPartition, Cell, PoolPartition
from skgpb.domains.query import PointsQuery, Query, Region
from skgpb.domains.ranged_cells import RangedCells
from skgpb.domains.size_range import SizeRange
from skgpb.domains.undivided import UndividedPool

__all__ = [
    "Allocation",
    "AllocationSet",
    "Arm",
    "ArmSet",
    "Ball",
    "Balls",
    "BlockArm",
    "Blocks",
    "BoxCandidates",
    "BoxPartition",
    "Cell",
    "Cells",
    "ChebyshevCovering",
    "ContextArm",
    "ContextArms",
    "ContextBlockArm",
    "ContextCell",
    "ContextDisc",
    "ContextDistrict",
    "ContextFidelityArm",
    "ContextPartition",
    "Disc",
    "DiscSet",
    "Discs",
    "District",
    "DistrictSet",
    "Districts",
    "EuclideanCovering",
    "Fidelities",
    "FidelityArm",
    "FreeCells",
    "FreeDiscs",
    "IndirectCell",
    "IndirectQuery",
    "MixedBalls",
    "MixedCovering",
    "MixedPartition",
    "PointsQuery",
    "PoolPartition",
    "Query",
    "RangedCells",
    "Region",
    "SizeRange",
    "UndividedPool",
]
