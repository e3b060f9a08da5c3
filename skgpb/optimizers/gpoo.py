r"""Gaussian process optimistic optimisation from averages over cells (GPOO).

One round, in the notation of the paper: query the leaf with the largest b-value

    b(h, i) = mean + sqrt(beta_t) std + delta(h),

observe the noisy average of f over it, and split it as soon as half of its confidence interval,
sqrt(beta_t) std, is no wider than delta(h), the variation of f within cells of depth h (not the
probability of failure that other searches call delta).

References
----------
.. [Zhang2022] M. Zhang, R. Tsuchida and C. S. Ong, "Gaussian Process Bandits with Aggregated
   Feedback", AAAI 2022. Equation, algorithm and lemma numbers below are this paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal, Self

import numpy as np

from skgpb import defaults
from skgpb._core._ties import argmax_first
from skgpb.domains import Cell
from skgpb.domains.arms import PointsQuery
from skgpb.exceptions import RefinementWarning
from skgpb.feedback import RowAverage
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._inputs import Numbers
from skgpb.optimizers._trees import PartitionSearch
from skgpb.utils.locks import locked
from skgpb.utils.typing import Told
from skgpb.utils.validation import StrOptions, check_one_each, is_sequence
from skgpb.utils.warnings import warn

__all__ = ["GPOOOptimizer"]


@dataclass(eq=False, repr=False, kw_only=True)
class GPOOOptimizer(PartitionSearch):
    r"""Find the best region, or group of rows, from noisy averages (aggregated feedback).

    >>> from skgpb import GPOOOptimizer
    >>> opt = GPOOOptimizer(bounds={"x": (0, 10)})
    >>> result = opt.run(lambda cell: -((cell.points - 3) ** 2).mean(), budget=30)
    >>> result.x.center.round(1)
    array([3.])

    Optimistic tree search (Algorithm 1). The oracle answers with the noisy average of f over a
    cell. A Gaussian process on f gives every leaf of an adaptive K-ary partition a posterior mean
    and standard deviation. A round takes at most O(m t) for m leaves and t distinct queries; with
    thousands of leaves, only leaves that may be the best are evaluated.

    Other parameters are inherited from :class:`~skgpb.optimizers.PartitionSearch`.

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
    expansion : {"posterior", "before", "after"}, default="posterior"
        Rule that decides which cells are split. Line 6 of the paper tests the cell of the query,
        and its standard deviation can be read as the one "before" the reward of the round or
        "after" it. "posterior" tests every leaf with its deviation after the reward, so that no
        evaluation is spent on a cell whose average follows from answers about its neighbours. From
        3,072 leaves on it tests only the cell of the query.

    Notes
    -----
    *Ties.* Leaves whose b-values agree within a relative 1e-9 tie. Ties go to the lowest depth,
    then to the lowest index.

    *Counted rows.* Where answers come with their ``count``, see :meth:`tell`, the search splits,
    repeats and recommends only cells of at least ``min_members`` rows.

    *Recommendation.* ``recommend("paper")`` is, among the split cells of the deepest level that
    has any, the one with the highest posterior mean.

    *Beyond the paper.* Its Algorithm 1 is ``expansion="before"`` with ``recommend("paper")``. The
    defaults were better on average at every budget that we tried. On boxes ``beta=4.0`` was better
    than "theory" as well; on pools of noisy rows it explores too little. The user guide has the
    figures.
    """

    expansion: Literal["posterior", "before", "after"] = "posterior"

    _parameter_constraints = {"expansion": [StrOptions({"before", "after", "posterior"})]}

    # -- answers about counted rows -----------------------------------------------------------

    @locked
    def tell(
        self,
        query: Told,
        reward: Numbers,
        alpha: Numbers = None,
        *,
        count: Any = None,
    ) -> Self:
        """Report the reward of a query; an invalid reward changes nothing.

        Parameters
        ----------
        query, reward, alpha
            As for :meth:`GPUCBOptimizer.tell`.
        count : int, or array-like of shape (n,) of int, default=None
            Number of rows of a table in the average, see Notes; 0 for a cell without rows. An
            objective of :meth:`run` returns a :class:`~skgpb.feedback.RowAverage` instead.
        """
        if count is not None:
            if is_sequence(count):
                n = len(count)
                rewards = check_one_each(reward, n, "reward", "queries")
                counts = check_one_each(count, n, "count", "queries")
                reward = [RowAverage(*each) for each in zip(rewards, counts, strict=True)]
            else:
                reward = RowAverage(reward, count)
        return loop.tell(self, query, reward, alpha)

    def _validate_answer(self, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
        if not isinstance(reward, RowAverage):
            return super()._validate_answer(query, reward, alpha)
        if self.run_.params.pool is not None:
            raise ValueError(
                "count must be None with a pool, whose cells have a known number of rows"
            )
        # The base class checks the average as a number. An average over no rows has no number.
        value = float(reward) if reward.count else None
        query, _, noise = super()._validate_answer(query, value, alpha)
        return query, reward, noise

    @property
    def _small_cells(self) -> list[int]:
        """Nodes of the cells that have fewer than ``min_members`` rows by their counts."""
        run = self.run_
        if not run.rows:
            return []  # fast path: called three times in a round
        few = [query for query, n in run.rows.items() if n < run.params.min_members]
        return [node for node in map(self.domain_.node_of, few) if node >= 0]

    def _best_by_posterior(self, finest_depth: int, caution: float) -> Cell:
        run = self.run_
        counted = {query: n for query, n in run.rows.items() if isinstance(query, Cell)}
        if not counted:
            return super()._best_by_posterior(finest_depth, caution)
        # Only counted cells: any other may have no rows.
        enough = [
            cell
            for cell, n in counted.items()
            if n >= run.params.min_members and cell.depth <= finest_depth
        ]
        cells = sorted(enough, key=lambda cell: (cell.depth, cell.index))
        if not cells:
            return self.domain_.cell(0)
        gp = self._model.process
        mean, std = gp.moments([self.domain_.rows_of_query(cell) for cell in cells], std=True)
        value = (mean - gp.offset - caution * std) / gp.scale
        return cells[argmax_first(value, self._model.tie_scale)]

    # -- Algorithm 1 ------------------------------------------------------------------------

    def _best_leaf(self, excluded: np.ndarray | None) -> int:
        """Line 3: return the leaf of the largest b-value."""
        run = self.run_
        pending, gp = run.pending, self._model.process
        beta = self._beta(run.n_told + 1 + len(pending))
        if below := self._small_cells:
            excluded = np.zeros(self._tree.n_nodes, np.uint8) if excluded is None else excluded
            excluded[below] = 1
        if pending:
            gp = self._model.fantasize(map(self.domain_.rows_of_query, pending))
        return self._tree.best_upper_bound(gp.posterior, beta, self._variation, excluded)

    def _observe(self, query: Cell | PointsQuery, reward: float, alpha: float) -> None:
        """Lines 4 to 9: observe the reward, and split the cells whose averages are certain enough.

        An average is certain enough if half of its confidence interval is at most delta(h).
        """
        run = self.run_
        beta = self._beta(run.n_told + 1)
        node = self.domain_.node_of(query)
        depth, _, slot = self._tree.node(node) if node >= 0 else (0, 0, -1)
        # A leaf has a slot with tracked moments; for any other query the rows of its points.
        functional = slot if slot >= 0 else self.domain_.rows_of_query(query)
        splits_left = self._splits_left
        mean, var = self._model.observe(functional, reward, alpha, renew=self._on_refit)
        beta_after = self._widths().beta() if self.beta == "rkhs" else beta
        splits = slot >= 0 and self.domain_.splittable(node) and node not in self._small_cells
        if splits:
            # Line 6, before the reward or after it (decision D-A2).
            before = self.expansion == "before"
            posterior = self._model.process.posterior
            width = beta * var if before else beta_after * posterior.moments_at(slot)[1]
            splits = sqrt(width) <= self._variation[depth]
        if splits:
            self._expand_all([node])
        if self.expansion == "posterior":
            self._expand_certain_leaves(beta_after, splits_left)
        if node >= 0:
            self._tree.record(node, reward)
        run.close(query, reward, *self._model.to_user_units(mean, var), splits)

    def _expand_certain_leaves(self, beta: float, splits_left: int) -> None:
        """Apply line 6 to every leaf: split the leaves whose confidence interval is narrow enough.

        ``splits_left`` is ``_splits_left`` at the start of the round.
        """
        posterior, deepest, tree = self._model.process.posterior, self.domain_.max_depth, self._tree
        splits, below = min(defaults.SPLITS_PER_ROUND, self._splits_left), self._small_cells
        while splits > 0:
            known = tree.known_leaves(posterior, beta, self._variation, deepest)
            known = [leaf for leaf in known if self.domain_.splittable(leaf)]
            known = [leaf for leaf in known if leaf not in below][:splits]
            if not known:
                return
            self._expand_all(known)
            splits -= len(known)
        if splits_left > 0 >= self._splits_left:
            warn(
                f"the tree has {tree.n_leaves} candidate cells: from now on a cell is split only "
                "after it was asked, and no longer because its average follows from answers about "
                "other cells. Decrease max_depth for a smaller tree",
                RefinementWarning,
            )

    def _expand_all(self, nodes: list[int]) -> list[int]:
        """Line 7: replace each node by its children, and return the first child of each.

        Speed: the moments of very many leaves are updated lazily.
        """
        firsts = super()._expand_all(nodes)
        self._model.process.lazy = self._splits_left <= 0
        return firsts

    @property
    def _splits_left(self) -> int:
        """Number of cells that the search may still split before they are answered."""
        return (defaults.MANY_LEAVES - self._tree.n_leaves) // (self._tree.n_children - 1)
