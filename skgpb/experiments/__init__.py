"""Experiments kept in files: what several windows and programs ask, tell and correct together."""

from skgpb.experiments.experiment import Experiment
from skgpb.experiments.sides import Side

__all__ = ["Experiment", "Side"]
