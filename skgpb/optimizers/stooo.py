r"""Stochastic optimistic optimisation from points (StoOO) or averages (AVE-StoOO).

The index of a leaf is its empirical mean plus a confidence width plus delta(h); a leaf is split
once its width is no larger than delta(h). An answer to one cell has no effect on other cells; GPOO
shares answers between cells by a Gaussian process.

References
----------
.. [Munos2014] R. Munos, "From Bandits to Monte-Carlo Tree Search: The Optimistic Principle
   Applied to Optimization and Planning", Foundations and Trends in Machine Learning, 2014.
.. [Zhang2022] M. Zhang, R. Tsuchida and C. S. Ong, "Gaussian Process Bandits with Aggregated
   Feedback", AAAI 2022. Appendix C: Algorithm 2 and equation 12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Literal, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgpb._core._ties import argmax_first
from skgpb.domains import Cell
from skgpb.domains.arms import PointsQuery, Region
from skgpb.domains.partition import BoxPartition, PoolPartition
from skgpb.domains.space import as_coordinates
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._places import (
    SideLengths,
    averages,
    checked_sides,
    nearest_means,
    place_best_cell,
)
from skgpb.optimizers._run import checked_method
from skgpb.optimizers._trees import CUTTING, CellSearch, given_variation
from skgpb.utils.locks import locked
from skgpb.utils.typing import (
    Bounds,
    Direction,
    FeedbackOfRegion,
    Points,
    Queries,
    RecommendMethod,
    Representatives,
    Seed,
    Settings,
)
from skgpb.utils.validation import Integral, Interval, Real, StrOptions

__all__ = ["StoOOOptimizer"]


@dataclass(eq=False, repr=False, kw_only=True)
class StoOOOptimizer(CellSearch):
    r"""Tree search without a model: StoOO or AVE-StoOO, the baseline of GPOO.

    >>> from skgpb import StoOOOptimizer
    >>> opt = StoOOOptimizer(bounds={"x": (0, 10)}, variation=(14.0, 0.5))
    >>> result = opt.run(lambda cell: 1 - abs(cell.points.mean() - 3) / 10, budget=200)
    >>> result.x
    Cell(x=3.125)

    Which class is for which problem: :ref:`which-class`.

    Parameters
    ----------
    bounds : array-like of shape (d, 2) or dict, default=None
        The domain, a box. With neither ``bounds`` nor ``pool`` it comes from ``fit``. A dict
        gives the sides names, see :ref:`named-sides` and :ref:`mixed-regions`.
    pool : array-like of shape (n, d), default=None
        A finite domain instead of a box: cells are groups of rows, split at quantiles.
    n_children : int, default=2
        K, the number of parts into which a cell is split; fewer if the cell has fewer settings.
    feedback : {"center", "average", "integral"}, default="center"
        Points that represent a cell; "center" is StoOO, "average" is AVE-StoOO.
    n_representatives : int or tuple of d ints, default=None
        Points per axis in a cell, as for :class:`GPOOOptimizer`.
    variation : (c, rho) or callable, default=(1.0, 0.5)
        delta(h) = ``c * rho**h``, or any function of the depth, in units of the reward.
    max_depth : int, default=None
        Deepest level at which cells are split, as for :class:`GPOOOptimizer`.
    min_members : int, default=1
        Minimum number of members of a cell of a pool.
    width : {"anytime", "munos"}, default="anytime"
        Confidence width after T rewards: "anytime" is equation 12, sqrt(2 log(t^2 / theta) / T),
        and "munos" is the width of Munos for a given budget n, sqrt(log(n^2 / theta) / (2 T)).
        Both are multiplied by the length of ``reward_range``.
    horizon : int, default=None
        Budget n of ``width="munos"``.
    reward_range : (float, float), default=(0.0, 1.0)
        Range in which rewards are assumed to lie. It scales the width; rewards outside the range
        are accepted unchanged.
    failure_probability : float, default=0.1
        theta, in (0, 1).
    direction : {"maximize", "minimize"}, default="maximize"
        Whether to look for large or small rewards. ``tell``, ``predict`` and ``history_`` use the
        user's sign.
    random_state : int, RandomState instance or None, default=None
        No effect: this search has no random numbers.

    Attributes
    ----------
    domain_ : BoxPartition or PoolPartition
        The cells; ``domain_.cell(node)`` is the query of a node.
    tree_ : Bunch
        The partition as arrays.
    history_ : structured ndarray
        The answers; ``mean`` and ``std`` are the empirical mean and the confidence width
        before the reward, NaN if the cell had no rewards before.
    bounds_ : ndarray of shape (d, 2)
        The domain.
    max_depth_ : int
        The resolved ``max_depth``.
    n_features_in_ : int
        Number of dimensions.

    Notes
    -----
    *Ties.* Leaves without rewards come first. Ties go to the lowest depth, then to the lowest
    index.

    *Recommendation.* There is no posterior, so that the paper's rule is the only one: among the
    split cells of the deepest level that has any, the one with the highest empirical mean.
    """

    bounds: Bounds | None = None
    pool: Points | None = None
    n_children: int = 2
    feedback: FeedbackOfRegion = "center"
    n_representatives: Representatives = None
    variation: Sequence[float] | Callable[[int], float] = (1.0, 0.5)
    max_depth: int | None = None
    min_members: int = 1
    width: Literal["anytime", "munos"] = "anytime"
    horizon: int | None = None
    reward_range: Sequence[float] = (0.0, 1.0)
    failure_probability: float = 0.1
    direction: Direction = "maximize"
    random_state: Seed = None

    _kept_fields = ("domain_", "_outside")
    _methods = ("paper",)
    # The width is a worst case over bounded rewards, which does not depend on their variance.
    _default_noise_variance = 0.0

    _parameter_constraints = CUTTING | {
        "feedback": [StrOptions({"center", "average", "integral"})],
        "variation": [tuple, list, callable],
        "width": [StrOptions({"anytime", "munos"})],
        "horizon": [Interval(Integral, 1, None, closed="left"), None],
        "reward_range": [tuple, list],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    # -- Algorithm 2 ------------------------------------------------------------------------

    def _propose(self, context: np.ndarray | None) -> Cell:
        """Line 3: return the leaf of the largest b-value; if all are pending, split the best."""
        return self._cell_to_ask(self.domain_.split)

    def _best_leaf(self, excluded: np.ndarray | None) -> int:
        run = self.run_
        t = run.n_told + 1 + len(run.pending)
        return self._tree.best_empirical_bound(self._log_term(t), self._variation, excluded)

    def _observe(self, query: Cell | PointsQuery, reward: float, alpha: float) -> None:
        tree, node = self._tree, self.domain_.node_of(query)
        run = self.run_
        log_term = self._log_term(run.n_told + 1)
        before = (np.nan, np.nan)
        expand = False
        if node < 0:
            self._outside.append((query.box, reward))
        else:
            T, total = tree.evaluations(node)
            if T:
                before = (total / T, sqrt(log_term / T))
            tree.record(node, reward)
            depth, _, slot = tree.node(node)
            known = sqrt(log_term / (T + 1)) <= self._variation[depth]
            expand = slot >= 0 and known and self.domain_.splittable(node)
        if expand:
            self.domain_.split(node)
        run.close(query, reward, *before, expand)

    def _best_of(self, nodes: np.ndarray) -> int:
        return argmax_first(np.array([self._mean_of_node(node) for node in nodes.tolist()]))

    @overload
    def recommend(
        self, method: RecommendMethod | None = None, *, context: None = None, side: None = None
    ) -> Cell: ...

    @overload
    def recommend(
        self, method: RecommendMethod | None = None, *, context: None = None, side: SideLengths
    ) -> Region: ...

    @locked
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: None = None,
        side: SideLengths | None = None,
    ) -> Cell | Region:
        """Return the best cell found so far, or the best cell of a size.

        Parameters
        ----------
        method : {"paper"}, default=None
            "paper" is the rule of the paper, the only one without a posterior.
        context : None
            Must be None: this search has no contexts.
        side : float, array-like of shape (d,) or dict, default=None
            In a box, sides of a cell, to recommend the cell of this size with the largest average
            of :meth:`predict`, at any place. None for a cell of the partition.
        """
        if side is None:
            return super().recommend(method, context=context)
        checked_method(method, self._methods)
        loop.check_has_data(self)
        self._contexts.validate(context)
        run = self.run_
        if run.params.pool is not None:
            raise ValueError(f"side is for cells of a box, got side={side!r}")

        def worth(cells: list[np.ndarray]) -> np.ndarray:
            return averages(lambda X: run.sign.convert(self.predict(as_coordinates(X))), cells)

        sides = checked_sides(side, self.bounds_, run.space)
        lower, upper = np.split(np.array(self._observed_boxes()[0]), 2, axis=1)
        seen = 0.5 * (lower + upper)
        return place_best_cell(worth, seen, self.bounds_, sides, run.space)

    def _log_term(self, t: int) -> float:
        """Return the squared confidence width of T rewards, times T (decision D-A9)."""
        low, high = self.run_.params.reward_range
        if self.width == "munos" and self.horizon is not None:
            square = 0.5 * log(self.horizon**2 / self.failure_probability)
        else:
            square = 2.0 * log(t**2 / self.failure_probability)
        return square * (high - low) ** 2

    # -- state ------------------------------------------------------------------------------

    def _begin_checks(self) -> None:
        super()._begin_checks()
        if self.width == "munos" and self.horizon is None:
            raise ValueError("width='munos' needs horizon, the number of rounds; got horizon=None")
        ends = self.run_.params.reward_range
        if (
            len(ends) != 2
            or not all(isinstance(x, Real) for x in ends)
            or not (-np.inf < ends[0] < ends[1] < np.inf)
        ):
            raise ValueError(f"reward_range must be (low, high) with low < high, got {ends!r}")

    def _on_set_params(self) -> None:
        super()._on_set_params()
        self._variation = given_variation(self.run_.params.variation, self.max_depth_ + 2)

    def _begin(self) -> None:
        cutting = self._cutting
        self.domain_: BoxPartition | PoolPartition = cutting.partition(
            self.bounds_, cutting.depth(self.n_features_in_)
        )
        self._tree = self.domain_.tree
        self._on_set_params()
        self._outside: list[tuple[np.ndarray, float]] = []

    def _observe_initial(self, X: np.ndarray, y: np.ndarray) -> None:
        """Keep point evaluations for ``predict``; the choice of cells does not use them."""
        self.run_.n_fitted = len(X)
        self._outside.extend((np.concatenate([x, x]), float(v)) for x, v in zip(X, y, strict=True))

    def _mean_of_node(self, node: int) -> float:
        T, total = self._tree.evaluations(node)
        return total / T if T else np.nan

    # -- a regressor for f ------------------------------------------------------------------

    @locked
    def predict_query(self, queries: Queries) -> np.ndarray:
        """Return the empirical mean of the rewards of each cell, NaN for a cell without rewards.

        Parameters
        ----------
        queries : Cell or list of Cell
            Cells of this optimizer, asked or not.

        Returns
        -------
        mean : ndarray of shape (n_queries,)
        """
        check_is_fitted(self, "bounds_")
        nodes = [self.domain_.node_of(query) for query in self._inputs.queries(queries)]
        means = [self._mean_of_node(node) if node >= 0 else np.nan for node in nodes]
        return self.run_.sign.convert(np.array(means))

    @locked
    def predict(self, X: Settings) -> np.ndarray:
        """Return the empirical mean of the smallest observed cell or point nearest to each x.

        The distance from a cell is 0 if x is inside. Without observations the prediction is the
        middle of ``reward_range``.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Points.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "bounds_")
        X = self._inputs.points(X)
        boxes, means = self._observed_boxes()
        run = self.run_
        if not boxes:
            return np.full(len(X), 0.5 * sum(run.params.reward_range))
        return run.sign.convert(nearest_means(X, boxes, means, self.bounds_, run.space))

    def _observed_boxes(self) -> tuple[list[np.ndarray], list[float]]:
        """Return the boxes (2 d,) of the observed cells and points, and their mean rewards."""
        tree, outside = self._tree, self._outside
        seen = np.flatnonzero(tree.n_evaluations).tolist()
        boxes = [tree.box(node, node + 1)[0] for node in seen]
        means = [self._mean_of_node(node) for node in seen]
        return boxes + [box for box, _ in outside], means + [reward for _, reward in outside]
