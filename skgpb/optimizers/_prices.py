"""Prices and noise variances of queries: one for each row or size, or a function of the sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb.domains.arms import Arm
from skgpb.domains.cells import Cells, FreeCells
from skgpb.domains.contexts import ContextArms, without_contexts
from skgpb.domains.moving_cells import MovingCell
from skgpb.domains.query import PointsQuery
from skgpb.domains.size_range import SizeRange
from skgpb.kernels.evaluator import Functionals
from skgpb.kernels.slopes import differences, stencil
from skgpb.utils import check_numbers

#: Parameters that may differ between queries: what stands for None, which is also the least that a
#: number is above, or 0 for one that may be 0.
DEFAULTS = {"cost": 1.0, "relative_noise": 1.0, "alpha": 0.0}


class PricedKinds:
    """What an answer costs and how noisy it is.

    ``cost``, ``relative_noise`` and ``alpha`` have a number for every query, or for every size of
    cells; or they are functions of the sides of cells.
    """

    # What it needs of the class that it is mixed into.
    queries: Any
    cost: Any
    alpha: Any
    relative_noise: Any
    domain_: Any

    @property
    def _alpha_differs(self) -> bool:
        """Whether noise variances are given that are not the same for all queries."""
        return callable(self.alpha) or np.ndim(self.alpha) > 0

    def _check_prices(self) -> None:
        """Refuse what goes with other queries."""
        if self.relative_noise is not None and self._alpha_differs:
            raise ValueError(
                f"relative_noise is for one alpha, or none: got an alpha for each, {self.alpha!r}"
            )
        ranged = isinstance(self.queries, Cells) and isinstance(self.queries.sizes, SizeRange)
        for name in DEFAULTS:
            given = getattr(self, name)
            if callable(given) and type(self.queries) is not Cells:
                raise ValueError(
                    f"{name} may be a function, of the sides, only where queries are Cells; got "
                    f"queries={self.queries!r}"
                )
            if ranged and not callable(given) and np.ndim(given) > 0:
                raise ValueError(
                    f"{name} must be a function of the sides (n, d) where queries have a range of "
                    f"sizes, as 1 / sides.prod(axis=1); got {given!r}"
                )

    def _find_typical_noise(self: Any) -> None:
        """Note a typical one of the noise variances that are given."""
        given = self.alpha
        if callable(given):
            given = self._by_sides("alpha", self.queries.sides(self._box, self._actions, "queries"))
        covariances = self._covariances_given("alpha", given)
        if covariances is not None:
            given = np.diagonal(covariances, axis1=1, axis2=2)
        self._typical_noise = float(np.median(given)) if self._alpha_differs else None

    def _find_prices(self: Any) -> None:
        """Check prices and noise variances, and look them up where they do not change."""
        self._prices = self._numbers_per_kind("cost", self.cost)
        self._shares = self._numbers_per_kind("relative_noise", self.relative_noise)
        if self._alpha_differs:
            self._alphas = self._numbers_per_kind("alpha", self.alpha)

    def _numbers_per_kind(self: Any, name: str, given: Any) -> np.ndarray:
        """Check a parameter with a number for every query, or for every size of cells."""
        default = DEFAULTS[name]
        if self._has_blocks and name != "cost":
            return self._numbers_per_row(name, given, default)
        domain: Any = without_contexts(self.domain_)
        n, each = len(domain), "query"
        if isinstance(domain, FreeCells):
            n, each = len(domain.sizes), domain.kind
        if given is None:
            return np.full(n, default)
        if callable(given):
            return self._by_sides(name, domain.sizes)
        numbers = check_numbers(given, name, ensure_2d=False)
        if numbers.shape != (n,) or not (numbers >= 0.0).all() or (default and not numbers.all()):
            least = "above 0" if default else ">= 0"
            raise ValueError(
                f"{name} must have one finite number {least} for each {each}, {n} of them; got "
                f"{given!r}"
            )
        return numbers.astype(np.float64)

    def _by_sides(self, name: str, sides: np.ndarray) -> np.ndarray:
        """Return what a function says of sides (n, d), or raise ValueError."""
        found, default = getattr(self, name)(sides.copy()), DEFAULTS[name]
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

    # -- of all queries -------------------------------------------------------------------------

    def _noises(self: Any) -> np.ndarray:
        """Noise variances that are expected of answers of all rows."""
        if self._alpha_differs:
            return self._of_rows("alpha", self._alphas)
        return self._default_noise() * self._of_rows("relative_noise", self._shares)

    def _costs(self) -> np.ndarray:
        return self._of_rows("cost", self._prices)

    def _of_rows(self: Any, name: str, numbers: np.ndarray) -> np.ndarray:
        """Numbers of all queries, given those of their kinds."""
        domain = without_contexts(self.domain_)
        if not isinstance(domain, FreeCells):
            return numbers
        if callable(getattr(self, name)):
            return self._by_sides(name, domain.sides_of_rows())
        return numbers[domain.size_of]

    def _prices_at(
        self: Any, posterior: Any, moving: MovingCell, slot: int, Z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Noise variances (n,) in units of the surrogate, and prices, of a cell that has moved.

        ``posterior`` has those of its row.
        """
        if not moving.resized:
            each = posterior.query_noise[slot], posterior.cost[slot]
            return np.full(len(Z), each[0]), np.full(len(Z), each[1])
        sides, ones, gp = moving.sides(Z), np.ones(len(Z)), self._gp
        cost = self._by_sides("cost", sides) if callable(self.cost) else ones
        if callable(self.alpha):
            noise = self._by_sides("alpha", sides)
        else:
            relative = callable(self.relative_noise)
            share = self._by_sides("relative_noise", sides) if relative else ones
            noise = self._default_noise() * share
        noise = noise / gp.scale**2
        if gp.white:
            noise += gp.white_noise(Functionals.of_rows(moving.rows(Z)))
        return noise, cost

    def _prices_along(
        self: Any, posterior: Any, moving: MovingCell, slot: int, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same at coordinates (n,), and the derivatives by these: two arrays (1 + n,)."""
        functions = map(callable, (self.cost, self.alpha, self.relative_noise))
        if not (moving.resized and any(functions)):
            here = self._prices_at(posterior, moving, slot, z[np.newaxis])
            noise, cost = (np.concatenate([each, np.zeros(len(z))]) for each in here)
            return noise, cost
        around = np.concatenate([z[np.newaxis], stencil(z)])
        found = self._prices_at(posterior, moving, slot, around)
        noise, cost = (np.concatenate([each[:1], differences(each[1:])]) for each in found)
        return noise, cost

    @property
    def _least_price(self) -> float:
        return float(self._prices.min())

    # -- of one query ---------------------------------------------------------------------------

    def _price_of(self, query: Arm | PointsQuery) -> float:
        found = self._of_query("cost", query, self._prices)
        return 0.0 if found is None else found

    def _noise_share(self, query: Arm | PointsQuery) -> float:
        if self.relative_noise is None:
            return 1.0
        found = self._of_query("relative_noise", query, self._shares)
        return 1.0 if found is None else found

    def _noises_of(self: Any, queries: list) -> list[float]:
        if not self._alpha_differs:
            return [self._default_noise() * self._noise_share(query) for query in queries]
        found = [self._of_query("alpha", query, self._alphas) for query in queries]
        return [self._default_noise() if each is None else each for each in found]

    def _of_query(self, name: str, query: Arm | PointsQuery, numbers: np.ndarray) -> float | None:
        """Number of a query, given those of the kinds; None for what is none of the queries."""
        domain = self.domain_
        if isinstance(domain, ContextArms):
            query, domain = domain.action_of(query), domain.actions
        if not isinstance(domain, FreeCells):
            kind = domain.slot_of(query)
        elif callable(getattr(self, name)):
            sides = domain.sides_of(query)
            return None if sides is None else float(self._by_sides(name, sides[np.newaxis])[0])
        else:
            kind = domain.number_of_size(query)
        return float(numbers[kind]) if kind >= 0 else None
