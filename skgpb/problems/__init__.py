"""Test problems of the papers: they know their bounds, optimum and noise."""

from skgpb.problems.advertising import AdvertisingBudget
from skgpb.problems.gp_draws import gp_draw
from skgpb.problems.gpoo import gpoo_function
from skgpb.problems.indirect import IndirectBranin

__all__ = [
    "AdvertisingBudget",
    "IndirectBranin",
    "gp_draw",
    "gpoo_function",
]
