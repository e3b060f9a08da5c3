"""Bandit optimizers, one file for each algorithm."""

from skgpb.optimizers._gaussian import ModelParameters
from skgpb.optimizers._stopping import Stop, StopRule
from skgpb.optimizers._trees import PartitionSearch
from skgpb.optimizers.cmes import CMESOptimizer
from skgpb.optimizers.cmets import CMETSOptimizer
from skgpb.optimizers.contextual_gp_tree import ContextualGPTreeOptimizer
from skgpb.optimizers.dagp_ucb import DAGPUCBOptimizer
from skgpb.optimizers.est import ESTOptimizer
from skgpb.optimizers.gp_tree import GPTreeOptimizer
from skgpb.optimizers.gp_ts import GPTSOptimizer
from skgpb.optimizers.gp_zooming import GPZoomingOptimizer
from skgpb.optimizers.gpoo import GPOOOptimizer
from skgpb.optimizers.ids import IDSOptimizer
from skgpb.optimizers.improvement import EIOptimizer, PIOptimizer
from skgpb.optimizers.indirect_baselines import (
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
)
from skgpb.optimizers.indirect_search import IndirectParameters, IndirectSearch
from skgpb.optimizers.kg import KGOptimizer
from skgpb.optimizers.mes import MESOptimizer
from skgpb.optimizers.own_rule import IndirectTargetsOptimizer, TargetsOptimizer
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.optimizers.stooo import StoOOOptimizer
from skgpb.optimizers.strategy import Strategy
from skgpb.optimizers.strategy_optimizer import StrategyOptimizer
from skgpb.optimizers.tree_search import Leaves, TreeSearch
from skgpb.optimizers.ucb import BaseUCBOptimizer, GPUCBOptimizer, IGPUCBOptimizer, URGPUCBOptimizer

__all__ = [
    "BaseUCBOptimizer",
    "CMESOptimizer",
    "CMETSOptimizer",
    "ContextualGPTreeOptimizer",
    "DAGPUCBOptimizer",
    "EIOptimizer",
    "ESTOptimizer",
    "GPOOOptimizer",
    "GPTSOptimizer",
    "GPTreeOptimizer",
    "GPUCBOptimizer",
    "GPZoomingOptimizer",
    "IDSOptimizer",
    "IGPUCBOptimizer",
    "IndirectEIOptimizer",
    "IndirectMESOptimizer",
    "IndirectPIOptimizer",
    "IndirectParameters",
    "IndirectSearch",
    "IndirectTargetsOptimizer",
    "IndirectUCBOptimizer",
    "KGOptimizer",
    "Leaves",
    "MESOptimizer",
    "ModelParameters",
    "PIOptimizer",
    "PartitionSearch",
    "Round",
    "Search",
    "StoOOOptimizer",
    "Stop",
    "StopRule",
    "Strategy",
    "StrategyOptimizer",
    "TargetsOptimizer",
    "TreeSearch",
    "URGPUCBOptimizer",
]
