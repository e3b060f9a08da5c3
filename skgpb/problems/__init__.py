"""Test problems of the papers: they know their bounds, optimum and noise."""

from skgpb.problems.advertising import AdvertisingBudget
from skgpb.problems.gp_draws import ArmsProblem, gp_draw, gp_draw_kernel
from skgpb.problems.gpoo import GPOOProblem, gpoo_function
from skgpb.problems.indirect import IndirectBranin, MultiResolutionBranin, branin

__all__ = [
    "AdvertisingBudget",
    "ArmsProblem",
    "GPOOProblem",
    "IndirectBranin",
    "MultiResolutionBranin",
    "branin",
    "gp_draw",
    "gp_draw_kernel",
    "gpoo_function",
]
