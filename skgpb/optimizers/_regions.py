"""What searches by cells and by balls share: answers, confidence, the region recommended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._tree import TIE_TOLERANCE
from skgpb.domains.box import points_per_axis
from skgpb.kernels import CellAverage, CellIntegral
from skgpb.locks import locked
from skgpb.optimizers._base import Q
from skgpb.optimizers._gaussian import GaussianProcessOptimizer
from skgpb.utils import Integral, Interval, Real, StrOptions, check_callable_value

# Regions that recommend() looks into at each level.
BEAM = 16


class RegionSearchOptimizer(GaussianProcessOptimizer[Q]):
    """A Gaussian process search whose oracle answers for regions of a box."""

    feedback: str | Kernel
    n_representatives: Any
    beta: str | float | Callable[[int], float]

    _parameter_constraints: dict[str, Any] = {
        "feedback": [StrOptions({"center", "average", "integral"}), Kernel],
        "n_representatives": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "beta": [StrOptions({"theory"}), Interval(Real, 0, None, closed="left"), callable],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
    }

    def _points_per_axis(self, d: int) -> tuple[int, ...]:
        """Resolve ``n_representatives`` for boxes."""
        return (1,) * d if self.feedback == "center" else points_per_axis(self.n_representatives, d)

    def _query_kernel(self, d: int) -> Kernel:
        """Covariance between the answers that the oracle returns."""
        if isinstance(self.feedback, Kernel):
            return clone(self.feedback)
        # Averages over regions have a closed form for RBF kernels.
        base = self._prior_kernel(d, smooth=self.feedback != "center")
        if self.feedback == "integral":
            return CellIntegral(base)
        return CellAverage(base, self._points_per_axis(d))

    def _beta(self, t: int) -> float:
        """Factor of the variance in round t: the theory's, or what the user chose."""
        if callable(self.beta):
            return check_callable_value(self.beta, t, "beta")
        if self.beta == "theory":
            return max(0.0, self._theory_beta(t))
        return float(self.beta)

    def _theory_beta(self, t: int) -> float:
        """Factor of the variance in round t, by the paper."""
        raise NotImplementedError


class SupportedRegionOptimizer(RegionSearchOptimizer[Q]):
    """A region search whose recommendation may be finer than what was asked.

    The domain lists the regions known so far (``front``), and those inside some (``finer``).
    """

    _rules: ClassVar[tuple[str, ...]] = ("posterior", "paper")

    @property
    def _finest(self) -> int:
        """Depth of the finest regions that there are."""
        raise NotImplementedError

    @locked
    def recommend(
        self, rule: str | None = None, *, depth: int | None = None, caution: float = 0.0
    ) -> Q:
        """Return the best region found so far.

        Parameters
        ----------
        rule : {"posterior", "paper"}, default=None
            "posterior", which None stands for, is the best rule known: any region, however fine,
            that the posterior supports, one that the search has made or a finer one inside, with
            the largest posterior mean minus ``caution`` standard deviations. "paper" is the
            algorithm's own rule, which looks at the finest regions of the search alone.
        depth : int, default=None
            Depth of the finest regions that "posterior" may return, also where the search is
            finer; None for no other limit than that of the search.
        caution : float, default=0.0
            Number of standard deviations; 0 ranks by the mean.

        Returns
        -------
        query : query
            A region: the query that asks for it.
        """
        rule = self._checked_rule(rule)
        if depth is not None and (not isinstance(depth, Integral) or depth < 0):
            raise ValueError(f"depth must be None or an integer >= 0, got {depth!r}")
        if not isinstance(caution, Real) or not 0 <= caution < np.inf:
            raise ValueError(f"caution must be a finite number >= 0, got {caution!r}")
        self._check_informed()
        if rule == "paper":
            return self._best()
        finest = self._finest if depth is None else min(depth, self._finest)
        return self._best_supported(finest, float(caution))

    def _best_supported(self, finest: int, caution: float) -> Q:
        """Descend from the regions to finer ones inside, from the BEAM best of each level."""
        regions, gp = self.domain_.copy(), self._gp
        best, top = None, -np.inf
        front = regions.front(finest)
        while front:
            mean, std = gp.moments([regions.block(each) for each in front], std=True)
            value = mean - caution * std
            order = np.argsort(-value, kind="stable")
            if best is None or value[order[0]] > top + TIE_TOLERANCE * gp.scale:
                best, top = front[order[0]], value[order[0]]
            front = regions.finer([front[i] for i in order[:BEAM]], finest)
        return regions.query(best)
