r"""Conditional max-value entropy search (CMES).

One round: draw samples of f* = max f from the posterior of f, and ask the query a whose answer
carries the most information about them per unit cost; the answer updates the joint posterior of f
and g. The file has the round first, in ``CMESOptimizer._best_by_rule``, then samples and scores.

Eq. 7 of [Zhang2025]_ truncates the noiseless g(a) at a sample of f* and cannot tell an
informative query from one that is drowned in noise. Appendix A includes the noise of the answer;
its last formula lacks the normaliser and has the wrong sign. Corrected (decision D-C2), with
:math:`\rho^2 = \sigma_g^2 / (\sigma_g^2 + \sigma^2)`, :math:`w^2 = 1 - \rho^2`, the Mills ratio
:math:`h = \phi / \Phi` and A for the bracket in eq. 7, completing the square gives

.. math::

    B(\gamma, w) = A(\gamma) - w\, h(\gamma)\,
    \mathrm{E}\left[ \frac{A(S)}{h(S)} \right], \qquad S \sim N(\gamma w, \rho^2),

which is eq. 7 without noise and 0 where noise is all there is. The expectation of one smooth
function is all that is left of the paper's numerical integral.

Both forms know only that g(a) <= f*, which says little where answers are blurred: g then stays
below f* anyway, and queries around the largest *answer* look best. What follows takes the
dependence of g(a) and f* from the joint posterior instead. By Stein's lemma

.. math::

    \mathrm{Cov}(g(a), f^*) = \mathrm{E}\, \mathrm{Cov}(g(a), f(x^*)),

posterior covariances at the maximisers :math:`x^*` of joint draws, averaged, and the information
in the part of f* that is linear in the answer is :math:`-\log(1 - \rho^2) / 2`.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025. Equation numbers are this paper's: eqs 6
   and 7, Appendix A.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._entropy import information
from skgpb._core._tree import TIE_TOLERANCE
from skgpb._typing import Bounds, Direction, Optimizer, Relearn, Seed
from skgpb.acquisition.entropy import KNOWN, gumbel_max_values, linear_information, maximisers
from skgpb.domains.cells import Cells
from skgpb.domains.indirect import IndirectQuery
from skgpb.guarantee import Guarantee
from skgpb.optimizers._indirect import Asked, BaseIndirectOptimizer, BaseQuerySetOptimizer
from skgpb.optimizers._targets import CellTargets, PointTargets
from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess
from skgpb.utils import (
    MOST_POINTS,
    Integral,
    Interval,
    StrOptions,
    check_inside,
    check_numbers,
)


class SamplesMaximum(BaseIndirectOptimizer[Asked]):
    """Base of the optimizers that sample f*: the sampling, and the score of a round."""

    _parameter_constraints: dict[str, Any] = {
        "information": [StrOptions({"auto", "noiseless", "noisy", "joint"})],
        "max_values": [StrOptions({"draws", "gumbel"})],
        "n_max_values": [Interval(Integral, 1, MOST_POINTS, closed="both")],
    }

    information: str
    max_values: str
    n_max_values: int

    def _about_maximum(self) -> MaxValueInformation:
        """Draw the samples of f* of a round; repeated calls return the same samples."""
        return MaxValueInformation(
            self.surrogate_,
            self._targets,
            self._unit,
            information="joint" if self._targets.are_averages else self.information,
            known_noise=self._own.alpha is not None and not callable(self._own.alpha),
            max_values=self.max_values,
            n_max_values=self.n_max_values,
            rng=np.random.default_rng([self._seed, self._record.n_told, len(self._record.pending)]),
            fallback=self._record.n_told > 0,
        )


class CMESOptimizer(SamplesMaximum[IndirectQuery], BaseQuerySetOptimizer):
    r"""Find the best input if a query leads to random or blurred inputs (indirect queries).

    Conditional max-value entropy search: it maximises f from noisy conditional expectations
    g(a) = E[f(X) | A = a].

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x. None takes the base of ``conditional``. If that has no base, a
        kernel is learned from standardised answers with a weak prior, starting from
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the sides of ``bounds``.
    query_kernel : Kernel, default=None
        Kernel over a of the conditional mean operator that ``fit`` learns from pairs. None
        chooses it, and the regularisation, by closed-form leave-one-out.
    conditional : WindowMean, PolicyMean, ConditionalMean or None, default=None
        The distribution p(x | a) over which a query averages, if it is known. With None it is
        learned from the ``queries`` given to ``fit``; without these a query is a point, and its
        answer is the value of f there.
    operator : {"auto", "embedding", "window"}, default="auto"
        How p(x | a) is learned from pairs: by the conditional mean operator of eq. 5, as a smooth
        map plus scatter (much more accurate if p(x | a) has this form), or by the one with
        the lower leave-one-out loss on the pairs.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised. None takes the arms of a PolicyMean, or the box around X. A
        dict gives the sides names, pairs or continuous distributions, see :ref:`named-sides`;
        the recommendation then has ``params``.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    query_bounds : array-like of shape (q, 2) or dict, default=None
        Box of queries, if they are not a finite set. Without ``queries`` and ``query_bounds`` it is
        the box around the queries given to ``fit``, the agents of a PolicyMean, or ``bounds`` for
        windows. A dict gives its sides names, as in ``bounds``; functions of a query take its
        coordinates.
    targets : Cells, array-like of shape (n_targets, d) or None, default=None
        The set to find the best of: cells of some sizes, wherever they lie in ``bounds``, or some
        points. None stands for all points. Cells need ``information="joint"``, which is then the
        meaning of "auto": an answer may well be above the average of every cell.
    n_candidates : int, default=2500
        Number of candidates in a box; a grid in up to three dimensions.
    continuous : bool, default=True
        Whether to improve the best candidates of a box by local searches.
    n_points : int, default=2500
        Points of the domain on which draws of f are maximised.
    n_initial : int, default=None
        Size of the initial design: distinct queries, spread evenly, that are asked before the
        acquisition function is used. Earlier answers count. None means 10, up to 25 with a narrow
        blur on the line, and 0 if the kernel of f is given or ``queries`` differ in cost.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; a callable takes a. None
        learns it.
    model_noise : "auto" or float, default="auto"
        Variance of the error of the learned p(x | a), which is added to the noise of every answer.
        "auto" estimates it by leave-one-out cross-validation; it is 0 for a known distribution.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a. None stands for 1. Information per unit cost counts.
    information : {"auto", "noiseless", "noisy", "joint"}, default="auto"
        "noiseless" is eq. 7, which ignores the noise of the answers; "noisy" is the corrected
        Appendix A, which discounts answers that are mostly noise. "auto" is "noisy" if ``alpha`` is
        learned or depends on the query, and eq. 7 if it is one number. "joint" is not in the paper:
        the information in the part of f* that is linear in the answer, from their joint posterior,
        including the noise. It looks for the maximum of f, not of g, and explores more.
    max_values : {"draws", "gumbel"}, default="draws"
        How f* is sampled: by joint draws of f, refined between grid points, or from a Gumbel
        distribution fitted to independent marginals, which is biased high on fine grids. "joint"
        always uses draws.
    n_max_values : int, default=100
        Number of samples of f*.
    guarantee : Guarantee, default=None
        Assumptions of confidence bounds and :meth:`interval` about f and the noise, and their
        failure probability: :class:`~skgpb.Guarantee`. None uses its defaults.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How the hyperparameters of a given ``kernel`` are learned from the answers, by
        marginal likelihood. None keeps them. The default kernel is always learned.
        "consistent", if queries are chosen by the posterior of f, uses several length scales in
        turn and drops those for which no f of the norm in ``guarantee`` fits the answers
        (:doc:`/user_guide/guarantees`).
    n_restarts_optimizer : int, default=0
        Number of additional random starts of the optimizer.
    relearn : "growing", "doubling", int or None, default="growing"
        When to learn them: whenever the number of observations has grown by a quarter or doubled
        (from 4 on), after every given number of observations, or only in ``fit`` (None).
    normalize_y : bool, default=False
        Whether to centre and scale the answers for a ``kernel`` that is given.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether to look for large or small rewards. ``tell``, ``predict`` and ``history_`` use the
        user's sign. With "minimize" acquisition functions (``acquisition``) and ``surrogate_``
        use rewards with the opposite sign.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.

    Attributes
    ----------
    surrogate_ : ConditionalMeanProcess
        Posterior of f and g.
    history_ : structured ndarray
        Queries and answers, one row for each answer.
    bounds_ : ndarray of shape (d, 2)
        The box of x.
    spent_ : float
        Total cost of the answers.
    alpha_ : float
        Noise variance in use, if it is one number: ``alpha``, or the learned value.
    n_features_in_ : int
        Number of dimensions.

    Notes
    -----
    The initial design (``n_initial``) has points of a scrambled Sobol sequence, in one dimension
    the middles of equal parts, or, among finitely many rows, the nearest ones. Over one
    ``WindowMean`` on the line the parts are at most two standard deviations of the blur long, as
    far as 25 queries suffice, because a narrower peak would lie between them. The next query is
    always the one farthest from all earlier queries and answers. Earlier answers near a query of
    the design replace it. Queries that tie afterwards are asked from the centre of the candidates
    outwards.

    If the kernel and the noise are learned, and the answers to a query lie two standard deviations
    above their prediction from all others, it is asked again, up to four times in all: they may
    have met a peak as narrow as the blur.

    If no query has information about f*, as when answers are so blurred that they stay far below
    it, the query with the largest uncertainty per unit cost is asked.

    A round costs O((n + m) t) for n points and m candidates, plus the samples of f*, plus
    O(m ``n_max_values``) for eq. 7.

    ``ask(n)`` conditions the posterior of g on the pending queries; the samples of f* depend on
    the answers alone.

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

    _parameter_constraints: dict[str, Any] = {"targets": "no_validation"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        query_kernel: Kernel | None = None,
        conditional: Kernel | None = None,
        *,
        operator: str = "auto",
        bounds: Bounds | None = None,
        queries: Any = None,
        query_bounds: Any = None,
        targets: Any = None,
        n_candidates: int = 2500,
        continuous: bool = True,
        n_points: int = 2500,
        n_initial: int | None = None,
        alpha: float | Callable[[np.ndarray], float] | None = None,
        model_noise: str | float = "auto",
        cost: Any = None,
        information: str = "auto",
        max_values: str = "draws",
        n_max_values: int = 100,
        guarantee: Guarantee | None = None,
        optimizer: Optimizer = None,
        n_restarts_optimizer: int = 0,
        relearn: Relearn = "growing",
        normalize_y: bool = False,
        direction: Direction = "maximize",
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.query_kernel = query_kernel
        self.conditional = conditional
        self.operator = operator
        self.bounds = bounds
        self.queries = queries
        self.query_bounds = query_bounds
        self.targets = targets
        self.n_candidates = n_candidates
        self.continuous = continuous
        self.n_points = n_points
        self.n_initial = n_initial
        self.alpha = alpha
        self.model_noise = model_noise
        self.cost = cost
        self.information = information
        self.max_values = max_values
        self.n_max_values = n_max_values
        self.guarantee = guarantee
        self.optimizer: Optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn: Relearn = relearn
        self.normalize_y = normalize_y
        self.direction: Direction = direction
        self.random_state = random_state

    def _resolved_bounds(self, X: np.ndarray | None, kernel: Kernel) -> np.ndarray:
        bounds = super()._resolved_bounds(X, kernel)
        if isinstance(self._own.targets, Cells):
            if self._arms is not None:
                raise ValueError(f"targets must be points of a box of x; got {self._own.targets!r}")
            if self.information not in ("auto", "joint"):
                raise ValueError(
                    "information must be 'auto' or 'joint' if targets are Cells; got "
                    f"{self.information!r}"
                )
        elif self._own.targets is not None:
            rows = check_numbers(self._points_of(self._own.targets), "targets")
            if rows.shape[1] != len(bounds):
                raise ValueError(f"targets must have {len(bounds)} columns, got {rows.shape[1]}")
            self._arms = check_inside(rows, bounds)
        return bounds

    def _make_targets(self) -> PointTargets:
        if isinstance(self._own.targets, Cells):
            return CellTargets(self._own.targets, self.bounds_, self._own.n_points, self._space)
        return super()._make_targets()

    @property
    def _has_rivals(self) -> bool:
        return not isinstance(self._own.targets, Cells)

    def _best_by_rule(self) -> IndirectQuery:
        """One round: samples of f*, the score of the queries, its argmax per unit cost."""
        about_maximum = self._about_maximum()
        expected = self._expected()

        def score(A: np.ndarray | None, costs: np.ndarray) -> np.ndarray:
            given = about_maximum.noisy and self._own.alpha is not None
            return about_maximum(expected, A, self._alphas(A) if given else None) / costs

        return self._most_valuable(score)


class MaxValueInformation:
    """Return the information of answers about f*, given samples of f*, drawn first.

    Parameters
    ----------
    posterior : ConditionalMeanProcess
        f* is the largest value of f at its tracked points.
    targets : PointTargets
        The targets; f* is the largest value of f among them.
    unit : float
        Largest prior standard deviation of f, the unit of the computation.
    information, max_values, n_max_values
        As in :class:`CMESOptimizer`.
    known_noise : bool
        Whether ``alpha`` is one number that was given, which decides what "auto" is.
    rng : Generator
        Draws the samples.
    fallback : bool
        Whether to ask the query with the largest uncertainty if no query has information about
        f* (decision D-C12). If blurred answers stay far below f*, all queries would tie, although
        f is not known.
    """

    unit: float
    fallback: bool
    silent: bool
    places: np.ndarray
    weights: np.ndarray

    def __init__(
        self,
        posterior: ConditionalMeanProcess,
        targets: PointTargets,
        unit: float,
        *,
        information: str,
        known_noise: bool,
        max_values: str,
        n_max_values: int,
        rng: np.random.Generator,
        fallback: bool,
    ) -> None:
        self.unit, self.fallback, self.silent = unit, fallback, False
        self.joint: bool = information == "joint"
        known = information == "auto" and known_noise
        self.noisy: bool = information != "noiseless" and not known
        if max_values == "gumbel" and not self.joint:
            mean, std = posterior.predict_tracked(return_std=True)
            self.samples: np.ndarray = gumbel_max_values(mean, std, n_max_values, rng)
            return
        draws: Any = posterior.sample_tracked(n_max_values, random_state=int(rng.integers(2**31)))
        if self.joint:
            values = targets.values(draws)
            self.places, self.weights = targets.members(*maximisers(values.T))
            self.samples = values.max(axis=0)
        else:
            shape = targets.shape
            self.samples = draws.max(axis=0) if shape is None else refined_maxima(draws, shape)

    def __call__(
        self, posterior: ConditionalMeanProcess, A: np.ndarray | None, alpha: np.ndarray | None
    ) -> np.ndarray:
        """Score of asking A (n, q), or the tracked queries, at noise variances ``alpha`` (n,).

        None stands for what was learned; they count where ``noisy``. The first call of a round sees
        all that can be asked, and so finds out whether any of it tells something of f*.
        """
        noise = posterior.noise_of(alpha) / self.unit**2 if self.noisy else None
        if A is None:
            mean, std = posterior.predict_query_tracked(return_std=True)
        else:
            mean, std = posterior.moments(posterior.kernel_.rows_of_queries(A))
        if not self.silent:
            value = self._information(posterior, A, mean, std, noise)
            self.silent = self.fallback and not value.max() > TIE_TOLERANCE
            self.fallback = False
        return std / self.unit if self.silent else value

    def _information(
        self, posterior: ConditionalMeanProcess, A: Any, mean: Any, std: Any, noise: Any
    ) -> np.ndarray:
        """Eq. 7 or Appendix A, or from the joint posterior."""
        unit = self.unit
        if self.joint:
            covariance = posterior.covariance_tracked(self.places, self.weights, A)
            return linear_information(
                covariance / unit**2, std / unit, noise, self.samples.var() / unit**2
            )
        return conditional_max_value_entropy(mean / unit, std / unit, self.samples / unit, noise)


def conditional_max_value_entropy(
    mean: np.ndarray,
    std: np.ndarray,
    max_values: np.ndarray,
    noise: np.ndarray | float | None = None,
) -> np.ndarray:
    r"""Mutual information of an answer and the largest value of f, in nats.

    Parameters
    ----------
    mean, std : ndarray of shape (n,)
        Posterior of the noiseless answers g(a).
    max_values : ndarray of shape (k,)
        Samples of f*, the largest value of f.
    noise : float or ndarray of shape (n,), default=None
        Noise variance of the answers, for the corrected form of Appendix A. None for eq. 7.

    Returns
    -------
    information : ndarray of shape (n,)
        At least 0, and 0 where ``std`` is below 1e-9. O(n k).

    Examples
    --------
    >>> import numpy as np
    >>> mean, std = np.zeros(3), np.array([1.0, 1.0, 0.0])
    >>> conditional_max_value_entropy(mean, std, np.array([0.0])).round(4)
    array([0.6931, 0.6931, 0.    ])
    >>> noise = np.array([1e-6, 4.0, 1.0])
    >>> conditional_max_value_entropy(mean, std, np.array([0.0]), noise).round(4)
    array([0.6924, 0.0681, 0.    ])
    """
    mean, std, max_values = (
        np.ascontiguousarray(a, dtype=np.float64) for a in (mean, std, max_values)
    )
    if noise is not None:
        noise = np.ascontiguousarray(np.broadcast_to(noise, mean.shape), dtype=np.float64)
    return information(mean, std, max_values, KNOWN, noise)


def refined_maxima(draws: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Largest values of smooth functions between the points of a product grid (decision D-C4).

    The largest grid value is biased low. Along every axis the parabola through it and its two
    neighbours is maximised, which removes the second-order part of the bias.

    Parameters
    ----------
    draws : ndarray of shape (n_points, k)
        Values on a grid in C order, one column for each function.
    shape : tuple of d ints
        Points per axis.

    Returns
    -------
    maxima : ndarray of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0.0, 1.0, 4)
    >>> refined_maxima(1.0 - (x[:, None] - 0.5) ** 2, (4,)).round(12)
    array([1.])
    """
    best = draws.argmax(axis=0)
    columns = np.arange(draws.shape[1])
    top = draws[best, columns]
    gain = np.zeros_like(top)
    stride = 1
    for n in reversed(shape):
        place = best // stride % n
        inner = (place > 0) & (place < n - 1)
        if n > 2:
            at = np.where(inner, best, best + np.where(place == 0, stride, -stride))
            low, high = draws[at - stride, columns], draws[at + stride, columns]
            bend = 2.0 * top - low - high
            rise = (high - low) ** 2 / (8.0 * np.where(bend > 0.0, bend, 1.0))
            gain += np.where(inner & (bend > 0.0), rise, 0.0)
        stride *= n
    return top + gain
