r"""MES: the arm that tells most about the largest value, and the same over queries and targets.

Eq. 6 truncates what is asked at a sample of f*, which says something where arms are what is to be
found. Where queries and targets are apart :func:`largest_target_information` takes the dependence
of an answer and f*, the largest value of a target, from the joint posterior, as the module of CMES
explains: the covariance of both is that of the answer with the maximisers of joint draws.

Arms and targets are searched by machinery of their own, so that there are two classes here. They
have the same parameters, and ``MESOptimizer(queries=...)`` makes the one over targets.

References
----------
.. [Wang2017] Z. Wang and S. Jegelka, "Max-value Entropy Search for Efficient Bayesian
   Optimization", ICML 2017. Equation 6.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._docstrings import with_shared_paragraphs
from skgpb.acquisition.entropy import (
    gumbel_max_values,
    linear_information,
    log_information_slopes,
    max_value_entropy,
    maximisers,
)
from skgpb.locks import locked
from skgpb.optimizers._arms import BaseArmsOptimizer
from skgpb.optimizers._blocks import BlocksPosterior
from skgpb.optimizers._improvement import Slopes
from skgpb.optimizers._posteriors import ArmsPosterior, TargetsPosterior
from skgpb.optimizers._targets import BaseTargetsOptimizer
from skgpb.utils import MOST_POINTS, Integral, Interval, Real, StrOptions

# Samples of the largest value of a target.
N_MAX_VALUES = 100


class SearchByLargestValue:
    """What max-value entropy search over arms and over targets share: parameters, samples of f*."""

    _parameter_constraints: dict[str, Any] = {
        "arms": "no_validation",
        "queries": "no_validation",
        "targets": "no_validation",
        "cost": ["array-like", callable, None],
        "relative_noise": ["array-like", callable, None],
        "optimum": [Real, None],
        "max_values": [StrOptions({"draws", "gumbel"})],
        "n_max_values": [Interval(Integral, 1, MOST_POINTS, closed="both")],
    }

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
        relative_noise: Any = None,
        optimum: float | None = None,
        max_values: str = "draws",
        n_max_values: int = 100,
        B: float = 1.0,
        R: float | None = None,
        misspecification: float = 0.0,
        failure_probability: float = 0.1,
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
        self.relative_noise = relative_noise
        self.optimum = optimum
        self.max_values = max_values
        self.n_max_values = n_max_values
        self.B = B
        self.R = R
        self.misspecification = misspecification
        self.failure_probability = failure_probability
        self.n_candidates = n_candidates
        self.n_initial = n_initial
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn = relearn
        self.normalize_y = normalize_y
        self.direction = direction
        self.random_state = random_state

    # Its signature is that of __init__.
    @wraps(__init__, assigned=())  # type: ignore[misc]
    def __new__(cls, *arguments: Any, **parameters: Any) -> Any:
        """Make the search that has these parameters."""
        apart = any(parameters.get(each) is not None for each in ("queries", "targets"))
        if cls is MESOptimizer and apart:
            return MESOverTargets(*arguments, **parameters)
        return super().__new__(cls)

    def _check_unused(self, names: tuple[str, ...], when: str) -> None:
        """Raise ValueError for parameters that are for the other kind of search."""
        for name in names:
            if (value := getattr(self, name)) is not None:
                raise ValueError(f"{name} must be None {when}; got {value!r}")


@with_shared_paragraphs
class MESOptimizer(SearchByLargestValue, BaseArmsOptimizer):
    r"""Max-value entropy search, which asks what tells most of the largest value.

    It pulls the arm of the largest mutual information with the largest value [Wang2017]_.
    A round costs O(n_arms (t + rank + n_max_values)), in a box, where candidates move,
    O(n_arms^2 (t + n_arms)).

    With ``queries`` or ``targets`` it asks one kind of thing to find the best of another, as
    :class:`~skgpb.KGOptimizer` does: what tells most of the largest value of a target, per unit of
    cost. What is made then has the methods of KGOptimizer, ``targets_`` and ``spent_``.

    Parameters
    ----------
    kernel, arms : %(arms)s
    queries : Cells, Fidelities, Districts, array-like (n_queries, n_columns), default=None
        What can be asked, in place of ``arms``, in the forms that KGOptimizer takes. ``alpha`` may
        then be an array, of one number for each row, or for each size of its cells.
    targets : Cells, Districts, array-like (n_targets, n_columns) or None, default=None
        What is to be found, in the same forms. With ``queries`` alone it is these where they are
        rows, and all points of ``bounds`` otherwise.
    bounds, context_bounds : %(arms)s
    cost : array-like or callable, default=None
        Prices, above 0: one for each row of ``queries``, or for each size of its cells. A callable
        takes sides of cells, (n, d), and returns (n,). None stands for 1.
    alpha : %(arms)s
    relative_noise : array-like or callable, default=None
        How the noise variances of answers to ``queries`` compare, as in KGOptimizer.
    optimum : float, default=None
        f*, the largest value of f, where it is known, in units of the reward; None to draw it. Not
        with ``queries`` or ``targets``.
    max_values : {"draws", "gumbel"}, default="draws"
        Samples of f* by joint draws of f, or from a Gumbel law fitted to independent
        marginals, which is biased high on fine grids. Targets are always drawn.
    n_max_values : int, default=100
        Number of samples of f*.
    B, R, misspecification, failure_probability : %(arms)s
    n_candidates, n_initial, optimizer, n_restarts_optimizer, relearn, normalize_y : %(arms)s
    direction, random_state : %(arms)s

    Attributes
    ----------
    surrogate_, domain_, arms_, history_, bounds_, n_features_in_ : %(arms)s

    See Also
    --------
    KGOptimizer : Asks what is expected to raise the best mean of a target most.
    CMESOptimizer : The same where questions lead to points by chance.

    Notes
    -----
    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers._arms.BaseArmsOptimizer`, over targets those of KGOptimizer.

    Whether queries and targets are apart is said to the constructor, and not by ``set_params``.

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

    Which tenth has the largest average, if any tenth or quarter can be asked?

    >>> from skgpb.domains import Cells
    >>> opt = MESOptimizer(
    ...     queries=Cells([0.1, 0.25]), targets=Cells(0.1), bounds=[(0, 1)], random_state=0
    ... )
    >>> result = opt.run(lambda cell: float(np.sin(5 * cell.points).mean()), budget=20)
    >>> bool(abs(result.x.center[0] - np.pi / 10) < 0.05)
    True
    """

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

    def _begin_checks(self, d: int) -> None:
        self._check_unused(("queries", "targets"), "unless it is given to the constructor")
        self._check_unused(("cost", "relative_noise"), "without queries and targets")
        super()._begin_checks(d)


class MESOverTargets(SearchByLargestValue, BaseTargetsOptimizer):
    """Max-value entropy search over queries and targets, see :class:`MESOptimizer`."""

    @locked
    def acquisition(self, posterior: TargetsPosterior) -> np.ndarray:
        """Return the logarithm of the information about the largest target, per unit cost."""
        return largest_target_information(posterior, self.n_max_values)

    def _deciding(self, posterior: TargetsPosterior, slots: np.ndarray) -> np.ndarray:
        return targets_drawn_largest(posterior, slots, self.n_max_values)

    def _worth(self, posterior: TargetsPosterior) -> tuple[float, Slopes]:
        return information_and_slopes(posterior, self.n_max_values)

    def _begin_checks(self, d: int) -> None:
        self._check_unused(("arms", "optimum"), "with queries or targets")
        super()._begin_checks(d)


# What MESOptimizer makes is one, although the two share no code but their information.
MESOptimizer.register(MESOverTargets)


def largest_target_information(
    posterior: TargetsPosterior, n_draws: int = N_MAX_VALUES
) -> np.ndarray:
    """Logarithm of what an answer tells linearly of the largest value of a target, per unit cost.

    Parameters
    ----------
    posterior : TargetsPosterior
        What is known of all queries and targets.
    n_draws : int, default=100
        Samples of the largest value.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        -inf where an answer tells nothing.
    """
    draws = posterior.draws(n_draws)
    places, weights = maximisers(draws)
    about = posterior.covariance[:, places] @ weights
    if isinstance(posterior, BlocksPosterior):
        with np.errstate(divide="ignore"):
            told = posterior.information(about, float(draws.max(axis=1).var()))
            return np.log(told / posterior.cost)
    var, noise = posterior.query_var, posterior.query_noise
    unit = float(max(var.max(), posterior.target_var.max())) or 1.0
    told = linear_information(
        about / unit,
        np.sqrt(var / unit),
        noise / unit,
        draws.max(axis=1).var() / unit,
    )
    with np.errstate(divide="ignore"):
        return np.log(told / posterior.cost)


def targets_drawn_largest(
    posterior: TargetsPosterior, slots: np.ndarray, n_draws: int = N_MAX_VALUES
) -> np.ndarray:
    """Numbers of the targets that some draw has as the largest, whatever is asked."""
    return maximisers(posterior.first_draws(n_draws))[0]


def information_and_slopes(
    posterior: TargetsPosterior, n_draws: int = N_MAX_VALUES
) -> tuple[float, Slopes]:
    """:func:`largest_target_information` of the only query of a posterior, and its slopes."""
    draws = posterior.draws(n_draws)
    places, weights = maximisers(draws)
    about = float(posterior.covariance[0, places] @ weights)
    total = float(posterior.query_var[0] + posterior.query_noise[0])
    of_about, by_total = log_information_slopes(about, total, float(draws.max(axis=1).var()))
    by = np.zeros(len(posterior.target_mean))
    by[places] = of_about * weights
    value = float(largest_target_information(posterior, n_draws)[0])
    return value, Slopes(by, 0.0, by_total, by_total, -1.0 / float(posterior.cost[0]))
