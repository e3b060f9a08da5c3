"""Experiments in files that several windows and programs may use together."""

from skgpb.experiments.experiment import Experiment
from skgpb.experiments.sides import Side

__all__ = ["Experiment", "Side"]
