r"""Conditional max-value entropy search (CMES).

One round: draw samples of f* = max f from the posterior of f, and ask the query a whose answer
carries the most information about f* per unit cost; the answer updates the joint posterior of f
and g. The round is that of every search over two sets; this module has the score,
``acquisition``, and the samples.

Eq. 7 of [Zhang2025]_ truncates the noiseless g(a) at a sample of f* and cannot tell an
informative query from one that is drowned in noise. Appendix A includes the noise of the answer;
its last formula lacks the normaliser and has the wrong sign. Corrected (decision D-C2), with
:math:`\rho^2 = \sigma_g^2 / (\sigma_g^2 + \sigma^2)`, :math:`w^2 = 1 - \rho^2`, the Mills ratio
:math:`h = \phi / \Phi` and A for the bracket in eq. 7, completing the square gives

.. math::

    B(\gamma, w) = A(\gamma) - w\, h(\gamma)\,
    \mathrm{E}\left[ \frac{A(S)}{h(S)} \right], \qquad S \sim N(\gamma w, \rho^2),

which is eq. 7 without noise, and 0 if the answer is only noise. The expectation of one smooth
function remains of the paper's numerical integral.

Both forms use only that g(a) <= f*. That is little information about blurred answers: g is then
below f* in any case, and queries around the largest *answer* have the best scores. The form
"joint" derives the dependence of g(a) and f* from the joint posterior instead. By Stein's lemma

.. math::

    \mathrm{Cov}(g(a), f^*) = \mathrm{E}\, \mathrm{Cov}(g(a), f(x^*)),

the mean of the posterior covariances at the maximisers :math:`x^*` of joint draws. The information
in the part of f* that is linear in the answer is :math:`-\log(1 - \rho^2) / 2`.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025. Equation numbers are this paper's: eqs 6
   and 7, Appendix A.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._acquisition import information
from skgpb._core._ties import argmax_first
from skgpb._core._tree import TIE_TOLERANCE
from skgpb.acquisition.entropy import STD_TOL, gumbel_max_values, linear_information, maximisers
from skgpb.domains.cells import Cells
from skgpb.domains.indirect import CellSet, IndirectQuery, PointSet
from skgpb.kernels import PolicyMean
from skgpb.optimizers.indirect_search import Asked, BaseIndirectSearch, IndirectSearch
from skgpb.optimizers.round import Round
from skgpb.utils.locks import locked
from skgpb.utils.validation import MOST_POINTS, Integral, Interval, StrOptions

__all__ = ["CMESOptimizer"]


class MaxValueSearch(BaseIndirectSearch[Asked]):
    """A search that scores queries by the information of their answers about f* = max f."""

    information: Literal["auto", "noiseless", "noisy", "joint"]
    max_values: Literal["draws", "gumbel"]
    n_max_values: int

    _parameter_constraints = {
        "information": [StrOptions({"auto", "noiseless", "noisy", "joint"})],
        "max_values": [StrOptions({"draws", "gumbel"})],
        "n_max_values": [Interval(Integral, 1, MOST_POINTS, closed="both")],
    }

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the information of an answer to each query about the largest value of f, in nats.

        It is the information of eq. 7 or of Appendix A, or from the joint posterior.
        """
        targets, unit = self.targets_, posterior.once("unit", lambda: self._unit)
        std, noise = posterior.std / unit, posterior.query_noise / unit**2
        if targets.are_averages or self.information == "joint":
            *best, variance = posterior.once("best", lambda: self._best_of_draws(posterior))
            covariance = posterior.covariance_with(*best)
            return linear_information(covariance / unit**2, std, noise, variance / unit**2)
        maxima = posterior.once("maxima", lambda: self._sample_maxima(posterior))
        # "auto" is "noiseless", eq. 7, if the user gives one number as noise variance.
        run = self.run_
        known = run.params.alpha is not None and not callable(run.params.alpha)
        ignored = self.information == "noiseless" or (self.information == "auto" and known)
        counted = None if ignored else noise
        return conditional_max_value_entropy(posterior.mean / unit, std, maxima / unit, counted)

    def _best_of_draws(self, posterior: Round) -> tuple[np.ndarray, np.ndarray, float]:
        """Return indices and weights of the points of the best target of each draw, and Var f*."""
        values = self.targets_.values_from(posterior.draws(self.n_max_values))
        members = self.targets_.points_of(*maximisers(values))
        return *members, float(values.max(axis=1).var())

    def _sample_maxima(self, posterior: Round) -> np.ndarray:
        """Return samples of f*, the largest value of f, shape (n_max_values,)."""
        if self.max_values == "gumbel":
            mean, std = posterior.target_mean, np.sqrt(posterior.target_var)
            return gumbel_max_values(mean, std, self.n_max_values, posterior.rng)
        draws, shape = posterior.draws(self.n_max_values).T, self.targets_.shape
        return draws.max(axis=0) if shape is None else refined_maxima(draws, shape)

    @property
    def _unit(self) -> float:
        """Largest prior standard deviation of f, the unit in which information is computed."""
        kernel = self._model.process.kernel.base
        return float(np.sqrt(kernel.diag(self.targets_.points).max())) or 1.0

    def _scores(self, round: Round) -> np.ndarray:
        values = self.acquisition(round)
        silent = round.once("silent", lambda: not values.max() > TIE_TOLERANCE)
        if silent and self.run_.n_told:
            # No answer is informative about f*, although f is uncertain: ask for the least certain
            # answer (decision D-C12).
            values = round.std / round.once("unit", lambda: self._unit)
        return values / round.cost


@dataclass(eq=False, repr=False)
class CMESOptimizer(MaxValueSearch[IndirectQuery], IndirectSearch):
    r"""Find the best input if a query leads to random or blurred inputs (indirect queries).

    Conditional max-value entropy search (CMES) maximises f from noisy conditional expectations
    g(a) = E[f(X) | A = a].

    Other parameters are inherited from :class:`~skgpb.optimizers.IndirectSearch`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x; None takes the base of ``conditional``.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    targets : Cells, array-like of shape (n_targets, d) or None, default=None
        The targets, of which the best is sought: all cells of some sizes in ``bounds``, or a list
        of points. None stands for all points. Cells need ``information="joint"``, for which "auto"
        then stands, because an answer may be above the average of every cell.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a.
    information : {"auto", "noiseless", "noisy", "joint"}, default="auto"
        "noiseless" is eq. 7, which ignores the noise of the answers; "noisy" is the corrected
        Appendix A, which discounts answers that are mostly noise. "auto" is "noisy" if ``alpha`` is
        learned or depends on the query, and eq. 7 if it is one number. "joint" is not in the paper:
        the information in the part of f* that is linear in the answer, from their joint posterior,
        including the noise. It seeks the maximum of f, not of g, and explores more.
    max_values : {"draws", "gumbel"}, default="draws"
        Method that samples f*: joint draws of f, refined between grid points, or a Gumbel
        distribution fitted to independent marginals, which is biased high on fine grids. "joint"
        always uses draws.
    n_max_values : int, default=100
        Number of samples of f*.

    Notes
    -----
    If no query has information about f*, ``ask`` returns the query with the largest uncertainty per
    unit cost. This occurs if answers are so blurred that all are far below f*.

    A round costs O((n + m) t) for n points and m candidates, plus the samples of f*, plus
    O(m ``n_max_values``) for eq. 7.

    References
    ----------
    .. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect
       Query Bayesian Optimization with Integrated Feedback", 2025.

    Examples
    --------
    Doctors recommend a dose a, patients take x, which scatters around it. Only averages over many
    patients are reported.

    >>> import numpy as np
    >>> from skgpb import CMESOptimizer
    >>> rng = np.random.default_rng(0)
    >>> A = rng.uniform(size=(200, 1))
    >>> X = 0.8 * A + 0.1 + 0.05 * rng.normal(size=(200, 1))  # doses that patients took
    >>> opt = CMESOptimizer(alpha=1e-4, random_state=0).fit(X, queries=A)
    >>> for _ in range(10):
    ...     query = opt.ask()
    ...     taken = 0.8 * query.a + 0.1 + 0.05 * rng.normal(size=500)
    ...     opt = opt.tell(query, np.exp(-20 * (taken - 0.6) ** 2).mean())
    >>> bool(abs(opt.recommend()[0] - 0.6) < 0.05)
    True
    """

    _: KW_ONLY
    information: Literal["auto", "noiseless", "noisy", "joint"] = "auto"
    max_values: Literal["draws", "gumbel"] = "draws"
    n_max_values: int = 100
    targets: Any = None

    @property
    def _seeks_cells(self) -> bool:
        return isinstance(self._params.targets, Cells)

    def _make_targets(self, kernel: Kernel) -> PointSet:
        run = self.run_
        given = run.params.targets
        if not self._seeks_cells:
            return super()._make_targets(kernel)
        if self._box is None and isinstance(kernel, PolicyMean):
            raise ValueError(
                f"targets must be points or None without bounds, got {given!r}: the arms of a "
                "PolicyMean have no cells"
            )
        if self.information not in ("auto", "joint"):
            raise ValueError(
                "information must be 'auto' or 'joint' if targets are Cells; got "
                f"{self.information!r}"
            )
        return CellSet(given, kernel, self.bounds_, run.space, run.params.n_points)

    @property
    def _can_bound_gap(self) -> bool:
        return super()._can_bound_gap and not self._seeks_cells

    def _best(self, context: np.ndarray | None = None) -> Any:
        """Return the best x, or the cell with the highest average among the best of each size."""
        if not self._seeks_cells:
            return super()._best(context)
        cells = [self._best_region(sides) for sides in self.targets_.sizes]
        means = self._model.process.moments([self._functionals_at(cell.points) for cell in cells])
        return cells[argmax_first(means)]


def conditional_max_value_entropy(
    mean: np.ndarray,
    std: np.ndarray,
    max_values: np.ndarray,
    noise: np.ndarray | float | None = None,
) -> np.ndarray:
    r"""Return the mutual information of each answer and the largest value of f, in nats.

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
        At least 0, and 0 where ``std`` is below 1e-9. It takes O(n k).

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
    return information(mean, std, max_values, STD_TOL, noise)


def refined_maxima(draws: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the maxima of smooth functions from their values on a product grid (decision D-C4).

    The largest grid value is biased low. Along every axis, the maximum of the parabola through this
    value and its two neighbours removes the second-order part of the bias.

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
