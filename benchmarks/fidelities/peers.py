"""BoTorch's rules for several fidelities, as its tutorials run them.

The model is its ``SingleTaskMultiFidelityGP`` with the fidelity as a further column, 1 for the high
function and 0 for the cheap one, learned anew in every round.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

# Starts and raw samples of each search for the best query, and fantasies of the knowledge gradient,
# as the tutorial on discrete fidelities has them (fantasies: the default of the class).
RESTARTS, RAW = 5, 128
OPTIONS = {"batch_limit": 5, "maxiter": 200}
CANDIDATES = 1000


class BoTorch:
    """Code shared by both rules: the model, the cost, the recommendation."""

    def __init__(self, d: int, price: float, seed: int) -> None:
        import torch
        from botorch.acquisition.cost_aware import InverseCostWeightedUtility
        from botorch.models.cost import AffineFidelityCostModel

        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.torch, self.d = torch, d
        self.bounds = torch.tensor([[0.0] * (d + 1), [1.0] * (d + 1)], dtype=torch.double)
        cost = AffineFidelityCostModel({d: 1.0 - price}, fixed_cost=price)
        self.cost = InverseCostWeightedUtility(cost_model=cost)
        self.X: list[list[float]] = []
        self.y: list[float] = []
        self._model: Any = None

    def project(self, X: Any) -> Any:
        from botorch.acquisition.utils import project_to_target_fidelity

        return project_to_target_fidelity(X=X, target_fidelities={self.d: 1.0}, d=self.d + 1)

    def model(self) -> Any:
        from botorch import fit_gpytorch_mll
        from botorch.models import SingleTaskMultiFidelityGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        if self._model is None:
            X, y = (self.torch.tensor(each, dtype=self.torch.double) for each in (self.X, self.y))
            self._model = SingleTaskMultiFidelityGP(
                X, y[:, None], data_fidelities=[self.d], outcome_transform=Standardize(m=1)
            )
            fit_gpytorch_mll(ExactMarginalLogLikelihood(self._model.likelihood, self._model))
        return self._model

    def best(self) -> tuple[Any, Any]:
        """Point, and value, of the largest posterior mean at high fidelity."""
        from botorch.acquisition import PosteriorMean
        from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
        from botorch.optim import optimize_acqf

        mean = FixedFeatureAcquisitionFunction(
            PosteriorMean(self.model()), d=self.d + 1, columns=[self.d], values=[1.0]
        )
        return optimize_acqf(
            mean, self.bounds[:, :-1], q=1, num_restarts=10, raw_samples=1024, options=OPTIONS
        )

    def ask(self) -> tuple[np.ndarray, int]:
        from botorch.optim import optimize_acqf_mixed

        found, _ = optimize_acqf_mixed(
            self.rule(),
            self.bounds,
            q=1,
            fixed_features_list=[{self.d: 0.0}, {self.d: 1.0}],
            num_restarts=RESTARTS,
            raw_samples=RAW,
            options=OPTIONS,
        )
        x = found.detach().numpy()[0]
        return x[:-1], int(x[-1] < 0.5)

    def rule(self) -> Any:
        raise NotImplementedError

    def tell(self, x: np.ndarray, task: int, y: float) -> None:
        self.X.append([*map(float, x), 1.0 - task])
        self.y.append(y)
        self._model = None

    def recommend(self) -> np.ndarray:
        return self.best()[0].detach().numpy()[0]


class KnowledgeGradient(BoTorch):
    """qMultiFidelityKnowledgeGradient."""

    label = "BoTorch qMFKG"

    def rule(self) -> Any:
        from botorch.acquisition.knowledge_gradient import qMultiFidelityKnowledgeGradient

        return qMultiFidelityKnowledgeGradient(
            self.model(),
            current_value=self.best()[1],
            cost_aware_utility=self.cost,
            project=self.project,
        )


class MaxValueEntropy(BoTorch):
    """qMultiFidelityMaxValueEntropy."""

    label = "BoTorch qMFMES"

    def rule(self) -> Any:
        from botorch.acquisition.max_value_entropy_search import qMultiFidelityMaxValueEntropy

        candidates = self.torch.rand(CANDIDATES, self.d + 1, dtype=self.torch.double)
        candidates[:, -1] = 1.0
        return qMultiFidelityMaxValueEntropy(
            self.model(),
            candidates,
            cost_aware_utility=self.cost,
            project=self.project,
        )
