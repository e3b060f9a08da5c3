"""Test problems of the papers: they know their bounds, optimum and noise."""

from skgpb.problems.gpoo import GPOOProblem, gpoo_function

__all__ = ["GPOOProblem", "gpoo_function"]
