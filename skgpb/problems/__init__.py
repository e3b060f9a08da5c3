"""Test problems of the papers, with their bounds, optimum and noise."""

from skgpb.problems.advertising import AdvertisingBudget
from skgpb.problems.gp_draws import gp_draw
from skgpb.problems.gpoo import gpoo_function

__all__ = [
    "AdvertisingBudget",
    "gp_draw",
    "gpoo_function",
]
