"""Bandit optimizers, one file for each algorithm."""

from skgpb.optimizers.gpoo import GPOOOptimizer
from skgpb.optimizers.stooo import StoOOOptimizer

__all__ = ["GPOOOptimizer", "StoOOOptimizer"]
