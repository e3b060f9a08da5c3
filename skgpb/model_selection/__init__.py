"""Model selection: hyperparameters found by a bandit, and optimizers judged by replaying data."""

from skgpb.model_selection.scorer import bandit_scorer
from skgpb.model_selection.search import BanditSearchCV

__all__ = ["BanditSearchCV", "bandit_scorer"]
