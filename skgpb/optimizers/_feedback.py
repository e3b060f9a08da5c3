"""Rows of queries and targets: the two sets, and the kernel over both.

The user passes a set as rows, or as ``Cells``, ``Districts`` or ``Fidelities``, which this module
converts to rows. The kernel over rows is the user's, or is derived from a kernel over points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel

from skgpb import defaults
from skgpb.domains.arms import ArmSet, Layout
from skgpb.domains.box_candidates import BoxCandidates
from skgpb.domains.cells import Cells, are_among, frequent_sizes, points_in_runs
from skgpb.domains.districts import Districts
from skgpb.domains.fidelities import Fidelities
from skgpb.domains.free_cells import FreeCells
from skgpb.domains.partition import points_per_axis
from skgpb.domains.space import ParameterSpace
from skgpb.kernels import CellAverage, Tasks, WeightedSum
from skgpb.kernels._boxes import axis_counts, boxes_from_points, check_boxes
from skgpb.kernels._cell import CellKernel
from skgpb.kernels._indirect import IndirectKernel
from skgpb.surrogate.likelihood import Prior, default_kernel, default_prior
from skgpb.surrogate.settings import kernel_of_cells, kernel_on_settings
from skgpb.surrogate.tasks import (
    multi_fidelity_kernel,
    slow_kernel,
    takes_tasks,
    tasks_kernel,
    tasks_prior,
)
from skgpb.surrogate.trend_and_rough import prior_of_trend_and_rough, trend_and_rough
from skgpb.utils.validation import Real, box_around, check_inside, check_numbers


def takes_boxes(kernel: Any, behind: bool = False) -> bool:
    """Return whether a kernel, or a part of it, is over rows of boxes [lower, upper].

    With ``behind`` the rows may have a further column after the box, such as the task.
    """
    if not isinstance(kernel, Kernel) or (isinstance(kernel, Tasks) and not behind):
        return False
    parts = kernel.get_params(deep=False).values()
    return isinstance(kernel, CellKernel) or any(takes_boxes(part, behind) for part in parts)


def representatives_of(kernel: Kernel, d: int) -> tuple[int, ...]:
    """Return the numbers (d,) of representatives of a box: the kernel's, or the default of GPOO."""
    for part in [kernel, *kernel.get_params(deep=True).values()]:
        if isinstance(part, CellAverage):
            return axis_counts(part.n_representatives, d, "n_representatives")
    return points_per_axis(None, d)


@dataclass
class Feedback:
    """The kernel over rows of queries and targets, and the two sets.

    Parameters
    ----------
    kernel : Kernel or None
        Parameter of the user; None stands for a default kernel that is learned.
    arms, queries, targets : Any
        Parameters of the user. Arms are both queries and targets.
    targets_are_queries : bool
        Whether the queries are the targets.
    bounds : ndarray of shape (n_context + d, 2)
        Box of contexts and of actions.
    n_context : int
        Number of sides of contexts.
    space, actions : ParameterSpace or None
        Names and types of the sides of that box, and of the sides of the actions alone.
    n_candidates : int
        Number of candidates of a box.
    earlier_arms : Any
        Parameter of the user: arms that are not asked now.
    """

    kernel: Kernel | None
    arms: Any
    queries: Any
    targets: Any
    targets_are_queries: bool
    bounds: np.ndarray
    n_context: int
    space: ParameterSpace | None
    actions: ParameterSpace | None
    n_candidates: int
    earlier_arms: Any = None

    def __post_init__(self) -> None:
        self.box = self.bounds[self.n_context :]
        self.given = given_sets(self.queries, self.targets, self.actions)
        if isinstance(self.kernel, CompoundKernel):
            raise TypeError(f"kernel must return one covariance, got {self.kernel!r}")
        if isinstance(self.targets, Fidelities):
            raise ValueError(
                "targets must be Cells, Districts or rows; Fidelities are possible as queries "
                f"only; got {self.targets!r}"
            )
        if self._has_mixed_sides and takes_boxes(self.kernel):
            raise ValueError(
                "kernel must be over points if bounds has integers, categories or angles; got "
                f"{self.kernel!r}, which is over boxes"
            )

    # -- kinds of queries and targets -------------------------------------------------------

    @property
    def d(self) -> int:
        """Number of sides of the actions."""
        return len(self.box)

    @property
    def n_tasks(self) -> int:
        """Number of fidelities; 0 if there is only one function."""
        return self.queries.n if isinstance(self.queries, Fidelities) else 0

    @property
    def has_districts(self) -> bool:
        """True if queries or targets are weighted sets of points."""
        return any(isinstance(each, Districts) for each in self.given.values())

    @property
    def _has_mixed_sides(self) -> bool:
        return self.space is not None and self.space.uses_columns

    @cached_property
    def rows_are_boxes(self) -> bool:
        """True if rows of queries and targets are boxes."""
        if self.targets_are_queries:
            return takes_boxes(self.kernel)
        if self.has_districts:
            return False
        sizes = [self._sides(name, each) for name, each in self.given.items() if is_free(each)]
        return (
            takes_boxes(self.kernel, behind=self.n_tasks > 0)
            or any(map(np.any, sizes))
            or self._has_boxes()
        )

    @property
    def uses_default_kernel(self) -> bool:
        """True if the queries are averages over boxes and no kernel is given."""
        return (
            not self.targets_are_queries
            and self.kernel is None
            and self.rows_are_boxes
            and not self._has_mixed_sides
        )

    def _has_boxes(self) -> bool:
        """Return whether queries or targets are given as rows (n, 2 d) of boxes [lower, upper]."""
        boxes = any(
            check_numbers(each, name).shape[1] == 2 * self.d
            for name, each in self.given.items()
            if not (each is None or is_free(each))
        )
        if boxes and self._has_mixed_sides:
            raise ValueError(
                "queries and targets must be settings, or Cells, if bounds has "
                "integers, categories or angles; got rows of boxes"
            )
        return boxes

    # -- the kernel -------------------------------------------------------------------------

    def point_kernel(self) -> Kernel:
        """Return the kernel of f over points: the user's, or the default one on the box."""
        if self.uses_default_kernel:
            return trend_and_rough(self.bounds, self._asked_sides())
        kernel = None if self.kernel is None else clone(self.kernel)
        if self._has_mixed_sides:
            return kernel_on_settings(kernel, self.space, self._has_main_effects)
        if kernel is not None:
            return kernel
        smooth = not self.targets_are_queries and self.rows_are_boxes
        return default_kernel(self.bounds, smooth, self._has_main_effects)

    @property
    def _has_main_effects(self) -> bool:
        """True if the default kernel has main effects: queries are values of one f at points."""
        return not (self.rows_are_boxes or self.n_tasks)

    def default_prior(self) -> Prior:
        """Return the prior of the hyperparameters of the default kernel."""
        if self.uses_default_kernel:
            prior = prior_of_trend_and_rough(self.bounds, self._asked_sides())
        elif self._has_mixed_sides:
            prior = kernel_on_settings(None, self.space, self._has_main_effects).prior
        else:
            prior = default_prior(self.bounds, self._has_main_effects)
        return tasks_prior(prior, self.n_tasks) if self.n_tasks else prior

    @property
    def usual_noise(self) -> tuple[float, float]:
        """Median of the noise as a share of the answers' variance, and spread of its logarithm."""
        if self.n_tasks:
            return defaults.TASK_NOISE, defaults.TASK_NOISE_SPREAD
        return defaults.NOISE, defaults.NOISE_SPREAD

    @cached_property
    def _counts(self) -> tuple[int, ...] | None:
        """Number of representatives of a box along each side; None if rows are points."""
        if not self.rows_are_boxes:
            return None
        n, d = self.n_context, self.d
        if self.targets_are_queries or takes_boxes(self.kernel, behind=self.n_tasks > 0):
            return representatives_of(self.point_kernel(), n + d)[n:]
        counts = representatives_of(self.point_kernel(), d)
        if self.actions is not None and self.actions.uses_columns:
            sizes = [self._sides(name, x) for name, x in self.given.items() if is_free(x)]
            counts = points_in_runs(np.concatenate(sizes), counts, self.actions)
        return counts

    def row_kernel(self) -> Kernel:
        """Return the kernel over the rows of both sets."""
        n = self.n_context
        if self.has_districts:
            return self._district_kernel()
        if self.targets_are_queries:
            return self.point_kernel()
        kernel, counts = self.point_kernel(), self._counts
        if counts is not None and not takes_boxes(self.kernel, behind=self.n_tasks > 0):
            if self.kernel is None and self.actions is not None and self.actions.uses_columns:
                kernel = kernel_of_cells(self.space)
            kernel = CellAverage(kernel, (1,) * n + counts)
        elif counts is None and n and takes_boxes(self.kernel, behind=True):
            raise ValueError(
                "kernel must be over points, or over boxes without a further column, if there "
                f"are context_bounds; got {self.kernel!r}"
            )
        return self._task_kernel(kernel, counts) if self.n_tasks else kernel

    def _task_kernel(self, kernel: Kernel, counts: tuple[int, ...] | None) -> Kernel:
        """Return the kernel over rows whose last column is the index of the function."""
        if self._has_mixed_sides and counts is not None:
            raise ValueError(
                "sizes of Fidelities must be 0, and targets points, if bounds or context_bounds "
                f"have integers, categories or angles; got {self.queries!r} and {self.targets!r}"
            )
        if self.kernel is not None and takes_tasks(self.kernel):
            if self._has_mixed_sides:
                raise ValueError(
                    "kernel must be that of fidelity 0, without Tasks, if bounds or context_bounds "
                    f"have integers, categories or angles; got {self.kernel!r}"
                )
            if counts is not None and not takes_boxes(self.kernel, behind=True):
                raise ValueError(
                    f"cells of {self.queries!r} need a kernel over rows [lower, upper, fidelity]: "
                    f"Tasks(CellAverage(kernel), n_tasks={self.n_tasks}); got {self.kernel!r}"
                )
            return clone(self.kernel)
        slow = slow_kernel(self.bounds, counts is not None, self.space)
        slow = slow if counts is None else CellAverage(slow, (1,) * self.n_context + counts)
        make = tasks_kernel if self.kernel is None else multi_fidelity_kernel
        return make(kernel, slow, self.n_tasks)

    def _district_kernel(self) -> Kernel:
        """Return the kernel over rows [center, index] of weighted sets of points."""
        queries, targets = as_districts(self.given)
        points, groups, shares = [], [], []
        # Speed: equal districts get one index only, because the kernel compares all with all.
        both = [(0, queries)] + [(len(queries), targets)] * (queries != targets)
        for first, each in both:
            for number, (own, share) in enumerate(each.members, first):
                points.append(each.points[own])
                groups.append(np.full(len(own), number))
                shares.append(share)
        sets = tuple(map(np.concatenate, (points, groups, shares)))
        return WeightedSum(self.point_kernel(), sets[0], sets[1], sets[2], self.n_context)

    # -- the sets ---------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """Layout of the rows, without contexts."""
        tail = 0.0 if self.n_tasks else None
        return Layout(self.d, counts=self._counts, task_column=tail)

    @property
    def n_columns(self) -> int:
        """Number of columns of a row, contexts included."""
        if self.has_districts:
            return self.n_context + self.d + 1
        return self.layout.add_contexts(self.n_context).n_columns

    def sets(self, seed: int) -> tuple[ArmSet, ArmSet]:
        """Return queries and targets, in contexts if there are any; ``seed`` draws candidates."""
        if self.targets_are_queries:
            arms = self._with_contexts(self._arm_set(seed))
            return arms, arms
        if self.has_districts:
            first, second = self._district_sets()
        else:
            first, second = (
                self._set_of(name, each, [seed, number])
                for number, (name, each) in enumerate(self.given.items())
            )
        return self._with_contexts(first), self._with_contexts(second)

    def _with_contexts(self, each: ArmSet) -> ArmSet:
        n = self.n_context
        return each.add_contexts(self.bounds[:n], self.space) if n else each

    def _arm_set(self, seed: int) -> ArmSet:
        layout = Layout(self.d, counts=self._counts)
        if self.arms is None:
            return BoxCandidates(self.box, self.n_candidates, layout, seed, self.actions)
        arms = ArmSet(check_numbers(self.arms, "arms"), self.box, layout)
        if self.earlier_arms is not None:
            arms.earlier = check_numbers(self.earlier_arms, "earlier_arms")
        return arms

    def _district_sets(self) -> tuple[ArmSet, ArmSet]:
        queries, targets = as_districts(self.given)
        if queries.points.shape[1] != self.d:
            raise ValueError(
                f"queries and targets must have {self.d} columns, one for each side of bounds; got "
                f"{queries.points.shape[1]}"
            )
        second = 0 if queries == targets else len(queries)
        return queries.as_set(self.box, 0), targets.as_set(self.box, second)

    def _set_of(self, name: str, given: Any, seed: list[int]) -> ArmSet:
        """Return the set of queries or targets; ``given`` is the value of parameter ``name``."""
        bounds, d, space, layout = self.box, self.d, self.actions, self.layout
        if given is None or is_free(given):
            tasks = given.tasks if isinstance(given, Fidelities) else None
            n_tasks, sides = max(1, self.n_tasks), self._sides(name, given)
            n = self.n_candidates
            return FreeCells(sides, bounds, n, layout, seed, space, tasks=tasks, n_tasks=n_tasks)
        rows = check_numbers(given, name)
        if rows.shape[1] == d and layout.boxes:
            rows = boxes_from_points(rows)
        if rows.shape[1] != (2 * d if layout.boxes else d):
            raise ValueError(
                f"{name} must have {d} columns (points) or {2 * d} columns (boxes [lower, upper]); "
                f"got {rows.shape[1]}"
            )
        if layout.boxes:
            rows = check_boxes(rows, name)
        corners = rows.reshape(-1, d)
        if not ((corners >= bounds[:, 0]) & (corners <= bounds[:, 1])).all():
            raise ValueError(f"{name} has rows outside the bounds {bounds.tolist()}")
        if self.n_tasks:
            rows = np.column_stack([rows, np.zeros(len(rows))])
        return ArmSet(rows, bounds, layout, space)

    def frequent_sizes(self, sets: tuple[ArmSet, ArmSet]) -> np.ndarray | None:
        """Return the frequent sizes (k, n_sides) of boxes in the sets; None without boxes."""
        if self.targets_are_queries or not self.rows_are_boxes:
            return None
        rows = np.concatenate([each.plain[:, : 2 * self.d] for each in sets])
        return np.pad(frequent_sizes(rows), ((0, 0), (self.n_context, 0)))

    # -- sizes of cells ---------------------------------------------------------------------

    def _asked_sides(self) -> np.ndarray:
        """Return the side lengths (k, n_sides) of target-size cells, or else of all queries."""
        queries, targets = (self.given[name] for name in ("queries", "targets"))
        sides = self._sides("queries", queries)
        if is_free(queries) and is_free(targets):
            wanted = are_among(sides, self._sides("targets", targets), self.box)
            sides = sides[wanted] if wanted.any() else sides
        return np.pad(sides, ((0, 0), (self.n_context, 0)))

    def _sides(self, name: str, given: Any) -> np.ndarray:
        """Return the side lengths (k, d) of cells or rows of boxes; 0 for points."""
        d = self.d
        if is_free(given):
            return given.sides(self.box, self.actions, name)
        rows = np.zeros((1, d)) if given is None else check_numbers(given, name)
        lower, upper = (rows[:, :d], rows[:, d:]) if rows.shape[1] == 2 * d else (rows, rows)
        return np.maximum(upper - lower, 0.0)


def is_free(given: Any) -> bool:
    """Return whether a parameter is ``Cells``: all regions of some sizes, at any place."""
    return isinstance(given, Cells)


def given_sets(queries: Any, targets: Any, actions: ParameterSpace | None) -> dict[str, Any]:
    """Return validated queries and targets by name; targets default to queries that are rows.

    Settings are converted to rows in coordinates.
    """
    if targets is None and queries is not None and not is_free(queries):
        targets = queries
    given = {"queries": queries, "targets": targets}
    for name, each in given.items():
        rows = each if isinstance(each, (list, tuple)) and each else [each]
        if isinstance(each, (Real, str)) or _is_no_set(rows[0]):
            raise ValueError(
                f"{name} must be rows of numbers or settings, Cells"
                f"{', Districts or Fidelities' if name == 'queries' else ' or Districts'}; "
                f"got {each!r}"
            )
    if actions is None:
        return given
    return {name: _rows_in_units(each, actions) for name, each in given.items()}


def _is_no_set(given: Any) -> bool:
    """Return whether an object can be neither a set nor the first row of one."""
    known = (Real, str, Mapping, Cells, Districts, Fidelities, NoneType)
    if isinstance(given, (*known, list, tuple)) or hasattr(given, "columns"):
        return False
    return np.ndim(given) == 0


def _rows_in_units(given: Any, actions: ParameterSpace) -> Any:
    """Convert rows of points or of boxes [lower, upper] to coordinates; return others unchanged."""
    if given is None or is_free(given) or isinstance(given, Districts):
        return given
    n = len(actions.sides)
    if hasattr(given, "columns") or np.shape(given)[1:] != (2 * n,):
        return actions.points(given)
    return np.hstack(
        [actions.points(corners) for corners in np.split(np.asarray(given), 2, axis=1)]
    )


def as_districts(given: Mapping[str, Any]) -> list[Districts]:
    """Return queries and targets as weighted sets of points; each point of rows is one set."""
    out = []
    for name, each in given.items():
        if each is None or is_free(each):
            raise ValueError(
                f"{name} must be Districts or points if the other set is Districts; got {each!r}"
            )
        if not isinstance(each, Districts):
            rows = check_numbers(each, name)
            each = Districts(rows, np.arange(len(rows)))
        out.append(each)
    if len({each.points.shape[1] for each in out}) > 1:
        raise ValueError(
            "points of queries and targets must have the same number of columns; got "
            f"{' and '.join(str(each.points.shape[1]) for each in out)}"
        )
    return out


# -- the bounding box of the sets ---------------------------------------------------------------


def box_of_arms(kernel: Any, arms: Any, earlier: Any = None) -> np.ndarray:
    """Return the box (d, 2) around arms, which are boxes if the kernel is over boxes."""
    rows = check_numbers(arms, "arms")
    if earlier is not None:
        others = check_numbers(earlier, "earlier_arms")
        if others.shape[1] != rows.shape[1]:
            raise ValueError(
                f"earlier_arms must have {rows.shape[1]} columns like arms, got {others.shape[1]}"
            )
        rows = np.concatenate([rows, others])
    if not takes_boxes(kernel):
        return np.column_stack([rows.min(axis=0), rows.max(axis=0)])
    lower, upper = np.split(check_boxes(rows, "arms"), 2, axis=1)
    return np.column_stack([lower.min(axis=0), upper.max(axis=0)])


def box_of_sets(
    kernel: Any, given: Mapping[str, Any], bounds: np.ndarray | None, named: Any
) -> np.ndarray | None:
    """Return the box (d, 2) around queries and targets, or the given ``bounds``.

    None if ``bounds`` are None and one of the sets is not rows. ``named`` is the parameter
    ``bounds`` as the user gave it, a dict if sides have names.
    """
    if any(isinstance(each, Districts) for each in given.values()):
        return _box_of_districts(kernel, given, bounds, named)
    arrays = {
        name: check_numbers(value, name)
        for name, value in given.items()
        if value is not None and not is_free(value)
    }
    if bounds is not None or len(arrays) < 2:
        return bounds
    corners = [
        np.split(check_boxes(rows, name), 2, axis=1) if takes_boxes(kernel) else [rows]
        for name, rows in arrays.items()
    ]
    if len({part.shape[1] for parts in corners for part in parts}) > 1:
        shapes = " and ".join(f"{name} of {rows.shape[1]}" for name, rows in arrays.items())
        raise ValueError(f"queries and targets must have the same number of columns; got {shapes}")
    points = np.concatenate([part for parts in corners for part in parts])
    return np.column_stack([points.min(axis=0), points.max(axis=0)])


def _box_of_districts(
    kernel: Any, given: Mapping[str, Any], bounds: np.ndarray | None, named: Any
) -> np.ndarray:
    if isinstance(named, Mapping):
        raise ValueError(f"the sides of bounds must have no names with Districts; got {named!r}")
    if takes_boxes(kernel) or isinstance(kernel, IndirectKernel):
        raise ValueError(
            f"kernel must be over the points of Districts, not over averages; got {kernel!r}"
        )
    points = np.concatenate([each.points for each in as_districts(given)])
    if bounds is None:
        return box_around(points)
    if points.shape[1] == len(bounds):
        check_inside(points, bounds)
    return bounds
