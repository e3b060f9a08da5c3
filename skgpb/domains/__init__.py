"""Queries and the domains they come from: boxes, pools, balls, arms and indirect queries."""

from skgpb.domains.allocations import Allocation
from skgpb.domains.angle import Angle
from skgpb.domains.arms import Arm, PointsQuery, Query, Region
from skgpb.domains.balls import Ball
from skgpb.domains.box import Box
from skgpb.domains.cells import Cells
from skgpb.domains.districts import Districts
from skgpb.domains.fidelities import Fidelities
from skgpb.domains.indirect import IndirectQuery
from skgpb.domains.integers import log_randint
from skgpb.domains.partition import Cell
from skgpb.domains.space import Side
from skgpb.domains.steps import Steps

__all__ = [
    "Allocation",
    "Angle",
    "Arm",
    "Ball",
    "Box",
    "Cell",
    "Cells",
    "Districts",
    "Fidelities",
    "IndirectQuery",
    "PointsQuery",
    "Query",
    "Region",
    "Side",
    "Steps",
    "log_randint",
]
