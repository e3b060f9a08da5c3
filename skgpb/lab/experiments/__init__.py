"""Experiments in files that several windows and programs may use together."""

from skgpb.lab.experiments.experiment import Experiment

__all__ = [
    "Experiment",
]
