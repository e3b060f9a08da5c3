"""Real data for a search over a pool: columns of a table, pixels of a photograph."""

from skgpb.datasets.photograph import load_flower
from skgpb.datasets.table import copy_rows, read_table

__all__ = ["copy_rows", "load_flower", "read_table"]
