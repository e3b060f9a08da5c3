"""Base of tree searches with a model: leaves, learning, the recommended region."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import log, pi
from typing import ClassVar

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb._core._ties import argmax_first
from skgpb._typing import Beta, FeedbackOfRegion, Points, Representatives, Variation
from skgpb._warnings import warn
from skgpb.domains import Cell
from skgpb.domains.partition import BoxPartition, PoolPartition
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import RefinementWarning
from skgpb.kernels import LowRank
from skgpb.kernels._cell import CellKernel
from skgpb.kernels._white import contains_white_noise
from skgpb.optimizers._cells import CellSearch
from skgpb.optimizers._cutting import CUTTING, Cutting, given_variation
from skgpb.optimizers._gaussian import ModelParameters
from skgpb.optimizers._region_search import RegionSearch, kernel_of_points, kernel_of_regions
from skgpb.optimizers._variation import answer_deviations
from skgpb.surrogate.gaussian_process import GaussianProcess, Moments
from skgpb.utils import Integral, StrOptions

__all__ = ["PartitionSearch"]

# Speed: averages over more rows of a pool than this go by features, see LowRank.
MANY_ROWS = 512


@cache
def log_of_cells(n_children: int, max_depth: int) -> float:
    """Logarithm of the number of cells of a tree, a large integer."""
    return log((n_children ** (max_depth + 1) - 1) // (n_children - 1))


@dataclass(eq=False, repr=False, kw_only=True)
class PartitionSearch(ModelParameters, CellSearch, RegionSearch[Cell]):
    """Base class of searches of the cells of a partition, which share what is observed of f.

    A subclass says which leaf is the best to ask, and when cells are split, as
    :class:`~skgpb.optimizers.TreeSearch` does by two methods of your own.

    Other parameters are those of :class:`~skgpb.optimizers.ModelParameters`.

    Parameters
    ----------
    pool : array-like of shape (n, d), default=None
        A finite domain instead of a box: cells are groups of rows, split at quantiles.
    n_children : int, default=2
        K, the number of parts into which a cell is split; fewer if it has fewer settings.
    feedback : {"center", "average", "integral"} or Kernel, default="average"
        Answer of the oracle to a cell: f at its centre, the average over its
        representatives, or the mean over the whole cell. A kernel over box descriptors
        [lower, upper] stands for itself, and ``kernel`` is then not used. In a pool: the member
        nearest to the mean, at most ``n_representatives`` members, or all of them.
    n_representatives : int or tuple of d ints, default=None
        Points per axis in a cell, S is their product; in a pool the number S itself. None
        takes as many as possible up to 10 per axis and 100 in all (32 in a pool).
    variation : "kernel", (c, rho) or callable, default="kernel"
        delta(h), the variation of f within cells of depth h: ``c * rho**h``, any function of
        h in units of the reward, or computed from the kernel, see Notes.
    max_depth : int, default=None
        Deepest level at which cells are split; leaves exist one level below. None stands for
        10 cuts along every axis, or for the depth at which a pool runs out of members.
    min_members : int, default=1
        Minimum number of members of a cell of a pool.
    beta : {"theory", "rkhs"}, float or callable, default="theory"
        Factor of the posterior *variance*: the bonus is sqrt(beta) std. "theory" is Lemma 1 of
        the paper of :class:`~skgpb.GPOOOptimizer`,
        2 log(M pi^2 t^2 / (6 theta)) with M = sum_{h <= max_depth} K^h. "rkhs" is valid for all
        cells at once and any f of norm at most B (:doc:`/user_guide/guarantees`). A callable
        takes the round t, counted from 1.

    Attributes
    ----------
    domain_ : BoxPartition or PoolPartition
        The cells; ``domain_.cell(node)`` is the query of a node.
    tree_ : Bunch
        The partition as arrays.
    max_depth_ : int
        The resolved ``max_depth``.

    Notes
    -----
    *variation="kernel".* delta(h) = sqrt(2 log(M / theta)) times the largest prior standard
    deviation of f(x) minus the average over the cell, for x anywhere in cells of depth h or
    deeper: the union bound over the M cells of the tree that Lemma 1 takes as well. Where the
    kernel is stationary one cell tells of all; otherwise a sample of cells does. In a pool x is a
    member, of a sample of cells.

    With beta="rkhs" B takes the place of the square root: by the inequality of Cauchy and Schwarz
    no f of that norm varies more.

    *Batches.* ``ask(n)`` shrinks the posterior by the queries that are pending; when every leaf
    is pending it splits the best of them early.
    """

    pool: Points | None = None
    n_children: int = 2
    feedback: FeedbackOfRegion | Kernel = "average"
    n_representatives: Representatives = None
    variation: Variation = "kernel"
    max_depth: int | None = None
    min_members: int = 1
    beta: Beta = "theory"

    _kept_fields: ClassVar[tuple[str, ...]] = ("domain_", "_moments")

    _parameter_constraints = CUTTING | {
        "variation": [StrOptions({"kernel"}), tuple, list, callable]
    }

    # -- choosing and splitting leaves --------------------------------------------------------

    def _choose(self, context: np.ndarray | None) -> Cell:
        """Return the best leaf that is not being evaluated and is likely to have an answer."""
        return self._cell_to_ask(lambda leaf: self._expand_all([leaf]))

    def _expand_all(self, nodes: list[int]) -> list[int]:
        """Split several leaves, whose children take their place and are tracked at once."""
        firsts, slots, blocks = [], [], []
        for node in nodes:
            slot, leaves = self._tree.node(node)[2], self._tree.n_leaves
            first = self.domain_.split(node)
            firsts.append(first)
            slots += [slot, *range(leaves, self._tree.n_leaves)]
            blocks += self.domain_.blocks(first, self._tree.n_nodes)
        self._gp.track(blocks, slots)
        return firsts

    @property
    def _log_regions(self) -> float:
        """Logarithm of M, the number of cells of the tree."""
        return log_of_cells(self._tree.n_children, self.domain_.max_depth)

    def _beta(self, t: int) -> float:
        """Lemma 1 of the GPOO paper (decision D-A6): a union over all cells and rounds."""
        if self.beta != "theory":
            return self._norm.given_beta(t, self._model)
        theta = self._norm.guarantee.failure_probability
        constant = self._log_regions + log(pi**2 / (6.0 * theta))
        return max(0.0, 2.0 * (constant + 2.0 * log(t)))

    # -- recommending -----------------------------------------------------------------------

    @property
    def _finest_depth(self) -> int:
        return self.max_depth_ + 1

    def _slots_of(self, front: list[int]) -> np.ndarray:
        slots = np.full(self._tree.n_nodes, -1)
        slots[self._tree.leaves] = np.arange(self._tree.n_leaves)
        return slots[front]

    def _best_of(self, nodes: np.ndarray) -> int:
        means = self._gp.moments([self.domain_.block(node) for node in nodes.tolist()])
        return argmax_first((means - self._gp.offset) / self._gp.scale, self._model.tie_scale)

    def _best_by_posterior(self, finest_depth: int, caution: float) -> Cell:
        best = super()._best_by_posterior(finest_depth, caution)
        domain, on_grid = (
            self.domain_,
            self._params.max_depth is not None and best.depth == self._finest_depth,
        )
        if on_grid and isinstance(domain, BoxPartition) and not domain.at_center:
            warn_of_grid(self._gp, domain, best, self.bounds_, self._space)
        return best

    # -- state ------------------------------------------------------------------------------

    def _begin(self) -> None:
        kernel, cutting = self._query_kernel(), self._cutting
        self.domain_: BoxPartition | PoolPartition = cutting.partition(
            self.bounds_, self._resolved_depth(cutting, kernel)
        )
        self._tree = self.domain_.tree
        self._start_surrogate(kernel, self.domain_.block(0).shape[1])
        self._gp.sizes = self.domain_.sizes
        self._gp.evaluate_afresh()
        self._renew()
        self._track()

    def _resume(self) -> None:
        self._renew()

    @property
    def _moments(self) -> Moments:
        """What is known of tracked cells."""
        return self._gp.posterior.known_moments()

    @_moments.setter
    def _moments(self, moments: Moments) -> None:
        self._track(moments)

    def _track(self, moments: Moments | None = None) -> None:
        """Follow every leaf, by its slot; ``moments`` as the process takes them."""
        blocks = self.domain_.blocks(0, self._tree.n_nodes)
        self._gp.track([blocks[node] for node in self._tree.leaves.tolist()], moments=moments)

    def _resolved_depth(self, cutting: Cutting, kernel: Kernel) -> int:
        """Deepest level at which cells are split, for a kernel between answers."""
        return cutting.depth(self.n_features_in_)

    def _query_kernel(self) -> Kernel:
        """Covariance between the answers that the oracle returns."""
        box, space = self.bounds_, self._space
        if self._params.pool is None or isinstance(self._params.feedback, Kernel):
            counts = self._cutting.counts(len(box))
            return kernel_of_regions(self._params.feedback, self._params.kernel, counts, box, space)
        base = kernel_of_points(self._params.kernel, box, space, smooth=False)
        # By features if cells average too many rows for a sum over pairs.
        given = self._params.n_representatives
        many = isinstance(given, Integral) and int(given) > MANY_ROWS
        if not (many or self._params.feedback == "integral"):
            return base
        if len(self._params.pool) <= MANY_ROWS or contains_white_noise(base):
            return base
        return base if isinstance(base, LowRank) else LowRank(base, self._params.pool)

    # -- the variation within cells ---------------------------------------------------------

    def _renew(self) -> None:
        # delta(h) for h = 0..max_depth + 1, in normalised units.
        self._variation = self._variation_bound()

    def _variation_bound(self) -> np.ndarray:
        """delta(h) for h = 0..max_depth + 1, in normalised units (decision D-A15)."""
        n = self.max_depth_ + 2
        if self._params.variation != "kernel":
            return given_variation(self._params.variation, n) / self._gp.scale
        factor = self._norm.deviations_within(self._log_regions)
        return factor * answer_deviations(
            self._gp, self.domain_, n, not is_stationary(self._gp.kernel)
        )


def is_stationary(kernel: Kernel) -> bool:
    """Return whether all cells of a depth have equal priors, as far as the kernel shows."""
    return isinstance(kernel, CellKernel) and bool(kernel.base.is_stationary())


def warn_of_grid(
    gp: GaussianProcess,
    domain: BoxPartition,
    best: Cell,
    bounds: np.ndarray,
    space: ParameterSpace | None,
) -> None:
    """Warn if a cell half a side away from one of the finest is known to be better."""
    step = 0.5 * np.diag(best.upper - best.lower)
    if space is not None:
        # No run of values lies half a side away from another.
        step[[axis.discrete for _, axis in space.axes]] = 0.0
    corners = best.lower + np.concatenate([np.zeros((1, len(step))), step, -step])
    boxes = np.hstack([corners, corners + best.upper - best.lower])
    low, high = bounds.T
    inside = (corners >= low).all(axis=1) & (boxes[:, len(step) :] <= high).all(axis=1)
    mean, cov = gp.moments([domain.rows_of_box(box) for box in boxes[inside]], cov=True)
    var = cov[0, 0] + np.diag(cov) - 2.0 * cov[0]
    if (mean - mean[0] > defaults.Z_SIGNIFICANT * np.sqrt(np.maximum(var, 0.0)))[1:].any():
        warn(
            f"max_depth={domain.max_depth} limits recommendations to a grid of "
            "cells, and a cell shifted by half a side from the best one is better: "
            "recommend(side=...) returns a cell of any size at any place",
            RefinementWarning,
        )
