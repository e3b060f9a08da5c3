"""Domains of cells and balls: they make queries, tell their own from others, and refine them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgpb.domains import Ball, Cell, PointsQuery
from skgpb.domains.balls import Balls
from skgpb.domains.contexts import ContextPartition
from skgpb.domains.covering import ChebyshevCovering, EuclideanCovering
from skgpb.domains.partition import BoxPartition, PoolPartition

BOUNDS = np.array([[0.0, 1.0], [-2.0, 5.0]])
POOL = np.random.default_rng(0).normal(size=(40, 2))


def box(counts=(2, 3)):
    return BoxPartition(BOUNDS, 3, counts, at_center=max(counts) == 1, max_depth=4)


def split_some(partition):
    for node in (0, 2, 4):
        partition.split(node)
    return partition


@pytest.mark.parametrize(
    "partition",
    [box(), box((1, 1)), PoolPartition(POOL, 3, 4, max_depth=2)],
    ids=["box", "centres", "pool"],
)
def test_a_partition_resolves_its_cells_and_no_others(partition):
    split_some(partition)
    for node in range(partition.tree.n_nodes):
        cell = partition.cell(node)
        partition.resolve(cell)
        assert partition.node_of(cell) == node
        assert_array_equal(partition.rows_of_query(cell), partition.row_set(node))
        assert_array_equal(cell.box, np.concatenate([cell.lower, cell.upper]))
    partition.resolve(partition.cell_at(partition.max_depth, 0))  # the tree has not reached it
    cell = partition.cell(1)
    moved = Cell(cell.depth, cell.index, cell.lower + 0.1, cell.upper + 0.1, cell.spec)
    deep = Cell(partition.max_depth + 2, 0, cell.lower, cell.upper, cell.spec)
    for query in (moved, deep):
        with pytest.raises(ValueError, match="not a cell of this optimizer's partition"):
            partition.resolve(query)
    points = PointsQuery(BOUNDS.T.copy())
    assert partition.node_of(points) == -1
    assert_array_equal(partition.rows_of_query(points), partition.rows_of(points.points))


def test_refining_a_copy_leaves_the_partition_alone():
    partition = split_some(box())
    before = partition.tree.n_nodes
    regions = partition.copy()
    front = regions.front(2)
    # Leaves down to depth 2, and the split cells of depth 2 for what lies below them.
    assert sorted(front) == [1, 3, 4, 5, 6]
    children = regions.finer(front, finest_depth=2)
    assert len(children) == 6 and all(regions.tree.node(node)[0] == 2 for node in children)
    assert regions.finer(children, finest_depth=2) == []
    assert partition.tree.n_nodes == before and regions.tree.n_nodes > before
    assert_array_equal(partition.expanded, [0, 2, 4])


@pytest.mark.parametrize("spec", [None, (2, 2)])
def test_balls_resolve_those_of_any_radius_and_those_inside(spec):
    balls = Balls(BOUNDS, ChebyshevCovering(2), spec)
    large = balls.ball(0)
    for _ in range(3):
        balls.shrink(0)
    assert balls.ball(0) != large and len(balls) > 1
    for index in range(len(balls)):
        balls.resolve(balls.ball(index))
    balls.resolve(large)  # as large as it was
    place = balls.finer(balls.front(3), finest_depth=4)[-1]
    inside = balls.query(place)
    balls.resolve(inside)
    assert inside.index == -1 and inside.depth == place[1]
    assert_array_equal(balls.row_set(place), balls.rows_of_query(inside))
    rows = balls.rows_of_query(large)
    assert_array_equal(rows[0], np.tile(large.center, 2) if spec is None else large.box)
    strange = Ball(0, 0, large.center + 0.1, 1.0, large.lower, large.upper, spec)
    beyond = Ball(len(balls), 0, large.center, 1.0, large.lower, large.upper, spec)
    outside = Ball(-1, 2, BOUNDS[:, 1] + 1.0, 0.25, BOUNDS[:, 1], BOUNDS[:, 1] + 2.0, spec)
    for query in (strange, beyond, outside):
        with pytest.raises(ValueError, match="not a ball of this optimizer"):
            balls.resolve(query)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("covering", [ChebyshevCovering, EuclideanCovering])
def test_a_ball_is_what_the_box_has_within_its_radius(seed, covering):
    rng = np.random.default_rng(seed)
    balls = Balls(BOUNDS, covering(2), (2, 2))
    lower, upper = BOUNDS.T
    center = np.where(rng.random(2) < 0.3, rng.integers(0, 2, 2), rng.random(2))
    depth = int(rng.integers(0, 4))
    ball, radius = balls.ball_at(center, depth), balls.covering.diameter / 2**depth
    assert ball.radius == radius and ball.depth == depth
    for corner, sign in ((ball.lower, -1.0), (ball.center, 0.0), (ball.upper, 1.0)):
        expected = lower + np.clip(center + sign * radius, 0.0, 1.0) * (upper - lower)
        assert_allclose(corner, expected)
    t = rng.uniform(-1.0, 1.0, (200, 2))
    points = balls.within(center, depth, t)
    assert ((ball.lower <= points) & (points <= ball.upper)).all()
    apart = (points - ball.center) / (upper - lower)
    inside = ((lower < points) & (points < upper)).all(axis=1)
    if covering is EuclideanCovering:
        assert (np.linalg.norm(apart, axis=1) <= radius * (1 + 1e-12)).all()
        inside &= np.linalg.norm(t, axis=1) <= 1.0
    assert_allclose(apart[inside], radius * t[inside], atol=1e-12)


def test_finer_balls_are_at_the_centre_of_a_ball_and_half_its_radius_away():
    balls = Balls(BOUNDS, ChebyshevCovering(2), None)
    center, diameter = balls.front(0)[0][0], balls.covering.diameter
    for depth in (1, 2):
        steps = {tuple(c - center) for c, _, _ in balls.finer([(center, depth - 1, 0)], 5)}
        half = diameter * 0.5**depth
        assert steps == {(0, 0), (half, 0), (-half, 0), (0, half), (0, -half)}
    finer = balls.finer([(center, 0, 0), (center, 1, 0), (center, 2, 0)], 2)
    assert [depth for _, depth, _ in finer] == [1] * 5 + [2] * 5
    assert {index for _, _, index in finer} == {-1}
    assert all(balls.query(place).index == -1 for place in finer)


def test_the_balls_as_arrays_know_which_made_which_necessary():
    balls = Balls(BOUNDS, ChebyshevCovering(2), None)
    added = [balls.shrink(ball) for ball in (0, 0, 0, 1, 1)]
    arrays = balls.arrays()
    assert_array_equal(arrays["depth"], balls.covering.depth)
    for ball, new in zip((0, 0, 0, 1, 1), added, strict=True):
        if new is not None:
            assert arrays["parent"][new] == ball
            assert new in arrays["children"][ball]
    assert len([new for new in added if new is not None]) == len(balls) - 1


def test_cells_are_played_in_the_contexts_that_they_contain():
    domain = ContextPartition(split_some(box()), BOUNDS[:1])
    for context in (np.array([0.0]), np.array([1 / 3]), np.array([1.0])):
        relevant = domain.relevant(context)
        boxes = domain.tree.box(0, domain.tree.n_nodes)[relevant]
        # Every action belongs to one relevant cell.
        assert (boxes[:, 3] - boxes[:, 1]).sum() == pytest.approx(7.0, rel=1e-12)
        for node in relevant.tolist():
            query = domain.query_in_context(node, context)
            assert_array_equal(query.context, context)
            domain.resolve(query)
            assert domain.node_of(query) == node
            assert_array_equal(domain.rows_of_query(query), domain.candidate(node, context))
    domain.resolve(domain.cell(1))
    with pytest.raises(ValueError, match="not a cell"):
        domain.resolve(
            domain.query_in_context(1, np.array([0.9]))
        )  # the first third has no such context


@pytest.mark.parametrize("K", [2, 3])
def test_cells_that_are_too_deep_or_of_other_boxes_are_refused(K):
    partition, deeper = (BoxPartition(BOUNDS, K, (2, 3), max_depth=depth) for depth in (3, 9))
    partition.resolve(deeper.cell_at(4, K**4 - 1))
    others = [deeper.cell_at(5, 0), BoxPartition(BOUNDS[:1], K, (2,)).cell_at(1, 0)]
    values = {name: getattr(partition.cell_at(2, 1), name) for name in Cell.arguments}
    others += [
        Cell(**(values | change)) for change in ({"index": K**2 + 1}, {"index": -1}, {"depth": -1})
    ]
    for query in others:
        with pytest.raises(ValueError, match="not a cell of this optimizer's partition"):
            partition.resolve(query)


def test_a_ball_may_make_several_others_necessary():
    balls, made = Balls(BOUNDS, ChebyshevCovering(2), None), {}
    for ball in (0, 0, 1, 2, 2, 2, 3, 4, 4, 0, 2, 3):
        if (added := balls.shrink(ball)) is not None:
            made.setdefault(ball, []).append(added)
    arrays = balls.arrays()
    assert max(map(len, made.values())) > 1
    assert arrays["children"].shape == (len(balls), max(map(len, made.values())))
    for ball in range(len(balls)):
        own = arrays["children"][ball]
        assert own[own >= 0].tolist() == made.get(ball, [])
        each = balls.ball(ball)
        for name in ("lower", "upper", "center", "radius", "depth"):
            assert_array_equal(arrays[name][ball], getattr(each, name))
    assert_array_equal(arrays["index"], np.arange(len(balls)))
    first = Balls(BOUNDS, ChebyshevCovering(2), None).arrays()
    assert first["children"].tolist() == [[-1]] and first["parent"].tolist() == [-1]
