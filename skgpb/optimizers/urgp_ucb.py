r"""URGP-UCB: GP-UCB with the fall of the uncertainty for a bonus.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Section 6.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from skgpb.locks import locked
from skgpb.optimizers._ucb import BaseUCBOptimizer
from skgpb.optimizers.round import Round
from skgpb.utils import StrOptions

__all__ = ["URGPUCBOptimizer"]


@dataclass(eq=False, repr=False, kw_only=True)
class URGPUCBOptimizer(BaseUCBOptimizer):
    r"""GP-UCB with the reduction of the standard deviation as its bonus, for comparison.

    >>> from skgpb import URGPUCBOptimizer
    >>> opt = URGPUCBOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    It pulls the arm of the largest mean(x) + sqrt(beta_t) (reduction of the standard deviation).

    Made in the paper to show that the weights of DAGP-UCB matter (decision D-D2). A round costs
    O(n_arms t), O(n_arms^2) with weights over all arms.

    Other parameters are those of :class:`~skgpb.optimizers.BaseUCBOptimizer`.

    Parameters
    ----------
    weights : {"own", "mean", "sum"}, default="own"
        Standard deviation that counts: the arm's own (Kronecker's delta, as printed: a GP-UCB
        with a smaller bonus, which performs well), the mean over all arms, or the sum, which
        is what the paper's figures show.
    covariance : {"auto", "full", "lean"}, default="auto"
        Whether "mean" and "sum" keep the n_arms x n_arms posterior covariance. "auto" does for
        at most 5,000 arms.

    Notes
    -----
    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers.Search`.
    """

    weights: Literal["own", "mean", "sum"] = "own"
    covariance: Literal["auto", "full", "lean"] = "auto"

    _parameter_constraints = {
        "weights": [StrOptions({"own", "mean", "sum"})],
        "covariance": [StrOptions({"auto", "full", "lean"})],
    }

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the mean plus sqrt(beta_t) sum_x' w(x, x') S_t(x, x'), S_t by equation 37."""
        n = posterior.n_targets
        if self.weights == "own":
            uncertainty = posterior.own_reduction()
        else:
            w = np.full(n, 1.0 / n) if self.weights == "mean" else np.ones(n)
            uncertainty = posterior.reduction(w, self.covariance)
        return posterior.mean + sqrt(self.exploration(posterior)) * uncertainty

    # 2 log(t^2 pi^2 n_arms / (6 delta)), equation 5; in a box, equation 22.
    _theory_beta = BaseUCBOptimizer._union_bound
