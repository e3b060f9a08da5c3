"""Cells or points of some sizes that represent all of these sizes in a box."""

from __future__ import annotations

import numpy as np

from skgpb import defaults
from skgpb.domains.arms import Arm, ArmSet, Incumbents, Layout, Placements, PointsQuery
from skgpb.domains.available import AvailableSet
from skgpb.domains.candidates import points_near, spread_points
from skgpb.domains.cells import SAME_SIZE, are_among, runs_around
from skgpb.domains.first_design import first_points
from skgpb.domains.space import ParameterSpace, SeparateAxis
from skgpb.domains.value_ranges import reach
from skgpb.utils.validation import check_inside


class FreeCells(ArmSet):
    """Candidate cells of some sizes in a box; a point has size 0.

    There are equally many cells of each size. In up to three dimensions a quarter of them, in more
    dimensions half of them, are *local*: they lie at the best targets and around these, at
    distances of every order of magnitude. The other cells fill the box evenly.

    Parameters
    ----------
    sizes : ndarray of shape (n_sizes, d)
        Sides of the cells; 0 for points.
    bounds : ndarray of shape (d, 2)
        The box.
    n : int
        Number of candidate cells, of all sizes together.
    layout : Layout or None
        Meaning of the columns of rows. None stands for points.
    seed : list of int
        Seeds the cells that fill the box.
    space : ParameterSpace, default=None
        Names of the sides of the box; None if they have none.
    tasks : ndarray of shape (n_sizes,), default=None
        For each size the index of the function that its cells average, if rows have that column.
    n_tasks : int, default=1
        Number of functions.

    Attributes
    ----------
    rows : ndarray of shape (n, n_columns)
        The present cells.
    size_of : ndarray of shape (n,)
        Index of the size of each cell.
    free : ndarray of shape (d,)
        True for the sides of the box along which cells move continuously.
    """

    _kept_fields = ("plain", "_next")

    def __init__(
        self,
        sizes: np.ndarray,
        bounds: np.ndarray,
        n: int,
        layout: Layout | None,
        seed: list[int],
        space: ParameterSpace | None = None,
        *,
        tasks: np.ndarray | None = None,
        n_tasks: int = 1,
    ) -> None:
        super().__init__(np.empty((0, len(bounds))), bounds, layout, space)
        self.sizes = sizes
        # The part of the box in which cells lie: the sides of now, where earlier ones were wider.
        self._within = bounds if space is None else space.box_of_now
        self.tasks: np.ndarray = np.zeros(len(sizes), dtype=np.intp) if tasks is None else tasks
        self.n_tasks = n_tasks
        # Axes of the sides with separate values, by index of the side.
        axes = [] if space is None else [axis for _, axis in space.axes]
        self._separate: dict[int, SeparateAxis] = {
            i: axis for i, axis in enumerate(axes) if isinstance(axis, SeparateAxis)
        }
        self.free: np.ndarray = np.array([i not in self._separate for i in range(len(bounds))])
        # First and last value of now on these axes, if the box was wider.
        self._runs: dict[int, tuple[int, int]] = {}
        if space is not None and isinstance(space.feasible, AvailableSet):
            for i, axis in self._separate.items():
                low, high = reach(axis, *self._within[i])
                self._runs[i] = axis.run(low, low)[0], axis.run(high, high)[0]
            self._check_sizes(space.names)
        self._periodic = np.array([False]) if space is None else space.periodic
        self.center_bounds: list[np.ndarray] = [self._bounds_of_centers(side) for side in sizes]
        each = max(n // len(sizes), 2 * defaults.N_CENTERS)
        fills = len(bounds) <= defaults.GRID_DIMENSIONS
        self._n_local = each // (defaults.LOCAL_SHARE if fills else 2)
        self.size_of: np.ndarray = np.repeat(np.arange(len(sizes)), each)
        if space is not None and self._separate and not sizes.any() and space.n_settings <= each:
            # All settings are candidates, and none has to move.
            self._n_local = 0
            settings = space.every_point()
            low, high = self._within.T
            settings = settings[((low <= settings) & (settings <= high)).all(axis=1)]
            each = len(settings)
            self.size_of = np.repeat(np.arange(len(sizes)), each)
            parts = [self.rows_of_centers(settings, number) for number in range(len(sizes))]
        else:
            parts = []
            for number, box in enumerate(self.center_bounds):
                shift = np.random.default_rng([*seed, number, 3]).random(len(bounds))
                parts.append(self.rows_of_centers(spread_points(box, each, shift), number))
        self._lie_at(np.concatenate(parts))
        # Index of the local cell of each size that moves next; -1 until all of them have moved.
        self._next = -1
        # Sizes of the cells of the first design.
        self.first_sizes: np.ndarray = np.arange(len(sizes))
        self.moving: np.ndarray = np.flatnonzero(
            np.tile(np.arange(each) >= each - self._n_local, len(sizes))
        )

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Name of a cost group, for messages: each size has its cost and noise variance."""
        if self.layout.task_column is not None:
            return "fidelity (and size of cells)"
        return "size of cells"

    @property
    def n_cost_groups(self) -> int:
        """Number of sizes."""
        return len(self.sizes)

    def query_values(self, numbers: np.ndarray) -> np.ndarray:
        """Return the value of each cell, given one value for each size."""
        return numbers[self.size_of]

    def cost_group(self, query: Arm | PointsQuery) -> int:
        """Return the index of the size of a query, -1 if it has none of the sizes."""
        return self.number_of_size(query)

    @property
    def follows(self) -> bool:
        """True: the local cells follow the posterior."""
        return True

    # -- places of the cells ----------------------------------------------------------------

    def placements_of(self, slot: int) -> Placements | None:
        """Return the possible places of the cell in ``slot``, along continuous sides.

        Along the other sides it keeps its values. None if no side is continuous.
        """
        number = int(self.size_of[slot])
        limits, places = self.center_bounds[number], self.every_place()
        free = np.flatnonzero((limits[:, 1] > limits[:, 0]) & self.free)
        if not len(free):
            return None
        same = (self.size_of == number) & (places == places[slot])[:, ~self.free].all(axis=1)
        alike = np.flatnonzero(same)

        def rows_at(coordinates: np.ndarray) -> np.ndarray:
            centers = np.tile(places[slot], (len(coordinates), 1))
            centers[:, free] = coordinates
            return self.rows_of_centers(centers, number)

        return Placements(alike, places[alike][:, free], limits[free], rows_at)

    def _bounds_of_centers(self, sides: np.ndarray) -> np.ndarray:
        lower, upper = self._within.T
        half = np.minimum(0.5 * sides, 0.5 * (upper - lower)) * self.free
        return np.column_stack([lower + half, upper - half])

    def rows_of_centers(self, centers: np.ndarray, number: int) -> np.ndarray:
        """Return descriptor rows, without contexts, of cells of the size with index ``number``."""
        rows = self._boxes_at(centers, number)
        if self.layout.task_column is None:
            return rows
        return np.column_stack([rows, np.full(len(rows), float(self.tasks[number]))])

    def _check_sizes(self, names: list[str]) -> None:
        """Raise ValueError if a cell is larger than the sides of now."""
        room = self._within[:, 1] - self._within[:, 0]
        for i, (first, last) in self._runs.items():
            room[i] = last - first + 1
        larger = (self.sizes > room * (1.0 + SAME_SIZE)).any(axis=0)
        if larger.any():
            raise ValueError(
                f"bounds must have room for the cells of queries and targets, got a shorter side "
                f"{names[int(np.argmax(larger))]!r}"
            )

    def _move_within(self, centers: np.ndarray, number: int) -> np.ndarray:
        """Return centres moved so that cells of a size have only values of the sides of now."""
        if not self._runs:
            return centers
        out = centers.copy()
        for i, (first, last) in self._runs.items():
            more, ends = max(int(self.sizes[number, i]), 1) - 1, self._separate[i].ends_of_run
            low, high = (0.5 * sum(ends(n, n + more)) for n in (first, last - more))
            out[:, i] = np.clip(centers[:, i], low, high)
        return out

    def _boxes_at(self, centers: np.ndarray, number: int) -> np.ndarray:
        centers = self._move_within(centers, number)
        if not self.layout.boxes:
            return centers if self.space is None else self.space.snap(centers)
        half = 0.5 * self.sizes[number] * self.free
        low, high = self._within.T
        lower, upper = np.maximum(centers - half, low), np.minimum(centers + half, high)
        for i, axis in self._separate.items():
            runs = runs_around(axis, centers[:, i], int(self.sizes[number, i]))
            lower[:, i], upper[:, i] = runs.T
        return np.hstack([lower, upper])

    def _nearest_centers(self, centers: np.ndarray, number: int) -> np.ndarray:
        """Return the possible centres (n, d) of cells of a size that are nearest to ``centers``."""
        centers = np.clip(centers, *self.center_bounds[number].T)
        if not self._separate:
            return centers
        return self.layout.actions_layout.places(self.rows_of_centers(centers, number))

    def resample_all(self) -> None:
        """Request that all local cells move at the next ``resample``."""
        self._next = -1

    def resample(self, incumbents: Incumbents, rng: np.random.Generator) -> np.ndarray:
        """Move local cells to the best targets and around them; return the indices that moved."""
        if not self._n_local:
            return self.moving
        return self._move(incumbents.places(), rng, incumbents.n_rounds)

    def _move(self, centers: np.ndarray, rng: np.random.Generator, n_rounds: int) -> np.ndarray:
        """Move local cells to ``centers`` (k, d) and around them; return their indices.

        The first call moves all local cells; a later call moves the next few, in turn, for each
        round. No cell moves to a centre where another cell of its size lies.
        """
        plain = self.plain.copy()
        moved = []
        few = n_rounds * -(-defaults.N_MOVED_CELLS // len(self.sizes))
        each = self._n_local if self._next < 0 else few
        each = min(each, self._n_local)
        turn = (max(self._next, 0) + np.arange(each)) % self._n_local
        self._next = (max(self._next, 0) + each) % self._n_local
        places = self.every_place()
        for number, local in enumerate(np.split(self.moving, len(self.sizes))):
            slots, limits = local[turn], self.center_bounds[number]
            stays = self.size_of == number
            stays[slots] = False
            at = self._nearest_centers(centers, number)
            others, same = places[stays], np.ones((len(at), np.count_nonzero(stays)), dtype=bool)
            for axis, (low, high) in enumerate(limits):  # faster than one array (k, n, d)
                away = np.abs(others[:, axis] - at[:, axis, np.newaxis])
                same &= away <= SAME_SIZE * (high - low)
            new = at[~same.any(axis=1)][: -(-each // 2)]
            periodic = self._periodic & (self.sizes[number] == 0.0)  # cells do not cross the ends
            around = points_near(limits, at, each - len(new), rng, periodic)
            plain[slots] = self.rows_of_centers(np.concatenate([new, around]), number)
            moved.append(slots)
        self._lie_at(plain)
        return np.concatenate(moved)

    def move_to(self, query: Arm | PointsQuery) -> int:
        """Move a cell to the place of a query, of any size, and return its index.

        It is the last cell to move, and represents the query until it moves. Return -1 if no cell
        moves, if the query has several rows, or with contexts, where no functional is tracked
        between rounds.
        """
        row_set = self.rows_of_query(query)
        cannot = not self._n_local or self.context is not None or len(row_set) != 1
        if cannot or not self._is_within(query):
            return -1
        number = max(self.number_of_size(query), 0)
        local = np.split(self.moving, len(self.sizes))[number]
        slot = int(local[(max(self._next, 0) - 1) % self._n_local])
        plain = self.plain.copy()
        plain[slot] = row_set[0]
        self._lie_at(plain)
        return slot

    def _is_within(self, query: Arm | PointsQuery) -> bool:
        """Return whether a query lies in the part of the box that cells may have now."""
        (low, high), n = self._within.T, self.layout.n_context
        lower, upper = (each[n:] for each in np.split(query.box, 2))
        return bool(((low <= lower) & (upper <= high)).all())

    def _resume(self) -> None:
        if len(self.plain) != len(self.rows):
            raise ValueError(f"there are {len(self.rows)} cells, got rows of {len(self.plain)}")
        self._lie_at(self.plain)

    # -- queries ----------------------------------------------------------------------------

    def arm(self, slot: int) -> Arm:
        """Return the query of a row; its index is -1, because cells change."""
        return self.query_of(-1, self.rows[slot].copy())

    def first_arm(self, n: int, known: np.ndarray, failed: np.ndarray, seed: int) -> Arm | None:
        """Return the next cell of a design of n cells, whose sizes are ``first_sizes`` in turn.

        It is the one farthest from all evaluated cells; None if the design is complete. The cells
        of a size fill the box of its possible centres.
        """
        places = first_points(self.bounds, n, seed, len(failed))
        numbers = self.first_sizes[np.arange(len(places)) % len(self.first_sizes)]
        lower, side = self.bounds[:, 0], self.bounds[:, 1] - self.bounds[:, 0]
        for number in self.first_sizes:
            chosen, limits = numbers == number, self.center_bounds[number]
            share = (limits[:, 1] - limits[:, 0]) / side
            at = limits[:, 0] + share * (places[chosen] - lower)
            places[chosen] = self._nearest_centers(at, int(number))
        i = self._next_place(places, n, known, failed)
        if i is None:
            return None
        return self.placed_arm(self.rows_of_centers(places[i : i + 1], int(numbers[i]))[0])

    def query_from_values(self, values: np.ndarray) -> Arm | None:
        """Return the query of a point (n_sides + 1,) whose last entry is the index of a function.

        None if ``values`` have another length, or if there is one function.
        """
        n, n_sides = self.layout.n_context, self.layout.n_sides
        if self.layout.task_column is None or values.shape != (n_sides + 1,):
            return None
        task = values[-1]
        if not (0 <= task < self.n_tasks and task == np.floor(task)):
            raise ValueError(
                f"the last of {n_sides - n + 1} numbers of a point is its fidelity, an integer "
                f"from 0 to {self.n_tasks - 1}; got {float(task)!r}"
            )
        bounds = np.concatenate([self.context_bounds, self.bounds])
        row = self.rows_of(check_inside(values[None, :-1], bounds))[0]
        row[-1] = task
        return self.query_of(-1, row)

    def _has(self, index: int, plain: np.ndarray) -> bool:
        has_task = self.layout.task_column is None or 0 <= plain[-1] < self.n_tasks
        return index == -1 and has_task and self._is_inside(plain)

    # -- sizes ------------------------------------------------------------------------------

    def sizes_like(self, sizes: np.ndarray) -> np.ndarray:
        """Return the indices of the sizes that are among ``sizes`` (n, d)."""
        return np.flatnonzero(are_among(self.sizes, sizes, self.bounds))

    def number_of_size(self, query: Arm | PointsQuery) -> int:
        """Return the index of the function and size of a query, -1 if there is none."""
        alike = np.arange(len(self.sizes))
        if self.layout.task_column is not None:
            alike = np.flatnonzero(self.tasks == (query.task if isinstance(query, Arm) else 0))
        number = self.nearest_size(query, alike)
        return -1 if number < 0 else int(alike[number])

    def nearest_size(self, query: Arm | PointsQuery, numbers: np.ndarray) -> int:
        """Return the position in ``numbers`` (k,) of the size of a query; -1 if it has none."""
        unit = self.bounds[:, 1] - self.bounds[:, 0]
        sides, sizes = self._sides_in(query), self.sizes[numbers]
        if self._separate:
            # Along separate sides a size is a number of values; a point has one value.
            sizes = np.where(self.free, sizes, np.maximum(sizes, 1.0))
            unit = np.where(self.free, unit, 1.0)
        away = (np.abs(sizes - sides) / unit).max(axis=1)
        nearest = int(np.argmin(away))
        return nearest if away[nearest] <= SAME_SIZE else -1

    def _sides_in(self, query: Arm | PointsQuery) -> np.ndarray:
        """Return the sides (d,) of a query; the number of values for integers and categories."""
        lower, upper = (each[self.layout.n_context :] for each in np.split(query.box, 2))
        sides = upper - lower
        for i, axis in self._separate.items():
            first, last = axis.run(lower[i], upper[i])
            sides[i] = last - first + 1
        return sides
