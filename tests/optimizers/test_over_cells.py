"""Queries over cells when nothing is known about f."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from skgpb import IDSOptimizer, KGOptimizer
from skgpb.domains import Cells
from skgpb.domains.arms import Layout
from skgpb.domains.free_cells import FreeCells

SQUARE = [(0.0, 1.0), (0.0, 1.0)]


def sides(query):
    return float((query.upper - query.lower)[0])


def asked(optimizer, answer, n):
    """Return the sides of the first queries."""
    found = []
    for _ in range(n):
        query = optimizer.ask()
        found.append(round(sides(query), 6))
        optimizer.tell(query, answer(query))
    return found


def trend(cell):
    return float(np.sin(3.0 * cell.points).mean())


def rippled(rng):
    """Averages of a trend with ripples as short as the smallest cell."""

    def answer(cell):
        x = cell.lower + (np.arange(64)[:, None] + 0.5) / 64 * (cell.upper - cell.lower)
        values = np.sin(3.0 * x) + 0.1 * np.cos(2.0 * np.pi * 13.0 * x)
        return float(values.mean() + 0.01 * rng.normal())

    return answer


def test_the_first_design_is_of_the_wanted_cells():
    optimizer = KGOptimizer(
        queries=Cells([0.4, 0.2, 0.1]), targets=Cells(0.2), bounds=SQUARE, random_state=0
    )
    assert set(asked(optimizer, trend, 10)) == {0.2}
    centers = optimizer.surrogate_.process_.observed.rows.reshape(-1, 2, 2).mean(axis=1)
    # They fill the room that their centres have, one in each half of it along either axis.
    assert (centers > 0.1).all()
    assert (centers < 0.9).all()
    assert_allclose((centers < 0.5).mean(axis=0), 0.5, atol=0.11)


def test_every_other_answer_is_of_a_wanted_cell():
    optimizer = KGOptimizer(
        queries=Cells([0.1, 0.2, 0.4]), targets=Cells(0.2), bounds=[(0.0, 1.0)], random_state=0
    )
    found = asked(optimizer, rippled(np.random.default_rng(0)), 30)
    assert set(found[10::2]) == {0.2}
    # The others are of whatever size tells most, which under ripples is not always theirs.
    assert set(found[11::2]) != {0.2}


@pytest.mark.slow
@pytest.mark.parametrize("context", [None, [0.5]], ids=["", "in a context"])
def test_where_wanted_cells_are_dearer_no_less_money_is_for_them(context):
    contexts = {} if context is None else {"context_bounds": [(0.0, 1.0)]}
    optimizer = KGOptimizer(
        queries=Cells([0.3, 0.1]),
        cost=[1.0, 4.0],
        targets=Cells(0.1),
        bounds=[(0.0, 1.0)],
        random_state=0,
        **contexts,
    )
    rng, spent = np.random.default_rng(0), {0.3: 0.0, 0.1: 0.0}
    for t in range(60):
        query = optimizer.ask(context=context) if context else optimizer.ask()
        side = round(float(query.upper[-1] - query.lower[-1]), 6)
        if t == 10:
            assert min(spent.values()) > 0.0  # both sizes in turn
        if t >= 10 and spent[0.1] <= spent[0.3]:
            assert side == 0.1
        spent[side] += {0.3: 1.0, 0.1: 4.0}[side]
        optimizer.tell(query, float(np.sin(5 * query.points[:, -1]).mean() + 0.1 * rng.normal()))
    assert spent[0.1] >= spent[0.3]
    assert optimizer.spent_ == sum(spent.values())


def test_the_money_of_what_is_pending_counts():
    settings = {"queries": Cells([0.3, 0.1]), "cost": [1.0, 4.0], "targets": Cells(0.1)}
    optimizer = KGOptimizer(**settings, bounds=[(0.0, 1.0)], n_initial=0, random_state=0)
    first, *rest = [round(sides(query), 6) for query in optimizer.ask(6)]
    assert first == 0.1
    assert rest.count(0.1) * 4.0 <= rest.count(0.3) + 4.0


def test_money_for_any_of_several_wanted_sizes_counts():
    price = {0.1: 4.0, 0.2: 2.0, 0.4: 1.0}
    optimizer = KGOptimizer(
        queries=Cells([*price]),
        cost=[*price.values()],
        targets=Cells([0.1, 0.2]),
        bounds=[(0.0, 1.0)],
        n_initial=6,
        random_state=0,
    )
    found = asked(optimizer, trend, 12)
    assert set(found) == set(price)
    assert optimizer._target_sizes.spent == sum(price[side] for side in found if side != 0.4)


def test_a_batch_takes_turns_as_well():
    optimizer = KGOptimizer(
        queries=Cells([0.1, 0.2]), targets=Cells(0.2), bounds=[(0.0, 1.0)], random_state=0
    )
    asked(optimizer, trend, 10)
    batch = optimizer.ask(4)
    assert [round(sides(query), 6) for query in batch[::2]] == [0.2, 0.2]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"kernel": RBF(0.2), "n_initial": 6}, {0.1, 0.4}),
        ({"targets": Cells(0.3)}, {0.1, 0.4}),
    ],
    ids=["kernel given", "not to be asked"],
)
def test_sizes_take_turns_where_none_is_to_be_preferred(settings, expected):
    given = {"queries": Cells([0.1, 0.4]), "targets": Cells(0.1), "bounds": SQUARE} | settings
    assert set(asked(KGOptimizer(**given, random_state=0), trend, 6)) == expected


def test_rules_that_do_not_count_on_their_posterior_ask_what_they_like():
    optimizer = IDSOptimizer(
        queries=Cells([0.05, 0.2]), targets=Cells(0.2), bounds=[(0.0, 1.0)], random_state=0
    )
    found = asked(optimizer, rippled(np.random.default_rng(0)), 30)
    assert set(found[:10]) == {0.2}
    assert 0.05 in found[10::2]


def test_ripples_are_not_taken_for_noise():
    # The noise is 0.01; a model with the length scale of the trend alone would need 0.05.
    optimizer = KGOptimizer(
        queries=Cells([0.1, 0.05, 0.025]), targets=Cells(0.1), bounds=[(0.0, 1.0)], random_state=0
    )
    asked(optimizer, rippled(np.random.default_rng(0)), 40)
    assert optimizer.alpha_ < 0.025**2


def test_which_sizes_are_among_others():
    cells = FreeCells(
        np.array([[0.1], [0.2], [0.4]]), np.array([[0.0, 1.0]]), 40, Layout(1, counts=(3,)), [0]
    )
    assert cells.sizes_like(np.array([[0.4], [0.1 + 1e-12], [0.3]])).tolist() == [0, 2]
    assert cells.sizes_like(np.array([[0.3]])).tolist() == []
