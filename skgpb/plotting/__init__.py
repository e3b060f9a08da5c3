"""Pictures of a search; matplotlib is imported only when one is drawn."""

from skgpb.plotting.cell_map import CellMapDisplay

__all__ = ["CellMapDisplay"]
