"""The first arms, pulled while no model of the rewards could be trusted."""

from __future__ import annotations

import cases
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import defaults
from skgpb.domains.first_design import first_points
from skgpb.kernels import CellAverage
from skgpb.optimizers import EIOptimizer, GPTSOptimizer, GPUCBOptimizer, MESOptimizer

BOX = np.array([[-1.0, 1.0], [0.0, 3.0]])
ARMS = np.stack(np.meshgrid(np.linspace(-1, 1, 9), np.linspace(0, 3, 9)), -1).reshape(-1, 2)
DOMAINS = {"box": {"bounds": BOX}, "arms": {"arms": ARMS}}


@pytest.fixture(params=DOMAINS)
def domain(request):
    return DOMAINS[request.param]


def f(arm):
    return float(np.sin(np.asarray(arm)).sum())


def play(optimizer, n):
    arms = []
    for _ in range(n):
        arms.append(optimizer.ask())
        optimizer.tell(arms[-1], f(arms[-1]))
    return arms


def by_rule(optimizer):
    """Return whether the next arm has the largest score."""
    optimizer.start()
    rows, scores = cases.rows(optimizer), cases.scores(optimizer)
    best = np.flatnonzero(scores >= scores.max() - 1e-9)[0]
    return bool((rows[best] == optimizer.ask().descriptor).all())


def places(arms):
    return np.array([arm.center for arm in arms])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", [GPUCBOptimizer, EIOptimizer, GPTSOptimizer, MESOptimizer])
def test_first_arms_are_the_same_for_every_rule_and_fill_the_space(cls, domain):
    optimizer = cls(**domain, random_state=3)
    asked = places(play(optimizer, defaults.N_INITIAL))
    other = places(play(EIOptimizer(**domain, random_state=3), defaults.N_INITIAL))
    np.testing.assert_array_equal(asked, other)
    # Ten points of a Sobol sequence are in every quarter of either side.
    for quarters in (np.floor(2 * asked[:, 0]), np.floor(asked[:, 1] / 0.75)):
        assert len(np.unique(quarters)) >= 4
    assert by_rule(optimizer)


def test_in_a_box_they_are_points_of_a_sobol_sequence():
    optimizer = GPUCBOptimizer(bounds=BOX, random_state=0)
    asked = places(play(optimizer, defaults.N_INITIAL))
    sequence = first_points(BOX, defaults.N_INITIAL, optimizer.run_.seed)
    np.testing.assert_array_equal(asked[0], sequence[0])
    np.testing.assert_array_equal(np.unique(asked, axis=0), np.unique(sequence, axis=0))


@pytest.mark.parametrize("seed", range(5))
def test_the_first_of_all_is_no_corner(seed):
    first = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=seed).ask().points.item()
    assert 0.0 < first < 1.0
    arms = np.linspace(0, 1, 101)[:, None]
    firsts = {GPUCBOptimizer(arms=arms, random_state=seed).ask().index for seed in range(5)}
    assert len(firsts) > 1


def test_a_kernel_that_is_given_is_relied_on_at_once(domain):
    assert by_rule(GPUCBOptimizer(RBF(0.5), **domain, random_state=0))
    assert by_rule(GPUCBOptimizer(**domain, n_initial=0, random_state=0))
    optimizer = GPUCBOptimizer(RBF(0.5), **domain, n_initial=3, random_state=0)
    assert len(np.unique(places(play(optimizer, 3)), axis=0)) == 3
    assert by_rule(optimizer)


def test_a_batch_has_the_arms_of_a_run_one_by_one(domain):
    batch = GPUCBOptimizer(**domain, random_state=1).ask(defaults.N_INITIAL)
    one_by_one = play(GPUCBOptimizer(**domain, random_state=1), defaults.N_INITIAL)
    np.testing.assert_array_equal(places(batch), places(one_by_one))
    # Answers may come in any order, and others are asked meanwhile.
    optimizer = GPUCBOptimizer(**domain, random_state=1)
    pending = optimizer.ask(4)
    optimizer.tell(pending[2], 1.0)
    optimizer.tell(pending[0], -1.0)
    rest = optimizer.ask(defaults.N_INITIAL - 4)
    np.testing.assert_array_equal(places([*pending, *rest]), places(batch))


def test_what_was_told_counts_and_is_kept_away_from(domain):
    optimizer = GPUCBOptimizer(**domain, random_state=0)
    rng = np.random.default_rng(0)
    # However many are told, they count where they lie: a quarter by a third of the sides.
    for x in rng.uniform(size=(3 * defaults.N_INITIAL, 2)) * [0.5, 1.0] + [-1.0, 0.0]:
        optimizer.tell(x, f(x))
    asked = []
    while not by_rule(optimizer):
        asked += play(optimizer, 1)
    # A twelfth of the box is known, and at most that and a neighbour of the design in it.
    assert defaults.N_INITIAL - 3 <= len(asked) < defaults.N_INITIAL
    assert ((places(asked)[:, 0] > -0.5) | (places(asked)[:, 1] > 1.0)).all()


def test_what_is_known_everywhere_leaves_no_first_arms(domain):
    X = first_points(BOX, 64, seed=9)
    assert by_rule(GPUCBOptimizer(**domain, random_state=0).fit(X, np.sin(X).sum(axis=1)))


def test_failures_are_replaced_and_not_repeated(domain):
    optimizer = GPUCBOptimizer(**domain, random_state=0)
    failed = []
    for _ in range(4):
        failed.append(optimizer.ask())
        optimizer.tell(failed[-1], None)
    asked = [*failed, *play(optimizer, defaults.N_INITIAL)]
    assert len(np.unique(places(asked), axis=0)) == defaults.N_INITIAL + 4
    assert by_rule(optimizer)


def test_of_few_arms_every_one_is_pulled_once():
    arms = np.array([[0.0], [0.1], [0.1], [1.0], [5.0]])
    asked = play(GPUCBOptimizer(arms=arms, random_state=0), 4)
    assert len(np.unique(places(asked))) == 4


def test_arms_may_be_boxes():
    lower = np.linspace(0.0, 0.8, 30)[:, None]
    arms = np.hstack([lower, lower + 0.2])
    optimizer = GPUCBOptimizer(CellAverage(RBF(0.2), 5), arms=arms, n_initial=4, random_state=0)
    centers = np.sort(places(play(optimizer, 4)).ravel())
    np.testing.assert_array_equal(np.floor(4 * centers), range(4))
    over_box = GPUCBOptimizer(
        CellAverage(RBF(0.2), 5), bounds=[(0.0, 1.0)], n_initial=4, random_state=0
    )
    assert len(np.unique(places(play(over_box, 4)))) == 4


def test_a_saved_run_goes_on_with_the_same_first_arms(domain, tmp_path):
    optimizer = GPUCBOptimizer(**domain, random_state=None)
    play(optimizer, 3)
    pending = optimizer.ask(2)
    optimizer.save(tmp_path / "run.skgpb")
    resumed = GPUCBOptimizer.load(tmp_path / "run.skgpb")
    assert resumed.ask(2) == pending
    for each in (optimizer, resumed):
        each.tell(pending[1], 0.0)
    assert resumed.ask(6) == optimizer.ask(6)


def test_looking_does_not_change_them(domain):
    optimizer, other = (GPUCBOptimizer(**domain, random_state=0) for _ in range(2))
    play(optimizer, 2), play(other, 2)
    optimizer.recommend(), cases.scores(optimizer), optimizer.predict(ARMS)
    assert optimizer.ask(8) == other.ask(8)


@pytest.mark.parametrize("n_initial", [-1, 1.5, "10", 10**9])
def test_a_bad_number_is_refused(n_initial):
    with pytest.raises((ValueError, TypeError), match="n_initial"):
        GPUCBOptimizer(bounds=BOX, n_initial=n_initial).ask()
