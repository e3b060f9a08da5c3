"""Model selection: hyperparameter search by a bandit, and a scorer of optimizers."""

from skgpb.model_selection.scorer import bandit_scorer
from skgpb.model_selection.search import BanditSearchCV

__all__ = ["BanditSearchCV", "bandit_scorer"]
