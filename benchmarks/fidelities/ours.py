"""skgpb's knowledge gradient over two fidelities, and with the high fidelity alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgpb import KGOptimizer
from skgpb.domains import Fidelities


class KG:
    """The knowledge gradient over points of both functions."""

    label = "skgpb KG"

    def __init__(self, d: int, price: float, seed: int) -> None:
        warnings.simplefilter("ignore", ConvergenceWarning)
        self.opt: Any = KGOptimizer(
            bounds=[(0.0, 1.0)] * d, n_initial=0, relearn=1, random_state=seed, **self.asked(price)
        )

    @staticmethod
    def asked(price: float) -> dict[str, Any]:
        return {"queries": Fidelities(2), "cost": [1.0, price]}

    def ask(self) -> tuple[np.ndarray, int]:
        query = self.opt.ask()
        return query.points[0], query.task

    def tell(self, x: np.ndarray, task: int, y: float) -> None:
        self.opt.tell([*x, task], y)

    def recommend(self) -> np.ndarray:
        return self.opt.recommend().points[0]


class KGAlone(KG):
    """Run the search without the low-fidelity function."""

    label = "skgpb KG, high fidelity alone"

    @staticmethod
    def asked(price: float) -> dict[str, Any]:
        return {}

    def ask(self) -> tuple[np.ndarray, int]:
        return self.opt.ask().points[0], 0

    def tell(self, x: np.ndarray, task: int, y: float) -> None:
        if task == 0:
            self.opt.tell(x, y)
