"""Answers in blocks that shift them: days, operators, batches of material."""

import pickle

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from skgpb import EIOptimizer, GPTSOptimizer, GPUCBOptimizer, KGOptimizer

BOUNDS = {"heat": (0.0, 10.0), "oil": ["A", "B"]}
SHIFTS = {"Ann": 2.0, "Bob": -2.0, "Cid": 0.5}


def height(params):
    return 10.0 - 0.5 * (params["heat"] - 6.0) ** 2 + 2.0 * (params["oil"] == "A")


def play(optimizer, n, seed=0, blocks=True, names=("Ann", "Bob")):
    rng = np.random.default_rng(seed)
    for i in range(n):
        name = names[i % len(names)]
        query = optimizer.ask()
        reward = height(query.params) + SHIFTS[name] + 0.3 * rng.normal()
        optimizer.tell(query, reward, **({"block": name} if blocks else {}))
    return optimizer


def test_a_constant_shift_is_no_noise():
    found = {
        blocks: play(GPUCBOptimizer(bounds=BOUNDS, random_state=0), 24, blocks=blocks)
        for blocks in (True, False)
    }
    noise = {blocks: np.sqrt(opt.alpha_) for blocks, opt in found.items()}
    assert noise[True] < 0.6 and noise[False] > 1.3
    means, _ = found[True]._model.process.effects(2)
    assert abs(means[0] - means[1] - 4.0) < 0.5


def test_replicates_of_two_operators_four_apart():
    runs = {}
    for blocks in (True, False):
        opt = runs[blocks] = EIOptimizer(bounds={"heat": (0, 10)}, random_state=0)
        told = [(2.0, 60.0), (4.0, 70.0), (8.0, 66.0), (9.0, 58.0), (6.0, 74.0), (6.0, 73.0)]
        for heat, reward in told:
            opt.tell({"heat": heat}, reward, **({"block": "Bob"} if blocks else {}))
        for heat, reward in [(6.0, 79.5), (2.0, 65.5), (8.0, 71.5), (9.0, 63.0)]:
            opt.tell({"heat": heat}, reward, **({"block": "Ann"} if blocks else {}))
        opt._fit_model()
    assert np.sqrt(runs[True].alpha_) < 1.5 < 2.5 < np.sqrt(runs[False].alpha_)


@pytest.mark.slow
@pytest.mark.parametrize("Optimizer", [GPUCBOptimizer, EIOptimizer, GPTSOptimizer, KGOptimizer])
def test_a_run_with_blocks_is_saved_pickled_and_repeated(Optimizer, tmp_path):
    opt = play(Optimizer(bounds=BOUNDS, random_state=1), 6, blocks=False)
    opt = play(opt, 7, seed=1, names=list(SHIFTS))
    path = tmp_path / "run.skgpb"
    opt.save(path)
    twins = [Optimizer.load(path), pickle.loads(pickle.dumps(opt)), opt._repeat_events(opt._events)]
    X = [{"heat": x, "oil": "B"} for x in (1.0, 6.0)]
    for twin in twins:
        assert_allclose(twin.predict(X, return_std=True), opt.predict(X, return_std=True))
        assert twin.run_.blocks == {"Ann": 1, "Bob": 2, "Cid": 3}
        assert_allclose(twin._model.process.effects(3)[0], opt._model.process.effects(3)[0])
    asked = play(opt, 3, seed=2).ask()
    assert all(play(twin, 3, seed=2).ask() == asked for twin in twins)


def test_a_file_that_was_learned_before_the_first_block_is_read(tmp_path):
    opt = play(GPUCBOptimizer(bounds=BOUNDS, random_state=1), 8, blocks=False)
    opt.tell({"heat": 5.0, "oil": "A"}, 14.0, block="Ann")
    assert (
        len(opt._events[-1]) == 5
        and opt._model.found.theta.shape < opt._model.process.kernel.theta.shape
    )
    opt.save(tmp_path / "run.skgpb")
    again = GPUCBOptimizer.load(tmp_path / "run.skgpb")
    assert_allclose(again._model.process.kernel.theta, opt._model.process.kernel.theta)
    X = [{"heat": 2.0, "oil": "A"}]
    assert_allclose(again.predict(X, return_std=True), opt.predict(X, return_std=True))


def test_smaller_is_better_in_blocks_too():
    plus = play(GPUCBOptimizer(bounds=BOUNDS, random_state=0), 12)
    minus = GPUCBOptimizer(bounds=BOUNDS, direction="minimize", random_state=0)
    for event in plus._events:
        if event[0] == "tell":
            minus.tell(event[1].params, -event[2], block=event[4])
    X = [{"heat": 3.0, "oil": "A"}]
    assert_allclose(minus.predict(X), -plus.predict(X), rtol=1e-6)


def test_several_answers_are_told_at_once():
    one, all_ = (EIOptimizer(bounds=BOUNDS, random_state=0) for _ in range(2))
    settings = [{"heat": float(x), "oil": "AB"[x % 2]} for x in range(10)]
    rewards, blocks = [height(each) for each in settings], ["Ann", "Bob", None] * 3 + ["Ann"]
    for setting, reward, block in zip(settings, rewards, blocks, strict=True):
        one.tell(setting, reward, block=block)
    all_.tell(settings, rewards, block=blocks)
    assert_allclose(one.predict(settings), all_.predict(settings))
    all_.tell(settings[:2], [None, 3.0], block=[None, "Bob"])
    assert len(all_.failed_) == 1


def test_outcomes_with_limits_have_blocks_of_their_own():
    opt = EIOptimizer(bounds={"heat": (0, 10)}, limits={"peak": (None, 8.0)}, random_state=0)
    for x in range(10):
        block = ["Ann", "Bob"][x % 2]
        peak = 0.8 * x + (1.5 if block == "Ann" else -1.5)
        opt.tell({"heat": float(x)}, 0.1 * x, outcomes={"peak": peak}, block=block)
    model = cases.outcome_model(opt, "peak")
    assert model.process.observed.strata.tolist() == [1, 2] * 5
    means, _ = model.process.effects(2)
    assert means[0] - means[1] > 1.5


@pytest.mark.parametrize(
    ("parameters", "block", "message"),
    [
        ({"kernel": RBF(2.0)}, "Ann", "block needs a kernel that is learned"),
        ({}, "", "block must be a name that is not empty"),
        ({}, 3, "block must be a name that is not empty"),
        ({}, ["Ann"], "block must be a name that is not empty"),
    ],
)
def test_what_is_no_block_is_refused_before_anything_changes(parameters, block, message):
    opt = GPUCBOptimizer(bounds={"heat": (0, 10)}, random_state=0, **parameters)
    with pytest.raises(ValueError, match=message):
        opt.tell({"heat": 3.0}, 1.0, block=block)
    opt.start()
    with pytest.raises(ValueError, match=message):
        opt.tell({"heat": 3.0}, 1.0, block=block)
    assert not opt._events


def test_a_failure_has_no_block():
    opt = GPUCBOptimizer(bounds={"heat": (0, 10)}, random_state=0)
    with pytest.raises(ValueError, match="failed has no block"):
        opt.tell({"heat": 3.0}, None, block="Ann")


@pytest.mark.filterwarnings("error")
def test_a_block_with_one_answer_and_one_block_alone():
    opt = play(EIOptimizer(bounds=BOUNDS, random_state=0), 9, names=["Ann"])
    opt.tell({"heat": 6.0, "oil": "A"}, 11.0, block="Cid")
    mean, std = opt.predict([{"heat": 6.0, "oil": "A"}], return_std=True)
    assert np.isfinite([mean[0], std[0]]).all()
