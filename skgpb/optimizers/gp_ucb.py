r"""GP-UCB: the arm of the largest upper confidence bound.

References
----------
.. [Srinivas2010] N. Srinivas, A. Krause, S. M. Kakade and M. Seeger, "Gaussian Process
   Optimization in the Bandit Setting: No Regret and Experimental Design", ICML 2010.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from skgpb.acquisition.ucb import union_bound_beta
from skgpb.locks import locked
from skgpb.optimizers._arms import BaseUCBOptimizer
from skgpb.optimizers._posteriors import ArmsPosterior


class GPUCBOptimizer(BaseUCBOptimizer):
    r"""Pull the arm of the largest mean(x) + sqrt(beta_t) std(x) [Srinivas2010]_.

    In the terms of Algorithm 1 of the DAGP-UCB paper: w_t(x, x') is 1 at x' = x and 0
    elsewhere, S_t(x, x) = std(x). A round costs O(n_arms t).

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
    beta : "theory", float or callable, default="theory"
        Factor of the posterior *variance*: the bonus is sqrt(beta) std. "theory" is
        2 log(t^2 pi^2 n_arms / (6 delta)), with delta / 2 in a box; a callable takes the
        round t, counted from 1.
    failure_probability : float, default=0.1
        delta, in (0, 1).
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
    >>> from skgpb import GPUCBOptimizer
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> opt = GPUCBOptimizer(RBF(0.2), arms=np.linspace(0, 1, 101)[:, None], alpha=0.1**2)
    >>> result = opt.run(noisy, budget=40)
    >>> abs(result.x.index - 31) <= 3  # the maximum is at pi / 10
    True
    """

    @locked
    def acquisition(self, posterior: ArmsPosterior) -> np.ndarray:
        """Return the upper confidence bound of every arm; the first of the largest is pulled."""
        beta = self.exploration(posterior)
        bonus = sqrt(beta) * posterior.std
        return posterior.mean + bonus

    @locked
    def theory_beta(self, t: int, n_arms: int) -> float:
        """Return 2 log(t^2 pi^2 n_arms / (6 delta)), Theorem 1 of [Srinivas2010]_."""
        delta = self.failure_probability
        if self.arms is None:
            # Candidates stand for a box: the other half is for f between them.
            delta *= 0.5
        return union_bound_beta(t, n_arms, delta)
