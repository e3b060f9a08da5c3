"""Pictures of a search; matplotlib is imported only when a picture is drawn."""

from skgpb.plotting.cell_map import CellMapDisplay
from skgpb.plotting.front import FrontDisplay
from skgpb.plotting.importance import ImportanceDisplay
from skgpb.plotting.posterior import PosteriorDisplay
from skgpb.plotting.regret import RegretDisplay
from skgpb.plotting.slices import SliceDisplay
from skgpb.plotting.tree import TreeDisplay

__all__ = [
    "CellMapDisplay",
    "FrontDisplay",
    "ImportanceDisplay",
    "PosteriorDisplay",
    "RegretDisplay",
    "SliceDisplay",
    "TreeDisplay",
]
