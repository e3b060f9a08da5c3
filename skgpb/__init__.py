"""Gaussian-process bandits for oracles that answer with averages or indirect measurements.

Every observation is a linear functional of an unknown function f plus noise: f at a point, its
average over a cell, its integral. See :mod:`skgpb.optimizers` for the algorithms,
:mod:`skgpb.kernels` for the kinds of feedback and :mod:`skgpb.surrogate` for the posterior.
"""

from skgpb.combinatorial import CombinatorialBandit
from skgpb.optimizers import (
    CMESOptimizer,
    CMETSOptimizer,
    ContextualGPTreeOptimizer,
    DAGPUCBOptimizer,
    EIOptimizer,
    ESTOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IGPUCBOptimizer,
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
    MESOptimizer,
    PIOptimizer,
    StoOOOptimizer,
    URGPUCBOptimizer,
)
from skgpb.surrogate import OnlineGaussianProcessRegressor

__version__ = "0.1.0"

__all__ = [
    "CMESOptimizer",
    "CMETSOptimizer",
    "CombinatorialBandit",
    "ContextualGPTreeOptimizer",
    "DAGPUCBOptimizer",
    "EIOptimizer",
    "ESTOptimizer",
    "GPOOOptimizer",
    "GPTSOptimizer",
    "GPTreeOptimizer",
    "GPUCBOptimizer",
    "GPZoomingOptimizer",
    "IGPUCBOptimizer",
    "IndirectEIOptimizer",
    "IndirectMESOptimizer",
    "IndirectPIOptimizer",
    "IndirectUCBOptimizer",
    "MESOptimizer",
    "OnlineGaussianProcessRegressor",
    "PIOptimizer",
    "StoOOOptimizer",
    "URGPUCBOptimizer",
    "__version__",
]
