"""Bandit optimizers, one file for each algorithm."""

from skgpb.optimizers.dagp_ucb import DAGPUCBOptimizer
from skgpb.optimizers.gp_tree import GPTreeOptimizer
from skgpb.optimizers.gp_ucb import GPUCBOptimizer
from skgpb.optimizers.gpoo import GPOOOptimizer
from skgpb.optimizers.stooo import StoOOOptimizer
from skgpb.optimizers.variation import variation_bound

__all__ = [
    "DAGPUCBOptimizer",
    "GPOOOptimizer",
    "GPTreeOptimizer",
    "GPUCBOptimizer",
    "StoOOOptimizer",
    "variation_bound",
]
