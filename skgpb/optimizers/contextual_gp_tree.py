r"""Gaussian process bandits on an adaptive tree, for contexts that the user does not choose.

The tree partitions contexts and actions together. For a context c the cells that contain c are
relevant, each with the candidate (c, centre of the cell's actions). The candidate with the largest

    I = min(upper, upper(x_bar of the parent) + V_{h-1}) + V_h,   upper = mean + sqrt(beta_n) std

is played, unless sqrt(beta_n) std <= V_h + sqrt(beta_n) g_h. Then its cell is refined, and the
candidate, with its context, becomes the x_bar of the cell.

References
----------
.. [Shekhar2018] S. Shekhar and T. Javidi, "Gaussian process bandits with adaptive
   discretization", Electronic Journal of Statistics 12, 2018. Section 5.2 and Algorithm 3.
.. [Krause2011] A. Krause and C. S. Ong, "Contextual Gaussian process bandit optimization",
   NIPS 2011: composite kernels over contexts and actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple, overload

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._ties import tied
from skgpb.domains.arms import PointsQuery, Region
from skgpb.domains.contexts import ContextCell, ContextPartition
from skgpb.domains.mixed import partition_of_box
from skgpb.domains.partition import points_per_axis
from skgpb.exceptions import AllPendingError
from skgpb.kernels.evaluator import Functionals
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._gaussian import ModelParameters
from skgpb.optimizers._places import SideLengths
from skgpb.optimizers._run import AT_START, checked_method
from skgpb.optimizers._trees import (
    ADAPTIVE,
    REGIONS,
    ROUNDING_OF_CELLS,
    AdaptiveTree,
    ChangingBox,
    Constants,
    PriorOfPoints,
    cell_deviations,
    check_variation,
    checked_depth,
    given_variation,
    kernel_of_regions,
)
from skgpb.utils.locks import locked
from skgpb.utils.typing import (
    Beta,
    Bounds,
    FeedbackOfRegion,
    RecommendMethod,
    Representatives,
    Setting,
    Variation,
)
from skgpb.utils.validation import MOST_CHILDREN, Integral, Interval, StrOptions, check_bounds

__all__ = ["ContextualGPTreeOptimizer"]

# Mathematics: penalty of candidates that are likely to fail, in units of the prior. It ranks them
# behind all others.
LAST = 1e6


class Score(NamedTuple):
    """Score of a candidate: its index of eq. 5.9, its upper confidence bound and its std."""

    value: float
    upper: float
    std: float


@dataclass(eq=False, repr=False, kw_only=True)
class ContextualGPTreeOptimizer(
    ModelParameters, ChangingBox[ContextCell], AdaptiveTree[ContextCell]
):
    r"""Contextual bandit: choose the best action in a given context, by a tree (Algorithm 3).

    >>> import numpy as np
    >>> from skgpb import ContextualGPTreeOptimizer
    >>> opt = ContextualGPTreeOptimizer(context_bounds={"heat": (0, 1)}, bounds={"dose": (0, 1)})
    >>> def objective(query):  # the best dose equals the heat
    ...     return -((query.params["dose"] - query.params["heat"]) ** 2)
    >>> result = opt.run(objective, contexts=np.random.default_rng(0).uniform(size=(30, 1)))
    >>> round(opt.recommend(context={"heat": 0.3}).params["dose"], 1)
    0.3

    Other parameters are inherited from :class:`~skgpb.optimizers.ModelParameters`. ``bounds`` is
    the box of the actions, and ``kernel`` is over rows [context, action]. Write sums and products
    of a context and an action kernel with :class:`~skgpb.kernels.Columns`, see Examples.
    If neither ``context_bounds`` nor ``bounds`` is given, ``fit`` derives both from X.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f, any kernel of scikit-learn; None learns one from the answers.
    bounds : array-like of shape (d, 2) or dict, default=None
        The box that is searched: a pair (lower, upper) for each side, or a dict of named sides.
    alpha : float, array-like or None, default=None
        Noise variance of an answer, in units of the reward squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is random: draws, candidates in a box, and restarts of the optimizer.
    context_bounds : array-like of shape (d_c, 2) or dict, default=None
        Box of the contexts. A dict gives the sides names, and ``bounds`` is then a dict as well.
    n_context : int, default=1
        Number d_c of leading columns of X that are contexts, where ``context_bounds`` is None.
    horizon : int, default=100
        n, the number of evaluations for which beta_n, V_h and h_max hold. A
        :class:`~skgpb.exceptions.BudgetWarning` says when there are more.
    anytime : bool, default=False
        Whether n doubles whenever ``horizon`` evaluations are spent (Remark 5).
    n_children : int, default=2
        K, the number of parts into which a cell is split; fewer if it has fewer settings.
    feedback : {"center", "average", "integral"}, default="center"
        Answer of the oracle to a cell in a context: f at the centre of its actions (the
        paper's case), the average over representative actions, or the mean over all its actions.
    n_representatives : int or tuple of d_a ints, default=None
        Representative actions per axis for "average"; None chooses as many as possible up to 10
        per axis and 100 in all.
    variation : "kernel", "theory", (c, rho) or callable, default="kernel"
        V_h, the variation of f within cells of depth h of the joint partition: g_h times
        sqrt(2 log(cells / theta)), that of Claim 2,
        ``c * rho**h``, or any function of h in units of the reward.
    max_depth : int, default=None
        h_max: cells of a depth below it are split (strictly, as printed). None stands for
        equation 3.4.
    max_active : int, default=10000
        Guard against refining breadth first: from this number of leaves on, the search refines at
        most one cell before each evaluation, with a
        :class:`~skgpb.exceptions.RefinementWarning`. Instead of refining more cells, it plays the
        candidate with the largest upper confidence bound.
    beta : {"theory", "rkhs"}, float or callable, default="theory"
        beta_n squared, the factor of the posterior *variance*, as for
        :class:`GPTreeOptimizer`.

    Attributes
    ----------
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over box descriptors of contexts and actions. It tracks the x_bar of
        every split cell.
    domain_ : ContextPartition
        The cells: ``domain_.cell(node)`` is a cell of contexts and actions, and
        ``domain_.query_in_context(node, context)`` the query of this cell in a context.
    tree_ : Bunch
        The partition of the joint domain, as arrays.
    history_ : structured ndarray
        The answers; ``expanded`` says whether cells were refined on the way to the query.
    bounds_ : ndarray of shape (d_c + d_a, 2)
        The joint domain.
    horizon_ : int
        The current n.
    max_depth_ : int
        h_max rounded down.
    n_features_in_ : int
        d_c + d_a.

    Notes
    -----
    *Ties* go to the lowest depth, then to the lowest index.

    *Cells* are half open and closed at the upper face of the domain (decision D-B9), so that a
    context on a boundary belongs to one side only.

    *Recommendation.* The paper has no rule of recommendation. ``recommend(context=...)`` returns
    the relevant cell with the highest posterior mean.

    *Batches.* Queries of other contexts stay pending until their answers arrive. Pending queries
    shrink the posterior standard deviations for the queries after them.

    Examples
    --------
    The covariance of f is a product of one over contexts and one over actions:

    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import Columns
    >>> kernel = Columns(RBF(0.5), [0]) * Columns(RBF(0.3), [1])
    >>> opt = ContextualGPTreeOptimizer(kernel, context_bounds=[(0, 1)], bounds=[(0, 1)])
    >>> rng = np.random.default_rng(0)
    >>> def noisy(query):  # the best action equals the context
    ...     context, action = query.points[0]
    ...     return np.exp(-10 * (action - context) ** 2) + 0.1 * rng.normal()
    >>> result = opt.run(noisy, contexts=rng.uniform(size=(60, 1)))
    >>> opt.recommend(context=[0.3]).actions.round(1)
    array([[0.3]])
    """

    context_bounds: Bounds | None = None
    n_context: int = 1
    horizon: int = 100
    anytime: bool = False
    n_children: int = 2
    feedback: FeedbackOfRegion = "center"
    n_representatives: Representatives = None
    variation: Variation = "kernel"
    max_depth: int | None = None
    max_active: int = 10_000
    beta: Beta = "theory"

    _query_type = ContextCell
    _kept_fields = ("domain_", "_bars")
    _needs_contexts = True
    # The paper has no rule of recommendation.
    _methods = ("posterior",)

    _at_start = AT_START | {"horizon"}
    _parameter_constraints = (REGIONS | ADAPTIVE) | {
        "n_context": [Interval(Integral, 1, None, closed="left")],
        "n_children": [Interval(Integral, 2, MOST_CHILDREN, closed="both")],
        "feedback": [StrOptions({"center", "average", "integral"})],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
    }

    # -- the loop ---------------------------------------------------------------------------

    def _may_ask(self, query: Any) -> bool:
        return isinstance(query, ContextCell)  # not a region of an earlier box

    @overload
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: Setting | None = None,
        side: None = None,
    ) -> ContextCell: ...

    @overload
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: Setting | None = None,
        side: SideLengths,
    ) -> Region: ...

    @locked
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: Setting | None = None,
        side: SideLengths | None = None,
    ) -> ContextCell | Region:
        """Return the best relevant cell in a context, or the best cell of a size.

        Parameters
        ----------
        method : {"posterior"}, default=None
            "posterior" is the cell with the highest posterior mean; the paper has no rule.
        context : array-like of shape (d_c,), number or dict
            Context of the recommendation.
        side : float, array-like of shape (d_a,) or dict, default=None
            Sides of a cell of actions, to recommend the cell of this size with the best average in
            this context, at any place. None for a cell of the partition.
        """
        checked_method(method, self._methods)
        loop.check_has_data(self)
        context = self._contexts.validate(context)
        return self._best(context) if side is None else self._best_region(side, context=context)

    def _best(self, context: Any = None) -> ContextCell:
        nodes = self.domain_.relevant(context).tolist()
        gp, outcomes = self._model.process, self.run_.outcomes_of_regions(self.bounds_)
        means = gp.moments([self.domain_.candidate(node, context) for node in nodes]) / gp.scale
        if outcomes is not None:
            possible = outcomes.feasible_mask(self._boxes(nodes, context))
            means = np.where(possible, means, means - LAST)
        return self.domain_.query_in_context(self._first_best(nodes, means), context)

    def _boxes(self, nodes: list[int], context: np.ndarray) -> np.ndarray:
        """Return the boxes [lower, upper] (n_nodes, 2 d) of the cells in a context."""
        return np.array([self.domain_.query_in_context(node, context).box for node in nodes])

    # -- Algorithm 3 ------------------------------------------------------------------------

    def _choose(self, context: Any) -> ContextCell:
        """Lines 4 to 10: refine the best relevant cell until one is to be played."""
        run = self.run_
        t = run.n_told + 1 + len(run.pending)
        self._follow_horizon(t)
        width, leaves = sqrt(self._beta(t)), self._tree.n_leaves
        taken = {
            (query.depth, query.index)
            for query in run.pending
            if isinstance(query, ContextCell) and np.array_equal(query.context, context)
        }
        values = self._indices(self.domain_.relevant(context).tolist(), context, width)
        pending: dict[int, Score] = {}  # scores of the cells that are pending in this context
        while values or pending:
            early = not values  # all relevant cells are pending: refine the best one early
            pool = pending if early else values
            nodes = list(pool)
            node = self._first_best(nodes, np.array([pool[each].value for each in nodes]))
            depth, index, _ = self._tree.node(node)
            known = width * pool[node].std <= self._variation[depth] + width * self._g[depth]
            refine = depth < self._constants.h_max - ROUNDING_OF_CELLS and (early or known)
            refine = refine and self.domain_.joint.splittable(node)
            if refine and not early and not self._may_split(leaves):
                # Only a smaller cell would be informative, but the tree is full. Until it may grow,
                # play the best candidate, as if the candidates were all actions.
                free = [each for each in nodes if self._tree.node(each)[:2] not in taken]
                if free:
                    upper = np.array([pool[each].upper for each in free])
                    return self.domain_.query_in_context(self._first_best(free, upper), context)
                refine = False
            if refine:
                del pool[node]
                children = self.domain_.containing(self._expand(node, context), context)
                values |= self._indices(children.tolist(), context, width)
            elif early:
                del pending[node]
            elif (depth, index) in taken:
                pending[node] = values.pop(node)
            else:
                return self.domain_.query_in_context(node, context)
        raise AllPendingError(
            f"all cells at the finest resolution are pending in context {context.tolist()}: tell "
            "some of them before asking for more, or increase max_depth"
        )

    def _indices(self, nodes: list[int], context: np.ndarray, width: float) -> dict[int, Score]:
        """Return the score (equation 5.9) of the candidate of each cell, in normalised units."""
        run = self.run_
        gp = self._model.fantasize(map(self.domain_.rows_of_query, run.pending))
        row_sets = [self.domain_.candidate(node, context) for node in nodes]
        mean, std = gp.moments(row_sets, std=True)
        mean, std = (mean - gp.offset) / gp.scale, std / gp.scale
        upper = mean + width * std
        index = upper.copy()
        for i, node in enumerate(nodes):
            parent = int(self._parent_of[node])
            if parent >= 0:
                bar_mean, bar_var = gp.posterior.moments_at(self._bar[parent])
                depth = self._tree.node(parent)[0]
                index[i] = min(index[i], bar_mean + width * sqrt(bar_var) + self._variation[depth])
            index[i] += self._variation[self._tree.node(node)[0]]
        chances = run.chances_of_regions(self.bounds_)
        if chances is not None:
            # Candidates that are likely to fail come after all others.
            unlikely = chances.unlikely_mask(self._boxes(nodes, context))
            index[unlikely], upper[unlikely] = index[unlikely] - LAST, upper[unlikely] - LAST
        rows = np.column_stack([index, upper, std]).tolist()
        return {node: Score(*row) for node, row in zip(nodes, rows, strict=True)}

    def _expand(self, node: int, context: np.ndarray) -> np.ndarray:
        """Lines 7 and 8: split a cell, and keep its candidate as its x_bar; return the children."""
        self._bar[node] = len(self._bar)
        self._model.process.track([self.domain_.candidate(node, context)], [self._bar[node]])
        first = self.domain_.joint.split(node)
        children = np.arange(first, self._tree.n_nodes)
        self._parent_of += [node] * len(children)
        self._refined = True
        return children

    def _observe(self, query: ContextCell | PointsQuery, reward: float, alpha: float) -> None:
        """Lines 11 and 12: observe the reward of a query."""
        node = self.domain_.node_of(query)
        row_set = self.domain_.rows_of_query(query)
        mean, var = self._model.observe(row_set, reward, alpha, renew=self._on_refit)
        if node >= 0:
            self._tree.record(node, reward)
        refined, self._refined = self._refined, False
        self.run_.close(query, reward, *self._model.to_user_units(mean, var), refined)

    def _first_best(self, nodes: list[int], values: np.ndarray) -> int:
        """Return the node of the largest value; ties to the lowest depth, then the lowest index."""
        among = [nodes[i] for i in tied(values)]
        return min(among, key=lambda node: self._tree.node(node)[:2])

    # -- state ------------------------------------------------------------------------------

    def _domain(self, X: np.ndarray | None) -> np.ndarray | None:
        run = self.run_
        if (run.params.bounds is None) != (run.params.context_bounds is None):
            raise ValueError(
                "pass both context_bounds and bounds, or neither: fit then derives both from X, "
                "whose first n_context columns are contexts"
            )
        if run.space is not None:
            return run.space.bounds
        if run.params.bounds is None:
            return None
        contexts = check_bounds(run.params.context_bounds, "context_bounds")
        return np.concatenate([contexts, check_bounds(run.params.bounds)])

    def _resolved_n_context(self) -> int:
        run = self.run_
        if run.context_space is not None:
            return run.context_space.n_axes
        given = run.params.context_bounds
        return run.params.n_context if given is None else len(given)

    def _begin_checks(self) -> None:
        d = self.n_features_in_
        if self._resolved_n_context() >= d:
            raise ValueError(
                f"X has {d} feature(s), and n_context must be lower, so that at least one is an "
                f"action; got n_context={self._resolved_n_context()}"
            )
        run = self.run_
        checked_depth(run.params.max_depth, run.params.n_children)
        check_variation(run.params.variation)

    def _begin(self) -> None:
        n = self._n_context = self._resolved_n_context()
        self._begin_horizon()
        self._bar: dict[int, int] = {}  # node -> slot of its x_bar
        self._parent_of: list[int] = [-1]  # node -> parent, -1 for the root
        prior, counts = self._query_kernel(), self._counts()
        run = self.run_
        given = checked_depth(run.params.max_depth, run.params.n_children)
        of_points = PriorOfPoints(prior, run.space)
        self._constants = Constants.from_prior(
            self._horizon.n, run.params.n_children, self.bounds_, of_points, given
        )
        at_center = run.params.feedback != "integral" and max(counts) == 1
        joint = partition_of_box(
            self._root,
            run.params.n_children,
            counts,
            at_center,
            self._constants.max_depth,
            run.space,
        )
        self.domain_: ContextPartition = ContextPartition(joint, self.bounds_[:n])
        self._tree = joint.tree
        self._start_surrogate(prior, joint.row_set(0).shape[1])
        self._update_derived_values()

    def _resume(self) -> None:
        self._parent_of = self._tree.parent.tolist()
        self._bar = {node: i for i, node in enumerate(self.domain_.joint.expanded.tolist())}
        self._update_derived_values()

    @property
    def _bars(self) -> tuple[Any, ...]:
        """Rows and offsets of the tracked candidates, with their cached moments."""
        gp = self._model.process
        return gp.tracked.rows, gp.tracked.offsets, *gp.posterior.known_moments()

    @_bars.setter
    def _bars(self, bars: tuple[Any, ...]) -> None:
        rows, offsets, mean, var, upto = bars
        tracked = Functionals.between(rows, offsets)
        row_sets = [tracked[i] for i in range(len(tracked))]
        self._model.process.track(row_sets, moments=(mean, var, upto))

    def _query_kernel(self) -> Kernel:
        """Return the kernel of the answers to queries, over box descriptors."""
        run = self.run_
        own, counts = run.params, self._counts()
        return kernel_of_regions(own.feedback, own.kernel, counts, self.bounds_, run.space)

    def _counts(self) -> tuple[int, ...]:
        """Return the number of representatives along each side, 1 for the sides of a context."""
        n, d = self._resolved_n_context(), self.n_features_in_
        run = self.run_
        if run.params.feedback == "center":
            return (1,) * d
        return (1,) * n + points_per_axis(run.params.n_representatives, d - n, run.actions)

    def _update_derived_values(self) -> None:
        """Recompute g_h and V_h for h = 0..max_depth + 1, in normalised units."""
        n, kernel = self.max_depth_ + 2, self._model.process.kernel
        run = self.run_
        prior, everywhere = PriorOfPoints(kernel, run.space), not kernel.base.is_stationary()

        def cells(depth: int) -> list[tuple[np.ndarray, np.ndarray]]:
            sample = self.domain_.joint.deviation_cells(depth, everywhere)
            return [(lower, upper) for _, lower, upper in sample]

        self._g = cell_deviations(prior, cells, n)
        if run.params.variation == "kernel":
            self._variation = self._norm.deviations_within(self._constants.log_cells) * self._g
        elif run.params.variation == "theory":
            self._variation = self._constants.variation(
                self._g, self._guarantee.failure_probability
            )
        else:
            self._variation = given_variation(run.params.variation, n) / self._model.process.scale
