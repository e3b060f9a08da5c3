"""Constants of adaptive trees, which depend on the number of evaluations, and a guard of memory.

References
----------
.. [Shekhar2018] S. Shekhar and T. Javidi, "Gaussian process bandits with adaptive
   discretization", Electronic Journal of Statistics 12, 2018. Equation, claim and remark numbers
   below are this paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgpb._core._tree import Tree
from skgpb._typing import Beta
from skgpb._warnings import warn
from skgpb.domains.partition import deepest_level
from skgpb.exceptions import RefinementWarning
from skgpb.locks import locked
from skgpb.optimizers._base import Q
from skgpb.optimizers._cells import Partitioned
from skgpb.optimizers._gaussian import GaussianProcessOptimizer
from skgpb.optimizers._horizon import HORIZON, Horizon
from skgpb.optimizers._variation import claim_2, h_max, smoothness_exponent
from skgpb.utils import MOST_LEAVES, Integral, Interval, StrOptions

# Rounding: a depth that is an integer up to rounding is that integer.
ROUNDING = 1e-9

#: Constraints of the parameters that only adaptive trees have.
ADAPTIVE: dict[str, Any] = HORIZON | {
    "variation": [StrOptions({"kernel", "theory"}), tuple, list, callable],
    "max_active": [Interval(Integral, 1, MOST_LEAVES, closed="both")],
}


class Constants:
    """The constants of section 3.3.2, for a search of n evaluations.

    Attributes
    ----------
    n : int
        Number of evaluations.
    h_max : float
        As given, or equation 3.4 (decision D-B4); a real number.
    max_depth : int
        The same, rounded down.
    log_cells : float
        Logarithm of the number of cells: those that n evaluations create, not all K^h.
    """

    def __init__(
        self, n: int, n_children: int, d: int, exponent: float, given: int | None = None
    ) -> None:
        self.n: int = n
        self._of = (n_children, d, exponent, given)
        K, limit = n_children, deepest_level(n_children)
        self.h_max: float = float(min(limit, h_max(n, exponent, K, d)) if given is None else given)
        self.max_depth: int = floor(self.h_max + ROUNDING)
        created = n * K * max(1.0, self.h_max)
        self.log_cells: float = min((self.max_depth + 1) * log(K), log(created))
        self._events = log(2.0 * max(1.0, self.h_max) * n), log(created)

    @classmethod
    def of_prior(
        cls, n: int, n_children: int, bounds: np.ndarray, prior: Callable, given: int | None
    ) -> Constants:
        """Return those of a prior covariance of f between the points of a box."""
        exponent = smoothness_exponent(prior, bounds)
        return cls(n, int(n_children), len(bounds), exponent, given)

    def renewed(self, n: int) -> Constants:
        """Return these constants for another number of evaluations."""
        return Constants(n, *self._of)

    def beta(self, failure_probability: float) -> float:
        """Square of Claim 1's beta_n, with Remark 8's count of n K h_max leaves (D-B3)."""
        return 2.0 * (log(1.0 / failure_probability) + self._events[0] + self._events[1])

    def variation(self, g: np.ndarray, failure_probability: float) -> np.ndarray:
        """V_h of Claim 2, from the deviations g_h within cells of depth h."""
        n_children, d, _, _ = self._of
        return claim_2(g, n_children, d, failure_probability)


class RefinementGuard:
    """Says whether another cell may be split before the next evaluation (decision D-B6).

    Up to ``max_active`` leaves any number may; beyond, one, so that the tree keeps growing where
    the index is large, at a cost that is bounded by the number of evaluations.
    """

    _kept_fields = ("warned",)

    #: Whether the user was told.
    warned: bool = False

    def admits(self, tree: Tree, leaves_before: int, max_active: int, n_told: int) -> bool:
        """Return whether one more leaf may be split, given the leaves before this round."""
        if tree.n_leaves + tree.n_children - 1 <= max_active or tree.n_leaves == leaves_before:
            return True
        if not self.warned:
            self.warned = True
            warn(
                f"the tree reached max_active={max_active} after {n_told} evaluations: "
                "from now on at most one cell is refined before each evaluation. Refinement runs "
                "ahead of evaluation where V_h (variation) is wide next to sqrt(beta) times the "
                "standard deviation. Pass a smaller variation, a kernel with longer length scales, "
                "a larger beta or a smaller max_depth; or raise max_active",
                RefinementWarning,
            )
        return False


class AdaptiveTree(Partitioned[Q], GaussianProcessOptimizer[Q]):
    """A tree whose constants hold for a horizon, see :class:`Constants`."""

    beta: Beta
    horizon: int
    anytime: bool
    max_active: int

    _horizon: Horizon
    _constants: Constants
    _guard: RefinementGuard

    _kept_fields: ClassVar[tuple[str, ...]] = ("_horizon", "_guard", "_refined")

    def _begin_horizon(self) -> None:
        self._horizon, self._guard = Horizon(int(self.horizon)), RefinementGuard()
        # Whether cells were split since the last answer.
        self._refined = False

    def _follow_horizon(self, t: int) -> None:
        """Let the constants hold for evaluation t."""
        if t > self._horizon.n:
            self._horizon = self._horizon.at(t, self.anytime, type(self).__name__)
            self._renew_constants()

    def _renew_constants(self) -> None:
        """Let the constants be those of the horizon."""
        if self._horizon.n != self._constants.n:
            self._constants = self._constants.renewed(self._horizon.n)
            self.domain_.max_depth = self._constants.max_depth
            self._renew()

    def _resume(self) -> None:
        self._renew_constants()

    def _may_split(self, leaves: int) -> bool:
        return self._guard.admits(self._tree, leaves, self.max_active, self._record.n_told)

    def _beta(self, t: int) -> float:
        if self.beta != "theory":
            return self._norm.given_beta(t, self._model)
        return self._constants.beta(self._norm.guarantee.failure_probability)

    @property
    @locked
    def horizon_(self) -> int:
        """Number of evaluations that the constants are meant for at present."""
        check_is_fitted(self, "bounds_")
        return self._horizon.n
