r"""Base class of tree searches with a user-defined rule: which leaf to ask, which leaves to split.

The rule has two functions of the leaves of the tree (:class:`Leaves`): a score for each leaf,
whose maximum is the next query, and a mask of the leaves that are split into their children.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from skgpb import defaults
from skgpb._core._ties import tied
from skgpb.domains import Cell
from skgpb.domains.arms import PointsQuery
from skgpb.domains.partition import BoxPartition, PoolPartition
from skgpb.optimizers._base import checked_scores
from skgpb.optimizers._trees import PartitionSearch
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.utils.locks import locked
from skgpb.utils.roots import joint_draws
from skgpb.utils.validation import check_draws

__all__ = ["Leaves", "TreeSearch"]


class Leaves:
    """Posterior of the leaves of a tree, the argument of a rule: arrays with one entry per leaf.

    Values are in units of the surrogate, in which the kernel is the prior covariance; these are the
    units of the rewards unless rewards are scaled. Large values are better. Pending queries count
    as answered with the expected answer. Do not change the arrays; change a copy.

    Attributes
    ----------
    mean, std : ndarray of shape (n_leaves,)
        Posterior of the answer of each cell, without its noise.
    variation : ndarray of shape (n_leaves,)
        delta(h), the variation of f within cells of the depth of the leaf.
    depth, index : ndarray of shape (n_leaves,) of int
        Position of each leaf in the tree.
    n_evaluations : ndarray of shape (n_leaves,) of int
        Number of answers of each leaf.
    asked : ndarray of shape (n_leaves,) of bool
        True for the leaf that was just answered; all False before the answer of a round.
    beta : float
        The factor of the posterior variance by the parameter ``beta``.
    t : int
        The round that is played, counted from 1.
    rng : numpy.random.Generator
        Random numbers of this round, the same at each call of ``ask`` in the round.
    """

    mean: np.ndarray
    std: np.ndarray
    variation: np.ndarray
    depth: np.ndarray
    index: np.ndarray
    n_evaluations: np.ndarray
    asked: np.ndarray
    beta: float
    t: int
    rng: np.random.Generator

    def __init__(
        self,
        gp: GaussianProcess,
        domain: BoxPartition | PoolPartition,
        delta: np.ndarray,
        asked: int,
        beta: float,
        t: int,
        rng: np.random.Generator,
    ) -> None:
        tree, leaves = domain.tree, domain.tree.leaves
        self._gp, self._domain, self._nodes = gp, domain, leaves
        self.mean = gp.posterior.tracked_mean()
        self.std = np.sqrt(gp.posterior.tracked_var())
        self.depth, self.index = tree.depth[leaves], tree.index[leaves]
        self.variation = delta[self.depth]
        self.n_evaluations, self.asked = tree.n_evaluations[leaves], leaves == asked
        self.beta, self.t, self.rng = beta, t, rng

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def lower(self) -> np.ndarray:
        """Lower corners of the cells, shape (n_leaves, d)."""
        return self._domain.tree.lower[self._nodes]

    @property
    def upper(self) -> np.ndarray:
        """Upper corners of the cells, shape (n_leaves, d)."""
        return self._domain.tree.upper[self._nodes]

    def draws(self, n_draws: int) -> np.ndarray:
        """Draw the answers of all leaves jointly from the posterior.

        Parameters
        ----------
        n_draws : int
            Number of draws.

        Returns
        -------
        draws : ndarray of shape (n_draws, n_leaves)
        """
        n, gp = check_draws(n_draws, len(self)), self._gp
        _, cov = gp.moments([self._domain.row_set(node) for node in self._nodes.tolist()], cov=True)
        seed = int(self.rng.integers(2**31))
        return joint_draws(self.mean, cov / gp.scale**2, n, seed).T


@dataclass(eq=False, repr=False, kw_only=True)
class TreeSearch(PartitionSearch):
    r"""Search the cells of a partition by a rule of your own: a base class.

    A subclass has two methods, :meth:`acquisition` and :meth:`splits`. This class has the model,
    its learning, batches, failures, files and recommendations, see :doc:`/development/new_tree`.

    Thompson sampling asks for the leaf that is best in a joint draw; here a leaf is split after its
    second answer.

    >>> from skgpb.optimizers import TreeSearch
    >>> class TreeThompsonOptimizer(TreeSearch):
    ...     def acquisition(self, leaves):
    ...         return leaves.draws(1)[0]
    ...
    ...     def splits(self, leaves):
    ...         return leaves.n_evaluations >= 2
    >>> opt = TreeThompsonOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda cell: -((cell.points - 3) ** 2).mean(), budget=30)
    >>> result.x.center.round(1)
    array([3.])

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
    """

    # -- the rule -----------------------------------------------------------------------------

    @abstractmethod
    @locked
    def acquisition(self, leaves: Leaves) -> np.ndarray:
        """Return a score for each leaf; ``ask`` returns the leaf with the largest score.

        Parameters
        ----------
        leaves : Leaves
            Posterior of the leaves, given the expected answers to pending queries.

        Returns
        -------
        values : ndarray of shape (n_leaves,)
            Scores, not NaN. Ties go to the leaf of the lowest depth, then of the lowest index.
        """

    @abstractmethod
    @locked
    def splits(self, leaves: Leaves) -> np.ndarray:
        """Return a mask of the leaves to split, after an answer.

        Parameters
        ----------
        leaves : Leaves
            Posterior of the leaves, given this answer as well.

        Returns
        -------
        which : ndarray of shape (n_leaves,) of bool
            True for the leaves to split. The search splits the first 256 of these that can be
            split: with a depth below ``max_depth_``, and in a pool with enough members.
        """

    # -- the search ---------------------------------------------------------------------------

    def _best_leaf(self, excluded: np.ndarray | None) -> int:
        run = self.run_
        n_pending = len(run.pending)
        expected = self._model.fantasize(map(self.domain_.rows_of_query, run.pending))
        leaves = self._leaves(expected, run.n_told + 1 + n_pending, n_pending)
        rule = f"acquisition of {type(self).__name__}"
        values = checked_scores(self.acquisition(leaves), rule, len(leaves), of="leaves")
        nodes = self._tree.leaves
        free = np.ones(len(nodes), dtype=bool) if excluded is None else excluded[nodes] == 0
        if not free.any():
            return -1
        among = np.flatnonzero(free)
        best = among[tied(values[among])]
        order = np.lexsort((leaves.index[best], leaves.depth[best]))
        return int(nodes[best[order[0]]])

    def _leaves(self, gp: GaussianProcess, t: int, n_pending: int = 0, asked: int = -1) -> Leaves:
        run = self.run_
        rng = np.random.default_rng([run.seed, run.n_told, n_pending])
        return Leaves(gp, self.domain_, self._variation, asked, self._beta(t), t, rng)

    def _observe(self, query: Cell | PointsQuery, reward: float, alpha: float) -> None:
        node = self.domain_.node_of(query)
        slot = self._tree.node(node)[2] if node >= 0 else -1
        what = slot if slot >= 0 else self.domain_.rows_of_query(query)
        mean, var = self._model.observe(what, reward, alpha, renew=self._on_refit)
        if node >= 0:
            self._tree.record(node, reward)
        run = self.run_
        leaves = self._leaves(self._model.process, run.n_told + 1, asked=node)
        marked = np.asarray(self.splits(leaves))
        if marked.shape != (len(leaves),) or marked.dtype.kind != "b":
            raise ValueError(
                f"splits of {type(self).__name__} must return True or False for each of "
                f"{len(leaves)} leaves, got "
                f"{f'{marked.dtype} of shape {marked.shape}' if marked.ndim else marked}"
            )
        nodes = self._tree.leaves[marked].tolist()
        splittable = [each for each in nodes if self.domain_.splittable(each)]
        nodes = splittable[: defaults.SPLITS_PER_ROUND]
        if nodes:
            self._expand_all(nodes)
        run.close(query, reward, *self._model.to_user_units(mean, var), node in nodes)
