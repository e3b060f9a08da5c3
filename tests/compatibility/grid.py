"""Our search with the signature of scikit-learn's for grids, and no limit of settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb.domains.space import ParameterSpace
from skgpb.model_selection import BanditSearchCV


class Grid(BanditSearchCV):
    """All settings of a grid, in the order in which the optimizer asks for them."""

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: str | float = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_grid = param_grid
        super().__init__(
            estimator,
            param_grid,
            select="observed",
            random_state=0,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def set_params(self, **params: Any) -> Any:
        """Set parameters under the names that they have there."""
        super().set_params(**params)
        self.param_distributions = self.param_grid
        return self

    def _run_search(self, evaluate_candidates: Any, *, callback_ctx: Any = None) -> None:
        self.n_iter = int(ParameterSpace(self.param_grid).n_settings)
        super()._run_search(evaluate_candidates, callback_ctx=callback_ctx)
