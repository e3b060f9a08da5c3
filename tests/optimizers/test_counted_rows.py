"""Answers of GPOO that say of how many rows they are the average."""

import pickle

import numpy as np
import pytest

from skgpb import GPOOOptimizer
from skgpb.feedback import RowAverage

BOUNDS = [(-6.0, 6.0), (-6.0, 6.0)]


def table(n=2000):
    """Rows in the middle of a box that is mostly empty, with a hill."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.exp(-((X - [1.0, 0.5]) ** 2).sum(axis=1)) + 0.1 * rng.normal(size=n)


X, Y = table()


def members(cell):
    return ((cell.lower <= X) & (cell.upper > X)).all(axis=1)


def office(cell):
    inside = members(cell)
    return RowAverage(Y[inside].mean() if inside.any() else None, int(inside.sum()))


def search(least=30):
    return GPOOOptimizer(bounds=BOUNDS, min_members=least, random_state=0)


def counts_told(opt):
    """Return the counts in their order, by a naive reading of the events."""
    return [(query, rest[0]) for kind, query, *rest in opt._events if kind == "rows"]


def test_a_run_goes_on_past_empty_cells_and_recommends_enough_rows():
    opt = search()
    result = opt.run(office, budget=60)
    counted = counts_told(opt)
    assert result.nfev == 60 and result.nfail == 0 and result.message == "the budget is spent"
    assert any(n == 0 for _, n in counted) and any(0 < n < 30 for _, n in counted)
    assert len(opt.history_) == sum(n > 0 for _, n in counted)
    best = opt.recommend()
    assert members(best).sum() >= 30
    assert Y[members(best)].mean() > 0.8
    assert members(opt.recommend(depth=3)).sum() >= 30 and opt.recommend(depth=3).depth <= 3


def test_no_cell_with_few_rows_is_asked_again_or_cut():
    opt = search()
    opt.run(office, budget=60)
    scarce = set()
    for query, n in counts_told(opt):
        above = {(query.depth - k, query.index >> k) for k in range(query.depth + 1)}
        assert not above & scarce
        if n < 30:
            scarce.add((query.depth, query.index))
    assert scarce
    tree = opt.tree_
    cut = tree.children[:, 0] >= 0
    assert not scarce & set(zip(tree.depth[cut].tolist(), tree.index[cut].tolist(), strict=True))


def test_an_answer_about_rows_teaches_as_any_other_and_none_teaches_nothing():
    plain, counted = search(), search()
    root = plain.ask()
    plain.tell(root, 0.3, 0.01)
    counted.tell(counted.ask(), 0.3, 0.01, count=2000)
    cell = counted.ask()
    before = counted.predict([[0.0, 0.0]], return_std=True)
    assert plain.predict([[0.0, 0.0]], return_std=True) == before
    counted.tell(cell, np.nan, count=0)
    assert counted.predict([[0.0, 0.0]], return_std=True) == before
    assert counted.ask() != cell and len(counted.failed_) == 0 and not counted.pending_[1:]


def test_the_best_is_the_cell_with_enough_rows_and_the_highest_mean():
    opt = search()
    opt.run(office, budget=40)
    enough = [query for query, n in counts_told(opt) if n >= 30]
    means = opt.predict_query(enough)
    assert opt.predict_query([opt.recommend()])[0] == pytest.approx(means.max(), abs=1e-9)


def test_counts_survive_files_copies_and_changes_of_events(tmp_path):
    opt = search()
    opt.run(office, budget=25)
    path = tmp_path / "run.skgpb"
    opt.save(path)
    twins = [
        GPOOOptimizer.load(path),
        pickle.loads(pickle.dumps(opt)),
        opt._repeat_events(opt._events),
    ]
    for twin in twins:
        assert twin.recommend() == opt.recommend() and twin.ask() == opt.ask()


def test_several_answers_with_their_counts():
    one, other = search(), search()
    cells = one.ask(3)
    assert other.ask(3) == cells
    answers = [office(cell) for cell in cells]
    counts = [answer.count for answer in answers]
    one.tell(cells, [float(each) for each in answers], count=counts)
    for cell, answer in zip(cells, answers, strict=True):
        other.tell(cell, answer)
    assert one.ask() == other.ask() and len(one.history_) == len(other.history_)


@pytest.mark.parametrize("count", [-1, 2.5, True, "many"])
def test_a_count_is_a_whole_number(count):
    opt = search().start()
    with pytest.raises(ValueError, match="count must be an integer >= 0, got"):
        opt.tell(opt.ask(), 1.0, count=count)
    assert len(opt._events) == 1


def test_counts_are_not_for_pools():
    opt = GPOOOptimizer(pool=X, random_state=0)
    with pytest.raises(ValueError, match="count must be None with a pool"):
        opt.tell(opt.ask(), 1.0, count=3)
