"""Kernels of feedback: each wraps a kernel over points and measures one kind of answer."""

from skgpb.kernels._boxes import boxes_from_points, representatives
from skgpb.kernels.cell_average import CellAverage
from skgpb.kernels.cell_integral import CellIntegral

__all__ = ["CellAverage", "CellIntegral", "boxes_from_points", "representatives"]
