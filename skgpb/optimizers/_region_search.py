"""Base of searches by cells or balls: answers of regions, and the recommended region."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, overload

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._posterior import Posterior
from skgpb._core._ties import exceeds, levelled
from skgpb._typing import Beta, FeedbackOfRegion, RecommendMethod, Representatives
from skgpb.domains.query import Region
from skgpb.domains.space import ParameterSpace
from skgpb.kernels import CellAverage, CellIntegral
from skgpb.locks import locked
from skgpb.optimizers._base import Q
from skgpb.optimizers._failing import Chances
from skgpb.optimizers._gap import BEAM, Refined
from skgpb.optimizers._gaussian import GaussianProcessOptimizer
from skgpb.optimizers._norm_bound import BETA_CONSTRAINTS
from skgpb.optimizers._parameters import checked_method
from skgpb.optimizers._placement import SideLengths
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.likelihood import default_kernel
from skgpb.surrogate.settings import default_kernel as kernel_on_columns
from skgpb.utils import Integral, Interval, Real, StrOptions

# Rounding: largest rounding error of tracked values, in units of the process.
ROUNDING = 1e-5
# Accuracy: nodes along each continuous side of a cell of settings, where its mean has no closed
# form.
NODES_OF_SETTINGS = 8

#: Constraints of the parameters that say what a region answers, and how optimistic a search is.
REGIONS: dict[str, Any] = {
    "beta": BETA_CONSTRAINTS,
    "feedback": [StrOptions({"center", "average", "integral"}), Kernel],
    "n_representatives": [Interval(Integral, 1, None, closed="left"), "array-like", None],
}


def kernel_of_points(
    kernel: Kernel | None, box: np.ndarray, space: ParameterSpace | None, smooth: bool
) -> Kernel:
    """Prior covariance of f: as given, or the default one for a box or the columns of settings."""
    if kernel is not None:
        return clone(kernel)
    if space is not None and space.discrete:
        return kernel_on_columns(space, smooth)
    return default_kernel(box, smooth)


def kernel_of_regions(
    feedback: str | Kernel,
    kernel: Kernel | None,
    counts: tuple[int, ...],
    box: np.ndarray,
    space: ParameterSpace | None,
) -> Kernel:
    """Covariance between the answers to regions of a box, see ``feedback`` of GPOOOptimizer."""
    if isinstance(feedback, Kernel):
        return clone(feedback)
    # Averages over regions have a closed form for RBF kernels.
    base = kernel_of_points(kernel, box, space, smooth=feedback != "center")
    mixed = space is not None and space.discrete
    if feedback == "integral":
        # Adaptive quadrature is over all columns of settings, a rule over the wide ones alone.
        return CellIntegral(base, NODES_OF_SETTINGS if mixed else None)
    if space is not None and mixed:
        counts = tuple(counts[axis] for axis in space.groups)
    return CellAverage(base, counts)


class RegionSearch(GaussianProcessOptimizer[Q]):
    """A Gaussian-process search for the best region, possibly finer than the queries.

    The domain lists the regions known so far (``front``), and those inside some (``finer``).
    """

    _methods: ClassVar[tuple[RecommendMethod, ...]] = ("posterior", "paper")

    feedback: FeedbackOfRegion | Kernel
    n_representatives: Representatives
    beta: Beta

    _parameter_constraints = REGIONS

    @property
    @abstractmethod
    def _finest_depth(self) -> int:
        """Depth of the finest regions that there are."""

    @abstractmethod
    def _slots_of(self, front: list[Any]) -> np.ndarray:
        """Return the numbers under which regions of the front are tracked, -1 if they are not."""

    @overload
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: None = None,
        side: None = None,
        depth: int | None = None,
        caution: float = 0.0,
    ) -> Q: ...

    @overload
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: None = None,
        side: SideLengths,
        depth: None = None,
        caution: float = 0.0,
    ) -> Region: ...

    @locked
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: Any = None,
        side: SideLengths | None = None,
        depth: int | None = None,
        caution: float = 0.0,
    ) -> Q | Region:
        """Return the best region found so far, or the best cell of a size.

        Parameters
        ----------
        method : {"posterior", "paper"}, default=None
            "posterior", the default: of all regions that the posterior supports, finer ones than
            the search has made too, that of the largest mean - ``caution`` std. "paper" is the
            algorithm's own rule, for the finest regions of the search.
        context : None
            There are no contexts here.
        side : float, array-like of shape (d,) or dict, default=None
            In a box, sides of a cell: the one of this size with the best average, wherever it lies.
            Of separate values it is their number. None for a region of the search.
        depth : int, default=None
            Depth of the finest regions that "posterior" may return.
        caution : float, default=0.0
            Number of standard deviations; 0 ranks by the mean.
        """
        method = checked_method(method, self._methods)
        if depth is not None and (not isinstance(depth, Integral) or depth < 0):
            raise ValueError(f"depth must be None or an integer >= 0, got {depth!r}")
        if not isinstance(caution, Real) or not 0 <= caution < np.inf:
            raise ValueError(f"caution must be a finite number >= 0, got {caution!r}")
        self._loop.check_informed()
        self._contexts.checked(context)
        if side is not None:
            if depth is not None:
                raise ValueError(f"depth is for cells of a partition: not with side={side!r}")
            if method == "paper":
                raise ValueError("side is for method='posterior': no paper has cells of any size")
            return self._best_region(side, caution=float(caution))
        if method == "paper":
            return self._best()
        finest_depth = self._finest_depth if depth is None else min(depth, self._finest_depth)
        return self._best_by_posterior(finest_depth, float(caution))

    def _best_by_posterior(self, finest_depth: int, caution: float) -> Q:
        """Return the best region by the posterior, of all that are no finer than that."""
        domain, outcomes = self.domain_.copy(), self._record.outcomes_of_regions(self.bounds_)
        front, possible = self.domain_.front(finest_depth), None
        if outcomes is not None:

            def among(regions: list[Any], known: Chances = outcomes) -> np.ndarray:
                """Return which regions are likely to have an answer."""
                return known.possible(np.array([domain.query(each).box for each in regions]))

            which = np.flatnonzero(among(front))
            if len(which):
                front, possible = [front[i] for i in which.tolist()], among
        front = in_question(front, self._slots_of(front), self._gp.posterior, caution)
        unit = self._model.tie_scale
        return best_by_posterior(self._gp, domain, front, finest_depth, caution, unit, possible)

    # -- how far it is from the best ----------------------------------------------------------

    def _compared(self, best: Any) -> Refined:
        gp, rows = self._gp.copy(), self.domain_.block_of(best)
        known = gp, rows, self._widths, self._model.possible(gp)
        return Refined(self.domain_.copy(), self._finest_depth, *known)


def in_question(
    front: list[Any], slots: np.ndarray, posterior: Posterior, caution: float
) -> list[Any]:
    """Return the part of a front that may be among the best by the tracked values.

    ``slots`` are the numbers under which regions are tracked, -1 if they are not.
    """
    tracked = slots >= 0
    if tracked.sum() <= BEAM:
        return front
    value = np.full(len(front), np.inf)
    known = posterior.tracked_mean() - caution * np.sqrt(posterior.tracked_var())
    value[tracked] = known[slots[tracked]]
    level = np.partition(value[tracked], -BEAM)[-BEAM] - ROUNDING
    return [front[i] for i in np.flatnonzero(value >= level).tolist()]


def best_by_posterior(
    gp: GaussianProcess,
    regions: Any,
    front: list[Any],
    finest_depth: int,
    caution: float,
    unit: float,
    possible: Callable[[list[Any]], np.ndarray] | None = None,
) -> Any:
    """Descend from regions to finer ones inside, from the best of each level.

    Parameters
    ----------
    gp : GaussianProcess
        The posterior.
    regions : Partition or Balls
        The domain, which is refined.
    front : list
        The regions to begin with.
    finest_depth : int
        The deepest level.
    caution : float
        Number of standard deviations that are taken off a mean.
    unit : float
        Size of the values that rounding errors are proportional to, see ``exceeds``.
    possible : callable, default=None
        Returns which of some regions may be recommended; None stands for all.

    Returns
    -------
    query : query
        The best of them.
    """
    best, top = None, -np.inf
    while front:
        mean, std = gp.moments([regions.block(each) for each in front], std=True)
        value = levelled((mean - gp.offset - caution * std) / gp.scale)
        if possible is not None:
            value = np.where(possible(front), value, -np.inf)
        order = np.argsort(-value, kind="stable")
        if best is None or exceeds(value[order[0]], top, unit):
            best, top = front[order[0]], value[order[0]]
        front = regions.finer([front[i] for i in order[:BEAM]], finest_depth)
    return regions.query(best)
