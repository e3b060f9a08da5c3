r"""IGP-UCB: GP-UCB with a confidence width for any f of bounded norm.

References
----------
.. [Chowdhury2017] S. R. Chowdhury and A. Gopalan, "On Kernelized Multi-armed Bandits", ICML
   2017. Theorem 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from skgpb._typing import Beta, PerRound
from skgpb.locks import locked
from skgpb.optimizers._norm_bound import BETA_CONSTRAINTS
from skgpb.optimizers._ucb import GainUCBOptimizer
from skgpb.optimizers.round import Round

__all__ = ["IGPUCBOptimizer"]


@dataclass(eq=False, repr=False, kw_only=True)
class IGPUCBOptimizer(GainUCBOptimizer):
    r"""GP-UCB for a function with a known bound on its norm, for comparison with theory.

    >>> from skgpb import IGPUCBOptimizer
    >>> opt = IGPUCBOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    It pulls the arm of the largest mean(x) + sqrt(beta_t) std(x) [Chowdhury2017]_.

    GP-UCB with beta_t = (B + R / sqrt(alpha) sqrt(2 (gamma_t + 1 + log(1 / delta))))^2, gamma_t
    being the maximum information gain. A round costs O(n_arms t).

    Other parameters are those of :class:`~skgpb.optimizers.Search`.

    Parameters
    ----------
    information_gain : {"greedy", "order"}, float or callable, default="greedy"
        gamma_t: a bound computed from the kernel and the arms, the order formula of the
        kernel with constants dropped (for linear, RBF and Matern kernels), or any number or
        function of t. See :mod:`skgpb.surrogate.information_gain`.
    beta : {"theory", "rkhs"}, float or callable, default="theory"
        Factor of the posterior *variance*: the bonus is sqrt(beta) std. "theory" is the formula
        above; "rkhs" is tighter, with the information gain of what was told in the place of the
        largest (:doc:`/user_guide/guarantees`); a callable takes the round t, counted from 1.

    Notes
    -----
    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers.Search`.
    """

    information_gain: Literal["greedy", "order"] | PerRound = "greedy"
    beta: Beta = "theory"

    _parameter_constraints = {"beta": BETA_CONSTRAINTS}

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the upper confidence bound of every arm; the first of the largest is pulled."""
        return posterior.mean + sqrt(self.exploration(posterior)) * posterior.std

    def _theory_beta(self, t: int, n_arms: int) -> float:
        """Theorem 2, with the gain of the round to come, which is no less."""
        return self._widths().beta_of_gain(self._gain(t), 1.0)
