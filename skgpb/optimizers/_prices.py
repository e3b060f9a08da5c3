"""Costs and relative noise of answers: one number for each query or size, or a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.cells import Cells
from skgpb.domains.query import PointsQuery
from skgpb.utils import check_numbers

#: Parameters that may differ between queries: what stands for None, which is also the least that a
#: number is above, or 0 for one that may be 0.
DEFAULTS = {"cost": 1.0, "relative_noise": 1.0, "alpha": 0.0}


def differs(alpha: Any) -> bool:
    """Return whether noise variances differ between queries."""
    if alpha is None or isinstance(alpha, float):  # a round asks nine times
        return False
    return callable(alpha) or np.ndim(alpha) > 0


def check_prices(queries: Any, cost: Any, alpha: Any, relative_noise: Any) -> None:
    """Refuse what does not go together."""
    if relative_noise is not None and differs(alpha):
        raise ValueError(
            f"relative_noise is for one alpha, or none: got an alpha for each, {alpha!r}"
        )
    for name, given in (("cost", cost), ("alpha", alpha), ("relative_noise", relative_noise)):
        if callable(given) and type(queries) is not Cells:
            raise ValueError(
                f"{name} may be a function, of the sides, only where queries are Cells; got "
                f"queries={queries!r}"
            )


@dataclass
class Prices:
    """Costs and noise variances of the queries of a set.

    Parameters
    ----------
    queries : ArmSet
        The set. Where it stands for all of some sizes there is a number for each of these.
    cost, alpha, relative_noise : number, array-like, callable or None
        As the user gave them.
    """

    queries: ArmSet
    cost: Any
    alpha: Any
    relative_noise: Any

    def __post_init__(self) -> None:
        self._costs = self._numbers("cost", self.cost)
        self._shares = self._numbers("relative_noise", self.relative_noise)
        self._alphas = self._numbers("alpha", self.alpha) if differs(self.alpha) else None
        #: Whether queries differ in cost.
        self.differ: bool = bool(np.ptp(self._costs) > 0.0)

    # -- of all queries -------------------------------------------------------------------------

    @property
    def are_usual(self) -> bool:
        """True if every answer costs 1 and has the usual noise."""
        given = (self.cost, self.relative_noise, self._alphas)
        return all(each is None for each in given)

    @property
    def least(self) -> float:
        """Cost of the cheapest answer."""
        return float(self._costs.min())

    @property
    def of_kinds(self) -> np.ndarray:
        """Costs of queries, or of the sizes of cells."""
        return self._costs

    @property
    def typical_noise(self) -> float | None:
        """Return a typical noise variance; None if only one is given."""
        return None if self._alphas is None else float(np.median(self._alphas))

    def of_round(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the costs of all queries and what noise is expected of their answers.

        Parameters
        ----------
        level : float
            The usual noise variance.

        Returns
        -------
        costs : ndarray of shape (n_queries,)
        noises : ndarray of shape (n_queries,)
            Noise variances.
        """
        costs = self._spread("cost", self._costs)
        if self._alphas is None:
            return costs, level * self._spread("relative_noise", self._shares)
        return costs, self._spread("alpha", self._alphas)

    def _spread(self, name: str, numbers: np.ndarray) -> np.ndarray:
        """One number for each query."""
        if callable(getattr(self, name)):
            numbers = self._by_sides(name, getattr(self, name), self.queries.sizes)
        return self.queries.of_each(numbers)

    # -- of one query ---------------------------------------------------------------------------

    def cost_of(self, query: Arm | PointsQuery) -> float:
        """Return the cost of an answer to a query; 0 if it is none of the queries."""
        found = self._of(query, "cost", self._costs)
        return 0.0 if found is None else found

    def share_of(self, query: Arm | PointsQuery) -> float:
        """Return the relative noise of a query; 1 if it has none."""
        if self.relative_noise is None:
            return 1.0
        found = self._of(query, "relative_noise", self._shares)
        return 1.0 if found is None else found

    def noise_of(self, query: Arm | PointsQuery, level: float) -> float:
        """Noise variance that is expected of an answer; ``level`` is the usual one."""
        if self._alphas is None:
            return level * self.share_of(query)
        found = self._of(query, "alpha", self._alphas)
        return level if found is None else found

    def _of(self, query: Arm | PointsQuery, name: str, numbers: np.ndarray) -> float | None:
        """Return the index of a query, given the numbers of the kinds; None if there is none."""
        function = getattr(self, name)
        if callable(function):
            sides = self.queries.sides_of(query)
            if sides is None:
                return None
            return float(self._by_sides(name, function, sides[np.newaxis])[0])
        kind = self.queries.kind_of(query)
        return float(numbers[kind]) if kind >= 0 else None

    # -- what was given -------------------------------------------------------------------------

    def _numbers(self, name: str, given: Any) -> np.ndarray:
        """Check a parameter with a number for every query, or for every size of cells."""
        queries, default = self.queries, DEFAULTS[name]
        n = queries.n_kinds
        if given is None:
            return np.full(n, default)
        if callable(given):
            return self._by_sides(name, given, queries.sizes)
        numbers = check_numbers(given, name, ensure_2d=False)
        if numbers.shape != (n,) or not (numbers >= 0.0).all() or (default and not numbers.all()):
            least = "above 0" if default else ">= 0"
            raise ValueError(
                f"{name} must have one finite number {least} for each {queries.kind}, {n} of them; "
                f"got {given!r}"
            )
        return numbers.astype(np.float64)

    def _by_sides(self, name: str, function: Callable, sides: np.ndarray) -> np.ndarray:
        """Return the values of a function of sides (n, d), or raise ValueError."""
        found, default = function(sides.copy()), DEFAULTS[name]
        numbers, least = np.asarray(found), "above 0" if default else ">= 0"
        if numbers.shape != (len(sides),) or numbers.dtype.kind not in "fiu":
            raise ValueError(
                f"{name} must return a number {least} for each row of an array of sides "
                f"{sides.shape}; got {type(found).__name__} of shape {numbers.shape}"
            )
        right = np.isfinite(numbers) & (numbers > 0.0 if default else numbers >= 0.0)
        if not right.all():
            i = int(np.argmin(right))
            raise ValueError(
                f"{name} must return finite numbers {least}; got {float(numbers[i])!r} for the "
                f"sides {sides[i].tolist()}"
            )
        return numbers.astype(np.float64)
