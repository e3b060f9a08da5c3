"""Kernels of feedback, which wrap a kernel over points, and one kernel over points itself."""

from skgpb.kernels._wrapper import WrapperKernel
from skgpb.kernels.additive_matern import AdditiveMatern
from skgpb.kernels.cell_average import CellAverage
from skgpb.kernels.cell_integral import CellIntegral
from skgpb.kernels.columns import Columns
from skgpb.kernels.conditional_mean import ConditionalMean
from skgpb.kernels.low_rank import LowRank
from skgpb.kernels.policy_mean import PolicyMean
from skgpb.kernels.tasks import Tasks
from skgpb.kernels.weighted_sum import WeightedSum
from skgpb.kernels.window_mean import WindowMean

__all__ = [
    "AdditiveMatern",
    "CellAverage",
    "CellIntegral",
    "Columns",
    "ConditionalMean",
    "LowRank",
    "PolicyMean",
    "Tasks",
    "WeightedSum",
    "WindowMean",
    "WrapperKernel",
]
