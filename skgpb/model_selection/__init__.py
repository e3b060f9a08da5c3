"""Model selection: hyperparameters found by a bandit, and optimizers judged by replaying data."""

from skgpb.model_selection.scorer import bandit_scorer
from skgpb.model_selection.search import BanditSearchCV
from skgpb.model_selection.space import ParameterSpace

__all__ = ["BanditSearchCV", "ParameterSpace", "bandit_scorer"]
