r"""Max-value entropy search over arms, and over queries and targets.

Eq. 6 truncates the value of a query at a sample of f*, which makes sense if the queries are the
targets. Otherwise :func:`largest_target_information` takes the dependence between an answer and f*,
the largest value of a target, from the joint posterior, as the module of CMES explains: their
covariance is that of the answer with the maximisers of joint draws.

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

from skgpb._docstrings import with_shared_paragraphs
from skgpb.acquisition.entropy import (
    gumbel_max_values,
    max_value_entropy,
    maximisers,
)
from skgpb.guarantee import Guarantee
from skgpb.locks import locked
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.utils import MOST_POINTS, Integral, Interval, Real, StrOptions

# Samples of the largest value of a target.
N_MAX_VALUES = 100


@with_shared_paragraphs
class MESOptimizer(Search):
    r"""Max-value entropy search: ask the query with the most information about the maximum.

    It pulls the arm with the largest mutual information with the maximum of f [Wang2017]_.
    A round takes O(n_arms (t + rank + n_max_values)); in a box, where candidates move,
    O(n_arms^2 (t + n_arms)).

    With ``queries`` or ``targets``, as for :class:`~skgpb.KGOptimizer`, the information is about
    the maximum over the targets, per unit of cost.

    Parameters
    ----------
    kernel, arms : %(arms)s
    queries, targets : %(search)s
    bounds, context_bounds : %(arms)s
    cost, alpha : %(search)s
    optimum : float, default=None
        f*, the largest value of f, where it is known, in units of the reward; None to draw it. Not
        with ``queries`` or ``targets``.
    max_values : {"draws", "gumbel"}, default="draws"
        Samples of f* by joint draws of f, or from a Gumbel law fitted to independent
        marginals, which is biased high on fine grids. Targets are always drawn.
    n_max_values : int, default=100
        Number of samples of f*.
    guarantee : %(arms)s
    n_candidates, n_initial, optimizer, n_restarts_optimizer, relearn, normalize_y : %(arms)s
    direction, random_state : %(arms)s

    Attributes
    ----------
    surrogate_, domain_ : %(arms)s
    targets_, spent_ : %(search)s
    history_, bounds_, n_features_in_ : %(arms)s

    See Also
    --------
    KGOptimizer : Asks what is expected to raise the best mean of a target most.
    CMESOptimizer : The same where questions lead to points by chance.

    Notes
    -----
    Ties, boxes, batches and the recommendation are those of :class:`~skgpb.optimizers.Search`.

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

    Find the tenth with the largest average by asking tenths and quarters:

    >>> from skgpb.domains import Cells
    >>> opt = MESOptimizer(
    ...     queries=Cells([0.1, 0.25]), targets=Cells(0.1), bounds=[(0, 1)], random_state=0
    ... )
    >>> result = opt.run(lambda cell: float(np.sin(5 * cell.points).mean()), budget=20)
    >>> bool(abs(result.x.center[0] - np.pi / 10) < 0.05)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "optimum": [Real, None],
        "max_values": [StrOptions({"draws", "gumbel"})],
        "n_max_values": [Interval(Integral, 1, MOST_POINTS, closed="both")],
    }

    _finds_best = True
    _says_worth = True

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        queries: Any = None,
        targets: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        cost: Any = None,
        alpha: Any = None,
        optimum: float | None = None,
        max_values: str = "draws",
        n_max_values: int = 100,
        guarantee: Guarantee | None = None,
        n_candidates: int = 500,
        n_initial: int | None = None,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        direction: str = "maximize",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.arms = arms
        self.queries = queries
        self.targets = targets
        self.bounds = bounds
        self.context_bounds = context_bounds
        self.cost = cost
        self.alpha = alpha
        self.optimum = optimum
        self.max_values = max_values
        self.n_max_values = n_max_values
        self.guarantee = guarantee
        self.n_candidates = n_candidates
        self.n_initial = n_initial
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn = relearn
        self.normalize_y = normalize_y
        self.direction = direction
        self.random_state = random_state

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the logarithm of the information about the largest value.

        Uses equation 6 for arms, and the linear dependence on the answer for queries and targets.
        """
        with np.errstate(divide="ignore"):
            if not self._pulls:
                return np.log(largest_target_information(posterior, self.n_max_values))
            mean, std = posterior.mean, posterior.std
            return np.log(max_value_entropy(mean, std, self.sample_maxima(posterior)))

    @locked
    def sample_maxima(self, posterior: Round) -> np.ndarray:
        """Return samples of f*, the largest value, shape (n_max_values,), Section 3.1."""
        if self.optimum is not None:
            return np.array([(self._signed(self.optimum) - posterior.offset) / posterior.scale])
        if self.max_values == "draws":
            return posterior.draws(self.n_max_values).max(axis=1)
        mean, std = posterior.target_mean, np.sqrt(posterior.target_var)
        return gumbel_max_values(mean, std, self.n_max_values, posterior.rng)

    def _begin_checks(self, d: int) -> None:
        if self.optimum is not None and not self._pulls:
            raise ValueError(f"optimum must be None with queries or targets; got {self.optimum!r}")
        super()._begin_checks(d)


def largest_target_information(posterior: Round, n_draws: int = N_MAX_VALUES) -> np.ndarray:
    """Return the linear part of the information about the largest value of a target.

    Parameters
    ----------
    posterior : Round
        Posterior of all queries and targets.
    n_draws : int, default=100
        Samples of the largest value.

    Returns
    -------
    information : ndarray of shape (n_queries,)
        In nats, whatever it costs.
    """
    draws = posterior.draws(n_draws)
    places, weights = maximisers(draws)
    about = posterior.covariance[:, places] @ weights
    return posterior.information(about, float(draws.max(axis=1).var()))
