"""Runs whose answers contradict the model."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import CMETSOptimizer, GPOOOptimizer, GPUCBOptimizer
from skgpb.exceptions import ModelWarning

BOX = {"bounds": [(0.0, 1.0)], "random_state": 0}


def waves(query):
    return float(np.cos(5.0 * query.points).mean())


def test_a_kernel_that_is_far_too_smooth_is_told_of():
    optimizer = GPUCBOptimizer(RBF(1.0), alpha=1e-10, **BOX)
    with pytest.warns(ModelWarning, match=r"answers differ .*kernel=None") as caught:
        result = optimizer.run(waves, 40)
    assert sum(each.category is ModelWarning for each in caught) == 1
    assert "RBF(length_scale=1)" in result.model["beware"]
    assert repr(result).splitlines()[-1].split(maxsplit=1) == ["beware", result.model["beware"]]


@pytest.mark.parametrize("cls", [GPUCBOptimizer, GPOOOptimizer])
def test_there_is_no_warning_if_the_kernel_is_learned(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        rng = np.random.default_rng(0)
        result = cls(**BOX).run(lambda query: waves(query) + 0.05 * rng.normal(), 40)
    assert result.model.keys() == {"noise"}
    assert "beware" not in repr(result)


def test_noise_above_alpha_is_reported():
    rng = np.random.default_rng(0)
    optimizer = GPUCBOptimizer(RBF(0.3), arms=[[0.0], [1.0]], alpha=1e-4, random_state=0)
    with pytest.warns(ModelWarning, match=r"same query is .* times .*alpha=None learns it"):
        optimizer.tell([[0.0]] * 6, 0.3 * rng.standard_normal(6))


def test_an_outlier_is_reported_once_when_everything_is_learned(tmp_path):
    rng = np.random.default_rng(0)
    X = np.linspace(0.0, 1.0, 32)[:, None]
    y = np.sin(6.0 * X[:, 0]) + 0.05 * rng.standard_normal(32)
    y[20] += 8.0
    optimizer = GPUCBOptimizer(**BOX)
    with pytest.warns(ModelWarning, match="one answer is far .* counts little") as caught:
        optimizer.tell(X, y)
    assert len(caught) == 1
    assert f"{X[20, 0]:.6g}" in str(caught[0].message)
    optimizer.save(tmp_path / "run")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)  # it was said
        again = GPUCBOptimizer.load(tmp_path / "run")
    for each in (optimizer, again, pickle.loads(pickle.dumps(optimizer))):
        model = each.run(waves, 1).model
        assert model["beware"] == str(caught[0].message)
        assert model["outliers"].startswith("1 of 33 answers, far from")


@pytest.mark.parametrize("error", [8.0, -80.0])
@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_how_far_an_outlier_is_off_is_told_in_units_of_the_answers(error, unit):
    rng = np.random.default_rng(0)
    X = np.linspace(0.0, 1.0, 32)[:, None]
    y = np.sin(6.0 * X[:, 0]) + 0.05 * rng.standard_normal(32)
    y[20] += error
    with pytest.warns(ModelWarning, match="one answer is far") as caught:
        GPUCBOptimizer(**BOX).tell(X, unit * y)
    numbers = re.search(r"by ([\d.e+]+); .* taken to be ([\d.e+]+)$", str(caught[0].message))
    far, variance = map(float, numbers.groups())
    assert far == pytest.approx(unit * abs(error), abs=0.2 * unit)  # four times the noise
    assert variance == pytest.approx(far**2, rel=0.01)  # both have three digits


def test_criticism_does_not_change_the_run():
    optimizer = GPUCBOptimizer(RBF(0.3), alpha=0.01, **BOX)
    optimizer.run(waves, 12)
    before = pickle.dumps(optimizer)
    found = optimizer.criticism()
    assert not found.contradicts
    assert len(found.residuals) == len(np.unique(optimizer.history_["descriptor"], axis=0))
    assert pickle.dumps(optimizer) == before


def test_the_kernel_of_settings_is_named_without_objects_of_ours():
    optimizer = GPUCBOptimizer(RBF(0.3), bounds={"n": range(20)}, alpha=1e-4, random_state=0)
    y = np.sin(0.3 * np.arange(20.0))
    y[7] += 50.0
    with pytest.warns(ModelWarning, match="under kernel .* and a noise") as caught:
        optimizer.tell([{"n": n} for n in range(20)], y)
    assert "object at" not in str(caught[0].message)


def test_the_kernel_behind_a_blur_is_named_without_the_blur():
    optimizer = CMETSOptimizer(
        RBF(0.3), bounds=[(0.0, 1.0)], max_depth=4, alpha=1e-4, random_state=0
    )
    rng = np.random.default_rng(0)
    with pytest.warns(ModelWarning, match="under kernel RBF") as caught:
        for _ in range(12):
            optimizer.tell(optimizer.ask(), rng.standard_normal())
    assert "object at" not in str(caught[0].message)


def noisy_wave(query, rng):
    return float(np.sin(6.0 * query.points).mean()) + 0.05 * rng.standard_normal()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("outliers", [8.0, -8.0])
@pytest.mark.parametrize("cls", [GPUCBOptimizer, GPOOOptimizer])
def test_a_wild_answer_changes_little_of_what_is_learned(cls, outliers):
    learned = []
    for at in (None, 20):
        rng, optimizer = np.random.default_rng(0), cls(**BOX)
        for t in range(24):
            query = optimizer.ask()
            optimizer.tell(query, noisy_wave(query, rng) + (outliers if t == at else 0.0))
        learned.append((optimizer.alpha_, *np.exp(optimizer.surrogate_.kernel_.theta)))
    np.testing.assert_allclose(learned[1][1:], learned[0][1:], rtol=0.2)
    assert 0.2 * learned[0][0] < learned[1][0] < 5.0 * learned[0][0]  # 0.0025; 64 is the error's


def test_an_answer_far_too_high_is_asked_for_again_and_believed_if_confirmed():
    """A narrow peak is no outlier: a second answer there says so."""
    X = np.linspace(0.0, 1.0, 20)[:, None]
    for confirmed in (False, True):
        rng, optimizer = np.random.default_rng(0), GPUCBOptimizer(**BOX)
        optimizer.tell(X, np.sin(6.0 * X[:, 0]) + 0.05 * rng.standard_normal(20))
        best = optimizer.ask()  # once more, to see whether answers are exact
        high = optimizer.tell(best, noisy_wave(best, rng)).ask()
        with pytest.warns(ModelWarning, match="one answer is far"):
            optimizer.tell(high, 9.0)
        again = optimizer.ask()
        assert again == high
        optimizer.tell(again, 9.03 if confirmed else noisy_wave(again, rng))
        # f is at most 1 elsewhere; the learned model remains too smooth for a jump by 8.
        assert (optimizer.predict(high.points)[0] > 2.0) == confirmed


def test_wild_answers_are_saved_and_go_with_copies(tmp_path):
    rng, optimizer = np.random.default_rng(0), GPUCBOptimizer(**BOX)
    with pytest.warns(ModelWarning, match="one answer is far"):
        for t in range(24):
            query = optimizer.ask()
            optimizer.tell(query, noisy_wave(query, rng) - (8.0 if t == 15 else 0.0))
    optimizer.save(tmp_path / "run")
    loaded, copied = GPUCBOptimizer.load(tmp_path / "run"), pickle.loads(pickle.dumps(optimizer))
    for each in (loaded, copied):
        np.testing.assert_allclose(each.predict([[0.2], [0.8]]), optimizer.predict([[0.2], [0.8]]))
        assert each.ask() == optimizer.ask()


def test_no_answer_of_known_noise_is_wild():
    X = np.linspace(0.0, 1.0, 32)[:, None]
    y = np.sin(6.0 * X[:, 0])
    y[20] += 8.0
    optimizer = GPUCBOptimizer(alpha=0.01, **BOX)
    with pytest.warns(ModelWarning, match="answers? differs?"):
        optimizer.tell(X, y)
    assert optimizer.predict(X[20:21])[0] > 4.0


@pytest.mark.filterwarnings("ignore::skgpb.exceptions.ModelWarning")
def test_a_wild_answer_after_a_fit_is_asked_again():
    x = np.linspace(0.0, 1.0, 24)[:, None]
    noise = 0.02 * np.random.default_rng(0).standard_normal(27)
    optimizer = GPUCBOptimizer(**BOX).fit(x, np.sin(6.0 * x[:, 0]) + noise[:24])
    for i, (at, error) in enumerate([(0.33, 0.0), (0.71, 0.0), (0.52, 2.0)]):
        optimizer.tell([[at]], [np.sin(6.0 * at) + error + noise[24 + i]])
    assert optimizer.ask().points[0] == 0.52


def test_a_sample_has_the_name_of_its_query_if_it_is_an_answer():
    optimizer = GPUCBOptimizer(RBF(0.3), **BOX).fit([[0.1], [0.2]], [1.0, 2.0])
    optimizer.tell([[0.3], [0.4]], [1.0, 2.0])
    run = optimizer.run_
    names = [repr(query) for query in run.told_queries()]
    assert [run.name_of(4, i) for i in range(4)] == [None, None, *names]
    assert [run.name_of(6, i) for i in range(6)] == [None] * 6  # answers of two samples each
