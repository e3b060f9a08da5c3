r"""MES: the arm that tells most about the largest value.

References
----------
.. [Wang2017] Z. Wang and S. Jegelka, "Max-value Entropy Search for Efficient Bayesian
   Optimization", ICML 2017. Equation 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb.acquisition.entropy import gumbel_max_values, max_value_entropy
from skgpb.locks import locked
from skgpb.optimizers._arms import BaseArmsOptimizer
from skgpb.optimizers._posteriors import ArmsPosterior
from skgpb.utils import MOST_POINTS, Integral, Interval, Real, StrOptions


class MESOptimizer(BaseArmsOptimizer):
    r"""Pull the arm of the largest mutual information with the largest value [Wang2017]_.

    A round costs O(n_arms (t + rank + n_max_values)).

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance, over rows of ``arms``: any kernel of
        ``sklearn.gaussian_process.kernels`` where arms are points, or one of
        ``skgpb.kernels`` where they are descriptors of averages, integrals and so on. None learns
        Matern-5/2 with a scale for every side, in units of the rewards' spread
        (:mod:`skgpb.surrogate.likelihood`).
    arms : array-like of shape (n_arms, n_columns), default=None
        The arms. Rows are points, or descriptors of whatever ``kernel`` takes.
    bounds : array-like of shape (d, 2), default=None
        A box instead of arms, which candidates then stand for. With neither it comes from
        ``fit``.
    alpha : float, default=None
        Noise variance of a reward, in units of the reward squared; None learns it.
    optimum : float, default=None
        f*, the largest value of f, where it is known, in units of the reward; None to draw it.
    max_values : {"draws", "gumbel"}, default="draws"
        Samples of f* by joint draws of f, or from a Gumbel law fitted to independent
        marginals, which is biased high on fine grids.
    n_max_values : int, default=100
        Number of samples of f*.
    n_candidates : int, default=500
        Most points that stand for a box.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How hyperparameters are learned from what was told, as in GaussianProcessRegressor.
        None keeps those of a given ``kernel``.
    n_restarts_optimizer : int, default=0
        Further starts of the optimizer.
    relearn : {"doubling", "growing"}, int or None, default="doubling"
        When to learn them and the noise: whenever the number of observations has doubled or
        grown by a quarter (from 4 on), every so many observations, or only in ``fit``. It is
        also when rewards are scaled.
    normalize_y : bool, default=False
        Whether to centre and scale the rewards, so that a given ``kernel`` is in units of
        their spread. ``alpha`` stays in units of the reward.
    random_state : int, RandomState instance or None, default=None
        Seeds what is random: draws, candidates in a box, restarts.

    Attributes
    ----------
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over rows as in ``arms``.
    domain_ : ArmSet
        The arms, or the candidates in a box: makes queries and resolves them.
    arms_ : ndarray of shape (n_arms, n_columns)
        The arms, or the present candidates in a box.
    history_ : structured ndarray
        What was told.
    bounds_ : ndarray of shape (d, 2)
        The domain; the bounding box of the arms.
    n_features_in_ : int
        Number of dimensions.

    Notes
    -----
    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers._arms.BaseArmsOptimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import MESOptimizer
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> arms = np.linspace(0, 1, 101)[:, None]
    >>> opt = MESOptimizer(RBF(0.2), arms=arms, alpha=0.1**2, random_state=0)
    >>> result = opt.run(noisy, budget=40)
    >>> abs(result.x.index - 31) <= 3  # the maximum is at pi / 10
    True
    """

    _parameter_constraints: dict = {
        "optimum": [Real, None],
        "max_values": [StrOptions({"draws", "gumbel"})],
        "n_max_values": [Interval(Integral, 1, MOST_POINTS, closed="both")],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        bounds: Any = None,
        alpha: float | None = None,
        optimum: float | None = None,
        max_values: str = "draws",
        n_max_values: int = 100,
        n_candidates: int = 500,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            arms=arms,
            bounds=bounds,
            alpha=alpha,
            n_candidates=n_candidates,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            relearn=relearn,
            normalize_y=normalize_y,
            random_state=random_state,
        )
        self.optimum = optimum
        self.max_values = max_values
        self.n_max_values = n_max_values

    @locked
    def acquisition(self, posterior: ArmsPosterior) -> np.ndarray:
        """Return the logarithm of equation 6."""
        mean, std = posterior.mean, posterior.std
        with np.errstate(divide="ignore"):
            return np.log(max_value_entropy(mean, std, self.sample_maxima(posterior)))

    @locked
    def sample_maxima(self, posterior: ArmsPosterior) -> np.ndarray:
        """Return samples of f*, the largest value, shape (n_max_values,), Section 3.1."""
        if self.optimum is not None:
            return np.array([(self.optimum - posterior.offset) / posterior.scale])
        if self.max_values == "draws":
            return posterior.draws(self.n_max_values).max(axis=1)
        return gumbel_max_values(posterior.mean, posterior.std, self.n_max_values, posterior.rng)
