"""Spaces of random sides of all kinds, compared with lists of their values."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, expon, loguniform, norm, randint, uniform, weibull_max

from skgpb.domains import Angle, Box, Side, Steps, log_randint
from skgpb.domains.candidates import points_near
from skgpb.domains.partition import points_per_axis
from skgpb.domains.space import (
    NEUTRAL,
    ParameterSpace,
    Span,
    as_coordinates,
    equal,
    named_box,
)
from skgpb.domains.value_ranges import (
    ValueRanges,
    cut,
    points_per_side,
    reach,
    representatives_within,
    spread,
)

pytestmark = pytest.mark.one_in(2)


@dataclass
class Known:
    """A side as the tests know it: its values and their intervals, or a scale."""

    given: Any
    values: list[Any] = field(default_factory=list)
    shares: Any = None  # of the values; None if they are equal
    ends: tuple[float, float] = (0.0, 1.0)
    scale: Any = float
    steps: Any = None  # coordinates that can be set
    period: float = 0.0
    ordered: bool = True

    def __post_init__(self):
        shares = self.shares if self.shares is not None else np.ones(len(self.values))
        self.edges = np.concatenate([[0.0], np.cumsum(shares)]) / max(np.sum(shares), 1e-300)

    @property
    def n(self):
        return len(self.values)

    def index(self, u):
        return max(i for i in range(self.n) if self.edges[i] <= u)

    def value(self, u):
        return self.values[self.index(u)] if self.n else float(self.scale(u))

    def middle(self, i):
        return 0.5 * (self.edges[i] + self.edges[i + 1])

    def snap(self, u):
        if self.n:
            return self.middle(self.index(u))
        return self.ends[0] if self.period and u == self.ends[1] else u

    def rounded(self, u):
        if self.steps is not None:
            u = min(self.steps, key=lambda step: (round(abs(step - u), 9), step))
        return self.snap(u)

    def columns(self, u):
        if not self.n and self.period:
            turn = 2 * np.pi * u / self.period
            return [self.period / (2 * np.pi) * f(turn) for f in (np.cos, np.sin)]
        if not self.n:
            return [u]
        if not self.ordered:
            return [0.5**0.5 * (i == self.index(u)) for i in range(self.n)]
        if self.shares is not None:  # integers of a distribution
            return [self.snap(u)]
        return [self.index(u) / max(1, self.n - 1)]


def of_integers(distribution, low, high):
    numbers = list(range(low, high + 1))
    return Known(distribution, numbers, distribution.pmf(numbers))


KNOWN = {
    "few": Known([8, 1, 3.5], [1, 3.5, 8]),
    "odd": Known(range(11, 2, -2), [3, 5, 7, 9, 11]),
    "kind": Known(["c", "a", "b", "d"], list("cabd"), ordered=False),
    "flag": Known([True, False], [True, False], ordered=False),
    "n": of_integers(randint(2, 9), 2, 8),
    "trees": of_integers(log_randint(1, 9), 1, 8),
    "wins": of_integers(binom(4, 0.3), 0, 4),
    "x": Known(uniform(-3.0, 10.0), scale=lambda u: -3.0 + 10.0 * u),
    "rate": Known(loguniform(1e-3, 1e2), scale=lambda u: 1e-3 * 1e5**u),
    "heat": Known(Steps(-1, 2, 0.25), ends=(-1.0, 2.0), steps=np.arange(-4, 9) / 4),
    "turn": Known(Angle(-180, 180), ends=(-180.0, 180.0), period=360.0),
    "dial": Known(Angle(0, 24, 2), ends=(0.0, 24.0), period=24.0, steps=np.arange(0.0, 25.0, 2)),
    "only": Known(["this"], ["this"], ordered=False),
    "three": of_integers(randint(3, 4), 3, 3),
    "span": Known((20.0, 90.0), ends=(20.0, 90.0)),
}
OTHER = Known(range(3, 9), [3, 4, 5, 6, 7, 8])  # by the name of another side


class Reference:
    """Random dicts of sides, and the space of them."""

    def __init__(self, seed, *, finite=False, named=False):
        self.rng = rng = np.random.default_rng(seed)
        names = [name for name in KNOWN if named or name != "span"]
        if finite:
            names = [name for name in names if KNOWN[name].n]
        n_dicts = 1 if named else 1 + seed % 3
        self.dicts = []
        for i in range(n_dicts):
            some = rng.permutation(names)[: rng.integers(2, 5)].tolist()
            self.dicts.append({name: KNOWN[name] for name in some})
            if i and rng.random() < 0.5:
                self.dicts[i][next(iter(self.dicts[0]))] = OTHER
            if all(side.n == 1 for side in self.dicts[i].values()):
                self.dicts[i]["few"] = KNOWN["few"]
        given = [{name: side.given for name, side in each.items()} for each in self.dicts]
        if named:
            self.space = ParameterSpace.from_bounds(given[0])
        else:
            self.space = ParameterSpace(given if n_dicts > 1 else given[0])
        self.axes = []
        if n_dicts > 1:
            choice = Known(None, [str(i) for i in range(n_dicts)], ordered=False)
            self.axes.append(("param_distributions", choice))
        self.active = []  # for each dict, axes by name
        for each in self.dicts:
            active = {}
            for name, side in each.items():
                if side.n == 1:
                    continue
                found = [i for i, axis in enumerate(self.axes) if axis == (name, side)]
                if not found:
                    self.axes.append((name, side))
                active[name] = found[0] if found else len(self.axes) - 1
            self.active.append(active)
        self.several = n_dicts > 1

    def draw(self, n):
        lower, upper = np.array([side.ends for _, side in self.axes]).T
        return lower + self.rng.random((n, len(self.axes))) * (upper - lower)

    def which(self, point):
        return self.axes[0][1].index(point[0]) if self.several else 0

    def used(self, point):
        active = set(self.active[self.which(point)].values())
        return [i in active or (self.several and i == 0) for i in range(len(self.axes))]

    def setting(self, point):
        which = self.which(point)
        return {
            name: side.value(point[self.active[which][name]]) if side.n != 1 else side.values[0]
            for name, side in self.dicts[which].items()
        }

    def moved(self, point, change):
        used = self.used(point)
        return [
            getattr(side, change)(u) if is_used else NEUTRAL
            for (_, side), u, is_used in zip(self.axes, point, used, strict=True)
        ]

    def columns(self, point):
        used = self.used(point)
        return [
            x if is_used else NEUTRAL
            for (_, side), u, is_used in zip(self.axes, point, used, strict=True)
            for x in side.columns(u)
        ]


def same(one, other):
    """Whether two settings are equal up to the rounding of numbers, with equal types and order."""
    return list(one) == list(other) and all(
        type(a) is type(b) and (a == pytest.approx(b, rel=1e-9) if type(a) is float else a == b)
        for a, b in zip(one.values(), other.values(), strict=True)
    )


@pytest.mark.parametrize("seed", range(16))
def test_a_space_has_the_axes_of_its_sides(seed):
    case = Reference(seed, named=seed % 4 == 3)
    space, axes = case.space, case.axes
    assert space.names == [name for name, _ in axes] and space.n_axes == len(axes)
    assert_array_equal(space.bounds, [side.ends for _, side in axes])
    assert_array_equal(space.n_values, [side.n for _, side in axes])
    widths = [len(side.columns(side.ends[0])) for _, side in axes]
    assert_array_equal(space.groups, np.repeat(np.arange(len(axes)), widths))
    assert space.longest_list == max([s.n for _, s in axes if not s.ordered], default=0)
    assert space.ordered == all(side.ordered for _, side in axes)
    assert_array_equal(space.periodic, [side.period > 0 for _, side in axes])
    assert space.uses_columns == any(side.n or side.period for _, side in axes)
    assert space.has_lists == any(side.n for _, side in axes)
    stepped = any(side.steps is not None for _, side in axes)
    assert space.has_settings == (space.uses_columns or stepped)
    assert space.sides == list(case.dicts[0])
    counts = [
        np.prod(
            [
                side.n or (np.inf if side.steps is None or side.period else len(side.steps))
                for side in each.values()
            ]
        )
        for each in case.dicts
    ]
    assert space.n_settings == sum(counts)
    cube = space.copy_for_search(as_cube=True)
    assert not (cube.uses_columns or cube.has_lists or cube.has_settings or cube.asked_once)
    assert_array_equal(cube.column_bounds, space.bounds)
    corners = np.array([case.columns(corner) for corner in space.bounds.T])
    assert_allclose(space.column_bounds, np.sort(corners, axis=0).T, atol=1e-12)


@pytest.mark.parametrize("seed", range(16))
def test_points_stand_for_settings(seed):
    case = Reference(seed, named=seed % 4 == 3)
    space, rng = case.space, case.rng
    points = case.draw(15)
    points[:3, 1:] = space.bounds[1:, rng.integers(2)]  # an end of a periodic side
    change = {name: [case.moved(p, name) for p in points] for name in ("snap", "rounded")}
    if space.uses_columns:
        assert_allclose(space.snap(points), change["snap"], atol=1e-12)
    else:
        assert space.snap(points) is points
    assert_allclose(space.rounded_to_grid(points), change["rounded"], atol=1e-12)
    assert_allclose(space.columns(points), [case.columns(p) for p in points], atol=1e-12)
    at_ends = []
    for point, snapped, rounded in zip(points, *change.values(), strict=True):
        setting = space.setting(point)
        assert same(setting, case.setting(point))
        found = space.point(setting)
        (found,) = space.snap(found[None])
        assert_allclose(found, snapped, atol=1e-9)
        assert space.is_at(found, np.array(snapped))
        assert space.is_feasible(np.array(rounded)) or not space.uses_columns
        assert space.is_feasible(point) == np.allclose(snapped, rounded, rtol=0, atol=1e-9)
        used, count = case.used(point), 0
        for (_, side), u, is_used in zip(case.axes, point, used, strict=True):
            ends = {side.value(end) for end in side.ends}
            count += is_used and side.ordered and not side.period and side.value(u) in ends
        at_ends.append(count)
    assert_array_equal(space.n_at_ends(points), at_ends)


@pytest.mark.parametrize("seed", range(12))
def test_points_are_equal_up_to_the_rounding_of_what_is_in_use(seed):
    case = Reference(seed, named=seed % 4 == 3)
    space = case.space
    lengths = np.diff(space.bounds)[:, 0]
    for point in space.snap(case.draw(6)):
        for i, (_, side) in enumerate(case.axes):
            for share, near in ((3e-10, True), (3e-8, False)):
                other = point.copy()
                other[i] += share * lengths[i] * (1 if point[i] < np.mean(side.ends) else -1)
                unseen = case.several and (side.n or not case.used(point)[i])
                if not (case.several and side.period):
                    assert space.is_at(point, other) == bool(near or unseen)
                    assert space.is_at(other, point) == bool(near or unseen)


@pytest.mark.parametrize("seed", range(16))
def test_of_finitely_many_settings_each_has_one_point(seed):
    case = Reference(seed, finite=True)
    expected = [
        dict(zip(each, values, strict=True))
        for each in case.dicts
        for values in itertools.product(*(side.values for side in each.values()))
    ]
    points = case.space.every_point()
    found = [case.space.setting(point) for point in points]
    assert len(points) == case.space.n_settings == len(expected)
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert_allclose([case.moved(point, "snap") for point in points], points, atol=1e-12)


@pytest.mark.parametrize("seed", range(16))
def test_a_box_of_settings_has_a_range_along_each_side_in_use(seed):
    case = Reference(seed, named=seed % 4 == 3)
    space = case.space
    for first in case.draw(8):
        which = case.which(first)
        lower, upper, expected = np.array(case.moved(first, "snap")), None, {}
        upper = lower.copy()
        if case.several:
            lower[0], upper[0] = case.axes[0][1].edges[which : which + 2]
        for name, side in case.dicts[which].items():
            if side.n == 1:
                expected[name] = side.values[0]
                continue
            i = case.active[which][name]
            if side.n:
                a, b = np.sort(case.rng.integers(side.n, size=2))
                lower[i], upper[i] = side.edges[[a, b + 1]]
                expected[name] = side.values[a : b + 1]
            else:
                lower[i], upper[i] = np.sort(case.rng.uniform(*side.ends, 2))
                expected[name] = side.scale(lower[i]), side.scale(upper[i])
        found = space.ranges(lower, upper)
        assert list(found) == list(case.dicts[which])
        for name, side in case.dicts[which].items():
            value = found[name] if side.n == 1 or not side.n else list(found[name])
            assert value == (expected[name] if side.n else pytest.approx(expected[name]))
        one = space.ranges(lower, lower)
        assert same(one, space.setting(lower)) or case.several
        if case.several:
            continue
        ends = [
            {n: v if case.dicts[0][n].n == 1 else v[k] for n, v in expected.items()}
            for k in (0, -1)
        ]
        assert_allclose(space.box_between(*ends), np.concatenate([lower, upper]), atol=1e-9)


@pytest.mark.parametrize("seed", [1, 2, 4, 5, 7, 8])
def test_neighbours_move_along_what_is_in_use(seed):
    case = Reference(seed)
    space, n = case.space, 600
    centers = space.rounded_to_grid(case.draw(4))
    found = space.neighbours(centers, n, np.random.default_rng(0))
    starts = centers[np.arange(n) % 4]
    assert ((space.bounds[:, 0] <= found) & (found <= space.bounds[:, 1])).all()
    used = np.array([case.used(point) for point in starts])
    now = np.array([case.used(point) for point in found])
    assert ((found != starts) & used).any(axis=1).mean() > 0.95
    chosen = {case.which(point) for point in found}
    assert chosen == set(range(len(case.dicts)))
    # One side in use surely moves, as often each of them.
    for start in range(4):
        mine = np.arange(n) % 4 == start
        share = (found != starts)[mine].mean(axis=0)[used[start]]
        assert np.ptp(share) < 0.3
    # What is new may have any value, and is not at the middle.
    for i in range(1, space.n_axes):
        new = found[now[:, i] & ~used[:, i], i]
        if len(new) > 30:
            low, high = space.bounds[i]
            share = (new - low) / (high - low)
            assert share.min() < 0.2 and share.max() > 0.8 and np.abs(np.mean(share) - 0.5) < 0.2


def test_settings_are_tables_with_a_column_for_each_side():
    space = ParameterSpace.from_bounds({"x": (0.0, 2.0), "kind": ["a", "b"], "only": [7]})
    table = pd.DataFrame({"only": [7, 7], "kind": ["b", "a"], "x": [0.5, 2]})
    assert_allclose(space.points(table), [[0.5, 0.75], [2.0, 0.25]])
    doubled = pd.DataFrame([[0.5, 1.0, "a", 7]], columns=["x", "x", "kind", "only"])
    with pytest.raises(ValueError, match="must have different names"):
        space.points(doubled)
    for wrong, said in (
        ([[0.5, 1.0, 7.0]], "because 'kind' is no number; got"),
        ([{"x": 0.5, "kind": "c", "only": 7}], "^kind must be one of"),
        ([{"x": 0.5, "kind": "a", "only": 8}], "only must be 7, got 8"),
        ([{"x": 0.5, "kind": "a"}], r"missing \['only'\], unknown \[\]"),
    ):
        with pytest.raises(ValueError, match=said):
            space.points(wrong)
    words = ParameterSpace.from_bounds({"x": (0.0, 2.0), "only": ["w"]})
    with pytest.raises(ValueError, match="because 'only' is no number"):
        words.points([[0.5, 1.0]])
    numbers = ParameterSpace.from_bounds({"x": (0.0, 2.0), "n": [1, 2], "only": [7]})
    assert_allclose(numbers.points([[0.5, 2, 7]]), [[0.5, 0.75]])
    with pytest.raises(ValueError, match="or as rows of numbers in this order; got"):
        numbers.points("text")
    for wrong in ([{"x": 0.5, "n": 2, "only": 7}, [0.5, 2, 7]], [[0.5, 2, 7], [0.5, 2]]):
        with pytest.raises(ValueError, match="are given by name"):
            numbers.points(wrong)
    for wrong in ([[0.5, 2]], [[[0.5, 2, 7]]], [0.5, 2]):
        with pytest.raises(ValueError, match="rows must have 3 numbers"):
            numbers.points(wrong)
    one = ParameterSpace.from_bounds({"x": (0.0, 2.0)})
    for given in ([0.5, 1], [[0.5], [1]], np.array([0.5, 1.0])):
        assert_allclose(one.points(given), [[0.5], [1.0]])
    for wrong in ([[0.5, 1]], [[[0.5], [1]]]):
        with pytest.raises(ValueError, match="rows must have 1 numbers"):
            one.points(wrong)
    assert type(as_coordinates([[0.5, 0.75]])) is type(space.points(table))


# -- cells of such spaces --------------------------------------------------------------------------


def run_of(side, low, high):
    """Return the numbers of the values between two coordinates."""
    return [i for i in range(side.n) if low < side.middle(i) < high or low == side.middle(i)]


def side_length(side, low, high):
    """Return the length of a range for the kernel."""
    if not side.n:
        return high - low
    first, last = (np.array(side.columns(side.middle(run_of(side, low, high)[k]))) for k in (0, -1))
    return float(np.linalg.norm(last - first))


def naive_cut(side, low, high, n):
    """Return the ends of n parts: each cut is at the edge of a value nearest to an equal share."""
    if side.n:
        run = run_of(side, low, high)
        n = min(n, len(run))
        begin, ends = run[0], [low]
        for j in range(1, n):
            target = low + j * (high - low) / n
            away = [round(abs(edge - target), 9) for edge in side.edges]
            nearest = max(i for i, a in enumerate(away) if a == min(away))
            begin = min(max(nearest, begin + 1), run[-1] + 1 - (n - j))
            ends.append(side.edges[begin])
    else:
        ends = [low + j * (high - low) / n for j in range(n)]
    return list(zip(ends, [*ends[1:], high], strict=True))


def naive_spread(side, low, high, n):
    """Return the coordinates of at most n values in the middle of as many equal parts."""
    if not side.n:
        return [low + (i + 0.5) / n * (high - low) for i in range(n)] if high > low else [low]
    run = run_of(side, low, high)
    n = min(n, len(run))
    return [side.middle(run[(2 * i + 1) * len(run) // (2 * n)]) for i in range(n)]


def random_box(case, boxes=()):
    """Return the corners of a box of whole intervals of values."""
    lower, upper = [], []
    for _, side in case.axes:
        if side.n:
            a, b = np.sort(case.rng.integers(side.n, size=2))
            ends = side.edges[[a, b + 1]]
        else:
            ends = np.sort(case.rng.uniform(*side.ends, 2))
        lower.append(ends[0])
        upper.append(ends[1])
    return np.array(lower), np.array(upper)


@pytest.mark.parametrize("seed", range(16))
def test_ranges_are_cut_and_represented_as_their_values_say(seed):
    case = Reference(seed, named=True)
    for _ in range(6):
        lower, upper = random_box(case)
        counts = tuple(case.rng.integers(1, 5, len(case.axes)).tolist())
        along = []
        for (_, axis), (_, side), low, high, n in zip(
            case.space.axes, case.axes, lower, upper, counts, strict=True
        ):
            assert_allclose(cut(axis, low, high, n), naive_cut(side, low, high, n), atol=1e-12)
            along.append(naive_spread(side, low, high, n))
            assert_allclose(spread(axis, low, high, n), along[-1], atol=1e-12)
            run = run_of(side, low, high)
            ends = (side.middle(run[0]), side.middle(run[-1])) if side.n else (low, high)
            assert_allclose(reach(axis, low, high), ends)
        points = representatives_within(case.space, lower, upper, counts)
        assert_allclose(points, list(itertools.product(*along)), atol=1e-12)


@pytest.mark.parametrize("seed", range(16))
def test_parts_of_a_box_are_cut_along_their_longest_sides(seed):
    case = Reference(seed, named=True)
    K, d = 2 + seed % 4, len(case.axes)
    counts = tuple(case.rng.integers(1, 4, d).tolist())
    for continuous in (True, False):
        cells = ValueRanges(case.space, K, counts, continuous)
        root = [side_length(side, *side.ends) or 1.0 for _, side in case.axes]

        def lengths(box, root=root):
            ends = zip(case.axes, box[:d], box[d:], root, strict=True)
            return [side_length(side, low, high) / unit for (_, side), low, high, unit in ends]

        box = case.space.bounds.T.ravel()
        for _ in range(5):
            assert_allclose(cells.lengths(box), lengths(box), atol=1e-12)
            parts = [box]
            while len(parts) < K:
                longest = [max(lengths(part)) for part in parts]
                i = next(i for i, x in enumerate(longest) if x >= max(longest) - 1e-9)
                if longest[i] == 0.0:
                    break
                axis = next(a for a, x in enumerate(lengths(parts[i])) if x >= longest[i] - 1e-9)
                n = min(-(-K // len(parts)), K - len(parts) + 1)
                pieces = []
                for ends in naive_cut(case.axes[axis][1], *parts[i][[axis, d + axis]], n):
                    piece = parts[i].copy()
                    piece[[axis, d + axis]] = ends
                    pieces.append(piece)
                parts[i : i + 1] = pieces
            found = cells.parts(box)
            assert_allclose(found, parts, atol=1e-12)
            rows = []  # of columns at the lower and at the upper corner
            for (_, side), low, high, n in zip(case.axes, box[:d], box[d:], counts, strict=True):
                if side.n or side.period or not continuous:
                    ends = [[u, u] for u in naive_spread(side, low, high, n)]
                else:
                    ends = [[low, high]]
                rows.append([[side.columns(u) for u in each] for each in ends])
            expected = [
                np.concatenate([each[k] for k in (0, 1) for each in chosen])
                for chosen in itertools.product(*rows)
            ]
            order = np.lexsort(np.round(expected, 9).T)
            got = cells.rows(box)
            assert_allclose(
                got[np.lexsort(np.round(got, 9).T)], np.array(expected)[order], atol=1e-12
            )
            box = found[case.rng.integers(len(found))]


@pytest.mark.parametrize("seed", range(16))
def test_so_many_points_represent_a_cell_as_its_sides_allow(seed):
    case = Reference(seed, named=True)
    most = [side.n or len(side.steps if side.steps is not None else ()) for _, side in case.axes]
    for limits in (None, [case.rng.integers(1, 6) if side.n else np.inf for _, side in case.axes]):
        ends = most if limits is None else limits
        ends = [e if side.n or (limits is None and e and not side.period) else np.inf
                for e, (_, side) in zip(ends, case.axes, strict=True)]  # fmt: skip

        def counts(s, t, ends=ends):
            return tuple(
                int(min(t if side.n else s, end))
                for (_, side), end in zip(case.axes, ends, strict=True)
            )

        # First as many along continuous sides as possible, then of values; two at least.
        options = [(s, 100) for s in range(10, 1, -1)] + [(2, t) for t in range(99, 1, -1)]
        expected = next(counts(*each) for each in options if np.prod(counts(*each)) <= 100)
        assert points_per_side(case.space, limits) == expected
    if case.space.uses_columns:
        assert points_per_axis(None, space=case.space, d=len(most)) == points_per_side(case.space)
        given = tuple(case.rng.integers(1, 7, len(most)).tolist())
        ends = [min(n, m or n) if side.n or not side.period else n
                for n, m, (_, side) in zip(given, most, case.axes, strict=True)]  # fmt: skip
        assert points_per_axis(given, len(most), case.space) == tuple(ends)


# -- single sides ----------------------------------------------------------------------------------


class Falling(Side):
    """Numbers that fall as their coordinate grows, with columns of the base class."""

    ends = (1.0, 3.0)

    def value(self, u):
        return 10.0 - 2.0 * u

    def coordinate(self, value):
        if not 4.0 <= value <= 8.0:
            raise ValueError("must be from 4 to 8")
        return 0.5 * (10.0 - value)


class Loop(Falling):
    """The same, with columns whose ends are a given distance apart."""

    arguments = ("gap",)

    def __init__(self, gap):
        self.gap = gap

    def columns(self, u):
        turn = np.pi * (u - 1.0)
        return np.column_stack([np.cos(turn), np.sin(turn) + 0.5 * self.gap * (u - 1.0)])


def test_a_side_of_ones_own_has_numbers_for_constraints():
    side, rng = Falling(), np.random.default_rng(0)
    u = rng.uniform(1.0, 3.0, 20)
    assert side.limits == (4.0, 8.0) and side.ordered and not side.is_periodic
    assert_allclose(side.numbers(u), 10.0 - 2.0 * u)
    wanted = np.array([3.0, 4.0, 5.5, 8.0, 9.0])
    for found in (side.nearest_coordinates(wanted), side.between(wanted)):
        assert_allclose(found, [3.0, 3.0, 2.25, 1.0, 1.0])
    assert side.values_between(1.5, 2.0) == (7.0, 6.0)
    assert_array_equal(side.columns(u), u[:, None])
    assert side.n_columns == 1 and not side.uses_columns and not side.has_steps
    space = ParameterSpace.from_bounds(Box({"f": side, "x": (0.0, 4.0)}, "f + x <= 7"))
    assert_array_equal(space.bounds, [[1.0, 3.0], [0.0, 4.0]])
    points = space.feasible.sample(50, np.array([0.3, 0.6]))
    assert (10.0 - 2.0 * points[:, 0] + points[:, 1] <= 7.0 + 1e-9).all()
    assert len(np.unique(points, axis=0)) == 50


@pytest.mark.parametrize(("gap", "expected"), [(0.0, True), (1e-12, True), (1e-6, False)])
def test_a_side_is_periodic_if_its_ends_have_the_same_columns(gap, expected):
    side = Loop(gap)
    assert side.uses_columns and side.is_periodic is expected
    u = np.array([1.0, 2.0, 3.0])
    assert_array_equal(side.snap(u), [1.0, 2.0, 1.0] if expected else u)
    assert side == Loop(gap) != Loop(gap + 1.0) and repr(side) == f"Loop(gap={gap!r})"


@pytest.mark.parametrize("n", [19, 20, 21])
def test_messages_list_so_many_values(n):
    side = ParameterSpace.from_bounds({"p": [f"v{i}" for i in range(n)]}).axes[0][1]
    with pytest.raises(ValueError, match="must be one of") as caught:
        side.coordinate("w")
    shown = ", ".join(repr(f"v{i}") for i in range(min(n, 20)))
    words = f"[{shown}]" if n <= 20 else f"21 values: {shown}, ..."
    assert str(caught.value) == f"must be one of {words}"


@pytest.mark.parametrize(
    "distribution", [uniform(2, 3), expon(1), weibull_max(2), norm(5, 2)], ids=lambda d: d.dist.name
)
def test_infinite_ends_of_a_distribution_are_cut_off_and_finite_ones_are_not(distribution):
    side = ParameterSpace({"p": distribution}).axes[0][1]
    low, high = distribution.support()
    tails = [0.0 if np.isfinite(low) else 1 / 1024, 1.0 if np.isfinite(high) else 1 - 1 / 1024]
    assert_allclose(side.limits, distribution.ppf(tails))
    u = np.linspace(0.0, 1.0, 9)
    assert_allclose(side.numbers(u), distribution.ppf(np.clip(u, *tails)))
    assert_allclose([side.value(x) for x in u], side.numbers(u))
    numbers = side.numbers(u[1:-1])
    assert_allclose(side.nearest_coordinates(numbers), u[1:-1], atol=1e-9)
    assert_allclose([side.coordinate(x) for x in numbers.tolist()], u[1:-1], atol=1e-9)
    # What is told may lie beyond the tail, but not beyond the support.
    told = side.limits[1] + 1.0
    if np.isfinite(high):
        with pytest.raises(ValueError, match="must be between"):
            side.coordinate(told)
    else:
        assert side.coordinate(told) == pytest.approx(distribution.cdf(told))


def test_distributions_without_values_are_refused():
    with pytest.raises(ValueError, match="has no values: its support is"):
        ParameterSpace({"p": uniform(0, -1)})


@pytest.mark.parametrize("seed", range(20))
def test_steps_are_multiples_from_the_lower_end_up_to_the_upper(seed):
    rng = np.random.default_rng(seed)
    step = Decimal(int(rng.choice([1, 2, 5, 25, 3]))).scaleb(int(rng.integers(-6, 3)))
    low = step * int(rng.integers(-300, 300)) + step * Decimal(str(rng.choice([0, 0.5])))
    n = int(rng.integers(1, 400))
    high = low + step * n + step * Decimal(str(rng.choice([0, 0.25, 0.875])))
    side = Steps(float(low), float(high), float(step))
    expected = [float(low + step * i) for i in range(n + 1)]
    assert_array_equal(side.grid, expected)
    assert side.n_settings == n + 1 and side.shown_step == float(step)
    assert_array_equal(side.middles(), side.grid)
    points = rng.uniform(float(low), float(high), 30)
    away = np.abs(side.grid - points[:, None])
    assert_allclose(np.abs(side.rounded_to_grid(points) - points), away.min(axis=1), atol=1e-9)
    told = float(rng.uniform(float(low), float(high)))
    assert side.coordinate(told) == told == side.value(told)
    assert_array_equal(side.between(np.array([told])), [told])


def test_a_step_at_zero_is_zero():
    for step in (0.1, 0.3, 0.7, 1e-5):
        grid = Steps(-3 * step, 4 * step, step).grid
        assert grid[3] == 0.0 and len(grid) == 8


@pytest.mark.parametrize("seed", range(12))
def test_default_steps_divide_a_range_into_hundreds_of_round_steps(seed):
    rng = np.random.default_rng(seed)
    low = float(np.round(rng.normal() * 10.0 ** rng.integers(-2, 4), 3))
    high = low + float(10.0 ** rng.uniform(-1, 4)) if seed % 3 else low + 10.0 ** (seed // 3)
    side = Steps(low, high)
    step = side.default_step
    assert np.log10(step) == pytest.approx(round(np.log10(step)))
    assert 99.999 * step < high - low < 1000.001 * step
    assert (side.grid[0], side.grid[-1]) == (low, high)
    inner = side.grid[1:-1] / step
    assert_allclose(inner, np.round(inner), atol=1e-6)
    gaps = np.diff(side.grid)
    assert (gaps <= step * (1 + 1e-6)).all() and (gaps > 0).all()
    assert_allclose(gaps[1:-1], step, rtol=1e-6)


def test_steps_of_logarithmic_sides_have_ends_and_a_limited_number():
    assert_array_equal(Steps(1.0004, 1.0016, log=True).grid, [1.0004, 1.0016])
    wide = Steps(1e-30, 1e30, log=True)
    assert len(wide.grid) == 10_000 and wide.shown_step is None
    for low, high in ((0.013, 4.7), (2.0, 2.5)):
        side = Steps(low, high, log=True)
        assert (side.grid[0], side.grid[-1]) == (low, high) == side.limits
        u = np.linspace(0.0, 1.0, 33)
        assert_allclose(side.numbers(u), low * (high / low) ** u, rtol=1e-9)
        assert_allclose([side.coordinate(x) for x in side.numbers(u).tolist()], u, atol=1e-9)
        at = np.log(side.grid / low) / np.log(high / low)
        assert_allclose(side.middles(), at, atol=1e-12)
        rounded = side.rounded_to_grid(u)
        assert_allclose(np.abs(rounded - u), np.abs(at - u[:, None]).min(axis=1), atol=1e-12)
        assert np.isin(side.numbers(rounded), side.grid).all()
        wanted = np.array([low * 0.5, low * 1.07, high * 2])
        nearest = side.numbers(side.nearest_coordinates(wanted))
        assert_allclose(
            np.abs(nearest - wanted), np.abs(side.grid - wanted[:, None]).min(axis=1), atol=1e-12
        )
    for wrong in ((0, 1, -0.5), (0, 1, 0), (-1, 1, None, True), (1, 2, 0.1, True)):
        with pytest.raises(ValueError, match="must be"):
            Steps(*wrong)


class Word(Side):
    """Texts that are as far apart as their coordinates, one for each tenth."""

    def value(self, u):
        return "abcdefghij"[min(int(10 * u), 9)]

    def coordinate(self, value):
        return ("abcdefghij".index(value) + 0.5) / 10


def test_texts_without_columns_move_near_or_anywhere():
    space = ParameterSpace.from_bounds({"w": Word(), "x": (0.0, 1.0)})
    assert not space.ordered and not space.has_lists
    center = np.array([[0.05, 0.05]])
    found = space.neighbours(center, 4000, np.random.default_rng(0))
    far = [(np.abs(found - center[0]) > 0.5)[(found != center[0])[:, i], i].mean() for i in (0, 1)]
    assert_allclose(far[0], 0.5 * (0.45 + far[1]), atol=0.04)


def test_numbers_of_a_list_move_near_or_anywhere_and_words_anywhere():
    space = ParameterSpace.from_bounds({"n": range(1000), "w": list("abcdefghij"), "x": (0.0, 1.0)})
    center = np.array([[0.5005, 0.05, 0.5]])
    found = space.neighbours(center, 6000, np.random.default_rng(0))
    moved = found != center[0]
    # Near points are hardly ever farther than this.
    far = np.abs(found - center[0]) > 0.35
    shares = [far[moved[:, i], i].mean() for i in range(3)]
    near = np.mean(np.abs(points_near(space.bounds, center, 6000, np.random.default_rng(1))
                          - center[0]) > 0.35)  # fmt: skip
    # Anywhere, 0.3 of the numbers are that far, and 0.6 of the words.
    assert_allclose(shares, [0.5 * (0.3 + near), 0.6, near], atol=0.04)


class Odd(Falling):
    """A side with one wrong answer."""

    def __init__(self, columns=None, back=None):
        self._columns, self._back = columns, back

    def coordinate(self, value):
        return super().coordinate(value) if self._back is None else self._back

    def columns(self, u):
        return u[:, None] if self._columns is None else self._columns(u)


@pytest.mark.parametrize(
    ("side", "said"),
    [
        (Odd(lambda u: np.array([["a"]] * len(u))), r"got shape \(3, 1\) of <U1 for 3"),
        (Odd(lambda u: u[:2, None]), r"got shape \(2, 1\) of float64 for 3"),
        (Odd(lambda u: u[:, None, None]), r"got shape \(3, 1, 1\)"),
        (Odd(lambda u: np.where(u == 2.0, np.nan, u)[:, None]), "must be finite, got"),
        (Odd(lambda u: np.where(u == 3.0, np.inf, u)[:, None]), "must be finite, got"),
        (Odd(back="2"), "must return a number between 1.0 and 3.0, got '2' for the value 8.0"),
        (Odd(back=np.nan), "must return a number between 1.0 and 3.0, got nan"),
        (Odd(back=3.5), "must return a number between 1.0 and 3.0, got 3.5"),
        (Odd(back=0.5), "must return a number between 1.0 and 3.0, got 0.5"),
    ],
)
def test_wrong_answers_of_a_side_are_named(side, said):
    with pytest.raises(ValueError, match=said):
        ParameterSpace.from_bounds({"p": side})
    for right in (Odd(), Odd(lambda u: np.column_stack([u, u]).astype(int)), Odd(back=1.0)):
        ParameterSpace.from_bounds({"p": right})


def test_what_describes_no_space_is_refused():
    for wrong in ([], 3, [3], [{"a": [1, 2]}, 3]):
        with pytest.raises(TypeError, match="must be a dict of distributions or lists, or a list"):
            ParameterSpace(wrong)
    half = type("Half", (), {"ppf": None})()
    with pytest.raises(TypeError, match="must be a list of values or a frozen distribution"):
        ParameterSpace({"p": half})
    for constraints in ([3], [None]):
        with pytest.raises(TypeError, match="constraints must be texts"):
            Box({"x": (0, 1)}, constraints)
    with pytest.raises(TypeError, match="feasible must be a function of a setting"):
        Box({"x": (0, 1)}, feasible=3)
    for box, expected in (
        (Box({"x": (0, 1)}), False),
        (Box({"x": (0, 1)}, "x <= 1"), True),
        (Box({"x": (0, 1)}, feasible=bool), True),
    ):
        assert box.is_constrained is expected and dict(box) == {"x": (0, 1)} and len(box) == 1
    many = Box({"x": (0, 1), "y": (0, 1)}, ["x + y <= 2"] * 100)
    assert len(ParameterSpace.from_bounds(many).feasible.linear) == 100
    many.constraints.append("x <= 1")
    with pytest.raises(ValueError, match="at most 100 constraints, got 101"):
        ParameterSpace.from_bounds(many)


def test_a_space_of_given_axes_has_all_of_them_in_use():
    kinds = {"k": ["a", "b"], "n": range(5), "x": (0.0, 3.0)}
    axes = dict(ParameterSpace.from_bounds(kinds).axes)
    space = ParameterSpace.from_axes(axes)
    assert space.names == space.sides == list(kinds) and space.n_settings == np.inf
    assert space.setting(np.array([0.75, 0.5, 2.5])) == {"k": "b", "n": 2, "x": 2.5}
    assert ParameterSpace.from_axes({"k": axes["k"], "n": axes["n"]}).n_settings == 10
    with pytest.raises(ValueError, match=r"^row 1 of 2, counted from 0: n must be one of"):
        space.points([{"k": "a", "n": 4, "x": 1}, {"k": "a", "n": 5, "x": 1}])


def test_values_that_cannot_be_compared_differ():
    assert not equal(np.zeros(2), np.zeros(2)) and equal([1], [1]) and not equal(1, "1")
    same, other = [lambda: 0], [lambda: 0]
    space = ParameterSpace({"p": [same, other, same]})  # neither hashed nor pickled
    assert space.n_settings == 2 and space.setting(np.array([0.1]))["p"] is same
    assert Span("p", (0, 1)) == Span("q", (0.0, 1.0)) != Span("p", (0.0, 2.0))
    assert Span("p", (0, 1)) != Falling() and hash(Span("p", (0, 1))) == hash(Span("q", (0, 3)))
    assert named_box(space) is space and named_box([(0, 1)]) is None
    assert named_box({"x": (0, 1)}).names == ["x"]
