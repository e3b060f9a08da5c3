"""Gaussian-process bandits for oracles that answer with averages."""

__version__ = "0.1.0"
