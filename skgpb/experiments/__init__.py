"""Experiments in files that several windows and programs may use together."""

from skgpb.experiments.experiment import Experiment

__all__ = [
    "Experiment",
]
