"""Small rewards are sought by changing the sign of what is told, and of nothing that is read."""

from __future__ import annotations

import cases
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from skgpb import (
    CMESOptimizer,
    ContextualGPTreeOptimizer,
    ESTOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
    StoOOOptimizer,
)
from skgpb.kernels import WindowMean
from skgpb.model_selection import BanditSearchCV, bandit_scorer
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.plotting import RegretDisplay

X = cases.GRID
Y = cases.f(X) + 3.0


def both(cls, **parameters):
    """An optimizer that was told rewards, and one that minimises and was told their negatives."""
    pair = [
        cls(bounds=cases.BOUNDS, random_state=0, direction=direction, **parameters)
        for direction in ("maximize", "minimize")
    ]
    return pair[0].fit(X, Y), pair[1].fit(X, -Y)


@pytest.mark.parametrize("cls", cases.OPTIMIZERS)
def test_every_optimizer_has_a_direction(cls):
    assert cls().direction == "maximize"
    assert cls(direction="minimize").get_params()["direction"] == "minimize"


@pytest.mark.parametrize("cls", [GPUCBOptimizer, GPOOOptimizer, StoOOOptimizer])
def test_what_is_fitted_and_predicted_has_the_users_sign(cls):
    up, down = both(cls)
    assert_array_equal(down.predict(X), -up.predict(X))
    assert down.score(X, -Y) == up.score(X, Y)
    if cls is StoOOOptimizer:
        unknown = cls(bounds=[(0, 1)], reward_range=(2, 4), direction="minimize").start()
        assert unknown.predict([[0.5]]) == [3.0]
        return
    mean, std = down.predict(X, return_std=True)
    assert_array_equal((-mean, std), up.predict(X, return_std=True))
    mean, cov = down.predict(X, return_cov=True)
    assert_array_equal(cov, up.predict(X, return_cov=True)[1])
    assert_array_equal(down.sample_y(X, 3), -up.sample_y(X, 3))
    queries = up.ask(3)
    assert_array_equal(down.predict_query(queries), -up.predict_query(queries))


def test_rules_know_what_is_maximised():
    up, down = both(GPUCBOptimizer, n_candidates=60)
    assert_array_equal(cases.scores(down), cases.scores(up))


def test_sums_of_rewards_have_the_users_sign():
    for cls in (GPOOOptimizer, ContextualGPTreeOptimizer):
        optimizer = cls(bounds=[(0, 1)], direction="minimize")
        context = {}
        if cls is ContextualGPTreeOptimizer:
            optimizer.set_params(context_bounds=[(0, 1)])
            context = {"context": [0.5]}
        optimizer.tell(optimizer.ask(**context), 5.0)
        assert optimizer.tree_.reward_sum.sum() == 5.0


def test_fit_of_an_indirect_optimizer_takes_the_users_sign():
    A = np.linspace(0.0, 1.0, 12)[:, None]
    y = (A[:, 0] - 0.7) ** 2
    optimizer = CMESOptimizer(
        RBF(0.3), conditional=WindowMean(scale=0.01), bounds=[(0, 1)], alpha=1e-4, n_points=50,
        direction="minimize", random_state=0,
    ).fit(A, y)  # fmt: skip
    assert abs(optimizer.predict([[0.7]])[0]) < 0.02 < optimizer.predict([[0.1]])[0]
    assert abs(optimizer.recommend()[0] - 0.7) < 0.1


def test_the_known_optimum_is_the_users():
    arms = np.linspace(0, 1, 20)[:, None]
    scores = []
    for sign, direction in ((1, "maximize"), (-1, "minimize")):
        opt = ESTOptimizer(RBF(0.3), arms=arms, alpha=0.01, optimum=2.0 * sign, direction=direction)
        scores.append(cases.scores(opt.tell(opt.ask(), 1.5 * sign)))
    assert_array_equal(*scores)


def test_regret_is_what_is_lost():
    optimizer = GPUCBOptimizer(bounds=[(0, 1)], direction="minimize", random_state=0)
    optimizer.run(lambda query: 2.0 + float(query.points[0, 0]), 5)
    for kind in ("cumulative", "average", "instant"):
        display = RegretDisplay.from_optimizer(optimizer, optimum=2.0, kind=kind)
        assert (display.regret >= 0).all()
    losses = optimizer.history_["reward"] - 2.0
    assert_array_equal(display.regret, np.minimum.accumulate(losses))


def test_a_replay_scores_small_averages_high():
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(60, 1))
    losses = (rows[:, 0] - 0.3) ** 2
    search = GridSearchCV(
        GPOOOptimizer(RBF(0.2), alpha=1e-4, direction="minimize"),
        {"direction": ["maximize", "minimize"], "beta": [4.0]},
        scoring=bandit_scorer(8), cv=2,
    ).fit(rows, losses)  # fmt: skip
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] < 0 < scores[0]
    assert -scores[1] < 0.05 < scores[0]


def test_who_maximises_by_itself_refuses():
    small = GPUCBOptimizer(arms=[[0.0], [1.0]], direction="minimize")
    with pytest.raises(ValueError, match=r"direction='maximize'.* sum .* got 'minimize'"):
        CombinatorialBandit([small, small], 1.0).ask()
    search = BanditSearchCV(
        Ridge(), {"alpha": [1.0, 2.0]}, optimizer=GPUCBOptimizer(direction="minimize")
    )
    with pytest.raises(ValueError, match="scores are maximised"):
        search.fit(X, Y)
    pytest.importorskip("optuna")
    from skgpb.integrations.optuna import GPBanditSampler

    with pytest.raises(ValueError, match="the direction is that of the study"):
        GPBanditSampler(GPUCBOptimizer(direction="minimize"))


def test_no_other_direction():
    with pytest.raises(ValueError, match="'direction' parameter"):
        GPOOOptimizer(bounds=[(0, 1)], direction="down").ask()
