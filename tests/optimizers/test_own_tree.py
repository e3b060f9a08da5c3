"""A tree search by a rule of one's own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer
from skgpb.optimizers import TreeSearch
from skgpb.testing import OptimizerContract

BOUNDS = [(-1.0, 1.0), (0.0, 3.0)]
POOL = np.random.default_rng(7).uniform([-1.0, 0.0], [1.0, 3.0], size=(120, 2))


class AsGPOO(TreeSearch):
    """Algorithm 1 of GPOO, its line 6 after the reward."""

    def acquisition(self, leaves):
        return leaves.mean + np.sqrt(leaves.beta) * leaves.std + leaves.variation

    def splits(self, leaves):
        return leaves.asked & (np.sqrt(leaves.beta) * leaves.std <= leaves.variation)


class Drawn(TreeSearch):
    """Thompson sampling over leaves."""

    def acquisition(self, leaves):
        return leaves.draws(1)[0]

    def splits(self, leaves):
        return leaves.n_evaluations >= 2


def answer(query):
    return float(np.exp(-((np.asarray(query.points) - 0.4) ** 2).sum(axis=1)).mean())


@pytest.mark.one_in(8)
class TestOnesOwnTree(OptimizerContract):
    """All that its author writes."""

    def make(self):
        return Drawn(RBF([0.5, 0.8]), bounds=BOUNDS, alpha=0.01, n_children=3, random_state=0)

    def make_with_names(self, names):
        return self.make().set_params(bounds=names(BOUNDS))

    def outside(self, optimizer):
        return POOL[:3]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("domain", "learned"),
    [
        ({"bounds": BOUNDS}, False),
        ({"pool": POOL}, False),
        ({"bounds": BOUNDS, "n_children": 3}, False),
        ({"bounds": BOUNDS}, True),
    ],
)
def test_the_rule_of_gpoo_asks_what_gpoo_asks(domain, learned):
    how = {"kernel": None if learned else RBF([0.5, 0.8]), "alpha": None if learned else 0.01}
    how |= domain | {"random_state": 0, "variation": (3.0, 0.6), "beta": 4.0}
    own, gpoo = AsGPOO(**how), GPOOOptimizer(expansion="after", **how)
    for t in range(25):
        for one, other in zip(own.ask(2), gpoo.ask(2), strict=True):
            assert one == other
        if t % 3:
            own.tell(one, answer(one))
            gpoo.tell(one, answer(one))
        else:
            own.tell(own.ask(), answer(own.ask()))
            gpoo.tell(gpoo.ask(), answer(gpoo.ask()))
    assert len(own.tree_.depth) == len(gpoo.tree_.depth) > 10
    assert own.recommend() == gpoo.recommend()
    assert own.recommend("paper") == gpoo.recommend("paper")
    assert_allclose(own.gap(), gpoo.gap())


def test_leaves_are_those_of_the_tree():
    seen = []

    class Looking(AsGPOO):
        def splits(self, leaves):
            seen.append(leaves)
            return super().splits(leaves)

    opt = Looking(RBF(0.3), bounds=[(0, 1)], alpha=0.01, beta=4.0, variation=(3.0, 0.5))
    for _ in range(12):
        opt.tell(opt.ask(), 0.5)
    last = seen[-1]
    asked = opt.history_["descriptor"][-1]
    assert np.column_stack([last.lower, last.upper])[last.asked].tolist() == [asked.tolist()]
    assert last.n_evaluations[last.asked] == np.sum((opt.history_["descriptor"] == asked).all(1))
    # Draws have the moments of the leaves, to four standard errors of 4,000 draws.
    drawn = last.draws(4000)
    assert_allclose(drawn.mean(axis=0), last.mean, atol=4 * last.std.max() / np.sqrt(4000))
    assert_allclose(drawn.std(axis=0), last.std, rtol=4 / np.sqrt(2 * 4000), atol=1e-9)


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("acquisition", lambda leaves: np.full(len(leaves), np.nan)),
        ("acquisition", lambda leaves: 1.0),
        ("splits", lambda leaves: np.ones(len(leaves))),
        ("splits", lambda leaves: True),
    ],
)
def test_what_a_rule_may_not_say_is_refused_and_changes_nothing(method, value):
    opt = AsGPOO(RBF(0.3), bounds=[(0, 1)], alpha=0.01)
    query = opt.ask()
    setattr(opt, method, value)
    if method == "acquisition":
        with pytest.raises(ValueError, match="acquisition of AsGPOO must return"):
            opt.ask(2)
    else:
        with pytest.raises(ValueError, match=r"splits of AsGPOO must return .*(float64 of|True)"):
            opt.tell(query, 1.0)
        assert len(opt.history_) == 0
    delattr(opt, method)
    opt.tell(opt.ask(), 1.0)
    assert len(opt.history_) == 1


def test_a_rule_knows_the_round_and_has_the_same_numbers_at_each_call():
    rounds, numbers = [], []

    class Noting(Drawn):
        def acquisition(self, leaves):
            rounds.append(leaves.t)
            numbers.append(leaves.rng.random())
            return leaves.mean

    opt = Noting(RBF(0.3), bounds=[(0, 1)], alpha=0.01, random_state=0)
    for _ in range(3):
        opt.tell(opt.ask(), 0.5)
    opt.ask(3)  # pending queries count as answered
    assert list(dict.fromkeys(rounds)) == [1, 2, 3, 4, 5, 6]
    assert len(set(numbers)) == 6
