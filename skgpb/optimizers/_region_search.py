"""What searches by cells or by balls share: answers, confidence and the region recommended."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from math import log, sqrt
from typing import Any, ClassVar, overload

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._tree import TIE_TOLERANCE
from skgpb.domains.partition import points_per_axis
from skgpb.domains.query import Region
from skgpb.kernels import CellAverage, CellIntegral
from skgpb.locks import locked
from skgpb.optimizers._base import FreeChoice, Q
from skgpb.optimizers._gap import GapOfRegions
from skgpb.optimizers._norm_bound import NormBoundedOptimizer
from skgpb.optimizers._placement import Sides
from skgpb.surrogate.settings import default_kernel as kernel_on_columns
from skgpb.utils import Integral, Interval, Real, StrOptions

# Regions that recommend() looks into at each level.
BEAM = 16
# By so much may what is tracked differ from what is computed afresh, in units of the process.
ROUNDING = 1e-5
# Nodes along each continuous side of a cell of settings, where its mean has no closed form.
NODES_OF_SETTINGS = 8


class RegionSearchOptimizer(NormBoundedOptimizer[Q]):
    """A Gaussian process search whose oracle answers for regions of a box."""

    feedback: str | Kernel
    n_representatives: Any
    beta: str | float | Callable[[int], float]

    _parameter_constraints: dict[str, Any] = {
        "feedback": [StrOptions({"center", "average", "integral"}), Kernel],
        "n_representatives": [Interval(Integral, 1, None, closed="left"), "array-like", None],
    }

    def _points_per_axis(self, d: int) -> tuple[int, ...]:
        """Resolve ``n_representatives`` for boxes."""
        if self.feedback == "center":
            return (1,) * d
        return points_per_axis(self.n_representatives, d, self.space_)

    def _query_kernel(self, d: int) -> Kernel:
        """Covariance between the answers that the oracle returns."""
        if isinstance(self.feedback, Kernel):
            return clone(self.feedback)
        # Averages over regions have a closed form for RBF kernels.
        base = self._prior_kernel(d, smooth=self.feedback != "center")
        mixed = self.space_ is not None and self.space_.discrete
        if self.feedback == "integral":
            # Adaptive quadrature is over all columns of settings, a rule over the wide ones alone.
            return CellIntegral(base, NODES_OF_SETTINGS if mixed else None)
        counts = self._points_per_axis(d)
        if self.space_ is not None and mixed:
            counts = tuple(counts[axis] for axis in self.space_.groups)
        return CellAverage(base, counts)

    def _prior_kernel(self, d: int, smooth: bool = False) -> Kernel:
        if self.space_ is None or not self.space_.discrete:
            return super()._prior_kernel(d, smooth)
        # Over columns of settings, of which descriptors are made (skgpb.domains.mixed).
        return kernel_on_columns(self.space_, smooth) if self.kernel is None else clone(self.kernel)

    @abstractmethod
    def _theory_beta(self, t: int) -> float:
        """Factor of the variance in round t, by the paper."""

    @property
    @abstractmethod
    def _log_regions(self) -> float:
        """Logarithm of M, the number of regions over which the papers take a union."""

    @property
    def _deviations_within(self) -> float:
        """Prior deviations by which f may differ from the answer to a region, in all of them."""
        if isinstance(self.beta, str) and self.beta == "rkhs":
            return float(self.B)
        return sqrt(2.0 * (self._log_regions - log(self.failure_probability)))


class SupportedRegionOptimizer(GapOfRegions, RegionSearchOptimizer[Q], FreeChoice[Q]):
    """A region search whose recommendation may be finer than what was asked.

    The domain lists the regions known so far (``front``), and those inside some (``finer``).
    """

    _rules: ClassVar[tuple[str, ...]] = ("posterior", "paper")

    @property
    @abstractmethod
    def _finest(self) -> int:
        """Depth of the finest regions that there are."""

    @abstractmethod
    def _slots_of(self, front: list[Any]) -> np.ndarray:
        """Numbers under which regions of the front are tracked, -1 for what is not."""

    @overload
    def recommend(
        self,
        rule: str | None = None,
        *,
        side: None = None,
        depth: int | None = None,
        caution: float = 0.0,
    ) -> Q: ...

    @overload
    def recommend(
        self, rule: str | None = None, *, side: Sides, depth: None = None, caution: float = 0.0
    ) -> Region: ...

    @locked
    def recommend(
        self,
        rule: str | None = None,
        *,
        side: Sides | None = None,
        depth: int | None = None,
        caution: float = 0.0,
    ) -> Q | Region:
        """Return the best region found so far.

        Parameters
        ----------
        rule : {"posterior", "paper"}, default=None
            "posterior", which None stands for, is the best rule known: any region, however fine,
            that the posterior supports, one that the search has made or a finer one inside, with
            the largest posterior mean minus ``caution`` standard deviations. "paper" is the
            algorithm's own rule, which looks at the finest regions of the search alone.
        side : float, array-like of shape (d,) or dict, default=None
            Sides of the cell wanted, one for all or one for each: the cell of this size with the
            best average anywhere in the box, not tied to the grid of a partition. Of separate
            values it is their number, one where a dict or a single number does not say. None for
            one of the regions above.
        depth : int, default=None
            Depth of the finest regions that "posterior" may return, also where the search is
            finer; None for no other limit than that of the search.
        caution : float, default=0.0
            Number of standard deviations; 0 ranks by the mean.

        Returns
        -------
        query : query
            A region: the query that asks for it. With ``side`` a
            :class:`~skgpb.domains.Region`, of which ``points`` are the representatives.
        """
        rule = self._checked_rule(rule)
        if depth is not None and (not isinstance(depth, Integral) or depth < 0):
            raise ValueError(f"depth must be None or an integer >= 0, got {depth!r}")
        if not isinstance(caution, Real) or not 0 <= caution < np.inf:
            raise ValueError(f"caution must be a finite number >= 0, got {caution!r}")
        self._check_informed()
        if side is not None:
            if depth is not None:
                raise ValueError(f"depth is for cells of a partition: not with side={side!r}")
            return self._best_placed(side, rule, float(caution))
        if rule == "paper":
            return self._best()
        finest = self._finest if depth is None else min(depth, self._finest)
        return self._best_supported(finest, float(caution))

    def _best_supported(self, finest: int, caution: float) -> Q:
        """Descend from the regions to finer ones inside, from the BEAM best of each level."""
        regions, gp = self.domain_.copy(), self._gp
        best, top = None, -np.inf
        front = self._in_question(regions.front(finest), caution)
        while front:
            mean, std = gp.moments([regions.block(each) for each in front], std=True)
            value = mean - caution * std
            order = np.argsort(-value, kind="stable")
            if best is None or value[order[0]] > top + TIE_TOLERANCE * gp.scale:
                best, top = front[order[0]], value[order[0]]
            front = regions.finer([front[i] for i in order[:BEAM]], finest)
        return regions.query(best)

    def _in_question(self, front: list[Any], caution: float) -> list[Any]:
        """Those of the front that may be among the BEAM best, by what is tracked of them."""
        slots, posterior = self._slots_of(front), self._gp.posterior
        tracked = slots >= 0
        if tracked.sum() <= BEAM:
            return front
        value = np.full(len(front), np.inf)
        known = posterior.tracked_mean() - caution * np.sqrt(posterior.tracked_var())
        value[tracked] = known[slots[tracked]]
        level = np.partition(value[tracked], -BEAM)[-BEAM] - ROUNDING
        return [front[i] for i in np.flatnonzero(value >= level).tolist()]
