r"""Conditional max-value entropy search (CMES).

One round: draw samples of f* = max f from the posterior of f, and ask the query a whose answer
carries the most information about them per unit cost, eq. 7 or Appendix A of [Zhang2025]_.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025. Equation numbers are this paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._tree import TIE_TOLERANCE
from skgpb.acquisition.conditional_entropy import (
    conditional_max_value_entropy,
    linear_information,
    refined_maxima,
)
from skgpb.acquisition.entropy import gumbel_max_values
from skgpb.domains.indirect import IndirectQuery
from skgpb.optimizers._indirect import Asked, BaseIndirectOptimizer
from skgpb.utils import MOST_POINTS, Integral, Interval, StrOptions


class MaxValueInformation(BaseIndirectOptimizer[Asked]):
    """Scores by the information about the largest value of f."""

    _parameter_constraints: dict = {
        "information": [StrOptions({"auto", "noiseless", "noisy", "joint"})],
        "max_values": [StrOptions({"draws", "gumbel"})],
        "n_max_values": [Interval(Integral, 1, MOST_POINTS, closed="both")],
    }

    # Whether the information about f* was 0 for all candidates of this round.
    _silent = False

    def _round_state(self) -> Any:
        """Samples of f*, or where draws of f are largest; the same whenever a round is repeated."""
        rng = np.random.default_rng([self._seed, self._round, len(self._pending)])
        if self.max_values == "gumbel" and self.information != "joint":
            mean, std = self.process_.predict_tracked(return_std=True)
            return gumbel_max_values(mean, std, self.n_max_values, rng)
        seed = int(rng.integers(2**31))
        draws = self.process_.sample_tracked(self.n_max_values, random_state=seed)
        if self.information == "joint":
            places, counts = np.unique(draws.argmax(axis=0), return_counts=True)
            return places, counts / counts.sum(), float(draws.max(axis=0).var())
        return draws.max(axis=0) if self._shape is None else refined_maxima(draws, self._shape)

    def _information(
        self, A: np.ndarray | None, mean: Any, std: Any, noise: Any, state: Any
    ) -> np.ndarray:
        """Information in asking A, or the candidates; in units of the prior's deviation."""
        unit = self._unit
        if self.information == "joint":
            places, weights, variance = state
            if A is None and not self._pending:
                covariance = self.process_.covariance_tracked(places, weights)
            else:
                A = self._A if A is None else A
                covariance = weights @ self._expected().covariance(self._X[places], A)
            return linear_information(
                covariance / unit**2, std / unit, noise / unit**2, variance / unit**2
            )
        noisy = self.information == "noisy" or (self.information == "auto" and callable(self.alpha))
        return conditional_max_value_entropy(
            mean / unit, std / unit, state / unit, noise / unit**2 if noisy else None
        )

    def _scores(self, A: np.ndarray | None, state: Any) -> np.ndarray:
        mean, std = self._moments(A)
        value = self._information(A, mean, std, self._noise(A), state)
        if A is None:
            self._silent = self._is_silent(value)
        return std / self._unit if self._silent else value

    def _is_silent(self, value: np.ndarray) -> bool:
        """Whether no query tells anything of f*: what is known least is asked (decision D-C12).

        Where answers stay far below f*, as blurred ones do, being below it tells nothing and all
        queries would tie, although f is not known.
        """
        return self._round > 0 and not value.max() > TIE_TOLERANCE


class CMESOptimizer(MaxValueInformation[IndirectQuery]):
    r"""Maximise f from noisy conditional expectations g(a) = E[f(X) | A = a].

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x. None stands for ``ConstantKernel(1.0) * RBF(l)`` with l
        a fifth of the domain's sides.
    query_kernel : Kernel, default=None
        Kernel over a of the conditional mean operator that ``fit`` learns from pairs. None
        chooses it, and the regularisation, by closed-form leave-one-out.
    conditional : WindowMean, PolicyMean, ConditionalMean or None, default=None
        What a query averages, where it is known. With None it is learned from the ``queries``
        given to ``fit``; without those, a query is a point and its answer is f there.
    operator : {"auto", "embedding", "window"}, default="auto"
        How p(x | a) is learned from pairs: by the conditional mean operator of eq. 5, as a smooth
        map plus scatter (much more accurate where that is what happens), or by whichever has
        the lower leave-one-out loss on the pairs.
    domain : array-like of shape (d, 2), default=None
        Box in which f is maximised. None takes the arms of a PolicyMean, or the box around X.
    candidates : array-like of shape (n_candidates, q), default=None
        The queries that can be asked.
    query_bounds : array-like of shape (q, 2), default=None
        Box of queries, where they are not a finite set. With neither it is the box around the
        queries given to ``fit``, the agents of a PolicyMean, or the domain for windows.
    n_candidates : int, default=2500
        Candidates that stand for a box, a grid in up to three dimensions.
    continuous : bool, default=True
        Whether the best candidates of a box are improved by L-BFGS-B, or only they are asked.
    n_points : int, default=2500
        Points of the domain on which draws of f are maximised.
    alpha : float, callable or None, default=0.01
        Noise variance of an answer, in units of the answer squared; a callable takes a. None
        learns it.
    model_noise : "auto" or float, default="auto"
        Variance of the learned operator's own error, which every answer has beside its noise.
        "auto" estimates it by leave-one-out; known conditionals have none.
    cost : float, array-like of shape (n_candidates,) or callable, default=None
        Cost of each candidate, or of a. None stands for 1. Information per unit cost counts.
    information : {"auto", "noiseless", "noisy", "joint"}, default="auto"
        Eq. 7, which ignores the noise of the answers, or the corrected Appendix A, which can
        tell an informative query from one drowned in noise. "auto" is "noisy" where ``alpha``
        depends on the query. "joint" is not in the paper: the information in the part of f* that
        is linear in the answer, from their joint posterior, noise included. It looks for where f
        and not where g is largest, and explores more.
    max_values : {"draws", "gumbel"}, default="draws"
        Samples of f* by joint draws of f, refined between grid points, or from a Gumbel law
        fitted to independent marginals, which is biased high on fine grids. "joint" always
        draws.
    n_max_values : int, default=100
        Number of samples of f*.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        How the hyperparameters of ``kernel`` are learned from the answers: by marginal
        likelihood, for the default kernel with a weak prior around its values. None keeps
        them.
    n_restarts_optimizer : int, default=0
        Further starts of the optimizer.
    relearn : "growing", "doubling", int or None, default="growing"
        When to learn them: whenever the number of observations has grown by a tenth or doubled
        (from 4 on), every so many observations, or only in ``fit``.
    normalize_y : bool, default=True
        Whether to centre and scale the answers.
    random_state : int, RandomState instance or None, default=None
        Seeds the samples of f* and the restarts.

    Attributes
    ----------
    process_ : ConditionalMeanProcess
        Posterior of f and g.
    history_ : structured ndarray
        What was told.
    bounds_ : ndarray of shape (d, 2)
        The domain.
    spent_ : float
        Cost of what was told.
    alpha_ : float
        Noise variance in use, where it is one number: ``alpha``, or what was learned.
    n_features_in_ : int
        Number of dimensions.

    Notes
    -----
    Queries that tie, as all do before the first answer, are asked from the centre of the
    candidates outwards.

    Where no query tells anything of f*, as where answers are blurred so much that they stay far
    below it, the one whose answer is known least per unit cost is asked.

    A round costs O((n + m) t) for n points and m candidates, plus the samples of f*, plus
    O(m ``n_max_values``) for eq. 7.

    ``ask(n)`` shrinks the posterior of g by the pending queries; the samples of f* stay those of
    what was told.

    References
    ----------
    .. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect
       Query Bayesian Optimization with Integrated Feedback", 2025.

    Examples
    --------
    Doctors recommend a dose a, patients take x, which scatters around it. Averages over many
    patients are all that is reported.

    >>> import numpy as np
    >>> from skgpb import CMESOptimizer
    >>> rng = np.random.default_rng(0)
    >>> A = rng.uniform(size=(200, 1))
    >>> X = 0.8 * A + 0.1 + 0.05 * rng.normal(size=(200, 1))  # what was taken when a was told
    >>> opt = CMESOptimizer(alpha=1e-4, random_state=0).fit(X, queries=A)
    >>> for _ in range(10):
    ...     query = opt.ask()
    ...     taken = 0.8 * query.a + 0.1 + 0.05 * rng.normal(size=500)
    ...     opt = opt.tell(query, np.exp(-20 * (taken - 0.6) ** 2).mean())
    >>> bool(abs(opt.recommend()[0] - 0.6) < 0.05)
    True
    """

    _query_type = IndirectQuery

    def __init__(
        self,
        kernel: Kernel | None = None,
        query_kernel: Kernel | None = None,
        conditional: Kernel | None = None,
        *,
        operator: str = "auto",
        domain: Any = None,
        candidates: Any = None,
        query_bounds: Any = None,
        n_candidates: int = 2500,
        continuous: bool = True,
        n_points: int = 2500,
        alpha: float | Callable[[np.ndarray], float] | None = 0.01,
        model_noise: str | float = "auto",
        cost: Any = None,
        information: str = "auto",
        max_values: str = "draws",
        n_max_values: int = 100,
        optimizer: str | Callable | None = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "growing",
        normalize_y: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.query_kernel = query_kernel
        self.conditional = conditional
        self.operator = operator
        self.domain = domain
        self.candidates = candidates
        self.query_bounds = query_bounds
        self.n_candidates = n_candidates
        self.continuous = continuous
        self.n_points = n_points
        self.alpha = alpha
        self.model_noise = model_noise
        self.cost = cost
        self.information = information
        self.max_values = max_values
        self.n_max_values = n_max_values
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn = relearn
        self.normalize_y = normalize_y
        self.random_state = random_state
