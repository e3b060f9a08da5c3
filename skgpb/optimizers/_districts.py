"""Queries and targets that are weighted averages over sets of points: rows, prior, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb.domains.arms import ArmSet
from skgpb.domains.cells import Cells
from skgpb.domains.contexts import without_contexts
from skgpb.domains.districts import Districts, DistrictSet
from skgpb.kernels import WeightedSum
from skgpb.kernels._indirect import IndirectKernel
from skgpb.optimizers._first_design import takes_boxes
from skgpb.utils import box_around, check_inside, check_numbers


class OverDistricts:
    """What an optimizer over queries and targets does where some are districts."""

    # What it needs of the class that it is mixed into.
    kernel: Kernel | None
    bounds_: np.ndarray

    @property
    def _has_districts(self: Any) -> bool:
        """Whether districts are asked, or to be found."""
        return any(isinstance(each, Districts) for each in self._given.values())

    def _as_districts(self: Any) -> list[Districts]:
        """Queries and targets as districts, of which a point is the smallest."""
        out = []
        for name, each in self._given.items():
            if each is None or isinstance(each, Cells):
                raise ValueError(
                    f"{name} must be Districts or points beside other Districts; got {each!r}"
                )
            if not isinstance(each, Districts):
                rows = check_numbers(each, name)
                each = Districts(rows, np.arange(len(rows)))
            out.append(each)
        if len({each.points.shape[1] for each in out}) > 1:
            raise ValueError(
                "queries and targets must have as many columns; got points of "
                f"{' and '.join(str(each.points.shape[1]) for each in out)}"
            )
        return out

    def _box_of_districts(self: Any, bounds: np.ndarray | None) -> np.ndarray:
        """Check what goes with districts; the box around them, or the one that is given."""
        if isinstance(self.bounds, Mapping):
            raise ValueError(f"bounds must be without names beside Districts; got {self.bounds!r}")
        if takes_boxes(self.kernel) or isinstance(self.kernel, IndirectKernel):
            raise ValueError(
                f"kernel must be over the points of Districts, not over averages; got "
                f"{self.kernel!r}"
            )
        points = np.concatenate([each.points for each in self._as_districts()])
        if bounds is None:
            return box_around(points)
        if points.shape[1] == len(bounds):
            check_inside(points, bounds)
        return bounds

    def _over_districts(self: Any) -> tuple[Kernel, list[ArmSet]]:
        """Return the kernel over rows [center, number], and the two sets."""
        d, n = len(self._box), self.n_context_
        queries, targets = self._as_districts()
        if queries.points.shape[1] != d:
            raise ValueError(
                f"queries and targets must have {d} columns, as bounds has sides; got "
                f"{queries.points.shape[1]}"
            )
        # The same districts are not numbered twice: the kernel compares all with all.
        same = queries == targets
        points, groups, shares = [], [], []
        for first, each in ((0, queries),) if same else ((0, queries), (len(queries), targets)):
            for number, (own, share) in enumerate(each.members, first):
                points.append(each.points[own])
                groups.append(np.full(len(own), number))
                shares.append(share)
        base, sets = self._prior_kernel(n + d), tuple(map(np.concatenate, (points, groups, shares)))
        kernel = WeightedSum(base, sets[0], sets[1], sets[2], n)
        firsts = 0, 0 if same else len(queries)
        return kernel, [
            DistrictSet(each, self._box, first)
            for each, first in zip((queries, targets), firsts, strict=True)
        ]

    @property
    def _asks_districts(self: Any) -> bool:
        return isinstance(without_contexts(self.domain_), DistrictSet)

    def _named_arm(self: Any, name: str) -> Any:
        """Return the district that is called so."""
        if self.n_context_:
            raise ValueError(
                f"in which context {name!r} is must be said where there are context_bounds: pass a "
                "query of ask(context=...), or domain_.within(context).named_arm(name)"
            )
        return self.domain_.named_arm(name)

    def _as_query(self: Any, points: Any) -> Any:
        if isinstance(points, str) and self._asks_districts:
            return self._named_arm(points)
        return super()._as_query(points)  # type: ignore[misc]

    def _checked_all(self: Any, query: Any, reward: Any, alpha: Any) -> list[tuple[Any, ...]]:
        if self._asks_districts and not isinstance(query, str):
            names = np.asarray(query) if isinstance(query, list | tuple | np.ndarray) else None
            if names is not None and names.dtype.kind == "U":
                query = [self._named_arm(name) for name in names.ravel().tolist()]
        return super()._checked_all(query, reward, alpha)  # type: ignore[misc]

    def _places_seen(self: Any) -> np.ndarray:
        if self._asks_districts:
            return self.domain_.places_of(self._gp.observed.rows)
        return super()._places_seen()  # type: ignore[misc]
